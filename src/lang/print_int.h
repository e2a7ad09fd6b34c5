/* SPDX-License-Identifier: Apache-2.0 */
/* What the text and the JSON printers share: names of keys and units, values split into bits. */
#ifndef TAMIS_LANG_PRINT_INT_H
#define TAMIS_LANG_PRINT_INT_H

#include "lang/print.h"

const char *expr_op_name(enum expr_op op);
const char *verdict_name(enum verdict_code c);
const char *proto_base_name(enum proto_base b);
const char *nfproto_name(unsigned nfproto); /* "ip", "ip6", or NULL */
const char *ct_state_direction_name(int direction);
const char *rt_key_name(unsigned key);
const char *socket_key_name(unsigned key);
const char *fib_result_name(const struct expr *e);
const char *fib_flag_name(unsigned bit); /* NULL behind the last */
const char *xfrm_key_name(unsigned key);
const char *log_level_name(int level);
const char *reject_type_name(enum reject_type t);
const struct datatype *reject_code_type(enum reject_type t);
const char *set_op_name(enum set_op op);
const char *limit_unit_name(uint32_t seconds);
const char *nat_kind_name(enum nat_kind k);
/* The largest of bytes, kbytes, mbytes that divides v; v becomes the count. */
const char *byte_unit(uint64_t *v);
/* ip/ip6 in front of the address: `ct original ip saddr`. */
const char *ct_key_family(const struct expr *e);
/* The name an option is listed by (sack for sack0), NULL if it is by number alone. */
const char *option_name(const struct expr *e);
/* The field's name with its index, `sid[2]`; `buf` of FIELD_NAME_MAX bytes may be used. */
enum { FIELD_NAME_MAX = 48 };
const char *option_field_name(const struct expr *e, char *buf);
/* `tcp option @kind,off,len` rather than a named field. */
bool option_is_raw(const struct expr *e);

/* How many bits of e are set; 1 for values that are not listed bit by bit. */
unsigned value_flags(const struct expr *e);
/* The lowest bit of e at or above *bit, as a value of its own; false if there is none. */
bool value_next_flag(const struct expr *e, unsigned *bit, struct expr *out);
/* Operators bind as nft has it: whether an argument needs parentheses. */
bool binop_needs_parens(enum expr_op op, const struct expr *arg);
/* An element's timeout, expiry and comment, each with a blank before it. */
void elem_options_print(const struct elem_expr *el, const struct lang_env *env, struct strbuf *out);
/* Ranges print plain numbers. */
struct lang_env env_numeric(const struct lang_env *env);
/* Whether the statement stands in a listing. */
bool stmt_is_listed(const struct stmt *s);
/* The states of a ct timeout policy in the order of the protocol's states: fills order[n]. */
void timeout_policy_order(const struct obj_decl *d, uint8_t *order);

#endif
