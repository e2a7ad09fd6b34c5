/* SPDX-License-Identifier: Apache-2.0 */
/* test_parse: rules and their expressions: what each text becomes. */
#include "parse_fixture.h"

struct rule_case {
	const char *rule, *want;
};

static void check_rules(const struct rule_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char text[1024];
		snprintf(text, sizeof(text), "add rule inet t c %s\n", cases[i].rule);
		struct parsed t;
		parse_ok(&t, text);
		assert_int_equal(t.cmds.n, 1);
		struct strbuf out = STRBUF_INIT;
		dump_stmts(&out, t.cmds.first->rule.stmts);
		assert_string_equal(strbuf_str(&out), cases[i].want);
		/* A clone is the same. */
		struct arena b = ARENA_INIT;
		struct strbuf again = STRBUF_INIT;
		dump_stmts(&again, stmt_clone_list(&b, t.cmds.first->rule.stmts));
		assert_string_equal(strbuf_str(&again), cases[i].want);
		strbuf_free(&out);
		strbuf_free(&again);
		arena_free(&b);
		parsed_free(&t);
	}
}

static void test_matches(void **state)
{
	static const struct rule_case cases[] = {
		{"tcp dport 22", "(~ tcp.dport 22#)"},
		{"tcp dport == 0x16", "(== tcp.dport 22#)"},
		{"tcp dport eq 010", "(== tcp.dport 8#)"},
		{"tcp dport != ssh", "(!= tcp.dport ssh)"},
		{"tcp dport < 5 tcp dport ge 6", "(< tcp.dport 5#) | (>= tcp.dport 6#)"},
		{"tcp dport 1-5", "(~ tcp.dport 1#-5#)"},
		{"ip saddr 10.0.0.0/8", "(~ ip.saddr 10.0.0.0/8)"},
		{"ip saddr 1.1.1.1-1.1.1.9", "(~ ip.saddr 1.1.1.1-1.1.1.9)"},
		{"ip6 saddr [::1]", "(~ ip6.saddr ::1)"},
		{"ip saddr != { 1.1.1.1, 10.0.0.0/8, }", "(!= ip.saddr {1.1.1.1 10.0.0.0/8})"},
		{"ip saddr @s", "(~ ip.saddr @s)"},
		{"iifname \"eth0\" oifname eth1* iif lo",
		 "(~ meta.iifname \"eth0\") | (~ meta.oifname eth1*) | (~ meta.iif lo)"},
		{"ct state established,related", "(~ ct.state [established related])"},
		{"ct original ip saddr 1.1.1.1", "(~ ct.saddr/0,2 1.1.1.1)"},
		{"ct reply proto-dst 5", "(~ ct.proto-dst/1,0 5#)"},
		{"ct count over 3", "connlimit >3"},
		{"meta l4proto { tcp, udp }", "(~ meta.l4proto {tcp udp})"},
		{"ip protocol icmp ip6 nexthdr ah", "(~ ip.protocol icmp) | (~ ip6.nexthdr ah)"},
		{"tcp flags & (fin | syn) == syn", "(== (& tcp.flags (| fin syn)) syn)"},
		{"tcp flags syn / syn,ack", "(== (& tcp.flags [syn ack]) syn)"},
		{"tcp flags syn,ack / syn,ack,fin", "(== (& tcp.flags [syn ack fin]) [syn ack])"},
		{"tcp flags != syn / ack", "(!= (& tcp.flags ack) syn)"},
		{"tcp flags ! fin,rst", "(! tcp.flags [fin rst])"},
		{"meta mark and 0xff lshift 4 or 1 xor 2 != 3",
		 "(!= (| (& meta.mark (<< 255# 4#)) (^ 1# 2#)) 3#)"},
		{"meta mark & 1 & 2 == 3", "(== (& (& meta.mark 1#) 2#) 3#)"},
		{"meta mark 1 | 2", "(~ meta.mark (| 1# 2#))"},
		{"@nh,0,4 6 @ih,32,8 1", "(~ @1,0,4 6#) | (~ @3,32,8 1#)"},
		{"ip saddr . tcp dport { 1.1.1.1 . 5-6, 1.0.0.0/8 . 7 }",
		 "(~ (. ip.saddr tcp.dport) {(. 1.1.1.1 5#-6#) (. 1.0.0.0/8 7#)})"},
		{"ip saddr . ip daddr @s", "(~ (. ip.saddr ip.daddr) @s)"},
		{"arp saddr ip 1.1.1.1 arp daddr ether 0:1:2:3:4:5",
		 "(~ arp.saddr ip 1.1.1.1) | (~ arp.daddr ether 0:1:2:3:4:5)"},
		{"ether type vlan vlan type 8021q", "(~ ether.type vlan) | (~ vlan.type 8021q)"},
		{"frag more-fragments 1 rt0 addr[1] ::1",
		 "(~ opt0.frag.more-fragments 1#) | (~ opt0.rt0.addr+128,128 ::1)"},
		{"exthdr frag exists exthdr hbh missing",
		 "(~ opt0.frag? exists) | (~ opt0.hbh? missing)"},
		{"rt type 0 rt nexthop 1.1.1.1 rt ip6 nexthop ::1",
		 "(~ opt0.rt.type 0#) | (~ rt1/0 1.1.1.1) | (~ rt1/10 ::1)"},
		{"tcp option maxseg size 5 tcp option mss exists tcp option sack1 left 2",
		 "(~ opt1.maxseg.size 5#) | (~ opt1.maxseg? exists) | (~ opt1.sack1.left 2#)"},
		{"tcp option 5 missing tcp option @7,8,16 9",
		 "(~ opt1.5? missing) | (~ opt1.7+8,16 9#)"},
		{"ip option rr exists sctp chunk data flags 1 dccp option 4 exists",
		 "(~ opt2.rr? exists) | (~ opt3.data.flags 1#) | (~ opt4.4? exists)"},
		{"vxlan vni 5 vxlan ip saddr 1.1.1.1 gre tcp dport 5",
		 "(~ vxlan.vni 5#) | (~ vxlan/ip.saddr 1.1.1.1) | (~ gre/tcp.dport 5#)"},
		{"fib saddr . iif oif missing fib daddr type local fib daddr check exists",
		 "(~ fib9/0 missing) | (~ fib2/2 local) | (~ fib2/0? exists)"},
		{"socket transparent 1 socket cgroupv2 level 2 \"a/b\"",
		 "(~ socket0/0 1#) | (~ socket3/2 \"a/b\")"},
		{"osf ttl skip name \"Linux\" osf version \"Linux:5\"",
		 "(~ osf2/0 \"Linux\") | (~ osf0/1 \"Linux:5\")"},
		{"ipsec in reqid 1 ipsec out spnum 2 ip saddr 1.1.1.1 ipsec exists",
		 "(~ xfrm0/0,0,0 1#) | (~ xfrm2/1,2,2 1.1.1.1) | (~ meta.ipsec exists)"},
		{"numgen inc mod 2 1 numgen random mod 4 offset 5 < 6",
		 "(~ numgen0/2+0 1#) | (< numgen1/4+5 6#)"},
		{"jhash ip saddr . tcp dport mod 2 seed 0x1 offset 3 { 3, 4 } symhash mod 2 0",
		 "(~ hash2+3/1!((. ip.saddr tcp.dport)) {3# 4#}) | (~ hash2+0/0() 0#)"},
		{"tunnel id 5 meta secpath exists", "(~ tunnel1 5#) | (~ meta.ipsec exists)"},
		{"meta priority 1:2 meta priority { ab:cd, none }",
		 "(~ meta.priority 1:2) | (~ meta.priority {ab:cd none})"},
		{"meta time \"2020-01-01\"-\"2021-01-01\" meta hour < \"17:00\"",
		 "(~ meta.time \"2020-01-01\"-\"2021-01-01\") | (< meta.hour \"17:00\")"},
		{"@th,0,16 { 1, 2 } time > 5", "(~ @2,0,16 {1# 2#}) | (> meta.time 5#)"},
		{"icmp type { echo-request, redirect } icmpv6 type nd-router-advert",
		 "(~ icmp.type {echo-request redirect}) | (~ icmpv6.type nd-router-advert)"},
		{"ct status & dnat != 0 ct direction original",
		 "(!= (& ct.status dnat) 0#) | (~ ct.direction original)"},
	};
	check_rules(cases, ARRAY_SIZE(cases));
}

