/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_expr: expressions: operators, concatenations, ranges, lists, sets, maps and verdicts.
 *
 * Three places differ in what a word means. Left of an operator `ip` begins a header field; right
 * of one it is a name (of a protocol); in a statement's argument it is a field if a field's name
 * follows, else a name.
 */
#include "lang/parser.h"

enum place { LEFT, RIGHT, ARGUMENT };

static struct expr *parse_binary(struct parser *p, enum place place, unsigned level, bool operand);

/* Reserved words that are names of values too: of protocols, types and directions. */
static bool is_value_word(enum keyword k)
{
	switch (k) {
	case KW_AH:
	case KW_ARP:
	case KW_COMP:
	case KW_DCCP:
	case KW_DNAT:
	case KW_DST:
	case KW_ECN:
	case KW_ESP:
	case KW_ETHER:
	case KW_EXISTS:
	case KW_HBH:
	case KW_ICMP:
	case KW_ICMPV6:
	case KW_IGMP:
	case KW_IP:
	case KW_IP6:
	case KW_MISSING:
	case KW_REDIRECT:
	case KW_RESET:
	case KW_RT:
	case KW_SCTP:
	case KW_SNAT:
	case KW_TCP:
	case KW_UDP:
	case KW_UDPLITE:
	case KW_VLAN:
		return true;
	default:
		return false;
	}
}

static bool at_plain_symbol(const struct parser *p)
{
	switch (p->tok.type) {
	case T_WORD:
		return !keyword_is_reserved(p->tok.kw);
	case T_QUOTED:
	case T_WILDCARD:
	case T_NUMBER:
	case T_LITERAL:
		return true;
	default:
		return false;
	}
}

static bool at_symbol(const struct parser *p)
{
	return at_plain_symbol(p) || (token_is(p, T_WORD) && is_value_word(p->tok.kw));
}

/* Whether the header's word stands for the protocol: no field of it follows. */
static bool is_header_name(const struct parser *p)
{
	if (!is_value_word(p->tok.kw))
		return false;
	struct token t = token_peek(p);
	if (t.type != T_WORD)
		return true;
	const struct proto_header *h = proto_find(p->tok.text, p->tok.len);
	if (h)
		return !proto_field_find(h, t.text, t.len) && !proto_find(t.text, t.len) &&
		       !(t.len == 6 && !memcmp(t.text, "option", 6)) &&
		       !(t.len == 5 &&
			 (!memcmp(t.text, "chunk", 5) || !memcmp(t.text, "saddr", 5) ||
			  !memcmp(t.text, "daddr", 5)));
	/* dst, hbh, rt: a word behind them is their field. */
	return !option_find(OPT_EXTHDR, p->tok.text, p->tok.len);
}

static struct expr *parse_primary(struct parser *p, enum place place, bool operand)
{
	if (token_accept(p, T_LPAREN)) {
		parse_enter(p, 1);
		struct expr *e = parse_binary(p, place, 0, operand);
		parse_leave(p, 1);
		token_expect(p, T_RPAREN, "')'");
		return e;
	}
	if (token_is(p, T_DOLLAR))
		return parse_variable(p);
	bool name = (place == ARGUMENT || operand) && is_header_name(p);
	if (place != RIGHT && !name) {
		struct expr *e = parse_selector(p);
		if (e)
			return e;
	}
	if (name || (place == LEFT && !operand ? at_plain_symbol(p) : at_symbol(p)))
		return parse_symbol(p);
	parse_syntax_error(p, NULL);
}

static enum expr_op binary_op(enum tok t, unsigned *level)
{
	switch (t) {
	case T_OR:
		*level = 0;
		return OP_OR;
	case T_XOR:
		*level = 1;
		return OP_XOR;
	case T_AND:
		*level = 2;
		return OP_AND;
	case T_LSHIFT:
		*level = 3;
		return OP_LSHIFT;
	case T_RSHIFT:
		*level = 3;
		return OP_RSHIFT;
	default:
		return OP_NONE;
	}
}

/* `start`: where the left side begins, brackets included. */
static struct expr *binop(struct parser *p, enum expr_op op, struct loc start, struct expr *left,
			  struct expr *right)
{
	struct expr *e = expr_new(p->a, EX_BINOP, parse_span(p, start));
	e->op = (uint8_t)op;
	e->pair.left = left;
	e->pair.right = right;
	return e;
}

