/* SPDX-License-Identifier: Apache-2.0 */
/* The public API as a caller sees it: transactions, bursts, counts, traces, logs, listings. */
#include "packet_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tamis/tamis.h>

#include "engine/engine.h"

enum { SECOND = 1000000000 };

/* UDP from 192.0.2.1:5353 to 198.51.100.2:53, without a link header. */
static struct packet udp4(void)
{
	struct packet p = {0};

	ip4_begin(&p, 17, 0, NULL, 0);
	put_udp(&p, 8);
	ip4_end(&p);
	return p;
}

static struct tamis *engine(const char *rules)
{
	struct tamis *t;
	char *messages;

	assert_int_equal(tamis_new(NULL, &t), 0);
	if (rules && tamis_load_text(t, "test", rules, strlen(rules), NULL, NULL, &messages))
		fail_msg("%s", messages);
	else if (rules)
		assert_null(messages);
	return t;
}

/* Gives the burst one packet at `time` and returns its verdict. */
static enum tamis_verdict judge(struct tamis_burst *b, const struct packet *p, uint64_t time)
{
	struct tamis_packet in = {
		.data = p->b, .caplen = p->n, .len = p->n, .time = time, .link = TAMIS_LINK_RAW};
	struct tamis_result r;

	tamis_burst_clear(b);
	assert_int_equal(tamis_burst_add(b, &in), 0);
	for (int v = 0; v < TAMIS_VERDICTS; v++)
		assert_int_equal(tamis_burst_mask(b, (enum tamis_verdict)v), 0);
	assert_int_equal(tamis_burst_result(b, 0, &r), -EINVAL);
	assert_int_equal(tamis_burst_run(b), 0);
	assert_int_equal(tamis_burst_result(b, 0, &r), 0);
	assert_int_equal(tamis_burst_mask(b, r.verdict), 1);
	return r.verdict;
}

static enum tamis_verdict judge_once(struct tamis *t, const struct packet *p, uint64_t time)
{
	struct tamis_burst *b;
	enum tamis_verdict v;

	assert_int_equal(tamis_burst_new(t, &b), 0);
	v = judge(b, p, time);
	tamis_burst_free(b);
	return v;
}

static char *listing(struct tamis *t, unsigned flags)
{
	char *text = NULL;

	assert_int_equal(tamis_list(t, flags, 0, &text), 0);
	assert_non_null(text);
	return text;
}

static void empty(void **state)
{
	struct tamis *t = engine(NULL);
	struct packet p = udp4();
	struct tamis_totals totals;
	char *text = listing(t, 0);

	assert_string_equal(text, "");
	free(text);
	assert_int_equal(judge_once(t, &p, 0), TAMIS_ACCEPT);
	tamis_totals_get(t, &totals);
	assert_int_equal(totals.all.packets, 1);
	assert_int_equal(totals.all.bytes, 28);
	assert_int_equal(totals.by_verdict[TAMIS_ACCEPT].packets, 1);
	assert_int_equal(strspn(tamis_version(), "0123456789."), strlen(tamis_version()));
	tamis_free(t);
	tamis_free(NULL);
	tamis_burst_free(NULL);
}

/* What fails leaves no trace, neither in the listing nor in what runs. */
static void load_is_one_transaction(void **state)
{
	static const char good[] = "table ip f { chain c { type filter hook forward priority 0; "
				   "policy accept; udp dport 53 drop; }; }";
	static const char bad[] =
		"flush ruleset\n"
		"table ip g { chain c { type filter hook forward priority 0; }; }\n"
		"add rule ip g nowhere accept\n";
	struct tamis *t = engine(good);
	struct packet p = udp4();
	char *before = listing(t, 0), *after, *output = (char *)1, *messages = NULL;

	assert_int_equal(judge_once(t, &p, 0), TAMIS_DROP);
	assert_int_equal(tamis_load_text(t, "bad.nft", bad, strlen(bad), NULL, &output, &messages),
			 -EINVAL);
	assert_null(output);
	assert_non_null(messages);
	assert_ptr_equal(strstr(messages, "bad.nft:3:"), messages);
	free(messages);
	after = listing(t, 0);
	assert_string_equal(before, after);
	assert_int_equal(judge_once(t, &p, 0), TAMIS_DROP);
	free(before);
	free(after);
	assert_int_equal(tamis_load_text(t, NULL, "delete table ip f", 17, NULL, NULL, NULL), 0);
	assert_int_equal(judge_once(t, &p, 0), TAMIS_ACCEPT);
	tamis_free(t);
}

