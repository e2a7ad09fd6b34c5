/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_parse_error: what is refused, where, and how the parse goes on. The messages are those of
 * nft 1.0.6 for the same text.
 */
#include "parse_fixture.h"

static void test_messages(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"add rule t c tcp dport\n",
		 "f:1:23-23: Error: syntax error, unexpected newline\n"},
		{"add rule t c tcp\n", "f:1:17-17: Error: syntax error, unexpected newline\n"},
		{"add rule t c tcp foo\n", "f:1:18-20: Error: syntax error, unexpected string\n"},
		{"add rule t c ct foo\n", "f:1:17-19: Error: syntax error, unexpected string\n"},
		{"add rule t\n",
		 "f:1:11-11: Error: syntax error, unexpected newline, expecting string\n"},
		{"add foo\n",
		 "f:1:8-8: Error: syntax error, unexpected newline, expecting string\n"},
		{"add rule",
		 "f:1:9-9: Error: syntax error, unexpected end of file, expecting string\n"},
		{"list foo\n", "f:1:6-8: Error: syntax error, unexpected string\n"},
		{"add chain t log\n",
		 "f:1:13-15: Error: syntax error, unexpected log, expecting string\n"},
		{"add chain t \"log\"\n",
		 "f:1:13-17: Error: syntax error, unexpected quoted string, expecting string\n"},
		{"add chain t eth*\n", "f:1:13-16: Error: syntax error, unexpected string with a "
				       "trailing asterisk, expecting string\n"},
		{"add chain t and\n",
		 "f:1:13-15: Error: syntax error, unexpected &, expecting string\n"},
		{"add chain t c d\n",
		 "f:1:15-15: Error: syntax error, unexpected string, expecting "
		 "end of file or newline or semicolon\n"},
		{"add rule t c accept comment log\n",
		 "f:1:29-31: Error: syntax error, unexpected log"},
		{"add rule t c comment x\n",
		 "f:1:14-20: Error: syntax error, unexpected comment\n"},
		{"add rule t c ip saddr @\n",
		 "f:1:24-24: Error: syntax error, unexpected newline, expecting string\n"},
		{"add rule t c ip saddr @1\n",
		 "f:1:24-24: Error: syntax error, unexpected number, expecting string\n"},
		{"add rule t c tcp dport { }\n",
		 "f:1:26-26: Error: syntax error, unexpected '}'\n"},
		{"add rule t c tcp dport { , 1 }\n",
		 "f:1:26-26: Error: syntax error, unexpected comma\n"},
		{"add rule t c tcp dport { 1 2 }\n", "f:1:28-28: Error: syntax error, unexpected "
						     "number, expecting comma or '}'\n"},
		{"add rule t c tcp flags syn,\n",
		 "f:1:28-28: Error: syntax error, unexpected newline\n"},
		{"add rule t c tcp flags & (syn,ack) == syn\n",
		 "f:1:30-30: Error: syntax error, unexpected comma, expecting ')'\n"},
		{"add rule t c tcp flags < syn / ack\n",
		 "f:1:14-34: Error: either == or != is allowed\n"},
		{"add rule t c tcp dport set { 1 }\n",
		 "f:1:28-28: Error: syntax error, unexpected '{'\n"},
		{"add rule t c accept }\n",
		 "f:1:21-21: Error: syntax error, unexpected '}', expecting "
		 "end of file or newline or semicolon\n"},
		{"add rule t c limit rate 1/foo\n",
		 "f:1:27-29: Error: syntax error, unexpected string\n"},
		{"add rule t c limit rate 1 gbytes/second\n",
		 "f:1:25-39: Error: Wrong rate format\n"},
		{"add rule t c limit rate 1/second burst 0 packets\n",
		 "f:1:34-48: Error: packet limit burst must be > 0\n"},
		{"add rule t c meta foo 1\n",
		 "f:1:14-21: Error: syntax error, unexpected foo, known keys are length, protocol"},
		{"add rule t c log prefix $x\n", "f:1:25-25: Error: syntax error, unexpected '$', "
						 "expecting string or quoted string "
						 "or string with a trailing asterisk\n"},
		{"add rule t c log level foo\n", "f:1:24-26: Error: invalid log level\n"},
		{"add rule t c queue flags bypass\n", "f:1:32-32: Error: syntax error, unexpected "
						      "newline, expecting comma or to or num\n"},
		{"add rule t c jump \"c\"\n",
		 "f:1:19-21: Error: syntax error, unexpected quoted string"},
		{"add rule t c ~\n", "f:1:14-14: Error: syntax error, unexpected junk\n"},
		{"add table t { flags foo; }\n", "f:1:21-23: Error: unknown table option foo\n"},
		{"add chain t c { type foo hook input priority 0; }\n",
		 "f:1:22-24: Error: unknown chain type\n"},
		{"add chain t c { type filter hook foo priority 0; }\n",
		 "f:1:34-36: Error: unknown chain hook\n"},
		{"add chain t c { type filter hook input priority filter * 2; }\n",
		 "f:1:56-56: Error: syntax error, unexpected *, expecting newline or semicolon\n"},
		{"add chain t c { policy foo; }\n", "f:1:24-26: Error: syntax error, unexpected "
						    "string, expecting accept or drop or '$'\n"},
		{"add set t s { type ipv4_addr . foo; }\n",
		 "f:1:32-34: Error: unknown datatype foo\n"},
		{"add set t s { flags foo; }\n", "f:1:21-23: Error: syntax error, unexpected "
						 "string, expecting constant or interval "
						 "or dynamic or timeout\n"},
		{"add set t s { timeout 60; }\n",
		 "f:1:23-24: Error: syntax error, unexpected number, expecting string\n"},
		{"add set t s { elements = 1; }\n",
		 "f:1:26-26: Error: syntax error, unexpected number, expecting '{' or '$'\n"},
		{"}\n", "f:1:1-1: Error: syntax error, unexpected '}'\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct parsed t;
		parse(&t, cases[i].text);
		assert_int_equal(t.err, -EINVAL);
		const char *got = strbuf_str(&t.messages);
		if (strncmp(got, cases[i].want, strlen(cases[i].want)))
			assert_string_equal(got, cases[i].want);
		assert_int_equal(t.sources.n_errors, 1);
		parsed_free(&t);
	}
}

