/* SPDX-License-Identifier: Apache-2.0 */
/* weak_hash: see there. What a place is under another secret, SipHash says. */
#include "weak_hash.h"

static struct hash_key first;

static bool is_first(const struct hash_key *k)
{
	return !memcmp(&k->sip, &first.sip, sizeof(k->sip));
}

static struct hash_place weak_place(const struct hash_key *k, const uint8_t *key, unsigned len)
{
	struct hash_place p = place_sip(k, key, len);

	if (is_first(k))
		p.at &= UINT32_MAX;
	return p;
}

static inline uint32_t compare_weak(const struct hash_bucket *b, uint32_t tag)
{
	uint32_t m = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		m |= (uint32_t)(LOAD(&b->tag[i]) == tag) << i;
	return m;
}

#define PLACE	weak_place
#define COMPARE compare_weak
#include "set/hash_table_read.h"

static bool usable(void)
{
	return true;
}

static const struct hash_table_ops ops = {"weak", usable, place_of, compare, find, collect, lookup};

void weak_hash_give(struct hash_table *t)
{
	first = t->root->key;
	t->ops = &ops;
}

bool weak_hash_is(const struct hash_table *t)
{
	return is_first(&t->root->key);
}
