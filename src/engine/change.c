/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: see change.h.
 *
 * An element that overlaps others is cut along the sides of the one that set_add() names; what lies
 * outside of it is tried again, piece by piece. Each piece is smaller in at least one field, so
 * this ends.
 */
#include "engine/change.h"

#include <stdlib.h>

#include "engine/engine.h"
#include "lang/lexer.h"
#include "lang/parse.h"

enum { BATCH = 64 };

struct box_list {
	struct change_box *items;
	size_t n, cap;
};

struct change {
	struct tamis *engine;
	uint64_t now;
	struct arena arena; /* of the commands */
	struct set *aside;  /* of change_replace(), or NULL */
	/* Of elements on their way, made when they are needed. */
	struct state_template *counters[BATCH];
};

int change_begin(struct tamis *t, uint64_t now, struct change **out)
{
	struct change *c = calloc(1, sizeof(*c));
	int err = c ? model_begin(t->model) : -ENOMEM;

	if (err) {
		free(c);
		return err;
	}
	*c = (struct change){.engine = t, .now = engine_time(now), .arena = ARENA_INIT};
	*out = c;
	return 0;
}

static void change_free(struct change *c)
{
	for (unsigned i = 0; i < BATCH; i++)
		state_template_free(c->counters[i]);
	set_free(c->aside);
	arena_free(&c->arena);
	free(c);
}

bool change_takes_name(const char *name)
{
	struct token t;
	size_t len = strlen(name);

	lex(name, (uint32_t)len, 0, &t);
	return t.type == T_WORD && !t.begin && t.end == len && !keyword_is_reserved(t.kw);
}

int change_text(struct change *c, const char *text, size_t len, struct strbuf *messages)
{
	struct source_set sources;
	struct parse_options parse = {0};
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	int err;

	source_set_init(&sources);
	err = source_add(&sources, SOURCE_STRING, "<cmdline>", text, len, LOC_NONE);
	if (err >= 0)
		err = parse_any(&sources, err, &c->arena, &parse, &cmds);
	if (!err)
		err = model_apply(c->engine->model, &sources, &cmds, c->now, NULL);
	diag_print(&sources, messages);
	source_set_free(&sources);
	return err;
}

static enum family family_find(const char *name)
{
	static const enum family all[] = {FAMILY_IP,  FAMILY_IP6,    FAMILY_INET,
					  FAMILY_ARP, FAMILY_BRIDGE, FAMILY_NETDEV};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(name, family_name(all[i])) == 0)
			return all[i];
	return FAMILY_ANY;
}

int change_set_find(struct change *c, const char *family, const char *table, const char *name,
		    struct change_set *out)
{
	enum family f = family_find(family);
	struct model_table *t =
		f == FAMILY_ANY ? NULL : model_table_find(c->engine->model, f, table);
	struct model_set *s = t ? model_set_find(t, name) : NULL;
	const struct set_desc *desc;

	if (!s)
		return f == FAMILY_ANY ? -EAFNOSUPPORT : t ? -ENOENT : -ESRCH;
	desc = set_desc_of(s->set);
	*out = (struct change_set){
		.set = s->set,
		.model = s,
		.type = s->decl.key.fields[0]->name,
		.n_fields = desc->n_fields,
		.key_len = set_key_len(s->set),
		.map = s->decl.flags & SETF_MAP,
		.interval = desc->interval,
		.auto_merge = desc->auto_merge && desc->n_fields == 1,
		.foreign = s->foreign,
		.used = s->use != 0,
	};
	return 0;
}

int change_table_own(struct change *c, const char *family, const char *table)
{
	struct model *m = c->engine->model;
	struct strbuf text = STRBUF_INIT, said = STRBUF_INIT;
	int err = 0;

	if (!model_table_find(m, family_find(family), table)) {
		strbuf_printf(&text, "add table %s %s\n", family, table);
		err = strbuf_error(&text);
		if (!err)
			err = change_text(c, text.data, text.len, &said);
		if (!err)
			model_table_find(m, family_find(family), table)->foreign = true;
	}
	strbuf_free(&text);
	strbuf_free(&said);
	return err;
}

