/* SPDX-License-Identifier: Apache-2.0 */
/* hash_input: see hash_input.h. */
#include "hash_input.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 1024 };

static uint64_t times[PEER_BURST];

/* An invertible mix of a counter. */
uint32_t nth_key(uint32_t i)
{
	i ^= i >> 16;
	i *= 0x7feb352d;
	i ^= i >> 15;
	i *= 0x846ca68b;
	return i ^ i >> 16;
}

struct input input_make(const char *name, size_t n)
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

void input_free(struct input *in)
{
	free(in->keys);
	free(in->hits);
	free(in->misses);
}

/* --- ours ----------------------------------------------------------------------------------- */

struct set *set_of(bool timeout, struct rcu *rcu)
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
	struct set *s = set_of(false, NULL);
	set_expect(s, n);
	return s;
}

static void ours_drop(void *h)
{
	set_free(h);
}

static struct rcu *shared_by;

static uint64_t rcu_clock(void *ctx)
{
	return bench_now();
}

struct rcu *rcu_begin(void)
{
	struct rcu *rcu;

	if (rcu_new(&(struct rcu_config){.clock = rcu_clock}, &rcu))
		abort();
	return rcu;
}

static void *shared_make(size_t n)
{
	shared_by = rcu_begin();
	struct set *s = set_of(false, shared_by);
	set_expect(s, n);
	return s;
}

static void shared_drop(void *h)
{
	set_free(h);
	rcu_free(shared_by);
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

const struct peer ours = {"tamis",  ours_make,	ours_drop, ours_add,
			  ours_del, ours_burst, ours_one,  bench_memory};
const struct peer ours_shared = {"tamis rcu", shared_make, shared_drop, ours_add,
				 ours_del,    ours_burst,  ours_one,	bench_memory};

/* --- lookups -------------------------------------------------------------------------------- */

static double figure(double *blocks, size_t n, size_t want)
{
	if (n != want)
		abort();
	return bench_median(blocks, ASKED / BLOCK) / BLOCK;
}

double lookup_bursts(const struct peer *w, void *h, const uint32_t *asked, size_t want)
{
	double blocks[ASKED / BLOCK];
	uint64_t before = bench_now();
	size_t n = 0;

	for (size_t i = 0; i < ASKED; i += BLOCK) {
		for (size_t k = i; k < i + BLOCK; k += PEER_BURST)
			n += w->burst(h, asked + k);
		uint64_t now = bench_now();
		blocks[i / BLOCK] = (double)(now - before);
		before = now;
	}
	return figure(blocks, n, want);
}

double lookup_single(const struct peer *w, void *h, const uint32_t *asked, size_t want)
{
	double blocks[ASKED / BLOCK];
	uint64_t before = bench_now();
	size_t n = 0;

	for (size_t i = 0; i < ASKED; i += BLOCK) {
		for (size_t k = i; k < i + BLOCK; k++)
			n += w->one(h, asked + k);
		uint64_t now = bench_now();
		blocks[i / BLOCK] = (double)(now - before);
		before = now;
	}
	return figure(blocks, n, want);
}
