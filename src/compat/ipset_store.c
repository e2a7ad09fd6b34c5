/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_store: see ipset_store.h. */
#include "compat/ipset_store.h"

#include <stdlib.h>

enum { SLOTS_MIN = 16, RECORDS_MIN = 16, FILL_BURST = 16 };

/* Tags; those of records are the others. */
enum { FREE, REMOVED, TAKEN };

int ipset_store_init(struct ipset_store *s, unsigned key_len, unsigned stride)
{
	*s = (struct ipset_store){.key_len = (uint16_t)key_len, .stride = (uint16_t)stride};
	return hash_secret_draw(&s->secret);
}

void ipset_store_free(struct ipset_store *s)
{
	free(s->records);
	free(s->slots);
	free(s->tags);
	s->records = NULL;
	s->slots = NULL;
	s->tags = NULL;
	s->cap = s->n = s->live = s->n_slots = s->used = s->pinned = 0;
}

static uint8_t tag_of(uint64_t hash)
{
	uint8_t tag = (uint8_t)(hash >> 56);

	return tag < TAKEN ? tag + TAKEN : tag;
}

/* The place of the key, or n_slots. */
static uint32_t slot_find(const struct ipset_store *s, const void *key, uint64_t hash)
{
	uint32_t mask = s->n_slots - 1, at;
	uint8_t tag = tag_of(hash);

	if (!s->n_slots)
		return 0;
	for (at = (uint32_t)hash & mask; s->tags[at] != FREE; at = (at + 1) & mask) {
		if (s->tags[at] == tag &&
		    memcmp(ipset_store_record(s, s->slots[at]), key, s->key_len) == 0)
			return at;
	}
	return s->n_slots;
}

static void slot_take(struct ipset_store *s, uint32_t id, uint64_t hash)
{
	uint32_t mask = s->n_slots - 1, at = (uint32_t)hash & mask;

	while (s->tags[at] >= TAKEN)
		at = (at + 1) & mask;
	s->used += s->tags[at] == FREE;
	s->tags[at] = tag_of(hash);
	s->slots[at] = id;
}

/* All records into an empty index; several at once, so that their cache misses overlap. */
static void slots_fill(struct ipset_store *s)
{
	uint64_t hash[FILL_BURST];
	uint32_t which[FILL_BURST], n = 0;

	s->used = 0;
	for (uint32_t id = 0; id < s->n; id++) {
		if (ipset_store_holds(s, id)) {
			uint32_t at;

			hash[n] = ipset_store_hash(s, ipset_store_record(s, id));
			at = (uint32_t)hash[n] & (s->n_slots - 1);
			__builtin_prefetch(&s->tags[at], 1);
			__builtin_prefetch(&s->slots[at], 1);
			which[n++] = id;
		}
		if (n == FILL_BURST || id + 1 == s->n) {
			for (uint32_t i = 0; i < n; i++)
				slot_take(s, which[i], hash[i]);
			n = 0;
		}
	}
}

/* An empty index of n_slots places. */
static int slots_make(struct ipset_store *s, uint32_t n_slots)
{
	uint32_t *slots = malloc(n_slots * sizeof(*slots));
	uint8_t *tags = calloc(n_slots, 1);

	if (!slots || !tags) {
		free(slots);
		free(tags);
		return -ENOMEM;
	}
	free(s->slots);
	free(s->tags);
	s->slots = slots;
	s->tags = tags;
	s->n_slots = n_slots;
	return 0;
}

/* Room in the index for half as many records more than there are and may come back. */
static int slots_grow(struct ipset_store *s)
{
	uint64_t want = (uint64_t)s->live + s->pinned + s->live / 2 + 1, size = SLOTS_MIN;
	int err;

	while (size * 3 / 4 < want)
		size *= 2;
	if (size > UINT32_MAX)
		return -ENOMEM;
	err = slots_make(s, (uint32_t)size);
	if (!err)
		slots_fill(s);
	return err;
}

uint32_t ipset_store_find(const struct ipset_store *s, const void *key, uint64_t hash)
{
	uint32_t at = slot_find(s, key, hash);

	return at < s->n_slots ? s->slots[at] : STORE_NONE;
}

int ipset_store_add(struct ipset_store *s, const void *key, uint64_t hash, uint32_t *id)
{
	uint8_t *record;
	int err;

	if (s->n == UINT32_MAX - 1)
		return -ENOMEM;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 2 : RECORDS_MIN;

		record = realloc(s->records, cap * s->stride);
		if (!record)
			return -ENOMEM;
		s->records = record;
		s->cap = cap;
	}
	if ((uint64_t)s->used + 1 > (uint64_t)s->n_slots * 3 / 4) {
		err = slots_grow(s);
		if (err)
			return err;
	}
	record = ipset_store_record(s, s->n);
	memcpy(record, key, s->key_len);
	memset(record + s->key_len, 0, s->stride - s->key_len);
	slot_take(s, s->n, hash);
	*id = s->n++;
	s->live++;
	return 0;
}

void ipset_store_remove(struct ipset_store *s, uint32_t id)
{
	uint8_t *record = ipset_store_record(s, id);

	s->tags[slot_find(s, record, ipset_store_hash(s, record))] = REMOVED;
	record[s->key_len] |= STORE_GONE;
	s->live--;
}

void ipset_store_put_back(struct ipset_store *s, uint32_t id)
{
	uint8_t *record = ipset_store_record(s, id);

	record[s->key_len] &= (uint8_t)~STORE_GONE;
	slot_take(s, id, ipset_store_hash(s, record));
	s->live++;
}

int ipset_store_pack(struct ipset_store *s)
{
	uint32_t n = 0;
	int err;

	if (!s->n_slots)
		return 0;
	err = slots_make(s, s->n_slots);
	if (err)
		return err;
	for (uint32_t id = 0; id < s->n; id++)
		if (ipset_store_holds(s, id))
			memmove(ipset_store_record(s, n++), ipset_store_record(s, id), s->stride);
	s->n = n;
	s->pinned = 0;
	slots_fill(s);
	return 0;
}

size_t ipset_store_bytes(const struct ipset_store *s)
{
	return s->cap * s->stride + s->n_slots * (sizeof(*s->slots) + 1);
}
