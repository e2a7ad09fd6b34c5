/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_set: the elements of sets and maps.
 *
 * Elements of a named set are resolved in place, in the order of the text; nothing is copied, so a
 * million of them cost a million symbols. An anonymous set is also brought to the form that the
 * listing has: nested sets flattened, sorted by key, duplicates dropped, touching intervals merged
 * (not in maps, where touching is allowed and overlapping is an error). Cost O(n log n).
 */
#include "model/check_internal.h"

#include <stdlib.h>

#include "set/set.h"

struct model_set *set_lookup_name(struct eval *ev, struct expr *e)
{
	struct model_table *t = ev->c->table;
	struct model_set *set = t ? model_set_find(t, e->setref.name) : NULL;

	if (set) {
		e->setref.set = set;
		return set;
	}
	const char *near = t ? suggest_name(&t->sets, NOUN_SET, e->setref.name) : NULL;

	if (near) {
		const struct model_set *s = model_set_find(t, near);

		check_error(ev, e->loc,
			    "No such file or directory; did you mean %s ‘%s’ in table %s ‘%s’?",
			    s && s->decl.flags & (SETF_MAP | SETF_OBJECT) ? "map" : "set", near,
			    family_name(t->family), t->name);
	} else {
		check_error(ev, e->loc, "No such file or directory");
	}
	return NULL;
}

static bool is_interval(const struct expr *e)
{
	switch (e->kind) {
	case EX_PREFIX:
	case EX_RANGE:
		return true;
	case EX_VALUE:
		return e->flags & EXF_WILDCARD;
	case EX_CONCAT:
		for (uint32_t i = 0; i < e->list.n; i++)
			if (is_interval(e->list.items[i]))
				return true;
		return false;
	default:
		return false;
	}
}

static const struct expr *first_interval(const struct expr *e)
{
	if (e->kind == EX_CONCAT)
		for (uint32_t i = 0; i < e->list.n; i++)
			if (is_interval(e->list.items[i]))
				return e->list.items[i];
	return e;
}

static int key_check(struct eval *ev, struct expr **kp, const struct set_want *w)
{
	struct eval_want old;
	int err;

	if ((*kp)->kind == EX_CATCHALL) {
		(*kp)->type = w->key.fields[0];
		(*kp)->bits = type_bits(&w->key);
		return 0;
	}
	old = want_push(ev, &w->key);
	err = expr_check(ev, kp);
	want_pop(ev, old);
	if (err)
		return err;

	struct expr *k = *kp;

	if (k->kind == EX_LIST) {
		list_fold(ev, kp);
		k = *kp;
	}
	if (!expr_is_constant(k) || k->kind == EX_SET || k->kind == EX_SETREF ||
	    k->kind == EX_VERDICT)
		return check_error(ev, k->loc, "Set member cannot be %s, must be a constant value",
				   expr_kind_name(k));
	if (w->key.n == 1 && k->kind == EX_CONCAT)
		return check_error(ev, k->loc,
				   "datatype mismatch, expected %s, expression has type "
				   "concatenation",
				   type_desc(ev, &w->key));
	if (w->key.n > 1 && k->kind != EX_CONCAT)
		return check_error(ev, k->loc, "invalid data type, expected %s",
				   type_desc(ev, &w->key));
	if (w->decl && !(w->decl->flags & SETF_INTERVAL) && is_interval(k)) {
		const struct expr *at = first_interval(k);

		return check_error(ev, at->loc,
				   "You must add 'flags interval' to your set declaration if you "
				   "want to add %s elements",
				   at->kind == EX_RANGE ? "range" : "prefix");
	}
	return 0;
}

static int object_data_check(struct eval *ev, struct expr *d, enum obj_kind kind, struct loc at)
{
	size_t len;
	const char *text;

	if (d->kind != EX_SYMBOL && d->kind != EX_VALUE)
		return check_error(ev, d->loc, "Value must be the name of an object");
	text = value_text(ev, d, &len);
	text = arena_strndup(ev->a, text, len);
	d->kind = EX_SYMBOL;
	d->flags = EXF_STRING;
	d->symbol.text = text;
	d->symbol.len = (uint32_t)len;
	d->type = &type_string;
	d->bits = 0;
	if (ev->c->table && !model_object_find(ev->c->table, kind, text))
		return object_missing(ev, at, kind, text);
	return 0;
}

