/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets with single allocations failing, and with all from one on: a change is made or is
 * -ENOMEM, and then the set answers as before; what a transaction did before a failure can be
 * undone. Allocation is wrapped by the linker (see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "rcu/rcu.h"
#include "set/set.h"

/* An element is a range and a number, which is its data, state and part of its comment. */
struct range {
	uint32_t lo, hi;
};

static size_t ext_size(const void *template)
{
	return sizeof(uint32_t);
}

/* One that takes memory of its own. */
static int ext_init(void *ext, const void *template, uint64_t now)
{
	char *mark = malloc(1);

	if (!mark)
		return -ENOMEM;
	free(mark);
	memcpy(ext, template, sizeof(uint32_t));
	return 0;
}

static int put(struct set *s, struct range r)
{
	uint8_t lo[4], hi[4];
	char comment[32];
	uint32_t data = r.lo ^ r.hi;
	struct set_item item = {.lo = lo, .hi = hi, .comment = comment, .template = &data};

	snprintf(comment, sizeof(comment), "from %u", (unsigned)(r.lo % 3));
	if (r.lo % 3 == 0)
		item.comment = NULL;
	if (set_desc_of(s)->data_len)
		item.data = &data;
	be32_store(lo, r.lo);
	be32_store(hi, r.hi);
	return set_add(s, &item, SET_ADD_EXCL, 1, NULL);
}

static int take(struct set *s, struct range r)
{
	uint8_t lo[4], hi[4];

	be32_store(lo, r.lo);
	be32_store(hi, r.hi);
	return set_delete(s, &(struct set_item){.lo = lo, .hi = hi}, 1);
}

/* All that a set says of itself, as a sum. */
static uint64_t picture(struct set *s)
{
	uint64_t sum = 0, now[64], found;
	uint8_t keys[64][4];
	struct set_elem *hit[64];
	struct set_cursor *c;
	struct set_view v;

	assert_int_equal(set_cursor_open(s, SET_CURSOR_USER, NULL, 1, &c), 0);
	while (set_cursor_next(c, &v)) {
		uint32_t lo = be32_load(v.lo), hi = be32_load(v.hi), state;

		memcpy(&state, v.ext, sizeof(state));
		assert_int_equal(state, lo ^ hi);
		assert_int_equal(!v.comment, lo % 3 == 0);
		if (v.data)
			assert_memory_equal(v.data, &state, sizeof(state));
		sum = (sum ^ lo ^ (uint64_t)hi << 32) * 0x9e3779b97f4a7c15;
	}
	set_cursor_close(c);
	for (uint32_t from = 0; from < 4096; from += 64) {
		for (unsigned i = 0; i < 64; i++) {
			be32_store(keys[i], 0x0a000000 + (from + i) * 3);
			now[i] = 1;
		}
		found = set_lookup(s, keys, 4, UINT64_MAX, now, hit);
		sum = (sum ^ found) * 0x9e3779b97f4a7c15;
	}
	return sum ^ set_count(s, 1);
}

enum { BASE = 300 };

/* A page with slots of few and of many, and what crosses them. */
static struct range nth(bool ranges, uint32_t i)
{
	struct range r = {0x0a000000 + i * 37, 0x0a000000 + i * 37 + 5};

	if (i % 7 == 0)
		r = (struct range){0x0a010000 + i * 1024, 0x0a010000 + i * 1024 + 1000};
	if (i % 50 == 3)
		r = (struct range){0x0b00ff00 + i * 0x100000, 0x0b010010 + i * 0x100000};
	if (!ranges)
		r.hi = r.lo;
	return r;
}

/* What is done to a set, of which all or, within a transaction, nothing stays. */
static int add_one(struct set *s, bool ranges)
{
	return put(s, nth(ranges, BASE + 1));
}

static int add_crossing(struct set *s, bool ranges)
{
	return put(s, nth(ranges, BASE + 3));
}

static int delete_one(struct set *s, bool ranges)
{
	return take(s, nth(ranges, 5));
}

static int flush(struct set *s, bool ranges)
{
	return set_flush(s, 1);
}

/* Some come and some go. */
static int some(struct set *s, bool ranges)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < 200; i++)
		err = i % 3 ? put(s, nth(ranges, BASE + i)) : take(s, nth(ranges, i));
	return err;
}

static int ended(struct set *s, int err)
{
	if (!err)
		assert_int_equal(set_commit(s, UINT64_MAX), 0);
	else
		set_rollback(s);
	return err;
}

static int many(struct set *s, bool ranges)
{
	int err = set_begin(s);

	set_expect(s, 400);
	if (!err)
		err = some(s, ranges);
	if (!err)
		err = set_flush(s, 1);
	for (uint32_t i = 0; !err && i < 100; i++)
		err = put(s, nth(ranges, BASE + i));
	return ended(s, err);
}

static int many_without_flush(struct set *s, bool ranges)
{
	int err = set_begin(s);

	return ended(s, err ? err : some(s, ranges));
}

static uint64_t clock_none(void *ctx)
{
	return 0;
}

static struct set *filled(const struct set_desc *d)
{
	struct set *s;

	assert_int_equal(set_new(d, &s), 0);
	for (uint32_t i = 0; i < BASE; i++)
		assert_int_equal(put(s, nth(d->interval, i)), 0);
	return s;
}

static void each_failure(struct set_desc d, int (*change)(struct set *s, bool ranges),
			 bool for_good)
{
	uint64_t before, after, want = 0;

	/* The first ones each, then some of them: there are thousands. */
	for (uint64_t n = 0;; n += 1 + n / 16) {
		struct set *s = filled(&d);
		int err;

		before = picture(s);
		memory_arm(n, for_good);
		err = change(s, d.interval);
		memory_disarm();
		after = picture(s);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(after, before);
			assert_true(memory.hit);
			/* Nothing is in the way of the next try. */
			assert_int_equal(change(s, d.interval), 0);
			after = picture(s);
		}
		assert_true(!want || after == want);
		want = after;
		set_free(s);
		if (!memory.hit)
			break;
	}
}

static void all_changes(struct set_desc d)
{
	static int (*const changes[])(struct set * s, bool ranges) = {
		add_one, add_crossing, delete_one, flush, many, many_without_flush};
	struct rcu_config config = {.clock = clock_none};

	d.n_fields = 1;
	d.field_len[0] = 4;
	d.ext_size = ext_size;
	d.ext_init = ext_init;
	for (unsigned shared = 0; shared < 2; shared++) {
		struct rcu *rcu;

		assert_int_equal(rcu_new(&config, &rcu), 0);
		d.rcu = shared ? rcu : NULL;
		for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
			each_failure(d, changes[i], false);
			each_failure(d, changes[i], true);
		}
		rcu_free(rcu);
	}
}

static void hash(void **state)
{
	all_changes((struct set_desc){0});
}

static void hash_map(void **state)
{
	all_changes((struct set_desc){.data_len = 4});
}

/* Ranges with more than a key stand in a forest. */
static void interval_map(void **state)
{
	all_changes((struct set_desc){.data_len = 4, .interval = true});
}

static void auto_merge(void **state)
{
	all_changes((struct set_desc){.timeout = true, .interval = true, .auto_merge = true});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash),
		cmocka_unit_test(hash_map),
		cmocka_unit_test(interval_map),
		cmocka_unit_test(auto_merge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
