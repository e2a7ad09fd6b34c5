/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random rulesets over random packets: what compile and eval say equals the naive reading, packet
 * by packet: verdicts, marks, hits of every rule, elements of every dynamic set. Rulesets without
 * state are also run in bursts. Seeds are fixed; TAMIS_SEED gives another one, TAMIS_ROUNDS more
 * rounds.
 */
#include <stdio.h>

#include "packet_build.h"

#include "compile/compile.h"
#include "eval/eval.h"
#include "eval_reference.h"
#include "model_fixture.h"

enum { PACKETS = 192, MAX_RULES = REF_RULES };

static uint64_t rng_state;

static uint32_t rnd(uint32_t n)
{
	rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((rng_state >> 33) * n >> 31);
}

static bool chance(uint32_t percent)
{
	return rnd(100) < percent;
}

/* --- rulesets ------------------------------------------------------------------------------- */

struct text {
	struct strbuf b;
	bool state;	 /* the rules have memory */
	unsigned l3, l4; /* what the present rule is about already, 0: nothing */
};

/* nft refuses rules whose matches contradict each other: whether one more may be said. */
static bool may(struct text *t, unsigned l3, unsigned l4)
{
	if ((l3 && t->l3 && l3 != t->l3) || (l4 && t->l4 && l4 != t->l4))
		return false;
	t->l3 = l3 ? l3 : t->l3;
	t->l4 = l4 ? l4 : t->l4;
	return true;
}

#define SAY(t, ...) strbuf_printf(&(t)->b, __VA_ARGS__)

static unsigned port(void)
{
	static const unsigned ports[] = {22, 53, 80, 443, 1024, 5353, 8080, 65535};

	return chance(80) ? ports[rnd(8)] : rnd(65536);
}

static unsigned host(void)
{
	return rnd(12) + 1;
}

/* A set's elements: ports alone, ranges, or both. */
static void say_ports(struct text *t)
{
	unsigned n = rnd(4) + 1, at = rnd(100);

	SAY(t, "{ ");
	for (unsigned k = 0; k < n; k++) {
		if (chance(50))
			SAY(t, "%u, ", at + port() % 1000);
		else
			SAY(t, "%u-%u, ", at, at + 10 + rnd(400));
		at += 2000 + rnd(9000);
	}
	SAY(t, "65535 }");
}

static void say_compare(struct text *t)
{
	static const char *const ops[] = {"", "", "!= ", "< ", "> ", "<= ", ">= "};

	SAY(t, "%s", ops[rnd(7)]);
}

static void say_not(struct text *t)
{
	if (chance(30))
		SAY(t, "!= ");
}

static void say_flags(struct text *t)
{
	static const char *const forms[] = {
		"tcp flags syn",
		"tcp flags syn,ack",
		"tcp flags == syn",
		"tcp flags != syn",
		"tcp flags & (syn | ack) == syn",
		"tcp flags & (fin | syn | rst | ack) != ack",
		"tcp flags { syn, ack, syn | ack }",
		"tcp flags ! fin,rst",
		"tcp flags syn / syn,ack",
	};

	SAY(t, "%s ", forms[rnd(9)]);
}

