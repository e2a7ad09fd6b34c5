/* SPDX-License-Identifier: Apache-2.0 */
/* connlimit: see connlimit.h. */
#include "state/connlimit.h"

#include <stdlib.h>

struct state_conns_node {
	uint64_t id;
	struct state_conns_node *kid[2]; /* spare: kid[0] is the next one */
	struct list ring;
};

/* --- memory --------------------------------------------------------------------------------- */

static void spare_put(struct state_conns *s, struct state_conns_node *n)
{
	n->kid[0] = s->spare;
	s->spare = n;
	s->n++;
}

static struct state_conns_node *spare_take(struct state_conns *s)
{
	struct state_conns_node *n = s->spare;

	if (n) {
		s->spare = n->kid[0];
		s->n--;
	}
	return n;
}

int state_conns_provide(struct state_conns *s, uint32_t n)
{
	while (s->n > 2 * n)
		free(spare_take(s));
	while (s->n < n) {
		struct state_conns_node *more = malloc(sizeof(*more));

		if (!more)
			return -ENOMEM;
		spare_put(s, more);
	}
	return 0;
}

/* --- the tree ------------------------------------------------------------------------------- */

/* One to one. (Stafford's variant 13 of the finalizer of MurmurHash3.) */
static uint64_t scatter(uint64_t id)
{
	id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9ULL;
	id = (id ^ id >> 27) * 0x94d049bb133111ebULL;
	return id ^ id >> 31;
}

/* Where the connection is, or would be put. */
static struct state_conns_node **place(struct connlimit *c, uint64_t id)
{
	struct state_conns_node **at = &c->root;

	for (uint64_t bits = scatter(id); *at && (*at)->id != id; bits >>= 1)
		at = &(*at)->kid[bits & 1];
	return at;
}

/* Any one below may stand in the place of one that goes: the bits that lead there are its own. */
static void tree_remove(struct state_conns_node **at)
{
	struct state_conns_node *gone = *at, *leaf = gone, **link = at;

	while (leaf->kid[0] || leaf->kid[1]) {
		link = &leaf->kid[!leaf->kid[0]];
		leaf = *link;
	}
	*link = NULL;
	if (leaf == gone)
		return;
	memcpy(leaf->kid, gone->kid, sizeof(leaf->kid));
	*at = leaf;
}

static void put(struct connlimit *c, struct state_conns_node **at, struct state_conns_node *n,
		uint64_t id)
{
	n->id = id;
	n->kid[0] = n->kid[1] = NULL;
	*at = n;
	if (c->next) {
		list_insert(&n->ring, &c->next->ring);
	} else {
		list_init(&n->ring);
		c->next = n;
	}
	c->n++;
}

/* --- connections ---------------------------------------------------------------------------- */

static struct state_conns_node *behind(const struct state_conns_node *n)
{
	return container_of(n->ring.next, struct state_conns_node, ring);
}

/* Takes out the one at which the walk is. */
static struct state_conns_node *drop_next(struct connlimit *c)
{
	struct state_conns_node *gone = c->next;

	tree_remove(place(c, gone->id));
	c->next = --c->n ? behind(gone) : NULL;
	list_remove(&gone->ring);
	return gone;
}

void connlimit_fini(struct connlimit *c)
{
	while (c->next)
		free(drop_next(c));
}

static void collect_dead(struct connlimit *c, const struct state_conn *conn)
{
	uint32_t looks = MIN(c->n, (uint32_t)CONNLIMIT_GC_LOOKS);

	for (unsigned dead = 0; looks && dead < CONNLIMIT_GC_DEAD; looks--) {
		if (conn->alive(conn->ctx, c->next->id)) {
			c->next = behind(c->next);
		} else {
			spare_put(conn->conns, drop_next(c));
			dead++;
		}
	}
}

int connlimit_add(struct connlimit *c, const struct state_conn *conn)
{
	struct state_conns_node **at, *n;

	collect_dead(c, conn);
	at = place(c, conn->conn);
	if (*at)
		return 0;
	n = spare_take(conn->conns);
	if (!n)
		return -ENOBUFS;
	put(c, at, n, conn->conn);
	return 0;
}

/* In the ring's order, so that both walk alike. */
int connlimit_copy(struct connlimit *to, const struct connlimit *from)
{
	const struct state_conns_node *n = from->next;

	for (uint32_t i = 0; i < from->n; i++, n = behind(n)) {
		struct state_conns_node *twin = malloc(sizeof(*twin));

		if (!twin)
			return -ENOMEM;
		put(to, place(to, n->id), twin, n->id);
	}
	return 0;
}
