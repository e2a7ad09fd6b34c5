/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ipset in an engine: the public calls, put there again, what rulesets do to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tamis/ipset.h>

#include "base/base.h"

static const uint64_t second = 1000000000;

static void load(struct tamis *t, const char *text, uint64_t now)
{
	struct tamis_load_options options = {.now = now};
	char *messages = NULL;

	if (tamis_load_text(t, NULL, text, strlen(text), &options, NULL, &messages))
		fail_msg("%s", messages);
	free(messages);
}

static void has(struct tamis *t, uint64_t now, const char *what, bool want)
{
	char *listing;

	assert_int_equal(tamis_list(t, 0, now, &listing), 0);
	if (!strstr(listing, what) == want)
		fail_msg("%s%s", want ? "missing: " : "still there: ", listing);
	free(listing);
}

/* --- the public calls ------------------------------------------------------------------------- */

/* Words are only read: these cannot be written to. */
static void test_public_words(void **state)
{
	char *create[] = {"create", "p", "hash:ip,port,ip", "comment"},
	     *add[] = {"add", "p", "192.0.2.1-192.0.2.2,tcp:80-81,10.0.0.1", "comment", "x"},
	     *save[] = {"save", "p", "-sorted"};
	struct {
		char **words;
		int n;
	} runs[] = {{create, ARRAY_SIZE(create)}, {add, ARRAY_SIZE(add)}, {save, ARRAY_SIZE(save)}};
	struct tamis_ipset_result r;
	struct tamis_ipset *s;

	(void)state;
	assert_int_equal(tamis_ipset_new(&s), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
		if (i)
			tamis_ipset_result_free(&r);
		assert_int_equal(tamis_ipset_run(s, runs[i].n, runs[i].words, 0, &r), 0);
		assert_int_equal(r.status, 0);
		assert_string_equal(r.messages, "");
	}
	assert_non_null(strstr(r.output, "add p 192.0.2.2,tcp:81,10.0.0.1 comment \"x\"\n"));
	tamis_ipset_result_free(&r);
	tamis_ipset_free(s);
}

static void test_public(void **state)
{
	static const char lines[] = "create banned hash:ip timeout 60\nadd banned 192.0.2.1\n"
				    "create nets hash:net\nadd nets 10.0.0.0/8\n"
				    "add nets 10.1.0.0/16 nomatch\n";
	char *add[] = {"add", "banned", "192.0.2.7"}, *wrong[] = {"restore"},
	     *list[] = {"list", "-n"};
	struct tamis_ipset_result r;
	struct tamis_ipset *s;
	struct tamis *t;
	char *listing, *messages;

	(void)state;
	assert_int_equal(tamis_ipset_new(&s), 0);
	assert_int_equal(tamis_ipset_restore(s, lines, strlen(lines), 0, 0, &r), 0);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.changed, 1);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 3, add, second, &r), 0);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.changed, 1);
	assert_string_equal(r.messages, "");
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 3, add, second, &r), 0);
	assert_int_equal(r.status, 1);
	assert_int_equal(r.changed, 0);
	assert_string_equal(r.messages, "ipset v7.17: Element cannot be added to the set: it's "
					"already added\n");
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 1, wrong, second, &r), 0);
	assert_int_equal(r.status, 2);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 0, NULL, second, &r), 0);
	assert_int_equal(r.status, 2);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 2, list, second, &r), 0);
	assert_string_equal(r.output, "banned\nnets\n");
	tamis_ipset_result_free(&r);

	assert_int_equal(tamis_new(NULL, &t), 0);
	assert_int_equal(tamis_ipset_publish(s, t, 20 * second, &messages), 0);
	assert_null(messages);
	assert_int_equal(tamis_list(t, 0, 20 * second, &listing), 0);
	assert_non_null(strstr(listing, "192.0.2.1 timeout 40s"));
	assert_non_null(strstr(listing, "192.0.2.7 timeout 41s"));
	assert_non_null(strstr(listing, "10.0.0.0/16, 10.2.0.0-10.255.255.255"));
	free(listing);
	tamis_free(t);
	assert_int_equal(tamis_new(NULL, &t), 0);
	load(t, "table inet global { set nets { type ipv4_addr; }; }", 0);
	assert_int_equal(tamis_ipset_publish(s, t, 20 * second, &messages), -EINVAL);
	assert_non_null(strstr(messages, "set nets has no place in table inet global"));
	free(messages);
	has(t, 20 * second, "banned", false);
	tamis_free(t);
	tamis_ipset_free(s);
}

