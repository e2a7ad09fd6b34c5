/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_members: what is left as text is what it would be as nodes, however many are read at once.
 * The reference is the same literal in a rule, which the parser makes nodes of; of JSON the same
 * document with something in it that keeps it whole.
 */
#include "failing_memory.h"
#include "parse_fixture.h"

static char *literal_dump(const struct expr *set)
{
	struct strbuf out = STRBUF_INIT;
	dump_expr(&out, set);
	return strbuf_take(&out);
}

/* The first command's elements, read in steps of `most`. */
static struct expr *read_steps(struct parsed *t, uint32_t most)
{
	struct expr *all = expr_new(&t->a, EX_SET, LOC_NONE), *some;
	struct members *m;
	assert_int_equal(members_open(&t->sources, t->cmds.first->expr, &m), 0);
	do {
		assert_int_equal(members_read(m, &t->a, most, &some), 0);
		assert_true(some->list.n <= most);
		for (uint32_t i = 0; i < some->list.n; i++)
			expr_list_add(&t->a, &all->list, some->list.items[i]);
	} while (some->list.n);
	members_close(m);
	return all;
}

static void same_places(const struct expr *a, const struct expr *b, uint32_t shift)
{
	assert_int_equal(a->list.n, b->list.n);
	for (uint32_t i = 0; i < a->list.n; i++) {
		assert_int_equal(a->list.items[i]->loc.begin + shift, b->list.items[i]->loc.begin);
		assert_int_equal(a->list.items[i]->loc.end + shift, b->list.items[i]->loc.end);
	}
}

/* `texts`: how many pieces of text are left among the items of the list. */
static void check_literal(const char *defines, const char *literal, unsigned texts)
{
	enum { ELEMENTS, RULE };
	static const char *const heads[] = {"add element t s ", "add rule t c ip daddr "};
	struct parsed t[2];
	char *want, *text[2];
	for (int i = 0; i < 2; i++) {
		assert_true(asprintf(&text[i], "%s%s%s\n", defines, heads[i], literal) > 0);
		parse_raw(&t[i], text[i], strlen(text[i]), NULL);
		assert_int_equal(t[i].err, 0);
	}
	const struct expr *nodes = t[RULE].cmds.first->rule.stmts->expr->pair.right;
	const struct expr *set = t[ELEMENTS].cmds.first->expr;
	char *before = literal_dump(set);
	want = literal_dump(nodes);
	assert_int_equal(members_count(set), nodes->list.n);
	for (uint32_t i = 0; i < set->list.n; i++)
		texts -= set->list.items[i]->kind == EX_MEMBERS;
	assert_int_equal(texts, 0);
	for (uint32_t most = 1; most < 6; most++) {
		struct expr *read = read_steps(&t[ELEMENTS], most);
		char *got = literal_dump(read);
		assert_string_equal(got, want);
		free(got);
		if (!*defines)
			same_places(read, nodes, (uint32_t)(strlen(heads[1]) - strlen(heads[0])));
	}
	char *after = literal_dump(set);
	assert_string_equal(after, before);
	free(before);
	free(after);
	free(want);
	for (int i = 0; i < 2; i++) {
		parsed_free(&t[i]);
		free(text[i]);
	}
}

static void test_literals(void **state)
{
	check_literal("", "{ 10.0.0.1 }", 1);
	check_literal("", "{ 10.0.0.1, 10.0.0.2,10.0.0.3 , }", 1);
	check_literal("", "{\n # none, of these\n 1.1.1.1 # one, } two\n , \n\n2.2.2.2,,3.3.3.3\n}",
		      1);
	check_literal("", "{ 1.1.1.1-1.1.1.9, 10.0.0.0/8, *, 0x10, \"a b\", eth*, a . 5-6 . c }",
		      1);
	check_literal("",
		      "{ 1.1.1.1 timeout 1d2h comment \"x, } y\", 2.2.2.2 counter packets 1 "
		      "bytes 2 expires 3s, 3.3.3.3 }",
		      1);
	check_literal("", "{ 1.1.1.1 : accept, 2.2.2.2 : jump \\\n there, 3.3.3.3 counter : 5 }",
		      1);
	check_literal("", "{ 1, { 2, { 3, 4 }, 5 }, 6, 7 }", 2);
	check_literal("", "{ { 1 } }", 0);
	check_literal("define a = 5\n", "{ 1, $a, 2, 3 . $a, $a timeout 1s, 4, 5 }", 3);
	check_literal("define a = { 1, 2 }\ndefine b = { 3, $a, 4 }\n", "{ $b, 5, $a, $b }", 8);
	check_literal("define a = { 1, 2 }\n", "$a", 1);
}

