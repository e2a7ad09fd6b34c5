/* SPDX-License-Identifier: Apache-2.0 */
/* parse_nat: statements that send packets elsewhere: NAT, tproxy, dup, fwd, queue. */
#include "lang/parser.h"

static bool parse_nat_flag(struct parser *p, uint32_t *flags)
{
	if (token_accept_kw(p, KW_RANDOM))
		*flags |= NATF_RANDOM;
	else if (token_accept_word(p, "fully-random"))
		*flags |= NATF_FULLY_RANDOM;
	else if (token_accept_word(p, "persistent"))
		*flags |= NATF_PERSISTENT;
	else
		return false;
	return true;
}

static void parse_nat_flags(struct parser *p, uint32_t *flags)
{
	if (!parse_nat_flag(p, flags))
		return;
	while (token_accept(p, T_COMMA))
		if (!parse_nat_flag(p, flags))
			parse_syntax_error(p, "random or fully-random or persistent");
}

static bool at_end(const struct parser *p)
{
	return token_is_separator(p) || token_is(p, T_RBRACE) || token_is(p, T_EOF) ||
	       token_is_kw(p, KW_COMMENT);
}

/* `ip` or `ip6` in front of `to` and its kin; 0 if it is not there. */
static uint8_t parse_nat_family(struct parser *p)
{
	if (!token_is_kw(p, KW_IP) && !token_is_kw(p, KW_IP6))
		return 0;
	struct token t = token_peek(p);
	static const char *const followers[] = {"to", "addr", "interval", "prefix"};
	for (unsigned i = 0; i < ARRAY_SIZE(followers); i++)
		if (t.type == T_WORD && t.len == strlen(followers[i]) &&
		    !memcmp(t.text, followers[i], t.len)) {
			uint8_t nfproto = token_is_kw(p, KW_IP) ? 2 : 10;
			token_next(p);
			return nfproto;
		}
	return 0;
}

/* addr, addr:port, :port; an address may be a range, a map, a concatenation. */
static void parse_target(struct parser *p, struct stmt *s)
{
	if (!token_is(p, T_COLON))
		s->nat.addr = parse_stmt_expr(p);
	if (token_accept(p, T_COLON))
		s->nat.port = parse_stmt_expr(p);
}

static void parse_snat(struct parser *p, struct stmt *s)
{
	s->nat.nfproto = parse_nat_family(p);
	bool to = true;
	if (token_accept_word(p, "addr")) {
		token_expect(p, T_DOT, ".");
		token_expect_word(p, "port");
		s->nat.flags |= NATF_CONCAT;
	} else if (token_accept_word(p, "prefix")) {
		s->nat.flags |= NATF_NETMAP;
	} else if (token_accept_kw(p, KW_INTERVAL)) {
		s->nat.flags |= NATF_INTERVAL;
	} else {
		to = s->nat.nfproto;
	}
	if (!token_accept_word(p, "to") && to)
		parse_syntax_error(p, "to");
	parse_target(p, s);
	parse_nat_flags(p, &s->nat.flags);
}

/* masquerade to :1-100, redirect to :80, redirect to 80 */
static void parse_masquerade(struct parser *p, struct stmt *s)
{
	if (token_accept_word(p, "to")) {
		bool colon = token_accept(p, T_COLON);
		if (!colon && s->nat.kind == NAT_MASQUERADE)
			parse_syntax_error(p, "colon");
		s->nat.port = parse_stmt_expr(p);
	}
	parse_nat_flags(p, &s->nat.flags);
}

struct stmt *parse_nat(struct parser *p)
{
	struct stmt *s = stmt_new(p->a, ST_NAT, token_loc(p));
	switch (p->tok.kw) {
	case KW_SNAT:
		s->nat.kind = NAT_SNAT;
		break;
	case KW_DNAT:
		s->nat.kind = NAT_DNAT;
		break;
	case KW_MASQUERADE:
		s->nat.kind = NAT_MASQUERADE;
		break;
	default:
		s->nat.kind = NAT_REDIRECT;
		break;
	}
	token_next(p);
	if (s->nat.kind == NAT_SNAT || s->nat.kind == NAT_DNAT)
		parse_snat(p, s);
	else if (!at_end(p))
		parse_masquerade(p, s);
	/* Flags end it: what follows may not be the `to` that should have come before them. */
	if (token_is_word(p, "to"))
		parse_syntax_error(p, "end of file or newline or semicolon");
	return s;
}

