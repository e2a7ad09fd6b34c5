/* SPDX-License-Identifier: Apache-2.0 */
/* file: see file.h. */
#include "compat/file.h"

#include <fcntl.h>
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

size_t word_next(const char **p, const char *end, const char **word)
{
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
	*word = *p;
	while (*p < end && **p != ' ' && **p != '\t')
		++*p;
	return (size_t)(*p - *word);
}