/* After an error the parse goes on behind the next newline or semicolon, in the block it was in. */
static void test_goes_on(void **state)
{
	struct parsed t;
	parse(&t, "table inet t {\n"
		  "	chain c {\n"
		  "		tcp dport	 foo bar accept\n"
		  "		ip saddr { 1.2.3.4,\n"
		  "			5.6.7.8, } tcp dport $x accept\n"
		  "		accept	foo\n"
		  "		drop; ip saddr; return\n"
		  "	}\n"
		  "	chain d { accept; }\n"
		  "}\n"
		  "add rule inet t\n"
		  "add rule inet t d drop\n");
	assert_int_equal(t.err, -EINVAL);
	assert_string_equal(
		strbuf_str(&t.messages),
		"f:3:22-27: Error: syntax error, unexpected accept\n"
		"\t\ttcp dport\t foo bar accept\n"
		"\t\t         \t         ^^^^^^\n"
		"f:5:26-26: Error: unknown identifier 'x'\n"
		"\t\t\t5.6.7.8, } tcp dport $x accept\n"
		"\t\t\t                      ^\n"
		"f:6:13-13: Error: syntax error, unexpected newline\n"
		"\t\taccept\tfoo\n"
		"\t\t      \t   ^\n"
		"f:7:17-17: Error: syntax error, unexpected semicolon\n"
		"\t\tdrop; ip saddr; return\n"
		"\t\t              ^\n"
		"f:11:16-16: Error: syntax error, unexpected newline, expecting string\n"
		"add rule inet t\n"
		"               ^\n");
	/* Table, two chains, and the rules that were right: drop, return; accept; drop. */
	assert_int_equal(t.cmds.n, 7);
	parsed_free(&t);
}

static void test_no_more_than_ten(void **state)
{
	struct strbuf text = STRBUF_INIT;
	for (unsigned i = 0; i < 1000; i++)
		strbuf_puts(&text, "add rule t\n");
	struct parsed t;
	parse(&t, strbuf_str(&text));
	assert_int_equal(t.sources.n_errors, 10);
	parsed_free(&t);
	strbuf_free(&text);
}

static void test_unclosed(void **state)
{
	struct parsed t;
	parse(&t, "table t {\n chain c {\n  accept\n");
	assert_string_equal(strbuf_str(&t.messages),
			    "f:4:1-1: Error: syntax error, unexpected end of file\n  accept\n^\n");
	assert_int_equal(t.cmds.n, 0);
	parsed_free(&t);
}

static void test_bytes_of_any_kind(void **state)
{
	static const char text[] = "add rule ip t c \0 foo\nadd chain t \xff\n";
	struct parsed t;
	parse_with(&t, text, sizeof(text) - 1, NULL);
	assert_string_equal(strbuf_str(&t.messages),
			    "f:1:17-17: Error: syntax error, unexpected junk\n"
			    "add rule ip t c \n"
			    "                ^\n"
			    "f:2:13-13: Error: syntax error, unexpected junk, expecting string\n"
			    "add chain t \xff\n"
			    "            ^\n");
	parsed_free(&t);
}

/* Every prefix of a text that uses much of the language: an answer, and never a crash. */
static void test_truncated(void **state)
{
	static const char text[] =
		"define x = { 10.0.0.0/8, 1.2.3.4-1.2.3.9 }\n"
		"table inet t { set s { typeof ip saddr . tcp dport; elements = { 1.1.1.1 . 5 "
		"timeout 5m comment \"c\" } }\n"
		"chain c { type filter hook input priority filter - 5; policy drop;\n"
		"ip saddr $x tcp flags & (syn | ack) != 0 jump { tcp dport vmap { 22 : accept }; "
		"}\n"
		"dnat ip to [::1]:80 log prefix \"p\" level debug limit rate over 5 kbytes/second\n"
		"@nh,0,8 5 fib saddr . iif oif exists ct original ip saddr 1.1.1.1 update @s { ip "
		"saddr . tcp dport counter } } }\n";
	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = malloc(n + 1); /* nothing may be read behind it */
		memcpy(copy, text, n);
		copy[n] = 0;
		struct parsed t;
		parse_with(&t, copy, n, NULL);
		assert_true(t.err == 0 || t.err == -EINVAL);
		assert_int_equal(t.err != 0, t.sources.n_errors != 0);
		parsed_free(&t);
		free(copy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),	  cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_no_more_than_ten),  cmocka_unit_test(test_unclosed),
		cmocka_unit_test(test_bytes_of_any_kind), cmocka_unit_test(test_truncated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
