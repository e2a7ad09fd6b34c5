/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_shape: what is the best shape for a handful of entries?
 *
 * Eight fit a leaf. More are split by the bits that tell most of them apart, chosen one after the
 * other: what counts is how many entries share a slot, seen from an entry, how many are copied, and
 * how many are wide: these only where there is no good way without. A larger number of entries
 * becomes a table if all of them fix some bits, or most do and no split is good: tables grow. What
 * nothing tells apart is a chain. (Choosing bits instead of cutting ranges: Vamanan et al.,
 * "EffiCuts", 2010, on copies; Liu et al., "DBTable", 2024, on discriminating bits.)
 *
 * Cost: O(n * bits looked at), at most CLS_GATHER_MAX entries; no state.
 */
#include <stdlib.h>

#include "acl/classifier_internal.h"

enum {
	MOST = CLS_GATHER_MAX + 1,
	CANDIDATES = 20,	    /* bits that are looked at more than once */
	COPIES_MOST = 2 * MOST + 8, /* places of entries in slots */
	TABLE_MIN = 96,
	/* Costs are counted in entries that a packet is compared with: of a split as good as any
	 * table, of a step that a wide side makes, of as many copies as there are entries. */
	GOOD = CLS_LANES,
	STEP_COST = 4,
	COPY_COST = 4,
	IMPOSSIBLE = 1000000,
};

struct builder {
	struct classifier *c;
	const struct cls_side *side;
	const struct cls_item *items;
};

/* --- tables ---------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Items that fit, and how many different keys they have. */
_Static_assert(CLS_TABLE_WORDS == 8, "a number for each word of a table");
static unsigned count_fitting(const struct cls_item *items, const uint16_t *pick, unsigned n,
			      const struct cls_table *t, unsigned *keys)
{
	static const uint64_t any[CLS_HASH_KEYS] = {
		0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xff51afd7ed558ccd,
		0xc4ceb9fe1a85ec53, 0x2545f4914f6cdd1d, 0xd6e8feb86659fd93, 0xa0761d6478bd642f};
	uint64_t hashes[MOST];
	unsigned fit = 0;

	for (unsigned i = 0; i < n; i++)
		if (cls_table_fits(t, &items[pick[i]].form))
			hashes[fit++] = cls_table_hash(any, t, items[pick[i]].form.value);
	qsort(hashes, fit, sizeof(hashes[0]), ascending);
	*keys = fit > 0;
	for (unsigned i = 1; i < fit; i++)
		*keys += hashes[i] != hashes[i - 1];
	return fit;
}

static unsigned choose_table(const struct cls_item *items, const uint16_t *pick, unsigned n,
			     struct cls_table *t)
{
	uint16_t fixed[CLS_WORDS][32] = {0};
	unsigned best = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned w = 0; w < CLS_WORDS; w++)
			for (uint32_t m = items[pick[i]].form.mask[w]; m; m &= m - 1)
				fixed[w][__builtin_ctz(m)]++;
	/* Bits that all, nearly all, most, half of the entries fix. */
	static const unsigned shares[] = {100, 90, 75, 50};
	for (unsigned k = 0; k < ARRAY_SIZE(shares); k++) {
		struct cls_table x = {0};
		unsigned keys;
		for (unsigned w = 0; w < CLS_WORDS && x.n_words < CLS_TABLE_WORDS; w++) {
			uint32_t mask = 0;
			for (unsigned b = 0; b < 32; b++)
				if (fixed[w][b] && fixed[w][b] * 100 >= shares[k] * n)
					mask |= UINT32_C(1) << b;
			if (mask) {
				x.word[x.n_words] = (uint8_t)w;
				x.mask[x.n_words++] = mask;
			}
		}
		unsigned fit = count_fitting(items, pick, n, &x, &keys);
		if (keys * 3 >= fit && fit > best) {
			best = fit;
			t->n_words = x.n_words;
			memcpy(t->word, x.word, sizeof(t->word));
			memcpy(t->mask, x.mask, sizeof(t->mask));
		}
	}
	return best;
}

unsigned cls_table_choose(const struct cls_item *items, unsigned n, struct cls_table *t)
{
	uint16_t pick[MOST];
	for (unsigned i = 0; i < n; i++)
		pick[i] = (uint16_t)i;
	return choose_table(items, pick, n, t);
}

/* --- splits ---------------------------------------------------------------------------------- */

struct bit {
	uint8_t word, at;
	float cost;
};

/* 0 or 1: the entry fixes the bit; 2: open. */
static unsigned bit_of(const struct cls_form *f, const struct bit *b)
{
	return f->mask[b->word] >> b->at & 1 ? f->value[b->word] >> b->at & 1 : 2;
}

