/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_internal: the structure behind a classifier; see classifier.c for what it is about.
 *
 * Shapes. Everything that a pointer can lead to begins with a struct shape. What readers see of a
 * shape never changes but for: slots, each replaced by one store; the `valid` bits of leaves, which
 * only go from one to zero.
 */
#ifndef TAMIS_ACL_CLASSIFIER_INTERNAL_H
#define TAMIS_ACL_CLASSIFIER_INTERNAL_H

#include "acl/classifier.h"
#include "acl/order.h"
#include "acl/pool.h"
#include "acl/rule.h"
#include "base/hash.h"

enum {
	CLS_LANES = 8,	      /* entries in a leaf */
	CLS_ROOTS = 4,	      /* tables that a packet may be looked up in */
	CLS_SIDES = 4,	      /* IPv4 or not, whole keys or without fields */
	CLS_GATHER_MAX = 256, /* entries that one call shapes anew */
	CLS_TABLE_WORDS = 8,  /* words of the key that a table can look at */
	CLS_SPLIT_BITS = 6,
	CLS_OPEN_MAX = 3,  /* of these, bits that an entry may leave open without being wide */
	CLS_LEVEL_MAX = 8, /* splits and tables on a way; then only chains */
	CLS_HASH_KEYS = 16,
	CLS_LINE = 64,	     /* entries with a rule begin at a multiple */
	CLS_NODE_POOLS = 4,  /* of entries without a rule, of two, three and four lines */
	CLS_ROOT_DEPTH = 10, /* bits that the root of a directory looks at, before it has parts */
};

struct cls_node {
	struct cls_entry pub;
	uint64_t born, died; /* versions: there from the one until the other */
	struct order_node order;
	struct cls_node *change; /* next in a list of changed or retired entries */
	struct cls_packed rule;	 /* last: it has a tail */
};
/* What a lookup reads of an entry is one cache line's worth. */
_Static_assert(offsetof(struct cls_node, rule) == 64, "the head of an entry");

enum cls_kind { CLS_LEAF, CLS_SPLIT, CLS_TABLE, CLS_CHAIN, CLS_DIRECTORY };

struct cls_shape {
	struct cls_shape *retired; /* next in a list; not for readers */
	uint8_t kind;
	uint8_t valid; /* leaf: lanes that hold something */
	uint8_t check; /* leaf: lanes that say less than their rule */
	/* Under a directory: bits of the hash that its slots share. Of a directory's part: bits
	 * that led to it. */
	uint8_t depth;
	uint32_t n; /* of most: entries below; directory: bits; leaf: 0 of IPv4, else 1 */
};

/*
 * Up to eight entries in order, field by field: lanes are compared all at once. The last member is
 * rows of the source's words, then of the destination's: one word each for IPv4, else four.
 */
struct cls_leaf {
	struct cls_shape shape;
	uint8_t swild[CLS_LANES], dwild[CLS_LANES];
	/* Two values and their masks: the protocol, and the fields that are not there. */
	uint8_t has[CLS_LANES][2], must[CLS_LANES][2];
	struct cls_node *entry[CLS_LANES];
	uint32_t port_lo[CLS_LANES], port_hi[CLS_LANES];
	uint32_t address[][CLS_LANES];
};
_Static_assert(sizeof(struct cls_leaf) == 192, "three cache lines and the addresses");

/*
 * Up to 2^CLS_SPLIT_BITS ways by some bits of one or two words. Entries that leave a few of the
 * bits open are in all the slots that they may be found in, those that leave more in `wide`.
 */
struct cls_split {
	struct cls_shape shape;
	uint32_t mask[2];
	uint8_t word[2];
	uint8_t shift;	/* bits of the first mask */
	uint32_t built; /* entries when it was shaped; 0: for good */
	struct cls_shape *wide;
	struct cls_shape *slot[];
};

/*
 * Slots by the first bits of a hash; neighbours may be one shape (extendible hashing). A slot is
 * where it leads to in its low 48 bits, with CLS_PART if that is a directory for the next bits,
 * whose number is above. Else, above, bit b of 16 says that an entry below may have b for the four
 * bits of the hash that come next. It may say so of entries that are gone; what it does not say is
 * not there.
 */
struct cls_directory {
	struct cls_shape shape;
	uint64_t slot[];
};

/* Entries that fix all bits of some masks, by the hash of these; the others are in `wide`. */
struct cls_table {
	struct cls_shape shape;
	struct cls_directory *dir;
	struct cls_shape *wide;
	/* The first of its keys: tables below one another have others; of a root 0. */
	uint32_t salt;
	uint8_t n_words;
	uint8_t word[CLS_TABLE_WORDS];
	uint32_t mask[CLS_TABLE_WORDS];
};

