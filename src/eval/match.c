/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match: compares values with constants, sets and each other.
 *
 * A column of the burst is compared in place, in its own width, by loops that compilers turn into
 * vector code: one byte a packet, gathered into a mask at the end. With few packets in the mask
 * they are looked at one by one. No packet's answer depends on another's.
 */
#include "eval/run.h"

/* Bit i is byte i, each 0 or 1: the multiplication lines eight of them up in the highest byte. */
static burst_mask mask_gather(const uint8_t *r)
{
	burst_mask m = 0;

	for (unsigned k = 0; k < BURST_MAX / 8; k++) {
		uint64_t v;

		memcpy(&v, r + 8 * k, 8);
		m |= (v * UINT64_C(0x0102040810204080) >> 56) << (8 * k);
	}
	return m;
}

/* All 64 of an array: in range, or with any of the mask's bits. */
#define DENSE(T)                                                                                   \
	static burst_mask range_##T(const T *v, T mask, T lo, T span)                              \
	{                                                                                          \
		uint8_t r[BURST_MAX];                                                              \
		for (unsigned i = 0; i < BURST_MAX; i++)                                           \
			r[i] = (T)((T)(v[i] & mask) - lo) <= span;                                 \
		return mask_gather(r);                                                             \
	}                                                                                          \
	static burst_mask bits_##T(const T *v, T mask)                                             \
	{                                                                                          \
		uint8_t r[BURST_MAX];                                                              \
		for (unsigned i = 0; i < BURST_MAX; i++)                                           \
			r[i] = (v[i] & mask) != 0;                                                 \
		return mask_gather(r);                                                             \
	}
DENSE(uint8_t)
DENSE(uint16_t)
DENSE(uint32_t)
DENSE(uint64_t)
#undef DENSE

static burst_mask dense(const struct prog_op *op, const void *v, unsigned width)
{
	bool bits = op->kind == PO_BITS;
	uint64_t mask = op->range.mask, lo = op->range.lo, span = op->range.span;

	switch (width) {
	case 1:
		return bits ? bits_uint8_t(v, (uint8_t)mask)
			    : range_uint8_t(v, (uint8_t)mask, (uint8_t)lo, (uint8_t)span);
	case 2:
		return bits ? bits_uint16_t(v, (uint16_t)mask)
			    : range_uint16_t(v, (uint16_t)mask, (uint16_t)lo, (uint16_t)span);
	case 4:
		return bits ? bits_uint32_t(v, (uint32_t)mask)
			    : range_uint32_t(v, (uint32_t)mask, (uint32_t)lo, (uint32_t)span);
	default:
		return bits ? bits_uint64_t(v, mask) : range_uint64_t(v, mask, lo, span);
	}
}

/* The addresses of IPv4 stand 16 bytes apart: brought together first. */
static burst_mask dense_addr4(const struct prog_op *op, const uint8_t *p)
{
	uint32_t v[BURST_MAX];

	for (unsigned i = 0; i < BURST_MAX; i++)
		v[i] = be32_load(p + i * 16);
	return dense(op, v, 4);
}

static bool number_matches(const struct prog_op *op, uint64_t v)
{
	v &= op->range.mask;
	return op->kind == PO_BITS ? v != 0 : v - op->range.lo <= op->range.span;
}

static burst_mask range_values(struct eval *ev, const struct prog_op *op, burst_mask mask,
			       burst_mask *valid)
{
	const struct column *c;
	burst_mask m = 0;
	unsigned i;

	*valid = mask = value_read(ev, op->range.value, mask, 0, &c);
	if (mask_is_dense(mask))
		return dense(op, c->num, 8);
	burst_foreach (mask, i) {
		uint64_t v = c->num[i] & op->range.mask;

		if (op->kind == PO_BITS ? v != 0 : v - op->range.lo <= op->range.span)
			m |= bit_of(i);
	}
	return m;
}

