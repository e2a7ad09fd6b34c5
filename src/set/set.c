/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set: the front of all kinds. What an element may be, how long it lives, how many there are.
 *
 * Each change makes room in the journal and the expiry queue first, then cannot fail any more.
 */
#include "set/set_internal.h"

/* Journal entries that one add or delete can need: an expired twin, one evicted for room, itself.
 */
enum { JOURNAL_PER_CHANGE = 3, EXPIRY_STEPS = 64, EXPIRED_AT_ONCE = 8, FETCHED = 16 };
static const uint64_t default_wait_ns = 1000000000;

/* --- life ----------------------------------------------------------------------------------- */

static int desc_check(const struct set_desc *d)
{
	unsigned len = 0;

	if (!d->n_fields || d->n_fields > SET_FIELDS_MAX)
		return -EINVAL;
	for (unsigned f = 0; f < d->n_fields; f++) {
		if (!d->field_len[f])
			return -EINVAL;
		len += d->field_len[f];
	}
	if (len > SET_KEY_MAX || (d->timeout_ns && !d->timeout) || d->timeout_ns == SET_NEVER ||
	    (d->ext_init && !d->ext_size))
		return -EINVAL;
	return d->dynamic && d->interval ? -EOPNOTSUPP : 0;
}

/* Nothing but short keys, and packets are not said to add any. */
static bool bitmap_fits(const struct set *s)
{
	const struct set_desc *d = &s->desc;
	return s->key_len <= 2 && !d->data_len && !d->timeout && !d->dynamic &&
	       !(d->ext_init && d->ext_ctx);
}

static void set_layout(struct set *s)
{
	const struct set_desc *d = &s->desc;
	unsigned end;

	for (unsigned f = 0; f < d->n_fields; f++)
		s->key_len += d->field_len[f];
	s->prefix_len = MIN(s->key_len, 8);
	s->ops = bitmap_fits(s) ? &bitmap_set_ops : &hash_set_ops;
	end = s->key_len;
	if (d->interval) {
		s->ops = d->n_fields == 1 ? &interval_set_ops : &concat_set_ops;
		s->off_hi = end;
		end += s->key_len;
	}
	_Static_assert(offsetof(struct set_elem, bytes) % 8 == 0, "data is aligned within bytes");
	if (d->data_len) {
		s->off_data = (end + 7) & ~7U;
		end = s->off_data + d->data_len;
	}
	if (s->ops == &concat_set_ops) {
		s->off_seq = (end + 7) & ~7U;
		end = s->off_seq + (unsigned)sizeof(uint64_t);
	}
	s->elem_size = offsetof(struct set_elem, bytes) + end;
}

int set_new(const struct set_desc *desc, struct set **out)
{
	int err = desc_check(desc);
	if (err)
		return err;
	struct set *s = aligned_alloc(64, sizeof(*s));
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->desc = *desc;
	s->desc.keying = NULL;
	set_layout(s);
	if (desc->keying && set_key_by(s, desc->keying)) {
		free(s);
		return -ENOMEM;
	}
	if (s->ops == &hash_set_ops) {
		err = hash_set_table(s, &s->store.table);
		if (err) {
			free((void *)s->desc.keying);
			free(s);
			return err;
		}
		hash_set_publish(s);
		s->base_timeout = s->desc.timeout_ns;
		s->bare = !desc->data_len && !desc->timeout && !desc->ext_ctx;
	}
	*out = s;
	return 0;
}

int set_key_by(struct set *s, const struct set_keying *k)
{
	struct set_keying *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *k;
	s->masked = false;
	for (unsigned i = 0; i < s->key_len; i++)
		s->masked |= k->mask[i] != 0xff;
	free((void *)s->desc.keying);
	s->desc.keying = copy;
	return 0;
}

void set_view_free(struct rcu_head *view)
{
	free(view);
}

void set_free(struct set *s)
{
	if (!s)
		return;
	set_commit(s, UINT64_MAX);
	store_drop(s);
	if (s->view)
		rcu_defer(s->desc.rcu, s->view, set_view_free, 0);
	free(s->next_view);
	elem_pool_close(s->pool);
	journal_free(s);
	free((void *)s->desc.keying);
	free(s);
}

const struct set_desc *set_desc_of(const struct set *s)
{
	return &s->desc;
}

unsigned set_key_len(const struct set *s)
{
	return s->key_len;
}

enum set_kind set_kind_of(const struct set *s)
{
	return s->ops->kind;
}