static void load_file(void **state)
{
	struct tamis *t = engine(NULL);
	char path[] = "/tmp/test_engine.XXXXXX", *messages = (char *)1, *output = NULL;
	int fd = mkstemp(path);
	const char *const defines[] = {"port=53", NULL};
	struct tamis_load_options options = {.defines = defines};
	FILE *f = fdopen(fd, "w");

	assert_non_null(f);
	fputs("table ip f { chain c { udp dport $port drop; }; }\nlist table ip f\n", f);
	fclose(f);
	assert_int_equal(tamis_load_file(t, "no/such/file", NULL, NULL, &messages), -ENOENT);
	assert_null(messages);
	assert_int_equal(tamis_load_file(t, path, NULL, NULL, &messages), -EINVAL);
	assert_non_null(strstr(messages, "port"));
	free(messages);
	assert_int_equal(tamis_load_file(t, path, &options, &output, &messages), 0);
	assert_null(messages);
	assert_string_equal(output, "table ip f {\n\tchain c {\n\t\tudp dport 53 drop\n\t}\n}\n");
	free(output);
	unlink(path);
	tamis_free(t);
}

/* Text, its JSON and the JSON's text are one ruleset. */
static void listings(void **state)
{
	static const char rules[] =
		"table inet f {\n"
		"\tset s {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { 10.0.0.0/8 "
		"}\n\t}\n\n"
		"\tchain c {\n\t\ttype filter hook input priority filter; policy drop;\n"
		"\t\tip saddr @s tcp dport 22 counter packets 0 bytes 0 accept\n\t}\n}\n";
	struct tamis *t = engine(rules), *u = engine(NULL);
	char *text = listing(t, 0), *json = listing(t, TAMIS_LIST_JSON), *again, *messages = NULL;

	assert_string_equal(text, rules);
	assert_int_equal(json[strlen(json) - 1], '\n');
	assert_ptr_equal(strchr(json, '\n'), json + strlen(json) - 1);
	assert_int_equal(tamis_load_text(u, "json", json, strlen(json), NULL, NULL, &messages), 0);
	again = listing(u, 0);
	assert_string_equal(again, rules);
	free(again);
	again = listing(u, TAMIS_LIST_TERSE | TAMIS_LIST_STATELESS | TAMIS_LIST_HANDLES);
	assert_null(strstr(again, "10.0.0.0"));
	assert_null(strstr(again, "packets"));
	assert_non_null(strstr(again, "# handle"));
	free(again);
	again = (char *)1;
	assert_int_equal(tamis_list(u, 1U << 20, 0, &again), -EINVAL);
	assert_ptr_equal(again, (char *)1);
	free(text);
	free(json);
	free(messages);
	tamis_free(t);
	tamis_free(u);
}

static void burst_limits(void **state)
{
	struct tamis *t = engine(NULL);
	struct packet p = udp4();
	struct tamis_packet in = {.data = p.b, .caplen = p.n, .len = p.n, .link = TAMIS_LINK_RAW};
	struct tamis_result r;
	struct tamis_burst *b;

	assert_int_equal(tamis_burst_new(t, &b), 0);
	assert_int_equal(tamis_burst_run(b), 0);
	assert_int_equal(tamis_burst_result(b, 0, &r), -EINVAL);
	assert_null(tamis_burst_data(b, 0));
	in.len = p.n - 1;
	assert_int_equal(tamis_burst_add(b, &in), -EINVAL);
	in.len = p.n;
	in.link = (enum tamis_link)77;
	assert_int_equal(tamis_burst_add(b, &in), -EINVAL);
	in.link = TAMIS_LINK_RAW;
	for (int i = 0; i < TAMIS_BURST_MAX; i++)
		assert_int_equal(tamis_burst_add(b, &in), i);
	assert_int_equal(tamis_burst_add(b, &in), -ENOBUFS);
	assert_int_equal(tamis_burst_run(b), 0);
	assert_true(tamis_burst_mask(b, TAMIS_ACCEPT) == UINT64_MAX);
	assert_true(tamis_burst_mask(b, TAMIS_DROP) == 0);
	assert_ptr_equal(tamis_burst_data(b, 63), p.b);
	tamis_burst_free(b);
	tamis_free(t);
}