int change_set_own(struct change_set *s, const struct set_keying *keying)
{
	int err = keying ? set_key_by(s->set, keying) : 0;

	if (!err)
		s->model->foreign = s->foreign = true;
	return err;
}

static bool same_keying(const struct set_keying *a, const struct set_keying *b)
{
	return !a == !b &&
	       (!a || (a->evicts == b->evicts && !memcmp(a->mask, b->mask, SET_KEY_MAX) &&
		       !memcmp(a->lo, b->lo, SET_KEY_MAX) && !memcmp(a->hi, b->hi, SET_KEY_MAX)));
}

int change_set_is(const struct change_set *s, const char *type, bool interval, bool timed,
		  bool counted, const struct set_keying *keying, bool *is)
{
	const struct set_decl *d = &s->model->decl;
	struct strbuf text = STRBUF_INIT;
	int err;

	for (unsigned i = 0; i < d->key.n; i++)
		strbuf_printf(&text, "%s%s", i ? " . " : "", d->key.fields[i]->name);
	err = strbuf_error(&text);
	if (!err)
		*is = !strcmp(strbuf_str(&text), type) && s->interval == interval && !s->map &&
		      set_desc_of(s->set)->timeout == timed && !d->stmts == !counted &&
		      same_keying(set_desc_of(s->set)->keying, keying);
	strbuf_free(&text);
	return err;
}

static void key_step(uint8_t *key, unsigned len, int step)
{
	uint8_t wrap = step > 0 ? 0xff : 0;

	while (len && key[len - 1] == wrap)
		key[--len] += (uint8_t)step;
	if (len)
		key[len - 1] += (uint8_t)step;
}

/* Pushes what of b lies outside of lo to hi, which it overlaps. */
static int box_cut(const struct set_desc *d, struct change_box b, const uint8_t *lo,
		   const uint8_t *hi, struct box_list *out)
{
	unsigned at = 0;

	if (vec_reserve(out, out->n + 2 * d->n_fields))
		return -ENOMEM;
	for (unsigned f = 0; f < d->n_fields; at += d->field_len[f++]) {
		unsigned len = d->field_len[f];

		if (memcmp(b.lo + at, lo + at, len) < 0) {
			struct change_box *below = &out->items[out->n++];

			*below = b;
			memcpy(below->hi + at, lo + at, len);
			key_step(below->hi + at, len, -1);
			memcpy(b.lo + at, lo + at, len);
		}
		if (memcmp(b.hi + at, hi + at, len) > 0) {
			struct change_box *above = &out->items[out->n++];

			*above = b;
			memcpy(above->lo + at, hi + at, len);
			key_step(above->lo + at, len, 1);
			memcpy(b.hi + at, hi + at, len);
		}
	}
	return 0;
}

static bool box_overlaps(const struct set_desc *d, const struct change_box *a,
			 const struct change_box *b)
{
	unsigned at = 0;

	for (unsigned f = 0; f < d->n_fields; at += d->field_len[f++])
		if (memcmp(a->lo + at, b->hi + at, d->field_len[f]) > 0 ||
		    memcmp(b->lo + at, a->hi + at, d->field_len[f]) > 0)
			return false;
	return true;
}

/* The element without its holes, in pieces. */
static int pieces_make(const struct change_set *s, const struct change_elem *e,
		       struct box_list *out)
{
	const struct set_desc *d = set_desc_of(s->set);
	struct change_box whole;
	int err;

	memcpy(whole.lo, e->lo, s->key_len);
	memcpy(whole.hi, e->hi, s->key_len);
	err = vec_push(out, whole);
	for (size_t h = 0; h < e->n_holes; h++) {
		const struct change_box *hole = &e->holes[h];

		for (size_t i = 0; !err && i < out->n;) {
			struct change_box b = out->items[i];

			if (!box_overlaps(d, &b, hole)) {
				i++;
				continue;
			}
			out->items[i] = out->items[--out->n];
			err = box_cut(d, b, hole->lo, hole->hi, out);
		}
	}
	return err;
}

