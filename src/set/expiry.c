/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry: a 4-ary heap of elements by the time that they end.
 *
 * A slot's `due` is never later than its element's expiry. A refresh, which moves the expiry away,
 * leaves the slot alone: it is put right when it comes to the top. So a refresh from the packet
 * path is O(1), everything else O(log n). An expiry that comes nearer moves its slot at once.
 * The array never shrinks while the set lives: an element that was taken out can always come back.
 */
#include "set/set_internal.h"

struct expiry_slot {
	uint64_t due;
	struct set_elem *e;
};

int expiry_reserve(struct expiry *x, uint32_t more)
{
	if (more <= x->cap - x->n)
		return 0;
	uint64_t cap = MAX((uint64_t)x->cap * 2, 16);
	while (cap - x->n < more)
		cap *= 2;
	if (cap >= EXPIRY_NONE)
		return -ENOMEM;
	struct expiry_slot *slots = realloc(x->slots, cap * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	x->slots = slots;
	x->cap = (uint32_t)cap;
	return 0;
}

static void put(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	x->slots[i] = slot;
	slot.e->expiry_pos = i;
}

static void sift_up(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	while (i) {
		uint32_t up = (i - 1) / 4;
		if (x->slots[up].due <= slot.due)
			break;
		put(x, i, x->slots[up]);
		i = up;
	}
	put(x, i, slot);
}

static void sift_down(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	for (;;) {
		uint64_t first = (uint64_t)i * 4 + 1;
		if (first >= x->n)
			break;
		uint32_t least = (uint32_t)first;
		uint32_t last = (uint32_t)MIN(first + 4, x->n);
		for (uint32_t k = least + 1; k < last; k++)
			if (x->slots[k].due < x->slots[least].due)
				least = k;
		if (x->slots[least].due >= slot.due)
			break;
		put(x, i, x->slots[least]);
		i = least;
	}
	put(x, i, slot);
}

void expiry_insert(struct expiry *x, struct set_elem *e)
{
	uint32_t i = x->n++;
	sift_up(x, i, (struct expiry_slot){e->expires, e});
}

void expiry_remove(struct expiry *x, struct set_elem *e)
{
	uint32_t i = e->expiry_pos;
	struct expiry_slot last = x->slots[--x->n];

	e->expiry_pos = EXPIRY_NONE;
	if (i == x->n)
		return;
	if (i && x->slots[(i - 1) / 4].due > last.due)
		sift_up(x, i, last);
	else
		sift_down(x, i, last);
}

void expiry_update(struct expiry *x, struct set_elem *e)
{
	if (e->expires < x->slots[e->expiry_pos].due)
		sift_up(x, e->expiry_pos, (struct expiry_slot){e->expires, e});
}

struct set_elem *expiry_due(struct expiry *x, uint64_t now, unsigned *steps)
{
	while (x->n && x->slots[0].due <= now) {
		struct set_elem *e = x->slots[0].e;
		if (e->expires <= now)
			return e;
		if (!*steps)
			return NULL;
		--*steps;
		sift_down(x, 0, (struct expiry_slot){e->expires, e});
	}
	return NULL;
}

uint64_t expiry_next(const struct expiry *x)
{
	return x->n ? x->slots[0].due : UINT64_MAX;
}

static uint64_t count_below(const struct expiry *x, uint64_t i, uint64_t now)
{
	if (i >= x->n || x->slots[i].due > now)
		return 0;
	uint64_t n = x->slots[i].e->expires <= now;
	for (unsigned k = 1; k <= 4; k++)
		n += count_below(x, i * 4 + k, now);
	return n;
}

uint64_t expiry_count(const struct expiry *x, uint64_t now)
{
	return count_below(x, 0, now);
}

void expiry_free(struct expiry *x)
{
	free(x->slots);
	*x = (struct expiry){0};
}
