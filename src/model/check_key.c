/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_key: a checked key as the bytes that a set compares.
 *
 * Fields one after the other, each bits_to_bytes() long, without padding. A prefix is the range of
 * its values, an interface name's wildcard the range of names that begin so. Any thread.
 */
#include "model/check_internal.h"

unsigned key_len(const struct set_type *t)
{
	unsigned len = 0;

	for (unsigned i = 0; i < t->n; i++)
		len += bits_to_bytes(t->bits[i]);
	return len;
}

/* The bytes of one field; their number, or 0 if it is no constant. */
static unsigned field_bytes(const struct expr *e, uint8_t *lo, uint8_t *hi)
{
	unsigned len = bits_to_bytes(e->bits);

	switch (e->kind) {
	case EX_VALUE:
		if (len > VALUE_MAX)
			return 0;
		memcpy(lo, expr_bytes(e), len);
		memcpy(hi, lo, len);
		if (e->flags & EXF_WILDCARD) {
			if (len > IFNAME_MAX)
				return 0;
			memset(lo + len, 0, IFNAME_MAX - len);
			memset(hi + len, 0xff, IFNAME_MAX - len);
			len = IFNAME_MAX;
		}
		return len;
	case EX_PREFIX: {
		const struct expr *base = e->prefix.base;

		len = bits_to_bytes(base->bits);
		if (base->kind != EX_VALUE || len > VALUE_MAX)
			return 0;
		memcpy(lo, expr_bytes(base), len);
		memcpy(hi, lo, len);
		for (unsigned i = base->bits - e->prefix.len, at = len; i && at-- > 0;) {
			unsigned n = MIN(i, 8u);

			hi[at] |= (uint8_t)((1u << n) - 1);
			lo[at] &= (uint8_t) ~((1u << n) - 1);
			i -= n;
		}
		return len;
	}
	case EX_RANGE: {
		const struct expr *l = e->pair.left, *r = e->pair.right;

		len = bits_to_bytes(l->bits);
		if (l->kind != EX_VALUE || r->kind != EX_VALUE || len > VALUE_MAX ||
		    bits_to_bytes(r->bits) != len)
			return 0;
		memcpy(lo, expr_bytes(l), len);
		memcpy(hi, expr_bytes(r), len);
		return len;
	}
	default:
		return 0;
	}
}

bool check_key_bytes(const struct expr *e, uint8_t *lo, uint8_t *hi)
{
	unsigned at = 0;

	if (e->kind == EX_ELEM)
		e = e->elem->key;
	if (e->kind != EX_CONCAT)
		return field_bytes(e, lo, hi) > 0;
	for (uint32_t i = 0; i < e->list.n; i++) {
		uint8_t l[VALUE_MAX], h[VALUE_MAX];
		unsigned n = field_bytes(e->list.items[i], l, h);

		if (!n || at + n > VALUE_MAX)
			return false;
		memcpy(lo + at, l, n);
		memcpy(hi + at, h, n);
		at += n;
	}
	return at > 0;
}
