/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_set: ranges of one field, in an interval_tree, an interval_forest and a slot_table.
 *
 * Live ranges are apart from each other, but for auto_merge sets, which hold what was added as it
 * was added. Among several that hold a key the one with the highest lo, and of those the narrowest,
 * answers: it is the last in order.
 *
 * Elements with memory of their own are in the tree. Sets whose elements need none, with keys of 1,
 * 2 or 4 bytes, have a slot_table too, which knows the union of all elements: its inner ranges are
 * the bare elements, its outer ones those in the tree. Where keys have 4 bytes it is made when the
 * set has grown a little: below that the tree is smaller and no slower.
 *
 * Other sets with keys of 4 bytes have a forest, made then too: it has the elements that lie within
 * a slot, page by page as they come to be many, the tree has the rest.
 *
 * All have versions. One is opened by a transaction, or with desc.rcu by the first change: readers
 * look at the view before until interval_publish() stores the pointer to the next. A rollback takes
 * the version before back, whole.
 */
#include "set/interval_forest.h"
#include "set/set_internal.h"
#include "set/slot_table.h"

enum { TREE_ALONE_MOST = 64 };

/* What readers look at. */
struct interval_view {
	struct rcu_head rcu;
	const struct interval_node *tree;
	const struct slot_table *slots; /* or NULL */
	const struct slot_root *root;
	const struct forest_root *forest; /* or NULL */
};

static inline unsigned words_of(const struct set *s)
{
	return interval_words(s->key_len);
}

static struct interval_entry entry_of(const struct set *s, const uint8_t *lo, const uint8_t *hi,
				      struct set_elem *e)
{
	struct interval_entry in = {.e = e};

	interval_key_make(lo, s->key_len, &in.lo);
	interval_key_make(hi, s->key_len, &in.hi);
	return in;
}

static struct interval_entry elem_entry(const struct set *s, struct set_elem *e)
{
	return entry_of(s, elem_lo(e), elem_hi(s, e), e);
}

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

static struct forest_range forest_range(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	return (struct forest_range){key_number(s, lo), key_number(s, hi)};
}

