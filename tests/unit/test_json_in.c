/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in: JSON gives the commands that the text would give; every allocation may fail.
 */
#include <jansson.h>

#include "failing_memory.h"
#include "json_fixture.h"

static void json_ok(struct parsed *t, const char *text)
{
	parse_json_text(t, text, strlen(text));
	if (t->err)
		print_error("%s\n%s\n", text, strbuf_str(&t->messages));
	assert_int_equal(t->err, 0);
}

static void dump_name(struct strbuf *o, const char *what, const struct name_at *n)
{
	if (n->text)
		strbuf_printf(o, " %s=%s", what, n->text);
}

static void dump_number(struct strbuf *o, const char *what, const struct number_at *n)
{
	if (n->given)
		strbuf_printf(o, " %s=%llu", what, (unsigned long long)n->value);
}

static void dump_type(struct strbuf *o, const char *what, const struct set_type *t)
{
	strbuf_printf(o, " %s%s=", t->interval ? "interval " : "", what);
	if (t->of)
		dump_expr(o, t->of);
	for (unsigned i = 0; i < t->n; i++)
		strbuf_printf(o, "%s%s", i ? "." : "", t->fields[i]->name);
}

static void dump_set_decl(struct strbuf *o, const struct set_decl *d)
{
	dump_type(o, "key", &d->key);
	dump_type(o, "data", &d->data);
	strbuf_printf(
		o, " obj=%d flags=%u timeout=%llu gc=%llu size=%u merge=%d policy=%d comment=%s ",
		d->obj, d->flags, (unsigned long long)d->timeout,
		(unsigned long long)d->gc_interval, d->size, d->auto_merge, d->policy_memory,
		d->comment ? d->comment : "");
	dump_stmts(o, d->stmts);
}

static void dump_devices(struct strbuf *o, const struct expr_list *l)
{
	dump_list(o, " dev=(", l, ")");
}

static void dump_chain_decl(struct strbuf *o, const struct chain_decl *d)
{
	strbuf_printf(o, " comment=%s base=%d type=%d hook=%d prio=%d policy=%d/%d offload=%d",
		      d->comment ? d->comment : "", d->base, d->type, d->hook, d->priority,
		      d->has_policy, d->policy, d->offload);
	dump_opt(o, "name", d->priority_expr);
	dump_devices(o, &d->devices);
}

static void dump_object(struct strbuf *o, const struct obj_decl *d)
{
	strbuf_printf(o, " kind=%d comment=%s", d->kind, d->comment ? d->comment : "");
	switch (d->kind) {
	case OBJ_COUNTER:
		strbuf_printf(o, " %llu %llu", (unsigned long long)d->counter.packets,
			      (unsigned long long)d->counter.bytes);
		break;
	case OBJ_QUOTA:
		strbuf_printf(o, " %llu %llu %d", (unsigned long long)d->quota.bytes,
			      (unsigned long long)d->quota.used, d->quota.over);
		break;
	case OBJ_LIMIT:
		strbuf_printf(o, " %llu/%u %llu %d %d %d", (unsigned long long)d->limit.rate,
			      d->limit.unit, (unsigned long long)d->limit.burst, d->limit.bytes,
			      d->limit.over, d->limit.has_burst);
		break;
	case OBJ_CT_HELPER:
		strbuf_printf(o, " %s %u %u", d->helper.type, d->helper.l4proto, d->helper.l3proto);
		break;
	case OBJ_CT_TIMEOUT:
		strbuf_printf(o, " %u %u", d->timeout.l4proto, d->timeout.l3proto);
		for (unsigned i = 0; i < d->timeout.n; i++)
			strbuf_printf(o, " %s=%u", d->timeout.policy[i].state,
				      d->timeout.policy[i].seconds);
		break;
	case OBJ_CT_EXPECTATION:
		strbuf_printf(o, " %u %u %u %u %u", d->expectation.l4proto, d->expectation.l3proto,
			      d->expectation.dport, d->expectation.timeout_ms, d->expectation.size);
		break;
	case OBJ_SECMARK:
		strbuf_printf(o, " %s", d->secmark);
		break;
	case OBJ_SYNPROXY:
		strbuf_printf(o, " %u %u %d %d %d %d", d->synproxy.mss, d->synproxy.wscale,
			      d->synproxy.has_mss, d->synproxy.has_wscale, d->synproxy.timestamp,
			      d->synproxy.sack_perm);
		break;
	default:
		strbuf_printf(o, " %u %u %u %u %u %d %u %u %u", d->tunnel.id, d->tunnel.sport,
			      d->tunnel.dport, d->tunnel.ttl, d->tunnel.tos, d->tunnel.kind,
			      d->tunnel.gbp, d->tunnel.version, d->tunnel.index);
		dump_opt(o, "src", d->tunnel.src);
		dump_opt(o, "dst", d->tunnel.dst);
		for (const struct tunnel_option *t = d->tunnel.options; t; t = t->next)
			strbuf_printf(o, " %u/%u/%s", t->class, t->type, t->data);
		break;
	}
}

