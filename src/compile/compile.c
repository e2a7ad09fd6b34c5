/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile: builds by difference, publishes, takes back and frees.
 *
 * Of a transaction first what went is marked, then programs are made for the chains that came, so
 * that rules find where they jump to, then rules for the rules. What came and went again within the
 * transaction is not looked at: it is marked as deleted, or what it stood in is.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "compile/classify.h"

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

static const struct compiled_root *published(const struct compile *c)
{
	const struct program_root *r = compile_root(c);

	return r ? container_of(r, struct compiled_root, pub) : NULL;
}

/* --- what changed --------------------------------------------------------------------------- */

static bool chain_is_live(const struct model_chain *chain)
{
	return !chain->deleted && !chain->table->deleted;
}

static int chain_went(struct compile *c, struct model_chain *chain)
{
	struct compiled_program *p = chain->program;

	return p && !p->gone ? program_end(c, p) : 0;
}

static int table_went(struct compile *c, struct model_table *t)
{
	int err = 0;

	for (struct list *l = t->chains.next; l != &t->chains && !err; l = l->next)
		err = chain_went(c, container_of(l, struct model_chain, link));
	return err;
}

static int went(struct compile *c, const struct model_change *ch)
{
	struct compiled_rule *r;

	switch (ch->noun) {
	case NOUN_TABLE:
		return table_went(c, ch->item);
	case NOUN_CHAIN:
		return chain_went(c, ch->item);
	case NOUN_RULE:
		r = ((struct model_rule *)ch->item)->compiled;
		return r && r->pub.to == UINT64_MAX ? rule_end(c, r) : 0;
	default:
		return 0;
	}
}

static int chain_came(struct compile *c, struct model_chain *chain)
{
	return chain->program || !chain_is_live(chain) ? 0 : program_add(c, chain);
}

static int rule_came(struct compile *c, struct model_rule *rule)
{
	return rule->compiled || rule->deleted || !chain_is_live(rule->chain) ? 0
									      : rules_add(c, rule);
}

/* fn for each change of that kind and noun; NOUNS: of any. */
static int changes_each(struct compile *c, const struct model *m, enum model_change_kind kind,
			int (*fn)(struct compile *c, const struct model_change *ch))
{
	struct model_change ch;
	int err = 0;

	for (size_t i = 0; i < model_change_count(m) && !err; i++)
		if (model_change_at(m, i, &ch) && ch.kind == kind)
			err = fn(c, &ch);
	return err;
}

static int came_chain(struct compile *c, const struct model_change *ch)
{
	return ch->noun == NOUN_CHAIN ? chain_came(c, ch->item) : 0;
}

static int came_rule(struct compile *c, const struct model_change *ch)
{
	return ch->noun == NOUN_RULE ? rule_came(c, ch->item) : 0;
}

/* A policy, a device, a dormant table. */
static int changed(struct compile *c, const struct model_change *ch)
{
	(void)ch;
	c->changes.hooks = true;
	return 0;
}

