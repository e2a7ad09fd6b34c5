/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of set with an rcu against the two views of set_views.h, under seeded random
 * operations: transactions that are committed or undone, flushes and what is added again, changes
 * and refreshes by packets meanwhile, time that passes, limits that change; data and states of what
 * a worker has found are there until it is quiet. Some seconds; TAMIS_SOAK says how many steps of
 * each kind, TAMIS_SEED gives other ones.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "rcu/rcu.h"
#include "set/hash_table_internal.h"
#include "set/set_internal.h"
#include "set_random.h"
#include "set_views.h"

enum { VALUES = 4, HELD = 64 };

/* How one kind is tried. */
struct trial {
	struct set_desc d;
	uint32_t spread, width;
	unsigned check_each, steps;
	unsigned fill; /* elements to begin with */
	bool states;   /* of every element, rather than of some in sets without any */
	bool ready;    /* packets make no memory */
};

struct world {
	const struct trial *t;
	struct views v;
	struct set *s;
	struct rcu *rcu;
	struct rcu_worker *reader;
	uint64_t now;
	bool stale; /* something expired that may not have been taken out yet */
	bool online;
	unsigned exts; /* states alive */
	int64_t uses[VALUES];
	VEC(uint32_t) seen; /* by id */
	struct set_stats stats;
	/* What the reader looks at until it is quiet. */
	unsigned n_held;
	struct {
		const void *data;
		const struct ext *ext;
		uint32_t value, seen;
	} held[HELD];
};

static struct {
	uint64_t steps, lookups, transactions;
} done[4];

static uint64_t no_time(void *ctx)
{
	return 0;
}

static void count_data(void *ctx, const void *data, int delta)
{
	struct world *w = ctx;
	uint32_t v;

	memcpy(&v, data, sizeof(v));
	w->uses[v] += delta;
}

static bool is_hash(const struct world *w)
{
	return !w->v.next.desc.interval;
}

static uint32_t *seen_of(struct world *w, const struct model_elem *e)
{
	while (w->seen.n <= e->id)
		assert_int_equal(vec_push(&w->seen, 0), 0);
	return &w->seen.items[e->id];
}

/* --- a worker ------------------------------------------------------------------------------- */

/* What it found is still there; then it is quiet. */
static void let_go(struct world *w)
{
	for (unsigned i = 0; i < w->n_held; i++) {
		if (w->held[i].data)
			assert_memory_equal(w->held[i].data, &w->held[i].value, 4);
		if (w->held[i].ext)
			assert_true(w->held[i].ext->seen >= w->held[i].seen);
	}
	w->n_held = 0;
	if (w->online)
		rcu_offline(w->reader);
	w->online = false;
	while (rcu_poll(w->rcu))
		;
}

static void hold(struct world *w, const struct set_elem *e)
{
	const void *data = set_elem_data(w->s, e);

	if (!w->online || w->n_held == HELD || elem_is_bare(e))
		return;
	w->held[w->n_held].ext = set_elem_ext(w->s, e);
	w->held[w->n_held].seen = w->held[w->n_held].ext ? w->held[w->n_held].ext->seen : 0;
	if (data)
		memcpy(&w->held[w->n_held].value, data, 4);
	w->held[w->n_held++].data = data;
}

/* --- checks --------------------------------------------------------------------------------- */

static void check_elem(struct world *w, const struct set_view *v, const struct model_elem *e)
{
	const struct set_desc *d = &w->v.next.desc;

	assert_int_equal(v->catchall, e->catchall);
	if (!e->catchall) {
		assert_memory_equal(v->lo, e->lo, w->v.next.len);
		assert_memory_equal(v->hi, e->hi, w->v.next.len);
	}
	assert_int_equal(v->timeout_ns, e->timeout);
	assert_int_equal(v->expires_in_ns, e->expires == UINT64_MAX ? 0 : e->expires - w->now);
	assert_int_equal(v->comment != NULL, e->comment);
	if (d->data_len)
		assert_memory_equal(v->data, &e->data, 4);
	assert_int_equal(v->ext != NULL, e->state != NULL);
	if (e->state) {
		assert_string_equal(((const struct ext *)v->ext)->text, e->state);
		assert_int_equal(((const struct ext *)v->ext)->seen, *seen_of(w, e));
	}
}

