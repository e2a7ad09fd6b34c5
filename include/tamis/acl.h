/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl: access control lists and lookup contexts, as VPP's ACL plugin has them.
 *
 *	tamis_acls_new(NULL, &a);
 *	tamis_acl_put(a, &index, "web", rules, n);	an ACL: ordered entries
 *	tamis_acl_context_new(a, &ctx);			an ordered list of ACLs
 *	tamis_acl_context_insert(ctx, index, TAMIS_ACL_END);
 *	tamis_acl_worker_new(a, "w0", &w);
 *	hit = tamis_acl_lookup(w, ctx, keys, mask, hits);	up to 64 packets
 *
 * The answer is the first entry that matches in the order of the context's ACLs and of their
 * entries. A packet that no entry matches is denied by a context that has ACLs, and passes one that
 * has none.
 *
 * An ACL is shared by the contexts that hold it. What a change costs is the logarithm of what is
 * there, times the entries that it changes: one entry more in an ACL of 100,000 in many contexts,
 * one ACL more anywhere among 100,000 in one context, both are microseconds; lookups do not slow
 * down with either.
 *
 * Threads. One control thread makes changes. With config.clock any number of workers look up beside
 * it, wait-free; each says tamis_acl_quiescent() between its bursts. Without a clock all calls are
 * one at a time. The control thread is not a worker then. A lookup sees all of a change or nothing.
 *
 * Functions that can fail return 0 or a negative errno: -EINVAL for a rule that is none, -ENOENT
 * for an index or entry that is not there, -EDQUOT beyond a limit, -E2BIG beyond what rules of one
 * ACL may overlap (see struct tamis_acls_config), -ENOMEM, and from all changes -EAGAIN when a
 * worker is not quiescent for config.wait_ns: too much memory is kept for it, or the order of
 * entries that it looks at. What a call gives is untouched then, and everything as it was.
 */
#ifndef TAMIS_PUBLIC_ACL_H
#define TAMIS_PUBLIC_ACL_H

#include <tamis/api.h>
#include <tamis/report.h>

TAMIS_BEGIN

struct tamis_acls;	  /* opaque: ACLs by index, contexts, counters */
struct tamis_acl_context; /* opaque */
struct tamis_acl_worker;  /* opaque: one thread's looking up */

struct tamis_acls_config {
	/* ns that never go back; asked by changes that wait for workers, from the control thread.
	 * NULL: no threads. */
	uint64_t (*clock)(void *arg);
	void *arg;
	uint64_t wait_ns; /* how long a change waits at most; 0: one second */
	/*
	 * Told, with `arg`, of each worker that keeps a change waiting for half of that, once a
	 * wait; by the control thread, within the change: it must not call back. The name is
	 * tamis_acl_worker_new()'s. May be NULL.
	 */
	void (*stalled)(void *arg, const char *worker, uint64_t waited_ns);
	uint32_t max_entries; /* of all ACLs together; 0: TAMIS_ACL_ENTRIES_MAX */
	/*
	 * What one ACL, or one context for its small ACLs together, may take of lookups and memory
	 * with rules that overlap one another; 0: the defaults below. A change beyond fails with
	 * -E2BIG, for that ACL or context alone.
	 *
	 * max_overlap: entries that differ and that no bit of an address, port or protocol tells
	 * apart: a lookup may have to look at them one after the other, eight at a time.
	 * max_places: places that entries take in tables, beside 32 for each.
	 */
	uint32_t max_overlap;
	uint32_t max_places;
};

enum {
	TAMIS_ACL_ENTRIES_MAX = 1 << 24,
	TAMIS_ACL_INDEX_MAX = (1 << 24) - 1,
	TAMIS_ACL_OVERLAP_DEFAULT = 4096,   /* at least 16, at most TAMIS_ACL_ENTRIES_MAX */
	TAMIS_ACL_PLACES_DEFAULT = 1 << 22, /* at most 1 << 26 */
	TAMIS_ACL_OVERLAP_MIN = 16,
	TAMIS_ACL_PLACES_MAX = 1 << 26,
};

/* Counted since tamis_acls_new(). */
struct tamis_acls_stats {
	uint32_t entries;	  /* now */
	uint64_t refused_entries; /* changes beyond max_entries or an index */
	uint64_t refused_overlap; /* beyond max_overlap or max_places */
	uint64_t refused_memory;  /* -ENOMEM */
};
TAMIS_API void tamis_acls_stats_get(const struct tamis_acls *a, struct tamis_acls_stats *out);

/* config may be NULL: all 0. */
TAMIS_API int tamis_acls_new(const struct tamis_acls_config *config, struct tamis_acls **out);
/* Workers and contexts must be gone. NULL is fine. */
TAMIS_API void tamis_acls_free(struct tamis_acls *a);

