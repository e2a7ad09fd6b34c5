/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: what the files of eval share: the state of one eval_run(), and how ops reach it.
 *
 * value.c reads expressions, key.c fields for classifiers, match.c compares, stmt.c and
 * rewrite.c carry statements out, chain.c walks rules and chains, flow.c speaks to the flow table,
 * path.c walks the hooks. Nobody else includes this.
 */
#ifndef TAMIS_EVAL_RUN_H
#define TAMIS_EVAL_RUN_H

#include <stdatomic.h>

#include "base/hash.h"
#include "ct/ct.h"
#include "eval/eval.h"

/* How deep expressions may nest: each level has a column of its own. */
enum { RUN_COLUMNS = PROG_EXPR_DEPTH_MAX };

/* Sets that are noted for eval_provide(); what is not noted is by the next burst. */
enum { RUN_WANTING = 16 };

/* The values of an expression: `num` where it has at most 8 bytes, else `bytes` at i * len. */
struct column {
	uint64_t num[BURST_MAX];
	uint8_t bytes[BURST_MAX * PROG_VALUE_MAX];
};

struct eval {
	uint64_t random; /* state of the generator */
	struct hash_secret secret;
	struct eval_stats stats;
	struct set *wanting[RUN_WANTING];
	unsigned n_wanting;
	struct state_conns conns;

	/* Of the run. */
	const struct eval_input *in;
	struct burst *b;
	struct eval_result *out;
	struct state_batch batch; /* of counters that other workers count with, too */
	burst_mask traced;
	uint32_t link_len[BURST_MAX];  /* what the kernel's skb->len is below the IP layer */
	uint32_t frame_len[BURST_MAX]; /* and at egress, where the Ethernet header counts */

	/* Of the hook. */
	enum prog_class class;
	enum prog_hook hook;
	const uint32_t *len; /* skb->len here */

	/* Of the base chain. */
	const struct prog_base *base;
	burst_mask accepted; /* left it with accept */

	/* Flows: see flow.c. */
	struct ct_burst ct;
	burst_mask tracked, notrack, confirmed;
	burst_mask nat_done[2]; /* of destination, of source */

	burst_mask written; /* a rule changed something that rules read */

	struct burst one; /* for parsing a packet again that was written to */
	struct column columns[RUN_COLUMNS];
};

/* Where an op runs, for events. */
struct place {
	const struct program *chain;
	const struct prog_rule *rule;
};

#define bit_of(i) ((burst_mask)1 << (i))

