/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile: makes programs of the model's chains, and publishes them.
 *
 * A build looks at every chain's version and makes anew only the programs of chains that changed;
 * in those, rules that are still there keep their compiled form and their counts. The result is a
 * new root that shares the rest with the one before. Publishing is one pointer store.
 *
 *	model_apply(m, ...);
 *	compile_build(c, m, &root)	on an error: model_abort()
 *	old = compile_publish(c, root)
 *	[wait until no thread uses old]
 *	program_root_free(old)
 *	model_commit(m)			frees what only old referred to
 *
 * A program refers to the model's sets, states, objects and chains: they outlive it.
 *
 * One control thread; compile_root() from any thread. Cost of a build: a look at each chain, and
 * the chains that changed: a pointer for each of their rules, and the compilation of new ones.
 */
#ifndef TAMIS_COMPILE_COMPILE_H
#define TAMIS_COMPILE_COMPILE_H

#include "eval/program.h"
#include "model/model.h"

struct compile; /* opaque */

enum compile_note_kind {
	COMPILE_NO_VALUE,  /* an expression that no packet has a value for here: its rule never
			      matches */
	COMPILE_NO_EFFECT, /* a statement that is passed over */
	COMPILE_NAT,	   /* nat: the address stays, the chain ends as the kernel would end it */
};

/* Something in a rule that is understood but not evaluated. Told once for each `what`. */
struct compile_note {
	enum compile_note_kind kind;
	const char *what; /* "fib", "synproxy": as the language calls it */
	const struct model_rule *rule;
};

struct compile_config {
	void *arg;
	void (*note)(void *arg, const struct compile_note *n); /* may be NULL */
};

int compile_new(const struct compile_config *config, struct compile **out);
/* Frees the published root too. */
void compile_free(struct compile *c);

/*
 * 0; -ENOMEM; -E2BIG for expressions nested too deep or keys too long; -EEXIST for an anonymous map
 * with overlapping ranges; -EINVAL for what is no checked form. *out is freed with
 * program_root_free() or published.
 */
int compile_build(struct compile *c, struct model *m, struct program_root **out);
/* Returns the root before this one, NULL for the first; it goes with program_root_free(). */
struct program_root *compile_publish(struct compile *c, struct program_root *root);
void program_root_free(struct program_root *root);

/* What is published, NULL at first. */
const struct program_root *compile_root(const struct compile *c);

/* The published program of a chain; its rules are in the model's order. NULL if it has none yet. */
const struct program *compile_program(const struct compile *c, const struct model_chain *chain);

#endif
