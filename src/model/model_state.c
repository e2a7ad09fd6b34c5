/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_state: the running states behind counter, quota, limit, last and connlimit statements and
 * behind named objects: made from the text's values, read back for the listing, reset.
 *
 * A reset happens at the commit, so that an abort has nothing to undo: programs that run meanwhile
 * hold pointers to the states, which must stay the same.
 */
#include "model/model_internal.h"

#define NS_PER_S UINT64_C(1000000000)

static int limit_info(const struct limit_spec *l, struct state_info *out)
{
	if (l->has_burst && l->burst > UINT32_MAX)
		return -EOVERFLOW;
	*out = (struct state_info){.kind = STATE_LIMIT,
				   .limit = {.rate = l->rate,
					     .unit_ns = l->unit * NS_PER_S,
					     .burst = l->has_burst ? (uint32_t)l->burst : 0,
					     .bytes = l->bytes,
					     .over = l->over}};
	return 0;
}

/* -ENOENT for statements that have no state. */
static int stmt_info(const struct stmt *s, struct state_info *out)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_COUNTER:
		*out = (struct state_info){.kind = STATE_COUNTER,
					   .counter = {s->counter.packets, s->counter.bytes}};
		return 0;
	case ST_QUOTA:
		*out = (struct state_info){.kind = STATE_QUOTA,
					   .quota = {.bytes = s->quota.bytes,
						     .used = s->quota.used,
						     .over = s->quota.over}};
		return 0;
	case ST_LIMIT:
		return limit_info(&s->limit, out);
	case ST_LAST:
		*out = (struct state_info){
			.kind = STATE_LAST,
			.last = {.used = s->last.set, .ago_ns = ms_to_ns(s->last.used_ms)}};
		return 0;
	case ST_CONNLIMIT:
		*out = (struct state_info){
			.kind = STATE_CONNLIMIT,
			.connlimit = {.count = s->connlimit.count, .over = s->connlimit.over}};
		return 0;
	default:
		return -ENOENT;
	}
}

static void stmt_fill(struct stmt *s, const struct state_info *info)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_COUNTER:
		s->counter.packets = info->counter.packets;
		s->counter.bytes = info->counter.bytes;
		break;
	case ST_QUOTA:
		s->quota.used = info->quota.used;
		break;
	case ST_LAST:
		s->last.set = info->last.used;
		s->last.used_ms = info->last.ago_ns / NS_PER_MS;
		break;
	default:
		break;
	}
}

struct stmt *stmt_from_state(struct arena *a, const struct state_info *info)
{
	static const enum stmt_kind kinds[STATE_KINDS_N] = {
		[STATE_COUNTER] = ST_COUNTER,	  [STATE_QUOTA] = ST_QUOTA,
		[STATE_LIMIT] = ST_LIMIT,	  [STATE_LAST] = ST_LAST,
		[STATE_CONNLIMIT] = ST_CONNLIMIT,
	};
	struct stmt *s = stmt_new(a, kinds[info->kind], LOC_NONE);

	if (!s)
		return NULL;
	stmt_fill(s, info);
	switch (info->kind) {
	case STATE_QUOTA:
		s->quota.bytes = info->quota.bytes;
		s->quota.over = info->quota.over;
		break;
	case STATE_LIMIT:
		s->limit = (struct limit_spec){.rate = info->limit.rate,
					       .burst = info->limit.burst,
					       .unit = (uint32_t)(info->limit.unit_ns / NS_PER_S),
					       .bytes = info->limit.bytes,
					       .over = info->limit.over,
					       .has_burst = info->limit.burst != 0};
		break;
	case STATE_CONNLIMIT:
		s->connlimit.count = info->connlimit.count;
		s->connlimit.over = info->connlimit.over;
		break;
	default:
		break;
	}
	return s;
}

/* --- rules ------------------------------------------------------------------------------------ */

int stmts_state_new(struct stmt *first, uint64_t now)
{
	for (struct stmt *s = first; s; s = s->next) {
		struct state_info info;
		struct state *st;
		int err = stmt_info(s, &info);

		if (err == -ENOENT)
			continue;
		if (!err)
			err = state_new(&info, now, &st);
		if (err)
			return err;
		s->state = st;
	}
	return 0;
}

