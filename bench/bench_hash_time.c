/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_hash_time: what must not be felt: growing, writers beside readers, a million elements that
 * expire, a million that are replaced, workers that count in one element.
 *
 * A machine takes its programs off the CPU for longer than what is measured here; an idle loop's
 * longest pause is a row. So what is a longest of many is measured for each of them in several runs
 * that do exactly the same (the secret is fixed), and the least of the runs counts for each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hash_input.h"
#include "rcu/rcu.h"
#include "state/state.h"

enum { GROWTHS = 5 };

/* --- growing -------------------------------------------------------------------------------- */

static void idle(size_t ns)
{
	uint64_t begin = bench_now(), before = begin, longest = 0;

	while (before - begin < ns) {
		uint64_t now = bench_now();
		longest = MAX(longest, now - before);
		before = now;
	}
	bench_row("this machine", "longest pause of an idle loop, as long", "-",
		  (double)longest / 1e3, "us");
}

/* ns of each insert into keep; returns ns of all. */
static uint64_t grow(const struct input *in, const struct peer *w, uint32_t *keep)
{
	void *h = w == &ours ? set_of(false, NULL) : peer_lfht_growing();
	uint64_t before = bench_now(), begin = before;

	for (size_t i = 0; i < in->n; i++) {
		w->add(h, &in->keys[i]);
		uint64_t now = bench_now(), ns = MIN(now - before, (uint64_t)UINT32_MAX);
		keep[i] = (uint32_t)ns;
		before = now;
	}
	w->drop(h);
	return before - begin;
}

static void growth(const struct input *in, const struct peer *w, bool target)
{
	uint32_t *ns = malloc(in->n * sizeof(*ns)), *least = malloc(in->n * sizeof(*least));
	double longest[GROWTHS];
	uint64_t all = 0, most = 0;
	char what[96];

	memset(least, 0xff, in->n * sizeof(*least));
	for (unsigned r = 0; r < GROWTHS; r++) {
		bench_random_fix(1);
		all = grow(in, w, ns);
		bench_random_fix(0);
		longest[r] = 0;
		for (size_t i = 0; i < in->n; i++) {
			longest[r] = MAX(longest[r], ns[i] / 1e3);
			least[i] = MIN(least[i], ns[i]);
		}
	}
	for (size_t i = 0; i < in->n; i++)
		most = MAX(most, least[i]);
	bench_runs(in->name, "growing from empty, longest insert of a run", w->name, longest,
		   GROWTHS, "us");
	bench_row(in->name, "growing, longest, each insert's least of 5", w->name,
		  (double)most / 1e3, "us");
	if (target) {
		idle(all);
		snprintf(what, sizeof(what), "longest insert, growing to %s",
			 in->name + strlen("hash "));
		bench_target(what, (double)most / 1e3, 100, "us");
	}
	free(ns);
	free(least);
}

/* --- readers beside a writer ---------------------------------------------------------------- */

/* In lines of its own: the reader's stack is not to share one with it. */
struct writer {
	const struct input *in;
	const struct peer *w;
	void *h;
	bool stop;
	uint64_t changes;
} __attribute__((aligned(128)));

static bool lfht_one_quiet(void *h, const uint32_t *key)
{
	bool found = peer_lfht.one(h, key);
	peer_lfht_quiet();
	return found;
}

static void *write_all_the_time(void *arg)
{
	struct writer *wr = arg;
	const struct input *in = wr->in;

	bench_pin(0);
	if (wr->w->one == lfht_one_quiet)
		peer_lfht_begin();
	while (!__atomic_load_n(&wr->stop, __ATOMIC_ACQUIRE))
		for (size_t i = in->n; i < in->n + 1000; i++) {
			wr->w->add(wr->h, &in->keys[i]);
			if (i >= in->n + 500)
				wr->w->del(wr->h, &in->keys[i - 500]);
			else
				wr->w->del(wr->h, &in->keys[i + 500]);
			wr->changes += 2;
		}
	if (wr->w->one == lfht_one_quiet)
		peer_lfht_end();
	return NULL;
}

static struct rcu_worker *worker;

