/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition: which of a rule's matches the classifier can do; see classify.h.
 *
 * A condition says of a packet what its op says: it holds for packets that have the value and pass.
 * If it holds for no others the op is done with; where a field has part of a value only, the op is
 * kept as well. What cannot be said so is left where it is. Which expressions fields are is
 * eval/key.c's table. Cost: the ops at the rule's beginning, and the elements of small anonymous
 * sets.
 */
#include <stdlib.h>

#include "acl/rule.h"
#include "compile/classify.h"
#include "eval/key.h"
#include "packet/numbers.h"

enum { MATCHES_MAX = 32, LOOKUPS_MAX = 4, ELEMENT_FIELDS = 4 };
enum { NFPROTO_V4 = 2, NFPROTO_V6 = 10 };

/* Fields of a few values, which many packets share: see rule_conditions.weak. */
static const uint32_t weak_fields = 1u << CLS_CT_STATE | 1u << CLS_CT_DIRECTION |
				    1u << CLS_PKTTYPE | 1u << CLS_VLAN_DEI | 1u << CLS_ETHER_TYPE |
				    1u << CLS_IIFTYPE;

/* A small anonymous set whose elements become entries: each has the same fields. */
struct lookup {
	uint32_t n;
	unsigned n_fields;
	bool kept;
	struct cls_cond (*elements)[ELEMENT_FIELDS];
};

struct gather {
	const struct compiled_rule *rule;
	enum family table;
	uint8_t family; /* enum cls_family */
	uint8_t l4proto;
	bool has_l4proto, has_family, never;
	uint32_t leads; /* fields that something is asked of, not only what is excluded */
	struct cls_cond conds[CLS_CONDS_MAX];
	uint8_t from[CLS_CONDS_MAX]; /* the ops that they are made from */
	unsigned n;
	struct lookup lookups[LOOKUPS_MAX];
	unsigned n_lookups;
	uint32_t product; /* entries so far */
	uint64_t taken;	  /* ops that conditions stand for, by number */
	uint64_t kept;	  /* ops that conditions say a part of */
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

/* What a field has of an expression in this rule; NULL: there is no field, or it is not known which
 * of its expressions is meant. */
static const struct key_source *field_of(const struct gather *g, const struct prog_expr *e,
					 enum cls_field *out)
{
	const struct key_source *s;
	struct prog_expr plain;
	bool here = false;

