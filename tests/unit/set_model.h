/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_model: the naive reference of src/set: an array of elements, everything by a linear scan.
 *
 * It says the same as set.h in the shortest words possible. A transaction is a copy of the array.
 */
#ifndef TAMIS_SET_MODEL_H
#define TAMIS_SET_MODEL_H

#include <stdlib.h>

#include "set/set.h"

enum { MODEL_MAX = 4096 };

struct model_elem {
	uint8_t lo[SET_KEY_MAX], hi[SET_KEY_MAX];
	uint32_t data;
	uint64_t timeout, expires;
	const char *state; /* the template it was made of */
	bool catchall, comment;
	uint64_t id, old_timeout, old_expires, set_expires; /* see set_views.h */
};

struct model {
	struct set_desc desc;
	unsigned len, n;
	struct model_elem e[MODEL_MAX]; /* in order of arrival */
};

static inline unsigned model_key_len(const struct set_desc *d)
{
	unsigned len = 0;
	for (unsigned f = 0; f < d->n_fields; f++)
		len += d->field_len[f];
	return len;
}

/* Every field of lo at most that of key, key at most hi. */
static inline bool model_holds(const struct model *m, const uint8_t *lo, const uint8_t *hi,
			       const uint8_t *key)
{
	for (unsigned f = 0, at = 0; f < m->desc.n_fields; at += m->desc.field_len[f++])
		if (memcmp(lo + at, key + at, m->desc.field_len[f]) > 0 ||
		    memcmp(key + at, hi + at, m->desc.field_len[f]) > 0)
			return false;
	return true;
}

static inline void model_drop(struct model *m, unsigned i)
{
	if (!m->desc.interval) { /* their order says nothing */
		m->e[i] = m->e[--m->n];
		return;
	}
	memmove(&m->e[i], &m->e[i + 1], (--m->n - i) * sizeof(m->e[0]));
}

static inline void model_expire(struct model *m, uint64_t now)
{
	for (unsigned i = 0; i < m->n;)
		if (m->e[i].expires <= now)
			model_drop(m, i);
		else
			i++;
}

static inline int model_find(const struct model *m, const uint8_t *lo, const uint8_t *hi)
{
	uint8_t last = lo ? lo[m->len - 1] : 0;

	for (unsigned i = 0; i < m->n; i++) {
		const struct model_elem *e = &m->e[i];
		if (lo ? e->lo[m->len - 1] == last && !e->catchall && !memcmp(e->lo, lo, m->len) &&
				    !memcmp(e->hi, hi, m->len)
		       : e->catchall)
			return (int)i;
	}
	return -1;
}

/* Time was brought up to now by model_expire(). */
static inline int model_match(const struct model *m, const uint8_t *key)
{
	int best = m->desc.interval ? -1 : model_find(m, key, key);

	for (unsigned i = 0; m->desc.interval && i < m->n; i++) {
		const struct model_elem *e = &m->e[i], *b = best < 0 ? NULL : &m->e[best];
		if (e->catchall || !model_holds(m, e->lo, e->hi, key))
			continue;
		int c = b ? memcmp(e->lo, b->lo, m->len) : 1;
		if (!b ||
		    (m->desc.n_fields == 1 && (c > 0 || (!c && memcmp(e->hi, b->hi, m->len) < 0))))
			best = (int)i;
	}
	return best >= 0 ? best : model_find(m, NULL, NULL);
}

static inline bool model_merges(const struct model *m)
{
	return m->desc.auto_merge && m->desc.interval && m->desc.n_fields == 1 && !m->desc.data_len;
}

static inline bool model_conflicts(const struct model *m, const uint8_t *lo, const uint8_t *hi)
{
	if (!m->desc.interval || model_merges(m))
		return false;
	for (unsigned i = 0; i < m->n; i++) {
		const struct model_elem *e = &m->e[i];
		if (e->catchall)
			continue;
		if (m->desc.n_fields > 1
			    ? model_holds(m, e->lo, e->hi, lo) || model_holds(m, e->lo, e->hi, hi)
			    : memcmp(e->lo, hi, m->len) <= 0 && memcmp(lo, e->hi, m->len) <= 0)
			return true;
	}
	return false;
}

static inline unsigned model_size(const struct model *m)
{
	return m->n - (model_find(m, NULL, NULL) >= 0);
}

