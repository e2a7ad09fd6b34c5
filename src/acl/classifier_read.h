/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_read: lookups, the same text for each kind of CPU.
 *
 * Before it is included: SCAN4 and SCAN6, the lanes of a leaf that a key passes, for each size of
 * leaf; EXTRACT, the bits of a word under a mask, packed; LOOKUP, the name of the function.
 *
 * Roots are visited in the order of their bounds, and only by packets that have no better hit yet.
 * Where a root's structure is small a packet walks it from top to bottom; else all packets take a
 * step before any takes the next, and each step prefetches what the next reads.
 */
#include "acl/classifier_internal.h"

enum { FRONTIER = 4 * CLS_BURST };

/* The first of the lanes that counts becomes the hit, if it is better than the one there is. */
static inline void settle_hit(struct cls_lookup *l, const struct cls_leaf *leaf, unsigned lanes,
			      unsigned i)
{
	for (; lanes; lanes &= lanes - 1) {
		unsigned lane = (unsigned)__builtin_ctz(lanes);
		const struct cls_node *e = leaf->entry[lane];
		/* Before its rank, which the view may not know. */
		if (unlikely(e->born > l->version ||
			     __atomic_load_n(&e->died, __ATOMIC_RELAXED) <= l->version))
			continue;
		uint64_t rank = order_rank(&l->view, &e->order), best = l->best[i];
		if (unlikely(rank <= l->after[i]))
			continue;
		if (unlikely(leaf->shape.check >> lane & 1)) {
			if (rank >= best)
				return;
			if (!cls_packed_matches(&e->rule, &l->keys[i]))
				continue;
		}
		/* Which of two tables has the better one is not worth a guess. */
		const struct cls_entry *hit = l->hit[i];
		l->hit[i] = rank < best ? &e->pub : hit;
		l->best[i] = rank < best ? rank : best;
		return;
	}
}

static inline unsigned scan(const struct cls_leaf *leaf, const struct cls_key *k, bool ipv4)
{
	return ipv4 ? SCAN4(leaf, k) : SCAN6(leaf, k);
}

static inline const struct cls_shape *split_slot(const struct cls_lookup *l,
						 const struct cls_split *x, unsigned i)
{
	const uint32_t *w = l->keys[i].w;
	uint32_t at = EXTRACT(w[x->word[0]], x->mask[0]) | EXTRACT(w[x->word[1]], x->mask[1])
								   << x->shift;
	return __atomic_load_n(&x->slot[at], __ATOMIC_ACQUIRE);
}

static inline const struct cls_shape *table_slot(const struct cls_lookup *l,
						 const struct cls_table *t, unsigned i)
{
	const struct cls_directory *d = __atomic_load_n(&t->dir, __ATOMIC_ACQUIRE);
	uint64_t hash = cls_table_hash(l->c->secret, t, l->keys[i].w);
	return __atomic_load_n(&d->slot[cls_directory_slot(d, hash)], __ATOMIC_ACQUIRE);
}

/* From a shape down, its wide sides last. */
static void walk(struct cls_lookup *l, const struct cls_shape *s, unsigned i, bool ipv4)
{
	const struct cls_shape *wide[CLS_LEVEL_MAX + 2];
	const struct cls_key *k = &l->keys[i];
	unsigned n = 0;

	for (;;) {
		if (s && s->kind == CLS_SPLIT) {
			const struct cls_split *x = container_of(s, const struct cls_split, shape);
			const struct cls_shape *w = __atomic_load_n(&x->wide, __ATOMIC_ACQUIRE);
			if (w)
				wide[n++] = w;
			s = split_slot(l, x, i);
			continue;
		}
		if (s && s->kind == CLS_TABLE) {
			const struct cls_table *t = container_of(s, const struct cls_table, shape);
			const struct cls_shape *w = __atomic_load_n(&t->wide, __ATOMIC_ACQUIRE);
			if (w)
				wide[n++] = w;
			s = table_slot(l, t, i);
			continue;
		}
		if (s && s->kind == CLS_LEAF) {
			const struct cls_leaf *leaf = container_of(s, const struct cls_leaf, shape);
			settle_hit(l, leaf, scan(leaf, k, ipv4), i);
		} else if (s) {
			const struct cls_chain *x = container_of(s, const struct cls_chain, shape);
			uint64_t before = l->best[i];
			for (unsigned at = 0; at < x->n_leaves && l->best[i] == before; at++) {
				const struct cls_leaf *leaf =
					__atomic_load_n(&x->leaf[at], __ATOMIC_ACQUIRE);
				if (leaf)
					settle_hit(l, leaf, scan(leaf, k, ipv4), i);
			}
		}
		if (!n)
			return;
		s = wide[--n];
	}
}

static inline const struct cls_shape *const *root_slot(const struct cls_lookup *l,
						       const struct cls_root *r, unsigned i)
{
	const struct cls_directory *d = __atomic_load_n(&r->table.dir, __ATOMIC_ACQUIRE);
	const uint32_t *w = l->keys[i].w;
	uint64_t hash = cls_hash_pair(l->c->secret, w[CLS_AT_SADDR / 32] & r->table.mask[0],
				      w[CLS_AT_DADDR / 32] & r->table.mask[1]);
	return (const struct cls_shape *const *)&d->slot[cls_directory_slot(d, hash)];
}

/* A shape and the packet that reached it, in one word. */
typedef uintptr_t spot;

