/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_internal: what the files of src/set share. Nothing outside includes it.
 *
 * set.c is the front: it checks, finds lifetimes, keeps limits and the journal (journal.c). A kind
 * (hash_set.c, interval_set.c, concat_set.c) only knows where an element stands, through a struct
 * set_ops. Putting an element in cannot fail: links are in the elements, or room was made before
 * and is kept for what was taken out. That is what makes a rollback safe.
 *
 * A kind may hold elements whose time has passed. They are found by find() alone; match(),
 * conflict() and lookup() see live ones only.
 */
#ifndef TAMIS_SET_INTERNAL_H
#define TAMIS_SET_INTERNAL_H

#include "base/hash.h"
#include "base/vec.h"
#include "set/elem_pool.h"
#include "set/hash_table.h"
#include "set/interval_tree.h"
#include "set/set.h"

#define EXPIRY_NONE UINT32_MAX

/*
 * The record of an element, in one piece of its set's elem_pool: this head, then lo, hi (ranges),
 * data and order of arrival (boxes) at the set's offsets, then state and comment.
 */
struct set_elem {
	uint64_t expires; /* UINT64_MAX: never */
	uint16_t at;	  /* where in the pool */
	uint16_t ext;	  /* where its state is, in words from here; 0: it has none */
	uint16_t comment; /* the same of its comment */
	bool catchall;
	union {
		struct rcu_head rcu; /* when it goes */
		/* Which nobody but the control thread looks at, and not then. */
		struct {
			uint64_t timeout;    /* 0: none */
			uint32_t expiry_pos; /* place in the expiry queue or EXPIRY_NONE */
		};
	};
	uint8_t bytes[];
};

_Static_assert(sizeof(struct set_elem) == 48, "what an element costs besides what it has");

/*
 * An element that has a key, or range, and nothing else may have no memory of its own: it is bare,
 * bit 0 of its handle is set, and the kind that made the handle reads it.
 */
static inline bool elem_is_bare(const struct set_elem *e)
{
	return (uintptr_t)e & 1;
}

/* First and last key of an element; buf is where they are if they are nowhere else. */
struct elem_keys {
	const uint8_t *lo, *hi;
	uint8_t buf[16];
};

/* The elements whose time will come, soonest first: see expiry.c. */
struct expiry {
	struct expiry_slot **parts;
	uint32_t n, n_parts;
};

struct interval_forest;
struct slot_table;
struct tuple_table;
struct tuple_view;

/* Everything that a flush takes away at once. */
struct set_store {
	struct hash_table *table;	 /* hash; NULL in all other kinds */
	bool fresh;			 /* hash: came in by a flush of the open transaction */
	bool flushed;			 /* hash: by it, in place */
	struct interval_tree tree;	 /* interval */
	struct slot_table *slots;	 /* interval; or NULL */
	struct slot_table *slots_before; /* those of the version before the open one */
	struct interval_forest *forest, *forest_before; /* the same */
	bool open; /* not hash: a version that lookups do not look at yet */
	struct tuple_table *tuples, *tuples_before; /* concatenated ranges; as slots */
	struct set_elem *catchall;
	struct expiry expiry;
	size_t n; /* elements, expired ones too, without the catch-all; not of hash */
};

struct journal_entry;

struct set {
	struct set_desc desc;
	const struct set_ops *ops;
	unsigned key_len, prefix_len; /* prefix_len: at most 8 */
	unsigned off_hi, off_data, off_seq, elem_size;
	bool masked;		/* desc.keying has a mask that is not all ones */
	struct elem_pool *pool; /* made with the first record */
	uint64_t next_seq;
	struct set_store store;
	uint64_t base_timeout; /* hash: a timeout that is not stored */
	bool bare;	       /* hash: elements of sets like this have keys alone */
	/* set_expect_updates(): most new elements between two set_provide(), and what they need. */
	uint32_t updates, update_columns;
	size_t update_bytes; /* of a record; 0: none */
	bool open;	     /* a transaction */
	bool committed;	     /* it is visible, but workers may still look at what it took out */
	bool undoing;	     /* it is being rolled back: kinds with versions do that themselves */
	/* A line that changes when something is published, and one that workers write. */
	struct hash_table *published __attribute__((aligned(64))); /* hash: what lookups look at */
	struct set_elem *shown;					   /* the catch-all, to lookups */
	/* With desc.rcu, interval: what lookups look at and memory for the next, in the kind's
	 * form. */
	struct rcu_head *view, *next_view;
	const struct tuple_view *tuples; /* the same of concatenated ranges */
	struct set_stats stats __attribute__((aligned(64)));
	VEC(struct journal_entry) journal __attribute__((aligned(64)));
};

