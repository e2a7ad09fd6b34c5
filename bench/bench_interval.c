/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_interval: IPv4 prefixes in an interval set, beside rte_fib (DIR-24-8).
 *
 * Prefixes have random lengths from 8 to 32, but at most one in 64 of all that there are of a
 * length: else the short ones would cover everything. They lie over each other, so the set has
 * auto-merge. Half of the keys looked up are random, half lie in a random prefix. Both structures
 * must give the same answers.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_fib.h>

#include "bench.h"
#include "set/set.h"

enum { KEYS = 1 << 20, BURST = 64, UPDATES = 20000, NOTHING = 0xffff };

struct prefix {
	uint32_t addr;
	uint8_t len;
};

struct input {
	char name[32];
	struct prefix *p;
	size_t n;
	uint8_t (*keys)[4];  /* as in packets */
	uint32_t *addresses; /* the same as numbers */
	uint64_t random;
};

static uint32_t last_of(struct prefix p)
{
	return p.addr | (uint32_t)(0xffffffffULL >> p.len);
}

static int by_addr(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->len - y->len;
}

/* Distinct prefixes in random order. */
static void prefixes_make(struct input *in, size_t n)
{
	size_t of_len[33] = {0}, have = 0, cap = n + n / 4;
	struct prefix *p = calloc(cap, sizeof(*p));

	while (have < n) {
		for (; have < cap; have++) {
			uint64_t r = bench_random(&in->random);
			uint8_t len;
			do
				len = (uint8_t)(8 + bench_random(&in->random) % 25);
			while (of_len[len] >= MAX((1ULL << len) / 64, 1ULL));
			of_len[len]++;
			p[have] = (struct prefix){(uint32_t)r & ~(uint32_t)(0xffffffffULL >> len),
						  len};
		}
		qsort(p, have, sizeof(*p), by_addr);
		size_t kept = 0;
		for (size_t i = 0; i < have; i++)
			if (!kept || by_addr(&p[kept - 1], &p[i]))
				p[kept++] = p[i];
		have = kept;
	}
	for (size_t i = have; i-- > 1;) {
		size_t k = bench_random(&in->random) % (i + 1);
		struct prefix swap = p[i];
		p[i] = p[k];
		p[k] = swap;
	}
	in->p = p;
	in->n = n;
}

static void input_make(struct input *in, size_t n)
{
	snprintf(in->name, sizeof(in->name), "interval %zuK", n / 1000);
	in->random = 42;
	prefixes_make(in, n);
	in->keys = malloc(KEYS * sizeof(*in->keys));
	in->addresses = malloc(KEYS * sizeof(*in->addresses));
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t r = bench_random(&in->random);
		struct prefix p = in->p[r % n];
		uint32_t a = r >> 63 ? (uint32_t)(r >> 31)
				     : p.addr | ((uint32_t)(r >> 31) & (last_of(p) - p.addr));
		be32_store(in->keys[i], a);
		in->addresses[i] = a;
	}
}

static void input_free(struct input *in)
{
	free(in->p);
	free(in->keys);
	free(in->addresses);
}

static int change(struct set *s, struct prefix p, bool add)
{
	uint8_t lo[4], hi[4];
	struct set_item item = {.lo = lo, .hi = hi};

	be32_store(lo, p.addr);
	be32_store(hi, last_of(p));
	return add ? set_add(s, &item, 0, 0, NULL) : set_delete(s, &item, 0);
}

static struct set *load(const struct input *in)
{
	struct set_desc d = {.n_fields = 1, .field_len = {4}, .interval = true, .auto_merge = true};
	struct set *s;
	size_t before = bench_memory();
	uint64_t start = bench_ran();

	if (set_new(&d, &s))
		return NULL;
	for (size_t i = 0; i < in->n; i++)
		if (change(s, in->p[i], true))
			return NULL;
	bench_row(in->name, "load", "tamis", (double)(bench_ran() - start) / 1e6, "ms");
	bench_row(in->name, "memory of an element", "tamis",
		  (double)(bench_memory() - before) / (double)in->n, "bytes");
	return s;
}

static struct rte_fib *fib_load(const struct input *in)
{
	struct rte_fib_conf conf = {.type = RTE_FIB_DIR24_8,
				    .default_nh = NOTHING,
				    .max_routes = (int)in->n + 16,
				    .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 20}};
	if (bench_dpdk())
		return NULL;
	struct rte_fib *f = rte_fib_create("bench", 0, &conf);
	uint64_t start = bench_ran();
	for (size_t i = 0; f && i < in->n; i++)
		if (rte_fib_add(f, in->p[i].addr, in->p[i].len, 1)) {
			rte_fib_free(f);
			return NULL;
		}
	if (f)
		bench_row(in->name, "load", "rte_fib", (double)(bench_ran() - start) / 1e6, "ms");
	return f;
}

