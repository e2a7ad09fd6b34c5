/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_tree_read: the packet path of interval trees, written once, built for each kind of CPU.
 *
 * The keys of a burst go down together, level by level, each in its tree: while one waits for its
 * node's line the others are counted on. All leaves of a tree are at one depth. In a tree whose
 * ranges are apart the last that begins at or before a key holds it or none does; where ranges are
 * nested, or one that has expired is in the way, the key goes on by itself
 * (interval_tree_last_holding()).
 */
#include "set/interval_tree_internal.h"

/* A burst on its way. */
struct descent {
	const struct interval_burst *b;
	unsigned words;
	const struct interval_node *node[SET_BATCH_MAX];
	uint64_t key[SET_BATCH_MAX][2]; /* longer ones are read again */
	uint8_t at[SET_BATCH_MAX];
	uint64_t inner[16];   /* those whose node is of a level, or above it */
	uint64_t live, alone; /* still on its way; to be looked up by itself */
};

static void key_words(const struct descent *d, unsigned i, struct interval_key *out)
{
	interval_key_make(d->b->keys + i * d->b->stride, d->b->key_len, out);
}

static inline unsigned count_upto(const uint64_t *lo, uint64_t x)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < FANOUT; i++)
		n += lo[i] <= x;
	return (unsigned)n;
}

/* Entries of a node that do not begin behind key i. */
static inline unsigned node_upto(const struct descent *d, const struct interval_node *n, unsigned i)
{
	const uint64_t *lo = node_lo(n);
	unsigned upto = count_upto(lo, d->key[i][0]);

	if (unlikely(d->key[i][0] == UINT64_MAX)) /* as entries that are not there */
		upto = n->n;
	if (d->words == 1)
		return upto;
	if (d->words == 2) {
		while (upto && lo[upto - 1] == d->key[i][0] && lo[FANOUT + upto - 1] > d->key[i][1])
			upto--;
		return upto;
	}
	struct interval_key key;
	key_words(d, i, &key);
	while (upto && lo[upto - 1] == key.w[0] && entry_cmp(lo, upto - 1, &key, d->words) > 0)
		upto--;
	return upto;
}

static inline bool node_reaches(const struct descent *d, const struct interval_node *n, unsigned at,
				unsigned i)
{
	const uint64_t *max = node_max(n, d->words) + at;

	if (max[0] != d->key[i][0] || d->words == 1)
		return max[0] >= d->key[i][0];
	if (d->words == 2)
		return max[FANOUT] >= d->key[i][1];
	struct interval_key key;
	key_words(d, i, &key);
	return entry_cmp(node_max(n, d->words), at, &key, d->words) >= 0;
}

static inline void lo_prefetch(const struct interval_node *n)
{
	for (unsigned i = 0; i < FANOUT; i += 8)
		__builtin_prefetch(&n->col[i]);
}

/* What a node says that is not the last one. */
static void level_inner(struct descent *d, uint64_t here)
{
	for (uint64_t rest = here; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		unsigned upto = node_upto(d, d->node[i], i);
		d->at[i] = (uint8_t)(upto ? upto - 1 : 0);
		__builtin_prefetch(&node_ptr(d->node[i], d->words)[d->at[i]]);
		if (d->b->nested)
			__builtin_prefetch(&node_max(d->node[i], d->words)[d->at[i]]);
	}
	for (uint64_t rest = here; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		if (d->b->nested && !node_reaches(d, d->node[i], d->at[i], i)) {
			d->live &= ~(1ULL << i);
			d->alone |= 1ULL << i;
			continue;
		}
		d->node[i] = node_ptr(d->node[i], d->words)[d->at[i]];
		lo_prefetch(d->node[i]);
	}
}

static void level_leaf(struct descent *d, struct set_elem *found[SET_BATCH_MAX])
{
	for (uint64_t rest = d->live; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		unsigned upto = node_upto(d, d->node[i], i);
		if (!upto) {
			/* The leaf's first entry went: what precedes the key is in an earlier leaf.
			 */
			d->live &= ~(1ULL << i);
			d->alone |= 1ULL << i;
			continue;
		}
		d->at[i] = (uint8_t)(upto - 1);
		__builtin_prefetch(&node_max(d->node[i], d->words)[d->at[i]]);
		__builtin_prefetch(&node_ptr(d->node[i], d->words)[d->at[i]]);
	}
	for (uint64_t rest = d->live; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		found[i] = node_ptr(d->node[i], d->words)[d->at[i]];
		if (!node_reaches(d, d->node[i], d->at[i], i)) {
			d->live &= ~(1ULL << i);
			/* What lies over one that has expired may have come since. */
			d->alone |= (uint64_t)(d->b->nested ||
					       (d->b->timed && !elem_live(found[i], d->b->now[i])))
				    << i;
			continue;
		}
		if (d->b->timed)
			__builtin_prefetch(&found[i]->expires);
		if (d->b->loaded && d->b->hit)
			__builtin_prefetch(found[i]->bytes);
	}
}

static uint64_t lookup(const struct interval_node *const *roots, const struct interval_burst *b,
		       uint64_t mask)
{
	struct descent d = {.b = b, .words = interval_words(b->key_len), .live = mask};
	struct set_elem *found[SET_BATCH_MAX];
	struct interval_key key;
	unsigned top = 0;

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const uint8_t *bytes = b->keys + i * b->stride;
		d.node[i] = roots[i];
		top = MAX(top, roots[i]->level);
		d.inner[roots[i]->level] |= 1ULL << i;
		d.key[i][0] = be_load(bytes, MIN(b->key_len, 8U));
		d.key[i][1] = b->key_len > 8 ? be_load(bytes + 8, MIN(b->key_len - 8, 8U)) : 0;
	}
	for (; top; top--) {
		level_inner(&d, d.inner[top] & d.live);
		d.inner[top - 1] |= d.inner[top];
	}
	level_leaf(&d, found);
	uint64_t hits = d.live;
	for (uint64_t rest = b->timed ? d.live : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		if (elem_live(found[i], b->now[i]))
			continue;
		hits &= ~(1ULL << i);
		d.alone |= 1ULL << i;
	}
	for (uint64_t rest = d.alone; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		key_words(&d, i, &key);
		found[i] = interval_tree_last_holding(roots[i], d.words, &key, b->now[i]);
		hits |= (uint64_t)(found[i] != NULL) << i;
	}
	for (uint64_t rest = b->hit ? hits : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		b->hit[i] = found[i];
	}
	return hits;
}
