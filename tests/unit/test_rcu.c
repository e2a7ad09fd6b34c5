/* SPDX-License-Identifier: Apache-2.0 */
/* rcu: when deferred objects go, how waits end, who is named. Time is a counter of this test. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rcu/rcu.h"

struct object {
	struct rcu_head head;
	unsigned id;
};

static unsigned freed[64], n_freed;

static void object_free(struct rcu_head *head)
{
	struct object *o = container_of(head, struct object, head);
	freed[n_freed++] = o->id;
	free(o);
}

static void defer(struct rcu *r, unsigned id, size_t bytes)
{
	struct object *o = calloc(1, sizeof(*o));
	o->id = id;
	rcu_defer(r, &o->head, object_free, bytes);
}

struct world {
	uint64_t now, step;
	char stalled[64];
	unsigned n_stalled;
	uint64_t waited;
	struct rcu_worker *wakes[2]; /* become quiet at `wake_at` */
	uint64_t wake_at;
};

static uint64_t clock_read(void *ctx)
{
	struct world *w = ctx;
	w->now += w->step;
	for (unsigned i = 0; i < 2; i++)
		if (w->wakes[i] && w->now >= w->wake_at)
			rcu_quiescent(w->wakes[i]);
	return w->now;
}

static void stalled(void *ctx, const char *worker, uint64_t waited)
{
	struct world *w = ctx;
	strncpy(w->stalled, worker, sizeof(w->stalled) - 1);
	w->n_stalled++;
	w->waited = waited;
}

static struct rcu *make(struct world *w)
{
	struct rcu *r;
	struct rcu_config c = {.max_entries = 4,
			       .max_bytes = 1000,
			       .clock = clock_read,
			       .stalled = stalled,
			       .stall_ns = 1000,
			       .ctx = w};
	assert_int_equal(rcu_new(&c, &r), 0);
	n_freed = 0;
	return r;
}

static void alone(void **state)
{
	struct world w = {.step = 100};
	struct rcu *r;

	assert_int_equal(rcu_new(&(struct rcu_config){0}, &r), -EINVAL);
	n_freed = 0;
	defer(NULL, 7, 1);
	assert_int_equal(n_freed, 1);
	assert_int_equal(rcu_wait(NULL, 0), 0);
	assert_int_equal(rcu_admit(NULL, 0), 0);
	assert_false(rcu_crowded(NULL));

	r = make(&w);
	for (unsigned i = 0; i < 10; i++) {
		defer(r, i, 500);
		assert_int_equal(n_freed, i + 1);
		assert_int_equal(freed[i], i);
	}
	assert_int_equal(rcu_wait(r, 0), 0);
	rcu_free(r);
	rcu_free(NULL);
}

static void grace(void **state)
{
	struct world w = {.step = 100};
	struct rcu *r = make(&w);
	struct rcu_worker *a, *b;
	struct rcu_stats st;

	assert_int_equal(rcu_register(r, "a", &a), 0);
	assert_int_equal(rcu_register(r, "b", &b), 0);
	defer(r, 1, 10);
	rcu_quiescent(a); /* no epoch has begun since: says nothing about object 1 */
	rcu_quiescent(b);
	assert_int_equal(rcu_poll(r), 0);
	rcu_quiescent(a);
	assert_int_equal(rcu_poll(r), 0);
	defer(r, 2, 10);
	rcu_quiescent(b);
	assert_int_equal(rcu_poll(r), 1);
	assert_int_equal(freed[0], 1);
	assert_int_equal(rcu_poll(r), 0);
	/* One that is offline holds nothing; coming back it is asked again. */
	rcu_offline(a);
	rcu_quiescent(b);
	assert_int_equal(rcu_poll(r), 1);
	rcu_online(a);
	defer(r, 3, 10);
	assert_int_equal(rcu_poll(r), 0);
	rcu_quiescent(b);
	assert_int_equal(rcu_poll(r), 0);
	rcu_unregister(a);
	assert_int_equal(rcu_poll(r), 1);
	rcu_stats_read(r, &st);
	assert_int_equal(st.entries, 0);
	assert_int_equal(st.bytes, 0);
	assert_int_equal(st.freed, 3);
	assert_int_equal(st.entries_peak, 2);
	rcu_unregister(b);
	rcu_free(r);
}

