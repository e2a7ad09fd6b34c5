/* SPDX-License-Identifier: Apache-2.0 */
/* test_parse_cmd: commands and declarations: blocks come apart in nft's order. */
#include "parse_fixture.h"

/* "add table", "delete rule #7": each command in a word or two. */
static void dump_cmds(struct strbuf *o, const struct cmd_list *l)
{
	static const char *const ops[] = {"add",     "create",	 "insert",  "replace", "delete",
					  "destroy", "flush",	 "list",    "reset",   "rename",
					  "get",     "describe", "monitor", "export",  "import"};
	static const char *const objs[] = {
		"ruleset",   "table",	   "tables", "chain",	"chains", "rule",   "rules",
		"set",	     "sets",	   "map",    "maps",	"meter",  "meters", "elements",
		"flowtable", "flowtables", "object", "objects", "hooks",  "expr"};
	for (const struct cmd *c = l->first; c; c = c->next) {
		strbuf_printf(o, "%s %s/%d", ops[c->op], objs[c->obj], (int)c->family);
		if (c->obj == CO_OBJECT || c->obj == CO_OBJECTS)
			strbuf_printf(o, " kind%d", (int)c->obj_kind);
		if (c->table.text)
			strbuf_printf(o, " %s", c->table.text);
		if (c->chain.text)
			strbuf_printf(o, " chain=%s", c->chain.text);
		if (c->name.text)
			strbuf_printf(o, " name=%s", c->name.text);
		if (c->handle.given)
			strbuf_printf(o, " handle=%llu", (unsigned long long)c->handle.value);
		if (c->index.given)
			strbuf_printf(o, " index=%llu", (unsigned long long)c->index.value);
		if (c->position.given)
			strbuf_printf(o, " position=%llu", (unsigned long long)c->position.value);
		strbuf_puts(o, "\n");
	}
}

static void expect_cmds(const char *text, const char *want)
{
	struct parsed t;
	parse_ok(&t, text);
	struct strbuf out = STRBUF_INIT;
	dump_cmds(&out, &t.cmds);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
	parsed_free(&t);
}

static void test_block_order(void **state)
{
	expect_cmds("table inet t {\n"
		    "	chain a { jump b; accept; }\n"
		    "	set s { type ipv4_addr; elements = { 1.2.3.4 }; }\n"
		    "	counter k { }\n"
		    "	chain b { drop; }\n"
		    "	map m { type ipv4_addr : verdict; elements = { }; }\n"
		    "	flowtable f { hook ingress priority 0; devices = { lo }; }\n"
		    "	ct helper h { type \"ftp\" protocol tcp; }\n"
		    "}\n"
		    "add rule inet t b accept\n",
		    "add table/1 t\n"
		    "add chain/1 t chain=a\n"
		    "add chain/1 t chain=b\n"
		    "add object/1 kind0 t name=k\n"
		    "add object/1 kind3 t name=h\n"
		    "add set/1 t name=s\n"
		    "add map/1 t name=m\n"
		    "add flowtable/1 t name=f\n"
		    "add elements/1 t name=s\n"
		    "add rule/1 t chain=a\n"
		    "add rule/1 t chain=a\n"
		    "add rule/1 t chain=b\n"
		    "add rule/1 t chain=b\n");
}

