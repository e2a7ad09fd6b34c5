/* SPDX-License-Identifier: Apache-2.0 */
/* test_parse_define: variables, includes, limits, and running out of memory. */
#include <sys/stat.h>
#include <unistd.h>

#include "failing_memory.h"
#include "parse_fixture.h"

/* --- Variables ------------------------------------------------------------------------------ */

static void expect_right(const char *text, const char *want)
{
	struct parsed t;
	parse_ok(&t, text);
	const struct cmd *c = t.cmds.first;
	while (c->next)
		c = c->next;
	struct strbuf out = STRBUF_INIT;
	dump_stmts(&out, c->rule.stmts);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
	parsed_free(&t);
}

static void test_values(void **state)
{
	expect_right("define x = 5\nt c tcp dport $x", "(~ tcp.dport 5#)");
	expect_right("define x = { 1, 2 }; t c tcp dport $x", "(~ tcp.dport {1# 2#})");
	expect_right("define a = { 1, 2 }\ndefine b = { $a, 3 }\nt c tcp dport { $b, 4, $a }",
		     "(~ tcp.dport {1# 2# 3# 4# 1# 2#})");
	expect_right("define x = new, related\nt c ct state $x", "(~ ct.state [new related])");
	expect_right("define x = 10.0.0.0/8\nt c ip saddr { $x }", "(~ ip.saddr {10.0.0.0/8})");
	expect_right("define x = 1\ndefine y = 5\nt c tcp dport $x - $y", "(~ tcp.dport 1#-5#)");
	expect_right("define x = @s\nt c ip saddr $x", "(~ ip.saddr @s)");
	expect_right("define c = out\nt c jump $c", "jump out");
	expect_right("define x = eth0\nt c iifname . oifname { $x . $x }",
		     "(~ (. meta.iifname meta.oifname) {(. eth0 eth0)})");
	expect_right("define m = { 1 : 2 }\nt c meta mark set tcp dport map $m",
		     "set to=meta.mark value=(map tcp.dport {<1# : 2#>})");
	expect_right("define x = -5\nt c meta mark $x", "(~ meta.mark -5#)");
	expect_right("define e = {}\nt c accept", "accept");
}

static void test_redefine(void **state)
{
	expect_right("define x = 1\nredefine x = 2\nt c tcp dport $x", "(~ tcp.dport 2#)");
	expect_right("redefine x = 3\nt c tcp dport $x", "(~ tcp.dport 3#)");
	expect_right("define x = 1\nundefine x\ndefine x = 4\nt c tcp dport $x",
		     "(~ tcp.dport 4#)");
	expect_right("undefine nothing\nt c accept", "accept");
	expect_right("define x = 1\ntable t { redefine x = 2; chain c { tcp dport $x; }; }\n",
		     "(~ tcp.dport 2#)");
	expect_right("define x = 1\ntable t { redefine x = 2; }\nt c tcp dport $x",
		     "(~ tcp.dport 1#)");
}

static void test_declarations(void **state)
{
	struct parsed t;
	parse_ok(&t, "define d = { eth0, eth1 }\ndefine p = -150\ndefine v = \"drop\"\n"
		     "define e = { 1.1.1.1, 2.2.2.2 }\n"
		     "table inet t {\n"
		     " chain c { type filter hook ingress devices = { $d, lo } priority $p; }\n"
		     " chain x { type filter hook ingress device $d priority 0; policy $v; }\n"
		     " set s { type ipv4_addr; elements = $e; }\n"
		     "}\n");
	const struct cmd *c = t.cmds.first->next;
	assert_int_equal(c->chain_decl->devices.n, 3);
	assert_int_equal(c->chain_decl->priority_expr->symbol.len, 4);
	c = c->next;
	assert_int_equal(c->chain_decl->devices.n, 2);
	assert_int_equal(c->chain_decl->policy_expr->symbol.len, 4);
	c = c->next->next;
	assert_int_equal(c->obj, CO_ELEMENTS);
	assert_int_equal(c->expr->list.n, 2);
	parsed_free(&t);
}

