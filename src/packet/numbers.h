/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers: types of Ethernet frames and protocols of IP, for all rooms that tell packets apart.
 *
 * Source: IANA's "IEEE 802 Numbers" and "Assigned Internet Protocol Numbers".
 */
#ifndef TAMIS_PACKET_NUMBERS_H
#define TAMIS_PACKET_NUMBERS_H

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

#endif
