/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_publish: sets as nft has them.
 *
 * Of elements that overlap, the one that stays longest decides. In sets with auto-merge all are
 * there, and of equal ones the last counts, so that they come in order of their lifetimes; in
 * others the first one holds its place, so that they come in the opposite order. Where nothing can
 * overlap, or all stay equally long, elements go over one by one as they are.
 *
 * A set that was published before gets what the session has in the place of all that it holds; an
 * element in both goes on from where it is, in what its line leaves open. Rules that use the set do
 * not notice but by what they find.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "base/address.h"
#include "compat/ipset_command.h"
#include "compat/ipset_int.h"
#include "engine/change.h"

/* An element on its way: of a list it is one of a member. */
struct item {
	const struct ipset_body *body;
	uint32_t id;
	uint64_t left;	  /* ns, 0: stays */
	uint64_t timeout; /* of which `left` is left; 0: the same */
	bool outlived;	  /* of an exception: by what it is one from */
};

enum { BATCH = 64 };

struct publish {
	struct ipset *s;
	struct strbuf *messages;
	struct change *change;
	const struct ipset_set *set; /* the present one */
	struct change_set target;
	bool replacing; /* what the target holds */
	/* Elements that are not added yet. */
	struct change_elem batch[BATCH];
	struct change_box boxes[BATCH];
	size_t n_batch;
	struct strbuf type;	      /* "ipv4_addr . mark" */
	bool interval, timed, bridge; /* bridge: an element is of a bridge port */
	bool keyed;		      /* has a struct set_keying */
	VEC(struct item) items;
	VEC(struct item) exceptions;
	VEC(struct change_box) holes;
};