/* Sums up what the walks tell. */
struct seen {
	unsigned n;
	uint64_t packets, reached, policy, hits, elements, added, expired;
	char text[256];
};

static int see_rule(void *arg, const struct tamis_rule *r)
{
	struct seen *s = arg;

	s->n++;
	s->packets += r->matched.packets;
	s->reached += r->reached;
	snprintf(s->text, sizeof(s->text), "%s %s %s %llu %s", r->family, r->table, r->chain,
		 (unsigned long long)r->handle, r->text);
	return 0;
}

static int see_chain(void *arg, const struct tamis_chain *c)
{
	struct seen *s = arg;

	s->n++;
	s->packets += c->packets;
	s->policy += c->policy_packets;
	snprintf(s->text, sizeof(s->text), "%s %s %s %u %s", c->family, c->table, c->chain,
		 c->n_rules, c->head ? c->head : "-");
	return 0;
}

static int see_set(void *arg, const struct tamis_set *x)
{
	struct seen *s = arg;

	s->n++;
	s->hits += x->hits;
	s->elements += x->elements;
	s->added += x->added;
	s->expired += x->expired;
	snprintf(s->text, sizeof(s->text), "%s %s %s", x->family, x->table, x->set);
	return 0;
}

static void verdicts(void **state)
{
	struct packet p = udp4();
	static const struct {
		const char *statement;
		enum tamis_verdict verdict;
		unsigned queue;
	} cases[] = {
		{"accept", TAMIS_ACCEPT, 0},
		{"drop", TAMIS_DROP, 0},
		{"reject", TAMIS_REJECT, 0},
		{"queue num 7", TAMIS_QUEUE, 7},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		char rules[200];
		struct tamis *t;
		struct tamis_burst *b;
		struct tamis_result r;
		struct tamis_totals totals;

		snprintf(rules, sizeof(rules),
			 "table ip f { chain c { type filter hook forward priority 0; "
			 "meta mark set 5; %s; }; }",
			 cases[i].statement);
		t = engine(rules);
		assert_int_equal(tamis_burst_new(t, &b), 0);
		assert_int_equal(judge(b, &p, 0), cases[i].verdict);
		assert_int_equal(tamis_burst_result(b, 0, &r), 0);
		assert_int_equal(r.mark, 5);
		assert_int_equal(r.queue, cases[i].queue);
		tamis_totals_get(t, &totals);
		assert_int_equal(totals.by_verdict[cases[i].verdict].packets, 1);
		tamis_burst_free(b);
		tamis_free(t);
	}
}

/* A rule that writes gets a copy; the caller's bytes stay as they were. */
/* A translation's chain sees the first packet of a flow, whether or not it translates, and whether
 * or not the others come in the same burst. */
static void nat_chain_in_a_burst(void **state)
{
	struct tamis *t = engine("table ip t {\n chain n {\n"
				 "  type nat hook prerouting priority dstnat;\n"
				 "  udp dport 53 counter\n }\n}\n");
	struct packet p = udp4();
	struct tamis_packet in = {.data = p.b, .caplen = p.n, .len = p.n, .link = TAMIS_LINK_RAW};
	struct seen rules = {0};
	struct tamis_burst *b;

	assert_int_equal(tamis_burst_new(t, &b), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tamis_burst_add(b, &in), i);
	assert_int_equal(tamis_burst_run(b), 0);
	assert_int_equal(tamis_burst_mask(b, TAMIS_ACCEPT), 7);
	assert_int_equal(tamis_rule_each(t, 0, see_rule, &rules), 0);
	assert_int_equal(rules.packets, 1);
	tamis_burst_free(b);
	tamis_free(t);
}

/* Over what a segment is, and what it is in the middle of a datagram. */
static struct packet tcp_part(bool ipv6, unsigned off8, bool more, uint16_t port)
{
	struct packet p = {0};

