/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_rule: commands on rules: checking, keeping the checked form, handles, positions.
 *
 * Handles as the kernel gives them: each anonymous set of a rule takes one, each anonymous chain
 * one and its rules theirs, in the order of the text; the rule itself comes last. A replaced rule
 * keeps its handle.
 *
 * Cost: that of the rule, and O(log n) for its place.
 */
#include <stdlib.h>

#include "model/model_internal.h"

enum { NODE_ALIGN = 16 };

struct building {
	struct model *m;
	struct model_rule *rule;
	uint64_t now;
};

static struct model_rule *rule_new(struct model_chain *c)
{
	struct model_rule *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	list_init(&r->link);
	list_init(&r->jump);
	list_init(&r->anonymous);
	r->chain = c;
	return r;
}

static int rule_number(struct building *b);

/* Makes a chain of a verdict's body; its rules share their statements with the body. */
static int body_build(struct building *b, struct expr *e)
{
	struct model_table *t = b->rule->chain->table;
	struct model_chain *c = chain_new(b->m, t, NULL);

	if (!c)
		return -ENOMEM;
	list_insert(&c->link, &b->rule->anonymous);
	e->verdict.chain = c;
	c->handle = handle_take(b->m, t);
	if (!c->handle)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->verdict.body->n; i++) {
		struct building inner = {b->m, rule_new(c), b->now};

		if (!inner.rule)
			return -ENOMEM;
		list_insert(&inner.rule->link, &c->rules);
		inner.rule->decl = e->verdict.body->items[i];
		int err = rule_number(&inner);
		if (err)
			return err;
		inner.rule->handle = handle_take(b->m, t);
		if (!inner.rule->handle)
			return -ENOMEM;
		inner.rule->decl.handle = inner.rule->handle;
		e->verdict.body->items[i].handle = inner.rule->handle;
	}
	return 0;
}

static int number_visit(void *arg, struct expr *e, const struct stmt *s)
{
	struct building *b = arg;

	if (e->kind == EX_SET)
		return handle_take(b->m, b->rule->chain->table) ? 0 : -ENOMEM;
	if (e->kind == EX_VERDICT && e->verdict.body)
		return body_build(b, e);
	return 0;
}

/* Handles of what the rule owns, its anonymous chains, its states. */
static int rule_number(struct building *b)
{
	int err = stmts_visit(b->rule->decl.stmts, number_visit, b);

	return err ? err : stmts_state_new(b->rule->decl.stmts, b->now);
}

static int size_visit(void *arg, struct expr *e, const struct stmt *s)
{
	size_t *size = arg;

	*size += sizeof(*e) + NODE_ALIGN;
	if (e->kind == EX_ELEM)
		*size += sizeof(*e->elem);
	if (e->kind == EX_SET || e->kind == EX_CONCAT || e->kind == EX_LIST)
		*size += e->list.n * sizeof(*e->list.items) + NODE_ALIGN;
	return 0;
}

/* What a copy of the rule takes, near enough for one block: there may be very many rules. */
static size_t decl_size(const struct rule_decl *d)
{
	size_t size = d->comment ? strlen(d->comment) + NODE_ALIGN : NODE_ALIGN;

	for (const struct stmt *s = d->stmts; s; s = s->next)
		size += sizeof(*s);
	stmts_visit(d->stmts, size_visit, &size);
	return size;
}

static void decl_clone(struct arena *a, void *to, const void *from)
{
	const struct rule_decl *f = from;
	struct rule_decl *d = to;

	d->loc = f->loc;
	d->barred = f->barred;
	d->stmts = stmt_clone_list(a, f->stmts);
	if (f->comment)
		d->comment = arena_strndup(a, f->comment, strlen(f->comment));
}

/* The sets that statements, those of anonymous chains too, write to. */
static int written_visit(void *arg, struct expr *e, const struct stmt *s)
{
	struct apply *a = arg;

	if (e->kind == EX_SETREF && s && s->kind == ST_SET && e->setref.set)
		return set_written(a, e->setref.set, s->loc);
	if (e->kind != EX_VERDICT || !e->verdict.body)
		return 0;
	for (uint32_t i = 0; i < e->verdict.body->n; i++) {
		int err = stmts_visit(e->verdict.body->items[i].stmts, written_visit, a);

		if (err)
			return err;
	}
	return 0;
}

