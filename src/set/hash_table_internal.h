/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_internal: layouts that the files of the hash table share; see hash_table.h. */
#ifndef TAMIS_HASH_TABLE_INTERNAL_H
#define TAMIS_HASH_TABLE_INTERNAL_H

#include <stdlib.h>

#include "set/hash_key.h"
#include "set/hash_table.h"
#include "set/region.h"

enum {
	NOTES = 64,
	SPARES = 4,
	SLOTS = 15,
	BUCKETS_MAX = 128,
	SLOTS_MAX = BUCKETS_MAX * SLOTS,
	DUE_BUCKETS = 4, /* neighbours that have one due time */
	VIEW_SHIFT = 16, /* from one view's bits in a head to the other's */
};

#define VIEW_BITS  0x7fffU
#define OVERFLOWED 0x8000U     /* a key whose home this is lies in its second choice */
#define RESTING	   0x80000000U /* see struct hash_marks */

#define LOAD(p)		    __atomic_load_n((p), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE(p, v)	    __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

struct hash_bucket {
	uint32_t head; /* view 0, OVERFLOWED, view 1, RESTING */
	uint32_t tag[SLOTS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct hash_bucket) == 64, "a bucket is a cache line");

struct hash_segment {
	/* What readers look at. */
	uint64_t *column[HASH_COLUMNS]; /* HASH_EXPIRES goes on: bucket_due() */
	uint8_t n_buckets;
	/* What writers do, in a line of its own. */
	uint8_t depth __attribute__((aligned(64)));
	bool retired : 1;
	bool flushed : 1; /* of what is in both views, the next state has what is marked alone */
	uint8_t piece;	  /* KiB of a region; 0: the allocator's */
	uint32_t lock;
	union {
		struct {
			uint64_t at;	/* some place that is in it */
			uint64_t since; /* generation of the slot that rests for the least time */
			uint64_t due;	/* under the table's lock, as is heap_pos */
			uint32_t heap_pos;
			uint16_t kept;	    /* slots in a view */
			uint16_t overflows; /* buckets marked so since it was built */
		};
		struct rcu_head rcu; /* of a retired one */
	};
	struct hash_bucket bucket[]; /* then the cells of keys, segment_marks() */
};

_Static_assert(offsetof(struct hash_segment, bucket) == 128, "two lines before the buckets");

/*
 * The directory: 2^depth entries at the root, by the highest bits of the hash. Once that is at its
 * deepest, an entry may lead to a part: entries for the bits that follow, each part as deep as its
 * own segments need. So no step of growing copies more than a root or a part.
 *
 * An entry is a segment's address and its number of buckets, or with bit 0 a part's and its depth.
 */
enum { ROOT_DEPTH_MAX = 10 };
#define ENTRY_SHIFT 48
#define ENTRY_PART  1ULL

_Static_assert(sizeof(void *) == 8, "addresses of user memory have 48 bits");

struct hash_root {
	struct hash_key key;
	struct rcu_head rcu;
	unsigned depth;
	uint64_t entry[] __attribute__((aligned(64)));
};

struct hash_part {
	struct rcu_head rcu;
	uint64_t entry[];
};

/* A key of a segment: what is needed to place it in another one. */
struct hash_kept {
	uint32_t low; /* the lower half of its place: its two buckets */
	uint16_t slot;
	uint8_t views; /* bit 0 and 1: is in view 0 and 1 */
	bool high;     /* the bit of its place that splits the segment */
};

struct due_slot {
	uint64_t due;
	struct hash_segment *seg;
};

