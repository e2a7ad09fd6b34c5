/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_show: the commands that print: list, get, reset.
 *
 * A reset prints the values and takes effect at the commit. Cost: proportional to what is printed;
 * `get` is a lookup for each element.
 */
#include <stdlib.h>

#include "lang/members.h"
#include "model/model_internal.h"

struct show {
	struct apply *a;
	struct lister l;
	bool reset;
};

static bool table_wanted(const struct cmd *c, const struct model_table *t)
{
	if (c->table.text)
		return t->family == c->family && !strcmp(t->name, c->table.text);
	return c->family == FAMILY_ANY || c->family == t->family;
}

/* --- reset ----------------------------------------------------------------------------------- */

static int elem_reset(struct model *m, struct state_list *l)
{
	int err = 0;

	for (unsigned i = 0; l && !err && i < state_list_len(l); i++)
		err = state_reset_later(m, state_list_at(l, i));
	return err;
}

static int set_reset(struct model *m, struct model_set *s, uint64_t now)
{
	struct set_cursor *c;
	struct set_view v;
	int err = set_cursor_open(s->set, SET_CURSOR_USER, NULL, now, &c);

	if (err)
		return err;
	while (!err && set_cursor_next(c, &v))
		err = elem_reset(m, v.ext);
	set_cursor_close(c);
	return err;
}

static int chain_reset(struct model *m, struct model_chain *c)
{
	int err = 0;

	list_foreach (l, &c->rules)
		err = err ? err : rule_reset(m, container_of(l, struct model_rule, link));
	return err;
}

static int table_reset_rules(struct model *m, struct model_table *t)
{
	int err = 0;

	list_foreach (l, &t->chains)
		err = err ? err : chain_reset(m, container_of(l, struct model_chain, link));
	return err;
}

/* --- what a table has of a kind -------------------------------------------------------------- */

static bool set_wanted(const struct cmd *c, const struct model_set *s)
{
	switch (c->obj) {
	case CO_SETS:
		return !(s->decl.flags & SETF_MAP);
	case CO_MAPS:
		return s->decl.flags & SETF_MAP;
	default:
		return s->decl.flags & SETF_DYNAMIC;
	}
}

static int show_objects(struct show *s, struct model_table *t)
{
	int err = 0;

	if (list_is_empty(&t->objects))
		return 0;
	list_table_open(&s->l, t);
	list_foreach (k, &t->objects) {
		struct model_object *o = container_of(k, struct model_object, link);

		if (o->kind != s->a->cmd->obj_kind)
			continue;
		list_object(&s->l, o);
		if (s->reset && o->state && !err)
			err = state_reset_later(s->a->m, o->state);
	}
	list_table_close(&s->l);
	return err;
}

static int show_kind(struct show *s, struct model_table *t)
{
	const struct cmd *c = s->a->cmd;

	if (c->obj == CO_OBJECTS)
		return show_objects(s, t);
	list_table_open(&s->l, t);
	if (c->obj == CO_CHAINS)
		list_foreach (k, &t->chains)
			list_chain(&s->l, container_of(k, struct model_chain, link), false);
	else if (c->obj == CO_FLOWTABLES)
		list_foreach (k, &t->flowtables)
			list_flowtable(&s->l, container_of(k, struct model_flowtable, link));
	else
		list_foreach (k, &t->sets)
			if (set_wanted(c, container_of(k, struct model_set, link)))
				list_set(&s->l, container_of(k, struct model_set, link), NULL);
	list_table_close(&s->l);
	return 0;
}

/* Commands that go through tables: all of them, a family's, or one. */
static int show_tables(struct show *s)
{
	const struct cmd *c = s->a->cmd;
	struct model_table *only;
	int err = c->table.text ? cmd_table(s->a, false, &only) : 0;

	list_foreach (k, &s->a->m->tables) {
		struct model_table *t = container_of(k, struct model_table, link);

		if (err || !table_wanted(c, t))
			continue;
		if (c->obj == CO_TABLES) {
			strbuf_printf(s->l.out, "table %s %s\n", family_name(t->family), t->name);
		} else if (c->obj == CO_RULESET || c->obj == CO_TABLE || c->obj == CO_RULES) {
			list_table(&s->l, t);
			if (s->reset)
				err = table_reset_rules(s->a->m, t);
		} else {
			err = show_kind(s, t);
		}
	}
	return err;
}

/* --- one thing ------------------------------------------------------------------------------- */

static int show_chain(struct show *s, struct model_table *t)
{
	const struct cmd *c = s->a->cmd;
	struct model_chain *chain;
	struct model_rule *r = NULL;
	int err = cmd_chain(s->a, t, false, &chain);

	if (err)
		return err;
	if (c->obj == CO_RULE && c->handle.given) {
		r = item_by_handle(t, NOUN_RULE, c->handle.value);
		if (!r || r->chain != chain)
			return fail_kernel(s->a, c->handle.loc, ENOENT);
	}
	list_table_open(&s->l, t);
	if (r)
		list_chain_rule(&s->l, chain, r);
	else
		list_chain(&s->l, chain, true);
	list_table_close(&s->l);
	if (!s->reset)
		return 0;
	return r ? rule_reset(s->a->m, r) : chain_reset(s->a->m, chain);
}

