/* SPDX-License-Identifier: Apache-2.0 */
/* slot_table_scalar: the packet path of slot tables for any CPU, and what the others are held to.
 */
#include "set/slot_table_internal.h"

static inline unsigned upto_scalar(const uint16_t *line, uint32_t mask, unsigned x)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOT_LINE; i++)
		n += mask >> i & (line[i] <= x);
	return n;
}

#define UPTO upto_scalar
#include "set/slot_table_read.h"

static bool usable(void)
{
	return true;
}

const struct slot_table_ops slot_table_scalar = {"scalar", usable, lookup_paged, lookup_short};
