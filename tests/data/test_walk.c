/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_walk: rulesets of others over captures of others, once with classifiers and once rule by
 * rule, once for short chains too, once in bursts and once packet by packet: what becomes of every
 * packet, and what every rule, chain and set counted, is the same.
 *
 * The rulesets are all files of $TAMIS_DATA/rulesets and $TAMIS_DATA/rulesets-json that load, and
 * one that is made here: for each field of the classifier rules on many of its values. The
 * packets are the first of every capture of $TAMIS_DATA/pcaps, one capture after the other, so that
 * few seconds are enough; what comes later in a capture is left out. Paths, interfaces and
 * sizes of bursts are random, by a fixed seed. Somebody who hears of log lines makes the engine
 * take one packet after the other, so that is a test of its own.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tamis/tamis.h>

#include "base/vec.h"
#include "port/capture.h"

enum { PACKETS_EACH = 48, BYTES_MAX = 2048, SEED = 5 };
#define SECOND UINT64_C(1000000000)

struct packet {
	uint8_t *data;
	struct tamis_packet p; /* iif and oif: index into names, plus 1; 0: none */
};

/* Those that the rulesets name most often. */
static const char *const names[] = {"eth0",	 "lo",	  "wg0",    "vmbr2",	 "zone1",
				    "br-lan",	 "wlan0", "foo",    "docker0",	 "eth1",
				    "pppoe-wan", "vmbr0", "enp1s0", "tailscale0"};

static VEC(char *) rulesets, captures;
static VEC(struct packet) packets;
static char *data_dir;

/* --- input ------------------------------------------------------------------------------------ */

static uint32_t random_next(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % n;
}

static int add_capture(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char *copy;

	if (type != FTW_F)
		return 0;
	copy = strdup(path);
	return !copy || vec_push(&captures, copy);
}

static int add_ruleset(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char *copy;

	if (type != FTW_F)
		return 0;
	copy = strdup(path);
	return !copy || vec_push(&rulesets, copy);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Time goes on from capture to capture, and never by more than a second at once. */
static void read_capture(const char *path, uint64_t *now, uint64_t *seed)
{
	static struct burst b;
	struct strbuf msg = STRBUF_INIT;
	struct capture *c = NULL;
	uint32_t iif = random_next(seed, ARRAY_SIZE(names) + 1);
	uint32_t oif = random_next(seed, ARRAY_SIZE(names) + 1);
	uint64_t before = 0;
	unsigned n = 0;

	*now += SECOND;
	if (capture_open(&c, path, &msg)) {
		strbuf_free(&msg);
		return;
	}
	while (n < PACKETS_EACH && !capture_read(c, &b, &msg) && b.n)
		for (unsigned i = 0; i < b.n && n < PACKETS_EACH; i++, n++) {
			struct packet p = {.p = {.caplen = MIN(b.caplen[i], (uint32_t)BYTES_MAX),
						 .len = b.len[i],
						 .link = (enum tamis_link)b.link[i],
						 .iif = iif,
						 .oif = oif}};

			if (n && b.time[i] > before)
				*now += MIN(b.time[i] - before, SECOND);
			before = b.time[i];
			p.p.time = *now;
			p.data = malloc(MAX(p.p.caplen, 1U));
			assert_non_null(p.data);
			memcpy(p.data, b.data[i], p.p.caplen);
			p.p.data = p.data;
			assert_int_equal(vec_push(&packets, p), 0);
		}
	capture_close(c);
	strbuf_free(&msg);
}

static void find_in(const char *dir,
		    int (*add)(const char *, const struct stat *, int, struct FTW *))
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", data_dir, dir) > 0);
	nftw(path, add, 16, FTW_PHYS);
	free(path);
}

/* Values from 0 on, `step` apart. */
struct field_rules {
	char format[56]; /* no pointer: the compiler is to see that it is never NULL */
	unsigned step;
};

