/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_dir: from the first bits of a hash to a segment: the root, its parts.
 *
 * The root doubles up to 2^ROOT_DEPTH_MAX entries, 8 KiB. Beyond, each entry that needs it gets a
 * part of its own, which doubles by itself: a step copies one root or one part, 1/1024 of what
 * there is. Readers see the old or the new one, both lead to the same segments; the old one goes
 * after a grace period. Changes are made under the table's lock and are O(what is copied).
 *
 * A table that is told how many keys will come gets a root for all of them, up to
 * 2^ROOT_DEPTH_TOLD entries, so that lookups need no parts. It is not copied any more, and stays.
 */
#include <sys/random.h>

#include "set/hash_table_internal.h"

enum { ROOT_DEPTH_TOLD = 16 };

static size_t root_bytes(unsigned depth)
{
	return sizeof(struct hash_root) + (sizeof(uint64_t) << depth);
}

static size_t part_bytes(unsigned depth)
{
	return sizeof(struct hash_part) + (sizeof(uint64_t) << depth);
}

static struct hash_root *root_alloc(unsigned depth)
{
	struct hash_root *r = aligned_alloc(64, (root_bytes(depth) + 63) & ~(size_t)63);
	if (r)
		r->depth = depth;
	return r;
}

static unsigned part_depth(uint64_t entry)
{
	return (unsigned)(entry >> ENTRY_SHIFT);
}

static struct hash_part *part_of(const struct hash_root *r, uint64_t entry)
{
	return container_of(part_entry(r, entry, 0), struct hash_part, entry[0]);
}

static uint64_t entry_of(const struct hash_segment *seg)
{
	return (uint64_t)(uintptr_t)seg | (uint64_t)seg->n_buckets << ENTRY_SHIFT;
}

