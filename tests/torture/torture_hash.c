/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_hash: readers of a set of exact keys against everything that changes it.
 *
 *	torture_hash [SECONDS]	(1 if not given)
 *
 * Readers look bursts up all the time. Keys of STAY are there throughout: each must match, with its
 * own data in a map. Of the groups ODD and EVEN, which transactions swap as a whole, a burst must
 * see the one or the other, never a mixture. Meanwhile the control thread grows and shrinks the
 * set, flushes and fills it again in a transaction, rolls back, lets elements expire, while workers
 * add and delete keys of their own from the packet path, in open transactions too. What a worker
 * has put in (BAN) or taken out stays so, whatever becomes of the transactions meanwhile. Keys are
 *of one and two bytes too, elements have states and comments, and the hash goes wrong while all
 *that goes on: a table whose places are weak under its first secret gets another one.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "rcu/rcu.h"
#include "set/hash_table_internal.h"
#include "set/set_internal.h"
#include "weak_hash.h"

enum {
	READERS = 2,
	UPDATERS = 2,
	STAY = 1000,
	GROUP = 32,
	CHURN = 6000,
	SECOND = 1000000000,
	/* Where the keys of each kind begin. */
	AT_STAY = 0x10000000,
	AT_ODD = 0x20000000,
	AT_EVEN = 0x30000000,
	AT_CHURN = 0x40000000,
	AT_UPDATER = 0x50000000,
	AT_BAN = 0x60000000,
	AT_BOTH = 0x70000000, /* changed by packets and by transactions */
	BOTH = 64,
};

static double seconds = 1;

struct world {
	struct set *s;
	struct rcu *rcu;
	unsigned len; /* of a key */
	bool map, stop;
	bool states;			  /* and comments */
	bool weak;			  /* its first secret is, see weak_hash.h */
	uint32_t stay, group, churn, own; /* keys of each sort; own: of an updater */
	bool ready;			  /* packets take what set_provide() has made */
	uint64_t now;
	uint32_t updaters;
	uint64_t lost, mixed, wrong, bursts;
	int64_t alive; /* states */
};

static uint64_t clock_now(void *ctx)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Keys of one or two bytes: all sorts one after the other. */
static uint32_t narrow(const struct world *a, uint32_t n)
{
	uint32_t sort = (n >> 28) - 1, i = n & 0xfffff, who = n >> 26 & 1 ? UPDATERS : n >> 20 & 15;
	const uint32_t first[] = {0, a->stay, a->stay + a->group, a->stay + 2 * a->group,
				  a->stay + 2 * a->group + a->churn + who * a->own};

	return first[sort] + i;
}

static void key_of(const struct world *a, uint32_t n, uint8_t *key)
{
	if (a->len <= 2)
		n = narrow(a, n);
	for (unsigned i = 0; i < a->len; i++)
		key[i] = (uint8_t)(n >> 8 * (i & 3)) ^ (uint8_t)(i / 4 * 37);
}

static int change(struct world *a, bool add, uint32_t n, uint64_t timeout)
{
	uint8_t key[SET_KEY_MAX];
	struct set_item item = {.lo = key, .data = a->map ? &n : NULL, .timeout_ns = timeout};

	if (a->states && n % 3 == 0)
		item.comment = "a third";
	key_of(a, n, key);
	if (a->ready && set_wants(a->s)) {
		int err = set_provide(a->s);
		assert_true(!err || err == -ENOBUFS);
	}
	return add ? set_add(a->s, &item, 0, a->now, NULL) : set_delete(a->s, &item, a->now);
}

/* --- states --------------------------------------------------------------------------------- */

enum { ALIVE = 0x11223344, DEAD = 0x55667788 };

struct state {
	struct world *a;
	uint64_t count;
	uint32_t mark;
};

static size_t state_size(const void *template)
{
	return sizeof(struct state);
}

