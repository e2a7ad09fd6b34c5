/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ct_packets: bursts for the tests of src/ct. Raw IP packets are appended to a burst, which is then
 * parsed; hosts are small numbers: 10.0.0.N or 2001:db8::N.
 */
#ifndef TAMIS_CT_PACKETS_H
#define TAMIS_CT_PACKETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ct/ct.h"

#define S 1000000000ULL

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32 };

struct packets {
	struct burst b;
	struct ct_burst cb;
	uint8_t bytes[BURST_MAX][256];
	uint64_t now; /* of packets appended from here on */
};

static inline void packets_begin(struct packets *p, uint64_t now)
{
	memset(p, 0, sizeof(*p));
	p->now = now;
	ct_burst_init(&p->cb);
}

static inline void fix_checksum(uint8_t *ip)
{
	uint32_t sum = 0;
	ip[10] = ip[11] = 0;
	for (unsigned i = 0; i < 20; i += 2)
		sum += be16_load(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_store(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
}

/* Writes an IP header and a payload; returns the length of both. */
static inline uint32_t put_ip(uint8_t *out, int family, unsigned from, unsigned to, uint8_t l4proto,
			      const void *payload, uint32_t len)
{
	uint32_t head = family == 4 ? 20 : 40;

	memset(out, 0, head);
	if (family == 4) {
		out[0] = 0x45;
		be16_store(out + 2, (uint16_t)(head + len));
		out[8] = 64;
		out[9] = l4proto;
		be32_store(out + 12, 0x0a000000 + from);
		be32_store(out + 16, 0x0a000000 + to);
		fix_checksum(out);
	} else {
		out[0] = 0x60;
		be16_store(out + 4, (uint16_t)len);
		out[6] = l4proto;
		out[7] = 255;
		be32_store(out + 8, 0x20010db8);
		be32_store(out + 20, from);
		be32_store(out + 24, 0x20010db8);
		be32_store(out + 36, to);
	}
	memcpy(out + head, payload, len);
	return head + len;
}

/* Appends a packet; returns its number. */
static inline unsigned put_packet(struct packets *p, int family, unsigned from, unsigned to,
				  uint8_t l4proto, const void *payload, uint32_t len)
{
	unsigned i = p->b.n++;

	p->b.data[i] = p->bytes[i];
	p->b.len[i] = p->b.caplen[i] = put_ip(p->bytes[i], family, from, to, l4proto, payload, len);
	p->b.link[i] = LINK_RAW;
	p->b.time[i] = p->now;
	return i;
}

static inline void make_tcp(uint8_t h[20], unsigned sport, unsigned dport, uint8_t flags,
			    uint32_t seq, uint32_t ack)
{
	memset(h, 0, 20);
	be16_store(h, (uint16_t)sport);
	be16_store(h + 2, (uint16_t)dport);
	be32_store(h + 4, seq);
	be32_store(h + 8, ack);
	h[12] = 5 << 4;
	h[13] = flags;
	be16_store(h + 14, 1000);
}

static inline void make_udp(uint8_t h[8], unsigned sport, unsigned dport)
{
	memset(h, 0, 8);
	be16_store(h, (uint16_t)sport);
	be16_store(h + 2, (uint16_t)dport);
	be16_store(h + 4, 8);
}

static inline unsigned put_udp(struct packets *p, unsigned from, unsigned to, unsigned sport,
			       unsigned dport)
{
	uint8_t h[8];
	make_udp(h, sport, dport);
	return put_packet(p, 4, from, to, 17, h, sizeof(h));
}

static inline unsigned put_icmp(struct packets *p, int family, unsigned from, unsigned to,
				uint8_t type, uint16_t id)
{
	uint8_t h[8] = {type};
	be16_store(h + 4, id);
	return put_packet(p, family, from, to, family == 4 ? 1 : 58, h, sizeof(h));
}

/* Parses and tracks all packets. */
static inline void track_all(struct ct_table *t, struct packets *p)
{
	burst_parse(&p->b);
	ct_track(t, &p->b, p->b.n == 64 ? ~0ULL : (1ULL << p->b.n) - 1, 0, &p->cb);
}

static inline void finish_all(struct ct_table *t, struct packets *p, bool accepted)
{
	ct_finish(t, &p->cb, ~0ULL, accepted ? ~0ULL : 0);
}

/* What one packet is, and accepts it. */
static inline unsigned track_one(struct ct_table *t, struct packets *p)
{
	assert_int_equal(p->b.n, 1);
	track_all(t, p);
	finish_all(t, p, true);
	return p->cb.state[0];
}

static inline struct ct_table *make_table(uint32_t max_flows)
{
	struct ct_table *t = NULL;
	struct ct_config c;
	ct_config_default(&c);
	c.max_flows = max_flows;
	assert_int_equal(ct_table_new(&c, &t), 0);
	return t;
}

static inline unsigned udp(struct ct_table *t, uint64_t now, unsigned from, unsigned to,
			   unsigned sport, unsigned dport)
{
	struct packets p;
	packets_begin(&p, now);
	put_udp(&p, from, to, sport, dport);
	return track_one(t, &p);
}

static inline unsigned icmp(struct ct_table *t, uint64_t now, int family, unsigned from,
			    unsigned to, uint8_t type, uint16_t id)
{
	struct packets p;
	packets_begin(&p, now);
	put_icmp(&p, family, from, to, type, id);
	return track_one(t, &p);
}

#endif