static bool merging(const struct set *s)
{
	return s->desc.auto_merge && s->desc.interval && !s->desc.data_len;
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

static int tree_overlapping(const struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
			    int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	struct interval_entry in = entry_of(s, lo, hi, NULL);
	return interval_tree_overlapping(s->store.tree.root, words_of(s), &in.lo, &in.hi, now, fn,
					 ctx);
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
	tree_overlapping(a.s, first, last, 0, tell, &a);
}

static struct slot_others others_of(struct set *s)
{
	return (struct slot_others){each_outer, s};
}

/* --- versions ------------------------------------------------------------------------------- */

static void interval_begin(struct set *s)
{
	struct set_store *st = &s->store;

	if (st->open)
		return;
	st->open = true;
	interval_tree_begin(&st->tree);
	st->slots_before = st->slots;
	if (st->slots)
		slot_table_begin(st->slots);
	st->forest_before = st->forest;
	if (st->forest)
		interval_forest_begin(st->forest);
}

static struct interval_view view_make(const struct set *s)
{
	const struct set_store *st = &s->store;
	return (struct interval_view){.tree = st->tree.root,
				      .slots = st->slots,
				      .root = st->slots ? slot_table_root(st->slots) : NULL,
				      .forest =
					      st->forest ? interval_forest_root(st->forest) : NULL};
}

static inline struct interval_view *view_of(struct rcu_head *head)
{
	return head ? container_of(head, struct interval_view, rcu) : NULL;
}

static void view_show(struct set *s)
{
	struct interval_view *old = view_of(s->view), *new = view_of(s->next_view);
	struct interval_view v = view_make(s);

	if (old ? old->tree == v.tree && old->root == v.root && old->forest == v.forest
		: !v.tree && !v.slots)
		return;
	*new = v;
	s->next_view = NULL;
	__atomic_store_n(&s->view, &new->rcu, __ATOMIC_RELEASE);
	if (old)
		rcu_defer(s->desc.rcu, &old->rcu, set_view_free, sizeof(*old));
}

static void interval_publish(struct set *s)
{
	struct set_store *st = &s->store;

	if (s->desc.rcu)
		view_show(s);
	interval_tree_commit(&st->tree, s->desc.rcu);
	if (st->open && st->slots)
		slot_table_commit(st->slots, s->desc.rcu);
	if (st->forest)
		interval_forest_commit(st->forest, s->desc.rcu);
	st->open = false;
}

static void interval_revert(struct set *s)
{
	struct set_store *st = &s->store;

	if (!st->open)
		return;
	interval_tree_revert(&st->tree, words_of(s));
	if (st->slots && st->slots != st->slots_before)
		slot_table_free(st->slots);
	st->slots = st->slots_before;
	if (st->slots)
		slot_table_revert(st->slots);
	if (st->forest != st->forest_before)
		interval_forest_free(st->forest);
	st->forest = st->forest_before;
	if (st->forest)
		interval_forest_revert(st->forest);
	st->open = false;
}

/* Before the first change of a version. */
static int interval_prepare(struct set *s)
{
	if (s->desc.rcu && !s->next_view) {
		struct interval_view *v = malloc(sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->next_view = &v->rcu;
	}
	if (s->desc.rcu || s->open)
		interval_begin(s);
	return 0;
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

/* Whatever else an element has: in this set all have memory of their own. */
static bool elements_are_records(const struct set *s)
{
	const struct set_desc *d = &s->desc;
	return d->timeout || d->data_len || (d->ext_init && d->ext_ctx);
}

/* Makes the table if it is time for it. */
static int table_make(struct set *s, size_t more)
{
	struct set_store *st = &s->store;

	if (st->slots || s->key_len == 3 || s->key_len > 4 || elements_are_records(s) ||
	    (s->key_len == 4 && st->n + more <= TREE_ALONE_MOST))
		return 0;
	enum slot_ranges ranges = !s->desc.interval ? SLOT_POINTS
				  : merging(s)	    ? SLOT_OVERLAP
						    : SLOT_APART;
	struct filling f = {s, slot_table_new(s->key_len, ranges, s->desc.rcu), 0};
	if (!f.t)
		return -ENOMEM;
	if (st->open)
		slot_table_begin(f.t);
	interval_tree_each(st->tree.root, words_of(s), fill, &f);
	if (f.err)
		slot_table_free(f.t);
	else
		st->slots = f.t;
	return f.err;
}

/* --- the forest ----------------------------------------------------------------------------- */

static void count_loose(void *ctx, struct set_elem *e)
{
	struct set *s = ctx;
	interval_forest_loose(s->store.forest, forest_range(s, elem_lo(e), elem_hi(s, e)), 1);
}

/* Makes the forest if it is time for it. */
static int forest_make(struct set *s, size_t more)
{
	struct set_store *st = &s->store;

	if (st->forest || s->key_len != 4 || !elements_are_records(s) ||
	    st->n + more <= TREE_ALONE_MOST)
		return 0;
	st->forest = interval_forest_new();
	if (!st->forest)
		return -ENOMEM;
	if (st->open)
		interval_forest_begin(st->forest);
	interval_tree_each(st->tree.root, words_of(s), count_loose, s);
	return 0;
}

typedef VEC(struct forest_item) item_vec;

struct taking {
	const struct set *s;
	item_vec items;
};

static int take_within(void *ctx, struct set_elem *e)
{
	struct taking *t = ctx;
	struct forest_item item = {forest_range(t->s, elem_lo(e), elem_hi(t->s, e)), e};
	return item.r.lo >> 16 == item.r.hi >> 16 ? vec_push(&t->items, item) : 0;
}

/* The elements of the range's page move to the forest; memory for n more changes of the tree. */
static int page_open(struct set *s, struct forest_range r, size_t n)
{
	struct set_store *st = &s->store;
	struct taking t = {.s = s};
	uint8_t lo[4], hi[4];

	be32_store(lo, r.lo & 0xff000000);
	be32_store(hi, r.lo | 0x00ffffff);
	int err = tree_overlapping(s, lo, hi, 0, take_within, &t);
	if (!err)
		err = interval_tree_reserve(&st->tree, words_of(s), t.items.n + n);
	if (!err)
		err = interval_forest_open(st->forest, r, t.items.items, t.items.n);
	for (size_t i = 0; i < t.items.n && !err; i++) {
		struct interval_entry out = elem_entry(s, t.items.items[i].e);
		interval_tree_remove(&st->tree, words_of(s), &out);
	}
	vec_free(&t.items);
	return err;
}

static int forest_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	int err = forest_make(s, n);
	struct interval_forest *f = s->store.forest;

	if (err || !f)
		return err;
	struct forest_range r = forest_range(s, lo, hi);
	if (interval_forest_wants(f, r, n))
		err = page_open(s, r, n);
	return err ? err : interval_forest_reserve(f, r, n, n);
}

/* The one of two, either NULL, that comes last in order. */
static struct set_elem *last_of(const struct set *s, struct set_elem *a, struct set_elem *b)
{
	if (!a || !b)
		return a ? a : b;
	int c = memcmp(elem_lo(a), elem_lo(b), s->key_len);
	if (!c)
		c = memcmp(elem_hi(s, b), elem_hi(s, a), s->key_len);
	return c > 0 ? a : b;
}

static uint64_t forest_lookup(const struct set *s, const struct interval_view *v,
			      const struct interval_burst *asked, uint64_t mask)
{
	struct set_elem *hit[SET_BATCH_MAX], *other[SET_BATCH_MAX];
	struct interval_burst b = *asked;

	b.hit = hit;
	uint64_t found = interval_forest_lookup(v->forest, &b, mask);
	/* Elsewhere are wider ones that begin before: but for those that begin within a slot. */
	bool both = b.nested && interval_forest_ragged(v->forest);
	b.hit = other;
	uint64_t more = interval_tree_lookup(v->tree, &b, both ? mask : mask & ~found);
	for (uint64_t rest = asked->hit ? found | more : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		struct set_elem *e = found >> i & 1 ? hit[i] : NULL;
		asked->hit[i] = more >> i & 1 ? last_of(s, e, other[i]) : e;
	}
	return found | more;
}

/* --- set_ops -------------------------------------------------------------------------------- */

static struct set_elem *interval_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct slot_table *t = s->store.slots;
	struct interval_entry in = entry_of(s, lo, hi, NULL);
	struct set_elem *e;

	if (!s->desc.interval &&
	    (e = interval_tree_find(s->store.tree.root, words_of(s), &in.lo, &in.hi)))
		return e;
	if (t && slot_table_find(t, range_of(s, lo, hi)))
		return bare_handle(range_of(s, lo, hi));
	const struct interval_forest *f = s->store.forest;
	if (f && interval_forest_takes(f, forest_range(s, lo, hi)))
		return interval_forest_find(interval_forest_root(f), forest_range(s, lo, hi));
	return interval_tree_find(s->store.tree.root, words_of(s), &in.lo, &in.hi);
}

static struct set_elem *view_match(const struct set *s, const struct interval_view *v,
				   const uint8_t *key, uint64_t now)
{
	struct interval_key k;
	struct slot_range r;

	if (v->slots && !slot_table_has(v->slots, v->root, key_number(s, key)))
		return NULL;
	interval_key_make(key, s->key_len, &k);
	struct set_elem *e = interval_tree_last_holding(v->tree, words_of(s), &k, now);
	if (v->forest)
		return last_of(s, e,
			       interval_forest_last_holding(v->forest, key_number(s, key), now));
	if (!v->slots || !slot_table_last_holding(v->slots, v->root, key_number(s, key), &r))
		return e;
	if (e && !s->desc.interval)
		return e;
	if (e && merging(s)) {
		struct slot_range outer = elem_range(s, e);
		if (outer.lo > r.lo || (outer.lo == r.lo && outer.hi < r.hi))
			return e;
	}
	return bare_handle(r);
}

static struct set_elem *interval_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct interval_view v = view_make(s);
	return view_match(s, &v, key, now);
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

	if (merging(s) || !s->desc.interval)
		return NULL;
	if (s->store.slots)
		slot_table_overlapping(s->store.slots, range_of(s, lo, hi), take_first_bare, &e);
	if (!e && s->store.forest)
		interval_forest_overlapping(interval_forest_root(s->store.forest),
					    forest_range(s, lo, hi), now, take_first, &e);
	if (!e)
		tree_overlapping(s, lo, hi, now, take_first, &e);
	return e;
}

