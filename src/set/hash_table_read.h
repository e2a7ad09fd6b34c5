/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_read: the read side, written once; each variant includes it with its own PLACE() and
 * COMPARE(), and PLACES() and MATCHES() if it has better ones, and is compiled for its own CPU.
 * Order and safety: see hash_table.h, A to C.
 *
 * A burst goes through short loops, each over all keys and with nothing in it that depends on what
 * the last turn found: hashes, directory, addresses, fetches, comparisons. So compilers make
 * vectors of them, the CPU has many turns under way, and all lines are on their way at a time.
 */
#include "set/hash_table_internal.h"

/* True if the element in this slot is the key and lives. */
static inline bool accept(const struct hash_table *t, const struct hash_segment *seg, unsigned slot,
			  uint32_t tag, const uint8_t *key, const uint64_t *now,
			  struct set_elem **hit)
{
	if (t->key_size && !key_equal(slot_key(t, seg, slot), key, t->key_len))
		return false;
	uint64_t *expires = LOAD_ACQUIRE(&seg->column[HASH_EXPIRES]);
	if (expires) {
		uint64_t end = LOAD(&expires[slot]);
		if (end && *now >= end)
			return false;
	}
	if (!hit)
		return true;
	uint64_t *record = LOAD_ACQUIRE(&seg->column[HASH_RECORD]);
	uint64_t r = record ? LOAD(&record[slot]) : 0;
	*hit = r ? (struct set_elem *)(uintptr_t)r : elem_of_key(t, seg, slot, tag);
	return true;
}

static inline bool accept_any(const struct hash_table *t, const struct hash_segment *seg,
			      unsigned bucket, uint32_t slots, uint32_t tag, const uint8_t *key,
			      const uint64_t *now, struct set_elem **hit)
{
	for (; slots; slots &= slots - 1)
		if (accept(t, seg, bucket * SLOTS + (unsigned)__builtin_ctz(slots), tag, key, now,
			   hit))
			return true;
	return false;
}

static inline void fetch_cells(const struct hash_table *t, const struct hash_segment *seg,
			       unsigned slot)
{
	if (t->key_size)
		__builtin_prefetch(slot_key(t, seg, slot));
	for (unsigned c = 0; c < HASH_COLUMNS; c++) {
		uint64_t *column = c == HASH_TIMEOUT ? NULL : LOAD(&seg->column[c]);
		if (column)
			__builtin_prefetch(&column[slot]);
	}
}

enum { BURST = 64, PAD = 4 };

/* The keys that are asked for, one behind the other, and what is known of them. */
struct burst {
	const struct hash_table *t;
	const uint8_t *keys;
	size_t stride;
	const uint64_t *now;
	struct set_elem **hit;
	unsigned n, shift;
	uint8_t nth[BURST + PAD]; /* which one of the caller's it is */
	uint32_t tag[BURST] __attribute__((aligned(64)));
	uint64_t at[BURST] __attribute__((aligned(64)));
	uint64_t entry[BURST] __attribute__((aligned(64)));
	const struct hash_bucket *bucket[BURST] __attribute__((aligned(64)));
	/* Of the bucket: */
	uint32_t head[BURST] __attribute__((aligned(64)));
	uint16_t same[BURST] __attribute__((aligned(64))); /* slots with the tag */
};

static inline const uint8_t *key_of(const struct burst *b, unsigned j)
{
	return b->keys + b->nth[j] * b->stride;
}

/* Slots that may hold the key. */
static inline uint32_t slots_of(const struct burst *b, unsigned j)
{
	return b->same[j] & b->head[j] >> b->shift & VIEW_BITS;
}

#ifndef PLACES
/* Place and tag of all keys, which have 4 bytes: the tag is the key. */
static inline void places(struct burst *b, const struct hash_key *k)
{
	for (unsigned j = 0; j < b->n; j++) {
		memcpy(&b->tag[j], key_of(b, j), sizeof(b->tag[j]));
		b->at[j] = PLACE(k, key_of(b, j), 4).at;
	}
}
#define PLACES places
#endif

