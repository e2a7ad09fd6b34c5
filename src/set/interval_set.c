/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_set: ranges of one field, in a range_tree.
 *
 * Live ranges are apart from each other, but for auto_merge sets, which hold what was added as it
 * was added. Among several that hold a key the one with the highest lo, and of those the narrowest,
 * answers: it is the last in the tree's order.
 */
#include "set/range_tree.h"

struct probe {
	const struct set *s;
	const uint8_t *lo, *hi; /* a single key: the same */
	uint64_t lo_prefix, hi_prefix;
	uint64_t now;
};

static struct probe probe_make(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			       uint64_t now)
{
	return (struct probe){s, lo, hi, key_prefix(s, lo), key_prefix(s, hi), now};
}

/* No range in this subtree reaches up to the probe's lo. */
static inline bool ends_before(const struct probe *p, struct set_elem *n)
{
	return key_cmp(p->s, n->tree.max, node_max(p->s, n), p->lo_prefix, p->lo) < 0;
}

static inline bool starts_behind(const struct probe *p, struct set_elem *n)
{
	return key_cmp(p->s, n->tree.lo, elem_lo(n), p->hi_prefix, p->hi) > 0;
}

static inline bool reaches(const struct probe *p, struct set_elem *n)
{
	return memcmp(elem_hi(p->s, n), p->lo, p->s->key_len) >= 0;
}

static struct set_elem *last_holding(const struct probe *p, struct set_elem *n)
{
	while (n && !ends_before(p, n)) {
		if (!starts_behind(p, n)) {
			struct set_elem *e = last_holding(p, n->tree.right);
			if (e)
				return e;
			if (reaches(p, n) && elem_live(n, p->now))
				return n;
		}
		n = n->tree.left;
	}
	return NULL;
}

static struct set_elem *first_overlapping(const struct probe *p, struct set_elem *n)
{
	while (n && !ends_before(p, n)) {
		struct set_elem *e = first_overlapping(p, n->tree.left);
		if (e)
			return e;
		if (starts_behind(p, n))
			return NULL;
		if (reaches(p, n) && elem_live(n, p->now))
			return n;
		n = n->tree.right;
	}
	return NULL;
}

static int all_overlapping(const struct probe *p, struct set_elem *n, elem_vec *out)
{
	while (n && !ends_before(p, n)) {
		int err = all_overlapping(p, n->tree.left, out);
		if (err)
			return err;
		if (starts_behind(p, n))
			return 0;
		if (reaches(p, n) && elem_live(n, p->now)) {
			err = vec_push(out, n);
			if (err)
				return err;
		}
		n = n->tree.right;
	}
	return 0;
}

int interval_set_overlaps(const struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
			  elem_vec *out)
{
	struct probe p = probe_make(s, lo, hi, now);
	return all_overlapping(&p, s->store.root, out);
}

static struct set_elem *interval_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct probe p = probe_make(s, key, key, now);
	return last_holding(&p, s->store.root);
}

static struct set_elem *interval_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
					  uint64_t now)
{
	if (s->desc.auto_merge && !s->desc.data_len)
		return NULL;
	struct probe p = probe_make(s, lo, hi, now);
	return first_overlapping(&p, s->store.root);
}

static void interval_store_free(struct set_store *st)
{
}

const struct set_ops interval_set_ops = {
	.name = "interval",
	.find = range_tree_find,
	.conflict = interval_conflict,
	.match = interval_match,
	.lookup = range_tree_lookup,
	.insert = range_tree_insert,
	.remove = range_tree_remove,
	.each = range_tree_each,
	.store_free = interval_store_free,
};
