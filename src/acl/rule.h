/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: conditions on fields as an entry of a classifier keeps them: packed in words.
 *
 * A condition is one word with field and kind, then lo and hi (or value and mask), of one word each
 * or of four. cls_packed_matches() is the plain reading that every fast structure is held to.
 *
 * A form is what structures know of a rule: the bits of the key that it fixes, and the lane that
 * stands for it in a leaf. Both say no more than the rule does: `check` is set when a key that
 * passes the lane still has to be compared with the rule itself.
 *
 * Pure functions, any thread; O(conditions).
 */
#ifndef TAMIS_ACL_RULE_H
#define TAMIS_ACL_RULE_H

#include "acl/classifier.h"

/* Where a field is in a key. */
struct cls_place {
	uint8_t word, shift, bits;
};
extern const struct cls_place cls_places[CLS_FIELD_KINDS];

struct cls_packed {
	uint8_t family : 2, n : 6; /* conditions; what readers read */
	uint8_t changed;	   /* these two are the classifier's */
	uint16_t roots;		   /* three bits a side */
	uint32_t word[];
};
_Static_assert(CLS_CONDS_MAX < 1 << 6, "n has room");

struct cls_form {
	uint32_t value[CLS_WORDS], mask[CLS_WORDS]; /* bits that every key of the rule has */
	uint32_t port_lo, port_hi; /* source port above destination port; ranges of each */
	uint8_t swild, dwild;	   /* lowest bits of the addresses that may be anything */
	uint8_t proto, proto_mask;
	uint8_t need; /* of the first eight fields, those that must be there */
	bool check;
	bool never; /* no key can match */
};

/* 0, or -EINVAL: fields, families and ranges that do not exist. */
int cls_rule_check(const struct cls_rule *r);
/* Words that the conditions take. */
unsigned cls_rule_words(const struct cls_rule *r);
void cls_rule_pack(const struct cls_rule *r, struct cls_packed *out);
unsigned cls_packed_words(const struct cls_packed *p); /* the same of a packed one */
bool cls_packed_matches(const struct cls_packed *p, const struct cls_key *k);
/*
 * The form among rules for IPv4, or among those for everything else; bits of `without` are of the
 * first eight fields, whose conditions are passed over.
 */
void cls_form_make(const struct cls_packed *p, bool ipv4, uint8_t without, struct cls_form *out);
/* The same conditions, but for those. */
bool cls_packed_alike(const struct cls_packed *p, const struct cls_packed *q, uint8_t without);

#endif
