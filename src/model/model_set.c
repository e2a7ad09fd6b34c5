/* SPDX-License-Identifier: Apache-2.0 */
/* model_set: commands on sets and maps. Making one is O(1), flushing and deleting cost the
 * elements' freeing. */
#include <stdlib.h>

#include "model/model_internal.h"

_Static_assert((int)CONCAT_MAX <= (int)SET_FIELDS_MAX, "a set has room for all fields");

static void decl_clone(struct arena *a, void *to_decl, const void *from_decl)
{
	const struct set_decl *from = from_decl;
	struct set_decl *to = to_decl;

	*to = *from;
	to->type_loc = to->loc = LOC_NONE;
	to->key.of = expr_clone(a, from->key.of);
	to->data.of = expr_clone(a, from->data.of);
	to->stmts = stmt_clone_list(a, from->stmts);
	if (from->comment)
		to->comment = arena_strndup(a, from->comment, strlen(from->comment));
}

/* Data that may be a range is its first value and its last one, each of all fields. */
static unsigned set_data_len(const struct set_decl *d)
{
	unsigned len = 0;

	if (!(d->flags & SETF_MAP) && !(d->flags & SETF_OBJECT))
		return 0;
	if (d->flags & SETF_OBJECT)
		return sizeof(struct model_object *);
	if (set_is_verdict_map(d))
		return sizeof(struct model_verdict);
	for (unsigned i = 0; i < d->data.n; i++)
		len += bits_to_bytes(d->data.bits[i]);
	return d->data.interval ? 2 * len : len;
}

/* The structure behind the declaration. */
static int set_make(struct model_set *s, const struct set_decl *d)
{
	struct state_template *t = NULL;
	struct set_desc desc = {
		.n_fields = d->key.n,
		.data_len = (uint16_t)set_data_len(d),
		.interval = d->flags & SETF_INTERVAL,
		.timeout = d->flags & SETF_TIMEOUT || d->timeout,
		.dynamic = d->flags & SETF_DYNAMIC && !(d->flags & SETF_INTERVAL),
		.auto_merge = d->auto_merge,
		.size = d->size,
		.timeout_ns = ms_to_ns(d->timeout),
		.gc_interval_ns = ms_to_ns(d->gc_interval),
		.ext_size = state_list_ext_size,
		.ext_init = state_list_ext_init,
		.ext_fini = state_list_ext_fini,
		.data_ctx = s,
	};
	int err = model_state_template(d->stmts, &t);

	if (err)
		return err;
	for (unsigned i = 0; i < d->key.n; i++)
		desc.field_len[i] = (uint8_t)bits_to_bytes(d->key.bits[i]);
	desc.ext_ctx = t;
	if (d->flags & SETF_OBJECT)
		desc.data_use = object_data_use;
	else if (set_is_verdict_map(d))
		desc.data_use = verdict_data_use;
	err = set_new(&desc, &s->set);
	if (err)
		state_template_free(t);
	return err;
}

static bool type_same(const struct set_type *a, const struct set_type *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->fields[i] != b->fields[i] || a->bits[i] != b->bits[i])
			return false;
	return true;
}

enum {
	SETF_KIND =
		SETF_CONSTANT | SETF_INTERVAL | SETF_MAP | SETF_TIMEOUT | SETF_DYNAMIC | SETF_OBJECT
};

static uint32_t kind_flags(const struct set_decl *d)
{
	return (d->flags & SETF_KIND) | (d->timeout ? SETF_TIMEOUT : 0);
}

bool set_decl_same(const struct set_decl *a, const struct set_decl *b)
{
	/* What rules write to becomes dynamic by that, see set_written(). */
	return !((kind_flags(a) ^ kind_flags(b)) & ~(uint32_t)SETF_DYNAMIC) &&
	       a->data.interval == b->data.interval && type_same(&a->key, &b->key) &&
	       type_same(&a->data, &b->data) && a->obj == b->obj;
}

/* What `add set` may change of a set that is there: size, timeout, gc-interval. */
static int set_change_decl(struct apply *a, struct model_set *s, const struct set_decl *d)
{
	struct undo u = {.kind = UNDO_SET, .item = s};

	if (d->size == s->decl.size && d->flags == s->decl.flags && d->timeout == s->decl.timeout &&
	    d->gc_interval == s->decl.gc_interval)
		return 0;
	int err = log_reserve(a->m, 1);
	if (!err)
		err = model_set_touch(a->m, s);
	if (err)
		return err;
	u.saved = malloc(sizeof(s->decl));
	if (!u.saved)
		return -ENOMEM;
	memcpy(u.saved, &s->decl, sizeof(s->decl));
	err = set_change(s->set, d->size, ms_to_ns(d->timeout), ms_to_ns(d->gc_interval), a->now);
	if (err) {
		free(u.saved);
		return fail_errno(a, a->cmd->name.loc, err);
	}
	s->decl.size = d->size;
	s->decl.flags = d->flags;
	s->decl.timeout = d->timeout;
	s->decl.gc_interval = d->gc_interval;
	log_push(a->m, u);
	return 0;
}

