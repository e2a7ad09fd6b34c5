/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains with a classifier against the plain walk: random rulesets of long chains, random packets,
 * and changes of the rules in between. Both must give every packet the same verdict, mark and
 * bytes, and every rule, chain, set and log the same packets in the same order; in bursts too, for
 * rulesets whose answer does not depend on that. And for each field of the classifier a chain of
 * rules on it alone.
 *
 * TAMIS_SEED and TAMIS_ROUNDS choose others, TAMIS_SOAK as many rounds as take that many packets.
 */
#include "two_worlds.h"

#include "compile/classify.h"
#include "compile/explain.h"

enum { PACKETS = 256, CHANGES = 4 };

/* --- rules ---------------------------------------------------------------------------------- */

struct text {
	struct strbuf b;
	const char *family;
	bool state; /* statements that read what others write */
	bool order; /* statements that depend on which packet comes first */
};

#define SAY(t, ...) strbuf_printf(&(t)->b, __VA_ARGS__)
#define PICK(...)                                                                                  \
	({                                                                                         \
		static const char *const pick_[] = {__VA_ARGS__};                                  \
		pick_[rnd(ARRAY_SIZE(pick_))];                                                     \
	})

static bool is(const struct text *t, const char *family)
{
	return !strcmp(t->family, family);
}

static void say_address4(struct text *t)
{
	switch (rnd(5)) {
	case 0:
		SAY(t, "10.0.%u.%u-10.0.%u.%u ", rnd(2), rnd(8), 2 + rnd(2), rnd(8));
		break;
	case 1: {
		unsigned len = 20 + rnd(12);

		SAY(t, "%u.0.0.0/%u ", 10, len < 24 ? len : 24);
		break;
	}
	case 2:
		SAY(t, "10.0.%u.%u/30 ", rnd(4), rnd(2) * 4);
		break;
	default:
		SAY(t, "10.0.%u.%u ", rnd(4), rnd(8));
		break;
	}
}

static void say_address6(struct text *t)
{
	switch (rnd(4)) {
	case 0:
		SAY(t, "fd00::%x-fd00::%x ", rnd(8), 8 + rnd(8));
		break;
	case 1:
		SAY(t, "fd00::%x/126 ", rnd(4) * 4);
		break;
	default:
		SAY(t, "fd00::%x ", rnd(16));
		break;
	}
}

