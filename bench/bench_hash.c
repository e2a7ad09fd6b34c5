/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_hash: IPv4 addresses in a set of exact keys, beside rte_hash (lock-free readers) and
 * cds_lfht: lookups, changes, memory, chosen keys.
 *
 * Keys are random and distinct. Hits ask for random keys of the set, misses for keys that are not
 * in it. rte_hash is told how many keys it will have, and has a third more room, hashes with CRC32
 * and does not grow. Ours is told too, as whoever loads a set does, and so stands in huge pages
 * where there are any; growing without that is bench_hash_time.c's. DPDK's memory is given the same
 * advice (dpdk.c). cds_lfht has as many buckets as keys from the beginning. "tamis rcu" is ours as
 * workers share it; without that one thread has it to itself. All stand beside one another in one
 * process and take turns run by run, so that what else the machine does meets all alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hash_input.h"

enum { OURS, SHARED, RTE, LFHT, PEERS };

static const struct peer *const all[PEERS] = {&ours, &ours_shared, &peer_rte_hash, &peer_lfht};

/* Ten million of cds_lfht's elements take minutes. */
static bool has(const struct peer *w, const struct input *in)
{
	return w != &peer_lfht || in->n <= 1000000;
}

struct figure {
	const char *what;
	double (*run)(const struct peer *w, void *h, const uint32_t *asked, size_t want);
	bool bursts, hits;
};

enum { HIT, MISS, HIT_ONE, MISS_ONE, FIGURES };
static const struct figure figures[FIGURES] = {
	[HIT] = {"hit, burst of 64", lookup_bursts, true, true},
	[MISS] = {"miss, burst of 64", lookup_bursts, true, false},
	[HIT_ONE] = {"hit, one at a time", lookup_single, false, true},
	[MISS_ONE] = {"miss, one at a time", lookup_single, false, false},
};

static void lookups(const struct input *in, void *h[PEERS], double median[FIGURES][PEERS])
{
	double v[PEERS][BENCH_RUNS];

	for (unsigned f = 0; f < FIGURES; f++) {
		const struct figure *fig = &figures[f];
		const uint32_t *asked = fig->hits ? in->hits : in->misses;
		for (unsigned r = 0; r < BENCH_RUNS; r++)
			for (unsigned k = 0; k < PEERS; k++)
				if (h[k] && (!fig->bursts || all[k]->burst))
					v[k][r] = fig->run(all[k], h[k], asked,
							   fig->hits ? ASKED : 0);
		for (unsigned k = 0; k < PEERS; k++)
			if (h[k] && (!fig->bursts || all[k]->burst))
				median[f][k] = bench_runs(in->name, fig->what, all[k]->name, v[k],
							  BENCH_RUNS, "ns");
	}
}

static void changes(const struct input *in, void *h[PEERS], double insert[PEERS])
{
	double add[PEERS][BENCH_RUNS], del[PEERS][BENCH_RUNS];

	for (unsigned r = 0; r < BENCH_RUNS; r++)
		for (unsigned k = 0; k < PEERS; k++) {
			if (!h[k])
				continue;
			uint64_t t0 = bench_ran();
			for (size_t i = in->n; i < in->n + in->more; i++)
				all[k]->add(h[k], &in->keys[i]);
			uint64_t t1 = bench_ran();
			for (size_t i = in->n; i < in->n + in->more; i++)
				all[k]->del(h[k], &in->keys[i]);
			uint64_t t2 = bench_ran();
			add[k][r] = (double)(t1 - t0) / (double)in->more;
			del[k][r] = (double)(t2 - t1) / (double)in->more;
		}
	for (unsigned k = 0; k < PEERS; k++)
		if (h[k])
			insert[k] = bench_runs(in->name, "insert", all[k]->name, add[k], BENCH_RUNS,
					       "ns");
	for (unsigned k = 0; k < PEERS; k++)
		if (h[k])
			bench_runs(in->name, "delete", all[k]->name, del[k], BENCH_RUNS, "ns");
}

