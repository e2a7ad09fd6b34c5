/* SPDX-License-Identifier: Apache-2.0 */
/* The flow table: UDP, ICMP, errors, fragments, other protocols; confirmation, lifetimes, limits.
 */
#include "ct_packets.h"

static void configs(void **state)
{
	struct ct_table *t = NULL;
	struct ct_config c;

	ct_config_default(&c);
	assert_int_equal(c.max_flows, 262144);
	assert_int_equal(c.timeout_ns[CT_TIMEOUT_TCP_ESTABLISHED], 432000 * S);
	assert_int_equal(c.timeout_ns[CT_TIMEOUT_GENERIC], 600 * S);
	c.max_flows = 0;
	assert_int_equal(ct_table_new(&c, &t), -EINVAL);
	assert_null(t);
	ct_table_free(NULL);
}

static void udp_states(void **state)
{
	struct ct_table *t = make_table(100);

	assert_int_equal(udp(t, 0, 1, 2, 1000, 53), CT_NEW);
	assert_int_equal(udp(t, 1, 1, 2, 1000, 53), CT_NEW);
	assert_int_equal(udp(t, 2, 2, 1, 53, 1000), CT_ESTABLISHED);
	assert_int_equal(udp(t, 3, 1, 2, 1000, 53), CT_ESTABLISHED);
	assert_int_equal(udp(t, 3, 1, 2, 1001, 53), CT_NEW);
	assert_int_equal(udp(t, 3, 3, 2, 1000, 53), CT_NEW);
	assert_int_equal(ct_count(t, 3), 3);
	ct_table_free(t);
}

static void udp_lifetimes(void **state)
{
	struct ct_table *t = make_table(100);

	/* Unreplied: 30 s. */
	assert_int_equal(udp(t, 0, 1, 2, 1, 2), CT_NEW);
	assert_int_equal(ct_count(t, 30 * S - 1), 1);
	assert_int_equal(ct_count(t, 30 * S), 0);
	assert_int_equal(udp(t, 30 * S, 2, 1, 2, 1), CT_NEW); /* no answer any more */
	assert_int_equal(ct_stats_of(t)->expired, 1);

	/* An answer at once is still 30 s; a stream lives 120 s and is assured. */
	struct packets p;
	assert_int_equal(udp(t, 100 * S, 1, 2, 7, 8), CT_NEW);
	assert_int_equal(udp(t, 101 * S, 2, 1, 8, 7), CT_ESTABLISHED);
	packets_begin(&p, 102 * S);
	put_udp(&p, 1, 2, 7, 8);
	track_all(t, &p);
	assert_int_equal(ct_flow_expires_in(p.cb.flow[0], 102 * S), 30 * S);
	assert_int_equal(ct_flow_status(p.cb.flow[0]), CT_SEEN_REPLY | CT_CONFIRMED);
	packets_begin(&p, 102 * S + 1);
	put_udp(&p, 1, 2, 7, 8);
	track_all(t, &p);
	assert_int_equal(ct_flow_expires_in(p.cb.flow[0], 102 * S + 1), 120 * S);
	assert_int_equal(ct_flow_status(p.cb.flow[0]), CT_SEEN_REPLY | CT_CONFIRMED | CT_ASSURED);
	ct_table_free(t);
}

