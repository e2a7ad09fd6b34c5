/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_memory: where shapes come from, and where they and deleted entries go.
 *
 * Leaves and entries come from pools of one size each, aligned to cache lines. Other shapes, and
 * entries of more than four lines, from malloc().
 *
 * A shape out of reach waits in c->retired until the change that put it there ends, then in a list
 * of up to RETIRED_BATCH for the readers. An entry waits twice: until nobody reads a version that
 * has it, then, out of the structure, until nobody who met it there still holds it. Neither needs
 * memory at a moment when it cannot fail: a list is made before a change begins, and where there is
 * none after all, what it was for stays with the classifier until there is one. Nothing here waits.
 */
#include <stdlib.h>

#include "acl/classifier_internal.h"

enum { RETIRED_BATCH = 64 };
_Static_assert((int)CLS_ALIGN == (int)POOL_ALIGN, "leaves begin at a multiple");

/* --- shapes ---------------------------------------------------------------------------------- */

struct cls_leaf *cls_leaf_new(struct classifier *c, const struct cls_side *side)
{
	struct pool *p = &c->leaves[!side->ipv4];

	p->size = cls_leaf_size(side->ipv4);
	struct cls_leaf *l = pool_take(p);
	if (!l)
		return NULL;
	memset(l, 0, p->size);
	l->shape.kind = CLS_LEAF;
	l->shape.n = !side->ipv4;
	return l;
}

/* Bytes of an entry. What a lookup reads of it is its first line; of one without a rule nothing. */
static size_t node_size(unsigned words)
{
	size_t size = sizeof(struct cls_node) + words * sizeof(uint32_t);

	return words ? (size + CLS_LINE - 1) / CLS_LINE * CLS_LINE : size;
}

/* Where entries of a size come from; NULL: malloc(). */
static struct pool *node_pool(struct classifier *c, size_t size)
{
	size_t lines = size / CLS_LINE, i = size % CLS_LINE ? 0 : lines - 1;

	if (i >= CLS_NODE_POOLS)
		return NULL;
	c->nodes[i].size = size;
	return &c->nodes[i];
}

struct cls_node *cls_node_new(struct classifier *c, unsigned words)
{
	size_t size = node_size(words);
	struct pool *p = node_pool(c, size);
	struct cls_node *e = p ? pool_take(p) : aligned_alloc(CLS_LINE, size);

	if (e && !p)
		c->bytes += size;
	return e;
}

void cls_node_free(struct classifier *c, struct cls_node *e)
{
	size_t size = node_size(cls_packed_words(&e->rule));
	struct pool *p = node_pool(c, size);

	if (p) {
		pool_give(p, e);
		return;
	}
	c->bytes -= size;
	free(e);
}

void *cls_shape_new(struct classifier *c, enum cls_kind kind, size_t size)
{
	size_t room = (size + CLS_SHAPE_OFFSET + CLS_ALIGN - 1) & ~(size_t)(CLS_ALIGN - 1);
	char *block = aligned_alloc(CLS_ALIGN, room);
	if (!block)
		return NULL;
	struct cls_shape *s = memset(block + CLS_SHAPE_OFFSET, 0, size);
	s->kind = (uint8_t)kind;
	c->bytes += size;
	return s;
}

static size_t shape_size(const struct cls_shape *s)
{
	switch ((enum cls_kind)s->kind) {
	case CLS_LEAF:
		return cls_leaf_size(!s->n);
	case CLS_SPLIT: {
		const struct cls_split *x = container_of(s, struct cls_split, shape);
		return sizeof(*x) + (sizeof(x->slot[0]) << (__builtin_popcount(x->mask[0]) +
							    __builtin_popcount(x->mask[1])));
	}
	case CLS_TABLE:
		return sizeof(struct cls_table);
	case CLS_CHAIN:
		return sizeof(struct cls_chain) +
		       container_of(s, struct cls_chain, shape)->n_leaves * sizeof(struct cls_link);
	case CLS_DIRECTORY:
		return sizeof(struct cls_directory) + (sizeof(uint64_t) << s->n);
	}
	return 0;
}

void cls_shape_free(struct classifier *c, struct cls_shape *s)
{
	if (!s)
		return;
	if (s->kind == CLS_LEAF) {
		pool_give(&c->leaves[s->n], s);
		return;
	}
	c->bytes -= shape_size(s);
	free((char *)s - CLS_SHAPE_OFFSET);
}

void cls_shape_each(struct cls_shape *s, cls_shape_fn *fn, void *ctx)
{
	switch ((enum cls_kind)s->kind) {
	case CLS_LEAF:
		break;
	case CLS_SPLIT: {
		struct cls_split *x = container_of(s, struct cls_split, shape);
		unsigned n =
			1u << (__builtin_popcount(x->mask[0]) + __builtin_popcount(x->mask[1]));
		if (x->wide)
			fn(ctx, x->wide);
		for (unsigned i = 0; i < n; i++)
			if (x->slot[i])
				fn(ctx, x->slot[i]);
		break;
	}
	case CLS_TABLE: {
		struct cls_table *x = container_of(s, struct cls_table, shape);
		if (x->wide)
			fn(ctx, x->wide);
		if (x->dir)
			fn(ctx, &x->dir->shape);
		break;
	}
	case CLS_CHAIN: {
		struct cls_chain *x = container_of(s, struct cls_chain, shape);
		for (unsigned i = 0; i < x->n_leaves; i++)
			if (x->link[i].leaf)
				fn(ctx, &x->link[i].leaf->shape);
		break;
	}
	case CLS_DIRECTORY: {
		struct cls_directory *x = container_of(s, struct cls_directory, shape);
		for (size_t i = 0; i < (size_t)1 << s->n;) {
			struct cls_shape *below = cls_slot_shape(x->slot[i]);
			bool many = below && !(x->slot[i] & CLS_PART);
			/* Before it may be gone. */
			i += many ? (size_t)1 << (s->depth + s->n - below->depth) : 1;
			if (below)
				fn(ctx, below);
		}
		break;
	}
	}
}

