/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_avx2: the read side for CPUs with AVX2 and AES rounds. A vector load of a line is not
 * one access, but each tag in it is; slots whose bit was not in the head before are masked out.
 */
#include <immintrin.h>

#include "set/hash_table_internal.h"

static inline uint32_t compare_avx2(const struct hash_bucket *b, uint32_t tag)
{
	const __m256i *line = (const __m256i *)b;
	__m256i t = _mm256_set1_epi32((int)tag);
	__m256i lo = _mm256_cmpeq_epi32(_mm256_load_si256(line), t);
	__m256i hi = _mm256_cmpeq_epi32(_mm256_load_si256(line + 1), t);
	return ((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lo)) |
		(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(hi)) << 8) >>
	       1;
}

#define PLACE	place_aes
#define COMPARE compare_avx2
#include "set/hash_table_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("aes");
}

const struct hash_table_ops hash_table_avx2 = {"avx2", usable,	place_of, compare,
					       find,   collect, lookup};