static void check_burst(struct world *w, const struct model *lit, uint8_t keys[64][SET_KEY_MAX],
			uint64_t mask)
{
	struct set_elem *hit[64] = {0};
	uint64_t now[64];

	for (unsigned i = 0; i < 64; i++)
		now[i] = w->now;
	uint64_t found = set_lookup(w->s, keys, SET_KEY_MAX, mask, now, hit);
	if (!rnd(4)) {
		assert_int_equal(set_lookup(w->s, keys, SET_KEY_MAX, mask, now, NULL), found);
		w->stats.hits += (unsigned)__builtin_popcountll(found);
	}
	w->stats.hits += (unsigned)__builtin_popcountll(found);
	done[set_kind_of(w->s)].lookups += (unsigned)__builtin_popcountll(mask);
	for (unsigned i = 0; i < 64; i++) {
		int at = mask >> i & 1 ? model_match(lit, keys[i]) : -1;
		assert_int_equal(found >> i & 1, at >= 0);
		if (at < 0) {
			assert_null(hit[i]);
			continue;
		}
		const struct model_elem *e = &lit->e[at];
		struct ext *ext = set_elem_ext(w->s, hit[i]);
		if (w->v.next.desc.data_len)
			assert_memory_equal(set_elem_data(w->s, hit[i]), &e->data, 4);
		assert_int_equal(ext != NULL, e->state != NULL);
		if (ext) {
			assert_string_equal(ext->text, e->state);
			assert_int_equal(ext->seen, *seen_of(w, e));
			ext->seen = ++*seen_of(w, e);
		}
		hold(w, hit[i]);
		if (is_hash(w)) /* the table tells lifetimes of what the control thread sees */
			continue;
		struct set_view v;
		set_elem_view(w->s, hit[i], w->now, &v);
		check_elem(w, &v, e);
	}
}

/* Keys of what is shown, of what will be, and others; all that is shown if it is told so. */
static void check_lookups(struct world *w, bool all)
{
	const struct model *lit = views_light(&w->v, w->now), *next = &w->v.next;
	uint8_t keys[64][SET_KEY_MAX];

	for (unsigned at = 0; at <= lit->n; at += 40) {
		unsigned from = all || !lit->n ? at : rnd(lit->n);
		for (unsigned i = 0; i < 64; i++) {
			random_key(&next->desc, w->t->spread, keys[i]);
			if (i < 40 && from + i < lit->n)
				memcpy(keys[i], rnd(2) ? lit->e[from + i].lo : lit->e[from + i].hi,
				       lit->len);
			else if (i < 52 && next->n)
				memcpy(keys[i], next->e[rnd(next->n)].lo, next->len);
		}
		check_burst(w, lit, keys, all ? ~0ULL : rnd(5) ? rng | 1 : 1ULL << rnd(64));
		if (!all)
			break;
	}
}

static void check_listing(struct world *w)
{
	static struct model sorted;
	uint8_t from[SET_KEY_MAX];
	struct set_cursor *c;
	struct set_view v;
	unsigned i = 0;
	bool whole = rnd(2), arrival = set_kind_of(w->s) == SET_CONCAT && whole && rnd(2);

	model_copy(&sorted, &w->v.next);
	sorting = &sorted;
	if (!arrival)
		qsort(sorted.e, sorted.n, sizeof(sorted.e[0]), listing_order);
	random_key(&sorted.desc, w->t->spread, from);
	assert_int_equal(set_cursor_open(w->s, arrival ? SET_CURSOR_ARRIVAL : SET_CURSOR_USER,
					 whole ? NULL : from, w->now, &c),
			 0);
	int all = model_find(&sorted, NULL, NULL);
	if (arrival && all >= 0) { /* the last one */
		struct model_elem e = sorted.e[all];
		model_drop(&sorted, (unsigned)all);
		sorted.e[sorted.n++] = e;
	}
	for (;; i++) {
		bool more = set_cursor_next(c, &v);
		while (!whole && i < sorted.n && !sorted.e[i].catchall &&
		       memcmp(sorted.e[i].hi, from, sorted.len) < 0)
			i++;
		assert_int_equal(more, i < sorted.n);
		if (!more)
			break;
		check_elem(w, &v, &sorted.e[i]);
	}
	set_cursor_close(c);
}

