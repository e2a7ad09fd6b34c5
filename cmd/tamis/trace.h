/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: prints what happens to packets, in the lines of `nft monitor trace`; the id is the
 * packet's number in the capture, from 1. Log lines go into the trace and to a file of their own.
 * One thread.
 */
#ifndef TAMIS_CMD_TRACE_H
#define TAMIS_CMD_TRACE_H

#include <stdio.h>
#include <tamis/tamis.h>

struct trace {
	FILE *out;     /* of trace lines; NULL: none */
	FILE *log;     /* of log lines; NULL: none */
	uint64_t base; /* packets before the present burst */
	bool colour;
};

/* The callbacks; arg is the struct trace. */
void trace_event(void *arg, const struct tamis_trace *e);
void trace_log(void *arg, const struct tamis_log *e);

#endif
