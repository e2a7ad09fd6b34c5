/* SPDX-License-Identifier: Apache-2.0 */
/* parse_dump: the unchecked form as text, so that tests of the parser can be tables. */
#ifndef TAMIS_TEST_PARSE_DUMP_H
#define TAMIS_TEST_PARSE_DUMP_H

#include "lang/ast.h"

static void dump_stmts(struct strbuf *o, const struct stmt *s);

static const char *dump_op(unsigned op)
{
	static const char *const names[] = {
		"", "~", "==", "!=", "<", ">", "<=", ">=", "!", "&", "|", "^", "<<", ">>"};
	return names[op];
}

static void dump_expr(struct strbuf *o, const struct expr *e);

static void dump_list(struct strbuf *o, const char *open, const struct expr_list *l,
		      const char *close)
{
	strbuf_puts(o, open);
	for (uint32_t i = 0; i < l->n; i++) {
		strbuf_puts(o, i ? " " : "");
		dump_expr(o, l->items[i]);
	}
	strbuf_puts(o, close);
}

static void dump_elem(struct strbuf *o, const struct elem_expr *e)
{
	strbuf_puts(o, "<");
	dump_expr(o, e->key);
	if (e->has_timeout)
		strbuf_printf(o, " timeout=%lld", e->timeout_never ? -1LL : (long long)e->timeout);
	if (e->has_expires)
		strbuf_printf(o, " expires=%llu", (unsigned long long)e->expires);
	if (e->comment)
		strbuf_printf(o, " comment=%s", e->comment);
	if (e->stmts) {
		strbuf_puts(o, " ");
		dump_stmts(o, e->stmts);
	}
	if (e->data) {
		strbuf_puts(o, " : ");
		dump_expr(o, e->data);
	}
	strbuf_puts(o, ">");
}

static void dump_verdict(struct strbuf *o, const struct expr *e)
{
	static const char *const names[] = {"accept", "drop", "continue", "return", "jump", "goto"};
	strbuf_puts(o, names[e->verdict.code]);
	if (e->verdict.name) {
		strbuf_puts(o, " ");
		dump_expr(o, e->verdict.name);
	}
	if (!e->verdict.body)
		return;
	for (uint32_t i = 0; i < e->verdict.body->n; i++) {
		strbuf_puts(o, i ? " ; " : " { ");
		dump_stmts(o, e->verdict.body->items[i].stmts);
	}
	strbuf_puts(o, " }");
}

static void dump_option(struct strbuf *o, const struct expr *e)
{
	strbuf_printf(o, "opt%d", (int)e->option.class);
	if (e->option.option)
		strbuf_printf(o, ".%s", e->option.option->name);
	else
		strbuf_printf(o, ".%u", e->option.kind);
	if (e->option.field)
		strbuf_printf(o, ".%s", e->option.field->name);
	if (e->option.off || (!e->option.field && !e->option.existence))
		strbuf_printf(o, "+%u,%u", e->option.off, e->bits);
	strbuf_puts(o, e->option.existence ? "?" : "");
}

