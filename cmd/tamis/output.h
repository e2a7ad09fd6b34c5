/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: standard output that does not lose anything in silence, messages, and colour.
 */
#ifndef TAMIS_CMD_OUTPUT_H
#define TAMIS_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* "tamis: ..." and a newline on standard error. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes out what is left; 0, or 1 after saying that not all of standard output was written. */
int output_finish(void);

enum paint { PAINT_NONE, PAINT_HEAD, PAINT_GOOD, PAINT_BAD, PAINT_WARN, PAINT_FAINT, PAINTS };

/* Whether f is a terminal that may have colours: NO_COLOR and TERM=dumb say no. */
bool paint_wanted(FILE *f);
/* The escape sequence that begins this paint, NONE ends it; "" if not wanted. */
const char *paint(bool wanted, enum paint p);

#endif
