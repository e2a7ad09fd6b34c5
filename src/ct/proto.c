/* SPDX-License-Identifier: Apache-2.0 */
/* proto: the choice of protocol, and the protocols that need a few lines only; see proto.h. */
#include "ct/proto.h"

#include <netinet/in.h>

enum { PROTO_UDPLITE = 136, UDP_HEADER = 8 };

#define STREAM_AFTER_NS (2 * 1000000000ULL)

/* --- datagrams ------------------------------------------------------------------------------ */

static bool udp_valid(const struct proto_packet *p)
{
	const uint8_t *h = proto_header(p, UDP_HEADER);
	if (!h)
		return false;
	uint32_t len = be16_load(h + 4);
	if (p->b->has[HAS_FRAG] >> p->i & 1) /* the header tells the whole datagram's length */
		return len >= UDP_HEADER;
	return len >= UDP_HEADER && len <= proto_length(p);
}

static bool udplite_valid(const struct proto_packet *p)
{
	const uint8_t *h = proto_header(p, UDP_HEADER);
	if (!h)
		return false;
	uint32_t covered = be16_load(h + 4);
	if (p->b->has[HAS_FRAG] >> p->i & 1)
		return true;
	return be16_load(h + 6) &&
	       (!covered || (covered >= UDP_HEADER && covered <= proto_length(p)));
}

/* Traffic in both directions that goes on for a while is a stream: it lives longer, assured. */
static void udp_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p,
		       enum ct_timeout unreplied, enum ct_timeout replied)
{
	bool stream = f->status & CT_SEEN_REPLY && p->now > f->stream_from;

	flow_refresh(t, f, stream ? replied : unreplied, p->now);
	if (stream && !(f->status & CT_ASSURED))
		flow_assure(f);
}

static void gre_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	if (!(f->status & CT_SEEN_REPLY)) {
		flow_refresh(t, f, CT_TIMEOUT_GRE_UNREPLIED, p->now);
		return;
	}
	flow_refresh(t, f, CT_TIMEOUT_GRE_REPLIED, p->now);
	if (!(f->status & CT_ASSURED))
		flow_assure(f);
}

/* --- choice --------------------------------------------------------------------------------- */

bool proto_valid(const struct proto_packet *p)
{
	switch (p->tuple->l4proto) {
	case IPPROTO_TCP:
		return tcp_valid(p);
	case IPPROTO_UDP:
		return udp_valid(p);
	case PROTO_UDPLITE:
		return udplite_valid(p);
	case IPPROTO_SCTP:
		return sctp_valid(p);
	default:
		return true;
	}
}

bool proto_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	const struct ct_tuple *tuple = p->tuple;

	switch (tuple->l4proto) {
	case IPPROTO_TCP:
		return tcp_begin(t, f, p);
	case IPPROTO_UDP:
	case PROTO_UDPLITE:
		f->stream_from = p->now + STREAM_AFTER_NS;
		return true;
	case IPPROTO_SCTP:
		return sctp_begin(t, f, p);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		/* The other family's ICMP is a protocol like any other. */
		return (tuple->family == 4) != (tuple->l4proto == IPPROTO_ICMP) ||
		       icmp_type_is_query(tuple->l4proto, (uint8_t)(tuple->dport >> 8));
	default:
		return true;
	}
}

enum proto_answer proto_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	switch (p->tuple->l4proto) {
	case IPPROTO_TCP:
		return tcp_packet(t, f, p);
	case IPPROTO_UDP:
		udp_packet(t, f, p, CT_TIMEOUT_UDP_UNREPLIED, CT_TIMEOUT_UDP_REPLIED);
		break;
	case PROTO_UDPLITE:
		udp_packet(t, f, p, CT_TIMEOUT_UDPLITE_UNREPLIED, CT_TIMEOUT_UDPLITE_REPLIED);
		break;
	case IPPROTO_SCTP:
		return sctp_packet(t, f, p);
	case IPPROTO_GRE:
		gre_packet(t, f, p);
		break;
	case IPPROTO_ICMP:
		flow_refresh(t, f, CT_TIMEOUT_ICMP, p->now);
		break;
	case IPPROTO_ICMPV6:
		flow_refresh(t, f, CT_TIMEOUT_ICMPV6, p->now);
		break;
	default:
		flow_refresh(t, f, CT_TIMEOUT_GENERIC, p->now);
	}
	return PROTO_TAKE;
}

bool proto_has_ended(const struct ct_flow *f)
{
	return f->node[CT_ORIGINAL].tuple.l4proto == IPPROTO_TCP && tcp_has_ended(f);
}
