/* SPDX-License-Identifier: Apache-2.0 */
/* Each command on the model: what it changes, what it refuses and where, what it prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model_fixture.h"

static const char base[] =
	"table ip t {\n"
	"	counter c1 { packets 5 bytes 100; }\n"
	"	counter c2 { packets 5 bytes 100; }\n"
	"	quota q1 { 10 mbytes; }\n"
	"	set s { type ipv4_addr; flags interval; elements = { 1.2.3.4, 10.0.0.0/8 }; }\n"
	"	set d { type ipv4_addr; size 2; elements = { 1.2.3.4, 1.2.3.5 }; }\n"
	"	set e { type ipv4_addr; timeout 1h; elements = { 1.2.3.4, 1.2.3.5 }; }\n"
	"	set ports { type inet_service; }\n"
	"	set am { type ipv4_addr; flags interval; auto-merge; elements = { 1.2.3.0/24, "
	"1.2.4.0/24 }; }\n"
	"	map m { type ipv4_addr : verdict; elements = { 1.1.1.1 : jump x }; }\n"
	"	map mm { type ipv4_addr : inet_service; elements = { 1.1.1.1 : 80 }; }\n"
	"	map om { type ipv4_addr : counter; elements = { 1.1.1.1 : \"c1\" }; }\n"
	"	chain x { counter; }\n"
	"	chain y { type filter hook input priority 0; ip saddr { 1.1.1.1, 2.2.2.2 } accept\n"
	"		ip saddr @s jump z\n"
	"		ip saddr vmap @m\n"
	"		counter name c2\n"
	"		ip saddr @am\n"
	"	}\n"
	"	chain z { }\n"
	"}\n";

/* `at` is the text under the carets, empty for "nothing is wrong". */
struct command_case {
	const char *command, *at, *message;
};

#define KERNEL(text) "Could not process rule: " text
#define EXISTS	     KERNEL("File exists")
#define MISSING	     KERNEL("No such file or directory")
#define BUSY	     KERNEL("Device or resource busy")
#define FULL	     KERNEL("Too many open files in system")
#define UNABLE	     KERNEL("Operation not supported")
#define LINKS	     KERNEL("Too many links")
#define NO_ENTRY     "No such file or directory"

