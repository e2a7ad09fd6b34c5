/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: what became of the rules of a ruleset, and what they cost.
 *
 * Called after a load. The structs and their strings live until the function that is given them
 * returns; it must not change the engine. Cost: a few lookups for each rule, and its printing.
 */
#ifndef TAMIS_PUBLIC_EXPLAIN_H
#define TAMIS_PUBLIC_EXPLAIN_H

#include <tamis/api.h>

TAMIS_BEGIN

struct tamis;

enum tamis_fate {
	TAMIS_FATE_CLASSIFIER, /* found by its fields, at no cost for the packets that do not match
				*/
	TAMIS_FATE_SET,	       /* run for every packet that comes by: a lookup in a set */
	TAMIS_FATE_WALKED,     /* run for every packet that comes by */
	TAMIS_FATE_SHADOWED,   /* all its packets leave the chain at earlier rules */
	TAMIS_FATE_NEVER,      /* matches no packet */
	TAMIS_FATES
};

/* "classifier", "set", "walked", "shadowed", "never"; NULL if there is none. */
TAMIS_API const char *tamis_fate_name(enum tamis_fate f);

struct tamis_explained_rule {
	uint64_t handle;
	const char *text; /* one line, as the listing has it */
	enum tamis_fate fate;
	const char *why;      /* of SET, WALKED and NEVER; else NULL */
	uint64_t shadowed_by; /* handle of the first rule that takes some, 0: none */
	uint32_t entries;     /* in the classifier, else 0 */
};

struct tamis_explained_chain {
	const char *family, *table, *chain;
	uint32_t n_rules;
	uint32_t by_fate[TAMIS_FATES]; /* rules; a shadowed one is in the classifier too */
	bool classifier;	       /* there is one; all below is of it */
	uint32_t entries, tables, leaves, nodes;
	uint32_t depth, longest; /* most nodes on a way, most entries that a step looks at */
	size_t bytes;		 /* that it takes */
	/* Rough times of a packet that goes through to the end: in bursts here, and in a kernel
	 * that walks. */
	uint32_t cost_ns, kernel_ns;
};

/* Rules that make a kernel slow. */
struct tamis_advice {
	const char *kind; /* "linear-run", "negation", "anonymous-set" */
	uint64_t handle;  /* of the first of the rules */
	uint32_t n;	  /* rules; of an anonymous set its elements */
	const char *text; /* what it is, and what to write instead */
};

/* Any may be NULL; a result other than 0 ends the walk and is returned. */
struct tamis_explain_ops {
	int (*chain)(void *arg, const struct tamis_explained_chain *c);
	int (*rule)(void *arg, const struct tamis_explained_rule *r);
	int (*advice)(void *arg, const struct tamis_advice *a);
};

/* Every named chain in the order of the listing: the chain, its rules, what there is to say. 0 or
 * -ENOMEM. */
TAMIS_API int tamis_explain(struct tamis *t, const struct tamis_explain_ops *ops, void *arg);

TAMIS_END

#endif
