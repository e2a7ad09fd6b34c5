/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition: which of a rule's matches the classifier can do; see classify.h.
 *
 * A condition says of a packet exactly what its op says: it holds for packets that have the value
 * and pass, and for no others. What cannot be said so is left where it is. Cost: the ops at the
 * rule's beginning, and the elements of small anonymous sets.
 */
#include <stdlib.h>

#include "acl/rule.h"
#include "compile/classify.h"
#include "eval/key.h"
#include "packet/numbers.h"

enum { MATCHES_MAX = 32, LOOKUPS_MAX = 4, ELEMENT_FIELDS = 4 };
enum { NFPROTO_V4 = 2, NFPROTO_V6 = 10 };

/* Fields that a search begins with; a rule that compares others alone is walked. */
static const uint32_t leading_fields = 1u << CLS_SADDR | 1u << CLS_DADDR | 1u << CLS_SPORT |
				       1u << CLS_DPORT | 1u << CLS_L4PROTO | 1u << CLS_ICMP_TYPE |
				       1u << CLS_TCP_FLAGS | 1u << CLS_IIF | 1u << CLS_OIF |
				       1u << CLS_MARK | 1u << CLS_CT_MARK | 1u << CLS_ETHERTYPE;

/* A small anonymous set whose elements become entries: each has the same fields. */
struct lookup {
	uint32_t n;
	unsigned n_fields;
	struct cls_cond (*elements)[ELEMENT_FIELDS];
};

struct gather {
	const struct compiled_rule *rule;
	enum family table;
	uint8_t family; /* enum cls_family */
	uint8_t l4proto;
	bool has_l4proto, leads, never;
	struct cls_cond conds[CLS_CONDS_MAX];
	unsigned n;
	struct lookup lookups[LOOKUPS_MAX];
	unsigned n_lookups;
	uint32_t product; /* entries so far */
	uint64_t taken;	  /* ops that conditions stand for, by number */
};

/* --- what reads the packet alone ------------------------------------------------------------ */

static bool expr_is_pure(const struct prog_expr *e)
{
	switch ((enum prog_expr_kind)e->kind) {
	case PX_MAP: /* counts its hits */
	case PX_NUMGEN:
		return false;
	case PX_META:
		return e->meta != PM_RANDOM;
	case PX_BINOP:
		return expr_is_pure(e->binop.left) && expr_is_pure(e->binop.right);
	case PX_CONCAT:
		for (unsigned k = 0; k < e->concat.n; k++)
			if (!expr_is_pure(e->concat.fields[k]))
				return false;
		return true;
	case PX_HASH:
		return !e->hash.key || expr_is_pure(e->hash.key);
	default:
		return true;
	}
}

/* Named sets count their hits, elements of either may have states. */
static bool set_is_pure(const struct compiled_rule *r, const struct set *s)
{
	if (r->element_states)
		return false;
	for (size_t k = 0; k < r->sets.n; k++)
		if (r->sets.items[k] == s)
			return true;
	return false;
}

static bool op_is_pure(const struct compiled_rule *r, const struct prog_op *op)
{
	switch ((enum prog_op_kind)op->kind) {
	case PO_RANGE:
	case PO_BITS:
		return expr_is_pure(op->range.value);
	case PO_BYTES:
		return expr_is_pure(op->bytes.value);
	case PO_COMPARE:
		return expr_is_pure(op->compare.left) && expr_is_pure(op->compare.right);
	case PO_LOOKUP:
		return expr_is_pure(op->lookup.key) && set_is_pure(r, op->lookup.set);
	case PO_NEVER:
		return true;
	default:
		return false;
	}
}

static uint32_t field_max(enum cls_field f)
{
	return UINT32_MAX >> (32 - MIN(cls_places[f].bits, 32));
}

/* --- one condition -------------------------------------------------------------------------- */

/* The field of an expression in this rule; false: none, or it is not known which is meant. */
static bool field_of(const struct gather *g, const struct prog_expr *e, enum cls_field *out)
{
	const struct key_source *s;
	struct prog_expr plain;

	/* Whoever has an IP header has its protocol: in these tables all packets have one. */
	if (e->kind == PX_COLUMN && e->column.column == COL_L4PROTO &&
	    (g->table == FAMILY_IP || g->table == FAMILY_IP6 || g->table == FAMILY_INET)) {
		plain = *e;
		plain.column.in_packet = false;
		e = &plain;
	}
	s = key_source_find(e);
	if (!s)
		return false;
	*out = s->field;
	switch ((enum key_home)s->home) {
	case KEY_ANYWHERE:
		return true;
	case KEY_IN_IPV4:
		return g->family == CLS_IPV4;
	case KEY_IN_IPV6:
		return g->family == CLS_IPV6;
	case KEY_IN_ICMP:
		return g->has_l4proto && g->l4proto == PROTO_ICMP;
	case KEY_IN_ICMPV6:
		return g->has_l4proto && g->l4proto == PROTO_ICMPV6;
	}
	return false;
}

