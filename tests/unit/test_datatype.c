/* SPDX-License-Identifier: Apache-2.0 */
/* datatype: every symbol of every type both ways, widths, bad input, and the host's names. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lang/datatype.h"

static const struct datatype *const all_types[] = {
#define X(id, name) &type_##id,
	DATATYPES(X)
#undef X
};

static uint32_t test_ifindex(void *arg, const char *name, size_t len)
{
	return len == 4 && !memcmp(name, "eth0", 4) ? 7 : 0;
}

static const char *test_ifname(void *arg, uint32_t index)
{
	return index == 7 ? "eth0" : NULL;
}

static const struct lang_env env = {.ifindex = test_ifindex, .ifname = test_ifname};

static int parse(const struct datatype *t, const char *text, unsigned bits, uint8_t *out)
{
	const char *why;

	return datatype_parse(t, &env, text, strlen(text), out, bits, &why);
}

/* Reads `text` as t and prints it again. The result is valid until the next call. */
static const char *round_trip(const struct lang_env *e, const struct datatype *t, const char *text,
			      unsigned bits)
{
	static struct strbuf out;
	uint8_t value[VALUE_MAX];
	const char *why;
	int err = datatype_parse(t, e, text, strlen(text), value, bits, &why);

	strbuf_truncate(&out, 0);
	if (err) {
		strbuf_free(&out);
		return err == -ERANGE ? "ERANGE" : why ? why : "EINVAL";
	}
	datatype_print(t, e, value, bits, &out);
	return strbuf_str(&out);
}

static void check(const struct datatype *t, unsigned bits, const char *text, const char *want)
{
	assert_string_equal(round_trip(&env, t, text, bits), want);
}

static void names_are_found(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_types); i++) {
		const struct datatype *t = all_types[i];
		const struct datatype *found = datatype_find(t->name, strlen(t->name));

		assert_non_null(t->desc);
		if (t == &type_invalid)
			assert_null(found);
		else
			assert_string_equal(found->name, t->name);
	}
	assert_ptr_equal(datatype_find("ipv4_addr", 9), &type_ipv4_addr);
	assert_ptr_equal(datatype_find("time", 4), &type_time);
	assert_ptr_equal(datatype_find("integer", 7), &type_integer);
	assert_null(datatype_find("ipv4_add", 8));
	assert_null(datatype_find("ipv4_addrx", 10));
	assert_null(datatype_find("", 0));
}

/* The listed name of a symbol's value reads back as the same value; no name stands twice. */
static void symbols_round_trip(void **state)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all_types); i++) {
		const struct datatype *t = all_types[i];
		const unsigned bits = t->bits;

		for (const struct symbol *s = t->symbols; s && s->name; s++, n++) {
			uint8_t value[VALUE_MAX], again[VALUE_MAX];
			struct strbuf out = STRBUF_INIT;
			struct lang_env numbers = env;
			const char *why;

			numbers.numeric = NUMERIC_ALL;
			for (const struct symbol *o = t->symbols; o < s; o++)
				assert_string_not_equal(o->name, s->name);
			assert_int_equal(parse(t, s->name, bits, value), 0);
			assert_int_equal(be_load(value, bits_to_bytes(bits)), s->value);
			datatype_print(t, &env, value, bits, &out);
			if (t->symbols_print)
				assert_string_equal(strbuf_str(&out), datatype_symbol(t, s->value));
			strbuf_truncate(&out, 0);
			datatype_print(t, &numbers, value, bits, &out);
			assert_int_equal(
				datatype_parse(t, &env, out.data, out.len, again, bits, &why), 0);
			assert_memory_equal(value, again, bits_to_bytes(bits));
			strbuf_free(&out);
		}
	}
	assert_true(n > 150);
}

/* Every type of integers takes 0 and its largest number, and refuses one more and empty text. */
static void widths(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_types); i++) {
		const struct datatype *t = all_types[i];
		const unsigned bits = t->bits ? t->bits : 24;
		uint8_t value[VALUE_MAX];
		char text[32];
		uint64_t max = datatype_max(t, bits);

		if (t->base == TBASE_STRING || t->base == TBASE_VERDICT || t == &type_invalid ||
		    t == &type_ipv6_addr || t == &type_ct_label || t == &type_time ||
		    t == &type_time_date)
			continue;
		if (t == &type_lladdr || t == &type_ether_addr)
			continue;
		assert_int_equal(parse(t, "0", bits, value), 0);
		assert_int_equal(be_load(value, MIN(bits_to_bytes(bits), 8)), 0);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)max);
		assert_int_equal(parse(t, text, bits, value), 0);
		assert_int_equal(be_load(value, bits_to_bytes(bits)), max);
		if (bits < 64) {
			snprintf(text, sizeof(text), "%llu", (unsigned long long)max + 1);
			assert_int_not_equal(parse(t, text, bits, value), 0);
		}
		assert_int_equal(parse(t, "18446744073709551616", bits, value),
				 t == &type_inet_service || t == &type_ipv4_addr ? -EINVAL
				 : t == &type_time_hour				 ? -EINVAL
										 : -ERANGE);
		assert_int_not_equal(parse(t, "", bits, value), 0);
		assert_int_not_equal(parse(t, "no such thing", bits, value), 0);
		assert_int_not_equal(parse(t, "-1", bits, value), 0);
		assert_int_not_equal(parse(t, "1 ", bits, value), 0);
	}
}