static unsigned ours_burst_quiet(void *h, const uint32_t *keys)
{
	unsigned n = ours.burst(h, keys);
	rcu_quiescent(worker);
	return n;
}

/* What a run has after some others, so that quiet and busy ones find caches alike. */
static double look(const struct input *in, const struct peer *w, void *h)
{
	double ns = 0;

	for (unsigned k = 0; k < 4; k++)
		ns = (w->burst ? lookup_bursts : lookup_single)(w, h, in->hits, ASKED);
	return ns;
}

/* Runs take turns: quiet, beside a writer that begins and ends with the run. */
static double beside_writer(const struct input *in, const struct peer *w, void *h, struct rcu *rcu)
{
	const char *how = w->burst ? "hit, burst of 64" : "hit, one at a time";
	double quiet[BENCH_RUNS], busy[BENCH_RUNS], rate[BENCH_RUNS];
	char row[64];

	for (size_t i = 0; i < in->n; i++)
		w->add(h, &in->keys[i]);
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		struct writer wr = {in, w, h, false, 0};
		pthread_t t;
		quiet[r] = look(in, w, h);
		pthread_create(&t, NULL, write_all_the_time, &wr);
		uint64_t start = bench_now();
		busy[r] = look(in, w, h);
		rate[r] = (double)__atomic_load_n(&wr.changes, __ATOMIC_RELAXED) * 1e3 /
			  (double)(bench_now() - start);
		__atomic_store_n(&wr.stop, true, __ATOMIC_RELEASE);
		pthread_join(t, NULL);
	}
	snprintf(row, sizeof(row), "%s, quiet", how);
	double q = bench_runs(in->name, row, w->name, quiet, BENCH_RUNS, "ns");
	snprintf(row, sizeof(row), "%s, beside a writer", how);
	double b = bench_runs(in->name, row, w->name, busy, BENCH_RUNS, "ns");
	bench_runs(in->name, "the writer's changes", w->name, rate, BENCH_RUNS, "M/s");
	return b / q;
}

static void with_writer(const struct input *in)
{
	struct peer reading = ours, lfht = peer_lfht;
	struct rcu *rcu = rcu_begin();

	bench_pin(1);
	if (rcu_register(rcu, "reader", &worker))
		abort();
	reading.burst = ours_burst_quiet;
	void *h = set_of(false, rcu);
	set_expect(h, in->n);
	double ratio = beside_writer(in, &reading, h, rcu);
	bench_target("reader bursts while a writer never stops", ratio, 1.2, "x quiet");
	rcu_unregister(worker);
	set_free(h);
	rcu_free(rcu);
	h = peer_rte_hash.make(in->n);
	beside_writer(in, &peer_rte_hash, h, NULL);
	peer_rte_hash.drop(h);
	peer_lfht_begin();
	lfht.one = lfht_one_quiet;
	h = lfht.make(in->n);
	beside_writer(in, &lfht, h, NULL);
	lfht.drop(h);
	peer_lfht_end();
}

/* --- several writers ------------------------------------------------------------------------ */

struct adding {
	struct set *s;
	const uint32_t *keys;
	size_t n;
	unsigned cpu;
	bool *go;
	double ns;
};

static void *add_all(void *arg)
{
	struct adding *a = arg;

	bench_pin(a->cpu);
	while (!__atomic_load_n(a->go, __ATOMIC_ACQUIRE))
		;
	uint64_t start = bench_ran();
	for (size_t i = 0; i < a->n; i++)
		ours.add(a->s, &a->keys[i]);
	a->ns = (double)(bench_ran() - start) / (double)a->n;
	return NULL;
}

/* ns of an insert, of the slower one of the writers. */
static double add_together(const struct input *in, unsigned writers)
{
	size_t half = in->n / 2;
	struct rcu *rcu = rcu_begin();
	struct set *s = set_of(false, rcu);
	bool go = false;
	struct adding a[2] = {{s, in->keys, half, 0, &go, 0},
			      {s, in->keys + half, half, 1, &go, 0}};
	pthread_t t[2];

	set_expect(s, in->n);
	for (unsigned k = 0; k < writers; k++)
		pthread_create(&t[k], NULL, add_all, &a[k]);
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	for (unsigned k = 0; k < writers; k++)
		pthread_join(t[k], NULL);
	set_free(s);
	rcu_free(rcu);
	return MAX(a[0].ns, a[1].ns);
}