/* What of `todo` the set does not hold; empties the list. */
static int add_pieces(struct change *c, const struct change_set *s, struct set_item *item,
		      struct box_list *todo)
{
	const struct set_desc *d = set_desc_of(s->set);
	int err = 0;

	while (!err && todo->n) {
		struct change_box b = todo->items[--todo->n];
		struct set_elem *conflict = NULL;
		struct set_view v;

		item->lo = b.lo;
		item->hi = b.hi;
		err = set_add(s->set, item, s->auto_merge ? 0 : SET_ADD_EXCL, c->now, &conflict);
		if (err == -EEXIST && s->interval && conflict) {
			set_elem_view(s->set, conflict, c->now, &v);
			err = box_cut(d, b, v.lo, v.hi, todo);
		} else if (err == -EEXIST) {
			err = 0;
		}
	}
	vec_free(todo);
	return err;
}

/* An element that is cut: by its holes, or by what is in its way. */
static int add_cut(struct change *c, const struct change_set *s, struct set_item *item,
		   const struct change_elem *e)
{
	struct box_list todo = {0};
	int err = pieces_make(s, e, &todo);

	if (err)
		vec_free(&todo);
	return err ? err : add_pieces(c, s, item, &todo);
}

/* Elements on their way into the set. */
struct batch {
	const struct change_elem *elem;
	struct set_item item[BATCH];
	size_t n;
};

static int counter_make(struct change *c, unsigned i, const struct change_elem *e)
{
	struct state_info info = {.kind = STATE_COUNTER,
				  .counter = {.packets = e->packets, .bytes = e->bytes}};

	if (c->counters[i])
		return state_template_set(c->counters[i], 0, &info);
	return state_template_new(&info, 1, &c->counters[i]);
}

static int batch_fill(struct change *c, const struct change_set *s, struct batch *b,
		      const struct change_elem *elems, size_t n)
{
	b->elem = elems;
	for (b->n = 0; b->n < MIN(n, (size_t)BATCH); b->n++) {
		const struct change_elem *e = &elems[b->n];
		bool single = !s->interval && !memcmp(e->lo, e->hi, s->key_len);
		int err = e->counted ? counter_make(c, (unsigned)b->n, e) : 0;

		if (err)
			return err;
		b->item[b->n] =
			(struct set_item){.lo = e->lo,
					  .hi = single ? NULL : e->hi,
					  .timeout_ns = e->timeout_ns,
					  .expires_in_ns = e->expires_in_ns,
					  .comment = e->comment,
					  .template = e->counted ? c->counters[b->n] : NULL};
	}
	return 0;
}

/* Adds the elements from *at on; *at is the one that failed. */
static int batch_add(struct change *c, const struct change_set *s, struct batch *b, size_t *at)
{
	size_t done;
	int err = 0;

	for (*at = 0; !err && *at < b->n; ++*at) {
		size_t whole = *at;

		while (whole < b->n && !b->elem[whole].n_holes)
			whole++;
		err = set_add_many(s->set, &b->item[*at], whole - *at,
				   s->auto_merge ? 0 : SET_ADD_EXCL, c->now, &done, NULL);
		*at += done;
		if (err == -EEXIST && !s->interval)
			err = 0;
		else if (err == -EEXIST || (!err && *at < b->n))
			err = add_cut(c, s, &b->item[*at], &b->elem[*at]);
		if (err)
			break;
	}
	return err;
}

/*
 * An empty set begins anew: what comes into a table of its own needs no journal, and a commit or an
 * abort keeps or frees it as a whole.
 */
static int touch(struct change *c, const struct change_set *s)
{
	if (s->set != s->model->set)
		return 0;
	bool before = set_in_transaction(s->set);
	int err = model_set_touch(c->engine->model, s->model);

	if (!err && !before && set_in_transaction(s->set) && !s->interval &&
	    !set_count(s->set, c->now))
		err = set_flush(s->set, c->now);
	return err;
}

int change_expect(struct change *c, const struct change_set *s, uint64_t n)
{
	int err = touch(c, s);

	if (!err)
		set_expect(s->set, n);
	return err;
}

