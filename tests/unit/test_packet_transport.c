/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transport protocols, their options and chunks, raw reads; then every kind of packet cut at every
 * length, which must never show what is not there.
 */
#include <stdio.h>

#include "packet_build.h"

#define BIT(name) (1u << MALFORMED_##name)

/* Raw IPv4 with `n` bytes of protocol `proto`. */
static struct packet ip4(uint8_t proto, const void *bytes, uint32_t n)
{
	struct packet p = {0};

	ip4_begin(&p, proto, 0, NULL, 0);
	put_bytes(&p, bytes, n);
	ip4_end(&p);
	return p;
}

static void ports_and_headers(void **state)
{
	static const struct {
		uint8_t proto;
		uint32_t size;
		bool ports;
	} cases[] = {
		{6, 20, true},	{17, 8, true},	 {136, 8, true}, {132, 12, true}, {33, 12, true},
		{1, 8, false},	{58, 8, false},	 {2, 8, false},	 {50, 8, false},  {51, 12, false},
		{47, 4, false}, {108, 4, false}, {4, 0, false},	 {89, 0, false},
	};
	struct burst b;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++)
		for (uint32_t n = 0; n <= cases[k].size; n++) {
			uint8_t head[20] = {0x12, 0x34, 0x00, 0x50, 0, 0, [12] = 0x50, 0x12};

			if (cases[k].proto == 17)
				head[5] = (uint8_t)MAX(n, 8);
			struct packet p = ip4(cases[k].proto, head, n);
			bool whole = n >= cases[k].size;

			parse_one(&b, LINK_RAW, &p);
			assert_true(has(&b, HAS_TH));
			assert_int_equal(b.l4proto[0], cases[k].proto);
			assert_int_equal(has(&b, HAS_PORTS), cases[k].ports && n >= 4);
			if (has(&b, HAS_PORTS)) {
				assert_int_equal(b.sport[0], 0x1234);
				assert_int_equal(b.dport[0], 0x50);
			}
			assert_int_equal(has(&b, HAS_TCP), cases[k].proto == 6 && whole);
			assert_int_equal(has(&b, HAS_TCP_FLAGS), cases[k].proto == 6 && n >= 14);
			assert_int_equal(has(&b, HAS_UDP), cases[k].proto == 17 && whole);
			assert_int_equal(has(&b, HAS_SCTP), cases[k].proto == 132 && whole);
			assert_int_equal(has(&b, HAS_ICMP), cases[k].proto == 1 && n >= 2);
			assert_int_equal(has(&b, HAS_ICMPV6), cases[k].proto == 58 && n >= 2);
			assert_int_equal(b.malformed[0] & BIT(TRANSPORT),
					 whole ? 0 : BIT(TRANSPORT));
			if (has(&b, HAS_ICMP) || has(&b, HAS_ICMPV6)) {
				assert_int_equal(b.icmp_type[0], 0x12);
				assert_int_equal(b.icmp_code[0], 0x34);
			}
			if (has(&b, HAS_TCP_FLAGS))
				assert_int_equal(b.tcp_flags[0], 0x12);
			parse_free(&b);
		}
}

