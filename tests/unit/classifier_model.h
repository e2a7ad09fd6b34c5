/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_model: the naive reference of src/acl, an array of rules read from the top, and random
 * rules and keys for both. It shares no code with the classifier.
 */
#ifndef TAMIS_CLASSIFIER_MODEL_H
#define TAMIS_CLASSIFIER_MODEL_H

#include "acl/classifier.h"

enum { MODEL_RULES = 8192, MODEL_CONDS = 6 };

struct model_rule {
	struct cls_rule rule; /* conds points to the next member */
	struct cls_cond conds[MODEL_CONDS];
	bool none; /* a place in the order, no rule */
	struct cls_entry *entry;
};

struct model {
	unsigned n;
	struct model_rule *r[MODEL_RULES]; /* in order */
};

/* Where each field is, written down once more. */
static const struct model_field {
	uint8_t word, shift, bits;
} model_fields[CLS_FIELD_KINDS] = {
	[CLS_SADDR] = {0, 0, 32},	  [CLS_DADDR] = {4, 0, 32},
	[CLS_SPORT] = {8, 16, 16},	  [CLS_DPORT] = {8, 0, 16},
	[CLS_L4PROTO] = {9, 0, 8},	  [CLS_ICMP_TYPE] = {9, 8, 8},
	[CLS_ICMP_CODE] = {9, 16, 8},	  [CLS_TCP_FLAGS] = {9, 24, 8},
	[CLS_FRAG] = {10, 0, 16},	  [CLS_CT_STATE] = {10, 16, 8},
	[CLS_CT_DIRECTION] = {10, 24, 4}, [CLS_PKTTYPE] = {10, 28, 4},
	[CLS_IIF] = {11, 0, 32},	  [CLS_OIF] = {12, 0, 32},
	[CLS_MARK] = {13, 0, 32},	  [CLS_CT_MARK] = {14, 0, 32},
	[CLS_VLAN_ID] = {15, 0, 12},	  [CLS_VLAN_DEI] = {15, 12, 1},
	[CLS_VLAN_PCP] = {15, 13, 3},	  [CLS_ETHERTYPE] = {15, 16, 16},
	[CLS_LENGTH] = {16, 0, 16},	  [CLS_TTL] = {16, 16, 8},
	[CLS_DSCP] = {16, 24, 8},	  [CLS_IIFNAME] = {17, 0, 32},
	[CLS_OIFNAME] = {18, 0, 32},	  [CLS_META_LENGTH] = {19, 0, 32},
	[CLS_ETHER_SADDR] = {20, 0, 32},  [CLS_ETHER_DADDR] = {21, 0, 32},
	[CLS_ETHER_TYPE] = {22, 0, 16},	  [CLS_IIFTYPE] = {22, 16, 16},
};

static inline bool model_holds(const struct cls_cond *c, bool wide, const struct cls_key *k)
{
	const struct model_field *f = &model_fields[c->field];
	unsigned __int128 v = 0, a = 0, b = 0;

	if (c->field <= CLS_DADDR && wide) {
		for (unsigned i = 0; i < 4; i++) {
			v = v << 32 | k->w[f->word + i];
			a = a << 32 | c->a[i];
			b = b << 32 | c->b[i];
		}
	} else {
		v = k->w[f->word] >> f->shift & (f->bits == 32 ? UINT32_MAX : (1u << f->bits) - 1);
		a = c->a[0];
		b = c->b[0];
	}
	return (c->masked ? (v & b) == a : a <= v && v <= b) != c->neg;
}

static inline bool model_matches(const struct model_rule *r, const struct cls_key *k)
{
	if (r->none || (r->rule.family && r->rule.family != k->family))
		return false;
	for (unsigned i = 0; i < r->rule.n; i++) {
		if (k->without & UINT32_C(1) << r->conds[i].field)
			continue;
		if (!(k->has >> r->conds[i].field & 1) ||
		    !model_holds(&r->conds[i], r->rule.family == CLS_IPV6, k))
			return false;
	}
	return true;
}

