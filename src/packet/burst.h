/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst: up to 64 packets and their header fields in columns.
 *
 * A port fills the input columns, burst_parse() fills the rest once, and everything behind reads
 * columns; a set of packets is a uint64_t with bit i for packet i. A column holds something
 * meaningful only for the packets whose `has` bit says so: what a packet does not contain is never
 * read as zero. Bytes that have no column are read with burst_read(), which checks bounds.
 *
 * What is valid is what the kernel takes for valid when it prepares a packet for nftables: an IP
 * header whose version, header length and total length fit the packet on the wire. Every doubt is
 * kept as a bit in `malformed`, so that whoever plays a host's IP input, which drops more than
 * that (bad checksum, bad options), can choose. A bad IPv4 checksum, bad options, a cut transport
 * header leave the fields that exist in place. Two things that captures are full of are not
 * malformed: a total length of 0 (segmentation left to the card: the packet is as long as it was
 * captured) and an IPv4 checksum of 0 (checksum left to the card). Transport checksums are not
 * looked at.
 *
 * Offsets count from the first byte of the packet as captured. They follow the kernel's idea of
 * three headers: link (ll), network (nh) and transport (th). Where the link type has no Ethernet
 * header (RAW, NULL, SLL) there is no ll, and `protocol` comes from the link type.
 *
 * One burst belongs to one thread. Parsing costs some 10 to 20 ns a packet and allocates nothing.
 */
#ifndef TAMIS_PACKET_BURST_H
#define TAMIS_PACKET_BURST_H

#include "base/base.h"

enum { BURST_MAX = 64 };

typedef uint64_t burst_mask;

#define burst_foreach(mask, i)                                                                     \
	for (burst_mask rest_ = (mask); rest_ ? ((i) = __builtin_ctzll(rest_), 1) : 0;             \
	     rest_ &= rest_ - 1)

/* Link types, named as in the pcap registry; the values are tamis' own. */
enum link_type { LINK_EN10MB, LINK_RAW, LINK_NULL, LINK_LOOP, LINK_SLL, LINK_SLL2, LINK_TYPES };

/* What a packet has; one mask each in burst.has[]. */
#define BURST_HAS(X)                                                                               \
	X(ETHER)   /* an Ethernet header: ll_off, ether columns */                                 \
	X(VLAN)	   /* at least one VLAN tag: vlan_tci[0], vlan_proto[0] */                         \
	X(QINQ)	   /* a second tag: vlan_tci[1], vlan_proto[1] */                                  \
	X(NH)	   /* a network header begins at nh_off, whatever `protocol` says */               \
	X(IPV4)	   /* a valid IPv4 header: saddr, daddr */                                         \
	X(IPV6)	   /* a valid IPv6 header: saddr, daddr */                                         \
	X(ARP)	   /* an ARP header with its fixed part */                                         \
	X(L4PROTO) /* l4proto is known */                                                          \
	X(TH)	   /* th_off is known and this is not a later fragment */                          \
	X(TCP)	   /* l4proto and a whole header of that protocol */                               \
	X(UDP)                                                                                     \
	X(SCTP)                                                                                    \
	X(PORTS)      /* sport, dport: TCP, UDP, UDP-Lite, SCTP, DCCP, cut or not */               \
	X(TCP_FLAGS)  /* tcp_flags, though the rest of the header may be cut */                    \
	X(ICMP)	      /* icmp_type, icmp_code of ICMP */                                           \
	X(ICMPV6)     /* icmp_type, icmp_code of ICMPv6 */                                         \
	X(FRAG)	      /* any fragment, the first one included */                                   \
	X(LATER_FRAG) /* a fragment with an offset: no transport header */

enum burst_has {
#define X(name) HAS_##name,
	BURST_HAS(X)
#undef X
		HAS_KINDS
};

/*
 * Why a packet's headers are nonsense; counted once a packet and reason. "Truncated" includes what
 * the capture cut off, a bad length only what was wrong on the wire.
 */
#define MALFORMED_REASONS(X)                                                                       \
	X(LINK, "link header truncated")                                                           \
	X(VLAN, "VLAN tag truncated")                                                              \
	X(ARP, "ARP header truncated or of odd address lengths")                                   \
	X(IP_VERSION, "IP version does not match")                                                 \
	X(IP_HEADER, "IP header truncated")                                                        \
	X(IP_LENGTH, "IP length beyond the packet or too short")                                   \
	X(IP_CHECKSUM, "IPv4 header checksum wrong")                                               \
	X(IP_OPTIONS, "IPv4 options malformed")                                                    \
	X(EXTHDR, "IPv6 extension header truncated or out of order")                               \
	X(FRAGMENT, "fragment overlaps the end or has a bad length")                               \
	X(TRANSPORT, "transport header truncated")                                                 \
	X(TCP_OFFSET, "TCP data offset or options malformed")                                      \
	X(UDP_LENGTH, "UDP length wrong")                                                          \
	X(SCTP_CHUNK, "SCTP chunk malformed")

