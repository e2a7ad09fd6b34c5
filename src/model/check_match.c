/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_match: comparisons: operators by type, and the one form of each test that the listing has.
 *
 * Brought to one form here: a set of one element becomes the element; flags tested with `& x != 0`
 * become the implicit test; a mask of leading ones becomes a prefix where the type has prefixes,
 * and a prefix becomes a mask where it has none; an exclusive or of
 * constants moves to the constant; raw bits that fill no byte become a masked byte. Constant cost
 * but for sets.
 */
#include "model/check_internal.h"

static const char *const compare_names[] = {
	[OP_IMPLICIT] = "implicit",
	[OP_EQ] = "==",
	[OP_NEQ] = "!=",
	[OP_LT] = "<",
	[OP_GT] = ">",
	[OP_LE] = "<=",
	[OP_GE] = ">=",
	[OP_NOT] = "!",
};

/* Types whose implicit test is "any of these bits". */
static bool is_flags(const struct datatype *t)
{
	return t && t->base == TBASE_BITMASK && t != &type_bitmask;
}

static bool symbol_is(const struct expr *e, const char *text)
{
	return e->kind == EX_SYMBOL && !(e->flags & EXF_STRING) && e->symbol.len == strlen(text) &&
	       !memcmp(e->symbol.text, text, e->symbol.len);
}

static bool is_equality(unsigned op)
{
	return op == OP_EQ || op == OP_NEQ;
}

static struct expr *and_expr(struct eval *ev, struct expr *left, struct expr *mask)
{
	struct expr *e = expr_new(ev->a, EX_BINOP, left->loc);

	e->op = OP_AND;
	e->type = left->type;
	e->bits = left->bits;
	e->pair.left = left;
	e->pair.right = mask;
	return e;
}

/* The bits of a mask as a list of single flags; a lone bit stays a value. */
static struct expr *flag_list(struct eval *ev, struct expr *mask)
{
	struct expr *list = expr_new(ev->a, EX_LIST, mask->loc);
	const uint8_t *p = expr_bytes(mask);
	unsigned bytes = bits_to_bytes(mask->bits);

	list->type = mask->type;
	list->bits = mask->bits;
	for (unsigned i = 0; i < bytes * 8; i++) {
		uint8_t v[VALUE_MAX] = {0};
		unsigned at = bytes - 1 - i / 8;

		if (!(p[at] >> i % 8 & 1))
			continue;
		v[at] = (uint8_t)(1u << i % 8);
		expr_list_add(ev->a, &list->list,
			      expr_value(ev->a, mask->loc, mask->type, v, mask->bits));
	}
	return list->list.n == 1 ? list->list.items[0] : list;
}

static bool same_width_ones(const struct expr *mask)
{
	return value_mask_prefix(mask) == (int)mask->bits;
}

static bool value_within(struct eval *ev, const struct expr *v, const struct expr *mask)
{
	struct expr *copy = expr_clone(ev->a, v);

	value_fold(ev, OP_AND, copy, mask);
	return !memcmp(expr_bytes(copy), expr_bytes(v), bits_to_bytes(v->bits));
}

/* (x & mask) against a constant. */
static void normalise_mask(struct eval *ev, struct expr *e)
{
	struct expr *b = e->pair.left, *v = e->pair.right, *mask = b->pair.right;
	int ones;

	if (mask->kind != EX_VALUE || v->kind != EX_VALUE || !is_equality(e->op))
		return;
	if (is_flags(b->type) && value_is_zero(v) && !value_is_zero(mask)) {
		e->op = e->op == OP_NEQ ? OP_IMPLICIT : OP_NOT;
		e->pair.left = b->pair.left;
		e->pair.right = flag_list(ev, mask);
		return;
	}
	if (same_width_ones(mask) && mask->bits % 8 == 0) {
		e->pair.left = b->pair.left;
		return;
	}
	ones = value_mask_prefix(mask);
	if (ones < 0 || !type_has_prefix(b->type) || !value_within(ev, v, mask))
		return;
	struct expr *p = expr_new(ev->a, EX_PREFIX, v->loc);

	p->type = v->type;
	p->bits = v->bits;
	p->prefix.base = v;
	p->prefix.len = (uint32_t)ones;
	e->pair.left = b->pair.left;
	e->pair.right = p;
}

