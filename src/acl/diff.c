/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: what of an ordered list can stay where it is when another takes its place.
 *
 * The longest increasing subsequence of old positions (Fredman, "On computing the length of longest
 * increasing subsequences", 1975): tails[k] is the item at which the best sequence of k + 1 items
 * ends.
 */
#include "acl/acl_int.h"

void acl_diff_keep_longest(uint32_t *at, size_t n, uint32_t *scratch)
{
	uint32_t *tails = scratch, *before = scratch + n;
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		size_t lo = 0, hi = len;

		if (at[i] == DIFF_NONE)
			continue;
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;

			if (at[tails[mid]] < at[i])
				lo = mid + 1;
			else
				hi = mid;
		}
		before[i] = lo ? tails[lo - 1] : DIFF_NONE;
		tails[lo] = i;
		len = MAX(len, lo + 1);
	}
	/* From the end back: what is not on the way goes. */
	uint32_t next = len ? tails[len - 1] : DIFF_NONE;
	for (size_t i = n; i-- > 0;) {
		if (i == next)
			next = before[i];
		else
			at[i] = DIFF_NONE;
	}
}
