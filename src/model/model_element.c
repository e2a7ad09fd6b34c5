/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_element: adds and deletes elements of named sets and maps.
 *
 * Errors stand at the element's key. Overlaps name both elements; to find the place of the other
 * one, the load's commands on the set before it are read again. For that what checks make of
 * elements lives as long as the load. Cost: that of the set for each element.
 */
#include <stdlib.h>

#include "lang/print.h"
#include "model/model_internal.h"

enum { BATCH = 32 };

struct item {
	struct set_item set;
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	/* Of a range both ends, see model_set's set_data_len(). */
	uint8_t data[MAX(2 * SET_KEY_MAX, sizeof(struct model_verdict))];
	struct state_template *template; /* owned; made once for all elements of this place */
	struct loc loc;
};

/* Elements on their way into a set, in order. */
struct batch {
	struct item item[BATCH];
	struct set_item set[BATCH]; /* those of the items */
	size_t n;
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
	/* Where elements lead already, rules were looked at. */
	s->table->jumps_added |= v.chain && !target_is_used(s, v.chain);
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

/* The element as set_add() takes it; it->template is the caller's to free. */
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

/* Where a key of these bounds stands in a list of elements, below sets within sets too. */
static const struct expr *key_find(const struct expr *list, const uint8_t *lo, const uint8_t *hi,
				   unsigned len, const struct loc *before)
{
	uint8_t l[SET_KEY_MAX], h[SET_KEY_MAX];

	for (uint32_t i = 0; i < list->list.n; i++) {
		const struct expr *key = elem_key(list->list.items[i]);

		if (key->loc.src == before->src && key->loc.begin == before->begin)
			return NULL;
		if (key->kind != EX_CATCHALL && check_key_bytes(key, l, h) && !memcmp(l, lo, len) &&
		    !memcmp(h, hi, len))
			return key;
	}
	return NULL;
}

static bool same_name(const struct cmd *a, const struct cmd *b)
{
	return a->family == b->family && !strcmp(a->table.text, b->table.text) &&
	       !strcmp(a->name.text, b->name.text);
}

/*
 * The key of an element that is in the way of `it`, in this load's commands; NULL if it is older.
 * The last command that has such a key: what was there before was deleted meanwhile.
 */
static const struct expr *rival_find(const struct apply *a, const struct item *it,
				     const struct set_view *v, unsigned len)
{
	const struct expr *found = NULL, *key;

	for (const struct cmd *c = a->first; c; c = c == a->cmd ? NULL : c->next) {
		if (c->obj != CO_ELEMENTS || (c->op != CMD_ADD && c->op != CMD_CREATE) ||
		    !same_name(c, a->cmd))
			continue;
		key = key_find(c->expr, v->lo, v->hi, len, &it->loc);
		found = key ? key : found;
	}
	return found;
}

/* How a listing has the key of an element; in the scratch arena, NULL: out of memory. */
static const char *element_text(struct apply *a, struct model_set *s, const struct set_view *v)
{
	struct expr *e = element_expr(&a->m->scratch, s, v, a->now);
	struct strbuf b = STRBUF_INIT;
	const char *text = NULL;

	if (!e)
		return NULL;
	print_expr(elem_key(e), a->m->env, &b);
	if (!strbuf_error(&b))
		text = arena_strndup(&a->m->scratch, b.data, b.len);
	strbuf_free(&b);
	return text;
}

/*
 * Names both elements: the other one by its place, or, if it is older or has none, as it is listed.
 * Of two ranges the one that begins later is to blame, and of two that begin together the smaller
 * one.
 */
static int fail_conflict(struct apply *a, struct model_set *s, const struct item *it,
			 struct set_elem *conflict)
{
	const char *says = "Could not process rule: File exists";
	unsigned len = set_key_len(s->set);
	struct loc loc = it->loc, other;
	struct set_view v;
	bool same = false;

	if (it->set.catchall || !conflict)
		return fail_kernel(a, loc, EEXIST);
	set_elem_view(s->set, conflict, a->now, &v);
	same = !memcmp(v.lo, it->lo, len) && !memcmp(v.hi, it->hi, len);

	const struct expr *rival = rival_find(a, it, &v, len);

	a->kernel_kind = same || !(s->decl.flags & SETF_INTERVAL) || s->decl.key.n > 1;
	if (!a->kernel_kind)
		says = rival || s->fresh ? "conflicting intervals specified"
					 : "interval overlaps with an existing one";
	if (!rival || !rival->loc.end) {
		const char *text = same ? "" : element_text(a, s, &v);

		if (!text)
			return -ENOMEM;
		return diag_error(a->src, loc, "%s%s%s", says, same ? "" : ": ", text);
	}
	other = rival->loc;
	if (!a->kernel_kind) {
		int order = memcmp(v.lo, it->lo, len);

		if (order ? order > 0 : memcmp(v.hi, it->hi, len) < 0) {
			other = loc;
			loc = rival->loc;
		}
	}
	return diag_error2(a->src, loc, other, "%s", says);
}

/* Puts the batch in; it is empty then. */
static int batch_add(struct apply *a, struct model_set *s, struct batch *b, bool create)
{
	bool listing = s->declared == a->m->transaction && !(s->decl.flags & SETF_CONSTANT);
	struct set_elem *conflict = NULL;
	size_t done;
	int listed = 0, err = set_add_many(s->set, b->set, b->n, create ? SET_ADD_EXCL : 0, a->now,
					   &done, &conflict);

	for (size_t i = 0; listing && !listed && i < done; i++)
		listed = listed_add(s, &b->set[i]);
	if (err == -EEXIST)
		err = fail_conflict(a, s, &b->item[done], conflict);
	else if (err)
		err = fail_errno(a, b->item[done].loc, err);
	b->n = 0;
	return err ? err : listed;
}

static int elements_add(struct apply *a, struct model_set *s, struct expr *elements, bool create)
{
	struct check check = apply_check(a, s->table, NULL);
	struct batch *b;

	/* Elements of later commands may have to name these. */
	check.arena = &a->m->elements;

	int err = check_result(a, check_elements(&check, &s->decl, elements)), wrong = 0;

	if (!err)
		err = model_set_touch(a->m, s);
	if (err)
		return err;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	set_expect(s->set, elements->list.n);
	for (uint32_t i = 0; !err && !wrong && i < elements->list.n; i++) {
		struct item *it = &b->item[b->n];

		it->set = (struct set_item){0};
		wrong = item_make(a, s, elements->list.items[i], it);
		if (!wrong)
			b->set[b->n++] = it->set;
		if (b->n == BATCH)
			err = batch_add(a, s, b, create);
	}
	/* What is in front of a wrong one speaks first. */
	if (!err && b->n)
		err = batch_add(a, s, b, create);
	for (unsigned i = 0; i < BATCH; i++)
		state_template_free(b->item[i].template);
	free(b);
	return err ? err : wrong;
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
		it.set = (struct set_item){0};
		err = item_key(a, elements->list.items[i], &it);
		if (err)
			break;
		err = set_delete(s->set, &it.set, a->now);
		if (!err)
			err = listed_drop(s, &it.set);
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
