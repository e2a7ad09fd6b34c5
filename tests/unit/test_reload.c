/* SPDX-License-Identifier: Apache-2.0 */
/* A ruleset in the place of another, and what sets keep of theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "tamis/tamis.h"

#define S UINT64_C(1000000000)

static struct tamis *engine(void)
{
	struct tamis *t;

	assert_int_equal(tamis_new(NULL, &t), 0);
	return t;
}

static void load(struct tamis *t, const char *text, uint64_t now)
{
	struct tamis_load_options o = {.now = now};
	char *messages;

	if (tamis_load_text(t, NULL, text, strlen(text), &o, NULL, &messages))
		fail_msg("%s", messages);
	free(messages);
}

/* What there is to say, if it fails; freed by the next call. */
static const char *reload(struct tamis *t, const char *text, uint64_t now)
{
	static char *messages;
	struct tamis_load_options o = {.now = now};

	free(messages);
	if (!tamis_reload_text(t, NULL, text, strlen(text), &o, NULL, &messages)) {
		assert_null(messages);
		return NULL;
	}
	return messages ? messages : "";
}

static void lists(struct tamis *t, uint64_t now, const char *want)
{
	char *got;

	assert_int_equal(tamis_list(t, 0, now, &got), 0);
	assert_string_equal(got, want);
	free(got);
}

static const char bans[] = "flush ruleset\n"
			   "table inet f {\n"
			   "	set bans {\n"
			   "		type ipv4_addr\n"
			   "		timeout 1h\n"
			   "		counter\n"
			   "	}\n"
			   "}\n";

/* One file for both: a load loses what was added, by its words; a reload keeps it. */
static void keeps_bans(void **state)
{
	struct tamis *t = engine();

	load(t, bans, 0);
	load(t,
	     "add element inet f bans { 192.0.2.1 timeout 10m counter packets 5 bytes 300 "
	     "comment \"slow\", 192.0.2.2 }",
	     0);
	assert_null(reload(t, bans, 60 * S));
	lists(t, 60 * S,
	      "table inet f {\n"
	      "	set bans {\n"
	      "		type ipv4_addr\n"
	      "		counter\n"
	      "		timeout 1h\n"
	      "		elements = { 192.0.2.1 counter packets 5 bytes 300 timeout 10m expires 9m "
	      "comment \"slow\",\n"
	      "			     192.0.2.2 counter packets 0 bytes 0 expires 59m }\n"
	      "	}\n"
	      "}\n");
	/* The first has ended. */
	assert_null(reload(t, bans, 600 * S));
	lists(t, 600 * S,
	      "table inet f {\n"
	      "	set bans {\n"
	      "		type ipv4_addr\n"
	      "		counter\n"
	      "		timeout 1h\n"
	      "		elements = { 192.0.2.2 counter packets 0 bytes 0 expires 50m }\n"
	      "	}\n"
	      "}\n");
	load(t, bans, 700 * S);
	lists(t, 700 * S,
	      "table inet f {\n"
	      "	set bans {\n"
	      "		type ipv4_addr\n"
	      "		counter\n"
	      "		timeout 1h\n"
	      "	}\n"
	      "}\n");
	tamis_free(t);
}