struct set_ops {
	enum set_kind kind;
	/* A bare element, or NULL where this kind has none for the range. May be NULL itself. */
	struct set_elem *(*bare)(const struct set *s, const uint8_t *lo, const uint8_t *hi);
	void (*bare_keys)(const struct set *s, const struct set_elem *e, struct elem_keys *out);
	/* The element with this key or range, live or not; NULL. */
	struct set_elem *(*find)(const struct set *s, const uint8_t *lo, const uint8_t *hi);
	/* A live element that keeps lo..hi from being added; NULL for none. */
	struct set_elem *(*conflict)(const struct set *s, const uint8_t *lo, const uint8_t *hi,
				     uint64_t now);
	/* The live element that answers for a key. */
	struct set_elem *(*match)(const struct set *s, const uint8_t *key, uint64_t now);
	uint64_t (*lookup)(const struct set *s, const uint8_t *keys, size_t stride, uint64_t mask,
			   const uint64_t *now, struct set_elem **hit);
	/* Before a flush: memory for publish(). May be NULL. */
	int (*prepare)(struct set *s);
	/* Makes room for n insertions of ranges within lo..hi. */
	int (*reserve)(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n);
	/* After reserve(), for an element with memory of its own. May be NULL. */
	int (*reserve_record)(struct set *s);
	/* Makes room for n removals of elements like e. May be NULL. */
	int (*reserve_take)(struct set *s, struct set_elem *e, size_t n);
	/* Cannot fail: room was reserved. */
	void (*insert)(struct set *s, struct set_elem *e);
	void (*remove)(struct set *s, struct set_elem *e);
	/*
	 * Versions. begin(): a transaction begins. publish(): one ended, or a change without one:
	 * lookups are to see what there is. revert(): back to what the store was at begin().
	 */
	void (*begin)(struct set *s);
	void (*publish)(struct set *s);
	void (*revert)(struct set *s);
	/* Calls fn for each element; fn may free it. */
	void (*each)(const struct set_store *st, unsigned key_len,
		     void (*fn)(void *ctx, struct set_elem *e), void *ctx);
	/* Frees what the kind keeps besides elements. */
	void (*store_free)(struct set_store *st, unsigned key_len);
};

extern const struct set_ops hash_set_ops, interval_set_ops, bitmap_set_ops, concat_set_ops;

static inline uint8_t *elem_lo(struct set_elem *e)
{
	return e->bytes;
}

static inline uint8_t *elem_hi(const struct set *s, struct set_elem *e)
{
	return e->bytes + s->off_hi;
}

static inline uint8_t *elem_data(const struct set *s, struct set_elem *e)
{
	return e->bytes + s->off_data;
}

/* Order of arrival, of concatenated ranges. */
static inline uint64_t elem_seq(const struct set *s, const struct set_elem *e)
{
	uint64_t seq;
	memcpy(&seq, e->bytes + s->off_seq, sizeof(seq));
	return seq;
}

static inline bool elem_live(const struct set_elem *e, uint64_t now)
{
	return elem_is_bare(e) || now < __atomic_load_n(&e->expires, __ATOMIC_RELAXED);
}

static inline bool elem_is_catchall(const struct set_elem *e)
{
	return !elem_is_bare(e) && e->catchall;
}

static inline uint64_t elem_timeout(const struct set_elem *e)
{
	return elem_is_bare(e) ? 0 : e->timeout;
}

