/* SPDX-License-Identifier: Apache-2.0 */
/* Programs put together by hand, run over a few packets. */
#include <stdio.h>

#include "packet_build.h"

#include "ct/ct.h"
#include "eval/eval.h"
#include "program_walk.h"

enum { MAX_CHAINS = 24, MAX_RULES = 8 };

/* Of the world there is, so that ops can name them. */
static struct program programs[MAX_CHAINS];

/* A ruleset of chains; chain 0 is the base chain unless a test says otherwise. */
struct world {
	struct program_root root;
	struct prog_chain_stats chain_stats[MAX_CHAINS];
	struct prog_rule rules[MAX_CHAINS][MAX_RULES];
	unsigned n_rules[MAX_CHAINS];
	struct prog_rule_stats rule_stats[MAX_CHAINS][MAX_RULES];
	struct prog_base bases[MAX_CHAINS];
	const struct prog_base *lists[PROG_CLASSES][PROG_HOOKS][MAX_CHAINS];

	struct burst burst;
	struct packet packets[BURST_MAX];
	uint8_t copies[BURST_MAX][2048];
	uint8_t path[BURST_MAX];
	struct eval *ev;
	struct eval_input in;
	struct eval_ops ops;
	struct eval_result out;

	char text[4096]; /* of the events */
};

static const struct program *program_of(const void *chain)
{
	return &programs[(uintptr_t)chain - 1];
}

static struct state *no_state(const void *object)
{
	(void)object;
	return NULL;
}

static uint8_t *writable(void *arg, const struct burst *b, unsigned i)
{
	struct world *w = arg;

	return memcpy(w->copies[i], b->data[i], b->caplen[i]);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->root.program_of = program_of;
	w->root.object_state = no_state;
	for (unsigned c = 0; c < MAX_CHAINS; c++)
		programs[c] = (struct program){.chain = (const void *)(uintptr_t)(c + 1),
					       .stats = &w->chain_stats[c]};
	assert_int_equal(eval_new(7, &w->ev), 0);
	w->ops = (struct eval_ops){.arg = w, .writable = writable};
	w->in = (struct eval_input){
		.root = &w->root, .burst = &w->burst, .path = w->path, .ops = &w->ops};
	return w;
}

static void world_free(struct world *w)
{
	eval_free(w->ev);
	free(w);
}

static void hook_add(struct world *w, unsigned chain, enum prog_class class, enum prog_hook hook,
		     int32_t order, bool drop)
{
	struct prog_hook_list *l = &w->root.hooks[class][hook];
	struct prog_base *b = &w->bases[chain];

	b->program = &programs[chain];
	b->priority = b->order = order;
	b->hook = (uint8_t)hook;
	b->family = 1;
	b->drop = drop;
	w->lists[class][hook][l->n++] = b;
	l->bases = w->lists[class][hook];
}

static struct prog_rule *rule_add(struct world *w, unsigned chain, const struct prog_op *ops,
				  unsigned n)
{
	unsigned k = w->n_rules[chain]++;
	struct prog_rule *r = &w->rules[chain][k];

	assert_true(k < MAX_RULES);
	*r = (struct prog_rule){.to = UINT64_MAX,
				.n_ops = n,
				.ops = ops,
				.stats = &w->rule_stats[chain][k],
				.handle = k + 1};
	*(k ? &r[-1].next : &programs[chain].first) = r;
	return r;
}

static struct packet *packet_add(struct world *w)
{
	unsigned i = w->burst.n++;

	w->burst.link[i] = LINK_EN10MB;
	return &w->packets[i];
}

static struct packet *udp4(struct world *w, uint16_t dport)
{
	struct packet *p = packet_add(w);

	put_ether(p, 0x0800);
	ip4_begin(p, 17, 0, NULL, 0);
	put_udp(p, 8 + 4);
	be16_store(p->b + p->n - 6, dport);
	put32(p, 0xdeadbeef);
	ip4_end(p);
	return p;
}