static void say_match(struct text *t)
{
	static const uint8_t about[26][2] = {
		{4}, {4}, {4}, {4}, {0, 6}, {0}, {0, 6}, {0, 6}, {0, 6}, {0, 99}, {4, 1}, {4}, {6},
		{6}, {0}, {0}, {0}, {4, 6}, {4}, {4},	 {4},	 {0},	 {0, 6},  {0},	  {0}, {4}};
	unsigned a, b, k = rnd(26);

	if (!may(t, about[k][0], about[k][1]))
		return;

	switch (k) {
	case 0:
		SAY(t, "ip saddr ");
		say_not(t);
		SAY(t, "10.0.0.%u ", host());
		break;
	case 1:
		SAY(t, "ip daddr ");
		say_not(t);
		SAY(t, "10.0.0.%u/%u ", rnd(2) * 8, 28 + rnd(4));
		break;
	case 2:
		a = host();
		SAY(t, "ip saddr ");
		say_not(t);
		SAY(t, "10.0.0.%u-10.0.0.%u ", a, a + rnd(5) + 1);
		break;
	case 3:
		SAY(t, "ip saddr ");
		say_not(t);
		SAY(t, "{ 10.0.0.1, 10.0.0.4/30, 10.0.0.%u } ", 9 + rnd(4));
		break;
	case 4:
		SAY(t, "tcp dport ");
		say_compare(t);
		SAY(t, "%u ", port());
		break;
	case 5:
		SAY(t, "%s ", may(t, 0, 17) ? "udp dport" : "th sport");
		say_not(t);
		say_ports(t);
		SAY(t, " ");
		break;
	case 6:
		a = port();
		SAY(t, "tcp dport ");
		say_not(t);
		SAY(t, "%u-%u ", a / 2, MIN(a + 1, 65535u));
		break;
	case 7:
	case 8:
		say_flags(t);
		break;
	case 9:
		SAY(t, "meta l4proto ");
		say_not(t);
		SAY(t, "%s ", chance(50) ? "{ tcp, udp }" : "icmp");
		break;
	case 10:
		SAY(t, "icmp type %s ", chance(50) ? "echo-request" : "{ echo-reply, 3 }");
		break;
	case 11:
		SAY(t, "ip ttl ");
		say_compare(t);
		SAY(t, "%u ", 62 + rnd(4));
		break;
	case 12:
		SAY(t, "ip6 saddr ");
		say_not(t);
		SAY(t, "2001:db8::%x/%u ", rnd(2) * 8, 124 + rnd(5));
		break;
	case 13:
		SAY(t, "ip6 daddr { 2001:db8::1, 2001:db8::4-2001:db8::6 } ");
		break;
	case 14:
		a = rnd(4);
		SAY(t, "meta mark & 0x%x %s 0x%x ", a + 3, chance(50) ? "==" : "!=", rnd(a + 4));
		break;
	case 15:
		SAY(t, "meta mark ");
		say_compare(t);
		SAY(t, "%u ", rnd(8));
		break;
	case 16:
		SAY(t, "meta length ");
		say_compare(t);
		SAY(t, "%u ", 28 + rnd(40));
		break;
	case 17:
		SAY(t, "ip saddr . tcp dport ");
		say_not(t);
		a = host();
		SAY(t, "{ 10.0.0.%u . %u, 10.0.0.%u . %u } ", a, port(), a + 1, port());
		break;
	case 18:
		SAY(t, "ip saddr . th dport { 10.0.0.0/30 . %u-%u, 10.0.0.8-10.0.0.12 . 53 } ",
		    port() / 2, 40000 + rnd(20000));
		break;
	case 19:
		SAY(t, "ip frag-off & 0x1fff %s 0 ", chance(50) ? "==" : "!=");
		break;
	case 20:
		a = chance(50);
		SAY(t, a ? "ip saddr @hosts " : "ip daddr != @hosts ");
		break;
	case 21:
		SAY(t, "th dport %s@ranges ", chance(30) ? "!= " : "");
		break;
	case 22:
		b = rnd(3);
		SAY(t, b == 0	? "tcp option maxseg size > 1400 "
		       : b == 1 ? "tcp option timestamp exists "
				: "tcp option sack-perm missing ");
		break;
	case 23:
		SAY(t, "@th,%u,%u %s %u ", 8 * rnd(4), 4 + rnd(20),
		    chance(70) ? "!=" : "==", rnd(16));
		break;
	case 24:
		SAY(t, "vlan id %s%u ", chance(30) ? "!= " : "", rnd(3) + 1);
		break;
	default:
		SAY(t, "ip dscp %s ", chance(50) ? "cs1" : "{ 1-9, 46 }");
		break;
	}
}

static void say_state(struct text *t)
{
	if (!t->state)
		return;
	switch (may(t, 4, 0) ? rnd(8) : rnd(3)) {
	case 0:
		SAY(t, "ct state %s ", chance(50) ? "new" : "established,related");
		break;
	case 1:
		SAY(t, "ct state %s{ new, established } ", chance(50) ? "!= " : "");
		break;
	case 2:
		SAY(t, "limit rate %s%u/second burst %u packets ", chance(30) ? "over " : "",
		    rnd(20) + 1, rnd(5) + 1);
		break;
	case 3:
		SAY(t, "add @seen { ip saddr } ");
		break;
	case 4:
		SAY(t, "update @recent { ip saddr . th dport timeout %us } ", rnd(4) + 1);
		break;
	case 5:
		SAY(t, chance(50) ? "ip saddr @seen " : "ip saddr . th dport @recent ");
		break;
	case 6:
		SAY(t, "ct mark set %u ", rnd(4));
		break;
	default:
		SAY(t, chance(50) ? "delete @seen { ip daddr } " : "ct mark 2 ");
		break;
	}
}

