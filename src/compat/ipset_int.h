/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_int: what the parts of ipset.h share: types, sets and what they hold, the words of a
 * command, the journal that takes commands back.
 *
 * A set is a name and what stands behind it; swap and flush exchange only the latter, and lists
 * refer to the name. One thread.
 */
#ifndef TAMIS_COMPAT_IPSET_INT_H
#define TAMIS_COMPAT_IPSET_INT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "compat/ipset.h"
#include "compat/ipset_store.h"

enum {
	IPSET_NAME_MAX = 31,
	IPSET_DIMS = 3,
	IPSET_KEY_MAX = 40,
	IPSET_IFACE_MAX = 15,
	IPSET_COMMENT_MAX = 255,
	IPSET_TIMEOUT_MAX = 2147483,
	IPSET_MAX_DEFAULT = 65536,
	IPSET_HASHSIZE_DEFAULT = 1024,
	IPSET_BUCKETSIZE_MAX = 12,
	IPSET_LIST_DEFAULT = 8,
	IPSET_LIST_MIN = 4,
};

#define IPSET_SECOND UINT64_C(1000000000)

/* --- types -------------------------------------------------------------------------------- */

/* One part of an element. In a key: an address; an address and its prefix length; 6 bytes; 4 bytes;
 * protocol and port; the port alone; a padded name and whether it is that of a bridge port. */
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

/* Options of create and add lines, in the order in which listings have them. */
#define IPSET_OPTIONS(X)                                                                           \
	X(RANGE, "range")                                                                          \
	X(FAMILY, "family")                                                                        \
	X(MARKMASK, "markmask")                                                                    \
	X(HASHSIZE, "hashsize")                                                                    \
	X(MAXELEM, "maxelem")                                                                      \
	X(SIZE, "size")                                                                            \
	X(NETMASK, "netmask")                                                                      \
	X(BITMASK, "bitmask")                                                                      \
	X(TIMEOUT, "timeout")                                                                      \
	X(COUNTERS, "counters")                                                                    \
	X(COMMENT, "comment")                                                                      \
	X(FORCEADD, "forceadd")                                                                    \
	X(SKBINFO, "skbinfo")                                                                      \
	X(BUCKETSIZE, "bucketsize")                                                                \
	X(INITVAL, "initval")                                                                      \
	X(NOMATCH, "nomatch")                                                                      \
	X(WILDCARD, "wildcard")                                                                    \
	X(PACKETS, "packets")                                                                      \
	X(BYTES, "bytes")                                                                          \
	X(SKBMARK, "skbmark")                                                                      \
	X(SKBPRIO, "skbprio")                                                                      \
	X(SKBQUEUE, "skbqueue")                                                                    \
	X(BEFORE, "before")                                                                        \
	X(AFTER, "after")                                                                          \
	X(FROM, "from")                                                                            \
	X(TO, "to")                                                                                \
	X(NETWORK, "network")                                                                      \
	X(PROBES, "probes")                                                                        \
	X(RESIZE, "resize")                                                                        \
	X(GC, "gc")

enum ipset_option {
#define X(name, text) IPSET_##name,
	IPSET_OPTIONS(X)
#undef X
		IPSET_OPTIONS_N
};

_Static_assert(IPSET_OPTIONS_N <= 32, "a bit each");

#define OPT(name) (1U << IPSET_##name)

struct ipset_type {
	const char *name, *old_name;
	enum ipset_kind kind;
	enum ipset_dim dims[IPSET_DIMS];
	uint8_t ranges;	  /* bit per part: an IPv4 range or prefix there means all its addresses */
	uint8_t revision; /* that has these options */
	bool mask_last;	  /* the mask is listed behind the other options */
	unsigned options; /* OPT()s that create takes */
};

extern const struct ipset_type ipset_types[];
extern const size_t ipset_types_n;

/* By its name or the one it had before; NULL if there is none. */
const struct ipset_type *ipset_type_find(const char *name);
bool ipset_type_has(const struct ipset_type *type, enum ipset_dim d);
/* "inet", "inet6" or "unspec" */
const char *ipset_family_name(const struct ipset_type *type, unsigned ip_len);
const char *ipset_option_name(enum ipset_option o);
/* Its number among IPSET_OPTIONS, two dashes in front or not; IPSET_OPTIONS_N for none. */
enum ipset_option ipset_option_find(const char *word);

/* --- sets --------------------------------------------------------------------------------- */