/* Checks the command's rule and makes it; handle 0: the next one. It is in no list yet. */
static int rule_make(struct apply *a, struct model_chain *c, uint64_t handle,
		     struct model_rule **out)
{
	struct rule_decl d = a->cmd->rule;
	struct check check = apply_check(a, c->table, c);
	int err = check_result(a, check_rule(&check, &d));

	if (!err)
		err = stmts_visit(d.stmts, written_visit, a);
	if (err)
		return err;
	struct model_rule *r = rule_new(c);
	if (!r)
		return -ENOMEM;
	struct building b = {a->m, r, a->now};
	r->arena.first = decl_size(&d);
	err = arena_try(&r->arena, decl_clone, &r->decl, &d);
	if (!err)
		err = rule_number(&b);
	if (err) {
		rule_free(r);
		return fail_errno(a, a->cmd->loc, err);
	}
	r->handle = handle ? handle : handle_take(a->m, c->table);
	r->decl.handle = r->handle;
	if (!r->handle) {
		rule_free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

static int rule_enter(struct apply *a, struct model_rule *r, struct list *before)
{
	int err = item_add(a->m, NOUN_RULE, r, before, a->cmd->loc);

	if (err) {
		rule_free(r);
		return err;
	}
	rule_count(r, 1);
	jumps_rule_came(r);
	return 0;
}

int rule_delete(struct model *m, struct model_rule *r)
{
	int err = item_delete(m, NOUN_RULE, r);

	if (err)
		return err;
	rule_count(r, -1);
	return 0;
}

static struct model_rule *rule_by_handle(struct model_chain *c, uint64_t handle)
{
	struct model_rule *r = item_by_handle(c->table, NOUN_RULE, handle);

	return r && r->chain == c ? r : NULL;
}

/* nft itself looks for the place that a rule is to take, and speaks as if it were the kernel. */
static int fail_place(struct apply *a, struct loc loc)
{
	int err = fail_kernel(a, loc, ENOENT);

	a->kernel_kind = false;
	return err;
}

/* Where an added or inserted rule goes: in front of *before. */
static int rule_place(struct apply *a, struct model_chain *c, struct list **before)
{
	const struct cmd *cmd = a->cmd;
	bool insert = cmd->op == CMD_INSERT;
	struct number_at n = cmd->position.given ? cmd->position : cmd->handle;
	struct list *at = NULL;

	if (cmd->index.given) {
		struct rank_node *there = rank_at(&c->ranks, cmd->index.value);

		n = cmd->index;
		at = there ? &container_of(there, struct model_rule, rank)->link : NULL;
	} else if (n.given) {
		struct model_rule *r = rule_by_handle(c, n.value);

		at = r ? &r->link : NULL;
	} else {
		*before = insert ? c->rules.next : &c->rules;
		return 0;
	}
	if (!at)
		return fail_place(a, n.loc);
	*before = insert ? at : at->next;
	return 0;
}

static int rule_add(struct apply *a, struct model_chain *c)
{
	struct list *before = NULL;
	struct model_rule *r;
	int err = rule_place(a, c, &before);

	if (!err)
		err = rule_make(a, c, 0, &r);
	return err ? err : rule_enter(a, r, before);
}

static int rule_replace(struct apply *a, struct model_chain *c)
{
	struct model_rule *old = rule_by_handle(c, a->cmd->handle.value), *r;

	if (!old)
		return fail_place(a, a->cmd->handle.loc);
	int err = rule_make(a, c, old->handle, &r);
	if (err)
		return err;
	struct list *before = old->link.next;
	err = rule_delete(a->m, old);
	if (err) {
		rule_free(r);
		return err;
	}
	return rule_enter(a, r, before);
}

int rule_apply(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_chain *c;
	struct model_rule *r;
	bool destroy = cmd->op == CMD_DESTROY;

	if (destroy &&
	    (!(t = model_table_find(a->m, cmd->family, cmd->table.text)) ||
	     !(c = model_chain_find(t, cmd->chain.text)) || !rule_by_handle(c, cmd->handle.value)))
		return 0;
	int err = cmd_table(a, true, &t);
	if (!err)
		err = cmd_chain(a, t, true, &c);
	if (err)
		return err;
	switch (cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
	case CMD_INSERT:
		return rule_add(a, c);
	case CMD_REPLACE:
		return rule_replace(a, c);
	case CMD_DELETE:
	case CMD_DESTROY:
		r = rule_by_handle(c, cmd->handle.value);
		return r ? rule_delete(a->m, r)
			 : fail_kernel(a, cmd->handle.given ? cmd->handle.loc : cmd->loc, ENOENT);
	default:
		return fail(a, cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
