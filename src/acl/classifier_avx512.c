/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_avx512: the same as classifier_avx2.c with the masks of AVX-512, for CPUs that have
 * them. */
#include <immintrin.h>

#include "acl/classifier_internal.h"

static inline __m256i widen(const uint8_t *bytes)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes));
}

/* Bits where a word of the key differs from a row, but for `shift` of them. */
static inline __m256i differ(uint32_t w, const uint32_t *row, __m256i shift)
{
	return _mm256_srlv_epi32(_mm256_xor_si256(_mm256_set1_epi32((int)w),
						  _mm256_load_si256((const __m256i *)row)),
				 shift);
}

/* The lanes that `differing` leaves, with ports, protocol and needs that agree. */
static inline unsigned lanes_of(const struct cls_leaf *l, const struct cls_key *k,
				__m256i differing)
{
	__mmask8 same = _mm256_testn_epi32_mask(differing, differing);
	__m256i p = _mm256_set1_epi32((int)k->w[CLS_AT_DPORT / 32]);
	/* What is cut off below is cut off above as well only if nothing is. */
	__m256i up = _mm256_max_epu16(p, _mm256_load_si256((const __m256i *)l->port_lo));
	__m256i down = _mm256_min_epu16(p, _mm256_load_si256((const __m256i *)l->port_hi));
	__m128i have = _mm_unpacklo_epi64(_mm_set1_epi8((char)k->w[CLS_AT_L4PROTO / 32]),
					  _mm_set1_epi8((char)~k->has));
	__m128i bad = _mm_xor_si128(have, _mm_load_si128((const __m128i *)l->proto));
	unsigned good = _mm_testn_epi8_mask(bad, _mm_load_si128((const __m128i *)l->proto_mask));
	return _mm256_mask_cmpeq_epi32_mask(same, up, down) & good & good >> CLS_LANES &
	       __atomic_load_n(&l->shape.valid, __ATOMIC_RELAXED);
}

static inline unsigned scan4(const struct cls_leaf *l, const struct cls_key *k)
{
	__m256i d =
		_mm256_or_si256(differ(k->w[CLS_AT_SADDR / 32], l->address[0], widen(l->swild)),
				differ(k->w[CLS_AT_DADDR / 32], l->address[1], widen(l->dwild)));
	return lanes_of(l, k, d);
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

static inline unsigned scan6(const struct cls_leaf *l, const struct cls_key *k)
{
	__m256i d = _mm256_or_si256(
		differ_wide(k->w + CLS_AT_SADDR / 32, l->address, widen(l->swild)),
		differ_wide(k->w + CLS_AT_DADDR / 32, l->address + 4, widen(l->dwild)));
	return lanes_of(l, k, d);
}

#define SCAN4	scan4
#define SCAN6	scan6
#define EXTRACT _pext_u32
#define LOOKUP	lookup_avx512
#include "acl/classifier_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
}

const struct cls_ops cls_avx512 = {"avx512", usable, lookup_avx512};
