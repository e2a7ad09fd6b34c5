/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_int: how ACLs, their entries and contexts hang together; what the files of this room share.
 *
 * A `table` is a classifier; for later fragments a rule in it is its addresses and protocol alone
 * (config.without). An entry stands in tables at `places`:
 *
 *  - a large ACL has a table of its own, which all its contexts look into; a change of an entry is
 *    a change of that one table, whatever the number of contexts;
 *  - a small ACL's entries stand in the table of each of its contexts ("fused"), so that a context
 *    of 100,000 ACLs of one entry is one table, and one ACL more is one entry more.
 *
 * A `link` is an ACL's place in a context. In the context's classifier it begins with a marker, an
 * entry that matches nothing: its fused entries stand between it and the next link's, and it is
 * what the rank of an ACL with a table of its own is compared by. How many links of a context have
 * their own table is bounded by the logarithm of its entries, since the limit of size up to which
 * an ACL is fused rises with their number.
 *
 * Changes are transactions of the classifiers, which share acls->version, with a log of what to
 * take back for the lists here. What leaves the lists is freed when no reader can hold it: an entry
 * when the last classifier has released it, the rest by rcu_defer().
 *
 * Readers see: a context's table, its list `own` of links, their versions, the ACL's table,
 * entries. All else is the control thread's.
 */
#ifndef TAMIS_ACL_INT_H
#define TAMIS_ACL_INT_H

#include <tamis/acl.h>

#include "acl/classifier.h"
#include "acl/pool.h"
#include "base/list.h"
#include "base/vec.h"
#include "rcu/rcu.h"

/*
 * A rule of either kind, normalized: equal rules are equal bytes. Of the addresses there are 4
 * bytes each, or if it is wide 16: IPv6, and MAC-IP, where dst is MAC and mask.
 */
struct acl_rule {
	uint16_t sport_first, sport_last, dport_first, dport_last;
	uint8_t src_len, dst_len;
	uint8_t family, proto;
	uint8_t tcp_flags, tcp_mask;
	uint8_t action;
	uint8_t wide; /* bool */
	uint8_t addresses[32];
};
_Static_assert(sizeof(struct acl_rule) == 48, "no padding: rules are hashed and compared as bytes");

static inline const uint8_t *acl_rule_src(const struct acl_rule *r)
{
	return r->addresses;
}

static inline const uint8_t *acl_rule_dst(const struct acl_rule *r)
{
	return r->addresses + (r->wide ? 16 : 4);
}

/* Bytes that it has. */
static inline size_t acl_rule_size(const struct acl_rule *r)
{
	return offsetof(struct acl_rule, addresses) + (r->wide ? 32 : 8);
}

static inline bool acl_rules_equal(const struct acl_rule *a, const struct acl_rule *b)
{
	return a->wide == b->wide && !memcmp(a, b, acl_rule_size(a));
}

enum acl_kind { ACL_IP, ACL_MACIP, ACL_KINDS };

struct acl_table {
	struct classifier *cls;
	bool touched; /* by the open transaction */
};

enum entry_state {
	ENTRY_LIVE,
	ENTRY_DELETED, /* by the open transaction */
	ENTRY_DEAD,    /* freed when its refs are gone */
};

struct acl_entry {
	uint64_t handle; /* these three for readers */
	uint32_t index;	 /* of the ACL */
	uint8_t action;
	uint8_t state;	   /* enum entry_state */
	uint32_t refs;	   /* classifier entries with this cookie */
	uint32_t position; /* if its ACL is numbered */
	struct acl *acl;
	struct list in_acl;
	struct acl_place *places;
	char *desc;
	struct acl_rule rule; /* last: as much of it as there is */
};

/* Where an entry stands in the table of a link's context, or without a link in its ACL's own. */
struct acl_place {
	struct acl_link *link;
	struct acl_place *next;
	struct cls_entry *at; /* its cookie is the entry */
};

