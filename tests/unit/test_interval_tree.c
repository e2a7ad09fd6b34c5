/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interval trees against a list of ranges, under seeded random changes: keys of many lengths,
 * ranges apart and nested, versions that are kept and taken back, and every way to look a burst up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/interval_tree_internal.h"

enum { RANGES_MAX = 3000, KEY = 24 };

struct range {
	uint8_t lo[KEY], hi[KEY];
	struct set_elem *e;
};

struct run {
	unsigned len, words;
	bool nested, timed;
	uint32_t span, width;
	struct interval_tree t;
	size_t n;
	struct range r[RANGES_MAX];
	uint64_t now;
};

static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 16) % n);
}

/* Numbers stand at the end of a key, so that the first words of long ones are the same; some at its
 * beginning. */
static void key_make(const struct run *r, uint32_t x, uint8_t *key)
{
	unsigned bytes = MIN(r->len, 4U);

	memset(key, x & 1 ? 0xff : 0, r->len);
	if (x & 2 && r->len > 8)
		be_store(key, x, bytes);
	else
		be_store(key + r->len - bytes, x, bytes);
}

static struct interval_entry entry(const struct run *r, const struct range *x)
{
	struct interval_entry in = {.e = x->e};

	interval_key_make(x->lo, r->len, &in.lo);
	interval_key_make(x->hi, r->len, &in.hi);
	return in;
}

static bool in_the_way(const struct run *r, const struct range *a, const struct range *b)
{
	if (r->nested)
		return !memcmp(a->lo, b->lo, r->len) && !memcmp(a->hi, b->hi, r->len);
	return memcmp(a->lo, b->hi, r->len) <= 0 && memcmp(b->lo, a->hi, r->len) <= 0;
}

static void add(struct run *r)
{
	uint32_t last = r->len == 1 ? 0xff : r->len == 2 ? 0xffff : UINT32_MAX;
	uint32_t lo = rnd(r->span), hi = lo + rnd(r->width) * 4;
	struct range x = {0};

	key_make(r, lo & last, x.lo);
	key_make(r, MIN(hi, last), x.hi);
	if (memcmp(x.lo, x.hi, r->len) > 0)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (in_the_way(r, &x, &r->r[i]))
			return;
	if (r->n == RANGES_MAX)
		return;
	x.e = calloc(1, sizeof(*x.e));
	x.e->expires = r->timed ? r->now + 1 + rnd(100) : UINT64_MAX;
	r->r[r->n++] = x;
	struct interval_entry in = entry(r, &x);
	assert_int_equal(interval_tree_reserve(&r->t, r->words, 1), 0);
	interval_tree_insert(&r->t, r->words, &in);
}

/* Returns the element, which the caller frees. */
static struct set_elem *take(struct run *r)
{
	size_t i = rnd((uint32_t)r->n);
	struct interval_entry out = entry(r, &r->r[i]);

	assert_int_equal(interval_tree_reserve(&r->t, r->words, 1), 0);
	interval_tree_remove(&r->t, r->words, &out);
	r->r[i] = r->r[--r->n];
	return out.e;
}

static const struct range *match(const struct run *r, const uint8_t *key, uint64_t now)
{
	const struct range *best = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct range *x = &r->r[i];
		if (memcmp(x->lo, key, r->len) > 0 || memcmp(x->hi, key, r->len) < 0 ||
		    x->e->expires <= now)
			continue;
		int c = best ? memcmp(x->lo, best->lo, r->len) : 1;
		if (c > 0 || (!c && memcmp(x->hi, best->hi, r->len) < 0))
			best = x;
	}
	return best;
}

