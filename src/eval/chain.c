/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain: walks rules and chains with the mask of the packets that are still there.
 *
 * A chain's live mask shrinks: a verdict takes packets out, which are then accepted by the base
 * chain (ev->accepted), at an end (ev->out), or on their way back to the calling chain. `jump` is a
 * call with a mask whose result goes on behind the rule; `goto` is a call whose result goes back
 * with those that came to this chain's end.
 *
 * Calls nest at most PROG_DEPTH_MAX deep, as in the kernel; what would go deeper is dropped.
 */
#include "eval/run.h"

/* What became of packets in a rule: no longer in this chain, and of those, going back. */
struct exits {
	burst_mask taken, back;
};

static burst_mask chain_run(struct eval *ev, const struct program *p, burst_mask mask,
			    unsigned depth);

static void trace(struct eval *ev, enum eval_trace_kind kind, const struct place *at,
		  enum eval_verdict v, const struct program *target, burst_mask mask)
{
	const struct eval_ops *ops = ev->in->ops;
	struct eval_trace t = {.kind = kind, .verdict = v, .target = target};
	unsigned i;

	mask &= ev->traced;
	if (!mask || !ops || !ops->trace)
		return;
	burst_foreach (mask, i) {
		t.at = (struct eval_place){i, ev->base, at->chain, at->rule};
		ops->trace(ops->arg, &t);
	}
}

static void decide(struct eval *ev, const struct place *at, burst_mask mask)
{
	unsigned i;

	burst_foreach (mask, i) {
		ev->out->chain[i] = at->chain;
		ev->out->rule[i] = at->rule;
	}
}

static void count(struct eval *ev, struct prog_rule_stats *s, burst_mask mask)
{
	unsigned i;

	s->packets += mask_count(mask);
	burst_foreach (mask, i)
		s->bytes += ev->len[i];
}

static void count_entered(const struct program *p, burst_mask mask)
{
	struct prog_chain_stats *s = p->stats;
	unsigned n = mask_count(mask);

	s->packets += n;
	if (s->epoch != p->epoch) {
		s->epoch = p->epoch;
		s->entered = 0;
	}
	s->entered += n;
}

static void count_left(const struct place *at, burst_mask mask)
{
	struct prog_rule_stats *s = at->rule->stats;

	if (!mask)
		return;
	if (s->epoch != at->chain->epoch) {
		s->epoch = at->chain->epoch;
		s->left = 0;
	}
	s->left += mask_count(mask);
}

/* A verdict for packets that matched the whole rule. Returns those for which the rule goes on. */
static burst_mask verdict(struct eval *ev, const struct place *at, enum prog_verdict code,
			  const struct program *target, burst_mask mask, unsigned depth,
			  struct exits *x)
{
	burst_mask back;

	if (code == PV_CONTINUE)
		return mask;
	count(ev, at->rule->stats, mask);
	if ((code == PV_JUMP || code == PV_GOTO) && depth == PROG_DEPTH_MAX) {
		ev->stats.depth += mask_count(mask);
		code = PV_DROP;
	}
	switch (code) {
	case PV_ACCEPT:
		trace(ev, EVAL_TRACE_RULE, at, EVAL_ACCEPT, NULL, mask);
		decide(ev, at, mask);
		ev->accepted |= mask;
		x->taken |= mask;
		break;
	case PV_DROP:
		trace(ev, EVAL_TRACE_RULE, at, EVAL_DROP, NULL, mask);
		decide(ev, at, mask);
		ev->out->dropped |= mask;
		x->taken |= mask;
		break;
	case PV_RETURN:
		trace(ev, EVAL_TRACE_RULE, at, EVAL_RETURN, NULL, mask);
		x->taken |= mask;
		x->back |= mask;
		break;
	case PV_JUMP:
		trace(ev, EVAL_TRACE_RULE, at, EVAL_JUMP, target, mask);
		back = chain_run(ev, target, mask, depth + 1);
		x->taken |= mask & ~back;
		break;
	case PV_GOTO:
		trace(ev, EVAL_TRACE_RULE, at, EVAL_GOTO, target, mask);
		back = chain_run(ev, target, mask, depth + 1);
		x->taken |= mask;
		x->back |= back;
		break;
	case PV_CONTINUE:
	case PROG_VERDICTS:
		break;
	}
	return 0;
}

/* Packets whose elements say the same go together, in the order of the first of them. */
static burst_mask verdict_map(struct eval *ev, const struct place *at, const struct prog_op *op,
			      burst_mask mask, unsigned depth, struct exits *x)
{
	uint8_t keys[BURST_MAX * PROG_VALUE_MAX];
	struct prog_verdict_data data[BURST_MAX];
	struct set_elem *hit[BURST_MAX];
	burst_mask go = 0;
	unsigned i;

	mask = value_keys(ev, op->lookup.key, mask, keys);
	mask = match_elements(ev, op->lookup.set, keys, op->lookup.key->len, mask, hit);
	burst_foreach (mask, i)
		memcpy(&data[i], set_elem_data(op->lookup.set, hit[i]), sizeof(data[i]));
	while (mask) {
		const struct prog_verdict_data *d = &data[__builtin_ctzll(mask)];
		const struct program *target = d->chain ? ev->in->root->program_of(d->chain) : NULL;
		burst_mask same = 0;

		burst_foreach (mask, i)
			if (data[i].code == d->code && data[i].chain == d->chain)
				same |= bit_of(i);
		mask &= ~same;
		go |= verdict(ev, at, d->code, target, same, depth, x);
	}
	return go;
}

