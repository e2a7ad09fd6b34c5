/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_views: the naive reference of a set that workers look up in while a transaction is open.
 *
 * Two models: `next` is what the control thread sees, `shown` what lookups and packets see and what
 * a rollback brings back. An element that is in both is the same record while its id is: then a
 * new lifetime shows in both, and what a packet takes out of one goes from the other. `shown` keeps
 * what has expired: a rollback may bring it a longer life back.
 *
 * Of an element in `shown`, old_timeout and old_expires are what a rollback gives it. An expiry
 * that a packet has set since the begin stays, which is told by its not being the one that the
 * transaction set last, set_expires.
 */
#ifndef TAMIS_SET_VIEWS_H
#define TAMIS_SET_VIEWS_H

#include "base/vec.h"
#include "set_model.h"

struct given {
	uint8_t key[SET_KEY_MAX];
	uint64_t timeout, expires;
};

struct views {
	struct model next, shown;
	struct model lit; /* see views_light() */
	struct set_desc before;
	uint64_t ids, old_ids; /* old_ids: at the begin */
	bool open;
	/*
	 * Lifetimes that it has given what was there. A packet's element of that key and timeout
	 * is taken for the one that got it, and so is an expiry that is one of those. Of what has
	 * had no end meanwhile it is forgotten what packets set.
	 */
	VEC(struct given) given;
	bool lost; /* since the begin something has expired, so that a set may still hold it */
};

/* The same record in the other model, or NULL. */
static inline struct model_elem *views_twin(struct model *m, const struct model_elem *e)
{
	int i = model_find(m, e->catchall ? NULL : e->lo, e->hi);
	return i >= 0 && m->e[i].id == e->id ? &m->e[i] : NULL;
}

static inline void model_copy(struct model *to, const struct model *from)
{
	to->desc = from->desc;
	to->len = from->len;
	to->n = from->n;
	memcpy(to->e, from->e, from->n * sizeof(from->e[0]));
}

static inline void views_expire(struct views *v, uint64_t now)
{
	unsigned n = v->next.n;

	model_expire(&v->next, now);
	v->lost |= v->next.n != n;
}

static inline void views_begin(struct views *v)
{
	v->open = true;
	v->lost = false;
	v->old_ids = v->ids;
	v->given.n = 0;
	v->before = v->next.desc;
	model_copy(&v->shown, &v->next);
	for (unsigned i = 0; i < v->shown.n; i++) {
		v->shown.e[i].old_timeout = v->shown.e[i].timeout;
		v->shown.e[i].old_expires = v->shown.e[i].set_expires = v->shown.e[i].expires;
	}
}

/* What a rollback makes of the expiry of an element that was there without an end, or with one. */
static inline uint64_t views_old_expires(const struct model_elem *e)
{
	return e->old_timeout && e->expires != e->set_expires ? e->expires : e->old_expires;
}

/* An element of which a rollback may think that it was there, see `given`. */
static inline bool views_mistaken(struct views *v, const struct model_elem *e)
{
	vec_foreach (&v->given, g)
		if (!memcmp(g->key, e->lo, v->next.len) &&
		    (!g->timeout || g->expires == e->expires ||
		     (e->id > v->old_ids && g->timeout == e->timeout)))
			return true;
	return false;
}

static inline void views_rollback(struct views *v)
{
	v->open = false;
	for (unsigned i = 0; i < v->shown.n; i++) {
		v->shown.e[i].expires = views_old_expires(&v->shown.e[i]);
		v->shown.e[i].timeout = v->shown.e[i].old_timeout;
	}
	v->shown.desc = v->before;
	model_copy(&v->next, &v->shown);
}

/* After a change by the control thread: new records have ids, and lifetimes show. */
static inline void views_settle(struct views *v, unsigned from)
{
	for (unsigned i = from; i < v->next.n; i++) {
		struct model_elem *e = &v->next.e[i], *twin;
		if (!e->id)
			e->id = ++v->ids;
		else if (v->open && (twin = views_twin(&v->shown, e))) {
			if (twin->timeout == e->timeout && twin->expires == e->expires)
				continue;
			twin->old_expires = views_old_expires(twin);
			struct given g = {.timeout = e->timeout, .expires = e->expires};
			memcpy(g.key, e->lo, sizeof(g.key));
			if (vec_push(&v->given, g))
				abort();
			twin->timeout = e->timeout;
			twin->expires = twin->set_expires = e->expires;
		}
	}
}

static inline int views_add(struct views *v, const struct set_item *item, unsigned flags,
			    uint64_t now)
{
	int r = model_add(&v->next, item, flags, now);
	int i = r ? -1 : model_find(&v->next, item->catchall ? NULL : item->lo, item->hi);

	if (i >= 0) {
		unsigned n = v->next.n;
		v->next.n = (unsigned)i + 1; /* this one alone */
		views_settle(v, (unsigned)i);
		v->next.n = n;
	}
	return r;
}

static inline int views_delete(struct views *v, const struct set_item *item)
{
	int r = model_delete(&v->next, item);

	if (!r && model_merges(&v->next))
		views_settle(v, 0);
	return r;
}

/* What lookups see at a time. */
static inline const struct model *views_light(struct views *v, uint64_t now)
{
	if (!v->open)
		return &v->next;
	model_copy(&v->lit, &v->shown);
	model_expire(&v->lit, now);
	return &v->lit;
}

/* --- packets, of sets of exact keys --------------------------------------------------------- */

static inline struct model *views_packets(struct views *v)
{
	return v->open ? &v->shown : &v->next;
}

/* The live element of a key, as a packet finds it; an expired one is out of the way then. */
static inline struct model_elem *views_packet_find(struct views *v, const uint8_t *key,
						   uint64_t now)
{
	struct model *m = views_packets(v);
	int i = model_find(m, key, key);

	if (i < 0 || m->e[i].expires > now)
		return i < 0 ? NULL : &m->e[i];
	model_drop(m, (unsigned)i);
	return NULL;
}

static inline void views_packet_refresh(struct views *v, struct model_elem *e, uint64_t expires)
{
	struct model_elem *twin = v->open ? views_twin(&v->next, e) : NULL;

	e->expires = expires;
	if (twin)
		twin->expires = expires;
}

/* `both`: the transaction has no element of that key. */
static inline void views_packet_put(struct views *v, struct model_elem e, bool both)
{
	e.id = ++v->ids;
	e.old_timeout = e.timeout;
	e.old_expires = e.set_expires = e.expires;
	if (v->open)
		v->shown.e[v->shown.n++] = e;
	if (both)
		v->next.e[v->next.n++] = e;
}

static inline int views_packet_remove(struct views *v, const uint8_t *key, uint64_t now)
{
	struct model_elem *e = views_packet_find(v, key, now), *twin;

	if (!e)
		return -ENOENT;
	twin = v->open ? views_twin(&v->next, e) : NULL;
	if (twin)
		model_drop(&v->next, (unsigned)(twin - v->next.e));
	model_drop(views_packets(v), (unsigned)(e - views_packets(v)->e));
	return 0;
}

#endif
