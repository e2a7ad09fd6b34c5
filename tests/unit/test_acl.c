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

#include "acl_model.h"

enum { SIZES = 8, ICMP = 1, TCP = 6, UDP = 17, GRE = 47, SCTP = 132 };

struct world {
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx;
	struct tamis_acl_worker *w;
};

static void world_begin(struct world *x)
{
	assert_int_equal(tamis_acls_new(NULL, &x->acls), 0);
	assert_int_equal(tamis_acl_context_new(x->acls, &x->ctx), 0);
	assert_int_equal(tamis_acl_worker_new(x->acls, "test", &x->w), 0);
}

static void world_end(struct world *x)
{
	tamis_acl_worker_free(x->w);
	tamis_acl_context_free(x->ctx);
	tamis_acls_free(x->acls);
}

static struct tamis_acl_rule any(enum tamis_acl_action action, unsigned family)
{
	struct tamis_acl_rule r;

	tamis_acl_rule_init(&r, action, family);
	return r;
}

static struct tamis_acl_rule rule4(enum tamis_acl_action action, uint32_t src, unsigned src_len,
				   uint32_t dst, unsigned dst_len)
{
	struct tamis_acl_rule r = any(action, 4);

	for (unsigned i = 0; i < 4; i++) {
		r.src[i] = (uint8_t)(src >> (24 - 8 * i));
		r.dst[i] = (uint8_t)(dst >> (24 - 8 * i));
	}
	r.src_len = (uint8_t)src_len;
	r.dst_len = (uint8_t)dst_len;
	return r;
}

static struct tamis_acl_rule ports(enum tamis_acl_action action, unsigned family, uint8_t proto,
				   uint16_t first, uint16_t last)
{
	struct tamis_acl_rule r = any(action, family);

	r.proto = proto;
	r.dport_first = first;
	r.dport_last = last;
	return r;
}

static struct tamis_acl_key key4(uint32_t src, uint32_t dst, uint8_t proto, uint16_t dport)
{
	struct tamis_acl_key k = {.family = 4, .proto = proto, .sport = 40000, .dport = dport};

	for (unsigned i = 0; i < 4; i++) {
		k.src[i] = (uint8_t)(src >> (24 - 8 * i));
		k.dst[i] = (uint8_t)(dst >> (24 - 8 * i));
	}
	return k;
}

static uint32_t put(struct world *x, uint32_t index, const struct tamis_acl_rule *rules, size_t n)
{
	assert_int_equal(tamis_acl_put(x->acls, &index, NULL, rules, n), 0);
	return index;
}

/* The action that the context has for a packet; -1: no entry matches. */
static int judge_in(struct world *x, const struct tamis_acl_context *ctx,
		    const struct tamis_acl_key *k, struct tamis_acl_hit *hit)
{
	struct tamis_acl_key keys[TAMIS_BURST_MAX];
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];

	keys[5] = *k;
	if (!tamis_acl_lookup(x->w, ctx, keys, 1 << 5, hits))
		return -1;
	if (hit)
		*hit = hits[5];
	return (int)hits[5].action;
}

static int judge(struct world *x, struct tamis_acl_key k)
{
	return judge_in(x, x->ctx, &k, NULL);
}

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
		cmocka_unit_test(port_range_for_one_host),
		cmocka_unit_test(meaning_of_rules),
		cmocka_unit_test(fragments),
		cmocka_unit_test(replaced_while_in_use),
		cmocka_unit_test(counts_survive),
		cmocka_unit_test(same_as_fresh),
		cmocka_unit_test(refusals),
		cmocka_unit_test(broken_transaction),
		cmocka_unit_test(deferred),
		cmocka_unit_test(a_worker_that_stalls),
		cmocka_unit_test(ends_while_things_wait),
		cmocka_unit_test(overlap_is_limited),
		cmocka_unit_test(places_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