static void say_effect(struct text *t)
{
	switch (may(t, 4, 0) ? rnd(8) : rnd(5)) {
	case 0:
		SAY(t, "counter ");
		break;
	case 1:
		SAY(t, "meta mark set %u ", rnd(8));
		break;
	case 2:
		SAY(t, "meta mark set meta mark | 0x%x ", 1u << rnd(4));
		break;
	case 3:
		SAY(t, "meta mark set meta mark & 0x%x ", rnd(16));
		break;
	case 4:
		SAY(t, "meta mark set th dport map { 22 : 1, 53 : 2, 80-443 : 3 } ");
		break;
	case 5:
		SAY(t, "meta mark set ip saddr map @marks ");
		break;
	default:
		break;
	}
}

/* Chains c0 to c5 jump forward only. */
static void say_verdict(struct text *t, unsigned chain, bool base)
{
	unsigned to = chain + 1 + rnd(6 - chain);
	bool more = chain < 5;

	if (to > 5)
		to = 5;
	switch (rnd(12)) {
	case 0:
	case 1:
		SAY(t, "accept");
		break;
	case 2:
		SAY(t, "drop");
		break;
	case 3:
		SAY(t, base ? "reject" : "return");
		break;
	case 4:
		SAY(t, "return");
		break;
	case 5:
	case 6:
		if (more)
			SAY(t, "jump c%u", to);
		break;
	case 7:
		if (more)
			SAY(t, "goto c%u", to);
		break;
	case 8:
		if (more)
			SAY(t,
			    "th dport vmap { 22 : drop, 53 : jump c%u, 80-443 : accept, 1024 : "
			    "return, "
			    "5353 : continue, * : goto c%u }",
			    to, to);
		break;
	case 9:
		if (more && may(t, 4, 0))
			SAY(t, "ip saddr vmap @verdicts");
		break;
	default:
		break;
	}
}

static void say_rules(struct text *t, unsigned chain, bool base)
{
	unsigned n = rnd(6) + 1;

	for (unsigned k = 0; k < n; k++) {
		size_t before;

		SAY(t, "\t\t");
		before = t->b.len;
		t->l3 = t->l4 = 0;
		for (unsigned m = rnd(3); m--;)
			say_match(t);
		if (chance(40))
			say_state(t);
		say_effect(t);
		say_verdict(t, chain, base);
		if (t->b.len == before)
			SAY(t, "counter");
		SAY(t, "\n");
	}
}

static void say_ruleset(struct text *t)
{
	static const struct {
		const char *hook;
		int priority;
	} bases[] = {{"prerouting", -300},
		     {"prerouting", -150},
		     {"input", -10},
		     {"input", 0},
		     {"input", 0}};

	SAY(t, "table inet t {\n");
	SAY(t,
	    "\tset hosts { type ipv4_addr; flags interval; elements = { 10.0.0.2, 10.0.0.4/30, "
	    "10.0.0.10-10.0.0.%u }; }\n",
	    11 + rnd(4));
	SAY(t,
	    "\tset ranges { type inet_service; flags interval; elements = { 22, 50-99, "
	    "1000-%u }; }\n",
	    1025 + rnd(9000));
	SAY(t, "\tmap marks { type ipv4_addr : mark; elements = { 10.0.0.1 : 5, 10.0.0.2 : 6, "
	       "10.0.0.3 : 7 }; }\n");
	if (t->state)
		SAY(t,
		    "\tset seen { type ipv4_addr; flags dynamic; size %u; }\n"
		    "\tset recent { type ipv4_addr . inet_service; flags dynamic,timeout; timeout "
		    "3s; size 9; }\n",
		    rnd(8) + 1);
	for (unsigned k = 6; k--;) {
		SAY(t, "\tchain c%u {\n", k);
		say_rules(t, k, false);
		SAY(t, "\t}\n");
		if (k == 5)
			SAY(t, "\tmap verdicts { type ipv4_addr : verdict; flags interval; "
			       "elements = { "
			       "10.0.0.1 : drop, 10.0.0.2-10.0.0.5 : goto c5, 10.0.0.6/31 : jump "
			       "c5, 10.0.0.9 : accept }; }\n");
	}
	for (unsigned k = 0; k < ARRAY_SIZE(bases); k++) {
		if (chance(30))
			continue;
		SAY(t, "\tchain b%u {\n\t\ttype filter hook %s priority %d; policy %s;\n", k,
		    bases[k].hook, bases[k].priority, chance(60) ? "accept" : "drop");
		say_rules(t, 0, k > 1);
		SAY(t, "\t}\n");
	}
	SAY(t, "}\n");
}

/* --- packets -------------------------------------------------------------------------------- */

