/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_set: ranges of one field, in an interval_tree and a slot_table.
 *
 * Live ranges are apart from each other, but for auto_merge sets, which hold what was added as it
 * was added. Among several that hold a key the one with the highest lo, and of those the narrowest,
 * answers: it is the last in order.
 *
 * Elements with memory of their own are in the tree. Sets whose elements need none, with keys of 1,
 * 2 or 4 bytes, have a slot_table too, which knows the union of all elements: its inner ranges are
 * the bare elements, its outer ones those in the tree. Where keys have 4 bytes it is made when the
 * set has grown a little: below that the tree is smaller and no slower. It cannot be made while a
 * transaction is open that took something out: there would be no room to put that back.
 */
#include "set/interval_tree.h"
#include "set/slot_table.h"

enum { TREE_ALONE_MOST = 64 };

static inline uint32_t key_number(const struct set *s, const uint8_t *key)
{
	return (uint32_t)be_load(key, s->key_len);
}

static inline struct slot_range range_of(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	return (struct slot_range){key_number(s, lo), key_number(s, hi)};
}

static inline struct slot_range elem_range(const struct set *s, struct set_elem *e)
{
	return range_of(s, elem_lo(e), elem_hi(s, e));
}

static bool merging(const struct set *s)
{
	return s->desc.auto_merge && !s->desc.data_len;
}

/* --- bare elements -------------------------------------------------------------------------- */

/* A handle: bit 0; 16 bits for each the last number, the first, and the bits above both. */
static struct set_elem *bare_handle(struct slot_range r)
{
	uint64_t v = (uint64_t)r.lo << 16 | (r.hi & 0xffff);
	return (struct set_elem *)(uintptr_t)(v << 1 | 1);
}

static struct slot_range bare_range(const struct set_elem *e)
{
	uint64_t v = (uintptr_t)e >> 1;
	uint32_t lo = (uint32_t)(v >> 16);
	return (struct slot_range){lo, (lo & 0xffff0000) | (uint32_t)(v & 0xffff)};
}

static struct set_elem *interval_bare(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	if (!s->store.slots)
		return NULL;
	struct slot_range r = range_of(s, lo, hi);
	return slot_table_is_inner(s->store.slots, r) ? bare_handle(r) : NULL;
}

static void interval_bare_keys(const struct set *s, const struct set_elem *e, struct elem_keys *out)
{
	struct slot_range r = bare_range(e);

	out->lo = out->buf;
	out->hi = out->buf + s->key_len;
	be_store(out->buf, r.lo, s->key_len);
	be_store(out->buf + s->key_len, r.hi, s->key_len);
}

/* --- outer ranges --------------------------------------------------------------------------- */

struct asking {
	const struct set *s;
	struct slot_part *part;
};

static int tell(void *ctx, struct set_elem *e)
{
	struct asking *a = ctx;
	slot_part_add(a->part, elem_range(a->s, e));
	return 0;
}

static void each_outer(void *ctx, uint32_t lo, uint32_t hi, struct slot_part *part)
{
	struct asking a = {ctx, part};
	uint8_t first[4], last[4];

	be_store(first, lo, a.s->key_len);
	be_store(last, hi, a.s->key_len);
	interval_tree_overlapping(a.s, first, last, 0, tell, &a);
}

static struct slot_others others_of(struct set *s)
{
	return (struct slot_others){each_outer, s, !s->open};
}

/* --- the table ------------------------------------------------------------------------------ */

struct filling {
	struct set *s;
	struct slot_table *t;
	int err;
};

static void fill(void *ctx, struct set_elem *e)
{
	struct filling *f = ctx;
	struct slot_range r = elem_range(f->s, e);

	if (!f->err)
		f->err = slot_table_reserve(f->t, r, 1);
	if (!f->err)
		slot_table_add(f->t, r);
}

/* Makes the table if it is time for it. */
static int table_make(struct set *s, size_t more)
{
	struct set_store *st = &s->store;
	const struct set_desc *d = &s->desc;

	if (st->slots || s->key_len == 3 || s->key_len > 4 || d->timeout || d->data_len ||
	    (d->ext_new && d->ext_ctx) || st->removed ||
	    (s->key_len == 4 && st->n + more <= TREE_ALONE_MOST))
		return 0;
	struct filling f = {s, slot_table_new(s->key_len, merging(s)), 0};
	if (!f.t)
		return -ENOMEM;
	interval_tree_each(st, fill, &f);
	if (f.err)
		slot_table_free(f.t);
	else
		st->slots = f.t;
	return f.err;
}

/* --- set_ops -------------------------------------------------------------------------------- */

static struct set_elem *interval_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct slot_table *t = s->store.slots;

	if (t && slot_table_find(t, range_of(s, lo, hi)))
		return bare_handle(range_of(s, lo, hi));
	return interval_tree_find(s, lo, hi);
}

