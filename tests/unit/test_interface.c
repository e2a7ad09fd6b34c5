/* SPDX-License-Identifier: Apache-2.0 */
/* Interface names, and local prefixes. */
#include "packet_build.h"

#include <stdio.h>
#include <tamis/tamis.h>

#include "engine/interface.h"
#include "engine/local.h"

static void names(void **state)
{
	struct interface_table *t;
	char longest[INTERFACE_NAME_MAX + 1];
	uint32_t lo, eth0, again;

	assert_int_equal(interface_table_new(&t), 0);
	assert_int_equal(interface_intern(t, "lo", 2, &lo), 0);
	assert_int_equal(lo, 1);
	assert_int_equal(interface_intern(t, "eth0xx", 4, &eth0), 0);
	assert_int_equal(interface_intern(t, "eth0", 4, &again), 0);
	assert_int_equal(eth0, again);
	assert_string_equal(interface_name(t, eth0), "eth0");
	assert_null(interface_name(t, 0));
	assert_null(interface_name(t, eth0 + 1));
	assert_int_equal(interface_count(t), 2);
	assert_memory_equal(interface_names(t)[eth0 - 1], "eth0\0\0\0\0\0\0\0\0\0\0\0",
			    INTERFACE_NAME_LEN);
	again = 77;
	assert_int_equal(interface_intern(t, "", 0, &again), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(interface_intern(t, longest, INTERFACE_NAME_MAX + 1, &again), -EINVAL);
	assert_int_equal(interface_intern(t, "a\0b", 3, &again), -EINVAL);
	assert_int_equal(again, 77);
	assert_int_equal(interface_intern(t, "fifteen_bytes_x", 15, &again), 0);
	assert_string_equal(interface_names(t)[again - 1], "fifteen_bytes_x");
	assert_int_equal(interface_intern(t, "GigabitEthernet3/0/0", 20, &eth0), 0);
	assert_string_equal(interface_name(t, eth0), "GigabitEthernet3/0/0");
	assert_string_equal(interface_names(t)[eth0 - 1], ""); /* no rule means it */
	assert_int_equal(interface_intern(t, longest, INTERFACE_NAME_MAX, &again), 0);
	interface_table_free(t);
	interface_table_free(NULL);
}

static void names_limit(void **state)
{
	struct interface_table *t;
	uint32_t index;
	char name[16];

	assert_int_equal(interface_table_new(&t), 0);
	for (uint32_t i = 2; i <= TAMIS_INTERFACES_MAX; i++) {
		int len = snprintf(name, sizeof(name), "n%u", i);

		assert_int_equal(interface_intern(t, name, (size_t)len, &index), 0);
		assert_int_equal(index, i);
	}
	assert_int_equal(interface_intern(t, "more", 4, &index), -ENOSPC);
	assert_int_equal(interface_intern(t, "n2", 2, &index), 0);
	assert_int_equal(index, 2);
	interface_table_free(t);
}

static void local_refuses(void **state)
{
	static const char *const wrong[] = {
		"",
		"host",
		"10.0.0.0/33",
		"10.0.0.0/",
		"10.0.0.0/-1",
		"10.0.0/8",
		"2001:db8::/129",
		"10.0.0.0/8x",
		"10.0.0.0/ 8",
		"/8",
		"2001:db8:0:0:0:0:0:0:1",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb/64",
	};
	struct local l = {0};

	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(local_add(&l, wrong[i]), -EINVAL);
	assert_int_equal(l.n, 0);
	local_free(&l);
}

/* Packets of the builder go from 192.0.2.1 to 198.51.100.2, or from 2001:db8::1 to ::2. */
static void expect(struct local *l, bool six, bool to, bool from)
{
	struct packet p = {0};
	struct burst b;
	burst_mask t, f;

	if (six) {
		ip6_begin(&p, 17);
		put_udp(&p, 8);
		ip6_end(&p);
	} else {
		ip4_begin(&p, 17, 0, NULL, 0);
		put_udp(&p, 8);
		ip4_end(&p);
	}
	parse_one(&b, LINK_RAW, &p);
	local_find(l, &b, &t, &f);
	assert_int_equal(t, to);
	assert_int_equal(f, from);
	parse_free(&b);
}

static void local_finds(void **state)
{
	static const struct {
		const char *prefix;
		bool six, to, from;
	} cases[] = {
		{"192.0.2.1", false, false, true},	 {"192.0.2.2", false, false, false},
		{"192.0.2.0/31", false, false, true},	 {"192.0.2.200/24", false, false, true},
		{"198.51.100.2/32", false, true, false}, {"192.0.0.0/5", false, true, true},
		{"0.0.0.0/0", false, true, true},	 {"::/0", false, false, false},
		{"2001:db8::1", true, false, true},	 {"2001:db8::2/127", true, true, false},
		{"2001:db8::/126", true, true, true},	 {"::/0", true, true, true},
		{"0.0.0.0/0", true, false, false},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct local l = {0};

		expect(&l, cases[i].six, false, false);
		assert_int_equal(local_add(&l, cases[i].prefix), 0);
		assert_int_equal(local_add(&l, cases[i].prefix), 0);
		expect(&l, cases[i].six, cases[i].to, cases[i].from);
		local_free(&l);
	}
}

static void local_limit(void **state)
{
	struct local l = {0};
	char text[32];

	for (unsigned i = 0; i < TAMIS_LOCAL_MAX; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u/32", i >> 8, i & 255);
		assert_int_equal(local_add(&l, text), 0);
	}
	assert_int_equal(local_add(&l, "10.9.9.9"), -ENOSPC);
	local_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),	 cmocka_unit_test(names_limit),
		cmocka_unit_test(local_refuses), cmocka_unit_test(local_finds),
		cmocka_unit_test(local_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
