/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: one transaction made of nft's commands and of elements that come as keys, without text:
 * what other front ends load with.
 *
 *	change_begin(t, now, &c);
 *	change_text(c, text, len, messages);
 *	change_set_find(c, "inet", "filter", "blocklist", &set);
 *	change_add(c, &set, &elem)		for each
 *	change_commit(c, messages)		or change_abort(c)
 *
 * Packets see nothing of it before change_commit(), nor ever if anything failed. Bursts must not
 * run meanwhile. The engine's one thread.
 *
 * Costs: change_add() that of the set, and where it overlaps k elements of a set without auto-merge
 * O(k) pieces for each field; a commit what a load of the same costs.
 */
#ifndef TAMIS_ENGINE_CHANGE_H
#define TAMIS_ENGINE_CHANGE_H

#include <tamis/tamis.h>

#include "base/strbuf.h"
#include "set/set.h"

struct change; /* opaque: an open transaction */

/* 0, -EBUSY if one is open, -ENOMEM. */
int change_begin(struct tamis *t, uint64_t now, struct change **out);

/* Whether nft takes this as the name of a set: its form, and none of nft's own words. */
bool change_takes_name(const char *name);

/* Carries out nft's commands. 0, -EINVAL with nft's messages in `messages`, -ENOMEM. After an error
 * only change_abort() may follow. */
int change_text(struct change *c, const char *text, size_t len, struct strbuf *messages);

/*
 * A table for sets that are no part of a ruleset, see change_set_own(): made if it is not there,
 * and then the first ruleset that declares it finds none. 0 or -ENOMEM.
 */
int change_table_own(struct change *c, const char *family, const char *table);

/* A named set as change_add() takes it; until the transaction ends. */
struct change_set {
	struct set *set; /* where elements go: see change_replace() */
	struct model_set *model;
	const char *type; /* of its first field, "ipv4_addr" */
	unsigned n_fields;
	unsigned key_len;
	bool map, interval, auto_merge;
	bool foreign; /* change_set_own() was called for it */
	bool used;    /* by rules */
};

/* 0, -EAFNOSUPPORT: no such family, -ESRCH: no such table, -ENOENT: no such set. */
int change_set_find(struct change *c, const char *family, const char *table, const char *name,
		    struct change_set *out);

/*
 * From now on the set is no part of a ruleset: reloads and `flush ruleset` leave it, see
 * model_reload(). It is new and empty; `keying` may be NULL. 0 or -ENOMEM.
 */
int change_set_own(struct change_set *s, const struct set_keying *keying);
/*
 * Whether it is declared so: "ipv4_addr . mark", may have ranges, lifetimes, has a counter, and
 * what its keys are.
 */
int change_set_is(const struct change_set *s, const char *type, bool interval, bool timed,
		  bool counted, const struct set_keying *keying, bool *is);

/*
 * Another content for a set: what change_add() adds from now on is put aside, and takes the place
 * of all that the set holds at change_replaced(). Before that `declare` is carried out, an `add
 * set` with other sizes and times; NULL: there are none. Errors of both as change_add() and
 * change_text().
 */
int change_replace(struct change *c, struct change_set *s);
int change_replaced(struct change *c, struct change_set *s, const struct strbuf *declare,
		    struct strbuf *messages);

/* What the set that is being replaced has for a key or range: false if nothing. */
struct change_held {
	uint64_t timeout_ns, expires_in_ns; /* 0: stays */
	uint64_t packets, bytes;	    /* of its counter, if it has one */
};
bool change_held(const struct change *c, const struct change_set *s, const uint8_t *lo,
		 const uint8_t *hi, struct change_held *out);

/* A range of keys, in each field. */
struct change_box {
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
};

struct change_elem {
	const uint8_t *lo, *hi;		    /* keys as in set.h, lo <= hi in each field */
	uint64_t timeout_ns, expires_in_ns; /* as in struct set_item */
	const char *comment;		    /* or NULL */
	bool counted;			    /* has a counter that begins with these: */
	uint64_t packets, bytes;
	const struct change_box *holes; /* what of it stays out */
	size_t n_holes;
};

/* Says that n elements more are about to come. 0 or -ENOMEM, as of change_add(). */
int change_expect(struct change *c, const struct change_set *s, uint64_t n);

/*
 * Adds what of n elements, one after the other, the set does not hold yet: in the end the set holds
 * the union. With auto-merge they go in as they are. Many at once are quicker than one by one. 0,
 * -ENFILE when the set is full, -EINVAL for a range in a set without ranges, -ENOMEM. After an
 * error *failed (may be NULL) is the element it came with, and only change_abort() may follow.
 */
int change_add(struct change *c, const struct change_set *s, const struct change_elem *elems,
	       size_t n, size_t *failed);

/* Ends the transaction and frees c. If it fails everything is as before change_begin(). Notes of
 * things that are loaded but not evaluated go to `messages`. 0 or -ENOMEM. */
int change_commit(struct change *c, struct strbuf *messages);
void change_abort(struct change *c);

#endif
