/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_apply: carries out a list of commands, and tells what went wrong.
 *
 * nft finds two kinds of errors: those it sees itself, before anything is sent, and those the
 * kernel answers with ("Could not process rule: ..."). When there are any of the first kind the
 * second is never reached; so they are not shown here either. After an error the rest of the
 * commands is still looked at, for its errors; the caller aborts.
 */
#include <stdio.h>

#include "lang/lines.h"
#include "model/model_internal.h"

#define KERNEL_SAYS "Could not process rule: "

/* --- errors ----------------------------------------------------------------------------------- */

int fail_kernel(struct apply *a, struct loc loc, int err)
{
	a->kernel_kind = true;
	return diag_error(a->src, loc, "Could not process rule: %s",
			  strerror(err < 0 ? -err : err));
}

int fail_errno(struct apply *a, struct loc loc, int err)
{
	return err == -ENOMEM ? err : fail_kernel(a, loc, err);
}

struct nearest {
	const char *wanted;
	size_t len;
	unsigned distance;
	const void *item;
	const struct model_table *table;
};

static void nearest_try(struct nearest *n, const char *name, const void *item,
			const struct model_table *t)
{
	unsigned d = suggest_distance(n->wanted, n->len, name);

	if (d < n->distance && d <= suggest_limit(n->len, strlen(name))) {
		n->distance = d;
		n->item = item;
		n->table = t;
	}
}

static void nearest_in_table(struct nearest *n, enum model_noun noun, struct model_table *t)
{
	struct list *list = item_list(t, noun);

	if (noun == NOUN_TABLE)
		nearest_try(n, t->name, t, t);
	else if (list)
		list_foreach (l, list)
			nearest_try(n, item_name(noun, l), l, t);
}

int fail_missing(struct apply *a, enum model_noun noun, struct name_at name, bool kernel)
{
	static const char *const words[NOUNS] = {
		[NOUN_CHAIN] = "chain",		[NOUN_SET] = "set",
		[NOUN_OBJECT] = "obj",		[NOUN_RULE] = "rule",
		[NOUN_FLOWTABLE] = "flowtable", [NOUN_TABLE] = "table",
	};
	struct nearest n = {name.text, strlen(name.text), UINT32_MAX, NULL, NULL};

	list_foreach (l, &a->m->tables)
		nearest_in_table(&n, noun, container_of(l, struct model_table, link));
	a->kernel_kind = kernel;
	if (!n.item && kernel)
		return fail_kernel(a, name.loc, ENOENT);
	if (!n.item)
		return diag_error(a->src, name.loc, "%s", strerror(ENOENT));
	if (noun == NOUN_TABLE)
		return diag_error(a->src, name.loc, "%s; did you mean table ‘%s’ in family %s?",
				  strerror(ENOENT), n.table->name, family_name(n.table->family));
	const char *word = words[noun];
	if (noun == NOUN_SET && ((const struct model_set *)n.item)->decl.flags & SETF_MAP)
		word = "map";
	return diag_error(a->src, name.loc, "%s; did you mean %s ‘%s’ in table %s ‘%s’?",
			  strerror(ENOENT), word, item_name(noun, n.item),
			  family_name(n.table->family), n.table->name);
}

/* --- what commands name ---------------------------------------------------------------------- */

static struct model_table *table_by_handle(struct model *m, enum family f, uint64_t handle)
{
	list_foreach (l, &m->tables) {
		struct model_table *t = container_of(l, struct model_table, link);

		if (t->handle == handle && t->family == f)
			return t;
	}
	return NULL;
}

int cmd_table(struct apply *a, bool kernel, struct model_table **out)
{
	const struct cmd *c = a->cmd;

	if (!c->table.text && c->handle.given && c->obj == CO_TABLE) {
		*out = table_by_handle(a->m, c->family, c->handle.value);
		return *out ? 0 : fail_kernel(a, c->handle.loc, ENOENT);
	}
	*out = c->table.text ? model_table_find(a->m, c->family, c->table.text) : NULL;
	if (*out)
		return 0;
	if (!c->table.text)
		return fail(a, c->loc, "%s", strerror(ENOENT));
	return fail_missing(a, NOUN_TABLE, c->table, kernel);
}