static int state_init(void *ext, const void *template, uint64_t now)
{
	struct world *a = (struct world *)template;

	*(struct state *)ext = (struct state){a, 0, ALIVE};
	__atomic_fetch_add(&a->alive, 1, __ATOMIC_RELAXED);
	return 0;
}

static void state_fini(void *ext)
{
	struct state *x = ext;

	x->mark = DEAD;
	__atomic_fetch_sub(&x->a->alive, 1, __ATOMIC_RELAXED);
}

/* As a counter does; false if it is none of a living element. */
static bool state_count(struct state *x)
{
	if (!x || __atomic_load_n(&x->mark, __ATOMIC_RELAXED) != ALIVE)
		return false;
	__atomic_fetch_add(&x->count, 1, __ATOMIC_RELAXED);
	return true;
}

/* An alarm by hand: with readers, packets and perhaps a transaction in the midst of it. */
static void reseed(const struct world *a)
{
	struct hash_table *t = a->s->store.table;

	if (a->weak)
		assert_int_equal(hash_table_rebuild(t, t->root), 0);
}

/* --- the fight ------------------------------------------------------------------------------ */

static uint64_t burst(struct world *a, uint32_t first, uint32_t second)
{
	uint8_t keys[64][SET_KEY_MAX];
	uint64_t now[64];
	struct set_elem *hit[64];
	uint32_t n[64], data;

	for (uint32_t i = 0; i < 64; i++) {
		n[i] = i < 32 ? first + i : second + i - 32;
		key_of(a, n[i], keys[i]);
		now[i] = __atomic_load_n(&a->now, __ATOMIC_RELAXED);
	}
	uint64_t found = set_lookup(a->s, keys, SET_KEY_MAX, ~0ULL, now, hit);
	for (uint32_t i = 0; a->map && i < 64; i++)
		if (found >> i & 1) {
			memcpy(&data, set_elem_data(a->s, hit[i]), sizeof(data));
			if (data != n[i])
				__atomic_fetch_add(&a->wrong, 1, __ATOMIC_RELAXED);
		}
	for (uint32_t i = 0; a->states && i < 64; i++)
		if (found >> i & 1 && !state_count(set_elem_ext(a->s, hit[i])))
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
		uint32_t at = AT_STAY + (uint32_t)(n * 61 % (a->stay - 64));
		if (burst(a, at, at + 32) != ~0ULL)
			__atomic_fetch_add(&a->lost, 1, __ATOMIC_RELAXED);
		uint32_t part = (uint32_t)(n * 37 % (a->group - 31));
		uint64_t found = burst(a, AT_ODD + part, AT_EVEN + a->group - 32 - part);
		if (found != 0xffffffffULL && found != 0xffffffffULL << 32)
			__atomic_fetch_add(&a->mixed, 1, __ATOMIC_RELAXED);
		rcu_quiescent(w);
		n++;
	}
	rcu_unregister(w);
	__atomic_fetch_add(&a->bursts, n, __ATOMIC_RELAXED);
	return NULL;
}

static void *updater(void *arg)
{
	struct world *a = arg;
	uint32_t base = AT_UPDATER + (__atomic_fetch_add(&a->updaters, 1, __ATOMIC_RELAXED) << 20);
	struct rcu_worker *w;
	struct set_elem *e;
	uint8_t key[SET_KEY_MAX];

	if (rcu_register(a->rcu, "updater", &w))
		abort();
	for (uint32_t i = 0; !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE); i = (i + 1) % a->own) {
		uint32_t n = i % 3 ? base + i : AT_UPDATER + (1U << 26) + i; /* some are of both */
		struct set_item item = {.lo = key, .data = a->map ? &n : NULL};
		uint64_t now = __atomic_load_n(&a->now, __ATOMIC_RELAXED);
		key_of(a, n, key);
		if (i % 5 < 3)
			set_update(a->s, SET_UPDATE_REFRESH, &item, now, &e);
		else
			set_remove(a->s, key, now);
		rcu_quiescent(w);
	}
	rcu_unregister(w);
	return NULL;
}

