/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4 and IPv6: validity, lengths, fragments, options, extension headers. */
#include "packet_build.h"

/* An IPv4 packet over Ethernet with 20 bytes of TCP. */
static struct packet tcp4(const void *options, uint32_t n)
{
	struct packet p = {0};

	put_ether(&p, 0x0800);
	ip4_begin(&p, 6, 0x4000, options, n);
	put_tcp(&p, 0x12, NULL, 0);
	ip4_end(&p);
	return p;
}

/* Parses p and expects exactly these malformed bits, and an IPv4 header or none. */
static void expect4(const struct packet *p, unsigned malformed, bool valid)
{
	struct burst b;
	uint8_t first;

	parse_one(&b, LINK_EN10MB, p);
	assert_int_equal(b.malformed[0], malformed);
	assert_int_equal(has(&b, HAS_IPV4), valid);
	assert_int_equal(has(&b, HAS_L4PROTO), valid);
	assert_true(has(&b, HAS_NH));
	assert_true(burst_read(&b, 0, BASE_NH, 0, &first, 1)); /* raw bytes stay readable */
	if (!valid) {
		assert_false(has(&b, HAS_TH) || has(&b, HAS_TCP) || has(&b, HAS_PORTS));
		assert_false(burst_read(&b, 0, BASE_TH, 0, &first, 1));
		assert_int_equal(b.end[0], p->n);
		assert_int_equal(b.l3len[0], p->n - 14);
	}
	parse_free(&b);
}

static void ipv4_plain(void **state)
{
	struct packet p = tcp4(NULL, 0);
	struct burst b;

	put_fill(&p, 0, 6); /* Ethernet padding is not the packet's */
	parse_one(&b, LINK_EN10MB, &p);
	assert_true(has(&b, HAS_IPV4) && has(&b, HAS_TH) && has(&b, HAS_TCP));
	assert_false(has(&b, HAS_FRAG) || has(&b, HAS_LATER_FRAG) || has(&b, HAS_IPV6));
	assert_int_equal(b.l4proto[0], 6);
	assert_int_equal(b.l3len[0], 40);
	assert_int_equal(b.end[0], 54);
	assert_int_equal(b.th_off[0], 34);
	assert_memory_equal(b.saddr[0], "\xc0\x00\x02\x01", 4);
	assert_memory_equal(b.daddr[0], "\xc6\x33\x64\x02", 4);
	assert_int_equal(b.malformed[0], 0);
	assert_int_equal(b.mark[0] | b.priority[0], 0);
	parse_free(&b);
}

static void ipv4_malformed(void **state)
{
	struct packet good = tcp4(NULL, 0), p = good;

	expect4(&good, 0, true);
	p.b[14] = 0x65;
	expect4(&p, 1 << MALFORMED_IP_VERSION, false);
	p = good, p.b[14] = 0x44;
	expect4(&p, 1 << MALFORMED_IP_HEADER, false);
	p = good, p.n = 14 + 19;
	expect4(&p, 1 << MALFORMED_IP_HEADER, false);
	p = good, be16_store(p.b + 16, 41);
	expect4(&p, 1 << MALFORMED_IP_LENGTH, false);
	p = good, be16_store(p.b + 16, 19);
	expect4(&p, 1 << MALFORMED_IP_LENGTH, false);
	p = good, p.b[14] = 0x4b; /* the header alone is longer than the packet */
	expect4(&p, 1 << MALFORMED_IP_LENGTH, false);
	p = good, p.b[25] ^= 1;
	expect4(&p, 1 << MALFORMED_IP_CHECKSUM, true);
	p = good, be16_store(p.b + 24, 0); /* left to the card */
	expect4(&p, 0, true);
	p = good, be16_store(p.b + 16, 0); /* segmentation left to the card */
	ip4_checksum(&p);
	expect4(&p, 0, true);
}

/* A capture cut short is not an invalid length: the packet on the wire was whole. */
static void ipv4_snapped(void **state)
{
	struct packet p = tcp4("\x01\x01\x01\x01", 4);
	struct burst b;

	parse_cut(&b, LINK_EN10MB, &p, 36, p.n);
	assert_true(has(&b, HAS_IPV4) && has(&b, HAS_L4PROTO));
	assert_false(has(&b, HAS_PORTS));
	assert_int_equal(b.l3len[0], 44);
	assert_int_equal(b.end[0], 36);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_IP_HEADER | 1 << MALFORMED_TRANSPORT);
	parse_free(&b);
	parse_cut(&b, LINK_EN10MB, &p, 38, p.n);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_TRANSPORT);
	parse_free(&b);
}

