/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_hash: IPv4 addresses in a set of exact keys, beside rte_hash (lock-free readers) and
 * cds_lfht.
 *
 * Keys are random and distinct. Hits ask for random keys of the set, misses for keys that are not
 * in it. rte_hash has a third more room than keys, hashes with CRC32 and does not grow. cds_lfht
 * resizes by itself. All of one table run in one process, one after the other, with small pages.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "peer.h"
#include "rcu/rcu.h"
#include "set/set.h"

enum { ASKED = 1 << 20, GROWTHS = 5 };

static uint64_t times[PEER_BURST];

struct input {
	char name[32];
	uint32_t *keys; /* n in the set, then `more` that are not */
	size_t n, more;
	uint32_t *hits, *misses;
};

/* Distinct: an invertible mix of a counter. */
static uint32_t nth_key(uint32_t i)
{
	i ^= i >> 16;
	i *= 0x7feb352d;
	i ^= i >> 15;
	i *= 0x846ca68b;
	return i ^ i >> 16;
}

static struct input input_make(const char *name, size_t n)
{
	struct input in = {.n = n, .more = MAX(n / 10, 1000)};
	uint64_t random = 42;

	snprintf(in.name, sizeof(in.name), "hash %s IPv4", name);
	in.keys = malloc((n + in.more) * sizeof(uint32_t));
	in.hits = malloc(ASKED * sizeof(uint32_t));
	in.misses = malloc(ASKED * sizeof(uint32_t));
	for (size_t i = 0; i < n + in.more; i++)
		in.keys[i] = nth_key((uint32_t)i);
	for (size_t i = 0; i < ASKED; i++) {
		in.hits[i] = in.keys[bench_random(&random) % n];
		in.misses[i] =
			nth_key((uint32_t)(n + in.more + bench_random(&random) % (1U << 31)));
	}
	return in;
}

static void input_free(struct input *in)
{
	free(in->keys);
	free(in->hits);
	free(in->misses);
}

/* --- ours ----------------------------------------------------------------------------------- */

static struct set *set_of(bool timeout, struct rcu *rcu)
{
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .timeout = timeout,
			     .timeout_ns = timeout ? 1000000000 : 0,
			     .rcu = rcu};
	struct set *s;
	if (set_new(&d, &s))
		abort();
	return s;
}

static void *ours_make(size_t n)
{
	return set_of(false, NULL);
}

static void ours_drop(void *h)
{
	set_free(h);
}

static void ours_add(void *h, const uint32_t *key)
{
	if (set_add(h, &(struct set_item){.lo = key}, 0, 0, NULL))
		abort();
}

static void ours_del(void *h, const uint32_t *key)
{
	set_delete(h, &(struct set_item){.lo = key}, 0);
}

static unsigned ours_burst(void *h, const uint32_t *keys)
{
	return (unsigned)__builtin_popcountll(set_lookup(h, keys, 4, ~0ULL, times, NULL));
}

static bool ours_one(void *h, const uint32_t *key)
{
	return set_lookup(h, key, 4, 1, times, NULL);
}

static const struct peer ours = {"tamis",  ours_make,  ours_drop, ours_add,
				 ours_del, ours_burst, ours_one,  bench_memory};
static const struct peer *const all[] = {&ours, &peer_rte_hash, &peer_lfht};

/* --- figures -------------------------------------------------------------------------------- */

static double run_bursts(const struct peer *w, void *h, const uint32_t *asked, size_t want)
{
	size_t n = 0;
	uint64_t start = bench_ran();

	for (size_t i = 0; i < ASKED; i += PEER_BURST)
		n += w->burst(h, asked + i);
	uint64_t ns = bench_ran() - start;
	if (n != want)
		abort();
	return (double)ns / ASKED;
}

static double run_single(const struct peer *w, void *h, const uint32_t *asked, size_t want)
{
	size_t n = 0;
	uint64_t start = bench_ran();

	for (size_t i = 0; i < ASKED; i++)
		n += w->one(h, asked + i);
	uint64_t ns = bench_ran() - start;
	if (n != want)
		abort();
	return (double)ns / ASKED;
}

typedef double run_fn(const struct peer *w, void *h, const uint32_t *asked, size_t want);

