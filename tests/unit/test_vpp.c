/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vpp: VPP's commands: what they make, listed as commands again; what is wrong with them, with
 * the line; that nothing stays of a file with an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compat/vpp.h"

static struct tamis *engine(void)
{
	struct tamis *t;

	assert_int_equal(tamis_new(NULL, &t), 0);
	return t;
}

static int exec(struct tamis *t, const char *text, struct strbuf *out, struct strbuf *messages)
{
	return vpp_exec_text(t, "f", text, strlen(text), 0, out, messages);
}

static void listed(struct tamis *t, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	assert_int_equal(vpp_list(t, &out), 0);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
}

/* Runs `text`, which has nothing to say, compares the listing, and runs that. */
static void makes(const char *text, const char *want)
{
	struct tamis *t = engine(), *again = engine();
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;

	if (exec(t, text, &out, &messages) || messages.len || out.len)
		fail_msg("%s\n%s%s", text, strbuf_str(&messages), strbuf_str(&out));
	listed(t, want);
	assert_int_equal(exec(again, want, &out, &messages), 0);
	listed(again, want);
	strbuf_free(&out);
	strbuf_free(&messages);
	tamis_free(t);
	tamis_free(again);
}

static void commands(void **state)
{
	makes("", "");
	makes("# comment\n\n   \n\t# another\r\n", "");
	makes("set acl-plugin acl permit", "set acl-plugin acl index 0 permit src 0.0.0.0/0\n");
	makes("set acl-plugin acl src 10.0.0.0/8\n", /* permit, if nothing else is said */
	      "set acl-plugin acl index 0 permit src 10.0.0.0/8\n");
	makes("set acl-plugin acl deny dst ::/0 tag six",
	      "set acl-plugin acl index 0 tag six deny src ::/0\n");
	makes("vppctl set acl-plugin acl index 3 permit+reflect src 10.1.2.3 proto tcp sport 1-2 "
	      "dport 22 tcpflags 2 mask 18,deny proto 17 dport 0-65535 , action 2 proto icmp",
	      "set acl-plugin acl index 3 permit+reflect src 10.1.2.3/32 proto 6 sport 1-2 dport "
	      "22 tcpflags 2 mask 18, deny src 0.0.0.0/0 proto 17, permit+reflect src 0.0.0.0/0 "
	      "proto 1\n");
	makes("vppctl -s /run/vpp/cli.sock \"set acl-plugin acl \\\n  permit \\\r\n desc a b  c, "
	      "deny\"\n",
	      "set acl-plugin acl index 0 permit src 0.0.0.0/0 desc a b c, deny src "
	      "0.0.0.0/0\n");
	makes("set acl-plugin acl permit count 9\nset acl-plugin acl index 1 deny\n"
	      "set acl-plugin acl permit tag x\ndelete acl-plugin acl index 1\n"
	      "set acl-plugin acl deny tag y\n",
	      "set acl-plugin acl index 0 permit src 0.0.0.0/0\n"
	      "set acl-plugin acl index 1 tag y deny src 0.0.0.0/0\n"
	      "set acl-plugin acl index 2 tag x permit src 0.0.0.0/0\n");
	makes("set acl-plugin acl permit\nset acl-plugin acl deny\n"
	      "set acl-plugin interface GigabitEthernet3/0/0.100 input acl 1\n"
	      "set acl-plugin interface output lan acl 0 add\n"
	      "set acl-plugin interface GigabitEthernet3/0/0.100 acl 0\n"
	      "set acl-plugin interface lan output acl 1\n"
	      "set acl-plugin interface lan output acl 0 del\n",
	      "set acl-plugin acl index 0 permit src 0.0.0.0/0\n"
	      "set acl-plugin acl index 1 deny src 0.0.0.0/0\n"
	      "set acl-plugin interface GigabitEthernet3/0/0.100 input acl 1\n"
	      "set acl-plugin interface GigabitEthernet3/0/0.100 input acl 0\n"
	      "set acl-plugin interface lan output acl 1\n");
	makes("set acl-plugin macip acl permit ip 192.0.2.10/32 mac 02:00:00:00:00:1A mask "
	      "ff:ff:ff:ff:ff:ff, deny ip 2001:db8::/32 mac 02:00:00:00:00:00 mask "
	      "ff:00:00:00:00:00 tag m\n"
	      "set acl-plugin macip interface wan0 acl 0\nset acl-plugin macip acl action 1\n"
	      "set acl-plugin macip interface lan acl 1\ndelete acl-plugin macip acl index 1\n",
	      "set acl-plugin macip acl index 0 tag m permit ip 192.0.2.10/32 mac "
	      "02:00:00:00:00:1a mask ff:ff:ff:ff:ff:ff, deny ip 2001:db8::/32 mac "
	      "02:00:00:00:00:00 mask ff:00:00:00:00:00\n"
	      "set acl-plugin macip interface wan0 acl 0\n");
	makes("set acl-plugin session timeout udp idle 7\nset acl-plugin session timeout tcp "
	      "transient 60\nset acl-plugin l4-match-nonfirst-fragment 0\n"
	      "set acl-plugin session timeout tcp idle 86400\nclear acl-plugin sessions\n",
	      "set acl-plugin session timeout udp idle 7\n"
	      "set acl-plugin session timeout tcp transient 60\n"
	      "set acl-plugin l4-match-nonfirst-fragment 0\n");
}

