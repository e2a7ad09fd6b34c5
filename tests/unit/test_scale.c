/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file of many elements takes, from its text to the model and back to text and JSON, grows
 * with their number and no faster. Allocations and their bytes are counted, not time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "model_fixture.h"

struct taken {
	uint64_t calls, bytes;
};

static struct taken taken(void)
{
	return (struct taken){memory.calls, memory.bytes};
}

struct form {
	const char *head, *element;
};

/* A set of n elements is read and listed. */
static struct taken load(const struct form *form, unsigned n)
{
	struct strbuf text = STRBUF_INIT, out = STRBUF_INIT, json = STRBUF_INIT;
	struct taken before, after;
	struct fixture f;

	strbuf_printf(&text, "table t {\n\t%s\n\t\telements = { ", form->head);
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&text, form->element, i >> 16 & 255, i >> 8 & 255, i & 255);
	strbuf_puts(&text, "}\n\t}\n}\n");
	before = taken();
	assert_int_equal(fixture_init(&f), 0);
	assert_int_equal(fixture_load(&f, strbuf_str(&text), FIXTURE_COMMIT), 0);
	model_list(f.m, f.now, &out);
	assert_true(out.len > n * 10);
	assert_int_equal(model_list_json(f.m, f.now, &json), 0);
	fixture_free(&f);
	after = taken();
	strbuf_free(&text);
	strbuf_free(&out);
	strbuf_free(&json);
	return (struct taken){after.calls - before.calls, after.bytes - before.bytes};
}

static void many_elements_cost_in_proportion(void **state)
{
	static const struct form forms[] = {
		{"set s { type ipv4_addr; ", "10.%u.%u.%u, "},
		{"set s { type ipv4_addr; flags interval; ", "10.%u.%u.%u, "},
		{"set s { type ipv4_addr; counter; ", "10.%u.%u.%u, "},
		{"set s { type ipv4_addr; ", "10.%u.%u.%u comment \"x\", "},
		{"map m { type ipv4_addr : mark; ", "10.%u.%u.%u : 1, "},
	};
	enum { FEW = 3000, TIMES = 10 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		struct taken few = load(&forms[i], FEW), many = load(&forms[i], FEW * TIMES);

		/* Vectors, blocks and tables double: twice as much may be asked for. */
		if (many.calls > 2 * TIMES * few.calls || many.bytes > 2 * TIMES * few.bytes)
			fail_msg("%s: %ju and %ju calls, %ju and %ju bytes", forms[i].head,
				 few.calls, many.calls, few.bytes, many.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_elements_cost_in_proportion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
