/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer: hash tables of 4-byte keys as the benchmark sees them, each in a file of its own, for their
 * headers define names that are also ours.
 */
#ifndef TAMIS_PEER_H
#define TAMIS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEER_BURST = 64 };

struct peer {
	const char *name;
	void *(*make)(size_t n);
	void (*drop)(void *h);
	void (*add)(void *h, const uint32_t *key);
	void (*del)(void *h, const uint32_t *key);
	unsigned (*burst)(void *h, const uint32_t *keys); /* may be NULL */
	bool (*one)(void *h, const uint32_t *key);
	size_t (*memory)(void);
	void (*settle)(void); /* lets it finish what it does in the background; may be NULL */
};

extern const struct peer peer_rte_hash, peer_lfht;

/* Registers this thread as a reader and writer; says that it looks at nothing. */
void peer_lfht_begin(void);
void peer_lfht_quiet(void);
void peer_lfht_end(void);
/* One that grows by itself. */
void *peer_lfht_growing(void);

#endif