/* Index of the first match from `from` on, or m->n. */
static inline unsigned model_lookup(const struct model *m, const struct cls_key *k, unsigned from)
{
	unsigned i = from;
	while (i < m->n && !model_matches(m->r[i], k))
		i++;
	return i;
}

static inline void model_insert(struct model *m, unsigned at, struct model_rule *r)
{
	memmove(&m->r[at + 1], &m->r[at], (m->n++ - at) * sizeof(m->r[0]));
	m->r[at] = r;
}

static inline void model_delete(struct model *m, unsigned at)
{
	memmove(&m->r[at], &m->r[at + 1], (--m->n - at) * sizeof(m->r[0]));
}

/* --- random rules and keys: few values a field, so that rules meet packets and each other ---- */

static inline uint64_t model_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline void model_address(uint64_t *state, bool wide, uint32_t out[4])
{
	uint64_t r = model_random(state);
	for (unsigned i = 0; i < 4; i++)
		out[i] = 0;
	out[0] = (uint32_t)(wide ? 0x20010db8 : 10 + (r & 1) * 182) << (wide ? 0 : 24);
	if (wide) {
		out[1] = (uint32_t)(r >> 8 & 0x00010003);
		out[2] = (uint32_t)(r >> 40 & 1);
		out[3] = (uint32_t)(r >> 16 & 0x0700000f);
	} else {
		out[0] |= (uint32_t)(r >> 8 & 0x0003070f);
	}
}

static inline uint32_t model_port(uint64_t *state)
{
	static const uint32_t ports[] = {0, 22, 53, 80, 443, 1023, 1024, 8080, 65535};
	uint64_t r = model_random(state);
	return r & 7 ? ports[(r >> 8) % (sizeof(ports) / sizeof(ports[0]))]
		     : (uint32_t)(r >> 8 & 0xffff);
}

static inline void model_key(uint64_t *state, struct cls_key *k)
{
	uint64_t r = model_random(state);
	uint32_t s[4], d[4];

	*k = (struct cls_key){.family = (uint8_t)(r % 8 < 4   ? CLS_IPV4
						  : r % 8 < 7 ? CLS_IPV6
							      : CLS_OTHER)};
	if (k->family != CLS_OTHER) {
		model_address(state, k->family == CLS_IPV6, s);
		model_address(state, k->family == CLS_IPV6, d);
		memcpy(k->w, s, sizeof(s));
		memcpy(k->w + 4, d, sizeof(d));
		k->has |= 1u << CLS_SADDR | 1u << CLS_DADDR;
		static const uint8_t protos[] = {6, 17, 1, 47};
		uint8_t proto = protos[r >> 8 & 3];
		cls_key_set(k, L4PROTO, proto);
		if (proto == 1) {
			cls_key_set(k, ICMP_TYPE, r >> 16 & 15);
			cls_key_set(k, ICMP_CODE, r >> 20 & 3);
		} else if (proto != 47 && (r >> 24 & 15)) {
			cls_key_set(k, SPORT, model_port(state));
			cls_key_set(k, DPORT, model_port(state));
			if (proto == 6)
				cls_key_set(k, TCP_FLAGS, r >> 28 & 0x3f);
		}
	}
	cls_key_set(k, FRAG, (r >> 34 & 7) ? 0 : r >> 37 & 1);
	cls_key_set(k, IIF, r >> 40 & 7);
	cls_key_set(k, MARK, r >> 43 & 0x3ff);
	if (r >> 55 & 1)
		cls_key_set(k, VLAN_ID, r >> 56 & 3);
	r = model_random(state);
	for (unsigned f = CLS_FRAG; f < CLS_FIELD_KINDS; f++, r = r >> 3 | r << 61)
		if (!(k->has >> f & 1) && f != CLS_VLAN_ID && r & 4)
			cls_key_put(k, (enum cls_field)f,
				    model_fields[f].word * 32u + model_fields[f].shift,
				    (uint32_t)(r & (model_fields[f].bits > 1 ? 3 : 1)));
}

