/* SPDX-License-Identifier: Apache-2.0 */
/* report: walks over the model and the counts of its programs; see tamis/report.h. */
#include <limits.h>

#include "engine/engine.h"

void tamis_totals_get(const struct tamis *t, struct tamis_totals *out)
{
	*out = t->totals;
}

const char *tamis_malformed_name(unsigned reason)
{
	return reason < MALFORMED_KINDS ? malformed_reason_name((enum malformed_reason)reason)
					: NULL;
}

const char *tamis_malformed_text(unsigned reason)
{
	return reason < MALFORMED_KINDS ? malformed_reason_text((enum malformed_reason)reason)
					: NULL;
}

/* Calls fn for every named chain until it returns other than 0. */
static int chain_walk(struct tamis *t, int (*fn)(struct tamis *t, struct model_chain *c, void *arg),
		      void *arg)
{
	const struct list *tables = model_tables(t->model);
	int err = 0;

	for (const struct list *l = tables->next; l != tables && !err; l = l->next) {
		const struct model_table *table = container_of(l, struct model_table, link);
		const struct list *head = &table->chains;

		for (const struct list *c = head->next; c != head && !err; c = c->next) {
			struct model_chain *chain = container_of(c, struct model_chain, link);

			if (chain->name)
				err = fn(t, chain, arg);
		}
	}
	return err;
}

struct rule_visit {
	int (*fn)(void *arg, const struct tamis_rule *r);
	void *arg;
	uint64_t now;
	struct strbuf text;
};

static int rules_visit(struct tamis *t, struct model_chain *chain, void *arg)
{
	struct rule_visit *v = arg;
	const struct program *program = compile_program(chain);
	uint64_t here = program ? program_entered(program) : 0;
	int err = 0;

	for (const struct list *l = chain->rules.next; l != &chain->rules && !err; l = l->next) {
		struct model_rule *rule = container_of(l, struct model_rule, link);
		struct tamis_rule r = {
			.family = family_name(chain->table->family),
			.table = chain->table->name,
			.chain = chain->name,
			.handle = rule->handle,
		};

		const struct prog_rule *compiled = compile_rule(rule);

		if (compiled) {
			const struct prog_rule_stats *s = compiled->stats;

			r.reached = here;
			r.matched = (struct tamis_count){.packets = s->packets, .bytes = s->bytes};
			here -= program_left(program, compiled);
		}
		strbuf_truncate(&v->text, 0);
		model_rule_print(rule, &t->env, v->now, &v->text);
		err = strbuf_error(&v->text);
		r.text = strbuf_str(&v->text);
		if (!err)
			err = v->fn(v->arg, &r);
	}
	return err;
}

int tamis_rule_each(struct tamis *t, uint64_t now, int (*fn)(void *arg, const struct tamis_rule *r),
		    void *arg)
{
	struct rule_visit v = {.fn = fn, .arg = arg, .now = engine_time(now), .text = STRBUF_INIT};
	int err;

	t->env.numeric = PRINT_STATELESS;
	err = chain_walk(t, rules_visit, &v);
	t->env.numeric = 0;
	strbuf_free(&v.text);
	return err;
}

struct chain_visit {
	int (*fn)(void *arg, const struct tamis_chain *c);
	void *arg;
	struct strbuf head;
};

static int chain_visit(struct tamis *t, struct model_chain *chain, void *arg)
{
	struct chain_visit *v = arg;
	const struct program *program = compile_program(chain);
	struct tamis_chain c = {
		.family = family_name(chain->table->family),
		.table = chain->table->name,
		.chain = chain->name,
		.n_rules = chain->n_rules,
	};

	if (program) {
		c.packets = program->stats->packets;
		c.policy_packets = program->stats->policy_packets;
	}
	if (chain->decl.base) {
		const struct chain_decl head = {
			.base = true,
			.type = chain->decl.type,
			.hook = chain->decl.hook,
			.priority = chain->decl.priority,
			.has_policy = chain->decl.has_policy,
			.policy = chain->decl.policy,
			.devices = chain->decl.devices,
			.offload = chain->decl.offload,
		};

		strbuf_truncate(&v->head, 0);
		print_chain_head(chain->table->family, &head, "", &t->env, &v->head);
		if (v->head.len && v->head.data[v->head.len - 1] == '\n')
			strbuf_truncate(&v->head, v->head.len - 1);
		if (strbuf_error(&v->head))
			return -ENOMEM;
		c.head = strbuf_str(&v->head);
		c.policy = chain->decl.has_policy && chain->decl.policy == VERDICT_DROP ? "drop"
											: "accept";
	}
	return v->fn(v->arg, &c);
}

int tamis_chain_each(struct tamis *t, int (*fn)(void *arg, const struct tamis_chain *c), void *arg)
{
	struct chain_visit v = {.fn = fn, .arg = arg, .head = STRBUF_INIT};
	int err = chain_walk(t, chain_visit, &v);

	strbuf_free(&v.head);
	return err;
}

int tamis_set_each(struct tamis *t, uint64_t now, int (*fn)(void *arg, const struct tamis_set *s),
		   void *arg)
{
	const struct list *tables = model_tables(t->model);
	int err = 0;

	now = engine_time(now);
	engine_collect(t, now, UINT_MAX);
	for (const struct list *l = tables->next; l != tables && !err; l = l->next) {
		const struct model_table *table = container_of(l, struct model_table, link);
		const struct list *head = &table->sets;

		for (const struct list *i = head->next; i != head && !err; i = i->next) {
			const struct model_set *set = container_of(i, struct model_set, link);
			const struct set_stats *stats = set_stats_of(set->set);
			struct tamis_set s = {
				.family = family_name(table->family),
				.table = table->name,
				.set = set->name,
				.map = set->decl.flags & (SETF_MAP | SETF_OBJECT),
				.kind = set_kind_name(set->set),
				.elements = set_count(set->set, now),
				.hits = stats->hits,
				.added = stats->added,
				.expired = stats->expired,
				.full = stats->full,
				.unready = stats->unready,
			};

			if (!(set->decl.flags & SETF_ANONYMOUS))
				err = fn(arg, &s);
		}
	}
	return err;
}
