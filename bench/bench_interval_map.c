/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_interval_map: interval maps and sets with lifetimes, with keys of 4, 8 and 16 bytes: what
 * has an element behind each range. And what it takes to give back ranges and concatenated ranges
 * whose time has come.
 *
 * Prefixes have random lengths; what would lie over another element is drawn again. Half of the
 * keys looked up are random, half lie in an element. Beside the IPv4 maps rte_fib, with the same
 * prefixes, keys and results.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_fib.h>

#include "bench.h"
#include "set/set.h"

enum { KEYS = 1 << 19, KEY_MOST = 16, BURST = 64, UPDATES = 10000, NOTHING = 0xffff };

struct range {
	uint8_t lo[KEY_MOST], hi[KEY_MOST];
};

struct input {
	const char *name;
	unsigned len;		   /* of a key */
	unsigned shortest, spread; /* lengths of prefixes, in bits */
	bool map;
	size_t n;
	struct range *r;
	uint64_t random;
};

static void random_key(struct input *in, uint8_t *key)
{
	uint64_t a = bench_random(&in->random), b = bench_random(&in->random);

	be_store(key, in->len == 4 ? a >> 32 : a, MIN(in->len, 8U));
	if (in->len > 8) {
		be_store(key + 8, b, 8);
		key[0] = 0x20 | (key[0] & 0xf); /* as in the Internet */
	}
}

static void random_range(struct input *in, struct range *r)
{
	unsigned bits = in->shortest + (unsigned)(bench_random(&in->random) % in->spread);

	random_key(in, r->lo);
	for (unsigned i = 0; i < in->len; i++) {
		unsigned keep = bits <= 8 * i ? 0 : MIN(bits - 8 * i, 8U);
		uint8_t rest = (uint8_t)(0xff >> keep);
		r->lo[i] &= (uint8_t)~rest;
		r->hi[i] = r->lo[i] | rest;
	}
}

static int change(struct set *s, const struct input *in, const struct range *r, bool add)
{
	uint32_t data = 1;
	struct set_item item = {.lo = r->lo,
				.hi = r->hi,
				.data = in->map ? &data : NULL,
				.timeout_ns = in->map || !add ? 0 : 1000000};

	return add ? set_add(s, &item, SET_ADD_EXCL, 0, NULL) : set_delete(s, &item, 0);
}

static struct set *load(struct input *in)
{
	struct set_desc d = {.n_fields = 1,
			     .field_len = {(uint8_t)in->len},
			     .interval = true,
			     .timeout = !in->map,
			     .data_len = in->map ? 4 : 0};
	struct set *s;
	size_t before = bench_memory(), refused = 0;
	uint64_t start = bench_ran();

	if (set_new(&d, &s))
		return NULL;
	for (size_t i = 0; i < in->n;) {
		random_range(in, &in->r[i]);
		if (!change(s, in, &in->r[i], true))
			i++;
		else if (++refused > 20 * in->n)
			return NULL;
	}
	bench_row(in->name, "load", "tamis", (double)(bench_ran() - start) / 1e6, "ms");
	bench_row(in->name, "memory of an element", "tamis",
		  (double)(bench_memory() - before) / (double)in->n, "bytes");
	return s;
}

/* --- rte_fib -------------------------------------------------------------------------------- */

static unsigned prefix_len(const struct range *r)
{
	return 32 - (unsigned)__builtin_popcount(be32_load(r->lo) ^ be32_load(r->hi));
}

static struct rte_fib *fib_load(const struct input *in)
{
	struct rte_fib_conf conf = {.type = RTE_FIB_DIR24_8,
				    .default_nh = NOTHING,
				    .max_routes = (int)in->n + 16,
				    .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 20}};
	if (in->len != 4 || !in->map || bench_dpdk())
		return NULL;
	struct rte_fib *f = rte_fib_create("bench", 0, &conf);
	for (size_t i = 0; f && i < in->n; i++)
		if (rte_fib_add(f, be32_load(in->r[i].lo), (uint8_t)prefix_len(&in->r[i]), 1)) {
			rte_fib_free(f);
			return NULL;
		}
	return f;
}

