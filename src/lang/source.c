/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: see source.h. A message shows LINE_SHOWN_MAX bytes of its line, those around the place,
 * and a NUL byte ends the line. Line numbers are counted from the place of the message before, so
 * that printing costs one pass over a text whose messages are in order.
 */
#include "lang/source.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { ERRORS_MAX = 10, LINE_SHOWN_MAX = 1023, READ_CHUNK = 1 << 16, NULS_MAX = 4096 };

struct loc loc_join(struct loc a, struct loc b)
{
	if (!a.src)
		return b;
	if (a.src != b.src)
		return a;
	return (struct loc){a.src, MIN(a.begin, b.begin), MAX(a.end, b.end)};
}

void source_set_init(struct source_set *s)
{
	*s = (struct source_set){.max_errors = ERRORS_MAX};
}

void source_set_free(struct source_set *s)
{
	vec_free(&s->sources);
	vec_free(&s->diags);
	arena_free(&s->arena);
	source_set_init(s);
}

int source_add(struct source_set *s, enum source_kind kind, const char *name, const char *text,
	       size_t len, struct loc included_at)
{
	if (len > SOURCE_LEN_MAX)
		return -EFBIG;
	if (s->sources.n >= SOURCES_MAX)
		return -ENFILE;
	char *copy = arena_strndup(&s->arena, name, strlen(name));
	if (!copy)
		return -ENOMEM;
	int err = vec_push(&s->sources, ((struct source){kind, copy, text, len, included_at}));
	return err ? err : (int)s->sources.n;
}

static int read_all(int fd, struct strbuf *b)
{
	char chunk[READ_CHUNK];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return strbuf_error(b);
		/* No text: a device, or a file with holes. */
		if (n >= NULS_MAX && !chunk[0] && !memcmp(chunk, chunk + 1, (size_t)n - 1))
			return -EINVAL;
		strbuf_add(b, chunk, (size_t)n);
		if (strbuf_error(b))
			return strbuf_error(b);
		if (b->len > SOURCE_LEN_MAX)
			return -EFBIG;
	}
}

int source_add_file(struct source_set *s, const char *path, struct loc included_at)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct strbuf b = STRBUF_INIT;
	int ret = read_all(fd, &b);
	if (!ret) {
		char *text = arena_strndup(&s->arena, b.data, b.len);
		ret = text ? source_add(s, SOURCE_FILE, is_stdin ? "/dev/stdin" : path, text, b.len,
					included_at)
			   : -ENOMEM;
	}
	strbuf_free(&b);
	if (!is_stdin)
		close(fd);
	return ret;
}

const struct source *source_at(const struct source_set *s, uint32_t src)
{
	return src && src <= s->sources.n ? &s->sources.items[src - 1] : NULL;
}