static void inner_header(void **state)
{
	static const struct {
		uint8_t proto;
		const char *head;
		uint32_t n, ih;
	} cases[] = {
		{6, "\0\1\0\2\0\0\0\0\0\0\0\0\x70\0\0\0\0\0\0\0\1\1\1\1\1\1\1\1", 28, 28},
		{17, "\0\1\0\2\0\x0d\0\0DATA", 12, 8},
		{47, "\0\0\x08\0", 4, 4},
		{47, "\xb0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 16},
		{47, "\x20\0\x08\0\0\0\0\0", 8, 8},
		{47, "\x20\1\x88\x0b\0\0\0\0", 8, 0},
		{47, "\x40\0\x08\0\0\0\0\0", 8, 0},
		{136, "\0\1\0\2\0\0\0\0", 8, 0},
		{50, "\0\0\0\1\0\0\0\1", 8, 0},
	};
	struct burst b;
	uint8_t byte;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = ip4(cases[k].proto, cases[k].head, cases[k].n);

		put8(&p, 0x77);
		ip4_end(&p);
		parse_one(&b, LINK_RAW, &p);
		assert_int_equal(b.malformed[0], 0);
		assert_int_equal(b.ih_off[0], cases[k].ih ? 20 + cases[k].ih : 0);
		assert_int_equal(burst_read(&b, 0, BASE_IH, 0, &byte, 1), cases[k].ih != 0);
		assert_false(burst_read(&b, 0, BASE_IH, p.n, &byte, 1));
		parse_free(&b);
	}
	struct packet ipip = ip4(4, "\x45", 1);

	parse_one(&b, LINK_RAW, &ipip);
	assert_true(burst_read(&b, 0, BASE_IH, 0, &byte, 1));
	assert_int_equal(byte, 0x45);
	parse_free(&b);
}

static void expect(const struct packet *p, unsigned malformed)
{
	struct burst b;

	parse_one(&b, LINK_RAW, p);
	assert_int_equal(b.malformed[0], malformed);
	parse_free(&b);
}

static void transport_malformed(void **state)
{
	struct packet tcp = {0}, udp = {0}, lite = {0}, p;
	struct burst b;

	ip4_begin(&tcp, 6, 0, NULL, 0);
	put_tcp(&tcp, 2, "\x02\x04\x05\xb4", 4);
	ip4_end(&tcp);
	expect(&tcp, 0);
	p = tcp, p.b[32] = 0x40;
	expect(&p, BIT(TCP_OFFSET));
	p = tcp, p.b[32] = 0x70;
	expect(&p, BIT(TCP_OFFSET));
	p = tcp, p.b[41] = 1;
	expect(&p, BIT(TCP_OFFSET));
	p = tcp, p.b[41] = 5;
	expect(&p, BIT(TCP_OFFSET));
	parse_cut(&b, LINK_RAW, &tcp, 41, tcp.n); /* options cut by the capture only */
	assert_int_equal(b.malformed[0], BIT(TRANSPORT));
	assert_true(has(&b, HAS_TCP));
	parse_free(&b);

	ip4_begin(&udp, 17, 0, NULL, 0);
	put_udp(&udp, 12);
	put_fill(&udp, 0, 4);
	ip4_end(&udp);
	expect(&udp, 0);
	p = udp, be16_store(p.b + 24, 13);
	expect(&p, BIT(UDP_LENGTH));
	p = udp, be16_store(p.b + 24, 7);
	expect(&p, BIT(UDP_LENGTH));
	p = udp, be16_store(p.b + 24, 0);
	expect(&p, BIT(UDP_LENGTH));
	p = udp, be16_store(p.b + 24, 11); /* padding behind the datagram */
	expect(&p, 0);
	p = udp, be16_store(p.b + 24, 999), be16_store(p.b + 6, 0x2000); /* of the whole packet */
	be16_store(p.b + 2, 36), put_fill(&p, 0, 4), ip4_checksum(&p);
	expect(&p, 0);

	lite = ip4(136, "\0\1\0\2\0\0\0\0DATA", 12);
	expect(&lite, 0);
	p = lite, be16_store(p.b + 24, 7);
	expect(&p, BIT(UDP_LENGTH));
	p = lite, be16_store(p.b + 24, 13);
	expect(&p, BIT(UDP_LENGTH));
}