static void check_counts(struct world *w)
{
	const struct model *next = &w->v.next;
	const struct set_stats *st = set_stats_of(w->s);
	uint64_t due = UINT64_MAX;
	int64_t uses[VALUES] = {0};
	unsigned states = 0;

	assert_int_equal(set_count(w->s, w->now), next->n);
	if (!w->v.open) {
		while (set_gc(w->s, w->now, 1000))
			;
		let_go(w);
		w->stale = false;
	}
	for (unsigned i = 0; i < next->n; i++) {
		uses[next->e[i].data]++;
		states += next->e[i].state != NULL;
		due = MIN(due, next->e[i].expires);
	}
	assert_true(set_next_due(w->s) <= due);
	if (next->desc.data_len && !w->stale)
		assert_memory_equal(uses, w->uses, sizeof(uses));
	if (!w->v.open)
		assert_int_equal(states, w->exts);
	assert_int_equal(st->hits, w->stats.hits);
	assert_int_equal(st->added, w->stats.added);
	assert_int_equal(st->full, w->stats.full);
	assert_int_equal(st->unready, 0);
}

static void check_get(struct world *w)
{
	const struct model *next = &w->v.next;
	uint8_t key[SET_KEY_MAX];
	struct set_view v;

	random_key(&next->desc, w->t->spread, key);
	if (next->n && rnd(2))
		memcpy(key, next->e[rnd(next->n)].lo, next->len);
	int at = model_match(next, key);
	if (set_kind_of(w->s) == SET_INTERVAL && next->desc.auto_merge)
		return; /* tells merged ranges */
	bool there = at >= 0 && !next->e[at].catchall;
	assert_int_equal(set_get(w->s, key, NULL, w->now, &v), there ? 0 : -ENOENT);
	if (there)
		check_elem(w, &v, &next->e[at]);
}

static void check(struct world *w, bool all)
{
	check_counts(w);
	check_lookups(w, all);
	check_get(w);
	if (all || !rnd(4))
		check_listing(w);
}

/* --- operations ----------------------------------------------------------------------------- */

static void random_item(struct world *w, struct set_item *item, uint32_t *data)
{
	static const uint64_t timeouts[] = {0, 0, 5, 20, 100, SET_NEVER};
	const struct set_desc *d = &w->v.next.desc;

	*data = rnd(VALUES);
	item->data = d->data_len ? data : NULL;
	item->comment = rnd(8) ? NULL : "c";
	if (!rnd(4))
		item->template = w->t->states ? "a longer one" : rnd(4) ? NULL : "one";
	if (!d->timeout)
		return;
	item->timeout_ns = timeouts[rnd(ARRAY_SIZE(timeouts))];
	if (!rnd(4))
		item->expires_in_ns = 1 + rnd(30);
}

/* The same as an element of the model is. */
static struct set_item item_of(struct world *w, const struct model_elem *e)
{
	bool mortal = w->v.next.desc.timeout;

	return (struct set_item){.lo = e->lo,
				 .hi = e->hi,
				 .catchall = e->catchall,
				 .data = w->v.next.desc.data_len ? &e->data : NULL,
				 .comment = e->comment ? "c" : NULL,
				 .template = e->state,
				 .timeout_ns = e->timeout ? e->timeout
					       : mortal	  ? SET_NEVER
							  : 0};
}

