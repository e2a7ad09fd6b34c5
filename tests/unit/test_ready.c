/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that packets add, in memory that was made ready before: while a burst runs, every
 * allocation fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "rcu/rcu.h"
#include "set/set_internal.h"

#include "failing_memory.h"
#include "packet_build.h"

enum { BURST = 64, N = 30000 };

static const uint64_t second = 1000000000;

/* --- sets ----------------------------------------------------------------------------------- */

static size_t eight_bytes(const void *template)
{
	return 8;
}

static int eight_init(void *ext, const void *template, uint64_t now)
{
	memcpy(ext, &now, sizeof(now));
	return 0;
}

static uint64_t no_time(void *ctx)
{
	return 1;
}

struct kind {
	uint8_t len;
	bool data, timeout, state;
	uint64_t timeout_ns; /* that packets give */
};

static const struct kind kinds[] = {
	{4, false, false, false, 0}, {4, false, true, false, 5 * 1000000000ULL},
	{4, true, false, false, 0},  {4, false, true, true, 7 * 1000000000ULL},
	{16, false, false, true, 0}, {37, true, true, true, 5 * 1000000000ULL},
	{3, false, false, false, 0},
};

struct world {
	const struct kind *k;
	struct set *s;
	struct rcu *rcu;
	uint64_t now;
};

static void key_of(const struct world *w, uint32_t n, uint8_t *key)
{
	for (unsigned i = 0; i < w->k->len; i++)
		key[i] = (uint8_t)(n >> 8 * (i % 3)) ^ (uint8_t)(i / 3 * 91);
}

static struct world make(const struct kind *k, uint32_t size, bool rcu)
{
	struct world w = {.k = k, .now = second};
	struct set_desc d = {.n_fields = 1,
			     .field_len = {k->len},
			     .data_len = k->data ? 4 : 0,
			     .timeout = k->timeout,
			     .timeout_ns = k->timeout ? 5 * second : 0,
			     .dynamic = true,
			     .size = size,
			     .ext_size = k->state ? eight_bytes : NULL,
			     .ext_init = k->state ? eight_init : NULL};

	if (rcu)
		assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &w.rcu), 0);
	d.rcu = w.rcu;
	assert_int_equal(set_new(&d, &w.s), 0);
	assert_int_equal(set_expect_updates(w.s, k->state ? &w : NULL, k->timeout_ns, BURST), 0);
	return w;
}

static void unmake(struct world *w)
{
	set_free(w->s);
	rcu_free(w->rcu);
}

static int add(struct world *w, uint32_t n)
{
	uint8_t key[SET_KEY_MAX];
	struct set_elem *e;
	struct set_item item = {.lo = key,
				.data = w->k->data ? &n : NULL,
				.timeout_ns = w->k->timeout_ns,
				.template = w->k->state ? w : NULL};

	key_of(w, n, key);
	return set_update(w->s, SET_UPDATE_REFRESH, &item, w->now, &e);
}

static int take(struct world *w, uint32_t n)
{
	uint8_t key[SET_KEY_MAX];

	key_of(w, n, key);
	return set_remove(w->s, key, w->now);
}

static bool there(struct world *w, uint32_t n)
{
	uint8_t key[SET_KEY_MAX];

	key_of(w, n, key);
	return set_lookup(w->s, key, 0, 1, &w->now, NULL);
}

static void provide(struct world *w)
{
	memory_disarm();
	assert_false(memory.hit);
	if (set_wants(w->s))
		assert_int_equal(set_provide(w->s), 0);
	rcu_poll(w->rcu);
	memory_arm(0, true);
}

