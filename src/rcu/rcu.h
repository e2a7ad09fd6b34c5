/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rcu: when may memory go that readers could still be looking at?
 *
 * Quiescent-state-based reclamation (Desnoyers, McKenney et al., "User-Level Implementations of
 * Read-Copy Update", 2012). A worker that looks at shared structures registers with the domain and
 * says now and then, between two bursts, that it holds no reference: rcu_quiescent() is a load, a
 * compare and, when something changed, a store. Reading itself costs nothing. A writer takes an
 * object out of reach, then hands it to rcu_defer(); it is freed when every worker has been quiet
 * since. A domain is an object: an engine has one, two engines share nothing. That, waits that end,
 * and names for workers that stall are why this is not liburcu, whose qsbr flavour has one global
 * registry and waits without a deadline.
 *
 * What holds:
 *
 * A. fn of a deferred object runs after every worker registered at the time of rcu_defer() was
 *    quiet, offline or gone at least once since. Objects are freed in the order they were deferred.
 *
 * B. rcu_defer() needs no memory and cannot fail: the object carries its link.
 *
 * C. Deferred memory is bounded: a writer asks rcu_admit() before it begins a change. Above the
 *    high-water mark it waits until its deadline and then is told -EAGAIN. A worker that changes
 *    something does not wait: it asks rcu_crowded(), and if so leaves alone what would defer more.
 *    Readers never wait.
 *
 * D. Without workers, and without a domain (r NULL), rcu_defer() frees at once: one thread, the
 *    same order of events in every run.
 *
 * Why A: a deferred object gets the number of the next epoch, which begins after it (under the lock
 * of the queue). A worker announces an epoch that it read with acquire order, so it sees everything
 * that was done before that epoch began: what it reads from then on no longer leads to the object;
 * what it read before lies before its release store. A worker that comes online publishes its epoch
 * with a full fence before it reads anything, and the writer fences before it looks for workers.
 *
 * Threads: rcu_quiescent(), rcu_offline(), rcu_online() by the worker itself; all else by any
 * thread. rcu_admit(), rcu_wait() and rcu_free() must not be called by a worker that is
 * online: it would wait for itself. fn runs in the thread that calls rcu_defer(), rcu_poll(),
 * rcu_admit() or rcu_wait(), with no lock held. Time comes from the clock that the domain was made
 * with.
 */
#ifndef TAMIS_RCU_H
#define TAMIS_RCU_H

#include "base/base.h"

struct rcu;
struct rcu_worker;

/* What a deferred object begins with or has inside. */
struct rcu_head {
	struct rcu_head *next;
	void (*fn)(struct rcu_head *head);
	uint64_t epoch;
	size_t bytes;
};

struct rcu_config {
	uint32_t max_entries; /* high-water marks; 0: 4096 objects, 64 MiB */
	size_t max_bytes;
	uint64_t (*clock)(void *ctx); /* ns that never go back; used by waiting writers alone */
	/*
	 * Told once a wait of each worker that has kept a writer waiting for stall_ns, or until it
	 * gave up. May be NULL.
	 */
	void (*stalled)(void *ctx, const char *worker, uint64_t waited_ns);
	uint64_t stall_ns; /* 0: one second */
	void *ctx;
};

/* 0, -EINVAL without a clock, -ENOMEM. */
int rcu_new(const struct rcu_config *config, struct rcu **out);
/* Frees everything deferred; no worker may be registered. */
void rcu_free(struct rcu *r);

/* The new worker is online. The name is copied. 0 or -ENOMEM. */
int rcu_register(struct rcu *r, const char *name, struct rcu_worker **out);
void rcu_unregister(struct rcu_worker *w);
void rcu_offline(struct rcu_worker *w); /* holds nothing until rcu_online() */
void rcu_online(struct rcu_worker *w);
void rcu_quiescent(struct rcu_worker *w);

void rcu_defer(struct rcu *r, struct rcu_head *head, void (*fn)(struct rcu_head *head),
	       size_t bytes);
/* Frees what may be freed now; returns how many objects. */
unsigned rcu_poll(struct rcu *r);
/* True while more is deferred than the high-water mark allows. One load: packets may ask too. */
bool rcu_crowded(const struct rcu *r);
/* Waits until the deferred memory is below the high-water mark: 0, or -EAGAIN after the deadline.
 */
int rcu_admit(struct rcu *r, uint64_t deadline);
/*
 * For memory that is used again without being freed: a mark, and whether every worker that could
 * have looked at what went out of reach before the mark was taken has been quiet since. Neither
 * waits for anything; a mark is never 0. Without a domain all is passed.
 */
uint64_t rcu_mark(struct rcu *r);
bool rcu_passed(struct rcu *r, uint64_t mark);
/* Waits until every worker was quiet once: 0, or -EAGAIN after the deadline (UINT64_MAX: none). */
int rcu_wait(struct rcu *r, uint64_t deadline);
/*
 * For who changes many lines that workers look at: lets them fetch the latest `lines`, so that no
 * burst meets more than a few of them. Some 0.5 us each pass, and what the system adds to a sleep,
 * or none if no worker is online.
 */
void rcu_ease(struct rcu *r, unsigned lines);
/* The deadline that is so many ns from now. */
uint64_t rcu_deadline(struct rcu *r, uint64_t ns);

struct rcu_stats {
	uint64_t entries, bytes;	   /* deferred now */
	uint64_t entries_peak, bytes_peak; /* most ever */
	uint64_t freed;			   /* objects, ever */
	uint64_t waits, refused;	   /* writers that had to wait; that gave up */
};
void rcu_stats_read(struct rcu *r, struct rcu_stats *out);

#endif