static void figure(const struct input *in, const char *what, const struct peer *w, void *h,
		   run_fn *run, const uint32_t *asked, size_t want)
{
	double v[BENCH_RUNS];

	run(w, h, asked, want);
	for (unsigned i = 0; i < BENCH_RUNS; i++)
		v[i] = run(w, h, asked, want);
	bench_row(in->name, what, w->name, bench_median(v, BENCH_RUNS), "ns");
}

static void changes(const struct input *in, const struct peer *w, void *h)
{
	double add[BENCH_RUNS], del[BENCH_RUNS];

	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		uint64_t t0 = bench_ran();
		for (size_t i = in->n; i < in->n + in->more; i++)
			w->add(h, &in->keys[i]);
		uint64_t t1 = bench_ran();
		for (size_t i = in->n; i < in->n + in->more; i++)
			w->del(h, &in->keys[i]);
		uint64_t t2 = bench_ran();
		add[r] = (double)(t1 - t0) / (double)in->more;
		del[r] = (double)(t2 - t1) / (double)in->more;
	}
	bench_row(in->name, "insert", w->name, bench_median(add, BENCH_RUNS), "ns");
	bench_row(in->name, "delete", w->name, bench_median(del, BENCH_RUNS), "ns");
}

/* The longest single insert of a growth from empty, on the CPU: the smallest of several growths. */
static void growth(const struct input *in, const struct peer *w)
{
	double least = 1e18;

	for (unsigned r = 0; r < GROWTHS; r++) {
		void *h = w->make(in->n);
		uint64_t longest = 0, before = bench_ran();
		for (size_t i = 0; i < in->n; i++) {
			w->add(h, &in->keys[i]);
			uint64_t now = bench_ran();
			longest = MAX(longest, now - before);
			before = now;
		}
		w->drop(h);
		least = MIN(least, (double)longest);
	}
	bench_row(in->name, "longest insert while growing", w->name, least / 1000, "us");
}

/* Larger cds_lfht take minutes: each resize waits for a thread of its own. */
static bool has(const struct peer *w, const struct input *in)
{
	return w != &peer_lfht || in->n <= 65536;
}

static void compare(const struct input *in)
{
	for (unsigned k = 0; k < ARRAY_SIZE(all); k++) {
		const struct peer *w = all[k];
		if (!has(w, in))
			continue;
		size_t before = w->memory();
		void *h = w->make(in->n);
		for (size_t i = 0; i < in->n; i++)
			w->add(h, &in->keys[i]);
		if (w->settle)
			w->settle();
		bench_row(in->name, "memory", w->name,
			  (double)(w->memory() - before) / (double)in->n, "bytes/element");
		if (w->burst) {
			figure(in, "hit, burst of 64", w, h, run_bursts, in->hits, ASKED);
			figure(in, "miss, burst of 64", w, h, run_bursts, in->misses, 0);
		}
		figure(in, "hit, one at a time", w, h, run_single, in->hits, ASKED);
		figure(in, "miss, one at a time", w, h, run_single, in->misses, 0);
		changes(in, w, h);
		w->drop(h);
	}
	for (unsigned k = 0; k < ARRAY_SIZE(all); k++)
		if (has(all[k], in))
			growth(in, all[k]);
}

/* --- readers beside a writer ---------------------------------------------------------------- */

struct writer {
	const struct input *in;
	const struct peer *w;
	void *h;
	struct rcu *rcu;
	bool stop;
	uint64_t changes;
};

static void *write_all_the_time(void *arg)
{
	struct writer *wr = arg;
	const struct input *in = wr->in;

	while (!__atomic_load_n(&wr->stop, __ATOMIC_ACQUIRE))
		for (size_t i = in->n; i < in->n + 1000; i++) {
			wr->w->add(wr->h, &in->keys[i]);
			if (i >= in->n + 500)
				wr->w->del(wr->h, &in->keys[i - 500]);
			else
				wr->w->del(wr->h, &in->keys[i + 500]);
			if (wr->rcu)
				rcu_admit(wr->rcu, UINT64_MAX);
			wr->changes += 2;
		}
	return NULL;
}

static uint64_t rcu_clock(void *ctx)
{
	return bench_now();
}

static struct rcu_worker *worker;

static unsigned ours_burst_quiet(void *h, const uint32_t *keys)
{
	unsigned n = ours_burst(h, keys);
	rcu_quiescent(worker);
	return n;
}

