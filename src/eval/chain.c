/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain: walks rules and chains with the mask of the packets that are still there.
 *
 * A chain's live mask shrinks: a verdict takes packets out, which are then accepted by the base
 * chain (ev->accepted), at an end (ev->out), or on their way back to the calling chain. `jump` is a
 * call with a mask whose result goes on behind the rule; `goto` is a call whose result goes back
 * with those that came to this chain's end.
 *
 * Where the chain has a classifier each packet has its own place: it is looked up, all packets
 * together, goes through the rule that was found, and where it goes on is looked up again behind
 * that rule. Walked rules come in between, when no packet has a rule before them any more. What a
 * packet meets is so what it meets in a walk, in the same order. Rules that others wait for within
 * a burst (root->ordered) are run in the order of the chain. A packet that a rule wrote to is read
 * and looked up anew.
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

static void ops_run(struct eval *ev, const struct place *at, const struct prog_op *op, uint32_t n,
		    burst_mask mask, unsigned depth, struct exits *x)
{
	struct eval_result *out = ev->out;

	for (const struct prog_op *end = op + n; op < end && mask; op++) {
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
	count(ev, at->rule->stats, mask);
	trace(ev, EVAL_TRACE_RULE, at, EVAL_CONTINUE, NULL, mask);
}

/* One rule, with all ops or with those that the classifier left; returns who goes on behind it. */
static burst_mask rule_run(struct eval *ev, const struct program *p, const struct prog_rule *r,
			   bool rest, burst_mask mask, unsigned depth, struct exits *x)
{
	struct place at = {p, r};

	x->taken = 0;
	ops_run(ev, &at, rest ? r->rest : r->ops, rest ? r->n_rest : r->n_ops, mask, depth, x);
	count_left(&at, x->taken);
	return mask & ~x->taken;
}

/* --- with a classifier ---------------------------------------------------------------------- */

/*
 * From how many rules on looking packets up costs less than walking, for one packet, and how many
 * more packets one rule more is for: a rule is walked for many packets at once. Measured with
 * `tamis-bench eval few`: 9 rules for one packet, 10 for 8, 28 for 64.
 */
enum { CLASSIFY_ONE = 8, CLASSIFY_PACKETS = 3 };

static bool classifier_is_used(const struct eval *ev, const struct program *p, burst_mask mask)
{
	if (!p->classifier || ev->in->root->version < p->since || ev->in->walk)
		return false;
	return ev->in->classify ||
	       p->n_classified >= CLASSIFY_ONE + mask_count(mask) / CLASSIFY_PACKETS;
}

/* The packets in a chain, each at its place. */
struct search {
	const struct program *p;
	burst_mask live, found, pending; /* in the chain; of those: with a hit; to be looked up */
	const struct cls_entry *hit[BURST_MAX], *after[BURST_MAX];
	struct cls_key keys[BURST_MAX];
};

static const struct prog_rule *rule_of(const struct search *s, unsigned i)
{
	return s->hit[i]->cookie;
}

static void look_up(struct eval *ev, struct search *s)
{
	burst_mask found = classifier_lookup(s->p->classifier, ev->in->root->version, s->keys,
					     s->pending, s->after, s->hit);
	unsigned i;

	burst_foreach (found, i)
		__builtin_prefetch(rule_of(s, i));
	s->found = (s->found & ~s->pending) | found;
	s->pending = 0;
}

/* These packets went through rule r, some are still in the chain. */
static void go_on(struct eval *ev, struct search *s, const struct prog_rule *r, burst_mask mask,
		  burst_mask written)
{
	unsigned i;

	written &= mask;
	if (written)
		keys_read(ev, s->p, classifier_fields(s->p->classifier), written, s->keys);
	burst_foreach (mask, i)
		s->after[i] = r->last;
	s->found &= ~mask;
	s->pending |= mask;
}

static burst_mask with_rule(const struct search *s, const struct prog_rule *r, burst_mask mask)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask, i)
		m |= (burst_mask)(rule_of(s, i) == r) << i;
	return m;
}

/* Packets by the rules that they found: those of one rule are in one part, few others with them. */
enum { PARTS = 16 };

static unsigned part_of(const struct prog_rule *r)
{
	return (unsigned)(((uintptr_t)r >> 4) * UINT32_C(0x9e3779b1) >> 16) % PARTS;
}

static void parts_fill(const struct search *s, burst_mask mask, burst_mask parts[PARTS])
{
	unsigned i;

	memset(parts, 0, PARTS * sizeof(*parts));
	burst_foreach (mask, i)
		parts[part_of(rule_of(s, i))] |= bit_of(i);
}

