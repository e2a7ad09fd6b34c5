/* SPDX-License-Identifier: Apache-2.0 */
/* lexer: see lexer.h. Every scan_*() gives the length of what it takes at p, 0 for no match. */
#include "lang/lexer.h"

#include <assert.h>

static const char *const tok_names[] = {
#define X(id, name) name,
	TOKENS(X)
#undef X
};
static_assert(ARRAY_SIZE(tok_names) == TOKENS_N, "one name a token");

static const struct {
	const char *text;
	uint8_t len, reserved;
} keywords[] = {{"", 0, 0},
#define X(id, text, reserved) {text, sizeof(text) - 1, reserved},
		KEYWORDS(X)
#undef X
};
static_assert(ARRAY_SIZE(keywords) == KEYWORDS_N, "one row a keyword");

enum { C_STRING_START = 1, C_STRING = 2, C_DIGIT = 4, C_HEX = 8, C_BLANK = 16 };

static const uint8_t classes[256] = {
	['a' ... 'f'] = C_STRING_START | C_STRING | C_HEX,
	['g' ... 'z'] = C_STRING_START | C_STRING,
	['A' ... 'F'] = C_STRING_START | C_STRING | C_HEX,
	['G' ... 'Z'] = C_STRING_START | C_STRING,
	['0' ... '9'] = C_DIGIT | C_HEX | C_STRING,
	['_'] = C_STRING_START | C_STRING,
	['.'] = C_STRING_START | C_STRING,
	['/'] = C_STRING,
	['-'] = C_STRING,
	[' '] = C_BLANK,
	['\t'] = C_BLANK,
};

static inline bool is(char c, unsigned class)
{
	return classes[(uint8_t)c] & class;
}

enum keyword keyword_find(const char *text, size_t len)
{
	unsigned lo = 1, hi = KEYWORDS_N;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		size_t n = MIN((size_t)keywords[mid].len, len);
		int c = memcmp(keywords[mid].text, text, n);
		if (!c)
			c = (int)keywords[mid].len - (int)MIN(len, (size_t)UINT8_MAX);
		if (!c)
			return (enum keyword)mid;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return KW_NONE;
}

const char *keyword_text(enum keyword k)
{
	return keywords[k].text;
}

bool keyword_is_reserved(enum keyword k)
{
	return keywords[k].reserved;
}

const char *token_name(const struct token *t)
{
	if (t->type == T_WORD && keywords[t->kw].reserved)
		return keywords[t->kw].text;
	return tok_names[t->type];
}

/* Four groups of one to three digits. */
static size_t scan_ip4(const char *p, const char *end)
{
	const char *q = p;
	for (unsigned group = 0; group < 4; group++) {
		const char *start = q;
		if (group) {
			if (q == end || *q != '.')
				return 0;
			start = ++q;
		}
		while (q < end && q - start < 3 && is(*q, C_DIGIT))
			q++;
		if (q == start)
			return 0;
	}
	return (size_t)(q - p);
}

/* The longest prefix that is an IPv6 address in one of the forms of RFC 4291, 2.2. */
static size_t scan_ip6(const char *p, const char *end)
{
	const char *q = p, *best = NULL;
	unsigned groups = 0;
	bool gap = false;
	if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
		gap = true;
		best = q = p + 2;
	}
	while (groups < (gap ? 7u : 8u)) {
		const char *start = q;
		if (groups <= (gap ? 5u : 6u) && (gap || groups == 6)) {
			size_t v4 = scan_ip4(q, end);
			if (v4)
				return (size_t)(q - p) + v4;
		}
		while (q < end && q - start < 4 && is(*q, C_HEX))
			q++;
		if (q == start)
			break;
		groups++;
		if (gap || groups == 8)
			best = q;
		if (q == end || *q != ':')
			break;
		if (end - q >= 2 && q[1] == ':') {
			if (gap || groups > 7)
				break;
			gap = true;
			best = q += 2;
			continue;
		}
		q++;
	}
	return best ? (size_t)(best - p) : 0;
}

/* Six groups of one or two hexadecimal digits. */
static size_t scan_mac(const char *p, const char *end)
{
	const char *q = p;
	for (unsigned group = 0; group < 6; group++) {
		if (group && (q == end || *q++ != ':'))
			return 0;
		const char *start = q;
		while (q < end && q - start < 2 && is(*q, C_HEX))
			q++;
		if (q == start)
			return 0;
	}
	return (size_t)(q - p);
}

/* 1d2h3m4s5ms: each at most once and in this order. */
static size_t scan_time(const char *p, const char *end)
{
	static const char *const units[] = {"d", "h", "m", "s", "ms"};
	const char *done = p;
	unsigned next = 0;
	while (next < ARRAY_SIZE(units)) {
		const char *q = done;
		while (q < end && is(*q, C_DIGIT))
			q++;
		if (q == done || q == end)
			break;
		bool ms = end - q >= 2 && q[0] == 'm' && q[1] == 's';
		unsigned u = ms ? 4 : next;
		while (u < 4 && *q != units[u][0])
			u++;
		if (u == 4 && !ms)
			break;
		done = q + (ms ? 2 : 1);
		next = u + 1;
	}
	return (size_t)(done - p);
}