	if (ipv6) {
		ip6_begin(&p, 44);
		put8(&p, 6);
		put8(&p, 0);
		put16(&p, (uint16_t)(off8 << 3 | more));
		put32(&p, 77);
	} else {
		ip4_begin(&p, 6, (uint16_t)(more << 13 | off8), NULL, 0);
	}
	put_tcp(&p, 2, NULL, 0);
	be16_store(p.b + p.n - 18, port);
	if (ipv6)
		ip6_end(&p);
	else
		ip4_end(&p);
	return p;
}

/* Ports are those of a datagram's first part, whatever stands at that place in the others; with a
 * classifier and without. */
static void ports_of_fragments(void **state)
{
	static const char rules[] =
		"table inet t {\n chain c {\n  type filter hook input priority 0; policy drop;\n"
		"  tcp dport 22 drop\n  tcp dport 23 drop\n  tcp dport 25 drop\n"
		"  tcp dport 110 drop\n  tcp dport 143 drop\n  tcp sport 22 drop\n"
		"  udp dport 53 drop\n  tcp dport 8000-8999 drop\n  th dport 22 drop\n"
		"  tcp dport 80 reject\n  accept\n }\n}\n";
	static const struct {
		unsigned off8;
		bool more;
		uint16_t port;
		enum tamis_verdict want;
	} cases[] = {
		{0, false, 22, TAMIS_DROP}, /* whole; of IPv6 an atomic fragment */
		{0, false, 80, TAMIS_REJECT}, {0, false, 443, TAMIS_ACCEPT},
		{0, true, 22, TAMIS_DROP},    {0, true, 80, TAMIS_REJECT},
		{0, true, 443, TAMIS_ACCEPT}, {4, true, 22, TAMIS_ACCEPT},
		{4, true, 80, TAMIS_ACCEPT},  {8, false, 22, TAMIS_ACCEPT},
		{8, false, 80, TAMIS_ACCEPT}, {8191, false, 22, TAMIS_ACCEPT},
	};

	for (unsigned walk = 0; walk < 2; walk++) {
		struct tamis_config config = {.walk = walk};
		struct tamis *t;

		assert_int_equal(tamis_new(&config, &t), 0);
		assert_int_equal(tamis_load_text(t, "test", rules, strlen(rules), NULL, NULL, NULL),
				 0);
		assert_int_equal(tamis_path_set(t, TAMIS_PATH_INPUT), 0);
		for (unsigned k = 0; k < 2 * ARRAY_SIZE(cases); k++) {
			struct packet p = tcp_part(k % 2, cases[k / 2].off8, cases[k / 2].more,
						   cases[k / 2].port);

			if (judge_once(t, &p, 0) != cases[k / 2].want)
				fail_msg("IPv%d, case %u", k % 2 ? 6 : 4, k / 2);
		}
		tamis_free(t);
	}
}

/* Accepted by one base chain of a hook, and dropped by a later one: dropped. */
static void later_chain_drops(void **state)
{
	struct tamis *t = engine("table ip a {\n chain c {\n"
				 "  type filter hook input priority 0; policy drop;\n"
				 "  udp dport 53 accept\n }\n}\n"
				 "table inet b {\n chain c {\n"
				 "  type filter hook input priority 10; policy accept;\n"
				 "  udp dport 53 drop\n }\n}\n");
	struct packet p = udp4();
	struct seen rules = {0};

	assert_int_equal(tamis_path_set(t, TAMIS_PATH_INPUT), 0);
	assert_int_equal(judge_once(t, &p, 0), TAMIS_DROP);
	assert_int_equal(tamis_rule_each(t, 0, see_rule, &rules), 0);
	assert_int_equal(rules.packets, 2);
	tamis_free(t);
}

static void rewrite(void **state)
{
	struct tamis *t = engine("table ip f { chain c { type filter hook forward priority 0; "
				 "ip ttl set 9; }; }");
	struct packet p = udp4(), before = p;
	struct tamis_burst *b;
	const uint8_t *data;

	assert_int_equal(tamis_burst_new(t, &b), 0);
	assert_int_equal(judge(b, &p, 0), TAMIS_ACCEPT);
	data = tamis_burst_data(b, 0);
	assert_ptr_not_equal(data, p.b);
	assert_int_equal(data[8], 9);
	assert_memory_equal(&p, &before, sizeof(p));
	assert_memory_equal(data + 12, p.b + 12, 8);
	tamis_burst_free(b);
	tamis_free(t);
}