static struct set_elem *interval_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	const struct slot_table *t = s->store.slots;
	struct slot_range r;

	if (t && !slot_table_has(t, key_number(s, key)))
		return NULL;
	struct set_elem *e = interval_tree_last_holding(s, key, now);
	if (!t || !slot_table_last_holding(t, key_number(s, key), &r))
		return e;
	if (e && merging(s)) {
		struct slot_range outer = elem_range(s, e);
		if (outer.lo > r.lo || (outer.lo == r.lo && outer.hi < r.hi))
			return e;
	}
	return bare_handle(r);
}

static int take_first(void *ctx, struct set_elem *e)
{
	*(struct set_elem **)ctx = e;
	return 1;
}

static int take_first_bare(void *ctx, struct slot_range r)
{
	return take_first(ctx, bare_handle(r));
}

static struct set_elem *interval_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
					  uint64_t now)
{
	struct set_elem *e = NULL;

	if (merging(s))
		return NULL;
	if (s->store.slots)
		slot_table_overlapping(s->store.slots, range_of(s, lo, hi), take_first_bare, &e);
	if (!e)
		interval_tree_overlapping(s, lo, hi, now, take_first, &e);
	return e;
}

static uint64_t interval_lookup(const struct set *s, const uint8_t *keys, size_t stride,
				uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	if (!s->store.slots)
		return lookup_one_by_one(s, keys, stride, mask, now, hit);
	uint64_t found = slot_table_lookup(s->store.slots, keys, stride, mask);
	return hit ? lookup_one_by_one(s, keys, stride, found, now, hit) : found;
}

static int interval_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	int err = interval_tree_reserve(s, n);
	if (!err)
		err = table_make(s, n);
	if (!err && s->store.slots)
		err = slot_table_reserve(s->store.slots, range_of(s, lo, hi), n);
	return err;
}

static void interval_insert(struct set *s, struct set_elem *e)
{
	struct slot_table *t = s->store.slots;

	if (elem_is_bare(e)) {
		slot_table_put(t, bare_range(e));
		return;
	}
	interval_tree_insert(s, e);
	if (t)
		slot_table_add(t, elem_range(s, e));
}

static void interval_remove(struct set *s, struct set_elem *e)
{
	struct slot_table *t = s->store.slots;
	struct slot_others others = others_of(s);

	if (elem_is_bare(e)) {
		slot_table_take(t, bare_range(e), &others);
		return;
	}
	interval_tree_remove(s, e);
	if (t)
		slot_table_drop(t, elem_range(s, e), &others);
	else if (s->open)
		s->store.removed = true;
}

static void interval_settle(struct set *s)
{
	s->store.removed = false;
	interval_tree_settle(s);
}

struct visit {
	void (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

static int visit_bare(void *ctx, struct slot_range r)
{
	struct visit *v = ctx;
	v->fn(v->ctx, bare_handle(r));
	return 0;
}

static void interval_each(const struct set_store *st, void (*fn)(void *ctx, struct set_elem *e),
			  void *ctx)
{
	struct visit v = {fn, ctx};

	interval_tree_each(st, fn, ctx);
	if (st->slots)
		slot_table_overlapping(st->slots, (struct slot_range){0, UINT32_MAX}, visit_bare,
				       &v);
}

static void interval_store_free(struct set_store *st)
{
	interval_tree_free(st);
	slot_table_free(st->slots);
}

/* --- cuts ----------------------------------------------------------------------------------- */

static int take_all(void *ctx, struct set_elem *e)
{
	elem_vec *all = ctx;
	return vec_push(all, e);
}

static int take_all_bare(void *ctx, struct slot_range r)
{
	return take_all(ctx, bare_handle(r));
}

static int in_order(const void *a, const void *b, void *ctx)
{
	const struct set *s = ctx;
	struct elem_keys x, y;

	elem_keys(s, *(struct set_elem *const *)a, &x);
	elem_keys(s, *(struct set_elem *const *)b, &y);
	int c = memcmp(x.lo, y.lo, s->key_len);
	return c ? c : memcmp(y.hi, x.hi, s->key_len);
}

int interval_set_overlaps(const struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
			  elem_vec *out)
{
	int err = interval_tree_overlapping(s, lo, hi, now, take_all, out);

	if (err || !s->store.slots)
		return err;
	err = slot_table_overlapping(s->store.slots, range_of(s, lo, hi), take_all_bare, out);
	if (!err && out->n)
		qsort_r(out->items, out->n, sizeof(*out->items), in_order, (void *)s);
	return err;
}

const struct set_ops interval_set_ops = {
	.name = "interval",
	.bare = interval_bare,
	.bare_keys = interval_bare_keys,
	.find = interval_find,
	.conflict = interval_conflict,
	.match = interval_match,
	.lookup = interval_lookup,
	.reserve = interval_reserve,
	.insert = interval_insert,
	.remove = interval_remove,
	.settle = interval_settle,
	.each = interval_each,
	.store_free = interval_store_free,
};