static const struct command_case cases[] = {
	/* tables */
	{"create table ip t", "t", EXISTS},
	{"add table ip t", "", NULL},
	{"delete table ip nope", "nope", MISSING},
	{"delete table ip handle 55", "55", MISSING},
	{"delete table ip handle 1", "", NULL},
	{"delete table ip t", "", NULL},
	{"delete table ip t; delete table ip t", "t", MISSING},
	{"delete table ip t; add table ip t", "", NULL},
	{"destroy table ip nope", "", NULL},
	{"destroy table ip t", "", NULL},
	{"flush table ip nope", "nope", MISSING},
	{"flush table ip t; delete chain ip t z; delete counter ip t c2", "", NULL},
	{"flush ruleset", "", NULL},
	{"flush ruleset ip6; list table ip t", "", NULL},
	{"delete table ip tt", "tt", NO_ENTRY "; did you mean table ‘t’ in family ip?"},
	/* chains */
	{"add chain ip t x", "", NULL},
	{"create chain ip t x", "x", EXISTS},
	{"add chain ip nope x", "nope", NO_ENTRY},
	{"add chain ip t y { type filter hook input priority 0; policy drop; }", "", NULL},
	{"add chain ip t y { policy drop; }", "", NULL},
	{"add chain ip t y { type filter hook input priority 10; policy drop; }", NULL, UNABLE},
	{"add chain ip t y { type nat hook input priority 0; policy drop; }", "y", EXISTS},
	{"delete chain ip t x", "x", BUSY},
	{"delete chain ip t z", "z", BUSY},
	{"delete chain ip t nope", "nope", MISSING},
	{"delete chain ip nope x", "nope", MISSING},
	{"delete chain ip t xx", "xx", NO_ENTRY "; did you mean chain ‘x’ in table ip ‘t’?"},
	{"delete chain ip t handle 55", "55", MISSING},
	{"delete chain ip t y", "", NULL},
	{"destroy chain ip t nope", "", NULL},
	{"destroy chain ip nope nope", "", NULL},
	{"destroy chain ip t z", "z", BUSY},
	{"flush chain ip t nope", "nope", MISSING},
	{"flush chain ip t y; delete chain ip t z", "", NULL},
	{"delete chain ip t z; flush chain ip t y", "z", BUSY},
	{"flush chain ip t y; delete chain ip t x; delete map ip t m", "x", BUSY},
	{"flush chain ip t y; delete map ip t m; delete chain ip t x", "", NULL},
	{"delete element ip t m { 1.1.1.1 : jump x }; delete chain ip t x", "", NULL},
	{"flush map ip t m; delete chain ip t x", "", NULL},
	{"rename chain ip t x z", "rename chain ip t x z", EXISTS},
	{"rename chain ip t nope zz", "nope", NO_ENTRY},
	{"rename chain ip nope x zz", "nope", NO_ENTRY},
	{"rename chain ip t x x2; add rule ip t x2 accept", "", NULL},
	{"rename chain ip t x x2; add rule ip t x accept", "x",
	 NO_ENTRY "; did you mean chain ‘x2’ in table ip ‘t’?"},
	{"rename chain ip t x x2; rename chain ip t z x; rename chain ip t x2 z", "", NULL},
	/* rules */
	{"add rule ip t nope accept", "nope", MISSING},
	{"add rule ip nope nope accept", "nope", MISSING},
	{"add rule ip t x jump nope", "nope", MISSING},
	{"add rule ip t x jump y", "y", UNABLE},
	{"add rule ip t x ip saddr @nope", "@nope", NO_ENTRY},
	{"add rule ip t x counter name nope", "nope", MISSING},
	{"add rule ip t x index 7 accept", "index 7", MISSING},
	{"insert rule ip t x index 7 accept", "index 7", MISSING},
	{"add rule ip t x position 77 accept", "position 77", MISSING},
	{"insert rule ip t x position 77 accept", "position 77", MISSING},
	{"replace rule ip t x handle 77 accept", "77", MISSING},
	{"delete rule ip t x handle 99", "99", MISSING},
	{"delete rule ip t y handle 15", "15", MISSING},
	{"delete rule ip t x handle 15", "", NULL},
	{"destroy rule ip t x handle 99", "", NULL},
	{"delete rule ip t nope handle 99", "nope", MISSING},
	{"delete rule ip t x handle 15; delete rule ip t x handle 15", "15", MISSING},
	{"add rule ip t x jump x", NULL, LINKS},
	{"add rule ip t z jump x; add rule ip t x jump z", NULL, LINKS},
	{"add rule ip t x goto z; add rule ip t z ip saddr vmap @m", NULL, LINKS},
	{"add chain ip t l1; add chain ip t l2; add rule ip t l1 jump l2; add rule ip t l2 jump l1",
	 "", NULL},
	/* sets */
	{"create set ip t s { type ipv4_addr; flags interval; }", "s", EXISTS},
	{"add set ip t s { type ipv4_addr; flags interval; }", "", NULL},
	{"add set ip t s { type ipv4_addr; }", "s", EXISTS},
	{"add set ip t d { type ipv6_addr; size 2; }", "d", EXISTS},
	{"add set ip t mm { type ipv4_addr; }", "mm", EXISTS},
	{"add set ip nope mm { type ipv4_addr; }", "nope", NO_ENTRY},
	{"delete set ip t s", "s", BUSY},
	{"delete set ip t e", "", NULL},
	{"delete set ip t nope", "nope", MISSING},
	{"delete map ip t m", "m", BUSY},
	{"delete map ip t mm", "", NULL},
	{"destroy set ip t nope", "", NULL},
	{"delete set ip t handle 55", "55", MISSING},
	{"flush set ip t nope", "nope", NO_ENTRY},
	{"flush set ip t mm", "mm", NO_ENTRY},
	{"flush map ip t mm", "", NULL},
	{"add set ip t e { type ipv4_addr; timeout 2h; size 10; }", "", NULL},
	{"add set ip t c { type ipv4_addr; flags constant; elements = { 1.1.1.1 }; }", "", NULL},
	{"add set ip t c { type ipv4_addr; flags constant; elements = { 1.1.1.1 }; }; add element "
	 "ip t c { 2.2.2.2 }",
	 "2.2.2.2", FULL},
	{"flush chain ip t y; delete set ip t s; add set ip t s { type ipv6_addr; }", "", NULL},
	/* Sets that rules cannot write to, as the kernel chose their structure before. */
	{"add rule ip t x add @d { ip saddr } accept", "add @d { ip saddr }", UNABLE},
	{"add rule ip t x add @ports { tcp dport }", "add @ports { tcp dport }", UNABLE},
	{"add rule ip t x jump { delete @ports { tcp dport }; }", "delete @ports { tcp dport }",
	 UNABLE},
	{"delete set ip t ports; add set ip t ports { type inet_service; }; add rule ip t x add "
	 "@ports { tcp dport }",
	 "", NULL},
	{"add rule ip t x update @mm { ip saddr : tcp dport }", "", NULL},
	{"add rule ip t x add @e { ip saddr }", "", NULL},
	/* elements */
	{"add element ip t s { 10.1.1.1 }", "10.1.1.1",
	 "interval overlaps with an existing one: 10.0.0.0/8"},
	{"add element ip t s { 10.0.0.0/8 }", "", NULL},
	{"create element ip t s { 10.0.0.0/8 }", "10.0.0.0/8", EXISTS},
	{"add element ip t s { 5.5.5.5, 6.6.6.6, 1.2.3.0/24 }", "1.2.3.0/24",
	 "interval overlaps with an existing one: 1.2.3.4"},
	{"add element ip t s { 20.0.0.0/8, 20.1.0.0/16 }", "20.1.0.0/16",
	 "conflicting intervals specified"},
	{"add element ip t s { 20.0.0.0/8, 20.0.0.0/8 }", "", NULL},
	{"add element ip t d { 1.1.1.1 }", "1.1.1.1", FULL},
	{"create element ip t d { 1.2.3.4 }", "1.2.3.4", EXISTS},
	{"add element ip t d { 1.2.3.4 }", "", NULL},
	{"delete element ip t d { 1.2.3.4, 1.1.1.1 }", "1.1.1.1", MISSING},
	{"destroy element ip t d { 1.2.3.4, 1.1.1.1 }", "", NULL},
	{"delete element ip t d { 1.2.3.4 }; add element ip t d { 9.9.9.9 }", "", NULL},
	{"delete element ip t s { 10.1.1.1 }", "10.1.1.1", "element does not exist"},
	{"delete element ip t nope { 10.1.1.1 }", "nope", NO_ENTRY},
	{"add element ip t nope { 10.1.1.1 }", "nope", NO_ENTRY},
	{"add element ip t ss { 10.1.1.1 }", "ss",
	 NO_ENTRY "; did you mean set ‘s’ in table ip ‘t’?"},
	{"add element ip t m { 1.1.1.1 : jump z }", "1.1.1.1", EXISTS},
	{"add element ip t m { 1.1.1.1 : jump x }", "", NULL},
	{"add element ip t mm { 1.1.1.1 : 81 }", "1.1.1.1", EXISTS},
	{"create element ip t mm { 1.1.1.1 : 80 }", "1.1.1.1", EXISTS},
	{"add element ip t om { 1.1.1.1 : \"c2\" }", "1.1.1.1", EXISTS},
	{"add element ip t om { 1.1.1.2 : \"nope\" }", NULL, MISSING},
	{"add element ip t m { 1.1.1.2 : jump nope }", "1.1.1.2", MISSING},
	{"delete element ip t mm { 1.1.1.1 : 99 }", "", NULL},
	{"add element ip t am { 1.2.3.5 }", "", NULL},
	{"delete element ip t am { 1.2.3.5 }", "", NULL},
	{"delete element ip t am { 1.2.9.5 }", "1.2.9.5", "element does not exist"},
	{"add element ip t d { 9.9.9.9 timeout 5s }", "9.9.9.9", KERNEL("Invalid argument")},
	{"add element ip t e { 9.9.9.9 timeout 5s expires 6s }", "9.9.9.9",
	 KERNEL("Numerical result out of range")},
	{"delete element ip t d { 1.2.3.4 timeout 5s }", "", NULL},
	{"delete element ip t e { 1.2.3.4 timeout 5s expires 6s }", "", NULL},
	{"add element ip t e { 9.9.9.9 expires 2h }", "9.9.9.9",
	 KERNEL("Numerical result out of range")},
	{"add element ip t d { 9.9.9.9 expires 6s }", "9.9.9.9", KERNEL("Invalid argument")},
	{"add element ip t e { 1.2.3.4 timeout 5s }", "", NULL},
	/* objects */
	{"create counter ip t c1", "c1", EXISTS},
	{"add counter ip t c1 { packets 7 bytes 8; }", "", NULL},
	{"add quota ip t c1 { 5 mbytes; }", "", NULL},
	{"add counter ip nope c1", "nope", NO_ENTRY},
	{"delete counter ip t c1", "c1", BUSY},
	{"delete counter ip t c2", "c2", BUSY},
	{"delete counter ip t nope", "nope", MISSING},
	{"delete quota ip t c1", "c1", NO_ENTRY "; did you mean obj ‘c1’ in table ip ‘t’?"},
	{"delete quota ip t q1", "", NULL},
	{"delete map ip t om; delete counter ip t c1", "", NULL},
	{"delete element ip t om { 1.1.1.1 : \"c1\" }; delete counter ip t c1", "", NULL},
	{"destroy counter ip t nope", "", NULL},
	/* flowtables */
	{"add flowtable ip t f { hook ingress priority 0; devices = { lo }; }; create flowtable ip "
	 "t f { hook "
	 "ingress priority 0; devices = { lo }; }",
	 "f", EXISTS},
	{"delete flowtable ip t f", "f", MISSING},
	{"destroy flowtable ip t f", "", NULL},
	/* reading */
	{"get element ip t d { 1.1.1.1 }", "get element ip t d { 1.1.1.1 }", MISSING},
	{"get element ip t nope { 1.1.1.1 }", "nope", NO_ENTRY},
	{"list chain ip t nope", "nope", NO_ENTRY},
	{"list table nope", "nope", NO_ENTRY},
	{"list map ip t s", "s", NO_ENTRY},
	{"list set ip t mm", "mm", NO_ENTRY},
	{"list counter ip t nope", "nope", NO_ENTRY},
	{"reset counter ip t nope", "reset counter ip t nope", MISSING},
};

