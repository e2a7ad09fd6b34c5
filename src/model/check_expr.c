/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_expr: types of expressions, from the leaves up; constants are folded on the way.
 *
 * ev->want is the type that symbols take. It is set by whoever knows: a comparison from its left
 * side, a set from the key beside it, a statement from what it assigns to. Depth is bounded by
 * CHECK_DEPTH_MAX; cost is the number of nodes.
 */
#include "model/check_internal.h"

#include <stdio.h>

int expr_check_as(struct eval *ev, struct expr **ep, const struct set_type *want, uint64_t max)
{
	struct eval_want old = want_push(ev, want);
	int err;

	ev->max = max;
	err = expr_check(ev, ep);
	want_pop(ev, old);
	return err;
}

unsigned type_bits(const struct set_type *t)
{
	unsigned bits = 0;

	if (t->n == 1)
		return t->bits[0];
	for (unsigned i = 0; i < t->n; i++)
		bits += bits_to_bytes(t->bits[i]) * 8;
	return bits;
}

static const struct datatype *type_root(const struct datatype *t)
{
	if (t == &type_xinteger)
		return &type_integer;
	return t;
}

bool type_equal(const struct set_type *a, const struct set_type *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++) {
		if (type_root(a->fields[i]) != type_root(b->fields[i]))
			return false;
		if (a->n > 1 && bits_to_bytes(a->bits[i]) != bits_to_bytes(b->bits[i]))
			return false;
	}
	return true;
}

const char *type_desc(struct eval *ev, const struct set_type *t)
{
	enum { DESC_MAX = 1024 };
	char *text;
	size_t n;

	if (!t->n || !t->fields[0])
		return "invalid";
	if (t->n == 1)
		return t->fields[0]->desc;
	text = arena_alloc(ev->a, DESC_MAX);
	n = (size_t)snprintf(text, DESC_MAX, "concatenation of (");
	for (unsigned i = 0; i < t->n && n < DESC_MAX; i++)
		n += (size_t)snprintf(text + n, DESC_MAX - n, "%s%s", i ? ", " : "",
				      t->fields[i]->desc);
	if (n < DESC_MAX)
		snprintf(text + n, DESC_MAX - n, ")");
	return text;
}

void expr_type(const struct expr *e, struct set_type *out)
{
	*out = (struct set_type){0};
	switch (e->kind) {
	case EX_CONCAT:
		for (uint32_t i = 0; i < e->list.n && i < CONCAT_MAX; i++) {
			struct set_type one;

			expr_type(e->list.items[i], &one);
			out->fields[i] = one.fields[0];
			out->bits[i] = one.bits[0];
			out->n++;
		}
		return;
	case EX_ELEM:
		expr_type(e->elem->key, out);
		return;
	case EX_SETREF:
		if (e->setref.set)
			*out = e->setref.set->decl.key;
		return;
	case EX_MAP:
		if (e->map.to->kind == EX_SETREF && e->map.to->setref.set) {
			*out = e->map.to->setref.set->decl.data;
			return;
		}
		if (e->map.to->kind == EX_SET && e->map.to->list.n) {
			const struct expr *first = e->map.to->list.items[0];

			if (first->kind == EX_ELEM && first->elem->data) {
				expr_type(first->elem->data, out);
				return;
			}
		}
		break;
	case EX_SET:
		if (e->list.n) {
			expr_type(e->list.items[0], out);
			return;
		}
		break;
	case EX_RANGE:
		expr_type(e->pair.left, out);
		return;
	case EX_PREFIX:
		expr_type(e->prefix.base, out);
		return;
	default:
		break;
	}
	out->fields[0] = e->type;
	out->bits[0] = (uint16_t)e->bits;
	if (e->kind == EX_VALUE && (e->flags & EXF_WILDCARD))
		out->bits[0] = IFNAME_MAX * 8;
	out->n = e->type ? 1 : 0;
}

static int prefix_check(struct eval *ev, struct expr *e)
{
	struct expr *base = e->prefix.base;
	int err = expr_check(ev, &e->prefix.base);

	if (err)
		return err;
	base = e->prefix.base;
	if (base->kind != EX_VALUE)
		return check_error(ev, e->loc, "Prefix expression is undefined for %s expressions",
				   expr_kind_name(base));
	if (type_basis(base->type) == TBASE_STRING)
		return check_error(ev, e->loc, "Prefix expression expected integer value");
	if (e->prefix.len > base->bits)
		return check_error(ev, e->loc,
				   "Prefix length %u is invalid for type of %u bits width",
				   e->prefix.len, base->bits);
	value_cut(ev, base, e->prefix.len);
	e->type = base->type;
	e->bits = base->bits;
	return 0;
}

