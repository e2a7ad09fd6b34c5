/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jumps under random changes: rules with jumps, maps of verdicts and chains without a name come and
 * go in transactions, of which some fail for another reason. The model must take and refuse what a
 * plain search of all ways from the base chains would.
 *
 * TAMIS_SEED and TAMIS_ROUNDS choose others, TAMIS_SOAK as many rounds as are that many
 * transactions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>

#include "model_fixture.h"

enum { CHAINS = 22, BASES = 2, MAPS = 3, KEYS = 4, RULES = 24, NODES = BASES + CHAINS };
enum { MAP = 100, NOWHERE = -1, DEPTH_MAX = 15, STEPS = 300 };

/* What there is: where each rule leads, and each element. */
struct mirror {
	int rules[NODES][RULES];
	unsigned n[NODES];
	int elements[MAPS][KEYS];
};

static uint64_t rng_state;

static uint32_t rnd(uint32_t n)
{
	rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(rng_state >> 33) % n;
}

/* The chains that one of `from` leads to in one jump. */
static uint32_t next_of(const struct mirror *m, uint32_t from)
{
	uint32_t to = 0;

	for (unsigned c = 0; c < NODES; c++)
		for (unsigned k = 0; from >> c & 1 && k < m->n[c]; k++) {
			int t = m->rules[c][k];

			if (t < MAP)
				to |= UINT32_C(1) << t;
			for (unsigned e = 0; t >= MAP && e < KEYS; e++)
				if (m->elements[t - MAP][e] != NOWHERE)
					to |= UINT32_C(1) << m->elements[t - MAP][e];
		}
	return to;
}

/* No way from a base chain has more jumps than there may be; a circle is a way without end. */
static bool is_fine(const struct mirror *m)
{
	uint32_t at = (UINT32_C(1) << BASES) - 1;

	for (unsigned jumps = 0; jumps <= DEPTH_MAX; jumps++)
		at = next_of(m, at);
	return !at;
}

static const struct model_rule *rule_at(struct fixture *f, unsigned chain, unsigned k)
{
	const struct model_table *t =
		container_of(model_tables(f->m)->next, struct model_table, link);
	char name[8];
	const struct list *l;

	snprintf(name, sizeof(name), "c%u", chain);
	l = model_chain_find(t, name)->rules.next;
	while (k--)
		l = l->next;
	return container_of(l, struct model_rule, link);
}

/* Chains jump onwards mostly, so that ways get long. */
static int target_of(unsigned chain)
{
	unsigned r = rnd(100), next = chain + 1 + rnd(3);

	if (r < 5)
		return BASES + (int)rnd(CHAINS);
	if (r < 12)
		return MAP + (int)rnd(MAPS);
	if (chain < BASES)
		return BASES + (int)rnd(4);
	return (int)MIN(next, NODES - 1u);
}

static void say_rule(struct strbuf *b, struct mirror *m, unsigned chain)
{
	int to = target_of(chain);

	if (m->n[chain] == RULES || to == (int)chain)
		return;
	strbuf_printf(b, "add rule ip t c%u ", chain);
	if (to >= MAP)
		strbuf_printf(b, "ip saddr vmap @m%d\n", to - MAP);
	else if (!rnd(4))
		strbuf_printf(b, "ip saddr vmap { 10.0.0.1 : %s c%d, 10.0.0.2 : accept }\n",
			      rnd(2) ? "jump" : "goto", to);
	else
		strbuf_printf(b, "%s c%d\n", rnd(3) ? "jump" : "goto", to);
	m->rules[chain][m->n[chain]++] = to;
}

static void say_element(struct strbuf *b, struct mirror *m)
{
	unsigned map = rnd(MAPS), key = rnd(KEYS);
	int *e = &m->elements[map][key], to = BASES + (int)rnd(CHAINS);

	if (*e != NOWHERE) {
		strbuf_printf(b, "delete element ip t m%u { 10.0.0.%u }\n", map, key);
		*e = NOWHERE;
	} else {
		strbuf_printf(b, "add element ip t m%u { 10.0.0.%u : jump c%d }\n", map, key, to);
		*e = to;
	}
}

/* One of the rules that were there before the transaction. */
static void say_delete(struct strbuf *b, struct fixture *f, struct mirror *m, unsigned chain)
{
	unsigned k;

	if (!m->n[chain])
		return;
	k = rnd(m->n[chain]);
	strbuf_printf(b, "delete rule ip t c%u handle %u\n", chain,
		      (unsigned)rule_at(f, chain, k)->handle);
	memmove(&m->rules[chain][k], &m->rules[chain][k + 1], (m->n[chain] - k - 1) * sizeof(int));
	m->n[chain]--;
}