/* By name, or by handle where the command has that alone. */
static int cmd_item(struct apply *a, struct model_table *t, enum model_noun noun,
		    struct name_at name, void *found, bool kernel, void **out)
{
	const struct cmd *c = a->cmd;

	if (!name.text && c->handle.given) {
		*out = item_by_handle(t, noun, c->handle.value);
		return *out ? 0 : fail_kernel(a, c->handle.loc, ENOENT);
	}
	*out = found;
	if (found)
		return 0;
	if (!name.text)
		return fail(a, c->loc, "%s", strerror(ENOENT));
	return fail_missing(a, noun, name, kernel);
}

int cmd_chain(struct apply *a, struct model_table *t, bool kernel, struct model_chain **out)
{
	struct name_at n = a->cmd->chain;
	void *item;
	int err = cmd_item(a, t, NOUN_CHAIN, n, n.text ? model_chain_find(t, n.text) : NULL, kernel,
			   &item);

	if (!err)
		*out = item;
	return err;
}

int cmd_set(struct apply *a, struct model_table *t, bool kernel, struct model_set **out)
{
	struct name_at n = a->cmd->name;
	void *item;
	int err = cmd_item(a, t, NOUN_SET, n, n.text ? model_set_find(t, n.text) : NULL, kernel,
			   &item);

	if (!err)
		*out = item;
	return err;
}

int cmd_object(struct apply *a, struct model_table *t, bool kernel, struct model_object **out)
{
	struct name_at n = a->cmd->name;
	void *item;
	int err = cmd_item(a, t, NOUN_OBJECT, n,
			   n.text ? model_object_find(t, a->cmd->obj_kind, n.text) : NULL, kernel,
			   &item);

	if (err)
		return err;
	*out = item;
	return 0;
}

int cmd_flowtable(struct apply *a, struct model_table *t, bool kernel, struct model_flowtable **out)
{
	struct name_at n = a->cmd->name;
	void *item;
	int err = cmd_item(a, t, NOUN_FLOWTABLE, n, n.text ? model_flowtable_find(t, n.text) : NULL,
			   kernel, &item);

	if (!err)
		*out = item;
	return err;
}

struct check apply_check(struct apply *a, struct model_table *t, struct model_chain *c)
{
	return (struct check){
		.model = a->m,
		.sources = a->src,
		.arena = &a->m->scratch,
		.env = a->m->env,
		.family = t ? t->family : a->cmd->family,
		.table = t,
		.chain = c,
		.loc = a->cmd ? a->cmd->loc : LOC_NONE,
	};
}

/* The checks say in the kernel's words what the kernel would say. */
int check_result(struct apply *a, int err)
{
	const struct source_set *src = a->src;
	const char *said = err && src->diags.n ? src->diags.items[src->diags.n - 1].text : "";

	a->kernel_kind = !strncmp(said, KERNEL_SAYS, strlen(KERNEL_SAYS));
	return err && err != -ENOMEM ? -EINVAL : err;
}

/* --- running --------------------------------------------------------------------------------- */

static bool name_fits(struct apply *a, const struct name_at *name)
{
	if (!name->text || strlen(name->text) <= MODEL_NAME_MAX)
		return true;
	fail_kernel(a, name->loc, -ERANGE);
	return false;
}

