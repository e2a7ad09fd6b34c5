/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_store: see ipset_store.h. */
#include "compat/ipset_store.h"

#include <stdlib.h>

enum { SLOTS_MIN = 16, RECORDS_MIN = 16 };

/* Places that are none of a record. */
#define PLACE_FREE    0
#define PLACE_REMOVED UINT32_MAX

int ipset_store_init(struct ipset_store *s, unsigned key_len, unsigned stride)
{
	*s = (struct ipset_store){.key_len = (uint16_t)key_len, .stride = (uint16_t)stride};
	return hash_secret_draw(&s->secret);
}

void ipset_store_free(struct ipset_store *s)
{
	free(s->records);
	free(s->slots);
	s->records = NULL;
	s->slots = NULL;
	s->cap = s->n = s->live = s->n_slots = s->used = s->pinned = 0;
}

/* The slot of the key, or n_slots. */
static uint32_t slot_find(const struct ipset_store *s, const void *key, uint32_t hash)
{
	uint32_t mask = s->n_slots - 1, at;

	if (!s->n_slots)
		return 0;
	for (at = hash & mask; s->slots[at].place != PLACE_FREE; at = (at + 1) & mask) {
		const struct ipset_slot *slot = &s->slots[at];

		if (slot->hash == hash && slot->place != PLACE_REMOVED &&
		    memcmp(ipset_store_record(s, slot->place - 1), key, s->key_len) == 0)
			return at;
	}
	return s->n_slots;
}

static void slot_take(struct ipset_store *s, uint32_t id, uint32_t hash)
{
	uint32_t mask = s->n_slots - 1, at = hash & mask;

	while (s->slots[at].place != PLACE_FREE && s->slots[at].place != PLACE_REMOVED)
		at = (at + 1) & mask;
	s->used += s->slots[at].place == PLACE_FREE;
	s->slots[at] = (struct ipset_slot){hash, id + 1};
}

/* Room in the index for half as many records more than there are and may come back. */
static int slots_grow(struct ipset_store *s)
{
	uint64_t want = (uint64_t)s->live + s->pinned + s->live / 2 + 1, size = SLOTS_MIN;
	struct ipset_slot *old = s->slots, *slots;
	uint32_t n_old = s->n_slots;

	while (size * 3 / 4 < want)
		size *= 2;
	slots = size <= UINT32_MAX ? calloc(size, sizeof(*slots)) : NULL;
	if (!slots)
		return -ENOMEM;
	s->slots = slots;
	s->n_slots = (uint32_t)size;
	s->used = 0;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].place != PLACE_FREE && old[i].place != PLACE_REMOVED)
			slot_take(s, old[i].place - 1, old[i].hash);
	free(old);
	return 0;
}

uint32_t ipset_store_find(const struct ipset_store *s, const void *key, uint64_t hash)
{
	uint32_t at = slot_find(s, key, (uint32_t)hash);

	return at < s->n_slots ? s->slots[at].place - 1 : STORE_NONE;
}

int ipset_store_add(struct ipset_store *s, const void *key, uint64_t hash, uint32_t *id)
{
	uint8_t *record;
	int err;

	if (s->n == UINT32_MAX - 2)
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
	slot_take(s, s->n, (uint32_t)hash);
	*id = s->n++;
	s->live++;
	return 0;
}

void ipset_store_remove(struct ipset_store *s, uint32_t id)
{
	uint8_t *record = ipset_store_record(s, id);

	s->slots[slot_find(s, record, (uint32_t)ipset_store_hash(s, record))].place = PLACE_REMOVED;
	record[s->key_len] |= STORE_GONE;
	s->live--;
}

void ipset_store_put_back(struct ipset_store *s, uint32_t id)
{
	uint8_t *record = ipset_store_record(s, id);

	record[s->key_len] &= (uint8_t)~STORE_GONE;
	slot_take(s, id, (uint32_t)ipset_store_hash(s, record));
	s->live++;
}

int ipset_store_pack(struct ipset_store *s)
{
	struct ipset_slot *slots;
	uint32_t n = 0;

	if (!s->n_slots)
		return 0;
	slots = calloc(s->n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->used = 0;
	for (uint32_t id = 0; id < s->n; id++)
		if (ipset_store_holds(s, id)) {
			uint8_t *record = ipset_store_record(s, n);

			memmove(record, ipset_store_record(s, id), s->stride);
			slot_take(s, n++, (uint32_t)ipset_store_hash(s, record));
		}
	s->n = n;
	s->pinned = 0;
	return 0;
}

size_t ipset_store_bytes(const struct ipset_store *s)
{
	return s->cap * s->stride + s->n_slots * sizeof(*s->slots);
}