static int range_check(struct eval *ev, struct expr *e)
{
	int err = expr_check(ev, &e->pair.left);

	if (!err)
		err = expr_check(ev, &e->pair.right);
	if (err)
		return err;
	struct expr *l = e->pair.left, *r = e->pair.right;

	if (l->kind != EX_VALUE)
		return check_error(ev, l->loc, "Range expression is undefined for %s expressions",
				   expr_kind_name(l));
	if (r->kind != EX_VALUE)
		return check_error(ev, r->loc, "Range expression is undefined for %s expressions",
				   expr_kind_name(r));
	if (type_basis(l->type) == TBASE_STRING)
		return check_error(ev, e->loc, "Range expression is undefined for %s expressions",
				   "string");
	e->type = l->type;
	e->bits = l->bits;
	if (memcmp(expr_bytes(l), expr_bytes(r), bits_to_bytes(l->bits)) > 0 && !ev->hours)
		return check_error(ev, e->loc, "Range has zero or negative size");
	return 0;
}

static int list_check(struct eval *ev, struct expr *e)
{
	for (uint32_t i = 0; i < e->list.n; i++) {
		int err = expr_check(ev, &e->list.items[i]);

		if (err)
			return err;
		struct expr *v = e->list.items[i];

		if (v->kind != EX_VALUE)
			return check_error(ev, v->loc, "List member must be a constant value");
		if (type_basis(v->type) != TBASE_BITMASK)
			return check_error(ev, v->loc, "Basetype of type %s is not bitmask",
					   v->type->desc);
		e->type = v->type;
		e->bits = v->bits;
	}
	return 0;
}

static int concat_check(struct eval *ev, struct expr *e)
{
	const struct set_type *want = ev->want;
	struct set_type one;
	unsigned bits = 0;

	if (e->list.n > CONCAT_MAX)
		return check_error(ev, e->loc, "Concatenation of size %u exceeds maximum of %u",
				   e->list.n, CONCAT_MAX);
	if (want && want->n && want->n != e->list.n && expr_is_constant(e)) {
		if (want->n > 1 && e->list.n > want->n)
			return check_error(ev, e->loc, "too many concatenation components");
		if (want->n > 1)
			return check_error(ev, e->loc, "too few concatenation components");
		return check_error(ev, e->list.items[0]->loc,
				   "datatype mismatch, expected %s, expression has type %s",
				   type_desc(ev, want), "concatenation");
	}
	for (uint32_t i = 0; i < e->list.n; i++) {
		bool known = want && i < want->n && want->n == e->list.n;
		int err;

		if (!known && e->list.items[i]->kind == EX_SYMBOL)
			return check_error(ev, e->list.items[i]->loc,
					   "Can't parse symbolic invalid expressions");
		if (known)
			one = type_single(want->fields[i], want->bits[i]);
		err = expr_check_as(ev, &e->list.items[i], known ? &one : NULL, 0);
		if (err)
			return err;
		struct expr *item = e->list.items[i];

		if (item->kind == EX_SET || item->kind == EX_SETREF || item->kind == EX_CONCAT ||
		    item->kind == EX_VERDICT)
			return check_error(ev, item->loc, "cannot use %s in concatenation",
					   expr_kind_name(item));
		if (item->kind == EX_LIST) {
			err = list_fold(ev, &e->list.items[i]);
			if (err)
				return err;
			item = e->list.items[i];
		}
		if (known && item->type && !expr_is_constant(item) &&
		    type_root(item->type) != type_root(want->fields[i]) &&
		    !type_integer_like(item->type, want->fields[i]))
			return check_error(ev, item->loc,
					   "datatype mismatch, expected %s, expression has type %s",
					   want->fields[i]->desc, item->type->desc);
		if (!item->bits)
			return check_error(ev, item->loc,
					   "cannot use variable size data types (%s) in concat "
					   "expressions",
					   item->type ? item->type->name : "integer");
		bits += bits_to_bytes(item->kind == EX_VALUE && (item->flags & EXF_WILDCARD)
					      ? IFNAME_MAX * 8
					      : item->bits) *
			8;
	}
	if (bits > VALUE_MAX * 8)
		return check_error(ev, e->loc,
				   "Concatenation of size %u exceeds maximum size of %u", bits,
				   VALUE_MAX * 8);
	e->bits = bits;
	e->type = e->list.n ? e->list.items[0]->type : NULL;
	return 0;
}