static void dump_cmds(struct strbuf *o, const struct cmd_list *l)
{
	for (const struct cmd *c = l->first; c; c = c->next) {
		strbuf_printf(o, "op=%d obj=%d kind=%d family=%d", c->op, c->obj, c->obj_kind,
			      c->family);
		dump_name(o, "table", &c->table);
		dump_name(o, "chain", &c->chain);
		dump_name(o, "name", &c->name);
		dump_number(o, "handle", &c->handle);
		dump_number(o, "index", &c->index);
		dump_number(o, "position", &c->position);
		strbuf_puts(o, " ");
		if (c->obj == CO_TABLE)
			strbuf_printf(o, "%s %u",
				      c->table_decl.comment ? c->table_decl.comment : "",
				      c->table_decl.flags);
		if (c->obj == CO_CHAIN && c->chain_decl)
			dump_chain_decl(o, c->chain_decl);
		if ((c->obj == CO_SET || c->obj == CO_MAP) && c->set_decl)
			dump_set_decl(o, c->set_decl);
		if (c->obj == CO_OBJECT && c->obj_decl)
			dump_object(o, c->obj_decl);
		if (c->obj == CO_FLOWTABLE && c->flowtable_decl) {
			strbuf_printf(o, "hook=%d prio=%d %d %d", c->flowtable_decl->hook,
				      c->flowtable_decl->priority, c->flowtable_decl->offload,
				      c->flowtable_decl->counter);
			dump_devices(o, &c->flowtable_decl->devices);
		}
		if (c->obj == CO_ELEMENTS)
			dump_expr(o, c->expr);
		if (c->obj == CO_RULE) {
			dump_stmts(o, c->rule.stmts);
			if (c->rule.comment)
				strbuf_printf(o, " comment=%s", c->rule.comment);
		}
		strbuf_puts(o, "\n");
	}
}

/* Quotes tell the text parser only where a word ends. */
static void drop_quotes(struct strbuf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] != '"')
			b->data[n++] = b->data[i];
	strbuf_truncate(b, n);
}

static void same(const char *text, const char *json)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	struct parsed t, j;

	parse_ok(&t, text);
	json_ok(&j, json);
	dump_cmds(&a, &t.cmds);
	dump_cmds(&b, &j.cmds);
	drop_quotes(&a);
	drop_quotes(&b);
	assert_string_equal(strbuf_str(&b), strbuf_str(&a));
	assert_int_equal(t.cmds.n, j.cmds.n);
	strbuf_free(&a);
	strbuf_free(&b);
	parsed_free(&t);
	parsed_free(&j);
}

/* One rule: statements of text, and the items of the `expr` array. */
static void same_rule(const char *text, const char *json)
{
	struct strbuf t = STRBUF_INIT, j = STRBUF_INIT;

	strbuf_printf(&t, "add rule inet t c %s", text);
	strbuf_printf(&j,
		      "{\"nftables\":[{\"add\":{\"rule\":{\"family\":\"inet\",\"table\":\"t\","
		      "\"chain\":\"c\",\"expr\":[%s]}}}]}",
		      json);
	same(strbuf_str(&t), strbuf_str(&j));
	strbuf_free(&t);
	strbuf_free(&j);
}

