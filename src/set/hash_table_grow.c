/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_grow: segments built anew: larger, smaller, as two, as one; in memory that is asked
 * for, or that lies ready for those who must not ask (hash_table_spare.c).
 *
 * Always the same steps: the old segment is locked, the new ones are complete (and locked where a
 * key is about to go in), the directory is led to them under the table's lock, the old one is
 * marked retired and handed to rcu. A failure on the way leaves everything as it was.
 */
#include "set/hash_table_internal.h"

enum {
	/* Load after a segment was built: LOAD_NUM / LOAD_DEN of its slots. */
	LOAD_NUM = 13,
	LOAD_DEN = 20,
	/* Segments as deep as in a directory so many times larger than they need are no chance. */
	DIRECTORY_SLACK = 64,
};

/* --- segments ------------------------------------------------------------------------------- */

static size_t keys_offset(unsigned n_buckets)
{
	return sizeof(struct hash_segment) + n_buckets * sizeof(struct hash_bucket);
}

size_t segment_size(const struct hash_table *t, unsigned n_buckets)
{
	size_t marks = n_buckets * sizeof(struct hash_marks);
	return (keys_offset(n_buckets) + cells_bytes(t, n_buckets) + marks + 63) & ~(size_t)63;
}

size_t column_bytes(unsigned n_buckets, enum hash_column c)
{
	size_t words = (size_t)n_buckets * SLOTS;
	if (c == HASH_EXPIRES)
		words += (n_buckets + DUE_BUCKETS - 1) / DUE_BUCKETS;
	return words * sizeof(uint64_t);
}

static size_t column_size(const struct hash_segment *seg, enum hash_column c)
{
	return column_bytes(seg->n_buckets, c);
}

static size_t columns_bytes(const struct hash_segment *seg)
{
	size_t bytes = 0;
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		bytes += seg->column[c] ? column_size(seg, c) : 0;
	return bytes;
}

size_t segment_bytes(const struct hash_table *t, const struct hash_segment *seg)
{
	return segment_size(t, seg->n_buckets) + columns_bytes(seg);
}

/* Makes an empty segment, locked, of memory that is there. */
static void segment_init(const struct hash_table *t, struct hash_segment *seg, unsigned n_buckets,
			 unsigned depth, uint64_t at)
{
	memset(seg, 0, keys_offset(n_buckets));
	seg->lock = 1;
	seg->depth = (uint8_t)depth;
	seg->n_buckets = (uint8_t)n_buckets;
	seg->due = UINT64_MAX;
	seg->heap_pos = DUE_NOWHERE;
	seg->at = at;
	memset(segment_marks(t, seg, 0), 0, n_buckets * sizeof(struct hash_marks));
}

/* The new segment is locked. */
struct hash_segment *segment_new(struct hash_table *t, unsigned n_buckets, unsigned depth,
				 uint64_t at)
{
	size_t size = segment_size(t, n_buckets);
	struct hash_segment *seg = regions_alloc(t, size);
	size_t piece = seg ? region_piece(size) : 0;
	if (!seg)
		seg = aligned_alloc(64, size);
	if (!seg)
		return NULL;
	segment_init(t, seg, n_buckets, depth, at);
	seg->piece = (uint8_t)(piece / 1024);
	return seg;
}

void segment_free_now(struct hash_segment *seg)
{
	if (!seg)
		return;
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		free(seg->column[c]);
	if (seg->piece)
		region_free(seg, (size_t)seg->piece * 1024);
	else
		free(seg);
}

void segment_free_rcu(struct rcu_head *head)
{
	segment_free_now(container_of(head, struct hash_segment, rcu));
}

uint64_t *segment_column(struct hash_table *t, struct hash_segment *seg, enum hash_column c)
{
	if (!seg->column[c]) {
		uint64_t *column = calloc(1, column_size(seg, c));
		if (!column)
			return NULL;
		__atomic_fetch_or(&t->columns, 1U << c, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->bytes, column_size(seg, c), __ATOMIC_RELAXED);
		STORE_RELEASE(&seg->column[c], column);
	}
	return seg->column[c];
}

/* The bucket that takes a key, or -1 if both of its are full. */
static int bucket_for(const struct hash_segment *seg, const uint8_t *fill, uint64_t at)
{
	unsigned b = home_of(at, seg->n_buckets);

	if (fill[b] < SLOTS - 1)
		return (int)b;
	unsigned second = second_of(at, seg->n_buckets);
	if (fill[second] < SLOTS - 1 || fill[b] == SLOTS)
		b = second;
	return fill[b] < SLOTS ? (int)b : -1;
}

