/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: prints what happens to packets, in the lines of `nft monitor trace`; the id is the
 * packet's number in the capture, from 1. Log lines go into the trace and to a file of their own.
 * One thread.
 */
#ifndef TAMIS_CMD_TRACE_H
#define TAMIS_CMD_TRACE_H

#include <tamis/tamis.h>

#include "base/strbuf.h"

struct trace {
	struct strbuf out, log; /* lines of trace and log that are to be written */
	uint64_t base;		/* packets before the present burst */
	bool colour;
};

/* The callbacks; arg is the struct trace. */
void trace_print_event(void *arg, const struct tamis_trace *e);
void trace_print_log(void *arg, const struct tamis_log *e);

#endif
