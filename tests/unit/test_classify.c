/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains with a classifier against the plain walk: random rulesets of long chains, random packets,
 * and changes of the rules in between. Both must give every packet the same verdict, mark and
 * bytes, and every rule, chain, set and log the same packets in the same order; in bursts too, for
 * rulesets whose answer does not depend on that.
 *
 * TAMIS_SEED and TAMIS_ROUNDS choose others.
 */
#include <stdio.h>

#include "packet_build.h"

#include "compile/compile.h"
#include "ct/ct.h"
#include "eval/eval.h"
#include "model_fixture.h"
#include "program_walk.h"

enum { PACKETS = 256, CHANGES = 4 };

static uint64_t rng_state;

static uint32_t rnd(uint32_t n)
{
	uint64_t z = rng_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

/* --- rules ---------------------------------------------------------------------------------- */

struct text {
	struct strbuf b;
	const char *family;
	bool state; /* statements that read what others write */
	bool order; /* statements that depend on which packet comes first */
};

#define SAY(t, ...) strbuf_printf(&(t)->b, __VA_ARGS__)
#define PICK(...)                                                                                  \
	({                                                                                         \
		static const char *const pick_[] = {__VA_ARGS__};                                  \
		pick_[rnd(ARRAY_SIZE(pick_))];                                                     \
	})

static bool is(const struct text *t, const char *family)
{
	return !strcmp(t->family, family);
}

static void say_address4(struct text *t)
{
	switch (rnd(5)) {
	case 0:
		SAY(t, "10.0.%u.%u-10.0.%u.%u ", rnd(2), rnd(8), 2 + rnd(2), rnd(8));
		break;
	case 1: {
		unsigned len = 20 + rnd(12);

		SAY(t, "%u.0.0.0/%u ", 10, len < 24 ? len : 24);
		break;
	}
	case 2:
		SAY(t, "10.0.%u.%u/30 ", rnd(4), rnd(2) * 4);
		break;
	default:
		SAY(t, "10.0.%u.%u ", rnd(4), rnd(8));
		break;
	}
}

static void say_address6(struct text *t)
{
	switch (rnd(4)) {
	case 0:
		SAY(t, "fd00::%x-fd00::%x ", rnd(8), 8 + rnd(8));
		break;
	case 1:
		SAY(t, "fd00::%x/126 ", rnd(4) * 4);
		break;
	default:
		SAY(t, "fd00::%x ", rnd(16));
		break;
	}
}

static void say_match(struct text *t)
{
	const char *not = chance(15) ? "!= " : "", *end = chance(50) ? "s" : "d";

	switch (rnd(t->state ? 26 : 22)) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (is(t, "ip6"))
			goto v6;
		SAY(t, "ip %saddr %s", end, not );
		say_address4(t);
		break;
	case 4:
	case 5:
		if (is(t, "ip"))
			break;
	v6:
		SAY(t, "ip6 %saddr %s", end, not );
		say_address6(t);
		break;
	case 6:
	case 7:
		SAY(t, "%s %sport %s%u ", PICK("tcp", "udp"), end, not, 1 + rnd(8));
		break;
	case 8:
		SAY(t, "%s %sport %s%u-%u ", PICK("tcp", "udp"), end, not, 1 + rnd(4), 5 + rnd(4));
		break;
	case 9:
		SAY(t, "tcp dport { %u, %u, %u-%u } ", 1 + rnd(2), 3 + rnd(2), 6, 7 + rnd(3));
		break;
	case 10:
		if (is(t, "ip6"))
			break;
		SAY(t, "ip saddr { 10.0.0.%u, 10.0.1.%u, 10.0.2.0/%u } ", rnd(8), rnd(8),
		    24 + rnd(8));
		break;
	case 11:
		SAY(t, "meta l4proto %s ", PICK("tcp", "udp", "{ tcp, udp }", "icmp", "47"));
		break;
	case 12:
		SAY(t, "tcp flags %s ",
		    PICK("syn", "{ syn, ack }", "syn,ack", "& (fin|syn) == syn", "!= syn",
			 "& (syn|ack) != 0", "! rst"));
		break;
	case 13:
		SAY(t, "%s ",
		    is(t, "ip6")  ? "icmpv6 type echo-request"
		    : is(t, "ip") ? "icmp type echo-request"
				  : PICK("icmp type echo-request", "icmpv6 type 0-128"));
		break;
	case 14:
		SAY(t, "meta mark %s%s ", not,
		    PICK("1", "2", "0x10/28", "{ 1, 2, 3 }", "1-3", "& 3 == 1"));
		break;
	case 15:
		SAY(t, "%s ", PICK("iif 1", "iif { 1, 2 }", "meta pkttype host", "oif != 1"));
		break;
	case 16:
		SAY(t, "th dport %u ", 1 + rnd(4));
		break;
	case 17:
		if (is(t, "ip6"))
			break;
		SAY(t, "ip saddr . %s dport { 10.0.0.%u . %u, 10.0.1.0/24 . %u-%u } ",
		    PICK("tcp", "udp"), rnd(8), rnd(8), 1 + rnd(3), 4 + rnd(4));
		break;
	case 18:
		if (!is(t, "ip6"))
			SAY(t, "ip protocol %s ", PICK("tcp", "icmp", "!= udp"));
		break;
	case 19:
		if (is(t, "inet"))
			SAY(t, "meta nfproto %s ", PICK("ipv4", "ipv6", "!= ipv4"));
		else if (is(t, "netdev") || is(t, "bridge"))
			SAY(t, "ether type %s ", PICK("ip", "ip6", "arp", "!= ip"));
		break;
	case 20:
		if (!is(t, "ip6"))
			SAY(t, "ip saddr @%s ", PICK("plain", "counted"));
		break;
	case 21:
		if (t->order)
			SAY(t, "numgen random mod 3 %u ", rnd(3));
		break;
	case 22:
		if (!is(t, "netdev"))
			SAY(t, "ct state %s ",
			    PICK("new", "established,related", "{ new, established }", "invalid"));
		break;
	case 23:
		if (!is(t, "netdev"))
			SAY(t, "ct mark %u ", rnd(3));
		break;
	case 24:
		SAY(t, "limit rate %u/second ", 1 + rnd(20));
		break;
	default:
		SAY(t, "quota until %u bytes ", 100 + rnd(5000));
		break;
	}
}

