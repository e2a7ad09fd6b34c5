/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_acl: the classifier beside DPDK's rte_acl and a plain TupleMerge, on ClassBench's sets.
 *
 * Every answer of all three is compared with a linear search, on the trace and on random keys, of a
 * million rules some hundreds. The sets are of IPv4; `six` are the same mapped to IPv6, `million`
 * is copies of one.
 * Lookups of the three take turns, LOOKUP_RUNS times, in bursts of 64; what is told is the median,
 * and the median of what each turn's lookups took beside rte_acl's of the same turn. rte_acl has
 * AVX2, and where the CPU has it another row with AVX-512.
 *
 * Changes are single entries at random places, inserted and committed, deleted and committed, with
 * what waits for readers run at once. They are made BENCH_RUNS times, each time on a classifier
 * made anew with the same secret, so that the same happens at the same change, and each change
 * counts with its least time: what interrupts took is not in it, what the structure did is. By the
 * wall clock; reading the time that a thread has run is a system call longer than a change.
 */
#include <stdio.h>
#include <stdlib.h>

#include "acl/classifier.h"
#include "bench.h"
#include "classbench.h"

enum { BURST = 64, RANDOM_KEYS = 2000, CHANGES = 20000, PEERS = 3, LOOKUP_RUNS = 15 };

/* --- the classifier as a peer ----------------------------------------------------------------- */

struct handle {
	struct classifier *c;
	uint64_t version;
	unsigned n;
	bool six; /* IPv6; the keys' addresses are in `addresses` */
	struct cls_entry **entries;
	const struct cb_key *keys;
	uint32_t (*addresses)[8];
};

/* The first and the last address of a prefix, which may be one of IPv6. */
static void address_cond(struct cls_cond *c, uint8_t field, uint32_t address, unsigned len,
			 bool six)
{
	unsigned left = six ? cb_six_len(len) : len;

	*c = (struct cls_cond){.field = field, .a = {address}};
	if (six)
		cb_six(address, c->a);
	for (unsigned i = 0; i < (six ? 4U : 1U); i++, left -= MIN(left, 32U)) {
		uint32_t open = (uint32_t)(UINT64_C(0xffffffff) >> MIN(left, 32U));
		c->b[i] = c->a[i] | open;
		c->a[i] &= ~open;
	}
}

static void number_cond(struct cls_rule *rule, struct cls_cond *conds, uint8_t field, uint32_t lo,
			uint32_t hi, uint32_t most)
{
	if (lo || hi != most)
		conds[rule->n++] = (struct cls_cond){.field = field, .a = {lo}, .b = {hi}};
}

static int insert(struct handle *h, struct cls_entry *before, const struct cb_rule *r,
		  uint64_t number, struct cls_entry **out)
{
	struct cls_cond conds[5];
	struct cls_rule rule = {.family = h->six ? CLS_IPV6 : CLS_IPV4, .conds = conds};

	if (r->slen)
		address_cond(&conds[rule.n++], CLS_SADDR, r->saddr, r->slen, h->six);
	if (r->dlen)
		address_cond(&conds[rule.n++], CLS_DADDR, r->daddr, r->dlen, h->six);
	number_cond(&rule, conds, CLS_SPORT, r->sport[0], r->sport[1], UINT16_MAX);
	number_cond(&rule, conds, CLS_DPORT, r->dport[0], r->dport[1], UINT16_MAX);
	number_cond(&rule, conds, CLS_L4PROTO, r->proto, r->proto | (uint8_t)~r->proto_mask,
		    UINT8_MAX);
	return classifier_insert(h->c, before, &rule, (void *)(uintptr_t)number, out);
}

static void commit(struct handle *h)
{
	h->version++;
	classifier_commit(h->c);
}

static void *build_any(const struct cb_rule *rules, unsigned n, bool six)
{
	struct handle *h = calloc(1, sizeof(*h));

	h->n = n;
	h->six = six;
	h->entries = calloc(n, sizeof(*h->entries));
	if (classifier_new(&(struct classifier_config){.version = &h->version}, &h->c))
		abort();
	for (unsigned i = 0; i < n; i++)
		if (insert(h, NULL, &rules[i], i, &h->entries[i]))
			abort();
	commit(h);
	return h;
}

static void *build(const struct cb_rule *rules, unsigned n)
{
	return build_any(rules, n, false);
}

static void *build_six(const struct cb_rule *rules, unsigned n)
{
	return build_any(rules, n, true);
}

static void drop(void *handle)
{
	struct handle *h = handle;
	classifier_free(h->c);
	free(h->entries);
	free(h->addresses);
	free(h);
}

