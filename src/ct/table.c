/* SPDX-License-Identifier: Apache-2.0 */
/* table: see table.h. The hash doubles in one go, and stays as it is if there is no memory. */
#include "ct/table.h"

#include "ct/frag.h"
#include "ct/proto.h"

enum { BUCKETS_MIN = 256, GC_FOR_ROOM = 64, LOOKS_FOR_ROOM = 64 };

#define expiry_flow(l) container_of(l, struct ct_flow, by_expiry)

/* --- life ----------------------------------------------------------------------------------- */

void ct_config_default(struct ct_config *out)
{
	*out = (struct ct_config){
		.max_flows = CT_MAX_FLOWS_DEFAULT,
		.tcp_loose = true,
		.timeout_ns =
			{
#define X(name, seconds) [CT_TIMEOUT_##name] = (uint64_t)(seconds)*1000000000,
				CT_TIMEOUTS(X)
#undef X
			},
	};
}

int ct_table_new(const struct ct_config *config, struct ct_table **out)
{
	if (!config->max_flows)
		return -EINVAL;
	struct ct_table *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->config = *config;
	for (unsigned i = 0; i < CT_TIMEOUTS_N; i++)
		list_init(&t->queues[i]);
	list_init(&t->weak);
	list_init(&t->buried);
	int err = hash_secret_draw(&t->secret);
	if (!err) {
		t->n_buckets = BUCKETS_MIN;
		t->buckets = calloc(t->n_buckets, sizeof(struct node *));
		if (!t->buckets)
			err = -ENOMEM;
	}
	if (!err)
		err = frag_cache_new(&t->frags);
	if (err) {
		ct_table_free(t);
		return err;
	}
	*out = t;
	return 0;
}

void ct_table_free(struct ct_table *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < CT_TIMEOUTS_N; i++)
		while (t->queues[i].next != &t->queues[i])
			table_remove(t, expiry_flow(t->queues[i].next));
	table_bury(t);
	vec_free(&t->slots);
	vec_free(&t->free_slots);
	frag_cache_free(t->frags);
	free(t->buckets);
	free(t);
}

/* --- hash ----------------------------------------------------------------------------------- */

static inline uint64_t tuple_hash(const struct ct_table *t, const struct ct_tuple *tuple)
{
	return hash_bytes(&t->secret, tuple, sizeof(*tuple));
}

static inline struct node **bucket_of(const struct ct_table *t, uint64_t hash)
{
	return &t->buckets[hash & (t->n_buckets - 1)];
}

static void node_insert(struct ct_table *t, struct node *n)
{
	struct node **to = bucket_of(t, n->hash);
	n->next = *to;
	*to = n;
}

static void node_remove(struct ct_table *t, struct node *n)
{
	struct node **at = bucket_of(t, n->hash);
	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
}

static void grow(struct ct_table *t)
{
	struct node **old = t->buckets, **buckets;
	size_t old_n = t->n_buckets;

	buckets = calloc(old_n * 2, sizeof(struct node *));
	if (!buckets)
		return;
	t->buckets = buckets;
	t->n_buckets = old_n * 2;
	for (size_t i = 0; i < old_n; i++)
		for (struct node *n = old[i], *next; n; n = next) {
			next = n->next;
			node_insert(t, n);
		}
	free(old);
}

static void expire(struct ct_table *t, struct ct_flow *f)
{
	if (f->status & CT_CONFIRMED)
		t->stats.expired++;
	table_remove(t, f);
}

struct node *table_find(struct ct_table *t, const struct ct_tuple *tuple, uint64_t now)
{
	uint64_t hash = tuple_hash(t, tuple);

	for (struct node *n = *bucket_of(t, hash); n; n = n->next) {
		if (n->hash != hash || memcmp(&n->tuple, tuple, sizeof(*tuple)))
			continue;
		if (!flow_expired(node_flow(n), now))
			return n;
		expire(t, node_flow(n));
		return NULL;
	}
	return NULL;
}

/* --- coming and going ----------------------------------------------------------------------- */

static unsigned gc(struct ct_table *t, uint64_t now, unsigned budget)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CT_TIMEOUTS_N; i++)
		for (struct list *q = &t->queues[i]; n < budget && q->next != q; n++) {
			if (!flow_expired(expiry_flow(q->next), now))
				break;
			expire(t, expiry_flow(q->next));
		}
	return n;
}

/* The oldest confirmed flow that is not assured makes room. */
static bool early_drop(struct ct_table *t)
{
	unsigned looks = LOOKS_FOR_ROOM;

	for (struct list *l = t->weak.next; l != &t->weak && looks; l = l->next, looks--) {
		struct ct_flow *f = container_of(l, struct ct_flow, by_age);
		if (!(f->status & CT_CONFIRMED))
			continue;
		t->stats.early_drop++;
		table_remove(t, f);
		return true;
	}
	return false;
}

