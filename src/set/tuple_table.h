/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple_table: boxes by how much of their keys is the same, for lookups that look at few of them.
 *
 * The ranges of a box have some leading bits in common, so and so many in each field; rounded down
 * to a few steps these numbers are the box's tuple, and a mask over keys. All keys in a box are the
 * same under its mask. So boxes stand in a hash table by tuple and masked key; those that are the
 * same in that are a group: up to eight in one piece of memory, more in a box_tree. A lookup goes
 * through the tuples that there are, masks the key with each and looks the group up: in a burst all
 * keys for one tuple, while the table's lines for the next are fetched. (Tuple space search:
 * Srinivasan, Suri and Varghese 1999; coarser tuples: Daly et al., TupleMerge, 2017.)
 *
 * A box that finds its group full goes by all of its leading bits, not rounded down: what shares a
 * group with it then has the same prefix, and is in order by what follows.
 *
 * There are at most 64 tuples. Boxes that would need another are in the one that masks all away, a
 * single group. Tuples come from a policy alone, never from packets.
 *
 * The hash is a product with a secret: a key that is looked up cannot make any group larger, and
 * groups whose hashes are the same are one tree, which does no harm. When the table is half full
 * it is moved to one of twice the size, a few entries with each change, so no change is long.
 *
 * Cost, t tuples: lookup O(t) and what group's trees take; insert and delete O(log n).
 */
#ifndef TAMIS_TUPLE_TABLE_H
#define TAMIS_TUPLE_TABLE_H

#include "set/set_internal.h"

void tuple_table_free(struct tuple_table *t);
/* Room for n insertions; makes the table. 0 or -ENOMEM. */
int tuple_table_reserve(struct set *s, size_t n);
void tuple_table_insert(struct set *s, struct set_elem *e);
void tuple_table_remove(struct set *s, struct set_elem *e);
struct set_elem *tuple_table_find(const struct set *s, const uint8_t *lo, const uint8_t *hi);
void tuple_table_each(const struct tuple_table *t, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx);
/* As set_ops.match and set_ops.lookup. */
struct set_elem *tuple_table_match(const struct set *s, const uint8_t *key, uint64_t now);
uint64_t tuple_table_lookup(const struct set *s, const uint8_t *keys, size_t stride, uint64_t mask,
			    const uint64_t *now, struct set_elem **hit);

#endif
