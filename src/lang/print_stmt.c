/* SPDX-License-Identifier: Apache-2.0 */
/* print: statements and rules as text. Cost: proportional to what is printed. One thread. */
#include "lang/print_int.h"

static void flags_print(unsigned flags, const char *const *names, unsigned n, struct strbuf *out)
{
	const char *between = "";

	for (unsigned i = 0; i < n; i++) {
		if (!(flags >> i & 1) || !names[i])
			continue;
		strbuf_printf(out, "%s%s", between, names[i]);
		between = ",";
	}
}

static void quota_print(const struct quota_spec *q, const struct lang_env *env, struct strbuf *out)
{
	uint64_t bytes = q->bytes, used = q->used;
	const char *unit = byte_unit(&bytes);

	strbuf_printf(out, "%s%llu %s", q->over ? "over " : "", (unsigned long long)bytes, unit);
	if (!used || env->numeric & PRINT_STATELESS)
		return;
	unit = byte_unit(&used);
	strbuf_printf(out, " used %llu %s", (unsigned long long)used, unit);
}

static void limit_print(const struct limit_spec *l, struct strbuf *out)
{
	uint64_t rate = l->rate, burst = l->burst;

	strbuf_printf(out, "rate %s", l->over ? "over " : "");
	if (!l->bytes) {
		strbuf_printf(out, "%llu/%s burst %llu packets", (unsigned long long)rate,
			      limit_unit_name(l->unit),
			      (unsigned long long)(l->has_burst ? burst : 5));
		return;
	}
	const char *unit = byte_unit(&rate);

	strbuf_printf(out, "%llu %s/%s", (unsigned long long)rate, unit, limit_unit_name(l->unit));
	if (burst) {
		unit = byte_unit(&burst);
		strbuf_printf(out, " burst %llu %s", (unsigned long long)burst, unit);
	}
}

/* Each part begins with `before` and ends with `after`. */
static void synproxy_print(const struct synproxy_spec *s, const char *before, const char *after,
			   struct strbuf *out)
{
	if (s->has_mss)
		strbuf_printf(out, "%smss %u%s", before, s->mss, after);
	if (s->has_wscale)
		strbuf_printf(out, "%swscale %u%s", before, s->wscale, after);
	if (s->timestamp || s->sack_perm)
		strbuf_printf(out, "%s%s%s%s%s", before, s->timestamp ? "timestamp" : "",
			      s->timestamp && s->sack_perm ? " " : "",
			      s->sack_perm ? "sack-perm" : "", after);
}

static void log_print(const struct stmt *s, struct strbuf *out)
{
	const unsigned flags = s->log.flags;

	strbuf_puts(out, "log");
	if (s->log.prefix)
		strbuf_printf(out, " prefix \"%s\"", s->log.prefix);
	if (s->log.has_group)
		strbuf_printf(out, " group %u", s->log.group);
	if (s->log.has_snaplen)
		strbuf_printf(out, " snaplen %u", s->log.snaplen);
	if (s->log.has_qthreshold)
		strbuf_printf(out, " queue-threshold %u", s->log.qthreshold);
	if (log_level_name(s->log.level) && s->log.level != 4)
		strbuf_printf(out, " level %s", log_level_name(s->log.level));
	if ((flags & LOGF_ALL) == LOGF_ALL) {
		strbuf_puts(out, " flags all");
		return;
	}
	if (flags & (LOGF_TCP_SEQ | LOGF_TCP_OPT)) {
		static const char *const names[] = {"sequence", "options"};

		strbuf_puts(out, " flags tcp ");
		flags_print(flags, names, ARRAY_SIZE(names), out);
	}
	if (flags & LOGF_IP_OPT)
		strbuf_puts(out, " flags ip options");
	if (flags & LOGF_UID)
		strbuf_puts(out, " flags skuid");
	if (flags & LOGF_MAC)
		strbuf_puts(out, " flags ether");
}

