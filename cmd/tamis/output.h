/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: output that loses nothing in silence, messages, and colour.
 *
 * Text is put together in memory and written with write(2), so that the reason of a failure is
 * known.
 */
#ifndef TAMIS_CMD_OUTPUT_H
#define TAMIS_CMD_OUTPUT_H

#include <errno.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* "tamis: ..." and a newline on standard error. */
void complain(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Writes all of text to fd; 0, or -errno after saying that `name` could not be written. Where the
 * reader of standard output has gone (`| head`), OUTPUT_GONE and nothing said: that is no failure.
 */
enum { OUTPUT_GONE = -ECANCELED };
int output_text(int fd, const char *name, const char *text);
/* The same with what is in b, which is empty then. -ENOMEM if b lost something. */
int output_strbuf(int fd, const char *name, struct strbuf *b);
/* To standard output; an exit status. */
int output_print(const char *text);

extern const char output_stdout_name[];

enum paint { PAINT_NONE, PAINT_HEAD, PAINT_GOOD, PAINT_BAD, PAINT_WARN, PAINT_FAINT, PAINTS };

/* Whether fd is a terminal that may have colours: NO_COLOR and TERM=dumb say no. */
bool paint_wanted(int fd);
/* The escape sequence that begins this paint, NONE ends it; "" if not wanted. */
const char *paint(bool wanted, enum paint p);

#endif
