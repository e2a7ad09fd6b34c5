/* SPDX-License-Identifier: Apache-2.0 */
/* state: the arithmetic of single states; see state.h. */
#include "state/state.h"

#include <stdlib.h>

#include "state/state_internal.h"

/* --- life ----------------------------------------------------------------------------------- */

static int limit_init(struct limit *l, const struct state_info *info)
{
	struct limit n = {.rate = info->limit.rate,
			  .unit_ns = info->limit.unit_ns,
			  .burst = info->limit.burst,
			  .bytes = info->limit.bytes,
			  .over = info->limit.over};

	if (!n.rate || !n.unit_ns)
		return -EINVAL;
	if (n.bytes) {
		uint64_t sum, product;
		if (__builtin_add_overflow(n.rate, n.burst, &sum) ||
		    __builtin_mul_overflow(n.unit_ns, sum, &product))
			return -EOVERFLOW;
		n.tokens_max = product / n.rate;
	} else {
		if (!n.burst)
			n.burst = STATE_LIMIT_BURST_DEFAULT;
		n.packet_cost = n.unit_ns / n.rate;
		if (__builtin_mul_overflow(n.packet_cost, n.burst, &n.tokens_max))
			return -EOVERFLOW;
	}
	n.tokens = n.tokens_max;
	*l = n;
	return 0;
}

size_t state_bytes(enum state_kind kind)
{
	static const uint8_t size[] = {
#define STATE_SIZE(name) (offsetof(struct state, name) + sizeof(((struct state *)0)->name))
		[STATE_COUNTER] = STATE_SIZE(counter),	   [STATE_QUOTA] = STATE_SIZE(quota),
		[STATE_LIMIT] = STATE_SIZE(limit),	   [STATE_LAST] = STATE_SIZE(last),
		[STATE_CONNLIMIT] = STATE_SIZE(connlimit),
	};
	_Static_assert(ARRAY_SIZE(size) == STATE_KINDS_N, "a size for each kind");
	_Static_assert(STATE_SIZE(counter) == 24, "what a counter costs an element");
	return size[kind];
}

int state_init(struct state *st, const struct state_info *info, uint64_t now)
{
	struct state n = {.kind = (uint8_t)info->kind};
	int err = 0;

	switch (info->kind) {
	case STATE_COUNTER:
		n.counter.packets = info->counter.packets;
		n.counter.bytes = info->counter.bytes;
		break;
	case STATE_QUOTA:
		n.quota.bytes = info->quota.bytes;
		n.quota.consumed = info->quota.used;
		n.quota.over = info->quota.over;
		break;
	case STATE_LIMIT:
		err = limit_init(&n.limit, info);
		n.limit.last = now;
		break;
	case STATE_LAST:
		n.last.used = info->last.used;
		n.last.at = info->last.ago_ns < now ? now - info->last.ago_ns : 0;
		break;
	case STATE_CONNLIMIT:
		n.connlimit.count = info->connlimit.count;
		n.connlimit.over = info->connlimit.over;
		break;
	default:
		err = -EINVAL;
	}
	if (!err)
		memcpy(st, &n, state_bytes(info->kind));
	return err;
}

void state_fini(struct state *st)
{
	if (st->kind == STATE_CONNLIMIT)
		connlimit_fini(&st->connlimit.conns);
}

int state_new(const struct state_info *info, uint64_t now, struct state **out)
{
	struct state *st = malloc(sizeof(*st));
	if (!st)
		return -ENOMEM;
	int err = state_init(st, info, now);
	if (err) {
		free(st);
		return err;
	}
	*out = st;
	return 0;
}

void state_free(struct state *st)
{
	if (!st)
		return;
	state_fini(st);
	free(st);
}

static bool same_limit(const struct limit *a, const struct limit *b)
{
	return a->rate == b->rate && a->unit_ns == b->unit_ns && a->burst == b->burst &&
	       a->bytes == b->bytes && a->over == b->over;
}

int state_carry(struct state *to, const struct state *from)
{
	if (to->kind != from->kind)
		return 0;
	switch ((enum state_kind)to->kind) {
	case STATE_COUNTER:
		to->counter = from->counter;
		break;
	case STATE_QUOTA:
		if (to->quota.bytes == from->quota.bytes && to->quota.over == from->quota.over)
			to->quota.consumed = from->quota.consumed;
		break;
	case STATE_LIMIT:
		if (same_limit(&to->limit, &from->limit)) {
			to->limit.last = from->limit.last;
			to->limit.tokens = from->limit.tokens;
		}
		break;
	case STATE_LAST:
		to->last = from->last;
		break;
	case STATE_CONNLIMIT:
		if (to->connlimit.count == from->connlimit.count &&
		    to->connlimit.over == from->connlimit.over)
			return connlimit_copy(&to->connlimit.conns, &from->connlimit.conns);
		break;
	case STATE_KINDS_N:
		break;
	}
	return 0;
}

