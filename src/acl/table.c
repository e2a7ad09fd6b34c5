/* SPDX-License-Identifier: Apache-2.0 */
/* table: classifiers, and where entries stand in them; see acl_int.h. */
#include <stdlib.h>

#include "acl/acl_int.h"

int acl_table_init(struct tamis_acls *a, struct acl_table *t, enum acl_kind kind)
{
	struct classifier_config config = {.rcu = a->rcu,
					   .wait_ns = a->config.wait_ns,
					   .version = &a->version,
					   .max_chain = a->config.max_overlap,
					   .max_places = a->config.max_places,
					   .without = kind == ACL_IP ? ACL_WITHOUT : 0,
					   .release = acl_entry_released,
					   .ctx = a};

	return classifier_new(&config, &t->cls);
}

void acl_table_release(struct acl_table *t)
{
	classifier_free(t->cls);
	t->cls = NULL;
}

struct acl_table *acl_place_table(const struct acl_entry *e, const struct acl_link *link)
{
	return link ? &link->ctx->table : e->acl->table;
}

int acl_place_add(struct acl_entry *e, struct acl_link *link, struct cls_entry *next)
{
	struct tamis_acls *a = e->acl->acls;
	struct acl_place *place = pool_take(&a->places);
	struct cls_cond conds[RULE_CONDS_MAX];
	struct cls_rule rule;

	if (!place)
		return -ENOMEM;
	*place = (struct acl_place){.link = link, .next = e->places};
	struct acl_table *t = acl_place_table(e, link);
	int err = acl_table_touch(a, t);

	acl_rule_conds(&e->rule, e->acl->kind, conds, &rule);
	if (!err)
		err = classifier_insert(t->cls, next, &rule, e, &place->at);
	if (err) {
		pool_give(&a->places, place);
		return err;
	}
	e->refs++;
	e->places = place;
	return 0;
}

void acl_place_free(struct tamis_acls *a, struct acl_place *p)
{
	if (p)
		pool_give(&a->places, p);
}

struct acl_place *acl_place_find(const struct acl_entry *e, const struct acl_link *link)
{
	struct acl_place *p = e->places;

	while (p && p->link != link)
		p = p->next;
	return p;
}

struct acl_place *acl_place_take(struct acl_entry *e, const struct acl_link *link)
{
	struct acl_place **at = &e->places;

	while (*at && (*at)->link != link)
		at = &(*at)->next;
	struct acl_place *p = *at;
	if (p)
		*at = p->next;
	return p;
}

int acl_table_make(struct acl *acl)
{
	struct tamis_acls *a = acl->acls;

	if (acl->table)
		return 0;
	struct acl_table *t = calloc(1, sizeof(*t));
	int err = t ? acl_table_init(a, t, acl->kind) : -ENOMEM;
	if (!err)
		err = acl_undo_push(a, UNDO_TABLE_ADD, acl, NULL);
	if (err) {
		if (t)
			acl_table_release(t);
		free(t);
		return err;
	}
	acl->table = t;
	for (struct list *l = acl->entries.next; !err && l != &acl->entries; l = l->next)
		err = acl_place_add(container_of(l, struct acl_entry, in_acl), NULL, NULL);
	return err;
}
