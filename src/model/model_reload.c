/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_reload: a new text in the place of all that is there, but for what sets hold.
 *
 * The tables go out, the commands find an empty ruleset, and then elements of sets that both
 * rulesets declare alike come over: with their lifetimes, comments and states. Those that the old
 * text listed and the new one does not are given up (model_listed.c). What the new text says wins:
 * of an element in both it is data and comment; what lies over one of its elements stays out. Data
 * that names chains or objects is never taken over, these are others now. Named counters, quotas
 * and limits go on from where they were, if they are declared the same. Rules begin anew. All of it
 * is new to the transaction: an abort has nothing more to undo. Cost: the commands' and that of
 * adding each element.
 */
#include <stdlib.h>

#include "model/model_internal.h"

typedef VEC(struct model_table *) table_vec;

/* Takes all tables out; in order. */
static int tables_take(struct model *m, table_vec *out)
{
	int err = 0;

	list_foreach_safe (l, &m->tables) {
		struct model_table *t = container_of(l, struct model_table, link);

		if (!err)
			err = vec_push(out, t);
		if (!err)
			err = item_delete(m, NOUN_TABLE, t);
	}
	return err;
}

/* --- elements ------------------------------------------------------------------------------- */

struct keeping {
	const struct model_set *from;
	struct model_set *to;
	bool states; /* both declare the same states */
	struct listed_index *listed;
	uint64_t now;
};

/* What makes states of the same kinds and parameters; *out NULL if there are none. */
static int states_of(void *ext, uint64_t now, struct state_template **out)
{
	unsigned n = ext ? state_list_len(ext) : 0;
	struct state_info *infos = n ? calloc(n, sizeof(*infos)) : NULL;

	*out = NULL;
	if (!n)
		return 0;
	if (!infos)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		state_read(state_list_at(ext, i), now, &infos[i]);
	int err = state_template_new(infos, n, out);
	free(infos);
	return err;
}

/* The element that came for v goes on from where v is: from the same kinds of states. */
static int states_carry(struct keeping *k, const struct set_view *v)
{
	struct set_elem *e = set_find(k->to->set, v->catchall ? NULL : v->lo, v->hi, k->now);
	struct state_list *to = e ? set_elem_ext(k->to->set, e) : NULL;
	unsigned n = to && v->ext ? MIN(state_list_len(to), state_list_len(v->ext)) : 0;
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++)
		err = state_carry(state_list_at(to, i), state_list_at(v->ext, i));
	return err;
}

/* The new text's element of the key goes, to come again with what the old one had. */
static int twin_take(struct keeping *k, struct set_elem *twin, struct set_item *item, uint8_t *data,
		     char **comment)
{
	struct set_view v;

	set_elem_view(k->to->set, twin, k->now, &v);
	if (v.data) {
		memcpy(data, v.data, set_desc_of(k->to->set)->data_len);
		item->data = data;
	}
	item->comment = NULL;
	if (v.comment) {
		*comment = strdup(v.comment);
		if (!*comment)
			return -ENOMEM;
		item->comment = *comment;
	}
	return set_delete(k->to->set, item, k->now);
}

static bool same_data(const struct set_desc *d, const struct set_view *a, const struct set_view *b)
{
	return !d->data_len || d->data_use || !memcmp(a->data, b->data, d->data_len);
}

/*
 * *fits: the twin remembers the same things. Then it stays where it is: what came after it may lie
 * over it and keep it from coming again. 0 or -ENOMEM.
 */
static int twin_fits(const struct keeping *k, const struct set_view *twin,
		     const struct state_template *template, bool *fits)
{
	struct state_template *own;
	int err = template ? states_of(twin->ext, k->now, &own) : 0;

	if (err)
		return err;
	*fits = !template || (own && state_template_same(own, template));
	if (template)
		state_template_free(own);
	return 0;
}

static int element_keep(struct keeping *k, const struct set_view *v)
{
	const struct set_desc *d = set_desc_of(k->to->set);
	struct set_elem *twin = set_find(k->to->set, v->catchall ? NULL : v->lo, v->hi, k->now);
	uint8_t data[MAX(2 * SET_KEY_MAX, sizeof(struct model_verdict))];
	struct state_template *template = NULL;
	struct set_item item = {.lo = v->lo,
				.hi = v->hi,
				.catchall = v->catchall,
				.data = v->data,
				.comment = v->comment,
				.timeout_ns = v->timeout_ns,
				.expires_in_ns = v->expires_in_ns};
	char *comment = NULL;
	bool stays = false;
	struct set_view w;
	int err;

	if (d->timeout && !v->timeout_ns)
		item.timeout_ns = SET_NEVER;
	if (twin)
		set_elem_view(k->to->set, twin, k->now, &w);
	if (twin ? !same_data(d, v, &w) : d->data_use || listed_index_has(k->listed, v))
		return 0;
	err = k->states ? states_of(v->ext, k->now, &template) : 0;
	if (!err && twin)
		err = twin_fits(k, &w, template, &stays);
	if (!err && stays)
		item.data = w.data;
	else if (!err && twin)
		err = twin_take(k, twin, &item, data, &comment);
	item.template = stays ? NULL : template;
	if (!err)
		err = set_add(k->to->set, &item, stays ? 0 : SET_ADD_EXCL, k->now, NULL);
	if (!err && template)
		err = states_carry(k, v);
	state_template_free(template);
	free(comment);
	return err == -EEXIST ? 0 : err;
}

