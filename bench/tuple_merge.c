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

struct item {
	const struct cb_rule *rule;
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
	size_t bytes;
};

static uint32_t cut(uint32_t address, unsigned len)
{
	return len ? address >> (32 - len) : 0;
}

static uint32_t place(const struct table *t, uint32_t saddr, uint32_t daddr)
{
	uint64_t x = (uint64_t)cut(saddr, t->slen) << 32 | cut(daddr, t->dlen);
	x *= 0x9e3779b97f4a7c15;
	return (uint32_t)(x >> 32) & t->mask;
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
			struct item **at = &t->bucket[place(t, it->rule->saddr, it->rule->daddr)];
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
	struct item **at = &t->bucket[place(t, it->rule->saddr, it->rule->daddr)];
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
	for (const struct item *x = t->bucket[place(t, why->rule->saddr, why->rule->daddr)]; x;
	     x = x->next) {
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

static void *build(const struct cb_rule *rules, unsigned n)
{
	struct handle *h = calloc(1, sizeof(*h));
	h->n = n;
	for (unsigned i = 0; i < n; i++) {
		struct item *it = malloc(sizeof(*it));
		*it = (struct item){.rule = &rules[i], .rank = i};
		h->bytes += sizeof(*it) + sizeof(*it->rule);
		insert(h, it);
	}
	return h;
}

static void drop(void *handle)
{
	struct handle *h = handle;
	for (struct table *t = h->tables, *next; t; t = next) {
		next = t->next;
		for (uint32_t i = 0; i <= t->mask; i++)
			for (struct item *it = t->bucket[i], *after; it; it = after) {
				after = it->next;
				free(it);
			}
		free(t->bucket);
		free(t);
	}
	free(h->keys);
	free(h);
}

static void prepare(void *handle, const struct cb_key *keys, unsigned n)
{
	struct handle *h = handle;
	h->keys = realloc(h->keys, n * sizeof(*keys));
	memcpy(h->keys, keys, n * sizeof(*keys));
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
