/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_check_set: declarations of sets, maps, chains and objects, elements, and rules that use
 * them; keys as bytes; anonymous sets against a naive merge under seeded random input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "check_fixture.h"
#include "model/check.h"

#define INPUT "type filter hook input priority 0;"

struct declared {
	const char *commands, *message; /* message NULL: accepted */
};

static const struct declared declared[] = {
	{"add set ip t s { type ipv4_addr; }", NULL},
	{"add set ip t s { typeof ip6 saddr . tcp dport; }", NULL},
	{"add set ip t s { type integer; }", "unqualified type integer specified in set "
					     "definition. Try \"typeof expression\" instead of "
					     "\"type datatype\"."},
	{"add set ip t s { type ipv4_addr; auto-merge; }",
	 "auto-merge only works with interval sets"},
	{"add set ip t s { type ipv4_addr; gc-interval 5s; }",
	 "Could not process rule: Invalid argument"},
	{"add set ip t s { type ipv4_addr; timeout 1m; gc-interval 5s; }", NULL},
	{"add set ip t s { type ipv4_addr; flags dynamic,interval; }",
	 "Could not process rule: Operation not supported"},
	{"add set ip t s { typeof vlan id; elements = { 4095 }; }", NULL},
	{"add set ip t s { typeof vlan id; elements = { 4096 }; }",
	 "Value 4096 exceeds valid range 0-4095"},
	{"add set ip t s { type ipv4_addr; elements = { 1.2.3.0/24 }; }",
	 "You must add 'flags interval' to your set declaration if you want to add prefix "
	 "elements"},
	{"add set ip t s { type ipv4_addr; elements = { 1.2.3.0-1.2.3.9 }; }",
	 "You must add 'flags interval' to your set declaration if you want to add range elements"},
	{"add set ip t s { type ipv4_addr; elements = { 1.2.3.4 timeout 5s }; }",
	 "Could not process rule: Invalid argument"},
	{"add set ip t s { type ipv4_addr; flags timeout; elements = { 1.2.3.4 timeout 5s expires "
	 "6s }; }",
	 "Could not process rule: Numerical result out of range"},
	{"add set ip t s { type ipv4_addr; elements = { 1.2.3.4 counter }; }",
	 "missing statement in set declaration"},
	{"add set ip t s { type ipv4_addr; counter; elements = { 1.2.3.4 counter }; }", NULL},
	{"add set ip t s { type ipv4_addr . inet_service; elements = { 1.2.3.4 }; }",
	 "invalid data type, expected concatenation of (IPv4 address, internet network service)"},
	{"add set ip t s { type ipv4_addr . inet_service; elements = { 1.2.3.4 . 5 . 6 }; }",
	 "too many concatenation components"},
	{"add map ip t m { type ipv4_addr : mark; elements = { 1.2.3.4 }; }",
	 "Could not process rule: Invalid argument"},
	{"add map ip t m { type ipv4_addr : mark; elements = { 1.2.3.4 : 1-2 }; }",
	 "Value must be a singleton"},
	{"add map ip t m { type ipv4_addr : verdict; elements = { 1.2.3.4 : jump r }; }", NULL},
	{"add map ip t m { type ipv4_addr : verdict; elements = { 1.2.3.4 : jump nosuch }; }",
	 "Could not process rule: No such file or directory"},
	{"add map ip t m { type ipv4_addr : verdict; elements = { 1.2.3.4 : jump c }; }",
	 "Could not process rule: Operation not supported"},
	{"add map ip t m { type ipv4_addr : counter; elements = { 1.2.3.4 : \"x\" }; }",
	 "Could not process rule: No such file or directory"},
	{"add counter ip t x; add map ip t m { type ipv4_addr : counter; elements = { 1.2.3.4 : "
	 "\"x\" }; }",
	 NULL},
	{"add chain ip t b { type filter hook ingress priority 0; }",
	 "The ip family does not support this hook"},
	{"add chain ip t b { type filter hook input priority foo; }",
	 "invalid priority expression value in this context."},
	{"add chain ip t b { type nat hook forward priority 0; }",
	 "Could not process rule: Operation not supported"},
	{"add chain ip t b { type nat hook prerouting priority -200; }",
	 "Could not process rule: Operation not supported"},
	{"add chain ip t b { type route hook output priority mangle - 5; }", NULL},
	{"add chain ip t b { type filter hook input device lo priority 0; }",
	 "This chain type cannot be bound to device"},
	{"add ct helper ip t h { type \"ftp\" protocol tcp; l3proto ip6; }",
	 "Could not process rule: Invalid argument"},
	{"add ct timeout ip t h { protocol udp; policy = { syn_sent : 5 }; }",
	 "invalid state for this protocol"},
	{"add ct expectation ip t h { protocol udp; }", "missing options"},
	{"add limit ip t l { rate 0/second; }", "Could not process rule: Invalid argument"},
	{"add quota ip t q { 5 bytes used 6 bytes; }", "Could not process rule: Invalid argument"},
};

