/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_set: exact keys in a chained hash table.
 *
 * The hash is SipHash with the set's own secret, so that colliding keys cannot be chosen. Chains
 * are one element long on average. The table doubles and halves in one go; if there is no memory
 * for that it stays as it is and chains grow longer: inserting cannot fail. A batch hashes all its
 * keys first, prefetching buckets, then the first element of each chain, then compares.
 */
#include "set/set_internal.h"

enum { BUCKETS_MIN = 16 };

static inline struct set_elem **bucket_of(const struct set_store *st, uint64_t hash)
{
	if (!st->buckets)
		return (struct set_elem **)&st->first;
	return &st->buckets[hash & (st->n_buckets - 1)];
}

static inline struct set_elem *chain_find(const struct set *s, struct set_elem *e, uint64_t hash,
					  const uint8_t *key)
{
	for (; e; e = e->chain.next)
		if (e->chain.hash == hash && !memcmp(e->bytes, key, s->key_len))
			return e;
	return NULL;
}

static struct set_elem *hash_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	uint64_t hash = hash_bytes(&s->secret, lo, s->key_len);
	return chain_find(s, *bucket_of(&s->store, hash), hash, lo);
}

static struct set_elem *hash_conflict(const struct set *s, const uint8_t *lo, const uint8_t *hi,
				      uint64_t now)
{
	return NULL;
}

static struct set_elem *hash_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct set_elem *e = hash_find(s, key, key);
	return e && elem_live(e, now) ? e : NULL;
}

static uint64_t hash_lookup(const struct set *s, const uint8_t *keys, size_t stride, uint64_t mask,
			    const uint64_t *now, struct set_elem **hit)
{
	uint64_t hash[SET_BATCH_MAX], found = 0;
	struct set_elem **bucket[SET_BATCH_MAX];

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hash[i] = hash_bytes(&s->secret, keys + i * stride, s->key_len);
		bucket[i] = bucket_of(&s->store, hash[i]);
		__builtin_prefetch(bucket[i]);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1)
		__builtin_prefetch(*bucket[__builtin_ctzll(rest)]);
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		struct set_elem *e = chain_find(s, *bucket[i], hash[i], keys + i * stride);
		if (!e || !elem_live(e, now[i]))
			continue;
		found |= 1ULL << i;
		if (hit)
			hit[i] = e;
	}
	return found;
}

static void resize(struct set_store *st, size_t n_buckets)
{
	struct set_elem **buckets = calloc(n_buckets, sizeof(struct set_elem *));
	if (!buckets)
		return;
	size_t old_n = st->buckets ? st->n_buckets : 1;
	for (size_t i = 0; i < old_n; i++) {
		struct set_elem *e = st->buckets ? st->buckets[i] : st->first;
		while (e) {
			struct set_elem *next = e->chain.next;
			struct set_elem **to = &buckets[e->chain.hash & (n_buckets - 1)];
			e->chain.next = *to;
			*to = e;
			e = next;
		}
	}
	free(st->buckets);
	st->buckets = buckets;
	st->n_buckets = n_buckets;
	st->first = NULL;
}

static int hash_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	return 0;
}

static void hash_settle(struct set *s)
{
}

static void hash_insert(struct set *s, struct set_elem *e)
{
	struct set_store *st = &s->store;

	if (st->n >= st->n_buckets)
		resize(st, MAX(st->n_buckets * 2, BUCKETS_MIN));
	e->chain.hash = hash_bytes(&s->secret, e->bytes, s->key_len);
	struct set_elem **to = bucket_of(st, e->chain.hash);
	e->chain.next = *to;
	*to = e;
}

static void hash_remove(struct set *s, struct set_elem *e)
{
	struct set_store *st = &s->store;
	struct set_elem **at = bucket_of(st, e->chain.hash);

	while (*at != e)
		at = &(*at)->chain.next;
	*at = e->chain.next;
	if (st->n_buckets > BUCKETS_MIN && st->n < st->n_buckets / 8)
		resize(st, st->n_buckets / 4);
}

static void hash_each(const struct set_store *st, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx)
{
	size_t n = st->buckets ? st->n_buckets : 1;

	for (size_t i = 0; i < n; i++)
		for (struct set_elem *e = st->buckets ? st->buckets[i] : st->first, *next; e;
		     e = next) {
			next = e->chain.next;
			fn(ctx, e);
		}
}

static void hash_store_free(struct set_store *st)
{
	free(st->buckets);
}

const struct set_ops hash_set_ops = {
	.name = "hash",
	.find = hash_find,
	.conflict = hash_conflict,
	.match = hash_match,
	.lookup = hash_lookup,
	.reserve = hash_reserve,
	.insert = hash_insert,
	.remove = hash_remove,
	.settle = hash_settle,
	.each = hash_each,
	.store_free = hash_store_free,
};
