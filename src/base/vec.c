/* SPDX-License-Identifier: Apache-2.0 */
/* vec: the growth that every typed vector shares; see vec.h. */
#include "base/vec.h"

int vec_reserve_bytes(void **items, size_t *cap, size_t want, size_t item_size)
{
	if (likely(want <= *cap))
		return 0;
	size_t n = MAX(MAX(*cap * 2, want), (size_t)8), bytes;
	if (__builtin_mul_overflow(n, item_size, &bytes))
		return -ENOMEM;
	void *p = realloc(*items, bytes);
	if (!p)
		return -ENOMEM;
	*items = p;
	*cap = n;
	return 0;
}