static void ipv4_options(void **state)
{
	static const struct {
		const char *options;
		uint32_t n;
		bool good;
		uint8_t kind; /* 0: nothing to look for */
		uint8_t at, len;
	} cases[] = {
		{"\x01\x01\x01\x00", 4, true, 0},
		{"\x94\x04\x00\x00", 4, true, 148, 0, 4},
		{"\x94\x04\x00\x01", 4, true, 0},
		{"\x01\x07\x07\x04\0\0\0\0", 8, true, 7, 1, 7},
		{"\x83\x07\x04\1\2\3\4\x00", 8, true, 131, 0, 7},
		{"\x89\x07\x04\1\2\3\4\x00", 8, true, 137, 0, 7},
		{"\x83\x07\x08\1\2\3\4\x00", 8, true, 0}, /* an exhausted route is not one */
		{"\x83\x07\x04\1\2\3\4\x89\x07\x04\1\2\3\4\0\0", 16, true, 0},
		{"\x44\x08\x05\x00\0\0\0\0", 8, true, 68, 0, 8},
		{"\x44\x08\x01\x00\0\0\0\0", 8, true, 0},
		{"\x07", 0, true, 0},
		{"\x07\x01\x00\x00", 4, false, 0},
		{"\x07\x05\x04\x00", 4, false, 0},
		{"\x01\x01\x01\x07", 4, false, 0},
		{"\x94\x04\x00\x00\x07\x00\x00\x00", 8, false, 0},
		{"\x00\x94\x04\x00", 4, true, 0},
	};
	struct burst b;
	uint32_t off, len;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = tcp4(cases[k].options, cases[k].n);

		parse_one(&b, LINK_EN10MB, &p);
		assert_true(has(&b, HAS_TCP));
		assert_int_equal(b.malformed[0], cases[k].good ? 0 : 1 << MALFORMED_IP_OPTIONS);
		for (unsigned kind = 2; kind < 256; kind++) {
			off = len = 99;
			if (cases[k].kind && kind == cases[k].kind) {
				assert_true(burst_find_ip_option(&b, 0, (uint8_t)kind, &off, &len));
				assert_int_equal(off, 34 + cases[k].at);
				assert_int_equal(len, cases[k].len);
			} else {
				assert_false(
					burst_find_ip_option(&b, 0, (uint8_t)kind, &off, &len));
				assert_int_equal(off, 99);
				assert_int_equal(len, 99);
			}
		}
		parse_free(&b);
	}
}

static void ipv4_fragments(void **state)
{
	static const struct {
		uint16_t field;
		uint32_t payload;
		bool frag, later, good;
	} cases[] = {
		{0x4000, 24, false, false, true}, {0x2000, 24, true, false, true},
		{0x2003, 24, true, true, true},	  {0x0003, 25, true, true, true},
		{0x2000, 25, true, false, false}, {0x2003, 0, true, true, false},
		{0x1fff, 24, true, true, false},  {0x1ffc, 16, true, true, false},
		{0x1ffb, 16, true, true, true},	  {0x8000, 24, false, false, true},
	};
	struct burst b;
	uint8_t byte;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = {0};

		put_ether(&p, 0x0800);
		ip4_begin(&p, 17, cases[k].field, NULL, 0);
		put_fill(&p, 0x11, cases[k].payload);
		ip4_end(&p);
		parse_one(&b, LINK_EN10MB, &p);
		assert_true(has(&b, HAS_IPV4) && has(&b, HAS_L4PROTO));
		assert_int_equal(b.l4proto[0], 17);
		assert_int_equal(has(&b, HAS_FRAG), cases[k].frag);
		assert_int_equal(has(&b, HAS_LATER_FRAG), cases[k].later);
		assert_int_equal(has(&b, HAS_TH), !cases[k].later);
		assert_int_equal(has(&b, HAS_PORTS), !cases[k].later);
		assert_int_equal(b.frag_off[0], (cases[k].field & 0x1fff) * 8);
		assert_int_equal(burst_read(&b, 0, BASE_TH, 0, &byte, 1), !cases[k].later);
		assert_int_equal(b.malformed[0] >> MALFORMED_FRAGMENT & 1, !cases[k].good);
		parse_free(&b);
	}
}

