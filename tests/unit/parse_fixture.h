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

#include "lang/lines.h"
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

/* Takes commands out of the text that they stand in; their elements stay as they are. */
static inline void parsed_lines(struct parsed *t)
{
	struct cmd_list all = CMD_LIST_INIT(all), *list = &t->cmds;
	const struct cmd *c;
	struct lines *lines;
	assert_int_equal(lines_open(&t->sources, list, &lines), 0);
	for (;;) {
		assert_int_equal(lines_next(lines, &c), 0);
		if (!c)
			break;
		struct cmd *copy = c->obj == CO_ELEMENTS ? cmd_clone_elements(&t->a, c)
							 : arena_dup(&t->a, c, sizeof(*c));
		copy->next = NULL;
		*all.last = copy;
		all.last = &copy->next;
		all.n++;
	}
	lines_close(lines);
	t->cmds.first = all.first;
	t->cmds.last = all.n ? all.last : &t->cmds.first;
	t->cmds.n = all.n;
}

/* Elements stay as the parser leaves them. */
static inline void parse_raw(struct parsed *t, const char *text, size_t len,
			     const struct parse_options *options)
{
	*t = (struct parsed){.cmds = CMD_LIST_INIT(t->cmds)};
	source_set_init(&t->sources);
	int src = source_add(&t->sources, SOURCE_FILE, "f", text, len, LOC_NONE);
	t->err = src < 0 ? src : parse_text(&t->sources, src, &t->a, options, &t->cmds);
	parsed_lines(t);
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
