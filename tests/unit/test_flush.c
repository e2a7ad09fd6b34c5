/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush within a transaction that workers do not see before its commit: sets of exact keys
 * against a naive reference under seeded random operations, packets' among them; and what adding
 * again what was there writes and allocates.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "rcu/rcu.h"
#include "set/hash_table_internal.h"
#include "set/set_internal.h"

static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 20) % n;
}

/* Operations that were made, the control thread's and packets'. */
static uint64_t done;

static uint64_t no_time(void *ctx)
{
	return 0;
}

/* --- the reference -------------------------------------------------------------------------- */

enum { KEYS = 3000, VALUES = 4 };

struct elem {
	bool there;
	bool comment;
	uint32_t data;
	uint64_t timeout, expires;
};

/* Of a key what lookups see, and what the transaction sees; `one`: both are the same element. */
struct both {
	struct elem shown, next;
	bool one;
};

struct world {
	struct set_desc desc;
	struct set *s;
	struct rcu *rcu;
	unsigned len;
	uint64_t now;
	bool open;
	uint32_t spread; /* keys in use */
	struct both k[KEYS];
	int64_t uses[VALUES];
};

static void count_data(void *ctx, const void *data, int delta)
{
	struct world *w = ctx;
	uint32_t v;

	memcpy(&v, data, sizeof(v));
	w->uses[v] += delta;
}

static void key_of(const struct world *w, uint32_t n, uint8_t *key)
{
	for (unsigned i = 0; i < w->len; i++)
		key[i] = (uint8_t)(n >> 8 * (i & 3)) ^ (uint8_t)(i / 4 * 37);
}

static uint32_t number_of(const uint8_t *key)
{
	return key[0] | (uint32_t)key[1] << 8;
}

static struct elem random_elem(struct world *w)
{
	struct elem e = {.there = true, .data = w->desc.data_len ? rnd(VALUES) : 0};

	e.comment = !rnd(6);
	if (w->desc.timeout && rnd(3) == 0)
		e.timeout = 50 + rnd(100);
	return e;
}

static struct set_item item_of(struct world *w, const uint8_t *key, const struct elem *e)
{
	return (struct set_item){.lo = key,
				 .data = w->desc.data_len ? &e->data : NULL,
				 .comment = e->comment ? "c" : NULL,
				 .timeout_ns =
					 w->desc.timeout && !e->timeout ? SET_NEVER : e->timeout};
}

/* --- operations ----------------------------------------------------------------------------- */

static void add(struct world *w, uint32_t n)
{
	struct both *b = &w->k[n];
	struct elem e = random_elem(w);
	uint8_t key[SET_KEY_MAX];
	bool fails = false;

	if (b->next.there && rnd(2)) /* the same again */
		e = b->next;
	if (b->shown.there && !b->next.there && rnd(2))
		e = b->shown;
	/* Elements that stay keep their lifetime here: what becomes of it is told elsewhere. */
	if (b->next.there && b->one)
		e.timeout = b->next.timeout;
	done++;
	key_of(w, n, key);
	struct set_item item = item_of(w, key, &e);
	if (b->next.there)
		fails = w->desc.data_len && e.data != b->next.data;
	assert_int_equal(set_add(w->s, &item, 0, w->now, NULL), fails ? -EEXIST : 0);
	if (fails)
		return;
	e.expires = e.timeout ? w->now + e.timeout : UINT64_MAX;
	if (!b->next.there) {
		b->next = e;
		b->one = !w->open;
	} else if (!b->one && e.timeout != b->next.timeout) {
		b->next.timeout = e.timeout;
		b->next.expires = e.expires;
	}
	if (!w->open)
		b->shown = b->next;
}

static void del(struct world *w, uint32_t n)
{
	struct both *b = &w->k[n];
	uint8_t key[SET_KEY_MAX];

	done++;
	key_of(w, n, key);
	assert_int_equal(set_delete(w->s, &(struct set_item){.lo = key}, w->now),
			 b->next.there ? 0 : -ENOENT);
	b->next.there = b->one = false;
	if (!w->open)
		b->shown.there = false;
}

