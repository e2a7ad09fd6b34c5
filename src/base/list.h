/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: doubly linked rings, whose links stand in what is listed.
 *
 * A head is a link of its own; a link that is nowhere leads to itself. Nothing is allocated or
 * freed. O(1).
 */
#ifndef TAMIS_BASE_LIST_H
#define TAMIS_BASE_LIST_H

#include "base/base.h"

struct list {
	struct list *prev, *next;
};

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

/* Before a link, or before the head: at the end. */
static inline void list_insert(struct list *l, struct list *before)
{
	l->prev = before->prev;
	l->next = before;
	before->prev->next = l;
	before->prev = l;
}

/* The link keeps its neighbours, so that list_restore() can undo this in reverse order. */
static inline void list_take(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

static inline void list_restore(struct list *l)
{
	l->prev->next = l;
	l->next->prev = l;
}

static inline void list_remove(struct list *l)
{
	list_take(l);
	list_init(l);
}

#define list_foreach(l, head) for (struct list *l = (head)->next; l != (head); l = l->next)
/* l may be taken out and freed. */
#define list_foreach_safe(l, head)                                                                 \
	for (struct list *l = (head)->next, *l##_next = l->next; l != (head);                      \
	     l = l##_next, l##_next = l->next)

#endif