static void test_matches(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"tcp dport 22 accept",
		 MATCH("in", PAYLOAD("tcp", "dport"), "22") ",{\"accept\":null}"},
		{"tcp dport == 22", MATCH("==", PAYLOAD("tcp", "dport"), "22")},
		{"tcp dport != 0x16", MATCH("!=", PAYLOAD("tcp", "dport"), "\"0x16\"")},
		{"tcp dport < 5", MATCH("<", PAYLOAD("tcp", "dport"), "5")},
		{"tcp dport >= 5", MATCH(">=", PAYLOAD("tcp", "dport"), "5")},
		{"tcp flags ! syn,ack", MATCH("!", PAYLOAD("tcp", "flags"), "[\"syn\",\"ack\"]")},
		{"tcp flags & (fin | syn) == syn",
		 MATCH("==", "{\"&\":[" PAYLOAD("tcp", "flags") ",{\"|\":[\"fin\",\"syn\"]}]}",
		       "\"syn\"")},
		{"tcp flags & (fin | syn) == syn",
		 MATCH("==", "{\"&\":[" PAYLOAD("tcp", "flags") ",[\"fin\",\"syn\"]]}", "\"syn\"")},
		{"ip saddr == 10.0.0.0/8", MATCH("==", PAYLOAD("ip", "saddr"),
						 "{\"prefix\":{\"addr\":\"10.0.0.0\",\"len\":8}}")},
		{"ip saddr == 1.1.1.1-1.1.1.9",
		 MATCH("==", PAYLOAD("ip", "saddr"), "{\"range\":[\"1.1.1.1\",\"1.1.1.9\"]}")},
		{"ip saddr == { 1.1.1.1, 2.2.2.2 }",
		 MATCH("==", PAYLOAD("ip", "saddr"), "{\"set\":[\"1.1.1.1\",\"2.2.2.2\"]}")},
		{"ip saddr == { 1.1.1.1 }",
		 MATCH("==", PAYLOAD("ip", "saddr"), "{\"set\":\"1.1.1.1\"}")},
		{"ip saddr != @s", MATCH("!=", PAYLOAD("ip", "saddr"), "\"@s\"")},
		{"ip saddr . tcp dport == { 1.1.1.1 . 1-2 }",
		 MATCH("==",
		       "{\"concat\":[" PAYLOAD("ip", "saddr") "," PAYLOAD("tcp", "dport") "]}",
		       "{\"set\":[{\"concat\":[\"1.1.1.1\",{\"range\":[1,2]}]}]}")},
		{"meta secpath == missing", MATCH("==", META("secpath"), "false")},
		{"ct state established,new",
		 MATCH("in", "{\"ct\":{\"key\":\"state\"}}", "[\"established\",\"new\"]")},
		{"ct original ip saddr == 1.1.1.1",
		 MATCH("==", "{\"ct\":{\"key\":\"ip saddr\",\"dir\":\"original\"}}",
		       "\"1.1.1.1\"")},
		{"ct reply ip6 daddr == ::1",
		 MATCH("==", "{\"ct\":{\"key\":\"daddr\",\"family\":\"ip6\",\"dir\":\"reply\"}}",
		       "\"::1\"")},
		{"@nh,8,16 == 5",
		 MATCH("==", "{\"payload\":{\"base\":\"nh\",\"offset\":8,\"len\":16}}", "5")},
		{"vxlan ip saddr == 1.1.1.1",
		 MATCH("==",
		       "{\"payload\":{\"tunnel\":\"vxlan\",\"protocol\":\"ip\",\"field\":"
		       "\"saddr\"}}",
		       "\"1.1.1.1\"")},
		{"tcp option maxseg size == 5",
		 MATCH("==", "{\"tcp option\":{\"name\":\"maxseg\",\"field\":\"size\"}}", "5")},
		{"tcp option sack == exists",
		 MATCH("==", "{\"tcp option\":{\"name\":\"sack\"}}", "true")},
		{"tcp option 6 == exists",
		 MATCH("==", "{\"tcp option\":{\"base\":6,\"offset\":0,\"len\":8}}", "true")},
		{"tcp option @6,8,8 == 7",
		 MATCH("==", "{\"tcp option\":{\"base\":6,\"offset\":8,\"len\":8}}", "7")},
		{"ip option lsrr addr == 7",
		 MATCH("==", "{\"ip option\":{\"name\":\"lsrr\",\"field\":\"addr\"}}", "7")},
		{"exthdr frag == missing",
		 MATCH("==", "{\"exthdr\":{\"name\":\"frag\"}}", "false")},
		{"srh sid[2] == ::1",
		 MATCH("==", "{\"exthdr\":{\"name\":\"srh\",\"field\":\"sid[2]\"}}", "\"::1\"")},
		{"rt0 addr[1] == ::1",
		 MATCH("==", "{\"exthdr\":{\"name\":\"rt0\",\"field\":\"addr\",\"offset\":1}}",
		       "\"::1\"")},
		{"sctp chunk data tsn == 5",
		 MATCH("==", "{\"sctp chunk\":{\"name\":\"data\",\"field\":\"tsn\"}}", "5")},
		{"dccp option 5 == exists", MATCH("==", "{\"dccp option\":{\"type\":5}}", "true")},
		{"rt ip nexthop == 1.1.1.1",
		 MATCH("==", "{\"rt\":{\"key\":\"nexthop\",\"family\":\"ip\"}}", "\"1.1.1.1\"")},
		{"socket cgroupv2 level 2 == a",
		 MATCH("==", "{\"socket\":{\"key\":\"cgroupv2\",\"level\":2}}", "\"a\"")},
		{"fib saddr . iif oif == 1",
		 MATCH("==", "{\"fib\":{\"result\":\"oif\",\"flags\":[\"saddr\",\"iif\"]}}", "1")},
		{"fib daddr check == exists",
		 MATCH("==", "{\"fib\":{\"result\":\"check\",\"flags\":\"daddr\"}}", "true")},
		{"osf ttl loose name == a",
		 MATCH("==", "{\"osf\":{\"key\":\"name\",\"ttl\":\"loose\"}}", "\"a\"")},
		{"numgen random mod 7 offset 3 == 1",
		 MATCH("==", "{\"numgen\":{\"mode\":\"random\",\"mod\":7,\"offset\":3}}", "1")},
		{"jhash ip saddr mod 7 seed 0x5 offset 3 == 1",
		 MATCH("==",
		       "{\"jhash\":{\"mod\":7,\"offset\":3,\"seed\":5,\"expr\":" PAYLOAD(
			       "ip", "saddr") "}}",
		       "1")},
		{"symhash mod 7 == 1", MATCH("==", "{\"symhash\":{\"mod\":7}}", "1")},
		{"ipsec out spnum 2 ip saddr == 1.1.1.1",
		 MATCH("==",
		       "{\"ipsec\":{\"key\":\"saddr\",\"family\":\"ip\",\"dir\":\"out\",\"spnum\":"
		       "2}}",
		       "\"1.1.1.1\"")},
		{"tunnel id == 5", MATCH("==", "{\"tunnel\":{\"key\":\"id\"}}", "5")},
		{"tcp dport vmap { 22 : accept, 23 : jump x }",
		 "{\"vmap\":{\"key\":" PAYLOAD("tcp",
					       "dport") ",\"data\":{\"set\":[[22,{\"accept\":null}]"
							",[23,{\"jump\":{\"target\":"
							"\"x\"}}]]}}}"},
		{"tcp dport vmap @m",
		 "{\"vmap\":{\"key\":" PAYLOAD("tcp", "dport") ",\"data\":\"@m\"}}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		same_rule(cases[i].text, cases[i].json);
}