static int show_set(struct show *s, struct model_table *t)
{
	const struct cmd *c = s->a->cmd;
	struct model_set *set;
	int err = cmd_set(s->a, t, false, &set);

	if (err)
		return err;
	if (c->obj != CO_METER && (c->obj == CO_MAP) != !!(set->decl.flags & SETF_MAP))
		return fail(s->a, c->name.loc, "%s", strerror(ENOENT));
	list_table_open(&s->l, t);
	list_set(&s->l, set, NULL);
	list_table_close(&s->l);
	return s->reset ? set_reset(s->a->m, set, s->a->now) : 0;
}

static int show_object(struct show *s, struct model_table *t)
{
	const struct cmd *c = s->a->cmd;
	struct model_object *o = model_object_find(t, c->obj_kind, c->name.text);

	if (!o && s->reset)
		return fail_kernel(s->a, c->loc, ENOENT);
	if (!o)
		return fail_missing(s->a, NOUN_OBJECT, c->name, false);
	list_table_open(&s->l, t);
	list_object(&s->l, o);
	list_table_close(&s->l);
	return s->reset && o->state ? state_reset_later(s->a->m, o->state) : 0;
}

static int show_flowtable(struct show *s, struct model_table *t)
{
	struct model_flowtable *f;
	int err = cmd_flowtable(s->a, t, false, &f);

	if (err)
		return err;
	list_table_open(&s->l, t);
	list_flowtable(&s->l, f);
	list_table_close(&s->l);
	return 0;
}

/* --- elements -------------------------------------------------------------------------------- */

static int element_find(struct show *s, struct model_set *set, const struct expr *e,
			struct set_view *out)
{
	const struct expr *key = e->kind == EX_ELEM ? e->elem->key : e;
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];

	if (key->kind == EX_CATCHALL)
		return set_get(set->set, NULL, NULL, s->a->now, out);
	if (!check_key_bytes(key, lo, hi))
		return -ENOENT;
	return set_get(set->set, lo, hi, s->a->now, out);
}

static int show_elements(struct show *s, struct model_table *t)
{
	struct apply *a = s->a;
	struct expr *items;
	struct model_set *set;
	int err = cmd_set(a, t, false, &set);

	if (err)
		return err;
	err = members_read_all(a->src, &a->m->scratch, a->cmd->expr, &items);
	if (err)
		return err;
	struct check check = apply_check(a, t, NULL);
	err = check_result(a, check_element_keys(&check, &set->decl, items));
	if (err)
		return err;
	struct expr **found = calloc(items->list.n + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < items->list.n; i++) {
		struct set_view v;

		err = element_find(s, set, items->list.items[i], &v);
		if (err)
			break;
		found[i] = element_expr(&a->m->scratch, set, &v, a->now);
		if (!found[i])
			err = -ENOMEM;
		else if (s->reset)
			err = elem_reset(a->m, v.ext);
	}
	if (err) {
		err = fail_errno(a, a->cmd->loc, err);
	} else {
		list_table_open(&s->l, t);
		list_set(&s->l, set, found);
		list_table_close(&s->l);
	}
	free(found);
	return err;
}

/* ----------------------------------------------------------------------------------------------------
 */

static int show_one(struct show *s)
{
	struct model_table *t;
	int err = cmd_table(s->a, false, &t);

	if (err)
		return err;
	switch (s->a->cmd->obj) {
	case CO_CHAIN:
	case CO_RULE:
		return show_chain(s, t);
	case CO_RULES:
		return show_chain(s, t);
	case CO_SET:
	case CO_MAP:
	case CO_METER:
		return show_set(s, t);
	case CO_ELEMENTS:
		return show_elements(s, t);
	case CO_OBJECT:
		return show_object(s, t);
	case CO_FLOWTABLE:
		return show_flowtable(s, t);
	default:
		return fail(s->a, s->a->cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}

int list_apply(struct apply *a)
{
	struct strbuf unseen = STRBUF_INIT;
	struct show s = {.a = a, .reset = a->cmd->op == CMD_RESET};
	int err;

	s.l = lister_for(a->m, a->now, a->out ? a->out : &unseen);
	switch (a->cmd->obj) {
	case CO_RULES:
		err = a->cmd->chain.text ? show_one(&s) : show_tables(&s);
		break;
	case CO_RULESET:
	case CO_TABLE:
	case CO_TABLES:
	case CO_CHAINS:
	case CO_SETS:
	case CO_MAPS:
	case CO_METERS:
	case CO_OBJECTS:
	case CO_FLOWTABLES:
		err = show_tables(&s);
		break;
	case CO_HOOKS:
		err = fail(a, a->cmd->loc, "the hooks of the kernel are not known here");
		break;
	case CO_EXPR:
		err = fail(a, a->cmd->loc, "%s", strerror(EOPNOTSUPP));
		break;
	default:
		err = show_one(&s);
	}
	strbuf_free(&unseen);
	return err;
}