int list_fold(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep, *first = e->list.items[0];

	for (uint32_t i = 1; i < e->list.n; i++)
		value_fold(ev, OP_OR, first, e->list.items[i]);
	first->loc = e->loc;
	*ep = first;
	return 0;
}

bool type_integer_like(const struct datatype *a, const struct datatype *b)
{
	return type_root(a) == &type_integer && type_basis(b) != TBASE_STRING &&
	       type_basis(b) != TBASE_VERDICT;
}

/* Numbers that are combined with a dscp field for something else, a mark. */
static const struct datatype type_number_hex = {
	.name = "integer", .desc = "integer", .radix = 16, .digits = 2, .parent = &type_integer};

static const char *const op_names[] = {
	[OP_AND] = "&", [OP_OR] = "|", [OP_XOR] = "^", [OP_LSHIFT] = "<<", [OP_RSHIFT] = ">>",
};

static int shift_check(struct eval *ev, struct expr *e)
{
	struct set_type one = type_single(&type_integer, 32);
	int err = expr_check_as(ev, &e->pair.right, &one, 0);

	if (err)
		return err;
	if (e->pair.right->kind != EX_VALUE)
		return check_error2(ev, e->pair.right->loc, e->pair.left->loc,
				    "Right hand side of binary operation (%s) must be constant",
				    op_names[e->op]);
	unsigned n = (unsigned)MIN(expr_u64(e->pair.right), (uint64_t)UINT32_MAX);
	unsigned width = e->pair.left->bits;

	if (!expr_is_constant(e->pair.left) && ev->want && ev->want->n == 1 && ev->assigning)
		width = MAX(width, ev->want->bits[0]);
	if (n >= width)
		return check_error2(ev, e->pair.right->loc, e->pair.left->loc,
				    "%s shift of %u bits is undefined for type of %u bits width",
				    e->op == OP_LSHIFT ? "Left" : "Right", n, width);
	return 0;
}

static bool is_bitwise(const struct expr *e)
{
	return e->kind == EX_BINOP && e->op != OP_LSHIFT && e->op != OP_RSHIFT &&
	       e->pair.right->kind == EX_VALUE;
}

/* One step of x -> (x & mask) ^ flip, on top of what is there. */
static void bits_step(struct eval *ev, enum expr_op op, const struct expr *v, struct expr *mask,
		      struct expr *flip)
{
	struct expr *not = value_mask(ev, v->loc, v->type, v->bits, v->bits);

	value_fold(ev, OP_XOR, not, v);
	if (op == OP_OR) {
		value_fold(ev, OP_AND, mask, not );
		value_fold(ev, OP_AND, flip, not );
		value_fold(ev, OP_XOR, flip, v);
	} else if (op == OP_AND) {
		value_fold(ev, OP_AND, mask, v);
		value_fold(ev, OP_AND, flip, v);
	} else {
		value_fold(ev, OP_XOR, flip, v);
	}
}

static struct expr *bits_node(struct eval *ev, enum expr_op op, struct expr *left,
			      struct expr *right)
{
	struct expr *e = expr_new(ev->a, EX_BINOP, loc_join(left->loc, right->loc));

	e->op = (uint8_t)op;
	e->type = left->type;
	e->bits = left->bits;
	e->pair.left = left;
	e->pair.right = right;
	return e;
}

/*
 * Two bit operations by constants, one on the other, as the kernel keeps them, (x & mask) ^ flip,
 * and as nft writes that again: at most one `&`, one `^` and one `|`, in this order.
 */
