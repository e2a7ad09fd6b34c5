/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: a whole file, its lines one by one, and words. Any thread.
 */
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

/*
 * The same of a file that is not in memory as a whole, or of a text. A line longer than
 * LINE_READER_BYTES comes in pieces.
 */
enum { LINE_READER_BYTES = 1 << 18 };

struct line_reader {
	const char *p, *end;
	char *buffer; /* NULL: a text */
	int fd;
	bool at_end;
};

/* "-" is standard input. 0 or -errno; nothing to close after an error. */
int line_reader_open(struct line_reader *r, const char *path);
void line_reader_text(struct line_reader *r, const char *text, size_t len);
/* 1, 0 at the end, or -errno; *line is good until the next call. */
int line_reader_next(struct line_reader *r, const char **line, size_t *len);
void line_reader_close(struct line_reader *r);

/* The next run of bytes that are not blank, from *p on; its length, 0 at the end. */
size_t word_next(const char **p, const char *end, const char **word);

#endif
