/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of set against the naive reference of set_model.h, under seeded random operations:
 * some ten thousand a run, or as many as TAMIS_SOAK says. TAMIS_SEED gives other ones. At the end
 * it says how many there were of each kind.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set_random.h"

struct run {
	struct set *s;
	struct model *m, *saved;
	uint64_t now;
	uint32_t spread, width;
	int64_t data_uses[4];
	unsigned exts; /* states alive */
	bool with_ext;
	unsigned check_each; /* steps */
	unsigned fill;	     /* elements to begin with, and after a flush */
};

/* Of each kind, enum set_kind. */
static struct {
	uint64_t changes, lookups, runs;
	unsigned most; /* elements at a time */
} done[4];

static void count_data(void *ctx, const void *data, int delta)
{
	struct run *r = ctx;
	uint32_t v;
	memcpy(&v, data, sizeof(v));
	r->data_uses[v] += delta;
}

static void check_lookup(struct run *r)
{
	uint8_t keys[64][SET_KEY_MAX];
	uint64_t now[64];
	struct set_elem *hit[64] = {0};
	uint64_t mask = rng | 1;

	for (unsigned i = 0; i < 64; i++) {
		random_key(&r->m->desc, r->spread, keys[i]);
		now[i] = r->now;
	}
	for (unsigned i = 0; r->fill && r->m->n && i < 64; i += 2) /* of those that are there */
		memcpy(keys[i], r->m->e[rnd(r->m->n)].lo, r->m->len);
	uint64_t found = set_lookup(r->s, keys, SET_KEY_MAX, mask, now, hit);
	done[set_kind_of(r->s)].lookups += (unsigned)__builtin_popcountll(mask);
	for (unsigned i = 0; i < 64; i++) {
		int want = mask >> i & 1 ? model_match(r->m, keys[i]) : -1;
		assert_int_equal(found >> i & 1, want >= 0);
		if (want < 0) {
			assert_null(hit[i]);
			continue;
		}
		struct set_view v;
		const struct model_elem *e = &r->m->e[want];
		set_elem_view(r->s, hit[i], r->now, &v);
		assert_int_equal(v.catchall, e->catchall);
		assert_memory_equal(v.lo, e->lo, r->m->len);
		if (!e->catchall)
			assert_memory_equal(v.hi, e->hi, r->m->len);
		assert_int_equal(v.timeout_ns, e->timeout);
		assert_int_equal(v.expires_in_ns,
				 e->expires == UINT64_MAX ? 0 : e->expires - r->now);
		if (r->m->desc.data_len)
			assert_memory_equal(v.data, &e->data, sizeof(e->data));
		assert_int_equal(v.comment != NULL, e->comment);
		assert_int_equal(v.ext != NULL, e->state != NULL);
		if (e->state)
			assert_string_equal(((const struct ext *)v.ext)->text, e->state);
	}
}

static void check_listing(struct run *r)
{
	static struct model sorted;
	struct set_cursor *c;
	struct set_view v;
	unsigned i = 0;
	uint8_t from[SET_KEY_MAX];
	bool all = rnd(2);

	memcpy(&sorted, r->m, sizeof(sorted));
	sorting = &sorted;
	qsort(sorted.e, sorted.n, sizeof(sorted.e[0]), listing_order);
	random_key(&r->m->desc, r->spread, from);
	assert_int_equal(set_cursor_open(r->s, SET_CURSOR_USER, all ? NULL : from, r->now, &c), 0);
	while (set_cursor_next(c, &v)) {
		while (!all && !sorted.e[i].catchall &&
		       memcmp(sorted.e[i].hi, from, sorted.len) < 0)
			i++;
		assert_true(i < sorted.n);
		assert_int_equal(v.catchall, sorted.e[i].catchall);
		assert_memory_equal(v.lo, sorted.e[i].lo, sorted.len);
		i++;
	}
	while (!all && i < sorted.n && memcmp(sorted.e[i].hi, from, sorted.len) < 0)
		i++;
	assert_int_equal(i, sorted.n);
	set_cursor_close(c);
}

/* The merged view of keys of one byte: the same keys with the same lifetimes, and nothing to merge.
 */
