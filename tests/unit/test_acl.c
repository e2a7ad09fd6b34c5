/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_acl: ACLs as a caller sees them: what rules mean, what of an ACL survives its replacement,
 * where contexts put an ACL, what is refused; and policies that other engines got wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acl_world.h"

static void port_range_for_one_host(void **state)
{
	struct world x;
	struct tamis_acl_rule r = rule4(TAMIS_ACL_PERMIT, 0, 0, 0x0a000005, 32);

	world_begin(&x);
	r.proto = UDP;
	r.dport_first = 50;
	r.dport_last = 90;
	put(&x, TAMIS_ACL_NEW, &r, 1);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), 0);
	for (unsigned port = 0; port < 0x10000; port++) {
		int want = port >= 50 && port <= 90 ? TAMIS_ACL_PERMIT : -1;

		assert_int_equal(judge(&x, key4(1, 0x0a000005, UDP, (uint16_t)port)), want);
	}
	assert_int_equal(judge(&x, key4(1, 0x0a000006, UDP, 50)), -1);
	assert_int_equal(judge(&x, key4(1, 0x0a000005, TCP, 50)), -1);
	world_end(&x);
}

static void meaning_of_rules(void **state)
{
	struct world x;
	struct tamis_acl_key k;
	struct tamis_acl_rule rules[] = {
		ports(TAMIS_ACL_DENY, 4, 0, 22, 22), /* no protocol: the ports say nothing */
		ports(TAMIS_ACL_DENY, 4, TCP, 9, 3), /* no port at all */
	};

	world_begin(&x);
	rules[0].src_len = 8;
	rules[0].src[0] = 10;
	put(&x, 0, rules, 2);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), 0);
	assert_int_equal(judge(&x, key4(0x0a010203, 1, TCP, 80)), TAMIS_ACL_DENY);
	assert_int_equal(judge(&x, key4(0x0b010203, 1, TCP, 5)), -1);

	/* Types and codes of ICMP are ports, of the right ICMP only. */
	rules[0] = ports(TAMIS_ACL_PERMIT, 4, ICMP, 4, 4);
	rules[0].sport_first = rules[0].sport_last = 3;
	put(&x, 0, rules, 1);
	k = key4(1, 2, ICMP, 4);
	k.sport = 3;
	assert_int_equal(judge(&x, k), TAMIS_ACL_PERMIT);
	k.dport = 3;
	assert_int_equal(judge(&x, k), -1);
	rules[0] = ports(TAMIS_ACL_PERMIT, 4, 58, 1, 1);
	put(&x, 0, rules, 1);
	assert_int_equal(judge(&x, key4(1, 2, 58, 1)), -1);

	/* Other protocols have ports of 0. */
	rules[0] = ports(TAMIS_ACL_PERMIT, 4, SCTP, 80, 80);
	rules[1] = any(TAMIS_ACL_DENY, 4);
	rules[1].proto = GRE;
	put(&x, 0, rules, 2);
	assert_int_equal(judge(&x, key4(1, 2, SCTP, 80)), -1);
	assert_int_equal(judge(&x, key4(1, 2, GRE, 80)), TAMIS_ACL_DENY);

	/* Flags are TCP's. */
	rules[0] = any(TAMIS_ACL_PERMIT, 4);
	rules[0].proto = TCP;
	rules[0].tcp_flags = 2;
	rules[0].tcp_mask = 0x12;
	rules[1] = any(TAMIS_ACL_DENY, 4);
	rules[1].proto = UDP;
	rules[1].tcp_flags = rules[1].tcp_mask = 2;
	put(&x, 0, rules, 2);
	k = key4(1, 2, TCP, 80);
	for (unsigned flags = 0; flags < 256; flags++) {
		k.tcp_flags = (uint8_t)flags;
		assert_int_equal(judge(&x, k), (flags & 0x12) == 2 ? TAMIS_ACL_PERMIT : -1);
	}
	assert_int_equal(judge(&x, key4(1, 2, UDP, 80)), TAMIS_ACL_DENY);
	rules[0].tcp_flags = 1; /* not of the mask: no TCP packet */
	put(&x, 0, rules, 1);
	k.tcp_flags = 0xff;
	assert_int_equal(judge(&x, k), -1);

	/* A packet too short for ports matches by addresses alone. */
	rules[0] = any(TAMIS_ACL_PERMIT, 4);
	rules[0].proto = TCP;
	put(&x, 0, rules, 1);
	k = key4(1, 2, TCP, 80);
	k.no_l4 = true;
	assert_int_equal(judge(&x, k), -1);
	rules[0].proto = 0;
	put(&x, 0, rules, 1);
	assert_int_equal(judge(&x, k), TAMIS_ACL_PERMIT);
	world_end(&x);
}

