/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_read: the read side, written once; each variant includes it with its own PLACE() and
 * COMPARE() and is compiled for its own CPU. Order and safety: see hash_table.h, A to C.
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

static inline const struct hash_bucket *fetch_bucket(uint64_t entry, uint64_t at, bool cells)
{
	struct hash_segment *seg = entry_segment(entry);
	const struct hash_bucket *home =
		&seg->bucket[home_of(at, (unsigned)(entry >> ENTRY_SHIFT))];

	__builtin_prefetch(home);
	if (cells)
		__builtin_prefetch(seg);
	return home;
}

static uint64_t lookup(const struct hash_table *t, const uint8_t *keys, size_t stride,
		       uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	unsigned shift = LOAD_ACQUIRE(&t->read_shift), len = t->key_len;
	struct hash_place place[64];
	uint64_t entry[64], parts = 0, more = 0, found = 0, check = 0;
	const struct hash_bucket *home[64];
	uint32_t slots[64];
	bool cells = t->key_size || LOAD(&t->columns);

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		place[i] = PLACE(&root->key, keys + i * stride, len);
		__builtin_prefetch(&root->entry[entry_index(root, place[i].at)]);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		entry[i] = LOAD_ACQUIRE(&root->entry[entry_index(root, place[i].at)]);
		if (entry[i] & ENTRY_PART) {
			__builtin_prefetch(part_entry(root, entry[i], place[i].at));
			parts |= 1ULL << i;
		} else {
			home[i] = fetch_bucket(entry[i], place[i].at, cells);
		}
	}
	for (; parts; parts &= parts - 1) {
		unsigned i = (unsigned)__builtin_ctzll(parts);
		entry[i] = LOAD_ACQUIRE(part_entry(root, entry[i], place[i].at));
		home[i] = fetch_bucket(entry[i], place[i].at, cells);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		uint32_t head = LOAD_ACQUIRE(&home[i]->head);
		uint32_t m = COMPARE(home[i], place[i].tag) & head >> shift & VIEW_BITS;
		/* Columns made by now: an element that has cells says so before it shows. */
		bool simple = !t->key_size && !LOAD(&t->columns);
		slots[i] = m;
		more |= (uint64_t)(head >> 15 & 1) << i;
		if (m && simple) {
			found |= 1ULL << i;
			if (hit)
				hit[i] = elem_of_key(t, entry_segment(entry[i]), 0, place[i].tag);
		} else if (m) {
			struct hash_segment *seg = entry_segment(entry[i]);
			unsigned b = (unsigned)(home[i] - seg->bucket);
			check |= 1ULL << i;
			fetch_cells(t, seg, b * SLOTS + (unsigned)__builtin_ctz(m));
		}
	}
	for (uint64_t rest = check; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		unsigned b = home_of(place[i].at, entry[i] >> ENTRY_SHIFT);
		if (accept_any(t, entry_segment(entry[i]), b, slots[i], place[i].tag,
			       keys + i * stride, &now[i], hit ? &hit[i] : NULL))
			found |= 1ULL << i;
	}
	more &= ~found;
	for (uint64_t rest = more; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		__builtin_prefetch(
			&entry_segment(entry[i])
				 ->bucket[second_of(place[i].at, entry[i] >> ENTRY_SHIFT)]);
	}
	for (uint64_t rest = more; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		struct hash_segment *seg = entry_segment(entry[i]);
		unsigned b = second_of(place[i].at, entry[i] >> ENTRY_SHIFT);
		uint32_t head = LOAD_ACQUIRE(&seg->bucket[b].head);
		uint32_t m = COMPARE(&seg->bucket[b], place[i].tag) & head >> shift & VIEW_BITS;
		if (m && accept_any(t, seg, b, m, place[i].tag, keys + i * stride, &now[i],
				    hit ? &hit[i] : NULL))
			found |= 1ULL << i;
	}
	return found;
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
