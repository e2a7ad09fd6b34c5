/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree_internal: the layout of a node, shared by changes and lookups. */
#ifndef TAMIS_INTERVAL_TREE_INTERNAL_H
#define TAMIS_INTERVAL_TREE_INTERNAL_H

#include "set/interval_tree.h"
#include "set/set_internal.h"

enum { FANOUT = 32 };

/*
 * Then follow, w words a key: lo, word by word, of each entry; the highest end of it; the element
 * or child; in inner nodes the end of the range whose lo the entry has. Of entries that are not
 * there the first word of lo is the highest number.
 */
struct interval_node {
	struct rcu_head rcu;
	uint64_t stamp;
	uint16_t n;
	bool leaf;
	uint8_t level; /* of a leaf 0 */
	uint64_t col[] __attribute__((aligned(64)));
};

static inline const uint64_t *node_lo(const struct interval_node *n)
{
	return n->col;
}

static inline const uint64_t *node_max(const struct interval_node *n, unsigned words)
{
	return n->col + words * FANOUT;
}

static inline void *const *node_ptr(const struct interval_node *n, unsigned words)
{
	_Static_assert(sizeof(void *) == sizeof(uint64_t), "pointers are a column");
	return (void *const *)(n->col + (size_t)2 * words * FANOUT);
}

static inline const uint64_t *node_end(const struct interval_node *n, unsigned words)
{
	return n->leaf ? node_max(n, words) : n->col + (size_t)(2 * words + 1) * FANOUT;
}

/* Entry i of a column of keys against a key. */
static inline int entry_cmp(const uint64_t *col, unsigned i, const struct interval_key *key,
			    unsigned words)
{
	for (unsigned k = 0; k < words; k++, col += FANOUT)
		if (col[i] != key->w[k])
			return col[i] < key->w[k] ? -1 : 1;
	return 0;
}

struct interval_tree_ops {
	const char *name;
	bool (*usable)(void);
	uint64_t (*lookup)(const struct interval_node *const *roots, const struct interval_burst *b,
			   uint64_t mask);
};

extern const struct interval_tree_ops interval_tree_scalar, interval_tree_avx2,
	interval_tree_avx512;

#endif
