/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_acl_memory: every allocation of a change of ACLs and contexts fails once, alone and with all
 * behind it: the change says so and everything is as it was, or it did without and is as it should
 * be. Also of commands in VPP's language.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl_model.h"
#include "compat/vpp.h"
#include "failing_memory.h"

enum { RULES = 200, KEYS = 10 };

struct world {
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx[2];
	struct tamis_acl_worker *w;
	struct tamis_acl_rule rules[RULES];
	tamis_acl_handle first; /* entry of ACL 0 */
};

static int first_of(void *arg, const struct tamis_acl_entry *e)
{
	*(tamis_acl_handle *)arg = e->handle;
	return 1;
}

static void world_begin(struct world *x)
{
	const uint32_t lists[2][3] = {{0, 1, 2}, {2, 0}};
	uint64_t seed = 3;

	assert_int_equal(tamis_acls_new(NULL, &x->acls), 0);
	for (unsigned i = 0; i < RULES; i++)
		model_rule(&seed, &x->rules[i]);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t index = i;

		assert_int_equal(
			tamis_acl_put(x->acls, &index, "old", x->rules + i, i == 2 ? RULES - i : 5),
			0);
	}
	for (unsigned c = 0; c < 2; c++) {
		assert_int_equal(tamis_acl_context_new(x->acls, &x->ctx[c]), 0);
		assert_int_equal(tamis_acl_context_set(x->ctx[c], lists[c], 3 - c), 0);
	}
	assert_int_equal(tamis_acl_worker_new(x->acls, "w", &x->w), 0);
	tamis_acl_entry_each(x->acls, 0, first_of, &x->first);
}

static void world_end(struct world *x)
{
	tamis_acl_worker_free(x->w);
	tamis_acl_context_free(x->ctx[0]);
	tamis_acl_context_free(x->ctx[1]);
	tamis_acls_free(x->acls);
}

/* All that can be asked of it, as bytes. */
struct state {
	uint64_t sum;
	uint32_t lists[2][8];
	size_t n[2];
};

static void mix(uint64_t *sum, uint64_t v)
{
	*sum = (*sum ^ v) * 0x9e3779b97f4a7c15 + (*sum >> 29);
}

static int sum_entry(void *arg, const struct tamis_acl_entry *e)
{
	mix(arg, e->handle);
	mix(arg, e->rule.dport_first);
	mix(arg, e->position);
	return 0;
}

struct walk {
	struct tamis_acls *acls;
	uint64_t *sum;
};

static int sum_acl(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg;

	mix(w->sum, acl->index);
	mix(w->sum, acl->entries);
	mix(w->sum, acl->contexts);
	mix(w->sum, (uint64_t)acl->tag[0]);
	return tamis_acl_entry_each(w->acls, acl->index, sum_entry, w->sum);
}

static struct state state_of(struct world *x)
{
	struct tamis_acl_key keys[TAMIS_BURST_MAX];
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];
	struct state s = {.sum = 1};
	struct walk w = {x->acls, &s.sum};
	uint64_t seed = 9;

	tamis_acl_each(x->acls, sum_acl, &w);
	for (unsigned c = 0; c < 2; c++) {
		s.n[c] = tamis_acl_context_list(x->ctx[c], s.lists[c], 8);
		for (unsigned k = 0; k < KEYS; k++) {
			for (unsigned i = 0; i < TAMIS_BURST_MAX; i++)
				model_key(&seed, &keys[i]);
			uint64_t found =
				tamis_acl_lookup(x->w, x->ctx[c], keys, ~UINT64_C(0), hits);
			mix(&s.sum, found);
			for (; found; found &= found - 1)
				mix(&s.sum, hits[__builtin_ctzll(found)].entry);
		}
	}
	return s;
}

static int insert(struct world *x)
{
	tamis_acl_handle h;

	return tamis_acl_insert(x->acls, 0, x->first, &x->rules[50], &h);
}

/* More than there is room for in pools. */
static int insert_many(struct world *x)
{
	int err = tamis_acls_begin(x->acls), ended;
	tamis_acl_handle h;

	for (unsigned i = 0; !err && i < RULES; i++)
		err = tamis_acl_insert(x->acls, 0, i % 2 ? x->first : 0, &x->rules[i], &h);
	ended = tamis_acls_commit(x->acls);
	return err ? err : ended;
}