static void test_declared(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(declared); i++) {
		const struct declared *d = &declared[i];
		char want[512];
		int err;
		char *got = check_one_rule("ip", INPUT, d->commands, "accept", &err);

		if (!d->message && err)
			fail_msg("%s: %s", d->commands, got);
		if (d->message && !err)
			fail_msg("%s: accepted", d->commands);
		snprintf(want, sizeof(want), "Error: %s\n", d->message ? d->message : "");
		if (d->message && !strstr(got, want))
			fail_msg("%s: %s", d->commands, got);
		free(got);
	}
}

struct used {
	const char *before, *rule, *want; /* the listing (NULL: as written), or the message */
	bool refused;
};

static const struct used used[] = {
	{"add set ip t s { type ipv4_addr; }", "ip saddr @s", NULL, false},
	{"add set ip t s { type inet_service; }", "ip saddr @s",
	 "datatype mismatch, expected IPv4 address, expression has type internet network service",
	 true},
	{"add set ip t s { type ipv4_addr; }", "ip saddr . tcp dport @s",
	 "datatype mismatch, expected concatenation of (IPv4 address, internet network service), "
	 "expression has type IPv4 address",
	 true},
	{"add set ip t blocked { type ipv4_addr; }", "ip saddr @blockde",
	 "No such file or directory; did you mean set ‘blocked’ in table ip ‘t’?", true},
	{"add set ip t s { type ipv4_addr; }", "meta mark set ip saddr map @s",
	 "Expression is not a map", true},
	{"add map ip t m { type ipv4_addr : mark; }", "meta mark set tcp dport map @m",
	 "datatype mismatch, map expects IPv4 address, mapping expression has type internet "
	 "network "
	 "service",
	 true},
	{"add map ip t m { type ipv4_addr : mark; }", "ip saddr vmap @m",
	 "datatype mismatch: expected netfilter verdict, expression has type packet mark", true},
	{"add map ip t m { type ipv4_addr : verdict; }", "ip saddr vmap @m", NULL, false},
	{"add set ip t s { type ipv4_addr; flags dynamic,timeout; }",
	 "add @s { ip saddr timeout 5s }", NULL, false},
	{"add set ip t s { type ipv4_addr; flags dynamic; }", "add @s { ip saddr timeout 5s }",
	 "Could not process rule: Operation not supported", true},
	{"add set ip t s { type ipv4_addr; flags dynamic; }", "add @s { tcp dport }",
	 "datatype mismatch: expected IPv4 address, expression has type internet network service",
	 true},
	{"add set ip t s { type ipv4_addr; flags constant; }", "add @s { ip saddr }",
	 "Could not process rule: Device or resource busy", true},
	{"add set ip t s { type ipv4_addr; flags interval; }", "add @s { ip saddr }",
	 "Could not process rule: Operation not supported", true},
	{"add map ip t m { type ipv4_addr : mark; flags dynamic; }",
	 "add @m { ip saddr : meta mark }", NULL, false},
	{"add map ip t m { type ipv4_addr : mark; flags dynamic; }", "add @m { ip saddr }",
	 "Could not process rule: Invalid argument", true},
	{"add counter ip t a; add counter ip t b",
	 "counter name ip saddr map { 1.2.3.4 : \"a\", 1.2.3.5 : \"b\" }", NULL, false},
	{"add map ip t m { type ipv4_addr : mark; }", "counter name ip saddr map @m",
	 "Expression is not a map with objects", true},
	{"add map ip t m { type ipv4_addr : ipv4_addr . inet_service; }",
	 "meta mark set ip saddr map @m",
	 "datatype mismatch: expected packet mark, expression has type concatenation of (IPv4 "
	 "address, internet network service)",
	 true},
};

static void test_used(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		const struct used *u = &used[i];
		char want[512];
		int err;
		char *got = check_one_rule("ip", INPUT, u->before, u->rule, &err);

		if (u->refused != !!err)
			fail_msg("%s: %s: %s", u->before, u->rule, got);
		snprintf(want, sizeof(want), "Error: %s\n", u->want ? u->want : "");
		if (u->refused && !strstr(got, want))
			fail_msg("%s: %s: %s", u->before, u->rule, got);
		if (!u->refused)
			assert_string_equal(got, u->want ? u->want : u->rule);
		free(got);
	}
}

