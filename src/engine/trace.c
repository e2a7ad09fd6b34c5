/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: eval's events, with the names and texts of the model, and those of ACLs; see
 * tamis/trace.h.
 */
#include "engine/describe.h"
#include "engine/engine.h"

enum { CHAIN_NAME_MAX = 32 };

static const char *const verdict_names[] = {
	[EVAL_ACCEPT] = "accept", [EVAL_DROP] = "drop",	  [EVAL_CONTINUE] = "continue",
	[EVAL_RETURN] = "return", [EVAL_JUMP] = "jump",	  [EVAL_GOTO] = "goto",
	[EVAL_REJECT] = "reject", [EVAL_QUEUE] = "queue", [EVAL_STOLEN] = "stolen",
};

/* As the kernel names anonymous chains. */
static const char *chain_name(const struct program *p, char buf[CHAIN_NAME_MAX])
{
	const struct model_chain *c = p->chain;

	if (c->name)
		return c->name;
	snprintf(buf, CHAIN_NAME_MAX, "__chain%llu", (unsigned long long)c->handle);
	return buf;
}

/* The names of the interfaces that a packet has at a hook. */
static void interfaces_at(const struct tamis_burst *tb, const struct eval_place *at,
			  const char **in, const char **out)
{
	const struct interface_table *names = tb->engine->interfaces;
	uint8_t hook = at->base->hook;

	*in = hook == PH_OUTPUT || hook == PH_EGRESS ? NULL
						     : interface_name(names, tb->b.iif[at->packet]);
	*out = hook == PH_FORWARD || hook == PH_OUTPUT || hook == PH_POSTROUTING ||
			       hook == PH_EGRESS
		       ? interface_name(names, tb->b.oif[at->packet])
		       : NULL;
}

/* Everything but kind, text and verdict. `name` has room for a chain's name. */
static struct tamis_trace event_at(const struct eval_place *at, char name[CHAIN_NAME_MAX])
{
	const struct model_chain *chain = at->chain->chain;

	return (struct tamis_trace){
		.packet = at->packet,
		.family = family_name(chain->table->family),
		.table = chain->table->name,
		.chain = chain_name(at->chain, name),
		.handle = at->rule ? at->rule->handle : 0,
	};
}

void trace_event(void *arg, const struct eval_trace *e)
{
	static const enum tamis_trace_kind kinds[] = {
		[EVAL_TRACE_PACKET] = TAMIS_TRACE_PACKET,
		[EVAL_TRACE_RULE] = TAMIS_TRACE_RULE,
		[EVAL_TRACE_RETURN] = TAMIS_TRACE_RETURN,
		[EVAL_TRACE_POLICY] = TAMIS_TRACE_POLICY,
	};
	struct tamis_burst *tb = arg;
	struct tamis *t = tb->engine;
	char name[CHAIN_NAME_MAX], target[CHAIN_NAME_MAX];
	struct tamis_trace out = event_at(&e->at, name);
	struct strbuf text = STRBUF_INIT, verdict = STRBUF_INIT;

	out.kind = kinds[e->kind];
	if (e->kind == EVAL_TRACE_PACKET) {
		const char *in, *to;

		interfaces_at(tb, &e->at, &in, &to);
		describe_packet(&tb->b, e->at.packet, in, to, &text);
		out.text = strbuf_str(&text);
	} else {
		strbuf_puts(&verdict, verdict_names[e->verdict]);
		if (e->target)
			strbuf_printf(&verdict, " %s", chain_name(e->target, target));
		out.verdict = strbuf_str(&verdict);
	}
	if (e->kind == EVAL_TRACE_RULE) {
		t->env.numeric = PRINT_STATELESS;
		model_rule_print((struct model_rule *)e->at.rule->rule, &t->env,
				 tb->b.time[e->at.packet], &text);
		t->env.numeric = 0;
		out.text = strbuf_str(&text);
	}
	tb->trace |= UINT64_C(1) << e->at.packet;
	if (strbuf_error(&text) || strbuf_error(&verdict))
		tb->err = -ENOMEM;
	else
		t->trace(t->trace_arg, &out);
	strbuf_free(&text);
	strbuf_free(&verdict);
}

