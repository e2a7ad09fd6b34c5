/* SPDX-License-Identifier: Apache-2.0 */
/* tuple: see tuple.h. */
#include "ct/tuple.h"

#include <netinet/in.h>

enum { PROTO_DCCP = 33, PROTO_UDPLITE = 136, IP4_HEADER = 20, IP6_HEADER = 40, EXTHDRS_MAX = 16 };

/* --- ICMP ----------------------------------------------------------------------------------- */

struct icmp_pair {
	uint8_t l4proto, query, answer;
};

static const struct icmp_pair icmp_pairs[] = {
	{IPPROTO_ICMP, 8, 0},	    /* echo */
	{IPPROTO_ICMP, 13, 14},	    /* timestamp */
	{IPPROTO_ICMP, 15, 16},	    /* information */
	{IPPROTO_ICMP, 17, 18},	    /* address mask */
	{IPPROTO_ICMPV6, 128, 129}, /* echo */
	{IPPROTO_ICMPV6, 139, 140}, /* node information */
};

bool icmp_type_is_query(uint8_t l4proto, uint8_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(icmp_pairs); i++)
		if (icmp_pairs[i].l4proto == l4proto && icmp_pairs[i].query == type)
			return true;
	return false;
}

static bool icmp_type_invert(uint8_t l4proto, uint8_t type, uint8_t *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(icmp_pairs); i++) {
		const struct icmp_pair *p = &icmp_pairs[i];
		if (p->l4proto != l4proto || (p->query != type && p->answer != type))
			continue;
		*out = p->query == type ? p->answer : p->query;
		return true;
	}
	return false;
}

static bool is_icmp(const struct ct_tuple *t)
{
	return t->l4proto == (t->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

bool tuple_invert(const struct ct_tuple *in, struct ct_tuple *out)
{
	struct ct_tuple t = *in;

	memcpy(t.saddr, in->daddr, sizeof(t.saddr));
	memcpy(t.daddr, in->saddr, sizeof(t.daddr));
	if (is_icmp(in)) {
		uint8_t type;
		if (!icmp_type_invert(in->l4proto, (uint8_t)(in->dport >> 8), &type))
			return false;
		t.dport = (uint16_t)(type << 8 | (in->dport & 0xff));
	} else {
		t.sport = in->dport;
		t.dport = in->sport;
	}
	*out = t;
	return true;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Fills in what the transport header at `off` adds to the addresses. */
static bool read_transport(const struct burst *b, unsigned i, uint32_t off, struct ct_tuple *t)
{
	const uint8_t *p;

	if (is_icmp(t)) {
		p = burst_at(b, i, off, 8);
		if (!p)
			return false;
		t->sport = be16_load(p + 4);
		t->dport = be16_load(p);
		return true;
	}
	switch (t->l4proto) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case PROTO_UDPLITE:
	case IPPROTO_SCTP:
	case PROTO_DCCP:
		p = burst_at(b, i, off, 4);
		if (!p)
			return false;
		t->sport = be16_load(p);
		t->dport = be16_load(p + 2);
		return true;
	case IPPROTO_GRE:
		p = burst_at(b, i, off, 4);
		if (!p)
			return false;
		if ((p[1] & 7) != 1) /* plain GRE has nothing like ports */
			return true;
		p = burst_at(b, i, off, 8);
		if (!p)
			return false;
		t->dport = be16_load(p + 6); /* PPTP: the call id */
		return true;
	default:
		return true;
	}
}

bool tuple_of_packet(const struct burst *b, unsigned i, struct ct_tuple *out)
{
	bool v4 = b->has[HAS_IPV4] >> i & 1;
	struct ct_tuple t = {.family = v4 ? 4 : 6, .l4proto = b->l4proto[i]};

	if (!((b->has[HAS_L4PROTO] & b->has[HAS_TH]) >> i & 1))
		return false;
	memcpy(t.saddr, b->saddr[i], v4 ? 4 : 16);
	memcpy(t.daddr, b->daddr[i], v4 ? 4 : 16);
	if (!read_transport(b, i, b->th_off[i], &t))
		return false;
	*out = t;
	return true;
}

static bool quote_ipv4(const struct burst *b, unsigned i, uint32_t off, struct ct_tuple *t,
		       uint32_t *th_off)
{
	const uint8_t *p = burst_at(b, i, off, IP4_HEADER);

	if (!p || p[0] >> 4 != 4 || (p[0] & 15) * 4 < IP4_HEADER || be16_load(p + 6) & 0x1fff)
		return false;
	t->l4proto = p[9];
	memcpy(t->saddr, p + 12, 4);
	memcpy(t->daddr, p + 16, 4);
	*th_off = off + (p[0] & 15) * 4U;
	return true;
}

static bool quote_ipv6(const struct burst *b, unsigned i, uint32_t off, struct ct_tuple *t,
		       uint32_t *th_off)
{
	const uint8_t *p = burst_at(b, i, off, IP6_HEADER);

	if (!p || p[0] >> 4 != 6)
		return false;
	memcpy(t->saddr, p + 8, 16);
	memcpy(t->daddr, p + 24, 16);
	uint8_t next = p[6];
	off += IP6_HEADER;
	for (unsigned n = 0; n < EXTHDRS_MAX; n++) {
		switch (next) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_FRAGMENT:
		case IPPROTO_AH:
			break;
		default:
			t->l4proto = next;
			*th_off = off;
			return true;
		}
		p = burst_at(b, i, off, 8);
		if (!p || (next == IPPROTO_FRAGMENT && be16_load(p + 2) & 0xfff8))
			return false;
		if (next == IPPROTO_FRAGMENT)
			off += 8;
		else if (next == IPPROTO_AH)
			off += (p[1] + 2U) * 4;
		else
			off += (p[1] + 1U) * 8;
		next = p[0];
	}
	return false;
}

bool tuple_of_quote(const struct burst *b, unsigned i, uint8_t family, uint32_t off,
		    struct ct_tuple *out)
{
	struct ct_tuple t = {.family = family};
	uint32_t th_off = 0;

	if (!(family == 4 ? quote_ipv4 : quote_ipv6)(b, i, off, &t, &th_off))
		return false;
	if (!read_transport(b, i, th_off, &t))
		return false;
	*out = t;
	return true;
}
