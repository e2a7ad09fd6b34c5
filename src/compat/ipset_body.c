/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_body: what a set holds: records laid out for what the set was created with, and the counts
 * that depend on them.
 *
 * An element whose time has come is as good as gone everywhere; ipset_body_expire() gives its
 * record up, and walks them only when something has expired.
 */
#include <stdlib.h>

#include "compat/ipset_int.h"

/* Of a record: what skbinfo keeps. */
struct skb {
	uint32_t mark, mark_mask, prio;
	uint16_t queue;
} __attribute__((packed));

enum { WASTE_MAX = 4096 };

unsigned ipset_dim_len(const struct ipset_body *b, enum ipset_dim d)
{
	switch (d) {
	case DIM_IP:
		return b->ip_len;
	case DIM_NET:
		return b->ip_len + 1;
	case DIM_MAC:
		return b->type->kind == IPSET_BITMAP ? 0 : 6;
	case DIM_MARK:
		return 4;
	case DIM_PORT:
		return 3;
	case DIM_PLAIN_PORT:
		return 2;
	case DIM_IFACE:
		return 17;
	case DIM_NONE:
		break;
	}
	return 0;
}

static uint16_t room(bool given, unsigned *stride, unsigned bytes)
{
	uint16_t at = (uint16_t)*stride;

	if (!given)
		return 0;
	*stride += bytes;
	return at;
}

int ipset_body_init(struct ipset_body *b)
{
	unsigned stride;

	b->key_len = 0;
	for (unsigned d = 0; d < IPSET_DIMS; d++)
		b->key_len += ipset_dim_len(b, b->type->dims[d]);
	stride = b->key_len + 1;
	b->at_mac = room(b->type->kind == IPSET_BITMAP && b->type->dims[1] == DIM_MAC, &stride, 6);
	b->at_expires = room(b->given & OPT(TIMEOUT), &stride, sizeof(uint64_t));
	b->at_counters = room(b->given & OPT(COUNTERS), &stride, 2 * sizeof(uint64_t));
	b->at_comment = room(b->given & OPT(COMMENT), &stride, sizeof(char *));
	b->at_skb = room(b->given & OPT(SKBINFO), &stride, sizeof(struct skb));
	b->comments = ARENA_INIT;
	b->soonest = UINT64_MAX;
	b->fresh = true;
	if (ipset_type_has(b->type, DIM_NET)) {
		b->lengths = calloc(IPSET_DIMS * IPSET_LENGTHS, sizeof(*b->lengths));
		if (!b->lengths)
			return -ENOMEM;
	}
	return ipset_store_init(&b->store, b->key_len, stride);
}

void ipset_body_free(struct ipset_body *b)
{
	if (!b)
		return;
	ipset_store_free(&b->store);
	arena_free(&b->comments);
	free(b->lengths);
	free(b->members.items);
	free(b);
}

int ipset_body_clone(const struct ipset_body *b, struct ipset_body **out)
{
	struct ipset_body *copy = calloc(1, sizeof(*copy));
	int err = -ENOMEM;

	if (copy) {
		*copy = *b;
		copy->lengths = NULL;
		copy->members = (struct ipset_members){0};
		copy->store = (struct ipset_store){0};
		copy->waste = 0;
		copy->oldest = copy->wildcards = 0;
		err = ipset_body_init(copy);
	}
	if (err)
		ipset_body_free(copy);
	else
		*out = copy;
	return err;
}

bool ipset_body_expired(const struct ipset_body *b, uint32_t id, uint64_t now)
{
	uint64_t expires;

	if (!b->at_expires)
		return false;
	memcpy(&expires, ipset_store_record(&b->store, id) + b->at_expires, sizeof(expires));
	return expires && expires <= now;
}

uint32_t ipset_body_find(const struct ipset_body *b, const uint8_t *key, uint64_t now)
{
	uint32_t id = ipset_store_find(&b->store, key, ipset_store_hash(&b->store, key));

	return id != STORE_NONE && ipset_body_expired(b, id, now) ? STORE_NONE : id;
}

