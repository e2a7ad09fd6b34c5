/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_acl: readers of contexts against everything that changes them.
 *
 *	torture_acl [SECONDS]	(1 if not given)
 *
 * What a burst may see is known: packets to STAY are permitted by one entry throughout, in every
 * context, whatever comes and goes around it; a pair of entries is swapped by transactions, so that
 * a burst must see the one or the other for all packets, never a mixture and never none; an ACL
 * that denies everything stands behind, and nothing may be without a match. Meanwhile the control
 * thread inserts, removes and replaces entries, replaces ACLs as a whole so that they grow to
 * tables of their own and shrink again, puts ACLs into contexts, moves and takes them away, takes
 * transactions back, makes and frees contexts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../unit/acl_model.h"

enum { READERS = 3, CONTEXTS = 3, CHURN = 12, SECOND = 1000000000 };

/* ACLs by their part. CHURN others follow. */
enum { ACL_STAY, ACL_SWAP, ACL_LAST, ACL_CHURN };

static double seconds = 1;

struct world {
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx[CONTEXTS];
	struct tamis_acl_worker *w[READERS];
	bool stop;
	uint64_t wrong, mixed, missing, bursts, counted;
	uint64_t seed;
};

struct reader {
	struct world *x;
	unsigned n;
};

static uint64_t clock_now(void *arg)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Rules of packets to 192.0.2.0/24, which no other rule means. */
static struct tamis_acl_rule rule_for(uint8_t host, enum tamis_acl_action action)
{
	struct tamis_acl_rule r;

	tamis_acl_rule_init(&r, action, 4);
	memcpy(r.dst, (uint8_t[]){192, 0, 2, host}, 4);
	r.dst_len = 32;
	return r;
}

static struct tamis_acl_key key_for(uint8_t host, uint64_t *seed)
{
	struct tamis_acl_key k;

	model_key(seed, &k);
	k.family = 4;
	memcpy(k.dst, (uint8_t[]){192, 0, 2, host}, 4);
	return k;
}

static void *reader(void *arg)
{
	struct reader *r = arg;
	struct world *x = r->x;
	struct tamis_acl_worker *w = x->w[r->n];
	struct tamis_acl_key keys[TAMIS_BURST_MAX];
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];
	uint64_t seed = r->n + 1, n = 0, wrong = 0, mixed = 0, missing = 0, counted = 0;

	while (!__atomic_load_n(&x->stop, __ATOMIC_ACQUIRE)) {
		unsigned c = (unsigned)(model_random(&seed) % CONTEXTS), swapped = 0, swaps = 0;

		for (unsigned i = 0; i < TAMIS_BURST_MAX; i++) {
			if (i % 4 == 0)
				keys[i] = key_for(1, &seed);
			else if (i % 4 == 1)
				keys[i] = key_for(2, &seed);
			else
				model_key(&seed, &keys[i]);
		}
		uint64_t found = tamis_acl_lookup(w, x->ctx[c], keys, ~UINT64_C(0), hits);
		missing += found != ~UINT64_C(0);
		for (unsigned i = 0; i < TAMIS_BURST_MAX; i++) {
			if (i % 4 == 0)
				wrong += hits[i].acl != ACL_STAY ||
					 hits[i].action != TAMIS_ACL_PERMIT;
			if (i % 4 == 1) {
				wrong += hits[i].acl != ACL_SWAP;
				swaps++;
				swapped += hits[i].action == TAMIS_ACL_PERMIT;
			}
			if (i % 4 == 0) {
				tamis_acl_count(w, hits[i].entry, 1);
				counted++;
			}
		}
		mixed += swapped && swapped != swaps;
		tamis_acl_quiescent(w);
		n++;
	}
	__atomic_fetch_add(&x->wrong, wrong, __ATOMIC_RELAXED);
	__atomic_fetch_add(&x->mixed, mixed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&x->missing, missing, __ATOMIC_RELAXED);
	__atomic_fetch_add(&x->bursts, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&x->counted, counted, __ATOMIC_RELAXED);
	return NULL;
}

static unsigned pick(struct world *x, unsigned n)
{
	return (unsigned)(model_random(&x->seed) % n);
}

static void put(struct world *x, uint32_t index, const struct tamis_acl_rule *rules, size_t n)
{
	assert_int_equal(tamis_acl_put(x->acls, &index, NULL, rules, n), 0);
}

/* Two entries, of which the first decides: swapped as a whole list, or one by one in one go. */
static void swap(struct world *x, bool permit)
{
	struct tamis_acl_rule r[2] = {rule_for(2, permit ? TAMIS_ACL_PERMIT : TAMIS_ACL_DENY),
				      rule_for(2, permit ? TAMIS_ACL_DENY : TAMIS_ACL_PERMIT)};

	put(x, ACL_SWAP, r, 2);
}

static int first_entry(void *arg, const struct tamis_acl_entry *e)
{
	tamis_acl_handle *h = arg;

	*h = e->handle;
	return e->position == 40;
}

/* Any rule that does not mean packets to 192.0.2.0/24. */
static void churn_rule(struct world *x, struct tamis_acl_rule *r)
{
	model_rule(&x->seed, r);
	if (r->family == 4 && r->dst_len < 8) {
		r->dst_len = 8;
		r->dst[0] = 10;
	}
}

