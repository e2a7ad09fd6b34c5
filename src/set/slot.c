/* SPDX-License-Identifier: Apache-2.0 */
/* slot: see slot.h. Readers of other files do the same searches with vectors. */
#include "set/slot.h"

enum {
	SLACK = 2, /* boundaries that a change needs beyond what it leaves */
	FEW_MOST = 2 * SLOT_LINE - 1,
	MANY_MOST = SLOT_MANY_LINES * SLOT_LINE,
	WORDS = (SLOT_MAX + 1) / 64,
};

/* --- leaves --------------------------------------------------------------------------------- */

/* Lines that a leaf takes. */
static size_t leaf_lines(const struct slot_pool *p, uint64_t word)
{
	switch (slot_form(word)) {
	case SLOT_FEW:
		return word & SLOT_TWO_LINES ? 2 : 1;
	case SLOT_MANY:
		return 1 + ((const struct slot_many *)slot_leaf(word))->lines;
	default:
		return p->last == SLOT_MAX ? WORDS / 8 : 1;
	}
}

/* Boundaries that there is room for; SIZE_MAX: any number. */
static size_t leaf_room(const struct slot_pool *p, uint64_t word)
{
	if (!slot_leaf(word))
		return 0;
	if (slot_form(word) == SLOT_BITS)
		return SIZE_MAX;
	if (slot_form(word) == SLOT_FEW)
		return word & SLOT_TWO_LINES ? FEW_MOST : SLOT_LINE;
	return (leaf_lines(p, word) - 1) * SLOT_LINE;
}

/* An empty leaf with room for n boundaries: its word, or 0 if there is no memory. */
static uint64_t leaf_new(struct slot_pool *p, size_t n)
{
	uint64_t form = n <= FEW_MOST		    ? SLOT_FEW
			: n <= MANY_MOST && p->many ? SLOT_MANY
						    : SLOT_BITS;
	size_t lines;

	if (p->last < SLOT_MAX)
		form = SLOT_BITS;
	if (form == SLOT_FEW) {
		lines = n > SLOT_LINE ? 2 : 1;
		form |= lines == 2 ? SLOT_TWO_LINES : 0;
	} else if (form == SLOT_MANY) {
		lines = 4;
		while (lines * SLOT_LINE < n)
			lines *= 2;
		lines = MIN(lines, (size_t)SLOT_MANY_LINES) + 1;
	} else {
		lines = p->last == SLOT_MAX ? WORDS / 8 : 1;
	}
	void *leaf = line_alloc(&p->lines, lines);
	if (!leaf)
		return 0;
	if (form == SLOT_BITS)
		memset(leaf, 0, lines * 64);
	if (form == SLOT_MANY)
		((struct slot_many *)leaf)->lines = (uint16_t)(lines - 1);
	return (uint64_t)(uintptr_t)leaf | form;
}

static uint16_t *leaf_bounds(uint64_t word)
{
	void *leaf = (void *)slot_leaf(word);
	return slot_form(word) == SLOT_MANY ? ((struct slot_many *)leaf)->line[0] : leaf;
}

static void set_count(uint64_t *word, size_t n)
{
	*word = (*word & ~(~0ULL << SLOT_COUNT_SHIFT)) | (uint64_t)n << SLOT_COUNT_SHIFT;
}

/* Brings the index of a leaf up to date, from boundary `from` on. */
static void leaf_index(uint64_t word, size_t from)
{
	if (slot_form(word) != SLOT_MANY)
		return;
	struct slot_many *m = (struct slot_many *)slot_leaf(word);
	for (size_t k = from / SLOT_LINE; k * SLOT_LINE < slot_count(word); k++)
		m->first[k] = m->line[k][0];
}

static void bits_set(uint64_t *bits, unsigned a, unsigned b, bool in)
{
	for (unsigned w = a / 64; w <= b / 64; w++) {
		uint64_t mask = ~0ULL;
		if (w == a / 64)
			mask &= ~0ULL << a % 64;
		if (w == b / 64)
			mask &= ~0ULL >> (63 - b % 64);
		bits[w] = in ? bits[w] | mask : bits[w] & ~mask;
	}
}

/* The boundaries of a bitmap; returns how many. */
static size_t bits_bounds(const struct slot_pool *p, const uint64_t *bits, uint16_t *out)
{
	size_t n = 0;
	uint64_t carry = 0;

	for (unsigned w = 0; w <= p->last / 64; w++) {
		uint64_t edges = bits[w] ^ (bits[w] << 1 | carry);
		carry = bits[w] >> 63;
		for (; edges; edges &= edges - 1)
			out[n++] = (uint16_t)(w * 64 + (unsigned)__builtin_ctzll(edges));
	}
	return n;
}

/* Copies the boundaries of one leaf to an empty one with room for them. */
static void leaf_copy(const struct slot_pool *p, uint64_t from, uint64_t *to)
{
	if (!slot_leaf(from))
		return;
	if (slot_form(*to) != SLOT_BITS) {
		size_t n = slot_count(from);
		if (slot_form(from) == SLOT_BITS)
			n = bits_bounds(p, slot_leaf(from), leaf_bounds(*to));
		else
			memcpy(leaf_bounds(*to), leaf_bounds(from), n * sizeof(uint16_t));
		set_count(to, n);
		leaf_index(*to, 0);
		return;
	}
	uint64_t *bits = (uint64_t *)slot_leaf(*to);
	if (slot_form(from) == SLOT_BITS) {
		memcpy(bits, slot_leaf(from), leaf_lines(p, from) * 64);
		return;
	}
	const uint16_t *v = leaf_bounds(from);
	for (size_t i = 0, n = slot_count(from); i < n; i += 2)
		bits_set(bits, v[i], i + 1 < n ? v[i + 1] - 1U : SLOT_MAX, true);
}

