/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_avx2: lookups that compare the eight lanes of a leaf at once, with AVX2 and BMI2. */
#include "acl/classifier_x86.h"

/* All ones in the lanes of 32 bits whose two ports are both in range. */
static inline __m256i ports_in(const struct cls_leaf *l, uint32_t ports)
{
	__m256i p = _mm256_set1_epi32((int)ports);
	/* What is cut off below is cut off above as well only if nothing is. */
	__m256i up = _mm256_max_epu16(p, _mm256_load_si256((const __m256i *)l->port_lo));
	__m256i down = _mm256_min_epu16(p, _mm256_load_si256((const __m256i *)l->port_hi));
	return _mm256_cmpeq_epi32(up, down);
}

/* The lanes whose protocol and needs agree. */
static inline unsigned words_in(const struct cls_leaf *l, const struct cls_key *k)
{
	__m128i bad =
		_mm_and_si128(_mm_xor_si128(has_of(k), _mm_load_si128((const __m128i *)l->has)),
			      _mm_load_si128((const __m128i *)l->must));
	__m128i good = _mm_cmpeq_epi16(bad, _mm_setzero_si128());
	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(good, good)) &
	       __atomic_load_n(&l->shape.valid, __ATOMIC_RELAXED);
}

static inline unsigned lanes_of(__m256i differing, __m256i ports)
{
	__m256i same = _mm256_cmpeq_epi32(differing, _mm256_setzero_si256());
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(same, ports)));
}

static inline unsigned scan4(const struct cls_leaf *l, const struct cls_key *k)
{
	__m256i d =
		_mm256_or_si256(differ(k->w[CLS_AT_SADDR / 32], l->address[0], widen(l->swild)),
				differ(k->w[CLS_AT_DADDR / 32], l->address[1], widen(l->dwild)));
	return lanes_of(d, ports_in(l, k->w[CLS_AT_DPORT / 32])) & words_in(l, k);
}

static inline unsigned scan6(const struct cls_leaf *l, const struct cls_key *k)
{
	__m256i d = _mm256_or_si256(
		differ_wide(k->w + CLS_AT_SADDR / 32, l->address, widen(l->swild)),
		differ_wide(k->w + CLS_AT_DADDR / 32, l->address + 4, widen(l->dwild)));
	return lanes_of(d, ports_in(l, k->w[CLS_AT_DPORT / 32])) & words_in(l, k);
}

#define SCAN4	scan4
#define SCAN6	scan6
#define EXTRACT _pext_u32
#define LOOKUP	lookup_avx2
#include "acl/classifier_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

const struct cls_ops cls_avx2 = {"avx2", usable, lookup_avx2};
