/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table: single keys and walks; see hash_table.h. */
#include "set/hash_table_internal.h"

enum {
	ALARMS_MAX = 4,	   /* for one key */
	LOCK_TRIES = 2000, /* some 100 us: a segment is built in 10 */
};

const struct hash_table_ops *const hash_table_variants[] = {
#ifdef __x86_64__
	&hash_table_avx512,
	&hash_table_avx2,
#endif
	&hash_table_scalar,
	NULL,
};

static const struct hash_table_ops *best_ops(void)
{
#ifdef __SANITIZE_THREAD__
	return &hash_table_scalar;
#else
	const struct hash_table_ops *const *v = hash_table_variants;
	while (!(*v)->usable())
		v++;
	return *v;
#endif
}

int hash_table_new(const struct hash_table_config *config, struct hash_table **out)
{
	struct hash_table *t = aligned_alloc(64, sizeof(*t));
	if (!t)
		return -ENOMEM;
	memset(t, 0, sizeof(*t));
	t->config = *config;
	t->ops = config->ops ? config->ops : best_ops();
	t->key_len = config->key_len;
	t->key_size = config->key_len <= 4 ? 0 : (config->key_len + 7) & ~7U;
	t->bytes = sizeof(*t);
	t->rest_now = 1;
	int err = dir_new(t);
	if (err) {
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

static void free_records(struct hash_table *t, struct hash_segment *seg)
{
	uint64_t *record = seg->column[HASH_RECORD];

	for (unsigned b = 0; record && b < seg->n_buckets; b++) {
		uint32_t there = head_kept(seg->bucket[b].head);
		for (; there; there &= there - 1) {
			uint64_t r = record[b * SLOTS + (unsigned)__builtin_ctz(there)];
			if (r)
				t->config.record_free(NULL, (void *)(uintptr_t)r);
		}
	}
}

static void table_free(struct rcu_head *head)
{
	struct hash_table *t = container_of(head, struct hash_table, rcu);
	struct segment_walk w = {t->root};
	struct hash_segment *seg;

	while ((seg = segment_next(&w))) {
		free_records(t, seg);
		segment_free_now(seg);
	}
	dir_free(t->root);
	region_list_drop(&t->regions);
	spares_free(t);
	free(t->heap);
	free(t);
}

void hash_table_free(struct hash_table *t)
{
	if (t)
		rcu_defer(t->config.rcu, &t->rcu, table_free, t->bytes);
}

void hash_table_share(struct hash_table *t, struct rcu *rcu)
{
	if (t->config.rcu != rcu) /* else workers may be reading it */
		t->config.rcu = rcu;
}

uint64_t hash_table_lookup(const struct hash_table *t, const uint8_t *keys, size_t stride,
			   uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	return t->ops->lookup(t, keys, stride, mask, now, hit);
}

/* --- one key -------------------------------------------------------------------------------- */

/* All the lines that a change may need at once, not one after the other. */
static inline void fetch_buckets(uint64_t entry, uint64_t at)
{
	__builtin_prefetch(entry_home(entry, at), 1);
	__builtin_prefetch(entry_second(entry, at)); /* mostly not written: readers keep it */
}

/* NULL if it is not patient and the lock was held for long. */
static inline struct hash_segment *lock_at(struct hash_table *t, const struct hash_root *root,
					   uint64_t at, bool patient)
{
	for (;; root = LOAD_ACQUIRE(&t->root)) {
		uint64_t entry = entry_load(root, at);
		struct hash_segment *seg = entry_segment(entry);
		fetch_buckets(entry, at);
		if (!t->config.rcu)
			seg->lock = 1; /* one thread */
		else if (patient)
			spin_lock(&seg->lock);
		else if (!spin_lock_tries(&seg->lock, LOCK_TRIES))
			return NULL;
		if (!seg->retired)
			return seg;
		spin_unlock(&seg->lock);
	}
}

struct hash_segment *segment_lock(struct hash_table *t, uint64_t at)
{
	return lock_at(t, LOAD_ACQUIRE(&t->root), at, true);
}

uint64_t segment_word(const struct hash_segment *seg, enum hash_column c, unsigned slot)
{
	return seg->column[c] ? LOAD(&seg->column[c][slot]) : 0;
}

static struct hash_bucket *bucket_of(const struct hash_segment *seg, unsigned slot)
{
	return (struct hash_bucket *)&seg->bucket[slot / SLOTS];
}

uint32_t pos_slots(const struct hash_pos *pos, unsigned b, uint32_t slots)
{
	const struct hash_table *t = pos->t;
	const struct hash_bucket *bucket = &pos->seg->bucket[b];
	uint32_t m = t->ops->compare(bucket, pos->tag) & slots & VIEW_BITS, out = 0;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		if (key_equal(slot_key(t, pos->seg, b * SLOTS + i), pos->key, t->key_len))
			out |= 1U << i;
	}
	return out;
}

bool pos_lock(struct hash_table *t, const uint8_t *key, bool patient, struct hash_pos *pos)
{
	for (;;) {
		struct hash_root *root = LOAD_ACQUIRE(&t->root);
		struct hash_place place = t->ops->place(&root->key, key, t->key_len);
		*pos = (struct hash_pos){.t = t, .key = key, .at = place.at, .tag = place.tag};
		pos->seg = lock_at(t, root, place.at, patient);
		if (!pos->seg)
			return false;
		/* An alarm replaces the secret and all segments; a doubling keeps the secret. */
		const struct hash_root *now = LOAD_ACQUIRE(&t->root);
		if (now == root || !memcmp(&now->key, &root->key, sizeof(root->key)))
			return true;
		spin_unlock(&pos->seg->lock);
	}
}

bool hash_table_lock(struct hash_table *t, const uint8_t *key, struct hash_pos *pos)
{
	pos_lock(t, key, true, pos);
	pos->shift = t->next_shift;
	return pos->seg->flushed ? flushed_find(pos) : t->ops->find(pos, pos->shift);
}

int hash_table_lock_shown(struct hash_table *t, const uint8_t *key, bool patient,
			  struct hash_pos *pos)
{
	if (!pos_lock(t, key, patient, pos))
		return -EBUSY;
	pos->packet = true;
	pos->shift = LOAD(&t->read_shift);
	return t->ops->find(pos, pos->shift);
}

void hash_table_unlock(struct hash_pos *pos)
{
	spin_unlock(&pos->seg->lock);
}

uint64_t hash_pos_word(const struct hash_pos *pos, enum hash_column c)
{
	return segment_word(pos->seg, c, pos->slot);
}

struct set_elem *slot_elem(const struct hash_table *t, const struct hash_segment *seg,
			   unsigned slot)
{
	uint64_t record = segment_word(seg, HASH_RECORD, slot);

	if (record)
		return (struct set_elem *)(uintptr_t)record;
	return elem_of_key(t, seg, slot, seg->bucket[slot / SLOTS].tag[slot % SLOTS]);
}

bool hash_pos_is_old(const struct hash_pos *pos)
{
	uint32_t head = bucket_of(pos->seg, pos->slot)->head;
	return head >> (pos->t->next_shift ^ VIEW_SHIFT) & 1U << pos->slot % SLOTS;
}

struct set_elem *hash_pos_elem(const struct hash_pos *pos)
{
	return slot_elem(pos->t, pos->seg, pos->slot);
}

const uint8_t *hash_elem_key(const struct hash_table *t, const struct set_elem *e, uint8_t buf[8])
{
	if (t->key_len > 7)
		return (const uint8_t *)e - 1;
	uint64_t v = (uintptr_t)e >> 8;
	memcpy(buf, &v, 8);
	return buf;
}

int note_due(struct hash_table *t, struct hash_segment *seg, uint64_t expires)
{
	int err = 0;

	if (!expires || expires >= seg->due)
		return 0;
	spin_lock(&t->lock);
	err = due_reserve(t);
	if (!err)
		due_lower(t, seg, expires);
	spin_unlock(&t->lock);
	return err;
}

/* The columns that these words need, and a place in the heap, are there: 0 or -ENOBUFS. */
static int has_room(const struct hash_table *t, const struct hash_segment *seg,
		    const uint64_t word[HASH_COLUMNS])
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (word[c] && !seg->column[c])
			return -ENOBUFS;
	return word[HASH_EXPIRES] && LOAD(&t->n_segments) > LOAD(&t->heap_cap) ? -ENOBUFS : 0;
}

