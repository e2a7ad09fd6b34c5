/* SPDX-License-Identifier: Apache-2.0 */
/* model_object: commands on named objects and on flowtables. All O(1). */
#include <stdlib.h>

#include "model/model_internal.h"

static const char *dup_str(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

static void object_clone(struct arena *a, void *to_decl, const void *from_decl)
{
	struct obj_decl *to = to_decl;
	const struct obj_decl *from = from_decl;

	*to = *from;
	to->comment = dup_str(a, from->comment);
	switch (from->kind) {
	case OBJ_CT_HELPER:
		to->helper.type = dup_str(a, from->helper.type);
		break;
	case OBJ_CT_TIMEOUT:
		for (unsigned i = 0; i < from->timeout.n; i++)
			to->timeout.policy[i].state = dup_str(a, from->timeout.policy[i].state);
		break;
	case OBJ_SECMARK:
		to->secmark = dup_str(a, from->secmark);
		break;
	case OBJ_TUNNEL:
		to->tunnel.src = expr_clone(a, from->tunnel.src);
		to->tunnel.dst = expr_clone(a, from->tunnel.dst);
		break;
	default:
		break;
	}
}

/* Of an object that is there only a quota's limit changes, as in the kernel. */
static int object_change(struct apply *a, struct model_object *o, const struct obj_decl *d)
{
	struct undo u = {.kind = UNDO_QUOTA, .item = o};

	if (o->kind != OBJ_QUOTA)
		return 0;
	int err = log_reserve(a->m, 1);
	if (err)
		return err;
	u.saved = malloc(sizeof(o->decl));
	if (!u.saved)
		return -ENOMEM;
	memcpy(u.saved, &o->decl, sizeof(o->decl));
	o->decl.quota.bytes = d->quota.bytes;
	o->decl.quota.over = d->quota.over;
	state_quota_change(o->state, d->quota.bytes, d->quota.over);
	log_push(a->m, u);
	return 0;
}

static int object_add(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	int err = cmd_table(a, false, &t);

	if (err)
		return err;
	struct check check = apply_check(a, t, NULL);
	err = check_result(a, check_object_decl(&check, cmd->obj_decl, cmd->loc));
	if (err)
		return err;
	struct model_object *o = model_object_find(t, cmd->obj_kind, cmd->name.text);
	if (o && cmd->op == CMD_CREATE)
		return fail_kernel(a, cmd->name.loc, EEXIST);
	if (o)
		return object_change(a, o, cmd->obj_decl);
	o = object_new(a->m, t, cmd->obj_kind, cmd->name.text);
	if (!o)
		return -ENOMEM;
	err = arena_try(&o->arena, object_clone, &o->decl, cmd->obj_decl);
	if (!err)
		err = object_state_new(o, a->now);
	if (!err && !(o->handle = handle_take(a->m, t)))
		err = -ENOMEM;
	if (!err)
		err = item_add(a->m, NOUN_OBJECT, o, &t->objects, cmd->loc);
	if (err) {
		object_free(o);
		return fail_errno(a, cmd->name.loc, err);
	}
	return 0;
}

static int object_delete(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_object *o;

	if (cmd->op == CMD_DESTROY &&
	    (!(t = model_table_find(a->m, cmd->family, cmd->table.text)) ||
	     (cmd->name.text && !model_object_find(t, cmd->obj_kind, cmd->name.text))))
		return 0;
	int err = cmd_table(a, true, &t);
	if (!err)
		err = cmd_object(a, t, true, &o);
	if (err)
		return err;
	if (o->use)
		return fail_kernel(a, cmd->name.text ? cmd->name.loc : cmd->handle.loc, EBUSY);
	return item_delete(a->m, NOUN_OBJECT, o);
}

int object_apply(struct apply *a)
{
	switch (a->cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
		return object_add(a);
	case CMD_DELETE:
	case CMD_DESTROY:
		return object_delete(a);
	default:
		return fail(a, a->cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}

/* --- flowtables ------------------------------------------------------------------------------- */

static void flowtable_clone(struct arena *a, void *to, const void *from)
{
	struct flowtable_decl *d = to;

	*d = *(const struct flowtable_decl *)from;
	d->priority_expr = NULL;
	d->devices = devices_clone(a, &d->devices);
}

/* The log has the declaration as it was. */
static int flowtable_log(struct model *m, struct model_flowtable *f)
{
	struct undo u = {.kind = UNDO_FLOWTABLE, .item = f};
	int err = log_reserve(m, 1);

	if (err)
		return err;
	u.saved = malloc(sizeof(f->decl));
	if (!u.saved)
		return -ENOMEM;
	memcpy(u.saved, &f->decl, sizeof(f->decl));
	log_push(m, u);
	return 0;
}

/* What `add flowtable` may change of one that is there: more devices, and the counters. */
static int flowtable_change(struct apply *a, struct model_flowtable *f,
			    const struct flowtable_decl *d)
{
	bool hook = d->hook != HOOK_NONE;

	if ((hook && (d->hook != f->decl.hook || d->priority != f->decl.priority)) ||
	    ((d->offload || d->counter) && d->offload != f->decl.offload))
		return fail_kernel(a, a->cmd->loc, EOPNOTSUPP);
	int err = flowtable_log(a->m, f);
	if (!err)
		err = devices_add(&f->arena, &f->decl.devices, &d->devices);
	if (!err)
		f->decl.counter |= d->counter;
	return err;
}

/* `delete flowtable t f { devices = { x } }` */
static int flowtable_devices_delete(struct apply *a, struct model_table *t,
				    struct model_flowtable *f)
{
	struct flowtable_decl *d = a->cmd->flowtable_decl;
	struct check check = apply_check(a, t, NULL);
	int err = check_result(a, check_flowtable_decl(&check, d, a->cmd->loc));

	if (!err && d->hook != HOOK_NONE &&
	    (d->hook != f->decl.hook || d->priority != f->decl.priority))
		return fail_kernel(a, a->cmd->loc, EOPNOTSUPP);
	if (err)
		return err;
	err = flowtable_log(a->m, f);
	if (!err)
		err = devices_take(&f->arena, &f->decl.devices, &d->devices);
	return err ? fail_errno(a, a->cmd->loc, err) : 0;
}

static int flowtable_add(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	int err = cmd_table(a, false, &t);

	if (err)
		return err;
	struct check check = apply_check(a, t, NULL);
	err = check_result(a, check_flowtable_decl(&check, cmd->flowtable_decl, cmd->loc));
	if (err)
		return err;
	struct model_flowtable *f = model_flowtable_find(t, cmd->name.text);
	if (f && cmd->op == CMD_CREATE)
		return fail_kernel(a, cmd->name.loc, EEXIST);
	if (f)
		return flowtable_change(a, f, cmd->flowtable_decl);
	f = flowtable_new(t, cmd->name.text);
	if (!f)
		return -ENOMEM;
	err = arena_try(&f->arena, flowtable_clone, &f->decl, cmd->flowtable_decl);
	if (!err && !(f->handle = handle_take(a->m, t)))
		err = -ENOMEM;
	if (!err)
		err = item_add(a->m, NOUN_FLOWTABLE, f, &t->flowtables, cmd->loc);
	if (err)
		flowtable_free(f);
	return err;
}

int flowtable_apply(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_flowtable *f;

	if (cmd->op == CMD_ADD || cmd->op == CMD_CREATE)
		return flowtable_add(a);
	if (cmd->op != CMD_DELETE && cmd->op != CMD_DESTROY)
		return fail(a, cmd->loc, "%s", strerror(EOPNOTSUPP));
	if (cmd->op == CMD_DESTROY &&
	    (!(t = model_table_find(a->m, cmd->family, cmd->table.text)) ||
	     (cmd->name.text && !model_flowtable_find(t, cmd->name.text))))
		return 0;
	int err = cmd_table(a, true, &t);
	if (!err)
		err = cmd_flowtable(a, t, true, &f);
	if (err)
		return err;
	if (cmd->flowtable_decl && cmd->flowtable_decl->devices.n)
		return flowtable_devices_delete(a, t, f);
	if (f->use)
		return fail_kernel(a, cmd->name.text ? cmd->name.loc : cmd->handle.loc, EBUSY);
	return item_delete(a->m, NOUN_FLOWTABLE, f);
}
