/* SPDX-License-Identifier: Apache-2.0 */
/* frag: see frag.h. */
#include "ct/frag.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "base/hash.h"

struct frag_key {
	uint8_t saddr[16], daddr[16];
	uint32_t id;
	uint8_t l4proto, family, zero[2];
};

struct frag_slot {
	struct frag_key key;
	struct ct_tuple tuple;
	uint64_t until; /* 0: free */
};

struct frag_cache {
	struct hash_secret secret;
	struct frag_slot slots[FRAG_SLOTS];
};

int frag_cache_new(struct frag_cache **out)
{
	struct frag_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	int err = hash_secret_draw(&c->secret);
	if (err) {
		free(c);
		return err;
	}
	*out = c;
	return 0;
}

void frag_cache_free(struct frag_cache *c)
{
	free(c);
}

static bool key_of(const struct burst *b, unsigned i, struct frag_key *out)
{
	bool v4 = b->has[HAS_IPV4] >> i & 1;
	struct frag_key k = {.family = v4 ? 4 : 6};
	uint32_t off, len;
	const uint8_t *p;

	memcpy(k.saddr, b->saddr[i], v4 ? 4 : 16);
	memcpy(k.daddr, b->daddr[i], v4 ? 4 : 16);
	if (v4) {
		p = burst_at(b, i, b->nh_off[i], 10);
		if (!p)
			return false;
		k.id = be16_load(p + 4);
		k.l4proto = p[9];
	} else {
		if (!burst_find_exthdr(b, i, IPPROTO_FRAGMENT, &off, &len))
			return false;
		p = burst_at(b, i, off, 8);
		if (!p)
			return false;
		k.id = be32_load(p + 4);
	}
	*out = k;
	return true;
}

static struct frag_slot *slot_of(const struct frag_cache *c, const struct frag_key *k)
{
	uint64_t hash = hash_bytes(&c->secret, k, sizeof(*k));
	return (struct frag_slot *)&c->slots[hash % FRAG_SLOTS];
}

void frag_remember(struct frag_cache *c, const struct burst *b, unsigned i,
		   const struct ct_tuple *tuple)
{
	struct frag_key k;
	if (!key_of(b, i, &k))
		return;
	*slot_of(c, &k) = (struct frag_slot){k, *tuple, b->time[i] + FRAG_LIFETIME_NS};
}

const struct ct_tuple *frag_recall(const struct frag_cache *c, const struct burst *b, unsigned i)
{
	struct frag_key k;
	if (!key_of(b, i, &k))
		return NULL;
	const struct frag_slot *s = slot_of(c, &k);
	if (s->until <= b->time[i] || memcmp(&s->key, &k, sizeof(k)))
		return NULL;
	return &s->tuple;
}