static void numbers(void **state)
{
	uint8_t v[VALUE_MAX] = {0};

	check(&type_integer, 32, "0x10", "16");
	check(&type_integer, 32, "010", "8");
	check(&type_integer, 32, "09", "EINVAL");
	check(&type_integer, 32, "0xg", "EINVAL");
	check(&type_integer, 32, "0x", "EINVAL");
	check(&type_integer, 64, "18446744073709551615", "18446744073709551615");
	check(&type_integer, 72, "18446744073709551616", "18446744073709551616");
	check(&type_integer, 128, "340282366920938463463374607431768211455",
	      "340282366920938463463374607431768211455");
	check(&type_integer, 128, "340282366920938463463374607431768211456", "ERANGE");
	check(&type_xinteger, 128, "0xfedcba987654321001234567890abcde",
	      "0xfedcba987654321001234567890abcde");
	check(&type_xinteger, 16, "0", "0x0");
	check(&type_integer, 12, "4095", "4095");
	check(&type_integer, 12, "4096", "ERANGE");
	check(&type_integer, 1, "2", "ERANGE");
	assert_int_equal(number_parse("1", 1, v, VALUE_MAX * 8 + 8), -EINVAL);
	assert_int_equal(number_parse("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
				      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
				      "ffffffffffffffffffffffffffffffffffff",
				      154, v, VALUE_MAX * 8),
			 -ERANGE);
	check(&type_mark, 32, "0xa", "0x0000000a");
	check(&type_ether_type, 16, "0x800", "ip");
	check(&type_ether_type, 16, "vlan", "8021q");
	check(&type_ether_type, 16, "0x42", "0x0042");
	check(&type_icmp_code, 8, "host-unreachable", "1");
	check(&type_dscp, 6, "lephb", "lephb");
	check(&type_dscp, 6, "2", "0x02");
	check(&type_ecn, 2, "ect1", "ect1");
	check(&type_boolean, 1, "1", "exists");
	check(&type_tcp_flag, 8, "0xc0", "0xc0");
	check(&type_classid, 32, "1:1234", "1:1234");
	check(&type_classid, 32, "0x87654321", "8765:4321");
	check(&type_classid, 32, "root", "root");
	check(&type_classid, 32, "aabb:", "aabb:0");
	check(&type_classid, 32, ":", "EINVAL");
	check(&type_classid, 32, "1:12345", "EINVAL");
	check(&type_ct_label, 128, "127", "127");
	check(&type_ct_label, 128, "128", "ERANGE");
	check(&type_iface_index, 32, "eth0", "\"eth0\"");
	check(&type_iface_index, 32, "9", "9");
	check(&type_iface_index, 32, "eth1", "Interface does not exist");
	check(&type_devgroup, 32, "default", "\"default\"");
	check(&type_realm, 32, "cosmos", "\"cosmos\"");
	check(&type_cgroupsv2, 64, "5", "5");
}

