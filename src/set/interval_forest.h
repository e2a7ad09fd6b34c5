/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_forest: elements with ranges of keys of 4 bytes, by the high 16 bits of these: a direct
 * step to the few that begin with them.
 *
 * 256 pages of 256 slots. A slot has the elements within it: up to 60 in a leaf, sorted by their
 * first number and then the wider first, more in an interval_tree. What crosses slots is not here;
 * its user keeps it in a tree, and so he does all of a page that is not open yet. A page opens when
 * more than FOREST_LOOSE elements of it stand there (interval_forest_open()), so that the forest
 * grows page by page and costs few bytes where there are few. It stays open.
 *
 * Versions are those of interval_tree: between begin and commit or revert a change copies the
 * root, the page and the leaf that it touches, 5 KiB in all, or the tree's way; lookups in the root
 * before go on as if nothing was. Outside of it changes are made where things stand. Room is made
 * before (interval_forest_reserve()), then a change cannot fail. One thread changes a forest.
 *
 * Cost: lookup a load for the page, one for the slot, and the leaf's; changes O(log n), and up to
 * 60 entries of a leaf that move.
 * (DXR: Zec, Rizzo and Mikuc 2012, for ranges behind a direct table.)
 */
#ifndef TAMIS_INTERVAL_FOREST_H
#define TAMIS_INTERVAL_FOREST_H

#include "set/interval_tree.h"

enum { FOREST_LOOSE = 64 };

struct interval_forest;
struct forest_root; /* opaque: a version of it */

struct forest_range {
	uint32_t lo, hi;
};

struct forest_item {
	struct forest_range r;
	struct set_elem *e;
};

struct interval_forest *interval_forest_new(void); /* or NULL */
void interval_forest_free(struct interval_forest *f);

void interval_forest_begin(struct interval_forest *f);
void interval_forest_commit(struct interval_forest *f, struct rcu *rcu);
void interval_forest_revert(struct interval_forest *f);

/* True if it is the forest where a range's element stands. */
bool interval_forest_takes(const struct interval_forest *f, struct forest_range r);

/*
 * Room for `more` ranges in this one's slot and memory for n changes of it. A range that it does
 * not take: memory for interval_forest_loose(). 0 or -ENOMEM.
 */
int interval_forest_reserve(struct interval_forest *f, struct forest_range r, size_t more,
			    size_t n);
/* Of ranges that it takes. */
void interval_forest_insert(struct interval_forest *f, struct forest_range r, struct set_elem *e);
void interval_forest_remove(struct interval_forest *f, struct forest_range r);
/* Of others: one comes (1) or goes (-1) in the user's tree. */
void interval_forest_loose(struct interval_forest *f, struct forest_range r, int by);

/* True if the page of a range should open before n more come that it would take then. */
bool interval_forest_wants(const struct interval_forest *f, struct forest_range r, size_t n);
/* The page of a range opens with n elements, those of it in the user's tree that lie within a slot.
 */
int interval_forest_open(struct interval_forest *f, struct forest_range r,
			 const struct forest_item *items, size_t n);

/* --- reading, of a version that stays ------------------------------------------------------- */

const struct forest_root *interval_forest_root(const struct interval_forest *f);
struct set_elem *interval_forest_find(const struct forest_root *root, struct forest_range r);
/* As of interval_tree. */
struct set_elem *interval_forest_last_holding(const struct forest_root *root, uint32_t x,
					      uint64_t now);
int interval_forest_overlapping(const struct forest_root *root, struct forest_range r, uint64_t now,
				int (*fn)(void *ctx, struct set_elem *e), void *ctx);
void interval_forest_each(const struct forest_root *root, void (*fn)(void *ctx, struct set_elem *e),
			  void *ctx);
/* True if something in the user's tree begins within a slot and ends in another. */
bool interval_forest_ragged(const struct forest_root *root);

/* --- packet path ---------------------------------------------------------------------------- */

/* hit of the burst is not NULL here. */
uint64_t interval_forest_lookup(const struct forest_root *root, const struct interval_burst *b,
				uint64_t mask);

#endif
