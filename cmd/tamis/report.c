/* SPDX-License-Identifier: Apache-2.0 */
/* report: reads the engine; see report.h. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *report_items_add(void *items_ptr, size_t *n, size_t size)
{
	char **items = items_ptr;

	if ((*n & (*n - 1)) == 0) {
		char *more = reallocarray(*items, *n ? 2 * *n : 1, size);

		if (!more)
			return NULL;
		*items = more;
	}
	return memset(*items + (*n)++ * size, 0, size);
}

/* A copy that may be NULL only if s is; clears *ok when there is no memory. */
static char *copy(const char *s, bool *ok)
{
	char *c = s ? strdup(s) : NULL;

	if (s && !c)
		*ok = false;
	return c;
}

static int rule_add(void *arg, const struct tamis_rule *from)
{
	struct report *r = arg;
	struct report_rule *to = report_items_add(&r->rules, &r->n_rules, sizeof(*to));
	bool ok = true;

	if (!to)
		return -ENOMEM;
	to->family = copy(from->family, &ok);
	to->table = copy(from->table, &ok);
	to->chain = copy(from->chain, &ok);
	to->text = copy(from->text, &ok);
	to->handle = from->handle;
	to->reached = from->reached;
	to->packets = from->matched.packets;
	to->bytes = from->matched.bytes;
	return ok ? 0 : -ENOMEM;
}

static int chain_add(void *arg, const struct tamis_chain *from)
{
	struct report *r = arg;
	struct report_chain *to = report_items_add(&r->chains, &r->n_chains, sizeof(*to));
	bool ok = true;

	if (!to)
		return -ENOMEM;
	to->family = copy(from->family, &ok);
	to->table = copy(from->table, &ok);
	to->chain = copy(from->chain, &ok);
	to->head = copy(from->head, &ok);
	to->policy = copy(from->policy, &ok);
	to->packets = from->packets;
	to->policy_packets = from->policy_packets;
	to->n_rules = from->n_rules;
	return ok ? 0 : -ENOMEM;
}

static int set_add(void *arg, const struct tamis_set *from)
{
	struct report *r = arg;
	struct report_set *to = report_items_add(&r->sets, &r->n_sets, sizeof(*to));
	bool ok = true;

	if (!to)
		return -ENOMEM;
	to->family = copy(from->family, &ok);
	to->table = copy(from->table, &ok);
	to->set = copy(from->set, &ok);
	to->kind = copy(from->kind, &ok);
	to->map = from->map;
	to->elements = from->elements;
	to->hits = from->hits;
	to->added = from->added;
	to->expired = from->expired;
	to->full = from->full;
	to->unready = from->unready;
	return ok ? 0 : -ENOMEM;
}

/* Most packets first; equal ones keep the order of the listing. */
static int rule_more_hit(const void *a, const void *b)
{
	const struct report_rule *const *x = a, *const *y = b;

	if ((*x)->packets != (*y)->packets)
		return (*x)->packets > (*y)->packets ? -1 : 1;
	return *x < *y ? -1 : 1;
}

static int rules_sort(struct report *r)
{
	struct report_rule **order = calloc(r->n_rules, sizeof(struct report_rule *));
	struct report_rule *sorted = calloc(r->n_rules, sizeof(*sorted));

	if (!order || !sorted) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->n_rules; i++)
		order[i] = &r->rules[i];
	qsort(order, r->n_rules, sizeof(struct report_rule *), rule_more_hit);
	for (size_t i = 0; i < r->n_rules; i++)
		sorted[i] = *order[i];
	free(order);
	free(r->rules);
	r->rules = sorted;
	return 0;
}

int report_make(struct tamis *t, uint64_t now, unsigned long top, struct report *r)
{
	int err;

	*r = (struct report){0};
	tamis_totals_get(t, &r->totals);
	err = tamis_rule_each(t, now, rule_add, r);
	if (!err)
		err = tamis_chain_each(t, chain_add, r);
	if (!err)
		err = tamis_set_each(t, now, set_add, r);
	if (!err)
		err = report_acls_make(t, top, r);
	if (!err && top && r->n_rules) {
		r->top = top < r->n_rules ? top : r->n_rules;
		err = rules_sort(r);
	}
	if (err)
		report_free(r);
	return err;
}

void report_free(struct report *r)
{
	report_acls_free(r);
	for (size_t i = 0; i < r->n_rules; i++) {
		free(r->rules[i].family);
		free(r->rules[i].table);
		free(r->rules[i].chain);
		free(r->rules[i].text);
	}
	for (size_t i = 0; i < r->n_chains; i++) {
		free(r->chains[i].family);
		free(r->chains[i].table);
		free(r->chains[i].chain);
		free(r->chains[i].head);
		free(r->chains[i].policy);
	}
	for (size_t i = 0; i < r->n_sets; i++) {
		free(r->sets[i].family);
		free(r->sets[i].table);
		free(r->sets[i].set);
		free(r->sets[i].kind);
	}
	free(r->rules);
	free(r->chains);
	free(r->sets);
	*r = (struct report){0};
}