static const struct field_rules ip_fields[] = {
	{"ip saddr 10.%u.0.0/16", 1},
	{"ip daddr 192.168.%u.0/24", 1},
	{"ip6 saddr fe80::%x/120", 256},
	{"ip6 daddr ff02::%x", 1},
	{"tcp sport %u", 4},
	{"udp dport %u", 1},
	{"th dport %u", 80},
	{"meta l4proto %u", 1},
	{"icmp type %u", 1},
	{"icmp code %u", 1},
	{"icmpv6 type %u", 2},
	{"icmpv6 code %u", 1},
	{"tcp flags & 0x3f == %u", 1},
	{"ip frag-off %u", 185},
	{"frag frag-off %u", 1},
	{"ct mark %u", 1},
	{"meta mark %u", 1},
	{"meta protocol %u", 16},
	{"ip length %u", 4},
	{"ip6 length %u", 4},
	{"meta length %u", 4},
	{"ip ttl %u", 2},
	{"ip6 hoplimit %u", 2},
	{"ip dscp %u", 1},
	{"ip6 dscp %u", 1},
	{"iifname \"eth%u\"", 1},
	{"oifname { \"lo\", \"wg%u\" }", 1},
	{"ct state %u", 1},
	{"ct direction %u", 1},
	{"meta pkttype %u", 1},
};
static const struct field_rules frame_fields[] = {
	{"vlan id %u", 1},
	{"vlan pcp %u", 1},
	{"vlan dei %u", 1},
	{"ether saddr & 00:00:00:00:00:ff == 00:00:00:00:00:%02x", 1},
	{"ether daddr 01:00:5e:00:00:%02x", 1},
	{"ether type %u", 16},
	{"ip ttl %u", 2},
	{"ip6 hoplimit %u", 2},
	{"meta length %u", 4},
};

static void say_fields(FILE *f, const char *head, const struct field_rules *fields, size_t n)
{
	enum { VALUES = 100 };

	fprintf(f, "%s", head);
	for (size_t k = 0; k < n; k++) {
		bool small =
			strstr(fields[k].format, "direction") || strstr(fields[k].format, "dei");
		bool eight = strstr(fields[k].format, "pcp") || strstr(fields[k].format, "pkttype");
		bool six = strstr(fields[k].format, "dscp") || strstr(fields[k].format, "0x3f");
		unsigned most = small ? 2 : eight ? 8 : six ? 64 : VALUES;

		for (unsigned v = 0; v < most; v++) {
			fprintf(f, fields[k].format, v * fields[k].step);
			fprintf(f, " counter\n");
		}
	}
	fprintf(f, "}; };\n");
}

static char *made;

/* True: it is written, and among the rulesets. */
static bool make_ruleset(void)
{
	const char *dir = getenv("TMPDIR");
	FILE *f;
	int fd;

	if (asprintf(&made, "%s/tamis-walk-XXXXXX", dir ? dir : "/tmp") < 0)
		return false;
	fd = mkstemp(made);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return false;
	say_fields(f, "table inet f { chain c { type filter hook prerouting priority 0;\n",
		   ip_fields, ARRAY_SIZE(ip_fields));
	say_fields(f, "table bridge f { chain c { type filter hook prerouting priority 0;\n",
		   frame_fields, ARRAY_SIZE(frame_fields));
	return !fclose(f) && !vec_push(&rulesets, made);
}

static int read_input(void **state)
{
	uint64_t now = 1700000000 * SECOND, seed = SEED;

	find_in("rulesets", add_ruleset);
	find_in("rulesets-json", add_ruleset);
	find_in("pcaps", add_capture);
	if (!rulesets.n || !captures.n)
		return -1;
	if (!make_ruleset())
		return -1;
	qsort(rulesets.items, rulesets.n, sizeof(*rulesets.items), by_name);
	qsort(captures.items, captures.n, sizeof(*captures.items), by_name);
	for (size_t k = 0; k < captures.n; k++)
		read_capture(captures.items[k], &now, &seed);
	print_message("# %zu packets: the first %d of each of %zu captures\n", packets.n,
		      PACKETS_EACH, captures.n);
	return 0;
}

