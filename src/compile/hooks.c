/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks: puts the base chains into the order in which packets meet them.
 *
 * By priority; among equal ones the chain that came last runs first, as the kernel has it. Chains
 * of type nat all run where the kernel's translation runs, in the order of their priorities.
 */
#include <stdlib.h>

#include "compile/build.h"

enum { ORDER_NAT_DESTINATION = -100, ORDER_NAT_SOURCE = 100 };

static const uint8_t hook_of[HOOKS] = {
	[HOOK_NONE] = PROG_HOOKS,
	[HOOK_INGRESS] = PH_INGRESS,
	[HOOK_PREROUTING] = PH_PREROUTING,
	[HOOK_INPUT] = PH_INPUT,
	[HOOK_FORWARD] = PH_FORWARD,
	[HOOK_OUTPUT] = PH_OUTPUT,
	[HOOK_POSTROUTING] = PH_POSTROUTING,
	[HOOK_EGRESS] = PH_EGRESS,
};

/* The classes of packets that a family's chains see, up to two; PROG_CLASSES ends them. */
static void classes_of(enum family f, enum hook h, enum prog_class out[2])
{
	out[1] = PROG_CLASSES;
	switch (f) {
	case FAMILY_IP:
		out[0] = CLASS_IPV4;
		break;
	case FAMILY_IP6:
		out[0] = CLASS_IPV6;
		break;
	case FAMILY_INET:
		out[0] = h == HOOK_INGRESS ? CLASS_NETDEV : CLASS_IPV4;
		out[1] = h == HOOK_INGRESS ? PROG_CLASSES : CLASS_IPV6;
		break;
	case FAMILY_ARP:
		out[0] = CLASS_ARP;
		break;
	case FAMILY_BRIDGE:
		out[0] = CLASS_BRIDGE;
		break;
	case FAMILY_NETDEV:
		out[0] = CLASS_NETDEV;
		break;
	default:
		out[0] = PROG_CLASSES;
		break;
	}
}

/* The host's own and the forwarded packets' translation have fixed places in their hooks. */
static int32_t order_of(const struct chain_decl *d)
{
	if (d->type != CHAIN_NAT)
		return d->priority;
	return d->hook == HOOK_POSTROUTING || d->hook == HOOK_INPUT ? ORDER_NAT_SOURCE
								    : ORDER_NAT_DESTINATION;
}

static void devices_set(struct arena *a, struct prog_base *b, const struct expr_list *devices)
{
	char(*names)[PROG_NAME_LEN + 1];

	if (!devices->n)
		return;
	names = arena_calloc(a, devices->n, sizeof(*names));
	for (uint32_t k = 0; k < devices->n; k++) {
		const struct expr *e = devices->items[k];
		bool symbol = e->kind == EX_SYMBOL;
		const char *text = symbol ? e->symbol.text : (const char *)expr_bytes(e);
		size_t len = symbol ? e->symbol.len : strnlen(text, bits_to_bytes(e->bits));

		memcpy(names[k], text, MIN(len, (size_t)PROG_NAME_LEN));
		if (e->flags & EXF_WILDCARD && len < PROG_NAME_LEN && len &&
		    names[k][len - 1] != '*')
			names[k][len] = '*';
	}
	b->n_devices = devices->n;
	b->devices = (const char(*)[PROG_NAME_LEN + 1]) names;
}

static struct prog_base *base_make(struct arena *a, const struct program *p,
				   const struct model_chain *c)
{
	struct prog_base *b = arena_new(a, struct prog_base);
	const struct chain_decl *d = &c->decl;

	b->program = p;
	b->priority = d->priority;
	b->order = order_of(d);
	b->family = (uint8_t)c->table->family;
	b->hook = hook_of[d->hook];
	b->nat = d->type == CHAIN_NAT;
	b->nat_source = b->nat && b->order == ORDER_NAT_SOURCE;
	b->drop = d->has_policy && d->policy == VERDICT_DROP;
	devices_set(a, b, &d->devices);
	return b;
}