static uint64_t interval_lookup(const struct set *s, const uint8_t *keys, size_t stride,
				uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	struct interval_view v = {0};

	if (s->desc.rcu) {
		const struct interval_view *shown =
			view_of(__atomic_load_n(&s->view, __ATOMIC_ACQUIRE));
		if (shown) /* but for its head, which is the writer's */
			v = (struct interval_view){.tree = shown->tree,
						   .slots = shown->slots,
						   .root = shown->root,
						   .forest = shown->forest};
	} else {
		v = view_make(s);
	}
	if (!v.slots) {
		struct interval_burst b = {.keys = keys,
					   .stride = stride,
					   .key_len = s->key_len,
					   .now = now,
					   .nested = merging(s),
					   .timed = s->desc.timeout,
					   .loaded = s->desc.data_len || s->desc.ext_ctx,
					   .hit = hit};
		return v.forest ? forest_lookup(s, &v, &b, mask)
				: interval_tree_lookup(v.tree, &b, mask);
	}
	uint64_t found = slot_table_lookup(v.slots, v.root, keys, stride, mask);
	for (uint64_t rest = hit ? found : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hit[i] = view_match(s, &v, keys + i * stride, now[i]);
	}
	return found;
}

static int interval_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	int err = interval_prepare(s);
	if (!err && s->desc.interval)
		err = interval_tree_reserve(&s->store.tree, words_of(s), n);
	if (!err)
		err = table_make(s, n);
	if (!err && s->store.slots)
		err = slot_table_reserve(s->store.slots, range_of(s, lo, hi), n);
	if (!err)
		err = forest_reserve(s, lo, hi, n);
	return err;
}

