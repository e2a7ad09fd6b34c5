/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: walks through a set in key order or as it was filled; what can be told of one element.
 *
 * A cursor takes the handles of all live elements when it is opened and sorts them. The merged view
 * sorts by lifetime first, joins neighbours of one lifetime, and sorts again by key. Cost:
 * O(n log n) and 24 bytes an element.
 */
#include "set/set_internal.h"

struct item {
	uint64_t prefix; /* of lo; or when it came */
	struct set_elem *e;
	struct set_elem *end; /* whose hi counts: another element where ranges were joined */
};

struct set_cursor {
	const struct set *s;
	uint64_t now;
	size_t at;
	bool arrival; /* in the order in which they came */
	VEC(struct item) items;
	int error;
};

/* --- one element ---------------------------------------------------------------------------- */

void set_elem_view(const struct set *s, struct set_elem *e, uint64_t now, struct set_view *out)
{
	uint64_t expires = elem_expires(e), timeout = elem_timeout(e);
	struct elem_keys k;

	if (s->store.table && !elem_is_catchall(e))
		hash_set_lifetime(s, e, &timeout, &expires);
	elem_keys(s, e, &k);
	out->elem = e;
	out->catchall = elem_is_catchall(e);
	memcpy(out->lo, k.lo, s->key_len);
	memcpy(out->hi, k.hi, s->key_len);
	out->data = set_elem_data(s, e);
	out->ext = elem_ext(e);
	out->comment = elem_comment(e);
	out->timeout_ns = timeout;
	out->expires_in_ns = expires == UINT64_MAX ? 0 : expires > now ? expires - now : 1;
}

struct set_elem *set_find(const struct set *s, const void *lo, const void *hi, uint64_t now)
{
	bool single = lo && (!hi || !memcmp(lo, hi, s->key_len));
	uint8_t buf[SET_KEY_MAX];

	if (single)
		lo = hi = key_meant(s, lo, buf);
	if (lo && s->store.table)
		return single ? s->ops->match(s, lo, now) : NULL;
	struct set_elem *e = lo ? s->ops->find(s, lo, hi ? hi : lo) : s->store.catchall;
	return e && elem_live(e, now) ? e : NULL;
}

static bool holds_up_to(const struct set *s, const uint8_t *e_hi, const uint8_t *hi)
{
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++])
		if (memcmp(e_hi + at, hi + at, s->desc.field_len[f]) < 0)
			return false;
	return true;
}

static int get_merged(struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
		      struct set_view *out)
{
	struct set_cursor *c;
	struct set_view v;
	int err = set_cursor_open(s, SET_CURSOR_MERGED, lo, now, &c);
	if (err)
		return err;
	err = -ENOENT;
	while (set_cursor_next(c, &v) && !v.catchall && memcmp(v.lo, lo, s->key_len) <= 0)
		if (memcmp(v.hi, hi, s->key_len) >= 0) {
			*out = v;
			err = 0;
		}
	set_cursor_close(c);
	return err;
}

int set_get(struct set *s, const void *lo, const void *hi, uint64_t now, struct set_view *out)
{
	uint8_t buf[SET_KEY_MAX];
	struct set_elem *e;

	if (lo && s->masked && (!hi || !memcmp(lo, hi, s->key_len))) {
		key_mask(s, lo, buf);
		lo = hi = buf;
	}
	if (!hi)
		hi = lo;
	if (!lo) {
		e = set_find(s, NULL, NULL, now);
	} else if (s->ops == &interval_set_ops && s->desc.auto_merge) {
		return get_merged(s, lo, hi, now, out);
	} else {
		struct elem_keys k;
		e = s->ops->match(s, lo, now);
		if (e)
			elem_keys(s, e, &k);
		if (e && !holds_up_to(s, k.hi, hi))
			e = NULL;
	}
	if (!e)
		return -ENOENT;
	set_elem_view(s, e, now, out);
	return 0;
}

/* --- cursor --------------------------------------------------------------------------------- */

static void collect(void *ctx, struct set_elem *e)
{
	struct set_cursor *c = ctx;

	if (!elem_live(e, c->now) || c->error)
		return;
	struct elem_keys k;
	elem_keys(c->s, e, &k);
	struct item it = {c->arrival ? elem_seq(c->s, e) : key_prefix(c->s, k.lo), e, e};
	c->error = vec_push(&c->items, it);
}

static void collect_key(void *ctx, struct set_elem *e, const uint8_t *key, uint64_t expires)
{
	struct set_cursor *c = ctx;

	if (expires <= c->now || c->error)
		return;
	struct item it = {key_prefix(c->s, key), e, e};
	c->error = vec_push(&c->items, it);
}