static void normalise_prefix(struct eval *ev, struct expr *e)
{
	struct expr *p = e->pair.right, *base = p->prefix.base;

	if (type_has_prefix(e->pair.left->type)) {
		if (p->prefix.len == base->bits) {
			base->loc = p->loc;
			e->pair.right = base;
		}
		return;
	}
	e->pair.left = and_expr(ev, e->pair.left,
				value_mask(ev, p->loc, base->type, base->bits, p->prefix.len));
	base->loc = p->loc;
	e->pair.right = base;
}

/* x ^ a == b as a test of x. */
static void move_constant(struct eval *ev, struct expr *e)
{
	while (e->pair.left->kind == EX_BINOP && e->pair.left->pair.right->kind == EX_VALUE &&
	       e->pair.right->kind == EX_VALUE && is_equality(e->op)) {
		struct expr *b = e->pair.left;

		if (b->op != OP_XOR)
			return;
		value_fold(ev, OP_XOR, e->pair.right, b->pair.right);
		e->pair.left = b->pair.left;
	}
}

/* Bits of the packet that do not fill bytes, as a masked load of the bytes around them. */
void raw_normalise(struct eval *ev, struct expr *e)
{
	struct expr *raw = e->pair.left, *v = e->pair.right;
	unsigned first, end, shift;
	uint8_t mask[VALUE_MAX] = {0}, value[VALUE_MAX] = {0};

	if (raw->raw.base == PB_IH || raw->raw.tunnel || v->kind != EX_VALUE || !is_equality(e->op))
		return;
	first = raw->raw.off / 8 * 8;
	end = (raw->raw.off + raw->bits + 7) / 8 * 8;
	if (end - first == raw->bits || end - first > VALUE_MAX * 8)
		return;
	shift = end - raw->raw.off - raw->bits;
	for (unsigned i = 0; i < raw->bits; i++) {
		unsigned bit = shift + i, at = (end - first) / 8 - 1 - bit / 8;
		const uint8_t *p = expr_bytes(v);

		mask[at] |= (uint8_t)(1u << bit % 8);
		if (p[bits_to_bytes(v->bits) - 1 - i / 8] >> i % 8 & 1)
			value[at] |= (uint8_t)(1u << bit % 8);
	}
	raw->raw.off = first;
	raw->bits = end - first;
	expr_set_value(ev->a, v, raw->type, value, raw->bits);
	e->pair.left = and_expr(ev, raw, expr_value(ev->a, v->loc, raw->type, mask, raw->bits));
}

static int check_set_side(struct eval *ev, struct expr *e)
{
	struct set_type left, right;

	expr_type(e->pair.left, &left);
	right = e->pair.right->setref.set->decl.key;
	if (!type_compatible(&left, &right))
		return check_error2(ev, e->pair.right->loc, e->pair.left->loc,
				    "datatype mismatch, expected %s, expression has type %s",
				    type_desc(ev, &left), type_desc(ev, &right));
	return 0;
}