struct hash_table {
	/* What readers look at. */
	struct hash_root *root;
	const struct hash_table_ops *ops;
	unsigned key_len, key_size; /* key_size: of a cell; 0 if the tag is the key */
	uint32_t columns;	    /* bit c: some segment has, or had, column c */
	/* In a line of its own: the first burst that reads it after a commit does not wait for it
	 * before it has asked for all others. */
	uint32_t read_shift __attribute__((aligned(64)));
	/* What writers do. */
	struct hash_table_config config __attribute__((aligned(64)));
	struct rcu_head rcu;
	uint32_t next_shift;  /* the view that changes go to */
	uint32_t count_shift; /* the view that count is of, until a transaction has ended */
	bool open;	      /* changes go to that view alone */
	bool reverting;	      /* a transaction is being undone */
	bool flushed;	      /* by it: see hash_table_flush() */
	uint64_t going;	      /* slots that the commit of a flush took out */
	bool sweeping;	      /* all segments are walked through: none are merged */
	bool rebuilding;      /* by an alarm: no alarm within */
	uint64_t count __attribute__((aligned(64)));
	uint64_t bytes;
	uint32_t lock, alarm_lock, rest_lock;
	/* Generations of slots that rest; see hash_table_rest.c. */
	uint64_t rest_now, rest_ended, rest_passed, rest_mark;
	struct due_slot *heap;
	uint32_t n_heap, heap_cap, n_segments;
	struct region *regions; /* where segments are rather than with the allocator */
	bool regions_grow;	/* there is more coming than they hold */
	/* hash_table_provide() */
	uint32_t ahead, ahead_columns;
	uint32_t n_spares;
	uint8_t widest; /* buckets of a segment, the most that were seen */
	struct hash_spare {
		struct hash_segment *seg; /* memory for one of n_buckets, with its columns */
		uint64_t *column[HASH_COLUMNS];
		unsigned n_buckets;
	} spare[SPARES];
	uint32_t n_noted; /* more than NOTES: any segment may be */
	uint64_t noted[NOTES];
};

/* The read side for one kind of CPU. All of them give the same answers. */
struct hash_table_ops {
	const char *name;
	bool (*usable)(void);
	struct hash_place (*place)(const struct hash_key *k, const uint8_t *key, unsigned len);
	/* Slots of a bucket with this tag, published or not. */
	uint32_t (*compare)(const struct hash_bucket *b, uint32_t tag);
	/* Finds the key of a locked position in a view. */
	bool (*find)(struct hash_pos *pos, unsigned shift);
	/* All keys that are in a view; returns how many. */
	unsigned (*collect)(const struct hash_table *t, const struct hash_key *k,
			    const struct hash_segment *seg, struct hash_kept *out);
	uint64_t (*lookup)(const struct hash_table *t, const uint8_t *keys, size_t stride,
			   uint64_t mask, const uint64_t *now, struct set_elem **hit);
};

/* NULL-terminated, the best first; what this program was compiled with. */
extern const struct hash_table_ops *const hash_table_variants[];
extern const struct hash_table_ops hash_table_scalar, hash_table_avx2, hash_table_avx512;

static inline size_t entry_index(const struct hash_root *r, uint64_t at)
{
	return (size_t)(at >> 1 >> (63 - r->depth));
}

static inline struct hash_segment *entry_segment(uint64_t entry)
{
	return (struct hash_segment *)(uintptr_t)(entry & ((1ULL << ENTRY_SHIFT) - 1));
}

static inline uint64_t *part_entry(const struct hash_root *r, uint64_t entry, uint64_t at)
{
	struct hash_part *p =
		(struct hash_part *)(uintptr_t)((entry & ((1ULL << ENTRY_SHIFT) - 1)) - ENTRY_PART);
	return &p->entry[at << r->depth >> (64 - (entry >> ENTRY_SHIFT))];
}

/* The entry of a segment. */
static inline uint64_t entry_load(const struct hash_root *r, uint64_t at)
{
	uint64_t entry = LOAD_ACQUIRE(&r->entry[entry_index(r, at)]);
	return entry & ENTRY_PART ? LOAD_ACQUIRE(part_entry(r, entry, at)) : entry;
}

/* Of the segment of this depth that has `at`: its first place, and the first behind it; 0: none. */
static inline uint64_t place_first(uint64_t at, unsigned depth)
{
	return depth ? at & -(1ULL << (64 - depth)) : 0;
}

static inline uint64_t place_behind(uint64_t at, unsigned depth)
{
	return depth ? place_first(at, depth) + (1ULL << (64 - depth)) : 0;
}

/* The lower half of a place is enough for these. */
static inline unsigned home_of(uint64_t at, unsigned n_buckets)
{
	return ((uint32_t)(at >> 16 & 0xffff) * n_buckets) >> 16;
}

static inline unsigned second_of(uint64_t at, unsigned n_buckets)
{
	return ((uint32_t)(at & 0xffff) * n_buckets) >> 16;
}

/* The buckets of a place, in the segment of an entry. */
static inline const struct hash_bucket *entry_home(uint64_t entry, uint64_t at)
{
	return &entry_segment(entry)->bucket[home_of(at, (unsigned)(entry >> ENTRY_SHIFT))];
}

