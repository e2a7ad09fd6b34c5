/* SPDX-License-Identifier: Apache-2.0 */
/* output: see output.h. */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("tamis: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int output_finish(void)
{
	bool failed_before = ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && !failed_before)
		return 0;
	complain("standard output: %s", errno ? strerror(errno) : "write error");
	return 1;
}

bool paint_wanted(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

const char *paint(bool wanted, enum paint p)
{
	static const char *const codes[PAINTS] = {
		[PAINT_NONE] = "\033[0m", [PAINT_HEAD] = "\033[1m",  [PAINT_GOOD] = "\033[32m",
		[PAINT_BAD] = "\033[31m", [PAINT_WARN] = "\033[33m", [PAINT_FAINT] = "\033[2m",
	};

	return wanted ? codes[p] : "";
}