static void tcp_options(void **state)
{
	static const char list[] =
		"\x02\x04\x05\xb4\x00\x01\x03\x03\x07\x08\x0a\1\2\3\4\5\6\7\x08\x05";
	static const struct {
		uint8_t kind;
		uint32_t at, len;
	} there[] = {{2, 0, 4}, {0, 4, 1}, {1, 5, 1}, {3, 6, 3}, {8, 9, 10}};
	struct packet p = {0};
	struct burst b;
	uint32_t off, len;

	ip4_begin(&p, 6, 0, NULL, 0);
	put_tcp(&p, 2, list, 20);
	put_fill(&p, 4, 8);
	ip4_end(&p);
	parse_one(&b, LINK_RAW, &p);
	for (unsigned kind = 0; kind < 256; kind++) {
		bool want = false;
		unsigned k;

		for (k = 0; k < ARRAY_SIZE(there); k++)
			if (there[k].kind == kind) {
				want = true;
				break;
			}
		off = len = 7;
		assert_int_equal(burst_find_tcp_option(&b, 0, (uint8_t)kind, &off, &len), want);
		assert_int_equal(off, want ? 40 + there[k].at : 7);
		assert_int_equal(len, want ? there[k].len : 7);
	}
	parse_free(&b);

	p.b[40 + 7] = 0; /* window scale of length 0 counts as a byte, then 0, then kind 7 */
	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 0); /* an end-of-list came before it */
	assert_true(burst_find_tcp_option(&b, 0, 3, &off, &len));
	assert_int_equal(len, 1);
	parse_free(&b);
	p.b[40 + 10] = 200; /* an option that leaves the header is not there */
	parse_one(&b, LINK_RAW, &p);
	assert_false(burst_find_tcp_option(&b, 0, 8, &off, &len));
	parse_free(&b);
}

static const char sctp_packet[] = "\x04\xd2\x00\x50\0\0\0\1\0\0\0\0"
				  "\x01\x00\x00\x06"
				  "AB\0\0"
				  "\x03\x00\x00\x04"
				  "\x00\x03\x00\x05"
				  "D\0\0\0";

static void sctp_chunks(void **state)
{
	struct packet p = ip4(132, sctp_packet, 32), bad;
	struct burst b;
	uint32_t off, len;

	parse_one(&b, LINK_RAW, &p);
	assert_int_equal(b.malformed[0], 0);
	assert_true(has(&b, HAS_SCTP) && has(&b, HAS_PORTS));
	assert_true(burst_find_sctp_chunk(&b, 0, 1, &off, &len));
	assert_int_equal(off, 32);
	assert_int_equal(len, 6);
	assert_true(burst_find_sctp_chunk(&b, 0, 3, &off, &len));
	assert_int_equal(off, 40);
	assert_true(burst_find_sctp_chunk(&b, 0, 0, &off, &len));
	assert_int_equal(off, 44);
	assert_int_equal(len, 5);
	assert_false(burst_find_sctp_chunk(&b, 0, 2, &off, &len));
	parse_free(&b);

	bad = p, be16_store(bad.b + 42, 0);
	parse_one(&b, LINK_RAW, &bad);
	assert_int_equal(b.malformed[0], BIT(SCTP_CHUNK));
	assert_false(burst_find_sctp_chunk(&b, 0, 3, &off, &len));
	assert_false(burst_find_sctp_chunk(&b, 0, 0, &off, &len));
	assert_true(burst_find_sctp_chunk(&b, 0, 1, &off, &len));
	parse_free(&b);
	bad = p, be16_store(bad.b + 46, 9);
	expect(&bad, BIT(SCTP_CHUNK));
	bad = p, bad.n -= 6; /* 2 bytes of a chunk header */
	ip4_end(&bad);
	expect(&bad, BIT(SCTP_CHUNK));
	parse_cut(&b, LINK_RAW, &p, 46, p.n); /* cut by the capture: no fault */
	assert_int_equal(b.malformed[0], 0);
	parse_free(&b);
}

