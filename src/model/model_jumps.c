/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_jumps: jumps must not go round or too deep, nor to rules that a base chain may not reach.
 *
 * A whole check is a depth-first walk from a table's base chains over the rules that may leave for
 * another chain (model_chain.jumps), each chain once. Between two of them every chain knows its
 * level, which is above that of each chain that leads to it, and the base chains that may lead to
 * it. Both are upper bounds: a rule that comes raises what is below it, as far as it is not high
 * enough yet, and nothing that goes lowers them. (Levels of an order that grows: Bender, Fineman,
 * Gilbert, Tarjan, "A new approach to incremental cycle detection and related problems", 2015; here
 * they are few, so that a circle is one that climbs too high.) Only where that goes beyond a limit
 * a whole check decides, and sets the bounds anew.
 *
 * Cost of a rule: the chains that it raises, none if it jumps where others of its level do; a
 * chain is raised at most as often as there are levels and kinds of base chains. Of a whole check:
 * the rules that jump.
 */
#include "model/model_internal.h"

/* --- what a rule raises ------------------------------------------------------------------------
 */

struct raise {
	unsigned level;
	uint32_t reach;
};

static int rule_raise(struct model_rule *r);

/* 0, or -EMLINK: it goes too high, or to a rule that must not be reached. */
static int chain_raise(const struct raise *by, struct model_chain *c)
{
	int err = 0;

	if (by->level <= c->level && !(by->reach & ~c->reach))
		return 0;
	if (by->level > JUMP_DEPTH_MAX + 1)
		return -EMLINK;
	c->level = (uint8_t)MAX(c->level, by->level);
	c->reach |= by->reach;
	for (struct list *l = c->jumps.next; l != &c->jumps && !err; l = l->next)
		err = rule_raise(container_of(l, struct model_rule, jump));
	return err;
}

static int raise_expr(void *arg, struct expr *e, const struct stmt *s)
{
	int err = 0;

	if (e->kind == EX_VERDICT && e->verdict.chain)
		return chain_raise(arg, e->verdict.chain);
	if (e->kind == EX_SETREF && e->setref.set)
		list_foreach (l, &e->setref.set->targets) {
			struct target *t = container_of(l, struct target, link);

			if (!err && t->n)
				err = chain_raise(arg, t->chain);
		}
	return err;
}

static int rule_raise(struct model_rule *r)
{
	struct model_chain *c = r->chain;
	struct raise by;

	if (c->decl.base) {
		c->level = 1;
		c->reach = base_bit(c->decl.type, c->decl.hook);
	} else if (r->decl.barred & c->reach) {
		return -EMLINK;
	}
	if (!c->level) /* no base chain leads here */
		return 0;
	by = (struct raise){c->level + 1u, c->reach};
	return stmts_visit(r->decl.stmts, raise_expr, &by);
}

void jumps_rule_came(struct model_rule *r)
{
	struct model_table *t = r->chain->table;

	if (list_is_empty(&r->jump))
		return;
	if (t->jumps_stale || rule_raise(r))
		t->jumps_stale = t->jumps_added = true;
}

static void chains_reset(struct list *chains)
{
	list_foreach (l, chains) {
		struct model_chain *c = container_of(l, struct model_chain, link);

		c->level = 0;
		c->reach = 0;
		list_foreach (k, &c->jumps)
			chains_reset(&container_of(k, struct model_rule, jump)->anonymous);
	}
}

/* After a whole check: nothing goes beyond a limit. */
static void bounds_set(struct model_table *t)
{
	int err = 0;

	chains_reset(&t->chains);
	list_foreach (l, &t->chains) {
		struct model_chain *c = container_of(l, struct model_chain, link);

		if (!c->decl.base)
			continue;
		list_foreach (k, &c->jumps)
			err = err ? err : rule_raise(container_of(k, struct model_rule, jump));
	}
	t->jumps_stale = err != 0;
}

/* --- all of a table --------------------------------------------------------------------------- */

struct jump_walk {
	uint64_t number;
	uint32_t base; /* base_bit() of the chain that the walk began in */
	unsigned level;
	struct model_rule *at[JUMP_DEPTH_MAX + 1];
};

static int walk_chain(struct jump_walk *w, struct model_chain *c);

struct jump_step {
	struct jump_walk *walk;
	uint8_t depth;
	uint32_t barred;
};

static int walk_to(struct jump_step *j, struct model_chain *c)
{
	struct jump_walk *w = j->walk;

	if (w->level >= JUMP_DEPTH_MAX)
		return -EMLINK;
	w->level++;
	int err = walk_chain(w, c);
	if (err)
		return err;
	w->level--;
	j->depth = (uint8_t)MAX(j->depth, c->depth + 1);
	j->barred |= c->barred;
	return 0;
}

static int walk_expr(void *arg, struct expr *e, const struct stmt *s)
{
	struct jump_step *j = arg;
	int err = 0;

	if (e->kind == EX_VERDICT && e->verdict.chain)
		return walk_to(j, e->verdict.chain);
	if (e->kind == EX_SETREF && e->setref.set)
		list_foreach (l, &e->setref.set->targets) {
			struct target *t = container_of(l, struct target, link);

			if (!err && t->n)
				err = walk_to(j, t->chain);
		}
	return err;
}

/* On the way down in w->at; level and at[] stay as they are on an error. */
static int walk_chain(struct jump_walk *w, struct model_chain *c)
{
	struct jump_step j = {.walk = w};

	/* Where a rule is barred the walk goes down to it again, to know the way. */
	if (c->walk == w->number && !(c->barred & w->base))
		return w->level + c->depth > JUMP_DEPTH_MAX ? -EMLINK : 0;
	list_foreach (l, &c->jumps) {
		struct model_rule *r = container_of(l, struct model_rule, jump);

		w->at[w->level] = r;
		if (!c->decl.base)
			j.barred |= r->decl.barred;
		if (j.barred & w->base)
			return -EOPNOTSUPP;
		int err = stmts_visit(r->decl.stmts, walk_expr, &j);
		if (err)
			return err;
	}
	c->walk = w->number;
	c->depth = j.depth;
	c->barred = j.barred;
	return 0;
}

int jumps_check(struct model *m, struct model_table *t, struct model_rule **culprit)
{
	struct jump_walk w = {.number = ++m->walk};

	list_foreach (l, &t->chains) {
		struct model_chain *c = container_of(l, struct model_chain, link);

		if (!c->decl.base)
			continue;
		w.level = 0;
		w.base = base_bit(c->decl.type, c->decl.hook);
		int err = walk_chain(&w, c);
		if (!err)
			continue;
		*culprit = NULL;
		for (unsigned i = 0; i <= w.level; i++)
			if (w.at[i] && (!*culprit || w.at[i]->handle > (*culprit)->handle))
				*culprit = w.at[i];
		return err;
	}
	bounds_set(t);
	return 0;
}
