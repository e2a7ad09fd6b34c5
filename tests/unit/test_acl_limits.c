/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of ACLs: what waits for workers is bounded and told; overlap and places are limited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl_world.h"

static uint64_t ticks(void *arg)
{
	return *(uint64_t *)arg += 1000000;
}

/* What a worker that is never quiet keeps is counted, and goes when it is. */
static void deferred(void **state)
{
	uint64_t now = 0;
	struct tamis_acls_config config = {.clock = ticks, .arg = &now, .wait_ns = 1000000};
	struct tamis_acl_rule r[2] = {rule4(TAMIS_ACL_PERMIT, 1, 32, 2, 32),
				      rule4(TAMIS_ACL_DENY, 3, 32, 4, 32)};
	struct tamis_acls_deferred d;
	uint32_t index = TAMIS_ACL_NEW;
	struct world x;
	int err = 0;

	world_begin(&x);
	tamis_acls_deferred(x.acls, &d);
	assert_true(!d.pieces && !d.bytes && !d.freed && !d.waits && !d.refused);
	world_end(&x);
	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx), 0);
	assert_int_equal(tamis_acl_worker_new(x.acls, "w", &x.w), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, 1), 0);
	assert_int_equal(tamis_acl_context_insert(x.ctx, index, TAMIS_ACL_END), 0);
	for (unsigned i = 0; !err && i < 20000; i++)
		err = tamis_acl_put(x.acls, &index, NULL, &r[i % 2], 1);
	assert_int_equal(err, -EAGAIN);
	tamis_acls_deferred(x.acls, &d);
	assert_true(d.pieces > 0 && d.bytes > 0 && d.waits > 0);
	assert_true(d.pieces <= d.pieces_peak && d.bytes <= d.bytes_peak);
	assert_int_equal(d.refused, 1);
	uint64_t freed = d.freed, pieces = d.pieces;
	for (unsigned i = 0; err && i < 3; i++) {
		tamis_acl_quiescent(x.w);
		err = tamis_acl_put(x.acls, &index, NULL, &r[0], 1);
	}
	assert_int_equal(err, 0);
	tamis_acls_deferred(x.acls, &d);
	assert_true(d.pieces < pieces && d.freed > freed);
	world_end(&x);
}

struct stall {
	uint64_t now;
	char name[16];
	unsigned told;
};

static uint64_t stall_clock(void *arg)
{
	return ((struct stall *)arg)->now += 1000000;
}

static void stall_told(void *arg, const char *worker, uint64_t waited_ns)
{
	struct stall *s = arg;

	assert_true(waited_ns >= 5000000);
	snprintf(s->name, sizeof(s->name), "%s", worker);
	s->told++;
}

static int handle_at(void *arg, const struct tamis_acl_entry *e)
{
	tamis_acl_handle *h = arg;

	h[e->position] = e->handle;
	return 0;
}