/* --- what a segment holds ------------------------------------------------------------------- */

/* The keys of one segment, or some of them, on their way to another. */
struct load {
	const struct hash_segment *from;
	struct hash_kept kept[SLOTS_MAX];
	unsigned n;
};

static void collect(const struct hash_table *t, const struct hash_segment *seg, struct load *out)
{
	out->from = seg;
	out->n = t->ops->collect(t, &LOAD_ACQUIRE(&t->root)->key, seg, out->kept);
}

/* Puts the cells of a column into a new segment. 0 or -ENOMEM. */
static int fill_column(struct hash_table *t, struct hash_segment *seg, enum hash_column c,
		       const struct load *l, const uint16_t *slot)
{
	const uint64_t *from = l->from->column[c];

	for (unsigned k = 0; from && k < l->n; k++) {
		uint64_t word = LOAD(&from[l->kept[k].slot]);
		if (!word)
			continue;
		if (!segment_column(t, seg, c))
			return -ENOMEM;
		seg->column[c][slot[k]] = word;
		if (c == HASH_EXPIRES) {
			bucket_due_lower(seg, slot[k] / SLOTS, word);
			seg->due = MIN(seg->due, word); /* it stands in no heap yet */
		}
	}
	return 0;
}

/* A segment that is being filled: slots in use by bucket, where the load's keys went. */
struct filling {
	struct hash_segment *seg;
	const struct load *l;
	uint8_t used[BUCKETS_MAX];
	uint16_t slot[SLOTS_MAX];
	bool second[SLOTS_MAX]; /* keys that go to their second bucket, see fill_even() */
};

/*
 * Of a table in which packets find what is ready: keys of buckets that are nearly full go to their
 * second one, if that is emptier, so that few buckets are full.
 */
static void fill_even(struct filling *f)
{
	enum { NEARLY = 12 };
	unsigned n_buckets = f->seg->n_buckets;
	uint16_t n[BUCKETS_MAX];

	for (unsigned b = 0; b < n_buckets; b++)
		n[b] = f->used[b];
	for (unsigned k = 0; k < f->l->n; k++)
		n[home_of(f->l->kept[k].low, n_buckets)]++;
	for (unsigned k = 0; k < f->l->n; k++) {
		unsigned home = home_of(f->l->kept[k].low, n_buckets);
		unsigned second = second_of(f->l->kept[k].low, n_buckets);
		f->second[k] = n[home] >= NEARLY && n[second] + 1 < n[home];
		n[home] -= f->second[k];
		n[second] += f->second[k];
	}
}

/* Writes tag and views of key k into a slot. */
static void fill_slot(struct filling *f, unsigned k, unsigned slot)
{
	const struct hash_kept *it = &f->l->kept[k];
	struct hash_bucket *bucket = &f->seg->bucket[slot / SLOTS];
	unsigned home = home_of(it->low, f->seg->n_buckets), i = slot % SLOTS;

	f->slot[k] = (uint16_t)slot;
	bucket->tag[i] = f->l->from->bucket[it->slot / SLOTS].tag[it->slot % SLOTS];
	bucket->head |= ((it->views & 1U) | (uint32_t)(it->views >> 1) << VIEW_SHIFT) << i;
	if (slot / SLOTS != home)
		f->seg->bucket[home].head |= OVERFLOWED;
}

/*
 * Moves one of the first n keys out of a full bucket into its other one: nobody looks at it yet.
 * The slot that is free then, or -1.
 */
static int make_way(struct filling *f, unsigned n, unsigned b)
{
	for (unsigned k = 0; k < n; k++) {
		unsigned slot = f->slot[k], other = home_of(f->l->kept[k].low, f->seg->n_buckets);
		if (slot / SLOTS != b)
			continue;
		if (other == b)
			other = second_of(f->l->kept[k].low, f->seg->n_buckets);
		if (other == b || f->used[other] == SLOTS)
			continue;
		f->seg->bucket[b].head &= ~((1U | 1U << VIEW_SHIFT) << slot % SLOTS);
		fill_slot(f, k, other * SLOTS + f->used[other]++);
		return (int)slot;
	}
	return -1;
}

