/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot: a set of 16-bit numbers, made of ranges, for quick tests of membership.
 *
 * The set is kept as its boundaries: the ascending numbers at which it begins or ends. A number is
 * in the set if an odd number of boundaries is not above it. One 64-bit word stands for a slot; a
 * reader loads it once and then has all that it needs:
 *
 *	bits 0-1   form: how the leaf is laid out
 *	bit 2      covered: the whole slot is in the set, whatever the leaf says
 *	bit 3      FEW: the leaf has two lines
 *	bits 4-47  address of the leaf; 0: no boundaries
 *	bits 48-63 number of boundaries (FEW, MANY)
 *
 *	FEW   32 or 64 boundaries in one or two cache lines
 *	MANY  one line with the first boundary of each further line, then up to 30 lines of 32
 *	BITS  a bitmap
 *
 * Readers: a leaf that a word leads to does not change. A change is made in a copy (struct
 * slot_edit), made public by one store of the word; the leaf before is the user's to free. A
 * leaf has room for the boundaries of as many ranges as its user says, and two more that a change
 * takes on its way; after slot_reserve() so many changes cannot fail. Cost: lookup one or two
 *lines, change as large as the leaf, at most 8 KiB.
 */
#ifndef TAMIS_SLOT_H
#define TAMIS_SLOT_H

#include "base/base.h"
#include "set/line_pool.h"

enum slot_form { SLOT_FEW, SLOT_MANY, SLOT_BITS };

#define SLOT_FORM	 3ULL
#define SLOT_COVERED	 4ULL
#define SLOT_TWO_LINES	 8ULL
#define SLOT_COUNT_SHIFT 48
#define SLOT_ADDRESS	 0x0000fffffffffff0ULL

enum {
	SLOT_LINE = 32, /* boundaries in a cache line */
	SLOT_MANY_LINES = 30,
	SLOT_MAX = 0xffff,
};

struct slot_many {
	uint16_t lines; /* that there is room for */
	uint16_t unused;
	uint16_t first[SLOT_MANY_LINES]; /* first boundary of each line */
	uint16_t line[][SLOT_LINE];
};

_Static_assert(sizeof(struct slot_many) == 64, "the index is one line");
_Static_assert(sizeof(void *) == 8, "addresses of user memory have 48 bits");

/* In a table of many slots a leaf is MANY before it is BITS; of up to 256 numbers it is BITS. */
struct slot_pool {
	struct line_pool lines;
	unsigned last; /* the highest number in use, 255 or 65535 */
	bool many;
};

static inline const void *slot_leaf(uint64_t word)
{
	return (const void *)(uintptr_t)(word & SLOT_ADDRESS);
}

static inline unsigned slot_count(uint64_t word)
{
	return (unsigned)(word >> SLOT_COUNT_SHIFT);
}

static inline enum slot_form slot_form(uint64_t word)
{
	return (enum slot_form)(word & SLOT_FORM);
}

static inline bool slot_bit(uint64_t word, unsigned x)
{
	const uint64_t *bits = slot_leaf(word);
	return bits[x / 64] >> x % 64 & 1;
}

/*
 * Room for so many ranges and memory for `edits` changes: 0 or -ENOMEM. *gone is the leaf that was
 * there before, as a word; 0 if it still is there.
 */
int slot_reserve(struct slot_pool *p, uint64_t *word, size_t ranges, size_t edits, uint64_t *gone);
void slot_free(struct slot_pool *p, uint64_t word);
size_t slot_bytes(const struct slot_pool *p, uint64_t word); /* of its leaf */
bool slot_has(uint64_t word, unsigned x);
/* Calls fn for each number in the set, rising, until it returns other than 0; returns that or 0. */
int slot_each(const struct slot_pool *p, uint64_t word, int (*fn)(void *ctx, unsigned x),
	      void *ctx);

struct slot_edit {
	struct slot_pool *pool;
	uint64_t *at;
	uint64_t word;
};

void slot_edit_begin(struct slot_edit *e, struct slot_pool *p, uint64_t *word);
void slot_edit_set(struct slot_edit *e, unsigned a, unsigned b, bool in);
uint64_t slot_edit_end(struct slot_edit *e); /* publishes; the leaf that was there before */
/* Gives back what a leaf has beyond room for so many ranges, if it is much; as slot_reserve(). */
uint64_t slot_shrink(struct slot_pool *p, uint64_t *word, size_t ranges);

/* Sets or clears the covered flag. */
void slot_cover(uint64_t *word, bool covered);

#endif