/* Changes at one place until the order of entries must wait for a worker that is never quiet. */
static void a_worker_that_stalls(void **state)
{
	enum { N = 300 };
	struct stall stall = {0};
	struct tamis_acls_config config = {
		.clock = stall_clock, .arg = &stall, .wait_ns = 10000000, .stalled = stall_told};
	static tamis_acl_handle was[N], is[N], made;
	static struct tamis_acl_rule r[N];
	struct tamis_acl_context *other;
	struct tamis_acl_info info;
	uint32_t index = TAMIS_ACL_NEW, extra = TAMIS_ACL_NEW;
	struct world x;
	int err;

	for (unsigned i = 0; i < N; i++)
		r[i] = rule4(i % 2 ? TAMIS_ACL_PERMIT : TAMIS_ACL_DENY, i, 32, 7, 32);
	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx), 0);
	assert_int_equal(tamis_acl_context_new(x.acls, &other), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, N), 0);
	assert_int_equal(tamis_acl_context_insert(x.ctx, index, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_entry_each(x.acls, index, handle_at, was), 0);
	assert_int_equal(tamis_acl_worker_new(x.acls, "sleepy", &x.w), 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		struct tamis_acl_rule top = rule4(TAMIS_ACL_DENY, 99, 32, 7, 32);

		err = turn ? tamis_acls_begin(x.acls) : 0;
		for (unsigned i = 0; !err && i < 5000; i++)
			err = tamis_acl_insert(x.acls, index, was[150], &top, &made);
		assert_int_equal(err, -EAGAIN);
		assert_true(stall.told > turn);
		assert_string_equal(stall.name, "sleepy");
		assert_int_equal(turn ? tamis_acls_commit(x.acls) : -EAGAIN, -EAGAIN);
		tamis_acl_get(x.acls, index, &info);
		assert_int_equal(judge(&x, key4(99, 7, TCP, 1)), 1); /* entry 99 is before these */
		assert_int_equal(judge(&x, key4(298, 7, TCP, 1)), 0);
		if (turn)
			continue;
		/* Back to what it was; the first turn's single changes stay made. */
		assert_true(info.entries > N);
		tamis_acl_quiescent(x.w);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, N), 0);
			tamis_acl_quiescent(x.w);
		}
	}
	/* Nothing of the transaction is left, and the handles are those of before. */
	assert_int_equal(info.entries, N);
	assert_int_equal(tamis_acl_entry_each(x.acls, index, handle_at, is), 0);
	assert_memory_equal(was, is, sizeof(was));
	/* What goes does not wait: a table that comes to nothing, a context. */
	assert_int_equal(tamis_acls_begin(x.acls), 0);
	assert_int_equal(tamis_acl_put(x.acls, &extra, NULL, r, N), 0);
	assert_int_equal(tamis_acl_context_insert(other, extra, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_put(x.acls, &extra, NULL, r + 1, N - 1), 0);
	tamis_acls_abort(x.acls);
	tamis_acl_context_free(other);
	assert_int_equal(tamis_acl_get(x.acls, extra, &info), -ENOENT);
	tamis_acl_quiescent(x.w);
	assert_int_equal(tamis_acl_insert(x.acls, index, was[150], &r[0], &made), 0);
	world_end(&x);
}

/* Contexts and ACLs end while all that was taken out of them still waits for a worker that goes. */
static void ends_while_things_wait(void **state)
{
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t now = 0;
		struct tamis_acls_config config = {.clock = ticks, .arg = &now};
		struct tamis_acl_rule r[200];
		struct tamis_acl_context *other;
		uint32_t small = 0, large = 1;
		struct world x;

		for (unsigned i = 0; i < 200; i++)
			r[i] = rule4(TAMIS_ACL_DENY, i, 32, i % 7, 32);
		assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
		assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx), 0);
		assert_int_equal(tamis_acl_context_new(x.acls, &other), 0);
		assert_int_equal(tamis_acl_worker_new(x.acls, "w", &x.w), 0);
		assert_int_equal(tamis_acl_put(x.acls, &small, NULL, r, 20), 0);
		assert_int_equal(tamis_acl_put(x.acls, &large, NULL, r, 200), 0);
		for (unsigned i = 0; i < (turn & 1 ? 20 : 3); i++) {
			assert_int_equal(tamis_acl_context_set(i % 2 ? x.ctx : other, &small, 1),
					 0);
			assert_int_equal(
				tamis_acl_context_insert(i % 2 ? x.ctx : other, large, small), 0);
			assert_int_equal(tamis_acl_put(x.acls, &small, NULL, r + i, 20), 0);
			assert_int_equal(tamis_acl_put(x.acls, &large, NULL, r + i, 180), 0);
			assert_int_equal(tamis_acl_context_set(i % 2 ? x.ctx : other, NULL, 0), 0);
			if (turn & 1)
				tamis_acl_quiescent(x.w);
		}
		if (turn & 2) {
			assert_int_equal(tamis_acl_delete(x.acls, small), 0);
			assert_int_equal(tamis_acl_delete(x.acls, large), 0);
		}
		tamis_acl_worker_free(x.w);
		tamis_acl_context_free(other);
		tamis_acl_context_free(x.ctx);
		tamis_acls_free(x.acls);
	}
}