/*
 * Changes between tamis_acls_begin() and tamis_acls_commit() become visible at once; without these
 * two each change is one of its own. After a change failed with -ENOMEM, -EDQUOT, -E2BIG or -EAGAIN
 * inside, commit fails with that too, and everything is as before begin. -EBUSY: one is open
 * already.
 */
TAMIS_API int tamis_acls_begin(struct tamis_acls *a);
TAMIS_API int tamis_acls_commit(struct tamis_acls *a);
TAMIS_API void tamis_acls_abort(struct tamis_acls *a);

/*
 * Whether later fragments match a rule with ports on addresses and protocol alone (VPP's
 * l4-match-nonfirst-fragment, on at first), or only rules without a protocol. Not part of a
 * transaction.
 */
TAMIS_API void tamis_acls_fragments_set(struct tamis_acls *a, bool match);
TAMIS_API bool tamis_acls_fragments(const struct tamis_acls *a);

/*
 * What changes took out and workers may be looking at still: it is bounded, a change waits, and
 * then is -EAGAIN, while there are more than 4,096 pieces or 64 MiB. All 0 without a clock.
 */
struct tamis_acls_deferred {
	uint64_t pieces, bytes;		  /* now */
	uint64_t pieces_peak, bytes_peak; /* most ever */
	uint64_t freed;			  /* pieces, ever */
	uint64_t waits, refused;	  /* changes that had to wait; that gave up */
};
TAMIS_API void tamis_acls_deferred(const struct tamis_acls *a, struct tamis_acls_deferred *out);

/* --- ACLs --------------------------------------------------------------------------------- */

enum tamis_acl_action {
	TAMIS_ACL_DENY,
	TAMIS_ACL_PERMIT,
	TAMIS_ACL_REFLECT, /* permit, and answers too: permit+reflect */
	TAMIS_ACL_ACTIONS,
};

/*
 * A rule for IPv4 or for IPv6. Where proto is 0, ports and flags say nothing. Of ICMP (ICMPv6 in
 * IPv6) sport is the type and dport the code; protocols but TCP, UDP and ICMP have ports of 0.
 * Flags are those of TCP alone: (flags & tcp_mask) == tcp_flags.
 */
struct tamis_acl_rule {
	uint8_t action; /* enum tamis_acl_action */
	uint8_t family; /* 4 or 6 */
	uint8_t src_len, dst_len;
	uint8_t src[16], dst[16]; /* IPv4 in the first 4 bytes; bits behind the prefix do not count
				   */
	uint8_t proto;
	uint8_t tcp_flags, tcp_mask;
	uint16_t sport_first, sport_last, dport_first, dport_last;
	const char *desc; /* what it is for; may be NULL */
};

/* An IPv4 or IPv6 rule of this action that matches everything. */
TAMIS_API void tamis_acl_rule_init(struct tamis_acl_rule *rule, enum tamis_acl_action action,
				   unsigned family);

enum { TAMIS_ACL_TAG_MAX = 63 };
#define TAMIS_ACL_NEW UINT32_MAX

/*
 * Makes the ACL *index of these rules, under the lowest free index if *index is TAMIS_ACL_NEW.
 * What is there already is changed by the difference: entries whose rule stays, in its place among
 * those that stay, keep their handles and counts. -EINVAL also for a tag longer than
 * TAMIS_ACL_TAG_MAX. tag may be NULL.
 */
TAMIS_API int tamis_acl_put(struct tamis_acls *a, uint32_t *index, const char *tag,
			    const struct tamis_acl_rule *rules, size_t n);
/* -EBUSY: a context holds it. */
TAMIS_API int tamis_acl_delete(struct tamis_acls *a, uint32_t index);

/* An entry's handle; never 0, never used again. */
typedef uint64_t tamis_acl_handle;

/* A new entry before another one of that ACL, at its end for 0. */
TAMIS_API int tamis_acl_insert(struct tamis_acls *a, uint32_t index, tamis_acl_handle before,
			       const struct tamis_acl_rule *rule, tamis_acl_handle *out);
TAMIS_API int tamis_acl_remove(struct tamis_acls *a, tamis_acl_handle entry);
/* A new entry, with counts of 0, in the place of one. */
TAMIS_API int tamis_acl_replace(struct tamis_acls *a, tamis_acl_handle entry,
				const struct tamis_acl_rule *rule, tamis_acl_handle *out);

