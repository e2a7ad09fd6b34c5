/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what the packets so far did to the ruleset.
 *
 * The *_each() functions call `fn` for one thing after the other in the order of the listing; a
 * result other than 0 ends the walk and is returned. The struct and the strings in it live until fn
 * returns. fn must not change the engine. Cost: one walk over the ruleset, and with `text` its
 * printing.
 */
#ifndef TAMIS_PUBLIC_REPORT_H
#define TAMIS_PUBLIC_REPORT_H

#include <tamis/api.h>
#include <tamis/burst.h>

TAMIS_BEGIN

struct tamis;

struct tamis_count {
	uint64_t packets, bytes; /* bytes as on the wire, from the link header on */
};

/* More than the number of reasons for malformed packets. */
enum { TAMIS_MALFORMED_MAX = 16 };

struct tamis_totals {
	struct tamis_count all, by_verdict[TAMIS_VERDICTS];
	struct tamis_count refused; /* of the dropped: by what checks IP and ARP headers */
	struct tamis_count
		unseen; /* of the accepted: no base chain had a say, and there are no ACLs */
	uint64_t malformed[TAMIS_MALFORMED_MAX]; /* packets by reason; one may have several */
	uint64_t malformed_packets;		 /* with any reason */
	uint64_t not_tracked; /* dropped, since there were too many connections already */
	uint64_t too_deep;    /* dropped in a chain 16 jumps deep */
	/* Connections that `ct count` found no memory ready for: it is made between bursts, for as
	 * many as one can bring. Where one thread does all, as here, it waits for memory then, and
	 * verdicts are right; it is late only. */
	uint64_t unready;
	uint64_t no_interface; /* asked no ACL: where they were seen is not known, and several
				  interfaces have some */
};
TAMIS_API void tamis_totals_get(const struct tamis *t, struct tamis_totals *out);

/* "ip-checksum", and a phrase for people; NULL if there is no such reason. */
TAMIS_API const char *tamis_malformed_name(unsigned reason);
TAMIS_API const char *tamis_malformed_text(unsigned reason);

struct tamis_rule {
	const char *family, *table, *chain;
	uint64_t handle;
	const char *text; /* one line, as the listing has it */
	uint64_t reached; /* packets that came to the rule since a rule of its chain came or went */
	struct tamis_count matched; /* those that matched all of it; bytes of the network packet, as
				       nft's counters count them */
};
/* Every rule of a named chain. */
TAMIS_API int tamis_rule_each(struct tamis *t, uint64_t now,
			      int (*fn)(void *arg, const struct tamis_rule *r), void *arg);

struct tamis_chain {
	const char *family, *table, *chain;
	const char *head;   /* "type filter hook input priority filter; policy drop;", else NULL */
	const char *policy; /* of a base chain: "accept" or "drop"; else NULL */
	uint64_t packets;   /* that entered it */
	uint64_t policy_packets; /* that its policy decided */
	uint32_t n_rules;
};
TAMIS_API int tamis_chain_each(struct tamis *t, int (*fn)(void *arg, const struct tamis_chain *c),
			       void *arg);

struct tamis_set {
	const char *family, *table, *set;
	bool map;
	const char *kind;  /* the structure behind it: "hash", "bitmap", "interval", "concat" */
	uint64_t elements; /* live at `now` */
	uint64_t hits;	   /* lookups that found one */
	uint64_t added;	   /* by packets */
	uint64_t expired;
	uint64_t full;	  /* times that a packet found no room */
	uint64_t unready; /* and no memory ready, as of struct tamis_totals */
};
/* Named sets and maps. */
TAMIS_API int tamis_set_each(struct tamis *t, uint64_t now,
			     int (*fn)(void *arg, const struct tamis_set *s), void *arg);

TAMIS_END

#endif
