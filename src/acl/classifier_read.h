/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_read: lookups, the same text for each kind of CPU.
 *
 * Before it is included: SCAN4 and SCAN6, the lanes of a leaf that a key passes, for each size of
 * leaf; EXTRACT, the bits of a word under a mask, packed; LOOKUP, the name of the function;
 * PREPARE, ROOT and LIVE, where there is something better than prepare_packets(), reach_root() and
 * live_packets().
 *
 * Roots are visited in the order of their bounds, and only by packets that have no better hit yet.
 * What packets reach stands in two queues: leaves, and other shapes, which lead to more of both.
 * How long a loop runs is what nobody can guess, so there are few: one for each queue of a visit,
 * and roots that nearly the same packets ask share a visit. Where a structure is large each step
 * prefetches what the next reads.
 */
#include "acl/classifier_internal.h"

/* What all packets of a lookup see, by value: stores to their hits are no reason to read it anew.
 */
struct seen {
	uint64_t version;
	struct order_view view;
	const struct cls_key *keys;
};

/*
 * The first of the lanes that counts becomes the hit, if it is better than the one there is. True
 * if one counts: entries behind it can be no better.
 */
static inline ALWAYS_INLINE bool settle_hit(struct cls_lookup *l, struct seen seen,
					    const struct cls_leaf *leaf, unsigned lanes, unsigned i)
{
	for (; lanes; lanes &= lanes - 1) {
		unsigned lane = (unsigned)__builtin_ctz(lanes);
		const struct cls_node *e = leaf->entry[lane];
		/* Before its rank, which the view may not know. */
		if (unlikely(e->born > seen.version ||
			     __atomic_load_n(&e->died, __ATOMIC_RELAXED) <= seen.version))
			continue;
		uint64_t rank = order_rank(&seen.view, &e->order), best = l->best[i];
		if (unlikely(l->after) && rank <= l->after[i])
			continue;
		if (unlikely(leaf->shape.check >> lane & 1)) {
			if (rank >= best)
				return true;
			if (!cls_packed_matches(&e->rule, &seen.keys[i]))
				continue;
		}
		/* Which of two tables has the better one is not worth a guess. */
		uintptr_t worse = -(uintptr_t)(rank >= best);
		uintptr_t hit = ((uintptr_t)l->hit[i] & worse) | ((uintptr_t)&e->pub & ~worse);
		l->hit[i] = (const struct cls_entry *)hit;
		l->best[i] = MIN(rank, best);
		return true;
	}
	return false;
}

static inline unsigned scan(const struct cls_leaf *leaf, const struct cls_key *k, bool ipv4)
{
	return ipv4 ? SCAN4(leaf, k) : SCAN6(leaf, k);
}

static inline const struct cls_shape *split_slot(const struct cls_split *x, const struct cls_key *k)
{
	const uint32_t *w = k->w;
	uint32_t at = EXTRACT(w[x->word[0]], x->mask[0]) | EXTRACT(w[x->word[1]], x->mask[1])
								   << x->shift;
	return __atomic_load_n(&x->slot[at], __ATOMIC_ACQUIRE);
}

static inline const struct cls_shape *table_slot(const struct cls_lookup *l,
						 const struct cls_table *t, const struct cls_key *k)
{
	const struct cls_directory *d = __atomic_load_n(&t->dir, __ATOMIC_ACQUIRE);
	uint64_t hash = cls_table_hash(l->c->keys, t, k->w);
	const uint64_t *at = cls_directory_at(d, &hash);
	return cls_slot_find(__atomic_load_n(at, __ATOMIC_ACQUIRE), hash);
}

/* Entries that are all alike, of which a leaf has passing lanes: does a packet match none at all?
 */
static inline bool chain_done(const struct cls_leaf *leaf, unsigned lanes, const struct cls_key *k)
{
	unsigned lane = (unsigned)__builtin_ctz(lanes | 1 << CLS_LANES);

	if (!lanes)
		return __atomic_load_n(&leaf->shape.valid, __ATOMIC_RELAXED);
	return leaf->shape.check >> lane & 1 && !cls_packed_matches(&leaf->entry[lane]->rule, k);
}

