/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: objects of one size, without a header each.
 *
 * They come from slabs of up to POOL_SLAB_MOST that begin at a multiple of POOL_ALIGN, one behind
 * the other; objects whose size is a multiple of that, or a divisor, are aligned so as well. What
 * is given back is taken again; slabs go with the pool. One thread. O(1).
 */
#ifndef TAMIS_ACL_POOL_H
#define TAMIS_ACL_POOL_H

#include "base/base.h"

enum { POOL_ALIGN = 128, POOL_SLAB_FIRST = 4, POOL_SLAB_MOST = 256 };

struct pool_slab;

struct pool {
	size_t size; /* of an object: a multiple of 8, set before the first is taken */
	void *free;  /* each begins with where the next is */
	struct pool_slab *slabs;
	uint32_t in_use;
	size_t bytes; /* of all slabs */
};

/* Not zeroed; NULL without memory. */
void *pool_take(struct pool *p);
void pool_give(struct pool *p, void *object);
/* All objects are gone with it. */
void pool_release(struct pool *p);

#endif