struct choice {
	unsigned n; /* bits */
	unsigned entries;
	struct bit bits[CLS_SPLIT_BITS];
	unsigned copies;
	uint16_t item[COPIES_MOST]; /* of each copy: entry, by place in pick[] */
	uint8_t cell[COPIES_MOST];
	uint8_t open[MOST]; /* bits that an entry leaves open so far */
	unsigned wide;
	double cost;
};

/* Entries that share a cell, seen from an entry, with one bit more. */
static double cost_with(const struct builder *b, const uint16_t *pick, const struct choice *ch,
			const struct bit *bit, bool wides)
{
	uint16_t count[2][1 << (CLS_SPLIT_BITS - 1)] = {0};
	uint64_t squares = 0, copies = 0, wide = ch->wide * UINT64_C(8);

	for (unsigned i = 0; i < ch->copies; i++) {
		unsigned it = ch->item[i], v = bit_of(&b->items[pick[it]].form, bit);
		if (v == 2 && ch->open[it] == CLS_OPEN_MAX) {
			/* It has as many copies as the open bits say. */
			wide += 8 >> CLS_OPEN_MAX;
			continue;
		}
		count[0][ch->cell[i]] += v != 1;
		count[1][ch->cell[i]] += v != 0;
	}
	for (unsigned i = 0; i < 1u << ch->n; i++)
		for (unsigned k = 0; k < 2; k++) {
			squares += (uint64_t)count[k][i] * count[k][i];
			copies += count[k][i];
		}
	if (copies > COPIES_MOST || (wide && !wides))
		return IMPOSSIBLE;
	double shared = copies ? (double)squares / (double)copies : 0;
	double more = (double)(copies + wide / 8 - ch->entries) / ch->entries;
	return shared + (double)wide / 8 + (wide ? 2 : 0) + COPY_COST * more;
}

static void take_bit(const struct builder *b, const uint16_t *pick, struct choice *ch,
		     const struct bit *bit, double cost)
{
	unsigned n = 0, was = ch->copies;
	uint16_t item[COPIES_MOST];
	uint8_t cell[COPIES_MOST];

	memcpy(item, ch->item, was * sizeof(item[0]));
	memcpy(cell, ch->cell, was);
	for (unsigned i = 0; i < ch->entries; i++)
		if (ch->open[i] <= CLS_OPEN_MAX && bit_of(&b->items[pick[i]].form, bit) == 2) {
			ch->open[i]++;
			ch->wide += ch->open[i] > CLS_OPEN_MAX;
		}
	for (unsigned i = 0; i < was; i++) {
		unsigned v = bit_of(&b->items[pick[item[i]]].form, bit);
		for (unsigned k = 0; k < 2 && ch->open[item[i]] <= CLS_OPEN_MAX; k++)
			if (v != !k) {
				ch->item[n] = item[i];
				ch->cell[n++] = (uint8_t)(cell[i] | k << ch->n);
			}
	}
	ch->copies = n;
	ch->bits[ch->n++] = *bit;
	ch->cost = cost;
}

static int by_cost(const void *a, const void *b)
{
	const struct bit *x = a, *y = b;
	return (x->cost > y->cost) - (x->cost < y->cost);
}

/* Two words at most: may this one be taken? */
static bool word_allowed(const struct choice *ch, unsigned word)
{
	unsigned first = ch->n ? ch->bits[0].word : word, second = first;
	for (unsigned i = 1; i < ch->n; i++)
		if (ch->bits[i].word != first)
			second = ch->bits[i].word;
	return second == first || word == first || word == second;
}

static bool bit_taken(const struct choice *ch, const struct bit *bit)
{
	for (unsigned i = 0; i < ch->n; i++)
		if (ch->bits[i].word == bit->word && ch->bits[i].at == bit->at)
			return true;
	return false;
}

static void choice_init(struct choice *ch, unsigned n)
{
	*ch = (struct choice){.entries = n, .copies = n, .cost = n};
	for (unsigned i = 0; i < n; i++)
		ch->item[i] = (uint16_t)i;
}

/* One bit after the other, as long as it is worth it; with wide entries or without. */
static void take_bits(const struct builder *b, const uint16_t *pick, struct choice *ch,
		      const struct bit *bits, unsigned n_bits, bool wides)
{
	while (ch->n < CLS_SPLIT_BITS && ch->cost > CLS_LANES - 2) {
		const struct bit *best = NULL;
		double least = ch->cost * 0.9;
		for (unsigned i = 0; i < n_bits; i++) {
			if (!word_allowed(ch, bits[i].word) || bit_taken(ch, &bits[i]))
				continue;
			double cost =
				ch->n ? cost_with(b, pick, ch, &bits[i], wides) : bits[i].cost;
			if (cost < least) {
				least = cost;
				best = &bits[i];
			}
		}
		if (!best)
			break;
		take_bit(b, pick, ch, best, least);
	}
}