static void warnings(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"set acl-plugin acl permit src 10.10.0.0/24 sport 443",
		 "f:1: Warning: ports and flags say nothing in a rule without a "
		 "protocol\n"},
		{"set acl-plugin acl permit proto 6 tcpflags 3 mask 1",
		 "f:1: Warning: flags that are not in their mask match no TCP packet\n"},
		{"\nset acl-plugin use-hash-acl-matching 0\nset acl-plugin session table "
		 "max-entries 5",
		 "f:2: Warning: 'use-hash-acl-matching' has no effect here\n"
		 "f:3: Warning: 'session' has no effect here\n"},
		{"#!/bin/bash\nvppctl set interface state x up\ncreate loopback interface\n",
		 "f: Warning: 2 commands not about ACLs passed over, the first in "
		 "line 2: set interface state\n"},
		{"set acl-plugin acl permit\nset acl-plugin interface a input acl 0\n"
		 "set acl-plugin interface a input acl 0\n"
		 "set acl-plugin interface a output acl 0 del\n",
		 "f:3: Warning: ACL 0 is already input of a\n"
		 "f:4: Warning: ACL 0 is not output of a\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
		struct tamis *t = engine();

		assert_int_equal(exec(t, cases[i].text, &out, &messages), 0);
		assert_string_equal(strbuf_str(&messages), cases[i].want);
		strbuf_free(&out);
		strbuf_free(&messages);
		tamis_free(t);
	}
}

#define LONG_NAME "0123456789012345678901234567890123456789012345678901234567890123"

