/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_reference: a ruleset judges packets one by one, straight from its checked form.
 *
 * The naive reading that src/compile and src/eval are compared with: no columns, no masks, no
 * programs; every field is read bit by bit, every set looked through element by element. It covers
 * what the random rulesets of test_eval_random.c are made of. States and flows are those of
 * src/state and src/ct, which have tests of their own; headers are found by src/packet.
 */
#ifndef TAMIS_TEST_EVAL_REFERENCE_H
#define TAMIS_TEST_EVAL_REFERENCE_H

#include <stdlib.h>

#include "ct/ct.h"
#include "model/model.h"
#include "packet/burst.h"

enum { REF_BYTES = 64, REF_RULES = 512 };

enum ref_result { REF_CONTINUE, REF_BREAK, REF_ACCEPT, REF_DROP, REF_REJECT, REF_RETURN };

struct ref_hits {
	const struct model_rule *rule;
	uint64_t packets, bytes;
};

struct reference {
	struct model *m;
	struct ct_table *ct;
	struct ref_hits hits[REF_RULES];
	unsigned n_hits;

	struct burst *b; /* of one packet */
	struct ct_burst cb;
	bool tracked, notrack;
	enum hook hook;
	enum family family; /* of the table */
	bool v6;
};

/* A value: `len` bytes, big-endian; ok false: the packet has none. */
struct ref_value {
	bool ok;
	unsigned len;
	uint8_t v[REF_BYTES];
};

static struct ref_value ref_number(uint64_t n, unsigned bits)
{
	struct ref_value r = {.ok = true, .len = bits_to_bytes(bits)};

	for (unsigned k = 0; k < r.len; k++)
		r.v[r.len - 1 - k] = k < 8 ? (uint8_t)(n >> 8 * k) : 0;
	return r;
}

static struct ref_value ref_constant(const struct expr *e)
{
	struct ref_value r = {.ok = true, .len = bits_to_bytes(e->bits)};

	memcpy(r.v, expr_bytes(e), r.len);
	return r;
}

static struct ref_value ref_bits(const struct burst *b, enum header_base base, unsigned off,
				 unsigned bits)
{
	struct ref_value r = {.len = bits_to_bytes(bits)};

	for (unsigned k = 0; k < bits; k++) {
		unsigned at = off + bits - 1 - k; /* k counts from the lowest bit */
		uint8_t byte;

		if (!burst_read(b, 0, base, at / 8, &byte, 1))
			return r;
		if (byte >> (7 - at % 8) & 1)
			r.v[r.len - 1 - k / 8] |= (uint8_t)(1u << k % 8);
	}
	r.ok = true;
	return r;
}

static struct ref_value ref_eval(struct reference *ref, const struct expr *e);

