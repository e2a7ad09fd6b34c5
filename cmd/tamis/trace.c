/* SPDX-License-Identifier: Apache-2.0 */
/* trace: see trace.h. */
#include "trace.h"

#include <inttypes.h>
#include <string.h>

#include "compat/vpp.h"
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

static void print_verdict(struct trace *t, const char *before, const char *verdict)
{
	strbuf_printf(&t->out, "%s%s%s%s", before, paint(t->colour, verdict_paint(verdict)),
		      verdict, paint(t->colour, PAINT_NONE));
}

/* What decided, in the words of its language, and the verdict. */
static void print_decision(struct trace *t, const char *what, const struct tamis_trace *e)
{
	strbuf_puts(&t->out, what);
	if (e->entry) {
		strbuf_printf(&t->out, " acl %" PRIu32 " entry %" PRIu32 " ", e->acl,
			      e->entry->position);
		vpp_rule_print(&e->entry->rule, &t->out);
	} else if (e->macip_entry) {
		strbuf_printf(&t->out, " acl %" PRIu32 " entry %" PRIu32 " ", e->acl,
			      e->macip_entry->position);
		vpp_macip_rule_print(&e->macip_entry->rule, &t->out);
	} else if (e->text) {
		strbuf_printf(&t->out, " %s", e->text);
	}
	print_verdict(t, " (verdict ", e->verdict);
	strbuf_putc(&t->out, ')');
}

void trace_print_event(void *arg, const struct tamis_trace *e)
{
	static const char *const decisions[] = {
		[TAMIS_TRACE_RULE] = "rule",	       [TAMIS_TRACE_ENTRY] = "rule",
		[TAMIS_TRACE_REFLECT] = "reflect",     [TAMIS_TRACE_SESSION] = "session",
		[TAMIS_TRACE_ETHERTYPE] = "ethertype",
	};
	struct trace *t = arg;

	strbuf_printf(&t->out, "trace id %" PRIu64 " %s %s %s ", t->base + e->packet + 1, e->family,
		      e->table, e->chain);
	switch (e->kind) {
	case TAMIS_TRACE_PACKET:
		strbuf_printf(&t->out, "packet: %s", e->text);
		break;
	case TAMIS_TRACE_RULE:
	case TAMIS_TRACE_ENTRY:
	case TAMIS_TRACE_REFLECT:
	case TAMIS_TRACE_SESSION:
	case TAMIS_TRACE_ETHERTYPE:
		print_decision(t, decisions[e->kind], e);
		break;
	case TAMIS_TRACE_RETURN:
		print_verdict(t, "verdict ", e->verdict);
		break;
	case TAMIS_TRACE_POLICY:
		print_verdict(t, "policy ", e->verdict);
		break;
	case TAMIS_TRACE_LOG:
		strbuf_printf(&t->out, "log %s", e->text);
		break;
	}
	strbuf_putc(&t->out, '\n');
}

void trace_print_log(void *arg, const struct tamis_log *e)
{
	struct trace *t = arg;
	uint64_t us = e->time / NS_PER_US;

	strbuf_printf(&t->log, "[%5" PRIu64 ".%06" PRIu64 "] %s\n", us / US_PER_S, us % US_PER_S,
		      e->line);
}