const char *set_kind_name(const struct set *s)
{
	static const char *const names[] = {
#define SET_KIND(name, text) [SET_##name] = (text),
		SET_KINDS(SET_KIND)
#undef SET_KIND
	};
	return names[s->ops->kind];
}

int set_change(struct set *s, uint32_t size, uint64_t timeout_ns, uint64_t gc_interval_ns,
	       uint64_t now)
{
	if ((timeout_ns && !s->desc.timeout) || timeout_ns == SET_NEVER)
		return -EINVAL;
	if (size && size < size_live(s, now))
		return -ENFILE;
	int err = journal_reserve(s, 1);
	if (err)
		return err;
	journal_desc(s);
	s->desc.size = size;
	s->desc.timeout_ns = timeout_ns;
	s->desc.gc_interval_ns = gc_interval_ns;
	return 0;
}

/* --- elements ------------------------------------------------------------------------------- */

/* Takes an element out whose time has passed. A journal entry was reserved. 0 or -ENOMEM. */
static int reclaim(struct set *s, struct set_elem *e)
{
	int err = elem_reserve_take(s, e, 1);
	if (err)
		return err;
	elem_detach(s, e);
	s->stats.expired++;
	journal_removed(s, e, true);
	return 0;
}

/* The element of this key if it is live, or NULL; an expired one is taken out of the way. */
static int find_live(struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now,
		     struct set_elem **out)
{
	struct set_elem *e = lo ? s->ops->find(s, lo, hi) : s->store.catchall;
	int err = 0;

	if (e && !elem_live(e, now)) {
		err = reclaim(s, e);
		e = NULL;
	}
	if (!err)
		*out = e;
	return err;
}

static bool is_full(struct set *s, uint64_t now)
{
	while (s->desc.size && s->store.n >= s->desc.size) {
		unsigned steps = UINT32_MAX;
		struct set_elem *e = expiry_due(&s->store.expiry, now, &steps);
		if (!e || journal_reserve(s, JOURNAL_PER_CHANGE) || reclaim(s, e))
			return true;
	}
	return false;
}

int set_admit(const struct set *s)
{
	struct rcu *r = s->desc.rcu;
	uint64_t wait = s->desc.wait_ns ? s->desc.wait_ns : default_wait_ns;

	return rcu_crowded(r) ? rcu_admit(r, rcu_deadline(r, wait)) : 0;
}

/* The same without waiting. */
static bool is_crowded(const struct set *s)
{
	if (rcu_crowded(s->desc.rcu))
		rcu_poll(s->desc.rcu);
	return rcu_crowded(s->desc.rcu);
}

/* Outside of a transaction: lookups are to see the change that was made. */
static void show(struct set *s)
{
	if (s->ops->publish && !s->open)
		s->ops->publish(s);
}

/* --- desc.keying ---------------------------------------------------------------------------- */

/* The item of such a set with the key that it means, which the set may have: 0 or -ERANGE. */
static int item_meant(const struct set *s, struct set_item *item, uint8_t buf[SET_KEY_MAX])
{
	const struct set_keying *k = s->desc.keying;
	const uint8_t *key;

	if (item->catchall || !item->lo || s->desc.interval ||
	    (item->hi && memcmp(item->lo, item->hi, s->key_len)))
		return 0;
	item->lo = key = key_meant(s, item->lo, buf);
	item->hi = NULL;
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++])
		if (memcmp(key + at, k->lo + at, s->desc.field_len[f]) < 0 ||
		    memcmp(key + at, k->hi + at, s->desc.field_len[f]) > 0)
			return -ERANGE;
	return 0;
}

/* --- what users give ------------------------------------------------------------------------ */

static int item_lifetime(const struct set *s, const struct set_item *item, struct lifetime *out)
{
	struct lifetime t = {item->timeout_ns, item->expires_in_ns};

	if ((t.timeout || t.expires_in) && !s->desc.timeout)
		return -EINVAL;
	if (!t.timeout)
		t.timeout = s->desc.timeout_ns;
	else if (t.timeout == SET_NEVER)
		t.timeout = 0;
	if (t.expires_in && !t.timeout)
		return -ERANGE;
	*out = t;
	return 0;
}

uint64_t expiry_at(uint64_t now, uint64_t left)
{
	uint64_t at;
	if (!left || __builtin_add_overflow(now, left, &at))
		return UINT64_MAX;
	return at;
}

static bool range_ok(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	if (!s->desc.interval)
		return !memcmp(lo, hi, s->key_len);
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++])
		if (memcmp(lo + at, hi + at, s->desc.field_len[f]) > 0)
			return false;
	return true;
}