/* A wide side is one step more for every packet: it is for what cannot be told apart without. */
static void choose_bits(const struct builder *b, const uint16_t *pick, unsigned n,
			struct choice *ch)
{
	struct bit bits[CLS_WORDS * 32];
	unsigned n_bits = 0;

	choice_init(ch, n);
	for (unsigned w = 0; w < CLS_WORDS; w++) {
		uint32_t zero = 0, one = 0;
		for (unsigned i = 0; i < n; i++) {
			const struct cls_form *f = &b->items[pick[i]].form;
			zero |= f->mask[w] & ~f->value[w];
			one |= f->mask[w] & f->value[w];
		}
		for (uint32_t m = zero & one; m; m &= m - 1) {
			struct bit *bit = &bits[n_bits++];
			*bit = (struct bit){.word = (uint8_t)w, .at = (uint8_t)__builtin_ctz(m)};
			bit->cost = (float)cost_with(b, pick, ch, bit, false);
		}
	}
	qsort(bits, n_bits, sizeof(bits[0]), by_cost);
	n_bits = MIN(n_bits, CANDIDATES);
	take_bits(b, pick, ch, bits, n_bits, false);
	if (ch->cost > GOOD) {
		struct choice wide;
		choice_init(&wide, n);
		take_bits(b, pick, &wide, bits, n_bits, true);
		if (wide.cost + STEP_COST < ch->cost)
			*ch = wide;
	}
}

/* --- building -------------------------------------------------------------------------------- */

static struct cls_shape *build(const struct builder *b, const uint16_t *pick, unsigned n,
			       unsigned level);

static struct cls_shape *build_chain(const struct builder *b, const uint16_t *pick, unsigned n)
{
	enum { FILL = 6 };
	unsigned leaves = (n + FILL - 1) / FILL;
	struct cls_chain *x =
		cls_shape_new(b->c, CLS_CHAIN, sizeof(*x) + leaves * sizeof(x->link[0]));
	if (!x)
		return NULL;
	x->n_leaves = leaves;
	x->shape.n = n;
	x->alike = true;
	for (unsigned i = 1; i < n; i++)
		x->alike = x->alike &&
			   cls_items_alike(b->side, &b->items[pick[0]], &b->items[pick[i]]);
	for (unsigned i = 0; i < leaves; i++) {
		unsigned at = i * FILL;
		struct cls_leaf *l =
			cls_leaf_build(b->c, b->side, b->items, pick + at, MIN(n - at, FILL));
		if (!l) {
			cls_tree_free(b->c, &x->shape);
			return NULL;
		}
		x->link[i] = (struct cls_link){l, cls_leaf_blocks(l)};
	}
	return &x->shape;
}

static struct cls_shape *build_table(const struct builder *b, const uint16_t *pick, unsigned n,
				     const struct cls_table *choice, unsigned level)
{
	struct cls_table *t = cls_table_new(b->c);
	uint16_t rest[MOST];
	unsigned n_rest = 0;

	if (!t)
		return NULL;
	t->n_words = choice->n_words;
	memcpy(t->word, choice->word, sizeof(t->word));
	memcpy(t->mask, choice->mask, sizeof(t->mask));
	for (unsigned i = 0; i < n; i++) {
		if (!cls_table_fits(t, &b->items[pick[i]].form)) {
			rest[n_rest++] = pick[i];
		} else if (cls_table_insert(b->c, b->side, t, &b->items[pick[i]], level + 1)) {
			cls_tree_free(b->c, &t->shape);
			return NULL;
		}
	}
	if (n_rest) {
		t->wide = build(b, rest, n_rest, level + 1);
		if (!t->wide) {
			cls_tree_free(b->c, &t->shape);
			return NULL;
		}
	}
	t->shape.n = n;
	return &t->shape;
}

