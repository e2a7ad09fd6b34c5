/* SPDX-License-Identifier: Apache-2.0 */
/* elem_pool: see elem_pool.h. A class's ring has its chunks with room, the one in use first. */
#include "set/elem_pool.h"

#include <stdlib.h>

#include "base/list.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)	  ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Pieces above CLASSES words have a chunk each. */
enum { WORD = 8, CLASSES = 64, CHUNK_FIRST = 1024, CHUNK_MOST = 65536 };

struct piece {
	struct piece *next;
};

struct chunk {
	struct list room; /* of the class; or nowhere */
	struct elem_pool *pool;
	struct piece *spare;
	uint32_t words;		/* of a piece */
	uint32_t n, used, made; /* pieces: all, in use, ever given out */
	uint64_t memory[];
};

struct class
{
	struct list room;
	uint32_t bytes; /* of the next chunk */
};

struct elem_pool {
	void (*fini)(void *ext);
	uint32_t lock;
	bool closed;
	size_t chunks;
	struct class *class[CLASSES + 1];
};

_Static_assert(CHUNK_MOST / WORD <= UINT16_MAX, "the distance from a chunk");

static void pool_lock(struct elem_pool *p)
{
	while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&p->lock, __ATOMIC_RELAXED))
			;
}

static void pool_unlock(struct elem_pool *p)
{
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}

int elem_pool_new(void (*fini)(void *ext), struct elem_pool **out)
{
	struct elem_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fini = fini;
	*out = p;
	return 0;
}

static void pool_free(struct elem_pool *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->class); i++)
		free(p->class[i]);
	free(p);
}

void elem_pool_close(struct elem_pool *p)
{
	struct list empty;
	bool last;

	if (!p)
		return;
	list_init(&empty);
	pool_lock(p);
	p->closed = true;
	for (size_t i = 0; i < CLASSES; i++) {
		if (!p->class[i])
			continue;
		list_foreach_safe (l, &p->class[i] -> room) {
			if (container_of(l, struct chunk, room)->used)
				continue;
			list_remove(l);
			list_insert(l, &empty);
			p->chunks--;
		}
	}
	last = !p->chunks;
	pool_unlock(p);
	list_foreach_safe (l, &empty)
		free(container_of(l, struct chunk, room));
	if (last)
		pool_free(p);
}

/* The class of pieces of so many words; NULL: no memory. */
static struct class *class_get(struct elem_pool *p, size_t words)
{
	struct class **at = &p->class[MIN(words, (size_t)CLASSES + 1) - 1];
	struct class *c = __atomic_load_n(at, __ATOMIC_ACQUIRE), *none = NULL;

	if (c)
		return c;
	c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	list_init(&c->room);
	c->bytes = CHUNK_FIRST;
	if (__atomic_compare_exchange_n(at, &none, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return c;
	free(c);
	return none;
}

static struct chunk *chunk_new(struct elem_pool *p, const struct class *c, size_t words)
{
	/* What the allocator puts before it fits in too. */
	size_t bytes = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED) - 2 * sizeof(void *);
	size_t n = MAX((bytes - sizeof(struct chunk)) / (words * WORD), (size_t)1);
	struct chunk *k;

	if (words > CLASSES)
		n = 1;
	k = malloc(sizeof(*k) + n * words * WORD);
	if (!k)
		return NULL;
	*k = (struct chunk){.pool = p, .words = (uint32_t)words, .n = (uint32_t)n};
	list_init(&k->room);
	ASAN_POISON_MEMORY_REGION(k->memory, n * words * WORD);
	return k;
}

static void *piece_take(struct chunk *k)
{
	struct piece *piece = k->spare;

	if (!piece)
		piece = (struct piece *)(k->memory + (size_t)k->words * k->made++);
	ASAN_UNPOISON_MEMORY_REGION(piece, (size_t)k->words * WORD);
	if (k->spare)
		k->spare = piece->next;
	k->used++;
	return piece;
}

void *elem_pool_alloc(struct elem_pool *p, size_t size, uint16_t *at)
{
	size_t words = MAX((size + WORD - 1) / WORD, (size_t)1);
	struct class *c = class_get(p, words);
	struct chunk *k, *more = NULL;
	void *piece;

	if (!c)
		return NULL;
	pool_lock(p);
	if (list_is_empty(&c->room)) {
		pool_unlock(p);
		more = chunk_new(p, c, words);
		if (!more)
			return NULL;
		pool_lock(p);
		p->chunks++;
		list_insert(&more->room, c->room.next);
		if (c->bytes < CHUNK_MOST)
			__atomic_store_n(&c->bytes, c->bytes * 2, __ATOMIC_RELAXED);
	}
	k = container_of(c->room.next, struct chunk, room);
	piece = piece_take(k);
	if (k->used == k->n)
		list_remove(&k->room);
	pool_unlock(p);
	*at = (uint16_t)((uint64_t *)piece - (uint64_t *)k);
	return piece;
}

static struct chunk *chunk_of(const void *piece, uint16_t at)
{
	return (struct chunk *)((uint64_t *)piece - at);
}

/* It is empty: true if it is out of the pool, and to be freed. */
static bool chunk_retire(struct elem_pool *p, struct chunk *k, struct class *c)
{
	if (k->n > 1 && !p->closed && c->room.next == c->room.prev)
		return false; /* the last one with room */
	list_remove(&k->room);
	p->chunks--;
	return true;
}

void elem_pool_free(void *piece, uint16_t at)
{
	struct chunk *k = chunk_of(piece, at);
	struct elem_pool *p = k->pool;
	struct class *c = p->class[MIN(k->words, (uint32_t)CLASSES + 1) - 1];
	struct piece *spare = piece;
	bool gone = false, last;

	pool_lock(p);
	if (k->used-- == k->n)
		list_insert(&k->room, &c->room);
	spare->next = k->spare;
	k->spare = spare;
	ASAN_POISON_MEMORY_REGION(piece, (size_t)k->words * WORD);
	if (!k->used)
		gone = chunk_retire(p, k, c);
	last = p->closed && !p->chunks;
	pool_unlock(p);
	if (gone) {
		ASAN_UNPOISON_MEMORY_REGION(k->memory, (size_t)k->n * k->words * WORD);
		free(k);
	}
	if (last)
		pool_free(p);
}

void (*elem_pool_fini(const void *piece, uint16_t at))(void *ext)
{
	return chunk_of(piece, at)->pool->fini;
}

size_t elem_pool_size(const void *piece, uint16_t at)
{
	return (size_t)chunk_of(piece, at)->words * WORD;
}
