/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto: what stands in lists and chains inside packets: IPv6 extension headers, TCP and IPv4
 * options, SCTP chunks.
 *
 * Offsets are those of RFC 8200, 6275, 8754 (extension headers), 9293, 2018, 7323, 8684 (TCP), 791,
 * 2113 (IPv4), 9260, 5061, 3758 (SCTP). DCCP options have numbers only. Constant tables; any
 * thread.
 */
#include "lang/proto.h"

#define FIELDS(id, ...) static const struct proto_field id[] = {__VA_ARGS__}
#define F(name, type, off, bits)                                                                   \
	{                                                                                          \
		name, &type_##type, off, bits                                                      \
	}
#define O(name, kind, fields)                                                                      \
	{                                                                                          \
		name, kind, ARRAY_SIZE(fields), fields                                             \
	}

FIELDS(hbh_fields, F("nexthdr", inet_proto, 0, 8), F("hdrlength", integer, 8, 8));
FIELDS(rt_fields, F("nexthdr", inet_proto, 0, 8), F("hdrlength", integer, 8, 8),
       F("type", integer, 16, 8), F("seg-left", integer, 24, 8));
FIELDS(rt0_fields, F("addr", ipv6_addr, 64, 128));
FIELDS(rt2_fields, F("addr", ipv6_addr, 64, 128));
FIELDS(srh_fields, F("last-entry", integer, 32, 8), F("flags", integer, 40, 8),
       F("tag", integer, 48, 16), F("sid", ipv6_addr, 64, 128));
FIELDS(frag_fields, F("nexthdr", inet_proto, 0, 8), F("reserved", integer, 8, 8),
       F("frag-off", integer, 16, 13), F("reserved2", integer, 29, 2),
       F("more-fragments", integer, 31, 1), F("id", integer, 32, 32));
FIELDS(mh_fields, F("nexthdr", inet_proto, 0, 8), F("hdrlength", integer, 8, 8),
       F("type", mh_type, 16, 8), F("reserved", integer, 24, 8), F("checksum", integer, 32, 16));

static const struct proto_option exthdrs[] = {
	O("hbh", 0, hbh_fields),  O("rt", 43, rt_fields),   O("rt0", 43, rt0_fields),
	O("rt2", 43, rt2_fields), O("srh", 43, srh_fields), O("frag", 44, frag_fields),
	O("dst", 60, hbh_fields), O("mh", 135, mh_fields),
};

#define TCP_KIND      F("kind", integer, 0, 8)
#define TCP_HEAD      TCP_KIND, F("length", integer, 8, 8)
#define TCP_SACK(off) TCP_HEAD, F("left", integer, off, 32), F("right", integer, (off) + 32, 32)

FIELDS(tcp_one_fields, TCP_KIND);
FIELDS(tcp_plain_fields, TCP_HEAD);
FIELDS(tcp_maxseg_fields, TCP_HEAD, F("size", integer, 16, 16));
FIELDS(tcp_window_fields, TCP_HEAD, F("count", integer, 16, 8));
FIELDS(tcp_sack0_fields, TCP_SACK(16));
FIELDS(tcp_sack1_fields, TCP_SACK(80));
FIELDS(tcp_sack2_fields, TCP_SACK(144));
FIELDS(tcp_sack3_fields, TCP_SACK(208));
FIELDS(tcp_timestamp_fields, TCP_HEAD, F("tsval", integer, 16, 32), F("tsecr", integer, 48, 32));
FIELDS(tcp_mptcp_fields, TCP_HEAD, F("subtype", mptcp_subtype, 16, 4));

static const struct proto_option tcp_options[] = {
	O("eol", 0, tcp_one_fields),
	O("nop", 1, tcp_one_fields),
	O("maxseg", 2, tcp_maxseg_fields),
	O("window", 3, tcp_window_fields),
	O("sack-perm", 4, tcp_plain_fields),
	O("sack", 5, tcp_sack0_fields),
	O("sack0", 5, tcp_sack0_fields),
	O("sack1", 5, tcp_sack1_fields),
	O("sack2", 5, tcp_sack2_fields),
	O("sack3", 5, tcp_sack3_fields),
	O("timestamp", 8, tcp_timestamp_fields),
	O("md5sig", 19, tcp_plain_fields),
	O("mptcp", 30, tcp_mptcp_fields),
	O("fastopen", 34, tcp_plain_fields),
};

#define IP_HEAD F("type", integer, 0, 8), F("length", integer, 8, 8)

FIELDS(ip_route_fields, IP_HEAD, F("ptr", integer, 16, 8), F("addr", integer, 24, 32));
FIELDS(ip_ra_fields, IP_HEAD, F("value", integer, 16, 16));

