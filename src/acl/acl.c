/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl: ACLs and their entries; see acl_int.h.
 *
 * Cost: of an entry's change, O(log n) for each table that the ACL stands in: its own, or those of
 * at most FUSED_LINKS_MAX contexts; of replacing a whole ACL, O(n log n) for the comparison and
 * that for each entry that differs. An ACL that has grown large gets a table once, for as many
 * entries as make it large, and keeps it.
 */
#include <stdlib.h>

#include "acl/acl_int.h"
#include "base/map.h"

struct acl *acl_find(const struct tamis_acls *a, enum acl_kind kind, uint32_t index)
{
	return index < a->index[kind].acls.n ? a->index[kind].acls.items[index] : NULL;
}

static struct acl_entry *entry_at(struct list *l)
{
	return container_of(l, struct acl_entry, in_acl);
}

/* --- entries -------------------------------------------------------------------------------- */

static void entry_free(struct tamis_acls *a, struct acl_entry *e)
{
	acl_handle_give(a, e);
	free(e->desc);
	pool_give(&a->entries[e->rule.wide], e);
}

void acl_entry_released(void *acls, void *cookie)
{
	struct acl_entry *e = cookie;

	if (--e->refs == 0 && e->state == ENTRY_DEAD)
		entry_free(acls, e);
}

void acl_entry_die(struct acl_entry *e)
{
	for (struct acl_place *p = e->places, *next; p; p = next) {
		next = p->next;
		acl_place_free(e->acl->acls, p);
	}
	e->places = NULL;
	e->state = ENTRY_DEAD;
	if (!e->refs)
		entry_free(e->acl->acls, e);
}

static void entry_count(struct acl_entry *e, int by)
{
	e->acl->n += (uint32_t)by;
	e->acl->numbered = false;
	if (e->action == TAMIS_ACL_REFLECT)
		e->acl->acls->n_reflect += (uint32_t)by;
}

void acl_entry_undo_add(struct acl_entry *e)
{
	list_take(&e->in_acl);
	entry_count(e, -1);
	acl_entry_die(e);
}

void acl_entry_undo_delete(struct acl_entry *e)
{
	e->state = ENTRY_LIVE;
	list_restore(&e->in_acl);
	entry_count(e, 1);
}

/* Into every table that the ACL stands in, in front of what `behind` is in that table. */
static int places_add(struct acl_entry *e, const struct acl_entry *behind)
{
	struct acl *acl = e->acl;
	int err = 0;

	if (acl->table)
		err = acl_place_add(e, NULL, behind ? acl_place_find(behind, NULL)->at : NULL);
	for (struct list *l = acl->links.next; !err && l != &acl->links; l = l->next) {
		struct acl_link *link = container_of(l, struct acl_link, in_acl);

		if (!link->fused)
			continue;
		err = acl_place_add(e, link,
				    behind ? acl_place_find(behind, link)->at : acl_link_end(link));
	}
	return err;
}

static int entry_add(struct acl *acl, struct list *before, const struct acl_rule *rule,
		     const char *desc, struct acl_entry **out)
{
	struct tamis_acls *a = acl->acls;
	struct pool *pool = &a->entries[rule->wide];
	struct acl_entry *e = pool_take(pool);
	int err = -ENOMEM;

	if (!e)
		return err;
	memset(e, 0, pool->size);
	e->index = acl->index;
	e->action = rule->action;
	e->acl = acl;
	memcpy(&e->rule, rule, acl_rule_size(rule));
	e->desc = desc ? strdup(desc) : NULL;
	if (!desc || e->desc)
		err = acl_handle_take(a, e);
	if (err) {
		free(e->desc);
		pool_give(pool, e);
		return err;
	}
	err = acl_undo_push(a, UNDO_ENTRY_ADD, e, NULL);
	if (err) {
		entry_free(a, e);
		return err;
	}
	list_insert(&e->in_acl, before);
	entry_count(e, 1);
	err = places_add(e, before == &acl->entries ? NULL : entry_at(before));
	if (!err)
		*out = e;
	return err;
}

