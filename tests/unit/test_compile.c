/* SPDX-License-Identifier: Apache-2.0 */
/* Rulesets from text to programs: what changes keep, and the order of rules and hooks. */
#include "compile_world.h"

/* --- changes -------------------------------------------------------------------------------- */

static const char three[] = "table inet t {\n"
			    "	chain other { counter; }\n"
			    "	chain in {\n"
			    "		type filter hook input priority 0; policy accept;\n"
			    "		udp dport 1 counter\n"
			    "		udp dport 2 counter\n"
			    "		udp dport 3 counter\n"
			    "	}\n"
			    "}\n";

static void test_change_keeps_rules(void **state)
{
	struct world *w = world_new();
	const struct program *before, *other;
	const struct prog_rule *first, *second, *third;
	char text[128];

	(void)state;
	assert_int_equal(load(w, three), 0);
	hit_all(w);
	before = program_of(w, "in");
	other = program_of(w, "other");
	first = program_rule(before, 0);
	second = program_rule(before, 1);
	third = program_rule(before, 2);

	snprintf(text, sizeof(text), "insert rule inet t in handle %u udp dport 9 counter",
		 (unsigned)second->handle);
	assert_int_equal(load(w, text), 0);
	assert_int_equal(program_length(program_of(w, "in")), 4);
	assert_ptr_equal(program_rule(program_of(w, "in"), 0), first);
	assert_ptr_equal(program_rule(program_of(w, "in"), 2), second);
	assert_ptr_equal(program_rule(program_of(w, "in"), 3), third);
	assert_ptr_equal(program_of(w, "other"), other);
	assert_int_equal(matched(w, "in", 0), 1);

	snprintf(text, sizeof(text), "delete rule inet t in handle %u", (unsigned)first->handle);
	assert_int_equal(load(w, text), 0);
	assert_int_equal(program_length(program_of(w, "in")), 3);
	assert_ptr_equal(program_rule(program_of(w, "in"), 1), second);
	hit_all(w);
	assert_int_equal(matched(w, "in", 1), 2);
	assert_int_equal(matched(w, "in", 2), 2);
	assert_int_equal(program_of(w, "in")->stats->packets, 6);

	snprintf(text, sizeof(text), "replace rule inet t in handle %u udp dport 3 drop",
		 (unsigned)third->handle);
	assert_int_equal(load(w, text), 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 4);
	assert_int_equal(matched(w, "in", 2), 1);
	assert_int_equal(matched(w, "in", 1), 3);
	world_free(w);
}

/* Many changes of one chain at once, so that old and new order differ much. */
static void test_change_at_random(void **state)
{
	enum { N = 40 };
	struct world *w = world_new();
	struct strbuf b = STRBUF_INIT;
	uint32_t rng = 1;

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { }; }"), 0);
	for (unsigned round = 0; round < 60; round++) {
		const struct program *p = program_of(w, "in");
		const struct model_chain *chain = p->chain;
		uint64_t handles[N * 2];
		const struct prog_rule *old[N * 2];
		unsigned n = program_length(p), k = 0;

		for (unsigned i = 0; i < n; i++) {
			handles[i] = program_rule(p, i)->handle;
			old[i] = program_rule(p, i);
		}
		strbuf_truncate(&b, 0);
		for (unsigned i = 0; i < n; i++) {
			rng = rng * 1664525 + 1013904223;
			if (rng >> 28 < 3)
				strbuf_printf(&b, "delete rule inet t in handle %u\n",
					      (unsigned)handles[i]);
			else if (rng >> 28 < 6)
				strbuf_printf(&b, "insert rule inet t in handle %u udp dport %u\n",
					      (unsigned)handles[i], rng >> 20 & 255);
		}
		strbuf_puts(&b, "add rule inet t in udp dport 1\n");
		assert_int_equal(load(w, strbuf_str(&b)), 0);
		p = program_of(w, "in");
		assert_int_equal(program_length(p), chain->n_rules);
		for (const struct list *l = chain->rules.next; l != &chain->rules;
		     l = l->next, k++) {
			const struct model_rule *r = container_of(l, struct model_rule, link);

			assert_ptr_equal(program_rule(p, k)->rule, r);
			for (unsigned i = 0; i < n; i++)
				if (handles[i] == r->handle)
					assert_ptr_equal(program_rule(p, k), old[i]);
		}
		if (program_length(p) > N)
			assert_int_equal(load(w, "flush chain inet t in"), 0);
	}
	strbuf_free(&b);
	world_free(w);
}