static void reject_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	const enum reject_type type = s->reject.type;
	const struct datatype *t = reject_code_type(type);
	uint64_t code;
	const char *name;

	strbuf_puts(out, "reject");
	if (type == REJECT_TCP_RST) {
		strbuf_puts(out, " with tcp reset");
		return;
	}
	if (type == REJECT_DEFAULT || !s->reject.code)
		return;
	code = expr_u64(s->reject.code);
	if (type == REJECT_ICMPX && code == 1)
		return;
	name = env->numeric & NUMERIC_SYMBOLS ? NULL : datatype_symbol(t, code);
	strbuf_printf(out, " with %s ", reject_type_name(type));
	if (name)
		strbuf_puts(out, name);
	else
		strbuf_printf(out, "%llu", (unsigned long long)code);
}

static void bracketed_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	bool ip6 = e->kind == EX_VALUE && e->type == &type_ipv6_addr;

	if (e->kind == EX_RANGE && e->pair.left->kind == EX_VALUE &&
	    e->pair.left->type == &type_ipv6_addr) {
		bracketed_print(e->pair.left, env, out);
		strbuf_putc(out, '-');
		bracketed_print(e->pair.right, env, out);
		return;
	}
	if (ip6)
		strbuf_putc(out, '[');
	print_expr(e, env, out);
	if (ip6)
		strbuf_putc(out, ']');
}

static void nat_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	static const char *const names[] = {"random", "fully-random", "persistent"};
	const struct expr *addr = s->nat.addr, *port = s->nat.port;
	const char *family = nfproto_name(s->nat.nfproto);
	const unsigned mask = NATF_RANDOM | NATF_FULLY_RANDOM | NATF_PERSISTENT;

	strbuf_puts(out, s->kind == ST_TPROXY ? "tproxy" : nat_kind_name(s->nat.kind));
	if (addr || port) {
		if (family && !s->nat.implicit_family)
			strbuf_printf(out, " %s", family);
		if (s->nat.flags & NATF_NETMAP)
			strbuf_puts(out, " prefix");
		strbuf_puts(out, " to ");
	}
	if (addr && (port || s->kind == ST_TPROXY))
		bracketed_print(addr, env, out);
	else if (addr)
		print_expr(addr, env, out);
	if (port) {
		strbuf_putc(out, ':');
		print_expr(port, env, out);
	}
	if (s->nat.flags & mask) {
		strbuf_putc(out, ' ');
		flags_print(s->nat.flags & mask, names, ARRAY_SIZE(names), out);
	}
}

static void objref_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	const struct expr *name = s->objref.name;

	switch (s->objref.kind) {
	case OBJ_CT_HELPER:
	case OBJ_CT_TIMEOUT:
	case OBJ_CT_EXPECTATION:
		strbuf_printf(out, "%s set ", obj_kind_name(s->objref.kind));
		break;
	case OBJ_SECMARK:
		strbuf_puts(out, "meta secmark set ");
		break;
	default:
		strbuf_printf(out, "%s name ", obj_kind_name(s->objref.kind));
		break;
	}
	if (name->kind == EX_SYMBOL) {
		strbuf_putc(out, '"');
		strbuf_add(out, name->symbol.text, name->symbol.len);
		strbuf_putc(out, '"');
	} else {
		print_expr(name, env, out);
	}
}

/* The element of a set statement: its statements stand before the data, and count nothing. */
static void set_stmt_elem_print(const struct elem_expr *el, bool hide_stmts,
				const struct lang_env *env, struct strbuf *out)
{
	struct lang_env stateless = *env;

	stateless.numeric |= PRINT_STATELESS;
	print_expr(el->key, env, out);
	elem_options_print(el, env, out);
	for (const struct stmt *s = hide_stmts ? NULL : el->stmts; s; s = s->next) {
		strbuf_putc(out, ' ');
		print_stmt(s, &stateless, out);
	}
	if (el->data) {
		strbuf_puts(out, " : ");
		print_expr(el->data, env, out);
	}
}

