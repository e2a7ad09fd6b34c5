/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table: changes; see slot_table.h. */
#include "set/slot_table_internal.h"

#include "base/vec.h"

#include <stdlib.h>

const uint64_t slot_no_page[PAGE_SLOTS];
const uint16_t slot_no_leaf[2 * SLOT_LINE] __attribute__((aligned(64)));

/* A part of a slot that is being put together again. */
struct slot_part {
	struct slot_edit edit;
	uint32_t lo, hi; /* what was cleared */
	uint32_t slot_lo, slot_hi;
	bool whole; /* a range over the whole slot is a part too */
};

/* --- table and pages ------------------------------------------------------------------------ */

static const struct slot_table_ops *best_ops(void)
{
	static const struct slot_table_ops *const all[] = {
#ifdef __x86_64__
		&slot_table_avx512,
		&slot_table_avx2,
#endif
		&slot_table_scalar,
	};
	unsigned i = 0;
	while (i + 1 < ARRAY_SIZE(all) && !all[i]->usable())
		i++;
	return all[i];
}

static inline size_t table_pages(const struct slot_table *t)
{
	return t->key_len == 4 ? PAGES : 1;
}

static inline size_t root_size(const struct slot_table *t)
{
	return sizeof(struct slot_root) + table_pages(t) * sizeof(page_word);
}

struct slot_table *slot_table_new(unsigned key_len, enum slot_ranges ranges, bool readers)
{
	struct slot_table *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->ops = best_ops();
	t->key_len = key_len;
	t->page_slots = key_len == 4 ? PAGE_SLOTS : 1;
	t->overlap = ranges == SLOT_OVERLAP;
	t->points = ranges == SLOT_POINTS;
	t->pool.last = key_len == 1 ? 255 : SLOT_MAX;
	t->pool.many = key_len == 4;
	t->pool.lines.apart = readers;
	t->root = calloc(1, root_size(t));
	if (!t->root) {
		free(t);
		return NULL;
	}
	return t;
}

static inline struct slot_page *page_of(const struct slot_root *root, uint32_t x)
{
	return (struct slot_page *)slot_leaf(root->page[x >> 24]);
}

static inline unsigned slot_of(uint32_t x)
{
	return x >> 16 & (PAGE_SLOTS - 1);
}

static inline uint32_t slot_last(const struct slot_table *t, uint32_t x)
{
	return x | t->pool.last;
}

static inline struct slot_inner **page_inner(const struct slot_table *t, const struct slot_page *p)
{
	return (struct slot_inner **)&p->word[t->page_slots];
}

static inline struct slot_page_head *page_head(const struct slot_table *t,
					       const struct slot_page *p)
{
	uint32_t *covers = (uint32_t *)&page_inner(t, p)[t->page_slots];
	return (struct slot_page_head *)&covers[2 * t->page_slots];
}

static inline size_t inner_size(size_t cap)
{
	return sizeof(struct slot_inner) + cap * sizeof(uint32_t);
}

static inline size_t page_size(const struct slot_table *t)
{
	size_t size = t->page_slots * (sizeof(uint64_t) + sizeof(void *) + 2 * sizeof(uint32_t)) +
		      sizeof(struct slot_page_head);
	return (size + 63) & ~(size_t)63;
}

/* A slot of a page. */
static struct slot_at page_slot(const struct slot_table *t, const struct slot_page *p, unsigned i)
{
	struct slot_inner **inner = page_inner(t, p);
	uint32_t *covers = (uint32_t *)&inner[t->page_slots];
	uint32_t *parts = &covers[t->page_slots];

	return (struct slot_at){(uint64_t *)&p->word[i], &inner[i], &covers[i], &parts[i]};
}

/* The slot of x; its page is there. */
static struct slot_at slot_at(const struct slot_table *t, uint32_t x)
{
	return page_slot(t, page_of(t->root, x), slot_of(x));
}

/* --- versions ------------------------------------------------------------------------------- */

/* The slot of x in the version before; a word of 0 and no page: it has none. */
static struct slot_at base_slot(const struct slot_table *t, uint32_t x)
{
	const struct slot_page *base = page_head(t, page_of(t->root, x))->base;
	return base ? page_slot(t, base, slot_of(x)) : (struct slot_at){0};
}

