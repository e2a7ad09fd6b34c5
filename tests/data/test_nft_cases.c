/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nft_cases: rules with what nft says to them: accepted or refused, and how they are listed,
 * as text and as JSON.
 *
 * The file is $TAMIS_DATA/nft-cases/cases.jsonl, one case a line; the test is skipped without it.
 * Each case runs for every family and chain that it names, in a model of its own with the commands
 * that come before it. Sets compare without order and white space. Cases that are marked as broken
 * in nft itself are left out. The share that holds must not fall below HOLD_MIN_PERCENT; those that
 * do not hold are printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "lang/parse.h"
#include "model/model.h"

enum { HOLD_MIN_PERCENT = 100, TEXT_MAX = 1 << 16, ITEMS_MAX = 256, UTC_OFFSET = 7200 };

struct tally {
	unsigned all, held;
};

static char *cases_path;
static struct tally accepted, listed, json_listed, json_read;
static json_t *earlier; /* commands of the file so far, for cases that are no rules */
static char earlier_file[256];

static uint32_t ifindex(void *arg, const char *name, size_t len)
{
	return len == 2 && !memcmp(name, "lo", 2) ? 1 : 0;
}

static const char *ifname(void *arg, uint32_t index)
{
	return index == 1 ? "lo" : NULL;
}

static const struct lang_env env = {.ifindex = ifindex,
				    .ifname = ifname,
				    .numeric = NUMERIC_PROTOCOL,
				    .utc_offset = UTC_OFFSET};

/* --- Comparing listings ---------------------------------------------------------------------- */

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void trim(char *s)
{
	size_t n = strlen(s), skip = strspn(s, " ");

	memmove(s, s + skip, n - skip + 1);
	for (n = strlen(s); n && s[n - 1] == ' '; n--)
		s[n - 1] = 0;
}

/* One blank around a colon that separates key and data. */
static void space_colon(char *s, size_t size)
{
	char *c = strstr(s, " : ");

	if (c)
		return;
	for (c = strchr(s, ':'); c; c = strchr(c + 1, ':')) {
		const char *word = c + 1 + strspn(c + 1, " ");

		if (!strcmp(word, "accept") || !strcmp(word, "drop"))
			break;
	}
	if (!c)
		c = strchr(s, ':') && strchr(s, ':') == strrchr(s, ':') ? strchr(s, ':') : NULL;
	if (c && strlen(s) + 3 < size) {
		char key[TEXT_MAX], data[TEXT_MAX];

		snprintf(key, sizeof(key), "%.*s", (int)(c - s), s);
		snprintf(data, sizeof(data), "%s", c + 1);
		trim(key);
		trim(data);
		snprintf(s, size, "%.1000s : %.1000s", key, data);
	}
}

/* Writes the text again with the items of each set sorted. */
static void normalise(const char *text, char *out, size_t size)
{
	static char items[ITEMS_MAX][4096];
	char *sorted[ITEMS_MAX];
	size_t n = 0;

	while (*text && n + 1 < size) {
		if (*text != '{') {
			if (*text != ' ' || (n && out[n - 1] != ' '))
				out[n++] = *text;
			text++;
			continue;
		}
		unsigned k = 0;
		const char *end = strchr(text, '}');

		if (!end)
			break;
		for (const char *p = text + 1; p < end && k < ITEMS_MAX; k++) {
			const char *comma = memchr(p, ',', (size_t)(end - p));
			size_t len = (size_t)((comma ? comma : end) - p);

			snprintf(items[k], sizeof(items[k]), "%.*s", (int)len, p);
			trim(items[k]);
			space_colon(items[k], sizeof(items[k]));
			sorted[k] = items[k];
			p = comma ? comma + 1 : end;
		}
		qsort(sorted, k, sizeof(*sorted), compare_strings);
		n += (size_t)snprintf(out + n, size - n, "{ ");
		for (unsigned i = 0; i < k && n < size; i++)
			n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", sorted[i]);
		if (n < size)
			n += (size_t)snprintf(out + n, size - n, " }");
		text = end + 1;
		if (*text && *text != ' ' && n + 1 < size)
			out[n++] = ' ';
	}
	out[MIN(n, size - 1)] = 0;
	trim(out);
}

