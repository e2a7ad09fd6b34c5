/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rulesets: rulesets of others, which the project does not ship: what nft reads is read.
 *
 * $TAMIS_DATA/corpus-index.md has a row for each file with nft 1.0.6's answer. What it accepts, and
 * what it refuses for reasons behind the grammar (the kernel, names that this host does not know),
 * must parse. What it refuses for its syntax must not, unless the syntax is newer than 1.0.6, or
 * the file ends in a comment without a newline, which only that version refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lang/parse.h"

static const char *data_dir;

/* The n'th cell of a row `| a | b | c |`, without its blanks. */
static bool cell(const char *row, unsigned n, char *out, size_t size)
{
	const char *p = row;
	for (unsigned i = 0; i <= n && p; i++)
		p = strchr(p + (i > 0), '|');
	const char *end = p ? strchr(p + 1, '|') : NULL;
	if (!end)
		return false;
	for (p++; p < end && *p == ' ';)
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	snprintf(out, size, "%.*s", (int)(end - p), p);
	return true;
}

/* 0, -EINVAL, or another error if the file is not there. */
static int parse_file(const char *path, struct strbuf *messages)
{
	struct source_set sources;
	struct arena a = ARENA_INIT;
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	source_set_init(&sources);
	int ret = source_add_file(&sources, path, LOC_NONE);
	if (ret > 0)
		ret = parse_text(&sources, ret, &a, NULL, &cmds);
	diag_print(&sources, messages);
	source_set_free(&sources);
	arena_free(&a);
	return ret;
}

/* Syntax that came after nft 1.0.6, as its message about it shows. */
static bool is_newer(const char *path)
{
	static const char *const marks[] = {"destroy ",	   " fib saddr . iif check", "broute",
					    "xt match \"", " : ct expectation",	     "replied : "};
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	char line[4096] = "";
	bool newer = false;
	while (!newer && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
			newer |= strstr(line, marks[i]) != NULL;
	fclose(f);
	return newer || !strchr(line, '\n');
}

static void test_index(void **state)
{
	static const char *const must_parse[] = {"accept",
						 "accept+ifs",
						 "reject:newer-syntax(priority name)",
						 "reject:kernel-refused",
						 "reject:unknown-user",
						 "reject:name-resolution",
						 "reject:no-such-iface"};
	char path[1024], row[4096], file[512], answer[128];
	snprintf(path, sizeof(path), "%s/corpus-index.md", data_dir);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	unsigned parsed = 0, refused = 0, wrong = 0;
	while (fgets(row, sizeof(row), f)) {
		if (!cell(row, 1, file, sizeof(file)) || strncmp(file, "rulesets/", 9) ||
		    !cell(row, 4, answer, sizeof(answer)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", data_dir, file);
		struct strbuf messages = STRBUF_INIT;
		int err = parse_file(path, &messages);
		bool must = false;
		for (size_t i = 0; i < ARRAY_SIZE(must_parse); i++)
			must |= !strcmp(answer, must_parse[i]);
		if (must && err == -EINVAL) {
			print_error("%s\n%s", file, strbuf_str(&messages));
			wrong++;
		}
		if (!strcmp(answer, "reject:syntax") && !err && !is_newer(path)) {
			print_error("%s: parsed, but nft refuses it\n", file);
			wrong++;
		}
		parsed += must && !err;
		refused += err == -EINVAL;
		strbuf_free(&messages);
	}
	fclose(f);
	print_message("%u rulesets parsed, %u refused\n", parsed, refused);
	assert_true(parsed > 0 && refused > 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const char *env = getenv("TAMIS_DATA"), *root = getenv("TAMIS_SOURCE_ROOT");
	static char dir[1024], index[1100];
	snprintf(dir, sizeof(dir), "%s/../shared/data", root ? root : ".");
	data_dir = env ? env : dir;
	snprintf(index, sizeof(index), "%s/corpus-index.md", data_dir);
	FILE *f = fopen(index, "r");
	if (!f) {
		print_message("1..0 # SKIP no corpus-index.md in $TAMIS_DATA\n");
		return 0;
	}
	fclose(f);
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_index)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
