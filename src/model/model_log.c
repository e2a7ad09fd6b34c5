/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_log: the undo log: steps that change the model, commit and abort.
 *
 * See model_internal.h for its rules. Cost: a step is O(1); commit and abort are proportional to
 * the number of steps and to what is freed.
 */
#include <stdlib.h>

#include "model/model_internal.h"

enum { LOG_KEPT = 1024 };

int log_reserve(struct model *m, size_t n)
{
	return vec_reserve(&m->log, m->log.n + n);
}

void log_push(struct model *m, struct undo u)
{
	m->log.items[m->log.n++] = u;
}

/* --- names ---------------------------------------------------------------------------------- */

/*
 * The entry of that name that the open transaction took out, if any, stays findable as the shadow
 * of the new one.
 */
static int name_enter(struct map *names, const char *name, void *item, struct undo *u)
{
	u->shadow = map_replace(names, name, strlen(name), item, &u->shadow_key);
	return u->shadow ? 0 : map_insert_str(names, name, item);
}

static void name_leave(struct map *names, const char *name, const struct undo *u)
{
	if (u->shadow)
		map_replace(names, u->shadow_key, strlen(name), u->shadow, NULL);
	else
		map_remove_str(names, name);
}

/* At the commit: the entry of an old name goes, unless another item has it now. */
static void name_forget(struct map *names, const char *name, const void *item)
{
	if (map_find_str(names, name) == item)
		map_remove_str(names, name);
}

/* A rule that replaces another has its handle. */
static void handle_leave(struct map *handles, enum model_noun noun, void *item,
			 const struct undo *u)
{
	if (u->same_handle)
		map_replace(handles, item_handle(noun, u->same_handle), sizeof(uint64_t),
			    u->same_handle, NULL);
	else
		map_remove(handles, item_handle(noun, item), sizeof(uint64_t));
}

static void handle_forget(struct map *handles, enum model_noun noun, void *item)
{
	const uint64_t *handle = item_handle(noun, item);

	if (map_find(handles, handle, sizeof(*handle)) == item)
		map_remove(handles, handle, sizeof(*handle));
}

/* --- sets with lifetimes -------------------------------------------------------------------- */

static void set_enter(struct model *m, struct model_set *s)
{
	if (set_desc_of(s->set)->timeout)
		list_insert(&s->timed, &m->timed);
}

static void timed_enter(struct model *m, enum model_noun noun, void *item)
{
	if (noun == NOUN_SET)
		set_enter(m, item);
	else if (noun == NOUN_TABLE)
		list_foreach (l, &((struct model_table *)item)->sets)
			set_enter(m, container_of(l, struct model_set, link));
}

static void timed_leave(enum model_noun noun, void *item)
{
	if (noun == NOUN_SET)
		list_remove(&((struct model_set *)item)->timed);
	else if (noun == NOUN_TABLE)
		list_foreach (l, &((struct model_table *)item)->sets)
			list_remove(&container_of(l, struct model_set, link)->timed);
}

/* --- lists ---------------------------------------------------------------------------------- */

static void list_enter(enum model_noun noun, void *item, struct list *before)
{
	list_insert(item_link(item), before);
	if (noun == NOUN_RULE) {
		struct model_rule *r = item;

		rank_insert(&r->chain->ranks,
			    before == &r->chain->rules
				    ? NULL
				    : &container_of(before, struct model_rule, link)->rank,
			    &r->rank);
	}
}

static void list_leave(enum model_noun noun, void *item)
{
	list_remove(item_link(item));
	if (noun == NOUN_RULE)
		rank_remove(&((struct model_rule *)item)->chain->ranks,
			    &((struct model_rule *)item)->rank);
}

/* --- what a transaction did ----------------------------------------------------------------- */

size_t model_change_count(const struct model *m)
{
	return m->log.n;
}

bool model_change_at(const struct model *m, size_t i, struct model_change *out)
{
	const struct undo *u = &m->log.items[i];

	switch (u->kind) {
	case UNDO_ADD:
		*out = (struct model_change){MODEL_CAME, u->noun, u->item};
		return true;
	case UNDO_DELETE:
		*out = (struct model_change){MODEL_WENT, u->noun, u->item};
		return true;
	case UNDO_FLAGS:
		*out = (struct model_change){MODEL_CHANGED, NOUN_TABLE, u->item};
		return true;
	case UNDO_CHAIN:
		*out = (struct model_change){MODEL_CHANGED, NOUN_CHAIN, u->item};
		return true;
	default:
		return false;
	}
}