static int entry_delete(struct acl_entry *e)
{
	struct tamis_acls *a = e->acl->acls;
	int err = 0;

	for (struct acl_place *p = e->places; !err && p; p = p->next)
		err = acl_table_touch(a, acl_place_table(e, p->link));
	if (!err)
		err = acl_undo_push(a, UNDO_ENTRY_DEL, e, NULL);
	if (err)
		return err;
	for (struct acl_place *p = e->places; p; p = p->next)
		classifier_delete(acl_place_table(e, p->link)->cls, p->at);
	list_take(&e->in_acl);
	e->state = ENTRY_DELETED;
	entry_count(e, -1);
	return 0;
}

/* --- ACLs ----------------------------------------------------------------------------------- */

void acl_destroy(struct acl *acl)
{
	for (struct list *l = acl->entries.next, *next; l != &acl->entries; l = next) {
		next = l->next;
		if (entry_at(l)->action == TAMIS_ACL_REFLECT)
			acl->acls->n_reflect--;
		acl_entry_die(entry_at(l));
	}
	if (acl->table)
		acl_table_release(acl->table);
	free(acl->table);
	free(acl->tag);
	pool_give(&acl->acls->acls, acl);
}

static int acl_new(struct tamis_acls *a, enum acl_kind kind, uint32_t *index, struct acl **out)
{
	struct acl *acl = pool_take(&a->acls);
	uint32_t at = *index;

	if (!acl)
		return -ENOMEM;
	*acl = (struct acl){.acls = a, .kind = kind};
	list_init(&acl->entries);
	list_init(&acl->links);
	int err = acl_index_take(&a->index[kind], &at, acl);
	if (err) {
		pool_give(&a->acls, acl);
		return err;
	}
	acl->index = at;
	err = acl_undo_push(a, UNDO_ACL_ADD, acl, NULL);
	if (err) {
		acl_index_give(&a->index[kind], at);
		pool_give(&a->acls, acl);
		return err;
	}
	*index = at;
	*out = acl;
	return 0;
}

static int tag_set(struct acl *acl, const char *tag)
{
	char *copy = NULL;

	if (strcmp(tag ? tag : "", acl->tag ? acl->tag : "") == 0)
		return 0;
	if (tag && *tag && !(copy = strdup(tag)))
		return -ENOMEM;
	return acl_string_set(acl->acls, &acl->tag, copy);
}

static int desc_set(struct acl_entry *e, const char *desc)
{
	char *copy = NULL;

	if (strcmp(desc ? desc : "", e->desc ? e->desc : "") == 0)
		return 0;
	if (desc && *desc && !(copy = strdup(desc)))
		return -ENOMEM;
	return acl_string_set(e->acl->acls, &e->desc, copy);
}

/* What the difference of an ACL's entries and new rules needs while it is made. */
struct difference {
	struct acl_entry **old;
	uint32_t n_old;
	uint32_t *at, *scratch; /* of n and 2 * n */
	uint32_t *same;		/* by old position: the next entry of the same rule */
	struct map by_rule;	/* rule -> position + 1 of the first entry left of it */
};

static int difference_begin(struct difference *d, struct acl *acl, size_t n)
{
	uint32_t i = 0;

	*d = (struct difference){.n_old = acl->n};
	d->old = calloc(MAX(acl->n, 1U), sizeof(struct acl_entry *));
	d->same = calloc(MAX(acl->n, 1U), sizeof(*d->same));
	d->at = calloc(MAX(n, (size_t)1), sizeof(*d->at));
	d->scratch = calloc(MAX(n, (size_t)1), 2 * sizeof(*d->scratch));
	if (!d->old || !d->same || !d->at || !d->scratch)
		return -ENOMEM;
	for (struct list *l = acl->entries.next; l != &acl->entries; l = l->next)
		d->old[i++] = entry_at(l);
	return 0;
}

static void difference_end(struct difference *d)
{
	map_free(&d->by_rule);
	free(d->old);
	free(d->same);
	free(d->at);
	free(d->scratch);
}

/* Finds an old entry for each of the rules [from, to), as far as there are, among old [from,
 * old_to). */
