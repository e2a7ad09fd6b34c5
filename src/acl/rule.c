/* SPDX-License-Identifier: Apache-2.0 */
/* rule: see rule.h. */
#include "acl/rule.h"

_Static_assert(CLS_FIELD_KINDS <= 32, "a bit of cls_key.has each");

#define X(name, word, shift, bits)                                                                 \
	_Static_assert((word)*32 + (shift) + (bits) <= CLS_WORDS * 32, #name " is in the key");
CLS_FIELDS(X)
#undef X

const struct cls_place cls_places[CLS_FIELD_KINDS] = {
#define X(name, word, shift, bits) [CLS_##name] = {word, shift, bits},
	CLS_FIELDS(X)
#undef X
};

static unsigned words_of(const struct cls_rule *r, const struct cls_cond *c)
{
	return cls_places[c->field].bits == 128 && r->family == CLS_IPV6 ? 4 : 1;
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
		bool address = cls_places[c->field].bits == 128;
		if (address && r->family != CLS_IPV4 && r->family != CLS_IPV6)
			return -EINVAL;
		if (c->a[0] > cls_field_max(c->field) || c->b[0] > cls_field_max(c->field))
			return -EINVAL;
		if (!c->masked && compare(c->a, c->b, words_of(r, c)) > 0)
			return -EINVAL;
	}
	return 0;
}

static bool holds(const struct cls_rule *r, const struct cls_cond *c, const struct cls_key *k)
{
	const struct cls_place *p = &cls_places[c->field];
	unsigned n = words_of(r, c);
	uint32_t v[4];

	for (unsigned i = 0; i < n; i++)
		v[i] = k->w[p->word + i] >> p->shift & cls_field_max(c->field);
	if (!c->masked)
		return compare(v, c->a, n) >= 0 && compare(v, c->b, n) <= 0;
	for (unsigned i = 0; i < n; i++)
		if ((v[i] & c->b[i]) != c->a[i])
			return false;
	return true;
}

bool cls_rule_matches(const struct cls_rule *r, const struct cls_key *k)
{
	if (r->family != CLS_ANY && r->family != k->family)
		return false;
	for (unsigned i = 0; i < r->n; i++) {
		const struct cls_cond *c = &r->conds[i];
		if (!(k->has >> c->field & 1) || holds(r, c, k) == c->neg)
			return false;
	}
	return true;
}
