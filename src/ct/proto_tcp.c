/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_tcp: the states of a TCP connection as somebody in the middle sees them.
 *
 * States and transitions are those of the kernel's tracker, without its check of sequence windows:
 * every segment counts as inside. A packet that cannot be right is invalid; one that may be right
 * although we think otherwise (a SYN in an established connection: the ends may know better) is let
 * through and changes nothing, but if the other end takes it up, so do we. RFC 9293, RFC 5961.
 */
#include "ct/proto.h"

enum { TCP_HEADER = 20 };
enum { FIN = 1, SYN = 2, RST = 4, ACK = 16, URG = 32 };

enum tcp_state {
	TCP_NONE,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_ESTABLISHED,
	TCP_FIN_WAIT,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_SYN_SENT2,
	TCP_STATES
};

enum tcp_event { EV_SYN, EV_SYNACK, EV_FIN, EV_ACK, EV_RST, EVENTS, EV_NONE = EVENTS };

/* One letter a state, in their order; `-` is invalid, `.` is let through. */
static const char state_letters[] = "nSREFCLTX2";
_Static_assert(sizeof(state_letters) - 1 == TCP_STATES, "one letter a state");

/* clang-format off */
static const char transitions[2][EVENTS][TCP_STATES + 1] = {
	[CT_ORIGINAL] = {
		/*             nSREFCLTX2 */
		[EV_SYN]    = "SS.....SS2",
		[EV_SYNACK] = "--R------R",
		[EV_FIN]    = "--FFLLLTX-",
		[EV_ACK]    = "E-EECCTTX-",
		[EV_RST]    = "-XXXXXXXXX",
	},
	[CT_REPLY] = {
		[EV_SYN]    = "-2-----S-2",
		[EV_SYNACK] = "-R.......R",
		[EV_FIN]    = "--FFLLLTX-",
		[EV_ACK]    = "-.RECCTTX.",
		[EV_RST]    = "-XXXXXXXXX",
	},
};
/* clang-format on */

/* The lifetimes stand in the order of the states. */
_Static_assert(CT_TIMEOUT_TCP_SYN_SENT - TCP_SYN_SENT == CT_TIMEOUT_TCP_SYN_SENT2 - TCP_SYN_SENT2,
	       "states and lifetimes in one order");

static enum ct_timeout state_timeout(uint8_t state)
{
	return (enum ct_timeout)(CT_TIMEOUT_TCP_SYN_SENT + state - TCP_SYN_SENT);
}

static enum tcp_event event_of(uint8_t flags)
{
	if (flags & RST)
		return EV_RST;
	if (flags & SYN)
		return flags & ACK ? EV_SYNACK : EV_SYN;
	if (flags & FIN)
		return EV_FIN;
	return flags & ACK ? EV_ACK : EV_NONE;
}

bool tcp_valid(const struct proto_packet *p)
{
	const uint8_t *h = proto_header(p, TCP_HEADER);
	if (!h)
		return false;
	uint32_t header = (h[12] >> 4) * 4U;
	if (header < TCP_HEADER || header > proto_length(p))
		return false;
	switch (h[13] & (FIN | SYN | RST | ACK | URG)) {
	case SYN:
	case SYN | URG:
	case SYN | ACK:
	case RST:
	case RST | ACK:
	case FIN | ACK:
	case FIN | ACK | URG:
	case ACK:
	case ACK | URG:
		return true;
	default:
		return false;
	}
}

/* The sequence number behind the segment. */
static uint32_t segment_end(const struct proto_packet *p, const uint8_t *h)
{
	uint32_t payload = proto_length(p) - (h[12] >> 4) * 4U;
	return be32_load(h + 4) + payload + !!(h[13] & SYN) + !!(h[13] & FIN);
}

bool tcp_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	enum tcp_event ev = event_of(proto_header(p, TCP_HEADER)[13]);

	f->tcp = (struct tcp_flow){.state = TCP_NONE, .last_event = EV_NONE};
	return ev == EV_SYN || (ev == EV_ACK && t->config.tcp_loose);
}

/* A SYN that finds a closed connection: true if it may begin a new one. */
static bool reopens(const struct tcp_flow *tcp, const struct proto_packet *p)
{
	return tcp->close_seen || (tcp->last_event == EV_RST && tcp->last_dir == p->dir);
}

enum proto_answer tcp_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	const uint8_t *h = proto_header(p, TCP_HEADER);
	enum tcp_event ev = event_of(h[13]);
	struct tcp_flow *tcp = &f->tcp;
	uint8_t old = tcp->state, new;
	char letter = transitions[p->dir][ev][old];

	if (letter == '-')
		return PROTO_INVALID;
	if (letter == 'S' && old >= TCP_TIME_WAIT) {
		if (reopens(tcp, p))
			return PROTO_REOPEN;
		letter = '.';
	}
	if (letter == '.') {
		bool answers_ignored_syn = ev == EV_SYNACK && tcp->last_event == EV_SYN &&
					   tcp->last_dir != p->dir &&
					   be32_load(h + 8) == tcp->last_end;
		if (!answers_ignored_syn) {
			tcp->last_event = (uint8_t)ev;
			tcp->last_dir = (uint8_t)p->dir;
			tcp->last_end = segment_end(p, h);
			return PROTO_PASS;
		}
		/* Both ends agree on a connection that we do not know of. */
		old = TCP_SYN_SENT;
		new = TCP_SYN_RECV;
		tcp->close_seen = false;
	} else {
		new = (uint8_t)(strchr(state_letters, letter) - state_letters);
	}

	/* The answer to a SYN that we let through in LAST_ACK does not acknowledge the FIN. */
	if (new == TCP_TIME_WAIT && old == TCP_LAST_ACK &&ev == EV_ACK &&
	    tcp->last_event == EV_SYN && tcp->last_dir != p->dir) {
		tcp->last_event = EV_NONE;
		return PROTO_PASS;
	}
	if (new == TCP_SYN_SENT2)
		tcp->simultaneous = true;
	else if (new == TCP_SYN_RECV && p->dir == CT_REPLY &&ev == EV_ACK && tcp->simultaneous)
		new = TCP_ESTABLISHED;
	if (new == TCP_FIN_WAIT && old != new)
		tcp->close_seen = true;
	tcp->last_event = (uint8_t)ev;
	tcp->last_dir = (uint8_t)p->dir;
	tcp->state = new;

	enum ct_timeout timeout = ev == EV_RST ? CT_TIMEOUT_TCP_CLOSE : state_timeout(new);
	if (!(f->status & CT_SEEN_REPLY)) {
		if (ev == EV_RST) { /* nothing but a RST came back: there never was a connection */
			table_remove(t, f);
			return PROTO_PASS;
		}
		/* Picked up in the middle: be careful until the other side is heard. */
		if (new == TCP_ESTABLISHED &&
		    t->config.timeout_ns[timeout] > t->config.timeout_ns[CT_TIMEOUT_TCP_UNACK])
			timeout = CT_TIMEOUT_TCP_UNACK;
	} else if (!(f->status & CT_ASSURED) && (old == TCP_SYN_RECV || old == TCP_ESTABLISHED) &&
		   new == TCP_ESTABLISHED) {
		flow_assure(f);
	}
	flow_refresh(t, f, timeout, p->now);
	return PROTO_TAKE;
}

bool tcp_has_ended(const struct ct_flow *f)
{
	return f->tcp.state == TCP_TIME_WAIT || f->tcp.state == TCP_CLOSE;
}