/* --- Keys ------------------------------------------------------------------------------------- */

static struct expr *value(struct arena *a, uint64_t v, unsigned bits)
{
	return expr_number(a, LOC_NONE, &type_integer, v, bits);
}

static void test_key_bytes(void **state)
{
	struct arena a = ARENA_INIT;
	uint8_t lo[VALUE_MAX], hi[VALUE_MAX];
	struct expr *prefix = expr_new(&a, EX_PREFIX, LOC_NONE);
	struct expr *range = expr_new(&a, EX_RANGE, LOC_NONE);
	struct expr *concat = expr_new(&a, EX_CONCAT, LOC_NONE);
	struct expr *name = expr_value(&a, LOC_NONE, &type_ifname, (const uint8_t *)"eth", 24);

	prefix->prefix.base = value(&a, 0x0a0b0000, 32);
	prefix->prefix.len = 13;
	assert_true(check_key_bytes(prefix, lo, hi));
	assert_memory_equal(lo, ((uint8_t[]){0x0a, 0x08, 0, 0}), 4);
	assert_memory_equal(hi, ((uint8_t[]){0x0a, 0x0f, 0xff, 0xff}), 4);

	range->pair.left = value(&a, 5, 12);
	range->pair.right = value(&a, 0xabc, 12);
	expr_list_add(&a, &concat->list, range);
	expr_list_add(&a, &concat->list, value(&a, 0x1234, 16));
	assert_true(check_key_bytes(concat, lo, hi));
	assert_memory_equal(lo, ((uint8_t[]){0, 5, 0x12, 0x34}), 4);
	assert_memory_equal(hi, ((uint8_t[]){0x0a, 0xbc, 0x12, 0x34}), 4);

	name->flags |= EXF_WILDCARD;
	assert_true(check_key_bytes(name, lo, hi));
	assert_memory_equal(lo, "eth\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(hi, "eth\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);

	assert_false(check_key_bytes(expr_new(&a, EX_CATCHALL, LOC_NONE), lo, hi));
	assert_false(check_key_bytes(expr_new(&a, EX_META, LOC_NONE), lo, hi));
	arena_free(&a);
}

/* --- Anonymous sets against a bitmap ---------------------------------------------------------- */

enum { ROUNDS = 300, PORTS = 64, ITEMS = 12 };

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* What the set of ports lists as: runs if there was a range, else values. */
static void naive_listing(const bool *in, bool interval, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "tcp dport { ");
	const char *comma = "";
	unsigned runs = 0;

	for (unsigned i = 0; i < PORTS; i++) {
		unsigned end = i;

		if (!in[i])
			continue;
		while (interval && end + 1 < PORTS && in[end + 1])
			end++;
		n += (size_t)snprintf(out + n, size - n, "%s%u", comma, i);
		if (end > i)
			n += (size_t)snprintf(out + n, size - n, "-%u", end);
		comma = ", ";
		i = end;
		runs++;
	}
	if (runs == 1)
		memmove(out + strlen("tcp dport "), out + strlen("tcp dport { "),
			n - strlen("tcp dport { ") + 1);
	else
		snprintf(out + n, size - n, " }");
}

static void test_merge_random(void **state)
{
	uint32_t seed = 20240229;

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool in[PORTS] = {false}, interval = false;
		unsigned n = 2 + next_random(&seed) % ITEMS;
		struct strbuf rule = STRBUF_INIT;
		char want[1024];
		int err;

		strbuf_puts(&rule, "tcp dport {");
		for (unsigned i = 0; i < n; i++) {
			unsigned a = next_random(&seed) % PORTS, len = next_random(&seed) % 4;
			unsigned b = round % 2 ? a : MIN(a + len, PORTS - 1u);

			for (unsigned k = a; k <= b; k++)
				in[k] = true;
			interval = interval || b > a;
			strbuf_printf(&rule, "%s %u", i ? "," : "", a);
			if (b > a)
				strbuf_printf(&rule, "-%u", b);
		}
		strbuf_puts(&rule, " }");
		naive_listing(in, interval, want, sizeof(want));
		char *got = check_one_rule("ip", INPUT, NULL, strbuf_str(&rule), &err);

		if (err)
			fail_msg("%s: %s", strbuf_str(&rule), got);
		assert_string_equal(got, want);
		free(got);
		strbuf_free(&rule);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declared),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_key_bytes),
		cmocka_unit_test(test_merge_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