static void flow_facts(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;

	packets_begin(&p, 5 * S);
	put_udp(&p, 1, 2, 1000, 53);
	p.now = 6 * S;
	put_udp(&p, 2, 1, 53, 1000);
	put_udp(&p, 1, 2, 1000, 53);
	track_all(t, &p);
	assert_int_equal(p.cb.state[0], CT_NEW);
	assert_int_equal(p.cb.state[1], CT_ESTABLISHED);
	assert_int_equal(p.cb.state[2], CT_ESTABLISHED);
	assert_int_equal(p.cb.dir[0], CT_ORIGINAL);
	assert_int_equal(p.cb.dir[1], CT_REPLY);
	struct ct_flow *f = p.cb.flow[0];
	assert_ptr_equal(f, p.cb.flow[1]);
	assert_int_equal(ct_flow_status(f) & CT_CONFIRMED, 0);
	finish_all(t, &p, true);
	assert_int_equal(ct_stats_of(t)->created, 1);
	assert_int_equal(ct_flow_packets(f, CT_ORIGINAL), 2);
	assert_int_equal(ct_flow_packets(f, CT_REPLY), 1);
	assert_int_equal(ct_flow_bytes(f, CT_ORIGINAL), 56);
	assert_int_equal(ct_flow_bytes(f, CT_REPLY), 28);
	assert_int_equal(ct_flow_mark(f), 0);
	ct_flow_set_mark(f, 0x17);
	assert_int_equal(ct_flow_mark(f), 0x17);
	const struct ct_tuple *o = ct_flow_tuple(f, CT_ORIGINAL), *r = ct_flow_tuple(f, CT_REPLY);
	assert_int_equal(o->sport, 1000);
	assert_int_equal(r->sport, 53);
	assert_memory_equal(o->saddr, r->daddr, 16);
	assert_int_equal(o->family, 4);
	assert_int_equal(o->l4proto, 17);

	uint64_t id = ct_flow_id(f);
	assert_true(ct_alive(t, id, 6 * S));
	assert_false(ct_alive(t, id, 1000 * S));
	assert_false(ct_alive(t, id + 1, 6 * S));
	assert_int_equal(ct_gc(t, 6 * S, 10), 0);
	assert_int_equal(ct_gc(t, 1000 * S, 10), 1);
	assert_false(ct_alive(t, id, 6 * S));
	assert_int_equal(udp(t, 1000 * S, 1, 2, 1000, 53), CT_NEW);
	assert_false(ct_alive(t, id, 1000 * S)); /* the slot is taken again, the id is not */
	ct_table_free(t);
}

static void confirmation(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;

	/* A dropped first packet leaves nothing. */
	packets_begin(&p, 0);
	put_udp(&p, 1, 2, 1, 2);
	track_all(t, &p);
	assert_non_null(p.cb.flow[0]);
	finish_all(t, &p, false);
	assert_null(p.cb.flow[0]);
	assert_int_equal(ct_count(t, 0), 0);
	assert_int_equal(udp(t, 1, 2, 1, 2, 1), CT_NEW);

	/* A dropped packet of a confirmed flow leaves it, and counts as an answer. */
	packets_begin(&p, 2);
	put_udp(&p, 1, 2, 1, 2);
	track_all(t, &p);
	finish_all(t, &p, false);
	assert_non_null(p.cb.flow[0]);
	assert_int_equal(udp(t, 3, 2, 1, 2, 1), CT_ESTABLISHED);

	/* One burst: one accepted packet keeps the flow for all, in any order. */
	for (unsigned accepted = 0; accepted < 4; accepted++) {
		packets_begin(&p, 10);
		put_udp(&p, 5, 6, accepted, 9);
		put_udp(&p, 5, 6, accepted, 9);
		track_all(t, &p);
		assert_ptr_equal(p.cb.flow[0], p.cb.flow[1]);
		assert_int_equal(p.cb.state[1], CT_NEW);
		ct_finish(t, &p.cb, 3, accepted);
		assert_int_equal(!p.cb.flow[0], !accepted);
		assert_int_equal(!p.cb.flow[1], !accepted);
		assert_int_equal(udp(t, 11, 6, 5, 9, accepted), accepted ? CT_ESTABLISHED : CT_NEW);
	}

	/* Packet by packet through one ct_burst: the second sees what became of the first. */
	packets_begin(&p, 20);
	put_udp(&p, 7, 8, 1, 1);
	put_udp(&p, 8, 7, 1, 1);
	burst_parse(&p.b);
	ct_track(t, &p.b, 1, 0, &p.cb);
	ct_finish(t, &p.cb, 1, 0);
	ct_track(t, &p.b, 2, 0, &p.cb);
	assert_int_equal(p.cb.state[1], CT_NEW);
	assert_int_equal(p.cb.dir[1], CT_ORIGINAL);
	ct_finish(t, &p.cb, 2, 2);
	ct_table_free(t);
}

