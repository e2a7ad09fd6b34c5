/* SPDX-License-Identifier: Apache-2.0 */
/* TCP and SCTP: connections packet by packet, as a table of steps. */
#include "ct_packets.h"

/* One packet of a connection between 1:1000 (client) and 2:80 (server). */
struct step {
	bool server;
	uint8_t flags;
	unsigned state;		 /* expected */
	enum ct_timeout timeout; /* expected lifetime afterwards, if there is a flow */
	uint64_t wait;		 /* before it */
	uint32_t seq, ack;
};

#define C(flags, state, timeout, ...)                                                              \
	{                                                                                          \
		false, flags, state, CT_TIMEOUT_TCP_##timeout, __VA_ARGS__                         \
	}
#define V(flags, state, timeout, ...)                                                              \
	{                                                                                          \
		true, flags, state, CT_TIMEOUT_TCP_##timeout, __VA_ARGS__                          \
	}
#define INVALID_C(flags)                                                                           \
	{                                                                                          \
		false, flags, CT_INVALID, 0                                                        \
	}
#define INVALID_V(flags)                                                                           \
	{                                                                                          \
		true, flags, CT_INVALID, 0                                                         \
	}

/* Plays the steps on one table, as 4 and as 6; returns the flow of the last, valid for now. */
static struct ct_flow *play_on(struct ct_table *t, int family, const struct step *steps, unsigned n,
			       uint64_t *now)
{
	static struct packets p;
	struct ct_config c;

	ct_config_default(&c);
	p.cb.flow[0] = NULL;
	for (unsigned i = 0; i < n; i++) {
		const struct step *st = &steps[i];
		uint8_t h[20];
		*now += st->wait;
		packets_begin(&p, *now);
		make_tcp(h, st->server ? 80 : 1000, st->server ? 1000 : 80, st->flags, st->seq,
			 st->ack);
		put_packet(&p, family, st->server ? 2 : 1, st->server ? 1 : 2, 6, h, sizeof(h));
		unsigned state = track_one(t, &p);
		if (state != st->state)
			print_error("step %u\n", i);
		assert_int_equal(state, st->state);
		if (st->state == CT_INVALID)
			assert_null(p.cb.flow[0]);
		else if (!(ct_flow_status(p.cb.flow[0]) & CT_DYING))
			assert_int_equal(ct_flow_expires_in(p.cb.flow[0], *now),
					 c.timeout_ns[st->timeout]);
	}
	return p.cb.flow[0];
}

static void play(const struct step *steps, unsigned n, uint32_t flows_left)
{
	for (int family = 4; family <= 6; family += 2) {
		struct ct_table *t = make_table(100);
		uint64_t now = 1000 * S;
		play_on(t, family, steps, n, &now);
		assert_int_equal(ct_count(t, now), flows_left);
		ct_table_free(t);
	}
}

#define PLAY(flows_left, ...)                                                                      \
	do {                                                                                       \
		const struct step steps_[] = {__VA_ARGS__};                                        \
		play(steps_, ARRAY_SIZE(steps_), flows_left);                                      \
	} while (0)

#define HANDSHAKE                                                                                  \
	C(SYN, CT_NEW, SYN_SENT), V(SYN | ACK, CT_ESTABLISHED, SYN_RECV),                          \
		C(ACK, CT_ESTABLISHED, ESTABLISHED)

static void normal(void **state)
{
	PLAY(1, HANDSHAKE, C(PSH | ACK, CT_ESTABLISHED, ESTABLISHED),
	     V(ACK, CT_ESTABLISHED, ESTABLISHED), C(FIN | ACK, CT_ESTABLISHED, FIN_WAIT),
	     V(ACK, CT_ESTABLISHED, CLOSE_WAIT), V(FIN | ACK, CT_ESTABLISHED, LAST_ACK),
	     C(ACK, CT_ESTABLISHED, TIME_WAIT), C(ACK, CT_ESTABLISHED, TIME_WAIT));
	/* The server closes first; both at once. */
	PLAY(1, HANDSHAKE, V(FIN | ACK, CT_ESTABLISHED, FIN_WAIT),
	     C(ACK, CT_ESTABLISHED, CLOSE_WAIT), C(FIN | ACK, CT_ESTABLISHED, LAST_ACK),
	     V(ACK, CT_ESTABLISHED, TIME_WAIT));
	PLAY(1, HANDSHAKE, V(FIN | ACK, CT_ESTABLISHED, FIN_WAIT),
	     C(FIN | ACK, CT_ESTABLISHED, LAST_ACK), V(ACK, CT_ESTABLISHED, TIME_WAIT));
	/* Retransmissions. */
	PLAY(1, C(SYN, CT_NEW, SYN_SENT), C(SYN, CT_NEW, SYN_SENT, .wait = S),
	     V(SYN | ACK, CT_ESTABLISHED, SYN_RECV), V(SYN | ACK, CT_ESTABLISHED, SYN_RECV),
	     C(ACK, CT_ESTABLISHED, ESTABLISHED), C(ACK, CT_ESTABLISHED, ESTABLISHED));
}