/* --- published again -------------------------------------------------------------------------- */

/* A new session with these lines, as a file that is read again, into the engine. */
static int published(struct tamis *t, uint64_t now, const char *lines, char **messages)
{
	struct tamis_ipset_result r;
	struct tamis_ipset *s;
	int err;

	assert_int_equal(tamis_ipset_new(&s), 0);
	assert_int_equal(tamis_ipset_restore(s, lines, strlen(lines), 0, now, &r), 0);
	assert_string_equal(r.messages, "");
	tamis_ipset_result_free(&r);
	err = tamis_ipset_publish(s, t, now, messages);
	tamis_ipset_free(s);
	return err;
}

static void publish(struct tamis *t, uint64_t now, const char *lines)
{
	char *messages = NULL;
	int err = published(t, now, lines, &messages);

	if (err)
		fail_msg("%s", messages);
	assert_null(messages);
}

static void refused(struct tamis *t, uint64_t now, const char *lines, const char *why)
{
	char *messages, *before, *after;

	assert_int_equal(tamis_list(t, 0, now, &before), 0);
	assert_int_equal(published(t, now, lines, &messages), -EINVAL);
	assert_non_null(strstr(messages, why));
	free(messages);
	assert_int_equal(tamis_list(t, 0, now, &after), 0);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static const char rules[] = "table inet global { chain c { type filter hook input priority 0; "
			    "ip saddr @a drop; ip saddr @n drop; }; }";

static void test_again(void **state)
{
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0,
		"create a hash:ip timeout 60 counters\nadd a 10.0.0.1\nadd a 10.0.0.2\nadd a "
		"10.0.0.3\n"
		"create n hash:net\nadd n 10.0.0.0/8\nadd n 10.1.0.0/16 nomatch\n");
	load(t, rules, 0);
	load(t, "delete element inet global a { 10.0.0.1, 10.0.0.2 }", 0);
	load(t,
	     "add element inet global a { 10.0.0.1 counter packets 3 bytes 300, "
	     "10.0.0.2 counter packets 4 bytes 400, 10.9.9.9 }",
	     0);
	/* What lines leave open goes on; what they say counts; what is gone is gone. */
	publish(t, 10 * second,
		"create a hash:ip timeout 60 counters maxelem 7\nadd a 10.0.0.1\n"
		"add a 10.0.0.2 timeout 30 packets 1 bytes 2\nadd a 10.0.0.4\n"
		"create n hash:net\nadd n 10.0.0.0/15\nadd n 192.0.2.0/24\n");
	has(t, 10 * second, "10.0.0.1 counter packets 3 bytes 300 expires 50s", true);
	has(t, 10 * second, "10.0.0.2 counter packets 1 bytes 2 timeout 30s expires 30s", true);
	has(t, 10 * second, "10.0.0.4 counter packets 0 bytes 0 expires 1m", true);
	has(t, 10 * second, "10.0.0.3", false);
	has(t, 10 * second, "10.9.9.9", false);
	has(t, 10 * second, "size 7", true);
	has(t, 10 * second, "elements = { 10.0.0.0/15, 192.0.2.0/24 }", true);
	has(t, 10 * second, "ip saddr @a drop", true);
	/* A set that a session does not have stays; a list is what its members are now. */
	publish(t, 20 * second, "create b hash:ip\nadd b 10.0.0.5\ncreate l list:set\nadd l b\n");
	has(t, 20 * second, "10.0.0.1", true);
	publish(t, 20 * second, "create b hash:ip\nadd b 10.0.0.6\ncreate l list:set\nadd l b\n");
	has(t, 20 * second, "10.0.0.5", false);
	/* All or nothing. */
	refused(t, 20 * second,
		"create b hash:ip\nadd b 10.0.0.7\ncreate a hash:net\nadd a 10.0.0.0/8\n",
		"set a: it is of another kind than before, and rules use it");
	/* Of another kind, where no rule asks. */
	publish(t, 20 * second, "create b hash:net\nadd b 10.7.0.0/16\n");
	has(t, 20 * second, "10.7.0.0/16", true);
	tamis_free(t);
}