static void several_writers(const struct input *in)
{
	double alone[BENCH_RUNS], both[BENCH_RUNS];

	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		alone[r] = add_together(in, 1);
		both[r] = add_together(in, 2);
	}
	bench_runs(in->name, "an insert of half of them, one writer", "tamis", alone, BENCH_RUNS,
		   "ns");
	bench_runs(in->name, "of either half, two writers at once", "tamis", both, BENCH_RUNS,
		   "ns");
}

/* --- a reader in a thread of its own -------------------------------------------------------- */

enum {
	PHASES = 4,
	SWEPT_PHASE = 3,
	FIRST = 16,
	KEPT = 1 << 16,
	SWEEP_EVERY = 2048,
	SWEPT = 8 << 20
};

/*
 * Looks bursts up all the time. In each burst one key is `mark`: when it begins to match, or ends,
 * the set has been replaced. With `other` it reads that now and then in a phase of its own: what
 * the next bursts then cost is what a table costs that is not in this CPU's caches.
 */
struct reader {
	struct set *s;
	const uint32_t *hits;
	struct rcu *rcu;
	uint32_t mark, phase;
	bool stop;
	uint32_t *ns[PHASES]; /* of the latest KEPT bursts */
	uint64_t n[PHASES];
	double first;	/* the longest of the FIRST bursts since the last change of the mark */
	uint8_t *other; /* SWEPT bytes, or NULL */
	double cold;	/* the longest of the FIRST bursts after it was read, least of all times */
};

static void sweep(volatile uint8_t *bytes)
{
	for (size_t i = 0; i < SWEPT; i += 64)
		bytes[i]++;
}

static void *read_all_the_time(void *arg)
{
	static const uint64_t now[PEER_BURST];
	struct reader *r = arg;
	struct rcu_worker *w;
	bool marked = false;
	unsigned since = FIRST, cold = FIRST;
	double longest = 0;
	size_t at = 0;

	bench_pin(1);
	if (rcu_register(r->rcu, "reader", &w))
		abort();
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint32_t keys[PEER_BURST], p = __atomic_load_n(&r->phase, __ATOMIC_RELAXED);
		memcpy(keys, r->hits + at, sizeof(keys));
		at = (at + PEER_BURST) % ASKED;
		keys[0] = __atomic_load_n(&r->mark, __ATOMIC_RELAXED);
		uint64_t start = bench_now();
		uint64_t found = set_lookup(r->s, keys, 4, ~0ULL, now, NULL);
		rcu_quiescent(w); /* where readers do what a commit asks of them */
		uint64_t ns = bench_now() - start;
		if (cold < FIRST) {
			longest = MAX(longest, (double)ns);
			if (++cold == FIRST && p == SWEPT_PHASE)
				r->cold = MIN(r->cold, longest);
		} else {
			r->ns[p][r->n[p]++ % KEPT] = (uint32_t)MIN(ns, (uint64_t)UINT32_MAX);
			if (p == SWEPT_PHASE && r->n[p] % SWEEP_EVERY == 0) {
				sweep(r->other);
				cold = 0;
				longest = 0;
			}
		}
		if ((found & 1) && !marked) {
			since = 0;
			r->first = 0;
		}
		marked = found & 1;
		if (since < FIRST) {
			r->first = MAX(r->first, (double)ns);
			since++;
		}
	}
	rcu_unregister(w);
	return NULL;
}

static void reader_make(struct reader *r, pthread_t *t)
{
	for (unsigned p = 0; p < PHASES; p++)
		r->ns[p] = calloc(KEPT, sizeof(uint32_t));
	bench_pin(0);
	pthread_create(t, NULL, read_all_the_time, r);
}

static void reader_end(struct reader *r, pthread_t t)
{
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	bench_pin(1);
}