/* The text that the carets of a message's last line stand under. */
static void marked(const char *messages, char *out, size_t size)
{
	const char *first = strchr(messages, '\n');
	const char *carets = first ? strchr(first + 1, '\n') : NULL;
	const char *from = carets ? strchr(carets, '^') : NULL;
	size_t n = from ? strspn(from, "^") : 0;

	out[0] = 0;
	if (from && n < size) {
		memcpy(out, first + 1 + (from - carets - 1), n);
		out[n] = 0;
	}
}

static bool case_holds(const struct command_case *c, struct fixture *f, int err)
{
	char want[512], under[256];

	if (!c->message)
		return !err && !*f->messages;
	snprintf(want, sizeof(want), "Error: %s\n", c->message);
	marked(f->messages, under, sizeof(under));
	return err == -EINVAL && !strncmp(f->messages, want, strlen(want)) &&
	       (!c->at || !strcmp(under, c->at));
}

static void commands_do_what_nft_does(void **state)
{
	unsigned failures = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		assert_int_equal(fixture_init(&f), 0);
		if (fixture_load(&f, base, FIXTURE_COMMIT))
			fail_msg("%s", f.messages);
		char *before = fixture_listing(&f);
		int err = fixture_load(&f, cases[i].command, FIXTURE_COMMIT);
		if (!case_holds(&cases[i], &f, err)) {
			print_error("%s: %d %s\n", cases[i].command, err, f.messages);
			failures++;
		}
		char *after = fixture_listing(&f);
		if (err)
			assert_string_equal(before, after);
		free(before);
		free(after);
		fixture_free(&f);
	}
	assert_int_equal(failures, 0);
}

