/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_value: symbols and numbers become constants of the type that their place asks for.
 *
 * The phrases of the messages are nft's. Constants are big-endian and right-aligned, so arithmetic
 * goes byte by byte; shifts go through a buffer of VALUE_MAX bytes. Cost: the length of the text.
 */
#include "model/check_internal.h"

#include <stdio.h>

enum type_base type_basis(const struct datatype *t)
{
	return t->base;
}

bool expr_is_constant(const struct expr *e)
{
	switch (e->kind) {
	case EX_SYMBOL:
	case EX_VALUE:
	case EX_VERDICT:
	case EX_CATCHALL:
	case EX_SET:
	case EX_SETREF:
		return true;
	case EX_PREFIX:
		return expr_is_constant(e->prefix.base);
	case EX_RANGE:
	case EX_BINOP:
		return expr_is_constant(e->pair.left) && expr_is_constant(e->pair.right);
	case EX_LIST:
	case EX_CONCAT:
		for (uint32_t i = 0; i < e->list.n; i++)
			if (!expr_is_constant(e->list.items[i]))
				return false;
		return true;
	case EX_ELEM:
		return expr_is_constant(e->elem->key);
	default:
		return false;
	}
}

const char *value_text(struct eval *ev, const struct expr *e, size_t *len)
{
	const struct source_set *s = ev->c->sources;

	if (e->kind == EX_SYMBOL) {
		*len = e->symbol.len;
		return e->symbol.text;
	}
	if (e->loc.src && e->loc.src <= s->sources.n) {
		const struct source *src = &s->sources.items[e->loc.src - 1];

		if (src->kind != SOURCE_JSON && e->loc.begin < e->loc.end &&
		    e->loc.end <= src->len && src->text[e->loc.begin] >= '0' &&
		    src->text[e->loc.begin] <= '9') {
			*len = e->loc.end - e->loc.begin;
			return src->text + e->loc.begin;
		}
	}
	const char *text = arena_printf(ev->a, "%llu", (unsigned long long)expr_u64(e));

	*len = strlen(text);
	return text;
}

/* Types whose plain numbers are not simply the value, or are no numbers at all. */
static bool numbers_are_text(const struct datatype *t)
{
	if (t->base == TBASE_STRING)
		return true;
	for (; t; t = t->parent)
		if (t == &type_ifname || t == &type_string || t == &type_lladdr ||
		    t == &type_ether_addr || t == &type_ipv6_addr || t == &type_time ||
		    t == &type_time_date || t == &type_time_hour || t == &type_time_day ||
		    t == &type_ct_label || t == &type_cgroupsv2)
			return true;
	return false;
}

static const char *decimal(struct eval *ev, const uint8_t *v, unsigned bits)
{
	enum { DIGITS_MAX = 160 };
	char *text = arena_alloc(ev->a, DIGITS_MAX);
	struct strbuf b = STRBUF_INIT;

	datatype_print(&type_integer, NULL, v, bits, &b);
	snprintf(text, DIGITS_MAX, "%s", strbuf_str(&b));
	strbuf_free(&b);
	return text;
}

static int range_error(struct eval *ev, const struct expr *e, const char *text, size_t len,
		       const struct datatype *t, unsigned bits)
{
	uint8_t max[VALUE_MAX] = {0};
	uint8_t big[VALUE_MAX];
	const char *shown;

	if (t == &type_inet_service)
		return check_error(ev, e->loc, "Service out of range");
	if (t == &type_inet_proto)
		return check_error(ev, e->loc, "Protocol out of range");
	if (number_parse(text, len, big, VALUE_MAX * 8) < 0)
		shown = arena_strndup(ev->a, text, len);
	else
		shown = decimal(ev, big, VALUE_MAX * 8);
	if (ev->max) {
		be_store(max, ev->max, 8);
		bits = 64;
	} else if (t->max) {
		be_store(max, t->max, 8);
		bits = 64;
	} else {
		memset(max, 0xff, bits_to_bytes(bits));
		if (bits % 8)
			max[0] = (uint8_t)((1u << bits % 8) - 1);
	}
	return check_error(ev, e->loc, "Value %s exceeds valid range 0-%s", shown,
			   decimal(ev, max, bits));
}

