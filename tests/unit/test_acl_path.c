/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_acl_path: ACLs at interfaces, by packets: where they are asked, what permit+reflect opens,
 * what fragments, MAC-IP ACLs and ethertypes mean, beside a ruleset and alone; what traces tell.
 */
#include "packet_build.h"

#include <stdio.h>
#include <string.h>
#include <tamis/acl.h>
#include <tamis/tamis.h>

enum { TCP = 6, UDP = 17, ICMP = 1, SYN = 2, ACK = 16, MORE = 0x2000 };
static const uint64_t second = 1000000000;

struct world {
	struct tamis *t;
	struct tamis_acls *acls;
	struct tamis_burst *b;
	struct tamis_acl_context *in, *out; /* of wan0 */
	uint32_t wan, lan;
	enum tamis_link link;
};

static void world_begin(struct world *x, const char *rules)
{
	*x = (struct world){.link = TAMIS_LINK_RAW};
	assert_int_equal(tamis_new(NULL, &x->t), 0);
	if (rules)
		assert_int_equal(tamis_load_text(x->t, "test", rules, strlen(rules), NULL, NULL,
						 &(char *){NULL}),
				 0);
	x->acls = tamis_acls_of(x->t);
	assert_non_null(x->acls);
	assert_int_equal(tamis_interface_find(x->t, "wan0", &x->wan), 0);
	assert_int_equal(tamis_interface_find(x->t, "GigabitEthernet3/0/0.1234", &x->lan), 0);
	assert_int_equal(tamis_interface_context(x->t, x->wan, TAMIS_ACL_INPUT, &x->in), 0);
	assert_int_equal(tamis_interface_context(x->t, x->wan, TAMIS_ACL_OUTPUT, &x->out), 0);
	assert_int_equal(tamis_burst_new(x->t, &x->b), 0);
	assert_int_equal(tamis_path_set(x->t, TAMIS_PATH_FORWARD), 0);
}

static void world_end(struct world *x)
{
	tamis_burst_free(x->b);
	tamis_free(x->t);
}

static void acl(struct world *x, uint32_t index, const struct tamis_acl_rule *rules, size_t n)
{
	assert_int_equal(tamis_acl_put(x->acls, &index, NULL, rules, n), 0);
}

static struct tamis_acl_rule rule(enum tamis_acl_action action, unsigned family, uint8_t proto,
				  uint16_t first, uint16_t last)
{
	struct tamis_acl_rule r;

	tamis_acl_rule_init(&r, action, family);
	r.proto = proto;
	r.dport_first = first;
	r.dport_last = last;
	return r;
}

static void add(struct world *x, const struct packet *p, uint32_t iif, uint32_t oif, uint64_t time)
{
	struct tamis_packet in = {.data = p->b,
				  .caplen = p->n,
				  .len = p->n,
				  .time = time,
				  .link = x->link,
				  .iif = iif,
				  .oif = oif};

	assert_true(tamis_burst_add(x->b, &in) >= 0);
}

static bool passes(struct world *x, const struct packet *p, uint32_t iif, uint32_t oif,
		   uint64_t time)
{
	tamis_burst_clear(x->b);
	add(x, p, iif, oif, time);
	assert_int_equal(tamis_burst_run(x->b), 0);
	return tamis_burst_mask(x->b, TAMIS_ACCEPT);
}

/* 192.0.2.1 -> 198.51.100.2, or back. */
static struct packet tcp4(bool back, uint16_t sport, uint16_t dport, uint8_t flags)
{
	struct packet p = {0};

	ip4_begin(&p, TCP, 0, NULL, 0);
	put_tcp(&p, flags, NULL, 0);
	be16_store(p.b + 20, back ? dport : sport);
	be16_store(p.b + 22, back ? sport : dport);
	if (back) {
		be32_store(p.b + 12, 0xc6336402);
		be32_store(p.b + 16, 0xc0000201);
	}
	ip4_end(&p);
	return p;
}

static struct packet udp4(bool back)
{
	struct packet p = {0};