static bool number_range(enum cls_field f, uint64_t lo, uint64_t hi, bool neg, struct cls_cond *out)
{
	uint32_t max = field_max(f);

	if (lo > max || lo > hi)
		return false;
	*out = (struct cls_cond){.field = f, .neg = neg};
	out->a[0] = (uint32_t)lo;
	out->b[0] = (uint32_t)MIN(hi, max);
	return true;
}

/* (field & mask) == value; prefixes are ranges. */
static bool number_masked(enum cls_field f, uint64_t value, uint64_t mask, bool neg,
			  struct cls_cond *out)
{
	uint32_t max = field_max(f), m = (uint32_t)mask & max, wild = max & ~m;

	if (value & ~(uint64_t)m)
		return false;
	if (!(wild & (wild + 1)))
		return number_range(f, value, value | wild, neg, out);
	*out = (struct cls_cond){.field = f, .masked = true, .neg = neg};
	out->a[0] = (uint32_t)value;
	out->b[0] = m;
	return true;
}

static bool range_condition(const struct gather *g, const struct prog_op *op, struct cls_cond *out)
{
	uint64_t mask = op->range.mask, lo = op->range.lo, bits;
	enum cls_field f;

	if (!field_of(g, op->range.value, &f))
		return false;
	bits = op->range.value->bits;
	if (op->kind == PO_BITS) {
		mask &= field_max(f);
		if (!mask)
			return false;
		return mask & (mask - 1) ? number_masked(f, 0, mask, true, out)
					 : number_masked(f, mask, mask, false, out);
	}
	if (mask == (bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX))
		return number_range(f, lo, lo + op->range.span, op->range.neg, out);
	return !op->range.span && number_masked(f, lo, mask, op->range.neg, out);
}

static void words(uint32_t out[4], const uint8_t *p)
{
	for (unsigned k = 0; k < 4; k++)
		out[k] = be32_load(p + 4 * k);
}

/* Ones, then zeros. */
static bool is_prefix(const uint32_t mask[4])
{
	bool ended = false;

	for (unsigned k = 0; k < 4; k++) {
		uint32_t wild = ~mask[k];

		if (ended ? mask[k] != 0 : (wild & (wild + 1)) != 0)
			return false;
		ended |= wild != 0;
	}
	return true;
}

static bool bytes_condition(const struct gather *g, const struct prog_op *op, struct cls_cond *out)
{
	uint32_t mask[4];
	enum cls_field f;

	if (!field_of(g, op->bytes.value, &f) || op->bytes.n != 16)
		return false;
	*out = (struct cls_cond){.field = f, .neg = op->bytes.neg};
	words(out->a, op->bytes.lo);
	words(out->b, op->bytes.hi);
	if (!op->bytes.mask)
		return memcmp(op->bytes.lo, op->bytes.hi, 16) <= 0;
	if (memcmp(op->bytes.lo, op->bytes.hi, 16))
		return false;
	words(mask, op->bytes.mask);
	for (unsigned k = 0; k < 4; k++)
		if (out->a[k] & ~mask[k])
			return false;
	out->masked = !is_prefix(mask);
	for (unsigned k = 0; k < 4; k++)
		out->b[k] = out->masked ? mask[k] : out->a[k] | ~mask[k];
	return true;
}

/* --- sets ----------------------------------------------------------------------------------- */

static bool element_condition(const struct gather *g, const struct prog_expr *e, const uint8_t *lo,
			      const uint8_t *hi, struct cls_cond *out)
{
	enum cls_field f;

	if (!field_of(g, e, &f) || (e->len > 8 && e->len != 16))
		return false;
	if (e->len <= 8)
		return be_load(lo, e->len) <= field_max(f) &&
		       number_range(f, be_load(lo, e->len), be_load(hi, e->len), false, out);
	*out = (struct cls_cond){.field = f};
	words(out->a, lo);
	words(out->b, hi);
	return true;
}

