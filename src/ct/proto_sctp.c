/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_sctp: the states of an SCTP association by the chunks that pass. RFC 9260.
 *
 * Transitions are those of the kernel's tracker; verification tags are not compared. Chunks that
 * are not named here (DATA, SACK) change nothing, and cannot begin a flow.
 */
#include "ct/proto.h"

enum { SCTP_HEADER = 12, CHUNK_HEADER = 4 };

enum sctp_state {
	SCTP_NONE,
	SCTP_CLOSED,
	SCTP_COOKIE_WAIT,
	SCTP_COOKIE_ECHOED,
	SCTP_ESTABLISHED,
	SCTP_SHUTDOWN_SENT,
	SCTP_SHUTDOWN_RECD,
	SCTP_SHUTDOWN_ACK_SENT,
	SCTP_HEARTBEAT_SENT,
	SCTP_STATES
};

/* Chunk types that have transitions: number, then one letter a state for each direction. */
/* clang-format off */
#define CHUNKS(X)                                          \
	/*                        nLWCESRAH    nLWCESRAH */ \
	X(INIT, 1,               "LLWCELLAW", "-LWCESRA-")  \
	X(INIT_ACK, 2,           "LLWCESRAL", "-WWCESRA-")  \
	X(HEARTBEAT, 4,          "HLWCESRAH", "-LWCESRAH")  \
	X(HEARTBEAT_ACK, 5,      "LLWCESRAH", "-LWCESRAE")  \
	X(ABORT, 6,              "LLLLLLLLL", "-LLLLLLL-")  \
	X(SHUTDOWN, 7,           "LLWCSSRAL", "-LWCRSRA-")  \
	X(SHUTDOWN_ACK, 8,       "ALWCEAAAA", "-LWCEAAA-")  \
	X(ERROR, 9,              "LLWCESRAL", "-LWLESRA-")  \
	X(COOKIE_ECHO, 10,       "LLCCESRAL", "-LCCESRA-")  \
	X(COOKIE_ACK, 11,        "LLWEESRAL", "-LWEESRA-")  \
	X(SHUTDOWN_COMPLETE, 14, "LLWCESRLL", "-LWCESRL-")
/* clang-format on */

static const char state_letters[] = "nLWCESRAH";
_Static_assert(sizeof(state_letters) - 1 == SCTP_STATES, "one letter a state");

enum chunk_type {
#define X(name, number, original, reply) CHUNK_##name = number,
	CHUNKS(X)
#undef X
		CHUNK_TYPES = 15
};

static const char *const transitions[CHUNK_TYPES][2] = {
#define X(name, number, original, reply) [number] = {original, reply},
	CHUNKS(X)
#undef X
};

_Static_assert(CT_TIMEOUT_SCTP_CLOSED - SCTP_CLOSED ==
		       CT_TIMEOUT_SCTP_HEARTBEAT_SENT - SCTP_HEARTBEAT_SENT,
	       "states and lifetimes in one order");

/* The next chunk at *off from the header; false at the end, *off then beyond or at the length. */
static bool chunk_next(const struct proto_packet *p, uint32_t *off, uint8_t *type, uint32_t *len)
{
	const uint8_t *c = burst_at(p->b, p->i, p->b->th_off[p->i] + *off, CHUNK_HEADER);
	if (!c)
		return false;
	*type = c[0];
	*len = be16_load(c + 2);
	*off += (*len + 3) & ~3U;
	return true;
}

/* A state, SCTP_STATES for invalid. */
static uint8_t state_after(uint8_t type, enum ct_direction dir, uint8_t state)
{
	if (type >= CHUNK_TYPES || !transitions[type][dir])
		return state;
	char letter = transitions[type][dir][state];
	if (letter == '-')
		return SCTP_STATES;
	return (uint8_t)(strchr(state_letters, letter) - state_letters);
}

static bool stands_alone(uint8_t type)
{
	return type == CHUNK_INIT || type == CHUNK_INIT_ACK || type == CHUNK_SHUTDOWN_COMPLETE;
}

static bool stands_first(uint8_t type)
{
	return type == CHUNK_COOKIE_ECHO || type == CHUNK_COOKIE_ACK;
}

bool sctp_valid(const struct proto_packet *p)
{
	uint32_t off = SCTP_HEADER, len;
	bool alone = false;
	unsigned n = 0;
	uint8_t type;

	if (!proto_header(p, SCTP_HEADER))
		return false;
	for (; chunk_next(p, &off, &type, &len); n++) {
		alone |= stands_alone(type);
		if (!len || (n && (alone || stands_first(type))))
			return false;
	}
	return n;
}

bool sctp_begin(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	uint32_t off = SCTP_HEADER, len;
	uint8_t type;

	f->sctp_state = SCTP_NONE;
	while (chunk_next(p, &off, &type, &len)) {
		if (type == CHUNK_ABORT || type == CHUNK_SHUTDOWN_COMPLETE ||
		    type == CHUNK_COOKIE_ACK)
			return false;
		uint8_t state = state_after(type, CT_ORIGINAL, SCTP_NONE);
		if (state == SCTP_NONE || state == SCTP_STATES)
			return false;
	}
	return true;
}

enum proto_answer sctp_packet(struct ct_table *t, struct ct_flow *f, const struct proto_packet *p)
{
	uint32_t off = SCTP_HEADER, len;
	uint8_t state = f->sctp_state, type;

	while (chunk_next(p, &off, &type, &len)) {
		uint8_t old = state;
		state = state_after(type, p->dir, state);
		if (state == SCTP_STATES)
			return PROTO_INVALID;
		f->sctp_state = state;
		if (old == SCTP_COOKIE_ECHOED && state == SCTP_ESTABLISHED && p->dir == CT_REPLY &&
		    !(f->status & CT_ASSURED))
			flow_assure(f);
	}
	flow_refresh(t, f, (enum ct_timeout)(CT_TIMEOUT_SCTP_CLOSED + state - SCTP_CLOSED), p->now);
	return PROTO_TAKE;
}