/* A free slot for a key of this place, in use from now on, or -1. */
static int fill_place(struct filling *f, unsigned n, uint64_t at)
{
	int b = bucket_for(f->seg, f->used, at), slot;

	if (b >= 0)
		return b * SLOTS + f->used[b]++;
	slot = make_way(f, n, home_of(at, f->seg->n_buckets));
	return slot >= 0 ? slot : make_way(f, n, second_of(at, f->seg->n_buckets));
}

/*
 * Puts them all into a new segment, which has room for a key of place *more (or NULL) then; 0,
 * -ENOMEM, -ENOSPC if buckets are full.
 */
static int fill_and(struct hash_table *t, struct hash_segment *seg, const struct load *l,
		    const uint64_t *more)
{
	struct filling f;
	int err = 0;

	f.seg = seg;
	f.l = l;

	for (unsigned b = 0; b < seg->n_buckets; b++)
		f.used[b] = (uint8_t)__builtin_popcount(head_kept(seg->bucket[b].head));
	if (LOAD(&t->ahead))
		fill_even(&f);
	else
		memset(f.second, 0, l->n);
	for (unsigned k = 0; k < l->n; k++) {
		unsigned b = f.second[k] ? second_of(l->kept[k].low, seg->n_buckets) : 0;
		int slot = f.second[k] && f.used[b] < SLOTS ? (int)(b * SLOTS + f.used[b]++)
							    : fill_place(&f, k, l->kept[k].low);
		if (slot < 0)
			return -ENOSPC;
		fill_slot(&f, k, (unsigned)slot);
	}
	if (more && fill_place(&f, l->n, *more) < 0)
		return -ENOSPC;
	seg->kept += (uint16_t)l->n;
	seg->flushed = l->from->flushed;
	for (unsigned k = 0; seg->flushed && k < l->n; k++)
		flushed_carry(t, l->from, l->kept[k].slot, seg, f.slot[k]);
	for (unsigned b = 0; seg->flushed && b < seg->n_buckets; b++)
		seg->bucket[b].head = flushed_head(t, seg, b);
	for (unsigned k = 0; t->key_size && k < l->n; k++)
		memcpy(segment_keys(seg) + (size_t)f.slot[k] * t->key_size,
		       slot_key(t, l->from, l->kept[k].slot), t->key_size);
	for (unsigned c = 0; c < HASH_COLUMNS && !err; c++) {
		err = fill_column(t, seg, c, l, f.slot);
		if (!err && LOAD(&t->ahead_columns) >> c & 1 && !segment_column(t, seg, c))
			err = -ENOMEM;
	}
	return err;
}

static int fill(struct hash_table *t, struct hash_segment *seg, const struct load *l)
{
	return fill_and(t, seg, l, NULL);
}

unsigned buckets_for(unsigned n)
{
	if (n <= SLOTS)
		return 1;
	return (n * LOAD_DEN + SLOTS * LOAD_NUM - 1) / (SLOTS * LOAD_NUM);
}

/*
 * The same for n keys and what may come ahead of the next time that memory can be made, or in a
 * transaction that has flushed the table and said that it brings much: then a segment is built once
 * for both lists, and few keys are not at home while they stand beside each other.
 */
static unsigned buckets_ahead(const struct hash_table *t, unsigned n, unsigned depth)
{
	unsigned come = LOAD(&t->regions_grow) ? n : ahead_of(t, depth);
	unsigned want = MIN(buckets_for(n + come), (unsigned)BUCKETS_MAX);
	return MAX(want, buckets_for(n));
}

/* Frees a segment that was shown to nobody; its columns have been accounted for. */
static void unbuild(struct hash_table *t, struct hash_segment *seg)
{
	__atomic_fetch_sub(&t->bytes, columns_bytes(seg), __ATOMIC_RELAXED);
	segment_free_now(seg);
}

/*
 * A segment of at least n_buckets with the keys of one or two others (NULL). 0, -ENOMEM, -ENOSPC if
 * the largest is too small.
 */
static int build(struct hash_table *t, const struct load *l, const struct load *more,
		 unsigned n_buckets, unsigned depth, uint64_t at, struct hash_segment **out)
{
	for (; n_buckets <= BUCKETS_MAX; n_buckets += 1 + n_buckets / 8) {
		struct hash_segment *seg = segment_new(t, n_buckets, depth, at);
		if (!seg)
			return -ENOMEM;
		int err = fill(t, seg, l);
		if (!err && more)
			err = fill(t, seg, more);
		if (!err) {
			*out = seg;
			return 0;
		}
		unbuild(t, seg);
		if (err != -ENOSPC)
			return err;
	}
	return -ENOSPC;
}

