/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_publish: sets as nft has them.
 *
 * Of elements that overlap, the one that stays longest decides. In sets with auto-merge all are
 * there, and of equal ones the last counts, so that they come in order of their lifetimes; in
 * others the first one holds its place, so that they come in the opposite order.
 */
#include <stdlib.h>

#include "compat/address.h"
#include "compat/ipset_int.h"
#include "engine/change.h"

static const uint64_t second = 1000000000;

/* An element on its way: of a list it is one of a member. */
struct item {
	const struct ipset_set *set;
	const struct ipset_elem *elem;
	uint32_t timeout; /* s, 0: stays */
};

struct publish {
	struct ipset *s;
	struct change *change;
	struct strbuf type; /* "ipv4_addr . mark" */
	bool interval, timed;
	VEC(struct item) items;
	VEC(struct item) exceptions;
	VEC(struct change_box) holes;
};

static bool set_timed(const struct ipset_set *set)
{
	return set->given & OPT(TIMEOUT);
}

static void type_print(const struct ipset_set *set, struct strbuf *out)
{
	const char *separator = "";

	for (unsigned d = 0; d < IPSET_DIMS && set->type->dims[d]; d++) {
		const char *name = NULL;

		switch (set->type->dims[d]) {
		case DIM_IP:
		case DIM_NET:
			name = set->ip_len == 4 ? "ipv4_addr" : "ipv6_addr";
			break;
		case DIM_MAC:
			name = "ether_addr";
			break;
		case DIM_MARK:
			name = "mark";
			break;
		case DIM_PORT:
			name = "inet_proto . inet_service";
			break;
		case DIM_PLAIN_PORT:
			name = "inet_service";
			break;
		case DIM_IFACE:
			name = "ifname";
			break;
		case DIM_NONE:
			break;
		}
		strbuf_printf(out, "%s%s", separator, name);
		separator = " . ";
	}
}

static bool set_interval(const struct ipset_set *set)
{
	bool interval = set->mask_bits || set->mark_mask != UINT32_MAX;

	for (unsigned d = 0; d < IPSET_DIMS; d++)
		interval |= set->type->dims[d] == DIM_NET;
	if (set->type->kind == IPSET_BITMAP && set->type->dims[1] == DIM_MAC)
		interval = true;
	return interval;
}

/* Both corners of an element as keys of the nft set. */
static void elem_box(const struct ipset_set *set, const struct ipset_elem *e, uint8_t *lo,
		     uint8_t *hi)
{
	const uint8_t *key = e->key;
	unsigned at = 0, len;

	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		enum ipset_dim dim = set->type->dims[d];

		len = ipset_dim_len(set, dim);
		memcpy(lo + at, key, len);
		memcpy(hi + at, key, len);
		key += len;
		switch (dim) {
		case DIM_IP:
			for (unsigned i = 0; set->mask_bits && i < len; i++)
				hi[at + i] |= (uint8_t)~set->mask[i];
			break;
		case DIM_NET:
			len--;
			address_prefix_bounds(lo + at, hi + at, len, key[-1]);
			break;
		case DIM_MAC:
			if (set->type->kind != IPSET_BITMAP)
				break;
			len = 6;
			memcpy(lo + at, e->mac, len);
			memcpy(hi + at, e->mac, len);
			if (!e->has_mac)
				memset(hi + at, 0xff, len);
			break;
		case DIM_MARK:
			be32_store(hi + at, be32_load(hi + at) | ~set->mark_mask);
			break;
		case DIM_IFACE:
			len--;
			if (key[-1] & IFACE_WILDCARD)
				memset(hi + at + strlen((char *)lo + at), 0xff,
				       len - strlen((char *)lo + at));
			break;
		default:
			break;
		}
		at += len;
	}
}

/* Whether a lookup comes to `a` before `b`: longer prefixes first, those of the first part first.
 */
static bool is_before(const struct ipset_set *set, const struct ipset_elem *a,
		      const struct ipset_elem *b)
{
	unsigned at = 0;

	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		enum ipset_dim dim = set->type->dims[d];

		at += ipset_dim_len(set, dim);
		if (dim == DIM_NET && a->key[at - 1] != b->key[at - 1])
			return a->key[at - 1] > b->key[at - 1];
	}
	return false;
}

/* What exceptions cut out of the element. */
static int holes_find(struct publish *p, const struct item *it)
{
	struct change_box box;

	p->holes.n = 0;
	for (size_t i = 0; i < p->exceptions.n; i++) {
		const struct item *x = &p->exceptions.items[i];
		int err;

		if (x->set != it->set || !is_before(it->set, x->elem, it->elem))
			continue;
		if (x->timeout && (!it->timeout || it->timeout > x->timeout)) {
			p->s->line = it->set->line;
			return ipset_fail(p->s,
					  "set %s: an exception with nomatch that expires "
					  "before what it is an exception from",
					  it->set->name);
		}
		elem_box(it->set, x->elem, box.lo, box.hi);
		err = vec_push(&p->holes, box);
		if (err)
			return err;
	}
	return 0;
}

static int items_collect(struct publish *p, const struct ipset_set *set, uint32_t limit)
{
	int err = 0;

	for (size_t i = 0; !err && i < set->elems.n; i++) {
		const struct ipset_elem *e = set->elems.items[i];
		struct item it = {.set = set, .elem = e, .timeout = e->timeout};

		if (limit && (!it.timeout || it.timeout > limit))
			it.timeout = limit;
		if (e->gone)
			continue;
		err = e->nomatch ? vec_push(&p->exceptions, it) : vec_push(&p->items, it);
	}
	return err;
}

