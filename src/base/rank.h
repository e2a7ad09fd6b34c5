/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank: which is the k-th of a list whose members come and go anywhere?
 *
 * A tree in the order of the list; a node knows how many there are below it. Balance comes from a
 * random priority for each node (Seidel and Aragon, "Randomized search trees", 1996): each is above
 * those with a lower one. Nodes are the caller's; nothing is allocated.
 *
 * One thread at a time. All calls O(log n) expected.
 */
#ifndef TAMIS_BASE_RANK_H
#define TAMIS_BASE_RANK_H

#include "base/base.h"

struct rank_node {
	struct rank_node *up, *left, *right;
	uint32_t n; /* with those below */
	uint32_t priority;
};

/* Zeroed: an empty one. */
struct rank {
	struct rank_node *root;
	uint64_t random;
};

/* In front of `before`, NULL: at the end. */
void rank_insert(struct rank *r, struct rank_node *before, struct rank_node *node);
void rank_remove(struct rank *r, struct rank_node *node);
/* From 0 on; NULL beyond the end. */
struct rank_node *rank_at(const struct rank *r, uint64_t k);

#endif