static void end_transaction(struct set *s, bool commit)
{
	if (commit)
		assert_int_equal(set_commit(s, UINT64_MAX), 0);
	else
		set_rollback(s);
}

static void swap_groups(struct world *a, bool odd, bool commit)
{
	assert_int_equal(set_begin(a->s), 0);
	for (uint32_t i = 0; i < a->group; i++) {
		if (i == a->group / 2)
			reseed(a);
		assert_int_equal(change(a, true, (odd ? AT_ODD : AT_EVEN) + i, SET_NEVER), 0);
		assert_int_equal(change(a, false, (odd ? AT_EVEN : AT_ODD) + i, 0), 0);
	}
	end_transaction(a->s, commit);
}

static void refill(struct world *a, bool odd, bool commit)
{
	assert_int_equal(set_begin(a->s), 0);
	assert_int_equal(set_flush(a->s, a->now), 0);
	for (uint32_t i = 0; i < a->stay; i++)
		assert_int_equal(change(a, true, AT_STAY + i, SET_NEVER), 0);
	for (uint32_t i = 0; i < a->group; i++)
		assert_int_equal(change(a, true, (odd ? AT_ODD : AT_EVEN) + i, SET_NEVER), 0);
	reseed(a);
	/* As many that are wholly others: segments are built anew, and again when it ends. */
	for (uint32_t i = 0; i < a->churn && commit; i++)
		change(a, true, AT_CHURN + i, i % 2 ? 100 + i % 50 : SET_NEVER);
	end_transaction(a->s, commit);
}

static void fight(struct world a, double share)
{
	struct set_desc d = {.n_fields = 1,
			     .field_len = {(uint8_t)a.len},
			     .data_len = a.map ? 4 : 0,
			     .timeout = true,
			     .timeout_ns = 500,
			     .dynamic = true,
			     .wait_ns = UINT64_MAX};
	pthread_t t[READERS + UPDATERS];
	bool odd = true;

	a.now = 1000;
	a.stay = a.len == 1 ? 100 : STAY;
	a.group = a.group ? a.group : GROUP;
	a.churn = a.len == 1 ? 40 : CHURN;
	a.own = a.len == 1 ? 16 : 3000;
	if (a.states) {
		d.ext_size = state_size;
		d.ext_init = state_init;
		d.ext_fini = state_fini;
		d.ext_ctx = &a;
	}
	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &a.rcu), 0);
	d.rcu = a.rcu;
	assert_int_equal(set_new(&d, &a.s), 0);
	if (a.weak)
		weak_hash_give(a.s->store.table);
	for (uint32_t i = 0; i < a.stay; i++)
		assert_int_equal(change(&a, true, AT_STAY + i, SET_NEVER), 0);
	for (uint32_t i = 0; i < a.group; i++)
		assert_int_equal(change(&a, true, AT_ODD + i, SET_NEVER), 0);
	for (unsigned i = 0; i < READERS + UPDATERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, i < READERS ? reader : updater, &a),
				 0);
	uint64_t end = clock_now(NULL) + (uint64_t)(seconds * SECOND * share);
	for (unsigned round = 0; clock_now(NULL) < end || round < 3; round++) {
		for (uint32_t i = 0; i < a.churn; i++)
			change(&a, true, AT_CHURN + i, i % 2 ? 100 + i % 50 : SET_NEVER);
		for (unsigned i = 0; i < 10; i++) {
			odd = !odd;
			swap_groups(&a, odd, true);
			swap_groups(&a, !odd, false);
		}
		__atomic_fetch_add(&a.now, 200, __ATOMIC_RELAXED);
		while (set_gc(a.s, a.now, 100))
			;
		for (uint32_t i = 0; i < a.churn; i++)
			change(&a, false, AT_CHURN + i, 0);
		refill(&a, odd, round % 2);
	}
	__atomic_store_n(&a.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS + UPDATERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(a.lost, 0);
	assert_int_equal(a.mixed, 0);
	assert_int_equal(a.wrong, 0);
	assert_true(a.bursts > 0);
	if (a.weak)
		assert_false(weak_hash_is(a.s->store.table));
	set_free(a.s);
	rcu_free(a.rcu);
	assert_int_equal(a.alive, 0);
}

