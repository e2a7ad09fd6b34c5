/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto: the protocol headers, options and keys that the language names, as tables.
 *
 * A header has fields at bit offsets; adding a field is one row. Which header follows which is data
 * too: `upper` says under which number of the lower header this one is found, which is what the
 * dependencies that nft adds are made from. Constant tables, any thread.
 */
#ifndef TAMIS_LANG_PROTO_H
#define TAMIS_LANG_PROTO_H

#include "lang/datatype.h"

enum proto_base { PB_LL, PB_NH, PB_TH, PB_IH };

struct proto_field {
	const char *name;
	const struct datatype *type;
	uint16_t off, bits; /* from the header's first bit; bits count from the most significant */
};

struct proto_header {
	const char *name;
	uint8_t base;	 /* enum proto_base */
	uint8_t l4proto; /* IP protocol of a transport header or of the one that carries it, or 0 */
	uint16_t ethertype; /* Ethernet protocol of a network header, 0 for the others */
	uint8_t n_fields;
	const struct proto_field *fields;
	const struct proto_field *checksum; /* NULL, or the field that a payload statement fixes */
	bool inner; /* vxlan, geneve, gre, gretap: an inner packet follows it */
};

extern const struct proto_header proto_ether, proto_vlan, proto_arp, proto_ip, proto_icmp,
	proto_igmp, proto_ip6, proto_icmpv6, proto_tcp, proto_udp, proto_udplite, proto_sctp,
	proto_dccp, proto_th, proto_ah, proto_esp, proto_comp, proto_gre, proto_gretap,
	proto_vxlan, proto_geneve;

const struct proto_header *proto_find(const char *name, size_t len);
const struct proto_field *proto_field_find(const struct proto_header *h, const char *name,
					   size_t len);

/*
 * IPv6 extension headers, TCP and IPv4 options, SCTP chunks: kind and the fields inside. Offsets
 * count from the option's first bit, its kind included. Several names may share a kind: sack and
 * sack0 to sack3 are blocks of one option, rt0, rt2 and srh are routing headers of one type. The
 * fields `rt0 addr[N]` and `srh sid[N]` repeat: EX_OPTION's `off` says how many bits further on.
 */
struct proto_option {
	const char *name;
	uint16_t kind;
	uint8_t n_fields;
	const struct proto_field *fields;
};

enum option_class { OPT_EXTHDR, OPT_TCP, OPT_IP, OPT_SCTP_CHUNK, OPT_DCCP, OPT_CLASSES };

const struct proto_option *option_find(enum option_class c, const char *name, size_t len);
/* The first of that kind, or NULL. */
const struct proto_option *option_by_kind(enum option_class c, unsigned kind);
const struct proto_field *option_field_find(const struct proto_option *o, const char *name,
					    size_t len);

/* Keys of meta, ct, rt, socket, ...: one table each, an enum beside it for the evaluator. */
struct key_desc {
	const char *name;
	const struct datatype *type;
	uint16_t bits;
	bool writable;
};

