/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_ipv6: RFC 8200 and its extension headers.
 *
 * The walk along the chain ends where the kernel's ends when it looks for the transport header:
 * at the first header that is none of hop-by-hop, routing, fragment, destination options; so AH,
 * ESP, mobility and "no next header" are l4proto. A chain that leaves the packet has no l4proto,
 * but the IPv6 header and its addresses stay. A later fragment has the l4proto that its fragment
 * header names and no transport header; if that names another extension header, it has neither.
 *
 * The chain may be as long as the packet: the walk costs at most a step per 8 bytes.
 */
#include "packet/parse.h"

/* The headers that the walk can step over. */
static bool is_extension(uint8_t proto)
{
	return proto == PROTO_HOPOPTS || proto == PROTO_ROUTING || proto == PROTO_FRAGMENT ||
	       proto == PROTO_DSTOPTS || proto == PROTO_AH;
}

static uint32_t extension_len(uint8_t proto, const uint8_t *p)
{
	switch (proto) {
	case PROTO_FRAGMENT:
		return 8;
	case PROTO_AH:
		return (p[1] + 2u) * 4;
	default:
		return (p[1] + 1u) * 8;
	}
}

/* How many bytes of a header must be there for the walk to look at it. */
static uint32_t extension_min(uint8_t proto)
{
	return proto == PROTO_ROUTING || proto == PROTO_FRAGMENT ? 4 : 2;
}

/* A fragment header at off: true if the walk goes on behind it. */
static bool fragment(struct burst *b, unsigned i, uint32_t off, const uint8_t *p)
{
	uint32_t rest = b->nh_off[i] + b->l3len[i], field = be16_load(p + 2);
	bool more = field & 1;

	if (!burst_at(b, i, off, 8))
		burst_bad(b, i, MALFORMED_EXTHDR);
	rest = rest > off + 8 ? rest - off - 8 : 0;
	b->frag_off[i] = field & 0xfff8;
	if (!b->frag_off[i] && !more)
		return true;
	burst_set(b, i, HAS_FRAG);
	if (b->frag_off[i] + rest > UINT16_MAX || !rest || (more && rest % 8))
		burst_bad(b, i, MALFORMED_FRAGMENT);
	if (!b->frag_off[i])
		return true;
	burst_set(b, i, HAS_LATER_FRAG);
	if (!is_extension(p[0])) {
		b->l4proto[i] = p[0];
		burst_set(b, i, HAS_L4PROTO);
	}
	return false;
}

static void parse_chain(struct burst *b, unsigned i, uint8_t next)
{
	uint32_t off = b->nh_off[i] + 40u;

	for (bool first = true; is_extension(next) && next != PROTO_AH; first = false) {
		const uint8_t *p = burst_at(b, i, off, extension_min(next));

		if (!p) {
			burst_bad(b, i, MALFORMED_EXTHDR);
			return;
		}
		if (next == PROTO_HOPOPTS && !first)
			burst_bad(b, i, MALFORMED_EXTHDR);
		if (next == PROTO_FRAGMENT && !fragment(b, i, off, p))
			return;
		off += extension_len(next, p);
		next = p[0];
	}
	if (off > b->end[i])
		burst_bad(b, i, MALFORMED_EXTHDR);
	if (off > UINT16_MAX)
		return;
	b->l4proto[i] = next;
	b->th_off[i] = (uint16_t)off;
	burst_set(b, i, HAS_L4PROTO);
	burst_set(b, i, HAS_TH);
}

/*
 * A payload length of 0 is a jumbogram when hop-by-hop options follow (RFC 2675), and in captures
 * of TCP and UDP a segment that the card was to cut; both reach to the packet's end.
 */
static bool length_is_open(uint8_t next)
{
	return next == PROTO_HOPOPTS || next == PROTO_TCP || next == PROTO_UDP;
}

void parse_ipv6(struct burst *b, unsigned i)
{
	uint32_t nh = b->nh_off[i], wire = b->l3len[i], len;
	const uint8_t *p = burst_at(b, i, nh, 40);

	if (!p) {
		burst_bad(b, i, MALFORMED_IP_HEADER);
		return;
	}
	if (p[0] >> 4 != 6) {
		burst_bad(b, i, MALFORMED_IP_VERSION);
		return;
	}
	len = 40u + be16_load(p + 4);
	if (len == 40 && length_is_open(p[6]))
		len = wire;
	if (len > wire) {
		burst_bad(b, i, MALFORMED_IP_LENGTH);
		return;
	}
	burst_set(b, i, HAS_IPV6);
	b->l3len[i] = len;
	b->end[i] = (uint32_t)MIN((uint64_t)b->end[i], (uint64_t)nh + len);
	memcpy(b->saddr[i], p + 8, 16);
	memcpy(b->daddr[i], p + 24, 16);
	parse_chain(b, i, p[6]);
}

bool burst_find_exthdr(const struct burst *b, unsigned i, uint8_t proto, uint32_t *off_out,
		       uint32_t *len_out)
{
	uint32_t off = b->nh_off[i] + 40u;
	const uint8_t *p = burst_at(b, i, b->nh_off[i], 40);
	uint8_t next;

	if (!burst_has(b, i, HAS_IPV6) || !p)
		return false;
	next = p[6];
	while (next != proto) {
		if (!is_extension(next))
			return false;
		p = burst_at(b, i, off, extension_min(next));
		if (!p || (next == PROTO_FRAGMENT && be16_load(p + 2) & 0xfff8))
			return false;
		off += extension_len(next, p);
		next = p[0];
	}
	if (!is_extension(proto) && proto != PROTO_MH)
		return false;
	p = burst_at(b, i, off, extension_min(proto));
	if (!p)
		return false;
	*off_out = off;
	*len_out = extension_len(proto, p);
	return true;
}