static inline void model_cond(uint64_t *state, struct cls_cond *c, enum cls_field f, bool wide)
{
	uint64_t r = model_random(state);

	*c = (struct cls_cond){.field = (uint8_t)f, .neg = (r & 31) == 0};
	if (f <= CLS_DADDR) {
		model_address(state, wide, c->a);
		unsigned bits = wide ? 128 : 32;
		unsigned len = (r >> 8 & 3) ? bits - (unsigned)(r >> 10 & 7)
					    : (unsigned)(r >> 10) % (bits + 1);
		bool range = (r >> 18 & 15) == 0;
		c->masked = (r >> 22 & 1) && !range;
		for (unsigned i = 0; i < 4; i++) {
			unsigned n = len > 32 * i ? len - 32 * i : 0;
			uint32_t mask = n >= 32 ? UINT32_MAX : ~(UINT32_MAX >> n);
			c->a[i] &= mask;
			c->b[i] = c->masked ? mask : c->a[i] | ~mask;
		}
		if (range) {
			c->a[wide ? 3 : 0] = (c->a[wide ? 3 : 0] & ~3u) | 1;
			c->b[wide ? 3 : 0] = (c->b[wide ? 3 : 0] & ~3u) | 2;
		}
		if (!wide)
			memset(c->a + 1, 0, 12), memset(c->b + 1, 0, 12);
	} else if (f == CLS_SPORT || f == CLS_DPORT) {
		uint32_t a = model_port(state), b = (r >> 8 & 3) ? a : model_port(state);
		c->a[0] = a < b ? a : b;
		c->b[0] = a < b ? b : a;
	} else if (f == CLS_TCP_FLAGS) {
		c->masked = true;
		c->b[0] = r >> 8 & 0x3f;
		c->a[0] = r >> 16 & c->b[0];
	} else {
		static const uint32_t protos[] = {6, 17, 1, 47};
		c->a[0] = f == CLS_L4PROTO ? protos[r >> 8 & 3]
			  : f == CLS_MARK  ? (uint32_t)(r >> 8 & 0x3ff)
					  : (uint32_t)(r >> 8 & (model_fields[f].bits > 2 ? 3 : 1));
		c->b[0] =
			c->a[0] + (f != CLS_L4PROTO && model_fields[f].bits > 2 && !(r >> 18 & 7));
	}
}

static inline void model_rule(uint64_t *state, struct model_rule *r)
{
	uint64_t x = model_random(state);
	static const uint8_t rare[] = {CLS_ICMP_TYPE, CLS_ICMP_CODE, CLS_TCP_FLAGS, CLS_FRAG,
				       CLS_IIF,	      CLS_MARK,	     CLS_VLAN_ID};
	unsigned n = 0;

	r->rule.family = (uint8_t)(x % 16 < 8 ? CLS_IPV4 : x % 16 < 14 ? CLS_IPV6 : CLS_ANY);
	r->rule.conds = r->conds;
	r->entry = NULL;
	r->none = (x >> 4 & 63) == 0;
	bool wide = r->rule.family == CLS_IPV6;
	if (r->rule.family != CLS_ANY) {
		if (x >> 10 & 3)
			model_cond(state, &r->conds[n++], CLS_SADDR, wide);
		if (x >> 12 & 3)
			model_cond(state, &r->conds[n++], CLS_DADDR, wide);
	}
	if (x >> 14 & 1)
		model_cond(state, &r->conds[n++], CLS_L4PROTO, wide);
	if (!(x >> 15 & 3))
		model_cond(state, &r->conds[n++], CLS_SPORT, wide);
	if (x >> 17 & 1)
		model_cond(state, &r->conds[n++], CLS_DPORT, wide);
	if (!n || !(x >> 18 & 7))
		model_cond(state, &r->conds[n++], rare[(x >> 21) % sizeof(rare)], wide);
	r->rule.n = (uint8_t)n;
}

#endif
