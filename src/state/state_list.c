/* SPDX-License-Identifier: Apache-2.0 */
/* state_list: several states one behind the other, made from a template; see state.h. */
#include <stdlib.h>

#include "state/state_internal.h"

struct state_template {
	unsigned n;
	struct state_info infos[];
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

unsigned state_template_len(const struct state_template *t)
{
	return t->n;
}

static bool same_kinds(const struct state_template *a, const struct state_template *b)
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
	bool same = same_kinds(a, b);

	for (unsigned i = 0; same && i < a->n; i++)
		same = same_parameters(&a->infos[i], &b->infos[i]);
	return same;
}

/* --- lists ---------------------------------------------------------------------------------- */

/* A list is its first state. */
static struct state *first(const struct state_list *l)
{
	return (struct state *)l;
}

static struct state *behind(const struct state *st)
{
	return (struct state *)((uint8_t *)st + state_bytes(st->kind));
}

unsigned state_list_len(const struct state_list *l)
{
	unsigned n = 1;

	for (const struct state *st = first(l); st->more; st = behind(st))
		n++;
	return n;
}

struct state *state_list_at(struct state_list *l, unsigned i)
{
	struct state *st = first(l);

	while (i--)
		st = behind(st);
	return st;
}

size_t state_list_ext_size(const void *template)
{
	const struct state_template *t = template;
	size_t size = 0;

	for (unsigned i = 0; i < t->n; i++)
		size += state_bytes(t->infos[i].kind);
	return size;
}

int state_list_ext_init(void *ext, const void *template, uint64_t now)
{
	const struct state_template *t = template;
	struct state *st = ext;

	for (unsigned i = 0; i < t->n; i++) {
		int err = state_init(st, &t->infos[i], now);
		if (err) {
			if (i)
				state_list_ext_fini(ext);
			return err;
		}
		if (i)
			state_list_at(ext, i - 1)->more = true;
		st = behind(st);
	}
	return 0;
}

void state_list_ext_fini(void *ext)
{
	struct state *st = ext;
	bool more;

	do {
		more = st->more;
		state_fini(st);
		st = behind(st);
	} while (more);
}
