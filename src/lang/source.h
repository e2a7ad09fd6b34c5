/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: the texts that a parse reads, places in them, and messages about them.
 *
 * A place is a byte range of one source; line and column are worked out when a message is printed.
 * Messages are nft's: `FILE:LINE:COL-COL: Error: TEXT`, the line, carets under the culprit, tildes
 * under a second place; one on another line, which nft does not show, has its own place and line
 * behind it. Before it all one line per file that included this one. At most `max_errors` are kept
 * (nft's 10); counting goes on.
 *
 * A source_set belongs to one load; places into it die with it. Its arena has no jump point. One
 * thread.
 */
#ifndef TAMIS_LANG_SOURCE_H
#define TAMIS_LANG_SOURCE_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* src 0 is "no place"; source numbers count from 1. */
struct loc {
	uint32_t src, begin, end;
};

enum { SOURCE_LEN_MAX = INT32_MAX, SOURCES_MAX = 65536 };

#define LOC_NONE ((struct loc){0})

/* From the first byte of a to the last of b; both of one source, or a wins. */
struct loc loc_join(struct loc a, struct loc b);

enum source_kind {
	SOURCE_FILE,   /* messages say FILE:LINE:COL-COL: */
	SOURCE_STRING, /* a command line: messages say nothing in front */
	SOURCE_JSON,   /* places say nothing to a reader: messages say FILE: */
};

struct source {
	enum source_kind kind;
	const char *name; /* as given; "/dev/stdin" for standard input */
	const char *text; /* NUL-terminated behind len bytes; may contain NUL bytes */
	size_t len;
	struct loc included_at; /* LOC_NONE for the first */
};

struct diag {
	struct loc loc, second;
	const char *text; /* in the source_set's arena */
};

struct source_set {
	struct arena arena;
	VEC(struct source) sources;
	VEC(struct diag) diags;
	unsigned n_errors, max_errors;
	bool oom;
};

/* Empty; max_errors is 10. */
void source_set_init(struct source_set *s);
void source_set_free(struct source_set *s);

/*
 * Takes ownership of nothing: text must outlive s. Its number, or -errno: -EFBIG above
 * SOURCE_LEN_MAX bytes, -ENFILE above SOURCES_MAX sources.
 */
int source_add(struct source_set *s, enum source_kind kind, const char *name, const char *text,
	       size_t len, struct loc included_at);

/*
 * Reads the whole of `path` ("-" is standard input) into s's arena. Its number, or -errno: -EINVAL
 * where it reads 4,096 NUL bytes or more and nothing else.
 */
int source_add_file(struct source_set *s, const char *path, struct loc included_at);

/* NULL for "no place". The pointer is good until the next source is added. */
const struct source *source_at(const struct source_set *s, uint32_t src);

/* Always returns -EINVAL so that a check can `return diag_error(...)`. */
int diag_error(struct source_set *s, struct loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
int diag_verror(struct source_set *s, struct loc loc, const char *fmt, va_list ap);
int diag_error2(struct source_set *s, struct loc loc, struct loc second, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* All messages in order, as they go to stderr. */
void diag_print(const struct source_set *s, struct strbuf *out);

/* First line and column are 1, tabs count as one column, as nft has it. */
void loc_line_column(const struct source_set *s, struct loc loc, unsigned *line, unsigned *first,
		     unsigned *last);

#endif
