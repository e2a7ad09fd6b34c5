/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: groups in a ring, group 0 for the head; see order.h.
 *
 * Labels of the present generation are written only where no reader can know of them yet: for a
 * new node, or a new group whose nodes are all new. Everything else goes through make_room(), which
 * writes the other generation and flips.
 */
#include "acl/order.h"

#include <stdlib.h>

enum { FIRST_GROUPS = 16 };

static const uint32_t node_step = UINT32_C(1) << 26;  /* between nodes put at an end */
static const uint32_t group_step = UINT32_C(1) << 16; /* the same for groups */

struct order_group {
	uint32_t prev, next; /* in the ring; next alone in the list of free groups */
	uint32_t n;
	uint32_t dirty_next;
	bool dirty;
	struct order_node *first;
};

static uint32_t group_of(const struct order *o, const struct order_node *node)
{
	return node == &o->head ? 0 : (uint32_t)(node->place[o->gen] >> 32);
}

static uint32_t label_of(const struct order *o, uint32_t g)
{
	return o->labels->label[g][o->gen];
}

static void free_labels(struct rcu_head *head)
{
	free(container_of(head, struct order_labels, retired));
}

static size_t labels_size(uint32_t cap)
{
	return sizeof(struct order_labels) + cap * sizeof(((struct order_labels *)0)->label[0]);
}

