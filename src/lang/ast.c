/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast: making, cloning and comparing nodes; see ast.h. Recursion is as deep as the tree, which the
 * parsers bound (PARSE_DEPTH_MAX).
 */
#include "lang/ast.h"

struct expr *expr_new(struct arena *a, enum expr_kind kind, struct loc loc)
{
	struct expr *e = arena_new(a, struct expr);
	if (e) {
		e->kind = (uint8_t)kind;
		e->loc = loc;
	}
	return e;
}

void expr_set_value(struct arena *a, struct expr *e, const struct datatype *type,
		    const uint8_t *bytes, unsigned bits)
{
	unsigned n = bits_to_bytes(bits);
	uint8_t *out = n <= sizeof(e->value.in) ? NULL : arena_dup(a, bytes, n);
	uint8_t in[sizeof(e->value.in)] = {0};
	if (n <= sizeof(in))
		memcpy(in, bytes, n);
	else if (!out)
		bits = 0;
	e->kind = EX_VALUE;
	e->type = type;
	e->bits = bits;
	if (out)
		e->value.out = out;
	else
		memcpy(e->value.in, in, sizeof(in));
}

struct expr *expr_value(struct arena *a, struct loc loc, const struct datatype *type,
			const uint8_t *bytes, unsigned bits)
{
	struct expr *e = expr_new(a, EX_VALUE, loc);
	if (e)
		expr_set_value(a, e, type, bytes, bits);
	return e;
}

struct expr *expr_number(struct arena *a, struct loc loc, const struct datatype *type, uint64_t v,
			 unsigned bits)
{
	uint8_t bytes[8];
	unsigned n = bits_to_bytes(MIN(bits, 64u));
	be_store(bytes, v, n);
	return expr_value(a, loc, type, bytes, MIN(bits, 64u));
}

uint64_t expr_u64(const struct expr *e)
{
	unsigned n = bits_to_bytes(e->bits), skip = n > 8 ? n - 8 : 0;
	return be_load(expr_bytes(e) + skip, n - skip);
}

void expr_list_add(struct arena *a, struct expr_list *l, struct expr *e)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 4;
		struct expr **items = arena_calloc(a, cap, sizeof(struct expr *));
		if (!items)
			return;
		if (l->n)
			memcpy(items, l->items, l->n * sizeof(*items));
		l->items = items;
		l->cap = cap;
	}
	l->items[l->n++] = e;
}

struct stmt *stmt_new(struct arena *a, enum stmt_kind kind, struct loc loc)
{
	struct stmt *s = arena_new(a, struct stmt);
	if (s) {
		s->kind = (uint8_t)kind;
		s->loc = loc;
	}
	return s;
}

bool assignment_object(const struct expr *target, const struct expr *value, enum obj_kind *kind)
{
	if (target->kind == EX_META) {
		*kind = OBJ_SECMARK;
		return target->key == META_SECMARK && value->kind != EX_CT;
	}
	if (target->kind != EX_CT)
		return false;
	switch (target->ct.key) {
	case CT_HELPER:
		*kind = OBJ_CT_HELPER;
		return true;
	case CT_TIMEOUT:
		*kind = OBJ_CT_TIMEOUT;
		return true;
	case CT_EXPECTATION:
		*kind = OBJ_CT_EXPECTATION;
		return true;
	default:
		return false;
	}
}

/* --- Cloning -------------------------------------------------------------------------------- */