static inline const struct hash_bucket *entry_second(uint64_t entry, uint64_t at)
{
	return &entry_segment(entry)->bucket[second_of(at, (unsigned)(entry >> ENTRY_SHIFT))];
}

static inline uint8_t *segment_keys(const struct hash_segment *seg)
{
	return (uint8_t *)&seg->bucket[seg->n_buckets];
}

/* Of a bucket's slots what readers do not look at. It stands in lines of its own. */
struct hash_marks {
	/* Given up, but readers may still look at them: they are not written. None where the bucket
	 * is not marked with RESTING. */
	uint16_t resting;
	/* Of a flushed segment, none elsewhere: see hash_table_flush(). */
	uint16_t wanted; /* stood there, and the transaction added it again */
	uint16_t later;	 /* a packet added it since */
	uint16_t since;	 /* of what rests: see hash_table_rest.c */
};

static inline size_t cells_bytes(const struct hash_table *t, unsigned n_buckets)
{
	return ((size_t)n_buckets * SLOTS * t->key_size + 63) & ~(size_t)63;
}

static inline struct hash_marks *segment_marks(const struct hash_table *t,
					       const struct hash_segment *seg, unsigned b)
{
	return (struct hash_marks *)(segment_keys(seg) + cells_bytes(t, seg->n_buckets)) + b;
}

/* Slots that are in a view. */
static inline uint32_t head_kept(uint32_t head)
{
	return (head | head >> VIEW_SHIFT) & VIEW_BITS;
}

/* Slots of a bucket that are in the view that changes go to, and stay there. */
static inline uint32_t bucket_next(const struct hash_table *t, const struct hash_segment *seg,
				   unsigned b)
{
	uint32_t head = LOAD_ACQUIRE(&seg->bucket[b].head), next = head >> t->next_shift;

	if (seg->flushed) {
		const struct hash_marks *m = segment_marks(t, seg, b);
		next &= LOAD(&m->wanted) | LOAD(&m->later) |
			~(head >> (t->next_shift ^ VIEW_SHIFT));
	}
	return next & VIEW_BITS;
}

/*
 * Where a segment with the column HASH_EXPIRES has, for the bucket and its neighbours, a time that
 * no expiry in them is before; 0: nothing in them expires.
 */
static inline uint64_t *bucket_due(const struct hash_segment *seg, unsigned b)
{
	return &seg->column[HASH_EXPIRES][seg->n_buckets * SLOTS + b / DUE_BUCKETS];
}

static inline void bucket_due_lower(const struct hash_segment *seg, unsigned b, uint64_t expires)
{
	uint64_t *due = bucket_due(seg, b);
	if (expires && (!*due || expires < *due))
		*due = expires;
}

static inline const uint8_t *slot_key(const struct hash_table *t, const struct hash_segment *seg,
				      unsigned slot)
{
	return t->key_size ? segment_keys(seg) + (size_t)slot * t->key_size
			   : (const uint8_t *)&seg->bucket[slot / SLOTS].tag[slot % SLOTS];
}

static inline struct set_elem *
elem_of_key(const struct hash_table *t, const struct hash_segment *seg, unsigned slot, uint32_t tag)
{
	if (t->key_len <= 7) {
		uint64_t v = tag;
		if (t->key_size) {
			v = 0;
			memcpy(&v, segment_keys(seg) + (size_t)slot * t->key_size, t->key_len);
		}
		return (struct set_elem *)(uintptr_t)(v << 8 | 1);
	}
	return (struct set_elem *)(segment_keys(seg) + (size_t)slot * t->key_size + 1);
}

/*
 * Marks of OVERFLOWED stay when what they were made for goes. Where many have been made since the
 * segment was built it is built anew, so that misses look at one line.
 */
static inline bool segment_overflows(const struct hash_segment *seg)
{
	return seg->overflows > seg->n_buckets / 2U + 4U;
}

/* Packets leave alone what would have to be freed later while there is too much of that. */
static inline bool must_not_defer(const struct hash_table *t, bool packet)
{
	return packet && rcu_crowded(t->config.rcu);
}

static inline bool spin_lock_tries(uint32_t *lock, unsigned tries)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		do {
			if (!tries--)
				return false;
			__builtin_ia32_pause();
		} while (LOAD(lock));
	return true;
}