static void run(struct world *w)
{
	struct burst *b = &w->burst;

	for (unsigned i = 0; i < b->n; i++) {
		b->data[i] = w->packets[i].b;
		b->caplen[i] = b->len[i] = w->packets[i].n;
	}
	burst_parse(b);
	w->in.mask = b->n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << b->n) - 1;
	eval_run(w->ev, &w->in, &w->out);
	assert_int_equal(w->out.accepted | w->out.dropped | w->out.rejected | w->out.queued |
				 w->out.stolen,
			 w->in.mask);
}

static const struct prog_expr dport = {
	.kind = PX_COLUMN,
	.len = 2,
	.bits = 16,
	.column = {.column = COL_DPORT, .in_packet = true, .base = BASE_TH, .bit_off = 16}};

#define DPORT(from, n, not )                                                                       \
	{                                                                                          \
		.kind = PO_RANGE, .range = { &dport, 0xffff, (from), (n)-1, (not ) }               \
	}
#define VERDICT(c)                                                                                 \
	{                                                                                          \
		.kind = PO_VERDICT, .verdict = {.code = PV_##c }                                   \
	}
#define TO(c, chain)                                                                               \
	{                                                                                          \
		.kind = PO_VERDICT, .verdict = {.code = PV_##c, .target = &programs[chain] }       \
	}

static const struct prog_op drop[] = {VERDICT(DROP)}, accept[] = {VERDICT(ACCEPT)};

/* Few packets go one by one, many at once: both give the same. */
static void test_range_dense_and_sparse(void **state)
{
	static const struct prog_op in_range[] = {DPORT(80, 11, false), VERDICT(DROP)};

	(void)state;
	for (unsigned n = 1; n <= BURST_MAX; n += 21) {
		struct world *w = world_new();
		burst_mask want = 0;

		hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
		rule_add(w, 0, in_range, 2);
		for (unsigned i = 0; i < n; i++) {
			uint16_t port = (uint16_t)(78 + i % 16);

			udp4(w, port);
			want |= (burst_mask)(port >= 80 && port <= 90) << i;
		}
		run(w);
		assert_int_equal(w->out.dropped, want);
		assert_int_equal(program_reached(&programs[0], 0), n);
		assert_int_equal(w->rule_stats[0][0].packets, __builtin_popcountll(want));
		assert_int_equal(w->rule_stats[0][0].bytes, __builtin_popcountll(want) * 32);
		assert_int_equal(w->chain_stats[0].policy_packets, n - __builtin_popcountll(want));
		world_free(w);
	}
}

/* What a packet does not have matches neither the comparison nor its opposite. */
static void test_missing_field(void **state)
{
	static const struct prog_op is[] = {DPORT(80, 1, false), VERDICT(DROP)};
	static const struct prog_op is_not[] = {DPORT(80, 1, true), VERDICT(DROP)};
	struct world *w = world_new();
	struct packet *p;

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, is, 2);
	rule_add(w, 0, is_not, 2);
	for (unsigned i = 0; i < 40; i++) {
		p = packet_add(w);
		put_ether(p, 0x0800);
		ip4_begin(p, 17, i & 1 ? 100 : 0, NULL, 0); /* a later fragment, or cut off */
		put_fill(p, 80, i & 1 ? 16 : 2);
		ip4_end(p);
	}
	run(w);
	assert_int_equal(w->out.dropped, 0);
	assert_int_equal(program_reached(&programs[0], 1), 40);
	world_free(w);
}

/* A field without its column's header is read from the bytes: a GRE packet has bytes 2 and 3. */
static void test_column_fallback(void **state)
{
	static const struct prog_op is[] = {DPORT(0x0800, 1, false), VERDICT(DROP)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, is, 2);
	for (unsigned i = 0; i < 30; i++) {
		struct packet *p = packet_add(w);

		put_ether(p, 0x0800);
		ip4_begin(p, i % 3 ? 47 : 17, 0, NULL, 0);
		put32(p, 0x0800);
		put32(p, 0);
		ip4_end(p);
	}
	run(w);
	assert_int_equal(w->out.dropped, (UINT64_C(1) << 30) - 1);
	world_free(w);
}

/* jump comes back behind its rule, goto behind the one that jumped, return at once. */
static void test_jump_goto_return(void **state)
{
	static const struct prog_op jump1[] = {TO(JUMP, 1)};
	static const struct prog_op goto2[] = {DPORT(1, 2, false), TO(GOTO, 2)};
	static const struct prog_op ret[] = {DPORT(1, 1, false), VERDICT(RETURN)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, jump1, 1);  /* 0: everything to chain 1 */
	rule_add(w, 0, drop, 1);   /*    what comes back is dropped */
	rule_add(w, 1, goto2, 2);  /* 1: ports 1 and 2 go to chain 2 */
	rule_add(w, 1, accept, 1); /*    the rest is accepted */
	rule_add(w, 2, ret, 2);	   /* 2: port 1 returns to chain 0, port 2 is rejected */
	rule_add(w, 2, (struct prog_op[]){{.kind = PO_REJECT}}, 1);
	for (uint16_t port = 1; port <= 3; port++)
		udp4(w, port);
	run(w);
	assert_int_equal(w->out.dropped, 1);
	assert_int_equal(w->out.rejected, 2);
	assert_int_equal(w->out.accepted, 4);
	assert_int_equal(w->chain_stats[2].packets, 2);
	assert_ptr_equal(w->out.chain[1], &programs[2]);
	assert_ptr_equal(w->out.rule[1], &w->rules[2][1]);
	assert_int_equal(w->rule_stats[0][1].packets, 1);
	world_free(w);
}

/* return in a base chain means its policy. */
static void test_return_in_base(void **state)
{
	static const struct prog_op ret[] = {VERDICT(RETURN)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, true);
	rule_add(w, 0, ret, 1);
	rule_add(w, 0, accept, 1);
	udp4(w, 1);
	run(w);
	assert_int_equal(w->out.dropped, 1);
	assert_int_equal(program_reached(&programs[0], 1), 0);
	assert_int_equal(w->chain_stats[0].policy_packets, 1);
	assert_null(w->out.rule[0]);
	world_free(w);
}

static void test_depth(void **state)
{
	static struct prog_op jumps[MAX_CHAINS];

	(void)state;
	for (unsigned deepest = PROG_DEPTH_MAX; deepest <= PROG_DEPTH_MAX + 1; deepest++) {
		struct world *w = world_new();

		hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
		for (unsigned c = 0; c < deepest; c++) {
			jumps[c] = (struct prog_op)TO(JUMP, c + 1);
			rule_add(w, c, &jumps[c], 1);
		}
		rule_add(w, deepest, accept, 1);
		udp4(w, 1);
		run(w);
		assert_int_equal(w->out.accepted, deepest == PROG_DEPTH_MAX);
		assert_int_equal(eval_stats_of(w->ev)->depth, deepest > PROG_DEPTH_MAX);
		world_free(w);
	}
}

/* accept ends a base chain, not the hook; drop is final, later hooks do not see the packet. */
static void test_hooks(void **state)
{
	static const struct prog_op one[] = {DPORT(1, 1, false), VERDICT(DROP)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_PREROUTING, 0, false);
	hook_add(w, 1, CLASS_IPV4, PH_PREROUTING, 1, false);
	hook_add(w, 2, CLASS_IPV4, PH_INPUT, 0, false);
	hook_add(w, 3, CLASS_IPV4, PH_FORWARD, 0, true);
	hook_add(w, 4, CLASS_NETDEV, PH_EGRESS, 0, false);
	rule_add(w, 0, accept, 1);
	rule_add(w, 1, one, 2);
	udp4(w, 1);
	udp4(w, 2);
	udp4(w, 2);
	w->path[0] = w->path[1] = EVAL_PATH_INPUT;
	w->path[2] = EVAL_PATH_FORWARD;
	run(w);
	assert_int_equal(w->out.dropped, 1 | 4);
	assert_int_equal(w->out.accepted, 2);
	assert_int_equal(w->chain_stats[1].packets, 3);
	assert_int_equal(w->chain_stats[2].packets, 1);
	assert_int_equal(w->chain_stats[3].packets, 1);
	assert_int_equal(w->chain_stats[4].packets, 0);
	world_free(w);
}

static void test_output_and_bridge(void **state)
{
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_NETDEV, PH_INGRESS, 0, false);
	hook_add(w, 1, CLASS_IPV4, PH_OUTPUT, 0, false);
	hook_add(w, 2, CLASS_IPV4, PH_POSTROUTING, 0, false);
	hook_add(w, 3, CLASS_NETDEV, PH_EGRESS, 0, false);
	hook_add(w, 4, CLASS_BRIDGE, PH_FORWARD, 0, false);
	udp4(w, 1);
	udp4(w, 1);
	w->path[0] = EVAL_PATH_OUTPUT;
	w->path[1] = EVAL_PATH_BRIDGE;
	run(w);
	assert_int_equal(w->chain_stats[0].packets, 1);
	assert_int_equal(w->chain_stats[1].packets, 1);
	assert_int_equal(w->chain_stats[2].packets, 1);
	assert_int_equal(w->chain_stats[3].packets, 2);
	assert_int_equal(w->chain_stats[4].packets, 1);
	assert_int_equal(w->out.accepted, 3);
	world_free(w);
}

