/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_acl_random: random changes of entries, ACLs and contexts, in single calls and transactions
 * that are committed or taken back. After each, lookups agree with the plain model; now and then
 * they agree with a fresh engine that was given the same final state, and the counts with those
 * that were counted for each entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl_model.h"

enum { FRESH_EVERY = 300 };

static unsigned steps = 10000;
static uint64_t seed = 20240517;

struct world {
	uint64_t seed;
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx[MODEL_CONTEXTS];
	struct tamis_acl_worker *w;
	struct model *m, *before; /* of the open transaction */
	bool open;
};

static unsigned pick(struct world *x, unsigned n)
{
	return (unsigned)(model_random(&x->seed) % n);
}

static void compare(struct world *x, struct tamis_acl_context *const *ctx,
		    struct tamis_acl_worker *w, struct model *m, bool handles)
{
	struct tamis_acl_key keys[TAMIS_BURST_MAX];
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];
	unsigned c = pick(x, MODEL_CONTEXTS);
	uint64_t mask = model_random(&x->seed) | model_random(&x->seed);
	uint32_t acl;

	for (unsigned i = 0; i < TAMIS_BURST_MAX; i++)
		model_key(&x->seed, &keys[i]);
	uint64_t found = tamis_acl_lookup(w, ctx[c], keys, mask, hits);
	assert_int_equal(found & ~mask, 0);
	for (unsigned i = 0; i < TAMIS_BURST_MAX; i++) {
		if (!(mask >> i & 1))
			continue;
		struct model_entry *e =
			model_lookup(m, m->contexts[c].acls, m->contexts[c].n, &keys[i], &acl);

		assert_int_equal(found >> i & 1, e != NULL);
		if (!e)
			continue;
		assert_int_equal(hits[i].acl, acl);
		assert_int_equal(hits[i].action, e->rule.action);
		if (!handles)
			continue;
		assert_int_equal(hits[i].entry, e->handle);
		tamis_acl_count(w, hits[i].entry, i);
		e->packets++;
		e->bytes += i;
	}
	tamis_acl_quiescent(w);
}

struct take {
	struct model_acl *a;
	unsigned n;
};

/* Takes over handles, and compares rules and counts, of what the engine says is there. */
static int take_entry(void *arg, const struct tamis_acl_entry *e)
{
	struct take *t = arg;
	struct model_entry *m = &t->a->entries[t->n];

	assert_int_equal(e->position, t->n++);
	assert_true(t->n <= t->a->n);
	assert_int_equal(e->rule.action, m->rule.action);
	assert_int_equal(e->rule.dport_first, m->rule.dport_first);
	if (m->handle)
		assert_int_equal(e->handle, m->handle);
	assert_int_equal(e->count.packets, m->packets);
	assert_int_equal(e->count.bytes, m->bytes);
	m->handle = e->handle;
	return 0;
}

static void take_acl(struct world *x, uint32_t acl)
{
	struct take t = {&x->m->acls[acl], 0};

	assert_int_equal(tamis_acl_entry_each(x->acls, acl, take_entry, &t), 0);
	assert_int_equal(t.n, t.a->n);
}

static unsigned acl_at(struct world *x)
{
	unsigned i = pick(x, MODEL_ACLS);

	while (!x->m->acls[i].there)
		i = (i + 1) % MODEL_ACLS;
	return i;
}

static bool same_rule(const struct tamis_acl_rule *a, const struct tamis_acl_rule *b)
{
	return memcmp(a, b, offsetof(struct tamis_acl_rule, tcp_mask) + 1) == 0 &&
	       memcmp(&a->sport_first, &b->sport_first, 4 * sizeof(a->sport_first)) == 0;
}

/* Which of equal rules stays is not for the model to say: there are none. */
static bool has_rule(const struct model_acl *a, const struct tamis_acl_rule *r)
{
	for (unsigned i = 0; i < a->n; i++)
		if (same_rule(&a->entries[i].rule, r))
			return true;
	return false;
}

