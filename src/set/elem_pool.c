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

struct size_class {
	struct list room;
	uint32_t bytes;	       /* of the next chunk */
	uint32_t ready, least; /* pieces that are not in use; how many of them stay */
};

struct elem_pool {
	void (*fini)(void *ext);
	uint32_t lock;
	bool closed;
	size_t chunks;
	struct size_class *classes[CLASSES + 1];
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
	for (size_t i = 0; i < ARRAY_SIZE(p->classes); i++)
		free(p->classes[i]);
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
		struct size_class *c = p->classes[i];

		if (!c)
			continue;
		list_foreach_safe (l, &c->room) {
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
static struct size_class *class_get(struct elem_pool *p, size_t words)
{
	struct size_class **at = &p->classes[MIN(words, (size_t)CLASSES + 1) - 1];
	struct size_class *c = __atomic_load_n(at, __ATOMIC_ACQUIRE), *none = NULL;

	if (c)
		return c;
	c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	list_init(&c->room);
	c->bytes = CHUNK_FIRST;
	c->ready = c->least = 0;
	if (__atomic_compare_exchange_n(at, &none, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return c;
	free(c);
	return none;
}

static struct chunk *chunk_new(struct elem_pool *p, const struct size_class *c, size_t words)
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

/* The pool is locked: the new chunk is the one in use. */
static void chunk_enter(struct elem_pool *p, struct size_class *c, struct chunk *k)
{
	p->chunks++;
	__atomic_store_n(&c->ready, c->ready + k->n, __ATOMIC_RELAXED);
	list_insert(&k->room, c->room.next);
	if (c->bytes < CHUNK_MOST)
		__atomic_store_n(&c->bytes, c->bytes * 2, __ATOMIC_RELAXED);
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

/* The pool is locked, and the class has room. */
static void *class_take(struct size_class *c, uint16_t *at)
{
	struct chunk *k = container_of(c->room.next, struct chunk, room);
	void *piece = piece_take(k);

	__atomic_store_n(&c->ready, c->ready - 1, __ATOMIC_RELAXED);
	if (k->used == k->n)
		list_remove(&k->room);
	*at = (uint16_t)((uint64_t *)piece - (uint64_t *)k);
	return piece;
}

static size_t words_of(size_t size)
{
	return MAX((size + WORD - 1) / WORD, (size_t)1);
}

void *elem_pool_alloc(struct elem_pool *p, size_t size, uint16_t *at)
{
	size_t words = words_of(size);
	struct size_class *c = class_get(p, words);
	struct chunk *more;
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
		chunk_enter(p, c, more);
	}
	piece = class_take(c, at);
	pool_unlock(p);
	return piece;
}

/* Pieces above CLASSES words share a class, and are not all of one size. */
static struct size_class *class_ready(const struct elem_pool *p, size_t size)
{
	size_t words = words_of(size);

	return words > CLASSES ? NULL : __atomic_load_n(&p->classes[words - 1], __ATOMIC_ACQUIRE);
}

void *elem_pool_take(struct elem_pool *p, size_t size, uint16_t *at)
{
	struct size_class *c = class_ready(p, size);
	void *piece;

	if (!c)
		return NULL;
	pool_lock(p);
	piece = list_is_empty(&c->room) ? NULL : class_take(c, at);
	pool_unlock(p);
	return piece;
}

uint32_t elem_pool_ready(const struct elem_pool *p, size_t size)
{
	const struct size_class *c = class_ready(p, size);

	return c ? __atomic_load_n(&c->ready, __ATOMIC_RELAXED) : 0;
}

int elem_pool_reserve(struct elem_pool *p, size_t size, uint32_t n)
{
	size_t words = words_of(size);
	struct size_class *c = words > CLASSES ? NULL : class_get(p, words);

	if (!c)
		return -ENOMEM;
	__atomic_store_n(&c->least, n, __ATOMIC_RELAXED);
	while (elem_pool_ready(p, size) < n) {
		struct chunk *more = chunk_new(p, c, words);
		if (!more)
			return -ENOMEM;
		pool_lock(p);
		chunk_enter(p, c, more);
		pool_unlock(p);
	}
	return 0;
}

static struct chunk *chunk_of(const void *piece, uint16_t at)
{
	return (struct chunk *)((uint64_t *)piece - at);
}

/* It is empty: true if it is out of the pool, and to be freed. */
static bool chunk_retire(struct elem_pool *p, struct chunk *k, struct size_class *c)
{
	if (k->n > 1 && !p->closed && c->room.next == c->room.prev)
		return false; /* the last one with room */
	if (!p->closed && c->ready - k->n < __atomic_load_n(&c->least, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&c->ready, c->ready - k->n, __ATOMIC_RELAXED);
	list_remove(&k->room);
	p->chunks--;
	return true;
}

void elem_pool_free(void *piece, uint16_t at)
{
	struct chunk *k = chunk_of(piece, at);
	struct elem_pool *p = k->pool;
	struct size_class *c = p->classes[MIN(k->words, (uint32_t)CLASSES + 1) - 1];
	struct piece *spare = piece;
	bool gone = false, last;

	pool_lock(p);
	if (k->used-- == k->n)
		list_insert(&k->room, &c->room);
	spare->next = k->spare;
	k->spare = spare;
	__atomic_store_n(&c->ready, c->ready + 1, __ATOMIC_RELAXED);
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