struct stmt *parse_tproxy(struct parser *p)
{
	struct stmt *s = stmt_new(p->a, ST_TPROXY, token_loc(p));
	token_next(p);
	s->nat.nfproto = parse_nat_family(p);
	if (!token_accept_word(p, "to"))
		parse_syntax_error(p, s->nat.nfproto ? "to" : "to or ip or ip6");
	parse_target(p, s);
	return s;
}

/* dup to ADDR device DEV; fwd to DEV; fwd ip to ADDR device DEV */
struct stmt *parse_dup(struct parser *p)
{
	bool fwd = token_is_kw(p, KW_FWD);
	struct stmt *s = stmt_new(p->a, fwd ? ST_FWD : ST_DUP, token_loc(p));
	token_next(p);
	s->dup.nfproto = fwd ? parse_nat_family(p) : 0;
	token_expect_word(p, "to");
	struct expr *to = parse_stmt_expr(p);
	if (fwd && !s->dup.nfproto) {
		s->dup.dev = to;
		return s;
	}
	s->dup.to = to;
	if (fwd)
		token_expect_kw(p, KW_DEVICE);
	else if (!token_accept_kw(p, KW_DEVICE))
		return s;
	s->dup.dev = parse_stmt_expr(p);
	return s;
}

static bool parse_queue_flag(struct parser *p, uint32_t *flags)
{
	if (token_accept_word(p, "bypass"))
		*flags |= QUEUEF_BYPASS;
	else if (token_accept_word(p, "fanout"))
		*flags |= QUEUEF_FANOUT;
	else
		return false;
	return true;
}

/* bypass,fanout; false if there is none. */
static bool parse_queue_flags(struct parser *p, uint32_t *flags)
{
	if (!parse_queue_flag(p, flags))
		return false;
	while (token_accept(p, T_COMMA))
		if (!parse_queue_flag(p, flags))
			parse_syntax_error(p, "bypass or fanout");
	return true;
}

/* Behind `num`, which belongs to the value's place as nft counts. */
static struct expr *parse_queue_num(struct parser *p)
{
	struct loc start = p->last;
	if (!token_is(p, T_NUMBER) && !token_is(p, T_DOLLAR))
		parse_syntax_error(p, "number or '$'");
	struct expr *e = parse_stmt_value(p);
	e->loc = parse_span(p, start);
	return e;
}

/* A number, a range, a map, or what counts or hashes. */
static struct expr *parse_queue_to(struct parser *p)
{
	bool constant = token_is(p, T_NUMBER) || token_is(p, T_DOLLAR);
	struct expr *e = parse_stmt_map_or_value(p);
	if (!constant && e->kind != EX_MAP && e->kind != EX_NUMGEN && e->kind != EX_HASH)
		parse_syntax_error(p, ". or map");
	return e;
}

/* queue; queue num 1-3 bypass,fanout; queue flags bypass to EXPR */
struct stmt *parse_queue(struct parser *p)
{
	struct stmt *s = stmt_new(p->a, ST_QUEUE, token_loc(p));
	token_next(p);
	if (token_accept_kw(p, KW_FLAGS)) {
		if (!parse_queue_flags(p, &s->queue.flags))
			parse_syntax_error(p, "bypass or fanout");
		if (token_accept_word(p, "to"))
			s->queue.num = parse_queue_to(p);
		else if (token_accept_word(p, "num"))
			s->queue.num = parse_queue_num(p);
		else
			parse_syntax_error(p, "comma or to or num");
		return s;
	}
	if (token_accept_word(p, "to")) {
		s->queue.num = parse_queue_to(p);
		return s;
	}
	/* The older form: number and flags in any order. */
	for (;;) {
		if (token_accept_word(p, "num"))
			s->queue.num = parse_queue_num(p);
		else if (!parse_queue_flags(p, &s->queue.flags))
			return s;
	}
}
