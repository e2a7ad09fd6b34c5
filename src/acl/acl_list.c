/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_list: what ACLs there are, and their entries; the control thread's.
 *
 * Entries know their positions when someone asked for one and nothing changed since: the first
 * question numbers the whole ACL.
 */
#include "acl/acl_int.h"

static int info_of(const struct acl *acl, struct tamis_acl_info *out)
{
	if (!acl)
		return -ENOENT;
	*out = (struct tamis_acl_info){.index = acl->index,
				       .tag = acl->tag ? acl->tag : "",
				       .entries = acl->n,
				       .contexts = acl->n_links};
	return 0;
}

static int each(const struct acl_index *x, int (*fn)(void *arg, const struct tamis_acl_info *acl),
		void *arg)
{
	struct tamis_acl_info info;
	int err = 0;

	for (size_t i = 0; !err && i < x->acls.n; i++)
		if (info_of(x->acls.items[i], &info) == 0)
			err = fn(arg, &info);
	return err;
}

int tamis_acl_get(const struct tamis_acls *a, uint32_t index, struct tamis_acl_info *out)
{
	return info_of(acl_find(a, ACL_IP, index), out);
}

int tamis_macip_get(const struct tamis_acls *a, uint32_t index, struct tamis_acl_info *out)
{
	return info_of(acl_find(a, ACL_MACIP, index), out);
}

int tamis_acl_each(const struct tamis_acls *a,
		   int (*fn)(void *arg, const struct tamis_acl_info *acl), void *arg)
{
	return each(&a->index[ACL_IP], fn, arg);
}

int tamis_macip_each(const struct tamis_acls *a,
		     int (*fn)(void *arg, const struct tamis_acl_info *acl), void *arg)
{
	return each(&a->index[ACL_MACIP], fn, arg);
}

/* --- entries -------------------------------------------------------------------------------- */

static void entry_tell(const struct tamis_acls *a, const struct acl_entry *e, uint32_t position,
		       struct tamis_acl_entry *out)
{
	*out = (struct tamis_acl_entry){
		.handle = e->handle, .position = position, .count = acl_count_of(a, e->handle)};
	acl_rule_to(&e->rule, e->desc, &out->rule);
}

static void macip_tell(const struct tamis_acls *a, const struct acl_entry *e, uint32_t position,
		       struct tamis_macip_entry *out)
{
	*out = (struct tamis_macip_entry){
		.handle = e->handle, .position = position, .count = acl_count_of(a, e->handle)};
	macip_rule_to(&e->rule, e->desc, &out->rule);
}

/* A walk: one of the two is called. */
struct walk {
	int (*acl)(void *arg, const struct tamis_acl_entry *e);
	int (*macip)(void *arg, const struct tamis_macip_entry *e);
	void *arg;
};

static int entries_each(const struct tamis_acls *a, const struct acl *acl, const struct walk *w)
{
	uint32_t position = 0;
	int err = acl ? 0 : -ENOENT;

	for (struct list *l = acl ? acl->entries.next : NULL; !err && l != &acl->entries;
	     l = l->next, position++) {
		const struct acl_entry *e = container_of(l, struct acl_entry, in_acl);
		struct tamis_acl_entry entry;
		struct tamis_macip_entry macip;

		if (w->acl) {
			entry_tell(a, e, position, &entry);
			err = w->acl(w->arg, &entry);
		} else {
			macip_tell(a, e, position, &macip);
			err = w->macip(w->arg, &macip);
		}
	}
	return err;
}

int tamis_acl_entry_each(const struct tamis_acls *a, uint32_t index,
			 int (*fn)(void *arg, const struct tamis_acl_entry *e), void *arg)
{
	return entries_each(a, acl_find(a, ACL_IP, index), &(struct walk){.acl = fn, .arg = arg});
}

int tamis_macip_entry_each(const struct tamis_acls *a, uint32_t index,
			   int (*fn)(void *arg, const struct tamis_macip_entry *e), void *arg)
{
	return entries_each(a, acl_find(a, ACL_MACIP, index),
			    &(struct walk){.macip = fn, .arg = arg});
}

/* The entry, with its ACL numbered. */
static const struct acl_entry *entry_numbered(struct tamis_acls *a, uint64_t handle,
					      enum acl_kind kind)
{
	const struct acl_entry *e = acl_handle_find(a, handle, kind);
	uint32_t position = 0;

	if (!e || e->acl->numbered)
		return e;
	for (struct list *l = e->acl->entries.next; l != &e->acl->entries; l = l->next)
		container_of(l, struct acl_entry, in_acl)->position = position++;
	e->acl->numbered = true;
	return e;
}

int tamis_acl_entry_get(struct tamis_acls *a, tamis_acl_handle entry, struct tamis_acl_entry *out)
{
	const struct acl_entry *e = entry_numbered(a, entry, ACL_IP);

	if (!e)
		return -ENOENT;
	entry_tell(a, e, e->position, out);
	return 0;
}

int tamis_macip_entry_get(struct tamis_acls *a, tamis_acl_handle entry,
			  struct tamis_macip_entry *out)
{
	const struct acl_entry *e = entry_numbered(a, entry, ACL_MACIP);

	if (!e)
		return -ENOENT;
	macip_tell(a, e, e->position, out);
	return 0;
}