static void entry_change(struct world *x)
{
	unsigned i = acl_at(x);
	struct model_acl *a = &x->m->acls[i];
	unsigned at = pick(x, a->n + 1), what = pick(x, 4);
	struct model_entry e = {0};

	model_rule(&x->seed, &e.rule);
	if (has_rule(a, &e.rule))
		return;
	if (what < 2 && a->n < MODEL_ENTRIES) {
		tamis_acl_handle before = at < a->n ? a->entries[at].handle : 0;

		assert_int_equal(tamis_acl_insert(x->acls, i, before, &e.rule, &e.handle), 0);
		memmove(&a->entries[at + 1], &a->entries[at],
			(a->n++ - at) * sizeof(a->entries[0]));
		a->entries[at] = e;
	} else if (what == 2 && at < a->n) {
		assert_int_equal(tamis_acl_remove(x->acls, a->entries[at].handle), 0);
		assert_int_equal(tamis_acl_remove(x->acls, a->entries[at].handle), -ENOENT);
		memmove(&a->entries[at], &a->entries[at + 1],
			(--a->n - at) * sizeof(a->entries[0]));
	} else if (at < a->n) {
		tamis_acl_handle old = a->entries[at].handle;

		assert_int_equal(tamis_acl_replace(x->acls, old, &e.rule, &e.handle), 0);
		assert_int_not_equal(e.handle, old);
		a->entries[at] = e;
	}
}

/* The whole list again, a little other than it was; what did not change keeps its counts. */
static void acl_change(struct world *x)
{
	static struct tamis_acl_rule rules[MODEL_ENTRIES];
	static struct model_acl after;
	uint32_t i = acl_at(x);
	struct model_acl *a = &x->m->acls[i];
	unsigned n = 0, keep = pick(x, 8);
	/* Some sizes on either side of where an ACL gets a table of its own. */
	unsigned grow = pick(x, 12) ? pick(x, 4) : 100 + pick(x, 200);

	after.there = true;
	after.n = 0;
	for (unsigned e = 0; e < a->n && n < MODEL_ENTRIES; e++) {
		if (pick(x, 8) > keep)
			continue;
		after.entries[n++] = a->entries[e];
	}
	for (unsigned g = 0; g < grow && n < MODEL_ENTRIES; g++) {
		unsigned at = pick(x, n + 1);
		struct model_entry e = {0};

		model_rule(&x->seed, &e.rule);
		after.n = n;
		if (has_rule(a, &e.rule) || has_rule(&after, &e.rule))
			continue;
		memmove(&after.entries[at + 1], &after.entries[at],
			(n++ - at) * sizeof(after.entries[0]));
		after.entries[at] = e;
	}
	after.n = n;
	for (unsigned e = 0; e < n; e++)
		rules[e] = after.entries[e].rule;
	assert_int_equal(tamis_acl_put(x->acls, &i, "again", rules, n), 0);
	*a = after;
	if (n) {
		struct tamis_acl_info info;

		assert_int_equal(tamis_acl_get(x->acls, i, &info), 0);
		assert_int_equal(info.entries, n);
	}
}

static int handle_only(void *arg, const struct tamis_acl_entry *e)
{
	struct take *t = arg;
	struct model_entry *m = &t->a->entries[t->n++];

	/* One that stays has its handle and its counts; a new one none. */
	if (m->handle && m->handle != e->handle)
		fail_msg("entry %u of %u was replaced: %lx is %lx", t->n - 1, t->a->n,
			 (unsigned long)m->handle, (unsigned long)e->handle);
	m->handle = e->handle;
	m->packets = e->count.packets;
	m->bytes = e->count.bytes;
	return 0;
}

