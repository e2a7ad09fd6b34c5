/* SPDX-License-Identifier: Apache-2.0 */
/* track: what becomes of each packet; see ct.h. */
#include <netinet/in.h>

#include "ct/frag.h"
#include "ct/proto.h"

enum { ICMP_HEADER = 8, REDIRECT_FIXED = 40, OPTION_REDIRECTED = 4 };
enum { ICMP6_ERRORS_END = 128, ICMP6_REDIRECT = 137 };

/* Which flows are looked at: those of a zone, and whether a packet may begin one. */
struct scope {
	uint16_t zone;
	bool begin;
};

static void outcome(struct ct_burst *cb, unsigned i, enum ct_state state, struct ct_flow *f,
		    enum ct_direction dir)
{
	cb->state[i] = (uint8_t)state;
	cb->flow[i] = f;
	cb->dir[i] = (uint8_t)dir;
}

static enum ct_state flow_state(const struct ct_flow *f, enum ct_direction dir)
{
	return dir == CT_REPLY || f->status & CT_SEEN_REPLY ? CT_ESTABLISHED : CT_NEW;
}

static void account(const struct burst *b, unsigned i, struct ct_flow *f, enum ct_direction dir)
{
	f->packets[dir]++;
	f->bytes[dir] += b->l3len[i];
}

/* --- ICMP ----------------------------------------------------------------------------------- */

static bool icmp_is_error(uint8_t type)
{
	switch (type) {
	case 3:	 /* destination unreachable */
	case 4:	 /* source quench */
	case 5:	 /* redirect */
	case 11: /* time exceeded */
	case 12: /* parameter problem */
		return true;
	default:
		return false;
	}
}

/* Neighbour discovery but redirects, multicast listeners: not for conntrack. */
static bool icmp6_is_untracked(uint8_t type)
{
	return (type >= 130 && type <= 136) || type == 143;
}

/*
 * An error belongs to the flow of the packet that it quotes, if it goes to that packet's sender.
 */
static void track_error(struct ct_table *t, const struct burst *b, unsigned i, uint8_t family,
			uint32_t quote_off, struct scope scope, struct ct_burst *cb)
{
	struct ct_tuple quoted, answer;

	if (!tuple_of_quote(b, i, family, quote_off, &quoted) || !tuple_invert(&quoted, &answer))
		return;
	answer.zone = scope.zone;
	struct node *n = table_find(t, &answer, b->time[i]);
	if (!n || memcmp(n->tuple.daddr, b->daddr[i], family == 4 ? 4 : 16))
		return;
	outcome(cb, i, CT_RELATED, node_flow(n), n->dir);
}

/* The packet that an ICMPv6 redirect quotes is in one of its options. */
static void track_redirect(struct ct_table *t, const struct burst *b, unsigned i,
			   struct scope scope, struct ct_burst *cb)
{
	const uint8_t *ip = burst_at(b, i, b->nh_off[i], 8);
	uint32_t off = b->th_off[i] + REDIRECT_FIXED;

	if (!ip || ip[7] != 255 || b->icmp_code[i])
		return;
	for (;;) {
		const uint8_t *opt = burst_at(b, i, off, 2);
		if (!opt || !opt[1])
			return;
		if (opt[0] == OPTION_REDIRECTED) {
			track_error(t, b, i, 6, off + 8, scope, cb);
			return;
		}
		off += opt[1] * 8U;
	}
}

/* True if the packet was an ICMP message that begins no flow: everything is said of it. */
static bool track_icmp(struct ct_table *t, const struct burst *b, unsigned i, struct scope scope,
		       struct ct_burst *cb)
{
	bool v4 = b->has[HAS_IPV4] >> i & 1;
	uint32_t quote_off = b->th_off[i] + ICMP_HEADER;

	if (v4 && b->has[HAS_ICMP] >> i & 1) {
		if (!icmp_is_error(b->icmp_type[i]))
			return false;
		track_error(t, b, i, 4, quote_off, scope, cb);
		return true;
	}
	if (!v4 && b->has[HAS_ICMPV6] >> i & 1) {
		uint8_t type = b->icmp_type[i];
		if (icmp6_is_untracked(type))
			outcome(cb, i, CT_UNTRACKED, NULL, CT_ORIGINAL);
		else if (type == ICMP6_REDIRECT)
			track_redirect(t, b, i, scope, cb);
		else if (type < ICMP6_ERRORS_END)
			track_error(t, b, i, 6, quote_off, scope, cb);
		else
			return false;
		return true;
	}
	return false;
}

/* --- flows ---------------------------------------------------------------------------------- */

static void track_later_fragment(struct ct_table *t, const struct burst *b, unsigned i,
				 struct scope scope, struct ct_burst *cb)
{
	const struct ct_tuple *first = frag_recall(t->frags, b, i);

	if (!first)
		return;
	struct ct_tuple tuple = *first;
	tuple.zone = scope.zone;
	struct node *n = table_find(t, &tuple, b->time[i]);
	if (!n)
		return;
	outcome(cb, i, flow_state(node_flow(n), n->dir), node_flow(n), n->dir);
	account(b, i, node_flow(n), n->dir);
}