static void short_keys(void **state)
{
	fight((struct world){.len = 4, .map = false}, 0.25);
}

static void short_keys_map(void **state)
{
	fight((struct world){.len = 4, .map = true}, 0.25);
}

static void long_keys(void **state)
{
	fight((struct world){.len = 16, .map = false}, 0.25);
}

static void long_keys_map(void **state)
{
	fight((struct world){.len = 36, .map = true}, 0.25);
}

static void shortest_keys(void **state)
{
	fight((struct world){.len = 1}, 0.1);
	fight((struct world){.len = 1, .map = true, .states = true}, 0.1);
	fight((struct world){.len = 2}, 0.1);
	fight((struct world){.len = 2, .map = true}, 0.1);
}

static void with_records(void **state)
{
	fight((struct world){.len = 4, .states = true}, 0.25);
	fight((struct world){.len = 16, .map = true, .states = true}, 0.25);
}

/* Readers see a transaction of a thousand elements whole. */
static void large_groups(void **state)
{
	fight((struct world){.len = 4, .group = 1000}, 0.25);
	fight((struct world){.len = 16, .group = 1000, .states = true}, 0.25);
}

static void alarms(void **state)
{
	for (unsigned i = 0; i < 4; i++)
		fight((struct world){.len = i % 2 ? 16 : 4,
				     .map = i == 3,
				     .states = i == 2,
				     .group = i == 1 ? 500 : 0,
				     .weak = true},
		      0.1);
}

/* --- bans ----------------------------------------------------------------------------------- */

struct banner {
	struct world *a;
	uint32_t first, n, lost, kept;
};

static bool there(struct world *a, uint32_t n)
{
	uint8_t key[SET_KEY_MAX];
	uint64_t now = __atomic_load_n(&a->now, __ATOMIC_RELAXED);

	key_of(a, n, key);
	return set_lookup(a->s, key, SET_KEY_MAX, 1, &now, NULL);
}

/* What a packet wanted was not done; it tries again, or ends. */
static bool is_unready(const struct world *a, int r)
{
	return (r == -ENOBUFS || r == -EBUSY) && !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE);
}

/* Adds keys; takes every third one out when four more have come. */
static void *banner(void *arg)
{
	struct banner *b = arg;
	struct world *a = b->a;
	struct rcu_worker *w;
	struct set_elem *e;
	uint8_t key[SET_KEY_MAX];

	if (rcu_register(a->rcu, "banner", &w))
		abort();
	for (uint32_t i = 0; i < 1U << 20 && !__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE); i++) {
		uint32_t n = b->first + i, both = AT_BOTH + i % BOTH;
		struct set_item item = {
			.lo = key, .data = a->map ? &n : NULL, .timeout_ns = SET_NEVER};
		key_of(a, n, key);
		int r = set_update(a->s, SET_UPDATE_ADD, &item, 0, &e);
		for (; is_unready(a, r); r = set_update(a->s, SET_UPDATE_ADD, &item, 0, &e))
			rcu_quiescent(w);
		if (r == -ENOBUFS || r == -EBUSY || (a->ready && r < 0 && r != -ENFILE))
			break;
		if (r != 1 || !there(a, n))
			b->lost++;
		key_of(a, n - 4, key);
		bool goes = i >= 4 && (i - 4) % 3 == 0;
		r = goes ? set_remove(a->s, key, 0) : 0;
		for (; is_unready(a, r); r = set_remove(a->s, key, 0))
			rcu_quiescent(w);
		if (r == -ENOBUFS || r == -EBUSY)
			break;
		if (goes && (r || there(a, n - 4)))
			b->kept++;
		n = both;
		key_of(a, n, key);
		if (i % 2)
			set_update(a->s, SET_UPDATE_REFRESH, &item, 0, &e);
		else
			set_remove(a->s, key, 0);
		b->n = i + 1;
		rcu_quiescent(w);
	}
	rcu_unregister(w);
	return NULL;
}