/* The handle of a traffic class, 1:2 or abcd:dcba, where nothing follows that belongs to it. */
static size_t scan_classid(const char *p, const char *end)
{
	const char *q = p;
	for (unsigned half = 0; half < 2; half++) {
		if (half && (q == end || *q++ != ':'))
			return 0;
		const char *start = q;
		while (q < end && q - start < 4 && is(*q, C_HEX))
			q++;
		if (q == start)
			return 0;
	}
	return q == end || strchr(" \t\n:-},;", *q) ? (size_t)(q - p) : 0;
}

/* Addresses that start with a hexadecimal digit or a colon. */
static size_t scan_address(const char *p, const char *end)
{
	size_t v4 = is(*p, C_DIGIT) ? scan_ip4(p, end) : 0;
	const char *q = p;
	while (q < end && q - p < 4 && is(*q, C_HEX))
		q++;
	if (q == end || *q != ':')
		return v4;
	size_t colons = MAX(scan_ip6(p, end), scan_mac(p, end));
	return MAX(MAX(v4, colons), scan_classid(p, end));
}

static void take_number(struct token *t, const char *p, const char *end)
{
	unsigned base = 10, n = 0;
	uint64_t v = 0;
	bool ok = true;
	if (*p == '0' && end - p > 2 && (p[1] == 'x' || p[1] == 'X') && is(p[2], C_HEX)) {
		base = 16;
		n = 2;
	} else if (*p == '0' && end - p > 1 && is(p[1], C_DIGIT)) {
		base = 8;
		n = 1;
	}
	for (; p + n < end && is(p[n], base == 16 ? C_HEX : C_DIGIT); n++) {
		unsigned d = (unsigned)(p[n] <= '9' ? p[n] - '0' : (p[n] | 0x20) - 'a' + 10);
		ok = ok && d < base && !__builtin_mul_overflow(v, base, &v) &&
		     !__builtin_add_overflow(v, d, &v);
	}
	t->type = ok ? T_NUMBER : T_LITERAL;
	t->number = v;
	t->decimal = base == 10;
	t->len = n;
}

/* The two names of values that begin with a digit. */
static size_t scan_vlan_type(const char *p, const char *end)
{
	static const char *const names[] = {"8021ad", "8021q"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);
		if ((size_t)(end - p) >= n && !memcmp(p, names[i], n))
			return n;
	}
	return 0;
}

static void take_digit(struct token *t, const char *p, const char *end)
{
	const char *q = p;
	while (q < end && is(*q, C_DIGIT))
		q++;
	/* Addresses and plain numbers are nearly all that large sets have. */
	if (q < end && *q == '.') {
		t->len = (uint32_t)scan_ip4(p, end);
		t->type = T_LITERAL;
		q = p + t->len;
		if (t->len && (q == end || !(is(*q, C_HEX) || *q == ':')))
			return;
	}
	take_number(t, p, end);
	if (q < end && !is(*q, C_STRING) && *q != ':')
		return;
	size_t n = MAX(scan_address(p, end), scan_time(p, end));
	n = MAX(n, scan_vlan_type(p, end));
	if (n <= t->len)
		return;
	t->type = T_LITERAL;
	t->len = (uint32_t)n;
}

/* A word, which an asterisk behind it makes a pattern: eth*, eth\*, \*, eth\*x. */
static void take_word(struct token *t, const char *p, const char *end)
{
	static const struct {
		char text[8];
		enum tok type;
	} operators[] = {
		{"and", T_AND}, {"or", T_OR},  {"xor", T_XOR}, {"lshift", T_LSHIFT},
		{"eq", T_EQ},	{"ne", T_NEQ}, {"lt", T_LT},   {"rshift", T_RSHIFT},
		{"gt", T_GT},	{"le", T_LE},  {"ge", T_GE},   {"not", T_NOT},
	};
	const char *q = p;
	while (q < end && is(*q, C_STRING))
		q++;
	t->type = T_WORD;
	if (q < end && *q == '*') {
		t->type = T_WILDCARD;
		q++;
	} else if (end - q >= 2 && q[0] == '\\' && q[1] == '*') {
		t->type = T_WILDCARD;
		q += 2;
		if (q - p > 2 && q < end && is(*q, C_STRING_START))
			while (q < end && is(*q, C_STRING))
				q++;
	}
	t->len = (uint32_t)(q - p);
	if (is(*p, C_HEX)) {
		size_t n = scan_address(p, end);
		if (n > t->len) {
			t->type = T_LITERAL;
			t->len = (uint32_t)n;
		}
	}
	if (t->type != T_WORD)
		return;
	if (t->len <= 6)
		for (unsigned i = 0; i < ARRAY_SIZE(operators); i++)
			if (operators[i].text[0] == *p && strlen(operators[i].text) == t->len &&
			    !memcmp(operators[i].text, p, t->len)) {
				t->type = operators[i].type;
				return;
			}
	t->kw = keyword_find(p, t->len);
}

