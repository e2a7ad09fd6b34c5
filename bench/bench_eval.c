/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_eval: rules through the public API, as an embedding program sees them.
 *
 * Linear: N rules `ip saddr X drop` beside one rule with the same addresses in a named set. Packets
 * are UDP over IPv4 in raw bursts of 64, half of them from one of the addresses; both must give the
 * same verdicts. A figure is the time from tamis_burst_add() to tamis_burst_clear() for a packet.
 * Beside them stands an empty ruleset: what parsing and the rest of the way cost.
 *
 * Few: 2 to 64 such rules, walked and looked up, in bursts of several sizes: compile/ and eval/
 * take their thresholds from it. Names: rules on interface names and ports beside a set.
 *
 * Change: one rule more, and gone again, in a chain of 100K rules of a table with 5,000 other
 * chains and 1,000 sets, from the command's text to the published ruleset.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tamis/tamis.h>

#include "base/strbuf.h"
#include "bench.h"

enum { PACKETS = 1 << 15, PACKET_LEN = 28, RUNS = 15 };

static uint32_t address(unsigned k)
{
	uint64_t s = k;

	return (uint32_t)bench_random(&s);
}

static struct tamis *load_with(const struct tamis_config *config, const char *text)
{
	struct tamis *t;
	char *messages = NULL;

	if (tamis_new(config, &t))
		return NULL;
	if (tamis_load_text(t, "bench", text, strlen(text), NULL, NULL, &messages)) {
		fprintf(stderr, "%.2000s\n", messages ? messages : "no memory");
		tamis_free(t);
		t = NULL;
	}
	free(messages);
	return t;
}

static struct tamis *load(const char *text)
{
	return load_with(NULL, text);
}

