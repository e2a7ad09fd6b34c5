/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connlimit: a set of connections that were seen and, as far as known, still live.
 *
 * Connections are opaque numbers, never used again for another one. Each look at the set drops some
 * of those that are gone: it walks round until CONNLIMIT_GC_DEAD were found or CONNLIMIT_GC_LOOKS
 * were looked at, going on next time where it stopped. So a set of up to CONNLIMIT_GC_LOOKS is
 * exact but for more than CONNLIMIT_GC_DEAD that end between two looks. One thread.
 */
#ifndef TAMIS_STATE_CONNLIMIT_H
#define TAMIS_STATE_CONNLIMIT_H

#include "base/base.h"
#include "state/state.h"

enum { CONNLIMIT_GC_DEAD = 8, CONNLIMIT_GC_LOOKS = 256 };

struct connlimit; /* opaque */

struct connlimit *connlimit_new(void);
void connlimit_free(struct connlimit *c);
/* Drops dead connections, adds this one if it is new; 0 or -ENOMEM. */
int connlimit_add(struct connlimit *c, const struct state_conn *conn);
/* Makes `to`, which has none, have the same connections; 0 or -ENOMEM. */
int connlimit_copy(struct connlimit *to, const struct connlimit *from);
uint32_t connlimit_count(const struct connlimit *c);

#endif