static void ipv6_plain(void **state)
{
	struct packet p = {0}, cut;
	struct burst b;

	put_ether(&p, 0x86dd);
	ip6_begin(&p, 6);
	put_tcp(&p, 2, NULL, 0);
	ip6_end(&p);
	put_fill(&p, 0, 3);
	parse_one(&b, LINK_EN10MB, &p);
	assert_true(has(&b, HAS_IPV6) && has(&b, HAS_TCP) && has(&b, HAS_PORTS));
	assert_int_equal(b.l3len[0], 60);
	assert_int_equal(b.end[0], 74);
	assert_int_equal(b.th_off[0], 54);
	assert_memory_equal(b.saddr[0], "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	assert_memory_equal(b.daddr[0], "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2", 16);
	assert_int_equal(b.malformed[0], 0);
	parse_free(&b);

	cut = p, cut.b[14] = 0x45;
	parse_one(&b, LINK_EN10MB, &cut);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_IP_VERSION);
	assert_false(has(&b, HAS_IPV6) || has(&b, HAS_L4PROTO) || has(&b, HAS_TH));
	parse_free(&b);
	cut = p, cut.n = 53;
	parse_one(&b, LINK_EN10MB, &cut);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_IP_HEADER);
	parse_free(&b);
	cut = p, be16_store(cut.b + 18, 24);
	parse_one(&b, LINK_EN10MB, &cut);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_IP_LENGTH);
	assert_false(has(&b, HAS_IPV6));
	parse_free(&b);
	cut = p, be16_store(cut.b + 18, 0); /* segmentation left to the card */
	parse_one(&b, LINK_EN10MB, &cut);
	assert_int_equal(b.malformed[0], 0);
	assert_int_equal(b.l3len[0], cut.n - 14);
	parse_free(&b);
	cut = p, be16_store(cut.b + 18, 0), cut.b[20] = 58; /* but nothing sends ICMPv6 that way */
	parse_one(&b, LINK_EN10MB, &cut);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_TRANSPORT);
	assert_int_equal(b.l3len[0], 40);
	assert_false(has(&b, HAS_ICMPV6));
	parse_free(&b);
}

/* Hop-by-hop, routing, destination and fragment headers, then what `last` says. */
static struct packet chain6(uint8_t last, uint16_t frag)
{
	struct packet p = {0};

	ip6_begin(&p, 0);
	put_bytes(&p, (uint8_t[]){43, 0, 1, 4, 0, 0, 0, 0}, 8);
	put_bytes(&p, (uint8_t[]){60, 2, 0, 1}, 4);
	put_fill(&p, 0x22, 20);
	put_bytes(&p, (uint8_t[]){44, 0, 1, 4, 0, 0, 0, 0}, 8);
	put8(&p, last);
	put8(&p, 0);
	put16(&p, frag);
	put32(&p, 77);
	return p;
}

static void ipv6_chain(void **state)
{
	static const struct {
		uint8_t proto;
		uint32_t at, len;
	} there[] = {{0, 40, 8},  {43, 48, 24}, {60, 72, 8},
		     {44, 80, 8}, {51, 88, 24}, {135, 88, 8}};
	struct packet p;
	struct burst b;
	uint32_t off, len;

	for (unsigned last = 0; last < 3; last++) {
		static const uint8_t protos[] = {51, 135, 6};

		p = chain6(protos[last], 0);
		put_bytes(&p, (uint8_t[]){6, last ? 0 : 4, 5, 6, 7, 8, 9, 10}, 8);
		put_fill(&p, 0x50, 36);
		ip6_end(&p);
		parse_one(&b, LINK_RAW, &p);
		assert_true(has(&b, HAS_IPV6) && has(&b, HAS_L4PROTO) && has(&b, HAS_TH));
		assert_int_equal(b.l4proto[0], protos[last]);
		assert_int_equal(b.th_off[0], 88);
		assert_int_equal(has(&b, HAS_TCP), protos[last] == 6);
		assert_false(has(&b, HAS_FRAG)); /* a fragment that is the whole */
		assert_int_equal(b.malformed[0], 0);
		for (unsigned k = 0; k < ARRAY_SIZE(there); k++) {
			bool want = k < 4 || there[k].proto == protos[last];

			off = len = 0;
			assert_int_equal(burst_find_exthdr(&b, 0, there[k].proto, &off, &len),
					 want);
			assert_int_equal(off, want ? there[k].at : 0);
			assert_int_equal(len, want ? there[k].len : 0);
		}
		assert_false(burst_find_exthdr(&b, 0, 6, &off, &len));
		assert_false(burst_find_exthdr(&b, 0, 59, &off, &len));
		parse_free(&b);
	}
}

