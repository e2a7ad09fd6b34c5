/* SPDX-License-Identifier: Apache-2.0 */
/* rank: see rank.h. */
#include "base/rank.h"

static uint32_t count_of(const struct rank_node *n)
{
	return n ? n->n : 0;
}

static struct rank_node **link_to(struct rank *r, const struct rank_node *n)
{
	if (!n->up)
		return &r->root;
	return n->up->left == n ? &n->up->left : &n->up->right;
}

/* A node and the one above it change places; what is between them goes over. */
static void rise(struct rank *r, struct rank_node *n)
{
	struct rank_node *up = n->up, **link = link_to(r, up);
	struct rank_node **inner = up->left == n ? &n->right : &n->left;

	*(up->left == n ? &up->left : &up->right) = *inner;
	if (*inner)
		(*inner)->up = up;
	*inner = up;
	n->up = up->up;
	up->up = n;
	*link = n;
	n->n = up->n;
	up->n = count_of(up->left) + count_of(up->right) + 1;
}

void rank_insert(struct rank *r, struct rank_node *before, struct rank_node *node)
{
	struct rank_node **link = before ? &before->left : &r->root, *up = before;

	for (; *link; link = &up->right)
		up = *link;
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	*node = (struct rank_node){.up = up, .n = 1, .priority = (uint32_t)(r->random >> 32)};
	*link = node;
	for (; up; up = up->up)
		up->n++;
	while (node->up && node->up->priority < node->priority)
		rise(r, node);
}

void rank_remove(struct rank *r, struct rank_node *node)
{
	while (node->left && node->right)
		rise(r, node->left->priority > node->right->priority ? node->left : node->right);
	struct rank_node *below = node->left ? node->left : node->right;

	*link_to(r, node) = below;
	if (below)
		below->up = node->up;
	for (struct rank_node *up = node->up; up; up = up->up)
		up->n--;
	*node = (struct rank_node){0};
}

struct rank_node *rank_at(const struct rank *r, uint64_t k)
{
	struct rank_node *n = r->root;

	while (n && k != count_of(n->left)) {
		if (k < count_of(n->left)) {
			n = n->left;
		} else {
			k -= count_of(n->left) + 1u;
			n = n->right;
		}
	}
	return n;
}