static void test_statements(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"counter", "{\"counter\":null}"},
		{"counter packets 3 bytes 4", "{\"counter\":{\"packets\":3,\"bytes\":4}}"},
		{"counter name \"x\"", "{\"counter\":\"x\"}"},
		{"counter name tcp dport map { 1 : \"a\" }",
		 "{\"counter\":{\"map\":{\"key\":" PAYLOAD(
			 "tcp", "dport") ",\"data\":{\"set\":[[1,\"a\"]]}}}}"},
		{"quota over 3 kbytes used 1 mbytes",
		 "{\"quota\":{\"val\":3,\"val_unit\":\"kbytes\",\"used\":1,\"used_unit\":"
		 "\"mbytes\","
		 "\"inv\":true}}"},
		{"limit rate 5/minute burst 7 packets",
		 "{\"limit\":{\"rate\":5,\"per\":\"minute\",\"burst\":7}}"},
		{"limit rate over 5 kbytes/day burst 2 mbytes",
		 "{\"limit\":{\"rate\":5,\"rate_unit\":\"kbytes\",\"per\":\"day\",\"burst\":2,"
		 "\"burst_unit\":\"mbytes\",\"inv\":true}}"},
		{"last", "{\"last\":null}"},
		{"last used 300ms", "{\"last\":{\"used\":300}}"},
		{"ct count over 5", "{\"ct count\":{\"val\":5,\"inv\":true}}"},
		{"log", "{\"log\":null}"},
		{"log prefix \"a b\" group 3 snaplen 4 queue-threshold 5",
		 "{\"log\":{\"prefix\":\"a b\",\"group\":3,\"snaplen\":4,\"queue-threshold\":5}}"},
		{"log level audit flags all", "{\"log\":{\"level\":\"audit\",\"flags\":\"all\"}}"},
		{"log flags tcp sequence,options flags ether",
		 "{\"log\":{\"flags\":[\"tcp sequence\",\"tcp options\",\"ether\"]}}"},
		{"reject", "{\"reject\":null}"},
		{"reject with tcp reset", "{\"reject\":{\"type\":\"tcp reset\"}}"},
		{"reject with icmpx 3", "{\"reject\":{\"type\":\"icmpx\",\"expr\":3}}"},
		{"meta mark set 5", MANGLE(META("mark"), "5")},
		{"ct mark set meta mark", MANGLE("{\"ct\":{\"key\":\"mark\"}}", META("mark"))},
		{"ct event set new,destroy",
		 MANGLE("{\"ct\":{\"key\":\"event\"}}", "[\"new\",\"destroy\"]")},
		{"ct helper set \"h\"", "{\"ct helper\":\"h\"}"},
		{"ct helper set \"h\"", MANGLE("{\"ct\":{\"key\":\"helper\"}}", "\"h\"")},
		{"ct timeout set \"h\"", "{\"ct timeout\":\"h\"}"},
		{"ip ttl set 5", MANGLE(PAYLOAD("ip", "ttl"), "5")},
		{"tcp option maxseg size set rt mtu",
		 MANGLE("{\"tcp option\":{\"name\":\"maxseg\",\"field\":\"size\"}}",
			"{\"rt\":{\"key\":\"mtu\"}}")},
		{"reset tcp option mptcp", "{\"reset\":{\"tcp option\":{\"name\":\"mptcp\"}}}"},
		{"reset tcp option 123",
		 "{\"reset\":{\"tcp option\":{\"base\":123,\"offset\":0,\"len\":0}}}"},
		{"snat ip to 1.1.1.1:5 random,persistent",
		 "{\"snat\":{\"family\":\"ip\",\"addr\":\"1.1.1.1\",\"port\":5,\"flags\":["
		 "\"random\","
		 "\"persistent\"]}}"},
		{"dnat ip prefix to ip daddr map { 1.1.1.0/24 : 2.2.2.0/24 }",
		 "{\"dnat\":{\"family\":\"ip\",\"addr\":{\"map\":{\"key\":" PAYLOAD(
			 "ip", "daddr") ",\"data\":{\"set\":[[{\"prefix\":{\"addr\":\"1.1.1.0\","
					"\"len\":24}},{\"prefix\":"
					"{\"addr\":\"2.2.2.0\",\"len\":24}}]]}}},\"flags\":"
					"\"netmap\",\"type_flags\":"
					"\"prefix\"}}"},
		{"masquerade", "{\"masquerade\":null}"},
		{"redirect to :1-2", "{\"redirect\":{\"port\":{\"range\":[1,2]}}}"},
		{"tproxy ip6 to [::1]:5",
		 "{\"tproxy\":{\"family\":\"ip6\",\"addr\":\"::1\",\"port\":5}}"},
		{"synproxy mss 1460 wscale 7 timestamp sack-perm",
		 "{\"synproxy\":{\"mss\":1460,\"wscale\":7,\"flags\":[\"timestamp\",\"sack-perm\"]}"
		 "}"},
		{"synproxy name \"s\"", "{\"synproxy\":\"s\"}"},
		{"queue", "{\"queue\":null}"},
		{"queue flags bypass,fanout to 1-2",
		 "{\"queue\":{\"num\":{\"range\":[1,2]},\"flags\":[\"bypass\",\"fanout\"]}}"},
		{"dup to 1.1.1.1 device \"lo\"", "{\"dup\":{\"addr\":\"1.1.1.1\",\"dev\":\"lo\"}}"},
		{"fwd to \"lo\"", "{\"fwd\":{\"dev\":\"lo\"}}"},
		{"fwd ip to 1.1.1.1 device \"lo\"",
		 "{\"fwd\":{\"dev\":\"lo\",\"family\":\"ip\",\"addr\":\"1.1.1.1\"}}"},
		{"notrack", "{\"notrack\":null}"},
		{"flow add @f", "{\"flow\":{\"op\":\"add\",\"flowtable\":\"@f\"}}"},
		{"add @s { ip saddr timeout 5s counter }",
		 "{\"set\":{\"op\":\"add\",\"elem\":{\"elem\":{\"val\":" PAYLOAD(
			 "ip", "saddr") ",\"timeout\":5}},\"set\":\"@s\",\"stmt\":[{\"counter\":"
					"null}]}}"},
		{"update @m { ip saddr : meta mark }",
		 "{\"map\":{\"op\":\"update\",\"elem\":" PAYLOAD("ip", "saddr") ",\"data\":" META(
			 "mark") ",\"map\":\"@m\"}}"},
		{"meter x size 5 { ip saddr counter }",
		 "{\"meter\":{\"name\":\"x\",\"size\":5,\"key\":" PAYLOAD(
			 "ip", "saddr") ",\"stmt\":{\"counter\":null}}}"},
		{"goto x", "{\"goto\":{\"target\":\"x\"}}"},
		{"jump { tcp dport 1 accept; drop; }",
		 "{\"jump\":{\"rules\":[{\"expr\":[" MATCH(
			 "in", PAYLOAD("tcp", "dport"),
			 "1") ",{\"accept\":null}]},{\"expr\":[{\"drop\":null}]}]}}"},
		{"meta mark set meta mark | 1 | 2",
		 MANGLE(META("mark"), "{\"|\":[" META("mark") ",1,2]}")},
		{"meta mark set meta mark << 2 ^ 1",
		 MANGLE(META("mark"), "{\"^\":[{\"<<\":[" META("mark") ",2]},1]}")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		same_rule(cases[i].text, cases[i].json);
}