	ip4_begin(&p, UDP, 0, NULL, 0);
	put_udp(&p, 8);
	if (back) {
		be32_store(p.b + 12, 0xc6336402);
		be32_store(p.b + 16, 0xc0000201);
		be16_store(p.b + 20, 53);
		be16_store(p.b + 22, 5353);
	}
	ip4_end(&p);
	return p;
}

static int face_of(void *arg, const struct tamis_interface_acls *i)
{
	struct tamis_interface_acls *want = arg;

	if (i->index == want->index)
		*want = *i;
	return 0;
}

static struct tamis_interface_acls met(struct world *x, uint32_t iface)
{
	struct tamis_interface_acls out = {.index = iface};

	assert_int_equal(tamis_interface_acls_each(x->t, face_of, &out), 0);
	return out;
}

static void order_of_things(void **state)
{
	struct tamis_acl_rule web = rule(TAMIS_ACL_PERMIT, 4, TCP, 80, 443),
			      deny = rule(TAMIS_ACL_DENY, 4, TCP, 443, 443);
	struct packet http = tcp4(false, 1000, 80, SYN), https = tcp4(false, 1000, 443, SYN),
		      ssh = tcp4(false, 1000, 22, SYN), dns = udp4(false);
	struct tamis_totals totals;
	struct world x;

	world_begin(&x, "table ip t { chain c { type filter hook forward priority 0; "
			"tcp dport 80 counter; tcp sport 1001 drop; }; }");
	/* Nothing bound: all passes. */
	assert_true(passes(&x, &ssh, x.wan, x.lan, 0));
	acl(&x, 0, &web, 1);
	acl(&x, 1, &deny, 1);
	assert_int_equal(tamis_acl_context_insert(x.in, 0, TAMIS_ACL_END), 0);
	assert_true(passes(&x, &http, x.wan, x.lan, 0));
	assert_false(passes(&x, &ssh, x.wan, x.lan, 0));
	assert_false(passes(&x, &dns, x.wan, x.lan, 0));
	/* At other interfaces, and where it leaves, it is not asked. */
	assert_true(passes(&x, &ssh, x.lan, x.wan, 0));
	assert_int_equal(met(&x, x.wan).dir[0].unmatched.packets, 2);
	assert_int_equal(met(&x, x.wan).dir[0].permitted.packets, 1);
	assert_int_equal(met(&x, x.wan).dir[1].permitted.packets, 0);
	/* Then the ruleset, then the output ACLs. */
	http = tcp4(false, 1001, 80, SYN);
	assert_false(passes(&x, &http, x.wan, x.lan, 0));
	assert_int_equal(tamis_acl_context_insert(x.out, 1, TAMIS_ACL_END), 0);
	assert_true(passes(&x, &https, x.wan, x.lan, 0));
	assert_false(passes(&x, &https, x.wan, x.wan, 0));
	assert_int_equal(met(&x, x.wan).dir[1].denied.packets, 1);
	assert_int_equal(met(&x, x.wan).dir[1].denied.bytes, 40);
	assert_int_equal(met(&x, x.wan).dir[0].permitted.packets, 4);
	/* A packet seen nobody knows where was seen at the only interface there is. */
	assert_false(passes(&x, &ssh, 0, 0, 0));
	assert_int_equal(tamis_path_set(x.t, TAMIS_PATH_OUTPUT), 0);
	assert_false(passes(&x, &https, 0, 0, 0));
	assert_int_equal(met(&x, x.wan).dir[1].denied.packets, 2);
	assert_int_equal(tamis_path_set(x.t, TAMIS_PATH_FORWARD), 0);
	struct tamis_acl_context *other;
	assert_int_equal(tamis_interface_context(x.t, x.lan, TAMIS_ACL_INPUT, &other), 0);
	assert_int_equal(tamis_acl_context_insert(other, 0, TAMIS_ACL_END), 0);
	tamis_totals_get(x.t, &totals);
	assert_int_equal(totals.no_interface, 0);
	assert_true(passes(&x, &ssh, 0, 0, 0));
	assert_false(passes(&x, &ssh, x.lan, 0, 0));
	tamis_totals_get(x.t, &totals);
	assert_int_equal(totals.no_interface, 1);
	world_end(&x);
}