/* What stays comes last. */
static int item_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct item *)a)->timeout - 1;
	uint32_t y = ((const struct item *)b)->timeout - 1;

	return x < y ? -1 : x > y;
}

static int items_add(struct publish *p, const struct ipset_set *set)
{
	struct change_set target;
	struct change_elem elem = {.counted = set->given & OPT(COUNTERS)};
	int err = change_set_find(p->change, "inet", "global", set->name, &target);

	if (!err && p->timed && p->items.n)
		qsort(p->items.items, p->items.n, sizeof(*p->items.items), item_compare);
	for (size_t i = 0; !err && i < p->items.n; i++) {
		const struct item *it = &p->items.items[target.auto_merge ? i : p->items.n - 1 - i];

		err = p->exceptions.n ? holes_find(p, it) : 0;
		if (err)
			break;
		elem_box(it->set, it->elem, elem.lo, elem.hi);
		elem.holes = p->holes.items;
		elem.n_holes = p->holes.n;
		if (p->timed)
			elem.timeout_ns = it->timeout ? it->timeout * second : SET_NEVER;
		elem.comment = set->given & OPT(COMMENT) ? it->elem->comment : NULL;
		elem.packets = it->elem->packets;
		elem.bytes = it->elem->bytes;
		err = change_add(p->change, &target, &elem);
	}
	return err;
}

/* Type, flags and elements of a list are those of its members. False: they do not go together. */
static int list_collect(struct publish *p, const struct ipset_set *list, bool *fits)
{
	struct strbuf type = STRBUF_INIT;
	int err = 0;

	*fits = list->members.n;
	for (size_t i = 0; !err && *fits && i < list->members.n; i++) {
		const struct ipset_set *member = list->members.items[i];

		strbuf_truncate(&type, 0);
		type_print(member, &type);
		if (!i)
			type_print(member, &p->type);
		*fits = strcmp(strbuf_str(&type), strbuf_str(&p->type)) == 0;
		p->interval |= set_interval(member);
		p->timed |= set_timed(member);
		err = items_collect(p, member, list->member_timeouts.items[i]);
	}
	if (!err)
		err = strbuf_error(&type);
	strbuf_free(&type);
	return err;
}

static int set_declare(struct publish *p, const struct ipset_set *set)
{
	struct strbuf text = STRBUF_INIT, said = STRBUF_INIT;
	bool several = strchr(strbuf_str(&p->type), ' ');
	int err;

	strbuf_printf(&text, "create set inet global %s { type %s;", set->name,
		      strbuf_str(&p->type));
	if (p->interval || p->timed)
		strbuf_printf(&text, " flags %s%s%s;", p->interval ? "interval" : "",
			      p->interval && p->timed ? "," : "", p->timed ? "timeout" : "");
	if (set->timeout)
		strbuf_printf(&text, " timeout %us;", set->timeout);
	if (p->interval && !several)
		strbuf_puts(&text, " auto-merge;");
	if (!p->interval && set->type->kind == IPSET_HASH && set->max)
		strbuf_printf(&text, " size %u;", set->max);
	if (set->given & OPT(COUNTERS))
		strbuf_puts(&text, " counter;");
	strbuf_puts(&text, " }\n");
	err = strbuf_error(&text);
	if (!err)
		err = change_text(p->change, text.data, text.len, &said);
	if (err == -EINVAL) {
		p->s->line = set->line;
		ipset_fail(p->s, "set %s has no place in table inet global:", set->name);
		strbuf_puts(p->s->messages, strbuf_str(&said));
	}
	strbuf_free(&text);
	strbuf_free(&said);
	return err;
}

static int set_publish(struct publish *p, const struct ipset_set *set)
{
	bool fits = true;
	int err;

	p->items.n = p->exceptions.n = p->holes.n = 0;
	strbuf_truncate(&p->type, 0);
	p->timed = set_timed(set);
	p->interval = set_interval(set);
	if (set->type->kind == IPSET_LIST) {
		err = list_collect(p, set, &fits);
	} else {
		type_print(set, &p->type);
		err = items_collect(p, set, 0);
		for (size_t i = 0; set->type->dims[1] == DIM_IFACE && i < p->items.n; i++)
			p->interval |= p->items.items[i].elem->key[set->key_len - 1];
	}
	if (!err && !fits) {
		strbuf_printf(p->s->messages,
			      "%s: list %s is left out: its members are not of one type\n",
			      p->s->file, set->name);
		return 0;
	}
	if (!err)
		err = set_declare(p, set);
	return err ? err : items_add(p, set);
}

int ipset_publish(struct ipset *s, struct tamis *t, uint64_t now, struct strbuf *messages)
{
	static const char table[] = "add table inet global\n";
	struct publish p = {.s = s};
	int err = change_begin(t, now, &p.change);

	s->messages = messages;
	if (err)
		return err;
	err = change_text(p.change, table, sizeof(table) - 1, messages);
	for (size_t i = 0; !err && i < s->sets.n; i++)
		err = set_publish(&p, s->sets.items[i]);
	vec_free(&p.items);
	vec_free(&p.exceptions);
	vec_free(&p.holes);
	strbuf_free(&p.type);
	if (!err && s->skb_seen)
		strbuf_printf(messages, "%s: values of skbinfo are read, not evaluated\n", s->file);
	if (!err)
		return change_commit(p.change, messages);
	change_abort(p.change);
	return err;
}
