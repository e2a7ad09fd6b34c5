/* SPDX-License-Identifier: Apache-2.0 */
/* map: see map.h. A removed slot keeps a mark until the next growth, so that probes go on over it.
 */
#include "base/map.h"

#include <stdlib.h>

struct map_slot {
	const void *key; /* NULL: never used; REMOVED: was used */
	size_t len;
	uint64_t hash;
	void *value;
};

static const char removed_mark;
#define REMOVED ((const void *)&removed_mark)

static struct map_slot *probe(const struct map *m, uint64_t hash, const void *key, size_t len)
{
	if (!m->cap)
		return NULL;
	for (size_t i = hash & (m->cap - 1); m->slots[i].key; i = (i + 1) & (m->cap - 1)) {
		struct map_slot *s = &m->slots[i];
		if (s->key != REMOVED && s->hash == hash && s->len == len &&
		    (!len || !memcmp(s->key, key, len)))
			return s;
	}
	return NULL;
}

static void place(struct map_slot *slots, size_t cap, struct map_slot entry)
{
	size_t i = entry.hash & (cap - 1);
	while (slots[i].key)
		i = (i + 1) & (cap - 1);
	slots[i] = entry;
}

static int grow(struct map *m)
{
	if (!m->cap) {
		int err = hash_secret_draw(&m->secret);
		if (err)
			return err;
	}
	size_t cap = 8;
	while (cap / 2 <= m->n)
		cap *= 2;
	struct map_slot *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key && m->slots[i].key != REMOVED)
			place(slots, cap, m->slots[i]);
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	m->used = m->n;
	return 0;
}

int map_insert(struct map *m, const void *key, size_t len, void *value)
{
	if (m->used + 1 > m->cap / 4 * 3) {
		int err = grow(m);
		if (err)
			return err;
	}
	uint64_t hash = hash_bytes(&m->secret, key, len);
	if (probe(m, hash, key, len))
		return -EEXIST;
	place(m->slots, m->cap, (struct map_slot){key, len, hash, value});
	m->n++;
	m->used++;
	return 0;
}

void *map_find(const struct map *m, const void *key, size_t len)
{
	struct map_slot *s = probe(m, hash_bytes(&m->secret, key, len), key, len);
	return s ? s->value : NULL;
}

void *map_replace(struct map *m, const void *key, size_t len, void *value, const void **old_key)
{
	struct map_slot *s = probe(m, hash_bytes(&m->secret, key, len), key, len);
	if (!s)
		return NULL;
	void *before = s->value;
	if (old_key)
		*old_key = s->key;
	s->key = key;
	s->value = value;
	return before;
}

void *map_remove(struct map *m, const void *key, size_t len)
{
	struct map_slot *s = probe(m, hash_bytes(&m->secret, key, len), key, len);
	if (!s)
		return NULL;
	void *value = s->value;
	*s = (struct map_slot){.key = REMOVED};
	m->n--;
	return value;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = MAP_INIT;
}