static inline const struct cls_shape *spot_shape(spot p)
{
	return (const struct cls_shape *)(p & ~(spot)(CLS_BURST - 1));
}

/* Lists of spots that grow by stores to both, of which the next one may overwrite either. */
struct spots {
	spot *leaves, *others;
	unsigned n_leaves, n_others;
};

/* No branch to guess: a leaf, another shape or NULL. */
static inline void reach(struct spots *to, const struct cls_shape *s, unsigned i, bool large,
			 bool ipv4)
{
	spot p = (spot)s | i;
	unsigned other = p / CLS_SHAPE_OFFSET & 1;

	to->leaves[to->n_leaves] = p;
	to->n_leaves += (p >= CLS_BURST) & !other;
	to->others[to->n_others] = p;
	to->n_others += other;
	for (unsigned line = 0; large && line < (ipv4 ? 4 : 7); line++)
		__builtin_prefetch((const char *)s + 64 * line);
}

/* What the leaves say. */
static inline void scan_leaves(struct cls_lookup *l, const spot *leaves, unsigned n, bool large,
			       bool ipv4)
{
	spot hit[FRONTIER];
	uint8_t lanes[FRONTIER];
	unsigned m = 0;

	for (unsigned k = 0; k < n; k++) {
		const struct cls_leaf *leaf =
			container_of(spot_shape(leaves[k]), const struct cls_leaf, shape);
		unsigned hits = scan(leaf, &l->keys[leaves[k] % CLS_BURST], ipv4);
		hit[m] = leaves[k];
		lanes[m] = (uint8_t)hits;
		m += hits != 0;
		if (large) {
			unsigned lane = (unsigned)__builtin_ctz(hits | 1 << (CLS_LANES - 1));
			__builtin_prefetch(leaf->entry[lane]);
			__builtin_prefetch((const char *)leaf->entry[lane] + 48);
		}
	}
	for (unsigned k = 0; k < m; k++)
		settle_hit(l, container_of(spot_shape(hit[k]), const struct cls_leaf, shape),
			   lanes[k], hit[k] % CLS_BURST);
}

/* One step down from each shape that is no leaf. */
static inline void descend(struct cls_lookup *l, const spot *from, unsigned n, struct spots *to,
			   bool large, bool ipv4)
{
	for (unsigned k = 0; k < n; k++) {
		const struct cls_shape *s = spot_shape(from[k]);
		unsigned i = from[k] % CLS_BURST;
		if (likely(s->kind == CLS_SPLIT) && likely(k < FRONTIER / 2)) {
			const struct cls_split *x = container_of(s, const struct cls_split, shape);
			reach(to, split_slot(l, x, i), i, large, ipv4);
			reach(to, __atomic_load_n(&x->wide, __ATOMIC_ACQUIRE), i, large, ipv4);
		} else if (s->kind == CLS_TABLE && k < FRONTIER / 2) {
			const struct cls_table *t = container_of(s, const struct cls_table, shape);
			reach(to, table_slot(l, t, i), i, large, ipv4);
			reach(to, __atomic_load_n(&t->wide, __ATOMIC_ACQUIRE), i, large, ipv4);
		} else {
			walk(l, s, i, ipv4);
		}
	}
}

static inline void visit(struct cls_lookup *l, const struct cls_root *r, uint64_t bound,
			 uint64_t mask, bool large, bool ipv4)
{
	const struct cls_shape *const *slot[CLS_BURST];
	spot leaves[FRONTIER + 1], others[2][FRONTIER + 1];
	uint8_t who[CLS_BURST];
	struct spots to = {leaves, others[0], 0, 0};
	unsigned n = 0;

	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		who[n] = (uint8_t)i;
		n += l->best[i] >= bound;
	}
	for (unsigned k = 0; k < n; k++) {
		slot[k] = root_slot(l, r, who[k]);
		if (large)
			__builtin_prefetch(slot[k]);
	}
	for (unsigned k = 0; k < n; k++)
		reach(&to, __atomic_load_n(slot[k], __ATOMIC_ACQUIRE), who[k], large, ipv4);
	for (unsigned turn = 0; (n = to.n_others); turn ^= 1) {
		if (to.n_leaves + 2 * n > FRONTIER) {
			scan_leaves(l, leaves, to.n_leaves, large, ipv4);
			to.n_leaves = 0;
		}
		to.others = others[!turn];
		to.n_others = 0;
		descend(l, others[turn], n, &to, large, ipv4);
	}
	scan_leaves(l, leaves, to.n_leaves, large, ipv4);
}

static void LOOKUP(struct cls_lookup *l, const struct cls_side *side, uint64_t mask)
{
	struct {
		uint64_t bound;
		const struct cls_root *root;
	} todo[CLS_ROOTS];
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
		todo[at].bound = bound;
		todo[at].root = root;
	}
	bool large = __atomic_load_n(&l->c->n, __ATOMIC_RELAXED) > CLS_SMALL;
	for (unsigned r = 0; r < n; r++) {
		if (side->ipv4 && large)
			visit(l, todo[r].root, todo[r].bound, mask, true, true);
		else if (side->ipv4)
			visit(l, todo[r].root, todo[r].bound, mask, false, true);
		else if (large)
			visit(l, todo[r].root, todo[r].bound, mask, true, false);
		else
			visit(l, todo[r].root, todo[r].bound, mask, false, false);
	}
}