static void test_aborted_build(void **state)
{
	struct world *w = world_new();
	const struct program_root *before;
	const struct prog_rule *third;

	(void)state;
	assert_int_equal(load(w, three), 0);
	before = compile_root(w->c);
	third = program_rule(program_of(w, "in"), 2);
	assert_int_equal(
		fixture_load(&w->f, "flush chain inet t in; add rule inet t in drop", FIXTURE_OPEN),
		0);
	assert_int_equal(compile_build(w->c, w->f.m), 0);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	assert_int_equal(third->stats->packets, 1);
	compile_abort(w->c);
	model_abort(w->f.m);
	assert_ptr_equal(compile_root(w->c), before);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	assert_int_equal(load(w, "add rule inet t in udp dport 1 drop"), 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 1);
	assert_int_equal(matched(w, "in", 0), 3);
	world_free(w);
}

/* The same ruleset, built at once, is in force in the same way. */
static void compare_with_fresh(struct world *w)
{
	const struct program_root *root = compile_root(w->c), *other;
	struct world *fresh = world_new();
	char *listing = fixture_listing(&w->f);

	assert_int_equal(load(fresh, listing), 0);
	other = compile_root(fresh->c);
	assert_int_equal(root->exact, other->exact);
	for (unsigned k = 0; k < PROG_CLASSES; k++) {
		assert_int_equal(root->conntrack[k], other->conntrack[k]);
		for (unsigned h = 0; h < PROG_HOOKS; h++)
			assert_int_equal(root->hooks[k][h].n, other->hooks[k][h].n);
	}
	free(listing);
	world_free(fresh);
}

static void say_change(struct strbuf *b, uint32_t r, unsigned chains, const uint64_t *handle)
{
	static const char *const rules[] = {
		"udp dport 1 counter",
		"ct state new counter",
		"limit rate 5/second",
		"udp dport 2 jump { ct mark 1 drop; counter; }",
		"jump c0",
		"udp dport vmap { 3 : drop, 4 : goto c1 }",
	};
	unsigned chain = r >> 8 & 3, rule = (r >> 10 & 7) % ARRAY_SIZE(rules);

	switch (r >> 28) {
	case 0:
		strbuf_printf(b, "flush chain inet t c%u\n", chain);
		break;
	case 1:
		strbuf_puts(b, "delete table inet t; add table inet t\n");
		for (unsigned k = 0; k < chains; k++)
			strbuf_printf(b, "add chain inet t c%u\n", k);
		break;
	case 2:
		strbuf_printf(b,
			      "add chain inet t in%u { type filter hook input priority %u; }\n"
			      "add rule inet t in%u jump c2\n",
			      chain, chain / 2, chain);
		break;
	case 3:
		strbuf_printf(b,
			      "add chain inet t in%u { type filter hook input priority %u; }\n"
			      "delete chain inet t in%u\n",
			      chain + 4, chain, chain + 4);
		break;
	case 4:
		strbuf_printf(b, "add table inet t { flags dormant; }\nadd table inet t\n");
		break;
	case 5:
	case 6:
	case 7:
		if (*handle)
			strbuf_printf(b, "delete rule inet t c2 handle %u\n", (unsigned)*handle);
		break;
	case 8:
		if (*handle)
			strbuf_printf(b, "replace rule inet t c2 handle %u %s\n", (unsigned)*handle,
				      rules[rule]);
		break;
	default:
		/* Only from higher to lower, so that no jumps go round. */
		if (rule > 3)
			chain = 2 + chain % 2;
		strbuf_printf(b, "%s rule inet t c%u %s\n", r & 1 ? "add" : "insert", chain,
			      rules[rule]);
		break;
	}
}

