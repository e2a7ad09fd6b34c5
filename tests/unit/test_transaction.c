/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions leave all or nothing: seeded random loads that end in a commit or an abort, with the
 * listing, handles and use counts compared; and the same with each single allocation failing.
 * Allocation is wrapped by the linker (see meson.build).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "model_fixture.h"

/* --- what must not change -------------------------------------------------------------------- */

static uint64_t count_text(const char *text, const char *word)
{
	size_t len = strlen(word);
	uint64_t n = 0;

	for (const char *p = strstr(text, word); p; p = strstr(p + len, word)) {
		char c = p[len];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
			n++;
	}
	return n;
}

static uint64_t uses(const char *text, const char *before, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), "%s%s", before, name);
	return count_text(text, word);
}

static void check_use(const char *kind, const char *name, uint32_t use, uint64_t shown,
		      const char *text)
{
	if (use != shown)
		fail_msg("%s %s is used %u times, not %u:\n%s", kind, name, (unsigned)shown, use,
			 text);
}

/* Use counts are what the listing shows. */
static void check_table(const struct model_table *t, const char *text)
{
	for (const struct list *l = t->chains.next; l != &t->chains; l = l->next) {
		const struct model_chain *c = container_of(l, struct model_chain, link);

		check_use("chain", c->name, c->use,
			  uses(text, "jump ", c->name) + uses(text, "goto ", c->name), text);
	}
	for (const struct list *l = t->sets.next; l != &t->sets; l = l->next) {
		const struct model_set *s = container_of(l, struct model_set, link);

		check_use("set", s->name, s->use, uses(text, "@", s->name), text);
	}
	for (const struct list *l = t->objects.next; l != &t->objects; l = l->next) {
		const struct model_object *o = container_of(l, struct model_object, link);
		char quoted[64];

		snprintf(quoted, sizeof(quoted), "\"%s\"", o->name);
		check_use("object", o->name, o->use, count_text(text, quoted), text);
	}
}

static char *listing(struct fixture *f)
{
	unsigned numeric = f->env.numeric;
	const struct list *tables = model_tables(f->m);

	f->env.numeric |= PRINT_HANDLES;
	char *text = fixture_listing(f);
	f->env.numeric = numeric;
	assert_non_null(text);
	if (tables->next != tables && tables->next->next == tables)
		check_table(container_of(tables->next, struct model_table, link), text);
	return text;
}

/* What is listed can be loaded, and lists the same. */
static void check_reload(struct fixture *f)
{
	struct fixture again;
	char *first = fixture_listing(f), *second;

	assert_int_equal(fixture_init(&again), 0);
	if (fixture_load(&again, first, FIXTURE_COMMIT))
		fail_msg("%s%s", again.messages, first);
	second = fixture_listing(&again);
	assert_string_equal(first, second);
	free(first);
	free(second);
	fixture_free(&again);
}