static void put_address(struct strbuf *b, uint32_t a)
{
	strbuf_printf(b, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

static const char chain_head[] = "chain c { type filter hook forward priority 0; policy accept;\n";

static struct tamis *load_linear(const struct tamis_config *config, unsigned n)
{
	struct strbuf b = STRBUF_INIT;
	struct tamis *t;

	strbuf_printf(&b, "table ip t { %s", chain_head);
	for (unsigned k = 0; k < n; k++) {
		strbuf_puts(&b, "ip saddr ");
		put_address(&b, address(k));
		strbuf_puts(&b, " drop\n");
	}
	strbuf_puts(&b, "}; }\n");
	t = load_with(config, strbuf_str(&b));
	strbuf_free(&b);
	return t;
}

static struct tamis *load_set(unsigned n)
{
	struct strbuf b = STRBUF_INIT;
	struct tamis *t;

	strbuf_puts(&b, "table ip t { set s { type ipv4_addr; elements = { ");
	for (unsigned k = 0; k < n; k++) {
		put_address(&b, address(k));
		strbuf_puts(&b, ", ");
	}
	strbuf_printf(&b, "};\n}\n%s ip saddr @s drop\n}; }\n", chain_head);
	t = load(strbuf_str(&b));
	strbuf_free(&b);
	return t;
}

static void packets_make(uint8_t (*p)[PACKET_LEN], unsigned n)
{
	uint64_t random = 7;

	for (unsigned i = 0; i < PACKETS; i++) {
		uint64_t r = bench_random(&random);
		uint32_t sum = 0, from = r & 1 ? address((unsigned)(r >> 1 & 0xffffff) % n)
					       : (uint32_t)(r >> 32);

		memset(p[i], 0, PACKET_LEN);
		p[i][0] = 0x45;
		be16_store(p[i] + 2, PACKET_LEN);
		p[i][8] = 64;
		p[i][9] = 17;
		be32_store(p[i] + 12, from);
		be32_store(p[i] + 16, 0x0a000001);
		for (unsigned k = 0; k < 20; k += 2)
			sum += be16_load(p[i] + k);
		sum = (sum & 0xffff) + (sum >> 16);
		be16_store(p[i] + 10, (uint16_t) ~(sum + (sum >> 16)));
		be16_store(p[i] + 20, 1000);
		be16_store(p[i] + 22, 53);
		be16_store(p[i] + 24, 8);
	}
}

/* ns a packet in bursts of that many; the packets dropped are added to *dropped. `iif` may be NULL:
 * where the packets came from. */
static double run(struct tamis *t, uint8_t (*p)[PACKET_LEN], const uint32_t *iif, unsigned size,
		  uint64_t *dropped)
{
	struct tamis_burst *b;
	uint64_t start;

	if (tamis_burst_new(t, &b))
		return 0;
	start = bench_ran();
	for (unsigned i = 0; i < PACKETS;) {
		for (unsigned k = 0; k < size; k++, i++)
			tamis_burst_add(b, &(struct tamis_packet){.data = p[i],
								  .caplen = PACKET_LEN,
								  .len = PACKET_LEN,
								  .iif = iif ? iif[i] : 0,
								  .link = TAMIS_LINK_RAW});
		tamis_burst_run(b);
		*dropped += (unsigned)__builtin_popcountll(tamis_burst_mask(b, TAMIS_DROP));
		tamis_burst_clear(b);
	}
	start = bench_ran() - start;
	tamis_burst_free(b);
	return (double)start / PACKETS;
}

static void linear(unsigned n)
{
	static const char *const names[] = {"rules", "named set", "no rule"};
	struct tamis *engines[] = {load_linear(NULL, n), load_set(n), load("table ip t { }")};
	uint8_t(*packets)[PACKET_LEN] = malloc(sizeof(*packets) * PACKETS);
	double v[ARRAY_SIZE(engines)][RUNS];
	uint64_t dropped[ARRAY_SIZE(engines)] = {0};
	char subject[32];

	snprintf(subject, sizeof(subject), "eval, %u rules", n);
	if (packets && engines[0] && engines[1] && engines[2]) {
		packets_make(packets, n);
		for (unsigned r = 0; r < RUNS; r++)
			for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
				v[k][r] = run(engines[k], packets, NULL, TAMIS_BURST_MAX,
					      &dropped[k]);
		for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
			bench_row(subject, "a packet", names[k], bench_median(v[k], RUNS), "ns");
		bench_target(subject, bench_median(v[0], RUNS) / bench_median(v[1], RUNS), 2,
			     "x named set");
		if (dropped[0] != dropped[1])
			bench_row(subject, "DIFFERENT VERDICTS", "tamis",
				  (double)dropped[0] - (double)dropped[1], "");
	}
	free(packets);
	for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
		tamis_free(engines[k]);
}

void bench_eval_linear(void)
{
	static const unsigned sizes[] = {400, 1000, 10000};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		linear(sizes[i]);
}

/* --- few rules ------------------------------------------------------------------------------ */

/* Where the classifier begins to pay: the same few rules walked, and looked up, without the empty
 * ruleset's time. */
static void few(unsigned n, unsigned size)
{
	static const struct tamis_config ways[] = {{.walk = true}, {.classify = true}, {0}};
	static const char *const names[] = {"walked", "classifier", "as chosen"};
	uint8_t(*packets)[PACKET_LEN] = malloc(sizeof(*packets) * PACKETS);
	struct tamis *engines[ARRAY_SIZE(ways) + 1];
	double v[ARRAY_SIZE(engines)][RUNS], none;
	uint64_t dropped[ARRAY_SIZE(engines)] = {0};
	char subject[32];

	for (unsigned k = 0; k < ARRAY_SIZE(ways); k++)
		engines[k] = load_linear(&ways[k], n);
	engines[ARRAY_SIZE(ways)] = load("table ip t { }");
	snprintf(subject, sizeof(subject), "eval, %u rules, bursts of %u", n, size);
	if (packets && engines[0] && engines[1] && engines[2] && engines[3]) {
		packets_make(packets, n);
		for (unsigned r = 0; r < RUNS; r++)
			for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
				v[k][r] = run(engines[k], packets, NULL, size, &dropped[k]);
		none = bench_median(v[ARRAY_SIZE(ways)], RUNS);
		for (unsigned k = 0; k < ARRAY_SIZE(ways); k++)
			bench_row(subject, "a packet, beside no rule", names[k],
				  bench_median(v[k], RUNS) - none, "ns");
	}
	free(packets);
	for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
		tamis_free(engines[k]);
}

void bench_eval_few(void)
{
	static const unsigned sizes[] = {1, 8, TAMIS_BURST_MAX};

	for (unsigned s = 0; s < ARRAY_SIZE(sizes); s++)
		for (unsigned n = 2; n <= 64; n *= 2)
			few(n, sizes[s]);
}

/* --- two fields ----------------------------------------------------------------------------- */

enum { NAMES = 50, PORTS = 20 };

static struct tamis *load_names(bool set)
{
	struct strbuf b = STRBUF_INIT;
	struct tamis *t;

	strbuf_puts(&b, "table inet t { ");
	if (set)
		strbuf_puts(&b, "set s { type ifname . inet_service; elements = { ");
	else
		strbuf_puts(&b, chain_head);
	for (unsigned k = 0; k < NAMES * PORTS; k++)
		strbuf_printf(&b,
			      set ? "\"eth%u\" . %u, " : "iifname \"eth%u\" udp dport %u drop\n",
			      k / PORTS, 50 + k % PORTS);
	if (set)
		strbuf_printf(&b, "}; };\n%s iifname . udp dport @s drop\n", chain_head);
	strbuf_puts(&b, "}; }\n");
	t = load(strbuf_str(&b));
	strbuf_free(&b);
	return t;
}

/* 1,000 rules on the name of an interface and a port beside a set of both. */
void bench_eval_names(void)
{
	struct tamis *engines[] = {load_names(false), load_names(true)};
	uint8_t(*packets)[PACKET_LEN] = malloc(sizeof(*packets) * PACKETS);
	uint32_t *iif[] = {calloc(PACKETS, sizeof(**iif)), calloc(PACKETS, sizeof(**iif))};
	double v[ARRAY_SIZE(engines)][RUNS];
	uint64_t dropped[ARRAY_SIZE(engines)] = {0}, random = 5;
	bool there = packets && engines[0] && engines[1] && iif[0] && iif[1];

	if (there)
		packets_make(packets, 1000);
	for (unsigned i = 0; i < PACKETS && there; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%u",
			 (unsigned)bench_random(&random) % (2 * NAMES));
		be16_store(packets[i] + 22, (uint16_t)(50 + bench_random(&random) % PORTS));
		for (unsigned k = 0; k < ARRAY_SIZE(engines) && there; k++)
			there = !tamis_interface_find(engines[k], name, &iif[k][i]);
	}
	for (unsigned r = 0; r < RUNS && there; r++)
		for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
			v[k][r] = run(engines[k], packets, iif[k], TAMIS_BURST_MAX, &dropped[k]);
	if (there) {
		bench_row("eval, 1000 rules on names", "a packet", "rules",
			  bench_median(v[0], RUNS), "ns");
		bench_row("eval, 1000 rules on names", "a packet", "named set",
			  bench_median(v[1], RUNS), "ns");
		if (dropped[0] != dropped[1] || !dropped[0])
			bench_row("eval, 1000 rules on names", "DIFFERENT VERDICTS", "tamis",
				  (double)dropped[0] - (double)dropped[1], "");
	}
	for (unsigned k = 0; k < ARRAY_SIZE(engines); k++) {
		free(iif[k]);
		tamis_free(engines[k]);
	}
	free(packets);
}

/* --- changes -------------------------------------------------------------------------------- */

enum { RULES = 100000, CHAINS = 5000, SETS = 1000, CHANGES = 1000 };

static struct tamis *load_large(void)
{
	struct strbuf b = STRBUF_INIT;
	struct tamis *t;

	strbuf_puts(&b, "table ip t {\n");
	for (unsigned k = 0; k < SETS; k++)
		strbuf_printf(&b, "set s%u { type ipv4_addr; timeout 1h; }\n", k);
	for (unsigned k = 0; k < CHAINS; k++)
		strbuf_printf(&b, "chain c%u { udp dport %u accept; }\n", k, k);
	strbuf_puts(&b, chain_head);
	for (unsigned k = 0; k < RULES; k++) {
		strbuf_puts(&b, "ip saddr ");
		put_address(&b, address(k));
		strbuf_printf(&b, " udp dport %u counter\n", k & 0xffff);
	}
	strbuf_puts(&b, "};\nchain j { type filter hook forward priority 1;\n");
	for (unsigned k = 0; k < CHAINS; k++)
		strbuf_printf(&b, "jump c%u\n", k);
	strbuf_puts(&b, "}; }\n");
	t = load(strbuf_str(&b));
	strbuf_free(&b);
	return t;
}

/*
 * Where a rule comes and goes. Handles count up in a table: the first rule of the large chain has
 * that behind the sets, the chains and the others' rules, and each new one the next of all.
 */
enum { FIRST = SETS + CHAINS + 3 + CHAINS, NEXT = FIRST + RULES + CHAINS };

static const struct place {
	const char *name, *command, *chain; /* the command with the number of the change */
} places[] = {
	{"front", "insert rule ip t c ip saddr 192.0.2.%u udp dport 53 drop", "c"},
	{"middle", "insert rule ip t c index 50000 ip saddr 192.0.2.%u udp dport 53 drop", "c"},
	{"end", "add rule ip t c ip saddr 192.0.2.%u udp dport 53 drop", "c"},
	{"jump beside 5,000", "add rule ip t j ip saddr 192.0.2.%u jump c77", "j"},
};

struct changing {
	struct tamis *t;
	const struct place *at;
	unsigned next; /* the handle that the next rule gets */
};

/* Even ones insert a rule, odd ones delete it. */
static int change(void *ctx, size_t i)
{
	struct changing *c = ctx;
	char text[128];

	if (i & 1)
		snprintf(text, sizeof(text), "delete rule ip t %s handle %u", c->at->chain,
			 c->next++);
	else
		snprintf(text, sizeof(text), c->at->command, (unsigned)i / 2 & 255);
	return tamis_load_text(c->t, NULL, text, strlen(text), NULL, NULL, NULL);
}

void bench_eval_change(void)
{
	struct changing c = {.next = NEXT};
	uint64_t start = bench_ran();
	int err = 0;

	c.t = load_large();
	if (!c.t)
		return;
	bench_row("one of 100K rules", "load of all", "tamis", (double)(bench_ran() - start) / 1e6,
		  "ms");
	for (unsigned k = 0; k < ARRAY_SIZE(places) && !err; k++) {
		char subject[48];

		snprintf(subject, sizeof(subject), "one of 100K, %s", places[k].name);
		c.at = &places[k];
		err = bench_updates(subject, "tamis", CHANGES, change, &c);
		if (err)
			bench_skip(subject, strerror(-err));
		else
			bench_target(subject, bench_value(subject, "update, median", "tamis"), 50,
				     "us");
	}
	tamis_free(c.t);
}
