/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classbench: filter sets and traces in ClassBench's form (Taylor and Turner, "ClassBench: a packet
 * classification benchmark", 2007), and what first match says of them.
 *
 * A set NAME is $TAMIS_DATA/classbench/rules/NAME.gz with traces/NAME.gz; without the variable
 * ../shared/data beside the sources is looked at.
 */
#ifndef TAMIS_CLASSBENCH_H
#define TAMIS_CLASSBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cb_rule {
	uint32_t saddr, daddr;
	uint8_t slen, dlen;
	uint16_t sport[2], dport[2]; /* lo, hi */
	uint8_t proto, proto_mask;
};

struct cb_key {
	uint32_t saddr, daddr;
	uint16_t sport, dport;
	uint8_t proto;
};

struct cb_set {
	const char *name;
	unsigned n, n_keys;
	struct cb_rule *rules;
	struct cb_key *keys;
};

/* Reads both files. False: not there. */
bool cb_load(const char *name, struct cb_set *out);
void cb_free(struct cb_set *s);
bool cb_matches(const struct cb_rule *r, const struct cb_key *k);
/* The first match among all rules by linear search, or n. */
uint32_t cb_first(const struct cb_set *s, const struct cb_key *k);

/* A classifier as the benchmark sees it. */
struct cb_peer {
	const char *name;
	void *(*build)(const struct cb_rule *rules, unsigned n); /* NULL: not to be had here */
	void (*drop)(void *h);
	/* Makes its own form of keys, outside of what is measured. */
	void (*prepare)(void *h, const struct cb_key *keys, unsigned n);
	/* Fills first[] for n of these, from one of them on. */
	void (*lookup)(void *h, unsigned from, unsigned n, uint32_t *first);
	size_t (*bytes)(void *h);
};

extern const struct cb_peer cb_rte_acl, cb_tuple_merge;

/*
 * The same sets for IPv6: an address a is 2001:db8:: with a in the 32 bits behind and an interface
 * identifier that a determines. A prefix of 1 to 31 bits is 32 bits longer, one of 32 bits is the
 * whole address, one of none is none: the answers are those for IPv4.
 */
void cb_six(uint32_t address, uint32_t out[4]);
static inline unsigned cb_six_len(unsigned len)
{
	return len == 32 ? 128 : len ? 32 + len : 0;
}
extern const struct cb_peer cb_rte_acl_six, cb_tuple_merge_six;
/* So many times the rules, one copy behind the other; addresses differ from copy to copy, the same
 * way in each run, in the bits that a rule looks at. As many keys as before, of all copies. */
bool cb_load_copies(const char *name, unsigned copies, struct cb_set *out);
/* Makes rte_acl look up with AVX-512, or with AVX2 again. False: it stays with AVX2. */
bool cb_rte_acl_wide(void *h, bool wide);

#endif
