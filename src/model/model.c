/* SPDX-License-Identifier: Apache-2.0 */
/* model: see model.h. Life of the model and looking things up in it. */
#include "model/model.h"

#include <stdlib.h>

#include "model/model_internal.h"

struct model *model_new(const struct lang_env *env)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->env = env;
	m->next_table_handle = 1;
	list_init(&m->tables);
	list_init(&m->timed);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	if (m->open)
		model_abort(m);
	list_foreach_safe (l, &m->tables)
		table_free(container_of(l, struct model_table, link));
	for (unsigned i = 0; i < FAMILIES; i++)
		map_free(&m->table_by_name[i]);
	arena_free(&m->scratch);
	arena_free(&m->elements);
	vec_free(&m->log);
	vec_free(&m->touched);
	free(m);
}

struct model_table *model_table_find(const struct model *m, enum family f, const char *name)
{
	struct model_table *t = map_find_str(&m->table_by_name[f], name);

	return t && !t->deleted ? t : NULL;
}

/* A renamed chain is still in the map under its old name until the commit. */
struct model_chain *model_chain_find(const struct model_table *t, const char *name)
{
	struct model_chain *c = map_find_str(&t->chain_by_name, name);

	return c && !c->deleted && !strcmp(c->name, name) ? c : NULL;
}

struct model_set *model_set_find(const struct model_table *t, const char *name)
{
	struct model_set *s = map_find_str(&t->set_by_name, name);

	return s && !s->deleted ? s : NULL;
}

struct model_object *model_object_find(const struct model_table *t, enum obj_kind k,
				       const char *name)
{
	struct model_object *o = map_find_str(&t->object_by_name[k], name);

	return o && !o->deleted ? o : NULL;
}

struct model_flowtable *model_flowtable_find(const struct model_table *t, const char *name)
{
	struct model_flowtable *f = map_find_str(&t->flowtable_by_name, name);

	return f && !f->deleted ? f : NULL;
}

const struct list *model_tables(const struct model *m)
{
	return &m->tables;
}

const struct list *model_timed_sets(const struct model *m)
{
	return &m->timed;
}
