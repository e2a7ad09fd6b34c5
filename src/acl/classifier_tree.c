/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_tree: entries come into the structure and leave it.
 *
 * An insertion goes the way that the lookups of its packets go and puts a new leaf with the entry
 * in the place of the old one. A leaf that is full is halved by one more bit of the hash where a
 * directory leads to it; otherwise, or where all hashes are equal, classifier_shape.c makes a
 * shape of its entries and the new one. A split that has grown to GROWN times what it was shaped
 * from is shaped anew, up to CLS_GATHER_MAX entries: that bounds the work of a call; so is a small
 * one in place of a full leaf right below it, for each split more on a way is a step of lookups.
 * Bigger ones go on growing at their ends.
 *
 * A removal clears the entry's lanes. Leaves that are empty go, and what led to nothing else.
 */
#include <stdlib.h>

#include "acl/classifier_internal.h"

enum {
	GROWN = 2,
	WHOLE = 96, /* entries of a split that is shaped anew before it has others below */
};

void cls_item_make(const struct classifier *c, struct cls_node *e, const struct cls_side *side,
		   struct cls_item *out)
{
	struct order_view v = order_view_take(&c->order);
	out->entry = e;
	out->rank = order_rank(&v, &e->order);
	cls_form_make(&e->rule, side->ipv4, side->without, &out->form);
}

static uint64_t rank_of(const struct classifier *c, const struct cls_node *e)
{
	struct order_view v = order_view_take(&c->order);
	return order_rank(&v, &e->order);
}

/* --- leaves ---------------------------------------------------------------------------------- */

static void leaf_set(struct cls_leaf *l, const struct cls_side *side, unsigned lane,
		     const struct cls_item *item)
{
	const struct cls_form *f = &item->form;
	unsigned n = side->ipv4 ? 1 : 4;

	l->swild[lane] = f->swild;
	l->dwild[lane] = f->dwild;
	l->has[lane][0] = f->proto;
	l->must[lane][0] = f->proto_mask;
	l->must[lane][1] = f->need;
	l->entry[lane] = item->entry;
	l->port_lo[lane] = f->port_lo;
	l->port_hi[lane] = f->port_hi;
	for (unsigned i = 0; i < n; i++) {
		l->address[i][lane] = f->value[CLS_AT_SADDR / 32 + i];
		l->address[n + i][lane] = f->value[CLS_AT_DADDR / 32 + i];
	}
	l->shape.valid |= (uint8_t)(1 << lane);
	if (f->check)
		l->shape.check |= (uint8_t)(1 << lane);
}

static uint64_t blocks_of(uint32_t first, uint32_t last)
{
	unsigned from = first >> 10, to = last >> 10;

	return (UINT64_MAX >> (63 - (to - from))) << from;
}

struct cls_blocks cls_leaf_blocks(const struct cls_leaf *l)
{
	struct cls_blocks b = {0};

	for (unsigned rest = l->shape.valid; rest; rest &= rest - 1) {
		unsigned lane = (unsigned)__builtin_ctz(rest);
		uint32_t lo = l->port_lo[lane], hi = l->port_hi[lane];
		b.sport |= blocks_of(lo >> 16, hi >> 16);
		b.dport |= blocks_of(lo & 0xffff, hi & 0xffff);
	}
	return b;
}

static void copy_lane(struct cls_leaf *to, unsigned lane, const struct cls_leaf *from, unsigned at)
{
	unsigned rows = from->shape.n ? 8 : 2;

	to->swild[lane] = from->swild[at];
	to->dwild[lane] = from->dwild[at];
	memcpy(to->has[lane], from->has[at], sizeof(to->has[lane]));
	memcpy(to->must[lane], from->must[at], sizeof(to->must[lane]));
	to->entry[lane] = from->entry[at];
	to->port_lo[lane] = from->port_lo[at];
	to->port_hi[lane] = from->port_hi[at];
	for (unsigned i = 0; i < rows; i++)
		to->address[i][lane] = from->address[i][at];
	to->shape.valid |= (uint8_t)(1 << lane);
	to->shape.check |= (uint8_t)((from->shape.check >> at & 1) << lane);
}

struct cls_leaf *cls_leaf_build(struct classifier *c, const struct cls_side *side,
				const struct cls_item *items, const uint16_t *pick, unsigned n)
{
	struct cls_leaf *l = cls_leaf_new(c, side);
	if (!l)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		leaf_set(l, side, i, &items[pick[i]]);
	return l;
}

