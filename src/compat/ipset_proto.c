/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_proto: protocols, ports and ICMP messages as ipset names them: IANA's names of protocols,
 * names of ports from the host's services. Any thread.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "compat/ipset_int.h"

enum { ICMP = 1, TCP = 6, UDP = 17, ICMPV6 = 58, SCTP = 132, UDPLITE = 136, SERVICE_BUFFER = 2048 };

static const char *const protocols[] = {
	[1] = "icmp",	     [2] = "igmp",
	[3] = "ggp",	     [4] = "ipencap",
	[5] = "st",	     [6] = "tcp",
	[8] = "egp",	     [9] = "igp",
	[12] = "pup",	     [17] = "udp",
	[20] = "hmp",	     [22] = "xns-idp",
	[27] = "rdp",	     [29] = "iso-tp4",
	[33] = "dccp",	     [36] = "xtp",
	[37] = "ddp",	     [38] = "idpr-cmtp",
	[41] = "ipv6",	     [43] = "ipv6-route",
	[44] = "ipv6-frag",  [45] = "idrp",
	[46] = "rsvp",	     [47] = "gre",
	[50] = "esp",	     [51] = "ah",
	[57] = "skip",	     [58] = "ipv6-icmp",
	[59] = "ipv6-nonxt", [60] = "ipv6-opts",
	[73] = "rspf",	     [81] = "vmtp",
	[88] = "eigrp",	     [89] = "ospf",
	[93] = "ax.25",	     [94] = "ipip",
	[97] = "etherip",    [98] = "encap",
	[103] = "pim",	     [108] = "ipcomp",
	[112] = "vrrp",	     [115] = "l2tp",
	[124] = "isis",	     [132] = "sctp",
	[133] = "fc",	     [135] = "mobility-header",
	[136] = "udplite",   [137] = "mpls-in-ip",
	[138] = "manet",     [139] = "hip",
	[140] = "shim6",     [141] = "wesp",
	[142] = "rohc",	     [143] = "ethernet",
};

struct icmp_name {
	const char *name;
	uint8_t type, code;
};

/* The first name of a message is the one that is listed. */
static const struct icmp_name icmp_names[] = {
	{"echo-reply", 0, 0},
	{"pong", 0, 0},
	{"network-unreachable", 3, 0},
	{"host-unreachable", 3, 1},
	{"protocol-unreachable", 3, 2},
	{"port-unreachable", 3, 3},
	{"fragmentation-needed", 3, 4},
	{"source-route-failed", 3, 5},
	{"network-unknown", 3, 6},
	{"host-unknown", 3, 7},
	{"network-prohibited", 3, 9},
	{"host-prohibited", 3, 10},
	{"TOS-network-unreachable", 3, 11},
	{"TOS-host-unreachable", 3, 12},
	{"communication-prohibited", 3, 13},
	{"host-precedence-violation", 3, 14},
	{"precedence-cutoff", 3, 15},
	{"source-quench", 4, 0},
	{"network-redirect", 5, 0},
	{"host-redirect", 5, 1},
	{"TOS-network-redirect", 5, 2},
	{"TOS-host-redirect", 5, 3},
	{"echo-request", 8, 0},
	{"ping", 8, 0},
	{"router-advertisement", 9, 0},
	{"router-solicitation", 10, 0},
	{"ttl-zero-during-transit", 11, 0},
	{"ttl-zero-during-reassembly", 11, 1},
	{"ip-header-bad", 12, 0},
	{"required-option-missing", 12, 1},
	{"timestamp-request", 13, 0},
	{"timestamp-reply", 14, 0},
	{"address-mask-request", 17, 0},
	{"address-mask-reply", 18, 0},
};