static void queue_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	static const char *const names[] = {"bypass", "fanout"};

	strbuf_puts(out, "queue");
	if (s->queue.flags) {
		strbuf_puts(out, " flags ");
		flags_print(s->queue.flags, names, ARRAY_SIZE(names), out);
	}
	strbuf_puts(out, " to ");
	if (s->queue.num)
		print_expr(s->queue.num, env, out);
	else
		strbuf_putc(out, '0');
}

static void dup_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	const char *family = nfproto_name(s->dup.nfproto);

	strbuf_puts(out, s->kind == ST_FWD ? "fwd" : "dup");
	if (s->dup.to) {
		if (s->kind == ST_FWD && family)
			strbuf_printf(out, " %s", family);
		strbuf_puts(out, " to ");
		print_expr(s->dup.to, env, out);
	}
	if (s->dup.dev) {
		strbuf_puts(out, s->dup.to ? " device " : " to ");
		print_expr(s->dup.dev, env, out);
	}
}

static void assign_print(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	const struct expr *target = s->assign.target, *value = s->assign.value;

	if (target->kind == EX_META && meta_key_is_unqualified(target->key))
		strbuf_puts(out, "meta ");
	print_expr(target, env, out);
	strbuf_puts(out, " set ");
	if (s->kind == ST_CT_SET && value->kind == EX_VALUE && value_flags(value) > 1) {
		unsigned bit = 0, n = 0;
		struct expr flag;

		while (value_next_flag(value, &bit, &flag)) {
			if (n++)
				strbuf_putc(out, ',');
			print_expr(&flag, env, out);
		}
		return;
	}
	print_expr(value, env, out);
}

static void option_reset_print(const struct expr *target, struct strbuf *out)
{
	const char *name = option_name(target);

	strbuf_puts(out, "reset tcp option ");
	if (name)
		strbuf_puts(out, name);
	else
		strbuf_printf(out, "%u", target->option.kind);
}

void print_stmt(const struct stmt *s, const struct lang_env *env, struct strbuf *out)
{
	static const struct lang_env no_env;
	bool stateless;

	if (!env)
		env = &no_env;
	stateless = env->numeric & PRINT_STATELESS;
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
	case ST_VERDICT:
		print_expr(s->expr, env, out);
		break;
	case ST_COUNTER:
		strbuf_puts(out, "counter");
		if (!stateless)
			strbuf_printf(out, " packets %llu bytes %llu",
				      (unsigned long long)s->counter.packets,
				      (unsigned long long)s->counter.bytes);
		break;
	case ST_QUOTA:
		strbuf_puts(out, "quota ");
		quota_print(&s->quota, env, out);
		break;
	case ST_LIMIT:
		strbuf_puts(out, "limit ");
		limit_print(&s->limit, out);
		break;
	case ST_LAST:
		strbuf_puts(out, "last");
		if (stateless)
			break;
		strbuf_puts(out, " used ");
		if (s->last.set)
			duration_print(s->last.used_ms, out);
		else
			strbuf_puts(out, "never");
		break;
	case ST_CONNLIMIT:
		strbuf_printf(out, "ct count %s%u", s->connlimit.over ? "over " : "",
			      s->connlimit.count);
		break;
	case ST_OBJREF:
		objref_print(s, env, out);
		break;
	case ST_LOG:
		log_print(s, out);
		break;
	case ST_REJECT:
		reject_print(s, env, out);
		break;
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
		assign_print(s, env, out);
		break;
	case ST_OPTION_RESET:
		option_reset_print(s->assign.target, out);
		break;
	case ST_NAT:
	case ST_TPROXY:
		nat_print(s, env, out);
		break;
	case ST_SYNPROXY:
		strbuf_puts(out, "synproxy");
		synproxy_print(&s->synproxy, " ", "", out);
		break;
	case ST_NOTRACK:
		strbuf_puts(out, "notrack");
		break;
	case ST_QUEUE:
		queue_print(s, env, out);
		break;
	case ST_SET:
		strbuf_printf(out, "%s ", set_op_name(s->set.op));
		print_expr(s->set.set, env, out);
		strbuf_puts(out, " { ");
		set_stmt_elem_print(s->set.elem, s->set.stmts_hidden, env, out);
		strbuf_puts(out, " }");
		break;
	case ST_METER:
		strbuf_printf(out, "meter %s", s->meter.name);
		if (s->meter.size)
			strbuf_printf(out, " size %u", s->meter.size);
		strbuf_puts(out, " { ");
		set_stmt_elem_print(s->meter.elem, false, env, out);
		strbuf_puts(out, " }");
		break;
	case ST_DUP:
	case ST_FWD:
		dup_print(s, env, out);
		break;
	case ST_FLOW_OFFLOAD:
		strbuf_printf(out, "flow add @%s", s->name);
		break;
	case ST_XT:
		strbuf_printf(out, "xt %s \"%s\"", s->xt.type, s->xt.name);
		break;
	case ST_KINDS:
		break;
	}
}

