/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_tree: elements with a range in each of several fields, boxes so to say, in an AVL tree that
 * knows the bounds of each subtree.
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

void box_tree_insert(struct set *s, struct set_elem *e);
void box_tree_remove(struct set *s, struct set_elem *e);
struct set_elem *box_tree_find(const struct set *s, const uint8_t *lo, const uint8_t *hi);
void box_tree_each(const struct set_store *st, void (*fn)(void *ctx, struct set_elem *e),
		   void *ctx);

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

#endif