static const struct icmp_name icmpv6_names[] = {
	{"no-route", 1, 0},
	{"communication-prohibited", 1, 1},
	{"address-unreachable", 1, 3},
	{"port-unreachable", 1, 4},
	{"packet-too-big", 2, 0},
	{"ttl-zero-during-transit", 3, 0},
	{"ttl-zero-during-reassembly", 3, 1},
	{"bad-header", 4, 0},
	{"unknown-header-type", 4, 1},
	{"unknown-option", 4, 2},
	{"echo-request", 128, 0},
	{"ping", 128, 0},
	{"echo-reply", 129, 0},
	{"pong", 129, 0},
	{"router-solicitation", 133, 0},
	{"router-advertisement", 134, 0},
	{"neighbour-solicitation", 135, 0},
	{"neigbour-solicitation", 135, 0},
	{"neighbour-advertisement", 136, 0},
	{"neigbour-advertisement", 136, 0},
	{"redirect", 137, 0},
};

const char *ipset_proto_name(uint8_t proto, char number[4])
{
	if (proto < ARRAY_SIZE(protocols) && protocols[proto])
		return protocols[proto];
	snprintf(number, 4, "%u", proto);
	return number;
}

static int proto_find(struct ipset *s, const char *name, uint8_t *out)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	if (*name >= '0' && *name <= '9' && !*end && number <= 255) {
		*out = (uint8_t)number;
		return 0;
	}
	if (strcasecmp(name, "ip") == 0)
		return ipset_fail(s, "Syntax error: Unsupported protocol '%s'", name);
	if (strcasecmp(name, "icmpv6") == 0)
		name = protocols[ICMPV6];
	for (unsigned i = 1; i < ARRAY_SIZE(protocols); i++) {
		if (protocols[i] && strcasecmp(name, protocols[i]) == 0) {
			*out = (uint8_t)i;
			return 0;
		}
	}
	return ipset_fail(s, "Syntax error: cannot parse '%s' as a protocol", name);
}

static bool has_ports(uint8_t proto)
{
	return proto == TCP || proto == UDP || proto == SCTP || proto == UDPLITE;
}

static int icmp_parse(struct ipset *s, const char *text, bool v6, uint16_t *out)
{
	const struct icmp_name *names = v6 ? icmpv6_names : icmp_names;
	size_t n = v6 ? ARRAY_SIZE(icmpv6_names) : ARRAY_SIZE(icmp_names);
	const char *slash = ipset_separator(text, '/');
	uint64_t type, code;
	char first[8];

	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(text, names[i].name) == 0) {
			*out = (uint16_t)(names[i].type << 8 | names[i].code);
			return 0;
		}
	}
	if (!slash || (size_t)(slash - text) >= sizeof(first))
		return ipset_fail(s, "Cannot parse %s as an ICMP%s type/code.", text,
				  v6 ? "v6" : "");
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = '\0';
	if (ipset_number(s, first, 0, 255, &type) || ipset_number(s, slash + 1, 0, 255, &code))
		return -EINVAL;
	*out = (uint16_t)(type << 8 | code);
	return 0;
}

static int one_port(struct ipset *s, const char *text, const char *proto, uint8_t *out)
{
	char buffer[SERVICE_BUFFER];
	struct servent entry, *found = NULL;
	uint64_t port;
	char *end;

	errno = 0;
	port = strtoull(text, &end, 0);
	if (end != text && !*end && !errno && port <= UINT16_MAX && *text != '-') {
		be16_store(out, (uint16_t)port);
		return 0;
	}
	if (*end && !getservbyname_r(text, proto, &entry, buffer, sizeof(buffer), &found) &&
	    found) {
		be16_store(out, ntohs((uint16_t)found->s_port));
		return 0;
	}
	ipset_number(s, text, 0, UINT16_MAX, &port);
	ipset_fail(s, "Syntax error: '%s' is invalid as number", proto);
	return ipset_fail(s, "cannot parse '%s' as a %s port", text, proto);
}

/* "[name-with-dashes]" loses its brackets; *rest (may be NULL) is what follows, behind a dash if
 * there is one. */
static int name_cut(struct ipset *s, char *text, char **name, char **rest)
{
	char *end = text;

	*name = text;
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end)
			return ipset_fail(s,
					  "Syntax error: cannot find closing escape character ']' "
					  "in %s",
					  text);
		*name = text + 1;
		*end++ = '\0';
	}
	if (!rest)
		return 0;
	*rest = strchr(end, '-');
	if (*rest && *rest != text && end[strlen(end) - 1] != '-')
		*(*rest)++ = '\0';
	else
		*rest = NULL;
	return 0;
}

