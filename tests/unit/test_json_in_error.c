/* SPDX-License-Identifier: Apache-2.0 */
/* json_in: wrong types and unknown words are named with their path, however many and however deep.
 */
#include "json_fixture.h"

static void fails(const char *json, const char *message)
{
	struct parsed t;

	parse_json_text(&t, json, strlen(json));
	if (!t.err || !strstr(strbuf_str(&t.messages), message))
		print_error("%s\n  got  %s\n  want %s\n", json, strbuf_str(&t.messages), message);
	assert_int_equal(t.err, -EINVAL);
	assert_non_null(strstr(strbuf_str(&t.messages), message));
	assert_non_null(strstr(strbuf_str(&t.messages), "j: Error: "));
	parsed_free(&t);
}

static void test_errors(void **state)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{"{", "JSON: "},
		{"", "JSON: "},
		{"{\"nftables\":[]} x", "JSON: end of file expected"},
		{"{\"nftables\":[],\"nftables\":[]}", "JSON: duplicate object key"},
		{"[]", "Expected object, got array"},
		{"{\"foo\":[]}", "Unknown property 'foo'"},
		{"{}", "Object item not found: nftables"},
		{"{\"nftables\":5}",
		 "Value of property \"nftables\" must be an array (in nftables)."},
		{"{\"nftables\":[5]}", "Unexpected command array element of type integer, expected "
				       "object (in nftables[0])."},
		{"{\"nftables\":[{}]}", "Expected an object with one property, got 0"},
		{"{\"nftables\":[{\"metainfo\":{\"json_schema_version\":2}}]}",
		 "Schema version 2 not supported, maximum supported version is 1"},
		{"{\"nftables\":[{\"add\":{\"table\":{\"family\":\"inet\"}}}]}",
		 "Object item not found: name (in nftables[0].add.table)."},
		{"{\"nftables\":[{\"add\":{\"table\":{\"family\":\"inet\",\"name\":5}}}]}",
		 "Expected string, got integer (in nftables[0].add.table.name)."},
		{"{\"nftables\":[{\"add\":{\"table\":{\"family\":\"foo\",\"name\":\"t\"}}}]}",
		 "Unknown family 'foo' (in nftables[0].add.table.family)."},
		{"{\"nftables\":[{\"add\":{\"table\":{\"family\":\"ip\",\"name\":\"a\\u0000b\"}}}]"
		 "}",
		 "JSON: \\u0000 is not allowed"},
		{"{\"nftables\":[{\"add\":{\"foo\":{}}}]}",
		 "Unknown object 'foo' passed to add command"},
		{"{\"nftables\":[{\"foo\":{}}]}", "Unknown command or object 'foo'"},
		{"{\"nftables\":[{\"add\":{\"table\":null}}]}", "Expected object, got null"},
		{"{\"nftables\":[{\"add\":{\"ruleset\":{\"family\":\"ip\",\"table\":\"t\"}}}]}",
		 "Unknown object passed to add command"},
		{"{\"nftables\":[{\"flush\":{\"rule\":null}}]}",
		 "Unknown object passed to flush command"},
		{"{\"nftables\":[{\"rename\":{\"table\":null}}]}", "Only a chain can be renamed"},
		{"{\"nftables\":[{\"insert\":{\"table\":{}}}]}", "Only a rule can be inserted"},
		{"{\"nftables\":[{\"delete\":{\"chain\":{" FT "}}}]}",
		 "Either name or handle required"},
		{"{\"nftables\":[{\"replace\":{\"rule\":{" FT
		 ",\"chain\":\"c\",\"expr\":[{\"drop\":null}]}}}]}",
		 "Object item not found: handle"},
		{"{\"nftables\":[{\"add\":{\"chain\":{" FT
		 ",\"name\":\"c\",\"type\":\"filter\",\"hook\":\"input\"}}}]}",
		 "Object item not found: prio"},
		{"{\"nftables\":[{\"add\":{\"chain\":{" FT
		 ",\"name\":\"c\",\"type\":\"filter\",\"hook\":\"input\",\"prio\":1e3}}}]}",
		 "Expected integer, got real (in nftables[0].add.chain.prio)."},
		{"{\"nftables\":[{\"add\":{\"chain\":{" FT
		 ",\"name\":\"c\",\"type\":\"filter\",\"hook\":\"input\",\"prio\":9999999999}}}]}",
		 "Priority out of range"},
		{"{\"nftables\":[{\"add\":{\"chain\":{" FT
		 ",\"name\":\"c\",\"hook\":\"input\"}}}]}",
		 "Object item not found: type"},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT ",\"name\":\"s\",\"type\":\"foo\"}}}]}",
		 "Invalid datatype 'foo' (in nftables[0].add.set.type)."},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT
		 ",\"name\":\"s\",\"type\":\"mark\",\"flags\":[\"interval\",\"x\"]}}}]}",
		 "Unknown set flag 'x' (in nftables[0].add.set.flags[1])."},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT
		 ",\"name\":\"s\",\"type\":\"mark\",\"size\":-1}}}]}",
		 "Value -1 exceeds valid range 0-4294967295 (in nftables[0].add.set.size)."},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT
		 ",\"name\":\"s\",\"type\":\"mark\",\"auto-merge\":1}}}]}",
		 "Expected boolean, got integer"},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT
		 ",\"name\":\"s\",\"type\":\"mark\",\"elem\":"
		 "[[1,2,3]]}}}]}",
		 "Expected a pair of key and value, got 3 items (in nftables[0].add.set.elem[0])."},
		{"{\"nftables\":[{\"add\":{\"set\":{" FT
		 ",\"name\":\"s\",\"type\":\"mark\",\"elem\":"
		 "[{\"elem\":{\"val\":1,\"timout\":5}}]}}}]}",
		 "Unknown property 'timout' (in nftables[0].add.set.elem[0].elem)."},
		{"{\"nftables\":[{\"add\":{\"rule\":{" FT ",\"chain\":\"c\",\"expr\":[]}}}]}",
		 "A rule has at least one statement"},
	};
	static const struct {
		const char *stmt, *message;
	} stmts[] = {
		{"{\"foo\":null}",
		 "Unknown statement object 'foo' (in nftables[0].add.rule.expr[0])."},
		{"5", "Expected object, got integer"},
		{MATCH("=x", PAYLOAD("tcp", "dport"), "1"),
		 "Unknown relational op '=x' (in nftables[0].add.rule.expr[0].match.op)."},
		{MATCH("==", PAYLOAD("foo", "dport"), "1"), "Unknown payload protocol 'foo'"},
		{MATCH("==", PAYLOAD("tcp", "foo"), "1"), "Unknown tcp field 'foo'"},
		{MATCH("==", META("foo"), "1"), "Unknown meta key 'foo'"},
		{MATCH("==", "{\"ct\":{\"key\":\"foo\"}}", "1"), "Unknown ct key 'foo'"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "null"), "Unexpected JSON type null"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "1.5"), "Unexpected JSON type real"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "-1"), "Negative number -1"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "[]"), "Expected at least 1 items, got 0"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "{\"range\":[1,2,3]}"),
		 "Expected two items, got 3"},
		{MATCH("==", PAYLOAD("tcp", "dport"), "{\"foo\":1}"),
		 "Unknown expression type 'foo'"},
		{MATCH("==", "{\"exthdr\":{\"name\":\"srh\",\"field\":\"sid[x]\"}}", "1"),
		 "Unknown srh field 'sid[x]'"},
		{MATCH("==", "{\"exthdr\":{\"name\":\"srh\",\"field\":\"sid[999]\"}}", "1"),
		 "Unknown srh field 'sid[999]'"},
		{MANGLE("5", "5"), "Invalid mangle statement key"},
		{"{\"limit\":{\"rate\":9000000000000000000,\"rate_unit\":\"mbytes\"}}",
		 "Value too large"},
		{"{\"set\":{\"op\":\"add\",\"elem\":1,\"set\":\"s\"}}", "Expected a reference"},
		{"{\"fwd\":{\"dev\":\"lo\",\"addr\":\"1.1.1.1\"}}",
		 "Either both of family and addr"},
		{"{\"accept\":5}", "Expected null, got integer"},
		{"{\"jump\":{}}", "Object item not found: target"},
		{"{\"log\":{\"level\":\"loud\"}}", "Unknown log level 'loud'"},
		{"{\"counter\":{\"packets\":\"5\"}}", "Expected integer, got string"},
		{"{\"reset\":{\"tcp option\":{\"name\":\"maxseg\",\"field\":\"size\"}}}",
		 "reset without a field"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		fails(cases[i].json, cases[i].message);
	for (size_t i = 0; i < ARRAY_SIZE(stmts); i++) {
		struct strbuf json = STRBUF_INIT;

		strbuf_printf(&json,
			      "{\"nftables\":[{\"add\":{\"rule\":{" FT
			      ",\"chain\":\"c\",\"expr\":[%s]}}}]}",
			      stmts[i].stmt);
		fails(strbuf_str(&json), stmts[i].message);
		strbuf_free(&json);
	}
}

