/* SPDX-License-Identifier: Apache-2.0 */
/* line_pool: see line_pool.h. The first chunks are small, so that a small set is. */
#include "set/line_pool.h"

#include <stdlib.h>

enum { LINE = 64, CHUNK_FIRST = 8, CHUNK_MOST = 1024, POOLED = 2 };

struct line_piece {
	struct line_piece *next;
	size_t lines;
};

struct line_chunk {
	struct line_chunk *next;
	size_t lines;
	uint8_t line[][LINE] __attribute__((aligned(LINE)));
};

_Static_assert(sizeof(struct line_chunk) == LINE, "the head is a line");

static int chunk_add(struct line_pool *p)
{
	size_t lines = p->chunks ? MIN(p->chunks->lines * 2, (size_t)CHUNK_MOST) : CHUNK_FIRST;
	struct line_chunk *c = aligned_alloc(LINE, (lines + 1) * LINE);

	if (!c)
		return -ENOMEM;
	*c = (struct line_chunk){p->chunks, lines};
	p->chunks = c;
	p->used = 0;
	return 0;
}

static bool pooled(const struct line_pool *p, size_t lines)
{
	return lines <= POOLED && !p->apart;
}

static size_t kept_count(const struct line_pool *p, size_t lines)
{
	size_t n = 0;

	for (const struct line_piece *s = p->kept; s; s = s->next)
		n += s->lines == lines;
	return n;
}

/* A piece that is kept for this size, or NULL. */
static void *kept_take(struct line_pool *p, size_t lines)
{
	for (struct line_piece **at = &p->kept; *at; at = &(*at)->next)
		if ((*at)->lines == lines) {
			struct line_piece *piece = *at;
			*at = piece->next;
			return piece;
		}
	return NULL;
}

static void kept_put(struct line_pool *p, void *piece, size_t lines)
{
	struct line_piece *s = piece;

	*s = (struct line_piece){p->kept, lines};
	p->kept = s;
}

static void *large_alloc(size_t lines)
{
	return aligned_alloc(LINE, lines * LINE);
}

/* A piece of one or two lines that was not in use yet. */
static void *piece_new(struct line_pool *p, size_t lines)
{
	/* A last line that is left over serves when one is asked for. */
	if (p->chunks && p->used + lines > p->chunks->lines && p->used < p->chunks->lines)
		line_free(p, p->chunks->line[p->used++], 1);
	if ((!p->chunks || p->used == p->chunks->lines) && chunk_add(p))
		return NULL;
	void *piece = p->chunks->line[p->used];
	p->used += lines;
	return piece;
}

void *line_alloc(struct line_pool *p, size_t lines)
{
	if (!pooled(p, lines)) {
		void *piece = kept_take(p, lines);
		return piece ? piece : large_alloc(lines);
	}
	struct line_piece **spare = &p->spare[lines - 1];
	if (!*spare)
		return piece_new(p, lines);
	void *piece = *spare;
	*spare = (*spare)->next;
	return piece;
}

void line_free(struct line_pool *p, void *piece, size_t lines)
{
	if (!pooled(p, lines) && !kept_count(p, lines)) {
		kept_put(p, piece, lines); /* changes come in rows */
		return;
	}
	if (!pooled(p, lines)) {
		free(piece);
		return;
	}
	struct line_piece *s = piece;
	s->next = p->spare[lines - 1];
	p->spare[lines - 1] = s;
}

int line_reserve(struct line_pool *p, size_t lines, size_t n)
{
	bool small = pooled(p, lines);
	size_t have = small ? 0 : kept_count(p, lines);

	for (struct line_piece *s = small ? p->spare[lines - 1] : NULL; s && have < n; s = s->next)
		have++;
	for (; have < n; have++) {
		/* Taken out of the chunks, or kept. */
		void *piece = small ? piece_new(p, lines) : large_alloc(lines);
		if (!piece)
			return -ENOMEM;
		if (small)
			line_free(p, piece, lines);
		else
			kept_put(p, piece, lines);
	}
	return 0;
}

void line_pool_free(struct line_pool *p)
{
	while (p->kept) {
		struct line_piece *next = p->kept->next;
		free(p->kept);
		p->kept = next;
	}
	while (p->chunks) {
		struct line_chunk *next = p->chunks->next;
		free(p->chunks);
		p->chunks = next;
	}
	*p = (struct line_pool){0};
}
