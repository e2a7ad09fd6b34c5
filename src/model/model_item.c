/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_item: makes and frees tables, chains, rules, sets, objects and flowtables, and says in
 * which list and maps each of them stands.
 *
 * A table's freeing goes rules, sets, objects, flowtables, chains: elements of verdict maps and
 * object maps tell chains and objects when they go. Cost: that of the memory.
 */
#include <stdlib.h>

#include "model/model_internal.h"

enum { ARENA_SMALL = 512 };

static struct arena arena_small(void)
{
	return (struct arena){.first = ARENA_SMALL};
}

int arena_try(struct arena *a, void (*fn)(struct arena *a, void *to, const void *from), void *to,
	      const void *from)
{
	jmp_buf oom;

	if (setjmp(oom)) {
		arena_on_oom(a, NULL);
		return -ENOMEM;
	}
	arena_on_oom(a, &oom);
	fn(a, to, from);
	arena_on_oom(a, NULL);
	return 0;
}

struct model_table *table_new(enum family f, const char *name)
{
	struct model_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	list_init(&t->link);
	list_init(&t->chains);
	list_init(&t->sets);
	list_init(&t->objects);
	list_init(&t->flowtables);
	t->family = f;
	t->next_handle = 1;
	t->name = strdup(name);
	if (!t->name) {
		free(t);
		return NULL;
	}
	return t;
}

void table_free(struct model_table *t)
{
	if (!t)
		return;
	list_foreach (l, &t->chains) {
		struct model_chain *c = container_of(l, struct model_chain, link);

		list_foreach_safe (r, &c->rules)
			rule_free(container_of(r, struct model_rule, link));
	}
	list_foreach_safe (l, &t->sets)
		set_item_free(container_of(l, struct model_set, link));
	list_foreach_safe (l, &t->objects)
		object_free(container_of(l, struct model_object, link));
	list_foreach_safe (l, &t->flowtables)
		flowtable_free(container_of(l, struct model_flowtable, link));
	list_foreach_safe (l, &t->chains)
		chain_free(container_of(l, struct model_chain, link));
	map_free(&t->chain_by_name);
	map_free(&t->set_by_name);
	map_free(&t->flowtable_by_name);
	for (unsigned i = 0; i < OBJ_KINDS; i++)
		map_free(&t->object_by_name[i]);
	for (unsigned i = 0; i < NOUNS; i++)
		map_free(&t->by_handle[i]);
	free(t->name);
	free(t->comment);
	free(t);
}

struct model_chain *chain_new(struct model *m, struct model_table *t, const char *name)
{
	struct model_chain *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	list_init(&c->link);
	list_init(&c->rules);
	list_init(&c->jumps);
	c->arena = arena_small();
	c->table = t;
	c->id = ++m->next_id;
	if (name && !(c->name = strdup(name))) {
		free(c);
		return NULL;
	}
	return c;
}

/* Its rules are gone already, or belong to an anonymous chain and go now. */
void chain_free(struct model_chain *c)
{
	if (!c)
		return;
	list_foreach_safe (l, &c->rules)
		rule_free(container_of(l, struct model_rule, link));
	list_remove(&c->link);
	arena_free(&c->arena);
	free(c->name);
	free(c);
}

void rule_free(struct model_rule *r)
{
	if (!r)
		return;
	list_remove(&r->link);
	list_remove(&r->jump);
	list_foreach_safe (l, &r->anonymous)
		chain_free(container_of(l, struct model_chain, link));
	stmts_state_free(r->decl.stmts);
	arena_free(&r->arena);
	free(r);
}

struct model_set *set_item_new(struct model *m, struct model_table *t, const char *name)
{
	struct model_set *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	list_init(&s->link);
	list_init(&s->timed);
	list_init(&s->targets);
	s->arena = arena_small();
	s->table = t;
	s->id = ++m->next_id;
	s->fresh = true;
	s->name = strdup(name);
	if (!s->name) {
		free(s);
		return NULL;
	}
	return s;
}

void set_item_free(struct model_set *s)
{
	if (!s)
		return;
	list_remove(&s->link);
	list_remove(&s->timed);
	if (s->set) {
		struct state_template *t = (void *)set_desc_of(s->set)->ext_ctx;

		set_free(s->set);
		state_template_free(t);
	}
	targets_free(s);
	listed_free(s->listed);
	arena_free(&s->arena);
	free(s->name);
	free(s);
}

struct model_object *object_new(struct model *m, struct model_table *t, enum obj_kind k,
				const char *name)
{
	struct model_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	list_init(&o->link);
	o->arena = arena_small();
	o->table = t;
	o->kind = k;
	o->id = ++m->next_id;
	o->name = strdup(name);
	if (!o->name) {
		free(o);
		return NULL;
	}
	return o;
}

void object_free(struct model_object *o)
{
	if (!o)
		return;
	list_remove(&o->link);
	state_free(o->state);
	arena_free(&o->arena);
	free(o->name);
	free(o);
}