/* A leaf was replaced: it goes, if the version before does not need it. */
static void leaf_gone(struct slot_table *t, uint32_t x, uint64_t word)
{
	struct slot_at base = base_slot(t, x);

	if (slot_leaf(word) && !(base.word && slot_leaf(*base.word) == slot_leaf(word)))
		slot_free(&t->pool, word);
}

/* The root and the page of x, in this version; 0 or -ENOMEM. */
static int root_own(struct slot_table *t)
{
	if (!t->open || t->root->stamp == t->stamp)
		return 0;
	struct slot_root *root = malloc(root_size(t));
	if (!root)
		return -ENOMEM;
	memcpy(root, t->root, root_size(t));
	root->stamp = t->stamp;
	t->root = root;
	return 0;
}

static int page_own(struct slot_table *t, uint32_t x)
{
	struct slot_page *old = page_of(t->root, x);
	int err = root_own(t);

	if (err || (old && (!t->open || page_head(t, old)->stamp == t->stamp)))
		return err;
	struct slot_page *p = aligned_alloc(64, page_size(t));
	if (!p)
		return -ENOMEM;
	if (old)
		memcpy(p, old, page_size(t));
	else
		memset(p, 0, page_size(t));
	*page_head(t, p) = (struct slot_page_head){t->stamp, old, t->open ? t->made : NULL};
	if (t->open)
		t->made = p;
	page_word *w = &t->root->page[x >> 24];
	*w = (uint64_t)(uintptr_t)p | (*w & SLOT_COVERED);
	return 0;
}

void slot_table_begin(struct slot_table *t)
{
	t->open = true;
	t->stamp++;
	t->base = t->root;
	t->made = NULL;
}

/* Memory that goes when readers are past it. */
struct limbo {
	struct rcu_head rcu;
	VEC(void *) pieces;
	size_t bytes;
};

/* Room for the piece was made. */
static void limbo_add(struct limbo *l, const void *piece, size_t bytes)
{
	l->pieces.items[l->pieces.n++] = (void *)piece;
	l->bytes += bytes;
}

static void limbo_free(struct rcu_head *head)
{
	struct limbo *l = container_of(head, struct limbo, rcu);

	vec_foreach (&l->pieces, p)
		free(*p);
	vec_free(&l->pieces);
	free(l);
}

/* Leaves and inner ranges that only `from` has, of two pages; in lists of pieces or at once. */
static int page_differ(struct slot_table *t, const struct slot_page *from,
		       const struct slot_page *to, struct limbo *l)
{
	int err = l ? vec_reserve(&l->pieces, l->pieces.n + 2 * t->page_slots + 1) : 0;

	for (unsigned i = 0; i < t->page_slots && !err; i++) {
		struct slot_at a = page_slot(t, from, i);
		uint64_t *other = to ? page_slot(t, to, i).word : NULL;
		struct slot_inner *in = to ? *page_slot(t, to, i).inner : NULL;
		bool leaf =
			slot_leaf(*a.word) && !(other && slot_leaf(*other) == slot_leaf(*a.word));
		if (leaf && l)
			limbo_add(l, slot_leaf(*a.word), slot_bytes(&t->pool, *a.word));
		else if (leaf)
			slot_free(&t->pool, *a.word);
		if (*a.inner && *a.inner != in && l)
			limbo_add(l, *a.inner, inner_size((*a.inner)->cap));
		else if (*a.inner != in)
			free(*a.inner);
	}
	return err;
}

/* The pages of the version before that are not in this one, to limbo; 0 or -ENOMEM. */
static int base_retire(struct slot_table *t, struct limbo *l)
{
	for (struct slot_page *p = t->made; p; p = page_head(t, p)->next) {
		struct slot_page *base = page_head(t, p)->base;
		if (!base)
			continue;
		if (page_differ(t, base, p, l))
			return -ENOMEM;
		limbo_add(l, base, page_size(t));
		page_head(t, p)->base = NULL;
	}
	return 0;
}

