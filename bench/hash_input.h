/* SPDX-License-Identifier: Apache-2.0 */
/* hash_input: keys for the benchmarks of sets of exact keys, and our sets as one of the peers. */
#ifndef TAMIS_HASH_INPUT_H
#define TAMIS_HASH_INPUT_H

#include "bench.h"
#include "peer.h"
#include "rcu/rcu.h"
#include "set/set.h"

enum { ASKED = 1 << 20 };

struct input {
	char name[32];
	uint32_t *keys; /* n in the set, then `more` that are not */
	size_t n, more;
	uint32_t *hits, *misses; /* ASKED each */
};

struct input input_make(const char *name, size_t n);
void input_free(struct input *in);
/* Distinct for distinct numbers. */
uint32_t nth_key(uint32_t i);

struct set *set_of(bool timeout, struct rcu *rcu);
struct rcu *rcu_begin(void);
extern const struct peer ours, ours_shared;

/*
 * ns a key, of bursts of 64 or of single lookups: the median of blocks of 1,024 keys, so that what
 * interrupts a few of them does not count. Ends the program if not `want` of them match.
 */
double lookup_bursts(const struct peer *w, void *h, const uint32_t *asked, size_t want);
double lookup_single(const struct peer *w, void *h, const uint32_t *asked, size_t want);

#endif
