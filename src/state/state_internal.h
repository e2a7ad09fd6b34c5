/* SPDX-License-Identifier: Apache-2.0 */
/* state_internal: what state.c and state_list.c share: the states themselves, side by side in
 * lists. */
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
	enum state_kind kind;
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
			struct connlimit *conns;
			uint32_t count;
			bool over;
		} connlimit;
	};
};

int state_init(struct state *st, const struct state_info *info, uint64_t now);
void state_fini(struct state *st);

#endif
