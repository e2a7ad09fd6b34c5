/* SPDX-License-Identifier: Apache-2.0 */
/* Packets in words: nft's trace fields, and the kernel's log lines. */
#include "packet_build.h"

#include "engine/describe.h"

static void expect_fields(const struct packet *p, enum link_type link, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	struct burst b;

	parse_one(&b, link, p);
	describe_packet(&b, 0, "eth0", NULL, &out);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
	parse_free(&b);
}

static void expect_log(const struct packet *p, enum link_type link, unsigned flags,
		       const char *want)
{
	struct strbuf out = STRBUF_INIT;
	struct burst b;

	parse_one(&b, link, p);
	describe_log(&b, 0, "pre: ", "eth0", NULL, flags, &out);
	assert_string_equal(strbuf_str(&out), want);
	strbuf_free(&out);
	parse_free(&b);
}

static struct packet tcp4(uint16_t frag)
{
	struct packet p = {0};

	put_ether(&p, 0x0800);
	ip4_begin(&p, 6, frag, NULL, 0);
	put_tcp(&p, 0x12, "\x02\x04\x05\xb4", 4);
	ip4_end(&p);
	return p;
}

static struct packet udp6(void)
{
	struct packet p = {0};

	ip6_begin(&p, 17);
	put_udp(&p, 8);
	ip6_end(&p);
	return p;
}

static struct packet arp(void)
{
	struct packet p = {0};

	put_ether(&p, 0x0806);
	put_bytes(&p, "\x00\x01\x08\x00\x06\x04\x00\x01", 8);
	put_bytes(&p, "\x02\x00\x00\x00\x00\x02\xc0\x00\x02\x01", 10);
	put_bytes(&p, "\x00\x00\x00\x00\x00\x00\xc0\x00\x02\x02", 10);
	return p;
}

static void fields(void **state)
{
	struct packet p = tcp4(0x4000);

	expect_fields(
		&p, LINK_EN10MB,
		"iif \"eth0\" ether saddr 02:00:00:00:00:02 ether daddr 02:00:00:00:00:01 "
		"ip saddr 192.0.2.1 ip daddr 198.51.100.2 ip dscp cs0 ip ecn not-ect ip ttl 64 "
		"ip id 4660 ip protocol 6 ip length 44 tcp sport 1234 tcp dport 80 "
		"tcp flags == syn,ack tcp window 8192 meta length 44");
	p = udp6();
	expect_fields(&p, LINK_RAW,
		      "iif \"eth0\" ip6 saddr 2001:db8::1 ip6 daddr 2001:db8::2 ip6 dscp cs0 ip6 "
		      "ecn not-ect ip6 hoplimit 64 "
		      "ip6 flowlabel 0 ip6 nexthdr 17 ip6 length 8 udp sport 5353 udp dport 53 udp "
		      "length 8 "
		      "meta length 48");
	p = arp();
	expect_fields(&p, LINK_EN10MB,
		      "iif \"eth0\" ether saddr 02:00:00:00:00:02 ether daddr 02:00:00:00:00:01 "
		      "arp operation request arp saddr ip 192.0.2.1 arp daddr ip 192.0.2.2 "
		      "meta length 28");
}

