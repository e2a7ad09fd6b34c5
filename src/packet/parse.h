/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse: what the files of the packet room share, and nobody else includes.
 *
 * The steps run in this order, each for one packet, and each reads only what the one before it
 * found: parse_link() -> parse_arp(), parse_ipv4() or parse_ipv6() -> parse_transport(). All packet
 * bytes go through burst_at(), whose bound is b->end[i]: the capture's end at first, cut to the
 * IP packet's end once that is known.
 */
#ifndef TAMIS_PACKET_PARSE_H
#define TAMIS_PACKET_PARSE_H

#include "packet/burst.h"

enum {
	ETH_802_3 = 0x0001, /* what the kernel calls frames with a length for a type: raw IPX ... */
	ETH_802_2 = 0x0004, /* ... and LLC */
	ETH_TYPE_MIN = 0x0600,
	ETH_IPV4 = 0x0800,
	ETH_ARP = 0x0806,
	ETH_VLAN = 0x8100,
	ETH_IPV6 = 0x86dd,
	ETH_QINQ = 0x88a8,
	ETH_QINQ_OLD = 0x9100,
};

enum {
	PROTO_HOPOPTS = 0,
	PROTO_ICMP = 1,
	PROTO_IGMP = 2,
	PROTO_IPIP = 4,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_DCCP = 33,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_GRE = 47,
	PROTO_ESP = 50,
	PROTO_AH = 51,
	PROTO_ICMPV6 = 58,
	PROTO_DSTOPTS = 60,
	PROTO_COMP = 108,
	PROTO_SCTP = 132,
	PROTO_MH = 135,
	PROTO_UDPLITE = 136,
};

static inline void burst_set(struct burst *b, unsigned i, enum burst_has what)
{
	b->has[what] |= (burst_mask)1 << i;
}

static inline bool burst_has(const struct burst *b, unsigned i, enum burst_has what)
{
	return b->has[what] >> i & 1;
}

static inline void burst_bad(struct burst *b, unsigned i, enum malformed_reason why)
{
	b->malformed[i] |= 1u << why;
}

void parse_link(struct burst *b, unsigned i);
void parse_arp(struct burst *b, unsigned i);
void parse_ipv4(struct burst *b, unsigned i);
void parse_ipv6(struct burst *b, unsigned i);
void parse_transport(struct burst *b, unsigned i);

/* Whether the `len` bytes of IPv4 options at p are well-formed by kind and length. */
bool ip_options_valid(const uint8_t *p, uint32_t len);
/* The same for TCP. */
bool tcp_options_valid(const uint8_t *p, uint32_t len);
/* Whether the chunks behind packet i's SCTP header fill the packet on the wire. */
bool sctp_chunks_valid(const struct burst *b, unsigned i);

#endif