static void paths(void **state)
{
	static const char rules[] =
		"table inet f {\n"
		" chain i { type filter hook input priority 0; iifname \"eth7\" mark set 1; }\n"
		" chain f { type filter hook forward priority 0; iifname \"eth7\" mark set 2; }\n"
		" chain o { type filter hook output priority 0; oifname \"eth7\" mark set 3; }\n"
		"}\n"
		"table bridge f { chain f { type filter hook forward priority 0; mark set 4; }; "
		"}\n";
	static const struct {
		enum tamis_path path;
		const char *local;
		uint32_t mark;
	} cases[] = {
		{TAMIS_PATH_INPUT, NULL, 1},
		{TAMIS_PATH_FORWARD, NULL, 2},
		{TAMIS_PATH_OUTPUT, NULL, 3},
		{TAMIS_PATH_BRIDGE, NULL, 4},
		{TAMIS_PATH_AUTO, NULL, 2},
		{TAMIS_PATH_AUTO, "198.51.100.2", 1},
		{TAMIS_PATH_AUTO, "192.0.2.0/24", 3},
		{TAMIS_PATH_AUTO, "0.0.0.0/0", 1},
		{TAMIS_PATH_FORWARD, "192.0.2.0/24", 2},
	};
	struct packet p = udp4();

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tamis *t = engine(rules);
		struct tamis_packet in = {
			.data = p.b, .caplen = p.n, .len = p.n, .link = TAMIS_LINK_RAW};
		struct tamis_result r;
		struct tamis_burst *b;

		assert_int_equal(tamis_path_set(t, cases[i].path), 0);
		if (cases[i].local)
			assert_int_equal(tamis_local_add(t, cases[i].local), 0);
		assert_int_equal(tamis_interface_find(t, "eth7", &in.dev), 0);
		assert_int_equal(tamis_burst_new(t, &b), 0);
		assert_int_equal(tamis_burst_add(b, &in), 0);
		assert_int_equal(tamis_burst_run(b), 0);
		assert_int_equal(tamis_burst_result(b, 0, &r), 0);
		assert_int_equal(r.mark, cases[i].mark);
		tamis_burst_free(b);
		assert_int_equal(tamis_path_set(t, (enum tamis_path)9), -EINVAL);
		tamis_free(t);
	}
}

static int stop(void *arg, const struct tamis_rule *r)
{
	return ++*(int *)arg == 2 ? 42 : 0;
}

static void reports(void **state)
{
	struct tamis *t = engine("table ip f {\n"
				 " set s { type ipv4_addr; flags dynamic,timeout; timeout 5s; }\n"
				 " chain c { type filter hook forward priority 0; policy drop;\n"
				 "  ip saddr @s counter accept\n"
				 "  udp dport 53 add @s { ip saddr }\n"
				 "  tcp dport 22 accept\n"
				 " }\n}\n");
	struct packet p = udp4();
	struct seen rules = {0}, chains = {0}, sets = {0};
	int calls = 0;

	assert_int_equal(judge_once(t, &p, 1 * SECOND), TAMIS_DROP);
	assert_int_equal(judge_once(t, &p, 2 * (uint64_t)SECOND), TAMIS_ACCEPT);
	assert_int_equal(judge_once(t, &p, 6 * (uint64_t)SECOND), TAMIS_DROP); /* expired at 6 s */
	assert_int_equal(tamis_rule_each(t, 0, see_rule, &rules), 0);
	assert_int_equal(rules.n, 3);
	assert_int_equal(rules.packets, 3);
	assert_int_equal(rules.reached, 3 + 2 + 2);
	assert_string_equal(rules.text, "ip f c 5 tcp dport 22 accept");
	assert_int_equal(tamis_rule_each(t, 0, stop, &calls), 42);
	assert_int_equal(calls, 2);
	assert_int_equal(tamis_chain_each(t, see_chain, &chains), 0);
	assert_int_equal(chains.packets, 3);
	assert_int_equal(chains.policy, 2);
	assert_string_equal(chains.text, "ip f c 3 type filter hook forward priority filter; "
					 "policy drop;");
	assert_int_equal(tamis_set_each(t, 7 * (uint64_t)SECOND, see_set, &sets), 0);
	assert_int_equal(sets.n, 1);
	assert_int_equal(sets.hits, 1);
	assert_int_equal(sets.added, 2);
	assert_int_equal(sets.expired, 1);
	assert_int_equal(sets.elements, 1);
	sets = (struct seen){0};
	assert_int_equal(tamis_set_each(t, 11 * (uint64_t)SECOND, see_set, &sets), 0);
	assert_int_equal(sets.elements, 0);
	assert_int_equal(sets.expired, 2);
	tamis_free(t);
}