static void errors(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"set acl-plugin acl", "an ACL wants a rule"},
		{"set acl-plugin acl tag x", "an ACL wants a rule"},
		{"set acl-plugin acl permit,", "there is no rule at the comma"},
		{"set acl-plugin acl permit,, deny", "there is no rule at the comma"},
		{"set acl-plugin acl , deny", "there is no rule at the comma"},
		{"set acl-plugin acl permit from 1.2.3.4", "unknown input 'from'"},
		{"set acl-plugin acl permit src", "'src' wants a prefix"},
		{"set acl-plugin acl permit src 1.2.3.4/33", "src 1.2.3.4/33: not a prefix"},
		{"set acl-plugin acl permit src 1.2.3.4-1.2.3.9",
		 "src 1.2.3.4-1.2.3.9: not a prefix"},
		{"set acl-plugin acl permit src 1.2.3.4/24",
		 "src 1.2.3.4/24: there are bits behind the prefix"},
		{"set acl-plugin acl permit dst 2001:db8::1/64",
		 "dst 2001:db8::1/64: there are bits behind the prefix"},
		{"set acl-plugin acl permit src 1.2.3.0/24 dst ::/0",
		 "dst ::/0: IPv4 and IPv6 in one rule"},
		{"set acl-plugin acl permit proto 256", "'proto' wants a number up to 255"},
		{"set acl-plugin acl permit proto", "'proto' wants a number up to 255"},
		{"set acl-plugin acl permit proto x", "'proto' wants a number up to 255"},
		{"set acl-plugin acl permit proto 6 dport 65536",
		 "dport 65536: not a port or a range of them"},
		{"set acl-plugin acl permit proto 6 sport 5-",
		 "sport 5-: not a port or a range of them"},
		{"set acl-plugin acl permit proto 6 sport 5-4", "sport 5-4: the range is empty"},
		{"set acl-plugin acl permit proto 6 sport",
		 "'sport' wants a port or a range of them"},
		{"set acl-plugin acl permit proto 6 tcpflags 2", "'mask' wants a number up to 255"},
		{"set acl-plugin acl permit desc", "'desc' wants a text"},
		{"set acl-plugin acl permit tag", "'tag' wants a name"},
		{"set acl-plugin acl permit tag " LONG_NAME,
		 "tag " LONG_NAME ": longer than 63 bytes"},
		{"set acl-plugin acl permit action 3", "'action' wants a number up to 2"},
		{"set acl-plugin acl index x permit", "'index' wants a number up to 16777215"},
		{"set acl-plugin interface input acl 0", "there is no interface"},
		{"set acl-plugin interface x input", "there is no 'acl N'"},
		{"set acl-plugin interface x input acl 0", "there is no ACL 0"},
		{"set acl-plugin interface x y input acl 0", "unknown input 'y'"},
		{"set acl-plugin interface " LONG_NAME " acl 0",
		 LONG_NAME ": no interface has such a name"},
		{"set acl-plugin macip interface x acl 0", "there is no MAC-IP ACL 0"},
		{"set acl-plugin macip interface x input acl 0", "unknown input 'input'"},
		{"set acl-plugin macip acl permit+reflect", "unknown input 'permit+reflect'"},
		{"set acl-plugin macip acl permit mac 1:2:3:4:5:6",
		 "mac 1:2:3:4:5:6: not a MAC address"},
		{"set acl-plugin macip acl permit mask", "'mask' wants a MAC address"},
		{"set acl-plugin macip acl permit mac 02-00-00-00-00-01",
		 "mac 02-00-00-00-00-01: not a MAC address"},
		{"delete acl-plugin acl 0", "there is no 'index N'"},
		{"delete acl-plugin acl index 0", "there is no ACL 0"},
		{"delete acl-plugin acl index 0 1", "there is no ACL 0"},
		{"delete acl-plugin macip acl index 0", "there is no MAC-IP ACL 0"},
		{"set acl-plugin acl permit\nset acl-plugin interface x input acl 0\n"
		 "delete acl-plugin acl index 0",
		 "ACL 0 is applied to an interface"},
		{"set acl-plugin session timeout tcp 5",
		 "'timeout' wants udp idle, tcp idle or tcp transient"},
		{"set acl-plugin session timeout udp idle 0", "a lifetime of 0 seconds"},
		{"set acl-plugin session timeout udp idle 5 6", "unknown input '6'"},
		{"set acl-plugin", "the command has no end"},
		{"set acl-plugin whatever", "unknown input 'whatever'"},
		{"set acl-plugn acl permit", "there is no such command: set acl-plugn acl"},
		{"show acl-plugin", "there are acl, interface, sessions, tables and macip to show"},
		{"show acl-plugin acl index", "'index' wants a number up to 16777215"},
		{"show acl-plugin acl 5", "unknown input '5'"},
	};
	static const char before[] = "set acl-plugin acl index 7 tag old permit src 0.0.0.0/0\n"
				     "set acl-plugin macip acl index 2 permit ip ::/0 mac "
				     "00:00:00:00:00:00 mask 00:00:00:00:00:00\n"
				     "set acl-plugin interface wan input acl 7\n"
				     "set acl-plugin macip interface wan acl 2\n";
	/* All that a file can change, in front of the error. */
	static const char change[] = "set acl-plugin acl index 7 tag new deny, permit\n"
				     "set acl-plugin acl permit tag another\n"
				     "set acl-plugin interface wan output acl 7\n"
				     "set acl-plugin interface wan input acl 7 del\n"
				     "delete acl-plugin acl index 0\n"
				     "set acl-plugin macip acl deny\n"
				     "set acl-plugin macip interface lan acl 0\n"
				     "delete acl-plugin macip acl index 2\n"
				     "delete acl-plugin macip acl index 0\n"
				     "set acl-plugin session timeout udp idle 1\n"
				     "set acl-plugin l4-match-nonfirst-fragment 0\n";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT, text = STRBUF_INIT,
			      want = STRBUF_INIT;
		struct tamis *t = engine();
		unsigned line = 12;

		assert_int_equal(exec(t, before, &out, &messages), 0);
		strbuf_printf(&text, "%s%s\n", change, cases[i].text);
		for (const char *p = strchr(cases[i].text, '\n'); p; p = strchr(p + 1, '\n'))
			line++;
		strbuf_printf(&want, "f:%u: Error: %s\n", line, cases[i].want);
		assert_int_equal(exec(t, strbuf_str(&text), &out, &messages), -EINVAL);
		assert_string_equal(strbuf_str(&messages), strbuf_str(&want));
		listed(t, before);
		strbuf_free(&out);
		strbuf_free(&messages);
		strbuf_free(&text);
		strbuf_free(&want);
		tamis_free(t);
	}
}

