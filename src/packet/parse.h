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
#include "packet/numbers.h"

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