static void prepare(void *handle, const struct cb_key *keys, unsigned n)
{
	struct handle *h = handle;
	h->keys = keys;
	if (!h->six)
		return;
	h->addresses = realloc(h->addresses, n * sizeof(*h->addresses));
	for (unsigned i = 0; i < n; i++) {
		cb_six(keys[i].saddr, h->addresses[i]);
		cb_six(keys[i].daddr, h->addresses[i] + 4);
	}
}

/* As the packet path does it: a burst's keys are filled, then looked up. */
static inline __attribute__((always_inline)) void lookup_any(void *handle, unsigned from,
							     unsigned n, uint32_t *first, bool six)
{
	const struct handle *h = handle;
	const struct cls_entry *hit[BURST];
	struct cls_key keys[BURST] = {0};
	uint64_t version = h->version;

	for (unsigned at = 0; at < n; at += BURST) {
		unsigned m = MIN(n - at, BURST);
		for (unsigned i = 0; i < m; i++) {
			const struct cb_key *from_key = &h->keys[from + at + i];
			struct cls_key *k = &keys[i];
			k->has = 1 << CLS_SADDR | 1 << CLS_DADDR | 1 << CLS_SPORT | 1 << CLS_DPORT |
				 1 << CLS_L4PROTO;
			if (six) {
				k->family = CLS_IPV6;
				memcpy(k->w, h->addresses[from + at + i], 32);
			} else {
				k->family = CLS_IPV4;
				k->w[CLS_AT_SADDR / 32] = from_key->saddr;
				k->w[CLS_AT_DADDR / 32] = from_key->daddr;
			}
			k->w[CLS_AT_DPORT / 32] = (uint32_t)from_key->sport << 16 | from_key->dport;
			k->w[CLS_AT_L4PROTO / 32] = from_key->proto;
		}
		uint64_t mask = UINT64_MAX >> (64 - m);
		uint64_t found = classifier_lookup(h->c, version, keys, mask, NULL, hit);
		for (unsigned i = 0; i < m; i++)
			first[at + i] = found >> i & 1 ? (uint32_t)(uintptr_t)hit[i]->cookie : h->n;
	}
}

static void lookup(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	lookup_any(handle, from, n, first, false);
}

static void lookup_six(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	lookup_any(handle, from, n, first, true);
}

static size_t bytes(void *handle)
{
	struct classifier_stats stats;
	classifier_stats_read(((struct handle *)handle)->c, &stats);
	return stats.bytes;
}

static const struct cb_peer ours = {"tamis", build, drop, prepare, lookup, bytes};
static const struct cb_peer ours_six = {"tamis", build_six, drop, prepare, lookup_six, bytes};

/* --- what is measured ------------------------------------------------------------------------ */

static void compare(const struct cb_set *s, const struct cb_peer *p, void *h,
		    const struct cb_key *keys, const uint32_t *want, unsigned n, const char *which)
{
	uint32_t *got = malloc(n * sizeof(*got));
	unsigned wrong = 0;

	p->prepare(h, keys, n);
	p->lookup(h, 0, n, got);
	for (unsigned i = 0; i < n; i++)
		wrong += got[i] != want[i];
	bench_row(s->name, which, p->name, wrong, "wrong");
	free(got);
}

static uint32_t *oracle(const struct cb_set *s, const struct cb_key *keys, unsigned n)
{
	uint32_t *first = malloc(n * sizeof(*first));
	for (unsigned i = 0; i < n; i++)
		first[i] = cb_first(s, &keys[i]);
	return first;
}

/* Addresses of rules with some bits changed, ports and protocols that rules have. */
static void random_keys(const struct cb_set *s, struct cb_key *keys, unsigned n)
{
	uint64_t seed = 1;
	for (unsigned i = 0; i < n; i++) {
		uint64_t r = bench_random(&seed);
		const struct cb_rule *a = &s->rules[bench_random(&seed) % s->n];
		const struct cb_rule *b = &s->rules[bench_random(&seed) % s->n];
		keys[i] = (struct cb_key){
			.saddr = a->saddr ^
				 (uint32_t)(r & 3 ? 0 : bench_random(&seed)) >> (r >> 8 & 31),
			.daddr = (r & 4 ? a : b)->daddr ^ (uint32_t)(r >> 16 & 3),
			.sport = (r & 8 ? a : b)->sport[r >> 20 & 1],
			.dport = (r & 16 ? a : b)->dport[r >> 21 & 1],
			.proto = (r & 32 ? a : b)->proto,
		};
	}
}