/* --- random loads ---------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static const char base[] =
	"table ip t {\n"
	"	counter k0 { packets 1 bytes 2; }\n"
	"	counter k1 { packets 1 bytes 2; }\n"
	"	quota q0 { 10 mbytes; }\n"
	"	set s0 { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }\n"
	"	set s1 { type ipv4_addr; timeout 1h; elements = { 10.0.0.1, 10.0.0.2 timeout 5m }; "
	"}\n"
	"	set s2 { type ipv4_addr; counter; elements = { 10.0.0.1 counter packets 3 bytes 4 "
	"}; }\n"
	"	set s3 { type ipv4_addr . inet_service; elements = { 10.0.0.1 . 80 }; }\n"
	"	set s4 { type ipv4_addr; flags interval; auto-merge; elements = { 10.0.0.0/24, "
	"10.0.1.0/24 }; }\n"
	"	map m0 { type ipv4_addr : verdict; elements = { 10.0.0.1 : jump c0 }; }\n"
	"	map m1 { type ipv4_addr : counter; elements = { 10.0.0.1 : \"k0\" }; }\n"
	"	map m2 { type ipv4_addr : mark; elements = { 10.0.0.1 : 7 }; }\n"
	"	chain c0 { counter packets 5 bytes 6; }\n"
	"	chain c1 { ip saddr @s0 jump c0; }\n"
	"	chain c2 { ip saddr vmap @m0; }\n"
	"	chain b { type filter hook input priority 0; tcp dport { 1, 2 } jump c1; jump { "
	"counter; }; }\n"
	"}\n";

/* A number in place of each %: of a name, an address, a handle. */
static const char *const templates[] = {
	"add chain ip t c%",
	"add chain ip t b { policy drop; }",
	"delete chain ip t c%",
	"destroy chain ip t c%",
	"flush chain ip t c%",
	"rename chain ip t c% c%",
	"add rule ip t c% accept",
	"add rule ip t c% counter packets % bytes % comment \"n%\"",
	"insert rule ip t c% jump c%",
	"add rule ip t b goto c%",
	"add rule ip t c% ip saddr @s% drop",
	"add rule ip t c% ip saddr vmap @m0",
	"add rule ip t c% ip saddr { 1.1.1.%, 1.2.2.% } jump { tcp dport { %, 100% } counter; }",
	"add rule ip t c% ip saddr vmap { 1.1.1.% : jump c%, 1.2.1.% : drop }",
	"add rule ip t c% counter name k%",
	"add rule ip t b limit rate %0/second quota 1% mbytes",
	"insert rule ip t b index % log",
	"delete rule ip t b handle 2%",
	"delete rule ip t c% handle 2%",
	"replace rule ip t b handle 2% counter",
	"flush table ip t",
	"add set ip t s% { type ipv4_addr; }",
	"add set ip t s1 { type ipv4_addr; timeout %h; size 10%; }",
	"delete set ip t s%",
	"destroy set ip t s%",
	"flush set ip t s%",
	"add element ip t s% { 10.0.0.% }",
	"add element ip t s% { 20.0.%.0-20.0.%.255, 30.0.0.% }",
	"add element ip t s1 { 10.0.0.% timeout %m comment \"e%\" }",
	"add element ip t s2 { 10.0.0.% counter packets % bytes % }",
	"add element ip t s3 { 10.0.0.% . % }",
	"create element ip t s% { 10.0.0.% }",
	"delete element ip t s% { 10.0.0.% }",
	"destroy element ip t s% { 10.0.0.% }",
	"delete element ip t s4 { 10.0.0.1%-10.0.1.% }",
	"add map ip t m0 { type ipv4_addr : verdict; }",
	"add map ip t m3 { type ipv4_addr : verdict; elements = { 1.1.1.% : goto c% }; }",
	"delete map ip t m%",
	"flush map ip t m%",
	"add element ip t m0 { 10.0.0.% : jump c% }",
	"delete element ip t m0 { 10.0.0.% }",
	"add element ip t m1 { 10.0.0.% : \"k%\" }",
	"delete element ip t m1 { 10.0.0.% }",
	"add element ip t m2 { 10.0.0.% : % }",
	"add counter ip t k%",
	"delete counter ip t k%",
	"add quota ip t q0 { 2% mbytes; }",
	"delete quota ip t q%",
	"reset counters",
	"reset rules",
	"reset set ip t s2",
	"delete table ip t; add table ip t; add chain ip t c0",
	"flush ruleset; add table ip t; add chain ip t b { type filter hook input priority 0; }",
	"add table ip u { comment \"gone\"; }; add chain ip u c; delete table ip u",
	"add table ip t { flags dormant; }",
	"list ruleset",
};

static void random_command(struct strbuf *b)
{
	const char *t = templates[roll(ARRAY_SIZE(templates))];

	for (; *t; t++) {
		if (*t == '%')
			strbuf_printf(b, "%u", roll(5));
		else
			strbuf_putc(b, *t);
	}
	strbuf_putc(b, '\n');
}

