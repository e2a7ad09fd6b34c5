/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: the one interface to all sets and maps, whatever structure stands behind it.
 *
 * A set holds elements: a key, or an inclusive range of keys, with optional data (a map), lifetime,
 * comment and state (counters and the like, opaque here). What a set is made of is told once, by a
 * struct set_desc; the kind behind it (hash, bitmap, interval, concatenated ranges) follows from
 * that.
 *
 * Keys are byte strings of one length a set. A key is the set's fields one after the other, packed,
 * each big-endian: memcmp() order is numeric order, field by field. Ranges of a concatenation are
 * ranges of each field.
 *
 * Time is an argument, in ns of the caller's clock. An element is live before its expiry and gone
 * from then on: it never matches, is not listed nor counted, and its key can be added again.
 * Whether its memory came back already (set_gc) makes no difference to any answer.
 *
 * Which element matches, where ranges overlap:
 *  - interval sets without auto_merge and interval maps refuse overlapping ranges;
 *  - with auto_merge they hold each element as it was added, and the narrowest live one matches;
 *  - concatenated ranges refuse an element whose lowest or highest corner lies in another element,
 *    which is what the kernel checks; where boxes still cross, the one added first matches.
 * The catch-all element matches what no other element does.
 *
 * Transactions: see set_begin().
 *
 * Threads: lookups and set_update()/set_remove() come from the packet path, everything else from
 * one control thread. With desc.rcu lookups and updates run beside each other and beside changes
 * from the control thread, in transactions too: what a packet changes is no part of an open one, it
 * shows at once and stays if that is rolled back. Of a key that the transaction changes too, its
 * commit decides; with a flush goes what packets added before the commit. Only `*` is not a
 * packet's to change then. Without rcu all calls for one set are one at a time, and part of an open
 * transaction. Elements handed out stay valid until the next call that changes the set; with
 * desc.rcu their data and state until the worker is quiet.
 *
 * Bounds: what readers may still be looking at is freed later, and how much of that there may be
 * rcu says (rcu_config). While there is more
 *  - packets change what needs nothing to be freed; what is left is not done: -ENOBUFS, counted;
 *  - set_provide() makes nothing, set_gc() takes nothing out;
 *  - changes by the control thread, and set_begin(), wait until it is less, at most for
 *    desc.wait_ns. Then they are -EAGAIN and have changed nothing, and rcu has told the worker that
 *    stalls by its name (rcu_config.stalled). In a transaction that one may be undone or go on.
 * So it is more by at most one change a thread, and a transaction is one: set_commit() gives up
 * what it took out, however much, and set_rollback() what it put in. set_gc() counts 8 elements of
 * a set with ranges as one.
 *
 * Costs, n elements: lookup, add, delete, update O(1) for hash and O(log n) for ranges (expected
 * for disjoint boxes in concatenations); flush O(1) plus the freeing; a cursor O(n log n) to open.
 */
#ifndef TAMIS_SET_SET_H
#define TAMIS_SET_SET_H

#include "base/base.h"

enum { SET_KEY_MAX = 64, SET_FIELDS_MAX = 16, SET_BATCH_MAX = 64 };

/* A lifetime of an element that says "does not expire" where the set has a default timeout. */
#define SET_NEVER UINT64_MAX

struct rcu;
struct set;	 /* opaque */
struct set_elem; /* opaque: the handle of an element */

/*
 * What the keys of a set of exact keys have to be, beyond their length. set_add(), set_delete(),
 * set_find(), set_get(), set_update(), set_remove() and set_lookup() take any key for the one that
 * is left of it under the mask; what is added lies, field by field, within lo..hi.
 */
struct set_keying {
	bool evicts; /* one that comes to a full set takes the place of some other */
	uint8_t mask[SET_KEY_MAX], lo[SET_KEY_MAX], hi[SET_KEY_MAX];
};

struct set_desc {
	uint8_t n_fields;		   /* 1 to SET_FIELDS_MAX */
	uint8_t field_len[SET_FIELDS_MAX]; /* bytes, each at least 1, SET_KEY_MAX together */
	uint16_t data_len;		   /* 0: a plain set */
	bool interval;			   /* elements may be ranges */
	bool timeout;			   /* elements may have a lifetime */
	/*
	 * set_update() may add elements; not together with interval. With rcu a plain set of keys
	 * of 1 or 2 bytes is one that packets change only if this says so.
	 */
	bool dynamic;
	bool auto_merge;	 /* interval sets of one field; elsewhere it changes nothing */
	uint32_t size;		 /* most elements, exact, the catch-all not counted; 0: no limit */
	uint64_t timeout_ns;	 /* default lifetime; 0: none */
	uint64_t gc_interval_ns; /* kept for the listing and the caller's schedule */