static void reflect(void **state)
{
	struct tamis_acl_rule out[] = {rule(TAMIS_ACL_REFLECT, 4, UDP, 53, 53),
				       rule(TAMIS_ACL_REFLECT, 4, TCP, 80, 80),
				       rule(TAMIS_ACL_PERMIT, 4, TCP, 443, 443)};
	struct tamis_acl_rule in = rule(TAMIS_ACL_DENY, 4, 0, 0, 0xffff);
	struct packet query = udp4(false), answer = udp4(true), syn = tcp4(false, 99, 80, SYN),
		      synack = tcp4(true, 99, 80, SYN | ACK), other = tcp4(true, 98, 80, SYN | ACK);
	struct tamis_acl_sessions s;
	struct world x;

	world_begin(&x, NULL);
	acl(&x, 0, out, 3);
	acl(&x, 1, &in, 1);
	assert_int_equal(tamis_acl_context_insert(x.out, 0, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_insert(x.in, 1, TAMIS_ACL_END), 0);
	assert_false(passes(&x, &answer, x.wan, x.lan, 0));
	assert_true(passes(&x, &query, x.lan, x.wan, 0));
	assert_true(passes(&x, &answer, x.wan, x.lan, second));
	assert_int_equal(met(&x, x.wan).dir[0].session.packets, 1);
	/* A flow opens the interface where it began, not another one. */
	struct tamis_acl_context *lan;
	assert_int_equal(tamis_interface_context(x.t, x.lan, TAMIS_ACL_INPUT, &lan), 0);
	assert_int_equal(tamis_acl_context_insert(lan, 1, TAMIS_ACL_END), 0);
	assert_false(passes(&x, &answer, x.lan, x.wan, second));
	assert_int_equal(tamis_acl_context_remove(lan, 1), 0);
	/* It lives as long as VPP has it. */
	assert_true(passes(&x, &answer, x.wan, x.lan, 600 * second));
	assert_false(passes(&x, &answer, x.wan, x.lan, 1201 * second));
	assert_int_equal(tamis_acl_timeout_set(x.t, TAMIS_ACL_UDP_IDLE, 5), 0);
	assert_int_equal(tamis_acl_timeout_set(x.t, TAMIS_ACL_UDP_IDLE, 0), -EINVAL);
	assert_true(passes(&x, &query, x.lan, x.wan, 1202 * second));
	assert_true(passes(&x, &answer, x.wan, x.lan, 1206 * second));
	assert_false(passes(&x, &answer, x.wan, x.lan, 1212 * second));
	/* TCP, and what a plain permit does not open. */
	assert_true(passes(&x, &syn, x.lan, x.wan, 1300 * second));
	assert_false(passes(&x, &other, x.wan, x.lan, 1300 * second));
	assert_true(passes(&x, &synack, x.wan, x.lan, 1300 * second));
	syn = tcp4(false, 99, 443, SYN);
	synack = tcp4(true, 99, 443, SYN | ACK);
	assert_true(passes(&x, &syn, x.lan, x.wan, 1300 * second));
	assert_false(passes(&x, &synack, x.wan, x.lan, 1300 * second));
	tamis_acl_sessions_get(x.t, 1300 * second, &s);
	assert_int_equal(s.active, 1);
	assert_int_equal(s.added, 3);
	assert_int_equal(s.removed, 2);
	assert_int_equal(s.timeout[TAMIS_ACL_UDP_IDLE], 5);
	world_end(&x);
}

/* A burst answers as packets one by one: the second is let in by what the first one began. */
static void reflect_in_one_burst(void **state)
{
	struct tamis_acl_rule out = rule(TAMIS_ACL_REFLECT, 4, UDP, 53, 53);
	struct tamis_acl_rule in = rule(TAMIS_ACL_DENY, 4, 0, 0, 0xffff);
	struct packet query = udp4(false), answer = udp4(true);
	struct world x;

	world_begin(&x, NULL);
	acl(&x, 0, &out, 1);
	acl(&x, 1, &in, 1);
	assert_int_equal(tamis_acl_context_insert(x.out, 0, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_insert(x.in, 1, TAMIS_ACL_END), 0);
	add(&x, &answer, x.wan, x.lan, 0);
	add(&x, &query, x.lan, x.wan, 1);
	add(&x, &answer, x.wan, x.lan, 2);
	assert_int_equal(tamis_burst_run(x.b), 0);
	assert_int_equal(tamis_burst_mask(x.b, TAMIS_ACCEPT), 6);
	assert_int_equal(tamis_burst_mask(x.b, TAMIS_DROP), 1);
	world_end(&x);
}

static struct packet fragment4(uint16_t frag, uint16_t dport)
{
	struct packet p = {0};

	ip4_begin(&p, TCP, frag, NULL, 0);
	put_tcp(&p, SYN, NULL, 0);
	be16_store(p.b + 22, dport); /* in a later one: payload that looks like a port */
	put_fill(&p, 0, 4);
	ip4_end(&p);
	return p;
}

static struct packet fragment6(uint16_t frag, uint16_t dport)
{
	struct packet p = {0};

	ip6_begin(&p, 44);
	put8(&p, TCP);
	put8(&p, 0);
	put16(&p, frag);
	put32(&p, 7);
	put_tcp(&p, SYN, NULL, 0);
	be16_store(p.b + 50, dport);
	put_fill(&p, 0, 4);
	ip6_end(&p);
	return p;
}

/* `tcp dport 22` denied, the rest permitted, in VPP's meaning: a later fragment of any TCP is
 * denied. */
static void fragments(void **state)
{
	struct tamis_acl_rule rules[] = {
		rule(TAMIS_ACL_DENY, 4, TCP, 22, 22), rule(TAMIS_ACL_PERMIT, 4, 0, 0, 0xffff),
		rule(TAMIS_ACL_DENY, 6, TCP, 22, 22), rule(TAMIS_ACL_PERMIT, 6, 0, 0, 0xffff)};
	struct world x;

	world_begin(&x, NULL);
	acl(&x, 0, rules, 4);
	assert_int_equal(tamis_acl_context_insert(x.in, 0, TAMIS_ACL_END), 0);
	for (unsigned six = 0; six < 2; six++) {
		struct packet (*make)(uint16_t, uint16_t) = six ? fragment6 : fragment4;
		uint16_t more = six ? 1 : MORE, later = six ? 185 << 3 : 185;
		struct packet p = make(more, 22);

		assert_false(passes(&x, &p, x.wan, x.lan, 0));
		p = make(more, 80);
		assert_true(passes(&x, &p, x.wan, x.lan, 0));
		p = make(0, 80); /* atomic, in IPv6 */
		assert_true(passes(&x, &p, x.wan, x.lan, 0));
		p = make(0, 22);
		assert_false(passes(&x, &p, x.wan, x.lan, 0));
		p = make(later, 80);
		assert_false(passes(&x, &p, x.wan, x.lan, 0));
		p = make(later, 22);
		assert_false(passes(&x, &p, x.wan, x.lan, 0));
		tamis_acls_fragments_set(x.acls, false);
		assert_true(passes(&x, &p, x.wan, x.lan, 0));
		tamis_acls_fragments_set(x.acls, true);
	}
	world_end(&x);
}

static struct packet framed(uint16_t type, uint8_t mac, bool arp_of_other)
{
	struct packet p = {0};

	put_ether(&p, type);
	p.b[11] = mac;
	if (type == 0x0806) {
		put_bytes(&p, "\x00\x01\x08\x00\x06\x04\x00\x01", 8);
		put_bytes(&p, "\x02\x00\x00\x00\x00", 5);
		put8(&p, arp_of_other ? 9 : mac);
		put32(&p, 0xc0000201);
		put_fill(&p, 0, 10);
	} else if (type == 0x0800) {
		ip4_begin(&p, UDP, 0, NULL, 0);
		put_udp(&p, 8);
		ip4_end(&p);
	} else if (type == 0x86dd) {
		ip6_begin(&p, UDP);
		put_udp(&p, 8);
		ip6_end(&p);
	} else {
		put_fill(&p, 1, 46);
	}
	return p;
}

static void macip(void **state)
{
	struct tamis_macip_rule rules[] = {
		{.action = TAMIS_ACL_DENY,
		 .family = 4,
		 .mac = {2, 0, 0, 0, 0, 3},
		 .mask = {255, 255, 255, 255, 255, 255}},
		{.action = TAMIS_ACL_PERMIT,
		 .family = 4,
		 .src_len = 24,
		 .src = {192, 0, 2, 77},
		 .mac = {2},
		 .mask = {255, 255, 255, 255, 255, 0}},
		{.action = TAMIS_ACL_PERMIT,
		 .family = 6,
		 .src_len = 32,
		 .src = {0x20, 1, 0xd, 0xb8}},
	};
	uint32_t index = TAMIS_ACL_NEW;
	struct packet p;
	struct world x;

	world_begin(&x, NULL);
	x.link = TAMIS_LINK_ETHERNET;
	assert_int_equal(tamis_macip_put(x.acls, &index, "hosts", rules, 3), 0);
	assert_int_equal(index, 0);
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, 5), -ENOENT);
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, 0), 0);
	p = framed(0x0800, 2, false);
	assert_true(passes(&x, &p, x.wan, x.lan, 0));
	p = framed(0x0800, 3, false);
	assert_false(passes(&x, &p, x.wan, x.lan, 0));
	assert_true(passes(&x, &p, x.lan, x.wan, 0));
	p = framed(0x86dd, 3, false);
	assert_true(passes(&x, &p, x.wan, x.lan, 0));
	p = framed(0x0806, 2, false);
	assert_true(passes(&x, &p, x.wan, x.lan, 0));
	p = framed(0x0806, 2, true);
	assert_false(passes(&x, &p, x.wan, x.lan, 0));
	p = framed(0x0806, 3, false);
	assert_false(passes(&x, &p, x.wan, x.lan, 0));
	p = framed(0x88cc, 2, false); /* LLDP */
	assert_false(passes(&x, &p, x.wan, x.lan, 0));
	assert_int_equal(met(&x, x.wan).macip_permitted.packets, 3);
	assert_int_equal(met(&x, x.wan).macip_denied.packets, 2);
	assert_int_equal(met(&x, x.wan).macip_unmatched.packets, 2);
	rules[1].mask[5] = 255; /* another MAC than the packet's */
	assert_int_equal(tamis_macip_put(x.acls, &index, "hosts", rules, 3), 0);
	p = framed(0x0800, 2, false);
	assert_false(passes(&x, &p, x.wan, x.lan, 0));
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, TAMIS_ACL_END), 0);
	assert_true(passes(&x, &p, x.wan, x.lan, 0));
	world_end(&x);
}

