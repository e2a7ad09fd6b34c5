/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_batch: states that several workers have in common; see state.h.
 *
 * A counter that all packets of all workers hit would be one cache line that they pull out of one
 * another's hands with every packet. A batch is a direct-mapped table of sums; a counter that meets
 * another one in its slot sends that one's sums home. So a hot counter costs its workers two atomic
 * additions a burst, not a packet.
 */
#include "state/state_internal.h"

static void send_home(struct state_batch *b, unsigned k)
{
	struct state *st = b->slot[k].st;

	if (!st)
		return;
	__atomic_fetch_add(&st->counter.packets, b->slot[k].packets, __ATOMIC_RELAXED);
	__atomic_fetch_add(&st->counter.bytes, b->slot[k].bytes, __ATOMIC_RELAXED);
	b->slot[k].st = NULL;
}

void state_batch_flush(struct state_batch *b)
{
	for (unsigned k = 0; k < STATE_BATCH; k++)
		send_home(b, k);
}

static void gather(struct state_batch *b, struct state *st, uint64_t mask, const uint32_t *len)
{
	unsigned k = (unsigned)((uintptr_t)st * 0x9e3779b97f4a7c15ULL >> 60) % STATE_BATCH;
	uint64_t packets = 0, bytes = 0;

	for (; mask; mask &= mask - 1) {
		packets++;
		bytes += len[__builtin_ctzll(mask)];
	}
	if (b->slot[k].st != st) {
		send_home(b, k);
		b->slot[k].st = st;
		b->slot[k].packets = b->slot[k].bytes = 0;
	}
	b->slot[k].packets += packets;
	b->slot[k].bytes += bytes;
}

uint64_t state_eval_shared(struct state *st, struct state_batch *b, uint64_t mask,
			   const uint32_t *len, const uint64_t *now)
{
	if (st->kind == STATE_COUNTER) {
		gather(b, st, mask, len);
		return mask;
	}
	state_lock(st);
	uint64_t go = state_eval(st, mask, len, now);
	state_unlock(st);
	return go;
}
