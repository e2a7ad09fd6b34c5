/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets whose keys are masked and bounded, and whose full ones make room: seeded random calls
 * against an array. With and without workers, with states, within transactions that are taken back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rcu/rcu.h"
#include "set/set.h"

enum { LEN = 8, HELD = 400, STEPS = 20000, WIDE = 16 };

struct held {
	uint8_t key[HELD][LEN];
	unsigned n;
};

struct world {
	struct set_keying keying;
	struct set *s;
	struct rcu *r;
	struct rcu_worker *w;
	struct held held;
	uint64_t seed;
};

static uint32_t dice(struct world *w, uint32_t n)
{
	w->seed = w->seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(w->seed >> 33) % n;
}

static size_t ext_size(const void *template)
{
	return template ? 8 : 0;
}

static int ext_init(void *ext, const void *template, uint64_t now)
{
	memcpy(ext, template, 8);
	return 0;
}

static uint64_t no_time(void *ctx)
{
	return 0;
}

/* Two fields of 4 bytes, of which few bits vary. */
static void world_begin(struct world *w, uint64_t seed, bool rcu, bool states, uint32_t size)
{
	static const uint64_t template = 7;
	static const uint8_t masks[][LEN] = {
		{255, 255, 255, 0, 255, 255, 255, 255},
		{255, 255, 255, 255, 255, 255, 255, 255},
		{255, 0, 255, 0xf5, 255, 0, 255, 0x0f},
	};
	struct set_desc d = {
		.n_fields = 2,
		.field_len = {4, 4},
		.timeout = true,
		.dynamic = true,
		.size = size,
		.ext_size = ext_size,
		.ext_init = ext_init,
		.ext_ctx = states ? &template : NULL,
	};

	struct rcu_config config = {.max_entries = 1 << 20, .max_bytes = 1 << 28, .clock = no_time};

	*w = (struct world){.seed = seed};
	memcpy(w->keying.mask, masks[seed % 3], LEN);
	memset(w->keying.hi, 0xff, LEN);
	w->keying.lo[3] = seed % 2;
	w->keying.hi[7] = 200;
	w->keying.evicts = size;
	d.keying = &w->keying;
	if (rcu) {
		assert_int_equal(rcu_new(&config, &w->r), 0);
		assert_int_equal(rcu_register(w->r, "packets", &w->w), 0);
		d.rcu = w->r;
	}
	assert_int_equal(set_new(&d, &w->s), 0);
	assert_ptr_not_equal(set_desc_of(w->s)->keying, &w->keying);
}

static void world_end(struct world *w)
{
	if (w->r)
		rcu_unregister(w->w);
	set_free(w->s);
	if (w->r)
		rcu_free(w->r);
}

static void key_draw(struct world *w, uint8_t *key)
{
	memset(key, 0, LEN);
	key[1] = (uint8_t)dice(w, 2);
	key[3] = (uint8_t)dice(w, WIDE);
	key[7] = (uint8_t)(dice(w, WIDE) * 16);
}

static void key_mean(const struct world *w, const uint8_t *key, uint8_t *out)
{
	for (unsigned i = 0; i < LEN; i++)
		out[i] = key[i] & w->keying.mask[i];
}

static bool key_is_bound(const struct world *w, const uint8_t *key)
{
	for (unsigned at = 0; at < LEN; at += 4)
		if (be32_load(key + at) < be32_load(w->keying.lo + at) ||
		    be32_load(key + at) > be32_load(w->keying.hi + at))
			return false;
	return true;
}

static unsigned held_find(const struct held *h, const uint8_t *key)
{
	unsigned i = 0;

	while (i < h->n && memcmp(h->key[i], key, LEN) != 0)
		i++;
	return i;
}

/* The one that is not in the set any more, of which there must be one, goes here too. */
static void held_evicted(struct world *w, const uint8_t *spared)
{
	unsigned gone = 0;

	for (unsigned i = 0; i < w->held.n;) {
		if (set_find(w->s, w->held.key[i], NULL, 0)) {
			i++;
			continue;
		}
		gone++;
		assert_memory_not_equal(w->held.key[i], spared, LEN);
		memcpy(w->held.key[i], w->held.key[--w->held.n], LEN);
	}
	assert_int_equal(gone, 1);
}

static void check(struct world *w)
{
	uint8_t keys[SET_BATCH_MAX][LEN], meant[LEN];
	uint64_t now[SET_BATCH_MAX] = {0}, found;
	struct set_elem *hit[SET_BATCH_MAX];
	struct set_view v;

	for (unsigned i = 0; i < SET_BATCH_MAX; i++)
		key_draw(w, keys[i]);
	found = set_lookup(w->s, keys, LEN, ~UINT64_C(5), now, hit);
	for (unsigned i = 0; i < SET_BATCH_MAX; i++) {
		bool there;

		key_mean(w, keys[i], meant);
		there = held_find(&w->held, meant) < w->held.n;
		assert_int_equal(found >> i & 1, there && i != 0 && i != 2);
		assert_int_equal(set_get(w->s, keys[i], NULL, 0, &v), there ? 0 : -ENOENT);
		if (there)
			assert_memory_equal(v.lo, meant, LEN);
		assert_int_equal(set_find(w->s, keys[i], keys[i], 0) != NULL, there);
	}
	assert_int_equal(set_count(w->s, 0), w->held.n);
}