static void churn_entries(struct world *x)
{
	uint32_t acl = ACL_CHURN + pick(x, CHURN);
	struct tamis_acl_rule r;
	tamis_acl_handle h = 0, made;

	churn_rule(x, &r);
	tamis_acl_entry_each(x->acls, acl, first_entry, &h);
	assert_int_equal(tamis_acl_insert(x->acls, acl, h, &r, &made), 0);
	if (h && pick(x, 2))
		assert_int_equal(tamis_acl_remove(x->acls, h), 0);
	else if (h)
		assert_int_equal(tamis_acl_replace(x->acls, h, &r, &made), 0);
}

static void churn_acl(struct world *x)
{
	static struct tamis_acl_rule rules[300];
	unsigned n = pick(x, 4) ? pick(x, 20) : pick(x, 300);

	for (unsigned i = 0; i < n; i++)
		churn_rule(x, &rules[i]);
	put(x, ACL_CHURN + pick(x, CHURN), rules, n);
}

static void churn_context(struct world *x)
{
	struct tamis_acl_context *ctx = x->ctx[pick(x, CONTEXTS)];
	uint32_t acl = ACL_CHURN + pick(x, CHURN), list[ACL_CHURN + CHURN];
	/* Before one of the three, or after what is there of the churn. */
	uint32_t before = pick(x, 3);

	switch (pick(x, 4)) {
	case 0:
		tamis_acl_context_insert(ctx, acl, before);
		break;
	case 1:
		tamis_acl_context_remove(ctx, acl);
		break;
	case 2:
		tamis_acl_context_move(ctx, acl, before);
		break;
	case 3:
		for (unsigned i = 0; i < 3; i++)
			list[i] = i;
		assert_int_equal(tamis_acl_context_set(ctx, list, 3), 0);
		break;
	}
}

static void churn_life(struct world *x)
{
	struct tamis_acl_context *ctx;
	uint32_t index = TAMIS_ACL_NEW;
	struct tamis_acl_rule r;

	churn_rule(x, &r);
	assert_int_equal(tamis_acl_context_new(x->acls, &ctx), 0);
	assert_int_equal(tamis_acl_put(x->acls, &index, "short-lived", &r, 1), 0);
	assert_int_equal(tamis_acl_context_insert(ctx, index, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_insert(ctx, ACL_CHURN + pick(x, CHURN), index), 0);
	assert_int_equal(tamis_acl_context_insert(x->ctx[0], index, ACL_LAST), 0);
	assert_int_equal(tamis_acl_context_remove(x->ctx[0], index), 0);
	tamis_acl_context_free(ctx);
	assert_int_equal(tamis_acl_delete(x->acls, index), 0);
}

static void step(struct world *x, bool *permit)
{
	bool all = pick(x, 8) == 0, commit = pick(x, 3);

	if (all)
		assert_int_equal(tamis_acls_begin(x->acls), 0);
	for (unsigned i = 0; i < (all ? 12 : 1); i++) {
		unsigned what = pick(x, 10);

		if (what < 4)
			churn_entries(x);
		else if (what < 6)
			churn_acl(x);
		else if (what < 8)
			churn_context(x);
		else if (what < 9)
			swap(x, *permit = !*permit);
		else if (!all)
			churn_life(x);
	}
	if (!all)
		return;
	if (commit)
		assert_int_equal(tamis_acls_commit(x->acls), 0);
	else
		tamis_acls_abort(x->acls);
}

static int count_add(void *arg, const struct tamis_acl_entry *e)
{
	*(uint64_t *)arg += e->count.packets;
	return 0;
}

static void fight(void **state)
{
	struct tamis_acls_config config = {.clock = clock_now};
	struct world x = {.seed = 77};
	struct reader readers[READERS];
	pthread_t t[READERS];
	struct tamis_acl_rule stay = rule_for(1, TAMIS_ACL_PERMIT), last[2];
	bool permit = true;
	uint64_t counted = 0;

	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	put(&x, ACL_STAY, &stay, 1);
	swap(&x, permit);
	tamis_acl_rule_init(&last[0], TAMIS_ACL_DENY, 4);
	tamis_acl_rule_init(&last[1], TAMIS_ACL_DENY, 6);
	put(&x, ACL_LAST, last, 2);
	for (unsigned i = 0; i < CHURN; i++)
		put(&x, ACL_CHURN + i, NULL, 0);
	for (unsigned c = 0; c < CONTEXTS; c++) {
		const uint32_t list[] = {ACL_STAY, ACL_SWAP, ACL_LAST};

		assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx[c]), 0);
		assert_int_equal(tamis_acl_context_set(x.ctx[c], list, 3), 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){&x, i};
		assert_int_equal(tamis_acl_worker_new(x.acls, "reader", &x.w[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, &readers[i]), 0);
	uint64_t end = clock_now(NULL) + (uint64_t)(seconds * SECOND);
	while (clock_now(NULL) < end)
		step(&x, &permit);
	__atomic_store_n(&x.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(x.wrong, 0);
	assert_int_equal(x.mixed, 0);
	assert_int_equal(x.missing, 0);
	assert_true(x.bursts > 0);
	assert_int_equal(tamis_acl_entry_each(x.acls, ACL_STAY, count_add, &counted), 0);
	assert_int_equal(counted, x.counted);
	for (unsigned i = 0; i < READERS; i++)
		tamis_acl_worker_free(x.w[i]);
	for (unsigned c = 0; c < CONTEXTS; c++)
		tamis_acl_context_free(x.ctx[c]);
	tamis_acls_free(x.acls);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fight),
	};
	if (argc > 1)
		seconds = atof(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