/* A wrong checksum of the header: ingress sees the packet, prerouting does not. */
static void test_receive_check(void **state)
{
	struct world *w = world_new();
	struct packet *p;

	(void)state;
	hook_add(w, 0, CLASS_NETDEV, PH_INGRESS, 0, false);
	hook_add(w, 1, CLASS_IPV4, PH_PREROUTING, 0, false);
	hook_add(w, 2, CLASS_IPV4, PH_OUTPUT, 0, false);
	for (unsigned i = 0; i < 2; i++) {
		p = udp4(w, 1);
		p->b[p->nh + 10] ^= 1;
	}
	w->path[1] = EVAL_PATH_OUTPUT;
	run(w);
	assert_int_equal(w->out.malformed, 1);
	assert_int_equal(w->out.dropped, 1);
	assert_null(w->out.chain[0]);
	assert_int_equal(w->chain_stats[0].packets, 1);
	assert_int_equal(w->chain_stats[1].packets, 0);
	assert_int_equal(w->chain_stats[2].packets, 1);
	world_free(w);
}

static void test_devices(void **state)
{
	static const char names[][PROG_NAME_LEN] = {"eth0", "eth1", "wlan0"};
	static const char one[][PROG_NAME_LEN + 1] = {"eth0"}, any[][PROG_NAME_LEN + 1] = {"eth*"};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_NETDEV, PH_INGRESS, 0, false);
	hook_add(w, 1, CLASS_NETDEV, PH_INGRESS, 1, false);
	w->bases[0].devices = one;
	w->bases[0].n_devices = 1;
	w->bases[1].devices = any;
	w->bases[1].n_devices = 1;
	w->in.devices = (struct eval_devices){3, names};
	for (uint32_t i = 0; i < 4; i++) { /* nobody knows where packet 0 came from */
		udp4(w, 1);
		w->burst.iif[i] = i;
	}
	run(w);
	assert_int_equal(w->chain_stats[0].packets, 2);
	assert_int_equal(w->chain_stats[1].packets, 3);
	world_free(w);
}