	/*
	 * Of a set that workers look up in while it changes: the grace periods of these workers.
	 * NULL: lookups and changes are one at a time. The thread that changes the set is not one
	 * of the workers, or is offline meanwhile. A change of a set with ranges copies what it
	 * touches, some KiB.
	 */
	struct rcu *rcu;
	uint64_t wait_ns; /* see "Bounds"; 0: one second */

	/*
	 * State of elements, which stands within them, aligned to 8 bytes. ext_init() makes that of
	 * a new element from a template: the one given with the element, else ext_ctx; with neither
	 * an element has no state. ext_size() is how many bytes that takes; an error of ext_init(),
	 * -errno, is that of the call. ext_fini(), which may be NULL, does not free the bytes.
	 */
	size_t (*ext_size)(const void *template);
	int (*ext_init)(void *ext, const void *template, uint64_t now);
	void (*ext_fini)(void *ext);
	const void *ext_ctx;

	/*
	 * If set: called with +1 for the data of each element that enters the set and -1 of each
	 * that leaves it, for whatever reason (delete, flush, expiry, rollback, set_free). The sum
	 * is right at any time, within a transaction too. Must not call back into the set.
	 */
	void (*data_use)(void *ctx, const void *data, int delta);
	void *data_ctx;

	/* NULL: keys are what they are. Not with intervals, where lookups alone heed the mask. */
	const struct set_keying *keying; /* copied */
};

/* 0, -EINVAL for a wrong desc, -EOPNOTSUPP for dynamic with interval, -ENOMEM. */
int set_new(const struct set_desc *desc, struct set **out);
void set_free(struct set *s);
/* Gives an empty set, which nobody looks at yet, its desc.keying. 0 or -ENOMEM. */
int set_key_by(struct set *s, const struct set_keying *k);
const struct set_desc *set_desc_of(const struct set *s);
unsigned set_key_len(const struct set *s);

#define SET_KINDS(X)                                                                               \
	X(HASH, "hash")                                                                            \
	X(BITMAP, "bitmap")                                                                        \
	X(INTERVAL, "interval")                                                                    \
	X(CONCAT, "concat")
enum set_kind {
#define SET_KIND(name, text) SET_##name,
	SET_KINDS(SET_KIND)
#undef SET_KIND
};
enum set_kind set_kind_of(const struct set *s);
const char *set_kind_name(const struct set *s);

/*
 * Changes what may be changed while elements are there: size, default timeout, gc interval.
 * Elements keep what they have; -EINVAL if `timeout` would have to be set, -ENFILE if size is less
 * than the elements are. Part of an open transaction.
 */
int set_change(struct set *s, uint32_t size, uint64_t timeout_ns, uint64_t gc_interval_ns,
	       uint64_t now);

/* --- control side --------------------------------------------------------------------------- */

/* An element as it comes from a user. Everything is copied. */
struct set_item {
	const void *lo, *hi;	/* key, or first and last of the range; hi NULL: hi = lo */
	bool catchall;		/* `*`: lo and hi are not looked at */
	const void *data;	/* data_len bytes; required in a map, NULL in a set */
	uint64_t timeout_ns;	/* 0: the set's default; SET_NEVER */
	uint64_t expires_in_ns; /* what is left, more than the timeout too; 0: all of that */
	const char *comment;	/* or NULL */
	const void *template;	/* for ext_init(); NULL: the set's */
};

enum set_add_flags {
	SET_ADD_EXCL = 1, /* `create`: an element that is there already is an error */
};

/*
 * Adds an element. If the same key or range is live already, with the same data: 0 without
 * SET_ADD_EXCL, and a timeout or expiry that differs is taken over; else -EEXIST.
 *  -EEXIST    there already (see above), or overlaps another element (see top)
 *  -ENFILE    the set is full
 *  -EINVAL    lo > hi in a field, a range in a set of exact keys, data missing or not wanted, a
 *             lifetime in a set without timeouts
 *  -ERANGE    expires_in_ns of an element that stays; the key is none for desc.keying
 *  -EAGAIN    there is no room for what is to be freed later, see "Bounds"
 *  -ENOMEM
 * With -EEXIST *conflict (may be NULL) is the element in the way.
 */