static void strangers(void **state)
{
	PLAY(0, INVALID_V(SYN | ACK));
	PLAY(0, INVALID_C(RST), INVALID_C(RST | ACK));
	PLAY(0, INVALID_C(FIN | ACK));
	PLAY(1, C(SYN, CT_NEW, SYN_SENT), INVALID_C(ACK), INVALID_C(SYN | ACK),
	     INVALID_C(FIN | ACK), C(SYN, CT_NEW, SYN_SENT));
	PLAY(1, HANDSHAKE, INVALID_V(SYN), INVALID_C(SYN | ACK),
	     C(ACK, CT_ESTABLISHED, ESTABLISHED));
}

static void pickup(void **state)
{
	/* In the middle: careful until the other side is heard, then assured. */
	const struct step steps[] = {C(ACK, CT_NEW, UNACK), C(PSH | ACK, CT_NEW, UNACK),
				     V(ACK, CT_ESTABLISHED, UNACK),
				     C(ACK, CT_ESTABLISHED, ESTABLISHED)};
	struct ct_table *t = make_table(100);
	uint64_t now = 0;
	/* The answer is looked at before it counts as one. */
	struct ct_flow *f = play_on(t, 4, steps, 3, &now);
	assert_false(ct_flow_status(f) & CT_ASSURED);
	f = play_on(t, 4, steps + 3, 1, &now);
	assert_true(ct_flow_status(f) & CT_ASSURED);
	ct_table_free(t);

	struct ct_config c;
	ct_config_default(&c);
	c.tcp_loose = false;
	assert_int_equal(ct_table_new(&c, &t), 0);
	const struct step strict[] = {INVALID_C(ACK), INVALID_V(ACK), HANDSHAKE};
	play_on(t, 4, strict, ARRAY_SIZE(strict), &now);
	ct_table_free(t);
}

static void resets(void **state)
{
	/* Refused: the flow goes with the RST, which belongs to it. */
	PLAY(0, C(SYN, CT_NEW, SYN_SENT), V(RST | ACK, CT_ESTABLISHED, CLOSE));
	PLAY(1, HANDSHAKE, V(RST, CT_ESTABLISHED, CLOSE), C(ACK, CT_ESTABLISHED, CLOSE));
	/* A SYN of who sent the RST opens anew, one of the other side is let through. */
	PLAY(1, HANDSHAKE, C(RST, CT_ESTABLISHED, CLOSE), C(SYN, CT_NEW, SYN_SENT));
	PLAY(1, HANDSHAKE, V(RST, CT_ESTABLISHED, CLOSE), C(SYN, CT_ESTABLISHED, CLOSE, .seq = 500),
	     V(SYN | ACK, CT_ESTABLISHED, SYN_RECV, .ack = 501),
	     C(ACK, CT_ESTABLISHED, ESTABLISHED));
}

static void reopening(void **state)
{
#define CLOSED                                                                                     \
	HANDSHAKE, C(FIN | ACK, CT_ESTABLISHED, FIN_WAIT), V(FIN | ACK, CT_ESTABLISHED, LAST_ACK), \
		C(ACK, CT_ESTABLISHED, TIME_WAIT)
	PLAY(1, CLOSED, C(SYN, CT_NEW, SYN_SENT), V(SYN | ACK, CT_ESTABLISHED, SYN_RECV));
	PLAY(1, CLOSED, V(SYN, CT_NEW, SYN_SENT), C(SYN | ACK, CT_ESTABLISHED, SYN_RECV));
	PLAY(1, CLOSED, C(SYN, CT_NEW, SYN_SENT, .wait = 120 * S));
	PLAY(1, CLOSED, V(FIN | ACK, CT_ESTABLISHED, TIME_WAIT),
	     C(ACK, CT_NEW, UNACK, .wait = 120 * S));
}