static void test_name_prefix(void **state)
{
	static const char names[][PROG_NAME_LEN] = {"eth0", "eth10", "et"};
	static const struct prog_expr iifname = {
		.kind = PX_META, .len = 16, .bits = 128, .meta = PM_IIFNAME};
	static const uint8_t eth1[16] = "eth1";
	static const struct prog_op prefix[] = {
		{.kind = PO_BYTES, .bytes = {&iifname, NULL, eth1, eth1, 4, false}}, VERDICT(DROP)};
	static const struct prog_op is_not[] = {
		{.kind = PO_BYTES, .bytes = {&iifname, NULL, eth1, eth1, 16, true}},
		{.kind = PO_REJECT}};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, prefix, 2);
	rule_add(w, 0, is_not, 2);
	w->in.devices = (struct eval_devices){3, names};
	for (uint32_t i = 0; i < 4; i++) {
		udp4(w, 1);
		w->burst.iif[i] = i;
	}
	run(w);
	assert_int_equal(w->out.dropped, 1 << 2);
	assert_int_equal(w->out.rejected, 1 | 1 << 1 | 1 << 3);
	world_free(w);
}

static uint16_t udp4_checksum(const uint8_t *ip)
{
	uint32_t len = be16_load(ip + 2) - 20u, sum = 17 + len;

	for (unsigned k = 12; k < 20; k += 2)
		sum += be16_load(ip + k);
	for (uint32_t k = 0; k < len; k += 2)
		sum += be16_load(ip + 20 + k);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Bytes are changed in the caller's copy, both checksums stay right, later rules see the change. */
static void test_rewrite(void **state)
{
	static const uint8_t port[2] = {0x15, 0xb3}, address[4] = {10, 1, 2, 3}, seven[1] = {7};
	static const struct prog_expr to_port = {
		.kind = PX_CONST, .len = 2, .bits = 16, .bytes = port};
	static const struct prog_expr to_address = {
		.kind = PX_CONST, .len = 4, .bits = 32, .bytes = address};
	static const struct prog_expr to_dscp = {
		.kind = PX_CONST, .len = 1, .bits = 6, .bytes = seven};
	static const struct prog_op rule[] = {
		{.kind = PO_PACKET_SET,
		 .packet_set = {&to_port, BASE_TH, PCK_UDP, false, 6, 16, 16}},
		{.kind = PO_PACKET_SET,
		 .packet_set = {&to_address, BASE_NH, PCK_INET, true, 10, 128, 32}},
		{.kind = PO_PACKET_SET,
		 .packet_set = {&to_dscp, BASE_NH, PCK_INET, false, 10, 8, 6}}};
	static const struct prog_op changed[] = {DPORT(0x15b3, 1, false), VERDICT(DROP)};

	(void)state;
	for (unsigned summed = 0; summed < 2; summed++) {
		struct world *w = world_new();
		struct packet *p = udp4(w, 53);
		const uint8_t *ip = w->copies[0] + 14;
		uint8_t before[64];

		if (summed)
			be16_store(p->b + p->nh + 26, udp4_checksum(p->b + p->nh));
		memcpy(before, p->b, p->n);
		hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
		rule_add(w, 0, rule, 3);
		rule_add(w, 0, changed, 2);
		run(w);
		assert_int_equal(w->out.changed, 1);
		assert_int_equal(w->out.dropped, 1);
		assert_memory_equal(p->b, before, p->n);
		assert_memory_equal(ip + 16, address, 4);
		assert_int_equal(ip[1], 7 << 2);
		assert_int_equal(be16_load(ip + 22), 0x15b3);
		assert_memory_equal(w->burst.daddr[0], address, 4);
		assert_int_equal(w->burst.malformed[0] >> MALFORMED_IP_CHECKSUM & 1, 0);
		if (summed)
			assert_int_equal(udp4_checksum(ip), 0);
		else
			assert_int_equal(be16_load(ip + 26), 0);
		world_free(w);
	}
}

/* Nobody gives a copy: the rule ends there. */
static void test_rewrite_refused(void **state)
{
	static const uint8_t port[2] = {0, 1};
	static const struct prog_expr value = {
		.kind = PX_CONST, .len = 2, .bits = 16, .bytes = port};
	static const struct prog_op rule[] = {
		{.kind = PO_PACKET_SET, .packet_set = {&value, BASE_TH, PCK_UDP, false, 6, 16, 16}},
		VERDICT(DROP)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, rule, 2);
	udp4(w, 53);
	w->ops.writable = NULL;
	run(w);
	assert_int_equal(w->out.accepted, 1);
	assert_int_equal(w->out.changed, 0);
	world_free(w);
}

static uint16_t mss_after(uint16_t from, uint16_t to)
{
	uint8_t bytes[2], option[4] = {2, 4};
	const struct prog_expr value = {.kind = PX_CONST, .len = 2, .bits = 16, .bytes = bytes};
	const struct prog_op rule[] = {{.kind = PO_OPTION_SET, .option_set = {&value, 2, 2, 2}}};
	struct world *w = world_new();
	struct packet *p = packet_add(w);
	uint16_t mss;

	be16_store(bytes, to);
	be16_store(option + 2, from);
	put_ether(p, 0x0800);
	ip4_begin(p, 6, 0, NULL, 0);
	put_tcp(p, 2, option, 4);
	ip4_end(p);
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, rule, 1);
	run(w);
	mss = be16_load(w->burst.data[0] + 14 + 20 + 22);
	if (w->out.changed) /* the field was 0: what the option lost, it gained */
		assert_int_equal(be16_load(w->burst.data[0] + 14 + 20 + 16), from - mss);
	world_free(w);
	return mss;
}