static void packet_add(struct world *w, uint32_t n)
{
	struct both *b = &w->k[n];
	struct elem e = random_elem(w);
	struct set_elem *out;
	uint8_t key[SET_KEY_MAX];

	e.comment = false;
	e.expires = e.timeout ? w->now + e.timeout : UINT64_MAX;
	done++;
	key_of(w, n, key);
	struct set_item item = item_of(w, key, &e);
	assert_int_equal(set_update(w->s, SET_UPDATE_ADD, &item, w->now, &out), !b->shown.there);
	if (b->shown.there)
		return;
	b->shown = e;
	b->one = !b->next.there;
	if (b->one)
		b->next = e;
}

static void packet_remove(struct world *w, uint32_t n)
{
	struct both *b = &w->k[n];
	uint8_t key[SET_KEY_MAX];

	done++;
	key_of(w, n, key);
	assert_int_equal(set_remove(w->s, key, w->now), b->shown.there ? 0 : -ENOENT);
	b->shown.there = false;
	if (b->one)
		b->next.there = false;
	b->one = false;
}

static void flush(struct world *w)
{
	assert_int_equal(set_flush(w->s, w->now), 0);
	for (uint32_t i = 0; i < KEYS; i++) {
		w->k[i].next.there = w->k[i].one = false;
		if (!w->open)
			w->k[i].shown.there = false;
	}
}

static void pass(struct world *w)
{
	w->now += rnd(40);
	for (uint32_t i = 0; i < KEYS; i++)
		if (w->k[i].next.there && w->k[i].next.expires <= w->now)
			w->k[i].next.there = w->k[i].shown.there = w->k[i].one = false;
	while (set_gc(w->s, w->now, 100))
		;
}

static void transact(struct world *w)
{
	bool commit = rnd(2);

	w->open = !w->open;
	if (w->open) {
		assert_int_equal(set_begin(w->s), 0);
		return;
	}
	if (commit)
		assert_int_equal(set_commit(w->s, UINT64_MAX), 0);
	else
		set_rollback(w->s);
	for (uint32_t i = 0; i < KEYS; i++) {
		struct both *b = &w->k[i];
		if (commit)
			b->shown = b->next;
		else
			b->next = b->shown;
		b->one = b->shown.there;
	}
}

/* --- checks --------------------------------------------------------------------------------- */

static void check_lookup(struct world *w, uint32_t from)
{
	uint8_t keys[64][SET_KEY_MAX];
	struct set_elem *hit[64];
	uint64_t now[64];

	for (uint32_t i = 0; i < 64; i++) {
		key_of(w, from + i, keys[i]);
		now[i] = w->now;
	}
	uint64_t found = set_lookup(w->s, keys, SET_KEY_MAX, ~0ULL, now, hit);
	for (uint32_t i = 0; i < 64; i++) {
		const struct elem *e = &w->k[from + i].shown;
		assert_int_equal(found >> i & 1, e->there);
		if (e->there && w->desc.data_len)
			assert_memory_equal(set_elem_data(w->s, hit[i]), &e->data, 4);
	}
}

static void check_view(struct world *w, const struct set_view *v, const struct elem *e)
{
	assert_true(e->there);
	assert_int_equal(v->timeout_ns, e->timeout);
	assert_int_equal(v->expires_in_ns, e->timeout ? e->expires - w->now : 0);
	assert_int_equal(v->comment != NULL, e->comment);
	if (w->desc.data_len)
		assert_memory_equal(v->data, &e->data, 4);
}

static void check(struct world *w)
{
	int64_t uses[VALUES] = {0};
	uint64_t n = 0, listed = 0;
	struct set_cursor *c;
	struct set_view v;

	for (uint32_t i = 0; i < KEYS; i++) {
		n += w->k[i].next.there;
		if (w->k[i].next.there)
			uses[w->k[i].next.data]++;
	}
	assert_int_equal(set_count(w->s, w->now), n);
	for (unsigned i = 0; w->desc.data_len && i < VALUES; i++)
		assert_int_equal(w->uses[i], uses[i]);
	assert_int_equal(set_cursor_open(w->s, SET_CURSOR_USER, NULL, w->now, &c), 0);
	for (; set_cursor_next(c, &v); listed++)
		check_view(w, &v, &w->k[number_of(v.lo)].next);
	set_cursor_close(c);
	assert_int_equal(listed, n);
	for (uint32_t from = 0; from + 64 <= KEYS; from += 64)
		check_lookup(w, from);
	for (unsigned i = 0; i < 20; i++) {
		uint32_t k = rnd(w->spread);
		uint8_t key[SET_KEY_MAX];
		key_of(w, k, key);
		int err = set_get(w->s, key, NULL, w->now, &v);
		assert_int_equal(err, w->k[k].next.there ? 0 : -ENOENT);
		if (!err)
			check_view(w, &v, &w->k[k].next);
	}
}