static const struct proto_option ip_options[] = {
	O("lsrr", 131, ip_route_fields),
	O("ra", 148, ip_ra_fields),
	O("rr", 7, ip_route_fields),
	O("ssrr", 137, ip_route_fields),
};

#define SCTP_HEAD F("type", integer, 0, 8), F("flags", integer, 8, 8), F("length", integer, 16, 16)
#define SCTP_INIT                                                                                  \
	SCTP_HEAD, F("init-tag", integer, 32, 32), F("a-rwnd", integer, 64, 32),                   \
		F("num-outbound-streams", integer, 96, 16),                                        \
		F("num-inbound-streams", integer, 112, 16), F("initial-tsn", integer, 128, 32)

FIELDS(sctp_plain_fields, SCTP_HEAD);
FIELDS(sctp_data_fields, SCTP_HEAD, F("tsn", integer, 32, 32), F("stream", integer, 64, 16),
       F("ssn", integer, 80, 16), F("ppid", integer, 96, 32));
FIELDS(sctp_init_fields, SCTP_INIT);
FIELDS(sctp_sack_fields, SCTP_HEAD, F("cum-tsn-ack", integer, 32, 32), F("a-rwnd", integer, 64, 32),
       F("num-gap-ack-blocks", integer, 96, 16), F("num-dup-tsns", integer, 112, 16));
FIELDS(sctp_shutdown_fields, SCTP_HEAD, F("cum-tsn-ack", integer, 32, 32));
FIELDS(sctp_lowest_fields, SCTP_HEAD, F("lowest-tsn", integer, 32, 32));
FIELDS(sctp_asconf_fields, SCTP_HEAD, F("seqno", integer, 32, 32));
FIELDS(sctp_forward_fields, SCTP_HEAD, F("new-cum-tsn", integer, 32, 32));

static const struct proto_option sctp_chunks[] = {
	O("data", 0, sctp_data_fields),
	O("init", 1, sctp_init_fields),
	O("init-ack", 2, sctp_init_fields),
	O("sack", 3, sctp_sack_fields),
	O("heartbeat", 4, sctp_plain_fields),
	O("heartbeat-ack", 5, sctp_plain_fields),
	O("abort", 6, sctp_plain_fields),
	O("shutdown", 7, sctp_shutdown_fields),
	O("shutdown-ack", 8, sctp_plain_fields),
	O("error", 9, sctp_plain_fields),
	O("cookie-echo", 10, sctp_plain_fields),
	O("cookie-ack", 11, sctp_plain_fields),
	O("ecne", 12, sctp_lowest_fields),
	O("cwr", 13, sctp_lowest_fields),
	O("shutdown-complete", 14, sctp_plain_fields),
	O("asconf-ack", 0x80, sctp_asconf_fields),
	O("forward-tsn", 0xc0, sctp_forward_fields),
	O("asconf", 0xc1, sctp_asconf_fields),
};

static const struct {
	const struct proto_option *options;
	unsigned n;
} classes[] = {
	[OPT_EXTHDR] = {exthdrs, ARRAY_SIZE(exthdrs)},
	[OPT_TCP] = {tcp_options, ARRAY_SIZE(tcp_options)},
	[OPT_IP] = {ip_options, ARRAY_SIZE(ip_options)},
	[OPT_SCTP_CHUNK] = {sctp_chunks, ARRAY_SIZE(sctp_chunks)},
	[OPT_DCCP] = {NULL, 0},
};
_Static_assert(ARRAY_SIZE(classes) == OPT_CLASSES, "one table for each class");

const struct proto_option *option_table(enum option_class c, unsigned *n)
{
	*n = classes[c].n;
	return classes[c].options;
}

static bool name_is(const char *name, const char *text, size_t len)
{
	return !strncmp(name, text, len) && !name[len];
}

const struct proto_option *option_find(enum option_class c, const char *name, size_t len)
{
	if (c == OPT_TCP && name_is("sack-permitted", name, len))
		return option_find(c, "sack-perm", 9);
	for (unsigned i = 0; i < classes[c].n; i++)
		if (name_is(classes[c].options[i].name, name, len))
			return &classes[c].options[i];
	return NULL;
}

const struct proto_option *option_by_kind(enum option_class c, unsigned kind)
{
	for (unsigned i = 0; i < classes[c].n; i++)
		if (classes[c].options[i].kind == kind)
			return &classes[c].options[i];
	return NULL;
}

const struct proto_field *option_field_find(const struct proto_option *o, const char *name,
					    size_t len)
{
	for (unsigned i = 0; i < o->n_fields; i++)
		if (name_is(o->fields[i].name, name, len))
			return &o->fields[i];
	return NULL;
}