static int cmd_run(struct apply *a)
{
	if (!name_fits(a, &a->cmd->table) || !name_fits(a, &a->cmd->chain) ||
	    !name_fits(a, &a->cmd->name))
		return -EINVAL;
	switch (a->cmd->op) {
	case CMD_LIST:
	case CMD_GET:
	case CMD_RESET:
		return list_apply(a);
	case CMD_ADD:
	case CMD_CREATE:
	case CMD_INSERT:
	case CMD_REPLACE:
	case CMD_DELETE:
	case CMD_DESTROY:
	case CMD_FLUSH:
	case CMD_RENAME:
		break;
	case CMD_DESCRIBE:
	case CMD_MONITOR:
	case CMD_EXPORT:
	case CMD_IMPORT:
		return fail(a, a->cmd->loc, "this command has no place in a ruleset");
	}
	switch (a->cmd->obj) {
	case CO_RULESET:
	case CO_TABLE:
		return table_apply(a);
	case CO_CHAIN:
		return chain_apply(a);
	case CO_RULE:
		return rule_apply(a);
	case CO_SET:
	case CO_MAP:
	case CO_METER:
		return set_apply(a);
	case CO_ELEMENTS:
		return element_apply(a);
	case CO_OBJECT:
		return object_apply(a);
	case CO_FLOWTABLE:
		return flowtable_apply(a);
	default:
		return fail(a, a->cmd->loc, "this command is not supported yet");
	}
}

static struct loc rule_place(const struct apply *a, const struct model_rule *r, struct loc other)
{
	for (size_t i = a->m->log.n; r && i--;) {
		const struct undo *u = &a->m->log.items[i];

		if (u->kind == UNDO_ADD && u->item == r)
			return u->loc;
	}
	return other;
}

/* `last`: the place of the last command, for circles that no single rule closed. */
static int check_jumps(struct apply *a, struct loc last)
{
	int ret = 0;

	list_foreach (l, &a->m->tables) {
		struct model_table *t = container_of(l, struct model_table, link);
		struct model_rule *culprit;

		if (!t->jumps_added)
			continue;
		t->jumps_added = false;
		int err = jumps_check(a->m, t, &culprit);
		if (err)
			ret = fail_kernel(a, rule_place(a, culprit, last), err);
	}
	return ret;
}

/* Takes the messages numbered in `which`, ascending, out of the list. */
static void drop_messages(struct source_set *src, const uint32_t *which, size_t n)
{
	size_t to = 0, next = 0;

	for (size_t i = 0; i < src->diags.n; i++) {
		if (next < n && which[next] == i) {
			next++;
			src->n_errors--;
		} else {
			src->diags.items[to++] = src->diags.items[i];
		}
	}
	src->diags.n = to;
}

int model_apply(struct model *m, struct source_set *sources, struct cmd_list *cmds, uint64_t now,
		struct strbuf *out)
{
	struct apply a = {.m = m, .src = sources, .now = now, .out = out, .cmds = cmds};
	VEC(uint32_t) kernel = {0};
	bool own = false;
	struct loc last = LOC_NONE;
	struct lines *lines;
	int ret = lines_open(sources, cmds, &lines);

	if (ret)
		return ret;
	m->now = MAX(m->now, now);
	for (;;) {
		size_t before = sources->diags.n;

		if (lines_next(lines, &a.cmd))
			ret = -ENOMEM;
		if (ret == -ENOMEM || !a.cmd)
			break;
		a.kernel_kind = false;
		a.failing = LOC_NONE;
		last = a.cmd->loc;
		int err = cmd_run(&a);
		arena_reset(&m->scratch);
		if (err == -ENOMEM || sources->oom) {
			ret = -ENOMEM;
			break;
		}
		if (!err)
			continue;
		ret = err;
		own |= !a.kernel_kind;
		for (size_t i = before; a.kernel_kind && i < sources->diags.n; i++)
			if (vec_push(&kernel, (uint32_t)i))
				ret = -ENOMEM;
		if (vec_push(&a.failed, a.failing.end ? a.failing : last))
			ret = -ENOMEM;
		if (ret == -ENOMEM || sources->n_errors >= sources->max_errors)
			break;
	}
	lines_close(lines);
	arena_reset(&m->elements);
	if (!ret)
		ret = check_jumps(&a, last);
	if (own && ret != -ENOMEM)
		drop_messages(sources, kernel.items, kernel.n);
	if (!ret && out && strbuf_error(out))
		ret = -ENOMEM;
	vec_free(&kernel);
	vec_free(&a.failed);
	return ret;
}