/* Random keys, and after changes of the trace, that a linear search can answer in short time. */
static unsigned keys_for(const struct cb_set *s)
{
	return s->n > 500000 ? RANDOM_KEYS / 4 : RANDOM_KEYS;
}

static double turn(const struct cb_set *s, const struct cb_peer *p, void *h, uint32_t *first)
{
	uint64_t start = bench_ran();
	p->lookup(h, 0, s->n_keys, first);
	return (double)(bench_ran() - start) / s->n_keys;
}

static void measure_lookups(const struct cb_set *s, const struct cb_peer *const *peers, void **h)
{
	double ns[PEERS + 1][LOOKUP_RUNS], ratio[2][LOOKUP_RUNS];
	uint32_t *first = malloc(s->n_keys * sizeof(*first));
	bool wide = false;

	for (unsigned p = 0; p < PEERS; p++)
		if (h[p])
			peers[p]->prepare(h[p], s->keys, s->n_keys);
	for (unsigned run = 0; run < LOOKUP_RUNS; run++) {
		for (unsigned p = 0; p < PEERS; p++)
			if (h[p])
				ns[p][run] = turn(s, peers[p], h[p], first);
		if (!h[1])
			continue;
		ratio[0][run] = ns[0][run] / ns[1][run];
		wide = cb_rte_acl_wide(h[1], true);
		if (wide) {
			ns[PEERS][run] = turn(s, peers[1], h[1], first);
			ratio[1][run] = ns[0][run] / ns[PEERS][run];
			cb_rte_acl_wide(h[1], false);
		}
	}
	for (unsigned p = 0; p < PEERS; p++)
		if (h[p])
			bench_runs(s->name, "lookup, bursts of 64", peers[p]->name, ns[p],
				   LOOKUP_RUNS, "ns");
	if (wide)
		bench_runs(s->name, "lookup, bursts of 64, AVX-512", "rte_acl", ns[PEERS],
			   LOOKUP_RUNS, "ns");
	if (h[1])
		bench_runs(s->name, "lookup, times rte_acl", ours.name, ratio[0], LOOKUP_RUNS, "");
	if (wide)
		bench_runs(s->name, "lookup, times rte_acl with AVX-512", ours.name, ratio[1],
			   LOOKUP_RUNS, "");
	free(first);
}

/* Out with one entry, in with it again, where it was. Returns what both took, in ns. */
static void change(const struct cb_set *s, struct handle *h, unsigned at, double *in, double *out)
{
	struct cls_entry *next = classifier_next(h->c, h->entries[at]);
	uint64_t start = bench_now();

	classifier_delete(h->c, h->entries[at]);
	commit(h);
	uint64_t between = bench_now();
	if (insert(h, next, &s->rules[at], at, &h->entries[at]))
		abort();
	commit(h);
	*in = (double)(bench_now() - between);
	*out = (double)(between - start);
}

static void measure_changes(const struct cb_set *s, const struct cb_peer *p, unsigned runs)
{
	static double least[2][CHANGES]; /* insertions, deletions */
	struct handle *h = NULL;

	for (unsigned run = 0; run < runs; run++) {
		uint64_t seed = 7;
		if (h)
			drop(h);
		bench_random_fix(11);
		h = p->build(s->rules, s->n);
		bench_random_fix(0);
		for (unsigned i = 0; i < CHANGES; i++) {
			double in, out;
			change(s, h, (unsigned)(bench_random(&seed) % s->n), &in, &out);
			least[0][i] = run ? MIN(least[0][i], in) : in;
			least[1][i] = run ? MIN(least[1][i], out) : out;
		}
	}
	unsigned n = MIN(s->n_keys, keys_for(s));
	uint32_t *on_trace = oracle(s, s->keys, n);
	compare(s, p, h, s->keys, on_trace, n, "answers, after changes");
	free(on_trace);
	drop(h);
	static const char *const names[2][3] = {
		{"insert, median", "insert, 99.9th percentile", "insert, longest"},
		{"delete, median", "delete, 99.9th percentile", "delete, longest"}};
	for (unsigned k = 0; k < 2; k++) {
		bench_row(s->name, names[k][0], ours.name, bench_median(least[k], CHANGES), "ns");
		bench_row(s->name, names[k][1], ours.name, bench_quantile(least[k], CHANGES, 0.999),
			  "ns");
		bench_row(s->name, names[k][2], ours.name, bench_quantile(least[k], CHANGES, 1),
			  "ns");
	}
}