/* Keys of the item, both NULL for the catch-all. */
static int item_keys(const struct set *s, const struct set_item *item, const uint8_t **lo,
		     const uint8_t **hi)
{
	*lo = *hi = NULL;
	if (item->catchall)
		return 0;
	*lo = item->lo;
	*hi = item->hi ? item->hi : item->lo;
	return *lo && (*lo == *hi || range_ok(s, *lo, *hi)) ? 0 : -EINVAL;
}

/* A re-add: a timeout that differs begins anew, an expiry is taken over as it is given. */
static int refresh(struct set *s, struct set_elem *e, struct lifetime t, uint64_t now)
{
	if (t.timeout == elem_timeout(e) && !t.expires_in)
		return 0;
	int err = expiry_reserve(&s->store.expiry, 1);
	if (err)
		return err;
	journal_lifetime(s, e);
	elem_set_lifetime(s, e, t.timeout, expiry_at(now, t.expires_in ? t.expires_in : t.timeout));
	return 0;
}

/* Makes the element and puts it in; everything has been checked. */
static int add_new(struct set *s, const struct set_item *item, const uint8_t *lo, const uint8_t *hi,
		   struct lifetime t, uint64_t now, struct set_elem **out)
{
	struct set_elem *e;
	int err = elem_new(s, lo, hi, item->data, item->comment, item->template, now, &e);
	if (err)
		return err;
	if (t.timeout) {
		e->timeout = t.timeout;
		e->expires = expiry_at(now, t.expires_in ? t.expires_in : t.timeout);
	}
	elem_attach(s, e);
	journal_added(s, e);
	*out = e;
	return 0;
}

static int item_check(struct set *s, const struct set_item *item, const uint8_t **lo,
		      const uint8_t **hi, struct lifetime *t)
{
	int err = item_keys(s, item, lo, hi);
	if (err)
		return err;
	if (!item->data != !s->desc.data_len)
		return -EINVAL;
	return item_lifetime(s, item, t);
}

static int add_record(struct set *s, const struct set_item *item, const uint8_t *lo,
		      const uint8_t *hi, struct lifetime t, unsigned flags, uint64_t now,
		      struct set_elem **conflict)
{
	struct set_elem *e;
	int err = find_live(s, lo, hi, now, &e);
	if (err)
		return err;
	if (e) {
		bool same =
			!s->desc.data_len || !memcmp(elem_data(s, e), item->data, s->desc.data_len);
		if (same && !(flags & SET_ADD_EXCL))
			return refresh(s, e, t, now);
	} else if (lo) {
		e = s->ops->conflict(s, lo, hi, now);
	}
	if (e) {
		if (conflict)
			*conflict = e;
		return -EEXIST;
	}
	if (lo && is_full(s, now))
		return -ENFILE;
	return add_new(s, item, lo, hi, t, now, &e);
}

/* A key and nothing else, for a set of such, and nothing to be written down. */
static bool is_bare_item(const struct set *s, const struct set_item *item)
{
	bool unwritten = !s->open || ((s->store.fresh || s->store.flushed) && !s->committed);
	return s->bare && unwritten && item->lo && (!item->hi || item->hi == item->lo) &&
	       !item->catchall && !item->data && !item->comment && !item->template &&
	       !item->timeout_ns && !item->expires_in_ns;
}

int set_add(struct set *s, const struct set_item *item, unsigned flags, uint64_t now,
	    struct set_elem **conflict)
{
	const uint8_t *lo, *hi;
	uint8_t key[SET_KEY_MAX];
	struct set_item meant;
	struct lifetime t;
	int err = set_admit(s);

	if (!err && s->desc.keying) {
		meant = *item;
		item = &meant;
		err = item_meant(s, &meant, key);
	}
	if (err)
		return err;
	if (is_bare_item(s, item)) {
		int r = hash_table_add(s->store.table, item->lo, s->desc.size);
		if (r > 0 || (!r && !(flags & SET_ADD_EXCL)) || r == -ENOMEM)
			return MIN(r, 0);
	}
	err = item_check(s, item, &lo, &hi, &t);
	if (!err && s->open)
		err = journal_reserve(s, JOURNAL_PER_CHANGE);
	if (err)
		return err;

	if (lo && s->store.table)
		return hash_set_add(s, item, t, flags, now, conflict);
	err = add_record(s, item, lo, hi, t, flags, now, conflict);
	show(s);
	return err;
}

/* Their places in the table come into the cache together. */
static void fetch(const struct set *s, const struct set_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].lo)
			hash_table_fetch(s->store.table, items[i].lo);
}

