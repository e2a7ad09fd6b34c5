/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table_avx512: the packet path of slot tables for CPUs with AVX-512 on 16-bit lanes. */
#include <immintrin.h>

#include "set/slot_table_internal.h"

static inline unsigned upto_avx512(const uint16_t *line, uint32_t mask, unsigned x)
{
	__m512i wide = _mm512_set1_epi16((short)x);
	return (unsigned)__builtin_popcount(
		_mm512_mask_cmple_epu16_mask(mask, _mm512_load_si512(line), wide));
}

#define UPTO upto_avx512
#include "set/slot_table_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

const struct slot_table_ops slot_table_avx512 = {"avx512", usable, lookup_paged, lookup_short};