static const char *clone_str(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

static struct expr_list clone_list(struct arena *a, const struct expr_list *l)
{
	struct expr_list out = {.n = l->n, .cap = l->n};
	if (!l->n)
		return out;
	out.items = arena_calloc(a, l->n, sizeof(struct expr *));
	if (!out.items)
		return (struct expr_list){0};
	for (uint32_t i = 0; i < l->n; i++)
		out.items[i] = expr_clone(a, l->items[i]);
	return out;
}

static struct elem_expr *elem_expr_clone(struct arena *a, const struct elem_expr *from)
{
	struct elem_expr *e = from ? arena_dup(a, from, sizeof(*from)) : NULL;
	if (!e)
		return NULL;
	e->key = expr_clone(a, from->key);
	e->data = expr_clone(a, from->data);
	e->comment = clone_str(a, from->comment);
	e->stmts = stmt_clone_list(a, from->stmts);
	return e;
}

static struct rule_list *clone_rules(struct arena *a, const struct rule_list *from)
{
	struct rule_list *l = from ? arena_new(a, struct rule_list) : NULL;
	if (!l)
		return NULL;
	if (from->n)
		l->items = arena_calloc(a, from->n, sizeof(*l->items));
	if (!l->items)
		return l;
	l->n = l->cap = from->n;
	for (uint32_t i = 0; i < from->n; i++) {
		l->items[i] = from->items[i];
		l->items[i].stmts = stmt_clone_list(a, from->items[i].stmts);
		l->items[i].comment = clone_str(a, from->items[i].comment);
	}
	return l;
}

struct expr *expr_clone(struct arena *a, const struct expr *from)
{
	struct expr *e = from ? arena_dup(a, from, sizeof(*from)) : NULL;
	if (!e)
		return NULL;
	switch ((enum expr_kind)from->kind) {
	case EX_SYMBOL:
		e->symbol.text = arena_strndup(a, from->symbol.text, from->symbol.len);
		break;
	case EX_VALUE:
		if (bits_to_bytes(from->bits) > sizeof(from->value.in))
			e->value.out = arena_dup(a, from->value.out, bits_to_bytes(from->bits));
		break;
	case EX_PREFIX:
		e->prefix.base = expr_clone(a, from->prefix.base);
		break;
	case EX_RANGE:
	case EX_BINOP:
	case EX_COMPARE:
		e->pair.left = expr_clone(a, from->pair.left);
		e->pair.right = expr_clone(a, from->pair.right);
		break;
	case EX_SET:
	case EX_LIST:
	case EX_CONCAT:
		e->list = clone_list(a, &from->list);
		break;
	case EX_ELEM:
		e->elem = elem_expr_clone(a, from->elem);
		break;
	case EX_SETREF:
		e->setref.name = clone_str(a, from->setref.name);
		break;
	case EX_MAP:
		e->map.key = expr_clone(a, from->map.key);
		e->map.to = expr_clone(a, from->map.to);
		break;
	case EX_VERDICT:
		e->verdict.name = expr_clone(a, from->verdict.name);
		e->verdict.body = clone_rules(a, from->verdict.body);
		e->verdict.chain_name = clone_str(a, from->verdict.chain_name);
		break;
	case EX_HASH:
		e->hash.key = expr_clone(a, from->hash.key);
		break;
	case EX_CATCHALL:
	case EX_PAYLOAD:
	case EX_RAW:
	case EX_OPTION:
	case EX_META:
	case EX_CT:
	case EX_RT:
	case EX_SOCKET:
	case EX_FIB:
	case EX_OSF:
	case EX_NUMGEN:
	case EX_XFRM:
	case EX_TUNNEL:
	case EX_MEMBERS:
	case EX_KINDS:
		break;
	}
	return e;
}

static struct stmt *clone_stmt(struct arena *a, const struct stmt *from)
{
	struct stmt *s = arena_dup(a, from, sizeof(*from));
	if (!s)
		return NULL;
	s->next = NULL;
	s->state = NULL;
	switch ((enum stmt_kind)from->kind) {
	case ST_MATCH:
	case ST_VERDICT:
		s->expr = expr_clone(a, from->expr);
		break;
	case ST_OBJREF:
		s->objref.name = expr_clone(a, from->objref.name);
		break;
	case ST_LOG:
		s->log.prefix = clone_str(a, from->log.prefix);
		break;
	case ST_REJECT:
		s->reject.code = expr_clone(a, from->reject.code);
		break;
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
	case ST_OPTION_RESET:
		s->assign.target = expr_clone(a, from->assign.target);
		s->assign.value = expr_clone(a, from->assign.value);
		break;
	case ST_NAT:
	case ST_TPROXY:
		s->nat.addr = expr_clone(a, from->nat.addr);
		s->nat.port = expr_clone(a, from->nat.port);
		break;
	case ST_QUEUE:
		s->queue.num = expr_clone(a, from->queue.num);
		break;
	case ST_SET:
		s->set.set = expr_clone(a, from->set.set);
		s->set.elem = elem_expr_clone(a, from->set.elem);
		break;
	case ST_METER:
		s->meter.name = clone_str(a, from->meter.name);
		s->meter.elem = elem_expr_clone(a, from->meter.elem);
		break;
	case ST_DUP:
	case ST_FWD:
		s->dup.to = expr_clone(a, from->dup.to);
		s->dup.dev = expr_clone(a, from->dup.dev);
		break;
	case ST_FLOW_OFFLOAD:
		s->name = clone_str(a, from->name);
		break;
	case ST_XT:
		s->xt.type = clone_str(a, from->xt.type);
		s->xt.name = clone_str(a, from->xt.name);
		break;
	case ST_COUNTER:
	case ST_QUOTA:
	case ST_LIMIT:
	case ST_LAST:
	case ST_CONNLIMIT:
	case ST_SYNPROXY:
	case ST_NOTRACK:
	case ST_KINDS:
		break;
	}
	return s;
}

struct stmt *stmt_clone_list(struct arena *a, const struct stmt *from)
{
	struct stmt *first = NULL, **link = &first;
	for (; from; from = from->next) {
		*link = clone_stmt(a, from);
		if (!*link)
			break;
		link = &(*link)->next;
	}
	return first;
}

/* --- Comparing ------------------------------------------------------------------------------ */

static bool str_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool opt_equal(const struct expr *a, const struct expr *b)
{
	return a == b || (a && b && expr_equal(a, b));
}

static bool list_equal(const struct expr_list *a, const struct expr_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!expr_equal(a->items[i], b->items[i]))
			return false;
	return true;
}

