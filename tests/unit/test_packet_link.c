/* SPDX-License-Identifier: Apache-2.0 */
/* Link types, VLAN tags, packet types and ARP. */
#include "packet_build.h"

static void ether_types(void **state)
{
	static const struct {
		const char *daddr;
		enum packet_type type;
	} cases[] = {
		{"\x02\x00\x00\x00\x00\x01", PKT_HOST},
		{"\xff\xff\xff\xff\xff\xff", PKT_BROADCAST},
		{"\x01\x00\x5e\x00\x00\x01", PKT_MULTICAST},
		{"\xff\xff\xff\xff\xff\xfe", PKT_MULTICAST},
	};
	struct burst b;

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = {0};

		put_ether(&p, 0x88cc);
		memcpy(p.b, cases[k].daddr, 6);
		put_fill(&p, 0, 20);
		parse_one(&b, LINK_EN10MB, &p);
		assert_int_equal(b.pkttype[0], cases[k].type);
		assert_true(has(&b, HAS_ETHER) && has(&b, HAS_NH));
		assert_false(has(&b, HAS_IPV4) || has(&b, HAS_ARP) || has(&b, HAS_L4PROTO));
		assert_int_equal(b.protocol[0], 0x88cc);
		assert_int_equal(b.nh_off[0], 14);
		assert_int_equal(b.l3len[0], 20);
		assert_int_equal(b.malformed[0], 0);
		parse_free(&b);
	}
}

/* A frame with a length: LLC, or "raw 802.3" when the first bytes are ff ff. */
static void ether_802_3(void **state)
{
	struct burst b;
	struct packet llc = {0}, raw = {0}, empty = {0};

	put_ether(&llc, 38);
	put_bytes(&llc, "\x42\x42\x03", 3);
	parse_one(&b, LINK_EN10MB, &llc);
	assert_int_equal(b.protocol[0], 4);
	parse_free(&b);

	put_ether(&raw, 38);
	put_bytes(&raw, "\xff\xff\x00", 3);
	parse_one(&b, LINK_EN10MB, &raw);
	assert_int_equal(b.protocol[0], 1);
	parse_free(&b);

	put_ether(&empty, 0x5ff);
	parse_one(&b, LINK_EN10MB, &empty);
	assert_int_equal(b.protocol[0], 4);
	assert_true(has(&b, HAS_NH));
	parse_free(&b);
}

static void vlan_tags(void **state)
{
	static const uint16_t kinds[] = {0x8100, 0x88a8, 0x9100};
	struct burst b;

	for (unsigned tags = 1; tags <= 4; tags++) {
		struct packet p = {0};

		put_ether(&p, kinds[0]);
		for (unsigned k = 1; k <= tags; k++) {
			put16(&p, (uint16_t)(0x2000 + k));
			put16(&p, k == tags ? 0x0800 : kinds[k % 3]);
		}
		ip4_begin(&p, 17, 0, NULL, 0);
		put_udp(&p, 8);
		ip4_end(&p);
		parse_one(&b, LINK_EN10MB, &p);
		assert_true(has(&b, HAS_VLAN) && has(&b, HAS_IPV4) && has(&b, HAS_UDP));
		assert_int_equal(has(&b, HAS_QINQ), tags > 1);
		assert_int_equal(b.vlan_proto[0][0], 0x8100);
		assert_int_equal(b.vlan_tci[0][0], 0x2001);
		if (tags > 1) {
			assert_int_equal(b.vlan_proto[1][0], 0x88a8);
			assert_int_equal(b.vlan_tci[1][0], 0x2002);
		}
		assert_int_equal(b.nh_off[0], 14 + 4 * tags);
		assert_int_equal(b.protocol[0], 0x0800);
		assert_int_equal(b.malformed[0], 0);
		parse_free(&b);
	}
}

static void truncated_links(void **state)
{
	static const uint32_t sizes[LINK_TYPES] = {14, 1, 4, 4, 16, 20};
	struct burst b;
	struct packet p = {0};

	put_fill(&p, 0, 64);
	for (unsigned link = 0; link < LINK_TYPES; link++)
		for (uint32_t cut = 0; cut <= sizes[link]; cut++) {
			parse_cut(&b, link, &p, cut, 64);
			assert_int_equal(has(&b, HAS_NH), cut == sizes[link]);
			assert_int_equal(b.malformed[0] >> MALFORMED_LINK & 1, cut < sizes[link]);
			parse_free(&b);
		}

	p.n = 0;
	put_ether(&p, 0x8100);
	put_fill(&p, 0, 4);
	for (uint32_t cut = 14; cut < 18; cut++) {
		parse_cut(&b, LINK_EN10MB, &p, cut, 18);
		assert_int_equal(b.malformed[0], 1 << MALFORMED_VLAN);
		assert_true(has(&b, HAS_ETHER));
		assert_false(has(&b, HAS_VLAN) || has(&b, HAS_NH));
		assert_int_equal(b.protocol[0], 0x8100);
		parse_free(&b);
	}
}

