/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_tree: elements with ranges of one field in a B+-tree, with the highest end below each
 * entry, under readers that see one version of it.
 *
 * Order: by lo, then the wider range first; no two elements have the same lo and hi. A node has up
 * to 32 entries, their keys as numbers of 64 bits, each word of all entries in a row: what a search
 * costs is cache misses, and a compare of eight at a time. An entry of an inner node has a
 * range that is not behind any below it, and the highest end below. Searches leave out entries that
 * do not reach up to what they look for: O(log n) for one that is found, whatever is nested in
 * what.
 *
 * Versions: a change copies the nodes on its way from the root, but for those that were made since
 * interval_tree_begin(). interval_tree_commit() gives up the version before, which a reader may
 * still be looking at: its nodes go after a grace period. interval_tree_revert() goes back to it
 * and needs no memory. All other changes have interval_tree_reserve() go before, and then cannot
 * fail.
 *
 * A node goes when its last entry does; nodes are not merged otherwise.
 * (Comer 1979; Johnson and Shasha 1993 on freeing at empty; interval trees: Cormen et al., chapter
 * 14; copying of paths: Driscoll, Sarnak, Sleator and Tarjan 1989.)
 */
#ifndef TAMIS_INTERVAL_TREE_H
#define TAMIS_INTERVAL_TREE_H

#include "base/base.h"
#include "rcu/rcu.h"

struct set_elem;
struct interval_node;

/* A key as numbers: its bytes, eight at a time, big-endian. */
enum { INTERVAL_WORDS = 8 };
struct interval_key {
	uint64_t w[INTERVAL_WORDS];
};

static inline unsigned interval_words(unsigned key_len)
{
	return (key_len + 7) / 8;
}

static inline void interval_key_make(const uint8_t *key, unsigned len, struct interval_key *out)
{
	unsigned i = 0, at = 0;

	for (; at + 8 <= len; at += 8)
		out->w[i++] = be_load(key + at, 8);
	if (at < len)
		out->w[i] = be_load(key + at, len - at);
}

/* All zero: an empty one. */
struct interval_tree {
	struct interval_node *root;
	unsigned height;
	uint64_t stamp; /* nodes of this version have it */
	struct {
		struct interval_node *root;
		unsigned height;
	} base;				/* as it was at interval_tree_begin() */
	struct interval_node *retired;	/* of the version before */
	struct interval_node *spare[2]; /* inner nodes, leaves */
	size_t n_spare[2];
};

/* A range and its element. */
struct interval_entry {
	struct interval_key lo, hi;
	struct set_elem *e;
};

/* Room for n insertions or removals; 0 or -ENOMEM. words: of a key. */
int interval_tree_reserve(struct interval_tree *t, unsigned words, size_t n);
/* The tree becomes that of a root; what else it holds serves for all of them. */
void interval_tree_use(struct interval_tree *t, struct interval_node *root);
void interval_tree_insert(struct interval_tree *t, unsigned words, const struct interval_entry *in);
void interval_tree_remove(struct interval_tree *t, unsigned words,
			  const struct interval_entry *out);

/* From here on nodes are copied; commit: for good. */
void interval_tree_begin(struct interval_tree *t);
void interval_tree_commit(struct interval_tree *t, struct rcu *rcu);
void interval_tree_revert(struct interval_tree *t, unsigned words);
/* Nobody looks at it any more. */
void interval_tree_free(struct interval_tree *t, unsigned words);

/* --- reading, of a version that stays: the control side's or one that was published ---------- */

struct set_elem *interval_tree_find(const struct interval_node *root, unsigned words,
				    const struct interval_key *lo, const struct interval_key *hi);
/* Calls fn for each element, in order; it may free the element. */
void interval_tree_each(const struct interval_node *root, unsigned words,
			void (*fn)(void *ctx, struct set_elem *e), void *ctx);

/* The last live element in the tree's order that holds the key. */
struct set_elem *interval_tree_last_holding(const struct interval_node *root, unsigned words,
					    const struct interval_key *key, uint64_t now);
/*
 * Calls fn for the live elements that overlap lo..hi, in order, until it returns other than 0;
 * returns that, or 0.
 */
int interval_tree_overlapping(const struct interval_node *root, unsigned words,
			      const struct interval_key *lo, const struct interval_key *hi,
			      uint64_t now, int (*fn)(void *ctx, struct set_elem *e), void *ctx);

/* --- packet path ---------------------------------------------------------------------------- */

/* What a burst asks for: key i is at keys + i * stride; as set_lookup(). */
struct interval_burst {
	const uint8_t *keys;
	size_t stride;
	unsigned key_len;
	const uint64_t *now;
	bool nested; /* ranges may lie over each other */
	bool timed;  /* elements may have a lifetime */
	bool loaded; /* elements have data or state, which will be asked for next */
	struct set_elem **hit;
};

uint64_t interval_tree_lookup(const struct interval_node *root, const struct interval_burst *b,
			      uint64_t mask);
/* Each key of the mask in a tree of its own, roots[i]. */
uint64_t interval_trees_lookup(const struct interval_node *const *roots,
			       const struct interval_burst *b, uint64_t mask);

#endif