static void say_statement(struct text *t)
{
	switch (rnd(t->state ? 10 : 7)) {
	case 0:
	case 1:
		SAY(t, "counter ");
		break;
	case 2:
		SAY(t, "meta mark set %s ", PICK("1", "2", "3", "meta mark | 1", "0x11"));
		break;
	case 3:
		SAY(t, "log prefix \"%u\" ", rnd(100));
		break;
	case 4:
		if (is(t, "ip") || is(t, "inet"))
			SAY(t, "ip daddr set 10.0.%u.%u ", rnd(4), rnd(8));
		break;
	case 5:
		SAY(t, "%s dport set %u ", PICK("tcp", "udp"), 1 + rnd(8));
		break;
	case 6:
		if (t->order)
			SAY(t, "last ");
		break;
	case 7:
		if (!is(t, "netdev"))
			SAY(t, "ct mark set %u ", rnd(3));
		break;
	case 8:
		if (!is(t, "ip6"))
			SAY(t, "add @seen { ip saddr } ");
		break;
	default:
		if (!is(t, "ip6"))
			SAY(t, "ip daddr @seen ");
		break;
	}
}

/* `chain`: its number; only chains with higher ones are jumped to. */
static void say_rule(struct text *t, unsigned chain)
{
	unsigned n = rnd(4);

	if (chance(90))
		n++;
	for (unsigned k = 0; k < n; k++)
		say_match(t);
	if (chance(40))
		say_statement(t);
	switch (rnd(10)) {
	case 0:
	case 1:
		SAY(t, "accept");
		break;
	case 2:
	case 3:
		SAY(t, "drop");
		break;
	case 4:
		SAY(t, "return");
		break;
	case 5:
	case 6:
		if (chain < 2)
			SAY(t, "%s c%u", PICK("jump", "goto"), chain + 1 + rnd(2 - chain));
		else
			SAY(t, "continue");
		break;
	case 7:
		if (chain < 2)
			SAY(t, "%s dport vmap { 1 : accept, 2 : jump c2, 3-5 : drop }",
			    PICK("tcp", "udp"));
		else
			SAY(t, "counter");
		break;
	default:
		SAY(t, "counter");
		break;
	}
	SAY(t, "\n");
}

