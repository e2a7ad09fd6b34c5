/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_rest: when a slot that was given up may be written again.
 *
 * Readers may still look at it: it rests until all of them were quiet since it left the views. To
 * ask that of the rcu for each slot would change the line of its epoch all the time, which every
 * reader looks at between two bursts: readers beside a writer took twice the time for that alone.
 * So slots rest by generations of the table. A bucket knows the generation that its latest slot
 * belongs to, a segment that of all its buckets. A bucket that is nearly out of slots ends the
 * present generation, unless an ended one still waits for readers: one mark of the rcu serves all
 * slots that rest by then. A bucket whose slots have rested starts again with all of them, so
 * changes that go round some thousand keys end one generation in several rounds.
 *
 * What holds: a slot whose generation has passed left the views before the mark was taken. Who
 * gives a slot up stores the head (a), changes the count (b), reads the generation (c); who ends
 * one stores the next (d), changes the count (e), takes the mark (f). Changes of the count are in
 * one order, and each is acquire and release. If b is before e, then a is before f, whatever c
 * read. If e is before b, then d is before c: the slot belongs to a later generation.
 *
 * A bucket has the lowest 16 bits of a generation. One that was not touched for 2^15 of them may
 * seem to rest still, if its segment was touched: it is never taken for rested too early.
 *
 * Threads: any that hold the segment's lock; rest_lock is tried, never waited for.
 */
#include "set/hash_table_internal.h"

static bool passed(const struct hash_table *t, const struct hash_segment *seg,
		   const struct hash_marks *m)
{
	uint64_t last = LOAD_ACQUIRE(&t->rest_passed);

	return last >= seg->since || (int16_t)((uint16_t)last - m->since) >= 0;
}

void bucket_rest(struct hash_table *t, struct hash_segment *seg, unsigned b, uint32_t slots)
{
	if (!t->config.rcu || !slots)
		return;
	struct hash_marks *m = segment_marks(t, seg, b);
	uint64_t now = LOAD(&t->rest_now);
	m->resting = (uint16_t)(passed(t, seg, m) ? slots : m->resting | slots);
	m->since = (uint16_t)now;
	seg->since = now;
	STORE(&seg->bucket[b].head, seg->bucket[b].head | RESTING);
}

static void end_generation(struct hash_table *t)
{
	STORE(&t->rest_now, t->rest_now + 1);
	count_add(t, 0);
	t->rest_mark = rcu_mark(t->config.rcu);
	t->rest_ended = t->rest_now - 1;
}

bool bucket_rested(struct hash_table *t, const struct hash_segment *seg, unsigned b)
{
	const struct hash_marks *m = segment_marks(t, seg, b);

	for (bool again = true; !passed(t, seg, m); again = false) {
		if (!again || !spin_try(&t->rest_lock))
			return false;
		if (t->rest_ended == t->rest_passed)
			end_generation(t);
		if (rcu_passed(t->config.rcu, t->rest_mark))
			STORE_RELEASE(&t->rest_passed, t->rest_ended);
		spin_unlock(&t->rest_lock);
	}
	return true;
}