static void fragments_of(struct world *x, unsigned family)
{
	struct tamis_acl_rule rules[] = {ports(TAMIS_ACL_DENY, family, TCP, 22, 22),
					 any(TAMIS_ACL_PERMIT, family)};
	struct tamis_acl_key k = {.family = (uint8_t)family, .proto = TCP, .dport = 22};

	put(x, 0, rules, 2);
	assert_int_equal(judge(x, k), TAMIS_ACL_DENY); /* the first fragment; atomic ones */
	k.dport = 80;
	assert_int_equal(judge(x, k), TAMIS_ACL_PERMIT);
	/* Later ones match on addresses and protocol, whatever stands where ports do. */
	k.later_fragment = true;
	assert_int_equal(judge(x, k), TAMIS_ACL_DENY);
	k.dport = 22;
	assert_int_equal(judge(x, k), TAMIS_ACL_DENY);
	k.proto = UDP;
	assert_int_equal(judge(x, k), TAMIS_ACL_PERMIT);
	k.proto = TCP;
	tamis_acls_fragments_set(x->acls, false);
	assert_false(tamis_acls_fragments(x->acls));
	assert_int_equal(judge(x, k), TAMIS_ACL_PERMIT);
	rules[1].proto = TCP;
	put(x, 0, rules, 2);
	assert_int_equal(judge(x, k), -1);
	tamis_acls_fragments_set(x->acls, true);
	rules[0].src_len = 1;
	rules[0].src[0] = 0x80;
	put(x, 0, rules, 1);
	assert_int_equal(judge(x, k), -1);
}

static void fragments(void **state)
{
	struct world x;

	world_begin(&x);
	put(&x, 0, NULL, 0);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), 0);
	fragments_of(&x, 4);
	fragments_of(&x, 6);
	world_end(&x);
}