static double reader_quantile(const struct reader *r, unsigned phase, double share)
{
	size_t n = MIN(r->n[phase], (uint64_t)KEPT);
	double *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = r->ns[phase][i];
	double q = bench_quantile(v, n, share);
	free(v);
	return q;
}

static void phase(struct reader *r, uint32_t p)
{
	__atomic_store_n(&r->phase, p, __ATOMIC_RELAXED);
}

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

enum { STEPS = 1200, A_STEP = 2000, ROUNDS = 5 };

static const uint64_t ms = 1000000;

static void fill_expiring(struct set *s, const struct input *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (set_add(s, &(struct set_item){.lo = &in->keys[i]}, 0,
			    1000 * ms + i * 1000 * ms / in->n, NULL))
			abort();
}

/*
 * A million elements that end within one second, given back by a step each millisecond that takes
 * what ended before the last tenth of a second. us of each step into v; returns how many.
 */
static unsigned expire(struct set *s, size_t n, double *v, bool real_time)
{
	unsigned steps = 0;
	size_t freed = 0;
	uint64_t begin = bench_now();

	for (; steps < STEPS && freed < n; steps++) {
		uint64_t now = (2000 + steps) * ms, start = bench_now();
		freed += set_gc(s, now - now % (100 * ms), A_STEP);
		v[steps] = (double)(bench_now() - start) / 1e3;
		while (real_time && bench_now() - begin < (steps + 1) * ms)
			usleep(100);
	}
	if (freed != n)
		abort();
	return steps;
}

static void expiry(const struct input *in)
{
	double v[STEPS], least[STEPS], longest[ROUNDS], work[ROUNDS], bytes = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < STEPS; i++)
		least[i] = 1e18;
	for (unsigned r = 0; r < ROUNDS; r++) {
		bench_random_fix(1);
		size_t before = bench_memory();
		struct set *s = set_of(true, NULL);
		fill_expiring(s, in);
		bytes = (double)(bench_memory() - before) / (double)in->n;
		n = expire(s, in->n, v, false);
		work[r] = longest[r] = 0;
		for (unsigned i = 0; i < n; i++) {
			least[i] = MIN(least[i], v[i]);
			longest[r] = MAX(longest[r], v[i]);
			work[r] += v[i] * 1e3 / (double)in->n;
		}
		set_free(s);
		bench_random_fix(0);
	}
	bench_row(in->name, "memory of an element with timeout", "tamis", bytes, "bytes");
	bench_runs(in->name, "expiry, an element", "tamis", work, ROUNDS, "ns");
	bench_runs(in->name, "expiry of 1M in 1 s, longest step of a run", "tamis", longest, ROUNDS,
		   "us");
	double most = bench_quantile(least, n, 1);
	bench_row(in->name, "the same, each step's least of 5", "tamis", most, "us");
	bench_target("memory of an IPv4 element with timeout, 1M", bytes, 20, "bytes");
	bench_target("expiry of 1M due in one second: a step", most / 1e3, 1, "ms");
}

/* A reader asks for a million elements that stay, while another million goes. */
static void expiry_beside(const struct input *in)
{
	double v[STEPS], ratio[ROUNDS], quiet[ROUNDS], busy[ROUNDS];

	for (unsigned k = 0; k < ROUNDS; k++) {
		struct rcu *rcu = rcu_begin();
		struct set *s = set_of(true, rcu);
		struct reader r = {.s = s, .hits = in->hits, .rcu = rcu};
		struct input going = *in;
		pthread_t t;

		for (size_t i = 0; i < in->n; i++)
			if (set_add(s,
				    &(struct set_item){.lo = &in->keys[i], .timeout_ns = SET_NEVER},
				    0, 0, NULL))
				abort();
		going.keys = malloc(in->n * sizeof(uint32_t));
		for (size_t i = 0; i < in->n; i++)
			going.keys[i] = nth_key((uint32_t)(in->n + in->more + i));
		fill_expiring(s, &going);
		reader_make(&r, &t);
		sleep_ms(300);
		phase(&r, 1);
		expire(s, in->n, v, true);
		reader_end(&r, t);
		quiet[k] = reader_quantile(&r, 0, 0.5) / PEER_BURST;
		busy[k] = reader_quantile(&r, 1, 0.5) / PEER_BURST;
		ratio[k] = busy[k] / quiet[k];
		for (unsigned p = 0; p < PHASES; p++)
			free(r.ns[p]);
		free(going.keys);
		set_free(s);
		rcu_free(rcu);
	}
	bench_runs("hash 2M IPv4", "a reader before 1M expire", "tamis", quiet, ROUNDS, "ns");
	bench_runs("hash 2M IPv4", "a reader while 1M expire", "tamis", busy, ROUNDS, "ns");
	bench_target("readers while 1M expire: median", bench_median(ratio, ROUNDS), 1.2,
		     "x quiet");
}

