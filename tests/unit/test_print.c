/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: the checked form, built by hand, as text and as JSON; statements that list as they were
 * written; blocks of sets, chains, objects and flowtables; the wrapping of elements.
 */
#include "lang/print.h"
#include "parse_fixture.h"

static struct arena a;
static struct lang_env env;

static int reset(void **state)
{
	arena_free(&a);
	env = (struct lang_env){0};
	return 0;
}

static struct expr *value(const struct datatype *t, unsigned bits, uint64_t v)
{
	return expr_number(&a, LOC_NONE, t, v, bits);
}

static struct expr *pair(enum expr_kind kind, enum expr_op op, struct expr *l, struct expr *r)
{
	struct expr *e = expr_new(&a, kind, LOC_NONE);

	e->op = (uint8_t)op;
	e->pair.left = l;
	e->pair.right = r;
	return e;
}

static struct expr *compare(enum expr_op op, struct expr *l, struct expr *r)
{
	return pair(EX_COMPARE, op, l, r);
}

static struct expr *field(const struct proto_header *h, const char *name)
{
	struct expr *e = expr_new(&a, EX_PAYLOAD, LOC_NONE);

	e->payload.header = h;
	e->payload.field = proto_field_find(h, name, strlen(name));
	e->type = e->payload.field->type;
	e->bits = e->payload.field->bits;
	return e;
}

static struct expr *meta(enum meta_key k)
{
	struct expr *e = expr_new(&a, EX_META, LOC_NONE);

	e->key = k;
	e->type = meta_keys[k].type;
	e->bits = meta_keys[k].bits;
	return e;
}

static struct expr *ct(enum ct_key k, int direction)
{
	struct expr *e = expr_new(&a, EX_CT, LOC_NONE);

	e->ct.key = k;
	e->ct.direction = (int8_t)direction;
	e->type = ct_keys[k].type;
	e->bits = ct_keys[k].bits;
	return e;
}

static struct expr *list(enum expr_kind kind, unsigned n, struct expr **items)
{
	struct expr *e = expr_new(&a, kind, LOC_NONE);

	for (unsigned i = 0; i < n; i++)
		expr_list_add(&a, &e->list, items[i]);
	return e;
}

#define LIST(kind, ...)                                                                            \
	list(kind, sizeof((struct expr *[]){__VA_ARGS__}) / sizeof(struct expr *),                 \
	     (struct expr *[]){__VA_ARGS__})

static struct expr *range(struct expr *l, struct expr *r)
{
	return pair(EX_RANGE, OP_NONE, l, r);
}

static struct expr *prefix(struct expr *base, unsigned len)
{
	struct expr *e = expr_new(&a, EX_PREFIX, LOC_NONE);

	e->prefix.base = base;
	e->prefix.len = len;
	return e;
}

static struct expr *ip(uint32_t addr)
{
	return value(&type_ipv4_addr, 32, addr);
}

static void lists(const struct expr *e, const char *text, const char *json)
{
	struct strbuf out = STRBUF_INIT;
	json_t *o = json_expr(e, &env);
	char *dump = json_dumps(o, JSON_COMPACT | JSON_ENCODE_ANY);

	print_expr(e, &env, &out);
	assert_string_equal(strbuf_str(&out), text);
	assert_non_null(dump);
	assert_string_equal(dump, json);
	free(dump);
	json_decref(o);
	strbuf_free(&out);
}

#define J(op, l, r) "{\"match\":{\"op\":\"" op "\",\"left\":" l ",\"right\":" r "}}"
#define JF(p, f)    "{\"payload\":{\"protocol\":\"" p "\",\"field\":\"" f "\"}}"

