/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: the prefixes of this host, and the path that packets take because of them.
 *
 * Two sets of intervals, one a protocol: a look at 64 packets is four batch lookups, whatever the
 * number of prefixes. One thread.
 */
#ifndef TAMIS_ENGINE_LOCAL_H
#define TAMIS_ENGINE_LOCAL_H

#include "packet/burst.h"
#include "set/set.h"

struct local {
	struct set *ip, *ip6; /* NULL: no prefix yet */
	unsigned n;
};

void local_free(struct local *l);
/* "192.0.2.0/24", "2001:db8::1". 0, -EINVAL, -ENOSPC, -ENOMEM. */
int local_add(struct local *l, const char *prefix);
/* The packets of b whose destination is local, and those whose source is. b is parsed. */
void local_find(const struct local *l, const struct burst *b, burst_mask *to, burst_mask *from);
/* Whether packet i of b, an IP packet, goes to or comes from here. */
bool local_has(const struct local *l, const struct burst *b, unsigned i, bool source);

#endif