static void test_commands(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"add table t", "add table/2 t\n"},
		{"create table ip6 t { comment \"x\"; }", "create table/10 t\n"},
		{"t c accept", "add rule/2 t chain=c\n"},
		{"add inet t c accept", "add rule/1 t chain=c\n"},
		{"rule t c accept", "add rule/2 t chain=c\n"},
		{"add rule t c handle 4 accept", "add rule/2 t chain=c handle=4\n"},
		{"add rule t c position 4 accept", "add rule/2 t chain=c position=4\n"},
		{"insert rule t c index 0x10 accept", "insert rule/2 t chain=c index=16\n"},
		{"insert t c accept", "insert rule/2 t chain=c\n"},
		{"replace rule t c handle 4 accept", "replace rule/2 t chain=c handle=4\n"},
		{"delete rule arp t c handle 4", "delete rule/3 t chain=c handle=4\n"},
		{"delete table handle 5", "delete table/2 handle=5\n"},
		{"delete chain netdev t c", "delete chain/5 t chain=c\n"},
		{"delete chain t handle 5", "delete chain/2 t handle=5\n"},
		{"delete chain t c { devices = { lo }; }", "delete chain/2 t chain=c\n"},
		{"delete set t handle 5; delete map t m", "delete set/2 t handle=5\n"
							  "delete map/2 t name=m\n"},
		{"delete counter t c; delete ct timeout t x", "delete object/2 kind0 t name=c\n"
							      "delete object/2 kind4 t name=x\n"},
		{"destroy element bridge t s { 1 }", "destroy elements/7 t name=s\n"},
		{"delete flowtable t f", "delete flowtable/2 t name=f\n"},
		{"flush ruleset; flush ruleset ip6", "flush ruleset/0\nflush ruleset/10\n"},
		{"flush table t; flush chain t c; flush set t s",
		 "flush table/2 t\nflush chain/2 t chain=c\nflush set/2 t name=s\n"},
		{"rename chain t c d", "rename chain/2 t chain=c name=d\n"},
		{"get element t s { 1 }", "get elements/2 t name=s\n"},
		{"list ruleset; list tables inet", "list ruleset/0\nlist tables/1\n"},
		{"list table t; list chain t c; list chains", "list table/2 t\n"
							      "list chain/2 t chain=c\n"
							      "list chains/0\n"},
		{"list counters table inet t; list counter t c", "list objects/1 kind0 t\n"
								 "list object/2 kind0 t name=c\n"},
		{"list ct helpers; list ct helper t h; list ct timeout table t",
		 "list objects/0 kind3\nlist object/2 kind3 t name=h\nlist objects/2 kind4 t\n"},
		{"list hooks netdev device lo", "list hooks/5 name=lo\n"},
		{"list flow tables; list flow table t f; list meters",
		 "list meters/0\nlist meter/2 t name=f\nlist meters/0\n"},
		{"reset counters; reset rules; reset rules table t; reset rules chain t c",
		 "reset objects/0 kind0\nreset rules/0\nreset rules/2 t\nreset rules/2 t "
		 "chain=c\n"},
		{"reset element t s { 1 }; reset rule t c handle 3",
		 "reset elements/2 t name=s\nreset rule/2 t chain=c handle=3\n"},
		{"add counter t c", "add object/2 kind0 t name=c\n"},
		{"add limit t l rate 5/second", "add object/2 kind2 t name=l\n"},
		{"add element t s { 1 }", "add elements/2 t name=s\n"},
		{"add set t s { type mark; elements = { 1 }; }",
		 "add set/2 t name=s\nadd elements/2 t name=s\n"},
		{"add chain t c { accept; drop; }",
		 "add chain/2 t chain=c\nadd rule/2 t chain=c\nadd rule/2 t chain=c\n"},
		{"describe tcp dport; monitor new rules json",
		 "describe expr/2\nmonitor ruleset/0 name=new rules json\n"},
		{"#!/usr/sbin/nft -f\n\n;;\nadd table t # c\n;add table u",
		 "add table/2 t\nadd table/2 u\n"},
		{"add \\\n table \\\n t", "add table/2 t\n"},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_cmds(cases[i].text, cases[i].want);
}

static void test_chain(void **state)
{
	struct parsed t;
	parse_ok(&t,
		 "add chain netdev t c { type route hook egress devices = { lo, \"eth0\",\n e* }"
		 " priority filter - 5; policy drop; flags offload; comment \"c\"; }\n"
		 "add chain t d { type nat hook prerouting priority -2147483648 ; }\n"
		 "add chain t e\n");
	const struct chain_decl *d = t.cmds.first->chain_decl;
	assert_true(d->base);
	assert_int_equal(d->type, CHAIN_ROUTE);
	assert_int_equal(d->hook, HOOK_EGRESS);
	assert_int_equal(d->devices.n, 3);
	assert_int_equal(d->priority_offset, -5);
	assert_memory_equal(d->priority_expr->symbol.text, "filter", 6);
	assert_true(d->has_policy && d->policy == VERDICT_DROP && d->offload);
	assert_string_equal(d->comment, "c");
	d = t.cmds.first->next->chain_decl;
	assert_int_equal(d->priority, INT32_MIN);
	assert_null(d->priority_expr);
	assert_null(t.cmds.first->next->next->chain_decl);
	parsed_free(&t);
}

