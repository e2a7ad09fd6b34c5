/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_store: the elements of one set: records of one length, each beginning with its key, in the
 * order in which they came.
 *
 * Records lie one behind another; beside them is an open-addressed index of record numbers under a
 * keyed hash, at most 3/4 full. A slot has 32 bits of the hash beside the number, so that a probe
 * looks at no other record than the one it is for, and a larger index is filled from the old one in
 * one pass over both. A removed record keeps its place until ipset_store_pack(), so that it can be
 * put back. Invariant: between two packs a record's number is its name.
 *
 * Cost: find, add, remove O(1) amortised, one cache miss for the index and one for the record; a
 * record costs its length and 11 to 21 bytes of index. One thread.
 */
#ifndef TAMIS_COMPAT_IPSET_STORE_H
#define TAMIS_COMPAT_IPSET_STORE_H

#include "base/base.h"
#include "base/hash.h"

enum { STORE_GONE = 0x80 }; /* in the byte behind the key, whose other bits are the owner's */

#define STORE_NONE UINT32_MAX

struct ipset_slot {
	uint32_t hash;
	uint32_t place; /* of a record: its number and 1 */
};

struct ipset_store {
	uint8_t *records;
	struct ipset_slot *slots;
	size_t cap; /* of records */
	uint32_t n, live;
	uint32_t n_slots, used; /* used counts the slots of removed records too */
	uint32_t pinned;	/* removed ones that may be put back */
	uint16_t key_len, stride;
	struct hash_secret secret;
};

/* Records of key_len bytes, the byte of flags, and what makes up `stride`. 0 or -errno. */
int ipset_store_init(struct ipset_store *s, unsigned key_len, unsigned stride);
void ipset_store_free(struct ipset_store *s);

static inline uint8_t *ipset_store_record(const struct ipset_store *s, uint32_t id)
{
	return s->records + (size_t)id * s->stride;
}

static inline bool ipset_store_holds(const struct ipset_store *s, uint32_t id)
{
	return !(ipset_store_record(s, id)[s->key_len] & STORE_GONE);
}

static inline uint64_t ipset_store_hash(const struct ipset_store *s, const void *key)
{
	return hash_bytes(&s->secret, key, s->key_len);
}

/* Where ipset_store_find() and ipset_store_add() will look; only sooner. */
static inline void ipset_store_prefetch(const struct ipset_store *s, uint64_t hash)
{
	if (s->n_slots)
		__builtin_prefetch(&s->slots[(uint32_t)hash & (s->n_slots - 1)], 1);
}

/* The record's number or STORE_NONE; `hash` is the key's. */
uint32_t ipset_store_find(const struct ipset_store *s, const void *key, uint64_t hash);
/* A new record, zeroed behind its key; no other may have the key. 0 or -ENOMEM. */
int ipset_store_add(struct ipset_store *s, const void *key, uint64_t hash, uint32_t *id);
void ipset_store_remove(struct ipset_store *s, uint32_t id);
/* Needs no memory if the record was counted in `pinned` since it was removed. */
void ipset_store_put_back(struct ipset_store *s, uint32_t id);
/* Gives up the places of removed records; numbers change. After -ENOMEM all is as it was. */
int ipset_store_pack(struct ipset_store *s);
size_t ipset_store_bytes(const struct ipset_store *s);

#endif
