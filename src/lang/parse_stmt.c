/* SPDX-License-Identifier: Apache-2.0 */
/* parse_stmt: rules and their statements; those that send packets elsewhere are in parse_nat.c. */
#include "lang/parser.h"

static struct stmt *stmt_at(struct parser *p, enum stmt_kind kind)
{
	return stmt_new(p->a, kind, token_loc(p));
}

/* --- Statements with a state ---------------------------------------------------------------- */

static bool next_is(const struct parser *p, const char *word)
{
	struct token t = token_peek(p);
	return t.type == T_WORD && t.len == strlen(word) && !memcmp(t.text, word, t.len);
}

bool token_is_stateful(const struct parser *p)
{
	switch (p->tok.kw) {
	case KW_COUNTER:
	case KW_LIMIT:
	case KW_QUOTA:
	case KW_LAST:
		return true;
	case KW_CT:
		return next_is(p, "count");
	default:
		return false;
	}
}

static struct stmt *parse_connlimit(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_CONNLIMIT);
	token_next(p);
	token_next(p);
	s->connlimit.over = token_accept_word(p, "over");
	if (!s->connlimit.over)
		token_accept_word(p, "until");
	s->connlimit.count = (uint32_t)parse_number_max(p, UINT32_MAX);
	return s;
}

static struct stmt *parse_last(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_LAST);
	token_next(p);
	if (token_accept_word(p, "used") && !token_accept_word(p, "never")) {
		s->last.set = true;
		s->last.used_ms = parse_time(p);
	}
	return s;
}

struct stmt *parse_stateful(struct parser *p)
{
	struct stmt *s;
	switch (p->tok.kw) {
	case KW_COUNTER:
		s = stmt_at(p, ST_COUNTER);
		token_next(p);
		parse_counter(p, &s->counter.packets, &s->counter.bytes);
		break;
	case KW_LIMIT:
		s = stmt_at(p, ST_LIMIT);
		token_next(p);
		parse_limit(p, &s->limit);
		break;
	case KW_QUOTA:
		s = stmt_at(p, ST_QUOTA);
		token_next(p);
		parse_quota(p, &s->quota);
		break;
	case KW_LAST:
		s = parse_last(p);
		break;
	default:
		s = parse_connlimit(p);
		break;
	}
	s->loc = parse_span(p, s->loc);
	return s;
}

/* `counter name X`, where the word is followed by `name`. */
static struct stmt *parse_objref(struct parser *p, enum obj_kind kind)
{
	struct stmt *s = stmt_at(p, ST_OBJREF);
	token_next(p);
	token_next(p);
	s->objref.kind = kind;
	s->objref.name = parse_stmt_expr(p);
	return s;
}

/* --- log, reject ---------------------------------------------------------------------------- */

static int parse_log_level(struct parser *p)
{
	static const char *const levels[] = {"emerg",  "alert", "crit",	 "err",	 "warn",
					     "notice", "info",	"debug", "audit"};
	struct loc loc = token_loc(p);
	const char *s = parse_string(p);
	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++)
		if (!strcmp(s, levels[i]))
			return (int)i;
	parse_error(p, loc, "invalid log level");
}

static uint32_t parse_log_flags(struct parser *p)
{
	uint32_t flags = 0;
	if (token_accept_kw(p, KW_TCP)) {
		do {
			if (token_accept_word(p, "sequence"))
				flags |= LOGF_TCP_SEQ;
			else if (token_accept_word(p, "options"))
				flags |= LOGF_TCP_OPT;
			else
				parse_syntax_error(p, "options or sequence");
		} while (token_accept(p, T_COMMA));
		return flags;
	}
	if (token_accept_kw(p, KW_IP)) {
		token_expect_word(p, "options");
		return LOGF_IP_OPT;
	}
	if (token_accept_kw(p, KW_SKUID))
		return LOGF_UID;
	if (token_accept_kw(p, KW_ETHER))
		return LOGF_MAC;
	if (token_accept_kw(p, KW_ALL))
		return LOGF_ALL;
	parse_syntax_error(p, NULL);
}