#define META_KEYS(X)                                                                        \
	X(LENGTH, "length", integer, 32, 0) X(PROTOCOL, "protocol", ether_type, 16, 0)      \
	X(NFPROTO, "nfproto", nfproto, 8, 0) X(L4PROTO, "l4proto", inet_proto, 8, 0)        \
	X(PRIORITY, "priority", classid, 32, 1) X(MARK, "mark", mark, 32, 1)                \
	X(IIF, "iif", iface_index, 32, 0) X(IIFNAME, "iifname", ifname, 128, 0)             \
	X(IIFTYPE, "iiftype", iface_type, 16, 0) X(OIF, "oif", iface_index, 32, 0)          \
	X(OIFNAME, "oifname", ifname, 128, 0) X(OIFTYPE, "oiftype", iface_type, 16, 0)      \
	X(SKUID, "skuid", uid, 32, 0) X(SKGID, "skgid", gid, 32, 0)                         \
	X(NFTRACE, "nftrace", integer, 1, 1) X(RTCLASSID, "rtclassid", realm, 32, 0)        \
	X(IBRNAME, "ibrname", ifname, 128, 0) X(OBRNAME, "obrname", ifname, 128, 0)         \
	X(PKTTYPE, "pkttype", pkt_type, 8, 1) X(CPU, "cpu", integer, 32, 0)                 \
	X(IIFGROUP, "iifgroup", devgroup, 32, 0) X(OIFGROUP, "oifgroup", devgroup, 32, 0)   \
	X(CGROUP, "cgroup", integer, 32, 0) X(RANDOM, "random", integer, 32, 0)             \
	X(IPSEC, "ipsec", boolean, 8, 0) X(SECPATH, "secpath", boolean, 8, 0)               \
	X(IIFKIND, "iifkind", ifname, 128, 0) X(OIFKIND, "oifkind", ifname, 128, 0)         \
	X(IBRPVID, "ibrpvid", integer, 16, 0) X(IBRVPROTO, "ibrvproto", ether_type, 16, 0)  \
	X(TIME, "time", time_date, 64, 0) X(DAY, "day", time_day, 8, 0)                     \
	X(HOUR, "hour", time_hour, 32, 0) X(SECMARK, "secmark", integer, 32, 1)             \
	X(SDIF, "sdif", iface_index, 32, 0) X(SDIFNAME, "sdifname", ifname, 128, 0)         \
	X(BROUTE, "broute", integer, 8, 1) X(IBRHWADDR, "ibrhwaddr", ether_addr, 48, 0)

enum meta_key {
#define X(id, name, type, bits, writable) META_##id,
	META_KEYS(X)
#undef X
	META_KEYS_N
};

#define CT_KEYS(X)                                                                          \
	X(STATE, "state", ct_state, 32, 0) X(DIRECTION, "direction", ct_dir, 8, 0)          \
	X(STATUS, "status", ct_status, 32, 0) X(MARK, "mark", mark, 32, 1)                  \
	X(EXPIRATION, "expiration", time, 32, 0) X(HELPER, "helper", string, 128, 1)        \
	X(L3PROTO, "l3proto", nfproto, 8, 0) X(PROTOCOL, "protocol", inet_proto, 8, 0)      \
	X(SADDR, "saddr", invalid, 0, 0) X(DADDR, "daddr", invalid, 0, 0)                   \
	X(SADDR_IP, "saddr", ipv4_addr, 32, 0) X(DADDR_IP, "daddr", ipv4_addr, 32, 0)       \
	X(SADDR_IP6, "saddr", ipv6_addr, 128, 0) X(DADDR_IP6, "daddr", ipv6_addr, 128, 0)   \
	X(PROTO_SRC, "proto-src", inet_service, 16, 0)                                      \
	X(PROTO_DST, "proto-dst", inet_service, 16, 0) X(LABEL, "label", ct_label, 128, 1)  \
	X(BYTES, "bytes", integer, 64, 0) X(PACKETS, "packets", integer, 64, 0)             \
	X(AVGPKT, "avgpkt", integer, 64, 0) X(ZONE, "zone", integer, 16, 1)                 \
	X(EVENT, "event", ct_event, 32, 1) X(SECMARK, "secmark", integer, 32, 1)            \
	X(ID, "id", ct_id, 32, 0) X(TIMEOUT, "timeout", string, 128, 1)                     \
	X(EXPECTATION, "expectation", string, 128, 1)

enum ct_key {
#define X(id, name, type, bits, writable) CT_##id,
	CT_KEYS(X)
#undef X
	CT_KEYS_N
};

/* All headers of the language, for walks; ends with NULL. */
extern const struct proto_header *const proto_headers[];
/* All options of a class. */
const struct proto_option *option_table(enum option_class c, unsigned *n);

extern const struct key_desc meta_keys[META_KEYS_N], ct_keys[CT_KEYS_N];
/* The index in the table, or -1. Names of older versions are known too (`meta secpath`). */
int meta_key_find(const char *name, size_t len);
/* CT_SADDR and CT_DADDR for `saddr` and `daddr`: the family makes them the keys behind. */
int ct_key_find(const char *name, size_t len);
/* Whether nft lists the key without `meta` in front of it (iifname is, mark is not). */
bool meta_key_is_unqualified(enum meta_key k);

#endif