/* Every burst finds what it needs, from the first one to the last that fits. */
static void bursts(struct world *w, uint32_t size)
{
	memory_arm(0, true);
	for (uint32_t n = 0; n < N; n++) {
		int r = add(w, n), want = n < size ? 1 : -ENFILE;
		if (r != want)
			fail_msg("element %u: %d", n, r);
		if (n % 3 == 0 && add(w, n / 2) != 0 && n / 2 < size)
			fail_msg("element %u is not there at %u", n / 2, n);
		if (n % BURST == BURST - 1)
			provide(w);
	}
	assert_int_equal(set_count(w->s, w->now), MIN(size, (uint32_t)N));
	for (uint32_t n = 0; n < N; n++)
		if (there(w, n) != (n < size))
			fail_msg("element %u", n);
	/* Away they go, and come again. */
	for (uint32_t n = 0; n < size && n < N; n++) {
		if (take(w, n))
			fail_msg("element %u does not go", n);
		if (n % BURST == BURST - 1)
			provide(w);
	}
	assert_int_equal(set_count(w->s, w->now), 0);
	for (uint32_t n = 0; n < size && n < 1000; n++) {
		if (add(w, n) != 1)
			fail_msg("element %u does not come again", n);
		if (n % BURST == BURST - 1)
			provide(w);
	}
	/* What has expired makes room. */
	if (w->k->timeout && size < 1000) {
		provide(w);
		w->now += 100 * second;
		for (uint32_t n = 0; n < size; n++) {
			int r = add(w, N + n);
			if (r != 1)
				fail_msg("no room for element %u: %d", n, r);
			if (n % BURST == BURST - 1)
				provide(w);
		}
	}
	memory_disarm();
	assert_false(memory.hit);
	assert_int_equal(set_stats_of(w->s)->unready, 0);
}

static void no_memory(void **state)
{
	static const uint32_t sizes[] = {10, 500, UINT32_MAX};

	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++)
		for (unsigned z = 0; z < ARRAY_SIZE(sizes); z++)
			for (unsigned rcu = 0; rcu < 2; rcu++) {
				struct world w = make(&kinds[k], sizes[z], rcu);
				bursts(&w, sizes[z]);
				unmake(&w);
			}
}

/* What the control thread adds and takes does not eat up what is ready. */
static void control_too(void **state)
{
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct world w = make(&kinds[k], 0, k % 2);
		uint8_t key[SET_KEY_MAX];
		uint32_t n = 0, data = 0;
		struct set_item item = {.lo = key,
					.data = kinds[k].data ? &data : NULL,
					.template = kinds[k].state ? &w : NULL};
		for (unsigned round = 0; round < 200; round++) {
			for (unsigned i = 0; i < 150; i++) {
				key_of(&w, (1U << 23) + round * 150 + i, key);
				assert_int_equal(set_add(w.s, &item, 0, w.now, NULL), 0);
			}
			if (round % 20 == 10) {
				assert_int_equal(set_begin(w.s), 0);
				assert_int_equal(set_flush(w.s, w.now), 0);
				for (uint32_t i = 0; i < n; i++) {
					key_of(&w, i, key);
					set_add(w.s, &item, 0, w.now, NULL);
				}
				assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
			}
			provide(&w);
			for (unsigned i = 0; i < BURST; i++)
				assert_int_equal(add(&w, n++), 1);
			memory_disarm();
			assert_false(memory.hit);
		}
		assert_int_equal(set_stats_of(w.s)->unready, 0);
		for (uint32_t i = 0; i < n; i++)
			assert_true(there(&w, i));
		unmake(&w);
	}
}

/* Nobody makes anything ready: packets are told, counted, and what they were told holds. */
static void not_provided(void **state)
{
	struct world w = make(&kinds[3], 0, true);
	uint32_t n = 0, refused = 0;

	memory_arm(0, true);
	for (; n < 5000; n++)
		if (add(&w, n) == -ENOBUFS)
			refused++;
		else
			assert_true(there(&w, n));
	assert_true(refused >= 4000 && refused <= 5000 - BURST);
	assert_false(memory.hit);
	assert_int_equal(set_stats_of(w.s)->unready, refused);
	assert_true(set_wants(w.s));
	assert_int_equal(set_provide(w.s), -ENOMEM);
	assert_true(set_wants(w.s));
	memory_disarm();
	assert_int_equal(set_provide(w.s), 0);
	assert_false(set_wants(w.s));
	memory_arm(0, true);
	for (unsigned i = 0; i < BURST; i++)
		assert_int_equal(add(&w, n++), 1);
	memory_disarm();
	assert_false(memory.hit);
	unmake(&w);

	/* One thread makes it after all. */
	w = make(&kinds[3], 0, false);
	for (n = 0; n < 5000; n++)
		assert_int_equal(add(&w, n), 1);
	assert_true(set_stats_of(w.s)->unready > 0);
	unmake(&w);
}

