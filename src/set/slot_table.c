/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table: changes; see slot_table.h. */
#include "set/slot_table_internal.h"

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

struct slot_table *slot_table_new(unsigned key_len, bool overlap)
{
	size_t pages = key_len == 4 ? PAGES : 1;
	size_t size = sizeof(struct slot_table) + pages * (sizeof(page_word) + sizeof(uint32_t));
	struct slot_table *t = calloc(1, size);
	if (!t)
		return NULL;
	t->ops = best_ops();
	t->key_len = key_len;
	t->page_slots = key_len == 4 ? PAGE_SLOTS : 1;
	t->overlap = overlap;
	t->covers = (uint32_t *)&t->page[pages];
	t->bytes = size;
	t->pool.last = key_len == 1 ? 255 : SLOT_MAX;
	t->pool.many = key_len == 4;
	return t;
}

static struct slot_page *page_of(const struct slot_table *t, uint32_t x)
{
	return (struct slot_page *)slot_leaf(t->page[x >> 24]);
}

static inline unsigned slot_of(uint32_t x)
{
	return x >> 16 & (PAGE_SLOTS - 1);
}

static inline uint32_t slot_last(const struct slot_table *t, uint32_t x)
{
	return x | t->pool.last;
}

/* The slot of x; its page is there. */
static struct slot_at slot_at(const struct slot_table *t, uint32_t x)
{
	struct slot_page *p = page_of(t, x);
	struct slot_inner **inner = (struct slot_inner **)&p->word[t->page_slots];
	uint32_t *covers = (uint32_t *)&inner[t->page_slots];
	uint32_t *parts = &covers[t->page_slots];
	unsigned i = slot_of(x);

	return (struct slot_at){&p->word[i], &inner[i], &covers[i], &parts[i]};
}

void slot_table_free(struct slot_table *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < (t->key_len == 4 ? PAGES : 1); i++) {
		struct slot_page *p = page_of(t, i << 24);
		for (uint32_t k = 0; p && k < t->page_slots; k++) {
			struct slot_at at = slot_at(t, i << 24 | k << 16);
			slot_free(&t->pool, *at.word);
			free(*at.inner);
		}
		free(p);
	}
	line_pool_free(&t->pool.lines);
	free(t);
}

size_t slot_table_bytes(const struct slot_table *t)
{
	return t->bytes + t->pool.lines.bytes;
}

