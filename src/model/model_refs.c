/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_refs: who uses what: use counts of chains, sets, objects and flowtables.
 *
 * A chain is used by the verdicts that name it: in rules, in anonymous maps, in elements of named
 * maps. Named maps tell through their data_use callback; they keep a note of each chain that their
 * elements lead to, so that the jump check need not walk their elements.
 */
#include <stdlib.h>

#include "model/model_internal.h"

/* --- walking statements ----------------------------------------------------------------------- */

static int expr_visit(struct expr *e, const struct stmt *s, expr_fn fn, void *arg);

static int list_visit(struct expr_list *l, const struct stmt *s, expr_fn fn, void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < l->n; i++)
		ret = expr_visit(l->items[i], s, fn, arg);
	return ret;
}

static int pair_visit(struct expr *a, struct expr *b, const struct stmt *s, expr_fn fn, void *arg)
{
	int ret = expr_visit(a, s, fn, arg);

	return ret ? ret : expr_visit(b, s, fn, arg);
}

static int elem_visit(struct elem_expr *e, const struct stmt *s, expr_fn fn, void *arg)
{
	int ret = e ? pair_visit(e->key, e->data, s, fn, arg) : 0;

	return ret || !e ? ret : stmts_visit(e->stmts, fn, arg);
}

static int expr_visit(struct expr *e, const struct stmt *s, expr_fn fn, void *arg)
{
	int ret = e ? fn(arg, e, s) : 0;

	if (ret || !e)
		return ret;
	switch ((enum expr_kind)e->kind) {
	case EX_PREFIX:
		return expr_visit(e->prefix.base, s, fn, arg);
	case EX_RANGE:
	case EX_BINOP:
	case EX_COMPARE:
		return pair_visit(e->pair.left, e->pair.right, s, fn, arg);
	case EX_SET:
	case EX_LIST:
	case EX_CONCAT:
		return list_visit(&e->list, s, fn, arg);
	case EX_ELEM:
		return elem_visit(e->elem, s, fn, arg);
	case EX_MAP:
		return pair_visit(e->map.key, e->map.to, s, fn, arg);
	case EX_HASH:
		return expr_visit(e->hash.key, s, fn, arg);
	default:
		return 0;
	}
}

static int stmt_visit(struct stmt *s, expr_fn fn, void *arg)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
	case ST_VERDICT:
		return expr_visit(s->expr, s, fn, arg);
	case ST_OBJREF:
		return expr_visit(s->objref.name, s, fn, arg);
	case ST_REJECT:
		return expr_visit(s->reject.code, s, fn, arg);
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
	case ST_OPTION_RESET:
		return pair_visit(s->assign.target, s->assign.value, s, fn, arg);
	case ST_NAT:
	case ST_TPROXY:
		return pair_visit(s->nat.addr, s->nat.port, s, fn, arg);
	case ST_QUEUE:
		return expr_visit(s->queue.num, s, fn, arg);
	case ST_SET: {
		int ret = expr_visit(s->set.set, s, fn, arg);

		return ret ? ret : elem_visit(s->set.elem, s, fn, arg);
	}
	case ST_METER:
		return elem_visit(s->meter.elem, s, fn, arg);
	case ST_DUP:
	case ST_FWD:
		return pair_visit(s->dup.to, s->dup.dev, s, fn, arg);
	default:
		return 0;
	}
}

int stmts_visit(struct stmt *first, expr_fn fn, void *arg)
{
	int ret = 0;

	for (struct stmt *s = first; s && !ret; s = s->next)
		ret = stmt_visit(s, fn, arg);
	return ret;
}

/* --- use counts ------------------------------------------------------------------------------- */

struct counting {
	const struct model_table *table;
	int delta;
	bool jumps;
};

static bool names_object(const struct expr *e, char *buf, size_t size)
{
	const char *text = e->symbol.text;
	size_t len = e->symbol.len;

	if (e->kind != EX_SYMBOL || len >= size)
		return false;
	memcpy(buf, text, len);
	buf[len] = 0;
	return true;
}

