/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_devices: the lists of interfaces that base chains and flowtables are bound to. The commands
 * compare each name with all that are there.
 */
#include "model/model_internal.h"

struct expr_list devices_clone(struct arena *a, const struct expr_list *from)
{
	struct expr_list to = {0};

	for (uint32_t i = 0; i < from->n; i++)
		expr_list_add(a, &to, expr_clone(a, from->items[i]));
	return to;
}

static bool has_device(const struct expr_list *l, const struct expr *device)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (expr_equal(l->items[i], device))
			return true;
	return false;
}

static void add(struct arena *a, void *to, const void *from)
{
	const struct expr_list *more = from;
	struct expr_list all = devices_clone(a, to);

	for (uint32_t i = 0; i < more->n; i++)
		if (!has_device(&all, more->items[i]))
			expr_list_add(a, &all, expr_clone(a, more->items[i]));
	*(struct expr_list *)to = all;
}

int devices_add(struct arena *a, struct expr_list *l, const struct expr_list *more)
{
	return arena_try(a, add, l, more);
}

static void take(struct arena *a, void *from, const void *what)
{
	const struct expr_list *l = from;
	struct expr_list left = {0};

	for (uint32_t i = 0; i < l->n; i++)
		if (!has_device(what, l->items[i]))
			expr_list_add(a, &left, l->items[i]);
	*(struct expr_list *)from = left;
}

int devices_take(struct arena *a, struct expr_list *l, const struct expr_list *what)
{
	for (uint32_t i = 0; i < what->n; i++)
		if (!has_device(l, what->items[i]))
			return -ENOENT;
	return arena_try(a, take, l, what);
}