/* Chains, tables and rules come and go; some transactions are taken back after they were built. */
static void test_changes_and_aborts(void **state)
{
	enum { CHAINS = 4 };
	struct world *w = world_new();
	struct strbuf b = STRBUF_INIT;
	uint32_t rng = 1;
	unsigned done = 0;

	(void)state;
	assert_int_equal(load(w, "table inet t { chain c0 {}; chain c1 {}; chain c2 {}; "
				 "chain c3 {}; }"),
			 0);
	for (unsigned round = 0; round < 400; round++) {
		const struct prog_rule *r;
		uint64_t handle;
		unsigned n;

		rng = rng * 1664525 + 1013904223;
		n = rng >> 29;
		r = program_rule(program_of(w, "c2"), rng >> 20 & 3);
		handle = r ? r->handle : 0;
		strbuf_truncate(&b, 0);
		for (unsigned k = 0; k <= n; k++) {
			rng = rng * 1664525 + 1013904223;
			say_change(&b, rng, CHAINS, k ? &(uint64_t){0} : &handle);
		}
		if (fixture_load(&w->f, strbuf_str(&b), FIXTURE_OPEN))
			continue; /* the handle went, too deep jumps ... */
		done++;
		assert_int_equal(compile_build(w->c, w->f.m), 0);
		if (round % 3 == 0) {
			compile_abort(w->c);
			model_abort(w->f.m);
		} else {
			compile_publish(w->c);
			compile_settle(w->c);
			model_commit(w->f.m);
		}
		for (unsigned k = 0; k < CHAINS; k++) {
			const struct program *p = program_of(w, (char[]){'c', (char)('0' + k), 0});
			const struct model_chain *chain = p->chain;
			const struct prog_rule *at = p->first;

			for (const struct list *l = chain->rules.next; l != &chain->rules;
			     l = l->next, at = at->next) {
				assert_ptr_equal(at->rule,
						 container_of(l, struct model_rule, link));
				assert_true(prog_rule_visible(at, compile_root(w->c)->version));
			}
			assert_null(at);
		}
		compare_with_fresh(w);
		for (uint16_t port = 1; port <= 4; port++)
			udp(w, 1, 2, port);
		run(w);
	}
	assert_true(done > 300);
	strbuf_free(&b);
	world_free(w);
}

/* A dormant table's chains are not there; a chain that goes takes its hook along. */
static void test_hooks_follow(void **state)
{
	struct world *w = world_new();

	(void)state;
	assert_int_equal(load(w, "table inet t { chain in { type filter hook input priority 0; "
				 "policy drop; }; }"),
			 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 7);
	assert_int_equal(load(w, "add table inet t { flags dormant; }"), 0);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	assert_int_equal(load(w, "delete table inet t; table inet t { chain in { type filter hook "
				 "input priority 0; policy drop; }; }"),
			 0);
	hit_all(w);
	assert_int_equal(w->out.dropped, 7);
	assert_int_equal(load(w, "chain inet t in { policy accept; }"), 0);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	assert_int_equal(load(w, "delete chain inet t in"), 0);
	hit_all(w);
	assert_int_equal(w->out.accepted, 7);
	world_free(w);
}

/* --- order ---------------------------------------------------------------------------------- */

/* Of equal priorities the last one registered runs first, whatever its family. */
static void test_order(void **state)
{
	struct world *w = world_new();
	const struct prog_hook_list *l;

	(void)state;
	assert_int_equal(load(w, "table inet t {\n"
				 "chain a { type filter hook prerouting priority 0; }\n"
				 "chain b { type nat hook prerouting priority 5; }\n"
				 "chain c { type filter hook prerouting priority raw; }\n"
				 "chain d { type filter hook prerouting priority 0; }\n"
				 "chain e { type nat hook prerouting priority dstnat; }\n"
				 "}\n"
				 "table ip t {\n"
				 "chain a { type filter hook prerouting priority 0; }\n"
				 "}\n"),
			 0);
	l = &compile_root(w->c)->hooks[CLASS_IPV4][PH_PREROUTING];
	assert_int_equal(l->n, 6);
	assert_ptr_equal(l->bases[0]->program, program_of(w, "c"));
	assert_ptr_equal(l->bases[1]->program, program_of(w, "e"));
	assert_ptr_equal(l->bases[2]->program, program_of(w, "b"));
	assert_int_equal(l->bases[3]->family, FAMILY_IP);
	assert_ptr_equal(l->bases[4]->program, program_of(w, "d"));
	assert_ptr_equal(l->bases[5]->program, program_of(w, "a"));
	assert_int_equal(compile_root(w->c)->hooks[CLASS_IPV6][PH_PREROUTING].n, 5);
	assert_true(compile_root(w->c)->conntrack[CLASS_IPV4]);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change_keeps_rules),
		cmocka_unit_test(test_change_at_random),
		cmocka_unit_test(test_aborted_build),
		cmocka_unit_test(test_changes_and_aborts),
		cmocka_unit_test(test_hooks_follow),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
