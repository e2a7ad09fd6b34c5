/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build: what the files of compile share: the compiled forms with their owners, and the
 * compilation of one rule.
 *
 * A program lives as long as its chain, a compiled rule as long as its rule. What a build makes
 * belongs to the version that comes next, and stands on the lists of struct changes until it is
 * published or taken back. What a rule's ops point to lives in the rule's arena, or is on its lists
 * of sets and templates. Inside the compilation of a rule nobody checks for errors: build_fail()
 * and the arena jump back to rule_compile().
 */
#ifndef TAMIS_COMPILE_BUILD_H
#define TAMIS_COMPILE_BUILD_H

#include <setjmp.h>

#include "base/vec.h"
#include "compile/compile.h"

/* What rules ask of the way they are run. */
enum { NEED_EXACT = 1, NEED_CONNTRACK = 2, NEED_ORDER = 4, NEED_CONNS = 8 };

enum { WALKED_LEVELS = 12 };

enum { CACHE_LINE = 64 };

/* What packets touch that find it is in the first cache line. */
struct compiled_rule {
	_Alignas(CACHE_LINE) struct prog_rule_stats stats;
	struct prog_rule pub; /* rule: a struct model_rule */
	struct compiled_rule *prev;
	struct compiled_program *program;
	uint8_t needs;
	bool element_states; /* anonymous sets whose elements count or limit */
	bool classified;
	bool weak;		  /* walked for that */
	uint8_t levels;		  /* of the list of walked rules; 0: not in it */
	struct prog_rule **above; /* from the second level on */
	struct prog_op *rest;
	struct arena arena;
	VEC(struct set *) sets; /* anonymous ones */
	VEC(struct state_template *) templates;
};

_Static_assert(offsetof(struct compiled_rule, pub.verdict) < CACHE_LINE, "the first line");

struct compiled_program {
	struct program pub; /* chain: a struct model_chain */
	struct prog_chain_stats stats;
	struct compiled_rule *last;
	struct classifier *classifier;
	struct prog_rule *above[WALKED_LEVELS - 1]; /* of the list of walked rules */
	uint32_t n_rules;
	uint32_t n_weak; /* among the walked rules */
	uint32_t at,
		base_at; /* in compile.programs, compile.bases; anonymous ones are in neither */
	bool gone;	 /* with the version that comes next */
	bool touched;	 /* a rule of it comes or goes */
	bool begun;	 /* it has a classifier from the version that comes next on */
};

/* Base chains and their lists, shared by the roots until one of the chains changes. */
struct compiled_hooks {
	uint32_t refs;
	struct arena arena;
	struct prog_hook_list lists[PROG_CLASSES][PROG_HOOKS];
	bool nat[PROG_CLASSES];
};

struct compiled_root {
	struct program_root pub;
	struct compiled_hooks *hooks;
};

/* What comes and goes with the next version. */
struct changes {
	VEC(struct compiled_rule *) came, went;
	VEC(struct compiled_program *) programs_came, programs_went, touched;
	bool hooks;
	struct compiled_root *root;
};

struct compile {
	struct compile_config config;
	_Atomic(struct program_root *) root;
	uint64_t version;	/* of the published root */
	struct changes changes; /* after compile_publish(): what compile_settle() frees */
	struct compiled_root *former;
	VEC(struct compiled_program *) programs, bases;
	uint64_t random;
	uint32_t n_exact, n_ordered, n_conns, n_conntrack[PROG_CLASSES]; /* rules that need it */
	struct map noted; /* what compile_note's `what` said already: keys in notes */
	VEC(char *) notes;
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

/* program.c */
const struct program *program_of(const void *chain); /* NULL: not compiled */
int program_add(struct compile *c, struct model_chain *chain);
/* With all its rules; it is not there any more for what follows. */
int program_end(struct compile *c, struct compiled_program *p);
int rule_end(struct compile *c, struct compiled_rule *r);
/* The rule, if it is not compiled yet, and those behind it that are not. */
int rules_add(struct compile *c, struct model_rule *first);
void rule_add_undo(struct compile *c, struct compiled_rule *r);
void rule_end_undo(struct compile *c, struct compiled_rule *r);
/* Takes a rule, or a chain with what is left in it, out of its list and frees it. */
void rule_free_compiled(struct compiled_rule *r);
void program_free(struct compile *c, struct compiled_program *p);

/* rule.c: 0 or an error. The rule is in no list yet; of its anonymous chains there are the
 * programs, without rules. */
int rule_compile(struct compile *c, const struct model_rule *rule, struct compiled_rule **out);
void rule_free_parts(struct compiled_rule *r);

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
/* What elements with such states ask of the way their rule is run. */
void elements_need(struct build *b, const struct stmt *stmts);
enum anonymous_data { DATA_NONE, DATA_VALUE, DATA_VERDICT, DATA_OBJECT };
/* An empty one that the rule fills; size 0: the kernel's default. */
struct set *dynamic_build(struct build *b, const struct prog_expr *key, uint32_t size,
			  bool timeout);
/* The set on the right of a lookup: a named one, or made from elements. */
struct set *set_build(struct build *b, const struct expr *set, const struct prog_expr *key,
		      enum anonymous_data data, unsigned data_len, enum obj_kind object);

/* stmt.c */
void stmt_build(struct build *b, const struct stmt *s);

/* hooks.c: the base chains that are there into the lists of the hooks. 0 or -ENOMEM. */
int hooks_build(const struct compile *c, struct compiled_hooks **out);
void hooks_unref(struct compiled_hooks *h);

#endif