static void test_statements(void **state)
{
	static const struct rule_case cases[] = {
		{"counter accept", "counter 0 0 | accept"},
		{"counter packets 5 bytes 6 drop", "counter 5 6 | drop"},
		{"counter bytes 6 packets 5", "counter 5 6"},
		{"counter name \"x\" quota name q", "obj0 \"x\" | obj1 q"},
		{"limit name ip saddr map { 1.1.1.1 : \"l\" }",
		 "obj2 (map ip.saddr {<1.1.1.1 : \"l\">})"},
		{"jump a goto b", "jump a | goto b"},
		{"jump { accept; ip saddr 1.1.1.1 return; }",
		 "jump { accept ; (~ ip.saddr 1.1.1.1) | return }"},
		{"ct state vmap { new : jump c, invalid : drop }",
		 "(vmap ct.state {<new : jump c> <invalid : drop>})"},
		{"ip saddr . tcp dport vmap @m", "(vmap (. ip.saddr tcp.dport) @m)"},
		{"limit rate 5/minute", "limit 5/60"},
		{"limit rate over 10 mbytes/second burst 5 kbytes",
		 "limit >10485760B/1 burst 5120"},
		{"limit rate until 1/week burst 7 packets", "limit 1/604800 burst 7"},
		{"quota over 25 mbytes used 3 bytes", "quota >26214400 3"},
		{"last last used 1m5s last used never", "last -1 | last 65000 | last -1"},
		{"log", "log"},
		{"log prefix \"a b\" level crit flags tcp sequence,options flags skuid",
		 "log prefix=a b level=2 flags=11"},
		{"log flags all group 3 snaplen 4 queue-threshold 5",
		 "log flags=47 group=3 snaplen=4 threshold=5"},
		{"reject", "reject0"},
		{"reject with icmpx type admin-prohibited", "reject3 code=admin-prohibited"},
		{"reject with icmp port-unreachable", "reject1 code=port-unreachable"},
		{"reject with icmpv6 3", "reject2 code=3#"},
		{"reject with tcp reset", "reject4"},
		{"meta mark set 0x10", "set to=meta.mark value=16#"},
		{"mark set ct mark | 1", "set to=meta.mark value=(| ct.mark 1#)"},
		{"meta mark set ip saddr map { 1.1.1.1 : 5, * : 6 }",
		 "set to=meta.mark value=(map ip.saddr {<1.1.1.1 : 5#> <* : 6#>})"},
		{"ct mark set meta mark ct label set foo,bar",
		 "set to=ct.mark value=meta.mark | set to=ct.label value=[foo bar]"},
		{"ct helper set \"ftp\" ct timeout set t", "obj3 \"ftp\" | obj4 t"},
		{"ct original zone set 5 ct event set new,destroy",
		 "set to=ct.zone/0,0 value=5# | set to=ct.event value=[new destroy]"},
		{"meta secmark set \"s\" ct secmark set meta secmark",
		 "obj6 \"s\" | set to=ct.secmark value=meta.secmark"},
		{"ip dscp set cs1 @nh,8,8 set 1",
		 "set to=ip.dscp value=cs1 | set to=@1,8,8 value=1#"},
		{"ip ecn set ip dscp", "set to=ip.ecn value=ip.dscp"},
		{"ether type set ip", "set to=ether.type value=ip"},
		{"tcp option maxseg size set rt mtu", "set to=opt1.maxseg.size value=rt2/0"},
		{"reset tcp option sack-perm", "set to=opt1.sack-perm?"},
		{"snat to 1.1.1.1", "snat/0 addr=1.1.1.1 flags=0"},
		{"snat ip to 1.1.1.1-1.1.1.5:10-20 random,persistent",
		 "snat/2 addr=1.1.1.1-1.1.1.5 port=10#-20# flags=5"},
		{"dnat ip6 to [fe80::1]:80 fully-random", "dnat/10 addr=fe80::1 port=80# flags=2"},
		{"dnat to :80", "dnat/0 port=80# flags=0"},
		{"dnat ip saddr map { 1.1.1.1 : 2.2.2.2 }",
		 "dnat/0 addr=(map ip.saddr {<1.1.1.1 : 2.2.2.2>}) flags=0"},
		{"dnat ip addr . port to ip saddr . tcp dport map @m",
		 "dnat/2 addr=(map (. ip.saddr tcp.dport) @m) flags=32"},
		{"snat ip prefix to ip saddr map { 10.0.0.0/8 : 11.0.0.0/8 }",
		 "snat/2 addr=(map ip.saddr {<10.0.0.0/8 : 11.0.0.0/8>}) flags=8"},
		{"masquerade masquerade to :1-9 random",
		 "masquerade/0 flags=0 | masquerade/0 port=1#-9# flags=1"},
		{"redirect to :80 redirect to 81 redirect",
		 "redirect/0 port=80# flags=0 | redirect/0 port=81# flags=0 | redirect/0 flags=0"},
		{"tproxy ip to 1.1.1.1:80 tproxy to :81",
		 "tproxy/2 addr=1.1.1.1 port=80# flags=0 | tproxy/0 port=81# flags=0"},
		{"dup to 1.1.1.1 device \"eth0\" fwd to lo fwd ip to 1.1.1.1 device lo",
		 "dup/0 to=1.1.1.1 dev=\"eth0\" | fwd/0 dev=lo | fwd/2 to=1.1.1.1 dev=lo"},
		{"queue", "queue flags=0"},
		{"queue num 1-3 bypass,fanout", "queue flags=3 num=1#-3#"},
		{"queue num 1 fanout bypass", "queue flags=3 num=1#"},
		{"queue flags bypass to symhash mod 2", "queue flags=1 num=hash2+0/0()"},
		{"synproxy mss 1460 wscale 7 timestamp sack-perm", "synproxy 1460 7 1 1"},
		{"synproxy name s notrack", "obj7 s | notrack"},
		{"add @s { ip saddr . 80 timeout 1m limit rate 1/second comment \"c\" }",
		 "add @s <(. ip.saddr 80#) timeout=60000 comment=c limit 1/1>"},
		{"update @m { ip saddr : tcp dport }", "update @m <ip.saddr : tcp.dport>"},
		{"delete @s { ip saddr & 255.0.0.0 }", "delete @s <(& ip.saddr 255.0.0.0)>"},
		{"set update ip saddr timeout 5s @s", "update @s <ip.saddr timeout=5000>"},
		{"meter m size 10 { ip saddr ct count 5 }", "meter m 10 <ip.saddr connlimit 5>"},
		{"flow table f { ip saddr counter }", "meter f 0 <ip.saddr counter 0 0>"},
		{"flow add @f flow offload @g", "flow @f | flow @g"},
		{"xt match \"addrtype\"", "xt match addrtype"},
	};
	check_rules(cases, ARRAY_SIZE(cases));
}