/* Operators of at least `level`: | ^ & << >>, the last bind tightest; all group to the left. */
static struct expr *parse_binary(struct parser *p, enum place place, unsigned level, bool operand)
{
	struct loc start = token_loc(p);
	struct expr *left = parse_primary(p, place, operand);
	unsigned l, chained = 0;
	enum expr_op op;
	while ((op = binary_op(p->tok.type, &l)) && l >= level) {
		parse_enter(p, 1);
		chained++;
		token_next(p);
		struct expr *right = parse_binary(p, place, l + 1, true);
		left = binop(p, op, start, left, right);
	}
	parse_leave(p, chained);
	return left;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* value, value/len, value-value */
static struct expr *parse_multi(struct parser *p, enum place place)
{
	struct expr *left = parse_binary(p, place, 0, false);
	if (token_is(p, T_SLASH) && token_peek(p).type == T_NUMBER) {
		token_next(p);
		uint32_t len = (uint32_t)parse_number_max(p, UINT32_MAX);
		struct expr *e = expr_new(p->a, EX_PREFIX, parse_span(p, left->loc));
		e->prefix.base = left;
		e->prefix.len = len;
		return e;
	}
	if (!token_accept(p, T_DASH))
		return left;
	struct expr *right = parse_binary(p, place, 0, false);
	struct expr *e = expr_new(p->a, EX_RANGE, loc_join(left->loc, right->loc));
	e->pair.left = left;
	e->pair.right = right;
	return e;
}

/* first sep second sep ...: a list of that kind; `first` alone if there is no separator. */
static struct expr *parse_chain(struct parser *p, enum place place, struct expr *first,
				enum tok separator, enum expr_kind kind)
{
	if (!token_is(p, separator))
		return first;
	struct expr *e = expr_new(p->a, kind, first->loc);
	expr_list_add(p->a, &e->list, first);
	while (token_accept(p, separator))
		expr_list_add(p->a, &e->list, parse_multi(p, place));
	e->loc = parse_span(p, e->loc);
	return e;
}

/* { ... }: elements or mappings. */
static struct expr *parse_set_literal(struct parser *p, bool may_be_empty);

/* A value without lists: what stands in a set, a concatenation of constants. */
static struct expr *parse_rhs_concat(struct parser *p)
{
	return parse_chain(p, RIGHT, parse_multi(p, RIGHT), T_DOT, EX_CONCAT);
}

struct expr *parse_setref(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	struct name_at name = parse_identifier(p);
	struct expr *e = expr_new(p->a, EX_SETREF, parse_span(p, start));
	e->setref.name = name.text;
	return e;
}

struct expr *parse_rhs(struct parser *p)
{
	if (token_is(p, T_LBRACE))
		return parse_set_literal(p, false);
	if (token_is(p, T_AT))
		return parse_setref(p);
	struct expr *e = parse_rhs_concat(p);
	if (e->kind == EX_CONCAT)
		return e;
	return parse_chain(p, RIGHT, e, T_COMMA, EX_LIST);
}

struct expr *parse_concat(struct parser *p)
{
	struct expr *first = parse_binary(p, LEFT, 0, false);
	if (!token_is(p, T_DOT))
		return first;
	struct expr *e = expr_new(p->a, EX_CONCAT, first->loc);
	expr_list_add(p->a, &e->list, first);
	while (token_accept(p, T_DOT))
		expr_list_add(p->a, &e->list, parse_binary(p, LEFT, 0, false));
	e->loc = parse_span(p, e->loc);
	return e;
}

struct expr *parse_map_of(struct parser *p, struct expr *key)
{
	bool vmap = token_is_kw(p, KW_VMAP);
	if (!vmap && !token_is_kw(p, KW_MAP))
		return NULL;
	token_next(p);
	struct expr *to;
	if (token_is(p, T_LBRACE))
		to = parse_set_literal(p, false);
	else if (token_is(p, T_AT))
		to = parse_setref(p);
	else if (token_is(p, T_DOLLAR))
		to = parse_variable(p);
	else
		parse_syntax_error(p, "'{' or @ or '$'");
	struct expr *e = expr_new(p->a, EX_MAP, parse_span(p, key->loc));
	e->map.key = key;
	e->map.to = to;
	e->map.vmap = vmap;
	return e;
}

struct expr *parse_stmt_concat(struct parser *p)
{
	return parse_chain(p, ARGUMENT, parse_multi(p, ARGUMENT), T_DOT, EX_CONCAT);
}

struct expr *parse_stmt_map_or_value(struct parser *p)
{
	struct expr *e = parse_stmt_concat(p);
	return token_is_kw(p, KW_MAP) ? parse_map_of(p, e) : e;
}

struct expr *parse_stmt_expr(struct parser *p)
{
	struct expr *e = parse_stmt_map_or_value(p);
	if (e->kind == EX_CONCAT || e->kind == EX_MAP)
		return e;
	return parse_chain(p, ARGUMENT, e, T_COMMA, EX_LIST);
}

struct expr *parse_stmt_value(struct parser *p)
{
	return parse_multi(p, ARGUMENT);
}

/* --- Verdicts -------------------------------------------------------------------------------- */

bool token_is_verdict(const struct parser *p)
{
	switch (p->tok.kw) {
	case KW_ACCEPT:
	case KW_DROP:
	case KW_CONTINUE:
	case KW_RETURN:
	case KW_JUMP:
	case KW_GOTO:
		return true;
	default:
		return false;
	}
}

struct expr *parse_verdict(struct parser *p)
{
	struct expr *e = expr_new(p->a, EX_VERDICT, token_loc(p));
	switch (p->tok.kw) {
	case KW_ACCEPT:
		e->verdict.code = VERDICT_ACCEPT;
		break;
	case KW_DROP:
		e->verdict.code = VERDICT_DROP;
		break;
	case KW_CONTINUE:
		e->verdict.code = VERDICT_CONTINUE;
		break;
	case KW_RETURN:
		e->verdict.code = VERDICT_RETURN;
		break;
	case KW_JUMP:
		e->verdict.code = VERDICT_JUMP;
		break;
	case KW_GOTO:
		e->verdict.code = VERDICT_GOTO;
		break;
	default:
		parse_syntax_error(p, NULL);
	}
	token_next(p);
	if (e->verdict.code != VERDICT_JUMP && e->verdict.code != VERDICT_GOTO)
		return e;
	if (token_is(p, T_DOLLAR))
		e->verdict.name = parse_variable(p);
	else if (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw))
		e->verdict.name = parse_symbol(p);
	else
		parse_syntax_error(p, "string or '$'");
	e->loc = parse_span(p, e->loc);
	return e;
}

