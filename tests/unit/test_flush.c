/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush within a transaction that workers do not see before its commit: what adding again what
 * was there writes and allocates; what test_set_views.c, which tells the rest, does not come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "rcu/rcu.h"
#include "set/hash_table_internal.h"
#include "set/set_internal.h"

static uint64_t no_time(void *ctx)
{
	return 0;
}

struct world {
	struct set *s;
	struct rcu *rcu;
	unsigned len;
};

static void key_of(const struct world *w, uint32_t n, uint8_t *key)
{
	for (unsigned i = 0; i < w->len; i++)
		key[i] = (uint8_t)(n >> 8 * (i & 3)) ^ (uint8_t)(i / 4 * 37);
}

enum { MANY = 100000, LINE = 64 };

/* All that lookups look at: copied segment by segment, or compared; lines that differ. */
static size_t lines_changed(const struct set *s, uint8_t *copy, bool take)
{
	struct segment_walk walk = {s->store.table->root};
	struct hash_segment *seg;
	size_t n = 0;

	while ((seg = segment_next(&walk))) {
		const uint8_t *end = (const uint8_t *)segment_marks(s->store.table, seg, 0);
		for (const uint8_t *line = (const uint8_t *)seg; line < end;
		     line += LINE, copy += LINE) {
			if (line == (const uint8_t *)&seg->depth) /* that of writers */
				continue;
			if (take)
				memcpy(copy, line, LINE);
			else
				n += memcmp(copy, line, LINE) != 0;
		}
	}
	return n;
}

static void put(struct world *w, uint32_t n)
{
	uint8_t key[SET_KEY_MAX];

	key_of(w, n, key);
	assert_int_equal(set_add(w->s, &(struct set_item){.lo = key}, 0, 0, NULL), 0);
}

/* Keys again, of which the first `others` are others. */
static void load_again(struct world *w, uint32_t others)
{
	assert_int_equal(set_begin(w->s), 0);
	assert_int_equal(set_flush(w->s, 0), 0);
	for (uint32_t i = 0; i < MANY; i++)
		put(w, i < others ? i + MANY * 2 : i);
	assert_int_equal(set_count(w->s, 0), MANY);
}

static void cost(unsigned len)
{
	struct world w = {.len = len};
	struct rcu_worker *reader;
	struct set_desc d = {.n_fields = 1, .field_len = {(uint8_t)len}};

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &w.rcu), 0);
	d.rcu = w.rcu;
	assert_int_equal(set_new(&d, &w.s), 0);
	for (uint32_t i = 0; i < MANY; i++)
		put(&w, i);
	size_t bytes = hash_table_bytes(w.s->store.table);
	uint8_t *copy = malloc(bytes);

	/* The same: not a byte of what readers look at is another, and nothing is allocated. */
	lines_changed(w.s, copy, true);
	uint64_t calls = memory.calls;
	load_again(&w, 0);
	assert_in_range(memory.calls - calls, 0, 8);
	assert_int_equal(lines_changed(w.s, copy, false), 0);
	assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
	assert_in_range(memory.calls - calls, 0, 8);
	assert_int_equal(lines_changed(w.s, copy, false), 0);
	load_again(&w, 0);
	set_rollback(w.s);
	assert_int_equal(lines_changed(w.s, copy, false), 0);

	/* One in a thousand is another one. */
	calls = memory.calls;
	load_again(&w, MANY / 1000);
	assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
	assert_in_range(memory.calls - calls, 0, 2 * MANY / 1000);
	for (uint32_t i = 0; i < MANY / 1000; i++) {
		uint8_t key[SET_KEY_MAX];
		uint64_t now = 0;
		key_of(&w, i, key);
		assert_int_equal(set_lookup(w.s, key, len, 1, &now, NULL), 0);
		key_of(&w, i + MANY * 2, key);
		assert_int_equal(set_lookup(w.s, key, len, 1, &now, NULL), 1);
	}

	/* All are others, beside a reader: what is not needed any more goes. */
	assert_int_equal(rcu_register(w.rcu, "reader", &reader), 0);
	load_again(&w, MANY);
	rcu_offline(reader);
	assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
	rcu_unregister(reader);
	rcu_poll(w.rcu);
	assert_in_range(hash_table_bytes(w.s->store.table), bytes / 2, bytes + bytes / 2);
	free(copy);
	set_free(w.s);
	rcu_free(w.rcu);
}

static void same_costs_marks(void **state)
{
	cost(4);
	cost(16);
}

/*
 * A large list replaced by a wholly other one beside readers: all of the one is seen, then all of
 * the other, and the table is then what it was, segments and memory. A rollback leaves that too.
 */