/* Of which blocks of 1,024 ports entries of a leaf have some: bits by source and by destination. */
struct cls_blocks {
	uint64_t sport, dport;
};

/*
 * Leaves in order, one behind the other: of entries that nothing tells apart. NULLs are holes. Most
 * leaves have nothing for a packet, and their blocks say so before they are read; they never say
 * less than the leaf.
 */
struct cls_link {
	struct cls_leaf *leaf;
	struct cls_blocks blocks;
};

struct cls_chain {
	struct cls_shape shape;
	uint32_t n_leaves;
	bool alike; /* whoever matches one matches all: the first leaf says what all of them say */
	struct cls_link link[];
};

struct cls_root {
	struct cls_table table; /* no wide side; no directory before there is an entry */
	struct cls_node *bound; /* no entry of the root comes before this one; NULL: empty */
};

/* In cls_packed.roots, beside the number of a root: in none of the side; out of the structure. */
enum { CLS_NO_ROOT = 7, CLS_OUT = 6 };

/* One side: IPv4, or everything else; of whole keys, or of those without some fields. */
struct cls_side {
	bool ipv4;
	uint8_t without;  /* of the first eight fields, those that rules are not asked about here */
	uint32_t mask[2]; /* what roots look at of the first words of an address, if at all */
	struct cls_root root[CLS_ROOTS];
};

/* What becomes of things out of reach: see classifier_memory.c. */
struct cls_retired {
	struct rcu_head head;
	struct classifier *c;
	struct cls_shape *shapes;
	struct cls_node *dead; /* to be taken out of the structure */
	struct cls_node *gone; /* out of it */
	size_t bytes;
};

struct classifier {
	struct classifier_config config;
	const struct cls_ops *ops;
	uint64_t keys[CLS_HASH_KEYS];
	uint32_t fields;
	struct cls_side side[CLS_SIDES];
	struct order order;
	/* The control thread's. */
	struct cls_node *changes; /* of the version to come */
	uint32_t n;
	struct pool leaves[2]; /* of IPv4, of the rest */
	struct pool nodes[CLS_NODE_POOLS];
	struct cls_shape *retired; /* out of reach, not yet handed on */
	uint32_t n_retired;
	size_t retired_bytes;
	struct cls_retired *spare;
	uint32_t salts;
	uint32_t refused;     /* entries that would be found too slowly, or in too many places */
	uint32_t outstanding; /* retired lists that wait for readers */
	/* Entries that no list took, since there was no memory for one; the next list does. */
	struct cls_node *dead, *gone;
	bool ending;  /* nobody looks at it any more */
	size_t bytes; /* given out by malloc() for shapes and entries */
};

/*
 * Leaves begin at a multiple of 128 bytes, all other shapes 64 bytes further: a reader tells one
 * from the other without a look at them, and keeps the number of a packet in the six lowest bits.
 */
enum { CLS_ALIGN = 128, CLS_SHAPE_OFFSET = 64 };

static inline unsigned cls_root_of(const struct cls_node *e, unsigned side)
{
	return e->rule.roots >> 3 * side & 7;
}

static inline void cls_root_set(struct cls_node *e, unsigned side, unsigned r)
{
	e->rule.roots = (uint16_t)((e->rule.roots & ~(7U << 3 * side)) | (r & 7) << 3 * side);
}

static inline struct cls_node *cls_node_of(const struct cls_entry *e)
{
	return container_of(e, struct cls_node, pub);
}

static inline size_t cls_leaf_size(bool ipv4)
{
	size_t size = sizeof(struct cls_leaf) + (ipv4 ? 2 : 8) * sizeof(uint32_t) * CLS_LANES;
	return (size + CLS_ALIGN - 1) & ~(size_t)(CLS_ALIGN - 1);
}

/*
 * The hash of a key's or form's words under a table's masks: multilinear, with secret keys of 64
 * bits, whose high half is universal (Lemire and Kaser, "Strongly universal string hashing is
 * fast", 2014). Hashes that collide all the same cost a split by bits, not a long search.
 */
static inline uint64_t cls_table_hash(const uint64_t keys[CLS_HASH_KEYS], const struct cls_table *t,
				      const uint32_t *w)
{
	uint64_t h = 0;
	for (unsigned i = 0; i < t->n_words; i++)
		h += keys[(t->salt + i) % CLS_HASH_KEYS] * (w[t->word[i]] & t->mask[i]);
	return h;
}