static void bits_merge(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep, *inner = e->pair.left, *chain[CHECK_DEPTH_MAX], *x = e;
	unsigned n = 0, bits;

	if (!is_bitwise(e) || !is_bitwise(inner))
		return;
	for (; is_bitwise(x) && n < CHECK_DEPTH_MAX; x = x->pair.left)
		chain[n++] = x;
	bits = e->pair.right->bits;
	for (unsigned i = 0; i < n; i++)
		if (chain[i]->pair.right->bits != bits)
			return;

	const struct datatype *t = e->pair.right->type;
	struct expr *mask = value_mask(ev, e->loc, t, bits, bits);
	struct expr *flip = value_mask(ev, e->loc, t, bits, 0), *set, *out = x;

	while (n-- > 0)
		bits_step(ev, chain[n]->op, chain[n]->pair.right, mask, flip);
	set = expr_clone(ev->a, mask);
	value_fold(ev, OP_AND, set, flip);
	value_fold(ev, OP_XOR, set, flip);
	value_fold(ev, OP_AND, flip, mask);
	value_fold(ev, OP_OR, mask, set);
	if (value_mask_prefix(mask) != (int)bits)
		out = bits_node(ev, OP_AND, out, mask);
	if (!value_is_zero(flip))
		out = bits_node(ev, OP_XOR, out, flip);
	if (!value_is_zero(set))
		out = bits_node(ev, OP_OR, out, set);
	if (out == x)
		return;
	*ep = out;
}

static int binop_check(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep;
	struct set_type want = {0};
	int err = expr_check(ev, &e->pair.left);

	if (err)
		return err;
	struct expr *l = e->pair.left;

	if (l->kind == EX_LIST) {
		list_fold(ev, &e->pair.left);
		l = e->pair.left;
	}
	if (l->kind == EX_SET || l->kind == EX_SETREF || l->kind == EX_CONCAT ||
	    l->kind == EX_RANGE || l->kind == EX_VERDICT || l->kind == EX_PREFIX)
		return check_error2(ev, l->loc, e->loc,
				    "Binary operation (%s) is undefined for %s expressions",
				    op_names[e->op], expr_kind_name(l));
	if (!l->type || type_basis(l->type) == TBASE_STRING)
		return check_error2(ev, l->loc, e->loc,
				    "Binary operation (%s) is undefined for %s types",
				    op_names[e->op], l->type ? l->type->desc : "invalid");
	if (e->op == OP_LSHIFT || e->op == OP_RSHIFT) {
		err = shift_check(ev, e);
		if (err)
			return err;
	} else {
		bool assigned = ev->assigning && ev->want && ev->want->n == 1 &&
				!expr_is_constant(l) && type_basis(l->type) == TBASE_INTEGER &&
				l->type != ev->want->fields[0];

		if (assigned)
			want = type_single(l->type == &type_dscp ? &type_number_hex : &type_integer,
					   MAX(ev->want->bits[0], l->bits));
		else
			want = type_single(l->type, l->bits);
		err = expr_check_as(ev, &e->pair.right, &want, 0);
		if (err)
			return err;
		if (e->pair.right->kind == EX_LIST)
			list_fold(ev, &e->pair.right);
		struct expr *r = e->pair.right;

		if (r->kind == EX_SET || r->kind == EX_SETREF || r->kind == EX_CONCAT ||
		    r->kind == EX_RANGE || r->kind == EX_VERDICT || r->kind == EX_PREFIX ||
		    !r->type || type_basis(r->type) == TBASE_STRING)
			return check_error2(ev, r->loc, l->loc,
					    "Binary operation (%s) is undefined for %s expressions",
					    op_names[e->op], expr_kind_name(r));
	}
	if (l->kind == EX_VALUE && e->pair.right->kind == EX_VALUE) {
		value_fold(ev, e->op, l, e->pair.right);
		l->loc = e->loc;
		*ep = l;
		return 0;
	}
	bits_merge(ev, ep);
	e = *ep;
	l = e->pair.left;
	e->type = l->type;
	e->bits = MAX(l->bits, e->op == OP_LSHIFT || e->op == OP_RSHIFT ? 0 : e->pair.right->bits);
	if (ev->assigning && ev->want && ev->want->n == 1 && ev->want->bits[0] > e->bits)
		e->bits = ev->want->bits[0];
	return 0;
}

static int setref_check(struct eval *ev, struct expr *e)
{
	struct model_set *set = set_lookup_name(ev, e);

	if (!set)
		return -EINVAL;
	e->type = set->decl.key.fields[0];
	e->bits = type_bits(&set->decl.key);
	return 0;
}

