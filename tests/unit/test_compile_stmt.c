/* SPDX-License-Identifier: Apache-2.0 */
/* What statements and expressions of single rules compile to, by what packets meet. */
#include "compile_world.h"

static void test_notes(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t {\n"
				 "chain in { type filter hook input priority 0;\n"
				 "fib saddr oif 0 drop\n"
				 "fib daddr type local drop\n"
				 "meta mark set socket mark accept\n"
				 "}\n"
				 "chain nat { type nat hook prerouting priority 0; udp dport 1 "
				 "redirect to :2; }\n"
				 "}\n"),
			 0);
	udp(w, 1, 2, 3);
	run(w);
	assert_string_equal(strbuf_str(&w->said), "fib: no value\n"
						  "fib type: local\n"
						  "socket: no effect\n"
						  "redirect: nat\n");
	assert_int_equal(w->out.accepted, 1);
	assert_int_equal(matched(w, "in", 0), 0);
	assert_int_equal(matched(w, "in", 2), 1);
	world_free(w);
}

/* One datagram from and to this port, on a path of its own; later ones of a flow have its status.
 */
static void udp_on(struct world *w, enum eval_path path, unsigned from, unsigned to, uint16_t port)
{
	w->path[w->burst.n] = path;
	udp(w, from, to, port);
	be16_store(w->packets[w->burst.n - 1].b + w->packets[w->burst.n - 1].nh + 20, port);
}

static void assert_matched(struct world *w, const char *chain, const uint64_t want[4])
{
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(matched(w, chain, i), want[i]);
}

static void test_nat_status(void **state)
{
	struct ct_config config;
	struct world *w = world_new();

	(void)state;
	ct_config_default(&config);
	assert_int_equal(ct_table_new(&config, &w->ct), 0);
	assert_int_equal(
		load(w, "table inet t {\n"
			"chain to { type nat hook prerouting priority -100;\n"
			"udp dport 1 dnat ip to 10.0.0.9; udp dport 2 redirect to :2\n"
			"udp dport 3 redirect to :30; udp dport 4 dnat ip to 10.0.0.2-10.0.0.3; }\n"
			"chain own { type nat hook output priority -100; udp dport 5 redirect\n}\n"
			"chain from { type nat hook postrouting priority 100;\n"
			"udp dport 6 masquerade; udp dport 7 masquerade random\n"
			"udp dport 8 snat ip prefix to 10.0.0.0/30; }\n"
			"chain early { type filter hook prerouting priority 0;\n"
			"ct status dnat; ct status snat; }\n"
			"chain in { type filter hook input priority 200;\n"
			"udp dport 1 ct status dnat; udp dport 2 ct status dnat\n"
			"udp dport 3 ct status dnat; udp dport 4 ct status dnat; }\n"
			"chain late { type filter hook postrouting priority 200;\n"
			"udp dport 5 ct status dnat; udp dport 6 ct status snat\n"
			"udp dport 7 ct status snat; udp dport 8 ct status snat; }\n"
			"}\n"),
		0);
	for (uint16_t port = 1; port <= 4; port++)
		udp_on(w, EVAL_PATH_INPUT, 1, 2, port);
	run(w);
	assert_matched(w, "in", (const uint64_t[]){1, 0, 1, 1});
	assert_int_equal(matched(w, "early", 0), 3);
	for (uint16_t port = 1; port <= 4; port++)
		udp_on(w, EVAL_PATH_INPUT, 2, 1, port);
	run(w);
	assert_matched(w, "in", (const uint64_t[]){2, 0, 2, 2});
	assert_int_equal(matched(w, "early", 1), 0);
	for (uint16_t port = 5; port <= 8; port++)
		udp_on(w, EVAL_PATH_OUTPUT, 1, 2, port);
	run(w);
	assert_matched(w, "late", (const uint64_t[]){1, 0, 1, 0});
	for (uint16_t port = 6; port <= 8; port++)
		udp_on(w, EVAL_PATH_FORWARD, 3 + port, 2, port);
	run(w);
	assert_matched(w, "late", (const uint64_t[]){1, 1, 2, 1});
	assert_int_equal(matched(w, "early", 0), 6);
	ct_table_free(w->ct);
	world_free(w);
}