/* Ranges of both ports, each over the others: an ACL of these is refused, the next one is not. */
static void overlap_is_limited(void **state)
{
	struct tamis_acls_config config = {.max_overlap = 100};
	struct tamis_acl_rule r[500];
	struct tamis_acls_stats stats;
	struct tamis_acls *a;
	uint32_t index = 3;

	for (unsigned i = 0; i < 500; i++) {
		r[i] = any(TAMIS_ACL_DENY, 4);
		r[i].proto = UDP;
		r[i].sport_first = r[i].dport_first = (uint16_t)(3 + 2 * i);
		r[i].sport_last = r[i].dport_last = (uint16_t)(60000 - 7 * i);
	}
	assert_int_equal(tamis_acls_new(&config, &a), 0);
	assert_int_equal(tamis_acl_put(a, &index, NULL, r, 500), -E2BIG);
	assert_int_equal(tamis_acl_put(a, &index, NULL, r, 20), 0);
	assert_int_equal(tamis_acl_put(a, &index, NULL, r, 500), -E2BIG);
	struct tamis_acl_info info;
	assert_int_equal(tamis_acl_get(a, 3, &info), 0);
	assert_int_equal(info.entries, 20);
	for (unsigned i = 0; i < 500; i++) {
		r[i].src[0] = (uint8_t)i;
		r[i].src[1] = (uint8_t)(i >> 8);
		r[i].src_len = 32;
	}
	index = 4;
	assert_int_equal(tamis_acl_put(a, &index, NULL, r, 500), 0);
	tamis_acls_stats_get(a, &stats);
	assert_int_equal(stats.entries, 520);
	assert_int_equal(stats.refused_overlap, 2);
	assert_int_equal(stats.refused_entries, 0);
	tamis_acls_free(a);
	config.max_overlap = TAMIS_ACL_OVERLAP_MIN - 1;
	assert_int_equal(tamis_acls_new(&config, &a), -EINVAL);
}

/* Flags of which each rule leaves some open, others each time: whatever bits tell them apart, each
 * rule has to stand in many places. */
static void places_rules(uint64_t *seed, struct tamis_acl_rule *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		r[i] = ports(TAMIS_ACL_DENY, 4, TCP, 0, 0xffff);
		r[i].tcp_mask = 0xff;
		for (unsigned k = 0; k < 6; k++)
			r[i].tcp_mask &= (uint8_t) ~(1 << model_random(seed) % 8);
		r[i].tcp_flags = (uint8_t)model_random(seed) & r[i].tcp_mask;
	}
}

static void assert_same_entries(struct tamis_acls *a, uint32_t index, const tamis_acl_handle *was,
				unsigned n)
{
	tamis_acl_handle is[64] = {0};
	struct tamis_acl_info info;

	assert_true(n <= 64);
	assert_int_equal(tamis_acl_get(a, index, &info), 0);
	assert_int_equal(info.entries, n);
	assert_int_equal(tamis_acl_entry_each(a, index, handle_at, is), 0);
	assert_memory_equal(is, was, n * sizeof(is[0]));
}