static int difference_match(struct difference *d, const struct acl_rule *rules, size_t from,
			    size_t to, size_t old_to)
{
	for (size_t i = old_to; i-- > from;) {
		const struct acl_rule *r = &d->old[i]->rule;
		void *first = map_replace(&d->by_rule, r, acl_rule_size(r), (void *)(i + 1), NULL);

		d->same[i] = first ? (uint32_t)((uintptr_t)first - 1) : DIFF_NONE;
		int err = first ? 0 : map_insert(&d->by_rule, r, acl_rule_size(r), (void *)(i + 1));
		if (err)
			return err;
	}
	for (size_t i = from; i < to; i++) {
		uintptr_t first =
			(uintptr_t)map_find(&d->by_rule, &rules[i], acl_rule_size(&rules[i]));

		d->at[i] = first ? (uint32_t)(first - 1) : DIFF_NONE;
		if (!first)
			continue;
		uint32_t next = d->same[first - 1];
		const struct acl_rule *r = &d->old[first - 1]->rule;
		if (next == DIFF_NONE)
			map_remove(&d->by_rule, r, acl_rule_size(r));
		else
			map_replace(&d->by_rule, r, acl_rule_size(r), (void *)((uintptr_t)next + 1),
				    NULL);
	}
	acl_diff_keep_longest(d->at + from, to - from, d->scratch);
	return 0;
}

/* d->at[i]: the old entry that is rule i in the end. */
static int difference_find(struct difference *d, const struct acl_rule *rules, size_t n)
{
	size_t from = 0, to = n, old_to = d->n_old;

	for (; from < MIN(n, (size_t)d->n_old); from++) {
		if (!acl_rules_equal(&rules[from], &d->old[from]->rule))
			break;
		d->at[from] = (uint32_t)from;
	}
	for (; to > from && old_to > from; to--, old_to--) {
		if (!acl_rules_equal(&rules[to - 1], &d->old[old_to - 1]->rule))
			break;
		d->at[to - 1] = (uint32_t)(old_to - 1);
	}
	return difference_match(d, rules, from, to, old_to);
}

static int acl_fill(struct acl *acl, const struct acl_rule *rules, const char *const *descs,
		    size_t n)
{
	struct acl_entry *made;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = entry_add(acl, &acl->entries, &rules[i], descs[i], &made);
	return err;
}

static int acl_change(struct acl *acl, const struct acl_rule *rules, const char *const *descs,
		      size_t n)
{
	struct difference d;
	struct acl_entry *made;
	size_t o = 0;
	int err;

	if (!acl->n)
		return acl_fill(acl, rules, descs, n);
	err = difference_begin(&d, acl, n);
	if (!err)
		err = difference_find(&d, rules, n);
	for (size_t i = 0; !err && i <= n; i++) {
		size_t keep = i < n ? d.at[i] : d.n_old;

		if (i < n && keep == DIFF_NONE)
			continue;
		for (; !err && o < keep; o++)
			err = entry_delete(d.old[o]);
		o = keep + 1;
	}
	struct list *next = &acl->entries;
	for (size_t i = n; !err && i-- > 0;) {
		if (d.at[i] != DIFF_NONE) {
			err = desc_set(d.old[d.at[i]], descs[i]);
			next = &d.old[d.at[i]]->in_acl;
		} else {
			err = entry_add(acl, next, &rules[i], descs[i], &made);
			next = err ? next : &made->in_acl;
		}
	}
	difference_end(&d);
	return err;
}

static int acl_put(struct tamis_acls *a, enum acl_kind kind, uint32_t *index, const char *tag,
		   const struct acl_rule *rules, const char *const *descs, size_t n)
{
	uint32_t at = *index;
	struct acl *acl = at == TAMIS_ACL_NEW ? NULL : acl_find(a, kind, at);
	int err = 0;

	if ((tag && strlen(tag) > TAMIS_ACL_TAG_MAX) || n > TAMIS_ACL_ENTRIES_MAX)
		return tag && strlen(tag) > TAMIS_ACL_TAG_MAX ? -EINVAL
							      : acl_step_refuse(a, -EDQUOT);
	err = acl_step_begin(a);
	if (err)
		return err;
	if (!acl)
		err = acl_new(a, kind, &at, &acl);
	if (!err)
		err = tag_set(acl, tag);
	if (!err && n > acl->n)
		err = acl_links_fit(acl, (uint32_t)n);
	if (!err)
		err = acl_change(acl, rules, descs, n);
	if (!err)
		err = acl_links_fit(acl, acl->n);
	err = acl_step_end(a, err);
	if (!err)
		*index = at;
	return err;
}

