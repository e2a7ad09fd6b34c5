/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table: exact keys of one length, 1 to 64 bytes, under readers that never wait or retry.
 *
 * Extendible hashing (Fagin et al., 1979) with directory and segments as in Dash (Lu et al., 2020):
 *
 *	root: secret, directory of 2^depth entries, by the highest bits of the hash, and behind
 *	      its entries parts for further bits where there are many segments
 *	  -> segment: 1 to 128 buckets; several entries may lead to the same one
 *	       bucket: one cache line: a head and 15 tags of 32 bits
 *	       keys: 8, 16, .. bytes a slot, where the key is longer than 4 bytes
 *	       columns: 8 bytes a slot, each there only in segments that need it:
 *	         expiry, timeout, record
 *
 * The tag of a key of up to 4 bytes is the key; that of a longer one is 32 further bits of its
 * hash, and the key stands in the slot's cell. A key's home is one bucket of its segment; if that
 * is full, or nearly and its second choice is not, it lies there, and the home bucket has a bit
 * that says so: a miss looks at one line, unless that bit is set. (A slot is left over where it can
 * be, which makes it rare that both are full in a table whose elements come and go; but not yet in
 * a table that was told how many come.)
 *
 * Of a burst all keys are hashed, then led to their buckets by the directory, then these are
 * fetched and compared, then the cells. The hash is AES rounds or SipHash (hash_key.h) under the
 * root's own secret.
 *
 * A slot is filled (tag, key, columns) and then becomes visible by one release store of the
 * bucket's head; afterwards its tag, key and record do not change, and when it is taken out only
 * its bits in the head go. It then rests: it is not written before all readers are past it (rcu).
 * A segment that is full is built anew: with other buckets (growing, shrinking), as two (split), as
 * one with its neighbour (merge). The new segment is complete before the directory leads to it, and
 * the old one stays as it was until all readers are past it. That is why readers need no retry and
 * no version:
 *  A. A reader that finds a bit in a head (acquire) sees that slot's tag, key, columns as they were
 *     stored before (release), and no other key will stand there while it looks.
 *  B. A segment that a reader came to is a true picture of all its keys of the moment when the
 *     directory was read, with later changes up to the moment when it was replaced. A key that was
 *     there all the time is in the one or the other; nothing that readers look at moves.
 *  C. An expiry is one 64-bit word: a refresh is one store.
 * Heads, column pointers and entries are single words, stored once each, whole.
 *
 * A head has two bits a slot, for two views of the table: outside a transaction both are equal. A
 * transaction changes the one that readers do not look at and commits by one store of which view
 * that is; then, after a grace period, the other view is made equal key by key. What is in neither
 * view is gone; what is in one still stands. A flush within a transaction: hash_table_flush.c.
 *
 * Without an rcu everything is done by one thread at a time: slots do not rest, locks are not
 * taken.
 *
 * Writers: a spin lock a segment, held for a few stores, or while a segment is built anew (at most
 * 1,920 slots: some 10 us). Above it the table's lock for directory and due times, held for a few
 * stores or one doubling of a part of the directory, 8 KiB at most. Order: segment, table. Any
 * number of threads may change a table; a transaction, and reading it other than by lookup, belong
 * to one thread.
 *
 * Cost: lookup one line for a miss, one to three for a hit; adding and deleting O(1), amortised,
 * and at most a segment. With load 0.65 to about 0.8 a plain IPv4 element costs 5 to 7 bytes, each
 * column 8 / 0.65 at most. A segment that would not hold its keys at its largest, which
 * a random hash does not do, raises an alarm: the table gets a new secret and is built anew.
 *
 * Expiry: segments stand in a heap by the earliest expiry in them, and have the earliest of each
 * four buckets. hash_table_expire() looks at those that are due: what it costs depends on what has
 * expired, not on the table.
 */
#ifndef TAMIS_HASH_TABLE_H
#define TAMIS_HASH_TABLE_H

#include "rcu/rcu.h"

struct hash_table;
struct hash_segment;
struct hash_table_ops;
struct set_elem;

enum hash_column { HASH_EXPIRES, HASH_TIMEOUT, HASH_RECORD, HASH_COLUMNS };

