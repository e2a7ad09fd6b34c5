/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: one rule of the model becomes one compiled rule.
 */
#include <stdlib.h>

#include "compile/build.h"

enum { RULE_ARENA_FIRST = 256 };

_Noreturn void build_fail(struct build *b, int err)
{
	b->err = err;
	longjmp(b->env, 1);
}

void build_note(struct build *b, enum compile_note_kind kind, const char *what)
{
	struct compile_note n = {.kind = kind, .what = what, .rule = b->rule};
	char *copy;
	int err;

	if (!b->c->config.note || map_find_str(&b->c->noted, what))
		return;
	copy = strdup(what);
	err = copy ? vec_push(&b->c->notes, copy) : -ENOMEM;
	if (err) {
		free(copy);
		build_fail(b, err);
	}
	err = map_insert_str(&b->c->noted, copy, copy);
	if (err)
		build_fail(b, err);
	b->c->config.note(b->c->config.arg, &n);
}

void build_op(struct build *b, const struct prog_op *op)
{
	int err = vec_push(&b->ops, *op);

	if (err)
		build_fail(b, err);
}

static void build_stmts(struct build *b)
{
	struct prog_rule *r = &b->out->pub;

	for (const struct stmt *s = b->rule->decl.stmts; s; s = s->next)
		stmt_build(b, s);
	r->ops = arena_dup(b->arena, b->ops.items, b->ops.n * sizeof(*b->ops.items));
	r->n_ops = (uint32_t)b->ops.n;
}

static int build_run(struct build *b)
{
	arena_on_oom(b->arena, &b->env);
	if (setjmp(b->env)) {
		arena_on_oom(b->arena, NULL);
		return b->err ? b->err : -ENOMEM;
	}
	build_stmts(b);
	arena_on_oom(b->arena, NULL);
	return 0;
}

int rule_compile(struct compile *c, const struct model_rule *rule, struct compiled_rule **out)
{
	struct compiled_rule *r = aligned_alloc(CACHE_LINE, sizeof(*r));
	struct build *b = calloc(1, sizeof(*b));
	int err = -ENOMEM;

	if (!r || !b)
		goto err_free;
	memset(r, 0, sizeof(*r));
	r->arena = ARENA_INIT;
	r->arena.first = RULE_ARENA_FIRST;
	r->pub.stats = &r->stats;
	r->pub.rule = rule;
	r->pub.handle = rule->handle;
	b->c = c;
	b->rule = rule;
	b->table = rule->chain->table;
	b->out = r;
	b->arena = &r->arena;
	err = build_run(b);
	vec_free(&b->ops);
	if (err) {
		rule_free_parts(r);
		goto err_free;
	}
	free(b);
	*out = r;
	return 0;

err_free:
	free(r);
	free(b);
	return err;
}

void rule_free_parts(struct compiled_rule *r)
{
	vec_foreach (&r->sets, s)
		set_free(*s);
	vec_free(&r->sets);
	vec_foreach (&r->templates, t)
		state_template_free(*t);
	vec_free(&r->templates);
	arena_free(&r->arena);
}