static void untracked(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;

	packets_begin(&p, 0);
	put_udp(&p, 1, 2, 1, 2);
	put_udp(&p, 1, 2, 3, 4);
	assert_int_equal(p.cb.state[0], CT_INVALID); /* before anything was tracked */
	burst_parse(&p.b);
	ct_track(t, &p.b, 3, 1, &p.cb);
	assert_int_equal(p.cb.state[0], CT_UNTRACKED);
	assert_null(p.cb.flow[0]);
	assert_int_equal(p.cb.state[1], CT_NEW);
	finish_all(t, &p, true);
	assert_int_equal(ct_count(t, 0), 1);

	/* Not IP at all. */
	packets_begin(&p, 0);
	put_udp(&p, 1, 2, 1, 2);
	p.bytes[0][0] = 0x05;
	assert_int_equal(track_one(t, &p), CT_INVALID);
	ct_table_free(t);
}

static void udp_nonsense(void **state)
{
	static const uint16_t bad_lengths[] = {0, 7, 9, 65535};
	struct ct_table *t = make_table(100);
	struct packets p;
	uint8_t h[8];

	for (unsigned i = 0; i < ARRAY_SIZE(bad_lengths); i++) {
		packets_begin(&p, 0);
		make_udp(h, 1, 2);
		be16_store(h + 4, bad_lengths[i]);
		put_packet(&p, 4, 1, 2, 17, h, sizeof(h));
		assert_int_equal(track_one(t, &p), CT_INVALID);
	}
	make_udp(h, 1, 2);
	for (uint32_t len = 0; len < 8; len++) {
		packets_begin(&p, 0);
		put_packet(&p, 4, 1, 2, 17, h, len);
		assert_int_equal(track_one(t, &p), CT_INVALID);
	}
	assert_int_equal(ct_count(t, 0), 0);

	/* A capture that cut the payload off is not the packet's fault. */
	uint8_t long_one[100] = {0};
	make_udp(long_one, 1, 2);
	be16_store(long_one + 4, 100);
	packets_begin(&p, 0);
	put_packet(&p, 4, 1, 2, 17, long_one, sizeof(long_one));
	p.b.caplen[0] = 28;
	assert_int_equal(track_one(t, &p), CT_NEW);
	ct_table_free(t);
}

static void icmp_queries(void **state)
{
	static const struct {
		int family;
		uint8_t query, answer;
	} pairs[] = {{4, 8, 0},	  {4, 13, 14},	 {4, 15, 16},
		     {4, 17, 18}, {6, 128, 129}, {6, 139, 140}};
	struct ct_table *t = make_table(100);

	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		int fam = pairs[i].family;
		assert_int_equal(icmp(t, 0, fam, 2, 1, pairs[i].answer, 7), CT_INVALID);
		assert_int_equal(icmp(t, 0, fam, 1, 2, pairs[i].query, 7), CT_NEW);
		assert_int_equal(icmp(t, 1, fam, 1, 2, pairs[i].query, 7), CT_NEW);
		assert_int_equal(icmp(t, 1, fam, 2, 1, pairs[i].answer, 8), CT_INVALID);
		assert_int_equal(icmp(t, 1, fam, 3, 1, pairs[i].answer, 7), CT_INVALID);
		assert_int_equal(icmp(t, 1, fam, 2, 1, pairs[i].answer, 7), CT_ESTABLISHED);
		assert_int_equal(icmp(t, 2, fam, 2, 1, pairs[i].answer, 7), CT_ESTABLISHED);
		assert_int_equal(icmp(t, 2, fam, 1, 2, pairs[i].query, 7), CT_ESTABLISHED);
		assert_int_equal(icmp(t, 2 + 30 * S, fam, 2, 1, pairs[i].answer, 7), CT_INVALID);
	}
	assert_int_equal(icmp(t, 0, 4, 1, 2, 10, 0), CT_INVALID); /* router solicitation */
	assert_int_equal(icmp(t, 0, 4, 1, 2, 42, 0), CT_INVALID);
	assert_int_equal(icmp(t, 0, 6, 1, 2, 200, 0), CT_INVALID);
	for (unsigned type = 130; type < 150; type++) {
		bool untracked = type <= 136 || type == 143;
		if (type == 139)
			continue;
		assert_int_equal(icmp(t, 0, 6, 1, 2, (uint8_t)type, 0),
				 untracked ? CT_UNTRACKED : CT_INVALID);
	}
	ct_table_free(t);
}

