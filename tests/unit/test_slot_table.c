/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slot tables against a list of ranges, under seeded random changes, with memory that fails where a
 * change must not; and every way to search a cache line against the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/slot_table_internal.h"

enum { RANGES_MAX = 6000 };

struct run {
	struct slot_table *t;
	unsigned key_len;
	bool overlap, shrink;
	uint32_t base, span; /* where ranges begin */
	uint32_t width;
	size_t n;
	struct slot_range r[RANGES_MAX];
};

static uint64_t rng;
static bool no_memory;

void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return no_memory ? NULL : __real_aligned_alloc(align, size);
}

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
	return no_memory ? NULL : __real_realloc(p, size);
}

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 16) % n);
}

static uint32_t key_last(const struct run *r)
{
	return r->key_len == 4 ? UINT32_MAX : r->key_len == 2 ? 65535 : 255;
}

static struct slot_range random_range(struct run *r)
{
	uint32_t last = key_last(r);
	struct slot_range x = {r->base + rnd(r->span), 0};
	uint64_t hi = (uint64_t)x.lo + rnd(r->width);

	switch (rnd(12)) {
	case 0: /* a prefix of any length */
		hi = rnd(8 * r->key_len + 1);
		hi = hi == 32 ? 0 : last >> hi;
		x.lo &= ~(uint32_t)hi;
		hi += x.lo;
		break;
	case 1:
		hi = x.lo;
		break;
	case 2: /* up to the end of a slot, or beyond */
		hi = x.lo | 0xffff;
		hi += rnd(2) ? rnd(70000) : 0;
		break;
	}
	x.hi = (uint32_t)MIN(hi, (uint64_t)last);
	return x;
}

static void tell(void *ctx, uint32_t lo, uint32_t hi, struct slot_part *part)
{
	struct run *r = ctx;
	for (size_t i = 0; i < r->n; i++)
		if (!slot_table_is_inner(r->t, r->r[i]) && r->r[i].lo <= hi && r->r[i].hi >= lo)
			slot_part_add(part, r->r[i]);
}

static void add(struct run *r)
{
	struct slot_range x = random_range(r);

	for (size_t i = 0; i < r->n; i++)
		if (r->overlap ? r->r[i].lo == x.lo && r->r[i].hi == x.hi
			       : r->r[i].lo <= x.hi && r->r[i].hi >= x.lo)
			return;
	if (r->n == RANGES_MAX)
		return;
	assert_int_equal(slot_table_reserve(r->t, x, 1), 0);
	no_memory = !rnd(4);
	if (slot_table_is_inner(r->t, x))
		slot_table_put(r->t, x);
	else
		slot_table_add(r->t, x);
	no_memory = false;
	r->r[r->n++] = x;
}

static void take(struct run *r)
{
	if (!r->n)
		return;
	size_t i = rnd((uint32_t)r->n);
	struct slot_range x = r->r[i];
	struct slot_others others = {tell, r};
	r->r[i] = r->r[--r->n];
	assert_int_equal(slot_table_reserve_take(r->t, x, 1), 0);
	no_memory = !rnd(4);
	if (slot_table_is_inner(r->t, x))
		slot_table_take(r->t, x, &others);
	else
		slot_table_drop(r->t, x, &others);
	no_memory = false;
}

static uint32_t interesting_key(struct run *r)
{
	if (!r->n || !rnd(4))
		return rnd(4) ? r->base + rnd(r->span) : rnd(2) ? 0 : key_last(r);
	struct slot_range x = r->r[rnd((uint32_t)r->n)];
	uint32_t k = (rnd(2) ? x.lo : x.hi) + rnd(3) - 1;
	return k & key_last(r);
}

static int count(void *ctx, struct slot_range x)
{
	++*(size_t *)ctx;
	return 0;
}

static void check_order(struct run *r, uint32_t k, bool any)
{
	struct slot_range got, want = {0};
	bool inner = false;

	for (size_t i = 0; i < r->n; i++) {
		struct slot_range x = r->r[i];
		if (x.lo > k || x.hi < k || !slot_table_is_inner(r->t, x))
			continue;
		if (!inner || x.lo > want.lo || (x.lo == want.lo && x.hi < want.hi))
			want = x;
		inner = true;
	}
	assert_int_equal(slot_table_last_holding(r->t, slot_table_root(r->t), k, &got), inner);
	if (inner) {
		assert_true(any);
		assert_int_equal(got.lo, want.lo);
		assert_int_equal(got.hi, want.hi);
		assert_true(slot_table_find(r->t, want));
	}
}