/* Few elements of a bitmap have memory of their own. */
static int bitmap_reserve_record(struct set *s)
{
	return interval_tree_reserve(&s->store.tree, words_of(s), 1);
}

static int interval_reserve_take(struct set *s, struct set_elem *e, size_t n)
{
	struct slot_table *t = s->store.slots;
	int err = interval_prepare(s);

	if (!err && elem_is_bare(e))
		return slot_table_reserve_take(t, bare_range(e), n);
	if (!err)
		err = interval_tree_reserve(&s->store.tree, words_of(s), n);
	if (!err && t)
		err = slot_table_reserve_take(t, elem_range(s, e), n);
	if (!err && s->store.forest)
		err = interval_forest_reserve(s->store.forest,
					      forest_range(s, elem_lo(e), elem_hi(s, e)), 0, n);
	return err;
}

static void interval_insert(struct set *s, struct set_elem *e)
{
	struct slot_table *t = s->store.slots;

	if (elem_is_bare(e)) {
		slot_table_put(t, bare_range(e));
		return;
	}
	struct interval_forest *f = s->store.forest;
	if (f) {
		struct forest_range r = forest_range(s, elem_lo(e), elem_hi(s, e));
		if (interval_forest_takes(f, r)) {
			interval_forest_insert(f, r, e);
			return;
		}
		interval_forest_loose(f, r, 1);
	}
	struct interval_entry in = elem_entry(s, e);
	interval_tree_insert(&s->store.tree, words_of(s), &in);
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
	struct interval_forest *f = s->store.forest;
	if (f) {
		struct forest_range r = forest_range(s, elem_lo(e), elem_hi(s, e));
		if (interval_forest_takes(f, r)) {
			interval_forest_remove(f, r);
			return;
		}
		interval_forest_loose(f, r, -1);
	}
	struct interval_entry out = elem_entry(s, e);
	interval_tree_remove(&s->store.tree, words_of(s), &out);
	if (t)
		slot_table_drop(t, elem_range(s, e), &others);
}

struct visit {
	const struct set_store *st;
	void (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

static int visit_bare(void *ctx, struct slot_range r)
{
	struct visit *v = ctx;
	struct interval_key k = {{r.lo}};

	/* Of a bitmap those of the tree are among them. */
	if (r.lo != r.hi || !interval_tree_find(v->st->tree.root, 1, &k, &k))
		v->fn(v->ctx, bare_handle(r));
	return 0;
}

static void interval_each(const struct set_store *st, unsigned key_len,
			  void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	struct visit v = {st, fn, ctx};

	/* Before those go that are in the tree: fn may free them. */
	if (st->slots)
		slot_table_overlapping(st->slots, (struct slot_range){0, UINT32_MAX}, visit_bare,
				       &v);
	interval_tree_each(st->tree.root, interval_words(key_len), fn, ctx);
	if (st->forest)
		interval_forest_each(interval_forest_root(st->forest), fn, ctx);
}

static void interval_store_free(struct set_store *st, unsigned key_len)
{
	interval_tree_free(&st->tree, interval_words(key_len));
	slot_table_free(st->slots);
	interval_forest_free(st->forest);
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
	int err = tree_overlapping(s, lo, hi, now, take_all, out);

	if (!err && s->store.slots)
		err = slot_table_overlapping(s->store.slots, range_of(s, lo, hi), take_all_bare,
					     out);
	if (!err && s->store.forest)
		err = interval_forest_overlapping(interval_forest_root(s->store.forest),
						  forest_range(s, lo, hi), now, take_all, out);
	if (!err && out->n)
		qsort_r(out->items, out->n, sizeof(*out->items), in_order, (void *)s);
	return err;
}

/* Both kinds are one but for the records of a bitmap. */
#define INTERVAL_OPS                                                                               \
	.bare = interval_bare, .bare_keys = interval_bare_keys, .find = interval_find,             \
	.conflict = interval_conflict, .match = interval_match, .lookup = interval_lookup,         \
	.prepare = interval_prepare, .reserve = interval_reserve,                                  \
	.reserve_take = interval_reserve_take, .insert = interval_insert,                          \
	.remove = interval_remove, .begin = interval_begin, .publish = interval_publish,           \
	.revert = interval_revert, .each = interval_each, .store_free = interval_store_free

const struct set_ops interval_set_ops = {.kind = SET_INTERVAL, INTERVAL_OPS};

/* Exact keys of 1 or 2 bytes that have nothing else. */
const struct set_ops bitmap_set_ops = {
	.kind = SET_BITMAP, .reserve_record = bitmap_reserve_record, INTERVAL_OPS};
