/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key: what the fields of the classifier mean in rules: which expression each of them is, and for
 * which packets.
 *
 * Where a field has two sources (addresses, ICMP types) a packet has the value of the one whose
 * home it is in; a rule says by another condition which it means: by the family of its table or a
 * match of it, by `meta l4proto`. So a key holds what the expression of each rule that asks reads.
 *
 * Constant tables; compile/ recognizes by them, eval/ reads by them.
 */
#ifndef TAMIS_EVAL_KEY_H
#define TAMIS_EVAL_KEY_H

#include "acl/classifier.h"
#include "eval/program.h"

enum key_home { KEY_ANYWHERE, KEY_IN_IPV4, KEY_IN_IPV6, KEY_IN_ICMP, KEY_IN_ICMPV6 };

struct key_source {
	uint8_t field; /* enum cls_field */
	uint8_t home;  /* enum key_home */
	struct prog_expr expr;
};

/* NULL: no field is this expression. */
const struct key_source *key_source_find(const struct prog_expr *e);

#endif
