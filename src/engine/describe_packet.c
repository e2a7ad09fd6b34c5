/* SPDX-License-Identifier: Apache-2.0 */
/* describe_packet: header fields in nft's words; see describe.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "engine/describe.h"
#include "lang/datatype.h"

struct field_writer {
	const struct burst *b;
	unsigned i;
	struct strbuf *out;
};

static bool has(const struct field_writer *w, enum burst_has what)
{
	return w->b->has[what] >> w->i & 1;
}

static void word(struct field_writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void word(struct field_writer *w, const char *fmt, ...)
{
	va_list ap;

	if (w->out->len && w->out->data[w->out->len - 1] != ' ')
		strbuf_putc(w->out, ' ');
	va_start(ap, fmt);
	strbuf_vprintf(w->out, fmt, ap);
	va_end(ap);
}

static void address(struct field_writer *w, const char *name, int family, const uint8_t *bytes)
{
	char text[INET6_ADDRSTRLEN];

	word(w, "%s %s", name, inet_ntop(family, bytes, text, sizeof(text)));
}

/* A number by its name, as nft prints a value of the type. */
static void named(struct field_writer *w, const char *name, const struct datatype *type,
		  unsigned value)
{
	const char *symbol = datatype_symbol(type, value);

	if (symbol)
		word(w, "%s %s", name, symbol);
	else
		word(w, "%s %u", name, value);
}

static void describe_link(struct field_writer *w)
{
	uint8_t mac[12];

	if (has(w, HAS_ETHER) && burst_read(w->b, w->i, BASE_LL, 0, mac, sizeof(mac)))
		word(w,
		     "ether saddr %02x:%02x:%02x:%02x:%02x:%02x "
		     "ether daddr %02x:%02x:%02x:%02x:%02x:%02x",
		     mac[6], mac[7], mac[8], mac[9], mac[10], mac[11], mac[0], mac[1], mac[2],
		     mac[3], mac[4], mac[5]);
	if (has(w, HAS_VLAN))
		word(w, "vlan id %u", w->b->vlan_tci[0][w->i] & 0xfff);
	if (has(w, HAS_QINQ))
		word(w, "vlan id %u", w->b->vlan_tci[1][w->i] & 0xfff);
}

static void describe_arp(struct field_writer *w)
{
	uint8_t h[28];

	if (!burst_read(w->b, w->i, BASE_NH, 0, h, 8))
		return;
	named(w, "arp operation", &type_arp_op, be16_load(h + 6));
	if (be16_load(h) != 1 || be16_load(h + 2) != 0x0800 || h[4] != 6 || h[5] != 4 ||
	    !burst_read(w->b, w->i, BASE_NH, 0, h, sizeof(h)))
		return;
	address(w, "arp saddr ip", AF_INET, h + 14);
	address(w, "arp daddr ip", AF_INET, h + 24);
}

static void describe_ip(struct field_writer *w)
{
	uint8_t h[20];

	address(w, "ip saddr", AF_INET, w->b->saddr[w->i]);
	address(w, "ip daddr", AF_INET, w->b->daddr[w->i]);
	if (burst_read(w->b, w->i, BASE_NH, 0, h, sizeof(h))) {
		named(w, "ip dscp", &type_dscp, h[1] >> 2);
		named(w, "ip ecn", &type_ecn, h[1] & 3);
		word(w, "ip ttl %u ip id %u ip protocol %u ip length %u", h[8], be16_load(h + 4),
		     h[9], be16_load(h + 2));
	}
	if (has(w, HAS_FRAG))
		word(w, "ip frag-off %u", w->b->frag_off[w->i]);
}

static void describe_ip6(struct field_writer *w)
{
	uint8_t h[8];

	address(w, "ip6 saddr", AF_INET6, w->b->saddr[w->i]);
	address(w, "ip6 daddr", AF_INET6, w->b->daddr[w->i]);
	if (burst_read(w->b, w->i, BASE_NH, 0, h, sizeof(h))) {
		named(w, "ip6 dscp", &type_dscp, be16_load(h) >> 6 & 0x3f);
		named(w, "ip6 ecn", &type_ecn, h[1] >> 4 & 3);
		word(w, "ip6 hoplimit %u ip6 flowlabel %u ip6 nexthdr %u ip6 length %u", h[7],
		     be32_load(h) & 0xfffff, h[6], be16_load(h + 4));
	}
	if (has(w, HAS_FRAG))
		word(w, "frag frag-off %u", w->b->frag_off[w->i]);
}

