/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of ipset's language: against a naive reference, taken back after failures of every kind,
 * with each allocation failing (wrapped by the linker, see meson.build), and as sets of an engine.
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
#include <tamis/ipset.h>

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

static void load(struct tamis *t, const char *text, uint64_t now)
{
	struct tamis_load_options options = {.now = now};
	char *messages = NULL;

	if (tamis_load_text(t, NULL, text, strlen(text), &options, NULL, &messages))
		fail_msg("%s", messages);
	free(messages);
}

static void has(struct tamis *t, uint64_t now, const char *what, bool want)
{
	char *listing;

	assert_int_equal(tamis_list(t, 0, now, &listing), 0);
	if (!strstr(listing, what) == want)
		fail_msg("%s%s", want ? "missing: " : "still there: ", listing);
	free(listing);
}

/* --- the public calls ------------------------------------------------------------------------- */

/* Words are only read: these cannot be written to. */
static void test_public_words(void **state)
{
	char *create[] = {"create", "p", "hash:ip,port,ip", "comment"},
	     *add[] = {"add", "p", "192.0.2.1-192.0.2.2,tcp:80-81,10.0.0.1", "comment", "x"},
	     *save[] = {"save", "p", "-sorted"};
	struct {
		char **words;
		int n;
	} runs[] = {{create, ARRAY_SIZE(create)}, {add, ARRAY_SIZE(add)}, {save, ARRAY_SIZE(save)}};
	struct tamis_ipset_result r;
	struct tamis_ipset *s;

	(void)state;
	assert_int_equal(tamis_ipset_new(&s), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
		if (i)
			tamis_ipset_result_free(&r);
		assert_int_equal(tamis_ipset_run(s, runs[i].n, runs[i].words, 0, &r), 0);
		assert_int_equal(r.status, 0);
		assert_string_equal(r.messages, "");
	}
	assert_non_null(strstr(r.output, "add p 192.0.2.2,tcp:81,10.0.0.1 comment \"x\"\n"));
	tamis_ipset_result_free(&r);
	tamis_ipset_free(s);
}

static void test_public(void **state)
{
	static const char lines[] = "create banned hash:ip timeout 60\nadd banned 192.0.2.1\n"
				    "create nets hash:net\nadd nets 10.0.0.0/8\n"
				    "add nets 10.1.0.0/16 nomatch\n";
	char *add[] = {"add", "banned", "192.0.2.7"}, *wrong[] = {"restore"},
	     *list[] = {"list", "-n"};
	struct tamis_ipset_result r;
	struct tamis_ipset *s;
	struct tamis *t;
	char *listing, *messages;

	(void)state;
	assert_int_equal(tamis_ipset_new(&s), 0);
	assert_int_equal(tamis_ipset_restore(s, lines, strlen(lines), 0, 0, &r), 0);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.changed, 1);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 3, add, second, &r), 0);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.changed, 1);
	assert_string_equal(r.messages, "");
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 3, add, second, &r), 0);
	assert_int_equal(r.status, 1);
	assert_int_equal(r.changed, 0);
	assert_string_equal(r.messages, "ipset v7.17: Element cannot be added to the set: it's "
					"already added\n");
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 1, wrong, second, &r), 0);
	assert_int_equal(r.status, 2);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 0, NULL, second, &r), 0);
	assert_int_equal(r.status, 2);
	tamis_ipset_result_free(&r);
	assert_int_equal(tamis_ipset_run(s, 2, list, second, &r), 0);
	assert_string_equal(r.output, "banned\nnets\n");
	tamis_ipset_result_free(&r);

	assert_int_equal(tamis_new(NULL, &t), 0);
	assert_int_equal(tamis_ipset_publish(s, t, 20 * second, &messages), 0);
	assert_null(messages);
	assert_int_equal(tamis_list(t, 0, 20 * second, &listing), 0);
	assert_non_null(strstr(listing, "192.0.2.1 timeout 40s"));
	assert_non_null(strstr(listing, "192.0.2.7 timeout 41s"));
	assert_non_null(strstr(listing, "10.0.0.0/16, 10.2.0.0-10.255.255.255"));
	free(listing);
	tamis_free(t);
	assert_int_equal(tamis_new(NULL, &t), 0);
	load(t, "table inet global { set nets { type ipv4_addr; }; }", 0);
	assert_int_equal(tamis_ipset_publish(s, t, 20 * second, &messages), -EINVAL);
	assert_non_null(strstr(messages, "set nets has no place in table inet global"));
	free(messages);
	has(t, 20 * second, "banned", false);
	tamis_free(t);
	tamis_ipset_free(s);
}

/* --- published again -------------------------------------------------------------------------- */

