/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: one line on a terminal's standard error that tells how far a long replay is.
 *
 * Nothing is shown in the first second, nor when standard error is no terminal.
 */
#ifndef TAMIS_CMD_PROGRESS_H
#define TAMIS_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t next; /* ns of clock_ns(): when the line is due */
	bool on, shown;
};

/* ns of the monotonic clock. */
uint64_t clock_ns(void);

void progress_begin(struct progress *p, bool quiet);
/* `total` is 0 if it is not known. */
void progress_update(struct progress *p, uint64_t packets, uint64_t done, uint64_t total);
/* Takes the line away. */
void progress_end(struct progress *p);

#endif