static void values(void **state)
{
	lists(compare(OP_EQ, field(&proto_tcp, "dport"), value(&type_inet_service, 16, 22)),
	      "tcp dport 22", J("==", JF("tcp", "dport"), "22"));
	lists(compare(OP_NEQ, meta(META_MARK), value(&type_mark, 32, 10)),
	      "meta mark != 0x0000000a", J("!=", "{\"meta\":{\"key\":\"mark\"}}", "10"));
	lists(compare(OP_EQ, field(&proto_ip, "saddr"), prefix(ip(0x0a000000), 8)),
	      "ip saddr 10.0.0.0/8",
	      J("==", JF("ip", "saddr"), "{\"prefix\":{\"addr\":\"10.0.0.0\",\"len\":8}}"));
	lists(compare(OP_EQ, meta(META_L4PROTO),
		      range(value(&type_inet_proto, 8, 6), value(&type_inet_proto, 8, 17))),
	      "meta l4proto 6-17",
	      J("==", "{\"meta\":{\"key\":\"l4proto\"}}", "{\"range\":[\"tcp\",\"udp\"]}"));
	lists(compare(OP_EQ, ct(CT_EXPIRATION, -1), value(&type_time, 32, 90500)),
	      "ct expiration 1m30s500ms", J("==", "{\"ct\":{\"key\":\"expiration\"}}", "90"));
	lists(compare(OP_EQ, ct(CT_SADDR_IP, 0), ip(0x01020304)), "ct original ip saddr 1.2.3.4",
	      J("==", "{\"ct\":{\"key\":\"ip saddr\",\"dir\":\"original\"}}", "\"1.2.3.4\""));
	lists(value(&type_boolean, 1, 1), "exists", "true");
	lists(value(&type_classid, 32, 0x10002), "1:2", "\"1:2\"");
	lists(value(&type_iface_index, 32, 3), "3", "3");
	lists(value(&type_devgroup, 32, 0), "\"default\"", "\"default\"");
	lists(value(&type_integer, 64, UINT64_MAX), "18446744073709551615",
	      "\"18446744073709551615\"");
	env.numeric = NUMERIC_PROTOCOL;
	lists(value(&type_inet_proto, 8, 6), "6", "6");
}

static void interface_names(void **state)
{
	struct expr *e = expr_value(&a, LOC_NONE, &type_ifname, (const uint8_t *)"eth*", 32);

	lists(e, "\"eth\\*\"", "\"eth\\\\*\"");
	e->bits = 24;
	e->flags = EXF_WILDCARD;
	lists(compare(OP_EQ, meta(META_IIFNAME), e), "iifname \"eth*\"",
	      J("==", "{\"meta\":{\"key\":\"iifname\"}}", "\"eth*\""));
}

/* Which bits are listed by name, how they are joined, and where `==` stands. */
static void flags(void **state)
{
	struct expr *flags = field(&proto_tcp, "flags"), *state_ = ct(CT_STATE, -1);
	struct expr *synack = value(&type_tcp_flag, 8, 0x12), *syn = value(&type_tcp_flag, 8, 2);
	struct expr *masked = pair(EX_BINOP, OP_AND, flags, value(&type_tcp_flag, 8, 0x13));

	lists(compare(OP_IMPLICIT, flags, synack), "tcp flags syn,ack",
	      J("in", JF("tcp", "flags"), "[\"syn\",\"ack\"]"));
	lists(compare(OP_IMPLICIT, flags, syn), "tcp flags syn",
	      J("in", JF("tcp", "flags"), "\"syn\""));
	lists(compare(OP_NOT, flags, synack), "tcp flags ! syn,ack",
	      J("!", JF("tcp", "flags"), "[\"syn\",\"ack\"]"));
	lists(compare(OP_EQ, flags, syn), "tcp flags == syn",
	      J("==", JF("tcp", "flags"), "\"syn\""));
	lists(compare(OP_EQ, flags, synack), "tcp flags == 0x12",
	      J("==", JF("tcp", "flags"), "18"));
	lists(compare(OP_EQ, masked, synack), "tcp flags & (fin | syn | ack) == syn | ack",
	      J("==", "{\"&\":[" JF("tcp", "flags") ",{\"|\":[\"fin\",\"syn\",\"ack\"]}]}",
		"{\"|\":[\"syn\",\"ack\"]}"));
	lists(compare(OP_NEQ, masked, syn), "tcp flags & (fin | syn | ack) != syn",
	      J("!=", "{\"&\":[" JF("tcp", "flags") ",{\"|\":[\"fin\",\"syn\",\"ack\"]}]}",
		"\"syn\""));
	lists(compare(OP_EQ, flags, LIST(EX_SET, syn, synack)), "tcp flags { syn, syn | ack }",
	      J("==", JF("tcp", "flags"), "{\"set\":[\"syn\",{\"|\":[\"syn\",\"ack\"]}]}"));
	lists(compare(OP_EQ, masked, LIST(EX_SET, syn)), "tcp flags & (fin | syn | ack) == { syn }",
	      J("==", "{\"&\":[" JF("tcp", "flags") ",{\"|\":[\"fin\",\"syn\",\"ack\"]}]}",
		"{\"set\":[\"syn\"]}"));
	lists(compare(OP_IMPLICIT, state_, value(&type_ct_state, 32, 0x0a)),
	      "ct state established,new",
	      J("in", "{\"ct\":{\"key\":\"state\"}}", "[\"established\",\"new\"]"));
	lists(compare(OP_EQ, state_, value(&type_ct_state, 32, 0x0a)),
	      "ct state == established | new",
	      J("==", "{\"ct\":{\"key\":\"state\"}}", "{\"|\":[\"established\",\"new\"]}"));
	lists(compare(OP_IMPLICIT, state_, value(&type_ct_state, 32, 0x12)),
	      "ct state established,0x10",
	      J("in", "{\"ct\":{\"key\":\"state\"}}", "[\"established\",16]"));
	lists(compare(OP_EQ, field(&proto_comp, "flags"), value(&type_bitmask, 8, 0x33)),
	      "comp flags 0x33", J("==", JF("comp", "flags"), "51"));
}