static void wholly_others(void **state)
{
	enum { LARGE = 300000 };
	struct world w = {.len = 4};
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .data_len = 4};
	struct rcu_worker *reader;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &w.rcu), 0);
	d.rcu = w.rcu;
	assert_int_equal(set_new(&d, &w.s), 0);
	assert_int_equal(rcu_register(w.rcu, "reader", &reader), 0);
	size_t bytes = 0;
	uint32_t segments = 0;
	for (uint32_t round = 0; round < 4; round++) {
		bool undone = round == 2;
		if (round)
			assert_int_equal(set_begin(w.s), 0);
		if (round)
			assert_int_equal(set_flush(w.s, 0), 0);
		set_expect(w.s, LARGE);
		for (uint32_t i = 0; i < LARGE; i++) {
			uint32_t key = round * LARGE + i;
			struct set_item item = {.lo = &key, .data = &round};
			assert_int_equal(set_add(w.s, &item, 0, 0, NULL), 0);
		}
		for (uint32_t i = 0; i < LARGE; i += 7) { /* of the list before */
			uint32_t key = (round - (round == 3 ? 2 : 1)) * LARGE + i;
			uint64_t now = 0;
			assert_int_equal(set_lookup(w.s, &key, 4, 1, &now, NULL), round != 0);
		}
		rcu_offline(reader);
		if (undone)
			set_rollback(w.s);
		else if (round)
			assert_int_equal(set_commit(w.s, UINT64_MAX), 0);
		rcu_online(reader);
		for (unsigned k = 0; k < 3; k++) {
			rcu_quiescent(reader);
			rcu_poll(w.rcu);
		}
		uint32_t shown = undone ? round - 1 : round;
		for (uint32_t i = 0; i < LARGE * (round + 1); i += 5) {
			uint64_t now = 0;
			struct set_elem *hit;
			bool there = i / LARGE == shown;
			assert_int_equal(set_lookup(w.s, &i, 4, 1, &now, &hit), there);
			if (there)
				assert_memory_equal(set_elem_data(w.s, hit), &shown, 4);
		}
		assert_int_equal(set_count(w.s, 0), LARGE);
		if (!round) {
			bytes = hash_table_bytes(w.s->store.table);
			segments = w.s->store.table->n_segments;
		}
		assert_in_range(hash_table_bytes(w.s->store.table), bytes / 10 * 9,
				bytes / 10 * 11);
		assert_in_range(w.s->store.table->n_segments, segments / 8 * 7, segments * 9 / 8);
	}
	rcu_unregister(reader);
	set_free(w.s);
	rcu_free(w.rcu);
}

/* What is wanted again and then is to have a lifetime: readers see nothing of that before. */
static void lifetime_apart(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .timeout = true};
	uint64_t later = 1000;
	uint32_t key = 7;

	for (unsigned commit = 0; commit < 2; commit++) {
		struct set_item item = {.lo = &key}, mortal = {.lo = &key, .timeout_ns = 100};
		struct rcu *rcu;
		struct set *s;
		assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &rcu), 0);
		d.rcu = rcu;
		assert_int_equal(set_new(&d, &s), 0);
		assert_int_equal(set_add(s, &item, 0, 0, NULL), 0);
		assert_int_equal(set_begin(s), 0);
		assert_int_equal(set_flush(s, 0), 0);
		assert_int_equal(set_add(s, &item, 0, 0, NULL), 0);
		assert_int_equal(set_add(s, &mortal, 0, 0, NULL), 0);
		assert_int_equal(set_count(s, 0), 1);
		assert_int_equal(set_lookup(s, &key, 4, 1, &later, NULL), 1);
		if (commit)
			assert_int_equal(set_commit(s, UINT64_MAX), 0);
		else
			set_rollback(s);
		assert_int_equal(set_lookup(s, &key, 4, 1, &later, NULL), !commit);
		set_free(s);
		rcu_free(rcu);
	}
}

/* What made room in a transaction that is undone has expired, and is told so. */
static void room_undone(void **state)
{
	struct set_desc d = {
		.n_fields = 1, .field_len = {4}, .timeout = true, .dynamic = true, .size = 2};
	uint8_t key[3][4] = {{1}, {2}, {3}};
	struct rcu *rcu;
	struct set *s;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &rcu), 0);
	d.rcu = rcu;
	assert_int_equal(set_new(&d, &s), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct set_item item = {.lo = key[i], .timeout_ns = i ? 10 : 100};
		assert_int_equal(set_add(s, &item, 0, 0, NULL), 0);
	}
	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_add(s, &(struct set_item){.lo = key[2]}, 0, 20, NULL), 0);
	assert_int_equal(set_count(s, 20), 2);
	set_rollback(s);
	assert_int_equal(set_count(s, 20), 1);
	assert_true(set_next_due(s) <= 10);
	set_free(s);
	rcu_free(rcu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lifetime_apart),
		cmocka_unit_test(same_costs_marks),
		cmocka_unit_test(room_undone),
		cmocka_unit_test(wholly_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
