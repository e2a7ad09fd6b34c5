/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_store: see ipset_store.h. */
#include "compat/ipset_store.h"

#include <stdlib.h>

enum { SLOTS_MIN = 16, RECORDS_MIN = 16 };

static const uint32_t removed = UINT32_MAX; /* in a slot */

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

static uint32_t slot_first(const struct ipset_store *s, const void *key)
{
	return (uint32_t)hash_bytes(&s->secret, key, s->key_len) & (s->n_slots - 1);
}

/* Where the key's record number is, or NULL. */
static uint32_t *slot_find(const struct ipset_store *s, const void *key)
{
	uint32_t at;

	if (!s->n_slots)
		return NULL;
	for (at = slot_first(s, key); s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
		if (s->slots[at] != removed &&
		    memcmp(ipset_store_record(s, s->slots[at] - 1), key, s->key_len) == 0)
			return &s->slots[at];
	}
	return NULL;
}

static void slot_take(struct ipset_store *s, uint32_t id)
{
	uint32_t at = slot_first(s, ipset_store_record(s, id));

	while (s->slots[at] && s->slots[at] != removed)
		at = (at + 1) & (s->n_slots - 1);
	s->used += !s->slots[at];
	s->slots[at] = id + 1;
}

/* An index for `n` records more than there are and may come back. */
static int slots_make(struct ipset_store *s, uint32_t n)
{
	uint64_t want = (uint64_t)s->live + s->pinned + n, size = SLOTS_MIN;
	uint32_t *slots;

	while (size * 3 / 4 < want)
		size *= 2;
	if (size > UINT32_MAX)
		return -ENOMEM;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = (uint32_t)size;
	s->used = 0;
	for (uint32_t id = 0; id < s->n; id++)
		if (ipset_store_holds(s, id))
			slot_take(s, id);
	return 0;
}

uint32_t ipset_store_find(const struct ipset_store *s, const void *key)
{
	const uint32_t *slot = slot_find(s, key);

	return slot ? *slot - 1 : STORE_NONE;
}

int ipset_store_add(struct ipset_store *s, const void *key, uint32_t *id)
{
	uint8_t *record;
	int err;

	if (s->n == UINT32_MAX - 1)
		return -ENOMEM;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 2 : RECORDS_MIN;

		record = reallocarray(s->records, cap, s->stride);
		if (!record)
			return -ENOMEM;
		s->records = record;
		s->cap = cap;
	}
	if ((uint64_t)s->used + 1 > (uint64_t)s->n_slots * 3 / 4) {
		err = slots_make(s, s->live / 2 + 1);
		if (err)
			return err;
	}
	record = ipset_store_record(s, s->n);
	memcpy(record, key, s->key_len);
	memset(record + s->key_len, 0, s->stride - s->key_len);
	slot_take(s, s->n);
	*id = s->n++;
	s->live++;
	return 0;
}

void ipset_store_remove(struct ipset_store *s, uint32_t id)
{
	uint8_t *record = ipset_store_record(s, id);

	*slot_find(s, record) = removed;
	record[s->key_len] |= STORE_GONE;
	s->live--;
}

void ipset_store_put_back(struct ipset_store *s, uint32_t id)
{
	ipset_store_record(s, id)[s->key_len] &= (uint8_t)~STORE_GONE;
	slot_take(s, id);
	s->live++;
}

int ipset_store_pack(struct ipset_store *s)
{
	uint32_t *slots = calloc(s->n_slots, sizeof(*slots)), n = 0;

	if (!slots && s->n_slots)
		return -ENOMEM;
	for (uint32_t id = 0; id < s->n; id++)
		if (ipset_store_holds(s, id))
			memmove(ipset_store_record(s, n++), ipset_store_record(s, id), s->stride);
	free(s->slots);
	s->slots = slots;
	s->n = n;
	s->used = s->pinned = 0;
	for (uint32_t id = 0; id < n; id++)
		slot_take(s, id);
	return 0;
}

size_t ipset_store_bytes(const struct ipset_store *s)
{
	return s->cap * s->stride + s->n_slots * sizeof(*s->slots);
}
