/* SPDX-License-Identifier: Apache-2.0 */
/* dpdk: begins DPDK's environment for peers that need it. */
#include <errno.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

#undef container_of /* as ours */
#include "bench.h"

/* In the place of libc's: without it DPDK maps memory that the kernel can back by huge pages. */
__attribute__((visibility("default"))) int memfd_create(const char *name, unsigned flags)
{
	errno = ENOSYS;
	return -1;
}

/* What is there of DPDK's memory is to be huge pages, as our own may be. */
static int advise(const struct rte_memseg_list *list, const struct rte_memseg *seg, size_t len,
		  void *arg)
{
	madvise(seg->addr, len, MADV_HUGEPAGE); /* or it stays as it is */
	return 0;
}

int bench_dpdk(void)
{
	static int begun = 1;
	char *args[] = {"tamis-bench", "--no-shconf",	 "--no-huge",	      "-m",	   "3072",
			"--no-pci",    "--no-telemetry", "--log-level=error", "--lcores=0"};

	if (begun > 0) {
		begun = rte_eal_init(ARRAY_SIZE(args), args) < 0 ? -rte_errno : 0;
		if (!begun)
			rte_memseg_contig_walk(advise, NULL);
	}
	return begun;
}