/* An element of an anonymous object map: its data names an object. */
static void count_named_object(struct counting *c, const struct expr *e, const struct stmt *s)
{
	char name[NAME_BUFFER];

	if (!s || s->kind != ST_OBJREF || !e->elem->data ||
	    !names_object(e->elem->data, name, sizeof(name)))
		return;
	struct model_object *o = model_object_find(c->table, s->objref.kind, name);
	if (o)
		o->use += (uint32_t)c->delta;
}

static int count_expr(void *arg, struct expr *e, const struct stmt *s)
{
	struct counting *c = arg;

	switch ((enum expr_kind)e->kind) {
	case EX_VERDICT:
		if (e->verdict.chain) {
			e->verdict.chain->use += (uint32_t)c->delta;
			c->jumps = true;
		}
		break;
	case EX_SETREF:
		if (e->setref.set) {
			e->setref.set->use += (uint32_t)c->delta;
			c->jumps |= set_is_verdict_map(&e->setref.set->decl);
		}
		break;
	case EX_ELEM:
		count_named_object(c, e, s);
		break;
	default:
		break;
	}
	return 0;
}

static void count_stmts(struct counting *c, struct stmt *first)
{
	stmts_visit(first, count_expr, c);
	for (struct stmt *s = first; s; s = s->next) {
		if (s->kind == ST_OBJREF && s->objref.object)
			s->objref.object->use += (uint32_t)c->delta;
		if (s->kind == ST_FLOW_OFFLOAD) {
			struct model_flowtable *f = model_flowtable_find(c->table, s->name);

			if (f)
				f->use += (uint32_t)c->delta;
		}
	}
}

void rule_count(struct model_rule *r, int delta)
{
	struct counting c = {.table = r->chain->table, .delta = delta};

	count_stmts(&c, r->decl.stmts);
	r->chain->n_rules += (uint32_t)delta;
	if ((c.jumps || (r->decl.barred && !r->chain->decl.base)) && delta > 0)
		list_insert(&r->jump, &r->chain->jumps);
	else
		list_remove(&r->jump);
	list_foreach (l, &r->anonymous) {
		struct model_chain *inner = container_of(l, struct model_chain, link);

		list_foreach (k, &inner->rules)
			rule_count(container_of(k, struct model_rule, link), delta);
	}
}

/* --- verdict maps ----------------------------------------------------------------------------- */

bool target_is_used(const struct model_set *s, const struct model_chain *c)
{
	const struct target *t = map_find(&s->target_by_chain, &c, sizeof(c));

	return t && t->n;
}

int target_reserve(struct model_set *s, struct model_chain *c)
{
	if (map_find(&s->target_by_chain, &c, sizeof(c)))
		return 0;
	struct target *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->chain = c;
	int err = map_insert(&s->target_by_chain, &t->chain, sizeof(t->chain), t);
	if (err)
		free(t);
	else
		list_insert(&t->link, &s->targets);
	return err;
}

void targets_purge(struct model_set *s)
{
	list_foreach_safe (l, &s->targets) {
		struct target *t = container_of(l, struct target, link);

		if (t->n)
			continue;
		map_remove(&s->target_by_chain, &t->chain, sizeof(t->chain));
		list_remove(&t->link);
		free(t);
	}
}

void targets_free(struct model_set *s)
{
	list_foreach_safe (l, &s->targets)
		free(container_of(l, struct target, link));
	list_init(&s->targets);
	map_free(&s->target_by_chain);
}

void verdict_data_use(void *set, const void *data, int delta)
{
	struct model_set *s = set;
	const struct model_verdict *v = data;
	struct target *t;

	if (!v->chain)
		return;
	v->chain->use += (uint32_t)delta;
	t = map_find(&s->target_by_chain, &v->chain, sizeof(v->chain));
	if (t)
		t->n += (uint64_t)delta;
}

void object_data_use(void *set, const void *data, int delta)
{
	struct model_object *const *o = data;

	(*o)->use += (uint32_t)delta;
}