/* A command with an error leaves nothing, the others are read; at most ten messages are kept. */
static void test_many_errors(void **state)
{
	struct strbuf json = STRBUF_INIT;
	struct parsed t;

	strbuf_puts(&json, "{\"nftables\":[");
	for (unsigned i = 0; i < 50; i++)
		strbuf_puts(&json, "{\"add\":{\"table\":{}}},"
				   "{\"add\":{\"table\":{\"family\":\"ip\",\"name\":\"t\"}}},");
	strbuf_puts(&json, "{\"list\":{\"ruleset\":null}}]}");
	parse_json_text(&t, json.data, json.len);
	assert_int_equal(t.err, -EINVAL);
	assert_int_equal(t.cmds.n, 51);
	assert_int_equal(t.sources.n_errors, 50);
	assert_int_equal(t.sources.diags.n, 10);
	parsed_free(&t);
	strbuf_free(&json);
}

static void test_depth(void **state)
{
	for (unsigned depth = 10; depth <= 3000; depth *= 2) {
		struct strbuf json = STRBUF_INIT;
		struct parsed t;

		strbuf_puts(&json,
			    "{\"nftables\":[{\"add\":{\"rule\":{" FT ",\"chain\":\"c\",\"expr\":["
			    "{\"match\":{\"op\":\"==\",\"left\":" META("mark") ",\"right\":");
		for (unsigned i = 0; i < depth; i++)
			strbuf_puts(&json, "{\"|\":[1,");
		strbuf_puts(&json, "1");
		for (unsigned i = 0; i < depth; i++)
			strbuf_puts(&json, "]}");
		strbuf_puts(&json, "}}]}}}]}");
		parse_json_text(&t, json.data, json.len);
		if (depth > 50)
			assert_int_equal(t.err, -EINVAL);
		else
			assert_int_equal(t.err, 0);
		parsed_free(&t);
		strbuf_free(&json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_many_errors),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
