/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_classifier: readers of a classifier against everything that changes it.
 *
 *	torture_classifier [SECONDS]	(1 if not given)
 *
 * The control thread inserts, deletes and replaces entries, most of them at a few hot places, so
 * that the order is relabelled all the time, swells and shrinks, so that leaves, splits, tables and
 * directories come and go, and takes changes back. Readers look bursts up. What they check:
 *  - a hit is there in the burst's version and matches the key, by the model's plain reading;
 *  - of STAY entries that never go, none that matches lies before the hit, and one is the hit or
 *    behind it: the order of two entries that stay is the same at every moment;
 *  - the entry of a mark that is replaced over and over is hit in every burst, by one of its forms.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../unit/classifier_model.h"
#include "acl/classifier_internal.h"
#include "rcu/rcu.h"

enum { READERS = 2, STAY = 40, MOST = 3000, SECOND = 1000000000, MARK = 0xfeedbeef };

static double seconds = 1;

struct world {
	struct classifier *c;
	uint64_t version;
	struct rcu *rcu;
	struct model_rule stay[STAY], *always; /* in order; the one of MARK before them */
	bool stop;
	uint64_t wrong, lost, out_of_order, bursts;
};

static uint64_t clock_now(void *ctx)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void add(uint64_t *counter, uint64_t n)
{
	if (n)
		__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* --- readers ---------------------------------------------------------------------------------- */

static bool visible(const struct cls_entry *hit, uint64_t version)
{
	const struct cls_node *e = cls_node_of(hit);
	return e->born <= version && version < __atomic_load_n(&e->died, __ATOMIC_RELAXED);
}

static void check_hit(struct world *w, const struct cls_key *k, uint64_t version,
		      const struct cls_entry *hit)
{
	const struct model_rule *stays = NULL;

	for (unsigned i = 0; i < STAY && !stays; i++)
		if (model_matches(&w->stay[i], k))
			stays = &w->stay[i];
	if (!hit) {
		add(&w->lost, stays != NULL);
		return;
	}
	add(&w->wrong, !model_matches(hit->cookie, k) || !visible(hit, version));
	add(&w->out_of_order,
	    stays && hit != stays->entry && !classifier_before(w->c, hit, stays->entry));
}

static void *reader(void *arg)
{
	struct world *w = arg;
	struct rcu_worker *worker;
	static uint64_t serial;
	uint64_t seed = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED) << 32;

	if (rcu_register(w->rcu, "reader", &worker))
		abort();
	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		struct cls_key keys[CLS_BURST];
		const struct cls_entry *hit[CLS_BURST];
		for (unsigned i = 0; i < CLS_BURST; i++)
			model_key(&seed, &keys[i]);
		for (unsigned i = 0; i < CLS_BURST; i += 16)
			keys[i].w[CLS_AT_MARK / 32] = MARK;
		uint64_t version = __atomic_load_n(&w->version, __ATOMIC_ACQUIRE);
		uint64_t found = classifier_lookup(w->c, version, keys, UINT64_MAX, NULL, hit);
		for (unsigned i = 0; i < CLS_BURST; i++) {
			const struct cls_entry *e = found >> i & 1 ? hit[i] : NULL;
			check_hit(w, &keys[i], version, e);
			if (i % 16 == 0)
				add(&w->lost,
				    !e || ((struct model_rule *)e->cookie)->conds[0].a[0] != MARK);
		}
		add(&w->bursts, 1);
		rcu_quiescent(worker);
	}
	rcu_unregister(worker);
	return NULL;
}

/* --- the control thread ------------------------------------------------------------------------
 */

static void release(void *ctx, void *cookie)
{
	const struct world *w = ctx;
	const struct model_rule *r = cookie;
	if (r < w->stay || r >= w->stay + STAY)
		free(cookie);
}

static struct model_rule *new_rule(uint64_t *seed)
{
	struct model_rule *r = calloc(1, sizeof(*r));
	model_rule(seed, r);
	return r;
}

static const struct cls_rule *rule_of(const struct model_rule *r)
{
	return r->none ? NULL : &r->rule;
}

static struct model_rule *marked_rule(void)
{
	struct model_rule *r = calloc(1, sizeof(*r));
	r->conds[0] = (struct cls_cond){.field = CLS_MARK, .a = {MARK}, .b = {MARK}};
	r->rule = (struct cls_rule){.n = 1, .conds = r->conds};
	return r;
}