static int page_make(struct slot_table *t, uint32_t x)
{
	if (page_of(t, x))
		return 0;
	size_t size = t->page_slots * (sizeof(uint64_t) + sizeof(void *) + 2 * sizeof(uint32_t));
	size = (size + 63) & ~(size_t)63;
	struct slot_page *p = aligned_alloc(64, size);
	if (!p)
		return -ENOMEM;
	memset(p, 0, size);
	t->bytes += size;
	page_word *w = &t->page[x >> 24];
	__atomic_store_n(w, (uint64_t)(uintptr_t)p | (*w & SLOT_COVERED), __ATOMIC_RELEASE);
	return 0;
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

static struct slot_inner *inner_of(const struct slot_table *t, uint32_t x)
{
	return page_of(t, x) ? *slot_at(t, x).inner : NULL;
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

static int inner_resize(struct slot_table *t, struct slot_inner **in, size_t cap)
{
	size_t old = *in ? (*in)->cap : 0;
	struct slot_inner *new = realloc(*in, sizeof(*new) + cap * sizeof(new->v[0]));

	if (!new)
		return -ENOMEM;
	if (!*in)
		*new = (struct slot_inner){0};
	new->cap = (uint32_t)cap;
	*in = new;
	t->bytes += (cap - old) * sizeof(new->v[0]) + (old ? 0 : sizeof(*new));
	return 0;
}

static int inner_reserve(struct slot_table *t, struct slot_inner **in, size_t more)
{
	size_t n = inner_n(*in), cap = *in ? (*in)->cap : 0;

	if (more <= cap - n)
		return 0;
	if (more > UINT32_MAX / 4 - n)
		return -ENOMEM;
	return inner_resize(t, in, MAX(n + more, cap + cap / 4 + 2));
}

bool slot_table_find(const struct slot_table *t, struct slot_range r)
{
	if (!slot_table_is_inner(t, r) || !page_of(t, r.lo))
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

bool slot_table_last_holding(const struct slot_table *t, uint32_t x, struct slot_range *out)
{
	const struct slot_inner *in = inner_of(t, x);

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

int slot_table_overlapping(const struct slot_table *t, struct slot_range r,
			   int (*fn)(void *ctx, struct slot_range r), void *ctx)
{
	uint64_t x = r.lo;
	int stop = 0;

	if (t->key_len < 4)
		r.hi = MIN(r.hi, t->pool.last);
	while (x <= r.hi && !stop) {
		uint32_t at = (uint32_t)x;
		if (!page_of(t, at)) {
			x = ((x >> 24) + 1) << 24;
			continue;
		}
		const struct slot_inner *in = inner_of(t, at);
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
			t->covers[page] += delta;
			slot_cover(&t->page[page], t->covers[page]);
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
	int err = 0;

	if (from < to && (from % PAGE_SLOTS || to - from < PAGE_SLOTS))
		err = page_make(t, from << 16);
	if (!err && from < to && to % PAGE_SLOTS)
		err = page_make(t, (to - 1) << 16);
	return err;
}

/* Ranges of which some part is in the slot. */
static size_t ranges_in(struct slot_at at)
{
	return inner_n(*at.inner) + *at.parts;
}

int slot_table_reserve(struct slot_table *t, struct slot_range r, size_t n)
{
	struct spread s = spread_of(t, r);
	int err = cover_reserve(t, s.from, s.to);

	for (unsigned i = 0; i < s.n_parts && !err; i++) {
		err = page_make(t, s.part[i].lo);
		if (err)
			break;
		struct slot_at at = slot_at(t, s.part[i].lo);
		err = inner_reserve(t, at.inner, n);
		if (!err)
			err = slot_reserve(&t->pool, at.word, ranges_in(at) + n);
	}
	return err;
}

static void part_set(struct slot_table *t, struct slot_range r)
{
	struct slot_edit e;

	slot_edit_begin(&e, &t->pool, slot_at(t, r.lo).word);
	slot_edit_set(&e, r.lo & SLOT_MAX, r.hi & SLOT_MAX, true);
	slot_edit_end(&e);
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
	slot_edit_end(&part.edit);
	if (others->may_shrink)
		slot_shrink(&t->pool, at.word, ranges_in(at));
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
	struct slot_inner *in = inner_of(t, r.lo);
	uint32_t i = inner_below(in, pack(r));

	memmove(&in->v[i + 1], &in->v[i], (in->n - i) * sizeof(in->v[0]));
	in->v[i] = pack(r);
	in->n++;
	part_set(t, r);
}

void slot_table_take(struct slot_table *t, struct slot_range r, const struct slot_others *others)
{
	struct slot_inner **at = slot_at(t, r.lo).inner, *in = *at;
	uint32_t i = inner_below(in, pack(r));

	in->n--;
	memmove(&in->v[i], &in->v[i + 1], (in->n - i) * sizeof(in->v[0]));
	part_clear(t, r, others);
	if (!others->may_shrink)
		return;
	if (!in->n) {
		t->bytes -= sizeof(*in) + in->cap * sizeof(in->v[0]);
		free(in);
		*at = NULL;
	} else if (in->n < in->cap / 4) {
		inner_resize(t, at, in->n * 2); /* or it stays as it is */
	}
}

/* --- packet path ---------------------------------------------------------------------------- */

bool slot_table_has(const struct slot_table *t, uint32_t x)
{
	page_word w = t->page[x >> 24];
	struct slot_page *p = page_of(t, x);
	return w & SLOT_COVERED || (p && slot_has(p->word[slot_of(x)], x & SLOT_MAX));
}

uint64_t slot_table_lookup(const struct slot_table *t, const uint8_t *keys, size_t stride,
			   uint64_t mask)
{
	return t->key_len == 4 ? t->ops->lookup_paged(t, keys, stride, mask)
			       : t->ops->lookup_short(t, keys, stride, mask);
}
