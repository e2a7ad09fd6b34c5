/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_table_read: the packet path of slot tables, for a file that says how a cache line is
 * searched. It defines
 *
 *	UPTO(line, mask, x)  how many of a line's 32 boundaries, of those in the mask, are not above
 *x
 *
 * and includes this. A burst goes by stages: pages, slots, leaves are fetched for all keys before
 * the first leaf is read. A slot that is empty leads to a leaf that is, so that no branch depends
 * on it.
 */
#include "set/slot_table_internal.h"

static inline const uint16_t *leaf_or_none(uint64_t word)
{
	const uint16_t *leaf = slot_leaf(word);
	return leaf ? leaf : slot_no_leaf;
}

static inline unsigned few_upto(uint64_t word, unsigned x)
{
	const uint16_t *leaf = leaf_or_none(word);
	uint64_t mask = (1ULL << slot_count(word)) - 1;

	/* The second line is the first again where there is none. */
	return UPTO(leaf, (uint32_t)mask, x) +
	       UPTO(leaf + (mask >> 32 ? SLOT_LINE : 0), (uint32_t)(mask >> 32), x);
}

static inline unsigned many_upto(uint64_t word, unsigned x)
{
	const struct slot_many *m = slot_leaf(word);
	unsigned n = slot_count(word), last = n ? (n - 1) / SLOT_LINE : 0;
	/* Lanes 0 to 2 of the head are no boundaries of further lines; that of line k is lane k
	 * + 2. */
	uint32_t mask = (uint32_t)((8ULL << last) - 8);
	unsigned k = UPTO((const uint16_t *)m, mask, x);
	unsigned in_line = MIN(n - k * SLOT_LINE, (unsigned)SLOT_LINE);

	return k * SLOT_LINE + UPTO(m->line[k], (uint32_t)((1ULL << in_line) - 1), x);
}

static inline bool word_has(uint64_t word, unsigned x)
{
	bool in;

	if (likely(slot_form(word) == SLOT_FEW))
		in = few_upto(word, x) & 1;
	else if (slot_form(word) == SLOT_MANY)
		in = many_upto(word, x) & 1;
	else
		in = slot_bit(word, x);
	return in | (word >> 2 & 1);
}

static void word_prefetch(uint64_t word, unsigned x)
{
	const char *leaf = slot_leaf(word);

	if (unlikely(slot_form(word) == SLOT_BITS)) {
		__builtin_prefetch(leaf + x / 64 * 8);
		return;
	}
	__builtin_prefetch(leaf);
	if (word & SLOT_TWO_LINES)
		__builtin_prefetch(leaf + 64);
}

static uint64_t lookup_paged(const struct slot_root *root, const uint8_t *keys, size_t stride,
			     uint64_t mask)
{
	const uint64_t *at[64];
	uint64_t word[64], found = 0;
	uint16_t low[64];

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		uint32_t x = be32_load(keys + i * stride);
		page_word w = root->page[x >> 24];
		const uint64_t *page = slot_leaf(w);
		found |= (w >> 2 & 1) << i;
		low[i] = (uint16_t)x;
		at[i] = &(page ? page : slot_no_page)[x >> 16 & (PAGE_SLOTS - 1)];
		__builtin_prefetch(at[i]);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		word[i] = *at[i];
		word_prefetch(word[i], low[i]);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		found |= (uint64_t)word_has(word[i], low[i]) << i;
	}
	return found;
}

static uint64_t lookup_short(const struct slot_root *root, unsigned key_len, const uint8_t *keys,
			     size_t stride, uint64_t mask)
{
	const uint64_t *page = slot_leaf(root->page[0]);
	uint64_t word = page ? *page : 0, found = 0;

	for (uint64_t rest = slot_leaf(word) ? mask : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const uint8_t *key = keys + i * stride;
		unsigned x = key_len == 2 ? be16_load(key) : *key;
		found |= (uint64_t)word_has(word, x) << i;
	}
	return found;
}
