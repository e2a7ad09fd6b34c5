/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_avx512: the read side for CPUs with AVX-512 and AES rounds; see hash_table_avx2.c. */
#include <immintrin.h>

#include "set/hash_table_internal.h"

struct burst;

static inline uint32_t compare_avx512(const struct hash_bucket *b, uint32_t tag)
{
	return (uint32_t)_mm512_cmpeq_epi32_mask(_mm512_load_si512(b),
						 _mm512_set1_epi32((int)tag)) >>
	       1;
}

#define PLACE	place_aes
#define COMPARE compare_avx512
#define PLACES	places_avx512
#define MATCHES matches_avx512
static inline void places_avx512(struct burst *b, const struct hash_key *k);
static inline uint64_t matches_avx512(const struct burst *b, uint64_t *overflowed);
#include "set/hash_table_read.h"

/*
 * As place_aes(), four keys at a time. They go to the vector from where the caller has them: loaded
 * as one after they were stored as four they would wait for the stores.
 */
static inline void places_avx512(struct burst *b, const struct hash_key *k)
{
	/* A key of 4 bytes is hashed twice in a row, see key_word(). */
	const __m512i twice = _mm512_set_epi32(0, 0, 3, 3, 0, 0, 2, 2, 0, 0, 1, 1, 0, 0, 0, 0);
	const __m512i low = _mm512_set_epi64(0, 0, 0, 0, 6, 4, 2, 0);
	__m512i round[5];

	for (unsigned r = 0; r < 5; r++)
		round[r] = _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)k->round[r]));
	for (unsigned j = 0; j < b->n; j += PAD) {
		int w[PAD];
		for (unsigned i = 0; i < PAD; i++)
			memcpy(&w[i], key_of(b, j + i), 4);
		__m128i tags = _mm_set_epi32(w[3], w[2], w[1], w[0]);
		_mm_store_si128((__m128i *)&b->tag[j], tags);
		__m512i x =
			_mm512_maskz_permutexvar_epi32(0x3333, twice, _mm512_castsi128_si512(tags));
		x = _mm512_xor_si512(x, round[0]);
		for (unsigned r = 1; r < 5; r++)
			x = _mm512_aesenc_epi128(x, round[r]);
		_mm256_store_si256((__m256i *)&b->at[j],
				   _mm512_castsi512_si256(_mm512_permutexvar_epi64(low, x)));
	}
}

static inline uint64_t matches_avx512(const struct burst *b, uint64_t *overflowed)
{
	uint64_t found = 0, all = b->n < BURST ? (1ULL << b->n) - 1 : ~0ULL;

	if (b->n < 16)
		return matches(b,
			       overflowed); /* that need not wait for the stores, as vectors do */
	for (unsigned j = 0; j < b->n; j += 16) {
		__m512i head = _mm512_load_si512(&b->head[j]);
		__m512i same =
			_mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)&b->same[j]));
		__m512i view = _mm512_srl_epi32(head, _mm_cvtsi32_si128((int)b->shift));
		found |= (uint64_t)_mm512_test_epi32_mask(same, view) << j;
		*overflowed |= (uint64_t)_mm512_test_epi32_mask(head, _mm512_set1_epi32(OVERFLOWED))
			       << j;
	}
	*overflowed &= all;
	return found & all;
}

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("aes") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vaes");
}

const struct hash_table_ops hash_table_avx512 = {"avx512", usable,  place_of, compare,
						 find,	   collect, lookup};
