/* SPDX-License-Identifier: Apache-2.0 */
/* progress: see progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, UPDATE_NS = 200000000 };

uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void progress_begin(struct progress *p, bool quiet)
{
	*p = (struct progress){.on = !quiet && isatty(STDERR_FILENO)};
	if (p->on)
		p->next = clock_ns() + NS_PER_S;
}

void progress_update(struct progress *p, uint64_t packets, uint64_t done, uint64_t total)
{
	if (!p->on || clock_ns() < p->next)
		return;
	if (total)
		fprintf(stderr, "\r%" PRIu64 " packets, %.0f%% ", packets,
			100.0 * (double)done / (double)total);
	else
		fprintf(stderr, "\r%" PRIu64 " packets ", packets);
	fflush(stderr);
	p->shown = true;
	p->next = clock_ns() + UPDATE_NS;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
