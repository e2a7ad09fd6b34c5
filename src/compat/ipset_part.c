/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_part: addresses, networks, ports, marks and names inside an element. */
#include <netdb.h>
#include <stdio.h>

#include "compat/address.h"
#include "compat/ipset_int.h"

enum { TCP = 6, ICMP = 1, ICMPV6 = 58, SERVICE_BUFFER = 2048 };

static const struct {
	const char *name;
	uint8_t number;
	bool ports;
} protocols[] = {
	{"tcp", TCP, true},
	{"udp", 17, true},
	{"sctp", 132, true},
	{"udplite", 136, true},
	{"icmp", ICMP, false},
	{"icmpv6", ICMPV6, false},
	{"ipv6-icmp", ICMPV6, false},
	{"igmp", 2, false},
	{"ipencap", 4, false},
	{"egp", 8, false},
	{"igp", 9, false},
	{"dccp", 33, false},
	{"ipv6", 41, false},
	{"rsvp", 46, false},
	{"gre", 47, false},
	{"esp", 50, false},
	{"ah", 51, false},
	{"eigrp", 88, false},
	{"ospf", 89, false},
	{"ipip", 94, false},
	{"pim", 103, false},
	{"vrrp", 112, false},
	{"l2tp", 115, false},
};

static const struct {
	const char *name;
	uint8_t type, code;
} icmp_names[] =
	{
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
},
  icmpv6_names[] = {
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
	  {"neighbour-advertisement", 136, 0},
	  {"redirect", 137, 0},
};

static int icmp_parse(struct ipset *s, const char *text, bool v6, uint16_t *out)
{
	const char *slash = strchr(text, '/');
	size_t n = v6 ? ARRAY_SIZE(icmpv6_names) : ARRAY_SIZE(icmp_names);
	uint64_t type, code;

	if (slash && !decimal_parse(text, (size_t)(slash - text), 255, &type) &&
	    !decimal_parse(slash + 1, strlen(slash + 1), 255, &code)) {
		*out = (uint16_t)(type << 8 | code);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = v6 ? icmpv6_names[i].name : icmp_names[i].name;

		if (strcmp(text, name))
			continue;
		*out = v6 ? (uint16_t)(icmpv6_names[i].type << 8 | icmpv6_names[i].code)
			  : (uint16_t)(icmp_names[i].type << 8 | icmp_names[i].code);
		return 0;
	}
	return ipset_fail(s, "Cannot parse %s as an ICMP%s type/code.", text, v6 ? "v6" : "");
}

static int one_port(struct ipset *s, const char *text, size_t n, const char *proto, uint8_t *out)
{
	char copy[64], buffer[SERVICE_BUFFER];
	struct servent entry, *found = NULL;
	uint64_t port;

	if (!decimal_parse(text, n, UINT16_MAX, &port)) {
		be16_store(out, (uint16_t)port);
		return 0;
	}
	if (n < sizeof(copy)) {
		memcpy(copy, text, n);
		copy[n] = '\0';
		if (!getservbyname_r(copy, proto, &entry, buffer, sizeof(buffer), &found) &&
		    found) {
			memcpy(out, &(uint16_t){(uint16_t)found->s_port}, 2);
			return 0;
		}
	}
	return ipset_fail(s, "Syntax error: cannot parse '%.*s' as a %s port", (int)n, text, proto);
}

static int ports_parse(struct ipset *s, const char *text, const char *proto, struct ipset_part *p)
{
	const char *dash = strchr(text, '-');
	int err;

	/* A service's name may have a dash of its own. */
	if (dash && (text[0] < '0' || text[0] > '9'))
		dash = NULL;
	err = one_port(s, text, dash ? (size_t)(dash - text) : strlen(text), proto, p->first);
	memcpy(p->last, p->first, 2);
	if (!err && dash)
		err = one_port(s, dash + 1, strlen(dash + 1), proto, p->last);
	if (!err && memcmp(p->first, p->last, 2) > 0) {
		uint8_t swapped[2];

		memcpy(swapped, p->first, 2);
		memcpy(p->first, p->last, 2);
		memcpy(p->last, swapped, 2);
	}
	p->span = true;
	return err;
}

static int port_parse(struct ipset *s, const struct ipset_set *set, const char *text,
		      struct ipset_part *p)
{
	const char *colon = strchr(text, ':'), *name = "tcp";
	char copy[32];
	uint64_t number;
	bool ports = true, known = !colon;

