/* SPDX-License-Identifier: Apache-2.0 */
/* Counter, quota, limit, last, connlimit and lists of them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/state.h"

#define S 1000000000ULL

static struct state *make(struct state_info info, uint64_t now)
{
	struct state *st = NULL;
	assert_int_equal(state_new(&info, now, &st), 0);
	return st;
}

/* One packet: does the rule go on? */
static bool one(struct state *st, uint32_t len, uint64_t now)
{
	return state_eval(st, 1, &len, &now);
}

static void counter(void **state)
{
	struct state *st = make((struct state_info){.kind = STATE_COUNTER, .counter = {3, 100}}, 0);
	uint32_t len[64] = {[0] = 10, [5] = 20, [63] = 30, [1] = 7777};
	uint64_t now[64] = {0}, mask = 1 | 1 << 5 | 1ULL << 63;
	struct state_info v;

	assert_int_equal(state_eval(st, mask, len, now), mask);
	state_read(st, 0, &v);
	assert_int_equal(v.counter.packets, 6);
	assert_int_equal(v.counter.bytes, 160);
	state_reset(st, 0, &v);
	assert_int_equal(v.counter.packets, 6);
	state_read(st, 0, &v);
	assert_int_equal(v.counter.packets + v.counter.bytes, 0);
	state_free(st);
	state_free(NULL);
}

static void quota(void **state)
{
	struct state_info v;
	struct state *until =
		make((struct state_info){.kind = STATE_QUOTA, .quota = {.bytes = 100}}, 0);
	struct state *over = make(
		(struct state_info){.kind = STATE_QUOTA, .quota = {.bytes = 100, .over = true}}, 0);

	/* Exactly the quota is not above it. */
	assert_true(one(until, 60, 0) && one(until, 40, 0));
	assert_false(one(until, 1, 0));
	assert_false(one(over, 60, 0) || one(over, 40, 0));
	assert_true(one(over, 1, 0));
	state_read(until, 0, &v);
	assert_int_equal(v.quota.used, 100); /* listed at most */
	state_reset(until, 0, &v);
	assert_true(one(until, 100, 0));
	assert_false(one(until, 0, 0) == one(until, 1, 0));

	struct state *used = make(
		(struct state_info){.kind = STATE_QUOTA, .quota = {.bytes = 100, .used = 99}}, 0);
	assert_true(one(used, 1, 0));
	assert_false(one(used, 1, 0));
	struct state *zero = make((struct state_info){.kind = STATE_QUOTA}, 0);
	assert_false(one(zero, 1, 0));
	state_free(until);
	state_free(over);
	state_free(used);
	state_free(zero);
}

static void limit_packets(void **state)
{
	/* 10/second burst 5: a packet costs 100 ms, the bucket holds 500 ms. */
	struct state_info info = {.kind = STATE_LIMIT, .limit = {.rate = 10, .unit_ns = S}};
	struct state *st = make(info, 7 * S);
	uint64_t t = 7 * S;
	struct state_info v;

	for (unsigned i = 0; i < 5; i++)
		assert_true(one(st, 1500, t));
	assert_false(one(st, 1500, t));
	assert_false(one(st, 1500, t + S / 10 - 1));
	assert_true(one(st, 1500, t + S / 10));
	assert_false(one(st, 1500, t)); /* time that goes back stands still */
	assert_true(one(st, 1500, t + 2 * S / 10));
	t += 100 * S;
	for (unsigned i = 0; i < 5; i++)
		assert_true(one(st, 1500, t));
	assert_false(one(st, 1500, t));
	state_read(st, t, &v);
	assert_int_equal(v.limit.rate, 10);
	assert_int_equal(v.limit.burst, STATE_LIMIT_BURST_DEFAULT);
	assert_false(v.limit.bytes);
	state_free(st);

	info.limit.over = true;
	info.limit.burst = 1;
	st = make(info, 0);
	assert_false(one(st, 1, 0));
	assert_true(one(st, 1, 0) && one(st, 1, 1));
	assert_false(one(st, 1, S));
	state_free(st);
}