/* --- taking a place ------------------------------------------------------------------------- */

/* The table's lock is held: seg takes its place in directory and heap. */
static void lead_to(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	uint64_t due = seg->due;

	dir_lead(t, seg, at);
	seg->due = UINT64_MAX;
	due_lower(t, seg, due);
}

/* The table's lock is held. */
void segment_take_down(struct hash_table *t, struct hash_segment *old)
{
	due_set(t, old, UINT64_MAX);
	old->retired = true;
}

/* The old segment leaves the hands of writers, and later those of readers. */
void segment_discard(struct hash_table *t, struct hash_segment *old)
{
	size_t bytes = segment_bytes(t, old);

	__atomic_fetch_sub(&t->bytes, bytes, __ATOMIC_RELAXED);
	spin_unlock(&old->lock);
	rcu_defer(t->config.rcu, &old->rcu, segment_free_rcu, bytes);
}

/* Accounts for a segment whose columns are counted already. */
void segment_account(struct hash_table *t, const struct hash_segment *seg)
{
	__atomic_fetch_add(&t->bytes, segment_size(t, seg->n_buckets), __ATOMIC_RELAXED);
	if (seg->n_buckets > LOAD(&t->widest))
		STORE(&t->widest, seg->n_buckets);
}

/* The segment takes the place of one or two old ones. */
static void place(struct hash_table *t, struct hash_segment *const *old, unsigned n_old,
		  struct hash_segment *seg, uint64_t at)
{
	segment_account(t, seg);
	spin_lock(&t->lock);
	for (unsigned i = 0; i < n_old; i++)
		segment_take_down(t, old[i]);
	lead_to(t, seg, at);
	if (n_old > 1) {
		__atomic_fetch_sub(&t->n_segments, n_old - 1, __ATOMIC_RELAXED);
		dir_tidy(t, at);
	}
	spin_unlock(&t->lock);
	for (unsigned i = 0; i < n_old; i++)
		segment_discard(t, old[i]);
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
	if (!err)
		err = dir_deepen(t, at, old->depth + 1U);
	if (!err) {
		uint64_t bit = 1ULL << (63 - old->depth);
		segment_take_down(t, old);
		lead_to(t, half[0], at & ~bit);
		lead_to(t, half[1], at | bit);
	} else {
		__atomic_fetch_sub(&t->n_segments, 1, __ATOMIC_RELAXED);
	}
	spin_unlock(&t->lock);
	return err;
}

/* Divides the keys of a segment by the bit that splits it. */
static void divide(const struct load *all, struct load half[2])
{
	half[0].from = half[1].from = all->from;
	half[0].n = half[1].n = 0;
	for (unsigned k = 0; k < all->n; k++) {
		half[0].kept[half[0].n] = half[1].kept[half[1].n] = all->kept[k];
		half[0].n += !all->kept[k].high;
		half[1].n += all->kept[k].high;
	}
}

static int split(struct hash_pos *pos, const struct load *all)
{
	struct hash_table *t = pos->t;
	struct hash_segment *old = pos->seg, *seg[2] = {NULL};
	uint64_t bit = 1ULL << (63 - old->depth);
	struct load half[2];
	int err = -ENOSPC;

	/* A random hash cuts in halves, and no segment is much deeper than the others. */
	if (1ULL << old->depth > (uint64_t)DIRECTORY_SLACK * LOAD(&t->n_segments))
		return err;
	divide(all, half);
	if (!half[0].n || !half[1].n)
		return err;
	for (unsigned h = 0; h < 2; h++) {
		err = build(t, &half[h], NULL, buckets_ahead(t, half[h].n + 1, old->depth + 1U),
			    old->depth + 1U, h ? pos->at | bit : pos->at & ~bit, &seg[h]);
		if (err)
			break;
	}
	if (!err)
		err = replace_by_two(t, old, seg, pos->at);
	if (err) {
		for (unsigned h = 0; h < 2; h++)
			if (seg[h])
				unbuild(t, seg[h]);
		return err;
	}
	segment_account(t, seg[0]);
	segment_account(t, seg[1]);
	pos->seg = seg[pos->at & bit ? 1 : 0];
	spin_unlock(&seg[pos->at & bit ? 0 : 1]->lock);
	segment_discard(t, old);
	return 0;
}