int verdict_check(struct eval *ev, struct expr *e)
{
	return verdict_check_at(ev, e, NULL);
}

int verdict_check_at(struct eval *ev, struct expr *e, const struct loc *at)
{
	e->type = &type_verdict;
	e->bits = 0;
	if (e->verdict.code != VERDICT_JUMP && e->verdict.code != VERDICT_GOTO)
		return 0;
	if (e->verdict.body) {
		struct check c = *ev->c;

		if (ev->depth >= CHECK_DEPTH_MAX)
			return check_error(ev, e->loc, "chains are nested too deeply");
		for (uint32_t i = 0; i < e->verdict.body->n; i++) {
			int err = rule_check(&c, &e->verdict.body->items[i], ev->depth + 1);

			if (err)
				return err;
		}
		return 0;
	}
	const struct expr *name = e->verdict.name;
	size_t len;
	const char *text;
	struct model_chain *chain;

	if (!name)
		return e->verdict.chain ? 0 : check_error(ev, e->loc, "no chain given");
	if (name->kind != EX_SYMBOL && name->kind != EX_VALUE)
		return check_error(ev, name->loc, "invalid verdict chain expression %s",
				   expr_kind_name(name));
	text = value_text(ev, name, &len);
	e->verdict.chain_name = arena_strndup(ev->a, text, len);
	if (!ev->c->table)
		return 0;
	chain = model_chain_find(ev->c->table, e->verdict.chain_name);
	if (!chain) {
		const char *near =
			suggest_name(&ev->c->table->chains, NOUN_CHAIN, e->verdict.chain_name);

		if (near)
			return check_error(
				ev, name->loc,
				"Could not process rule: No such file or directory; did you "
				"mean chain `%s'?",
				near);
		return kernel_error(ev, at ? *at : name->loc, "No such file or directory");
	}
	if (chain->decl.base)
		return kernel_error(ev, at ? *at : name->loc, "Operation not supported");
	e->verdict.chain = chain;
	return 0;
}

static int map_check(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep;
	struct set_want w = {
		.map = true, .verdicts = e->map.vmap, .objects = ev->objects, .obj = ev->obj};
	struct eval_want old = {ev->want, ev->max};
	struct set_type key;
	int err;

	if (!e->map.vmap && ev->want)
		w.data = *ev->want;
	w.data_max = ev->max;
	w.data_ranges = ev->nat_data;
	bool objects = ev->objects, assigning = ev->assigning;

	ev->objects = ev->assigning = false;
	err = expr_check_as(ev, &e->map.key, NULL, 0);
	ev->objects = objects;
	ev->assigning = assigning;
	want_pop(ev, old);
	if (err)
		return err;
	expr_type(e->map.key, &key);
	if (expr_is_constant(e->map.key) && e->map.key->kind != EX_CONCAT)
		return check_error(ev, e->map.key->loc, "Map expression can not be constant");
	w.key = key;
	e->type = w.verdicts ? &type_verdict : w.data.n ? w.data.fields[0] : &type_string;
	e->bits = w.verdicts ? 0 : type_bits(&w.data);

	if (e->map.to->kind == EX_SET) {
		if (!w.verdicts && !w.objects && !w.data.n)
			return check_error(ev, e->loc, "map has no type for its data");
		err = set_items_check(ev, e->map.to, &w);
		if (!err)
			err = set_normalise(ev, e->map.to, &w);
		if (!err) {
			struct set_type t;

			expr_type(e, &t);
			if (!w.verdicts && !w.objects && t.n) {
				e->type = t.fields[0];
				e->bits = type_bits(&t);
			}
		}
		return err;
	}
	if (e->map.to->kind != EX_SETREF)
		return check_error(ev, e->map.to->loc, "Expression is not a map");

	struct model_set *set = set_lookup_name(ev, e->map.to);

	if (!set)
		return -EINVAL;
	if (!(set->decl.flags & (SETF_MAP | SETF_OBJECT)))
		return check_error(ev, e->map.to->loc, "Expression is not a map");
	if (!type_compatible(&key, &set->decl.key))
		return check_error2(
			ev, e->map.to->loc, e->map.key->loc,
			"datatype mismatch, map expects %s, mapping expression has type "
			"%s",
			type_desc(ev, &set->decl.key), type_desc(ev, &key));
	if (w.verdicts != (set->decl.data.n == 1 && set->decl.data.fields[0] == &type_verdict))
		return check_error(ev, e->loc,
				   "datatype mismatch: expected %s, expression has type %s",
				   w.verdicts ? type_verdict.desc
				   : ev->want ? type_desc(ev, ev->want)
					      : type_string.desc,
				   type_desc(ev, &set->decl.data));
	if (w.objects) {
		if (!(set->decl.flags & SETF_OBJECT) || set->decl.obj != w.obj)
			return check_error(ev, e->map.to->loc,
					   "Expression is not a map with objects");
	} else if (set->decl.flags & SETF_OBJECT) {
		return check_error(ev, e->map.to->loc, "Expression is a map with objects");
	}
	if (!w.verdicts && !w.objects) {
		e->type = set->decl.data.fields[0];
		e->bits = type_bits(&set->decl.data);
	}
	return 0;
}

