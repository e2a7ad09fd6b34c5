/* SPDX-License-Identifier: Apache-2.0 */
/* Order labels: ranks follow the list wherever nodes come and go, and old views stay right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl/order.h"

enum { N = 6000 };

static uint64_t state;

static uint64_t random_next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned check_ranks(struct order *o)
{
	struct order_view v = order_view_take(o);
	uint64_t last = 0;
	unsigned n = 0;
	for (struct order_node *node = o->head.next; node != &o->head; node = node->next, n++) {
		uint64_t rank = order_rank(&v, node);
		assert_true(rank > last && rank < UINT64_MAX);
		last = rank;
	}
	assert_int_equal(n, o->n);
	return n;
}

/* Where the next node goes: 0 end, 1 front, 2 before one node, 3 behind one node, 4 anywhere. */
static void fill(int where)
{
	struct order o;
	struct order_node *nodes = calloc(N, sizeof(*nodes));

	assert_int_equal(order_init(&o, NULL, 0), 0);
	assert_int_equal(order_insert(&o, &o.head, &nodes[0]), 0);
	for (unsigned i = 1; i < N; i++) {
		struct order_node *before = &o.head;
		if (where == 1)
			before = o.head.next;
		else if (where == 2)
			before = &nodes[0];
		else if (where == 3)
			before = nodes[0].next;
		else if (where == 4)
			before = &nodes[random_next() % i];
		assert_int_equal(order_insert(&o, before, &nodes[i]), 0);
		assert_ptr_equal(nodes[i].next, before);
		if (i % 97 == 0)
			check_ranks(&o);
	}
	assert_int_equal(check_ranks(&o), N);
	assert_true(o.n_groups < N / 8);
	for (unsigned i = 0; i < N; i += 2)
		order_remove(&o, &nodes[i]);
	assert_int_equal(check_ranks(&o), N / 2);
	for (unsigned i = 1; i < N; i += 2)
		order_remove(&o, &nodes[i]);
	assert_int_equal(o.n_groups, 0);
	order_release(&o);
	free(nodes);
}

static void ranks_follow_the_list(void **s)
{
	for (int where = 0; where < 5; where++)
		fill(where);
}

static void comes_and_goes(void **s)
{
	struct order o;
	struct order_node *nodes = calloc(N, sizeof(*nodes));
	bool *in = calloc(N, sizeof(*in));

	assert_int_equal(order_init(&o, NULL, 0), 0);
	for (unsigned i = 0; i < 200000; i++) {
		/* A few hot places and a list that swells and shrinks. */
		unsigned at = random_next() % (i / 20000 % 2 ? N : 40);
		if (in[at]) {
			order_remove(&o, &nodes[at]);
		} else {
			unsigned other = random_next() % N;
			assert_int_equal(order_insert(&o, in[other] ? &nodes[other] : o.head.next,
						      &nodes[at]),
					 0);
		}
		in[at] = !in[at];
		if (i % 5000 == 0)
			check_ranks(&o);
	}
	check_ranks(&o);
	order_release(&o);
	free(nodes);
	free(in);
}

static uint64_t no_time(void *ctx)
{
	return 0;
}

/* A reader that is not quiet compares the nodes that it knows in its old view. */
static void old_views_stay_right(void **s)
{
	struct rcu *rcu;
	struct rcu_worker *w;
	struct order o;
	struct order_node *nodes = calloc(N, sizeof(*nodes));
	const struct rcu_config config = {.clock = no_time};

	assert_int_equal(rcu_new(&config, &rcu), 0);
	assert_int_equal(order_init(&o, rcu, 1), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(order_insert(&o, &o.head, &nodes[i]), 0);
	assert_int_equal(rcu_register(rcu, "reader", &w), 0);
	unsigned n = 200, flips = 0;
	while (n + 1 < N) {
		struct order_view v = order_view_take(&o);
		uint32_t gen = o.gen;
		unsigned known = n;
		/* Until the writer would have to wait: one flip is free, the next is not. */
		while (n + 1 < N && o.gen == gen) {
			assert_int_equal(order_insert(&o, &nodes[100], &nodes[n]), 0);
			n++;
		}
		flips++;
		uint64_t last = 0;
		for (struct order_node *node = o.head.next; node != &o.head; node = node->next)
			if (node < &nodes[known]) {
				uint64_t rank = order_rank(&v, node);
				assert_true(rank > last);
				last = rank;
			}
		check_ranks(&o);
		rcu_quiescent(w);
		rcu_poll(rcu);
		rcu_quiescent(w);
		rcu_poll(rcu);
		assert_false(o.pending);
	}
	assert_true(flips > 50);
	rcu_unregister(w);
	order_release(&o);
	rcu_free(rcu);
	free(nodes);
}

static uint64_t ticks(void *ctx)
{
	return *(uint64_t *)ctx += 1000;
}

/* A reader that is never quiet keeps an insertion as long as was said; the list stays as it was. */
static void a_reader_that_stalls(void **s)
{
	enum { KNOWN = 200, WAIT = 20000 };
	uint64_t now = 0, last = 0;
	const struct rcu_config config = {.clock = ticks, .ctx = &now};
	struct order_node *nodes = calloc(N, sizeof(*nodes));
	struct rcu_worker *w;
	struct rcu *rcu;
	struct order o;
	unsigned n = KNOWN;
	int err = 0;

	assert_int_equal(rcu_new(&config, &rcu), 0);
	assert_int_equal(order_init(&o, rcu, WAIT), 0);
	for (unsigned i = 0; i < KNOWN; i++)
		assert_int_equal(order_insert(&o, &o.head, &nodes[i]), 0);
	assert_int_equal(rcu_register(rcu, "reader", &w), 0);
	struct order_view v = order_view_take(&o);
	while (!err && n + 1 < N) {
		err = order_insert(&o, &nodes[100], &nodes[n]);
		n += !err;
	}
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(check_ranks(&o), n);
	assert_true(now >= WAIT && now < 2 * WAIT);
	for (unsigned i = 0; i < KNOWN; i++) {
		uint64_t rank = order_rank(&v, &nodes[i]);
		assert_true(rank > last);
		last = rank;
	}
	/* Still so; where there is room nobody waits; and when the reader is quiet all goes on. */
	assert_int_equal(order_insert(&o, &nodes[100], &nodes[n]), -EAGAIN);
	uint64_t was = now;
	assert_int_equal(order_insert(&o, &o.head, &nodes[n++]), 0);
	assert_int_equal(now, was);
	for (unsigned i = 0; i < 100; i++) {
		rcu_quiescent(w);
		rcu_poll(rcu);
		rcu_quiescent(w);
		assert_int_equal(order_insert(&o, &nodes[100], &nodes[n++]), 0);
	}
	assert_int_equal(check_ranks(&o), n);
	rcu_unregister(w);
	rcu_poll(rcu);
	order_release(&o);
	rcu_free(rcu);
	free(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_follow_the_list),
		cmocka_unit_test(comes_and_goes),
		cmocka_unit_test(old_views_stay_right),
		cmocka_unit_test(a_reader_that_stalls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