static void check_merged(struct run *r)
{
	struct set_cursor *c;
	struct set_view v[2 * MODEL_MAX / 8];
	unsigned n = 0;

	assert_int_equal(set_cursor_open(r->s, SET_CURSOR_MERGED, NULL, r->now, &c), 0);
	while (set_cursor_next(c, &v[n]))
		if (!v[n].catchall)
			n++;
	set_cursor_close(c);
	for (unsigned i = 0; i < n; i++) {
		assert_true(!i || v[i - 1].lo[0] <= v[i].lo[0]);
		for (unsigned k = v[i].lo[0]; k <= v[i].hi[0]; k++) {
			bool any = false;
			for (unsigned j = 0; j < r->m->n; j++) {
				const struct model_elem *e = &r->m->e[j];
				uint64_t left = e->expires == UINT64_MAX ? 0 : e->expires - r->now;
				any |= !e->catchall && e->lo[0] <= k && k <= e->hi[0] &&
				       left == v[i].expires_in_ns && e->timeout == v[i].timeout_ns;
			}
			assert_true(any);
		}
		for (unsigned j = 0; j < n && !r->with_ext; j++)
			if (i != j && v[i].expires_in_ns == v[j].expires_in_ns &&
			    v[i].timeout_ns == v[j].timeout_ns)
				assert_true(v[i].hi[0] + 1 < v[j].lo[0] ||
					    v[j].hi[0] + 1 < v[i].lo[0]);
	}
	for (unsigned j = 0; j < r->m->n; j++) {
		const struct model_elem *e = &r->m->e[j];
		bool any = e->catchall;
		for (unsigned i = 0; i < n; i++)
			any |= v[i].lo[0] <= e->lo[0] && e->hi[0] <= v[i].hi[0];
		assert_true(any);
	}
}

static void check_all(struct run *r)
{
	assert_int_equal(set_count(r->s, r->now), r->m->n);
	check_lookup(r);
	if (!rnd(8))
		check_listing(r);
	if (!rnd(8) && model_merges(r->m) && r->m->len == 1)
		check_merged(r);
	if (r->m->desc.data_len && !set_in_transaction(r->s)) {
		int64_t want[4] = {0};
		set_gc(r->s, r->now, UINT32_MAX);
		for (unsigned i = 0; i < r->m->n; i++)
			want[r->m->e[i].data]++;
		assert_memory_equal(want, r->data_uses, sizeof(want));
	}
	if (r->with_ext && !set_in_transaction(r->s)) {
		set_gc(r->s, r->now, UINT32_MAX);
		assert_int_equal(r->exts, r->m->n);
	}
}

static void random_lifetime(struct run *r, struct set_item *item)
{
	if (!r->m->desc.timeout)
		return;
	static const uint64_t timeouts[] = {0, 0, 5, 20, 100, SET_NEVER};
	item->timeout_ns = timeouts[rnd(ARRAY_SIZE(timeouts))];
	if (!rnd(4))
		item->expires_in_ns = 1 + rnd(30);
}

static void update(struct run *r, struct set_item *item)
{
	struct set_elem *e;
	enum set_update_mode mode = rnd(2) ? SET_UPDATE_ADD : SET_UPDATE_REFRESH;
	int i = model_find(r->m, item->lo, item->lo);
	int got, want;

	item->expires_in_ns = 0;
	item->hi = NULL;
	if (r->m->desc.interval) {
		assert_int_equal(set_update(r->s, mode, item, r->now, &e), -EOPNOTSUPP);
		return;
	}
	got = set_update(r->s, mode, item, r->now, &e);
	if (i < 0) {
		want = model_add(r->m, item, 0, r->now);
		assert_int_equal(got, want ? want : 1);
		return;
	}
	assert_int_equal(got, 0);
	uint64_t t = item->timeout_ns ? item->timeout_ns : r->m->desc.timeout_ns;
	if (mode == SET_UPDATE_REFRESH && r->m->e[i].timeout && t && t != SET_NEVER)
		r->m->e[i].expires = r->now + t;
}

static void transact(struct run *r)
{
	if (!set_in_transaction(r->s)) {
		assert_int_equal(set_begin(r->s), 0);
		memcpy(r->saved, r->m, sizeof(*r->m));
	} else if (rnd(2)) {
		assert_int_equal(set_commit(r->s, UINT64_MAX), 0);
	} else {
		set_rollback(r->s);
		memcpy(r->m, r->saved, sizeof(*r->m));
		model_expire(r->m, r->now);
	}
}

/* Many elements at once, as a list is loaded. */
static void fill(struct run *r)
{
	for (unsigned i = 0; i < r->fill; i++) {
		uint8_t key[SET_KEY_MAX];
		uint32_t data = rnd(4);
		struct set_item item = {.lo = key, .data = r->m->desc.data_len ? &data : NULL};
		random_key(&r->m->desc, r->spread, key);
		assert_int_equal(set_add(r->s, &item, 0, r->now, NULL),
				 model_add(r->m, &item, 0, r->now));
		done[set_kind_of(r->s)].changes++;
	}
}