/* The first of the rules that packets of mask have found. */
static const struct prog_rule *earliest(const struct search *s, burst_mask mask)
{
	const struct prog_rule *first = rule_of(s, (unsigned)__builtin_ctzll(mask));
	unsigned i;

	burst_foreach (mask, i) {
		const struct prog_rule *r = rule_of(s, i);

		if (r != first && classifier_before(s->p->classifier, r->first, first->first))
			first = r;
	}
	return first;
}

/* The packets whose rule comes before the walked rule w, NULL: before the end. */
static burst_mask ready(const struct search *s, const struct prog_rule *w)
{
	burst_mask m = 0;
	unsigned i;

	if (!w)
		return s->found;
	burst_foreach (s->found, i)
		if (classifier_before(s->p->classifier, s->hit[i], w->first))
			m |= bit_of(i);
	return m;
}

/* A rule that is a verdict and nothing else, for one packet. */
static void alone_run(struct eval *ev, struct search *s, const struct prog_rule *r, unsigned i,
		      struct exits *x)
{
	struct place at = {s->p, r};

	verdict(ev, &at, r->verdict, NULL, bit_of(i), 0, x);
	count_left(&at, bit_of(i));
	s->live &= ~bit_of(i);
	s->found &= ~bit_of(i);
}

/* The packets of mask go through the rules that they found. */
static void hits_run(struct eval *ev, struct search *s, burst_mask mask, unsigned depth,
		     struct exits *x)
{
	burst_mask written = ev->written, parts[PARTS];

	if (ev->in->root->ordered)
		mask = with_rule(s, earliest(s, mask), mask);
	parts_fill(s, mask, parts);
	while (mask) {
		unsigned i = (unsigned)__builtin_ctzll(mask);
		const struct prog_rule *r = rule_of(s, i);
		burst_mask same, on;

		if (r->alone) {
			alone_run(ev, s, r, i, x);
			mask &= ~bit_of(i);
			continue;
		}
		same = with_rule(s, r, mask & parts[part_of(r)]);
		ev->written = 0;
		on = rule_run(ev, s->p, r, true, same, depth, x);
		s->live &= ~(same & ~on);
		s->found &= ~same;
		if (on)
			go_on(ev, s, r, on, ev->written);
		written |= ev->written;
		mask &= ~same;
	}
	ev->written = written;
}

static const struct prog_rule *walked_next(const struct eval *ev, const struct prog_rule *r)
{
	while (r && !prog_rule_visible(r, ev->in->root->version))
		r = r->next_walked;
	return r;
}

static void walked_run(struct eval *ev, struct search *s, const struct prog_rule *r, unsigned depth,
		       struct exits *x)
{
	burst_mask written = ev->written;

	ev->written = 0;
	s->live = rule_run(ev, s->p, r, false, s->live, depth, x);
	s->found &= s->live;
	if (ev->written & s->live)
		go_on(ev, s, r, ev->written & s->live, ev->written);
	ev->written |= written;
}

/* Returns who came to the end. */
static burst_mask classified_run(struct eval *ev, const struct program *p, burst_mask mask,
				 unsigned depth, struct exits *x)
{
	const struct prog_rule *w = walked_next(ev, p->first_walked);
	struct search s;
	unsigned i;

	s.p = p;
	s.live = s.pending = mask;
	s.found = 0;
	burst_foreach (mask, i)
		s.after[i] = NULL;
	keys_read(ev, p, classifier_fields(p->classifier), mask, s.keys);
	while (s.live) {
		burst_mask now;

		if (s.pending)
			look_up(ev, &s);
		now = ready(&s, w);
		if (now) {
			hits_run(ev, &s, now, depth, x);
		} else if (w) {
			walked_run(ev, &s, w, depth, x);
			w = walked_next(ev, w->next_walked);
		} else {
			break;
		}
	}
	return s.live;
}

/* Returns the packets that go back to the caller: from the end, by return, or through a goto. */
static burst_mask chain_run(struct eval *ev, const struct program *p, burst_mask mask,
			    unsigned depth)
{
	struct place end = {p, NULL};
	struct exits x = {0};

	count_entered(p, mask);
	if (classifier_is_used(ev, p, mask))
		mask = classified_run(ev, p, mask, depth, &x);
	else
		for (const struct prog_rule *r = p->first; r && mask; r = r->next)
			if (prog_rule_visible(r, ev->in->root->version))
				mask = rule_run(ev, p, r, false, mask, depth, &x);
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