static void out_of_step(void **state)
{
	/* The ends restarted and we did not see it: SYN let through, its SYN-ACK taken up. */
	PLAY(1, HANDSHAKE, {false, SYN, CT_ESTABLISHED, CT_TIMEOUT_TCP_ESTABLISHED, 0, 700, 0},
	     V(SYN | ACK, CT_ESTABLISHED, ESTABLISHED, .ack = 9), /* of something else */
	     C(SYN, CT_ESTABLISHED, ESTABLISHED, .seq = 700),
	     V(SYN | ACK, CT_ESTABLISHED, SYN_RECV, .ack = 701),
	     C(ACK, CT_ESTABLISHED, ESTABLISHED));
	/* A challenge ACK does not acknowledge the FIN. */
	PLAY(1, HANDSHAKE, C(FIN | ACK, CT_ESTABLISHED, FIN_WAIT),
	     V(FIN | ACK, CT_ESTABLISHED, LAST_ACK), C(SYN, CT_ESTABLISHED, LAST_ACK),
	     V(ACK, CT_ESTABLISHED, LAST_ACK), C(ACK, CT_ESTABLISHED, TIME_WAIT));
	/* SYNs that cross. */
	PLAY(1, C(SYN, CT_NEW, SYN_SENT), V(SYN, CT_ESTABLISHED, SYN_SENT2),
	     C(SYN | ACK, CT_ESTABLISHED, SYN_RECV), V(SYN | ACK, CT_ESTABLISHED, SYN_RECV),
	     V(ACK, CT_ESTABLISHED, ESTABLISHED));
}

static void nonsense(void **state)
{
	struct ct_table *t = make_table(1000);
	struct packets p;
	uint8_t h[20];
	unsigned valid = 0;

	for (unsigned flags = 0; flags < 64; flags++) {
		packets_begin(&p, 0);
		make_tcp(h, 1, 2, (uint8_t)flags, 0, 0);
		put_packet(&p, 4, 10 + flags, 2, 6, h, sizeof(h));
		unsigned st = track_one(t, &p);
		bool begins = (flags & ~(unsigned)(PSH | URG)) == SYN ||
			      (flags & ~(unsigned)(PSH | URG)) == ACK;
		assert_int_equal(st, begins ? CT_NEW : CT_INVALID);
		valid += begins;
	}
	assert_int_equal(ct_count(t, 0), valid);
	/* ECN does not matter; a header that is too short or too long does. */
	static const struct {
		uint8_t offset;
		uint32_t len;
		unsigned state;
	} cases[] = {{5, 20, CT_NEW},	  {4, 20, CT_INVALID}, {6, 20, CT_INVALID},
		     {5, 19, CT_INVALID}, {0, 20, CT_INVALID}, {15, 20, CT_INVALID}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		packets_begin(&p, 0);
		make_tcp(h, 1, 2, SYN | 0xc0, 0, 0);
		h[12] = (uint8_t)(cases[i].offset << 4);
		put_packet(&p, 4, 100 + i, 2, 6, h, cases[i].len);
		assert_int_equal(track_one(t, &p), cases[i].state);
	}
	ct_table_free(t);
}

static void ended(void **state)
{
	const struct step steps[] = {CLOSED};
	struct ct_table *t = make_table(100);
	uint64_t now = 0;

	struct ct_flow *f = play_on(t, 4, steps, ARRAY_SIZE(steps) - 1, &now);
	assert_true(ct_alive(t, ct_flow_id(f), now));
	f = play_on(t, 4, steps + ARRAY_SIZE(steps) - 1, 1, &now);
	assert_false(ct_alive(t, ct_flow_id(f), now));
	ct_table_free(t);
}

