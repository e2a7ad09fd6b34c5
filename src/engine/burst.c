/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst: packets in, verdicts out.
 *
 * The bytes that a caller hands in are never written to: the first rule that changes a packet makes
 * eval ask for a copy, which the burst keeps until it is cleared.
 */
#include <stdlib.h>

#include "engine/engine.h"

enum { COLLECT_BUDGET = 64 }; /* expired elements of each set, and flows, that a burst frees */

_Static_assert((int)BURST_MAX == (int)TAMIS_BURST_MAX, "one size of bursts");
_Static_assert((int)LINK_EN10MB == TAMIS_LINK_ETHERNET && (int)LINK_RAW == TAMIS_LINK_RAW &&
		       (int)LINK_NULL == TAMIS_LINK_NULL && (int)LINK_LOOP == TAMIS_LINK_LOOP &&
		       (int)LINK_SLL == TAMIS_LINK_SLL && (int)LINK_SLL2 == TAMIS_LINK_SLL2 &&
		       (int)LINK_TYPES == TAMIS_LINK_SLL2 + 1,
	       "link types have one numbering");

int tamis_burst_new(struct tamis *t, struct tamis_burst **out)
{
	struct tamis_burst *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->engine = t;
	*out = b;
	return 0;
}

void tamis_burst_free(struct tamis_burst *b)
{
	if (!b)
		return;
	tamis_burst_clear(b);
	free(b);
}

int tamis_burst_add(struct tamis_burst *b, const struct tamis_packet *p)
{
	unsigned i = b->b.n;

	if (i == BURST_MAX)
		return -ENOBUFS;
	if ((unsigned)p->link >= LINK_TYPES || p->len < p->caplen || (!p->data && p->caplen))
		return -EINVAL;
	b->b.data[i] = b->given[i] = p->data;
	b->b.caplen[i] = p->caplen;
	b->b.len[i] = p->len;
	b->b.time[i] = engine_time(p->time);
	b->b.link[i] = (uint8_t)p->link;
	b->b.iif[i] = p->iif;
	b->b.oif[i] = p->oif;
	b->dev[i] = p->dev;
	b->b.n++;
	return (int)i;
}

void tamis_burst_trace(struct tamis_burst *b, uint64_t mask)
{
	b->trace = mask;
}

static burst_mask all_of(const struct burst *b)
{
	return b->n == BURST_MAX ? UINT64_MAX : (UINT64_C(1) << b->n) - 1;
}

/* eval's request for bytes that it may change. */
static uint8_t *writable(void *arg, const struct burst *b, unsigned i)
{
	struct tamis_burst *tb = arg;

	if (!tb->copies[i]) {
		tb->copies[i] = malloc(MAX(b->caplen[i], 1U));
		if (tb->copies[i] && b->caplen[i])
			memcpy(tb->copies[i], b->data[i], b->caplen[i]);
		else if (!tb->copies[i])
			tb->err = -ENOMEM;
	}
	return tb->copies[i];
}

/* eval's question. Addresses are looked at as rules left them. */
static bool is_local(void *arg, const struct burst *b, unsigned i, bool source)
{
	const struct tamis_burst *tb = arg;

	return local_has(&tb->engine->local, b, i, source);
}

/*
 * The kernel's clock does not go back: a packet that is earlier than one before it counts as at
 * that one's time. Else what a set still holds of a time that has passed would depend on the
 * bursts.
 */
static void times_order(struct tamis_burst *b)
{
	uint64_t now = b->engine->now;

	for (unsigned i = 0; i < b->b.n; i++)
		b->b.time[i] = now = MAX(now, b->b.time[i]);
}

