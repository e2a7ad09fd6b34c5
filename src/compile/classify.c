/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classify: entries of rules, and the list of those that are walked; see classify.h.
 *
 * A rule's entries are neighbours: classifier_next() leads from its first to its last. They belong
 * to the version that comes next like the rule itself, so that readers of the former version find
 * what they found before. An abort in the classifier brings back what ended; what came leaves the
 * list of walked rules before its entry goes, since the order of the list is that of the entries.
 */
#include "compile/classify.h"

#include <stdlib.h>

/* --- walked rules --------------------------------------------------------------------------- */

static struct prog_rule **level_of(struct compiled_program *p, struct compiled_rule *r,
				   unsigned level)
{
	if (!level)
		return r ? &r->pub.next_walked : &p->pub.first_walked;
	return r ? &r->above[level - 1] : &p->above[level - 1];
}

/* Of each level the link that leads to r or behind it. */
static void links_to(struct compiled_program *p, const struct compiled_rule *r,
		     struct prog_rule **links[WALKED_LEVELS])
{
	struct compiled_rule *at = NULL;

	for (unsigned level = WALKED_LEVELS; level--;) {
		struct prog_rule **link = level_of(p, at, level);

		while (*link && classifier_before(p->classifier, (*link)->first, r->pub.first)) {
			at = container_of(*link, struct compiled_rule, pub);
			link = level_of(p, at, level);
		}
		links[level] = link;
	}
}

/* A quarter of the rules of a level is on the next one. */
static unsigned levels_draw(struct compile *c)
{
	unsigned n = 1;

	c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	for (uint64_t r = c->random >> 33; !(r & 3) && n < WALKED_LEVELS; r >>= 2)
		n++;
	return n;
}

static int walked_enter(struct compile *c, struct compiled_rule *r)
{
	struct compiled_program *p = r->program;
	struct prog_rule **links[WALKED_LEVELS];
	unsigned levels = levels_draw(c);

	if (levels > 1) {
		r->above = calloc(levels - 1, sizeof(struct prog_rule *));
		if (!r->above)
			return -ENOMEM;
	}
	links_to(p, r, links);
	for (unsigned k = 0; k < levels; k++) {
		*level_of(p, r, k) = *links[k];
		__atomic_store_n(links[k], &r->pub, __ATOMIC_RELEASE);
	}
	r->levels = (uint8_t)levels;
	return 0;
}

void classify_leave(struct compiled_rule *r)
{
	struct compiled_program *p = r->program;
	struct prog_rule **links[WALKED_LEVELS];

	if (!r->levels)
		return;
	links_to(p, r, links);
	for (unsigned k = 0; k < r->levels; k++)
		*links[k] = *level_of(p, r, k);
	free(r->above);
	r->above = NULL;
	r->levels = 0;
	p->n_weak -= r->weak;
	r->weak = false;
}

/* --- entries -------------------------------------------------------------------------------- */

static void entries_delete(struct compiled_program *p, struct cls_entry *first,
			   const struct cls_entry *last)
{
	for (bool more = first; more;) {
		struct cls_entry *next =
			first == last ? NULL : classifier_next(p->classifier, first);

		classifier_delete(p->classifier, first);
		first = next;
		more = next;
	}
}

static int entries_insert(struct compiled_rule *r, const struct rule_conditions *rc,
			  struct cls_entry *before)
{
	struct classifier *cls = r->program->classifier;
	struct cls_rule rule = {.family = rc->family, .n = (uint8_t)rc->n_conds};
	struct cls_entry *first = NULL, *last = NULL;
	uint32_t n = rc->fate == FATE_CLASSIFIED ? rc->n : 1;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct cls_entry *e;

