/* SPDX-License-Identifier: Apache-2.0 */
/* connlimit: see connlimit.h. Connections stand in an array for the walk and in a map by number. */
#include "state/connlimit.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

struct conn {
	uint64_t id;
	size_t at; /* in conns */
};

struct connlimit {
	VEC(struct conn *) conns;
	size_t next; /* where the walk goes on */
	struct map by_id;
};

struct connlimit *connlimit_new(void)
{
	return calloc(1, sizeof(struct connlimit));
}

void connlimit_free(struct connlimit *c)
{
	if (!c)
		return;
	vec_foreach (&c->conns, it)
		free(*it);
	vec_free(&c->conns);
	map_free(&c->by_id);
	free(c);
}

static void drop(struct connlimit *c, size_t at)
{
	struct conn *gone = c->conns.items[at];
	struct conn *last = c->conns.items[--c->conns.n];

	c->conns.items[at] = last;
	last->at = at;
	map_remove(&c->by_id, &gone->id, sizeof(gone->id));
	free(gone);
}

static void collect_dead(struct connlimit *c, const struct state_conn *conn)
{
	size_t looks = MIN(c->conns.n, (size_t)CONNLIMIT_GC_LOOKS);

	for (unsigned dead = 0; looks && dead < CONNLIMIT_GC_DEAD; looks--) {
		if (c->next >= c->conns.n)
			c->next = 0;
		if (conn->alive(conn->ctx, c->conns.items[c->next]->id)) {
			c->next++;
		} else {
			drop(c, c->next);
			dead++;
		}
	}
}

static int put(struct connlimit *c, uint64_t id)
{
	struct conn *new = malloc(sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = (struct conn){id, c->conns.n};
	int err = vec_reserve(&c->conns, c->conns.n + 1);
	if (!err)
		err = map_insert(&c->by_id, &new->id, sizeof(new->id), new);
	if (err) {
		free(new);
		return err;
	}
	c->conns.items[c->conns.n++] = new;
	return 0;
}

int connlimit_add(struct connlimit *c, const struct state_conn *conn)
{
	collect_dead(c, conn);
	if (map_find(&c->by_id, &conn->conn, sizeof(conn->conn)))
		return 0;
	return put(c, conn->conn);
}

int connlimit_copy(struct connlimit *to, const struct connlimit *from)
{
	for (size_t i = 0; i < from->conns.n; i++) {
		int err = put(to, from->conns.items[i]->id);
		if (err)
			return err;
	}
	to->next = from->next;
	return 0;
}

uint32_t connlimit_count(const struct connlimit *c)
{
	return (uint32_t)c->conns.n;
}
