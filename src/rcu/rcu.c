/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rcu: workers in a list, deferred objects in a queue by epoch; see rcu.h.
 *
 * One mutex guards the list and the queue. No worker takes it in a burst: only who frees does. The
 * epoch moves on when somebody looks whether the oldest object may go, so objects of one interval
 * share an epoch. Cost: rcu_defer() O(1), rcu_poll() O(workers + freed).
 */
#include "rcu/rcu.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define OFFLINE UINT64_MAX

enum { DEFAULT_ENTRIES = 4096, WAIT_STEP_NS = 20000, EASE_NS = 500 };
static const size_t default_bytes = (size_t)64 << 20;
static const uint64_t default_stall = 1000000000;

struct rcu_worker {
	uint64_t seen; /* epoch of its last quiet moment */
	struct rcu *r;
	struct rcu_worker *next;
	char *name;
	bool reported; /* of the present wait */
} __attribute__((aligned(64)));

struct rcu {
	uint64_t epoch __attribute__((aligned(64)));  /* read by workers, in a line of its own */
	uint64_t passed __attribute__((aligned(64))); /* all workers were quiet since it began */
	bool crowded;				      /* more is deferred than is allowed */
	struct rcu_config config __attribute__((aligned(64)));
	pthread_mutex_t lock;
	struct rcu_worker *workers;
	struct rcu_head *first, **last;
	struct rcu_stats stats;
};