static void say_match(struct text *t)
{
	const char *not = chance(15) ? "!= " : "", *end = chance(50) ? "s" : "d";

	switch (rnd(t->state ? 32 : 28)) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (is(t, "ip6"))
			goto v6;
		SAY(t, "ip %saddr %s", end, not );
		say_address4(t);
		break;
	case 4:
	case 5:
		if (is(t, "ip"))
			break;
	v6:
		SAY(t, "ip6 %saddr %s", end, not );
		say_address6(t);
		break;
	case 6:
	case 7:
		SAY(t, "%s %sport %s%u ", PICK("tcp", "udp"), end, not, 1 + rnd(8));
		break;
	case 8:
		SAY(t, "%s %sport %s%u-%u ", PICK("tcp", "udp"), end, not, 1 + rnd(4), 5 + rnd(4));
		break;
	case 9:
		SAY(t, "tcp dport { %u, %u, %u-%u } ", 1 + rnd(2), 3 + rnd(2), 6, 7 + rnd(3));
		break;
	case 10:
		if (is(t, "ip6"))
			break;
		SAY(t, "ip saddr { 10.0.0.%u, 10.0.1.%u, 10.0.2.0/%u } ", rnd(8), rnd(8),
		    24 + rnd(8));
		break;
	case 11:
		SAY(t, "meta l4proto %s ", PICK("tcp", "udp", "{ tcp, udp }", "icmp", "47"));
		break;
	case 12:
		SAY(t, "tcp flags %s ",
		    PICK("syn", "{ syn, ack }", "syn,ack", "& (fin|syn) == syn", "!= syn",
			 "& (syn|ack) != 0", "! rst"));
		break;
	case 13:
		SAY(t, "%s ",
		    is(t, "ip6")  ? "icmpv6 type echo-request"
		    : is(t, "ip") ? "icmp type echo-request"
				  : PICK("icmp type echo-request", "icmpv6 type 0-128"));
		break;
	case 14:
		SAY(t, "meta mark %s%s ", not,
		    PICK("1", "2", "0x10/28", "{ 1, 2, 3 }", "1-3", "& 3 == 1"));
		break;
	case 15:
		SAY(t, "%s ", PICK("iif 1", "iif { 1, 2 }", "meta pkttype host", "oif != 1"));
		break;
	case 16:
		SAY(t, "th dport %u ", 1 + rnd(4));
		break;
	case 17:
		if (is(t, "ip6"))
			break;
		SAY(t, "ip saddr . %s dport { 10.0.0.%u . %u, 10.0.1.0/24 . %u-%u } ",
		    PICK("tcp", "udp"), rnd(8), rnd(8), 1 + rnd(3), 4 + rnd(4));
		break;
	case 18:
		if (!is(t, "ip6"))
			SAY(t, "ip protocol %s ", PICK("tcp", "icmp", "!= udp"));
		break;
	case 19:
		if (is(t, "inet"))
			SAY(t, "meta nfproto %s ", PICK("ipv4", "ipv6", "!= ipv4"));
		else if (is(t, "netdev") || is(t, "bridge"))
			SAY(t, "ether type %s ", PICK("ip", "ip6", "arp", "!= ip"));
		break;
	case 20:
		if (!is(t, "ip6"))
			SAY(t, "ip saddr @%s ", PICK("plain", "counted"));
		break;
	case 21:
		if (t->order)
			SAY(t, "numgen random mod 3 %u ", rnd(3));
		break;
	case 22:
		SAY(t, "%sname %s ", PICK("iif", "oif"),
		    PICK("eth0", "eth1", "lo", "!= eth0", "\"eth*\"", "{ eth0, lo }",
			 "{ \"eth*\" }"));
		break;
	case 23:
		SAY(t, "ether %s ",
		    PICK("saddr 02:00:00:00:00:01", "saddr != 02:00:00:00:00:02",
			 "saddr { 02:00:00:00:00:03, 02:00:00:00:00:04 }",
			 "daddr & 00:00:00:00:00:0f == 00:00:00:00:00:05",
			 "daddr 02:00:00:00:00:00-02:00:00:03:00:00", "type 8021q"));
		break;
	case 24:
		SAY(t, "vlan %s ",
		    PICK("id 1", "id 2-3", "id { 3, 4 }", "pcp 1", "pcp > 4", "dei 1"));
		break;
	case 25:
		if (chance(50) && !is(t, "ip"))
			SAY(t, "ip6 %s ",
			    PICK("hoplimit 63", "hoplimit < 62", "dscp 3", "dscp != 1",
				 "length > 30", "hoplimit { 61, 64 }"));
		else if (!is(t, "ip6"))
			SAY(t, "ip %s ",
			    PICK("ttl 63", "ttl < 62", "dscp 3", "dscp != 1", "length > 40",
				 "ttl { 61, 64 }"));
		break;
	case 26:
		if (chance(50) && !is(t, "ip"))
			SAY(t, "%s ",
			    PICK("frag frag-off 1", "frag frag-off != 0", "exthdr frag exists",
				 "frag frag-off 2-3"));
		else if (!is(t, "ip6"))
			SAY(t, "ip frag-off %s ",
			    PICK("& 0x1fff != 0", "& 0x2000 == 0x2000", "0", "!= 0"));
		break;
	case 27:
		SAY(t, "meta %s ",
		    PICK("length 40", "length > 48", "length 20-44", "pkttype != host",
			 "iiftype ether"));
		break;
	case 28:
		if (!is(t, "netdev"))
			SAY(t, "ct state %s ",
			    PICK("new", "established,related", "{ new, established }", "invalid"));
		break;
	case 29:
		if (!is(t, "netdev"))
			SAY(t, "ct %s %u ", PICK("mark", "direction"), rnd(3));
		break;
	case 30:
		SAY(t, "limit rate %u/second ", 1 + rnd(20));
		break;
	default:
		SAY(t, "quota until %u bytes ", 100 + rnd(5000));
		break;
	}
}