static inline uint64_t elem_expires(const struct set_elem *e)
{
	return elem_is_bare(e) ? UINT64_MAX : e->expires;
}

static inline const char *elem_comment(const struct set_elem *e)
{
	return elem_is_bare(e) || !e->comment ? NULL
					      : (const char *)((const uint64_t *)e + e->comment);
}

static inline void *elem_ext(const struct set_elem *e)
{
	return elem_is_bare(e) || !e->ext ? NULL : (uint64_t *)e + e->ext;
}

static inline void elem_keys(const struct set *s, struct set_elem *e, struct elem_keys *out)
{
	if (elem_is_bare(e)) {
		s->ops->bare_keys(s, e, out);
	} else {
		out->lo = elem_lo(e);
		out->hi = elem_hi(s, e);
	}
}

/* Elements that count against `size`. */
static inline uint64_t size_live(const struct set *s, uint64_t now)
{
	const struct set_elem *all = s->store.catchall;
	return set_count(s, now) - (all && elem_live(all, now));
}

/* Of a lifetime, enough to tell it from nearly every other: 24 and 32 bits. */
struct journal_folds {
	uint32_t timeout, expires;
};

/* What an item says of its life; 0: none. */
struct lifetime {
	uint64_t timeout, expires_in;
};

uint64_t expiry_at(uint64_t now, uint64_t left);

static inline void key_mask(const struct set *s, const uint8_t *key, uint8_t *out)
{
	for (unsigned i = 0; i < s->key_len; i++)
		out[i] = key[i] & s->desc.keying->mask[i];
}

/* The key that stands for one, see struct set_keying; of a range or NULL that itself. */
static inline const uint8_t *key_meant(const struct set *s, const uint8_t *key,
				       uint8_t buf[SET_KEY_MAX])
{
	if (!key || !s->masked || s->desc.interval)
		return key;
	key_mask(s, key, buf);
	return buf;
}

static inline uint64_t key_prefix(const struct set *s, const uint8_t *key)
{
	return be_load(key, s->prefix_len);
}

/* Lookups see nothing of the changes before the commit. */
static inline bool set_is_hidden(const struct set *s)
{
	return s->open && s->desc.rcu;
}

static inline void catchall_show(struct set *s)
{
	__atomic_store_n(&s->shown, s->store.catchall, __ATOMIC_RELEASE);
}

/* elem.c: puts an element into its place and takes it out: kind, expiry queue, data_use. */
void elem_attach(struct set *s, struct set_elem *e);
void elem_detach(struct set *s, struct set_elem *e);
void elem_free(const struct set *s, struct set_elem *e);
/* When no reader can see it; not of a bare one. */
void elem_record_free(struct rcu *rcu, struct set_elem *e);
void elem_data_use(const struct set *s, struct set_elem *e, int delta);
void elem_set_lifetime(struct set *s, struct set_elem *e, uint64_t timeout, uint64_t expires);
/* Makes room for n elements within lo..hi (NULL: the catch-all) to be attached. */
int elems_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n);
/* Makes room for n elements like e to be detached. */
int elem_reserve_take(struct set *s, struct set_elem *e, size_t n);
/* A new element that stands nowhere yet and does not expire; room for it is made. */
int elem_new(struct set *s, const uint8_t *lo, const uint8_t *hi, const void *data,
	     const char *comment, const void *template, uint64_t now, struct set_elem **out);

/* The same, but it needs no room; `ready`: without asking for memory, or -ENOBUFS. */
int elem_make(struct set *s, const uint8_t *lo, const uint8_t *hi, const void *data,
	      const char *comment, const void *template, uint64_t now, bool ready,
	      struct set_elem **out);
/* What the record of such an element takes. */
size_t elem_bytes(const struct set *s, const void *template);
/* The pool, made if need be; NULL: no memory. */
struct elem_pool *elem_pool_of(struct set *s);

