/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines: see lines.h. Here is also the parser's part of it: which commands it leaves as text.
 *
 * These are commands of the top level that add or delete a few elements and have no variable, which
 * may mean something else later on. Between two that share a node there is nothing but newlines,
 * semicolons and comments.
 */
#include "lang/parser.h"

#include <stdlib.h>

/* A command with more is little beside its members. */
enum { LINE_MEMBERS_MAX = 16 };

struct cmd *cmd_clone_elements(struct arena *a, const struct cmd *c)
{
	struct cmd *copy = arena_dup(a, c, sizeof(*c));
	copy->next = NULL;
	copy->table.text = arena_strndup(a, c->table.text, strlen(c->table.text));
	copy->name.text = arena_strndup(a, c->name.text, strlen(c->name.text));
	copy->expr = expr_clone(a, c->expr);
	return copy;
}

/* --- Parsing -------------------------------------------------------------------------------- */

static bool at_element_command(const struct parser *p)
{
	switch (p->tok.kw) {
	case KW_ADD:
	case KW_CREATE:
	case KW_DELETE:
	case KW_DESTROY:
		return p->tok_src == p->in.src && token_peek(p).kw == KW_ELEMENT;
	default:
		return false;
	}
}

/* Whether nothing but separators stands between two places. */
static bool only_separators(const struct parser *p, const struct cmd *before, struct loc start)
{
	const struct source *s = source_at(p->sources, start.src);
	struct token t = {.end = before->loc.end};
	if (before->loc.src != start.src)
		return false;
	for (;;) {
		lex(s->text, (uint32_t)s->len, t.end, &t);
		if (t.begin >= start.begin)
			return true;
		if (t.type != T_NEWLINE && t.type != T_SEMICOLON)
			return false;
	}
}

static void add_line(struct parser *p, const struct cmd *c)
{
	struct cmd *last = p->out->n ? container_of(p->out->last, struct cmd, next) : NULL;
	if (last && last->obj == CO_LINES && only_separators(p, last, c->loc)) {
		last->loc.end = c->loc.end;
		return;
	}
	struct cmd *lines = arena_new(p->a, struct cmd);
	lines->obj = CO_LINES;
	lines->loc = c->loc;
	cmd_list_add(p->out, lines);
}

void parse_line_as_text(struct parser *p, void *arg)
{
	if (!at_element_command(p)) {
		parse_line(p, arg);
		return;
	}
	struct cmd_list one = CMD_LIST_INIT(one), *out = p->out;
	uint64_t variables = p->nodes;
	uint32_t src = p->tok_src;
	struct arena *a = p->a;
	arena_reset(&p->line);
	p->a = &p->line;
	p->out = &one;
	parse_line(p, arg);
	p->a = a;
	p->out = out;
	const struct cmd *c = one.first;
	if (p->nodes == variables && p->last.src == src &&
	    members_count(c->expr) <= LINE_MEMBERS_MAX)
		add_line(p, c);
	else
		cmd_list_add(p->out, cmd_clone_elements(a, c));
}

/* --- Reading -------------------------------------------------------------------------------- */

struct lines {
	const struct cmd *at; /* the one that comes next, or whose text is being read */
	bool inside;	      /* of its text: the parser is at a command */
	struct arena arena;   /* of the command that was read last */
	struct parser p;
};

int lines_open(struct source_set *sources, const struct cmd_list *cmds, struct lines **out)
{
	struct lines *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->at = cmds->first;
	l->p.sources = sources;
	l->p.a = &l->arena;
	*out = l;
	return 0;
}

void lines_close(struct lines *l)
{
	arena_free(&l->arena);
	arena_free(&l->p.member);
	free(l);
}

/* Reads one command of the text, and goes on behind its end. */
static void read_line(struct lines *l, struct cmd_list *out)
{
	struct parser *p = &l->p;
	struct loc loc = l->at->loc;
	if (!l->inside) {
		const struct source *s = source_at(p->sources, loc.src);
		p->in = (struct input){s->text, (uint32_t)s->len, loc.begin, loc.src};
		token_next(p);
	}
	p->out = out;
	parse_line(p, NULL);
	while (token_is_separator(p))
		token_next(p);
	l->inside = !token_is(p, T_EOF) && p->tok.begin < loc.end;
}

int lines_next(struct lines *l, const struct cmd **out)
{
	struct cmd_list one = CMD_LIST_INIT(one);
	struct parser *p = &l->p;
	jmp_buf jump;
	if (!l->at || l->at->obj != CO_LINES) {
		*out = l->at;
		l->at = l->at ? l->at->next : NULL;
		return 0;
	}
	arena_reset(&l->arena);
	arena_on_oom(&l->arena, &jump);
	arena_on_oom(&p->member, &jump);
	/* What was parsed once has no errors. */
	p->recover = p->stop = &jump;
	if (setjmp(jump))
		return -ENOMEM;
	read_line(l, &one);
	if (!l->inside)
		l->at = l->at->next;
	*out = one.first;
	return 0;
}