static void check(struct run *r)
{
	static const struct interval_tree_ops *const all[] = {
#ifdef __x86_64__
		&interval_tree_avx2, &interval_tree_avx512,
#endif
		&interval_tree_scalar};
	uint8_t keys[64][KEY];
	uint64_t now[64], want = 0;
	struct set_elem *hit[64], *best[64] = {0};
	const struct interval_node *roots[64];
	struct interval_burst b = {.keys = keys[0],
				   .stride = KEY,
				   .key_len = r->len,
				   .now = now,
				   .nested = r->nested,
				   .timed = r->timed,
				   .hit = hit};

	for (unsigned i = 0; i < 64; i++) {
		roots[i] = r->t.root;
		if (r->n && rnd(3)) {
			const struct range *x = &r->r[rnd((uint32_t)r->n)];
			memcpy(keys[i], rnd(2) ? x->lo : x->hi, r->len);
			keys[i][r->len - 1] += (uint8_t)(rnd(3) - 1);
		} else {
			key_make(r, rnd(8) ? rnd(r->span) : UINT32_MAX, keys[i]);
		}
		now[i] = r->now;
		const struct range *x = match(r, keys[i], now[i]);
		best[i] = x ? x->e : NULL;
		want |= (uint64_t)(x != NULL) << i;
	}
	for (unsigned k = 0; k < ARRAY_SIZE(all) && r->t.root; k++) {
		if (!all[k]->usable())
			continue;
		uint64_t mask = k ? ~0ULL : rng | 1;
		b.hit = hit;
		assert_int_equal(all[k]->lookup(roots, &b, mask), want & mask);
		for (uint64_t rest = want & mask; rest; rest &= rest - 1)
			assert_ptr_equal(hit[__builtin_ctzll(rest)], best[__builtin_ctzll(rest)]);
		b.hit = NULL;
		assert_int_equal(all[k]->lookup(roots, &b, mask), want & mask);
	}
	assert_int_equal(interval_tree_lookup(r->t.root, &b, ~0ULL), want);
	for (size_t i = 0; i < r->n; i += 7) {
		struct interval_entry in = entry(r, &r->r[i]);
		assert_ptr_equal(interval_tree_find(r->t.root, r->words, &in.lo, &in.hi), in.e);
	}
}

static void count(void *ctx, struct set_elem *e)
{
	++*(size_t *)ctx;
}

/* Some changes in a version of their own. */
static void version(struct run *r)
{
	static struct run before;
	struct set_elem *gone[40];
	unsigned n_gone = 0;
	bool keep = rnd(2);

	before = *r;
	interval_tree_begin(&r->t);
	for (unsigned i = rnd(40); i--;)
		if (rnd(2))
			add(r);
		else if (r->n)
			gone[n_gone++] = take(r);
	check(r);
	if (keep) {
		interval_tree_commit(&r->t, NULL);
		while (n_gone)
			free(gone[--n_gone]);
		return;
	}
	interval_tree_revert(&r->t, r->words);
	/* What came goes; it may be among what went too. */
	for (size_t i = 0; i < r->n + n_gone; i++) {
		struct set_elem *e = i < r->n ? r->r[i].e : gone[i - r->n];
		size_t k = 0;
		while (k < before.n && before.r[k].e != e)
			k++;
		if (k == before.n)
			free(e);
	}
	memcpy(r->r, before.r, sizeof(r->r));
	r->n = before.n;
}

static void run(struct run r, unsigned steps)
{
	static struct run it;

	it = r;
	it.words = interval_words(r.len);
	rng = 0x9e3779b97f4a7c15;
	for (unsigned i = 0; i < steps; i++) {
		unsigned of_ten = i < steps / 2 ? 9 : i < 3 * (steps / 4) ? 5 : 1;
		if (rnd(10) < of_ten)
			add(&it);
		else if (it.n)
			free(take(&it));
		interval_tree_commit(&it.t, NULL);
		it.now += it.timed && !rnd(20);
		if (!rnd(30))
			check(&it);
		if (!rnd(100))
			version(&it);
		/* Expired ones may lie over others only if somebody looks at the time. */
		if (it.timed && !it.nested && !rnd(50))
			check(&it);
	}
	size_t n = 0;
	interval_tree_each(it.t.root, it.words, count, &n);
	assert_int_equal(n, it.n);
	while (it.n)
		free(take(&it));
	interval_tree_commit(&it.t, NULL);
	assert_null(it.t.root);
	interval_tree_free(&it.t, it.words);
}

static void apart(void **state)
{
	static const unsigned lens[] = {1, 2, 4, 6, 8, 12, 16, 20};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		run((struct run){.len = lens[i], .span = 60000, .width = 4}, 6000);
		run((struct run){.len = lens[i], .span = 60000, .width = 4, .timed = true}, 2000);
	}
}

static void nested(void **state)
{
	static const unsigned lens[] = {1, 2, 4, 6, 8, 16, 20};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++)
		run((struct run){.len = lens[i],
				 .span = 60000,
				 .width = 3000,
				 .nested = true,
				 .timed = i % 2},
		    5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(apart), cmocka_unit_test(nested)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
