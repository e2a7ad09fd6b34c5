/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_concat: concatenations with ranges, `flags interval`, beside the exact hash of the same
 * key: `ipv4_addr . inet_service`, with a second address, with protocol and ports at both ends, and
 * the first of IPv6.
 *
 * Prefixes have lengths from 12 to 32 (IPv6: 32 to 64, in 2000::/8), port ranges up to 1,000 ports,
 * a protocol is TCP or UDP; what would lie over another element is drawn again. Half of the keys
 * looked up are random, half lie in an element. Another set is one of boxes over each other: few
 * addresses, each with many port ranges.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "hash_input.h"
#include "set/set.h"

enum { KEYS = 1 << 19, KEY = 20, BURST = 64, UPDATES = 10000 };

static const struct shape {
	const char *name;
	size_t n;
	uint8_t n_fields, len[SET_FIELDS_MAX];
	bool narrow;
} shapes[] = {
	{"concat 100K", 100000, 2, {4, 2}, false},
	{"concat 1000K", 1000000, 2, {4, 2}, false},
	{"concat 20K, 256 addresses", 20000, 2, {4, 2}, true},
	{"concat 100K, 3 fields", 100000, 3, {4, 4, 2}, false},
	{"concat 100K, 5 fields", 100000, 5, {4, 4, 1, 2, 2}, false},
	{"concat 100K, IPv6", 100000, 2, {16, 2}, false},
};

struct box {
	uint8_t lo[KEY], hi[KEY];
};

static size_t key_len(const struct shape *h)
{
	size_t len = 0;

	for (unsigned f = 0; f < h->n_fields; f++)
		len += h->len[f];
	return len;
}

static void prefix_make(uint8_t *lo, uint8_t *hi, unsigned len, uint64_t *random)
{
	unsigned bits = len == 4 ? 12 + (unsigned)(bench_random(random) >> 40) % 21
				 : 32 + (unsigned)(bench_random(random) >> 40) % 33;

	for (unsigned i = 0; i < len; i++) {
		uint8_t rest = bits >= 8 * (i + 1) ? 0
			       : bits <= 8 * i	   ? 0xff
						   : 0xff >> (bits - 8 * i);
		uint8_t byte = len == 16 && !i ? 0x20 : (uint8_t)(bench_random(random) >> 20);
		lo[i] = byte & (uint8_t)~rest;
		hi[i] = byte | rest;
	}
}

static void field_make(const struct shape *h, uint8_t *lo, uint8_t *hi, unsigned len,
		       uint64_t *random)
{
	uint64_t r = bench_random(random);
	uint32_t port = (uint32_t)(r & 0xffff),
		 width = (uint32_t)(r >> 16) % (h->narrow ? 40 : 1000);

	if (len == 1) {
		*lo = *hi = r & 1 ? 6 : 17;
	} else if (len == 2) {
		be16_store(lo, (uint16_t)port);
		be16_store(hi, (uint16_t)MIN(port + width, 0xffffU));
	} else if (h->narrow) {
		be32_store(lo, 0x0a000000 | (uint32_t)(r >> 32 & 0xff));
		be32_store(hi, be32_load(lo));
	} else {
		prefix_make(lo, hi, len, random);
	}
}

static void box_make(const struct shape *h, struct box *b, uint64_t *random)
{
	for (unsigned f = 0, at = 0; f < h->n_fields; at += h->len[f++])
		field_make(h, b->lo + at, b->hi + at, h->len[f], random);
}

static struct set *make(const struct shape *h, bool interval, struct rcu *rcu)
{
	struct set_desc d = {.n_fields = h->n_fields, .interval = interval, .rcu = rcu};
	struct set *s;

	memcpy(d.field_len, h->len, h->n_fields);
	return set_new(&d, &s) ? NULL : s;
}

/* In one transaction, as from a text. */
static struct set *load(const struct shape *h, struct box *b, uint64_t *random, struct rcu *rcu)
{
	struct set *s = make(h, true, rcu);
	size_t before = bench_memory(), refused = 0;
	uint64_t start = bench_ran();