static void step(struct world *w)
{
	uint32_t k = rnd(w->spread), r = rnd(1000);

	if (r < 6)
		transact(w);
	else if (r < 9)
		flush(w);
	else if (r < 40 && !w->open)
		pass(w);
	else if (r < 45) /* an alarm */
		assert_int_equal(hash_table_rebuild(w->s->store.table, w->s->store.table->root), 0);
	else if (r < 55 && set_wants(w->s))
		assert_int_equal(set_provide(w->s), 0);
	else if (r < 600)
		add(w, k);
	else if (r < 750)
		del(w, k);
	else if (r < 900 && w->desc.dynamic)
		packet_add(w, k);
	else if (w->desc.dynamic)
		packet_remove(w, k);
}

/* All that was there comes again, but for some; or others come. */
static void refill(struct world *w)
{
	bool others = !rnd(3);

	if (!w->open)
		transact(w);
	flush(w);
	for (uint32_t i = 0; i < w->spread; i++) {
		if (w->k[i].shown.there != others && rnd(50))
			add(w, i);
		if (!rnd(40) && w->desc.dynamic)
			packet_add(w, rnd(w->spread));
		if (!rnd(40) && w->desc.dynamic)
			packet_remove(w, rnd(w->spread));
	}
	check(w);
	transact(w);
	check(w);
}

static void run(struct set_desc d, unsigned len, bool ready)
{
	const char *soak = getenv("TAMIS_SOAK");
	unsigned steps = soak ? (unsigned)(strtoul(soak, NULL, 10) / 16) : 6000;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world *w = calloc(1, sizeof(*w));

		rng = seed * 0x9e3779b97f4a7c15;
		w->now = 1000;
		w->len = len;
		w->spread = seed % 2 ? KEYS : 100;
		assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &w->rcu), 0);
		d.n_fields = 1;
		d.field_len[0] = (uint8_t)len;
		d.rcu = w->rcu;
		d.data_use = d.data_len ? count_data : NULL;
		d.data_ctx = w;
		w->desc = d;
		assert_int_equal(set_new(&d, &w->s), 0);
		if (ready)
			assert_int_equal(set_expect_updates(w->s, NULL, SET_NEVER, 1024), 0);
		for (unsigned i = 0; i < steps; i++) {
			step(w);
			if (i % 500 == 499)
				refill(w);
			if (!rnd(40))
				check(w);
			if (ready) /* what packets take is there again */
				assert_int_equal(set_provide(w->s), 0);
		}
		set_free(w->s);
		for (unsigned i = 0; i < VALUES; i++)
			assert_int_equal(w->uses[i], 0);
		rcu_free(w->rcu);
		free(w);
	}
}

static void plain(void **state)
{
	run((struct set_desc){.dynamic = true}, 4, false);
	run((struct set_desc){.dynamic = false}, 4, false);
}

static void long_keys(void **state)
{
	run((struct set_desc){.dynamic = true, .timeout = true}, 16, false);
	run((struct set_desc){.dynamic = true, .timeout = true}, 7, true);
}

static void maps(void **state)
{
	run((struct set_desc){.dynamic = true, .timeout = true, .data_len = 4}, 4, false);
	run((struct set_desc){.dynamic = true, .timeout = true, .data_len = 4}, 36, true);
}

/* --- what it costs -------------------------------------------------------------------------- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(long_keys),
		cmocka_unit_test(maps),
		cmocka_unit_test(lifetime_apart),
		cmocka_unit_test(same_costs_marks),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	printf("# hash beside rcu: %" PRIu64 " changes\n", done);
	return failed;
}
