/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_flush: transactions on a table as a whole, and a flush within one, in place.
 *
 * A list that is loaded again is mostly the list that was there. So a flush changes nothing that
 * readers look at: it takes all marks away, and from then on, until the commit, the next state of a
 * segment that is `flushed` is
 *	what is in the next view alone: new, and
 *	what is in both views and marked: `wanted`, it stood there with nothing but its key and the
 *	transaction added it again; or `later`, a packet added it since the flush.
 * What is in both views without a mark is old and goes: the commit sweeps it out of the next view
 * before that is shown, and writes the lines alone that lose something. A change that writes a line
 * takes what is old there out of the next view at once, so that the commit finds that done; what is
 * added again later comes back into it. An element that was there but is added with something else
 * is new, in another slot. A rollback makes the next view what readers see. So a flush and adding
 * what was there again writes marks and nothing else.
 *
 * The state is a segment's, changed with its lock held, so that packets find each segment before or
 * after; segments that are built anew take it along (flushed_carry()). While all are walked through
 * none are merged, and no alarm is answered (alarm_lock), so that each is met once.
 *
 * A packet's change is none of the transaction's. What one takes out that is wanted leaves readers'
 * view alone, and is as new from then on; what another packet has added since the flush goes.
 *
 * Cost: flush, commit and rollback of one a walk over all buckets, some 2 ns each; between them
 * O(1) a change. For a moment the table holds what was there and what is new. At the end segments
 * that have become too large are built anew, or, if a quarter or more of the table has gone, all of
 * them, some 50 ns a key, of what readers see: then the memory that it had is given back whole. For
 * lines that readers look at and that were changed the walk lets them fetch these (rcu_ease()), so
 * that a burst meets few at a time: some 0.7 us a line.
 */
#include "set/hash_table_internal.h"

/* --- all segments --------------------------------------------------------------------------- */

/* What is done with each of them. fn may be NULL: it is told of elements, see hash_table.h. */
struct walk {
	struct hash_table *t;
	void (*fn)(void *ctx, struct set_elem *e, int delta);
	void *ctx;
	uint64_t gone; /* slots that are in no view any more */
	size_t lines;  /* of those that readers look at, changed since they were given time */
};

enum { LINES_AT_ONCE = 256 };

/* Calls visit() with each segment, locked; it unlocks. */
static void visit_all(struct walk *w,
		      void (*visit)(struct walk *w, struct hash_segment *seg, uint64_t at))
{
	uint64_t at = 0;

	do {
		struct hash_segment *seg = segment_lock(w->t, at);
		uint64_t next = place_behind(at, seg->depth);
		visit(w, seg, at);
		if (w->lines >= LINES_AT_ONCE) {
			rcu_ease(w->t->config.rcu, (unsigned)w->lines);
			w->lines = 0;
		}
		at = next;
	} while (at);
}

/* The same, each key once. `flushed` is what the table is then. */
static void sweep(struct walk *w, bool flushed,
		  void (*visit)(struct walk *w, struct hash_segment *seg, uint64_t at))
{
	struct hash_table *t = w->t;

	spin_lock(&t->alarm_lock);
	STORE_RELEASE(&t->sweeping, true);
	visit_all(w, visit);
	STORE_RELEASE(&t->sweeping, false);
	t->flushed = flushed;
	STORE(&t->regions_grow, false);
	spin_unlock(&t->alarm_lock);
}

static void tell(struct walk *w, const struct hash_segment *seg, unsigned b, uint32_t slots,
		 int delta)
{
	for (; slots; slots &= slots - 1)
		w->fn(w->ctx, slot_elem(w->t, seg, b * SLOTS + (unsigned)__builtin_ctz(slots)),
		      delta);
}

/* Frees the records of slots that are in no view any more. */
static void records_free(struct hash_table *t, const struct hash_segment *seg, unsigned b,
			 uint32_t slots)
{
	for (; seg->column[HASH_RECORD] && slots; slots &= slots - 1) {
		uint64_t r =
			segment_word(seg, HASH_RECORD, b * SLOTS + (unsigned)__builtin_ctz(slots));
		if (r)
			t->config.record_free(t->config.rcu, (void *)(uintptr_t)r);
	}
}