	p->proto = TCP;
	if (colon && (size_t)(colon - text) < sizeof(copy)) {
		memcpy(copy, text, (size_t)(colon - text));
		copy[colon - text] = '\0';
		name = copy;
		text = colon + 1;
		for (size_t i = 0; !known && i < ARRAY_SIZE(protocols); i++) {
			known = !strcmp(copy, protocols[i].name) ||
				(!decimal_parse(copy, strlen(copy), 255, &number) &&
				 number == protocols[i].number);
			if (known) {
				p->proto = protocols[i].number;
				ports = protocols[i].ports;
				name = protocols[i].name;
			}
		}
		if (!known && !decimal_parse(copy, strlen(copy), 255, &number) && number) {
			known = true;
			ports = false;
			p->proto = (uint8_t)number;
		}
	}
	if (!known)
		return ipset_fail(s, "Syntax error: cannot parse '%s' as a protocol",
				  name == copy ? copy : text);
	if (ports)
		return ports_parse(s, text, name, p);
	if (p->proto == ICMP || p->proto == ICMPV6) {
		uint16_t value = 0;
		int err;

		if ((p->proto == ICMPV6) != (set->ip_len == 16))
			return ipset_fail(s,
					  "Syntax error: Protocol %s can be used with family "
					  "%s only.",
					  name, p->proto == ICMP ? "inet" : "inet6");
		err = icmp_parse(s, text, p->proto == ICMPV6, &value);
		if (!err) {
			be16_store(p->first, value);
			be16_store(p->last, value);
		}
		return err;
	}
	if (strcmp(text, "0"))
		return ipset_fail(s,
				  "Syntax error: Protocol %s can be used with pseudo port "
				  "value 0 only.",
				  name);
	return 0;
}

static int address_fail(struct ipset *s, const struct ipset_set *set, const char *text)
{
	return ipset_fail(s, "Syntax error: cannot parse %s: resolving to IPv%c address failed",
			  text, set->ip_len == 4 ? '4' : '6');
}

/* An address, or where the type has it a prefix or range of them. */
static int addresses_parse(struct ipset *s, const struct ipset_set *set, bool range,
			   const char *text, struct ipset_part *p)
{
	const char *dash = strchr(text, '-'), *slash = strchr(text, '/');
	unsigned bits = set->ip_len * 8;
	uint64_t prefix = bits;
	size_t n = dash ? (size_t)(dash - text) : slash ? (size_t)(slash - text) : strlen(text);

	if ((dash || slash) && (!range || (set->ip_len == 16 && p->dim == DIM_IP)))
		return ipset_fail(s, "Syntax error: plain IP address must be supplied: %s", text);
	if (dash && set->ip_len == 16)
		return ipset_fail(s, "Syntax error: IP address or IP/cidr must be specified: %s",
				  text);
	if (address_parse(text, n, p->first) != set->ip_len)
		return address_fail(s, set, text);
	p->len = set->ip_len;
	if (dash) {
		if (address_parse(dash + 1, strlen(dash + 1), p->last) != set->ip_len)
			return address_fail(s, set, dash + 1);
		if (memcmp(p->first, p->last, p->len) > 0) {
			uint8_t swapped[16];

			memcpy(swapped, p->first, 16);
			memcpy(p->first, p->last, 16);
			memcpy(p->last, swapped, 16);
		}
		p->span = true;
		return 0;
	}
	if (slash && ipset_number(s, slash + 1, bits, &prefix))
		return -EINVAL;
	if (p->dim == DIM_NET && !prefix && set->type->dims[1] != DIM_IFACE)
		return ipset_fail(s, "The value of the CIDR parameter of the IP address is "
				     "invalid");
	address_prefix_bounds(p->first, p->last, p->len, (unsigned)prefix);
	p->prefix = (uint8_t)prefix;
	p->span = p->dim == DIM_IP;
	return 0;
}