int hash_pos_set_word(struct hash_pos *pos, enum hash_column c, uint64_t value)
{
	if (value == hash_pos_word(pos, c))
		return 0;
	if (pos->ready) {
		uint64_t word[HASH_COLUMNS] = {0};
		word[c] = value;
		int err = has_room(pos->t, pos->seg, word);
		if (err) {
			ahead_note(pos->t, pos->at);
			return err;
		}
	}
	uint64_t *column = segment_column(pos->t, pos->seg, c);
	if (!column)
		return -ENOMEM;
	int err = c == HASH_EXPIRES ? note_due(pos->t, pos->seg, value) : 0;
	if (err)
		return err;
	if (c == HASH_EXPIRES)
		bucket_due_lower(pos->seg, pos->slot / SLOTS, value);
	STORE(&column[pos->slot], value);
	return 0;
}

static inline bool at_most_one(uint32_t slots)
{
	return !(slots & (slots - 1));
}

/* The slots of a bucket that may be written. Those that rest are asked for while one is left. */
static inline uint32_t bucket_free_slots(struct hash_table *t, struct hash_segment *seg, unsigned b)
{
	struct hash_bucket *bucket = &seg->bucket[b];
	uint32_t none = ~head_kept(bucket->head) & VIEW_BITS;

	if (!(bucket->head & RESTING))
		return none;
	uint16_t *resting = &segment_marks(t, seg, b)->resting;
	uint32_t clean = none & ~(uint32_t)*resting;
	if (!at_most_one(clean) || !bucket_rested(t, seg, b))
		return clean;
	*resting = 0;
	STORE(&bucket->head, bucket->head & ~RESTING);
	return none;
}