static void say_l4(struct packet *p, unsigned proto)
{
	static const uint8_t mss[] = {2, 4, 5, 180, 4, 2, 1, 1},
			     stamps[] = {1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8};
	static const uint8_t flags[] = {2, 18, 16, 17, 4, 0, 24, 41};
	uint32_t at = p->n;

	switch (proto) {
	case 6:
		if (chance(30))
			put_tcp(p, flags[rnd(8)], mss, sizeof(mss));
		else if (chance(30))
			put_tcp(p, flags[rnd(8)], stamps, sizeof(stamps));
		else
			put_tcp(p, flags[rnd(8)], NULL, 0);
		break;
	case 17:
		put_udp(p, 12);
		put32(p, rnd(1000));
		break;
	default:
		put8(p, (uint8_t)(rnd(4) * 4));
		put8(p, 0);
		put16(p, 0);
		put32(p, rnd(3));
		return;
	}
	be16_store(p->b + at, (uint16_t)port());
	be16_store(p->b + at + 2, (uint16_t)port());
}

static void random_packet(struct packet *p)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 47};
	unsigned proto = protos[rnd(8)];
	bool v6 = chance(25);

	p->n = 0;
	put_ether(p, v6 ? 0x86dd : 0x0800);
	if (chance(15)) {
		p->n -= 2;
		put16(p, 0x8100);
		put16(p, (uint16_t)(rnd(4) << 13 | (rnd(4) + 1)));
		put16(p, v6 ? 0x86dd : 0x0800);
	}
	if (v6) {
		ip6_begin(p, (uint8_t)proto);
		p->b[p->nh + 23] = (uint8_t)host();
		p->b[p->nh + 39] = (uint8_t)host();
		say_l4(p, proto);
		ip6_end(p);
		return;
	}
	ip4_begin(p, (uint8_t)proto, chance(10) ? (uint16_t)(chance(50) ? 0x2000 : rnd(9)) : 0,
		  NULL, 0);
	be32_store(p->b + p->nh + 12, 0x0a000000 + host());
	be32_store(p->b + p->nh + 16, 0x0a000000 + host());
	p->b[p->nh + 8] = (uint8_t)(62 + rnd(4));
	p->b[p->nh + 1] = (uint8_t)(rnd(12) << 2);
	say_l4(p, proto);
	if (chance(5)) /* cut, or with bytes behind it */
		p->n = p->nh + 20 + rnd(8);
	ip4_end(p);
	if (chance(3))
		p->b[p->nh + 10] ^= 0x55;
}

/* --- the comparison -------------------------------------------------------------------------- */

struct round {
	struct text text;
	struct packet packets[PACKETS];
	uint64_t times[PACKETS];
	enum ref_result want[PACKETS];
	uint32_t want_mark[PACKETS];
	struct fixture reference, subject;
	struct reference ref;
};

static struct ct_table *flows_new(void)
{
	struct ct_config config;
	struct ct_table *t;

	ct_config_default(&config);
	config.timeout_ns[CT_TIMEOUT_UDP_UNREPLIED] = 500000000;
	assert_int_equal(ct_table_new(&config, &t), 0);
	return t;
}

static void packets_make(struct round *r)
{
	uint64_t now = UINT64_C(1000000000000);

	for (unsigned i = 0; i < PACKETS; i++) {
		random_packet(&r->packets[i]);
		now += rnd(100) * UINT64_C(1000000);
		r->times[i] = now;
	}
}

static void load_or_fail(struct fixture *f, const char *text)
{
	assert_int_equal(fixture_init(f), 0);
	if (fixture_load(f, text, FIXTURE_COMMIT))
		fail_msg("%s\n%s", f->messages, text);
}

static void burst_load(struct burst *b, const struct round *r, unsigned from, unsigned n)
{
	b->n = n;
	for (unsigned i = 0; i < n; i++) {
		b->data[i] = r->packets[from + i].b;
		b->caplen[i] = b->len[i] = r->packets[from + i].n;
		b->time[i] = r->times[from + i];
		b->link[i] = LINK_EN10MB;
		b->iif[i] = b->oif[i] = 0;
	}
	burst_parse(b);
}

static void reference_run(struct round *r)
{
	static struct burst b;

	r->ref = (struct reference){.m = r->reference.m, .ct = flows_new()};
	for (unsigned i = 0; i < PACKETS; i++) {
		burst_load(&b, r, i, 1);
		r->want[i] = ref_packet(&r->ref, &b);
		r->want_mark[i] = b.mark[0];
	}
	ct_table_free(r->ref.ct);
}

static enum ref_result result_of(const struct eval_result *out, unsigned i)
{
	if (out->accepted >> i & 1)
		return REF_ACCEPT;
	if (out->rejected >> i & 1)
		return REF_REJECT;
	assert_true(out->dropped >> i & 1);
	return REF_DROP;
}

