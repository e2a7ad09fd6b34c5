/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_lookup: which entry of a context's ACLs is a packet's.
 *
 * The context's table is asked for all packets at once. Then the ACLs with tables of their own are
 * asked in their order, each for those packets that none before it had and whose match in the
 * context's table, if there is one, comes behind it.
 */
#include "acl/acl_lookup.h"

#include "acl/acl_int.h"

enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMPV6 = 58 };

void acl_key_set(struct cls_key *key, const struct tamis_acl_key *k, bool fragments)
{
	bool fragment = k->later_fragment && fragments;
	bool ports = k->proto == PROTO_TCP || k->proto == PROTO_UDP ||
		     k->proto == (k->family == 4 ? PROTO_ICMP : PROTO_ICMPV6);

	*key = (struct cls_key){0};
	if (k->family == 4)
		cls_key_set_ipv4(key, k->src, k->dst);
	else
		cls_key_set_ipv6(key, k->src, k->dst);
	if (fragment)
		key->without = ACL_WITHOUT;
	if (fragment || !(k->no_l4 || k->later_fragment))
		cls_key_set(key, L4PROTO, k->proto);
	if (k->no_l4 || k->later_fragment)
		return;
	cls_key_set(key, SPORT, ports ? k->sport : 0U);
	cls_key_set(key, DPORT, ports ? k->dport : 0U);
	if (k->proto == PROTO_TCP)
		cls_key_set(key, TCP_FLAGS, k->tcp_flags);
}

static void hits_set(struct tamis_acl_hit *hits, const struct cls_entry *const *at, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		const struct acl_entry *e = at[i]->cookie;

		hits[i] = (struct tamis_acl_hit){
			.action = e->action, .acl = e->index, .entry = e->handle};
	}
}

static bool link_visible(const struct acl_link *link, uint64_t version)
{
	return __atomic_load_n(&link->from, __ATOMIC_RELAXED) <= version &&
	       version < __atomic_load_n(&link->to, __ATOMIC_RELAXED);
}

uint64_t acl_lookup(const struct tamis_acl_context *ctx, const struct cls_key *keys, uint64_t mask,
		    struct tamis_acl_hit *hits)
{
	uint64_t version = __atomic_load_n(&ctx->acls->version, __ATOMIC_ACQUIRE);
	const struct classifier *c = ctx->table.cls;
	const struct cls_entry *fused[CLS_BURST], *own[CLS_BURST];
	uint64_t in_fused = classifier_lookup(c, version, keys, mask, NULL, fused);
	uint64_t in_own = 0, settled = 0;

	for (const struct acl_link *link = __atomic_load_n(&ctx->own, __ATOMIC_ACQUIRE);
	     link && settled != mask; link = __atomic_load_n(&link->next_own, __ATOMIC_ACQUIRE)) {
		if (!link_visible(link, version))
			continue;
		for (uint64_t rest = in_fused & ~settled; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctzll(rest);

			if (classifier_before(c, fused[i], link->start))
				settled |= UINT64_C(1) << i;
		}
		uint64_t hit = classifier_lookup(link->acl->table->cls, version, keys,
						 mask & ~settled, NULL, own);
		hits_set(hits, own, hit);
		in_own |= hit;
		settled |= hit;
	}
	hits_set(hits, fused, in_fused & ~in_own);
	return in_fused | in_own;
}

uint64_t tamis_acl_lookup(struct tamis_acl_worker *w, const struct tamis_acl_context *ctx,
			  const struct tamis_acl_key *keys, uint64_t mask,
			  struct tamis_acl_hit *hits)
{
	bool fragments = tamis_acls_fragments(w->acls);
	struct cls_key k[CLS_BURST];

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		acl_key_set(&k[i], &keys[i], fragments);
	}
	return acl_lookup(ctx, k, mask, hits);
}

bool acl_context_empty(const struct tamis_acl_context *ctx)
{
	return !ctx->n_links;
}

bool acls_reflect(const struct tamis_acls *a)
{
	return a->n_reflect;
}

uint64_t macip_lookup(const struct tamis_acls *a, uint32_t index, const struct cls_key *keys,
		      uint64_t mask, struct tamis_acl_hit *hits)
{
	const struct acl *acl = acl_find(a, ACL_MACIP, index);
	const struct cls_entry *at[CLS_BURST];

	if (!acl || !acl->table)
		return 0;
	mask = classifier_lookup(acl->table->cls, __atomic_load_n(&a->version, __ATOMIC_ACQUIRE),
				 keys, mask, NULL, at);
	hits_set(hits, at, mask);
	return mask;
}
