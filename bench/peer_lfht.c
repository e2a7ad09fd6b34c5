/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_lfht: liburcu's split-ordered lists under qsbr, with a bucket a key from the beginning, or
 * growing by themselves. What is taken out is freed when no reader looks at it.
 */
#define _LGPL_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <urcu/urcu-qsbr.h>
#include <urcu/rculfhash.h>
#undef container_of /* base.h has one of its own */

#include "peer.h"

struct node {
	struct cds_lfht_node node;
	struct rcu_head head;
	uint32_t key;
};

static void node_free(struct rcu_head *head)
{
	free(caa_container_of(head, struct node, head));
}

static int node_match(struct cds_lfht_node *n, const void *key)
{
	return caa_container_of(n, struct node, node)->key == *(const uint32_t *)key;
}

static unsigned long node_hash(uint32_t key)
{
	uint64_t z = key * 0x9e3779b97f4a7c15ULL;
	return z ^ z >> 32;
}

static void *lfht_make(size_t n)
{
	unsigned long buckets = 1;

	while (buckets < n)
		buckets *= 2;
	return cds_lfht_new_flavor(buckets, buckets, 0, 0, &urcu_qsbr_flavor, NULL);
}

void *peer_lfht_growing(void)
{
	return cds_lfht_new_flavor(1024, 1024, 0, CDS_LFHT_AUTO_RESIZE, &urcu_qsbr_flavor, NULL);
}

static struct node *lfht_find(void *h, const uint32_t *key)
{
	struct cds_lfht_iter it;
	cds_lfht_lookup(h, node_hash(*key), node_match, key, &it);
	struct cds_lfht_node *n = cds_lfht_iter_get_node(&it);
	return n ? caa_container_of(n, struct node, node) : NULL;
}

static void lfht_drop(void *h)
{
	struct cds_lfht_iter it;
	struct node *n;

	cds_lfht_for_each_entry(h, &it, n, node)
	{
		cds_lfht_del(h, &n->node);
		urcu_qsbr_call_rcu(&n->head, node_free); /* its own resize may look at it */
	}
	urcu_qsbr_thread_offline();
	cds_lfht_destroy(h, NULL);
	urcu_qsbr_barrier();
	urcu_qsbr_thread_online();
}

static void lfht_add(void *h, const uint32_t *key)
{
	struct node *n = malloc(sizeof(*n));
	n->key = *key;
	cds_lfht_add_unique(h, node_hash(*key), node_match, key, &n->node);
	urcu_qsbr_quiescent_state();
}

static void lfht_del(void *h, const uint32_t *key)
{
	struct node *n = lfht_find(h, key);
	if (n && !cds_lfht_del(h, &n->node))
		urcu_qsbr_call_rcu(&n->head, node_free);
	urcu_qsbr_quiescent_state();
}

static bool lfht_one(void *h, const uint32_t *key)
{
	return lfht_find(h, key);
}

static size_t lfht_memory(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* Its resize waits for us: we are quiet for a while. */
static void lfht_settle(void)
{
	urcu_qsbr_thread_offline();
	usleep(500000);
	urcu_qsbr_thread_online();
}

const struct peer peer_lfht = {"cds_lfht", lfht_make, lfht_drop,   lfht_add,   lfht_del,
			       NULL,	   lfht_one,  lfht_memory, lfht_settle};

void peer_lfht_begin(void)
{
	urcu_qsbr_register_thread();
}

void peer_lfht_quiet(void)
{
	urcu_qsbr_quiescent_state();
}

void peer_lfht_end(void)
{
	urcu_qsbr_unregister_thread();
}