static int by_key(const void *a, const void *b, void *ctx)
{
	const struct set *s = ctx;
	const struct item *x = a, *y = b;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	struct elem_keys kx, ky;
	elem_keys(s, x->e, &kx);
	elem_keys(s, y->e, &ky);
	int c = memcmp(kx.lo, ky.lo, s->key_len);
	if (c)
		return c;
	elem_keys(s, x->end, &kx);
	elem_keys(s, y->end, &ky);
	return memcmp(ky.hi, kx.hi, s->key_len);
}

static bool in_order(struct set_cursor *c)
{
	const struct item *it = c->items.items;
	size_t i = 1;

	while (i < c->items.n && by_key(&it[i - 1], &it[i], (void *)c->s) <= 0)
		i++;
	return i >= c->items.n;
}

static bool mergeable(const struct set_elem *e)
{
	return !elem_comment(e) && !elem_ext(e);
}

static int by_lifetime(const void *a, const void *b, void *ctx)
{
	const struct set_elem *x = ((const struct item *)a)->e, *y = ((const struct item *)b)->e;

	if (mergeable(x) != mergeable(y))
		return mergeable(x) ? -1 : 1;
	if (elem_expires(x) != elem_expires(y))
		return elem_expires(x) < elem_expires(y) ? -1 : 1;
	if (elem_timeout(x) != elem_timeout(y))
		return elem_timeout(x) < elem_timeout(y) ? -1 : 1;
	return by_key(a, b, ctx);
}

/* True if a range that begins at lo, not before one that ends at hi, is not apart from it. */
static bool touches(const struct set *s, const uint8_t *hi, const uint8_t *lo)
{
	unsigned i = s->key_len;

	if (memcmp(lo, hi, s->key_len) <= 0)
		return true;
	/* lo == hi + 1: the same but for the last digits, 00.. above ff.. */
	while (i && hi[i - 1] == 0xff && lo[i - 1] == 0)
		i--;
	return i && lo[i - 1] == hi[i - 1] + 1 && !memcmp(lo, hi, i - 1);
}

static void merge(struct set_cursor *c)
{
	struct set *s = (struct set *)c->s;
	struct item *items = c->items.items;
	size_t n = 0;

	qsort_r(items, c->items.n, sizeof(*items), by_lifetime, s);
	for (size_t i = 0; i < c->items.n; i++) {
		struct item *last = n ? &items[n - 1] : NULL;
		struct elem_keys end, k;
		if (last) {
			elem_keys(s, last->end, &end);
			elem_keys(s, items[i].e, &k);
		}
		if (last && mergeable(last->e) && mergeable(items[i].e) &&
		    elem_expires(last->e) == elem_expires(items[i].e) &&
		    elem_timeout(last->e) == elem_timeout(items[i].e) && touches(s, end.hi, k.lo)) {
			if (memcmp(k.hi, end.hi, s->key_len) > 0)
				last->end = items[i].e;
		} else {
			items[n++] = items[i];
		}
	}
	c->items.n = n;
}

int set_cursor_open(struct set *s, enum set_cursor_view view, const void *from, uint64_t now,
		    struct set_cursor **out)
{
	struct set_cursor *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->s = s;
	c->now = now;
	c->arrival = view != SET_CURSOR_USER && s->off_seq;
	const struct hash_table *table = s->store.table;
	c->error = vec_reserve(&c->items, (table ? hash_table_count(table) : s->store.n) + 1);
	if (!c->error && table)
		hash_table_each(table, collect_key, c);
	else if (!c->error)
		s->ops->each(&s->store, s->key_len, collect, c);
	if (c->error) {
		int err = c->error;
		set_cursor_close(c);
		return err;
	}
	bool merging = view == SET_CURSOR_MERGED && s->ops == &interval_set_ops &&
		       s->desc.auto_merge && !s->desc.data_len;
	if (merging)
		merge(c);
	if (merging || !in_order(c))
		qsort_r(c->items.items, c->items.n, sizeof(struct item), by_key, s);
	if (from) {
		size_t n = 0;
		vec_foreach (&c->items, it) {
			struct elem_keys k;
			elem_keys(s, it->end, &k);
			if (memcmp(k.hi, from, s->key_len) >= 0)
				c->items.items[n++] = *it;
		}
		c->items.n = n;
	}
	if (s->store.catchall)
		collect(c, s->store.catchall);
	*out = c;
	return 0;
}

bool set_cursor_next(struct set_cursor *c, struct set_view *out)
{
	if (c->at == c->items.n)
		return false;
	const struct item *it = &c->items.items[c->at++];
	set_elem_view(c->s, it->e, c->now, out);
	if (it->end != it->e) {
		struct elem_keys k;
		elem_keys(c->s, it->end, &k);
		memcpy(out->hi, k.hi, c->s->key_len);
	}
	return true;
}

void set_cursor_close(struct set_cursor *c)
{
	if (!c)
		return;
	vec_free(&c->items);
	free(c);
}