void state_quota_change(struct state *st, uint64_t bytes, bool over)
{
	st->quota.bytes = bytes;
	st->quota.over = over;
}

enum state_kind state_kind_of(const struct state *st)
{
	return st->kind;
}

/* --- packets -------------------------------------------------------------------------------- */

/* unit_ns * len is exact here, where it would wrap in 64 bits. */
static uint64_t byte_cost(const struct limit *l, uint32_t len)
{
	unsigned __int128 cost = (unsigned __int128)l->unit_ns * len / l->rate;
	return cost > UINT64_MAX ? UINT64_MAX : (uint64_t)cost;
}

static bool limit_pass(struct limit *l, uint32_t len, uint64_t now)
{
	uint64_t cost = l->bytes ? byte_cost(l, len) : l->packet_cost;
	uint64_t tokens;

	now = MAX(now, l->last);
	if (__builtin_add_overflow(l->tokens, now - l->last, &tokens))
		tokens = UINT64_MAX;
	tokens = MIN(tokens, l->tokens_max);
	l->last = now;
	bool enough = tokens >= cost;
	l->tokens = enough ? tokens - cost : tokens;
	return enough != l->over;
}

static bool state_pass(struct state *st, uint32_t len, uint64_t now)
{
	switch (st->kind) {
	case STATE_COUNTER:
		st->counter.packets++;
		st->counter.bytes += len;
		return true;
	case STATE_QUOTA:
		if (__builtin_add_overflow(st->quota.consumed, len, &st->quota.consumed))
			st->quota.consumed = UINT64_MAX;
		return (st->quota.consumed > st->quota.bytes) == st->quota.over;
	case STATE_LIMIT:
		return limit_pass(&st->limit, len, now);
	case STATE_LAST:
		st->last.used = true;
		st->last.at = now;
		return true;
	case STATE_CONNLIMIT:
		return (st->connlimit.conns.n > st->connlimit.count) == st->connlimit.over;
	case STATE_KINDS_N:
		break;
	}
	return false;
}

uint64_t state_eval(struct state *st, uint64_t mask, const uint32_t *len, const uint64_t *now)
{
	uint64_t pass = 0;

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		if (state_pass(st, len[i], now[i]))
			pass |= 1ULL << i;
	}
	return pass;
}

int state_eval_conn(struct state *st, uint32_t len, uint64_t now, const struct state_conn *conn)
{
	int r;

	if (st->kind != STATE_CONNLIMIT)
		return state_pass(st, len, now);
	state_lock(st);
	r = connlimit_add(&st->connlimit.conns, conn);
	if (!r)
		r = state_pass(st, len, now);
	state_unlock(st);
	return r;
}

/* --- reading -------------------------------------------------------------------------------- */

void state_read(const struct state *st, uint64_t now, struct state_info *out)
{
	*out = (struct state_info){.kind = st->kind};
	switch (st->kind) {
	case STATE_COUNTER:
		out->counter.packets = st->counter.packets;
		out->counter.bytes = st->counter.bytes;
		break;
	case STATE_QUOTA:
		out->quota.bytes = st->quota.bytes;
		out->quota.used = MIN(st->quota.consumed, st->quota.bytes);
		out->quota.over = st->quota.over;
		break;
	case STATE_LIMIT:
		out->limit.rate = st->limit.rate;
		out->limit.unit_ns = st->limit.unit_ns;
		out->limit.burst = st->limit.burst;
		out->limit.bytes = st->limit.bytes;
		out->limit.over = st->limit.over;
		break;
	case STATE_LAST:
		out->last.used = st->last.used;
		if (st->last.used && st->last.at < now)
			out->last.ago_ns = now - st->last.at;
		break;
	case STATE_CONNLIMIT:
		out->connlimit.count = st->connlimit.count;
		out->connlimit.over = st->connlimit.over;
		out->connlimit.connections = st->connlimit.conns.n;
		break;
	case STATE_KINDS_N:
		break;
	}
}

void state_reset(struct state *st, uint64_t now, struct state_info *out)
{
	state_read(st, now, out);
	if (st->kind == STATE_COUNTER)
		st->counter.packets = st->counter.bytes = 0;
	else if (st->kind == STATE_QUOTA)
		st->quota.consumed = 0;
}