/* A place that somebody keeps: packets do not wait. */
static void kept(void **state)
{
	struct world w = make(&kinds[0], 0, true);
	uint8_t key[SET_KEY_MAX];
	struct hash_pos pos;

	key_of(&w, 7, key);
	assert_int_equal(hash_table_lock_shown(w.s->published, key, true, &pos), 0);
	assert_int_equal(add(&w, 7), -EBUSY);
	assert_int_equal(take(&w, 7), -EBUSY);
	assert_int_equal(set_stats_of(w.s)->unready, 2);
	hash_table_unlock(&pos);
	assert_int_equal(add(&w, 7), 1);
	assert_int_equal(take(&w, 7), 0);
	unmake(&w);
}

/* A bitmap becomes a hash before packets add to it, with all that is in it. */
static void bitmaps(void **state)
{
	for (uint8_t len = 1; len <= 2; len++) {
		struct set_desc d = {.n_fields = 1,
				     .field_len = {len},
				     .size = 20000,
				     .ext_size = eight_bytes,
				     .ext_init = eight_init};
		struct kind k = {.len = len};
		struct world w = {.k = &k, .now = second};
		struct set_item all = {.catchall = true, .comment = "all"};
		struct set_view v;
		uint32_t most = len == 1 ? 256 : 20000;

		assert_int_equal(set_new(&d, &w.s), 0);
		assert_string_equal(set_kind_name(w.s), "bitmap");
		for (uint32_t i = 0; i < most / 2; i++) {
			uint8_t key[2] = {(uint8_t)i, (uint8_t)(i >> 8)};
			struct set_item item = {.lo = key, .comment = i % 3 ? NULL : "one"};
			assert_int_equal(set_add(w.s, &item, 0, 0, NULL), 0);
		}
		/* Within a transaction it waits for its end. */
		assert_int_equal(set_begin(w.s), 0);
		assert_int_equal(set_add(w.s, &all, 0, 0, NULL), 0);
		assert_int_equal(set_expect_updates(w.s, NULL, 0, BURST), 0);
		assert_false(set_wants(w.s));
		assert_string_equal(set_kind_name(w.s), "bitmap");
		assert_int_equal(set_commit(w.s, 0), 0);
		assert_true(set_wants(w.s));
		memory_arm(1, true);
		assert_int_equal(set_provide(w.s), -ENOMEM);
		memory_disarm();
		assert_int_equal(set_count(w.s, 0), most / 2 + 1);
		assert_int_equal(set_provide(w.s), 0);
		assert_false(set_wants(w.s));
		assert_string_equal(set_kind_name(w.s), "hash");

		assert_int_equal(set_count(w.s, 0), most / 2 + 1);
		assert_int_equal(set_get(w.s, NULL, NULL, 0, &v), 0);
		assert_string_equal(v.comment, "all");
		memory_arm(0, true);
		for (uint32_t i = 0; i < most; i++) {
			if (i == most / 2)
				provide(&w);
			assert_int_equal(add(&w, i), i >= most / 2);
			if (i % BURST == BURST - 1)
				provide(&w);
		}
		memory_disarm();
		assert_false(memory.hit);
		assert_int_equal(set_stats_of(w.s)->unready, 0);
		assert_int_equal(set_count(w.s, 0), most + 1);
		for (uint32_t i = 0; i < most; i++) {
			uint8_t key[2] = {(uint8_t)i, (uint8_t)(i >> 8)};
			assert_int_equal(set_get(w.s, key, NULL, 0, &v), 0);
			assert_true((v.comment != NULL) == (i < most / 2 && i % 3 == 0));
		}
		unmake(&w);
	}
	/* One whose elements have states cannot: it goes on as it was. */
	struct set_desc d = {
		.n_fields = 1, .field_len = {2}, .ext_size = eight_bytes, .ext_init = eight_init};
	struct set_item item = {.lo = "ab", .template = "x"};
	struct set *s;

	assert_int_equal(set_new(&d, &s), 0);
	assert_int_equal(set_add(s, &item, 0, 0, NULL), 0);
	assert_int_equal(set_expect_updates(s, NULL, 0, BURST), 0);
	assert_string_equal(set_kind_name(s), "bitmap");
	assert_false(set_wants(s));
	assert_non_null(set_find(s, "ab", NULL, 0));
	/* Packets may still take out of it. */
	assert_int_equal(set_remove(s, "ac", 0), -ENOENT);
	assert_int_equal(set_remove(s, "ab", 0), 0);
	assert_null(set_find(s, "ab", NULL, 0));
	set_free(s);
}