static struct stmt *parse_log(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_LOG);
	s->log.level = LOG_LEVEL_NONE;
	token_next(p);
	for (;;) {
		if (token_accept_word(p, "prefix")) {
			s->log.prefix = parse_expanded_string(p);
		} else if (token_accept_word(p, "group")) {
			s->log.has_group = true;
			s->log.group = (uint16_t)parse_number_max(p, UINT16_MAX);
		} else if (token_accept_word(p, "snaplen")) {
			s->log.has_snaplen = true;
			s->log.snaplen = (uint32_t)parse_number_max(p, UINT32_MAX);
		} else if (token_accept_word(p, "queue-threshold")) {
			s->log.has_qthreshold = true;
			s->log.qthreshold = (uint16_t)parse_number_max(p, UINT16_MAX);
		} else if (token_accept_word(p, "level")) {
			s->log.level = parse_log_level(p);
		} else if (token_accept_kw(p, KW_FLAGS)) {
			s->log.flags |= parse_log_flags(p);
		} else {
			return s;
		}
	}
}

static struct stmt *parse_reject(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_REJECT);
	token_next(p);
	if (!token_accept_word(p, "with"))
		return s;
	if (token_accept_kw(p, KW_TCP)) {
		s->reject.type = REJECT_TCP_RST;
		token_expect_kw(p, KW_RESET);
		return s;
	}
	if (token_accept_kw(p, KW_ICMP))
		s->reject.type = REJECT_ICMP;
	else if (token_accept_kw(p, KW_ICMPV6))
		s->reject.type = REJECT_ICMPV6;
	else if (token_accept_word(p, "icmpx"))
		s->reject.type = REJECT_ICMPX;
	else
		parse_syntax_error(p, "tcp or icmp or icmpv6 or icmpx");
	token_accept_kw(p, KW_TYPE);
	if (token_is(p, T_DOLLAR))
		s->reject.code = parse_variable(p);
	else if (token_is(p, T_NUMBER) || (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw)))
		s->reject.code = parse_symbol(p);
	else
		parse_syntax_error(p, NULL);
	return s;
}

/* --- Sets ----------------------------------------------------------------------------------- */

/* { key options : data }, of one element that is worked out for each packet. */
static struct elem_expr *parse_dynamic_elem(struct parser *p)
{
	struct elem_expr *e = arena_new(p->a, struct elem_expr);
	token_expect(p, T_LBRACE, "'{'");
	e->key = parse_stmt_concat(p);
	parse_elem_options(p, e);
	if (token_accept(p, T_COLON)) {
		e->data = parse_stmt_concat(p);
		parse_elem_options(p, e);
	}
	token_expect(p, T_RBRACE, "'}'");
	return e;
}

static enum set_op parse_set_op(struct parser *p)
{
	if (token_accept_kw(p, KW_ADD))
		return SETOP_ADD;
	if (token_accept_kw(p, KW_UPDATE))
		return SETOP_UPDATE;
	if (token_accept_kw(p, KW_DELETE))
		return SETOP_DELETE;
	parse_syntax_error(p, "add or update or delete");
}

static struct expr *parse_at_set(struct parser *p)
{
	if (!token_is(p, T_AT))
		parse_syntax_error(p, "@");
	return parse_setref(p);
}

/* add @s { ip saddr }; the older form is `set add ip saddr @s`. */
static struct stmt *parse_set_stmt(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_SET);
	bool older = token_accept_kw(p, KW_SET);
	s->set.op = parse_set_op(p);
	if (older) {
		s->set.elem = arena_new(p->a, struct elem_expr);
		s->set.elem->key = parse_stmt_concat(p);
		parse_elem_options(p, s->set.elem);
		s->set.set = parse_at_set(p);
	} else {
		s->set.set = parse_at_set(p);
		s->set.elem = parse_dynamic_elem(p);
	}
	return s;
}

/* meter m size 10 { ip saddr limit rate 1/second } and `flow table m { ... }` */
static struct stmt *parse_meter(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_METER);
	if (token_accept_kw(p, KW_FLOW))
		token_expect_kw(p, KW_TABLE);
	else
		token_next(p);
	s->meter.name = token_is(p, T_LBRACE) ? NULL : parse_identifier(p).text;
	if (token_accept_kw(p, KW_SIZE))
		s->meter.size = (uint32_t)parse_number_max(p, UINT32_MAX);
	s->meter.elem = parse_dynamic_elem(p);
	if (!s->meter.elem->stmts)
		parse_error(p, parse_span(p, s->loc),
			    "meter statement must contain a stateful statement");
	return s;
}

