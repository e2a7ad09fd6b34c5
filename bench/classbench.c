/* SPDX-License-Identifier: Apache-2.0 */
/* classbench: see classbench.h. */
#include "classbench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/vec.h"
#include "bench.h"

static gzFile open_file(const char *kind, const char *name)
{
	const char *data = getenv("TAMIS_DATA");
	char path[512];

	if (data)
		snprintf(path, sizeof(path), "%s/classbench/%s/%s.gz", data, kind, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/classbench/%s/%s.gz",
			 TAMIS_SOURCE_ROOT, kind, name);
	return gzopen(path, "r");
}

static bool parse_rule(const char *line, struct cb_rule *r)
{
	unsigned s[5], d[5], sp[2], dp[2], proto, mask;

	if (sscanf(line, "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %x/%x", &s[0], &s[1],
		   &s[2], &s[3], &s[4], &d[0], &d[1], &d[2], &d[3], &d[4], &sp[0], &sp[1], &dp[0],
		   &dp[1], &proto, &mask) != 16)
		return false;
	*r = (struct cb_rule){
		.saddr = s[0] << 24 | s[1] << 16 | s[2] << 8 | s[3],
		.daddr = d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3],
		.slen = (uint8_t)s[4],
		.dlen = (uint8_t)d[4],
		.sport = {(uint16_t)sp[0], (uint16_t)sp[1]},
		.dport = {(uint16_t)dp[0], (uint16_t)dp[1]},
		.proto = (uint8_t)(proto & mask),
		.proto_mask = (uint8_t)mask,
	};
	return true;
}

static uint32_t differ(uint32_t a, uint32_t b, unsigned len)
{
	return len ? (a ^ b) >> (32 - len) : 0;
}

bool cb_matches(const struct cb_rule *r, const struct cb_key *k)
{
	return !differ(r->saddr, k->saddr, r->slen) && !differ(r->daddr, k->daddr, r->dlen) &&
	       r->sport[0] <= k->sport && k->sport <= r->sport[1] && r->dport[0] <= k->dport &&
	       k->dport <= r->dport[1] && !((r->proto ^ k->proto) & r->proto_mask);
}

uint32_t cb_first(const struct cb_set *s, const struct cb_key *k)
{
	uint32_t i = 0;
	while (i < s->n && !cb_matches(&s->rules[i], k))
		i++;
	return i;
}

bool cb_load(const char *name, struct cb_set *out)
{
	VEC(struct cb_rule) rules = {0};
	VEC(struct cb_key) keys = {0};
	gzFile file = open_file("rules", name), trace = open_file("traces", name);
	char line[512];

	*out = (struct cb_set){.name = name};
	while (file && gzgets(file, line, sizeof(line))) {
		struct cb_rule r;
		if (parse_rule(line, &r) && vec_push(&rules, r))
			abort();
	}
	while (trace && gzgets(trace, line, sizeof(line))) {
		struct cb_key k;
		unsigned sport, dport, proto;
		if (sscanf(line, "%u %u %u %u %u", &k.saddr, &k.daddr, &sport, &dport, &proto) != 5)
			continue;
		k.sport = (uint16_t)sport;
		k.dport = (uint16_t)dport;
		k.proto = (uint8_t)proto;
		if (vec_push(&keys, k))
			abort();
	}
	if (file)
		gzclose(file);
	if (trace)
		gzclose(trace);
	out->n = (unsigned)rules.n;
	out->n_keys = (unsigned)keys.n;
	out->rules = rules.items;
	out->keys = keys.items;
	return rules.n && keys.n;
}

void cb_six(uint32_t address, uint32_t out[4])
{
	uint64_t seed = address, id = bench_random(&seed);

	out[0] = 0x20010db8;
	out[1] = address ^ 0x5bd1e995;
	out[2] = (uint32_t)(id >> 32);
	out[3] = (uint32_t)id;
}

static uint32_t prefix_mask(unsigned len)
{
	return len ? UINT32_MAX << (32 - len) : 0;
}

bool cb_load_copies(const char *name, unsigned copies, struct cb_set *out)
{
	uint64_t seed = 5;

	if (!cb_load(name, out))
		return false;
	unsigned n = out->n;
	uint32_t *change = calloc(2 * copies, sizeof(*change));
	out->rules = realloc(out->rules, (size_t)n * copies * sizeof(*out->rules));
	if (!out->rules || !change)
		abort();
	for (unsigned c = 0; c < 2 * copies; c++)
		change[c] = (uint32_t)bench_random(&seed);
	for (unsigned i = n * copies; i-- > 0;) {
		const uint32_t *x = &change[i / n * 2];
		struct cb_rule r = out->rules[i % n];
		r.saddr ^= x[0] & prefix_mask(r.slen);
		r.daddr ^= x[1] & prefix_mask(r.dlen);
		out->rules[i] = r;
	}
	for (unsigned i = 0; i < out->n_keys; i++) {
		const uint32_t *x = &change[bench_random(&seed) % copies * 2];
		out->keys[i].saddr ^= x[0];
		out->keys[i].daddr ^= x[1];
	}
	out->n = n * copies;
	free(change);
	return true;
}

void cb_free(struct cb_set *s)
{
	free(s->rules);
	free(s->keys);
	*s = (struct cb_set){0};
}