static int check_right(struct eval *ev, struct expr *e)
{
	struct expr *l = e->pair.left;
	struct set_type want;
	int err;

	if (symbol_is(e->pair.right, "exists") || symbol_is(e->pair.right, "missing")) {
		if (l->kind == EX_FIB && l->fib.result != 2) {
			l->fib.check = true;
			l->type = &type_boolean;
			l->bits = 1;
		}
		if (symbol_is(e->pair.right, "missing") &&
		    (l->kind == EX_FIB || l->kind == EX_OPTION))
			l->flags |= EXF_MISSING;
	}
	expr_type(l, &want);
	ev->hours = l->kind == EX_META && l->key == META_HOUR && e->pair.right->kind == EX_RANGE;
	err = expr_check_as(ev, &e->pair.right, &want, 0);
	ev->hours = false;
	if (err)
		return err;
	if (e->pair.right->kind == EX_SETREF)
		return check_set_side(ev, e);
	if (!expr_is_constant(e->pair.right))
		return check_error2(
			ev, e->pair.right->loc, l->loc,
			"Right hand side of relational expression (%s) must be constant",
			compare_names[e->op]);
	if (e->pair.right->kind == EX_VERDICT)
		return check_error2(ev, e->pair.right->loc, l->loc,
				    "datatype mismatch, expected %s, expression has type %s",
				    type_desc(ev, &want), type_verdict.desc);
	if (l->kind == EX_CONCAT && e->pair.right->kind == EX_CONCAT &&
	    (is_equality(e->op) || e->op == OP_IMPLICIT))
		return check_error2(ev, l->loc, e->pair.right->loc,
				    "Use concatenations with sets and maps, not singleton values");
	if (l->kind == EX_CONCAT && e->pair.right->kind != EX_SET &&
	    e->pair.right->kind != EX_CONCAT)
		return check_error2(ev, e->pair.right->loc, l->loc,
				    "datatype mismatch, expected %s, expression has type %s",
				    type_desc(ev, &want), "integer");
	return 0;
}

/*
 * { x } means x. So does a set whose elements merge into one: nft keeps the braces of such a set,
 * and drops them when it reads its own listing.
 */
static void unwrap_set(struct expr *e)
{
	struct expr *set = e->pair.right, *one;

	if (set->kind != EX_SET || set->list.n != 1 || e->pair.left->kind == EX_CONCAT)
		return;
	one = set->list.items[0];
	if (one->kind == EX_ELEM) {
		if (one->elem->stmts || one->elem->comment || one->elem->has_timeout)
			return;
		one = one->elem->key;
	}
	if (one->kind == EX_CATCHALL)
		return;
	e->pair.right = one;
}

/* What stands between the two sides. */
static struct loc operator_loc(struct eval *ev, const struct expr *e)
{
	struct loc l = e->pair.left->loc, r = e->pair.right->loc;
	const struct source_set *s = ev->c->sources;
	const char *text;

	if (!l.src || l.src != r.src || l.src > s->sources.n || l.end >= r.begin ||
	    r.begin > s->sources.items[l.src - 1].len)
		return l;
	text = s->sources.items[l.src - 1].text;
	l.begin = l.end;
	l.end = r.begin;
	while (l.begin + 1 < l.end && text[l.begin] == ' ')
		l.begin++;
	while (l.end > l.begin + 1 && text[l.end - 1] == ' ')
		l.end--;
	return l;
}

static int resolve_operator(struct eval *ev, struct expr *e)
{
	struct expr *l = e->pair.left, *r = e->pair.right;

	if (r->kind == EX_LIST) {
		list_fold(ev, &e->pair.right);
		r = e->pair.right;
		if ((e->op == OP_IMPLICIT && l->kind != EX_BINOP) || e->op == OP_NOT)
			r = e->pair.right = flag_list(ev, r);
	}
	switch (e->op) {
	case OP_IMPLICIT:
		if (r->kind != EX_LIST &&
		    (r->kind != EX_VALUE || !is_flags(l->type) || l->kind == EX_BINOP))
			e->op = OP_EQ;
		return 0;
	case OP_EQ:
	case OP_NEQ:
		return 0;
	case OP_NOT:
		if (l->kind == EX_BINOP)
			return check_error2(ev, l->loc, r->loc,
					    "cannot combine negation with binary expression");
		if ((r->kind != EX_VALUE && r->kind != EX_LIST) || !is_flags(l->type))
			return check_error2(
				ev, r->loc, l->loc,
				"negation can only be used with singleton bitmask values.  "
				"Did you mean \"!=\"?");
		return 0;
	default:
		if (l->kind == EX_CONCAT)
			return check_error2(ev, l->loc, operator_loc(ev, e),
					    "Relational expression (%s) is undefined for %s "
					    "expressions",
					    compare_names[e->op], expr_kind_name(l));
		if (r->kind != EX_VALUE || (r->flags & EXF_WILDCARD))
			return check_error2(ev, r->loc, operator_loc(ev, e),
					    "Relational expression (%s) is undefined for %s "
					    "expressions",
					    compare_names[e->op], expr_kind_name(r));
		if (type_basis(l->type) == TBASE_STRING)
			return check_error2(ev, r->loc, l->loc,
					    "Relational expression (%s) is undefined for %s types",
					    compare_names[e->op], l->type->desc);
		return 0;
	}
}

