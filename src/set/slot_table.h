/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_table: ranges of keys of 1, 2 or 4 bytes: is a key in any of them, in a few nanoseconds.
 *
 * Keys are numbers here. Those of 4 bytes go by their high 16 bits: 256 pages of 256 slots, a page
 * is made when something begins or ends in it. Shorter ones have one slot. Each slot (slot.h) knows
 * the union of the ranges' parts within it; a slot, or a page, that lies in a range as a whole only
 * counts such ranges. So a /8 is one count, 0.0.0.0/0 is 256, whatever else there is.
 *
 * Two kinds of ranges are in the table:
 *  - outer ones, that the caller keeps: slot_table_add() and slot_table_drop();
 *  - inner ones, within one slot and not all of it, kept here as 4 bytes each, sorted by their
 *    first number and then the wider first.
 * Of single numbers that do not, with keys of 1 or 2 bytes, inner ones are nowhere but in the
 * union: the table is a bitmap. Which numbers of that are outer ones its user knows. Where ranges
 * may lie over each other, what is left of the union when one goes is found by looking at the
 * others in its slots: slot_table_drop() and slot_table_take() ask the caller for outer ones.
 *
 * Versions: between slot_table_begin() and commit or revert a change copies the pages, leaves and
 * inner ranges that it touches, if they are not copied yet, and lookups in the root before
 * (slot_table_root()) go on as if nothing was. Commit gives up the version before, which goes after
 * a grace period; revert goes back to it and needs no memory. Outside of it changes are made where
 * things stand, and nobody may look. One thread changes a table. Room is made before
 * (slot_table_reserve(), slot_table_reserve_take()), then a change cannot fail.
 *
 * Cost: lookup a load for the page, one for the slot, one or two lines of its leaf; changes
 * O(log n) and the leaf at each end, bounded by the 65,536 numbers of a slot; in a version of its
 * own 9 KiB of copies more.
 * (DXR: Zec, Rizzo and Mikuc 2012, for ranges behind a direct table; Poptrie: Asai and Ohara 2015.)
 */
#ifndef TAMIS_SLOT_TABLE_H
#define TAMIS_SLOT_TABLE_H

#include "base/base.h"
#include "rcu/rcu.h"

struct slot_table;
struct slot_root; /* opaque: a version of it */
struct slot_part;

struct slot_range {
	uint32_t lo, hi;
};

struct slot_others {
	/* Calls slot_part_add(part, range) for each outer range that overlaps lo..hi. */
	void (*each)(void *ctx, uint32_t lo, uint32_t hi, struct slot_part *part);
	void *ctx;
};

/*
 * key_len: 1, 2 or 4; NULL if there is no memory. readers: there are some besides the one thread,
 * all changes are within versions.
 */
enum slot_ranges {
	SLOT_APART,
	SLOT_OVERLAP, /* ranges may lie over each other */
	SLOT_POINTS,  /* they are single numbers; key_len is 1 or 2 */
};
struct slot_table *slot_table_new(unsigned key_len, enum slot_ranges ranges, bool readers);
void slot_table_free(struct slot_table *t);

/* Room for n more ranges that begin where this one does, or in the slot where it ends. */
int slot_table_reserve(struct slot_table *t, struct slot_range r, size_t n);
/* Memory for n changes that take this range, or others of its slots, out. */
int slot_table_reserve_take(struct slot_table *t, struct slot_range r, size_t n);

void slot_table_begin(struct slot_table *t);
void slot_table_commit(struct slot_table *t, struct rcu *rcu);
void slot_table_revert(struct slot_table *t);

/* True if a range is an inner one. */
bool slot_table_is_inner(const struct slot_table *t, struct slot_range r);

void slot_table_add(struct slot_table *t, struct slot_range r);
void slot_table_drop(struct slot_table *t, struct slot_range r, const struct slot_others *others);
void slot_table_put(struct slot_table *t, struct slot_range r);
void slot_table_take(struct slot_table *t, struct slot_range r, const struct slot_others *others);
void slot_part_add(struct slot_part *part, struct slot_range r);

/* --- inner ranges --------------------------------------------------------------------------- */

/* In a table of points outer ones count too here: each has the caller to tell apart. */
bool slot_table_find(const struct slot_table *t, struct slot_range r);
/* The last in order that holds x; false if none does. */
bool slot_table_last_holding(const struct slot_table *t, const struct slot_root *root, uint32_t x,
			     struct slot_range *out);
/* Calls fn for those that overlap r, in order, until it returns other than 0; returns that or 0. */
int slot_table_overlapping(const struct slot_table *t, struct slot_range r,
			   int (*fn)(void *ctx, struct slot_range r), void *ctx);

/* --- packet path ---------------------------------------------------------------------------- */

/* The version to look at now. */
const struct slot_root *slot_table_root(const struct slot_table *t);

/* The keys of the mask that are in any range; key i is at keys + i * stride. */
uint64_t slot_table_lookup(const struct slot_table *t, const struct slot_root *root,
			   const uint8_t *keys, size_t stride, uint64_t mask);
bool slot_table_has(const struct slot_table *t, const struct slot_root *root, uint32_t x);

#endif
