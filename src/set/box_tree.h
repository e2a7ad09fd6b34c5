/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_tree: elements with a range in each of several fields, boxes so to say, in trees that know
 * the bounds of what is below, in versions.
 *
 * A node has up to 16 entries in the order of their lo: the bounds, field by field, of what is
 * below it, one after the other; then the children, in a leaf the elements. All leaves are at one
 * depth. A search leaves out what cannot hold what it looks for: about O(log n) as long as boxes
 * are mostly apart. A tree of one node has room for no more than it needs. Nodes go when they are
 * empty and are not merged otherwise. (Guttman's R-tree, 1984, split along the order of lo.)
 *
 * Versions: as in interval_tree.h. A change copies the nodes on its way that do not have the stamp
 * of the version; box_pool_reserve() goes before, then a change cannot fail.
 */
#ifndef TAMIS_BOX_TREE_H
#define TAMIS_BOX_TREE_H

#include "set/set_internal.h"

enum { BOX_FANOUT = 16 };

struct box_node {
	union {
		struct rcu_head rcu; /* when it goes */
		/* Which nobody looks at then. */
		struct {
			struct box_node *next; /* of those that are spare */
			uint64_t stamp;
			uint64_t hash; /* of a root: its place in the table, see tuple_table.c */
		};
	};
	uint8_t n, cap;
	uint8_t height; /* 0: a leaf */
	uint8_t bounds[] __attribute__((aligned(8)));
};

_Static_assert(sizeof(struct box_node) == 40, "a node of one short box is a cache line");
/* One that is retired, but not deferred yet, keeps them: a version that is undone may need it. */
_Static_assert(offsetof(struct box_node, stamp) == offsetof(struct box_node, rcu.fn) &&
		       offsetof(struct box_node, hash) == offsetof(struct box_node, rcu.epoch),
	       "link and bytes are beside them");

/* lo <= key <= hi, without calls and branches for the lengths that are common. */
static inline bool field_holds(const uint8_t *lo, const uint8_t *hi, const uint8_t *key,
			       unsigned len)
{
	switch (len) {
	case 1:
		return (int)(*lo <= *key) & (int)(*key <= *hi);
	case 2:
		return (int)(be16_load(lo) <= be16_load(key)) &
		       (int)(be16_load(key) <= be16_load(hi));
	case 4:
		return (int)(be32_load(lo) <= be32_load(key)) &
		       (int)(be32_load(key) <= be32_load(hi));
	default:
		return memcmp(lo, key, len) <= 0 && memcmp(key, hi, len) <= 0;
	}
}

static inline bool box_holds(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			     const uint8_t *key)
{
	bool in = true;

	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++])
		in &= field_holds(lo + at, hi + at, key + at, s->desc.field_len[f]);
	return in;
}

/* The open version, and what is in the one before alone. */
struct box_version {
	uint64_t stamp;
	struct rcu_head *retired;
};

static inline void box_version_retire(struct box_version *v, struct rcu_head *head, size_t bytes)
{
	head->next = v->retired;
	head->bytes = bytes;
	v->retired = head;
}

/* Memory for changes. */
struct box_pool {
	const struct set *s;
	struct box_version *version;
	struct box_node *spare; /* full ones */
	size_t n_spare;
	struct box_node *spare_root; /* one of the size that was reserved, or NULL */
};

/* Memory for one box more (or less) in a tree, NULL for an empty one; 0 or -ENOMEM. */
int box_pool_reserve(struct box_pool *p, const struct box_node *root, bool insert);
void box_pool_free(struct box_pool *p);

/* Both return the new root, NULL when it is empty. */
struct box_node *box_tree_insert(struct box_pool *p, struct box_node *root, struct set_elem *e);
struct box_node *box_tree_remove(struct box_pool *p, struct box_node *root, struct set_elem *e);

/* Frees the nodes with the version's stamp, or all. */
void box_tree_revert(struct box_pool *p, struct box_node *root);
void box_tree_free(const struct box_node *root, unsigned key_len);

struct set_elem *box_tree_find(const struct set *s, const struct box_node *root, const uint8_t *lo,
			       const uint8_t *hi);
/* The live element that holds the key and came first, if it came before `best` (may be NULL), else
 * that. */
struct set_elem *box_tree_first(const struct set *s, const struct box_node *root,
				const uint8_t *key, uint64_t now, struct set_elem *best);
/* An element that holds the key, live or not, or NULL. */
struct set_elem *box_tree_any(const struct set *s, const struct box_node *root, const uint8_t *key);
/* fn may free the element. */
void box_tree_each(const struct box_node *root, unsigned key_len,
		   void (*fn)(void *ctx, struct set_elem *e), void *ctx);

#endif