static void waiting(void **state)
{
	struct world w = {.step = 100};
	struct rcu *r = make(&w);
	struct rcu_worker *a, *b;
	struct rcu_stats st;

	assert_int_equal(rcu_register(r, "quick", &a), 0);
	assert_int_equal(rcu_register(r, "slow", &b), 0);
	for (unsigned i = 0; i < 3; i++)
		defer(r, i, 10);
	assert_false(rcu_crowded(r));
	defer(r, 3, 10);
	assert_true(rcu_crowded(r));
	rcu_poll(r);
	rcu_quiescent(a);
	assert_int_equal(rcu_admit(r, 500), -EAGAIN);
	assert_int_equal(w.now, 500);
	/* Told when the writer gives up, and else after stall_ns, once a wait. */
	assert_int_equal(w.n_stalled, 1);
	assert_int_equal(w.waited, 400);
	assert_int_equal(rcu_admit(r, 5000), -EAGAIN);
	assert_int_equal(w.n_stalled, 2);
	assert_int_equal(w.waited, 1000);
	assert_string_equal(w.stalled, "slow");
	assert_int_equal(n_freed, 0);
	w.wakes[0] = b;
	w.wake_at = 6000;
	assert_int_equal(rcu_admit(r, 100000), 0);
	assert_int_equal(n_freed, 4);
	assert_true(w.now < 7000);
	/* By bytes; and a wait for everybody. */
	w.wakes[0] = NULL;
	defer(r, 5, 1000);
	assert_true(rcu_crowded(r));
	assert_int_equal(rcu_wait(r, w.now + 300), -EAGAIN);
	w.wakes[0] = a;
	w.wakes[1] = b;
	w.wake_at = w.now + 1000;
	assert_int_equal(rcu_wait(r, UINT64_MAX), 0);
	rcu_poll(r);
	assert_int_equal(n_freed, 5);
	rcu_stats_read(r, &st);
	assert_int_equal(st.refused, 3);
	assert_int_equal(st.waits, 5);
	assert_int_equal(st.bytes_peak, 1000);
	rcu_unregister(a);
	rcu_unregister(b);
	rcu_free(r);
}

/* Readers follow a pointer that a writer replaces and frees; a freed object is overwritten. */
enum { READERS = 3, ROUNDS = 20000, ALIVE = 0x5a5a };

struct shared {
	struct rcu *r;
	struct object *p;
	bool stop;
};

static void object_poison(struct rcu_head *head)
{
	struct object *o = container_of(head, struct object, head);
	o->id = 0;
	free(o);
}

static void *reader(void *arg)
{
	struct shared *s = arg;
	struct rcu_worker *w;
	uintptr_t bad = rcu_register(s->r, "reader", &w) != 0;

	for (unsigned i = 0; !bad && !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE); i++) {
		bad |= __atomic_load_n(&s->p, __ATOMIC_ACQUIRE)->id != ALIVE;
		if (i % 64 == 63) {
			rcu_offline(w);
			rcu_online(w);
		} else {
			rcu_quiescent(w);
		}
	}
	rcu_unregister(w);
	return (void *)bad;
}

static uint64_t no_clock(void *ctx)
{
	return 0;
}

static void torture(void **state)
{
	struct shared s = {0};
	pthread_t t[READERS];
	void *bad;

	assert_int_equal(rcu_new(&(struct rcu_config){.max_entries = 100, .clock = no_clock}, &s.r),
			 0);
	s.p = calloc(1, sizeof(*s.p));
	s.p->id = ALIVE;
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, &s), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct object *o = calloc(1, sizeof(*o)), *old = s.p;
		o->id = ALIVE;
		__atomic_store_n(&s.p, o, __ATOMIC_RELEASE);
		rcu_defer(s.r, &old->head, object_poison, sizeof(*old));
		assert_int_equal(rcu_admit(s.r, UINT64_MAX), 0);
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(t[i], &bad);
		assert_null(bad);
	}
	rcu_free(s.r);
	free(s.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(grace),
		cmocka_unit_test(waiting),
		cmocka_unit_test(torture),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