static void describe_tcp(struct field_writer *w)
{
	static const char *const names[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"};
	uint8_t flags = w->b->tcp_flags[w->i], h[16];
	const char *separator = "";

	word(w, "tcp sport %u tcp dport %u tcp flags == ", w->b->sport[w->i], w->b->dport[w->i]);
	if (!flags)
		word(w, "0x0");
	for (unsigned bit = 0; bit < ARRAY_SIZE(names); bit++) {
		if (flags >> bit & 1) {
			strbuf_printf(w->out, "%s%s", separator, names[bit]);
			separator = ",";
		}
	}
	if (burst_read(w->b, w->i, BASE_TH, 0, h, sizeof(h)))
		word(w, "tcp window %u", be16_load(h + 14));
}

static void icmp(struct field_writer *w, const char *name, const struct datatype *type)
{
	char field[16];

	snprintf(field, sizeof(field), "%s type", name);
	named(w, field, type, w->b->icmp_type[w->i]);
	word(w, "%s code %u", name, w->b->icmp_code[w->i]);
}

static const struct {
	uint8_t l4proto;
	const char *name;
} ports[] = {{IPPROTO_TCP, "tcp"},
	     {IPPROTO_UDP, "udp"},
	     {IPPROTO_UDPLITE, "udplite"},
	     {IPPROTO_SCTP, "sctp"},
	     {IPPROTO_DCCP, "dccp"}};

static void describe_transport(struct field_writer *w)
{
	const struct burst *b = w->b;
	unsigned i = w->i;
	uint8_t h[8];

	if (has(w, HAS_TCP))
		describe_tcp(w);
	else if (has(w, HAS_ICMP))
		icmp(w, "icmp", &type_icmp_type);
	else if (has(w, HAS_ICMPV6))
		icmp(w, "icmpv6", &type_icmpv6_type);
	for (unsigned n = 0; n < ARRAY_SIZE(ports); n++) {
		if (has(w, HAS_PORTS) && !has(w, HAS_TCP) && b->l4proto[i] == ports[n].l4proto)
			word(w, "%s sport %u %s dport %u", ports[n].name, b->sport[i],
			     ports[n].name, b->dport[i]);
	}
	if (has(w, HAS_PORTS) && b->l4proto[i] == IPPROTO_UDP &&
	    burst_read(b, i, BASE_TH, 0, h, sizeof(h)))
		word(w, "udp length %u", be16_load(h + 4));
}

void describe_packet(const struct burst *b, unsigned i, const char *iif, const char *oif,
		     struct strbuf *out)
{
	struct field_writer w = {.b = b, .i = i, .out = out};

	if (iif)
		word(&w, "iif \"%s\"", iif);
	if (oif)
		word(&w, "oif \"%s\"", oif);
	describe_link(&w);
	if (has(&w, HAS_IPV4))
		describe_ip(&w);
	else if (has(&w, HAS_IPV6))
		describe_ip6(&w);
	else if (has(&w, HAS_ARP))
		describe_arp(&w);
	else
		word(&w, "meta protocol 0x%04x", b->protocol[i]);
	describe_transport(&w);
	word(&w, "meta length %u", b->l3len[i]);
}

void describe_flow(const struct ct_tuple *t, struct strbuf *out)
{
	int family = t->family == 4 ? AF_INET : AF_INET6;
	struct field_writer w = {.out = out};
	const struct datatype *types =
		t->l4proto == IPPROTO_ICMP ? &type_icmp_type : &type_icmpv6_type;
	const char *icmp_name = t->l4proto == IPPROTO_ICMP ? "icmp" : "icmpv6";
	char field[16];

	address(&w, t->family == 4 ? "ip saddr" : "ip6 saddr", family, t->saddr);
	address(&w, t->family == 4 ? "ip daddr" : "ip6 daddr", family, t->daddr);
	if (t->l4proto == IPPROTO_ICMP || t->l4proto == IPPROTO_ICMPV6) {
		snprintf(field, sizeof(field), "%s type", icmp_name);
		named(&w, field, types, t->dport >> 8);
		word(&w, "%s id %u", icmp_name, t->sport);
		return;
	}
	for (unsigned n = 0; n < ARRAY_SIZE(ports); n++) {
		if (t->l4proto != ports[n].l4proto)
			continue;
		word(&w, "%s sport %u %s dport %u", ports[n].name, t->sport, ports[n].name,
		     t->dport);
		return;
	}
	word(&w, "meta l4proto %u", t->l4proto);
}
