/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_rule: an ACL's rules as conditions on keys, in VPP's meaning.
 *
 * Without a protocol a rule looks at addresses alone. Types and codes of ICMP stand where ports do.
 * Flags are compared in TCP only. A later fragment is compared by addresses and protocol.
 *
 * MAC-IP rules are conditions of the classifier's IPv6 family: the MAC in the first 48 bits of
 * DADDR, the source in SADDR (IPv4: its first 32 bits), L4PROTO the family, 4 or 6.
 */
#include "acl/acl_int.h"
#include "acl/acl_lookup.h"

enum { PROTO_TCP = 6, PORT_MAX = 0xffff };

/* --- from and to the public form ------------------------------------------------------------ */

static void prefix_copy(uint8_t out[16], const uint8_t *in, unsigned family, unsigned len)
{
	for (unsigned i = 0; i < (family == 4 ? 4U : 16U); i++) {
		unsigned bits = len > 8 * i ? MIN(len - 8 * i, 8U) : 0;

		out[i] = in[i] & (uint8_t) ~(0xff >> bits);
	}
}

static bool prefix_valid(unsigned family, unsigned len)
{
	return (family == 4 && len <= 32) || (family == 6 && len <= 128);
}

void tamis_acl_rule_init(struct tamis_acl_rule *rule, enum tamis_acl_action action, unsigned family)
{
	*rule = (struct tamis_acl_rule){.action = (uint8_t)action,
					.family = (uint8_t)family,
					.sport_last = PORT_MAX,
					.dport_last = PORT_MAX};
}

int acl_rule_from(const struct tamis_acl_rule *in, struct acl_rule *out)
{
	if (in->action >= TAMIS_ACL_ACTIONS || !prefix_valid(in->family, in->src_len) ||
	    !prefix_valid(in->family, in->dst_len))
		return -EINVAL;
	*out = (struct acl_rule){
		.sport_first = in->sport_first,
		.sport_last = in->sport_last,
		.dport_first = in->dport_first,
		.dport_last = in->dport_last,
		.src_len = in->src_len,
		.dst_len = in->dst_len,
		.family = in->family,
		.proto = in->proto,
		.tcp_flags = in->tcp_flags,
		.tcp_mask = in->tcp_mask,
		.action = in->action,
		.wide = in->family != 4,
	};
	prefix_copy(out->addresses, in->src, in->family, in->src_len);
	prefix_copy(out->addresses + (out->wide ? 16 : 4), in->dst, in->family, in->dst_len);
	return 0;
}

void acl_rule_to(const struct acl_rule *in, const char *desc, struct tamis_acl_rule *out)
{
	*out = (struct tamis_acl_rule){
		.action = in->action,
		.family = in->family,
		.src_len = in->src_len,
		.dst_len = in->dst_len,
		.proto = in->proto,
		.tcp_flags = in->tcp_flags,
		.tcp_mask = in->tcp_mask,
		.sport_first = in->sport_first,
		.sport_last = in->sport_last,
		.dport_first = in->dport_first,
		.dport_last = in->dport_last,
		.desc = desc,
	};
	memcpy(out->src, acl_rule_src(in), in->wide ? 16 : 4);
	memcpy(out->dst, acl_rule_dst(in), in->wide ? 16 : 4);
}

int macip_rule_from(const struct tamis_macip_rule *in, struct acl_rule *out)
{
	if (in->action > TAMIS_ACL_PERMIT || !prefix_valid(in->family, in->src_len))
		return -EINVAL;
	*out = (struct acl_rule){
		.src_len = in->src_len, .family = in->family, .action = in->action, .wide = true};
	uint8_t *mac = out->addresses + 16;
	prefix_copy(out->addresses, in->src, in->family, in->src_len);
	for (unsigned i = 0; i < 6; i++)
		mac[i] = in->mac[i] & in->mask[i];
	memcpy(mac + 6, in->mask, 6);
	return 0;
}

void macip_rule_to(const struct acl_rule *in, const char *desc, struct tamis_macip_rule *out)
{
	*out = (struct tamis_macip_rule){
		.action = in->action, .family = in->family, .src_len = in->src_len, .desc = desc};
	memcpy(out->mac, acl_rule_dst(in), 6);
	memcpy(out->mask, acl_rule_dst(in) + 6, 6);
	memcpy(out->src, acl_rule_src(in), sizeof(out->src));
}