/* Numbered like the kernel's: chains, objects, sets of the block, then rules, whose anonymous sets
 * and chains take numbers too. */
static void handles_count_as_in_the_kernel(void **state)
{
	static const char text[] =
		"table ip t {\n"
		"	comment \"tab\"\n"
		"	counter c1 { packets 5 bytes 100; }\n"
		"	set s { type ipv4_addr; }\n"
		"	chain x { counter; }\n"
		"	chain y { type filter hook input priority 0;\n"
		"		ip saddr { 1.1.1.1, 2.2.2.2 } accept\n"
		"		ip saddr @s jump { tcp dport { 1, 2 } drop; }\n"
		"		ip saddr vmap { 1.1.1.1 : drop, 2.2.2.2 : jump x }\n"
		"	}\n"
		"}\n"
		"table ip6 u { }\n";
	static const char want[] =
		"table ip t { # handle 1\n"
		"	comment \"tab\"\n"
		"	counter c1 { # handle 3\n"
		"		packets 5 bytes 100\n"
		"	}\n"
		"\n"
		"	set s { # handle 4\n"
		"		type ipv4_addr\n"
		"	}\n"
		"\n"
		"	chain x { # handle 1\n"
		"		counter packets 0 bytes 0 # handle 5\n"
		"	}\n"
		"\n"
		"	chain y { # handle 2\n"
		"		type filter hook input priority filter; policy accept;\n"
		"		ip saddr { 1.1.1.1, 2.2.2.2 } accept # handle 7\n"
		"		ip saddr @s jump {\n"
		"			tcp dport { 1, 2 } drop\n"
		"		} # handle 11\n"
		"		ip saddr vmap { 1.1.1.1 : drop, 2.2.2.2 : jump x } # handle 13\n"
		"	}\n"
		"}\n"
		"table ip6 u { # handle 2\n"
		"}\n";
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	f.env.numeric = PRINT_HANDLES;
	if (fixture_load(&f, text, FIXTURE_COMMIT))
		fail_msg("%s", f.messages);
	char *got = fixture_listing(&f);
	assert_string_equal(got, want);
	free(got);
	fixture_free(&f);
}