/* Mostly short, so that many succeed. */
static char *random_load(void)
{
	struct strbuf b = STRBUF_INIT;
	unsigned n = 1 + (roll(4) ? roll(3) : roll(12));

	while (n--)
		random_command(&b);
	return strbuf_take(&b);
}

static void aborted_transactions_leave_no_trace(void **state)
{
	unsigned committed = 0, failed = 0, aborted = 0;

	for (seed = 1; seed < 40; seed++) {
		uint64_t start = seed;
		struct fixture f;

		assert_int_equal(fixture_init(&f), 0);
		if (fixture_load(&f, base, FIXTURE_COMMIT))
			fail_msg("%s", f.messages);
		for (unsigned i = 0; i < 120; i++) {
			char *text = random_load(), *before = listing(&f), *after;
			bool keep = roll(2);
			int err = fixture_load(&f, text, keep ? FIXTURE_COMMIT : FIXTURE_ABORT);

			if (err && err != -EINVAL)
				fail_msg("seed %llu, load %u: %d", (unsigned long long)start, i,
					 err);
			after = listing(&f);
			if ((err || !keep) && strcmp(before, after))
				fail_msg("seed %llu, load %u:\n%s--- before\n%s--- after\n%s",
					 (unsigned long long)start, i, text, before, after);
			committed += !err && keep;
			aborted += !err && !keep;
			failed += !!err;
			free(text);
			free(before);
			free(after);
			f.now += roll(3) ? 0 : UINT64_C(1000000000) * roll(100);
		}
		check_reload(&f);
		fixture_free(&f);
		seed = start;
	}
	/* The commands are chosen so that each ending is common. */
	assert_true(committed > 500 && aborted > 500 && failed > 500);
}

/* --- out of memory --------------------------------------------------------------------------- */

/* Parses with all the memory there is, applies with `left` allocations. */
static int load_short(struct fixture *f, const char *text, uint64_t left)
{
	struct strbuf out = STRBUF_INIT;
	struct source_set sources;
	struct arena arena = ARENA_INIT;
	struct cmd_list cmds = CMD_LIST_INIT(cmds);

	source_set_init(&sources);
	int src = source_add(&sources, SOURCE_STRING, "test", text, strlen(text), LOC_NONE);
	assert_true(src > 0);
	assert_int_equal(parse_text(&sources, src, &arena, NULL, &cmds), 0);
	assert_int_equal(model_begin(f->m), 0);
	memory_arm(left, true);
	int err = model_apply(f->m, &sources, &cmds, f->now, &out);
	if (err)
		model_abort(f->m);
	else
		model_commit(f->m);
	memory_disarm();
	strbuf_free(&out);
	arena_free(&arena);
	source_set_free(&sources);
	return err;
}

static const char everything[] =
	"add table ip u { comment \"u\"; }\n"
	"add chain ip t c5 { comment \"five\"; }\n"
	"add chain ip t b { policy drop; }\n"
	"rename chain ip t c1 c6\n"
	"add chain ip t c1\n"
	"insert rule ip t c1 ip saddr { 1.1.1.1, 2.2.2.2 } jump { tcp dport { 1, 2 } counter; }\n"
	"add rule ip t c1 ip saddr vmap { 1.1.1.1 : jump c5, 2.2.2.2 : drop } comment \"x\"\n"
	"add rule ip t c1 ip saddr @s0 limit rate 5/second quota 5 mbytes log prefix \"p\"\n"
	"add rule ip t c1 counter name k1\n"
	"flush chain ip t c2\n"
	"add set ip t n { type ipv4_addr; size 9; comment \"n\"; elements = { 9.9.9.9 }; }\n"
	"add set ip t s1 { type ipv4_addr; timeout 2h; size 100; }\n"
	"add element ip t s2 { 10.0.0.7 counter packets 1 bytes 1 comment \"c\", 10.0.0.8 }\n"
	"add element ip t s0 { 20.0.0.0/8 }\n"
	"add element ip t s3 { 20.0.0.1 . 20 }\n"
	"delete element ip t s4 { 10.0.0.128-10.0.1.127 }\n"
	"add element ip t m0 { 20.0.0.1 : jump c5 }\n"
	"add element ip t m1 { 20.0.0.1 : \"k1\" }\n"
	"delete element ip t m0 { 10.0.0.1 }\n"
	"delete map ip t m0\n"
	"add map ip t m0 { type ipv4_addr : verdict; elements = { 3.3.3.3 : goto c5 }; }\n"
	"add counter ip t k5\n"
	"add quota ip t q0 { 50 mbytes; }\n"
	"delete map ip t m1\n"
	"reset rules\n"
	"reset set ip t s2\n"
	"get element ip t s2 { 10.0.0.7 }\n"
	"list ruleset\n";