/* 38 permits between six /24s, an any/any first, a pair of hosts; replaced while in use. */
static void replaced_while_in_use(void **state)
{
	struct tamis_acl_rule base[] = {any(TAMIS_ACL_DENY, 4), any(TAMIS_ACL_PERMIT, 6)};
	struct tamis_acl_rule pairs[38];
	struct tamis_acl_context *second;
	const uint32_t order[] = {1, 0};
	struct world x;
	unsigned n = 0;

	world_begin(&x);
	assert_int_equal(tamis_acl_context_new(x.acls, &second), 0);
	for (uint32_t a = 0; a < 6; a++)
		for (uint32_t b = 0; b < 6; b++)
			pairs[n++] = rule4(TAMIS_ACL_PERMIT, 0x0a000000 + (a << 8), 24,
					   0x0a000000 + (b << 8), 24);
	pairs[n++] = rule4(TAMIS_ACL_PERMIT, 0xc0000201, 32, 0xc0000202, 32);
	pairs[n++] = rule4(TAMIS_ACL_PERMIT, 0xc0000202, 32, 0xc0000201, 32);
	put(&x, 0, base, 2);
	put(&x, 1, pairs, n);
	assert_int_equal(tamis_acl_context_set(x.ctx, order, 2), 0);
	assert_int_equal(tamis_acl_context_set(second, order, 2), 0);
	for (unsigned round = 0; round < 40; round++) {
		struct tamis_acl_key v6 = {.family = 6, .proto = TCP};
		unsigned from = round % 2 ? round % n : 0, left = n - from;

		if (round % 3 == 2) {
			struct tamis_acl_rule all = any(TAMIS_ACL_PERMIT, 4);

			put(&x, 1, &all, 1);
			left = 0;
		} else {
			put(&x, 1, pairs + from, left);
		}
		for (unsigned c = 0; c < 2; c++) {
			const struct tamis_acl_context *ctx = c ? second : x.ctx;

			for (unsigned i = 0; i < n; i++) {
				struct tamis_acl_key k = key4(0, 0, UDP, 53);
				bool there = round % 3 == 2 || i >= from;

				memcpy(k.src, pairs[i].src, 4);
				memcpy(k.dst, pairs[i].dst, 4);
				k.src[3] |= i < 36 ? 77 : 0;
				assert_int_equal(judge_in(&x, ctx, &k, NULL),
						 there ? TAMIS_ACL_PERMIT : TAMIS_ACL_DENY);
			}
			assert_int_equal(judge_in(&x, ctx, &v6, NULL), TAMIS_ACL_PERMIT);
		}
	}
	tamis_acl_context_free(second);
	world_end(&x);
}

struct expected {
	tamis_acl_handle handle[300];
	uint64_t packets[300];
	uint32_t n;
};

static int entry_take(void *arg, const struct tamis_acl_entry *e)
{
	struct expected *x = arg;

	assert_int_equal(e->position, x->n);
	x->handle[x->n] = e->handle;
	x->packets[x->n++] = e->count.packets;
	return 0;
}

static struct expected entries(struct world *x, uint32_t acl)
{
	struct expected e = {.n = 0};

	assert_int_equal(tamis_acl_entry_each(x->acls, acl, entry_take, &e), 0);
	return e;
}

static void counts_survive(void **state)
{
	struct tamis_acl_rule rules[5], again[5];
	struct tamis_acl_hit hit = {0};
	struct tamis_acl_key k;
	struct expected before, after;
	tamis_acl_handle h;
	struct world x;

	world_begin(&x);
	for (unsigned i = 0; i < 5; i++)
		rules[i] = ports(TAMIS_ACL_PERMIT, 4, UDP, (uint16_t)i, (uint16_t)i);
	put(&x, 0, rules, 5);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), 0);
	for (unsigned i = 0; i < 5; i++) {
		k = key4(1, 2, UDP, (uint16_t)i);
		assert_int_equal(judge_in(&x, x.ctx, &k, &hit), TAMIS_ACL_PERMIT);
		for (unsigned n = 0; n <= i; n++)
			tamis_acl_count(x.w, hit.entry, 100);
	}
	/* 0 goes, 3 is another now, 4 moves in front of 1. */
	again[0] = rules[4];
	again[1] = rules[1];
	again[2] = rules[2];
	again[3] = ports(TAMIS_ACL_DENY, 4, UDP, 3, 3);
	before = entries(&x, 0);
	put(&x, 0, again, 4);
	after = entries(&x, 0);
	assert_int_equal(after.n, 4);
	assert_int_equal(after.packets[0], 0);
	assert_int_equal(after.handle[1], before.handle[1]);
	assert_int_equal(after.packets[1], 2);
	assert_int_equal(after.packets[2], 3);
	assert_int_equal(after.packets[3], 0);
	assert_int_not_equal(after.handle[3], before.handle[3]);
	/* The same again is nothing, and a worker that is gone has counted. */
	put(&x, 0, again, 4);
	assert_int_equal(entries(&x, 0).handle[3], after.handle[3]);
	tamis_acl_worker_free(x.w);
	assert_int_equal(entries(&x, 0).packets[2], 3);
	assert_int_equal(tamis_acl_worker_new(x.acls, "another", &x.w), 0);
	tamis_acl_count(x.w, after.handle[2], 1);
	assert_int_equal(entries(&x, 0).packets[2], 4);
	assert_int_equal(tamis_acl_replace(x.acls, after.handle[2], &again[2], &h), 0);
	after = entries(&x, 0);
	assert_int_equal(after.handle[2], h);
	assert_int_equal(after.packets[2], 0);
	world_end(&x);
}

