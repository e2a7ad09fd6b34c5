/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: the keyed hash of every table that hostile input can reach.
 *
 * SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) with a 128-bit
 * secret. A table draws its own secret when it is made; equal keys under different secrets share
 * nothing, so that colliding keys cannot be chosen from outside. Pure functions, any thread.
 */
#ifndef TAMIS_HASH_H
#define TAMIS_HASH_H

#include "base/base.h"

struct hash_secret {
	uint64_t k[2];
};

/* Fresh random bits from the system; 0 or -errno. */
int hash_secret_draw(struct hash_secret *s);
uint64_t hash_bytes(const struct hash_secret *s, const void *p, size_t len);

#endif