static void ethertypes(void **state)
{
	static const uint16_t types[] = {0x0806, 0x88cc};
	struct tamis_acl_rule all = rule(TAMIS_ACL_PERMIT, 4, 0, 0, 0xffff);
	struct packet lldp = framed(0x88cc, 2, false), other = framed(0x88b5, 2, false),
		      ip = framed(0x0800, 2, false), ip6 = framed(0x86dd, 2, false);
	struct world x;

	world_begin(&x, NULL);
	x.link = TAMIS_LINK_ETHERNET;
	assert_int_equal(tamis_path_set(x.t, TAMIS_PATH_BRIDGE), 0);
	assert_int_equal(tamis_interface_ethertypes_set(x.t, x.wan, TAMIS_ACL_INPUT, types, 2), 0);
	assert_true(passes(&x, &other, x.wan, x.lan, 0)); /* no ACL: nobody looks */
	acl(&x, 0, &all, 1);
	assert_int_equal(tamis_acl_context_insert(x.in, 0, TAMIS_ACL_END), 0);
	assert_true(passes(&x, &lldp, x.wan, x.lan, 0));
	assert_false(passes(&x, &other, x.wan, x.lan, 0));
	assert_true(passes(&x, &other, x.lan, x.wan, 0));
	assert_true(passes(&x, &ip, x.wan, x.lan, 0)); /* not for IP */
	assert_false(passes(&x, &ip6, x.wan, x.lan, 0));
	assert_int_equal(met(&x, x.wan).dir[0].ethertype_denied.packets, 1);
	assert_int_equal(tamis_interface_ethertypes_set(x.t, x.wan, TAMIS_ACL_INPUT, NULL, 0), 0);
	assert_true(passes(&x, &other, x.wan, x.lan, 0));
	assert_int_equal(tamis_interface_ethertypes_set(x.t, x.wan, TAMIS_ACL_INPUT, types,
							TAMIS_ETHERTYPES_MAX + 1),
			 -EINVAL);
	assert_int_equal(tamis_interface_ethertypes_set(x.t, 9999, TAMIS_ACL_INPUT, types, 1),
			 -EINVAL);
	world_end(&x);
}