/* --- slots of directories -------------------------------------------------------------------- */

enum { CLS_PART = 1, CLS_TAG_BITS = 4, CLS_TAGS_AT = 48 };

/* Nobody has addresses above 48 bits who did not ask for them. */
static inline struct cls_shape *cls_slot_shape(uint64_t slot)
{
	return (struct cls_shape *)(uintptr_t)(slot & (UINT64_MAX >> 16 ^ CLS_PART));
}

static inline struct cls_directory *cls_slot_part(uint64_t slot)
{
	return container_of(cls_slot_shape(slot), struct cls_directory, shape);
}

/* The slot in a directory of what is left of a hash. */
static inline uint64_t cls_directory_slot(const struct cls_directory *d, uint64_t hash)
{
	return hash >> 1 >> (63 - d->shape.n);
}

/* The slot of a hash, in the directory or in a part of it; *hash becomes what is behind. */
static inline const uint64_t *cls_directory_at(const struct cls_directory *d, uint64_t *hash)
{
	const uint64_t *at = &d->slot[cls_directory_slot(d, *hash)];
	uint64_t slot = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	*hash <<= d->shape.n;
	if (slot & CLS_PART) {
		unsigned bits = (unsigned)(slot >> CLS_TAGS_AT);
		at = &cls_slot_part(slot)->slot[*hash >> 1 >> (63 - bits)];
		*hash <<= bits;
	}
	return at;
}

/* What a slot leads to for a hash, of which `rest` is left; NULL if no entry below has it. */
static inline const struct cls_shape *cls_slot_find(uint64_t slot, uint64_t rest)
{
	uint64_t has = slot >> CLS_TAGS_AT >> (rest >> (64 - CLS_TAG_BITS)) & 1;
	return (const struct cls_shape *)(uintptr_t)(slot & (UINT64_MAX >> 16) & -has);
}

/* The bits of w under a mask, packed. */
static inline uint32_t cls_extract(uint32_t w, uint32_t mask)
{
	uint32_t out = 0;
	for (unsigned at = 0; mask; mask &= mask - 1, at++)
		out |= (w >> __builtin_ctz(mask) & 1) << at;
	return out;
}

/* --- memory: classifier_memory.c ------------------------------------------------------------ */

struct cls_leaf *cls_leaf_new(struct classifier *c, const struct cls_side *side);
/* Not zeroed; NULL without memory. */
struct cls_node *cls_node_new(struct classifier *c, unsigned words);
void cls_node_free(struct classifier *c, struct cls_node *e);
/* Zeroed but for the kind. NULL without memory. */
void *cls_shape_new(struct classifier *c, enum cls_kind kind, size_t size);
/* Nobody has seen it. Takes NULL. */
void cls_shape_free(struct classifier *c, struct cls_shape *s);
/* The same with all that is below. */
void cls_tree_free(struct classifier *c, struct cls_shape *s);
/* Out of reach of new readers: a shape, or with all that is below. */
void cls_shape_retire(struct classifier *c, struct cls_shape *s);
void cls_tree_retire(struct classifier *c, struct cls_shape *s);
/* The end of a change: what was retired in it goes its way. */
void cls_retire_flush(struct classifier *c);
/* Tells config.release of the entry, unless it has no cookie. */
void cls_cookie_release(struct classifier *c, struct cls_node *e);
/* Entries that a committed version has not, and those that are already out of the structure. */
void cls_retire_entries(struct classifier *c, struct cls_node *dead, struct cls_node *gone);
/* Sees to it that retiring finds memory; 0 or -ENOMEM. */
int cls_retire_prepare(struct classifier *c);
/* The classifier goes if it is ending and nothing of it waits for readers any more. */
void cls_end(struct classifier *c);
/* Nothing is on its way any more: frees what was not handed on. */
void cls_retire_end(struct classifier *c);
/* Each shape right below one, once; up to the caller what a directory's slots mean. */
typedef void cls_shape_fn(void *ctx, struct cls_shape *below);
void cls_shape_each(struct cls_shape *s, cls_shape_fn *fn, void *ctx);

/* --- structure: classifier_tree.c, classifier_shape.c ---------------------------------------- */

/* An entry, its form and its rank, for the time of a call. */
struct cls_item {
	struct cls_node *entry;
	uint64_t rank;
	struct cls_form form;
};

void cls_item_make(const struct classifier *c, struct cls_node *e, const struct cls_side *side,
		   struct cls_item *out);