static void dccp_options(void **state)
{
	/* Each packet type with its header, then options: one byte, three bytes, a lone type. */
	static const uint8_t more[16] = {4, 12, 0, 8, 8, 8, 8, 12, 8, 8, 12, 12, 12, 12, 12, 12};
	struct burst b;
	uint32_t off, len;

	for (unsigned type = 0; type < 32; type++) {
		uint32_t head = (type & 1 ? 16 : 12) + more[type / 2];
		uint8_t bytes[40] = {0x12, 0x34, 0, 80, [8] = (uint8_t)type};

		bytes[4] = (uint8_t)(head / 4 + 2);
		memcpy(bytes + head, "\x01\x22\x03\x55\x02\x23\x02\x50", 8);
		struct packet p = ip4(33, bytes, head + 8);

		parse_one(&b, LINK_RAW, &p);
		assert_int_equal(b.malformed[0], 0);
		assert_true(burst_find_dccp_option(&b, 0, 0x22, &off, &len));
		assert_int_equal(off, 20 + head + 1);
		assert_int_equal(len, 3);
		assert_true(burst_find_dccp_option(&b, 0, 2, &off, &len));
		assert_int_equal(off, 20 + head + 4);
		assert_int_equal(len, 1);
		assert_true(burst_find_dccp_option(&b, 0, 0x50, &off, &len));
		assert_int_equal(len, 1);
		assert_false(burst_find_dccp_option(&b, 0, 0x55, &off, &len));
		assert_false(burst_find_dccp_option(&b, 0, 0x24, &off, &len));
		parse_free(&b);
		p.b[20 + head + 2] = 1;
		parse_one(&b, LINK_RAW, &p);
		assert_true(burst_find_dccp_option(&b, 0, 0x22, &off, &len));
		assert_false(burst_find_dccp_option(&b, 0, 2, &off, &len));
		parse_free(&b);
	}
}

/* Bit by bit, from the definition: bit k of the packet is bit 7 - k % 8 of byte k / 8. */
static bool naive_bits(const uint8_t *p, uint32_t n, uint32_t bit_off, uint32_t bit_len,
		       uint8_t *out)
{
	uint32_t n_out = (bit_len + 7) / 8;

	if (!bit_len || (uint64_t)bit_off + bit_len > 8ull * n)
		return false;
	memset(out, 0, n_out);
	for (uint32_t k = 0; k < bit_len; k++) {
		uint32_t from = bit_off + k, to = n_out * 8 - bit_len + k;

		if (p[from / 8] >> (7 - from % 8) & 1)
			out[to / 8] |= (uint8_t)(1 << (7 - to % 8));
	}
	return true;
}

static void read_bits(void **state)
{
	struct packet p = {0};
	struct burst b;

	srand(1);
	put_ether(&p, 0x0800);
	ip4_begin(&p, 253, 0, NULL, 0);
	for (unsigned k = 0; k < 60; k++)
		put8(&p, (uint8_t)rand());
	ip4_end(&p);
	put_fill(&p, 0xee, 4);
	parse_one(&b, LINK_EN10MB, &p);
	const struct {
		enum header_base base;
		uint32_t at;
	} bases[] = {{BASE_LL, 0}, {BASE_NH, 14}, {BASE_TH, 34}};

	for (unsigned k = 0; k < 200000; k++) {
		unsigned which = (unsigned)rand() % 3;
		uint32_t off = (uint32_t)rand() % 800, len = (uint32_t)rand() % 160;
		uint8_t got[24], want[24];

		memset(got, 0x5a, sizeof(got));
		memset(want, 0x5a, sizeof(want));
		bool expected =
			naive_bits(p.b + bases[which].at, 94 - bases[which].at, off, len, want);

		assert_int_equal(burst_read_bits(&b, 0, bases[which].base, off, len, got),
				 expected);
		assert_memory_equal(got, want, sizeof(got));
	}
	uint8_t out[8];

	assert_false(burst_read_bits(&b, 0, BASE_NH, UINT32_MAX, 8, out));
	assert_false(burst_read_bits(&b, 0, BASE_NH, UINT32_MAX - 7, UINT32_MAX, out));
	assert_false(burst_read(&b, 0, BASE_NH, UINT32_MAX, out, 1));
	assert_false(burst_read(&b, 0, BASE_NH, UINT32_MAX - 13, out, 1));
	assert_false(burst_read(&b, 0, BASE_NH, 0, out, UINT32_MAX));
	assert_true(burst_read(&b, 0, BASE_NH, 79, out, 1));
	assert_false(burst_read(&b, 0, BASE_NH, 80, out, 1)); /* the padding is not the packet's */
	assert_false(burst_read(&b, 0, BASE_IH, 0, out, 1));
	parse_free(&b);
}

