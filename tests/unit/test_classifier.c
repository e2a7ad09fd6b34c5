/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classifier against the naive reference: random rules, keys, changes; versions; limits. The
 * seed is fixed; TAMIS_SEED gives another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl/classifier_internal.h"
#include "rcu/rcu.h"
#include "classifier_model.h"

static struct model model;
static uint64_t seed, version;

static struct classifier *make(const struct classifier_config *config)
{
	struct classifier_config own = *config;
	struct classifier *c;

	own.version = &version;
	assert_int_equal(classifier_new(&own, &c), 0);
	return c;
}

static void commit(struct classifier *c)
{
	version++;
	classifier_commit(c);
}

static void insert(struct classifier *c, unsigned at)
{
	struct model_rule *r = calloc(1, sizeof(*r));
	model_rule(&seed, r);
	assert_int_equal(classifier_insert(c, at < model.n ? model.r[at]->entry : NULL,
					   r->none ? NULL : &r->rule, r, &r->entry),
			 0);
	model_insert(&model, at, r);
}

static void drop(void *ctx, void *cookie)
{
	free(cookie);
}

static void delete (struct classifier *c, unsigned at)
{
	classifier_delete(c, model.r[at]->entry);
	model_delete(&model, at);
}

/* A burst of random keys: the first match, and all that follow it. */
static void compare_burst(struct classifier *c, unsigned follow)
{
	struct cls_key keys[CLS_BURST];
	const struct cls_entry *hit[CLS_BURST], *after[CLS_BURST];
	unsigned from[CLS_BURST];
	uint64_t mask = model_random(&seed) | model_random(&seed);

	for (unsigned i = 0; i < CLS_BURST; i++) {
		model_key(&seed, &keys[i]);
		if (c->config.without && model_random(&seed) & 1) {
			keys[i].without = c->config.without;
			keys[i].has &= ~(uint32_t)c->config.without;
			keys[i].w[CLS_AT_DPORT / 32] = 0;
			keys[i].w[CLS_AT_TCP_FLAGS / 32] &=
				(UINT32_C(1) << CLS_AT_TCP_FLAGS % 32) - 1;
		}
		hit[i] = NULL;
		after[i] = NULL;
		from[i] = 0;
	}
	for (unsigned round = 0; round <= follow && mask; round++) {
		uint64_t found =
			classifier_lookup(c, version, keys, mask, round ? after : NULL, hit);
		assert_int_equal(found & ~mask, 0);
		for (unsigned i = 0; i < CLS_BURST; i++) {
			if (!(mask >> i & 1))
				continue;
			unsigned want = model_lookup(&model, &keys[i], from[i]);
			assert_int_equal(found >> i & 1, want < model.n);
			if (want < model.n)
				assert_ptr_equal(hit[i]->cookie, model.r[want]);
			after[i] = hit[i];
			from[i] = want + 1;
		}
		mask = found;
	}
}

static void walk(struct classifier *c)
{
	struct classifier_stats stats;
	unsigned n = 0;

	for (struct cls_entry *e = model.n ? model.r[0]->entry : NULL; e; e = classifier_next(c, e))
		assert_ptr_equal(e->cookie, model.r[n++]);
	assert_int_equal(n, model.n);
	classifier_stats_read(c, &stats);
	assert_int_equal(stats.entries, model.n);
}

static void answers_as_the_reference(void **s)
{
	struct classifier *c = make(&(struct classifier_config){.release = drop});
	static const unsigned sizes[] = {1, 5, 20, 100, 700, 2500};

	model.n = 0;
	for (unsigned k = 0; k < ARRAY_SIZE(sizes); k++) {
		while (model.n < sizes[k])
			insert(c, model_random(&seed) % (model.n + 1));
		commit(c);
		for (unsigned i = 0; i < 20; i++)
			compare_burst(c, 3);
	}
	compare_burst(c, 2000);
	walk(c);
	while (model.n) {
		for (unsigned i = 0; i < 100 && model.n; i++)
			delete (c, model_random(&seed) % model.n);
		commit(c);
		compare_burst(c, 3);
	}
	walk(c);
	classifier_free(c);
}

