/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile: makes programs of the model's chains, and publishes them.
 *
 * A build looks at what the model's open transaction did: rules that came are compiled and put in
 * their place, rules that went are marked as ending, both under the version that comes next; all
 * others are left as they are, and keep their counts. The result is a new root, small, for the
 * version. Publishing it is one pointer store, and only then anybody meets what was built.
 *
 *	model_apply(m, ...);
 *	compile_build(c, m)		on an error: model_abort()
 *	compile_publish(c)		or compile_abort(c), model_abort(m)
 *	[wait until no thread uses the former root]
 *	compile_settle(c)		frees what only the former root used
 *	model_commit(m)			and what that referred to
 *
 * The first build takes the model as it is. A program refers to the model's sets, states, objects
 * and chains: they outlive it; the model's chains and rules point to what was made of them.
 *
 * One control thread; compile_root() from any thread. Cost of a build: what came, and went; with
 * a base chain that comes, goes or changes a look at all base chains.
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
	COMPILE_LOCAL,	   /* no value unless the caller knows the host's addresses */
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
	bool classify; /* a classifier for every chain, however short */
};

int compile_new(const struct compile_config *config, struct compile **out);
/* Frees the published root too; before the model goes. */
void compile_free(struct compile *c);

/*
 * 0; -ENOMEM; -E2BIG for expressions nested too deep or keys too long; -EEXIST for an anonymous map
 * with overlapping ranges; -EINVAL for what is no checked form. After an error everything is as it
 * was.
 */
int compile_build(struct compile *c, struct model *m);
void compile_publish(struct compile *c);
void compile_abort(struct compile *c);
void compile_settle(struct compile *c);

/* What is published, NULL at first. */
const struct program_root *compile_root(const struct compile *c);

/* The program of a chain that is there, what became of a rule; NULL if it was never built. */
const struct program *compile_program(const struct model_chain *chain);
const struct prog_rule *compile_rule(const struct model_rule *rule);

#endif