static bool same_listing(const char *got, const char *want)
{
	static char a[TEXT_MAX], b[TEXT_MAX];

	normalise(got, a, sizeof(a));
	normalise(want, b, sizeof(b));
	return !strcmp(a, b);
}

/* --- Comparing JSON -------------------------------------------------------------------------- */

static int compare_json(const void *a, const void *b)
{
	char *x = json_dumps(*(json_t *const *)a, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	char *y = json_dumps(*(json_t *const *)b, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	int d = strcmp(x, y);

	free(x);
	free(y);
	return d;
}

/* A copy with the members of "set" arrays sorted. */
static json_t *json_sorted(const json_t *j, bool set)
{
	if (json_is_object(j)) {
		json_t *o = json_object(), *v;
		const char *key;

		json_object_foreach((json_t *)j, key, v)
			json_object_set_new(o, key, json_sorted(v, !strcmp(key, "set")));
		return o;
	}
	if (!json_is_array(j))
		return json_deep_copy(j);

	size_t n = json_array_size(j);
	json_t **items = calloc(n + 1, sizeof(*items)), *a = json_array();

	for (size_t i = 0; i < n; i++)
		items[i] = json_sorted(json_array_get(j, i), false);
	if (set)
		qsort(items, n, sizeof(*items), compare_json);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, items[i]);
	free(items);
	return a;
}

static bool same_json(const json_t *got, const json_t *want)
{
	json_t *a = json_sorted(got, false), *b = json_sorted(want, false);
	bool same = json_equal(a, b);

	json_decref(a);
	json_decref(b);
	return same;
}

/* --- Running a case -------------------------------------------------------------------------- */

struct world {
	struct model *model;
	struct source_set sources;
	struct strbuf text, out;
};

/* Puts "FAMILY TABLE" for "@T". */
static void add_command(struct strbuf *b, const char *command, const char *table)
{
	const char *at = strstr(command, "@T");

	if (at)
		strbuf_printf(b, "%.*s%s%s\n", (int)(at - command), command, table, at + 2);
	else
		strbuf_printf(b, "%s\n", command);
}

static int run(struct world *w, const char *text, bool json)
{
	struct arena arena = ARENA_INIT;
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	int src = source_add(&w->sources, json ? SOURCE_JSON : SOURCE_FILE, "case", text,
			     strlen(text), LOC_NONE);
	int err = json ? parse_json(&w->sources, src, &arena, &cmds)
		       : parse_text(&w->sources, src, &arena, NULL, &cmds);

	assert_int_equal(model_begin(w->model), 0);
	if (!err)
		err = model_apply(w->model, &w->sources, &cmds, 0, NULL);
	if (err)
		model_abort(w->model);
	else
		model_commit(w->model);
	arena_free(&arena);
	return err;
}

static struct model_rule *only_rule(struct world *w, const json_t *target)
{
	const char *family = json_string_value(json_object_get(target, "family"));
	const char *chain = json_string_value(json_object_get(target, "chain"));

	for (const struct list *l = model_tables(w->model)->next; l != model_tables(w->model);
	     l = l->next) {
		struct model_table *t = container_of(l, struct model_table, link);
		struct model_chain *c = model_chain_find(t, chain);

		if (!strcmp(family_name(t->family), family) && c && c->rules.next != &c->rules)
			return container_of(c->rules.prev, struct model_rule, link);
	}
	return NULL;
}

static void table_name(const json_t *target, char *out, size_t size)
{
	snprintf(out, size, "%s %s", json_string_value(json_object_get(target, "family")),
		 json_string_value(json_object_get(target, "table")));
}

static void world_init(struct world *w, const json_t *target, const json_t *before)
{
	char table[256];
	json_t *command;
	size_t i;

	*w = (struct world){.model = model_new(&env)};
	assert_non_null(w->model);
	source_set_init(&w->sources);
	table_name(target, table, sizeof(table));
	strbuf_printf(&w->text, "add table %s\nadd chain %s %s { %s; }\n", table, table,
		      json_string_value(json_object_get(target, "chain")),
		      json_string_value(json_object_get(target, "config")));
	json_array_foreach((json_t *)before, i, command)
		add_command(&w->text, json_string_value(command), table);
}

static void world_free(struct world *w)
{
	model_free(w->model);
	source_set_free(&w->sources);
	strbuf_free(&w->text);
	strbuf_free(&w->out);
}

static void differs(const json_t *row, const json_t *target, const char *what, const char *got,
		    const char *want)
{
	const char *rule = json_string_value(json_object_get(row, "rule"));
	const char *command = json_string_value(json_object_get(row, "command"));

	print_message("# %s: %s (%s/%s): %s\n#    got:  %s\n#    want: %s\n",
		      json_string_value(json_object_get(row, "file")), rule ? rule : command,
		      json_string_value(json_object_get(target, "family")),
		      json_string_value(json_object_get(target, "hook")), what, got, want);
}

static bool setup(struct world *w, const json_t *row, const json_t *target, const json_t *before)
{
	world_init(w, target, before);
	if (!run(w, strbuf_str(&w->text), false))
		return true;
	diag_print(&w->sources, &w->out);
	differs(row, target, "the commands before it are refused", strbuf_str(&w->out), "");
	return false;
}

/* 1: held, 0: not, for this target. */
static bool accept_holds(const json_t *row, const json_t *target, const json_t *before,
			 struct world *w)
{
	bool want = !strcmp(json_string_value(json_object_get(row, "expect")), "ok");
	const char *rule = json_string_value(json_object_get(row, "rule"));
	const char *command = json_string_value(json_object_get(row, "command"));
	char table[256];
	struct strbuf text = STRBUF_INIT;
	bool got;

	if (!setup(w, row, target, before))
		return false;
	table_name(target, table, sizeof(table));
	if (rule)
		strbuf_printf(&text, "add rule %s %s %s\n", table,
			      json_string_value(json_object_get(target, "chain")), rule);
	else
		add_command(&text, command, table);
	got = !run(w, strbuf_str(&text), false);
	if (got != want) {
		diag_print(&w->sources, &w->out);
		differs(row, target, want ? "refused" : "accepted", strbuf_str(&w->out), "");
	}
	strbuf_free(&text);
	return got == want;
}

static bool text_holds(const json_t *row, const json_t *target, struct world *w)
{
	const char *want = json_string_value(json_object_get(row, "canonical"));
	struct model_rule *r = only_rule(w, target);
	struct lang_env stateless = env;
	struct strbuf out = STRBUF_INIT;
	bool same;

	if (!r)
		return false;
	stateless.numeric |= PRINT_STATELESS;
	print_rule(&r->decl, &stateless, &out);
	same = same_listing(strbuf_str(&out), want);
	if (!same)
		differs(row, target, "listing", strbuf_str(&out), want);
	strbuf_free(&out);
	return same;
}

static const json_t *json_wanted(const json_t *row)
{
	const json_t *want = json_object_get(row, "json_output");

	return json_is_array(want) ? want : json_object_get(row, "json");
}

static bool json_holds(const json_t *row, const json_t *target, struct world *w)
{
	const json_t *want = json_wanted(row);
	struct model_rule *r = only_rule(w, target);
	struct lang_env stateless = env;
	json_t *got;
	bool same;

	if (!r)
		return false;
	stateless.numeric |= PRINT_STATELESS;
	got = json_stmts(r->decl.stmts, &stateless);
	assert_non_null(got);
	same = same_json(got, want);
	if (!same) {
		char *a = json_dumps(got, JSON_SORT_KEYS), *b = json_dumps(want, JSON_SORT_KEYS);

		differs(row, target, "JSON out", a, b);
		free(a);
		free(b);
	}
	json_decref(got);
	return same;
}

/* The rule read from JSON lists as the one read from text does. */
static bool json_in_holds(const json_t *row, const json_t *target, const json_t *before)
{
	json_t *root = json_pack("{s:[{s:{s:{s:s,s:s,s:s,s:O}}}]}", "nftables", "add", "rule",
				 "family", json_string_value(json_object_get(target, "family")),
				 "table", json_string_value(json_object_get(target, "table")),
				 "chain", json_string_value(json_object_get(target, "chain")),
				 "expr", json_object_get(row, "json"));
	char *text = json_dumps(root, 0);
	struct world w;
	bool same = setup(&w, row, target, before);

	if (same && run(&w, text, true)) {
		diag_print(&w.sources, &w.out);
		differs(row, target, "JSON refused", strbuf_str(&w.out), text);
		same = false;
	} else if (same) {
		same = text_holds(row, target, &w);
	}
	world_free(&w);
	free(text);
	json_decref(root);
	return same;
}

static void count(struct tally *t, bool held)
{
	t->all++;
	t->held += held;
}

static void run_case(const json_t *row)
{
	const json_t *targets = json_object_get(row, "targets");
	const json_t *before = json_object_get(row, "prelude");
	const char *file = json_string_value(json_object_get(row, "file"));
	bool is_rule = json_object_get(row, "rule");
	bool want = !strcmp(json_string_value(json_object_get(row, "expect")), "ok");
	bool ok = true, text_ok = true, json_ok = true, in_ok = true;
	json_t *target;
	size_t i;

	if (json_is_true(json_object_get(row, "known_broken")))
		return;
	if (strcmp(file, earlier_file)) {
		json_array_clear(earlier);
		snprintf(earlier_file, sizeof(earlier_file), "%s", file);
	}
	if (!is_rule)
		before = earlier;
	json_array_foreach((json_t *)targets, i, target)
	{
		struct world w;
		bool held = accept_holds(row, target, before, &w);

		ok = ok && held;
		if (held && is_rule && want) {
			text_ok = text_holds(row, target, &w) && text_ok;
			json_ok = json_holds(row, target, &w) && json_ok;
			in_ok = json_in_holds(row, target, before) && in_ok;
		}
		world_free(&w);
	}
	count(&accepted, ok);
	if (is_rule && want) {
		count(&listed, ok && text_ok);
		count(&json_listed, ok && json_ok);
		count(&json_read, ok && in_ok);
	}
	if (!is_rule && want)
		json_array_append(earlier, json_object_get(row, "command"));
}

static int load(void **state)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(cases_path, "r");

	assert_non_null(f);
	earlier = json_array();
	while (getline(&line, &cap, f) > 0) {
		json_t *row = json_loads(line, 0, NULL);

		assert_non_null(row);
		run_case(row);
		json_decref(row);
	}
	free(line);
	fclose(f);
	json_decref(earlier);
	return 0;
}