		rule.conds = rc->conds + (size_t)i * rc->n_conds;
		err = classifier_insert(cls, before, rc->fate == FATE_CLASSIFIED ? &rule : NULL,
					&r->pub, &e);
		if (err)
			break;
		first = first ? first : e;
		last = e;
	}
	if (err) {
		entries_delete(r->program, first, last);
		return err;
	}
	r->pub.first = first;
	r->pub.last = last;
	return 0;
}

/* The entry that those of r stand in front of. */
static struct cls_entry *entry_behind(const struct compiled_rule *r)
{
	for (const struct prog_rule *n = r->pub.next; n; n = n->next)
		if (n->to == UINT64_MAX && n->first)
			return (struct cls_entry *)n->first;
	return NULL;
}

static bool is_alone(const struct rule_conditions *rc)
{
	if (rc->n_rest != 1 || rc->rest[0].kind != PO_VERDICT)
		return false;
	return rc->rest[0].verdict.code == PV_ACCEPT || rc->rest[0].verdict.code == PV_DROP ||
	       rc->rest[0].verdict.code == PV_RETURN;
}

static int place(struct compile *c, struct compiled_rule *r, struct cls_entry *before)
{
	struct rule_conditions rc;
	int err = rule_conditions(r, &rc);
	bool weak;

	if (err)
		return err;
	weak = rc.fate == FATE_CLASSIFIED && rc.weak && r->program->n_weak < CLASSIFY_WEAK;
	if (weak)
		rc.fate = FATE_WALKED;
	err = entries_insert(r, &rc, before);
	if (!err && rc.fate == FATE_WALKED) {
		err = walked_enter(c, r);
		if (err) {
			entries_delete(r->program, (struct cls_entry *)r->pub.first, r->pub.last);
			r->pub.first = r->pub.last = NULL;
		} else {
			r->weak = weak;
			r->program->n_weak += weak;
		}
	}
	if (!err && rc.fate == FATE_CLASSIFIED) {
		r->classified = true;
		r->program->pub.n_classified++;
		r->pub.rest = r->rest = rc.rest;
		r->pub.n_rest = rc.n_rest;
		r->pub.alone = is_alone(&rc);
		r->pub.verdict = r->pub.alone ? rc.rest[0].verdict.code : PV_CONTINUE;
		rc.rest = NULL;
	}
	rule_conditions_free(&rc);
	return err;
}

int classify_add(struct compile *c, struct compiled_rule *r)
{
	return r->program->classifier ? place(c, r, entry_behind(r)) : 0;
}

void classify_end(struct compiled_rule *r)
{
	if (!r->pub.first)
		return;
	entries_delete(r->program, (struct cls_entry *)r->pub.first, r->pub.last);
	r->program->pub.n_classified -= r->classified;
}

void classify_end_undo(struct compiled_rule *r)
{
	r->program->pub.n_classified += r->pub.first && r->classified;
}

/* --- programs ------------------------------------------------------------------------------- */

int classify_begin(struct compile *c, struct compiled_program *p)
{
	struct classifier_config config = {.version = &c->version};
	int err = classifier_new(&config, &p->classifier);

	for (struct prog_rule *r = p->pub.first; r && !err; r = r->next)
		if (r->to == UINT64_MAX)
			err = place(c, container_of(r, struct compiled_rule, pub), NULL);
	if (err) {
		classify_stop(p);
		return err;
	}
	p->pub.since = c->version + 1;
	p->pub.classifier = p->classifier;
	return 0;
}

void classify_stop(struct compiled_program *p)
{
	for (struct prog_rule *pub = p->pub.first; pub; pub = pub->next) {
		struct compiled_rule *r = container_of(pub, struct compiled_rule, pub);

		classify_leave(r);
		free(r->rest);
		r->rest = NULL;
		r->classified = false;
		pub->rest = NULL;
		pub->n_rest = 0;
		pub->alone = false;
		pub->first = pub->last = NULL;
	}
	p->pub.n_classified = 0;
	p->pub.classifier = NULL;
	classifier_free(p->classifier);
	p->classifier = NULL;
}