int object_missing(struct eval *ev, struct loc loc, enum obj_kind kind, const char *name)
{
	const struct list *head = &ev->c->table->objects;
	const char *found = NULL;
	unsigned best = UINT32_MAX;

	for (const struct list *l = head->next; l && l != head; l = l->next) {
		const struct model_object *o = container_of(l, struct model_object, link);
		unsigned d = o->kind == kind ? suggest_distance(name, strlen(name), o->name)
					     : UINT32_MAX;

		if (d < best && d <= suggest_limit(strlen(name), strlen(o->name))) {
			best = d;
			found = o->name;
		}
	}
	if (found)
		return check_error(
			ev, loc,
			"Could not process rule: No such file or directory; did you mean "
			"%s ‘%s’ in table %s ‘%s’?",
			obj_kind_name(kind), found, family_name(ev->c->table->family),
			ev->c->table->name);
	return kernel_error(ev, loc, "No such file or directory");
}

static int data_check(struct eval *ev, struct elem_expr *el, struct loc loc,
		      const struct set_want *w)
{
	int err;

	if (!w->map) {
		if (!el->data)
			return 0;
		return check_error(ev, el->key->loc,
				   w->decl ? "set is not a map" : "mapping outside of map context");
	}
	if (!el->data)
		return w->decl ? kernel_error(ev, loc, "Invalid argument")
			       : check_error(ev, loc, "element has no data");
	if (w->verdicts) {
		if (el->data->kind == EX_VERDICT)
			return verdict_check_at(ev, el->data, &loc);
		return check_error(ev, el->data->loc,
				   "Can't parse symbolic netfilter verdict expressions");
	}
	if (w->objects)
		return object_data_check(ev, el->data, w->obj, loc);
	if (el->data->kind == EX_VERDICT)
		return kernel_error(ev, loc, "Invalid argument");

	struct eval_want old = want_push(ev, &w->data);

	ev->max = w->data_max;
	err = expr_check(ev, &el->data);
	want_pop(ev, old);
	if (err)
		return err;
	if (el->data->kind == EX_LIST)
		list_fold(ev, &el->data);

	const struct expr *d = el->data;

	if (d->kind == EX_CONCAT ? w->data.n != d->list.n : w->data.n != 1)
		return check_error(ev, d->loc, "datatype mismatch, expected %s",
				   type_desc(ev, &w->data));
	if (!expr_is_constant(d) || d->kind == EX_SET || d->kind == EX_SETREF)
		return check_error(ev, d->loc, "Value must be a constant");
	if (is_interval(d) && !w->data_ranges)
		return check_error(ev, first_interval(d)->loc, "Value must be a singleton");
	return 0;
}

static unsigned stmts_count(const struct stmt *s)
{
	unsigned n = 0;

	for (; s; s = s->next)
		n++;
	return n;
}

/* A list of statements of an element against what the set's declaration has. */
static int elem_stmts_check(struct eval *ev, struct elem_expr *el, const struct set_want *w)
{
	const struct stmt *have = w->decl ? w->decl->stmts : NULL;
	unsigned n = stmts_count(el->stmts), want = stmts_count(have);

	if (n && w->decl && !want)
		return check_error(ev, el->stmts->loc, "missing statement in %s declaration",
				   w->map ? "map" : "set");
	if (n && w->decl && n != want)
		return check_error(
			ev, el->key->loc,
			"number of statements mismatch, set expects %u but element has %u", want,
			n);
	for (struct stmt *s = el->stmts; s; s = s->next) {
		if (have && have->kind != s->kind)
			return check_error(ev, s->loc,
					   "statement mismatch, element expects %s, but %s has "
					   "type %s",
					   stmt_kind_name(s), w->map ? "map" : "set",
					   stmt_kind_name(have));
		if (have)
			have = have->next;
		int err = stateful_check(ev, s);

		if (err)
			return err;
	}
	return 0;
}

/* What packets refreshed may have more left than its timeout; what is written may not. */
static int lifetime_check(struct eval *ev, const struct elem_expr *el, const struct set_decl *decl)
{
	bool own = el->has_timeout || el->timeout_never;

	if ((own || el->has_expires) && !(decl->flags & SETF_TIMEOUT))
		return kernel_error(ev, el->key->loc, "Invalid argument");
	if (el->has_expires && el->expires > (own ? el->timeout : decl->timeout))
		return kernel_error(ev, el->key->loc, "Numerical result out of range");
	return 0;
}

