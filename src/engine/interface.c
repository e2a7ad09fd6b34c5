/* SPDX-License-Identifier: Apache-2.0 */
/* interface: see interface.h. A map by name over one array of padded names. */
#include "engine/interface.h"

#include <tamis/tamis.h>

#include "base/map.h"
#include "base/vec.h"

/* The map's keys must stay where they are, which the array's do not. */
struct entry {
	uint32_t index;
	char name[];
};

struct interface_table {
	struct map by_name;
	VEC(struct entry *) entries;
	char (*names)[INTERFACE_NAME_LEN];
	size_t names_cap;
};

int interface_table_new(struct interface_table **out)
{
	struct interface_table *t = calloc(1, sizeof(*t));
	uint32_t lo;
	int err;

	if (!t)
		return -ENOMEM;
	err = interface_intern(t, "lo", 2, &lo);
	if (err) {
		interface_table_free(t);
		return err;
	}
	*out = t;
	return 0;
}

void interface_table_free(struct interface_table *t)
{
	if (!t)
		return;
	map_free(&t->by_name);
	vec_foreach (&t->entries, e)
		free(*e);
	vec_free(&t->entries);
	free(t->names);
	free(t);
}

int interface_intern(struct interface_table *t, const char *name, size_t len, uint32_t *index)
{
	struct entry *e = map_find(&t->by_name, name, len);
	int err;

	if (e) {
		*index = e->index;
		return 0;
	}
	if (!len || len > INTERFACE_NAME_MAX || memchr(name, '\0', len))
		return -EINVAL;
	if (t->entries.n >= TAMIS_INTERFACES_MAX)
		return -ENOSPC;
	err = vec_reserve_bytes((void **)&t->names, &t->names_cap, t->entries.n + 1,
				sizeof(*t->names));
	if (!err)
		err = vec_reserve(&t->entries, t->entries.n + 1);
	if (err)
		return err;
	e = calloc(1, sizeof(*e) + len + 1);
	if (!e)
		return -ENOMEM;
	memcpy(e->name, name, len);
	err = map_insert(&t->by_name, e->name, len, e);
	if (err) {
		free(e);
		return err;
	}
	memset(t->names[t->entries.n], 0, INTERFACE_NAME_LEN);
	if (len < INTERFACE_NAME_LEN)
		memcpy(t->names[t->entries.n], name, len);
	t->entries.items[t->entries.n++] = e;
	e->index = (uint32_t)t->entries.n;
	*index = e->index;
	return 0;
}

const char *interface_name(const struct interface_table *t, uint32_t index)
{
	return index && index <= t->entries.n ? t->entries.items[index - 1]->name : NULL;
}

uint32_t interface_count(const struct interface_table *t)
{
	return (uint32_t)t->entries.n;
}

const char (*interface_names(const struct interface_table *t))[INTERFACE_NAME_LEN]
{
	return t->names;
}
