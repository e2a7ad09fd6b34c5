/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_key: elements of named sets, bytes in the set, back to expressions for the listing.
 *
 * A range whose ends are those of a prefix lists as the prefix where the type has prefixes; a range
 * of an interface name's bytes is the wildcard that it came from. Cost: the key's length.
 */
#include "model/model_internal.h"

static bool is_prefix_range(const uint8_t *lo, const uint8_t *hi, unsigned bytes, unsigned *len)
{
	unsigned n = 0, i = 0;

	while (i < bytes && lo[i] == hi[i])
		i++;
	n = i * 8;
	if (i < bytes) {
		uint8_t diff = lo[i] ^ hi[i];

		if (diff & (diff + 1) || lo[i] & diff)
			return false;
		n += (unsigned)__builtin_clz(diff) - 24;
		for (i++; i < bytes; i++)
			if (lo[i] || hi[i] != 0xff)
				return false;
	}
	*len = n;
	return true;
}

static bool type_is_string(const struct datatype *t)
{
	return t->base == TBASE_STRING;
}

static struct expr *prefix_expr(struct arena *a, struct expr *base, unsigned len)
{
	struct expr *e = expr_new(a, EX_PREFIX, LOC_NONE);

	e->prefix.base = base;
	e->prefix.len = len;
	e->type = base->type;
	e->bits = base->bits;
	return e;
}

static struct expr *field_expr(struct arena *a, const struct datatype *t, unsigned bits,
			       const uint8_t *lo, const uint8_t *hi)
{
	unsigned bytes = bits_to_bytes(bits), len;
	struct expr *e, *low = expr_value(a, LOC_NONE, t, lo, bits);

	if (!memcmp(lo, hi, bytes))
		return low;
	if (is_prefix_range(lo, hi, bytes, &len)) {
		unsigned skip = bytes * 8 - bits; /* the value stands right-aligned in its bytes */

		if (type_is_string(t) && len % 8 == 0) {
			e = expr_value(a, LOC_NONE, t, lo, len);
			e->flags |= EXF_WILDCARD;
			return e;
		}
		if (type_has_prefix(t))
			return prefix_expr(a, low, len - skip);
	}
	e = expr_new(a, EX_RANGE, LOC_NONE);
	e->pair.left = low;
	e->pair.right = expr_value(a, LOC_NONE, t, hi, bits);
	e->type = t;
	e->bits = bits;
	return e;
}

static struct expr *bytes_expr(struct arena *a, const struct set_type *t, const uint8_t *lo,
			       const uint8_t *hi)
{
	struct expr *e;
	unsigned at = 0;

	if (t->n == 1)
		return field_expr(a, t->fields[0], t->bits[0], lo, hi);
	e = expr_new(a, EX_CONCAT, LOC_NONE);
	for (unsigned i = 0; i < t->n; i++) {
		expr_list_add(a, &e->list,
			      field_expr(a, t->fields[i], t->bits[i], lo + at, hi + at));
		e->bits += t->bits[i];
		at += bits_to_bytes(t->bits[i]);
	}
	return e;
}

static struct expr *verdict_expr(struct arena *a, const struct model_verdict *v)
{
	struct expr *e = expr_new(a, EX_VERDICT, LOC_NONE);

	e->type = &type_verdict;
	e->verdict.code = v->code;
	e->verdict.chain = v->chain;
	if (v->chain)
		e->verdict.chain_name = v->chain->name;
	return e;
}

/* A lone address among ranges is listed as a prefix too. */
static struct expr *data_range_expr(struct arena *a, const struct set_type *t, const uint8_t *data)
{
	struct expr *e = bytes_expr(a, t, data, t->interval ? data + key_len(t) : data);

	if (t->interval && e->kind == EX_VALUE && type_has_prefix(t->fields[0]))
		return prefix_expr(a, e, e->bits);
	return e;
}

static struct expr *data_expr(struct arena *a, const struct model_set *s, const void *data)
{
	if (s->decl.flags & SETF_OBJECT) {
		const struct model_object *o = *(struct model_object *const *)data;
		struct expr *e = expr_new(a, EX_SYMBOL, LOC_NONE);

		e->symbol.text = o->name;
		e->symbol.len = (uint32_t)strlen(o->name);
		e->flags |= EXF_STRING;
		return e;
	}
	if (set_is_verdict_map(&s->decl))
		return verdict_expr(a, data);
	return data_range_expr(a, &s->decl.data, data);
}

static struct stmt *ext_stmts(struct arena *a, struct state_list *l, uint64_t now)
{
	struct stmt *first = NULL, **last = &first;

	for (unsigned i = 0; i < state_list_len(l); i++) {
		struct state_info info;

		state_read(state_list_at(l, i), now, &info);
		*last = stmt_from_state(a, &info);
		last = &(*last)->next;
	}
	return first;
}

static struct expr *build(struct arena *a, const struct model_set *s, const struct set_view *v,
			  uint64_t now)
{
	struct expr *key = v->catchall ? expr_new(a, EX_CATCHALL, LOC_NONE)
				       : bytes_expr(a, &s->decl.key, v->lo, v->hi);

	if (!v->data && !v->ext && !v->comment && !v->timeout_ns && !s->decl.timeout)
		return key;
	struct expr *e = expr_new(a, EX_ELEM, LOC_NONE);
	struct elem_expr *el = e->elem = arena_new(a, struct elem_expr);

	el->key = key;
	el->comment = v->comment;
	if (v->data)
		el->data = data_expr(a, s, v->data);
	if (v->ext)
		el->stmts = ext_stmts(a, v->ext, now);
	el->timeout_never = !v->timeout_ns && s->decl.timeout;
	if (v->timeout_ns) {
		el->timeout = v->timeout_ns / NS_PER_MS;
		el->has_timeout = el->timeout != s->decl.timeout;
		el->expires = v->expires_in_ns / NS_PER_MS;
		el->has_expires = v->expires_in_ns;
	}
	return e;
}

struct building {
	const struct model_set *set;
	const struct set_view *view;
	uint64_t now;
};

static void build_in(struct arena *a, void *to, const void *from)
{
	const struct building *b = from;

	*(struct expr **)to = build(a, b->set, b->view, b->now);
}

struct expr *element_expr(struct arena *a, const struct model_set *s, const struct set_view *v,
			  uint64_t now)
{
	struct building b = {s, v, now};
	struct expr *e;

	return arena_try(a, build_in, &e, &b) ? NULL : e;
}
