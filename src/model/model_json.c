/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_json: the listing as JSON: one object for each thing, in nft's order: a table, its chains,
 * objects, sets and maps, flowtables, then all its rules. Each is written as soon as it is made,
 * and so are elements one by one: as values they would take some ten times their text. Cost:
 * proportional to what is listed.
 */
#include "model/model_internal.h"

/* Where tamis speaks to programs that look at the version, it is the version whose form this is. */
#define JSON_VERSION "1.1.6"
#define JSON_RELEASE "tamis"

static json_t *string(const char *s)
{
	return json_string(s);
}

/* Members of `from` that `to` has not; takes both references. NULL if either is. */
static json_t *merged(json_t *to, json_t *from)
{
	bool bad = !to || !from;
	const char *key;
	json_t *v;

	/* json_object_update_missing() says nothing when memory runs out. */
	json_object_foreach(from, key, v) if (!bad && !json_object_get(to, key)) bad =
		json_object_set(to, key, v);
	json_decref(from);
	if (!bad)
		return to;
	json_decref(to);
	return NULL;
}

/* json_dumps() leaves out what it has no memory for. */
static int add_text(const char *text, size_t len, void *out)
{
	strbuf_add(out, text, len);
	return 0;
}

/* Writes a value and gives it back. */
static int write_value(struct lister *l, json_t *v)
{
	int err = v ? json_dump_callback(v, add_text, l->out, JSON_ENCODE_ANY) : -1;

	json_decref(v);
	return err || strbuf_error(l->out) ? -ENOMEM : 0;
}

/* One thing of the list, behind others. */
static int put(struct lister *l, const char *kind, json_t *body)
{
	strbuf_printf(l->out, ", {\"%s\": ", kind);

	int err = write_value(l, body);

	strbuf_putc(l->out, '}');
	return err;
}

static json_t *named(const struct model_table *t, const char *name)
{
	return json_pack("{s:s, s:s, s:s}", "family", family_name(t->family), "name", name, "table",
			 t->name);
}

static int put_handle(json_t *o, uint64_t handle)
{
	return o ? json_object_set_new(o, "handle", json_integer((json_int_t)handle)) : -1;
}

