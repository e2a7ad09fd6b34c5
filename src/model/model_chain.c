/* SPDX-License-Identifier: Apache-2.0 */
/* model_chain: commands on chains. A deleted or flushed chain costs its rules; the others are O(1).
 */
#include <stdlib.h>

#include "model/model_internal.h"

static void decl_clone(struct arena *a, void *to, const void *from)
{
	struct chain_decl *d = to;

	*d = *(const struct chain_decl *)from;
	d->priority_expr = NULL;
	d->policy_expr = NULL;
	if (d->comment)
		d->comment = arena_strndup(a, d->comment, strlen(d->comment));
	d->devices = devices_clone(a, &d->devices);
}

/* The log has the declaration as it was. */
static int chain_log(struct model *m, struct model_chain *c)
{
	struct undo u = {.kind = UNDO_CHAIN, .item = c};
	int err = log_reserve(m, 1);

	if (err)
		return err;
	u.saved = malloc(sizeof(c->decl));
	if (!u.saved)
		return -ENOMEM;
	memcpy(u.saved, &c->decl, sizeof(c->decl));
	log_push(m, u);
	return 0;
}

/* What `add chain` may change of a chain that is there: the policy, and more devices. */
static int chain_change(struct apply *a, struct model_chain *c, const struct chain_decl *d)
{
	const struct cmd *cmd = a->cmd;
	struct loc policy = d->policy_expr ? d->policy_expr->loc : cmd->loc;

	if (!d->base && !d->has_policy)
		return 0;
	if (!c->decl.base)
		return fail_kernel(a, policy, EOPNOTSUPP);
	if (d->base && d->type != c->decl.type)
		return fail_kernel(a, cmd->chain.loc, EEXIST);
	if (d->base && (d->hook != c->decl.hook || d->priority != c->decl.priority))
		return fail_kernel(a, cmd->loc, EOPNOTSUPP);
	int err = chain_log(a->m, c);
	if (!err)
		err = devices_add(&c->arena, &c->decl.devices, &d->devices);
	if (!err && d->has_policy) {
		c->decl.policy = d->policy;
		c->decl.has_policy = true;
	}
	return err;
}

static int chain_add(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	int err = cmd_table(a, false, &t);

	if (err)
		return err;
	struct model_chain *c = model_chain_find(t, cmd->chain.text);
	struct check check = apply_check(a, t, c);
	if (cmd->chain_decl) {
		err = check_result(a, check_chain_decl(&check, cmd->chain_decl, cmd->loc));
		if (err)
			return err;
	}
	if (c && cmd->op == CMD_CREATE)
		return fail_kernel(a, cmd->chain.loc, EEXIST);
	if (c)
		return cmd->chain_decl ? chain_change(a, c, cmd->chain_decl) : 0;
	if (cmd->chain_decl && cmd->chain_decl->has_policy && !cmd->chain_decl->base)
		return fail_kernel(a,
				   cmd->chain_decl->policy_expr ? cmd->chain_decl->policy_expr->loc
								: cmd->loc,
				   EOPNOTSUPP);
	c = chain_new(a->m, t, cmd->chain.text);
	if (!c)
		return -ENOMEM;
	if (cmd->chain_decl)
		err = arena_try(&c->arena, decl_clone, &c->decl, cmd->chain_decl);
	if (!err && !(c->handle = handle_take(a->m, t)))
		err = -ENOMEM;
	if (!err)
		err = item_add(a->m, NOUN_CHAIN, c, &t->chains, cmd->loc);
	if (err)
		chain_free(c);
	return err;
}

static int rules_delete(struct model *m, struct model_chain *c)
{
	int err = 0;

	list_foreach_safe (l, &c->rules)
		err = err ? err : rule_delete(m, container_of(l, struct model_rule, link));
	return err;
}

/* Elements whose time has come hold their chains until they are noticed. */
static void notice_expired(struct apply *a, struct model_table *t)
{
	list_foreach (l, &t->sets) {
		struct model_set *s = container_of(l, struct model_set, link);

		if (s->decl.flags & SETF_MAP)
			set_gc(s->set, a->now, UINT32_MAX);
	}
}

/* `delete chain t c { devices = { x } }` */
static int chain_devices_delete(struct apply *a, struct model_table *t, struct model_chain *c)
{
	struct chain_decl *d = a->cmd->chain_decl;
	struct check check = apply_check(a, t, c);
	int err = check_result(a, check_chain_decl(&check, d, a->cmd->loc));

	if (err)
		return err;
	if (a->cmd->op == CMD_DESTROY || c->decl.offload || !c->decl.base)
		return fail_kernel(a, a->cmd->loc, EOPNOTSUPP);
	err = chain_log(a->m, c);
	if (!err)
		err = devices_take(&c->arena, &c->decl.devices, &d->devices);
	return err ? fail_errno(a, a->cmd->loc, err) : 0;
}

static int chain_delete(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_chain *c;
	bool destroy = cmd->op == CMD_DESTROY;

	if (destroy && !model_table_find(a->m, cmd->family, cmd->table.text))
		return 0;
	int err = cmd_table(a, true, &t);
	if (err)
		return err;
	if (destroy && cmd->chain.text && !model_chain_find(t, cmd->chain.text))
		return 0;
	err = cmd_chain(a, t, true, &c);
	if (err)
		return err;
	if (cmd->chain_decl && cmd->chain_decl->devices.n)
		return chain_devices_delete(a, t, c);
	if (c->use)
		notice_expired(a, t);
	/* Its own rules may be all that uses it; they go first. */
	err = rules_delete(a->m, c);
	if (err)
		return err;
	if (c->use)
		return fail_kernel(a, cmd->chain.text ? cmd->chain.loc : cmd->handle.loc, EBUSY);
	return item_delete(a->m, NOUN_CHAIN, c);
}

int chain_apply(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	struct model_table *t;
	struct model_chain *c;
	int err;

	switch (cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
		return chain_add(a);
	case CMD_DELETE:
	case CMD_DESTROY:
		return chain_delete(a);
	case CMD_FLUSH:
		err = cmd_table(a, true, &t);
		if (!err)
			err = cmd_chain(a, t, true, &c);
		return err ? err : rules_delete(a->m, c);
	case CMD_RENAME:
		err = cmd_table(a, false, &t);
		if (!err)
			err = cmd_chain(a, t, false, &c);
		if (err)
			return err;
		if (model_chain_find(t, cmd->name.text))
			return fail_kernel(a, cmd->loc, EEXIST);
		return chain_rename(a->m, c, cmd->name.text);
	default:
		return fail(a, cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