/* --- rules ---------------------------------------------------------------------------------- */

/* A packet of UDP whose addresses and ports tell it from all others. */
static void udp_packet(struct packet *p, uint32_t k)
{
	*p = (struct packet){0};
	ip4_begin(p, 17, 0, NULL, 0);
	put_udp(p, 8);
	p->b[12] = 10;
	p->b[16] = 11;
	memcpy(p->b + 13, &k, 3);
	memcpy(p->b + 17, &k, 3);
	if (k % 9)
		memcpy(p->b + 20, &(uint16_t){(uint16_t)k}, 2);
	ip4_end(p);
}

/* The n-th burst of such packets, a millisecond apart. */
static void burst_fill(struct tamis_burst *b, uint32_t n)
{
	static struct packet packets[BURST];

	tamis_burst_clear(b);
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t k = n * BURST + i;
		struct packet *p = &packets[i];
		struct tamis_packet in;

		udp_packet(p, k);
		in = (struct tamis_packet){.data = p->b,
					   .caplen = p->n,
					   .len = p->n,
					   .time = second + (uint64_t)k * 1000000,
					   .link = TAMIS_LINK_RAW};
		assert_true(tamis_burst_add(b, &in) >= 0);
	}
}

static void load(struct tamis *t, const char *text)
{
	char *messages;

	if (tamis_load_text(t, "rules", text, strlen(text), NULL, NULL, &messages))
		fail_msg("%s", messages);
	free(messages);
}

static const char rules[] =
	"table ip t {\n"
	"	set seen { type ipv4_addr; flags dynamic, timeout; timeout 1m; counter; }\n"
	"	map last { type ipv4_addr . inet_service : ipv4_addr; flags dynamic; }\n"
	"	set slow { type ipv4_addr; flags dynamic; }\n"
	"	set ports { type inet_service; elements = { 1, 2 }; }\n"
	"	set small { type inet_proto; size 3; }\n"
	"	set fewer { type inet_service; elements = { 1, 2, 5353 }; }\n"
	"	chain c { type filter hook prerouting priority 0;\n"
	"		update @seen { ip saddr } counter\n"
	"		add @seen { ip daddr timeout 3s }\n"
	"		add @slow { ip saddr limit rate 10/second } counter\n"
	"		update @last { ip saddr . udp sport : ip daddr }\n"
	"		udp sport 5353 delete @seen { ip saddr }\n"
	"		add @ports { udp sport } counter\n"
	"		add @small { ip protocol }\n"
	"		delete @fewer { udp sport }\n"
	"		meter old { ip saddr . udp sport counter }\n"
	"	}\n"
	"}\n";

/* Runs what is in b, and every allocation meanwhile fails. */
static void run_tight(struct tamis *t, struct tamis_burst *b, bool alone)
{
	struct eval_input in = {.root = compile_root(t->compile),
				.burst = &b->b,
				.mask = UINT64_MAX,
				.path = b->path,
				.ct = t->ct,
				.alone = alone};

	memset(b->path, EVAL_PATH_FORWARD, sizeof(b->path));
	burst_parse(&b->b);
	memory_arm(0, true);
	eval_run(t->eval, &in, &b->result);
	memory_disarm();
}

