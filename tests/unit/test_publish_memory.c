/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of ipset published into an engine, and reloads, with each single allocation failing and with
 * all from it on: done whole, or -ENOMEM and the engine is as it was, to packets too. Allocation is
 * wrapped by the linker (see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <tamis/ipset.h>

#include "base/base.h"
#include "failing_memory.h"

#define S UINT64_C(1000000000)

static const char sets[] = "create a hash:ip timeout 60 counters comment\n"
			   "add a 10.0.0.1 packets 3 bytes 4 comment \"one\"\nadd a 10.0.0.2\n"
			   "create n hash:net\nadd n 10.0.0.0/8\nadd n 10.1.0.0/16 nomatch\n"
			   "create p hash:net,port timeout 9\nadd p 10.0.0.0/8,80\n"
			   "create l list:set\nadd l n\n";
static const char again[] = "create a hash:ip timeout 60 counters comment\nadd a 10.0.0.1\n"
			    "add a 10.0.0.3 comment \"three\"\n"
			    "create n hash:net\nadd n 10.0.0.0/9\nadd n 192.0.2.0/24\n"
			    "create p hash:net,port timeout 9\nadd p 10.0.0.0/8,80\n"
			    "add p 10.1.0.0/16,443\n"
			    "create l list:set\nadd l n\ncreate new hash:mac\n"
			    "add new 02:00:00:00:00:01\n";
static const char first[] =
	"table inet global {\n"
	"	chain c { type filter hook input priority 0; ip saddr @a drop; ip saddr @n drop; "
	"}\n"
	"}\n"
	"table inet t {\n"
	"	set bans { type ipv4_addr; timeout 1h; limit rate 5/minute; }\n"
	"	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 1.0.0.0/24 }; "
	"}\n"
	"	counter k { packets 5 bytes 6 }\n"
	"	limit x { rate 5/second; }\n"
	"	chain c { type filter hook input priority 1; ip saddr @bans drop; limit name "
	"\"x\"; }\n"
	"}\n"
	"add element inet t bans { 1.1.1.1 comment \"ban\", 1.1.1.2 timeout 2m }\n"
	"add element inet t nets { 2.0.0.0/8 }\n";
static const char second[] =
	"flush ruleset\n"
	"table inet global { chain c { type filter hook input priority 0; ip saddr @a accept; }; "
	"}\n"
	"table inet t {\n"
	"	set bans { type ipv4_addr; timeout 1h; limit rate 5/minute; elements = { 9.9.9.9 "
	"}; }\n"
	"	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }\n"
	"	counter k { }\n"
	"	limit x { rate 5/second; }\n"
	"	chain c { type filter hook input priority 1; ip saddr { 3.3.3.3, 4.4.4.4 } accept; "
	"}\n"
	"}\n";

static struct tamis_ipset *session(const char *lines)
{
	struct tamis_ipset_result r;
	struct tamis_ipset *s;

	assert_int_equal(tamis_ipset_new(&s), 0);
	assert_int_equal(tamis_ipset_restore(s, lines, strlen(lines), 0, 5 * S, &r), 0);
	assert_int_equal(r.status, 0);
	tamis_ipset_result_free(&r);
	return s;
}

static struct tamis *engine(bool loaded)
{
	struct tamis_ipset *s = session(sets);
	struct tamis_load_options o = {.now = 5 * S};
	struct tamis *t;

	assert_int_equal(tamis_new(NULL, &t), 0);
	if (loaded) {
		assert_int_equal(tamis_ipset_publish(s, t, 5 * S, NULL), 0);
		assert_int_equal(tamis_load_text(t, NULL, first, strlen(first), &o, NULL, NULL), 0);
	}
	tamis_ipset_free(s);
	return t;
}

static char *listing(struct tamis *t)
{
	char *text;

	assert_int_equal(tamis_list(t, 0, 10 * S, &text), 0);
	return text;
}

enum what { PUBLISH, PUBLISH_AGAIN, RELOAD };

static int change(struct tamis *t, enum what what, struct tamis_ipset *s)
{
	struct tamis_load_options o = {.now = 10 * S};
	char *messages = NULL;
	int err = what == RELOAD
			  ? tamis_reload_text(t, NULL, second, strlen(second), &o, NULL, &messages)
			  : tamis_ipset_publish(s, t, 10 * S, &messages);

	if (err == -EINVAL)
		fail_msg("%s", messages);
	free(messages);
	return err;
}

static void each_failure(enum what what, bool for_good)
{
	struct tamis *t = engine(what != PUBLISH);
	struct tamis_ipset *s = session(what == PUBLISH ? sets : again);
	char *before = listing(t), *after, *want = NULL;
	uint64_t n;
	int err;

	for (n = 0;; n++) {
		memory_arm(n, for_good);
		err = change(t, what, s);
		memory_disarm();
		if (!err && !memory.hit)
			break;
		after = listing(t);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_string_equal(after, before);
		} else {
			/* What failed was of no consequence. */
			assert_true(!want || !strcmp(after, want));
			free(want);
			want = strdup(after);
			tamis_free(t);
			t = engine(what != PUBLISH);
		}
		free(after);
	}
	assert_true(n > 50);
	after = listing(t);
	assert_true(!want || !strcmp(after, want));
	assert_string_not_equal(after, before);
	free(after);
	free(before);
	free(want);
	tamis_ipset_free(s);
	tamis_free(t);
}

static void publish(void **state)
{
	each_failure(PUBLISH, false);
	each_failure(PUBLISH, true);
}

static void publish_again(void **state)
{
	each_failure(PUBLISH_AGAIN, false);
	each_failure(PUBLISH_AGAIN, true);
}

static void reload(void **state)
{
	each_failure(RELOAD, false);
	each_failure(RELOAD, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(publish),
		cmocka_unit_test(publish_again),
		cmocka_unit_test(reload),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