/* An ICMP error from `router` to `to`, about a UDP packet from 1:1000 to 2:53 or back. */
static unsigned error_about(struct ct_table *t, int family, unsigned to, bool answer, uint8_t type,
			    uint32_t cut, struct packets *p)
{
	uint8_t h[8], body[128] = {type};
	make_udp(h, answer ? 53 : 1000, answer ? 1000 : 53);
	uint32_t len = 8 + put_ip(body + 8, family, answer ? 2 : 1, answer ? 1 : 2, 17, h, 8);
	packets_begin(p, 1);
	put_packet(p, family, 99, to, family == 4 ? 1 : 58, body, len - cut);
	return track_one(t, p);
}

static void icmp_errors(void **state)
{
	static const uint8_t types4[] = {3, 4, 5, 11, 12}, types6[] = {1, 2, 3, 4, 100};
	struct packets p;
	uint8_t h[8];

	for (int family = 4; family <= 6; family += 2) {
		struct ct_table *t = make_table(100);
		const uint8_t *types = family == 4 ? types4 : types6;

		assert_int_equal(error_about(t, family, 1, false, types[0], 0, &p), CT_INVALID);
		packets_begin(&p, 0);
		make_udp(h, 1000, 53);
		put_packet(&p, family, 1, 2, 17, h, 8);
		assert_int_equal(track_one(t, &p), CT_NEW);
		struct ct_flow *f = p.cb.flow[0];
		uint64_t id = ct_flow_id(f);
		for (unsigned i = 0; i < 5; i++) {
			/* About the original's packet, to its sender: it is on the way of replies.
			 */
			assert_int_equal(error_about(t, family, 1, false, types[i], 0, &p),
					 CT_RELATED);
			assert_int_equal(ct_flow_id(p.cb.flow[0]), id);
			assert_int_equal(p.cb.dir[0], CT_REPLY);
			assert_int_equal(error_about(t, family, 2, true, types[i], 0, &p),
					 CT_RELATED);
			assert_int_equal(p.cb.dir[0], CT_ORIGINAL);
			/* To somebody else; cut off before the ports. */
			assert_int_equal(error_about(t, family, 3, false, types[i], 0, &p),
					 CT_INVALID);
			assert_int_equal(error_about(t, family, 1, false, types[i], 5, &p),
					 CT_INVALID);
			assert_int_equal(error_about(t, family, 1, false, types[i], 20, &p),
					 CT_INVALID);
		}
		/* Errors neither answer nor refresh. */
		f = NULL;
		packets_begin(&p, 2);
		make_udp(h, 1000, 53);
		put_packet(&p, family, 1, 2, 17, h, 8);
		assert_int_equal(track_one(t, &p), CT_NEW);
		assert_int_equal(ct_flow_packets(p.cb.flow[0], CT_REPLY), 0);
		ct_table_free(t);
	}
}

static void icmp_error_of_dropped(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;
	uint8_t h[8], body[64] = {3};

	/* In one burst: a flow's first packet is dropped, an error about it accepted. */
	make_udp(h, 1000, 53);
	put_ip(body + 8, 4, 1, 2, 17, h, 8);
	packets_begin(&p, 0);
	put_udp(&p, 1, 2, 1000, 53);
	put_packet(&p, 4, 99, 1, 1, body, 36);
	track_all(t, &p);
	assert_int_equal(p.cb.state[1], CT_RELATED);
	ct_finish(t, &p.cb, 3, 2);
	assert_int_equal(ct_count(t, 0), 0);
	ct_table_free(t);
}

