/* SPDX-License-Identifier: Apache-2.0 */
/* peer_rte_hash: with lock-free readers, CRC32, a third more room than keys. It does not grow. */
#include <stdlib.h>

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>

#include "peer.h"

static void *rte_make(size_t n)
{
	struct rte_hash_parameters p = {.name = "bench",
					.entries = (uint32_t)(n < 1536 ? 2048 : n + n / 3),
					.key_len = 4,
					.hash_func = rte_hash_crc,
					.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF};
	struct rte_hash *h = rte_hash_create(&p);
	if (!h)
		abort();
	return h;
}

static void rte_drop(void *h)
{
	rte_hash_free(h);
}

static void rte_add(void *h, const uint32_t *key)
{
	rte_hash_add_key(h, key);
}

static void rte_del(void *h, const uint32_t *key)
{
	int32_t at = rte_hash_del_key(h, key);
	if (at >= 0)
		rte_hash_free_key_with_position(h, at);
}

static unsigned rte_burst(void *h, const uint32_t *keys)
{
	const void *at[PEER_BURST];
	int32_t pos[PEER_BURST];
	unsigned n = 0;

	for (unsigned i = 0; i < PEER_BURST; i++)
		at[i] = &keys[i];
	rte_hash_lookup_bulk(h, at, PEER_BURST, pos);
	for (unsigned i = 0; i < PEER_BURST; i++)
		n += pos[i] >= 0;
	return n;
}

static bool rte_one(void *h, const uint32_t *key)
{
	return rte_hash_lookup(h, key) >= 0;
}

static size_t rte_memory(void)
{
	struct rte_malloc_socket_stats st;
	rte_malloc_get_socket_stats(0, &st);
	return st.heap_allocsz_bytes;
}

const struct peer peer_rte_hash = {"rte_hash", rte_make,  rte_drop, rte_add,
				   rte_del,    rte_burst, rte_one,  rte_memory};
