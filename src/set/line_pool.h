/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_pool: memory in whole cache lines, aligned to them.
 *
 * Pieces of one and two lines come out of chunks, with nothing around them, and go back to a list
 * for the next of their size; larger ones are the allocator's, but for a few that are kept for
 * those who asked before. Chunks go when the pool does. One thread. O(1).
 */
#ifndef TAMIS_LINE_POOL_H
#define TAMIS_LINE_POOL_H

#include "base/base.h"

struct line_piece;
struct line_chunk;

struct line_pool {
	struct line_piece *spare[2];
	struct line_piece *kept; /* larger ones, by line_reserve() */
	struct line_chunk *chunks;
	size_t used; /* lines of the first chunk */
	bool apart;  /* every piece is the allocator's: then any thread may free() it */
};

void *line_alloc(struct line_pool *p, size_t lines);
void line_free(struct line_pool *p, void *piece, size_t lines);
/* After that so many pieces of a size can be had without fail; 0 or -ENOMEM. */
int line_reserve(struct line_pool *p, size_t lines, size_t n);
/* Frees the chunks and what is reserved; pieces of more than two lines must be gone. */
void line_pool_free(struct line_pool *p);

#endif
