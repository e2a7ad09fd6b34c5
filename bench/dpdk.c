/* SPDX-License-Identifier: Apache-2.0 */
/* dpdk: begins DPDK's environment for peers that need it. */
#include <rte_eal.h>
#include <rte_errno.h>

#include "bench.h"

int bench_dpdk(void)
{
	static int begun = 1;
	char *args[] = {"tamis-bench", "--no-shconf",	 "--no-huge",	      "-m",	   "3072",
			"--no-pci",    "--no-telemetry", "--log-level=error", "--lcores=0"};

	if (begun > 0)
		begun = rte_eal_init(ARRAY_SIZE(args), args) < 0 ? -rte_errno : 0;
	return begun;
}