/* Each packet's path, and the interfaces that it has on it. */
static void paths_choose(struct tamis_burst *b)
{
	static const uint8_t fixed[] = {
		[TAMIS_PATH_AUTO] = EVAL_PATH_FORWARD,	  [TAMIS_PATH_INPUT] = EVAL_PATH_INPUT,
		[TAMIS_PATH_FORWARD] = EVAL_PATH_FORWARD, [TAMIS_PATH_OUTPUT] = EVAL_PATH_OUTPUT,
		[TAMIS_PATH_BRIDGE] = EVAL_PATH_BRIDGE,
	};
	const struct tamis *t = b->engine;
	burst_mask to = 0, from = 0;

	if (t->path == TAMIS_PATH_AUTO)
		local_find(&t->local, &b->b, &to, &from);
	for (unsigned i = 0; i < b->b.n; i++) {
		uint8_t path = fixed[t->path];

		if (to >> i & 1)
			path = EVAL_PATH_INPUT;
		else if (from >> i & 1)
			path = EVAL_PATH_OUTPUT;
		b->path[i] = path;
		if (path == EVAL_PATH_OUTPUT) {
			b->b.oif[i] = b->b.oif[i] ? b->b.oif[i] : b->dev[i];
			b->b.iif[i] = 0;
		} else {
			b->b.iif[i] = b->b.iif[i] ? b->b.iif[i] : b->dev[i];
			if (path == EVAL_PATH_INPUT)
				b->b.oif[i] = 0;
		}
	}
}

static void count(struct tamis_count *c, uint32_t bytes)
{
	c->packets++;
	c->bytes += bytes;
}

static enum tamis_verdict verdict_of(const struct eval_result *r, unsigned i)
{
	if ((r->accepted | r->stolen) >> i & 1)
		return TAMIS_ACCEPT;
	if (r->rejected >> i & 1)
		return TAMIS_REJECT;
	if (r->queued >> i & 1)
		return TAMIS_QUEUE;
	return TAMIS_DROP;
}

static void totals_add(struct tamis *t, const struct tamis_burst *b)
{
	for (unsigned i = 0; i < b->b.n; i++) {
		uint32_t bytes = b->b.len[i];
		uint32_t malformed = b->b.malformed[i];

		count(&t->totals.all, bytes);
		count(&t->totals.by_verdict[verdict_of(&b->result, i)], bytes);
		if (b->result.malformed >> i & 1)
			count(&t->totals.refused, bytes);
		if (b->result.accepted & ~b->result.seen & UINT64_C(1) << i)
			count(&t->totals.unseen, bytes);
		t->totals.malformed_packets += malformed != 0;
		for (; malformed; malformed &= malformed - 1)
			t->totals.malformed[__builtin_ctz(malformed)]++;
		t->now = MAX(t->now, b->b.time[i]);
	}
}

/* The ruleset's part. */
static void judge(struct tamis_burst *b, const struct eval_input *in)
{
	if (in->root)
		eval_run(b->engine->eval, in, &b->result);
	else
		b->result.accepted = in->mask;
}

static void result_add(struct eval_result *to, const struct eval_result *r)
{
	to->accepted |= r->accepted;
	to->dropped |= r->dropped;
	to->rejected |= r->rejected;
	to->queued |= r->queued;
	to->stolen |= r->stolen;
	to->malformed |= r->malformed;
	to->changed |= r->changed;
	to->seen |= r->seen;
}

/* ACLs where the packets arrive, the ruleset, ACLs where they leave; one packet after the other
 * where what one does can matter to the next. */