static void beside_writer(const struct input *in, const struct peer *w, void *h, struct rcu *rcu)
{
	struct writer wr = {in, w, h, rcu, false, 0};
	pthread_t t;

	for (size_t i = 0; i < in->n; i++)
		w->add(h, &in->keys[i]);
	figure(in, "hit, burst of 64, quiet", w, h, run_bursts, in->hits, ASKED);
	pthread_create(&t, NULL, write_all_the_time, &wr);
	uint64_t start = bench_now();
	figure(in, "hit, burst of 64, beside a writer", w, h, run_bursts, in->hits, ASKED);
	uint64_t ns = bench_now() - start;
	__atomic_store_n(&wr.stop, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	bench_row(in->name, "the writer's changes", w->name, (double)wr.changes * 1e3 / (double)ns,
		  "M/s");
}

static void with_writer(const struct input *in)
{
	struct peer reading = ours;
	struct rcu *rcu;

	if (rcu_new(&(struct rcu_config){.clock = rcu_clock}, &rcu) ||
	    rcu_register(rcu, "reader", &worker))
		abort();
	reading.burst = ours_burst_quiet;
	void *h = set_of(false, rcu);
	beside_writer(in, &reading, h, rcu);
	rcu_unregister(worker);
	set_free(h);
	rcu_free(rcu);
	h = peer_rte_hash.make(in->n);
	beside_writer(in, &peer_rte_hash, h, NULL);
	peer_rte_hash.drop(h);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

/* A million elements that end within one second, given back by a step each millisecond. */
static void expiry(const struct input *in)
{
	enum { STEPS = 1000, A_STEP = 2000 };
	const uint64_t ms = 1000000, begin = 1000 * ms;
	double v[2 * STEPS];
	unsigned n = 0, freed = 0;
	size_t before = bench_memory();
	struct set *s = set_of(true, NULL);

	for (size_t i = 0; i < in->n; i++)
		if (set_add(s, &(struct set_item){.lo = &in->keys[i]}, 0,
			    begin + i * 1000 * ms / in->n, NULL))
			abort();
	bench_row(in->name, "memory, with timeout", "tamis",
		  (double)(bench_memory() - before) / (double)in->n, "bytes/element");
	while (n < 2 * STEPS && freed < in->n) {
		uint64_t now = begin + 1000 * ms + n * ms, start = bench_now();
		freed += set_gc(s, now, A_STEP);
		v[n++] = (double)(bench_now() - start) / 1000;
	}
	if (freed != in->n)
		abort();
	bench_row(in->name, "expiry of all in 1 s, a step", "tamis", bench_quantile(v, n, 0.5),
		  "us");
	bench_row(in->name, "expiry of all in 1 s, longest", "tamis", bench_quantile(v, n, 1),
		  "us");
	set_free(s);
}

/* --- replacing ------------------------------------------------------------------------------ */

/* flush and re-add of everything in one transaction. */
static void replacing(const struct input *in)
{
	double load[BENCH_RUNS], swap[BENCH_RUNS];

	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		struct set *s = set_of(false, NULL);
		uint64_t t0 = bench_now();
		for (size_t i = 0; i < in->n; i++)
			ours_add(s, &in->keys[i]);
		uint64_t t1 = bench_now();
		set_begin(s);
		set_flush(s, 0);
		for (size_t i = 0; i < in->n; i++)
			ours_add(s, &in->keys[i]);
		set_commit(s, UINT64_MAX);
		load[r] = (double)(t1 - t0) / 1e6;
		swap[r] = (double)(bench_now() - t1) / 1e6;
		set_free(s);
	}
	bench_row(in->name, "load", "tamis", bench_median(load, BENCH_RUNS), "ms");
	bench_row(in->name, "atomic replace", "tamis", bench_median(swap, BENCH_RUNS), "ms");
}

void bench_hash(void)
{
	static const struct {
		const char *name;
		size_t n;
	} sizes[] = {{"1K", 1000}, {"64K", 65536}, {"1M", 1000000}, {"10M", 10000000}};

	if (bench_dpdk())
		return;
	peer_lfht_begin();
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct input in = input_make(sizes[i].name, sizes[i].n);
		compare(&in);
		if (in.n == 1000000) {
			with_writer(&in);
			expiry(&in);
			replacing(&in);
		}
		input_free(&in);
	}
	peer_lfht_end();
}