static void redirect(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;
	uint8_t h[8], body[128] = {137};

	packets_begin(&p, 0);
	make_udp(h, 1000, 53);
	put_packet(&p, 6, 1, 2, 17, h, 8);
	assert_int_equal(track_one(t, &p), CT_NEW);
	body[40] = 2; /* target link-layer address, then the redirected packet */
	body[41] = 1;
	body[48] = 4;
	body[49] = 7;
	put_ip(body + 56, 6, 1, 2, 17, h, 8);
	packets_begin(&p, 1);
	put_packet(&p, 6, 99, 1, 58, body, 104);
	assert_int_equal(track_one(t, &p), CT_RELATED);
	body[41] = 0; /* an option without length ends the search */
	packets_begin(&p, 1);
	put_packet(&p, 6, 99, 1, 58, body, 104);
	assert_int_equal(track_one(t, &p), CT_INVALID);
	ct_table_free(t);
}

static void fragments(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;
	uint8_t h[16] = {0};

	for (unsigned round = 0; round < 2; round++) {
		packets_begin(&p, 0);
		make_udp(h, 1, 2);
		be16_store(h + 4, 40);
		unsigned first = put_packet(&p, 4, 1, 2, 17, h, 16);
		be16_store(p.bytes[first] + 4, 0x77);
		be16_store(p.bytes[first] + 6, 0x2000);
		fix_checksum(p.bytes[first]);
		unsigned later = put_packet(&p, 4, 1, 2, 17, h, 16);
		be16_store(p.bytes[later] + 4, round ? 0x77 : 0x78);
		be16_store(p.bytes[later] + 6, 2);
		fix_checksum(p.bytes[later]);
		p.b.time[later] = round ? 29 * S : 0;
		track_all(t, &p);
		assert_int_equal(p.cb.state[first], CT_NEW);
		assert_int_equal(p.cb.state[later], round ? CT_NEW : CT_INVALID);
		assert_ptr_equal(p.cb.flow[later], round ? p.cb.flow[first] : NULL);
		finish_all(t, &p, true);
	}
	ct_table_free(t);
}

/* A fragment of a UDP datagram by its id and frag-off field, alone in a burst: its state. */
static uint8_t fragment_state(struct ct_table *t, unsigned id, uint16_t frag_off)
{
	struct packets p;
	uint8_t h[16] = {0};

	packets_begin(&p, 0);
	make_udp(h, 1, 2);
	be16_store(h + 4, 40);
	put_packet(&p, 4, 1, 2, 17, h, 16);
	be16_store(p.bytes[0] + 4, (uint16_t)id);
	be16_store(p.bytes[0] + 6, frag_off);
	fix_checksum(p.bytes[0]);
	track_all(t, &p);
	finish_all(t, &p, true);
	return p.cb.state[0];
}

/* The latest 4,096 datagrams are remembered, each of them, and no other. */
static void many_fragments(void **state)
{
	struct ct_table *t = make_table(100);
	enum { ALL = 10000, KEPT = 4096 };

	for (unsigned id = 0; id < ALL; id++)
		for (unsigned again = 0; again < 1 + (id % 5 == 0); again++)
			assert_int_equal(fragment_state(t, id, 0x2000), CT_NEW);
	for (unsigned id = 0; id < ALL; id++)
		if (fragment_state(t, id, 2) != (id < ALL - KEPT ? CT_INVALID : CT_NEW))
			fail_msg("datagram %u", id);
	ct_table_free(t);
}