static void precedence(void **state)
{
	struct expr *m = meta(META_MARK), *one = value(&type_mark, 32, 1);
	struct expr *shift = pair(EX_BINOP, OP_LSHIFT, m, value(&type_integer, 32, 2));
	struct expr * or = pair(EX_BINOP, OP_OR, m, one);
	const char *mark = "{\"meta\":{\"key\":\"mark\"}}";
	struct strbuf json = STRBUF_INIT;

	strbuf_printf(&json, "{\"|\":[{\"<<\":[%s,2]},1]}", mark);
	lists(pair(EX_BINOP, OP_OR, shift, one), "meta mark << 2 | 0x00000001", strbuf_str(&json));
	strbuf_truncate(&json, 0);
	strbuf_printf(&json, "{\"&\":[{\"|\":[%s,1]},1]}", mark);
	lists(pair(EX_BINOP, OP_AND, or, one), "(meta mark | 0x00000001) & 0x00000001",
	      strbuf_str(&json));
	strbuf_truncate(&json, 0);
	strbuf_printf(&json, "{\"|\":[%s,1,%s,1]}", mark, mark);
	lists(pair(EX_BINOP, OP_OR, or, or), "meta mark | 0x00000001 | meta mark | 0x00000001",
	      strbuf_str(&json));
	strbuf_free(&json);
}

static void sets(void **state)
{
	struct elem_expr *el = arena_new(&a, struct elem_expr);
	struct expr *e = expr_new(&a, EX_ELEM, LOC_NONE),
		    *accept = expr_new(&a, EX_VERDICT, LOC_NONE);
	struct expr *map = expr_new(&a, EX_MAP, LOC_NONE);

	el->key = LIST(EX_CONCAT, ip(0x01010101),
		       range(value(&type_inet_service, 16, 1), value(&type_inet_service, 16, 2)));
	e->elem = el;
	lists(LIST(EX_SET, e), "{ 1.1.1.1 . 1-2 }",
	      "{\"set\":[{\"concat\":[\"1.1.1.1\",{\"range\":[1,2]}]}]}");
	el->has_timeout = el->has_expires = true;
	el->timeout = 60000;
	el->expires = 59992;
	el->comment = "x";
	el->stmts = stmt_new(&a, ST_COUNTER, LOC_NONE);
	lists(e,
	      "1.1.1.1 . 1-2 counter packets 0 bytes 0 timeout 1m expires 59s992ms comment \"x\"",
	      "{\"elem\":{\"val\":{\"concat\":[\"1.1.1.1\",{\"range\":[1,2]}]},\"timeout\":60,"
	      "\"expires\":59,\"comment\":\"x\",\"counter\":{\"packets\":0,\"bytes\":0}}}");
	env.numeric = PRINT_STATELESS;
	lists(e, "1.1.1.1 . 1-2 counter timeout 1m comment \"x\"",
	      "{\"elem\":{\"val\":{\"concat\":[\"1.1.1.1\",{\"range\":[1,2]}]},\"timeout\":60,"
	      "\"comment\":\"x\",\"counter\":null}}");
	*el = (struct elem_expr){.key = value(&type_inet_service, 16, 22), .data = accept};
	map->map.key = field(&proto_tcp, "dport");
	map->map.to = LIST(EX_SET, e);
	map->map.vmap = true;
	lists(map, "tcp dport vmap { 22 : accept }",
	      "{\"vmap\":{\"key\":" JF("tcp",
				       "dport") ",\"data\":{\"set\":[[22,{\"accept\":null}]]}}}");
	lists(expr_new(&a, EX_CATCHALL, LOC_NONE), "*", "\"*\"");
	lists(list(EX_SET, 0, NULL), "{ }", "{\"set\":[]}");
	accept->verdict.code = VERDICT_JUMP;
	accept->verdict.chain_name = "out";
	lists(accept, "jump out", "{\"jump\":{\"target\":\"out\"}}");
}