static void judge_with_acls(struct tamis_burst *b, struct eval_input *in)
{
	struct acl_path *acl = b->engine->acl;
	struct eval_result *r = &b->result, whole = {0};
	bool exact = in->exact || (in->root && in->root->exact) || acl_path_exact(acl);
	struct acl_watch watch = {.fn = trace_acl, .arg = b};
	burst_mask arrive = 0, leave = 0, denied;
	unsigned i;

	burst_foreach (all_of(&b->b), i) {
		arrive |= b->path[i] != EVAL_PATH_OUTPUT ? (burst_mask)1 << i : 0;
		leave |= b->path[i] != EVAL_PATH_INPUT ? (burst_mask)1 << i : 0;
	}
	for (burst_mask rest = all_of(&b->b), now; rest; rest &= ~now) {
		now = exact ? rest & -rest : rest;
		watch.mask = in->trace;
		denied = acl_path_run(acl, &b->b, now & arrive, arrive, TAMIS_ACL_INPUT, &watch,
				      &b->err);
		in->mask = now & ~denied;
		judge(b, in);
		r->dropped |= denied;
		/* Rules may have said that a packet is traced from there on. */
		watch.mask = b->engine->trace ? b->trace : 0;
		denied = acl_path_run(acl, &b->b, r->accepted & leave, ~arrive, TAMIS_ACL_OUTPUT,
				      &watch, &b->err);
		r->accepted &= ~denied;
		r->dropped |= denied;
		result_add(&whole, r);
		r->dropped = 0;
	}
	/* Each was before an ACL. */
	whole.seen = all_of(&b->b);
	acl_path_collect(acl, b->engine->now, COLLECT_BUDGET);
	result_add(r, &whole);
}

int tamis_burst_run(struct tamis_burst *b)
{
	struct tamis *t = b->engine;
	const struct program_root *root = compile_root(t->compile);
	const struct eval_stats *stats = eval_stats_of(t->eval);
	uint64_t no_memory = stats->no_memory;
	struct eval_ops ops = {
		.arg = b,
		.log = t->log || t->trace ? trace_log : NULL,
		.trace = t->trace ? trace_event : NULL,
		.writable = writable,
		.local = t->local.n ? is_local : NULL,
	};
	struct eval_input in = {
		.root = root,
		.burst = &b->b,
		.path = b->path,
		.devices = {.n = interface_count(t->interfaces),
			    .names = interface_names(t->interfaces)},
		.ct = t->ct,
		.ops = &ops,
		.trace = t->trace ? b->trace : 0,
		/* So that what is told comes packet by packet. */
		.exact = t->trace || t->log,
		.walk = t->walk,
		.classify = t->classify,
		.alone = true,
	};

	if (!b->b.n)
		return 0;
	times_order(b);
	burst_parse(&b->b);
	paths_choose(b);
	b->result = (struct eval_result){0};
	b->err = root ? eval_provide(t->eval, root) : 0;
	if (t->acl && acl_path_bound(t->acl)) {
		judge_with_acls(b, &in);
	} else {
		in.mask = all_of(&b->b);
		judge(b, &in);
	}
	if (stats->no_memory != no_memory)
		b->err = -ENOMEM;
	t->totals.not_tracked = stats->not_tracked;
	t->totals.too_deep = stats->depth;
	t->totals.unready = stats->unready;
	t->totals.no_interface = t->acl ? acl_path_lost(t->acl) : 0;
	b->judged = b->b.n;
	totals_add(t, b);
	engine_collect_step(t, t->now, COLLECT_BUDGET);
	if (root && eval_provide(t->eval, root) && !b->err)
		b->err = -ENOMEM;
	ct_gc(t->ct, t->now, COLLECT_BUDGET);
	return b->err;
}

uint64_t tamis_burst_mask(const struct tamis_burst *b, enum tamis_verdict v)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < b->judged; i++)
		mask |= (uint64_t)(verdict_of(&b->result, i) == v) << i;
	return mask;
}

int tamis_burst_result(const struct tamis_burst *b, unsigned i, struct tamis_result *out)
{
	if (i >= b->judged)
		return -EINVAL;
	*out = (struct tamis_result){
		.verdict = verdict_of(&b->result, i),
		.malformed = b->b.malformed[i],
		.queue = b->result.queue[i],
		.mark = b->b.mark[i],
		.priority = b->b.priority[i],
	};
	return 0;
}

const void *tamis_burst_data(const struct tamis_burst *b, unsigned i)
{
	return i < b->b.n ? b->b.data[i] : NULL;
}

void tamis_burst_clear(struct tamis_burst *b)
{
	for (unsigned i = 0; i < b->b.n; i++) {
		free(b->copies[i]);
		b->copies[i] = NULL;
	}
	b->b.n = b->judged = 0;
	b->trace = 0;
	b->result = (struct eval_result){0};
}
