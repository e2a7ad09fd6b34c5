/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_rule: the statements of a rule in order, and the entries of check.h.
 *
 * Each entry sets the arena's jump point, so that running out of memory anywhere below comes back
 * here as -ENOMEM; what lies between owns nothing but memory of the arena.
 */
#include "model/check_internal.h"

static bool is_terminal(const struct stmt *s)
{
	switch (s->kind) {
	case ST_VERDICT:
		return s->expr->kind == EX_VERDICT && s->expr->verdict.code != VERDICT_CONTINUE;
	case ST_REJECT:
	case ST_NAT:
	case ST_QUEUE:
		return true;
	default:
		return false;
	}
}

struct loc keyword_loc(const struct eval *ev, struct loc loc)
{
	const struct source_set *s = ev->c->sources;
	uint32_t at = loc.begin;

	if (!loc.src || loc.src > s->sources.n || loc.end > s->sources.items[loc.src - 1].len)
		return loc;
	while (at < loc.end && s->sources.items[loc.src - 1].text[at] != ' ' &&
	       s->sources.items[loc.src - 1].text[at] != '\t')
		at++;
	loc.end = at;
	return loc;
}

int rule_check(struct check *c, struct rule_decl *r, unsigned depth)
{
	struct eval ev = {.c = c, .a = c->arena, .rule = r, .at = &r->stmts, .depth = depth};
	const struct stmt *last = NULL;

	proto_ctx_init(&ev.pctx, c->family);
	for (struct stmt *s = r->stmts; s; s = s->next) {
		int err;

		if (last)
			return check_error2(&ev,
					    s->kind == ST_COUNTER ? keyword_loc(&ev, s->loc)
								  : s->loc,
					    last->kind == ST_QUEUE ? keyword_loc(&ev, last->loc)
								   : last->loc,
					    "Statement after terminal statement has no effect");
		err = stmt_check(&ev, s);
		if (err)
			return err;
		if (is_terminal(s))
			last = s;
		ev.at = &s->next;
	}
	listing_normalise(&ev, r);
	return 0;
}

int check_rule(struct check *c, struct rule_decl *r)
{
	jmp_buf oom, *old = c->arena->on_oom;

	if (setjmp(oom)) {
		arena_on_oom(c->arena, old);
		return -ENOMEM;
	}
	arena_on_oom(c->arena, &oom);

	int err = rule_check(c, r, 0);

	arena_on_oom(c->arena, old);
	return err;
}

static int elements(struct check *c, const struct set_decl *d, struct expr *e, bool keys_only)
{
	struct eval ev = {.c = c, .a = c->arena};
	jmp_buf oom, *old = c->arena->on_oom;

	if (setjmp(oom)) {
		arena_on_oom(c->arena, old);
		return -ENOMEM;
	}
	arena_on_oom(c->arena, &oom);
	proto_ctx_init(&ev.pctx, c->family);

	int err = set_elements_check(&ev, d, e, keys_only);

	arena_on_oom(c->arena, old);
	return err;
}

int check_elements(struct check *c, const struct set_decl *d, struct expr *e)
{
	return elements(c, d, e, false);
}

int check_element_keys(struct check *c, const struct set_decl *d, struct expr *e)
{
	return elements(c, d, e, true);
}