/*
 * An exception that expires first stays out, and is named if it is one from anything.
 */
static void test_exceptions_that_expire(void **state)
{
	static const char lines[] = "create x hash:net timeout 100\n"
				    "add x 192.0.2.0/24\nadd x 198.51.100.0/24 timeout 4\n"
				    "add x 192.0.2.8/29 nomatch timeout 5\n"
				    "add x 198.51.100.0/30 nomatch timeout 4\n"
				    "add x 203.0.113.0/24 nomatch timeout 1\n";
	char more[512], *messages = NULL;
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	assert_int_equal(published(t, 0, lines, &messages), 0);
	assert_string_equal(messages,
			    "ipset v7.17: set 'x': nomatch of 192.0.2.8/29 expires before "
			    "the network around it: stays out as long as that is there\n");
	free(messages);
	has(t, 50 * second, "192.0.2.0/29", true);
	has(t, 50 * second, "192.0.2.8", false);
	has(t, 50 * second, "198.51", false);
	snprintf(more, sizeof(more), "%sadd x 192.0.2.64/26 nomatch timeout 6\n", lines);
	assert_int_equal(published(t, 0, more, &messages), 0);
	assert_non_null(strstr(messages, "192.0.2.8/29 and of 1 more expires"));
	free(messages);
	tamis_free(t);
}

/* Of ranges over each other, put there again, none is lost that stays longer. */
static void test_again_in_order(void **state)
{
	static const char lines[] = "create p hash:net,net timeout 0\n"
				    "add p 10.0.0.0/28,10.1.0.0/18 timeout 10\n"
				    "add p 10.0.0.4/31,10.1.0.0/21 timeout 100\n";
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	for (unsigned i = 0; i < 3; i++) {
		publish(t, 0, lines);
		has(t, 0, "10.0.0.0/28 . 10.1.0.0/18", true);
		has(t, 20 * second, "10.0.0.0/28 . 10.1.0.0/18", false);
		has(t, 20 * second, "10.0.0.4/31 . 10.1.0.0/21 timeout 1m40s expires 1m20s", true);
	}
	/* A reload carries the set over. */
	load(t, "flush ruleset", 0);
	has(t, 20 * second, "10.0.0.4/31 . 10.1.0.0/21 timeout 1m40s expires 1m20s", true);
	tamis_free(t);
}