/* --- lookups -------------------------------------------------------------------------------- */

static uint64_t look(struct set *s, const struct input *in)
{
	uint64_t hits = 0;
	static const uint64_t now[BURST];

	for (unsigned i = 0; i < KEYS; i += BURST)
		hits += (unsigned)__builtin_popcountll(
			set_lookup(s, in->keys[i], 4, ~0ULL, now, NULL));
	return hits;
}

static uint64_t look_single(struct set *s, const struct input *in)
{
	uint64_t hits = 0, now = 0;

	for (unsigned i = 0; i < KEYS; i++)
		hits += set_lookup(s, in->keys[i], 4, 1, &now, NULL);
	return hits;
}

static uint64_t fib_look(struct rte_fib *f, const struct input *in)
{
	uint64_t hits = 0, next[BURST];

	for (unsigned i = 0; i < KEYS; i += BURST) {
		rte_fib_lookup_bulk(f, in->addresses + i, next, BURST);
		for (unsigned k = 0; k < BURST; k++)
			hits += next[k] != NOTHING;
	}
	return hits;
}

static void lookups(const struct input *in, struct set *s, struct rte_fib *f)
{
	double ours[BENCH_RUNS], single[BENCH_RUNS], fib[BENCH_RUNS];
	uint64_t hits = 0, fib_hits = 0;

	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		uint64_t t0 = bench_ran();
		hits = look(s, in);
		uint64_t t1 = bench_ran();
		look_single(s, in);
		uint64_t t2 = bench_ran();
		if (f)
			fib_hits = fib_look(f, in);
		uint64_t t3 = bench_ran();
		ours[r] = (double)(t1 - t0) / KEYS;
		single[r] = (double)(t2 - t1) / KEYS;
		fib[r] = (double)(t3 - t2) / KEYS;
	}
	bench_row(in->name, "lookup, burst of 64", "tamis", bench_median(ours, BENCH_RUNS), "ns");
	if (f)
		bench_row(in->name, "lookup, burst of 64", "rte_fib", bench_median(fib, BENCH_RUNS),
			  "ns");
	bench_row(in->name, "lookup, one at a time", "tamis", bench_median(single, BENCH_RUNS),
		  "ns");
	bench_row(in->name, "share of hits", "tamis", (double)hits / KEYS, "");
	if (f && hits != fib_hits)
		bench_row(in->name, "share of hits", "rte_fib", (double)fib_hits / KEYS, "");
}

/* --- updates -------------------------------------------------------------------------------- */

static int fib_change(struct rte_fib *f, struct prefix p, bool add)
{
	return add ? rte_fib_add(f, p.addr, p.len, 1) : rte_fib_delete(f, p.addr, p.len);
}

struct updating {
	struct set *s;
	struct rte_fib *f;
	struct prefix p[UPDATES];
};

static int update(void *ctx, size_t i)
{
	struct updating *u = ctx;
	return change(u->s, u->p[i / 2], i % 2);
}

static int fib_update(void *ctx, size_t i)
{
	struct updating *u = ctx;
	return fib_change(u->f, u->p[i / 2], i % 2);
}

/* Random elements out and in again. */
static void updates(struct input *in, struct set *s, struct rte_fib *f)
{
	static struct updating u;

	u = (struct updating){.s = s, .f = f};
	for (size_t i = 0; i < UPDATES; i++)
		u.p[i] = in->p[bench_random(&in->random) % in->n];
	bench_updates(in->name, "tamis", 2 * UPDATES, update, &u);
	if (f)
		bench_updates(in->name, "rte_fib", 2 * UPDATES, fib_update, &u);
}

static void targets(const struct input *in)
{
	double fib = bench_value(in->name, "lookup, burst of 64", "rte_fib");
	char what[64];

	if (fib > 0) {
		snprintf(what, sizeof(what), "%s prefixes, lookup, burst of 64", in->name);
		bench_target(what, bench_value(in->name, "lookup, burst of 64", "tamis") / fib, 2.5,
			     "x rte_fib");
	}
	if (in->n < 1000000)
		return;
	bench_target("interval 1M prefixes, update, median",
		     bench_value(in->name, "update, median", "tamis"), 3, "us");
	bench_target("interval 1M prefixes, update, 99.9th percentile",
		     bench_value(in->name, "update, 99.9th percentile", "tamis"), 50, "us");
	bench_target("memory of a prefix, 1M",
		     bench_value(in->name, "memory of an element", "tamis"), 24, "bytes");
}

void bench_interval(void)
{
	static const size_t sizes[] = {100000, 1000000};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct input in;
		input_make(&in, sizes[i]);
		struct set *s = load(&in);
		struct rte_fib *f = fib_load(&in);
		if (s) {
			lookups(&in, s, f);
			updates(&in, s, f);
			targets(&in);
		}
		set_free(s);
		rte_fib_free(f);
		input_free(&in);
	}
}