/* Counts what the record adds to, by 1 or -1. */
static void record_count(struct ipset_body *b, const uint8_t *record, int by)
{
	unsigned at = 0;

	if (record[b->key_len] & ELEM_WILDCARD)
		b->wildcards += (uint32_t)by;
	if (!b->lengths)
		return;
	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		at += ipset_dim_len(b, b->type->dims[d]);
		if (b->type->dims[d] == DIM_NET)
			b->lengths[d * IPSET_LENGTHS + record[at - 1]] += (uint32_t)by;
	}
}

static void soonest_update(struct ipset_body *b, const uint8_t *record)
{
	uint64_t expires;

	if (!b->at_expires)
		return;
	memcpy(&expires, record + b->at_expires, sizeof(expires));
	if (expires && expires < b->soonest)
		b->soonest = expires;
}

static const char *record_comment(const struct ipset_body *b, const uint8_t *record)
{
	const char *comment;

	if (!b->at_comment)
		return NULL;
	memcpy(&comment, record + b->at_comment, sizeof(comment));
	return comment;
}

static int comment_keep(struct ipset_body *b, const struct ipset_ext *x, const char **out)
{
	*out = NULL;
	if (!b->at_comment || !x->comment || !*x->comment)
		return 0;
	*out = arena_strndup(&b->comments, x->comment, strlen(x->comment));
	return *out ? 0 : -ENOMEM;
}

static void record_fill(struct ipset_body *b, uint8_t *record, const struct ipset_ext *x,
			const char *comment)
{
	record[b->key_len] = x->flags;
	record_count(b, record, 1);
	if (b->at_mac)
		memcpy(record + b->at_mac, x->mac, sizeof(x->mac));
	if (b->at_expires)
		memcpy(record + b->at_expires, &x->expires, sizeof(x->expires));
	if (b->at_counters) {
		memcpy(record + b->at_counters, &x->packets, sizeof(x->packets));
		memcpy(record + b->at_counters + sizeof(x->packets), &x->bytes, sizeof(x->bytes));
	}
	if (b->at_comment)
		memcpy(record + b->at_comment, &comment, sizeof(comment));
	if (b->at_skb) {
		struct skb skb = {x->mark, x->mark_mask, x->prio, x->queue};

		memcpy(record + b->at_skb, &skb, sizeof(skb));
	}
	soonest_update(b, record);
}

int ipset_body_set(struct ipset_body *b, uint32_t id, const struct ipset_ext *x)
{
	uint8_t *record = ipset_store_record(&b->store, id);
	const char *comment, *old = record_comment(b, record);
	int err = comment_keep(b, x, &comment);

	if (err)
		return err;
	if (old)
		b->waste += strlen(old) + 1;
	record_count(b, record, -1);
	record_fill(b, record, x, comment);
	return 0;
}

void ipset_body_get(const struct ipset_body *b, uint32_t id, struct ipset_ext *out)
{
	const uint8_t *record = ipset_store_record(&b->store, id);
	struct ipset_ext x = {.flags = record[b->key_len] & (uint8_t)~STORE_GONE,
			      .comment = record_comment(b, record)};

	if (b->at_mac)
		memcpy(x.mac, record + b->at_mac, sizeof(x.mac));
	if (b->at_expires)
		memcpy(&x.expires, record + b->at_expires, sizeof(x.expires));
	if (b->at_counters) {
		memcpy(&x.packets, record + b->at_counters, sizeof(x.packets));
		memcpy(&x.bytes, record + b->at_counters + sizeof(x.packets), sizeof(x.bytes));
	}
	if (b->at_skb) {
		struct skb skb;

		memcpy(&skb, record + b->at_skb, sizeof(skb));
		x.mark = skb.mark;
		x.mark_mask = skb.mark_mask;
		x.prio = skb.prio;
		x.queue = skb.queue;
	}
	*out = x;
}

int ipset_body_add(struct ipset_body *b, const uint8_t *key, uint64_t hash,
		   const struct ipset_ext *x, uint32_t *id)
{
	const char *comment;
	int err = comment_keep(b, x, &comment);

	if (!err)
		err = ipset_store_add(&b->store, key, hash, id);
	if (!err)
		record_fill(b, ipset_store_record(&b->store, *id), x, comment);
	return err;
}

