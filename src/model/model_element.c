/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_element: adds and deletes elements of named sets and maps.
 *
 * Errors stand at the element's key. Overlaps within one command name both places; to find the
 * other one the command's elements before it are read again. With elements of a command before, in
 * the transaction that makes the set, the other place is not known any more. Cost: that of the set
 * for each element.
 */
#include "model/model_internal.h"

struct item {
	struct set_item set;
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	/* Of a range both ends, see model_set's set_data_len(). */
	uint8_t data[MAX(2 * SET_KEY_MAX, sizeof(struct model_verdict))];
	struct state_template *template; /* owned */
	struct loc loc;
};

static struct expr *elem_key(struct expr *e)
{
	return e->kind == EX_ELEM ? e->elem->key : e;
}

static int item_key(struct apply *a, struct expr *e, struct item *it)
{
	const struct expr *key = elem_key(e);

	it->loc = key->loc;
	it->set.lo = it->lo;
	it->set.hi = it->hi;
	it->set.catchall = key->kind == EX_CATCHALL;
	if (!it->set.catchall && !check_key_bytes(key, it->lo, it->hi))
		return fail(a, key->loc, "a set element must be a constant");
	return 0;
}

static int verdict_bytes(struct model_set *s, const struct expr *e, struct item *it)
{
	struct model_verdict v = {.code = e->verdict.code, .chain = e->verdict.chain};

	memcpy(it->data, &v, sizeof(v));
	s->table->jumps_added |= !!v.chain;
	return v.chain ? target_reserve(s, v.chain) : 0;
}

static int object_bytes(struct apply *a, struct model_set *s, const struct expr *e, struct item *it)
{
	char name[NAME_BUFFER];
	size_t len = e->kind == EX_SYMBOL ? e->symbol.len : 0;
	struct model_object *o = NULL;

	if (len && len < sizeof(name)) {
		memcpy(name, e->symbol.text, len);
		name[len] = 0;
		o = model_object_find(s->table, s->decl.obj, name);
	}
	if (!o)
		return fail_kernel(a, it->loc, ENOENT);
	memcpy(it->data, &o, sizeof(o));
	return 0;
}

static int item_data(struct apply *a, struct model_set *s, const struct expr *e, struct item *it)
{
	unsigned len = set_desc_of(s->set)->data_len;
	uint8_t *hi = it->data + (s->decl.data.interval ? len / 2 : SET_KEY_MAX);

	it->set.data = it->data;
	if (s->decl.flags & SETF_OBJECT)
		return object_bytes(a, s, e, it);
	if (set_is_verdict_map(&s->decl))
		return verdict_bytes(s, e, it);
	return check_key_bytes(e, it->data, hi) ? 0 : fail(a, e->loc, "Value must be a constant");
}

static void item_times(const struct elem_expr *e, struct set_item *it)
{
	if (e->timeout_never || (e->has_timeout && !e->timeout))
		it->timeout_ns = SET_NEVER;
	else if (e->has_timeout)
		it->timeout_ns = ms_to_ns(e->timeout);
	if (e->has_expires)
		it->expires_in_ns = MAX(ms_to_ns(e->expires), UINT64_C(1));
}

/* The element as set_add() takes it; it->template is the caller's to unref. */
static int item_make(struct apply *a, struct model_set *s, struct expr *e, struct item *it)
{
	int err = item_key(a, e, it);

	if (err || e->kind != EX_ELEM)
		return err;
	if (e->elem->data && !set_desc_of(s->set)->data_len)
		return fail(a, it->loc, "set is not a map");
	if (e->elem->data)
		err = item_data(a, s, e->elem->data, it);
	item_times(e->elem, &it->set);
	it->set.comment = e->elem->comment;
	if (!err && e->elem->stmts) {
		err = model_state_template(e->elem->stmts, &it->template);
		if (err)
			err = fail_errno(a, it->loc, err);
		it->set.template = it->template;
	}
	return err;
}

static void item_init(struct item *it)
{
	it->set = (struct set_item){0};
	it->template = NULL;
}

struct found {
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	const struct expr *key;
};

/* Another element of the command that shares a key with `it`. */
static bool overlapped(const struct expr *list, uint32_t n, const struct item *it, unsigned len,
		       struct found *out)
{
	for (uint32_t i = 0; i < n; i++) {
		out->key = elem_key(list->list.items[i]);
		if (out->key->kind != EX_CATCHALL && check_key_bytes(out->key, out->lo, out->hi) &&
		    memcmp(out->lo, it->hi, len) <= 0 && memcmp(it->lo, out->hi, len) <= 0)
			return true;
	}
	return false;
}