static void ipv4(void **state)
{
	static const char *const bad[] = {"",	       "1",	  "1.2.3",    "1.2.3.4.5",
					  "1.2.3.256", "1.2.3.",  ".1.2.3",   "1..2.3",
					  "1.2.3.4 ",  "a.b.c.d", "1.2.3.4\n"};
	uint8_t v[4];

	for (unsigned i = 0; i < 100000; i++) {
		uint32_t want = htonl(i * 2654435761U);
		char text[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, &want, text, sizeof(text));
		assert_int_equal(parse(&type_ipv4_addr, text, 32, v), 0);
		assert_memory_equal(v, &want, 4);
		check(&type_ipv4_addr, 32, text, text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct in_addr in;

		if (!inet_aton(bad[i], &in) || strpbrk(bad[i], " \n"))
			assert_int_equal(parse(&type_ipv4_addr, bad[i], 32, v), -EINVAL);
	}
	check(&type_ipv4_addr, 32, "0x0a000001", "10.0.0.1");
	check(&type_ipv4_addr, 32, "010.1.1.1", "8.1.1.1");
	check(&type_ipv4_addr, 32, "255.255.255.255", "255.255.255.255");
	check(&type_ipv4_addr, 32, "example.invalid",
	      "Could not resolve hostname: Name or service not known");
}

static void addresses(void **state)
{
	check(&type_ipv6_addr, 128, "2001:DB8::0:1", "2001:db8::1");
	check(&type_ipv6_addr, 128, "::ffff:1.2.3.4", "::ffff:1.2.3.4");
	check(&type_ipv6_addr, 128, "::1234:1234", "::18.52.18.52");
	check(&type_ipv6_addr, 128,
	      "1234:1234:1234:1234:1234:1234:aaaa::", "1234:1234:1234:1234:1234:1234:aaaa:0");
	check(&type_ipv6_addr, 128, "1:2:3:4:5:6:7:8:9",
	      "Could not resolve hostname: Name or service not known");
	check(&type_ether_addr, 48, "00:0F:54:0c:11:4", "00:0f:54:0c:11:04");
	check(&type_ether_addr, 48, "5", "00:00:00:00:00:05");
	check(&type_ether_addr, 48, "1:2:3:4:5:6:7", "Invalid LL address");
	check(&type_ether_addr, 48, "1:2:3:", "Invalid LL address");
	check(&type_ether_addr, 48, "", "Invalid LL address");
	check(&type_ether_addr, 48, "1::2", "Invalid LL address");
	check(&type_ether_addr, 48, "123:4", "Invalid LL address");
}

static void strings(void **state)
{
	uint8_t name[IFNAME_MAX];
	struct strbuf out = STRBUF_INIT;
	bool wild;
	unsigned n;

	check(&type_string, 128, "ftp", "\"ftp\"");
	check(&type_string, 128, "", "Empty string is not allowed");
	check(&type_string, 128, "0123456789abcde", "\"0123456789abcde\"");
	check(&type_string, 128, "0123456789abcdef", "String exceeds maximum length of 16");
	check(&type_ifname, 128, "eth0", "\"eth0\"");
	check(&type_ifname, 128, "eth\\*", "\"eth\\*\"");
	check(&type_ifname, 128, "", "Empty string is not allowed");

	assert_int_equal(ifname_parse("eth*", 4, name, &n, &wild), 0);
	assert_int_equal(n, 3);
	assert_true(wild);
	ifname_print(name, n, wild, &out);
	assert_string_equal(strbuf_str(&out), "\"eth*\"");
	assert_int_equal(ifname_parse("a*b\\*", 5, name, &n, &wild), 0);
	assert_false(wild);
	assert_memory_equal(name, "a*b*\0", 5);
	assert_int_equal(ifname_parse("*", 1, name, &n, &wild), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ifname_parse("", 0, name, &n, &wild), -EINVAL);
	assert_int_equal(ifname_parse("0123456789abcdefg", 17, name, &n, &wild), -EINVAL);
	strbuf_free(&out);
}

static void times(void **state)
{
	struct lang_env east = env;
	static const struct {
		const char *text, *want;
	} spans[] = {
		{"1d2h3m4s5ms", "1d2h3m4s5ms"},
		{"30", "30s"},
		{"90s", "1m30s"},
		{"1500ms", "1s500ms"},
		{"0s", "0s"},
		{"36h", "1d12h"},
		{"1m1h", NULL},
		{"1x", NULL},
		{"d", NULL},
		{"", NULL},
		{"1s1s", NULL},
		{"1s5", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		uint64_t ms = 42;
		struct strbuf out = STRBUF_INIT;
		int err = duration_parse(spans[i].text, strlen(spans[i].text), &ms);

		assert_int_equal(err, spans[i].want ? 0 : -EINVAL);
		if (!err) {
			duration_print(ms, &out);
			assert_string_equal(strbuf_str(&out), spans[i].want);
		} else {
			assert_int_equal(ms, 42);
		}
		strbuf_free(&out);
	}
	assert_int_equal(duration_parse("999999999999999999d", 19, &(uint64_t){0}), -ERANGE);
	check(&type_time, 32, "50d", "ERANGE");
	check(&type_time, 32, "foo", "wrong time format");

	check(&type_time_date, 64, "2019-06-21 17:00:00", "\"2019-06-21 17:00:00\"");
	check(&type_time_date, 64, "2019-06-21", "\"2019-06-21 00:00:00\"");
	check(&type_time_date, 64, "2019-06-21 12:01", "\"2019-06-21 12:01:00\"");
	check(&type_time_date, 64, "2020-02-29 23:59:59", "\"2020-02-29 23:59:59\"");
	check(&type_time_date, 64, "1", "\"1970-01-01 00:00:01\"");
	check(&type_time_date, 64, "meh", "Cannot parse date");
	check(&type_time_date, 64, "2019-13-01", "Cannot parse date");
	check(&type_time_date, 64, "2019-06-21 24:00", "Cannot parse date");
	check(&type_time_date, 64, "2019-06-21 12:01:00x", "Cannot parse date");
	check(&type_time_hour, 32, "17:00", "\"17:00\"");
	check(&type_time_hour, 32, "17:00:01", "\"17:00:01\"");
	check(&type_time_hour, 32, "3600", "\"01:00\"");
	check(&type_time_hour, 32, "23:59:60", "\"00:00\"");
	check(&type_time_hour, 32, "24:00", "wrong time format");
	check(&type_time_day, 8, "Saturday", "\"Saturday\"");
	check(&type_time_day, 8, "6", "\"Saturday\"");
	check(&type_time_day, 8, "7", "ERANGE");
	check(&type_time_day, 8, "Satturday", "EINVAL");

	east.utc_offset = 7200;
	assert_string_equal(round_trip(&east, &type_time_date, "12341234", 64),
			    "\"1970-05-23 22:07:14\"");
	assert_string_equal(round_trip(&east, &type_time_date, "2019-06-21 17:00:00", 64),
			    "\"2019-06-21 17:00:00\"");
	assert_string_equal(round_trip(&east, &type_time_hour, "01:00", 32), "\"01:00\"");
	east.utc_offset = -43200;
	assert_string_equal(round_trip(&east, &type_time_hour, "23:30", 32), "\"23:30\"");
}

/* Days and dates agree over four centuries, leap years included. */
static void calendar(void **state)
{
	for (uint64_t day = 0; day < 150000; day += 13) {
		struct strbuf text = STRBUF_INIT;
		uint8_t v[8], again[8];
		const char *why;

		be_store(v, day * 86400 % 18446744073ULL * 1000000000ULL, 8);
		datatype_print(&type_time_date, &env, v, 64, &text);
		assert_int_equal(datatype_parse(&type_time_date, &env, text.data + 1, text.len - 2,
						again, 64, &why),
				 0);
		assert_memory_equal(v, again, 8);
		strbuf_free(&text);
	}
}

static void host(void **state)
{
	char dir[] = "/tmp/tamis-names-XXXXXX", path[64];
	struct arena a = ARENA_INIT;
	struct host_names names;
	struct lang_env with = env;
	FILE *f;

	check(&type_inet_proto, 8, "tcp", "tcp");
	check(&type_inet_proto, 8, "TCP", "tcp");
	check(&type_inet_proto, 8, "icmpv6", "ipv6-icmp");
	check(&type_inet_proto, 8, "comp", "ipcomp");
	check(&type_inet_proto, 8, "200", "200");
	check(&type_inet_proto, 8, "nosuch", "Could not resolve protocol name");
	check(&type_inet_service, 16, "65536", "Service out of range");
	check(&type_inet_service, 16, "nosuch",
	      "Could not resolve service: Servname not supported for ai_socktype");
	check(&type_uid, 32, "root", "0");
	check(&type_uid, 32, "no such user", "User does not exist");
	check(&type_gid, 32, "no such group", "Group does not exist");
	with.numeric = NUMERIC_PROTOCOL;
	assert_string_equal(round_trip(&with, &type_inet_proto, "tcp", 8), "6");

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rt_marks", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("# marks\n0x10 sixteen\n\nbroken\n7 seven # a comment\nx8 not\n", f);
	for (unsigned i = 100; i < 200; i++)
		fprintf(f, "%u m%u\n", i, i);
	fclose(f);
	assert_int_equal(host_names_load(&a, dir, "/nonexistent", &names), 0);
	with = env;
	with.names = &names;
	assert_string_equal(round_trip(&with, &type_mark, "sixteen", 32), "\"sixteen\"");
	assert_string_equal(round_trip(&with, &type_mark, "7", 32), "\"seven\"");
	assert_string_equal(round_trip(&with, &type_mark, "m199", 32), "\"m199\"");
	assert_string_equal(round_trip(&with, &type_mark, "not", 32), "EINVAL");
	assert_string_equal(round_trip(&with, &type_realm, "cosmos", 32), "\"cosmos\"");
	unlink(path);
	rmdir(dir);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(symbols_round_trip),
		cmocka_unit_test(widths),
		cmocka_unit_test(numbers),
		cmocka_unit_test(ipv4),
		cmocka_unit_test(addresses),
		cmocka_unit_test(strings),
		cmocka_unit_test(times),
		cmocka_unit_test(calendar),
		cmocka_unit_test(host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