static void other_protocols(void **state)
{
	struct ct_table *t = make_table(100);
	struct packets p;
	uint8_t gre[8] = {0};

	/* No ports: one flow for two hosts, 600 s. */
	for (unsigned i = 0; i < 3; i++) {
		packets_begin(&p, i * 599 * S);
		put_packet(&p, 4, 1 + (i == 1), 2 - (i == 1), 89, "ospf", 4);
		assert_int_equal(track_one(t, &p), i ? CT_ESTABLISHED : CT_NEW);
		assert_int_equal(ct_flow_expires_in(p.cb.flow[0], i * 599 * S), 600 * S);
	}
	/* GRE: 30 s, 180 s and assured once it was answered. */
	packets_begin(&p, 0);
	put_packet(&p, 4, 1, 2, 47, gre, 4);
	assert_int_equal(track_one(t, &p), CT_NEW);
	assert_int_equal(ct_flow_expires_in(p.cb.flow[0], 0), 30 * S);
	for (unsigned i = 0; i < 2; i++) {
		packets_begin(&p, 0);
		put_packet(&p, 4, 2, 1, 47, gre, 4);
		assert_int_equal(track_one(t, &p), CT_ESTABLISHED);
	}
	assert_int_equal(ct_flow_expires_in(p.cb.flow[0], 0), 180 * S);
	assert_int_equal(ct_flow_status(p.cb.flow[0]) & CT_ASSURED, CT_ASSURED);
	/* PPTP's GRE is told apart by call id. */
	gre[1] = 1;
	gre[7] = 5;
	packets_begin(&p, 0);
	put_packet(&p, 4, 1, 2, 47, gre, 8);
	assert_int_equal(track_one(t, &p), CT_NEW);
	assert_int_equal(ct_flow_tuple(p.cb.flow[0], CT_ORIGINAL)->dport, 5);
	packets_begin(&p, 0);
	put_packet(&p, 4, 1, 2, 47, gre, 7);
	assert_int_equal(track_one(t, &p), CT_INVALID);
	ct_table_free(t);
}

static void limits(void **state)
{
	struct ct_table *t = make_table(3);
	struct packets p;

	/* Two streams, one flow that is not assured. */
	for (unsigned i = 1; i <= 2; i++)
		for (unsigned k = 0; k < 3; k++) {
			packets_begin(&p, k * 2 * S + 1);
			put_udp(&p, k == 1 ? 9 : i, k == 1 ? i : 9, 1, 1);
			track_one(t, &p);
		}
	assert_int_equal(udp(t, 5 * S, 3, 9, 1, 1), CT_NEW);
	assert_int_equal(ct_count(t, 5 * S), 3);
	/* A fourth takes its place, the streams stay. */
	assert_int_equal(udp(t, 5 * S, 4, 9, 1, 1), CT_NEW);
	assert_int_equal(ct_stats_of(t)->early_drop, 1);
	assert_int_equal(ct_count(t, 5 * S), 3);
	assert_int_equal(udp(t, 5 * S, 1, 9, 1, 1), CT_ESTABLISHED);
	assert_int_equal(udp(t, 5 * S, 2, 9, 1, 1), CT_ESTABLISHED);
	assert_int_equal(udp(t, 5 * S, 9, 3, 1, 1), CT_NEW); /* an answer to a flow that is gone */

	/* When all are assured, or not yet confirmed, there is no room. */
	assert_int_equal(udp(t, 5 * S, 3, 9, 1, 1), CT_ESTABLISHED);
	assert_int_equal(udp(t, 9 * S, 9, 3, 1, 1), CT_ESTABLISHED);
	packets_begin(&p, 9 * S);
	put_udp(&p, 5, 9, 1, 1);
	put_udp(&p, 1, 9, 1, 1);
	track_all(t, &p);
	assert_int_equal(p.cb.full, 1);
	assert_null(p.cb.flow[0]);
	assert_int_equal(p.cb.state[0], CT_INVALID);
	assert_int_equal(p.cb.state[1], CT_ESTABLISHED);
	assert_int_equal(ct_stats_of(t)->full, 1);
	/* Expired ones make room without being assured or not. */
	assert_int_equal(udp(t, 1000 * S, 5, 9, 1, 1), CT_NEW);
	ct_table_free(t);
}

/* UDP and echo between few hosts and ports against a list of flows. */
struct naive {
	bool ping, seen;
	unsigned from, to, sport, dport;
	uint64_t first, expires;
};

