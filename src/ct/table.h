/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: flows, where they stand and when they go. What the files of src/ct share.
 *
 * A flow stands in the hash twice, by the tuple of each direction. It stands in the queue of its
 * present lifetime, at the end when it was refreshed last: all in a queue live equally long, so the
 * first is the next to expire, and a refresh is O(1). Flows that are not assured stand in one more
 * queue, by age: the first is the one that makes room when the table is full.
 *
 * A flow that is taken away is unlinked at once but freed by table_bury(), so that handles given
 * out for one burst stay valid as long as the burst is in hand.
 */
#ifndef TAMIS_CT_TABLE_H
#define TAMIS_CT_TABLE_H

#include "base/hash.h"
#include "base/list.h"
#include "base/vec.h"
#include "ct/ct.h"
#include "ct/tuple.h"

struct node {
	struct node *next;
	uint64_t hash;
	struct ct_tuple tuple;
	uint8_t dir;
};

struct tcp_flow {
	uint8_t state;
	uint8_t last_event, last_dir; /* of the packet before, ignored ones too */
	bool close_seen;	      /* a FIN of either side was taken */
	bool simultaneous;	      /* SYNs crossed */
	uint32_t last_end;	      /* sequence number behind the last ignored packet */
};

struct ct_flow {
	struct node node[2];
	struct list by_expiry;
	struct list by_age; /* not assured; unlinked: to itself */
	uint64_t id, expires;
	uint64_t packets[2], bytes[2];
	uint32_t status, mark;
	union {
		struct tcp_flow tcp;
		uint8_t sctp_state;
		uint64_t stream_from; /* UDP: when a flow that goes on is a stream */
	};
};

struct frag_cache;

struct ct_table {
	struct ct_config config;
	struct hash_secret secret;
	struct node **buckets;
	size_t n_buckets;
	uint32_t n;
	struct list queues[CT_TIMEOUTS_N], weak, buried;
	VEC(struct ct_flow *) slots; /* by the low half of the id; NULL: free */
	VEC(uint32_t) free_slots;
	uint32_t generation;
	struct frag_cache *frags;
	struct ct_stats stats;
};

/* The node of a live flow that has this tuple; NULL. A flow found expired is taken away. */
struct node *table_find(struct ct_table *t, const struct ct_tuple *tuple, uint64_t now);
static inline struct ct_flow *node_flow(struct node *n)
{
	return container_of(n, struct ct_flow, node[n->dir]);
}

/* A new, unconfirmed flow. NULL without room (`full` is counted) or memory. */
struct ct_flow *table_add(struct ct_table *t, const struct ct_tuple *original,
			  const struct ct_tuple *reply, uint64_t now);
void table_remove(struct ct_table *t, struct ct_flow *f);
void table_bury(struct ct_table *t);

/* Begins the flow's lifetime again. */
void flow_refresh(struct ct_table *t, struct ct_flow *f, enum ct_timeout timeout, uint64_t now);
void flow_assure(struct ct_flow *f);

static inline bool flow_expired(const struct ct_flow *f, uint64_t now)
{
	return f->expires <= now;
}

#endif