static inline int model_add(struct model *m, const struct set_item *item, unsigned flags,
			    uint64_t now)
{
	const uint8_t *lo = item->catchall ? NULL : item->lo;
	const uint8_t *hi = item->hi ? item->hi : item->lo;
	uint64_t timeout = item->timeout_ns ? item->timeout_ns : m->desc.timeout_ns;

	if (timeout == SET_NEVER)
		timeout = 0;
	uint64_t left = item->expires_in_ns ? item->expires_in_ns : timeout;
	uint32_t data = 0;
	if (item->data)
		memcpy(&data, item->data, sizeof(data));

	if (lo && (m->desc.interval ? !model_holds(m, lo, hi, lo) : memcmp(lo, hi, m->len) != 0))
		return -EINVAL;
	if (item->expires_in_ns && !timeout)
		return -ERANGE;
	int i = model_find(m, lo, hi);
	if (i >= 0) {
		struct model_elem *e = &m->e[i];
		if (flags & SET_ADD_EXCL || e->data != data)
			return -EEXIST;
		if (e->timeout != timeout || item->expires_in_ns) {
			e->timeout = timeout;
			e->expires = left ? now + left : UINT64_MAX;
		}
		return 0;
	}
	if (lo && model_conflicts(m, lo, hi))
		return -EEXIST;
	if (lo && m->desc.size && model_size(m) >= m->desc.size)
		return -ENFILE;
	struct model_elem e = {.data = data,
			       .timeout = timeout,
			       .expires = left ? now + left : UINT64_MAX,
			       .state = item->template ? item->template : m->desc.ext_ctx,
			       .catchall = !lo,
			       .comment = item->comment};
	if (lo) {
		memcpy(e.lo, lo, m->len);
		memcpy(e.hi, hi, m->len);
	}
	m->e[m->n++] = e;
	return 0;
}

/* For qsort(): the order in which elements are listed. */
static const struct model *sorting;

static inline int listing_order(const void *a, const void *b)
{
	const struct model_elem *x = a, *y = b;
	if (x->catchall != y->catchall)
		return x->catchall ? 1 : -1;
	int c = memcmp(x->lo, y->lo, sorting->len);
	return c ? c : memcmp(y->hi, x->hi, sorting->len);
}

/* A piece of an element has lifetime and comment of it, and nothing else. */
static inline void model_anew(const struct model *m, struct model_elem *e)
{
	e->id = 0;
	e->state = m->desc.ext_ctx;
}

/* Cuts lo..hi out: for keys of up to 4 bytes, which are numbers here. */
static inline int model_cut(struct model *m, uint64_t lo, uint64_t hi)
{
	static struct model_elem pieces[2 * MODEL_MAX];
	unsigned n = 0, gone = 0, len = m->len;

	sorting = m; /* of two pieces that are one range the first counts */
	qsort(m->e, m->n, sizeof(m->e[0]), listing_order);
	for (uint64_t at = lo; at <= hi;) { /* no gap? */
		uint64_t next = at;
		for (unsigned i = 0; i < m->n; i++)
			if (!m->e[i].catchall && be_load(m->e[i].lo, len) <= at)
				next = MAX(next, be_load(m->e[i].hi, len) + 1);
		if (next == at)
			return -ENOENT;
		at = next;
	}
	for (unsigned i = 0; i < m->n; i++) {
		struct model_elem *e = &m->e[i];
		if (e->catchall || be_load(e->lo, len) > hi || be_load(e->hi, len) < lo)
			continue;
		gone++;
		if (be_load(e->lo, len) < lo) {
			pieces[n] = *e;
			model_anew(m, &pieces[n]);
			be_store(pieces[n++].hi, lo - 1, len);
		}
		if (be_load(e->hi, len) > hi) {
			pieces[n] = *e;
			model_anew(m, &pieces[n]);
			be_store(pieces[n++].lo, hi + 1, len);
		}
	}
	if (m->desc.size && model_size(m) - gone + n > m->desc.size)
		return -ENFILE;
	for (unsigned i = 0; i < m->n;)
		if (!m->e[i].catchall && be_load(m->e[i].lo, len) <= hi &&
		    be_load(m->e[i].hi, len) >= lo)
			model_drop(m, i);
		else
			i++;
	for (unsigned p = 0; p < n; p++) {
		int twin = model_find(m, pieces[p].lo, pieces[p].hi);
		if (twin < 0) {
			m->e[m->n++] = pieces[p];
		} else if (m->e[twin].expires < pieces[p].expires ||
			   (m->e[twin].expires == pieces[p].expires &&
			    m->e[twin].timeout < pieces[p].timeout)) {
			m->e[twin].expires = pieces[p].expires;
			m->e[twin].timeout = pieces[p].timeout;
		}
	}
	return 0;
}

static inline int model_delete(struct model *m, const struct set_item *item)
{
	const uint8_t *lo = item->catchall ? NULL : item->lo;
	const uint8_t *hi = item->hi ? item->hi : item->lo;

	if (lo && (m->desc.interval ? !model_holds(m, lo, hi, lo) : memcmp(lo, hi, m->len) != 0))
		return -EINVAL;
	int i = model_find(m, lo, hi);
	if (i >= 0) {
		model_drop(m, (unsigned)i);
		return 0;
	}
	return lo && model_merges(m) ? model_cut(m, be_load(lo, m->len), be_load(hi, m->len))
				     : -ENOENT;
}

#endif