static void limit_bytes(void **state)
{
	/* 1000 bytes/second burst 500: the bucket holds 1.5 s, a byte costs 1 ms. */
	struct state *st = make(
		(struct state_info){
			.kind = STATE_LIMIT,
			.limit = {.rate = 1000, .unit_ns = S, .burst = 500, .bytes = true}},
		0);
	assert_true(one(st, 1000, 0) && one(st, 500, 0));
	assert_false(one(st, 1, 0));
	assert_true(one(st, 1, S / 1000));
	assert_false(one(st, 1501, 100 * S)); /* more than the bucket: never */
	assert_true(one(st, 1500, 100 * S));
	state_free(st);
}

static void limit_errors(void **state)
{
	struct state *st = NULL;
	struct state_info info = {.kind = STATE_LIMIT, .limit = {.unit_ns = S}};

	assert_int_equal(state_new(&info, 0, &st), -EINVAL);
	info.limit.rate = 1;
	info.limit.unit_ns = 0;
	assert_int_equal(state_new(&info, 0, &st), -EINVAL);
	info.limit.unit_ns = 604800 * S;
	info.limit.burst = UINT32_MAX;
	assert_int_equal(state_new(&info, 0, &st), -EOVERFLOW);
	info.limit.bytes = true;
	assert_int_equal(state_new(&info, 0, &st), -EOVERFLOW);
	info.limit.rate = UINT64_MAX;
	assert_int_equal(state_new(&info, 0, &st), -EOVERFLOW);
	assert_null(st);
}

/* Against the definition, in floating point far from the edges: tokens never exceed, rate holds. */
static void limit_rate_holds(void **state)
{
	struct state *st =
		make((struct state_info){.kind = STATE_LIMIT,
					 .limit = {.rate = 100, .unit_ns = S, .burst = 20}},
		     0);
	unsigned passed = 0;
	for (uint64_t t = 0; t < 10 * S; t += S / 1000)
		passed += one(st, 64, t);
	assert_in_range(passed, 1019, 1020); /* the burst, then 100 a second for just under 10 s */
	state_free(st);
}

static void last(void **state)
{
	struct state *st = make((struct state_info){.kind = STATE_LAST}, 0);
	struct state_info v;

	state_read(st, 5, &v);
	assert_false(v.last.used);
	assert_true(one(st, 1, 10 * S));
	state_read(st, 13 * S, &v);
	assert_true(v.last.used);
	assert_int_equal(v.last.ago_ns, 3 * S);
	state_free(st);
	st = make((struct state_info){.kind = STATE_LAST, .last = {true, 4 * S}}, 20 * S);
	state_read(st, 21 * S, &v);
	assert_int_equal(v.last.ago_ns, 5 * S);
	state_free(st);
}

struct conns {
	struct state_conns memory;
	bool dead[1024];
};

static bool alive(void *ctx, uint64_t conn)
{
	return !((struct conns *)ctx)->dead[conn];
}

static int see(struct state *st, struct conns *c, uint64_t id)
{
	struct state_conn conn = {&c->memory, id, alive, c};

	assert_int_equal(state_conns_provide(&c->memory, 1), 0);
	return state_eval_conn(st, 100, 0, &conn);
}

static void connlimit(void **state)
{
	struct conns c = {0};
	struct state_info v;
	struct state *under =
		make((struct state_info){.kind = STATE_CONNLIMIT, .connlimit = {.count = 2}}, 0);
	struct state *over = make((struct state_info){.kind = STATE_CONNLIMIT,
						      .connlimit = {.count = 2, .over = true}},
				  0);

	assert_int_equal(see(under, &c, 1), 1);
	assert_int_equal(see(under, &c, 1), 1);
	assert_int_equal(see(under, &c, 2), 1);
	assert_int_equal(see(under, &c, 3), 0);
	state_read(under, 0, &v);
	assert_int_equal(v.connlimit.connections, 3);
	c.dead[1] = c.dead[2] = true;
	assert_int_equal(see(under, &c, 3), 1);
	state_read(under, 0, &v);
	assert_int_equal(v.connlimit.connections, 1);

	for (uint64_t i = 10; i < 12; i++)
		assert_int_equal(see(over, &c, i), 0);
	assert_int_equal(see(over, &c, 12), 1);
	/* Many that die at once go away within a few looks. */
	for (uint64_t i = 100; i < 1000; i++)
		see(over, &c, i);
	memset(c.dead, true, sizeof(c.dead));
	c.dead[1001] = false;
	for (unsigned i = 0; i < 200; i++)
		see(over, &c, 1001);
	state_read(over, 0, &v);
	assert_int_equal(v.connlimit.connections, 1);
	state_free(under);
	state_free(over);
	state_conns_provide(&c.memory, 0);
}

