/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_key: from a key to 64 bits for its place and 32 for its tag, under a secret.
 *
 * Where the CPU has AES rounds: four rounds with secret round keys for each block of 16 bytes,
 * chained as in Pelican (Daemen and Rijmen, "The Pelican MAC Function", 2005). Four rounds bound
 * the probability of any differential by 1.06 * 2^-113 (Keliher and Sui, 2007): no chosen
 * difference of keys collides more often than chance. Elsewhere SipHash. All keys of a table have
 * one length; blocks may overlap. Included by the read side's variants, each compiled for its CPU.
 */
#ifndef TAMIS_HASH_KEY_H
#define TAMIS_HASH_KEY_H

#include "base/hash.h"

struct hash_key {
	uint8_t round[5][16];
	struct hash_secret sip;
} __attribute__((aligned(16)));

struct hash_place {
	uint64_t at;
	uint32_t tag;
};

/* Up to 8 bytes as a number, injective for one length. */
static inline uint64_t key_word(const uint8_t *key, unsigned len)
{
	uint32_t a, b;
	uint64_t v;

	if (len == 8) {
		memcpy(&v, key, 8);
		return v;
	}
	if (len >= 4) {
		memcpy(&a, key, 4);
		memcpy(&b, key + len - 4, 4);
		return a | (uint64_t)b << 32;
	}
	v = key[0];
	if (len > 1)
		v |= (uint64_t)key[1] << 8;
	if (len > 2)
		v |= (uint64_t)key[2] << 16;
	return v;
}

/* The tag of a key of at most 4 bytes: its bytes in memory order, filled up with zeros. */
static inline uint32_t key_tag(const uint8_t *key, unsigned len)
{
	return (uint32_t)key_word(key, len);
}

static inline bool key_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
	uint64_t x[2], y[2];

	if (len <= 8)
		return key_word(a, len) == key_word(b, len);
	if (len > 16)
		return !memcmp(a, b, len);
	memcpy(&x[0], a, 8);
	memcpy(&x[1], a + len - 8, 8);
	memcpy(&y[0], b, 8);
	memcpy(&y[1], b + len - 8, 8);
	return x[0] == y[0] && x[1] == y[1];
}

static inline struct hash_place place_sip(const struct hash_key *k, const uint8_t *key,
					  unsigned len)
{
	uint64_t h = hash_bytes(&k->sip, key, len);
	/* The tag is made of all bits of the hash: those of the place say nothing about it. */
	return (struct hash_place){h, len <= 4 ? key_tag(key, len)
					       : (uint32_t)((h * 0x9e3779b97f4a7c15ULL) >> 32)};
}

#ifdef __AES__
#include <immintrin.h>

static inline __m128i aes_rounds(const struct hash_key *k, __m128i x)
{
	for (unsigned i = 1; i < 5; i++)
		x = _mm_aesenc_si128(x, _mm_load_si128((const __m128i *)k->round[i]));
	return x;
}

static inline struct hash_place place_aes(const struct hash_key *k, const uint8_t *key,
					  unsigned len)
{
	__m128i x = _mm_load_si128((const __m128i *)k->round[0]);
	uint64_t lo, hi;

	if (len <= 8) {
		lo = key_word(key, len);
		x = aes_rounds(k, _mm_xor_si128(x, _mm_cvtsi64_si128((long long)lo)));
	} else if (len <= 16) {
		memcpy(&lo, key, 8);
		memcpy(&hi, key + len - 8, 8);
		x = aes_rounds(k, _mm_xor_si128(x, _mm_set_epi64x((long long)hi, (long long)lo)));
	} else {
		for (unsigned i = 0; i < len; i += 16) {
			const uint8_t *p = key + MIN(i, len - 16);
			x = aes_rounds(k, _mm_xor_si128(x, _mm_loadu_si128((const __m128i *)p)));
		}
	}
	return (struct hash_place){(uint64_t)_mm_cvtsi128_si64(x),
				   len <= 4 ? key_tag(key, len)
					    : (uint32_t)_mm_extract_epi32(x, 2)};
}
#endif

#endif