/* --- replacing ------------------------------------------------------------------------------ */

enum { SWAPS = 9 };

/* A million keys, or so many in a hundred of them others. */
static uint32_t *list_of(const struct input *in, unsigned others)
{
	uint32_t *keys = malloc(in->n * sizeof(*keys));

	for (size_t i = 0; i < in->n; i++)
		keys[i] =
			i % 100 < others ? nth_key((uint32_t)(in->n + in->more + i)) : in->keys[i];
	return keys;
}

/* What a reader asks for: keys of one list and of the other in turn. */
static uint32_t *asked_of(size_t n, uint32_t *const list[2])
{
	uint32_t *asked = malloc(ASKED * sizeof(*asked));
	uint64_t random = 43;

	for (size_t i = 0; i < ASKED; i++)
		asked[i] = list[i % 2][bench_random(&random) % n];
	return asked;
}

/* ms of a flush and of adding the list, with the mark, in a transaction; of its commit. */
static void replace(struct set *s, struct reader *r, const uint32_t *list, size_t n, uint32_t mark,
		    double *load, double *commit)
{
	phase(r, 1);
	uint64_t t0 = bench_ran();
	set_begin(s);
	set_flush(s, 0);
	set_expect(s, n);
	for (size_t i = 0; i < n; i++)
		ours.add(s, &list[i]);
	ours.add(s, &mark);
	*load = (double)(bench_ran() - t0) / 1e6;
	__atomic_store_n(&r->mark, mark, __ATOMIC_RELAXED);
	sleep_ms(1);
	phase(r, 2);
	uint64_t t1 = bench_now();
	if (set_commit(s, UINT64_MAX))
		abort();
	*commit = (double)(bench_now() - t1) / 1e6; /* it waits for the reader */
	phase(r, 1);
	sleep_ms(20);
	phase(r, 0);
}

static void replaced_row(const struct input *in, const char *what, const char *name, double v,
			 const char *unit)
{
	char row[96];

	snprintf(row, sizeof(row), "%s: %s", what, name);
	bench_row(in->name, row, "tamis", v, unit);
}

static void replaced_target(const char *what, const char *name, double v, double most,
			    const char *unit)
{
	char row[96];

	snprintf(row, sizeof(row), "replacing 1M, %s: %s", what, name);
	bench_target(row, v, most, unit);
}

/*
 * The 99th percentile of a phase, in medians when nothing is replaced, without what that percentile
 * has above the median then: what the machine adds to a burst now and then is not because of it.
 */
static double because(const struct reader *r, unsigned phase)
{
	double median = reader_quantile(r, 0, 0.5), quiet = reader_quantile(r, 0, 0.99);

	return 1 + (reader_quantile(r, phase, 0.99) - quiet) / median;
}

static void replaced_report(const struct input *in, const char *what, const struct reader *r,
			    const double *first, double memory)
{
	double quiet = reader_quantile(r, 0, 0.5),
	       least = bench_quantile((double *)first, SWAPS, 0);

	replaced_row(in, what, "a reader's burst, median", quiet, "ns");
	replaced_row(in, what, "99th percentile", reader_quantile(r, 0, 0.99), "ns");
	replaced_row(in, what, "while it is replaced, median", reader_quantile(r, 1, 0.5), "ns");
	replaced_row(in, what, "99th percentile", reader_quantile(r, 1, 0.99), "ns");
	replaced_row(in, what, "while it is committed, median", reader_quantile(r, 2, 0.5), "ns");
	replaced_row(in, what, "99th percentile", reader_quantile(r, 2, 0.99), "ns");
	replaced_row(in, what, "longest of 16 from the swap on, least of 9", least, "ns");
	replaced_row(in, what, "longest of 16 when other memory was read", r->cold, "ns");
	replaced_target(what, "longest burst from the swap on", least / quiet, 2, "x quiet");
	replaced_target(what, "bursts meanwhile, 99th pct", because(r, 1), 2, "x quiet");
	replaced_target(what, "bursts at the commit, 99th pct", because(r, 2), 2, "x quiet");
	replaced_target(what, "memory within a second", memory, 1.1, "x before");
}