/* Elements that come as text are what ipset would make of them. */
static void test_masks_and_bounds(void **state)
{
	static const char *const wrong[] = {
		"add element inet global b { 192.0.2.16 }",
		"add element inet global b { 192.0.1.255 }",
		"add element inet global p { 9 }",
		"add element inet global n { 0.0.0.9 }",
		"create element inet global n { 192.0.2.200 }",
		"delete element inet global n { 192.0.3.1 }",
	};
	static const char lines[] =
		"create n hash:ip netmask 24\nadd n 192.0.2.7\n"
		"create h hash:ip bitmask 255.0.255.0\n"
		"create k hash:ip,mark markmask 0xf0f\n"
		"create b bitmap:ip range 192.0.2.0-192.0.2.15\n"
		"create p bitmap:port range 10-20\n"
		"create f hash:ip maxelem 2 forceadd\nadd f 10.0.0.1\nadd f 10.0.0.2\n";
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	for (unsigned i = 0; i < 3; i++) {
		publish(t, 0, lines);
		load(t, "add element inet global n { 192.0.2.9, 198.51.100.9 }", 0);
		has(t, 0, "elements = { 192.0.2.0, 198.51.100.0 }", true);
		load(t, "get element inet global n { 198.51.100.77 }", 0);
		load(t, "delete element inet global n { 192.0.2.77 }", 0);
		has(t, 0, "192.0.2.0", false);
		load(t, "add element inet global n { 192.0.2.1 }", 0);
		load(t, "add element inet global h { 10.1.2.3 }", 0);
		has(t, 0, "elements = { 10.0.2.0 }", true);
		load(t, "add element inet global k { 10.0.0.1 . 0x1234 }", 0);
		has(t, 0, "10.0.0.1 . 0x00000204", true);
		load(t, "add element inet global b { 192.0.2.0, 192.0.2.15 }", 0);
		load(t, "add element inet global p { 10, 20 }", 0);
		load(t, "add element inet global f { 10.0.0.3 }", 0);
		has(t, 0, "10.0.0.3", true);
		has(t, 0, "size 2	# count 2", true);
		for (size_t k = 0; k < ARRAY_SIZE(wrong); k++)
			assert_int_equal(tamis_load_text(t, NULL, wrong[k], strlen(wrong[k]), NULL,
							 NULL, NULL),
					 -EINVAL);
		if (i == 1) /* they go with the sets */
			load(t, "flush ruleset", 0);
	}
	load(t, "table inet global { chain c { ip saddr @n drop; }; }", 0);
	refused(t, 0, "create n hash:ip netmask 25\n", "set n: it is of another kind");
	refused(t, 0, "create n hash:ip\n", "set n: it is of another kind");
	publish(t, 0, "create n hash:ip bitmask 255.255.255.0\nadd n 10.0.0.1\n");
	has(t, 0, "elements = { 10.0.0.0 }", true);
	tamis_free(t);
}

/* Rules do not write to what holds ranges, and what is said tells why. */
static void test_sets_that_rules_cannot_write(void **state)
{
	static const char *const keys[] = {"n { ip saddr }", "m { ip saddr . ether saddr }",
					   "l { ip saddr }"};
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0,
		"create n hash:net\ncreate m bitmap:ip,mac range 10.0.0.0/24\ncreate l list:set\n"
		"add l n\ncreate h hash:ip netmask 24\n");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char text[256], *messages = NULL;

		snprintf(text, sizeof(text), "table inet global { chain c { add @%s; }; }",
			 keys[i]);
		assert_int_equal(
			tamis_load_text(t, NULL, text, strlen(text), NULL, NULL, &messages),
			-EINVAL);
		assert_non_null(strstr(messages, "is one of ipset's that holds networks or ranges, "
						 "which rules cannot write to"));
		free(messages);
	}
	load(t,
	     "table inet global { chain c { update @h { ip saddr }; delete @h { ip saddr }; }; }",
	     0);
	tamis_free(t);
}