int ipset_mac_parse(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int end = 0;

	if (strlen(text) > 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    text[end])
		return -EINVAL;
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

static int mark_parse(struct ipset *s, const struct ipset_set *set, const char *text,
		      struct ipset_part *p)
{
	uint64_t mark;
	int err = ipset_number(s, text, UINT32_MAX, &mark);

	if (!err)
		be32_store(p->first, (uint32_t)mark & set->mark_mask);
	return err;
}

static int iface_parse(struct ipset *s, const char *text, struct ipset_part *p)
{
	if (strncmp(text, "physdev:", 8) == 0)
		return ipset_fail(s, "physdev: is not known here");
	if (strlen(text) > IPSET_IFACE_MAX)
		return ipset_fail(s,
				  "Syntax error: interface name '%s' is longer than %d "
				  "characters",
				  text, IPSET_IFACE_MAX);
	if (!*text)
		return ipset_fail(s, "Syntax error: interface name is missing");
	memcpy(p->first, text, strlen(text));
	return 0;
}

int ipset_part_parse(struct ipset *s, const struct ipset_set *set, unsigned dim, const char *text,
		     struct ipset_part *out)
{
	struct ipset_part p = {.dim = set->type->dims[dim]};
	bool range = set->type->ranges >> dim & 1;
	int err = 0;

	switch (p.dim) {
	case DIM_NONE:
		break;
	case DIM_IP:
	case DIM_NET:
		err = addresses_parse(s, set, range, text, &p);
		break;
	case DIM_MAC:
		if (ipset_mac_parse(text, p.first))
			err = ipset_fail(s, "Syntax error: cannot parse '%s' as ethernet address",
					 text);
		break;
	case DIM_MARK:
		err = mark_parse(s, set, text, &p);
		break;
	case DIM_PORT:
		err = port_parse(s, set, text, &p);
		break;
	case DIM_PLAIN_PORT:
		err = port_parse(s, set, text, &p);
		break;
	case DIM_IFACE:
		err = iface_parse(s, text, &p);
		break;
	}
	if (!err)
		*out = p;
	return err;
}

/* The largest network that begins at p->at and ends by p->last. */
static void network_fit(struct ipset_part *p)
{
	uint32_t at = be32_load(p->at), last = be32_load(p->last);

	p->prefix = 1;
	while (p->prefix < 32 &&
	       ((at & (UINT32_MAX >> p->prefix)) || (at | UINT32_MAX >> p->prefix) > last))
		p->prefix++;
}

static void address_mask(const struct ipset_set *set, struct ipset_part *p)
{
	for (unsigned i = 0; i < p->len; i++)
		p->at[i] &= set->mask[i];
}

void ipset_part_begin(const struct ipset_set *set, struct ipset_part *p)
{
	memcpy(p->at, p->first, sizeof(p->at));
	if (p->dim == DIM_IP)
		address_mask(set, p);
	if (p->dim == DIM_NET && p->span)
		network_fit(p);
}

bool ipset_part_next(const struct ipset_set *set, struct ipset_part *p)
{
	uint32_t at, last, size = 1;

	if (!p->span || (p->len == 16))
		return false;
	if (p->dim == DIM_PORT || p->dim == DIM_PLAIN_PORT) {
		if (!memcmp(p->at, p->last, 2))
			return false;
		be16_store(p->at, (uint16_t)(be16_load(p->at) + 1));
		return true;
	}
	at = be32_load(p->at);
	last = be32_load(p->last);
	if (p->dim == DIM_NET)
		size = UINT32_C(1) << (32 - p->prefix);
	else if (set->mask_bits)
		size = UINT32_C(1) << (32 - set->mask_bits);
	if (last - at < size)
		return false;
	be32_store(p->at, at + size);
	if (p->dim == DIM_NET)
		network_fit(p);
	return true;
}

void ipset_part_put(const struct ipset_part *p, uint8_t *key)
{
	switch (p->dim) {
	case DIM_NONE:
		break;
	case DIM_IP:
		memcpy(key, p->at, p->len);
		break;
	case DIM_NET:
		memcpy(key, p->at, p->len);
		key[p->len] = p->prefix;
		break;
	case DIM_MAC:
		memcpy(key, p->at, 6);
		break;
	case DIM_MARK:
		memcpy(key, p->at, 4);
		break;
	case DIM_PORT:
		key[0] = p->proto;
		memcpy(key + 1, p->at, 2);
		break;
	case DIM_PLAIN_PORT:
		memcpy(key, p->at, 2);
		break;
	case DIM_IFACE:
		memcpy(key, p->at, 16);
		key[16] = p->iface_flags;
		break;
	}
}