static void rules_go_where_they_are_put(void **state)
{
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	f.env.numeric = PRINT_HANDLES;
	if (fixture_load(&f,
			 "add table t; add chain t c\n"
			 "add rule t c accept\n"
			 "add rule t c drop\n"
			 "replace rule t c handle 2 counter\n"
			 "insert rule t c index 1 log\n"
			 "add rule t c index 0 return\n"
			 "insert rule t c continue\n"
			 "add rule t c position 3 meta mark 1\n"
			 "insert rule t c position 3 meta mark 2\n"
			 "delete rule t c handle 4\n"
			 "list chain t c\n",
			 FIXTURE_COMMIT))
		fail_msg("%s", f.messages);
	assert_string_equal(f.out, "table ip t { # handle 1\n"
				   "	chain c { # handle 1\n"
				   "		continue # handle 6\n"
				   "		counter packets 0 bytes 0 # handle 2\n"
				   "		return # handle 5\n"
				   "		meta mark 0x00000002 # handle 8\n"
				   "		drop # handle 3\n"
				   "		meta mark 0x00000001 # handle 7\n"
				   "	}\n"
				   "}\n");
	fixture_free(&f);
}

struct print_case {
	const char *command, *text;
};

static const struct print_case prints[] = {
	{"list tables", "table ip t\n"},
	{"list tables ip6", ""},
	{"list chains", "table ip t {\n\tchain x {\n\t}\n\tchain y {\n\t\ttype filter hook input "
			"priority filter; policy accept;\n\t}\n\tchain z {\n\t}\n}\n"},
	{"list chain ip t x", "table ip t {\n\tchain x {\n\t\tcounter packets 0 bytes 0\n\t}\n}\n"},
	{"list set ip t s", "table ip t {\n\tset s {\n\t\ttype ipv4_addr\n\t\tflags "
			    "interval\n\t\telements = { 1.2.3.4, 10.0.0.0/8 }\n\t}\n}\n"},
	{"list map ip t om", "table ip t {\n\tmap om {\n\t\ttype ipv4_addr : counter\n\t\telements "
			     "= { 1.1.1.1 : \"c1\" }\n\t}\n}\n"},
	{"list counters",
	 "table ip t {\n\tcounter c1 {\n\t\tpackets 5 bytes 100\n\t}\n\tcounter c2 "
	 "{\n\t\tpackets 5 bytes 100\n\t}\n}\n"},
	{"list counters ip6", ""},
	{"list limits", "table ip t {\n}\n"},
	{"list flowtables", "table ip t {\n}\n"},
	{"list counter ip t c2", "table ip t {\n\tcounter c2 {\n\t\tpackets 5 bytes 100\n\t}\n}\n"},
	{"list quotas", "table ip t {\n\tquota q1 {\n\t\t10 mbytes\n\t}\n}\n"},
	{"get element ip t s { 10.1.1.1 }",
	 "table ip t {\n\tset s {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { "
	 "10.0.0.0/8 }\n\t}\n}\n"},
	{"delete element ip t am { 1.2.3.128-1.2.4.127 }; list set ip t am",
	 "table ip t {\n\tset am {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n\t\t"
	 "elements = { 1.2.3.0/25, 1.2.4.128/25 }\n\t}\n}\n"},
	{"flush chain ip t y; delete chain ip t z; list chains ip",
	 "table ip t {\n\tchain x {\n\t}\n\tchain y {\n\t\ttype filter hook input priority filter; "
	 "policy accept;\n\t}\n}\n"},
	{"add quota ip t q1 { over 5 mbytes; }; list quota ip t q1",
	 "table ip t {\n\tquota q1 {\n\t\tover 5 mbytes\n\t}\n}\n"},
	{"add counter ip t c1 { packets 9 bytes 9; }; list counter ip t c1",
	 "table ip t {\n\tcounter c1 {\n\t\tpackets 5 bytes 100\n\t}\n}\n"},
};