/* The keys that have such slots; *overflowed: those of whose bucket the head says so. */
static inline uint64_t matches(const struct burst *b, uint64_t *overflowed)
{
	uint64_t found = 0;

	for (unsigned j = 0; j < MIN(b->n, (unsigned)BURST); j++) {
		found |= (uint64_t)(slots_of(b, j) != 0) << j;
		*overflowed |= (uint64_t)(b->head[j] >> 15 & 1) << j;
	}
	return found;
}

#ifndef MATCHES
#define MATCHES matches
#endif

static inline void look_at(struct burst *b, unsigned j)
{
	b->head[j] = LOAD_ACQUIRE(&b->bucket[j]->head);
	b->same[j] = (uint16_t)COMPARE(b->bucket[j], b->tag[j]);
}

/* Of keys that have slots: those that are there. */
static inline uint64_t accepted(const struct burst *b, uint64_t keys)
{
	uint64_t found = 0;

	for (uint64_t rest = keys; rest; rest &= rest - 1) {
		unsigned j = (unsigned)__builtin_ctzll(rest);
		const struct hash_segment *seg = entry_segment(b->entry[j]);
		fetch_cells(b->t, seg,
			    (unsigned)(b->bucket[j] - seg->bucket) * SLOTS +
				    (unsigned)__builtin_ctz(slots_of(b, j)));
	}
	for (; keys; keys &= keys - 1) {
		unsigned j = (unsigned)__builtin_ctzll(keys), i = b->nth[j];
		const struct hash_segment *seg = entry_segment(b->entry[j]);
		if (accept_any(b->t, seg, (unsigned)(b->bucket[j] - seg->bucket), slots_of(b, j),
			       b->tag[j], key_of(b, j), &b->now[i], b->hit ? &b->hit[i] : NULL))
			found |= 1ULL << j;
	}
	return found;
}

/* The same where the tag is the key and there are no columns: all of them. */
static inline uint64_t accepted_plain(const struct burst *b, uint64_t keys)
{
	for (uint64_t rest = b->hit ? keys : 0; rest; rest &= rest - 1) {
		unsigned j = (unsigned)__builtin_ctzll(rest);
		b->hit[b->nth[j]] = elem_of_key(b->t, NULL, 0, b->tag[j]);
	}
	return keys;
}

/* Of the keys that are left: those in their second bucket. */
static inline uint64_t find_second(struct burst *b, uint64_t keys, bool plain)
{
	uint64_t found = 0;

	for (uint64_t rest = keys; rest; rest &= rest - 1) {
		unsigned j = (unsigned)__builtin_ctzll(rest);
		b->bucket[j] = entry_second(b->entry[j], b->at[j]);
		__builtin_prefetch(b->bucket[j]);
	}
	for (uint64_t rest = keys; rest; rest &= rest - 1) {
		unsigned j = (unsigned)__builtin_ctzll(rest);
		look_at(b, j);
		found |= (uint64_t)(slots_of(b, j) != 0) << j;
	}
	return plain ? accepted_plain(b, found) : accepted(b, found);
}

/* `plain`: keys have 4 bytes, and no segment has columns. */
static inline __attribute__((always_inline)) uint64_t find_burst(struct burst *b, bool plain)
{
	const struct hash_table *t = b->t;
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	const unsigned n = b->n;
	uint64_t found, left = 0;

	b->shift = LOAD_ACQUIRE(&t->read_shift);
	if (plain)
		PLACES(b, &root->key);
	for (unsigned j = 0; !plain && j < n; j++) {
		struct hash_place p = PLACE(&root->key, key_of(b, j), t->key_len);
		b->at[j] = p.at;
		b->tag[j] = p.tag;
	}
	for (unsigned j = 0; j < n; j++)
		b->entry[j] = entry_load(root, b->at[j]);
	for (unsigned j = 0; j < n; j++)
		b->bucket[j] = entry_home(b->entry[j], b->at[j]);
	for (unsigned j = 0; j < n; j++) {
		__builtin_prefetch(b->bucket[j]);
		if (!plain)
			__builtin_prefetch(entry_segment(b->entry[j]));
	}
	for (unsigned j = 0; j < n; j++)
		look_at(b, j);
	found = MATCHES(b, &left);
	found = plain ? accepted_plain(b, found) : accepted(b, found);
	left &= ~found;
	return left ? found | find_second(b, left, plain) : found;
}