static void ipv6_fragments(void **state)
{
	static const struct {
		uint16_t field;
		uint8_t next;
		uint32_t payload;
		bool frag, later, l4, good;
	} cases[] = {
		{0x0001, 17, 16, true, false, true, true},
		{0x0009, 17, 16, true, true, true, true},
		{0x0008, 17, 3, true, true, true, true},
		{0x0009, 17, 3, true, true, true, false},
		{0x0001, 17, 0, true, false, true, false},
		{0xfff8, 17, 16, true, true, true, false},
		{0x0008, 60, 16, true, true, false, true},
		{0x0008, 51, 16, true, true, false, true},
		{0x0008, 59, 16, true, true, true, true},
		{0x0008, 44, 16, true, true, false, true},
	};
	struct burst b;
	uint32_t off, len;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = chain6(cases[k].next, cases[k].field);

		put_fill(&p, 0, cases[k].payload);
		ip6_end(&p);
		parse_one(&b, LINK_RAW, &p);
		assert_true(has(&b, HAS_IPV6));
		assert_int_equal(has(&b, HAS_FRAG), cases[k].frag);
		assert_int_equal(has(&b, HAS_LATER_FRAG), cases[k].later);
		assert_int_equal(has(&b, HAS_L4PROTO), cases[k].l4);
		assert_int_equal(has(&b, HAS_TH), !cases[k].later);
		assert_int_equal(b.frag_off[0], cases[k].field & 0xfff8);
		assert_int_equal(b.malformed[0] >> MALFORMED_FRAGMENT & 1, !cases[k].good);
		if (cases[k].l4)
			assert_int_equal(b.l4proto[0], cases[k].next);
		assert_true(burst_find_exthdr(&b, 0, 44, &off, &len));
		assert_int_equal(off, 80);
		assert_int_equal(burst_find_exthdr(&b, 0, 51, &off, &len), false);
		parse_free(&b);
	}
}

static void ipv6_broken_chain(void **state)
{
	struct burst b;
	uint32_t off, len;

	/* A header that claims more than there is: l4proto is named, its header is not there. */
	struct packet p = {0};
	ip6_begin(&p, 60);
	put_bytes(&p, (uint8_t[]){6, 9, 1, 4, 0, 0, 0, 0}, 8);
	ip6_end(&p);
	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_EXTHDR | 1 << MALFORMED_TRANSPORT);
	assert_true(has(&b, HAS_L4PROTO));
	assert_int_equal(b.l4proto[0], 6);
	assert_false(has(&b, HAS_PORTS) || has(&b, HAS_TCP));
	parse_free(&b);

	/* The chain leaves the packet: no l4proto, the addresses stay. */
	p.b[40] = 60;
	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_EXTHDR);
	assert_true(has(&b, HAS_IPV6));
	assert_false(has(&b, HAS_L4PROTO) || has(&b, HAS_TH));
	assert_true(burst_find_exthdr(&b, 0, 60, &off, &len));
	assert_int_equal(len, 80);
	parse_free(&b);

	/* Hop-by-hop options behind another header. */
	p = chain6(0, 0);
	put_bytes(&p, (uint8_t[]){59, 0, 1, 4, 0, 0, 0, 0}, 8);
	ip6_end(&p);
	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_EXTHDR);
	assert_int_equal(b.l4proto[0], 59);
	parse_free(&b);

	/* A jumbogram: its length is in the option, and the packet's. */
	memset(&p, 0, sizeof(p));
	ip6_begin(&p, 0);
	put_bytes(&p, (uint8_t[]){17, 0, 0xc2, 4, 0, 0, 0, 48}, 8);
	put_udp(&p, 0);
	put_fill(&p, 0, 40);
	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 0);
	assert_int_equal(b.l3len[0], 96);
	assert_true(has(&b, HAS_UDP));
	parse_free(&b);
}

/* A chain so long that no 16-bit offset reaches its end. */
static void ipv6_endless(void **state)
{
	uint32_t n = 70000;
	uint8_t *data = calloc(1, n);
	struct burst b;
	uint32_t off, len;

	assert_non_null(data);
	data[0] = 0x60;
	for (uint32_t k = 40; k < n; k += 8)
		data[k] = 60;
	memset(&b, 0xff, sizeof(b));
	b.n = 1;
	b.data[0] = data;
	b.caplen[0] = b.len[0] = n;
	b.link[0] = LINK_RAW;
	data[6] = 0; /* hop-by-hop and a payload length of 0: up to the packet's end */
	data[n - 8] = 59;
	burst_parse(&b);
	assert_true(b.has[HAS_IPV6] & 1);
	assert_int_equal(b.end[0], n);
	assert_false(b.has[HAS_L4PROTO] & 1 || b.has[HAS_TH] & 1);
	assert_false(burst_find_exthdr(&b, 0, 44, &off, &len));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_plain),	  cmocka_unit_test(ipv4_malformed),
		cmocka_unit_test(ipv4_snapped),	  cmocka_unit_test(ipv4_options),
		cmocka_unit_test(ipv4_fragments), cmocka_unit_test(ipv6_plain),
		cmocka_unit_test(ipv6_chain),	  cmocka_unit_test(ipv6_fragments),
		cmocka_unit_test(ipv6_endless),	  cmocka_unit_test(ipv6_broken_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
