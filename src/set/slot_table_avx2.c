/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table_avx2: the packet path of slot tables for CPUs with AVX2. */
#include <immintrin.h>

#include "set/slot_table_internal.h"

static inline __m256i upto_half(const uint16_t *line, __m256i x)
{
	__m256i v = _mm256_load_si256((const __m256i *)line);
	return _mm256_cmpeq_epi16(_mm256_max_epu16(v, x), x);
}

static inline unsigned upto_avx2(const uint16_t *line, uint32_t mask, unsigned x)
{
	__m256i wide = _mm256_set1_epi16((short)x);
	__m256i both = _mm256_packs_epi16(upto_half(line, wide), upto_half(line + 16, wide));
	both = _mm256_permute4x64_epi64(both, 0xd8); /* packing goes by halves */
	return (unsigned)__builtin_popcount((uint32_t)_mm256_movemask_epi8(both) & mask);
}

#define UPTO upto_avx2
#include "set/slot_table_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

const struct slot_table_ops slot_table_avx2 = {"avx2", usable, lookup_paged, lookup_short};
