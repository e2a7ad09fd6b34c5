/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classify: rules of a chain into the chain's classifier.
 *
 * The matches at a rule's beginning that read nothing but the packet can be looked at in any order.
 * Of those, comparisons of a field of the classifier with constants become conditions, and are no
 * longer among the rule's `rest`; an anonymous set of a few elements becomes as many entries, side
 * by side. What else there is stays in the rest, and is run for the packets that the classifier
 * found. A rule without such a comparison has a place in the order alone: it is walked. So are the
 * first few rules that ask for nothing but what many packets have (the state of a connection): they
 * cost less so than a search that comes past them.
 *
 * Walked rules are a skip list in the order of the chain (Pugh, "Skip lists: a probabilistic
 * alternative to balanced trees", 1990), whose lowest level is what readers follow.
 *
 * Cost of a rule: O(log n), and its entries.
 */
#ifndef TAMIS_COMPILE_CLASSIFY_H
#define TAMIS_COMPILE_CLASSIFY_H

#include "compile/build.h"

enum {
	CLASSIFY_RULES = 8,    /* from so many rules on a chain has a classifier */
	CLASSIFY_ENTRIES = 64, /* at most for one rule */
	CLASSIFY_WEAK = 4,     /* weak rules that are walked */
};

enum rule_fate {
	FATE_CLASSIFIED,
	FATE_WALKED,
	FATE_NEVER, /* matches no packet, whatever it is */
};

/* What a rule is to the classifier. */
struct rule_conditions {
	uint8_t fate;		/* enum rule_fate */
	uint8_t family;		/* enum cls_family */
	uint32_t n;		/* entries */
	uint32_t n_conds;	/* of each */
	struct cls_cond *conds; /* those of one entry behind those of the other */
	struct prog_op *rest;
	uint32_t n_rest;
	uint32_t fields; /* bits of enum cls_field that are compared */
	bool weak;	 /* asks for nothing but values that many packets share */
	uint64_t said;	 /* ops, by number, that conditions tell of */
	uint64_t kept;	 /* those of them that are in the rest all the same */
};

/* 0 or -ENOMEM; out->conds and out->rest are malloc'ed. */
int rule_conditions(const struct compiled_rule *r, struct rule_conditions *out);
void rule_conditions_free(struct rule_conditions *rc);

/* A rule that is in its program's list gets its place in the classifier, if there is one. */
int classify_add(struct compile *c, struct compiled_rule *r);
/* Its entries end with the next version. */
void classify_end(struct compiled_rule *r);
void classify_end_undo(struct compiled_rule *r);
/* Before classifier_commit() or classifier_abort(): out of the list of walked rules. */
void classify_leave(struct compiled_rule *r);
/* Gives a program that has grown a classifier, from the next version on. */
int classify_begin(struct compile *c, struct compiled_program *p);
/* Takes it away again. */
void classify_stop(struct compiled_program *p);

#endif