/* Builds take turns with nothing: each peer's own time, the median of five for ours. */
static void *measure_build(const struct cb_set *s, const struct cb_peer *p)
{
	double ms[5];
	void *h = NULL;
	unsigned runs = p->name == ours.name ? 5 : 1;

	for (unsigned run = 0; run < runs; run++) {
		if (h)
			p->drop(h);
		uint64_t start = bench_ran();
		h = p->build(s->rules, s->n);
		ms[run] = (double)(bench_ran() - start) / 1e6;
	}
	if (!h)
		return NULL;
	bench_row(s->name, "build", p->name, bench_median(ms, runs), "ms");
	bench_row(s->name, "bytes a rule", p->name, (double)p->bytes(h) / s->n, "bytes");
	return h;
}

/* Of the rows that were reported for a set. */
static void what_holds(const struct cb_set *s)
{
	static const struct {
		const char *figure;
		double most, unit; /* a unit of the target in those of the row */
		const char *name;
	} large[] = {
		{"build", 0.3, 1e3, "s"},
		{"bytes a rule", 250, 1, "bytes"},
		{"insert, median", 1, 1e3, "us"},
		{"insert, 99.9th percentile", 20, 1e3, "us"},
		{"insert, longest", 1, 1e6, "ms"},
		{"delete, median", 1, 1e3, "us"},
		{"delete, 99.9th percentile", 20, 1e3, "us"},
		{"delete, longest", 1, 1e6, "ms"},
	};
	double times = bench_value(s->name, "lookup, times rte_acl", ours.name);
	char figure[96];

	if (times > 0) {
		snprintf(figure, sizeof(figure), "%s, lookup, bursts of 64", s->name);
		bench_target(figure, times,
			     s->n > 50000  ? 0.3
			     : s->n > 5000 ? 0.7
					   : 1,
			     "x rte_acl");
	}
	for (unsigned i = 0; s->n > 50000 && i < ARRAY_SIZE(large); i++) {
		snprintf(figure, sizeof(figure), "%s, %s", s->name, large[i].figure);
		bench_target(figure,
			     bench_value(s->name, large[i].figure, ours.name) / large[i].unit,
			     large[i].most, large[i].name);
	}
}

/* `trace` keys of the trace are held to a linear search. Peers may be NULL. */
static void measure(const struct cb_set *s, const struct cb_peer *const *peers, unsigned trace,
		    unsigned runs)
{
	struct cb_key random[RANDOM_KEYS];
	unsigned n_random = keys_for(s);
	void *h[PEERS] = {0};

	random_keys(s, random, n_random);
	uint32_t *on_trace = oracle(s, s->keys, trace);
	uint32_t *on_random = oracle(s, random, n_random);
	for (unsigned p = 0; p < PEERS; p++) {
		if (peers[p])
			h[p] = measure_build(s, peers[p]);
		if (!h[p])
			continue;
		compare(s, peers[p], h[p], s->keys, on_trace, trace, "answers, trace");
		compare(s, peers[p], h[p], random, on_random, n_random, "answers, random keys");
	}
	measure_lookups(s, peers, h);
	measure_changes(s, peers[0], runs);
	for (unsigned p = 0; p < PEERS; p++)
		if (h[p])
			peers[p]->drop(h[p]);
	free(on_trace);
	free(on_random);
}

void bench_acl(const char *name)
{
	static const struct cb_peer *const peers[PEERS] = {&ours, &cb_rte_acl, &cb_tuple_merge};
	struct cb_set s;

	if (cb_load(name, &s)) {
		measure(&s, peers, s.n_keys, BENCH_RUNS);
		what_holds(&s);
	} else {
		bench_skip(name, "not in $TAMIS_DATA/classbench");
	}
	cb_free(&s);
}

/* The sets mapped to IPv6: see cb_six(). rte_acl takes minutes to build larger ones. */
void bench_acl_six(void)
{
	static const struct cb_peer *const peers[PEERS] = {&ours_six, &cb_rte_acl_six,
							   &cb_tuple_merge_six};
	static const char *const sets[][2] = {{"acl1_1k", "acl1_1k as IPv6"},
					      {"fw1_1k", "fw1_1k as IPv6"},
					      {"ipc1_1k", "ipc1_1k as IPv6"},
					      {"acl1_10k", "acl1_10k as IPv6"},
					      {"ipc1_10k", "ipc1_10k as IPv6"}};

	for (unsigned i = 0; i < ARRAY_SIZE(sets); i++) {
		struct cb_set s;
		bool there = cb_load(sets[i][0], &s);
		s.name = sets[i][1];
		if (there)
			measure(&s, peers, s.n_keys, BENCH_RUNS);
		else
			bench_skip(s.name, "not in $TAMIS_DATA/classbench");
		cb_free(&s);
	}
}

