/* SPDX-License-Identifier: Apache-2.0 */
/* output: see output.h. */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char output_stdout_name[] = "standard output";

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("tamis: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static int write_all(int fd, const char *name, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR) {
			int err = errno;

			if (err == EPIPE && fd == STDOUT_FILENO)
				return OUTPUT_GONE;
			complain("%s: %s", name, strerror(err));
			return -err;
		}
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int output_text(int fd, const char *name, const char *text)
{
	return write_all(fd, name, text, strlen(text));
}

int output_strbuf(int fd, const char *name, struct strbuf *b)
{
	int err = strbuf_error(b);

	if (err)
		complain("%s: %s", name, strerror(-err));
	else
		err = write_all(fd, name, strbuf_str(b), b->len);
	strbuf_truncate(b, 0);
	return err;
}

int output_print(const char *text)
{
	int err = output_text(STDOUT_FILENO, output_stdout_name, text);

	return err && err != OUTPUT_GONE ? 1 : 0;
}

bool paint_wanted(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

const char *paint(bool wanted, enum paint p)
{
	static const char *const codes[PAINTS] = {
		[PAINT_NONE] = "\033[0m", [PAINT_HEAD] = "\033[1m",  [PAINT_GOOD] = "\033[32m",
		[PAINT_BAD] = "\033[31m", [PAINT_WARN] = "\033[33m", [PAINT_FAINT] = "\033[2m",
	};

	return wanted ? codes[p] : "";
}