/* flush and re-add in one transaction, under a reader; `others` in a hundred keys are others. */
static void replacing(const struct input *in, unsigned others, const char *what)
{
	double load[SWAPS], commit[SWAPS], first[SWAPS];
	struct rcu *rcu = rcu_begin();
	struct set *s = set_of(false, rcu);
	uint32_t *list[2] = {list_of(in, 0), list_of(in, others)}, *asked = asked_of(in->n, list);
	struct reader r = {.s = s, .hits = asked, .rcu = rcu, .cold = 1e18};
	size_t before = bench_memory(), one;
	char row[96];
	pthread_t t;

	set_expect(s, in->n);
	for (size_t i = 0; i < in->n; i++)
		ours.add(s, &list[0][i]);
	one = bench_memory() - before;
	r.other = calloc(1, SWEPT);
	r.phase = SWEPT_PHASE;
	size_t kept = bench_memory();
	reader_make(&r, &t);
	kept = bench_memory() - kept;
	sleep_ms(300);
	phase(&r, 0);
	sleep_ms(300);
	for (unsigned k = 0; k < SWAPS; k++) {
		uint32_t mark = nth_key((uint32_t)(in->n + k));
		replace(s, &r, list[(k + 1) % 2], in->n, mark, &load[k], &commit[k]);
		first[k] = r.first;
		sleep_ms(100);
	}
	for (unsigned k = 0; k < 9; k++) { /* as programs do now and then */
		sleep_ms(100);
		rcu_poll(rcu);
	}
	reader_end(&r, t);
	free(r.other);
	double memory = (double)(bench_memory() - before - kept) / (double)one;
	snprintf(row, sizeof(row), "%s: flush and re-add in a transaction", what);
	bench_runs(in->name, row, "tamis", load, SWAPS, "ms");
	snprintf(row, sizeof(row), "%s: its commit", what);
	bench_runs(in->name, row, "tamis", commit, SWAPS, "ms");
	replaced_report(in, what, &r, first, memory);
	for (unsigned p = 0; p < PHASES; p++)
		free(r.ns[p]);
	set_free(s);
	rcu_free(rcu);
	free(asked);
	free(list[0]);
	free(list[1]);
}

/* --- one hot element ------------------------------------------------------------------------ */

enum { COUNTED = 100000 };

struct counting {
	struct set *s;
	struct rcu *rcu;
	uint32_t key;
	unsigned cpu;
	bool *go;
	double ns;
};

/* A burst of one flow, as the packet path counts it: looked up, shown to its element's state. */
static void count_burst(struct set *s, const uint32_t *keys, const uint32_t *len,
			const uint64_t *now, struct state_batch *b)
{
	struct set_elem *hit[PEER_BURST];
	uint64_t found = set_lookup(s, keys, 4, ~0ULL, now, hit);

	if (~found)
		abort();
	for (unsigned i = 0; i < PEER_BURST; i++)
		state_eval_shared(state_list_at(set_elem_ext(s, hit[i]), 0), b, 1ULL << i, len,
				  now);
	state_batch_flush(b);
}