/* --- Sets ------------------------------------------------------------------------------------ */

void parse_elem_options(struct parser *p, struct elem_expr *e)
{
	struct stmt **last = &e->stmts;
	for (;;) {
		switch (p->tok.kw) {
		case KW_TIMEOUT:
			token_next(p);
			e->has_timeout = true;
			e->timeout_never = token_accept_word(p, "never");
			if (!e->timeout_never)
				e->timeout = parse_time(p);
			break;
		case KW_EXPIRES:
			token_next(p);
			e->has_expires = true;
			if (!token_accept_word(p, "never"))
				e->expires = parse_time(p);
			break;
		case KW_COMMENT:
			e->comment = parse_comment(p, NULL);
			break;
		default:
			if (!token_is_stateful(p))
				return;
			*last = parse_stateful(p);
			last = &(*last)->next;
			break;
		}
	}
}

static bool has_options(const struct elem_expr *e)
{
	return e->data || e->has_timeout || e->has_expires || e->comment || e->stmts;
}

static struct expr *parse_data(struct parser *p)
{
	return token_is_verdict(p) ? parse_verdict(p) : parse_rhs_concat(p);
}

/* A key; a variable may bring a whole set, a nested one is taken for its members. */
static struct expr *parse_key(struct parser *p)
{
	if (token_is(p, T_LBRACE))
		return parse_set_literal(p, true);
	if (token_is(p, T_ASTERISK)) {
		struct expr *e = expr_new(p->a, EX_CATCHALL, token_loc(p));
		token_next(p);
		return e;
	}
	return parse_rhs_concat(p);
}

static void set_add(struct parser *p, struct expr *set, struct expr *e)
{
	if (e->kind != EX_SET) {
		expr_list_add(p->a, &set->list, e);
		return;
	}
	for (uint32_t i = 0; i < e->list.n; i++)
		expr_list_add(p->a, &set->list, e->list.items[i]);
}

bool at_plain_member(const struct parser *p)
{
	if (!at_plain_symbol(p))
		return false;
	char after = lex_next_byte(p->in.text, p->in.len, p->in.pos);
	return after == ',' || after == '}';
}

void parse_member(struct parser *p, struct expr *set)
{
	/* The member that is one word is nearly all that large sets have. */
	if (at_plain_member(p)) {
		expr_list_add(p->a, &set->list, parse_symbol(p));
		return;
	}
	struct expr *key = parse_key(p);
	struct elem_expr options = {.key = key};
	parse_elem_options(p, &options);
	if (token_accept(p, T_COLON)) {
		options.data = parse_data(p);
		parse_elem_options(p, &options);
	}
	if (!has_options(&options)) {
		set_add(p, set, key);
		return;
	}
	struct expr *e = expr_new(p->a, EX_ELEM, parse_span(p, key->loc));
	e->elem = arena_dup(p->a, &options, sizeof(options));
	expr_list_add(p->a, &set->list, e);
}

static struct expr *parse_set_literal(struct parser *p, bool may_be_empty)
{
	struct expr *set = expr_new(p->a, EX_SET, token_loc(p));
	token_expect(p, T_LBRACE, "'{'");
	parse_enter(p, 1);
	token_skip_newlines(p);
	bool empty = token_is(p, T_RBRACE);
	if (empty && !may_be_empty)
		parse_syntax_error(p, NULL);
	while (!empty) {
		parse_member(p, set);
		token_skip_commas(p);
		empty = token_is(p, T_RBRACE);
	}
	parse_leave(p, 1);
	token_next(p);
	set->loc = parse_span(p, set->loc);
	return set;
}