static void say_statement(struct text *t)
{
	switch (rnd(t->state ? 12 : 9)) {
	case 0:
	case 1:
		SAY(t, "counter ");
		break;
	case 2:
		SAY(t, "meta mark set %s ", PICK("1", "2", "3", "meta mark | 1", "0x11"));
		break;
	case 3:
		SAY(t, "log prefix \"%u\" ", rnd(100));
		break;
	case 4:
		if (is(t, "ip") || is(t, "inet"))
			SAY(t, "ip daddr set 10.0.%u.%u ", rnd(4), rnd(8));
		break;
	case 5:
		SAY(t, "%s dport set %u ", PICK("tcp", "udp"), 1 + rnd(8));
		break;
	case 6:
		if (t->order)
			SAY(t, "last ");
		break;
	case 7:
		if (chance(50) && !is(t, "ip"))
			SAY(t, "ip6 %s ", PICK("hoplimit set 62", "dscp set 3", "dscp set 1"));
		else if (!is(t, "ip6"))
			SAY(t, "ip %s ", PICK("ttl set 62", "dscp set 3", "dscp set 1"));
		break;
	case 8:
		SAY(t, "%s ",
		    PICK("meta pkttype set multicast", "ether saddr set 02:00:00:00:00:02",
			 "vlan id set 3", "vlan pcp set 2"));
		break;
	case 9:
		if (!is(t, "netdev"))
			SAY(t, "ct mark set %u ", rnd(3));
		break;
	case 10:
		if (!is(t, "ip6"))
			SAY(t, "add @seen { ip saddr } ");
		break;
	default:
		if (!is(t, "ip6"))
			SAY(t, "ip daddr @seen ");
		break;
	}
}

/* `chain`: its number; only chains with higher ones are jumped to. */
static void say_rule(struct text *t, unsigned chain)
{
	unsigned n = rnd(4);

	if (chance(90))
		n++;
	for (unsigned k = 0; k < n; k++)
		say_match(t);
	if (chance(40))
		say_statement(t);
	switch (rnd(10)) {
	case 0:
	case 1:
		SAY(t, "accept");
		break;
	case 2:
	case 3:
		SAY(t, "drop");
		break;
	case 4:
		SAY(t, "return");
		break;
	case 5:
	case 6:
		if (chain < 2)
			SAY(t, "%s c%u", PICK("jump", "goto"), chain + 1 + rnd(2 - chain));
		else
			SAY(t, "continue");
		break;
	case 7:
		if (chain < 2)
			SAY(t, "%s dport vmap { 1 : accept, 2 : jump c2, 3-5 : drop }",
			    PICK("tcp", "udp"));
		else
			SAY(t, "counter");
		break;
	default:
		SAY(t, "counter");
		break;
	}
	SAY(t, "\n");
}

/* A table without rules. */
static void say_ruleset(struct text *t)
{
	static const char *const families[] = {"ip", "inet", "inet", "ip6", "bridge", "netdev"};

	t->family = families[rnd(ARRAY_SIZE(families))];
	SAY(t, "table %s t {\n", t->family);
	if (!is(t, "ip6"))
		SAY(t,
		    "set plain { type ipv4_addr; elements = { 10.0.0.1, 10.0.1.2, 10.0.2.3 }; }\n"
		    "set counted { type ipv4_addr; counter; elements = { 10.0.0.2, 10.0.1.1 }; }\n"
		    "set seen { type ipv4_addr; flags dynamic; size 20; }\n");
	for (unsigned k = 3; k--;)
		SAY(t, "chain c%u { }\n", k);
	if (is(t, "netdev"))
		SAY(t, "chain b { type filter hook ingress device \"lo\" priority 0; }\n");
	else
		SAY(t, "chain b { type filter hook forward priority 0; }\n");
	SAY(t, "}\n");
}