/* Bursts through a whole ruleset: what rules add was ready, each time. */
static void through_rules(void **state)
{
	struct tamis *t;
	struct tamis_burst *b;
	unsigned sets = 0;

	assert_int_equal(tamis_new(NULL, &t), 0);
	load(t, rules);
	assert_int_equal(tamis_burst_new(t, &b), 0);
	for (uint32_t n = 0; n < N / BURST; n++) {
		burst_fill(b, n);
		if (n % 2)
			assert_int_equal(tamis_burst_run(b), 0);
		else
			run_tight(t, b, false);
		assert_true(n % 2 || !memory.hit);
		assert_int_equal(eval_provide(t->eval, compile_root(t->compile)), 0);
	}
	const struct list *timed = model_timed_sets(t->model);
	for (const struct list *l = timed->next; l != timed; l = l->next, sets++) {
		const struct set *s = container_of(l, struct model_set, timed)->set;
		assert_int_equal(set_stats_of(s)->unready, 0);
		assert_in_range(set_stats_of(s)->added, N, 2 * N);
	}
	assert_int_equal(sets, 1);
	const struct model_table *table = model_table_find(t->model, FAMILY_IP, "t");
	const struct set *ports = model_set_find(table, "ports")->set;
	assert_string_equal(set_kind_name(ports), "hash");
	assert_int_equal(set_stats_of(ports)->unready, 0);
	assert_in_range(set_count(ports, t->now), N / 2, N);
	assert_non_null(set_find(ports, "\0\2", NULL, t->now));
	const struct set *fewer = model_set_find(table, "fewer")->set;
	assert_string_equal(set_kind_name(fewer), "hash");
	assert_int_equal(set_stats_of(fewer)->unready, 0);
	assert_in_range(set_count(fewer, t->now), 0, 2);
	tamis_burst_free(b);
	tamis_free(t);
}

static uint64_t accepted(const struct tamis_burst *b)
{
	return (uint64_t)__builtin_popcountll(b->result.accepted);
}

/* `ct count`: of rules, of elements that packets add, of elements that they only meet. */
static void connections(void **state)
{
	enum { FLOWS = 40 * BURST };
	static const char tracked[] = "table ip t {\n"
				      "	chain c { type filter hook prerouting priority 0;\n"
				      "		ct state new\n"
				      "	}\n"
				      "}\n";
	static const char counts[] = "table ip t {\n"
				     "	set each { type ipv4_addr; flags dynamic; }\n"
				     "	set many { type inet_service; ct count over 1000000;\n"
				     "		elements = { 5353 ct count over 1000000 }; }\n"
				     "	chain c {\n"
				     "		ct count over 1000 drop\n"
				     "		add @each { ip saddr ct count over 2 } drop\n"
				     "		udp sport @many counter\n"
				     "		udp sport { 5353 ct count over 3 } drop\n"
				     "	}\n"
				     "}\n";
	struct tamis *t;
	struct tamis_burst *b;
	uint64_t passed = 0;

	assert_int_equal(tamis_new(NULL, &t), 0);
	load(t, tracked);
	assert_int_equal(tamis_burst_new(t, &b), 0);
	for (uint32_t n = 0; n < FLOWS / BURST; n++) {
		burst_fill(b, n);
		assert_int_equal(tamis_burst_run(b), 0);
		assert_int_equal(accepted(b), BURST);
	}
	load(t, counts);
	for (uint32_t n = 0; n < FLOWS / BURST; n++) {
		burst_fill(b, n);
		assert_int_equal(eval_provide(t->eval, compile_root(t->compile)), 0);
		run_tight(t, b, false);
		assert_false(memory.hit);
		passed += accepted(b);
	}
	assert_int_equal(eval_stats_of(t->eval)->unready, 0);
	/* 1,000 connections, and of those from port 0 three. */
	assert_int_equal(passed, 1000 - ((1000 + 8) / 9 - 3));

	/* Nothing was made ready: packets are told, and it is counted. */
	load(t, "insert rule ip t c ct count over 2000000 drop");
	for (uint32_t n = 0; n < 20; n++) {
		burst_fill(b, n);
		run_tight(t, b, false);
	}
	passed = eval_stats_of(t->eval)->unready;
	assert_in_range(passed, 1, 20 * BURST);
	assert_false(memory.hit);
	/* One thread makes memory after all, or says that there is none. */
	burst_fill(b, 20);
	run_tight(t, b, true);
	assert_true(memory.hit);
	assert_true(eval_stats_of(t->eval)->unready > passed);
	assert_true(eval_stats_of(t->eval)->no_memory > 0);
	tamis_burst_free(b);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory),	cmocka_unit_test(control_too),
		cmocka_unit_test(not_provided), cmocka_unit_test(kept),
		cmocka_unit_test(bitmaps),	cmocka_unit_test(through_rules),
		cmocka_unit_test(connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
