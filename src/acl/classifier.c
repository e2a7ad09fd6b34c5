/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier: a linear search in order; see classifier.h.
 *
 * Cost: a lookup O(n).
 */
#include "acl/classifier.h"

#include <stdlib.h>

#include "acl/order.h"
#include "acl/rule.h"
#include "rcu/rcu.h"

struct entry {
	struct cls_entry pub;
	struct order_node node;
	uint64_t born, died;  /* versions: there from the one until the other */
	struct entry *change; /* next of those of the next version */
	struct rcu_head retired;
	struct classifier *owner;
	bool matches;
	struct cls_rule rule;
	struct cls_cond conds[];
};

struct classifier {
	struct classifier_config config;
	uint64_t own_version;
	struct order order;
	struct entry *changes;
	uint32_t n;
	uint32_t fields;
	uint32_t retiring; /* entries that readers may hold */
};

static struct entry *entry_of(const struct cls_entry *e)
{
	return container_of(e, struct entry, pub);
}

int classifier_new(const struct classifier_config *config, struct classifier **out)
{
	if (config->max_entries > CLS_ENTRIES_MAX || config->max_tables > CLS_TABLES_MAX)
		return -EINVAL;
	struct classifier *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->config = *config;
	if (!c->config.max_entries)
		c->config.max_entries = CLS_ENTRIES_DEFAULT;
	if (!c->config.max_tables)
		c->config.max_tables = CLS_TABLES_DEFAULT;
	if (!c->config.version)
		c->config.version = &c->own_version;
	if (order_init(&c->order, config->rcu)) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

static void entry_release(struct entry *e)
{
	struct classifier *c = e->owner;
	if (c->config.release)
		c->config.release(c->config.ctx, e->pub.cookie);
	free(e);
}

void classifier_free(struct classifier *c)
{
	if (!c)
		return;
	struct order_node *next;
	classifier_abort(c);
	while (c->retiring)
		rcu_wait(c->config.rcu, UINT64_MAX);
	for (struct order_node *node = c->order.head.next; node != &c->order.head; node = next) {
		next = node->next;
		entry_release(container_of(node, struct entry, node));
	}
	order_release(&c->order);
	free(c);
}

uint64_t classifier_version(const struct classifier *c)
{
	return __atomic_load_n(c->config.version, __ATOMIC_ACQUIRE);
}

static uint64_t next_version(const struct classifier *c)
{
	return *c->config.version + 1;
}

int classifier_insert(struct classifier *c, struct cls_entry *before, const struct cls_rule *rule,
		      void *cookie, struct cls_entry **out)
{
	unsigned n = rule ? rule->n : 0;

	if (rule && cls_rule_check(rule))
		return -EINVAL;
	if (c->n >= c->config.max_entries)
		return -EDQUOT;
	struct entry *e = malloc(sizeof(*e) + n * sizeof(e->conds[0]));
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.pub.cookie = cookie,
			    .owner = c,
			    .born = next_version(c),
			    .died = UINT64_MAX,
			    .matches = rule};
	if (rule) {
		e->rule = *rule;
		e->rule.conds = memcpy(e->conds, rule->conds, n * sizeof(e->conds[0]));
		for (unsigned i = 0; i < n; i++)
			c->fields |= UINT32_C(1) << rule->conds[i].field;
	}
	if (order_insert(&c->order, before ? &entry_of(before)->node : &c->order.head, &e->node)) {
		free(e);
		return -ENOMEM;
	}
	e->change = c->changes;
	c->changes = e;
	c->n++;
	*out = &e->pub;
	return 0;
}

void classifier_delete(struct classifier *c, struct cls_entry *entry)
{
	struct entry *e = entry_of(entry);
	__atomic_store_n(&e->died, next_version(c), __ATOMIC_RELAXED);
	if (e->born != e->died) {
		e->change = c->changes;
		c->changes = e;
	}
	c->n--;
}

int classifier_replace(struct classifier *c, struct cls_entry *e, const struct cls_rule *rule,
		       void *cookie, struct cls_entry **out)
{
	c->config.max_entries++;
	int err = classifier_insert(c, e, rule, cookie, out);
	c->config.max_entries--;
	if (!err)
		classifier_delete(c, e);
	return err;
}

static void entry_retire(struct rcu_head *head)
{
	struct entry *e = container_of(head, struct entry, retired);
	e->owner->retiring--;
	order_remove(&e->owner->order, &e->node);
	entry_release(e);
}

static void retire(struct classifier *c, struct entry *e)
{
	c->retiring++;
	rcu_defer(c->config.rcu, &e->retired, entry_retire, sizeof(*e));
}

void classifier_commit(struct classifier *c)
{
	if (c->config.version == &c->own_version)
		__atomic_store_n(&c->own_version, c->own_version + 1, __ATOMIC_RELEASE);
	while (c->changes) {
		struct entry *e = c->changes;
		c->changes = e->change;
		if (e->died != UINT64_MAX)
			retire(c, e);
	}
}

void classifier_abort(struct classifier *c)
{
	uint64_t next = next_version(c);

	while (c->changes) {
		struct entry *e = c->changes;
		c->changes = e->change;
		if (e->born == next) {
			c->n -= e->died != next;
			e->died = next;
			retire(c, e);
		} else {
			__atomic_store_n(&e->died, UINT64_MAX, __ATOMIC_RELAXED);
			c->n++;
		}
	}
}

static struct cls_entry *live_from(struct classifier *c, struct order_node *node)
{
	for (; node != &c->order.head; node = node->next)
		if (container_of(node, struct entry, node)->died == UINT64_MAX)
			return &container_of(node, struct entry, node)->pub;
	return NULL;
}

struct cls_entry *classifier_first(struct classifier *c)
{
	return live_from(c, c->order.head.next);
}

struct cls_entry *classifier_next(struct classifier *c, struct cls_entry *e)
{
	return live_from(c, entry_of(e)->node.next);
}

void classifier_stats_read(struct classifier *c, struct classifier_stats *out)
{
	*out = (struct classifier_stats){.entries = c->n,
					 .relabels = c->order.relabels,
					 .longest = c->n,
					 .bytes = order_bytes(&c->order)};
}

uint32_t classifier_fields(const struct classifier *c)
{
	return __atomic_load_n(&c->fields, __ATOMIC_ACQUIRE);
}

bool classifier_before(const struct classifier *c, const struct cls_entry *a,
		       const struct cls_entry *b)
{
	struct order_view v = order_view_take(&c->order);
	return order_rank(&v, &entry_of(a)->node) < order_rank(&v, &entry_of(b)->node);
}

bool classifier_visible(const struct cls_entry *entry, uint64_t version)
{
	const struct entry *e = entry_of(entry);
	return e->born <= version && version < __atomic_load_n(&e->died, __ATOMIC_RELAXED);
}

uint64_t classifier_lookup(const struct classifier *c, uint64_t version, const struct cls_key *keys,
			   uint64_t mask, const struct cls_entry *const *after,
			   const struct cls_entry **hit)
{
	uint64_t found = 0;

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const struct order_node *node = &c->order.head;
		if (after && after[i])
			node = &entry_of(after[i])->node;
		for (node = node->next; node != &c->order.head; node = node->next) {
			const struct entry *e = container_of(node, struct entry, node);
			if (e->matches && classifier_visible(&e->pub, version) &&
			    cls_rule_matches(&e->rule, &keys[i])) {
				hit[i] = &e->pub;
				found |= UINT64_C(1) << i;
				break;
			}
		}
	}
	return found;
}