static int ports_parse(struct ipset *s, char *text, bool range, const char *proto,
		       struct ipset_part *p)
{
	char *name, *rest = NULL;
	uint8_t swapped[2];
	int err = name_cut(s, text, &name, range ? &rest : NULL);

	if (!err && rest) {
		p->dashed = true;
		err = name_cut(s, rest, &rest, NULL);
		if (!err)
			err = one_port(s, rest, proto, p->last);
	}
	if (!err)
		err = one_port(s, name, proto, p->first);
	if (!rest)
		memcpy(p->last, p->first, 2);
	if (!err && memcmp(p->first, p->last, 2) > 0) {
		memcpy(swapped, p->first, 2);
		memcpy(p->first, p->last, 2);
		memcpy(p->last, swapped, 2);
	}
	p->span = true;
	return err;
}

static int icmp_check(struct ipset *s, const struct ipset_body *b, const char *text,
		      struct ipset_part *p)
{
	bool v6 = p->proto == ICMPV6;
	uint16_t value = 0;

	if (v6 != (b->ip_len == 16))
		return ipset_fail(s,
				  "Syntax error: Protocol ICMP%s can be used with family "
				  "inet%s only",
				  v6 ? "v6" : "", v6 ? "6" : "");
	if (icmp_parse(s, text, v6, &value))
		return -EINVAL;
	be16_store(p->first, value);
	memcpy(p->last, p->first, 2);
	return 0;
}

int ipset_port_parse(struct ipset *s, const struct ipset_body *b, bool range, const char *text,
		     struct ipset_part *p)
{
	char copy[IPSET_LINE_MAX + 1], *colon, *port = copy;
	const char *name = "tcp";
	char number[4];
	bool plain;
	int err;

	if (strlen(text) >= sizeof(copy))
		return ipset_fail(s, "Syntax error: '%s' is invalid as number", text);
	strcpy(copy, text);
	p->proto = TCP;
	colon = ipset_separator(copy, ':');
	if (colon) {
		*colon = '\0';
		port = colon + 1;
		name = copy;
		err = proto_find(s, name, &p->proto);
		if (err)
			return err;
	}
	plain = p->dim == DIM_PLAIN_PORT && p->proto != TCP && p->proto != UDP;
	err = 0;
	if (p->proto == ICMP || p->proto == ICMPV6)
		err = plain ? 0 : icmp_check(s, b, port, p);
	else if (has_ports(p->proto))
		err = ports_parse(s, port, range, ipset_proto_name(p->proto, number), p);
	else if (strcmp(port, "0"))
		err = ipset_fail(s,
				 "Syntax error: Protocol %s can be used with pseudo port value 0 "
				 "only.",
				 name);
	if (!err && plain)
		err = ipset_fail(s, "Syntax error: Only protocols TCP and UDP are valid");
	return err;
}

void ipset_port_print(uint8_t proto, uint16_t port, struct strbuf *out)
{
	const struct icmp_name *names = proto == ICMP ? icmp_names : icmpv6_names;
	size_t n = proto == ICMP ? ARRAY_SIZE(icmp_names) : ARRAY_SIZE(icmpv6_names);
	char number[4];

	strbuf_printf(out, "%s:", ipset_proto_name(proto, number));
	if (proto != ICMP && proto != ICMPV6) {
		strbuf_printf(out, "%u", port);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (port == (names[i].type << 8 | names[i].code)) {
			strbuf_puts(out, names[i].name);
			return;
		}
	}
	strbuf_printf(out, "%u/%u", port >> 8, port & 0xff);
}

void ipset_icmp_help(struct strbuf *out)
{
	strbuf_puts(out, "           Supported ICMP codenames:\n");
	for (size_t i = 0; i < ARRAY_SIZE(icmp_names); i++)
		strbuf_printf(out, "               %s\n", icmp_names[i].name);
	strbuf_puts(out, "           Supported ICMPv6 codenames:\n");
	for (size_t i = 0; i < ARRAY_SIZE(icmpv6_names); i++)
		strbuf_printf(out, "               %s\n", icmpv6_names[i].name);
}
