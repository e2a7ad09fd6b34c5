/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile: builds roots by difference, publishes and frees them.
 *
 * The published root is the cache: a chain whose version is that of its program there keeps the
 * program; in a chain that changed, rules that are in the old program keep their compiled form.
 * Versions and chain ids are never used twice, handles not within a chain.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "compile/build.h"

int compile_new(const struct compile_config *config, struct compile **out)
{
	struct compile *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	if (config)
		c->config = *config;
	*out = c;
	return 0;
}

const struct program_root *compile_root(const struct compile *c)
{
	return atomic_load_explicit(&c->root, memory_order_acquire);
}

const struct program *compile_program(const struct compile *c, const struct model_chain *chain)
{
	const struct program_root *root = compile_root(c);

	return root ? program_find(root, chain->id) : NULL;
}

/* --- programs ------------------------------------------------------------------------------- */

static void stats_unref(struct chain_stats *s)
{
	if (!--s->refs)
		free(s);
}

static void program_unref(struct compiled_program *p)
{
	if (--p->refs)
		return;
	for (uint32_t k = 0; k < p->pub.n_rules; k++)
		rule_unref(container_of(p->rules[k], struct compiled_rule, pub));
	stats_unref(p->stats);
	free(p->rules);
	free(p);
}

/* Finds rules of the former program: in the same order first, by a map once that fails. */
struct reuse {
	const struct compiled_program *old; /* or NULL */
	uint32_t next;
	bool mapped;
	struct map by_rule;
};

static bool is_same(const struct prog_rule *p, const struct model_rule *r)
{
	return p->rule == r && p->handle == r->handle;
}

static int reuse_map(struct reuse *u)
{
	const struct compiled_program *old = u->old;
	int err = 0;

	for (uint32_t k = u->next; k < old->pub.n_rules && !err; k++)
		err = map_insert(&u->by_rule, &old->rules[k]->rule, sizeof(old->rules[k]->rule),
				 old->rules[k]);
	u->mapped = !err;
	return err;
}

/* *out NULL: it is new. */
static int reuse_find(struct reuse *u, const struct model_rule *r, struct prog_rule **out)
{
	const struct compiled_program *old = u->old;
	struct prog_rule *p;
	int err;

	*out = NULL;
	if (!old)
		return 0;
	if (u->mapped) {
		p = map_find(&u->by_rule, &r, sizeof(r));
		*out = p && is_same(p, r) ? p : NULL;
		return 0;
	}
	/* The next one, or the one behind a rule that went. */
	for (uint32_t k = u->next; k < old->pub.n_rules && k <= u->next + 1; k++) {
		if (!is_same(old->rules[k], r))
			continue;
		*out = old->rules[k];
		u->next = k + 1;
		return 0;
	}
	/* At the end, or in front of the next old rule: a rule that came. */
	if (u->next >= old->pub.n_rules)
		return 0;
	if (r->link.next != &r->chain->rules &&
	    is_same(old->rules[u->next], container_of(r->link.next, struct model_rule, link)))
		return 0;
	err = reuse_map(u);
	return err ? err : reuse_find(u, r, out);
}

static int rules_fill(struct compile *c, struct compiled_program *p,
		      const struct model_chain *chain, struct reuse *u)
{
	for (const struct model_link *l = chain->rules.next; l != &chain->rules; l = l->next) {
		const struct model_rule *r = container_of(l, struct model_rule, link);
		struct prog_rule *pub;
		struct compiled_rule *rule;
		int err = reuse_find(u, r, &pub);

		if (err)
			return err;
		if (pub) {
			rule = container_of(pub, struct compiled_rule, pub);
			rule->refs++;
		} else {
			err = rule_compile(c, r, &rule);
			if (err)
				return err;
		}
		p->rules[p->pub.n_rules++] = &rule->pub;
		p->needs |= rule->needs;
	}
	return 0;
}

static int program_make(struct compile *c, const struct model_chain *chain,
			const struct compiled_program *old, struct compiled_program **out)
{
	struct compiled_program *p = calloc(1, sizeof(*p));
	struct reuse u = {.old = old};
	int err = -ENOMEM;

	if (!p)
		return -ENOMEM;
	p->refs = 1;
	p->version = chain->version;
	p->stats = old ? old->stats : calloc(1, sizeof(*p->stats));
	p->rules = calloc(chain->n_rules + 1u, sizeof(struct prog_rule *));
	if (!p->stats || !p->rules) {
		if (!old)
			free(p->stats);
		free(p->rules);
		free(p);
		return -ENOMEM;
	}
	p->stats->refs++;
	p->pub.chain_id = chain->id;
	p->pub.chain = chain;
	p->pub.rules = p->rules;
	p->pub.stats = &p->stats->pub;
	err = rules_fill(c, p, chain, &u);
	map_free(&u.by_rule);
	if (err) {
		program_unref(p);
		return err;
	}
	*out = p;
	return 0;
}