/* Whatever a cut packet shows, the whole one shows the same. */
static void assert_shows_no_more(const struct burst *cut, const struct burst *whole)
{
	static const uint8_t exthdrs[] = {0, 43, 44, 51, 60, 135};
	uint32_t off, len, off2, len2;

	for (unsigned k = 0; k < HAS_KINDS; k++)
		assert_true(!has(cut, k) || has(whole, k));
#define SAME(bit, column)                                                                          \
	if (has(cut, bit))                                                                         \
	assert_int_equal(cut->column[0], whole->column[0])
	SAME(HAS_VLAN, vlan_tci[0]);
	SAME(HAS_QINQ, vlan_tci[1]);
	SAME(HAS_NH, nh_off);
	SAME(HAS_NH, protocol);
	SAME(HAS_L4PROTO, l4proto);
	SAME(HAS_TH, th_off);
	SAME(HAS_PORTS, sport);
	SAME(HAS_PORTS, dport);
	SAME(HAS_TCP_FLAGS, tcp_flags);
	SAME(HAS_ICMP, icmp_type);
	SAME(HAS_ICMPV6, icmp_code);
	SAME(HAS_FRAG, frag_off);
#undef SAME
	if (has(cut, HAS_IPV4))
		assert_memory_equal(cut->saddr[0], whole->saddr[0], 4);
	if (has(cut, HAS_IPV6))
		assert_memory_equal(cut->daddr[0], whole->daddr[0], 16);
	assert_true(cut->end[0] <= cut->caplen[0]);
#define FINDS(find, kind)                                                                          \
	if (find(cut, 0, kind, &off, &len)) {                                                      \
		assert_true(find(whole, 0, kind, &off2, &len2));                                   \
		assert_int_equal(off, off2);                                                       \
		assert_int_equal(len, len2);                                                       \
	}
	for (unsigned k = 0; k < ARRAY_SIZE(exthdrs); k++)
		FINDS(burst_find_exthdr, exthdrs[k]);
	for (unsigned kind = 0; kind < 256; kind++) {
		FINDS(burst_find_tcp_option, (uint8_t)kind);
		FINDS(burst_find_ip_option, (uint8_t)kind);
		FINDS(burst_find_sctp_chunk, (uint8_t)kind);
	}
#undef FINDS
	for (unsigned base = BASE_LL; base <= BASE_IH; base++)
		for (uint32_t at = 0; at < 200; at++) {
			uint8_t a, c;

			if (!burst_read(cut, 0, base, at, &a, 1))
				continue;
			assert_true(burst_read(whole, 0, base, at, &c, 1));
			assert_int_equal(a, c);
		}
}

static void sweep(enum link_type link, const struct packet *p)
{
	struct burst whole, cut;

	parse_one(&whole, link, p);
	for (uint32_t n = 0; n < p->n; n++)
		for (unsigned wire = 0; wire < 2; wire++) {
			parse_cut(&cut, link, p, n, wire ? p->n : n);
			assert_shows_no_more(&cut, &whole);
			assert_true(n >= p->n - 8 || cut.malformed[0] || has(&cut, HAS_NH));
			parse_free(&cut);
		}
	parse_free(&whole);
}