static void acl_new_or_gone(struct world *x)
{
	uint32_t i = pick(x, MODEL_ACLS);
	struct model_acl *a = &x->m->acls[i];
	unsigned used = 0, there = 0;
	int err;

	for (unsigned k = 0; k < MODEL_ACLS; k++)
		there += x->m->acls[k].there;
	for (unsigned c = 0; c < MODEL_CONTEXTS; c++)
		for (unsigned k = 0; k < x->m->contexts[c].n; k++)
			used += x->m->contexts[c].acls[k] == i;
	if (a->there && (used || there > 1)) {
		err = tamis_acl_delete(x->acls, i);
		assert_int_equal(err, used ? -EBUSY : 0);
		a->there = used;
		if (!used)
			a->n = 0;
	} else if (!a->there) {
		uint32_t lowest = 0, index = pick(x, 2) ? i : TAMIS_ACL_NEW;
		struct tamis_acl_rule rule;

		while (x->m->acls[lowest].there)
			lowest++;
		model_rule(&x->seed, &rule);
		if (index == TAMIS_ACL_NEW)
			i = lowest;
		assert_int_equal(tamis_acl_put(x->acls, &index, NULL, &rule, 1), 0);
		assert_int_equal(index, i);
		a = &x->m->acls[i];
		*a = (struct model_acl){.there = true, .n = 1};
		a->entries[0].rule = rule;
		take_acl(x, i);
	}
}

static void context_change(struct world *x)
{
	unsigned c = pick(x, MODEL_CONTEXTS), what = pick(x, 8);
	unsigned n = x->m->contexts[c].n, at = pick(x, n + 1);
	uint32_t *list = x->m->contexts[c].acls;
	uint32_t acl = acl_at(x), before = at < n ? list[at] : TAMIS_ACL_END;
	unsigned old = 0;

	while (old < n && list[old] != acl)
		old++;
	if (what < 4) {
		int err = tamis_acl_context_insert(x->ctx[c], acl, before);

		assert_int_equal(err, old < n ? -EEXIST : 0);
		if (err)
			return;
		memmove(list + at + 1, list + at, (n - at) * sizeof(*list));
		list[at] = acl;
		x->m->contexts[c].n++;
	} else if (what == 4) {
		int err = tamis_acl_context_remove(x->ctx[c], acl);

		assert_int_equal(err, old < n ? 0 : -ENOENT);
		if (err)
			return;
		memmove(list + old, list + old + 1, (n - old - 1) * sizeof(*list));
		x->m->contexts[c].n--;
	} else if (what < 7) {
		int err = tamis_acl_context_move(x->ctx[c], acl, before);

		assert_int_equal(err, old < n ? 0 : -ENOENT);
		if (err || before == acl)
			return;
		memmove(list + old, list + old + 1, (n - old - 1) * sizeof(*list));
		at -= at > old;
		memmove(list + at + 1, list + at, (n - 1 - at) * sizeof(*list));
		list[at] = acl;
	} else {
		n = 0;
		for (unsigned i = 0; i < MODEL_ACLS; i++)
			if (x->m->acls[i].there && pick(x, 4) == 0)
				list[n++] = i;
		for (unsigned i = n; i > 1; i--) {
			unsigned k = pick(x, i);
			uint32_t t = list[i - 1];

			list[i - 1] = list[k];
			list[k] = t;
		}
		assert_int_equal(tamis_acl_context_set(x->ctx[c], list, n), 0);
		x->m->contexts[c].n = n;
	}
}

static void transaction(struct world *x)
{
	unsigned what = pick(x, 3);

	if (!x->open) {
		assert_int_equal(tamis_acls_begin(x->acls), 0);
		assert_int_equal(tamis_acls_begin(x->acls), -EBUSY);
		memcpy(x->before, x->m, sizeof(*x->m));
	} else if (what) {
		assert_int_equal(tamis_acls_commit(x->acls), 0);
	} else {
		tamis_acls_abort(x->acls);
		/* What was counted meanwhile was counted in the model that is current again. */
		memcpy(x->m, x->before, sizeof(*x->m));
	}
	x->open = !x->open;
}

