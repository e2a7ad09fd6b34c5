/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_grow: segments built anew: larger, smaller, as two, as one; the directory; the alarm.
 *
 * Always the same steps: the old segment is locked, the new ones are complete (and locked where a
 * key is about to go in), the directory is led to them under the table's lock, the old one is
 * marked retired and handed to rcu. A failure on the way leaves everything as it was.
 */
#include <sys/random.h>

#include "set/hash_table_internal.h"

enum {
	/* Load after a segment was built: LOAD_NUM / LOAD_DEN of its slots. */
	LOAD_NUM = 13,
	LOAD_DEN = 20,
	SECRETS = 8, /* tries of an alarm */
	DIRECTORY_SLACK = 64,
};

/* --- segments ------------------------------------------------------------------------------- */

static size_t keys_offset(unsigned n_buckets)
{
	return sizeof(struct hash_segment) + n_buckets * sizeof(struct hash_bucket) +
	       ((n_buckets + 7) & ~7U);
}

static size_t segment_size(const struct hash_table *t, unsigned n_buckets)
{
	size_t size = keys_offset(n_buckets) + (size_t)n_buckets * SLOTS * t->key_size;
	return (size + 63) & ~(size_t)63;
}

static size_t column_size(const struct hash_segment *seg)
{
	return (size_t)seg->n_buckets * SLOTS * sizeof(uint64_t);
}

static size_t segment_bytes(const struct hash_table *t, const struct hash_segment *seg)
{
	size_t bytes = segment_size(t, seg->n_buckets);
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		bytes += seg->column[c] ? column_size(seg) : 0;
	return bytes;
}

/* The new segment is locked. */
static struct hash_segment *segment_new(const struct hash_table *t, unsigned n_buckets,
					unsigned depth)
{
	size_t fixed = keys_offset(n_buckets);
	struct hash_segment *seg = aligned_alloc(64, segment_size(t, n_buckets));
	if (!seg)
		return NULL;
	memset(seg, 0, fixed);
	seg->lock = 1;
	seg->depth = (uint8_t)depth;
	seg->n_buckets = (uint16_t)n_buckets;
	seg->due = UINT64_MAX;
	seg->heap_pos = DUE_NOWHERE;
	seg->fill = (uint8_t *)&seg->bucket[n_buckets];
	seg->keys = (uint8_t *)seg + fixed;
	return seg;
}

void segment_free_now(struct hash_segment *seg)
{
	if (!seg)
		return;
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		free(seg->column[c]);
	free(seg);
}

static void segment_free_rcu(struct rcu_head *head)
{
	segment_free_now(container_of(head, struct hash_segment, rcu));
}

uint64_t *segment_column(struct hash_table *t, struct hash_segment *seg, enum hash_column c)
{
	if (!seg->column[c]) {
		uint64_t *column = calloc(1, column_size(seg));
		if (!column)
			return NULL;
		__atomic_fetch_or(&t->columns, 1U << c, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->bytes, column_size(seg), __ATOMIC_RELAXED);
		STORE_RELEASE(&seg->column[c], column);
	}
	return seg->column[c];
}

bool segment_place(struct hash_table *t, struct hash_segment *seg, struct hash_place place,
		   const uint8_t *key, const uint64_t word[HASH_COLUMNS], uint32_t views,
		   unsigned *slot)
{
	unsigned home = home_of(place.at, seg->n_buckets), b = home;

	if (seg->fill[b] == SLOTS) {
		b = second_of(place.at, seg->n_buckets);
		if (seg->fill[b] == SLOTS)
			return false;
	}
	unsigned i = seg->fill[b]++;
	struct hash_bucket *bucket = &seg->bucket[b];
	*slot = b * SLOTS + i;
	STORE(&bucket->tag[i], place.tag);
	if (t->key_size)
		memcpy(seg->keys + (size_t)*slot * t->key_size, key, t->key_len);
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (word[c])
			STORE(&seg->column[c][*slot], word[c]);
	seg->used++;
	seg->kept++;
	STORE_RELEASE(&bucket->head, bucket->head | views << i);
	if (b != home)
		STORE_RELEASE(&seg->bucket[home].head, seg->bucket[home].head | OVERFLOWED);
	return true;
}

/* --- what a segment holds ------------------------------------------------------------------- */