static int free_input(void **state)
{
	if (made)
		unlink(made);
	for (size_t k = 0; k < rulesets.n; k++)
		free(rulesets.items[k]);
	for (size_t k = 0; k < captures.n; k++)
		free(captures.items[k]);
	for (size_t k = 0; k < packets.n; k++)
		free(packets.items[k].data);
	vec_free(&rulesets);
	vec_free(&captures);
	vec_free(&packets);
	free(data_dir);
	return 0;
}

/* --- one engine ------------------------------------------------------------------------------- */

struct side {
	struct tamis *t;
	struct tamis_burst *b;
	uint32_t index[ARRAY_SIZE(names) + 1]; /* of interfaces */
	struct strbuf said;		       /* what a burst or a report said */
};

static void log_line(void *arg, const struct tamis_log *e)
{
	struct side *s = arg;

	strbuf_printf(&s->said, "log of packet %u at %llu: level %d group %d %s\n", e->packet,
		      (unsigned long long)e->time, e->level, e->group, e->line);
}

/* 0, or the error of the load. */
static int side_open(struct side *s, const char *ruleset, bool walk, bool classify, bool log)
{
	struct tamis_config config = {.seed = SEED, .walk = walk, .classify = classify};
	struct tamis_load_options options = {.now = packets.items[0].p.time};
	const char *dirs[2] = {NULL, NULL};
	char *dir = strdup(ruleset), *messages = NULL;
	int err;

	*s = (struct side){.said = STRBUF_INIT};
	assert_non_null(dir);
	*strrchr(dir, '/') = 0;
	dirs[0] = dir;
	options.include_path = dirs;
	assert_int_equal(tamis_new(&config, &s->t), 0);
	for (unsigned k = 0; k < ARRAY_SIZE(names); k++)
		assert_int_equal(tamis_interface_find(s->t, names[k], &s->index[k + 1]), 0);
	assert_int_equal(tamis_local_add(s->t, "10.0.0.0/8"), 0);
	assert_int_equal(tamis_local_add(s->t, "192.168.1.0/24"), 0);
	assert_int_equal(tamis_local_add(s->t, "fe80::/10"), 0);
	if (log)
		tamis_log_set(s->t, log_line, s);
	err = tamis_load_file(s->t, ruleset, &options, NULL, &messages);
	free(messages);
	free(dir);
	if (!err)
		assert_int_equal(tamis_burst_new(s->t, &s->b), 0);
	return err;
}

static void side_close(struct side *s)
{
	tamis_burst_free(s->b);
	tamis_free(s->t);
	strbuf_free(&s->said);
}

static void add_bytes(struct strbuf *to, const uint8_t *data, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		strbuf_printf(to, "%02x", data[k]);
}

static void side_burst(struct side *s, size_t first, unsigned n, enum tamis_path path)
{
	assert_int_equal(tamis_path_set(s->t, path), 0);
	for (unsigned i = 0; i < n; i++) {
		struct tamis_packet p = packets.items[first + i].p;

		p.iif = s->index[p.iif];
		p.oif = s->index[p.oif];
		assert_int_equal(tamis_burst_add(s->b, &p), i);
	}
	assert_int_equal(tamis_burst_run(s->b), 0);
	for (unsigned i = 0; i < n; i++) {
		const struct tamis_packet *p = &packets.items[first + i].p;
		const uint8_t *data = tamis_burst_data(s->b, i);
		struct tamis_result r;

		assert_int_equal(tamis_burst_result(s->b, i, &r), 0);
		strbuf_printf(&s->said,
			      "packet %zu: verdict %d malformed %x queue %u mark %x priority %x",
			      first + i, r.verdict, r.malformed, r.queue, r.mark, r.priority);
		if (data != p->data) {
			strbuf_printf(&s->said, " bytes ");
			add_bytes(&s->said, data, p->caplen);
		}
		strbuf_printf(&s->said, "\n");
	}
	tamis_burst_clear(s->b);
}

