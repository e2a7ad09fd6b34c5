/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_int: what the parts of ipset.h share: types, sets, elements, and the reading of a line. */
#ifndef TAMIS_COMPAT_IPSET_INT_H
#define TAMIS_COMPAT_IPSET_INT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "compat/ipset.h"

enum {
	IPSET_NAME_MAX = 31,
	IPSET_DIMS = 3,
	IPSET_KEY_MAX = 40,
	IPSET_IFACE_MAX = 15,
	IPSET_COMMENT_MAX = 255,
	IPSET_TIMEOUT_MAX = 2147483,
	IPSET_MAX_DEFAULT = 65536,
};

/* One part of an element. In a key: an address; an address and its prefix length; 6 bytes; 4 bytes;
 * protocol and port; the port alone; a padded name and how it compares. */
enum ipset_dim {
	DIM_NONE,
	DIM_IP,
	DIM_NET,
	DIM_MAC,
	DIM_MARK,
	DIM_PORT,
	DIM_PLAIN_PORT,
	DIM_IFACE
};

enum ipset_kind { IPSET_HASH, IPSET_BITMAP, IPSET_LIST };

struct ipset_type {
	const char *name;
	enum ipset_kind kind;
	enum ipset_dim dims[IPSET_DIMS];
	uint8_t ranges;	  /* bit per part: an IPv4 range or prefix there means all its addresses */
	unsigned options; /* bit per enum ipset_option that `create` takes */
};

#define IPSET_OPTIONS(X)                                                                           \
	X(FAMILY, "family")                                                                        \
	X(HASHSIZE, "hashsize")                                                                    \
	X(MAXELEM, "maxelem") X(BUCKETSIZE, "bucketsize") X(NETMASK, "netmask")                    \
		X(BITMASK, "bitmask") X(TIMEOUT, "timeout") X(COUNTERS, "counters")                \
			X(COMMENT, "comment") X(SKBINFO, "skbinfo") X(FORCEADD, "forceadd") X(     \
				INITVAL, "initval") X(RANGE, "range") X(MARKMASK, "markmask")      \
				X(SIZE, "size") X(NOMATCH, "nomatch") X(WILDCARD, "wildcard")      \
					X(PACKETS, "packets") X(BYTES, "bytes")                    \
						X(SKBMARK, "skbmark") X(SKBPRIO, "skbprio")        \
							X(SKBQUEUE, "skbqueue")                    \
								X(BEFORE, "before")                \
									X(AFTER, "after")

enum ipset_option {
#define X(name, text) IPSET_##name,
	IPSET_OPTIONS(X)
#undef X
		IPSET_OPTIONS_N
};

#define OPT(name) (1U << IPSET_##name)

enum { IFACE_WILDCARD = 1 };

/* An element; its key stands behind it. */
struct ipset_elem {
	uint64_t packets, bytes;
	const char *comment; /* or NULL */
	uint32_t timeout;    /* s, 0: stays */
	bool nomatch;
	bool has_mac; /* bitmap:ip,mac */
	bool gone;
	uint8_t mac[6];
	uint8_t key[];
};

struct ipset_set {
	char name[IPSET_NAME_MAX + 1];
	const struct ipset_type *type;
	unsigned given;	  /* OPT()s */
	unsigned ip_len;  /* 4 or 16 */
	uint8_t mask[16]; /* netmask: in front of it; all ones without */
	unsigned mask_bits;
	uint32_t mark_mask;
	uint32_t first, last; /* range of a bitmap */
	uint32_t max, timeout;
	unsigned key_len;
	uint32_t refs;	    /* of lists */
	uint32_t line;	    /* where it was made */
	struct arena arena; /* of elements */
	struct map by_key;
	VEC(struct ipset_elem *) elems;	 /* in order, those that are gone too */
	VEC(struct ipset_set *) members; /* of a list, in order */
	VEC(uint32_t) member_timeouts;
	size_t oldest; /* in elems: all before it are gone */
};

struct ipset {
	struct map by_name;
	VEC(struct ipset_set *) sets; /* in order of creation */
	struct strbuf *messages;
	const char *file;
	uint32_t line;
	bool exist; /* of the line */
	bool skb_seen;
};

extern const struct ipset_type ipset_types[];
extern const size_t ipset_types_n;

/* "FILE: Error in line N: ..."; -EINVAL. */
int ipset_fail(struct ipset *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The words of a line, each with its NUL. */
struct ipset_words {
	char **word;
	unsigned n, at;
};

static inline char *words_next(struct ipset_words *w)
{
	return w->at < w->n ? w->word[w->at++] : NULL;
}

int ipset_number(struct ipset *s, const char *text, uint64_t max, uint64_t *out);
/* The argument of an option, which must be there. */
int ipset_argument(struct ipset *s, struct ipset_words *w, const char *option, const char **out);
/* Its number among IPSET_OPTIONS, IPSET_OPTIONS_N for none. */
enum ipset_option ipset_option_find(const char *word);

/* --- ipset_create.c ------------------------------------------------------------------------- */

int ipset_create(struct ipset *s, struct ipset_words *w);
/* A name that a set can have, here and in nft. */
int ipset_name_check(struct ipset *s, const char *name);
void ipset_set_free(struct ipset_set *set);
unsigned ipset_dim_len(const struct ipset_set *set, enum ipset_dim d);

/* --- ipset_elem.c ---------------------------------------------------------------------------- */

int ipset_add(struct ipset *s, struct ipset_set *set, struct ipset_words *w);
int ipset_del(struct ipset *s, struct ipset_set *set, struct ipset_words *w);
void ipset_flush(struct ipset_set *set);

/* --- ipset_part.c: the parts of an element --------------------------------------------------- */

/*
 * A part as text means one or more values, first to last in steps: addresses and ports count up,
 * networks are the prefixes that make up a range.
 */
struct ipset_part {
	enum ipset_dim dim;
	unsigned len; /* of an address */
	bool span;    /* last is not first: IPv4 and ports */
	uint8_t first[16], last[16];
	uint8_t at[16]; /* the present value */
	uint8_t prefix; /* of the present network */
	uint8_t proto;
	uint8_t iface_flags;
};

int ipset_part_parse(struct ipset *s, const struct ipset_set *set, unsigned dim, const char *text,
		     struct ipset_part *out);
/* To the first value, and on to the next: false after the last one. */
void ipset_part_begin(const struct ipset_set *set, struct ipset_part *p);
bool ipset_part_next(const struct ipset_set *set, struct ipset_part *p);
/* The present value into a key, ipset_dim_len() bytes. */
void ipset_part_put(const struct ipset_part *p, uint8_t *key);
int ipset_mac_parse(const char *text, uint8_t mac[6]);

#endif
