/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_eval: rules through the public API, as an embedding program sees them.
 *
 * Linear: N rules `ip saddr X drop` beside one rule with the same addresses in a named set. Packets
 * are UDP over IPv4 in raw bursts of 64, half of them from one of the addresses; both must give the
 * same verdicts. A figure is the time from tamis_burst_add() to tamis_burst_clear() for a packet.
 * Beside them stands an empty ruleset: what parsing and the rest of the way cost.
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

static struct tamis *load(const char *text)
{
	struct tamis *t;
	char *messages = NULL;

	if (tamis_new(NULL, &t))
		return NULL;
	if (tamis_load_text(t, "bench", text, strlen(text), NULL, NULL, &messages)) {
		fprintf(stderr, "%.2000s\n", messages ? messages : "no memory");
		tamis_free(t);
		t = NULL;
	}
	free(messages);
	return t;
}

static void put_address(struct strbuf *b, uint32_t a)
{
	strbuf_printf(b, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

static const char chain_head[] = "chain c { type filter hook forward priority 0; policy accept;\n";

static struct tamis *load_linear(unsigned n)
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
	t = load(strbuf_str(&b));
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

/* ns a packet; the packets dropped are added to *dropped. */
static double run(struct tamis *t, uint8_t (*p)[PACKET_LEN], uint64_t *dropped)
{
	struct tamis_burst *b;
	uint64_t start;

	if (tamis_burst_new(t, &b))
		return 0;
	start = bench_ran();
	for (unsigned i = 0; i < PACKETS;) {
		for (unsigned k = 0; k < TAMIS_BURST_MAX; k++, i++)
			tamis_burst_add(b, &(struct tamis_packet){.data = p[i],
								  .caplen = PACKET_LEN,
								  .len = PACKET_LEN,
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
	struct tamis *engines[] = {load_linear(n), load_set(n), load("table ip t { }")};
	uint8_t(*packets)[PACKET_LEN] = malloc(sizeof(*packets) * PACKETS);
	double v[ARRAY_SIZE(engines)][RUNS];
	uint64_t dropped[ARRAY_SIZE(engines)] = {0};
	char subject[32];

	snprintf(subject, sizeof(subject), "eval, %u rules", n);
	if (packets && engines[0] && engines[1] && engines[2]) {
		packets_make(packets, n);
		for (unsigned r = 0; r < RUNS; r++)
			for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
				v[k][r] = run(engines[k], packets, &dropped[k]);
		for (unsigned k = 0; k < ARRAY_SIZE(engines); k++)
			bench_row(subject, "a packet", names[k], bench_median(v[k], RUNS), "ns");
		bench_row(subject, "rules to set", "tamis",
			  bench_median(v[0], RUNS) / bench_median(v[1], RUNS), "x");
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

/* --- changes -------------------------------------------------------------------------------- */

enum { RULES = 100000, CHAINS = 5000, SETS = 1000, CHANGES = 1001 };

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
	strbuf_puts(&b, "}; }\n");
	t = load(strbuf_str(&b));
	strbuf_free(&b);
	return t;
}

static bool command(struct tamis *t, const char *text, double *us)
{
	uint64_t start = bench_ran();
	int err = tamis_load_text(t, NULL, text, strlen(text), NULL, NULL, NULL);

	*us = (double)(bench_ran() - start) / 1e3;
	return !err;
}

static void report_change(const char *figure, double *us)
{
	char name[64];

	snprintf(name, sizeof(name), "%s, median", figure);
	bench_row("one of 100K rules", name, "tamis", bench_median(us, CHANGES), "us");
	snprintf(name, sizeof(name), "%s, 99th percentile", figure);
	bench_row("one of 100K rules", name, "tamis", bench_quantile(us, CHANGES, 0.99), "us");
	snprintf(name, sizeof(name), "%s, longest", figure);
	bench_row("one of 100K rules", name, "tamis", us[CHANGES - 1], "us");
}

/*
 * Handles count up in a table: the first rule of the chain has that behind the sets, chains and
 * their rules, and each new one the next.
 */
void bench_eval_change(void)
{
	static const char *const places[] = {"front", "middle", "end"};
	static double insert[CHANGES], delete[CHANGES];
	unsigned first = SETS + 2 * CHAINS + 2, next = first + RULES;
	struct tamis *t;
	uint64_t start = bench_ran();

	t = load_large();
	if (!t)
		return;
	bench_row("one of 100K rules", "load of all", "tamis", (double)(bench_ran() - start) / 1e6,
		  "ms");
	for (unsigned k = 0; k < ARRAY_SIZE(places); k++) {
		char text[128], figure[32];

		for (unsigned i = 0; i < CHANGES; i++) {
			unsigned at = k == 0 ? first : first + RULES / 2;

			if (k < 2)
				snprintf(text, sizeof(text),
					 "insert rule ip t c handle %u ip saddr 192.0.2.%u udp "
					 "dport 53 drop",
					 at, i & 255);
			else
				snprintf(text, sizeof(text),
					 "add rule ip t c ip saddr 192.0.2.%u udp dport 53 drop",
					 i & 255);
			if (!command(t, text, &insert[i]))
				goto end;
			snprintf(text, sizeof(text), "delete rule ip t c handle %u", next++);
			if (!command(t, text, &delete[i]))
				goto end;
		}
		snprintf(figure, sizeof(figure), "insert, %s", places[k]);
		report_change(figure, insert);
		snprintf(figure, sizeof(figure), "delete, %s", places[k]);
		report_change(figure, delete);
	}
end:
	tamis_free(t);
}