/* A variable means what it meant where it stood. */
static void test_redefined(void **state)
{
	struct parsed t;
	parse_ok(&t, "define a = 1\ndefine b = { $a, 2 }\nadd element t s { 7, 3 . $a, $b }\n"
		     "redefine a = 8\nredefine b = { 9 }\n");
	char *got = literal_dump(t.cmds.first->expr);
	assert_string_equal(got, "{7# (. 3# 1#) 1# 2#}");
	free(got);
	parsed_free(&t);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_raw(struct parsed *t, const char *text)
{
	*t = (struct parsed){.cmds = CMD_LIST_INIT(t->cmds)};
	source_set_init(&t->sources);
	int src = source_add(&t->sources, SOURCE_JSON, "j", text, strlen(text), LOC_NONE);
	t->err = src < 0 ? src : parse_json(&t->sources, src, &t->a, &t->cmds);
	diag_print(&t->sources, &t->messages);
}

static void json_free(struct parsed *t, char *text)
{
	parsed_free(t);
	free(text);
}

/*
 * A document of one command on elements, as it is and where an escape keeps all of it together:
 * the same elements or messages. `cut`: the first is taken apart.
 */
static void check_json(const char *head, const char *elements, bool cut)
{
	struct parsed t[2];
	char *text[2];
	for (int i = 0; i < 2; i++) {
		assert_true(asprintf(&text[i],
				     "{\"nftables\": [{\"add\": {\"table\": {\"family\": \"ip\", "
				     "\"name\": \"%s}}}, {%s\"table\": \"t\", \"family\": \"ip\", "
				     "\"name\": \"s\", \"elem\" : %s%s]}",
				     i ? "\\u0074\"" : "t\"     ", head, elements,
				     head[1] == 'a' ? "}}}" : "}}") > 0);
		json_raw(&t[i], text[i]);
	}
	assert_int_equal(t[0].err, t[1].err);
	assert_string_equal(strbuf_str(&t[0].messages), strbuf_str(&t[1].messages));
	const struct cmd *c[2] = {t[0].cmds.first, t[1].cmds.first};
	while (c[0] && c[1] && c[0]->obj != CO_ELEMENTS) {
		c[0] = c[0]->next;
		c[1] = c[1]->next;
	}
	assert_int_equal(!c[0], !c[1]);
	if (c[0] && !t[0].err) {
		bool one = c[0]->expr->list.n && c[0]->expr->list.items[0]->kind == EX_MEMBERS;
		assert_int_equal(one, cut);
		for (uint32_t most = 1; most < 4; most++) {
			struct expr *some[2] = {0};
			struct members *m[2];
			for (int i = 0; i < 2; i++)
				assert_int_equal(members_open(&t[i].sources, c[i]->expr, &m[i]), 0);
			do {
				char *dump[2];
				for (int i = 0; i < 2; i++) {
					assert_int_equal(
						members_read(m[i], &t[i].a, most, &some[i]), 0);
					dump[i] = literal_dump(some[i]);
				}
				assert_string_equal(dump[0], dump[1]);
				free(dump[0]);
				free(dump[1]);
			} while (some[1]->list.n);
			members_close(m[0]);
			members_close(m[1]);
		}
		assert_int_equal(members_count(c[0]->expr), members_count(c[1]->expr));
	}
	json_free(&t[0], text[0]);
	json_free(&t[1], text[1]);
}

static void test_json(void **state)
{
	static const char *const heads[] = {"\"add\": {\"element\": {",
					    "\"set\": {\"type\": \"mark\","};
	for (int h = 0; h < 2; h++) {
		check_json(heads[h], "[]", false);
		check_json(heads[h], "[ \n ]", false);
		check_json(heads[h], "[1]", true);
		check_json(heads[h], " [ 1 ,\n\t2, \"a]\\\"}\" , \"*\", 4 ] ", true);
		check_json(heads[h], "5", false);
		check_json(
			heads[h],
			"[{\"elem\": {\"val\": 1, \"counter\": {\"packets\": 1, \"bytes\": 2}}}, 3,"
			"{\"prefix\": {\"addr\": \"1.1.1.0\", \"len\": 24}}, {\"range\": [5, 6]},"
			"{\"concat\": [1, {\"range\": [2, 3]}]}, [7, {\"accept\": null}]]",
			true);
		/* Wrong: JSON, or what it says. */
		check_json(heads[h], "[1,]", true);
		check_json(heads[h], "[1 2]", true);
		check_json(heads[h], "[,1]", true);
		check_json(heads[h], "[1, {2]}", true);
		check_json(heads[h], "[1, \"x", true);
		check_json(heads[h], "[1, [2, 3, 4]]", true);
		check_json(heads[h], "[1, {\"foo\": 1}, 3]", true);
		check_json(heads[h], "[1, {\"elem\": {\"val\": 1, \"x\": 2}}]", true);
		check_json(heads[h], "[{\"elem\": {\"val\": 1, \"val\": 2}}]", true);
		check_json(heads[h], "[1], \"elem\": [2]", true);
		check_json(heads[h], "[-1]", true);
		/* What stands for an array is no way to another one's elements. */
		check_json(heads[h], "\"tamis elements 0\"", false);
		check_json(heads[h], "[1], \"comment\": \"tamis elements 0\"", false);
		check_json(heads[h], "[\"tamis elements 0\", 2]", true);
	}
}

/* --- Lines ----------------------------------------------------------------------------------- */

static void lines_dump(struct strbuf *out, struct parsed *t)
{
	for (const struct cmd *c = t->cmds.first; c; c = c->next) {
		strbuf_printf(out, "%d %d %s %s %u-%u ", c->op, c->obj, c->table.text,
			      c->name.text ? c->name.text : "", c->loc.begin, c->loc.end);
		if (c->obj == CO_ELEMENTS) {
			struct expr *all;
			assert_int_equal(members_read_all(&t->sources, &t->a, c->expr, &all), 0);
			dump_expr(out, all);
		}
		strbuf_puts(out, "\n");
	}
}

/* Commands of `text`, which leaves `nodes` commands; each alone, at the same place, is the same. */
static void check_lines(const char *text, uint32_t nodes)
{
	struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
	struct parsed t;
	uint32_t n = 0;
	t = (struct parsed){.cmds = CMD_LIST_INIT(t.cmds)};
	source_set_init(&t.sources);
	assert_int_equal(source_add(&t.sources, SOURCE_FILE, "f", text, strlen(text), LOC_NONE), 1);
	assert_int_equal(parse_text(&t.sources, 1, &t.a, NULL, &t.cmds), 0);
	assert_int_equal(t.cmds.n, nodes);
	parsed_lines(&t);
	lines_dump(&got, &t);
	n = t.cmds.n;
	parsed_free(&t);
	char *blank = strdup(text);
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		/* All but this line and definitions is blank. */
		size_t len = strcspn(line, "\n");
		for (size_t i = 0; text[i]; i++)
			blank[i] = text[i] == '\n' || (text + i >= line && text + i < line + len)
					   ? text[i]
					   : ' ';
		if (!strncmp(line, "define", 6))
			continue;
		if (memchr(line, '$', len))
			memcpy(blank, "define a=7\n", 11);
		parse_raw(&t, blank, strlen(blank), NULL);
		assert_int_equal(t.err, 0);
		lines_dump(&want, &t);
		n -= t.cmds.n;
		parsed_free(&t);
	}
	assert_int_equal(n, 0);
	assert_string_equal(strbuf_str(&got), strbuf_str(&want));
	free(blank);
	strbuf_free(&got);
	strbuf_free(&want);
}

