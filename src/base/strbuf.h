/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf: a growing byte string for everything that is printed.
 *
 * Writers need not check each call: after an allocation fails the buffer takes nothing more and
 * strbuf_error() says -ENOMEM. `data` is NUL-terminated once anything was written. One thread.
 */
#ifndef TAMIS_STRBUF_H
#define TAMIS_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/base.h"

struct strbuf {
	char *data;
	size_t len, cap;
	int error;
};

#define STRBUF_INIT ((struct strbuf){0})

void strbuf_add(struct strbuf *b, const void *p, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
/* Bytes that are taken as Latin-1, in UTF-8: what JSON takes of a text that is none. */
void strbuf_add_latin1(struct strbuf *b, const char *p, size_t len);
void strbuf_putc(struct strbuf *b, char c);
/* Control characters behind the first `from` bytes become '?': files must not steer a terminal. */
void strbuf_mask(struct strbuf *b, size_t from);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap);
/* Cuts the string back to len bytes, len at most b->len. */
void strbuf_truncate(struct strbuf *b, size_t len);
/* The string, never NULL; valid until the next call. */
const char *strbuf_str(const struct strbuf *b);
static inline int strbuf_error(const struct strbuf *b)
{
	return b->error;
}
/* Hands the malloc'd string to the caller (NULL after an error) and empties b. */
char *strbuf_take(struct strbuf *b);
void strbuf_free(struct strbuf *b);

/* What ends a noun behind the number n. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