/* --- conditions ----------------------------------------------------------------------------- */

static void words_load(uint32_t w[4], const uint8_t *bytes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w[i] = be32_load(bytes + 4 * i);
}

static void prefix_cond(struct cls_cond *c, enum cls_field field, const uint8_t *addr,
			unsigned words, unsigned len)
{
	*c = (struct cls_cond){.field = (uint8_t)field};
	words_load(c->a, addr, words);
	for (unsigned i = 0; i < words; i++) {
		unsigned bits = len > 32 * i ? MIN(len - 32 * i, 32U) : 0;

		c->b[i] = c->a[i] | (bits == 32 ? 0 : UINT32_MAX >> bits);
	}
}

static void range_cond(struct cls_cond *c, enum cls_field field, uint32_t lo, uint32_t hi)
{
	*c = (struct cls_cond){.field = (uint8_t)field, .a = {lo}, .b = {hi}};
}

static void macip_conds(const struct acl_rule *r, struct cls_cond *conds, struct cls_rule *out)
{
	static const uint8_t none[6];
	const uint8_t *mac = acl_rule_dst(r), *mask = mac + 6;
	struct cls_cond *c = conds;

	range_cond(c++, CLS_L4PROTO, r->family, r->family);
	/* An IPv4 address is the first of the four words: its prefix is one of these 128 bits. */
	if (r->src_len)
		prefix_cond(c++, CLS_SADDR, acl_rule_src(r), 4, r->src_len);
	if (memcmp(mask, none, 6)) {
		*c = (struct cls_cond){.field = CLS_DADDR, .masked = true};
		c->a[0] = be32_load(mac);
		c->a[1] = (uint32_t)be16_load(mac + 4) << 16;
		c->b[0] = be32_load(mask);
		c->b[1] = (uint32_t)be16_load(mask + 4) << 16;
		c++;
	}
	*out = (struct cls_rule){.family = CLS_IPV6, .n = (uint8_t)(c - conds), .conds = conds};
}

void acl_rule_conds(const struct acl_rule *r, enum acl_kind kind,
		    struct cls_cond conds[RULE_CONDS_MAX], struct cls_rule *out)
{
	unsigned words = r->family == 4 ? 1 : 4;
	struct cls_cond *c = conds;

	if (kind == ACL_MACIP) {
		macip_conds(r, conds, out);
		return;
	}
	if (r->src_len)
		prefix_cond(c++, CLS_SADDR, acl_rule_src(r), words, r->src_len);
	if (r->dst_len)
		prefix_cond(c++, CLS_DADDR, acl_rule_dst(r), words, r->dst_len);
	if (r->proto)
		range_cond(c++, CLS_L4PROTO, r->proto, r->proto);
	if (r->proto && (r->sport_first > r->sport_last || r->dport_first > r->dport_last ||
			 (r->proto == PROTO_TCP && r->tcp_flags & ~r->tcp_mask))) {
		/* No packet whose ports are known. */
		range_cond(c++, CLS_SPORT, 0, 0);
		range_cond(c++, CLS_SPORT, 1, 1);
	} else if (r->proto) {
		if (r->sport_first || r->sport_last != PORT_MAX)
			range_cond(c++, CLS_SPORT, r->sport_first, r->sport_last);
		if (r->dport_first || r->dport_last != PORT_MAX)
			range_cond(c++, CLS_DPORT, r->dport_first, r->dport_last);
		if (r->proto == PROTO_TCP && r->tcp_mask)
			*c++ = (struct cls_cond){.field = CLS_TCP_FLAGS,
						 .masked = true,
						 .a = {r->tcp_flags},
						 .b = {r->tcp_mask}};
	}
	*out = (struct cls_rule){.family = r->family == 4 ? CLS_IPV4 : CLS_IPV6,
				 .n = (uint8_t)(c - conds),
				 .conds = conds};
}

void macip_key_set(struct cls_key *k, unsigned family, const uint8_t mac[6], const uint8_t *src)
{
	uint8_t saddr[16] = {0}, daddr[16] = {0};

	memcpy(saddr, src, family == 4 ? 4 : 16);
	memcpy(daddr, mac, 6);
	*k = (struct cls_key){0};
	cls_key_set_ipv6(k, saddr, daddr);
	cls_key_set(k, L4PROTO, family);
}
