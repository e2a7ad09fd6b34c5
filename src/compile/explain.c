/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: see explain.h.
 *
 * Shadowed: whatever matches a rule matches an earlier one too, which lets no packet go on. An
 * earlier rule that covers an entry matches its lowest packet; so the rules that the classifier
 * finds for that packet are the only ones to compare with. What a statement of the table writes is
 * not compared: the packet may have become another one in between.
 *
 * Times are put together of a few that were measured on one machine, AMD EPYC (Zen 5) with Linux
 * 6.18: here with `tamis-bench eval few` and `eval linear`, in bursts of 64, without what a packet
 * costs that meets no rule; in the kernel with datagrams over its loopback through 100 to 1,000
 * rules of one and of three comparisons, and of a lookup in one set, of many sizes, with another
 * key each time. The manual page has the figures too.
 */
#include "compile/explain.h"

#include <stdio.h>
#include <stdlib.h>

#include "acl/rule.h"
#include "compile/classify.h"
#include "eval/key.h"

enum {
	CHAIN_NS = 7,
	WALK_NS = 1,	/* a rule */
	SET_NS = 20,	/* a rule that looks into a set */
	LOOKUP_NS = 25, /* in the classifier, and for a node on the way: */
	NODE_NS = 5,
	LARGE_NS = 12, /* more where it is larger than the inner caches */
	LARGE_BYTES = 1 << 20,
	KERNEL_RULE_NS = 5,  /* the first comparison fails */
	KERNEL_MATCH_NS = 7, /* one more; half of them are taken to be looked at */
};
enum { RUN_RULES = 16, HUGE_SET = 1000, SHADOW_TRIES = 64 };

/* What is known of a rule while its chain is explained. */
struct known {
	const struct compiled_rule *rule;
	struct rule_conditions rc;
	bool ends; /* lets no packet go on that has its conditions */
};

struct explaining {
	const struct compile *c;
	const struct compiled_program *p;
	struct known *rules;
	size_t n;
	const struct known *weak[CLASSIFY_WEAK]; /* of the rules, in order */
	unsigned n_weak;
	uint32_t written; /* fields that statements of the table write */
	struct explained *out;
};

/* --- statements ----------------------------------------------------------------------------- */

/* The ops but those that are `said` pass every packet to a verdict that ends the chain for it. */
static bool ops_end(const struct prog_rule *r, uint64_t said)
{
	for (uint32_t k = 0; k < r->n_ops; k++) {
		const struct prog_op *op = &r->ops[k];
		enum state_kind kind;

		if (k < 64 && said >> k & 1)
			continue;
		switch ((enum prog_op_kind)op->kind) {
		case PO_STATE:
			kind = state_kind_of(op->state);
			if (kind != STATE_COUNTER && kind != STATE_LAST)
				return false;
			break;
		case PO_LOG:
		case PO_NOTRACK:
			break;
		case PO_VERDICT:
			if (op->verdict.code == PV_JUMP)
				return false;
			if (op->verdict.code != PV_CONTINUE)
				return true;
			break;
		case PO_REJECT:
		case PO_FWD:
			return true;
		case PO_QUEUE:
			return !op->queue.number;
		default:
			return false;
		}
	}
	return false;
}

static uint32_t fields_written(const struct prog_op *op)
{
	const uint32_t all = UINT32_MAX;

	switch ((enum prog_op_kind)op->kind) {
	case PO_META_SET:
		return op->meta_set.key == PMS_MARK	 ? 1u << CLS_MARK
		       : op->meta_set.key == PMS_PKTTYPE ? 1u << CLS_PKTTYPE
							 : 0;
	case PO_CT_SET:
		return 1u << CLS_CT_MARK;
	case PO_NOTRACK:
		return 1u << CLS_CT_STATE | 1u << CLS_CT_MARK | 1u << CLS_CT_DIRECTION;
	case PO_PACKET_SET:
	case PO_OPTION_SET:
	case PO_OPTION_RESET:
		return all;
	default:
		return 0;
	}
}

uint32_t explain_writes(const struct compile *c, const struct model_table *t)
{
	uint32_t written = 0;

	for (size_t k = 0; k < c->programs.n; k++) {
		const struct compiled_program *p = c->programs.items[k];

		if (((const struct model_chain *)p->pub.chain)->table != t)
			continue;
		for (const struct prog_rule *r = p->pub.first; r; r = r->next) {
			const struct model_rule *rule = r->rule;

			for (uint32_t i = 0; i < r->n_ops; i++)
				written |= fields_written(&r->ops[i]);
			if (rule->anonymous.next != &rule->anonymous)
				written = UINT32_MAX; /* whatever they do */
		}
	}
	return written;
}

