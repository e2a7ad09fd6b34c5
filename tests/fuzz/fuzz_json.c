/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_json: any bytes as commands in nft's JSON schema.
 *
 * Beside not crashing: the parse fails just if there is an error message, its commands are as many
 * as it says, and what a rule's statements print as JSON is read again, and prints the same.
 */
#include <stdlib.h>

#include "lang/members.h"
#include "lang/parse.h"
#include "lang/print.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static struct cmd_list read_commands(struct source_set *sources, struct arena *a, const char *text,
				     size_t len, int *err)
{
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	int src = source_add(sources, SOURCE_JSON, "fuzz", text, len, LOC_NONE);

	CHECK(src > 0);
	*err = parse_json(sources, src, a, &cmds);
	return cmds;
}

static void check_rule(struct arena *a, const struct cmd *c)
{
	json_t *stmts = json_stmts(c->rule.stmts, NULL), *again;
	json_t *doc = json_pack("{s:[{s:{s:{s:s,s:s,s:s,s:O}}}]}", "nftables", "add", "rule",
				"family", "ip", "table", "t", "chain", "c", "expr", stmts);
	char *text = json_dumps(doc, 0);
	struct source_set sources;
	struct cmd_list cmds;
	int err;

	source_set_init(&sources);
	cmds = read_commands(&sources, a, text, strlen(text), &err);
	CHECK(!err && cmds.n == 1);
	again = json_stmts(cmds.first->rule.stmts, NULL);
	CHECK(json_equal(stmts, again));
	json_decref(again);
	json_decref(stmts);
	json_decref(doc);
	free(text);
	source_set_free(&sources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT;
	struct arena a = ARENA_INIT;
	struct source_set sources;
	struct cmd_list cmds;
	uint32_t n = 0;
	int err;

	source_set_init(&sources);
	cmds = read_commands(&sources, &a, (const char *)data, size, &err);
	CHECK(err == (sources.n_errors ? -EINVAL : 0));
	for (const struct cmd *c = cmds.first; c; c = c->next, n++) {
		struct expr *all;

		if (c->obj == CO_RULE && c->rule.stmts)
			check_rule(&a, c);
		if (c->obj == CO_ELEMENTS && c->expr) {
			CHECK(!members_read_all(&sources, &a, c->expr, &all));
			CHECK(all->list.n == members_count(c->expr));
		}
	}
	CHECK(n == cmds.n || err);
	diag_print(&sources, &out);
	CHECK(!err || out.len);
	strbuf_free(&out);
	source_set_free(&sources);
	arena_free(&a);
	return 0;
}
