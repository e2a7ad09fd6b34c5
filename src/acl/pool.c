/* SPDX-License-Identifier: Apache-2.0 */
/* pool: see pool.h. */
#include "acl/pool.h"

#include <stdlib.h>

struct pool_slab {
	struct pool_slab *next;
	uint32_t n, used;
	char pad[POOL_ALIGN - 16];
	char objects[];
};
_Static_assert(offsetof(struct pool_slab, objects) == POOL_ALIGN, "objects are aligned");

static struct pool_slab *slab_add(struct pool *p)
{
	uint32_t n = MIN(p->slabs ? p->slabs->n * 2 : POOL_SLAB_FIRST, POOL_SLAB_MOST);
	size_t room = sizeof(struct pool_slab) + n * p->size;
	size_t size = (room + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
	struct pool_slab *slab = aligned_alloc(POOL_ALIGN, size);

	if (!slab)
		return NULL;
	*slab = (struct pool_slab){.next = p->slabs, .n = n};
	p->slabs = slab;
	p->bytes += size;
	return slab;
}

void *pool_take(struct pool *p)
{
	void *o = p->free;

	if (o) {
		p->free = *(void **)o;
	} else {
		struct pool_slab *slab = p->slabs;
		if (!slab || slab->used == slab->n)
			slab = slab_add(p);
		if (!slab)
			return NULL;
		o = slab->objects + slab->used++ * p->size;
	}
	p->in_use++;
	return o;
}

void pool_give(struct pool *p, void *object)
{
	*(void **)object = p->free;
	p->free = object;
	p->in_use--;
}

void pool_release(struct pool *p)
{
	struct pool_slab *next;

	for (struct pool_slab *s = p->slabs; s; s = next) {
		next = s->next;
		free(s);
	}
}