static void leaf_free(struct slot_pool *p, uint64_t word)
{
	if (slot_leaf(word))
		line_free(&p->lines, (void *)slot_leaf(word), leaf_lines(p, word));
}

/* Replaces the leaf by one with room for n boundaries, and memory for so many changes of it. */
static int leaf_resize(struct slot_pool *p, uint64_t *word, size_t n, size_t edits, uint64_t *gone)
{
	uint64_t old = *word, new = leaf_new(p, n);

	if (!new)
		return -ENOMEM;
	if (line_reserve(&p->lines, leaf_lines(p, new), edits)) {
		leaf_free(p, new);
		return -ENOMEM;
	}
	leaf_copy(p, old, &new);
	*word = new | (old & SLOT_COVERED);
	*gone = old & SLOT_ADDRESS ? old : 0;
	return 0;
}

int slot_reserve(struct slot_pool *p, uint64_t *word, size_t ranges, size_t edits, uint64_t *gone)
{
	size_t want = 2 * ranges + SLACK;

	*gone = 0;
	if (want > leaf_room(p, *word))
		return leaf_resize(p, word, want, edits, gone);
	return slot_leaf(*word) ? line_reserve(&p->lines, leaf_lines(p, *word), edits) : 0;
}

uint64_t slot_shrink(struct slot_pool *p, uint64_t *word, size_t ranges)
{
	size_t want = 2 * ranges + SLACK, room = leaf_room(p, *word);
	uint64_t old = *word, gone = 0;

	if (!ranges) {
		*word = old & SLOT_COVERED;
		return old & SLOT_ADDRESS ? old : 0;
	}
	/* Another change may follow that has memory for the leaf as it is. */
	if (p->last == SLOT_MAX && 2 * want < MIN(room, (size_t)(p->many ? MANY_MOST : FEW_MOST)))
		leaf_resize(p, word, want, 1, &gone); /* or it stays as it is */
	return gone;
}

void slot_free(struct slot_pool *p, uint64_t word)
{
	leaf_free(p, word);
}

size_t slot_bytes(const struct slot_pool *p, uint64_t word)
{
	return slot_leaf(word) ? leaf_lines(p, word) * sizeof(uint16_t) * SLOT_LINE : 0;
}

void slot_cover(uint64_t *word, bool covered)
{
	*word = covered ? *word | SLOT_COVERED : *word & ~SLOT_COVERED;
}

/* --- searches ------------------------------------------------------------------------------- */

/* Boundaries below x; with `upto` those equal to it too. */
static size_t bounds_below(uint64_t word, unsigned x, bool upto)
{
	const uint16_t *v = leaf_bounds(word);
	size_t from = 0, to = slot_count(word);

	while (from < to) {
		size_t mid = (from + to) / 2;
		if (v[mid] < x || (upto && v[mid] == x))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

bool slot_has(uint64_t word, unsigned x)
{
	if (word & SLOT_COVERED || !slot_leaf(word))
		return word & SLOT_COVERED;
	return slot_form(word) == SLOT_BITS ? slot_bit(word, x) : bounds_below(word, x, true) & 1;
}

int slot_each(const struct slot_pool *p, uint64_t word, int (*fn)(void *ctx, unsigned x), void *ctx)
{
	int stop = 0;

	if (!slot_leaf(word))
		return 0;
	if (slot_form(word) == SLOT_BITS) {
		const uint64_t *bits = slot_leaf(word);
		for (unsigned w = 0; w <= p->last / 64; w++)
			for (uint64_t rest = bits[w]; rest && !stop; rest &= rest - 1)
				stop = fn(ctx, w * 64 + (unsigned)__builtin_ctzll(rest));
		return stop;
	}
	const uint16_t *v = leaf_bounds(word);
	for (size_t i = 0, n = slot_count(word); i < n; i += 2)
		for (unsigned x = v[i], end = i + 1 < n ? v[i + 1] : SLOT_MAX + 1U;
		     x < end && !stop; x++)
			stop = fn(ctx, x);
	return stop;
}

/* --- changes -------------------------------------------------------------------------------- */

void slot_edit_begin(struct slot_edit *e, struct slot_pool *p, uint64_t *word)
{
	size_t lines = leaf_lines(p, *word);
	void *copy = line_alloc(&p->lines, lines); /* was reserved */

	memcpy(copy, slot_leaf(*word), lines * 64);
	*e = (struct slot_edit){p, word, (*word & ~SLOT_ADDRESS) | (uint64_t)(uintptr_t)copy};
}

void slot_edit_set(struct slot_edit *e, unsigned a, unsigned b, bool in)
{
	if (slot_form(e->word) == SLOT_BITS) {
		bits_set((uint64_t *)slot_leaf(e->word), a, b, in);
		return;
	}
	uint16_t *v = leaf_bounds(e->word), put[2];
	size_t n = slot_count(e->word), n_put = 0;
	size_t from = bounds_below(e->word, a, false);
	size_t to = b == SLOT_MAX ? n : bounds_below(e->word, b + 1, true);

	if ((from & 1) != in)
		put[n_put++] = (uint16_t)a;
	if (b != SLOT_MAX && (to & 1) != in)
		put[n_put++] = (uint16_t)(b + 1);
	memmove(&v[from + n_put], &v[to], (n - to) * sizeof(*v));
	memcpy(&v[from], put, n_put * sizeof(*v));
	set_count(&e->word, n - (to - from) + n_put);
	leaf_index(e->word, from);
}

uint64_t slot_edit_end(struct slot_edit *e)
{
	uint64_t old = *e->at;

	*e->at = e->word;
	return old;
}