/* True if the key is better off in its second bucket. The two are evened out early where ready. */
static inline bool second_is_better(uint32_t home, uint32_t second, bool ready)
{
	if (ready)
		return __builtin_popcount(second) > __builtin_popcount(home);
	return !home || !at_most_one(second);
}

static inline bool is_nearly_full(const struct hash_segment *seg, uint32_t free_slots, bool ready)
{
	if (ready)
		return __builtin_popcount(free_slots) < 4;
	/* A told table is filled once, and has room. */
	bool told = seg->piece && seg->kept * 20U < seg->n_buckets * SLOTS * 11U;
	return told ? !free_slots : at_most_one(free_slots);
}

/* Writes a slot and shows it in these views; false: both buckets are full, or it is worn. */
static inline bool segment_place(struct hash_table *t, struct hash_segment *seg,
				 struct hash_place place, const uint8_t *key,
				 const uint64_t word[HASH_COLUMNS], uint32_t views, bool ready,
				 unsigned *slot)
{
	unsigned home = home_of(place.at, seg->n_buckets), b = home;
	uint32_t free_slots = bucket_free_slots(t, seg, b);

	if (is_nearly_full(seg, free_slots, ready)) {
		unsigned second = second_of(place.at, seg->n_buckets);
		uint32_t others = bucket_free_slots(t, seg, second);
		if (second_is_better(free_slots, others, ready)) {
			free_slots = others;
			b = second;
		}
		if (!free_slots || (!ready && segment_overflows(seg)))
			return false;
	}
	struct hash_bucket *bucket = &seg->bucket[b];
	unsigned i = (unsigned)__builtin_ctz(free_slots);
	*slot = b * SLOTS + i;
	STORE(&bucket->tag[i], place.tag);
	if (t->key_size)
		memcpy(segment_keys(seg) + (size_t)*slot * t->key_size, key, t->key_len);
	for (unsigned c = 0; LOAD(&t->columns) && c < HASH_COLUMNS; c++)
		if (seg->column[c])
			STORE(&seg->column[c][*slot], word[c]);
	if (word[HASH_EXPIRES])
		bucket_due_lower(seg, b, word[HASH_EXPIRES]);
	seg->kept++;
	uint32_t there = seg->flushed ? flushed_head(t, seg, b) : bucket->head;
	STORE_RELEASE(&bucket->head, there | views << i);
	uint32_t head = seg->bucket[home].head;
	if (b != home && !(head & OVERFLOWED)) {
		STORE_RELEASE(&seg->bucket[home].head, head | OVERFLOWED);
		seg->overflows++;
	}
	return true;
}