static void expect_message(const char *text, const char *want)
{
	struct parsed t;
	parse(&t, text);
	assert_int_equal(t.err, -EINVAL);
	const char *first = strbuf_str(&t.messages);
	if (strncmp(first, want, strlen(want)))
		assert_string_equal(first, want);
	parsed_free(&t);
}

static void test_variable_errors(void **state)
{
	expect_message("t c tcp dport $x\n", "f:1:16-16: Error: unknown identifier 'x'\n");
	expect_message("define foo_bar = 1\nt c tcp dport $foo_baz\n",
		       "f:2:16-22: Error: unknown identifier 'foo_baz'; did you mean identifier "
		       "‘foo_bar’?\n");
	expect_message(
		"define abc = 1\ndefine abd = 2\ndefine zzz = 1\nt c tcp dport $acb\n",
		"f:4:16-18: Error: unknown identifier 'acb'; did you mean identifier ‘abc’?");
	expect_message("define abcdef = 1\nt c tcp dport $xyz\n",
		       "f:2:16-18: Error: unknown identifier 'xyz'\n");
	expect_message("define a = 1\ndefine a = 2\n",
		       "f:2:8-8: Error: redefinition of symbol 'a'\n");
	expect_message("define a = 1\ntable t { define a = 2; }\n",
		       "f:2:18-18: Error: redefinition of symbol 'a'\n");
	expect_message("table t { define a = 1; }\nt c tcp dport $a\n",
		       "f:2:16-16: Error: unknown identifier 'a'\n");
	expect_message("table t { chain a { define x = 1; }\n chain b { tcp dport $x; }; }\n",
		       "f:2:23-23: Error: unknown identifier 'x'\n");
	expect_message("define a = 1\nundefine a\nt c tcp dport $a\n",
		       "f:3:16-16: Error: unknown identifier 'a'\n");
	expect_message("define log = 1\n", "f:1:8-10: Error: syntax error, unexpected log");
	expect_message("define q = ip saddr\n",
		       "f:1:15-19: Error: syntax error, unexpected string, expecting newline");
}

static void test_command_line_defines(void **state)
{
	static const char *const defines[] = {"port=22", "nets={ 10.0.0.0/8, 1.1.1.1 }", NULL};
	struct parse_options o = {.defines = defines};
	const char *text = "t c ip saddr $nets tcp dport $port\n";
	struct parsed t;
	parse_with(&t, text, strlen(text), &o);
	assert_int_equal(t.err, 0);
	struct strbuf out = STRBUF_INIT;
	dump_stmts(&out, t.cmds.first->rule.stmts);
	assert_string_equal(strbuf_str(&out),
			    "(~ ip.saddr {10.0.0.0/8 1.1.1.1}) | (~ tcp.dport 22#)");
	strbuf_free(&out);
	parsed_free(&t);

	static const char *const bad[] = {"port", NULL};
	o.defines = bad;
	parse_with(&t, text, strlen(text), &o);
	assert_int_equal(t.err, -EINVAL);
	parsed_free(&t);
}

/* --- Includes ------------------------------------------------------------------------------- */

static char dir[] = "/tmp/test_parse_XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_files(void **state)
{
	char sub[256];
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	snprintf(sub, sizeof(sub), "%s/sub/inner.d", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_file("vars", "define port = 22\n");
	write_file("open", "table t {\n chain a {\n");
	write_file("close", "accept\n }\n}\n");
	write_file("unended", "drop");
	write_file("empty", "");
	write_file("self", "include \"self\"\n");
	write_file("nested", "include \"bad\"\n");
	write_file("bad", "\nadd foo\n");
	write_file("sub/2", "add table b\n");
	write_file("sub/1", "add table a\n");
	write_file("sub/10", "add table c\n");
	write_file("sub/.hidden", "add table hidden\n");
	return 0;
}

static int remove_files(void **state)
{
	static const char *const names[] = {
		"vars",	 "open",  "close",  "unended",	   "empty",	  "self", "nested", "bad",
		"sub/1", "sub/2", "sub/10", "sub/.hidden", "sub/inner.d", "sub",  ""};
	char path[256];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (remove(path))
			return -1;
	}
	return 0;
}

