/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_check_rule: rules of all families and what they list as; what is refused, with which words
 * and under which place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check_fixture.h"

#define INPUT	"type filter hook input priority 0;"
#define INGRESS "type filter hook ingress device lo priority 0;"
#define PRE_NAT "type nat hook prerouting priority 0;"
#define PRE	"type filter hook prerouting priority 0;"

struct listed {
	const char *family, *chain, *rule, *listing; /* listing NULL: as written */
};

static const struct listed listed[] = {
	/* Dependencies are added and left out again. */
	{"inet", INPUT, "tcp dport 22", NULL},
	{"inet", INPUT, "meta l4proto tcp tcp dport 22", "tcp dport 22"},
	{"inet", INPUT, "meta nfproto ipv4 ip saddr 1.2.3.4", "ip saddr 1.2.3.4"},
	{"inet", INPUT, "meta nfproto ipv4 tcp dport 22", NULL},
	{"inet", INPUT, "meta nfproto ipv4 counter ip saddr 1.2.3.4",
	 "meta nfproto ipv4 counter packets 0 bytes 0 ip saddr 1.2.3.4"},
	{"inet", INPUT, "ip protocol tcp tcp dport 22", NULL},
	{"ip", INPUT, "ip protocol tcp tcp dport 22", "tcp dport 22"},
	{"ip", INPUT, "ip protocol tcp meta mark set 1 tcp dport 22",
	 "ip protocol tcp meta mark set 0x00000001 tcp dport 22"},
	{"ip", INPUT, "meta protocol ip udp dport 67", "udp dport 67"},
	{"ip", INPUT, "meta protocol ip", NULL},
	{"bridge", INPUT, "meta protocol ip udp dport 67", NULL},
	{"bridge", INPUT, "ether type ip ip saddr 1.2.3.4", "ip saddr 1.2.3.4"},
	{"netdev", INGRESS, "vlan id 5 ip saddr 1.2.3.4", NULL},
	{"netdev", INGRESS, "ether type vlan ip saddr 1.2.3.4",
	 "ether type 8021q ip saddr 1.2.3.4"},
	{"netdev", INGRESS, "arp operation request", NULL},
	{"ip", INPUT, "ether saddr 1:2:3:4:5:6 ip saddr 1.2.3.4",
	 "ether saddr 01:02:03:04:05:06 ip saddr 1.2.3.4"},
	{"ip", INPUT, "meta l4proto { tcp, udp } th dport 53", NULL},
	{"ip", INPUT, "meta l4proto udp th dport 53", "udp dport 53"},
	{"inet", INPUT, "exthdr frag exists", NULL},
	{"inet", INPUT, "ip option rr exists", NULL},
	/* ICMP. */
	{"inet", INPUT, "icmp type echo-request", NULL},
	{"inet", INPUT, "meta nfproto ipv4 icmp type echo-request", "icmp type echo-request"},
	{"inet", INPUT, "meta nfproto ipv4 icmpv6 type echo-request", NULL},
	{"bridge", INPUT, "icmp type echo-request", NULL},
	{"ip", INPUT, "icmp id 5", "icmp type { echo-reply, echo-request } icmp id 5"},
	{"ip", INPUT, "icmp type echo-request icmp id 5", NULL},
	{"ip", INPUT, "icmp type destination-unreachable icmp mtu 5", "icmp mtu 5"},
	/* Neighbours stand together, but not across other statements. */
	{"ip", INPUT, "tcp dport 2 tcp sport 1", "tcp sport 1 tcp dport 2"},
	{"ip", INPUT, "tcp dport 2 counter tcp sport 1",
	 "tcp dport 2 counter packets 0 bytes 0 tcp sport 1"},
	{"ip", INPUT, "tcp dport 2 tcp sport != 1", NULL},
	{"ip", INPUT, "ip daddr 1.2.3.4 ip saddr 1.2.3.5", NULL},
	{"inet", INPUT, "ip protocol tcp ip ttl 5 tcp dport 3",
	 "ip ttl 5 ip protocol tcp tcp dport 3"},
	/* Numbers and symbols. */
	{"ip", INPUT, "ip saddr 10", "ip saddr 0.0.0.10"},
	{"ip", INPUT, "ip dscp 0x20", "ip dscp cs4"},
	{"ip", INPUT, "meta mark 0xa", "meta mark 0x0000000a"},
	{"ip", INPUT, "iifname 123", "iifname \"123\""},
	{"ip", INPUT, "iifname \"eth*\"", NULL},
	{"ip", INPUT, "iif 1", "iif \"lo\""},
	{"ip", INPUT, "meta mark 0xff & 0xf", "meta mark 0x0000000f"},
	/* Masks and prefixes. */
	{"ip", INPUT, "ip saddr 10.0.0.5/24", "ip saddr 10.0.0.0/24"},
	{"ip", INPUT, "ip saddr 10.0.0.0/32", "ip saddr 10.0.0.0"},
	{"ip", INPUT, "ip saddr & 255.255.255.0 == 10.0.0.0", "ip saddr 10.0.0.0/24"},
	{"ip", INPUT, "ip saddr & 255.0.255.0 == 10.0.0.0", NULL},
	{"ip", INPUT, "meta mark 0xffffff00/24", "meta mark & 0xffffff00 == 0xffffff00"},
	{"ip", INPUT, "meta mark ^ 3 == 1", "meta mark 0x00000002"},
	{"ip", INPUT, "meta mark set meta mark & 0xff | 0x100",
	 "meta mark set meta mark & 0x000001ff | 0x00000100"},
	{"ip", INPUT, "meta mark set ip dscp << 2 | 0x10", NULL},
	{"netdev", INGRESS, "@ll,0,1 1", "@ll,0,8 & 0x80 == 0x80"},
	{"ip", INPUT, "@nh,96,32 0x01020304", "ip saddr 1.2.3.4"},
	/* Flags. */
	{"ip", INPUT, "tcp flags ack,syn", "tcp flags syn,ack"},
	{"ip", INPUT, "tcp flags == syn,ack", "tcp flags == 0x12"},
	{"ip", INPUT, "tcp flags & (syn | ack) != 0", "tcp flags syn,ack"},
	{"ip", INPUT, "tcp flags & syn == 0", "tcp flags ! syn"},
	{"ip", INPUT, "tcp flags syn / syn,ack", "tcp flags & (syn | ack) == syn"},
	{"ip", INPUT, "ct state new,established", "ct state established,new"},
	/* Sets. */
	{"ip", INPUT, "ip saddr { 1.2.3.4 }", "ip saddr 1.2.3.4"},
	{"ip", INPUT, "ip saddr { 1.2.3.4, 1.2.3.4 }", "ip saddr 1.2.3.4"},
	{"ip", INPUT, "tcp dport { 3, 1, 2 }", "tcp dport { 1, 2, 3 }"},
	{"ip", INPUT, "tcp dport { 1, 2, 3-5, 7 }", "tcp dport { 1-5, 7 }"},
	{"ip", INPUT, "ip saddr { 10.0.0.0/8, 11.0.0.0/8 }", "ip saddr 10.0.0.0/7"},
	{"ip", INPUT, "ip saddr { { 3.3.3.3, 1.1.1.1 }, 2.2.2.2 }",
	 "ip saddr { 1.1.1.1, 2.2.2.2, 3.3.3.3 }"},
	{"ip", INPUT, "ip saddr . tcp dport { 10.0.0.0-10.255.255.255 . 5 }",
	 "ip saddr . tcp dport { 10.0.0.0-10.255.255.255 . 5 }"},
	{"ip", INPUT, "ip saddr vmap { 11.0.0.0/8 : drop, 10.0.0.0/8 : accept }",
	 "ip saddr vmap { 10.0.0.0/8 : accept, 11.0.0.0/8 : drop }"},
	{"ip", INPUT, "ip saddr vmap { * : accept, 1.1.1.1 : drop }",
	 "ip saddr vmap { 1.1.1.1 : drop, * : accept }"},
	{"ip", INPUT, "meta mark set ip saddr map { 10.0.0.0/8 : 5 }",
	 "meta mark set ip saddr map { 10.0.0.0/8 : 0x00000005 }"},
	/* reject */
	{"ip", INPUT, "reject with icmp port-unreachable", "reject"},
	{"inet", INPUT, "reject with icmpx port-unreachable", "reject"},
	{"inet", INPUT, "meta nfproto ipv4 reject", "reject with icmp port-unreachable"},
	{"inet", INPUT, "meta mark 5 reject with tcp reset",
	 "meta l4proto tcp meta mark 0x00000005 reject with tcp reset"},
	{"ip", INPUT, "meta mark 5 reject with tcp reset",
	 "meta mark 0x00000005 reject with tcp reset"},
	/* NAT and tproxy. */
	{"ip", PRE_NAT, "dnat to 192.168.3.0-192.168.3.255", "dnat to 192.168.3.0/24"},
	{"inet", PRE_NAT, "ip saddr 1.2.3.4 dnat to 2.2.2.2",
	 "ip saddr 1.2.3.4 dnat ip to 2.2.2.2"},
	{"ip", PRE_NAT, "redirect to :tcp dport map { 22 : 8000, 80 : 8080 }", NULL},
	{"ip", PRE_NAT, "tcp dport 5 dnat to ip saddr map { 1.2.3.4 : 2.3.4.5 . 80 }",
	 "tcp dport 5 dnat ip to ip saddr map { 1.2.3.4 : 2.3.4.5 . 80 }"},
	{"ip", PRE, "meta l4proto tcp tproxy ip to :50080", "meta l4proto tcp tproxy to :50080"},
	/* Others. */
	{"ip", INPUT, "limit rate 5/second", "limit rate 5/second burst 5 packets"},
	{"ip", INPUT, "queue", "queue to 0"},
	{"ip", INPUT, "jump r", NULL},
	{"ip", INPUT, "ct original saddr 1.2.3.4", "ct original ip saddr 1.2.3.4"},
	{"ip", INPUT, "reset tcp option 2", "reset tcp option maxseg"},
};