struct told {
	char text[2048];
	size_t len;
};

static void tell(struct told *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->len += (size_t)vsnprintf(t->text + t->len, sizeof(t->text) - t->len, fmt, ap);
	va_end(ap);
	assert_true(t->len < sizeof(t->text));
}

static void on_trace(void *arg, const struct tamis_trace *e)
{
	static const char *const kinds[] = {"packet", "rule", "return", "policy", "log"};

	tell(arg, "%u %s %s|%s|%s\n", e->packet, kinds[e->kind], e->chain,
	     e->kind == TAMIS_TRACE_PACKET ? ""
	     : e->text			   ? e->text
					   : "-",
	     e->verdict ? e->verdict : "-");
}

static void on_log(void *arg, const struct tamis_log *e)
{
	tell(arg, "%u %llu %d %d %.8s\n", e->packet, (unsigned long long)e->time, e->level,
	     e->group, e->line);
}

static void traces_and_logs(void **state)
{
	struct tamis *t = engine("table ip f {\n"
				 " chain sub { udp dport 53 log prefix \"p\" level info; }\n"
				 " chain c { type filter hook forward priority 0; policy drop;\n"
				 "  ip protocol udp jump sub; }; }\n");
	struct packet p = udp4();
	struct tamis_packet in = {
		.data = p.b, .caplen = p.n, .len = p.n, .time = 7, .link = TAMIS_LINK_RAW};
	struct told trace = {0}, log = {0};
	struct tamis_burst *b;

	tamis_trace_set(t, on_trace, &trace);
	tamis_log_set(t, on_log, &log);
	assert_int_equal(tamis_burst_new(t, &b), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tamis_burst_add(b, &in), i);
	tamis_burst_trace(b, 2);
	assert_int_equal(tamis_burst_run(b), 0);
	assert_string_equal(trace.text,
			    "1 packet c||-\n"
			    "1 rule c|ip protocol udp jump sub|jump sub\n"
			    "1 log sub|pIN= OUT= SRC=192.0.2.1 DST=198.51.100.2 LEN=28 TOS=0x00 "
			    "PREC=0x00 TTL=64 ID=4660 PROTO=UDP SPT=5353 DPT=53 LEN=8|-\n"
			    "1 rule sub|udp dport 53 log prefix \"p\" level info|continue\n"
			    "1 return sub|-|return\n"
			    "1 return c|-|continue\n"
			    "1 policy c|-|drop\n");
	assert_string_equal(log.text, "0 7 6 -1 pIN= OUT\n1 7 6 -1 pIN= OUT\n2 7 6 -1 pIN= OUT\n");
	tamis_burst_free(b);
	tamis_free(t);
}