static void test_verdict_map_later(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w,
			      "table inet t {\n"
			      "map m { type inet_service : verdict; }\n"
			      "chain x { drop; }\n"
			      "chain in { type filter hook input priority 0; udp dport vmap @m; }\n"
			      "}\n"),
			 0);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	assert_int_equal(load(w, "add element inet t m { 2 : jump x }"), 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 2);
	assert_int_equal(load(w,
			      "add chain inet t y; add element inet t m { 3 : goto y }; add rule "
			      "inet t y reject"),
			 0);
	hit_all(w);
	assert_int_equal(w->out.rejected, 4);
	world_free(w);
}

static void test_anonymous_chain(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "udp dport 1-2 jump { udp dport 1 drop; counter; }\n"
				 "udp dport 2 reject\n"
				 "}; }"),
			 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 1);
	assert_int_equal(w->out.rejected, 2);
	assert_int_equal(w->out.accepted, 4);
	world_free(w);
}

static void test_objects(void **state)
{
	struct world *w = world_new();
	struct state_info info;

	(void)state;
	assert_int_equal(
		load(w, "table inet t {\n"
			"counter c1 { }\n"
			"counter c2 { }\n"
			"quota q { 60 bytes; }\n"
			"map names { type inet_service : counter; elements = { 2 : \"c2\" }; }\n"
			"chain in { type filter hook input priority 0; policy drop;\n"
			"counter name \"c1\"\n"
			"counter name udp dport map @names reject\n"
			"counter name udp dport map { 3 : \"c2\" } drop\n"
			"quota name \"q\" accept\n"
			"}; }"),
		0);
	for (unsigned k = 0; k < 3; k++)
		udp(w, 1, 2, 1);
	udp(w, 1, 2, 2);
	udp(w, 1, 2, 3);
	run(w);
	assert_int_equal(w->out.rejected, 8);
	assert_int_equal(w->out.accepted, 1 | 2); /* 28 bytes each, the third goes beyond 60 */
	const struct model_table *t = model_table_find(w->f.m, FAMILY_INET, "t");

	state_read(model_object_find(t, OBJ_COUNTER, "c1")->state, 0, &info);
	assert_int_equal(info.counter.packets, 5);
	state_read(model_object_find(t, OBJ_COUNTER, "c2")->state, 0, &info);
	assert_int_equal(info.counter.packets, 2);
	world_free(w);
}

static void test_element_statements(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t {\n"
				 "set s { type ipv4_addr; flags dynamic; size 10; }\n"
				 "chain in { type filter hook input priority 0;\n"
				 "add @s { ip saddr limit rate over 1/hour burst 2 packets } drop\n"
				 "meter m size 1 { ip saddr quota over 30 bytes } reject\n"
				 "}; }"),
			 0);
	for (unsigned k = 0; k < 3; k++)
		udp(w, 1, 2, 1); /* two are within the burst; the second is beyond the quota */
	udp(w, 2, 2, 1);	 /* the meter has no room for a second address */
	udp(w, 2, 2, 1);
	run(w);
	assert_int_equal(w->out.dropped, 4);
	assert_int_equal(w->out.rejected, 2);
	assert_int_equal(w->out.accepted, 1 | 8 | 16);
	world_free(w);
}

/* What the kernel's own jhash says, addresses and concatenations. */
static void test_jhash(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(
		load(w,
		     "table inet t { chain in { type filter hook input priority 0;\n"
		     "udp dport 1 meta mark set jhash ip saddr . ip daddr mod 1000 seed 0x1\n"
		     "udp dport 2 meta mark set jhash ip daddr mod 65536 seed 0xdeadbeef offset 7\n"
		     "udp dport 99 meta mark set jhash ip daddr . udp dport . ip protocol mod "
		     "100000 seed 0x5\n"
		     "}; }"),
		0);
	udp(w, 1, 2, 1);
	udp(w, 1, 2, 2);
	udp(w, 1, 77, 99);
	for (unsigned i = 0; i < 3; i++) {
		struct packet *p = &w->packets[i];

		p->b[p->nh + 12] = p->b[p->nh + 16] = 127;
		ip4_checksum(p);
	}
	run(w);
	assert_int_equal(w->burst.mark[0], 0x218);
	assert_int_equal(w->burst.mark[1], 0xae8);
	assert_int_equal(w->burst.mark[2], 0x2dda);
	world_free(w);
}

