/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_avx512: the same as classifier_avx2.c, with the masks of AVX-512. */
#include "acl/classifier_x86.h"

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