static void parse_in_dir(struct parsed *t, const char *text)
{
	const char *path[] = {"/nonexistent", dir, NULL};
	struct parse_options o = {.include_path = path};
	parse_with(t, text, strlen(text), &o);
}

static void test_include(void **state)
{
	struct parsed t;
	parse_in_dir(&t, "include \"vars\"\nt c tcp dport $port\n");
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 1);
	parsed_free(&t);

	/* Blocks reach over files; a file that does not end in a newline ends its rule. */
	parse_in_dir(&t, "include \"open\"\ninclude \"unended\"\ninclude \"empty\"\n"
			 "include \"close\"; add table u\n");
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 5);
	const struct cmd *rule = t.cmds.first->next->next;
	assert_int_equal(rule->rule.stmts->expr->verdict.code, VERDICT_DROP);
	assert_int_equal(rule->next->rule.stmts->expr->verdict.code, VERDICT_ACCEPT);
	parsed_free(&t);

	/* Before a closing brace, and at the very end. */
	parse_in_dir(&t, "table t { chain c { include \"unended\"; }; }\ninclude \"vars\"");
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 3);
	parsed_free(&t);
}

static void test_include_glob(void **state)
{
	struct parsed t;
	parse_in_dir(&t, "include \"sub/*\"\ninclude \"none*\"\nadd table z\n");
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 4);
	static const char *const order[] = {"a", "c", "b", "z"};
	const struct cmd *c = t.cmds.first;
	for (size_t i = 0; i < 4; i++, c = c->next)
		assert_string_equal(c->table.text, order[i]);
	parsed_free(&t);

	/* A pattern is looked for in every directory; as in nft the last one's files come first. */
	char sub[128];
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	const char *path[] = {sub, dir, NULL};
	struct parse_options o = {.include_path = path};
	static const char both[] = "include \"[1v]*\"\nadd table u { chain c { tcp dport $port; }; }\n";
	parse_with(&t, both, strlen(both), &o);
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 5);
	parsed_free(&t);

	char text[512];
	snprintf(text, sizeof(text), "include \"%s/sub/[12]\"\ninclude \"%s/sub\"\n", dir, dir);
	parse(&t, text);
	assert_int_equal(t.err, 0);
	assert_int_equal(t.cmds.n, 2);
	parsed_free(&t);
}

static void test_include_errors(void **state)
{
	struct parsed t;
	char want[512];
	parse_in_dir(&t, "add table t\n  include \"gone\" # c\n");
	assert_int_equal(t.err, -EINVAL);
	assert_string_equal(strbuf_str(&t.messages), "f:2:3-21: Error: File not found: gone\n"
						     "  include \"gone\" # c\n"
						     "  ^^^^^^^^^^^^^^^^^^^\n");
	assert_int_equal(t.cmds.n, 1);
	parsed_free(&t);

	parse_in_dir(&t, "include \"nested\"\n");
	snprintf(want, sizeof(want),
		 "In file included from %s/nested:1:1-14:\n"
		 "                 from f:1:1-17:\n"
		 "%s/bad:2:8-8: Error: syntax error, unexpected newline, expecting string\n"
		 "add foo\n"
		 "       ^\n",
		 dir, dir);
	assert_string_equal(strbuf_str(&t.messages), want);
	parsed_free(&t);

	parse_in_dir(&t, "include \"self\"\n");
	assert_int_equal(t.err, -EINVAL);
	assert_int_equal(t.sources.sources.n, INCLUDE_DEPTH_MAX);
	assert_non_null(strstr(strbuf_str(&t.messages),
			       "Error: Include nested too deeply, max 16 levels\n"));
	parsed_free(&t);
}

/* --- Limits --------------------------------------------------------------------------------- */

