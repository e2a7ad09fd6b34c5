/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple_table: boxes by how much of their keys is the same, for lookups that look at few of them.
 *
 * The ranges of a box have some leading bits in common, so and so many in each field; rounded down
 * to a few steps these numbers are the box's tuple, and a mask over keys. All keys in a box are the
 * same under its mask. So boxes stand in a hash table by tuple and masked key; those that are the
 * same in that are a group, a box_tree. A lookup goes through the tuples that there are, masks the
 * key with each and looks the group up: in a burst all keys for one tuple, step by step. (Tuple
 * space search: Srinivasan, Suri and Varghese 1999; coarser tuples: Daly et al., TupleMerge, 2017.)
 *
 * A box that finds 16 others in its group goes by finer steps, at last by all of its leading bits:
 * what shares a group with it then has the same prefix, and is in order by what follows.
 *
 * There are at most TUPLE_MAX tuples. Boxes that would need another are in the one that masks all
 * away, a single group. Tuples come from a policy alone, never from packets.
 *
 * The hash is a product with a secret: a key that is looked up cannot make any group larger. A
 * tuple_dir leads from it to the group, and mostly says in half a cache line that there is none.
 *
 * Versions: as in interval_tree.h. All that readers look at hangs on a struct tuple_view; a change
 * copies what it touches if it does not have the stamp of the version: view, way to the group and
 * nodes of it. tuple_table_reserve() and tuple_table_reserve_take() do that and make room,
 * then a change cannot fail; revert takes the view before back.
 *
 * Cost, t tuples: lookup O(t) and what groups take; insert and delete O(log n), and in a version of
 * its own a copy of the view, 5 KB, and what tuple_dir.h says.
 */
#ifndef TAMIS_TUPLE_TABLE_H
#define TAMIS_TUPLE_TABLE_H

#include "set/set_internal.h"

enum { TUPLE_MAX = 64 };

struct tuple_view; /* opaque: what readers look at */

void tuple_table_free(struct tuple_table *t);
/* Room for an insertion of lo..hi next; makes the table. 0 or -ENOMEM. */
int tuple_table_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi);
/* The same for its removal. */
int tuple_table_reserve_take(struct set *s, struct set_elem *e);
void tuple_table_insert(struct set *s, struct set_elem *e);
void tuple_table_remove(struct set *s, struct set_elem *e);
struct set_elem *tuple_table_find(const struct set *s, const uint8_t *lo, const uint8_t *hi);
void tuple_table_each(const struct tuple_table *t, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx);

void tuple_table_begin(struct tuple_table *t);
void tuple_table_commit(struct tuple_table *t, struct rcu *rcu);
void tuple_table_revert(struct tuple_table *t);
/* The view of the control side, of a table or NULL. */
const struct tuple_view *tuple_table_view(const struct tuple_table *t);

/* As set_ops.match and set_ops.lookup, in a view or NULL. */
struct set_elem *tuple_view_match(const struct set *s, const struct tuple_view *v,
				  const uint8_t *key, uint64_t now);
uint64_t tuple_view_lookup(const struct set *s, const struct tuple_view *v, const uint8_t *keys,
			   size_t stride, uint64_t mask, const uint64_t *now,
			   struct set_elem **hit);

#endif