static void cut_everywhere(void **state)
{
	static const char tcp_opts[] = "\x02\x04\x05\xb4\x01\x03\x03\x07\x04\x02\x01\x00";
	struct packet p = {0};

	put_ether(&p, 0x88a8);
	put_bytes(&p, "\0\5\x81\0\0\6\x08\0", 8);
	ip4_begin(&p, 6, 0, "\x94\x04\0\0", 4);
	put_tcp(&p, 0x18, tcp_opts, 12);
	put_fill(&p, 'x', 5);
	ip4_end(&p);
	sweep(LINK_EN10MB, &p);

	memset(&p, 0, sizeof(p));
	put_ether(&p, 0x86dd);
	ip6_begin(&p, 0);
	put_bytes(&p, (uint8_t[]){43, 0, 1, 4, 0, 0, 0, 0}, 8);
	put_bytes(&p, (uint8_t[]){44, 0, 4, 0, 0, 0, 0, 0}, 8);
	put_bytes(&p, (uint8_t[]){132, 0, 0, 1, 0, 0, 0, 9}, 8);
	put_bytes(&p, sctp_packet, 32);
	ip6_end(&p);
	sweep(LINK_EN10MB, &p);

	memset(&p, 0, sizeof(p));
	put_bytes(&p, "\0\0\0\1\0\6\2\0\0\0\0\1\0\0\x86\xdd", 16);
	ip6_begin(&p, 58);
	put_bytes(&p, "\x87\0\0\0\0\0\0\0", 8);
	put_fill(&p, 3, 24);
	ip6_end(&p);
	sweep(LINK_SLL, &p);

	for (unsigned k = 0; k < 256; k++) { /* every protocol over something random */
		memset(&p, 0, sizeof(p));
		ip4_begin(&p, (uint8_t)k, 0, NULL, 0);
		for (unsigned n = 0; n < 48; n++)
			put8(&p, (uint8_t)(rand() >> 4));
		ip4_end(&p);
		sweep(LINK_RAW, &p);
	}
}

/* Packets of every kind side by side: neighbours do not leak into each other. */
static void full_burst(void **state)
{
	static struct packet ps[BURST_MAX];
	static struct burst all;

	all.n = BURST_MAX;
	for (unsigned i = 0; i < BURST_MAX; i++) {
		memset(&ps[i], 0, sizeof(ps[i]));
		put_ether(&ps[i], i % 3 == 2 ? 0x0806 : i % 3 ? 0x86dd : 0x0800);
		if (i % 3 == 0)
			ip4_begin(&ps[i], i % 2 ? 6 : 17, 0, NULL, 0);
		else if (i % 3 == 1)
			ip6_begin(&ps[i], i % 2 ? 58 : 6);
		put_fill(&ps[i], (uint8_t)i, 20 + i);
		if (i % 3 == 0)
			ip4_end(&ps[i]);
		else if (i % 3 == 1)
			ip6_end(&ps[i]);
		all.data[i] = ps[i].b;
		all.caplen[i] = all.len[i] = ps[i].n;
		all.link[i] = LINK_EN10MB;
	}
	burst_parse(&all);
	for (unsigned i = 0; i < BURST_MAX; i++) {
		struct burst one;

		parse_one(&one, LINK_EN10MB, &ps[i]);
		for (unsigned k = 0; k < HAS_KINDS; k++)
			assert_int_equal(all.has[k] >> i & 1, one.has[k]);
		assert_int_equal(all.malformed[i], one.malformed[0]);
		assert_int_equal(all.l3len[i], one.l3len[0]);
		parse_free(&one);
	}
}

static void reason_names(void **state)
{
	for (unsigned k = 0; k < MALFORMED_KINDS; k++) {
		assert_true(strlen(malformed_reason_text(k)) > 5);
		for (unsigned j = 0; j < k; j++)
			assert_string_not_equal(malformed_reason_name(j), malformed_reason_name(k));
	}
	assert_string_equal(malformed_reason_name(MALFORMED_IP_CHECKSUM), "ip-checksum");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_and_headers),   cmocka_unit_test(inner_header),
		cmocka_unit_test(transport_malformed), cmocka_unit_test(tcp_options),
		cmocka_unit_test(sctp_chunks),	       cmocka_unit_test(dccp_options),
		cmocka_unit_test(read_bits),	       cmocka_unit_test(cut_everywhere),
		cmocka_unit_test(full_burst),	       cmocka_unit_test(reason_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