/* A new session with these lines, as a file that is read again, into the engine. */
static int published(struct tamis *t, uint64_t now, const char *lines, char **messages)
{
	struct tamis_ipset_result r;
	struct tamis_ipset *s;
	int err;

	assert_int_equal(tamis_ipset_new(&s), 0);
	assert_int_equal(tamis_ipset_restore(s, lines, strlen(lines), 0, now, &r), 0);
	assert_string_equal(r.messages, "");
	tamis_ipset_result_free(&r);
	err = tamis_ipset_publish(s, t, now, messages);
	tamis_ipset_free(s);
	return err;
}

static void publish(struct tamis *t, uint64_t now, const char *lines)
{
	char *messages = NULL;
	int err = published(t, now, lines, &messages);

	if (err)
		fail_msg("%s", messages);
	assert_null(messages);
}

static void refused(struct tamis *t, uint64_t now, const char *lines, const char *why)
{
	char *messages, *before, *after;

	assert_int_equal(tamis_list(t, 0, now, &before), 0);
	assert_int_equal(published(t, now, lines, &messages), -EINVAL);
	assert_non_null(strstr(messages, why));
	free(messages);
	assert_int_equal(tamis_list(t, 0, now, &after), 0);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static const char rules[] = "table inet global { chain c { type filter hook input priority 0; "
			    "ip saddr @a drop; ip saddr @n drop; }; }";

static void test_again(void **state)
{
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0,
		"create a hash:ip timeout 60 counters\nadd a 10.0.0.1\nadd a 10.0.0.2\nadd a "
		"10.0.0.3\n"
		"create n hash:net\nadd n 10.0.0.0/8\nadd n 10.1.0.0/16 nomatch\n");
	load(t, rules, 0);
	load(t, "delete element inet global a { 10.0.0.1, 10.0.0.2 }", 0);
	load(t,
	     "add element inet global a { 10.0.0.1 counter packets 3 bytes 300, "
	     "10.0.0.2 counter packets 4 bytes 400, 10.9.9.9 }",
	     0);
	/* What lines leave open goes on; what they say counts; what is gone is gone. */
	publish(t, 10 * second,
		"create a hash:ip timeout 60 counters maxelem 7\nadd a 10.0.0.1\n"
		"add a 10.0.0.2 timeout 30 packets 1 bytes 2\nadd a 10.0.0.4\n"
		"create n hash:net\nadd n 10.0.0.0/15\nadd n 192.0.2.0/24\n");
	has(t, 10 * second, "10.0.0.1 counter packets 3 bytes 300 expires 50s", true);
	has(t, 10 * second, "10.0.0.2 counter packets 1 bytes 2 timeout 30s expires 30s", true);
	has(t, 10 * second, "10.0.0.4 counter packets 0 bytes 0 expires 1m", true);
	has(t, 10 * second, "10.0.0.3", false);
	has(t, 10 * second, "10.9.9.9", false);
	has(t, 10 * second, "size 7", true);
	has(t, 10 * second, "elements = { 10.0.0.0/15, 192.0.2.0/24 }", true);
	has(t, 10 * second, "ip saddr @a drop", true);
	/* A set that a session does not have stays; a list is what its members are now. */
	publish(t, 20 * second, "create b hash:ip\nadd b 10.0.0.5\ncreate l list:set\nadd l b\n");
	has(t, 20 * second, "10.0.0.1", true);
	publish(t, 20 * second, "create b hash:ip\nadd b 10.0.0.6\ncreate l list:set\nadd l b\n");
	has(t, 20 * second, "10.0.0.5", false);
	/* All or nothing. */
	refused(t, 20 * second,
		"create b hash:ip\nadd b 10.0.0.7\ncreate a hash:net\nadd a 10.0.0.0/8\n",
		"set a: it is of another kind than before, and rules use it");
	refused(t, 20 * second,
		"create b hash:ip\nadd b 10.0.0.7\ncreate x hash:net timeout 100\n"
		"add x 192.0.2.0/24\nadd x 192.0.2.7 nomatch timeout 5\n",
		"set x: an exception with nomatch");
	/* Of another kind, where no rule asks. */
	publish(t, 20 * second, "create b hash:net\nadd b 10.7.0.0/16\n");
	has(t, 20 * second, "10.7.0.0/16", true);
	tamis_free(t);
}

/* Of ranges over each other, put there again, none is lost that stays longer. */
static void test_again_in_order(void **state)
{
	static const char lines[] = "create p hash:net,net timeout 0\n"
				    "add p 10.0.0.0/28,10.1.0.0/18 timeout 10\n"
				    "add p 10.0.0.4/31,10.1.0.0/21 timeout 100\n";
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	for (unsigned i = 0; i < 3; i++) {
		publish(t, 0, lines);
		has(t, 0, "10.0.0.0/28 . 10.1.0.0/18", true);
		has(t, 20 * second, "10.0.0.0/28 . 10.1.0.0/18", false);
		has(t, 20 * second, "10.0.0.4/31 . 10.1.0.0/21 timeout 1m40s expires 1m20s", true);
	}
	/* A reload carries the set over. */
	load(t, "flush ruleset", 0);
	has(t, 20 * second, "10.0.0.4/31 . 10.1.0.0/21 timeout 1m40s expires 1m20s", true);
	tamis_free(t);
}