struct kept {
	struct hash_place place;
	const struct hash_segment *seg;
	uint16_t slot;
	uint32_t views; /* its bits in the head, as if in slot 0 */
};

static unsigned collect(const struct hash_table *t, const struct hash_segment *seg,
			struct kept *out)
{
	const struct hash_key *key = &LOAD_ACQUIRE(&t->root)->key;
	unsigned n = 0;

	for (unsigned b = 0; b < seg->n_buckets; b++) {
		const struct hash_bucket *bucket = &seg->bucket[b];
		uint32_t m = (bucket->head | bucket->head >> VIEW_SHIFT) & VIEW_BITS;
		for (; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m), slot = b * SLOTS + i;
			out[n++] = (struct kept){
				t->ops->place(key, segment_key(t, seg, slot, &bucket->tag[i]),
					      t->key_len),
				seg, (uint16_t)slot, bucket->head >> i & (1U | 1U << VIEW_SHIFT)};
		}
	}
	return n;
}

/* Puts them all in; 0, -ENOMEM, -ENOSPC if buckets are full. */
static int fill(struct hash_table *t, struct hash_segment *seg, const struct kept *kept, unsigned n)
{
	uint64_t due = UINT64_MAX;

	for (unsigned k = 0; k < n; k++) {
		const struct kept *it = &kept[k];
		const struct hash_segment *from = it->seg;
		const uint32_t *tag = &from->bucket[it->slot / SLOTS].tag[it->slot % SLOTS];
		uint64_t word[HASH_COLUMNS];
		unsigned slot;
		for (unsigned c = 0; c < HASH_COLUMNS; c++) {
			word[c] = segment_word(from, c, it->slot);
			if (word[c] && !segment_column(t, seg, c))
				return -ENOMEM;
		}
		if (word[HASH_EXPIRES])
			due = MIN(due, word[HASH_EXPIRES]);
		if (!segment_place(t, seg, it->place, segment_key(t, from, it->slot, tag), word,
				   it->views, &slot))
			return -ENOSPC;
	}
	seg->due = due; /* it stands in no heap yet */
	return 0;
}

static unsigned buckets_for(unsigned n)
{
	if (n <= SLOTS)
		return 1;
	return (n * LOAD_DEN + SLOTS * LOAD_NUM - 1) / (SLOTS * LOAD_NUM);
}

/* A segment of at least n_buckets with these keys. 0, -ENOMEM, -ENOSPC if the largest is too small.
 */
static int build(struct hash_table *t, const struct kept *kept, unsigned n, unsigned n_buckets,
		 unsigned depth, struct hash_segment **out)
{
	for (; n_buckets <= BUCKETS_MAX; n_buckets += 1 + n_buckets / 8) {
		struct hash_segment *seg = segment_new(t, n_buckets, depth);
		if (!seg)
			return -ENOMEM;
		int err = fill(t, seg, kept, n);
		if (!err) {
			*out = seg;
			return 0;
		}
		for (unsigned c = 0; c < HASH_COLUMNS; c++)
			if (seg->column[c])
				__atomic_fetch_sub(&t->bytes, column_size(seg), __ATOMIC_RELAXED);
		segment_free_now(seg);
		if (err != -ENOSPC)
			return err;
	}
	return -ENOSPC;
}

/* --- directory ------------------------------------------------------------------------------ */

static struct hash_root *root_alloc(unsigned depth)
{
	size_t size = sizeof(struct hash_root) + (sizeof(uint64_t) << depth);
	struct hash_root *r = aligned_alloc(64, (size + 63) & ~(size_t)63);
	if (r)
		r->depth = depth;
	return r;
}

static size_t root_bytes(unsigned depth)
{
	return sizeof(struct hash_root) + (sizeof(uint64_t) << depth);
}

static uint64_t entry_of(const struct hash_segment *seg)
{
	return (uint64_t)(uintptr_t)seg | (uint64_t)seg->n_buckets << ENTRY_SHIFT;
}

int root_new(struct hash_table *t)
{
	struct hash_root *r = root_alloc(0);
	struct hash_segment *seg = segment_new(t, 1, 0);
	if (!r || !seg || getrandom(&r->key, sizeof(r->key), 0) != sizeof(r->key)) {
		int err = r && seg ? -EIO : -ENOMEM;
		free(r);
		segment_free_now(seg);
		return err;
	}
	seg->lock = 0;
	r->entry[0] = entry_of(seg);
	t->root = r;
	t->n_segments = 1;
	t->bytes += segment_bytes(t, seg) + root_bytes(0);
	return 0;
}