static bool is_crammed(const struct world *w)
{
	return w->v.next.n > MODEL_MAX - 16 || w->v.shown.n > MODEL_MAX - 16;
}

static void add(struct world *w, const struct set_item *item, unsigned flags)
{
	if (is_crammed(w))
		return;
	assert_int_equal(set_add(w->s, item, flags, w->now, NULL),
			 views_add(&w->v, item, flags, w->now));
}

static void packet_update(struct world *w, struct set_item item)
{
	enum set_update_mode mode = rnd(2) ? SET_UPDATE_ADD : SET_UPDATE_REFRESH;
	struct set_elem *out;
	const uint8_t *key = item.lo;

	item.hi = item.comment = NULL;
	item.expires_in_ns = 0;
	if (!is_hash(w)) {
		assert_int_equal(set_update(w->s, mode, &item, w->now, &out), -EOPNOTSUPP);
		return;
	}
	if (is_crammed(w))
		return;
	struct model *next = &w->v.next;
	struct model_elem *e = views_packet_find(&w->v, key, w->now);
	uint64_t t = item.timeout_ns ? item.timeout_ns : next->desc.timeout_ns;
	int got = set_update(w->s, mode, &item, w->now, &out);
	t = t == SET_NEVER ? 0 : t;
	if (e) {
		assert_int_equal(got, 0);
		if (next->desc.data_len)
			assert_memory_equal(set_elem_data(w->s, out), &e->data, 4);
		if (mode == SET_UPDATE_REFRESH && e->timeout && t)
			views_packet_refresh(&w->v, e, w->now + t);
		return;
	}
	bool hidden = w->v.open && model_find(next, key, key) >= 0;
	bool full = next->desc.size && model_size(next) >= next->desc.size;
	bool unsure = w->v.open && w->v.lost; /* an expired one of the transaction is in the way */
	int want = full ? -ENFILE : 1;
	if (!unsure || got != -ENFILE)
		assert_int_equal(got, unsure ? 1 : want);
	w->stats.full += got == -ENFILE;
	w->stats.added += got == 1;
	if (got != 1)
		return;
	if (unsure && !hidden)
		hidden = !set_find(w->s, key, NULL, w->now);
	struct model_elem new = {.data = 0,
				 .timeout = t,
				 .expires = t ? w->now + t : UINT64_MAX,
				 .state = item.template ? item.template : next->desc.ext_ctx};
	if (item.data)
		memcpy(&new.data, item.data, 4);
	memcpy(new.lo, key, next->len);
	memcpy(new.hi, key, next->len);
	views_packet_put(&w->v, new, !hidden);
}

static void packet_remove(struct world *w, const uint8_t *key)
{
	assert_int_equal(set_remove(w->s, key, w->now),
			 is_hash(w) ? views_packet_remove(&w->v, key, w->now) : -EOPNOTSUPP);
}

static void flush(struct world *w)
{
	assert_int_equal(set_flush(w->s, w->now), 0);
	w->v.next.n = 0;
}

static void begin(struct world *w)
{
	done[set_kind_of(w->s)].transactions++;
	assert_int_equal(set_begin(w->s), 0);
	views_begin(&w->v);
}

/*
 * What the set knows better after a rollback: whether a packet came by while an element that lives
 * again was dead, and what became of one that was mistaken.
 */
static void learn(struct world *w, const struct model *shown)
{
	struct model *next = &w->v.next;

	for (unsigned i = 0; is_hash(w) && i < shown->n; i++) {
		const struct model_elem *e = &shown->e[i];
		struct set_elem *there = e->catchall ? NULL : set_find(w->s, e->lo, NULL, w->now);
		bool revived = e->expires <= w->now && views_old_expires(e) > w->now;
		int at = model_find(next, e->catchall ? NULL : e->lo, e->hi);
		struct set_view v;
		bool mistaken = at >= 0 && !e->catchall && views_mistaken(&w->v, e);
		if ((revived || mistaken) && !e->catchall && !there)
			model_drop(next, (unsigned)at);
		if (!there || !mistaken)
			continue;
		set_elem_view(w->s, there, w->now, &v);
		next->e[at].timeout = v.timeout_ns;
		next->e[at].expires = v.expires_in_ns ? w->now + v.expires_in_ns : UINT64_MAX;
	}
}