static void tree_free(void *ctx, struct cls_shape *s)
{
	cls_shape_each(s, tree_free, ctx);
	cls_shape_free(ctx, s);
}

void cls_tree_free(struct classifier *c, struct cls_shape *s)
{
	if (s)
		tree_free(c, s);
}

void cls_shape_retire(struct classifier *c, struct cls_shape *s)
{
	s->retired = c->retired;
	c->retired = s;
	c->n_retired++;
	c->retired_bytes += shape_size(s);
}

static void tree_retire(void *ctx, struct cls_shape *s)
{
	cls_shape_each(s, tree_retire, ctx);
	cls_shape_retire(ctx, s);
}

void cls_tree_retire(struct classifier *c, struct cls_shape *s)
{
	if (s)
		tree_retire(c, s);
}

/* --- waiting for readers --------------------------------------------------------------------- */

static void free_shapes(struct classifier *c, struct cls_shape *s)
{
	struct cls_shape *next;
	for (; s; s = next) {
		next = s->retired;
		cls_shape_free(c, s);
	}
}

static void free_shapes_retired(struct classifier *c)
{
	free_shapes(c, c->retired);
	c->retired = NULL;
	c->n_retired = 0;
	c->retired_bytes = 0;
}

void cls_cookie_release(struct classifier *c, struct cls_node *e)
{
	if (c->config.release && e->pub.cookie)
		c->config.release(c->config.ctx, e->pub.cookie);
}

static void free_entries(struct classifier *c, struct cls_node *e)
{
	struct cls_node *next;
	for (; e; e = next) {
		next = e->change;
		order_remove(&c->order, &e->order);
		cls_cookie_release(c, e);
		cls_node_free(c, e);
	}
}

static void take_out(struct classifier *c, struct cls_node *e)
{
	for (; e; e = e->change)
		cls_take_out(c, e);
}

static void step(struct rcu_head *head);

static void defer(struct classifier *c, struct cls_retired *r)
{
	r->c = c;
	r->shapes = c->retired;
	r->bytes = c->retired_bytes;
	c->retired = NULL;
	c->n_retired = 0;
	c->retired_bytes = 0;
	c->outstanding++;
	rcu_defer(c->config.rcu, &r->head, step, r->bytes);
}

/* Readers were quiet since the list was deferred. */
static void step(struct rcu_head *head)
{
	struct cls_retired *r = container_of(head, struct cls_retired, head);
	struct classifier *c = r->c;

	c->outstanding--;
	free_shapes(c, r->shapes);
	free_entries(c, r->gone);
	r->gone = r->dead;
	r->dead = NULL;
	/* Of a classifier that ends the rest goes with all the others. */
	if (r->gone && !c->ending) {
		take_out(c, r->gone);
		defer(c, r);
		return;
	}
	if (!c->spare)
		c->spare = r;
	else
		free(r);
	cls_end(c);
}

int cls_retire_prepare(struct classifier *c)
{
	if (!c->config.rcu)
		return 0;
	if (!c->spare)
		c->spare = malloc(sizeof(*c->spare));
	return c->spare ? 0 : -ENOMEM;
}

/* Puts a list of entries in front of another. */
static struct cls_node *joined(struct cls_node *list, struct cls_node *behind)
{
	struct cls_node *last = list;

	if (!list || !behind)
		return list ? list : behind;
	while (last->change)
		last = last->change;
	last->change = behind;
	return list;
}

void cls_retire_entries(struct classifier *c, struct cls_node *dead, struct cls_node *gone)
{
	struct cls_retired *r;

	if (!c->config.rcu) {
		take_out(c, dead);
		free_shapes_retired(c);
		free_entries(c, gone);
		free_entries(c, dead);
		return;
	}
	c->dead = joined(dead, c->dead);
	c->gone = joined(gone, c->gone);
	if ((!c->dead && !c->gone && !c->retired) || cls_retire_prepare(c))
		return;
	r = c->spare;
	c->spare = NULL;
	r->dead = c->dead;
	r->gone = c->gone;
	c->dead = c->gone = NULL;
	defer(c, r);
}

void cls_retire_flush(struct classifier *c)
{
	if (!c->config.rcu) {
		free_shapes_retired(c);
	} else if (c->n_retired >= RETIRED_BATCH) {
		cls_retire_entries(c, NULL, NULL);
	}
}

void cls_retire_end(struct classifier *c)
{
	free_shapes_retired(c);
	free(c->spare);
}