static void count_one(struct world *a, uint64_t *n)
{
	struct set_cursor *c;
	struct set_view v;

	assert_int_equal(set_cursor_open(a->s, SET_CURSOR_USER, NULL, a->now, &c), 0);
	while (set_cursor_next(c, &v))
		++*n;
	set_cursor_close(c);
}

static void bans(unsigned len, bool map, bool ready)
{
	struct world a = {.len = len, .map = map, .ready = ready, .now = 1000};
	struct set_desc d = {.n_fields = 1,
			     .field_len = {(uint8_t)len},
			     .data_len = map ? 4 : 0,
			     .timeout = true,
			     .timeout_ns = 500,
			     .dynamic = true};
	struct banner b[UPDATERS];
	pthread_t t[UPDATERS];
	uint64_t n = 0;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &a.rcu), 0);
	d.rcu = a.rcu;
	assert_int_equal(set_new(&d, &a.s), 0);
	if (ready)
		assert_int_equal(set_expect_updates(a.s, NULL, SET_NEVER, 256), 0);
	for (unsigned i = 0; i < UPDATERS; i++) {
		b[i] = (struct banner){&a, AT_BAN + (i << 24), 0, 0, 0};
		assert_int_equal(pthread_create(&t[i], NULL, banner, &b[i]), 0);
	}
	uint64_t end = clock_now(NULL) + (uint64_t)(seconds * SECOND / 4);
	for (unsigned round = 0; clock_now(NULL) < end || round < 10; round++) {
		for (uint32_t i = 0; i < 100; i++)
			change(&a, true, AT_CHURN + i, 100);
		assert_int_equal(set_begin(a.s), 0);
		for (uint32_t i = 0; i < 100; i++)
			change(&a, i % 2, AT_CHURN + i, SET_NEVER);
		for (uint32_t i = 0; i < BOTH; i++)
			change(&a, (i + round) % 3, AT_BOTH + i, SET_NEVER);
		if (round % 4 == 2) /* which a rollback takes back, and no ban with it */
			assert_int_equal(set_flush(a.s, a.now), 0);
		for (uint32_t i = 0; round % 4 == 2 && i < BOTH; i++)
			change(&a, true, AT_BOTH + i, SET_NEVER);
		if (round % 2)
			assert_int_equal(set_commit(a.s, UINT64_MAX), 0);
		else
			set_rollback(a.s);
		__atomic_fetch_add(&a.now, 100, __ATOMIC_RELAXED);
		while (set_gc(a.s, a.now, 100))
			;
	}
	__atomic_store_n(&a.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < UPDATERS; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(b[i].lost, 0);
		assert_int_equal(b[i].kept, 0);
		for (uint32_t k = 0; k < b[i].n; k++)
			assert_int_equal(there(&a, b[i].first + k), k % 3 || k + 4 >= b[i].n);
	}
	count_one(&a, &n);
	assert_int_equal(set_count(a.s, a.now), n);
	/* Both views are one again: nothing changes when the other is looked at. */
	assert_int_equal(set_begin(a.s), 0);
	assert_int_equal(set_count(a.s, a.now), n);
	n = 0;
	count_one(&a, &n);
	assert_int_equal(set_count(a.s, a.now), n);
	assert_int_equal(set_commit(a.s, UINT64_MAX), 0);
	set_free(a.s);
	rcu_free(a.rcu);
}

static void bans_short(void **state)
{
	bans(4, false, false);
}

static void bans_map(void **state)
{
	bans(4, true, false);
}