static int by_order(const void *x, const void *y)
{
	const struct prog_base *a = *(const struct prog_base *const *)x;
	const struct prog_base *b = *(const struct prog_base *const *)y;

	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	if (a->nat != b->nat)
		return a->nat ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	const struct model_chain *c = a->program->chain, *d = b->program->chain;

	return (c->id < d->id) - (c->id > d->id);
}

/* Chains at interfaces see the packets of those alone that they name. */
static bool bound_to_nothing(const struct chain_decl *d)
{
	return (d->hook == HOOK_INGRESS || d->hook == HOOK_EGRESS) && !d->devices.n;
}

struct base_lists {
	VEC(const struct prog_base *) at[PROG_CLASSES][PROG_HOOKS];
};

static int chain_add(struct compiled_hooks *h, struct base_lists *lists, const struct program *p)
{
	const struct model_chain *c = p->chain;
	enum prog_class classes[2];
	struct prog_base *base;
	int err = 0;

	classes_of(c->table->family, c->decl.hook, classes);
	if (c->table->flags & TABLEF_DORMANT || hook_of[c->decl.hook] == PROG_HOOKS ||
	    bound_to_nothing(&c->decl))
		return 0;
	base = base_make(&h->arena, p, c);
	for (unsigned k = 0; k < 2 && classes[k] != PROG_CLASSES && !err; k++) {
		err = vec_push(&lists->at[classes[k]][base->hook], base);
		h->nat[classes[k]] |= base->nat;
	}
	return err;
}

__attribute__((noinline)) static int chains_add(const struct compile *c, struct compiled_hooks *h,
						struct base_lists *lists)
{
	int err = 0;

	for (size_t k = 0; k < c->bases.n && !err; k++)
		if (!c->bases.items[k]->gone)
			err = chain_add(h, lists, &c->bases.items[k]->pub);
	return err;
}

static void lists_sort(struct compiled_hooks *h, struct base_lists *lists)
{
	for (unsigned k = 0; k < PROG_CLASSES * PROG_HOOKS; k++) {
		struct prog_hook_list *to = &h->lists[k / PROG_HOOKS][k % PROG_HOOKS];
		typeof(lists->at[0][0]) *from = &lists->at[k / PROG_HOOKS][k % PROG_HOOKS];

		if (!from->n)
			continue;
		qsort(from->items, from->n, sizeof(*from->items), by_order);
		to->bases = arena_dup(&h->arena, from->items, from->n * sizeof(*from->items));
		to->n = (uint32_t)from->n;
	}
}

static int lists_fill(const struct compile *c, struct compiled_hooks *h, struct base_lists *lists)
{
	jmp_buf oom;
	int err;

	if (setjmp(oom)) {
		arena_on_oom(&h->arena, NULL);
		return -ENOMEM;
	}
	arena_on_oom(&h->arena, &oom);
	err = chains_add(c, h, lists);
	if (!err)
		lists_sort(h, lists);
	arena_on_oom(&h->arena, NULL);
	return err;
}

int hooks_build(const struct compile *c, struct compiled_hooks **out)
{
	struct base_lists *lists = calloc(1, sizeof(*lists));
	struct compiled_hooks *h = calloc(1, sizeof(*h));
	int err = -ENOMEM;

	if (lists && h) {
		h->refs = 1;
		h->arena = ARENA_INIT;
		err = lists_fill(c, h, lists);
		for (unsigned k = 0; k < PROG_CLASSES * PROG_HOOKS; k++)
			vec_free(&lists->at[k / PROG_HOOKS][k % PROG_HOOKS]);
		if (err)
			arena_free(&h->arena);
	}
	free(lists);
	if (err)
		free(h);
	else
		*out = h;
	return err;
}

void hooks_unref(struct compiled_hooks *h)
{
	if (!h || --h->refs)
		return;
	arena_free(&h->arena);
	free(h);
}