static struct stmt *parse_flow(struct parser *p)
{
	if (token_peek(p).kw == KW_TABLE)
		return parse_meter(p);
	struct stmt *s = stmt_at(p, ST_FLOW_OFFLOAD);
	token_next(p);
	if (!token_accept_kw(p, KW_ADD) && !token_accept_kw(p, KW_OFFLOAD))
		parse_syntax_error(p, "add or offload or table");
	s->name = parse_at_set(p)->setref.name;
	return s;
}

/* --- Verdicts, assignments, matches ----------------------------------------------------------- */

static void body_item(struct parser *p, void *arg)
{
	struct rule_list *l = arg;
	struct rule_decl r = {0};
	parse_rule(p, &r);
	parse_end_of_item(p);
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 4;
		struct rule_decl *items = arena_calloc(p->a, cap, sizeof(*items));
		if (l->n)
			memcpy(items, l->items, l->n * sizeof(*items));
		l->items = items;
		l->cap = cap;
	}
	l->items[l->n++] = r;
}

static struct stmt *parse_verdict_stmt(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_VERDICT);
	bool jump = token_is_kw(p, KW_JUMP);
	if ((jump || token_is_kw(p, KW_GOTO)) && token_peek(p).type == T_LBRACE) {
		struct expr *e = expr_new(p->a, EX_VERDICT, token_loc(p));
		e->verdict.code = jump ? VERDICT_JUMP : VERDICT_GOTO;
		e->verdict.body = arena_new(p->a, struct rule_list);
		token_next(p);
		parse_block(p, body_item, e->verdict.body);
		e->loc = parse_span(p, e->loc);
		s->expr = e;
	} else {
		s->expr = parse_verdict(p);
	}
	return s;
}

static struct stmt *parse_assignment(struct parser *p, struct expr *target)
{
	enum stmt_kind kind;
	switch (target->kind) {
	case EX_META:
		kind = ST_META_SET;
		break;
	case EX_CT:
		kind = ST_CT_SET;
		break;
	case EX_PAYLOAD:
		if (target->payload.tunnel)
			parse_syntax_error(p, NULL);
		kind = ST_PAYLOAD_SET;
		break;
	case EX_RAW:
		kind = ST_PAYLOAD_SET;
		break;
	case EX_OPTION:
		kind = ST_OPTION_SET;
		break;
	default:
		parse_syntax_error(p, NULL);
	}
	token_next(p);
	struct expr *value = parse_stmt_expr(p);
	struct stmt *s = stmt_new(p->a, kind, target->loc);
	enum obj_kind object;
	if (assignment_object(target, value, &object)) {
		s->kind = ST_OBJREF;
		s->objref.kind = object;
		s->objref.name = value;
	} else {
		s->assign.target = target;
		s->assign.value = value;
	}
	return s;
}

static enum expr_op comparison(enum tok t)
{
	switch (t) {
	case T_EQ:
		return OP_EQ;
	case T_NEQ:
		return OP_NEQ;
	case T_LT:
		return OP_LT;
	case T_GT:
		return OP_GT;
	case T_LE:
		return OP_LE;
	case T_GE:
		return OP_GE;
	case T_NOT:
		return OP_NOT;
	default:
		return OP_IMPLICIT;
	}
}

/* `left op right`, and `left op flags / mask`, which compares left & mask. */
static struct stmt *parse_comparison(struct parser *p, struct expr *left)
{
	enum expr_op op = comparison(p->tok.type);
	if (op != OP_IMPLICIT)
		token_next(p);
	struct expr *e = expr_new(p->a, EX_COMPARE, left->loc);
	e->pair.left = left;
	e->pair.right = parse_rhs(p);
	if (token_accept(p, T_SLASH)) {
		struct expr *mask = parse_rhs(p);
		e->loc = parse_span(p, left->loc);
		if (op != OP_IMPLICIT && op != OP_EQ && op != OP_NEQ)
			parse_error(p, e->loc, "either == or != is allowed");
		struct expr *and = expr_new(p->a, EX_BINOP, left->loc);
		and->op = OP_AND;
		and->pair.left = left;
		and->pair.right = mask;
		e->pair.left = and;
		op = op == OP_IMPLICIT ? OP_EQ : op;
	}
	e->op = (uint8_t)op;
	e->loc = parse_span(p, left->loc);
	struct stmt *s = stmt_new(p->a, ST_MATCH, e->loc);
	s->expr = e;
	return s;
}