/* May an entry of these blocks have the packet's ports? */
static inline bool blocks_have(const struct cls_blocks *b, const struct cls_key *k)
{
	uint32_t ports = k->w[CLS_AT_DPORT / 32];
	uint64_t sport = __atomic_load_n(&b->sport, __ATOMIC_RELAXED);
	uint64_t dport = __atomic_load_n(&b->dport, __ATOMIC_RELAXED);
	return (sport >> (ports >> 26) & dport >> (ports >> 10 & 63)) & 1;
}

/* From a shape down, its wide sides last. */
static void walk(struct cls_lookup *l, const struct cls_shape *s, unsigned i, bool ipv4)
{
	const struct cls_shape *wide[CLS_LEVEL_MAX + 2];
	const struct cls_key *k = &l->keys[i];
	const struct seen seen = {l->version, l->view, l->keys};
	unsigned n = 0;

	for (;;) {
		if (s && s->kind == CLS_SPLIT) {
			const struct cls_split *x = container_of(s, const struct cls_split, shape);
			const struct cls_shape *w = __atomic_load_n(&x->wide, __ATOMIC_ACQUIRE);
			if (w)
				wide[n++] = w;
			s = split_slot(x, k);
			continue;
		}
		if (s && s->kind == CLS_TABLE) {
			const struct cls_table *t = container_of(s, const struct cls_table, shape);
			const struct cls_shape *w = __atomic_load_n(&t->wide, __ATOMIC_ACQUIRE);
			if (w)
				wide[n++] = w;
			s = table_slot(l, t, k);
			continue;
		}
		if (s && s->kind == CLS_LEAF) {
			const struct cls_leaf *leaf = container_of(s, const struct cls_leaf, shape);
			settle_hit(l, seen, leaf, scan(leaf, k, ipv4), i);
		} else if (s) {
			const struct cls_chain *x = container_of(s, const struct cls_chain, shape);
			bool alike = __atomic_load_n(&x->alike, __ATOMIC_ACQUIRE);
			for (unsigned at = 0; at < x->n_leaves; at++) {
				const struct cls_link *link = &x->link[at];
				/* Before its blocks: those that it has are there then. */
				const struct cls_leaf *leaf =
					__atomic_load_n(&link->leaf, __ATOMIC_ACQUIRE);
				if (!alike && !blocks_have(&link->blocks, k))
					continue;
				unsigned lanes = leaf ? scan(leaf, k, ipv4) : 0;
				if (leaf && alike && chain_done(leaf, lanes, k))
					break;
				if (settle_hit(l, seen, leaf, lanes, i))
					break;
			}
		}
		if (!n)
			return;
		s = wide[--n];
	}
}

static inline const struct cls_shape *spot_shape(cls_spot p)
{
	return (const struct cls_shape *)(p & ~(cls_spot)(CLS_BURST - 1));
}

/* No branch to guess: a leaf, another shape or NULL. */
static inline ALWAYS_INLINE void reach(struct cls_spots *to, const struct cls_shape *s, unsigned i,
				       bool large, bool ipv4)
{
	cls_spot p = (cls_spot)s | i;
	unsigned other = p / CLS_SHAPE_OFFSET & 1;

	to->leaves[to->n_leaves] = p;
	to->n_leaves += (p >= CLS_BURST) - other;
	to->others[to->n_others] = p;
	to->n_others += other;
	if (large)
		cls_spot_prefetch(p >= CLS_BURST ? p : (cls_spot)to->others, ipv4);
}

