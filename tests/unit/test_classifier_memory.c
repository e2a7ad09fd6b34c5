/* SPDX-License-Identifier: Apache-2.0 */
/* The classifier without memory: a change is made or it is not, and the next one can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl/classifier.h"
#include "classifier_model.h"
#include "failing_memory.h"

static struct model model;
static uint64_t seed, version;

static void compare(const struct classifier *c)
{
	for (unsigned i = 0; i < 40; i++) {
		struct cls_key key;
		const struct cls_entry *hit = NULL;
		model_key(&seed, &key);
		unsigned want = model_lookup(&model, &key, 0);
		uint64_t found = classifier_lookup(c, version, &key, 1, NULL, &hit);
		assert_int_equal(found, want < model.n);
		if (found)
			assert_ptr_equal(hit->cookie, model.r[want]);
	}
}

static void commit(struct classifier *c)
{
	version++;
	classifier_commit(c);
}

static void every_allocation_fails_once(void **s)
{
	struct classifier *c;
	int err;

	for (uint64_t left = 0;; left++) {
		memory_arm(left, true);
		err = classifier_new(&(struct classifier_config){.version = &version}, &c);
		memory.armed = false;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
	}
	for (unsigned turn = 0; turn < 900; turn++) {
		struct model_rule *r = calloc(1, sizeof(*r));
		unsigned at = (unsigned)(model_random(&seed) % (model.n + 1));
		model_rule(&seed, r);
		uint64_t left = 0;
		do {
			struct cls_entry *before = at < model.n ? model.r[at]->entry : NULL;
			memory_arm(left++, turn & 1);
			err = classifier_insert(c, before, r->none ? NULL : &r->rule, r, &r->entry);
			memory.armed = false;
			assert_true(!err || err == -ENOMEM);
			if (err && left % 4 == 1) {
				commit(c);
				compare(c);
			}
		} while (err);
		model_insert(&model, at, r);
		memory_arm(0, true);
		commit(c);
		memory.armed = false;
		if (turn % 3 == 0) {
			at = (unsigned)(model_random(&seed) % model.n);
			memory_arm(0, true);
			classifier_delete(c, model.r[at]->entry);
			commit(c);
			memory.armed = false;
			free(model.r[at]);
			model_delete(&model, at);
		}
		if (turn % 50 == 0)
			compare(c);
	}
	compare(c);
	classifier_free(c);
	while (model.n)
		free(model.r[--model.n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