/* Twice as many groups. Readers of the old labels never meet a group that these do not have. */
static int grow(struct order *o)
{
	struct order_labels *old = o->labels;
	uint32_t was = old ? old->cap : 0, cap = was ? was * 2 : FIRST_GROUPS;
	struct order_group *groups = realloc(o->groups, cap * sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	o->groups = groups;
	struct order_labels *labels = malloc(labels_size(cap));
	if (!labels)
		return -ENOMEM;
	memset(labels, 0, labels_size(cap));
	if (old)
		memcpy(labels->label, old->label, was * sizeof(old->label[0]));
	labels->cap = cap;
	memset(groups + was, 0, (cap - was) * sizeof(*groups));
	for (uint32_t g = cap; --g >= MAX(was, 1);) {
		groups[g].next = o->free_group;
		o->free_group = g;
	}
	__atomic_store_n(&o->labels, labels, __ATOMIC_RELEASE);
	if (old)
		rcu_defer(o->rcu, &old->retired, free_labels, labels_size(was));
	return 0;
}

int order_init(struct order *o, struct rcu *rcu, uint64_t wait_ns)
{
	*o = (struct order){.rcu = rcu, .wait_ns = wait_ns};
	o->head.prev = o->head.next = &o->head;
	return grow(o);
}

void order_release(struct order *o)
{
	free(o->labels);
	free(o->groups);
	*o = (struct order){0};
}

size_t order_bytes(const struct order *o)
{
	return labels_size(o->labels->cap) + o->labels->cap * sizeof(struct order_group);
}

/* --- the other generation ------------------------------------------------------------------ */

static void mark_dirty(struct order *o, uint32_t g)
{
	if (o->groups[g].dirty)
		return;
	o->groups[g].dirty = true;
	o->groups[g].dirty_next = o->dirty;
	o->dirty = g;
}

static void store_place(struct order_node *node, uint32_t gen, uint32_t group, uint32_t label)
{
	__atomic_store_n(&node->place[gen], (uint64_t)group << 32 | label, __ATOMIC_RELAXED);
}

static void store_label(struct order *o, uint32_t g, uint32_t gen, uint32_t label)
{
	__atomic_store_n(&o->labels->label[g][gen], label, __ATOMIC_RELAXED);
}

/* All readers were quiet since the flip: nobody reads the other labels. */
static void catch_up(struct rcu_head *head)
{
	struct order *o = container_of(head, struct order, flip);
	uint32_t other = !o->gen;

	while (o->dirty) {
		struct order_group *g = &o->groups[o->dirty];
		store_label(o, o->dirty, other, label_of(o, o->dirty));
		struct order_node *node = g->first;
		for (uint32_t i = 0; i < g->n; i++, node = node->next)
			__atomic_store_n(&node->place[other], node->place[o->gen],
					 __ATOMIC_RELAXED);
		g->dirty = false;
		o->dirty = g->dirty_next;
	}
	o->pending = false;
	if (o->settled)
		o->settled(o);
}

static void flip(struct order *o)
{
	o->relabels++;
	o->pending = true;
	__atomic_store_n(&o->gen, !o->gen, __ATOMIC_RELEASE);
	rcu_defer(o->rcu, &o->flip, catch_up, 0);
}

/* Makes both generations equal: 0, or -EAGAIN if readers do not let it in time. */
static int settle(struct order *o)
{
	uint64_t deadline;
	int err = 0;

	rcu_poll(o->rcu);
	if (!o->pending)
		return 0;
	deadline = rcu_deadline(o->rcu, o->wait_ns);
	while (o->pending && !err)
		err = rcu_wait(o->rcu, deadline);
	return err;
}

/* --- groups -------------------------------------------------------------------------------- */

/* A new group behind g; no label yet. One is free. */
static uint32_t group_link(struct order *o, uint32_t g)
{
	uint32_t new = o->free_group;
	struct order_group *n = &o->groups[new];

	o->free_group = n->next;
	*n = (struct order_group){.prev = g,
				  .next = o->groups[g].next,
				  .dirty = n->dirty,
				  .dirty_next = n->dirty_next};
	o->groups[n->next].prev = new;
	o->groups[g].next = new;
	o->n_groups++;
	return new;
}

static void group_unlink(struct order *o, uint32_t g)
{
	struct order_group *x = &o->groups[g];
	o->groups[x->prev].next = x->next;
	o->groups[x->next].prev = x->prev;
	x->next = o->free_group;
	x->n = 0;
	o->free_group = g;
	o->n_groups--;
}

/* A label between those of two neighbours, 0 if there is none. */
static uint32_t label_between(uint32_t lo, uint32_t hi, uint32_t step, bool at_end, bool at_start)
{
	if (hi - lo < 2)
		return 0;
	if (at_end && hi - lo > step)
		return lo + step;
	if (at_start && hi - lo > step)
		return hi - step;
	return lo + (hi - lo) / 2;
}

static uint32_t group_label_between(const struct order *o, uint32_t prev, uint32_t next)
{
	if (!prev && !next)
		return UINT32_MAX / 2;
	return label_between(prev ? label_of(o, prev) : 0, next ? label_of(o, next) : UINT32_MAX,
			     group_step, !next, !prev);
}

/*
 * Spreads the groups around g over the smallest range that is sparse enough, in the other
 * generation: a range of 2^i labels may hold 1.5^i groups (Bender et al., section 2).
 */
static void relabel_groups(struct order *o, uint32_t g)
{
	uint32_t first = g, last = g;
	uint64_t count = 1, middle = label_of(o, g);
	double room = 1;
	unsigned i = 0;

	do {
		uint64_t lo, hi;
		i++;
		room *= 1.5;
		lo = middle >> i << i;
		hi = lo + (UINT64_C(1) << i) - 1;
		for (uint32_t p; (p = o->groups[first].prev) && label_of(o, p) >= lo; count++)
			first = p;
		for (uint32_t n; (n = o->groups[last].next) && label_of(o, n) <= hi; count++)
			last = n;
	} while (i < 32 && (double)(count + 1) > room);

	uint64_t base = middle >> i << i, step = (UINT64_C(1) << i) / (count + 1);
	for (uint64_t k = 1; k <= count; k++, first = o->groups[first].next) {
		store_label(o, first, !o->gen, (uint32_t)(base + k * step));
		mark_dirty(o, first);
	}
}

/*
 * Both generations are equal and a group is free: new labels for the group's nodes, half of them
 * elsewhere if many.
 */
static void make_room(struct order *o, uint32_t g)
{
	uint32_t other = !o->gen, n = o->groups[g].n, stay = n;

	if (n > ORDER_GROUP / 2)
		stay = n / 2;
	struct order_node *node = o->groups[g].first;
	for (uint32_t i = 1; i <= stay; i++, node = node->next)
		store_place(node, other, g, (uint32_t)((UINT64_C(1) << 32) / (stay + 1) * i));
	mark_dirty(o, g);
	if (stay == n) {
		flip(o);
		return;
	}
	uint32_t next = o->groups[g].next, label = group_label_between(o, g, next);
	if (!label) {
		relabel_groups(o, g);
		uint32_t lo = o->labels->label[g][other];
		uint32_t hi = next ? o->labels->label[next][other] : UINT32_MAX;
		label = lo + (hi - lo) / 2;
	}
	uint32_t new = group_link(o, g);
	o->groups[g].n = stay;
	o->groups[new].n = n - stay;
	o->groups[new].first = node;
	store_label(o, new, other, label);
	mark_dirty(o, new);
	for (uint32_t i = 1; i <= n - stay; i++, node = node->next)
		store_place(node, other, new, (uint32_t)((UINT64_C(1) << 32) / (n - stay + 1) * i));
	flip(o);
}

/* --- nodes --------------------------------------------------------------------------------- */

static void link_node(struct order *o, struct order_node *before, struct order_node *node,
		      uint32_t g, uint32_t label)
{
	store_place(node, 0, g, label);
	store_place(node, 1, g, label);
	node->prev = before->prev;
	node->next = before;
	before->prev->next = node;
	before->prev = node;
	o->groups[g].n++;
	o->n++;
}

int order_insert(struct order *o, struct order_node *before, struct order_node *node)
{
	for (;;) {
		/* Each of the two may free nodes that were waiting for readers: begin anew. */
		if (!o->free_group) {
			if (grow(o))
				return -ENOMEM;
			continue;
		}
		struct order_node *prev = before->prev;
		uint32_t g = group_of(o, prev), next = group_of(o, before);
		bool starts = false;
		if (g != next && (!g || o->groups[g].n >= ORDER_GROUP)) {
			g = next;
			starts = true;
		}
		if (g && o->groups[g].n < ORDER_GROUP) {
			starts = starts || o->groups[g].first == before;
			bool ends = !starts && group_of(o, before) != g;
			uint32_t lo = starts ? 0 : (uint32_t)prev->place[o->gen];
			uint32_t hi = ends ? UINT32_MAX : (uint32_t)before->place[o->gen];
			uint32_t label = label_between(lo, hi, node_step, ends, starts);
			if (label) {
				link_node(o, before, node, g, label);
				if (starts)
					o->groups[g].first = node;
				return 0;
			}
		}
		/* Between two groups a new one does it: no node changes its place. */
		uint32_t left = group_of(o, prev);
		if (left != next || !left) {
			uint32_t label = group_label_between(o, left, next);
			if (label) {
				uint32_t new = group_link(o, left);
				store_label(o, new, 0, label);
				store_label(o, new, 1, label);
				link_node(o, before, node, new, UINT32_MAX / 2);
				o->groups[new].first = node;
				return 0;
			}
			g = left ? left : next;
		}
		if (o->pending) {
			int err = settle(o);
			if (err)
				return err;
			continue;
		}
		make_room(o, g);
	}
}

void order_remove(struct order *o, struct order_node *node)
{
	uint32_t g = group_of(o, node);

	node->prev->next = node->next;
	node->next->prev = node->prev;
	o->n--;
	if (!--o->groups[g].n)
		group_unlink(o, g);
	else if (o->groups[g].first == node)
		o->groups[g].first = node->next;
}
