/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stmt: statements that are no verdicts. Each returns the packets for which its rule goes on; those
 * that keep state see their packets in the order of the burst.
 */
#include "eval/run.h"

static bool state_one(struct eval *ev, struct state *st, unsigned i, bool shared)
{
	if (state_kind_of(st) != STATE_CONNLIMIT)
		return (shared ? state_eval_shared(st, &ev->batch, bit_of(i), ev->len, ev->b->time)
			       : state_eval(st, bit_of(i), ev->len, ev->b->time)) != 0;
	return flow_connlimit(ev, st, i);
}

bool stmt_elem_states(struct eval *ev, const struct set *s, struct state_list *l, unsigned i)
{
	bool shared = set_desc_of(s)->rcu != NULL; /* by workers */
	unsigned n = state_list_len(l);

	for (unsigned k = 0; k < n; k++)
		if (!state_one(ev, state_list_at(l, k), i, shared))
			return false;
	return true;
}

static burst_mask connlimit(struct eval *ev, struct state *st, burst_mask mask)
{
	burst_mask go = 0;
	unsigned i;

	burst_foreach (mask, i)
		if (state_one(ev, st, i, false))
			go |= bit_of(i);
	return go;
}

static burst_mask object_map(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	uint8_t keys[BURST_MAX * PROG_VALUE_MAX];
	struct set_elem *hit[BURST_MAX];
	struct set *set = op->lookup.set;
	burst_mask found;
	unsigned i;

	mask = value_keys(ev, op->lookup.key, mask, keys);
	mask = found = match_elements(ev, set, keys, op->lookup.key->len, mask, hit);
	burst_foreach (found, i) {
		const void *object;
		struct state *st;

		memcpy(&object, set_elem_data(set, hit[i]), sizeof(object));
		st = ev->in->root->object_state(object);
		if (st && !state_one(ev, st, i, false))
			mask &= ~bit_of(i);
	}
	return mask;
}

static burst_mask meta_set(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct column *c;
	struct burst *b = ev->b;
	unsigned i;

	mask = value_read(ev, op->meta_set.value, mask, 0, &c);
	burst_foreach (mask, i) {
		uint64_t v = c->num[i];

		switch ((enum prog_meta_set)op->meta_set.key) {
		case PMS_MARK:
			b->mark[i] = (uint32_t)v;
			break;
		case PMS_PRIORITY:
			b->priority[i] = (uint32_t)v;
			break;
		case PMS_PKTTYPE: /* as the kernel: only between the first four kinds */
			if (v <= PKT_OTHER && b->pkttype[i] <= PKT_OTHER)
				b->pkttype[i] = (uint8_t)v;
			break;
		case PMS_NFTRACE:
			ev->traced = v ? ev->traced | bit_of(i) : ev->traced & ~bit_of(i);
			break;
		}
	}
	return mask;
}

static burst_mask ct_set(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct column *c;
	unsigned i;

	mask = value_read(ev, op->ct_set.value, mask, 0, &c);
	burst_foreach (mask, i)
		flow_set(ev, op->ct_set.key, i, c->num[i]);
	return mask;
}

static void note_wanting(struct eval *ev, struct set *s)
{
	for (unsigned i = 0; i < ev->n_wanting; i++)
		if (ev->wanting[i] == s)
			return;
	if (ev->n_wanting < RUN_WANTING)
		ev->wanting[ev->n_wanting++] = s;
}

int eval_provide(struct eval *ev, const struct program_root *root)
{
	uint64_t conns = MIN((uint64_t)root->conns * BURST_MAX, (uint64_t)EVAL_CONNS_MAX);
	int err = state_conns_provide(&ev->conns, (uint32_t)conns);

	while (ev->n_wanting) {
		int r = set_provide(ev->wanting[--ev->n_wanting]);
		err = err || r == -ENOBUFS ? err : r; /* which packets find out, and count */
	}
	return err;
}

static bool update_one(struct eval *ev, const struct prog_op *op, unsigned i, const uint8_t *key,
		       const uint8_t *data)
{
	enum set_update_mode mode =
		op->update.op == PU_UPDATE ? SET_UPDATE_REFRESH : SET_UPDATE_ADD;
	struct set_item item = {
		.lo = key,
		.data = data,
		.timeout_ns = op->update.timeout_ns,
		.template = op->update.template,
	};
	struct state_list *l;
	struct set_elem *e;
	int r;

	r = set_update(op->update.set, mode, &item, ev->b->time[i], &e);
	if (r && set_wants(op->update.set))
		note_wanting(ev, op->update.set);
	if (r < 0) {
		ev->stats.no_memory += r == -ENOMEM;
		return false;
	}
	l = set_elem_ext(op->update.set, e);
	return !l || stmt_elem_states(ev, op->update.set, l, i);
}

static burst_mask update(struct eval *ev, const struct prog_op *op, burst_mask mask)
{
	const struct prog_expr *ke = op->update.key, *de = op->update.data;
	uint8_t keys[BURST_MAX * PROG_VALUE_MAX], data[BURST_MAX * PROG_VALUE_MAX];
	burst_mask go = 0;
	unsigned i;

	mask = value_keys(ev, ke, mask, keys);
	if (de)
		mask = value_keys(ev, de, mask, data);
	burst_foreach (mask, i) {
		const uint8_t *key = keys + i * ke->len;

		if (op->update.op == PU_DELETE)
			set_remove(op->update.set, key, ev->b->time[i]);
		else if (!update_one(ev, op, i, key, de ? data + i * de->len : NULL))
			continue;
		go |= bit_of(i);
	}
	return go;
}

static void log_packets(struct eval *ev, const struct prog_op *op, const struct place *at,
			burst_mask mask)
{
	const struct eval_ops *ops = ev->in->ops;
	unsigned i;

	if (!ops || !ops->log)
		return;
	burst_foreach (mask, i) {
		struct eval_place p = {i, ev->base, at->chain, at->rule};

		ops->log(ops->arg, &p, op->log);
	}
}

burst_mask stmt_run(struct eval *ev, const struct prog_op *op, const struct place *at,
		    burst_mask mask)
{
	switch ((enum prog_op_kind)op->kind) {
	case PO_STATE:
		return state_eval(op->state, mask, ev->len, ev->b->time);
	case PO_CONNLIMIT:
		return connlimit(ev, op->state, mask);
	case PO_OBJMAP:
		return object_map(ev, op, mask);
	case PO_LOG:
		log_packets(ev, op, at, mask);
		return mask;
	case PO_META_SET:
		ev->written |= mask;
		return meta_set(ev, op, mask);
	case PO_CT_SET:
		ev->written |= mask;
		return ct_set(ev, op, mask);
	case PO_PACKET_SET:
		ev->written |= mask;
		return rewrite_set(ev, op, mask);
	case PO_OPTION_SET:
		ev->written |= mask;
		return rewrite_option_set(ev, op, mask);
	case PO_OPTION_RESET:
		ev->written |= mask;
		return rewrite_option_reset(ev, op, mask);
	case PO_NOTRACK:
		ev->written |= mask;
		flow_notrack(ev, mask);
		return mask;
	case PO_UPDATE:
		return update(ev, op, mask);
	default:
		return mask;
	}
}