static void end(struct world *w, bool commit)
{
	static struct model shown;

	let_go(w);
	if (commit) {
		assert_int_equal(set_commit(w->s, UINT64_MAX), 0);
		w->v.open = false;
		return;
	}
	model_copy(&shown, &w->v.shown);
	set_rollback(w->s);
	views_rollback(&w->v);
	learn(w, &shown);
	views_expire(&w->v, w->now);
	w->stale = true;
}

static void change_desc(struct world *w)
{
	struct set_desc *d = &w->v.next.desc;
	uint32_t size = rnd(3) ? w->t->d.size : w->v.next.n + rnd(9) - 4;
	uint64_t timeout = d->timeout ? rnd(3) * 30 : 0;
	bool few = size && size < model_size(&w->v.next);

	size = w->t->d.size ? size : 0;
	few = few && size;
	assert_int_equal(set_change(w->s, size, timeout, 7, w->now), few ? -ENFILE : 0);
	if (few)
		return;
	d->size = size;
	d->timeout_ns = timeout;
}

static void pass(struct world *w)
{
	w->now += rnd(8);
	unsigned n = w->v.next.n;
	views_expire(&w->v, w->now);
	w->stale |= n != w->v.next.n || w->v.open;
}

/* All that was there comes again, but for some; or others come. */
static void refill(struct world *w)
{
	static struct model before;
	struct set_item item;
	uint8_t key[SET_KEY_MAX], hi[SET_KEY_MAX];
	uint32_t data;
	bool others = !rnd(3);

	if (!w->v.open)
		begin(w);
	model_copy(&before, views_light(&w->v, w->now));
	flush(w);
	for (unsigned i = 0; i < before.n; i++) {
		item = item_of(w, &before.e[i]);
		if (others) {
			random_range(&before.desc, w->t->spread, w->t->width, key, hi);
			item.lo = key;
			item.hi = hi;
		}
		if (rnd(50))
			add(w, &item, 0);
		random_key(&before.desc, w->t->spread, key);
		item = (struct set_item){.lo = key};
		random_item(w, &item, &data);
		if (!rnd(20))
			packet_update(w, item);
		if (!rnd(20))
			packet_remove(w, before.e[rnd(before.n)].lo);
		if (!rnd(200))
			pass(w);
	}
	check(w, true);
	end(w, rnd(2));
	check(w, true);
}

static void step(struct world *w)
{
	const struct model *next = &w->v.next, *shown = views_packets(&w->v);
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	struct set_item item = {.lo = lo, .hi = hi, .catchall = !rnd(50)};
	uint32_t r = rnd(1000), data;

	done[set_kind_of(w->s)].steps++;
	random_range(&next->desc, w->t->spread, w->t->width, lo, hi);
	const struct model *of = rnd(2) ? next : shown;
	if (of->n && rnd(2)) { /* of one that is there */
		const struct model_elem *e = &of->e[rnd(of->n)];
		memcpy(lo, e->lo, next->len);
		memcpy(hi, e->hi, next->len);
	}
	random_item(w, &item, &data);
	if (rcu_crowded(w->rcu))
		let_go(w);
	if (r < 8) {
		if (w->v.open)
			end(w, rnd(2));
		else
			begin(w);
	} else if (r < 10) {
		flush(w);
	} else if (r < 50 && !rnd(w->t->check_each)) {
		pass(w);
	} else if (r < 60) {
		set_gc(w->s, w->now, rnd(5));
	} else if (r < 65 && w->s->store.table) { /* an alarm */
		assert_int_equal(hash_table_rebuild(w->s->store.table, w->s->store.table->root), 0);
	} else if (r < 70) {
		change_desc(w);
	} else if (r < 80) {
		let_go(w);
	} else if (r < 90 && !w->online) {
		rcu_online(w->reader);
		w->online = true;
	} else if (r < 550) {
		add(w, &item, rnd(4) ? 0 : SET_ADD_EXCL);
	} else if (r < 700) {
		assert_int_equal(set_delete(w->s, &item, w->now), views_delete(&w->v, &item));
	} else if (item.catchall) {
		check_get(w);
	} else if (r < 880) {
		packet_update(w, item);
	} else {
		packet_remove(w, lo);
	}
	if (w->t->ready) /* what packets take is there again */
		assert_int_equal(set_provide(w->s), 0);
	if (!rnd(w->t->check_each))
		check(w, false);
}