static void final(struct eval *ev, const struct place *at, enum eval_verdict v, burst_mask mask,
		  burst_mask *to, struct exits *x)
{
	count(ev, at->rule->stats, mask);
	trace(ev, EVAL_TRACE_RULE, at, v, NULL, mask);
	decide(ev, at, mask);
	*to |= mask;
	x->taken |= mask;
}

static burst_mask queue(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct column *c;
	unsigned i;

	if (!op->queue.number) {
		burst_foreach (mask, i)
			ev->out->queue[i] = 0;
		return mask;
	}
	mask = value_read(ev, op->queue.number, mask, 0, &c);
	burst_foreach (mask, i)
		ev->out->queue[i] = (uint16_t)c->num[i];
	return mask;
}

static void rule_run(struct eval *ev, const struct place *at, burst_mask mask, unsigned depth,
		     struct exits *x)
{
	const struct prog_rule *r = at->rule;
	struct eval_result *out = ev->out;

	for (const struct prog_op *op = r->ops; op < r->ops + r->n_ops && mask; op++) {
		switch ((enum prog_op_kind)op->kind) {
		case PO_RANGE:
		case PO_BITS:
			mask = match_range(ev, op, mask);
			break;
		case PO_BYTES:
			mask = match_bytes(ev, op, mask);
			break;
		case PO_COMPARE:
			mask = match_compare(ev, op, mask);
			break;
		case PO_LOOKUP:
			mask = match_lookup(ev, op, mask);
			break;
		case PO_NEVER:
			mask = 0;
			break;
		case PO_VERDICT:
			mask = verdict(ev, at, op->verdict.code, op->verdict.target, mask, depth,
				       x);
			break;
		case PO_VMAP:
			mask = verdict_map(ev, at, op, mask, depth, x);
			break;
		case PO_REJECT:
			final(ev, at, EVAL_REJECT, mask, &out->rejected, x);
			mask = 0;
			break;
		case PO_QUEUE:
			mask = queue(ev, op, mask);
			final(ev, at, EVAL_QUEUE, mask, &out->queued, x);
			mask = 0;
			break;
		case PO_FWD:
			final(ev, at, EVAL_STOLEN, mask, &out->stolen, x);
			mask = 0;
			break;
		case PO_NAT:
			flow_nat(ev, op->nat, mask);
			mask = verdict(ev, at, PV_ACCEPT, NULL, mask, depth, x);
			break;
		default:
			mask = stmt_run(ev, op, at, mask);
			break;
		}
	}
	if (!mask)
		return;
	count(ev, r->stats, mask);
	trace(ev, EVAL_TRACE_RULE, at, EVAL_CONTINUE, NULL, mask);
}

/* Returns the packets that go back to the caller: from the end, by return, or through a goto. */
static burst_mask chain_run(struct eval *ev, const struct program *p, burst_mask mask,
			    unsigned depth)
{
	struct place end = {p, NULL};
	struct exits x = {0};

	count_entered(p, mask);
	for (const struct prog_rule *r = p->first; r && mask; r = r->next) {
		struct place at = {p, r};

		if (!prog_rule_visible(r, ev->in->root->version))
			continue;
		x.taken = 0;
		rule_run(ev, &at, mask, depth, &x);
		count_left(&at, x.taken);
		mask &= ~x.taken;
	}
	if (mask)
		trace(ev, EVAL_TRACE_RETURN, &end, depth ? EVAL_RETURN : EVAL_CONTINUE, NULL, mask);
	return mask | x.back;
}

static void policy(struct eval *ev, const struct prog_base *base, burst_mask mask)
{
	struct place at = {base->program, NULL};
	struct prog_chain_stats *s = base->program->stats;
	unsigned i;

	s->policy_packets += mask_count(mask);
	burst_foreach (mask, i)
		s->policy_bytes += ev->len[i];
	trace(ev, EVAL_TRACE_POLICY, &at, base->drop ? EVAL_DROP : EVAL_ACCEPT, NULL, mask);
	decide(ev, &at, mask);
	if (base->drop)
		ev->out->dropped |= mask;
}

burst_mask base_run(struct eval *ev, const struct prog_base *base, burst_mask mask)
{
	struct place at = {base->program, NULL};
	burst_mask end;

	ev->base = base;
	ev->accepted = 0;
	trace(ev, EVAL_TRACE_PACKET, &at, EVAL_CONTINUE, NULL, mask);
	end = chain_run(ev, base->program, mask, 0);
	policy(ev, base, end);
	return ev->accepted | (base->drop ? 0 : end);
}