static void test_segment_size(void **state)
{
	(void)state;
	assert_int_equal(mss_after(1460, 1400), 1400);
	assert_int_equal(mss_after(1300, 1400), 1300);
}

static void trace(void *arg, const struct eval_trace *e)
{
	static const char *const kinds[] = {"packet", "rule", "return", "policy"};
	static const char *const verdicts[] = {"accept", "drop",   "continue", "return", "jump",
					       "goto",	 "reject", "queue",    "stolen"};
	struct world *w = arg;
	size_t at = strlen(w->text);

	snprintf(w->text + at, sizeof(w->text) - at, "%u %s chain %u rule %u %s\n", e->at.packet,
		 kinds[e->kind], (unsigned)(e->at.chain - programs),
		 e->at.rule ? (unsigned)e->at.rule->handle : 0, verdicts[e->verdict]);
}

static void test_trace(void **state)
{
	static const uint8_t one[1] = {1};
	static const struct prog_expr value = {.kind = PX_CONST, .len = 1, .bits = 1, .bytes = one};
	static const struct prog_op on[] = {
		DPORT(2, 1, false), {.kind = PO_META_SET, .meta_set = {PMS_NFTRACE, &value}}};
	static const struct prog_op jump1[] = {TO(JUMP, 1)};
	static const struct prog_op some[] = {DPORT(1, 1, false), VERDICT(DROP)};
	struct world *w = world_new();

	(void)state;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, true);
	rule_add(w, 0, on, 2);
	rule_add(w, 0, jump1, 1);
	rule_add(w, 1, some, 2);
	udp4(w, 1);
	udp4(w, 2);
	udp4(w, 3);
	w->ops.trace = trace;
	w->in.trace = 1;
	w->in.exact = true;
	run(w);
	assert_string_equal(w->text, "0 packet chain 0 rule 0 continue\n"
				     "0 rule chain 0 rule 2 jump\n"
				     "0 rule chain 1 rule 1 drop\n"
				     "1 rule chain 0 rule 1 continue\n"
				     "1 rule chain 0 rule 2 jump\n"
				     "1 return chain 1 rule 0 return\n"
				     "1 return chain 0 rule 0 continue\n"
				     "1 policy chain 0 rule 0 drop\n");
	world_free(w);
}