static void log_tcp(void **state)
{
	struct packet p = tcp4(0x4000);

	expect_log(&p, LINK_EN10MB, 0,
		   "pre: IN=eth0 OUT= MAC=02:00:00:00:00:01:02:00:00:00:00:02:08:00 "
		   "SRC=192.0.2.1 DST=198.51.100.2 LEN=44 TOS=0x00 PREC=0x00 TTL=64 ID=4660 DF "
		   "PROTO=TCP SPT=1234 DPT=80 WINDOW=8192 RES=0x00 ACK SYN URGP=0");
	expect_log(&p, LINK_EN10MB,
		   LOG_LINE_TCP_SEQUENCE | LOG_LINE_TCP_OPTIONS | LOG_LINE_MAC_DECODE,
		   "pre: IN=eth0 OUT= MACSRC=02:00:00:00:00:02 MACDST=02:00:00:00:00:01 "
		   "MACPROTO=0800 SRC=192.0.2.1 DST=198.51.100.2 LEN=44 TOS=0x00 PREC=0x00 TTL=64 "
		   "ID=4660 DF PROTO=TCP SPT=1234 DPT=80 SEQ=16909060 ACK=84281096 WINDOW=8192 "
		   "RES=0x00 ACK SYN URGP=0 OPT (020405B4)");
	p = tcp4(0x2005);
	expect_log(&p, LINK_EN10MB, 0,
		   "pre: IN=eth0 OUT= MAC=02:00:00:00:00:01:02:00:00:00:00:02:08:00 "
		   "SRC=192.0.2.1 DST=198.51.100.2 LEN=44 TOS=0x00 PREC=0x00 TTL=64 ID=4660 MF "
		   "FRAG:5 PROTO=TCP");
}

static void log_other(void **state)
{
	struct packet p = udp6();

	expect_log(&p, LINK_RAW, 0,
		   "pre: IN=eth0 OUT= MAC= SRC=2001:0db8:0000:0000:0000:0000:0000:0001 "
		   "DST=2001:0db8:0000:0000:0000:0000:0000:0002 LEN=48 TC=0 HOPLIMIT=64 "
		   "FLOWLBL=0 PROTO=UDP SPT=5353 DPT=53 LEN=8");
	p = arp();
	expect_log(&p, LINK_EN10MB, LOG_LINE_MAC_DECODE,
		   "pre: IN=eth0 OUT= MACSRC=02:00:00:00:00:02 MACDST=02:00:00:00:00:01 "
		   "MACPROTO=0806 ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 MACSRC=02:00:00:00:00:02 "
		   "IPSRC=192.0.2.1 MACDST=00:00:00:00:00:00 IPDST=192.0.2.2");
}

/* A port unreachable about a UDP packet: the packet inside stands in brackets. */
static void log_icmp_error(void **state)
{
	struct packet p = {0};

	ip4_begin(&p, 1, 0, NULL, 0);
	put_bytes(&p, "\x03\x03\x00\x00\x00\x00\x00\x00", 8);
	put_bytes(&p, p.b, 20);
	be16_store(p.b + 28 + 2, 28);
	p.b[28 + 9] = 17;
	put_udp(&p, 8);
	ip4_end(&p);
	expect_log(&p, LINK_RAW, 0,
		   "pre: IN=eth0 OUT= MAC= SRC=192.0.2.1 DST=198.51.100.2 LEN=56 TOS=0x00 "
		   "PREC=0x00 TTL=64 ID=4660 PROTO=ICMP TYPE=3 CODE=3 [SRC=192.0.2.1 "
		   "DST=198.51.100.2 LEN=28 TOS=0x00 PREC=0x00 TTL=64 ID=4660 PROTO=UDP SPT=5353 "
		   "DPT=53 LEN=8 ]");
}

/* Every cut of every packet is described within its bytes. */
static void cut_anywhere(void **state)
{
	struct packet packets[] = {tcp4(0x4000), tcp4(0x2000), udp6(), arp()};
	struct strbuf out = STRBUF_INIT;
	struct burst b;

	for (unsigned n = 0; n < ARRAY_SIZE(packets); n++) {
		for (uint32_t len = 0; len <= packets[n].n; len++) {
			enum link_type link = n == 2 ? LINK_RAW : LINK_EN10MB;

			parse_cut(&b, link, &packets[n], len, packets[n].n);
			strbuf_truncate(&out, 0);
			describe_packet(&b, 0, NULL, NULL, &out);
			describe_log(&b, 0, "", "x", "y", ~0U, &out);
			assert_non_null(strstr(strbuf_str(&out), "IN=x OUT=y"));
			parse_free(&b);
		}
	}
	strbuf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),	cmocka_unit_test(log_tcp),
		cmocka_unit_test(log_other),	cmocka_unit_test(log_icmp_error),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
