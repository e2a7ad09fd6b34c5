/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier: entries, versions and roots; see classifier.h.
 *
 * The structure. An entry is in one of four tables, its root, by which of its two addresses are
 * long: at least 16 bits of an IPv4 address, 48 of an IPv6 address. A packet is looked up in at
 * most these four, by the hash of as many bits. A slot mostly says at once that there is nothing
 * for it; else it leads to a leaf of at most eight entries to compare, all at once
 * (classifier_table.c). Where more than eight entries have the same hash, a split, a table or a
 * chain is between (classifier_shape.c). Each root has a bound, a place in the order before all of
 * its entries: roots are visited in the order of their bounds, and not at all when a hit is before
 * the bound. The shape of the structure depends on rules alone: packets make nothing.
 *
 * IPv4 has its own roots; IPv6 and packets that are neither share the other four. An entry for any
 * family is in both. With config.without there are as many again for keys without these fields.
 *
 * The roots take the place of the tuples of tuple space search (Srinivasan, Suri and Varghese,
 * 1999) and of its relaxed form TupleMerge (Daly et al., 2019): few, because leaves do not need
 * their entries to have equal masks. Measured against both in bench/bench_acl.c.
 *
 * Costs, n entries. Lookup: up to four probes, each O(1) while entries that overlap in all fields
 * are few, and n/8 steps of a leaf when none can be told from another. Change: O(log n) for the
 * order; a leaf and what it takes to shape CLS_GATHER_MAX entries for the structure; times the
 * copies of the entry, at most four a split. What a directory copies to grow is at most 1/1,024th
 * of it.
 *
 * What holds:
 *  A. A leaf that a reader reached stays as it was, but for lanes that go, until it is quiet.
 *  B. An entry is in the structure from before its first version is committed until no reader
 *     reads a version that has it; in the order until no reader holds it.
 *  C. A shape is complete before the one store that makes it reachable.
 */
#include "acl/classifier.h"

#include <stdlib.h>

#include "acl/classifier_internal.h"

enum { BOUND_STEPS = 32, WAIT_NS = 1000000000 };

static const struct cls_ops *const variants[] = {
#ifdef __x86_64__
	&cls_avx512,
	&cls_avx2,
#endif
	&cls_scalar,
};

static const struct cls_ops *ops_best(void)
{
	unsigned i = 0;
	while (!variants[i]->usable())
		i++;
	return variants[i];
}

/* --- the whole ------------------------------------------------------------------------------- */

static void side_init(struct cls_side *s, bool ipv4, uint8_t without)
{
	s->ipv4 = ipv4;
	s->without = without;
	s->mask[0] = ipv4 ? 0xffff0000 : 0xffffffff;
	s->mask[1] = ipv4 ? 0 : 0xffff0000;
	for (unsigned r = 0; r < CLS_ROOTS; r++) {
		struct cls_table *t = &s->root[r].table;
		t->shape.kind = CLS_TABLE;
		t->n_words = ipv4 ? 2 : 4;
		for (unsigned i = 0; i < t->n_words; i++) {
			t->word[i] = (i & 1 ? CLS_AT_DADDR : CLS_AT_SADDR) / 32 + i / 2;
			t->mask[i] = r >> (i & 1) & 1 ? 0 : s->mask[i / 2];
		}
	}
}

int classifier_new(const struct classifier_config *config, struct classifier **out)
{
	if (config->max_entries > CLS_ENTRIES_MAX || !config->version)
		return -EINVAL;
	struct classifier *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->config = *config;
	if (!c->config.max_entries)
		c->config.max_entries = CLS_ENTRIES_DEFAULT;
	if (!c->config.max_places)
		c->config.max_places = CLS_PLACES_DEFAULT;
	if (!c->config.max_chain)
		c->config.max_chain = CLS_ENTRIES_MAX;
	c->ops = ops_best();
	struct hash_secret secret;
	int err = hash_secret_draw(&secret);
	for (unsigned i = 0; !err && i < CLS_HASH_KEYS; i++)
		c->keys[i] = hash_bytes(&secret, &i, sizeof(i));
	if (!err)
		err = order_init(&c->order, config->rcu,
				 config->wait_ns ? config->wait_ns : WAIT_NS);
	for (unsigned i = 0; i < CLS_SIDES; i++)
		side_init(&c->side[i], !(i & 1), i < 2 ? 0 : config->without);
	if (err) {
		classifier_free(c);
		return err;
	}
	*out = c;
	return 0;
}