/* Statements whose listing is what was written: parsed, not checked. */
static void statements(void **state)
{
	static const char *const texts[] = {
		"counter packets 1 bytes 2",
		"quota over 25 mbytes used 3 kbytes",
		"quota 1025 bytes",
		"limit rate 400/minute burst 5 packets",
		"limit rate over 1 mbytes/week burst 512 bytes",
		"last used never",
		"last used 5m3ms",
		"ct count over 5",
		"counter name \"x\"",
		"synproxy name \"x\"",
		"ct helper set \"h\"",
		"ct timeout set \"h\"",
		"ct expectation set \"h\"",
		"meta secmark set \"s\"",
		"log",
		"log prefix \"a b\" group 3 snaplen 4 queue-threshold 5",
		"log prefix \"x\" level info flags all",
		"log flags tcp sequence,options flags ip options flags skuid",
		"log level audit flags ether",
		"reject with tcp reset",
		"meta mark set meta mark",
		"meta iifname set x",
		"reset tcp option maxseg",
		"reset tcp option 123",
		"snat ip to x",
		"dnat prefix to x",
		"dnat ip6 to x:80-90 random,fully-random,persistent",
		"masquerade to :1-2 random",
		"masquerade",
		"redirect to :5",
		"tproxy ip to x:5",
		"tproxy to :5",
		"synproxy",
		"synproxy mss 1460 wscale 7 timestamp sack-perm",
		"synproxy sack-perm",
		"notrack",
		"queue to 0",
		"queue flags bypass,fanout to 1-5",
		"dup to x device y",
		"fwd to y",
		"fwd ip6 to x device y",
		"flow add @f",
		"add @s { ip saddr timeout 5s counter }",
		"update @m { ip saddr . tcp dport timeout 1h comment \"x\" : meta mark }",
		"delete @s { ip saddr }",
		"meter m size 5 { ip saddr limit rate 1/second burst 5 packets }",
		"accept",
		"jump x",
		"goto x",
		"vxlan ip saddr x",
		"vxlan vni 5",
		"@ih,58,6 5",
		"exthdr frag exists",
		"frag more-fragments 1",
		"rt0 addr[1] x",
		"srh sid[2] x",
		"rt2 addr x",
		"tcp option maxseg size 5",
		"tcp option sack1 left 5",
		"tcp option 99 exists",
		"tcp option @255,8,8 5",
		"ip option lsrr ptr 5",
		"sctp chunk data tsn 5",
		"dccp option 5 exists",
		"arp saddr ether x",
		"ct original zone 5",
		"ct reply proto-dst 5",
		"rt ip nexthop x",
		"rt mtu 5",
		"socket transparent 1",
		"socket cgroupv2 level 2 x",
		"fib saddr . mark . iif oif x",
		"fib daddr check exists",
		"osf ttl loose name x",
		"osf version x",
		"numgen inc mod 5 offset 3 5",
		"jhash ip saddr . tcp dport mod 7 seed 0x5 offset 3 5",
		"symhash mod 7 5",
		"ipsec in reqid 1",
		"ipsec out spnum 2 ip6 saddr x",
		"tunnel path exists",
		"tunnel id 5",
		"meta length 5",
		"iif x",
		"oifgroup x",
		"ip saddr @s comment \"a b\"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
		struct parsed t;
		json_t *json;

		strbuf_printf(&text, "add rule t c %s", texts[i]);
		parse_ok(&t, strbuf_str(&text));
		print_rule(&t.cmds.first->rule, &env, &out);
		assert_string_equal(strbuf_str(&out), texts[i]);
		json = json_stmts(t.cmds.first->rule.stmts, &env);
		assert_int_equal(json_array_size(json), 1);
		json_decref(json);
		parsed_free(&t);
		strbuf_free(&text);
		strbuf_free(&out);
	}
}

static void listed(const struct stmt *s, const char *text, const char *json)
{
	struct strbuf out = STRBUF_INIT;
	json_t *o = json_stmt(s, &env);
	char *dump = json_dumps(o, JSON_COMPACT);

	print_stmt(s, &env, &out);
	assert_string_equal(strbuf_str(&out), text);
	assert_string_equal(dump, json);
	free(dump);
	json_decref(o);
	strbuf_free(&out);
}