static bool has_symbol(const struct expr *concat)
{
	for (uint32_t i = 0; i < concat->list.n; i++)
		if (concat->list.items[i]->kind == EX_SYMBOL)
			return true;
	return false;
}

/* A concatenation may have constants, whose type the set on the right knows. */
static int check_left(struct eval *ev, struct expr *e)
{
	const struct set_type *want = NULL;

	if (e->pair.left->kind == EX_CONCAT && e->pair.right->kind == EX_SETREF &&
	    has_symbol(e->pair.left)) {
		int err = expr_check_as(ev, &e->pair.right, NULL, 0);

		if (err)
			return err;
		want = &e->pair.right->setref.set->decl.key;
	}
	return expr_check_as(ev, &e->pair.left, want, 0);
}

/* A shifted field is a number, whatever it was: nft compares it with fields of numbers alone. */
static int check_shift(struct eval *ev, const struct expr *e)
{
	const struct expr *l = e->pair.left;

	if (l->kind != EX_BINOP || (l->op != OP_LSHIFT && l->op != OP_RSHIFT) ||
	    l->type == &type_integer || l->type == &type_xinteger ||
	    e->pair.right->kind == EX_SETREF)
		return 0;
	return check_error2(ev, e->pair.right->loc, l->loc,
			    "datatype mismatch, expected %s, expression has type %s", l->type->desc,
			    type_integer.desc);
}

/*
 * A masked field that reaches into one more byte than it has bits for, in a set of several: nft
 * moves the elements to the field's place, where they are longer than the set's key.
 */
static int check_shifted_set(struct eval *ev, const struct expr *e)
{
	const struct expr *l = e->pair.left, *r = e->pair.right;
	unsigned off;

	if (l->kind != EX_BINOP || r->kind != EX_SET)
		return 0;
	while (l->kind == EX_BINOP)
		l = l->pair.left;
	if (l->kind == EX_RAW)
		off = l->raw.off;
	else if (l->kind == EX_PAYLOAD)
		off = l->payload.field->off;
	else
		return 0;
	if (bits_to_bytes(off % 8 + l->bits) == bits_to_bytes(l->bits))
		return 0;
	return kernel_error(ev, r->list.items[0]->loc, "Invalid argument");
}

int match_check(struct eval *ev, struct stmt *s)
{
	struct expr *e = s->expr;
	int err;

	if (e->kind != EX_COMPARE) {
		err = expr_check_as(ev, &s->expr, NULL, 0);
		return err ? err : check_error(ev, e->loc, "%s is no match", expr_kind_name(e));
	}
	err = check_left(ev, e);
	if (err)
		return err;
	if (expr_is_constant(e->pair.left) || e->pair.left->kind == EX_VALUE)
		return check_error2(ev, e->pair.left->loc, e->pair.right->loc,
				    "Relational expression (%s) has constant value",
				    compare_names[e->op]);
	if (!e->pair.left->type)
		return check_error(ev, e->pair.left->loc, "expression has no type");
	err = check_shift(ev, e);
	if (err)
		return err;
	e->type = &type_boolean;
	e->bits = 1;
	err = check_right(ev, e);
	if (err)
		return err;
	unwrap_set(e);
	err = check_shifted_set(ev, e);
	if (!err)
		err = resolve_operator(ev, e);
	if (err)
		return err;
	if (e->pair.right->kind == EX_PREFIX)
		normalise_prefix(ev, e);
	else if (e->pair.left->kind == EX_BINOP && e->pair.left->op == OP_AND)
		normalise_mask(ev, e);
	else if (e->pair.left->kind == EX_BINOP)
		move_constant(ev, e);
	proto_ctx_learn(&ev->pctx, ev->c->family, e);
	return 0;
}