/* --- roots ---------------------------------------------------------------------------------- */

static const struct compiled_root *root_of(const struct program_root *r)
{
	return r ? container_of(r, struct compiled_root, pub) : NULL;
}

static void needs_apply(struct program_root *root, const struct model_table *t, uint8_t needs)
{
	root->exact |= (needs & NEED_EXACT) != 0;
	if (!(needs & NEED_CONNTRACK))
		return;
	root->conntrack[CLASS_IPV4] |= t->family == FAMILY_IP || t->family == FAMILY_INET;
	root->conntrack[CLASS_IPV6] |= t->family == FAMILY_IP6 || t->family == FAMILY_INET;
	root->conntrack[CLASS_BRIDGE] |= t->family == FAMILY_BRIDGE;
}

/* The program of the chain, and those of the chains that its rules own. */
static int chain_build(struct compile *c, struct compiled_root *root,
		       const struct model_chain *chain)
{
	const struct program *pub = compile_program(c, chain);
	struct compiled_program *p =
		pub ? container_of((struct program *)pub, struct compiled_program, pub) : NULL;
	int err;

	if (p && p->version == chain->version)
		p->refs++;
	else if ((err = program_make(c, chain, p, &p)))
		return err;
	err = vec_push(&root->programs, p);
	if (err) {
		program_unref(p);
		return err;
	}
	needs_apply(&root->pub, chain->table, p->needs);
	for (const struct model_link *l = chain->rules.next; l != &chain->rules; l = l->next) {
		const struct model_rule *r = container_of(l, struct model_rule, link);

		for (const struct model_link *a = r->anonymous.next; a != &r->anonymous;
		     a = a->next) {
			err = chain_build(c, root, container_of(a, struct model_chain, link));
			if (err)
				return err;
		}
	}
	return 0;
}

static void program_insert(struct program_root *r, const struct program *p)
{
	uint32_t i = program_slot(p->chain_id) & r->slot_mask;

	while (r->slots[i].chain_id)
		i = (i + 1) & r->slot_mask;
	r->slots[i] = (struct prog_slot){p->chain_id, p};
}

static int slots_build(struct compiled_root *root)
{
	uint32_t n = 4;

	while (n < root->programs.n * 2)
		n *= 2;
	root->pub.slots = calloc(n, sizeof(*root->pub.slots));
	if (!root->pub.slots)
		return -ENOMEM;
	root->pub.slot_mask = n - 1;
	vec_foreach (&root->programs, p)
		program_insert(&root->pub, &(*p)->pub);
	return 0;
}

static uint64_t chain_id(const void *chain)
{
	return ((const struct model_chain *)chain)->id;
}

static struct state *object_state(const void *object)
{
	return ((const struct model_object *)object)->state;
}

static int root_build(struct compile *c, struct compiled_root *root, struct model *m)
{
	const struct model_link *tables = model_tables(m);
	int err;

	for (const struct model_link *t = tables->next; t != tables; t = t->next) {
		const struct model_link *chains =
			&container_of(t, struct model_table, link)->chains;

		for (const struct model_link *l = chains->next; l != chains; l = l->next) {
			err = chain_build(c, root, container_of(l, struct model_chain, link));
			if (err)
				return err;
		}
	}
	err = slots_build(root);
	return err ? err : hooks_build(root, m);
}

int compile_build(struct compile *c, struct model *m, struct program_root **out)
{
	struct compiled_root *root = calloc(1, sizeof(*root));
	int err;

	if (!root)
		return -ENOMEM;
	root->arena = ARENA_INIT;
	root->pub.chain_id = chain_id;
	root->pub.object_state = object_state;
	root->pub.generation = c->generation + 1;
	err = root_build(c, root, m);
	if (err) {
		program_root_free(&root->pub);
		return err;
	}
	*out = &root->pub;
	return 0;
}

struct program_root *compile_publish(struct compile *c, struct program_root *root)
{
	c->generation = root->generation;
	return atomic_exchange_explicit(&c->root, root, memory_order_acq_rel);
}

void program_root_free(struct program_root *pub)
{
	struct compiled_root *root = (struct compiled_root *)root_of(pub);

	if (!root)
		return;
	vec_foreach (&root->programs, p)
		program_unref(*p);
	vec_free(&root->programs);
	free(root->pub.slots);
	arena_free(&root->arena);
	free(root);
}

void compile_free(struct compile *c)
{
	if (!c)
		return;
	program_root_free(atomic_load(&c->root));
	vec_foreach (&c->notes, what)
		free(*what);
	vec_free(&c->notes);
	map_free(&c->noted);
	free(c);
}
