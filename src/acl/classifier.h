/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier: which is the first of many ordered rules on header fields that a packet matches?
 *
 * A classifier is an ordered list of entries, each a rule (conditions on fields, all of which must
 * hold) and a cookie of the caller's. Lookups answer with the first entry in order that matches, or
 * with the first behind a given entry, so that a caller can go on. Entries are inserted
 * and deleted one at a time at any place; none is ever copied or moved for the sake of another.
 *
 * Fields are the rows of CLS_FIELDS. A key is what a packet has: the caller fills the words of the
 * fields that classifier_fields() names, and the `has` bits of those that are there. A condition on
 * a field that the packet does not have does not hold, turned round or not.
 *
 * Versions. An entry is there from one version on and up to another; changes belong to the version
 * that comes next. config.version points to a number of the caller's, who adds one to it (release)
 * and then commits each of the classifiers that share it. A reader takes the version once a burst
 * (acquire) and passes it to every lookup of the burst: it sees all of a change or nothing.
 *
 * Threads: one control thread changes; any number of workers look up, wait-free, each registered in
 * config.rcu and quiet between bursts. Without an rcu domain all calls are one at a time. The
 * control thread is not one of the workers, asks rcu_admit() before changes and rcu_poll() now and
 * then. Entries that lookups give stay valid until the worker is quiet; their deleted cookies go to
 * config.release when no reader can hold them.
 *
 * Cost: see classifier.c. No call depends on the number of entries by more than its logarithm.
 */
#ifndef TAMIS_ACL_CLASSIFIER_H
#define TAMIS_ACL_CLASSIFIER_H

#include "base/base.h"

struct rcu;
struct classifier; /* opaque */

enum { CLS_BURST = 64 };

/*
 * Name, word of the key, lowest bit in it, bits. Addresses have four words, most significant first;
 * those of IPv4 use the first. Numbers are in host order. The first eight come first because the
 * leaves of the classifier compare them at once; the order of the others is of no matter.
 *
 * IFNAMES are numbers that the caller gives to names, of Ethernet addresses there are the last four
 * bytes: who needs more than that looks at what is found. FRAG is what the header has beside the
 * offset, too. CT_STATE and TCP_FLAGS are bits. LENGTH is the IP header's, META_LENGTH the
 * packet's; ETHERTYPE is that behind all tags, ETHER_TYPE the first.
 */
#define CLS_FIELDS(X)                                                                              \
	X(SADDR, 0, 0, 128)                                                                        \
	X(DADDR, 4, 0, 128)                                                                        \
	X(SPORT, 8, 16, 16)                                                                        \
	X(DPORT, 8, 0, 16)                                                                         \
	X(L4PROTO, 9, 0, 8)                                                                        \
	X(ICMP_TYPE, 9, 8, 8)                                                                      \
	X(ICMP_CODE, 9, 16, 8)                                                                     \
	X(TCP_FLAGS, 9, 24, 8)                                                                     \
	X(FRAG, 10, 0, 16)                                                                         \
	X(CT_STATE, 10, 16, 8)                                                                     \
	X(CT_DIRECTION, 10, 24, 4)                                                                 \
	X(PKTTYPE, 10, 28, 4)                                                                      \
	X(IIF, 11, 0, 32)                                                                          \
	X(OIF, 12, 0, 32)                                                                          \
	X(MARK, 13, 0, 32)                                                                         \
	X(CT_MARK, 14, 0, 32)                                                                      \
	X(VLAN_ID, 15, 0, 12)                                                                      \
	X(VLAN_DEI, 15, 12, 1)                                                                     \
	X(VLAN_PCP, 15, 13, 3)                                                                     \
	X(ETHERTYPE, 15, 16, 16)                                                                   \
	X(LENGTH, 16, 0, 16)                                                                       \
	X(TTL, 16, 16, 8)                                                                          \
	X(DSCP, 16, 24, 8)                                                                         \
	X(IIFNAME, 17, 0, 32)                                                                      \
	X(OIFNAME, 18, 0, 32)                                                                      \
	X(META_LENGTH, 19, 0, 32)                                                                  \
	X(ETHER_SADDR, 20, 0, 32)                                                                  \
	X(ETHER_DADDR, 21, 0, 32)                                                                  \
	X(ETHER_TYPE, 22, 0, 16)                                                                   \
	X(IIFTYPE, 22, 16, 16)