/* What the walk meets first stands in front. */
struct naive_conns {
	uint64_t id[4096];
	unsigned n;
};

static void naive_see(struct naive_conns *c, const struct conns *world, uint64_t id)
{
	unsigned looks = MIN(c->n, 256U);

	for (unsigned dead = 0; looks && dead < 8; looks--) {
		uint64_t first = c->id[0];

		memmove(c->id, c->id + 1, --c->n * sizeof(c->id[0]));
		if (world->dead[first % 1024])
			dead++;
		else
			c->id[c->n++] = first;
	}
	for (unsigned i = 0; i < c->n; i++)
		if (c->id[i] == id)
			return;
	c->id[c->n++] = id;
}

static bool alive_somewhere(void *ctx, uint64_t conn)
{
	return !((struct conns *)ctx)->dead[conn % 1024];
}

/* Connections that come and go at random, two states that share memory, beside the plain list. */
static void connlimit_random(void **state)
{
	static struct naive_conns naive[2];
	struct conns c = {0};
	struct state_info info = {.kind = STATE_CONNLIMIT, .connlimit = {.count = 300}}, v;
	struct state *st[2] = {make(info, 0), make(info, 0)};
	uint64_t random = 77;

	memset(naive, 0, sizeof(naive));
	for (unsigned step = 0; step < 60000; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		unsigned k = random >> 40 & 1;
		/* Numbers that are close together, and that differ in their high bits alone. */
		uint64_t id = (random >> 42 & 1023) << (random >> 41 & 1 ? 54 : 0);
		struct state_conn conn = {&c.memory, id, alive_somewhere, &c};

		c.dead[random >> 20 & 1023] = step / 10000 % 2;
		assert_int_equal(state_conns_provide(&c.memory, 1), 0);
		naive_see(&naive[k], &c, id);
		assert_int_equal(state_eval_conn(st[k], 1, 0, &conn), naive[k].n <= 300);
		state_read(st[k], 0, &v);
		assert_int_equal(v.connlimit.connections, naive[k].n);
	}
	state_free(st[0]);
	state_free(st[1]);
	state_conns_provide(&c.memory, 0);
	assert_int_equal(c.memory.n, 0);
}

/* A packet asks for no memory: it takes what is ready, and gives back what it found dead. */
static void connlimit_ready(void **state)
{
	struct conns c = {0};
	struct state_info info = {.kind = STATE_CONNLIMIT, .connlimit = {.count = 5}}, v;
	struct state *st = make(info, 0);
	struct state_conn conn = {&c.memory, 0, alive, &c};

	assert_int_equal(state_conns_provide(&c.memory, 4), 0);
	assert_int_equal(c.memory.n, 4);
	for (; conn.conn < 4; conn.conn++)
		assert_int_equal(state_eval_conn(st, 1, 0, &conn), 1);
	assert_int_equal(c.memory.n, 0);
	assert_int_equal(state_eval_conn(st, 1, 0, &conn), -ENOBUFS);
	state_read(st, 0, &v);
	assert_int_equal(v.connlimit.connections, 4);
	conn.conn = 2; /* needs none */
	assert_int_equal(state_eval_conn(st, 1, 0, &conn), 1);
	c.dead[0] = c.dead[1] = c.dead[3] = true;
	conn.conn = 4;
	assert_int_equal(state_eval_conn(st, 1, 0, &conn), 1);
	assert_int_equal(c.memory.n, 2);
	state_read(st, 0, &v);
	assert_int_equal(v.connlimit.connections, 2);
	assert_int_equal(state_conns_provide(&c.memory, 1), 0);
	assert_int_equal(c.memory.n, 2); /* twice what is wanted may stay */
	assert_int_equal(state_conns_provide(&c.memory, 0), 0);
	assert_int_equal(c.memory.n, 0);
	state_free(st);
}