static void begin(struct fixture *f, struct mirror *m)
{
	struct strbuf b = STRBUF_INIT;

	*m = (struct mirror){0};
	memset(m->elements, 0xff, sizeof(m->elements));
	strbuf_puts(&b, "table ip t {\n");
	for (unsigned k = 0; k < NODES; k++)
		strbuf_printf(&b, "chain c%u { %s }\n", k,
			      k < BASES ? "type filter hook input priority 0;" : "");
	for (unsigned k = 0; k < MAPS; k++)
		strbuf_printf(&b, "map m%u { type ipv4_addr : verdict; }\n", k);
	strbuf_puts(&b, "}\n");
	assert_int_equal(fixture_load(f, strbuf_str(&b), FIXTURE_COMMIT), 0);
	strbuf_free(&b);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void takes_what_a_search_would(void **state)
{
	uint64_t soak = number_of("TAMIS_SOAK", 0);
	uint64_t rounds = number_of("TAMIS_ROUNDS", soak ? soak / STEPS + 1 : 40);
	unsigned taken = 0, refused = 0;

	rng_state = number_of("TAMIS_SEED", 1);
	for (uint64_t round = 0; round < rounds; round++) {
		struct mirror now, was;
		struct fixture f;

		assert_int_equal(fixture_init(&f), 0);
		begin(&f, &now);
		for (unsigned step = 0; step < STEPS; step++) {
			struct strbuf b = STRBUF_INIT;
			bool fails = !rnd(3), fine;
			uint32_t touched = 0;
			int err;

			was = now;
			for (unsigned n = 1 + rnd(8); n--;) {
				unsigned what = rnd(10), chain = rnd(NODES);
				bool first = !(touched >> chain & 1);

				if (what < 5)
					say_rule(&b, &now, chain);
				else if (what < 7)
					say_element(&b, &now);
				else if (first)
					say_delete(&b, &f, &now, chain);
				if (what < 5 || what >= 7)
					touched |= UINT32_C(1) << chain;
			}
			if (fails)
				strbuf_puts(&b, "add rule ip t nowhere accept\n");
			fine = is_fine(&now);
			err = fixture_load(&f, strbuf_str(&b), FIXTURE_COMMIT);
			if (!err != (fine && !fails))
				fail_msg("round %u, step %u: %s, but is %s\n%s%s\n%s",
					 (unsigned)round, step, err ? "refused" : "taken",
					 fine ? "fine" : "too deep", strbuf_str(&b), f.messages,
					 fixture_listing(&f));
			taken += !err;
			refused += err && !fails;
			if (err)
				now = was;
			strbuf_free(&b);
		}
		fixture_free(&f);
	}
	assert_true(taken > 60 * rounds && refused > rounds);
}

static void assert_listing(struct fixture *f, const char *want)
{
	char *is = fixture_listing(f);

	assert_string_equal(is, want);
	free(is);
}

/*
 * What a transaction took out of the way of a jump, raised chains past, and brought back when it
 * was taken back: the levels below are too low then, and the next jump must not trust them. From
 * base chain b there are 7 jumps to p7; from x a rule, a map's element or both lead on to y, and 8
 * jumps from there to y8: with a jump from p7 to x it is too deep.
 */
static void levels_after_an_abort(void **state)
{
	static const struct {
		const char *way; /* from x to y */
		const char *gone[2];
	} cases[] = {
		{"add rule ip t x ip saddr vmap @m", {"delete element ip t m { 10.0.0.1 }"}},
		{"add rule ip t x ip saddr vmap @m", {"flush map ip t m"}},
		{"add rule ip t x jump y", {"flush chain ip t x"}},
		{"add rule ip t x ip saddr vmap @m", {"flush chain ip t x", "delete map ip t m"}},
		{"add rule ip t x ip saddr vmap { 10.0.0.9 : goto y }", {"flush chain ip t x"}},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned fails = 0; fails < 2; fails++) {
			struct strbuf b = STRBUF_INIT;
			struct fixture f;

			strbuf_puts(&b, "table ip t {\nmap m { type ipv4_addr : verdict; }\n"
					"chain b { type filter hook input priority 0; }\n"
					"chain x { }\n chain y { }\n");
			for (unsigned k = 1; k <= 8; k++)
				strbuf_printf(&b, "chain p%u { }\nchain y%u { }\n", k, k);
			strbuf_puts(&b, "}\nadd rule ip t b jump p1\nadd rule ip t y jump y1\n"
					"add element ip t m { 10.0.0.1 : jump y }\n");
			for (unsigned k = 1; k <= 7; k++)
				strbuf_printf(&b,
					      "add rule ip t p%u jump p%u\n"
					      "add rule ip t y%u jump y%u\n",
					      k, k + 1, k, k + 1);
			strbuf_printf(&b, "%s\n", cases[i].way);
			assert_int_equal(fixture_init(&f), 0);
			assert_int_equal(fixture_load(&f, strbuf_str(&b), FIXTURE_COMMIT), 0);
			char *was = fixture_listing(&f);

			strbuf_free(&b);
			for (unsigned k = 0; k < 2 && cases[i].gone[k]; k++)
				strbuf_printf(&b, "%s\n", cases[i].gone[k]);
			strbuf_printf(&b, "add rule ip t p7 jump x\n%s",
				      fails ? "add rule ip t nowhere accept\n" : "");
			int err = fixture_load(&f, strbuf_str(&b), FIXTURE_ABORT);
			assert_int_equal(!err, !fails);
			assert_listing(&f, was);
			/* Without p7's own way on x is not too deep to be jumped to elsewhere. */
			assert_int_not_equal(
				fixture_load(&f, "add rule ip t p7 jump x\n", FIXTURE_COMMIT), 0);
			assert_listing(&f, was);
			assert_int_equal(
				fixture_load(&f, "add rule ip t p2 jump x\n", FIXTURE_COMMIT), 0);
			strbuf_free(&b);
			free(was);
			fixture_free(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(takes_what_a_search_would),
					   cmocka_unit_test(levels_after_an_abort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