static void test_elements(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{ 1.2.3.4 }", "{1.2.3.4}"},
		{"{\n1.2.3.4\n,\n5.6.7.8,\n}", "{1.2.3.4 5.6.7.8}"},
		{"{ 1,, 2, }", "{1# 2#}"},
		{"{ 1 # one\n, 2 # two\n }", "{1# 2#}"},
		{"{ { 1, 2 }, 3 }", "{1# 2# 3#}"},
		{"{ * counter packets 1 bytes 2 : drop }", "{<* counter 1 2 : drop>}"},
		{"{ 1 timeout 1h expires 5m comment \"x\" : 2 }",
		 "{<1# timeout=3600000 expires=300000 comment=x : 2#>}"},
		{"{ 1 timeout never, \"a\" . b* }", "{<1# timeout=-1> (. \"a\" b*)}"},
		{"{ 1 counter limit rate 1/second last quota 5 bytes ct count 3 }",
		 "{<1# counter 0 0 | limit 1/1 | last -1 | quota 5 0 | connlimit 3>}"},
		{"{ 1.1.1.1 . 80 : 2.2.2.2-3.3.3.3 . 5/1 }",
		 "{<(. 1.1.1.1 80#) : (. 2.2.2.2-3.3.3.3 5#/1)>}"},
		{"{ }", "{}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		snprintf(text, sizeof(text), "add element ip t s %s\n", cases[i].text);
		struct parsed t;
		parse_ok(&t, text);
		struct strbuf out = STRBUF_INIT;
		dump_expr(&out, t.cmds.first->expr);
		assert_string_equal(strbuf_str(&out), cases[i].want);
		strbuf_free(&out);
		parsed_free(&t);
	}
}