static struct naive naive_flows[4096];
static unsigned n_naive;

static struct naive *naive_find(const struct naive *k, bool answer, bool *reply)
{
	for (unsigned i = 0; i < n_naive; i++) {
		struct naive *f = &naive_flows[i];
		bool orig = f->from == k->from && f->to == k->to && f->sport == k->sport &&
			    f->dport == k->dport;
		bool back = f->from == k->to && f->to == k->from && f->sport == k->dport &&
			    f->dport == k->sport;
		if (f->ping != k->ping)
			continue;
		if (k->ping ? (answer ? back : orig) : orig || back) {
			*reply = !orig || (k->ping && answer);
			return f;
		}
	}
	return NULL;
}

static void naive_expire(uint64_t now)
{
	for (unsigned i = 0; i < n_naive;)
		if (naive_flows[i].expires <= now)
			naive_flows[i] = naive_flows[--n_naive];
		else
			i++;
}

static unsigned naive_track(const struct naive *k, bool answer, bool keep, uint64_t now)
{
	bool reply;

	naive_expire(now);
	struct naive *f = naive_find(k, answer, &reply);
	if (!f) {
		if (k->ping && answer)
			return CT_INVALID;
		if (keep) {
			naive_flows[n_naive] = *k;
			naive_flows[n_naive].first = now;
			naive_flows[n_naive++].expires = now + 30 * S;
		}
		return CT_NEW;
	}
	bool stream = !k->ping && f->seen && now > f->first + 2 * S;
	f->expires = now + (stream ? 120 : 30) * S;
	unsigned state = reply || f->seen ? CT_ESTABLISHED : CT_NEW;
	f->seen |= reply;
	return state;
}

static void random_traffic(void **state)
{
	struct ct_table *t = make_table(100000);
	uint64_t rng = 12345, now = 0;
	unsigned seen[256] = {0};
	struct packets p;

	n_naive = 0;
	for (unsigned step = 0; step < 60000; step++) {
		rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
		uint32_t r = (uint32_t)(rng >> 32);
		struct naive k = {.ping = r >> 8 & 1,
				  .from = r & 7,
				  .sport = r >> 4 & 3,
				  .dport = r >> 6 & 3};
		bool answer = r >> 9 & 1, keep = r >> 10 & 3;
		k.to = (k.from + 1 + (r >> 20 & 1)) & 7;
		if (answer) {
			unsigned x = k.from;
			k.from = k.to;
			k.to = x;
		}
		if (k.ping)
			k.dport = k.sport;
		now += (uint64_t)(r >> 12) * 7919 % (S / 2);
		packets_begin(&p, now);
		if (k.ping)
			put_icmp(&p, 4, k.from, k.to, answer ? 0 : 8, (uint16_t)k.sport);
		else
			put_udp(&p, k.from, k.to, k.sport, k.dport);
		track_all(t, &p);
		assert_int_equal(p.cb.state[0], naive_track(&k, answer, keep, now));
		finish_all(t, &p, keep);
		assert_int_equal(ct_count(t, now), n_naive);
		seen[p.cb.state[0]]++;
		if (!(step & 0xff))
			ct_gc(t, now, 3);
	}
	assert_true(seen[CT_NEW] > 100 && seen[CT_ESTABLISHED] > 100 && seen[CT_INVALID] > 100);
	ct_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(configs),	  cmocka_unit_test(udp_states),
		cmocka_unit_test(udp_lifetimes),  cmocka_unit_test(flow_facts),
		cmocka_unit_test(confirmation),	  cmocka_unit_test(untracked),
		cmocka_unit_test(udp_nonsense),	  cmocka_unit_test(icmp_queries),
		cmocka_unit_test(icmp_errors),	  cmocka_unit_test(icmp_error_of_dropped),
		cmocka_unit_test(redirect),	  cmocka_unit_test(fragments),
		cmocka_unit_test(many_fragments), cmocka_unit_test(other_protocols),
		cmocka_unit_test(limits),	  cmocka_unit_test(random_traffic),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