/*
 * The views in which a new element shows. A packet's is in both, unless the open transaction has
 * one of that key, which packets do not see yet.
 */
static inline uint32_t views_of(const struct hash_pos *pos)
{
	const struct hash_table *t = pos->t;
	uint32_t both = 1U | 1U << VIEW_SHIFT;

	if (!pos->packet)
		return t->open ? 1U << t->next_shift : both;
	struct hash_pos other = *pos;
	return t->ops->find(&other, pos->shift ^ VIEW_SHIFT) ? 1U << pos->shift : both;
}

/* The columns that these words need, and a place in the heap. 0 or -ENOMEM. */
static int make_room(struct hash_table *t, struct hash_segment *seg,
		     const uint64_t word[HASH_COLUMNS])
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (word[c] && !segment_column(t, seg, c))
			return -ENOMEM;
	return note_due(t, seg, word[HASH_EXPIRES]);
}

/* put_here() with room that was made before, so that nothing is given up; 0 or -ENOBUFS. */
static int put_ready(struct hash_pos *pos, const uint64_t word[HASH_COLUMNS], uint32_t views)
{
	struct hash_table *t = pos->t;
	const struct hash_place place = {pos->at, pos->tag};
	int err = has_room(t, pos->seg, word);

	if (!err && !segment_place(t, pos->seg, place, pos->key, word, views, true, &pos->slot)) {
		err = rcu_crowded(t->config.rcu) ? -ENOBUFS : segment_use_spare(pos);
		if (!err &&
		    !segment_place(t, pos->seg, place, pos->key, word, views, true, &pos->slot))
			err = -ENOBUFS;
	}
	if (!err)
		err = note_due(t, pos->seg, word[HASH_EXPIRES]);
	if (err || segment_wants(t, pos->seg))
		ahead_note(t, pos->at);
	return err;
}

static inline bool is_bare(const uint64_t word[HASH_COLUMNS])
{
	return !(word[HASH_EXPIRES] | word[HASH_TIMEOUT] | word[HASH_RECORD]);
}

/* Puts the key in where it is locked. 0, -EAGAIN after an alarm: nothing is locked; -errno. */
static int put_here(struct hash_pos *pos, const uint64_t word[HASH_COLUMNS], uint32_t views)
{
	struct hash_table *t = pos->t;
	const struct hash_place place = {pos->at, pos->tag};
	if (pos->ready || must_not_defer(t, pos->packet))
		return put_ready(pos, word, views);
	for (;;) {
		int err = segment_wants(t, pos->seg) ? segment_provide(pos) : 0;
		if (!err && !is_bare(word))
			err = make_room(t, pos->seg, word);
		if (err)
			return err;
		if (segment_place(t, pos->seg, place, pos->key, word, views, false, &pos->slot))
			return 0;
		err = segment_grow(pos);
		if (err)
			return err;
	}
}

void count_add(struct hash_table *t, uint64_t delta)
{
	if (t->config.rcu)
		__atomic_fetch_add(&t->count, delta, __ATOMIC_ACQ_REL); /* see hash_table_rest.c */
	else
		t->count += delta; /* one thread */
}