static void check(struct run *r)
{
	static const struct slot_table_ops *const all[] = {&slot_table_scalar,
#ifdef __x86_64__
							   &slot_table_avx2, &slot_table_avx512
#endif
	};
	uint8_t keys[64][4];
	uint64_t want = 0, mask = rng | 1;

	for (unsigned i = 0; i < 64; i++) {
		uint32_t k = interesting_key(r);
		bool any = false;
		for (size_t j = 0; j < r->n; j++)
			any |= r->r[j].lo <= k && k <= r->r[j].hi;
		be_store(keys[i], k, r->key_len);
		want |= (uint64_t)any << i;
		assert_int_equal(slot_table_has(r->t, slot_table_root(r->t), k), any);
		if (i < 8)
			check_order(r, k, any);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i]->usable())
			continue;
		r->t->ops = all[i];
		assert_int_equal(slot_table_lookup(r->t, slot_table_root(r->t), keys[0], 4, mask),
				 want & mask);
		assert_int_equal(slot_table_lookup(r->t, slot_table_root(r->t), keys[0], 4, ~0ULL),
				 want);
	}
	size_t n = 0, want_n = 0;
	struct slot_range part = {interesting_key(r), interesting_key(r)};
	slot_table_overlapping(r->t, part, count, &n);
	for (size_t i = 0; i < r->n; i++)
		want_n += slot_table_is_inner(r->t, r->r[i]) && r->r[i].lo <= part.hi &&
			  r->r[i].hi >= part.lo && part.lo <= part.hi;
	assert_int_equal(n, want_n);
}

static void run(struct run r, unsigned steps)
{
	struct run *heap = malloc(sizeof(r));

	for (uint64_t seed = 1; seed <= 2; seed++) {
		*heap = r;
		rng = seed * 0x9e3779b97f4a7c15;
		heap->shrink = seed == 1;
		heap->t = slot_table_new(r.key_len, r.overlap ? SLOT_OVERLAP : SLOT_APART, false);
		/* Up, then about level, then down. */
		for (unsigned i = 0; i < steps; i++) {
			unsigned of_ten = i < steps / 2 ? 9 : i < 3 * (steps / 4) ? 5 : 1;
			if (rnd(10) < of_ten)
				add(heap);
			else
				take(heap);
			if (!rnd(20))
				check(heap);
		}
		while (heap->n)
			take(heap);
		check(heap);
		slot_table_free(heap->t);
	}
	free(heap);
}

static void bytes(void **state)
{
	run((struct run){.key_len = 1, .span = 256, .width = 3}, 4000);
	run((struct run){.key_len = 1, .span = 256, .width = 40, .overlap = true}, 4000);
}

static void ports(void **state)
{
	run((struct run){.key_len = 2, .span = 65536, .width = 5}, 4000);
	run((struct run){.key_len = 2, .span = 65536, .width = 3000, .overlap = true}, 4000);
	run((struct run){.key_len = 2, .span = 200, .width = 3, .overlap = true}, 4000);
}

static void addresses(void **state)
{
	/* One slot full of little ranges, a few slots, some pages, everything. */
	run((struct run){.key_len = 4, .base = 0x0a000000, .span = 0x10000, .width = 3}, 12000);
	run((struct run){.key_len = 4,
			 .base = 0xffff8000,
			 .span = 0x8000,
			 .width = 9,
			 .overlap = true},
	    8000);
	run((struct run){.key_len = 4, .base = 0, .span = 0x80000, .width = 500}, 8000);
	run((struct run){.key_len = 4, .base = 0, .span = 0x80000, .width = 900, .overlap = true},
	    8000);
	run((struct run){.key_len = 4, .span = UINT32_MAX, .width = 0x2000000, .overlap = true},
	    6000);
}

static void no_room(void **state)
{
	struct slot_table *t = slot_table_new(4, SLOT_APART, false);
	struct slot_range inner = {0x0a000001, 0x0a000005}, outer = {0x0a000005, 0x0b123456};

	no_memory = true;
	assert_int_equal(slot_table_reserve(t, inner, 1), -ENOMEM);
	assert_int_equal(slot_table_reserve(t, outer, 1), -ENOMEM);
	no_memory = false;
	assert_false(slot_table_has(t, slot_table_root(t), 0x0a000001));
	assert_int_equal(slot_table_reserve(t, inner, 1), 0);
	slot_table_put(t, inner);
	assert_true(slot_table_has(t, slot_table_root(t), 0x0a000001));
	slot_table_free(t);
	slot_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes),
		cmocka_unit_test(ports),
		cmocka_unit_test(addresses),
		cmocka_unit_test(no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
