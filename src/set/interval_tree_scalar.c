/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree_scalar: the packet path of interval trees for any CPU, and what the others are held
 * to. */
#include "set/interval_tree_read.h"

static bool usable(void)
{
	return true;
}

const struct interval_tree_ops interval_tree_scalar = {"scalar", usable, lookup};