static int parse_error(struct eval *ev, const struct expr *e, const struct datatype *t,
		       const char *text, size_t len, const char *why)
{
	if ((t == &type_ipv4_addr && memchr(text, ':', len)) ||
	    (t == &type_ipv6_addr && !memchr(text, ':', len) && strspn(text, "0123456789.") >= len))
		why = "Could not resolve hostname: Address family for hostname not supported";
	if (why)
		return check_error(ev, e->loc, "%s", why);
	for (const struct datatype *p = t; p; p = p->parent) {
		if (!p->symbols)
			continue;
		const char *best = NULL;
		unsigned best_score = UINT32_MAX;

		for (const struct symbol *s = p->symbols; s->name; s++) {
			unsigned score = suggest_distance(text, len, s->name);

			if (score < best_score) {
				best_score = score;
				best = s->name;
			}
		}
		if (best && best_score <= suggest_limit(len, strlen(best)))
			return check_error(ev, e->loc,
					   "Could not parse %s expression; did you mean `%s'?",
					   t->desc, best);
		break;
	}
	return check_error(ev, e->loc, "Could not parse %s", t->desc);
}

static int ifname_resolve(struct eval *ev, struct expr *e, const struct datatype *t, unsigned bits)
{
	uint8_t name[IFNAME_MAX];
	size_t len;
	const char *text = value_text(ev, e, &len);
	unsigned n;
	bool wildcard;

	if (!len)
		return check_error(ev, e->loc, "Empty string is not allowed");
	if (ifname_parse(text, len, name, &n, &wildcard) < 0)
		return check_error(ev, e->loc, "String exceeds maximum length of %u", bits / 8);
	if (wildcard && !n)
		return check_error(ev, e->loc, "All-wildcard strings are not supported");
	expr_set_value(ev->a, e, t, name, wildcard ? n * 8 : bits);
	e->flags |= EXF_STRING;
	if (wildcard)
		e->flags |= EXF_WILDCARD;
	return 0;
}

int value_resolve(struct eval *ev, struct expr *e)
{
	const struct set_type *w = ev->want;
	uint8_t v[VALUE_MAX] = {0};
	const char *why = NULL;
	size_t len;

	if (!w || !w->n || w->fields[0] == &type_invalid || !w->fields[0]) {
		if (e->kind == EX_VALUE && e->type) {
			if (!e->bits)
				e->bits = 32;
			return 0;
		}
		return check_error(ev, e->loc, "%s",
				   w && w->n ? "Can't parse symbolic invalid expressions"
					     : "No symbol type information");
	}
	if (w->n > 1)
		return check_error(ev, e->loc, "invalid data type, expected %s", type_desc(ev, w));

	const struct datatype *t = w->fields[0];
	unsigned bits = w->bits[0] ? w->bits[0] : t->bits;
	bool number = e->kind == EX_VALUE || (e->flags & EXF_NUMBER);
	int err;

	if (!bits)
		bits = t->base == TBASE_STRING ? IFNAME_MAX * 8 : 32;
	if (e->kind == EX_VALUE && e->type == t && e->type != &type_integer)
		return 0;
	if (t == &type_verdict)
		return check_error(ev, e->loc, "Can't parse symbolic verdict expressions");
	if (t == &type_ifname)
		return ifname_resolve(ev, e, t, bits);

	const char *text = value_text(ev, e, &len);

	if (number && !numbers_are_text(t)) {
		if (e->kind == EX_VALUE && e->bits <= 64) {
			uint64_t n = expr_u64(e);

			if (n > datatype_max(t, bits) || (ev->max && n > ev->max))
				return range_error(ev, e, text, len, t, bits);
			unsigned bytes = bits_to_bytes(bits);

			if (bytes <= 8)
				be_store(v, n, bytes);
			else
				be_store(v + bytes - 8, n, 8);
			err = 0;
		} else if (e->kind == EX_VALUE) {
			unsigned from = bits_to_bytes(e->bits), to = bits_to_bytes(bits);
			const uint8_t *p = expr_bytes(e);

			for (; from > to; from--, p++)
				if (*p)
					return range_error(ev, e, text, len, t, bits);
			memcpy(v + to - from, p, from);
			if (from == to && bits % 8 && v[0] >> bits % 8)
				return range_error(ev, e, text, len, t, bits);
			err = 0;
		} else {
			err = number_parse(text, len, v, bits);
			if (!err && bits <= 64 &&
			    be_load(v, bits_to_bytes(bits)) > datatype_max(t, bits))
				err = -ERANGE;
		}
	} else {
		err = datatype_parse(t, ev->c->env, text, len, v, bits, &why);
	}
	if (err == -ERANGE && !why)
		return range_error(ev, e, text, len, t, bits);
	if (err)
		return parse_error(ev, e, t, text, len, why);
	if (ev->max && bits <= 64 && be_load(v, bits_to_bytes(bits)) > ev->max)
		return range_error(ev, e, text, len, t, bits);

	uint8_t keep = e->flags & EXF_STRING && t->base == TBASE_STRING ? EXF_STRING : 0;

	expr_set_value(ev->a, e, t, v, bits);
	e->flags = keep;
	return 0;
}