/* They are no part of a ruleset. */
static void test_outlive(void **state)
{
	struct tamis_load_options later = {.now = 10 * second};
	char text[512];
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0,
		"create a hash:ip timeout 60 counters\nadd a 10.0.0.1 packets 5 bytes 6\n"
		"create n hash:net\nadd n 10.0.0.0/8\n");
	load(t, rules, 0);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "%s%s", i % 2 ? "flush ruleset\n" : "", rules);
		if (i < 2)
			assert_int_equal(
				tamis_reload_text(t, NULL, text, strlen(text), &later, NULL, NULL),
				0);
		else
			load(t, i == 2 ? "flush ruleset" : text, 10 * second);
		has(t, 10 * second, "10.0.0.1 counter packets 5 bytes 6 expires 50s", true);
		has(t, 10 * second, "10.0.0.0/8", true);
		has(t, 10 * second, "chain c", i != 2);
	}
	/* The table is that of the text otherwise. */
	snprintf(text, sizeof(text), "flush ruleset\ntable inet global { comment \"ours\"; }\n%s",
		 rules);
	load(t, text, 10 * second);
	has(t, 10 * second, "comment \"ours\"", true);
	/* Refreshed still. */
	publish(t, 20 * second, "create a hash:ip timeout 60 counters\nadd a 10.0.0.2\n");
	has(t, 20 * second, "10.0.0.1", false);
	/* A ruleset that declares it has it from now on, with what it holds. */
	snprintf(text, sizeof(text),
		 "table inet global { set a { type ipv4_addr; flags timeout; counter; }; }");
	assert_int_equal(tamis_reload_text(t, NULL, text, strlen(text), &later, NULL, NULL), 0);
	has(t, 20 * second, "10.0.0.2 counter packets 0 bytes 0", true);
	has(t, 20 * second, "10.0.0.0/8", true);
	refused(t, 20 * second, "create a hash:ip timeout 60 counters\n", "set a has no place");
	load(t, "flush ruleset", 20 * second);
	has(t, 20 * second, "10.0.0.2", false);
	has(t, 20 * second, "10.0.0.0/8", true);
	load(t, "delete table inet global", 20 * second);
	has(t, 20 * second, "10.0.0.0/8", false);
	tamis_free(t);
}

/* Nor is the table that is there for them: a ruleset that creates it does. */
static void test_create_table(void **state)
{
	static const char create[] =
		"create table inet global { comment \"ours\"; flags dormant; chain c { ip saddr @a "
		"drop; }; }\n";
	static const char wrong[] = "create table inet global { comment \"not\"; flags dormant; }\n"
				    "delete set inet global nope";
	struct tamis *t;
	char text[512];

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	publish(t, 0, "create a hash:ip\nadd a 10.0.0.1\n");
	/* One that fails leaves it as it was. */
	assert_int_equal(tamis_load_text(t, NULL, wrong, strlen(wrong), NULL, NULL, NULL), -EINVAL);
	has(t, 0, "comment", false);
	has(t, 0, "dormant", false);
	load(t, create, 0);
	assert_int_equal(tamis_load_text(t, NULL, create, strlen(create), NULL, NULL, NULL),
			 -EINVAL);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 1) {
			snprintf(text, sizeof(text), "flush ruleset\n%s", create);
			load(t, text, 0);
		} else if (i) {
			assert_int_equal(tamis_reload_text(t, NULL, create, strlen(create), NULL,
							   NULL, NULL),
					 0);
		}
		has(t, 0, "comment \"ours\"", true);
		has(t, 0, "flags dormant", true);
		has(t, 0, "ip saddr @a drop", true);
		has(t, 0, "10.0.0.1", true);
	}
	/* Twice in one text is once too often. */
	snprintf(text, sizeof(text), "flush ruleset\ncreate table inet global\n%s", create);
	assert_int_equal(tamis_load_text(t, NULL, text, strlen(text), NULL, NULL, NULL), -EINVAL);
	has(t, 0, "ip saddr @a drop", true);
	/* A table of the ruleset's is not there for them. */
	load(t, "flush ruleset; delete table inet global; table inet global { }", 0);
	publish(t, 0, "create a hash:ip\n");
	assert_int_equal(tamis_load_text(t, NULL, create, strlen(create), NULL, NULL, NULL),
			 -EINVAL);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_random),
		cmocka_unit_test(test_nets_random),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_list_taken_back),
		cmocka_unit_test(test_each_allocation),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_public_words),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_whole_is_its_lines),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_outlive),
		cmocka_unit_test(test_again_in_order),
		cmocka_unit_test(test_create_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
