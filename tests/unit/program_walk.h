/* SPDX-License-Identifier: Apache-2.0 */
/* A program as tests look at it: by the number of a rule. */
#ifndef PROGRAM_WALK_H
#define PROGRAM_WALK_H

#include "eval/program.h"

static inline uint32_t program_length(const struct program *p)
{
	uint32_t n = 0;

	for (const struct prog_rule *r = p->first; r; r = r->next)
		n += r->to == UINT64_MAX;
	return n;
}

/* The chain's k-th rule of those that have no end; NULL if there are not so many. */
static inline const struct prog_rule *program_rule(const struct program *p, uint32_t k)
{
	const struct prog_rule *r = p->first;

	for (; r; r = r->next)
		if (r->to == UINT64_MAX && !k--)
			break;
	return r;
}

/* Packets that came to the k-th rule. */
static inline uint64_t program_reached(const struct program *p, uint32_t k)
{
	uint64_t n = program_entered(p);

	for (uint32_t i = 0; i < k; i++)
		n -= program_left(p, program_rule(p, i));
	return n;
}

#endif