/* [0, 1, 2] applied; ACL 1 shrinks, grows, ACL 0 is removed: as in an engine that was always so. */
static void same_as_fresh(void **state)
{
	static const unsigned sizes[SIZES] = {3, 1, 40, 0, 300, 20, 200, 2};
	static struct tamis_acl_rule rules[300];
	uint64_t seed = 11;
	struct world x;

	for (unsigned i = 0; i < 300; i++)
		model_rule(&seed, &rules[i]);
	world_begin(&x);
	for (uint32_t acl = 0; acl < 3; acl++) {
		put(&x, acl, rules + acl * 7, 5);
		assert_int_equal(tamis_acl_context_insert(x.ctx, acl, TAMIS_ACL_END), 0);
	}
	for (unsigned step = 0; step < 2 * SIZES; step++) {
		unsigned n = sizes[step % SIZES];
		struct world y;

		put(&x, 1, rules, n);
		if (step == SIZES) {
			assert_int_equal(tamis_acl_delete(x.acls, 0), -EBUSY);
			assert_int_equal(tamis_acl_context_remove(x.ctx, 0), 0);
			assert_int_equal(tamis_acl_delete(x.acls, 0), 0);
		}
		world_begin(&y);
		for (uint32_t acl = step >= SIZES; acl < 3; acl++) {
			put(&y, acl, acl == 1 ? rules : rules + acl * 7, acl == 1 ? n : 5);
			assert_int_equal(tamis_acl_context_insert(y.ctx, acl, TAMIS_ACL_END), 0);
		}
		for (unsigned i = 0; i < 500; i++) {
			struct tamis_acl_hit a = {0}, b = {0};
			struct tamis_acl_key k;

			model_key(&seed, &k);
			assert_int_equal(judge_in(&x, x.ctx, &k, &a), judge_in(&y, y.ctx, &k, &b));
			assert_int_equal(a.acl, b.acl);
		}
		world_end(&y);
	}
	world_end(&x);
}