static void change(struct world *w, struct text *t, unsigned n)
{
	static const char *const chains[] = {"c0", "c1", "c2", "b"};
	const struct model_table *table =
		container_of(model_tables(w->f.m)->next, struct model_table, link);

	strbuf_truncate(&t->b, 0);
	for (unsigned k = 0; k < n; k++) {
		unsigned chain = rnd(4);
		const struct program *p = compile_program(model_chain_find(table, chains[chain]));
		const struct prog_rule *r = program_rule(p, rnd(1 + program_length(p)));
		char before[32] = "";

		if (r && chance(30)) {
			if (!k)
				SAY(t, "delete rule %s t %s handle %u\n", t->family, chains[chain],
				    (unsigned)r->handle);
			continue;
		}
		if (r && chance(60))
			snprintf(before, sizeof(before), "handle %u ", (unsigned)r->handle);
		SAY(t, "%s rule %s t %s %s", chance(50) ? "add" : "insert", t->family,
		    chains[chain], k ? "" : before);
		say_rule(t, chain == 3 ? 0 : chain);
	}
}

/* Loads rules one by one, so that those which the language does not have are left out. */
static void grow(struct world *a, struct world *b, struct text *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		uint64_t before = rng_state;

		change(a, t, 1);
		before = rng_state;
		if (!world_load(a, strbuf_str(&t->b)))
			continue;
		rng_state = before;
		assert_true(world_load(b, strbuf_str(&t->b)));
	}
}

static void round_run(uint64_t seed, bool state, bool exact)
{
	static struct packet packets[PACKETS];
	static uint64_t times[PACKETS];
	struct world *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct text t = {.b = STRBUF_INIT, .state = state};
	struct eval_result x, y;
	uint64_t now = UINT64_C(1000000000000);

	assert_non_null(a);
	assert_non_null(b);
	rng_state = seed * 1000;
	world_init(a, false, exact);
	world_init(b, true, exact);
	t.order = chance(30);
	say_ruleset(&t);
	if (!world_load(a, strbuf_str(&t.b)))
		fail_msg("%s\n%s", a->f.messages, strbuf_str(&t.b));
	assert_true(world_load(b, strbuf_str(&t.b)));
	grow(a, b, &t, 100 + rnd(400));
	for (unsigned k = 0; k < CHANGES; k++) {
		for (unsigned i = 0; i < PACKETS; i++) {
			random_packet(&packets[i]);
			now += rnd(100) * UINT64_C(1000000);
			times[i] = now;
		}
		for (unsigned i = 0; i < PACKETS;) {
			unsigned n = chance(50) ? 64 : 1 + rnd(64);

			n = MIN(n, PACKETS - i);

			world_run(a, packets + i, times + i, n, &x);
			world_run(b, packets + i, times + i, n, &y);
			compare_packets(a, b, &x, &y);
			i += n;
		}
		compare_rules(a, b);
		if (a->logs.len || b->logs.len) {
			if (exact || compile_root(a->c)->exact || compile_root(a->c)->ordered)
				assert_string_equal(strbuf_str(&a->logs), strbuf_str(&b->logs));
			assert_int_equal(a->logs.len, b->logs.len);
		}
		a->f.now = b->f.now = now;
		compare_sets(a, b);
		grow(a, b, &t, 1 + rnd(20));
	}
	world_free(a);
	world_free(b);
	strbuf_free(&t.b);
	free(a);
	free(b);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static uint64_t rounds_of(void)
{
	uint64_t soak = number_of("TAMIS_SOAK", 0);

	return number_of("TAMIS_ROUNDS", soak ? soak / (PACKETS * CHANGES) + 1 : 60);
}

static void test_one_by_one(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = rounds_of();

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, true, true);
}