static void expect_refused(const char *head, const char *unit, unsigned n, const char *want)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_puts(&text, head);
	for (unsigned i = 0; i < n; i++)
		strbuf_puts(&text, unit);
	struct parsed t;
	parse(&t, strbuf_str(&text));
	assert_int_equal(t.err, -EINVAL);
	assert_non_null(strstr(strbuf_str(&t.messages), want));
	parsed_free(&t);
	strbuf_free(&text);
}

static void test_depth(void **state)
{
	expect_refused("t c ip saddr ", "(", 100000, "too many levels of nesting, at most 200");
	expect_refused("t c ip saddr ", "{", 100000, "too many levels of nesting");
	expect_refused("t c ", "jump {", 100000, "too many levels of nesting");
	expect_refused("t c meta mark ", "& 1 ", 100000, "too many levels of nesting");
	expect_refused("t c ", "jhash ", 100000, "too many levels of nesting");
	expect_refused("define a = 1", " & 1", 100, "nesting in a variable, at most 64");
}

/* Each variable is three times the one before: refused long before memory is gone. */
static void test_expansion(void **state)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_puts(&text, "define v0 = { 1, 2 }\n");
	for (unsigned i = 1; i < 64; i++)
		strbuf_printf(&text, "define v%u = { $v%u, $v%u, $v%u }\n", i, i - 1, i - 1, i - 1);
	struct parsed t;
	parse(&t, strbuf_str(&text));
	assert_int_equal(t.err, -EINVAL);
	assert_non_null(strstr(strbuf_str(&t.messages), "variables expand to more than "));
	assert_true(t.a.total < 200u << 20);
	parsed_free(&t);
	strbuf_free(&text);
}

static void test_memory_per_element(void **state)
{
	enum { N = 100000 };
	struct strbuf text = STRBUF_INIT;
	strbuf_puts(&text, "add element t s { ");
	for (unsigned i = 0; i < N; i++)
		strbuf_printf(&text, "10.%u.%u.%u/32, ", i >> 16, i >> 8 & 255, i & 255);
	strbuf_puts(&text, "}\n");
	struct parsed t;
	parse_ok(&t, strbuf_str(&text));
	assert_int_equal(t.cmds.first->expr->list.n, N);
	/* What the last block has left belongs to nobody yet. */
	assert_true((t.a.total - (size_t)(t.a.end - t.a.pos)) / N < 200);
	parsed_free(&t);
	strbuf_free(&text);
}

/* --- Out of memory -------------------------------------------------------------------------- */

/* Each allocation fails in turn, with all that follow; the sanitizer build sees what leaks. */
static void test_out_of_memory(void **state)
{
	struct strbuf text = STRBUF_INIT;
	strbuf_printf(&text, "include \"%s/vars\"\ntable t { define x = { 1, 2 }\n", dir);
	for (unsigned i = 0; i < 300; i++)
		strbuf_printf(&text, "chain c%u { tcp dport { $x, %u } accept; define y = 5; }\n",
			      i, i);
	strbuf_puts(&text, "}\nadd rule t c tcp dport $nothing\n");
	unsigned failed = 0;
	for (unsigned long k = 1;; k++) {
		struct parsed t = {.cmds = CMD_LIST_INIT(t.cmds)};
		source_set_init(&t.sources);
		memory_arm(k - 1, true);
		int src = source_add(&t.sources, SOURCE_FILE, "f", text.data, text.len, LOC_NONE);
		t.err = src < 0 ? src : parse_text(&t.sources, src, &t.a, NULL, &t.cmds);
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
	assert_true(failed > 20);
	strbuf_free(&text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_redefine),
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_variable_errors),
		cmocka_unit_test(test_command_line_defines),
		cmocka_unit_test(test_include),
		cmocka_unit_test(test_include_glob),
		cmocka_unit_test(test_include_errors),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_expansion),
		cmocka_unit_test(test_memory_per_element),
		cmocka_unit_test(test_out_of_memory),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