/* Every rule of the two models, side by side. */
static void hits_compare(struct round *r, uint64_t times)
{
	const struct list *t = model_tables(r->subject.m)->next;
	const struct list *u = model_tables(r->reference.m)->next;
	const struct model_table *table = container_of(t, struct model_table, link);
	const struct list *chain = table->chains.next;
	const struct list *other = container_of(u, struct model_table, link)->chains.next;

	for (; chain != &table->chains; chain = chain->next, other = other->next) {
		const struct model_chain *mc = container_of(chain, struct model_chain, link);
		const struct model_chain *oc = container_of(other, struct model_chain, link);
		const struct program *p = compile_program(mc);
		const struct list *rule = oc->rules.next;
		const struct prog_rule *made = p->first;

		for (uint32_t k = 0; k < mc->n_rules; k++, rule = rule->next, made = made->next) {
			const struct prog_rule_stats *s = made->stats;
			struct ref_hits want = {0};

			for (unsigned h = 0; h < r->ref.n_hits; h++)
				if (r->ref.hits[h].rule ==
				    container_of(rule, struct model_rule, link))
					want = r->ref.hits[h];
			if (s->packets != want.packets * times || s->bytes != want.bytes * times)
				fail_msg("chain %s rule %u: %lu packets, want %lu\n%s", mc->name, k,
					 (unsigned long)s->packets,
					 (unsigned long)(want.packets * times), r->text.b.data);
		}
		assert_null(made);
	}
}

static void subject_run(struct round *r, const struct compile *c, struct eval *ev, bool exact)
{
	static struct burst b;
	static uint8_t path[BURST_MAX];
	struct eval_result out;
	struct eval_input in = {.root = compile_root(c),
				.burst = &b,
				.path = path,
				.ct = flows_new(),
				.exact = exact};

	for (unsigned from = 0; from < PACKETS; from += BURST_MAX) {
		unsigned n = MIN(PACKETS - from, (unsigned)BURST_MAX);

		burst_load(&b, r, from, n);
		in.mask = n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
		eval_run(ev, &in, &out);
		for (unsigned i = 0; i < n; i++)
			if (result_of(&out, i) != r->want[from + i] ||
			    b.mark[i] != r->want_mark[from + i])
				fail_msg("packet %u: %d mark %u, want %d mark %u (exact %d)\n%s",
					 from + i, result_of(&out, i), b.mark[i], r->want[from + i],
					 r->want_mark[from + i], exact, r->text.b.data);
	}
	ct_table_free(in.ct);
}

static void sets_compare(struct round *r)
{
	static const char *const names[] = {"seen", "recent"};

	for (unsigned k = 0; k < 2; k++) {
		const struct model_table *a = model_table_find(r->subject.m, FAMILY_INET, "t");
		const struct model_table *b = model_table_find(r->reference.m, FAMILY_INET, "t");
		uint64_t now = r->times[PACKETS - 1];

		assert_int_equal(set_count(model_set_find(a, names[k])->set, now),
				 set_count(model_set_find(b, names[k])->set, now));
	}
}

static void round_run(uint64_t seed, bool state)
{
	struct round *r = calloc(1, sizeof(*r));
	struct compile *c;
	struct eval *ev;

	assert_non_null(r);
	rng_state = seed;
	r->text.state = state;
	say_ruleset(&r->text);
	packets_make(r);
	load_or_fail(&r->reference, r->text.b.data);
	load_or_fail(&r->subject, r->text.b.data);
	reference_run(r);

	assert_int_equal(compile_new(NULL, &c), 0);
	assert_int_equal(compile_build(c, r->subject.m), 0);
	compile_publish(c);
	compile_settle(c);
	assert_int_equal(eval_new(1, &ev), 0);
	subject_run(r, c, ev, true);
	hits_compare(r, 1);
	if (state) {
		sets_compare(r);
	} else {
		assert_false(compile_root(c)->exact);
		subject_run(r, c, ev, false);
		hits_compare(r, 2);
	}
	eval_free(ev);
	compile_free(c);
	fixture_free(&r->reference);
	fixture_free(&r->subject);
	strbuf_free(&r->text.b);
	free(r);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void test_stateless(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = number_of("TAMIS_ROUNDS", 150);

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, false);
}

static void test_with_state(void **state)
{
	uint64_t seed = number_of("TAMIS_SEED", 1), rounds = number_of("TAMIS_ROUNDS", 150);

	(void)state;
	for (uint64_t k = 0; k < rounds; k++)
		round_run(seed + k, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stateless),
		cmocka_unit_test(test_with_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