bool value_is_zero(const struct expr *e)
{
	const uint8_t *p = expr_bytes(e);

	for (unsigned i = 0; i < bits_to_bytes(e->bits); i++)
		if (p[i])
			return false;
	return true;
}

int value_mask_prefix(const struct expr *e)
{
	const uint8_t *p = expr_bytes(e);
	unsigned pad = bits_to_bytes(e->bits) * 8 - e->bits, n = 0;

	while (n < e->bits && p[(pad + n) / 8] >> (7 - (pad + n) % 8) & 1)
		n++;
	for (unsigned i = n; i < e->bits; i++)
		if (p[(pad + i) / 8] >> (7 - (pad + i) % 8) & 1)
			return -1;
	return (int)n;
}

struct expr *value_mask(struct eval *ev, struct loc loc, const struct datatype *t, unsigned bits,
			unsigned ones)
{
	uint8_t v[VALUE_MAX] = {0};
	unsigned pad = bits_to_bytes(bits) * 8 - bits;

	for (unsigned i = 0; i < ones && i < bits; i++)
		v[(pad + i) / 8] |= (uint8_t)(0x80 >> (pad + i) % 8);
	return expr_value(ev->a, loc, t, v, bits);
}

void value_cut(struct eval *ev, struct expr *e, unsigned ones)
{
	uint8_t v[VALUE_MAX], flags = e->flags;
	unsigned bytes = bits_to_bytes(e->bits), first = bytes * 8 - e->bits + ones;

	memcpy(v, expr_bytes(e), bytes);
	for (unsigned i = first; i < bytes * 8; i++)
		v[i / 8] &= (uint8_t)~(0x80 >> i % 8);
	expr_set_value(ev->a, e, e->type, v, e->bits);
	e->flags = flags;
}

/* Shifts the `bytes` bytes at v by n bits; to the left if n is positive. */
static void shift_bytes(uint8_t *v, unsigned bytes, int n)
{
	uint8_t out[VALUE_MAX] = {0};
	int total = (int)bytes * 8;

	for (int i = 0; i < total; i++) {
		int from = i + n;

		if (from >= 0 && from < total && v[from / 8] >> (7 - from % 8) & 1)
			out[i / 8] |= (uint8_t)(0x80 >> i % 8);
	}
	memcpy(v, out, bytes);
}

int value_fold(struct eval *ev, enum expr_op op, struct expr *a, const struct expr *b)
{
	uint8_t v[VALUE_MAX] = {0};
	unsigned na = bits_to_bytes(a->bits), nb = bits_to_bytes(b->bits);
	uint8_t wide[VALUE_MAX] = {0};

	memcpy(v, expr_bytes(a), na);
	if (op == OP_LSHIFT || op == OP_RSHIFT) {
		uint64_t n = expr_u64(b);

		if (n > a->bits)
			n = a->bits;
		shift_bytes(v, na, op == OP_LSHIFT ? (int)n : -(int)n);
		if (a->bits % 8)
			v[0] &= (uint8_t)((1u << a->bits % 8) - 1);
	} else {
		const uint8_t *p = expr_bytes(b);

		if (nb > na) {
			p += nb - na;
			nb = na;
		}
		memcpy(wide + na - nb, p, nb);
		for (unsigned i = 0; i < na; i++) {
			if (op == OP_AND)
				v[i] &= wide[i];
			else if (op == OP_OR)
				v[i] |= wide[i];
			else
				v[i] ^= wide[i];
		}
	}
	uint8_t flags = a->flags;

	expr_set_value(ev->a, a, a->type, v, a->bits);
	a->flags = flags;
	return 0;
}