int rcu_new(const struct rcu_config *config, struct rcu **out)
{
	if (!config->clock)
		return -EINVAL;
	struct rcu *r = aligned_alloc(64, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->config = *config;
	if (!r->config.max_entries)
		r->config.max_entries = DEFAULT_ENTRIES;
	if (!r->config.max_bytes)
		r->config.max_bytes = default_bytes;
	if (!r->config.stall_ns)
		r->config.stall_ns = default_stall;
	pthread_mutex_init(&r->lock, NULL);
	r->epoch = 1;
	r->last = &r->first;
	*out = r;
	return 0;
}

void rcu_free(struct rcu *r)
{
	if (!r)
		return;
	rcu_poll(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* --- workers -------------------------------------------------------------------------------- */

int rcu_register(struct rcu *r, const char *name, struct rcu_worker **out)
{
	struct rcu_worker *w = aligned_alloc(64, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct rcu_worker){.r = r, .name = strdup(name)};
	if (!w->name) {
		free(w);
		return -ENOMEM;
	}
	pthread_mutex_lock(&r->lock);
	w->next = r->workers;
	r->workers = w;
	rcu_online(w);
	pthread_mutex_unlock(&r->lock);
	*out = w;
	return 0;
}

void rcu_unregister(struct rcu_worker *w)
{
	if (!w)
		return;
	struct rcu *r = w->r;
	rcu_offline(w);
	pthread_mutex_lock(&r->lock);
	struct rcu_worker **at = &r->workers;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&r->lock);
	free(w->name);
	free(w);
}

void rcu_offline(struct rcu_worker *w)
{
	__atomic_store_n(&w->seen, OFFLINE, __ATOMIC_RELEASE);
}

void rcu_online(struct rcu_worker *w)
{
	/* The exchange is a full fence on what it stores to: a writer sees it, or we see its
	 * change. */
	__atomic_exchange_n(&w->seen, __atomic_load_n(&w->r->epoch, __ATOMIC_ACQUIRE),
			    __ATOMIC_SEQ_CST);
	__atomic_load_n(&w->r->epoch, __ATOMIC_SEQ_CST);
}

void rcu_quiescent(struct rcu_worker *w)
{
	uint64_t epoch = __atomic_load_n(&w->r->epoch, __ATOMIC_ACQUIRE);
	if (epoch != w->seen)
		__atomic_store_n(&w->seen, epoch, __ATOMIC_RELEASE);
}

/* --- deferred objects ----------------------------------------------------------------------- */

/* Marks are taken without the lock. */
static uint64_t present(const struct rcu *r)
{
	return __atomic_load_n(&r->epoch, __ATOMIC_RELAXED);
}

/* The lock is held: begins a new epoch. */
static uint64_t advance(struct rcu *r)
{
	return __atomic_add_fetch(&r->epoch, 1, __ATOMIC_SEQ_CST);
}

/* The lock is held. */
static bool all_quiet_since(struct rcu *r, uint64_t epoch)
{
	for (struct rcu_worker *w = r->workers; w; w = w->next)
		if (__atomic_load_n(&w->seen, __ATOMIC_SEQ_CST) < epoch)
			return false;
	return true;
}

/* The lock is held, and the queue has changed. */
static void tell_crowded(struct rcu *r)
{
	bool now =
		r->stats.entries >= r->config.max_entries || r->stats.bytes >= r->config.max_bytes;

	if (now != r->crowded)
		__atomic_store_n(&r->crowded, now, __ATOMIC_RELAXED);
}

/* The lock is held: takes what may be freed off the queue. */
static struct rcu_head *take_ready(struct rcu *r, unsigned *n)
{
	struct rcu_head *first = r->first, **end = &r->first;

	*n = 0;
	if (!first)
		return NULL;
	if (first->epoch > present(r))
		advance(r);
	while (*end && (*end)->epoch <= present(r) && all_quiet_since(r, (*end)->epoch)) {
		r->stats.entries--;
		r->stats.bytes -= (*end)->bytes;
		end = &(*end)->next;
		++*n;
	}
	if (!*n)
		return NULL;
	r->first = *end;
	if (!r->first)
		r->last = &r->first;
	*end = NULL;
	r->stats.freed += *n;
	tell_crowded(r);
	return first;
}

static void run(struct rcu_head *head)
{
	while (head) {
		struct rcu_head *next = head->next;
		head->fn(head);
		head = next;
	}
}

unsigned rcu_poll(struct rcu *r)
{
	unsigned n;

	if (!r)
		return 0;
	pthread_mutex_lock(&r->lock);
	struct rcu_head *ready = take_ready(r, &n);
	pthread_mutex_unlock(&r->lock);
	run(ready);
	return n;
}

void rcu_defer(struct rcu *r, struct rcu_head *head, void (*fn)(struct rcu_head *head),
	       size_t bytes)
{
	if (!r) {
		fn(head);
		return;
	}
	pthread_mutex_lock(&r->lock);
	bool alone = !r->workers;
	*head = (struct rcu_head){.fn = fn, .epoch = present(r) + 1, .bytes = bytes};
	*r->last = head;
	r->last = &head->next;
	r->stats.entries++;
	r->stats.bytes += bytes;
	r->stats.entries_peak = MAX(r->stats.entries_peak, r->stats.entries);
	r->stats.bytes_peak = MAX(r->stats.bytes_peak, r->stats.bytes);
	tell_crowded(r);
	pthread_mutex_unlock(&r->lock);
	if (alone)
		rcu_poll(r);
}

bool rcu_crowded(const struct rcu *r)
{
	return r && __atomic_load_n(&r->crowded, __ATOMIC_RELAXED);
}

void rcu_stats_read(struct rcu *r, struct rcu_stats *out)
{
	pthread_mutex_lock(&r->lock);
	*out = r->stats;
	pthread_mutex_unlock(&r->lock);
}

/* --- waiting -------------------------------------------------------------------------------- */

/*
 * Tells the names of those that have not been quiet, once it takes long or the writer gives up. The
 * lock is held, but not for the callback.
 */
static void report_stalled(struct rcu *r, uint64_t epoch, uint64_t waited, bool gives_up)
{
	char name[64];
	bool any;

	if (!r->config.stalled || !waited || (waited < r->config.stall_ns && !gives_up))
		return;
	do {
		any = false;
		for (struct rcu_worker *w = r->workers; w && !any; w = w->next)
			if (!w->reported && __atomic_load_n(&w->seen, __ATOMIC_SEQ_CST) < epoch) {
				any = w->reported = true;
				strncpy(name, w->name, sizeof(name) - 1);
				name[sizeof(name) - 1] = 0;
			}
		if (any) {
			pthread_mutex_unlock(&r->lock);
			r->config.stalled(r->config.ctx, name, waited);
			pthread_mutex_lock(&r->lock);
		}
	} while (any);
}

/* Until all were quiet since `epoch`, or, with epoch 0, until the queue is short enough. */
static int wait_for(struct rcu *r, uint64_t epoch, uint64_t deadline)
{
	const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
	uint64_t start = 0;
	int err = 0;

	for (;;) {
		unsigned n;
		pthread_mutex_lock(&r->lock);
		struct rcu_head *ready = take_ready(r, &n);
		bool done = epoch ? all_quiet_since(r, epoch) : !r->crowded;
		uint64_t oldest = epoch ? epoch : r->first ? r->first->epoch : 0;
		uint64_t now = done ? 0 : r->config.clock(r->config.ctx);
		if (!done && !start) {
			start = now;
			r->stats.waits++;
			for (struct rcu_worker *w = r->workers; w; w = w->next)
				w->reported = false;
		}
		if (!done)
			report_stalled(r, oldest, now - start, now >= deadline);
		if (!done && now >= deadline) {
			r->stats.refused++;
			err = -EAGAIN;
		}
		pthread_mutex_unlock(&r->lock);
		run(ready);
		if (done || err)
			return err;
		nanosleep(&step, NULL);
	}
}

uint64_t rcu_mark(struct rcu *r)
{
	/* A change of the epoch's word: what was done before is seen by who sees the next epoch. */
	return r ? __atomic_fetch_add(&r->epoch, 0, __ATOMIC_SEQ_CST) + 1 : 1;
}

bool rcu_passed(struct rcu *r, uint64_t mark)
{
	if (!r || __atomic_load_n(&r->passed, __ATOMIC_ACQUIRE) >= mark)
		return true;
	if (pthread_mutex_trylock(&r->lock))
		return false;
	if (present(r) < mark)
		advance(r);
	bool yes = all_quiet_since(r, mark);
	if (yes && r->passed < mark)
		__atomic_store_n(&r->passed, mark, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->lock);
	return yes;
}

int rcu_admit(struct rcu *r, uint64_t deadline)
{
	return r && rcu_crowded(r) ? wait_for(r, 0, deadline) : 0;
}

int rcu_wait(struct rcu *r, uint64_t deadline)
{
	if (!r)
		return 0;
	pthread_mutex_lock(&r->lock);
	uint64_t epoch = advance(r);
	pthread_mutex_unlock(&r->lock);
	return wait_for(r, epoch, deadline);
}

void rcu_ease(struct rcu *r, unsigned lines)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	bool any = false;
	for (const struct rcu_worker *w = r->workers; w; w = w->next)
		any |= __atomic_load_n(&w->seen, __ATOMIC_RELAXED) != OFFLINE;
	pthread_mutex_unlock(&r->lock);
	if (any)
		nanosleep(&(struct timespec){.tv_nsec = MIN(lines, 1000000U) * EASE_NS}, NULL);
}

uint64_t rcu_deadline(struct rcu *r, uint64_t ns)
{
	uint64_t now = r ? r->config.clock(r->config.ctx) : 0;

	return ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}
