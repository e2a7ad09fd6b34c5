/* SPDX-License-Identifier: Apache-2.0 */
/* state_list: several states in one piece of memory, made from a template; see state.h. */
#include <stdlib.h>

#include "state/state_internal.h"

struct state_template {
	unsigned n;
	struct state_info infos[];
};

struct state_list {
	unsigned n;
	struct state states[];
};

/* --- templates ------------------------------------------------------------------------------ */

static int info_check(const struct state_info *info)
{
	struct state trial;
	int err = state_init(&trial, info, 0);

	if (!err)
		state_fini(&trial);
	return err;
}

int state_template_new(const struct state_info *infos, unsigned n, struct state_template **out)
{
	if (!n)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		int err = info_check(&infos[i]);
		if (err)
			return err;
	}
	struct state_template *t = malloc(sizeof(*t) + n * sizeof(t->infos[0]));
	if (!t)
		return -ENOMEM;
	t->n = n;
	memcpy(t->infos, infos, n * sizeof(*infos));
	*out = t;
	return 0;
}

int state_template_set(struct state_template *t, unsigned i, const struct state_info *info)
{
	int err = info_check(info);

	if (!err)
		t->infos[i] = *info;
	return err;
}

void state_template_free(struct state_template *t)
{
	free(t);
}

bool state_template_same_kinds(const struct state_template *a, const struct state_template *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->infos[i].kind != b->infos[i].kind)
			return false;
	return true;
}

static bool same_parameters(const struct state_info *a, const struct state_info *b)
{
	switch (a->kind) {
	case STATE_QUOTA:
		return a->quota.bytes == b->quota.bytes && a->quota.over == b->quota.over;
	case STATE_LIMIT:
		return a->limit.rate == b->limit.rate && a->limit.unit_ns == b->limit.unit_ns &&
		       a->limit.burst == b->limit.burst && a->limit.bytes == b->limit.bytes &&
		       a->limit.over == b->limit.over;
	case STATE_CONNLIMIT:
		return a->connlimit.count == b->connlimit.count &&
		       a->connlimit.over == b->connlimit.over;
	default:
		return true;
	}
}

bool state_template_same(const struct state_template *a, const struct state_template *b)
{
	bool same = state_template_same_kinds(a, b);

	for (unsigned i = 0; same && i < a->n; i++)
		same = same_parameters(&a->infos[i], &b->infos[i]);
	return same;
}

/* --- lists ---------------------------------------------------------------------------------- */

int state_list_new(const struct state_template *t, uint64_t now, struct state_list **out)
{
	struct state_list *l = malloc(sizeof(*l) + t->n * sizeof(l->states[0]));
	if (!l)
		return -ENOMEM;
	for (l->n = 0; l->n < t->n; l->n++) {
		int err = state_init(&l->states[l->n], &t->infos[l->n], now);
		if (err) {
			state_list_free(l);
			return err;
		}
	}
	*out = l;
	return 0;
}

void state_list_free(struct state_list *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->n; i++)
		state_fini(&l->states[i]);
	free(l);
}

unsigned state_list_len(const struct state_list *l)
{
	return l->n;
}

struct state *state_list_at(struct state_list *l, unsigned i)
{
	return &l->states[i];
}

void *state_list_ext_new(const void *template, uint64_t now)
{
	struct state_list *l;
	return state_list_new(template, now, &l) ? NULL : l;
}

void state_list_ext_free(void *ext)
{
	state_list_free(ext);
}
