/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_random: seeded random keys, ranges and states of elements for the tests of sets.
 *
 * Keys have few values a field, so that they meet. `rng` is what the test seeds.
 */
#ifndef TAMIS_SET_RANDOM_H
#define TAMIS_SET_RANDOM_H

#include <stdlib.h>

#include "set_model.h"

static uint64_t rng;

static inline uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 20) % n;
}

/* Bits behind the numbers in keys, so that they lie far apart: of the kind that is tried. */
static unsigned shift;

/* A number at the end of a field, of two bytes if it has them; from four on with bits behind it. */
static inline void put_low(uint8_t *field, unsigned len, uint32_t v)
{
	unsigned n = len >= 4 ? 4 : MIN(len, 2U);

	memset(field, 0, len);
	be_store(field + len - n, len >= 4 ? v << shift : v, n);
}

static inline uint32_t get_low(const uint8_t *field, unsigned len)
{
	unsigned n = len >= 4 ? 4 : MIN(len, 2U);
	return (uint32_t)be_load(field + len - n, n) >> (len >= 4 ? shift : 0);
}

/* Few values a field, so that keys meet; its ends too. */
static inline void random_key(const struct set_desc *d, uint32_t spread, uint8_t *key)
{
	for (unsigned f = 0; f < d->n_fields; key += d->field_len[f++]) {
		if (!rnd(12))
			memset(key, 0xff, d->field_len[f]);
		else
			put_low(key, d->field_len[f], rnd(spread));
	}
}

static inline void random_range(const struct set_desc *d, uint32_t spread, uint32_t width,
				uint8_t *lo, uint8_t *hi)
{
	unsigned len = model_key_len(d);

	random_key(d, spread, lo);
	memcpy(hi, lo, len);
	if (!d->interval)
		return;
	for (unsigned f = 0, at = 0; f < d->n_fields; at += d->field_len[f++]) {
		uint32_t most = d->field_len[f] == 1 ? 255 : 65535;
		uint32_t v = get_low(hi + at, d->field_len[f]) + rnd(width);
		if (hi[at] == 0xff)
			continue;
		put_low(hi + at, d->field_len[f], MIN(v, most));
		if (d->field_len[f] >= 4 && rnd(2)) /* up to the next number */
			be32_store(hi + at + d->field_len[f] - 4,
				   be32_load(hi + at + d->field_len[f] - 4) |
					   (uint32_t)((1ULL << shift) - 1));
	}
	if (!rnd(40)) { /* whatever, sometimes nonsense */
		random_key(d, spread, hi);
	} else if (!rnd(40)) {
		memset(lo, 0, len);
		memset(hi, 0xff, len);
	}
}

/* The state of an element: what it was made of, and how often the test has seen it. */
struct ext {
	uint32_t seen;
	char text[];
};

static unsigned *ext_counter; /* states alive */

/* Templates are strings: so states are of several sizes. */
static inline size_t ext_size(const void *template)
{
	return sizeof(struct ext) + strlen(template) + 1;
}

static inline int ext_make(void *ext, const void *template, uint64_t now)
{
	struct ext *e = ext;

	++*ext_counter;
	e->seen = 0;
	strcpy(e->text, template);
	return 0;
}

static inline void ext_drop(void *ext)
{
	--*ext_counter;
}

#endif