static void shown(void **state)
{
	static const uint16_t types[] = {0x806};
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
	struct tamis *t = engine();
	uint32_t wan;

	assert_int_equal(tamis_interface_find(t, "wan0", &wan), 0);
	assert_int_equal(tamis_interface_ethertypes_set(t, wan, TAMIS_ACL_OUTPUT, types, 1), 0);
	assert_int_equal(
		exec(t,
		     "set acl-plugin acl tag web permit+reflect dst 192.0.2.0/24 proto 6 dport 80, "
		     "deny src ::/0 proto 6 tcpflags 2 mask 3\nset acl-plugin acl permit\n"
		     "set acl-plugin interface wan0 input acl 0\n"
		     "set acl-plugin interface lan0 input acl 0\n"
		     "set acl-plugin interface wan0 output acl 1\n"
		     "set acl-plugin macip acl permit ip 10.0.0.0/8 mac 02:00:00:00:00:00 mask "
		     "ff:00:00:00:00:00 tag m\n"
		     "set acl-plugin macip interface lan0 acl 0\n"
		     "show acl-plugin acl\nshow acl-plugin acl index 1\n"
		     "show acl-plugin interface\nshow acl-plugin interface sw_if_index 3 acl\n"
		     "show acl-plugin sessions\nshow acl-plugin tables acl index 0\n"
		     "show acl-plugin macip acl\nshow acl-plugin macip interface\n",
		     &out, &messages),
		0);
	assert_string_equal(strbuf_str(&messages), "");
	assert_string_equal(
		strbuf_str(&out),
		"acl-index 0 count 2 tag {web}\n"
		"          0: ipv4 permit+reflect src 0.0.0.0/0 dst 192.0.2.0/24 proto 6 sport "
		"0-65535 dport 80\n"
		"          1: ipv6 deny src ::/0 dst ::/0 proto 6 sport 0-65535 dport 0-65535 "
		"tcpflags 2 mask 3\n"
		"  applied inbound on sw_if_index: 2, 3\n"
		"acl-index 1 count 1 tag {}\n"
		"          0: ipv4 permit src 0.0.0.0/0 dst 0.0.0.0/0 proto 0 sport 0-65535 dport "
		"0-65535\n"
		"  applied outbound on sw_if_index: 2\n"
		"acl-index 1 count 1 tag {}\n"
		"          0: ipv4 permit src 0.0.0.0/0 dst 0.0.0.0/0 proto 0 sport 0-65535 dport "
		"0-65535\n"
		"  applied outbound on sw_if_index: 2\n"
		"sw_if_index 2: wan0\n"
		" output etype whitelist: 0806\n"
		"  input acl(s): 0\n"
		"  output acl(s): 1\n"
		"sw_if_index 3: lan0\n"
		"  input acl(s): 0\n"
		"sw_if_index 3: lan0\n"
		"  input acl(s): 0\n"
		"acl-index 0 count 2 tag {web}\n"
		"          0: ipv4 permit+reflect src 0.0.0.0/0 dst 192.0.2.0/24 proto 6 sport "
		"0-65535 dport 80\n"
		"          1: ipv6 deny src ::/0 dst ::/0 proto 6 sport 0-65535 dport 0-65535 "
		"tcpflags 2 mask 3\n"
		"Sessions total: add 0 - del 0 = 0\n"
		"Session timeouts: udp idle 600, tcp idle 86400, tcp transient 120\n"
		"acl-index 0: 2 entries, applied in 2 lookup contexts\n"
		"MACIP acl_index: 0, count: 1 tag {m}\n"
		"    rule 0: ipv4 action 1 ip 10.0.0.0/8 mac 02:00:00:00:00:00 mask "
		"ff:00:00:00:00:00\n"
		"  applied on sw_if_index(s): 3\n"
		"  sw_if_index 3: 0 (lan0)\n");
	strbuf_free(&out);
	strbuf_free(&messages);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(warnings),
		cmocka_unit_test(errors),
		cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
