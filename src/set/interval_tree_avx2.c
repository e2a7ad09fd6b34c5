/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree_avx2: the packet path of interval trees for CPUs with AVX2: the compiler makes
 * vectors of it. */
#include "set/interval_tree_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct interval_tree_ops interval_tree_avx2 = {"avx2", usable, lookup};