static void base_free(struct slot_table *t)
{
	for (struct slot_page *p = t->made; p; p = page_head(t, p)->next) {
		struct slot_page *base = page_head(t, p)->base;
		if (!base)
			continue;
		page_differ(t, base, p, NULL);
		free(base);
		page_head(t, p)->base = NULL;
	}
}

void slot_table_commit(struct slot_table *t, struct rcu *rcu)
{
	struct limbo *l = rcu && t->base != t->root ? calloc(1, sizeof(*l)) : NULL;
	bool listed = l && !vec_reserve(&l->pieces, 1);

	if (listed)
		limbo_add(l, t->base, root_size(t));
	if (!listed || base_retire(t, l)) {
		/* One thread, or no memory to remember what must go: then wait until it may. */
		if (t->base != t->root)
			rcu_wait(rcu, UINT64_MAX);
		base_free(t);
	}
	if (!listed && t->base != t->root)
		free(t->base);
	if (l)
		rcu_defer(rcu, &l->rcu, limbo_free,
			  sizeof(*l) + l->bytes + l->pieces.cap * sizeof(void *));
	t->open = false;
	t->base = NULL;
	t->made = NULL;
}

void slot_table_revert(struct slot_table *t)
{
	while (t->made) {
		struct slot_page *p = t->made;
		t->made = page_head(t, p)->next;
		page_differ(t, p, page_head(t, p)->base, NULL);
		free(p);
	}
	if (t->base != t->root)
		free(t->root);
	t->root = t->base;
	t->base = NULL;
	t->open = false;
}

void slot_table_free(struct slot_table *t)
{
	if (!t)
		return;
	if (t->open)
		slot_table_commit(t, NULL);
	for (uint32_t i = 0; i < table_pages(t); i++) {
		struct slot_page *p = page_of(t->root, i << 24);
		for (unsigned k = 0; p && k < t->page_slots; k++) {
			struct slot_at at = page_slot(t, p, k);
			slot_free(&t->pool, *at.word);
			free(*at.inner);
		}
		free(p);
	}
	line_pool_free(&t->pool.lines);
	free(t->root);
	free(t);
}

/* --- inner ranges --------------------------------------------------------------------------- */

static inline uint32_t pack(struct slot_range r)
{
	return r.lo << 16 | (SLOT_MAX - (r.hi & SLOT_MAX));
}

static inline struct slot_range unpack(uint32_t x, uint32_t v)
{
	uint32_t base = x & ~(uint32_t)SLOT_MAX;
	return (struct slot_range){base | v >> 16, base | (SLOT_MAX - (v & SLOT_MAX))};
}

static struct slot_inner *inner_of(const struct slot_table *t, const struct slot_root *root,
				   uint32_t x)
{
	const struct slot_page *p = page_of(root, x);
	return p ? *page_slot(t, p, slot_of(x)).inner : NULL;
}

static size_t inner_n(const struct slot_inner *in)
{
	return in ? in->n : 0;
}