/* The new text wins where both say something; another kind of set begins anew. */
static void text_wins(void **state)
{
	struct tamis *t = engine();

	load(t,
	     "table ip f {\n"
	     "	map marks { type inet_service : mark; elements = { 2 : 2, 9 : 9 }; }\n"
	     "	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.5, 192.168.0.0/16 "
	     "}; "
	     "}\n"
	     "	set gone { type ipv4_addr; elements = { 1.1.1.1 }; }\n"
	     "	set other { type ipv4_addr; elements = { 1.1.1.1 }; }\n"
	     "	set fixed { type ipv4_addr; flags constant; elements = { 1.1.1.1 }; }\n"
	     "	set counted { type ipv4_addr; counter; elements = { 1.1.1.1 counter packets 7 "
	     "bytes 8 }; }\n"
	     "}\n"
	     "table ip old { set s { type mark; elements = { 1 }; }\n"
	     "}",
	     0);
	load(t, "add element ip f counted { 1.1.1.2 counter packets 1 bytes 2 }", 0);
	load(t, "add element ip f marks { 1 : 1 }\nadd element ip f nets { 172.16.0.0/12 }", 0);
	assert_null(reload(
		t,
		"table ip f {\n"
		"	map marks { type inet_service : mark; elements = { 2 : 3, 4 : 4 }; }\n"
		"	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/24 }; }\n"
		"	set other { type ipv6_addr; }\n"
		"	set fixed { type ipv4_addr; flags constant; elements = { 2.2.2.2 }; }\n"
		"	set counted { type ipv4_addr; }\n"
		"}",
		0));
	lists(t, 0,
	      "table ip f {\n"
	      "	map marks {\n"
	      "		type inet_service : mark\n"
	      "		elements = { 1 : 0x00000001,\n"
	      "			     2 : 0x00000003,\n"
	      "			     4 : 0x00000004 }\n"
	      "	}\n\n"
	      "	set nets {\n"
	      "		type ipv4_addr\n"
	      "		flags interval\n"
	      "		elements = { 10.0.0.0/24, 172.16.0.0/12 }\n"
	      "	}\n\n"
	      "	set other {\n"
	      "		type ipv6_addr\n"
	      "	}\n\n"
	      "	set fixed {\n"
	      "		type ipv4_addr\n"
	      "		flags constant\n"
	      "		elements = { 2.2.2.2 }\n"
	      "	}\n\n"
	      "	set counted {\n"
	      "		type ipv4_addr\n"
	      "		elements = { 1.1.1.2 }\n"
	      "	}\n"
	      "}\n");
	tamis_free(t);
}

/* What the old text listed and the new one does not is given up; what came otherwise stays. */
static void gives_up(void **state)
{
	static const char first[] =
		"flush ruleset\n"
		"table ip f {\n"
		"	set hosts { type ipv4_addr; elements = { 1.1.1.1, 1.1.1.2, 1.1.1.3 }; }\n"
		"	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, "
		"1.0.0.0/24 }; "
		"}\n"
		"	set long { type ipv6_addr; elements = { 2001:db8::1, 2001:db8::2 }; }\n"
		"	map every { type mark : mark; elements = { 1 : 1, * : 2 }; }\n"
		"}\n"
		"add element ip f hosts { 1.1.1.4 }\n";
	static const char second[] =
		"flush ruleset\n"
		"table ip f {\n"
		"	set hosts { type ipv4_addr; elements = { 1.1.1.2 }; }\n"
		"	set nets { type ipv4_addr; flags interval; elements = { 1.0.0.0/24 }; }\n"
		"	set long { type ipv6_addr; elements = { 2001:db8::2 }; }\n"
		"	map every { type mark : mark; elements = { 1 : 1 }; }\n"
		"}\n";
	static const char fmt[] = "table ip f {\n"
				  "	set hosts {\n"
				  "		type ipv4_addr\n"
				  "		elements = { %s }\n"
				  "	}\n\n"
				  "	set nets {\n"
				  "		type ipv4_addr\n"
				  "		flags interval\n"
				  "		elements = { %s }\n"
				  "	}\n\n"
				  "	set long {\n"
				  "		type ipv6_addr\n"
				  "		elements = { %s }\n"
				  "	}\n\n"
				  "	map every {\n"
				  "		type mark : mark\n"
				  "		elements = { %s }\n"
				  "	}\n"
				  "}\n";
	char want[1024];
	struct tamis *t = engine();

	load(t, first, 0);
	/* One that a command takes out and brings again is the command's. */
	load(t, "delete element ip f hosts { 1.1.1.3 }", 0);
	load(t,
	     "add element ip f hosts { 1.1.1.3, 1.1.1.9 }\n"
	     "add element ip f nets { 9.0.0.0/8 }\n"
	     "add element ip f long { 2001:db8::9 }\n"
	     "add element ip f every { 9 : 9 }",
	     0);
	/* A load that fails, and what it flushed and listed, changes nothing of this. */
	char *messages;
	static const char bad[] = "flush set ip f nets\n"
				  "table ip f { set nets { type ipv4_addr; flags interval; "
				  "elements = { 9.0.0.0/8 }; }\n}\n"
				  "delete element ip f hosts { 1.1.1.4 }\n"
				  "delete element ip f hosts { 8.8.8.8 }\n";
	assert_int_not_equal(tamis_load_text(t, NULL, bad, strlen(bad), NULL, NULL, &messages), 0);
	free(messages);
	assert_null(reload(t, first, 0));
	snprintf(
		want, sizeof(want), fmt,
		"1.1.1.1, 1.1.1.2,\n			     1.1.1.3, 1.1.1.4,\n		"
		"	     1.1.1.9",
		"1.0.0.0/24, 9.0.0.0/8,\n			     10.0.0.0/8",
		"2001:db8::1,\n			     2001:db8::2,\n			     "
		"2001:db8::9",
		"0x00000001 : 0x00000001,\n			     0x00000009 : "
		"0x00000009,\n			     * : 0x00000002");
	lists(t, 0, want);
	assert_null(reload(t, second, 0));
	snprintf(want, sizeof(want), fmt, "1.1.1.2, 1.1.1.9", "1.0.0.0/24, 9.0.0.0/8",
		 "2001:db8::2,\n			     2001:db8::9",
		 "0x00000001 : 0x00000001,\n			     0x00000009 : 0x00000009");
	lists(t, 0, want);
	/* The same text over and over does not gather. */
	for (unsigned i = 0; i < 3; i++)
		load(t, second + strlen("flush ruleset\n"), 0);
	assert_null(reload(t, "table ip f { set hosts { type ipv4_addr; }\n}", 0));
	lists(t, 0,
	      "table ip f {\n	set hosts {\n		type ipv4_addr\n		elements = "
	      "{ "
	      "1.1.1.9 }\n	}\n}\n");
	tamis_free(t);
}