static int item_check(struct eval *ev, struct expr **ip, const struct set_want *w)
{
	struct expr *item = *ip;
	int err;

	if (item->kind != EX_ELEM) {
		err = key_check(ev, ip, w);
		if (err || !w->map)
			return err;
		return w->decl ? w->keys_only ? 0 : kernel_error(ev, item->loc, "Invalid argument")
			       : check_error(ev, item->loc, "element has no data");
	}

	struct elem_expr *el = item->elem;
	struct loc loc = el->key->loc;

	if (el->data && !w->map)
		return data_check(ev, el, loc, w);
	err = key_check(ev, &el->key, w);
	if (err)
		return err;
	if (!w->keys_only || el->data) {
		err = data_check(ev, el, loc, w);
		if (err)
			return err;
	}
	err = w->decl && !w->keys_only ? lifetime_check(ev, el, w->decl) : 0;
	if (err)
		return err;
	return el->stmts ? elem_stmts_check(ev, el, w) : 0;
}

/* Takes sets within the set apart; rare, so that it may copy. */
static int flatten(struct eval *ev, struct expr *set, struct expr_list *out, unsigned depth)
{
	if (depth >= CHECK_DEPTH_MAX)
		return check_error(ev, set->loc, "sets are nested too deeply");
	for (uint32_t i = 0; i < set->list.n; i++) {
		struct expr *e = set->list.items[i];
		struct expr *inner = e->kind == EX_ELEM && !e->elem->data ? e->elem->key : e;

		if (inner->kind == EX_SET) {
			int err = flatten(ev, inner, out, depth + 1);

			if (err)
				return err;
		} else {
			expr_list_add(ev->a, out, e);
		}
	}
	return 0;
}

int set_items_check(struct eval *ev, struct expr *set, const struct set_want *w)
{
	bool nested = false;
	bool hours = ev->hours;

	ev->hours = false;
	if (!set->list.n && !w->decl)
		return check_error(ev, set->loc, "Set is empty");
	for (uint32_t i = 0; i < set->list.n && !nested; i++) {
		const struct expr *e = set->list.items[i];

		nested = e->kind == EX_SET || (e->kind == EX_ELEM && e->elem->key->kind == EX_SET);
	}
	if (nested) {
		struct expr_list flat = {0};
		int err = flatten(ev, set, &flat, 0);

		if (err)
			return err;
		set->list = flat;
	}
	for (uint32_t i = 0; i < set->list.n; i++) {
		int err = item_check(ev, &set->list.items[i], w);

		if (err)
			return err;
	}
	ev->hours = hours;
	set->type = w->key.fields[0];
	set->bits = type_bits(&w->key);
	return 0;
}

/* --- Normal form of anonymous sets ---------------------------------------------------------- */

struct sort_item {
	struct expr *e;
	uint32_t order;
	uint8_t *lo, *hi;
};

static struct expr *item_key(struct expr *e)
{
	return e->kind == EX_ELEM ? e->elem->key : e;
}

static int sort_cmp(const void *a, const void *b, void *arg)
{
	const struct sort_item *x = a, *y = b;
	unsigned len = *(unsigned *)arg;
	int d = memcmp(x->lo, y->lo, len);

	if (!d)
		d = -memcmp(x->hi, y->hi, len);
	return d ? d : x->order < y->order ? -1 : 1;
}

/* hi + 1 == lo as numbers. */
static bool touches(const uint8_t *hi, const uint8_t *lo, unsigned len)
{
	uint8_t next[VALUE_MAX];

	memcpy(next, hi, len);
	for (unsigned i = len; i-- > 0;)
		if (++next[i])
			return !memcmp(next, lo, len);
	return false;
}

bool type_has_prefix(const struct datatype *t)
{
	for (; t; t = t->parent)
		if (t->prefix)
			return true;
	return false;
}

struct expr *interval_expr(struct eval *ev, struct loc loc, const struct datatype *t, unsigned bits,
			   const uint8_t *lo, const uint8_t *hi)
{
	unsigned len = bits_to_bytes(bits), host = 0;
	bool prefix = true, seen_one = false;
	struct expr *e;

	if (!memcmp(lo, hi, len)) {
		e = expr_value(ev->a, loc, t, lo, bits);
		if (t == &type_ifname)
			e->flags |= EXF_STRING;
		return e;
	}
	for (unsigned i = len * 8; i-- > 0;) {
		unsigned l = lo[i / 8] >> (7 - i % 8) & 1, h = hi[i / 8] >> (7 - i % 8) & 1;

		if (!seen_one && !l && h) {
			host++;
			continue;
		}
		seen_one = true;
		if (l != h)
			prefix = false;
	}
	if (t == &type_ifname) {
		unsigned n = len - host / 8;

		e = expr_value(ev->a, loc, t, lo, n * 8);
		e->flags |= EXF_STRING | EXF_WILDCARD;
		return e;
	}
	if (prefix && type_has_prefix(t)) {
		e = expr_new(ev->a, EX_PREFIX, loc);
		e->prefix.base = expr_value(ev->a, loc, t, lo, bits);
		e->prefix.len = bits - MIN(host, bits);
	} else {
		e = expr_new(ev->a, EX_RANGE, loc);
		e->pair.left = expr_value(ev->a, loc, t, lo, bits);
		e->pair.right = expr_value(ev->a, loc, t, hi, bits);
	}
	e->type = t;
	e->bits = bits;
	return e;
}