static void bans_long(void **state)
{
	bans(36, true, false);
}

static void bans_ready(void **state)
{
	bans(4, false, true);
	bans(36, true, true);
}

/* --- size ----------------------------------------------------------------------------------- */

enum { SIZE = 2000 };

struct adder {
	struct set *s;
	struct rcu *rcu;
	uint32_t first, made, full;
};

static void *adder(void *arg)
{
	struct adder *a = arg;
	struct rcu_worker *w;
	struct set_elem *e;

	if (rcu_register(a->rcu, "adder", &w))
		abort();
	for (uint32_t i = 0; i < 2 * SIZE; i++) {
		uint32_t n = a->first + i;
		int r = set_update(a->s, SET_UPDATE_ADD, &(struct set_item){.lo = &n}, 0, &e);
		a->made += r == 1;
		a->full += r == -ENFILE;
		if (r == 1 && i % 3 == 0 && !set_remove(a->s, &n, 0))
			a->made--;
		rcu_quiescent(w);
	}
	rcu_unregister(w);
	return NULL;
}

/* Several workers fill a set at once: never more than its size, and then not one less. */
static void exact_size(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .dynamic = true, .size = SIZE};
	struct adder a[3];
	struct rcu *rcu;
	pthread_t t[3];
	uint32_t made = 0;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &rcu), 0);
	d.rcu = rcu;
	assert_int_equal(set_new(&d, &a[0].s), 0);
	for (uint32_t i = 0; i < 3; i++) {
		a[i] = (struct adder){a[0].s, rcu, i << 20, 0, 0};
		assert_int_equal(pthread_create(&t[i], NULL, adder, &a[i]), 0);
	}
	for (uint64_t n = 0; n < SIZE;) {
		n = set_count(a[0].s, 0);
		assert_in_range(n, 0, SIZE);
	}
	for (uint32_t i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		made += a[i].made;
		assert_true(a[i].full > 0);
	}
	assert_int_equal(made, SIZE);
	assert_int_equal(set_count(a[0].s, 0), SIZE);
	set_free(a[0].s);
	rcu_free(rcu);
}

/* --- a worker that stalls ------------------------------------------------------------------- */

/* A commit whose deadline passes is visible all the same, and ended by another call. */
static void commit_deadline(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {4}};
	uint64_t now = 0;
	struct rcu_worker *w;
	struct rcu *rcu;
	struct set *s;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &rcu), 0);
	assert_int_equal(rcu_register(rcu, "stalled", &w), 0);
	d.rcu = rcu;
	assert_int_equal(set_new(&d, &s), 0);
	uint32_t a = 1, b = 2;
	struct set_item old = {.lo = &a}, new = {.lo = &b};
	assert_int_equal(set_add(s, &old, 0, 0, NULL), 0);
	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_delete(s, &old, 0), 0);
	assert_int_equal(set_add(s, &new, 0, 0, NULL), 0);
	assert_int_equal(set_lookup(s, &b, 4, 1, &now, NULL), 0);
	assert_int_equal(set_commit(s, clock_now(NULL) + SECOND / 100), -EAGAIN);
	assert_int_equal(set_lookup(s, &b, 4, 1, &now, NULL), 1);
	assert_int_equal(set_lookup(s, &a, 4, 1, &now, NULL), 0);
	struct set_elem *e;
	uint32_t c = 3;
	struct set_item packet = {.lo = &c};
	assert_int_equal(set_update(s, SET_UPDATE_ADD, &packet, 0, &e), 1);
	assert_int_equal(set_lookup(s, &c, 4, 1, &now, NULL), 1);
	assert_int_equal(set_add(s, &old, 0, 0, NULL), -EAGAIN);
	assert_int_equal(set_delete(s, &new, 0), -EAGAIN);
	assert_int_equal(set_flush(s, 0), -EAGAIN);
	assert_int_equal(set_begin(s), -EAGAIN);
	set_rollback(s);
	assert_int_equal(set_lookup(s, &b, 4, 1, &now, NULL), 1);
	rcu_offline(w);
	assert_int_equal(set_commit(s, UINT64_MAX), 0);
	assert_int_equal(set_add(s, &old, 0, 0, NULL), 0);
	assert_int_equal(set_lookup(s, &c, 4, 1, &now, NULL), 1);
	assert_int_equal(set_count(s, 0), 3);
	rcu_unregister(w);
	set_free(s);
	rcu_free(rcu);
}

