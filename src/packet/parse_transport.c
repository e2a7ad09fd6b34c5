/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_transport: ports, flags and types of the protocol that l4proto names, and where the bytes
 * behind its header (nft's @ih) begin.
 *
 * Called only where HAS_TH is set. What is cut off is not set, what is there is: a segment of 4
 * bytes has ports. Lengths inside a first fragment speak of the whole packet and are not judged.
 *
 * Sources: RFC 9293 (TCP), 768 (UDP), 3828 (UDP-Lite), 9260 (SCTP), 4340 (DCCP), 792 and 4443
 * (ICMP), 2784 and 2890 (GRE), 4302 and 4303 (AH, ESP), 3173 (COMP), 3376 (IGMP).
 */
#include "packet/parse.h"

/* Bytes from the transport header to the packet's end: captured, and on the wire. */
struct extent {
	uint32_t there, wire;
};

static void ports(struct burst *b, unsigned i, uint32_t th)
{
	const uint8_t *p = burst_at(b, i, th, 4);

	if (!p)
		return;
	b->sport[i] = be16_load(p);
	b->dport[i] = be16_load(p + 2);
	burst_set(b, i, HAS_PORTS);
}

static void parse_tcp(struct burst *b, unsigned i, uint32_t th, struct extent e)
{
	const uint8_t *p = burst_at(b, i, th, 14);
	uint32_t hlen;

	ports(b, i, th);
	if (!p)
		return;
	b->tcp_flags[i] = p[13];
	burst_set(b, i, HAS_TCP_FLAGS);
	if (e.there < 20)
		return;
	burst_set(b, i, HAS_TCP);
	hlen = (p[12] >> 4) * 4u;
	b->ih_off[i] = (uint16_t)MIN(th + hlen, UINT16_MAX);
	if (hlen < 20 || hlen > e.wire)
		burst_bad(b, i, MALFORMED_TCP_OFFSET);
	else if (hlen > e.there)
		burst_bad(b, i, MALFORMED_TRANSPORT);
	else if (!tcp_options_valid(p + 20, hlen - 20))
		burst_bad(b, i, MALFORMED_TCP_OFFSET);
}

/* The length field of UDP, the coverage of UDP-Lite; 0 stands for "all of it" in both. */
static void check_udp_length(struct burst *b, unsigned i, uint32_t th, struct extent e)
{
	const uint8_t *p = burst_at(b, i, th, 6);
	uint16_t len;

	if (!p || burst_has(b, i, HAS_FRAG))
		return;
	len = be16_load(p + 4);
	if ((len && len < 8) || len > e.wire)
		burst_bad(b, i, MALFORMED_UDP_LENGTH);
	else if (!len && b->l4proto[i] == PROTO_UDP && burst_has(b, i, HAS_IPV4))
		burst_bad(b, i, MALFORMED_UDP_LENGTH);
}

static void icmp(struct burst *b, unsigned i, uint32_t th, enum burst_has which)
{
	const uint8_t *p = burst_at(b, i, th, 2);

	if (!p)
		return;
	b->icmp_type[i] = p[0];
	b->icmp_code[i] = p[1];
	burst_set(b, i, which);
}

static void parse_gre(struct burst *b, unsigned i, uint32_t th)
{
	const uint8_t *p = burst_at(b, i, th, 4);
	uint32_t hlen = 4;

	if (!p || p[1] & 7 || p[0] & 0x40) /* another version, source routing: another layout */
		return;
	hlen += p[0] & 0x80 ? 4 : 0; /* checksum */
	hlen += p[0] & 0x20 ? 4 : 0; /* key */
	hlen += p[0] & 0x10 ? 4 : 0; /* sequence number */
	b->ih_off[i] = (uint16_t)MIN(th + hlen, UINT16_MAX);
}

/* The size of the fixed header, 0 for protocols that are not looked into. */
static uint32_t header_size(uint8_t proto)
{
	switch (proto) {
	case PROTO_TCP:
		return 20;
	case PROTO_SCTP:
	case PROTO_DCCP:
	case PROTO_AH:
		return 12;
	case PROTO_UDP:
	case PROTO_UDPLITE:
	case PROTO_ICMP:
	case PROTO_ICMPV6:
	case PROTO_IGMP:
	case PROTO_ESP:
	case PROTO_MH:
		return 8;
	case PROTO_GRE:
	case PROTO_COMP:
		return 4;
	default:
		return 0;
	}
}

void parse_transport(struct burst *b, unsigned i)
{
	uint32_t th = b->th_off[i], wire_end = b->nh_off[i] + b->l3len[i];
	struct extent e = {
		.there = b->end[i] > th ? b->end[i] - th : 0,
		.wire = wire_end > th ? wire_end - th : 0,
	};

	if (e.there < header_size(b->l4proto[i]))
		burst_bad(b, i, MALFORMED_TRANSPORT);
	switch (b->l4proto[i]) {
	case PROTO_TCP:
		parse_tcp(b, i, th, e);
		break;
	case PROTO_UDP:
		ports(b, i, th);
		check_udp_length(b, i, th, e);
		if (e.there < 8)
			break;
		burst_set(b, i, HAS_UDP);
		b->ih_off[i] = (uint16_t)MIN(th + 8, UINT16_MAX);
		break;
	case PROTO_UDPLITE:
		ports(b, i, th);
		check_udp_length(b, i, th, e);
		break;
	case PROTO_SCTP:
		ports(b, i, th);
		if (e.there < 12)
			break;
		burst_set(b, i, HAS_SCTP);
		if (!burst_has(b, i, HAS_FRAG) && !sctp_chunks_valid(b, i))
			burst_bad(b, i, MALFORMED_SCTP_CHUNK);
		break;
	case PROTO_DCCP:
		ports(b, i, th);
		break;
	case PROTO_ICMP:
		icmp(b, i, th, HAS_ICMP);
		break;
	case PROTO_ICMPV6:
		icmp(b, i, th, HAS_ICMPV6);
		break;
	case PROTO_GRE:
		parse_gre(b, i, th);
		break;
	case PROTO_IPIP:
		b->ih_off[i] = b->th_off[i];
		break;
	}
}