static unsigned key_fields(const struct prog_expr *key, const struct prog_expr **out)
{
	if (key->kind != PX_CONCAT) {
		out[0] = key;
		return 1;
	}
	if (key->concat.n > ELEMENT_FIELDS)
		return 0;
	for (unsigned k = 0; k < key->concat.n; k++)
		out[k] = key->concat.fields[k];
	return key->concat.n;
}

/* 1: its elements are conditions; 0: they are not; -ENOMEM. */
static int lookup_elements(const struct gather *g, const struct prog_op *op, struct lookup *out)
{
	const struct prog_expr *fields[ELEMENT_FIELDS];
	struct set_cursor *c;
	struct set_view v;
	bool all = true;
	int err;

	out->n = 0;
	out->n_fields = key_fields(op->lookup.key, fields);
	if (!out->n_fields || set_count(op->lookup.set, 0) * g->product > CLASSIFY_ENTRIES)
		return 0;
	out->elements = calloc(CLASSIFY_ENTRIES, sizeof(*out->elements));
	err = out->elements ? set_cursor_open(op->lookup.set, SET_CURSOR_MERGED, NULL, 0, &c)
			    : -ENOMEM;
	if (err) {
		free(out->elements);
		return err;
	}
	while (all && set_cursor_next(c, &v)) {
		unsigned at = 0;

		all = !v.catchall;
		for (unsigned k = 0; k < out->n_fields && all; at += fields[k++]->len)
			all = element_condition(g, fields[k], v.lo + at, v.hi + at,
						&out->elements[out->n][k]);
		out->n++;
	}
	set_cursor_close(c);
	if (!all || !out->n)
		free(out->elements);
	return all && out->n;
}

/* --- a rule --------------------------------------------------------------------------------- */

/* Says an op for which packets the rule is? Then the family stands for it. */
static bool family_op(const struct gather *g, const struct prog_op *op, uint8_t *family)
{
	const struct prog_expr *e = op->range.value;
	bool inet = g->table == FAMILY_INET;
	bool frames = g->table == FAMILY_BRIDGE || g->table == FAMILY_NETDEV;

	if (op->kind != PO_RANGE || op->range.neg || op->range.span)
		return false;
	if (op->range.mask != (UINT64_C(1) << e->bits) - 1)
		return false;
	if (inet && e->kind == PX_META && e->meta == PM_NFPROTO) {
		*family = op->range.lo == NFPROTO_V4   ? CLS_IPV4
			  : op->range.lo == NFPROTO_V6 ? CLS_IPV6
						       : CLS_ANY;
		return *family != CLS_ANY;
	}
	if (frames && e->kind == PX_COLUMN && e->column.column == COL_PROTOCOL &&
	    !e->column.in_packet) {
		*family = op->range.lo == ETH_IPV4   ? CLS_IPV4
			  : op->range.lo == ETH_IPV6 ? CLS_IPV6
						     : CLS_ANY;
		return *family != CLS_ANY;
	}
	return false;
}

/* Its value is one that no packet has. */
static bool op_is_never(const struct prog_op *op)
{
	switch ((enum prog_op_kind)op->kind) {
	case PO_RANGE:
	case PO_BITS:
		return op->range.value->kind == PX_NONE;
	case PO_BYTES:
		return op->bytes.value->kind == PX_NONE;
	case PO_LOOKUP:
		return op->lookup.key->kind == PX_NONE;
	default:
		return op->kind == PO_NEVER;
	}
}

/* What other conditions depend on: the family, and the protocol. */
static void gather_context(struct gather *g, unsigned n)
{
	const struct prog_op *ops = g->rule->pub.ops;
	struct cls_cond cond;
	uint8_t family;

	g->family = g->table == FAMILY_IP ? CLS_IPV4 : g->table == FAMILY_IP6 ? CLS_IPV6 : CLS_ANY;
	for (unsigned k = 0; k < n; k++) {
		if (op_is_never(&ops[k]))
			g->never = true;
		if (family_op(g, &ops[k], &family)) {
			/* Two of them stay with the packet's first; the other is checked behind. */
			if (g->family != CLS_ANY && g->family != family)
				continue;
			g->family = family;
			g->taken |= UINT64_C(1) << k;
		} else if (ops[k].kind == PO_RANGE && range_condition(g, &ops[k], &cond) &&
			   cond.field == CLS_L4PROTO && !cond.neg && cond.a[0] == cond.b[0] &&
			   !cond.masked) {
			g->has_l4proto = true;
			g->l4proto = (uint8_t)cond.a[0];
		}
	}
}

