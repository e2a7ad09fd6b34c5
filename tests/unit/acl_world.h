/* SPDX-License-Identifier: Apache-2.0 */
/* acl_world: a policy with one context and one worker, and short ways to write rules and packets.
 */
#ifndef TAMIS_TEST_ACL_WORLD_H
#define TAMIS_TEST_ACL_WORLD_H

#include "acl_model.h"

enum { SIZES = 8, ICMP = 1, TCP = 6, UDP = 17, GRE = 47, SCTP = 132 };

struct world {
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx;
	struct tamis_acl_worker *w;
};

static inline void world_begin(struct world *x)
{
	assert_int_equal(tamis_acls_new(NULL, &x->acls), 0);
	assert_int_equal(tamis_acl_context_new(x->acls, &x->ctx), 0);
	assert_int_equal(tamis_acl_worker_new(x->acls, "test", &x->w), 0);
}

static inline void world_end(struct world *x)
{
	tamis_acl_worker_free(x->w);
	tamis_acl_context_free(x->ctx);
	tamis_acls_free(x->acls);
}

static inline struct tamis_acl_rule any(enum tamis_acl_action action, unsigned family)
{
	struct tamis_acl_rule r;

	tamis_acl_rule_init(&r, action, family);
	return r;
}

static inline struct tamis_acl_rule rule4(enum tamis_acl_action action, uint32_t src,
					  unsigned src_len, uint32_t dst, unsigned dst_len)
{
	struct tamis_acl_rule r = any(action, 4);

	for (unsigned i = 0; i < 4; i++) {
		r.src[i] = (uint8_t)(src >> (24 - 8 * i));
		r.dst[i] = (uint8_t)(dst >> (24 - 8 * i));
	}
	r.src_len = (uint8_t)src_len;
	r.dst_len = (uint8_t)dst_len;
	return r;
}

static inline struct tamis_acl_rule ports(enum tamis_acl_action action, unsigned family,
					  uint8_t proto, uint16_t first, uint16_t last)
{
	struct tamis_acl_rule r = any(action, family);

	r.proto = proto;
	r.dport_first = first;
	r.dport_last = last;
	return r;
}

static inline struct tamis_acl_key key4(uint32_t src, uint32_t dst, uint8_t proto, uint16_t dport)
{
	struct tamis_acl_key k = {.family = 4, .proto = proto, .sport = 40000, .dport = dport};

	for (unsigned i = 0; i < 4; i++) {
		k.src[i] = (uint8_t)(src >> (24 - 8 * i));
		k.dst[i] = (uint8_t)(dst >> (24 - 8 * i));
	}
	return k;
}

static inline uint32_t put(struct world *x, uint32_t index, const struct tamis_acl_rule *rules,
			   size_t n)
{
	assert_int_equal(tamis_acl_put(x->acls, &index, NULL, rules, n), 0);
	return index;
}

/* The action that the context has for a packet; -1: no entry matches. */
static inline int judge_in(struct world *x, const struct tamis_acl_context *ctx,
			   const struct tamis_acl_key *k, struct tamis_acl_hit *hit)
{
	struct tamis_acl_key keys[TAMIS_BURST_MAX];
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];

	keys[5] = *k;
	if (!tamis_acl_lookup(x->w, ctx, keys, 1 << 5, hits))
		return -1;
	if (hit)
		*hit = hits[5];
	return (int)hits[5].action;
}

static inline int judge(struct world *x, struct tamis_acl_key k)
{
	return judge_in(x, x->ctx, &k, NULL);
}

#endif