/* --- what is told of traced packets --------------------------------------------------------- */

struct told {
	char line[8][200];
	unsigned n;
};

static void tell(void *arg, const struct tamis_trace *e)
{
	struct told *t = arg;
	char *line = t->line[t->n++];
	size_t size = sizeof(t->line[0]);

	assert_true(t->n <= 8);
	int n = snprintf(line, size, "%u %s %s %s: %d", e->packet, e->family, e->table, e->chain,
			 (int)e->kind);
	if (e->kind != TAMIS_TRACE_PACKET && e->text)
		n += snprintf(line + n, size - (size_t)n, " %s", e->text);
	if (e->entry)
		n += snprintf(line + n, size - (size_t)n, " acl %u entry %u dport %u", e->acl,
			      e->entry->position, e->entry->rule.dport_first);
	if (e->macip_entry)
		n += snprintf(line + n, size - (size_t)n, " acl %u entry %u mac %u", e->acl,
			      e->macip_entry->position, e->macip_entry->rule.mac[5]);
	if (strcmp(e->family, "acl") == 0)
		assert_true(!e->handle == !(e->entry || e->macip_entry));
	if (e->verdict)
		snprintf(line + n, size - (size_t)n, " %s", e->verdict);
}

__attribute__((format(printf, 3, 4))) static void assert_told(const struct told *t, unsigned i,
							      const char *format, ...)
{
	char want[sizeof(t->line[0])];
	va_list ap;

	va_start(ap, format);
	vsnprintf(want, sizeof(want), format, ap);
	va_end(ap);
	assert_string_equal(t->line[i], want);
}