static void put(struct world *w, const uint8_t *key, bool packet)
{
	struct set_item item = {.lo = key};
	struct set_elem *e;
	uint8_t meant[LEN];
	uint32_t size = set_desc_of(w->s)->size;
	bool there, full;
	int r = packet ? set_update(w->s, SET_UPDATE_ADD, &item, 0, &e)
		       : set_add(w->s, &item, 0, 0, NULL);

	key_mean(w, key, meant);
	there = held_find(&w->held, meant) < w->held.n;
	full = size && w->held.n == size;
	if (!key_is_bound(w, meant)) {
		assert_int_equal(r, -ERANGE);
		return;
	}
	assert_int_equal(r, packet && !there);
	if (there)
		return;
	if (full)
		held_evicted(w, meant);
	memcpy(w->held.key[w->held.n++], meant, LEN);
}

static void take(struct world *w, const uint8_t *key, bool packet)
{
	uint8_t meant[LEN];
	unsigned i;
	int err = packet ? set_remove(w->s, key, 0)
			 : set_delete(w->s, &(struct set_item){.lo = key}, 0);

	key_mean(w, key, meant);
	i = held_find(&w->held, meant);
	assert_int_equal(err, i < w->held.n ? 0 : -ENOENT);
	if (!err)
		memcpy(w->held.key[i], w->held.key[--w->held.n], LEN);
}

static void run(uint64_t seed, bool rcu, bool states, uint32_t size)
{
	static struct held before;
	struct world w;

	world_begin(&w, seed, rcu, states, size);
	for (unsigned i = 0; i < STEPS; i++) {
		bool open = set_in_transaction(w.s);
		uint8_t key[LEN];

		key_draw(&w, key);
		if (w.r)
			rcu_quiescent(w.w);
		if (dice(&w, 3))
			put(&w, key, !open && dice(&w, 2));
		else
			take(&w, key, !open && dice(&w, 2));
		if (!open && i % 16 == 0)
			check(&w);
		if (i % 64 == 0 && !open) {
			assert_int_equal(set_begin(w.s), 0);
			before = w.held;
		} else if (i % 64 == 40 && open) {
			if (w.r)
				rcu_offline(w.w);
			if (dice(&w, 2)) {
				assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
			} else {
				set_rollback(w.s);
				w.held = before;
			}
			if (w.r)
				rcu_online(w.w);
			check(&w);
		}
	}
	if (set_in_transaction(w.s))
		set_rollback(w.s);
	world_end(&w);
}

static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		for (unsigned form = 0; form < 4; form++)
			run(seed, form & 1, form & 2, seed > 3 ? 20 : 0);
}

/* A set of one takes the newest; one of many gives up no more than it must. */
static void test_small_and_large(void **state)
{
	static const uint32_t sizes[] = {1, 2, 5000};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct set_keying k = {.evicts = true};
		struct set_desc d = {.n_fields = 1,
				     .field_len = {4},
				     .dynamic = true,
				     .size = sizes[i],
				     .keying = &k};
		struct set_elem *e;
		struct set *s;

		memset(k.mask, 0xff, 4);
		memset(k.hi, 0xff, 4);
		assert_int_equal(set_new(&d, &s), 0);
		for (uint32_t n = 1; n <= 3 * sizes[i]; n++) {
			assert_int_equal(
				set_update(s, SET_UPDATE_ADD, &(struct set_item){.lo = &n}, 0, &e),
				1);
			assert_non_null(set_find(s, &n, NULL, 0));
			assert_int_equal(set_count(s, 0), MIN(n, sizes[i]));
		}
		assert_int_equal(set_stats_of(s)->full, 0);
		assert_int_equal(set_stats_of(s)->added, 3 * sizes[i]);
		set_free(s);
	}
}

/* What has expired goes before what is there. */
static void test_expired_first(void **state)
{
	struct set_keying k = {.evicts = true};
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .dynamic = true,
			     .timeout = true,
			     .size = 3,
			     .keying = &k};
	struct set_elem *e;
	struct set *s;

	memset(k.mask, 0xff, 4);
	memset(k.hi, 0xff, 4);
	assert_int_equal(set_new(&d, &s), 0);
	for (uint32_t n = 1; n <= 3; n++)
		assert_int_equal(
			set_add(s, &(struct set_item){.lo = &n, .timeout_ns = n == 2 ? 10 : 0}, 0,
				0, NULL),
			0);
	uint32_t four = 4;
	assert_int_equal(set_update(s, SET_UPDATE_ADD, &(struct set_item){.lo = &four}, 20, &e), 1);
	for (uint32_t n = 1; n <= 4; n++)
		assert_int_equal(set_find(s, &n, NULL, 20) != NULL, n != 2);
	set_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_small_and_large),
		cmocka_unit_test(test_expired_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
