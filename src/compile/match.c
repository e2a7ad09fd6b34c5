/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match: comparisons become ops.
 *
 * Against constants everything is one of two ops: a number in a range under a mask, or bytes
 * between two bounds under a mask. `x & m == c` and prefixes fold their mask into it.
 */
#include "compile/build.h"

static uint64_t width_mask(unsigned bits)
{
	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static void never(struct build *b)
{
	build_op(b, &(struct prog_op){.kind = PO_NEVER});
}

/* A number against lo..hi; or if lo is above hi, against all but hi..lo. */
static void range_op(struct build *b, const struct prog_expr *v, uint64_t mask, uint64_t lo,
		     uint64_t hi, bool neg)
{
	struct prog_op op = {.kind = PO_RANGE};
	uint64_t max = width_mask(v->bits);

	if (lo > hi) { /* hours over midnight, not the two ends: so does nft say it to the kernel */
		uint64_t first = hi;

		hi = lo;
		lo = first;
		neg = !neg;
	}
	if (lo > max) {
		lo = 0;
		hi = max;
		neg = !neg;
	}
	hi = MIN(hi, max);
	op.range.value = v;
	op.range.mask = mask & max;
	op.range.lo = lo;
	op.range.span = hi - lo;
	op.range.neg = neg;
	build_op(b, &op);
}

static void bits_op(struct build *b, const struct prog_expr *v, uint64_t mask)
{
	struct prog_op op = {.kind = PO_BITS};

	op.range.value = v;
	op.range.mask = mask & width_mask(v->bits);
	build_op(b, &op);
}

static void bytes_op(struct build *b, const struct prog_expr *v, const uint8_t *mask,
		     const uint8_t *lo, const uint8_t *hi, unsigned n, bool neg)
{
	struct prog_op op = {.kind = PO_BYTES};

	op.bytes.value = v;
	op.bytes.mask = mask;
	op.bytes.lo = lo;
	op.bytes.hi = hi;
	op.bytes.n = (uint8_t)n;
	op.bytes.neg = neg;
	build_op(b, &op);
}

static void compare_op(struct build *b, const struct prog_expr *l, enum expr_op op,
		       const struct prog_expr *r)
{
	static const uint8_t relations[] = {
		[OP_IMPLICIT] = PR_EQ, [OP_EQ] = PR_EQ, [OP_NEQ] = PR_NEQ, [OP_LT] = PR_LT,
		[OP_GT] = PR_GT,       [OP_LE] = PR_LE, [OP_GE] = PR_GE,
	};
	struct prog_op o = {.kind = PO_COMPARE};

	if (op >= ARRAY_SIZE(relations) || (l->len > 8) != (r->len > 8) ||
	    (l->len > 8 && l->len != r->len))
		build_fail(b, -EINVAL);
	expr_check_depth(b, r);
	o.compare.left = l;
	o.compare.right = r;
	o.compare.relation = relations[op];
	build_op(b, &o);
}

/* What is compared: the value under a mask that `& constant` and a prefix put on it. */
struct operand {
	const struct prog_expr *value;
	const uint8_t *mask; /* value->len bytes; NULL: all ones */
};

static struct operand operand_build(struct build *b, const struct expr *e)
{
	struct operand o = {0};
	bool masked = e->kind == EX_BINOP && e->op == OP_AND && e->pair.right->kind == EX_VALUE &&
		      e->pair.left->bits == e->bits;

	o.value = expr_build(b, masked ? e->pair.left : e);
	if (masked)
		o.mask = expr_constant(b, e->pair.right, o.value->len);
	expr_check_depth(b, o.value);
	return o;
}

static uint64_t operand_mask(const struct operand *o)
{
	return o->mask ? be_load(o->mask, o->value->len) : UINT64_MAX;
}

static void against_number(struct build *b, const struct operand *o, enum expr_op op, uint64_t c)
{
	uint64_t mask = operand_mask(o);

	switch (op) {
	case OP_EQ:
	case OP_NEQ:
		range_op(b, o->value, mask, c, c, op == OP_NEQ);
		break;
	case OP_LT:
		if (c)
			range_op(b, o->value, mask, 0, c - 1, false);
		else
			never(b);
		break;
	case OP_LE:
		range_op(b, o->value, mask, 0, c, false);
		break;
	case OP_GT:
		range_op(b, o->value, mask, 0, c, true);
		break;
	case OP_GE:
		if (c)
			range_op(b, o->value, mask, 0, c - 1, true);
		else
			range_op(b, o->value, mask, 0, UINT64_MAX, false);
		break;
	case OP_IMPLICIT:
		bits_op(b, o->value, mask & c);
		break;
	case OP_NOT:
		range_op(b, o->value, mask & c, 0, 0, false);
		break;
	default:
		build_fail(b, -EINVAL);
	}
}

static const uint8_t *bytes_and(struct build *b, const uint8_t *x, const uint8_t *y, unsigned n)
{
	uint8_t *out = arena_alloc(b->arena, n);

	for (unsigned k = 0; k < n; k++)
		out[k] = x[k] & (y ? y[k] : 0xff);
	return out;
}

static void against_bytes(struct build *b, const struct operand *o, enum expr_op op,
			  const uint8_t *c)
{
	unsigned n = o->value->len;
	const uint8_t *zero = arena_alloc(b->arena, n), *ones;

	switch (op) {
	case OP_EQ:
	case OP_NEQ:
		bytes_op(b, o->value, o->mask, c, c, n, op == OP_NEQ);
		break;
	case OP_IMPLICIT:
	case OP_NOT:
		bytes_op(b, o->value, bytes_and(b, c, o->mask, n), zero, zero, n,
			 op == OP_IMPLICIT);
		break;
	case OP_LE:
	case OP_GT:
		bytes_op(b, o->value, o->mask, zero, c, n, op == OP_GT);
		break;
	case OP_LT:
	case OP_GE:
		ones = memset(arena_alloc(b->arena, n), 0xff, n);
		bytes_op(b, o->value, o->mask, c, ones, n, op == OP_LT);
		break;
	default:
		build_fail(b, -EINVAL);
	}
}

static void against_value(struct build *b, const struct operand *o, enum expr_op op,
			  const struct expr *c)
{
	unsigned n = bits_to_bytes(c->bits);
	const uint8_t *name;

	if (c->flags & EXF_WILDCARD) { /* the first bytes of a name */
		if (n > o->value->len)
			build_fail(b, -EINVAL);
		name = expr_constant(b, c, n);
		bytes_op(b, o->value, NULL, name, name, n, op == OP_NEQ);
		return;
	}
	if (o->value->len > 8)
		against_bytes(b, o, op, expr_constant(b, c, o->value->len));
	else
		against_number(b, o, op, expr_u64(c));
}

static void against_prefix(struct build *b, struct operand *o, enum expr_op op,
			   const struct expr *p)
{
	unsigned len = o->value->len, bits = p->prefix.base->bits, pad = len * 8 - bits;
	uint8_t *mask = arena_alloc(b->arena, len);
	const uint8_t *base = expr_constant(b, p->prefix.base, len);

	for (unsigned k = 0; k < p->prefix.len; k++)
		mask[(pad + k) / 8] |= (uint8_t)(0x80 >> (pad + k) % 8);
	base = bytes_and(b, base, mask, len);
	o->mask = bytes_and(b, mask, o->mask, len);
	if (len > 8)
		against_bytes(b, o, op == OP_NEQ ? OP_NEQ : OP_EQ, base);
	else
		against_number(b, o, op == OP_NEQ ? OP_NEQ : OP_EQ, be_load(base, len));
}

static void against_range(struct build *b, const struct operand *o, enum expr_op op,
			  const struct expr *r)
{
	const struct expr *lo = r->pair.left, *hi = r->pair.right;
	unsigned len = o->value->len;

	if (len > 8)
		bytes_op(b, o->value, o->mask, expr_constant(b, lo, len), expr_constant(b, hi, len),
			 len, op == OP_NEQ);
	else
		range_op(b, o->value, operand_mask(o), expr_u64(lo), expr_u64(hi), op == OP_NEQ);
}

static void against_list(struct build *b, const struct operand *o, enum expr_op op,
			 const struct expr *list)
{
	unsigned len = o->value->len;
	uint8_t *sum = arena_alloc(b->arena, len);

	for (uint32_t i = 0; i < list->list.n; i++) {
		const uint8_t *one = expr_constant(b, list->list.items[i], len);

		for (unsigned k = 0; k < len; k++)
			sum[k] |= one[k];
	}
	if (len > 8)
		against_bytes(b, o, op, sum);
	else
		against_number(b, o, op, be_load(sum, len));
}

static void against_set(struct build *b, const struct expr *left, enum expr_op op,
			const struct expr *set)
{
	struct prog_op o = {.kind = PO_LOOKUP};

	o.lookup.key = expr_build(b, left);
	expr_check_depth(b, o.lookup.key);
	o.lookup.set = set_build(b, set, o.lookup.key, DATA_NONE, 0, OBJ_KINDS);
	o.lookup.neg = op == OP_NEQ;
	build_op(b, &o);
}

/* A range or prefix inside a concatenation makes a set of one element of it. */
static bool concat_is_ranged(const struct expr *e)
{
	if (e->kind != EX_CONCAT)
		return false;
	for (uint32_t i = 0; i < e->list.n; i++)
		if (e->list.items[i]->kind != EX_VALUE || e->list.items[i]->flags & EXF_WILDCARD)
			return true;
	return false;
}

static void against_concat(struct build *b, const struct expr *left, enum expr_op op,
			   const struct expr *right)
{
	struct expr *items[] = {(struct expr *)right};
	struct expr set = {.kind = EX_SET, .list = {.items = items, .n = 1}};

	if (concat_is_ranged(right) || left->kind == EX_CONCAT) {
		against_set(b, left, op, &set);
		return;
	}
	build_fail(b, -EINVAL);
}

/* `vlan type 8021q` says that another tag follows. */
static void learn_vlan(struct build *b, const struct expr *e)
{
	enum { VLAN = 0x8100, QINQ = 0x88a8 };
	const struct expr *l = e->pair.left, *r = e->pair.right;

	if (l->kind == EX_PAYLOAD && l->payload.header == &proto_vlan && e->op == OP_EQ &&
	    r->kind == EX_VALUE && !strcmp(l->payload.field->name, "type") &&
	    (expr_u64(r) == VLAN || expr_u64(r) == QINQ))
		b->vlan_tag = 1;
}

void match_build(struct build *b, const struct expr *e)
{
	const struct expr *l, *r;
	struct operand o;

	if (e->kind != EX_COMPARE) { /* by itself: there, or true */
		o = operand_build(b, e);
		against_number(b, &o, OP_NEQ, 0);
		return;
	}
	l = e->pair.left;
	r = e->pair.right;
	if (r->kind == EX_SET || r->kind == EX_SETREF) {
		against_set(b, l, e->op, r);
		return;
	}
	if (r->kind == EX_CONCAT) {
		against_concat(b, l, e->op, r);
		return;
	}
	o = operand_build(b, l);
	switch ((enum expr_kind)r->kind) {
	case EX_VALUE:
		against_value(b, &o, e->op, r);
		learn_vlan(b, e);
		break;
	case EX_PREFIX:
		against_prefix(b, &o, e->op, r);
		break;
	case EX_RANGE:
		against_range(b, &o, e->op, r);
		break;
	case EX_LIST:
		against_list(b, &o, e->op, r);
		break;
	default: /* both sides are read from the packet; the mask is read with the left one */
		o.value = expr_build(b, l);
		expr_check_depth(b, o.value);
		compare_op(b, o.value, e->op, expr_build(b, r));
		break;
	}
}
