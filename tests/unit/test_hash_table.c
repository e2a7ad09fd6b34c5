/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table: every variant and key length against an array, under seeded random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

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

/* --- the reference -------------------------------------------------------------------------- */

struct elem {
	bool there, was; /* in the view of changes; when the transaction began */
	uint64_t expires, timeout, record;
	uint64_t old_record;
};

struct world {
	struct hash_table *t;
	unsigned len, n_keys;
	struct elem *e; /* by number of the key */
	uint64_t now, count;
	bool open, visible, records;
};

static uint64_t records_alive;

static void record_drop(struct rcu *rcu, void *record)
{
	free(record);
	records_alive--;
}

/* The key of a number: spread over all bytes. */
static void key_of(const struct world *w, unsigned i, uint8_t key[64])
{
	memset(key, 0, 64);
	for (unsigned b = 0; b < w->len; b++)
		key[b] = (uint8_t)(b < 4 ? i >> 8 * (b & 3) : i * 31 + b);
}

static unsigned key_number(const struct world *w, const uint8_t *key)
{
	unsigned i = 0;
	for (unsigned b = 0; b < MIN(w->len, 4); b++)
		i |= (unsigned)key[b] << 8 * b;
	return i;
}

static struct world make(const struct hash_table_ops *ops, unsigned len, unsigned n_keys,
			 bool records)
{
	struct world w = {.len = len,
			  .n_keys = MIN(n_keys, len == 1 ? 256U : 65536U),
			  .now = 1000,
			  .records = records};
	struct hash_table_config c = {.ops = ops, .key_len = len, .record_free = record_drop};
	assert_int_equal(hash_table_new(&c, &w.t), 0);
	w.e = calloc(w.n_keys, sizeof(*w.e));
	records_alive = 0;
	return w;
}

static void unmake(struct world *w)
{
	hash_table_free(w->t);
	assert_int_equal(records_alive, 0);
	free(w->e);
}

static void toggle(struct world *w, unsigned i, uint64_t expires, uint64_t timeout)
{
	uint8_t key[64];
	struct hash_pos pos;
	struct elem *e = &w->e[i];

	key_of(w, i, key);
	assert_int_equal(hash_table_lock(w->t, key, &pos), e->there);
	if (e->there) {
		assert_int_equal(hash_pos_word(&pos, HASH_EXPIRES), e->expires);
		assert_int_equal(hash_pos_word(&pos, HASH_TIMEOUT), e->timeout);
		assert_int_equal(hash_pos_word(&pos, HASH_RECORD), e->record);
		hash_table_drop(&pos);
		e->there = false;
		w->count--;
		return;
	}
	uint64_t record = w->records && rnd(2) ? (uintptr_t)malloc(8) : 0;
	records_alive += record != 0;
	assert_int_equal(hash_table_put(&pos, (uint64_t[]){expires, timeout, record}, 0), 0);
	hash_table_unlock(&pos);
	*e = (struct elem){true, e->was, expires, timeout, record, e->old_record};
	w->count++;
}

static void refresh(struct world *w, unsigned i, uint64_t expires)
{
	uint8_t key[64];
	struct hash_pos pos;

	key_of(w, i, key);
	if (hash_table_lock(w->t, key, &pos)) {
		assert_int_equal(hash_pos_set_word(&pos, HASH_EXPIRES, expires), 0);
		w->e[i].expires = expires;
	}
	hash_table_unlock(&pos);
}

static void check_lookup(struct world *w)
{
	uint8_t keys[64][64];
	uint64_t now[64], masks[] = {~0ULL, rng, (1ULL << rnd(64)) - 1, 1ULL << rnd(64)};
	uint64_t mask = masks[rnd(ARRAY_SIZE(masks))];
	struct set_elem *hit[64];
	unsigned number[64];
	bool in_old = w->open && !w->visible;

	for (unsigned i = 0; i < 64; i++) {
		number[i] = rnd(w->n_keys);
		key_of(w, number[i], keys[i]);
		now[i] = w->now + rnd(20);
	}
	uint64_t found = hash_table_lookup(w->t, keys[0], 64, mask, now, hit);
	assert_int_equal(hash_table_lookup(w->t, keys[0], 64, mask, now, NULL), found);
	assert_int_equal(found & ~mask, 0);
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const struct elem *e = &w->e[number[i]];
		uint64_t record = in_old ? e->old_record : e->record;
		uint8_t buf[8];
		if (in_old) { /* lifetimes of what is in both views may have changed */
			assert_true(!(found >> i & 1) || e->was);
		} else {
			assert_int_equal(found >> i & 1,
					 e->there && (!e->expires || now[i] < e->expires));
		}
		if (!(found >> i & 1))
			continue;
		if (record)
			assert_int_equal((uintptr_t)hit[i], record);
		else
			assert_memory_equal(hash_elem_key(w->t, hit[i], buf), keys[i], w->len);
	}
}