/* Out of the structure; still in the order. */
void cls_take_out(struct classifier *c, struct cls_node *e);

/* 0, -ENOMEM or -E2BIG: then the entry is nowhere. For what a slot leads to; the slot changes by
 * one store. `level` shapes are on the way. */
int cls_slot_insert(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		    const struct cls_item *item, unsigned level);
bool cls_slot_remove(struct classifier *c, const struct cls_side *side, struct cls_shape **slot,
		     const struct cls_item *item);
int cls_table_insert(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		     const struct cls_item *item, unsigned level);
bool cls_table_remove(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		      const struct cls_item *item);
struct cls_table *cls_table_new(struct classifier *c);
/* Masks for a table of the items; returns how many of them fit, 0 if it is not worth a table. */
unsigned cls_table_choose(const struct cls_item *items, unsigned n, struct cls_table *t);
int cls_table_init(struct classifier *c, struct cls_table *t); /* 0 or -ENOMEM */
bool cls_table_fits(const struct cls_table *t, const struct cls_form *f);

/*
 * The entries below a shape, and one more if it is not NULL, in order and once each. To be freed;
 * NULL without memory.
 */
struct cls_item *cls_items_of(struct classifier *c, const struct cls_side *side,
			      struct cls_shape *s, const struct cls_item *more, unsigned *n);
/* The blocks of ports that its lanes have some of. */
struct cls_blocks cls_leaf_blocks(const struct cls_leaf *l);
/* A leaf of n items in order of rank; pick[] says which. */
struct cls_leaf *cls_leaf_build(struct classifier *c, const struct cls_side *side,
				const struct cls_item *items, const uint16_t *pick, unsigned n);
/* The best shape for items in order of rank; NULL without memory. */
struct cls_shape *cls_shape_build(struct classifier *c, const struct cls_side *side,
				  const struct cls_item *items, unsigned n, unsigned level);

/* True if every key that matches one of them matches the other. */
bool cls_items_alike(const struct cls_side *side, const struct cls_item *a,
		     const struct cls_item *b);

/* Slots of a split that an entry belongs to: base with every subset of `open`, or the wide one. */
struct cls_ways {
	uint32_t base, open;
	bool wide;
};
struct cls_ways cls_split_ways(const struct cls_split *s, const struct cls_form *f);

static inline void cls_publish(struct cls_shape **slot, struct cls_shape *s)
{
	__atomic_store_n(slot, s, __ATOMIC_RELEASE);
}

/* --- lookups: one for each kind of CPU ------------------------------------------------------- */

/* Entries up to which a packet walks alone: measured, about what the inner caches hold. */
enum { CLS_SMALL = 2000 };

struct cls_lookup {
	const struct classifier *c;
	uint64_t version;
	struct order_view view;
	const struct cls_key *keys;
	uint64_t without; /* packets whose keys say so */
	/* Of the asked packets: what roots look at of each address, times its key. */
	uint64_t product[2][CLS_BURST];
	uint64_t best[CLS_BURST]; /* rank of the hit so far, or UINT64_MAX */
	const uint64_t *after;	  /* ranks above these count; NULL: all */
	const struct cls_entry **hit;
};

/* A shape and the packet that reached it, in one word. */
typedef uintptr_t cls_spot;

/* Lists of spots that grow by stores to both, of which the next ones may overwrite either. */
struct cls_spots {
	cls_spot *leaves, *others;
	unsigned n_leaves, n_others;
};
enum {
	CLS_TOGETHER = 2,	   /* roots that share a visit, at most */
	CLS_STEPS = 3 * CLS_BURST, /* down from shapes to two others each; beyond, packets walk */
	/* Of each list; CLS_LANES more may be written. */
	CLS_FRONTIER = CLS_TOGETHER * CLS_BURST + 2 * CLS_STEPS,
};

/* What a lookup reads of a shape. */
static inline void cls_spot_prefetch(cls_spot p, bool ipv4)
{
	for (unsigned line = 0; line < (ipv4 ? 4 : 7); line++)
		__builtin_prefetch((const char *)(p & ~(cls_spot)(CLS_BURST - 1)) + 64 * line);
}

struct cls_ops {
	const char *name;
	bool (*usable)(void);
	/* Returns the packets of the mask that have a hit. */
	uint64_t (*lookup)(struct cls_lookup *l, uint64_t mask);
};

/* Steps are made for each size of leaf and of classifier. */
#define ALWAYS_INLINE __attribute__((always_inline))

extern const struct cls_ops cls_scalar, cls_avx2, cls_avx512;

#endif