/* A whole connection in one burst. */
static void one_burst(void **state)
{
	static const struct step steps[] = {HANDSHAKE, C(FIN | ACK, CT_ESTABLISHED, FIN_WAIT)};
	struct ct_table *t = make_table(100);
	struct packets p;

	packets_begin(&p, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		uint8_t h[20];
		bool v = steps[i].server;
		make_tcp(h, v ? 80 : 1000, v ? 1000 : 80, steps[i].flags, 0, 0);
		put_packet(&p, 4, v ? 2 : 1, v ? 1 : 2, 6, h, sizeof(h));
	}
	track_all(t, &p);
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++)
		assert_int_equal(p.cb.state[i], steps[i].state);
	finish_all(t, &p, true);
	assert_int_equal(ct_count(t, 0), 1);
	ct_table_free(t);
}

/* --- SCTP ----------------------------------------------------------------------------------- */

enum {
	INIT = 1,
	INIT_ACK = 2,
	HEARTBEAT = 4,
	HEARTBEAT_ACK = 5,
	ABORT = 6,
	SHUTDOWN = 7,
	SHUTDOWN_ACK = 8,
	COOKIE_ECHO = 10,
	COOKIE_ACK = 11,
	SHUTDOWN_COMPLETE = 14
};

/* A packet of up to two chunks; type 255 for none, 0 is DATA. */
static unsigned sctp(struct ct_table *t, struct packets *p, bool server, uint8_t a, uint8_t b)
{
	uint8_t h[20] = {0};

	be16_store(h, server ? 80 : 1000);
	be16_store(h + 2, server ? 1000 : 80);
	h[12] = a;
	h[15] = 4;
	h[16] = b;
	h[19] = 4;
	packets_begin(p, 0);
	put_packet(p, 4, server ? 2 : 1, server ? 1 : 2, 132, h,
		   a == 255   ? 12
		   : b == 255 ? 16
			      : 20);
	return track_one(t, p);
}

static void sctp_association(void **state)
{
	static const struct {
		bool server;
		uint8_t chunk;
		unsigned state;
		unsigned seconds;
	} steps[] = {
		{false, INIT, CT_NEW, 10},
		{true, INIT_ACK, CT_ESTABLISHED, 3},
		{false, COOKIE_ECHO, CT_ESTABLISHED, 3},
		{true, COOKIE_ACK, CT_ESTABLISHED, 210},
		{false, 0, CT_ESTABLISHED, 210},
		{true, 3, CT_ESTABLISHED, 210},
		{false, SHUTDOWN, CT_ESTABLISHED, 3},
		{true, SHUTDOWN_ACK, CT_ESTABLISHED, 3},
		{false, SHUTDOWN_COMPLETE, CT_ESTABLISHED, 10},
	};
	struct ct_table *t = make_table(100);
	struct packets p;

	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_int_equal(sctp(t, &p, steps[i].server, steps[i].chunk, 255), steps[i].state);
		assert_int_equal(ct_flow_expires_in(p.cb.flow[0], 0), steps[i].seconds * S);
		assert_int_equal(!(ct_flow_status(p.cb.flow[0]) & CT_ASSURED), i < 3);
	}
	ct_table_free(t);
}

static void sctp_nonsense(void **state)
{
	static const struct {
		uint8_t a, b;
		unsigned state;
	} cases[] = {
		{255, 255, CT_INVALID}, /* no chunk */
		{0, 255, CT_INVALID},	/* DATA of an unknown association */
		{ABORT, 255, CT_INVALID},
		{COOKIE_ACK, 255, CT_INVALID},
		{SHUTDOWN_COMPLETE, 255, CT_INVALID},
		{INIT, 0, CT_INVALID}, /* not alone */
		{0, INIT, CT_INVALID},
		{HEARTBEAT, COOKIE_ECHO, CT_INVALID}, /* not first */
		{HEARTBEAT, HEARTBEAT, CT_NEW},
	};
	struct packets p;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ct_table *t = make_table(100);
		assert_int_equal(sctp(t, &p, false, cases[i].a, cases[i].b), cases[i].state);
		assert_int_equal(ct_count(t, 0), cases[i].state == CT_NEW);
		ct_table_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal),	 cmocka_unit_test(strangers),
		cmocka_unit_test(pickup),	 cmocka_unit_test(resets),
		cmocka_unit_test(reopening),	 cmocka_unit_test(out_of_step),
		cmocka_unit_test(nonsense),	 cmocka_unit_test(ended),
		cmocka_unit_test(one_burst),	 cmocka_unit_test(sctp_association),
		cmocka_unit_test(sctp_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