static int gather_op(struct gather *g, unsigned k)
{
	const struct prog_op *op = &g->rule->pub.ops[k];
	struct cls_cond cond;
	struct lookup l;
	bool is = false;
	int r;

	if (op->kind == PO_LOOKUP) {
		if (op->lookup.neg || g->n_lookups == LOOKUPS_MAX ||
		    g->n + ELEMENT_FIELDS * (g->n_lookups + 1) > CLS_CONDS_MAX)
			return 0;
		r = lookup_elements(g, op, &l);
		if (r <= 0)
			return r;
		g->lookups[g->n_lookups++] = l;
		g->product *= l.n;
		for (unsigned f = 0; f < l.n_fields; f++)
			g->leads |= leading_fields >> l.elements[0][f].field & 1;
		g->taken |= UINT64_C(1) << k;
		return 0;
	}
	if (op->kind == PO_RANGE || op->kind == PO_BITS)
		is = range_condition(g, op, &cond);
	else if (op->kind == PO_BYTES)
		is = bytes_condition(g, op, &cond);
	if (!is || g->n + 1 + ELEMENT_FIELDS * g->n_lookups > CLS_CONDS_MAX)
		return 0;
	g->conds[g->n++] = cond;
	g->leads |= !cond.neg && leading_fields >> cond.field & 1;
	g->taken |= UINT64_C(1) << k;
	return 0;
}

/* One entry for each choice of an element from each set. */
static int entries_make(const struct gather *g, struct rule_conditions *out)
{
	unsigned each = g->n;
	struct cls_cond *to;

	for (unsigned l = 0; l < g->n_lookups; l++)
		each += g->lookups[l].n_fields;
	out->n = g->product;
	out->n_conds = each;
	out->conds = to = calloc((size_t)out->n * each, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < out->n; i++) {
		uint32_t choice = i;

		memcpy(to, g->conds, g->n * sizeof(*to));
		to += g->n;
		for (unsigned l = 0; l < g->n_lookups; l++) {
			const struct lookup *from = &g->lookups[l];

			memcpy(to, from->elements[choice % from->n], from->n_fields * sizeof(*to));
			to += from->n_fields;
			choice /= from->n;
		}
	}
	for (unsigned k = 0; k < each; k++)
		out->fields |= UINT32_C(1) << out->conds[k].field;
	return 0;
}

static int rest_make(const struct gather *g, struct rule_conditions *out)
{
	const struct prog_rule *r = &g->rule->pub;

	out->rest = malloc(MAX(r->n_ops, 1u) * sizeof(*out->rest));
	if (!out->rest)
		return -ENOMEM;
	for (uint32_t k = 0; k < r->n_ops; k++)
		if (k >= MATCHES_MAX || !(g->taken >> k & 1))
			out->rest[out->n_rest++] = r->ops[k];
	return 0;
}

int rule_conditions(const struct compiled_rule *r, struct rule_conditions *out)
{
	const struct model_chain *chain = r->program->pub.chain;
	struct gather *g = calloc(1, sizeof(*g));
	unsigned n = 0;
	int err = 0;

	if (!g)
		return -ENOMEM;
	*out = (struct rule_conditions){.fate = FATE_WALKED};
	g->rule = r;
	g->table = chain->table->family;
	g->product = 1;
	while (n < r->pub.n_ops && n < MATCHES_MAX && op_is_pure(r, &r->pub.ops[n]))
		n++;
	gather_context(g, n);
	for (unsigned k = 0; k < n && !err; k++)
		if (!(g->taken >> k & 1))
			err = gather_op(g, k);
	out->family = g->family;
	if (!err && g->never) {
		out->fate = FATE_NEVER;
	} else if (!err && g->leads) {
		out->fate = FATE_CLASSIFIED;
		err = entries_make(g, out);
		if (!err)
			err = rest_make(g, out);
	}
	for (unsigned l = 0; l < g->n_lookups; l++)
		free(g->lookups[l].elements);
	free(g);
	if (err)
		rule_conditions_free(out);
	return err;
}

void rule_conditions_free(struct rule_conditions *rc)
{
	free(rc->conds);
	free(rc->rest);
	rc->conds = NULL;
	rc->rest = NULL;
}