static void targets(const struct input *in, double median[FIGURES][PEERS],
		    const double insert[PEERS], double bytes)
{
	char what[96];

	if (in->n == 65536) {
		bench_target("64K, hit, one at a time", median[HIT_ONE][OURS],
			     MIN(median[HIT_ONE][RTE], median[HIT_ONE][LFHT]), "ns: the best");
		return;
	}
	if (in->n < 1000000)
		return;
	snprintf(what, sizeof(what), "%s, hit, burst of 64", in->name);
	bench_target(what, median[HIT][OURS] / median[HIT][RTE], 0.25, "x rte_hash");
	snprintf(what, sizeof(what), "%s, miss, burst of 64", in->name);
	bench_target(what, median[MISS][OURS] / median[MISS][RTE], 0.8, "x rte_hash");
	if (in->n == 1000000) {
		bench_target("insert into 1M", insert[OURS] / insert[RTE], 1.0, "x rte_hash");
		bench_target("insert into 1M that others may read", insert[SHARED] / insert[RTE],
			     1.0, "x rte_hash");
		bench_target("memory of an IPv4 element, 1M", bytes, 12, "bytes");
	}
}

static void compare(const struct input *in)
{
	double median[FIGURES][PEERS] = {0}, insert[PEERS] = {0}, bytes = 0;
	void *h[PEERS] = {NULL};

	for (unsigned k = 0; k < PEERS; k++) {
		const struct peer *w = all[k];
		if (!has(w, in))
			continue;
		size_t before = w->memory();
		h[k] = w->make(in->n);
		for (size_t i = 0; i < in->n; i++)
			w->add(h[k], &in->keys[i]);
		if (w->settle)
			w->settle();
		double each = (double)(w->memory() - before) / (double)in->n;
		bench_row(in->name, "memory of an element", w->name, each, "bytes");
		bytes = k == OURS ? each : bytes;
	}
	lookups(in, h, median);
	changes(in, h, insert);
	for (unsigned k = 0; k < PEERS; k++)
		if (h[k])
			all[k]->drop(h[k]);
	targets(in, median, insert, bytes);
}

/* --- chosen keys ---------------------------------------------------------------------------- */

/* The key of which CRC-32C, without a final inversion, is `crc`: the four steps backwards. */
static uint32_t crc_inverse(uint32_t crc)
{
	uint32_t table[256], by_top[256];

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (unsigned bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
		table[i] = c;
		by_top[c >> 24] = i;
	}
	for (unsigned step = 0; step < 4; step++) {
		uint32_t i = by_top[crc >> 24];
		crc = (crc ^ table[i]) << 8 | i;
	}
	return crc; /* with 0 to begin with: the key itself */
}

/* 64K keys whose CRC-32C ends in the same 16 bits: all in one bucket of a table that goes by it. */
static void chosen(void)
{
	enum { N = 65536 };
	static uint32_t keys[2][ASKED];
	double find[2][BENCH_RUNS], add[2][BENCH_RUNS], median[2], load[2];
	void *h[2];

	for (uint32_t i = 0; i < ASKED; i++) {
		keys[0][i] = nth_key(i % N);
		keys[1][i] = crc_inverse((i % N) << 16 | 0xbeef);
	}
	for (unsigned r = 0; r < BENCH_RUNS; r++)
		for (unsigned c = 0; c < 2; c++) {
			h[c] = ours.make(N);
			uint64_t start = bench_ran();
			for (uint32_t i = 0; i < N; i++)
				ours.add(h[c], &keys[c][i]);
			add[c][r] = (double)(bench_ran() - start) / N;
			find[c][r] = lookup_bursts(&ours, h[c], keys[c], ASKED);
			ours.drop(h[c]);
		}
	for (unsigned c = 0; c < 2; c++) {
		const char *subject = c ? "64K chosen keys" : "64K random keys";
		load[c] = bench_runs(subject, "insert, growing from empty", "tamis", add[c],
				     BENCH_RUNS, "ns");
		median[c] =
			bench_runs(subject, "hit, burst of 64", "tamis", find[c], BENCH_RUNS, "ns");
	}
	bench_target("keys that collide under CRC-32C: lookup", median[1] / median[0], 2,
		     "x random");
	bench_target("keys that collide under CRC-32C: insert", load[1] / load[0], 2, "x random");
}

void bench_hash(void)
{
	static const struct {
		const char *name;
		size_t n;
	} sizes[] = {{"1K", 1000}, {"64K", 65536}, {"1M", 1000000}, {"10M", 10000000}};

	if (bench_dpdk()) {
		bench_skip("hash", "DPDK does not begin");
		return;
	}
	peer_lfht_begin();
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct input in = input_make(sizes[i].name, sizes[i].n);
		compare(&in);
		input_free(&in);
	}
	chosen();
	peer_lfht_end();
}