/* How many packets. Portable x86-64 has no instruction for it, and the library's is a call. */
static inline unsigned mask_count(burst_mask m)
{
	if (!(m & (m - 1)))
		return m != 0;
	m -= m >> 1 & UINT64_C(0x5555555555555555);
	m = (m & UINT64_C(0x3333333333333333)) + (m >> 2 & UINT64_C(0x3333333333333333));
	m = (m + (m >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(m * UINT64_C(0x0101010101010101) >> 56);
}

/* From here on one packet after the other is dearer than all 64 at once. */
static inline bool mask_is_dense(burst_mask m)
{
	return m & (m - 1) && mask_count(m) > 12;
}

/* value.c */

/*
 * The values of e for the packets of mask, in *out, a column of depth `depth` or deeper. Returns
 * the packets that have one; the others' slots are undefined.
 */
burst_mask value_read(struct eval *ev, const struct prog_expr *e, burst_mask mask, unsigned depth,
		      const struct column **out);
/* As keys for a set: packed, at i * stride. `keys` has room for BURST_MAX * PROG_VALUE_MAX. */
burst_mask value_keys(struct eval *ev, const struct prog_expr *e, burst_mask mask, uint8_t *keys);

/* A column of the burst as the kind of array it is. */
enum column_width { WIDTH_8 = 1, WIDTH_16 = 2, WIDTH_32 = 4, WIDTH_ADDR4 = 5, WIDTH_ADDR6 = 16 };
struct column_desc {
	size_t offset; /* in struct burst */
	uint8_t width; /* enum column_width */
	int8_t has;    /* enum burst_has; -1: every packet */
};
extern const struct column_desc column_descs[PROG_COLUMNS];

/* A number of packet i, which has the column. */
static inline uint64_t column_at(const struct burst *b, const struct column_desc *d, unsigned i)
{
	const uint8_t *p = (const uint8_t *)b + d->offset;

	switch (d->width) {
	case WIDTH_8:
		return p[i];
	case WIDTH_16:
		return ((const uint16_t *)p)[i];
	case WIDTH_32:
		return ((const uint32_t *)p)[i];
	default:
		return be32_load(p + i * 16);
	}
}

/* The packets of mask that have the column. */
burst_mask column_has(const struct burst *b, enum prog_column c, burst_mask mask);

uint32_t run_random(struct eval *ev);
/* 32 evenly spread bits onto 0..mod-1, as the kernel's reciprocal_scale(). */
static inline uint32_t run_scale(uint32_t v, uint32_t mod)
{
	return (uint32_t)((uint64_t)v * mod >> 32);
}

/* jhash.c */
uint32_t jhash_bytes(const uint8_t *p, uint32_t len, uint32_t seed);

/* key.c: the fields (bits of enum cls_field) of the packets of mask, as rules of p read them. */
void keys_read(struct eval *ev, const struct program *p, uint32_t fields, burst_mask mask,
	       struct cls_key *keys);

/* match.c: the packets of mask that match. */
burst_mask match_range(struct eval *ev, const struct prog_op *op, burst_mask mask);
burst_mask match_bytes(struct eval *ev, const struct prog_op *op, burst_mask mask);
burst_mask match_compare(struct eval *ev, const struct prog_op *op, burst_mask mask);
burst_mask match_lookup(struct eval *ev, const struct prog_op *op, burst_mask mask);
/* Looks keys up, packet i's at i * stride; the states of the elements see the packets, and those
 * that they end are left out. hit[i] is set for the packets returned. */
burst_mask match_elements(struct eval *ev, struct set *s, const uint8_t *keys, unsigned stride,
			  burst_mask mask, struct set_elem **hit);

/* stmt.c: the packets of mask for which the rule goes on. */
burst_mask stmt_run(struct eval *ev, const struct prog_op *op, const struct place *at,
		    burst_mask mask);
/* Shows one packet to the states of a set element; false: the rule ends. */
bool stmt_elem_states(struct eval *ev, const struct set *s, struct state_list *l, unsigned i);

/* rewrite.c */
burst_mask rewrite_set(struct eval *ev, const struct prog_op *op, burst_mask mask);
burst_mask rewrite_option_set(struct eval *ev, const struct prog_op *op, burst_mask mask);
burst_mask rewrite_option_reset(struct eval *ev, const struct prog_op *op, burst_mask mask);

/* chain.c: runs ev->base over mask; the verdicts are in ev->out. Returns who is left. */
burst_mask base_run(struct eval *ev, const struct prog_base *base, burst_mask mask);

/* flow.c */
void flow_begin(struct eval *ev);
void flow_lookup(struct eval *ev, burst_mask mask);
/* They came to where flows are confirmed. */
void flow_confirm(struct eval *ev, burst_mask mask);
/* The path of these is over. */
void flow_end(struct eval *ev, burst_mask mask);
void flow_notrack(struct eval *ev, burst_mask mask);
/* One value of packet i's flow; false if it has none. `out`: e->len bytes in network order. */
bool flow_value(struct eval *ev, const struct prog_expr *e, unsigned i, uint8_t *out);
void flow_set(struct eval *ev, enum prog_ct_set key, unsigned i, uint64_t value);
/* The packets of mask that a nat chain of this side sees. */
burst_mask flow_nat_mask(struct eval *ev, burst_mask mask, bool source);
/* They came to a nat statement: it is the last one of its side, and their flows get its status. */
void flow_nat(struct eval *ev, const struct prog_nat *nat, burst_mask mask);
/* True: the rule goes on. */
bool flow_connlimit(struct eval *ev, struct state *st, unsigned i);

#endif
