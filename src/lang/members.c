/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: see members.h. Here is also the parser's part of it: which members it leaves as text.
 *
 * A member stays text if it is of one source and has neither a variable, which may mean something
 * else later on, nor a set within. Members that follow one another share a node, whose place goes
 * from the first one's begin to the last one's end; what stands between them are commas, newlines
 * and comments.
 */
#include "lang/parser.h"

#include <stdlib.h>

/* --- Parsing -------------------------------------------------------------------------------- */

/* `$name` is all of a member. */
static bool at_variable_member(const struct parser *p)
{
	if (!token_is(p, T_DOLLAR))
		return false;
	char after = lex_next_byte(p->in.text, p->in.len, token_peek(p).end);
	return after == ',' || after == '}';
}

static void splice(struct parser *p, struct expr *set, struct expr *e)
{
	if (e->kind != EX_SET) {
		expr_list_add(p->a, &set->list, e);
		return;
	}
	for (uint32_t i = 0; i < e->list.n; i++)
		expr_list_add(p->a, &set->list, e->list.items[i]);
}

/*
 * Parses a member for its errors and its size: an EX_MEMBERS's. False if it cannot be text; then
 * its nodes are in the set's list.
 */
static bool member_as_text(struct parser *p, struct expr *set, uint32_t *nodes, unsigned *depth)
{
	uint32_t src = p->tok_src;
	uint64_t variables = p->nodes;
	struct arena *a = p->a;
	arena_reset(&p->member);
	p->a = &p->member;
	struct expr *one = expr_new(p->a, EX_SET, token_loc(p));
	parse_member(p, one);
	p->a = a;
	if (p->nodes == variables && p->last.src == src && one->list.n == 1) {
		*depth = expr_measure(one->list.items[0], nodes);
		return true;
	}
	for (uint32_t i = 0; i < one->list.n; i++)
		expr_list_add(p->a, &set->list, expr_clone(p->a, one->list.items[i]));
	return false;
}

/* Takes a member; the result is the run of text that it is the end of, or NULL. */
static struct expr *take_member(struct parser *p, struct expr *set, struct expr *run)
{
	struct loc start = token_loc(p);
	uint32_t nodes = 0;
	unsigned depth = 1;
	if (at_plain_member(p)) {
		token_next(p);
		nodes = 1;
	} else if (at_variable_member(p)) {
		splice(p, set, parse_variable_members(p));
		return NULL;
	} else if (token_is(p, T_LBRACE)) {
		parse_member(p, set);
		return NULL;
	} else if (!member_as_text(p, set, &nodes, &depth)) {
		return NULL;
	}
	if (!run || run->loc.src != start.src) {
		run = expr_new(p->a, EX_MEMBERS, start);
		expr_list_add(p->a, &set->list, run);
	}
	run->loc.end = p->last.end;
	run->members.n++;
	run->members.nodes += nodes;
	run->members.depth = MAX(run->members.depth, depth);
	return run;
}

struct expr *parse_members(struct parser *p)
{
	struct expr *set = expr_new(p->a, EX_SET, token_loc(p)), *run = NULL;
	token_expect(p, T_LBRACE, "'{'");
	parse_enter(p, 1);
	token_skip_newlines(p);
	while (!token_is(p, T_RBRACE)) {
		run = take_member(p, set, run);
		token_skip_commas(p);
	}
	parse_leave(p, 1);
	token_next(p);
	set->loc = parse_span(p, set->loc);
	return set;
}

struct expr *parse_set_or_variable(struct parser *p)
{
	if (token_is(p, T_DOLLAR))
		return parse_variable_members(p);
	if (!token_is(p, T_LBRACE))
		parse_syntax_error(p, "'{' or '$'");
	return parse_members(p);
}

/* --- Reading -------------------------------------------------------------------------------- */

struct members {
	const struct expr *set;
	uint32_t at;   /* the item of its list that comes next, or is being read */
	bool inside;   /* of the text of that item: the parser is at a member */
	uint32_t json; /* or JSON is, at this place */
	struct parser p;
};

int members_open(struct source_set *sources, const struct expr *set, struct members **out)
{
	struct members *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->set = set;
	m->p.sources = sources;
	*out = m;
	return 0;
}

void members_close(struct members *m)
{
	free(m);
}

/* Members of a run of JSON; like read_text(). */
static bool read_json(struct members *m, const struct expr *run, uint32_t most, struct expr *out)
{
	struct parser *p = &m->p;
	if (!m->inside)
		m->json = run->loc.begin;
	if (json_elements_read(p->sources, run->loc.src, p->a, &m->json, run->loc.end, most, out))
		longjmp(*p->recover, 1);
	m->inside = m->json < run->loc.end;
	return !m->inside;
}

/* Members of a run, until the list has `most`. True at its end. */
static bool read_text(struct members *m, const struct expr *run, uint32_t most, struct expr *out)
{
	struct parser *p = &m->p;
	const struct source *s = source_at(p->sources, run->loc.src);
	if (s->kind == SOURCE_JSON)
		return read_json(m, run, most, out);
	if (!m->inside) {
		p->in = (struct input){s->text, (uint32_t)s->len, run->loc.begin, run->loc.src};
		token_next(p);
	}
	while (p->tok.begin < run->loc.end && out->list.n < most) {
		parse_member(p, out);
		while (token_is(p, T_COMMA) || token_is(p, T_NEWLINE))
			token_next(p);
	}
	m->inside = p->tok.begin < run->loc.end;
	return !m->inside;
}

static void read_items(struct members *m, uint32_t most, struct expr *out)
{
	struct expr *const *items = m->set->list.items;
	while (m->at < m->set->list.n && out->list.n < most) {
		const struct expr *item = items[m->at];
		if (item->kind != EX_MEMBERS)
			expr_list_add(m->p.a, &out->list, expr_clone(m->p.a, item));
		else if (!read_text(m, item, most, out))
			continue;
		m->at++;
	}
}

int members_read(struct members *m, struct arena *a, uint32_t most, struct expr **out)
{
	struct parser *p = &m->p;
	jmp_buf jump, *before = arena_on_oom(a, &jump);
	p->a = a;
	/* What was parsed once has no errors. */
	p->recover = p->stop = &jump;
	if (setjmp(jump)) {
		arena_on_oom(a, before);
		return -ENOMEM;
	}
	struct expr *set = expr_new(a, EX_SET, m->set->loc);
	if (m->set->kind == EX_SET) {
		read_items(m, most, set);
	} else if (!m->at) {
		expr_list_add(a, &set->list, expr_clone(a, m->set));
		m->at = 1;
	}
	arena_on_oom(a, before);
	*out = set;
	return 0;
}

uint32_t members_count(const struct expr *set)
{
	uint32_t n = 0;
	if (set->kind != EX_SET)
		return 1;
	for (uint32_t i = 0; i < set->list.n; i++) {
		const struct expr *item = set->list.items[i];
		n += item->kind == EX_MEMBERS ? item->members.n : 1;
	}
	return n;
}

int members_read_all(struct source_set *sources, struct arena *a, const struct expr *set,
		     struct expr **out)
{
	struct members *m;
	int err = members_open(sources, set, &m);
	if (err)
		return err;
	err = members_read(m, a, UINT32_MAX, out);
	members_close(m);
	return err;
}