/* A table without rules. */
static void say_ruleset(struct text *t)
{
	static const char *const families[] = {"ip", "inet", "inet", "ip6", "bridge", "netdev"};

	t->family = families[rnd(ARRAY_SIZE(families))];
	SAY(t, "table %s t {\n", t->family);
	if (!is(t, "ip6"))
		SAY(t,
		    "set plain { type ipv4_addr; elements = { 10.0.0.1, 10.0.1.2, 10.0.2.3 }; }\n"
		    "set counted { type ipv4_addr; counter; elements = { 10.0.0.2, 10.0.1.1 }; }\n"
		    "set seen { type ipv4_addr; flags dynamic; size 20; }\n");
	for (unsigned k = 3; k--;)
		SAY(t, "chain c%u { }\n", k);
	if (is(t, "netdev"))
		SAY(t, "chain b { type filter hook ingress device \"lo\" priority 0; }\n");
	else
		SAY(t, "chain b { type filter hook forward priority 0; }\n");
	SAY(t, "}\n");
}

/* --- two worlds ----------------------------------------------------------------------------- */

struct world {
	struct fixture f;
	struct compile *c;
	struct eval *ev;
	struct ct_table *ct;
	struct burst burst;
	uint8_t copies[BURST_MAX][512];
	struct strbuf logs;
	bool walk, exact;
};

static void note(void *arg, const struct compile_note *n)
{
	(void)arg;
	(void)n;
}

static void world_init(struct world *w, bool walk, bool exact)
{
	struct compile_config config = {NULL, note};
	struct ct_config flows;

	ct_config_default(&flows);
	assert_int_equal(fixture_init(&w->f), 0);
	assert_int_equal(compile_new(&config, &w->c), 0);
	assert_int_equal(eval_new(1, &w->ev), 0);
	assert_int_equal(ct_table_new(&flows, &w->ct), 0);
	w->walk = walk;
	w->exact = exact;
}

static void world_free(struct world *w)
{
	eval_free(w->ev);
	compile_free(w->c);
	ct_table_free(w->ct);
	fixture_free(&w->f);
	strbuf_free(&w->logs);
}

/* False: the text is refused. */
static bool world_load(struct world *w, const char *text)
{
	if (fixture_load(&w->f, text, FIXTURE_OPEN))
		return false;
	if (chance(5)) {
		assert_int_equal(compile_build(w->c, w->f.m), 0);
		compile_abort(w->c);
	}
	assert_int_equal(compile_build(w->c, w->f.m), 0);
	compile_publish(w->c);
	compile_settle(w->c);
	model_commit(w->f.m);
	return true;
}

static uint8_t *writable(void *arg, const struct burst *b, unsigned i)
{
	struct world *w = arg;

	if (b->data[i] != w->copies[i])
		memcpy(w->copies[i], b->data[i], b->caplen[i]);
	return w->copies[i];
}

static void logged(void *arg, const struct eval_place *at, const struct prog_log *log)
{
	struct world *w = arg;

	strbuf_printf(&w->logs, "%u %s %u\n", at->packet, log->prefix, (unsigned)at->rule->handle);
}

static void world_run(struct world *w, const struct packet *packets, const uint64_t *times,
		      unsigned n, struct eval_result *out)
{
	static const uint8_t path[BURST_MAX] = {[0 ... BURST_MAX - 1] = EVAL_PATH_FORWARD};
	static const uint8_t bridged[BURST_MAX] = {[0 ... BURST_MAX - 1] = EVAL_PATH_BRIDGE};
	static const char names[][PROG_NAME_LEN] = {"lo", "eth0", "eth1"};
	struct eval_ops ops = {.arg = w, .writable = writable, .log = logged};
	struct model_table *t = container_of(model_tables(w->f.m)->next, struct model_table, link);
	struct eval_input in = {.root = compile_root(w->c),
				.burst = &w->burst,
				.path = t->family == FAMILY_BRIDGE ? bridged : path,
				.ct = w->ct,
				.devices = {.n = ARRAY_SIZE(names), .names = names},
				.ops = &ops,
				.exact = w->exact,
				.walk = w->walk,
				.mask = n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1};

	w->burst.n = n;
	for (unsigned i = 0; i < n; i++) {
		w->burst.data[i] = packets[i].b;
		w->burst.caplen[i] = w->burst.len[i] = packets[i].n;
		w->burst.time[i] = times[i];
		w->burst.link[i] = LINK_EN10MB;
		w->burst.iif[i] = t->family == FAMILY_NETDEV ? 1 : 1 + packets[i].b[5] % 3;
		w->burst.oif[i] = 1 + packets[i].b[4] % 3;
	}
	burst_parse(&w->burst);
	for (unsigned i = 0; i < n; i++)
		w->burst.mark[i] = packets[i].b[3] % 4;
	eval_run(w->ev, &in, out);
}

