/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: lists of type and length inside headers, checked for malformed counts and searched for
 * a kind.
 *
 * The searches take the steps that the kernel's take for nftables, oddities included, because a
 * rule must see in a crafted packet what it would see there; each says what they are. Every step
 * goes forward by a byte at least, so a search costs at most the header's bytes.
 */
#include "packet/parse.h"

enum { OPTION_END = 0, OPTION_NOP = 1 }; /* the same in IPv4 and TCP */

static bool options_valid(const uint8_t *p, uint32_t len)
{
	uint32_t k = 0;

	while (k < len && p[k] != OPTION_END) {
		if (p[k] == OPTION_NOP) {
			k++;
			continue;
		}
		if (len - k < 2 || p[k + 1] < 2 || p[k + 1] > len - k)
			return false;
		k += p[k + 1];
	}
	return true;
}

bool ip_options_valid(const uint8_t *p, uint32_t len)
{
	return options_valid(p, len);
}

bool tcp_options_valid(const uint8_t *p, uint32_t len)
{
	return options_valid(p, len);
}

/*
 * An end-of-list option does not end the search, it counts as one byte like a NOP, as does an
 * option of length 0; the header's last byte is never an option by itself.
 */
bool burst_find_tcp_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			   uint32_t *len)
{
	const uint8_t *p = burst_at(b, i, b->th_off[i], 20);
	uint32_t hlen, k, step;

	if (!burst_has(b, i, HAS_TCP) || !p)
		return false;
	hlen = (p[12] >> 4) * 4u;
	p = burst_at(b, i, b->th_off[i], hlen);
	if (hlen < 20 || !p)
		return false;
	for (k = 20; k < hlen - 1; k += step) {
		step = p[k] <= OPTION_NOP || !p[k + 1] ? 1 : p[k + 1];
		if (p[k] != kind)
			continue;
		if (k + step > hlen)
			return false;
		*off = b->th_off[i] + k;
		*len = step;
		return true;
	}
	return false;
}

enum {
	IPOPT_RECORD = 7,
	IPOPT_TIMESTAMP = 68,
	IPOPT_LOOSE = 131,
	IPOPT_ALERT = 148,
	IPOPT_STRICT = 137
};

/* Whether the kernel takes the option's inside (p[1] is its length, in bounds) when it only looks.
 */
static bool ip_option_takes(const uint8_t *p)
{
	switch (p[0]) {
	case IPOPT_LOOSE:
	case IPOPT_STRICT:
		return p[1] >= 7 && p[2] == 4 && (p[1] - 3) % 4 == 0;
	case IPOPT_RECORD:
		return p[1] >= 3 && p[2] >= 4 && (p[2] > p[1] || p[2] + 3 <= p[1]);
	case IPOPT_TIMESTAMP:
		return p[1] >= 4 && p[2] >= 5 && (p[2] > p[1] || p[2] + 3 <= p[1]);
	case IPOPT_ALERT:
		return p[1] >= 4;
	default:
		return true;
	}
}

/*
 * The options are there all or not at all: one that is malformed hides the others. A route may be
 * given once. A router alert counts only with the value 0, the last one if there are several.
 */
bool burst_find_ip_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			  uint32_t *len)
{
	uint32_t nh = b->nh_off[i], hlen, found = 0;
	unsigned routes = 0, records = 0, stamps = 0;
	const uint8_t *p = burst_at(b, i, nh, 20);

	if (!burst_has(b, i, HAS_IPV4) || !p)
		return false;
	hlen = (p[0] & 15) * 4u;
	p = burst_at(b, i, nh, hlen);
	if (!p || !options_valid(p + 20, hlen - 20))
		return false;
	for (uint32_t k = 20; k < hlen && p[k] != OPTION_END;) {
		if (p[k] == OPTION_NOP) {
			k++;
			continue;
		}
		routes += p[k] == IPOPT_LOOSE || p[k] == IPOPT_STRICT;
		records += p[k] == IPOPT_RECORD;
		stamps += p[k] == IPOPT_TIMESTAMP;
		if (!ip_option_takes(p + k) || routes > 1 || records > 1 || stamps > 1)
			return false;
		if (p[k] == kind && (kind != IPOPT_ALERT || !be16_load(p + k + 2)))
			found = k;
		k += p[k + 1];
	}
	if (!found)
		return false;
	*off = nh + found;
	*len = p[found + 1];
	return true;
}

bool sctp_chunks_valid(const struct burst *b, unsigned i)
{
	uint64_t off = b->th_off[i] + 12u, wire_end = (uint64_t)b->nh_off[i] + b->l3len[i];

	while (off < wire_end) {
		const uint8_t *p = off < b->end[i] ? burst_at(b, i, (uint32_t)off, 4) : NULL;
		uint16_t len;

		if (!p) /* cut by the capture: nothing can be said about the rest */
			return wire_end - off >= 4;
		len = be16_load(p + 2);
		if (len < 4 || off + len > wire_end)
			return false;
		off += (len + 3u) & ~3u;
	}
	return true;
}

/* A chunk of length 0 ends the search; one that reaches beyond the packet is found all the same. */
bool burst_find_sctp_chunk(const struct burst *b, unsigned i, uint8_t type, uint32_t *off_out,
			   uint32_t *len_out)
{
	uint32_t off = b->th_off[i] + 12u;
	const uint8_t *p;
	uint16_t len;

	if (!burst_has(b, i, HAS_SCTP))
		return false;
	while ((p = burst_at(b, i, off, 4)) && (len = be16_load(p + 2)) != 0) {
		if (p[0] == type) {
			*off_out = off;
			*len_out = len;
			return true;
		}
		off += (len + 3u) & ~3u;
	}
	return false;
}

/* DCCP's generic header by its X bit, and what its packet type adds; RFC 4340, section 5. */
static uint32_t dccp_header_len(const uint8_t *p)
{
	static const uint8_t more[16] = {
		4,  12, 0,  8,	8,  8,
		8,  12, 8,  8,		/* REQUEST RESPONSE DATA ACK DATAACK CLOSEREQ CLOSE
					   RESET SYNC SYNCACK */
		12, 12, 12, 12, 12, 12, /* reserved: the kernel takes them for a reset */
	};

	return (p[8] & 1 ? 16u : 12u) + more[p[8] >> 1 & 15];
}

/*
 * Types up to 31 are one byte. The last byte of the list may be the type alone, and what is looked
 * for is found before its length is judged.
 */
bool burst_find_dccp_option(const struct burst *b, unsigned i, uint8_t kind, uint32_t *off,
			    uint32_t *len)
{
	uint32_t th = b->th_off[i], k, data;
	const uint8_t *p;

	if (!burst_has(b, i, HAS_TH) || b->l4proto[i] != PROTO_DCCP)
		return false;
	p = burst_at(b, i, th, 12);
	if (!p)
		return false;
	data = p[4] * 4u;
	for (k = dccp_header_len(p); k < data;) {
		uint32_t need = MIN(data - k, 2u);
		bool single;

		p = burst_at(b, i, th + k, need);
		if (!p)
			return false;
		single = p[0] <= 31;
		if (p[0] == kind) {
			*off = th + k;
			*len = single || need < 2 ? 1 : MAX(p[1], 1);
			return true;
		}
		if (!single && (need < 2 || p[1] < 2))
			return false;
		k += single ? 1 : p[1];
	}
	return false;
}
