/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table_internal: layouts that the files of the slot table share; see slot_table.h. */
#ifndef TAMIS_SLOT_TABLE_INTERNAL_H
#define TAMIS_SLOT_TABLE_INTERNAL_H

#include "set/slot.h"
#include "set/slot_table.h"

enum { PAGES = 256, PAGE_SLOTS = 256 };

/* Inner ranges of a slot, sorted: first number << 16 | (65535 - last number). */
struct slot_inner {
	uint32_t n, cap;
	uint32_t v[];
};

/* Then, for writers, come the arrays that struct slot_at points into. */
struct slot_page {
	uint64_t word[1]; /* 256 in tables of long keys */
};

struct slot_at {
	uint64_t *word;
	struct slot_inner **inner;
	uint32_t *covers; /* ranges that cover the slot but not the page */
	uint32_t *parts;  /* outer ranges that begin or end within it */
};

/* Like a slot's word: the address of a page, and SLOT_COVERED. */
typedef uint64_t page_word;

struct slot_table_ops {
	const char *name;
	bool (*usable)(void);
	uint64_t (*lookup_paged)(const struct slot_table *t, const uint8_t *keys, size_t stride,
				 uint64_t mask);
	uint64_t (*lookup_short)(const struct slot_table *t, const uint8_t *keys, size_t stride,
				 uint64_t mask);
};

struct slot_table {
	const struct slot_table_ops *ops;
	unsigned key_len, page_slots;
	bool overlap;
	struct slot_pool pool;
	size_t bytes;	  /* but for leaves */
	uint32_t *covers; /* by page */
	page_word page[]; /* 256; of short keys one */
};

extern const struct slot_table_ops slot_table_scalar, slot_table_avx2, slot_table_avx512;

/* What an address of 0 leads to. */
extern const uint64_t slot_no_page[PAGE_SLOTS];
extern const uint16_t slot_no_leaf[2 * SLOT_LINE];

#endif
