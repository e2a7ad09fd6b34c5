/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: sets, chains and flowtables as text, and the wrapping of elements.
 *
 * Elements go out one by one, so that a listing of a million needs no more memory than its text.
 * One thread.
 */
#include "lang/print_int.h"

static void type_print(const struct set_type *t, struct strbuf *out)
{
	for (unsigned i = 0; i < t->n; i++)
		strbuf_printf(out, "%s%s", i ? " . " : "", t->fields[i]->name);
}

static void set_flags_print(const struct set_decl *d, const char *indent, struct strbuf *out)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{SETF_CONSTANT, "constant"},
		{SETF_DYNAMIC, "dynamic"},
		{SETF_INTERVAL, "interval"},
		{SETF_TIMEOUT, "timeout"},
	};
	uint32_t flags = d->flags & (SETF_CONSTANT | SETF_DYNAMIC | SETF_INTERVAL | SETF_TIMEOUT);
	const char *between = "flags ";

	if (flags == SETF_TIMEOUT && d->timeout)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(flags & names[i].flag))
			continue;
		strbuf_printf(out, "%s%s%s", *between == 'f' ? indent : "", between, names[i].name);
		between = ",";
	}
	if (*between == ',')
		strbuf_putc(out, '\n');
}

void print_set_head(const struct set_decl *d, const char *indent, const struct lang_env *env,
		    struct strbuf *out)
{
	const bool of = d->key.of || d->data.of;
	struct lang_env stateless = env ? *env : (struct lang_env){0};

	stateless.numeric |= PRINT_STATELESS;
	strbuf_printf(out, "%s%s ", indent, of ? "typeof" : "type");
	if (d->key.of)
		print_expr(d->key.of, env, out);
	else
		type_print(&d->key, out);
	if (d->flags & SETF_OBJECT) {
		strbuf_printf(out, " : %s", obj_kind_name(d->obj));
	} else if (d->data.n || d->data.of) {
		strbuf_puts(out, d->data.interval ? " : interval " : " : ");
		if (d->data.of)
			print_expr(d->data.of, env, out);
		else
			type_print(&d->data, out);
	}
	strbuf_putc(out, '\n');
	if (d->policy_memory)
		strbuf_printf(out, "%spolicy memory\n", indent);
	if (d->size) {
		strbuf_printf(out, "%ssize %u", indent, d->size);
		if (d->count)
			strbuf_printf(out, "\t# count %u", d->count);
		strbuf_putc(out, '\n');
	}
	set_flags_print(d, indent, out);
	for (const struct stmt *s = d->stmts; s; s = s->next) {
		strbuf_puts(out, indent);
		print_stmt(s, &stateless, out);
		strbuf_putc(out, '\n');
	}
	if (d->auto_merge)
		strbuf_printf(out, "%sauto-merge\n", indent);
	if (d->timeout) {
		strbuf_printf(out, "%stimeout ", indent);
		duration_print(d->timeout, out);
		strbuf_putc(out, '\n');
	}
	if (d->gc_interval) {
		strbuf_printf(out, "%sgc-interval ", indent);
		duration_print(d->gc_interval, out);
		strbuf_putc(out, '\n');
	}
	if (d->comment)
		strbuf_printf(out, "%scomment \"%s\"\n", indent, d->comment);
}

static unsigned type_per_line(const struct set_type *t)
{
	static const struct datatype *const five[] = {
		&type_nfproto,	  &type_integer,      &type_xinteger, &type_arp_op,
		&type_inet_proto, &type_inet_service, &type_tcp_flag, &type_dccp_pkttype,
		&type_mark,	  &type_iface_index,  &type_classid,  &type_uid,
		&type_gid,	  &type_ct_dir,
	};
	static const struct datatype *const two[] = {&type_ipv4_addr, &type_ct_state,
						     &type_ct_status, &type_pkt_type};

	if (t->n != 1)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(five); i++)
		if (t->fields[0] == five[i])
			return 5;
	for (size_t i = 0; i < ARRAY_SIZE(two); i++)
		if (t->fields[0] == two[i])
			return 2;
	return 1;
}