/* --- shadows -------------------------------------------------------------------------------- */

static int number_order(const uint32_t a[4], const uint32_t b[4])
{
	for (unsigned k = 0; k < 4; k++)
		if (a[k] != b[k])
			return a[k] < b[k] ? -1 : 1;
	return 0;
}

/* All that has r has s, both of one field. */
static bool implies(const struct cls_cond *r, const struct cls_cond *s)
{
	if (r->masked == s->masked && r->neg == s->neg && !number_order(r->a, s->a) &&
	    !number_order(r->b, s->b))
		return true;
	if (r->neg)
		return false;
	if (s->masked) {
		bool exact = !r->masked && !number_order(r->a, r->b);

		for (unsigned k = 0; k < 4; k++) {
			if (!exact && (!r->masked || s->b[k] & ~r->b[k]))
				return false;
			if (!s->neg && (r->a[k] & s->b[k]) != s->a[k])
				return false;
		}
		return !s->neg;
	}
	if (r->masked)
		return false;
	if (s->neg)
		return number_order(r->b, s->a) < 0 || number_order(s->b, r->a) < 0;
	return number_order(s->a, r->a) <= 0 && number_order(r->b, s->b) <= 0;
}

static const struct cls_cond *entry_of(const struct rule_conditions *rc, uint32_t i)
{
	return rc->conds + (size_t)i * rc->n_conds;
}

/* Two comparisons of what fields have in part only. */
static bool same_op(const struct prog_op *a, const struct prog_op *b)
{
	enum cls_field f;

	if (a->kind != b->kind)
		return false;
	if (a->kind == PO_BYTES)
		return key_source_find(a->bytes.value, &f) == key_source_find(b->bytes.value, &f) &&
		       a->bytes.n == b->bytes.n && !memcmp(a->bytes.lo, b->bytes.lo, a->bytes.n);
	return a->kind == PO_RANGE &&
	       key_source_find(a->range.value, &f) == key_source_find(b->range.value, &f) &&
	       a->range.mask == b->range.mask && a->range.lo == b->range.lo;
}

/* What conditions of s say in part stands in r too. */
static bool kept_covers(const struct known *s, const struct known *r)
{
	const struct prog_op *ops = s->rule->pub.ops, *others = r->rule->pub.ops;

	for (uint64_t rest = s->rc.kept; rest; rest &= rest - 1) {
		bool there = false;

		for (uint64_t o = r->rc.kept; o && !there; o &= o - 1)
			there = same_op(&ops[__builtin_ctzll(rest)], &others[__builtin_ctzll(o)]);
		if (!there)
			return false;
	}
	return true;
}

/* Entry i of r is part of one entry of s. */
static bool covers(const struct explaining *x, const struct known *shadow,
		   const struct known *shadowed, uint32_t i)
{
	const struct rule_conditions *s = &shadow->rc, *r = &shadowed->rc;
	const struct cls_cond *rc = entry_of(r, i);

	if (s->fields & x->written || (s->family != CLS_ANY && s->family != r->family) ||
	    !kept_covers(shadow, shadowed))
		return false;
	for (uint32_t k = 0; k < s->n; k++) {
		const struct cls_cond *sc = entry_of(s, k);
		uint32_t j, m;

		for (j = 0; j < s->n_conds; j++) {
			for (m = 0; m < r->n_conds; m++)
				if (rc[m].field == sc[j].field && implies(&rc[m], &sc[j]))
					break;
			if (m == r->n_conds)
				break;
		}
		if (j == s->n_conds)
			return true;
	}
	return false;
}

/* A packet of the entry: the lowest values that it says. */
static void lowest(const struct rule_conditions *r, uint32_t i, struct cls_key *key)
{
	const struct cls_cond *c = entry_of(r, i);

	*key = (struct cls_key){.family = r->family == CLS_ANY ? CLS_OTHER : r->family};
	for (uint32_t k = 0; k < r->n_conds; k++) {
		const struct cls_place *at = &cls_places[c[k].field];

		if (c[k].neg || key->has >> c[k].field & 1)
			continue;
		for (unsigned w = 0; w < (at->bits == 128 ? 4u : 1u); w++)
			key->w[at->word + w] |= c[k].a[w] << at->shift;
		key->has |= UINT32_C(1) << c[k].field;
	}
}

