/* SPDX-License-Identifier: Apache-2.0 */
/* model_table: commands on tables, and `flush ruleset`. A table is taken out whole, at the cost of
 * its freeing at the commit. */
#include <stdlib.h>

#include "model/model_internal.h"

int table_item_add(struct model *m, enum family family, const char *name,
		   const struct table_decl *d, struct loc loc, struct model_table **out)
{
	struct model_table *t = table_new(family, name);
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->flags = d->flags;
	t->handle = m->next_table_handle;
	if (d->comment && !(t->comment = strdup(d->comment)))
		err = -ENOMEM;
	if (!err)
		err = item_add(m, NOUN_TABLE, t, &m->tables, loc);
	if (err) {
		table_free(t);
		return err;
	}
	m->next_table_handle++;
	*out = t;
	return 0;
}

/* To the ruleset that declares it, it was not there. */
static int table_claim(struct apply *a, struct model_table *t)
{
	const struct table_decl *d = &a->cmd->table_decl;
	char *comment = d->comment ? strdup(d->comment) : NULL;
	int err = d->comment && !comment ? -ENOMEM : log_reserve(a->m, 1);

	if (err) {
		free(comment);
		return err;
	}
	log_push(a->m,
		 (struct undo){.kind = UNDO_FLAGS, .item = t, .number = t->flags | UNDO_FOREIGN});
	t->foreign = false;
	t->comment = comment;
	t->flags = d->flags;
	return 0;
}

static int table_add(struct apply *a)
{
	const struct cmd *c = a->cmd;
	struct model *m = a->m;
	struct model_table *t = model_table_find(m, c->family, c->table.text);
	int err = 0;

	if (c->table_decl.flags & (TABLEF_OWNER | TABLEF_PERSIST))
		return fail_kernel(a, c->loc, EOPNOTSUPP);
	if (t && t->foreign)
		return table_claim(a, t);
	if (t && c->op == CMD_CREATE)
		return fail_kernel(a, c->table.loc, EEXIST);
	if (t) {
		/* The comment is that of the first declaration, the flags are those of the last. */
		if (t->flags == c->table_decl.flags)
			return 0;
		err = log_reserve(m, 1);
		if (err)
			return err;
		log_push(m, (struct undo){.kind = UNDO_FLAGS, .item = t, .number = t->flags});
		t->flags = c->table_decl.flags;
		return 0;
	}
	return table_item_add(m, c->family, c->table.text, &c->table_decl, c->loc, &t);
}

static int table_delete(struct apply *a)
{
	struct model_table *t;

	if (a->cmd->op == CMD_DESTROY && a->cmd->table.text &&
	    !model_table_find(a->m, a->cmd->family, a->cmd->table.text))
		return 0;
	int err = cmd_table(a, true, &t);
	return err ? err : item_delete(a->m, NOUN_TABLE, t);
}

static int table_flush(struct apply *a, struct model_table *t)
{
	int err = 0;

	list_foreach (l, &t->chains)
		list_foreach_safe (r, &container_of(l, struct model_chain, link)->rules)
			err = err ? err
				  : rule_delete(a->m, container_of(r, struct model_rule, link));
	return err;
}

static int ruleset_flush(struct apply *a)
{
	int err = 0;

	list_foreach_safe (l, &a->m->tables) {
		struct model_table *t = container_of(l, struct model_table, link);

		if (err || (a->cmd->family != FAMILY_ANY && a->cmd->family != t->family))
			continue;
		err = item_delete(a->m, NOUN_TABLE, t);
		if (!err)
			err = foreign_carry(a->m, t, a->cmds->first, a->now);
	}
	return err;
}

int table_apply(struct apply *a)
{
	struct model_table *t;
	int err;

	switch (a->cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
		return table_add(a);
	case CMD_DELETE:
	case CMD_DESTROY:
		return table_delete(a);
	case CMD_FLUSH:
		if (a->cmd->obj == CO_RULESET)
			return ruleset_flush(a);
		err = cmd_table(a, true, &t);
		return err ? err : table_flush(a, t);
	default:
		return fail(a, a->cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
