/* SPDX-License-Identifier: Apache-2.0 */
/* explain: walks over the model with what compile/ knows of its chains; see tamis/explain.h. */
#include "compile/explain.h"

#include "engine/engine.h"

const char *tamis_fate_name(enum tamis_fate f)
{
	static const char *const names[] = {
		[TAMIS_FATE_CLASSIFIER] = "classifier", [TAMIS_FATE_SET] = "set",
		[TAMIS_FATE_WALKED] = "walked",		[TAMIS_FATE_SHADOWED] = "shadowed",
		[TAMIS_FATE_NEVER] = "never",
	};

	_Static_assert(ARRAY_SIZE(names) == TAMIS_FATES, "a name each");
	return (unsigned)f < TAMIS_FATES ? names[f] : NULL;
}

static int chain_tell(const struct model_chain *chain, const struct explained *e,
		      const struct tamis_explain_ops *ops, void *arg)
{
	struct tamis_explained_chain c = {
		.family = family_name(chain->table->family),
		.table = chain->table->name,
		.chain = chain->name,
		.n_rules = chain->n_rules,
		.classifier = e->classifier,
		.entries = e->stats.entries,
		.tables = e->stats.tables + e->stats.tables6,
		.leaves = e->stats.leaves,
		.nodes = e->stats.nodes,
		.depth = e->stats.depth,
		.longest = e->stats.longest,
		.bytes = e->stats.bytes,
		.cost_ns = e->cost_ns,
		.kernel_ns = e->kernel_ns,
	};

	memcpy(c.by_fate, e->by_fate, sizeof(c.by_fate));
	return ops->chain ? ops->chain(arg, &c) : 0;
}

static int rules_tell(struct tamis *t, const struct explained *e,
		      const struct tamis_explain_ops *ops, void *arg)
{
	struct strbuf text = STRBUF_INIT;
	int err = 0;

	for (size_t k = 0; ops->rule && k < e->rules.n && !err; k++) {
		const struct explained_rule *from = &e->rules.items[k];
		struct tamis_explained_rule r = {
			.handle = from->rule->handle,
			.fate = from->fate,
			.why = from->why,
			.shadowed_by = from->shadowed_by,
			.entries = from->entries,
		};

		strbuf_truncate(&text, 0);
		t->env.numeric = PRINT_STATELESS;
		model_rule_print(from->rule, &t->env, t->now, &text);
		t->env.numeric = 0;
		r.text = strbuf_str(&text);
		err = strbuf_error(&text);
		if (!err)
			err = ops->rule(arg, &r);
	}
	strbuf_free(&text);
	return err;
}

static int advices_tell(const struct explained *e, const struct tamis_explain_ops *ops, void *arg)
{
	int err = 0;

	for (size_t k = 0; ops->advice && k < e->advices.n && !err; k++) {
		const struct explained_advice *from = &e->advices.items[k];
		struct tamis_advice a = {from->kind, from->handle, from->n, from->text};

		err = ops->advice(arg, &a);
	}
	return err;
}

static int explain_one(struct tamis *t, const struct model_chain *chain, uint32_t writes,
		       const struct tamis_explain_ops *ops, void *arg)
{
	struct explained e;
	int err = explain_chain(t->compile, chain, writes, &e);

	if (err)
		return err;
	err = chain_tell(chain, &e, ops, arg);
	if (!err)
		err = rules_tell(t, &e, ops, arg);
	if (!err)
		err = advices_tell(&e, ops, arg);
	explained_free(&e);
	return err;
}

int tamis_explain(struct tamis *t, const struct tamis_explain_ops *ops, void *arg)
{
	const struct list *tables = model_tables(t->model);
	int err = 0;

	for (const struct list *l = tables->next; l != tables && !err; l = l->next) {
		const struct model_table *table = container_of(l, struct model_table, link);
		const struct list *head = &table->chains;
		uint32_t writes = explain_writes(t->compile, table);

		for (const struct list *c = head->next; c != head && !err; c = c->next) {
			const struct model_chain *chain = container_of(c, struct model_chain, link);

			if (chain->name)
				err = explain_one(t, chain, writes, ops, arg);
		}
	}
	return err;
}
