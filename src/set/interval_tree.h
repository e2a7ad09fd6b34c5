/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_tree: elements with ranges of one field in a B+-tree, with the highest end below each
 * entry.
 *
 * Order: by lo, then the wider range first; no two elements have the same lo and hi. A node has up
 * to 48 entries, so that a million elements are four levels: what a search costs is cache misses.
 * Entries hold the first 8 bytes of keys as numbers; inner entries hold a whole key too, the lowest
 * that may stand below them (that of a node's first entry does not count), and the element that
 * reaches highest below. Searches leave out entries that do not reach up to what they look for:
 * O(log n) for one that is found, whatever is nested in what.
 *
 * A node goes when its last entry does; nodes are not merged otherwise. While a transaction is open
 * not even that: then whatever was taken out finds room where it stood, and putting it back in
 * opposite order needs no memory. All other insertions have interval_tree_reserve() go before.
 * (Comer 1979; Johnson and Shasha 1993 on freeing at empty; interval trees: Cormen et al.,
 * chapter 14.)
 */
#ifndef TAMIS_INTERVAL_TREE_H
#define TAMIS_INTERVAL_TREE_H

#include "set/set_internal.h"

/* Nodes for n insertions; 0 or -ENOMEM. */
int interval_tree_reserve(struct set *s, size_t n);
void interval_tree_insert(struct set *s, struct set_elem *e);
void interval_tree_remove(struct set *s, struct set_elem *e);
/* A transaction has ended: nodes that it left empty go. */
void interval_tree_settle(struct set *s);
struct set_elem *interval_tree_find(const struct set *s, const uint8_t *lo, const uint8_t *hi);
void interval_tree_each(const struct set_store *st, void (*fn)(void *ctx, struct set_elem *e),
			void *ctx);
void interval_tree_free(struct set_store *st);

/* The last live element in the tree's order that holds the key. */
struct set_elem *interval_tree_last_holding(const struct set *s, const uint8_t *key, uint64_t now);
/*
 * Calls fn for the live elements that overlap lo..hi, in order, until it returns other than 0;
 * returns that, or 0.
 */
int interval_tree_overlapping(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			      uint64_t now, int (*fn)(void *ctx, struct set_elem *e), void *ctx);

#endif
