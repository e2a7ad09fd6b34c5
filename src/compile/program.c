/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: the lists of rules that programs are, and how chains and rules come and go in them.
 *
 * A rule that comes is linked in at once, in force from the next version on; one that goes gets
 * that version as its end, and stays linked until it is freed. So the order of a list is right in
 * every version, and taking a change back is unlinking what came and removing the ends. Each step
 * first makes sure of its place on the lists of struct changes, then cannot fail.
 *
 * The programs of anonymous chains belong to the rule whose chains they are: they come and go with
 * it, under its version. Cost of a rule: its own.
 */
#include <stdlib.h>

#include "compile/classify.h"

static struct compiled_program *compiled(const struct model_chain *chain)
{
	return chain->program;
}

const struct program *program_of(const void *chain)
{
	const struct compiled_program *p = ((const struct model_chain *)chain)->program;

	return p ? &p->pub : NULL;
}

const struct program *compile_program(const struct model_chain *chain)
{
	return program_of(chain);
}

const struct prog_rule *compile_rule(const struct model_rule *rule)
{
	const struct compiled_rule *r = rule->compiled;

	return r ? &r->pub : NULL;
}

static struct compiled_rule *rule_next(const struct compiled_rule *r)
{
	return r->pub.next ? container_of(r->pub.next, struct compiled_rule, pub) : NULL;
}

static struct compiled_rule *rule_first(const struct compiled_program *p)
{
	return p->pub.first ? container_of(p->pub.first, struct compiled_rule, pub) : NULL;
}

/* --- what rules need ------------------------------------------------------------------------ */

static void need(struct compile *c, const struct compiled_rule *r, uint32_t delta)
{
	enum family f = ((const struct model_chain *)r->program->pub.chain)->table->family;

	if (r->needs & NEED_EXACT)
		c->n_exact += delta;
	if (r->needs & NEED_ORDER)
		c->n_ordered += delta;
	if (r->needs & NEED_CONNS)
		c->n_conns += delta;
	if (!(r->needs & NEED_CONNTRACK))
		return;
	if (f == FAMILY_IP || f == FAMILY_INET)
		c->n_conntrack[CLASS_IPV4] += delta;
	if (f == FAMILY_IP6 || f == FAMILY_INET)
		c->n_conntrack[CLASS_IPV6] += delta;
	if (f == FAMILY_BRIDGE)
		c->n_conntrack[CLASS_BRIDGE] += delta;
}

/* A rule with those in its anonymous chains. */
static void needs_count(struct compile *c, const struct compiled_rule *r, uint32_t delta)
{
	const struct list *head = &((const struct model_rule *)r->pub.rule)->anonymous;

	need(c, r, delta);
	for (const struct list *l = head->next; l != head; l = l->next) {
		struct compiled_program *p = compiled(container_of(l, struct model_chain, link));

		for (struct compiled_rule *i = rule_first(p); i; i = rule_next(i))
			needs_count(c, i, delta);
	}
}

/* --- lists ---------------------------------------------------------------------------------- */

/* In front of `before`, NULL: at the end. Readers may be in the list. */
static void rule_link(struct compiled_program *p, struct compiled_rule *r,
		      struct compiled_rule *before)
{
	struct compiled_rule *prev = before ? before->prev : p->last;

	r->program = p;
	r->prev = prev;
	r->pub.next = before ? &before->pub : NULL;
	__atomic_store_n(prev ? &prev->pub.next : &p->pub.first, &r->pub, __ATOMIC_RELEASE);
	if (before)
		before->prev = r;
	else
		p->last = r;
}

static void rule_unlink(struct compiled_rule *r)
{
	struct compiled_program *p = r->program;
	struct compiled_rule *next = rule_next(r);

	*(r->prev ? &r->prev->pub.next : &p->pub.first) = r->pub.next;
	if (next)
		next->prev = r->prev;
	else
		p->last = r->prev;
}

static int touch(struct compile *c, struct compiled_program *p)
{
	int err;

	if (p->touched)
		return 0;
	err = vec_push(&c->changes.touched, p);
	p->touched = !err;
	return err;
}

/* --- programs ------------------------------------------------------------------------------- */

static struct compiled_program *program_new(struct model_chain *chain)
{
	struct compiled_program *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pub.chain = chain;
	p->pub.stats = &p->stats;
	p->pub.family = (uint8_t)chain->table->family;
	chain->program = p;
	return p;
}

int program_add(struct compile *c, struct model_chain *chain)
{
	struct compiled_program *p;
	int err = vec_reserve(&c->changes.programs_came, c->changes.programs_came.n + 1);

	if (!err)
		err = vec_reserve(&c->programs, c->programs.n + 1);
	if (!err && chain->decl.base)
		err = vec_reserve(&c->bases, c->bases.n + 1);
	if (err)
		return err;
	p = program_new(chain);
	if (!p)
		return -ENOMEM;
	c->changes.programs_came.items[c->changes.programs_came.n++] = p;
	p->at = (uint32_t)c->programs.n;
	c->programs.items[c->programs.n++] = p;
	if (!chain->decl.base)
		return 0;
	p->base_at = (uint32_t)c->bases.n;
	c->bases.items[c->bases.n++] = p;
	c->changes.hooks = true;
	return 0;
}