static void check_tally(const struct tally *t, const char *what)
{
	print_message("# %s: %u of %u cases hold\n", what, t->held, t->all);
	assert_true(t->all > 0);
	assert_true(t->held * 100 >= t->all * HOLD_MIN_PERCENT);
}

static void test_accepted(void **state)
{
	check_tally(&accepted, "accepted or refused");
}

static void test_listed(void **state)
{
	check_tally(&listed, "listed");
}

static void test_json_listed(void **state)
{
	check_tally(&json_listed, "listed as JSON");
}

static void test_json_read(void **state)
{
	check_tally(&json_read, "read from JSON");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_json_listed),
		cmocka_unit_test(test_json_read),
	};
	const char *data = getenv("TAMIS_DATA"), *root = getenv("TAMIS_SOURCE_ROOT");
	int n = data ? asprintf(&cases_path, "%s/nft-cases/cases.jsonl", data)
		     : asprintf(&cases_path, "%s/../shared/data/nft-cases/cases.jsonl",
				root ? root : ".");

	if (n < 0 || access(cases_path, R_OK)) {
		print_message("1..0 # SKIP no nft-cases/cases.jsonl in $TAMIS_DATA\n");
		return 0;
	}
	n = cmocka_run_group_tests(tests, load, NULL);
	free(cases_path);
	return n;
}