/* What later fragments do not have. */
enum { WITHOUT = 1 << CLS_SPORT | 1 << CLS_DPORT | 1 << CLS_TCP_FLAGS };

static void stays_right_while_it_changes(void **s)
{
	struct classifier *c =
		make(&(struct classifier_config){.release = drop, .without = WITHOUT});

	model.n = 0;
	for (unsigned i = 0; i < 1000000; i++) {
		unsigned swell = i / 3000 % 2 ? 30 : 70;
		if (model.n && model_random(&seed) % 100 >= swell)
			delete (c, model_random(&seed) % model.n);
		else if (model.n < 1000)
			insert(c, model_random(&seed) % 4 ? model_random(&seed) % (model.n + 1)
							  : model.n / 2);
		if (i % 8 == 0)
			commit(c);
		if (i % 1024 == 0) {
			commit(c);
			compare_burst(c, 2);
		}
	}
	walk(c);
	classifier_free(c);
}

/* Each kind of CPU's lookups give the same answers. */
static void variants_agree_on(uint8_t without)
{
	struct classifier *c =
		make(&(struct classifier_config){.release = drop, .without = without});
	static const struct cls_ops *const all[] = {
		&cls_scalar,
#ifdef __x86_64__
		&cls_avx2,
		&cls_avx512,
#endif
	};

	model.n = 0;
	while (model.n < 4000) {
		insert(c, model.n);
		if (model.n % 400)
			continue;
		commit(c);
		for (unsigned v = 0; v < ARRAY_SIZE(all); v++) {
			if (!all[v]->usable())
				continue;
			c->ops = all[v];
			for (unsigned i = 0; i < 10; i++)
				compare_burst(c, 1);
		}
	}
	classifier_free(c);
}

static void variants_agree(void **s)
{
	variants_agree_on(0);
	variants_agree_on(WITHOUT);
}

/* n rules of one condition each on values from..from + n, as ranges of `width`. */
static void rules_on(struct classifier *c, enum cls_field f, uint8_t family, unsigned n,
		     uint32_t from, uint32_t width, uint32_t step)
{
	for (unsigned i = 0; i < n; i++) {
		struct model_rule *r = calloc(1, sizeof(*r));
		r->conds[0] = (struct cls_cond){.field = (uint8_t)f,
						.a = {from + i * step},
						.b = {from + i * step + width - 1}};
		r->rule = (struct cls_rule){.family = family, .n = 1, .conds = r->conds};
		assert_int_equal(classifier_insert(c, NULL, &r->rule, r, &r->entry), 0);
		model_insert(&model, model.n, r);
	}
	commit(c);
}