struct tamis_acl_info {
	uint32_t index;
	const char *tag; /* "" without */
	uint32_t entries;
	uint32_t contexts; /* that hold it */
};
struct tamis_acl_entry {
	tamis_acl_handle handle;
	uint32_t position; /* from 0 */
	struct tamis_acl_rule rule;
	struct tamis_count count;
};
/*
 * One after the other, in order; a result other than 0 ends the walk and is returned. Structs live
 * until fn returns, which must not change anything. -ENOENT if there is no such ACL.
 */
TAMIS_API int tamis_acl_get(const struct tamis_acls *a, uint32_t index, struct tamis_acl_info *out);
TAMIS_API int tamis_acl_each(const struct tamis_acls *a,
			     int (*fn)(void *arg, const struct tamis_acl_info *acl), void *arg);
TAMIS_API int tamis_acl_entry_each(const struct tamis_acls *a, uint32_t index,
				   int (*fn)(void *arg, const struct tamis_acl_entry *e),
				   void *arg);
/*
 * The entry that a lookup gave. -ENOENT: it is gone, or of the other kind. The first call after a
 * change of its ACL is O(entries), the others are O(1); strings live until the next change. By the
 * control thread.
 */
TAMIS_API int tamis_acl_entry_get(struct tamis_acls *a, tamis_acl_handle entry,
				  struct tamis_acl_entry *out);

/* --- MAC-IP ACLs: who may send as whom ---------------------------------------------------- */

/*
 * A source MAC under a mask together with a source prefix. Packets of IPv4 and IPv6 are compared
 * with the rules of their family, ARP packets as IPv4 by the sender's addresses inside. The first
 * rule that matches decides; what none matches, and every other protocol, is denied.
 */
struct tamis_macip_rule {
	uint8_t action; /* TAMIS_ACL_DENY or TAMIS_ACL_PERMIT */
	uint8_t family; /* 4 or 6 */
	uint8_t src_len;
	uint8_t mac[6], mask[6];
	uint8_t src[16];
	const char *desc;
};

/* As those of ACLs; the indexes are others. */
TAMIS_API int tamis_macip_put(struct tamis_acls *a, uint32_t *index, const char *tag,
			      const struct tamis_macip_rule *rules, size_t n);
TAMIS_API int tamis_macip_delete(struct tamis_acls *a, uint32_t index);

struct tamis_macip_entry {
	tamis_acl_handle handle;
	uint32_t position;
	struct tamis_macip_rule rule;
	struct tamis_count count;
};
TAMIS_API int tamis_macip_get(const struct tamis_acls *a, uint32_t index,
			      struct tamis_acl_info *out);
TAMIS_API int tamis_macip_each(const struct tamis_acls *a,
			       int (*fn)(void *arg, const struct tamis_acl_info *acl), void *arg);
TAMIS_API int tamis_macip_entry_each(const struct tamis_acls *a, uint32_t index,
				     int (*fn)(void *arg, const struct tamis_macip_entry *e),
				     void *arg);
TAMIS_API int tamis_macip_entry_get(struct tamis_acls *a, tamis_acl_handle entry,
				    struct tamis_macip_entry *out);

/* --- lookup contexts ---------------------------------------------------------------------- */

#define TAMIS_ACL_END UINT32_MAX

TAMIS_API int tamis_acl_context_new(struct tamis_acls *a, struct tamis_acl_context **out);
/* Workers must not begin lookups in it any more; those under way may end. Takes an open transaction
 * back. NULL is fine. */
TAMIS_API void tamis_acl_context_free(struct tamis_acl_context *ctx);

/* The list as a whole; ACLs that stay in their order are not touched. -EEXIST: one is there twice.
 */
TAMIS_API int tamis_acl_context_set(struct tamis_acl_context *ctx, const uint32_t *acls, size_t n);
/* Before another ACL of the context, or at the TAMIS_ACL_END. -EEXIST: it is there already. */
TAMIS_API int tamis_acl_context_insert(struct tamis_acl_context *ctx, uint32_t acl,
				       uint32_t before);
TAMIS_API int tamis_acl_context_remove(struct tamis_acl_context *ctx, uint32_t acl);
TAMIS_API int tamis_acl_context_move(struct tamis_acl_context *ctx, uint32_t acl, uint32_t before);
/* How many ACLs the context has; the first n of their indexes go to acls. */
TAMIS_API size_t tamis_acl_context_list(const struct tamis_acl_context *ctx, uint32_t *acls,
					size_t n);

/* --- looking up --------------------------------------------------------------------------- */

/* The name is copied. */
TAMIS_API int tamis_acl_worker_new(struct tamis_acls *a, const char *name,
				   struct tamis_acl_worker **out);
/* What it counted stays counted. NULL is fine. By the control thread, when the worker is done. */
TAMIS_API void tamis_acl_worker_free(struct tamis_acl_worker *w);
/* Nothing that lookups gave is used any more. */
TAMIS_API void tamis_acl_quiescent(struct tamis_acl_worker *w);