static bool elem_equal(const struct elem_expr *a, const struct elem_expr *b)
{
	return opt_equal(a->key, b->key) && opt_equal(a->data, b->data) &&
	       a->has_timeout == b->has_timeout && a->timeout == b->timeout &&
	       a->has_expires == b->has_expires && a->expires == b->expires &&
	       a->timeout_never == b->timeout_never && str_equal(a->comment, b->comment) &&
	       !a->stmts && !b->stmts;
}

static bool verdict_equal(const struct expr *a, const struct expr *b)
{
	return a->verdict.code == b->verdict.code && !a->verdict.body && !b->verdict.body &&
	       opt_equal(a->verdict.name, b->verdict.name) &&
	       str_equal(a->verdict.chain_name, b->verdict.chain_name);
}

static bool option_equal(const struct expr *a, const struct expr *b)
{
	return a->option.class == b->option.class && a->option.existence == b->option.existence &&
	       a->option.option == b->option.option && a->option.field == b->option.field &&
	       a->option.kind == b->option.kind && a->option.off == b->option.off;
}

bool expr_equal(const struct expr *a, const struct expr *b)
{
	if (a->kind != b->kind || a->op != b->op || a->bits != b->bits)
		return false;
	switch ((enum expr_kind)a->kind) {
	case EX_SYMBOL:
		return a->symbol.len == b->symbol.len &&
		       (a->flags & EXF_STRING) == (b->flags & EXF_STRING) &&
		       !memcmp(a->symbol.text, b->symbol.text, a->symbol.len);
	case EX_VALUE:
		return (a->flags & EXF_WILDCARD) == (b->flags & EXF_WILDCARD) &&
		       !memcmp(expr_bytes(a), expr_bytes(b), bits_to_bytes(a->bits));
	case EX_PREFIX:
		return a->prefix.len == b->prefix.len && expr_equal(a->prefix.base, b->prefix.base);
	case EX_RANGE:
	case EX_BINOP:
	case EX_COMPARE:
		return opt_equal(a->pair.left, b->pair.left) &&
		       opt_equal(a->pair.right, b->pair.right);
	case EX_SET:
	case EX_LIST:
	case EX_CONCAT:
		return list_equal(&a->list, &b->list);
	case EX_ELEM:
		return elem_equal(a->elem, b->elem);
	case EX_CATCHALL:
		return true;
	case EX_SETREF:
		return str_equal(a->setref.name, b->setref.name);
	case EX_MAP:
		return a->map.vmap == b->map.vmap && opt_equal(a->map.key, b->map.key) &&
		       opt_equal(a->map.to, b->map.to);
	case EX_VERDICT:
		return verdict_equal(a, b);
	case EX_PAYLOAD:
		return a->payload.header == b->payload.header &&
		       a->payload.field == b->payload.field &&
		       a->payload.tunnel == b->payload.tunnel;
	case EX_RAW:
		return a->raw.base == b->raw.base && a->raw.off == b->raw.off &&
		       a->raw.tunnel == b->raw.tunnel;
	case EX_OPTION:
		return option_equal(a, b);
	case EX_META:
	case EX_TUNNEL:
		return a->key == b->key;
	case EX_CT:
		return a->ct.key == b->ct.key && a->ct.direction == b->ct.direction &&
		       a->ct.nfproto == b->ct.nfproto;
	case EX_RT:
		return a->rt.key == b->rt.key && a->rt.nfproto == b->rt.nfproto;
	case EX_SOCKET:
		return a->socket.key == b->socket.key && a->socket.level == b->socket.level;
	case EX_FIB:
		return a->fib.flags == b->fib.flags && a->fib.result == b->fib.result &&
		       a->fib.check == b->fib.check;
	case EX_OSF:
		return a->osf.ttl == b->osf.ttl && a->osf.version == b->osf.version;
	case EX_NUMGEN: /* each reading gives another number */
		return false;
	case EX_HASH:
		return opt_equal(a->hash.key, b->hash.key) && a->hash.mod == b->hash.mod &&
		       a->hash.seed == b->hash.seed && a->hash.offset == b->hash.offset &&
		       a->hash.has_seed == b->hash.has_seed;
	case EX_XFRM:
		return a->xfrm.key == b->xfrm.key && a->xfrm.direction == b->xfrm.direction &&
		       a->xfrm.nfproto == b->xfrm.nfproto && a->xfrm.spnum == b->xfrm.spnum;
	case EX_MEMBERS: /* not looked into */
	case EX_KINDS:
		break;
	}
	return false;
}