static void root_free_rcu(struct rcu_head *head)
{
	free(container_of(head, struct hash_root, rcu));
}

/* The table's lock is held: a directory of another depth takes the place of the present one. */
static int root_resize(struct hash_table *t, unsigned depth)
{
	struct hash_root *old = t->root, *r = root_alloc(depth);
	if (!r)
		return -ENOMEM;
	r->key = old->key;
	for (size_t i = 0; i < (size_t)1 << depth; i++)
		r->entry[i] = old->entry[depth > old->depth ? i >> (depth - old->depth)
							    : i << (old->depth - depth)];
	STORE_RELEASE(&t->root, r);
	__atomic_fetch_add(&t->bytes, root_bytes(depth) - root_bytes(old->depth), __ATOMIC_RELAXED);
	rcu_defer(t->config.rcu, &old->rcu, root_free_rcu, root_bytes(old->depth));
	return 0;
}

/* The table's lock is held: all entries of seg's share of the directory lead to it. */
static void lead_to(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	struct hash_root *r = t->root;
	size_t n = (size_t)1 << (r->depth - seg->depth), first = entry_index(r, at) & ~(n - 1);

	for (size_t i = 0; i < n; i++)
		STORE_RELEASE(&r->entry[first + i], entry_of(seg));
	uint64_t due = seg->due;
	seg->due = UINT64_MAX;
	due_lower(t, seg, due);
}

/* The table's lock is held. */
static void take_down(struct hash_table *t, struct hash_segment *old)
{
	due_set(t, old, UINT64_MAX);
	old->retired = true;
}

/* The old segment leaves the hands of writers, and later those of readers. */
static void discard(struct hash_table *t, struct hash_segment *old)
{
	size_t bytes = segment_bytes(t, old);

	__atomic_fetch_sub(&t->bytes, bytes, __ATOMIC_RELAXED);
	spin_unlock(&old->lock);
	rcu_defer(t->config.rcu, &old->rcu, segment_free_rcu, bytes);
}

/* Accounts for a segment whose columns are counted already. */
static void account(struct hash_table *t, const struct hash_segment *seg)
{
	__atomic_fetch_add(&t->bytes, segment_size(t, seg->n_buckets), __ATOMIC_RELAXED);
}

static void replace(struct hash_table *t, struct hash_segment *old, struct hash_segment *seg,
		    uint64_t at)
{
	account(t, seg);
	spin_lock(&t->lock);
	take_down(t, old);
	lead_to(t, seg, at);
	spin_unlock(&t->lock);
	discard(t, old);
}

static void unbuild(struct hash_table *t, struct hash_segment *seg)
{
	__atomic_fetch_sub(&t->bytes, segment_bytes(t, seg) - segment_size(t, seg->n_buckets),
			   __ATOMIC_RELAXED);
	segment_free_now(seg);
}

/* --- growing -------------------------------------------------------------------------------- */

/* Puts two halves in the place of old: the table's lock, room in heap and directory. */
static int replace_by_two(struct hash_table *t, struct hash_segment *old,
			  struct hash_segment *half[2], uint64_t at)
{
	int err = 0;

	spin_lock(&t->lock);
	__atomic_fetch_add(&t->n_segments, 1, __ATOMIC_RELAXED);
	if (t->heap_cap)
		err = due_reserve(t);
	if (!err && old->depth == t->root->depth)
		err = root_resize(t, old->depth + 1U);
	if (!err) {
		uint64_t bit = 1ULL << (63 - old->depth);
		take_down(t, old);
		lead_to(t, half[0], at & ~bit);
		lead_to(t, half[1], at | bit);
	} else {
		__atomic_fetch_sub(&t->n_segments, 1, __ATOMIC_RELAXED);
	}
	spin_unlock(&t->lock);
	return err;
}