static void *count_bursts(void *arg)
{
	enum { BURSTS = 20000, BLOCK = 64 };
	struct counting *c = arg;
	struct rcu_worker *w;
	struct state_batch b = {0};
	double blocks[BURSTS / BLOCK];
	uint32_t len[PEER_BURST], keys[PEER_BURST];
	uint64_t now[PEER_BURST] = {0};

	bench_pin(c->cpu);
	if (rcu_register(c->rcu, "counting", &w))
		abort();
	for (unsigned i = 0; i < PEER_BURST; i++) {
		len[i] = 64 + i;
		keys[i] = c->key;
	}
	while (!__atomic_load_n(c->go, __ATOMIC_ACQUIRE))
		;
	for (unsigned n = 0; n < BURSTS / BLOCK; n++) {
		uint64_t start = bench_now();
		for (unsigned k = 0; k < BLOCK; k++) {
			count_burst(c->s, keys, len, now, &b);
			rcu_quiescent(w);
		}
		blocks[n] = (double)(bench_now() - start) / (BLOCK * PEER_BURST);
	}
	rcu_unregister(w);
	c->ns = bench_median(blocks, BURSTS / BLOCK);
	return NULL;
}

static double count_together(struct set *s, struct rcu *rcu, unsigned workers, bool apart)
{
	bool go = false;
	struct counting c[2] = {{s, rcu, nth_key(0), 0, &go, 0},
				{s, rcu, nth_key(apart ? COUNTED / 2 : 0), 1, &go, 0}};
	pthread_t t[2];

	for (unsigned k = 0; k < workers; k++)
		pthread_create(&t[k], NULL, count_bursts, &c[k]);
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	for (unsigned k = 0; k < workers; k++)
		pthread_join(t[k], NULL);
	return MAX(c[0].ns, c[1].ns);
}

static void hot_element(void)
{
	struct state_info info = {.kind = STATE_COUNTER};
	struct set_desc d = {.n_fields = 1,
			     .field_len = {4},
			     .ext_size = state_list_ext_size,
			     .ext_init = state_list_ext_init,
			     .ext_fini = state_list_ext_fini};
	double alone[BENCH_RUNS], apart[BENCH_RUNS], together[BENCH_RUNS];
	struct state_template *counter;
	struct rcu *rcu = rcu_begin();
	struct set *s;

	if (state_template_new(&info, 1, &counter))
		abort();
	d.ext_ctx = counter;
	d.rcu = rcu;
	if (set_new(&d, &s))
		abort();
	for (uint32_t i = 0; i < COUNTED; i++) {
		uint32_t key = nth_key(i);
		ours.add(s, &key);
	}
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		alone[r] = count_together(s, rcu, 1, false);
		apart[r] = count_together(s, rcu, 2, true);
		together[r] = count_together(s, rcu, 2, false);
	}
	bench_runs("one hot element", "a packet found and counted, one worker", "tamis", alone,
		   BENCH_RUNS, "ns");
	double two = bench_runs("one hot element", "two workers, an element each", "tamis", apart,
				BENCH_RUNS, "ns");
	double one = bench_runs("one hot element", "two workers, one element", "tamis", together,
				BENCH_RUNS, "ns");
	bench_target("two workers count in one element", one / two, 1.2, "x an element each");
	set_free(s);
	rcu_free(rcu);
	state_template_free(counter);
}

static const char million[] = "1M";

void bench_writer(void)
{
	struct input in = input_make(million, 1000000);

	if (bench_dpdk())
		bench_skip("beside a writer", "DPDK does not begin");
	else
		with_writer(&in);
	several_writers(&in);
	input_free(&in);
	hot_element();
}

void bench_expiry(void)
{
	struct input in = input_make(million, 1000000);

	bench_pin(1);
	expiry(&in);
	expiry_beside(&in);
	input_free(&in);
}

void bench_replace(void)
{
	struct input in = input_make(million, 1000000);

	replacing(&in, 0, "same keys");
	replacing(&in, 1, "1 % others");
	replacing(&in, 100, "others");
	input_free(&in);
}

void bench_growth(void)
{
	struct input in = input_make("64K", 65536);

	bench_pin(1);
	peer_lfht_begin();
	growth(&in, &peer_lfht, false);
	peer_lfht_end();
	input_free(&in);
	in = input_make(million, 1000000);
	growth(&in, &ours, true);
	input_free(&in);
	in = input_make("10M", 10000000);
	growth(&in, &ours, true);
	input_free(&in);
}