static void test_bursts(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = rounds_of();

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, k % 8 == 0, false);
}

/* --- fields --------------------------------------------------------------------------------- */

/* `%u` is a number from `from` on, `many` of them; or names. */
static const struct field_case {
	const char *family, *format;
	unsigned from, many;
	const char *names[6];
} field_cases[] = {
	{"ip", "ip saddr 10.0.%u.1", 0, 4, {0}},
	{"inet", "ip daddr 10.0.0.%u", 0, 8, {0}},
	{"ip6", "ip6 saddr fd00::%u", 0, 9, {0}},
	{"inet", "ip6 daddr fd00::%u", 0, 9, {0}},
	{"inet", "tcp sport %u", 1, 9, {0}},
	{"bridge", "udp dport %u", 1, 9, {0}},
	{"ip6", "meta l4proto %u", 0, 64, {0}},
	{"ip", "icmp type %u", 0, 16, {0}},
	{"ip", "icmp code %u", 0, 8, {0}},
	{"inet", "icmpv6 type %u", 116, 14, {0}},
	{"inet", "icmpv6 code %u", 0, 8, {0}},
	{"ip",
	 "tcp flags == %s",
	 0,
	 6,
	 {"syn", "syn | ack", "ack", "fin | ack", "rst", "psh | ack"}},
	{"ip", "tcp flags %s", 0, 6, {"syn", "syn,ack", "ack,rst", "fin", "psh", "urg"}},
	{"ip", "ip frag-off %u", 0, 9, {0}},
	{"ip6", "frag frag-off %u", 0, 4, {0}},
	{"inet",
	 "ct state %s",
	 0,
	 6,
	 {"new", "established", "invalid", "related,new", "untracked", "{ new, invalid }"}},
	{"ip", "ct direction %s", 0, 2, {"original", "reply"}},
	{"inet", "ct mark %u", 0, 9, {0}},
	{"ip6", "meta pkttype %s", 0, 4, {"host", "broadcast", "multicast", "other"}},
	{"ip", "iif %u", 1, 3, {0}},
	{"bridge", "oif %u", 1, 3, {0}},
	{"ip", "meta mark %u", 0, 4, {0}},
	{"netdev", "vlan id %u", 0, 8, {0}},
	{"bridge", "vlan pcp %u", 0, 8, {0}},
	{"bridge", "vlan dei %u", 0, 2, {0}},
	{"netdev", "meta protocol %s", 0, 3, {"ip", "ip6", "arp"}},
	{"bridge", "ether type %s", 0, 4, {"ip", "ip6", "arp", "8021q"}},
	{"ip", "ip length %u", 20, 40, {0}},
	{"inet", "ip6 length %u", 0, 40, {0}},
	{"bridge", "meta length %u", 28, 64, {0}},
	{"inet", "ip ttl %u", 60, 8, {0}},
	{"ip6", "ip6 hoplimit %u", 60, 8, {0}},
	{"ip", "ip dscp %u", 0, 8, {0}},
	{"netdev", "ip6 dscp %u", 0, 8, {0}},
	{"ip", "iifname eth%u", 0, 4, {0}},
	{"ip6", "oifname %s", 0, 3, {"lo", "eth0", "eth1"}},
	{"inet", "iifname { lo, eth%u }", 0, 4, {0}},
	{"netdev", "ether saddr 02:00:00:00:00:0%u", 0, 8, {0}},
	{"bridge", "ether daddr & 00:00:00:00:00:ff == 00:00:00:00:00:0%u", 0, 9, {0}},
	{"netdev", "meta iiftype %u", 0, 3, {0}},
};

