/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak_hash: a read side like the scalar one, under whose first secret all keys are of one segment,
 * however often it is split: it does not hold many, and an alarm makes another secret. For one
 * table at a time; threads may use that.
 */
#ifndef TAMIS_WEAK_HASH_H
#define TAMIS_WEAK_HASH_H

#include "set/hash_table_internal.h"

/* To a table that is empty, and not yet in other threads' hands. */
void weak_hash_give(struct hash_table *t);
/* True while its secret is the first one. */
bool weak_hash_is(const struct hash_table *t);

#endif