static struct world *walking;
static uint64_t walked;

static void walk_one(void *ctx, struct set_elem *e, const uint8_t *key, uint64_t expires)
{
	const struct elem *it = &walking->e[key_number(walking, key)];
	assert_true(it->there);
	assert_int_equal(expires, it->expires ? it->expires : UINT64_MAX);
	walked++;
}

static void check_all(struct world *w)
{
	uint64_t expired = 0, least = UINT64_MAX;

	walking = w;
	walked = 0;
	hash_table_each(w->t, walk_one, NULL);
	assert_int_equal(walked, w->count);
	assert_int_equal(hash_table_count(w->t), w->count);
	for (unsigned i = 0; i < w->n_keys; i++)
		if (w->e[i].there && w->e[i].expires) {
			expired += w->e[i].expires <= w->now;
			least = MIN(least, w->e[i].expires);
		}
	assert_int_equal(hash_table_expired(w->t, w->now), expired);
	assert_true(hash_table_next_due(w->t) <= least);
}

static bool gone(void *ctx, struct set_elem *e)
{
	struct world *w = ctx;
	uint8_t buf[8];

	if (elem_is_bare(e)) {
		struct elem *it = &w->e[key_number(w, hash_elem_key(w->t, e, buf))];
		assert_true(it->there && it->expires && it->expires <= w->now);
		it->there = false;
	} else {
		unsigned i = 0;
		while (!w->e[i].there || w->e[i].record != (uintptr_t)e)
			i++;
		assert_true(w->e[i].expires && w->e[i].expires <= w->now);
		w->e[i].there = false;
	}
	w->count--;
	return true;
}

static void expire(struct world *w, unsigned budget)
{
	unsigned steps = UINT32_MAX;
	uint64_t due = hash_table_expired(w->t, w->now);

	assert_int_equal(
		hash_table_expire(w->t, w->now, budget, &steps, (struct hash_how){0}, gone, w),
		MIN(due, budget));
}

static int64_t came;

static void settled(void *ctx, struct set_elem *e, int delta)
{
	came += delta;
}

static void transact(struct world *w)
{
	uint8_t key[64];

	if (!w->open) {
		w->open = true;
		w->visible = rnd(2);
		for (unsigned i = 0; i < w->n_keys; i++) {
			w->e[i].was = w->e[i].there;
			w->e[i].old_record = w->e[i].record;
		}
		hash_table_begin(w->t, w->visible);
		return;
	}
	bool commit = rnd(2);
	int64_t want = 0;
	came = 0;
	if (commit)
		hash_table_publish(w->t);
	else
		hash_table_revert(w->t);
	for (unsigned i = 0; i < w->n_keys; i++) {
		struct elem *e = &w->e[i];
		key_of(w, i, key);
		hash_table_settle(w->t, key, settled, NULL);
		if (commit)
			continue;
		want += e->was - e->there;
		w->count += e->was - (uint64_t)e->there;
		struct hash_pos pos;
		assert_int_equal(hash_table_lock(w->t, key, &pos), e->was);
		*e = (struct elem){.there = e->was};
		if (e->there) {
			e->expires = hash_pos_word(&pos, HASH_EXPIRES);
			e->timeout = hash_pos_word(&pos, HASH_TIMEOUT);
			e->record = hash_pos_word(&pos, HASH_RECORD);
		}
		hash_table_unlock(&pos);
	}
	hash_table_end(w->t);
	if (!commit)
		assert_int_equal(came, want);
	w->open = false;
}