int change_add(struct change *c, const struct change_set *s, const struct change_elem *elems,
	       size_t n, size_t *failed)
{
	int err = touch(c, s);
	size_t at = 0;

	for (size_t from = 0; !err && from < n; from += BATCH) {
		struct batch b;

		err = batch_fill(c, s, &b, elems + from, n - from);
		if (!err)
			err = batch_add(c, s, &b, &at);
		at += from;
	}
	if (err && failed)
		*failed = at;
	return err;
}

/* --- another content ------------------------------------------------------------------------ */

int change_replace(struct change *c, struct change_set *s)
{
	struct set_desc d = *set_desc_of(s->model->set);
	int err = c->aside ? -EBUSY : 0;

	d.rcu = NULL;
	d.size = 0; /* that of the declaration is asked when it is known */
	if (!err)
		err = set_new(&d, &c->aside);
	if (!err)
		s->set = c->aside;
	return err;
}

static void counter_read(void *ext, uint64_t now, uint64_t *packets, uint64_t *bytes)
{
	struct state_info info;

	*packets = *bytes = 0;
	if (!ext || state_kind_of(state_list_at(ext, 0)) != STATE_COUNTER)
		return;
	state_read(state_list_at(ext, 0), now, &info);
	*packets = info.counter.packets;
	*bytes = info.counter.bytes;
}

bool change_held(const struct change *c, const struct change_set *s, const uint8_t *lo,
		 const uint8_t *hi, struct change_held *out)
{
	struct set *set = s->model->set;
	struct set_elem *e = set_find(set, lo, hi, c->now);
	struct set_view v;

	if (!e)
		return false;
	set_elem_view(set, e, c->now, &v);
	out->timeout_ns = v.timeout_ns;
	out->expires_in_ns = v.expires_in_ns;
	counter_read(v.ext, c->now, &out->packets, &out->bytes);
	return true;
}

/* All that was put aside, into the set, which is empty. */
static int aside_move(struct change *c, const struct change_set *s, struct set_cursor *from)
{
	struct set_view v[BATCH];
	struct change_elem elem[BATCH];
	bool timed = set_desc_of(s->set)->timeout, more = true;
	int err = 0;

	while (!err && more) {
		size_t n = 0;

		while (n < BATCH && (more = set_cursor_next(from, &v[n]))) {
			elem[n] = (struct change_elem){.lo = v[n].lo,
						       .hi = v[n].hi,
						       .timeout_ns = v[n].timeout_ns,
						       .expires_in_ns = v[n].expires_in_ns,
						       .comment = v[n].comment,
						       .counted = v[n].ext != NULL};
			if (timed && !v[n].timeout_ns)
				elem[n].timeout_ns = SET_NEVER;
			counter_read(v[n].ext, c->now, &elem[n].packets, &elem[n].bytes);
			n++;
		}
		err = change_add(c, s, elem, n, NULL);
	}
	return err;
}

int change_replaced(struct change *c, struct change_set *s, const struct strbuf *declare,
		    struct strbuf *messages)
{
	struct set_cursor *from;
	int err;

	s->set = s->model->set;
	err = touch(c, s);
	if (!err)
		err = set_flush(s->set, c->now);
	if (!err && declare)
		err = change_text(c, declare->data, declare->len, messages);
	if (!err)
		err = change_expect(c, s, set_count(c->aside, c->now));
	if (!err)
		err = set_cursor_open(c->aside, SET_CURSOR_ARRIVAL, NULL, c->now, &from);
	if (!err) {
		err = aside_move(c, s, from);
		set_cursor_close(from);
	}
	set_free(c->aside);
	c->aside = NULL;
	return err;
}

int change_commit(struct change *c, struct strbuf *messages)
{
	struct tamis *t = c->engine;
	int err;

	t->notes = messages;
	err = engine_publish(t);
	t->notes = NULL;
	if (err) {
		change_abort(c);
		return err;
	}
	model_commit(t->model);
	t->now = MAX(t->now, c->now);
	change_free(c);
	return 0;
}

void change_abort(struct change *c)
{
	model_abort(c->engine->model);
	change_free(c);
}
