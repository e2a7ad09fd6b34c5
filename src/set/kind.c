/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind: a bitmap that packets are about to add to becomes a set of kind "hash".
 *
 * Packets ask for no memory, and a bitmap has nothing that could be made ready for them. It has no
 * readers on other threads, so that its contents change in one go between two bursts; whoever has
 * the set goes on having it, handles of elements are others. One thread. Cost: O(n log n), once.
 */
#include "set/set_internal.h"

static int copy_elements(struct set *to, struct set *from)
{
	struct set_cursor *c;
	struct set_view v;
	int err = set_cursor_open(from, SET_CURSOR_USER, NULL, 0, &c);

	if (err)
		return err;
	while (!err && set_cursor_next(c, &v)) {
		struct set_item item = {.lo = v.lo, .catchall = v.catchall, .comment = v.comment};

		err = v.ext ? -EOPNOTSUPP : set_add(to, &item, 0, 0, NULL);
	}
	set_cursor_close(c);
	return err;
}

int set_become_hash(struct set *s)
{
	struct set_desc d = s->desc;
	struct set *n, was;
	int err;

	d.dynamic = true;
	err = set_new(&d, &n);
	if (err)
		return err;
	err = copy_elements(n, s);
	if (!err) {
		n->stats = s->stats;
		n->updates = s->updates;
		n->update_columns = s->update_columns;
		n->update_bytes = s->update_bytes;
		was = *s;
		*s = *n;
		*n = was;
	}
	set_free(n);
	if (err != -EOPNOTSUPP)
		return err;
	s->updates = 0; /* elements that have states stay, and packets ask for memory */
	return 0;
}
