/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple_merge: a plain TupleMerge (Daly et al., "TupleMerge: fast software packet processing for
 * online packet classification", 2019): the reference that a classifier has to beat.
 *
 * Tables by relaxed prefix lengths, in the order of their best rule; a bucket is a list in order of
 * rules. A table that gets a bucket of more than LIMIT rules gives its longest rules to a new one.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "classbench.h"

enum { LIMIT = 40, BUCKETS_MIN = 256 };

/* Both addresses of IPv6, source first. */
struct six {
	uint32_t a[2][4];
};

struct item {
	const struct cb_rule *rule;
	struct six *six; /* or NULL */
	uint32_t rank;
	struct item *next;
};

struct table {
	uint8_t slen, dlen;
	uint32_t best, n, mask; /* buckets - 1 */
	struct item **bucket;
	struct table *next;
};

struct handle {
	unsigned n;
	struct table *tables; /* by best */
	struct cb_key *keys;
	bool wide;
	struct six *wide_keys;
	size_t bytes;
};

static uint32_t cut(uint32_t address, unsigned len)
{
	return len ? address >> (32 - len) : 0;
}

/* Words of two addresses above their lengths, mixed. */
static uint32_t place_six(const struct table *t, const struct six *x)
{
	uint64_t h = 0;
	for (unsigned k = 0; k < 2; k++) {
		unsigned len = cb_six_len(k ? t->dlen : t->slen);
		for (unsigned i = 0; i < 4; i++, len -= MIN(len, 32)) {
			h = (h ^ (x->a[k][i] &
				  (uint32_t)(UINT64_C(0xffffffff00000000) >> MIN(len, 32)))) *
			    0x9e3779b97f4a7c15;
			h ^= h >> 32;
		}
	}
	return (uint32_t)h & t->mask;
}

static bool matches_six(const struct item *it, const struct cb_key *k, const struct six *x)
{
	const struct cb_rule *r = it->rule;

	for (unsigned e = 0; e < 2; e++) {
		unsigned len = cb_six_len(e ? r->dlen : r->slen);
		for (unsigned i = 0; len; i++, len -= MIN(len, 32))
			if ((uint64_t)(x->a[e][i] ^ it->six->a[e][i]) >> (32 - MIN(len, 32)))
				return false;
	}
	return r->sport[0] <= k->sport && k->sport <= r->sport[1] && r->dport[0] <= k->dport &&
	       k->dport <= r->dport[1] && !((r->proto ^ k->proto) & r->proto_mask);
}

static uint32_t place(const struct table *t, uint32_t saddr, uint32_t daddr)
{
	uint64_t x = (uint64_t)cut(saddr, t->slen) << 32 | cut(daddr, t->dlen);
	x *= 0x9e3779b97f4a7c15;
	return (uint32_t)(x >> 32) & t->mask;
}

static uint32_t place_of(const struct table *t, const struct item *it)
{
	return it->six ? place_six(t, it->six) : place(t, it->rule->saddr, it->rule->daddr);
}

/* How a new table relaxes a rule's lengths: the authors' rule of thumb. */
static uint8_t relax(unsigned len)
{
	return (uint8_t)(len >= 24 ? 24 : len & ~3u);
}

static void grow(struct handle *h, struct table *t)
{
	uint32_t was = t->bucket ? t->mask + 1 : 0, size = was ? was * 2 : BUCKETS_MIN;
	struct item **old = t->bucket;

	t->bucket = calloc(size, sizeof(*t->bucket));
	t->mask = size - 1;
	h->bytes += (size - was) * sizeof(*t->bucket);
	for (uint32_t i = 0; i < was; i++)
		for (struct item *it = old[i], *next; it; it = next) {
			next = it->next;
			struct item **at = &t->bucket[place_of(t, it)];
			while (*at && (*at)->rank < it->rank)
				at = &(*at)->next;
			it->next = *at;
			*at = it;
		}
	free(old);
}

static unsigned put(struct handle *h, struct table *t, struct item *it)
{
	unsigned length = 1;

	if (!t->bucket || t->n > t->mask)
		grow(h, t);
	struct item **at = &t->bucket[place_of(t, it)];
	for (struct item *x = *at; x; x = x->next)
		length++;
	while (*at && (*at)->rank < it->rank)
		at = &(*at)->next;
	it->next = *at;
	*at = it;
	t->n++;
	t->best = it->rank < t->best ? it->rank : t->best;
	return length;
}

static struct table *table_new(struct handle *h, uint8_t slen, uint8_t dlen)
{
	struct table *t = calloc(1, sizeof(*t));
	h->bytes += sizeof(*t);
	*t = (struct table){.slen = slen, .dlen = dlen, .best = UINT32_MAX};
	return t;
}

static void link_table(struct handle *h, struct table *t)
{
	struct table **at = &h->tables;
	while (*at && (*at)->best < t->best)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

static void insert(struct handle *h, struct item *it);

/* A bucket is too long: rules that could be in a table of longer prefixes go there. */
static void split(struct handle *h, struct table *t, const struct item *why)
{
	unsigned s = 33, d = 33;
	for (const struct item *x = t->bucket[place_of(t, why)]; x; x = x->next) {
		s = x->rule->slen < s ? x->rule->slen : s;
		d = x->rule->dlen < d ? x->rule->dlen : d;
	}
	if (s <= t->slen && d <= t->dlen)
		return;
	struct table *to = table_new(h, (uint8_t)(s > t->slen ? s : t->slen),
				     (uint8_t)(d > t->dlen ? d : t->dlen));
	for (uint32_t i = 0; i <= t->mask; i++)
		for (struct item **at = &t->bucket[i]; *at;) {
			struct item *it = *at;
			if (it->rule->slen < to->slen || it->rule->dlen < to->dlen) {
				at = &it->next;
				continue;
			}
			*at = it->next;
			t->n--;
			put(h, to, it);
		}
	link_table(h, to);
}

static void insert(struct handle *h, struct item *it)
{
	struct table *best = NULL;

	for (struct table *t = h->tables; t; t = t->next)
		if (t->slen <= it->rule->slen && t->dlen <= it->rule->dlen &&
		    (!best || t->slen + t->dlen > best->slen + best->dlen))
			best = t;
	if (!best || best->slen + best->dlen + 8 < relax(it->rule->slen) + relax(it->rule->dlen)) {
		best = table_new(h, relax(it->rule->slen), relax(it->rule->dlen));
		best->best = it->rank;
		link_table(h, best);
	}
	if (put(h, best, it) > LIMIT)
		split(h, best, it);
}

static void *build_any(const struct cb_rule *rules, unsigned n, bool wide)
{
	struct handle *h = calloc(1, sizeof(*h));
	h->n = n;
	h->wide = wide;
	for (unsigned i = 0; i < n; i++) {
		struct item *it = malloc(sizeof(*it));
		*it = (struct item){.rule = &rules[i], .rank = i};
		h->bytes += sizeof(*it) + sizeof(*it->rule);
		if (wide) {
			it->six = malloc(sizeof(*it->six));
			cb_six(rules[i].saddr, it->six->a[0]);
			cb_six(rules[i].daddr, it->six->a[1]);
			h->bytes += sizeof(*it->six);
		}
		insert(h, it);
	}
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
	for (struct table *t = h->tables, *next; t; t = next) {
		next = t->next;
		for (uint32_t i = 0; i <= t->mask; i++)
			for (struct item *it = t->bucket[i], *after; it; it = after) {
				after = it->next;
				free(it->six);
				free(it);
			}
		free(t->bucket);
		free(t);
	}
	free(h->keys);
	free(h->wide_keys);
	free(h);
}

static void prepare(void *handle, const struct cb_key *keys, unsigned n)
{
	struct handle *h = handle;
	h->keys = realloc(h->keys, n * sizeof(*keys));
	memcpy(h->keys, keys, n * sizeof(*keys));
	if (!h->wide)
		return;
	h->wide_keys = realloc(h->wide_keys, n * sizeof(*h->wide_keys));
	for (unsigned i = 0; i < n; i++) {
		cb_six(keys[i].saddr, h->wide_keys[i].a[0]);
		cb_six(keys[i].daddr, h->wide_keys[i].a[1]);
	}
}

static void lookup(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	const struct handle *h = handle;
	for (unsigned i = 0; i < n; i++) {
		const struct cb_key *k = &h->keys[from + i];
		uint32_t best = h->n;
		for (const struct table *t = h->tables; t && t->best < best; t = t->next)
			for (const struct item *it = t->bucket[place(t, k->saddr, k->daddr)];
			     it && it->rank < best; it = it->next)
				if (cb_matches(it->rule, k))
					best = it->rank;
		first[i] = best;
	}
}

static void lookup_six(void *handle, unsigned from, unsigned n, uint32_t *first)
{
	const struct handle *h = handle;
	for (unsigned i = 0; i < n; i++) {
		const struct cb_key *k = &h->keys[from + i];
		const struct six *x = &h->wide_keys[from + i];
		uint32_t best = h->n;
		for (const struct table *t = h->tables; t && t->best < best; t = t->next)
			for (const struct item *it = t->bucket[place_six(t, x)];
			     it && it->rank < best; it = it->next)
				if (matches_six(it, k, x))
					best = it->rank;
		first[i] = best;
	}
}

static size_t bytes(void *handle)
{
	return ((struct handle *)handle)->bytes;
}

const struct cb_peer cb_tuple_merge = {.name = "tuplemerge",
				       .build = build,
				       .drop = drop,
				       .prepare = prepare,
				       .lookup = lookup,
				       .bytes = bytes};

const struct cb_peer cb_tuple_merge_six = {.name = "tuplemerge",
					   .build = build_six,
					   .drop = drop,
					   .prepare = prepare,
					   .lookup = lookup_six,
					   .bytes = bytes};
