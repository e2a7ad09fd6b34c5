/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: the table of types and their names for values, as `nft describe` and nft(8) give them.
 *
 * Where a value has several names, the first is the one that is listed. Constant; any thread.
 */
#include "lang/datatype_int.h"

#define SYMBOLS(id, ...) static const struct symbol id[] = {__VA_ARGS__, {NULL, 0}}

SYMBOLS(nfproto_names, {"ipv4", 2}, {"ipv6", 10});
SYMBOLS(ether_names, {"ip", 0x0800}, {"arp", 0x0806}, {"ip6", 0x86dd}, {"8021q", 0x8100},
	{"8021ad", 0x88a8}, {"vlan", 0x8100});
SYMBOLS(arp_op_names, {"request", 1}, {"reply", 2}, {"rrequest", 3}, {"rreply", 4},
	{"inrequest", 8}, {"inreply", 9}, {"nak", 10});
SYMBOLS(icmp_names, {"echo-reply", 0}, {"destination-unreachable", 3}, {"source-quench", 4},
	{"redirect", 5}, {"echo-request", 8}, {"router-advertisement", 9},
	{"router-solicitation", 10}, {"time-exceeded", 11}, {"parameter-problem", 12},
	{"timestamp-request", 13}, {"timestamp-reply", 14}, {"info-request", 15},
	{"info-reply", 16}, {"address-mask-request", 17}, {"address-mask-reply", 18});
SYMBOLS(icmpv6_names, {"destination-unreachable", 1}, {"packet-too-big", 2}, {"time-exceeded", 3},
	{"parameter-problem", 4}, {"echo-request", 128}, {"echo-reply", 129},
	{"mld-listener-query", 130}, {"mld-listener-report", 131}, {"mld-listener-done", 132},
	{"mld-listener-reduction", 132}, {"nd-router-solicit", 133}, {"nd-router-advert", 134},
	{"nd-neighbor-solicit", 135}, {"nd-neighbor-advert", 136}, {"nd-redirect", 137},
	{"router-renumbering", 138}, {"ind-neighbor-solicit", 141}, {"ind-neighbor-advert", 142},
	{"mld2-listener-report", 143});
SYMBOLS(tcp_flag_names, {"fin", 0x01}, {"syn", 0x02}, {"rst", 0x04}, {"psh", 0x08}, {"ack", 0x10},
	{"urg", 0x20}, {"ecn", 0x40}, {"cwr", 0x80});
SYMBOLS(dccp_names, {"request", 0}, {"response", 1}, {"data", 2}, {"ack", 3}, {"dataack", 4},
	{"closereq", 5}, {"close", 6}, {"reset", 7}, {"sync", 8}, {"syncack", 9});
SYMBOLS(mh_names, {"binding-refresh-request", 0}, {"home-test-init", 1}, {"careof-test-init", 2},
	{"home-test", 3}, {"careof-test", 4}, {"binding-update", 5}, {"binding-acknowledgement", 6},
	{"binding-error", 7}, {"fast-binding-update", 8}, {"fast-binding-acknowledgement", 9},
	{"fast-binding-advertisement", 10}, {"experimental-mobility-header", 11},
	{"home-agent-switch-message", 12});
SYMBOLS(iface_type_names, {"ether", 1}, {"ppp", 512}, {"ipip", 768}, {"ipip6", 769},
	{"loopback", 772}, {"sit", 776}, {"ipgre", 778});
SYMBOLS(classid_names, {"none", 0}, {"root", UINT32_MAX});
SYMBOLS(ct_state_names, {"invalid", 1}, {"new", 8}, {"established", 2}, {"related", 4},
	{"untracked", 64});
SYMBOLS(ct_dir_names, {"original", 0}, {"reply", 1});
SYMBOLS(ct_status_names, {"expected", 0x1}, {"seen-reply", 0x2}, {"assured", 0x4},
	{"confirmed", 0x8}, {"snat", 0x10}, {"dnat", 0x20}, {"dying", 0x200});
SYMBOLS(ct_event_names, {"new", 0x1}, {"related", 0x2}, {"destroy", 0x4}, {"reply", 0x8},
	{"assured", 0x10}, {"protoinfo", 0x20}, {"helper", 0x40}, {"mark", 0x80}, {"seqadj", 0x100},
	{"secmark", 0x200}, {"label", 0x400});
SYMBOLS(pkt_type_names, {"host", 0}, {"unicast", 0}, {"broadcast", 1}, {"multicast", 2},
	{"other", 3});
SYMBOLS(icmp_code_names, {"net-unreachable", 0}, {"host-unreachable", 1}, {"prot-unreachable", 2},
	{"port-unreachable", 3}, {"frag-needed", 4}, {"net-prohibited", 9}, {"host-prohibited", 10},
	{"admin-prohibited", 13});