static int split(struct hash_pos *pos, struct kept *kept, unsigned n)
{
	struct hash_table *t = pos->t;
	struct hash_segment *old = pos->seg, *half[2] = {NULL};
	uint64_t bit = 1ULL << (63 - old->depth);
	unsigned low = 0;
	int err = -ENOSPC;

	/* A random hash cuts in halves, and no segment is much deeper than the others. */
	if (1ULL << old->depth > (uint64_t)DIRECTORY_SLACK * LOAD(&t->n_segments))
		return err;
	for (unsigned k = 0; k < n; k++)
		if (!(kept[k].place.at & bit)) {
			struct kept swap = kept[k];
			kept[k] = kept[low];
			kept[low++] = swap;
		}
	if (!low || low == n)
		return err;
	err = build(t, kept, low, buckets_for(low + 1), old->depth + 1U, &half[0]);
	if (!err)
		err = build(t, kept + low, n - low, buckets_for(n - low + 1), old->depth + 1U,
			    &half[1]);
	if (!err)
		err = replace_by_two(t, old, half, pos->at);
	if (err) {
		for (unsigned h = 0; h < 2; h++)
			if (half[h])
				unbuild(t, half[h]);
		return err;
	}
	account(t, half[0]);
	account(t, half[1]);
	pos->seg = half[pos->at & bit ? 1 : 0];
	spin_unlock(&half[pos->at & bit ? 0 : 1]->lock);
	discard(t, old);
	return 0;
}

static int rebuild_all(struct hash_table *t, const struct hash_root *root);

int segment_grow(struct hash_pos *pos)
{
	struct hash_table *t = pos->t;
	struct hash_segment *old = pos->seg, *seg;
	struct kept kept[SLOTS_MAX];
	unsigned n = collect(t, old, kept), want = buckets_for(n + 1);
	int err = -ENOSPC;

	/* It is full of what stands there, not of what was deleted: then it must grow. */
	if (want <= old->n_buckets && n * 10U > old->used * 9U)
		want = old->n_buckets + 1U + old->n_buckets / 8U;
	if (want <= BUCKETS_MAX)
		err = build(t, kept, n, want, old->depth, &seg);
	if (!err) {
		replace(t, old, seg, pos->at);
		pos->seg = seg;
		return 0;
	}
	if (err == -ENOSPC)
		err = split(pos, kept, n);
	if (err != -ENOSPC || t->rebuilding)
		return err;
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	spin_unlock(&old->lock);
	err = rebuild_all(t, root);
	if (!err)
		return -EAGAIN;
	pos->seg = segment_lock(t, pos->at);
	return err;
}

/* --- shrinking ------------------------------------------------------------------------------ */

/* The other half of a segment, locked, if both fit into one well. The table's lock is held. */
static struct hash_segment *buddy_lock(struct hash_table *t, const struct hash_segment *seg,
				       uint64_t at)
{
	struct hash_root *r = t->root;

	if (!seg->depth)
		return NULL;
	struct hash_segment *other =
		entry_segment(r->entry[entry_index(r, at ^ 1ULL << (64 - seg->depth))]);
	if (other->depth != seg->depth || !spin_try(&other->lock))
		return NULL;
	if (buckets_for(other->kept + seg->kept) <= BUCKETS_MAX / 2)
		return other;
	spin_unlock(&other->lock);
	return NULL;
}

/* The table's lock is held: halves the directory while no segment needs all of it. */
static void root_shrink(struct hash_table *t)
{
	struct hash_root *r = t->root;
	unsigned deepest = 0;

	if (t->n_segments > 1U << r->depth >> 2)
		return;
	for (size_t i = 0; i < (size_t)1 << r->depth;) {
		const struct hash_segment *seg = entry_segment(r->entry[i]);
		deepest = MAX(deepest, seg->depth);
		i += (size_t)1 << (r->depth - seg->depth);
	}
	if (deepest < r->depth)
		root_resize(t, deepest);
}

/* Both are locked. */
static void merge(struct hash_table *t, struct hash_segment *seg, struct hash_segment *other,
		  uint64_t at)
{
	struct kept kept[SLOTS_MAX];
	struct hash_segment *both;
	unsigned n = collect(t, seg, kept);

	n += collect(t, other, kept + n);
	if (build(t, kept, n, buckets_for(n + 1), seg->depth - 1U, &both)) {
		spin_unlock(&seg->lock);
		spin_unlock(&other->lock);
		return;
	}
	account(t, both);
	spin_lock(&t->lock);
	take_down(t, seg);
	take_down(t, other);
	lead_to(t, both, at);
	__atomic_fetch_sub(&t->n_segments, 1, __ATOMIC_RELAXED);
	root_shrink(t);
	spin_unlock(&t->lock);
	spin_unlock(&both->lock);
	discard(t, seg);
	discard(t, other);
}

