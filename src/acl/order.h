/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: a list whose members know which of two comes first, while it changes.
 *
 * Order maintenance in two levels (Dietz and Sleator, "Two algorithms for maintaining order in a
 * list", 1987; Bender et al., "Two simplified algorithms for maintaining order in a list", 2002).
 * A node is in a group of at most ORDER_GROUP; groups have labels of 32 bits, nodes labels of 32
 * bits in their group; the rank of a node is both side by side. A gap that is used up makes room in
 * its group: new labels for its nodes, or half of them go to a new group, whose label may need new
 * labels for the groups around it. That is at most ORDER_GROUP nodes and every group, whatever was
 * done before; O(1) amortised for the nodes, O(log n) for the groups.
 *
 * Readers. Every label exists twice. New labels go to the set that nobody reads; one store of the
 * generation makes it the one that is read; the other is brought up to date when all readers were
 * quiet. Ranks of one order_view can be compared, whatever happens meanwhile. Only if room is
 * needed again before that does the writer wait for the readers, and no longer than it was told.
 *
 * What holds:
 *  A. A reader takes the generation before the labels, so that it finds what was published with
 *     that generation or later; the labels of its generation stay until it is quiet.
 *  B. A node inserted after a flip has the labels of the present generation only; a reader that
 *     knows of the node took the generation after the flip.
 *
 * Threads: one changes, others take views and ranks between two quiet moments.
 */
#ifndef TAMIS_ACL_ORDER_H
#define TAMIS_ACL_ORDER_H

#include "base/base.h"
#include "rcu/rcu.h"

enum { ORDER_GROUP = 32 };

struct order_node {
	struct order_node *prev, *next;
	uint64_t place[2]; /* of each generation: group, then label in it */
};

struct order_labels {
	struct rcu_head retired;
	uint32_t cap;
	uint32_t label[][2]; /* of a group, one of each generation */
};

struct order_group;

struct order {
	struct order_node head; /* of the ring of nodes */
	uint32_t gen;		/* 0 or 1 */
	struct order_labels *labels;
	struct order_group *groups; /* as many as labels */
	uint32_t free_group;	    /* first of a list, 0: none; group 0 is the head's */
	uint32_t dirty;		    /* first of the groups whose other labels are behind */
	bool pending;		    /* readers of the other labels may be left */
	struct rcu_head flip;
	void (*settled)(struct order *o); /* told when nothing is pending any more; may be NULL */
	struct rcu *rcu;
	uint64_t wait_ns;
	uint32_t n, n_groups, relabels;
};

struct order_view {
	uint32_t gen;
	const struct order_labels *labels;
};

/* wait_ns: how long an insertion waits for readers at most. 0 or -ENOMEM. */
int order_init(struct order *o, struct rcu *rcu, uint64_t wait_ns);
/* The nodes belong to the caller. No reader may be left, and no flip pending. */
void order_release(struct order *o);
/*
 * Puts a node before another, or before o->head for the end. 0, -ENOMEM, or -EAGAIN when a reader
 * of the labels before the last ones kept it waiting for wait_ns: the list is as it was.
 */
int order_insert(struct order *o, struct order_node *before, struct order_node *node);
/* No reader may hold the node. */
void order_remove(struct order *o, struct order_node *node);
size_t order_bytes(const struct order *o);

static inline struct order_view order_view_take(const struct order *o)
{
	struct order_view v;
	v.gen = __atomic_load_n(&o->gen, __ATOMIC_ACQUIRE);
	v.labels = __atomic_load_n(&o->labels, __ATOMIC_ACQUIRE);
	return v;
}

/* Above 0 and below UINT64_MAX. */
static inline uint64_t order_rank(const struct order_view *v, const struct order_node *node)
{
	uint64_t place = __atomic_load_n(&node->place[v->gen], __ATOMIC_RELAXED);
	uint64_t label = __atomic_load_n(&v->labels->label[place >> 32][v->gen], __ATOMIC_RELAXED);
	return label << 32 | (uint32_t)place;
}

#endif