enum cls_field {
#define X(name, word, shift, bits) CLS_##name,
	CLS_FIELDS(X)
#undef X
		CLS_FIELD_KINDS
};

enum { CLS_WORDS = 23 };

/* What a packet is, and what a rule is for. */
enum cls_family { CLS_ANY, CLS_IPV4, CLS_IPV6, CLS_OTHER };

struct cls_key {
	uint32_t has;	       /* bit per enum cls_field */
	uint8_t family;	       /* of the packet: not CLS_ANY; CLS_OTHER has no addresses */
	uint8_t without;       /* 0, or config.without: rules are not asked about these */
	uint32_t w[CLS_WORDS]; /* zero outside the fields that are there */
};

/* Puts a field of at most 32 bits into a key that has it not yet. */
#define cls_key_set(key, NAME, value) cls_key_put((key), CLS_##NAME, CLS_AT_##NAME, (value))
enum {
#define X(name, word, shift, bits) CLS_AT_##name = (word)*32 + (shift),
	CLS_FIELDS(X)
#undef X
};

static inline void cls_key_put(struct cls_key *k, enum cls_field f, unsigned at, uint32_t value)
{
	k->w[at / 32] |= value << at % 32;
	k->has |= UINT32_C(1) << f;
}

static inline void cls_key_set_ipv4(struct cls_key *k, const void *saddr, const void *daddr)
{
	k->family = CLS_IPV4;
	k->w[CLS_AT_SADDR / 32] = be32_load(saddr);
	k->w[CLS_AT_DADDR / 32] = be32_load(daddr);
	k->has |= 1 << CLS_SADDR | 1 << CLS_DADDR;
}

static inline void cls_key_set_ipv6(struct cls_key *k, const void *saddr, const void *daddr)
{
	k->family = CLS_IPV6;
	for (unsigned i = 0; i < 4; i++) {
		k->w[CLS_AT_SADDR / 32 + i] = be32_load((const char *)saddr + 4 * i);
		k->w[CLS_AT_DADDR / 32 + i] = be32_load((const char *)daddr + 4 * i);
	}
	k->has |= 1 << CLS_SADDR | 1 << CLS_DADDR;
}

/*
 * One condition: lo <= field <= hi, or (field & mask) == value; `neg` turns it round. Numbers stand
 * in a[0] and b[0]; addresses of IPv4 too, those of IPv6 fill all four, most significant first.
 */
struct cls_cond {
	uint8_t field; /* enum cls_field */
	bool masked;
	bool neg;
	uint32_t a[4]; /* lo or value */
	uint32_t b[4]; /* hi or mask */
};

struct cls_rule {
	uint8_t family; /* CLS_ANY: whatever the packet is; conditions on addresses need one */
	uint8_t n;	/* at most CLS_CONDS_MAX */
	const struct cls_cond *conds;
};

enum { CLS_CONDS_MAX = 32 };

/* An entry; what is behind the cookie is the classifier's. */
struct cls_entry {
	void *cookie;
};