static struct known *known_of(struct explaining *x, const struct prog_rule *r)
{
	for (size_t lo = 0, hi = x->n; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		struct known *k = &x->rules[mid];

		if (&k->rule->pub == r)
			return k;
		if (classifier_before(x->p->classifier, k->rule->pub.first, r->first))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* The rule that takes all of entry i of r, NULL: none that was found. */
static const struct known *shadow_of(struct explaining *x, const struct known *r, uint32_t i)
{
	const struct cls_entry *after = NULL, *hit = NULL;
	struct cls_key key;

	for (unsigned k = 0; k < x->n_weak && x->weak[k] < r; k++)
		if (x->weak[k]->ends && covers(x, x->weak[k], r, i))
			return x->weak[k];
	lowest(&r->rc, i, &key);
	for (unsigned tries = 0; tries < SHADOW_TRIES; tries++) {
		const struct known *s;

		if (!classifier_lookup(x->p->classifier, x->c->version, &key, 1, &after, &hit))
			return NULL;
		s = known_of(x, hit->cookie);
		if (!s || s >= r)
			return NULL;
		if (s->ends && covers(x, s, r, i))
			return s;
		after = s->rule->pub.last;
	}
	return NULL;
}

static uint64_t shadow_find(struct explaining *x, const struct known *r)
{
	uint64_t first = 0;

	if (!x->p->classifier || r->rc.fate != FATE_CLASSIFIED)
		return 0;
	for (uint32_t i = 0; i < r->rc.n; i++) {
		const struct known *s = shadow_of(x, r, i);

		if (!s)
			return 0;
		first = first ? first : s->rule->pub.handle;
	}
	return first;
}

/* --- fates ---------------------------------------------------------------------------------- */

static bool op_is_match(const struct prog_op *op)
{
	return op->kind <= PO_NEVER;
}

static const struct prog_op *lookup_op(const struct prog_rule *r)
{
	for (uint32_t k = 0; k < r->n_ops && op_is_match(&r->ops[k]); k++)
		if (r->ops[k].kind == PO_LOOKUP)
			return &r->ops[k];
	return r->n_ops && r->ops[r->n_ops - 1].kind == PO_VMAP ? &r->ops[r->n_ops - 1] : NULL;
}

static bool is_negated(const struct prog_op *op)
{
	switch ((enum prog_op_kind)op->kind) {
	case PO_RANGE:
		return op->range.neg;
	case PO_BYTES:
		return op->bytes.neg;
	case PO_LOOKUP:
		return op->lookup.neg;
	default:
		return false;
	}
}

static bool only_excludes(const struct prog_rule *r)
{
	bool any = false;

	for (uint32_t k = 0; k < r->n_ops && op_is_match(&r->ops[k]); k++) {
		if (is_negated(&r->ops[k]))
			any = true;
		else if (r->ops[k].kind != PO_RANGE || r->ops[k].range.value->kind != PX_META)
			return false;
	}
	return any;
}

static const char *why_walked(const struct explaining *x, const struct known *k)
{
	const struct prog_rule *r = &k->rule->pub;

	if (!r->n_ops || !op_is_match(&r->ops[0]))
		return "sees every packet that comes by";
	if (only_excludes(r))
		return "says only what packets are not";
	if (lookup_op(r))
		return "a lookup in a set for each packet";
	if (!x->p->classifier)
		return "the chain is short";
	if (k->rule->weak)
		return "asks for nothing but what many packets have";
	return "compares nothing that the classifier has a field for";
}

static struct explained_rule fate_of(struct explaining *x, const struct known *k, uint64_t ended_by)
{
	const struct prog_rule *r = &k->rule->pub;
	struct explained_rule e = {.rule = (struct model_rule *)r->rule};

	if (k->rc.fate == FATE_NEVER) {
		e.fate = TAMIS_FATE_NEVER;
		e.why = "compares what only a kernel knows, or what is never so";
		return e;
	}
	if (x->p->classifier && k->rule->classified) {
		e.fate = TAMIS_FATE_CLASSIFIER;
		e.entries = k->rc.n;
	} else {
		e.fate = lookup_op(r) ? TAMIS_FATE_SET : TAMIS_FATE_WALKED;
		e.why = why_walked(x, k);
	}
	e.shadowed_by = ended_by ? ended_by : shadow_find(x, k);
	if (e.shadowed_by) {
		e.fate = TAMIS_FATE_SHADOWED;
		e.why = NULL;
	}
	return e;
}

static int fates_find(struct explaining *x)
{
	uint64_t ended_by = 0;
	int err = 0;

	for (size_t k = 0; k < x->n && !err; k++) {
		const struct prog_rule *r = &x->rules[k].rule->pub;
		struct explained_rule e = fate_of(x, &x->rules[k], ended_by);

		x->out->by_fate[e.fate]++;
		err = vec_push(&x->out->rules, e);
		if (!ended_by && ops_end(r, 0))
			ended_by = r->handle;
	}
	return err;
}

/* --- advice --------------------------------------------------------------------------------- */

static int advise(struct explaining *x, const char *kind, uint64_t handle, uint32_t n,
		  const char *format)
{
	struct explained_advice a = {.kind = kind, .handle = handle, .n = n};

	snprintf(a.text, sizeof(a.text), format, n);
	return vec_push(&x->out->advices, a);
}

/* Both compare the same fields, all but one with the same constants, and end alike. */
static bool alike(const struct known *a, const struct known *b, int *field)
{
	const struct cls_cond *c = a->rc.conds, *d = b->rc.conds;
	int differs = -1;

	if (a->rc.fate != FATE_CLASSIFIED || b->rc.fate != FATE_CLASSIFIED || a->rc.n != 1 ||
	    b->rc.n != 1 || a->rc.n_conds != b->rc.n_conds || a->rc.n_rest != b->rc.n_rest ||
	    a->rc.family != b->rc.family || !a->ends || !b->ends)
		return false;
	for (uint32_t k = 0; k < a->rc.n_rest; k++)
		if (a->rc.rest[k].kind != b->rc.rest[k].kind)
			return false;
	for (uint32_t k = 0; k < a->rc.n_conds; k++) {
		if (c[k].field != d[k].field || c[k].masked || d[k].masked || c[k].neg || d[k].neg)
			return false;
		if (!number_order(c[k].a, d[k].a) && !number_order(c[k].b, d[k].b))
			continue;
		if (differs >= 0)
			return false;
		differs = c[k].field;
	}
	if (differs < 0 || (*field >= 0 && *field != differs))
		return false;
	*field = differs;
	return true;
}

static int advise_runs(struct explaining *x)
{
	int err = 0;

	for (size_t k = 0, next; k < x->n && !err; k = next) {
		int field = -1;

		for (next = k + 1; next < x->n && alike(&x->rules[k], &x->rules[next], &field);)
			next++;
		if (next - k >= RUN_RULES)
			err = advise(x, "linear-run", x->rules[k].rule->pub.handle,
				     (uint32_t)(next - k),
				     "%u rules in a row differ in one value and what they decide: "
				     "a kernel walks them; write one rule with a set, or with a "
				     "verdict map");
	}
	return err;
}

static int advise_rule(struct explaining *x, const struct known *k)
{
	const struct prog_rule *r = &k->rule->pub;
	const struct prog_op *op = lookup_op(r);
	uint64_t n = op ? set_count(op->lookup.set, 0) : 0;
	bool own = false;
	int err = 0;

	if (only_excludes(r))
		err = advise(x, "negation", r->handle, 1,
			     "%u rule says only what packets are not, so nearly all match it: let "
			     "the excepted go first, with accept or return, from a set");
	for (size_t i = 0; op && i < k->rule->sets.n; i++)
		own |= k->rule->sets.items[i] == op->lookup.set;
	if (!err && own && n >= HUGE_SET)
		err = advise(x, "anonymous-set", r->handle, (uint32_t)n,
			     "an anonymous set of %u elements: every change of it sends the whole "
			     "rule again; write a named set, whose elements come and go alone");
	return err;
}

/* --- a chain -------------------------------------------------------------------------------- */

static int rules_know(struct explaining *x)
{
	int err = 0;

	x->rules = calloc(MAX(x->p->n_rules, 1u), sizeof(*x->rules));
	if (!x->rules)
		return -ENOMEM;
	for (const struct prog_rule *r = x->p->pub.first; r && !err; r = r->next) {
		struct known *k = &x->rules[x->n];

		k->rule = container_of(r, struct compiled_rule, pub);
		err = rule_conditions(k->rule, &k->rc);
		if (err)
			break;
		if (k->rule->weak && x->n_weak < CLASSIFY_WEAK)
			x->weak[x->n_weak++] = k;
		k->ends = k->rc.fate == FATE_CLASSIFIED && ops_end(r, k->rc.said);
		x->n++;
	}
	return err;
}

/* What a lookup costs in the kernel among so many elements. */
struct anchor {
	uint32_t elements, ns;
};

static const struct anchor kernel_hash[] = {{10, 55}, {1000, 80}, {65536, 300}, {1000000, 440}};
static const struct anchor kernel_interval[] = {{10, 140},    {100, 270},    {1000, 460},
						{10000, 750}, {50000, 1300}, {1000000, 2600}};
static const struct anchor kernel_concat[] = {{10, 355}, {1000, 410}, {10000, 1240}};

/* A logarithm: sixteenths of octaves, straight within each. */
static uint32_t octaves(uint32_t n)
{
	unsigned top = 31 - (unsigned)__builtin_clz(n);

	return 16 * top + (uint32_t)(((uint64_t)n << 4 >> top) & 15);
}

/* Between two anchors it grows with the logarithm of the elements. */
static uint32_t between(const struct anchor *a, size_t n_anchors, uint64_t count)
{
	uint32_t n = (uint32_t)MIN(count, a[n_anchors - 1].elements);
	size_t i = 1;

	if (n <= a[0].elements)
		return a[0].ns;
	while (n > a[i].elements)
		i++;
	uint32_t from = octaves(a[i - 1].elements);
	return a[i - 1].ns +
	       (a[i].ns - a[i - 1].ns) * (octaves(n) - from) / (octaves(a[i].elements) - from);
}

static uint32_t kernel_set_ns(const struct set *s)
{
	uint64_t n = set_count(s, 0);

	switch (set_kind_of(s)) {
	case SET_HASH:
		return between(kernel_hash, ARRAY_SIZE(kernel_hash), n);
	case SET_INTERVAL:
		return between(kernel_interval, ARRAY_SIZE(kernel_interval), n);
	case SET_CONCAT:
		return between(kernel_concat, ARRAY_SIZE(kernel_concat), n);
	case SET_BITMAP:
		break;
	}
	return KERNEL_MATCH_NS;
}

/* A rule in a kernel: of the comparisons behind the first half are taken to be looked at. */
static uint32_t kernel_rule_ns(const struct prog_rule *r)
{
	uint32_t first = 0, behind = 0;

	for (uint32_t k = 0; k < r->n_ops; k++) {
		const struct prog_op *op = &r->ops[k];
		bool set = op->kind == PO_LOOKUP || op->kind == PO_VMAP;

		if (!set && !op_is_match(op))
			break;
		if (k)
			behind += set ? kernel_set_ns(op->lookup.set) : KERNEL_MATCH_NS;
		else if (set)
			first = kernel_set_ns(op->lookup.set);
	}
	return KERNEL_RULE_NS + first + behind / 2;
}

static void costs(struct explaining *x)
{
	struct explained *e = x->out;
	uint32_t all = CHAIN_NS, left = CHAIN_NS + LOOKUP_NS;

	for (size_t k = 0; k < x->n; k++) {
		const struct prog_rule *r = &x->rules[k].rule->pub;
		uint32_t each = lookup_op(r) ? SET_NS : WALK_NS;

		all += each;
		if (!x->rules[k].rule->classified && x->rules[k].rc.fate != FATE_NEVER)
			left += each;
		e->kernel_ns += kernel_rule_ns(r);
	}
	e->cost_ns = all;
	if (!e->classifier)
		return;
	classifier_stats_read(x->p->classifier, &e->stats);
	left += NODE_NS * e->stats.depth + (e->stats.bytes > LARGE_BYTES ? LARGE_NS : 0);
	e->cost_ns = MIN(all, left);
}

int explain_chain(const struct compile *c, const struct model_chain *chain, uint32_t writes,
		  struct explained *out)
{
	struct explaining x = {.c = c, .p = chain->program, .written = writes, .out = out};
	int err;

	*out = (struct explained){0};
	if (!x.p)
		return 0;
	out->classifier = x.p->classifier;
	err = rules_know(&x);
	if (!err)
		err = fates_find(&x);
	if (!err)
		err = advise_runs(&x);
	for (size_t k = 0; k < x.n && !err; k++)
		err = advise_rule(&x, &x.rules[k]);
	if (!err)
		costs(&x);
	for (size_t k = 0; k < x.n; k++)
		rule_conditions_free(&x.rules[k].rc);
	free(x.rules);
	if (err)
		explained_free(out);
	return err;
}

void explained_free(struct explained *e)
{
	vec_free(&e->rules);
	vec_free(&e->advices);
}