static uint64_t fib_look(struct rte_fib *f, const uint32_t *addresses)
{
	uint64_t hits = 0, next[BURST];

	for (unsigned i = 0; i < KEYS; i += BURST) {
		rte_fib_lookup_bulk(f, (uint32_t *)addresses + i, next, BURST);
		for (unsigned k = 0; k < BURST; k++)
			hits += next[k] != NOTHING;
	}
	return hits;
}

/* The same as lookups() did; what it found. */
static void fib_lookups(const struct input *in, const uint8_t *keys, uint64_t found)
{
	struct rte_fib *f = fib_load(in);
	uint32_t *addresses = malloc(KEYS * sizeof(*addresses));
	double v[BENCH_RUNS];
	uint64_t hits = 0;

	for (size_t i = 0; f && i < KEYS; i++)
		addresses[i] = be32_load(keys + 4 * i);
	for (unsigned run = 0; f && run < BENCH_RUNS; run++) {
		uint64_t start = bench_ran();
		hits = fib_look(f, addresses);
		v[run] = (double)(bench_ran() - start) / KEYS;
	}
	if (f) {
		double theirs = bench_median(v, BENCH_RUNS);
		char what[64];
		bench_row(in->name, "lookup, burst of 64", "rte_fib", theirs, "ns");
		if (hits != found)
			bench_row(in->name, "share of hits", "rte_fib", (double)hits / KEYS, "");
		snprintf(what, sizeof(what), "%s, lookup, burst of 64", in->name);
		bench_target(what, bench_value(in->name, "lookup, burst of 64", "tamis") / theirs,
			     2.5, "x rte_fib");
	}
	rte_fib_free(f);
	free(addresses);
}

static void lookups(struct input *in, struct set *s)
{
	uint8_t *keys = malloc((size_t)KEYS * in->len);
	double burst[BENCH_RUNS], single[BENCH_RUNS];
	uint64_t found = 0;
	static const uint64_t now[BURST];
	struct set_elem *hit[BURST];

	for (size_t i = 0; i < KEYS; i++) {
		uint8_t *k = keys + i * in->len;
		const struct range *r = &in->r[bench_random(&in->random) % in->n];
		random_key(in, k);
		for (unsigned b = 0; i % 2 && b < in->len; b++)
			k[b] = r->lo[b] | (k[b] & (r->hi[b] - r->lo[b]));
	}
	for (unsigned run = 0; run < BENCH_RUNS; run++) {
		uint64_t t0 = bench_ran();
		found = 0;
		for (size_t i = 0; i < KEYS; i += BURST)
			found += (unsigned)__builtin_popcountll(
				set_lookup(s, keys + i * in->len, in->len, ~0ULL, now, hit));
		uint64_t t1 = bench_ran();
		for (size_t i = 0; i < KEYS; i++)
			set_lookup(s, keys + i * in->len, in->len, 1, now, hit);
		uint64_t t2 = bench_ran();
		burst[run] = (double)(t1 - t0) / KEYS;
		single[run] = (double)(t2 - t1) / KEYS;
	}
	bench_row(in->name, "lookup, burst of 64", "tamis", bench_median(burst, BENCH_RUNS), "ns");
	bench_row(in->name, "lookup, one at a time", "tamis", bench_median(single, BENCH_RUNS),
		  "ns");
	fib_lookups(in, keys, found);
	free(keys);
}

struct updating {
	const struct input *in;
	struct set *s;
	const struct range *r[UPDATES];
};

static int update(void *ctx, size_t i)
{
	struct updating *u = ctx;
	return change(u->s, u->in, u->r[i / 2], i % 2);
}

/* Random elements out and in again. */
static void updates(struct input *in, struct set *s)
{
	static struct updating u;

	u = (struct updating){in, s};
	for (size_t i = 0; i < UPDATES; i++)
		u.r[i] = &in->r[bench_random(&in->random) % in->n];
	bench_updates(in->name, "tamis", 2 * UPDATES, update, &u);
}