/* One element more, unless that is too many. */
static bool count_up(struct hash_table *t, uint64_t most)
{
	uint64_t n = LOAD(&t->count);

	if (!t->config.rcu) {
		t->count += !most || n < most;
		return !most || n < most;
	}
	do {
		if (most && n >= most)
			return false;
	} while (!__atomic_compare_exchange_n(&t->count, &n, n + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static inline bool put_counts(const struct hash_pos *pos, uint32_t views)
{
	return !pos->packet || views & 1U << LOAD(&pos->t->count_shift);
}

static int put_again(struct hash_pos *pos, const uint64_t word[HASH_COLUMNS])
{
	const struct hash_pos given = *pos;
	int err = -EAGAIN;

	for (unsigned alarms = 1; err == -EAGAIN; alarms++) {
		bool there = given.packet ? hash_table_lock_shown(given.t, given.key, true, pos)
					  : hash_table_lock(given.t, given.key, pos);
		uint32_t views = views_of(pos);
		pos->counted = given.counted;
		if (there)
			return -EEXIST;
		if (put_counts(pos, views) != given.counted)
			return -EAGAIN; /* what hides the key came or went meanwhile */
		err = alarms < ALARMS_MAX ? put_here(pos, word, views) : -ENOSPC;
	}
	return err;
}

int hash_table_put(struct hash_pos *pos, const uint64_t word[HASH_COLUMNS], uint64_t most)
{
	struct hash_table *t = pos->t;

	uint32_t views = views_of(pos);
	pos->counted = put_counts(pos, views);
	if (pos->counted && !count_up(t, most))
		return -ENFILE;
	if (!pos->packet && t->flushed && pos->seg->flushed && is_bare(word) && flushed_again(pos))
		return 0;
	int err = put_here(pos, word, views);
	if (err == -EAGAIN)
		err = put_again(pos, word);
	if (err && pos->counted)
		count_add(t, -1ULL);
	if (!err && pos->seg->flushed && pos->packet)
		flushed_put(pos);
	return err;
}

/*
 * Of one thread, outside a transaction, in a table of nothing but keys that are tags: if the key
 * has room at home, and can be nowhere else, this is all there is to do. False: it has not.
 *
 * It is what most keys of a list need, and short: the CPU then waits for the lines of some keys at
 * a time.
 */
static inline bool add_at_home(struct hash_table *t, const uint8_t *key, uint64_t most)
{
	if (t->config.rcu || t->open || t->key_size || t->columns || t->ahead ||
	    (most && t->count >= most))
		return false;
	const struct hash_root *root = t->root;
	struct hash_place place = t->ops->place(&root->key, key, t->key_len);
	uint64_t entry = entry_load(root, place.at);
	struct hash_segment *seg = entry_segment(entry);
	struct hash_bucket *b = (struct hash_bucket *)entry_home(entry, place.at);
	uint32_t free_slots = ~b->head & VIEW_BITS;

	if (b->head & OVERFLOWED || is_nearly_full(seg, free_slots, false) ||
	    t->ops->compare(b, place.tag) & ~free_slots)
		return false;
	unsigned i = (unsigned)__builtin_ctz(free_slots);
	b->tag[i] = place.tag;
	b->head |= (1U | 1U << VIEW_SHIFT) << i;
	seg->kept++;
	t->count++;
	return true;
}

int hash_table_add(struct hash_table *t, const uint8_t *key, uint64_t most)
{
	static const uint64_t none[HASH_COLUMNS];
	struct hash_pos pos;
	int err = 0;

	if (add_at_home(t, key, most))
		return 1;
	bool there = hash_table_lock(t, key, &pos);
	if (!there)
		err = hash_table_put(&pos, none, most);
	spin_unlock(&pos.seg->lock);
	return err == -EEXIST ? 0 : err ? err : !there;
}

void hash_table_fetch(const struct hash_table *t, const uint8_t *key)
{
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	uint64_t at = t->ops->place(&root->key, key, t->key_len).at, entry = entry_load(root, at);

	__builtin_prefetch(&entry_segment(entry)->lock, 1);
	fetch_buckets(entry, at);
}

bool slot_counts(const struct hash_table *t, const struct hash_segment *seg, unsigned slot,
		 bool packet)
{
	uint32_t bit = 1U << slot % SLOTS;

	if (packet &&
	    seg->flushed) /* what the transaction wants stays when a packet takes it out */
		return segment_marks(t, seg, slot / SLOTS)->later & bit;
	return !packet || bucket_of(seg, slot)->head & bit << LOAD(&t->count_shift);
}

bool hash_pos_counts(const struct hash_pos *pos)
{
	return slot_counts(pos->t, pos->seg, pos->slot, pos->packet);
}

bool slot_drop(struct hash_table *t, struct hash_segment *seg, unsigned slot, bool packet)
{
	if (seg->flushed)
		return flushed_drop(t, seg, slot, packet);
	struct hash_bucket *b = bucket_of(seg, slot);
	uint32_t bit = 1U << slot % SLOTS, both = bit | bit << VIEW_SHIFT;
	bool counts = slot_counts(t, seg, slot, packet);
	uint32_t head = b->head & ~(packet || !t->open ? both : bit << t->next_shift);
	bool gone = !(head & both);

	STORE_RELEASE(&b->head, head);
	count_add(t, counts ? -1ULL : 0);
	if (gone)
		bucket_rest(t, seg, slot / SLOTS, bit);
	seg->kept -= gone;
	return gone;
}

void hash_table_drop(struct hash_pos *pos)
{
	struct hash_table *t = pos->t;
	void *record = (void *)(uintptr_t)hash_pos_word(pos, HASH_RECORD);
	bool gone = slot_drop(t, pos->seg, pos->slot, pos->packet);

	if (pos->ready || must_not_defer(t, pos->packet)) {
		if (pos->seg->kept * 4U < pos->seg->n_buckets)
			ahead_note(t, pos->at);
		spin_unlock(&pos->seg->lock);
	} else {
		segment_shrink(t, pos->seg, pos->at);
	}
	if (gone && record)
		t->config.record_free(t->config.rcu, record);
}

/* The first of a locked segment that counts, from the home of pos->at on. */
static bool pos_some(struct hash_pos *pos)
{
	const struct hash_segment *seg = pos->seg;
	unsigned home = home_of(pos->at, seg->n_buckets);

	for (unsigned k = 0; k < seg->n_buckets; k++) {
		unsigned b = (home + k) % seg->n_buckets;
		uint32_t m = pos->packet ? seg->bucket[b].head >> pos->shift & VIEW_BITS
					 : bucket_next(pos->t, seg, b);
		for (; m; m &= m - 1) {
			pos->slot = b * SLOTS + (unsigned)__builtin_ctz(m);
			pos->key = slot_key(pos->t, seg, pos->slot);
			if (slot_counts(pos->t, seg, pos->slot, pos->packet))
				return true;
		}
	}
	return false;
}

int hash_table_lock_some(struct hash_table *t, const uint8_t *key, struct hash_how how,
			 struct hash_pos *pos)
{
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	uint64_t at = t->ops->place(&root->key, key, t->key_len).at, first = at;
	unsigned rounds = 0;

	do {
		*pos = (struct hash_pos){.t = t, .at = at, .packet = how.packet};
		pos->seg = lock_at(t, LOAD_ACQUIRE(&t->root), at, !how.ready || !how.packet);
		if (!pos->seg)
			return -EBUSY;
		pos->ready = how.ready;
		pos->shift = how.packet ? LOAD(&t->read_shift) : t->next_shift;
		if (pos_some(pos))
			return 1;
		at = place_behind(at, pos->seg->depth);
		rounds += !at;
		spin_unlock(&pos->seg->lock);
	} while (rounds < 2 && !(rounds && at > first));
	return 0;
}

/* --- all keys ------------------------------------------------------------------------------- */

uint64_t hash_table_count(const struct hash_table *t)
{
	return LOAD(&t->count);
}

size_t hash_table_bytes(const struct hash_table *t)
{
	return LOAD(&t->bytes);
}

void hash_table_each(const struct hash_table *t,
		     void (*fn)(void *ctx, struct set_elem *e, const uint8_t *key,
				uint64_t expires),
		     void *ctx)
{
	struct segment_walk w = {LOAD_ACQUIRE(&t->root)};
	struct hash_segment *seg;

	while ((seg = segment_next(&w)))
		for (unsigned b = 0; b < seg->n_buckets; b++) {
			for (uint32_t m = bucket_next(t, seg, b); m; m &= m - 1) {
				unsigned i = (unsigned)__builtin_ctz(m), slot = b * SLOTS + i;
				uint64_t end = segment_word(seg, HASH_EXPIRES, slot);
				fn(ctx, slot_elem(t, seg, slot), slot_key(t, seg, slot),
				   end ? end : UINT64_MAX);
			}
		}
}
