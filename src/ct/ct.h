/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ct: connection tracking. Which flow a packet belongs to and what `ct state` says of it.
 *
 * ct_track() looks at each packet of a mask once, in order, where the kernel does (prerouting or
 * output, priority -200), and ct_finish() tells at the end of the path which were accepted. As in
 * the kernel a flow begins unconfirmed with its first packet: it stays only if a packet of it was
 * accepted. What a packet changes in a flow that is there already (state, lifetime, counters)
 * is changed by ct_track(), whatever becomes of the packet.
 *
 * In one burst a packet finds flows that packets before it began, as if those were accepted. Where
 * that guess must not be made, the caller tracks and finishes packet by packet: a mask of one bit.
 *
 * What is tracked: TCP by the kernel's states, without sequence windows; UDP, UDP-Lite, GRE, ICMP
 * and ICMPv6 queries by id; SCTP by chunks without verification tags; every other protocol by its
 * addresses (DCCP by ports too). ICMP errors are related to the flow of the packet that they quote.
 * Neighbour discovery and multicast listeners are untracked. Nonsense is invalid. Checksums are not
 * verified, since captures of a sending host have none.
 * Fragments: the kernel puts datagrams together first. Here the first fragment is tracked like a
 * whole packet, the later ones find its flow by addresses, protocol and id for 30 s; a later
 * fragment that comes before the first is invalid.
 *
 * The table is a keyed hash with both directions of a flow in it. Its size is limited; when it is
 * full the oldest flow that is not assured makes room. A flow whose time has come is as good as
 * gone. Cost: O(1) a packet; ct_gc() O(1) a flow. One thread at a time.
 *
 * Flows handed out stay valid until the next ct_track() or ct_gc() of the table.
 */
#ifndef TAMIS_CT_CT_H
#define TAMIS_CT_CT_H

#include "packet/burst.h"

/* Bits of `ct state`, with nft's values. A packet that has no flow is invalid or untracked. */
enum ct_state {
	CT_INVALID = 1,
	CT_ESTABLISHED = 2,
	CT_RELATED = 4,
	CT_NEW = 8,
	CT_UNTRACKED = 64,
};

enum ct_direction { CT_ORIGINAL, CT_REPLY };

/* Bits of `ct status`, with nft's values. */
enum ct_status {
	CT_SEEN_REPLY = 2,
	CT_ASSURED = 4,
	CT_CONFIRMED = 8,
	CT_SRC_NAT = 16, /* these four by ct_flow_set_nat() alone */
	CT_DST_NAT = 32,
	CT_SRC_NAT_DONE = 128,
	CT_DST_NAT_DONE = 256,
	CT_DYING = 512,
};

/* Lifetimes by protocol and state: name, seconds by default (those of the kernel). */
#define CT_TIMEOUTS(X)                                                                             \
	X(TCP_SYN_SENT, 120)                                                                       \
	X(TCP_SYN_RECV, 60)                                                                        \
	X(TCP_ESTABLISHED, 432000)                                                                 \
	X(TCP_FIN_WAIT, 120)                                                                       \
	X(TCP_CLOSE_WAIT, 60)                                                                      \
	X(TCP_LAST_ACK, 30)                                                                        \
	X(TCP_TIME_WAIT, 120)                                                                      \
	X(TCP_CLOSE, 10)                                                                           \
	X(TCP_SYN_SENT2, 120)                                                                      \
	X(TCP_UNACK, 300)                                                                          \
	X(UDP_UNREPLIED, 30)                                                                       \
	X(UDP_REPLIED, 120)                                                                        \
	X(UDPLITE_UNREPLIED, 30)                                                                   \
	X(UDPLITE_REPLIED, 120)                                                                    \
	X(ICMP, 30)                                                                                \
	X(ICMPV6, 30)                                                                              \
	X(GRE_UNREPLIED, 30)                                                                       \
	X(GRE_REPLIED, 180)                                                                        \
	X(SCTP_CLOSED, 10)                                                                         \
	X(SCTP_COOKIE_WAIT, 3)                                                                     \
	X(SCTP_COOKIE_ECHOED, 3)                                                                   \
	X(SCTP_ESTABLISHED, 210)                                                                   \
	X(SCTP_SHUTDOWN_SENT, 3)                                                                   \
	X(SCTP_SHUTDOWN_RECD, 3)                                                                   \
	X(SCTP_SHUTDOWN_ACK_SENT, 3)                                                               \
	X(SCTP_HEARTBEAT_SENT, 30)                                                                 \
	X(GENERIC, 600)

enum ct_timeout {
#define X(name, seconds) CT_TIMEOUT_##name,
	CT_TIMEOUTS(X)
#undef X
		CT_TIMEOUTS_N
};

enum { CT_MAX_FLOWS_DEFAULT = 262144 };

