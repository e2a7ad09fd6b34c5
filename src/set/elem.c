/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elem: elements of sets, as records and in their places.
 *
 * A record is one piece of memory with all that its element has; an element that has but a key may
 * have none (elem_is_bare()). Records go when no reader can see them, to their pool.
 */
#include "set/set_internal.h"

int elems_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi, size_t n)
{
	int err = lo ? s->ops->reserve(s, lo, hi, n) : 0;
	if (err)
		return err;
	return n < EXPIRY_NONE ? expiry_reserve(&s->store.expiry, (uint32_t)n) : -ENOMEM;
}

static struct set_elem *bare_new(const struct set *s, const uint8_t *lo, const uint8_t *hi,
				 const char *comment, const void *template)
{
	if (!s->ops->bare || !lo || s->desc.timeout || s->desc.data_len || comment ||
	    (template && s->desc.ext_init))
		return NULL;
	return s->ops->bare(s, lo, hi);
}

int elem_new(struct set *s, const uint8_t *lo, const uint8_t *hi, const void *data,
	     const char *comment, const void *template, uint64_t now, struct set_elem **out)
{
	int err = elems_reserve(s, lo, hi, 1);
	if (err)
		return err;
	if (!template)
		template = s->desc.ext_ctx;
	struct set_elem *e = bare_new(s, lo, hi, comment, template);
	if (e) {
		*out = e;
		return 0;
	}
	err = s->ops->reserve_record && lo ? s->ops->reserve_record(s) : 0;
	if (err)
		return err;
	return elem_make(s, lo, hi, data, comment, template, now, false, out);
}

struct elem_pool *elem_pool_of(struct set *s)
{
	struct elem_pool *p = __atomic_load_n(&s->pool, __ATOMIC_ACQUIRE), *none = NULL;

	if (p || elem_pool_new(s->desc.ext_fini, &p))
		return p;
	if (__atomic_compare_exchange_n(&s->pool, &none, p, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return p;
	elem_pool_close(p);
	return none; /* another thread was quicker */
}

static size_t words(size_t bytes)
{
	return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

static size_t state_words(const struct set *s, const void *template)
{
	return template && s->desc.ext_init ? words(s->desc.ext_size(template)) : 0;
}

size_t elem_bytes(const struct set *s, const void *template)
{
	return (words(s->elem_size) + state_words(s, template)) * sizeof(uint64_t);
}

int elem_make(struct set *s, const uint8_t *lo, const uint8_t *hi, const void *data,
	      const char *comment, const void *template, uint64_t now, bool ready,
	      struct set_elem **out)
{
	bool state = template && s->desc.ext_init;
	size_t ext = words(s->elem_size), text = ext + state_words(s, template);
	size_t comment_len = comment ? strlen(comment) + 1 : 0;
	size_t bytes = text * sizeof(uint64_t) + comment_len;
	struct elem_pool *pool = elem_pool_of(s);
	struct set_elem *e;
	uint16_t at;
	int err;

	if (text > UINT16_MAX)
		return -EINVAL;
	if (!pool)
		return -ENOMEM;
	e = ready ? elem_pool_take(pool,
				   MAX(bytes, __atomic_load_n(&s->update_bytes, __ATOMIC_RELAXED)),
				   &at)
		  : elem_pool_alloc(pool, bytes, &at);
	if (!e)
		return ready ? -ENOBUFS : -ENOMEM;
	*e = (struct set_elem){.at = at,
			       .expires = UINT64_MAX,
			       .catchall = !lo,
			       .expiry_pos = EXPIRY_NONE,
			       .ext = (uint16_t)(state ? ext : 0),
			       .comment = (uint16_t)(comment ? text : 0)};
	err = state ? s->desc.ext_init(elem_ext(e), template, now) : 0;
	if (err) {
		elem_pool_free(e, at);
		return err;
	}
	if (!lo)
		memset(e->bytes, 0, s->elem_size - sizeof(*e)); /* as `*` is listed */
	else
		memcpy(elem_lo(e), lo, s->key_len);
	if (lo && s->desc.interval)
		memcpy(elem_hi(s, e), hi, s->key_len);
	if (s->desc.data_len)
		memcpy(elem_data(s, e), data, s->desc.data_len);
	if (s->off_seq) {
		memcpy(e->bytes + s->off_seq, &s->next_seq, sizeof(s->next_seq));
		s->next_seq++;
	}
	if (comment)
		memcpy((uint64_t *)e + text, comment, comment_len);
	*out = e;
	return 0;
}

static void record_free_now(struct rcu_head *head)
{
	struct set_elem *e = container_of(head, struct set_elem, rcu);
	void (*fini)(void *ext) = elem_pool_fini(e, e->at);

	if (fini && e->ext)
		fini(elem_ext(e));
	elem_pool_free(e, e->at);
}

void elem_record_free(struct rcu *rcu, struct set_elem *e)
{
	rcu_defer(rcu, &e->rcu, record_free_now, elem_pool_size(e, e->at));
}

void elem_free(const struct set *s, struct set_elem *e)
{
	if (!elem_is_bare(e))
		elem_record_free(s->desc.rcu, e);
}

void elem_data_use(const struct set *s, struct set_elem *e, int delta)
{
	if (s->desc.data_use && s->desc.data_len)
		s->desc.data_use(s->desc.data_ctx, elem_data(s, e), delta);
}

void elem_attach(struct set *s, struct set_elem *e)
{
	if (elem_is_catchall(e)) {
		s->store.catchall = e;
		if (!set_is_hidden(s))
			catchall_show(s);
	} else {
		if (!s->undoing || !s->ops->revert)
			s->ops->insert(s, e);
		s->store.n++;
	}
	if (elem_expires(e) != UINT64_MAX)
		expiry_insert(&s->store.expiry, e);
	elem_data_use(s, e, 1);
}

void elem_detach(struct set *s, struct set_elem *e)
{
	if (elem_is_catchall(e)) {
		s->store.catchall = NULL;
		if (!set_is_hidden(s))
			catchall_show(s);
	} else {
		s->store.n--;
		if (!s->undoing || !s->ops->revert)
			s->ops->remove(s, e);
	}
	if (!elem_is_bare(e) && e->expiry_pos != EXPIRY_NONE)
		expiry_remove(&s->store.expiry, e);
	elem_data_use(s, e, -1);
}

void elem_set_lifetime(struct set *s, struct set_elem *e, uint64_t timeout, uint64_t expires)
{
	struct expiry *x = &s->store.expiry;

	e->timeout = timeout;
	__atomic_store_n(&e->expires, expires, __ATOMIC_RELAXED);
	if (e->expiry_pos == EXPIRY_NONE) {
		if (expires != UINT64_MAX)
			expiry_insert(x, e);
	} else if (expires == UINT64_MAX) {
		expiry_remove(x, e);
	} else {
		expiry_update(x, e);
	}
}

int elem_reserve_take(struct set *s, struct set_elem *e, size_t n)
{
	return s->ops->reserve_take && !elem_is_catchall(e) ? s->ops->reserve_take(s, e, n) : 0;
}