	/* Whoever has an IP header has its protocol: in these tables all packets have one. */
	if (e->kind == PX_COLUMN && e->column.column == COL_L4PROTO &&
	    (g->table == FAMILY_IP || g->table == FAMILY_IP6 || g->table == FAMILY_INET)) {
		plain = *e;
		plain.column.in_packet = false;
		e = &plain;
	}
	s = key_source_find(e, out);
	if (!s)
		return NULL;
	switch ((enum key_home)s->home) {
	case KEY_ANYWHERE:
		here = true;
		break;
	case KEY_IN_IPV4:
		here = g->family == CLS_IPV4;
		break;
	case KEY_IN_IPV6:
		here = g->family == CLS_IPV6;
		break;
	case KEY_IN_ICMP:
		here = g->has_l4proto && g->l4proto == PROTO_ICMP;
		break;
	case KEY_IN_ICMPV6:
		here = g->has_l4proto && g->l4proto == PROTO_ICMPV6;
		break;
	}
	return here ? s : NULL;
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

static bool range_condition(const struct gather *g, const struct prog_op *op, struct cls_cond *out,
			    bool *kept)
{
	uint64_t mask = op->range.mask, lo = op->range.lo, bits = op->range.value->bits;
	enum cls_field f;
	const struct key_source *s = field_of(g, op->range.value, &f);

	if (!s)
		return false;
	*kept = s->form != KEY_WHOLE;
	if (*kept) /* nothing can be turned round that is a part */
		return op->kind == PO_RANGE && !op->range.neg && !op->range.span &&
		       number_masked(f, (uint32_t)lo, (uint32_t)mask, false, out);
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

static bool bytes_condition(const struct gather *g, const struct prog_op *op, struct cls_cond *out,
			    bool *kept)
{
	uint32_t mask[4];
	enum cls_field f;
	const struct key_source *s = field_of(g, op->bytes.value, &f);

	if (!s || op->bytes.n != 16)
		return false;
	*kept = s->form != KEY_WHOLE;
	if (*kept)
		return !op->bytes.neg && !op->bytes.mask &&
		       !memcmp(op->bytes.lo, op->bytes.hi, 16) &&
		       number_range(f, key_name(op->bytes.lo), key_name(op->bytes.lo), false, out);
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
			      const uint8_t *hi, struct cls_cond *out, bool *kept)
{
	enum cls_field f;
	const struct key_source *s = field_of(g, e, &f);

	if (!s || (e->len > 8 && e->len != 16))
		return false;
	if (s->form != KEY_WHOLE) {
		uint32_t v = s->form == KEY_NAME ? key_name(lo) : (uint32_t)be_load(lo, e->len);

		*kept = true;
		return !memcmp(lo, hi, e->len) && number_range(f, v, v, false, out);
	}
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
	out->kept = false;
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
						&out->elements[out->n][k], &out->kept);
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
	bool kept;

	g->family = g->table == FAMILY_IP ? CLS_IPV4 : g->table == FAMILY_IP6 ? CLS_IPV6 : CLS_ANY;
	for (unsigned k = 0; k < n; k++) {
		if (op_is_never(&ops[k]))
			g->never = true;
		if (family_op(g, &ops[k], &family)) {
			/* Two of them stay with the packet's first; the other is checked behind. */
			if (g->family != CLS_ANY && g->family != family)
				continue;
			g->family = family;
			g->has_family = true;
			g->taken |= UINT64_C(1) << k;
		} else if (ops[k].kind == PO_RANGE && range_condition(g, &ops[k], &cond, &kept) &&
			   cond.field == CLS_L4PROTO && !cond.neg && cond.a[0] == cond.b[0] &&
			   !cond.masked) {
			g->has_l4proto = true;
			g->l4proto = (uint8_t)cond.a[0];
		}
	}
}

static bool lookup_fits(const struct gather *g)
{
	return g->n_lookups < LOOKUPS_MAX &&
	       g->n + ELEMENT_FIELDS * (g->n_lookups + 1) <= CLS_CONDS_MAX;
}

static void lookup_take(struct gather *g, unsigned k, const struct lookup *l)
{
	g->lookups[g->n_lookups++] = *l;
	g->product *= l->n;
	for (unsigned f = 0; f < l->n_fields; f++)
		g->leads |= UINT32_C(1) << l->elements[0][f].field;
	*(l->kept ? &g->kept : &g->taken) |= UINT64_C(1) << k;
}

static int gather_op(struct gather *g, unsigned k)
{
	const struct prog_op *op = &g->rule->pub.ops[k];
	bool is = false, kept = false;
	struct cls_cond cond;
	struct lookup l;
	int r;

	if (op->kind == PO_LOOKUP) {
		if (op->lookup.neg || !lookup_fits(g))
			return 0;
		r = lookup_elements(g, op, &l);
		if (r > 0)
			lookup_take(g, k, &l);
		return MIN(r, 0);
	}
	if (op->kind == PO_RANGE || op->kind == PO_BITS)
		is = range_condition(g, op, &cond, &kept);
	else if (op->kind == PO_BYTES)
		is = bytes_condition(g, op, &cond, &kept);
	if (!is || g->n + 1 + ELEMENT_FIELDS * g->n_lookups > CLS_CONDS_MAX)
		return 0;
	g->from[g->n] = (uint8_t)k;
	g->conds[g->n++] = cond;
	if (!cond.neg)
		g->leads |= UINT32_C(1) << cond.field;
	*(kept ? &g->kept : &g->taken) |= UINT64_C(1) << k;
	return 0;
}

/* One of some bits is set: an entry for each of them, if there is nothing else to look for. */
static int bits_part(struct gather *g)
{
	for (unsigned c = 0; c < g->n; c++) {
		const struct cls_cond *cond = &g->conds[c];
		struct lookup l = {.n_fields = 1};
		unsigned k = g->from[c];

		if (!cond->masked || !cond->neg || cond->a[0] || !lookup_fits(g) ||
		    cls_places[cond->field].bits == 128)
			continue;
		l.elements = calloc(32, sizeof(*l.elements));
		if (!l.elements)
			return -ENOMEM;
		for (uint32_t bits = cond->b[0]; bits; bits &= bits - 1) {
			struct cls_cond *one = l.elements[l.n++];

			*one = (struct cls_cond){.field = cond->field, .masked = true};
			one->a[0] = one->b[0] = bits & -bits;
		}
		memmove(&g->conds[c], &g->conds[c + 1], (g->n - c - 1) * sizeof(*g->conds));
		memmove(&g->from[c], &g->from[c + 1], g->n - c - 1);
		g->n--;
		lookup_take(g, k, &l);
		return 0;
	}
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
	out->conds = to = calloc(MAX((size_t)out->n * each, (size_t)1), sizeof(*to));
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
	out->weak = !(g->leads & ~weak_fields);
	out->said = g->taken | g->kept;
	out->kept = g->kept;
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
	if (!err && !g->leads)
		err = bits_part(g);
	out->family = g->family;
	if (!err && g->never) {
		out->fate = FATE_NEVER;
	} else if (!err && (g->leads || g->has_family)) {
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
