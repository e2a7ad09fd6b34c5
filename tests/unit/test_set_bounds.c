/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sets defer is bounded, though a worker is never quiet: by packets, by the control thread, by
 * expiry, in every kind. Then the worker is quiet, and all goes on.
 *
 * A bound is the mark and what one change may defer: SLACK objects, SLACK_BYTES.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rcu/rcu.h"
#include "set/set.h"

enum { ENTRIES = 200, BYTES = 1 << 18, SLACK = 40, SLACK_BYTES = 1 << 17, MANY = 20000 };

struct world {
	struct rcu *r;
	struct rcu_worker *stalled, *me;
	struct set *s;
	uint64_t now;
	unsigned n_told;
	char told[16];
};

/* Each look takes 10 us. */
static uint64_t clock_step(void *ctx)
{
	struct world *w = ctx;
	return w->now += 10000;
}

static void told(void *ctx, const char *worker, uint64_t waited)
{
	struct world *w = ctx;
	strncpy(w->told, worker, sizeof(w->told) - 1);
	w->n_told++;
}

static void make(struct world *w, struct set_desc d)
{
	*w = (struct world){0};
	assert_int_equal(rcu_new(&(struct rcu_config){.max_entries = ENTRIES,
						      .max_bytes = BYTES,
						      .clock = clock_step,
						      .stalled = told,
						      .ctx = w},
				 &w->r),
			 0);
	assert_int_equal(rcu_register(w->r, "stalled", &w->stalled), 0);
	d.rcu = w->r;
	d.wait_ns = 200000;
	assert_int_equal(set_new(&d, &w->s), 0);
}

static void check(struct world *w)
{
	struct rcu_stats st;

	rcu_stats_read(w->r, &st);
	assert_true(st.entries_peak <= ENTRIES + SLACK);
	assert_true(st.bytes_peak <= BYTES + SLACK_BYTES);
}

static void unmake(struct world *w)
{
	check(w);
	rcu_unregister(w->stalled);
	rcu_unregister(w->me);
	set_free(w->s);
	rcu_free(w->r);
}

/*
 * The one that stalled is quiet, until it stalls again. What was deferred since the epoch began
 * that it did not see waits for the next one.
 */
static void quiet(struct world *w)
{
	for (unsigned epoch = 0; epoch < 2; epoch++) {
		rcu_poll(w->r);
		rcu_quiescent(w->stalled);
		if (w->me)
			rcu_quiescent(w->me);
		rcu_poll(w->r);
	}
	assert_false(rcu_crowded(w->r));
}

static const struct set_desc hash = {
	.n_fields = 1, .field_len = {4}, .dynamic = true, .timeout = true, .timeout_ns = 1000};

static struct set_desc hash_of(unsigned data_len)
{
	struct set_desc d = hash;
	d.data_len = (uint16_t)data_len;
	return d;
}

/* --- packets -------------------------------------------------------------------------------- */

static int packet_add(struct world *w, uint32_t k, uint64_t now)
{
	bool map = set_desc_of(w->s)->data_len;
	struct set_item item = {.lo = &k, .data = map ? &k : NULL};
	struct set_elem *e;
	int r = set_update(w->s, SET_UPDATE_REFRESH, &item, now, &e);

	rcu_quiescent(w->me);
	return r;
}

