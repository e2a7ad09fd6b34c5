/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: what rules ask of and say to the flow table.
 *
 * A packet is tracked once, in the middle of prerouting or output; before that, and where nothing
 * is tracked, it has no flow: `ct state` says invalid, or untracked after a notrack, and other keys
 * have no value. At the path's end the table hears which packets came through.
 *
 * Nat statements leave packets as they are, but the flow has the status that the kernel gives it
 * when the address or port that it asks for is not the packet's own.
 */
#include "eval/run.h"

void flow_begin(struct eval *ev)
{
	ct_burst_init(&ev->ct);
	ev->tracked = ev->notrack = ev->confirmed = 0;
}

void flow_lookup(struct eval *ev, burst_mask mask)
{
	const struct ct_stats *stats = ct_stats_of(ev->in->ct);
	uint64_t before = stats->full;
	burst_mask full;

	ct_track(ev->in->ct, ev->b, mask, mask & ev->notrack, &ev->ct);
	ev->tracked |= mask;
	full = mask & ev->ct.full;
	ev->stats.not_tracked += stats->full - before;
	ev->stats.no_memory += mask_count(full) - (stats->full - before);
	ev->out->dropped |= full;
}

void flow_confirm(struct eval *ev, burst_mask mask)
{
	ev->confirmed |= mask;
}

void flow_end(struct eval *ev, burst_mask mask)
{
	mask &= ev->tracked;
	if (mask)
		ct_finish(ev->in->ct, &ev->ct, mask, mask & ev->confirmed);
}

void flow_notrack(struct eval *ev, burst_mask mask)
{
	unsigned i;

	burst_foreach (mask, i) {
		if (ev->ct.flow[i])
			continue;
		ev->ct.state[i] = CT_UNTRACKED;
		ev->notrack |= bit_of(i);
	}
}

burst_mask flow_nat_mask(struct eval *ev, burst_mask mask, bool source)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask & ~ev->nat_done[source], i) {
		const struct ct_flow *f = ev->ct.flow[i];

		if (f && !(ct_flow_status(f) & CT_CONFIRMED) &&
		    ev->ct.state[i] & (CT_NEW | CT_RELATED))
			m |= bit_of(i);
	}
	return m;
}

static bool addr_stays(struct eval *ev, const struct prog_nat *nat, unsigned i)
{
	static const uint8_t loopback4[] = {127, 0, 0, 1}, loopback6[16] = {[15] = 1};
	unsigned len = ev->b->has[HAS_IPV4] & bit_of(i) ? 4 : 16;
	const uint8_t *mine = nat->source ? ev->b->saddr[i] : ev->b->daddr[i];
	uint8_t path = ev->in->path[i];

	switch ((enum prog_nat_addr)nat->addr) {
	case PNA_SAME:
		return true;
	case PNA_RANGE:
		return len == nat->len && memcmp(mine, nat->lo, len) >= 0 &&
		       memcmp(mine, nat->hi, len) <= 0;
	case PNA_HOST:
		/* A packet from this host has its address already, as one to it has; what is
		 * redirected on its way out goes to the loopback address. */
		if (nat->source || path != EVAL_PATH_OUTPUT)
			return path == (nat->source ? EVAL_PATH_OUTPUT : EVAL_PATH_INPUT);
		return !memcmp(mine, len == 4 ? loopback4 : loopback6, len);
	case PNA_OTHER:
		break;
	}
	return false;
}

void flow_nat(struct eval *ev, const struct prog_nat *nat, burst_mask mask)
{
	unsigned i;

	ev->nat_done[nat->source] |= mask;
	burst_foreach (mask, i) {
		struct ct_flow *f = ev->ct.flow[i];
		uint16_t port = nat->source ? ev->b->sport[i] : ev->b->dport[i];

		if (f)
			ct_flow_set_nat(f, nat->source,
					!addr_stays(ev, nat, i) || port < nat->port_lo ||
						port > nat->port_hi);
	}
}