/* The same leaf with one more; there is room. */
static struct cls_leaf *leaf_with(struct classifier *c, const struct cls_side *side,
				  const struct cls_leaf *old, const struct cls_item *item)
{
	struct cls_leaf *l = cls_leaf_new(c, side);
	unsigned lane = 0;
	bool done = false;

	if (!l)
		return NULL;
	l->shape.depth = old->shape.depth;
	for (unsigned at = 0; at < CLS_LANES; at++)
		__builtin_prefetch(old->entry[at]);
	for (unsigned rest = old->shape.valid; rest; rest &= rest - 1) {
		unsigned at = (unsigned)__builtin_ctz(rest);
		if (!done && item->rank < rank_of(c, old->entry[at])) {
			leaf_set(l, side, lane++, item);
			done = true;
		}
		copy_lane(l, lane++, old, at);
	}
	if (!done)
		leaf_set(l, side, lane, item);
	return l;
}

static bool leaf_full(const struct cls_leaf *l)
{
	return l->shape.valid == UINT8_MAX;
}

static bool leaf_remove(struct cls_leaf *l, const struct cls_node *e)
{
	for (unsigned lane = 0; lane < CLS_LANES; lane++)
		if ((l->shape.valid >> lane & 1) && l->entry[lane] == e) {
			__atomic_store_n(&l->shape.valid, l->shape.valid & ~(1 << lane),
					 __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

/* --- all that is below a shape, as items ------------------------------------------------------ */

struct gathering {
	struct classifier *c;
	struct {
		uint64_t rank;
		struct cls_node *entry;
	} * found;
	unsigned n, cap;
	bool failed;
};

static void gather(void *ctx, struct cls_shape *s)
{
	struct gathering *g = ctx;

	if (s->kind != CLS_LEAF) {
		cls_shape_each(s, gather, g);
		return;
	}
	struct cls_leaf *l = container_of(s, struct cls_leaf, shape);
	if (g->n + CLS_LANES > g->cap) {
		unsigned cap = g->cap ? g->cap * 2 : 64;
		void *found = realloc(g->found, cap * sizeof(*g->found));
		if (!found) {
			g->failed = true;
			return;
		}
		g->found = found;
		g->cap = cap;
	}
	for (unsigned rest = s->valid; rest; rest &= rest - 1) {
		struct cls_node *e = l->entry[__builtin_ctz(rest)];
		g->found[g->n].rank = rank_of(g->c, e);
		g->found[g->n++].entry = e;
	}
}

static int by_rank(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

struct cls_item *cls_items_of(struct classifier *c, const struct cls_side *side,
			      struct cls_shape *s, const struct cls_item *more, unsigned *n)
{
	struct gathering g = {.c = c};
	struct cls_item *items = NULL;
	unsigned count = 0;
	bool placed = false;

	gather(&g, s);
	if (!g.failed)
		items = malloc((g.n + 1) * sizeof(*items));
	if (items) {
		qsort(g.found, g.n, sizeof(*g.found), by_rank);
		for (unsigned i = 0; i < g.n; i++) {
			if (i && g.found[i].entry == g.found[i - 1].entry)
				continue;
			if (more && !placed && more->rank < g.found[i].rank) {
				items[count++] = *more;
				placed = true;
			}
			cls_item_make(c, g.found[i].entry, side, &items[count++]);
		}
		if (more && !placed)
			items[count++] = *more;
	}
	free(g.found);
	*n = count;
	return items;
}

/* Shapes what is below the slot anew, with one more entry. */
static int reshape(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		   const struct cls_item *item, unsigned level)
{
	struct cls_shape *old = *slot;
	unsigned n;
	struct cls_item *items = cls_items_of(c, side, old, item, &n);
	struct cls_shape *s = items ? cls_shape_build(c, side, items, n, level) : NULL;

	free(items);
	if (!s)
		return -ENOMEM;
	s->depth = old->depth;
	cls_publish(slot, s);
	cls_tree_retire(c, old);
	return 0;
}

bool cls_items_alike(const struct cls_side *side, const struct cls_item *a,
		     const struct cls_item *b)
{
	const struct cls_form *f = &a->form, *g = &b->form;

	if (f->check != g->check || f->port_lo != g->port_lo || f->port_hi != g->port_hi ||
	    f->swild != g->swild || f->dwild != g->dwild || f->need != g->need ||
	    memcmp(f->value, g->value, sizeof(f->value)) ||
	    memcmp(f->mask, g->mask, sizeof(f->mask)))
		return false;
	return !f->check || cls_packed_alike(&a->entry->rule, &b->entry->rule, side->without);
}

/* --- splits ---------------------------------------------------------------------------------- */

struct cls_ways cls_split_ways(const struct cls_split *s, const struct cls_form *f)
{
	struct cls_ways w = {0};
	unsigned shift = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t mask = s->mask[i];
		w.base |= cls_extract(f->value[s->word[i]], mask) << shift;
		w.open |= cls_extract(~f->mask[s->word[i]], mask) << shift;
		shift += (unsigned)__builtin_popcount(mask);
	}
	w.wide = __builtin_popcount(w.open) > CLS_OPEN_MAX;
	return w;
}

static bool split_remove(struct classifier *c, const struct cls_side *side, struct cls_split *s,
			 const struct cls_item *item)
{
	struct cls_ways w = cls_split_ways(s, &item->form);
	uint32_t sub = 0;
	bool found = false;

	if (w.wide)
		return s->wide && cls_slot_remove(c, side, &s->wide, item);
	do {
		struct cls_shape **slot = &s->slot[w.base | sub];
		if (*slot && cls_slot_remove(c, side, slot, item))
			found = true;
	} while ((sub = (sub - w.open) & w.open));
	if (!found && !s->built && s->wide)
		found = cls_slot_remove(c, side, &s->wide, item);
	return found;
}

/* Is an item what all entries of a chain are? */
static bool alike_to(const struct classifier *c, const struct cls_side *side,
		     const struct cls_chain *x, const struct cls_item *item)
{
	unsigned at = 0;
	struct cls_item one;

	while (!x->link[at].leaf)
		at++;
	cls_item_make(c, x->link[at].leaf->entry[__builtin_ctz(x->link[at].leaf->shape.valid)],
		      side, &one);
	return x->alike && cls_items_alike(side, &one, item);
}

/* Would an entry make a shape below a small split that is better made together with the split? */
static bool split_overflows(const struct cls_split *s, const struct cls_item *item)
{
	struct cls_ways w = cls_split_ways(s, &item->form);
	uint32_t sub = 0;

	if (s->shape.n >= WHOLE || w.wide)
		return false;
	do {
		const struct cls_shape *x = s->slot[w.base | sub];
		if (x && x->kind == CLS_LEAF && x->valid == UINT8_MAX)
			return true;
	} while ((sub = (sub - w.open) & w.open));
	return false;
}

static int split_insert(struct classifier *c, const struct cls_side *side, struct cls_split *s,
			const struct cls_item *item, unsigned level)
{
	struct cls_ways w = cls_split_ways(s, &item->form);
	uint32_t sub = 0;
	int err;

	if (!s->built && s->wide && s->wide->kind == CLS_CHAIN &&
	    alike_to(c, side, container_of(s->wide, struct cls_chain, shape), item))
		w.wide = true;
	if (w.wide) {
		err = cls_slot_insert(c, side, &s->wide, item, level);
		s->shape.n += !err;
		return err;
	}
	do {
		err = cls_slot_insert(c, side, &s->slot[w.base | sub], item, level);
		if (err) {
			split_remove(c, side, s, item);
			return err;
		}
	} while ((sub = (sub - w.open) & w.open));
	s->shape.n++;
	return 0;
}

/* --- chains ---------------------------------------------------------------------------------- */

static const struct cls_node *last_of(const struct cls_leaf *l)
{
	return l->entry[31 - __builtin_clz(l->shape.valid)];
}

/* The first leaf that does not end before a rank, else the last there is. */
static unsigned chain_find(const struct classifier *c, const struct cls_chain *x, uint64_t rank)
{
	unsigned lo = 0, hi = x->n_leaves;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2, at = mid;
		while (at < hi && !x->link[at].leaf)
			at++;
		if (at < hi && rank_of(c, last_of(x->link[at].leaf)) < rank)
			lo = at + 1;
		else
			hi = mid;
	}
	while (lo < x->n_leaves && !x->link[lo].leaf)
		lo++;
	while (lo == x->n_leaves || !x->link[lo].leaf)
		lo--;
	return lo;
}

/* A chain without the holes, with room for one leaf more behind place *at, which moves along. */
static struct cls_chain *chain_copy(struct classifier *c, const struct cls_chain *old, unsigned *at)
{
	unsigned n = 1, to = 0, place = *at;

	for (unsigned i = 0; i < old->n_leaves; i++)
		n += old->link[i].leaf != NULL;
	struct cls_chain *x = cls_shape_new(c, CLS_CHAIN, sizeof(*x) + n * sizeof(x->link[0]));
	if (!x)
		return NULL;
	x->n_leaves = n;
	x->alike = old->alike;
	x->shape.n = old->shape.n;
	x->shape.depth = old->shape.depth;
	for (unsigned i = 0; i < old->n_leaves; i++) {
		if (old->link[i].leaf)
			x->link[to++] = old->link[i];
		if (i == place) {
			*at = to - 1;
			to++;
		}
	}
	return x;
}

/* A full leaf and one more entry become two leaves. */
static int chain_split(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		       unsigned at, const struct cls_item *item)
{
	struct cls_chain *old = container_of(*slot, struct cls_chain, shape);
	struct cls_leaf *full = old->link[at].leaf;
	struct cls_leaf *half[2] = {cls_leaf_new(c, side), cls_leaf_new(c, side)};
	struct cls_chain *x = chain_copy(c, old, &at);

	if (!half[0] || !half[1] || !x) {
		for (unsigned i = 0; i < 2; i++)
			cls_shape_free(c, half[i] ? &half[i]->shape : NULL);
		cls_shape_free(c, x ? &x->shape : NULL);
		return -ENOMEM;
	}
	/* What comes at the end fills leaves one by one. */
	unsigned left = item->rank > rank_of(c, last_of(full)) ? CLS_LANES : CLS_LANES / 2;
	bool done = false;
	for (unsigned i = 0, k = 0; i <= CLS_LANES; i++) {
		struct cls_leaf *l = half[i >= left];
		unsigned lane = i >= left ? i - left : i;
		if (!done && (k == CLS_LANES || item->rank < rank_of(c, full->entry[k]))) {
			leaf_set(l, side, lane, item);
			done = true;
		} else {
			copy_lane(l, lane, full, k++);
		}
	}
	for (unsigned i = 0; i < 2; i++)
		x->link[at + i] = (struct cls_link){half[i], cls_leaf_blocks(half[i])};
	x->shape.n++;
	cls_publish(slot, &x->shape);
	cls_shape_retire(c, &full->shape);
	cls_shape_retire(c, &old->shape);
	return 0;
}

/*
 * A chain too long to be shaped anew: what comes from now on may fit a table, if a sample of what
 * is there says so. The chain stays, as its wide side.
 */
static int chain_put_aside(struct classifier *c, const struct cls_side *side,
			   struct cls_shape **slot)
{
	struct cls_chain *x = container_of(*slot, struct cls_chain, shape);
	unsigned step = MAX(x->n_leaves / (CLS_GATHER_MAX / CLS_LANES), 1), n = 0;
	struct cls_item *items = calloc(CLS_GATHER_MAX, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (unsigned i = 0; i < x->n_leaves && n + CLS_LANES <= CLS_GATHER_MAX; i += step)
		for (unsigned rest = x->link[i].leaf ? x->link[i].leaf->shape.valid : 0; rest;
		     rest &= rest - 1)
			cls_item_make(c, x->link[i].leaf->entry[__builtin_ctz(rest)], side,
				      &items[n++]);
	struct cls_table choice = {0};
	bool good = cls_table_choose(items, n, &choice) * 2 >= n;
	free(items);
	if (!good)
		return 0;
	struct cls_table *t = cls_table_new(c);
	if (!t)
		return -ENOMEM;
	t->n_words = choice.n_words;
	memcpy(t->word, choice.word, sizeof(t->word));
	memcpy(t->mask, choice.mask, sizeof(t->mask));
	t->wide = *slot;
	t->shape.n = x->shape.n;
	t->shape.depth = x->shape.depth;
	cls_publish(slot, &t->shape);
	return 0;
}

/* What is not like the others of a long chain gets a place beside it. */
static int chain_leave(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		       const struct cls_item *item, unsigned level)
{
	struct cls_split *s = cls_shape_new(c, CLS_SPLIT, sizeof(*s) + sizeof(s->slot[0]));

	if (!s)
		return -ENOMEM;
	s->wide = *slot;
	s->shape.n = s->wide->n;
	s->shape.depth = s->wide->depth;
	cls_publish(slot, &s->shape);
	int err = cls_slot_insert(c, side, &s->slot[0], item, level + 1);
	s->shape.n += !err;
	return err;
}

static int chain_insert(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
			const struct cls_item *item, unsigned level)
{
	struct cls_chain *x = container_of(*slot, struct cls_chain, shape);
	uint32_t n = x->shape.n + 1;

	if (n >= 2 * CLS_LANES && !(n & (n - 1))) {
		if (n <= CLS_GATHER_MAX)
			return reshape(c, side, slot, item, level);
		if (level < CLS_LEVEL_MAX) {
			int err = chain_put_aside(c, side, slot);
			if (err || *slot != &x->shape)
				return err ? err : cls_slot_insert(c, side, slot, item, level);
		}
	}
	bool alike = alike_to(c, side, x, item);
	if (x->alike && !alike && n > 2 * CLS_LANES && level < CLS_LEVEL_MAX)
		return n > CLS_GATHER_MAX ? chain_leave(c, side, slot, item, level)
					  : reshape(c, side, slot, item, level);
	if (!alike && n > c->config.max_chain) {
		c->refused++;
		return -E2BIG;
	}
	if (!alike)
		__atomic_store_n(&x->alike, false, __ATOMIC_RELEASE);
	unsigned at = chain_find(c, x, item->rank);
	struct cls_leaf *old = x->link[at].leaf;
	if (leaf_full(old))
		return chain_split(c, side, slot, at, item);
	struct cls_leaf *l = leaf_with(c, side, old, item);
	if (!l)
		return -ENOMEM;
	/* Before the leaf has the entry. */
	struct cls_blocks blocks = cls_leaf_blocks(l);
	__atomic_store_n(&x->link[at].blocks.sport, x->link[at].blocks.sport | blocks.sport,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&x->link[at].blocks.dport, x->link[at].blocks.dport | blocks.dport,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&x->link[at].leaf, l, __ATOMIC_RELEASE);
	cls_shape_retire(c, &old->shape);
	x->shape.n++;
	return 0;
}

static bool chain_remove(struct classifier *c, struct cls_chain *x, const struct cls_item *item)
{
	unsigned at = chain_find(c, x, item->rank);
	struct cls_leaf *l = x->link[at].leaf;

	if (!leaf_remove(l, item->entry))
		return false;
	x->shape.n--;
	if (!l->shape.valid && x->shape.n) {
		__atomic_store_n(&x->link[at].leaf, NULL, __ATOMIC_RELEASE);
		cls_shape_retire(c, &l->shape);
	}
	return true;
}

/* --- any shape ------------------------------------------------------------------------------- */

int cls_slot_insert(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		    const struct cls_item *item, unsigned level)
{
	struct cls_shape *s = *slot;
	static const uint16_t first = 0;
	struct cls_leaf *l;

	if (!s) {
		l = cls_leaf_build(c, side, item, &first, 1);
		if (!l)
			return -ENOMEM;
		cls_publish(slot, &l->shape);
		return 0;
	}
	switch ((enum cls_kind)s->kind) {
	case CLS_LEAF:
		l = container_of(s, struct cls_leaf, shape);
		if (leaf_full(l))
			return reshape(c, side, slot, item, level);
		l = leaf_with(c, side, l, item);
		if (!l)
			return -ENOMEM;
		cls_publish(slot, &l->shape);
		cls_shape_retire(c, s);
		return 0;
	case CLS_SPLIT: {
		struct cls_split *x = container_of(s, struct cls_split, shape);
		if (x->built && s->n < CLS_GATHER_MAX &&
		    (s->n + 1 > GROWN * x->built || split_overflows(x, item)))
			return reshape(c, side, slot, item, level);
		return split_insert(c, side, x, item, level + 1);
	}
	case CLS_TABLE:
		return cls_table_insert(c, side, container_of(s, struct cls_table, shape), item,
					level + 1);
	case CLS_CHAIN:
		return chain_insert(c, side, slot, item, level);
	case CLS_DIRECTORY:
		break;
	}
	return -EINVAL;
}

bool cls_slot_remove(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		     const struct cls_item *item)
{
	struct cls_shape *s = *slot;
	bool found = false, empty = false;

	switch ((enum cls_kind)s->kind) {
	case CLS_LEAF:
		found = leaf_remove(container_of(s, struct cls_leaf, shape), item->entry);
		empty = !s->valid;
		break;
	case CLS_SPLIT:
		found = split_remove(c, side, container_of(s, struct cls_split, shape), item);
		s->n -= found;
		empty = !s->n;
		break;
	case CLS_TABLE:
		found = cls_table_remove(c, side, container_of(s, struct cls_table, shape), item);
		empty = !s->n;
		break;
	case CLS_CHAIN:
		found = chain_remove(c, container_of(s, struct cls_chain, shape), item);
		empty = !s->n;
		break;
	case CLS_DIRECTORY:
		break;
	}
	if (empty) {
		cls_publish(slot, NULL);
		cls_tree_retire(c, s);
	}
	return found;
}
