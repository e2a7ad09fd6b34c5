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

/* Then, for writers, come the arrays that struct slot_at points into, and a struct slot_page_head.
 */
struct slot_page {
	uint64_t word[1]; /* 256 in tables of long keys */
};

struct slot_at {
	uint64_t *word;
	struct slot_inner **inner;
	uint32_t *covers; /* ranges that cover the slot but not the page */
	uint32_t *parts;  /* outer ranges that begin or end within it */
};

struct slot_page_head {
	uint64_t stamp;		/* version in which the page was made */
	struct slot_page *base; /* of an open version: that of the version before, or NULL */
	struct slot_page *next; /* of those that the open version has made */
};

/* Like a slot's word: the address of a page, and SLOT_COVERED. */
typedef uint64_t page_word;

/* A version of the table. */
struct slot_root {
	uint64_t stamp;
	uint32_t covers[PAGES];
	page_word page[]; /* 256; of short keys one */
};

struct slot_table_ops {
	const char *name;
	bool (*usable)(void);
	uint64_t (*lookup_paged)(const struct slot_root *root, const uint8_t *keys, size_t stride,
				 uint64_t mask);
	uint64_t (*lookup_short)(const struct slot_root *root, unsigned key_len,
				 const uint8_t *keys, size_t stride, uint64_t mask);
};

struct slot_table {
	const struct slot_table_ops *ops;
	unsigned key_len, page_slots;
	bool overlap, points, open;
	struct slot_pool pool;
	uint64_t stamp;
	struct slot_root *root, *base; /* base: of the version before the open one */
	struct slot_page *made;	       /* pages of the open version */
};

extern const struct slot_table_ops slot_table_scalar, slot_table_avx2, slot_table_avx512;

/* What an address of 0 leads to. */
extern const uint64_t slot_no_page[PAGE_SLOTS];
extern const uint16_t slot_no_leaf[2 * SLOT_LINE];

#endif