static bool address(const struct prog_expr *e, const struct ct_tuple *t, uint8_t *out)
{
	enum { PF_IPV4 = 2, PF_IPV6 = 10 };
	unsigned len = t->family == 4 ? 4 : 16;
	uint8_t pf = t->family == 4 ? PF_IPV4 : PF_IPV6;

	if (e->len != len || (e->ct.nfproto && e->ct.nfproto != pf))
		return false;
	memcpy(out, e->ct.key == PC_SADDR ? t->saddr : t->daddr, len);
	return true;
}

static uint64_t both(uint64_t (*get)(const struct ct_flow *f, enum ct_direction d),
		     const struct ct_flow *f, int8_t dir)
{
	return dir < 0 ? get(f, CT_ORIGINAL) + get(f, CT_REPLY) : get(f, (enum ct_direction)dir);
}

bool flow_value(struct eval *ev, const struct prog_expr *e, unsigned i, uint8_t *out)
{
	const struct ct_flow *f = ev->ct.flow[i];
	const struct ct_tuple *t;
	uint64_t v = 0, packets;

	if (!f)
		return false;
	t = ct_flow_tuple(f,
			  e->ct.direction < 0 ? CT_ORIGINAL : (enum ct_direction)e->ct.direction);
	switch ((enum prog_ct)e->ct.key) {
	case PC_STATE:
		v = ev->ct.state[i];
		break;
	case PC_DIRECTION:
		v = ev->ct.dir[i];
		break;
	case PC_STATUS:
		v = ct_flow_status(f);
		break;
	case PC_MARK:
		v = ct_flow_mark(f);
		break;
	case PC_EXPIRATION:
		v = ct_flow_expires_in(f, ev->b->time[i]) / 1000000;
		break;
	case PC_L3PROTO:
		v = t->family == 4 ? 2 : 10;
		break;
	case PC_PROTOCOL:
		v = t->l4proto;
		break;
	case PC_SADDR:
	case PC_DADDR:
		return address(e, t, out);
	case PC_PROTO_SRC:
		v = t->sport;
		break;
	case PC_PROTO_DST:
		v = t->dport;
		break;
	case PC_BYTES:
		v = both(ct_flow_bytes, f, e->ct.direction);
		break;
	case PC_PACKETS:
		v = both(ct_flow_packets, f, e->ct.direction);
		break;
	case PC_AVGPKT:
		packets = both(ct_flow_packets, f, e->ct.direction);
		v = packets ? both(ct_flow_bytes, f, e->ct.direction) / packets : 0;
		break;
	case PC_ZONE:
		break;
	case PC_ID:
		v = ct_flow_id(f);
		break;
	case PROG_CTS:
		return false;
	}
	be_store(out, v, e->len);
	return true;
}

void flow_set(struct eval *ev, enum prog_ct_set key, unsigned i, uint64_t value)
{
	switch (key) {
	case PCS_MARK:
		if (ev->ct.flow[i])
			ct_flow_set_mark(ev->ct.flow[i], (uint32_t)value);
		break;
	}
}

struct alive_ctx {
	const struct ct_table *ct;
	uint64_t now;
};

static bool alive(void *ctx, uint64_t conn)
{
	const struct alive_ctx *a = ctx;

	return ct_alive(a->ct, conn, a->now);
}

bool flow_connlimit(struct eval *ev, struct state *st, unsigned i)
{
	uint64_t now = ev->b->time[i];
	struct alive_ctx a = {ev->in->ct, now};
	struct state_conn conn = {.conns = &ev->conns, .alive = alive, .ctx = &a};
	int r;

	if (!ev->ct.flow[i])
		return state_eval(st, bit_of(i), ev->len, ev->b->time) != 0;
	conn.conn = ct_flow_id(ev->ct.flow[i]);
	r = state_eval_conn(st, ev->len[i], now, &conn);
	if (r >= 0)
		return r;
	ev->stats.unready++;
	if (!ev->in->alone)
		return false;
	if (state_conns_provide(&ev->conns, 1)) {
		ev->stats.no_memory++;
		return false;
	}
	return state_eval_conn(st, ev->len[i], now, &conn) > 0;
}