static void lists(void **state)
{
	struct state_info infos[] = {
		{.kind = STATE_LIMIT, .limit = {.rate = 1, .unit_ns = S, .burst = 2}},
		{.kind = STATE_COUNTER},
	};
	struct state_template *t = NULL, *other;
	uint32_t len[64] = {[0] = 10, [1] = 20, [2] = 40, [3] = 80};
	uint64_t now[64] = {0};
	struct state_info v;

	assert_int_equal(state_template_new(infos, 0, &t), -EINVAL);
	infos[0].limit.rate = 0;
	assert_int_equal(state_template_new(infos, 2, &t), -EINVAL);
	infos[0].limit.rate = 1;
	assert_int_equal(state_template_new(infos, 2, &t), 0);
	infos[1].counter.bytes = 5;
	assert_int_equal(state_template_new(infos, 2, &other), 0);
	assert_true(state_template_same(t, other));
	state_template_free(other);
	assert_int_equal(state_template_new(infos + 1, 1, &other), 0);
	assert_false(state_template_same(t, other));
	state_template_free(other);
	infos[0].limit.burst = 3;
	assert_int_equal(state_template_new(infos, 2, &other), 0);
	assert_false(state_template_same(t, other));
	state_template_free(other);

	struct state_list *l = malloc(state_list_ext_size(t)); /* a sanitizer sees its end */
	assert_int_equal(state_list_ext_init(l, t, 0), 0);
	state_template_free(t);
	assert_int_equal(state_list_len(l), 2);
	assert_int_equal(state_eval(state_list_at(l, 0), 0xf, len, now), 0x3);
	assert_int_equal(state_eval(state_list_at(l, 1), 0x3, len, now), 0x3);
	state_read(state_list_at(l, 1), 0, &v);
	assert_int_equal(v.counter.packets, 2);
	assert_int_equal(v.counter.bytes, 30);
	assert_int_equal(state_kind_of(state_list_at(l, 0)), STATE_LIMIT);
	state_list_ext_fini(l);
	free(l);
}

static bool never_dead(void *ctx, uint64_t conn)
{
	return true;
}

/* One that is carried answers as the one that it comes from; one with other parameters is new. */
static void carried(void **state)
{
	static const struct state_info infos[] = {
		{.kind = STATE_COUNTER, .counter = {3, 4}},
		{.kind = STATE_QUOTA, .quota = {.bytes = 100, .used = 7}},
		{.kind = STATE_LIMIT, .limit = {.rate = 2, .unit_ns = 1000, .burst = 3}},
		{.kind = STATE_LAST},
		{.kind = STATE_CONNLIMIT, .connlimit = {.count = 2}},
	};
	struct state_info other[ARRAY_SIZE(infos)], a, b;
	struct state_conns memory = {0};

	assert_int_equal(state_conns_provide(&memory, 1000), 0);
	_Static_assert(ARRAY_SIZE(infos) == STATE_KINDS_N, "all kinds");
	memcpy(other, infos, sizeof(infos));
	other[1].quota.bytes = 99;
	other[2].limit.rate = 3;
	other[4].connlimit.count = 3;
	for (size_t k = 0; k < ARRAY_SIZE(infos); k++) {
		struct state *was, *is, *fresh, *changed;

		assert_int_equal(state_new(&infos[k], 0, &was), 0);
		assert_int_equal(state_new(&infos[k], 50, &is), 0);
		assert_int_equal(state_new(&other[k], 50, &fresh), 0);
		assert_int_equal(state_new(&other[k], 50, &changed), 0);
		for (uint64_t i = 0; i < 3; i++)
			state_eval_conn(was, 40, 10 + i,
					&(struct state_conn){&memory, i, never_dead, NULL});
		assert_int_equal(state_carry(is, was), 0);
		assert_int_equal(state_carry(changed, was), 0);
		state_read(is, 60, &a);
		state_read(was, 60, &b);
		assert_memory_equal(&a, &b, sizeof(a));
		if (k == STATE_QUOTA || k == STATE_LIMIT || k == STATE_CONNLIMIT) {
			state_read(changed, 60, &a);
			state_read(fresh, 60, &b);
			assert_memory_equal(&a, &b, sizeof(a));
		}
		for (uint64_t i = 0; i < 40; i++) {
			struct state_conn conn = {&memory, i / 8, never_dead, NULL};
			assert_int_equal(state_eval_conn(is, 20, 60 + i * 30, &conn),
					 state_eval_conn(was, 20, 60 + i * 30, &conn));
			if (k == STATE_QUOTA || k == STATE_LIMIT || k == STATE_CONNLIMIT)
				assert_int_equal(state_eval_conn(changed, 20, 60 + i * 30, &conn),
						 state_eval_conn(fresh, 20, 60 + i * 30, &conn));
		}
		state_free(was);
		state_free(is);
		state_free(fresh);
		state_free(changed);
	}
	state_conns_provide(&memory, 0);
	struct state *limit, *quota;
	assert_int_equal(state_new(&infos[2], 0, &limit), 0);
	assert_int_equal(state_new(&infos[1], 0, &quota), 0);
	assert_int_equal(state_carry(quota, limit), 0); /* of another kind: nothing */
	state_read(quota, 0, &a);
	assert_int_equal(a.quota.used, 7);
	state_free(limit);
	state_free(quota);
}

