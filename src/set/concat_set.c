/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat_set: concatenations with a range in each field, boxes so to say, in a box_tree.
 *
 * Boxes may cross (see set.h); then the one that came first answers, so a search looks at every box
 * that holds the key. Boxes that are apart are mostly told apart by the subtrees' bounds.
 */
#include "set/box_tree.h"

struct probe {
	const struct set *s;
	const uint8_t *key;
	uint64_t prefix;
	uint64_t now;
	struct set_elem *best;
};

static bool holds(const struct set *s, const uint8_t *lo, const uint8_t *hi, const uint8_t *key)
{
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++]) {
		unsigned len = s->desc.field_len[f];
		if (memcmp(lo + at, key + at, len) > 0 || memcmp(hi + at, key + at, len) < 0)
			return false;
	}
	return true;
}

static void search(struct probe *p, struct set_elem *n)
{
	const struct set *s = p->s;

	while (n && holds(s, node_min(s, n), node_max(s, n), p->key)) {
		if (key_cmp(s, n->tree.lo, elem_lo(n), p->prefix, p->key) <= 0) {
			if ((!p->best || n->seq < p->best->seq) && elem_live(n, p->now) &&
			    holds(s, elem_lo(n), elem_hi(s, n), p->key))
				p->best = n;
			search(p, n->tree.right);
		}
		n = n->tree.left;
	}
}

static struct set_elem *concat_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct probe p = {s, key, key_prefix(s, key), now, NULL};
	search(&p, s->store.root);
	return p.best;
}

static struct set_elem *concat_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
					uint64_t now)
{
	struct set_elem *e = concat_match(s, lo, now);
	return e ? e : concat_match(s, hi, now);
}

static int concat_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	return 0;
}

static void concat_settle(struct set *s)
{
}

static void concat_store_free(struct set_store *st)
{
}

const struct set_ops concat_set_ops = {
	.name = "concat",
	.find = box_tree_find,
	.conflict = concat_conflict,
	.match = concat_match,
	.lookup = lookup_one_by_one,
	.reserve = concat_reserve,
	.insert = box_tree_insert,
	.remove = box_tree_remove,
	.settle = concat_settle,
	.each = box_tree_each,
	.store_free = concat_store_free,
};
