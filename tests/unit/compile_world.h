/* SPDX-License-Identifier: Apache-2.0 */
/* compile_world: a ruleset that is compiled, and packets that run through it. */
#ifndef TAMIS_TEST_COMPILE_WORLD_H
#define TAMIS_TEST_COMPILE_WORLD_H

#include <stdio.h>

#include "packet_build.h"

#include "compile/compile.h"
#include "ct/ct.h"
#include "eval/eval.h"
#include "model_fixture.h"
#include "program_walk.h"

struct world {
	struct fixture f;
	struct compile *c;
	struct eval *ev;
	struct ct_table *ct;
	struct burst burst;
	struct packet packets[BURST_MAX];
	uint8_t path[BURST_MAX];
	struct eval_devices devices;
	struct eval_result out;
	struct strbuf said;
};

static inline void note(void *arg, const struct compile_note *n)
{
	static const char *const kinds[] = {"no value", "no effect", "local", "nat"};
	struct world *w = arg;

	strbuf_printf(&w->said, "%s: %s\n", n->what, kinds[n->kind]);
}

static inline struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct compile_config config = {w, note};

	assert_non_null(w);
	assert_int_equal(fixture_init(&w->f), 0);
	assert_int_equal(compile_new(&config, &w->c), 0);
	assert_int_equal(eval_new(1, &w->ev), 0);
	return w;
}

static inline void world_free(struct world *w)
{
	eval_free(w->ev);
	compile_free(w->c);
	fixture_free(&w->f);
	strbuf_free(&w->said);
	free(w);
}

/* 0 or what the build says; a failed one leaves no trace. */
static inline int load(struct world *w, const char *text)
{
	int err;

	if (fixture_load(&w->f, text, FIXTURE_OPEN))
		fail_msg("%s\n%s", w->f.messages, text);
	err = compile_build(w->c, w->f.m);
	if (err) {
		model_abort(w->f.m);
		return err;
	}
	compile_publish(w->c);
	compile_settle(w->c);
	model_commit(w->f.m);
	return 0;
}

static const struct program *program_of(struct world *w, const char *chain)
{
	const struct model_table *t = model_table_find(w->f.m, FAMILY_INET, "t");

	return compile_program(model_chain_find(t, chain));
}

/* A datagram from 10.0.0.<from> to 10.0.0.<to>. */
static inline void udp(struct world *w, unsigned from, unsigned to, uint16_t dport)
{
	unsigned i = w->burst.n++;
	struct packet *p = &w->packets[i];

	w->burst.link[i] = LINK_EN10MB;
	p->n = 0;
	put_ether(p, 0x0800);
	ip4_begin(p, 17, 0, NULL, 0);
	be32_store(p->b + p->nh + 12, 0x0a000000 + from);
	be32_store(p->b + p->nh + 16, 0x0a000000 + to);
	put_udp(p, 8);
	be16_store(p->b + p->nh + 22, dport);
	ip4_end(p);
}

static inline void run(struct world *w)
{
	struct burst *b = &w->burst;
	struct eval_input in = {.root = compile_root(w->c),
				.burst = b,
				.path = w->path,
				.ct = w->ct,
				.devices = w->devices,
				.mask = (UINT64_C(1) << b->n) - 1};

	for (unsigned i = 0; i < b->n; i++) {
		b->data[i] = w->packets[i].b;
		b->caplen[i] = b->len[i] = w->packets[i].n;
	}
	burst_parse(b);
	eval_run(w->ev, &in, &w->out);
	b->n = 0;
}

static inline uint64_t matched(struct world *w, const char *chain, unsigned rule)
{
	return program_rule(program_of(w, chain), rule)->stats->packets;
}

static inline void hit_all(struct world *w)
{
	for (uint16_t port = 1; port <= 3; port++)
		udp(w, 1, 2, port);
	run(w);
}

#endif