static void test_numgen(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "meta mark set numgen inc mod 3 offset 100\n"
				 "numgen random mod 10 < 10 counter\n"
				 "}; }"),
			 0);
	for (unsigned k = 0; k < 5; k++)
		udp(w, 1, 2, 1);
	run(w);
	for (unsigned k = 0; k < 5; k++)
		assert_int_equal(w->burst.mark[k], 100 + k % 3);
	assert_int_equal(matched(w, "in", 1), 5);
	world_free(w);
}

static void test_time(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "meta hour \"22:00\"-\"06:00\" counter\n"
				 "meta day \"Saturday\" counter\n"
				 "meta time > \"2001-09-09 00:00:00\" counter\n"
				 "}; }"),
			 0);
	udp(w, 1, 2, 1); /* 2001-09-09 01:46:40, a Sunday */
	udp(w, 1, 2, 1); /* 12 hours before, a Saturday afternoon */
	w->burst.time[0] = UINT64_C(1000000000000000000);
	w->burst.time[1] = w->burst.time[0] - UINT64_C(43200000000000);
	run(w);
	assert_int_equal(matched(w, "in", 0), 1);
	assert_int_equal(matched(w, "in", 1), 1);
	assert_int_equal(matched(w, "in", 2), 1);
	world_free(w);
}

/* Whatever a reject answers with, the packet is rejected; one that is not TCP gets no reset. */
static void test_reject_forms(void **state)
{
	static const struct {
		const char *form;
		bool hit;
	} forms[] = {
		{"reject", true},
		{"reject with icmp host-unreachable", true},
		{"reject with icmp type port-unreachable", true},
		{"reject with icmpx admin-prohibited", true},
		{"reject with icmpx type no-route", true},
		{"reject with icmpv6 no-route", false},
		{"reject with tcp reset", false},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		struct world *w = world_new();
		char text[256];

		snprintf(text, sizeof(text),
			 "table inet t { chain in { type filter hook input priority 0;\n%s\n}; }",
			 forms[i].form);
		assert_int_equal(load(w, text), 0);
		udp(w, 1, 2, 1);
		run(w);
		assert_int_equal(w->out.rejected, forms[i].hit);
		assert_int_equal(w->out.accepted, !forms[i].hit);
		world_free(w);
	}
}

/* Over midnight the ends themselves are outside, as nft has the kernel compare. */
static void test_hours(void **state)
{
	enum { HOUR = 3600 };
	static const struct {
		unsigned clock;
		bool hit[5];
	} cases[] = {
		{22 * HOUR - 1, {0, 1, 1, 0, 1}}, {22 * HOUR, {0, 1, 1, 0, 0}},
		{22 * HOUR + 1, {1, 0, 0, 0, 0}}, {0, {1, 0, 0, 1, 0}},
		{6 * HOUR - 1, {1, 0, 0, 1, 0}},  {6 * HOUR, {0, 1, 1, 1, 1}},
		{6 * HOUR + 1, {0, 1, 1, 0, 1}},  {24 * HOUR - 1, {1, 0, 0, 0, 0}},
	};
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "meta hour \"22:00\"-\"06:00\" counter\n"
				 "meta hour != \"22:00\"-\"06:00\" counter\n"
				 "meta hour \"06:00\"-\"22:00\" counter\n"
				 "meta hour \"00:00\"-\"06:00\" counter\n"
				 "meta hour { \"06:00\"-\"21:59:59\" } counter\n"
				 "}; }"),
			 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t before[5];

		for (unsigned k = 0; k < ARRAY_SIZE(before); k++)
			before[k] = matched(w, "in", k);
		udp(w, 1, 2, 1);
		w->burst.time[0] = (UINT64_C(86400) * 11000 + cases[i].clock) * 1000000000;
		run(w);
		for (unsigned k = 0; k < ARRAY_SIZE(before); k++)
			assert_int_equal(matched(w, "in", k) - before[k], cases[i].hit[k]);
	}
	world_free(w);
}

