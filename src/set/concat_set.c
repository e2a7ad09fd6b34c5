/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat_set: concatenations with a range in each field, boxes so to say, in a tuple_table.
 *
 * Boxes may cross (see set.h); then the one that came first answers, so a lookup that wants to know
 * which element it was looks at every box that holds the key. Versions: as in interval_set.c; what
 * readers look at is the table's view.
 */
#include "set/tuple_table.h"

static void concat_begin(struct set *s)
{
	struct set_store *st = &s->store;

	if (st->open)
		return;
	st->open = true;
	st->tuples_before = st->tuples;
	if (st->tuples)
		tuple_table_begin(st->tuples);
}

static int concat_prepare(struct set *s)
{
	if (s->desc.rcu || s->open)
		concat_begin(s);
	return 0;
}

static void concat_publish(struct set *s)
{
	struct set_store *st = &s->store;

	if (s->desc.rcu)
		__atomic_store_n(&s->tuples, tuple_table_view(st->tuples), __ATOMIC_RELEASE);
	if (st->tuples)
		tuple_table_commit(st->tuples, s->desc.rcu);
	st->open = false;
}

static void concat_revert(struct set *s)
{
	struct set_store *st = &s->store;

	if (!st->open)
		return;
	if (st->tuples && st->tuples != st->tuples_before)
		tuple_table_free(st->tuples);
	st->tuples = st->tuples_before;
	if (st->tuples)
		tuple_table_revert(st->tuples);
	st->open = false;
}

static struct set_elem *concat_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	return tuple_view_match(s, tuple_table_view(s->store.tuples), key, now);
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
	const struct tuple_view *v = s->desc.rcu ? __atomic_load_n(&s->tuples, __ATOMIC_ACQUIRE)
						 : tuple_table_view(s->store.tuples);
	return tuple_view_lookup(s, v, keys, stride, mask, now, hit);
}

static int concat_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	concat_prepare(s);
	return tuple_table_reserve(s, lo, hi);
}

static int concat_reserve_take(struct set *s, struct set_elem *e, size_t n)
{
	concat_prepare(s);
	return tuple_table_reserve_take(s, e);
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
	.kind = SET_CONCAT,
	.find = tuple_table_find,
	.conflict = concat_conflict,
	.match = concat_match,
	.lookup = concat_lookup,
	.prepare = concat_prepare,
	.reserve = concat_reserve,
	.reserve_take = concat_reserve_take,
	.insert = tuple_table_insert,
	.remove = tuple_table_remove,
	.begin = concat_begin,
	.publish = concat_publish,
	.revert = concat_revert,
	.each = concat_each,
	.store_free = concat_store_free,
};
