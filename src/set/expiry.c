/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry: an 8-ary heap of elements by the time that they end.
 *
 * A slot's `due` is never later than its element's expiry. A refresh, which moves the expiry away,
 * leaves the slot alone: it is put right when it comes to the top. So a refresh from the packet
 * path is O(1), everything else O(log n). An expiry that comes nearer moves its slot at once.
 *
 * The slots stand in parts, each as long as all before it, so that none ever moves: no change waits
 * for an array to be copied, nor pays for pages that were given another address (a virtual machine
 * without nested paging takes some us for each). The eight slots below one are two whole cache
 * lines: eight, as each level that a slot moves is one more record that learns its place. Parts
 * never go while the set lives: an element that was taken out can always come back.
 */
#include "set/set_internal.h"

struct expiry_slot {
	uint64_t due;
	struct set_elem *e;
};

/* PARTS: as many as EXPIRY_NONE places need. */
enum { FIRST_LOG = 4, FIRST = 1 << FIRST_LOG, PARTS = 32 - FIRST_LOG + 1 };
enum { WAYS = 8, LEAD = WAYS - 1, LINES = 128 };

_Static_assert(WAYS * sizeof(struct expiry_slot) == LINES, "the slots below one are two lines");

/* Places of the parts before one. */
static inline uint32_t part_begin(unsigned part)
{
	return part ? (uint32_t)FIRST << (part - 1) : 0;
}

static inline uint32_t part_places(unsigned part)
{
	return part ? part_begin(part) : FIRST;
}

/* Slot i has place i + LEAD, so that those below it begin lines. */
static inline struct expiry_slot *slot_at(const struct expiry *x, uint32_t i)
{
	uint32_t place = i + LEAD;
	unsigned part = 32 - (unsigned)__builtin_clz(place >> (FIRST_LOG - 1) | 1) - 1;
	return &x->parts[part][place - part_begin(part)];
}

int expiry_reserve(struct expiry *x, uint32_t more)
{
	if (more >= EXPIRY_NONE - LEAD - x->n)
		return -ENOMEM;
	if (!x->parts && !(x->parts = calloc(PARTS, sizeof(struct expiry_slot *))))
		return -ENOMEM;
	while (x->n_parts < PARTS && part_begin(x->n_parts) < x->n + more + LEAD) {
		size_t bytes = part_places(x->n_parts) * sizeof(struct expiry_slot);
		struct expiry_slot *part = aligned_alloc(LINES, bytes);
		if (!part)
			return -ENOMEM;
		x->parts[x->n_parts++] = part;
	}
	return 0;
}

static void put(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	*slot_at(x, i) = slot;
	slot.e->expiry_pos = i;
}

static void sift_up(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	while (i) {
		uint32_t up = (i - 1) / WAYS;
		struct expiry_slot above = *slot_at(x, up);
		if (above.due <= slot.due)
			break;
		put(x, i, above);
		i = up;
	}
	put(x, i, slot);
}

static void sift_down(struct expiry *x, uint32_t i, struct expiry_slot slot)
{
	for (;;) {
		uint64_t first = (uint64_t)i * WAYS + 1;
		if (first >= x->n)
			break;
		const struct expiry_slot *below = slot_at(x, (uint32_t)first);
		uint32_t n = (uint32_t)MIN(x->n - first, WAYS), least = 0;
		for (uint32_t k = 1; k < n; k++)
			if (below[k].due < below[least].due)
				least = k;
		if (below[least].due >= slot.due)
			break;
		put(x, i, below[least]);
		i = (uint32_t)first + least;
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
	struct expiry_slot last = *slot_at(x, --x->n);

	e->expiry_pos = EXPIRY_NONE;
	if (i == x->n)
		return;
	if (i && slot_at(x, (i - 1) / WAYS)->due > last.due)
		sift_up(x, i, last);
	else
		sift_down(x, i, last);
}

void expiry_update(struct expiry *x, struct set_elem *e)
{
	if (e->expires < slot_at(x, e->expiry_pos)->due)
		sift_up(x, e->expiry_pos, (struct expiry_slot){e->expires, e});
}

struct set_elem *expiry_due(struct expiry *x, uint64_t now, unsigned *steps)
{
	while (expiry_next(x) <= now && x->n) {
		struct set_elem *e = slot_at(x, 0)->e;
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
	return x->n ? slot_at(x, 0)->due : UINT64_MAX;
}

static uint64_t count_below(const struct expiry *x, uint64_t i, uint64_t now)
{
	if (i >= x->n)
		return 0;
	const struct expiry_slot *slot = slot_at(x, (uint32_t)i);
	if (slot->due > now)
		return 0;
	uint64_t n = slot->e->expires <= now;
	for (unsigned k = 1; k <= WAYS; k++)
		n += count_below(x, i * WAYS + k, now);
	return n;
}

uint64_t expiry_count(const struct expiry *x, uint64_t now)
{
	return count_below(x, 0, now);
}

void expiry_free(struct expiry *x)
{
	for (unsigned i = 0; i < x->n_parts; i++)
		free(x->parts[i]);
	free(x->parts);
	*x = (struct expiry){0};
}