static void rejects(void **state)
{
	struct stmt *s = stmt_new(&a, ST_REJECT, LOC_NONE);

	s->reject.type = REJECT_ICMP;
	listed(s, "reject", "{\"reject\":{\"type\":\"icmp\",\"expr\":\"port-unreachable\"}}");
	s->reject.code = value(&type_icmp_code, 8, 3);
	listed(s, "reject with icmp port-unreachable",
	       "{\"reject\":{\"type\":\"icmp\",\"expr\":\"port-unreachable\"}}");
	s->reject.code = value(&type_icmp_code, 8, 200);
	listed(s, "reject with icmp 200", "{\"reject\":{\"type\":\"icmp\",\"expr\":200}}");
	s->reject.type = REJECT_ICMPX;
	s->reject.code = value(&type_icmpx_code, 8, 1);
	listed(s, "reject", "{\"reject\":{\"type\":\"icmpx\",\"expr\":\"port-unreachable\"}}");
	s->reject.code = value(&type_icmpx_code, 8, 0);
	listed(s, "reject with icmpx no-route",
	       "{\"reject\":{\"type\":\"icmpx\",\"expr\":\"no-route\"}}");
}

static void assignments(void **state)
{
	struct stmt *s = stmt_new(&a, ST_CT_SET, LOC_NONE);
	struct stmt *nat = stmt_new(&a, ST_NAT, LOC_NONE);
	const uint8_t one[16] = {[15] = 1};

	s->assign.target = ct(CT_EVENT, -1);
	s->assign.value = value(&type_ct_event, 32, 5);
	listed(s, "ct event set new,destroy",
	       "{\"mangle\":{\"key\":{\"ct\":{\"key\":\"event\"}},\"value\":[\"new\",\"destroy\"]}"
	       "}");
	s->kind = ST_PAYLOAD_SET;
	s->assign.target = field(&proto_tcp, "flags");
	s->assign.value = value(&type_tcp_flag, 8, 0x12);
	listed(s, "tcp flags set syn | ack",
	       "{\"mangle\":{\"key\":" JF("tcp", "flags") ",\"value\":{\"|\":[\"syn\",\"ack\"]}}}");

	nat->nat.kind = NAT_DNAT;
	nat->nat.nfproto = 10;
	nat->nat.implicit_family = true;
	nat->nat.addr = expr_value(&a, LOC_NONE, &type_ipv6_addr, one, 128);
	listed(nat, "dnat to ::1", "{\"dnat\":{\"addr\":\"::1\"}}");
	nat->nat.port = value(&type_inet_service, 16, 80);
	listed(nat, "dnat to [::1]:80", "{\"dnat\":{\"addr\":\"::1\",\"port\":80}}");
	nat->nat.addr = range(nat->nat.addr, expr_clone(&a, nat->nat.addr));
	nat->nat.implicit_family = false;
	listed(nat, "dnat ip6 to [::1]-[::1]:80",
	       "{\"dnat\":{\"family\":\"ip6\",\"addr\":{\"range\":[\"::1\",\"::1\"]},\"port\":80}"
	       "}");
}

static void rules(void **state)
{
	struct stmt *one = stmt_new(&a, ST_COUNTER, LOC_NONE);
	struct stmt *two = stmt_new(&a, ST_NOTRACK, LOC_NONE);
	struct rule_decl r = {.stmts = one, .comment = "c"};
	struct strbuf out = STRBUF_INIT;
	json_t *json;

	one->next = two;
	env.numeric = PRINT_STATELESS;
	print_rule(&r, &env, &out);
	assert_string_equal(strbuf_str(&out), "counter notrack comment \"c\"");
	one->implicit = true;
	strbuf_truncate(&out, 0);
	print_rule(&r, &env, &out);
	assert_string_equal(strbuf_str(&out), "notrack comment \"c\"");
	two->hidden = true;
	json = json_stmts(one, &env);
	assert_int_equal(json_array_size(json), 0);
	json_decref(json);
	strbuf_free(&out);
}