/* What is in the next view alone goes out of it. */
static void drop_new(struct walk *w, struct hash_segment *seg, unsigned b)
{
	struct hash_table *t = w->t;
	uint32_t head = seg->bucket[b].head;
	uint32_t slots =
		head >> t->next_shift & ~(head >> (t->next_shift ^ VIEW_SHIFT)) & VIEW_BITS;

	if (!slots)
		return;
	STORE_RELEASE(&seg->bucket[b].head, head & ~(slots << t->next_shift));
	count_add(t, 0);
	bucket_rest(t, seg, b, slots);
	records_free(t, seg, b, slots);
	seg->kept -= (uint16_t)__builtin_popcount(slots);
	w->gone += (unsigned)__builtin_popcount(slots);
}

static void unmark(struct hash_table *t, struct hash_segment *seg, unsigned b)
{
	struct hash_marks *m = segment_marks(t, seg, b);

	STORE(&m->wanted, 0);
	STORE(&m->later, 0);
}

uint32_t flushed_head(const struct hash_table *t, const struct hash_segment *seg, unsigned b)
{
	uint32_t head = seg->bucket[b].head;
	uint32_t old = (head >> t->next_shift & VIEW_BITS) & ~bucket_next(t, seg, b);

	return head & ~(old << t->next_shift);
}

/* --- flush ---------------------------------------------------------------------------------- */

static void flush_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	struct hash_table *t = w->t;
	uint64_t n = 0;

	for (unsigned b = 0; b < seg->n_buckets; b++) {
		uint32_t slots = bucket_next(t, seg, b);
		n += (unsigned)__builtin_popcount(slots);
		if (w->fn)
			tell(w, seg, b, slots, -1);
		drop_new(w, seg, b);
		unmark(t, seg, b);
	}
	seg->flushed = true;
	count_add(t, -n);
	spin_unlock(&seg->lock);
}

void hash_table_flush(struct hash_table *t, void (*fn)(void *ctx, struct set_elem *e, int delta),
		      void *ctx)
{
	sweep(&(struct walk){.t = t, .fn = fn, .ctx = ctx}, true, flush_segment);
}

bool flushed_find(struct hash_pos *pos)
{
	const struct hash_segment *seg = pos->seg;
	unsigned b = home_of(pos->at, seg->n_buckets);
	bool overflowed = seg->bucket[b].head & OVERFLOWED;

	for (unsigned k = 0; k < 1U + overflowed; k++) {
		uint32_t m = pos_slots(pos, b, bucket_next(pos->t, seg, b));
		if (m) {
			pos->slot = b * SLOTS + (unsigned)__builtin_ctz(m);
			return true;
		}
		b = second_of(pos->at, seg->n_buckets);
	}
	return false;
}

/* The segment is locked; the control thread may read them. */
static void mark(uint16_t *marks, uint32_t slot)
{
	STORE(marks, *marks | (uint16_t)slot);
}

/* An element that has nothing but its key. */
static bool slot_is_bare(const struct hash_segment *seg, unsigned slot)
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (segment_word(seg, c, slot))
			return false;
	return true;
}

bool flushed_again(struct hash_pos *pos)
{
	const struct hash_segment *seg = pos->seg;
	unsigned b[2] = {home_of(pos->at, seg->n_buckets), second_of(pos->at, seg->n_buckets)};
	bool overflowed = seg->bucket[b[0]].head & OVERFLOWED;

	for (unsigned k = 0; k < 1U + overflowed; k++) {
		struct hash_bucket *bucket = &pos->seg->bucket[b[k]];
		uint32_t head = bucket->head, next = pos->t->next_shift;
		uint32_t m = pos_slots(pos, b[k], head >> (next ^ VIEW_SHIFT));
		for (; m; m &= m - 1) {
			unsigned slot = b[k] * SLOTS + (unsigned)__builtin_ctz(m);
			uint32_t bit = m & -m;
			if (!slot_is_bare(seg, slot))
				continue;
			mark(&segment_marks(pos->t, seg, b[k])->wanted, bit);
			if (!(head & bit << next)) /* a change of its neighbours took it out */
				STORE_RELEASE(&bucket->head, head | bit << next);
			pos->slot = slot;
			return true;
		}
	}
	return false;
}

bool hash_pos_is_again(const struct hash_pos *pos)
{
	return pos->seg->flushed &&
	       segment_marks(pos->t, pos->seg, pos->slot / SLOTS)->wanted & 1U << pos->slot % SLOTS;
}

void flushed_put(struct hash_pos *pos)
{
	unsigned b = pos->slot / SLOTS;
	uint32_t bit = 1U << pos->slot % SLOTS;

	if (pos->seg->bucket[b].head & bit << pos->t->next_shift)
		mark(&segment_marks(pos->t, pos->seg, b)->later, bit);
}

