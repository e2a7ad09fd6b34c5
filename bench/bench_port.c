/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_port: sets of ports, the usual few and nearly all: of exact keys, with `flags interval`,
 * and a bare bitmap of 65,536 bits, the least that a lookup could be.
 *
 * Half of the keys looked up are in the set, where it does not have nearly all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "hash_input.h"
#include "set/set.h"

enum { KEYS = 1 << 16, BURST = 64, PORTS = 1 << 16 };

struct ports {
	char name[24];
	size_t n;
	uint16_t port[PORTS]; /* all of them, the first n are in the set */
	uint8_t keys[KEYS][2];
};

static void ports_make(struct ports *in, size_t n)
{
	uint64_t random = 5;

	snprintf(in->name, sizeof(in->name), "%zu ports", n);
	in->n = n;
	for (unsigned i = 0; i < PORTS; i++)
		in->port[i] = (uint16_t)i;
	for (unsigned i = PORTS; i-- > 1;) {
		unsigned k = (unsigned)(bench_random(&random) % (i + 1));
		uint16_t swap = in->port[i];
		in->port[i] = in->port[k];
		in->port[k] = swap;
	}
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t r = bench_random(&random);
		be16_store(in->keys[i], in->port[i % 2 ? r % n : r % PORTS]);
	}
}

static void row_ns(const struct ports *in, const char *who, double *v)
{
	bench_runs(in->name, "lookup, burst of 64", who, v, BENCH_RUNS, "ns");
}

static uint64_t set_look(struct set *s, const struct ports *in)
{
	static const uint64_t now[BURST];
	uint64_t found = 0;

	for (unsigned i = 0; i < KEYS; i += BURST)
		found += (unsigned)__builtin_popcountll(
			set_lookup(s, in->keys[i], 2, ~0ULL, now, NULL));
	return found;
}

static uint64_t bits_look(const uint64_t *bits, const struct ports *in)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < KEYS; i += BURST) {
		uint64_t mask = 0;
		for (unsigned k = 0; k < BURST; k++) {
			unsigned x = be16_load(in->keys[i + k]);
			mask |= (bits[x / 64] >> x % 64 & 1) << k;
		}
		found += (unsigned)__builtin_popcountll(mask);
	}
	return found;
}

/* Returns what is found. */
static uint64_t of_set(const struct ports *in, bool interval, struct rcu *rcu, const char *who)
{
	struct set_desc d = {.n_fields = 1, .field_len = {2}, .interval = interval, .rcu = rcu};
	double v[BENCH_RUNS];
	size_t before = bench_memory();
	uint64_t found = 0, start = bench_ran();
	struct set *s;

	if (set_new(&d, &s))
		return 0;
	for (size_t i = 0; i < in->n; i++) {
		uint8_t key[2];
		be16_store(key, in->port[i]);
		if (set_add(s, &(struct set_item){.lo = key}, 0, 0, NULL))
			abort();
	}
	bench_row(in->name, "insert, of all", who, (double)(bench_ran() - start) / (double)in->n,
		  "ns");
	bench_row(in->name, "memory of the set", who, (double)(bench_memory() - before), "bytes");
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		start = bench_ran();
		found = set_look(s, in);
		v[r] = (double)(bench_ran() - start) / KEYS;
	}
	row_ns(in, who, v);
	set_free(s);
	return found;
}

static uint64_t of_bits(const struct ports *in)
{
	uint64_t *bits = calloc(PORTS / 64, sizeof(*bits)), found = 0;
	double v[BENCH_RUNS];

	for (size_t i = 0; i < in->n; i++)
		bits[in->port[i] / 64] |= 1ULL << in->port[i] % 64;
	bench_row(in->name, "memory of the set", "bitmap", PORTS / 8, "bytes");
	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		uint64_t start = bench_ran();
		found = bits_look(bits, in);
		v[r] = (double)(bench_ran() - start) / KEYS;
	}
	row_ns(in, "bitmap", v);
	free(bits);
	return found;
}

void bench_port(void)
{
	static const size_t sizes[] = {5, 60000};
	static struct ports in;
	struct rcu *rcu = rcu_begin();

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		ports_make(&in, sizes[i]);
		uint64_t found = of_bits(&in);
		if (of_set(&in, false, NULL, "exact") != found ||
		    of_set(&in, false, rcu, "exact rcu") != found ||
		    of_set(&in, true, NULL, "interval") != found)
			bench_skip(in.name, "they differ in what they find");
	}
	rcu_free(rcu);
}
