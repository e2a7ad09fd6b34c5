/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: conditions on fields as an entry of a classifier keeps them, and the plain test of a key.
 *
 * This is the reading that every fast structure is held to. Immutable, any thread.
 */
#ifndef TAMIS_ACL_RULE_H
#define TAMIS_ACL_RULE_H

#include "acl/classifier.h"

/* Where a field is in a key. */
struct cls_place {
	uint8_t word, shift, bits;
};
extern const struct cls_place cls_places[CLS_FIELD_KINDS];

static inline uint32_t cls_field_max(enum cls_field f)
{
	return UINT32_MAX >> (32 - MIN(cls_places[f].bits, 32));
}

/* 0, or -EINVAL: fields, families and ranges that do not exist. */
int cls_rule_check(const struct cls_rule *r);
bool cls_rule_matches(const struct cls_rule *r, const struct cls_key *k);

#endif