static void bench_map(const char *name, unsigned len, unsigned shortest, unsigned spread, bool map,
		      size_t n)
{
	struct input in = {.name = name,
			   .len = len,
			   .shortest = shortest,
			   .spread = spread,
			   .map = map,
			   .n = n,
			   .r = calloc(n, sizeof(*in.r)),
			   .random = 11};
	struct set *s = load(&in);

	if (s) {
		lookups(&in, s);
		updates(&in, s);
	}
	set_free(s);
	free(in.r);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

enum { DUE = 1000, ROUNDS = 5, STEPS_MOST = 1001 };

static const uint64_t ms = 1000000;

/* n ranges apart from each other, of one field or, with ports, two, that end DUE each ms. */
static struct set *load_expiring(unsigned fields, unsigned len, size_t n)
{
	struct set_desc d = {.n_fields = (uint8_t)fields,
			     .field_len = {(uint8_t)len, fields > 1 ? 2 : 0},
			     .interval = true,
			     .timeout = true};
	struct set *s;

	if (set_new(&d, &s))
		abort();
	for (size_t i = 0; i < n; i++) {
		uint8_t lo[KEY_MOST + 2] = {0}, hi[KEY_MOST + 2];
		struct set_item item = {
			.lo = lo, .hi = hi, .timeout_ns = 1000 * ms + (i + 1) * ms / DUE};

		memset(hi, 0xff, sizeof(hi));
		be32_store(lo, (uint32_t)i * 0x9e3779b1 & ~15U); /* scattered */
		be32_store(hi, be32_load(lo) | 7);
		if (set_add(s, &item, SET_ADD_EXCL, 0, NULL))
			abort();
	}
	return s;
}

/* A step each ms takes what ended within it. */
static void expiry(const char *name, const char *what, unsigned fields, unsigned len, size_t n)
{
	double least[STEPS_MOST], work[ROUNDS], longest[ROUNDS];
	size_t steps = n / DUE;

	for (size_t i = 0; i < steps; i++)
		least[i] = 1e18;
	for (unsigned r = 0; r < ROUNDS; r++) {
		struct set *s = load_expiring(fields, len, n);

		work[r] = longest[r] = 0;
		for (size_t i = 0; i < steps; i++) {
			uint64_t start = bench_now();
			if (set_gc(s, (1001 + i) * ms, 2 * DUE) != DUE)
				abort();
			double us = (double)(bench_now() - start) / 1e3;
			least[i] = MIN(least[i], us);
			longest[r] = MAX(longest[r], us);
			work[r] += us * 1e3 / (double)n;
		}
		set_free(s);
	}
	bench_runs(name, "expiry, an element", "tamis", work, ROUNDS, "ns");
	bench_runs(name, "expiry, longest step of a run", "tamis", longest, ROUNDS, "us");
	bench_row(name, "expiry, a step, median", "tamis", bench_quantile(least, steps, 0.5), "us");
	double most = bench_quantile(least, steps, 1);
	bench_row(name, "the same, each step's least of 5", "tamis", most, "us");
	bench_target(what, most / 1e3, 1, "ms");
}

void bench_interval_expiry(void)
{
	expiry("ranges, ipv4, 1000K due", "expiry of 1M ranges due in one second: a step", 1, 4,
	       1000000);
	expiry("ranges, ipv6, 100K due", "expiry of 100K IPv6 ranges due, 1,000 a step", 1, 16,
	       100000);
	expiry("concat, 100K due", "expiry of 100K concatenated ranges due, 1,000 a step", 2, 4,
	       100000);
}

void bench_interval_map(void)
{
	bench_map("interval map, ipv4, 100K", 4, 16, 17, true, 100000);
	bench_map("interval map, ipv4, 1000K", 4, 22, 11, true, 1000000);
	bench_map("interval timeouts, ipv4, 1000K", 4, 22, 11, false, 1000000);
	bench_map("interval map, 8 bytes, 1000K", 8, 24, 41, true, 1000000);
	bench_map("interval map, ipv6, 100K", 16, 20, 45, true, 100000);
	bench_map("interval map, ipv6, 1000K", 16, 28, 101, true, 1000000);
}
