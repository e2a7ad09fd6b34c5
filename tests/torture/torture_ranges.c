/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_ranges: readers of sets with ranges, and of bitmaps, against the thread that changes
 *them.
 *
 *	torture_ranges [SECONDS]	(1 if not given)
 *
 * Readers look bursts up all the time. Ranges of STAY are there throughout: each key in them must
 * match, with its own data in a map. Of the groups ODD and EVEN, which transactions swap as a
 * whole, a burst must see the one or the other, never a mixture. Meanwhile the control thread adds
 * and deletes others, lets some expire, swaps, rolls back, and flushes and fills the set again in
 * one transaction.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "rcu/rcu.h"
#include "set/set.h"

enum {
	READERS = 2,
	STAY = 1000,
	GROUP = 32,
	CHURN = 3000,
	SECOND = 1000000000,
	WIDTH = 16, /* numbers that a range has */
	/* Where the ranges of each kind begin, counted in ranges. */
	AT_STAY = 0x100000,
	AT_ODD = 0x200000,
	AT_EVEN = 0x300000,
	AT_CHURN = 0x400000,
	KEY = 16,
};

static double seconds = 1;

struct kind {
	unsigned n_fields;
	uint8_t field_len[2];
	bool map, timeout, auto_merge;
};

struct world {
	const struct kind *kind;
	struct set *s;
	struct rcu *rcu;
	bool stop;
	uint64_t now;
	uint64_t lost, mixed, wrong, bursts;
};

static uint64_t clock_now(void *ctx)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Of a bitmap: the numbers of a kind of range, one after the other. */
static uint16_t port_of(uint32_t n)
{
	static const uint16_t from[] = {[AT_STAY >> 20] = 0,
					[AT_ODD >> 20] = 2000,
					[AT_EVEN >> 20] = 2100,
					[AT_CHURN >> 20] = 4000};

	return (uint16_t)(from[n >> 20] + (n & 0xfffff));
}

/* The first or last key of range n; a second field is any port up to n % 1000 + 100. */
static void key_of(const struct world *a, uint32_t n, uint32_t off, uint16_t port, uint8_t *key)
{
	unsigned len = a->kind->field_len[0];

	if (len == 2) {
		be16_store(key, port_of(n));
		return;
	}
	memset(key, 0x20, len);
	be32_store(key + (len > 8 ? 4 : 0), n * WIDTH + off);
	if (len > 4) /* beyond the number: any */
		memset(key + (len > 8 ? 8 : 4), off ? 0xff : 0, len - (len > 8 ? 8 : 4));
	if (a->kind->n_fields == 2)
		be16_store(key + len, port);
}

static int change(struct world *a, bool add, uint32_t n, uint64_t timeout)
{
	uint8_t lo[KEY], hi[KEY];
	struct set_item item = {.lo = lo,
				.hi = hi,
				.data = a->kind->map ? &n : NULL,
				.timeout_ns = a->kind->timeout && add ? timeout : 0};

	key_of(a, n, 0, 0, lo);
	key_of(a, n, WIDTH - 1, (uint16_t)(n % 1000 + 100), hi);
	return add ? set_add(a->s, &item, 0, a->now, NULL) : set_delete(a->s, &item, a->now);
}

static uint64_t burst(struct world *a, uint32_t first, uint32_t second)
{
	uint8_t keys[64][KEY];
	uint64_t now[64];
	struct set_elem *hit[64];
	uint32_t n[64], data;

	for (uint32_t i = 0; i < 64; i++) {
		n[i] = i < GROUP ? first + i : second + i - GROUP;
		key_of(a, n[i], i % WIDTH, (uint16_t)(i + 1), keys[i]);
		now[i] = __atomic_load_n(&a->now, __ATOMIC_RELAXED);
	}
	uint64_t found = set_lookup(a->s, keys, KEY, ~0ULL, now, hit);
	for (uint32_t i = 0; a->kind->map && i < 64; i++)
		if (found >> i & 1) {
			memcpy(&data, set_elem_data(a->s, hit[i]), sizeof(data));
			if (data != n[i])
				__atomic_fetch_add(&a->wrong, 1, __ATOMIC_RELAXED);
		}
	if (!a->kind->map && set_lookup(a->s, keys, KEY, 1, now, NULL) > 1)
		__atomic_fetch_add(&a->wrong, 1, __ATOMIC_RELAXED);
	return found;
}

static void *reader(void *arg)
{
	struct world *a = arg;
	struct rcu_worker *w;
	uint64_t n = 0;

	if (rcu_register(a->rcu, "reader", &w))
		abort();
	while (!__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE)) {
		uint32_t at = AT_STAY + (uint32_t)(n * 61 % (STAY - 64));
		if (burst(a, at, at + GROUP) != ~0ULL)
			__atomic_fetch_add(&a->lost, 1, __ATOMIC_RELAXED);
		uint64_t found = burst(a, AT_ODD, AT_EVEN);
		if (found != 0xffffffffULL && found != 0xffffffffULL << 32)
			__atomic_fetch_add(&a->mixed, 1, __ATOMIC_RELAXED);
		rcu_quiescent(w);
		n++;
	}
	rcu_unregister(w);
	__atomic_fetch_add(&a->bursts, n, __ATOMIC_RELAXED);
	return NULL;
}

