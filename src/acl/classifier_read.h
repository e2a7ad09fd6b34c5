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

/* The first of the lanes that counts becomes the hit, if it is better than the one there is. */
static inline void settle_hit(struct cls_lookup *l, const struct cls_leaf *leaf, unsigned lanes,
			      unsigned i)
{
	for (; lanes; lanes &= lanes - 1) {
		unsigned lane = (unsigned)__builtin_ctz(lanes);
		const struct cls_node *e = leaf->entry[lane];
		/* Before its rank, which the view may not know. */
		if (e->born > l->version ||
		    __atomic_load_n(&e->died, __ATOMIC_RELAXED) <= l->version)
			continue;
		uint64_t rank = order_rank(&l->view, &e->order);
		if (rank >= l->best[i])
			return;
		if (rank <= l->after[i])
			continue;
		if (unlikely(leaf->shape.check >> lane & 1) &&
		    !cls_packed_matches(&e->rule, &l->keys[i]))
			continue;
		l->best[i] = rank;
		l->hit[i] = &e->pub;
		return;
	}
}

static inline unsigned scan(const struct cls_leaf *leaf, const struct cls_key *k, bool ipv4)
{
	return ipv4 ? SCAN4(leaf, k) : SCAN6(leaf, k);
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
			uint32_t at = EXTRACT(k->w[x->word[0]], x->mask[0]) |
				      EXTRACT(k->w[x->word[1]], x->mask[1]) << x->shift;
			s = __atomic_load_n(&x->slot[at], __ATOMIC_ACQUIRE);
			continue;
		}
		if (s && s->kind == CLS_TABLE) {
			const struct cls_table *t = container_of(s, const struct cls_table, shape);
			const struct cls_shape *w = __atomic_load_n(&t->wide, __ATOMIC_ACQUIRE);
			if (w)
				wide[n++] = w;
			const struct cls_directory *d = __atomic_load_n(&t->dir, __ATOMIC_ACQUIRE);
			uint64_t hash = cls_table_hash(l->c->secret, t, k->w);
			s = __atomic_load_n(&d->slot[cls_directory_slot(d, hash)],
					    __ATOMIC_ACQUIRE);
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

static void visit_small(struct cls_lookup *l, const struct cls_root *r, uint64_t bound,
			uint64_t mask, bool ipv4)
{
	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		if (l->best[i] < bound)
			continue;
		const struct cls_shape *s = __atomic_load_n(root_slot(l, r, i), __ATOMIC_ACQUIRE);
		if (!s)
			continue;
		if (s->kind == CLS_LEAF) {
			const struct cls_leaf *leaf = container_of(s, const struct cls_leaf, shape);
			settle_hit(l, leaf, scan(leaf, &l->keys[i], ipv4), i);
		} else {
			walk(l, s, i, ipv4);
		}
	}
}

static void visit_large(struct cls_lookup *l, const struct cls_root *r, uint64_t bound,
			uint64_t mask, bool ipv4)
{
	union {
		const struct cls_shape *const *slot;
		const struct cls_shape *s;
	} at[CLS_BURST];
	uint8_t who[CLS_BURST], lanes[CLS_BURST];
	unsigned n = 0, m = 0;

	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		who[n] = (uint8_t)i;
		at[n].slot = root_slot(l, r, i);
		n += l->best[i] >= bound;
	}
	for (unsigned k = 0; k < n; k++)
		__builtin_prefetch(at[k].slot);
	for (unsigned k = 0; k < n; k++) {
		const struct cls_shape *s = __atomic_load_n(at[k].slot, __ATOMIC_ACQUIRE);
		who[m] = who[k];
		at[m].s = s;
		m += s != NULL;
		for (unsigned line = 0; line < (ipv4 ? 4 : 7); line++)
			__builtin_prefetch((const char *)s + 64 * line);
	}
	n = 0;
	for (unsigned k = 0; k < m; k++) {
		const struct cls_shape *s = at[k].s;
		unsigned i = who[k];
		if (unlikely(s->kind != CLS_LEAF)) {
			walk(l, s, i, ipv4);
			continue;
		}
		const struct cls_leaf *leaf = container_of(s, const struct cls_leaf, shape);
		unsigned hits = scan(leaf, &l->keys[i], ipv4);
		who[n] = (uint8_t)i;
		at[n].s = s;
		lanes[n] = (uint8_t)hits;
		n += hits != 0;
		const char *entry = (const char *)leaf->entry[hits ? __builtin_ctz(hits) : 0];
		__builtin_prefetch(entry);
		__builtin_prefetch(entry + 48);
	}
	for (unsigned k = 0; k < n; k++)
		settle_hit(l, container_of(at[k].s, const struct cls_leaf, shape), lanes[k],
			   who[k]);
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
			visit_large(l, todo[r].root, todo[r].bound, mask, true);
		else if (side->ipv4)
			visit_small(l, todo[r].root, todo[r].bound, mask, true);
		else if (large)
			visit_large(l, todo[r].root, todo[r].bound, mask, false);
		else
			visit_small(l, todo[r].root, todo[r].bound, mask, false);
	}
}
