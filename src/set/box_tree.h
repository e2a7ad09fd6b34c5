/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_tree: elements with a range in each of several fields, boxes so to say, in AVL trees that
 * know the bounds of each subtree.
 *
 * Order: by lo, then by hi; no two elements have the same lo and hi. Every node knows the highest
 * hi and the lowest lo of each field at or below it. A search leaves subtrees out that cannot hold
 * what it looks for: about O(log n) steps as long as boxes are mostly apart.
 *
 * A node keeps the heights of both its subtrees, so that an insertion touches the nodes of its path
 * alone. Links are in the elements: nothing here allocates. Recursion is as deep as the tree, at
 * most 1.45 log2 n. (Adelson-Velsky and Landis 1962.)
 */
#ifndef TAMIS_BOX_TREE_H
#define TAMIS_BOX_TREE_H

#include "set/set_internal.h"

/* Both return the new root. */
struct set_elem *box_tree_insert(const struct set *s, struct set_elem *root, struct set_elem *e);
struct set_elem *box_tree_remove(const struct set *s, struct set_elem *root, struct set_elem *e);
struct set_elem *box_tree_find(const struct set *s, struct set_elem *root, const uint8_t *lo,
			       const uint8_t *hi);
/* The live element that holds the key and came first, if it came before `best` (may be NULL), else
 * that. */
struct set_elem *box_tree_first(const struct set *s, struct set_elem *root, const uint8_t *key,
				uint64_t now, struct set_elem *best);
void box_tree_each(struct set_elem *root, void (*fn)(void *ctx, struct set_elem *e), void *ctx);

static inline uint8_t *node_max(const struct set *s, struct set_elem *e)
{
	return e->bytes + s->off_max;
}

static inline uint8_t *node_min(const struct set *s, struct set_elem *e)
{
	return e->bytes + s->off_min;
}

/* Compares keys of which the first 8 bytes are at hand as numbers. */
static inline int key_cmp(const struct set *s, uint64_t pa, const uint8_t *a, uint64_t pb,
			  const uint8_t *b)
{
	if (pa != pb)
		return pa < pb ? -1 : 1;
	return s->key_len > 8 ? memcmp(a + 8, b + 8, s->key_len - 8) : 0;
}

/* lo <= key <= hi, without calls and branches for the lengths that are common. */
static inline bool field_holds(const uint8_t *lo, const uint8_t *hi, const uint8_t *key,
			       unsigned len)
{
	switch (len) {
	case 1:
		return (*lo <= *key) & (*key <= *hi);
	case 2:
		return (be16_load(lo) <= be16_load(key)) & (be16_load(key) <= be16_load(hi));
	case 4:
		return (be32_load(lo) <= be32_load(key)) & (be32_load(key) <= be32_load(hi));
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

#endif