/* The one that begins later is to blame, and of two that begin together the smaller one. */
static int fail_conflict(struct apply *a, struct model_set *s, const struct expr *list, uint32_t n,
			 const struct item *it, struct set_elem *conflict)
{
	unsigned len = set_key_len(s->set);
	struct set_view v;
	struct found other;

	if (!(s->decl.flags & SETF_INTERVAL) || s->decl.key.n > 1 || it->set.catchall || !conflict)
		return fail_kernel(a, it->loc, EEXIST);
	set_elem_view(s->set, conflict, a->now, &v);
	if (!memcmp(v.lo, it->lo, len) && !memcmp(v.hi, it->hi, len))
		return fail_kernel(a, it->loc, EEXIST);
	a->kernel_kind = false;
	if (overlapped(list, n, it, len, &other)) {
		int order = memcmp(other.lo, it->lo, len);
		bool blame_other = order ? order > 0 : memcmp(other.hi, it->hi, len) < 0;

		return diag_error2(a->src, blame_other ? other.key->loc : it->loc,
				   blame_other ? it->loc : other.key->loc,
				   "conflicting intervals specified");
	}
	return diag_error(a->src, it->loc,
			  s->fresh ? "conflicting intervals specified"
				   : "interval overlaps with an existing one");
}

static int elements_add(struct apply *a, struct model_set *s, struct expr *elements, bool create)
{
	struct check check = apply_check(a, s->table, NULL);
	int err = check_result(a, check_elements(&check, &s->decl, elements));
	struct item it;

	if (!err)
		err = model_set_touch(a->m, s);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < elements->list.n; i++) {
		struct set_elem *conflict = NULL;

		item_init(&it);
		err = item_make(a, s, elements->list.items[i], &it);
		if (!err) {
			err = set_add(s->set, &it.set, create ? SET_ADD_EXCL : 0, a->now,
				      &conflict);
			if (err == -EEXIST)
				err = fail_conflict(a, s, elements, i, &it, conflict);
			else if (err)
				err = fail_errno(a, it.loc, err);
		}
		state_template_unref(it.template);
	}
	return err;
}

static int elements_delete(struct apply *a, struct model_set *s, struct expr *elements,
			   bool destroy)
{
	struct check check = apply_check(a, s->table, NULL);
	int err = check_result(a, check_element_keys(&check, &s->decl, elements));
	struct item it;

	if (!err)
		err = model_set_touch(a->m, s);
	for (uint32_t i = 0; !err && i < elements->list.n; i++) {
		item_init(&it);
		err = item_key(a, elements->list.items[i], &it);
		if (err)
			break;
		err = set_delete(s->set, &it.set, a->now);
		if (err == -ENOENT && destroy)
			err = 0;
		else if (err == -ENOENT && s->decl.flags & SETF_INTERVAL && s->decl.key.n == 1)
			err = fail(a, it.loc, "element does not exist");
		else if (err)
			err = fail_errno(a, it.loc, err);
	}
	return err;
}

/* A constant set is full with the elements it begins with. */
static int constant_fill(struct apply *a, struct model_set *s)
{
	bool empty = !set_count(s->set, a->now);

	if (s->use)
		return fail_kernel(a, a->cmd->name.loc, EBUSY);
	int err = elements_add(a, s, a->cmd->expr, a->cmd->op == CMD_CREATE);
	if (!err && empty && !s->decl.size)
		err = set_change(s->set, (uint32_t)set_count(s->set, a->now),
				 ms_to_ns(s->decl.timeout), ms_to_ns(s->decl.gc_interval), a->now);
	return err;
}

int element_apply(struct apply *a)
{
	const struct cmd *cmd = a->cmd;
	bool destroy = cmd->op == CMD_DESTROY;
	struct model_table *t;
	struct model_set *s;
	int err = cmd_table(a, false, &t);

	if (!err)
		err = cmd_set(a, t, false, &s);
	if (err)
		return err;
	switch (cmd->op) {
	case CMD_ADD:
	case CMD_CREATE:
		if (s->decl.flags & SETF_CONSTANT)
			return constant_fill(a, s);
		return elements_add(a, s, cmd->expr, cmd->op == CMD_CREATE);
	case CMD_DELETE:
	case CMD_DESTROY:
		return elements_delete(a, s, cmd->expr, destroy);
	default:
		return fail(a, cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