struct ct_config {
	uint32_t max_flows; /* at least 1 */
	bool tcp_loose;	    /* a TCP flow may begin with an ACK in its middle; on by default */
	uint64_t timeout_ns[CT_TIMEOUTS_N];
};

void ct_config_default(struct ct_config *out);

struct ct_table; /* opaque */
struct ct_flow;	 /* opaque */

/* 0, -EINVAL (max_flows 0), -ENOMEM. */
int ct_table_new(const struct ct_config *config, struct ct_table **out);
void ct_table_free(struct ct_table *t);

/* What is known of the packets of a burst. */
struct ct_burst {
	uint8_t state[BURST_MAX];	 /* enum ct_state, one bit */
	uint8_t dir[BURST_MAX];		 /* enum ct_direction; of packets with a flow */
	struct ct_flow *flow[BURST_MAX]; /* NULL: invalid or untracked */
	burst_mask full; /* no room for the flow that it would have begun: the kernel drops it */
};

/* All packets as before ct_track(): no flow, invalid, which is what rules see then. */
void ct_burst_init(struct ct_burst *cb);

/*
 * Tracks the packets of mask; those of notrack become untracked instead. Each packet once. Packets
 * that are not IP stay invalid. Time is the burst's.
 */
void ct_track(struct ct_table *t, const struct burst *b, burst_mask mask, burst_mask notrack,
	      struct ct_burst *cb);

/*
 * Flows that begin only where somebody says so, in zones: equal tuples in two zones are two flows.
 * A table is used with ct_track() (zone 0) or with these two.
 *
 * ct_follow() finds the flows of the packets of mask, as ct_track() does, but begins none: packets
 * without one are invalid. ct_begin() begins one with packet i, which has none, and confirms it: 0,
 * -EINVAL for a packet that begins no flow, -ENOSPC if the table is full, -ENOMEM.
 */
void ct_follow(struct ct_table *t, const struct burst *b, burst_mask mask, uint16_t zone,
	       struct ct_burst *cb);
int ct_begin(struct ct_table *t, const struct burst *b, unsigned i, uint16_t zone,
	     struct ct_burst *cb);

/* A lifetime of flows that begin or are refreshed from now on. */
void ct_timeout_set(struct ct_table *t, enum ct_timeout which, uint64_t ns);

/*
 * The path has ended for the packets of mask, well for those of accepted. Flows of these are
 * confirmed; a flow still unconfirmed that begins in mask is taken away, and cb->flow with it.
 */
void ct_finish(struct ct_table *t, struct ct_burst *cb, burst_mask mask, burst_mask accepted);

/* Frees up to budget flows whose time has come; returns how many. */
unsigned ct_gc(struct ct_table *t, uint64_t now, unsigned budget);

/* Flows alive at now. Costs the number of those expired but not freed. */
uint32_t ct_count(const struct ct_table *t, uint64_t now);

struct ct_stats {
	uint64_t created;    /* flows confirmed */
	uint64_t expired;    /* flows whose time came */
	uint64_t early_drop; /* flows that made room for others */
	uint64_t full;	     /* packets that found no room */
};
const struct ct_stats *ct_stats_of(const struct ct_table *t);

/* --- flows ---------------------------------------------------------------------------------- */

/* One direction of a flow. Ports in host byte order; ICMP: sport is the id, dport type * 256 +
 * code. */
struct ct_tuple {
	uint8_t saddr[16], daddr[16]; /* IPv4 in the first 4 bytes, zero behind */
	uint16_t sport, dport;	      /* 0 where the protocol has none */
	uint8_t family;		      /* 4 or 6 */
	uint8_t l4proto;
	uint16_t zone; /* of ct_follow(); else 0 */
};

const struct ct_tuple *ct_flow_tuple(const struct ct_flow *f, enum ct_direction dir);
uint64_t ct_flow_id(const struct ct_flow *f); /* never used for another flow of this table */
uint32_t ct_flow_status(const struct ct_flow *f);
uint32_t ct_flow_mark(const struct ct_flow *f);
void ct_flow_set_mark(struct ct_flow *f, uint32_t mark);
/* What is to be done about its source, or destination, is done: nothing, or it counts as
 * translated. Its tuples stay. */
void ct_flow_set_nat(struct ct_flow *f, bool source, bool translated);
uint64_t ct_flow_packets(const struct ct_flow *f, enum ct_direction dir);
uint64_t ct_flow_bytes(const struct ct_flow *f,
		       enum ct_direction dir);	   /* network packets' length */
uint64_t ct_flow_expires_in(const struct ct_flow *f, uint64_t now);

/*
 * True if the flow of this id still counts as a connection: known, in its time, and not a TCP
 * connection that has ended. For the connlimit of src/state.
 */
bool ct_alive(const struct ct_table *t, uint64_t id, uint64_t now);

#endif
