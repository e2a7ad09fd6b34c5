/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_link: from the first byte to the network header, for every link type; and ARP.
 *
 * VLAN tags are peeled as a host with VLAN interfaces would do: `protocol` is what is behind them,
 * however many there are, and the two outermost get columns. Ethernet frames with a length in
 * place of a type get the protocols that the kernel gives them (802.3, 802.2).
 *
 * Sources: IEEE 802.3, 802.1Q; the registry of link types at tcpdump.org.
 */
#include "packet/parse.h"

static bool is_vlan(uint16_t proto)
{
	return proto == ETH_VLAN || proto == ETH_QINQ || proto == ETH_QINQ_OLD;
}

/* `off` is behind the two bytes of a type or, between frames of 802.3, a length. */
static void link_done(struct burst *b, unsigned i, uint32_t off, uint16_t proto)
{
	for (unsigned tag = 0; is_vlan(proto); tag++) {
		const uint8_t *p = burst_at(b, i, off, 4);

		if (!p || off > UINT16_MAX - 4) {
			b->protocol[i] = proto;
			burst_bad(b, i, MALFORMED_VLAN);
			return;
		}
		if (tag < 2) {
			b->vlan_proto[tag][i] = proto;
			b->vlan_tci[tag][i] = be16_load(p);
			burst_set(b, i, tag ? HAS_QINQ : HAS_VLAN);
		}
		proto = be16_load(p + 2);
		off += 4;
	}
	if (proto < ETH_TYPE_MIN && burst_has(b, i, HAS_ETHER)) {
		const uint8_t *sap = burst_at(b, i, off, 2);

		proto = sap && be16_load(sap) == 0xffff ? ETH_802_3 : ETH_802_2;
	}
	b->protocol[i] = proto;
	b->nh_off[i] = (uint16_t)off;
	burst_set(b, i, HAS_NH);
}

static void parse_ether(struct burst *b, unsigned i)
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const uint8_t *p = burst_at(b, i, 0, 14);

	if (!p) {
		burst_bad(b, i, MALFORMED_LINK);
		return;
	}
	burst_set(b, i, HAS_ETHER);
	if (p[0] & 1)
		b->pkttype[i] = memcmp(p, broadcast, 6) ? PKT_MULTICAST : PKT_BROADCAST;
	link_done(b, i, 14, be16_load(p + 12));
}

static void parse_raw(struct burst *b, unsigned i)
{
	const uint8_t *p = burst_at(b, i, 0, 1);

	if (!p) {
		burst_bad(b, i, MALFORMED_LINK);
		return;
	}
	switch (p[0] >> 4) {
	case 4:
		link_done(b, i, 0, ETH_IPV4);
		break;
	case 6:
		link_done(b, i, 0, ETH_IPV6);
		break;
	default:
		burst_bad(b, i, MALFORMED_IP_VERSION);
		link_done(b, i, 0, 0);
	}
}

/*
 * BSD loopback: an address family in the byte order of the machine that captured (NULL) or of the
 * network (LOOP). The value says which: no family is above 0xff. IPv6 has a number for each system.
 */
static void parse_null(struct burst *b, unsigned i)
{
	const uint8_t *p = burst_at(b, i, 0, 4);
	uint32_t family;
	uint16_t proto = 0;

	if (!p) {
		burst_bad(b, i, MALFORMED_LINK);
		return;
	}
	family = be32_load(p);
	if (family > 0xffff)
		family = __builtin_bswap32(family);
	switch (family) {
	case 2:
		proto = ETH_IPV4;
		break;
	case 10: /* Linux */
	case 23: /* Windows */
	case 24: /* NetBSD, OpenBSD */
	case 28: /* FreeBSD */
	case 30: /* Darwin */
		proto = ETH_IPV6;
		break;
	}
	link_done(b, i, 4, proto);
}

/* Linux "cooked": whatever the device, a packet type and, for most devices, an Ethernet type. */
static void parse_cooked(struct burst *b, unsigned i, bool v2)
{
	enum { ARPHRD_FRAD = 770, ARPHRD_GRE = 778, ARPHRD_RADIOTAP = 803, ARPHRD_NETLINK = 824 };
	uint32_t size = v2 ? 20 : 16;
	const uint8_t *p = burst_at(b, i, 0, size);
	uint16_t type, device, proto;

	if (!p) {
		burst_bad(b, i, MALFORMED_LINK);
		return;
	}
	type = v2 ? p[10] : be16_load(p);
	device = be16_load(v2 ? p + 8 : p + 2);
	proto = be16_load(v2 ? p : p + 14);
	b->pkttype[i] = type <= PKT_OUTGOING ? (uint8_t)type : PKT_HOST;
	if (device == ARPHRD_FRAD || device == ARPHRD_RADIOTAP || device == ARPHRD_NETLINK)
		proto = 0; /* the field means something else there */
	link_done(b, i, size, proto);
}

void parse_link(struct burst *b, unsigned i)
{
	switch ((enum link_type)b->link[i]) {
	case LINK_EN10MB:
		parse_ether(b, i);
		break;
	case LINK_RAW:
		parse_raw(b, i);
		break;
	case LINK_NULL:
	case LINK_LOOP:
		parse_null(b, i);
		break;
	case LINK_SLL:
		parse_cooked(b, i, false);
		break;
	case LINK_SLL2:
		parse_cooked(b, i, true);
		break;
	case LINK_TYPES:
		break;
	}
}

/* RFC 826. The addresses are not columns: rules on them are few and burst_read() is there. */
void parse_arp(struct burst *b, unsigned i)
{
	enum { HARDWARE_ETHER = 1, HARDWARE_IEEE802 = 6 };
	const uint8_t *p = burst_at(b, i, b->nh_off[i], 8);
	uint16_t hardware;

	if (!p) {
		burst_bad(b, i, MALFORMED_ARP);
		return;
	}
	burst_set(b, i, HAS_ARP);
	hardware = be16_load(p);
	if (!burst_at(b, i, b->nh_off[i], 8u + 2 * p[4] + 2 * p[5]))
		burst_bad(b, i, MALFORMED_ARP);
	else if ((hardware == HARDWARE_ETHER || hardware == HARDWARE_IEEE802) && p[4] != 6)
		burst_bad(b, i, MALFORMED_ARP);
	else if (be16_load(p + 2) == ETH_IPV4 && p[5] != 4)
		burst_bad(b, i, MALFORMED_ARP);
}
