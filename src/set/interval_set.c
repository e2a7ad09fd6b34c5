/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_set: ranges of one field, in an interval_tree.
 *
 * Live ranges are apart from each other, but for auto_merge sets, which hold what was added as it
 * was added. Among several that hold a key the one with the highest lo, and of those the narrowest,
 * answers: it is the last in the tree's order.
 */
#include "set/interval_tree.h"

static struct set_elem *interval_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	return interval_tree_last_holding(s, key, now);
}

static int take_first(void *ctx, struct set_elem *e)
{
	*(struct set_elem **)ctx = e;
	return 1;
}

static struct set_elem *interval_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
					  uint64_t now)
{
	struct set_elem *e = NULL;

	if (!s->desc.auto_merge || s->desc.data_len)
		interval_tree_overlapping(s, lo, hi, now, take_first, &e);
	return e;
}

static int take_all(void *ctx, struct set_elem *e)
{
	elem_vec *all = ctx;
	return vec_push(all, e);
}

int interval_set_overlaps(const struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
			  elem_vec *out)
{
	return interval_tree_overlapping(s, lo, hi, now, take_all, out);
}

static int interval_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	return interval_tree_reserve(s, n);
}

const struct set_ops interval_set_ops = {
	.name = "interval",
	.find = interval_tree_find,
	.conflict = interval_conflict,
	.match = interval_match,
	.lookup = lookup_one_by_one,
	.reserve = interval_reserve,
	.insert = interval_tree_insert,
	.remove = interval_tree_remove,
	.settle = interval_tree_settle,
	.each = interval_tree_each,
	.store_free = interval_tree_free,
};
