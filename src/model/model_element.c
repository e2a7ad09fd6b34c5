/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_element: adds and deletes elements of named sets and maps.
 *
 * Elements are read, checked and put in some at a time, since the text may have millions; what is
 * made of them goes before the next ones are read. nft checks all of a command's elements before it
 * adds one: so an error of adding waits for the checks of what is behind it.
 *
 * Errors stand at the element's key. Overlaps name both elements; to find the place of the other
 * one, the load's commands on the set before it are read again. Cost: that of the set for each
 * element.
 */
#include <stdlib.h>

#include "lang/lines.h"
#include "lang/members.h"
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

/* Some elements of a command, read and checked. */
struct reading {
	struct apply *a;
	struct model_set *set;
	struct members *members;
	struct check check;
	bool keys_only;
	struct expr *some; /* an EX_SET; until the next are read */
};

/* `arena` is emptied for all that is read. */
static int reading_open(struct reading *r, struct apply *a, struct model_set *s,
			const struct cmd *cmd, struct arena *arena, bool keys_only)
{
	*r = (struct reading){.a = a, .set = s, .keys_only = keys_only};
	r->check = apply_check(a, s->table, NULL);
	r->check.arena = arena;
	return members_open(a->src, cmd->expr, &r->members);
}

/* 1 if there are none any more. */
static int reading_next(struct reading *r)
{
	arena_reset(r->check.arena);
	int err = members_read(r->members, r->check.arena, BATCH, &r->some);

	if (err)
		return err;
	if (!r->some->list.n)
		return 1;
	err = r->keys_only ? check_element_keys(&r->check, &r->set->decl, r->some)
			   : check_elements(&r->check, &r->set->decl, r->some);
	return check_result(r->a, err);
}

/*
 * An element was refused, which was told behind `told` messages: checks of what is behind it speak
 * first.
 */
static int reading_rest(struct reading *r, int refused, size_t told)
{
	struct source_set *src = r->a->src;
	bool kernel_kind = r->a->kernel_kind;
	struct diag diag;
	int err;

	if (refused == -ENOMEM || src->diags.n != told + 1)
		return refused;
	diag = src->diags.items[told];
	src->diags.n--;
	src->n_errors--;
	do
		err = reading_next(r);
	while (!err);
	if (err < 0)
		return err;
	src->diags.items[src->diags.n++] = diag;
	src->n_errors++;
	r->a->kernel_kind = kernel_kind;
	return refused;
}

/* Where a command has failed: nothing from there on was carried out. Else behind all. */
static uint32_t command_failed(const struct apply *a, const struct cmd *c)
{
	uint32_t at = UINT32_MAX;

	for (size_t i = 0; i < a->failed.n; i++) {
		const struct loc *l = &a->failed.items[i];

		if (l->src == c->loc.src && l->begin >= c->loc.begin && l->begin < c->loc.end)
			at = MIN(at, l->begin);
	}
	return at;
}

/*
 * Looks for a key of these bounds among some elements in front of `failed`; true if it need not go
 * on.
 */
static bool key_find(const struct expr *some, const uint8_t *lo, const uint8_t *hi, unsigned len,
		     const struct loc *before, uint32_t failed, struct loc *found)
{
	uint8_t l[SET_KEY_MAX], h[SET_KEY_MAX];

	for (uint32_t i = 0; i < some->list.n; i++) {
		const struct expr *key = some->list.items[i];

		if (key->loc.begin >= failed ||
		    (key->loc.src == before->src && key->loc.begin == before->begin))
			return true;
		if (key->kind != EX_CATCHALL && check_key_bytes(key, l, h) && !memcmp(l, lo, len) &&
		    !memcmp(h, hi, len)) {
			*found = key->loc;
			return true;
		}
	}
	return false;
}

/* The same in a command's elements. */
static int key_find_in(struct apply *a, struct model_set *s, const struct cmd *c,
		       const struct set_view *v, const struct loc *before, struct loc *found)
{
	unsigned len = set_key_len(s->set), n_errors = a->src->n_errors;
	size_t told = a->src->diags.n;
	uint32_t failed = command_failed(a, c);
	struct arena arena = ARENA_INIT;
	struct reading r;
	bool end = false;
	int err = reading_open(&r, a, s, c, &arena, true);

	if (err)
		return err;
	while (!end && !(err = members_read(r.members, &arena, BATCH, &r.some)) && r.some->list.n) {
		for (uint32_t i = 0; i < r.some->list.n; i++)
			r.some->list.items[i] = elem_key(r.some->list.items[i]);
		/* Of a set of the same name that was there before, it may not fit; then it is no
		 * rival. */
		err = check_element_keys(&r.check, &s->decl, r.some);
		if (err == -ENOMEM)
			break;
		end = !err && key_find(r.some, v->lo, v->hi, len, before, failed, found);
		arena_reset(&arena);
	}
	a->src->diags.n = told;
	a->src->n_errors = n_errors;
	members_close(r.members);
	arena_free(&arena);
	return err == -ENOMEM ? err : 0;
}

/* The same one, which may have been read again. */
static bool cmd_is(const struct cmd *a, const struct cmd *b)
{
	return a == b || (a->loc.end && a->loc.src == b->loc.src && a->loc.begin == b->loc.begin);
}