/* Gives the key of an item the form that its bounds have in a listing. */
static void canonical_key(struct eval *ev, struct sort_item *it, const struct set_type *t)
{
	struct expr *k = item_key(it->e), *to = NULL;

	if (k->kind != EX_CONCAT) {
		to = interval_expr(ev, k->loc, t->fields[0], t->bits[0], it->lo, it->hi);
	} else {
		const uint8_t *lo = it->lo, *hi = it->hi;

		for (uint32_t i = 0; i < k->list.n; i++) {
			unsigned len = bits_to_bytes(t->bits[i]);

			if (is_interval(k->list.items[i]))
				k->list.items[i] = interval_expr(ev, k->list.items[i]->loc,
								 t->fields[i], t->bits[i], lo, hi);
			lo += len;
			hi += len;
		}
		return;
	}
	if (it->e->kind == EX_ELEM)
		it->e->elem->key = to;
	else
		it->e = to;
}

static bool plain_item(const struct expr *e)
{
	return e->kind != EX_ELEM ||
	       (!e->elem->data && !e->elem->comment && !e->elem->stmts && !e->elem->has_timeout);
}

/* The type of the keys with the width of wildcards as whole names. */
static void key_type(const struct expr *set, const struct set_want *w, struct set_type *t)
{
	*t = w->key;
	for (unsigned i = 0; i < t->n; i++)
		if (!t->bits[i] && t->fields[i])
			t->bits[i] = t->fields[i]->bits;
	if (!t->n && set->list.n)
		expr_type(item_key(set->list.items[0]), t);
}

static int order_cmp(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* The item that an element of the set was made of. */
static uint32_t box_of(const struct set *boxes, struct set_elem *e, const struct sort_item *items)
{
	unsigned len = set_key_len(boxes);
	struct set_view v;
	uint32_t i = 0;

	set_elem_view(boxes, e, 0, &v);
	while (memcmp(items[i].lo, v.lo, len) || memcmp(items[i].hi, v.hi, len))
		i++;
	return i;
}

/*
 * Adds items to a set of boxes one after the other, as the kernel does: *at is the first that it
 * refuses, or n; *rival the one before that is in its way. Nothing here may jump, since the set is
 * no part of the arena. 0 or -ENOMEM.
 */
static int boxes_try(const struct sort_item *items, uint32_t n, const struct set_type *t,
		     uint32_t *at, uint32_t *rival)
{
	struct set_desc d = {.n_fields = t->n, .interval = true};
	struct set_elem *conflict = NULL;
	struct set *boxes;
	uint32_t i;
	int err;

	for (unsigned f = 0; f < t->n; f++)
		d.field_len[f] = (uint8_t)bits_to_bytes(t->bits[f]);
	err = set_new(&d, &boxes);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		struct set_item item = {.lo = items[i].lo, .hi = items[i].hi};

		err = set_add(boxes, &item, 0, 0, &conflict);
		if (err)
			break;
	}
	if (err == -EEXIST)
		*rival = box_of(boxes, conflict, items);
	set_free(boxes);
	if (err && err != -EEXIST)
		return err;
	*at = i;
	return 0;
}

/*
 * Ranges in concatenations: whether a box may overlap another depends on which came first. Sorted
 * they are, as long as that order is one that loads, too.
 */
static int boxes_order(struct eval *ev, struct sort_item *items, uint32_t n,
		       const struct set_type *t)
{
	struct sort_item *written = arena_alloc(ev->a, MAX(n, 1u) * sizeof(*items));
	uint32_t at, rival = 0;
	int err;

	memcpy(written, items, n * sizeof(*items));
	qsort(written, n, sizeof(*written), order_cmp);
	err = boxes_try(written, n, t, &at, &rival);
	if (!err && at < n)
		return check_error2(ev, item_key(written[at].e)->loc,
				    item_key(written[rival].e)->loc,
				    "Could not process rule: File exists");
	if (!err)
		err = boxes_try(items, n, t, &at, &rival);
	if (!err && at < n)
		memcpy(items, written, n * sizeof(*items));
	return err;
}

