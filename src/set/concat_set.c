/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat_set: concatenations with a range in each field, boxes so to say, in a tuple_table.
 *
 * Boxes may cross (see set.h); then the one that came first answers, so a lookup that wants to know
 * which element it was looks at every box that holds the key.
 */
#include "set/tuple_table.h"

static struct set_elem *concat_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	return s->store.n ? tuple_table_match(s, key, now) : NULL;
}

static struct set_elem *concat_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
					uint64_t now)
{
	struct set_elem *e = concat_match(s, lo, now);
	return e ? e : concat_match(s, hi, now);
}

static uint64_t concat_lookup(const struct set *s, const uint8_t *keys, size_t stride,
			      uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	return s->store.n ? tuple_table_lookup(s, keys, stride, mask, now, hit) : 0;
}

static int concat_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	return tuple_table_reserve(s, n);
}

static void concat_each(const struct set_store *st, unsigned key_len,
			void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	tuple_table_each(st->tuples, fn, ctx);
}

static void concat_store_free(struct set_store *st, unsigned key_len)
{
	tuple_table_free(st->tuples);
}

const struct set_ops concat_set_ops = {
	.name = "concat",
	.find = tuple_table_find,
	.conflict = concat_conflict,
	.match = concat_match,
	.lookup = concat_lookup,
	.reserve = concat_reserve,
	.insert = tuple_table_insert,
	.remove = tuple_table_remove,
	.each = concat_each,
	.store_free = concat_store_free,
};