struct hash_table_config {
	const struct hash_table_ops *ops; /* NULL: the best of this CPU */
	struct rcu *rcu;		  /* NULL: one thread, memory goes at once */
	unsigned key_len;
	/* Frees a record after a grace period of rcu. A segment may be locked: no calls back. */
	void (*record_free)(struct rcu *rcu, void *record);
};

/* 0, -ENOMEM, or what the system says that has no random bits. */
int hash_table_new(const struct hash_table_config *config, struct hash_table **out);
/* Frees the table and its records once no reader looks at it; it must be out of reach. */
void hash_table_free(struct hash_table *t);
/*
 * Whose grace periods count from now on; NULL while no reader can come to the table: then what it
 * gives up is freed, and used again, at once.
 */
void hash_table_share(struct hash_table *t, struct rcu *rcu);

/*
 * What a lookup hands out: the record, if the element has one; else the key, as a number for keys
 * of up to 7 bytes, by its place (until the next change) for longer ones. Bit 0 tells, see
 * elem_is_bare(). This is the key of an element that has no record; buf takes it where it has no
 * place.
 */
const uint8_t *hash_elem_key(const struct hash_table *t, const struct set_elem *e, uint8_t buf[8]);

/* Readers: any registered thread. As set_lookup(). */
uint64_t hash_table_lookup(const struct hash_table *t, const uint8_t *keys, size_t stride,
			   uint64_t mask, const uint64_t *now, struct set_elem **hit);

/* Who changes an element, and how. */
struct hash_how {
	bool packet; /* not the control thread: no part of a transaction */
	bool ready;  /* makes no memory, see hash_table_provide() */
};

/*
 * A key's place with its segment locked, in the view that changes go to. Between lock and unlock:
 * read and change this element only. hash_table_lock() says whether the key is there.
 */
struct hash_pos {
	struct hash_table *t;
	struct hash_segment *seg;
	const uint8_t *key;
	uint64_t at;
	uint32_t tag;
	unsigned slot, shift; /* shift: the view that was looked at */
	bool packet;	      /* by hash_table_lock_shown() */
	bool ready;	      /* makes no memory, see hash_table_provide() */
	bool counted;	      /* of hash_table_put(), packet: see there */
};

bool hash_table_lock(struct hash_table *t, const uint8_t *key, struct hash_pos *pos);
/*
 * The same for changes that are no part of a transaction though one may be open: by any thread.
 * They show at once, in both views, and stay if it is undone. Of a key that the transaction changes
 * too the commit decides, and without one this change. 1, 0, or -EBUSY where `patient` is false and
 * another thread has held the segment for longer than it takes to build one: nothing is locked.
 */
int hash_table_lock_shown(struct hash_table *t, const uint8_t *key, bool patient,
			  struct hash_pos *pos);
/*
 * Some element that counts, which of them chance and the key decide, as by hash_table_lock() or,
 * for a packet, hash_table_lock_shown(): 1, 0 where there is none, -EBUSY. pos->key is what stands
 * there.
 */
int hash_table_lock_some(struct hash_table *t, const uint8_t *key, struct hash_how how,
			 struct hash_pos *pos);
void hash_table_unlock(struct hash_pos *pos);
uint64_t hash_pos_word(const struct hash_pos *pos, enum hash_column c);
/* The element that stands there, as lookups hand it out. */
struct set_elem *hash_pos_elem(const struct hash_pos *pos);
/* True if the element was there when the transaction began. */
bool hash_pos_is_old(const struct hash_pos *pos);
/* True if it was, and went with a flush in place, and was put in again. */
bool hash_pos_is_again(const struct hash_pos *pos);
/* Changes expiry or timeout; 0 or -ENOMEM, never the latter where the value was not 0 before. */
int hash_pos_set_word(struct hash_pos *pos, enum hash_column c, uint64_t value);
/*
 * Puts an absent key in, unless the table has `most` elements (0: no limit), however many threads
 * do. 0, -ENFILE for that, -ENOMEM, or -ENOSPC if no secret serves; -ENOBUFS, of a position that
 * is `ready`, if there is no room that was made before. May let go of the segment and lock it
 * again: -EEXIST if the key came meanwhile. pos->counted says that the element counts already,
 * rather than if the transaction is undone.
 */