static int set_keep(struct model_set *from, struct model_set *to, uint64_t now)
{
	const struct state_template *a = set_desc_of(from->set)->ext_ctx;
	const struct state_template *b = set_desc_of(to->set)->ext_ctx;
	struct keeping k = {from, to, a && b ? state_template_same(a, b) : a == b, NULL, now};
	struct set_cursor *c;
	struct set_view v;

	if (!set_decl_same(&from->decl, &to->decl) || to->decl.flags & SETF_CONSTANT)
		return 0;
	int err = listed_index_make(from, &k.listed);
	if (err)
		return err;
	err = set_cursor_open(from->set, SET_CURSOR_ARRIVAL, NULL, now, &c);
	if (err) {
		listed_index_free(k.listed);
		return err;
	}
	while (!err && set_cursor_next(c, &v))
		err = element_keep(&k, &v);
	set_cursor_close(c);
	listed_index_free(k.listed);
	return err;
}

/* --- sets of other front ends ---------------------------------------------------------------- */

/* Notes the sets of a table that commands declare anew, by their names. */
static int declared_find(const struct model_table *t, const struct cmd *first, struct map *out)
{
	int err = 0;

	for (const struct cmd *c = first; c && !err; c = c->next) {
		struct model_set *s;

		if ((c->op != CMD_ADD && c->op != CMD_CREATE) ||
		    (c->obj != CO_SET && c->obj != CO_MAP) || c->family != t->family ||
		    strcmp(c->table.text, t->name))
			continue;
		s = model_set_find(t, c->name.text);
		err = s ? map_insert_str(out, s->name, s) : 0;
		err = err == -EEXIST ? 0 : err;
	}
	return err;
}

/* The table, which the commands find there. */
static int foreign_table(struct model *m, const struct model_table *from, struct model_table **out)
{
	int err;

	*out = model_table_find(m, from->family, from->name);
	if (*out)
		return 0;
	err = table_item_add(m, from->family, from->name, &(struct table_decl){0}, LOC_NONE, out);
	if (!err)
		(*out)->foreign = true;
	return err;
}

static int foreign_carry_one(struct model *m, struct model_set *from, uint64_t now)
{
	struct model_table *t;
	struct model_set *to;
	int err = foreign_table(m, from->table, &t);

	if (!err)
		err = set_item_add(m, t, from->name, &from->decl, LOC_NONE, &to);
	if (err)
		return err;
	if (set_desc_of(from->set)->keying)
		err = set_key_by(to->set, set_desc_of(from->set)->keying);
	if (err)
		return err;
	to->foreign = true;
	set_expect(to->set, set_count(from->set, now));
	return set_keep(from, to, now);
}

static bool has_foreign(const struct model_table *t)
{
	list_foreach (l, &t->sets)
		if (container_of(l, struct model_set, link)->foreign)
			return true;
	return false;
}

int foreign_carry(struct model *m, const struct model_table *from, const struct cmd *first,
		  uint64_t now)
{
	struct map declared = MAP_INIT;
	int err = has_foreign(from) ? declared_find(from, first, &declared) : 0;

	list_foreach (l, &from->sets) {
		struct model_set *s = container_of(l, struct model_set, link);

		if (!err && s->foreign && !map_find_str(&declared, s->name))
			err = foreign_carry_one(m, s, now);
	}
	map_free(&declared);
	return err;
}

/* --- objects -------------------------------------------------------------------------------- */

static int object_keep(const struct model_object *from, struct model_object *to)
{
	return from->state && to->state ? state_carry(to->state, from->state) : 0;
}

/* --- reload --------------------------------------------------------------------------------- */

static int table_keep(struct model *m, struct model_table *from, struct source_set *sources,
		      uint64_t now)
{
	struct model_table *to = model_table_find(m, from->family, from->name);
	int err = 0;

	if (!to)
		return 0;
	list_foreach (l, &from->sets) {
		struct model_set *s = container_of(l, struct model_set, link);
		struct model_set *same = model_set_find(to, s->name);

		/* A foreign one has all of it already. */
		err = same && !same->foreign ? set_keep(s, same, now) : 0;
		if (err == -ENFILE)
			return diag_error(sources, LOC_NONE,
					  "set '%s' of table %s '%s' holds more than its new size",
					  s->name, family_name(to->family), to->name);
		if (err)
			return err;
	}
	list_foreach (l, &from->objects) {
		struct model_object *o = container_of(l, struct model_object, link);
		struct model_object *same = model_object_find(to, o->kind, o->name);

		err = same ? object_keep(o, same) : 0;
		if (err)
			return err;
	}
	return 0;
}

int model_reload(struct model *m, struct source_set *sources, struct cmd_list *cmds, uint64_t now,
		 struct strbuf *out)
{
	table_vec before = {0};
	int err = tables_take(m, &before);

	vec_foreach (&before, t)
		err = err ? err : foreign_carry(m, *t, cmds->first, now);
	if (!err)
		err = model_apply(m, sources, cmds, now, out);
	vec_foreach (&before, t)
		err = err ? err : table_keep(m, *t, sources, now);
	vec_free(&before);
	return err;
}
