/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_reserve: a table for a number of keys, made at once.
 *
 * Segments stand one behind the other in regions, each as large as one for its share is that was
 * built when it had come. Without regions they would come out of the allocator one by one, each
 * with page faults of its own, while they grow.
 */
#include "set/hash_table_internal.h"

enum {
	KEYS_LEAST = 1 << 17, /* below, what is left over of a region is not worth it */
	DEPTH_MOST = 40,
};

static void free_all(struct hash_segment **seg, size_t n)
{
	while (n)
		segment_free_now(seg[--n]);
	free(seg);
}

/* Segments for all places, unlocked. */
static struct hash_segment **make_all(const struct hash_table *t, unsigned n_buckets,
				      unsigned depth)
{
	size_t n = (size_t)1 << depth;
	struct hash_segment **seg = malloc(n * sizeof(*seg));

	for (size_t i = 0; seg && i < n; i++) {
		seg[i] = segment_new(t, n_buckets, depth, depth ? (uint64_t)i << (64 - depth) : 0);
		if (!seg[i]) {
			free_all(seg, i);
			return NULL;
		}
		seg[i]->lock = 0;
	}
	return seg;
}

/* The only segment of an empty table, locked; NULL. */
static struct hash_segment *only_segment(struct hash_table *t)
{
	struct hash_segment *seg = segment_lock(t, 0);

	if (!seg->depth && !seg->kept && !LOAD_ACQUIRE(&t->root)->depth)
		return seg;
	spin_unlock(&seg->lock);
	return NULL;
}

/* The segments take the place of the only one, which is locked. 0 or -ENOMEM. */
static int put_all(struct hash_table *t, struct hash_segment *old, struct hash_segment *const *seg,
		   unsigned depth)
{
	size_t n = (size_t)1 << depth;

	spin_lock(&t->lock);
	t->n_segments = (uint32_t)n;
	int err = t->heap_cap ? due_reserve(t) : 0;
	if (!err)
		err = dir_replace(t, seg, depth);
	if (err)
		t->n_segments = 1;
	else
		segment_take_down(t, old);
	spin_unlock(&t->lock);
	return err;
}

int hash_table_reserve(struct hash_table *t, uint64_t n)
{
	unsigned depth = 0, n_buckets;

	if (n < KEYS_LEAST || LOAD(&t->count))
		return 0;
	n += n / 8; /* few keys are then not at home, and a lookup is one line for nearly all */
	while ((n_buckets = buckets_for((unsigned)MIN(n >> depth, (uint64_t)UINT16_MAX))) >
		       BUCKETS_MAX &&
	       depth < DEPTH_MOST)
		depth++;
	struct hash_segment *old = only_segment(t);
	if (!old)
		return 0;
	size_t piece = region_piece(segment_size(t, n_buckets)), each = region_holds(piece);
	while (n_buckets < BUCKETS_MAX && segment_size(t, n_buckets + 1) <= piece)
		n_buckets++;
	size_t n_regions = (((size_t)1 << depth) + each - 1) / each;
	struct region *before = t->regions;
	if (before || region_list_add(&t->regions, n_regions)) {
		spin_unlock(&old->lock);
		return before ? 0 : -ENOMEM;
	}
	struct hash_segment **seg = make_all(t, n_buckets, depth);
	int err = seg ? put_all(t, old, seg, depth) : -ENOMEM;
	if (err) {
		spin_unlock(&old->lock);
		if (seg)
			free_all(seg, (size_t)1 << depth);
		region_list_drop(&t->regions);
		return err;
	}
	t->n_regions = n_regions;
	__atomic_fetch_add(&t->bytes, n_regions * REGION_BYTES, __ATOMIC_RELAXED);
	for (size_t i = 0; i < (size_t)1 << depth; i++)
		segment_account(t, seg[i]);
	free(seg);
	segment_discard(t, old);
	return 0;
}