	if (!s || set_begin(s))
		return NULL;
	for (size_t i = 0; i < h->n;) {
		box_make(h, &b[i], random);
		struct set_item item = {.lo = b[i].lo, .hi = b[i].hi};
		if (!set_add(s, &item, SET_ADD_EXCL, 0, NULL))
			i++;
		else if (++refused > 20 * h->n)
			return NULL;
	}
	if (set_commit(s, UINT64_MAX))
		return NULL;
	bench_row(h->name, "load", "tamis", (double)(bench_ran() - start) / 1e6, "ms");
	bench_row(h->name, "memory of an element", "tamis",
		  (double)(bench_memory() - before) / (double)h->n, "bytes");
	return s;
}

static struct set *load_exact(const struct shape *h, const struct box *b)
{
	struct set *s = make(h, false, NULL);

	for (size_t i = 0; s && i < h->n; i++) {
		struct set_item item = {.lo = b[i].lo};
		if (set_add(s, &item, 0, 0, NULL))
			return NULL;
	}
	return s;
}

static double look(struct set *s, const uint8_t *keys, size_t len)
{
	static const uint64_t now[BURST];
	uint64_t start = bench_ran();

	for (size_t i = 0; i < KEYS; i += BURST)
		set_lookup(s, keys + i * len, len, ~0ULL, now, NULL);
	return (double)(bench_ran() - start) / KEYS;
}

/* A number from lo to hi, of up to 8 bytes where they differ. */
static void key_in(uint8_t *key, const uint8_t *lo, const uint8_t *hi, unsigned len, uint64_t r)
{
	if (len == 2) {
		unsigned p = be16_load(lo), q = be16_load(hi);
		be16_store(key, (uint16_t)(p + r % (q - p + 1)));
		return;
	}
	for (unsigned i = 0; i < len; i++)
		key[i] = lo[i] | (uint8_t)(r >> 8 * (i % 8) & (uint8_t)(hi[i] - lo[i]));
}

static void lookups(const struct shape *h, struct set *s, struct set *exact, const struct box *b,
		    uint64_t *random)
{
	size_t len = key_len(h);
	uint8_t *keys = malloc(KEYS * len);
	double boxes[BENCH_RUNS], hash[BENCH_RUNS];
	char figure[96];

	for (size_t i = 0; i < KEYS; i++) {
		const struct box *in = &b[bench_random(random) % h->n];
		struct box any;
		box_make(h, &any, random);
		if (bench_random(random) & 1)
			in = &any;
		for (unsigned f = 0, at = 0; f < h->n_fields; at += h->len[f++])
			key_in(keys + i * len + at, in->lo + at, in->hi + at, h->len[f],
			       bench_random(random));
	}
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		boxes[r] = look(s, keys, len);
		hash[r] = look(exact, keys, len);
	}
	bench_row(h->name, "lookup, burst of 64", "tamis", bench_median(boxes, BENCH_RUNS), "ns");
	bench_row(h->name, "lookup, burst of 64", "tamis hash", bench_median(hash, BENCH_RUNS),
		  "ns");
	free(keys);
	if (h->n != 100000)
		return;
	snprintf(figure, sizeof(figure), "%s, burst of 64", h->name);
	bench_target(figure, bench_value(h->name, "lookup, burst of 64", "tamis"),
		     MAX(150, 3 * bench_value(h->name, "lookup, burst of 64", "tamis hash")), "ns");
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

static void updates(const struct shape *h, struct set *s, const struct box *b, uint64_t *random)
{
	static struct updating u;

	u.s = s;
	for (size_t i = 0; i < UPDATES; i++)
		u.b[i] = &b[bench_random(random) % h->n];
	bench_updates(h->name, "tamis", 2 * UPDATES, update, &u);
}

static void bench_boxes(const struct shape *h)
{
	struct box *b = calloc(h->n, sizeof(*b));
	uint64_t random = 7;
	struct rcu *rcu = rcu_begin();
	struct set *s = load(h, b, &random, rcu);
	struct set *exact = load_exact(h, b);

	if (s && exact) {
		lookups(h, s, exact, b, &random);
		updates(h, s, b, &random);
	}
	set_free(s);
	set_free(exact);
	rcu_free(rcu);
	free(b);
}

void bench_concat(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++)
		bench_boxes(&shapes[i]);
}
