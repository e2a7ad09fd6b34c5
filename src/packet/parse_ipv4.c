/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_ipv4: RFC 791.
 *
 * The header counts as valid when version, header length and total length hold together and the
 * packet on the wire has all the bytes it claims; then HAS_IPV4 and HAS_L4PROTO are set. The
 * capture may be shorter than the wire, which is no fault of the packet.
 */
#include "packet/parse.h"

static bool checksum_good(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t k = 0; k < len; k += 2)
		sum += be16_load(p + k);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static void check_options(struct burst *b, unsigned i, uint32_t hlen)
{
	const uint8_t *p = burst_at(b, i, b->nh_off[i], hlen);

	if (!p) {
		burst_bad(b, i, MALFORMED_IP_HEADER);
		return;
	}
	if (be16_load(p + 10) && !checksum_good(p, hlen))
		burst_bad(b, i, MALFORMED_IP_CHECKSUM);
	if (hlen > 20 && !ip_options_valid(p + 20, hlen - 20))
		burst_bad(b, i, MALFORMED_IP_OPTIONS);
}

static void check_fragment(struct burst *b, unsigned i, uint32_t hlen, uint32_t len, bool more)
{
	burst_set(b, i, HAS_FRAG);
	if (b->frag_off[i])
		burst_set(b, i, HAS_LATER_FRAG);
	if (b->frag_off[i] + len > UINT16_MAX)
		burst_bad(b, i, MALFORMED_FRAGMENT);
	else if (len == hlen || (more && (len - hlen) % 8))
		burst_bad(b, i, MALFORMED_FRAGMENT);
}

void parse_ipv4(struct burst *b, unsigned i)
{
	uint32_t nh = b->nh_off[i], wire = b->l3len[i], hlen, len;
	const uint8_t *p = burst_at(b, i, nh, 20);
	uint16_t frag;

	if (!p) {
		burst_bad(b, i, MALFORMED_IP_HEADER);
		return;
	}
	if (p[0] >> 4 != 4) {
		burst_bad(b, i, MALFORMED_IP_VERSION);
		return;
	}
	hlen = (p[0] & 15) * 4u;
	if (hlen < 20) {
		burst_bad(b, i, MALFORMED_IP_HEADER);
		return;
	}
	len = be16_load(p + 2);
	if (!len)
		len = wire;
	if (len > wire || len < hlen) {
		burst_bad(b, i, MALFORMED_IP_LENGTH);
		return;
	}
	burst_set(b, i, HAS_IPV4);
	burst_set(b, i, HAS_L4PROTO);
	b->l3len[i] = len;
	b->end[i] = MIN(b->end[i], nh + len);
	b->l4proto[i] = p[9];
	memcpy(b->saddr[i], p + 12, 4);
	memcpy(b->daddr[i], p + 16, 4);
	check_options(b, i, hlen);

	frag = be16_load(p + 6);
	b->frag_off[i] = (frag & 0x1fff) * 8;
	if (frag & 0x3fff)
		check_fragment(b, i, hlen, len, frag & 0x2000);
	if (b->frag_off[i])
		return;
	b->th_off[i] = (uint16_t)(nh + hlen);
	burst_set(b, i, HAS_TH);
}
