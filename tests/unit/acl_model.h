/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_model: ACLs and contexts as plain arrays, searched one entry after the other: what the
 * structures of src/acl are held to. Also random rules and keys that meet each other often.
 */
#ifndef TAMIS_ACL_MODEL_H
#define TAMIS_ACL_MODEL_H

#include <errno.h>
#include <string.h>

#include <tamis/acl.h>

enum { MODEL_ACLS = 64, MODEL_ENTRIES = 512, MODEL_CONTEXTS = 4 };

struct model_entry {
	struct tamis_acl_rule rule;
	tamis_acl_handle handle;
	uint64_t packets, bytes;
};

struct model_acl {
	bool there;
	unsigned n;
	struct model_entry entries[MODEL_ENTRIES];
};

struct model {
	bool fragments;
	struct model_acl acls[MODEL_ACLS];
	struct {
		unsigned n;
		uint32_t acls[MODEL_ACLS];
	} contexts[MODEL_CONTEXTS];
};

static inline uint64_t model_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline bool model_prefix(const uint8_t *addr, const uint8_t *prefix, unsigned len)
{
	for (unsigned bit = 0; bit < len; bit++)
		if ((addr[bit / 8] ^ prefix[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

static inline bool model_matches(const struct tamis_acl_rule *r, const struct tamis_acl_key *k,
				 bool fragments)
{
	unsigned sport = k->sport, dport = k->dport;

	if (r->family != k->family || !model_prefix(k->src, r->src, r->src_len) ||
	    !model_prefix(k->dst, r->dst, r->dst_len))
		return false;
	if (!r->proto)
		return true;
	if (k->later_fragment)
		return fragments && r->proto == k->proto;
	if (k->no_l4 || r->proto != k->proto)
		return false;
	if (k->proto != 6 && k->proto != 17 && k->proto != (k->family == 4 ? 1 : 58))
		sport = dport = 0;
	if (sport < r->sport_first || sport > r->sport_last || dport < r->dport_first ||
	    dport > r->dport_last)
		return false;
	return k->proto != 6 || (k->tcp_flags & r->tcp_mask) == r->tcp_flags;
}

/* The entry that decides, or NULL; *acl is its ACL. */
static inline struct model_entry *model_lookup(struct model *m, const uint32_t *acls, unsigned n,
					       const struct tamis_acl_key *k, uint32_t *acl)
{
	for (unsigned i = 0; i < n; i++) {
		struct model_acl *a = &m->acls[acls[i]];

		for (unsigned e = 0; e < a->n; e++)
			if (model_matches(&a->entries[e].rule, k, m->fragments)) {
				*acl = acls[i];
				return &a->entries[e];
			}
	}
	return NULL;
}

/* Few values of each kind, so that rules overlap and packets meet them. */
static inline void model_address(uint64_t *seed, unsigned family, uint8_t out[16])
{
	memset(out, 0, 16);
	if (family == 4) {
		out[0] = 10;
		out[1] = (uint8_t)(model_random(seed) % 2);
		out[2] = (uint8_t)(model_random(seed) % 4 * 64);
		out[3] = (uint8_t)(model_random(seed) % 8 * 16);
	} else {
		out[0] = 0x20;
		out[1] = 1;
		out[7] = (uint8_t)(model_random(seed) % 4);
		out[15] = (uint8_t)(model_random(seed) % 8);
	}
}

static inline void model_rule(uint64_t *seed, struct tamis_acl_rule *r)
{
	static const uint8_t lens4[] = {0, 8, 16, 17, 24, 28, 31, 32};
	static const uint8_t lens6[] = {0, 16, 60, 64, 126, 127, 128, 33};
	static const uint8_t protos[] = {0, 0, 6, 6, 17, 1, 58, 47};
	unsigned family = model_random(seed) % 3 ? 4 : 6;

	tamis_acl_rule_init(r, (enum tamis_acl_action)(model_random(seed) % 3), family);
	model_address(seed, family, r->src);
	model_address(seed, family, r->dst);
	r->src_len = (family == 4 ? lens4 : lens6)[model_random(seed) % 8];
	r->dst_len = (family == 4 ? lens4 : lens6)[model_random(seed) % 8];
	for (unsigned bit = r->src_len; bit < 128; bit++)
		r->src[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	for (unsigned bit = r->dst_len; bit < 128; bit++)
		r->dst[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	r->proto = protos[model_random(seed) % 8];
	if (model_random(seed) % 2) {
		r->dport_first = (uint16_t)(model_random(seed) % 8);
		r->dport_last = (uint16_t)(r->dport_first + model_random(seed) % 4);
	}
	if (model_random(seed) % 4 == 0) {
		r->sport_first = (uint16_t)(model_random(seed) % 8);
		r->sport_last = (uint16_t)(model_random(seed) % 8); /* sometimes none */
	}
	if (model_random(seed) % 4 == 0) {
		r->tcp_mask = (uint8_t)(model_random(seed) % 4);
		r->tcp_flags = (uint8_t)(model_random(seed) % 4);
	}
}

static inline void model_key(uint64_t *seed, struct tamis_acl_key *k)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 47};

	*k = (struct tamis_acl_key){.family = model_random(seed) % 3 ? 4 : 6};
	model_address(seed, k->family, k->src);
	model_address(seed, k->family, k->dst);
	k->proto = protos[model_random(seed) % 8];
	k->tcp_flags = (uint8_t)(model_random(seed) % 4);
	k->sport = (uint16_t)(model_random(seed) % 10);
	k->dport = (uint16_t)(model_random(seed) % 10);
	k->later_fragment = model_random(seed) % 8 == 0;
	k->no_l4 = k->later_fragment || model_random(seed) % 16 == 0;
}

#endif