static void dump_expr(struct strbuf *o, const struct expr *e)
{
	switch (e->kind) {
	case EX_SYMBOL:
		strbuf_printf(o, e->flags & EXF_STRING ? "\"%.*s\"" : "%.*s", (int)e->symbol.len,
			      e->symbol.text);
		strbuf_puts(o, e->flags & EXF_NUMBER ? "#" : "");
		break;
	case EX_PREFIX:
		dump_expr(o, e->prefix.base);
		strbuf_printf(o, "/%u", e->prefix.len);
		break;
	case EX_RANGE:
		dump_expr(o, e->pair.left);
		strbuf_puts(o, "-");
		dump_expr(o, e->pair.right);
		break;
	case EX_BINOP:
	case EX_COMPARE:
		strbuf_printf(o, "(%s ", dump_op(e->op));
		dump_expr(o, e->pair.left);
		strbuf_puts(o, " ");
		dump_expr(o, e->pair.right);
		strbuf_puts(o, ")");
		break;
	case EX_SET:
		dump_list(o, "{", &e->list, "}");
		break;
	case EX_LIST:
		dump_list(o, "[", &e->list, "]");
		break;
	case EX_CONCAT:
		dump_list(o, "(. ", &e->list, ")");
		break;
	case EX_ELEM:
		dump_elem(o, e->elem);
		break;
	case EX_CATCHALL:
		strbuf_puts(o, "*");
		break;
	case EX_SETREF:
		strbuf_printf(o, "@%s", e->setref.name);
		break;
	case EX_MAP:
		strbuf_puts(o, e->map.vmap ? "(vmap " : "(map ");
		dump_expr(o, e->map.key);
		strbuf_puts(o, " ");
		dump_expr(o, e->map.to);
		strbuf_puts(o, ")");
		break;
	case EX_VERDICT:
		dump_verdict(o, e);
		break;
	case EX_PAYLOAD:
		strbuf_printf(o, "%s%s%s.%s", e->payload.tunnel ? e->payload.tunnel->name : "",
			      e->payload.tunnel ? "/" : "", e->payload.header->name,
			      e->payload.field->name);
		break;
	case EX_RAW:
		strbuf_printf(o, "@%d,%u,%u", (int)e->raw.base, e->raw.off, e->bits);
		break;
	case EX_OPTION:
		dump_option(o, e);
		break;
	case EX_META:
		strbuf_printf(o, "meta.%s", meta_keys[e->key].name);
		break;
	case EX_CT:
		strbuf_printf(o, "ct.%s", ct_keys[e->ct.key].name);
		if (e->ct.direction >= 0 || e->ct.nfproto)
			strbuf_printf(o, "/%d,%u", e->ct.direction, e->ct.nfproto);
		break;
	case EX_RT:
		strbuf_printf(o, "rt%u/%u", e->rt.key, e->rt.nfproto);
		break;
	case EX_SOCKET:
		strbuf_printf(o, "socket%u/%u", e->socket.key, e->socket.level);
		break;
	case EX_FIB:
		strbuf_printf(o, "fib%u/%u%s", e->fib.flags, e->fib.result,
			      e->fib.check ? "?" : "");
		break;
	case EX_OSF:
		strbuf_printf(o, "osf%u/%d", e->osf.ttl, e->osf.version);
		break;
	case EX_NUMGEN:
		strbuf_printf(o, "numgen%u/%u+%u", e->numgen.type, e->numgen.mod, e->numgen.offset);
		break;
	case EX_HASH:
		strbuf_printf(o, "hash%u+%u/%u%s(", e->hash.mod, e->hash.offset, e->hash.seed,
			      e->hash.has_seed ? "!" : "");
		if (e->hash.key)
			dump_expr(o, e->hash.key);
		strbuf_puts(o, ")");
		break;
	case EX_XFRM:
		strbuf_printf(o, "xfrm%u/%u,%u,%u", e->xfrm.key, e->xfrm.direction, e->xfrm.nfproto,
			      e->xfrm.spnum);
		break;
	case EX_TUNNEL:
		strbuf_printf(o, "tunnel%u", e->key);
		break;
	default:
		strbuf_puts(o, "?");
		break;
	}
}

static void dump_opt(struct strbuf *o, const char *name, const struct expr *e)
{
	if (!e)
		return;
	strbuf_printf(o, " %s=", name);
	dump_expr(o, e);
}

static void dump_log(struct strbuf *o, const struct stmt *s)
{
	strbuf_puts(o, "log");
	if (s->log.prefix)
		strbuf_printf(o, " prefix=%s", s->log.prefix);
	if (s->log.level != LOG_LEVEL_NONE)
		strbuf_printf(o, " level=%d", s->log.level);
	if (s->log.flags)
		strbuf_printf(o, " flags=%u", s->log.flags);
	if (s->log.has_group)
		strbuf_printf(o, " group=%u", s->log.group);
	if (s->log.has_snaplen)
		strbuf_printf(o, " snaplen=%u", s->log.snaplen);
	if (s->log.has_qthreshold)
		strbuf_printf(o, " threshold=%u", s->log.qthreshold);
}