static int acl_delete(struct tamis_acls *a, enum acl_kind kind, uint32_t index)
{
	struct acl *acl = acl_find(a, kind, index);
	int err;

	if (!acl)
		return -ENOENT;
	if (acl->n_links)
		return -EBUSY;
	err = acl_step_begin(a);
	if (err)
		return err;
	err = acl_undo_push(a, UNDO_ACL_DEL, acl, NULL);
	if (!err)
		acl_index_give(&a->index[kind], index);
	return acl_step_end(a, err);
}

/* --- the public side ------------------------------------------------------------------------ */

int tamis_acl_put(struct tamis_acls *a, uint32_t *index, const char *tag,
		  const struct tamis_acl_rule *rules, size_t n)
{
	struct acl_rule *list = calloc(MAX(n, (size_t)1), sizeof(*list));
	const char **descs = calloc(MAX(n, (size_t)1), sizeof(*descs));
	int err = list && descs ? 0 : acl_step_refuse(a, -ENOMEM);

	for (size_t i = 0; !err && i < n; i++) {
		err = acl_rule_from(&rules[i], &list[i]);
		descs[i] = rules[i].desc;
	}
	if (!err)
		err = acl_put(a, ACL_IP, index, tag, list, descs, n);
	free(list);
	free(descs);
	return err;
}

int tamis_macip_put(struct tamis_acls *a, uint32_t *index, const char *tag,
		    const struct tamis_macip_rule *rules, size_t n)
{
	struct acl_rule *list = calloc(MAX(n, (size_t)1), sizeof(*list));
	const char **descs = calloc(MAX(n, (size_t)1), sizeof(*descs));
	int err = list && descs ? 0 : acl_step_refuse(a, -ENOMEM);

	for (size_t i = 0; !err && i < n; i++) {
		err = macip_rule_from(&rules[i], &list[i]);
		descs[i] = rules[i].desc;
	}
	if (!err)
		err = acl_put(a, ACL_MACIP, index, tag, list, descs, n);
	free(list);
	free(descs);
	return err;
}

int tamis_acl_delete(struct tamis_acls *a, uint32_t index)
{
	return acl_delete(a, ACL_IP, index);
}

int tamis_macip_delete(struct tamis_acls *a, uint32_t index)
{
	return acl_delete(a, ACL_MACIP, index);
}

int tamis_acl_insert(struct tamis_acls *a, uint32_t index, tamis_acl_handle before,
		     const struct tamis_acl_rule *rule, tamis_acl_handle *out)
{
	struct acl *acl = acl_find(a, ACL_IP, index);
	struct acl_entry *next = before ? acl_handle_find(a, before, ACL_IP) : NULL, *e;
	struct acl_rule r;
	int err;

	if (!acl || (before && (!next || next->acl != acl)))
		return -ENOENT;
	err = acl_rule_from(rule, &r);
	if (!err)
		err = acl_step_begin(a);
	if (err)
		return err;
	err = entry_add(acl, next ? &next->in_acl : &acl->entries, &r, rule->desc, &e);
	if (!err)
		err = acl_links_fit(acl, acl->n);
	err = acl_step_end(a, err);
	if (!err)
		*out = e->handle;
	return err;
}

int tamis_acl_remove(struct tamis_acls *a, tamis_acl_handle entry)
{
	struct acl_entry *e = acl_handle_find(a, entry, ACL_IP);
	struct acl *acl = e ? e->acl : NULL;
	int err;

	if (!e)
		return -ENOENT;
	err = acl_step_begin(a);
	if (err)
		return err;
	err = entry_delete(e);
	if (!err)
		err = acl_links_fit(acl, acl->n);
	return acl_step_end(a, err);
}

int tamis_acl_replace(struct tamis_acls *a, tamis_acl_handle entry,
		      const struct tamis_acl_rule *rule, tamis_acl_handle *out)
{
	struct acl_entry *e = acl_handle_find(a, entry, ACL_IP), *made;
	struct acl_rule r;
	int err = e ? acl_rule_from(rule, &r) : -ENOENT;

	if (!err)
		err = acl_step_begin(a);
	if (err)
		return err;
	err = entry_add(e->acl, &e->in_acl, &r, rule->desc, &made);
	if (!err)
		err = entry_delete(e);
	err = acl_step_end(a, err);
	if (!err)
		*out = made->handle;
	return err;
}
