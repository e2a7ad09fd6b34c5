/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: what the files of compile share: the compiled forms with their owners, and the
 * compilation of one rule.
 *
 * Compiled rules and programs are counted by reference: a rule by the programs it stands in, a
 * program by the roots. What a rule's ops point to lives in the rule's arena, or is on its lists of
 * sets and templates. Inside the compilation of a rule nobody checks for errors: build_fail() and
 * the arena jump back to rule_compile().
 */
#ifndef TAMIS_COMPILE_BUILD_H
#define TAMIS_COMPILE_BUILD_H

#include <setjmp.h>

#include "base/vec.h"
#include "compile/compile.h"

/* What rules ask of the way they are run. */
enum { NEED_EXACT = 1, NEED_CONNTRACK = 2 };

struct compiled_rule {
	struct prog_rule pub;
	uint32_t refs;
	uint8_t needs;
	struct prog_rule_stats stats;
	struct arena arena;
	VEC(struct set *) sets; /* anonymous ones */
	VEC(struct state_template *) templates;
};

struct chain_stats {
	struct prog_chain_stats pub;
	uint32_t refs;
};

struct compiled_program {
	struct program pub;
	uint32_t refs;
	uint8_t needs;
	uint64_t version;
	struct chain_stats *stats;
	struct prog_rule **rules; /* the pub of compiled_rules */
};

struct compiled_root {
	struct program_root pub;
	struct arena arena; /* base chains and their lists */
	VEC(struct compiled_program *) programs;
};

struct compile {
	struct compile_config config;
	_Atomic(struct program_root *) root;
	struct map noted; /* what compile_note's `what` said already: keys in notes */
	VEC(char *) notes;
	uint64_t generation;
};

/* The compilation of one rule. */
struct build {
	struct compile *c;
	const struct model_rule *rule;
	const struct model_table *table;
	struct compiled_rule *out;
	struct arena *arena; /* of out */
	VEC(struct prog_op) ops;
	uint8_t vlan_tag; /* which tag `vlan` means: 1 behind a match of the outer one's type */
	bool statement;	  /* in a statement: without a value it is passed over */
	bool no_value;	  /* an expression was met that is not evaluated */
	int err;
	jmp_buf env;
};

_Noreturn void build_fail(struct build *b, int err);
void build_note(struct build *b, enum compile_note_kind kind, const char *what);
void build_op(struct build *b, const struct prog_op *op);

/* rule.c: 0 or an error; *out has one reference. */
int rule_compile(struct compile *c, const struct model_rule *rule, struct compiled_rule **out);
void rule_unref(struct compiled_rule *r);

/* expr.c */
const struct prog_expr *expr_build(struct build *b, const struct expr *e);
/* The bytes of a constant, right-aligned in `len` bytes. */
const uint8_t *expr_constant(struct build *b, const struct expr *e, unsigned len);
struct prog_expr *expr_make(struct build *b, enum prog_expr_kind kind, unsigned bits);
/* Hash of both directions of a flow onto `mod` numbers from `offset` on. */
const struct prog_expr *expr_symhash(struct build *b, uint32_t mod, uint32_t offset);
/* -E2BIG where evaluating would need more columns than there are. */
void expr_check_depth(struct build *b, const struct prog_expr *e);

/* match.c */
void match_build(struct build *b, const struct expr *e);

/* anonymous.c */
enum anonymous_data { DATA_NONE, DATA_VALUE, DATA_VERDICT, DATA_OBJECT };
/* An empty one that the rule fills; size 0: the kernel's default. */
struct set *dynamic_build(struct build *b, const struct prog_expr *key, uint32_t size,
			  bool timeout);
/* The set on the right of a lookup: a named one, or made from elements. */
struct set *set_build(struct build *b, const struct expr *set, const struct prog_expr *key,
		      enum anonymous_data data, unsigned data_len, enum obj_kind object);

/* stmt.c */
void stmt_build(struct build *b, const struct stmt *s);

/* hooks.c: base chains into the hooks of the root. */
int hooks_build(struct compiled_root *root, struct model *m);

#endif
