/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_list: the listing: tables and what stands in them, in nft's layout.
 *
 * Elements stream through a small arena one by one. When memory runs out the buffer says so
 * (strbuf_error). Cost: proportional to the text.
 */
#include "model/model_internal.h"

#define TAB  "\t"
#define TAB2 "\t\t"

struct lister lister_for(struct model *m, uint64_t now, struct strbuf *out)
{
	return (struct lister){
		.m = m, .now = now, .out = out, .handles = m->env->numeric & PRINT_HANDLES};
}

static void end_line(struct lister *l, uint64_t handle)
{
	if (l->handles)
		strbuf_printf(l->out, " # handle %llu", (unsigned long long)handle);
	strbuf_putc(l->out, '\n');
}

static void list_rule(struct lister *l, struct model_rule *r)
{
	rule_refresh(r, l->now);
	strbuf_puts(l->out, TAB2);
	print_rule(&r->decl, l->m->env, l->out);
	end_line(l, r->handle);
}

static void chain_open(struct lister *l, const struct model_chain *c)
{
	strbuf_printf(l->out, TAB "chain %s {", c->name);
	end_line(l, c->handle);
	print_chain_head(c->table->family, &c->decl, TAB2, l->m->env, l->out);
}

void list_chain(struct lister *l, struct model_chain *c, bool rules)
{
	chain_open(l, c);
	if (rules)
		list_foreach (k, &c->rules)
			list_rule(l, container_of(k, struct model_rule, link));
	strbuf_puts(l->out, TAB "}\n");
}

void list_chain_rule(struct lister *l, struct model_chain *c, struct model_rule *r)
{
	chain_open(l, c);
	list_rule(l, r);
	strbuf_puts(l->out, TAB "}\n");
}

static void list_elements(struct lister *l, struct model_set *s, struct elem_printer *p)
{
	struct set_cursor *c;
	struct set_view v;

	if (l->m->env->numeric & PRINT_TERSE)
		return;
	if (set_cursor_open(s->set, SET_CURSOR_MERGED, NULL, l->now, &c)) {
		l->out->error = -ENOMEM;
		return;
	}
	while (set_cursor_next(c, &v)) {
		struct expr *e = element_expr(&l->m->scratch, s, &v, l->now);

		if (e)
			elem_printer_add(p, e);
		else
			l->out->error = -ENOMEM;
		arena_reset(&l->m->scratch);
	}
	set_cursor_close(c);
}

void list_set(struct lister *l, struct model_set *s, struct expr *const *only)
{
	struct elem_printer p;

	strbuf_printf(l->out, TAB "%s %s {", s->decl.flags & SETF_MAP ? "map" : "set", s->name);
	end_line(l, s->handle);
	s->decl.count = (uint32_t)set_count(s->set, l->now);
	print_set_head(&s->decl, TAB2, l->m->env, l->out);
	elem_printer_begin(&p, &s->decl, TAB2, l->m->env, l->out);
	for (; only && *only; only++)
		elem_printer_add(&p, *only);
	if (!only)
		list_elements(l, s, &p);
	elem_printer_end(&p);
	strbuf_puts(l->out, TAB "}\n");
}

void list_object(struct lister *l, struct model_object *o)
{
	object_refresh(o, l->now);
	strbuf_printf(l->out, TAB "%s %s {", obj_kind_name(o->kind), o->name);
	end_line(l, o->handle);
	print_object_body(&o->decl, TAB2, l->m->env, l->out);
	strbuf_puts(l->out, TAB "}\n");
}

void list_flowtable(struct lister *l, struct model_flowtable *f)
{
	strbuf_printf(l->out, TAB "flowtable %s {", f->name);
	end_line(l, f->handle);
	print_flowtable_body(f->table->family, &f->decl, TAB2, l->m->env, l->out);
	strbuf_puts(l->out, TAB "}\n");
}

/* --- tables ---------------------------------------------------------------------------------- */

void list_table_open(struct lister *l, const struct model_table *t)
{
	strbuf_printf(l->out, "table %s %s {", family_name(t->family), t->name);
	end_line(l, t->handle);
}

void list_table_close(struct lister *l)
{
	strbuf_puts(l->out, "}\n");
}

static void between(struct lister *l, bool *first)
{
	if (!*first)
		strbuf_putc(l->out, '\n');
	*first = false;
}

/* Flags are set off by a blank line, a comment is not: so it is in nft. */
static void list_table_head(struct lister *l, const struct model_table *t, bool *first)
{
	if (t->flags & TABLEF_DORMANT) {
		strbuf_puts(l->out, TAB "flags dormant\n");
		*first = false;
	}
	if (t->comment)
		strbuf_printf(l->out, TAB "comment \"%s\"\n", t->comment);
}

void list_table(struct lister *l, struct model_table *t)
{
	bool first = true;

	list_table_open(l, t);
	list_table_head(l, t, &first);
	list_foreach (k, &t->objects) {
		between(l, &first);
		list_object(l, container_of(k, struct model_object, link));
	}
	list_foreach (k, &t->sets) {
		between(l, &first);
		list_set(l, container_of(k, struct model_set, link), NULL);
	}
	list_foreach (k, &t->flowtables) {
		between(l, &first);
		list_flowtable(l, container_of(k, struct model_flowtable, link));
	}
	list_foreach (k, &t->chains) {
		between(l, &first);
		list_chain(l, container_of(k, struct model_chain, link), true);
	}
	list_table_close(l);
}

void model_list(struct model *m, uint64_t now, struct strbuf *out)
{
	struct lister l = lister_for(m, now, out);

	list_foreach (k, &m->tables)
		list_table(&l, container_of(k, struct model_table, link));
}

void model_rule_print(struct model_rule *r, const struct lang_env *env, uint64_t now,
		      struct strbuf *out)
{
	rule_refresh(r, now);
	print_rule(&r->decl, env, out);
}