void ipset_body_remove(struct ipset_body *b, uint32_t id)
{
	record_count(b, ipset_store_record(&b->store, id), -1);
	ipset_store_remove(&b->store, id);
	while (b->oldest < b->store.n && !ipset_store_holds(&b->store, b->oldest))
		b->oldest++;
}

void ipset_body_put_back(struct ipset_body *b, uint32_t id)
{
	ipset_store_put_back(&b->store, id);
	record_count(b, ipset_store_record(&b->store, id), 1);
	soonest_update(b, ipset_store_record(&b->store, id));
	b->oldest = MIN(b->oldest, id);
}

void ipset_body_overwrite(struct ipset_body *b, uint32_t id, const uint8_t *record)
{
	uint8_t *to = ipset_store_record(&b->store, id);

	record_count(b, to, -1);
	memcpy(to, record, b->store.stride);
	record_count(b, to, 1);
	soonest_update(b, to);
}

void ipset_body_expire(struct ipset_body *b, uint64_t now)
{
	if (b->soonest > now)
		return;
	b->soonest = UINT64_MAX;
	for (uint32_t id = b->oldest; id < b->store.n; id++) {
		if (!ipset_store_holds(&b->store, id))
			continue;
		if (ipset_body_expired(b, id, now))
			ipset_body_remove(b, id);
		else
			soonest_update(b, ipset_store_record(&b->store, id));
	}
}

uint32_t ipset_body_next(const struct ipset_body *b, uint32_t id, uint64_t now)
{
	for (; id < b->store.n; id++)
		if (ipset_store_holds(&b->store, id) && !ipset_body_expired(b, id, now))
			return id;
	return STORE_NONE;
}

size_t ipset_body_count(const struct ipset_body *b, uint64_t now)
{
	size_t n = b->store.live;

	if (b->soonest > now)
		return n;
	for (uint32_t id = b->oldest; id < b->store.n; id++)
		n -= ipset_store_holds(&b->store, id) && ipset_body_expired(b, id, now);
	return n;
}

/* Copies the comments that are still there. */
static void comments_pack(struct ipset_body *b)
{
	struct arena fresh = ARENA_INIT;
	VEC(const char *) copies = {0};
	size_t n = 0;

	for (uint32_t id = 0; id < b->store.n; id++) {
		const char *c = record_comment(b, ipset_store_record(&b->store, id));
		const char *copy = c ? arena_strndup(&fresh, c, strlen(c)) : NULL;

		if ((c && !copy) || vec_push(&copies, copy)) {
			vec_free(&copies);
			arena_free(&fresh);
			return;
		}
	}
	for (uint32_t id = 0; id < b->store.n; id++, n++)
		memcpy(ipset_store_record(&b->store, id) + b->at_comment, &copies.items[n],
		       sizeof(char *));
	vec_free(&copies);
	arena_free(&b->comments);
	b->comments = fresh;
	b->waste = 0;
}

void ipset_body_tidy(struct ipset_body *b)
{
	uint32_t gone = b->store.n - b->store.live;

	b->store.pinned = 0;
	if (gone < 64 || gone < b->store.live) {
		if (b->waste < WASTE_MAX || b->waste < b->comments.total / 2)
			return;
	}
	for (uint32_t id = 0; b->at_comment && id < b->store.n; id++) {
		const char *c = record_comment(b, ipset_store_record(&b->store, id));

		if (c && !ipset_store_holds(&b->store, id))
			b->waste += strlen(c) + 1;
	}
	if (ipset_store_pack(&b->store))
		return;
	b->oldest = 0;
	if (b->waste)
		comments_pack(b);
}

size_t ipset_body_bytes(const struct ipset_body *b)
{
	return sizeof(*b) + ipset_store_bytes(&b->store) + b->comments.total +
	       b->members.cap * sizeof(*b->members.items) +
	       (b->lengths ? IPSET_DIMS * IPSET_LENGTHS * sizeof(*b->lengths) : 0);
}