void segment_shrink(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	struct hash_segment *smaller, *other;
	struct kept kept[SLOTS_MAX];

	if (seg->kept * 4U >= seg->n_buckets * SLOTS || (seg->n_buckets == 1 && !seg->depth)) {
		spin_unlock(&seg->lock);
		return;
	}
	spin_lock(&t->lock);
	other = buddy_lock(t, seg, at);
	spin_unlock(&t->lock);
	if (other) {
		merge(t, seg, other, at);
		return;
	}
	unsigned n = seg->kept, want = buckets_for(n + n / 4 + 1);
	if (want >= seg->n_buckets ||
	    build(t, kept, collect(t, seg, kept), want, seg->depth, &smaller)) {
		spin_unlock(&seg->lock);
		return;
	}
	replace(t, seg, smaller, at);
	spin_unlock(&smaller->lock);
}

/* --- the alarm ------------------------------------------------------------------------------ */

/* Locks all segments in the order of the directory; none can change then. */
static void lock_all(struct hash_table *t)
{
	for (uint64_t at = 0;;) {
		struct hash_segment *seg = segment_lock(t, at);
		uint64_t step = seg->depth ? 1ULL << (64 - seg->depth) : 0;
		at += step;
		if (!at)
			return;
	}
}

/* Puts all that is in t, under a new secret, into `to`. */
static int copy_all(struct hash_table *t, struct hash_table *to)
{
	struct kept kept[SLOTS_MAX];
	struct hash_root *r = t->root;
	int err = 0;

	for (size_t i = 0; i < (size_t)1 << r->depth && !err;) {
		struct hash_segment *seg = entry_segment(r->entry[i]);
		unsigned n = collect(t, seg, kept);
		i += (size_t)1 << (r->depth - seg->depth);
		for (unsigned k = 0; k < n && !err; k++) {
			unsigned slot = kept[k].slot;
			uint32_t *tag = &seg->bucket[slot / SLOTS].tag[slot % SLOTS];
			uint64_t word[HASH_COLUMNS];
			struct hash_pos pos;
			for (unsigned c = 0; c < HASH_COLUMNS; c++)
				word[c] = segment_word(seg, c, slot);
			hash_table_lock(to, segment_key(t, seg, slot, tag), &pos);
			err = hash_table_put(&pos, word);
			if (!err) {
				uint32_t *head = &pos.seg->bucket[pos.slot / SLOTS].head;
				uint32_t both = (1U | 1U << VIEW_SHIFT) << pos.slot % SLOTS;
				STORE(head, (*head & ~both) | kept[k].views << pos.slot % SLOTS);
			}
			hash_table_unlock(&pos);
		}
	}
	return err;
}

/* All segments of t are locked: takes over root and heap of `from`. */
static void take_over(struct hash_table *t, struct hash_table *from)
{
	struct hash_root *old = t->root;

	spin_lock(&t->lock);
	STORE_RELEASE(&t->root, from->root);
	free(t->heap);
	t->heap = from->heap;
	t->n_heap = from->n_heap;
	t->heap_cap = from->heap_cap;
	t->n_segments = from->n_segments;
	STORE(&t->bytes, from->bytes);
	for (size_t i = 0; i < (size_t)1 << old->depth;) {
		struct hash_segment *seg = entry_segment(old->entry[i]);
		i += (size_t)1 << (old->depth - seg->depth);
		seg->retired = true;
		spin_unlock(&seg->lock);
		rcu_defer(t->config.rcu, &seg->rcu, segment_free_rcu, segment_bytes(t, seg));
	}
	spin_unlock(&t->lock);
	rcu_defer(t->config.rcu, &old->rcu, root_free_rcu, root_bytes(old->depth));
	free(from);
}

static void unlock_all(struct hash_table *t)
{
	struct hash_root *r = t->root;

	for (size_t i = 0; i < (size_t)1 << r->depth;) {
		struct hash_segment *seg = entry_segment(r->entry[i]);
		i += (size_t)1 << (r->depth - seg->depth);
		spin_unlock(&seg->lock);
	}
}

static void keep_record(struct rcu *rcu, void *record)
{
}

/* The table under a new secret, unless that happened since `root` was read. Readers go on. */
static int rebuild_all(struct hash_table *t, const struct hash_root *root)
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
