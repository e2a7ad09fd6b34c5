/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: the members of a set literal, one after the other, whether they are nodes or still text.
 *
 * What a parser leaves as text (EX_MEMBERS) it has parsed once, so that errors of grammar come
 * where they belong; here it is parsed again when it is needed, in the order of the text and with
 * the same places. The literal itself is only read: nodes are cloned. So a load of a million
 * elements needs its text and those few members that are looked at, not a tree.
 *
 * One thread. Cost of a member: that of parsing it.
 */
#ifndef TAMIS_LANG_MEMBERS_H
#define TAMIS_LANG_MEMBERS_H

#include "lang/ast.h"

struct members; /* opaque */

/* `set` is an EX_SET, or anything else, which is its only member then. 0 or -ENOMEM. */
int members_open(struct source_set *sources, const struct expr *set, struct members **out);
void members_close(struct members *m);
/*
 * The next members, at most `most`, as the list of a new EX_SET in arena `a`, where they are the
 * caller's to change; none at the end. 0 or -ENOMEM.
 */
int members_read(struct members *m, struct arena *a, uint32_t most, struct expr **out);
/*
 * Of JSON text from *at to `end`, for members_read() alone: up to `most` elements to the end of
 * set's list, *at behind them. In arena a, whose jump point is set. 0, -ENOMEM, or -EINVAL if it is
 * wrong, which is told.
 */
int json_elements_read(struct source_set *sources, uint32_t src, struct arena *a, uint32_t *at,
		       uint32_t end, uint32_t most, struct expr *set);
/* How many there are. */
uint32_t members_count(const struct expr *set);
/* All of them at once. */
int members_read_all(struct source_set *sources, struct arena *a, const struct expr *set,
		     struct expr **out);

#endif