void print_rule(const struct rule_decl *r, const struct lang_env *env, struct strbuf *out)
{
	bool first = true;

	for (const struct stmt *s = r->stmts; s; s = s->next) {
		if (!stmt_is_listed(s))
			continue;
		if (!first)
			strbuf_putc(out, ' ');
		print_stmt(s, env, out);
		first = false;
	}
	if (r->comment)
		strbuf_printf(out, "%scomment \"%s\"", first ? "" : " ", r->comment);
}

/* --- Objects: their bodies are made of the same pieces ------------------------------------ */

static void timeout_body_print(const struct obj_decl *d, const char *indent, struct strbuf *out)
{
	uint8_t order[ARRAY_SIZE(d->timeout.policy)];

	timeout_policy_order(d, order);
	strbuf_printf(out, "%spolicy = { ", indent);
	for (unsigned i = 0; i < d->timeout.n; i++) {
		strbuf_printf(out, "%s%s : ", i ? ", " : "", d->timeout.policy[order[i]].state);
		duration_print(d->timeout.policy[order[i]].seconds * 1000ULL, out);
	}
	strbuf_puts(out, d->timeout.n ? " }\n" : "}\n");
}

static void l4proto_print(const char *indent, uint8_t l4proto, const struct lang_env *env,
			  struct strbuf *out)
{
	strbuf_printf(out, "%sprotocol ", indent);
	datatype_print(&type_inet_proto, env, &l4proto, 8, out);
}

static void l3proto_print(const char *indent, uint8_t l3proto, struct strbuf *out)
{
	if (l3proto)
		strbuf_printf(out, "%sl3proto %s\n", indent, family_name(l3proto));
}

static void tunnel_kind_print(const struct obj_decl *d, const char *indent, struct strbuf *out)
{
	switch (d->tunnel.kind) {
	case TUNNEL_PLAIN:
		return;
	case TUNNEL_VXLAN:
		strbuf_printf(out, "%svxlan {\n%s\tgbp %u\n", indent, indent, d->tunnel.gbp);
		break;
	case TUNNEL_ERSPAN:
		strbuf_printf(out, "%serspan {\n%s\tversion %u\n", indent, indent,
			      d->tunnel.version);
		if (d->tunnel.version == 1)
			strbuf_printf(out, "%s\tindex %u\n", indent, d->tunnel.index);
		else
			strbuf_printf(out, "%s\tdirection %s\n%s\tid %u\n", indent,
				      d->tunnel.direction ? "egress" : "ingress", indent,
				      d->tunnel.index);
		break;
	case TUNNEL_GENEVE:
		strbuf_printf(out, "%sgeneve {\n", indent);
		for (const struct tunnel_option *o = d->tunnel.options; o; o = o->next)
			strbuf_printf(out, "%s\tclass 0x%x opt-type 0x%x data \"%s\"\n", indent,
				      o->class, o->type, o->data);
		break;
	}
	strbuf_printf(out, "%s}\n", indent);
}