/* Two hours east of Greenwich: the texts are local, the packets' times are not. */
static void test_hours_east(void **state)
{
	const uint64_t day = UINT64_C(86400) * 11000; /* 2000-02-13, a Sunday */
	static const struct {
		int32_t at; /* from that midnight, UTC */
		bool hit[5];
	} cases[] = {
		{-7201, {0, 1, 0, 0, 0}}, {-7200, {0, 1, 1, 0, 0}}, {-1, {1, 1, 1, 0, 0}},
		{0, {1, 0, 1, 1, 1}},	  {3599, {1, 0, 1, 1, 1}},  {3600, {0, 0, 1, 1, 1}},
		{79200, {0, 0, 0, 0, 1}},
	};
	struct world *w = world_new();

	(void)state;
	w->f.env.utc_offset = 7200;
	assert_int_equal(load(w,
			      "table inet t { chain in { type filter hook input priority 0;\n"
			      "meta hour \"00:00\"-\"03:00\" counter\n"
			      "meta day \"Saturday\" counter\n"
			      "meta time \"2000-02-13\"-\"2000-02-13 23:59:59\" counter\n"
			      "meta time \"2000-02-13 02:00:00\"-\"2000-02-13 23:59:59\" counter\n"
			      "meta day \"Sunday\" counter\n"
			      "}; }"),
			 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t before[5];

		for (unsigned k = 0; k < ARRAY_SIZE(before); k++)
			before[k] = matched(w, "in", k);
		udp(w, 1, 2, 1);
		w->burst.time[0] = (day + (uint64_t)(int64_t)cases[i].at) * 1000000000;
		run(w);
		for (unsigned k = 0; k < ARRAY_SIZE(before); k++)
			if (matched(w, "in", k) - before[k] != cases[i].hit[k])
				fail_msg("time %d, rule %u", cases[i].at, k);
	}
	world_free(w);
}

static void test_names(void **state)
{
	static const char names[][PROG_NAME_LEN] = {"eth0", "eth1", "wlan0", "lo"};
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "iifname \"eth*\" counter\n"
				 "iifname != \"eth*\" counter\n"
				 "iifname { \"lo\", \"wl*\" } counter\n"
				 "iifname . udp dport { \"eth0\" . 1, \"eth1\" . 2 } counter\n"
				 "}; }"),
			 0);
	w->devices = (struct eval_devices){4, names};
	for (uint32_t i = 0; i < 5; i++) {
		udp(w, 1, 2, 1);
		w->burst.iif[i] = i; /* none, eth0, eth1, wlan0, lo */
	}
	run(w);
	assert_int_equal(matched(w, "in", 0), 2);
	assert_int_equal(matched(w, "in", 1), 3);
	assert_int_equal(matched(w, "in", 2), 2);
	assert_int_equal(matched(w, "in", 3), 1);
	world_free(w);
}