static inline bool find_one(const struct hash_table *t, const uint8_t *key, const uint64_t *now,
			    struct set_elem **hit)
{
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	unsigned shift = LOAD_ACQUIRE(&t->read_shift);
	struct hash_place place = PLACE(&root->key, key, t->key_len);
	uint64_t entry = entry_load(root, place.at);
	const struct hash_segment *seg = entry_segment(entry);
	const struct hash_bucket *bucket = entry_home(entry, place.at);

	for (bool second = false;; second = true) {
		uint32_t head = LOAD_ACQUIRE(&bucket->head);
		uint32_t m = COMPARE(bucket, place.tag) & head >> shift & VIEW_BITS;
		if (m && accept_any(t, seg, (unsigned)(bucket - seg->bucket), m, place.tag, key,
				    now, hit))
			return true;
		if (second || !(head & OVERFLOWED))
			return false;
		bucket = entry_second(entry, place.at);
	}
}

static uint64_t lookup(const struct hash_table *t, const uint8_t *keys, size_t stride,
		       uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	bool plain = t->key_len == 4 && !LOAD(&t->columns);
	uint64_t found, out = 0;
	struct burst b;

	if (!(mask & (mask - 1))) {
		unsigned i = mask ? (unsigned)__builtin_ctzll(mask) : 0;
		bool one = mask && find_one(t, keys + i * stride, &now[i], hit ? &hit[i] : NULL);
		return (uint64_t)one << i;
	}
	b.t = t;
	b.keys = keys;
	b.stride = stride;
	b.now = now;
	b.hit = hit;
	b.n = 0;
	for (uint64_t rest = mask; rest; rest &= rest - 1)
		b.nth[b.n++] = (uint8_t)__builtin_ctzll(rest);
	for (unsigned p = 0; p < PAD; p++)
		b.nth[b.n + p] = b.nth[0];
	found = plain ? find_burst(&b, true) : find_burst(&b, false);
	/* Columns made by now: an element that has cells says so before it shows. */
	if (plain && LOAD(&t->columns))
		found = find_burst(&b, false);
	if (!(mask & (mask + 1)))
		return found;
	for (; found; found &= found - 1)
		out |= 1ULL << b.nth[__builtin_ctzll(found)];
	return out;
}

static struct hash_place place_of(const struct hash_key *k, const uint8_t *key, unsigned len)
{
	return PLACE(k, key, len);
}

static uint32_t compare(const struct hash_bucket *b, uint32_t tag)
{
	return COMPARE(b, tag);
}

static inline bool find_in(struct hash_pos *pos, unsigned b, uint32_t view)
{
	const struct hash_table *t = pos->t;
	uint32_t m = COMPARE(&pos->seg->bucket[b], pos->tag) & view & VIEW_BITS;

	for (; m; m &= m - 1) {
		pos->slot = b * SLOTS + (unsigned)__builtin_ctz(m);
		if (!t->key_size ||
		    key_equal(slot_key(t, pos->seg, pos->slot), pos->key, t->key_len))
			return true;
	}
	return false;
}

static bool find(struct hash_pos *pos, unsigned shift)
{
	const struct hash_segment *seg = pos->seg;
	unsigned b = home_of(pos->at, seg->n_buckets);
	uint32_t head = seg->bucket[b].head;

	if (find_in(pos, b, head >> shift))
		return true;
	if (!(head & OVERFLOWED))
		return false;
	b = second_of(pos->at, seg->n_buckets);
	return find_in(pos, b, seg->bucket[b].head >> shift);
}

static unsigned collect(const struct hash_table *t, const struct hash_key *k,
			const struct hash_segment *seg, struct hash_kept *out)
{
	unsigned n = 0, len = t->key_len, down = 63U - seg->depth;

	for (unsigned b = 0; b < seg->n_buckets; b++) {
		uint32_t head = seg->bucket[b].head;
		uint32_t m = head_kept(head);
		for (; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m), slot = b * SLOTS + i;
			uint64_t at = PLACE(k, slot_key(t, seg, slot), len).at;
			out[n++] = (struct hash_kept){
				(uint32_t)at, (uint16_t)slot,
				(uint8_t)((head >> i & 1) | (head >> i >> VIEW_SHIFT & 1) << 1),
				at >> down & 1};
		}
	}
	return n;
}
