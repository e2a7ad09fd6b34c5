/* SPDX-License-Identifier: Apache-2.0 */
/* file: a whole file, and its lines one by one. Any thread. */
#ifndef TAMIS_COMPAT_FILE_H
#define TAMIS_COMPAT_FILE_H

#include "base/strbuf.h"

/* Adds all bytes of the file to out; "-" is standard input. 0 or -errno. */
int file_read(const char *path, struct strbuf *out);

/* What messages call the file. */
const char *file_name(const char *path);

/*
 * Lines: begin with `*p` at the first byte. True with the next line in *line, *len, without its
 * newline and a CR before it, and *p behind it; false at `end`.
 */
bool line_next(const char **p, const char *end, const char **line, size_t *len);

/* The next run of bytes that are not blank, from *p on; its length, 0 at the end. */
size_t word_next(const char **p, const char *end, const char **word);

#endif