/* Elements that name chains and objects are the new text's alone; their lifetimes go on. */
static void references(void **state)
{
	static const char text[] =
		"table ip f {\n"
		"	counter c { }\n"
		"	quota q { 1000 bytes }\n"
		"	chain x { }\n"
		"	map v { type mark : verdict; timeout 10m; elements = { 1 : jump x }; }\n"
		"}";
	struct tamis *t = engine();

	load(t, text, 0);
	load(t, "add element ip f v { 2 : jump x }", 0);
	load(t, "delete counter ip f c\nadd counter ip f c { packets 3 bytes 4 }", 0);
	assert_null(reload(t, text, 60 * S));
	lists(t, 60 * S,
	      "table ip f {\n"
	      "	counter c {\n"
	      "		packets 3 bytes 4\n"
	      "	}\n\n"
	      "	quota q {\n"
	      "		1000 bytes\n"
	      "	}\n\n"
	      "	map v {\n"
	      "		type mark : verdict\n"
	      "		timeout 10m\n"
	      "		elements = { 0x00000001 expires 9m : jump x }\n"
	      "	}\n\n"
	      "	chain x {\n"
	      "	}\n"
	      "}\n");
	tamis_free(t);
}

/* What fails leaves all as it was. */
static void failures(void **state)
{
	static const char before[] = "table ip f {\n"
				     "	set s {\n"
				     "		type ipv4_addr\n"
				     "		size 4	# count 2\n"
				     "		elements = { 1.1.1.1, 1.1.1.2 }\n"
				     "	}\n"
				     "}\n";
	struct tamis *t = engine();

	load(t, before, 0);
	load(t,
	     "delete element ip f s { 1.1.1.1, 1.1.1.2 }\nadd element ip f s { 1.1.1.1, 1.1.1.2 }",
	     0);
	assert_non_null(strstr(reload(t, "table ip f { set s { type ipv4_addr; size 1; }\n}", 0),
			       "set 's' of table ip 'f' holds more than its new size"));
	lists(t, 0, before);
	assert_non_null(
		reload(t, "table ip f { set s { type ipv4_addr; }\n}\nadd rule ip f x accept", 0));
	lists(t, 0, before);
	assert_non_null(reload(t, "table ip {", 0));
	lists(t, 0, before);
	assert_null(reload(t, "", 0));
	lists(t, 0, "");
	assert_int_equal(tamis_reload_file(t, "/nonexistent/x", NULL, NULL, NULL), -ENOENT);
	tamis_free(t);
}