/*
 * Whether the kernel, which did not know that rules would write to the set, chose a structure for
 * it that they cannot: its hash of a fixed size, or its bitmap.
 */
static bool is_fixed(const struct model_set *s)
{
	const struct set_decl *d = &s->decl;

	return !s->fresh && !s->foreign && !(d->flags & (SETF_DYNAMIC | SETF_TIMEOUT)) &&
	       !d->timeout &&
	       (d->size ||
		(set_key_len(s->set) <= 2 && !(d->flags & (SETF_MAP | SETF_OBJECT)) && !d->stmts));
}

/* A rule writes to the set: the kernel gives it a size if it has none. */
int set_written(struct apply *a, struct model_set *s, struct loc loc)
{
	enum { WRITTEN_SIZE = 65535 };
	struct set_decl d = s->decl;

	if (is_fixed(s))
		return fail_errno(a, loc, -EOPNOTSUPP);
	if (s->fresh)
		d.flags |= SETF_DYNAMIC;
	if (!d.size)
		d.size = WRITTEN_SIZE;
	return set_change_decl(a, s, &d);
}

int set_item_add(struct model *m, struct model_table *t, const char *name, const struct set_decl *d,
		 struct loc loc, struct model_set **out)
{
	struct model_set *s = set_item_new(m, t, name);

	if (!s)
		return -ENOMEM;
	int err = arena_try(&s->arena, decl_clone, &s->decl, d);
	if (!err)
		err = set_make(s, d);
	if (!err && !(s->handle = handle_take(m, t)))
		err = -ENOMEM;
	if (!err)
		err = item_add(m, NOUN_SET, s, &t->sets, loc);
	if (err)
		set_item_free(s);
	else
		*out = s;
	return err;
}

static int set_create(struct apply *a, struct model_table *t, const char *name,
		      const struct set_decl *d, struct loc loc)
{
	struct model_set *s;
	int err = set_item_add(a->m, t, name, d, a->cmd->loc, &s);

	if (err)
		return fail_errno(a, loc, err);
	s->declared = a->m->transaction;
	return 0;
}

static int set_add_cmd(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct set_decl *d = cmd->set_decl;
	struct model_table *t;
	int err = cmd_table(a, false, &t);

	if (err)
		return err;
	struct check check = apply_check(a, t, NULL);
	err = check_result(a, check_set_decl(&check, d, cmd->loc));
	if (err)
		return err;
	struct model_set *s = model_set_find(t, cmd->name.text);
	if (s && (cmd->op == CMD_CREATE || !set_decl_same(&s->decl, d)))
		return fail_kernel(a, cmd->name.loc, EEXIST);
	if (!s)
		return set_create(a, t, cmd->name.text, d, cmd->name.loc);
	s->declared = a->m->transaction;
	d->flags |= s->decl.flags & SETF_DYNAMIC;
	return set_change_decl(a, s, d);
}

/* Elements that refer to chains and objects let go of them now, and again have them after an abort.
 */
static int set_item_delete(struct apply *a, struct model_set *s)
{
	int err = 0;

	if (set_desc_of(s->set)->data_use) {
		err = model_set_touch(a->m, s);
		if (!err)
			err = set_flush(s->set, a->now);
	}
	return err ? err : item_delete(a->m, NOUN_SET, s);
}

static int set_delete_cmd(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_set *s;

	if (cmd->op == CMD_DESTROY &&
	    (!(t = model_table_find(a->m, cmd->family, cmd->table.text)) ||
	     (cmd->name.text && !model_set_find(t, cmd->name.text))))
		return 0;
	int err = cmd_table(a, true, &t);
	if (!err)
		err = cmd_set(a, t, true, &s);
	if (err)
		return err;
	if (s->use)
		return fail_kernel(a, cmd->name.text ? cmd->name.loc : cmd->handle.loc, EBUSY);
	return set_item_delete(a, s);
}

static int set_flush_cmd(struct apply *a)
{
	struct model_table *t;
	struct model_set *s;
	int err = cmd_table(a, false, &t);

	if (!err)
		err = cmd_set(a, t, false, &s);
	if (err)
		return err;
	if (a->cmd->obj != CO_METER && (a->cmd->obj == CO_MAP) != !!(s->decl.flags & SETF_MAP))
		return fail(a, a->cmd->name.loc, "%s", strerror(ENOENT));
	err = model_set_touch(a->m, s);
	if (!err)
		err = listed_flush(s);
	if (!err)
		err = set_flush(s->set, a->now);
	return err ? fail_errno(a, a->cmd->name.loc, err) : 0;
}

int set_apply(struct apply *a)
{
	switch (a->cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
		return set_add_cmd(a);
	case CMD_DELETE:
	case CMD_DESTROY:
		return set_delete_cmd(a);
	case CMD_FLUSH:
		return set_flush_cmd(a);
	default:
		return fail(a, a->cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