static struct cls_shape *build_split(const struct builder *b, const uint16_t *pick, unsigned n,
				     const struct choice *ch, unsigned level)
{
	struct cls_split *s =
		cls_shape_new(b->c, CLS_SPLIT, sizeof(*s) + (sizeof(s->slot[0]) << ch->n));
	uint16_t some[MOST];
	struct cls_ways ways[MOST];
	unsigned m = 0;

	if (!s)
		return NULL;
	s->word[0] = s->word[1] = ch->bits[0].word;
	for (unsigned i = 0; i < ch->n; i++) {
		bool second = ch->bits[i].word != ch->bits[0].word;
		s->word[second] = ch->bits[i].word;
		s->mask[second] |= UINT32_C(1) << ch->bits[i].at;
	}
	s->shift = (uint8_t)__builtin_popcount(s->mask[0]);
	s->built = s->shape.n = n;
	for (unsigned i = 0; i < n; i++) {
		ways[i] = cls_split_ways(s, &b->items[pick[i]].form);
		if (ways[i].wide)
			some[m++] = pick[i];
	}
	if (m) {
		s->wide = build(b, some, m, level + 1);
		if (!s->wide)
			goto err;
	}
	for (uint32_t slot = 0; slot < 1u << ch->n; slot++) {
		m = 0;
		for (unsigned i = 0; i < n; i++)
			if (!ways[i].wide && !((slot ^ ways[i].base) & ~ways[i].open))
				some[m++] = pick[i];
		if (!m)
			continue;
		s->slot[slot] = build(b, some, m, level + 1);
		if (!s->slot[slot])
			goto err;
	}
	return &s->shape;
err:
	cls_tree_free(b->c, &s->shape);
	return NULL;
}

/*
 * A split without bits: what is alike is a chain on its wide side, everything else is in its slot.
 * NULL without memory.
 */
static struct cls_shape *build_apart(const struct builder *b, const uint16_t *alike,
				     unsigned n_alike, const uint16_t *rest, unsigned n_rest,
				     unsigned level)
{
	struct cls_split *s = cls_shape_new(b->c, CLS_SPLIT, sizeof(*s) + sizeof(s->slot[0]));

	if (!s)
		return NULL;
	s->shape.n = n_alike + n_rest;
	s->wide = build_chain(b, alike, n_alike);
	s->slot[0] = s->wide ? build(b, rest, n_rest, level + 1) : NULL;
	if (!s->slot[0]) {
		cls_tree_free(b->c, &s->shape);
		return NULL;
	}
	return &s->shape;
}

/* The item that more than half are alike to, if there is one (Boyer and Moore, 1981). */
static unsigned majority(const struct builder *b, const uint16_t *pick, unsigned n)
{
	unsigned at = 0, votes = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!votes)
			at = i;
		votes +=
			cls_items_alike(b->side, &b->items[pick[at]], &b->items[pick[i]]) ? 1 : -1U;
	}
	return at;
}

static struct cls_shape *build_rest(const struct builder *b, const uint16_t *pick, unsigned n,
				    unsigned level)
{
	uint16_t alike[MOST], rest[MOST];
	unsigned n_alike = 0, n_rest = 0, at = majority(b, pick, n);

	for (unsigned i = 0; i < n; i++)
		if (cls_items_alike(b->side, &b->items[pick[at]], &b->items[pick[i]]))
			alike[n_alike++] = pick[i];
		else
			rest[n_rest++] = pick[i];
	if (n_rest && n_alike > CLS_LANES && n_alike * 2 > n)
		return build_apart(b, alike, n_alike, rest, n_rest, level);
	return build_chain(b, pick, n);
}

static struct cls_shape *build(const struct builder *b, const uint16_t *pick, unsigned n,
			       unsigned level)
{
	if (n <= CLS_LANES) {
		struct cls_leaf *l = cls_leaf_build(b->c, b->side, b->items, pick, n);
		return l ? &l->shape : NULL;
	}
	if (level >= CLS_LEVEL_MAX)
		return build_chain(b, pick, n);

	struct choice ch;
	struct cls_table table = {0};
	unsigned fit = 0;
	choose_bits(b, pick, n, &ch);
	bool split = ch.n && ch.cost < 0.75 * n;
	bool good = split && ch.cost <= GOOD && !ch.wide;
	if (n >= TABLE_MIN || (!split && n > 2 * CLS_LANES))
		fit = choose_table(b->items, pick, n, &table);
	if (n >= TABLE_MIN ? fit == n || (!good && fit * 4 >= n * 3)
			   : !split && fit * 2 >= n && fit > CLS_LANES)
		return build_table(b, pick, n, &table, level);
	if (split)
		return build_split(b, pick, n, &ch, level);
	return build_rest(b, pick, n, level);
}

struct cls_shape *cls_shape_build(struct classifier *c, const struct cls_side *side,
				  const struct cls_item *items, unsigned n, unsigned level)
{
	const struct builder b = {c, side, items};
	uint16_t pick[MOST];

	for (unsigned i = 0; i < n; i++)
		pick[i] = (uint16_t)i;
	return build(&b, pick, n, level);
}