/* In the byte of flags of a record. */
enum {
	ELEM_NOMATCH = 1,
	ELEM_WILDCARD = 2,
	ELEM_MAC = 4,
	/* Its line says how long it stays, what it counted. */
	ELEM_TIMED = 8,
	ELEM_COUNTED = 16,
};

/* What an element has beside its key. */
struct ipset_ext {
	uint64_t expires; /* ns, 0: stays */
	uint64_t packets, bytes;
	const char *comment; /* or NULL */
	uint32_t mark, mark_mask, prio;
	uint16_t queue;
	uint8_t flags;
	uint8_t mac[6];
};

struct ipset_set;

struct ipset_member {
	struct ipset_set *set;
	struct ipset_ext ext;
};

struct ipset_members {
	struct ipset_member *items;
	size_t n, cap;
};

/* What stands behind a name. */
struct ipset_body {
	const struct ipset_type *type;
	unsigned given;	  /* OPT()s */
	unsigned ip_len;  /* 4 or 16 */
	uint8_t mask[16]; /* in front of addresses; all ones without one */
	bool masked, holes;
	unsigned mask_bits; /* of a mask without holes */
	uint32_t mark_mask;
	uint32_t first, last; /* range of a bitmap */
	uint32_t hashsize, max, size, timeout, initval;
	unsigned bucketsize;
	unsigned key_len;
	/* Where a record has them, 0 if it does not. */
	uint16_t at_expires, at_counters, at_comment, at_skb, at_mac;

	struct ipset_store store;
	struct arena comments;
	size_t waste;	   /* bytes of comments that are no more */
	uint32_t oldest;   /* no record before it is there */
	uint64_t soonest;  /* nothing expires earlier */
	uint32_t *lengths; /* how often each prefix length is there, for each part */
	uint32_t wildcards;
	struct ipset_members members; /* of a list, in order */
	bool fresh;		      /* made since the last commit: nothing of it is logged */
};

enum { IPSET_LENGTHS = 129 };

struct ipset_set {
	char name[IPSET_NAME_MAX + 1];
	uint32_t refs;	    /* of lists */
	const char *prefix; /* where it was made: a file's name or NULL */
	uint32_t line;
	struct ipset_body *body;
};

/* An element that is to be added. */
struct ipset_addition {
	uint8_t key[IPSET_KEY_MAX];
	uint64_t hash;
	struct ipset_ext ext; /* its comment is the one below */
	unsigned given;	      /* OPT()s of the line */
	uint32_t line;
	bool exist;
	char comment[IPSET_COMMENT_MAX + 1];
};

enum { IPSET_ADDITIONS = 32 };

struct ipset_change; /* opaque: an entry of the journal */

struct ipset {
	struct map by_name;
	VEC(struct ipset_set *) sets; /* in order of creation */
	struct ipset_set *last;	      /* the one that a line named last, or NULL */
	VEC(struct ipset_change) journal;
	struct arena kept; /* of the journal */
	bool changed;
	uint64_t now;
	uint64_t fraction; /* ns that lifetimes of a line are shorter than its seconds */
	struct strbuf error, warnings; /* lines without their newline at the end */
	int status;		       /* of the command that failed */
	uint32_t line;		       /* of a restore, else 0 */
	const char *prefix;	       /* of its messages, or NULL */
	bool exist;		       /* of the command */
	bool skb_seen;
	/* Of one set; all of them come before what is done next. */
	struct ipset_body *adding;
	unsigned n_additions;
	struct ipset_addition additions[IPSET_ADDITIONS];
};