static void traced(struct world *x, const struct packet *p, uint32_t iif, uint32_t oif,
		   uint64_t time, struct told *told)
{
	told->n = 0;
	tamis_burst_clear(x->b);
	add(x, p, iif, oif, time);
	tamis_burst_trace(x->b, 1);
	assert_int_equal(tamis_burst_run(x->b), 0);
}

static void trace(void **state)
{
	struct tamis_acl_rule in[] = {rule(TAMIS_ACL_DENY, 4, TCP, 22, 22),
				      rule(TAMIS_ACL_PERMIT, 4, TCP, 80, 80)},
			      out = rule(TAMIS_ACL_REFLECT, 4, UDP, 53, 53), first;
	static const char *const flow =
		"ip saddr 192.0.2.1 ip daddr 198.51.100.2 udp sport 5353 udp dport 53";
	struct packet ssh = tcp4(false, 1, 22, SYN), web = tcp4(false, 1, 80, SYN),
		      other = tcp4(false, 1, 99, SYN), query = udp4(false), answer = udp4(true);
	struct tamis_acl_entry entry;
	struct told told = {0};
	struct world x;

	world_begin(&x, "table ip t { chain c { type filter hook forward priority 0; "
			"tcp dport 80 meta nftrace set 1; }; }");
	tamis_trace_set(x.t, tell, &told);
	acl(&x, 3, in, 2);
	acl(&x, 4, &out, 1);
	assert_int_equal(tamis_acl_context_insert(x.in, 3, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_insert(x.out, 4, TAMIS_ACL_END), 0);
	traced(&x, &ssh, x.wan, x.lan, 0, &told);
	assert_int_equal(told.n, 2);
	assert_told(&told, 0, "0 acl wan0 input: %d", TAMIS_TRACE_PACKET);
	assert_told(&told, 1, "0 acl wan0 input: %d acl 3 entry 0 dport 22 drop",
		    TAMIS_TRACE_ENTRY);
	/* Positions follow changes. */
	first = rule(TAMIS_ACL_DENY, 4, UDP, 7, 7);
	acl(&x, 3, (struct tamis_acl_rule[]){first, in[0], in[1]}, 3);
	traced(&x, &ssh, x.wan, x.lan, 0, &told);
	assert_non_null(strstr(told.line[1], " acl 3 entry 1 dport 22 drop"));
	traced(&x, &other, x.wan, x.lan, 0, &told);
	assert_int_equal(told.n, 2);
	assert_told(&told, 1, "0 acl wan0 input: %d drop", TAMIS_TRACE_POLICY);
	/* Where nothing is bound, nothing is told; the ruleset's lines stand between the two. */
	traced(&x, &query, x.lan, x.wan, 0, &told);
	assert_int_equal(told.n, 6);
	assert_non_null(strstr(told.line[0], "0 ip t c: "));
	assert_told(&told, 4, "0 acl wan0 output: %d acl 4 entry 0 dport 53 accept",
		    TAMIS_TRACE_ENTRY);
	assert_told(&told, 5, "0 acl wan0 output: %d %s accept", TAMIS_TRACE_REFLECT, flow);
	traced(&x, &answer, x.wan, x.lan, 1, &told);
	assert_told(&told, 1, "0 acl wan0 input: %d %s accept", TAMIS_TRACE_SESSION, flow);
	/* Not asked for, but by a rule: told from there on. */
	told.n = 0;
	assert_false(passes(&x, &web, x.wan, x.wan, 2));
	assert_true(told.n >= 3);
	assert_non_null(strstr(told.line[told.n - 2], "0 acl wan0 output: "));
	assert_null(strstr(told.line[0], "acl wan0 input"));
	told.n = 0;
	assert_false(passes(&x, &ssh, x.wan, x.lan, 2));
	assert_int_equal(told.n, 0);
	assert_int_equal(tamis_acl_entry_get(x.acls, UINT64_MAX, &entry), -ENOENT);
	world_end(&x);
}

static void trace_of_frames(void **state)
{
	struct tamis_macip_rule rules[] = {{.action = TAMIS_ACL_DENY,
					    .family = 4,
					    .mac = {2, 0, 0, 0, 0, 3},
					    .mask = {255, 255, 255, 255, 255, 255}},
					   {.action = TAMIS_ACL_PERMIT, .family = 4}};
	static const uint16_t types[] = {0x0806};
	struct tamis_acl_rule all = rule(TAMIS_ACL_PERMIT, 4, 0, 0, 0xffff);
	struct packet p;
	uint32_t index = TAMIS_ACL_NEW;
	struct told told = {0};
	struct world x;

	world_begin(&x, NULL);
	x.link = TAMIS_LINK_ETHERNET;
	tamis_trace_set(x.t, tell, &told);
	assert_int_equal(tamis_macip_put(x.acls, &index, NULL, rules, 2), 0);
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, index), 0);
	acl(&x, 0, &all, 1);
	assert_int_equal(tamis_interface_ethertypes_set(x.t, x.wan, TAMIS_ACL_INPUT, types, 1), 0);
	p = framed(0x0800, 3, false);
	traced(&x, &p, x.wan, x.lan, 0, &told);
	assert_int_equal(told.n, 2);
	assert_told(&told, 1, "0 acl wan0 macip: %d acl 0 entry 0 mac 3 drop", TAMIS_TRACE_ENTRY);
	p = framed(0x88cc, 2, false);
	traced(&x, &p, x.wan, x.lan, 0, &told);
	assert_told(&told, 1, "0 acl wan0 macip: %d drop", TAMIS_TRACE_POLICY);
	assert_int_equal(tamis_acl_context_insert(x.in, 0, TAMIS_ACL_END), 0);
	p = framed(0x0806, 2, false);
	traced(&x, &p, x.wan, x.lan, 0, &told);
	assert_int_equal(told.n, 4);
	assert_told(&told, 1, "0 acl wan0 macip: %d acl 0 entry 1 mac 0 accept", TAMIS_TRACE_ENTRY);
	assert_told(&told, 3, "0 acl wan0 input: %d 0x0806 accept", TAMIS_TRACE_ETHERTYPE);
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, TAMIS_ACL_END), 0);
	p = framed(0x88cc, 2, false);
	traced(&x, &p, x.wan, x.lan, 0, &told);
	assert_told(&told, 1, "0 acl wan0 input: %d 0x88cc drop", TAMIS_TRACE_ETHERTYPE);
	world_end(&x);
}

