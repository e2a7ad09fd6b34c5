/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto: the headers of the link, network and transport layers, and the keys of meta and ct.
 *
 * Offsets and widths are the RFCs' and IEEE 802.1Q's; names and types are nft's. Constant tables;
 * any thread.
 */
#include "lang/proto.h"

#define FIELDS(id, ...) static const struct proto_field id##_fields[] = {__VA_ARGS__}
#define F(name, type, off, bits)                                                                   \
	{                                                                                          \
		name, &type_##type, off, bits                                                      \
	}
#define HEADER(id, name_, ...)                                                                     \
	const struct proto_header proto_##id = {.name = name_,                                     \
						.n_fields = ARRAY_SIZE(id##_fields),               \
						.fields = id##_fields,                             \
						__VA_ARGS__}

FIELDS(ether, F("daddr", ether_addr, 0, 48), F("saddr", ether_addr, 48, 48),
       F("type", ether_type, 96, 16));
FIELDS(vlan, F("pcp", integer, 0, 3), F("dei", integer, 3, 1), F("id", integer, 4, 12),
       F("type", ether_type, 16, 16));
FIELDS(arp, F("htype", integer, 0, 16), F("ptype", ether_type, 16, 16), F("hlen", integer, 32, 8),
       F("plen", integer, 40, 8), F("operation", arp_op, 48, 16),
       F("saddr ether", ether_addr, 64, 48), F("saddr ip", ipv4_addr, 112, 32),
       F("daddr ether", ether_addr, 144, 48), F("daddr ip", ipv4_addr, 192, 32));
FIELDS(ip, F("version", integer, 0, 4), F("hdrlength", integer, 4, 4), F("dscp", dscp, 8, 6),
       F("ecn", ecn, 14, 2), F("length", integer, 16, 16), F("id", integer, 32, 16),
       F("frag-off", xinteger, 48, 16), F("ttl", integer, 64, 8), F("protocol", inet_proto, 72, 8),
       F("checksum", integer, 80, 16), F("saddr", ipv4_addr, 96, 32),
       F("daddr", ipv4_addr, 128, 32));
FIELDS(icmp, F("type", icmp_type, 0, 8), F("code", icmp_code, 8, 8), F("checksum", integer, 16, 16),
       F("id", integer, 32, 16), F("sequence", integer, 48, 16), F("gateway", integer, 32, 32),
       F("mtu", integer, 48, 16));
FIELDS(igmp, F("type", igmp_type, 0, 8), F("mrt", integer, 8, 8), F("checksum", integer, 16, 16),
       F("group", integer, 32, 32));
FIELDS(ip6, F("version", integer, 0, 4), F("dscp", dscp, 4, 6), F("ecn", ecn, 10, 2),
       F("flowlabel", integer, 12, 20), F("length", integer, 32, 16),
       F("nexthdr", inet_proto, 48, 8), F("hoplimit", integer, 56, 8),
       F("saddr", ipv6_addr, 64, 128), F("daddr", ipv6_addr, 192, 128));
FIELDS(icmpv6, F("type", icmpv6_type, 0, 8), F("code", icmpv6_code, 8, 8),
       F("checksum", integer, 16, 16), F("parameter-problem", integer, 32, 32),
       F("mtu", integer, 32, 32), F("id", integer, 32, 16), F("sequence", integer, 48, 16),
       F("max-delay", integer, 32, 16), F("taddr", ipv6_addr, 64, 128),
       F("daddr", ipv6_addr, 192, 128));
FIELDS(tcp, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16),
       F("sequence", integer, 32, 32), F("ackseq", integer, 64, 32), F("doff", integer, 96, 4),
       F("reserved", integer, 100, 4), F("flags", tcp_flag, 104, 8), F("window", integer, 112, 16),
       F("checksum", integer, 128, 16), F("urgptr", integer, 144, 16));
FIELDS(udp, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16),
       F("length", integer, 32, 16), F("checksum", integer, 48, 16));
FIELDS(udplite, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16),
       F("csumcov", integer, 32, 16), F("checksum", integer, 48, 16));
FIELDS(sctp, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16),
       F("vtag", integer, 32, 32), F("checksum", integer, 64, 32));
FIELDS(dccp, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16),
       F("type", dccp_pkttype, 67, 4));
FIELDS(th, F("sport", inet_service, 0, 16), F("dport", inet_service, 16, 16));
FIELDS(ah, F("nexthdr", inet_proto, 0, 8), F("hdrlength", integer, 8, 8),
       F("reserved", integer, 16, 16), F("spi", integer, 32, 32), F("sequence", integer, 64, 32));
FIELDS(esp, F("spi", integer, 0, 32), F("sequence", integer, 32, 32));
FIELDS(comp, F("nexthdr", inet_proto, 0, 8), F("flags", bitmask, 8, 8), F("cpi", integer, 16, 16));
FIELDS(gre, F("flags", integer, 0, 5), F("version", integer, 13, 3),
       F("protocol", ether_type, 16, 16));