void stmts_state_free(struct stmt *first)
{
	for (struct stmt *s = first; s; s = s->next) {
		state_free(s->state);
		s->state = NULL;
	}
}

/* Chains may have been renamed since the rule was made. */
static int name_refresh(void *arg, struct expr *e, const struct stmt *s)
{
	if (e->kind == EX_VERDICT && e->verdict.chain)
		e->verdict.chain_name = e->verdict.chain->name;
	return 0;
}

void rule_refresh(struct model_rule *r, uint64_t now)
{
	for (struct stmt *s = r->decl.stmts; s; s = s->next) {
		struct state_info info;

		if (!s->state)
			continue;
		state_read(s->state, now, &info);
		stmt_fill(s, &info);
	}
	if (!list_is_empty(&r->jump))
		stmts_visit(r->decl.stmts, name_refresh, NULL);
	list_foreach (l, &r->anonymous)
		list_foreach (k, &container_of(l, struct model_chain, link)->rules)
			rule_refresh(container_of(k, struct model_rule, link), now);
}

int state_reset_later(struct model *m, struct state *st)
{
	int err = log_reserve(m, 1);

	if (!err)
		log_push(m, (struct undo){.kind = UNDO_RESET, .noun = NOUNS, .item = st});
	return err;
}

int rule_reset(struct model *m, struct model_rule *r)
{
	int err = 0;

	for (struct stmt *s = r->decl.stmts; s && !err; s = s->next)
		if (s->state)
			err = state_reset_later(m, s->state);
	list_foreach (l, &r->anonymous)
		list_foreach (k, &container_of(l, struct model_chain, link)->rules)
			err = err ? err : rule_reset(m, container_of(k, struct model_rule, link));
	return err;
}

/* --- objects ---------------------------------------------------------------------------------- */

int object_state_new(struct model_object *o, uint64_t now)
{
	struct state_info info;
	int err = 0;

	switch (o->kind) {
	case OBJ_COUNTER:
		info = (struct state_info){
			.kind = STATE_COUNTER,
			.counter = {o->decl.counter.packets, o->decl.counter.bytes}};
		break;
	case OBJ_QUOTA:
		info = (struct state_info){.kind = STATE_QUOTA,
					   .quota = {.bytes = o->decl.quota.bytes,
						     .used = o->decl.quota.used,
						     .over = o->decl.quota.over}};
		break;
	case OBJ_LIMIT:
		err = limit_info(&o->decl.limit, &info);
		break;
	default:
		return 0;
	}
	return err ? err : state_new(&info, now, &o->state);
}

void object_refresh(struct model_object *o, uint64_t now)
{
	struct state_info info;

	if (!o->state)
		return;
	state_read(o->state, now, &info);
	if (o->kind == OBJ_COUNTER) {
		o->decl.counter.packets = info.counter.packets;
		o->decl.counter.bytes = info.counter.bytes;
	} else if (o->kind == OBJ_QUOTA) {
		o->decl.quota.used = info.quota.used;
	}
}

/* --- elements --------------------------------------------------------------------------------- */

static int infos_make(const struct stmt *stmts, struct state_template **io)
{
	VEC(struct state_info) infos = {0};
	int err = 0;

	for (const struct stmt *s = stmts; s && !err; s = s->next) {
		struct state_info info;

		err = stmt_info(s, &info);
		if (err == -ENOENT)
			err = 0;
		else if (!err)
			err = vec_push(&infos, info);
	}
	state_template_free(*io);
	*io = NULL;
	if (!err && infos.n)
		err = state_template_new(infos.items, (unsigned)infos.n, io);
	vec_free(&infos);
	return err;
}

int model_state_template(const struct stmt *stmts, struct state_template **io)
{
	struct state_info info;

	/* A million elements have one statement each. */
	if (!*io || state_template_len(*io) != 1 || !stmts || stmts->next)
		return infos_make(stmts, io);
	int err = stmt_info(stmts, &info);
	return err == -ENOENT ? infos_make(stmts, io)
	       : err	      ? err
			      : state_template_set(*io, 0, &info);
}