static void take_quoted(struct token *t, const char *p, const char *end)
{
	const char *close = memchr(p + 1, '"', (size_t)(end - p - 1));
	if (!close)
		return;
	t->type = T_QUOTED;
	t->text = p + 1;
	t->len = (uint32_t)(close - p - 1);
	t->end = t->begin + t->len + 2;
}

static void take_bracket(struct token *t, const char *p, const char *end)
{
	t->type = T_LBRACKET;
	size_t n = scan_ip6(p + 1, end);
	if (!n || p + 1 + n >= end || p[1 + n] != ']')
		return;
	t->type = T_LITERAL;
	t->text = p + 1;
	t->len = (uint32_t)n;
	t->end = t->begin + t->len + 2;
}

static void take_punctuation(struct token *t, const char *p, const char *end)
{
	char next = end - p > 1 ? p[1] : 0;
	switch (*p) {
	case '\n':
		t->type = T_NEWLINE;
		break;
	case ';':
		t->type = T_SEMICOLON;
		break;
	case ':':
		t->type = T_COLON;
		if (next == ':') {
			t->type = T_LITERAL;
			t->len = (uint32_t)scan_ip6(p, end);
		}
		break;
	case ',':
		t->type = T_COMMA;
		break;
	case '=':
		t->type = next == '=' ? T_EQ : T_ASSIGN;
		break;
	case '!':
		t->type = next == '=' ? T_NEQ : T_NOT;
		break;
	case '<':
		t->type = next == '=' ? T_LE : next == '<' ? T_LSHIFT : T_LT;
		break;
	case '>':
		t->type = next == '=' ? T_GE : next == '>' ? T_RSHIFT : T_GT;
		break;
	case '&':
		t->type = T_AND;
		break;
	case '|':
		t->type = T_OR;
		break;
	case '^':
		t->type = T_XOR;
		break;
	case '/':
		t->type = T_SLASH;
		break;
	case '*':
		t->type = T_ASTERISK;
		break;
	case '-':
		t->type = T_DASH;
		break;
	case '@':
		t->type = T_AT;
		break;
	case '+':
		t->type = T_PLUS;
		break;
	case '$':
		t->type = T_DOLLAR;
		break;
	case '{':
		t->type = T_LBRACE;
		break;
	case '}':
		t->type = T_RBRACE;
		break;
	case '(':
		t->type = T_LPAREN;
		break;
	case ')':
		t->type = T_RPAREN;
		break;
	case ']':
		t->type = T_RBRACKET;
		break;
	case '\\':
		if (next == '*') {
			t->type = T_WILDCARD;
			t->len = 2;
		}
		break;
	}
	switch (t->type) {
	case T_EQ:
	case T_NEQ:
	case T_LE:
	case T_GE:
	case T_LSHIFT:
	case T_RSHIFT:
		t->len = 2;
		break;
	default:
		break;
	}
}

/* Skips blanks, comments and continued lines. */
static const char *skip_blanks(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (is(*p, C_BLANK))
			continue;
		if (*p == '\\' && end - p > 1 && p[1] == '\n') {
			p++;
			continue;
		}
		if (*p != '#')
			break;
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		return nl ? nl : end;
	}
	return p;
}

void lex(const char *text, uint32_t len, uint32_t pos, struct token *t)
{
	const char *end = text + len, *p = skip_blanks(text + pos, end);
	*t = (struct token){.begin = (uint32_t)(p - text), .text = p};
	t->end = t->begin;
	if (p == end) {
		t->type = T_EOF;
		return;
	}
	t->type = T_JUNK;
	t->len = 1;
	if (is(*p, C_DIGIT))
		take_digit(t, p, end);
	else if (*p == '.' && (end - p < 2 || !is(p[1], C_STRING)))
		t->type = T_DOT;
	else if (is(*p, C_STRING_START))
		take_word(t, p, end);
	else if (*p == '"')
		take_quoted(t, p, end);
	else if (*p == '[')
		take_bracket(t, p, end);
	else
		take_punctuation(t, p, end);
	if (t->end == t->begin)
		t->end = t->begin + t->len;
}

char lex_next_byte(const char *text, uint32_t len, uint32_t pos)
{
	const char *end = text + len, *p = text + pos;
	while ((p = skip_blanks(p, end)) < end && *p == '\n')
		p++;
	return p < end ? *p : 0;
}