static void destroy(struct classifier *c)
{
	struct order_node *next;

	cls_retire_end(c);
	for (struct order_node *o = c->order.head.next; o && o != &c->order.head; o = next) {
		struct cls_node *e = container_of(o, struct cls_node, order);
		next = o->next;
		cls_cookie_release(c, e);
		cls_node_free(c, e);
	}
	for (unsigned i = 0; i < CLS_NODE_POOLS; i++)
		pool_release(&c->nodes[i]);
	for (unsigned i = 0; i < CLS_SIDES; i++)
		for (unsigned r = 0; r < CLS_ROOTS; r++)
			if (c->side[i].root[r].table.dir)
				cls_tree_free(c, &c->side[i].root[r].table.dir->shape);
	for (unsigned i = 0; i < 2; i++)
		pool_release(&c->leaves[i]);
	order_release(&c->order);
	free(c);
}

static void order_settled(struct order *o)
{
	cls_end(container_of(o, struct classifier, order));
}

void cls_end(struct classifier *c)
{
	if (c->ending && !c->outstanding && !c->order.pending)
		destroy(c);
}

void classifier_free(struct classifier *c)
{
	if (!c)
		return;
	classifier_abort(c);
	c->ending = true;
	c->order.settled = order_settled;
	cls_end(c);
}

/* --- versions -------------------------------------------------------------------------------- */

static uint64_t next_version(const struct classifier *c)
{
	return *c->config.version + 1;
}

/* Read by lookups, to choose their way. */
static void count(struct classifier *c, int by)
{
	__atomic_store_n(&c->n, c->n + (uint32_t)by, __ATOMIC_RELAXED);
}

void classifier_commit(struct classifier *c)
{
	struct cls_node *dead = NULL, *e;

	while ((e = c->changes)) {
		c->changes = e->change;
		e->rule.changed = false;
		if (e->died != UINT64_MAX) {
			e->change = dead;
			dead = e;
		}
	}
	if (dead)
		cls_retire_entries(c, dead, NULL);
}