static void run(const struct trial *t)
{
	const char *soak = getenv("TAMIS_SOAK"), *first = getenv("TAMIS_SEED");
	uint64_t from = first ? strtoull(first, NULL, 10) : 1;
	unsigned steps = soak ? (unsigned)(strtoul(soak, NULL, 10) / 24 + 1) : t->steps;

	for (uint64_t seed = from; seed < from + 3; seed++) {
		struct world *w = calloc(1, sizeof(*w));
		struct set_desc d = t->d;

		rng = seed * 0x9e3779b97f4a7c15;
		w->t = t;
		w->now = 1000;
		assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &w->rcu), 0);
		assert_int_equal(rcu_register(w->rcu, "reader", &w->reader), 0);
		rcu_offline(w->reader);
		d.rcu = w->rcu;
		d.ext_ctx = t->states ? "x" : NULL;
		d.ext_size = ext_size;
		d.ext_init = ext_make;
		d.ext_fini = ext_drop;
		ext_counter = &w->exts;
		d.data_use = count_data;
		d.data_ctx = w;
		w->v.next.desc = d;
		w->v.next.len = model_key_len(&d);
		assert_int_equal(set_new(&d, &w->s), 0);
		if (t->ready)
			assert_int_equal(set_expect_updates(w->s, "a longer one", 5, 1024), 0);
		if (t->fill && rnd(2))
			set_expect(w->s, t->fill);
		for (unsigned i = 0; i < t->fill; i++) {
			uint8_t key[SET_KEY_MAX], hi[SET_KEY_MAX];
			uint32_t data = rnd(VALUES);
			random_range(&d, t->spread, t->width, key, hi);
			add(w,
			    &(struct set_item){
				    .lo = key, .hi = hi, .data = d.data_len ? &data : NULL},
			    0);
		}
		for (unsigned i = 0; i < steps; i++) {
			step(w);
			if (i % 500 == 499)
				refill(w);
		}
		let_go(w);
		set_free(w->s);
		for (unsigned i = 0; i < VALUES; i++)
			assert_int_equal(w->uses[i], 0);
		rcu_unregister(w->reader);
		rcu_poll(w->rcu);
		assert_int_equal(w->exts, 0);
		rcu_free(w->rcu);
		vec_free(&w->seen);
		vec_free(&w->v.given);
		free(w);
	}
}

enum { STEPS = 5000 };

/* --- kinds ---------------------------------------------------------------------------------- */

static void hash(void **state)
{
	static const uint8_t lens[] = {1, 2, 4, 7, 16, 36};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		struct trial t = {.d = {.n_fields = 1, .field_len = {lens[i]}, .dynamic = true},
				  .spread = 200,
				  .width = 1,
				  .check_each = 4,
				  .steps = STEPS};
		run(&t);
		t.d.timeout = true;
		t.d.timeout_ns = i % 2 ? 50 : 0;
		t.states = i % 3 == 1;
		run(&t);
		t.d.size = 60;
		t.d.data_len = i % 2 ? 4 : 0;
		t.states = !(i % 3);
		run(&t);
		t.d.size = 0;
		t.d.data_len = i % 2 ? 0 : 4;
		t.ready = true;
		run(&t);
	}
}