static void commands_print_what_nft_prints(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(prints); i++) {
		struct fixture f;

		assert_int_equal(fixture_init(&f), 0);
		assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
		if (fixture_load(&f, prints[i].command, FIXTURE_COMMIT))
			fail_msg("%s: %s", prints[i].command, f.messages);
		if (strcmp(f.out, prints[i].text))
			fail_msg("%s: %s", prints[i].command, f.out);
		fixture_free(&f);
	}
}

static void resets_print_and_then_take_effect(void **state)
{
	static const char five[] =
		"table ip t {\n\tcounter c1 {\n\t\tpackets 5 bytes 100\n\t}\n}\n";
	static const char none[] = "table ip t {\n\tcounter c1 {\n\t\tpackets 0 bytes 0\n\t}\n}\n";
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
	assert_int_equal(fixture_load(&f, "reset counter ip t c1", FIXTURE_ABORT), 0);
	assert_string_equal(f.out, five);
	assert_int_equal(fixture_load(&f, "reset counter ip t c1", FIXTURE_COMMIT), 0);
	assert_string_equal(f.out, five);
	assert_int_equal(fixture_load(&f, "list counter ip t c1", FIXTURE_COMMIT), 0);
	assert_string_equal(f.out, none);
	assert_int_equal(fixture_load(&f,
				      "add rule ip t z counter packets 3 bytes 4\n"
				      "add set ip t k { type ipv4_addr; counter; elements = { "
				      "1.1.1.1 counter packets 7 bytes 8 }; }",
				      FIXTURE_COMMIT),
			 0);
	assert_int_equal(fixture_load(&f, "reset rules chain ip t z", FIXTURE_COMMIT), 0);
	assert_non_null(strstr(f.out, "counter packets 3 bytes 4"));
	assert_int_equal(fixture_load(&f, "reset element ip t k { 1.1.1.1 }", FIXTURE_COMMIT), 0);
	assert_non_null(strstr(f.out, "1.1.1.1 counter packets 7 bytes 8"));
	char *all = fixture_listing(&f);
	assert_null(strstr(all, "packets 3"));
	assert_null(strstr(all, "packets 7"));
	free(all);
	fixture_free(&f);
}

