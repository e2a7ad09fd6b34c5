/* SPDX-License-Identifier: Apache-2.0 */
/* peer_rte_acl: DPDK's rte_acl with AVX2: compiled tries; a change is a new build. */
/* For the width of vectors that it may have. */
#define ALLOW_EXPERIMENTAL_API
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_acl.h>
#include <rte_malloc.h>
#include <rte_vect.h>

#include "bench.h"
#include "classbench.h"

enum { FIELDS = 5, BATCH = 64 };

RTE_ACL_RULE_DEF(rule, FIELDS);

struct input {
	uint8_t proto;
	uint32_t saddr, daddr; /* big-endian, as all of it */
	uint16_t sport, dport;
};

static const struct rte_acl_field_def fields[FIELDS] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct input, proto)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(struct input, saddr)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(struct input, daddr)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(struct input, sport)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(struct input, dport)},
};

struct handle {
	struct rte_acl_ctx *ctx;
	unsigned n;
	struct input *inputs;
	size_t bytes;
};

static size_t in_use(void)
{
	size_t bytes = 0;
	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		struct rte_malloc_socket_stats stats;
		if (!rte_malloc_get_socket_stats(i, &stats))
			bytes += stats.heap_allocsz_bytes;
	}
	return bytes;
}

static void *build(const struct cb_rule *rules, unsigned n)
{
	static unsigned serial;
	char name[32];
	struct handle *h = calloc(1, sizeof(*h));
	struct rte_acl_config config = {.num_categories = 1, .num_fields = FIELDS};

	if (bench_dpdk())
		return NULL;
	snprintf(name, sizeof(name), "acl%u", serial++);
	h->n = n;
	h->bytes = in_use();
	h->ctx = rte_acl_create(&(struct rte_acl_param){.name = name,
							.socket_id = -1,
							.rule_size = RTE_ACL_RULE_SZ(FIELDS),
							.max_rule_num = n});
	for (unsigned i = 0; i < n; i++) {
		const struct cb_rule *r = &rules[i];
		struct rule x = {
			.data = {1, (int32_t)(n - i), i + 1},
			.field = {{{.u8 = r->proto}, {.u8 = r->proto_mask}},
				  {{.u32 = r->saddr}, {.u32 = r->slen}},
				  {{.u32 = r->daddr}, {.u32 = r->dlen}},
				  {{.u16 = r->sport[0]}, {.u16 = r->sport[1]}},
				  {{.u16 = r->dport[0]}, {.u16 = r->dport[1]}}},
		};
		if (rte_acl_add_rules(h->ctx, (struct rte_acl_rule *)&x, 1))
			abort();
	}
	memcpy(config.defs, fields, sizeof(fields));
	if (rte_acl_build(h->ctx, &config))
		abort();
	rte_acl_set_ctx_classify(h->ctx, RTE_ACL_CLASSIFY_AVX2);
	h->bytes = in_use() - h->bytes;
	return h;
}

static void drop(void *handle)
{
	struct handle *h = handle;
	if (!h)
		return;
	rte_acl_free(h->ctx);
	free(h->inputs);
	free(h);
}

/* Its input is in network order: made once, outside of what is measured. */
static void prepare(void *handle, const struct cb_key *keys, unsigned n)
{
	struct handle *h = handle;
	h->inputs = realloc(h->inputs, n * sizeof(*h->inputs));
	for (unsigned i = 0; i < n; i++)
		h->inputs[i] = (struct input){
			.proto = keys[i].proto,
			.saddr = __builtin_bswap32(keys[i].saddr),
			.daddr = __builtin_bswap32(keys[i].daddr),
			.sport = __builtin_bswap16(keys[i].sport),
			.dport = __builtin_bswap16(keys[i].dport),
		};
}

static void lookup(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	struct handle *h = handle;
	const uint8_t *data[BATCH];

	for (unsigned at = 0; at < n; at += BATCH) {
		unsigned m = n - at < BATCH ? n - at : BATCH;
		for (unsigned i = 0; i < m; i++)
			data[i] = (const uint8_t *)&h->inputs[from + at + i];
		rte_acl_classify(h->ctx, data, first + at, m, 1);
		for (unsigned i = 0; i < m; i++)
			first[at + i] = first[at + i] ? first[at + i] - 1 : h->n;
	}
}

bool cb_rte_acl_wide(void *handle, bool wide)
{
	struct handle *h = handle;

	rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
	return rte_acl_set_ctx_classify(h->ctx, wide ? RTE_ACL_CLASSIFY_AVX512X32
						     : RTE_ACL_CLASSIFY_AVX2) == 0;
}

static size_t bytes(void *handle)
{
	return ((struct handle *)handle)->bytes;
}

const struct cb_peer cb_rte_acl = {.name = "rte_acl",
				   .build = build,
				   .drop = drop,
				   .prepare = prepare,
				   .lookup = lookup,
				   .bytes = bytes};