static void step(struct run *r)
{
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	uint32_t data = rnd(4);
	struct set_item item = {.lo = lo, .hi = hi, .catchall = !rnd(50)};
	unsigned flags = rnd(4) ? 0 : SET_ADD_EXCL;

	random_range(&r->m->desc, r->spread, r->width, lo, hi);
	if (r->m->n && rnd(2)) { /* of one that is there */
		const struct model_elem *e = &r->m->e[rnd(r->m->n)];
		memcpy(lo, e->lo, r->m->len);
		memcpy(hi, e->hi, r->m->len);
	}
	unsigned what = rnd(20);
	done[set_kind_of(r->s)].changes += what < 2 || what > 4;
	done[set_kind_of(r->s)].most = MAX(done[set_kind_of(r->s)].most, r->m->n);
	if (r->fill && r->m->n > MODEL_MAX - 16)
		what = 8;
	switch (what) {
	case 0:
		transact(r);
		break;
	case 1:
		if (rnd(MAX(r->check_each * 5, 10U)))
			break;
		assert_int_equal(set_flush(r->s, r->now), 0);
		r->m->n = 0;
		fill(r);
		break;
	case 2:
	case 3:
	case 4:
		if (rnd(r->check_each)) /* of many elements few end at a time */
			break;
		r->now += rnd(8);
		model_expire(r->m, r->now);
		break;
	case 5:
		set_gc(r->s, r->now, rnd(5));
		break;
	case 6:
	case 7:
		item.data = r->m->desc.data_len ? &data : NULL;
		random_lifetime(r, &item);
		if (!item.catchall)
			update(r, &item);
		break;
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
		assert_int_equal(set_delete(r->s, &item, r->now), model_delete(r->m, &item));
		break;
	default:
		item.data = r->m->desc.data_len ? &data : NULL;
		item.comment = rnd(8) || model_merges(r->m) ? NULL : "c";
		item.template = r->with_ext && !rnd(4) ? "a longer one" : NULL;
		random_lifetime(r, &item);
		assert_int_equal(set_add(r->s, &item, flags, r->now, NULL),
				 model_add(r->m, &item, flags, r->now));
	}
	if (!rnd(r->check_each))
		check_all(r);
}

static void run_filled(struct set_desc d, uint32_t spread, uint32_t width, unsigned steps,
		       unsigned check_each, unsigned filled)
{
	const char *soak = getenv("TAMIS_SOAK"), *first = getenv("TAMIS_SEED");
	uint64_t from = first ? strtoull(first, NULL, 10) : 1;

	if (soak)
		steps = (unsigned)(strtoul(soak, NULL, 10) / 3 + 1);
	for (uint64_t seed = from; seed < from + 3; seed++) {
		struct run r = {.now = 1000,
				.spread = spread,
				.width = width,
				.check_each = check_each,
				.fill = filled};
		rng = seed * 0x9e3779b97f4a7c15;
		r.with_ext = seed == from + 1;
		d.ext_ctx = r.with_ext ? "x" : NULL;
		d.ext_size = ext_size;
		d.ext_init = ext_make;
		d.ext_fini = ext_drop;
		d.data_use = count_data;
		d.data_ctx = &r;
		ext_counter = &r.exts;
		r.m = calloc(1, sizeof(*r.m));
		r.saved = calloc(1, sizeof(*r.saved));
		r.m->desc = d;
		r.m->len = model_key_len(&d);
		assert_int_equal(set_new(&d, &r.s), 0);
		fill(&r);
		for (unsigned i = 0; i < steps; i++)
			step(&r);
		done[set_kind_of(r.s)].runs++;
		set_free(r.s);
		assert_int_equal(r.exts, 0);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(r.data_uses[i], 0);
		free(r.m);
		free(r.saved);
	}
}

static void run(struct set_desc d, uint32_t spread, uint32_t width, unsigned steps,
		unsigned check_each)
{
	run_filled(d, spread, width, steps, check_each, 0);
}

enum { STEPS = 6000 };

static void hash(void **state)
{
	run((struct set_desc){.n_fields = 1, .field_len = {4}}, 200, 1, STEPS, 1);
	run((struct set_desc){.n_fields = 1,
			      .field_len = {4},
			      .timeout = true,
			      .size = 40,
			      .timeout_ns = 50,
			      .dynamic = true},
	    100, 1, STEPS, 1);
}

static void hash_map(void **state)
{
	run(
		(struct set_desc){
			.n_fields = 3, .field_len = {4, 2, 16}, .data_len = 4, .timeout = true},
		5, 1, STEPS, 1);
}

static void bitmap(void **state)
{
	run((struct set_desc){.n_fields = 1, .field_len = {1}}, 256, 1, STEPS, 1);
	run((struct set_desc){.n_fields = 2, .field_len = {1, 1}, .size = 20}, 30, 1, STEPS, 1);
	/* One and two lines, bits, and back. */
	run((struct set_desc){.n_fields = 1, .field_len = {2}}, 60, 1, STEPS, 1);
	run((struct set_desc){.n_fields = 1, .field_len = {2}}, 3000, 1, 20000, 40);
}