/* What the leaves say. */
static inline ALWAYS_INLINE void scan_leaves(struct cls_lookup *l, const cls_spot *leaves,
					     unsigned n, bool large, bool ipv4)
{
	const struct seen seen = {l->version, l->view, l->keys};
	cls_spot hit[CLS_FRONTIER];
	uint8_t lanes[CLS_FRONTIER];
	unsigned m = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct cls_leaf *leaf =
			container_of(spot_shape(leaves[k]), const struct cls_leaf, shape);
		unsigned hits = scan(leaf, &seen.keys[leaves[k] % CLS_BURST], ipv4);
		hit[m] = leaves[k];
		lanes[m] = (uint8_t)hits;
		m += hits != 0;
		unsigned lane = (unsigned)__builtin_ctz(hits | 1 << (CLS_LANES - 1));
		if (large)
			__builtin_prefetch(leaf->entry[lane]);
	}
	for (unsigned k = 0; k < m; k++)
		settle_hit(l, seen, container_of(spot_shape(hit[k]), const struct cls_leaf, shape),
			   lanes[k], hit[k] % CLS_BURST);
}

/* One step down from the shapes that are no leaves, from one of them on, and from those that this
 * adds. Wide sides are put aside: returns how many. */
static inline ALWAYS_INLINE unsigned descend(struct cls_lookup *l, unsigned from,
					     struct cls_spots *to, cls_spot *wides, bool large,
					     bool ipv4)
{
	const struct cls_key *keys = l->keys;
	unsigned n = 0;

	for (unsigned k = from; k < to->n_others; k++) {
		const struct cls_shape *s = spot_shape(to->others[k]), *wide, *next;
		unsigned i = to->others[k] % CLS_BURST;
		bool room = k < CLS_STEPS;
		if (likely(s->kind == CLS_SPLIT) && likely(room)) {
			const struct cls_split *x = container_of(s, const struct cls_split, shape);
			wide = __atomic_load_n(&x->wide, __ATOMIC_ACQUIRE);
			next = split_slot(x, &keys[i]);
		} else if (s->kind == CLS_TABLE && room) {
			const struct cls_table *t = container_of(s, const struct cls_table, shape);
			wide = __atomic_load_n(&t->wide, __ATOMIC_ACQUIRE);
			next = table_slot(l, t, &keys[i]);
		} else {
			walk(l, s, i, ipv4);
			continue;
		}
		reach(to, next, i, large, ipv4);
		wides[n] = (cls_spot)wide | i;
		n += wide != NULL;
	}
	return n;
}

#ifndef PREPARE
/* The products of the packets of a mask; returns those of IPv4. */
static inline uint64_t prepare_packets(struct cls_lookup *l, uint64_t mask)
{
	uint64_t ipv4 = 0;

	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		const struct cls_key *k = &l->keys[i];
		bool four = k->family == CLS_IPV4;
		const uint32_t *bits = l->c->side[!four].mask;
		ipv4 |= (uint64_t)four << i;
		for (unsigned e = 0; e < 2; e++) {
			const uint32_t *w = &k->w[(e ? CLS_AT_DADDR : CLS_AT_SADDR) / 32];
			l->product[e][i] = l->c->keys[e] * (w[0] & bits[0]) +
					   l->c->keys[e + 2] * (w[1] & bits[1]);
		}
	}
	return ipv4;
}
#define PREPARE prepare_packets
#endif

#ifndef ROOT
/* What a root has for the packets of a mask. */
static inline ALWAYS_INLINE void reach_root(const struct cls_lookup *l, const struct cls_table *t,
					    uint64_t mask, struct cls_spots *to, bool large,
					    bool ipv4)
{
	const struct cls_directory *d = __atomic_load_n(&t->dir, __ATOMIC_ACQUIRE);
	const uint64_t *slot[CLS_BURST];
	uint64_t hash[CLS_BURST];
	unsigned n = 0;

	for (uint64_t rest = mask; rest; rest &= rest - 1, n++) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hash[n] = (t->mask[0] ? l->product[0][i] : 0) + (t->mask[1] ? l->product[1][i] : 0);
		slot[n] = cls_directory_at(d, &hash[n]);
		if (large)
			__builtin_prefetch(slot[n]);
	}
	for (unsigned k = 0; k < n; k++, mask &= mask - 1)
		reach(to, cls_slot_find(__atomic_load_n(slot[k], __ATOMIC_ACQUIRE), hash[k]),
		      (unsigned)__builtin_ctzll(mask), large, ipv4);
}
#define ROOT reach_root
#endif