struct acl {
	struct acl_table *table; /* NULL: none of its own */
	struct tamis_acls *acls;
	char *tag; /* or NULL */
	struct list entries;
	uint32_t index, n;
	uint8_t kind;  /* enum acl_kind */
	bool numbered; /* entries know their positions */
	union {
		struct {
			struct list links;
			uint32_t n_links, n_fused;
		};
		struct rcu_head head; /* when no context holds it any more */
	};
};

struct acl_link {
	struct acl *acl; /* these five for readers */
	struct acl_link *next_own;
	uint64_t from, to; /* versions in which it is there */
	struct cls_entry *start;
	struct tamis_acl_context *ctx;
	struct acl_place *removed; /* its places, when it is off the lists */
	uint32_t limit;		   /* entries up to which the context fuses it */
	bool fused;
	union {
		struct {
			struct list in_ctx, in_acl;
		};
		struct rcu_head head; /* when it is off the lists for good */
	};
};

struct tamis_acl_context {
	struct acl_table table;
	struct acl_link *own; /* in order; those of old and coming versions too */
	struct tamis_acls *acls;
	struct list links;
	size_t n_links, n_own;
	void (*filled)(void *arg, bool any); /* acl_context_watch() */
	void *filled_arg;
	uint32_t refs; /* links that readers may hold, and one for itself */
	struct rcu_head head;
};

/* --- acls.c: the whole, transactions, handles, counters ------------------------------------- */

enum { CHUNK = 1024, CHUNKS_MAX = TAMIS_ACL_ENTRIES_MAX / CHUNK };

struct acl_chunk {
	struct acl_entry *entry[CHUNK];
	uint32_t generation[CHUNK];
};

struct acl_count {
	uint64_t packets, bytes;
};

struct tamis_acl_worker {
	struct tamis_acls *acls;
	struct rcu_worker *rcu; /* NULL without threads */
	struct tamis_acl_worker *next;
	struct acl_count **counts; /* a chunk's, by its number */
};

#define UNDO_KINDS(X)                                                                              \
	X(ENTRY_ADD)                                                                               \
	X(ENTRY_DEL)                                                                               \
	X(ACL_ADD)                                                                                 \
	X(ACL_DEL)                                                                                 \
	X(TABLE_ADD)                                                                               \
	X(LINK_ADD)                                                                                \
	X(LINK_DEL)                                                                                \
	X(STRING)

enum undo_kind {
#define X(name) UNDO_##name,
	UNDO_KINDS(X)
#undef X
};

struct undo {
	enum undo_kind kind;
	void *what;
	char *old; /* of STRING: what stood at *what */
};

/* ACLs by index. Each free index below `top` is in the heap `free`, perhaps beside used ones. */
struct acl_index {
	VEC(struct acl *) acls;
	VEC(uint32_t) free;
	uint32_t top;
};

struct tamis_acls {
	uint64_t version;
	struct rcu *rcu;
	struct tamis_acls_config config;
	bool fragments;
	struct acl_index index[ACL_KINDS];
	struct acl_chunk **chunks;
	uint32_t n_chunks, n_slots, n_entries, n_reflect;
	VEC(uint32_t) free_slots;
	struct pool entries[2]; /* by rule.wide */
	struct pool acls, links, places;
	struct tamis_acl_worker *workers;
	struct acl_count **gone; /* what workers that are gone counted, or NULL for a chunk */

	struct tamis_acls_stats stats;

	bool open; /* tamis_acls_begin() */
	int broken;
	VEC(struct undo) undo;
	VEC(struct acl_table *) touched;
};

/* Before the first thing that a call changes; then every path ends with acl_step_end(). */
int acl_step_begin(struct tamis_acls *a);
/* Ends a call that changed something, or with err failed to; returns what the call returns. */
int acl_step_end(struct tamis_acls *a, int err);
/* A call that changed nothing yet failed: an open transaction that went on would be half of itself.
 * Returns err. */
int acl_step_refuse(struct tamis_acls *a, int err);
/* Notes what has to be taken back. */
int acl_undo_push(struct tamis_acls *a, enum undo_kind kind, void *what, char *old);
/* Puts a new string where `at` is; takes `string`. */
int acl_string_set(struct tamis_acls *a, char **at, char *string);
int acl_table_touch(struct tamis_acls *a, struct acl_table *t);

