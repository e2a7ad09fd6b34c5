/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst: runs the parsing steps over a burst, and reads bytes that have no column.
 *
 * Each packet is parsed to its end before the next, so that its headers are fetched once. One
 * thread a burst; no allocation.
 */
#include "packet/parse.h"

/* The length on the wire from byte `off` of packet i, 0 if it ends before. */
static uint32_t wire_left(const struct burst *b, unsigned i, uint32_t off)
{
	uint32_t wire = MAX(b->len[i], b->caplen[i]);

	return wire > off ? wire - off : 0;
}

void burst_parse(struct burst *b)
{
	memset(b->has, 0, sizeof(b->has));
	for (unsigned i = 0; i < b->n; i++) {
		if (i + 1 < b->n)
			__builtin_prefetch(b->data[i + 1]);
		b->malformed[i] = 0;
		b->mark[i] = b->priority[i] = 0;
		b->ll_off[i] = b->nh_off[i] = b->th_off[i] = b->ih_off[i] = 0;
		b->protocol[i] = b->frag_off[i] = 0;
		b->l4proto[i] = b->pkttype[i] = 0;
		b->end[i] = b->caplen[i];
		b->l3len[i] = 0;

		parse_link(b, i);
		if (!burst_has(b, i, HAS_NH))
			continue;
		b->l3len[i] = wire_left(b, i, b->nh_off[i]);
		switch (b->protocol[i]) {
		case ETH_IPV4:
			parse_ipv4(b, i);
			break;
		case ETH_IPV6:
			parse_ipv6(b, i);
			break;
		case ETH_ARP:
			parse_arp(b, i);
			break;
		}
		if (burst_has(b, i, HAS_TH))
			parse_transport(b, i);
	}
}

/* Where `base` is in packet i; false if that header is missing. */
static bool base_find(const struct burst *b, unsigned i, enum header_base base, uint32_t *off)
{
	switch (base) {
	case BASE_LL:
		*off = b->ll_off[i];
		return burst_has(b, i, HAS_ETHER);
	case BASE_NH:
		*off = b->nh_off[i];
		return burst_has(b, i, HAS_NH);
	case BASE_TH:
		*off = b->th_off[i];
		return burst_has(b, i, HAS_TH);
	case BASE_IH:
		*off = b->ih_off[i];
		return b->ih_off[i] != 0;
	}
	return false;
}

bool burst_read(const struct burst *b, unsigned i, enum header_base base, uint32_t off, void *out,
		uint32_t len)
{
	const uint8_t *p;
	uint32_t start;

	if (!base_find(b, i, base, &start) || off > UINT32_MAX - start)
		return false;
	p = burst_at(b, i, start + off, len);
	if (!p)
		return false;
	memcpy(out, p, len);
	return true;
}

bool burst_read_bits(const struct burst *b, unsigned i, enum header_base base, uint32_t bit_off,
		     uint32_t bit_len, uint8_t *out)
{
	uint64_t bit_end = (uint64_t)bit_off + bit_len;
	uint32_t first = bit_off / 8, n_in = (uint32_t)((bit_end + 7) / 8) - first;
	uint32_t n_out = (bit_len + 7) / 8;
	unsigned shift = (8 - bit_end % 8) % 8;
	const uint8_t *p;
	uint32_t start;

	if (!bit_len || !base_find(b, i, base, &start) || first > UINT32_MAX - start)
		return false;
	p = burst_at(b, i, start + first, n_in);
	if (!p)
		return false;
	for (uint32_t k = 0; k < n_out; k++) {
		uint32_t from =
			n_in - 1 - k; /* the last byte of the bits goes to the last of out */
		unsigned v = p[from] >> shift;

		if (shift && from)
			v |= (unsigned)p[from - 1] << (8 - shift);
		out[n_out - 1 - k] = (uint8_t)v;
	}
	if (bit_len % 8)
		out[0] &= (uint8_t)((1u << bit_len % 8) - 1);
	return true;
}