int program_end(struct compile *c, struct compiled_program *p)
{
	int err = vec_push(&c->changes.programs_went, p);

	if (err)
		return err;
	p->gone = true;
	c->changes.hooks |= ((const struct model_chain *)p->pub.chain)->decl.base;
	for (struct compiled_rule *r = rule_first(p); r && !err; r = rule_next(r))
		if (r->pub.to == UINT64_MAX)
			err = rule_end(c, r);
	return err;
}

static void program_free_content(struct compiled_program *p)
{
	struct model_chain *chain = (struct model_chain *)p->pub.chain;

	classify_stop(p);
	while (p->last)
		rule_free_compiled(p->last);
	chain->program = NULL;
	free(p);
}

void program_free(struct compile *c, struct compiled_program *p)
{
	const struct model_chain *chain = p->pub.chain;
	struct compiled_program *moved = c->programs.items[--c->programs.n];

	c->programs.items[p->at] = moved;
	moved->at = p->at;
	if (chain->decl.base) {
		moved = c->bases.items[--c->bases.n];
		c->bases.items[p->base_at] = moved;
		moved->base_at = p->base_at;
	}
	program_free_content(p);
}

/* --- rules ---------------------------------------------------------------------------------- */

static void anonymous_free(struct model_rule *rule)
{
	for (struct list *l = rule->anonymous.next; l != &rule->anonymous; l = l->next) {
		struct model_chain *chain = container_of(l, struct model_chain, link);

		if (compiled(chain))
			program_free_content(compiled(chain));
	}
}

static int rule_make(struct compile *c, struct model_rule *rule, struct compiled_rule **out);

static int anonymous_fill(struct compile *c, struct compiled_program *p)
{
	struct model_chain *chain = (struct model_chain *)p->pub.chain;

	for (struct list *l = chain->rules.next; l != &chain->rules; l = l->next) {
		struct compiled_rule *r;
		int err = rule_make(c, container_of(l, struct model_rule, link), &r);

		if (err)
			return err;
		rule_link(p, r, NULL);
	}
	return 0;
}

/* The rule with its anonymous chains, in no list and not counted yet. */
static int rule_make(struct compile *c, struct model_rule *rule, struct compiled_rule **out)
{
	struct list *head = &rule->anonymous;
	struct compiled_rule *r = NULL;
	int err = 0;

	for (struct list *l = head->next; l != head && !err; l = l->next)
		err = program_new(container_of(l, struct model_chain, link)) ? 0 : -ENOMEM;
	if (!err)
		err = rule_compile(c, rule, &r);
	for (struct list *l = head->next; l != head && !err; l = l->next)
		err = anonymous_fill(c, compiled(container_of(l, struct model_chain, link)));
	if (err) {
		anonymous_free(rule);
		if (r)
			rule_free_parts(r);
		free(r);
		return err;
	}
	r->pub.from = c->version + 1;
	r->pub.to = UINT64_MAX;
	rule->compiled = r;
	*out = r;
	return 0;
}

void rule_free_compiled(struct compiled_rule *r)
{
	struct model_rule *rule = (struct model_rule *)r->pub.rule;

	rule_unlink(r);
	anonymous_free(rule);
	rule->compiled = NULL;
	rule_free_parts(r);
	free(r->rest);
	free(r);
}

static int rule_add(struct compile *c, struct model_rule *rule, struct compiled_rule *before)
{
	struct compiled_program *p = compiled(rule->chain);
	struct compiled_rule *r;
	int err = touch(c, p);

	if (!err)
		err = vec_reserve(&c->changes.came, c->changes.came.n + 1);
	if (!err)
		err = rule_make(c, rule, &r);
	if (err)
		return err;
	rule_link(p, r, before);
	err = classify_add(c, r);
	if (err) {
		rule_free_compiled(r);
		return err;
	}
	c->changes.came.items[c->changes.came.n++] = r;
	p->n_rules++;
	needs_count(c, r, 1);
	return 0;
}

int rules_add(struct compile *c, struct model_rule *first)
{
	const struct list *head = &first->chain->rules;
	struct list *l = &first->link, *end = l;
	struct compiled_rule *before = NULL;
	int err = 0;

	while (end != head && !(before = container_of(end, struct model_rule, link)->compiled))
		end = end->next;
	for (; l != end && !err; l = l->next)
		err = rule_add(c, container_of(l, struct model_rule, link), before);
	return err;
}

int rule_end(struct compile *c, struct compiled_rule *r)
{
	int err = touch(c, r->program);

	if (!err)
		err = vec_push(&c->changes.went, r);
	if (err)
		return err;
	r->pub.to = c->version + 1;
	r->program->n_rules--;
	classify_end(r);
	needs_count(c, r, (uint32_t)-1);
	return 0;
}

void rule_end_undo(struct compile *c, struct compiled_rule *r)
{
	r->pub.to = UINT64_MAX;
	r->program->n_rules++;
	classify_end_undo(r);
	needs_count(c, r, 1);
}

void rule_add_undo(struct compile *c, struct compiled_rule *r)
{
	needs_count(c, r, (uint32_t)-1);
	r->program->n_rules--;
	r->program->pub.n_classified -= r->classified;
	classify_leave(r);
	rule_free_compiled(r);
}