/* Adds and takes out; what was not done was counted, and what was there can be refreshed. */
static void packets(unsigned data_len, bool ready)
{
	struct set_desc d = hash_of(data_len);
	struct world w;
	uint64_t refused = 0, unready;
	uint32_t stays = 7, there = 0;

	d.size = 1000;
	make(&w, d);
	assert_int_equal(rcu_register(w.r, "me", &w.me), 0);
	if (ready)
		assert_int_equal(set_expect_updates(w.s, NULL, 0, 64), 0);
	assert_int_equal(packet_add(&w, stays, 0), 1);
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t k = i * 2654435761U | 1U << 31;
		int added = packet_add(&w, k, 0);
		int gone = added == 1 ? set_remove(w.s, &k, 0) : -ENOENT;
		assert_true(added == 1 || added == -ENOBUFS || added == -ENFILE);
		assert_true(!gone || gone == -ENOENT || gone == -ENOBUFS);
		refused += (added == -ENOBUFS) + (gone == -ENOBUFS);
		there += gone == -ENOBUFS;
		if (ready && i % 32 == 0 && set_wants(w.s)) {
			int err = set_provide(w.s);
			assert_true(!err || err == -ENOBUFS);
			assert_true(!err || rcu_crowded(w.r));
		}
	}
	unready = set_stats_of(w.s)->unready;
	assert_int_equal(unready, refused);
	assert_true(data_len ? refused > MANY / 2 : true);
	assert_int_equal(set_count(w.s, 0), there + 1);
	assert_int_equal(packet_add(&w, stays, 0), 0);
	assert_int_equal(w.n_told, 0);
	check(&w);
	/* An element that is in the way because it has expired is not taken out either. */
	if (data_len) {
		assert_true(rcu_crowded(w.r));
		assert_int_equal(packet_add(&w, stays, 5000), -ENOBUFS);
	}
	quiet(&w);
	if (ready)
		assert_int_equal(set_provide(w.s), 0);
	assert_int_equal(packet_add(&w, stays, 5000), 1);
	assert_int_equal(set_remove(w.s, &stays, 5000), 0);
	assert_int_equal(set_count(w.s, 5000), 0);
	unmake(&w);
}

static void packets_plain(void **state)
{
	packets(0, false);
}

static void packets_map(void **state)
{
	packets(4, false);
}

static void packets_ready(void **state)
{
	packets(0, true);
	packets(4, true);
}

/* A full set whose elements have expired: a packet's makes room, but for too much. */
static void packets_full(void **state)
{
	struct set_desc d = hash_of(4);
	struct world w;
	unsigned added = 0, refused = 0;

	d.size = 300;
	make(&w, d);
	assert_int_equal(rcu_register(w.r, "me", &w.me), 0);
	for (uint32_t k = 0; k < 300; k++)
		assert_int_equal(packet_add(&w, k, 0), 1);
	assert_int_equal(packet_add(&w, 300, 0), -ENFILE);
	for (uint32_t k = 300; k < 600; k++) {
		int r = packet_add(&w, k, 2000);
		assert_true(r == 1 || r == -ENOBUFS);
		added += r == 1;
		refused += r == -ENOBUFS;
	}
	assert_in_range(added, 1, ENTRIES);
	assert_int_equal(set_stats_of(w.s)->unready, refused);
	assert_int_equal(set_count(w.s, 2000), added);
	quiet(&w);
	assert_int_equal(packet_add(&w, 1000, 2000), 1);
	unmake(&w);
}

/* --- the control thread --------------------------------------------------------------------- */

struct kind {
	const char *name;
	struct set_desc d;
};

static const struct kind kinds[] = {
	{"hash", {.n_fields = 1, .field_len = {4}}},
	{"hash map", {.n_fields = 1, .field_len = {4}, .data_len = 4, .timeout = true}},
	{"long hash map", {.n_fields = 1, .field_len = {16}, .data_len = 4}},
	{"interval", {.n_fields = 1, .field_len = {4}, .interval = true}},
	{"merged", {.n_fields = 1, .field_len = {4}, .interval = true, .auto_merge = true}},
	{"interval map",
	 {.n_fields = 1, .field_len = {4}, .interval = true, .data_len = 4, .timeout = true}},
	{"long interval map", {.n_fields = 1, .field_len = {16}, .interval = true, .data_len = 4}},
	{"ports", {.n_fields = 1, .field_len = {2}, .interval = true}},
	{"bitmap", {.n_fields = 1, .field_len = {2}}},
	{"concat", {.n_fields = 2, .field_len = {4, 2}, .interval = true, .timeout = true}},
};

struct item {
	uint8_t lo[18], hi[18];
	struct set_item i;
};

static void item_make(const struct set_desc *d, uint32_t k, struct item *out)
{
	*out = (struct item){.i = {.data = d->data_len ? "data" : NULL}};
	out->i.lo = out->i.hi = out->lo;
	be32_store(out->lo, k * 16);
	if (d->field_len[0] == 2)
		be16_store(out->lo, (uint16_t)(k * 16));
	memcpy(out->hi, out->lo, sizeof(out->lo));
	if (!d->interval)
		return;
	out->i.hi = out->hi;
	out->hi[d->field_len[0] - 1] += 7;
	if (d->n_fields > 1)
		be16_store(out->hi + 4, 100);
}