static void test_commands(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"add table inet t", "{\"add\":{\"table\":{\"family\":\"inet\",\"name\":\"t\"}}}"},
		{"create table ip t { flags dormant, owner; comment \"x\"; }",
		 "{\"create\":{\"table\":{\"family\":\"ip\",\"name\":\"t\",\"flags\":[\"dormant\","
		 "\"owner\"],\"comment\":\"x\"}}}"},
		{"add chain inet t c", "{\"add\":{\"chain\":{" FT ",\"name\":\"c\"}}}"},
		{"add chain inet t c { comment \"x\"; type nat hook prerouting priority -100; "
		 "policy drop; }",
		 "{\"add\":{\"chain\":{" FT ",\"name\":\"c\",\"type\":\"nat\",\"hook\":"
		 "\"prerouting\",\"prio\":-100,\"policy\":"
		 "\"drop\",\"comment\":\"x\"}}}"},
		{"add chain inet t c { type filter hook ingress devices = { a, b } priority "
		 "filter; }",
		 "{\"add\":{\"chain\":{" FT
		 ",\"name\":\"c\",\"type\":\"filter\",\"hook\":\"ingress\",\"dev\":[\"a\",\"b\"],"
		 "\"prio\":\"filter\"}}}"},
		{"insert rule inet t c index 3 accept comment \"x\"",
		 "{\"insert\":{\"rule\":{" FT
		 ",\"chain\":\"c\",\"index\":3,\"comment\":\"x\",\"expr\":[{\"accept\":null}]}}}"},
		{"add rule inet t c handle 3 accept",
		 "{\"add\":{\"rule\":{" FT
		 ",\"chain\":\"c\",\"handle\":3,\"expr\":[{\"accept\":null}]}}}"},
		{"replace rule inet t c handle 3 accept",
		 "{\"replace\":{\"rule\":{" FT
		 ",\"chain\":\"c\",\"handle\":3,\"expr\":[{\"accept\":null}]}}}"},
		{"add set inet t s { type ipv4_addr . inet_service; flags interval, timeout; "
		 "timeout 1h; "
		 "gc-interval 2m; size 5; policy memory; auto-merge; comment \"x\"; counter; "
		 "elements = { 1.1.1.1 . 5 timeout 5s comment \"e\", * }; }",
		 "{\"add\":{\"set\":{" FT ",\"name\":\"s\",\"type\":[\"ipv4_addr\",\"inet_"
		 "service\"],\"flags\":[\"interval\","
		 "\"timeout\"],\"timeout\":3600,\"gc-interval\":120,\"size\":5,\"policy\":"
		 "\"memory\","
		 "\"auto-merge\":true,\"comment\":\"x\",\"stmt\":[{\"counter\":null}],\"elem\":[{"
		 "\"elem\":"
		 "{\"val\":{\"concat\":[\"1.1.1.1\",5]},\"timeout\":5,\"comment\":\"e\"}},\"*\"]}}"
		 "}"},
		{"add map inet t m { typeof ip saddr : meta mark; flags dynamic; elements = { "
		 "1.1.1.1 : 5 }; }",
		 "{\"add\":{\"map\":{" FT ",\"name\":\"m\",\"type\":{\"typeof\":" PAYLOAD(
			 "ip",
			 "saddr") "},\"map\":{\"typeof\":" META("mark") "},\"flags\":\"dynamic\","
									"\"elem\":[[\"1.1.1.1\",5]]"
									"}}}"},
		{"add map inet t m { type ipv4_addr : verdict; }",
		 "{\"add\":{\"map\":{" FT
		 ",\"name\":\"m\",\"type\":\"ipv4_addr\",\"map\":\"verdict\"}}}"},
		{"add map inet t m { type ipv4_addr : ct helper; }",
		 "{\"add\":{\"map\":{" FT
		 ",\"name\":\"m\",\"type\":\"ipv4_addr\",\"map\":\"ct helper\"}}}"},
		{"add map inet t m { type ipv4_addr : interval ipv4_addr; elements = { 1.1.1.1 : "
		 "2.2.2.2-2.2.2.3 }; }",
		 "{\"add\":{\"map\":{" FT ",\"name\":\"m\",\"type\":\"ipv4_addr\",\"map\":\"ipv4_"
		 "addr\",\"elem\":[[\"1.1.1.1\","
		 "{\"range\":[\"2.2.2.2\",\"2.2.2.3\"]}]]}}}"},
		{"add element inet t s { 1.1.1.1 counter packets 1 bytes 2 }",
		 "{\"add\":{\"element\":{" FT ",\"name\":\"s\",\"elem\":{\"elem\":{\"val\":\"1.1.1."
		 "1\",\"counter\":{\"packets\":1,"
		 "\"bytes\":2}}}}}}"},
		{"delete element inet t s { 1.1.1.1, 5.5.5.5 }",
		 "{\"delete\":{\"element\":{" FT
		 ",\"name\":\"s\",\"elem\":[\"1.1.1.1\",\"5.5.5.5\"]}}}"},
		{"get element inet t s { 1.1.1.1 }",
		 "{\"get\":{\"element\":{" FT ",\"name\":\"s\",\"elem\":[\"1.1.1.1\"]}}}"},
		{"add flowtable inet t f { hook ingress priority 5; devices = { a }; flags "
		 "offload; counter; }",
		 "{\"add\":{\"flowtable\":{" FT ",\"name\":\"f\",\"hook\":\"ingress\",\"prio\":5,"
		 "\"dev\":\"a\",\"flags\":[\"offload\","
		 "\"counter\"]}}}"},
		{"add counter inet t x { comment \"c\"; packets 1 bytes 2; }",
		 "{\"add\":{\"counter\":{" FT
		 ",\"name\":\"x\",\"comment\":\"c\",\"packets\":1,\"bytes\":2}}}"},
		{"add quota inet t x over 2 kbytes",
		 "{\"add\":{\"quota\":{" FT
		 ",\"name\":\"x\",\"bytes\":2048,\"used\":0,\"inv\":true}}}"},
		{"add limit inet t x rate 400/minute burst 5 packets",
		 "{\"add\":{\"limit\":{" FT
		 ",\"name\":\"x\",\"rate\":400,\"per\":\"minute\",\"burst\":5}}}"},
		{"add ct helper inet t x { type \"ftp\" protocol tcp; l3proto ip; }",
		 "{\"add\":{\"ct helper\":{" FT
		 ",\"name\":\"x\",\"type\":\"ftp\",\"protocol\":\"tcp\",\"l3proto\":\"ip\"}}}"},
		{"add ct timeout inet t x { protocol tcp; policy = { established : 5, close : 6 }; "
		 "}",
		 "{\"add\":{\"ct timeout\":{" FT ",\"name\":\"x\",\"protocol\":\"tcp\",\"policy\":{"
		 "\"established\":5,\"close\":6}}}}"},
		{"add ct expectation inet t x { protocol udp; dport 9; timeout 2m; size 12; "
		 "l3proto ip; }",
		 "{\"add\":{\"ct expectation\":{" FT
		 ",\"name\":\"x\",\"protocol\":\"udp\",\"dport\":9,\"timeout\":120000,\"size\":12,"
		 "\"l3proto\":\"ip\"}}}"},
		{"add secmark inet t x { \"a:b:c\" }",
		 "{\"add\":{\"secmark\":{" FT ",\"name\":\"x\",\"context\":\"a:b:c\"}}}"},
		{"add synproxy inet t x mss 5 wscale 6 timestamp",
		 "{\"add\":{\"synproxy\":{" FT
		 ",\"name\":\"x\",\"mss\":5,\"wscale\":6,\"flags\":\"timestamp\"}}}"},
		{"add tunnel inet t x { id 5; ip saddr 1.1.1.1; ip daddr 2.2.2.2; sport 1; dport "
		 "2; ttl 3; "
		 "tos 4; geneve { class 1 opt-type 2 data \"0x12\"; }; }",
		 "{\"add\":{\"tunnel\":{" FT ",\"name\":\"x\",\"id\":5,\"src-ipv4\":\"1.1.1.1\","
		 "\"dst-ipv4\":\"2.2.2.2\",\"sport\":1,"
		 "\"dport\":2,\"ttl\":3,\"tos\":4,\"type\":\"geneve\",\"tunnel\":[{\"class\":1,"
		 "\"opt-type\":"
		 "2,\"data\":\"0x12\"}]}}}"},
		{"delete table inet t",
		 "{\"delete\":{\"table\":{\"family\":\"inet\",\"name\":\"t\"}}}"},
		{"destroy chain inet t c", "{\"destroy\":{\"chain\":{" FT ",\"name\":\"c\"}}}"},
		{"delete chain inet t handle 5", "{\"delete\":{\"chain\":{" FT ",\"handle\":5}}}"},
		{"delete rule inet t c handle 5",
		 "{\"delete\":{\"rule\":{" FT ",\"chain\":\"c\",\"handle\":5}}}"},
		{"delete set inet t s", "{\"delete\":{\"set\":{" FT ",\"name\":\"s\"}}}"},
		{"delete ct helper inet t s",
		 "{\"delete\":{\"ct helper\":{" FT ",\"name\":\"s\"}}}"},
		{"flush ruleset", "{\"flush\":{\"ruleset\":null}}"},
		{"flush ruleset ip", "{\"flush\":{\"ruleset\":{\"family\":\"ip\"}}}"},
		{"flush table inet t",
		 "{\"flush\":{\"table\":{\"family\":\"inet\",\"name\":\"t\"}}}"},
		{"flush chain inet t c", "{\"flush\":{\"chain\":{" FT ",\"name\":\"c\"}}}"},
		{"flush set inet t s", "{\"flush\":{\"set\":{" FT ",\"name\":\"s\"}}}"},
		{"rename chain inet t c d",
		 "{\"rename\":{\"chain\":{" FT ",\"name\":\"c\",\"newname\":\"d\"}}}"},
		{"list ruleset", "{\"list\":{\"ruleset\":null}}"},
		{"list tables", "{\"list\":{\"tables\":null}}"},
		{"list chain inet t c", "{\"list\":{\"chain\":{" FT ",\"name\":\"c\"}}}"},
		{"list counters", "{\"list\":{\"counters\":null}}"},
		{"list counters table inet t", "{\"list\":{\"counters\":{" FT "}}}"},
		{"list ct helpers table inet t", "{\"list\":{\"ct helpers\":{" FT "}}}"},
		{"reset counter inet t x", "{\"reset\":{\"counter\":{" FT ",\"name\":\"x\"}}}"},
		{"reset quotas", "{\"reset\":{\"quotas\":null}}"},
		{"reset element inet t s { 1.1.1.1 }",
		 "{\"reset\":{\"element\":{" FT ",\"name\":\"s\",\"elem\":[\"1.1.1.1\"]}}}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf json = STRBUF_INIT;

		strbuf_printf(&json, "{\"nftables\":[%s]}", cases[i].json);
		same(cases[i].text, strbuf_str(&json));
		strbuf_free(&json);
	}
}