/* Before priority -200 there is no flow; a notrack there keeps the packet out for good. */
static void test_conntrack(void **state)
{
	static const struct prog_expr ct_state = {
		.kind = PX_CT, .len = 4, .bits = 32, .ct = {PC_STATE, -1, 0}};
	static const struct prog_op early[] = {
		{.kind = PO_RANGE, .range = {&ct_state, UINT32_MAX, CT_INVALID, 0, false}}};
	static const struct prog_op notrack[] = {DPORT(9, 1, false), {.kind = PO_NOTRACK}};
	static const struct prog_op is_new[] = {
		{.kind = PO_RANGE, .range = {&ct_state, UINT32_MAX, CT_NEW, 0, false}}};
	static const struct prog_op untracked[] = {
		{.kind = PO_BITS, .range = {&ct_state, CT_UNTRACKED, 0, 0, false}}};
	static const struct prog_op established[] = {
		{.kind = PO_BITS, .range = {&ct_state, CT_ESTABLISHED, 0, 0, false}}};
	struct ct_config config;
	struct world *w = world_new();
	uint8_t *ip;

	(void)state;
	ct_config_default(&config);
	assert_int_equal(ct_table_new(&config, (struct ct_table **)&w->in.ct), 0);
	w->root.conntrack[CLASS_IPV4] = true;
	w->root.exact = true;
	hook_add(w, 0, CLASS_IPV4, PH_PREROUTING, -300, false);
	hook_add(w, 1, CLASS_IPV4, PH_INPUT, 0, false);
	rule_add(w, 0, early, 1);
	rule_add(w, 0, notrack, 2);
	rule_add(w, 1, is_new, 1);
	rule_add(w, 1, untracked, 1);
	rule_add(w, 1, established, 1);
	udp4(w, 7);
	udp4(w, 7);
	udp4(w, 9);
	ip = udp4(w, 5353)->b + 14; /* the answer to the first: addresses and ports turned round */
	be32_store(ip + 12, 0xc6336402);
	be32_store(ip + 16, 0xc0000201);
	be16_store(ip + 20, 7);
	run(w);
	assert_int_equal(w->rule_stats[0][0].packets, 4);
	assert_int_equal(w->rule_stats[1][0].packets, 2);
	assert_int_equal(w->rule_stats[1][1].packets, 1);
	assert_int_equal(w->rule_stats[1][2].packets, 1);
	assert_int_equal(ct_count(w->in.ct, 0), 1);
	ct_table_free(w->in.ct);
	world_free(w);
}