#ifndef LIVE
/* The packets of a mask that have no hit before a bound. */
static inline uint64_t live_packets(const struct cls_lookup *l, uint64_t mask, uint64_t bound)
{
	uint64_t live = 0;
	for (unsigned i = 0; i < CLS_BURST; i++)
		live |= (uint64_t)(l->best[i] >= bound) << i;
	return live & mask;
}
#define LIVE live_packets
#endif

/* A root that may have better hits than there are, with its bound and who asks it. */
struct prospect {
	uint64_t bound, live;
	const struct cls_table *root;
};

static inline ALWAYS_INLINE void visit(struct cls_lookup *l, const struct prospect *roots,
				       unsigned n, bool large, bool ipv4)
{
	cls_spot leaves[CLS_FRONTIER + CLS_LANES], others[CLS_FRONTIER + CLS_LANES];
	cls_spot wides[CLS_STEPS + 1];
	struct cls_spots to = {leaves, others, 0, 0};
	unsigned n_wides, done = 0;

	for (unsigned r = 0; r < n; r++)
		ROOT(l, roots[r].root, roots[r].live, &to, large, ipv4);
	while ((n_wides = descend(l, done, &to, wides, large, ipv4))) {
		done = to.n_others;
		for (unsigned k = 0; k < n_wides; k++)
			reach(&to, spot_shape(wides[k]), wides[k] % CLS_BURST, large, ipv4);
	}
	scan_leaves(l, leaves, to.n_leaves, large, ipv4);
}

static void lookup_side(struct cls_lookup *l, const struct cls_side *side, uint64_t mask)
{
	struct prospect todo[CLS_ROOTS];
	unsigned n = 0;

	for (unsigned r = 0; r < CLS_ROOTS; r++) {
		const struct cls_root *root = &side->root[r];
		const struct cls_node *first = __atomic_load_n(&root->bound, __ATOMIC_ACQUIRE);
		if (!first)
			continue;
		uint64_t bound = first->born > l->version ? 0 : order_rank(&l->view, &first->order);
		unsigned at = n++;
		for (; at && todo[at - 1].bound > bound; at--)
			todo[at] = todo[at - 1];
		todo[at] = (struct prospect){bound, mask, &root->table};
	}
	bool large = __atomic_load_n(&l->c->n, __ATOMIC_RELAXED) > CLS_SMALL;
	for (unsigned r = 0, together = 1; r < n; r += together) {
		together = 1;
		if (r)
			todo[r].live = LIVE(l, mask, todo[r].bound);
		if (!todo[r].live)
			break;
		if (r && r + 1 < n) {
			todo[r + 1].live = LIVE(l, mask, todo[r + 1].bound);
			together += __builtin_popcountll(todo[r + 1].live) * 8 >=
				    __builtin_popcountll(todo[r].live) * 7;
		}
		if (side->ipv4 && large)
			visit(l, &todo[r], together, true, true);
		else if (side->ipv4)
			visit(l, &todo[r], together, false, true);
		else if (large)
			visit(l, &todo[r], together, true, false);
		else
			visit(l, &todo[r], together, false, false);
	}
}

static uint64_t LOOKUP(struct cls_lookup *l, uint64_t mask)
{
	uint64_t ipv4 = PREPARE(l, mask);

	const uint64_t of[CLS_SIDES] = {ipv4 & ~l->without, mask & ~ipv4 & ~l->without,
					ipv4 & l->without, mask & ~ipv4 & l->without};

	for (unsigned side = 0; side < CLS_SIDES; side++)
		if (of[side])
			lookup_side(l, &l->c->side[side], of[side]);
	return mask & ~LIVE(l, mask, UINT64_MAX);
}