struct tamis_acl_key {
	uint8_t family; /* 4 or 6 */
	uint8_t proto;
	uint8_t tcp_flags;
	bool later_fragment; /* not the first one */
	bool no_l4;	     /* the transport header is not there: ports and flags are not known */
	uint16_t sport, dport; /* host order; of ICMP type and code */
	uint8_t src[16], dst[16];
};

struct tamis_acl_hit {
	enum tamis_acl_action action;
	uint32_t acl;
	tamis_acl_handle entry;
};

/*
 * The first match of each key i of the mask; keys and hits have TAMIS_BURST_MAX places. Returns the
 * packets that have one; other hits are left alone. Counts nothing.
 */
TAMIS_API uint64_t tamis_acl_lookup(struct tamis_acl_worker *w, const struct tamis_acl_context *ctx,
				    const struct tamis_acl_key *keys, uint64_t mask,
				    struct tamis_acl_hit *hits);
/* Counts a packet for an entry that a lookup gave since the worker was quiescent. */
TAMIS_API void tamis_acl_count(struct tamis_acl_worker *w, tamis_acl_handle entry, uint32_t bytes);

/* --- ACLs of a struct tamis's interfaces -------------------------------------------------- */

struct tamis;

/*
 * The engine's own; NULL: there is no memory. Its packets are judged by the input ACLs of the
 * interface where they arrive, then by the ruleset, then by the output ACLs of the interface where
 * they leave. An interface whose contexts are empty judges nothing. A packet that was captured
 * nobody knows where counts as seen at the one interface that has something bound, if there is only
 * one: arrived there or, on the path OUTPUT, leaving there.
 */
TAMIS_API struct tamis_acls *tamis_acls_of(struct tamis *t);

enum tamis_acl_direction { TAMIS_ACL_INPUT, TAMIS_ACL_OUTPUT };

/* The interface's context, which lives as long as the engine. `iface` is from
 * tamis_interface_find(). */
TAMIS_API int tamis_interface_context(struct tamis *t, uint32_t iface, enum tamis_acl_direction dir,
				      struct tamis_acl_context **out);
/* The MAC-IP ACL of what arrives there; TAMIS_ACL_END for none. */
TAMIS_API int tamis_interface_macip_set(struct tamis *t, uint32_t iface, uint32_t macip);
/*
 * Ethertypes that packets which are not IP may have, where ACLs are bound in that direction; an
 * empty list, as at first, allows all. At most TAMIS_ETHERTYPES_MAX.
 */
enum { TAMIS_ETHERTYPES_MAX = 256 };
TAMIS_API int tamis_interface_ethertypes_set(struct tamis *t, uint32_t iface,
					     enum tamis_acl_direction dir,
					     const uint16_t *ethertypes, size_t n);

/* Lifetimes of flows that permit+reflect began, in seconds; 600, 86400 and 120 at first. */
enum tamis_acl_timeout {
	TAMIS_ACL_UDP_IDLE, /* everything but TCP */
	TAMIS_ACL_TCP_IDLE,
	TAMIS_ACL_TCP_TRANSIENT, /* while it is opened or closed */
	TAMIS_ACL_TIMEOUTS,
};
TAMIS_API int tamis_acl_timeout_set(struct tamis *t, enum tamis_acl_timeout which,
				    uint32_t seconds);

struct tamis_acl_sessions {
	uint64_t active, added, removed;
	uint64_t refused; /* packets denied since there were too many flows already */
	uint32_t timeout[TAMIS_ACL_TIMEOUTS]; /* s */
};
TAMIS_API void tamis_acl_sessions_get(const struct tamis *t, uint64_t now,
				      struct tamis_acl_sessions *out);

/* What packets met at an interface in one direction. */
struct tamis_interface_acls {
	const char *interface;
	uint32_t index;
	struct {
		const struct tamis_acl_context *context; /* NULL: never asked for */
		const uint16_t *ethertypes;
		size_t n_ethertypes;
		struct tamis_count permitted, denied; /* by entries */
		struct tamis_count session;	      /* of a flow that permit+reflect began */
		struct tamis_count unmatched;	      /* denied, since no entry matched */
		struct tamis_count ethertype_denied;
	} dir[2];					  /* by enum tamis_acl_direction */
	uint32_t macip;					  /* TAMIS_ACL_END: none */
	struct tamis_count macip_permitted, macip_denied; /* by entries */
	struct tamis_count macip_unmatched;
};
TAMIS_API int tamis_interface_acls_each(const struct tamis *t,
					int (*fn)(void *arg, const struct tamis_interface_acls *i),
					void *arg);

TAMIS_END

#endif
