/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key: what the fields of the classifier mean in rules: which expression each of them is, and for
 * which packets.
 *
 * A field has a row for each expression that it stands for. Where it has two (addresses, ICMP
 * types) a packet has the value of the one whose home it is in; a rule says by another condition
 * which it means: by the family of its table or a match of it, by `meta l4proto`. So a key holds
 * what the expression of each rule that asks reads.
 *
 * Values that are too wide for their field are there in part: such a condition holds for every
 * packet for which the comparison does, and for few others, and the comparison stays on its rule.
 *
 * Constant tables; compile/ recognizes by them, eval/ reads by them.
 */
#ifndef TAMIS_EVAL_KEY_H
#define TAMIS_EVAL_KEY_H

#include "acl/classifier.h"
#include "eval/program.h"

enum key_home { KEY_ANYWHERE, KEY_IN_IPV4, KEY_IN_IPV6, KEY_IN_ICMP, KEY_IN_ICMPV6 };
/* All of the value; its lowest 32 bits; key_name() of it. */
enum key_form { KEY_WHOLE, KEY_LOW32, KEY_NAME };

struct key_source {
	uint8_t home; /* enum key_home */
	uint8_t form; /* enum key_form */
	struct prog_expr expr;
};

/* NULL: no field is this expression. */
const struct key_source *key_source_find(const struct prog_expr *e, enum cls_field *field);

/* A number for a name of PROG_NAME_LEN bytes. Different names may have one number. */
static inline uint32_t key_name(const uint8_t *name)
{
	uint64_t a, b;

	memcpy(&a, name, sizeof(a));
	memcpy(&b, name + sizeof(a), sizeof(b));
	a = (a ^ a >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	b = (b ^ b >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	a ^= b >> 29;
	return (uint32_t)((a * UINT64_C(0x94d049bb133111eb)) >> 32);
}

#endif
