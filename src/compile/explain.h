/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: what became of the rules of a chain, and which of them make a kernel slow.
 *
 * Control thread, after a build is published. Cost: see tamis/explain.h.
 */
#ifndef TAMIS_COMPILE_EXPLAIN_H
#define TAMIS_COMPILE_EXPLAIN_H

#include <tamis/explain.h>

#include "compile/compile.h"

struct explained_rule {
	struct model_rule *rule;
	enum tamis_fate fate;
	const char *why;
	uint64_t shadowed_by;
	uint32_t entries;
};

struct explained_advice {
	const char *kind;
	uint64_t handle;
	uint32_t n;
	char text[256];
};

struct explained {
	VEC(struct explained_rule) rules;
	VEC(struct explained_advice) advices;
	uint32_t by_fate[TAMIS_FATES];
	bool classifier;
	struct classifier_stats stats;
	uint32_t cost_ns, kernel_ns;
};

/* The fields (bits of enum cls_field) that statements of a table write. A look at its rules. */
uint32_t explain_writes(const struct compile *c, const struct model_table *t);
/* `writes`: of the chain's table. 0 or -ENOMEM. */
int explain_chain(const struct compile *c, const struct model_chain *chain, uint32_t writes,
		  struct explained *out);
void explained_free(struct explained *e);

#endif