static void test_set(void **state)
{
	struct parsed t;
	parse_ok(&t,
		 "add set t s { type ipv4_addr . inet_service; flags interval,timeout; size 5;"
		 " timeout 1m; gc-interval 5s; policy memory; auto-merge; comment \"c\";"
		 " counter limit rate 1/second; }\n"
		 "add map t m { type mark : interval ipv4_addr . mark; }\n"
		 "add map t n { typeof ip saddr . tcp dport : verdict; flags constant,dynamic; }\n"
		 "add map t o { type mark : ct helper; }\n"
		 "add map t p { typeof iifname : ct zone; }\n"
		 "add map t q { typeof ip saddr : counter; }\n");
	const struct cmd *c = t.cmds.first;
	const struct set_decl *d = c->set_decl;
	assert_int_equal(d->key.n, 2);
	assert_ptr_equal(d->key.fields[1], &type_inet_service);
	assert_int_equal(d->key.bits[0], 32);
	assert_int_equal(d->flags, SETF_INTERVAL | SETF_TIMEOUT);
	assert_int_equal(d->size, 5);
	assert_int_equal(d->timeout, 60000);
	assert_int_equal(d->gc_interval, 5000);
	assert_true(d->policy_memory && d->has_policy && d->auto_merge);
	assert_int_equal(d->stmts->kind, ST_COUNTER);
	assert_int_equal(d->stmts->next->kind, ST_LIMIT);
	d = (c = c->next)->set_decl;
	assert_int_equal(d->flags, SETF_MAP);
	assert_int_equal(d->data.n, 2);
	assert_true(d->data.interval);
	d = (c = c->next)->set_decl;
	assert_int_equal(d->key.of->kind, EX_CONCAT);
	assert_ptr_equal(d->data.fields[0], &type_verdict);
	assert_int_equal(d->flags, SETF_MAP | SETF_CONSTANT | SETF_DYNAMIC);
	d = (c = c->next)->set_decl;
	assert_int_equal(d->flags, SETF_MAP | SETF_OBJECT);
	assert_int_equal(d->obj, OBJ_CT_HELPER);
	d = (c = c->next)->set_decl;
	assert_int_equal(d->data.of->kind, EX_CT);
	d = (c = c->next)->set_decl;
	assert_int_equal(d->obj, OBJ_COUNTER);
	parsed_free(&t);
}

static void test_objects(void **state)
{
	struct parsed t;
	parse_ok(&t, "table t {\n"
		     " counter c { packets 1 bytes 2; comment \"x\" }\n"
		     " quota q { over 5 kbytes used 1 bytes }\n"
		     " limit l { rate over 5 bytes/day burst 3 mbytes }\n"
		     " ct helper h { type \"ftp\" protocol udp; l3proto ip6; }\n"
		     " ct timeout o { protocol tcp; policy = { established : 5, close : 1m1s }; }\n"
		     " ct expectation e { protocol udp; dport 9; timeout 2m; size 8; }\n"
		     " secmark s { \"a:b\" }\n"
		     " synproxy y { mss 5; wscale 6; timestamp sack-perm }\n"
		     " tunnel u { id 1; ip saddr 1.1.1.1; ip6 daddr ::1; sport 2; dport 3; ttl 4;"
		     " tos 5; erspan { version 2; direction egress; id 7; }; }\n"
		     "}\n");
	const struct cmd *c = t.cmds.first->next;
	const struct obj_decl *d = c->obj_decl;
	assert_true(d->counter.packets == 1 && d->counter.bytes == 2);
	assert_string_equal(d->comment, "x");
	d = (c = c->next)->obj_decl;
	assert_true(d->quota.over && d->quota.bytes == 5120 && d->quota.used == 1);
	d = (c = c->next)->obj_decl;
	assert_true(d->limit.over && d->limit.bytes && d->limit.unit == 86400);
	assert_true(d->limit.burst == 3 << 20);
	d = (c = c->next)->obj_decl;
	assert_string_equal(d->helper.type, "ftp");
	assert_int_equal(d->helper.l4proto, 17);
	assert_int_equal(d->helper.l3proto, FAMILY_IP6);
	d = (c = c->next)->obj_decl;
	assert_int_equal(d->timeout.n, 2);
	assert_string_equal(d->timeout.policy[1].state, "close");
	assert_int_equal(d->timeout.policy[1].seconds, 61);
	d = (c = c->next)->obj_decl;
	assert_int_equal(d->expectation.timeout_ms, 120000);
	assert_int_equal(d->expectation.size, 8);
	d = (c = c->next)->obj_decl;
	assert_string_equal(d->secmark, "a:b");
	d = (c = c->next)->obj_decl;
	assert_true(d->synproxy.mss == 5 && d->synproxy.timestamp && d->synproxy.sack_perm);
	d = (c = c->next)->obj_decl;
	assert_int_equal(d->tunnel.kind, TUNNEL_ERSPAN);
	assert_int_equal(d->tunnel.index, 7);
	assert_int_equal(d->tunnel.direction, 1);
	assert_int_equal(d->tunnel.dst->symbol.len, 3);
	parsed_free(&t);
}

static void test_table(void **state)
{
	struct parsed t;
	parse_ok(&t, "table t { flags dormant,owner; comment \"c\"; flags persist; }\n");
	assert_int_equal(t.cmds.first->table_decl.flags,
			 TABLEF_DORMANT | TABLEF_OWNER | TABLEF_PERSIST);
	assert_string_equal(t.cmds.first->table_decl.comment, "c");
	parsed_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_order), cmocka_unit_test(test_commands),
		cmocka_unit_test(test_chain),	    cmocka_unit_test(test_set),
		cmocka_unit_test(test_objects),	    cmocka_unit_test(test_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
