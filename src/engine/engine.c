/* SPDX-License-Identifier: Apache-2.0 */
/* engine: an engine's life and its options; see engine.h. */
#include "engine/engine.h"

#include <stdlib.h>

enum { GATHER_NS = 100000000 };

_Static_assert((int)TAMIS_MALFORMED_MAX >= (int)MALFORMED_KINDS, "room for every reason");

const char *tamis_version(void)
{
	return TAMIS_VERSION;
}

static uint32_t env_ifindex(void *arg, const char *name, size_t len)
{
	struct tamis *t = arg;
	uint32_t index;

	if (len >= INTERFACE_NAME_LEN)
		return 0;
	return interface_intern(t->interfaces, name, len, &index) ? 0 : index;
}

static const char *env_ifname(void *arg, uint32_t index)
{
	const struct tamis *t = arg;

	return interface_name(t->interfaces, index);
}

/* What a rule that a note is about does, in words. */
static const char *note_text(enum compile_note_kind kind)
{
	switch (kind) {
	case COMPILE_NO_VALUE:
		return "is not evaluated, a rule with it never matches";
	case COMPILE_NO_EFFECT:
		return "is not evaluated, a rule with it goes on without it";
	case COMPILE_LOCAL:
		return "is not evaluated without local prefixes, a rule with it never matches";
	case COMPILE_NAT:
		return "does not change the packet, its verdict stands";
	}
	return "is not evaluated";
}

static void note(void *arg, const struct compile_note *n)
{
	struct tamis *t = arg;

	if (t->notes && !(n->kind == COMPILE_LOCAL && t->local.n))
		strbuf_printf(t->notes, "Warning: '%s' %s\n", n->what, note_text(n->kind));
}

int tamis_new(const struct tamis_config *config, struct tamis **out)
{
	static const struct tamis_config plain;
	struct tamis *t = calloc(1, sizeof(*t));
	struct compile_config notes = {.arg = t, .note = note};
	struct ct_config flows;
	int err = -ENOMEM;

	if (!t)
		return err;
	if (!config)
		config = &plain;
	t->walk = config->walk;
	t->classify = notes.classify = config->classify;
	t->env = (struct lang_env){.arg = t,
				   .ifindex = env_ifindex,
				   .ifname = env_ifname,
				   .names = &t->names,
				   .utc_offset = config->utc_offset};
	err = host_names_load(&t->names_arena, "/etc/iproute2", "/etc/connlabel.conf", &t->names);
	if (!err)
		err = interface_table_new(&t->interfaces);
	if (err)
		goto err_free;
	err = -ENOMEM;
	t->model = model_new(&t->env);
	if (!t->model)
		goto err_free;
	err = compile_new(&notes, &t->compile);
	if (!err)
		err = eval_new(config->seed, &t->eval);
	ct_config_default(&flows);
	if (!err)
		err = ct_table_new(&flows, &t->ct);
	if (err)
		goto err_free;
	*out = t;
	return 0;

err_free:
	tamis_free(t);
	return err;
}

void tamis_free(struct tamis *t)
{
	if (!t)
		return;
	eval_free(t->eval);
	compile_free(t->compile);
	model_free(t->model);
	ct_table_free(t->ct);
	acl_path_free(t->acl);
	local_free(&t->local);
	interface_table_free(t->interfaces);
	arena_free(&t->names_arena);
	free(t);
}

int tamis_path_set(struct tamis *t, enum tamis_path path)
{
	if (path > TAMIS_PATH_BRIDGE)
		return -EINVAL;
	t->path = path;
	return 0;
}

int tamis_local_add(struct tamis *t, const char *prefix)
{
	return local_add(&t->local, prefix);
}

int tamis_interface_find(struct tamis *t, const char *name, uint32_t *index)
{
	return interface_intern(t->interfaces, name, strlen(name), index);
}

void tamis_trace_set(struct tamis *t, void (*fn)(void *arg, const struct tamis_trace *e), void *arg)
{
	t->trace = fn;
	t->trace_arg = arg;
}

void tamis_log_set(struct tamis *t, void (*fn)(void *arg, const struct tamis_log *e), void *arg)
{
	t->log = fn;
	t->log_arg = arg;
}

void engine_collect(struct tamis *t, uint64_t now, unsigned budget)
{
	const struct list *sets = model_timed_sets(t->model);

	for (const struct list *l = sets->next; l != sets; l = l->next) {
		struct set *s = container_of(l, struct model_set, timed)->set;

		if (set_next_due(s) <= now)
			set_gc(s, now, budget);
	}
}

/* What is due is left to gather for a while, so that a step takes many out of one place. */
static uint64_t tick_of(const struct set *s)
{
	uint64_t interval = set_desc_of(s)->gc_interval_ns;

	return interval ? MAX(MIN(GATHER_NS, interval / 2), 1) : GATHER_NS;
}

void engine_collect_step(struct tamis *t, uint64_t now, unsigned budget)
{
	const struct list *sets = model_timed_sets(t->model);

	if (now < t->collect_next)
		return;
	t->collect_next = UINT64_MAX;
	for (const struct list *l = sets->next; l != sets; l = l->next) {
		struct set *s = container_of(l, struct model_set, timed)->set;
		uint64_t tick = tick_of(s), until = now - now % tick;

		if (set_next_due(s) <= until)
			set_gc(s, until, budget);
		t->collect_next =
			MIN(t->collect_next, set_next_due(s) <= until ? now : until + tick);
	}
}