int set_add_many(struct set *s, const struct set_item *items, size_t n, unsigned flags,
		 uint64_t now, size_t *done, struct set_elem **conflict)
{
	int err = 0;

	for (*done = 0; *done < n; ++*done) {
		if (s->store.table && *done % FETCHED == 0)
			fetch(s, &items[*done], MIN(n - *done, (size_t)FETCHED));
		err = set_add(s, &items[*done], flags, now, conflict);
		if (err)
			break;
	}
	return err;
}

void set_expect(struct set *s, uint64_t n)
{
	if (s->store.table && !set_admit(s))
		hash_table_reserve(s->store.table, s->desc.size ? MIN(n, s->desc.size) : n);
}

static int delete_record(struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now)
{
	struct set_elem *e;
	int err = find_live(s, lo, hi, now, &e);
	if (!err && e)
		err = elem_reserve_take(s, e, 1);
	if (err)
		return err;
	if (e) {
		elem_detach(s, e);
		journal_removed(s, e, false);
		return 0;
	}
	if (lo && s->ops == &interval_set_ops && s->desc.auto_merge && !s->desc.data_len)
		return set_cut(s, lo, hi, now);
	return -ENOENT;
}

int set_delete(struct set *s, const struct set_item *item, uint64_t now)
{
	const uint8_t *lo, *hi;
	uint8_t key[SET_KEY_MAX];
	int err = item_keys(s, item, &lo, &hi);
	if (!err)
		err = set_admit(s);
	if (!err && s->open)
		err = journal_reserve(s, JOURNAL_PER_CHANGE);
	if (err)
		return err;
	lo = key_meant(s, lo, key);
	hi = s->desc.interval ? hi : lo;
	if (lo && s->store.table)
		return hash_set_delete(s, lo, now);
	err = delete_record(s, lo, hi, now);
	show(s);
	return err;
}

/* --- packet path ---------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t lookup_masked(struct set *s, const uint8_t *keys,
							size_t stride, uint64_t mask,
							const uint64_t *now, struct set_elem **hit)
{
	uint8_t meant[SET_BATCH_MAX * SET_KEY_MAX];

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		key_mask(s, keys + i * stride, meant + (size_t)i * s->key_len);
	}
	return s->ops->lookup(s, meant, s->key_len, mask, now, hit);
}

uint64_t set_lookup(struct set *s, const void *keys, size_t stride, uint64_t mask,
		    const uint64_t *now, struct set_elem **hit)
{
	uint64_t found = s->masked ? lookup_masked(s, keys, stride, mask, now, hit)
				   : s->ops->lookup(s, keys, stride, mask, now, hit);
	struct set_elem *all = __atomic_load_n(&s->shown, __ATOMIC_ACQUIRE);

	if (all)
		for (uint64_t rest = mask & ~found; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctzll(rest);
			if (!elem_live(all, now[i]))
				continue;
			found |= 1ULL << i;
			if (hit)
				hit[i] = all;
		}
	unsigned n = (unsigned)__builtin_popcountll(found);
	if (s->desc.rcu)
		__atomic_fetch_add(&s->stats.hits, n, __ATOMIC_RELAXED);
	else
		s->stats.hits += n;
	return found;
}

/* Not what has versions beside readers: those are the control thread's to make. */
static bool packets_may(const struct set *s)
{
	return !s->desc.interval && !(s->desc.rcu && s->ops == &bitmap_set_ops);
}

int set_update(struct set *s, enum set_update_mode mode, const struct set_item *item, uint64_t now,
	       struct set_elem **out)
{
	const uint8_t *lo, *hi;
	uint8_t key[SET_KEY_MAX];
	struct set_item meant;
	struct lifetime t;

	if (!packets_may(s))
		return -EOPNOTSUPP;
	if (s->desc.keying) {
		meant = *item;
		item = &meant;
		if (item_meant(s, &meant, key)) {
			__atomic_fetch_add(&s->stats.full, 1, __ATOMIC_RELAXED);
			return -ERANGE;
		}
	}
	int err = item_check(s, item, &lo, &hi, &t);
	if (!err && (!lo || !s->desc.rcu) && s->open)
		err = journal_reserve(s, JOURNAL_PER_CHANGE);
	if (err)
		return err;
	/* The control thread may be about to replace s->store. */
	if (lo && __atomic_load_n(&s->published, __ATOMIC_ACQUIRE))
		return hash_set_update(s, mode, item, t, now, out);
	struct set_elem *e;
	err = find_live(s, lo, hi, now, &e);
	if (err)
		return err;
	if (e) {
		if (mode == SET_UPDATE_REFRESH && elem_timeout(e) && t.timeout) {
			err = expiry_reserve(&s->store.expiry, 1);
			if (err)
				return err;
			journal_lifetime(s, e);
			elem_set_lifetime(s, e, e->timeout, expiry_at(now, t.timeout));
		}
		*out = e;
		return 0;
	}
	if (lo && is_full(s, now)) {
		s->stats.full++;
		return -ENFILE;
	}
	err = add_new(s, item, lo, hi, t, now, out);
	show(s);
	if (err)
		return err;
	s->stats.added++;
	return 1;
}