static int report_rule(void *arg, const struct tamis_rule *r)
{
	strbuf_printf(arg, "rule %s %s %s: %s: reached %llu matched %llu bytes %llu\n", r->family,
		      r->table, r->chain, r->text, (unsigned long long)r->reached,
		      (unsigned long long)r->matched.packets, (unsigned long long)r->matched.bytes);
	return 0;
}

static int report_chain(void *arg, const struct tamis_chain *c)
{
	strbuf_printf(arg, "chain %s %s %s: %llu packets, policy %llu\n", c->family, c->table,
		      c->chain, (unsigned long long)c->packets,
		      (unsigned long long)c->policy_packets);
	return 0;
}

static int report_set(void *arg, const struct tamis_set *s)
{
	strbuf_printf(arg,
		      "set %s %s %s: elements %llu hits %llu added %llu expired %llu full %llu\n",
		      s->family, s->table, s->set, (unsigned long long)s->elements,
		      (unsigned long long)s->hits, (unsigned long long)s->added,
		      (unsigned long long)s->expired, (unsigned long long)s->full);
	return 0;
}

static void side_report(struct side *s, struct tamis_totals *totals)
{
	uint64_t now = packets.items[packets.n - 1].p.time;
	char *listing = NULL;

	assert_int_equal(tamis_rule_each(s->t, now, report_rule, &s->said), 0);
	assert_int_equal(tamis_chain_each(s->t, report_chain, &s->said), 0);
	assert_int_equal(tamis_set_each(s->t, now, report_set, &s->said), 0);
	assert_int_equal(tamis_list(s->t, 0, now, &listing), 0);
	strbuf_printf(&s->said, "%s", listing);
	free(listing);
	*totals = (struct tamis_totals){0};
	tamis_totals_get(s->t, totals);
	strbuf_printf(&s->said, "totals ");
	add_bytes(&s->said, (const uint8_t *)totals, sizeof(*totals));
	strbuf_printf(&s->said, "\n");
}

/* --- two of them ------------------------------------------------------------------------------ */

struct tally {
	unsigned loaded, refused, chains, rules; /* chains with a classifier, rules in it */
	uint64_t accepted, dropped, log_lines, matched;
};

static int explain_chain(void *arg, const struct tamis_explained_chain *c)
{
	struct tally *all = arg;

	all->chains += c->classifier;
	all->rules += c->classifier ? c->by_fate[TAMIS_FATE_CLASSIFIER] : 0;
	return 0;
}

static int count_matched(void *arg, const struct tamis_rule *r)
{
	*(uint64_t *)arg += r->matched.packets;
	return 0;
}

/* True: both said the same, which is then forgotten. */
static bool same(struct side s[2], const char *ruleset)
{
	const char *a = strbuf_str(&s[0].said), *b = strbuf_str(&s[1].said);

	while (*a || *b) {
		int la = (int)strcspn(a, "\n"), lb = (int)strcspn(b, "\n");

		if (la != lb || memcmp(a, b, (size_t)la)) {
			print_error("%s:\none:   %.*s\nother: %.*s\n", ruleset, la, a, lb, b);
			return false;
		}
		a += la + (a[la] == '\n');
		b += lb + (b[lb] == '\n');
	}
	strbuf_truncate(&s[0].said, 0);
	strbuf_truncate(&s[1].said, 0);
	return true;
}

struct way {
	bool log;	 /* somebody hears of log lines, on both sides */
	bool walk, each; /* the second side: rule by rule, packet by packet */
	bool classify;	 /* the first: classifiers for short chains too */
};