static int changes_apply(struct compile *c, const struct model *m)
{
	int err = changes_each(c, m, MODEL_WENT, went);

	if (!err)
		err = changes_each(c, m, MODEL_CAME, came_chain);
	if (!err)
		err = changes_each(c, m, MODEL_CAME, came_rule);
	if (!err)
		err = changes_each(c, m, MODEL_CHANGED, changed);
	return err;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int chains_each(struct compile *c, const struct model *m,
		       int (*fn)(struct compile *c, struct model_chain *chain))
{
	const struct list *tables = model_tables(m);
	int err = 0;

	for (const struct list *t = tables->next; t != tables; t = t->next) {
		const struct list *chains = &container_of(t, struct model_table, link)->chains;

		for (struct list *l = chains->next; l != chains && !err; l = l->next)
			err = fn(c, container_of(l, struct model_chain, link));
	}
	return err;
}

static int rules_came(struct compile *c, struct model_chain *chain)
{
	const struct list *l = chain->rules.next;

	return l == &chain->rules ? 0 : rule_came(c, container_of(l, struct model_rule, link));
}

static int model_take(struct compile *c, const struct model *m)
{
	int err = chains_each(c, m, chain_came);

	c->changes.hooks = true;
	return err ? err : chains_each(c, m, rules_came);
}

/* --- roots ---------------------------------------------------------------------------------- */

static struct state *object_state(const void *object)
{
	return ((const struct model_object *)object)->state;
}

static void root_free(struct compiled_root *root)
{
	if (!root)
		return;
	hooks_unref(root->hooks);
	free(root);
}

static int root_make(struct compile *c)
{
	const struct compiled_root *former = published(c);
	struct compiled_root *root = calloc(1, sizeof(*root));
	int err = 0;

	if (!root)
		return -ENOMEM;
	if (c->changes.hooks) {
		err = hooks_build(c, &root->hooks);
	} else {
		root->hooks = former->hooks;
		root->hooks->refs++;
	}
	if (err) {
		free(root);
		return err;
	}
	root->pub.version = c->version + 1;
	memcpy(root->pub.hooks, root->hooks->lists, sizeof(root->pub.hooks));
	root->pub.exact = c->n_exact != 0;
	root->pub.ordered = c->n_ordered != 0;
	root->pub.conns = c->n_conns;
	for (unsigned k = 0; k < PROG_CLASSES; k++) {
		root->pub.conntrack[k] = c->n_conntrack[k] || root->hooks->nat[k];
		/* Their chains see a flow's first packet alone. */
		root->pub.exact |= root->hooks->nat[k];
	}
	root->pub.program_of = program_of;
	root->pub.object_state = object_state;
	c->changes.root = root;
	return 0;
}

/* --- steps ---------------------------------------------------------------------------------- */

enum { CHANGES_KEPT = 1024 };

#define list_empty(v)                                                                              \
	do {                                                                                       \
		(v)->n = 0;                                                                        \
		if ((v)->cap > CHANGES_KEPT)                                                       \
			vec_free(v);                                                               \
	} while (0)

/* Lists of a large change are not kept for the next one. */
static void changes_end(struct changes *ch)
{
	list_empty(&ch->came);
	list_empty(&ch->went);
	list_empty(&ch->programs_came);
	list_empty(&ch->programs_went);
	list_empty(&ch->touched);
	ch->hooks = false;
	ch->root = NULL;
}

/* For programs that have grown. */
static int classifiers_begin(struct compile *c)
{
	int err = 0;

	for (size_t k = 0; k < c->changes.touched.n && !err; k++) {
		struct compiled_program *p = c->changes.touched.items[k];

		if (p->classifier || p->n_rules < (c->config.classify ? 1 : CLASSIFY_RULES))
			continue;
		err = classify_begin(c, p);
		p->begun = !err;
	}
	return err;
}

int compile_build(struct compile *c, struct model *m)
{
	int err = published(c) ? changes_apply(c, m) : model_take(c, m);

	if (!err)
		err = classifiers_begin(c);
	if (!err)
		err = root_make(c);
	if (err)
		compile_abort(c);
	return err;
}

void compile_abort(struct compile *c)
{
	struct changes *ch = &c->changes;

	root_free(ch->root);
	vec_foreach (&ch->touched, p)
		if ((*p)->begun)
			classify_stop(*p);
	while (ch->came.n)
		rule_add_undo(c, ch->came.items[--ch->came.n]);
	vec_foreach (&ch->went, r)
		rule_end_undo(c, *r);
	vec_foreach (&ch->touched, p) {
		if ((*p)->classifier)
			classifier_abort((*p)->classifier);
		(*p)->touched = (*p)->begun = false;
	}
	while (ch->programs_came.n)
		program_free(c, ch->programs_came.items[--ch->programs_came.n]);
	vec_foreach (&ch->programs_went, p)
		(*p)->gone = false;
	changes_end(ch);
}

void compile_publish(struct compile *c)
{
	struct program_root *former, *root = &c->changes.root->pub;

	vec_foreach (&c->changes.went, r)
		classify_leave(*r);
	__atomic_store_n(&c->version, root->version, __ATOMIC_RELEASE);
	vec_foreach (&c->changes.touched, p) {
		(*p)->pub.epoch = root->version;
		(*p)->begun = false;
		if ((*p)->classifier)
			classifier_commit((*p)->classifier);
	}
	former = atomic_exchange_explicit(&c->root, root, memory_order_acq_rel);
	c->former = former ? container_of(former, struct compiled_root, pub) : NULL;
}

void compile_settle(struct compile *c)
{
	struct changes *ch = &c->changes;

	root_free(c->former);
	c->former = NULL;
	vec_foreach (&ch->touched, p)
		(*p)->touched = false;
	vec_foreach (&ch->went, r)
		rule_free_compiled(*r);
	vec_foreach (&ch->programs_went, p)
		program_free(c, *p);
	changes_end(ch);
}

void compile_free(struct compile *c)
{
	if (!c)
		return;
	root_free((struct compiled_root *)published(c));
	while (c->programs.n)
		program_free(c, c->programs.items[c->programs.n - 1]);
	vec_free(&c->programs);
	vec_free(&c->bases);
	vec_free(&c->changes.came);
	vec_free(&c->changes.went);
	vec_free(&c->changes.programs_came);
	vec_free(&c->changes.programs_went);
	vec_free(&c->changes.touched);
	vec_foreach (&c->notes, what)
		free(*what);
	vec_free(&c->notes);
	map_free(&c->noted);
	free(c);
}
