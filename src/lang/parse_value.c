/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_value: words, numbers, spans of time, rates and sizes.
 *
 * A number in the place of a value stays a symbol, since its type decides what it means: its text
 * is decimal, whatever base it was written in.
 */
#include "lang/parser.h"

static const char *text_dup(struct parser *p)
{
	return arena_strndup(p->a, p->tok.text, p->tok.len);
}

struct name_at parse_identifier(struct parser *p)
{
	/* As in nft, what looks like an address or a span of time may be a name too. */
	if (!token_is(p, T_LITERAL) && (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw)))
		parse_syntax_error(p, "string");
	struct name_at n = {text_dup(p), token_loc(p)};
	token_next(p);
	return n;
}

const char *parse_string(struct parser *p)
{
	bool ok = token_is(p, T_QUOTED) || token_is(p, T_WILDCARD) || token_is(p, T_LITERAL) ||
		  (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw));
	if (!ok)
		parse_syntax_error(p, "string or quoted string or string with a trailing asterisk");
	const char *s = text_dup(p);
	token_next(p);
	return s;
}

void parse_duplicate(struct parser *p, struct loc loc)
{
	parse_error(p, loc, "You can only specify this once. This statement is duplicated.");
}

const char *parse_comment(struct parser *p, const char *before)
{
	struct loc start = token_loc(p);
	token_next(p);
	struct loc loc = token_loc(p);
	const char *s = parse_string(p);
	if (strlen(s) > COMMENT_MAX)
		parse_error(p, loc, "comment too long, %d characters maximum allowed", COMMENT_MAX);
	if (before)
		parse_duplicate(p, loc_join(start, loc));
	return s;
}

uint64_t parse_number_max(struct parser *p, uint64_t max)
{
	if (!token_is(p, T_NUMBER))
		parse_syntax_error(p, "number");
	uint64_t v = p->tok.number;
	if (v > max)
		parse_error(p, token_loc(p), "value too large, at most %llu",
			    (unsigned long long)max);
	token_next(p);
	return v;
}

uint64_t parse_number(struct parser *p)
{
	return parse_number_max(p, UINT64_MAX);
}

uint64_t parse_time(struct parser *p)
{
	uint64_t ms;
	if (!token_is(p, T_LITERAL) && (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw)))
		parse_syntax_error(p, "string");
	if (duration_parse(p->tok.text, p->tok.len, &ms))
		parse_error(p, token_loc(p), "wrong time format");
	token_next(p);
	return ms;
}

/* --- Sizes and rates ------------------------------------------------------------------------ */

static const struct {
	const char *name;
	uint32_t seconds;
} time_units[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};

static uint32_t time_unit(const char *text, uint32_t len)
{
	for (unsigned i = 0; i < ARRAY_SIZE(time_units); i++)
		if (strlen(time_units[i].name) == len && !memcmp(time_units[i].name, text, len))
			return time_units[i].seconds;
	return 0;
}

static uint64_t data_unit(const char *text, uint32_t len)
{
	static const char *const names[] = {"bytes", "kbytes", "mbytes"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], text, len))
			return 1ull << 10 * i;
	return 0;
}

static uint64_t scaled(struct parser *p, struct loc loc, uint64_t v, uint64_t unit)
{
	if (__builtin_mul_overflow(v, unit, &v))
		parse_error(p, loc, "value too large");
	return v;
}

/* `10 mbytes` */
static uint64_t parse_size(struct parser *p)
{
	struct loc loc = token_loc(p);
	uint64_t v = parse_number(p);
	if (!token_is(p, T_WORD) && !token_is(p, T_QUOTED))
		parse_syntax_error(p, "bytes or string");
	uint64_t unit = data_unit(p->tok.text, p->tok.len);
	if (!unit)
		parse_error(p, token_loc(p), "Wrong unit format");
	token_next(p);
	return scaled(p, loc, v, unit);
}

static bool parse_over(struct parser *p)
{
	if (token_accept_word(p, "over"))
		return true;
	token_accept_word(p, "until");
	return false;
}

/* `kbytes/second` is one word. */
static void parse_byte_rate(struct parser *p, struct limit_spec *l, struct loc loc)
{
	const char *slash = memchr(p->tok.text, '/', p->tok.len);
	uint32_t n = slash ? (uint32_t)(slash - p->tok.text) : 0;
	uint64_t unit = slash ? data_unit(p->tok.text, n) : 0;
	l->unit = slash ? time_unit(slash + 1, p->tok.len - n - 1) : 0;
	token_next(p);
	if (!unit || !l->unit)
		parse_error(p, parse_span(p, loc), "Wrong rate format");
	l->bytes = true;
	l->rate = scaled(p, loc, l->rate, unit);
}