static void no_memory_is_an_error_that_leaves_no_trace(void **state)
{
	struct fixture f;
	char *before, *after;
	uint64_t n = 0;
	int err;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
	before = listing(&f);
	do {
		err = load_short(&f, everything, n++);
		after = listing(&f);
		if (err && err != -ENOMEM)
			fail_msg("allocation %llu: %d", (unsigned long long)n, err);
		if (err && strcmp(before, after))
			fail_msg("allocation %llu:\n%s", (unsigned long long)n, after);
		free(after);
	} while (err);
	assert_true(n > 100);
	after = listing(&f);
	assert_string_not_equal(before, after);
	free(before);
	free(after);
	fixture_free(&f);
}

static void listings_without_memory_say_so(void **state)
{
	struct fixture f;
	uint64_t n = 0;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
	for (;; n++) {
		struct strbuf b = STRBUF_INIT;

		memory_arm(n, true);
		model_list(f.m, f.now, &b);
		memory_disarm();
		int err = strbuf_error(&b);
		strbuf_free(&b);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
	}
	assert_true(n > 3);
	json_set_alloc_funcs(__wrap_malloc, free);
	for (n = 0;; n++) {
		memory_arm(n, true);
		struct strbuf b = STRBUF_INIT;
		int err = model_list_json(f.m, f.now, &b);
		memory_disarm();
		strbuf_free(&b);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(n > 100);
	fixture_free(&f);
}

/* --- proportion ------------------------------------------------------------------------------ */

static uint64_t allocations(const char *head, const char *item, unsigned n, const char *tail)
{
	struct strbuf b = STRBUF_INIT;
	struct fixture f;

	strbuf_puts(&b, head);
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&b, item, i >> 16 & 255, i >> 8 & 255, i & 255);
	strbuf_puts(&b, tail);
	assert_int_equal(fixture_init(&f), 0);
	memory.calls = 0;
	if (fixture_load(&f, strbuf_str(&b), FIXTURE_COMMIT))
		fail_msg("%s", f.messages);
	char *text = fixture_listing(&f);
	uint64_t calls = memory.calls;
	assert_true(strlen(text) > n * 8u);
	free(text);
	strbuf_free(&b);
	fixture_free(&f);
	return calls;
}

static void ten_times_as_much_takes_ten_times_the_memory(void **state)
{
	static const char *const loads[][3] = {
		{"table ip t {\n	chain c {\n", "		ip saddr 10.%u.%u.%u drop\n",
		 "	}\n}\n"},
		{"table ip t {\n	set s { type ipv4_addr; elements = {\n", "10.%u.%u.%u,\n",
		 "}; }\n}\n"},
		{"table ip t {\n	set s { type ipv4_addr; flags interval; elements = {\n",
		 "%u.%u.%u.0/24,\n", "}; }\n}\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		uint64_t few = allocations(loads[i][0], loads[i][1], 10000, loads[i][2]);
		uint64_t many = allocations(loads[i][0], loads[i][1], 100000, loads[i][2]);

		assert_true(many < few * 12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aborted_transactions_leave_no_trace),
		cmocka_unit_test(no_memory_is_an_error_that_leaves_no_trace),
		cmocka_unit_test(listings_without_memory_say_so),
		cmocka_unit_test(ten_times_as_much_takes_ten_times_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
