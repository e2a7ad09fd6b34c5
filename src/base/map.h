/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map: bytes -> pointer, for the control side (names of chains and sets, handles).
 *
 * The key bytes are not copied: they belong to the value and outlive its entry. Open addressing
 * with linear probing, keyed hash, load at most 3/4; insert, find and remove are O(1) amortised,
 * growing is O(n). Not for the packet path. One thread at a time.
 */
#ifndef TAMIS_MAP_H
#define TAMIS_MAP_H

#include "base/base.h"
#include "base/hash.h"

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t n, used, cap; /* used counts removed slots too */
	struct hash_secret secret;
};

#define MAP_INIT ((struct map){0})

/* 0, -EEXIST (the entry that is there stays) or -errno. */
int map_insert(struct map *m, const void *key, size_t len, void *value);
/* The value or NULL. */
void *map_find(const struct map *m, const void *key, size_t len);
/*
 * Puts another key (equal bytes, other memory) and value in the place of an entry; needs no memory.
 * Returns the old value and, if old_key is not NULL, the old key; NULL if there was no entry, and
 * then does nothing.
 */
void *map_replace(struct map *m, const void *key, size_t len, void *value, const void **old_key);
/* Takes the entry out and returns its value, NULL if there is none. */
void *map_remove(struct map *m, const void *key, size_t len);
void map_free(struct map *m);

static inline int map_insert_str(struct map *m, const char *key, void *value)
{
	return map_insert(m, key, strlen(key), value);
}

static inline void *map_find_str(const struct map *m, const char *key)
{
	return map_find(m, key, strlen(key));
}

static inline void *map_remove_str(struct map *m, const char *key)
{
	return map_remove(m, key, strlen(key));
}

#endif