static void test_listed(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const struct listed *l = &listed[i];
		int err;
		char *got = check_one_rule(l->family, l->chain, NULL, l->rule, &err);

		if (err)
			fail_msg("%s: %s: %s", l->family, l->rule, got);
		assert_string_equal(got, l->listing ? l->listing : l->rule);
		free(got);
	}
}

/* What is listed lists the same when it is read again. */
static void test_listed_again(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		const struct listed *l = &listed[i];
		const char *once = l->listing ? l->listing : l->rule;
		int err;
		char *got = check_one_rule(l->family, l->chain, NULL, once, &err);

		if (err)
			fail_msg("%s: %s: %s", l->family, once, got);
		assert_string_equal(got, once);
		free(got);
	}
}

struct refused {
	const char *family, *chain, *rule, *message, *marks; /* marks NULL: not looked at */
};

static const struct refused refused[] = {
	{"ip", INPUT, "tcp dport 70000", "Service out of range", "          ^^^^^"},
	{"ip", INPUT, "ip ttl 256", "Value 256 exceeds valid range 0-255", "       ^^^"},
	{"ip", INPUT, "ip dscp 64", "Value 64 exceeds valid range 0-63", "        ^^"},
	{"ip", INPUT, "ip saddr 1.2.3.4/33",
	 "Prefix length 33 is invalid for type of 32 bits width", "         ^^^^^^^^^^"},
	{"ip", INPUT, "ip saddr 10.0.0.2-10.0.0.1", "Range has zero or negative size",
	 "         ^^^^^^^^^^^^^^^^^"},
	{"ip", INPUT, "ct state foo", "Could not parse conntrack state", "         ^^^"},
	{"ip", INPUT, "ip saddr ::1",
	 "Could not resolve hostname: Address family for hostname not supported", "         ^^^"},
	{"ip", INPUT, "ip saddr 1.2.3.4 ip6 saddr ::1",
	 "conflicting protocols specified: ip vs. ip6", "                 ^^^^^^^^^"},
	{"inet", INPUT, "tcp dport 3 udp dport 3", "conflicting protocols specified: tcp vs. udp",
	 "            ^^^^^^^^^"},
	{"inet", INPUT, "arp operation 1", "conflicting protocols specified: inet vs. arp", NULL},
	{"ip", INPUT, "meta nfproto ipv4", "meta nfproto is only useful in the inet family", NULL},
	{"ip", INPUT, "exthdr frag exists", "cannot use exthdr with ip", NULL},
	{"ip", INPUT, "icmp type 3 icmp id 5", "incompatible icmp match: rule has 3, need 8",
	 "            ^^^^^^^"},
	{"ip", INPUT, "tcp dport < 5-6",
	 "Relational expression (<) is undefined for range expressions", "          ~ ^^^"},
	{"ip", INPUT, "ip saddr @nosuch", "No such file or directory", "         ^^^^^^^"},
	{"ip", INPUT, "ip saddr vmap { 10.0.0.0/8 : accept, 10.1.0.0/16 : drop }",
	 "conflicting intervals specified", "                ~~~~~~~~~~           ^^^^^^^^^^^"},
	{"ip", INPUT, "ip saddr { 1.2.3.4 : accept }", "mapping outside of map context", NULL},
	{"ip", INPUT, "accept counter", "Statement after terminal statement has no effect",
	 "~~~~~~ ^^^^^^^"},
	{"ip", INPUT, "jump nosuch", "Could not process rule: No such file or directory",
	 "     ^^^^^^"},
	{"ip", INPUT, "goto c", "Could not process rule: Operation not supported", NULL},
	{"ip", INPUT, "iifname \"*\"", "All-wildcard strings are not supported", "        ^^^"},
	{"ip", INPUT, "iif nosuch", "Interface does not exist", "    ^^^^^^"},
	{"ip", INPUT, "reject with icmpv6 no-route", "conflicting protocols specified: ip vs ip6",
	 "~~~~~~             ^^^^^^^^"},
	{"ip", INPUT, "udp dport 5 reject with tcp reset",
	 "you cannot use tcp reset with this protocol", "~~~~~~~~~   ^^^^^^"},
	{"ip", INPUT, "meta length set 5", "Could not process rule: Operation not supported",
	 "^^^^^^^^^^^^^^^^^"},
	{"ip", INPUT, "dnat to 1.2.3.4", "Could not process rule: Operation not supported", NULL},
	{"ip", PRE_NAT, "dnat to 1.2.3.4:80",
	 "transport protocol mapping is only valid after transport protocol match",
	 "~~~~            ^^"},
	{"inet", PRE_NAT, "dnat to 1.2.3.4",
	 "ip or ip6 must be specified with address for inet tables.", "^^^^"},
	{"ip", PRE, "tproxy to :50", "Transparent proxy support requires transport protocol match",
	 NULL},
	{"ip", INPUT, "counter name \"x\"", "Could not process rule: No such file or directory",
	 "             ^^^"},
	{"ip", INPUT, "limit rate 0/second", "Could not process rule: Invalid argument", NULL},
	{"ip", INPUT, "fib oif type local", "fib: need either saddr or daddr", NULL},
	{"ip", INPUT, "ct original proto-dst 22", "Can't parse symbolic invalid expressions", NULL},
	{"ip", INPUT, "queue num 65536", "Value 65536 exceeds valid range 0-65535", NULL},
	{"ip", INPUT, "ip dscp set ip dscp & 0x4f", "Value 79 exceeds valid range 0-63", NULL},
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct refused *r = &refused[i];
		size_t before = strlen("add rule ") + strlen(r->family) + strlen(" t c ");
		char want[512], marks[512];
		int err;
		char *got = check_one_rule(r->family, r->chain, NULL, r->rule, &err);

		if (!err)
			fail_msg("%s: accepted, lists as %s", r->rule, got);
		snprintf(want, sizeof(want), "Error: %s\n", r->message);
		if (!strstr(got, want))
			fail_msg("%s: %s", r->rule, got);
		snprintf(marks, sizeof(marks), "\n%*s%s\n", (int)before, "",
			 r->marks ? r->marks : "");
		if (r->marks && !strstr(got, marks))
			fail_msg("%s: marks are elsewhere:\n%s", r->rule, got);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_listed_again),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