/* hash_set.c: what sets of exact keys do in their own way. Keys are never NULL. */
int hash_set_table(struct set *s, struct hash_table **out); /* a new one */
void hash_set_publish(struct set *s);			    /* the store's table, to lookups */
void hash_set_begin(struct set *s);
int hash_set_add(struct set *s, const struct set_item *item, struct lifetime t, unsigned flags,
		 uint64_t now, struct set_elem **conflict);
int hash_set_delete(struct set *s, const uint8_t *key, uint64_t now);
int hash_set_update(struct set *s, enum set_update_mode mode, const struct set_item *item,
		    struct lifetime t, uint64_t now, struct set_elem **out);
int hash_set_provide(struct set *s);
bool hash_set_wants(const struct set *s);
unsigned hash_set_gc(struct set *s, uint64_t now, unsigned budget, unsigned *steps);
/* From a packet. */
int hash_set_remove(struct set *s, const uint8_t *key, uint64_t now);
/* Expiry and timeout of an element other than the catch-all. */
void hash_set_lifetime(const struct set *s, struct set_elem *e, uint64_t *timeout,
		       uint64_t *expires);
/* The end of a transaction: with each key of the journal, backwards if it is undone. */
void hash_set_settle(struct set *s, const uint8_t *key);
/* A flush within a transaction that readers see nothing of yet; that it is undone. */
void hash_set_flush(struct set *s);
void hash_set_unflush(struct set *s);
/*
 * `set` is of the lifetime that the transaction gave it. An expiry that a packet set since stays,
 * and so does an element with another timeout: a packet put it in since.
 */
void hash_set_restore_lifetime(struct set *s, const uint8_t *key, uint64_t timeout,
			       uint64_t expires, struct journal_folds set);

/* kind.c: of a bitmap, outside of a transaction. 0 or -ENOMEM. */
int set_become_hash(struct set *s);

/* set.c: before a change by the control thread: waits for room for what it gives up. 0, -EAGAIN. */
int set_admit(const struct set *s);

/* set.c: frees a view, of which the head is the first member. */
void set_view_free(struct rcu_head *view);

/* cut.c: takes lo..hi out of the elements of an auto_merge set that cover it together. */
int set_cut(struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now);

/* interval_set.c: live elements that overlap lo..hi, in key order. */
typedef VEC(struct set_elem *) elem_vec;
int interval_set_overlaps(const struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
			  elem_vec *out);

/* expiry.c */
int expiry_reserve(struct expiry *x, uint32_t more);
void expiry_insert(struct expiry *x, struct set_elem *e); /* room was reserved */
void expiry_remove(struct expiry *x, struct set_elem *e);
void expiry_update(struct expiry *x, struct set_elem *e); /* e->expires has changed */
/* An element that has expired, or NULL; *steps counts down with each stale entry put right. */
struct set_elem *expiry_due(struct expiry *x, uint64_t now, unsigned *steps);
uint64_t expiry_next(const struct expiry *x);
uint64_t expiry_count(const struct expiry *x, uint64_t now); /* expired elements in it */
void expiry_free(struct expiry *x);

/* journal.c: all of these do nothing when no transaction is open. */
int journal_reserve(struct set *s, size_t more); /* then `more` entries cannot fail */
void journal_added(struct set *s, struct set_elem *e);
void journal_removed(struct set *s, struct set_elem *e, bool expired); /* frees e outside one */
void journal_lifetime(struct set *s, struct set_elem *e);	       /* before it changes */
void journal_desc(struct set *s);				       /* before it changes */
/* hash, before the change: a key comes or goes; expires; its lifetime changes. 0 or -ENOMEM. */
int journal_key(struct set *s, const uint8_t *key);
int journal_key_expired(struct set *s, const uint8_t *key);
int journal_key_lifetime(struct set *s, const uint8_t *key, uint64_t timeout, uint64_t expires,
			 uint64_t new_timeout, uint64_t new_expires);
struct journal_folds journal_fold(uint64_t timeout, uint64_t expires);
/* Takes everything out for good. */
void store_drop(struct set *s);
void journal_free(struct set *s);

#endif
