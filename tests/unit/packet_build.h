/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_build: packets put together by hand, for the tests of the packet and port rooms.
 *
 * Bytes are appended with put_*(); ip4_begin() and ip6_begin() leave lengths and checksum open and
 * ip4_end(), ip6_end() fill them in. parse_one() hands the parser a copy of exactly the packet's
 * size, so that a sanitizer sees every byte read behind it.
 */
#ifndef TAMIS_TEST_PACKET_BUILD_H
#define TAMIS_TEST_PACKET_BUILD_H

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "packet/burst.h"

struct packet {
	uint8_t b[4096];
	uint32_t n;
	uint32_t nh; /* where the last IP header begins */
};

static inline void put_bytes(struct packet *p, const void *from, uint32_t n)
{
	assert_true(p->n + n <= sizeof(p->b));
	memcpy(p->b + p->n, from, n);
	p->n += n;
}

static inline void put8(struct packet *p, uint8_t v)
{
	put_bytes(p, &v, 1);
}

static inline void put16(struct packet *p, uint16_t v)
{
	put8(p, (uint8_t)(v >> 8));
	put8(p, (uint8_t)v);
}

static inline void put32(struct packet *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p, (uint16_t)v);
}

static inline void put_fill(struct packet *p, uint8_t v, uint32_t n)
{
	while (n--)
		put8(p, v);
}

static inline void put_ether(struct packet *p, uint16_t type)
{
	put_bytes(p, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02", 12);
	put16(p, type);
}

/* From 192.0.2.1 to 198.51.100.2; `options` is a multiple of 4 bytes. */
static inline void ip4_begin(struct packet *p, uint8_t proto, uint16_t frag, const void *options,
			     uint32_t n_options)
{
	p->nh = p->n;
	put8(p, (uint8_t)(0x45 + n_options / 4));
	put8(p, 0);
	put16(p, 0);
	put16(p, 0x1234);
	put16(p, frag);
	put8(p, 64);
	put8(p, proto);
	put16(p, 0);
	put32(p, 0xc0000201);
	put32(p, 0xc6336402);
	if (n_options)
		put_bytes(p, options, n_options);
}

static inline void ip4_checksum(struct packet *p)
{
	uint32_t sum = 0, hlen = (p->b[p->nh] & 15) * 4u;

	be16_store(p->b + p->nh + 10, 0);
	for (uint32_t k = 0; k < hlen; k += 2)
		sum += be16_load(p->b + p->nh + k);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_store(p->b + p->nh + 10, (uint16_t)~sum);
}

static inline void ip4_end(struct packet *p)
{
	be16_store(p->b + p->nh + 2, (uint16_t)(p->n - p->nh));
	ip4_checksum(p);
}

/* From 2001:db8::1 to 2001:db8::2. */
static inline void ip6_begin(struct packet *p, uint8_t next)
{
	p->nh = p->n;
	put32(p, 0x60000000);
	put16(p, 0);
	put8(p, next);
	put8(p, 64);
	for (uint8_t last = 1; last <= 2; last++) {
		put32(p, 0x20010db8);
		put_fill(p, 0, 11);
		put8(p, last);
	}
}

static inline void ip6_end(struct packet *p)
{
	be16_store(p->b + p->nh + 4, (uint16_t)(p->n - p->nh - 40));
}

/* 1234 -> 80, flags; `options` is a multiple of 4 bytes. */
static inline void put_tcp(struct packet *p, uint8_t flags, const void *options, uint32_t n_options)
{
	put16(p, 1234);
	put16(p, 80);
	put32(p, 0x01020304);
	put32(p, 0x05060708);
	put8(p, (uint8_t)((5 + n_options / 4) << 4));
	put8(p, flags);
	put16(p, 8192);
	put32(p, 0);
	if (n_options)
		put_bytes(p, options, n_options);
}

static inline void put_udp(struct packet *p, uint16_t len)
{
	put16(p, 5353);
	put16(p, 53);
	put16(p, len);
	put16(p, 0);
}

/* Packet 0 of b becomes a copy of p's first `caplen` bytes; parse_free() gives it back. */
static inline void parse_cut(struct burst *b, enum link_type link, const struct packet *p,
			     uint32_t caplen, uint32_t len)
{
	uint8_t *copy = malloc(caplen ? caplen : 1);

	assert_non_null(copy);
	memcpy(copy, p->b, caplen);
	memset(b, 0xa5, sizeof(*b)); /* whatever was in the columns before */
	b->n = 1;
	b->data[0] = copy;
	b->caplen[0] = caplen;
	b->len[0] = len;
	b->link[0] = (uint8_t)link;
	burst_parse(b);
}

static inline void parse_one(struct burst *b, enum link_type link, const struct packet *p)
{
	parse_cut(b, link, p, p->n, p->n);
}

static inline void parse_free(struct burst *b)
{
	free((void *)(uintptr_t)b->data[0]);
}

static inline bool has(const struct burst *b, enum burst_has what)
{
	return b->has[what] & 1;
}

#endif
