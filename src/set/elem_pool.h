/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elem_pool: memory for the elements of one set, which are many and nearly of one size.
 *
 * Pieces of one size, in steps of 8 bytes, come out of chunks with nothing around them; a class's
 * chunks grow from 1 KiB to 64 KiB, so that a small set is small. A piece knows its chunk by its
 * distance from it, which the owner keeps, and the chunk its pool. A chunk goes when it is empty
 * and its class has room elsewhere. The pool stays, closed, until its last piece is back: so
 * elements that wait for readers may outlive their set.
 *
 * Threads: any, under a spin lock that is held for some instructions; never while memory is asked
 * for. Cost: O(1). Under AddressSanitizer pieces that are not in use are poisoned.
 */
#ifndef TAMIS_SET_ELEM_POOL_H
#define TAMIS_SET_ELEM_POOL_H

#include "base/base.h"

struct elem_pool; /* opaque */

/* fini (may be NULL) is for those who free what a piece holds: see elem_pool_fini(). */
int elem_pool_new(void (*fini)(void *ext), struct elem_pool **out);
/* The owner takes and keeps nothing any more; NULL is fine. */
void elem_pool_close(struct elem_pool *p);

/* A piece of `size` bytes, aligned to 8, or NULL; *at is for elem_pool_free(). */
void *elem_pool_alloc(struct elem_pool *p, size_t size, uint16_t *at);
void elem_pool_free(void *piece, uint16_t at);
/*
 * For those who must not ask for memory: elem_pool_ready() counts pieces of this size that may be
 * had by elem_pool_take() without, which is NULL if there is none; elem_pool_reserve() makes
 * chunks until there are n, and that many stay. 0 or -ENOMEM.
 */
int elem_pool_reserve(struct elem_pool *p, size_t size, uint32_t n);
uint32_t elem_pool_ready(const struct elem_pool *p, size_t size);
void *elem_pool_take(struct elem_pool *p, size_t size, uint16_t *at);

/* What the pool was made with, and bytes of a piece. */
void (*elem_pool_fini(const void *piece, uint16_t at))(void *ext);
size_t elem_pool_size(const void *piece, uint16_t at);

#endif
