/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_avx512: the same as classifier_avx2.c, with the masks of AVX-512. */
#include "acl/classifier_x86.h"

static const long long POINTER = (long long)(UINT64_MAX >> 16);
enum { SLOTS_AT = offsetof(struct cls_directory, slot) };

/* The lanes that `differing` leaves, with ports, protocol and needs that agree. */
static inline unsigned lanes_of(const struct cls_leaf *l, const struct cls_key *k,
				__m256i differing)
{
	__mmask8 lanes = __atomic_load_n(&l->shape.valid, __ATOMIC_RELAXED);
	__m256i p = _mm256_set1_epi32((int)k->w[CLS_AT_DPORT / 32]);
	/* What is cut off below is cut off above as well only if nothing is. */
	__m256i up = _mm256_max_epu16(p, _mm256_load_si256((const __m256i *)l->port_lo));
	__m256i down = _mm256_min_epu16(p, _mm256_load_si256((const __m256i *)l->port_hi));
	__m128i bad = _mm_xor_si128(has_of(k), _mm_load_si128((const __m128i *)l->has));

	lanes = _mm256_mask_testn_epi32_mask(lanes, differing, differing);
	lanes = _mm_mask_testn_epi16_mask(lanes, bad, _mm_load_si128((const __m128i *)l->must));
	return _mm256_mask_cmpeq_epi32_mask(lanes, up, down);
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

_Static_assert(offsetof(struct cls_key, w) == offsetof(struct cls_key, family) + 4 &&
		       CLS_AT_SADDR == 0,
	       "a family and the first word of the source are read at once");

/* What the second words of eight addresses of IPv6 add to their products; each is above a first. */
static inline __m512i second(const struct cls_lookup *l, __mmask8 live, __m512i words, unsigned end)
{
	__m512i bits = _mm512_maskz_set1_epi64(live, l->c->side[1].mask[1]);
	return _mm512_mullo_epi64(_mm512_and_si512(_mm512_srli_epi64(words, 32), bits),
				  _mm512_set1_epi64((long long)l->c->keys[2 + end]));
}

/* prepare_packets() for eight packets at a time. */
static inline uint64_t prepare_avx512(struct cls_lookup *l, uint64_t mask)
{
	enum { SIZE = sizeof(struct cls_key) };
	const __m512i at = _mm512_setr_epi64(0, SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE, 5 * SIZE,
					     6 * SIZE, 7 * SIZE);
	const __m512i none = _mm512_setzero_si512(), byte = _mm512_set1_epi64(UINT8_MAX);
	const __m512i bits4 = _mm512_set1_epi64(l->c->side[0].mask[0]);
	const __m512i bits6 = _mm512_set1_epi64(l->c->side[1].mask[0]);
	const __m512i key0 = _mm512_set1_epi64((long long)l->c->keys[0]);
	const __m512i key1 = _mm512_set1_epi64((long long)l->c->keys[1]);
	uint64_t ipv4 = 0;

	for (unsigned k = 0; k < CLS_BURST; k += 8) {
		__mmask8 live = (__mmask8)(mask >> k);
		if (!live)
			continue;
		__m512i source = _mm512_mask_i64gather_epi64(none, live, at, &l->keys[k].family, 1);
		__m512i destination = _mm512_mask_i64gather_epi64(
			none, live, at, &l->keys[k].w[CLS_AT_DADDR / 32], 1);
		__mmask8 four = _mm512_cmpeq_epi64_mask(_mm512_and_si512(source, byte),
							_mm512_set1_epi64(CLS_IPV4));
		__m512i bits = _mm512_mask_blend_epi64(four, bits6, bits4);
		ipv4 |= (uint64_t)four << k;
		source = _mm512_mullo_epi64(_mm512_and_si512(_mm512_srli_epi64(source, 32), bits),
					    key0);
		__m512i words = destination;
		destination = _mm512_mullo_epi64(_mm512_and_si512(destination, bits), key1);
		live &= (__mmask8)~four;
		if (live) {
			destination = _mm512_add_epi64(destination, second(l, live, words, 1));
			words = _mm512_mask_i64gather_epi64(none, live, at, &l->keys[k].w[0], 1);
			source = _mm512_add_epi64(source, second(l, live, words, 0));
		}
		_mm512_storeu_si512(l->product[0] + k, source);
		_mm512_storeu_si512(l->product[1] + k, destination);
	}
	return ipv4;
}
#define PREPARE prepare_avx512

/* Slots of eight hashes, some of which count; the hashes become what is behind. */
static inline __m512i slots_of(const struct cls_directory *d, __mmask8 live, __m512i *hash)
{
	const __m512i none = _mm512_setzero_si512();
	unsigned bits = d->shape.n;
	__m512i at = _mm512_srl_epi64(_mm512_srli_epi64(*hash, 1), _mm_cvtsi64_si128(63 - bits));
	__m512i slot = _mm512_mask_i64gather_epi64(none, live, at, d->slot, 8);

	*hash = _mm512_sll_epi64(*hash, _mm_cvtsi64_si128(bits));
	__mmask8 part = _mm512_test_epi64_mask(slot, _mm512_set1_epi64(CLS_PART));
	if (!part)
		return slot;
	__m512i more = _mm512_srli_epi64(slot, CLS_TAGS_AT);
	at = _mm512_srlv_epi64(_mm512_srli_epi64(*hash, 1),
			       _mm512_sub_epi64(_mm512_set1_epi64(63), more));
	at = _mm512_add_epi64(_mm512_slli_epi64(at, 3),
			      _mm512_and_si512(slot, _mm512_set1_epi64(POINTER ^ CLS_PART)));
	at = _mm512_add_epi64(at, _mm512_set1_epi64(SLOTS_AT));
	*hash = _mm512_mask_sllv_epi64(*hash, part, *hash, more);
	return _mm512_mask_i64gather_epi64(slot, part, at, NULL, 1);
}

/* reach_root() for eight packets at a time. */
static inline ALWAYS_INLINE void root_avx512(const struct cls_lookup *l, const struct cls_table *t,
					     uint64_t mask, struct cls_spots *to, bool large,
					     bool ipv4)
{
	const struct cls_directory *d = __atomic_load_n(&t->dir, __ATOMIC_ACQUIRE);
	const __m512i one = _mm512_set1_epi64(1), other = _mm512_set1_epi64(CLS_SHAPE_OFFSET);
	const __mmask8 source = t->mask[0] ? 0xff : 0, destination = t->mask[1] ? 0xff : 0;
	unsigned leaves = to->n_leaves, others = to->n_others;
	__m512i who = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);

	for (unsigned k = 0; k < CLS_BURST;
	     k += 8, who = _mm512_add_epi64(who, _mm512_set1_epi64(8))) {
		__mmask8 live = (__mmask8)(mask >> k);
		if (!live)
			continue;
		__m512i hash = _mm512_add_epi64(
			_mm512_maskz_loadu_epi64(live & source, l->product[0] + k),
			_mm512_maskz_loadu_epi64(live & destination, l->product[1] + k));
		__m512i slot = slots_of(d, live, &hash);
		__m512i tag = _mm512_srlv_epi64(_mm512_srli_epi64(slot, CLS_TAGS_AT),
						_mm512_srli_epi64(hash, 64 - CLS_TAG_BITS));
		live = _mm512_test_epi64_mask(tag, one);
		__m512i spot =
			_mm512_or_si512(_mm512_and_si512(slot, _mm512_set1_epi64(POINTER)), who);
		__mmask8 up = _mm512_mask_test_epi64_mask(live, spot, other);
		_mm512_storeu_si512(to->others + to->n_others,
				    _mm512_maskz_compress_epi64(up, spot));
		to->n_others += (unsigned)__builtin_popcount(up);
		_mm512_storeu_si512(to->leaves + to->n_leaves,
				    _mm512_maskz_compress_epi64(live & (__mmask8)~up, spot));
		to->n_leaves += (unsigned)__builtin_popcount(live & (__mmask8)~up);
	}
	for (unsigned k = leaves; large && k < to->n_leaves; k++)
		cls_spot_prefetch(to->leaves[k], ipv4);
	for (unsigned k = others; large && k < to->n_others; k++)
		cls_spot_prefetch(to->others[k], ipv4);
}

static inline uint64_t live_avx512(const struct cls_lookup *l, uint64_t mask, uint64_t bound)
{
	const __m512i least = _mm512_set1_epi64((long long)bound);
	uint64_t live = 0;

	for (unsigned k = 0; k < CLS_BURST; k += 8)
		live |= (uint64_t)_mm512_cmpge_epu64_mask(_mm512_loadu_si512(l->best + k), least)
			<< k;
	return live & mask;
}
#define LIVE live_avx512

/* ThreadSanitizer does not see the order in which a gather and what it leads to are read. */
#ifndef __SANITIZE_THREAD__
#define ROOT root_avx512
#endif
#define SCAN4	scan4
#define SCAN6	scan6
#define EXTRACT _pext_u32
#define LOOKUP	lookup_avx512
#include "acl/classifier_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("bmi2");
}

const struct cls_ops cls_avx512 = {"avx512", usable, lookup_avx512};