/* Ranges of several fields may lie over what came before them, not under it. */
static void order_of_arrival(void **state)
{
	static const char head[] = "table inet f {\n"
				   "	set s {\n"
				   "		type ipv4_addr . ipv4_addr\n"
				   "		flags interval,timeout\n";
	static const char rest[] = "	}\n"
				   "}\n";
	static const char small[] = "10.0.0.4/31 . 10.1.0.0/21",
			  wide[] = "10.0.0.0/28 . 10.1.0.0/18";
	struct tamis *t = engine();
	char text[1024], want[1024];

	/* Both came after the text. */
	snprintf(text, sizeof(text), "%s%s", head, rest);
	load(t, text, 0);
	snprintf(want, sizeof(want), "add element inet f s { %s timeout 1h }", small);
	load(t, want, 0);
	snprintf(want, sizeof(want), "add element inet f s { %s timeout 30s }", wide);
	load(t, want, 0);
	snprintf(want, sizeof(want),
		 "%s		elements = { %s timeout 1h expires 59m50s,\n"
		 "			     %s timeout 30s expires 20s }\n%s",
		 head, small, wide, rest);
	for (unsigned i = 0; i < 3; i++) {
		assert_null(reload(t, text, 10 * S));
		lists(t, 10 * S, want);
	}
	snprintf(want, sizeof(want),
		 "%s		elements = { %s timeout 1h expires 59m }\n%s", head, small, rest);
	lists(t, 60 * S, want);
	/* Both are the text's. */
	snprintf(text, sizeof(text),
		 "%s%sadd element inet f s { %s comment \"a\" }\nadd element inet f s { %s }\n",
		 head, rest, small, wide);
	snprintf(want, sizeof(want),
		 "%s		elements = { %s comment \"a\",\n"
		 "			     %s }\n%s",
		 head, small, wide, rest);
	load(t, "delete table inet f", 60 * S);
	load(t, text, 60 * S);
	for (unsigned i = 0; i < 3; i++) {
		lists(t, 60 * S, want);
		assert_null(reload(t, text, 60 * S));
	}
	tamis_free(t);
}

/* What a packet refreshed has the set's lifetime before it, which may be more than its own. */
static void refreshed(void **state)
{
	static const char text[] =
		"table inet f {\n"
		"	set bans { type ipv4_addr; flags dynamic, timeout; timeout 1h; }\n"
		"	chain in {\n"
		"		type filter hook prerouting priority filter;\n"
		"		update @bans { ip saddr }\n"
		"	}\n"
		"}\n";
	/* From 192.0.2.1 to 192.0.2.2, protocol 253, no payload. */
	static const uint8_t bytes[] = {0x45, 0,    0,	 20, 0, 0, 0,	0, 64, 253,
					0xf5, 0xe9, 192, 0,  2, 1, 192, 0, 2,  2};
	struct tamis_packet p = {.data = bytes,
				 .caplen = sizeof(bytes),
				 .len = sizeof(bytes),
				 .time = 10 * S,
				 .link = TAMIS_LINK_RAW};
	struct tamis *t = engine();
	struct tamis_burst *b;
	char *got;

	load(t, text, 0);
	load(t, "add element inet f bans { 192.0.2.1 timeout 30s }", 0);
	assert_int_equal(tamis_burst_new(t, &b), 0);
	assert_int_equal(tamis_burst_add(b, &p), 0);
	assert_int_equal(tamis_burst_run(b), 0);
	tamis_burst_free(b);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(tamis_list(t, 0, 20 * S, &got), 0);
		assert_non_null(strstr(got, "{ 192.0.2.1 timeout 30s expires 59m50s }"));
		free(got);
		assert_null(reload(t, text, 20 * S));
	}
	assert_int_equal(tamis_list(t, 0, 3610 * S, &got), 0);
	assert_null(strstr(got, "192.0.2.1"));
	free(got);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_bans), cmocka_unit_test(text_wins),
		cmocka_unit_test(gives_up),   cmocka_unit_test(references),
		cmocka_unit_test(failures),   cmocka_unit_test(order_of_arrival),
		cmocka_unit_test(refreshed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