static void priorities(void **state)
{
	static const struct {
		enum family f;
		enum hook h;
		int32_t priority;
		const char *want;
	} cases[] = {
		{FAMILY_IP, HOOK_INPUT, 0, "filter"},
		{FAMILY_IP, HOOK_INPUT, -5, "filter - 5"},
		{FAMILY_INET, HOOK_INPUT, 10, "filter + 10"},
		{FAMILY_INET, HOOK_INPUT, 11, "11"},
		{FAMILY_IP6, HOOK_PREROUTING, -300, "raw"},
		{FAMILY_IP6, HOOK_PREROUTING, -160, "mangle - 10"},
		{FAMILY_IP, HOOK_PREROUTING, -100, "dstnat"},
		{FAMILY_IP, HOOK_OUTPUT, -90, "dstnat + 10"},
		{FAMILY_IP, HOOK_FORWARD, -100, "-100"},
		{FAMILY_IP, HOOK_POSTROUTING, 100, "srcnat"},
		{FAMILY_IP, HOOK_FORWARD, 100, "100"},
		{FAMILY_IP, HOOK_FORWARD, 60, "security + 10"},
		{FAMILY_ARP, HOOK_INPUT, -300, "-300"},
		{FAMILY_NETDEV, HOOK_INGRESS, 3, "filter + 3"},
		{FAMILY_BRIDGE, HOOK_PREROUTING, -300, "dstnat"},
		{FAMILY_BRIDGE, HOOK_INPUT, -200, "filter"},
		{FAMILY_BRIDGE, HOOK_OUTPUT, 100, "out"},
		{FAMILY_BRIDGE, HOOK_POSTROUTING, 300, "srcnat"},
		{FAMILY_IP, HOOK_INPUT, INT32_MIN, "-2147483648"},
		{FAMILY_IP, HOOK_INPUT, INT32_MAX, "2147483647"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT;
		const char *want = cases[i].want;
		const size_t len = strcspn(want, " ");
		int32_t base;

		env.numeric = 0;
		print_priority(cases[i].f, cases[i].h, cases[i].priority, &env, &out);
		assert_string_equal(strbuf_str(&out), want);
		if (want[0] >= 'a') {
			assert_true(priority_by_name(cases[i].f, cases[i].h, want, len, &base));
			assert_in_range(cases[i].priority - base + 10, 0, 20);
			env.numeric = NUMERIC_PRIORITY;
			strbuf_truncate(&out, 0);
			print_priority(cases[i].f, cases[i].h, cases[i].priority, &env, &out);
			assert_int_equal(atoi(strbuf_str(&out)), cases[i].priority);
		}
		strbuf_free(&out);
	}
	assert_false(priority_by_name(FAMILY_IP, HOOK_FORWARD, "dstnat", 6, &(int32_t){0}));
	assert_false(priority_by_name(FAMILY_IP, HOOK_FORWARD, "filte", 5, &(int32_t){0}));
	assert_false(priority_by_name(FAMILY_ARP, HOOK_INPUT, "raw", 3, &(int32_t){0}));
}

/* Declarations as they were written: from a block, through the parser, to a block. */
static void block(const char *text, const char *want, const char *json)
{
	struct strbuf out = STRBUF_INIT;
	const struct cmd *c;
	struct parsed t;
	json_t *o = NULL;
	char *dump;

	parse_ok(&t, text);
	c = t.cmds.first;
	if (c->obj == CO_CHAIN) {
		print_chain_head(c->family, c->chain_decl, "\t", &env, &out);
		o = json_chain_head(c->family, c->chain_decl, &env);
	} else if (c->obj == CO_OBJECT) {
		print_object_body(c->obj_decl, "\t", &env, &out);
		o = json_object_body(c->obj_decl, &env);
	} else if (c->obj == CO_FLOWTABLE) {
		print_flowtable_body(c->family, c->flowtable_decl, "\t", &env, &out);
		o = json_flowtable_body(c->family, c->flowtable_decl, &env);
	} else {
		print_set_head(c->set_decl, "\t", &env, &out);
		o = json_set_head(c->set_decl, &env);
	}
	dump = json_dumps(o, JSON_COMPACT);
	assert_string_equal(strbuf_str(&out), want);
	assert_string_equal(dump, json);
	free(dump);
	json_decref(o);
	parsed_free(&t);
	strbuf_free(&out);
}

static void blocks(void **state)
{
	block("add chain inet t c { type nat hook prerouting priority -100; policy drop; comment "
	      "\"x\"; }",
	      "\tcomment \"x\"\n\ttype nat hook prerouting priority dstnat; policy drop;\n",
	      "{\"comment\":\"x\",\"type\":\"nat\",\"hook\":\"prerouting\",\"prio\":-100,"
	      "\"policy\":"
	      "\"drop\"}");
	block("add chain netdev t c { type filter hook ingress device \"lo\" priority 0; }",
	      "\ttype filter hook ingress device \"lo\" priority filter; policy accept;\n",
	      "{\"type\":\"filter\",\"hook\":\"ingress\",\"prio\":0,\"dev\":\"lo\",\"policy\":"
	      "\"accept\"}");
	block("add chain netdev t c { type filter hook ingress devices = { a, b } priority 0; "
	      "flags "
	      "offload; }",
	      "\ttype filter hook ingress devices = { \"a\", \"b\" } priority filter; policy "
	      "accept; "
	      "flags offload;\n",
	      "{\"type\":\"filter\",\"hook\":\"ingress\",\"prio\":0,\"dev\":[\"a\",\"b\"],"
	      "\"policy\":"
	      "\"accept\",\"flags\":[\"offload\"]}");
	block("add flowtable t f { hook ingress priority 5; devices = { a }; counter; flags "
	      "offload; }",
	      "\thook ingress priority filter + 5\n\tdevices = { \"a\" }\n\tflags "
	      "offload\n\tcounter\n",
	      "{\"hook\":\"ingress\",\"prio\":5,\"dev\":\"a\",\"flags\":[\"offload\",\"counter\"]"
	      "}");
	block("add set t s { type ipv4_addr . inet_service; policy memory; size 5; flags "
	      "interval,timeout,constant,dynamic; counter packets 5 bytes 6; auto-merge; "
	      "gc-interval "
	      "10m; comment \"x\"; }",
	      "\ttype ipv4_addr . inet_service\n\tpolicy memory\n\tsize 5\n\tflags "
	      "constant,dynamic,interval,timeout\n\tcounter\n\tauto-merge\n\tgc-interval "
	      "10m\n\tcomment "
	      "\"x\"\n",
	      "{\"type\":[\"ipv4_addr\",\"inet_service\"],\"comment\":\"x\",\"policy\":\"memory\","
	      "\"size\":5,\"flags\":[\"constant\",\"interval\",\"timeout\",\"dynamic\"],"
	      "\"gc-interval\":600,\"auto-merge\":true,\"stmt\":[{\"counter\":null}]}");
	block("add set t s { type mark; flags timeout; timeout 90s; }",
	      "\ttype mark\n\ttimeout 1m30s\n",
	      "{\"type\":\"mark\",\"flags\":[\"timeout\"],\"timeout\":90}");
	block("add map t m { typeof ip saddr . tcp dport : meta mark; }",
	      "\ttypeof ip saddr . tcp dport : meta mark\n",
	      "{\"type\":{\"typeof\":{\"concat\":[" JF("ip", "saddr") "," JF(
		      "tcp", "dport") "]}},\"map\":{\"typeof\":{\"meta\":{\"key\":\"mark\"}}}}");
	block("add map t m { type mark : ct helper; }", "\ttype mark : ct helper\n",
	      "{\"type\":\"mark\",\"map\":\"ct helper\"}");
	block("add map t m { type ipv4_addr : interval ipv4_addr; }",
	      "\ttype ipv4_addr : interval ipv4_addr\n",
	      "{\"type\":\"ipv4_addr\",\"map\":\"ipv4_addr\"}");
	block("add counter t x { comment \"c\"; packets 1 bytes 2; }",
	      "\tcomment \"c\"\n\tpackets 1 bytes 2\n",
	      "{\"comment\":\"c\",\"packets\":1,\"bytes\":2}");
	block("add quota t x over 2 kbytes used 5 bytes", "\tover 2 kbytes used 5 bytes\n",
	      "{\"bytes\":2048,\"used\":5,\"inv\":true}");
	block("add limit t x rate over 1024 bytes/second burst 512 bytes",
	      "\trate over 1 kbytes/second burst 512 bytes\n",
	      "{\"rate\":1,\"burst\":512,\"per\":\"second\",\"inv\":true,\"rate_unit\":\"kbytes\","
	      "\"burst_unit\":\"bytes\"}");
	block("add ct helper t x { type \"ftp\" protocol tcp; l3proto inet; }",
	      "\ttype \"ftp\" protocol tcp\n\tl3proto inet\n",
	      "{\"type\":\"ftp\",\"protocol\":\"tcp\",\"l3proto\":\"inet\"}");
	block("add ct timeout t x { protocol tcp; l3proto ip; policy = { close : 5, established : "
	      "2m, "
	      "syn_sent : 1 }; }",
	      "\tprotocol tcp\n\tl3proto ip\n\tpolicy = { syn_sent : 1s, established : 2m, close : "
	      "5s }\n",
	      "{\"protocol\":\"tcp\",\"l3proto\":\"ip\",\"policy\":{\"syn_sent\":1,\"established\":"
	      "120,"
	      "\"close\":5}}");
	block("add ct expectation t x { protocol udp; dport 9; timeout 2m; size 12; l3proto ip; }",
	      "\tprotocol udp\n\tdport 9\n\ttimeout 2m\n\tsize 12\n\tl3proto ip\n",
	      "{\"protocol\":\"udp\",\"dport\":9,\"timeout\":120000,\"size\":12,\"l3proto\":"
	      "\"ip\"}");
	block("add secmark t x { \"a:b\" }", "\t\"a:b\"\n", "{\"context\":\"a:b\"}");
	block("add synproxy t x mss 5 wscale 6 sack-perm", "\tmss 5\n\twscale 6\n\tsack-perm\n",
	      "{\"mss\":5,\"wscale\":6,\"flags\":[\"sack-perm\"]}");
	block("add tunnel t x { id 5; ip saddr 1.1.1.1; sport 1; dport 2; tos 4; ttl 3; erspan { "
	      "version "
	      "2; direction egress; id 9; }; }",
	      "\tid 5\n\tip saddr 1.1.1.1\n\tsport 1\n\tdport 2\n\ttos 4\n\tttl 3\n\terspan "
	      "{\n\t\tversion "
	      "2\n\t\tdirection egress\n\t\tid 9\n\t}\n",
	      "{\"id\":5,\"src-ipv4\":\"1.1.1.1\",\"sport\":1,\"dport\":2,\"tos\":4,\"ttl\":3,"
	      "\"type\":"
	      "\"erspan\",\"tunnel\":{\"version\":2,\"direction\":\"egress\",\"hwid\":9}}");
}

static void elements_of(const struct datatype *t, unsigned n, bool timeouts, const char *want)
{
	struct set_decl d = {.key = {.fields = {t}, .bits = {t->bits}, .n = 1}};
	struct strbuf out = STRBUF_INIT;
	struct elem_printer p;

	elem_printer_begin(&p, &d, "\t\t", &env, &out);
	for (unsigned i = 1; i <= n; i++) {
		struct expr *e = value(t, t->bits, i), *el = expr_new(&a, EX_ELEM, LOC_NONE);

		el->elem = arena_new(&a, struct elem_expr);
		el->elem->key = e;
		el->elem->has_timeout = true;
		el->elem->timeout = 1000;
		elem_printer_add(&p, timeouts ? el : e);
	}
	elem_printer_end(&p);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
}

static void wrapping(void **state)
{
	elements_of(&type_ipv4_addr, 0, false, "");
	elements_of(&type_ipv4_addr, 1, false, "\t\telements = { 0.0.0.1 }\n");
	elements_of(&type_ipv4_addr, 3, false,
		    "\t\telements = { 0.0.0.1, 0.0.0.2,\n\t\t\t     0.0.0.3 }\n");
	elements_of(
		&type_inet_service, 11, false,
		"\t\telements = { 1, 2, 3, 4, 5,\n\t\t\t     6, 7, 8, 9, 10,\n\t\t\t     11 }\n");
	elements_of(&type_ether_type, 2, false, "\t\telements = { 0x0001,\n\t\t\t     0x0002 }\n");
	elements_of(&type_ipv4_addr, 2, true,
		    "\t\telements = { 0.0.0.1 timeout 1s,\n\t\t\t     0.0.0.2 timeout 1s }\n");
}

/* Bytes that are no UTF-8 do not lose a listing. */
static void foreign_text(void **state)
{
	struct stmt *s = stmt_new(&a, ST_LOG, LOC_NONE);

	s->log.level = LOG_LEVEL_NONE;
	s->log.prefix = "\xfc\x80x";
	json_t *o = json_stmt(s, &env);

	assert_string_equal(json_string_value(json_object_get(json_object_get(o, "log"), "prefix")),
			    "\xc3\xbc\xc2\x80x");
	json_decref(o);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(values, reset),
		cmocka_unit_test_setup(interface_names, reset),
		cmocka_unit_test_setup(flags, reset),
		cmocka_unit_test_setup(precedence, reset),
		cmocka_unit_test_setup(sets, reset),
		cmocka_unit_test_setup(statements, reset),
		cmocka_unit_test_setup(rejects, reset),
		cmocka_unit_test_setup(assignments, reset),
		cmocka_unit_test_setup(rules, reset),
		cmocka_unit_test_setup(priorities, reset),
		cmocka_unit_test_setup(blocks, reset),
		cmocka_unit_test_setup(wrapping, reset),
		cmocka_unit_test_setup_teardown(foreign_text, reset, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