static void test_lines(void **state)
{
	check_lines("add element t s { 1 }\n", 1);
	check_lines("add element t s { 1 }", 1);
	check_lines("add element t s { 1 };\n# add element t s { 9 }\n\n"
		    "create element ip6 t s { 2, 3 timeout 1s }; delete element t s { 4 }\n"
		    "destroy element inet t s { 5 comment \"a;b\" } # and\nadd element t s { }\n",
		    1);
	check_lines("add element t s { 1 }\nadd table t\nadd element t s { 2 }; add table u\n"
		    "add element t s { 3 }\nadd element t s { 4 }\n",
		    5);
	check_lines("define a=7\nadd element t s { 1 }\nadd element t s { $a }\n"
		    "add element t s { 2 }\n",
		    3);
	check_lines(
		"add element t s { 1 }\n"
		"add element t s { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17 }\n"
		"get element t s { 1 }\n",
		3);
}

/* Where a line is wrong the others are there, and nothing else. */
static void test_wrong_line(void **state)
{
	static const char text[] = "add element t s { 1 }\nadd element t s { 2 timeout }\n"
				   "add element t s { 3 }\nadd element t { 4 }\nadd table t\n";
	struct parsed t;
	parse(&t, text);
	assert_int_equal(t.err, -EINVAL);
	assert_int_equal(t.sources.n_errors, 2);
	assert_int_equal(t.cmds.n, 3);
	assert_int_equal(t.cmds.first->next->obj, CO_ELEMENTS);
	assert_int_equal(t.cmds.first->next->next->obj, CO_TABLE);
	parsed_free(&t);
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
	static const char text[] = "add element t s { 1 counter, 2, 3 comment \"four\", { 5 } }\n";
	struct parsed t;
	struct expr *some;
	int err = -ENOMEM;
	parse_raw(&t, text, sizeof(text) - 1, NULL);
	assert_int_equal(t.err, 0);
	for (uint64_t at = 0; err; at++) {
		struct arena a = {.first = 64};
		memory_arm(at, false);
		err = members_read_all(&t.sources, &a, t.cmds.first->expr, &some);
		memory_disarm();
		assert_int_equal(err, memory.hit ? -ENOMEM : 0);
		if (err)
			assert_int_equal(err, -ENOMEM);
		else
			assert_int_equal(some->list.n, 4);
		arena_free(&a);
	}
	parsed_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literals),   cmocka_unit_test(test_redefined),
		cmocka_unit_test(test_json),	   cmocka_unit_test(test_lines),
		cmocka_unit_test(test_wrong_line), cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
