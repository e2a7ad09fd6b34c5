/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connlimit: a set of connections that were seen and, as far as known, still live.
 *
 * Connections are opaque numbers, never used again for another one. Each look at the set drops some
 * of those that are gone: it walks round until CONNLIMIT_GC_DEAD were found or CONNLIMIT_GC_LOOKS
 * were looked at, going on next time where it stopped. So a set of up to CONNLIMIT_GC_LOOKS is
 * exact but for more than CONNLIMIT_GC_DEAD that end between two looks. One thread.
 *
 * Each connection is a piece of memory that comes out of the spare ones of struct state_conns and
 * goes back there. They stand in a ring for the walk, and in a digital search tree by the scattered
 * bits of their number: so no number of connections, and nobody who chooses them, makes it deeper
 * than 64. (Coffman and Eve, "File structures using hashing functions", 1970.)
 */
#ifndef TAMIS_STATE_CONNLIMIT_H
#define TAMIS_STATE_CONNLIMIT_H

#include "base/list.h"
#include "state/state.h"

enum { CONNLIMIT_GC_DEAD = 8, CONNLIMIT_GC_LOOKS = 256 };

/* As zeros it is empty. */
struct connlimit {
	struct state_conns_node *root,
		*next; /* next: where the walk goes on; NULL: none are here */
	uint32_t n;
};

void connlimit_fini(struct connlimit *c);
/* Drops dead connections, adds this one if it is new; 0 or -ENOBUFS. */
int connlimit_add(struct connlimit *c, const struct state_conn *conn);
/* Makes `to`, which is empty, have the same connections; 0 or -ENOMEM. */
int connlimit_copy(struct connlimit *to, const struct connlimit *from);

#endif