/* --- Measuring ------------------------------------------------------------------------------ */

unsigned expr_measure(const struct expr *e, uint32_t *nodes)
{
	unsigned depth = 0, d;
	if (!e)
		return 0;
	++*nodes;
	switch ((enum expr_kind)e->kind) {
	case EX_SET:
	case EX_LIST:
	case EX_CONCAT:
		for (uint32_t i = 0; i < e->list.n; i++) {
			d = expr_measure(e->list.items[i], nodes);
			depth = MAX(depth, d);
		}
		break;
	case EX_PREFIX:
		depth = expr_measure(e->prefix.base, nodes);
		break;
	case EX_RANGE:
	case EX_BINOP:
	case EX_COMPARE:
		depth = expr_measure(e->pair.left, nodes);
		d = expr_measure(e->pair.right, nodes);
		depth = MAX(depth, d);
		break;
	case EX_ELEM:
		depth = expr_measure(e->elem->key, nodes);
		d = expr_measure(e->elem->data, nodes);
		depth = MAX(depth, d);
		for (const struct stmt *s = e->elem->stmts; s; s = s->next)
			++*nodes;
		break;
	case EX_VERDICT:
		depth = expr_measure(e->verdict.name, nodes);
		break;
	case EX_MEMBERS:
		*nodes += e->members.nodes - 1;
		return e->members.depth;
	default:
		break;
	}
	return depth + 1;
}