static bool same_name(const struct cmd *a, const struct cmd *b)
{
	return a->family == b->family && !strcmp(a->table.text, b->table.text) &&
	       !strcmp(a->name.text, b->name.text);
}

/*
 * The place of the key of an element that is in the way of `it`, in this load's commands; none if
 * it is older. The last command that has such a key: what was there before was deleted meanwhile.
 */
static int rival_find(struct apply *a, struct model_set *s, const struct item *it,
		      const struct set_view *v, struct loc *out)
{
	struct lines *lines;
	const struct cmd *c;
	bool end = false;
	int err = lines_open(a->src, a->cmds, &lines);

	*out = LOC_NONE;
	if (err)
		return err;
	while (!end && !(err = lines_next(lines, &c)) && c) {
		if (c->obj == CO_ELEMENTS && (c->op == CMD_ADD || c->op == CMD_CREATE) &&
		    same_name(c, a->cmd))
			err = key_find_in(a, s, c, v, &it->loc, out);
		end = err || cmd_is(c, a->cmd);
	}
	lines_close(lines);
	return err;
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

	struct loc rival;
	int err = rival_find(a, s, it, &v, &rival);

	if (err)
		return err;
	a->kernel_kind = same || !(s->decl.flags & SETF_INTERVAL) || s->decl.key.n > 1;
	if (!a->kernel_kind)
		says = rival.src || s->fresh ? "conflicting intervals specified"
					     : "interval overlaps with an existing one";
	if (!rival.src || !rival.end) {
		const char *text = same ? "" : element_text(a, s, &v);

		if (!text)
			return -ENOMEM;
		return diag_error(a->src, loc, "%s%s%s", says, same ? "" : ": ", text);
	}
	other = rival;
	if (!a->kernel_kind) {
		int order = memcmp(v.lo, it->lo, len);

		if (order ? order > 0 : memcmp(v.hi, it->hi, len) < 0) {
			other = loc;
			loc = rival;
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
	if (err)
		a->failing = b->item[done].loc;
	if (err == -EEXIST)
		err = fail_conflict(a, s, &b->item[done], conflict);
	else if (err)
		err = fail_errno(a, a->failing, err);
	b->n = 0;
	return err ? err : listed;
}

/* Puts some elements in. What is in front of a wrong one speaks first. */
static int some_add(struct apply *a, struct model_set *s, struct expr *some, struct batch *b,
		    bool create)
{
	int err = 0, wrong = 0;
	uint32_t i;

	for (i = 0; !err && !wrong && i < some->list.n; i++) {
		struct item *it = &b->item[b->n];

		it->set = (struct set_item){0};
		wrong = item_make(a, s, some->list.items[i], it);
		if (!wrong)
			b->set[b->n++] = it->set;
		if (b->n == BATCH)
			err = batch_add(a, s, b, create);
	}
	if (!err && b->n)
		err = batch_add(a, s, b, create);
	if (!err && wrong)
		a->failing = elem_key(some->list.items[i - 1])->loc;
	return err ? err : wrong;
}

static int elements_add(struct apply *a, struct model_set *s, bool create)
{
	struct reading r;
	size_t told = a->src->diags.n;
	struct batch *b = calloc(1, sizeof(*b));
	int err = b ? reading_open(&r, a, s, a->cmd, &a->m->elements, false) : -ENOMEM;

	if (err)
		goto out;
	err = model_set_touch(a->m, s);
	if (!err)
		set_expect(s->set, members_count(a->cmd->expr));
	while (!err && !(err = reading_next(&r))) {
		err = some_add(a, s, r.some, b, create);
		if (err)
			err = reading_rest(&r, err, told);
	}
	members_close(r.members);
	for (unsigned i = 0; i < BATCH; i++)
		state_template_free(b->item[i].template);
out:
	free(b);
	return err < 0 ? err : 0;
}

static int some_delete(struct apply *a, struct model_set *s, struct expr *some, bool destroy)
{
	struct item it;
	int err = 0;

	for (uint32_t i = 0; !err && i < some->list.n; i++) {
		it.set = (struct set_item){0};
		err = item_key(a, some->list.items[i], &it);
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

static int elements_delete(struct apply *a, struct model_set *s, bool destroy)
{
	struct reading r;
	size_t told = a->src->diags.n;
	int err = reading_open(&r, a, s, a->cmd, &a->m->elements, true);

	if (err)
		return err;
	err = model_set_touch(a->m, s);
	while (!err && !(err = reading_next(&r))) {
		err = some_delete(a, s, r.some, destroy);
		if (err)
			err = reading_rest(&r, err, told);
	}
	members_close(r.members);
	return err < 0 ? err : 0;
}

/* A constant set is full with the elements it begins with. */
static int constant_fill(struct apply *a, struct model_set *s)
{
	bool empty = !set_count(s->set, a->now);

	if (s->use)
		return fail_kernel(a, a->cmd->name.loc, EBUSY);
	int err = elements_add(a, s, a->cmd->op == CMD_CREATE);
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
		return elements_add(a, s, cmd->op == CMD_CREATE);
	case CMD_DELETE:
	case CMD_DESTROY:
		return elements_delete(a, s, destroy);
	default:
		return fail(a, cmd->loc, "%s", strerror(EOPNOTSUPP));
	}
}