static inline void spin_lock(uint32_t *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		while (LOAD(lock))
			__builtin_ia32_pause();
}

static inline bool spin_try(uint32_t *lock)
{
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_unlock(uint32_t *lock)
{
	STORE_RELEASE(lock, 0);
}

/* hash_table.c */
struct hash_segment *segment_lock(struct hash_table *t, uint64_t at);
uint64_t segment_word(const struct hash_segment *seg, enum hash_column c, unsigned slot);
struct set_elem *slot_elem(const struct hash_table *t, const struct hash_segment *seg,
			   unsigned slot);
/* Locks the key's segment. False: it is not `patient`, and another thread held it for long. */
bool pos_lock(struct hash_table *t, const uint8_t *key, bool patient, struct hash_pos *pos);
/* Of these slots of a bucket those that hold the key. */
uint32_t pos_slots(const struct hash_pos *pos, unsigned b, uint32_t slots);
/* Takes a slot out of the views that changes go to. True if it is in none any more. */
bool slot_drop(struct hash_table *t, struct hash_segment *seg, unsigned slot, bool packet);
void count_add(struct hash_table *t, uint64_t delta);
/* Something in the segment expires then; 0: nothing. 0, or -ENOMEM if it stood in no heap. */
int note_due(struct hash_table *t, struct hash_segment *seg, uint64_t expires);

/* A slot that is in a view of packets, or of the control thread, is one of those counted. */
bool slot_counts(const struct hash_table *t, const struct hash_segment *seg, unsigned slot,
		 bool packet);

/*
 * hash_table_rest.c. These slots of a bucket are in no view, and since they left it the count was
 * changed by count_add(): they are not written for a while.
 */
void bucket_rest(struct hash_table *t, struct hash_segment *seg, unsigned b, uint32_t slots);
/* True if nobody looks at the slots that rest in the bucket any more. */
bool bucket_rested(struct hash_table *t, const struct hash_segment *seg, unsigned b);

/* hash_table_expire.c: finds out anew when the first element expires, of a bucket and its
 * neighbours, and then of the segment. */
void bucket_due_again(struct hash_table *t, struct hash_segment *seg, unsigned b);
void segment_due_again(struct hash_table *t, struct hash_segment *seg);

/* hash_table_flush.c, of a flushed segment */
/* As ops->find(), in the next state. */
bool flushed_find(struct hash_pos *pos);
/* Of a key that is not in it: what stood there with nothing but the key is wanted. */
bool flushed_again(struct hash_pos *pos);
/* The same of a slot that a packet has put in. */
void flushed_put(struct hash_pos *pos);
/*
 * A bucket's head without what is old in its next view, as the commit would leave it: for who
 * writes the line anyway.
 */
uint32_t flushed_head(const struct hash_table *t, const struct hash_segment *seg, unsigned b);
/* As slot_drop(). */
bool flushed_drop(struct hash_table *t, struct hash_segment *seg, unsigned slot, bool packet);
/* Slots of a segment take their marks to another one. */
void flushed_carry(const struct hash_table *t, const struct hash_segment *from, unsigned from_slot,
		   struct hash_segment *to, unsigned slot);

/* hash_table_dir.c: the directory. Where it changes, the table's lock is held. */
int dir_new(struct hash_table *t);
void dir_free(struct hash_root *r); /* not the segments */
/* Gives it up: it goes when no reader looks at it. */
void dir_discard(struct hash_table *t, struct hash_root *r);
/* Makes room for segments of this depth at a place; 0 or -ENOMEM. */
int dir_deepen(struct hash_table *t, uint64_t at, unsigned depth);
/*
 * All entries lead to 2^depth segments in their order, in the place of a directory without parts.
 * 0 or -ENOMEM.
 */
int dir_replace(struct hash_table *t, struct hash_segment *const *seg, unsigned depth);
/* All entries of seg's share lead to it. */
void dir_lead(struct hash_table *t, struct hash_segment *seg, uint64_t at);
/* Gives back what no segment at a place needs. */
void dir_tidy(struct hash_table *t, uint64_t at);

/* Each segment once. A walk begins as {root}. */
struct segment_walk {
	const struct hash_root *root;
	uint64_t at;
	bool done;
};
struct hash_segment *segment_next(struct segment_walk *w);

/* hash_table_grow.c */
struct hash_segment *segment_new(struct hash_table *t, unsigned n_buckets, unsigned depth,
				 uint64_t at);
size_t segment_bytes(const struct hash_table *t, const struct hash_segment *seg);
void segment_free_now(struct hash_segment *seg);
void segment_free_rcu(struct rcu_head *head); /* when no reader can look at it any more */
size_t segment_size(const struct hash_table *t, unsigned n_buckets); /* without columns */
size_t column_bytes(unsigned n_buckets, enum hash_column c);
/* Buckets for so many keys at the load that a segment has when it was built. */
unsigned buckets_for(unsigned n);
/* It is complete, but for its place: its memory counts. */
void segment_account(struct hash_table *t, const struct hash_segment *seg);
/* Out of the due times; the table's lock is held. Then out of the hands of writers. */
void segment_take_down(struct hash_table *t, struct hash_segment *old);
void segment_discard(struct hash_table *t, struct hash_segment *old);
/* A column of a locked segment, made if need be; NULL: no memory. */
uint64_t *segment_column(struct hash_table *t, struct hash_segment *seg, enum hash_column c);
/* Makes room for another key; the new segment is locked. 0, -ENOMEM, -ENOSPC, -EAGAIN: lock anew.
 */
int segment_grow(struct hash_pos *pos);
/*
 * Builds a full segment anew, with a free slot for this key, in memory that lies ready; it is
 * locked. 0 or -ENOBUFS.
 */
int segment_use_spare(struct hash_pos *pos);
/* Makes a segment anew if it has not the room that hash_table_provide() says. As above. */
int segment_provide(struct hash_pos *pos);
/* Gives memory back if the segment is nearly empty, and says whether it did; unlocks. */
bool segment_shrink(struct hash_table *t, struct hash_segment *seg, uint64_t at);
/* The same if it is clearly larger than what it holds needs. */
bool segment_fit(struct hash_table *t, struct hash_segment *seg, uint64_t at);

/*
 * Builds a segment anew as one of a table that was told what comes (buckets_roomy()), together with
 * its other half if both fit into one; in both views is then what readers see, and the rest has
 * gone. Says whether it did: if so it unlocks.
 */
bool segment_renew(struct hash_table *t, struct hash_segment *seg, uint64_t at);

/* hash_table_spare.c: has SPARES of them, for the widest segment; 0 or -ENOMEM. Gives them back. */
int spares_make(struct hash_table *t);
void spares_free(struct hash_table *t);
size_t spares_bytes(const struct hash_table *t); /* the table's lock is held */
/* False: there is none. */
bool spare_pop(struct hash_table *t, struct hash_spare *out);
/* Lies ready, or is freed where others took its place while it was out. */
void spare_push(struct hash_table *t, struct hash_spare *x);
/* For a segment of so many buckets with these columns. */
bool spare_serves(const struct hash_spare *x, unsigned n_buckets, unsigned columns);

/* hash_table_reserve.c: memory for a segment in regions; NULL: they have none. */
void *regions_alloc(struct hash_table *t, size_t size);
/* Buckets of a segment that is to be one of those which hold all keys; its piece is used up. */
unsigned buckets_roomy(const struct hash_table *t, unsigned n);
/*
 * Regions for all segments, were they built anew, in place of those that there are. False: there is
 * no memory, or too little in the table.
 */
bool regions_renew(struct hash_table *t);

/* hash_table_ahead.c */
/* Keys that a segment of this depth may get before the table is provided again. */
unsigned ahead_of(const struct hash_table *t, unsigned depth);
/* A segment is, or may be, too full for what may come. */
bool segment_wants(const struct hash_table *t, const struct hash_segment *seg);
/* The next hash_table_provide() is to look at the segment of this place. */
void ahead_note(struct hash_table *t, uint64_t at);

/* hash_table_alarm.c: the table under a new secret, unless that happened since `root` was read.
 * 0, -ENOMEM, or -ENOSPC if no secret serves. */
int hash_table_rebuild(struct hash_table *t, const struct hash_root *root);

/* hash_table_due.c: the segments by their earliest expiry. The table's lock is held. */
int due_reserve(struct hash_table *t);
void due_lower(struct hash_table *t, struct hash_segment *seg, uint64_t due);
void due_set(struct hash_table *t, struct hash_segment *seg, uint64_t due);
#define DUE_NOWHERE UINT32_MAX

#endif