static int add(struct world *w, const struct set_desc *d, uint32_t k)
{
	struct item it;

	item_make(d, k, &it);
	return set_add(w->s, &it.i, SET_ADD_EXCL, 0, NULL);
}

static int del(struct world *w, const struct set_desc *d, uint32_t k)
{
	struct item it;

	item_make(d, k, &it);
	return set_delete(w->s, &it.i, 0);
}

/* It is refused, after a wait, with the name of who stalls, and everything is as it was. */
static void refused(struct world *w, int err, uint64_t n)
{
	assert_int_equal(err, -EAGAIN);
	assert_string_equal(w->told, "stalled");
	assert_int_equal(set_count(w->s, 0), n);
}

static void control_one(const struct kind *kind)
{
	const struct set_desc *d = &kind->d;
	uint32_t n = d->field_len[0] == 2 ? 4000 : MANY, first = 0, i;
	struct world w;
	int err = 0;

	make(&w, *d);
	/* Adding, deleting: until it is crowded. */
	for (i = 0; i < n && !err; i++) {
		err = add(&w, d, i);
		if (!err && i % 3 == 2) {
			err = del(&w, d, first);
			first += !err;
			i += err != 0; /* it was added */
		}
	}
	uint64_t have = i - 1 - first;
	refused(&w, err, have);
	assert_true(w.n_told == 1);
	refused(&w, add(&w, d, n), have);
	refused(&w, del(&w, d, first), have);
	refused(&w, set_flush(w.s, 0), have);
	refused(&w, set_begin(w.s), have);
	assert_false(set_in_transaction(w.s));
	assert_int_equal(w.n_told, 5);
	check(&w);
	quiet(&w);
	assert_int_equal(add(&w, d, n), 0);
	assert_int_equal(del(&w, d, first), 0);
	/* In a transaction: refused in the middle, and undone. */
	assert_int_equal(set_begin(w.s), 0);
	assert_int_equal(add(&w, d, n + 1), 0);
	assert_int_equal(set_in_transaction(w.s), true);
	set_rollback(w.s);
	assert_int_equal(set_count(w.s, 0), have);
	/* Transactions that follow each other. */
	quiet(&w);
	err = 0;
	for (i = 0; i < n && !err && d->interval; i++) {
		err = set_begin(w.s);
		if (err)
			break;
		assert_int_equal(add(&w, d, n + 1 + i), 0);
		assert_int_equal(set_commit(w.s, 0), 0);
	}
	if (d->interval)
		refused(&w, err, have + i);
	check(&w);
	quiet(&w);
	assert_int_equal(set_flush(w.s, 0), 0);
	assert_int_equal(set_count(w.s, 0), 0);
	rcu_unregister(w.stalled);
	set_free(w.s);
	rcu_free(w.r);
}

static void control(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		control_one(&kinds[k]);
}

/* --- expiry --------------------------------------------------------------------------------- */

static void expire_one(const struct kind *kind)
{
	struct set_desc d = kind->d;
	struct world w;
	uint64_t n = 0, left;

	d.timeout_ns = 1000;
	make(&w, d);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(add(&w, &d, i), 0);
		quiet(&w);
	}
	for (unsigned freed; (freed = set_gc(w.s, 5000, 1000)); n += freed)
		;
	assert_in_range(n, 1, MANY / 2);
	assert_int_equal(set_stats_of(w.s)->expired, n);
	assert_true(rcu_crowded(w.r));
	assert_int_equal(set_count(w.s, 5000), 0);
	assert_int_equal(w.n_told, 0);
	check(&w);
	for (left = MANY - n; left; left -= n) {
		quiet(&w);
		n = set_gc(w.s, 5000, UINT32_MAX);
		assert_in_range(n, 1, left);
	}
	assert_int_equal(set_next_due(w.s), UINT64_MAX);
	unmake(&w);
}

static void expiry(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		if (kinds[k].d.timeout)
			expire_one(&kinds[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_plain), cmocka_unit_test(packets_map),
		cmocka_unit_test(packets_ready), cmocka_unit_test(packets_full),
		cmocka_unit_test(control),	 cmocka_unit_test(expiry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