/* A hostile policy is refused alone: what it was before stays, and other ACLs go on. */
static void places_are_limited(void **state)
{
	enum { N = 1000, SMALL = 40 };
	struct tamis_acls_config config = {.max_places = 300};
	static struct tamis_acl_rule r[N];
	static struct tamis_macip_rule m[N];
	tamis_acl_handle was[SMALL], made = 0;
	struct tamis_acls_stats stats;
	struct tamis_acl_info info;
	uint32_t index = 0, other = 1, list[N / SMALL];
	uint64_t seed = 11, refused = 0;
	struct world x;
	int err = 0;

	places_rules(&seed, r, N);
	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx), 0);
	assert_int_equal(tamis_acl_worker_new(x.acls, "w", &x.w), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, "old", r, SMALL), 0);
	assert_int_equal(tamis_acl_entry_each(x.acls, 0, handle_at, was), 0);
	tamis_acl_count(x.w, was[7], 100);
	/* As a whole, entry by entry in a transaction, and as a new ACL. */
	assert_int_equal(tamis_acl_put(x.acls, &index, "new", r, N), -E2BIG);
	assert_int_equal(tamis_acls_begin(x.acls), 0);
	for (unsigned i = 0; !err && i < N; i++)
		err = tamis_acl_insert(x.acls, 0, i % 2 ? was[0] : 0, &r[i], &made);
	assert_int_equal(err, -E2BIG);
	assert_true(made);
	assert_int_equal(tamis_acls_commit(x.acls), -E2BIG);
	index = TAMIS_ACL_NEW;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, N), -E2BIG);
	assert_int_equal(index, TAMIS_ACL_NEW);
	tamis_acls_stats_get(x.acls, &stats);
	assert_int_equal(stats.refused_overlap, 3);
	assert_int_equal(stats.entries, SMALL);
	assert_same_entries(x.acls, 0, was, SMALL);
	assert_int_equal(tamis_acl_get(x.acls, 0, &info), 0);
	assert_string_equal(info.tag, "old");
	struct tamis_acl_entry e;
	assert_int_equal(tamis_acl_entry_get(x.acls, was[7], &e), 0);
	assert_int_equal(e.position, 7);
	assert_int_equal(e.count.packets, 1);
	/* One by one: the first that is too many is refused, those before it stay. */
	err = 0;
	for (unsigned i = 0; !err && i < N; i++)
		err = tamis_acl_insert(x.acls, 0, 0, &r[i], &made);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(tamis_acl_get(x.acls, 0, &info), 0);
	assert_true(info.entries > SMALL && info.entries < SMALL + N);
	/* Meanwhile another one takes as many of a better sort; emptied, the first takes some
	 * again. */
	static struct tamis_acl_rule plain[N];
	for (unsigned i = 0; i < N; i++)
		plain[i] = rule4(TAMIS_ACL_PERMIT, i, 32, 2 * i, 32);
	assert_int_equal(tamis_acl_put(x.acls, &other, NULL, plain, N), 0);
	index = 0;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, NULL, 0), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, SMALL), 0);
	/* Small ones together in a context: it keeps what it had. */
	tamis_acls_stats_get(x.acls, &stats);
	refused = stats.refused_overlap;
	unsigned n = 0;
	for (err = 0; !err && n < N / SMALL; n += !err) {
		list[n] = 10 + n;
		assert_int_equal(
			tamis_acl_put(x.acls, &list[n], NULL, r + (size_t)n * SMALL, SMALL), 0);
		err = tamis_acl_context_insert(x.ctx, list[n], n ? list[n - 1] : TAMIS_ACL_END);
	}
	assert_int_equal(err, -E2BIG);
	assert_true(n > 1);
	assert_int_equal(tamis_acl_context_list(x.ctx, NULL, 0), n);
	assert_int_equal(tamis_acl_get(x.acls, list[n], &info), 0);
	assert_int_equal(info.contexts, 0);
	tamis_acls_stats_get(x.acls, &stats);
	assert_int_equal(stats.refused_overlap, refused + 1);
	for (unsigned i = 0; i < 256; i++) {
		struct tamis_acl_key k = key4(1, 2, TCP, 3);
		int want = -1;

		k.tcp_flags = (uint8_t)i;
		for (unsigned j = 0; j < n * SMALL; j++)
			if ((i & r[j].tcp_mask) == r[j].tcp_flags)
				want = TAMIS_ACL_DENY;
		assert_int_equal(judge(&x, k), want);
	}
	/* MAC-IP ACLs too, by masks that are no prefixes. */
	for (unsigned i = 0; i < N; i++) {
		uint16_t mask = 0x3ff;
		m[i] = (struct tamis_macip_rule){.action = TAMIS_ACL_PERMIT, .family = 4};
		for (unsigned k = 0; k < 6; k++)
			mask &= (uint16_t) ~(1 << model_random(&seed) % 10);
		uint16_t value = (uint16_t)model_random(&seed) & mask;
		m[i].mac[4] = (uint8_t)(value >> 8);
		m[i].mac[5] = (uint8_t)value;
		m[i].mask[4] = (uint8_t)(mask >> 8);
		m[i].mask[5] = (uint8_t)mask;
	}
	index = 0;
	assert_int_equal(tamis_macip_put(x.acls, &index, NULL, m, 10), 0);
	assert_int_equal(tamis_macip_put(x.acls, &index, NULL, m, N), -E2BIG);
	assert_int_equal(tamis_macip_get(x.acls, 0, &info), 0);
	assert_int_equal(info.entries, 10);
	world_end(&x);
	config.max_places = 0;
	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, N), 0);
	tamis_acls_free(x.acls);
	config.max_places = TAMIS_ACL_PLACES_MAX + 1;
	assert_int_equal(tamis_acls_new(&config, &x.acls), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deferred),
		cmocka_unit_test(a_worker_that_stalls),
		cmocka_unit_test(ends_while_things_wait),
		cmocka_unit_test(overlap_is_limited),
		cmocka_unit_test(places_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