static void interval(void **state)
{
	run((struct set_desc){.n_fields = 1, .field_len = {1}, .interval = true}, 250, 20, STEPS,
	    1);
	run((struct set_desc){.n_fields = 1,
			      .field_len = {16},
			      .interval = true,
			      .timeout = true,
			      .size = 20},
	    250, 10, STEPS, 1);
}

static void interval_map(void **state)
{
	run((struct set_desc){.n_fields = 1,
			      .field_len = {2},
			      .interval = true,
			      .data_len = 4,
			      .auto_merge = true,
			      .timeout = true,
			      .timeout_ns = 70},
	    250, 12, STEPS, 1);
}

static void auto_merge(void **state)
{
	run(
		(struct set_desc){
			.n_fields = 1, .field_len = {1}, .interval = true, .auto_merge = true},
		250, 30, STEPS, 1);
	run((struct set_desc){.n_fields = 1,
			      .field_len = {1},
			      .interval = true,
			      .auto_merge = true,
			      .timeout = true,
			      .size = 30},
	    250, 30, STEPS, 1);
}

static void concat(void **state)
{
	run((struct set_desc){.n_fields = 2, .field_len = {4, 2}, .interval = true}, 40, 10, STEPS,
	    1);
	run((struct set_desc){.n_fields = 3,
			      .field_len = {1, 16, 2},
			      .interval = true,
			      .data_len = 4,
			      .timeout = true,
			      .size = 60,
			      .auto_merge = true},
	    12, 6, STEPS, 1);
}

/* Elements of more than a key in a forest: over many slots, in few, across them. */
static void forest(void **state)
{
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .interval = true,
			     .data_len = 4,
			     .timeout = true,
			     .size = 1500};

	for (shift = 6; shift <= 16; shift += 5)
		run(d, 60000, 5, 12000, 40);
	d = (struct set_desc){.n_fields = 1,
			      .field_len = {4},
			      .interval = true,
			      .auto_merge = true,
			      .timeout = true,
			      .size = 1500};
	for (shift = 6; shift <= 16; shift += 5)
		run(d, 60000, 200, 12000, 40);
	shift = 0;
}

/* Trees of some height, and what transactions and nesting make of them. */
static void large(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {2}, .interval = true, .size = 3000};
	run(d, 65000, 8, 20000, 40);
	d.auto_merge = true;
	d.timeout = true;
	run(d, 65000, 300, 20000, 40);
	d.timeout = false;
	run(d, 65000, 300, 20000, 40);
	d.field_len[0] = 4;
	run(d, 65000, 300, 20000, 40);
	d.auto_merge = false;
	run(d, 65000, 8, 20000, 40);
	d.timeout = true;
	d.field_len[0] = 16;
	run(d, 65000, 8, 20000, 40);
	run((struct set_desc){.n_fields = 2, .field_len = {2, 2}, .interval = true, .size = 2000},
	    60000, 3000, 10000, 40);
	run((struct set_desc){.n_fields = 1, .field_len = {2}, .timeout = true, .size = 3500},
	    65000, 1, 20000, 40);
}

/* Exact keys of many segments, which split, merge and get columns while they are changed. */
static void large_hash(void **state)
{
	static const uint8_t lens[] = {4, 16, 36};

	for (unsigned l = 0; l < ARRAY_SIZE(lens); l++)
		for (unsigned map = 0; map < 2; map++) {
			struct set_desc d = {.n_fields = 1,
					     .field_len = {lens[l]},
					     .data_len = map ? 4 : 0,
					     .dynamic = true,
					     .size = map ? 3900 : 0};
			shift = map ? 8 : 0;
			run_filled(d, 60000, 1, 6000, 40, 3000);
			d.timeout = true;
			d.timeout_ns = map ? 100000 : 0;
			run_filled(d, 6000, 1, 4000, 40, 3000);
		}
	shift = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash),		cmocka_unit_test(hash_map),
		cmocka_unit_test(bitmap),	cmocka_unit_test(interval),
		cmocka_unit_test(interval_map), cmocka_unit_test(auto_merge),
		cmocka_unit_test(concat),	cmocka_unit_test(forest),
		cmocka_unit_test(large),	cmocka_unit_test(large_hash),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

#define SAY(kind, text)                                                                            \
	printf("# %s: %" PRIu64 " changes and %" PRIu64 " lookups in %" PRIu64                     \
	       " runs, up to %u elements\n",                                                       \
	       text, done[SET_##kind].changes, done[SET_##kind].lookups, done[SET_##kind].runs,    \
	       done[SET_##kind].most);
	SET_KINDS(SAY)
#undef SAY
	return failed;
}