static void diag_add(struct source_set *s, struct loc loc, struct loc second, const char *fmt,
		     va_list ap)
{
	if (s->n_errors++ >= s->max_errors)
		return;
	va_list again;
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	char *text = len < 0 ? NULL : arena_alloc(&s->arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	if (!text || vec_push(&s->diags, ((struct diag){loc, second, text})))
		s->oom = true;
}

int diag_error(struct source_set *s, struct loc loc, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_add(s, loc, LOC_NONE, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int diag_verror(struct source_set *s, struct loc loc, const char *fmt, va_list ap)
{
	diag_add(s, loc, LOC_NONE, fmt, ap);
	return -EINVAL;
}

int diag_error2(struct source_set *s, struct loc loc, struct loc second, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	diag_add(s, loc, second, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Where the counting of lines stands: `line` is the number of the line that `off` is in. */
struct cursor {
	uint32_t src, off;
	unsigned line;
};

/* The line number of byte `off`; *start is the line's first byte. */
static unsigned line_of(struct cursor *c, const struct source *src, struct loc loc, size_t off,
			size_t *start)
{
	off = MIN(off, src->len);
	if (c->src != loc.src)
		*c = (struct cursor){loc.src, 0, 1};
	const char *t = src->text, *p = t + c->off, *end = t + off;
	for (; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
		c->line++;
	for (p = t + c->off; p > end && (p = memrchr(end, '\n', (size_t)(p - end)));)
		c->line--;
	c->off = (uint32_t)off;
	const char *nl = off ? memrchr(t, '\n', off) : NULL;
	*start = nl ? (size_t)(nl - t) + 1 : 0;
	return c->line;
}

/* Line, columns and first byte of the line of a place. */
struct spot {
	unsigned line, first, last;
	size_t start;
};

static struct spot spot_of(struct cursor *c, const struct source *src, struct loc loc)
{
	struct spot s = {0};
	size_t last_start;
	line_of(c, src, loc, loc.end > loc.begin ? loc.end - 1 : loc.begin, &last_start);
	s.last = (unsigned)(MAX(loc.begin + 1, loc.end) - last_start);
	s.line = line_of(c, src, loc, loc.begin, &s.start);
	s.first = (unsigned)(loc.begin - s.start) + 1;
	return s;
}

void loc_line_column(const struct source_set *s, struct loc loc, unsigned *line, unsigned *first,
		     unsigned *last)
{
	const struct source *src = source_at(s, loc.src);
	struct spot p = {0};
	if (src)
		p = spot_of(&(struct cursor){0}, src, loc);
	*line = p.line;
	*first = p.first;
	*last = p.last;
}

static void print_includes(const struct source_set *s, struct loc at, struct strbuf *out)
{
	const char *lead = "In file included from";
	for (const struct source *src; (src = source_at(s, at.src)); at = src->included_at) {
		unsigned line, first, last;
		loc_line_column(s, at, &line, &first, &last);
		strbuf_printf(out, "%s %s:%u:%u-%u:\n", lead, src->name, line, first, last);
		lead = "                 from";
	}
}

/* What a file holds must not steer a terminal; a byte stays a column. */
static void print_text(struct strbuf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)text[i];

		strbuf_putc(out, (c < ' ' && c != '\t' && c != '\n') || c == 0x7f ? '?' : text[i]);
	}
}

/* The line, and a second one that marks the places. Of a long line, the part with the place. */
static void print_line(const struct source *src, const struct spot *p, const struct spot *second,
		       struct strbuf *out)
{
	size_t start = p->start;
	/* Behind the last newline there is no line: nft shows the one before. */
	if (start == src->len && start) {
		const char *nl = start > 1 ? memrchr(src->text, '\n', start - 1) : NULL;
		start = nl ? (size_t)(nl - src->text) + 1 : 0;
	}
	const char *line = src->text + start;
	size_t len = strcspn(line, "\n"), place = p->last || !second ? p->first : second->first;
	size_t from = place > LINE_SHOWN_MAX ? MIN(place - LINE_SHOWN_MAX / 2, len) : 0;
	size_t to = MIN(len, from + LINE_SHOWN_MAX);
	print_text(out, line + from, to - from);
	strbuf_putc(out, '\n');
	size_t end = MIN((size_t)MAX(p->last, second ? second->last : 0), from + LINE_SHOWN_MAX);
	for (size_t c = from + 1; c <= end; c++) {
		char mark = c <= to && line[c - 1] == '\t' ? '\t' : ' ';
		if (second && c >= second->first && c <= second->last)
			mark = '~';
		if (c >= p->first && c <= p->last)
			mark = '^';
		strbuf_putc(out, mark);
	}
	strbuf_putc(out, '\n');
}

/* A second place that is not on the first one's line. */
static void print_second(const struct source_set *s, struct loc loc, struct cursor *c,
			 struct strbuf *out)
{
	const struct source *src = source_at(s, loc.src);
	if (!src || src->kind == SOURCE_JSON)
		return;
	struct spot p = spot_of(c, src, loc), none = {.first = 1};
	if (src->kind == SOURCE_FILE)
		strbuf_printf(out, "%s:%u:%u-%u: ", src->name, p.line, p.first, p.last);
	strbuf_puts(out, "the other place:\n");
	none.start = p.start;
	print_line(src, &none, &p, out);
}

static void print_one(const struct source_set *s, const struct diag *d, struct cursor *c,
		      struct strbuf *out)
{
	const struct source *src = source_at(s, d->loc.src);
	if (!src || src->kind == SOURCE_JSON) {
		if (src)
			strbuf_printf(out, "%s: ", src->name);
		strbuf_puts(out, "Error: ");
		print_text(out, d->text, strlen(d->text));
		strbuf_putc(out, '\n');
		return;
	}
	struct spot p = spot_of(c, src, d->loc), second;
	if (src->kind == SOURCE_FILE) {
		print_includes(s, src->included_at, out);
		strbuf_printf(out, "%s:%u:%u-%u: ", src->name, p.line, p.first, p.last);
	}
	strbuf_puts(out, "Error: ");
	print_text(out, d->text, strlen(d->text));
	strbuf_putc(out, '\n');
	bool same = d->second.src == d->loc.src;
	if (same)
		second = spot_of(c, src, d->second);
	same = same && second.line == p.line;
	print_line(src, &p, same ? &second : NULL, out);
	if (!same)
		print_second(s, d->second, c, out);
}

void diag_print(const struct source_set *s, struct strbuf *out)
{
	struct cursor c = {0};
	for (size_t i = 0; i < s->diags.n; i++)
		print_one(s, &s->diags.items[i], &c, out);
}