static unsigned resting_count(const struct hash_table *t, const struct hash_segment *seg)
{
	unsigned n = 0;

	for (unsigned b = 0; b < seg->n_buckets; b++)
		if (seg->bucket[b].head & RESTING)
			n += (unsigned)__builtin_popcount(segment_marks(t, seg, b)->resting);
	return n;
}

int segment_grow(struct hash_pos *pos)
{
	struct hash_table *t = pos->t;
	struct hash_segment *old = pos->seg, *seg;
	struct load all;
	int err = -ENOSPC;

	collect(t, old, &all);
	unsigned want = buckets_ahead(t, all.n + 1, old->depth);
	/* It is full of what stands there, not of what rests: then it must grow. */
	if (want <= old->n_buckets && !segment_overflows(old) && all.n > resting_count(t, old) * 9U)
		want = old->n_buckets + 1U + old->n_buckets / 8U;
	if (want <= BUCKETS_MAX)
		err = build(t, &all, NULL, want, old->depth, pos->at, &seg);
	if (!err) {
		place(t, &old, 1, seg, pos->at);
		pos->seg = seg;
		return 0;
	}
	if (err == -ENOSPC)
		err = split(pos, &all);
	if (err != -ENOSPC || t->rebuilding)
		return err;
	const struct hash_root *root = LOAD_ACQUIRE(&t->root);
	spin_unlock(&old->lock);
	err = hash_table_rebuild(t, root);
	if (!err)
		return -EAGAIN;
	pos->seg = segment_lock(t, pos->at);
	return err;
}

int segment_provide(struct hash_pos *pos)
{
	int err = 0;

	while (!err && segment_wants(pos->t, pos->seg))
		err = segment_grow(pos);
	return err;
}

/* --- in memory that lies ready -------------------------------------------------------------- */

static unsigned columns_of(const struct hash_segment *seg)
{
	unsigned columns = 0;

	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		columns |= (unsigned)(seg->column[c] != NULL) << c;
	return columns;
}

int segment_use_spare(struct hash_pos *pos)
{
	struct hash_table *t = pos->t;
	struct hash_segment *old = pos->seg;
	struct hash_spare x;
	struct load all;

	if (!spare_pop(t, &x))
		return -ENOBUFS;
	collect(t, old, &all);
	segment_init(t, x.seg, x.n_buckets, old->depth, pos->at);
	for (unsigned c = 0; c < HASH_COLUMNS; c++) {
		x.seg->column[c] = x.column[c];
		if (x.column[c])
			memset(x.column[c], 0, column_size(x.seg, c));
	}
	if (!spare_serves(&x, old->n_buckets, columns_of(old)) ||
	    fill_and(t, x.seg, &all, &pos->at)) {
		spare_push(t, &x);
		return -ENOBUFS;
	}
	__atomic_fetch_add(&t->bytes, columns_bytes(x.seg), __ATOMIC_RELAXED);
	__atomic_fetch_or(&t->columns, columns_of(x.seg), __ATOMIC_RELAXED);
	place(t, &old, 1, x.seg, pos->at);
	pos->seg = x.seg;
	return 0;
}

/* --- shrinking ------------------------------------------------------------------------------ */

/* The other half of a segment, locked; NULL: it is in parts itself, or another thread has it. */
static struct hash_segment *buddy_lock(struct hash_table *t, const struct hash_segment *seg,
				       uint64_t at)
{
	if (!seg->depth || LOAD_ACQUIRE(&t->sweeping))
		return NULL;
	spin_lock(&t->lock);
	struct hash_segment *other =
		entry_segment(entry_load(t->root, at ^ 1ULL << (64 - seg->depth)));
	bool locked = other->depth == seg->depth && spin_try(&other->lock);
	spin_unlock(&t->lock);
	return locked ? other : NULL;
}

/*
 * One segment for what `part` has, in the place of the segment, or of it and its other half where
 * `part` has two. False: there was no memory, and all is as it was.
 */
static bool replace(struct hash_table *t, struct hash_segment *const *old, const struct load *part,
		    unsigned n_old, unsigned n_buckets, uint64_t at)
{
	struct hash_segment *seg;

	if (build(t, &part[0], n_old > 1 ? &part[1] : NULL, n_buckets, old[0]->depth - (n_old - 1U),
		  at, &seg))
		return false;
	place(t, old, n_old, seg, at);
	spin_unlock(&seg->lock);
	return true;
}

