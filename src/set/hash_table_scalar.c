/* SPDX-License-Identifier: Apache-2.0 */
/* hash_table_scalar: the read side for any CPU, and for tools that watch single loads. */
#include "set/hash_table_internal.h"

static inline uint32_t compare_scalar(const struct hash_bucket *b, uint32_t tag)
{
	uint32_t m = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		m |= (uint32_t)(LOAD(&b->tag[i]) == tag) << i;
	return m;
}

#define PLACE	place_sip
#define COMPARE compare_scalar
#include "set/hash_table_read.h"

static bool usable(void)
{
	return true;
}

const struct hash_table_ops hash_table_scalar = {"scalar", usable,  place_of, compare,
						 find,	   collect, lookup};
