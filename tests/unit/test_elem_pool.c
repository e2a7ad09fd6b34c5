/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elem_pool: pieces keep what is written to them, of any size, in any order of coming and going,
 * by one thread and by several; a closed pool lasts as long as its last piece.
 */
#include "set/elem_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct piece {
	uint8_t *p;
	size_t size;
	uint16_t at;
	uint8_t mark;
};

enum { PIECES = 3000, STEPS = 60000, THREADS = 3 };

static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

static void fill(struct elem_pool *pool, struct piece *x, uint64_t *rng)
{
	static const size_t sizes[] = {1, 8, 56, 80, 81, 500, 512, 513, 700, 65536, 300000};
	unsigned pick = next(rng) % 64;

	/* Most of one size, as in sets. */
	x->size = pick < ARRAY_SIZE(sizes) ? sizes[pick] : 80;
	x->mark = (uint8_t)next(rng);
	x->p = elem_pool_alloc(pool, x->size, &x->at);
	assert_non_null(x->p);
	assert_int_equal((uintptr_t)x->p % 8, 0);
	assert_in_range(elem_pool_size(x->p, x->at), x->size, x->size + 7);
	memset(x->p, x->mark, x->size);
}

static bool holds(const struct piece *x)
{
	for (size_t i = 0; i < x->size; i++)
		if (x->p[i] != x->mark)
			return false;
	return true;
}

static void empty(struct piece *x)
{
	assert_true(holds(x));
	elem_pool_free(x->p, x->at);
	x->p = NULL;
}

static void churn(struct elem_pool *pool, struct piece *pieces, uint64_t seed)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15;

	for (unsigned i = 0; i < STEPS; i++) {
		/* Grows and shrinks. */
		unsigned span = i / 10000 % 2 ? PIECES / 10 : PIECES;
		struct piece *x = &pieces[next(&rng) % span];

		if (x->p)
			empty(x);
		else
			fill(pool, x, &rng);
	}
}

static void one_thread(void **state)
{
	struct piece *pieces = calloc(PIECES, sizeof(*pieces));
	struct elem_pool *pool;

	assert_int_equal(elem_pool_new(NULL, &pool), 0);
	churn(pool, pieces, 1);
	/* What is out when the pool is closed stays what it is. */
	elem_pool_close(pool);
	for (unsigned i = 0; i < PIECES; i++)
		if (pieces[i].p)
			empty(&pieces[i]);
	free(pieces);
}

static void closed_empty(void **state)
{
	struct elem_pool *pool;
	uint16_t at;
	void *p;

	elem_pool_close(NULL);
	assert_int_equal(elem_pool_new(NULL, &pool), 0);
	elem_pool_close(pool);
	assert_int_equal(elem_pool_new(free, &pool), 0);
	p = elem_pool_alloc(pool, 16, &at);
	assert_ptr_equal(elem_pool_fini(p, at), free);
	elem_pool_free(p, at);
	elem_pool_close(pool);
}

struct worker {
	struct elem_pool *pool;
	struct piece *pieces;
	uint64_t seed;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	churn(w->pool, w->pieces, w->seed);
	return NULL;
}

/* Pieces of one thread are given back by another. */
static void threads(void **state)
{
	struct worker w[THREADS];
	pthread_t thread[THREADS];
	struct elem_pool *pool;

	assert_int_equal(elem_pool_new(NULL, &pool), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker){pool, calloc(PIECES, sizeof(struct piece)), i + 2};
		assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	elem_pool_close(pool);
	for (unsigned i = 0; i < THREADS; i++) {
		for (unsigned k = 0; k < PIECES; k++)
			if (w[i].pieces[k].p)
				empty(&w[i].pieces[k]);
		free(w[i].pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(closed_empty),
		cmocka_unit_test(threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
