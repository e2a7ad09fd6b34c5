/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_concat: an IPv4 prefix and a port range, `ipv4_addr . inet_service` with `flags interval`,
 * beside the exact hash of the same key.
 *
 * Prefixes have lengths from 12 to 32, port ranges up to 1,000 ports; what would lie over another
 * element is drawn again. Half of the keys looked up are random, half lie in an element. A second
 * set is one of boxes over each other: few addresses, each with many port ranges.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "set/set.h"

enum { KEYS = 1 << 19, KEY = 6, BURST = 64, UPDATES = 10000 };

struct box {
	uint8_t lo[KEY], hi[KEY];
};

static void box_make(struct box *b, uint64_t *random, bool narrow)
{
	uint64_t r = bench_random(random), r2 = bench_random(random);
	unsigned len = narrow ? 32 : 12 + (unsigned)(r >> 40) % 21;
	uint32_t rest = (uint32_t)(0xffffffffULL >> len);
	uint32_t addr = narrow ? 0x0a000000 | ((uint32_t)r & 0xff) : (uint32_t)r & ~rest;
	uint32_t port = (uint32_t)(r2 & 0xffff),
		 width = (uint32_t)(r2 >> 16) % (narrow ? 40 : 1000);

	be32_store(b->lo, addr);
	be32_store(b->hi, addr | rest);
	be16_store(b->lo + 4, (uint16_t)port);
	be16_store(b->hi + 4, (uint16_t)MIN(port + width, 0xffffU));
}

static struct set *load(const char *name, struct box *b, size_t n, uint64_t *random, bool narrow)
{
	struct set_desc d = {.n_fields = 2, .field_len = {4, 2}, .interval = true};
	struct set *s;
	size_t before = bench_memory(), refused = 0;
	uint64_t start = bench_ran();

	if (set_new(&d, &s))
		return NULL;
	for (size_t i = 0; i < n;) {
		box_make(&b[i], random, narrow);
		struct set_item item = {.lo = b[i].lo, .hi = b[i].hi};
		if (!set_add(s, &item, SET_ADD_EXCL, 0, NULL))
			i++;
		else if (++refused > 20 * n)
			return NULL;
	}
	bench_row(name, "load", "tamis", (double)(bench_ran() - start) / 1e6, "ms");
	bench_row(name, "memory of an element", "tamis",
		  (double)(bench_memory() - before) / (double)n, "bytes");
	return s;
}

static struct set *load_exact(const struct box *b, size_t n)
{
	struct set_desc d = {.n_fields = 2, .field_len = {4, 2}};
	struct set *s;

	if (set_new(&d, &s))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct set_item item = {.lo = b[i].lo};
		if (set_add(s, &item, 0, 0, NULL))
			return NULL;
	}
	return s;
}

static double look(struct set *s, const uint8_t *keys)
{
	static const uint64_t now[BURST];
	uint64_t start = bench_ran();

	for (size_t i = 0; i < KEYS; i += BURST)
		set_lookup(s, keys + i * KEY, KEY, ~0ULL, now, NULL);
	return (double)(bench_ran() - start) / KEYS;
}

static void lookups(const char *name, struct set *s, struct set *exact, const struct box *b,
		    size_t n, uint64_t *random)
{
	uint8_t *keys = malloc((size_t)KEYS * KEY);
	double ours[BENCH_RUNS], hash[BENCH_RUNS];

	for (size_t i = 0; i < KEYS; i++) {
		uint64_t r = bench_random(random);
		const struct box *in = &b[r % n];
		uint8_t *k = keys + i * KEY;
		be32_store(k, (uint32_t)(r >> 31));
		be16_store(k + 4, (uint16_t)(r >> 15));
		if (!(r >> 63)) {
			uint32_t lo = be32_load(in->lo), hi = be32_load(in->hi);
			uint16_t p = be16_load(in->lo + 4), q = be16_load(in->hi + 4);
			be32_store(k, lo | ((uint32_t)(r >> 31) & (hi - lo)));
			be16_store(k + 4, (uint16_t)(p + (r >> 15) % (q - p + 1U)));
		}
	}
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		ours[r] = look(s, keys);
		hash[r] = look(exact, keys);
	}
	bench_row(name, "lookup, burst of 64", "tamis", bench_median(ours, BENCH_RUNS), "ns");
	bench_row(name, "lookup, burst of 64", "tamis hash", bench_median(hash, BENCH_RUNS), "ns");
	free(keys);
	if (n == 100000)
		bench_target("concatenated ranges, 100K, burst of 64",
			     bench_value(name, "lookup, burst of 64", "tamis"),
			     MAX(150, 3 * bench_value(name, "lookup, burst of 64", "tamis hash")),
			     "ns");
}

struct updating {
	struct set *s;
	const struct box *b[UPDATES];
};

static int update(void *ctx, size_t i)
{
	struct updating *u = ctx;
	struct set_item item = {.lo = u->b[i / 2]->lo, .hi = u->b[i / 2]->hi};

	/* What came first may be refused now: another has grown around it. */
	if (i % 2)
		set_add(u->s, &item, 0, 0, NULL);
	else
		set_delete(u->s, &item, 0);
	return 0;
}

static void updates(const char *name, struct set *s, const struct box *b, size_t n,
		    uint64_t *random)
{
	static struct updating u;

	u.s = s;
	for (size_t i = 0; i < UPDATES; i++)
		u.b[i] = &b[bench_random(random) % n];
	bench_updates(name, "tamis", 2 * UPDATES, update, &u);
}

static void bench_boxes(const char *name, size_t n, bool narrow)
{
	struct box *b = calloc(n, sizeof(*b));
	uint64_t random = 7;
	struct set *s = load(name, b, n, &random, narrow);
	struct set *exact = load_exact(b, n);

	if (s && exact) {
		lookups(name, s, exact, b, n, &random);
		updates(name, s, b, n, &random);
	}
	set_free(s);
	set_free(exact);
	free(b);
}

void bench_concat(void)
{
	bench_boxes("concat 100K", 100000, false);
	bench_boxes("concat 1000K", 1000000, false);
	bench_boxes("concat 20K, 256 addresses", 20000, true);
}
