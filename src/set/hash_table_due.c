/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_due: a 4-ary heap of segments by their earliest expiry.
 *
 * A segment stands in it once something in it expires. Its due time is never later than the
 * earliest expiry in it: refreshed elements leave it alone, a scan puts it right. Room for every
 * segment is reserved, so that a segment that takes another's place always has one.
 */
#include "set/hash_table_internal.h"

int due_reserve(struct hash_table *t)
{
	if (t->n_segments <= t->heap_cap)
		return 0;
	uint32_t cap = MAX(t->n_segments * 2, 4);
	struct due_slot *heap = realloc(t->heap, cap * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	__atomic_fetch_add(&t->bytes, (cap - t->heap_cap) * sizeof(*heap), __ATOMIC_RELAXED);
	t->heap = heap;
	t->heap_cap = cap;
	return 0;
}

static void put(struct hash_table *t, uint32_t i, struct due_slot slot)
{
	t->heap[i] = slot;
	slot.seg->heap_pos = i;
}

static void sift_up(struct hash_table *t, uint32_t i, struct due_slot slot)
{
	while (i && t->heap[(i - 1) / 4].due > slot.due) {
		put(t, i, t->heap[(i - 1) / 4]);
		i = (i - 1) / 4;
	}
	put(t, i, slot);
}

static void sift_down(struct hash_table *t, uint32_t i, struct due_slot slot)
{
	for (;;) {
		uint32_t least = i * 4 + 1, last = MIN(least + 4, t->n_heap);
		if (least >= t->n_heap)
			break;
		for (uint32_t k = least + 1; k < last; k++)
			if (t->heap[k].due < t->heap[least].due)
				least = k;
		if (t->heap[least].due >= slot.due)
			break;
		put(t, i, t->heap[least]);
		i = least;
	}
	put(t, i, slot);
}

void due_set(struct hash_table *t, struct hash_segment *seg, uint64_t due)
{
	uint32_t i = seg->heap_pos;
	struct due_slot slot = {due, seg};

	seg->due = due;
	if (i == DUE_NOWHERE) {
		if (due == UINT64_MAX)
			return;
		i = t->n_heap++;
	} else if (due == UINT64_MAX) {
		seg->heap_pos = DUE_NOWHERE;
		slot = t->heap[--t->n_heap];
		if (i == t->n_heap)
			return;
	}
	if (i && t->heap[(i - 1) / 4].due > slot.due)
		sift_up(t, i, slot);
	else
		sift_down(t, i, slot);
}

void due_lower(struct hash_table *t, struct hash_segment *seg, uint64_t due)
{
	if (due < seg->due)
		due_set(t, seg, due);
}