bool flushed_drop(struct hash_table *t, struct hash_segment *seg, unsigned slot, bool packet)
{
	struct hash_marks *m = segment_marks(t, seg, slot / SLOTS);
	struct hash_bucket *b = &seg->bucket[slot / SLOTS];
	uint32_t bit = 1U << slot % SLOTS, next = bit << t->next_shift;
	uint32_t shown = bit << (t->next_shift ^ VIEW_SHIFT), head = b->head, gives_up = 0;
	bool counts = slot_counts(t, seg, slot, packet);

	if (packet)
		gives_up = m->wanted & bit ? shown : shown | next;
	else if (!(head & shown))
		gives_up = next;
	STORE(&m->wanted, m->wanted & (uint16_t)~bit);
	STORE(&m->later, m->later & (uint16_t)~bit);
	if (head & gives_up)
		STORE_RELEASE(&b->head, head & ~gives_up);
	bool gone = !(b->head & (shown | next));
	count_add(t, counts ? -1ULL : 0);
	if (gone)
		bucket_rest(t, seg, slot / SLOTS, bit);
	seg->kept -= gone;
	return gone;
}

void flushed_carry(const struct hash_table *t, const struct hash_segment *from, unsigned from_slot,
		   struct hash_segment *to, unsigned slot)
{
	const struct hash_marks *m = segment_marks(t, from, from_slot / SLOTS);
	struct hash_marks *n = segment_marks(t, to, slot / SLOTS);
	unsigned down = from_slot % SLOTS, up = slot % SLOTS;

	n->wanted |= (uint16_t)((m->wanted >> down & 1) << up);
	n->later |= (uint16_t)((m->later >> down & 1) << up);
}

/* --- both views made equal ------------------------------------------------------------------ */

/*
 * Makes the views of these slots of a bucket, which differ, equal. True if one that would have
 * expired is gone.
 */
static bool settle_slots(struct walk *w, struct hash_segment *seg, unsigned b, uint32_t m)
{
	bool due = false;
	struct hash_table *t = w->t;
	unsigned from = t->next_shift, to = from ^ VIEW_SHIFT;
	uint32_t head = seg->bucket[b].head;

	for (; m; m &= m - 1) {
		uint32_t bit = m & -m;
		unsigned slot = b * SLOTS + (unsigned)__builtin_ctz(m);
		uint64_t end = segment_word(seg, HASH_EXPIRES, slot);
		bool stays = head >> from & bit;
		if (t->reverting) {
			w->fn(w->ctx, slot_elem(t, seg, slot), stays ? 1 : -1);
			count_add(t, stays ? 1 : -1ULL);
		}
		head = stays ? head | bit << to : head & ~(bit << to);
		if (stays) {
			note_due(t, seg, end); /* the heap has room for every segment */
			if (end)
				bucket_due_lower(seg, b, end);
			continue;
		}
		uint64_t record = segment_word(seg, HASH_RECORD, slot);
		STORE_RELEASE(&seg->bucket[b].head, head);
		seg->kept--;
		w->gone++;
		due |= end != 0;
		if (record)
			t->config.record_free(NULL, (void *)(uintptr_t)record);
	}
	STORE_RELEASE(&seg->bucket[b].head, head);
	w->lines++;
	return due;
}

static uint32_t differing(const struct hash_segment *seg, unsigned b)
{
	uint32_t head = seg->bucket[b].head;
	return (head ^ head >> VIEW_SHIFT) & VIEW_BITS;
}

static void settle_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	bool due = false;

	for (unsigned b = 0; b < seg->n_buckets; b++) {
		uint32_t m = differing(seg, b);
		if (m && settle_slots(w, seg, b, m)) {
			bucket_due_again(w->t, seg, b);
			due = true;
		}
	}
	if (due)
		segment_due_again(w->t, seg);
	spin_unlock(&seg->lock);
}

static void renew_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	/* Else it is of this place and of the one before, which was visited. */
	if (at == place_first(at, seg->depth) && segment_renew(w->t, seg, at))
		w->lines += BUCKETS_MAX;
	else
		settle_segment(w, seg, at);
}

static void fit_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	if (segment_fit(w->t, seg, at))
		w->lines += BUCKETS_MAX / 2;
}

/*
 * Of all segments, after so many slots have left the view that readers look at, which then give
 * back memory. Where that is much they are built anew, in new regions, with what is in that view.
 */
static void settle_all(struct hash_table *t, uint64_t gone)
{
	enum { SHARE = 4 };
	struct walk w = {.t = t};

	spin_lock(&t->alarm_lock);
	if (gone * SHARE >= LOAD(&t->count) && regions_renew(t)) {
		visit_all(&w, renew_segment);
	} else {
		visit_all(&w, settle_segment);
		if (gone)
			visit_all(&w, fit_segment);
	}
	spin_unlock(&t->alarm_lock);
}

