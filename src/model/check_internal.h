/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_internal: what the files of check share: the state of one rule's or element list's check,
 * and the steps each file offers to the others.
 *
 * Steps work on `struct expr **`, since an expression may be replaced (a set of one element by the
 * element). They return 0 or the -EINVAL of diag_error(). Allocation cannot fail inside: every
 * entry of check.h sets the arena's jump point first.
 *
 * A type is a struct set_type: one field, or several for a concatenation; n = 0 is "no type known".
 */
#ifndef TAMIS_MODEL_CHECK_INTERNAL_H
#define TAMIS_MODEL_CHECK_INTERNAL_H

#include "model/check.h"

/* How deep expressions, sets in sets and anonymous chains may nest. */
enum { CHECK_DEPTH_MAX = 64, PROTO_BASES = 4, LL_STACK_MAX = 4 };

/* What the statements so far say about the headers of a packet. */
struct proto_ctx {
	const struct proto_header *at[PROTO_BASES];  /* NULL: nothing known */
	struct loc loc[PROTO_BASES];		     /* of the field that told */
	const struct proto_header *ll[LL_STACK_MAX]; /* link headers one upon the other */
	unsigned n_ll;
	unsigned several; /* bits by base: a set named several headers, `at` is the last */
	bool icmp_known;  /* a match on the type of ICMP or ICMPv6 */
	uint8_t icmp_type;
};

/* The pseudo headers that a family starts with. */
extern const struct proto_header proto_any_inet, proto_any_netdev, proto_unknown;

struct eval {
	struct check *c;
	struct arena *a;
	struct proto_ctx pctx;
	struct rule_decl *rule;
	struct stmt **at; /* where a dependency goes: the link to the present statement; NULL
			     outside of rules (elements, `typeof`): no dependencies */
	const struct set_type *want; /* the type that symbols take; NULL: none */
	uint64_t max;		     /* the largest number allowed, 0: what the type allows */
	unsigned depth;
	bool target;	/* what a statement sets, not what is read */
	bool hours;	/* a range of hours may go over midnight */
	bool assigning; /* a statement's value: operations widen to what is assigned to */
	bool nat_data;	/* a map's data may be ranges and prefixes */
	bool objects;	/* a map gives object names, of kind obj */
	enum obj_kind obj;
};

struct eval_want {
	const struct set_type *want;
	uint64_t max;
};

static inline struct eval_want want_push(struct eval *ev, const struct set_type *want)
{
	struct eval_want old = {ev->want, ev->max};

	ev->want = want;
	ev->max = 0;
	return old;
}

static inline void want_pop(struct eval *ev, struct eval_want old)
{
	ev->want = old.want;
	ev->max = old.max;
}

static inline struct set_type type_single(const struct datatype *t, unsigned bits)
{
	return (struct set_type){.fields = {t}, .bits = {(uint16_t)bits}, .n = 1};
}

/* The whole command, where the kernel says no to a rule as a whole. */
static inline struct loc rule_loc(const struct eval *ev)
{
	return ev->c->loc.src || !ev->rule ? ev->c->loc : ev->rule->loc;
}

/* The first word of a statement. */
struct loc keyword_loc(const struct eval *ev, struct loc loc);

#define check_error(ev, loc, ...) diag_error((ev)->c->sources, (loc), __VA_ARGS__)
#define check_error2(ev, loc, second, ...)                                                         \
	diag_error2((ev)->c->sources, (loc), (second), __VA_ARGS__)

/* --- check_value.c: constants --------------------------------------------------------------- */

/* The text of a symbol, or of a number as it stands in the source. */
const char *value_text(struct eval *ev, const struct expr *e, size_t *len);
/* Makes a symbol or a parsed number a constant of ev->want (one field). */
int value_resolve(struct eval *ev, struct expr *e);
/* a op b into a; both EX_VALUE, the result has a's type and width. */
int value_fold(struct eval *ev, enum expr_op op, struct expr *a, const struct expr *b);
bool value_is_zero(const struct expr *e);
/* The number of leading ones if the rest are zeros, else -1. */
int value_mask_prefix(const struct expr *e);
/* A value of `ones` leading one bits. */
/* All but the first `ones` bits become 0, in place. */
void value_cut(struct eval *ev, struct expr *e, unsigned ones);
struct expr *value_mask(struct eval *ev, struct loc loc, const struct datatype *t, unsigned bits,
			unsigned ones);
bool expr_is_constant(const struct expr *e);
/* True for what datatype `t` is or descends from. */
enum type_base type_basis(const struct datatype *t);
/* Whether a mask of leading ones is written as a prefix for values of type t. */
bool type_has_prefix(const struct datatype *t);

/* --- check_expr.c: expressions -------------------------------------------------------------- */

int expr_check(struct eval *ev, struct expr **ep);
/* The same with another expected type. */
int expr_check_as(struct eval *ev, struct expr **ep, const struct set_type *want, uint64_t max);
void expr_type(const struct expr *e, struct set_type *out);
unsigned type_bits(const struct set_type *t);
bool type_equal(const struct set_type *a, const struct set_type *b);
/* "IPv4 address", "concatenation of (IPv4 address, internet network service)". */
const char *type_desc(struct eval *ev, const struct set_type *t);
int verdict_check(struct eval *ev, struct expr *e);
/* The same for an element of a map: what the kernel refuses is shown at the element's key. */
int verdict_check_at(struct eval *ev, struct expr *e, const struct loc *at);
/* `expr` may be looked up where `want` is asked for: equal, or plain numbers of the same width. */
bool type_compatible(const struct set_type *expr, const struct set_type *want);
/* a is a plain number and b something that numbers can stand for. */
bool type_integer_like(const struct datatype *a, const struct datatype *b);
/* A list of flags becomes their sum. */
int list_fold(struct eval *ev, struct expr **ep);
const char *expr_kind_name(const struct expr *e);

