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

struct datagram {
	struct datagram *next; /* of its hash */
	struct frag_key key;
	struct ct_tuple tuple;
	uint64_t until;
};

struct frag_cache {
	struct hash_secret secret;
	uint32_t oldest; /* or the next that is free */
	bool full;
	struct datagram ring[FRAG_DATAGRAMS];
	struct datagram *by_hash[FRAG_DATAGRAMS];
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

/* Where the one with this key is linked, or would be. */
static struct datagram **find(struct frag_cache *c, const struct frag_key *k)
{
	struct datagram **at = &c->by_hash[hash_bytes(&c->secret, k, sizeof(*k)) % FRAG_DATAGRAMS];

	while (*at && memcmp(&(*at)->key, k, sizeof(*k)))
		at = &(*at)->next;
	return at;
}

/* The oldest, linked nowhere. */
static struct datagram *take(struct frag_cache *c)
{
	struct datagram *d = &c->ring[c->oldest];

	if (c->full)
		*find(c, &d->key) = d->next;
	c->oldest = (c->oldest + 1) % FRAG_DATAGRAMS;
	c->full |= !c->oldest;
	return d;
}

void frag_remember(struct frag_cache *c, const struct burst *b, unsigned i,
		   const struct ct_tuple *tuple)
{
	struct frag_key k;
	if (!key_of(b, i, &k))
		return;
	struct datagram *d = *find(c, &k);
	if (!d) {
		d = take(c);
		d->key = k;
		d->next = NULL;
		*find(c, &k) = d;
	}
	d->tuple = *tuple;
	d->until = b->time[i] + FRAG_LIFETIME_NS;
}

const struct ct_tuple *frag_recall(struct frag_cache *c, const struct burst *b, unsigned i)
{
	struct frag_key k;
	if (!key_of(b, i, &k))
		return NULL;
	const struct datagram *d = *find(c, &k);
	return d && b->time[i] < d->until ? &d->tuple : NULL;
}
