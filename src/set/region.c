/* SPDX-License-Identifier: Apache-2.0 */
/* region: a bitmap of granules in front of 2 MiB; see region.h. */
#include "set/region.h"

#include <sys/mman.h>

enum { GRANULE = 1024, GRANULES = (2 << 20) / GRANULE, WORD = 64 };

struct region {
	struct region *next;
	uint32_t lock;
	uint32_t used;	/* granules, without the head's */
	uint32_t first; /* none is free before this one */
	bool listed, closed;
	uint64_t taken[GRANULES / WORD];
};

enum { HEAD = (sizeof(struct region) + GRANULE - 1) / GRANULE };

static size_t granules(size_t size)
{
	return (size + GRANULE - 1) / GRANULE;
}

size_t region_piece(size_t size)
{
	return granules(size) * GRANULE;
}

size_t region_holds(size_t size)
{
	return (GRANULES - HEAD) / granules(size);
}

static void lock(struct region *r)
{
	while (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&r->lock, __ATOMIC_RELAXED))
			__builtin_ia32_pause();
}

static void unlock(struct region *r)
{
	__atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/* --- lists ---------------------------------------------------------------------------------- */

/* n regions' address space, aligned; NULL. */
static uint8_t *space(size_t n)
{
	size_t bytes = n * REGION_BYTES;
	uint8_t *at = mmap(NULL, bytes + REGION_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)at & (REGION_BYTES - 1);
	if (before)
		munmap(at, before);
	munmap(at + before + bytes, REGION_BYTES - before);
	return at + before;
}

static void mark(struct region *r, size_t from, size_t n, bool taken)
{
	for (size_t i = from; i < from + n; i++)
		if (taken)
			r->taken[i / WORD] |= 1ULL << i % WORD;
		else
			r->taken[i / WORD] &= ~(1ULL << i % WORD);
}

int region_list_add(struct region **list, size_t n)
{
	uint8_t *at = n && n < SIZE_MAX / REGION_BYTES - 1 ? space(n) : NULL;
	if (!at)
		return n ? -ENOMEM : 0;
	madvise(at, n * REGION_BYTES, MADV_HUGEPAGE); /* else small pages */
	for (size_t i = n; i-- > 0;) {
		struct region *r = (struct region *)(at + i * REGION_BYTES);
		r->next = *list;
		r->listed = true;
		r->first = HEAD;
		mark(r, 0, HEAD, true);
		*list = r;
	}
	return 0;
}

void region_list_drop(struct region **list)
{
	while (*list) {
		struct region *r = *list;
		*list = r->next;
		lock(r);
		r->listed = false;
		bool gone = !r->used;
		unlock(r);
		if (gone)
			munmap(r, REGION_BYTES);
	}
}

/* --- pieces --------------------------------------------------------------------------------- */

/* The next granule from `from` on that is taken, or is not; GRANULES: none. */
static size_t next(const struct region *r, size_t from, bool taken)
{
	while (from < GRANULES) {
		uint64_t word = r->taken[from / WORD];
		word = (taken ? word : ~word) >> from % WORD;
		if (word)
			return from + (size_t)__builtin_ctzll(word);
		from += WORD - from % WORD;
	}
	return GRANULES;
}

static void *take(struct region *r, size_t n)
{
	size_t at = next(r, r->first, false), end;

	r->first = (uint32_t)at;
	for (; at + n <= GRANULES; at = next(r, end, false)) {
		end = next(r, at, true);
		if (end - at < n)
			continue;
		mark(r, at, n, true);
		r->used += (uint32_t)n;
		return (uint8_t *)r + at * GRANULE;
	}
	return NULL;
}

void *region_alloc(struct region *list, size_t size)
{
	size_t n = granules(size);
	void *piece = NULL;

	for (struct region *r = list; r && !piece; r = r->next) {
		if (__atomic_load_n(&r->used, __ATOMIC_RELAXED) + n > GRANULES - HEAD)
			continue;
		lock(r);
		if (!r->closed)
			piece = take(r, n);
		unlock(r);
	}
	return piece;
}

void region_free(void *piece, size_t size)
{
	uintptr_t offset = (uintptr_t)piece & (REGION_BYTES - 1);
	struct region *r = (struct region *)((uint8_t *)piece - offset);
	size_t at = offset / GRANULE, n = granules(size);

	lock(r);
	mark(r, at, n, false);
	__atomic_store_n(&r->used, r->used - (uint32_t)n, __ATOMIC_RELAXED);
	r->first = MIN(r->first, (uint32_t)at);
	bool gone = !r->used && !r->listed, empty = !r->used && r->listed && !r->closed;
	r->closed |= empty;
	unlock(r);
	if (gone)
		munmap(r, REGION_BYTES);
	else if (empty) /* the first small page has the head */
		madvise((uint8_t *)r + 4096, REGION_BYTES - 4096, MADV_DONTNEED);
}
