/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_expire: elements whose time has come, by segments that are due; see hash_table.h. */
#include "set/hash_table_internal.h"

enum { STEPS_A_SEGMENT = 4, STEPS_A_BUILD = 128 };

struct expiring {
	struct hash_table *t;
	uint64_t now;
	bool shown;
	unsigned shift, budget, n;
	bool (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

/*
 * Takes out of a bucket what has expired; the earliest expiry left, or `least` if that is earlier.
 * Due times are those of the view that changes go to: what is in the other alone goes or comes back
 * with the end of the transaction, which tells them anew. So packets may leave what is due.
 */
static uint64_t expire_bucket(struct expiring *x, struct hash_segment *seg, unsigned b,
			      uint64_t least)
{
	struct hash_table *t = x->t;
	const uint64_t *expires = &seg->column[HASH_EXPIRES][b * SLOTS];
	uint32_t head = seg->bucket[b].head, m = head_kept(head);
	uint32_t there = x->shown ? head >> x->shift : bucket_next(t, seg, b);
	uint32_t next = x->shown ? head >> (x->shift ^ VIEW_SHIFT) : there;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m), slot = b * SLOTS + i;
		uint64_t end = LOAD(&expires[i]);
		if (!end)
			continue;
		if (!(there & 1U << i)) {
			if (next & 1U << i)
				least = MIN(least, end);
			continue;
		}
		if (end <= x->now && x->n < x->budget && slot_counts(t, seg, slot, x->shown) &&
		    !x->fn(x->ctx, slot_elem(t, seg, slot)))
			x->budget = x->n;
		if (end > x->now || x->n == x->budget) {
			least = MIN(least, end);
			continue;
		}
		uint64_t record = segment_word(seg, HASH_RECORD, slot);
		if (slot_drop(t, seg, slot, x->shown) && record)
			t->config.record_free(t->config.rcu, (void *)(uintptr_t)record);
		x->n++;
	}
	return least;
}

/* The same with bucket b and its neighbours; brings their due time up to date. */
static void expire_buckets(struct expiring *x, struct hash_segment *seg, unsigned b)
{
	uint64_t least = UINT64_MAX;
	unsigned first = b - b % DUE_BUCKETS;

	for (b = first; b < first + DUE_BUCKETS && b < seg->n_buckets; b++)
		least = expire_bucket(x, seg, b, least);
	*bucket_due(seg, first) = least == UINT64_MAX ? 0 : least;
}

/* The earliest expiry left in a locked segment. */
static uint64_t expire_segment(struct expiring *x, struct hash_segment *seg)
{
	uint64_t least = UINT64_MAX;

	for (unsigned b = 0; seg->column[HASH_EXPIRES] && b < seg->n_buckets; b += DUE_BUCKETS) {
		const uint64_t *due = bucket_due(seg, b);
		if (*due && *due <= x->now)
			expire_buckets(x, seg, b);
		if (*due)
			least = MIN(least, *due);
	}
	return least;
}

/* The first segment that is due, locked; NULL: none, or another thread is at it. */
static struct hash_segment *due_segment(struct hash_table *t, uint64_t now)
{
	struct hash_segment *seg = NULL;

	spin_lock(&t->lock);
	if (t->n_heap && t->heap[0].due <= now && spin_try(&t->heap[0].seg->lock))
		seg = t->heap[0].seg;
	spin_unlock(&t->lock);
	return seg;
}

unsigned hash_table_expire(struct hash_table *t, uint64_t now, unsigned budget, unsigned *steps,
			   struct hash_how how, bool (*fn)(void *ctx, struct set_elem *e),
			   void *ctx)
{
	unsigned shift = how.packet ? LOAD(&t->read_shift) : t->next_shift;
	struct expiring x = {t, now, how.packet, shift, budget, 0, fn, ctx};
	struct hash_segment *seg;

	while (x.n < x.budget && *steps && (seg = due_segment(t, now))) {
		unsigned before = x.n;
		uint64_t due = expire_segment(&x, seg);
		spin_lock(&t->lock);
		due_set(t, seg, due);
		spin_unlock(&t->lock);
		if (x.n == before && due <= now) { /* in the way of a packet: none of it is its */
			spin_unlock(&seg->lock);
			break;
		}
		bool built = false;
		if (how.ready || must_not_defer(t, how.packet))
			spin_unlock(&seg->lock);
		else
			built = segment_shrink(t, seg, seg->at);
		*steps -= MIN(*steps, built ? (unsigned)STEPS_A_BUILD : (unsigned)STEPS_A_SEGMENT);
	}
	return x.n;
}

uint64_t hash_table_next_due(const struct hash_table *t)
{
	spin_lock((uint32_t *)&t->lock);
	uint64_t due = t->n_heap ? t->heap[0].due : UINT64_MAX;
	spin_unlock((uint32_t *)&t->lock);
	return due;
}

static uint64_t expired_in(const struct hash_table *t, const struct hash_segment *seg, uint64_t now)
{
	uint64_t n = 0;

	for (unsigned b = 0; seg->column[HASH_EXPIRES] && b < seg->n_buckets; b++) {
		uint64_t due = *bucket_due(seg, b);
		uint32_t m = due && due <= now ? bucket_next(t, seg, b) : 0;
		for (; m; m &= m - 1) {
			uint64_t end = segment_word(seg, HASH_EXPIRES,
						    b * SLOTS + (unsigned)__builtin_ctz(m));
			n += end && end <= now;
		}
	}
	return n;
}

static uint64_t expired_below(const struct hash_table *t, uint64_t i, uint64_t now)
{
	if (i >= t->n_heap || t->heap[i].due > now)
		return 0;
	uint64_t n = expired_in(t, t->heap[i].seg, now);
	for (unsigned k = 1; k <= 4; k++)
		n += expired_below(t, i * 4 + k, now);
	return n;
}

uint64_t hash_table_expired(const struct hash_table *t, uint64_t now)
{
	spin_lock((uint32_t *)&t->lock);
	uint64_t n = expired_below(t, 0, now);
	spin_unlock((uint32_t *)&t->lock);
	return n;
}

void bucket_due_again(struct hash_table *t, struct hash_segment *seg, unsigned b)
{
	struct expiring x = {.t = t, .shift = t->next_shift};

	expire_buckets(&x, seg, b);
}

void segment_due_again(struct hash_table *t, struct hash_segment *seg)
{
	struct expiring x = {.t = t, .shift = t->next_shift};
	uint64_t due = expire_segment(&x, seg);

	spin_lock(&t->lock);
	due_set(t, seg, due);
	spin_unlock(&t->lock);
}