enum malformed_reason {
#define X(name, text) MALFORMED_##name,
	MALFORMED_REASONS(X)
#undef X
		MALFORMED_KINDS
};

const char *malformed_reason_name(enum malformed_reason r); /* "ip-checksum": stable, for JSON */
const char *malformed_reason_text(enum malformed_reason r);

/* Where a raw read counts from: nft's @ll, @nh, @th, @ih (behind the transport header). */
enum header_base { BASE_LL, BASE_NH, BASE_TH, BASE_IH };

struct burst {
	unsigned n;

	/* Input: filled by the port. `data` stays valid as long as the burst is used. */
	const uint8_t *data[BURST_MAX];
	uint32_t caplen[BURST_MAX];		 /* bytes at data */
	uint32_t len[BURST_MAX];		 /* bytes on the wire, at least caplen */
	uint64_t time[BURST_MAX];		 /* ns since the epoch of the capture's clock */
	uint8_t link[BURST_MAX];		 /* enum link_type */
	uint32_t iif[BURST_MAX], oif[BURST_MAX]; /* interface index, 0 for none */
	uint32_t port_tag[BURST_MAX]; /* the port's own: where the packet came from; left alone */

	/* Output of burst_parse(). Numbers are in host byte order, addresses as on the wire. */
	burst_mask has[HAS_KINDS];
	uint16_t malformed[BURST_MAX]; /* bit per malformed_reason */
	uint16_t ll_off[BURST_MAX], nh_off[BURST_MAX], th_off[BURST_MAX];
	uint16_t ih_off[BURST_MAX]; /* behind the transport header; 0 if unknown */
	uint32_t end[BURST_MAX]; /* where the network packet ends: its own length, cut to caplen */
	uint16_t protocol[BURST_MAX]; /* Ethernet protocol behind VLAN tags (meta protocol) */
	uint16_t vlan_tci[2][BURST_MAX], vlan_proto[2][BURST_MAX];
	uint8_t pkttype[BURST_MAX]; /* enum packet_type, from SLL or the destination MAC */
	uint8_t l4proto[BURST_MAX]; /* behind IPv6 extension headers up to AH (meta l4proto) */
	uint32_t l3len[BURST_MAX];  /* the network packet's own length on the wire (meta length) */
	uint16_t frag_off[BURST_MAX];			    /* in bytes */
	uint8_t saddr[BURST_MAX][16], daddr[BURST_MAX][16]; /* IPv4 in the first 4 bytes */
	uint16_t sport[BURST_MAX], dport[BURST_MAX];
	uint8_t tcp_flags[BURST_MAX];
	uint8_t icmp_type[BURST_MAX], icmp_code[BURST_MAX];

	/* Written by the packet path: what a rule sets. Zero after burst_parse(). */
	uint32_t mark[BURST_MAX], priority[BURST_MAX];
};

enum packet_type { PKT_HOST, PKT_BROADCAST, PKT_MULTICAST, PKT_OTHER, PKT_OUTGOING };

/* Fills the output columns of the n packets of b. */
void burst_parse(struct burst *b);


/*
 * Copies `len` bytes at `off` from `base` of packet i to out; false, and out untouched, if any of
 * them is not there (beyond the capture or the network packet's end, or the header is missing).
 */
bool burst_read(const struct burst *b, unsigned i, enum header_base base, uint32_t off, void *out,
		uint32_t len);

/* The same by bits, as nft's @base,off,len: the bits end up right-aligned in (len + 7) / 8 bytes.
 */
bool burst_read_bits(const struct burst *b, unsigned i, enum header_base base, uint32_t bit_off,
		     uint32_t bit_len, uint8_t *out);

/*
 * Where in packet i a part of a header is: its offset from the packet's start and its length as it
 * says itself, which may reach beyond what is there, so read it with burst_at(). False, and nothing
 * touched, if there is none. They find what the kernel finds in malformed packets too.
 *
 * IPv6 extension header `proto`: IPPROTO_HOPOPTS, ROUTING, FRAGMENT, DSTOPTS, AH, MH.
 */
bool burst_find_exthdr(const struct burst *b, unsigned i, uint8_t proto, uint32_t *off,
		       uint32_t *len);
/* The same for a TCP option, an IPv4 option, an SCTP chunk, a DCCP option of kind/type `kind`. */
bool burst_find_tcp_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			   uint32_t *len);
bool burst_find_ip_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			  uint32_t *len);
bool burst_find_sctp_chunk(const struct burst *b, unsigned i, uint8_t type, uint32_t *off,
			   uint32_t *len);
bool burst_find_dccp_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			    uint32_t *len);

/* `len` bytes at `off` from the start of packet i, NULL unless all are inside it. */
static inline const uint8_t *burst_at(const struct burst *b, unsigned i, uint32_t off, uint32_t len)
{
	return (uint64_t)off + len <= b->end[i] ? b->data[i] + off : NULL;
}

#endif
