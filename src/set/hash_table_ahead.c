/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_ahead: room for keys before they come, so that who puts them in asks for no memory.
 *
 * A segment has room enough when what is in it and what may come before the next call fill at most
 * FULL_NUM / FULL_DEN of its slots: then a key finds one of its two buckets with a free slot, which
 * are evened out earlier than elsewhere (Azar et al., "Balanced Allocations", 1994). One in some
 * 100,000 keys finds both full even so: for it the segment is built anew in memory that lies ready
 * for a few such (spares), which may put keys that are there already into their other bucket.
 * Of n keys that come, a segment of depth d gets n / 2^d, and seldom more than six standard
 * deviations besides, as the hash is random. Who changes a segment and finds that it has less room
 * than that, or is nearly empty, notes its place; hash_table_provide() builds these anew.
 *
 * Threads: notes by any, without a lock: one may get lost, and is made again by the next key that
 * comes there. Cost: a note looks at up to NOTES others.
 */
#include "set/hash_table_internal.h"

enum { FULL_NUM = 7, FULL_DEN = 10, SIGMAS = 6, SOME = 8 };

static unsigned root_of(unsigned n)
{
	unsigned r = 0;

	while ((r + 1) * (r + 1) <= n)
		r++;
	return r;
}

unsigned ahead_of(const struct hash_table *t, unsigned depth)
{
	unsigned ahead = LOAD(&t->ahead), mean = depth < 32 ? ahead >> depth : 0;

	return MIN(ahead, mean + SIGMAS * root_of(mean) + SOME);
}

static bool columns_missing(const struct hash_table *t, const struct hash_segment *seg)
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (LOAD(&t->ahead_columns) >> c & 1 && !seg->column[c])
			return true;
	return false;
}

bool segment_wants(const struct hash_table *t, const struct hash_segment *seg)
{
	return LOAD(&t->ahead) && ((seg->kept + ahead_of(t, seg->depth)) * FULL_DEN >
					   (unsigned)seg->n_buckets * SLOTS * FULL_NUM ||
				   segment_overflows(seg) || columns_missing(t, seg));
}

void ahead_note(struct hash_table *t, uint64_t at)
{
	uint32_t n = LOAD(&t->n_noted);

	for (uint32_t i = 0; i < MIN(n, (uint32_t)NOTES); i++)
		if (LOAD(&t->noted[i]) == at)
			return;
	if (n > NOTES)
		return;
	n = __atomic_fetch_add(&t->n_noted, 1, __ATOMIC_RELAXED);
	if (n < NOTES)
		STORE(&t->noted[n], at);
}

bool hash_table_wants(const struct hash_table *t)
{
	return LOAD(&t->n_noted);
}

/*
 * The segment of a place has what it needs, and not much more; *next: the place behind it, or 0.
 * 0, -ENOMEM or -ENOBUFS.
 */
static int provide_at(struct hash_table *t, uint64_t at, uint64_t *next)
{
	struct hash_pos pos = {.t = t, .at = at};
	int err = -EAGAIN;

	*next = 0;
	if (rcu_crowded(t->config.rcu))
		return -ENOBUFS;
	while (err == -EAGAIN) {
		pos.seg = segment_lock(t, at);
		err = segment_provide(&pos);
	}
	*next = place_behind(at, pos.seg->depth);
	if (err)
		spin_unlock(&pos.seg->lock);
	else
		segment_shrink(t, pos.seg, at);
	return err;
}

/* Room in the heap of due times, so that a first expiry finds it. */
static int provide_heap(struct hash_table *t)
{
	int err = 0;

	spin_lock(&t->lock);
	if (t->ahead_columns >> HASH_EXPIRES & 1)
		err = due_reserve(t);
	spin_unlock(&t->lock);
	return err;
}

int hash_table_provide(struct hash_table *t, unsigned n, unsigned columns)
{
	bool more = n > t->ahead || columns & ~t->ahead_columns;
	uint32_t noted = __atomic_exchange_n(&t->n_noted, 0, __ATOMIC_RELAXED);
	uint64_t at[NOTES], next = 0;
	int err;

	STORE(&t->ahead, n);
	STORE(&t->ahead_columns, t->ahead_columns | columns);
	for (uint32_t i = 0; i < NOTES; i++)
		at[i] = LOAD(&t->noted[i]);
	err = provide_heap(t);
	if (more || noted > NOTES) {
		do {
			int r = provide_at(t, next, &next);
			err = err ? err : r;
		} while (next);
	} else {
		for (uint32_t i = 0; i < noted; i++) {
			int r = provide_at(t, at[i], &next);
			err = err ? err : r;
		}
	}
	if (!err)
		err = spares_make(t);
	if (err)
		STORE(&t->n_noted, NOTES + 1);
	return err;
}