bool type_compatible(const struct set_type *expr, const struct set_type *want)
{
	if (type_equal(expr, want))
		return true;
	if (expr->n != want->n)
		return false;
	for (unsigned i = 0; i < expr->n; i++) {
		const struct datatype *a = expr->fields[i], *b = want->fields[i];

		if (!a || !b)
			return false;
		if (type_root(a) == type_root(b) &&
		    bits_to_bytes(expr->bits[i]) == bits_to_bytes(want->bits[i]))
			continue;
		if ((type_integer_like(a, b) || type_integer_like(b, a)) &&
		    bits_to_bytes(expr->bits[i]) == bits_to_bytes(want->bits[i]))
			continue;
		return false;
	}
	return true;
}

const char *expr_kind_name(const struct expr *e)
{
	static const char *const names[EX_KINDS] = {
		[EX_SYMBOL] = "symbol",
		[EX_VALUE] = "value",
		[EX_PREFIX] = "prefix",
		[EX_RANGE] = "range",
		[EX_SET] = "set",
		[EX_LIST] = "list",
		[EX_CONCAT] = "concat",
		[EX_ELEM] = "set element",
		[EX_CATCHALL] = "catch-all set element",
		[EX_SETREF] = "set reference",
		[EX_MAP] = "map",
		[EX_VERDICT] = "verdict",
		[EX_PAYLOAD] = "payload",
		[EX_RAW] = "payload",
		[EX_OPTION] = "exthdr",
		[EX_META] = "meta",
		[EX_CT] = "ct",
		[EX_RT] = "rt",
		[EX_SOCKET] = "socket",
		[EX_FIB] = "fib",
		[EX_OSF] = "osf",
		[EX_NUMGEN] = "numgen",
		[EX_HASH] = "hash",
		[EX_XFRM] = "xfrm",
		[EX_TUNNEL] = "tunnel",
		[EX_BINOP] = "binop",
		[EX_COMPARE] = "relational",
	};

	return names[e->kind];
}

static int check_one(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep;
	struct set_want w = {0};
	int err;

	switch (e->kind) {
	case EX_SYMBOL:
	case EX_VALUE:
		return value_resolve(ev, e);
	case EX_PREFIX:
		return prefix_check(ev, e);
	case EX_RANGE:
		return range_check(ev, e);
	case EX_LIST:
		return list_check(ev, e);
	case EX_CONCAT:
		return concat_check(ev, e);
	case EX_SETREF:
		return setref_check(ev, e);
	case EX_SET:
		if (ev->want)
			w.key = *ev->want;
		err = set_items_check(ev, e, &w);
		return err ? err : set_normalise(ev, e, &w);
	case EX_MAP:
		return map_check(ev, ep);
	case EX_VERDICT:
		return verdict_check(ev, e);
	case EX_BINOP:
		return binop_check(ev, ep);
	case EX_CATCHALL:
	case EX_ELEM:
	case EX_COMPARE:
		return check_error(ev, e->loc, "unexpected %s", expr_kind_name(e));
	default:
		return field_check(ev, ep);
	}
}

int expr_check(struct eval *ev, struct expr **ep)
{
	int err;

	if (ev->depth >= CHECK_DEPTH_MAX)
		return check_error(ev, (*ep)->loc, "expression is nested too deeply");
	ev->depth++;
	err = check_one(ev, ep);
	ev->depth--;
	return err;
}
