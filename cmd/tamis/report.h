/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what a replay did, read once from the engine, then printed as text or JSON.
 *
 * Rules stand in the order of the listing, or with `top` the most hit first. Strings are the
 * report's own. Cost: proportional to the ruleset, with top n log n.
 */
#ifndef TAMIS_CMD_REPORT_H
#define TAMIS_CMD_REPORT_H

#include <tamis/tamis.h>

#include "base/strbuf.h"

struct report_rule {
	char *family, *table, *chain, *text;
	uint64_t handle, reached, packets, bytes;
};

struct report_chain {
	char *family, *table, *chain, *head, *policy;
	uint64_t packets, policy_packets;
	uint32_t n_rules;
};

struct report_set {
	char *family, *table, *set, *kind;
	uint64_t elements, hits, added, expired, full, unready;
	bool map;
};

struct report_entry {
	char *text;
	uint64_t packets, bytes;
};

struct report_acl {
	uint32_t index;
	bool macip;
	char *tag;
	struct report_entry *entries;
	size_t n_entries;
};

/* An entry among the most hit ones. */
struct report_hit {
	size_t acl, entry; /* in acls[], in its entries[] */
	const struct report_entry *is;
};

/* One direction of an interface, or its MAC-IP ACL. */
struct report_face {
	char *interface;
	bool output, macip;
	uint32_t *acls; /* in their order */
	size_t n_acls;
	uint64_t permitted, denied, unmatched, session, ethertype;
};

struct report {
	struct tamis_totals totals;
	struct report_rule *rules;
	struct report_chain *chains;
	struct report_set *sets;
	struct report_acl *acls;
	struct report_hit *hits; /* the `n_hits` most hit entries of ACLs, NULL: all, ACL by ACL */
	struct report_face *faces;
	size_t n_rules, n_chains, n_sets, n_acls, n_hits, n_faces;
	size_t n_entries;    /* of all ACLs */
	uint64_t reloaded;   /* packets before the last reload: rules and sets count from there */
	size_t top;	     /* rules to print, 0: all, chain by chain */
	uint64_t elapsed_ns; /* spent judging packets */
	uint64_t total_ns;   /* of the whole replay, reading and writing too */
};

/* Room for one more behind the n items of `size` bytes at *items, zeroed; NULL: out of memory. */
void *report_items_add(void *items_ptr, size_t *n, size_t size);

/* State at time `now`. 0 or -errno. */
int report_make(struct tamis *t, uint64_t now, unsigned long top, struct report *r);
void report_free(struct report *r);

/* report_acl.c: the ACLs' part. */
int report_acls_make(struct tamis *t, unsigned long top, struct report *r);
void report_acls_free(struct report *r);

void report_print_text(const struct report *r, bool colour, struct strbuf *out);
/* 0 or -ENOMEM. */
int report_print_json(const struct report *r, struct strbuf *out);

#endif
