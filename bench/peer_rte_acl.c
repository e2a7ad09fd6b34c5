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

/* IPv6: a field for each word of the addresses. */
enum { SIX_FIELDS = 11 };
RTE_ACL_RULE_DEF(six_rule, SIX_FIELDS);

struct six_input {
	uint8_t proto;
	uint32_t address[2][4];
	uint16_t sport, dport;
};

#define SIX_WORD(i)                                                                                \
	{                                                                                          \
		RTE_ACL_FIELD_TYPE_MASK, 4, 1 + (i), 1 + (i),                                      \
			offsetof(struct six_input, address) + 4 * (i)                              \
	}
static const struct rte_acl_field_def six_fields[SIX_FIELDS] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct six_input, proto)},
	SIX_WORD(0),
	SIX_WORD(1),
	SIX_WORD(2),
	SIX_WORD(3),
	SIX_WORD(4),
	SIX_WORD(5),
	SIX_WORD(6),
	SIX_WORD(7),
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 9, 9, offsetof(struct six_input, sport)},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 10, 9, offsetof(struct six_input, dport)},
};

struct handle {
	struct rte_acl_ctx *ctx;
	unsigned n;
	bool wide;
	struct input *inputs;
	struct six_input *six_inputs;
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

static void add_rule(struct handle *h, const struct cb_rule *r, unsigned i)
{
	struct rule x = {
		.data = {1, (int32_t)(h->n - i), i + 1},
		.field = {{{.u8 = r->proto}, {.u8 = r->proto_mask}},
			  {{.u32 = r->saddr}, {.u32 = r->slen}},
			  {{.u32 = r->daddr}, {.u32 = r->dlen}},
			  {{.u16 = r->sport[0]}, {.u16 = r->sport[1]}},
			  {{.u16 = r->dport[0]}, {.u16 = r->dport[1]}}},
	};
	if (rte_acl_add_rules(h->ctx, (struct rte_acl_rule *)&x, 1))
		abort();
}

static void add_six_rule(struct handle *h, const struct cb_rule *r, unsigned i)
{
	struct six_rule x = {
		.data = {1, (int32_t)(h->n - i), i + 1},
		.field = {[0] = {{.u8 = r->proto}, {.u8 = r->proto_mask}},
			  [9] = {{.u16 = r->sport[0]}, {.u16 = r->sport[1]}},
			  [10] = {{.u16 = r->dport[0]}, {.u16 = r->dport[1]}}},
	};
	for (unsigned k = 0; k < 8; k++) {
		uint32_t words[4];
		unsigned len = cb_six_len(k < 4 ? r->slen : r->dlen), before = k % 4 * 32;
		cb_six(k < 4 ? r->saddr : r->daddr, words);
		x.field[1 + k].value.u32 = words[k % 4];
		x.field[1 + k].mask_range.u32 = len > before ? MIN(len - before, 32) : 0;
	}
	if (rte_acl_add_rules(h->ctx, (struct rte_acl_rule *)&x, 1))
		abort();
}

static void *build_any(const struct cb_rule *rules, unsigned n, bool wide)
{
	static unsigned serial;
	char name[32];
	struct handle *h = calloc(1, sizeof(*h));
	struct rte_acl_config config = {.num_categories = 1,
					.num_fields = wide ? SIX_FIELDS : FIELDS};

	if (bench_dpdk())
		return NULL;
	snprintf(name, sizeof(name), "acl%u", serial++);
	h->n = n;
	h->wide = wide;
	h->bytes = in_use();
	h->ctx = rte_acl_create(&(struct rte_acl_param){
		.name = name,
		.socket_id = -1,
		.rule_size = wide ? RTE_ACL_RULE_SZ(SIX_FIELDS) : RTE_ACL_RULE_SZ(FIELDS),
		.max_rule_num = n});
	for (unsigned i = 0; i < n; i++) {
		if (wide)
			add_six_rule(h, &rules[i], i);
		else
			add_rule(h, &rules[i], i);
	}
	if (wide)
		memcpy(config.defs, six_fields, sizeof(six_fields));
	else
		memcpy(config.defs, fields, sizeof(fields));
	if (rte_acl_build(h->ctx, &config))
		abort();
	rte_acl_set_ctx_classify(h->ctx, RTE_ACL_CLASSIFY_AVX2);
	h->bytes = in_use() - h->bytes;
	return h;
}

static void *build(const struct cb_rule *rules, unsigned n)
{
	return build_any(rules, n, false);
}

static void *build_six(const struct cb_rule *rules, unsigned n)
{
	return build_any(rules, n, true);
}

static void drop(void *handle)
{
	struct handle *h = handle;
	if (!h)
		return;
	rte_acl_free(h->ctx);
	free(h->inputs);
	free(h->six_inputs);
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

static void prepare_six(void *handle, const struct cb_key *keys, unsigned n)
{
	struct handle *h = handle;
	h->six_inputs = realloc(h->six_inputs, n * sizeof(*h->six_inputs));
	for (unsigned i = 0; i < n; i++) {
		struct six_input *x = &h->six_inputs[i];
		*x = (struct six_input){.proto = keys[i].proto,
					.sport = __builtin_bswap16(keys[i].sport),
					.dport = __builtin_bswap16(keys[i].dport)};
		cb_six(keys[i].saddr, x->address[0]);
		cb_six(keys[i].daddr, x->address[1]);
		for (unsigned k = 0; k < 8; k++)
			x->address[k / 4][k % 4] = __builtin_bswap32(x->address[k / 4][k % 4]);
	}
}

static void lookup(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	struct handle *h = handle;
	const uint8_t *data[BATCH];

	for (unsigned at = 0; at < n; at += BATCH) {
		unsigned m = n - at < BATCH ? n - at : BATCH;
		for (unsigned i = 0; i < m; i++)
			data[i] = h->wide ? (const uint8_t *)&h->six_inputs[from + at + i]
					  : (const uint8_t *)&h->inputs[from + at + i];
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

const struct cb_peer cb_rte_acl_six = {.name = "rte_acl",
				       .build = build_six,
				       .drop = drop,
				       .prepare = prepare_six,
				       .lookup = lookup,
				       .bytes = bytes};
