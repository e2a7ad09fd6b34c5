/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_x86: how addresses differ from the lanes of a leaf; for both kinds of AVX lookups. */
#ifndef TAMIS_ACL_CLASSIFIER_X86_H
#define TAMIS_ACL_CLASSIFIER_X86_H

#include <immintrin.h>

#include "acl/classifier_internal.h"

static inline __m256i widen(const uint8_t *bytes)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes));
}

/* What a key has in the place of a lane's `has`, for each lane. */
static inline __m128i has_of(const struct cls_key *k)
{
	uint32_t absent = ~k->has << 8;
	return _mm_set1_epi16((short)(absent | (k->w[CLS_AT_L4PROTO / 32] & 0xff)));
}

/* Bits where a word of the key differs from a row, but for `shift` of them. */
static inline __m256i differ(uint32_t w, const uint32_t *row, __m256i shift)
{
	return _mm256_srlv_epi32(_mm256_xor_si256(_mm256_set1_epi32((int)w),
						  _mm256_load_si256((const __m256i *)row)),
				 shift);
}

/* Four words, the least significant last: the bits that are wild are the lowest of all. */
static inline __m256i differ_wide(const uint32_t *w, const uint32_t (*rows)[CLS_LANES],
				  __m256i wild)
{
	const __m256i word = _mm256_set1_epi32(32), none = _mm256_setzero_si256();
	__m256i d = none;
	for (int i = 3; i >= 0; i--) {
		__m256i shift = _mm256_max_epi32(_mm256_min_epi32(wild, word), none);
		d = _mm256_or_si256(d, differ(w[i], rows[i], shift));
		wild = _mm256_sub_epi32(wild, word);
	}
	return d;
}

#endif
