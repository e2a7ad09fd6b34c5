/* SPDX-License-Identifier: Apache-2.0 */
/* line_pool: see line_pool.h. The first chunks are small, so that a small set is. */
#include "set/line_pool.h"

#include <stdlib.h>

enum { LINE = 64, CHUNK_FIRST = 8, CHUNK_MOST = 1024, POOLED = 2 };

struct line_piece {
	struct line_piece *next;
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
	size_t size = (lines + 1) * LINE;
	struct line_chunk *c = aligned_alloc(LINE, size);

	if (!c)
		return -ENOMEM;
	*c = (struct line_chunk){p->chunks, lines};
	p->chunks = c;
	p->used = 0;
	p->bytes += size;
	return 0;
}

void *line_alloc(struct line_pool *p, size_t lines)
{
	if (lines > POOLED) {
		void *piece = aligned_alloc(LINE, lines * LINE);
		if (piece)
			p->bytes += lines * LINE;
		return piece;
	}
	struct line_piece **spare = &p->spare[lines - 1];
	if (*spare) {
		void *piece = *spare;
		*spare = (*spare)->next;
		return piece;
	}
	/* A last line that is left over serves when one is asked for. */
	if (p->chunks && p->used + lines > p->chunks->lines && p->used < p->chunks->lines)
		line_free(p, p->chunks->line[p->used++], 1);
	if ((!p->chunks || p->used == p->chunks->lines) && chunk_add(p))
		return NULL;
	void *piece = p->chunks->line[p->used];
	p->used += lines;
	return piece;
}

void line_free(struct line_pool *p, void *piece, size_t lines)
{
	if (lines > POOLED) {
		p->bytes -= lines * LINE;
		free(piece);
		return;
	}
	struct line_piece *s = piece;
	s->next = p->spare[lines - 1];
	p->spare[lines - 1] = s;
}

void line_pool_free(struct line_pool *p)
{
	while (p->chunks) {
		struct line_chunk *next = p->chunks->next;
		free(p->chunks);
		p->chunks = next;
	}
	*p = (struct line_pool){0};
}