static void change(struct world *w, struct model_rule **live, unsigned *n, uint64_t *seed,
		   bool swell)
{
	uint64_t r = model_random(seed);
	unsigned at = *n ? (unsigned)(r >> 8) % *n : 0;

	if (r % 100 < (swell ? 60 : 25) && *n < MOST) {
		/* Hot: right before an entry that stays. Else before any. */
		struct cls_entry *before = r >> 40 & 3	       ? w->stay[r >> 44 & 3].entry
					   : *n && r >> 50 & 1 ? live[at]->entry
							       : NULL;
		struct model_rule *x = new_rule(seed);
		if (classifier_insert(w->c, before, rule_of(x), x, &x->entry))
			abort();
		live[(*n)++] = x;
	} else if (r % 100 < 85 && *n) {
		classifier_delete(w->c, live[at]->entry);
		live[at] = live[--*n];
	} else if (*n) {
		struct model_rule *x = new_rule(seed);
		if (classifier_insert(w->c, live[at]->entry, rule_of(x), x, &x->entry))
			abort();
		classifier_delete(w->c, live[at]->entry);
		live[at] = x;
	}
}

/* Changes that are taken back; what they made is let go by the classifier. */
static void take_back(struct world *w, struct model_rule **live, unsigned n, uint64_t *seed)
{
	for (unsigned i = 0; i < 5; i++) {
		struct model_rule *x = new_rule(seed);
		if (classifier_insert(w->c, w->stay[0].entry, rule_of(x), x, &x->entry))
			abort();
		if (n > 8)
			classifier_delete(w->c, live[i]->entry);
	}
	classifier_abort(w->c);
}

static void commit(struct world *w)
{
	__atomic_store_n(&w->version, w->version + 1, __ATOMIC_RELEASE);
	classifier_commit(w->c);
}

static void readers_see_one_order(void **state)
{
	struct world w = {0};
	const struct rcu_config config = {.clock = clock_now, .max_entries = 1000};
	pthread_t threads[READERS];
	struct model_rule **live = calloc(MOST, sizeof(struct model_rule *));
	uint64_t seed = 5, end = clock_now(NULL) + (uint64_t)(seconds * SECOND);
	unsigned n = 0;

	assert_int_equal(rcu_new(&config, &w.rcu), 0);
	assert_int_equal(classifier_new(&(struct classifier_config){.version = &w.version,
								    .rcu = w.rcu,
								    .release = release,
								    .ctx = &w},
					&w.c),
			 0);
	w.always = marked_rule();
	assert_int_equal(classifier_insert(w.c, NULL, &w.always->rule, w.always, &w.always->entry),
			 0);
	for (unsigned i = 0; i < STAY; i++) {
		do
			model_rule(&seed, &w.stay[i]);
		while (w.stay[i].none);
		assert_int_equal(
			classifier_insert(w.c, NULL, &w.stay[i].rule, &w.stay[i], &w.stay[i].entry),
			0);
	}
	commit(&w);
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &w), 0);
	for (unsigned turn = 0; clock_now(NULL) < end; turn++) {
		assert_int_equal(rcu_admit(w.rcu, UINT64_MAX), 0);
		for (unsigned i = 0; i < 3; i++)
			change(&w, live, &n, &seed, turn / 4000 % 2 == 0);
		if (turn % 3 == 0) {
			struct model_rule *x = marked_rule();
			assert_int_equal(
				classifier_insert(w.c, w.always->entry, &x->rule, x, &x->entry), 0);
			classifier_delete(w.c, w.always->entry);
			w.always = x;
		}
		commit(&w);
		if (turn % 50 == 0)
			take_back(&w, live, n, &seed);
	}
	__atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	struct classifier_stats stats;
	classifier_stats_read(w.c, &stats);
	print_message("# %llu bursts, %u entries, %u relabels\n", (unsigned long long)w.bursts, n,
		      stats.relabels);
	classifier_free(w.c);
	rcu_free(w.rcu);
	free(live);
	assert_true(w.bursts > 0);
	assert_int_equal(w.wrong, 0);
	assert_int_equal(w.lost, 0);
	assert_int_equal(w.out_of_order, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(readers_see_one_order)};
	if (argc > 1)
		seconds = atof(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
