/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_packet: any bytes as a packet of any link type, cut by the capture or not.
 *
 * The first byte chooses the link type and, by its high bits, how many bytes more the wire had.
 * Besides that nothing is read out of bounds, what a burst says of itself must hold together.
 */
#include <stdlib.h>

#include "packet/burst.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static bool has(const struct burst *b, enum burst_has what)
{
	return b->has[what] & 1;
}

static void check_found(const struct burst *b, uint8_t kind)
{
	static bool (*const finds[])(const struct burst *, unsigned, uint8_t, uint32_t *,
				     uint32_t *) = {
		burst_find_exthdr,     burst_find_tcp_option,  burst_find_ip_option,
		burst_find_sctp_chunk, burst_find_dccp_option,
	};
	uint32_t off, len;

	for (unsigned k = 0; k < ARRAY_SIZE(finds); k++)
		if (finds[k](b, 0, kind, &off, &len))
			CHECK(len && burst_at(b, 0, off, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct burst b;
	uint8_t bytes[16];

	if (!size || size > 100000)
		return 0;
	memset(&b, 0xa5, sizeof(b));
	b.n = 1;
	b.link[0] = data[0] % LINK_TYPES;
	b.data[0] = data + 1;
	b.caplen[0] = (uint32_t)size - 1;
	b.len[0] = b.caplen[0] + (data[0] >> 4) * 100u;
	burst_parse(&b);

	CHECK(b.end[0] <= b.caplen[0]);
	CHECK(b.malformed[0] < 1u << MALFORMED_KINDS);
	CHECK(!(has(&b, HAS_IPV4) && has(&b, HAS_IPV6)));
	CHECK(!has(&b, HAS_IPV4) || burst_at(&b, 0, b.nh_off[0], 20));
	CHECK(!has(&b, HAS_IPV6) || burst_at(&b, 0, b.nh_off[0], 40));
	CHECK(!has(&b, HAS_TH) || (has(&b, HAS_L4PROTO) && !has(&b, HAS_LATER_FRAG)));
	CHECK(!has(&b, HAS_PORTS) || (has(&b, HAS_TH) && burst_at(&b, 0, b.th_off[0], 4)));
	CHECK(!has(&b, HAS_TCP) || (has(&b, HAS_PORTS) && has(&b, HAS_TCP_FLAGS)));
	CHECK(!has(&b, HAS_QINQ) || has(&b, HAS_VLAN));
	for (unsigned kind = 0; kind < 256; kind++)
		check_found(&b, (uint8_t)kind);
	for (unsigned base = BASE_LL; base <= BASE_IH; base++)
		for (uint32_t k = 0; k < 64; k++) {
			burst_read(&b, 0, base, b.caplen[0] + k - 32, bytes, k % 16);
			burst_read_bits(&b, 0, base, 8 * b.caplen[0] - k, k * 2, bytes);
			burst_read_bits(&b, 0, base, k * 5, k * 2, bytes);
		}
	return 0;
}