/* A set with the first of n keys, in a transaction that begins; items for all of them. */
static struct set *in_transaction(const struct set_desc *d, const uint32_t *keys, unsigned n,
				  struct set_item *item)
{
	struct set *s;

	for (unsigned i = 0; i < n; i++)
		item[i] = (struct set_item){.lo = &keys[i]};
	assert_int_equal(set_new(d, &s), 0);
	assert_int_equal(set_add(s, &item[0], 0, 0, NULL), 0);
	assert_int_equal(set_begin(s), 0);
	return s;
}

/* What packets do while a transaction is open that changes the same keys: step by step. */
static void beside_transaction(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .dynamic = true, .size = 4};
	uint32_t k[5] = {10, 11, 12, 13, 14};
	uint64_t now = 0;
	struct set_elem *e;
	struct rcu *rcu;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &rcu), 0);
	d.rcu = rcu;
	for (unsigned commit = 0; commit < 2; commit++) {
		struct set_item item[5];
		struct set *s = in_transaction(&d, k, 5, item);

		assert_int_equal(set_delete(s, &item[0], 0), 0);
		assert_int_equal(set_add(s, &item[1], 0, 0, NULL), 0);
		assert_int_equal(set_add(s, &item[2], 0, 0, NULL), 0);
		/* It is there still, and is taken out. */
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[0], 0, &e), 0);
		assert_int_equal(set_remove(s, &k[0], 0), 0);
		/* Packets do not see it yet: one adds it, too, and it shows. */
		assert_int_equal(set_remove(s, &k[1], 0), -ENOENT);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[1], 0, &e), 1);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[1], 0, &e), 0);
		assert_int_equal(set_lookup(s, k, 4, 31, (uint64_t[5]){0}, NULL), 2);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[3], 0, &e), 1);
		assert_int_equal(set_count(s, 0), 3);
		end_transaction(s, commit);
		assert_int_equal(set_lookup(s, k, 4, 31, (uint64_t[5]){0}, NULL), commit ? 14 : 10);
		assert_int_equal(set_count(s, 0), commit ? 3 : 2);
		assert_int_equal(set_remove(s, &k[1], 0), 0);
		assert_int_equal(set_lookup(s, &k[1], 4, 1, &now, NULL), 0);
		set_free(s);
	}
	rcu_free(rcu);
}

/* A packet's refresh stays, whatever lifetimes a transaction gave and took back around it. */
static void refresh_beside(void **state)
{
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .dynamic = true,
			     .timeout = true,
			     .timeout_ns = 100};
	uint32_t key = 7;
	struct rcu *rcu;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &rcu), 0);
	d.rcu = rcu;
	for (unsigned when = 0; when < 4; when++) {
		static const uint64_t end[] = {100, 250, 250, 260};
		struct set_item item, longer = {.lo = &key, .timeout_ns = 200};
		struct set_view v;
		struct set_elem *e;
		struct set *s = in_transaction(&d, &key, 1, &item);

		assert_int_equal(set_add(s, &longer, 0, 0, NULL), 0);
		if (when == 1 || when == 2)
			assert_int_equal(set_update(s, SET_UPDATE_REFRESH, &item, 150, &e), 0);
		longer.timeout_ns = 300;
		if (when >= 2)
			assert_int_equal(set_add(s, &longer, 0, 160, NULL), 0);
		if (when == 3)
			assert_int_equal(set_update(s, SET_UPDATE_REFRESH, &item, 160, &e), 0);
		set_rollback(s);
		assert_int_equal(set_get(s, &key, NULL, end[when] - 1, &v), 0);
		assert_int_equal(v.timeout_ns, 100);
		assert_int_equal(v.expires_in_ns, 1);
		assert_int_equal(set_get(s, &key, NULL, end[when], &v), -ENOENT);
		set_free(s);
	}
	rcu_free(rcu);
}