static void random_run(const struct hash_table_ops *ops, unsigned len, unsigned n_keys,
		       bool records, bool lifetimes, unsigned steps)
{
	struct world w = make(ops, len, n_keys, records);
	unsigned window = w.n_keys;

	for (unsigned s = 0; s < steps; s++) {
		uint64_t end = lifetimes && rnd(3) ? w.now + 1 + rnd(3000) : 0;
		unsigned i = rnd(window);
		bool growing = s / (steps / 4) % 2 == 0;
		if (growing != w.e[i].there || !rnd(4))
			toggle(&w, i, end, lifetimes && rnd(2) ? rnd(100) : 0);
		if (lifetimes && !rnd(5) && !w.open)
			refresh(&w, rnd(window), end);
		if (!rnd(16))
			check_lookup(&w);
		if (!rnd(w.n_keys / 2))
			check_all(&w);
		if (!rnd(w.n_keys / 2))
			transact(&w);
		if (lifetimes && !rnd(8))
			w.now += rnd(20);
		if (lifetimes && !w.open && !rnd(50))
			expire(&w, rnd(2) ? rnd(30) : UINT32_MAX);
	}
	check_all(&w);
	unmake(&w);
}

static void random_ops(void **state)
{
	static const unsigned lens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 36, 64};

	for (unsigned v = 0; hash_table_variants[v]; v++) {
		const struct hash_table_ops *ops = hash_table_variants[v];
		if (!ops->usable())
			continue;
		for (unsigned l = 0; l < ARRAY_SIZE(lens); l++)
			for (unsigned kind = 0; kind < 4; kind++) {
				rng = 88172645463325252ULL + v * 1000 + l * 10 + kind;
				random_run(ops, lens[l], 3000, kind & 1, kind & 2, 2500);
			}
	}
}

/* Many elements come and go: all memory comes back, and it is as little as the header says. */
static void growth(void **state)
{
	enum { N = 60000 };
	for (unsigned len = 4; len <= 16; len += 12) {
		struct world w = make(NULL, len, N, false);
		size_t empty = hash_table_bytes(w.t);
		for (unsigned i = 0; i < N; i++) {
			toggle(&w, i, 0, 0);
			if (i == 5000 || i == 20000 || i == 45000 || i == N - 1) {
				double each = (double)hash_table_bytes(w.t) / (i + 1);
				assert_true(each < (len == 4 ? 9 : 35));
				assert_true(each > (len == 4 ? 4 : 20));
				check_all(&w);
			}
		}
		assert_int_equal(hash_table_count(w.t), N);
		for (unsigned i = 0; i < N; i++)
			check_lookup(&w), i += 100;
		for (unsigned i = 0; i < N; i++)
			toggle(&w, i, 0, 0);
		check_all(&w);
		assert_in_range(hash_table_bytes(w.t), empty, 6 * empty);
		unmake(&w);
	}
}

/* --- slots that rest ------------------------------------------------------------------------ */

static uint64_t no_time(void *ctx)
{
	return 0;
}

static uint64_t given_up(struct rcu *rcu)
{
	struct rcu_stats st;

	rcu_stats_read(rcu, &st);
	return st.entries + st.freed;
}

/* A slot that readers may look at still is not written; once they are past it, it is. */
static void slots_rest(void **state)
{
	struct world w = make(NULL, 4, SLOTS + 1, false);
	struct rcu_worker *reader;
	struct rcu *rcu;
	uint8_t key[64];
	struct hash_pos pos;

	assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &rcu), 0);
	assert_int_equal(rcu_register(rcu, "reader", &reader), 0);
	hash_table_share(w.t, rcu);
	for (unsigned i = 0; i < SLOTS; i++)
		toggle(&w, i, 0, 0);
	key_of(&w, 3, key);
	assert_true(hash_table_lock(w.t, key, &pos));
	const struct hash_bucket *b = &pos.seg->bucket[0];
	unsigned slot = pos.slot;
	uint32_t tag = b->tag[slot];
	hash_table_unlock(&pos);

	toggle(&w, 3, 0, 0);
	toggle(&w, SLOTS, 0, 0);
	assert_int_equal(b->tag[slot], tag);
	assert_int_equal(given_up(rcu), 1);
	check_all(&w);

	toggle(&w, 5, 0, 0);
	rcu_quiescent(reader);
	toggle(&w, 5, 0, 0);
	assert_int_equal(given_up(rcu), 1);
	for (unsigned round = 0; round < 1000; round++) {
		toggle(&w, rnd(SLOTS), 0, 0);
		rcu_poll(rcu);
		rcu_quiescent(reader);
		check_all(&w);
	}
	rcu_unregister(reader);
	hash_table_share(w.t, NULL);
	unmake(&w);
	rcu_free(rcu);
}