int set_expect_updates(struct set *s, const void *template, uint64_t timeout_ns, uint32_t n)
{
	uint32_t most = s->desc.size ? MIN(s->desc.size, (uint32_t)SET_UPDATES_MAX)
				     : (uint32_t)SET_UPDATES_MAX;

	int err;

	if (!packets_may(s))
		return s->desc.interval ? 0 : -EOPNOTSUPP;
	err = set_admit(s);
	if (err)
		return err;
	if (!template)
		template = s->desc.ext_ctx;
	if (s->desc.data_len || (template && s->desc.ext_init)) {
		size_t bytes = MAX(s->update_bytes, elem_bytes(s, template));
		__atomic_store_n(&s->update_bytes, bytes, __ATOMIC_RELAXED);
		s->update_columns |= 1U << HASH_RECORD;
	}
	if (s->desc.timeout)
		s->update_columns |= 1U << HASH_EXPIRES;
	if ((timeout_ns && timeout_ns != s->base_timeout) || s->desc.timeout_ns != s->base_timeout)
		s->update_columns |= 1U << HASH_TIMEOUT;
	__atomic_store_n(&s->updates, MIN(s->updates + MIN(n, most), most), __ATOMIC_RELAXED);
	while ((err = set_provide(s)) == -ENOBUFS && !set_admit(s))
		;
	return err;
}

int set_provide(struct set *s)
{
	if (s->updates && is_crowded(s))
		return -ENOBUFS;
	int err = s->updates && s->ops == &bitmap_set_ops && !s->open ? set_become_hash(s) : 0;

	return !err && s->updates && s->ops == &hash_set_ops ? hash_set_provide(s) : err;
}

bool set_wants(const struct set *s)
{
	return __atomic_load_n(&s->updates, __ATOMIC_RELAXED) &&
	       (s->ops == &bitmap_set_ops ? !s->open : hash_set_wants(s));
}

int set_remove(struct set *s, const void *key, uint64_t now)
{
	uint8_t meant[SET_KEY_MAX];

	if (!packets_may(s))
		return -EOPNOTSUPP;
	if (s->ops == &bitmap_set_ops)
		return set_delete(s, &(struct set_item){.lo = key}, now);
	return hash_set_remove(s, key_meant(s, key, meant), now);
}

const void *set_elem_data(const struct set *s, const struct set_elem *e)
{
	return s->desc.data_len && !elem_is_bare(e) ? e->bytes + s->off_data : NULL;
}

void *set_elem_ext(const struct set *s, const struct set_elem *e)
{
	return elem_ext(e);
}

/* --- counts and time ------------------------------------------------------------------------ */

uint64_t set_count(const struct set *s, uint64_t now)
{
	const struct hash_table *t = s->store.table;
	uint64_t n = t ? hash_table_count(t) - hash_table_expired(t, now) : s->store.n;

	return n + (s->store.catchall != NULL) - expiry_count(&s->store.expiry, now);
}

unsigned set_gc(struct set *s, uint64_t now, unsigned budget)
{
	unsigned n = 0, steps = budget < UINT32_MAX - EXPIRY_STEPS ? budget + EXPIRY_STEPS : budget;
	struct set_elem *e;

	while (!s->open && n < budget && !is_crowded(s)) {
		unsigned end = n + MIN(budget - n, (unsigned)EXPIRED_AT_ONCE);
		while (n < end && (e = expiry_due(&s->store.expiry, now, &steps)) && !reclaim(s, e))
			n++;
		show(s);
		if (n == end)
			continue;
		return s->store.table ? n + hash_set_gc(s, now, budget - n, &steps) : n;
	}
	return n;
}

uint64_t set_next_due(const struct set *s)
{
	uint64_t due = expiry_next(&s->store.expiry);
	return s->store.table ? MIN(due, hash_table_next_due(s->store.table)) : due;
}

const struct set_stats *set_stats_of(const struct set *s)
{
	return &s->stats;
}
