/* SPDX-License-Identifier: Apache-2.0 */
/* test_source: places and messages, against what nft prints for the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lang/source.h"

static int add(struct source_set *s, enum source_kind kind, const char *text, struct loc at)
{
	char name[16];
	snprintf(name, sizeof(name), "%c.nft", (char)('a' + s->sources.n));
	int src = source_add(s, kind, name, text, strlen(text), at);
	assert_true(src > 0);
	return src;
}

/* The place of `what`'s first occurrence. */
static struct loc find(const struct source_set *s, int src, const char *what)
{
	const struct source *t = source_at(s, (uint32_t)src);
	const char *p = strstr(t->text, what);
	assert_non_null(p);
	uint32_t begin = (uint32_t)(p - t->text);
	return (struct loc){(uint32_t)src, begin, begin + (uint32_t)strlen(what)};
}

static void expect_print(struct source_set *s, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	diag_print(s, &out);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
	source_set_free(s);
}

static void test_caret_keeps_tabs(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int src = add(&s, SOURCE_FILE, "table t {\n\ttcp\tdport foo\n}\n", LOC_NONE);
	assert_int_equal(diag_error(&s, find(&s, src, "foo"), "no %s", "foo"), -EINVAL);
	expect_print(&s, "a.nft:2:12-14: Error: no foo\n\ttcp\tdport foo\n\t   \t      ^^^\n");
}

static void test_second_place(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int src = add(&s, SOURCE_FILE, "x = 1.2.3.4, 9\ny\n", LOC_NONE);
	diag_error2(&s, find(&s, src, "1.2.3.4"), find(&s, src, "x"), "overlap");
	diag_error2(&s, find(&s, src, "x"), find(&s, src, "9"), "overlap");
	diag_error2(&s, find(&s, src, "x"), find(&s, src, "y"), "on another line");
	expect_print(&s, "a.nft:1:5-11: Error: overlap\nx = 1.2.3.4, 9\n~   ^^^^^^^\n"
			 "a.nft:1:1-1: Error: overlap\nx = 1.2.3.4, 9\n^            ~\n"
			 "a.nft:1:1-1: Error: on another line\nx = 1.2.3.4, 9\n^\n"
			 "a.nft:2:1-1: the other place:\ny\n~\n");
}

/* From the first line's column to the last line's column, as nft counts. */
static void test_place_over_lines(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int src = add(&s, SOURCE_FILE, "abc { 1,\n 2 } def\nxyz {\n\n }", LOC_NONE);
	diag_error(&s, find(&s, src, "{ 1,\n 2 }"), "odd");
	diag_error(&s, find(&s, src, "xyz {\n\n }"), "wide");
	expect_print(&s, "a.nft:1:5-4: Error: odd\nabc { 1,\n    \n"
			 "a.nft:3:1-2: Error: wide\nxyz {\n^^\n");
}

static void test_include_chain(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int a = add(&s, SOURCE_FILE, "include \"b\"\n", LOC_NONE);
	int b = add(&s, SOURCE_FILE, "\n  include \"c\"\n", find(&s, a, "include \"b\""));
	int c = add(&s, SOURCE_FILE, "oops\n", find(&s, b, "include \"c\""));
	diag_error(&s, find(&s, c, "oops"), "bad");
	diag_error(&s, find(&s, b, "include"), "odd");
	expect_print(&s, "In file included from b.nft:2:3-13:\n"
			 "                 from a.nft:1:1-11:\n"
			 "c.nft:1:1-4: Error: bad\noops\n^^^^\n"
			 "In file included from a.nft:1:1-11:\n"
			 "b.nft:2:3-9: Error: odd\n  include \"c\"\n  ^^^^^^^\n");
}

static void test_end_of_file(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int a = add(&s, SOURCE_FILE, "one\ntwo", LOC_NONE);
	int b = add(&s, SOURCE_FILE, "one\ntwo\n", LOC_NONE);
	int c = add(&s, SOURCE_FILE, "", LOC_NONE);
	diag_error(&s, (struct loc){(uint32_t)a, 7, 7}, "end");
	diag_error(&s, (struct loc){(uint32_t)b, 8, 8}, "end");
	diag_error(&s, (struct loc){(uint32_t)c, 0, 0}, "end");
	expect_print(&s, "a.nft:2:4-4: Error: end\ntwo\n   ^\n"
			 "b.nft:3:1-1: Error: end\ntwo\n^\n"
			 "c.nft:1:1-1: Error: end\n\n^\n");
}

static void test_kinds(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int str = add(&s, SOURCE_STRING, "add foo", LOC_NONE);
	int json = add(&s, SOURCE_JSON, "{}", LOC_NONE);
	diag_error(&s, find(&s, str, "foo"), "what");
	diag_error(&s, find(&s, json, "{"), "what");
	diag_error(&s, LOC_NONE, "nowhere");
	expect_print(&s, "Error: what\nadd foo\n    ^^^\n"
			 "b.nft: Error: what\n"
			 "Error: nowhere\n");
}

