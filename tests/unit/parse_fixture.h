/* SPDX-License-Identifier: Apache-2.0 */
/* parse_fixture: one text parsed, with its commands and messages; commands' elements are nodes. */
#ifndef TAMIS_TEST_PARSE_FIXTURE_H
#define TAMIS_TEST_PARSE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lang/members.h"
#include "lang/parse.h"
#include "parse_dump.h"

struct parsed {
	struct source_set sources;
	struct arena a;
	struct cmd_list cmds;
	int err;
	struct strbuf messages;
};

/* Elements stay as the parser leaves them. */
static inline void parse_raw(struct parsed *t, const char *text, size_t len,
			     const struct parse_options *options)
{
	*t = (struct parsed){.cmds = CMD_LIST_INIT(t->cmds)};
	source_set_init(&t->sources);
	int src = source_add(&t->sources, SOURCE_FILE, "f", text, len, LOC_NONE);
	t->err = src < 0 ? src : parse_text(&t->sources, src, &t->a, options, &t->cmds);
	diag_print(&t->sources, &t->messages);
}

/* Makes nodes of elements. */
static inline void parsed_expand(struct parsed *t)
{
	for (struct cmd *c = t->cmds.first; c; c = c->next)
		if (c->obj == CO_ELEMENTS && c->expr && c->expr->kind == EX_SET)
			assert_int_equal(members_read_all(&t->sources, &t->a, c->expr, &c->expr),
					 0);
}

static inline void parse_with(struct parsed *t, const char *text, size_t len,
			      const struct parse_options *options)
{
	parse_raw(t, text, len, options);
	parsed_expand(t);
}

static inline void parse(struct parsed *t, const char *text)
{
	parse_with(t, text, strlen(text), NULL);
}

static inline void parsed_free(struct parsed *t)
{
	strbuf_free(&t->messages);
	source_set_free(&t->sources);
	arena_free(&t->a);
}

/* Parses what must be right. */
static inline void parse_ok(struct parsed *t, const char *text)
{
	parse(t, text);
	if (t->err)
		print_error("%s\n", strbuf_str(&t->messages));
	assert_int_equal(t->err, 0);
}

#endif
