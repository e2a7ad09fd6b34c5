/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_alarm: a table whose hash has gone wrong is built anew under another secret.
 *
 * With all segments locked their keys go, in the views that they are in, to a table beside, which
 * nobody else sees; then its root takes the place of the old one by one store. Readers go on in the
 * old segments, which stay until all of them are past. Cost: the whole table's, so it is for what a
 * random hash does not do: a segment that does not hold its keys at its largest.
 */
#include "set/hash_table_internal.h"

enum { SECRETS = 8 }; /* tries */

/* Locks all segments in the order of the directory; none can change then. */
static void lock_all(struct hash_table *t)
{
	uint64_t at = 0;

	do
		at = place_behind(at, segment_lock(t, at)->depth);
	while (at);
}

/* Puts one key of t into `to`, in the views that it is in. */
static int copy_one(struct hash_table *t, const struct hash_segment *seg, unsigned slot,
		    uint32_t views, struct hash_table *to)
{
	uint64_t word[HASH_COLUMNS];
	struct hash_pos pos;

	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		word[c] = segment_word(seg, c, slot);
	hash_table_lock(to, slot_key(t, seg, slot), &pos);
	int err = hash_table_put(&pos, word, 0);
	if (!err) {
		uint32_t *head = &pos.seg->bucket[pos.slot / SLOTS].head;
		uint32_t both = (1U | 1U << VIEW_SHIFT) << pos.slot % SLOTS;
		STORE(head, (*head & ~both) | views << pos.slot % SLOTS);
		if (seg->flushed)
			flushed_carry(t, seg, slot, pos.seg, pos.slot);
	}
	hash_table_unlock(&pos);
	return err;
}

/* Puts all that is in t, under a new secret, into `to`. */
static int copy_all(struct hash_table *t, struct hash_table *to)
{
	struct segment_walk w = {t->root};
	struct hash_kept kept[SLOTS_MAX];
	struct hash_segment *seg;
	int err = 0;

	while (!err && (seg = segment_next(&w))) {
		unsigned n = t->ops->collect(t, &t->root->key, seg, kept);
		for (unsigned k = 0; k < n && !err; k++) {
			uint32_t views = kept[k].views;
			err = copy_one(t, seg, kept[k].slot, (views & 1) | views >> 1 << VIEW_SHIFT,
				       to);
		}
	}
	return err;
}

/* All segments of t are locked: takes over root and heap of `from`. */
static void take_over(struct hash_table *t, struct hash_table *from)
{
	struct hash_root *old = t->root;
	struct segment_walk w = {old};
	struct hash_segment *seg;

	spin_lock(&t->lock);
	STORE_RELEASE(&t->root, from->root);
	free(t->heap);
	t->heap = from->heap;
	t->n_heap = from->n_heap;
	t->heap_cap = from->heap_cap;
	t->n_segments = from->n_segments;
	STORE(&t->bytes, from->bytes + spares_bytes(t));
	while ((seg = segment_next(&w))) {
		seg->retired = true;
		spin_unlock(&seg->lock);
		rcu_defer(t->config.rcu, &seg->rcu, segment_free_rcu, segment_bytes(t, seg));
	}
	spin_unlock(&t->lock);
	dir_discard(t, old);
	free(from);
	STORE(&t->n_noted, NOTES + 1);
}

static void unlock_all(struct hash_table *t)
{
	struct segment_walk w = {t->root};
	struct hash_segment *seg;

	while ((seg = segment_next(&w)))
		spin_unlock(&seg->lock);
}

static void keep_record(struct rcu *rcu, void *record)
{
}

int hash_table_rebuild(struct hash_table *t, const struct hash_root *root)
{
	struct hash_table_config config = t->config;
	struct hash_table *to;
	int err = -ENOSPC;

	spin_lock(&t->alarm_lock);
	if (LOAD_ACQUIRE(&t->root) != root) {
		spin_unlock(&t->alarm_lock);
		return 0;
	}
	config.rcu = NULL;
	config.ops = t->ops;
	config.record_free = keep_record;
	lock_all(t);
	for (unsigned i = 0; i < SECRETS && err == -ENOSPC; i++) {
		err = hash_table_new(&config, &to);
		if (err)
			break;
		to->rebuilding = true;
		to->next_shift = t->next_shift;
		entry_segment(entry_load(to->root, 0))->flushed = t->flushed;
		err = copy_all(t, to);
		if (err)
			hash_table_free(to);
	}
	if (err)
		unlock_all(t);
	else
		take_over(t, to);
	spin_unlock(&t->alarm_lock);
	return err;
}