FIELDS(vxlan, F("flags", bitmask, 0, 8), F("vni", integer, 32, 24));
FIELDS(geneve, F("type", ether_type, 16, 16), F("vni", integer, 32, 24));

HEADER(ether, "ether", .base = PB_LL);
HEADER(vlan, "vlan", .base = PB_LL, .ethertype = 0x8100);
HEADER(arp, "arp", .base = PB_NH, .ethertype = 0x0806);
HEADER(ip, "ip", .base = PB_NH, .ethertype = 0x0800, .checksum = &ip_fields[9]);
HEADER(ip6, "ip6", .base = PB_NH, .ethertype = 0x86dd);
HEADER(icmp, "icmp", .base = PB_TH, .l4proto = 1, .checksum = &icmp_fields[2]);
HEADER(igmp, "igmp", .base = PB_TH, .l4proto = 2, .checksum = &igmp_fields[2]);
HEADER(icmpv6, "icmpv6", .base = PB_TH, .l4proto = 58, .checksum = &icmpv6_fields[2]);
HEADER(tcp, "tcp", .base = PB_TH, .l4proto = 6, .checksum = &tcp_fields[8]);
HEADER(udp, "udp", .base = PB_TH, .l4proto = 17, .checksum = &udp_fields[3]);
HEADER(udplite, "udplite", .base = PB_TH, .l4proto = 136);
HEADER(sctp, "sctp", .base = PB_TH, .l4proto = 132, .checksum = &sctp_fields[3]);
HEADER(dccp, "dccp", .base = PB_TH, .l4proto = 33);
HEADER(th, "th", .base = PB_TH);
HEADER(ah, "ah", .base = PB_TH, .l4proto = 51);
HEADER(esp, "esp", .base = PB_TH, .l4proto = 50);
HEADER(comp, "comp", .base = PB_TH, .l4proto = 108);
HEADER(gre, "gre", .base = PB_TH, .l4proto = 47, .inner = true);
const struct proto_header proto_gretap = {
	.name = "gretap", .base = PB_TH, .l4proto = 47, .inner = true};
HEADER(vxlan, "vxlan", .base = PB_IH, .l4proto = 17, .inner = true);
HEADER(geneve, "geneve", .base = PB_IH, .l4proto = 17, .inner = true);

const struct proto_header *const proto_headers[] = {
	&proto_ether,  &proto_vlan,   &proto_arp,    &proto_ip,	 &proto_ip6,	 &proto_icmp,
	&proto_igmp,   &proto_icmpv6, &proto_tcp,    &proto_udp, &proto_udplite, &proto_sctp,
	&proto_dccp,   &proto_th,     &proto_ah,     &proto_esp, &proto_comp,	 &proto_gre,
	&proto_gretap, &proto_vxlan,  &proto_geneve, NULL,
};

static bool name_is(const char *name, const char *text, size_t len)
{
	return !strncmp(name, text, len) && !name[len];
}

const struct proto_header *proto_find(const char *name, size_t len)
{
	for (size_t i = 0; proto_headers[i]; i++)
		if (name_is(proto_headers[i]->name, name, len))
			return proto_headers[i];
	return NULL;
}

const struct proto_field *proto_field_find(const struct proto_header *h, const char *name,
					   size_t len)
{
	if (h == &proto_vlan && name_is("cfi", name, len))
		return &vlan_fields[1];
	if (h == &proto_icmpv6 && name_is("packet-too-big", name, len))
		return &icmpv6_fields[4];
	for (unsigned i = 0; i < h->n_fields; i++)
		if (name_is(h->fields[i].name, name, len))
			return &h->fields[i];
	return NULL;
}

const struct key_desc meta_keys[META_KEYS_N] = {
#define X(id, name, type, bits, writable) {name, &type_##type, bits, writable},
	META_KEYS(X)
#undef X
};

const struct key_desc ct_keys[CT_KEYS_N] = {
#define X(id, name, type, bits, writable) {name, &type_##type, bits, writable},
	CT_KEYS(X)
#undef X
};

int meta_key_find(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum meta_key key;
	} older[] = {
		{"secpath", META_IPSEC},       {"ibriport", META_IBRNAME},
		{"obriport", META_OBRNAME},    {"ibridgename", META_IBRNAME},
		{"obridgename", META_OBRNAME},
	};

	for (size_t i = 0; i < ARRAY_SIZE(older); i++)
		if (name_is(older[i].name, name, len))
			return older[i].key;
	for (int i = 0; i < META_KEYS_N; i++)
		if (name_is(meta_keys[i].name, name, len))
			return i;
	return -1;
}

int ct_key_find(const char *name, size_t len)
{
	for (int i = 0; i < CT_KEYS_N; i++)
		if (name_is(ct_keys[i].name, name, len))
			return i;
	return -1;
}

bool meta_key_is_unqualified(enum meta_key k)
{
	switch (k) {
	case META_IIF:
	case META_OIF:
	case META_IIFNAME:
	case META_OIFNAME:
	case META_IIFGROUP:
	case META_OIFGROUP:
		return true;
	default:
		return false;
	}
}
