/* SPDX-License-Identifier: Apache-2.0 */
/* file: see file.h. */
#include "compat/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

int file_read(const char *path, struct strbuf *out)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), err = 0;
	char buffer[READ_BYTES];
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buffer, sizeof(buffer));
		if (n > 0)
			strbuf_add(out, buffer, (size_t)n);
	} while (!strbuf_error(out) && (n > 0 || (n < 0 && errno == EINTR)));
	if (n < 0)
		err = -errno;
	if (!is_stdin)
		close(fd);
	return err ? err : strbuf_error(out);
}

const char *file_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

bool line_next(const char **p, const char *end, const char **line, size_t *len)
{
	const char *newline;

	if (*p == end)
		return false;
	newline = memchr(*p, '\n', (size_t)(end - *p));
	*line = *p;
	*len = (size_t)((newline ? newline : end) - *p);
	*p = newline ? newline + 1 : end;
	if (*len && (*line)[*len - 1] == '\r')
		--*len;
	return true;
}

int line_reader_open(struct line_reader *r, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *buffer;

	if (fd < 0)
		return -errno;
	buffer = malloc(LINE_READER_BYTES);
	if (!buffer) {
		if (!is_stdin)
			close(fd);
		return -ENOMEM;
	}
	*r = (struct line_reader){.p = buffer, .end = buffer, .buffer = buffer, .fd = fd};
	return 0;
}

void line_reader_text(struct line_reader *r, const char *text, size_t len)
{
	*r = (struct line_reader){.p = text, .end = text + len, .fd = -1, .at_end = true};
}

void line_reader_close(struct line_reader *r)
{
	free(r->buffer);
	if (r->fd > STDIN_FILENO)
		close(r->fd);
}

/* Moves what is left to the front and reads behind it. 0 or -errno. */
static int line_reader_fill(struct line_reader *r)
{
	size_t left = (size_t)(r->end - r->p);
	ssize_t n;

	memmove(r->buffer, r->p, left);
	do {
		n = read(r->fd, r->buffer + left, LINE_READER_BYTES - left);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->at_end = !n;
	r->p = r->buffer;
	r->end = r->buffer + left + n;
	return 0;
}

int line_reader_next(struct line_reader *r, const char **line, size_t *len)
{
	while (!r->at_end && !memchr(r->p, '\n', (size_t)(r->end - r->p)) &&
	       (r->p != r->buffer || r->end - r->p < LINE_READER_BYTES)) {
		int err = line_reader_fill(r);

		if (err)
			return err;
	}
	return line_next(&r->p, r->end, line, len);
}

size_t word_next(const char **p, const char *end, const char **word)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
	*word = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		++*p;
	return (size_t)(*p - *word);
}
