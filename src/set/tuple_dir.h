/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple_dir: from a hash to a group of boxes, in versions; what a tuple_table keeps its groups in.
 *
 * The highest bits of the hash lead through `top` to a page, the next to an entry of it, and that
 * to a segment of up to 32 groups, the lowest 16 to a group (Fagin et al., extendible hashing,
 * 1979, in two levels). An entry has beside its pointer a filter of 192 bits, three of them for
 * each group of its segment (Bloom, 1970): so a lookup learns from half a cache line that there is
 * no group, which is so for most tuples, but for 2 in 100. A full segment is split, and its page if
 * that has no finer entry; the first page grows to 128 entries, then there are more of them.
 *
 * Versions: as in interval_tree.h. A change copies what it touches if it does not have the stamp of
 * the version: top, page and segment. Cost, n groups: that copy, 5 KB and n / 100 bytes; else O(1).
 */
#ifndef TAMIS_TUPLE_DIR_H
#define TAMIS_TUPLE_DIR_H

#include "set/box_tree.h"

enum { TUPLE_SEGMENT = 32, TUPLE_FILTERS = 3 };

/* Groups of which the first `depth` bits of the hash are the same. */
struct tuple_segment {
	struct rcu_head rcu;
	uint64_t stamp;
	uint8_t depth, n;
	uint16_t tag[TUPLE_SEGMENT] __attribute__((aligned(64))); /* the last bits of the hash */
	struct box_node *root[TUPLE_SEGMENT];			  /* NULL: free */
};

struct tuple_entry {
	struct tuple_segment *segment;
	uint64_t filter[TUPLE_FILTERS];
};

_Static_assert(sizeof(struct tuple_entry) == 32, "an entry is in one cache line");

struct tuple_page {
	struct rcu_head rcu;
	uint64_t stamp;
	unsigned depth; /* bits that lead to it */
	struct tuple_entry at[] __attribute__((aligned(64)));
};

struct tuple_top {
	struct rcu_head rcu;
	uint64_t stamp;
	uintptr_t at[]; /* pages, and in the six lowest bits their depth */
};

/* Of one version. */
struct tuple_dir {
	struct tuple_top *top;
	uint8_t top_bits, page_bits;
};

static inline const struct tuple_entry *tuple_dir_entry(const struct tuple_dir *d, uint64_t hash)
{
	uintptr_t at = d->top->at[hash >> 1 >> (63 - d->top_bits)];
	const struct tuple_page *p = (const struct tuple_page *)(at & ~(uintptr_t)63);

	return &p->at[hash << (at & 63) >> 1 >> (63 - d->page_bits)];
}

/* False: the segment has no group with this hash. */
static inline bool tuple_entry_may(const struct tuple_entry *e, uint64_t hash)
{
	return e->filter[0] >> (hash & 63) & e->filter[1] >> (hash >> 5 & 63) &
	       e->filter[2] >> (hash >> 10 & 63) & 1;
}

int tuple_dir_make(struct tuple_dir *d, const struct box_version *v);
/* What leads to a hash, of this version; `room`: for one group more. 0 or -ENOMEM. */
int tuple_dir_reserve(struct tuple_dir *d, struct box_version *v, uint64_t hash, bool room);
/* The root of a group, or NULL. */
struct box_node *tuple_dir_find(const struct tuple_dir *d, uint64_t hash);
/*
 * Before and after the root of a group changes: its place, -1 for a new one, and what stands there
 * then (NULL: there is no group any more).
 */
int tuple_dir_place(const struct tuple_dir *d, uint64_t hash);
void tuple_dir_put(struct tuple_dir *d, uint64_t hash, int place, struct box_node *root);

/* Calls fn for the root of each group. */
void tuple_dir_each(const struct tuple_dir *d, void (*fn)(void *ctx, struct box_node *root),
		    void *ctx);
/* The same, and frees what is here: all or, of a version, what is not of those before. */
void tuple_dir_free(struct tuple_dir *d, const struct box_version *only,
		    void (*fn)(void *ctx, struct box_node *root), void *ctx);

#endif