/* Which interface is the only one with something bound is kept while things come and go. */
static void the_only_interface(void **state)
{
	struct tamis_acl_rule deny = rule(TAMIS_ACL_DENY, 4, 0, 0, 0xffff);
	struct tamis_macip_rule mac = {.action = TAMIS_ACL_PERMIT, .family = 4};
	struct packet p = tcp4(false, 1, 22, SYN);
	uint32_t index = TAMIS_ACL_NEW;
	struct tamis_acl_context *lan;
	struct tamis_totals totals;
	struct world x;

	world_begin(&x, NULL);
	acl(&x, 0, &deny, 1);
	acl(&x, 1, &deny, 1);
	assert_int_equal(tamis_macip_put(x.acls, &index, NULL, &mac, 1), 0);
	assert_int_equal(tamis_interface_context(x.t, x.lan, TAMIS_ACL_INPUT, &lan), 0);
	assert_int_equal(tamis_acl_context_set(x.in, (uint32_t[]){0, 1}, 2), 0);
	assert_int_equal(tamis_acl_context_insert(x.out, 0, TAMIS_ACL_END), 0);
	assert_false(passes(&x, &p, 0, 0, 0));
	/* Both directions of one interface, then a second interface. */
	assert_int_equal(tamis_acl_context_remove(x.out, 0), 0);
	assert_int_equal(tamis_acl_context_remove(x.in, 0), 0);
	assert_false(passes(&x, &p, 0, 0, 0));
	assert_int_equal(tamis_interface_macip_set(x.t, x.lan, index), 0);
	assert_true(passes(&x, &p, 0, 0, 0));
	tamis_totals_get(x.t, &totals);
	assert_int_equal(totals.no_interface, 1);
	assert_int_equal(tamis_interface_macip_set(x.t, x.lan, index), 0);
	assert_int_equal(tamis_interface_macip_set(x.t, x.lan, TAMIS_ACL_END), 0);
	assert_false(passes(&x, &p, 0, 0, 0));
	/* What is taken back has bound nothing, and unbound nothing. */
	assert_int_equal(tamis_acls_begin(x.acls), 0);
	assert_int_equal(tamis_acl_context_insert(lan, 0, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_set(x.in, NULL, 0), 0);
	tamis_acls_abort(x.acls);
	assert_false(passes(&x, &p, 0, 0, 0));
	assert_true(passes(&x, &p, x.lan, x.lan, 0));
	/* A whole list replaced is bound all the time; an empty one is not. */
	assert_int_equal(tamis_acl_context_set(x.in, (uint32_t[]){0}, 1), 0);
	assert_false(passes(&x, &p, 0, 0, 0));
	assert_int_equal(tamis_acl_context_set(x.in, NULL, 0), 0);
	assert_true(passes(&x, &p, 0, 0, 0));
	assert_true(passes(&x, &p, x.wan, x.wan, 0));
	tamis_totals_get(x.t, &totals);
	assert_int_equal(totals.no_interface, 1);
	/* The engine goes with things bound at several. */
	assert_int_equal(tamis_acl_context_insert(lan, 0, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_interface_macip_set(x.t, x.wan, index), 0);
	world_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_things),
		cmocka_unit_test(reflect),
		cmocka_unit_test(reflect_in_one_burst),
		cmocka_unit_test(fragments),
		cmocka_unit_test(macip),
		cmocka_unit_test(ethertypes),
		cmocka_unit_test(trace),
		cmocka_unit_test(trace_of_frames),
		cmocka_unit_test(the_only_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