static void end_transaction(struct world *a, bool commit)
{
	if (commit)
		assert_int_equal(set_commit(a->s, UINT64_MAX), 0);
	else
		set_rollback(a->s);
}

static void swap_groups(struct world *a, bool odd, bool commit)
{
	assert_int_equal(set_begin(a->s), 0);
	for (uint32_t i = 0; i < GROUP; i++) {
		assert_int_equal(change(a, true, (odd ? AT_ODD : AT_EVEN) + i, SET_NEVER), 0);
		assert_int_equal(change(a, false, (odd ? AT_EVEN : AT_ODD) + i, 0), 0);
	}
	end_transaction(a, commit);
}

static void refill(struct world *a, bool odd, bool commit)
{
	assert_int_equal(set_begin(a->s), 0);
	change(a, true, AT_CHURN, SET_NEVER);
	assert_int_equal(set_flush(a->s, a->now), 0);
	for (uint32_t i = 0; i < STAY; i++)
		assert_int_equal(change(a, true, AT_STAY + i, SET_NEVER), 0);
	for (uint32_t i = 0; i < GROUP; i++)
		assert_int_equal(change(a, true, (odd ? AT_ODD : AT_EVEN) + i, SET_NEVER), 0);
	end_transaction(a, commit);
}

static void fight(const struct kind *kind)
{
	struct world a = {.kind = kind, .now = 1000};
	struct set_desc d = {.n_fields = (uint8_t)kind->n_fields,
			     .field_len = {kind->field_len[0], kind->field_len[1]},
			     .interval = kind->field_len[0] > 2,
			     .auto_merge = kind->auto_merge,
			     .data_len = kind->map ? 4 : 0,
			     .timeout = kind->timeout,
			     .timeout_ns = kind->timeout ? 500 : 0,
			     .wait_ns = UINT64_MAX};
	pthread_t t[READERS];
	bool odd = true;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &a.rcu), 0);
	d.rcu = a.rcu;
	assert_int_equal(set_new(&d, &a.s), 0);
	for (uint32_t i = 0; i < STAY; i++)
		assert_int_equal(change(&a, true, AT_STAY + i, SET_NEVER), 0);
	for (uint32_t i = 0; i < GROUP; i++)
		assert_int_equal(change(&a, true, AT_ODD + i, SET_NEVER), 0);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, &a), 0);
	uint64_t end = clock_now(NULL) + (uint64_t)(seconds * SECOND / 6);
	for (unsigned round = 0; clock_now(NULL) < end || round < 3; round++) {
		for (uint32_t i = 0; i < CHURN; i++)
			change(&a, true, AT_CHURN + i * 7, i % 2 ? 100 + i % 50 : SET_NEVER);
		for (unsigned i = 0; i < 10; i++) {
			odd = !odd;
			swap_groups(&a, odd, true);
			swap_groups(&a, !odd, false);
		}
		__atomic_fetch_add(&a.now, 200, __ATOMIC_RELAXED);
		while (set_gc(a.s, a.now, 100))
			;
		for (uint32_t i = 0; i < CHURN; i++)
			change(&a, false, AT_CHURN + i * 7, 0);
		refill(&a, odd, round % 2);
	}
	__atomic_store_n(&a.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(a.lost, 0);
	assert_int_equal(a.mixed, 0);
	assert_int_equal(a.wrong, 0);
	assert_true(a.bursts > 0);
	set_free(a.s);
	rcu_free(a.rcu);
}

static void addresses(void **state)
{
	fight(&(struct kind){.n_fields = 1, .field_len = {4}});
}

static void merged(void **state)
{
	fight(&(struct kind){.n_fields = 1, .field_len = {4}, .auto_merge = true});
	fight(&(struct kind){.n_fields = 1, .field_len = {4}, .auto_merge = true, .timeout = true});
}

static void map(void **state)
{
	fight(&(struct kind){.n_fields = 1, .field_len = {4}, .map = true});
}

static void long_keys(void **state)
{
	fight(&(struct kind){.n_fields = 1, .field_len = {16}, .timeout = true});
}

static void boxes(void **state)
{
	fight(&(struct kind){.n_fields = 2, .field_len = {4, 2}});
	fight(&(struct kind){.n_fields = 2, .field_len = {4, 2}, .map = true, .timeout = true});
}

static void ports(void **state)
{
	fight(&(struct kind){.n_fields = 1, .field_len = {2}});
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses), cmocka_unit_test(merged), cmocka_unit_test(map),
		cmocka_unit_test(long_keys), cmocka_unit_test(boxes),  cmocka_unit_test(ports),
	};
	if (argc > 1)
		seconds = atof(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
