/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_context: what changes and lookups of ACLs cost through the public API, in the two layouts
 * that other engines pay for: one ACL of 100,000 entries that ten contexts share, and 100,000 ACLs
 * of one entry in one context. The rules and the packets are ClassBench's acl1_100k.
 *
 * A change of the first is an entry inserted at a random place, then removed; of the second an ACL
 * made and put into the context, then taken out and deleted. Each is visible when its call returns.
 * Then lookups, alone and beside a thread on another CPU that makes these changes without pause.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/acl.h>

#include "bench.h"
#include "classbench.h"

enum { CONTEXTS = 10, CHANGES = 10000 };

struct layout {
	const char *name;
	struct tamis_acls *acls;
	struct tamis_acl_context *ctx[CONTEXTS];
	struct tamis_acl_worker *w;
	tamis_acl_handle *entries; /* of ACL 0 */
	uint32_t n, before;	   /* in front of which ACL */
	tamis_acl_handle made;
	uint32_t made_acl;
	uint64_t random;
	struct tamis_acl_rule rule;
};

static void rule_of(const struct cb_rule *from, struct tamis_acl_rule *r)
{
	tamis_acl_rule_init(r, TAMIS_ACL_PERMIT, 4);
	be32_store(r->src, from->saddr);
	be32_store(r->dst, from->daddr);
	r->src_len = from->slen;
	r->dst_len = from->dlen;
	r->proto = from->proto & from->proto_mask;
	r->sport_first = from->sport[0];
	r->sport_last = from->sport[1];
	r->dport_first = from->dport[0];
	r->dport_last = from->dport[1];
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench_context: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int handle_take(void *arg, const struct tamis_acl_entry *e)
{
	struct layout *x = arg;

	x->entries[e->position] = e->handle;
	return 0;
}

static uint64_t read_clock(void *arg)
{
	return bench_now();
}

/* How long it took, in ms. */
static double layout_make(struct layout *x, const struct tamis_acl_rule *rules, uint32_t n,
			  uint32_t n_acls, unsigned contexts)
{
	uint64_t start = bench_ran();

	check(tamis_acls_new(&(struct tamis_acls_config){.clock = read_clock}, &x->acls), "new");
	check(tamis_acls_begin(x->acls), "begin");
	for (uint32_t i = 0; i < n_acls; i++) {
		uint32_t index = i, each = n / n_acls;

		check(tamis_acl_put(x->acls, &index, NULL, rules + i * each, each), "put");
	}
	check(tamis_acls_commit(x->acls), "commit");
	for (unsigned c = 0; c < contexts; c++) {
		check(tamis_acl_context_new(x->acls, &x->ctx[c]), "context");
		check(tamis_acls_begin(x->acls), "begin");
		for (uint32_t i = 0; i < n_acls; i++)
			check(tamis_acl_context_insert(x->ctx[c], i, TAMIS_ACL_END), "insert");
		check(tamis_acls_commit(x->acls), "commit");
	}
	x->n = n;
	x->rule = rules[n / 2];
	x->rule.dport_first = x->rule.dport_last = 7;
	return (double)(bench_ran() - start) / 1e6;
}

static void layout_drop(struct layout *x)
{
	for (unsigned c = 0; c < CONTEXTS; c++)
		tamis_acl_context_free(x->ctx[c]);
	tamis_acl_worker_free(x->w);
	tamis_acls_free(x->acls);
	free(x->entries);
}

static int entry_change(void *ctx, size_t i)
{
	struct layout *x = ctx;

	if (i & 1)
		return tamis_acl_remove(x->acls, x->made);
	return tamis_acl_insert(x->acls, 0, x->entries[bench_random(&x->random) % x->n], &x->rule,
				&x->made);
}

static int acl_change(void *ctx, size_t i)
{
	struct layout *x = ctx;
	int err;

	if (i & 1) {
		err = tamis_acl_context_remove(x->ctx[0], x->made_acl);
		return err ? err : tamis_acl_delete(x->acls, x->made_acl);
	}
	x->made_acl = TAMIS_ACL_NEW;
	err = tamis_acl_put(x->acls, &x->made_acl, NULL, &x->rule, 1);
	return err ? err : tamis_acl_context_insert(x->ctx[0], x->made_acl, x->before);
}

/* ns a packet over the whole trace. */
static double lookups(struct layout *x, const struct tamis_acl_key *keys, unsigned n,
		      uint64_t *found)
{
	struct tamis_acl_hit hits[TAMIS_BURST_MAX];
	uint64_t start = bench_ran();

	*found = 0;
	for (unsigned i = 0; i + TAMIS_BURST_MAX <= n; i += TAMIS_BURST_MAX) {
		uint64_t hit = tamis_acl_lookup(x->w, x->ctx[0], keys + i, ~UINT64_C(0), hits);

		for (*found += (uint64_t)__builtin_popcountll(hit); hit; hit &= hit - 1)
			tamis_acl_count(x->w, hits[__builtin_ctzll(hit)].entry, 64);
		tamis_acl_quiescent(x->w);
	}
	return (double)(bench_ran() - start) / (double)(n / TAMIS_BURST_MAX * TAMIS_BURST_MAX);
}

struct writer {
	struct layout *x;
	int (*change)(void *ctx, size_t i);
	bool stop, stopped;
	uint64_t changes;
};

static void *write_all_the_time(void *arg)
{
	struct writer *wr = arg;

	bench_pin(0);
	for (size_t i = 0; i & 1 || !__atomic_load_n(&wr->stop, __ATOMIC_ACQUIRE); i++) {
		check(wr->change(wr->x, i), "change");
		__atomic_fetch_add(&wr->changes, 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&wr->stopped, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Runs take turns: quiet, beside a writer that begins and ends with the run. */
static void lookups_and_writer(struct layout *x, int (*change)(void *ctx, size_t i),
			       const struct tamis_acl_key *keys, unsigned n)
{
	double quiet[BENCH_RUNS], busy[BENCH_RUNS], rate[BENCH_RUNS];
	char figure[96];
	uint64_t found;

	for (unsigned r = 0; r < BENCH_RUNS; r++) {
		struct writer wr = {.x = x, .change = change};
		pthread_t t;

		quiet[r] = lookups(x, keys, n, &found);
		check(-pthread_create(&t, NULL, write_all_the_time, &wr), "thread");
		while (!__atomic_load_n(&wr.changes, __ATOMIC_RELAXED))
			tamis_acl_quiescent(x->w);
		uint64_t start = bench_now(),
			 before = __atomic_load_n(&wr.changes, __ATOMIC_RELAXED);
		busy[r] = lookups(x, keys, n, &found);
		rate[r] = (double)(__atomic_load_n(&wr.changes, __ATOMIC_RELAXED) - before) * 1e6 /
			  (double)(bench_now() - start);
		__atomic_store_n(&wr.stop, true, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&wr.stopped, __ATOMIC_ACQUIRE))
			tamis_acl_quiescent(x->w);
		pthread_join(t, NULL);
	}
	double q = bench_runs(x->name, "lookup, quiet", "tamis", quiet, BENCH_RUNS, "ns");
	double b = bench_runs(x->name, "lookup, beside a writer", "tamis", busy, BENCH_RUNS, "ns");
	bench_runs(x->name, "the writer's changes", "tamis", rate, BENCH_RUNS, "K/s");
	snprintf(figure, sizeof(figure), "%s: readers beside a writer", x->name);
	bench_target(figure, b / q, 1.3, "x quiet");
}

static struct tamis_acl_key *keys_of(const struct cb_set *s)
{
	struct tamis_acl_key *keys = calloc(s->n_keys, sizeof(*keys));

	for (unsigned i = 0; keys && i < s->n_keys; i++) {
		keys[i] = (struct tamis_acl_key){.family = 4,
						 .proto = s->keys[i].proto,
						 .sport = s->keys[i].sport,
						 .dport = s->keys[i].dport};
		be32_store(keys[i].src, s->keys[i].saddr);
		be32_store(keys[i].dst, s->keys[i].daddr);
	}
	return keys;
}

void bench_context(void)
{
	struct layout one = {.name = "1 ACL of 100K, 10 contexts"};
	struct layout many = {.name = "100K ACLs of 1, 1 context"};
	double ns[2][BENCH_RUNS];
	uint64_t found[2];
	struct cb_set set;

	if (!cb_load("acl1_100k", &set)) {
		fprintf(stderr, "bench_context: no classbench/rules/acl1_100k.gz\n");
		return;
	}
	struct tamis_acl_rule *rules = calloc(set.n, sizeof(*rules));
	struct tamis_acl_key *keys = keys_of(&set);
	for (unsigned i = 0; i < set.n; i++)
		rule_of(&set.rules[i], &rules[i]);

	size_t before = bench_memory();
	bench_row(one.name, "build", "tamis", layout_make(&one, rules, set.n, 1, CONTEXTS), "ms");
	bench_row(one.name, "memory", "tamis", (double)(bench_memory() - before) / set.n,
		  "bytes/entry");
	one.entries = calloc(set.n, sizeof(*one.entries));
	check(tamis_acl_entry_each(one.acls, 0, handle_take, &one), "each");
	check(bench_updates(one.name, "tamis", CHANGES, entry_change, &one), "entry");

	before = bench_memory();
	bench_row(many.name, "build", "tamis", layout_make(&many, rules, set.n, set.n, 1), "ms");
	bench_row(many.name, "memory", "tamis", (double)(bench_memory() - before) / set.n,
		  "bytes/entry");
	bench_target("one ACL of 100K in 10 contexts: one entry more, median",
		     bench_value(one.name, "update, median", "tamis"), 10, "us");
	many.before = 0;
	check(bench_updates("100K ACLs of 1, at the front", "tamis", CHANGES, acl_change, &many),
	      "front");
	many.before = set.n / 2;
	check(bench_updates("100K ACLs of 1, in the middle", "tamis", CHANGES, acl_change, &many),
	      "middle");
	many.before = TAMIS_ACL_END;
	check(bench_updates("100K ACLs of 1, at the end", "tamis", CHANGES, acl_change, &many),
	      "end");
	static const char *const places[] = {"at the front", "in the middle", "at the end"};
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		char subject[64], figure[96];

		snprintf(subject, sizeof(subject), "100K ACLs of 1, %s", places[i]);
		snprintf(figure, sizeof(figure), "100K ACLs: one more, %s, median", places[i]);
		bench_target(figure, bench_value(subject, "update, median", "tamis"), 20, "us");
	}

	check(tamis_acl_worker_new(one.acls, "bench", &one.w), "worker");
	check(tamis_acl_worker_new(many.acls, "bench", &many.w), "worker");
	for (unsigned run = 0; run < BENCH_RUNS; run++) {
		ns[0][run] = lookups(&one, keys, set.n_keys, &found[0]);
		ns[1][run] = lookups(&many, keys, set.n_keys, &found[1]);
	}
	if (found[0] != found[1])
		fprintf(stderr, "bench_context: the layouts have different answers\n");
	double first =
		bench_runs(one.name, "lookup, burst of 64", "tamis", ns[0], BENCH_RUNS, "ns");
	double second =
		bench_runs(many.name, "lookup, burst of 64", "tamis", ns[1], BENCH_RUNS, "ns");
	bench_target("lookup in the two layouts", MAX(first, second) / MIN(first, second), 1.5,
		     "x the other");
	lookups_and_writer(&one, entry_change, keys, set.n_keys);
	many.before = set.n / 2;
	lookups_and_writer(&many, acl_change, keys, set.n_keys);
	layout_drop(&one);
	layout_drop(&many);
	free(rules);
	free(keys);
	cb_free(&set);
}