struct model_flowtable *flowtable_new(struct model_table *t, const char *name)
{
	struct model_flowtable *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	list_init(&f->link);
	f->arena = arena_small();
	f->table = t;
	f->name = strdup(name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	return f;
}

void flowtable_free(struct model_flowtable *f)
{
	if (!f)
		return;
	list_remove(&f->link);
	arena_free(&f->arena);
	free(f->name);
	free(f);
}

void item_free(enum model_noun noun, void *item)
{
	switch (noun) {
	case NOUN_TABLE:
		list_remove(&((struct model_table *)item)->link);
		table_free(item);
		return;
	case NOUN_CHAIN:
		chain_free(item);
		return;
	case NOUN_RULE:
		rule_free(item);
		return;
	case NOUN_SET:
		set_item_free(item);
		return;
	case NOUN_OBJECT:
		object_free(item);
		return;
	case NOUN_FLOWTABLE:
		flowtable_free(item);
		return;
	case NOUNS:
		return;
	}
}

/* --- where an item stands -------------------------------------------------------------------- */

_Static_assert(!offsetof(struct model_table, link) && !offsetof(struct model_chain, link) &&
		       !offsetof(struct model_rule, link) && !offsetof(struct model_set, link) &&
		       !offsetof(struct model_object, link) &&
		       !offsetof(struct model_flowtable, link),
	       "item_link()");
_Static_assert(offsetof(struct model_table, deleted) == sizeof(struct list) &&
		       offsetof(struct model_chain, deleted) == sizeof(struct list) &&
		       offsetof(struct model_rule, deleted) == sizeof(struct list) &&
		       offsetof(struct model_set, deleted) == sizeof(struct list) &&
		       offsetof(struct model_object, deleted) == sizeof(struct list) &&
		       offsetof(struct model_flowtable, deleted) == sizeof(struct list),
	       "item_deleted()");

struct list *item_link(void *item)
{
	return item;
}

bool *item_deleted(void *item)
{
	return (bool *)((char *)item + sizeof(struct list));
}

const char *item_name(enum model_noun noun, const void *item)
{
	switch (noun) {
	case NOUN_TABLE:
		return ((const struct model_table *)item)->name;
	case NOUN_CHAIN:
		return ((const struct model_chain *)item)->name;
	case NOUN_SET:
		return ((const struct model_set *)item)->name;
	case NOUN_OBJECT:
		return ((const struct model_object *)item)->name;
	case NOUN_FLOWTABLE:
		return ((const struct model_flowtable *)item)->name;
	case NOUN_RULE:
	case NOUNS:
		break;
	}
	return NULL;
}

const uint64_t *item_handle(enum model_noun noun, const void *item)
{
	switch (noun) {
	case NOUN_TABLE:
		return &((const struct model_table *)item)->handle;
	case NOUN_CHAIN:
		return &((const struct model_chain *)item)->handle;
	case NOUN_RULE:
		return &((const struct model_rule *)item)->handle;
	case NOUN_SET:
		return &((const struct model_set *)item)->handle;
	case NOUN_OBJECT:
		return &((const struct model_object *)item)->handle;
	case NOUN_FLOWTABLE:
		return &((const struct model_flowtable *)item)->handle;
	case NOUNS:
		break;
	}
	return NULL;
}

static struct model_table *item_table(enum model_noun noun, const void *item)
{
	switch (noun) {
	case NOUN_CHAIN:
		return ((const struct model_chain *)item)->table;
	case NOUN_RULE:
		return ((const struct model_rule *)item)->chain->table;
	case NOUN_SET:
		return ((const struct model_set *)item)->table;
	case NOUN_OBJECT:
		return ((const struct model_object *)item)->table;
	case NOUN_FLOWTABLE:
		return ((const struct model_flowtable *)item)->table;
	case NOUN_TABLE:
	case NOUNS:
		break;
	}
	return NULL;
}

struct map *item_names(struct model *m, enum model_noun noun, void *item)
{
	struct model_table *t = item_table(noun, item);

	switch (noun) {
	case NOUN_TABLE:
		return &m->table_by_name[((struct model_table *)item)->family];
	case NOUN_CHAIN:
		return &t->chain_by_name;
	case NOUN_SET:
		return &t->set_by_name;
	case NOUN_OBJECT:
		return &t->object_by_name[((struct model_object *)item)->kind];
	case NOUN_FLOWTABLE:
		return &t->flowtable_by_name;
	case NOUN_RULE:
	case NOUNS:
		break;
	}
	return NULL;
}

struct map *item_handles(enum model_noun noun, void *item)
{
	struct model_table *t = item_table(noun, item);

	return t ? &t->by_handle[noun] : NULL;
}

void *item_by_handle(const struct model_table *t, enum model_noun noun, uint64_t handle)
{
	void *item = map_find(&t->by_handle[noun], &handle, sizeof(handle));

	return item && !*item_deleted(item) ? item : NULL;
}

struct list *item_list(struct model_table *t, enum model_noun noun)
{
	switch (noun) {
	case NOUN_CHAIN:
		return &t->chains;
	case NOUN_SET:
		return &t->sets;
	case NOUN_OBJECT:
		return &t->objects;
	case NOUN_FLOWTABLE:
		return &t->flowtables;
	case NOUN_TABLE:
	case NOUN_RULE:
	case NOUNS:
		break;
	}
	return NULL;
}