/* A column that all packets of mask have. */
static burst_mask range_column(const struct burst *b, const struct prog_op *op,
			       const struct column_desc *d, burst_mask mask)
{
	const uint8_t *p = (const uint8_t *)b + d->offset;
	burst_mask m = 0;
	unsigned i;

	if (mask_is_dense(mask))
		return d->width == WIDTH_ADDR4 ? dense_addr4(op, p) : dense(op, p, d->width);
	burst_foreach (mask, i)
		m |= (burst_mask)number_matches(op, column_at(b, d, i)) << i;
	return m;
}

burst_mask match_range(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct prog_expr *e = op->range.value;
	burst_mask neg = op->range.neg ? ~(burst_mask)0 : 0, m = 0, valid, rest = mask;

	if (e->kind == PX_COLUMN) {
		valid = column_has(ev->b, e->column.column, mask);
		m = range_column(ev->b, op, &column_descs[e->column.column], valid);
		m = (m ^ neg) & valid;
		rest = e->column.in_packet ? mask & ~valid : 0;
	}
	if (!rest)
		return m;
	return m | ((range_values(ev, op, rest, &valid) ^ neg) & valid);
}

burst_mask match_bytes(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	unsigned len = op->bytes.value->len, n = op->bytes.n, i;
	const uint8_t *lo = op->bytes.lo, *hi = op->bytes.hi;
	bool equal = lo == hi;
	const struct column *c;
	burst_mask m = 0;

	mask = value_read(ev, op->bytes.value, mask, 0, &c);
	burst_foreach (mask, i) {
		const uint8_t *v = c->bytes + i * len;
		uint8_t masked[PROG_VALUE_MAX];
		bool in;

		if (op->bytes.mask) {
			for (unsigned k = 0; k < n; k++)
				masked[k] = v[k] & op->bytes.mask[k];
			v = masked;
		}
		in = equal ? !memcmp(v, lo, n) : memcmp(v, lo, n) >= 0 && memcmp(v, hi, n) <= 0;
		if (in != op->bytes.neg)
			m |= bit_of(i);
	}
	return m;
}

static bool relation_holds(enum prog_relation r, int order)
{
	switch (r) {
	case PR_EQ:
		return order == 0;
	case PR_NEQ:
		return order != 0;
	case PR_LT:
		return order < 0;
	case PR_GT:
		return order > 0;
	case PR_LE:
		return order <= 0;
	case PR_GE:
		return order >= 0;
	}
	return false;
}

burst_mask match_compare(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	unsigned len = op->compare.left->len, i;
	const struct column *l, *r;
	burst_mask m = 0;

	mask = value_read(ev, op->compare.left, mask, 0, &l);
	mask = value_read(ev, op->compare.right, mask, 1, &r);
	burst_foreach (mask, i) {
		int order;

		if (len <= 8)
			order = (l->num[i] > r->num[i]) - (l->num[i] < r->num[i]);
		else
			order = memcmp(l->bytes + i * len, r->bytes + i * len, len);
		if (relation_holds(op->compare.relation, order))
			m |= bit_of(i);
	}
	return m;
}

burst_mask match_elements(struct eval *ev, struct set *s, const uint8_t *keys, unsigned stride,
			  burst_mask mask, struct set_elem **hit)
{
	burst_mask found;
	unsigned i;

	if (!mask)
		return 0;
	found = set_lookup(s, keys, stride, mask, ev->b->time, hit);
	mask = found;
	burst_foreach (mask, i) {
		struct state_list *l = set_elem_ext(s, hit[i]);

		if (l && !stmt_elem_states(ev, s, l, i))
			found &= ~bit_of(i);
	}
	return found;
}

burst_mask match_lookup(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	uint8_t keys[BURST_MAX * PROG_VALUE_MAX];
	struct set_elem *hit[BURST_MAX];

	mask = value_keys(ev, op->lookup.key, mask, keys);
	if (!mask)
		return 0;
	if (op->lookup.neg)
		return mask & ~set_lookup(op->lookup.set, keys, op->lookup.key->len, mask,
					  ev->b->time, NULL);
	return match_elements(ev, op->lookup.set, keys, op->lookup.key->len, mask, hit);
}