/* Rules of one field, overlapping rules and equal rules end in shapes that can be searched. */
static void shapes_fit_the_rules(void **s)
{
	static const struct {
		enum cls_field field;
		uint8_t family;
		unsigned n;
		uint32_t from, width, step;
		unsigned longest; /* most entries in a chain */
	} cases[] = {
		{CLS_SADDR, CLS_IPV4, 5000, 0x0a000000, 1, 1, CLS_LANES},
		{CLS_DADDR, CLS_IPV4, 5000, 0x0a010000, 16, 16, CLS_LANES},
		{CLS_MARK, CLS_ANY, 5000, 7, 1, 1, CLS_LANES},
		{CLS_DPORT, CLS_ANY, 5000, 1, 1, 1, CLS_LANES},
		{CLS_DPORT, CLS_ANY, 600, 1, 50, 100, 40},
		{CLS_DPORT, CLS_ANY, 3000, 1, 30000, 1, 3000}, /* all of them overlap */
		{CLS_DPORT, CLS_ANY, 3000, 80, 1, 0, 3000},    /* all of them are equal */
	};

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct classifier *c = make(&(struct classifier_config){.release = drop});
		struct classifier_stats stats;
		model.n = 0;
		rules_on(c, cases[k].field, cases[k].family, cases[k].n, cases[k].from,
			 cases[k].width, cases[k].step);
		classifier_stats_read(c, &stats);
		assert_int_equal(stats.entries, cases[k].n);
		if (stats.longest > cases[k].longest)
			print_error("case %u: longest %u, depth %u, tables %u\n", k, stats.longest,
				    stats.depth, stats.tables);
		assert_true(stats.longest <= cases[k].longest);
		for (unsigned i = 0; i < 10; i++) {
			struct cls_key key = {.family = CLS_IPV4,
					      .has = UINT32_C(1) << cases[k].field};
			const struct cls_entry *hit = NULL;
			unsigned at = (unsigned)(model_random(&seed) % cases[k].n);
			const struct model_field *f = &model_fields[cases[k].field];
			key.w[f->word] = (cases[k].from + at * cases[k].step) << f->shift;
			unsigned want = model_lookup(&model, &key, 0);
			assert_int_equal(classifier_lookup(c, version, &key, 1, NULL, &hit), 1);
			assert_ptr_equal(hit->cookie, model.r[want]);
		}
		/* All go, from anywhere, and nothing is left. */
		while (model.n)
			delete (c, (unsigned)(model_random(&seed) % model.n));
		commit(c);
		classifier_stats_read(c, &stats);
		assert_int_equal(stats.entries, 0);
		assert_int_equal(stats.copies, 0);
		assert_int_equal(stats.leaves, 0);
		classifier_free(c);
	}
}

/* What nothing tells apart is refused beyond a limit, and what is there stays as it was. */
static void chains_have_a_limit(void **s)
{
	struct classifier *c = make(&(struct classifier_config){.max_chain = 100});
	struct classifier_stats stats;
	struct cls_cond cond = {.field = CLS_MARK};
	const struct cls_rule rule = {.n = 1, .conds = &cond};
	struct cls_entry *e, *first = NULL;
	unsigned refused = 0;

	for (unsigned i = 0; i < 300; i++) {
		cond.a[0] = i + 1;
		cond.b[0] = 3000000000 - i;
		int err = classifier_insert(c, i & 1 ? first : NULL, &rule, NULL, i ? &e : &first);
		assert_true(!err || err == -E2BIG);
		refused += err != 0;
	}
	commit(c);
	classifier_stats_read(c, &stats);
	assert_int_equal(stats.entries, 300 - refused);
	assert_int_equal(stats.refused, refused);
	assert_true(refused >= 100);
	classifier_delete(c, first);
	commit(c);
	cond.a[0] = 1;
	cond.b[0] = 3000000000;
	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), 0);
	commit(c);
	classifier_free(c);
}

/* Thousands that are equal, and others among them. */
static void equals_are_no_list(void **s)
{
	struct classifier *c = make(&(struct classifier_config){.release = drop});
	struct classifier_stats stats;

	model.n = 0;
	for (unsigned i = 0; i < 4000; i++) {
		struct model_rule *r = calloc(1, sizeof(*r));
		bool other = i % 50 == 49;
		r->conds[0] = (struct cls_cond){.field = CLS_TCP_FLAGS,
						.masked = true,
						.a = {other ? i / 50 & 7 : 2},
						.b = {other ? 7 | (i & 16) : 18}};
		r->rule = (struct cls_rule){.n = 1, .conds = r->conds};
		unsigned at = (unsigned)(model_random(&seed) % (model.n + 1));
		assert_int_equal(classifier_insert(c, at < model.n ? model.r[at]->entry : NULL,
						   &r->rule, r, &r->entry),
				 0);
		model_insert(&model, at, r);
		if (i % 4 == 3)
			delete (c, (unsigned)(model_random(&seed) % model.n));
	}
	commit(c);
	for (unsigned k = 0; k < 256; k++) {
		struct cls_key key = {.family = k & 1 ? CLS_IPV4 : CLS_IPV6};
		const struct cls_entry *hit = NULL;
		cls_key_set(&key, TCP_FLAGS, k);
		unsigned want = model_lookup(&model, &key, 0);
		assert_int_equal(classifier_lookup(c, version, &key, 1, NULL, &hit),
				 want < model.n);
		if (hit)
			assert_ptr_equal(hit->cookie, model.r[want]);
	}
	classifier_stats_read(c, &stats);
	assert_true(stats.longest <= 100);
	while (model.n)
		delete (c, (unsigned)(model_random(&seed) % model.n));
	commit(c);
	classifier_stats_read(c, &stats);
	assert_int_equal(stats.copies, 0);
	assert_int_equal(stats.leaves, 0);
	classifier_free(c);
}