static void say_field_rule(struct strbuf *b, const struct field_case *f, const char *statement)
{
	unsigned k = rnd(f->many);

	strbuf_printf(b, "%s rule %s t b ", chance(50) ? "add" : "insert", f->family);
	if (f->names[0]) {
		const char *at = strstr(f->format, "%s");

		strbuf_printf(b, "%.*s%s%s", (int)(at - f->format), f->format, f->names[k], at + 2);
	} else {
		const char *at = strstr(f->format, "%u");

		strbuf_printf(b, "%.*s%u%s", (int)(at - f->format), f->format, f->from + k, at + 2);
	}
	strbuf_printf(b, " %s\n", statement);
}

/* The rules but for a few on fields with few values are found by the classifier. */
static void check_explained(struct world *w, const struct field_case *f)
{
	struct model_table *t = container_of(model_tables(w->f.m)->next, struct model_table, link);
	const struct model_chain *c = model_chain_find(t, "b");
	struct explained e;

	assert_int_equal(explain_chain(w->c, c, explain_writes(w->c, t), &e), 0);
	assert_true(e.classifier);
	if (e.by_fate[TAMIS_FATE_WALKED] + e.by_fate[TAMIS_FATE_SET] > CLASSIFY_WEAK ||
	    e.by_fate[TAMIS_FATE_NEVER])
		fail_msg("%s %s: %u walked, %u sets, %u never\n%s", f->family, f->format,
			 e.by_fate[TAMIS_FATE_WALKED], e.by_fate[TAMIS_FATE_SET],
			 e.by_fate[TAMIS_FATE_NEVER], fixture_listing(&w->f));
	explained_free(&e);
}

static void run_both(struct world *a, struct world *b, unsigned n)
{
	static struct packet packets[64];
	uint64_t times[64];
	struct eval_result x, y;

	for (unsigned i = 0; i < n; i++) {
		random_packet(&packets[i]);
		times[i] = UINT64_C(1000000000000);
	}
	world_run(a, packets, times, n, &x);
	world_run(b, packets, times, n, &y);
	compare_packets(a, b, &x, &y);
}

static void field_run(const struct field_case *f, bool exact)
{
	struct world *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t before;
	char *got;

	assert_non_null(a);
	assert_non_null(b);
	world_init(a, false, exact);
	world_init(b, true, exact);
	strbuf_printf(&text, "table %s t { chain b { type filter hook %s priority 0; }; }\n",
		      f->family, strcmp(f->family, "netdev") ? "forward" : "ingress device \"lo\"");
	for (unsigned k = 0; k < 40; k++)
		say_field_rule(&text, f, "counter");
	for (unsigned k = 0; k < 3; k++) {
		before = rng_state;
		if (!world_load(a, strbuf_str(&text)))
			fail_msg("%s\n%s", a->f.messages, strbuf_str(&text));
		rng_state = before;
		assert_true(world_load(b, strbuf_str(&text)));
		if (!k)
			check_explained(a, f);
		for (unsigned i = 0; i < 12; i++)
			run_both(a, b, 64);
		compare_rules(a, b);
		compare_sets(a, b);
		strbuf_truncate(&text, 0);
		for (unsigned i = 0; i < 20; i++)
			say_field_rule(&text, f,
				       chance(50)   ? "meta mark set 2"
				       : chance(50) ? "accept"
						    : "drop");
	}
	got = fixture_listing(&a->f);
	for (at = strstr(got, "packets "); at && at[8] == '0'; at = strstr(at + 8, "packets "))
		;
	if (!at)
		fail_msg("%s %s meets no packet", f->family, f->format);
	free(got);
	world_free(a);
	world_free(b);
	strbuf_free(&text);
	free(a);
	free(b);
}

static void test_fields(void **state)
{
	(void)state;
	rng_state = number_of("TAMIS_SEED", 1);
	for (unsigned k = 0; k < ARRAY_SIZE(field_cases); k++)
		for (unsigned exact = 0; exact < 2; exact++)
			field_run(&field_cases[k], exact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