/* --- check_field.c: what is read from a packet or its host ---------------------------------- */

int field_check(struct eval *ev, struct expr **ep);
/* Whether the rule's chain is on one of the hooks (bits of enum hook); regular chains always are.
 */
bool hook_allowed(struct eval *ev, unsigned hooks);
/* Only in base chains of these types at these hooks, both as bits, and in what they jump to: noted
 * in the rule; false if it stands in another base chain. */
bool place_allowed(struct eval *ev, unsigned types, unsigned hooks);
/* "Could not process rule: TEXT". */
int kernel_error(struct eval *ev, struct loc loc, const char *text);

/* --- check_deps.c: headers and dependencies ------------------------------------------------- */

void proto_ctx_init(struct proto_ctx *p, enum family f);
/* The header that number `n` of `lower` announces, or NULL. */
const struct proto_header *proto_upper(const struct proto_header *lower, uint64_t n);
/* The field of `h` that names the header above, or NULL. */
const struct proto_field *proto_key(const struct proto_header *h);
const char *proto_label(const struct proto_header *h);
/* What a match teaches about the headers; the match is checked. */
void proto_ctx_learn(struct proto_ctx *p, enum family f, const struct expr *compare);
/* Adds what reading the field needs, in front of the present statement. */
int deps_payload(struct eval *ev, struct expr *e);
/* The one ICMP type that has this field, else -1. */
int icmp_dep_type(const struct expr *payload);
/* The same for a place that needs network header `h` (extension headers, options, reject). */
int deps_network(struct eval *ev, const struct expr *e, const struct proto_header *h);
/* Puts a checked match of meta key == v in front of the present statement, or of the rule. */
int deps_meta(struct eval *ev, struct loc loc, enum meta_key key, uint64_t v, bool first);

/* --- check_set.c: sets ---------------------------------------------------------------------- */

/* Statements that elements of a set have, as in the kernel. */
enum { SET_STMTS_MAX = 2 };

/* Elements of an EX_SET in place: keys of type `key`, data of type `data` (n = 0: a verdict). */
struct set_want {
	struct set_type key, data;
	uint64_t data_max;
	bool map, verdicts, objects;
	bool data_ranges; /* data may be ranges and prefixes (NAT) */
	bool keys_only;	  /* of delete and get: a map's elements may come without data */
	enum obj_kind obj;
	const struct set_decl *decl; /* of a named set, else NULL */
};
int set_items_check(struct eval *ev, struct expr *set, const struct set_want *w);
/* Sorts, merges, and reports duplicates of an anonymous set; e->type of the set is set. */
int set_normalise(struct eval *ev, struct expr *set, const struct set_want *w);
int set_elements_check(struct eval *ev, const struct set_decl *d, struct expr *elements,
		       bool keys_only);
/* The model_set of an EX_SETREF, or NULL after a message. */
struct model_set *set_lookup_name(struct eval *ev, struct expr *e);
/* The expression of lo..hi: a value, a prefix where the type has them, else a range. */
struct expr *interval_expr(struct eval *ev, struct loc loc, const struct datatype *t, unsigned bits,
			   const uint8_t *lo, const uint8_t *hi);
int object_missing(struct eval *ev, struct loc loc, enum obj_kind kind, const char *name);

/* --- check_stmt.c, check_nat.c: statements -------------------------------------------------- */

int stmt_check(struct eval *ev, struct stmt *s);
/* counter, quota, limit, last, connlimit: their numbers. */
int stateful_check(struct eval *ev, struct stmt *s);
const char *stmt_kind_name(const struct stmt *s);
int nat_check(struct eval *ev, struct stmt *s);
int tproxy_check(struct eval *ev, struct stmt *s);
/* An argument of a statement: type and width as wanted, no set, no list. */
int arg_check(struct eval *ev, const struct stmt *s, struct expr **ep, const struct datatype *t,
	      unsigned bits);

/* --- check_rule.c --------------------------------------------------------------------------- */

/* One rule, also of an anonymous chain's body at `depth`. */
int rule_check(struct check *c, struct rule_decl *r, unsigned depth);

/* --- check_match.c: comparisons ------------------------------------------------------------- */

int match_check(struct eval *ev, struct stmt *s);
/* A comparison of raw bits that do not fill bytes becomes a masked load of the bytes around. */
void raw_normalise(struct eval *ev, struct expr *compare);

/* --- check_listing.c: what the listing leaves out ------------------------------------------- */

void listing_normalise(struct eval *ev, struct rule_decl *r);

/* --- check_key.c ---------------------------------------------------------------------------- */

/* Bytes of a key: fields one after the other. */
unsigned key_len(const struct set_type *t);

/* --- check_suggest.c ------------------------------------------------------------------------ */

/* How many edits lie between the text and the name; what still counts as near. */
unsigned suggest_distance(const char *text, size_t len, const char *name);
unsigned suggest_limit(size_t a, size_t b);
/* The name nearest to `name` among the table's chains, sets, ...; NULL if none is near. */
const char *suggest_name(const struct list *head, enum model_noun noun, const char *name);

#endif
