/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_internal: what the files of src/state share: the states themselves.
 *
 * Those of a list stand one behind the other, each with the bytes that its kind needs
 * (state_bytes()) and no more: what lies behind them in struct state is not theirs.
 */
#ifndef TAMIS_STATE_INTERNAL_H
#define TAMIS_STATE_INTERNAL_H

#include "state/connlimit.h"
#include "state/state.h"

struct limit {
	uint64_t last, tokens, tokens_max;
	uint64_t rate, unit_ns;
	uint64_t packet_cost;
	uint32_t burst;
	bool bytes, over;
};

struct state {
	uint8_t kind;
	bool more;     /* in a list: another one follows */
	uint32_t lock; /* of state_eval_shared() */
	union {
		struct {
			uint64_t packets, bytes;
		} counter;
		struct {
			uint64_t bytes, consumed;
			bool over;
		} quota;
		struct limit limit;
		struct {
			uint64_t at;
			bool used;
		} last;
		struct {
			struct connlimit conns;
			uint32_t count;
			bool over;
		} connlimit;
	};
};

/* Held for some instructions, while what several workers share changes. */
static inline void state_lock(struct state *st)
{
	while (__atomic_exchange_n(&st->lock, 1, __ATOMIC_ACQUIRE))
		;
}

static inline void state_unlock(struct state *st)
{
	__atomic_store_n(&st->lock, 0, __ATOMIC_RELEASE);
}

size_t state_bytes(enum state_kind kind);
/* Writes state_bytes() at st. */
int state_init(struct state *st, const struct state_info *info, uint64_t now);
void state_fini(struct state *st);

#endif