int dir_new(struct hash_table *t)
{
	struct hash_root *r = root_alloc(0);
	struct hash_segment *seg = segment_new(t, 1, 0, 0);
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

/* --- going ---------------------------------------------------------------------------------- */

void dir_free(struct hash_root *r)
{
	for (size_t i = 0; i < (size_t)1 << r->depth; i++)
		if (r->entry[i] & ENTRY_PART)
			free(part_of(r, r->entry[i]));
	free(r);
}

static void dir_free_rcu(struct rcu_head *head)
{
	dir_free(container_of(head, struct hash_root, rcu));
}

void dir_discard(struct hash_table *t, struct hash_root *r)
{
	size_t bytes = root_bytes(r->depth);

	for (size_t i = 0; i < (size_t)1 << r->depth; i++)
		if (r->entry[i] & ENTRY_PART)
			bytes += part_bytes(part_depth(r->entry[i]));
	rcu_defer(t->config.rcu, &r->rcu, dir_free_rcu, bytes);
}

static void root_free_rcu(struct rcu_head *head)
{
	free(container_of(head, struct hash_root, rcu));
}

static void part_free_rcu(struct rcu_head *head)
{
	free(container_of(head, struct hash_part, rcu));
}

static void part_discard(struct hash_table *t, uint64_t entry)
{
	struct hash_part *p = part_of(t->root, entry);
	size_t bytes = part_bytes(part_depth(entry));

	__atomic_fetch_sub(&t->bytes, bytes, __ATOMIC_RELAXED);
	rcu_defer(t->config.rcu, &p->rcu, part_free_rcu, bytes);
}

/* --- deeper, less deep ---------------------------------------------------------------------- */

/* Copies 2^to entries out of 2^from; either is a multiple of the other. */
static void entries_copy(uint64_t *out, unsigned to, const uint64_t *in, unsigned from)
{
	for (size_t i = 0; i < (size_t)1 << to; i++)
		out[i] = in[to > from ? i >> (to - from) : i << (from - to)];
}

static int root_resize(struct hash_table *t, unsigned depth)
{
	struct hash_root *old = t->root, *r = root_alloc(depth);
	if (!r)
		return -ENOMEM;
	r->key = old->key;
	entries_copy(r->entry, depth, old->entry, old->depth);
	STORE_RELEASE(&t->root, r);
	__atomic_fetch_add(&t->bytes, root_bytes(depth) - root_bytes(old->depth), __ATOMIC_RELAXED);
	rcu_defer(t->config.rcu, &old->rcu, root_free_rcu, root_bytes(old->depth));
	return 0;
}

/* Gives an entry of the root a part of this depth in the place of what it has. */
static int part_resize(struct hash_table *t, uint64_t *at, unsigned depth)
{
	struct hash_part *p = malloc(part_bytes(depth));
	uint64_t old = *at;
	if (!p)
		return -ENOMEM;
	if (old & ENTRY_PART)
		entries_copy(p->entry, depth, part_of(t->root, old)->entry, part_depth(old));
	else
		entries_copy(p->entry, depth, &old, 0);
	__atomic_fetch_add(&t->bytes, part_bytes(depth), __ATOMIC_RELAXED);
	STORE_RELEASE(at, (uintptr_t)p | ENTRY_PART | (uint64_t)depth << ENTRY_SHIFT);
	if (old & ENTRY_PART)
		part_discard(t, old);
	return 0;
}

static struct hash_part *part_new(struct hash_segment *const *seg, unsigned depth)
{
	struct hash_part *p = malloc(part_bytes(depth));

	for (size_t i = 0; p && i < (size_t)1 << depth; i++)
		p->entry[i] = entry_of(seg[i]);
	return p;
}

int dir_replace(struct hash_table *t, struct hash_segment *const *seg, unsigned depth)
{
	unsigned above = MIN(depth, (unsigned)ROOT_DEPTH_TOLD), below = depth - above;
	struct hash_root *old = t->root, *r = root_alloc(above);
	size_t bytes = root_bytes(above) + (below ? part_bytes(below) << above : 0);

	if (!r)
		return -ENOMEM;
	r->key = old->key;
	memset(r->entry, 0, sizeof(r->entry[0]) << above);
	for (size_t i = 0; i < (size_t)1 << above; i++) {
		struct hash_part *p = below ? part_new(seg + (i << below), below) : NULL;
		if (below && !p) {
			dir_free(r);
			return -ENOMEM;
		}
		r->entry[i] = !below ? entry_of(seg[i])
				     : (uintptr_t)p | ENTRY_PART | (uint64_t)below << ENTRY_SHIFT;
	}
	STORE_RELEASE(&t->root, r);
	__atomic_fetch_add(&t->bytes, bytes - root_bytes(old->depth), __ATOMIC_RELAXED);
	rcu_defer(t->config.rcu, &old->rcu, root_free_rcu, root_bytes(old->depth));
	return 0;
}

int dir_deepen(struct hash_table *t, uint64_t at, unsigned depth)
{
	struct hash_root *r = t->root;

	if (depth <= r->depth)
		return 0;
	if (depth <= ROOT_DEPTH_MAX)
		return root_resize(t, depth);
	uint64_t *entry = &r->entry[entry_index(r, at)];
	unsigned has = r->depth + (*entry & ENTRY_PART ? part_depth(*entry) : 0);
	return depth <= has ? 0 : part_resize(t, entry, depth - r->depth);
}

void dir_lead(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	struct hash_root *r = t->root;
	size_t i = entry_index(r, at);
	uint64_t *entries = r->entry, replaced = r->entry[i];
	unsigned depth = r->depth;

	if (seg->depth > depth) {
		i = (size_t)(part_entry(r, replaced, at) - part_of(r, replaced)->entry);
		entries = part_of(r, replaced)->entry;
		depth += part_depth(replaced);
		replaced = 0;
	}
	size_t n = (size_t)1 << (depth - seg->depth);
	i &= ~(n - 1);
	for (size_t end = i + n; i < end; i++)
		STORE_RELEASE(&entries[i], entry_of(seg));
	if (replaced & ENTRY_PART)
		part_discard(t, replaced);
}

static unsigned deepest(const uint64_t *entries, unsigned depth, unsigned above)
{
	unsigned most = 0;

	for (size_t i = 0; i < (size_t)1 << depth;) {
		if (entries[i] & ENTRY_PART)
			return UINT32_MAX;
		unsigned d = entry_segment(entries[i])->depth;
		most = MAX(most, d);
		i += (size_t)1 << (above + depth - d);
	}
	return most;
}

void dir_tidy(struct hash_table *t, uint64_t at)
{
	struct hash_root *r = t->root;
	uint64_t *entry = &r->entry[entry_index(r, at)];

	if (*entry & ENTRY_PART) {
		unsigned depth = part_depth(*entry);
		unsigned most = deepest(part_of(r, *entry)->entry, depth, r->depth);
		if (most < r->depth + depth)
			part_resize(t, entry, most - r->depth); /* or it stays as it is */
	} else if (r->depth <= ROOT_DEPTH_MAX && t->n_segments <= 1U << r->depth >> 2) {
		unsigned most = deepest(r->entry, r->depth, 0);
		if (most < r->depth)
			root_resize(t, most);
	}
}

/* --- walks ---------------------------------------------------------------------------------- */

struct hash_segment *segment_next(struct segment_walk *w)
{
	if (w->done)
		return NULL;
	struct hash_segment *seg = entry_segment(entry_load(w->root, w->at));
	w->at = place_behind(w->at, seg->depth);
	w->done = !w->at;
	return seg;
}
