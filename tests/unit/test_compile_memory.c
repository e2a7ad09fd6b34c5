/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A build with each single allocation failing: -ENOMEM, nothing lost, and what is published runs
 * on. Allocation is wrapped by the linker (see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "compile/compile.h"
#include "failing_memory.h"
#include "model_fixture.h"
#include "program_walk.h"

static void note(void *arg, const struct compile_note *n)
{
	(void)n;
	++*(unsigned *)arg;
}

static const char first[] = "table inet t {\n"
			    "	chain a { counter; udp dport 1 drop; }\n"
			    "	chain in { type filter hook input priority 0; counter; }\n"
			    "}\n";

static const char second[] =
	"add rule inet t a ip saddr { 10.0.0.0/8, 192.168.0.1-192.168.0.9 } limit rate 1/second "
	"log prefix \"x\"\n"
	"add rule inet t a fib saddr oif 0 drop\n"
	"add rule inet t a ip saddr . tcp dport { 10.0.0.1 . 22, 10.0.0.2 . 80-90 } accept\n"
	"add rule inet t a udp dport vmap { 1 : drop, 2 : accept }\n"
	"add rule inet t a meta mark set numgen inc mod 3\n"
	"add rule inet t a meta mark set ip saddr map { 10.0.0.1 : 1, 10.0.0.2 : 2 }\n"
	"add rule inet t a ip6 saddr { fd00::1, fd00::2 } counter\n"
	"add rule inet t a tcp dport { 22, 80 } counter\n"
	"add rule inet t a ether saddr { 02:00:00:00:00:01, 02:00:00:00:00:02 } drop\n"
	"add rule inet t a meta mark { 1, 2, 3 } accept\n"
	"add rule inet t a udp length vmap { 8 : drop, 9-20 : accept }\n"
	"insert rule inet t a udp dport 1 jump { counter; drop; }\n"
	"add set inet t s { type ipv4_addr; flags dynamic; size 5; }\n"
	"add rule inet t a add @s { ip saddr limit rate 1/second } accept\n"
	"add table netdev n\n"
	"add chain netdev n i { type filter hook ingress device \"eth0\" priority 0; }\n";

static void test_each_allocation(void **state)
{
	unsigned notes = 0;
	struct compile_config config = {&notes, note};
	const struct program *before;
	struct compile *c;
	struct fixture f;
	uint64_t n;
	int err;

	(void)state;
	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(compile_new(&config, &c), 0);
	assert_int_equal(fixture_load(&f, first, FIXTURE_COMMIT), 0);
	assert_int_equal(compile_build(c, f.m), 0);
	compile_publish(c);
	compile_settle(c);
	before = compile_program(model_chain_find(model_table_find(f.m, FAMILY_INET, "t"), "a"));
	if (fixture_load(&f, second, FIXTURE_OPEN))
		fail_msg("%s", f.messages);
	for (n = 0;; n++) {
		memory_arm(n, false);
		err = compile_build(c, f.m);
		memory_disarm();
		if (err)
			assert_int_equal(err, -ENOMEM);
		assert_int_equal(program_length(before), err ? 2 : 15);
		if (!memory.hit)
			break;
		if (!err) /* a set goes on without the room that it asked for in advance */
			compile_abort(c);
	}
	assert_int_equal(err, 0);
	assert_true(n > 50);
	assert_int_equal(notes, 1);
	compile_publish(c);
	compile_settle(c);
	assert_int_equal(program_length(before), 15);
	model_commit(f.m);
	compile_free(c);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