static int replace(struct world *x)
{
	tamis_acl_handle h;

	return tamis_acl_replace(x->acls, x->first, &x->rules[50], &h);
}

static int take(struct world *x)
{
	return tamis_acl_remove(x->acls, x->first);
}

static int grow(struct world *x)
{
	uint32_t index = 0;

	return tamis_acl_put(x->acls, &index, "new", x->rules, RULES);
}

static int shrink(struct world *x)
{
	uint32_t index = 2;

	return tamis_acl_put(x->acls, &index, "new", x->rules + 30, 4);
}

static int make(struct world *x)
{
	uint32_t index = TAMIS_ACL_NEW;

	return tamis_acl_put(x->acls, &index, NULL, x->rules, 3);
}

static int context(struct world *x)
{
	const uint32_t list[] = {3, 2, 1};

	return tamis_acl_context_set(x->ctx[0], list, 3);
}

static int transaction(struct world *x)
{
	uint32_t index = TAMIS_ACL_NEW;
	int err = tamis_acls_begin(x->acls);

	if (err)
		return err;
	tamis_acl_put(x->acls, &index, "t", x->rules + 9, 9);
	if (index != TAMIS_ACL_NEW)
		tamis_acl_context_insert(x->ctx[1], index, 0);
	tamis_acl_context_move(x->ctx[0], 2, 0);
	tamis_acl_context_remove(x->ctx[1], 2);
	index = 1;
	tamis_acl_put(x->acls, &index, "t", x->rules, 150);
	tamis_acl_remove(x->acls, x->first);
	tamis_acl_delete(x->acls, 3);
	return tamis_acls_commit(x->acls);
}

static void each_allocation_fails(void **state)
{
	static int (*const changes[])(struct world *) = {
		insert, insert_many, replace, take, grow, shrink, make, context, transaction};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct state done;
		struct world x;
		unsigned refused = 0;

		world_begin(&x);
		assert_int_equal(changes[i](&x), 0);
		done = state_of(&x);
		world_end(&x);
		for (unsigned rest = 0; rest < 2; rest++)
			for (uint64_t left = 0;; left += left < 40 ? 1 : 1 + left / 16) {
				world_begin(&x);
				struct state before = state_of(&x);

				memory_arm(left, rest);
				int err = changes[i](&x);
				memory_disarm();
				struct state after = state_of(&x);

				assert_true(err == 0 || err == -ENOMEM);
				assert_memory_equal(&after, err ? &before : &done, sizeof(after));
				refused += err != 0;
				world_end(&x);
				if (!memory.hit)
					break;
			}
		/* One entry may find all that it needs in pools. */
		assert_true(refused > 0 || changes[i] == take || changes[i] == insert ||
			    changes[i] == replace);
	}
}

static void commands(void **state)
{
	static const char before[] = "set acl-plugin acl index 0 tag a permit src 10.0.0.0/8\n"
				     "set acl-plugin interface x input acl 0\n";
	static const char text[] =
		"set acl-plugin acl index 0 tag b deny src 10.0.0.0/8 desc why, permit proto 6\n"
		"set acl-plugin acl permit src ::/0\nset acl-plugin interface x input acl 1\n"
		"set acl-plugin macip acl permit ip 10.0.0.0/8\nset acl-plugin macip interface y "
		"acl 0\nset acl-plugin session timeout udp idle 9\ncreate loopback\n"
		"show acl-plugin acl\n";

	for (uint64_t left = 0;; left++) {
		struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT, list = STRBUF_INIT;
		struct tamis *t;

		assert_int_equal(tamis_new(NULL, &t), 0);
		assert_int_equal(
			vpp_exec_text(t, "f", before, sizeof(before) - 1, 0, &out, &messages), 0);
		memory_arm(left, false);
		int err = vpp_exec_text(t, "f", text, sizeof(text) - 1, 0, &out, &messages);
		memory_disarm();
		assert_true(err == 0 || err == -ENOMEM);
		assert_int_equal(vpp_list(t, &list), 0);
		if (err)
			assert_string_equal(strbuf_str(&list), before);
		else
			assert_non_null(strstr(strbuf_str(&list), "macip interface y acl 0"));
		strbuf_free(&out);
		strbuf_free(&messages);
		strbuf_free(&list);
		tamis_free(t);
		if (!memory.hit)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails),
		cmocka_unit_test(commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
