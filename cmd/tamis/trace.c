/* SPDX-License-Identifier: Apache-2.0 */
/* trace: see trace.h. */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

#include "output.h"

enum { NS_PER_US = 1000, US_PER_S = 1000000 };

static enum paint verdict_paint(const char *verdict)
{
	if (strcmp(verdict, "accept") == 0)
		return PAINT_GOOD;
	if (strcmp(verdict, "drop") == 0 || strcmp(verdict, "reject") == 0)
		return PAINT_BAD;
	return PAINT_HEAD;
}

static void print_verdict(const struct trace *t, const char *before, const char *verdict)
{
	fprintf(t->out, "%s%s%s%s", before, paint(t->colour, verdict_paint(verdict)), verdict,
		paint(t->colour, PAINT_NONE));
}

void trace_event(void *arg, const struct tamis_trace *e)
{
	const struct trace *t = arg;

	fprintf(t->out, "trace id %" PRIu64 " %s %s %s ", t->base + e->packet + 1, e->family,
		e->table, e->chain);
	switch (e->kind) {
	case TAMIS_TRACE_PACKET:
		fprintf(t->out, "packet: %s", e->text);
		break;
	case TAMIS_TRACE_RULE:
		fprintf(t->out, "rule %s", e->text);
		print_verdict(t, " (verdict ", e->verdict);
		fputc(')', t->out);
		break;
	case TAMIS_TRACE_RETURN:
		print_verdict(t, "verdict ", e->verdict);
		break;
	case TAMIS_TRACE_POLICY:
		print_verdict(t, "policy ", e->verdict);
		break;
	case TAMIS_TRACE_LOG:
		fprintf(t->out, "log %s", e->text);
		break;
	}
	fputc('\n', t->out);
}

void trace_log(void *arg, const struct tamis_log *e)
{
	const struct trace *t = arg;
	uint64_t us = e->time / NS_PER_US;

	fprintf(t->log, "[%5" PRIu64 ".%06" PRIu64 "] %s\n", us / US_PER_S, us % US_PER_S, e->line);
}
