/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interface: names of network interfaces, and the indexes they have in one engine.
 *
 * There is no kernel to ask: every name gets the next index when it turns up, in a ruleset or with
 * a packet. "lo" is 1. Names are never taken away; the last index is TAMIS_INTERFACES_MAX. Those that
 * are longer than Linux has them belong to other data planes: no rule can name one.
 *
 * The control side adds, the packet path reads between its changes. Cost: O(1) expected.
 */
#ifndef TAMIS_ENGINE_INTERFACE_H
#define TAMIS_ENGINE_INTERFACE_H

#include "base/base.h"

enum { INTERFACE_NAME_LEN = 16, INTERFACE_NAME_MAX = 63 };

struct interface_table; /* opaque */

int interface_table_new(struct interface_table **out);
void interface_table_free(struct interface_table *t);

/* 0, -EINVAL (empty or more than INTERFACE_NAME_MAX bytes, or with a NUL), -ENOSPC, -ENOMEM. */
int interface_intern(struct interface_table *t, const char *name, size_t len, uint32_t *index);
/* NULL if there is no such index. Valid until the next interface_intern(). */
const char *interface_name(const struct interface_table *t, uint32_t index);
uint32_t interface_count(const struct interface_table *t);
/* All names, that of index i at [i - 1], padded with zeros; all zeros for a longer one. */
const char (*interface_names(const struct interface_table *t))[INTERFACE_NAME_LEN];

#endif
