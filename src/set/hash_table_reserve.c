/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_reserve: a table for a number of keys, made at once.
 *
 * Segments stand one behind the other in regions, each as large as one for its share is that was
 * built when it had come. Without regions they would come out of the allocator one by one, each
 * with page faults of its own, while they grow. A table that was flushed in place gets regions as
 * it grows, and if much of what was there went all of it moves together into new ones, so that the
 * memory of the others is given back whole.
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

void *regions_alloc(struct hash_table *t, size_t size)
{
	if (!LOAD(&t->regions))
		return NULL;
	spin_lock(&t->lock);
	void *piece = region_alloc(t->regions, size);
	if (!piece && t->regions_grow && !region_list_add(&t->regions, 1))
		piece = region_alloc(t->regions, size);
	spin_unlock(&t->lock);
	return piece;
}

unsigned buckets_roomy(const struct hash_table *t, unsigned n)
{
	unsigned n_buckets = buckets_for(n + n / 8); /* few keys are then not at home */

	if (n_buckets > BUCKETS_MAX)
		return n_buckets;
	size_t piece = region_piece(segment_size(t, n_buckets));
	while (n_buckets < BUCKETS_MAX && segment_size(t, n_buckets + 1) <= piece)
		n_buckets++;
	return n_buckets;
}

/* For so many segments. */
static size_t regions_for(const struct hash_table *t, uint64_t n_segments, unsigned n_buckets)
{
	size_t each = region_holds(segment_size(t, n_buckets));

	return (n_segments + each - 1) / each;
}

bool regions_renew(struct hash_table *t)
{
	struct region *old = NULL, *new = NULL;
	uint64_t count = LOAD(&t->count), n = LOAD(&t->n_segments);

	if (n > 1 && buckets_roomy(t, (unsigned)(count * 2 / n) + 1) <= BUCKETS_MAX)
		n /= 2; /* most become one with their other half */
	unsigned n_buckets =
		MIN(buckets_roomy(t, (unsigned)(count / n) + 1), (unsigned)BUCKETS_MAX);
	if (count < KEYS_LEAST || region_list_add(&new, regions_for(t, n + n / 16, n_buckets)))
		return false;
	spin_lock(&t->lock);
	old = t->regions;
	STORE(&t->regions, new);
	spin_unlock(&t->lock);
	region_list_drop(&old);
	return true;
}

/* Segments for all places, unlocked. */
static struct hash_segment **make_all(struct hash_table *t, unsigned n_buckets, unsigned depth)
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
	if (t->flushed) { /* which does not mean that there is nothing in it */
		STORE(&t->regions_grow, true);
		return 0;
	}
	while ((n_buckets = buckets_roomy(t, (unsigned)MIN(n >> depth, (uint64_t)UINT16_MAX))) >
		       BUCKETS_MAX &&
	       depth < DEPTH_MOST)
		depth++;
	struct hash_segment *old = only_segment(t);
	if (!old)
		return 0;
	struct region *before = t->regions;
	if (before || region_list_add(&t->regions, regions_for(t, 1ULL << depth, n_buckets))) {
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
	for (size_t i = 0; i < (size_t)1 << depth; i++)
		segment_account(t, seg[i]);
	free(seg);
	segment_discard(t, old);
	return 0;
}
