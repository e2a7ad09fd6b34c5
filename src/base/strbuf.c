/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf: see strbuf.h. Capacity doubles, so that appending n bytes costs O(n) in all. */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

/* Room for `more` bytes and the NUL. */
static bool reserve(struct strbuf *b, size_t more)
{
	if (b->error)
		return false;
	if (likely(b->cap - b->len > more))
		return true;
	size_t cap = MAX(b->cap * 2, (size_t)64);
	while (cap - b->len <= more)
		cap *= 2;
	char *data = realloc(b->data, cap);
	if (!data) {
		b->error = -ENOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *b, const void *p, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, p, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0 || !reserve(b, (size_t)len))
		return;
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap);
	b->len += (size_t)len;
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(b, fmt, ap);
	va_end(ap);
}

void strbuf_add_latin1(struct strbuf *b, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 0x80)
			strbuf_putc(b, (char)(0xc0 | c >> 6));
		strbuf_putc(b, (char)(c < 0x80 ? c : 0x80 | (c & 0x3f)));
	}
}

void strbuf_mask(struct strbuf *b, size_t from)
{
	for (size_t i = from; i < b->len; i++)
		if ((unsigned char)b->data[i] < ' ' || b->data[i] == 0x7f)
			b->data[i] = '?';
}

void strbuf_truncate(struct strbuf *b, size_t len)
{
	if (len < b->len) {
		b->len = len;
		b->data[len] = '\0';
	}
}

const char *strbuf_str(const struct strbuf *b)
{
	return b->data ? b->data : "";
}

char *strbuf_take(struct strbuf *b)
{
	if (!b->data)
		strbuf_puts(b, "");
	char *s = b->error ? NULL : b->data;
	if (b->error)
		free(b->data);
	*b = STRBUF_INIT;
	return s;
}

void strbuf_free(struct strbuf *b)
{
	free(b->data);
	*b = STRBUF_INIT;
}
