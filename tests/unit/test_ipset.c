/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of ipset's language: against a naive reference, taken back after failures of every kind,
 * and with each allocation failing (wrapped by the linker, see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "compat/ipset.h"
#include "failing_memory.h"

enum { HOSTS = 48, NETS = 9, STEPS = 6000, TEXT = 4096 };

static const uint64_t second = 1000000000;

static uint64_t dice_state;

static uint32_t dice(uint32_t n)
{
	dice_state = dice_state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(dice_state >> 33) % n;
}

/* The exit status of one line. */
static int line(struct ipset *s, uint64_t now, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int line(struct ipset *s, uint64_t now, const char *fmt, ...)
{
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
	char text[256];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	status = ipset_line_run(s, text, strlen(text), now, &out, &messages, NULL);
	strbuf_free(&out);
	strbuf_free(&messages);
	return status;
}

static int restore(struct ipset *s, uint64_t now, const char *text)
{
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
	struct ipset_restore_options o = {.now = now};
	int status = ipset_restore_text(s, text, strlen(text), &o, &out, &messages, NULL);

	if (status > 0)
		assert_non_null(strstr(strbuf_str(&messages), "Error in line"));
	strbuf_free(&out);
	strbuf_free(&messages);
	return status;
}

static char *state_of(struct ipset *s, uint64_t now)
{
	struct strbuf out = STRBUF_INIT;

	ipset_state_print(s, now, &out);
	assert_int_equal(strbuf_error(&out), 0);
	return strbuf_take(&out);
}

/* --- a reference ------------------------------------------------------------------------------ */

struct host {
	bool there;
	uint64_t expires; /* 0: stays */
};

static bool host_there(const struct host *h, uint64_t now)
{
	return h->there && (!h->expires || h->expires > now);
}

static void test_hosts_random(void **state)
{
	struct host hosts[HOSTS] = {0};
	struct ipset *s;
	uint64_t now = 5;

	(void)state;
	dice_state = 1;
	assert_int_equal(ipset_new(&s), 0);
	assert_int_equal(line(s, now, "create a hash:ip timeout 9 maxelem 24"), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = dice(HOSTS), n = 0, timeout = dice(12);
		struct host *h = &hosts[k];
		bool there = host_there(h, now), exist = dice(2);
		const char *first = exist ? "-exist " : "";

		for (unsigned j = 0; j < HOSTS; j++)
			n += host_there(&hosts[j], now);
		switch (dice(8)) {
		case 0:
		case 1:
		case 2:
			assert_int_equal(
				line(s, now, "%sadd a 10.0.0.%u timeout %u", first, k + 1, timeout),
				there ? !exist : n >= 24);
			if (there ? exist : n < 24)
				*h = (struct host){true, timeout ? now + timeout * second : 0};
			break;
		case 3:
			assert_int_equal(line(s, now, "%sadd a 10.0.0.%u", first, k + 1),
					 there ? !exist : n >= 24);
			if (there ? exist : n < 24)
				*h = (struct host){true, now + 9 * second};
			break;
		case 4:
			assert_int_equal(line(s, now, "%sdel a 10.0.0.%u", first, k + 1),
					 !there && !exist);
			h->there = false;
			break;
		case 5:
			now += dice(3) ? dice(1000000000) : second;
			break;
		case 6:
			if (!dice(200)) {
				assert_int_equal(line(s, now, "flush a"), 0);
				memset(hosts, 0, sizeof(hosts));
			}
			break;
		default:
			assert_int_equal(line(s, now, "test a 10.0.0.%u", k + 1), !there);
			break;
		}
	}
	for (unsigned k = 0; k < HOSTS; k++)
		assert_int_equal(line(s, now, "test a 10.0.0.%u", k + 1),
				 !host_there(&hosts[k], now));
	ipset_free(s);
}

/* Networks 10.0.0.0/24 to /32 and what a lookup of a host finds first. */
static void test_nets_random(void **state)
{
	static char nets[NETS][256]; /* by length - 24 and address: 0, 1, 2 for nomatch */
	struct ipset *s;

	(void)state;
	dice_state = 2;
	assert_int_equal(ipset_new(&s), 0);
	assert_int_equal(line(s, 0, "create a hash:net"), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned host = dice(256), length = dice(NETS), answer = 0;
		unsigned net = host & 0xffU << (NETS - 1 - length);
		bool nomatch = dice(3) == 0;

		switch (dice(4)) {
		case 0:
			assert_int_equal(line(s, 0, "add a 10.0.0.%u/%u%s", host, length + 24,
					      nomatch ? " nomatch" : ""),
					 nets[length][net] ? 1 : 0);
			if (!nets[length][net])
				nets[length][net] = nomatch ? 2 : 1;
			break;
		case 1:
			assert_int_equal(line(s, 0, "del a 10.0.0.%u/%u", host, length + 24),
					 nets[length][net] ? 0 : 1);
			nets[length][net] = 0;
			break;
		default:
			for (unsigned l = 0; l < NETS; l++)
				if (nets[l][host & 0xffU << (NETS - 1 - l)])
					answer = (unsigned)nets[l][host & 0xffU << (NETS - 1 - l)];
			assert_int_equal(line(s, 0, "test a 10.0.0.%u", host), answer != 1);
			assert_int_equal(line(s, 0, "test a 10.0.0.%u nomatch", host), answer != 2);
			break;
		}
	}
	ipset_free(s);
}

/* --- taking back ------------------------------------------------------------------------------ */

/* A line that mostly can be carried out. */
static void line_random(char *text, size_t len)
{
	static const char *const sets[] = {"a", "b", "c", "d"};
	const char *x = sets[dice(4)], *y = sets[dice(4)];

	switch (dice(14)) {
	case 0:
		snprintf(text, len, "-exist create %s hash:ip timeout 50 comment maxelem 30\n", x);
		break;
	case 1:
		snprintf(text, len, "destroy %s\n", x);
		break;
	case 2:
		snprintf(text, len, "swap %s %s\n", x, y);
		break;
	case 3:
		snprintf(text, len, "rename %s %s\n", x, y);
		break;
	case 4:
		snprintf(text, len, "flush %s\n", dice(3) ? x : "l");
		break;
	case 5:
		snprintf(text, len, "-exist add l %s %s %s\n", x, dice(2) ? "before" : "after", y);
		break;
	case 6:
		snprintf(text, len, "-exist add l %s timeout %u\n", x, dice(4));
		break;
	case 7:
		snprintf(text, len, "-exist del l %s\n", x);
		break;
	case 8:
		snprintf(text, len, "-exist del %s 10.0.0.%u\n", x, 1 + dice(40));
		break;
	case 9:
		snprintf(text, len, "add %s 10.0.0.%u/29\n", x, dice(40));
		break;
	default:
		snprintf(text, len, "-exist add %s 10.0.0.%u timeout %u comment \"%u\"\n", x,
			 1 + dice(40), dice(4) ? 40 + dice(9) : 0, dice(100000));
		break;
	}
}

static const char begin[] = "create a hash:ip timeout 50 comment maxelem 30\n"
			    "create b hash:ip timeout 50 comment maxelem 30\n"
			    "create l list:set timeout 60\n"
			    "add a 10.0.0.1 comment \"first\"\n"
			    "add a 10.0.0.2 timeout 3\n"
			    "add b 10.0.0.3 timeout 0\n"
			    "add l b\n";

/* Random texts with a wrong line at the end, and the same without it in steps of one line. */
static void test_taken_back(void **state)
{
	struct ipset *s;
	uint64_t now = second;
	unsigned failed = 0, done = 0;

	(void)state;
	dice_state = 3;
	assert_int_equal(ipset_new(&s), 0);
	assert_int_equal(restore(s, now, begin), 0);
	for (unsigned i = 0; i < 3000; i++) {
		char text[TEXT] = "", *before = state_of(s, now), *after;
		size_t at = 0;

		for (unsigned n = 1 + dice(12); n; n--) {
			line_random(text + at, sizeof(text) - at);
			at += strlen(text + at);
		}
		strcpy(text + at, "nonsense\n");
		assert_in_range(restore(s, now, text), 1, 2);
		after = state_of(s, now);
		assert_string_equal(after, before);
		free(after);
		text[at] = '\0';
		if (restore(s, now, text)) {
			after = state_of(s, now);
			assert_string_equal(after, before);
			free(after);
			failed++;
		} else {
			done++;
		}
		free(before);
		now += dice(20) ? dice(300000000) : second * 9;
		if (dice(50) == 0)
			line(s, now, "-exist create l list:set timeout 60");
	}
	assert_true(failed > 300 && done > 300);
	ipset_free(s);
}

/* Nearly what restores are made of, with one wrong line now and then. */
static void lines_random(char *text, size_t len)
{
	size_t at = 0;

	for (unsigned n = 1 + dice(120); n; n--) {
		unsigned host = dice(2000) + 1;

		if (dice(12) == 0)
			line_random(text + at, len - at);
		else if (dice(150) == 0)
			snprintf(text + at, len - at, "add a 10.0.0.256\n");
		else
			snprintf(text + at, len - at, "%sadd %c 10.0.%u.%u%s\n",
				 dice(3) ? "" : "-exist ", "aaaaaabcccc"[dice(11)], host >> 8,
				 host & 0xff, dice(4) ? "" : " comment \"x\"");
		at += strlen(text + at);
	}
}

/* A restore does what its lines do one by one, up to the one that fails, which it names. */
static void test_whole_is_its_lines(void **state)
{
	static const char full[] = "create c hash:ip comment forceadd maxelem 20";
	char text[TEXT * 4], copy[TEXT * 4], *save;
	unsigned failed = 0, done = 0;

	(void)state;
	dice_state = 4;
	for (unsigned i = 0; i < 1500; i++) {
		struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
		struct ipset_restore_options o = {.now = second};
		struct ipset *whole, *lines;
		unsigned wrong = 0, number = 0, said = 0;
		char *before, *after, *want;

		assert_int_equal(ipset_new(&whole), 0);
		assert_int_equal(ipset_new(&lines), 0);
		assert_int_equal(restore(whole, second, begin), 0);
		assert_int_equal(restore(lines, second, begin), 0);
		assert_int_equal(line(whole, second, "%s", full), 0);
		assert_int_equal(line(lines, second, "%s", full), 0);
		lines_random(text, sizeof(text));
		strcpy(copy, text);
		before = state_of(whole, second);
		for (char *l = strtok_r(copy, "\n", &save); l && !wrong;
		     l = strtok_r(NULL, "\n", &save)) {
			number++;
			if (restore(lines, second, l))
				wrong = number;
		}
		assert_int_equal(
			!ipset_restore_text(whole, text, strlen(text), &o, &out, &messages, NULL),
			!wrong);
		after = state_of(whole, second);
		want = state_of(lines, second);
		assert_string_equal(after, wrong ? before : want);
		if (wrong) {
			const char *place = strstr(strbuf_str(&messages), "Error in line ");

			assert_non_null(place);
			assert_int_equal(sscanf(place, "Error in line %u", &said), 1);
			assert_int_equal(said, wrong);
		}
		failed += !!wrong;
		done += !wrong;
		free(before);
		free(after);
		free(want);
		ipset_free(whole);
		ipset_free(lines);
		strbuf_free(&out);
		strbuf_free(&messages);
	}
	assert_true(failed > 100 && done > 100);
}

/* A list that was made before its members goes after them; so does one that was destroyed. */
static void test_list_taken_back(void **state)
{
	static const char *const texts[] = {
		"create k list:set\ncreate x hash:ip\nadd k x\nadd k a\nnonsense\n",
		"create k list:set\ncreate x hash:ip\nadd k x\nadd k a\ndestroy k\nnonsense\n",
		"create k list:set\ncreate x hash:ip\nadd k x\nswap k l\nflush k\nadd k x\ndestroy "
		"k\n"
		"nonsense\n",
		"flush l\ncreate x hash:ip\nadd l x\nadd l a\nnonsense\n",
		"create x hash:ip\nadd l x before b\ndel l b\ndestroy b\nnonsense\n",
	};
	struct ipset *s;
	char *before, *after;

	(void)state;
	assert_int_equal(ipset_new(&s), 0);
	assert_int_equal(restore(s, second, begin), 0);
	before = state_of(s, second);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(restore(s, second, texts[i]), 2);
		after = state_of(s, second);
		assert_string_equal(after, before);
		free(after);
	}
	assert_int_equal(line(s, second, "destroy b"), 1);
	assert_int_equal(line(s, second, "flush l"), 0);
	assert_int_equal(line(s, second, "destroy b"), 0);
	assert_int_equal(line(s, second, "destroy a"), 0);
	free(before);
	ipset_free(s);
}

/* Each allocation of a restore fails once, and once with all that follow. */
static void test_each_allocation(void **state)
{
	static const char text[] = "add a 10.0.1.0/26\n"
				   "-exist add a 10.0.0.1 comment \"second\"\n"
				   "del a 10.0.0.2\n"
				   "create c hash:net,iface counters skbinfo\n"
				   "add c 10.0.0.0/8,eth0 packets 3 skbmark 0x5\n"
				   "create d bitmap:port range 0-65535\n"
				   "add d 5-90\n"
				   "create e hash:ip timeout 50 comment maxelem 100\n"
				   "add e 10.0.0.0/27\n"
				   "swap e a\n"
				   "flush b\n"
				   "add l a before b\n"
				   "del l b\n"
				   "destroy b\n"
				   "rename e b\n"
				   "flush l\n"
				   "save\n";
	char large[TEXT], *want = NULL;
	struct ipset *s;

	(void)state;
	snprintf(large, sizeof(large), "%s", begin);
	memcpy(strstr(large, "30\ncreate b"), "99", 2);
	for (unsigned mode = 0; mode < 2; mode++) {
		for (uint64_t n = 0;; n++) {
			char *before, *after;
			int status;

			assert_int_equal(ipset_new(&s), 0);
			assert_int_equal(restore(s, second, large), 0);
			before = state_of(s, second);
			memory_arm(n, mode);
			status = restore(s, second, text);
			memory_disarm();
			after = state_of(s, second);
			if (!memory.hit) {
				assert_int_equal(status, 0);
				if (!want)
					want = strdup(after);
			}
			assert_true(status == 0 || status == -ENOMEM);
			if (status)
				assert_string_equal(after, before);
			else if (want)
				assert_string_equal(after, want);
			/* It goes on as if nothing had been. */
			if (status) {
				free(after);
				assert_int_equal(restore(s, second, text), 0);
				after = state_of(s, second);
				if (want)
					assert_string_equal(after, want);
			}
			free(before);
			free(after);
			ipset_free(s);
			if (!memory.hit)
				break;
			assert_true(n < 2000);
		}
	}
	free(want);
}

/* --- time ------------------------------------------------------------------------------------- */

static void test_lifetimes(void **state)
{
	struct strbuf messages = STRBUF_INIT;
	struct ipset_restore_options o = {0};
	struct ipset *s, *again;
	const uint64_t begun = 7 * second + 250000000;
	char path[] = "/tmp/test_ipset.XXXXXX", *text, *same;
	int fd;

	(void)state;
	assert_int_equal(ipset_new(&s), 0);
	assert_int_equal(line(s, begun, "create a hash:ip timeout 3"), 0);
	assert_int_equal(line(s, begun, "add a 10.0.0.1"), 0);
	assert_int_equal(line(s, begun + 1, "add a 10.0.0.2 timeout 4"), 0);
	assert_int_equal(line(s, begun, "add a 10.0.0.3 timeout 0"), 0);
	assert_int_equal(line(s, begun + 3 * second - 1, "test a 10.0.0.1"), 0);
	assert_int_equal(line(s, begun + 3 * second, "test a 10.0.0.1"), 1);

	/* A file keeps them to the nanosecond, however often it is read and written. */
	text = state_of(s, begun + second / 3);
	for (unsigned i = 0; i < 5; i++) {
		strcpy(path + strlen(path) - 6, "XXXXXX");
		fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		close(fd);
		assert_int_equal(ipset_new(&again), 0);
		o.now = begun + second / 3;
		assert_int_equal(ipset_state_read(again, path, &o, &messages), 0);
		remove(path);
		same = state_of(again, begun + second / 3);
		assert_string_equal(same, text);
		free(text);
		text = same;
		if (i < 4)
			ipset_free(again);
	}
	free(text);
	assert_int_equal(line(again, begun + 3 * second - 1, "test a 10.0.0.1"), 0);
	assert_int_equal(line(again, begun + 3 * second, "test a 10.0.0.1"), 1);
	assert_int_equal(line(again, begun + 4 * second, "test a 10.0.0.2"), 0);
	assert_int_equal(line(again, begun + 4 * second + 1, "test a 10.0.0.2"), 1);
	assert_int_equal(line(again, UINT64_MAX, "test a 10.0.0.3"), 0);
	ipset_free(again);
	ipset_free(s);
	strbuf_free(&messages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_random),	   cmocka_unit_test(test_nets_random),
		cmocka_unit_test(test_taken_back),	   cmocka_unit_test(test_list_taken_back),
		cmocka_unit_test(test_each_allocation),	   cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_whole_is_its_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