/* --- packets -------------------------------------------------------------------------------- */

static void random_packet(struct packet *p)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 47};
	static const uint8_t flags[] = {2, 18, 16, 17, 4, 0, 24, 41};
	unsigned proto = protos[rnd(8)];
	uint32_t type = chance(30) ? 0x86dd : 0x0800, at;

	p->n = 0;
	put_ether(p, (uint16_t)(chance(4) ? 0x0806 : type));
	if (type == 0x86dd) {
		ip6_begin(p, (uint8_t)proto);
		be32_store(p->b + p->nh + 8, 0xfd000000);
		be32_store(p->b + p->nh + 24, 0xfd000000);
		for (unsigned k = 4; k < 12; k++)
			p->b[p->nh + 8 + k] = p->b[p->nh + 24 + k] = 0;
		be32_store(p->b + p->nh + 20, rnd(16));
		be32_store(p->b + p->nh + 36, rnd(16));
	} else {
		ip4_begin(p, (uint8_t)proto,
			  chance(10) ? (uint16_t)(chance(50) ? 0x2000 : rnd(9)) : 0, NULL, 0);
		be32_store(p->b + p->nh + 12, 0x0a000000 + (rnd(4) << 8) + rnd(8));
		be32_store(p->b + p->nh + 16, 0x0a000000 + (rnd(4) << 8) + rnd(8));
	}
	at = p->n;
	if (proto == 6) {
		put_tcp(p, flags[rnd(8)], NULL, 0);
	} else if (proto == 17) {
		put_udp(p, 12);
		put32(p, rnd(1000));
	} else {
		put8(p, (uint8_t)(rnd(2) * 8 + rnd(2) * 120));
		put8(p, (uint8_t)rnd(8));
		put32(p, rnd(9));
		put16(p, 0);
	}
	if (proto == 6 || proto == 17) {
		be16_store(p->b + at, (uint16_t)(1 + rnd(9)));
		be16_store(p->b + at + 2, (uint16_t)(1 + rnd(9)));
	}
	if (chance(5))
		p->n = p->nh + 20 + rnd(12); /* cut */
	if (type == 0x86dd)
		ip6_end(p);
	else
		ip4_end(p);
	if (chance(3))
		p->b[p->nh] ^= 0x12; /* a version or header length that is none */
	for (unsigned k = 3; k < 6; k++)
		p->b[k] = (uint8_t)rnd(256);
}

/* --- comparison ----------------------------------------------------------------------------- */

#define SAME(x, y, what)                                                                           \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			fail_msg("%s: %llu, walked %llu (%s, exact %d)\n%s", what,                 \
				 (unsigned long long)(x), (unsigned long long)(y), at, a->exact,   \
				 fixture_listing(&((struct world *)a)->f));                        \
	} while (0)

static void compare_rules(const struct world *a, const struct world *b)
{
	static const char *const chains[] = {"c0", "c1", "c2", "b"};
	const struct model_table *t =
		container_of(model_tables(a->f.m)->next, struct model_table, link);
	const struct model_table *u =
		container_of(model_tables(b->f.m)->next, struct model_table, link);
	char at[64];

	for (unsigned k = 0; k < ARRAY_SIZE(chains); k++) {
		const struct program *p = compile_program(model_chain_find(t, chains[k]));
		const struct program *q = compile_program(model_chain_find(u, chains[k]));
		const struct prog_rule *s = q->first;

		snprintf(at, sizeof(at), "chain %s", chains[k]);
		SAME(p->stats->packets, q->stats->packets, "entered");
		SAME(p->stats->policy_packets, q->stats->policy_packets, "policy");
		SAME(program_entered(p), program_entered(q), "entered since");
		for (const struct prog_rule *r = p->first; r; r = r->next, s = s->next) {
			snprintf(at, sizeof(at), "chain %s rule %u", chains[k],
				 (unsigned)r->handle);
			SAME(r->stats->packets, s->stats->packets, "packets");
			SAME(r->stats->bytes, s->stats->bytes, "bytes");
			SAME(program_left(p, r), program_left(q, s), "left");
		}
		assert_null(s);
	}
}

static void compare_sets(const struct world *a, const struct world *b)
{
	char *x = fixture_listing(&((struct world *)a)->f);
	char *y = fixture_listing(&((struct world *)b)->f);

	assert_string_equal(x, y); /* with the states of rules and elements */
	free(x);
	free(y);
}