/* What a listing prints, in its order, comes in the order of blocks; a command ends a listing. */
static void test_listing_order(void **state)
{
	same("add table inet t\n"
	     "add chain inet t c\n"
	     "add map inet t m { type ipv4_addr : verdict; elements = { 1.1.1.1 : jump c }; }\n"
	     "add rule inet t c accept\n"
	     "flush ruleset\n"
	     "add table inet u\n",
	     "{\"nftables\":[{\"metainfo\":{\"version\":\"1\",\"release_name\":\"x\","
	     "\"json_schema_version\":1}},"
	     "{\"table\":{\"family\":\"inet\",\"name\":\"t\",\"handle\":1}},"
	     "{\"map\":{" FT
	     ",\"name\":\"m\",\"handle\":2,\"type\":\"ipv4_addr\",\"map\":\"verdict\","
	     "\"elem\":[[\"1.1.1.1\",{\"jump\":{\"target\":\"c\"}}]]}},"
	     "{\"rule\":{" FT ",\"chain\":\"c\",\"handle\":9,\"expr\":[{\"accept\":null}]}},"
	     "{\"chain\":{" FT ",\"name\":\"c\",\"handle\":3}},"
	     "{\"flush\":{\"ruleset\":null}},"
	     "{\"table\":{\"family\":\"inet\",\"name\":\"u\"}}]}");
}