void trace_log(void *arg, const struct eval_place *at, const struct prog_log *log)
{
	struct tamis_burst *tb = arg;
	struct tamis *t = tb->engine;
	struct strbuf line = STRBUF_INIT;
	const char *in, *to;
	char name[CHAIN_NAME_MAX];

	interfaces_at(tb, at, &in, &to);
	describe_log(&tb->b, at->packet, log->prefix, in, to, log->flags, &line);
	if (strbuf_error(&line))
		tb->err = -ENOMEM;
	if (t->log && !strbuf_error(&line)) {
		struct tamis_log e = {
			.packet = at->packet,
			.time = tb->b.time[at->packet],
			.level = log->level,
			.group = log->group,
			.line = strbuf_str(&line),
		};

		t->log(t->log_arg, &e);
	}
	if (t->trace && tb->trace >> at->packet & 1 && !strbuf_error(&line)) {
		struct tamis_trace e = event_at(at, name);

		e.kind = TAMIS_TRACE_LOG;
		e.text = strbuf_str(&line);
		t->trace(t->trace_arg, &e);
	}
	strbuf_free(&line);
}

void trace_acl(void *arg, const struct acl_event *e)
{
	static const enum tamis_trace_kind kinds[] = {
		[ACL_EVENT_PACKET] = TAMIS_TRACE_PACKET,
		[ACL_EVENT_ENTRY] = TAMIS_TRACE_ENTRY,
		[ACL_EVENT_SESSION] = TAMIS_TRACE_SESSION,
		[ACL_EVENT_REFLECT] = TAMIS_TRACE_REFLECT,
		[ACL_EVENT_ETHERTYPE] = TAMIS_TRACE_ETHERTYPE,
		[ACL_EVENT_POLICY] = TAMIS_TRACE_POLICY,
	};
	struct tamis_burst *tb = arg;
	struct tamis *t = tb->engine;
	const char *iface = interface_name(t->interfaces, e->iface);
	bool output = e->dir == TAMIS_ACL_OUTPUT;
	struct tamis_acl_entry entry;
	struct tamis_macip_entry macip;
	struct strbuf text = STRBUF_INIT;
	struct tamis_trace out = {
		.kind = kinds[e->kind],
		.packet = e->packet,
		.family = "acl",
		.table = iface,
		.chain = e->macip ? "macip"
			 : output ? "output"
				  : "input",
		.verdict = e->denied ? "drop" : "accept",
	};

	switch (e->kind) {
	case ACL_EVENT_PACKET:
		describe_packet(&tb->b, e->packet, output ? NULL : iface, output ? iface : NULL,
				&text);
		out.verdict = NULL;
		break;
	case ACL_EVENT_ENTRY:
		out.handle = e->hit->entry;
		out.acl = e->hit->acl;
		if (e->macip && !tamis_macip_entry_get(tamis_acls_of(t), out.handle, &macip))
			out.macip_entry = &macip;
		else if (!e->macip && !tamis_acl_entry_get(tamis_acls_of(t), out.handle, &entry))
			out.entry = &entry;
		break;
	case ACL_EVENT_SESSION:
	case ACL_EVENT_REFLECT:
		if (e->flow)
			describe_flow(ct_flow_tuple(e->flow, CT_ORIGINAL), &text);
		break;
	case ACL_EVENT_ETHERTYPE:
		strbuf_printf(&text, "0x%04x", tb->b.protocol[e->packet]);
		break;
	case ACL_EVENT_POLICY:
		break;
	}
	out.text = text.len ? strbuf_str(&text) : NULL;
	if (strbuf_error(&text))
		tb->err = -ENOMEM;
	else
		t->trace(t->trace_arg, &out);
	strbuf_free(&text);
}