void hash_table_settle(struct hash_table *t, const uint8_t *key,
		       void (*fn)(void *ctx, struct set_elem *e, int delta), void *ctx)
{
	struct walk w = {.t = t, .fn = fn, .ctx = ctx};
	struct hash_pos pos;
	bool due = false;

	pos_lock(t, key, true, &pos);
	struct hash_segment *seg = pos.seg;
	unsigned b[2] = {home_of(pos.at, seg->n_buckets), second_of(pos.at, seg->n_buckets)};
	for (unsigned k = 0; k < 2; k++) {
		uint32_t m = pos_slots(&pos, b[k], differing(seg, b[k]));
		if (m)
			due |= settle_slots(&w, seg, b[k], m);
	}
	if (due) {
		bucket_due_again(t, seg, b[0]);
		bucket_due_again(t, seg, b[1]);
		segment_due_again(t, seg);
	}
	if (w.gone)
		segment_shrink(t, seg, pos.at);
	else
		spin_unlock(&seg->lock);
}

void hash_table_settle_all(struct hash_table *t)
{
	settle_all(t, t->going);
}

/* --- the end of a flush --------------------------------------------------------------------- */

/* What is old leaves the next view. */
static void commit_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	struct hash_table *t = w->t;

	for (unsigned b = 0; seg->flushed && b < seg->n_buckets; b++) {
		uint32_t head = flushed_head(t, seg, b);
		if (head != seg->bucket[b].head)
			STORE_RELEASE(&seg->bucket[b].head, head);
		w->lines += differing(seg, b) != 0; /* here, or when what is new came */
		w->gone += (unsigned)__builtin_popcount(head_kept(head) & ~(head >> t->next_shift));
		unmark(t, seg, b);
	}
	seg->flushed = false;
	spin_unlock(&seg->lock);
}

/* The next view becomes what readers see. */
static void undo_segment(struct walk *w, struct hash_segment *seg, uint64_t at)
{
	struct hash_table *t = w->t;
	uint64_t n = 0;

	for (unsigned b = 0; b < seg->n_buckets; b++) {
		uint32_t head = seg->bucket[b].head, next = bucket_next(t, seg, b);
		uint32_t shown = head >> (t->next_shift ^ VIEW_SHIFT) & VIEW_BITS;
		n += (unsigned)__builtin_popcount(shown);
		n -= (unsigned)__builtin_popcount(next);
		if (w->fn) {
			tell(w, seg, b, next & ~shown, -1);
			tell(w, seg, b, shown & ~next, 1);
		}
		drop_new(w, seg, b);
		head = seg->bucket[b].head;
		if (shown & ~(head >> t->next_shift))
			STORE_RELEASE(&seg->bucket[b].head, head | shown << t->next_shift);
		w->lines += next != shown;
		unmark(t, seg, b);
	}
	seg->flushed = false;
	count_add(t, n);
	for (unsigned b = 0; seg->column[HASH_EXPIRES] && b < seg->n_buckets; b += DUE_BUCKETS)
		bucket_due_again(t, seg, b);
	if (seg->column[HASH_EXPIRES])
		segment_due_again(t, seg);
	spin_unlock(&seg->lock);
}

void hash_table_unflush(struct hash_table *t, void (*fn)(void *ctx, struct set_elem *e, int delta),
			void *ctx)
{
	struct walk w = {.t = t, .fn = fn, .ctx = ctx};

	sweep(&w, false, undo_segment);
	settle_all(t, w.gone);
}

/* --- transactions --------------------------------------------------------------------------- */

void hash_table_begin(struct hash_table *t, bool visible)
{
	t->open = true;
	t->next_shift = t->read_shift ^ VIEW_SHIFT;
	STORE(&t->count_shift, t->next_shift);
	if (visible)
		t->read_shift = t->next_shift;
}

void hash_table_publish(struct hash_table *t)
{
	struct walk w = {.t = t};

	if (t->flushed)
		sweep(&w, false, commit_segment);
	t->going = w.gone;
	STORE_RELEASE(&t->read_shift, t->next_shift);
}

void hash_table_revert(struct hash_table *t)
{
	if (t->reverting)
		return;
	t->reverting = true;
	t->next_shift ^= VIEW_SHIFT;
	STORE_RELEASE(&t->read_shift, t->next_shift);
}

void hash_table_end(struct hash_table *t)
{
	t->open = t->reverting = false;
}