int set_add(struct set *s, const struct set_item *item, unsigned flags, uint64_t now,
	    struct set_elem **conflict);

/*
 * set_add() of n items, one after the other until one fails. *done is how many went in; *conflict
 * (may be NULL) as above.
 */
int set_add_many(struct set *s, const struct set_item *items, size_t n, unsigned flags,
		 uint64_t now, size_t *done, struct set_elem **conflict);

/*
 * Says that n elements more are about to come, by set_add(). A set of exact keys that is empty has
 * room for them at once then, in large pieces of memory; of any other it changes nothing. Errors
 * come from set_add().
 */
void set_expect(struct set *s, uint64_t n);

/*
 * Deletes the element with exactly this key or range; data is not looked at, as in the kernel.
 * -ENOENT if there is none. With auto_merge a range that no element has but that the live elements
 * cover together is cut out of all of them; the parts left keep lifetime and comment, their state
 * begins anew. -ENFILE if the parts are more than size allows; -EAGAIN as set_add(); -ENOMEM.
 */
int set_delete(struct set *s, const struct set_item *item, uint64_t now);

/*
 * Takes all elements out, the catch-all too. In a transaction, of a set of exact keys with
 * desc.rcu: what is added again with nothing but its key stays where it is, what packets add before
 * the commit stays; commit or rollback then cost a walk through the set, and give readers some 20
 * us to fetch each thousand lines that they change. -EAGAIN as set_add(); -ENOMEM.
 */
int set_flush(struct set *s, uint64_t now);

/*
 * Transactions. Between set_begin() and set_commit() or set_rollback() every change of the set is
 * kept in a journal. set_rollback() brings back exactly what was there: the same elements with
 * their expiry, state and handles, the same order, the desc's limits; it cannot fail. set_commit()
 * frees what was taken out. A set that was made within the transaction needs none of this: free it.
 * Handles of exact keys longer than 7 bytes without data, comment and state are not kept.
 *
 * With desc.rcu lookups see nothing of a transaction until set_commit(), then all of it, from one
 * call of set_lookup() to the next, but for the catch-all: it is another store, the next one. Of
 * elements that stay, a new lifetime shows at once; one that a packet refreshed since keeps that
 * when it is undone. set_commit() waits for a grace period, until its deadline by the clock of
 * desc.rcu (UINT64_MAX: none). Then it is -EAGAIN: lookups see what was changed, but what was taken
 * out is still held, and until set_commit(), called again, is 0, all changes by the control thread
 * are -EAGAIN and set_rollback() does nothing. Without desc.rcu lookups see changes
 * at once. set_gc() does nothing while a transaction is open. Journal entries are 32 bytes a
 * change, one for a flush. set_begin() on an open transaction is -EALREADY; -EAGAIN as set_add().
 */
int set_begin(struct set *s);
int set_commit(struct set *s, uint64_t deadline);
void set_rollback(struct set *s);
bool set_in_transaction(const struct set *s);

/* --- packet path ---------------------------------------------------------------------------- */

/*
 * Looks up to 64 keys up: key i is at keys + i * stride, its time now[i]. Returns the packets of
 * mask that match; hit[i] (hit may be NULL) is the element for those, untouched for the others.
 */
uint64_t set_lookup(struct set *s, const void *keys, size_t stride, uint64_t mask,
		    const uint64_t *now, struct set_elem **hit);

enum set_update_mode {
	SET_UPDATE_ADD,	    /* `add`: leave an element that is there as it is */
	SET_UPDATE_REFRESH, /* `update`: let its lifetime begin again */
};

/*
 * Add or refresh from the packet path; the item has an exact key and no comment. *out is the
 * element. 1 if it is new, 0 if it was there (its data stays), -ENFILE when full, -ERANGE of
 * desc.keying (both counted as full),
 * -EOPNOTSUPP in sets with ranges and those that desc.dynamic says so of, -EINVAL as set_add(),
 * -ENOMEM; -ENOBUFS and -EBUSY as below.
 */
int set_update(struct set *s, enum set_update_mode mode, const struct set_item *item, uint64_t now,
	       struct set_elem **out);

