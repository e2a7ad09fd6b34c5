/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path: takes packets through the hooks of their path; see eval.h for which these are.
 *
 * At a hook only the chains that the packet's protocol concerns run (enum prog_class), in the order
 * that compile/ gave them, until a verdict is final. Whether one packet or a burst travels makes no
 * difference here.
 */
#include "eval/run.h"

#include <stdlib.h>

#include "packet/numbers.h"

enum { ORDER_CONNTRACK = -200 };
enum { FAMILY_INET = 1 };

int eval_new(uint64_t seed, struct eval **out)
{
	struct eval *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return -ENOMEM;
	ev->random = seed;
	for (unsigned k = 0; k < 2; k++)
		ev->secret.k[k] = (uint64_t)run_random(ev) << 32 | run_random(ev);
	*out = ev;
	return 0;
}

void eval_free(struct eval *ev)
{
	if (ev)
		state_conns_provide(&ev->conns, 0);
	free(ev);
}

const struct eval_stats *eval_stats_of(const struct eval *ev)
{
	return &ev->stats;
}

/* Whether packet i came or goes through one of the base chain's devices; yes if nobody knows. */
static bool device_listed(const struct eval *ev, const struct prog_base *base, unsigned i)
{
	uint32_t index = ev->hook == PH_EGRESS ? ev->b->oif[i] : ev->b->iif[i];
	const char *name;

	if (!index || index > ev->in->devices.n)
		return true;
	name = ev->in->devices.names[index - 1];
	for (uint32_t k = 0; k < base->n_devices; k++) {
		const char *want = base->devices[k];
		size_t len = strlen(want);

		if (len && want[len - 1] == '*' ? !strncmp(name, want, len - 1)
						: !strncmp(name, want, PROG_NAME_LEN))
			return true;
	}
	return false;
}

/* The packets of mask that this base chain sees. */
static burst_mask base_mask(struct eval *ev, const struct prog_base *base, burst_mask mask)
{
	unsigned i;

	if (base->nat)
		mask = flow_nat_mask(ev, mask, base->nat_source);
	if (base->n_devices)
		burst_foreach (mask, i)
			if (!device_listed(ev, base, i))
				mask &= ~bit_of(i);
	return mask;
}

/* The kernel refuses in front of an inet family's ingress what is no IP packet but says so. */
static burst_mask inet_ingress(struct eval *ev, burst_mask mask, burst_mask *bad)
{
	burst_mask ip = 0;
	unsigned i;

	burst_foreach (mask, i)
		if (ev->b->protocol[i] == ETH_IPV4 || ev->b->protocol[i] == ETH_IPV6)
			ip |= bit_of(i);
	*bad = ip & ~(ev->b->has[HAS_IPV4] | ev->b->has[HAS_IPV6]);
	return ip & ~*bad;
}

static void refuse(struct eval *ev, burst_mask mask)
{
	unsigned i;

	ev->out->dropped |= mask;
	ev->out->malformed |= mask;
	burst_foreach (mask, i) {
		ev->out->chain[i] = NULL;
		ev->out->rule[i] = NULL;
	}
}

static burst_mask gone(const struct eval_result *out)
{
	return out->dropped | out->rejected | out->queued | out->stolen;
}

/* skb->len of each packet at a hook. */
static const uint32_t *hook_lengths(struct eval *ev, enum prog_class class, enum prog_hook hook,
				    burst_mask mask)
{
	enum { ETHER_LEN = 14 };
	const struct burst *b = ev->b;
	unsigned i;

	if (class != CLASS_NETDEV && class != CLASS_BRIDGE)
		return b->l3len;
	if (hook != PH_EGRESS)
		return ev->link_len;
	burst_foreach (mask, i) {
		uint32_t ether = b->has[HAS_ETHER] & bit_of(i) ? ETHER_LEN : 0;

		ev->frame_len[i] = ether + (b->l3len[i] ? b->l3len[i] : ev->link_len[i]);
	}
	return ev->frame_len;
}

/* Returns those of mask that go on to the next hook. */
static burst_mask hook_run(struct eval *ev, enum prog_class class, enum prog_hook hook,
			   burst_mask mask)
{
	const struct prog_hook_list *list = &ev->in->root->hooks[class][hook];
	bool conntrack = ev->in->ct && ev->in->root->conntrack[class];
	bool lookup = conntrack && (hook == PH_PREROUTING || hook == PH_OUTPUT);

	ev->class = class;
	ev->hook = hook;
	ev->len = hook_lengths(ev, class, hook, mask);
	for (uint32_t k = 0; k < list->n && mask; k++) {
		const struct prog_base *base = list->bases[k];
		burst_mask seen, bad = 0;

		if (lookup && base->order >= ORDER_CONNTRACK) {
			flow_lookup(ev, mask);
			mask &= ~gone(ev->out);
			lookup = false;
		}
		seen = mask;
		if (class == CLASS_NETDEV && base->family == FAMILY_INET)
			seen = inet_ingress(ev, seen, &bad);
		seen = base_mask(ev, base, seen);
		if (bad) {
			refuse(ev, bad);
			mask &= ~bad;
		}
		if (seen) {
			ev->out->seen |= seen;
			base_run(ev, base, seen);
			mask &= ~gone(ev->out);
		}
	}
	if (lookup && mask) {
		flow_lookup(ev, mask);
		mask &= ~gone(ev->out);
	}
	if (conntrack && mask && (hook == PH_INPUT || hook == PH_POSTROUTING))
		flow_confirm(ev, mask);
	return mask;
}