static void errors_of_the_first_kind_hide_those_of_the_kernel(void **state)
{
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
	assert_int_equal(
		fixture_load(&f, "add rule ip t nope accept\nadd chain ip nope x", FIXTURE_COMMIT),
		-EINVAL);
	assert_null(strstr(f.messages, "Could not process rule"));
	assert_non_null(strstr(f.messages, "No such file or directory"));
	assert_int_equal(
		fixture_load(&f,
			     "delete chain ip t nope1234\ndelete chain ip t y\ndelete table "
			     "ip nope1234",
			     FIXTURE_COMMIT),
		-EINVAL);
	assert_non_null(strstr(f.messages, "delete chain ip t nope1234\n"));
	assert_non_null(strstr(f.messages, "delete table ip nope1234\n"));
	fixture_free(&f);
}

/* A jump from the base chain, and `n` chains below it. */
static char *ladder(unsigned n)
{
	struct strbuf b = STRBUF_INIT;

	strbuf_puts(&b, "table ip t {\n");
	for (unsigned i = 1; i <= n; i++) {
		strbuf_printf(&b, "	chain c%u {\n", i);
		if (i < n)
			strbuf_printf(&b, "		jump c%u\n", i + 1);
		strbuf_puts(&b, "	}\n");
	}
	strbuf_puts(&b, "	chain b {\n		type filter hook input priority 0;\n"
			"		jump c1\n	}\n}\n");
	return strbuf_take(&b);
}

static void jumps_nest_fifteen_deep(void **state)
{
	for (unsigned n = 14; n <= 17; n++) {
		struct fixture f;
		char *text = ladder(n);

		assert_int_equal(fixture_init(&f), 0);
		assert_int_equal(fixture_load(&f, text, FIXTURE_COMMIT), n <= 15 ? 0 : -EINVAL);
		if (n > 15)
			assert_non_null(strstr(f.messages, "Too many links"));
		free(text);
		fixture_free(&f);
	}
}

static void expired_elements_hold_nothing(void **state)
{
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(
		fixture_load(&f,
			     "table ip t { chain c { }\n"
			     "map m { type ipv4_addr : verdict; flags timeout; elements = { "
			     "1.1.1.1 timeout 1s : jump c }; }\n}",
			     FIXTURE_COMMIT),
		0);
	assert_int_equal(fixture_load(&f, "delete chain ip t c", FIXTURE_COMMIT), -EINVAL);
	f.now += UINT64_C(2000000000);
	assert_int_equal(fixture_load(&f, "delete chain ip t c", FIXTURE_COMMIT), 0);
	fixture_free(&f);
}

static void json_lists_chains_before_sets_and_rules_last(void **state)
{
	static const char *const kinds[] = {
		"metainfo", "table", "chain", "chain", "chain", "counter", "counter", "quota",
		"set",	    "set",   "set",   "set",   "set",	"map",	   "map",     "map",
		"rule",	    "rule",  "rule",  "rule",  "rule",	"rule"};
	struct fixture f;

	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, base, FIXTURE_COMMIT), 0);
	struct strbuf text = STRBUF_INIT;
	assert_int_equal(model_list_json(f.m, f.now, &text), 0);
	json_t *root = json_loads(strbuf_str(&text), JSON_REJECT_DUPLICATES, NULL);
	strbuf_free(&text);
	assert_non_null(root);
	json_t *list = json_object_get(root, "nftables");
	assert_int_equal(json_array_size(list), ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_non_null(json_object_get(json_array_get(list, i), kinds[i]));
	json_decref(root);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_do_what_nft_does),
		cmocka_unit_test(handles_count_as_in_the_kernel),
		cmocka_unit_test(rules_go_where_they_are_put),
		cmocka_unit_test(commands_print_what_nft_prints),
		cmocka_unit_test(resets_print_and_then_take_effect),
		cmocka_unit_test(errors_of_the_first_kind_hide_those_of_the_kernel),
		cmocka_unit_test(jumps_nest_fifteen_deep),
		cmocka_unit_test(expired_elements_hold_nothing),
		cmocka_unit_test(json_lists_chains_before_sets_and_rules_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
