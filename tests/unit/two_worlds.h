/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_worlds: one ruleset twice, with classifiers and walked rule by rule, and packets for both.
 *
 * What a packet meets must be the same: verdict, mark and bytes, and what every rule, chain, set
 * and log saw of it, in the same order. Random numbers come from rng_state, which the test seeds.
 */
#ifndef TAMIS_TEST_TWO_WORLDS_H
#define TAMIS_TEST_TWO_WORLDS_H

#include <stdio.h>

#include "packet_build.h"

#include "compile/compile.h"
#include "ct/ct.h"
#include "eval/eval.h"
#include "model_fixture.h"
#include "program_walk.h"

static uint64_t rng_state;

static inline uint32_t rnd(uint32_t n)
{
	uint64_t z = rng_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static inline bool chance(uint32_t percent)
{
	return rnd(100) < percent;
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
	bool walk, classify, exact;
};

static inline void note(void *arg, const struct compile_note *n)
{
	(void)arg;
	(void)n;
}

static inline void world_init(struct world *w, bool walk, bool exact)
{
	bool classify = !walk && chance(50);
	struct compile_config config = {NULL, note, classify};
	struct ct_config flows;

	ct_config_default(&flows);
	assert_int_equal(fixture_init(&w->f), 0);
	assert_int_equal(compile_new(&config, &w->c), 0);
	assert_int_equal(eval_new(1, &w->ev), 0);
	assert_int_equal(ct_table_new(&flows, &w->ct), 0);
	w->walk = walk;
	w->classify = classify;
	w->exact = exact;
}

static inline void world_free(struct world *w)
{
	eval_free(w->ev);
	compile_free(w->c);
	ct_table_free(w->ct);
	fixture_free(&w->f);
	strbuf_free(&w->logs);
}

/* False: the text is refused. */
static inline bool world_load(struct world *w, const char *text)
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

static inline uint8_t *writable(void *arg, const struct burst *b, unsigned i)
{
	struct world *w = arg;

	if (b->data[i] != w->copies[i])
		memcpy(w->copies[i], b->data[i], b->caplen[i]);
	return w->copies[i];
}

static inline void logged(void *arg, const struct eval_place *at, const struct prog_log *log)
{
	struct world *w = arg;

	strbuf_printf(&w->logs, "%u %s %u\n", at->packet, log->prefix, (unsigned)at->rule->handle);
}

static inline void world_run(struct world *w, const struct packet *packets, const uint64_t *times,
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
				.classify = w->classify,
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

static inline void random_packet(struct packet *p)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 47};
	static const uint8_t flags[] = {2, 18, 16, 17, 4, 0, 24, 41};
	unsigned proto = protos[rnd(8)];
	uint32_t type = chance(30) ? 0x86dd : 0x0800, at;

	p->n = 0;
	put_ether(p, (uint16_t)(chance(20) ? 0x8100 : chance(4) ? 0x0806 : type));
	if (be16_load(p->b + 12) == 0x8100) {
		put16(p, (uint16_t)(rnd(8) << 13 | rnd(2) << 12 | rnd(8)));
		put16(p, (uint16_t)type);
	}
	p->b[11] = (uint8_t)rnd(8);
	if (type == 0x86dd) {
		bool fragment = chance(15);

		ip6_begin(p, fragment ? 44 : (uint8_t)proto);
		be16_store(p->b + p->nh, (uint16_t)(0x6000 | rnd(8) << 6));
		p->b[p->nh + 7] = (uint8_t)(60 + rnd(8));
		be32_store(p->b + p->nh + 8, 0xfd000000);
		be32_store(p->b + p->nh + 24, 0xfd000000);
		for (unsigned k = 4; k < 12; k++)
			p->b[p->nh + 8 + k] = p->b[p->nh + 24 + k] = 0;
		be32_store(p->b + p->nh + 20, rnd(16));
		be32_store(p->b + p->nh + 36, rnd(16));
		if (fragment) {
			put8(p, (uint8_t)proto);
			put8(p, 0);
			put16(p, (uint16_t)(rnd(4) << 3 | rnd(2)));
			put32(p, 7);
		}
	} else {
		ip4_begin(p, (uint8_t)proto,
			  chance(10) ? (uint16_t)(chance(50) ? 0x2000 : rnd(9)) : 0, NULL, 0);
		p->b[p->nh + 1] = (uint8_t)(rnd(8) << 2);
		p->b[p->nh + 8] = (uint8_t)(60 + rnd(8));
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
		p->b[k] = (uint8_t)rnd(12);
}

/* --- comparison ----------------------------------------------------------------------------- */

#define SAME(x, y, what)                                                                           \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			fail_msg("%s: %llu, walked %llu (%s, exact %d)\n%s", what,                 \
				 (unsigned long long)(x), (unsigned long long)(y), at, a->exact,   \
				 fixture_listing(&((struct world *)a)->f));                        \
	} while (0)

static inline void compare_rules(const struct world *a, const struct world *b)
{
	static const char *const chains[] = {"c0", "c1", "c2", "b"};
	const struct model_table *t =
		container_of(model_tables(a->f.m)->next, struct model_table, link);
	const struct model_table *u =
		container_of(model_tables(b->f.m)->next, struct model_table, link);
	char at[64];

	for (unsigned k = 0; k < ARRAY_SIZE(chains); k++) {
		const struct model_chain *c = model_chain_find(t, chains[k]);
		const struct program *p, *q;
		const struct prog_rule *s;

		if (!c)
			continue;
		p = compile_program(c);
		q = compile_program(model_chain_find(u, chains[k]));
		s = q->first;
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

static inline void compare_sets(const struct world *a, const struct world *b)
{
	char *x = fixture_listing(&((struct world *)a)->f);
	char *y = fixture_listing(&((struct world *)b)->f);

	assert_string_equal(x, y); /* with the states of rules and elements */
	free(x);
	free(y);
}

static inline void compare_packets(const struct world *a, const struct world *b,
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

#endif