/* Adds a line to what is wrong; -EINVAL. Exit status 1; of ipset_usage() 2. */
int ipset_fail(struct ipset *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
int ipset_usage(struct ipset *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "FILE:N: Error: ", or what ipset says in front of one. */
void ipset_place_print(const char *prefix, uint32_t line, struct strbuf *out);
void ipset_warn(struct ipset *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

struct ipset_set *ipset_find(struct ipset *s, const char *name);
void ipset_set_free(struct ipset_set *set);

/* --- words: ipset_words.c ----------------------------------------------------------------- */

enum { IPSET_WORDS_MAX = 64, IPSET_LINE_MAX = 1024 };

struct ipset_words {
	char **word;
	unsigned n, at;
};

static inline char *words_next(struct ipset_words *w)
{
	return w->at < w->n ? w->word[w->at++] : NULL;
}

int ipset_number(struct ipset *s, const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* The argument of an option, which must be there. */
int ipset_argument(struct ipset *s, struct ipset_words *w, const char *option, const char **out);
/* The next word is an option, one of `known`; IPSET_OPTIONS_N at the end. */
int ipset_option_next(struct ipset *s, struct ipset_words *w, unsigned known,
		      enum ipset_option *out);
/* Options are given once, but those that take no argument. */
int ipset_option_once(struct ipset *s, unsigned *given, enum ipset_option o);
/* Where `c` takes a text apart: neither in front of it, nor if one stands at its end. */
char *ipset_separator(const char *text, char c);

/* --- ipset_create.c ----------------------------------------------------------------------- */

int ipset_create(struct ipset *s, struct ipset_words *w);
int ipset_name_check(struct ipset *s, const char *name);

/* --- ipset_body.c ------------------------------------------------------------------------- */

unsigned ipset_dim_len(const struct ipset_body *b, enum ipset_dim d);
/* Lays out records; the parameters are set. 0 or -errno. */
int ipset_body_init(struct ipset_body *b);
void ipset_body_free(struct ipset_body *b);
/* The same set without what it holds. */
int ipset_body_clone(const struct ipset_body *b, struct ipset_body **out);

/* The element that is there at `now`, or STORE_NONE. */
uint32_t ipset_body_find(const struct ipset_body *b, const uint8_t *key, uint64_t now);
bool ipset_body_expired(const struct ipset_body *b, uint32_t id, uint64_t now);
/* `hash` is the key's in b->store, which does not have it. */
int ipset_body_add(struct ipset_body *b, const uint8_t *key, uint64_t hash,
		   const struct ipset_ext *x, uint32_t *id);
int ipset_body_set(struct ipset_body *b, uint32_t id, const struct ipset_ext *x);
void ipset_body_get(const struct ipset_body *b, uint32_t id, struct ipset_ext *out);
void ipset_body_remove(struct ipset_body *b, uint32_t id);
void ipset_body_put_back(struct ipset_body *b, uint32_t id);
/* Puts the bytes of a record in the place of those that are there. */
void ipset_body_overwrite(struct ipset_body *b, uint32_t id, const uint8_t *record);
/* Removes what has expired. */
void ipset_body_expire(struct ipset_body *b, uint64_t now);
/* Elements that are there at `now`. */
size_t ipset_body_count(const struct ipset_body *b, uint64_t now);
/* The first element from `id` on that is there at `now`, STORE_NONE after the last. */
uint32_t ipset_body_next(const struct ipset_body *b, uint32_t id, uint64_t now);
/* Gives back memory of what is no more; nothing in the journal may refer to the set. */
void ipset_body_tidy(struct ipset_body *b);
size_t ipset_body_bytes(const struct ipset_body *b);

/* --- ipset_journal.c ---------------------------------------------------------------------- */

int ipset_log_create(struct ipset *s, struct ipset_set *set);
int ipset_log_destroy(struct ipset *s, struct ipset_set *set, size_t at);
int ipset_log_rename(struct ipset *s, struct ipset_set *set);
int ipset_log_swap(struct ipset *s, struct ipset_set *a, struct ipset_set *b);
/* `old` goes to the journal; the set has another one already. */
int ipset_log_body(struct ipset *s, struct ipset_set *set, struct ipset_body *old);
/* Of elements: added ones after, others before it is done. */
int ipset_log_add(struct ipset *s, struct ipset_body *b, uint32_t id);
int ipset_log_remove(struct ipset *s, struct ipset_body *b, uint32_t id);
int ipset_log_set(struct ipset *s, struct ipset_body *b, uint32_t id);
/* Before the members of a list change. */
int ipset_log_members(struct ipset *s, struct ipset_body *b);
/* Makes all since the last commit final, or as if it had not been. */
void ipset_commit(struct ipset *s);
void ipset_rollback(struct ipset *s);

/* --- ipset_add.c -------------------------------------------------------------------------- */

/*
 * Adds an element: at once, or together with those that follow, whose cache misses are then waited
 * for together. What is wrong with it may be said as late as ipset_add_finish(). 0 or -errno.
 */
int ipset_add(struct ipset *s, struct ipset_body *b, const uint8_t *key,
	      const struct ipset_ext *ext, unsigned given);
/* Nothing of a set may be read or changed, nor s->now, before this. */
int ipset_add_finish(struct ipset *s);
/* 1: the line was "add NAME ADDRESS" with the name of the line before it, and was carried out; 0:
 * it was something else; or -errno. */
int ipset_add_line(struct ipset *s, const char *line, size_t len, bool exist);
/* When the time of an element ends that is added without saying. */
uint64_t ipset_expires_default(const struct ipset *s, const struct ipset_body *b);
int ipset_elem_drop(struct ipset *s, struct ipset_body *b, uint32_t id);

/* --- ipset_elem.c, ipset_member.c --------------------------------------------------------- */

enum ipset_verb { IPSET_ADD, IPSET_DEL, IPSET_TEST };

/* What an element line says beside the element. */
struct ipset_extras {
	unsigned given; /* OPT()s */
	struct ipset_ext ext;
	const char *neighbour; /* of a list: before or after it */
};

/* An add, del or test line behind the set's name. Of a test: -EINVAL without an error if the set
 * does not hold it, and what there is to say in `answer`. */
int ipset_elem(struct ipset *s, struct ipset_set *set, enum ipset_verb verb, struct ipset_words *w,
	       struct strbuf *answer);
int ipset_member(struct ipset *s, struct ipset_set *list, enum ipset_verb verb, const char *name,
		 const struct ipset_extras *x, struct strbuf *answer);
int ipset_flush(struct ipset *s, struct ipset_set *set);

/* --- ipset_part.c: the parts of an element ------------------------------------------------ */

/*
 * A part as text means one or more values, first to last in steps: addresses and ports count up,
 * networks are the prefixes that make up a range.
 */
struct ipset_part {
	enum ipset_dim dim;
	unsigned len;	      /* of an address */
	bool span;	      /* last is not first: IPv4 and ports */
	bool slashed, dashed; /* as it was written */
	uint8_t first[16], last[16];
	uint8_t raw[16]; /* the address that was written */
	uint8_t at[16];	 /* the present value */
	uint8_t written; /* prefix length */
	uint8_t prefix;	 /* of the present network */
	uint8_t proto;
	uint8_t physdev;
};

/* `range`: the text may be one of IPv4 addresses or ports. */
int ipset_part_parse(struct ipset *s, const struct ipset_body *b, unsigned dim, bool range,
		     char *text, struct ipset_part *out);
/* To the first value, and on to the next: false after the last one. */
void ipset_part_begin(struct ipset_part *p);
bool ipset_part_next(const struct ipset_body *b, struct ipset_part *p);
/* The present value into a key, ipset_dim_len() bytes. */
void ipset_part_put(const struct ipset_body *b, const struct ipset_part *p, uint8_t *key);
/* As it was written, in ipset's form. */
void ipset_part_print(const struct ipset_part *p, struct strbuf *out);
/* False if the text is no address of that length. */
bool ipset_address_parse(const char *text, size_t n, unsigned len, uint8_t out[16]);
int ipset_mac_parse(const char *text, uint8_t mac[6]);

/* --- ipset_proto.c ------------------------------------------------------------------------ */

/* "[PROTO:]PORT[-PORT]" into proto, first, last and span; only a port if the part is a plain one.
 * `range`: there may be two. */
int ipset_port_parse(struct ipset *s, const struct ipset_body *b, bool range, const char *text,
		     struct ipset_part *p);
void ipset_port_print(uint8_t proto, uint16_t port, struct strbuf *out);
/* "tcp", or a number in `number`. */
const char *ipset_proto_name(uint8_t proto, char number[4]);
void ipset_icmp_help(struct strbuf *out);

/* --- ipset_print.c ------------------------------------------------------------------------ */

enum ipset_output { OUTPUT_NONE, OUTPUT_PLAIN, OUTPUT_SAVE, OUTPUT_XML, OUTPUT_JSON };

enum ipset_print_flags { PRINT_NAMES = 1, PRINT_TERSE = 2, PRINT_SORTED = 4, PRINT_EXACT = 8 };

/* One set, or all if it is NULL. PRINT_EXACT: for ipset_state_read(). */
void ipset_print(struct ipset *s, struct ipset_set *set, enum ipset_output form, unsigned flags,
		 struct strbuf *out);
/* The element of a key, with its MAC if it has one. */
void ipset_key_print(const struct ipset_body *b, const uint8_t *key, const struct ipset_ext *x,
		     struct strbuf *out);
void ipset_address_print(const uint8_t *address, unsigned len, struct strbuf *out);
void ipset_mac_print(const uint8_t mac[6], struct strbuf *out);

/* --- ipset_help.c ------------------------------------------------------------------------- */

/* type may be NULL. */
void ipset_help(const struct ipset_type *type, struct strbuf *out);

#endif