/* The packets of mask by what the IP layer takes them for. */
static burst_mask of_protocol(const struct burst *b, burst_mask mask, uint16_t protocol)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask & b->has[HAS_NH], i)
		if (b->protocol[i] == protocol)
			m |= bit_of(i);
	return m;
}

static burst_mask with_fault(const struct burst *b, burst_mask mask, enum malformed_reason r)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask, i)
		if (b->malformed[i] >> r & 1)
			m |= bit_of(i);
	return m;
}

/* What the receiving end of a layer lets through; `received` is false for the host's own packets.
 */
static burst_mask stack_check(struct eval *ev, enum prog_class class, burst_mask mask,
			      bool received)
{
	const struct burst *b = ev->b;
	burst_mask bad;

	switch (class) {
	case CLASS_IPV4:
		bad = mask & ~b->has[HAS_IPV4];
		if (received)
			bad |= with_fault(b, mask, MALFORMED_IP_CHECKSUM);
		break;
	case CLASS_IPV6:
		bad = mask & ~b->has[HAS_IPV6];
		break;
	case CLASS_ARP:
		bad = (mask & ~b->has[HAS_ARP]) | with_fault(b, mask, MALFORMED_ARP);
		break;
	default:
		return mask;
	}
	if (bad)
		refuse(ev, bad);
	return mask & ~bad;
}

static const struct {
	enum prog_class class;
	uint16_t protocol;
} layers[] = {{CLASS_IPV4, ETH_IPV4}, {CLASS_IPV6, ETH_IPV6}, {CLASS_ARP, ETH_ARP}};

/* Through the hooks of one layer, and out again by egress where the path leads out. */
static void layer_run(struct eval *ev, enum prog_class class, enum eval_path path, burst_mask mask)
{
	static const enum prog_hook hooks[][3] = {
		[EVAL_PATH_INPUT] = {PH_PREROUTING, PH_INPUT, PROG_HOOKS},
		[EVAL_PATH_FORWARD] = {PH_PREROUTING, PH_FORWARD, PH_POSTROUTING},
		[EVAL_PATH_OUTPUT] = {PH_OUTPUT, PH_POSTROUTING, PROG_HOOKS},
		[EVAL_PATH_BRIDGE] = {PH_PREROUTING, PH_FORWARD, PH_POSTROUTING},
	};
	bool out = path != EVAL_PATH_INPUT;

	mask = stack_check(ev, class, mask, path != EVAL_PATH_OUTPUT);
	if (class == CLASS_ARP) {
		/* ARP knows no way through the host: what comes in is for it. */
		out = path == EVAL_PATH_OUTPUT;
		mask = hook_run(ev, class, out ? PH_OUTPUT : PH_INPUT, mask);
	} else {
		for (unsigned k = 0; k < 3 && hooks[path][k] != PROG_HOOKS && mask; k++)
			mask = hook_run(ev, class, hooks[path][k], mask);
	}
	if (out && mask)
		hook_run(ev, CLASS_NETDEV, PH_EGRESS, mask);
}

static void hooks_run(struct eval *ev, enum eval_path path, burst_mask mask)
{
	burst_mask rest;

	if (path != EVAL_PATH_OUTPUT)
		mask = hook_run(ev, CLASS_NETDEV, PH_INGRESS, mask);
	if (path == EVAL_PATH_BRIDGE) {
		layer_run(ev, CLASS_BRIDGE, path, mask);
		return;
	}
	rest = mask;
	for (unsigned k = 0; k < ARRAY_SIZE(layers); k++) {
		burst_mask m = of_protocol(ev->b, mask, layers[k].protocol);

		rest &= ~m;
		if (m)
			layer_run(ev, layers[k].class, path, m);
	}
	if (rest && path == EVAL_PATH_OUTPUT)
		hook_run(ev, CLASS_NETDEV, PH_EGRESS, rest);
}

static void path_run(struct eval *ev, enum eval_path path, burst_mask mask)
{
	hooks_run(ev, path, mask);
	flow_end(ev, mask);
}

static void begin(struct eval *ev, const struct eval_input *in, struct eval_result *out)
{
	const struct burst *b = in->burst;
	unsigned i;

	ev->in = in;
	ev->b = in->burst;
	ev->out = out;
	ev->traced = in->trace;
	ev->nat_done[0] = ev->nat_done[1] = 0;
	ev->written = 0;
	out->accepted = out->dropped = out->rejected = out->queued = 0;
	out->stolen = out->malformed = out->changed = out->seen = 0;
	burst_foreach (in->mask, i) {
		uint32_t wire = MAX(b->len[i], b->caplen[i]);
		uint32_t off = b->has[HAS_NH] & bit_of(i) ? b->nh_off[i] : b->ll_off[i];

		ev->link_len[i] = wire > off ? wire - off : 0;
		out->chain[i] = NULL;
		out->rule[i] = NULL;
		out->queue[i] = 0;
	}
	flow_begin(ev);
}

void eval_run(struct eval *ev, const struct eval_input *in, struct eval_result *out)
{
	burst_mask by_path[EVAL_PATH_BRIDGE + 1] = {0};
	unsigned i;

	begin(ev, in, out);
	burst_foreach (in->mask, i) {
		by_path[in->path[i]] |= bit_of(i);
		if (in->exact || in->root->exact)
			path_run(ev, in->path[i], bit_of(i));
	}
	if (!in->exact && !in->root->exact)
		for (unsigned p = 0; p < ARRAY_SIZE(by_path); p++)
			if (by_path[p])
				path_run(ev, p, by_path[p]);
	out->accepted = in->mask & ~gone(out);
	state_batch_flush(&ev->batch);
}
