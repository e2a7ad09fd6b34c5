/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_internal: layouts that the files of the hash table share; see hash_table.h. */
#ifndef TAMIS_HASH_TABLE_INTERNAL_H
#define TAMIS_HASH_TABLE_INTERNAL_H

#include <stdlib.h>

#include "set/hash_key.h"
#include "set/hash_table.h"

enum {
	SLOTS = 15,
	BUCKETS_MAX = 128,
	SLOTS_MAX = BUCKETS_MAX * SLOTS,
	VIEW_SHIFT = 16, /* from one view's bits in a head to the other's */
};

#define VIEW_BITS  0x7fffU
#define OVERFLOWED 0x8000U /* a key whose home this is lies in its second choice */

#define LOAD(p)		    __atomic_load_n((p), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v)	    __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

struct hash_bucket {
	uint32_t head; /* view 0, OVERFLOWED, view 1 */
	uint32_t tag[SLOTS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct hash_bucket) == 64, "a bucket is a cache line");

struct hash_segment {
	/* What readers look at. */
	uint64_t *column[HASH_COLUMNS];
	uint8_t *keys;
	/* What writers do. */
	uint32_t lock;
	bool retired;
	uint8_t depth;
	uint16_t n_buckets;
	uint16_t used, kept; /* slots written; of those in a view */
	uint32_t heap_pos;   /* under the table's lock, as is due */
	uint64_t due;
	uint8_t *fill; /* a bucket: slots written */
	struct rcu_head rcu;
	struct hash_bucket bucket[];
};

_Static_assert(offsetof(struct hash_segment, rcu) == 64, "who finds an element needs one line");
_Static_assert(offsetof(struct hash_segment, bucket) == 128, "two lines before the buckets");

/* Directory entries: a segment's address and its number of buckets. */
#define ENTRY_SHIFT 48

_Static_assert(sizeof(void *) == 8, "addresses of user memory have 48 bits");

struct hash_root {
	struct hash_key key;
	struct rcu_head rcu;
	unsigned depth;
	uint64_t entry[] __attribute__((aligned(64)));
};

struct due_slot {
	uint64_t due;
	struct hash_segment *seg;
};

struct hash_table {
	/* What readers look at. */
	struct hash_root *root;
	const struct hash_table_ops *ops;
	unsigned key_len, key_size; /* key_size: of a cell; 0 if the tag is the key */
	uint32_t columns;	    /* bit c: some segment has, or had, column c */
	uint32_t read_shift;
	/* What writers do. */
	struct hash_table_config config __attribute__((aligned(64)));
	struct rcu_head rcu;
	uint32_t next_shift; /* the view that changes go to */
	bool open;	     /* changes go to that view alone */
	bool reverting;	     /* a transaction is being undone */
	bool rebuilding;     /* by an alarm: no alarm within */
	uint64_t count __attribute__((aligned(64)));
	uint64_t bytes;
	uint32_t lock, alarm_lock;
	struct due_slot *heap;
	uint32_t n_heap, heap_cap, n_segments;
};

/* The read side for one kind of CPU. All of them give the same answers. */
struct hash_table_ops {
	const char *name;
	bool (*usable)(void);
	struct hash_place (*place)(const struct hash_key *k, const uint8_t *key, unsigned len);
	/* Slots of a bucket with this tag, published or not. */
	uint32_t (*compare)(const struct hash_bucket *b, uint32_t tag);
	uint64_t (*lookup)(const struct hash_table *t, const uint8_t *keys, size_t stride,
			   uint64_t mask, const uint64_t *now, struct set_elem **hit);
};

/* NULL-terminated, the best first; what this program was compiled with. */
extern const struct hash_table_ops *const hash_table_variants[];
extern const struct hash_table_ops hash_table_scalar, hash_table_avx2, hash_table_avx512;

static inline size_t entry_index(const struct hash_root *r, uint64_t at)
{
	return (size_t)(at >> 1 >> (63 - r->depth));
}

static inline struct hash_segment *entry_segment(uint64_t entry)
{
	return (struct hash_segment *)(uintptr_t)(entry & ((1ULL << ENTRY_SHIFT) - 1));
}

static inline unsigned home_of(uint64_t at, unsigned n_buckets)
{
	return ((uint32_t)(at >> 16 & 0xffff) * n_buckets) >> 16;
}

static inline unsigned second_of(uint64_t at, unsigned n_buckets)
{
	return ((uint32_t)(at & 0xffff) * n_buckets) >> 16;
}

static inline struct set_elem *
elem_of_key(const struct hash_table *t, const struct hash_segment *seg, unsigned slot, uint32_t tag)
{
	if (t->key_len <= 7) {
		uint64_t v = tag;
		if (t->key_size) {
			v = 0;
			memcpy(&v, seg->keys + (size_t)slot * t->key_size, t->key_len);
		}
		return (struct set_elem *)(uintptr_t)(v << 8 | 1);
	}
	return (struct set_elem *)(seg->keys + (size_t)slot * t->key_size + 1);
}

static inline void spin_lock(uint32_t *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		while (LOAD(lock))
			__builtin_ia32_pause();
}

static inline bool spin_try(uint32_t *lock)
{
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_unlock(uint32_t *lock)
{
	STORE_RELEASE(lock, 0);
}

/* hash_table.c */
struct hash_segment *segment_lock(struct hash_table *t, uint64_t at);
uint64_t segment_word(const struct hash_segment *seg, enum hash_column c, unsigned slot);
const uint8_t *segment_key(const struct hash_table *t, const struct hash_segment *seg,
			   unsigned slot, const uint32_t *tag);

/* hash_table_grow.c */
int root_new(struct hash_table *t);
void segment_free_now(struct hash_segment *seg);
/* A column of a locked segment, made if need be; NULL: no memory. */
uint64_t *segment_column(struct hash_table *t, struct hash_segment *seg, enum hash_column c);
/* Makes room for another key; the new segment is locked. 0, -ENOMEM, -ENOSPC, -EAGAIN: lock anew.
 */
int segment_grow(struct hash_pos *pos);
/* Gives memory back if the segment is nearly empty; unlocks. */
void segment_shrink(struct hash_table *t, struct hash_segment *seg, uint64_t at);
/* Writes a slot and shows it in the views of `head`; false: both buckets are full. */
bool segment_place(struct hash_table *t, struct hash_segment *seg, struct hash_place place,
		   const uint8_t *key, const uint64_t word[HASH_COLUMNS], uint32_t views,
		   unsigned *slot);

/* hash_table_due.c: the segments by their earliest expiry. The table's lock is held. */
int due_reserve(struct hash_table *t);
void due_lower(struct hash_table *t, struct hash_segment *seg, uint64_t due);
void due_set(struct hash_table *t, struct hash_segment *seg, uint64_t due);
#define DUE_NOWHERE UINT32_MAX

#endif