/* Behind a match of the outer tag's type `vlan` means the inner tag. */
static void test_two_tags(void **state)
{
	struct world *w = world_new();
	const struct program *p;

	(void)state;
	assert_int_equal(
		load(w, "table netdev n { chain in { type filter hook ingress device \"eth0\" "
			"priority 0;\n"
			"vlan id 10 counter\n"
			"ether type 8021ad vlan id 10 vlan type 8021q vlan id 20 counter\n"
			"ether type 8021ad vlan id 10 vlan type 8021q vlan id 10 counter\n"
			"vlan id 10 ip ttl 64 counter\n"
			"}; }"),
		0);
	for (unsigned i = 0; i < 2; i++) {
		struct packet *pk = &w->packets[w->burst.n++];

		pk->n = 0;
		put_ether(pk, i ? 0x88a8 : 0x8100);
		put16(pk, 10);
		if (i) {
			put16(pk, 0x8100);
			put16(pk, 20);
		}
		put16(pk, 0x0800);
		ip4_begin(pk, 17, 0, NULL, 0);
		put_udp(pk, 8);
		ip4_end(pk);
	}
	run(w);
	p = compile_program(model_chain_find(model_table_find(w->f.m, FAMILY_NETDEV, "n"), "in"));
	assert_int_equal(program_rule(p, 0)->stats->packets, 1); /* ether type vlan, not 8021ad */
	assert_int_equal(program_rule(p, 1)->stats->packets, 1);
	assert_int_equal(program_rule(p, 2)->stats->packets, 0);
	assert_int_equal(program_rule(p, 3)->stats->packets, 1);
	world_free(w);
}

/* What has no such header has no option either, and says so. */
static void test_missing_options(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0;\n"
				 "tcp option maxseg missing counter\n"
				 "tcp option maxseg exists counter\n"
				 "tcp option maxseg size != 1 counter\n"
				 "sctp chunk data missing counter\n"
				 "ip option ra missing counter\n"
				 "exthdr frag missing counter\n"
				 "}; }"),
			 0);
	udp(w, 1, 2, 53);
	run(w);
	assert_int_equal(matched(w, "in", 0), 1);
	assert_int_equal(matched(w, "in", 1), 0);
	assert_int_equal(matched(w, "in", 2), 0);
	assert_int_equal(matched(w, "in", 3), 1);
	assert_int_equal(matched(w, "in", 4), 1);
	assert_int_equal(matched(w, "in", 5), 0); /* IPv6 only */
	world_free(w);
}

/* At egress the Ethernet header counts, elsewhere it does not. */
static void test_egress_length(void **state)
{
	static const struct {
		const char *table, *chain;
		uint64_t bytes;
	} chains[] = {{"n", "in", 28}, {"n", "out", 28 + 14}};
	struct world *w = world_new();

	(void)state;
	assert_int_equal(
		load(w, "table netdev n {\n"
			"chain in { type filter hook ingress device eth0 priority 0; counter; }\n"
			"chain out { type filter hook egress device eth0 priority 0; counter; }\n"
			"}"),
		0);
	udp(w, 1, 2, 53);
	w->path[0] = EVAL_PATH_FORWARD;
	run(w);
	for (unsigned i = 0; i < ARRAY_SIZE(chains); i++) {
		const struct model_table *t =
			model_table_find(w->f.m, FAMILY_NETDEV, chains[i].table);
		const struct program *p = compile_program(model_chain_find(t, chains[i].chain));

		assert_int_equal(program_rule(p, 0)->stats->bytes, chains[i].bytes);
	}
	world_free(w);
}

static void test_nesting(void **state)
{
	struct world *w = world_new();
	struct strbuf b = STRBUF_INIT;

	(void)state;
	strbuf_puts(&b, "table inet t { chain in { meta mark set ");
	for (unsigned k = 0; k < 20; k++)
		strbuf_printf(&b, "meta mark & 0x%x | ", 1u << k);
	strbuf_puts(&b, "1; }; }");
	assert_int_equal(load(w, strbuf_str(&b)), -E2BIG);
	assert_null(model_table_find(w->f.m, FAMILY_INET, "t"));
	strbuf_free(&b);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_nat_status),
		cmocka_unit_test(test_verdict_map_later),
		cmocka_unit_test(test_anonymous_chain),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_element_statements),
		cmocka_unit_test(test_jhash),
		cmocka_unit_test(test_numgen),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_reject_forms),
		cmocka_unit_test(test_hours),
		cmocka_unit_test(test_hours_east),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_two_tags),
		cmocka_unit_test(test_missing_options),
		cmocka_unit_test(test_egress_length),
		cmocka_unit_test(test_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