static void tunnel_address_print(const char *indent, const char *name, const struct expr *e,
				 const struct lang_env *env, struct strbuf *out)
{
	if (!e)
		return;
	strbuf_printf(out, "%s%s %s ", indent, e->bits == 128 ? "ip6" : "ip", name);
	print_expr(e, env, out);
	strbuf_putc(out, '\n');
}

static void tunnel_body_print(const struct obj_decl *d, const char *indent,
			      const struct lang_env *env, struct strbuf *out)
{
	strbuf_printf(out, "%sid %u\n", indent, d->tunnel.id);
	tunnel_address_print(indent, "saddr", d->tunnel.src, env, out);
	tunnel_address_print(indent, "daddr", d->tunnel.dst, env, out);
	if (d->tunnel.sport)
		strbuf_printf(out, "%ssport %u\n", indent, d->tunnel.sport);
	if (d->tunnel.dport)
		strbuf_printf(out, "%sdport %u\n", indent, d->tunnel.dport);
	if (d->tunnel.tos)
		strbuf_printf(out, "%stos %u\n", indent, d->tunnel.tos);
	if (d->tunnel.ttl)
		strbuf_printf(out, "%sttl %u\n", indent, d->tunnel.ttl);
	tunnel_kind_print(d, indent, out);
}

void print_object_body(const struct obj_decl *d, const char *indent, const struct lang_env *env,
		       struct strbuf *out)
{
	static const struct lang_env no_env;

	if (!env)
		env = &no_env;
	if (d->comment)
		strbuf_printf(out, "%scomment \"%s\"\n", indent, d->comment);
	switch (d->kind) {
	case OBJ_COUNTER:
		if (!(env->numeric & PRINT_STATELESS))
			strbuf_printf(out, "%spackets %llu bytes %llu\n", indent,
				      (unsigned long long)d->counter.packets,
				      (unsigned long long)d->counter.bytes);
		break;
	case OBJ_QUOTA:
		strbuf_puts(out, indent);
		quota_print(&d->quota, env, out);
		strbuf_putc(out, '\n');
		break;
	case OBJ_LIMIT:
		strbuf_puts(out, indent);
		limit_print(&d->limit, out);
		strbuf_putc(out, '\n');
		break;
	case OBJ_CT_HELPER:
		strbuf_printf(out, "%stype \"%s\"", indent, d->helper.type);
		l4proto_print(" ", d->helper.l4proto, env, out);
		strbuf_putc(out, '\n');
		l3proto_print(indent, d->helper.l3proto, out);
		break;
	case OBJ_CT_TIMEOUT:
		l4proto_print(indent, d->timeout.l4proto, env, out);
		strbuf_putc(out, '\n');
		l3proto_print(indent, d->timeout.l3proto, out);
		timeout_body_print(d, indent, out);
		break;
	case OBJ_CT_EXPECTATION:
		l4proto_print(indent, d->expectation.l4proto, env, out);
		strbuf_printf(out, "\n%sdport %u\n%stimeout ", indent, d->expectation.dport,
			      indent);
		duration_print(d->expectation.timeout_ms, out);
		strbuf_printf(out, "\n%ssize %u\n", indent, d->expectation.size);
		l3proto_print(indent, d->expectation.l3proto, out);
		break;
	case OBJ_SECMARK:
		strbuf_printf(out, "%s\"%s\"\n", indent, d->secmark);
		break;
	case OBJ_SYNPROXY:
		synproxy_print(&d->synproxy, indent, "\n", out);
		break;
	case OBJ_TUNNEL:
		tunnel_body_print(d, indent, env, out);
		break;
	case OBJ_KINDS:
		break;
	}
}