/*
 * A flush takes what stands there, not what packets add after it; and of what it takes, what the
 * transaction adds again stays, whatever packets do with it meanwhile.
 */
static void flush_beside(void **state)
{
	enum { OLD, BEFORE, AFTER, NEW, AGAIN, GONE, COME_BACK, BOTH_WAYS, N };
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .dynamic = true};
	uint32_t k[N] = {10, 11, 12, 13, 14, 15, 16, 17};
	struct rcu *rcu;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = clock_now}, &rcu), 0);
	d.rcu = rcu;
	for (unsigned commit = 0; commit < 2; commit++) {
		struct set_item item[N];
		struct set_elem *e;
		struct set *s = in_transaction(&d, k, N, item);

		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[BEFORE], 0, &e), 1);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[AGAIN], 0, &e), 1);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[GONE], 0, &e), 1);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[COME_BACK], 0, &e), 1);
		assert_int_equal(set_flush(s, 0), 0);
		assert_int_equal(set_count(s, 0), 0);
		assert_int_equal(set_add(s, &item[NEW], 0, 0, NULL), 0);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[AFTER], 0, &e), 1);
		/* It is wanted again, and a packet takes it out: that shows until the commit. */
		assert_int_equal(set_add(s, &item[AGAIN], 0, 0, NULL), 0);
		assert_int_equal(set_remove(s, &k[AGAIN], 0), 0);
		assert_int_equal(set_add(s, &item[AGAIN], 0, 0, NULL), 0);
		/* Nobody wants it any more. */
		assert_int_equal(set_add(s, &item[GONE], 0, 0, NULL), 0);
		assert_int_equal(set_delete(s, &item[GONE], 0), 0);
		assert_int_equal(set_delete(s, &item[GONE], 0), -ENOENT);
		/* A packet takes out what was there, then adds it. */
		assert_int_equal(set_remove(s, &k[COME_BACK], 0), 0);
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[COME_BACK], 0, &e), 1);
		/* What a packet has added a packet takes out. */
		assert_int_equal(set_update(s, SET_UPDATE_ADD, &item[BOTH_WAYS], 0, &e), 1);
		assert_int_equal(set_remove(s, &k[BOTH_WAYS], 0), 0);
		assert_int_equal(set_count(s, 0), 4);
		assert_int_equal(set_lookup(s, k, 4, 0xff, (uint64_t[N]){0}, NULL), 0x67);
		end_transaction(s, commit);
		assert_int_equal(set_lookup(s, k, 4, 0xff, (uint64_t[N]){0}, NULL),
				 commit ? 0x5c : 0x67);
		assert_int_equal(set_count(s, 0), commit ? 4 : 5);
		set_free(s);
	}
	rcu_free(rcu);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_keys),	      cmocka_unit_test(short_keys_map),
		cmocka_unit_test(long_keys),	      cmocka_unit_test(long_keys_map),
		cmocka_unit_test(shortest_keys),      cmocka_unit_test(with_records),
		cmocka_unit_test(large_groups),	      cmocka_unit_test(alarms),
		cmocka_unit_test(bans_short),	      cmocka_unit_test(bans_map),
		cmocka_unit_test(bans_long),	      cmocka_unit_test(bans_ready),
		cmocka_unit_test(exact_size),	      cmocka_unit_test(commit_deadline),
		cmocka_unit_test(beside_transaction), cmocka_unit_test(refresh_beside),
		cmocka_unit_test(flush_beside),
	};
	if (argc > 1)
		seconds = atof(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