/* --- Out of memory -------------------------------------------------------------------------- */

static void *jansson_malloc(size_t size)
{
	return malloc(size);
}

/* Each allocation fails in turn, with all that follow; the sanitizer build sees what leaks. */
static void test_out_of_memory(void **state)
{
	struct strbuf json = STRBUF_INIT;
	unsigned failed = 0;

	strbuf_puts(&json, "{\"nftables\":[{\"add\":{\"table\":{}}}");
	for (unsigned i = 0; i < 60; i++)
		strbuf_printf(
			&json,
			",{\"add\":{\"set\":{" FT ",\"name\":\"s%u\",\"type\":\"ipv4_addr\","
			"\"elem\":[\"1.1.1.%u\",{\"elem\":{"
			"\"val\":\"2.2.2.2\",\"comment\":\"a long comment of element %u\"}}]}}}",
			i, i, i);
	strbuf_puts(&json, "]}");
	json_set_alloc_funcs(jansson_malloc, free);
	for (unsigned long k = 1;; k += k < 200 ? 1 : 37) {
		struct parsed t = {.cmds = CMD_LIST_INIT(t.cmds)};

		source_set_init(&t.sources);
		memory_arm(k - 1, true);
		int src = source_add(&t.sources, SOURCE_JSON, "j", json.data, json.len, LOC_NONE);
		t.err = src < 0 ? src : parse_json(&t.sources, src, &t.a, &t.cmds);
		memory_disarm();
		source_set_free(&t.sources);
		arena_free(&t.a);
		if (!memory.hit) {
			assert_int_equal(t.err, -EINVAL);
			break;
		}
		assert_int_equal(t.err, -ENOMEM);
		failed++;
	}
	assert_true(failed > 200);
	json_set_alloc_funcs(malloc, free);
	strbuf_free(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),	      cmocka_unit_test(test_statements),
		cmocka_unit_test(test_commands),      cmocka_unit_test(test_listing_order),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