/* They are no part of a ruleset. */
static void test_outlive(void **state)
{
	struct tamis_load_options later = {.now = 10 * second};
	char text[512];
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0,
		"create a hash:ip timeout 60 counters\nadd a 10.0.0.1 packets 5 bytes 6\n"
		"create n hash:net\nadd n 10.0.0.0/8\n");
	load(t, rules, 0);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "%s%s", i % 2 ? "flush ruleset\n" : "", rules);
		if (i < 2)
			assert_int_equal(
				tamis_reload_text(t, NULL, text, strlen(text), &later, NULL, NULL),
				0);
		else
			load(t, i == 2 ? "flush ruleset" : text, 10 * second);
		has(t, 10 * second, "10.0.0.1 counter packets 5 bytes 6 expires 50s", true);
		has(t, 10 * second, "10.0.0.0/8", true);
		has(t, 10 * second, "chain c", i != 2);
	}
	/* The table is that of the text otherwise. */
	snprintf(text, sizeof(text), "flush ruleset\ntable inet global { comment \"ours\"; }\n%s",
		 rules);
	load(t, text, 10 * second);
	has(t, 10 * second, "comment \"ours\"", true);
	/* Refreshed still. */
	publish(t, 20 * second, "create a hash:ip timeout 60 counters\nadd a 10.0.0.2\n");
	has(t, 20 * second, "10.0.0.1", false);
	/* A ruleset that declares it has it from now on, with what it holds. */
	snprintf(text, sizeof(text),
		 "table inet global { set a { type ipv4_addr; flags timeout; counter; }; }");
	assert_int_equal(tamis_reload_text(t, NULL, text, strlen(text), &later, NULL, NULL), 0);
	has(t, 20 * second, "10.0.0.2 counter packets 0 bytes 0", true);
	has(t, 20 * second, "10.0.0.0/8", true);
	refused(t, 20 * second, "create a hash:ip timeout 60 counters\n", "set a has no place");
	load(t, "flush ruleset", 20 * second);
	has(t, 20 * second, "10.0.0.2", false);
	has(t, 20 * second, "10.0.0.0/8", true);
	load(t, "delete table inet global", 20 * second);
	has(t, 20 * second, "10.0.0.0/8", false);
	tamis_free(t);
}

/* Nor is the table that is there for them: a ruleset that creates it does. */
static void test_create_table(void **state)
{
	static const char create[] =
		"create table inet global { comment \"ours\"; flags dormant; chain c { ip saddr @a "
		"drop; }; }\n";
	static const char wrong[] = "create table inet global { comment \"not\"; flags dormant; }\n"
				    "delete set inet global nope";
	struct tamis *t;
	char text[512];

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0, "create a hash:ip\nadd a 10.0.0.1\n");
	/* One that fails leaves it as it was. */
	assert_int_equal(tamis_load_text(t, NULL, wrong, strlen(wrong), NULL, NULL, NULL), -EINVAL);
	has(t, 0, "comment", false);
	has(t, 0, "dormant", false);
	load(t, create, 0);
	assert_int_equal(tamis_load_text(t, NULL, create, strlen(create), NULL, NULL, NULL),
			 -EINVAL);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 1) {
			snprintf(text, sizeof(text), "flush ruleset\n%s", create);
			load(t, text, 0);
		} else if (i) {
			assert_int_equal(tamis_reload_text(t, NULL, create, strlen(create), NULL,
							   NULL, NULL),
					 0);
		}
		has(t, 0, "comment \"ours\"", true);
		has(t, 0, "flags dormant", true);
		has(t, 0, "ip saddr @a drop", true);
		has(t, 0, "10.0.0.1", true);
	}
	/* Twice in one text is once too often. */
	snprintf(text, sizeof(text), "flush ruleset\ncreate table inet global\n%s", create);
	assert_int_equal(tamis_load_text(t, NULL, text, strlen(text), NULL, NULL, NULL), -EINVAL);
	has(t, 0, "ip saddr @a drop", true);
	/* A table of the ruleset's is not there for them. */
	load(t, "flush ruleset; delete table inet global; table inet global { }", 0);
	publish(t, 0, "create a hash:ip\n");
	assert_int_equal(tamis_load_text(t, NULL, create, strlen(create), NULL, NULL, NULL),
			 -EINVAL);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public_words),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_again_in_order),
		cmocka_unit_test(test_exceptions_that_expire),
		cmocka_unit_test(test_masks_and_bounds),
		cmocka_unit_test(test_sets_that_rules_cannot_write),
		cmocka_unit_test(test_outlive),
		cmocka_unit_test(test_create_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