static void refusals(void **state)
{
	struct tamis_acl_rule r = any(TAMIS_ACL_PERMIT, 4);
	struct tamis_acls_config config = {.max_entries = 3};
	struct tamis_acl_rule four[4] = {r, r, r, r};
	const uint32_t twice[] = {0, 0}, missing[] = {9};
	char tag[TAMIS_ACL_TAG_MAX + 2];
	uint32_t index = TAMIS_ACL_NEW;
	tamis_acl_handle h = 5;
	struct world x;

	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, four, 4), -EDQUOT);
	assert_int_equal(index, TAMIS_ACL_NEW);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, four, 3), 0);
	assert_int_equal(index, 0);
	assert_int_equal(tamis_acl_insert(x.acls, 0, 0, &r, &h), -EDQUOT);
	assert_int_equal(h, 5);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, four, 1), 0);
	assert_int_equal(tamis_acl_insert(x.acls, 0, 0, &r, &h), 0);
	tamis_acls_free(x.acls);
	config.max_entries = TAMIS_ACL_ENTRIES_MAX + 1U;
	assert_int_equal(tamis_acls_new(&config, &x.acls), -EINVAL);

	world_begin(&x);
	r.src_len = 33;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, &r, 1), -EINVAL);
	r.src_len = 0;
	r.family = 5;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, &r, 1), -EINVAL);
	r.family = 6;
	r.dst_len = 129;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, &r, 1), -EINVAL);
	r.dst_len = 128;
	r.action = TAMIS_ACL_ACTIONS;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, &r, 1), -EINVAL);
	r.action = TAMIS_ACL_DENY;
	memset(tag, 'x', sizeof(tag) - 1);
	tag[sizeof(tag) - 1] = 0;
	assert_int_equal(tamis_acl_put(x.acls, &index, tag, &r, 1), -EINVAL);
	assert_int_equal(tamis_acl_delete(x.acls, 0), -ENOENT);
	assert_int_equal(tamis_acl_put(x.acls, &index, tag + 1, &r, 1), 0);
	index = TAMIS_ACL_INDEX_MAX + 1;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, &r, 1), -EDQUOT);
	assert_int_equal(tamis_acl_insert(x.acls, 7, 0, &r, &h), -ENOENT);
	assert_int_equal(tamis_acl_insert(x.acls, 0, 99, &r, &h), -ENOENT);
	assert_int_equal(tamis_acl_remove(x.acls, 0), -ENOENT);
	assert_int_equal(tamis_acl_context_set(x.ctx, twice, 2), -EEXIST);
	assert_int_equal(tamis_acl_context_set(x.ctx, missing, 1), -ENOENT);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, 4), -ENOENT);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 4, TAMIS_ACL_END), -ENOENT);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 0, TAMIS_ACL_END), -EEXIST);
	assert_int_equal(tamis_acl_context_move(x.ctx, 0, 0), 0);
	assert_int_equal(tamis_acl_context_remove(x.ctx, 1), -ENOENT);
	assert_int_equal(tamis_acls_commit(x.acls), -EINVAL);

	/* An entry's handle is its own for ever. */
	assert_int_equal(tamis_acl_insert(x.acls, 0, 0, &r, &h), 0);
	tamis_acl_handle old = h;
	assert_int_equal(tamis_acl_remove(x.acls, h), 0);
	assert_int_equal(tamis_acl_insert(x.acls, 0, 0, &r, &h), 0);
	assert_int_not_equal(h, old);
	assert_int_equal(tamis_acl_remove(x.acls, old), -ENOENT);
	world_end(&x);
}

/* What fails inside a transaction takes all of it back. */
static void broken_transaction(void **state)
{
	struct tamis_acls_config config = {.max_entries = 2};
	struct tamis_acl_rule r[3] = {any(TAMIS_ACL_PERMIT, 4), any(TAMIS_ACL_PERMIT, 6),
				      any(TAMIS_ACL_DENY, 4)};
	uint32_t index = TAMIS_ACL_NEW;
	struct world x;

	assert_int_equal(tamis_acls_new(&config, &x.acls), 0);
	assert_int_equal(tamis_acl_context_new(x.acls, &x.ctx), 0);
	assert_int_equal(tamis_acl_worker_new(x.acls, "w", &x.w), 0);
	put(&x, 4, r, 1);
	assert_int_equal(tamis_acls_begin(x.acls), 0);
	assert_int_equal(tamis_acl_context_insert(x.ctx, 4, TAMIS_ACL_END), 0);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, 3), -EDQUOT);
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, 1), -EDQUOT);
	assert_int_equal(tamis_acls_commit(x.acls), -EDQUOT);
	assert_int_equal(judge(&x, key4(1, 2, UDP, 3)), -1);
	assert_int_equal(tamis_acl_context_list(x.ctx, NULL, 0), 0);
	index = TAMIS_ACL_NEW;
	assert_int_equal(tamis_acl_put(x.acls, &index, NULL, r, 1), 0);
	assert_int_equal(index, 0);
	world_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_range_for_one_host),
		cmocka_unit_test(meaning_of_rules),
		cmocka_unit_test(fragments),
		cmocka_unit_test(replaced_while_in_use),
		cmocka_unit_test(counts_survive),
		cmocka_unit_test(same_as_fresh),
		cmocka_unit_test(refusals),
		cmocka_unit_test(broken_transaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