static bool compare(struct side s[2], const char *ruleset, const struct way *way, struct tally *all)
{
	static const enum tamis_path paths[] = {
		TAMIS_PATH_AUTO,    TAMIS_PATH_INPUT,  TAMIS_PATH_INPUT, TAMIS_PATH_FORWARD,
		TAMIS_PATH_FORWARD, TAMIS_PATH_OUTPUT, TAMIS_PATH_BRIDGE};
	struct tamis_totals totals;
	uint64_t seed = SEED;
	unsigned n;

	for (size_t at = 0; at < packets.n; at += n) {
		enum tamis_path path = paths[random_next(&seed, ARRAY_SIZE(paths))];

		n = random_next(&seed, 2) ? 1 + random_next(&seed, TAMIS_BURST_MAX)
					  : TAMIS_BURST_MAX;
		n = (unsigned)MIN(n, packets.n - at);
		side_burst(&s[0], at, n, path);
		for (unsigned k = 0; k < n; k += way->each ? 1 : n)
			side_burst(&s[1], at + k, way->each ? 1 : n, path);
		for (const char *p = strbuf_str(&s[0].said); (p = strstr(p, "log of ")); p++)
			all->log_lines++;
		if (!same(s, ruleset))
			return false;
	}
	side_report(&s[1], &totals);
	side_report(&s[0], &totals);
	all->accepted += totals.by_verdict[TAMIS_ACCEPT].packets;
	all->dropped += totals.by_verdict[TAMIS_DROP].packets;
	assert_int_equal(tamis_rule_each(s[0].t, 0, count_matched, &all->matched), 0);
	return same(s, ruleset);
}

static void compare_all(struct way way)
{
	struct tamis_explain_ops ops = {.chain = explain_chain};
	struct tally all = {0};
	unsigned wrong = 0;

	for (size_t k = 0; k < rulesets.n; k++) {
		struct side s[2];
		int err = side_open(&s[0], rulesets.items[k], false, way.classify, way.log);

		assert_int_equal(side_open(&s[1], rulesets.items[k], way.walk, false, way.log),
				 err);
		if (err) {
			assert_ptr_not_equal(rulesets.items[k], made);
			all.refused++;
		} else {
			all.loaded++;
			assert_int_equal(tamis_explain(s[0].t, &ops, &all), 0);
			wrong += !compare(s, rulesets.items[k], &way, &all);
		}
		side_close(&s[0]);
		side_close(&s[1]);
	}
	print_message(
		"# %u rulesets (%u do not load): %u chains with classifiers of %u rules; %llu "
		"packets accepted, %llu dropped, %llu matches, %llu log lines\n",
		all.loaded, all.refused, all.chains, all.rules, (unsigned long long)all.accepted,
		(unsigned long long)all.dropped, (unsigned long long)all.matched,
		(unsigned long long)all.log_lines);
	assert_true(all.chains && all.accepted && all.dropped && all.matched);
	assert_int_equal(all.log_lines != 0, way.log);
	assert_int_equal(wrong, 0);
}

static void test_walk_with_log(void **state)
{
	compare_all((struct way){.log = true, .walk = true});
}

static void test_walk_in_bursts(void **state)
{
	compare_all((struct way){.walk = true});
}

static void test_short_chains(void **state)
{
	compare_all((struct way){.walk = true, .classify = true});
}

static void test_one_by_one(void **state)
{
	compare_all((struct way){.each = true});
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_with_log),
		cmocka_unit_test(test_walk_in_bursts),
		cmocka_unit_test(test_short_chains),
		cmocka_unit_test(test_one_by_one),
	};
	const char *env = getenv("TAMIS_DATA"), *root = getenv("TAMIS_SOURCE_ROOT");
	int n = env ? asprintf(&data_dir, "%s", env)
		    : asprintf(&data_dir, "%s/../shared/data", root ? root : ".");
	char *path = NULL;

	if (n < 0 || asprintf(&path, "%s/rulesets", data_dir) < 0)
		return 1;
	if (access(path, R_OK)) {
		print_message("1..0 # SKIP no rulesets at $TAMIS_DATA/rulesets\n");
		free(path);
		free(data_dir);
		return 0;
	}
	free(path);
	return cmocka_run_group_tests(tests, read_input, free_input);
}