int set_normalise(struct eval *ev, struct expr *set, const struct set_want *w)
{
	struct sort_item *items = arena_calloc(ev->a, set->list.n, sizeof(*items));
	struct expr *catchall = NULL;
	struct set_type t;
	bool interval = false;
	uint32_t n = 0, out = 0;

	key_type(set, w, &t);
	unsigned len = key_len(&t);

	if (len > VALUE_MAX)
		return check_error(ev, set->loc, "keys of %u bytes are too long", len);
	uint8_t *bytes = arena_calloc(ev->a, set->list.n, 2 * (size_t)MAX(len, 1u));

	for (uint32_t i = 0; i < set->list.n; i++) {
		struct expr *e = set->list.items[i], *k = item_key(e);

		if (k->kind == EX_CATCHALL) {
			catchall = e;
			continue;
		}
		items[n] = (struct sort_item){e, i, bytes, bytes + len};
		bytes += 2 * len;
		if (!check_key_bytes(k, items[n].lo, items[n].hi))
			return check_error(ev, k->loc, "Set member must be a constant value");
		interval = interval || is_interval(k);
		n++;
	}
	qsort_r(items, n, sizeof(*items), sort_cmp, &len);
	for (uint32_t i = 0; i < n; i++) {
		struct sort_item *it = &items[i], *last = out ? &items[out - 1] : NULL;
		bool merge = interval && t.n == 1 && t.fields[0] != &type_ifname && !w->map;

		if (last && t.n == 1 && memcmp(it->lo, last->hi, len) <= 0) {
			if (w->map) {
				bool same = !memcmp(it->lo, last->lo, len) &&
					    !memcmp(it->hi, last->hi, len);

				if (same && expr_equal(it->e->elem->data, last->e->elem->data))
					continue;
				/* nft names the range that begins later, else the one written
				 * first. */
				bool later =
					memcmp(it->lo, last->lo, len) || it->order < last->order;

				if (interval && !same)
					return check_error2(ev,
							    item_key(later ? it->e : last->e)->loc,
							    item_key(later ? last->e : it->e)->loc,
							    "conflicting intervals specified");
				return kernel_error(
					ev, item_key(later == interval ? it->e : last->e)->loc,
					"File exists");
			}
			if (memcmp(it->hi, last->hi, len) <= 0)
				continue;
			memcpy(last->hi, it->hi, len);
			continue;
		}
		if (last && t.n > 1 && !memcmp(it->lo, last->lo, len) &&
		    !memcmp(it->hi, last->hi, len)) {
			if (!w->map || expr_equal(it->e->elem->data, last->e->elem->data))
				continue;
			return kernel_error(
				ev, item_key(it->order > last->order ? it->e : last->e)->loc,
				"File exists");
		}
		if (last && merge && plain_item(it->e) && plain_item(last->e) &&
		    touches(last->hi, it->lo, len)) {
			memcpy(last->hi, it->hi, len);
			continue;
		}
		items[out++] = *it;
	}
	bool single = set->list.n == 1;

	if (interval && t.n > 1) {
		int err = boxes_order(ev, items, out, &t);

		if (err)
			return err;
	}
	set->list.n = 0;
	for (uint32_t i = 0; i < out; i++) {
		if (interval && !single)
			canonical_key(ev, &items[i], &t);
		set->list.items[set->list.n++] = items[i].e;
	}
	if (catchall)
		set->list.items[set->list.n++] = catchall;
	set->type = t.fields[0];
	set->bits = type_bits(&t);
	return 0;
}

/* --- Named sets ----------------------------------------------------------------------------- */

int set_elements_check(struct eval *ev, const struct set_decl *d, struct expr *elements,
		       bool keys_only)
{
	struct set_want w = {.key = d->key, .data = d->data, .decl = d, .keys_only = keys_only};

	w.objects = d->flags & SETF_OBJECT;
	w.obj = d->obj;
	w.map = w.objects || d->flags & SETF_MAP;
	w.data_ranges = d->data.interval;
	w.verdicts = !w.objects && d->data.n == 1 && d->data.fields[0] == &type_verdict;
	return set_items_check(ev, elements, &w);
}