static json_t *table_json(const struct model_table *t)
{
	json_t *o = json_pack("{s:s, s:s, s:I}", "family", family_name(t->family), "name", t->name,
			      "handle", (json_int_t)t->handle);
	int err = o ? 0 : -1;

	if (!err && t->flags & TABLEF_DORMANT)
		err = json_object_set_new(o, "flags", string("dormant"));
	if (!err && t->comment)
		err = json_object_set_new(o, "comment", string(t->comment));
	if (err) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *chain_json(struct lister *l, const struct model_chain *c)
{
	json_t *o =
		json_pack("{s:s, s:s, s:s, s:I}", "family", family_name(c->table->family), "table",
			  c->table->name, "name", c->name, "handle", (json_int_t)c->handle);

	return merged(o, json_chain_head(c->table->family, &c->decl, l->m->env));
}

static json_t *rule_json(struct lister *l, struct model_rule *r)
{
	json_t *o, *stmts;

	rule_refresh(r, l->now);
	o = json_pack("{s:s, s:s, s:s, s:I}", "family", family_name(r->chain->table->family),
		      "table", r->chain->table->name, "chain", r->chain->name, "handle",
		      (json_int_t)r->handle);
	stmts = o ? json_stmts(r->decl.stmts, l->m->env) : NULL;
	if (!stmts ||
	    (r->decl.comment && json_object_set_new(o, "comment", string(r->decl.comment))))
		goto err;
	if (json_object_set(o, "expr", stmts))
		goto err;
	json_decref(stmts);
	return o;
err:
	json_decref(stmts);
	json_decref(o);
	return NULL;
}

static int write_elements(struct lister *l, struct model_set *s)
{
	const char *between = "";
	struct set_cursor *c;
	struct set_view v;
	int err = set_cursor_open(s->set, SET_CURSOR_MERGED, NULL, l->now, &c);

	if (err)
		return err;
	for (; !err && set_cursor_next(c, &v); between = ", ") {
		struct expr *e = element_expr(&l->m->scratch, s, &v, l->now);

		strbuf_puts(l->out, between);
		err = write_value(l, e ? json_expr(e, l->m->env) : NULL);
		arena_reset(&l->m->scratch);
	}
	set_cursor_close(c);
	return err;
}

static json_t *set_json(struct lister *l, struct model_set *s)
{
	json_t *o = named(s->table, s->name), *head = json_set_head(&s->decl, l->m->env);
	json_t *type = head ? json_object_get(head, "type") : NULL;

	if (!o || !head || (type && json_object_set(o, "type", type)) || put_handle(o, s->handle)) {
		json_decref(o);
		json_decref(head);
		return NULL;
	}
	return merged(o, head);
}

static int put_set(struct lister *l, struct model_set *s)
{
	static const char end[] = "}}";
	int err = put(l, s->decl.flags & SETF_MAP ? "map" : "set", set_json(l, s));

	if (err || l->m->env->numeric & PRINT_TERSE || !set_count(s->set, l->now))
		return err;
	/* Its last member. */
	strbuf_truncate(l->out, l->out->len - strlen(end));
	strbuf_puts(l->out, ", \"elem\": [");
	err = write_elements(l, s);
	strbuf_putc(l->out, ']');
	strbuf_puts(l->out, end);
	return err;
}

static json_t *object_json(struct lister *l, struct model_object *o)
{
	json_t *j = named(o->table, o->name);

	object_refresh(o, l->now);
	if (put_handle(j, o->handle)) {
		json_decref(j);
		return NULL;
	}
	return merged(j, json_object_body(&o->decl, l->m->env));
}

static json_t *flowtable_json(struct lister *l, struct model_flowtable *f)
{
	json_t *j = named(f->table, f->name);

	if (put_handle(j, f->handle)) {
		json_decref(j);
		return NULL;
	}
	return merged(j, json_flowtable_body(f->table->family, &f->decl, l->m->env));
}

static int put_rules(struct lister *l, struct model_table *t)
{
	int err = 0;

	list_foreach (k, &t->chains)
		list_foreach (r, &container_of(k, struct model_chain, link)->rules)
			err = err ? err
				  : put(l, "rule",
					rule_json(l, container_of(r, struct model_rule, link)));
	return err;
}

static int put_table(struct lister *l, struct model_table *t)
{
	int err = put(l, "table", table_json(t));

	list_foreach (k, &t->chains)
		err = err ? err
			  : put(l, "chain",
				chain_json(l, container_of(k, struct model_chain, link)));
	list_foreach (k, &t->objects) {
		struct model_object *o = container_of(k, struct model_object, link);

		err = err ? err : put(l, obj_kind_name(o->kind), object_json(l, o));
	}
	list_foreach (k, &t->sets)
		err = err ? err : put_set(l, container_of(k, struct model_set, link));
	list_foreach (k, &t->flowtables)
		err = err ? err
			  : put(l, "flowtable",
				flowtable_json(l, container_of(k, struct model_flowtable, link)));
	return err ? err : put_rules(l, t);
}

int model_list_json(struct model *m, uint64_t now, struct strbuf *out)
{
	struct lister l = lister_for(m, now, out);

	strbuf_puts(out, "{\"nftables\": [{\"metainfo\": ");

	int err =
		write_value(&l, json_pack("{s:s, s:s, s:i}", "version", JSON_VERSION,
					  "release_name", JSON_RELEASE, "json_schema_version", 1));

	strbuf_putc(out, '}');
	list_foreach (k, &m->tables)
		err = err ? err : put_table(&l, container_of(k, struct model_table, link));
	strbuf_puts(out, "]}");
	return err ? err : strbuf_error(out);
}