static void parse_packet_rate(struct parser *p, struct limit_spec *l)
{
	token_expect(p, T_SLASH, "/");
	l->unit = token_is(p, T_WORD) ? time_unit(p->tok.text, p->tok.len) : 0;
	if (!l->unit)
		parse_syntax_error(p, NULL);
	token_next(p);
}

void parse_limit(struct parser *p, struct limit_spec *l)
{
	token_expect_word(p, "rate");
	l->over = parse_over(p);
	struct loc loc = token_loc(p);
	l->rate = parse_number(p);
	if (token_is(p, T_WORD))
		parse_byte_rate(p, l, loc);
	else
		parse_packet_rate(p, l);
	struct loc burst = token_loc(p);
	if (!token_accept_word(p, "burst"))
		return;
	l->has_burst = true;
	if (l->bytes) {
		l->burst = parse_size(p);
	} else {
		l->burst = parse_number_max(p, UINT32_MAX);
		token_expect_word(p, "packets");
	}
	if (!l->burst && !l->bytes)
		parse_error(p, parse_span(p, burst), "packet limit burst must be > 0");
}

void parse_quota(struct parser *p, struct quota_spec *q)
{
	q->over = parse_over(p);
	q->bytes = parse_size(p);
	if (token_accept_word(p, "used"))
		q->used = parse_size(p);
}

bool parse_synproxy_word(struct parser *p, struct synproxy_spec *s)
{
	if (token_accept_word(p, "mss")) {
		s->has_mss = true;
		s->mss = (uint16_t)parse_number_max(p, UINT16_MAX);
	} else if (token_accept_word(p, "wscale")) {
		s->has_wscale = true;
		s->wscale = (uint8_t)parse_number_max(p, UINT8_MAX);
	} else if (token_accept_word(p, "timestamp")) {
		s->timestamp = true;
	} else if (token_accept_word(p, "sack-perm") || token_accept_word(p, "sack-permitted")) {
		s->sack_perm = true;
	} else {
		return false;
	}
	return true;
}

void parse_counter(struct parser *p, uint64_t *packets, uint64_t *bytes)
{
	for (;;) {
		if (token_accept_word(p, "packets"))
			*packets = parse_number(p);
		else if (token_accept_word(p, "bytes"))
			*bytes = parse_number(p);
		else
			return;
	}
}

/* --- Symbols -------------------------------------------------------------------------------- */

struct expr *parse_symbol(struct parser *p)
{
	struct expr *e = expr_new(p->a, EX_SYMBOL, token_loc(p));
	e->symbol.text = p->tok.text;
	e->symbol.len = p->tok.len;
	if (token_is(p, T_QUOTED))
		e->flags = EXF_STRING;
	if (token_is(p, T_NUMBER)) {
		e->flags = EXF_NUMBER;
		if (!p->tok.decimal) {
			e->symbol.text =
				arena_printf(p->a, "%llu", (unsigned long long)p->tok.number);
			e->symbol.len = (uint32_t)strlen(e->symbol.text);
		}
	}
	token_next(p);
	return e;
}

uint8_t parse_l4proto(struct parser *p)
{
	uint8_t v = 0;
	const char *why = NULL;
	struct lang_env env = {0};
	if (!token_is(p, T_WORD) && !token_is(p, T_NUMBER) && !token_is(p, T_QUOTED))
		parse_syntax_error(p, "string");
	if (datatype_parse(&type_inet_proto, &env, p->tok.text, p->tok.len, &v, 8, &why))
		parse_error(p, token_loc(p), "%s", why ? why : "Could not resolve protocol name");
	token_next(p);
	return v;
}

static const struct {
	enum keyword kw;
	enum family family;
} families[] = {{KW_IP, FAMILY_IP},   {KW_IP6, FAMILY_IP6},	  {KW_INET, FAMILY_INET},
		{KW_ARP, FAMILY_ARP}, {KW_BRIDGE, FAMILY_BRIDGE}, {KW_NETDEV, FAMILY_NETDEV}};

bool token_is_family(const struct parser *p)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++)
		if (p->tok.kw == families[i].kw)
			return true;
	return false;
}

enum family parse_family(struct parser *p)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++)
		if (token_accept_kw(p, families[i].kw))
			return families[i].family;
	parse_syntax_error(p, "ip or ip6 or inet or arp or bridge or netdev");
}