/* Two engines in one process share nothing. */
static void engines_are_separate(void **state)
{
	struct tamis *t = engine("table ip f { chain c { type filter hook forward priority 0; "
				 "policy drop; }; }");
	struct tamis *u = engine(NULL);
	struct packet p = udp4();
	uint32_t a, b;

	assert_int_equal(tamis_interface_find(t, "first", &a), 0);
	assert_int_equal(tamis_interface_find(t, "x0", &a), 0);
	assert_int_equal(tamis_interface_find(u, "x0", &b), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(judge_once(t, &p, 0), TAMIS_DROP);
	assert_int_equal(judge_once(u, &p, 0), TAMIS_ACCEPT);
	tamis_free(t);
	assert_int_equal(judge_once(u, &p, 0), TAMIS_ACCEPT);
	tamis_free(u);
}

static void not_evaluated_is_told_once(void **state)
{
	static const char rules[] = "table ip f { chain c { type filter hook forward priority 0; "
				    "fib saddr oif missing drop; fib daddr type local accept; }; }";
	struct tamis *t = engine(NULL);
	char *messages = NULL;

	assert_int_equal(tamis_load_text(t, "x", rules, strlen(rules), NULL, NULL, &messages), 0);
	assert_non_null(messages);
	assert_string_equal(messages,
			    "Warning: 'fib' is not evaluated, a rule with it never matches\n"
			    "Warning: 'fib type' is not evaluated without local prefixes, a "
			    "rule with it never matches\n");
	free(messages);
	assert_int_equal(tamis_load_text(t, "x", "add rule ip f c fib saddr oif missing drop", 42,
					 NULL, NULL, &messages),
			 0);
	assert_null(messages);
	tamis_free(t);
}

/* Elements whose time has come are freed within gc-interval, or a tenth of a second. */
static void expired_elements_go_in_time(void **state)
{
	static const char *const sets[] = {"gc-interval 40ms; ", ""};
	static const uint64_t late[] = {SECOND / 25, SECOND / 10};
	enum { N = 1000, STEP = SECOND / 100 };
	struct packet p = udp4();

	for (unsigned k = 0; k < ARRAY_SIZE(sets); k++) {
		struct strbuf text = STRBUF_INIT;
		struct tamis_burst *b;
		uint64_t now = 0;

		strbuf_printf(&text,
			      "table ip t { set s { type ipv4_addr; timeout 1m; %selements = { ",
			      sets[k]);
		for (unsigned i = 0; i < N; i++)
			strbuf_printf(&text, "10.0.%u.%u timeout %ums, ", i >> 8, i & 255, i + 1);
		strbuf_puts(&text, "}; }; }");
		struct tamis *t = engine(strbuf_str(&text));
		const struct list *timed = model_timed_sets(t->model);
		const struct set *s = container_of(timed->next, struct model_set, timed)->set;

		assert_int_equal(tamis_burst_new(t, &b), 0);
		assert_true(set_next_due(s) <= STEP);
		while (now <= SECOND + late[k]) {
			now += STEP;
			judge(b, &p, now);
			if (now >= late[k] && set_next_due(s) <= now - late[k])
				fail_msg("%s: at %ju one of %ju", sets[k], now, set_next_due(s));
		}
		assert_int_equal(set_next_due(s), UINT64_MAX);
		tamis_burst_free(b);
		tamis_free(t);
		strbuf_free(&text);
	}
}

static void test_local_texts(void **state)
{
	static const char *const wrong[] = {
		"",	  "x",	       "10.0.0.0/33",	    "10.0.0.0/", "10.0.0", "10.0.0.0/-1",
		"::/129", "fe80::%lo", "10.0.0.1-10.0.0.2", "10.0.0.01", " ::1",   "10.0.0.0/8 "};
	struct tamis *t;

	(void)state;
	assert_int_equal(tamis_new(NULL, &t), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(tamis_local_add(t, wrong[i]), -EINVAL);
	for (unsigned i = 0; i < TAMIS_LOCAL_MAX; i++)
		assert_int_equal(tamis_local_add(t, i & 1 ? "10.0.0.1/8" : "::/0"), 0);
	assert_int_equal(tamis_local_add(t, "192.0.2.1"), -ENOSPC);
	tamis_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_texts),
		cmocka_unit_test(empty),
		cmocka_unit_test(load_is_one_transaction),
		cmocka_unit_test(load_file),
		cmocka_unit_test(listings),
		cmocka_unit_test(burst_limits),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(nat_chain_in_a_burst),
		cmocka_unit_test(ports_of_fragments),
		cmocka_unit_test(later_chain_drops),
		cmocka_unit_test(rewrite),
		cmocka_unit_test(paths),
		cmocka_unit_test(reports),
		cmocka_unit_test(traces_and_logs),
		cmocka_unit_test(engines_are_separate),
		cmocka_unit_test(not_evaluated_is_told_once),
		cmocka_unit_test(expired_elements_go_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