SYMBOLS(icmpv6_code_names, {"no-route", 0}, {"admin-prohibited", 1}, {"addr-unreachable", 3},
	{"port-unreachable", 4}, {"policy-fail", 5}, {"reject-route", 6});
SYMBOLS(icmpx_code_names, {"no-route", 0}, {"port-unreachable", 1}, {"host-unreachable", 2},
	{"admin-prohibited", 3});
SYMBOLS(dscp_names, {"cs0", 0x00}, {"cs1", 0x08}, {"cs2", 0x10}, {"cs3", 0x18}, {"cs4", 0x20},
	{"cs5", 0x28}, {"cs6", 0x30}, {"cs7", 0x38}, {"df", 0x00}, {"be", 0x00}, {"lephb", 0x01},
	{"af11", 0x0a}, {"af12", 0x0c}, {"af13", 0x0e}, {"af21", 0x12}, {"af22", 0x14},
	{"af23", 0x16}, {"af31", 0x1a}, {"af32", 0x1c}, {"af33", 0x1e}, {"af41", 0x22},
	{"af42", 0x24}, {"af43", 0x26}, {"va", 0x2c}, {"ef", 0x2e});
SYMBOLS(ecn_names, {"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3});
SYMBOLS(fib_names, {"unspec", 0}, {"unicast", 1}, {"local", 2}, {"broadcast", 3}, {"anycast", 4},
	{"multicast", 5}, {"blackhole", 6}, {"unreachable", 7}, {"prohibit", 8});
SYMBOLS(boolean_names, {"exists", 1}, {"missing", 0});
SYMBOLS(igmp_names, {"membership-query", 0x11}, {"membership-report-v1", 0x12},
	{"membership-report-v2", 0x16}, {"membership-report-v3", 0x22}, {"leave-group", 0x17});
SYMBOLS(day_names, {"Sunday", 0}, {"Monday", 1}, {"Tuesday", 2}, {"Wednesday", 3}, {"Thursday", 4},
	{"Friday", 5}, {"Saturday", 6});
SYMBOLS(mptcp_names, {"mp-capable", 0}, {"mp-join", 1}, {"dss", 2}, {"add-addr", 3},
	{"remove-addr", 4}, {"mp-prio", 5}, {"mp-fail", 6}, {"mp-fastclose", 7}, {"mp-tcprst", 8});

#define TYPE(id, name_, desc_, bits_, ...)                                                         \
	const struct datatype type_##id = {.name = name_, .desc = desc_, .bits = bits_, __VA_ARGS__}
#define INTEGER	     .base = TBASE_INTEGER, .parent = &type_integer
#define BITMASK	     .base = TBASE_BITMASK, .parent = &type_bitmask
#define HEX(n)	     .radix = 16, .digits = n
#define NAMES(table) .symbols = table, .symbols_print = true
#define OWN(type)    .parse = type##_parse, .print = type##_print

TYPE(invalid, "invalid", "invalid", 0, .base = TBASE_INTEGER);
TYPE(verdict, "verdict", "netfilter verdict", 0, .base = TBASE_VERDICT);
TYPE(integer, "integer", "integer", 0, .base = TBASE_INTEGER, .radix = 10, OWN(type_integer));
TYPE(xinteger, "integer", "integer", 0, INTEGER, HEX(0));
TYPE(bitmask, "bitmask", "bitmask", 0, .base = TBASE_BITMASK, .parent = &type_integer, HEX(0));
TYPE(string, "string", "string", 0, .base = TBASE_STRING, OWN(type_string));

TYPE(nfproto, "nf_proto", "netfilter protocol", 8, INTEGER, NAMES(nfproto_names));
TYPE(lladdr, "ll_addr", "link layer address", 0, INTEGER, .radix = 16, .prefix = true,
     OWN(type_lladdr));
TYPE(ipv4_addr, "ipv4_addr", "IPv4 address", 32, INTEGER, .prefix = true, OWN(type_ipv4));
TYPE(ipv6_addr, "ipv6_addr", "IPv6 address", 128, INTEGER, .prefix = true, OWN(type_ipv6));
TYPE(ether_addr, "ether_addr", "Ethernet address", 48, .base = TBASE_INTEGER,
     .parent = &type_lladdr);
TYPE(ether_type, "ether_type", "Ethernet protocol", 16, INTEGER, NAMES(ether_names), HEX(4));
TYPE(arp_op, "arp_op", "ARP operation", 16, INTEGER, NAMES(arp_op_names));
TYPE(inet_proto, "inet_proto", "Internet protocol", 8, INTEGER, OWN(type_protocol));
TYPE(inet_service, "inet_service", "internet network service", 16, INTEGER,
     .parse = type_service_parse);
TYPE(icmp_type, "icmp_type", "ICMP type", 8, INTEGER, NAMES(icmp_names));
TYPE(icmpv6_type, "icmpv6_type", "ICMPv6 type", 8, INTEGER, NAMES(icmpv6_names));
TYPE(igmp_type, "igmp_type", "IGMP type", 8, INTEGER, NAMES(igmp_names));
TYPE(tcp_flag, "tcp_flag", "TCP flag", 8, BITMASK, NAMES(tcp_flag_names), HEX(0));
TYPE(dccp_pkttype, "dccp_pkttype", "DCCP packet type", 4, INTEGER, NAMES(dccp_names));
TYPE(mh_type, "mh_type", "Mobility Header Type", 8, INTEGER, NAMES(mh_names));
TYPE(time, "time", "relative time", 64, INTEGER, OWN(type_time));
TYPE(mark, "mark", "packet mark", 32, INTEGER, HEX(8), OWN(type_mark));
TYPE(iface_index, "iface_index", "network interface index", 32, INTEGER, OWN(type_ifindex));
TYPE(iface_type, "iface_type", "network interface type", 16, INTEGER, NAMES(iface_type_names));
TYPE(realm, "realm", "routing realm", 32, INTEGER, OWN(type_realm));
TYPE(classid, "classid", "TC classid", 32, INTEGER, .symbols = classid_names, OWN(type_classid));
TYPE(uid, "uid", "user ID", 32, INTEGER, .parse = type_uid_parse);
TYPE(gid, "gid", "group ID", 32, INTEGER, .parse = type_gid_parse);
TYPE(ct_state, "ct_state", "conntrack state", 32, BITMASK, NAMES(ct_state_names), HEX(0));
TYPE(ct_dir, "ct_dir", "conntrack direction", 8, INTEGER, NAMES(ct_dir_names));
TYPE(ct_status, "ct_status", "conntrack status", 32, BITMASK, NAMES(ct_status_names), HEX(0));
TYPE(ct_label, "ct_label", "conntrack label", 128, .base = TBASE_BITMASK, .parent = &type_bitmask,
     HEX(0), OWN(type_label));
TYPE(ct_event, "ct_event", "conntrack event bits", 32, BITMASK, NAMES(ct_event_names), HEX(0));
TYPE(ct_id, "ct_id", "conntrack id", 32, INTEGER);
TYPE(pkt_type, "pkt_type", "packet type", 8, INTEGER, NAMES(pkt_type_names));
TYPE(icmp_code, "icmp_code", "icmp code", 8, INTEGER, .symbols = icmp_code_names);
TYPE(icmpv6_code, "icmpv6_code", "icmpv6 code", 8, INTEGER, .symbols = icmpv6_code_names);
TYPE(icmpx_code, "icmpx_code", "icmpx code", 8, INTEGER, .symbols = icmpx_code_names);
TYPE(devgroup, "devgroup", "devgroup name", 32, INTEGER, OWN(type_devgroup));
TYPE(dscp, "dscp", "Differentiated Services Code Point", 6, INTEGER, NAMES(dscp_names), HEX(2));
TYPE(ecn, "ecn", "Explicit Congestion Notification", 2, INTEGER, NAMES(ecn_names), HEX(0));
TYPE(fib_addrtype, "fib_addrtype", "fib address type", 32, INTEGER, NAMES(fib_names));
TYPE(boolean, "boolean", "boolean type", 1, INTEGER, NAMES(boolean_names));
TYPE(exthdr_bool, "boolean", "boolean type", 1, INTEGER, NAMES(boolean_names));
TYPE(ifname, "ifname", "network interface name", 128, .base = TBASE_STRING, .parent = &type_string,
     OWN(type_ifname));
TYPE(time_date, "time", "Relative time of packet reception", 64, INTEGER, OWN(type_date));
TYPE(time_hour, "hour", "Hour of day of packet reception", 32, INTEGER, .max = 86399,
     OWN(type_hour));
TYPE(time_day, "day", "Day of week of packet reception", 8, INTEGER, .max = 6, .symbols = day_names,
     .print = type_day_print);
TYPE(cgroupsv2, "cgroupsv2", "cgroupsv2 path", 64, INTEGER, .parse = type_cgroup_parse);
TYPE(geneve_opt_type, "integer", "integer", 8, INTEGER);
TYPE(mptcp_subtype, "mptcp option subtype", "mptcp option subtype", 4, INTEGER, NAMES(mptcp_names));