/* Many segments, which split and merge. */
static void large_hash(void **state)
{
	static const uint8_t lens[] = {4, 16};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		struct trial t = {.d = {.n_fields = 1,
					.field_len = {lens[i]},
					.dynamic = true,
					.data_len = i ? 4 : 0},
				  .spread = 6000,
				  .width = 1,
				  .check_each = 40,
				  .steps = STEPS / 2,
				  .fill = 2500};
		run(&t);
		t.d.timeout = true;
		t.d.size = 3000;
		run(&t);
	}
}

static void interval(void **state)
{
	static const uint8_t lens[] = {1, 2, 4, 16};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		struct trial t = {.d = {.n_fields = 1, .field_len = {lens[i]}, .interval = true},
				  .spread = lens[i] == 1 ? 250 : 2000,
				  .width = 20,
				  .check_each = 4,
				  .steps = STEPS};
		run(&t);
		t.d.timeout = true;
		t.d.timeout_ns = i % 2 ? 50 : 0;
		t.states = i % 2;
		run(&t);
		t.d.size = 60;
		t.d.data_len = 4;
		run(&t);
	}
}

static void merged(void **state)
{
	static const uint8_t lens[] = {1, 2, 4};

	for (unsigned i = 0; i < ARRAY_SIZE(lens); i++) {
		struct trial t = {.d = {.n_fields = 1,
					.field_len = {lens[i]},
					.interval = true,
					.auto_merge = true},
				  .spread = 250,
				  .width = 30,
				  .check_each = 4,
				  .steps = STEPS};
		run(&t);
		t.d.timeout = true;
		t.d.size = i % 2 ? 0 : 60;
		run(&t);
	}
}

/* Pages and slots of their own: elements within a slot, across them, many in one. */
static void forest(void **state)
{
	for (shift = 6; shift <= 16; shift += 5) {
		struct trial t = {.d = {.n_fields = 1,
					.field_len = {4},
					.interval = true,
					.timeout = true,
					.data_len = 4},
				  .spread = 60000,
				  .width = 5,
				  .check_each = 20,
				  .steps = STEPS / 2,
				  .fill = 600};
		run(&t);
		t.d.data_len = 0;
		t.d.auto_merge = true;
		t.d.size = 1500;
		t.width = 200;
		run(&t);
	}
	shift = 0;
}

static void concat(void **state)
{
	struct trial t = {.d = {.n_fields = 2, .field_len = {4, 2}, .interval = true},
			  .spread = 40,
			  .width = 10,
			  .check_each = 4,
			  .steps = STEPS};
	run(&t);
	t.d.timeout = true;
	t.d.timeout_ns = 50;
	t.states = true;
	run(&t);
	t.d = (struct set_desc){.n_fields = 3,
				.field_len = {1, 16, 2},
				.interval = true,
				.data_len = 4,
				.timeout = true,
				.size = 60};
	t.spread = 12;
	t.width = 6;
	run(&t);
	t.d = (struct set_desc){.n_fields = 2, .field_len = {2, 2}, .interval = true};
	t.spread = 60000;
	t.width = 3000;
	t.check_each = 20;
	t.fill = 600;
	t.states = false;
	run(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash),	  cmocka_unit_test(large_hash), cmocka_unit_test(interval),
		cmocka_unit_test(merged), cmocka_unit_test(forest),	cmocka_unit_test(concat),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

#define SAY(kind, text)                                                                            \
	if (done[SET_##kind].steps)                                                                \
		printf("# %s beside rcu: %" PRIu64 " steps, %" PRIu64 " transactions, %" PRIu64    \
		       " lookups\n",                                                               \
		       text, done[SET_##kind].steps, done[SET_##kind].transactions,                \
		       done[SET_##kind].lookups);
	SET_KINDS(SAY)
#undef SAY
	return failed;
}