static void test_long_line_is_cut(void **state)
{
	struct source_set s;
	char text[3000], want[6000];
	memset(text, 'x', sizeof(text));
	memset(text, 'y', 1490);
	text[2999] = 0;
	source_set_init(&s);
	int src = add(&s, SOURCE_FILE, text, LOC_NONE);
	diag_error(&s, (struct loc){(uint32_t)src, 2000, 2002}, "far");
	/* Of 1,023 bytes 510 before the place. */
	snprintf(want, sizeof(want), "a.nft:1:2001-2002: Error: far\n%.1023s\n%*s^^\n", text + 1490,
		 510, "");
	expect_print(&s, want);
}

static void test_nul_ends_the_line(void **state)
{
	struct source_set s;
	source_set_init(&s);
	static const char text[] = "ab\0cd\nef";
	int src = source_add(&s, SOURCE_FILE, "n", text, sizeof(text) - 1, LOC_NONE);
	diag_error(&s, (struct loc){(uint32_t)src, 2, 3}, "junk");
	diag_error(&s, (struct loc){(uint32_t)src, 6, 8}, "after");
	expect_print(&s, "n:1:3-3: Error: junk\nab\n  ^\nn:2:1-2: Error: after\nef\n^^\n");
}

static void test_errors_are_capped(void **state)
{
	struct source_set s;
	source_set_init(&s);
	int src = add(&s, SOURCE_FILE, "x\n", LOC_NONE);
	for (unsigned i = 0; i < 25; i++)
		diag_error(&s, find(&s, src, "x"), "%u", i);
	assert_int_equal(s.n_errors, 25);
	assert_int_equal(s.diags.n, 10);
	source_set_free(&s);
}

/* Counting lines goes on from the message before, forwards and backwards. */
static void test_lines_in_any_order(void **state)
{
	struct source_set s;
	char text[4000], *p = text;
	uint32_t begin[300];
	for (unsigned i = 0; i < 300; i++) {
		begin[i] = (uint32_t)(p - text);
		p += sprintf(p, "%*sL%u\n", i % 4, "", i + 1);
	}
	source_set_init(&s);
	s.max_errors = 1000;
	int src = add(&s, SOURCE_FILE, text, LOC_NONE);
	struct strbuf want = STRBUF_INIT;
	unsigned seed = 7;
	for (unsigned k = 0; k < 500; k++) {
		seed = seed * 1103515245 + 12345;
		unsigned i = seed / 65536 % 300, line, first, last;
		struct loc loc = {(uint32_t)src, begin[i] + i % 4, begin[i] + i % 4 + 1};
		loc_line_column(&s, loc, &line, &first, &last);
		assert_int_equal(line, i + 1);
		assert_int_equal(first, i % 4 + 1);
		assert_int_equal(last, i % 4 + 1);
		diag_error(&s, loc, "m");
		strbuf_printf(&want, "a.nft:%u:%u-%u: Error: m\n%*sL%u\n%*s^\n", i + 1, i % 4 + 1,
			      i % 4 + 1, i % 4, "", i + 1, i % 4, "");
	}
	expect_print(&s, strbuf_str(&want));
	strbuf_free(&want);
}

static void test_join(void **state)
{
	struct loc a = {1, 5, 9}, b = {1, 2, 6}, c = {2, 0, 3};
	struct loc j = loc_join(a, b);
	assert_int_equal(j.begin, 2);
	assert_int_equal(j.end, 9);
	j = loc_join(a, c);
	assert_int_equal(j.src, 1);
	assert_int_equal(j.end, 9);
	j = loc_join(LOC_NONE, c);
	assert_int_equal(j.src, 2);
}

static void test_missing_file(void **state)
{
	struct source_set s;
	source_set_init(&s);
	assert_int_equal(source_add_file(&s, "/nonexistent/file.nft", LOC_NONE), -ENOENT);
	assert_int_equal(source_add_file(&s, "/", LOC_NONE), -EISDIR);
	assert_int_equal(s.sources.n, 0);
	assert_null(source_at(&s, 0));
	assert_null(source_at(&s, 1));
	source_set_free(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caret_keeps_tabs),
		cmocka_unit_test(test_second_place),
		cmocka_unit_test(test_place_over_lines),
		cmocka_unit_test(test_include_chain),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_long_line_is_cut),
		cmocka_unit_test(test_nul_ends_the_line),
		cmocka_unit_test(test_errors_are_capped),
		cmocka_unit_test(test_lines_in_any_order),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_missing_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