/* Ten copies of 100,000 rules; rte_acl would take minutes and gigabytes. */
void bench_acl_million(void)
{
	static const struct cb_peer *const peers[PEERS] = {&ours, NULL, &cb_tuple_merge};
	struct cb_set s;
	bool there = cb_load_copies("acl1_100k", 10, &s);

	s.name = "acl1, ten times 100K";
	if (there)
		measure(&s, peers, keys_for(&s), 3);
	else
		bench_skip(s.name, "not in $TAMIS_DATA/classbench");
	cb_free(&s);
}

/* --- rules that overlap ------------------------------------------------------------------------
 */

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(bench_random(seed) % n);
}

static void random_range(uint64_t *seed, uint16_t range[2])
{
	uint32_t a = random_below(seed, 65536), b = random_below(seed, 65536);
	range[0] = (uint16_t)MIN(a, b);
	range[1] = (uint16_t)MAX(a, b);
}

/* A rule that says nothing but the protocol and what one of the cases says. */
static struct cb_rule overlapping(unsigned kind, uint64_t *seed)
{
	struct cb_rule r = {
		.sport = {0, 65535}, .dport = {0, 65535}, .proto = 6, .proto_mask = 0xff};

	if (kind < 3)
		random_range(seed, r.dport);
	if (kind == 4) {
		r.dport[0] = (uint16_t)(32767 - random_below(seed, 20000));
		r.dport[1] = (uint16_t)(32768 + random_below(seed, 20000));
	}
	if (kind == 1)
		random_range(seed, r.sport);
	if (kind == 2)
		r.sport[0] = r.sport[1] = (uint16_t)random_below(seed, 65536);
	if (kind == 3) {
		r.slen = (uint8_t)random_below(seed, 33);
		r.dlen = (uint8_t)random_below(seed, 33);
		r.saddr = r.slen ? 0x0a000000 >> (32 - r.slen) << (32 - r.slen) : 0;
		r.daddr = r.dlen ? 0xc0a80000 >> (32 - r.dlen) << (32 - r.dlen) : 0;
	}
	return r;
}

static struct cb_key overlapped_key(unsigned kind, uint64_t *seed)
{
	struct cb_key k = {.sport = (uint16_t)random_below(seed, 65536),
			   .dport = (uint16_t)random_below(seed, 65536),
			   .proto = 6};
	/* Most of these meet few of the rules, or none. */
	if (kind == 4)
		k.dport = (uint16_t)(52768 - random_below(seed, 400));
	if (kind == 3) {
		k.saddr = 0x0a000000 ^ (uint32_t)bench_random(seed) >> random_below(seed, 32);
		k.daddr = 0xc0a80000 ^ (uint32_t)bench_random(seed) >> random_below(seed, 32);
	}
	return k;
}

/* What lookups cost among rules that only ranges of ports, or pairs of nested prefixes, tell apart.
 */
void bench_overlap(void)
{
	enum { KEYS = 2048, ROUNDS = 15 };
	static const char *const names[] = {"dport ranges", "ranges of both ports",
					    "sport, dport range", "nested prefixes",
					    "ranges around one port"};
	static struct cb_key keys[KEYS];
	static uint32_t first[KEYS];

	for (unsigned kind = 0; kind < ARRAY_SIZE(names); kind++)
		for (unsigned n = 100; n <= 10000; n *= 10) {
			struct cb_rule *rules = calloc(n, sizeof(*rules));
			struct cb_set s = {.n = n, .n_keys = KEYS, .rules = rules, .keys = keys};
			double ns[ROUNDS];
			char name[32];
			uint64_t seed = n + kind;

			snprintf(name, sizeof(name), "%u %s", n, names[kind]);
			s.name = name;
			for (unsigned i = 0; i < n; i++)
				rules[i] = overlapping(kind, &seed);
			for (unsigned i = 0; i < KEYS; i++)
				keys[i] = overlapped_key(kind, &seed);
			uint64_t start = bench_now();
			struct handle *h = build(rules, n);
			bench_row(name, "build, a rule", ours.name,
				  (double)(bench_now() - start) / 1e3 / n, "us");
			bench_row(name, "bytes a rule", ours.name, (double)bytes(h) / n, "bytes");
			uint32_t *want = oracle(&s, keys, KEYS);
			compare(&s, &ours, h, keys, want, KEYS, "answers");
			for (unsigned i = 0; i < ROUNDS; i++)
				ns[i] = turn(&s, &ours, h, first);
			bench_runs(name, "lookup, bursts of 64", ours.name, ns, ROUNDS, "ns");
			free(want);
			free(rules);
			drop(h);
		}
}