static void begin_flow(struct ct_table *t, struct proto_packet *p, struct ct_burst *cb)
{
	struct ct_tuple reply;

	if (!tuple_invert(p->tuple, &reply))
		return;
	struct ct_flow *f = table_add(t, p->tuple, &reply, p->now);
	if (!f) {
		cb->full |= 1ULL << p->i;
		return;
	}
	p->dir = CT_ORIGINAL;
	if (!proto_begin(t, f, p) || proto_packet(t, f, p) != PROTO_TAKE) {
		table_remove(t, f);
		return;
	}
	outcome(cb, p->i, CT_NEW, f, CT_ORIGINAL);
	account(p->b, p->i, f, CT_ORIGINAL);
}

static void track_packet(struct ct_table *t, const struct burst *b, unsigned i, struct scope scope,
			 struct ct_burst *cb)
{
	struct ct_tuple tuple;
	struct proto_packet p = {.b = b, .i = i, .tuple = &tuple, .now = b->time[i]};

	if (!tuple_of_packet(b, i, &tuple) || !proto_valid(&p))
		return;
	tuple.zone = scope.zone;
	struct node *n = table_find(t, &tuple, p.now);
	if (n) {
		struct ct_flow *f = node_flow(n);
		p.dir = n->dir;
		enum ct_state state = flow_state(f, p.dir);
		enum proto_answer answer = proto_packet(t, f, &p);
		if (answer == PROTO_INVALID)
			return;
		if (answer != PROTO_REOPEN) {
			outcome(cb, i, state, f, p.dir);
			if (answer == PROTO_TAKE)
				account(b, i, f, p.dir);
			if (p.dir == CT_REPLY)
				f->status |= CT_SEEN_REPLY;
		} else {
			table_remove(t, f);
			n = NULL;
		}
	}
	if (!n && scope.begin)
		begin_flow(t, &p, cb);
	if (cb->flow[i] && b->has[HAS_FRAG] >> i & 1)
		frag_remember(t->frags, b, i, &tuple);
}

void ct_burst_init(struct ct_burst *cb)
{
	memset(cb->state, CT_INVALID, sizeof(cb->state));
	memset(cb->dir, 0, sizeof(cb->dir));
	memset(cb->flow, 0, sizeof(cb->flow));
	cb->full = 0;
}

static void track(struct ct_table *t, const struct burst *b, burst_mask mask, burst_mask notrack,
		  struct scope scope, struct ct_burst *cb)
{
	burst_mask ip = b->has[HAS_IPV4] | b->has[HAS_IPV6];
	unsigned i;

	table_bury(t);
	burst_foreach (mask, i) {
		outcome(cb, i, CT_INVALID, NULL, CT_ORIGINAL);
		cb->full &= ~(1ULL << i);
		if (notrack >> i & 1)
			cb->state[i] = CT_UNTRACKED;
		else if (!(ip >> i & 1))
			continue;
		else if (b->has[HAS_LATER_FRAG] >> i & 1)
			track_later_fragment(t, b, i, scope, cb);
		else if (!track_icmp(t, b, i, scope, cb))
			track_packet(t, b, i, scope, cb);
	}
}

void ct_track(struct ct_table *t, const struct burst *b, burst_mask mask, burst_mask notrack,
	      struct ct_burst *cb)
{
	track(t, b, mask, notrack, (struct scope){0, true}, cb);
}

void ct_follow(struct ct_table *t, const struct burst *b, burst_mask mask, uint16_t zone,
	       struct ct_burst *cb)
{
	track(t, b, mask, 0, (struct scope){zone, false}, cb);
}

int ct_begin(struct ct_table *t, const struct burst *b, unsigned i, uint16_t zone,
	     struct ct_burst *cb)
{
	burst_mask bit = UINT64_C(1) << i;
	uint64_t full = t->stats.full;

	track(t, b, bit, 0, (struct scope){zone, true}, cb);
	ct_finish(t, cb, bit, bit);
	if (cb->full & bit)
		return t->stats.full != full ? -ENOSPC : -ENOMEM;
	return cb->flow[i] && cb->state[i] != CT_RELATED ? 0 : -EINVAL;
}

void ct_finish(struct ct_table *t, struct ct_burst *cb, burst_mask mask, burst_mask accepted)
{
	unsigned i;

	burst_foreach (mask &accepted, i) {
		struct ct_flow *f = cb->flow[i];
		if (!f || cb->state[i] == CT_RELATED || f->status & (CT_CONFIRMED | CT_DYING))
			continue;
		f->status |= CT_CONFIRMED;
		t->stats.created++;
	}
	burst_foreach (mask & ~accepted, i) {
		struct ct_flow *f = cb->flow[i];
		if (!f || cb->state[i] == CT_RELATED || f->status & CT_CONFIRMED)
			continue;
		if (!(f->status & CT_DYING))
			table_remove(t, f);
		cb->flow[i] = NULL;
	}
}