static void dump_stmt(struct strbuf *o, const struct stmt *s)
{
	static const char *const nats[] = {"snat", "dnat", "masquerade", "redirect"};
	static const char *const ops[] = {"add", "update", "delete"};
	switch (s->kind) {
	case ST_MATCH:
	case ST_VERDICT:
		dump_expr(o, s->expr);
		break;
	case ST_COUNTER:
		strbuf_printf(o, "counter %llu %llu", (unsigned long long)s->counter.packets,
			      (unsigned long long)s->counter.bytes);
		break;
	case ST_QUOTA:
		strbuf_printf(o, "quota %s%llu %llu", s->quota.over ? ">" : "",
			      (unsigned long long)s->quota.bytes,
			      (unsigned long long)s->quota.used);
		break;
	case ST_LIMIT:
		strbuf_printf(o, "limit %s%llu%s/%u", s->limit.over ? ">" : "",
			      (unsigned long long)s->limit.rate, s->limit.bytes ? "B" : "",
			      s->limit.unit);
		if (s->limit.has_burst)
			strbuf_printf(o, " burst %llu", (unsigned long long)s->limit.burst);
		break;
	case ST_LAST:
		strbuf_printf(o, "last %lld", s->last.set ? (long long)s->last.used_ms : -1LL);
		break;
	case ST_CONNLIMIT:
		strbuf_printf(o, "connlimit %s%u", s->connlimit.over ? ">" : "",
			      s->connlimit.count);
		break;
	case ST_OBJREF:
		strbuf_printf(o, "obj%d ", (int)s->objref.kind);
		dump_expr(o, s->objref.name);
		break;
	case ST_LOG:
		dump_log(o, s);
		break;
	case ST_REJECT:
		strbuf_printf(o, "reject%d", (int)s->reject.type);
		dump_opt(o, "code", s->reject.code);
		break;
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
	case ST_OPTION_RESET:
		strbuf_puts(o, "set");
		dump_opt(o, "to", s->assign.target);
		dump_opt(o, "value", s->assign.value);
		break;
	case ST_NAT:
	case ST_TPROXY:
		strbuf_printf(o, "%s/%u", s->kind == ST_NAT ? nats[s->nat.kind] : "tproxy",
			      s->nat.nfproto);
		dump_opt(o, "addr", s->nat.addr);
		dump_opt(o, "port", s->nat.port);
		strbuf_printf(o, " flags=%u", s->nat.flags);
		break;
	case ST_SYNPROXY:
		strbuf_printf(o, "synproxy %u %u %d %d", s->synproxy.mss, s->synproxy.wscale,
			      s->synproxy.timestamp, s->synproxy.sack_perm);
		break;
	case ST_NOTRACK:
		strbuf_puts(o, "notrack");
		break;
	case ST_QUEUE:
		strbuf_printf(o, "queue flags=%u", s->queue.flags);
		dump_opt(o, "num", s->queue.num);
		break;
	case ST_SET:
		strbuf_printf(o, "%s @%s ", ops[s->set.op], s->set.set->setref.name);
		dump_elem(o, s->set.elem);
		break;
	case ST_METER:
		strbuf_printf(o, "meter %s %u ", s->meter.name, s->meter.size);
		dump_elem(o, s->meter.elem);
		break;
	case ST_DUP:
	case ST_FWD:
		strbuf_printf(o, "%s/%u", s->kind == ST_DUP ? "dup" : "fwd", s->dup.nfproto);
		dump_opt(o, "to", s->dup.to);
		dump_opt(o, "dev", s->dup.dev);
		break;
	case ST_FLOW_OFFLOAD:
		strbuf_printf(o, "flow @%s", s->name);
		break;
	case ST_XT:
		strbuf_printf(o, "xt %s %s", s->xt.type, s->xt.name);
		break;
	}
}

static void dump_stmts(struct strbuf *o, const struct stmt *s)
{
	for (; s; s = s->next) {
		dump_stmt(o, s);
		strbuf_puts(o, s->next ? " | " : "");
	}
}

#endif
