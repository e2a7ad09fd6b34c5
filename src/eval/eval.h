/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval: runs a published ruleset over a burst: the packet path.
 *
 * Each packet travels a path, the hooks of netfilter in their order; at each hook the base chains
 * run by priority. A verdict of drop (reject, queue, ...) is final, accept ends the base chain.
 *
 *  input    netdev ingress, [IP receive checks], prerouting, input
 *  forward  netdev ingress, [IP receive checks], prerouting, forward, postrouting, netdev egress
 *  output   output, postrouting, netdev egress
 *  bridge   netdev ingress, the bridge family's prerouting, forward, postrouting, netdev egress
 *
 * ARP packets go to the arp family's input (paths input, forward) or output (path output). The IP
 * receive checks are the kernel's own: a packet with a bad IP version, header, length or IPv4
 * header checksum never reaches prerouting; it is dropped and marked in `malformed`. Fragments are
 * not put together: every hook sees them as they are. Flows are looked up at priority -200 of
 * prerouting and output, and confirmed at the end of input and postrouting.
 *
 * Rules are run rule by rule over all packets of the burst, unless the ruleset needs (root->exact)
 * or the caller wants (input->exact) one packet after the other. Both are the same code.
 *
 * A struct eval belongs to one thread. eval_run() takes no lock, allocates nothing and makes no
 * system call; what `add`, `update` and `ct count` need is made ready by eval_provide().
 */
#ifndef TAMIS_EVAL_EVAL_H
#define TAMIS_EVAL_EVAL_H

#include "eval/program.h"

struct ct_table;
struct eval; /* opaque */

enum eval_path { EVAL_PATH_INPUT, EVAL_PATH_FORWARD, EVAL_PATH_OUTPUT, EVAL_PATH_BRIDGE };

/* Where an event happened. */
struct eval_place {
	unsigned packet;	      /* its number in the burst */
	const struct prog_base *base; /* the base chain that runs */
	const struct program *chain;
	const struct prog_rule *rule; /* or NULL */
};

enum eval_trace_kind {
	EVAL_TRACE_PACKET, /* enters a base chain */
	EVAL_TRACE_RULE,   /* matched a rule; verdict */
	EVAL_TRACE_RETURN, /* the end of a chain; verdict: RETURN, in a base chain CONTINUE */
	EVAL_TRACE_POLICY, /* the base chain's policy decides; verdict */
};

enum eval_verdict {
	EVAL_ACCEPT,
	EVAL_DROP,
	EVAL_CONTINUE,
	EVAL_RETURN,
	EVAL_JUMP,
	EVAL_GOTO,
	EVAL_REJECT,
	EVAL_QUEUE,
	EVAL_STOLEN
};

struct eval_trace {
	enum eval_trace_kind kind;
	struct eval_place at;
	enum eval_verdict verdict;
	const struct program *target; /* of JUMP and GOTO */
};

/*
 * All may be NULL. `writable` is asked before a rule changes packet i: it returns the caller's own
 * copy of burst->data[i], caplen bytes, or NULL (then the rule ends for this packet);
 * burst->data[i] points to it from then on. `local` tells whether the packet's destination, or
 * source, is an address of this host; NULL: nobody knows, and `fib` has no value.
 */
struct eval_ops {
	void *arg;
	void (*log)(void *arg, const struct eval_place *at, const struct prog_log *log);
	void (*trace)(void *arg, const struct eval_trace *e);
	uint8_t *(*writable)(void *arg, const struct burst *b, unsigned i);
	bool (*local)(void *arg, const struct burst *b, unsigned i, bool source);
};

/* Interface names: index i (from 1) is names[i - 1], padded with zeros. */
struct eval_devices {
	uint32_t n;
	const char (*names)[PROG_NAME_LEN];
};

struct eval_input {
	const struct program_root *root;
	struct burst *burst; /* parsed; mark, priority, pkttype are written, data with `writable` */
	burst_mask mask;     /* which packets of it */
	const uint8_t *path; /* enum eval_path of each packet */
	struct eval_devices devices;
	struct ct_table *ct; /* NULL: nothing is tracked, every packet is `ct state invalid` */
	const struct eval_ops *ops;
	burst_mask trace; /* packets that are traced from the start */
	bool exact;
	/* All rules one after the other, without classifiers; with classifiers, however few the
	 * rules are: the same answers. */
	bool walk, classify;
	/* The one thread there is, which may as well wait for memory: connections that nothing was
	 * ready for are counted as `unready`, and in all the same. */
	bool alone;
};

/* Every packet of input->mask is in exactly one of the first six. */
struct eval_result {
	burst_mask accepted, dropped, rejected, queued;
	burst_mask stolen;    /* fwd: sent out elsewhere */
	burst_mask malformed; /* refused by the IP receive checks */
	burst_mask changed;   /* bytes were written */
	burst_mask seen;      /* a base chain ran for them */
	/* What decided the packet: rule NULL for a policy, chain NULL where no chain did. */
	const struct program *chain[BURST_MAX];
	const struct prog_rule *rule[BURST_MAX];
	uint16_t queue[BURST_MAX];
};

/* `seed` is behind numgen random, meta random, symhash and jhash without a seed. */
int eval_new(uint64_t seed, struct eval **out);
void eval_free(struct eval *ev);
void eval_run(struct eval *ev, const struct eval_input *in, struct eval_result *out);

/*
 * Before a root's first eval_run(), and after each, before sets of its root may go: makes ready
 * what packets take of sets, see set_provide(), and memory for connections, a burst's worth for
 * each rule that counts them, at most EVAL_CONNS_MAX. 0 or -ENOMEM.
 */
enum { EVAL_CONNS_MAX = 1024 };
int eval_provide(struct eval *ev, const struct program_root *root);

struct eval_stats {
	uint64_t no_memory;   /* rules or packets that ended because memory was short */
	uint64_t unready;     /* connections that `ct count` found no memory ready for */
	uint64_t depth;	      /* packets dropped at the limit of PROG_DEPTH_MAX jumps */
	uint64_t not_tracked; /* packets dropped because the flow table was full */
};
const struct eval_stats *eval_stats_of(const struct eval *ev);

#endif
