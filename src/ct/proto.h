/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto: what each protocol makes of a packet of a flow.
 *
 * proto_valid() looks at the packet alone, before a flow is looked up. proto_begin() makes the
 * state of a new flow of its first packet or refuses it. proto_packet() then takes every packet,
 * the first one too: it moves the state and the lifetime.
 */
#ifndef TAMIS_CT_PROTO_H
#define TAMIS_CT_PROTO_H

#include "ct/table.h"

enum proto_answer {
	PROTO_TAKE,    /* it counts for the flow */
	PROTO_PASS,    /* it belongs to the flow but changes nothing in it */
	PROTO_INVALID, /* it does not fit */
	PROTO_REOPEN,  /* the flow is over, and this begins another one: take it away, look again */
};

struct proto_packet {
	const struct burst *b;
	unsigned i;
	const struct ct_tuple *tuple;
	enum ct_direction dir;
	uint64_t now;
};

bool proto_valid(const struct proto_packet *p);
bool proto_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);
enum proto_answer proto_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);
/* A connection that is closed but lingers. */
bool proto_has_ended(const struct ct_flow *f);

/* proto_tcp.c */
bool tcp_valid(const struct proto_packet *p);
bool tcp_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);
enum proto_answer tcp_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);
bool tcp_has_ended(const struct ct_flow *f);

/* proto_sctp.c */
bool sctp_valid(const struct proto_packet *p);
bool sctp_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);
enum proto_answer sctp_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p);

/* The transport header of a whole packet: `len` bytes, or NULL. */
static inline const uint8_t *proto_header(const struct proto_packet *p, uint32_t len)
{
	return burst_at(p->b, p->i, p->b->th_off[p->i], len);
}

/* Bytes from the transport header to the packet's end on the wire. */
static inline uint32_t proto_length(const struct proto_packet *p)
{
	uint32_t before = p->b->th_off[p->i] - p->b->nh_off[p->i];
	return p->b->l3len[p->i] > before ? p->b->l3len[p->i] - before : 0;
}

#endif