/* A port near the ends of blocks of 1,024, or anywhere, on one side of the middle. */
static uint32_t port_of_half(bool upper)
{
	uint32_t r = (uint32_t)model_random(&seed), p = r >> 8 & 0x7fff;

	if (r & 1)
		p = (p & ~UINT32_C(1023)) + (r >> 1 & 3) * 511;
	return MIN(p, 0x7fffU) | (upper ? 0x8000 : 0);
}

/* Ranges of either port, or both, around the middle: no bit tells one from another. They come and
 * go anywhere in the order. */
static void ranges_around_one_port(void **s)
{
	enum { CHANGES = 3000, MOST = 700 };
	struct classifier *c = make(&(struct classifier_config){.release = drop});
	struct classifier_stats stats;
	unsigned longest = 0;

	model.n = 0;
	for (unsigned i = 0; i < CHANGES; i++) {
		struct model_rule *r = calloc(1, sizeof(*r));
		unsigned which = model_random(&seed) % 4,
			 at = (unsigned)(model_random(&seed) % (model.n + 1));
		for (unsigned k = 0; k < 2; k++)
			r->conds[k] =
				(struct cls_cond){.field = (which ^ k) & 1 ? CLS_SPORT : CLS_DPORT,
						  .a = {port_of_half(false)},
						  .b = {port_of_half(true)}};
		r->rule = (struct cls_rule){.family = i % 3 ? CLS_IPV4 : CLS_IPV6,
					    .n = which < 3 ? 1 : 2,
					    .conds = r->conds};
		assert_int_equal(classifier_insert(c, at < model.n ? model.r[at]->entry : NULL,
						   &r->rule, r, &r->entry),
				 0);
		model_insert(&model, at, r);
		while (model.n > MOST || (model.n && model_random(&seed) % 3 == 0))
			delete (c, (unsigned)(model_random(&seed) % model.n));
		commit(c);
		if (i % 100 == 99) {
			classifier_stats_read(c, &stats);
			longest = MAX(longest, stats.longest);
		}
		struct cls_key keys[CLS_BURST];
		const struct cls_entry *hit[CLS_BURST] = {0};
		for (unsigned k = 0; k < CLS_BURST; k++) {
			keys[k] = (struct cls_key){.family = k % 3 ? CLS_IPV4 : CLS_IPV6};
			uint32_t sport = port_of_half(k & 1), dport = port_of_half(k & 2);
			if (k % 16) {
				cls_key_set(&keys[k], SPORT, sport);
				cls_key_set(&keys[k], DPORT, dport);
			}
		}
		uint64_t found = classifier_lookup(c, version, keys, UINT64_MAX, NULL, hit);
		for (unsigned k = 0; k < CLS_BURST; k++) {
			unsigned want = model_lookup(&model, &keys[k], 0);
			assert_int_equal(found >> k & 1, want < model.n);
			if (want < model.n)
				assert_ptr_equal(hit[k]->cookie, model.r[want]);
		}
	}
	assert_true(longest > 100);
	classifier_free(c);
}