void elem_printer_begin(struct elem_printer *p, const struct set_decl *d, const char *indent,
			const struct lang_env *env, struct strbuf *out)
{
	*p = (struct elem_printer){.decl = d, .env = env, .out = out, .indent = indent};
	p->per_line = type_per_line(&d->key);
}

void elem_printer_add(struct elem_printer *p, const struct expr *elem)
{
	if (!p->n)
		strbuf_printf(p->out, "%selements = { ", p->indent);
	else if (p->on_line < p->per_line)
		strbuf_puts(p->out, ", ");
	else
		strbuf_printf(p->out, ",\n%s\t     ", p->indent);
	if (p->on_line >= p->per_line)
		p->on_line = 0;
	p->n++;
	p->on_line++;
	/* From the first element with more than a key on, each has a line of its own. */
	if (elem->kind == EX_ELEM) {
		const struct elem_expr *el = elem->elem;

		if (el->data || el->stmts || el->has_timeout || el->has_expires || el->comment)
			p->per_line = 1;
	}
	print_expr(elem, p->env, p->out);
}

void elem_printer_end(struct elem_printer *p)
{
	if (p->n)
		strbuf_puts(p->out, " }\n");
}

static void device_print(const struct expr *dev, struct strbuf *out)
{
	strbuf_putc(out, '"');
	if (dev->kind == EX_SYMBOL)
		strbuf_add(out, dev->symbol.text, dev->symbol.len);
	else
		strbuf_add(out, expr_bytes(dev),
			   strnlen((const char *)expr_bytes(dev), bits_to_bytes(dev->bits)));
	if (dev->flags & EXF_WILDCARD && dev->kind == EX_VALUE)
		strbuf_putc(out, '*');
	strbuf_putc(out, '"');
}

static void devices_print(const struct expr_list *l, struct strbuf *out)
{
	strbuf_puts(out, "devices = { ");
	for (uint32_t i = 0; i < l->n; i++) {
		if (i)
			strbuf_puts(out, ", ");
		device_print(l->items[i], out);
	}
	strbuf_puts(out, " }");
}

void print_chain_head(enum family f, const struct chain_decl *d, const char *indent,
		      const struct lang_env *env, struct strbuf *out)
{
	if (d->comment)
		strbuf_printf(out, "%scomment \"%s\"\n", indent, d->comment);
	if (!d->base)
		return;
	strbuf_printf(out, "%stype %s hook %s ", indent, chain_type_name(d->type),
		      hook_name(d->hook));
	if (d->devices.n == 1) {
		strbuf_puts(out, "device ");
		device_print(d->devices.items[0], out);
		strbuf_putc(out, ' ');
	} else if (d->devices.n) {
		devices_print(&d->devices, out);
		strbuf_putc(out, ' ');
	}
	strbuf_puts(out, "priority ");
	print_priority(f, d->hook, d->priority, env, out);
	strbuf_printf(out, "; policy %s;",
		      verdict_name(d->has_policy ? d->policy : VERDICT_ACCEPT));
	if (d->offload)
		strbuf_puts(out, " flags offload;");
	strbuf_putc(out, '\n');
}

void print_flowtable_body(enum family f, const struct flowtable_decl *d, const char *indent,
			  const struct lang_env *env, struct strbuf *out)
{
	if (d->hook != HOOK_NONE) {
		strbuf_printf(out, "%shook %s priority ", indent, hook_name(d->hook));
		print_priority(f, d->hook, d->priority, env, out);
		strbuf_putc(out, '\n');
	}
	if (d->devices.n) {
		strbuf_puts(out, indent);
		devices_print(&d->devices, out);
		strbuf_putc(out, '\n');
	}
	if (d->offload)
		strbuf_printf(out, "%sflags offload\n", indent);
	if (d->counter)
		strbuf_printf(out, "%scounter\n", indent);
}