/* Number of entries below v. */
static uint32_t inner_below(const struct slot_inner *in, uint32_t v)
{
	uint32_t from = 0, to = in ? in->n : 0;

	while (from < to) {
		uint32_t mid = (from + to) / 2;
		if (in->v[mid] < v)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Number of entries that begin at or below x. */
static uint32_t inner_begun(const struct slot_inner *in, uint32_t x)
{
	x &= SLOT_MAX;
	return x == SLOT_MAX ? (uint32_t)inner_n(in) : inner_below(in, (x + 1) << 16);
}

/* Room for cap ranges, in memory of this version. */
static int inner_resize(struct slot_table *t, uint32_t x, size_t cap)
{
	struct slot_inner **at = slot_at(t, x).inner, *old = *at;
	struct slot_at base = base_slot(t, x);
	bool shared = old && base.inner && *base.inner == old;
	size_t size = inner_size(cap);
	struct slot_inner *new = shared ? malloc(size) : realloc(old, size);

	if (!new)
		return -ENOMEM;
	if (shared)
		memcpy(new, old, sizeof(*old) + MIN(old->n, (uint32_t)cap) * sizeof(old->v[0]));
	else if (!old)
		*new = (struct slot_inner){0};
	new->cap = (uint32_t)cap;
	*at = new;
	return 0;
}

static int inner_reserve(struct slot_table *t, uint32_t x, size_t more)
{
	struct slot_inner *in = *slot_at(t, x).inner;
	struct slot_at base = base_slot(t, x);
	size_t n = inner_n(in), cap = in ? in->cap : 0;

	if (more <= cap - n) /* a copy, if it is not of this version */
		return in && base.inner && *base.inner == in ? inner_resize(t, x, cap) : 0;
	if (more > UINT32_MAX / 4 - n)
		return -ENOMEM;
	return inner_resize(t, x, MAX(n + more, cap + cap / 4 + 2));
}

bool slot_table_find(const struct slot_table *t, struct slot_range r)
{
	if (t->points)
		return r.lo == r.hi && slot_table_has(t, t->root, r.lo);
	if (!slot_table_is_inner(t, r) || !page_of(t->root, r.lo))
		return false;
	struct slot_at at = slot_at(t, r.lo);
	/* A change is likely to follow: fetch its leaf beside the ranges. */
	const char *leaf = slot_leaf(*at.word);
	const struct slot_inner *in = *at.inner;
	__builtin_prefetch(leaf);
	__builtin_prefetch(leaf + 64);
	__builtin_prefetch((const char *)in + 64);
	uint32_t i = inner_below(in, pack(r));
	return i < inner_n(in) && in->v[i] == pack(r);
}

bool slot_table_last_holding(const struct slot_table *t, const struct slot_root *root, uint32_t x,
			     struct slot_range *out)
{
	if (t->points) {
		*out = (struct slot_range){x, x};
		return slot_table_has(t, root, x);
	}
	const struct slot_inner *in = inner_of(t, root, x);

	for (uint32_t i = inner_begun(in, x); i--;) {
		struct slot_range r = unpack(x, in->v[i]);
		if (r.hi >= x) {
			*out = r;
			return true;
		}
		if (!t->overlap)
			break;
	}
	return false;
}

/* The part of r in one slot. */
static int overlapping_in_slot(const struct slot_table *t, const struct slot_inner *in,
			       struct slot_range r, int (*fn)(void *ctx, struct slot_range r),
			       void *ctx)
{
	uint32_t end = inner_begun(in, r.hi);
	uint32_t i = t->overlap ? 0 : inner_below(in, r.lo << 16);

	if (!t->overlap && i)
		i--; /* it may reach up to r */
	for (int stop; i < end; i++) {
		struct slot_range e = unpack(r.lo, in->v[i]);
		if (e.hi >= r.lo && (stop = fn(ctx, e)))
			return stop;
	}
	return 0;
}

struct points {
	struct slot_range r;
	int (*fn)(void *ctx, struct slot_range r);
	void *ctx;
};

static int point_tell(void *ctx, unsigned x)
{
	struct points *p = ctx;
	return x < p->r.lo || x > p->r.hi ? 0 : p->fn(p->ctx, (struct slot_range){x, x});
}

int slot_table_overlapping(const struct slot_table *t, struct slot_range r,
			   int (*fn)(void *ctx, struct slot_range r), void *ctx)
{
	struct points points = {r, fn, ctx};
	uint64_t x = r.lo;
	int stop = 0;

	if (t->points)
		return page_of(t->root, 0)
			       ? slot_each(&t->pool, *slot_at(t, 0).word, point_tell, &points)
			       : 0;

	if (t->key_len < 4)
		r.hi = MIN(r.hi, t->pool.last);
	while (x <= r.hi && !stop) {
		uint32_t at = (uint32_t)x;
		if (!page_of(t->root, at)) {
			x = ((x >> 24) + 1) << 24;
			continue;
		}
		const struct slot_inner *in = inner_of(t, t->root, at);
		struct slot_range part = {at, MIN(slot_last(t, at), r.hi)};
		if (in)
			stop = overlapping_in_slot(t, in, part, fn, ctx);
		x = (uint64_t)slot_last(t, at) + 1;
	}
	return stop;
}

bool slot_table_is_inner(const struct slot_table *t, struct slot_range r)
{
	if (t->key_len < 4)
		return true;
	return r.lo >> 16 == r.hi >> 16 &&
	       !((r.lo & SLOT_MAX) == 0 && (r.hi & SLOT_MAX) == SLOT_MAX);
}

/* --- parts of ranges ------------------------------------------------------------------------ */

/* A range as it lies over slots: up to two parts, and slots from..to-1 as a whole. */
struct spread {
	struct slot_range part[2];
	unsigned n_parts;
	uint32_t from, to;
};

static struct spread spread_of(const struct slot_table *t, struct slot_range r)
{
	struct spread s = {.from = r.lo >> 16, .to = (r.hi >> 16) + 1};

	if (slot_table_is_inner(t, r)) {
		s.part[s.n_parts++] = r;
		s.to = s.from;
		return s;
	}
	if (r.lo & SLOT_MAX) {
		s.part[s.n_parts++] = (struct slot_range){r.lo, r.lo | SLOT_MAX};
		s.from++;
	}
	if ((r.hi & SLOT_MAX) != SLOT_MAX) {
		s.part[s.n_parts++] = (struct slot_range){r.hi & ~(uint32_t)SLOT_MAX, r.hi};
		s.to--;
	}
	return s;
}

/* Counts a range over slots from..to-1; whole pages count as such. */
static void cover(struct slot_table *t, uint32_t from, uint32_t to, uint32_t delta)
{
	while (from < to) {
		uint32_t page = from / PAGE_SLOTS, slot = from % PAGE_SLOTS;
		if (!slot && to - from >= PAGE_SLOTS) {
			t->root->covers[page] += delta;
			slot_cover(&t->root->page[page], t->root->covers[page]);
			from += PAGE_SLOTS;
			continue;
		}
		struct slot_at at = slot_at(t, from << 16);
		*at.covers += delta;
		slot_cover(at.word, *at.covers);
		from++;
	}
}

/* The pages of slots that are covered without their page. */
static int cover_reserve(struct slot_table *t, uint32_t from, uint32_t to)
{
	int err = from < to ? root_own(t) : 0;

	if (!err && from < to && (from % PAGE_SLOTS || to - from < PAGE_SLOTS))
		err = page_own(t, from << 16);
	if (!err && from < to && to % PAGE_SLOTS)
		err = page_own(t, (to - 1) << 16);
	return err;
}

/* Ranges of which some part is in the slot. */
static size_t ranges_in(struct slot_at at)
{
	return inner_n(*at.inner) + *at.parts;
}

/* Room in the slot of x for `more` ranges, and memory for so many changes of it. */
static int slot_prepare(struct slot_table *t, uint32_t x, size_t more, size_t edits)
{
	int err = page_own(t, x);
	if (err)
		return err;
	struct slot_at at = slot_at(t, x);
	uint64_t gone;
	err = t->points ? 0 : inner_reserve(t, x, more);
	if (!err)
		err = slot_reserve(&t->pool, at.word, ranges_in(at) + more, edits, &gone);
	if (!err)
		leaf_gone(t, x, gone);
	return err;
}

static int prepare(struct slot_table *t, struct slot_range r, size_t more, size_t edits)
{
	struct spread s = spread_of(t, r);
	int err = cover_reserve(t, s.from, s.to);

	for (unsigned i = 0; i < s.n_parts && !err; i++)
		err = slot_prepare(t, s.part[i].lo, more, edits);
	return err;
}

int slot_table_reserve(struct slot_table *t, struct slot_range r, size_t n)
{
	return prepare(t, r, n, n);
}

int slot_table_reserve_take(struct slot_table *t, struct slot_range r, size_t n)
{
	return prepare(t, r, 0, n);
}

/* Makes an edit public and gives the leaf before back. */
static void edit_end(struct slot_table *t, struct slot_edit *e, uint32_t x)
{
	leaf_gone(t, x, slot_edit_end(e));
}

static void part_set(struct slot_table *t, struct slot_range r)
{
	struct slot_edit e;

	slot_edit_begin(&e, &t->pool, slot_at(t, r.lo).word);
	slot_edit_set(&e, r.lo & SLOT_MAX, r.hi & SLOT_MAX, true);
	edit_end(t, &e, r.lo);
}

void slot_part_add(struct slot_part *part, struct slot_range r)
{
	if (!part->whole && r.lo <= part->slot_lo && r.hi >= part->slot_hi)
		return;
	uint32_t lo = MAX(r.lo, part->lo), hi = MIN(r.hi, part->hi);
	if (lo <= hi)
		slot_edit_set(&part->edit, lo & SLOT_MAX, hi & SLOT_MAX, true);
}

static int add_inner(void *ctx, struct slot_range r)
{
	slot_part_add(ctx, r);
	return 0;
}

/* Takes r out of the union, but for what other ranges say. */
static void part_clear(struct slot_table *t, struct slot_range r, const struct slot_others *others)
{
	struct slot_at at = slot_at(t, r.lo);
	struct slot_part part = {.lo = r.lo,
				 .hi = r.hi,
				 .slot_lo = r.lo & ~t->pool.last,
				 .slot_hi = slot_last(t, r.lo),
				 .whole = t->key_len < 4};

	slot_edit_begin(&part.edit, &t->pool, at.word);
	slot_edit_set(&part.edit, r.lo & SLOT_MAX, r.hi & SLOT_MAX, false);
	if (t->overlap) {
		if (*at.inner)
			overlapping_in_slot(t, *at.inner, r, add_inner, &part);
		others->each(others->ctx, r.lo, r.hi, &part);
	}
	edit_end(t, &part.edit, r.lo);
	leaf_gone(t, r.lo, slot_shrink(&t->pool, at.word, ranges_in(at)));
}

void slot_table_add(struct slot_table *t, struct slot_range r)
{
	struct spread s = spread_of(t, r);

	cover(t, s.from, s.to, 1);
	for (unsigned i = 0; i < s.n_parts; i++) {
		++*slot_at(t, s.part[i].lo).parts;
		part_set(t, s.part[i]);
	}
}

void slot_table_drop(struct slot_table *t, struct slot_range r, const struct slot_others *others)
{
	struct spread s = spread_of(t, r);

	cover(t, s.from, s.to, UINT32_MAX);
	for (unsigned i = 0; i < s.n_parts; i++) {
		--*slot_at(t, s.part[i].lo).parts;
		part_clear(t, s.part[i], others);
	}
}

void slot_table_put(struct slot_table *t, struct slot_range r)
{
	if (t->points) {
		slot_table_add(t, r);
		return;
	}
	struct slot_inner *in = inner_of(t, t->root, r.lo);
	uint32_t i = inner_below(in, pack(r));

	memmove(&in->v[i + 1], &in->v[i], (in->n - i) * sizeof(in->v[0]));
	in->v[i] = pack(r);
	in->n++;
	part_set(t, r);
}

void slot_table_take(struct slot_table *t, struct slot_range r, const struct slot_others *others)
{
	if (t->points) {
		slot_table_drop(t, r, others);
		return;
	}
	struct slot_inner **at = slot_at(t, r.lo).inner, *in = *at;
	uint32_t i = inner_below(in, pack(r));

	in->n--;
	memmove(&in->v[i], &in->v[i + 1], (in->n - i) * sizeof(in->v[0]));
	part_clear(t, r, others);
	if (!in->n) {
		free(in);
		*at = NULL;
	} else if (in->n < in->cap / 4) {
		inner_resize(t, r.lo, in->n * 2); /* or it stays as it is */
	}
}

/* --- packet path ---------------------------------------------------------------------------- */

bool slot_table_has(const struct slot_table *t, const struct slot_root *root, uint32_t x)
{
	page_word w = root->page[x >> 24];
	const struct slot_page *p = page_of(root, x);
	return w & SLOT_COVERED || (p && slot_has(p->word[slot_of(x)], x & SLOT_MAX));
}

const struct slot_root *slot_table_root(const struct slot_table *t)
{
	return t->root;
}

uint64_t slot_table_lookup(const struct slot_table *t, const struct slot_root *root,
			   const uint8_t *keys, size_t stride, uint64_t mask)
{
	return t->key_len == 4 ? t->ops->lookup_paged(root, keys, stride, mask)
			       : t->ops->lookup_short(root, t->key_len, keys, stride, mask);
}
