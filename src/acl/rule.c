/* SPDX-License-Identifier: Apache-2.0 */
/* rule: see rule.h. */
#include "acl/rule.h"

_Static_assert(CLS_FIELD_KINDS <= 32, "a bit of cls_key.has each");
_Static_assert(CLS_TCP_FLAGS == 7, "the first eight fields are those that lanes look for");

#define X(name, word, shift, bits)                                                                 \
	_Static_assert((word)*32 + (shift) + (bits) <= CLS_WORDS * 32, #name " is in the key");
CLS_FIELDS(X)
#undef X

const struct cls_place cls_places[CLS_FIELD_KINDS] = {
#define X(name, word, shift, bits) [CLS_##name] = {word, shift, bits},
	CLS_FIELDS(X)
#undef X
};

enum { MASKED = 1, NEGATED = 2, WIDE = 4 }; /* flags of a packed condition */

/* A packed condition. */
struct cond {
	enum cls_field field;
	unsigned flags, n;
	const uint32_t *a, *b;
};

static const uint32_t *unpack(const uint32_t *at, struct cond *c)
{
	c->field = (enum cls_field)(*at & 0xff);
	c->flags = *at >> 8;
	c->n = c->flags & WIDE ? 4 : 1;
	c->a = at + 1;
	c->b = c->a + c->n;
	return c->b + c->n;
}

static uint32_t field_max(enum cls_field f)
{
	return UINT32_MAX >> (32 - MIN(cls_places[f].bits, 32));
}

static bool is_address(enum cls_field f)
{
	return cls_places[f].bits == 128;
}

static unsigned words_of(const struct cls_rule *r, const struct cls_cond *c)
{
	return is_address(c->field) && r->family == CLS_IPV6 ? 4 : 1;
}

/* Of numbers of n words. */
static int compare(const uint32_t *a, const uint32_t *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

int cls_rule_check(const struct cls_rule *r)
{
	if (r->family > CLS_OTHER || r->n > CLS_CONDS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < r->n; i++) {
		const struct cls_cond *c = &r->conds[i];
		if (c->field >= CLS_FIELD_KINDS)
			return -EINVAL;
		if (is_address(c->field) && r->family != CLS_IPV4 && r->family != CLS_IPV6)
			return -EINVAL;
		if (c->a[0] > field_max(c->field) || c->b[0] > field_max(c->field))
			return -EINVAL;
		if (!c->masked && compare(c->a, c->b, words_of(r, c)) > 0)
			return -EINVAL;
	}
	return 0;
}

unsigned cls_rule_words(const struct cls_rule *r)
{
	unsigned n = 0;
	for (unsigned i = 0; i < r->n; i++)
		n += 1 + 2 * words_of(r, &r->conds[i]);
	return n;
}

void cls_rule_pack(const struct cls_rule *r, struct cls_packed *out)
{
	uint32_t *at = out->word;

	out->family = r->family & 3;
	out->n = r->n & 63;
	for (unsigned i = 0; i < r->n; i++) {
		const struct cls_cond *c = &r->conds[i];
		unsigned n = words_of(r, c);
		unsigned flags =
			(c->masked ? MASKED : 0) | (c->neg ? NEGATED : 0) | (n == 4 ? WIDE : 0);
		*at++ = c->field | flags << 8;
		memcpy(at, c->a, n * sizeof(*at));
		memcpy(at + n, c->b, n * sizeof(*at));
		at += 2 * n;
	}
}

unsigned cls_packed_words(const struct cls_packed *p)
{
	const uint32_t *at = p->word;
	struct cond c;

	for (unsigned i = 0; i < p->n; i++)
		at = unpack(at, &c);
	return (unsigned)(at - p->word);
}

static bool holds(const struct cond *c, const struct cls_key *k)
{
	const struct cls_place *p = &cls_places[c->field];
	uint32_t v[4];

	for (unsigned i = 0; i < c->n; i++)
		v[i] = k->w[p->word + i] >> p->shift & field_max(c->field);
	if (!(c->flags & MASKED))
		return compare(v, c->a, c->n) >= 0 && compare(v, c->b, c->n) <= 0;
	for (unsigned i = 0; i < c->n; i++)
		if ((v[i] & c->b[i]) != c->a[i])
			return false;
	return true;
}

/* Is the condition on one of these fields, of the first eight? */
static bool passed_over(const struct cond *c, uint8_t without)
{
	return c->field < 8 && without >> c->field & 1;
}

bool cls_packed_matches(const struct cls_packed *p, const struct cls_key *k)
{
	const uint32_t *at = p->word;
	struct cond c;

	if (p->family != CLS_ANY && p->family != k->family)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		at = unpack(at, &c);
		if (passed_over(&c, k->without))
			continue;
		if (!(k->has >> c.field & 1) || holds(&c, k) == !!(c.flags & NEGATED))
			return false;
	}
	return true;
}

/* The next condition that is not passed over, of *left; false at the end. */
static bool next_asked(const uint32_t **at, unsigned *left, uint8_t without, struct cond *c)
{
	while (*left) {
		--*left;
		*at = unpack(*at, c);
		if (!passed_over(c, without))
			return true;
	}
	return false;
}

bool cls_packed_alike(const struct cls_packed *p, const struct cls_packed *q, uint8_t without)
{
	const uint32_t *a = p->word, *b = q->word;
	unsigned left_a = p->n, left_b = q->n;
	struct cond x, y;

	if (p->family != q->family)
		return false;
	for (;;) {
		bool more = next_asked(&a, &left_a, without, &x);
		if (more != next_asked(&b, &left_b, without, &y))
			return false;
		if (!more)
			return true;
		if (x.field != y.field || x.flags != y.flags || x.n != y.n ||
		    memcmp(x.a, y.a, 2 * x.n * sizeof(*x.a)))
			return false;
	}
}

/* --- forms --------------------------------------------------------------------------------- */

/* The bits that lo..hi have in common, as a mask of n words; exact if no other bit matters. */
static bool common_bits(const struct cond *c, uint32_t mask[4])
{
	bool open = false, exact = true;

	for (unsigned i = 0; i < c->n; i++) {
		uint32_t differ = c->a[i] ^ c->b[i];
		mask[i] = open ? 0 : differ ? ~(UINT32_MAX >> __builtin_clz(differ)) : UINT32_MAX;
		exact = exact && !(c->a[i] & ~mask[i]) && !(~c->b[i] & ~mask[i]);
		open = open || differ;
	}
	return exact;
}

/* Fixes bits of a word of the key; two rules of one packet that disagree make `never`. */
static void fix(struct cls_form *f, unsigned word, uint32_t value, uint32_t mask)
{
	if ((f->value[word] ^ value) & f->mask[word] & mask)
		f->never = true;
	f->value[word] |= value & mask;
	f->mask[word] |= mask;
}

static void fix_port(struct cls_form *f, unsigned shift, uint32_t lo, uint32_t hi)
{
	lo = MAX(lo, f->port_lo >> shift & 0xffff);
	hi = MIN(hi, f->port_hi >> shift & 0xffff);
	if (lo > hi)
		f->never = true;
	f->port_lo = (f->port_lo & ~(UINT32_C(0xffff) << shift)) | lo << shift;
	f->port_hi = (f->port_hi & ~(UINT32_C(0xffff) << shift)) | hi << shift;
}

/* Bits of a mask of n words before the first that is not set. */
static unsigned leading_ones(const uint32_t *mask, unsigned n)
{
	unsigned len = 0;
	for (unsigned i = 0; i < n; i++) {
		if (mask[i] != UINT32_MAX)
			return len + (unsigned)__builtin_clz(~mask[i]);
		len += 32;
	}
	return len;
}

static void form_add(struct cls_form *f, const struct cond *c, bool ipv4)
{
	const struct cls_place *p = &cls_places[c->field];
	uint32_t mask[4];
	bool exact;

	if (c->flags & NEGATED) {
		f->check = true;
		return;
	}
	if (c->flags & MASKED) {
		memcpy(mask, c->b, c->n * sizeof(mask[0]));
		exact = true;
		for (unsigned i = 0; i < c->n; i++)
			f->never = f->never || (c->a[i] & ~mask[i]);
	} else {
		exact = common_bits(c, mask);
	}
	for (unsigned i = 0; i < c->n; i++)
		fix(f, p->word + i, c->a[i] << p->shift,
		    (mask[i] & field_max(c->field)) << p->shift);
	if (is_address(c->field)) {
		uint8_t *wild = c->field == CLS_SADDR ? &f->swild : &f->dwild;
		unsigned len = leading_ones(mask, c->n), bits = ipv4 ? 32 : 128;
		for (unsigned i = len / 32 + 1; i < c->n; i++)
			exact = exact && !mask[i];
		if (len < c->n * 32)
			exact = exact && !(mask[len / 32] << len % 32);
		*wild = (uint8_t)MIN(*wild, bits - len);
		f->check = f->check || !exact;
	} else if (c->field == CLS_SPORT || c->field == CLS_DPORT) {
		if (c->flags & MASKED)
			f->check = true;
		else
			fix_port(f, p->shift, c->a[0], c->b[0]);
	} else if (c->field == CLS_L4PROTO) {
		f->check = f->check || !exact;
	} else {
		f->check = true;
	}
}

void cls_form_make(const struct cls_packed *p, bool ipv4, uint8_t without, struct cls_form *out)
{
	const uint32_t *at = p->word;
	bool addresses = false;
	struct cond c;

	*out = (struct cls_form){
		.port_hi = UINT32_MAX, .swild = ipv4 ? 32 : 128, .dwild = ipv4 ? 32 : 128};
	for (unsigned i = 0; i < p->n; i++) {
		at = unpack(at, &c);
		if (passed_over(&c, without))
			continue;
		addresses = addresses || is_address(c.field);
		if (c.field < 8)
			out->need |= (uint8_t)(1 << c.field);
		form_add(out, &c, ipv4);
	}
	out->proto_mask = out->mask[CLS_AT_L4PROTO / 32] & 0xff;
	out->proto = out->value[CLS_AT_L4PROTO / 32] & 0xff;
	/* Keys of IPv6 and of neither stand together; only addresses tell them apart. */
	if (!ipv4 && p->family != CLS_ANY && !addresses)
		out->check = true;
}