/* A flow whose packets are dropped never comes to be: each is the first again. */
static void test_unconfirmed_nat(void **state)
{
	static const struct prog_nat same = {.port_hi = UINT16_MAX};
	static const struct prog_op nat[] = {{.kind = PO_NAT, .nat = &same}};
	static const struct prog_op seven[] = {DPORT(7, 1, false), VERDICT(DROP)};
	struct ct_config config;
	struct world *w = world_new();

	(void)state;
	ct_config_default(&config);
	assert_int_equal(ct_table_new(&config, (struct ct_table **)&w->in.ct), 0);
	w->root.conntrack[CLASS_IPV4] = w->root.exact = true;
	hook_add(w, 0, CLASS_IPV4, PH_PREROUTING, -100, false);
	hook_add(w, 1, CLASS_IPV4, PH_PREROUTING, -100, false);
	hook_add(w, 2, CLASS_IPV4, PH_INPUT, 0, false);
	w->bases[0].nat = w->bases[1].nat = true;
	rule_add(w, 0, nat, 1);
	rule_add(w, 2, seven, 2);
	udp4(w, 7);
	udp4(w, 7);
	udp4(w, 8);
	udp4(w, 8);
	run(w);
	assert_int_equal(w->chain_stats[0].packets, 3); /* both to port 7, the first to port 8 */
	assert_int_equal(w->chain_stats[1].packets, 0); /* the first nat statement was it */
	assert_int_equal(w->out.dropped, 3);
	assert_int_equal(w->out.accepted, 12);
	ct_table_free(w->in.ct);
	world_free(w);
}