/* --- steps ---------------------------------------------------------------------------------- */

int item_add(struct model *m, enum model_noun noun, void *item, struct list *before, struct loc loc)
{
	struct undo u = {.kind = UNDO_ADD, .noun = noun, .item = item, .loc = loc};
	struct map *names = item_names(m, noun, item), *handles = item_handles(noun, item);
	const uint64_t *handle = item_handle(noun, item);
	int err = log_reserve(m, 1);

	if (!err && handles) {
		u.same_handle = map_replace(handles, handle, sizeof(*handle), item, NULL);
		if (!u.same_handle)
			err = map_insert(handles, handle, sizeof(*handle), item);
	}
	if (err)
		return err;
	if (names) {
		err = name_enter(names, item_name(noun, item), item, &u);
		if (err) {
			if (handles)
				handle_leave(handles, noun, item, &u);
			return err;
		}
	}
	list_enter(noun, item, before);
	timed_enter(m, noun, item);
	log_push(m, u);
	return 0;
}

int item_delete(struct model *m, enum model_noun noun, void *item)
{
	struct list *next = item_link(item)->next;
	int err = log_reserve(m, 1);

	if (err)
		return err;
	log_push(m, (struct undo){.kind = UNDO_DELETE, .noun = noun, .item = item, .next = next});
	list_leave(noun, item);
	timed_leave(noun, item);
	*item_deleted(item) = true;
	return 0;
}

uint64_t handle_take(struct model *m, struct model_table *t)
{
	if (!t->handle_saved) {
		if (log_reserve(m, 1))
			return 0;
		log_push(m,
			 (struct undo){.kind = UNDO_HANDLES, .item = t, .number = t->next_handle});
		t->handle_saved = true;
	}
	return t->next_handle++;
}

int chain_rename(struct model *m, struct model_chain *c, const char *name)
{
	struct undo u = {.kind = UNDO_RENAME, .item = c, .saved = c->name};
	int err = log_reserve(m, 1);
	char *copy = err ? NULL : strdup(name);

	if (!copy)
		return -ENOMEM;
	err = name_enter(&c->table->chain_by_name, copy, c, &u);
	if (err) {
		free(copy);
		return err;
	}
	c->name = copy;
	log_push(m, u);
	return 0;
}

int model_set_touch(struct model *m, struct model_set *s)
{
	if (s->fresh || set_in_transaction(s->set))
		return 0;
	int err = vec_reserve(&m->touched, m->touched.n + 1);

	if (!err)
		err = set_begin(s->set);
	if (err)
		return err;
	m->touched.items[m->touched.n++] = s;
	listed_begin(s);
	return 0;
}

/* --- the end of a transaction --------------------------------------------------------------- */

/* What points goes before what is pointed at. */
static const enum model_noun free_order[] = {NOUN_RULE,	     NOUN_SET,	 NOUN_OBJECT,
					     NOUN_FLOWTABLE, NOUN_CHAIN, NOUN_TABLE};
_Static_assert(ARRAY_SIZE(free_order) == NOUNS, "every noun is freed");

static void free_logged(struct model *m, enum undo_kind kind)
{
	for (unsigned i = 0; i < ARRAY_SIZE(free_order); i++)
		vec_foreach (&m->log, u)
			if (u->kind == kind && u->noun == free_order[i])
				item_free(u->noun, u->item);
}

/* A large log is not kept for the next transaction. */
static void end(struct model *m)
{
	m->log.n = 0;
	m->touched.n = 0;
	if (m->log.cap > LOG_KEPT)
		vec_free(&m->log);
	m->open = false;
}

static void commit_entry(struct model *m, const struct undo *u)
{
	struct state_info was;

	switch (u->kind) {
	case UNDO_ADD:
		if (u->noun == NOUN_SET) {
			((struct model_set *)u->item)->fresh = false;
			listed_commit(u->item, m->now);
		}
		break;
	case UNDO_DELETE:
		if (u->noun != NOUN_TABLE)
			handle_forget(item_handles(u->noun, u->item), u->noun, u->item);
		if (u->noun != NOUN_RULE)
			name_forget(item_names(m, u->noun, u->item), item_name(u->noun, u->item),
				    u->item);
		break;
	case UNDO_HANDLES:
		((struct model_table *)u->item)->handle_saved = false;
		break;
	case UNDO_RENAME: {
		struct model_chain *c = u->item;

		if (strcmp(c->name, u->saved))
			name_forget(&c->table->chain_by_name, u->saved, c);
		break;
	}
	case UNDO_RESET:
		state_reset(u->item, m->now, &was);
		break;
	case UNDO_FLAGS:
	case UNDO_CHAIN:
	case UNDO_FLOWTABLE:
	case UNDO_SET:
	case UNDO_QUOTA:
		break;
	}
}