/* Words of the language that may be names, and those that may not: as nft has it. */
static void test_names(void **state)
{
	static const char *const good[] = {"input", "filter", "last",	 "saddr", "prefix",
					   "to",    "a-b",    "a/b.c",	 "_x",	  "destroy",
					   "vxlan", "5m",     "10.0.0.1"};
	static const char *const bad[] = {"log",  "tcp", "ip",	  "mark", "type", "size",
					  "drop", "1a",	 "\"x\"", "*",	  "+"};
	char text[128];
	struct parsed t;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(text, sizeof(text), "add chain ip %s %s\n", good[i], good[i]);
		parse_ok(&t, text);
		assert_string_equal(t.cmds.first->chain.text, good[i]);
		assert_string_equal(t.cmds.first->table.text, good[i]);
		parsed_free(&t);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "add chain ip t %s\n", bad[i]);
		parse(&t, text);
		assert_int_equal(t.err, -EINVAL);
		assert_non_null(strstr(strbuf_str(&t.messages), "expecting string"));
		assert_int_equal(t.cmds.n, 0);
		parsed_free(&t);
	}
}

static void test_places(void **state)
{
	struct parsed t;
	const char *text = "add rule ip t c ip saddr { 1.2.3.4, 10.0.0.0/8 } accept\n";
	parse_ok(&t, text);
	const struct expr *match = t.cmds.first->rule.stmts->expr;
	assert_memory_equal(text + match->loc.begin, "ip saddr { 1.2.3.4, 10.0.0.0/8 }",
			    match->loc.end - match->loc.begin);
	assert_int_equal(match->loc.end - match->loc.begin, 32);
	const struct expr *left = match->pair.left, *right = match->pair.right;
	assert_int_equal(left->loc.end - left->loc.begin, 8);
	assert_int_equal(right->loc.end - right->loc.begin, 23);
	const struct expr *prefix = right->list.items[1];
	assert_int_equal(prefix->loc.end - prefix->loc.begin, 10);
	assert_memory_equal(text + prefix->loc.begin, "10.0.0.0/8", 10);
	const struct cmd *c = t.cmds.first;
	assert_int_equal(c->loc.begin, 0);
	assert_int_equal(c->loc.end, strlen(text)); /* the newline too */
	assert_memory_equal(text + c->chain.loc.begin, "c", 1);
	assert_memory_equal(text + c->family_loc.begin, "ip", 2);
	parsed_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),	 cmocka_unit_test(test_statements),
		cmocka_unit_test(test_elements), cmocka_unit_test(test_names),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