static int take_slot(struct ct_table *t, struct ct_flow *f)
{
	uint32_t at;

	if (t->free_slots.n) {
		at = t->free_slots.items[--t->free_slots.n];
	} else {
		int err = vec_reserve(&t->slots, t->slots.n + 1);
		if (!err) /* giving a slot back must not fail */
			err = vec_reserve(&t->free_slots, t->slots.n + 1);
		if (err)
			return err;
		at = (uint32_t)t->slots.n++;
	}
	t->slots.items[at] = f;
	f->id = (uint64_t)t->generation++ << 32 | at;
	return 0;
}

struct ct_flow *table_add(struct ct_table *t, const struct ct_tuple *original,
			  const struct ct_tuple *reply, uint64_t now)
{
	if (t->n >= t->config.max_flows && !gc(t, now, GC_FOR_ROOM) && !early_drop(t)) {
		t->stats.full++;
		return NULL;
	}
	struct ct_flow *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	if (take_slot(t, f)) {
		free(f);
		return NULL;
	}
	if (t->n >= t->n_buckets / 2)
		grow(t);
	for (unsigned dir = 0; dir < 2; dir++) {
		struct node *n = &f->node[dir];
		n->tuple = dir == CT_ORIGINAL ? *original : *reply;
		n->hash = tuple_hash(t, &n->tuple);
		n->dir = (uint8_t)dir;
		node_insert(t, n);
	}
	list_insert(&f->by_age, &t->weak);
	list_init(&f->by_expiry);
	t->n++;
	return f;
}

void table_remove(struct ct_table *t, struct ct_flow *f)
{
	uint32_t slot = (uint32_t)f->id;

	node_remove(t, &f->node[CT_ORIGINAL]);
	node_remove(t, &f->node[CT_REPLY]);
	list_remove(&f->by_age);
	list_remove(&f->by_expiry);
	list_insert(&f->by_expiry, &t->buried);
	f->status |= CT_DYING;
	t->slots.items[slot] = NULL;
	t->free_slots.items[t->free_slots.n++] = slot;
	t->n--;
}

void table_bury(struct ct_table *t)
{
	while (t->buried.next != &t->buried) {
		struct ct_flow *f = expiry_flow(t->buried.next);
		list_remove(&f->by_expiry);
		free(f);
	}
}

/* Flows refreshed before stand in the queue behind their turn: they are found expired when they are
 * looked up, or go when those before them do. */
void ct_timeout_set(struct ct_table *t, enum ct_timeout which, uint64_t ns)
{
	t->config.timeout_ns[which] = ns;
}

unsigned ct_gc(struct ct_table *t, uint64_t now, unsigned budget)
{
	table_bury(t);
	unsigned n = gc(t, now, budget);
	table_bury(t);
	return n;
}

uint32_t ct_count(const struct ct_table *t, uint64_t now)
{
	uint32_t n = t->n;

	for (unsigned i = 0; i < CT_TIMEOUTS_N; i++)
		for (struct list *l = t->queues[i].next; l != &t->queues[i]; l = l->next) {
			if (!flow_expired(expiry_flow(l), now))
				break;
			n--;
		}
	return n;
}

const struct ct_stats *ct_stats_of(const struct ct_table *t)
{
	return &t->stats;
}

/* --- flows ---------------------------------------------------------------------------------- */

void flow_refresh(struct ct_table *t, struct ct_flow *f, enum ct_timeout timeout, uint64_t now)
{
	if (__builtin_add_overflow(now, t->config.timeout_ns[timeout], &f->expires))
		f->expires = UINT64_MAX;
	list_remove(&f->by_expiry);
	list_insert(&f->by_expiry, &t->queues[timeout]);
}

void flow_assure(struct ct_flow *f)
{
	f->status |= CT_ASSURED;
	list_remove(&f->by_age);
}

const struct ct_tuple *ct_flow_tuple(const struct ct_flow *f, enum ct_direction dir)
{
	return &f->node[dir].tuple;
}

uint64_t ct_flow_id(const struct ct_flow *f)
{
	return f->id;
}

uint32_t ct_flow_status(const struct ct_flow *f)
{
	return f->status;
}

uint32_t ct_flow_mark(const struct ct_flow *f)
{
	return f->mark;
}

void ct_flow_set_nat(struct ct_flow *f, bool source, bool translated)
{
	f->status |= source ? CT_SRC_NAT_DONE : CT_DST_NAT_DONE;
	if (translated)
		f->status |= source ? CT_SRC_NAT : CT_DST_NAT;
}

void ct_flow_set_mark(struct ct_flow *f, uint32_t mark)
{
	f->mark = mark;
}

uint64_t ct_flow_packets(const struct ct_flow *f, enum ct_direction dir)
{
	return f->packets[dir];
}

uint64_t ct_flow_bytes(const struct ct_flow *f, enum ct_direction dir)
{
	return f->bytes[dir];
}

uint64_t ct_flow_expires_in(const struct ct_flow *f, uint64_t now)
{
	return f->expires > now ? f->expires - now : 0;
}

bool ct_alive(const struct ct_table *t, uint64_t id, uint64_t now)
{
	uint32_t slot = (uint32_t)id;
	const struct ct_flow *f = slot < t->slots.n ? t->slots.items[slot] : NULL;

	return f && f->id == id && !flow_expired(f, now) && !proto_has_ended(f);
}