void classifier_abort(struct classifier *c)
{
	uint64_t next = next_version(c);
	struct cls_node *gone = NULL, *e;

	while ((e = c->changes)) {
		c->changes = e->change;
		e->rule.changed = false;
		if (e->born == next) {
			count(c, -(e->died == UINT64_MAX));
			cls_take_out(c, e);
			e->change = gone;
			gone = e;
		} else {
			__atomic_store_n(&e->died, UINT64_MAX, __ATOMIC_RELAXED);
			count(c, 1);
		}
	}
	if (gone)
		cls_retire_entries(c, NULL, gone);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* The next in order that is in the structure or has been in none; NULL at the end. */
static struct cls_node *next_inside(struct classifier *c, struct cls_node *e)
{
	do {
		if (e->order.next == &c->order.head)
			return NULL;
		e = container_of(e->order.next, struct cls_node, order);
	} while (cls_root_of(e, 0) == CLS_OUT);
	return e;
}

/* Moves a bound that is no entry of its root nearer to the first that is. */
static void bound_advance(struct classifier *c, unsigned side, unsigned r)
{
	struct cls_root *root = &c->side[side].root[r];
	struct cls_node *e = root->table.shape.n ? root->bound : NULL;

	for (unsigned i = 0; e && i < BOUND_STEPS && cls_root_of(e, side) != r; i++)
		e = next_inside(c, e);
	if (e != root->bound)
		__atomic_store_n(&root->bound, e, __ATOMIC_RELEASE);
}

static void bounds_advance(struct classifier *c)
{
	for (unsigned side = 0; side < CLS_SIDES; side++)
		for (unsigned r = 0; r < CLS_ROOTS; r++)
			if (c->side[side].root[r].bound)
				bound_advance(c, side, r);
}

static void bound_lower(struct classifier *c, struct cls_root *root, const struct cls_item *item)
{
	struct order_view v = order_view_take(&c->order);
	if (!root->bound || item->rank < order_rank(&v, &root->bound->order))
		__atomic_store_n(&root->bound, item->entry, __ATOMIC_RELEASE);
}

/* --- changes --------------------------------------------------------------------------------- */

enum { PLACES_AN_ENTRY = 16 };

/* Are there more places taken than entries of a policy may have? A leaf counts as full. */
static bool places_taken(const struct classifier *c)
{
	uint64_t leaves = (uint64_t)c->leaves[0].in_use + c->leaves[1].in_use;
	uint64_t each = c->config.without ? 2 * PLACES_AN_ENTRY : PLACES_AN_ENTRY;
	return leaves * CLS_LANES > c->n * each + c->config.max_places;
}

static int put_in_side(struct classifier *c, unsigned side, struct cls_node *e)
{
	struct cls_side *s = &c->side[side];
	struct cls_item item;
	unsigned r = 0;

	cls_item_make(c, e, s, &item);
	if (item.form.never)
		return 0;
	while (!cls_table_fits(&s->root[r].table, &item.form))
		r++;
	if (!s->root[r].table.dir && cls_table_init(c, &s->root[r].table))
		return -ENOMEM;
	/* First the bound: who finds the entry must not have left out its root. */
	bound_lower(c, &s->root[r], &item);
	int err = cls_table_insert(c, s, &s->root[r].table, &item, 0);
	if (err)
		return err;
	cls_root_set(e, side, r);
	return 0;
}

void cls_take_out(struct classifier *c, struct cls_node *e)
{
	struct cls_item item;

	for (unsigned side = 0; side < CLS_SIDES; side++) {
		unsigned r = cls_root_of(e, side);
		if (r >= CLS_ROOTS)
			continue;
		cls_item_make(c, e, &c->side[side], &item);
		cls_table_remove(c, &c->side[side], &c->side[side].root[r].table, &item);
	}
	for (unsigned side = 0; side < CLS_SIDES; side++)
		cls_root_set(e, side, CLS_OUT);
	for (unsigned side = 0; side < CLS_SIDES; side++)
		for (unsigned r = 0; r < CLS_ROOTS; r++)
			if (c->side[side].root[r].bound == e)
				bound_advance(c, side, r);
}

int classifier_insert(struct classifier *c, struct cls_entry *before, const struct cls_rule *rule,
		      void *cookie, struct cls_entry **out)
{
	uint32_t fields = c->fields;
	struct cls_node *e;

	if (c->n >= c->config.max_entries)
		return -EDQUOT;
	if (rule && cls_rule_check(rule))
		return -EINVAL;
	if (rule && places_taken(c)) {
		c->refused++;
		return -E2BIG;
	}
	unsigned words = rule ? cls_rule_words(rule) : 0;
	if (cls_retire_prepare(c))
		return -ENOMEM;
	e = cls_node_new(c, words);
	if (!e)
		return -ENOMEM;
	*e = (struct cls_node){.pub.cookie = cookie, .born = next_version(c), .died = UINT64_MAX};
	for (unsigned side = 0; side < CLS_SIDES; side++)
		cls_root_set(e, side, CLS_NO_ROOT);
	if (rule)
		cls_rule_pack(rule, &e->rule);
	int err = order_insert(&c->order, before ? &cls_node_of(before)->order : &c->order.head,
			       &e->order);
	if (err) {
		cls_node_free(c, e);
		return err;
	}
	if (rule) {
		for (unsigned i = 0; i < rule->n; i++)
			fields |= UINT32_C(1) << rule->conds[i].field;
		__atomic_store_n(&c->fields, fields, __ATOMIC_RELEASE);
		for (unsigned side = 0; !err && side < (c->config.without ? CLS_SIDES : 2U); side++)
			if (rule->family == CLS_ANY ||
			    (rule->family == CLS_IPV4) == c->side[side].ipv4)
				err = put_in_side(c, side, e);
	}
	if (err) {
		cls_take_out(c, e);
		e->change = NULL;
		e->pub.cookie = NULL;
		cls_retire_entries(c, NULL, e);
		return err;
	}
	e->change = c->changes;
	c->changes = e;
	e->rule.changed = true;
	*out = &e->pub;
	count(c, 1);
	bounds_advance(c);
	cls_retire_flush(c);
	return 0;
}

void classifier_delete(struct classifier *c, struct cls_entry *entry)
{
	struct cls_node *e = cls_node_of(entry);

	__atomic_store_n(&e->died, next_version(c), __ATOMIC_RELAXED);
	if (!e->rule.changed) {
		e->rule.changed = true;
		e->change = c->changes;
		c->changes = e;
	}
	count(c, -1);
}

/* --- walking ---------------------------------------------------------------------------------- */

struct cls_entry *classifier_next(struct classifier *c, struct cls_entry *e)
{
	for (struct order_node *o = cls_node_of(e)->order.next; o != &c->order.head; o = o->next)
		if (container_of(o, struct cls_node, order)->died == UINT64_MAX)
			return &container_of(o, struct cls_node, order)->pub;
	return NULL;
}

struct survey {
	struct classifier_stats *out;
	unsigned tables, depth;
};

static void survey(void *ctx, struct cls_shape *s)
{
	struct survey *v = ctx;
	struct classifier_stats *o = v->out;

	if (s->kind == CLS_LEAF) {
		o->leaves++;
		o->copies += (uint32_t)__builtin_popcount(s->valid);
		o->depth = MAX(o->depth, v->depth);
		return;
	}
	if (s->kind != CLS_DIRECTORY) {
		o->nodes++;
		v->depth++;
	}
	if (s->kind == CLS_CHAIN && !container_of(s, struct cls_chain, shape)->alike)
		o->longest = MAX(o->longest, s->n);
	v->tables += s->kind == CLS_TABLE;
	cls_shape_each(s, survey, v);
	if (s->kind != CLS_DIRECTORY)
		v->depth--;
}

void classifier_stats_read(struct classifier *c, struct classifier_stats *out)
{
	*out = (struct classifier_stats){
		.entries = c->n, .relabels = c->order.relabels, .refused = c->refused};
	for (unsigned side = 0; side < CLS_SIDES; side++) {
		struct survey v = {.out = out};
		for (unsigned r = 0; r < CLS_ROOTS; r++) {
			struct cls_table *t = &c->side[side].root[r].table;
			v.tables += t->shape.n != 0;
			if (t->dir)
				survey(&v, &t->dir->shape);
		}
		if (side & 1)
			out->tables6 += v.tables;
		else
			out->tables += v.tables;
	}
	out->longest = MAX(out->longest, MIN(out->entries, CLS_LANES));
	out->bytes = sizeof(*c) + c->bytes + order_bytes(&c->order) + c->leaves[0].bytes +
		     c->leaves[1].bytes;
	for (unsigned i = 0; i < CLS_NODE_POOLS; i++)
		out->bytes += c->nodes[i].bytes;
}

/* --- lookups ---------------------------------------------------------------------------------- */

uint32_t classifier_fields(const struct classifier *c)
{
	return __atomic_load_n(&c->fields, __ATOMIC_ACQUIRE);
}

bool classifier_before(const struct classifier *c, const struct cls_entry *a,
		       const struct cls_entry *b)
{
	struct order_view v = order_view_take(&c->order);
	return order_rank(&v, &cls_node_of(a)->order) < order_rank(&v, &cls_node_of(b)->order);
}

uint64_t classifier_lookup(const struct classifier *c, uint64_t version, const struct cls_key *keys,
			   uint64_t mask, const struct cls_entry *const *after,
			   const struct cls_entry **hit)
{
	struct cls_lookup l;
	uint64_t ranks[CLS_BURST];

	l.c = c;
	l.version = version;
	l.view = order_view_take(&c->order);
	l.keys = keys;
	l.after = after ? ranks : NULL;
	l.hit = hit;
	l.without = 0;
	memset(l.best, 0xff, sizeof(l.best));
	for (uint64_t rest = c->config.without ? mask : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		l.without |= (uint64_t)(keys[i].without != 0) << i;
	}
	for (uint64_t rest = after ? mask : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		ranks[i] = after[i] ? order_rank(&l.view, &cls_node_of(after[i])->order) : 0;
	}
	return c->ops->lookup(&l, mask);
}
