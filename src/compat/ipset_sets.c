/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_sets: sets by name: what destroy, rename and swap do with them. */
#include <stdlib.h>

#include "compat/ipset_command.h"

/*
 * A name that found no memory when a command was taken back is not in the map; then, and until it
 * goes, all are looked through.
 */
struct ipset_set *ipset_find(struct ipset *s, const char *name)
{
	struct ipset_set *found;

	if (s->last && strcmp(s->last->name, name) == 0)
		return s->last;
	found = map_find_str(&s->by_name, name);
	for (size_t i = 0; !found && s->by_name.n < s->sets.n && i < s->sets.n; i++)
		if (strcmp(s->sets.items[i]->name, name) == 0)
			found = s->sets.items[i];
	if (found)
		s->last = found;
	return found;
}

void ipset_set_free(struct ipset_set *set)
{
	if (!set)
		return;
	ipset_body_free(set->body);
	free(set);
}

int ipset_destroy(struct ipset *s, struct ipset_set *set)
{
	size_t at = 0;
	int err;

	if (set->refs)
		return ipset_fail(s, "Set cannot be destroyed: it is in use by a kernel component");
	while (s->sets.items[at] != set)
		at++;
	err = ipset_log_destroy(s, set, at);
	if (err)
		return err;
	for (size_t i = 0; i < set->body->members.n; i++)
		set->body->members.items[i].set->refs--;
	map_remove_str(&s->by_name, set->name);
	memmove(&s->sets.items[at], &s->sets.items[at + 1],
		(--s->sets.n - at) * sizeof(*s->sets.items));
	s->last = NULL;
	return 0;
}

int ipset_destroy_all(struct ipset *s)
{
	int err = 0;

	for (size_t i = 0; i < s->sets.n; i++)
		if (s->sets.items[i]->refs)
			return ipset_fail(s, "Set cannot be destroyed: it is in use by a kernel "
					     "component");
	while (!err && s->sets.n)
		err = ipset_destroy(s, s->sets.items[s->sets.n - 1]);
	return err;
}

int ipset_rename(struct ipset *s, struct ipset_set *set, const char *name)
{
	int err = ipset_name_check(s, name);

	if (err)
		return err;
	if (set->refs)
		return ipset_fail(s, "Set cannot be renamed: it is in use by another system");
	if (ipset_find(s, name))
		return ipset_fail(s, "Set cannot be renamed: a set with the new name already "
				     "exists");
	err = ipset_log_rename(s, set);
	if (err)
		return err;
	s->last = NULL;
	map_remove_str(&s->by_name, set->name);
	strcpy(set->name, name);
	return map_insert_str(&s->by_name, set->name, set);
}

/* What stands behind the names is exchanged: lists refer to a name. */
int ipset_swap(struct ipset *s, struct ipset_set *a, const char *name)
{
	struct ipset_set *b;
	struct ipset_body *kept;
	int err = ipset_name_check(s, name);

	if (err)
		return err;
	b = ipset_find(s, name);
	if (!b)
		return ipset_fail(s, "Sets cannot be swapped: the second set does not exist");
	if (a->body->type != b->body->type || a->body->ip_len != b->body->ip_len)
		return ipset_fail(s, "The sets cannot be swapped: their type does not match");
	err = ipset_log_swap(s, a, b);
	if (err)
		return err;
	kept = a->body;
	a->body = b->body;
	b->body = kept;
	return 0;
}