static struct stmt *parse_expression_stmt(struct parser *p)
{
	struct expr *left = parse_concat(p);
	if (token_is_kw(p, KW_SET))
		return parse_assignment(p, left);
	if (token_is_kw(p, KW_VMAP)) {
		struct stmt *s = stmt_new(p->a, ST_VERDICT, left->loc);
		s->expr = parse_map_of(p, left);
		return s;
	}
	if (token_is_kw(p, KW_MAP))
		left = parse_map_of(p, left);
	return parse_comparison(p, left);
}

/* --- The others ------------------------------------------------------------------------------ */

static struct stmt *parse_synproxy_stmt(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_SYNPROXY);
	token_next(p);
	while (parse_synproxy_word(p, &s->synproxy))
		;
	return s;
}

static struct stmt *parse_notrack(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_NOTRACK);
	token_next(p);
	return s;
}

static struct stmt *parse_option_reset(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_OPTION_RESET);
	token_next(p);
	struct expr *e = token_is_kw(p, KW_TCP) ? parse_selector(p) : NULL;
	if (!e)
		parse_syntax_error(p, "tcp");
	if (e->kind != EX_OPTION || !e->option.existence)
		parse_error(p, e->loc, "expecting a tcp option without a field");
	s->assign.target = e;
	return s;
}

static struct stmt *parse_xt(struct parser *p)
{
	struct stmt *s = stmt_at(p, ST_XT);
	token_next(p);
	s->xt.type = parse_string(p);
	s->xt.name = parse_string(p);
	return s;
}

static bool object_reference(const struct parser *p, enum obj_kind *kind)
{
	switch (p->tok.kw) {
	case KW_COUNTER:
		*kind = OBJ_COUNTER;
		break;
	case KW_LIMIT:
		*kind = OBJ_LIMIT;
		break;
	case KW_QUOTA:
		*kind = OBJ_QUOTA;
		break;
	case KW_SYNPROXY:
		*kind = OBJ_SYNPROXY;
		break;
	case KW_TUNNEL:
		*kind = OBJ_TUNNEL;
		break;
	default:
		return false;
	}
	return next_is(p, "name");
}

static struct stmt *parse_stmt(struct parser *p)
{
	enum obj_kind kind;
	if (object_reference(p, &kind))
		return parse_objref(p, kind);
	if (token_is_verdict(p))
		return parse_verdict_stmt(p);
	if (token_is_stateful(p))
		return parse_stateful(p);
	switch (p->tok.kw) {
	case KW_LOG:
		return parse_log(p);
	case KW_REJECT:
		return parse_reject(p);
	case KW_SNAT:
	case KW_DNAT:
	case KW_MASQUERADE:
	case KW_REDIRECT:
		return parse_nat(p);
	case KW_TPROXY:
		return parse_tproxy(p);
	case KW_DUP:
	case KW_FWD:
		return parse_dup(p);
	case KW_QUEUE:
		return parse_queue(p);
	case KW_SYNPROXY:
		return parse_synproxy_stmt(p);
	case KW_NOTRACK:
		return parse_notrack(p);
	case KW_ADD:
	case KW_UPDATE:
	case KW_DELETE:
	case KW_SET:
		return parse_set_stmt(p);
	case KW_METER:
		return parse_meter(p);
	case KW_FLOW:
		return parse_flow(p);
	case KW_RESET:
		return parse_option_reset(p);
	case KW_XT:
		return parse_xt(p);
	default:
		return parse_expression_stmt(p);
	}
}

/* What cannot begin a statement behind another one. */
static bool ends_rule(const struct parser *p)
{
	switch (p->tok.type) {
	case T_WORD:
	case T_QUOTED:
	case T_WILDCARD:
	case T_NUMBER:
	case T_LITERAL:
	case T_LPAREN:
	case T_DOLLAR:
	case T_AT:
		return false;
	default:
		return true;
	}
}

void parse_rule(struct parser *p, struct rule_decl *r)
{
	struct stmt **last = &r->stmts;
	r->loc = token_loc(p);
	do {
		if (r->stmts && ends_rule(p))
			parse_syntax_error(p, p->in_block ? "newline or semicolon"
							  : "end of file or newline or semicolon");
		struct stmt *s = parse_stmt(p);
		s->loc = parse_span(p, s->loc);
		*last = s;
		last = &s->next;
	} while (!token_is_separator(p) && !token_is(p, T_RBRACE) && !token_is(p, T_EOF) &&
		 !token_is_kw(p, KW_COMMENT));
	if (token_is_kw(p, KW_COMMENT))
		r->comment = parse_comment(p, NULL);
	r->loc = parse_span(p, r->loc);
}
