/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_avx512: the read side for CPUs with AVX-512 and AES rounds; see hash_table_avx2.c. */
#include <immintrin.h>

#include "set/hash_table_internal.h"

static inline uint32_t compare_avx512(const struct hash_bucket *b, uint32_t tag)
{
	return (uint32_t)_mm512_cmpeq_epi32_mask(_mm512_load_si512(b),
						 _mm512_set1_epi32((int)tag)) >>
	       1;
}

#define PLACE	place_aes
#define COMPARE compare_avx512
#include "set/hash_table_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("aes");
}

const struct hash_table_ops hash_table_avx512 = {"avx512", usable,  place_of, compare,
						 find,	   collect, lookup};