/* Elements that come and go at one size leave the table as it is, but for worn marks. */
static void churn(void **state)
{
	enum { N = 20000, ROUNDS = 40 };
	struct world w = make(NULL, 4, N, false);

	for (unsigned i = 0; i < N; i++)
		if (i % 2)
			toggle(&w, i, 0, 0);
	size_t bytes = hash_table_bytes(w.t);
	for (unsigned n = 0; n < N * ROUNDS; n++) {
		unsigned i = rnd(N) & ~1U, k = i | 1;
		bool first = w.e[i].there;
		toggle(&w, first ? i : k, 0, 0); /* one of the two goes, the other comes */
		toggle(&w, first ? k : i, 0, 0);
		if (n % N == 0)
			check_all(&w);
	}
	assert_in_range(hash_table_bytes(w.t), bytes * 3 / 4, bytes * 3 / 2);
	unmake(&w);
}

/*
 * The same some keys all the time, beside a reader: slots are used again without building segments
 * anew, and without many epochs, each of which readers feel.
 */
static void churn_beside(void **state)
{
	enum { N = 20000, SOME = 500, ROUNDS = 60, CHANGES = 2 * SOME * ROUNDS };
	struct world w = make(NULL, 4, N, false);
	struct rcu_worker *reader;
	struct rcu *rcu;

	for (unsigned i = SOME; i < N; i++)
		toggle(&w, i, 0, 0);
	assert_int_equal(rcu_new(&(struct rcu_config){.clock = no_time}, &rcu), 0);
	assert_int_equal(rcu_register(rcu, "reader", &reader), 0);
	hash_table_share(w.t, rcu);
	uint64_t epoch = rcu_mark(rcu);
	for (unsigned n = 0; n < CHANGES; n++) {
		toggle(&w, n % SOME, 0, 0); /* comes, and goes a round later */
		if (n % 8 == 0)
			rcu_quiescent(reader);
		if (n % SOME == 0)
			rcu_poll(rcu);
	}
	check_all(&w);
	assert_in_range(given_up(rcu), 0, CHANGES / 500);
	assert_in_range(rcu_mark(rcu) - epoch, 1, CHANGES / 200);
	rcu_unregister(reader);
	hash_table_share(w.t, NULL);
	unmake(&w);
	rcu_free(rcu);
}

/*
 * Keys that are there are found wherever they lie, also those that once found their home full and
 * that has room again; the size is exact.
 */
static void added_again(void **state)
{
	enum { N = 60000, ROUNDS = 4 };
	struct world w = make(NULL, 4, 1, false);

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < N; i++) {
			uint32_t key = i * 2654435761U;
			int r = hash_table_add(w.t, (const uint8_t *)&key, N);
			assert_int_equal(r, !round || i % ROUNDS == round - 1);
		}
		uint32_t more = N * 2654435761U;
		assert_int_equal(hash_table_count(w.t), N);
		assert_int_equal(hash_table_add(w.t, (const uint8_t *)&more, N), -ENFILE);
		for (uint32_t i = round; i < N; i += ROUNDS) {
			uint32_t key = i * 2654435761U;
			struct hash_pos pos;
			assert_true(hash_table_lock(w.t, (const uint8_t *)&key, &pos));
			hash_table_drop(&pos);
		}
	}
	unmake(&w);
}

/* --- room made before ----------------------------------------------------------------------- */

/* A table that was told how many come holds them and builds next to nothing; else it is as others.
 */