struct classifier_config {
	struct rcu *rcu;	 /* NULL: calls are one at a time */
	uint64_t wait_ns;	 /* that an insertion waits for readers at most; 0: a second */
	const uint64_t *version; /* the caller's, there as long as the classifier */
	uint32_t max_entries;	 /* 0: CLS_ENTRIES_DEFAULT */
	/* Entries that nothing tells apart, and that a lookup may have to look at one after the
	 * other; 0: no limit but max_entries. */
	uint32_t max_chain;
	/* Places that entries may take, beside 16 for each entry, or 32 with `without`; 0:
	 * CLS_PLACES_DEFAULT. An entry has one, or several where short prefixes leave open what
	 * tells others apart. */
	uint32_t max_places;
	/*
	 * Bits of fields, among the first eight and not addresses, that some packets do not have
	 * and are then to match all the same: their keys say `without`, and the rules' conditions
	 * on these fields are passed over. Costs a second place for each entry.
	 */
	uint8_t without;
	/* Told each cookie but NULL whose entry no reader can hold any more; not that of an
	 * insertion that failed. May be NULL. */
	void (*release)(void *ctx, void *cookie);
	void *ctx;
};

enum { CLS_ENTRIES_DEFAULT = 1 << 24, CLS_ENTRIES_MAX = 1 << 28, CLS_PLACES_DEFAULT = 1 << 26 };

/* 0, -EINVAL for limits out of range or without a version, -ENOMEM. */
int classifier_new(const struct classifier_config *config, struct classifier **out);
/*
 * No reader may be left in it. Releases all cookies, later if something of it still waits for
 * readers of the domain: rcu_free() at the latest ends that.
 */
void classifier_free(struct classifier *c);

/* --- changes: the control thread ---------------------------------------------------------- */

/*
 * A new entry before another, or with NULL at the end. A rule of NULL matches nothing: the entry
 * has a place in the order only. 0, -EINVAL for a rule that is none, -EDQUOT with max_entries
 * there already, -E2BIG with max_chain others that nothing tells from it or with more
 * places taken than max_places allows, -ENOMEM, -EAGAIN when readers kept it waiting too long.
 */
int classifier_insert(struct classifier *c, struct cls_entry *before, const struct cls_rule *rule,
		      void *cookie, struct cls_entry **out);
/* Takes an entry away; it must be there. Needs no memory. */
void classifier_delete(struct classifier *c, struct cls_entry *e);
/* The version has become one more: ends the changes that belong to it. Or takes them back. */
void classifier_commit(struct classifier *c);
void classifier_abort(struct classifier *c);

/* In order, entries to come included, deleted ones not; NULL at the end. */
struct cls_entry *classifier_next(struct classifier *c, struct cls_entry *e);

struct classifier_stats {
	uint32_t entries;	  /* visible or to be */
	uint32_t tables, tables6; /* hash tables, for IPv4 and for the rest */
	uint32_t leaves, nodes;	  /* of the tables */
	uint32_t copies;	  /* places of entries in leaves */
	uint32_t depth;		  /* most nodes on a way */
	uint32_t longest;	  /* most entries that one probe can look at */
	uint32_t relabels;	  /* of the order, ever */
	uint32_t refused;	  /* insertions beyond max_chain or max_places, ever */
	size_t bytes;		  /* all of it */
};
/* Walks everything. */
void classifier_stats_read(struct classifier *c, struct classifier_stats *out);

/* --- lookups: any worker ------------------------------------------------------------------ */

/* Bits of the fields that some rule compares; never fewer than a version that is visible needs. */
uint32_t classifier_fields(const struct classifier *c);

/* True if a comes before b. Both are of this classifier. O(1). */
bool classifier_before(const struct classifier *c, const struct cls_entry *a,
		       const struct cls_entry *b);

/*
 * For each packet of the mask the first entry that matches and is there in that version, and comes
 * behind after[i] where `after` and after[i] are not NULL. Returns the packets that have one, whose
 * hit[] is written; other hit[] are left alone. Bits of the mask beyond CLS_BURST do not exist.
 */
uint64_t classifier_lookup(const struct classifier *c, uint64_t version, const struct cls_key *keys,
			   uint64_t mask, const struct cls_entry *const *after,
			   const struct cls_entry **hit);

#endif
