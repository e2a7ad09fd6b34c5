/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree_avx512: the packet path of interval trees for CPUs with AVX-512: the compiler makes
 * vectors of it. */
#include "set/interval_tree_read.h"

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq");
}

const struct interval_tree_ops interval_tree_avx512 = {"avx512", usable, lookup};
