/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jhash: the hash behind the language's `jhash`, bit for bit what the kernel computes, so that
 * rules that spread packets by a seed spread them as there.
 *
 * Source: Bob Jenkins, "lookup3.c" (2006, public domain), with the kernel's start value. Pure.
 */
#include "eval/run.h"

static uint32_t rotate(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

static void mix(uint32_t v[3])
{
	static const uint8_t by[6] = {4, 6, 8, 16, 19, 4};

	for (unsigned k = 0; k < 6; k++) {
		uint32_t *a = &v[k % 3], *b = &v[(k + 1) % 3], *c = &v[(k + 2) % 3];

		*a -= *c;
		*a ^= rotate(*c, by[k]);
		*c += *b;
	}
}

static void finish(uint32_t v[3])
{
	static const uint8_t by[7] = {14, 11, 25, 16, 4, 14, 24};

	for (unsigned k = 0; k < 7; k++) {
		uint32_t *to = &v[(k + 2) % 3], *from = &v[(k + 1) % 3];

		*to ^= *from;
		*to -= rotate(*from, by[k]);
	}
}

uint32_t jhash_bytes(const uint8_t *p, uint32_t len, uint32_t seed)
{
	uint32_t v[3];

	v[0] = v[1] = v[2] = UINT32_C(0xdeadbeef) + len + seed;
	for (; len > 12; len -= 12, p += 12) {
		for (unsigned k = 0; k < 3; k++) {
			uint32_t word;

			memcpy(&word, p + 4 * k, 4);
			v[k] += word;
		}
		mix(v);
	}
	if (!len)
		return v[2];
	for (uint32_t k = 0; k < len; k++)
		v[k / 4] += (uint32_t)p[k] << (8 * (k % 4));
	finish(v);
	return v[2];
}