/* An IPv4 packet behind `head`. */
static void check_link(enum link_type link, const void *head, uint32_t n, bool is_ipv4,
		       uint8_t type)
{
	struct burst b;
	struct packet p = {0};

	put_bytes(&p, head, n);
	ip4_begin(&p, 6, 0, NULL, 0);
	put_tcp(&p, 2, NULL, 0);
	ip4_end(&p);
	parse_one(&b, link, &p);
	assert_true(has(&b, HAS_NH));
	assert_false(has(&b, HAS_ETHER));
	assert_int_equal(b.nh_off[0], n);
	assert_int_equal(has(&b, HAS_IPV4), is_ipv4);
	assert_int_equal(has(&b, HAS_TCP), is_ipv4);
	assert_int_equal(b.pkttype[0], type);
	assert_int_equal(b.malformed[0], 0);
	parse_free(&b);
}

static void other_links(void **state)
{
	check_link(LINK_RAW, "", 0, true, PKT_HOST);
	check_link(LINK_NULL, "\x02\0\0\0", 4, true, PKT_HOST);
	check_link(LINK_NULL, "\0\0\0\x02", 4, true, PKT_HOST);
	check_link(LINK_LOOP, "\0\0\0\x02", 4, true, PKT_HOST);
	check_link(LINK_NULL, "\x07\0\0\0", 4, false, PKT_HOST);
	for (uint8_t type = 0; type <= 4; type++) {
		uint8_t sll[16] = {0, type, 0, 1, 0, 6, [14] = 0x08};
		uint8_t sll2[20] = {0x08, 0, [9] = 1, [10] = type, [11] = 6};

		check_link(LINK_SLL, sll, 16, true, type);
		check_link(LINK_SLL2, sll2, 20, true, type);
	}
	/* A packet type that is none, a netlink message, LLC. */
	check_link(LINK_SLL, "\0\7\0\1\0\6\0\0\0\0\0\0\0\0\x08\0", 16, true, PKT_HOST);
	check_link(LINK_SLL, "\0\4\x03\x38\0\0\0\0\0\0\0\0\0\0\x08\0", 16, false, PKT_OUTGOING);
	check_link(LINK_SLL, "\0\0\0\1\0\6\0\0\0\0\0\0\0\0\0\4", 16, false, PKT_HOST);
	/* A tag behind the cooked header. */
	check_link(LINK_SLL, "\0\0\0\1\0\6\0\0\0\0\0\0\0\0\x81\0\0\5\x08\0", 20, true, PKT_HOST);
}

static void ipv6_links(void **state)
{
	static const uint8_t families[] = {10, 23, 24, 28, 30};
	struct burst b;

	for (unsigned k = 0; k < 2 * ARRAY_SIZE(families); k++) {
		struct packet p = {0};
		uint8_t family[4] = {0};

		family[k % 2 ? 0 : 3] = families[k / 2];
		put_bytes(&p, family, 4);
		ip6_begin(&p, 59);
		ip6_end(&p);
		parse_one(&b, LINK_NULL, &p);
		assert_true(has(&b, HAS_IPV6));
		parse_free(&b);
		memmove(p.b, p.b + 4, p.n -= 4);
		parse_one(&b, LINK_RAW, &p);
		assert_true(has(&b, HAS_IPV6));
		assert_int_equal(b.protocol[0], 0x86dd);
		parse_free(&b);
	}
	struct packet odd = {.b = {0x55}, .n = 40};

	parse_one(&b, LINK_RAW, &odd);
	assert_int_equal(b.malformed[0], 1 << MALFORMED_IP_VERSION);
	assert_int_equal(b.protocol[0], 0);
	assert_true(has(&b, HAS_NH));
	parse_free(&b);
}

static void put_arp(struct packet *p, uint16_t hardware, uint8_t hlen, uint8_t plen)
{
	put_ether(p, 0x0806);
	put16(p, hardware);
	put16(p, 0x0800);
	put8(p, hlen);
	put8(p, plen);
	put16(p, 1);
	put_fill(p, 7, 2u * hlen + 2u * plen);
}

static void arp(void **state)
{
	static const struct {
		uint16_t hardware;
		uint8_t hlen, plen;
		bool good;
	} cases[] = {{1, 6, 4, true},	{6, 6, 4, true},     {1, 8, 4, false}, {1, 6, 16, false},
		     {32, 20, 4, true}, {7, 1, 4, true},     {1, 0, 4, false}, {1, 6, 0, false},
		     {24, 8, 4, true},	{1, 255, 255, false}};
	struct burst b;
	uint8_t op[2];

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct packet p = {0};

		put_arp(&p, cases[k].hardware, cases[k].hlen, cases[k].plen);
		parse_one(&b, LINK_EN10MB, &p);
		assert_true(has(&b, HAS_ARP));
		assert_int_equal(b.malformed[0], cases[k].good ? 0 : 1 << MALFORMED_ARP);
		assert_true(burst_read(&b, 0, BASE_NH, 6, op, 2));
		assert_int_equal(be16_load(op), 1);
		parse_free(&b);
		for (uint32_t cut = 14; cut < p.n; cut++) {
			parse_cut(&b, LINK_EN10MB, &p, cut, p.n);
			assert_int_equal(has(&b, HAS_ARP), cut >= 22);
			assert_int_equal(b.malformed[0], 1 << MALFORMED_ARP);
			parse_free(&b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ether_types), cmocka_unit_test(ether_802_3),
		cmocka_unit_test(vlan_tags),   cmocka_unit_test(truncated_links),
		cmocka_unit_test(other_links), cmocka_unit_test(ipv6_links),
		cmocka_unit_test(arp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