static void compare_packets(const struct world *a, const struct world *b,
			    const struct eval_result *x, const struct eval_result *y)
{
	char at[32];

	for (unsigned i = 0; i < a->burst.n; i++) {
		snprintf(at, sizeof(at), "packet %u", i);
		SAME(x->accepted >> i & 1, y->accepted >> i & 1, "accepted");
		SAME(x->dropped >> i & 1, y->dropped >> i & 1, "dropped");
		SAME(a->burst.mark[i], b->burst.mark[i], "mark");
		SAME(x->rule[i] ? x->rule[i]->handle : 0, y->rule[i] ? y->rule[i]->handle : 0,
		     "deciding rule");
		SAME(memcmp(a->burst.data[i], b->burst.data[i], a->burst.caplen[i]), 0, "bytes");
	}
}

static void change(struct world *w, struct text *t, unsigned n)
{
	static const char *const chains[] = {"c0", "c1", "c2", "b"};
	const struct model_table *table =
		container_of(model_tables(w->f.m)->next, struct model_table, link);

	strbuf_truncate(&t->b, 0);
	for (unsigned k = 0; k < n; k++) {
		unsigned chain = rnd(4);
		const struct program *p = compile_program(model_chain_find(table, chains[chain]));
		const struct prog_rule *r = program_rule(p, rnd(1 + program_length(p)));
		char before[32] = "";

		if (r && chance(30)) {
			if (!k)
				SAY(t, "delete rule %s t %s handle %u\n", t->family, chains[chain],
				    (unsigned)r->handle);
			continue;
		}
		if (r && chance(60))
			snprintf(before, sizeof(before), "handle %u ", (unsigned)r->handle);
		SAY(t, "%s rule %s t %s %s", chance(50) ? "add" : "insert", t->family,
		    chains[chain], k ? "" : before);
		say_rule(t, chain == 3 ? 0 : chain);
	}
}

/* Loads rules one by one, so that those which the language does not have are left out. */
static void grow(struct world *a, struct world *b, struct text *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		uint64_t before = rng_state;

		change(a, t, 1);
		before = rng_state;
		if (!world_load(a, strbuf_str(&t->b)))
			continue;
		rng_state = before;
		assert_true(world_load(b, strbuf_str(&t->b)));
	}
}

static void round_run(uint64_t seed, bool state, bool exact)
{
	static struct packet packets[PACKETS];
	static uint64_t times[PACKETS];
	struct world *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct text t = {.b = STRBUF_INIT, .state = state};
	struct eval_result x, y;
	uint64_t now = UINT64_C(1000000000000);

	assert_non_null(a);
	assert_non_null(b);
	rng_state = seed * 1000;
	world_init(a, false, exact);
	world_init(b, true, exact);
	t.order = chance(30);
	say_ruleset(&t);
	if (!world_load(a, strbuf_str(&t.b)))
		fail_msg("%s\n%s", a->f.messages, strbuf_str(&t.b));
	assert_true(world_load(b, strbuf_str(&t.b)));
	grow(a, b, &t, 100 + rnd(400));
	for (unsigned k = 0; k < CHANGES; k++) {
		for (unsigned i = 0; i < PACKETS; i++) {
			random_packet(&packets[i]);
			now += rnd(100) * UINT64_C(1000000);
			times[i] = now;
		}
		for (unsigned i = 0; i < PACKETS;) {
			unsigned n = chance(50) ? 64 : 1 + rnd(64);

			n = MIN(n, PACKETS - i);

			world_run(a, packets + i, times + i, n, &x);
			world_run(b, packets + i, times + i, n, &y);
			compare_packets(a, b, &x, &y);
			i += n;
		}
		compare_rules(a, b);
		if (a->logs.len || b->logs.len) {
			if (exact || compile_root(a->c)->exact || compile_root(a->c)->ordered)
				assert_string_equal(strbuf_str(&a->logs), strbuf_str(&b->logs));
			assert_int_equal(a->logs.len, b->logs.len);
		}
		a->f.now = b->f.now = now;
		compare_sets(a, b);
		grow(a, b, &t, 1 + rnd(20));
	}
	world_free(a);
	world_free(b);
	strbuf_free(&t.b);
	free(a);
	free(b);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void test_one_by_one(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = number_of("TAMIS_ROUNDS", 60);

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, true, true);
}

static void test_bursts(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = number_of("TAMIS_ROUNDS", 60);

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, k % 8 == 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