static void reserved(void **state)
{
	enum { N = 200000 };
	static const unsigned lens[] = {4, 16};

	for (unsigned l = 0; l < ARRAY_SIZE(lens); l++) {
		struct world w = make(NULL, lens[l], N, false);
		w.n_keys = N;
		w.e = realloc(w.e, N * sizeof(*w.e));
		memset(w.e, 0, N * sizeof(*w.e));
		assert_int_equal(hash_table_reserve(w.t, 1000), 0);
		assert_null(w.t->regions);
		assert_int_equal(hash_table_reserve(w.t, N), 0);
		assert_non_null(w.t->regions);
		size_t bytes = hash_table_bytes(w.t);
		assert_true(bytes < (size_t)N * (l ? 45 : 12));
		check_lookup(&w);
		for (unsigned i = 0; i < N; i++)
			toggle(&w, i, 0, 0);
		assert_in_range(hash_table_bytes(w.t), bytes, bytes + bytes / 25);
		bytes = hash_table_bytes(w.t);
		assert_int_equal(hash_table_reserve(w.t, 2 * N), 0);
		assert_int_equal(hash_table_bytes(w.t), bytes);
		check_all(&w);
		for (unsigned i = 0; i < 100; i++)
			check_lookup(&w);
		for (unsigned i = 0; i < N; i++)
			toggle(&w, i, i % 3 ? 0 : 5000, 0);
		check_all(&w);
		for (unsigned i = 0; i < N; i += 3)
			toggle(&w, i, 2000, 0);
		check_all(&w);
		w.now = 3000;
		expire(&w, UINT32_MAX);
		check_all(&w);
		unmake(&w);
	}
}

/* --- other hashes --------------------------------------------------------------------------- */

static struct hash_place (*place)(const struct hash_key *k, const uint8_t *key, unsigned len);

static unsigned place_collect(const struct hash_table *t, const struct hash_key *k,
			      const struct hash_segment *seg, struct hash_kept *out)
{
	unsigned n = hash_table_scalar.collect(t, k, seg, out);
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = place(k, slot_key(t, seg, out[i].slot), t->key_len).at;
		out[i].low = (uint32_t)at;
		out[i].high = at >> (63 - seg->depth) & 1;
	}
	return n;
}

static uint64_t place_lookup(const struct hash_table *t, const uint8_t *keys, size_t stride,
			     uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	uint64_t found = 0;
	for (unsigned i = 0; i < 64; i++) {
		struct hash_pos pos;
		if (mask >> i & 1) {
			if (hash_table_lock((struct hash_table *)t, keys + i * stride, &pos)) {
				found |= 1ULL << i;
				if (hit)
					hit[i] = hash_pos_elem(&pos);
			}
			hash_table_unlock(&pos);
		}
	}
	return found;
}

static struct hash_table_ops ops_with(struct hash_place (*fn)(const struct hash_key *k,
							      const uint8_t *key, unsigned len))
{
	struct hash_table_ops ops = hash_table_scalar;

	ops.place = place = fn;
	ops.collect = place_collect;
	ops.lookup = place_lookup;
	return ops;
}

static unsigned narrow;

/* All keys in places that begin with so many zeros. */
static struct hash_place narrow_place(const struct hash_key *k, const uint8_t *key, unsigned len)
{
	struct hash_place p = hash_table_scalar.place(k, key, len);
	p.at >>= narrow;
	return p;
}

/* A table that was told of so many keys that its root is deeper than roots grow. */
static void told_deep(void **state)
{
	enum { KEYS = 40000, TOLD = 3000000 };
	struct hash_table_ops ops = ops_with(narrow_place);

	for (unsigned parts = 0; parts < 2; parts++) {
		struct world w = make(parts ? &ops : NULL, 4, KEYS, false);
		assert_int_equal(hash_table_reserve(w.t, TOLD), 0);
		const struct hash_root *root = w.t->root;
		assert_true(root->depth > ROOT_DEPTH_MAX);
		narrow = root->depth;
		for (unsigned i = 0; i < KEYS; i++)
			toggle(&w, i, 0, 0);
		check_all(&w);
		assert_int_equal(root->entry[0] & ENTRY_PART, parts);
		for (unsigned i = 0; i < KEYS; i++)
			toggle(&w, i, 0, 0);
		check_all(&w);
		assert_ptr_equal(w.t->root, root);
		assert_int_equal(root->entry[0] & ENTRY_PART, 0);
		for (unsigned i = 0; i < (parts ? 500 : 2000); i++)
			toggle(&w, i, 0, 0);
		check_lookup(&w);
		check_all(&w);
		unmake(&w);
	}
}

/* --- the alarm ------------------------------------------------------------------------------ */

/* A hash that puts everything into one place until the secret changes. */
static struct hash_key first_key;
static bool weak_forever;

static struct hash_place weak_place(const struct hash_key *k, const uint8_t *key, unsigned len)
{
	struct hash_place p = hash_table_scalar.place(k, key, len);
	if (weak_forever || !memcmp(&k->sip, &first_key.sip, sizeof(k->sip)))
		p.at = 0x1234567812345678;
	return p;
}