static int publish_fail(struct publish *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int publish_fail(struct publish *p, const char *fmt, ...)
{
	va_list ap;

	ipset_place_print(p->set->prefix, p->set->line, p->messages);
	va_start(ap, fmt);
	strbuf_vprintf(p->messages, fmt, ap);
	va_end(ap);
	strbuf_putc(p->messages, '\n');
	return -EINVAL;
}

static const char *prefix_of(const struct ipset_set *set)
{
	return set->prefix ? set->prefix : IPSET_VERSION;
}

static void type_print(const struct ipset_body *b, struct strbuf *out)
{
	const char *separator = "";

	for (unsigned d = 0; d < IPSET_DIMS && b->type->dims[d]; d++) {
		const char *name = NULL;

		switch (b->type->dims[d]) {
		case DIM_IP:
		case DIM_NET:
			name = b->ip_len == 4 ? "ipv4_addr" : "ipv6_addr";
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

/* Elements are ranges of keys. */
static bool body_interval(const struct ipset_body *b)
{
	return ipset_type_has(b->type, DIM_NET) ||
	       (b->type->kind == IPSET_BITMAP && b->type->dims[1] == DIM_MAC);
}

/* One key stands for several. */
static bool body_masked(const struct ipset_body *b)
{
	return b->masked || b->mark_mask != UINT32_MAX;
}

/* What keys of the set's own are: what packets add to it is what ipset would take. */
static void keying_make(const struct ipset_body *b, struct set_keying *k)
{
	enum ipset_dim first = b->type->dims[0];
	unsigned at = 0;

	*k = (struct set_keying){.evicts = b->given & OPT(FORCEADD)};
	memset(k->mask, 0xff, sizeof(k->mask));
	memset(k->hi, 0xff, sizeof(k->hi));
	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		enum ipset_dim dim = b->type->dims[d];

		if (b->masked && (dim == DIM_IP || (dim == DIM_NET && b->holes)))
			memcpy(k->mask + at, b->mask, b->ip_len);
		if (dim == DIM_MARK)
			be32_store(k->mask + at, b->mark_mask);
		at += ipset_dim_len(b, dim) - (dim == DIM_NET || dim == DIM_IFACE);
	}
	if (b->type->kind == IPSET_BITMAP && first == DIM_IP) {
		be32_store(k->lo, b->first);
		be32_store(k->hi, b->last);
	} else if (b->type->kind == IPSET_BITMAP) {
		be16_store(k->lo, (uint16_t)b->first);
		be16_store(k->hi, (uint16_t)b->last);
	} else if (first != DIM_NET && first != DIM_NONE &&
		   (!b->type->dims[1] || (b->type->dims[1] == DIM_PORT && !b->type->dims[2]))) {
		k->lo[ipset_dim_len(b, first) - 1] = 1; /* a hash takes no null */
	}
}

/* Why a list cannot have this set's elements in one of nft; NULL: it can. */
static const char *body_unfit(const struct ipset_body *b)
{
	uint32_t holes = ~b->mark_mask;

	if (b->holes)
		return "a bitmask with holes, which no list here can have";
	if (holes & (holes + 1))
		return "a markmask with holes, which no list here can have";
	return NULL;
}

/*
 * Both corners of an element as keys of the nft set. A list holds what sets with other masks do, so
 * that there all keys stand for which another set has one.
 */
static void elem_box(const struct publish *p, const struct ipset_body *b, uint32_t id, uint8_t *lo,
		     uint8_t *hi)
{
	bool wide = p->set->body->type->kind == IPSET_LIST;
	const uint8_t *key = ipset_store_record(&b->store, id);
	uint8_t flags = key[b->key_len];
	struct ipset_ext x;
	unsigned at = 0, len;

	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		enum ipset_dim dim = b->type->dims[d];

		len = ipset_dim_len(b, dim);
		memcpy(lo + at, key, len);
		memcpy(hi + at, key, len);
		key += len;
		switch (dim) {
		case DIM_IP:
			for (unsigned i = 0; wide && b->masked && i < len; i++)
				hi[at + i] |= (uint8_t)~b->mask[i];
			break;
		case DIM_NET:
			len--;
			address_prefix_bounds(lo + at, hi + at, len, key[-1]);
			for (unsigned i = 0; b->masked && i < len; i++)
				hi[at + i] = b->holes ? hi[at + i] & b->mask[i]
						      : hi[at + i] | (uint8_t)~b->mask[i];
			break;
		case DIM_MAC:
			if (b->type->kind != IPSET_BITMAP)
				break;
			len = 6;
			ipset_body_get(b, id, &x);
			memcpy(lo + at, x.mac, len);
			memcpy(hi + at, x.mac, len);
			if (!(flags & ELEM_MAC))
				memset(hi + at, 0xff, len);
			break;
		case DIM_MARK:
			if (wide)
				be32_store(hi + at, be32_load(hi + at) | ~b->mark_mask);
			break;
		case DIM_IFACE:
			len--;
			if (flags & ELEM_WILDCARD)
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
static bool is_before(const struct ipset_body *b, uint32_t x, uint32_t y)
{
	const uint8_t *first = ipset_store_record(&b->store, x);
	const uint8_t *second = ipset_store_record(&b->store, y);
	unsigned at = 0;

	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		enum ipset_dim dim = b->type->dims[d];

		at += ipset_dim_len(b, dim);
		if (dim == DIM_NET && first[at - 1] != second[at - 1])
			return first[at - 1] > second[at - 1];
	}
	return false;
}

static uint8_t item_flags(const struct item *it)
{
	return ipset_store_record(&it->body->store, it->id)[it->body->key_len];
}

static bool is_exception(const struct item *it)
{
	return item_flags(it) & ELEM_NOMATCH;
}

/* What the set has had for the element. */
static bool item_held(const struct publish *p, const struct item *it, struct change_held *out)
{
	struct change_box box;

	if (!p->replacing || is_exception(it))
		return false;
	elem_box(p, it->body, it->id, box.lo, box.hi);
	return change_held(p->change, &p->target, box.lo, box.hi, out);
}

static bool boxes_meet(const struct publish *p, const struct change_box *a,
		       const struct change_box *b)
{
	const struct set_desc *d = set_desc_of(p->target.set);
	unsigned at = 0;

	for (unsigned f = 0; f < d->n_fields; at += d->field_len[f++])
		if (memcmp(a->lo + at, b->hi + at, d->field_len[f]) > 0 ||
		    memcmp(b->lo + at, a->hi + at, d->field_len[f]) > 0)
			return false;
	return true;
}

/* What exceptions cut out of the element, whose box that is. */
static int holes_find(struct publish *p, const struct item *it, const struct change_box *whole)
{
	struct change_box box;

	p->holes.n = 0;
	for (size_t i = 0; i < p->exceptions.n; i++) {
		struct item *x = &p->exceptions.items[i];
		int err;

		if (x->body != it->body || !is_before(it->body, x->id, it->id))
			continue;
		elem_box(p, it->body, x->id, box.lo, box.hi);
		if (!boxes_meet(p, whole, &box))
			continue;
		x->outlived |= x->left && (!it->left || it->left > x->left);
		err = vec_push(&p->holes, box);
		if (err)
			return err;
	}
	return 0;
}

/* An element of a set of nft cannot begin to match later. */
static void outlived_tell(struct publish *p)
{
	const struct item *first = NULL;
	struct ipset_ext x;
	size_t n = 0;

	for (size_t i = 0; i < p->exceptions.n; i++)
		if (p->exceptions.items[i].outlived && !n++)
			first = &p->exceptions.items[i];
	if (!first)
		return;
	ipset_body_get(first->body, first->id, &x);
	strbuf_printf(p->messages, "%s: set '%s': nomatch of ", prefix_of(p->set), p->set->name);
	ipset_key_print(first->body, ipset_store_record(&first->body->store, first->id), &x,
			p->messages);
	if (n > 1)
		strbuf_printf(p->messages, " and of %zu more", n - 1);
	strbuf_puts(p->messages, " expires before the network around it: stays out as long as that "
				 "is there\n");
}

static int batch_add(struct publish *p)
{
	size_t n = p->n_batch;

	p->n_batch = 0;
	return change_add(p->change, &p->target, p->batch, n, NULL);
}

static int item_add(struct publish *p, const struct item *it)
{
	struct change_elem *elem = &p->batch[p->n_batch];
	struct change_box *box = &p->boxes[p->n_batch];
	bool counted = p->set->body->given & OPT(COUNTERS);
	struct change_held held;
	struct ipset_ext x = {0};
	int err;

	elem_box(p, it->body, it->id, box->lo, box->hi);
	err = p->exceptions.n ? holes_find(p, it, box) : 0;
	if (err)
		return err;
	if (counted || it->body->at_comment)
		ipset_body_get(it->body, it->id, &x);
	if (counted && !(x.flags & ELEM_COUNTED) && item_held(p, it, &held)) {
		x.packets = held.packets;
		x.bytes = held.bytes;
	}
	*elem = (struct change_elem){.lo = box->lo,
				     .hi = box->hi,
				     .comment =
					     p->set->body->given & OPT(COMMENT) ? x.comment : NULL,
				     .counted = counted,
				     .packets = x.packets,
				     .bytes = x.bytes,
				     .holes = p->holes.items,
				     .n_holes = p->holes.n};
	if (p->timed)
		elem->timeout_ns = it->left ? MAX(it->timeout, it->left) : SET_NEVER;
	if (elem->timeout_ns > it->left && it->left)
		elem->expires_in_ns = it->left;
	/* The next element has other holes. */
	return ++p->n_batch == BATCH || p->holes.n ? batch_add(p) : 0;
}

/* Calls `do_with` for each element that is there, none of which stays longer than `limit`. */
static int items_each(struct publish *p, const struct ipset_body *b, uint64_t limit,
		      int (*do_with)(struct publish *p, const struct item *it))
{
	uint32_t id = 0;
	int err = 0;

	while (!err && (id = ipset_body_next(b, id, p->s->now)) != STORE_NONE) {
		struct item it = {.body = b, .id = id++};
		struct change_held held;

		if (b->at_expires) {
			uint64_t expires;

			memcpy(&expires, ipset_store_record(&b->store, it.id) + b->at_expires,
			       sizeof(expires));
			it.left = expires ? expires - p->s->now : 0;
			if (!(item_flags(&it) & ELEM_TIMED) && item_held(p, &it, &held)) {
				it.left = held.expires_in_ns;
				it.timeout = held.timeout_ns;
			}
		}
		if (limit && (!it.left || it.left > limit))
			it.left = it.timeout = limit;
		err = do_with(p, &it);
	}
	return err;
}

static int exception_collect(struct publish *p, const struct item *it)
{
	return is_exception(it) ? vec_push(&p->exceptions, *it) : 0;
}

static int item_collect(struct publish *p, const struct item *it)
{
	return is_exception(it) ? 0 : vec_push(&p->items, *it);
}

static int item_stream(struct publish *p, const struct item *it)
{
	return is_exception(it) ? 0 : item_add(p, it);
}

/* What only elements show: bridge ports, and names that stand for several. */
static int item_check(struct publish *p, const struct item *it)
{
	const uint8_t *record = ipset_store_record(&it->body->store, it->id);

	p->bridge |= record[it->body->key_len - 1];
	p->interval |= record[it->body->key_len] & ELEM_WILDCARD;
	return 0;
}

/* What stays comes last. */
static int item_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct item *)a)->left - 1;
	uint64_t y = ((const struct item *)b)->left - 1;

	return x < y ? -1 : x > y;
}

/* Calls `with` for the set's elements, or for those of its members. */
static int bodies_each(struct publish *p, int (*with)(struct publish *p, const struct item *it))
{
	const struct ipset_body *b = p->set->body;
	int err = 0;

	if (b->type->kind != IPSET_LIST)
		return items_each(p, b, 0, with);
	for (size_t i = 0; !err && i < b->members.n; i++) {
		const struct ipset_member *m = &b->members.items[i];

		if (m->ext.expires && m->ext.expires <= p->s->now)
			continue;
		err = items_each(p, m->set->body, m->ext.expires ? m->ext.expires - p->s->now : 0,
				 with);
	}
	return err;
}

static int items_add(struct publish *p)
{
	const struct ipset_type *type = p->set->body->type;
	int err = 0;

	if (type->kind != IPSET_LIST)
		err = change_expect(p->change, &p->target, p->set->body->store.live);
	if (!err && (type->kind == IPSET_LIST || ipset_type_has(type, DIM_NET)))
		err = bodies_each(p, exception_collect);
	if (!err && !(p->interval && p->timed))
		err = bodies_each(p, item_stream);
	else if (!err)
		err = bodies_each(p, item_collect);
	if (!err && p->items.n)
		qsort(p->items.items, p->items.n, sizeof(*p->items.items), item_compare);
	for (size_t i = 0; !err && i < p->items.n; i++)
		err = item_add(p, &p->items.items[p->target.auto_merge ? i : p->items.n - 1 - i]);
	if (!err)
		err = batch_add(p);
	if (!err)
		outlived_tell(p);
	return err;
}

/* Type and flags of a list are those of its members. *unfit: why they do not go together. */
static int list_look(struct publish *p, const char **unfit)
{
	const struct ipset_members *members = &p->set->body->members;
	struct strbuf type = STRBUF_INIT;
	int err = 0;

	if (!members->n)
		*unfit = "it has no members";
	for (size_t i = 0; !err && !*unfit && i < members->n; i++) {
		const struct ipset_body *b = members->items[i].set->body;

		*unfit = body_unfit(b);
		strbuf_truncate(&type, 0);
		type_print(b, &type);
		if (!i)
			type_print(b, &p->type);
		if (!*unfit && strcmp(strbuf_str(&type), strbuf_str(&p->type)) != 0)
			*unfit = "its members are not of one type";
		p->interval |= body_interval(b) || body_masked(b);
		p->timed |= !!(b->given & OPT(TIMEOUT));
		if (!err && ipset_type_has(b->type, DIM_IFACE))
			err = items_each(p, b, 0, item_check);
	}
	if (!err)
		err = strbuf_error(&type);
	strbuf_free(&type);
	return err;
}

/* Elements are listed as the keys that stand for those which match. */
static void mask_tell(const struct ipset_body *b, struct strbuf *text)
{
	strbuf_printf(text, " comment \"%s with mask ", b->type->name);
	if (b->masked)
		ipset_address_print(b->mask, b->ip_len, text);
	else
		strbuf_printf(text, "0x%08x", b->mark_mask);
	strbuf_puts(text, "\";");
}

/* The command that makes the set; or changes it, with `add`. */
static int declaration(const struct publish *p, const char *verb, struct strbuf *text)
{
	const struct ipset_body *b = p->set->body;
	bool several = strchr(strbuf_str(&p->type), ' ');

	strbuf_printf(text, "%s set inet global %s { type %s;", verb, p->set->name,
		      strbuf_str(&p->type));
	if (p->interval || p->timed)
		strbuf_printf(text, " flags %s%s%s;", p->interval ? "interval" : "",
			      p->interval && p->timed ? "," : "", p->timed ? "timeout" : "");
	if (b->timeout)
		strbuf_printf(text, " timeout %us;", b->timeout);
	if (p->interval && !several)
		strbuf_puts(text, " auto-merge;");
	if (!p->interval && b->type->kind == IPSET_HASH && b->max)
		strbuf_printf(text, " size %u;", b->max);
	if (b->given & OPT(COUNTERS))
		strbuf_puts(text, " counter;");
	if (body_masked(b))
		mask_tell(b, text);
	strbuf_puts(text, " }\n");
	return strbuf_error(text);
}

static int set_create(struct publish *p)
{
	struct strbuf text = STRBUF_INIT, said = STRBUF_INIT;
	struct set_keying keying;
	int err = declaration(p, "create", &text);

	if (!err)
		err = change_text(p->change, text.data, text.len, &said);
	if (err == -EINVAL) {
		publish_fail(p, "set %s has no place in table inet global:", p->set->name);
		strbuf_puts(p->messages, strbuf_str(&said));
	}
	strbuf_free(&text);
	strbuf_free(&said);
	if (!err)
		err = change_set_find(p->change, "inet", "global", p->set->name, &p->target);
	if (err)
		return err;
	keying_make(p->set->body, &keying);
	err = change_set_own(&p->target, p->keyed ? &keying : NULL);
	return err ? err : items_add(p);
}

/* Whether the set is there, from an earlier time. */
static bool is_published(struct publish *p)
{
	return !change_set_find(p->change, "inet", "global", p->set->name, &p->target) &&
	       p->target.foreign;
}

/* `fits` false: with nothing in it. */
static int set_replace(struct publish *p, bool fits)
{
	struct strbuf text = STRBUF_INIT;
	int err = change_replace(p->change, &p->target);

	p->replacing = true;
	if (!err && fits)
		err = declaration(p, "add", &text);
	if (!err && fits)
		err = items_add(p);
	if (!err)
		err = change_replaced(p->change, &p->target, fits ? &text : NULL, p->messages);
	strbuf_free(&text);
	return err;
}

/* It has become another kind of set. */
static int set_exchange(struct publish *p)
{
	struct strbuf text = STRBUF_INIT;
	int err;

	if (p->target.used)
		return publish_fail(p,
				    "set %s: it is of another kind than before, and rules use it",
				    p->set->name);
	strbuf_printf(&text, "delete set inet global %s\n", p->set->name);
	err = strbuf_error(&text);
	if (!err)
		err = change_text(p->change, text.data, text.len, p->messages);
	strbuf_free(&text);
	return err ? err : set_create(p);
}

static int set_put(struct publish *p)
{
	struct set_keying keying;
	bool same;
	int err = strbuf_error(&p->type);

	if (err)
		return err;
	if (!is_published(p))
		return set_create(p);
	keying_make(p->set->body, &keying);
	err = change_set_is(&p->target, strbuf_str(&p->type), p->interval, p->timed,
			    p->set->body->given & OPT(COUNTERS), p->keyed ? &keying : NULL, &same);
	if (err)
		return err;
	return same ? set_replace(p, true) : set_exchange(p);
}

static int set_publish(struct publish *p)
{
	const struct ipset_body *b = p->set->body;
	const char *unfit;
	int err = 0;

	p->items.n = p->exceptions.n = p->holes.n = p->n_batch = 0;
	p->replacing = false;
	strbuf_truncate(&p->type, 0);
	p->timed = b->given & OPT(TIMEOUT);
	p->interval = body_interval(b);
	p->bridge = false;
	unfit = change_takes_name(p->set->name) ? NULL
						: "nft takes no such name, rules cannot use it";
	if (!unfit && b->type->kind == IPSET_LIST) {
		err = list_look(p, &unfit);
	} else if (!unfit) {
		type_print(b, &p->type);
		if (ipset_type_has(b->type, DIM_IFACE))
			err = items_each(p, b, 0, item_check);
	}
	p->keyed = b->type->kind != IPSET_LIST && (!p->interval || (b->masked && b->holes));
	if (p->bridge)
		unfit = "physdev: is not known here";
	if (err || !unfit)
		return err ? err : set_put(p);
	strbuf_printf(p->messages, "%s: %s '%s' is left out: %s\n", prefix_of(p->set),
		      b->type->kind == IPSET_LIST ? "list" : "set", p->set->name, unfit);
	return is_published(p) ? set_replace(p, false) : 0;
}

int ipset_publish(struct ipset *s, struct tamis *t, uint64_t now, struct strbuf *messages)
{
	struct publish p = {.s = s, .messages = messages};
	int err = change_begin(t, now, &p.change);

	if (err)
		return err;
	s->now = now;
	err = change_table_own(p.change, "inet", "global");
	for (size_t i = 0; !err && i < s->sets.n; i++) {
		p.set = s->sets.items[i];
		err = set_publish(&p);
	}
	vec_free(&p.items);
	vec_free(&p.exceptions);
	vec_free(&p.holes);
	strbuf_free(&p.type);
	if (!err && s->skb_seen && s->sets.n)
		strbuf_printf(messages, "%s: values of skbinfo are read, not evaluated\n",
			      prefix_of(s->sets.items[s->sets.n - 1]));
	if (!err)
		return change_commit(p.change, messages);
	change_abort(p.change);
	return err;
}