int hash_table_put(struct hash_pos *pos, const uint64_t word[HASH_COLUMNS], uint64_t most);
/*
 * An element that has nothing but its key, in one call: 1 if it is a new one, 0 if the key was
 * there, or as hash_table_put(). hash_table_fetch() says that a change of this key comes soon.
 */
int hash_table_add(struct hash_table *t, const uint8_t *key, uint64_t most);
void hash_table_fetch(const struct hash_table *t, const uint8_t *key);
/* True if the element counts already: see hash_table_put(). */
bool hash_pos_counts(const struct hash_pos *pos);
/* Takes the element out, and frees its record when no reader can see it, and unlocks. */
void hash_table_drop(struct hash_pos *pos);

/*
 * Says that so many keys will come, to a table that is empty; of any other it changes nothing. Then
 * it has room for them, in regions, and nothing is built anew while they come. 0 or -ENOMEM: the
 * table is as it was and grows when it must. Costs what the room costs: not for the packet path.
 */
int hash_table_reserve(struct hash_table *t, uint64_t n);

/*
 * Growing ahead, for changes that must not ask for memory (hash_pos.ready). From now on, and as
 * often as this is called, there is room for n more keys with these columns (bits) wherever they
 * fall; changes note what segments have become too full or too empty for that, and until the next
 * call they are left so. hash_table_wants() says that some are noted. 0, or not everywhere:
 * -ENOMEM, or -ENOBUFS if the rcu is crowded, where nothing is built anew. Costs a segment for each
 * that is noted; the first time the whole table.
 */
int hash_table_provide(struct hash_table *t, unsigned n, unsigned columns);
bool hash_table_wants(const struct hash_table *t);

/* Elements in the view that changes go to, the expired ones too. */
uint64_t hash_table_count(const struct hash_table *t);

/* One element after the other, in no order; elements must not change meanwhile. */
void hash_table_each(const struct hash_table *t,
		     void (*fn)(void *ctx, struct set_elem *e, const uint8_t *key,
				uint64_t expires),
		     void *ctx);

/*
 * Takes out up to `budget` elements whose time has come; fn is told of each before it goes (and its
 * record with it) and may say false: then it stays and that is the end. 4 of *steps are spent on
 * a segment, 128 where it was built anew; also ends when they are used up.
 */
unsigned hash_table_expire(struct hash_table *t, uint64_t now, unsigned budget, unsigned *steps,
			   struct hash_how how, bool (*fn)(void *ctx, struct set_elem *e),
			   void *ctx);
uint64_t hash_table_next_due(const struct hash_table *t); /* never later than the next expiry */
uint64_t hash_table_expired(const struct hash_table *t, uint64_t now); /* how many there are */

/*
 * A transaction. With `visible` lookups see changes at once, else at hash_table_publish(). A grace
 * period after that, or after hash_table_revert(), hash_table_settle() must be called with each key
 * that was changed, then hash_table_end(). Of a revert, settle tells fn what came back into the
 * view (+1) and what left it (-1).
 */
void hash_table_begin(struct hash_table *t, bool visible);
void hash_table_publish(struct hash_table *t);
void hash_table_revert(struct hash_table *t);
void hash_table_settle(struct hash_table *t, const uint8_t *key,
		       void (*fn)(void *ctx, struct set_elem *e, int delta), void *ctx);
void hash_table_end(struct hash_table *t);

/*
 * Takes out all that the transaction sees, in place: readers see nothing of it before the commit,
 * which then costs a walk over the table. What packets add from now on stays. Only where readers
 * see none of a transaction before (not `visible`). A revert must then begin with
 * hash_table_unflush(), and after a commit hash_table_settle_all() takes the place of all calls of
 * hash_table_settle(), and gives back the memory that is not needed any more. fn (may be NULL) is
 * told of each element that goes (-1) or comes back (+1).
 */
void hash_table_flush(struct hash_table *t, void (*fn)(void *ctx, struct set_elem *e, int delta),
		      void *ctx);
void hash_table_unflush(struct hash_table *t, void (*fn)(void *ctx, struct set_elem *e, int delta),
			void *ctx);
void hash_table_settle_all(struct hash_table *t);

size_t hash_table_bytes(const struct hash_table *t); /* all its memory, without records */

#endif