/* The same final state in an engine that never had another. */
static void fresh(struct world *x)
{
	static struct tamis_acl_rule rules[MODEL_ENTRIES];
	struct tamis_acl_context *ctx[MODEL_CONTEXTS];
	struct tamis_acl_worker *w;
	struct tamis_acls *acls;
	uint32_t list[MODEL_ACLS];

	assert_int_equal(tamis_acls_new(NULL, &acls), 0);
	tamis_acls_fragments_set(acls, x->m->fragments);
	assert_int_equal(tamis_acl_worker_new(acls, "fresh", &w), 0);
	for (uint32_t i = 0; i < MODEL_ACLS; i++) {
		for (unsigned e = 0; e < x->m->acls[i].n; e++)
			rules[e] = x->m->acls[i].entries[e].rule;
		if (x->m->acls[i].there)
			assert_int_equal(tamis_acl_put(acls, &i, "fresh", rules, x->m->acls[i].n),
					 0);
	}
	for (unsigned c = 0; c < MODEL_CONTEXTS; c++) {
		assert_int_equal(tamis_acl_context_new(acls, &ctx[c]), 0);
		assert_int_equal(
			tamis_acl_context_set(ctx[c], x->m->contexts[c].acls, x->m->contexts[c].n),
			0);
		assert_int_equal(tamis_acl_context_list(x->ctx[c], list, MODEL_ACLS),
				 x->m->contexts[c].n);
		assert_memory_equal(list, x->m->contexts[c].acls,
				    x->m->contexts[c].n * sizeof(list[0]));
	}
	for (unsigned i = 0; i < 20; i++)
		compare(x, ctx, w, x->m, false);
	for (unsigned c = 0; c < MODEL_CONTEXTS; c++)
		tamis_acl_context_free(ctx[c]);
	tamis_acl_worker_free(w);
	tamis_acls_free(acls);
}

static void step(struct world *x)
{
	unsigned what = pick(x, 100);
	uint32_t i;

	if (what < 50) {
		entry_change(x);
	} else if (what < 60) {
		struct take t;

		i = acl_at(x);
		acl_change(x);
		for (i = 0; i < MODEL_ACLS; i++) {
			t = (struct take){&x->m->acls[i], 0};
			if (x->m->acls[i].there)
				tamis_acl_entry_each(x->acls, i, handle_only, &t);
		}
	} else if (what < 66) {
		acl_new_or_gone(x);
	} else if (what < 88) {
		context_change(x);
	} else if (what < 90) {
		x->m->fragments = !x->m->fragments;
		x->before->fragments = x->m->fragments;
		tamis_acls_fragments_set(x->acls, x->m->fragments);
	} else {
		transaction(x);
	}
}

static void random_changes(void **state)
{
	struct world x = {.seed = seed};
	uint32_t first = 0;
	struct tamis_acl_rule rule;

	x.m = calloc(1, sizeof(*x.m));
	x.before = calloc(1, sizeof(*x.m));
	assert_non_null(x.m);
	assert_non_null(x.before);
	x.m->fragments = true;
	assert_int_equal(tamis_acls_new(NULL, &x.acls), 0);
	assert_int_equal(tamis_acl_worker_new(x.acls, "w", &x.w), 0);
	for (unsigned c = 0; c < MODEL_CONTEXTS; c++)
		assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx[c]), 0);
	model_rule(&x.seed, &rule);
	assert_int_equal(tamis_acl_put(x.acls, &first, NULL, &rule, 1), 0);
	x.m->acls[0].there = true;
	x.m->acls[0].n = 1;
	x.m->acls[0].entries[0].rule = rule;
	take_acl(&x, 0);
	for (unsigned i = 0; i < steps; i++) {
		step(&x);
		/* A transaction that is open shows nothing. */
		if (x.open)
			compare(&x, x.ctx, x.w, x.before, false);
		else
			compare(&x, x.ctx, x.w, x.m, true);
		if (!x.open && i % FRESH_EVERY == 0) {
			for (uint32_t a = 0; a < MODEL_ACLS; a++)
				if (x.m->acls[a].there)
					take_acl(&x, a);
			fresh(&x);
		}
	}
	for (unsigned c = 0; c < MODEL_CONTEXTS; c++)
		tamis_acl_context_free(x.ctx[c]);
	tamis_acl_worker_free(x.w);
	tamis_acls_free(x.acls);
	free(x.m);
	free(x.before);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
	};

	if (argc > 1)
		steps = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