static int ref_order(const struct ref_value *a, const struct ref_value *b)
{
	unsigned len = a->len > b->len ? a->len : b->len;

	for (unsigned k = len; k-- > 0;) {
		uint8_t x = k < a->len ? a->v[a->len - 1 - k] : 0;
		uint8_t y = k < b->len ? b->v[b->len - 1 - k] : 0;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static bool ref_field_in(const struct ref_value *v, const struct expr *key)
{
	struct ref_value lo, hi;

	switch (key->kind) {
	case EX_VALUE:
		lo = ref_constant(key);
		if (key->flags & EXF_WILDCARD)
			return !memcmp(v->v, lo.v, lo.len);
		return !ref_order(v, &lo);
	case EX_RANGE:
		lo = ref_constant(key->pair.left);
		hi = ref_constant(key->pair.right);
		return ref_order(v, &lo) >= 0 && ref_order(v, &hi) <= 0;
	case EX_PREFIX:
		lo = ref_constant(key->prefix.base);
		for (unsigned k = 0; k < key->prefix.len; k++)
			if ((v->v[k / 8] ^ lo.v[k / 8]) & 0x80 >> k % 8)
				return false;
		return true;
	default:
		return false;
	}
}

static bool ref_key_in(struct reference *ref, const struct expr *left, const struct expr *key,
		       bool *ok)
{
	bool in = true;

	*ok = true;
	if (left->kind != EX_CONCAT) {
		struct ref_value v = ref_eval(ref, left);

		*ok = v.ok;
		return v.ok && (key->kind == EX_CATCHALL || ref_field_in(&v, key));
	}
	for (uint32_t k = 0; k < left->list.n; k++) {
		struct ref_value v = ref_eval(ref, left->list.items[k]);

		if (!v.ok)
			*ok = false;
		else if (key->kind != EX_CATCHALL && !ref_field_in(&v, key->list.items[k]))
			in = false;
	}
	return *ok && in;
}

/* The key of an expression for a named set. */
static bool ref_key(struct reference *ref, const struct expr *e, uint8_t *out)
{
	unsigned at = 0;

	if (e->kind != EX_CONCAT) {
		struct ref_value v = ref_eval(ref, e);

		memcpy(out, v.v, v.len);
		return v.ok;
	}
	for (uint32_t k = 0; k < e->list.n; k++) {
		struct ref_value v = ref_eval(ref, e->list.items[k]);

		if (!v.ok)
			return false;
		memcpy(out + at, v.v, v.len);
		at += v.len;
	}
	return true;
}

/* The live element with the narrowest claim on the key: looked for one by one. */
static bool ref_set_find(struct reference *ref, struct set *s, const uint8_t *key,
			 struct set_view *out)
{
	const struct set_desc *d = set_desc_of(s);
	struct set_cursor *c;
	struct set_view v;
	bool found = false;

	if (set_cursor_open(s, SET_CURSOR_USER, NULL, ref->b->time[0], &c))
		abort();
	while (set_cursor_next(c, &v)) {
		unsigned at = 0;
		bool in = true;

		if (v.catchall) {
			if (!found)
				*out = v;
			found = true;
			continue;
		}
		for (unsigned k = 0; k < d->n_fields; at += d->field_len[k++])
			in = in && memcmp(key + at, v.lo + at, d->field_len[k]) >= 0 &&
			     memcmp(key + at, v.hi + at, d->field_len[k]) <= 0;
		if (in) {
			*out = v;
			found = true;
		}
	}
	set_cursor_close(c);
	return found;
}

/* What an anonymous set says of the packet's key; NULL: nothing. */
static const struct expr *ref_anonymous_find(struct reference *ref, const struct expr *key,
					     const struct expr *set, bool *ok)
{
	const struct expr *any = NULL;

	for (uint32_t k = 0; k < set->list.n; k++) {
		const struct expr *item = set->list.items[k];
		const struct expr *want = item->kind == EX_ELEM ? item->elem->key : item;

		if (want->kind == EX_CATCHALL)
			any = item;
		else if (ref_key_in(ref, key, want, ok))
			return item;
		if (!*ok)
			return NULL;
	}
	return any;
}

static struct ref_value ref_map(struct reference *ref, const struct expr *e)
{
	struct ref_value r = {.len = bits_to_bytes(e->bits)};
	bool ok = true;

	if (e->map.to->kind == EX_SET) {
		const struct expr *item = ref_anonymous_find(ref, e->map.key, e->map.to, &ok);

		return item ? ref_constant(item->elem->data) : r;
	}
	uint8_t key[REF_BYTES];
	struct set_view v;

	if (!ref_key(ref, e->map.key, key) ||
	    !ref_set_find(ref, e->map.to->setref.set->set, key, &v))
		return r;
	r.ok = true;
	memcpy(r.v, v.data, r.len);
	return r;
}

static struct ref_value ref_binop(struct reference *ref, const struct expr *e)
{
	struct ref_value l = ref_eval(ref, e->pair.left), r = ref_eval(ref, e->pair.right), out = l;
	unsigned bits = bits_to_bytes(e->bits) * 8;
	uint64_t by = 0;

	out.ok = l.ok && r.ok;
	out.len = bits / 8;
	memset(out.v, 0, sizeof(out.v));
	for (unsigned k = 0; k < r.len; k++)
		by = by << 8 | r.v[k];
#define BIT(x, k) ((k) / 8 < (x).len ? (x).v[(x).len - 1 - (k) / 8] >> (k) % 8 & 1 : 0)
	for (unsigned k = 0; k < e->bits; k++) {
		unsigned bit = 0;

		if (e->op == OP_AND)
			bit = BIT(l, k) & BIT(r, k);
		else if (e->op == OP_OR)
			bit = BIT(l, k) | BIT(r, k);
		else if (e->op == OP_XOR)
			bit = BIT(l, k) ^ BIT(r, k);
		else if (e->op == OP_LSHIFT && k >= by)
			bit = BIT(l, k - by);
		else if (e->op == OP_RSHIFT && k + by < bits)
			bit = BIT(l, k + by);
		out.v[out.len - 1 - k / 8] |= (uint8_t)(bit << k % 8);
	}
#undef BIT
	return out;
}

static struct ref_value ref_meta(struct reference *ref, const struct expr *e)
{
	const struct burst *b = ref->b;
	struct ref_value none = {0};

	switch (e->key) {
	case META_LENGTH:
		return ref_number(b->l3len[0], 32);
	case META_PROTOCOL:
		return ref_number(b->protocol[0], 16);
	case META_NFPROTO:
		return ref_number(ref->v6 ? 10 : 2, 8);
	case META_L4PROTO:
		return b->has[HAS_L4PROTO] & 1 ? ref_number(b->l4proto[0], 8) : none;
	case META_MARK:
		return ref_number(b->mark[0], 32);
	case META_PKTTYPE:
		return ref_number(b->pkttype[0], 8);
	case META_IIFTYPE:
		return ref_number(1, 16);
	default:
		abort();
	}
}

static struct ref_value ref_eval(struct reference *ref, const struct expr *e)
{
	const struct burst *b = ref->b;
	struct ref_value none = {0};
	uint32_t off, len;

	switch (e->kind) {
	case EX_VALUE:
		return ref_constant(e);
	case EX_PAYLOAD:
		if (e->payload.header != &proto_vlan)
			return ref_bits(b, (enum header_base)e->payload.header->base,
					e->payload.field->off, e->bits);
		if (!(b->has[HAS_VLAN] & 1)) /* behind the addresses and 0x8100 */
			return none;
		return ref_bits(b, BASE_LL, 14 * 8 + e->payload.field->off, e->bits);
	case EX_RAW:
		return ref_bits(b, (enum header_base)e->raw.base, e->raw.off, e->bits);
	case EX_OPTION: /* tcp options only */
		if (e->option.existence)
			return ref_number(
				(b->has[HAS_TCP] & 1) &&
					burst_find_tcp_option(b, 0, (uint8_t)e->option.option->kind,
							      &off, &len),
				8);
		if (!(b->has[HAS_TCP] & 1))
			return none;
		if (!burst_find_tcp_option(b, 0, (uint8_t)e->option.option->kind, &off, &len) ||
		    e->option.field->off + e->bits > len * 8)
			return none;
		return ref_bits(b, BASE_TH, (off - b->th_off[0]) * 8 + e->option.field->off,
				e->bits);
	case EX_META:
		return ref_meta(ref, e);
	case EX_CT:
		if (e->ct.key == CT_STATE)
			return ref_number(ref->cb.state[0], 32);
		if (e->ct.key == CT_MARK && ref->cb.flow[0])
			return ref_number(ct_flow_mark(ref->cb.flow[0]), 32);
		return none;
	case EX_BINOP:
		return ref_binop(ref, e);
	case EX_MAP:
		return ref_map(ref, e);
	default:
		abort();
	}
}

static bool ref_any_bit(const struct ref_value *a, const struct ref_value *b)
{
	for (unsigned k = 0; k < a->len && k < b->len; k++)
		if (a->v[a->len - 1 - k] & b->v[b->len - 1 - k])
			return true;
	return false;
}

static bool ref_compare(struct reference *ref, const struct expr *e)
{
	const struct expr *l = e->pair.left, *r = e->pair.right;
	struct ref_value v, c = {0};
	bool ok = true, in;
	int order;

	if (r->kind == EX_SET) {
		in = ref_anonymous_find(ref, l, r, &ok) != NULL;
		return ok && in != (e->op == OP_NEQ);
	}
	if (r->kind == EX_SETREF) {
		uint8_t key[REF_BYTES];
		struct set_view view;

		ok = ref_key(ref, l, key);
		return ok && ref_set_find(ref, r->setref.set->set, key, &view) != (e->op == OP_NEQ);
	}
	if (r->kind == EX_CONCAT) {
		in = ref_key_in(ref, l, r, &ok);
		return ok && in != (e->op == OP_NEQ);
	}
	v = ref_eval(ref, l);
	if (!v.ok)
		return false;
	if (r->kind == EX_RANGE || r->kind == EX_PREFIX || r->flags & EXF_WILDCARD)
		return ref_field_in(&v, r) != (e->op == OP_NEQ);
	if (r->kind == EX_LIST) {
		bool any = false;

		for (uint32_t k = 0; k < r->list.n; k++) {
			c = ref_constant(r->list.items[k]);
			any = any || ref_any_bit(&v, &c);
		}
		return any == (e->op == OP_IMPLICIT);
	}
	c = ref_eval(ref, r);
	order = ref_order(&v, &c);
	switch (e->op) {
	case OP_IMPLICIT:
		return ref_any_bit(&v, &c);
	case OP_NOT:
		return !ref_any_bit(&v, &c);
	case OP_EQ:
		return c.ok && !order;
	case OP_NEQ:
		return c.ok && order;
	case OP_LT:
		return order < 0;
	case OP_GT:
		return order > 0;
	case OP_LE:
		return order <= 0;
	case OP_GE:
		return order >= 0;
	default:
		abort();
	}
}

static enum ref_result ref_chain(struct reference *ref, const struct model_chain *c);

static enum ref_result ref_verdict(struct reference *ref, enum verdict_code code,
				   const struct model_chain *chain)
{
	enum ref_result r;

	switch (code) {
	case VERDICT_ACCEPT:
		return REF_ACCEPT;
	case VERDICT_DROP:
		return REF_DROP;
	case VERDICT_RETURN:
		return REF_RETURN;
	case VERDICT_JUMP:
		r = ref_chain(ref, chain);
		return r == REF_RETURN ? REF_BREAK : r; /* the next rule */
	case VERDICT_GOTO:
		return ref_chain(ref, chain);
	default:
		return REF_CONTINUE;
	}
}

static enum ref_result ref_verdict_map(struct reference *ref, const struct expr *e, bool *matched)
{
	bool ok = true;

	if (e->map.to->kind == EX_SET) {
		const struct expr *item = ref_anonymous_find(ref, e->map.key, e->map.to, &ok);

		*matched = item != NULL;
		return item ? ref_verdict(ref, item->elem->data->verdict.code,
					  item->elem->data->verdict.chain)
			    : REF_BREAK;
	}
	uint8_t key[REF_BYTES];
	struct model_verdict data;
	struct set_view v;

	*matched = ref_key(ref, e->map.key, key) &&
		   ref_set_find(ref, e->map.to->setref.set->set, key, &v);
	if (!*matched)
		return REF_BREAK;
	memcpy(&data, v.data, sizeof(data));
	return ref_verdict(ref, (enum verdict_code)data.code, data.chain);
}

static bool ref_update(struct reference *ref, const struct stmt *s)
{
	struct set *set = s->set.set->setref.set->set;
	uint8_t key[REF_BYTES];
	struct set_item item = {.lo = key};
	struct set_elem *e;

	if (!ref_key(ref, s->set.elem->key, key))
		return false;
	if (s->set.op == SETOP_DELETE) {
		set_remove(set, key, ref->b->time[0]);
		return true;
	}
	if (s->set.elem->has_timeout)
		item.timeout_ns = s->set.elem->timeout * 1000000;
	return set_update(set, s->set.op == SETOP_UPDATE ? SET_UPDATE_REFRESH : SET_UPDATE_ADD,
			  &item, ref->b->time[0], &e) >= 0;
}

/* *matched: whether the packet counts for the rule. */
static enum ref_result ref_stmt(struct reference *ref, const struct stmt *s, bool *matched)
{
	struct ref_value v;

	*matched = true;
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
		return ref_compare(ref, s->expr) ? REF_CONTINUE : REF_BREAK;
	case ST_VERDICT:
		if (s->expr->kind == EX_MAP)
			return ref_verdict_map(ref, s->expr, matched);
		return ref_verdict(ref, s->expr->verdict.code, s->expr->verdict.chain);
	case ST_REJECT:
		return REF_REJECT;
	case ST_COUNTER:
	case ST_QUOTA:
	case ST_LIMIT:
		return state_eval(s->state, 1, ref->b->l3len, ref->b->time) ? REF_CONTINUE
									    : REF_BREAK;
	case ST_META_SET:
		v = ref_eval(ref, s->assign.value);
		if (!v.ok)
			return REF_BREAK;
		ref->b->mark[0] = (uint32_t)be_load(v.v, v.len);
		return REF_CONTINUE;
	case ST_CT_SET:
		v = ref_eval(ref, s->assign.value);
		if (!v.ok)
			return REF_BREAK;
		if (ref->cb.flow[0])
			ct_flow_set_mark(ref->cb.flow[0], (uint32_t)be_load(v.v, v.len));
		return REF_CONTINUE;
	case ST_NOTRACK:
		if (!ref->cb.flow[0]) {
			ref->cb.state[0] = CT_UNTRACKED;
			ref->notrack = true;
		}
		return REF_CONTINUE;
	case ST_SET:
		return ref_update(ref, s) ? REF_CONTINUE : REF_BREAK;
	default:
		abort();
	}
}

static void ref_count(struct reference *ref, const struct model_rule *r)
{
	unsigned k = 0;

	while (k < ref->n_hits && ref->hits[k].rule != r)
		k++;
	if (k == REF_RULES)
		abort();
	if (k == ref->n_hits)
		ref->hits[ref->n_hits++] = (struct ref_hits){.rule = r};
	ref->hits[k].packets++;
	ref->hits[k].bytes += ref->b->l3len[0];
}

static enum ref_result ref_rule(struct reference *ref, const struct model_rule *rule)
{
	for (const struct stmt *s = rule->decl.stmts; s; s = s->next) {
		bool matched, verdict = s->kind == ST_VERDICT;
		enum ref_result r = ref_stmt(ref, s, &matched);

		if (r == REF_CONTINUE)
			continue;
		if (r != REF_BREAK || (verdict && matched))
			ref_count(ref, rule);
		return r;
	}
	ref_count(ref, rule);
	return REF_CONTINUE;
}

static enum ref_result ref_chain(struct reference *ref, const struct model_chain *c)
{
	for (const struct list *l = c->rules.next; l != &c->rules; l = l->next) {
		enum ref_result r = ref_rule(ref, container_of(l, struct model_rule, link));

		if (r != REF_CONTINUE && r != REF_BREAK)
			return r;
	}
	return REF_RETURN;
}

static bool ref_family_sees(enum family f, bool v6)
{
	return f == FAMILY_INET || f == (v6 ? FAMILY_IP6 : FAMILY_IP);
}

/* Base chains of the hook: the one to run after (priority, id), NULL for none. */
static const struct model_chain *ref_next_base(struct reference *ref, enum hook hook,
					       const struct model_chain *after)
{
	const struct list *tables = model_tables(ref->m);
	const struct model_chain *best = NULL;

#define BEFORE(x, y)                                                                               \
	((x)->decl.priority < (y)->decl.priority ||                                                \
	 ((x)->decl.priority == (y)->decl.priority && (x)->id > (y)->id))
	for (const struct list *t = tables->next; t != tables; t = t->next) {
		const struct model_table *table = container_of(t, struct model_table, link);

		if (!ref_family_sees(table->family, ref->v6))
			continue;
		for (const struct list *l = table->chains.next; l != &table->chains; l = l->next) {
			const struct model_chain *c = container_of(l, struct model_chain, link);

			if (!c->decl.base || c->decl.hook != hook || (after && !BEFORE(after, c)))
				continue;
			if (!best || BEFORE(c, best))
				best = c;
		}
	}
#undef BEFORE
	return best;
}

static void ref_track(struct reference *ref)
{
	if (ref->ct && !ref->tracked)
		ct_track(ref->ct, ref->b, 1, ref->notrack, &ref->cb);
	ref->tracked = true;
}

static enum ref_result ref_hook(struct reference *ref, enum hook hook)
{
	const struct model_chain *c = NULL;

	ref->hook = hook;
	while ((c = ref_next_base(ref, hook, c))) {
		enum ref_result r;

		if (hook == HOOK_PREROUTING && c->decl.priority >= -200)
			ref_track(ref);
		ref->family = c->table->family;
		r = ref_chain(ref, c);
		if (r == REF_RETURN)
			r = c->decl.has_policy && c->decl.policy == VERDICT_DROP ? REF_DROP
										 : REF_ACCEPT;
		if (r != REF_ACCEPT)
			return r;
	}
	if (hook == HOOK_PREROUTING)
		ref_track(ref);
	return REF_ACCEPT;
}

/* b: one parsed packet on the input path. Its mark is left in b->mark[0]. */
static enum ref_result ref_packet(struct reference *ref, struct burst *b)
{
	enum ref_result r;

	ref->b = b;
	ref->tracked = ref->notrack = false;
	ct_burst_init(&ref->cb);
	ref->v6 = b->protocol[0] == 0x86dd;
	if (b->protocol[0] != 0x0800 && !ref->v6)
		return REF_ACCEPT;
	if (!(b->has[ref->v6 ? HAS_IPV6 : HAS_IPV4] & 1) ||
	    (!ref->v6 && b->malformed[0] >> MALFORMED_IP_CHECKSUM & 1))
		return REF_DROP;
	r = ref_hook(ref, HOOK_PREROUTING);
	if (r == REF_ACCEPT)
		r = ref_hook(ref, HOOK_INPUT);
	if (ref->ct && ref->tracked)
		ct_finish(ref->ct, &ref->cb, 1, r == REF_ACCEPT);
	return r;
}

#endif