int acl_handle_take(struct tamis_acls *a, struct acl_entry *e);
void acl_handle_give(struct tamis_acls *a, struct acl_entry *e);
struct acl_entry *acl_handle_find(const struct tamis_acls *a, uint64_t handle, enum acl_kind kind);
struct tamis_count acl_count_of(const struct tamis_acls *a, uint64_t handle);

/* --- index.c: the lowest index that is free ------------------------------------------------- */

/* Puts acl under *index, or the lowest free one for TAMIS_ACL_NEW. 0, -EDQUOT, -ENOMEM. */
int acl_index_take(struct acl_index *x, uint32_t *index, struct acl *acl);
void acl_index_give(struct acl_index *x, uint32_t index);
void acl_index_free(struct acl_index *x);

/* --- diff.c --------------------------------------------------------------------------------- */

#define DIFF_NONE UINT32_MAX
/*
 * at[i] is the old position of new item i, all different, or DIFF_NONE. Leaves the longest rising
 * sequence, the items that can stay where they are, and makes the others DIFF_NONE. O(n log n).
 * scratch has 2 * n places.
 */
void acl_diff_keep_longest(uint32_t *at, size_t n, uint32_t *scratch);

/* --- acl.c ---------------------------------------------------------------------------------- */

struct acl *acl_find(const struct tamis_acls *a, enum acl_kind kind, uint32_t index);
/* Frees an ACL that nobody can hold, entries and all. */
void acl_destroy(struct acl *acl);
void acl_entry_undo_add(struct acl_entry *e);
void acl_entry_undo_delete(struct acl_entry *e);
/* Goes as soon as nobody can hold it. */
void acl_entry_die(struct acl_entry *e);
void acl_entry_released(void *acls, void *cookie); /* a classifier's release() */

/* --- table.c: tables and places ------------------------------------------------------------- */

int acl_table_init(struct tamis_acls *a, struct acl_table *t, enum acl_kind kind);
void acl_table_release(struct acl_table *t);
/* An entry into the table of a link or, with NULL, of its ACL; before next, NULL: at the end. */
int acl_place_add(struct acl_entry *e, struct acl_link *link, struct cls_entry *next);
void acl_place_free(struct tamis_acls *a, struct acl_place *p);
struct acl_place *acl_place_find(const struct acl_entry *e, const struct acl_link *link);
struct acl_place *acl_place_take(struct acl_entry *e, const struct acl_link *link);
struct acl_table *acl_place_table(const struct acl_entry *e, const struct acl_link *link);
/* Gives the ACL a table with all its entries, if it has none. */
int acl_table_make(struct acl *acl);

/* --- context.c ------------------------------------------------------------------------------ */

/* What stands behind a link's entries; NULL: nothing. */
struct cls_entry *acl_link_end(const struct acl_link *link);
/* The ACL is going to have n entries, or has: its links fuse it, or not. */
int acl_links_fit(struct acl *acl, uint32_t n);
void acl_link_undo_add(struct acl_link *link);
void acl_link_undo_del(struct acl_link *link);
void acl_link_commit_del(struct acl_link *link);

/* --- acl_rule.c ----------------------------------------------------------------------------- */

enum { RULE_CONDS_MAX = 8 };

int acl_rule_from(const struct tamis_acl_rule *in, struct acl_rule *out);
void acl_rule_to(const struct acl_rule *in, const char *desc, struct tamis_acl_rule *out);
int macip_rule_from(const struct tamis_macip_rule *in, struct acl_rule *out);
void macip_rule_to(const struct acl_rule *in, const char *desc, struct tamis_macip_rule *out);
/* Fields that later fragments do not have and are not asked about. */
enum { ACL_WITHOUT = 1 << CLS_SPORT | 1 << CLS_DPORT | 1 << CLS_TCP_FLAGS };
void acl_rule_conds(const struct acl_rule *r, enum acl_kind kind,
		    struct cls_cond conds[RULE_CONDS_MAX], struct cls_rule *out);

#endif
