/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state: what rules, set elements and named objects remember: counter, quota, limit, last,
 * connlimit.
 *
 * A struct state is one of them, made from its parameters. state_eval() shows it the packets of a
 * mask and returns those for which the rule goes on. The arithmetic is the kernel's, so that the
 * same packets at the same times give the same answers:
 *  - counter: adds packets and bytes; all go on;
 *  - quota: adds first, then compares; `until` (over = false) ends the rule for packets that
 *    brought the sum above the quota, `over` for those that did not;
 *  - limit: a token bucket in ns. A packet costs unit / rate; the bucket holds burst packets' cost
 *    (packets) or unit * (rate + burst) / rate (bytes) and begins full. `over` = true turns the
 *    answer round. A time before the last one seen counts as the last one;
 *  - last: remembers the time;
 *  - connlimit: the number of connections seen that still live; `over` = false ends the rule above
 *    count. It wants connections: state_eval_conn().
 *
 * Units: bytes, packets, ns. Time is an argument. One thread at a time for one state, but for
 * state_eval_shared(), and state_eval_conn() of a connlimit.
 * Cost: a few ns a packet; connlimit O(log n) expected, 64 steps at most, plus a bounded look at
 * old connections.
 */
#ifndef TAMIS_STATE_STATE_H
#define TAMIS_STATE_STATE_H

#include "base/base.h"

enum state_kind {
	STATE_COUNTER,
	STATE_QUOTA,
	STATE_LIMIT,
	STATE_LAST,
	STATE_CONNLIMIT,
	STATE_KINDS_N
};

enum { STATE_LIMIT_BURST_DEFAULT = 5 }; /* packets, where a packet limit gives none */

/* Parameters on the way in, parameters and present values on the way out. */
struct state_info {
	enum state_kind kind;
	union {
		struct {
			uint64_t packets, bytes;
		} counter;
		struct {
			uint64_t bytes; /* the quota */
			uint64_t used;	/* out: at most `bytes`, as the kernel lists it */
			bool over;
		} quota;
		struct {
			uint64_t rate;	  /* packets or bytes in one unit, at least 1 */
			uint64_t unit_ns; /* one second to one week */
			uint32_t burst;	  /* packets or bytes; 0 packets: the default */
			bool bytes;
			bool over;
		} limit;
		struct {
			bool used;	 /* false: never */
			uint64_t ago_ns; /* if used: how long ago */
		} last;
		struct {
			uint32_t count;
			bool over;
			uint32_t connections; /* out: seen and not known to be gone */
		} connlimit;
	};
};

struct state; /* opaque */

/* 0, -EINVAL (rate or unit 0), -EOVERFLOW (a bucket beyond 64 bits, as in the kernel), -ENOMEM. */
int state_new(const struct state_info *info, uint64_t now, struct state **out);
void state_free(struct state *st);
enum state_kind state_kind_of(const struct state *st);

/*
 * Shows it the packets of mask, in their order: len[i] bytes at time now[i]. Returns those for
 * which the rule goes on. A connlimit looks at no connection here: it answers by those it has.
 */
uint64_t state_eval(struct state *st, uint64_t mask, const uint32_t *len, const uint64_t *now);

/*
 * Where several workers have a state in common. What counters count gathers in the worker's own
 * batch, where it costs what a counter of its own would, and comes to the counter, with two atomic
 * additions, at state_batch_flush() or when the batch is full. Flush at the end of a burst, before
 * the states may go and before they are read. Other states are held for the while, so that their
 * answers are as if the packets had come one after the other. A batch begins as zeros.
 */
enum { STATE_BATCH = 16 };
struct state_batch {
	struct {
		struct state *st;
		uint64_t packets, bytes;
	} slot[STATE_BATCH];
};
uint64_t state_eval_shared(struct state *st, struct state_batch *b, uint64_t mask,
			   const uint32_t *len, const uint64_t *now);
void state_batch_flush(struct state_batch *b);

/*
 * Memory for the connections that a thread's packets bring to connlimits, and of those that they
 * found gone. state_conns_provide(), between bursts, makes it n or more, and 2 n at most; 0 or
 * -ENOMEM. It begins as zeros; after state_conns_provide(c, 0) there is nothing to free.
 */
struct state_conns_node;
struct state_conns {
	struct state_conns_node *spare;
	uint32_t n;
};
int state_conns_provide(struct state_conns *c, uint32_t n);

/*
 * One packet of a connlimit: conn is the connection's identity, never used for another one; alive()
 * tells whether a connection seen earlier still counts. 1: the rule goes on, 0: it ends, -ENOBUFS:
 * the connection is new, and `conns` has no memory. For other kinds as state_eval() without looking
 * at conn.
 */
struct state_conn {
	struct state_conns *conns;
	uint64_t conn;
	bool (*alive)(void *ctx, uint64_t conn);
	void *ctx;
};
int state_eval_conn(struct state *st, uint32_t len, uint64_t now, const struct state_conn *conn);

/* Present values, for the listing. */
void state_read(const struct state *st, uint64_t now, struct state_info *out);
/* The same, and then counters and used bytes begin at 0 again; a limit, last, connlimit stay. */
void state_reset(struct state *st, uint64_t now, struct state_info *out);

/*
 * Makes `to`, which is new, go on from where `from` is, if both have the same kind and parameters;
 * else it stays as it is. 0 or -ENOMEM, and then `to` is of no use.
 */
int state_carry(struct state *to, const struct state *from);

/* Another limit for a quota, what is used stays. */
void state_quota_change(struct state *st, uint64_t bytes, bool over);

/* --- lists ---------------------------------------------------------------------------------- */

/*
 * Several states that are evaluated one after the other: the statements of a set, which every
 * element has for itself. A template is what lists are made from; they do not need it once they are
 * made.
 */
struct state_template; /* opaque */
struct state_list;     /* opaque */

/* n at least 1. Errors as state_new(): what is made into a template can be made into lists. */
int state_template_new(const struct state_info *infos, unsigned n, struct state_template **out);
void state_template_free(struct state_template *t);
unsigned state_template_len(const struct state_template *t);
/* Other parameters for state i. As state_new(). */
int state_template_set(struct state_template *t, unsigned i, const struct state_info *info);
/* The same kinds with the same parameters; counts that they begin with may differ. */
bool state_template_same(const struct state_template *a, const struct state_template *b);

unsigned state_list_len(const struct state_list *l);
struct state *state_list_at(struct state_list *l, unsigned i);

/*
 * A list as a set's per-element state: the values of struct set_desc's ext_size, ext_init and
 * ext_fini. A counter takes 24 bytes, a limit 64, what else there is lies between.
 */
size_t state_list_ext_size(const void *template);
int state_list_ext_init(void *ext, const void *template, uint64_t now);
void state_list_ext_fini(void *ext);

#endif