static void changes_wait_for_their_commit(void **s)
{
	struct classifier *c = make(&(struct classifier_config){0});
	const struct cls_cond cond = {.field = CLS_DPORT, .a = {80}, .b = {90}};
	const struct cls_rule rule = {.n = 1, .conds = &cond}, all = {0};
	struct cls_key key = {.family = CLS_IPV4};
	struct cls_entry *a, *b, *r;
	const struct cls_entry *hit = NULL;
	uint64_t v0 = version;

	cls_key_set(&key, DPORT, 85);
	assert_int_equal(classifier_insert(c, NULL, &rule, "a", &a), 0);
	assert_int_equal(classifier_insert(c, NULL, &all, "b", &b), 0);
	assert_int_equal(classifier_lookup(c, v0, &key, 1, NULL, &hit), 0);
	commit(c);
	uint64_t v1 = version;
	assert_int_equal(classifier_lookup(c, v0, &key, 1, NULL, &hit), 0);
	assert_int_equal(classifier_lookup(c, v1, &key, 1, NULL, &hit), 1);
	assert_ptr_equal(hit, a);
	assert_true(classifier_before(c, a, b));
	assert_false(classifier_before(c, b, a));

	/* Replaced: the old one until the commit, the new one after it, never none. */
	assert_int_equal(classifier_insert(c, a, &rule, "r", &r), 0);
	classifier_delete(c, a);
	assert_int_equal(classifier_lookup(c, v1, &key, 1, NULL, &hit), 1);
	assert_ptr_equal(hit, a);
	assert_ptr_equal(classifier_next(c, r), b);
	commit(c);
	assert_int_equal(classifier_lookup(c, version, &key, 1, NULL, &hit), 1);
	assert_ptr_equal(hit, r);

	/* Taken back. */
	classifier_delete(c, r);
	assert_int_equal(classifier_insert(c, b, &all, "x", &a), 0);
	classifier_abort(c);
	commit(c);
	assert_int_equal(classifier_lookup(c, version, &key, 1, NULL, &hit), 1);
	assert_ptr_equal(hit, r);
	assert_ptr_equal(classifier_next(c, r), b);
	assert_null(classifier_next(c, b));
	classifier_free(c);
}

static void refuses_what_is_no_rule(void **s)
{
	struct classifier *c = make(&(struct classifier_config){.max_entries = 2});
	struct cls_cond cond = {.field = CLS_SADDR};
	struct cls_rule rule = {.n = 1, .conds = &cond};
	struct cls_entry *e = NULL;

	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), -EINVAL); /* no family */
	cond = (struct cls_cond){.field = CLS_FIELD_KINDS};
	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), -EINVAL);
	cond = (struct cls_cond){.field = CLS_DPORT, .a = {81}, .b = {80}};
	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), -EINVAL);
	cond = (struct cls_cond){.field = CLS_DPORT, .a = {0}, .b = {65536}};
	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), -EINVAL);
	rule.family = 9;
	assert_int_equal(classifier_insert(c, NULL, &rule, NULL, &e), -EINVAL);
	assert_null(e);
	assert_int_equal(classifier_insert(c, NULL, NULL, NULL, &e), 0);
	assert_int_equal(classifier_insert(c, NULL, NULL, NULL, &e), 0);
	assert_int_equal(classifier_insert(c, NULL, NULL, NULL, &e), -EDQUOT);
	classifier_delete(c, e);
	commit(c);
	assert_int_equal(classifier_insert(c, NULL, NULL, NULL, &e), 0);
	classifier_free(c);
	assert_int_equal(
		classifier_new(&(struct classifier_config){.version = &version,
							   .max_entries = CLS_ENTRIES_MAX + 1},
			       &c),
		-EINVAL);
}

int main(void)
{
	const char *first = getenv("TAMIS_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_as_the_reference),
		cmocka_unit_test(stays_right_while_it_changes),
		cmocka_unit_test(variants_agree),
		cmocka_unit_test(shapes_fit_the_rules),
		cmocka_unit_test(chains_have_a_limit),
		cmocka_unit_test(equals_are_no_list),
		cmocka_unit_test(ranges_around_one_port),
		cmocka_unit_test(changes_wait_for_their_commit),
		cmocka_unit_test(refuses_what_is_no_rule),
	};

	if (first)
		seed = strtoull(first, NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