/* Element states, updates that find no room, deletion. */
static void test_update(void **state)
{
	struct set_desc d = {.n_fields = 1, .field_len = {2}, .dynamic = true, .size = 2};
	struct world *w = world_new();
	struct prog_op add[2] = {{.kind = PO_UPDATE}, VERDICT(DROP)};
	struct prog_op del[3] = {DPORT(1, 1, false), {.kind = PO_UPDATE}, VERDICT(CONTINUE)};

	(void)state;
	assert_int_equal(set_new(&d, &add[0].update.set), 0);
	add[0].update.key = &dport;
	del[1].update.op = PU_DELETE;
	del[1].update.set = add[0].update.set;
	del[1].update.key = &dport;
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, false);
	w->root.exact = true;
	rule_add(w, 0, add, 2);
	rule_add(w, 0, del, 3);
	udp4(w, 2); /* in */
	udp4(w, 3); /* in */
	udp4(w, 1); /* full: the rule ends; the delete finds nothing */
	udp4(w, 2); /* there already */
	run(w);
	assert_int_equal(w->out.dropped, 1 | 2 | 8);
	assert_int_equal(w->rule_stats[0][1].packets, 1);
	assert_int_equal(set_stats_of(add[0].update.set)->full, 1);
	set_free(add[0].update.set);
	world_free(w);
}

/* In a burst the mask goes through a verdict map in groups. */
static void test_verdict_map(void **state)
{
	struct set_desc d = {
		.n_fields = 1, .field_len = {2}, .data_len = sizeof(struct prog_verdict_data)};
	struct prog_verdict_data v[3] = {
		{PV_DROP, 0, NULL}, {PV_JUMP, 0, (const void *)2}, {PV_CONTINUE, 0, NULL}};
	struct prog_op map[2] = {{.kind = PO_VMAP}, {.kind = PO_REJECT}};
	struct world *w = world_new();

	(void)state;
	assert_int_equal(set_new(&d, &map[0].lookup.set), 0);
	map[0].lookup.key = &dport;
	for (unsigned k = 0; k < 3; k++) {
		uint8_t key[2] = {0, (uint8_t)(k + 1)};
		struct set_item item = {.lo = key, .data = &v[k]};

		assert_int_equal(set_add(map[0].lookup.set, &item, 0, 0, NULL), 0);
	}
	hook_add(w, 0, CLASS_IPV4, PH_INPUT, 0, true);
	rule_add(w, 0, map, 2);
	rule_add(w, 1, accept, 1);
	for (unsigned i = 0; i < BURST_MAX; i++)
		udp4(w, (uint16_t)(i % 4 + 1)); /* 4: not in the map, the policy */
	run(w);
	assert_int_equal(w->out.dropped, UINT64_C(0x9999999999999999));
	assert_int_equal(w->out.accepted, UINT64_C(0x2222222222222222));
	assert_int_equal(w->out.rejected, UINT64_C(0x4444444444444444));
	assert_int_equal(w->chain_stats[0].policy_packets, 16);
	assert_int_equal(w->chain_stats[1].packets, 16);
	set_free(map[0].lookup.set);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range_dense_and_sparse),
		cmocka_unit_test(test_missing_field),
		cmocka_unit_test(test_column_fallback),
		cmocka_unit_test(test_jump_goto_return),
		cmocka_unit_test(test_return_in_base),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_output_and_bridge),
		cmocka_unit_test(test_receive_check),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_name_prefix),
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_rewrite_refused),
		cmocka_unit_test(test_segment_size),
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_conntrack),
		cmocka_unit_test(test_unconfirmed_nat),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_verdict_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