void model_commit(struct model *m)
{
	vec_foreach (&m->log, u)
		commit_entry(m, u);
	vec_foreach (&m->log, u)
		free(u->saved);
	vec_foreach (&m->touched, s) {
		set_commit((*s)->set, UINT64_MAX);
		listed_commit(*s, m->now);
		targets_purge(*s);
	}
	free_logged(m, UNDO_DELETE);
	end(m);
}

static void undo_add(struct model *m, const struct undo *u)
{
	struct map *names = item_names(m, u->noun, u->item);
	struct map *handles = item_handles(u->noun, u->item);

	if (names)
		name_leave(names, item_name(u->noun, u->item), u);
	if (handles)
		handle_leave(handles, u->noun, u->item, u);
	if (u->noun == NOUN_RULE)
		rule_count(u->item, -1);
	list_leave(u->noun, u->item);
	timed_leave(u->noun, u->item);
}

/* What was raised meanwhile passed it by. */
static void rule_came_back(struct model_rule *r)
{
	rule_count(r, 1);
	r->chain->table->jumps_stale |= !list_is_empty(&r->jump);
}

static void undo_delete(struct model *m, const struct undo *u)
{
	list_enter(u->noun, u->item, u->next);
	*item_deleted(u->item) = false;
	if (u->noun == NOUN_RULE)
		rule_came_back(u->item);
	timed_enter(m, u->noun, u->item);
}

static void undo_entry(struct model *m, const struct undo *u)
{
	switch (u->kind) {
	case UNDO_ADD:
		undo_add(m, u);
		break;
	case UNDO_DELETE:
		undo_delete(m, u);
		break;
	case UNDO_HANDLES:
		((struct model_table *)u->item)->next_handle = u->number;
		((struct model_table *)u->item)->handle_saved = false;
		break;
	case UNDO_FLAGS: {
		struct model_table *t = u->item;

		t->flags = (uint32_t)u->number;
		if (u->number & UNDO_FOREIGN) {
			t->foreign = true;
			free(t->comment);
			t->comment = NULL;
		}
		break;
	}
	case UNDO_CHAIN: {
		struct model_chain *c = u->item;

		memcpy(&c->decl, u->saved, sizeof(c->decl));
		free(u->saved);
		break;
	}
	case UNDO_FLOWTABLE:
		memcpy(&((struct model_flowtable *)u->item)->decl, u->saved,
		       sizeof(struct flowtable_decl));
		free(u->saved);
		break;
	case UNDO_RENAME: {
		struct model_chain *c = u->item;

		name_leave(&c->table->chain_by_name, c->name, u);
		free(c->name);
		c->name = u->saved;
		break;
	}
	case UNDO_SET:
		memcpy(&((struct model_set *)u->item)->decl, u->saved, sizeof(struct set_decl));
		free(u->saved);
		break;
	case UNDO_QUOTA: {
		struct model_object *o = u->item;

		memcpy(&o->decl, u->saved, sizeof(o->decl));
		free(u->saved);
		state_quota_change(o->state, o->decl.quota.bytes, o->decl.quota.over);
		break;
	}
	case UNDO_RESET:
		break;
	}
}

void model_abort(struct model *m)
{
	for (size_t i = m->log.n; i--;)
		undo_entry(m, &m->log.items[i]);
	vec_foreach (&m->touched, s) {
		set_rollback((*s)->set);
		listed_abort(*s);
		(*s)->table->jumps_stale |= set_is_verdict_map(&(*s)->decl);
		targets_purge(*s);
	}
	free_logged(m, UNDO_ADD);
	m->next_table_handle = m->saved_table_handle;
	end(m);
}

int model_begin(struct model *m)
{
	if (m->open)
		return -EBUSY;
	m->open = true;
	m->transaction++;
	m->saved_table_handle = m->next_table_handle;
	return 0;
}