/* What lies ready counts too. */
static void bytes_hold_all(struct hash_table *t)
{
	struct segment_walk w = {t->root};
	size_t bytes = sizeof(*t) + spares_bytes(t);
	struct hash_segment *seg;

	while ((seg = segment_next(&w)))
		bytes += segment_bytes(t, seg);
	assert_in_range(hash_table_bytes(t), bytes, 2 * bytes);
}

static void alarm_raised(void **state)
{
	struct hash_table_ops ops = ops_with(weak_place);

	for (unsigned forever = 0; forever < 2; forever++) {
		struct world w = make(&ops, 8, 3000, true);
		first_key = w.t->root->key;
		weak_forever = forever;
		if (!forever)
			assert_int_equal(hash_table_provide(w.t, 8, 0), 0);
		for (unsigned i = 0; i < 15; i++)
			toggle(&w, i, 5000 + i, 3);
		hash_table_begin(w.t, true);
		toggle(&w, 3, 0, 0);
		unsigned first = 15, n = forever ? 0 : 2500;
		for (unsigned i = first; i < first + n; i++)
			toggle(&w, i, i % 2 ? 6000 : 0, 0);
		if (forever) {
			/* Nothing helps: the set says so and stays as it was. */
			uint8_t key[64];
			struct hash_pos pos;
			int err = 0;
			for (unsigned i = 15; i < 40 && !err; i++) {
				key_of(&w, i, key);
				assert_false(hash_table_lock(w.t, key, &pos));
				err = hash_table_put(&pos, (uint64_t[]){0, 0, 0}, 0);
				hash_table_unlock(&pos);
				if (!err) {
					w.e[i].there = true;
					w.count++;
				}
			}
			assert_int_equal(err, -ENOSPC);
		} else {
			assert_memory_not_equal(&w.t->root->key.sip, &first_key.sip,
						sizeof(first_key.sip));
			bytes_hold_all(w.t);
		}
		check_all(&w);
		hash_table_revert(w.t);
		for (unsigned i = 0; i < w.n_keys; i++) {
			uint8_t key[64];
			key_of(&w, i, key);
			hash_table_settle(w.t, key, settled, NULL);
		}
		hash_table_end(w.t);
		assert_int_equal(hash_table_count(w.t), 15);
		assert_int_equal(hash_table_next_due(w.t), 5000);
		unmake(&w);
	}
}

/* --- spares --------------------------------------------------------------------------------- */

static struct hash_table *refilled;

/* While a spare is out, the control thread makes all of them ready. */
static unsigned refilling_collect(const struct hash_table *t, const struct hash_key *k,
				  const struct hash_segment *seg, struct hash_kept *out)
{
	if (refilled)
		assert_int_equal(spares_make(refilled), 0);
	refilled = NULL;
	return hash_table_scalar.collect(t, k, seg, out);
}

/* A spare that does not serve comes back to a table that has got others meanwhile. */
static void spare_too_many(void **state)
{
	struct hash_table_ops ops = hash_table_scalar;
	ops.collect = refilling_collect;
	struct world w = make(&ops, 4, 2000, true);
	struct hash_pos pos;
	uint8_t key[64];

	assert_int_equal(hash_table_provide(w.t, 8, 0), 0); /* spares without columns */
	for (unsigned i = 0; i < 100; i++)
		toggle(&w, i, 5000, 3);
	key_of(&w, 0, key);
	assert_true(hash_table_lock(w.t, key, &pos));
	refilled = w.t;
	assert_int_equal(segment_use_spare(&pos), -ENOBUFS);
	hash_table_unlock(&pos);
	assert_null(refilled);
	assert_int_equal(w.t->n_spares, SPARES);
	assert_false(hash_table_wants(w.t));
	bytes_hold_all(w.t);
	check_all(&w);
	unmake(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_ops),	  cmocka_unit_test(growth),
		cmocka_unit_test(slots_rest),	  cmocka_unit_test(churn),
		cmocka_unit_test(churn_beside),	  cmocka_unit_test(reserved),
		cmocka_unit_test(told_deep),	  cmocka_unit_test(alarm_raised),
		cmocka_unit_test(spare_too_many), cmocka_unit_test(added_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