/*
 * So that packets need no memory and wait for nobody: says, from the control thread, that packets
 * add elements to a set, with this template and timeout (as of struct set_item), at most n between
 * two calls of set_provide(); calls add up, to SET_UPDATES_MAX and to the size of the set. From
 * then on set_update() takes what set_provide() has made ready, and no more: -ENOBUFS where that
 * was not enough, or see "Bounds", -EBUSY where another thread has kept the key's place for longer
 * than it takes to build it anew; both are counted (`unready`), and the packet's change is not
 * made. One thread alone (without rcu) makes memory then after all. set_provide() costs what has
 * come since the last call; set_wants(), from any thread, says that there is something for it to
 * do. 0, -ENOMEM or -ENOBUFS ("Bounds"): then less than that is ready; set_expect_updates() waits
 * instead of the latter, and is -EAGAIN as set_add(), -EOPNOTSUPP as set_update(). Both make a
 * "hash" of a "bitmap", once no transaction is open: handles of its elements are others then.
 */
enum { SET_UPDATES_MAX = 1024 };
int set_expect_updates(struct set *s, const void *template, uint64_t timeout_ns, uint32_t n);
int set_provide(struct set *s);
bool set_wants(const struct set *s);

/*
 * Deletes a key from the packet path: 0 or -ENOENT, -EOPNOTSUPP as set_update(), -EBUSY and
 * -ENOBUFS as above; of a "bitmap" it asks for memory, see set_expect_updates(): -ENOMEM.
 */
int set_remove(struct set *s, const void *key, uint64_t now);

/* What lookups need of an element: its data (NULL in a set) and its state (NULL for none). */
const void *set_elem_data(const struct set *s, const struct set_elem *e);
void *set_elem_ext(const struct set *s, const struct set_elem *e);

/* --- reading -------------------------------------------------------------------------------- */

struct set_view {
	struct set_elem *elem; /* of a merged range: the first of its elements */
	bool catchall;
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	const void *data; /* or NULL */
	void *ext;	  /* or NULL */
	const char *comment;
	uint64_t timeout_ns;	/* its lifetime as given or by default; 0: does not expire */
	uint64_t expires_in_ns; /* what is left of it at the time given, at least 1; 0: does not */
};

void set_elem_view(const struct set *s, struct set_elem *e, uint64_t now, struct set_view *out);

/*
 * The live element that holds lo..hi whole (hi NULL: lo); the catch-all only if asked for with
 * lo NULL. In auto_merge sets the answer is a merged range, at the cost of a listing. 0, -ENOENT,
 * -ENOMEM.
 */
int set_get(struct set *s, const void *lo, const void *hi, uint64_t now, struct set_view *out);

/* The element of exactly this key or range (of the catch-all: lo NULL) or NULL. */
struct set_elem *set_find(const struct set *s, const void *lo, const void *hi, uint64_t now);

enum set_cursor_view {
	SET_CURSOR_USER,    /* elements as they were added */
	SET_CURSOR_ARRIVAL, /* the same, so that another set takes them as this one did:
			       concatenated ranges in the order in which they came, which says what
			       may lie over what and which one answers */
	SET_CURSOR_MERGED,  /* as listed: in auto_merge sets, neighbours with one lifetime and
			       neither comment nor state become one range; other sets as
			       SET_CURSOR_ARRIVAL */
};

/*
 * Walks the elements live at `now` in key order (lo, then the wider first) unless the view has
 * another, the catch-all last. `from` skips what ends before that key (NULL: nothing). Changing the
 * set makes the cursor invalid; only set_cursor_close() may follow.
 */
struct set_cursor; /* opaque */
int set_cursor_open(struct set *s, enum set_cursor_view view, const void *from, uint64_t now,
		    struct set_cursor **out);
bool set_cursor_next(struct set_cursor *c, struct set_view *out);
void set_cursor_close(struct set_cursor *c);

/* Elements live at now, the catch-all counted. Costs the number of those expired but not freed. */
uint64_t set_count(const struct set *s, uint64_t now);

/* --- time ----------------------------------------------------------------------------------- */

/*
 * Frees up to `budget` elements whose time has come; returns how many, fewer where "Bounds" says
 * so. Any schedule will do; cost O(log n) each. set_next_due() is a time before which there is
 * nothing to do, UINT64_MAX for never.
 */
unsigned set_gc(struct set *s, uint64_t now, unsigned budget);
uint64_t set_next_due(const struct set *s);

struct set_stats {
	uint64_t hits;	  /* packets that matched in set_lookup() */
	uint64_t added;	  /* elements that set_update() made */
	uint64_t full;	  /* times that set_update() found no room */
	uint64_t unready; /* changes by packets not made: nothing ready, the place kept, "Bounds" */
	uint64_t expired; /* elements whose time came, counted when noticed */
};
const struct set_stats *set_stats_of(const struct set *s);

#endif