/* Builds a segment anew, or with its other half, in as many buckets as that needs; unlocks. */
static bool build_smaller(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	struct hash_segment *old[2] = {seg, buddy_lock(t, seg, at)};
	unsigned n = seg->kept, want, n_old = 1;
	struct load part[2];

	if (old[1]) {
		want = buckets_for(n + old[1]->kept + ahead_of(t, seg->depth - 1U));
		if (want <= BUCKETS_MAX / 2)
			n_old = 2;
		else
			spin_unlock(&old[1]->lock);
	}
	if (n_old == 2)
		want = buckets_ahead(t, n + old[1]->kept + 1U, seg->depth - 1U);
	else
		want = buckets_ahead(t, n + n / 4 + 1, seg->depth);
	bool built = n_old == 2 || want < seg->n_buckets;
	for (unsigned i = 0; built && i < n_old; i++)
		collect(t, old[i], &part[i]);
	if (built && replace(t, old, part, n_old, want, at))
		return true;
	for (unsigned i = 0; i < n_old; i++)
		spin_unlock(&old[i]->lock);
	return false;
}

/* True if less than 1 / `part` of the slots are, or may soon be, in use. */
static bool is_roomy(const struct hash_table *t, const struct hash_segment *seg, unsigned part)
{
	return (seg->kept + ahead_of(t, seg->depth)) * part < seg->n_buckets * SLOTS &&
	       (seg->n_buckets > 1 || seg->depth);
}

bool segment_shrink(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	if (is_roomy(t, seg, 4))
		return build_smaller(t, seg, at);
	spin_unlock(&seg->lock);
	return false;
}

bool segment_fit(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	if (is_roomy(t, seg, 2))
		return build_smaller(t, seg, at);
	spin_unlock(&seg->lock);
	return false;
}

/* --- after a flush -------------------------------------------------------------------------- */

/* Of a segment in which all views may be made as that which readers look at. */
static void collect_shown(const struct hash_table *t, const struct hash_segment *seg,
			  struct load *out)
{
	uint8_t shown = t->read_shift ? 2 : 1;
	unsigned n = 0;

	collect(t, seg, out);
	for (unsigned k = 0; k < out->n; k++)
		if (out->kept[k].views & shown) {
			out->kept[n] = out->kept[k];
			out->kept[n++].views = 3;
		}
	out->n = n;
}

/* What was left out then, and no reader looks at, loses its records. */
static void free_unshown(struct hash_table *t, const struct hash_segment *seg)
{
	for (unsigned b = 0; seg->column[HASH_RECORD] && b < seg->n_buckets; b++) {
		uint32_t head = seg->bucket[b].head;
		uint32_t m = head_kept(head) & ~(head >> t->read_shift);
		for (; m; m &= m - 1) {
			uint64_t r = segment_word(seg, HASH_RECORD,
						  b * SLOTS + (unsigned)__builtin_ctz(m));
			if (r)
				t->config.record_free(NULL, (void *)(uintptr_t)r);
		}
	}
}

bool segment_renew(struct hash_table *t, struct hash_segment *seg, uint64_t at)
{
	const unsigned most = BUCKETS_MAX * 8 / 9; /* leaves what buckets_roomy() adds */
	struct hash_segment *old[2] = {seg, buddy_lock(t, seg, at)}, *new = NULL;
	struct load part[2];
	unsigned n_old = 1;

	collect_shown(t, seg, &part[0]);
	if (old[1]) {
		collect_shown(t, old[1], &part[1]);
		unsigned n = part[0].n + part[1].n + 1;
		if (buckets_for(n) <= most &&
		    !build(t, &part[0], &part[1], MIN(buckets_roomy(t, n), BUCKETS_MAX + 0U),
			   seg->depth - 1U, at, &new))
			n_old = 2;
		else
			spin_unlock(&old[1]->lock);
	}
	if (!new &&build(t, &part[0], NULL, MIN(buckets_roomy(t, part[0].n + 1), BUCKETS_MAX + 0U),
			 seg->depth, at, &new))
		return false;
	for (unsigned i = 0; i < n_old; i++)
		free_unshown(t, old[i]);
	place(t, old, n_old, new, at);
	spin_unlock(&new->lock);
	return true;
}