/* --- several workers ------------------------------------------------------------------------ */

enum { WORKERS = 3, BURSTS = 4000, COUNTERS = 40, RECENT = 50 };

struct shared {
	struct state *counter[COUNTERS], *quota, *connlimit;
	uint64_t passed, conn;
};

/* Connections have their turn. */
static bool recent(void *ctx, uint64_t conn)
{
	return conn + RECENT > __atomic_load_n(&((struct shared *)ctx)->conn, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	struct shared *s = arg;
	struct state_batch b = {0};
	struct state_conns memory = {0};
	struct state_conn conn = {&memory, 0, recent, s};
	uint32_t len[64];
	uint64_t now[64] = {0};

	for (unsigned i = 0; i < 64; i++)
		len[i] = 100 + i;
	for (unsigned n = 0; n < BURSTS; n++) {
		conn.conn = __atomic_fetch_add(&s->conn, 1, __ATOMIC_RELAXED);
		assert_int_equal(state_conns_provide(&memory, 1), 0);
		assert_in_range(state_eval_conn(s->connlimit, 1, 0, &conn), 0, 1);
		assert_int_equal(state_eval_shared(s->counter[0], &b, ~0ULL, len, now), ~0ULL);
		state_eval_shared(s->counter[n % COUNTERS], &b, 1ULL << n % 64, len, now);
		uint64_t go = state_eval_shared(s->quota, &b, 3, len, now);
		__atomic_fetch_add(&s->passed, (uint64_t)__builtin_popcountll(go),
				   __ATOMIC_RELAXED);
		if (n % 16 == 15)
			state_batch_flush(&b);
	}
	state_batch_flush(&b);
	state_conns_provide(&memory, 0);
	return NULL;
}

/* Nothing that several workers count is lost, and a quota lets through what one would. */
static void shared_by_workers(void **state)
{
	enum { QUOTA = 100000 };
	struct shared s = {0};
	struct state_info v;
	pthread_t t[WORKERS];
	uint64_t packets = 0;

	for (unsigned k = 0; k < COUNTERS; k++)
		s.counter[k] = make((struct state_info){.kind = STATE_COUNTER}, 0);
	s.quota = make((struct state_info){.kind = STATE_QUOTA, .quota.bytes = QUOTA}, 0);
	s.connlimit = make((struct state_info){.kind = STATE_CONNLIMIT}, 0);
	for (unsigned k = 0; k < WORKERS; k++)
		assert_int_equal(pthread_create(&t[k], NULL, work, &s), 0);
	for (unsigned k = 0; k < WORKERS; k++)
		pthread_join(t[k], NULL);
	for (unsigned k = 0; k < COUNTERS; k++) {
		state_read(s.counter[k], 0, &v);
		packets += v.counter.packets;
		state_free(s.counter[k]);
	}
	assert_int_equal(packets, WORKERS * BURSTS * 65);
	/* 100 and 101 bytes by turns, in pairs that nobody comes between. */
	assert_int_equal(s.passed, QUOTA / 201 * 2 + (QUOTA % 201 >= 100));
	state_free(s.quota);
	/* Those that were recent at the last look, and what a worker was about to add. */
	state_read(s.connlimit, 0, &v);
	assert_in_range(v.connlimit.connections, RECENT - WORKERS, RECENT + WORKERS);
	state_free(s.connlimit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counter),
		cmocka_unit_test(quota),
		cmocka_unit_test(limit_packets),
		cmocka_unit_test(limit_bytes),
		cmocka_unit_test(limit_errors),
		cmocka_unit_test(limit_rate_holds),
		cmocka_unit_test(last),
		cmocka_unit_test(connlimit),
		cmocka_unit_test(connlimit_random),
		cmocka_unit_test(connlimit_ready),
		cmocka_unit_test(lists),
		cmocka_unit_test(carried),
		cmocka_unit_test(shared_by_workers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
