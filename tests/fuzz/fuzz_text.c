/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_text: any bytes as a ruleset in nft's text language.
 *
 * Beside not crashing: the parse fails just if there is an error message, its commands are as many
 * as it says, every tree can be cloned and equals its clone (where trees can be compared at all),
 * elements left as text can be read again, and every message can be printed. Texts that include
 * files are passed over.
 */
#include <stdlib.h>

#include "lang/lines.h"
#include "lang/members.h"
#include "lang/parse.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void check_expr(struct arena *a, const struct expr *e)
{
	if (!e)
		return;
	struct expr *copy = expr_clone(a, e);
	CHECK(copy && copy->kind == e->kind);
	CHECK(e->loc.begin <= e->loc.end);
	if (e->kind == EX_SYMBOL || e->kind == EX_PREFIX || e->kind == EX_RANGE)
		CHECK(expr_equal(copy, e));
}

static void check_elements(struct arena *a, struct source_set *sources, const struct expr *set)
{
	struct expr *all;
	CHECK(!members_read_all(sources, a, set, &all));
	CHECK(all->list.n == members_count(set));
	for (uint32_t i = 0; i < all->list.n; i++)
		check_expr(a, all->list.items[i]);
}

static void check_cmd(struct arena *a, struct source_set *sources, const struct cmd *c)
{
	if (c->obj == CO_ELEMENTS || c->obj == CO_EXPR)
		check_expr(a, c->expr);
	if (c->obj == CO_ELEMENTS && c->expr)
		check_elements(a, sources, c->expr);
	if (c->obj != CO_RULE)
		return;
	const struct stmt *copy = stmt_clone_list(a, c->rule.stmts);
	for (const struct stmt *s = c->rule.stmts; s; s = s->next, copy = copy->next) {
		CHECK(copy && copy->kind == s->kind);
		if (s->kind == ST_MATCH || s->kind == ST_VERDICT)
			check_expr(a, s->expr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (memmem(data, size, "include", 7))
		return 0;
	struct source_set sources;
	source_set_init(&sources);
	struct arena a = ARENA_INIT;
	char *text = arena_strndup(&a, (const char *)data, size);
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	int src = source_add(&sources, SOURCE_FILE, "fuzz", text, size, LOC_NONE);
	CHECK(src == 1);
	int err = parse_text(&sources, src, &a, NULL, &cmds);
	CHECK(err == (sources.n_errors ? -EINVAL : 0));

	struct lines *lines;
	const struct cmd *c;
	uint32_t n = 0;
	for (c = cmds.first; c; c = c->next)
		n++;
	CHECK(n == cmds.n);
	CHECK(!lines_open(&sources, &cmds, &lines));
	while (!lines_next(lines, &c) && c)
		check_cmd(&a, &sources, c);
	CHECK(!c);
	lines_close(lines);

	struct strbuf out = STRBUF_INIT;
	diag_print(&sources, &out);
	CHECK(!err || out.len);
	strbuf_free(&out);
	source_set_free(&sources);
	arena_free(&a);
	return 0;
}
