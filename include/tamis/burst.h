/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst: up to 64 packets that are judged together.
 *
 *	tamis_burst_add(b, &packet)	up to TAMIS_BURST_MAX times
 *	tamis_burst_run(b)		judges them, in the order in which they were added
 *	tamis_burst_mask(b, TAMIS_ACCEPT)
 *	tamis_burst_clear(b)		for the next ones
 *
 * The answers are those of packets that come one by one. Packet bytes are only read, and stay the
 * caller's, who keeps them where they are until tamis_burst_clear().
 */
#ifndef TAMIS_PUBLIC_BURST_H
#define TAMIS_PUBLIC_BURST_H

#include <tamis/api.h>

TAMIS_BEGIN

struct tamis;
struct tamis_burst; /* opaque */

enum { TAMIS_BURST_MAX = 64 };

/* What stands at the first byte of a packet: link types of pcap files. */
enum tamis_link {
	TAMIS_LINK_ETHERNET,
	TAMIS_LINK_RAW,	 /* an IPv4 or IPv6 header */
	TAMIS_LINK_NULL, /* BSD loopback, family in the byte order of the writer */
	TAMIS_LINK_LOOP, /* the same in network byte order */
	TAMIS_LINK_SLL,	 /* Linux "cooked" capture, version 1 */
	TAMIS_LINK_SLL2, /* and 2 */
};

struct tamis_packet {
	const void *data;
	uint32_t caplen; /* bytes at data */
	uint32_t len;	 /* bytes that were on the wire, at least caplen */
	uint64_t time;	 /* ns; a time before that of an earlier packet counts as that one's */
	enum tamis_link link;
	uint32_t iif,
		oif;  /* from tamis_interface_find(), 0: not known; a path without one ignores it */
	uint32_t dev; /* where it was seen: its oif if it leaves this host, else its iif, where
			 these are 0 */
};

enum tamis_verdict {
	TAMIS_ACCEPT, /* or sent on by `fwd` */
	TAMIS_DROP,
	TAMIS_REJECT, /* dropped, and an answer is due */
	TAMIS_QUEUE,  /* for another program to decide */
	TAMIS_VERDICTS,
};

TAMIS_API int tamis_burst_new(struct tamis *t, struct tamis_burst **out);
TAMIS_API void tamis_burst_free(struct tamis_burst *b);

/* The packet's number in the burst, from 0; -ENOBUFS when it is full, -EINVAL for a link type or
 * lengths that cannot be. */
TAMIS_API int tamis_burst_add(struct tamis_burst *b, const struct tamis_packet *p);

/* These packets (bit i for packet i) are reported to the trace callback, see tamis/trace.h. */
TAMIS_API void tamis_burst_trace(struct tamis_burst *b, uint64_t mask);

/* 0, or -ENOMEM: the packets were judged, but some not as they should: a connection, an element, a
 * write to a packet, a trace or a log line found no memory. */
TAMIS_API int tamis_burst_run(struct tamis_burst *b);

/* The packets with this verdict: of those judged by tamis_burst_run(), none before. */
TAMIS_API uint64_t tamis_burst_mask(const struct tamis_burst *b, enum tamis_verdict v);

struct tamis_result {
	enum tamis_verdict verdict;
	uint16_t malformed; /* bit per reason, see tamis_malformed_name() */
	uint16_t queue;	    /* of TAMIS_QUEUE */
	uint32_t mark;	    /* the packet's mark in the end */
	uint32_t priority;  /* as `meta priority set` left it */
};

/* 0, or -EINVAL if there is no packet i or it is not judged yet. */
TAMIS_API int tamis_burst_result(const struct tamis_burst *b, unsigned i, struct tamis_result *out);

/*
 * The bytes of packet i, NULL if there is none: those that were added, or a copy of the burst's own
 * where a rule wrote to them. Until tamis_burst_clear().
 */
TAMIS_API const void *tamis_burst_data(const struct tamis_burst *b, unsigned i);

TAMIS_API void tamis_burst_clear(struct tamis_burst *b);

TAMIS_END

#endif
