/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_set: sets and maps of exact keys, on a hash_table.
 *
 * An element that has nothing but a key and a lifetime is a slot of the table and no more. One with
 * data, comment or state has a record besides, a struct set_elem with the key; expiry and timeout
 * stand in the table for both. The timeout of an element that has the default with which the set
 * was made is not stored.
 *
 * Locks: the segment of the key is held from finding an element to the end of its change, so that
 * of two threads that add the same key one finds the other's. The journal is written before.
 *
 * Packets (with desc.rcu) change the table that lookups look at, whether a transaction is open or
 * not: their changes are none of its, see hash_table_lock_shown(). They look at nothing that the
 * control thread alone may: the journal, the store.
 *
 * Of a set that set_expect_updates() was called for, packets take what set_provide() has made ready
 * and nothing else (hash_pos.ready), and do not wait for a segment that somebody keeps.
 */
#include "set/set_internal.h"

static void record_free(struct rcu *rcu, void *record)
{
	elem_record_free(rcu, record);
}

int hash_set_table(struct set *s, struct hash_table **out)
{
	struct hash_table_config config = {.key_len = s->key_len, .record_free = record_free};
	struct hash_table *t;
	int err = hash_table_new(&config, &t);

	if (err)
		return err;
	if (s->updates)
		err = hash_table_provide(t, s->updates, s->update_columns);
	if (err)
		hash_table_free(t);
	else
		*out = t;
	return err;
}

int hash_set_provide(struct set *s)
{
	struct elem_pool *pool = s->update_bytes ? elem_pool_of(s) : NULL;
	int err = hash_table_provide(s->store.table, s->updates, s->update_columns);

	if (!err && s->update_bytes)
		err = pool ? elem_pool_reserve(pool, s->update_bytes, 2 * s->updates) : -ENOMEM;
	return err;
}

bool hash_set_wants(const struct set *s)
{
	const struct elem_pool *pool = __atomic_load_n(&s->pool, __ATOMIC_ACQUIRE);

	return hash_table_wants(__atomic_load_n(&s->published, __ATOMIC_ACQUIRE)) ||
	       (pool && s->update_bytes && elem_pool_ready(pool, s->update_bytes) < s->updates);
}

/* Out of what set_provide() made, if it was asked to. */
static struct hash_how how_packets(const struct set *s)
{
	return (struct hash_how){s->desc.rcu, __atomic_load_n(&s->updates, __ATOMIC_RELAXED)};
}

void hash_set_publish(struct set *s)
{
	hash_table_share(s->store.table, s->desc.rcu);
	__atomic_store_n(&s->published, s->store.table, __ATOMIC_RELEASE);
	catchall_show(s);
}

void hash_set_begin(struct set *s)
{
	hash_table_begin(s->store.table, !s->desc.rcu);
}

/* --- lifetimes ------------------------------------------------------------------------------ */

static void lifetime_words(const struct set *s, uint64_t timeout, uint64_t expires,
			   uint64_t word[HASH_COLUMNS])
{
	word[HASH_EXPIRES] = expires == UINT64_MAX ? 0 : expires;
	word[HASH_TIMEOUT] = timeout == s->base_timeout && word[HASH_EXPIRES] ? 0 : timeout;
}

static void pos_lifetime(const struct set *s, const struct hash_pos *pos, uint64_t *timeout,
			 uint64_t *expires)
{
	uint64_t end = hash_pos_word(pos, HASH_EXPIRES);
	*timeout = hash_pos_word(pos, HASH_TIMEOUT);
	if (end && !*timeout)
		*timeout = s->base_timeout;
	*expires = end ? end : UINT64_MAX;
}

static int set_lifetime(const struct set *s, struct hash_pos *pos, uint64_t timeout,
			uint64_t expires)
{
	uint64_t word[HASH_COLUMNS], before = hash_pos_word(pos, HASH_TIMEOUT);

	lifetime_words(s, timeout, expires, word);
	int err = hash_pos_set_word(pos, HASH_TIMEOUT, word[HASH_TIMEOUT]);
	if (err)
		return err;
	err = hash_pos_set_word(pos, HASH_EXPIRES, word[HASH_EXPIRES]);
	if (err)
		hash_pos_set_word(pos, HASH_TIMEOUT, before);
	return err;
}

static int change_lifetime(struct set *s, struct hash_pos *pos, uint64_t timeout, uint64_t expires)
{
	uint64_t old_timeout, old_expires;
	int err = 0;

	pos_lifetime(s, pos, &old_timeout, &old_expires);
	if (!pos->packet && s->open && hash_pos_is_old(pos))
		err = journal_key_lifetime(s, pos->key, old_timeout, old_expires, timeout, expires);
	return err ? err : set_lifetime(s, pos, timeout, expires);
}

/* --- one element ---------------------------------------------------------------------------- */

static bool pos_live(const struct hash_pos *pos, uint64_t now)
{
	uint64_t end = hash_pos_word(pos, HASH_EXPIRES);
	return !end || now < end;
}

/* Takes the element at pos out and unlocks. */
static void drop(struct set *s, struct hash_pos *pos)
{
	if (hash_pos_counts(pos))
		elem_data_use(s, hash_pos_elem(pos), -1);
	hash_table_drop(pos);
}

static int lock_key(struct set *s, const uint8_t *key, struct hash_how how, struct hash_pos *pos)
{
	int there =
		how.packet ? hash_table_lock_shown(__atomic_load_n(&s->published, __ATOMIC_ACQUIRE),
						   key, !how.ready, pos)
			   : hash_table_lock(s->store.table, key, pos);
	pos->ready = how.ready;
	return there;
}

/* A packet must not take out what would have to be freed later: there is too much of that. */
static bool is_stuck(const struct set *s, const struct hash_pos *pos)
{
	return pos->packet && hash_pos_word(pos, HASH_RECORD) && rcu_crowded(s->desc.rcu);
}

/*
 * Locks the key's place and finds its live element; an expired one is taken out of the way.
 * 1, 0; or -ENOMEM, -EBUSY or -ENOBUFS, and then nothing is locked.
 */
static int find_live(struct set *s, const uint8_t *key, struct hash_how how, uint64_t now,
		     struct hash_pos *pos)
{
	int there;

	while ((there = lock_key(s, key, how, pos)) > 0) {
		if (pos_live(pos, now))
			return 1;
		int err = is_stuck(s, pos) ? -ENOBUFS
			  : how.packet	   ? 0
					   : journal_key_expired(s, key);
		if (err) {
			hash_table_unlock(pos);
			return err;
		}
		drop(s, pos);
		__atomic_fetch_add(&s->stats.expired, 1, __ATOMIC_RELAXED);
	}
	return there;
}

static int put_new(struct set *s, struct hash_pos *pos, const struct set_item *item,
		   struct lifetime t, uint64_t now)
{
	bool state = (item->template || s->desc.ext_ctx) && s->desc.ext_init;
	uint64_t word[HASH_COLUMNS] = {0};
	struct set_elem *e = NULL;
	if (s->desc.size && hash_table_count(pos->t) >= s->desc.size)
		return -ENFILE;
	int err = !pos->packet && s->open ? journal_key(s, pos->key) : 0;
	if (!err && (s->desc.data_len || item->comment || state))
		err = elem_make(s, pos->key, pos->key, item->data, item->comment,
				item->template ? item->template : s->desc.ext_ctx, now, pos->ready,
				&e);
	if (err)
		return err;
	lifetime_words(s, t.timeout, expiry_at(now, t.expires_in ? t.expires_in : t.timeout), word);
	word[HASH_RECORD] = (uintptr_t)e;
	err = hash_table_put(pos, word, s->desc.size);
	if (err && e)
		record_free(NULL, e);
	else if (e && pos->counted)
		elem_data_use(s, e, 1);
	return err;
}

/* Who takes out what has expired, and whether that ended because too much has to be freed later. */
struct expiring {
	struct set *s;
	bool packet; /* not of a transaction */
	bool gc;
	bool stuck;
};

static bool expire_one(void *ctx, struct set_elem *e)
{
	struct expiring *x = ctx;
	struct elem_keys k;

	if ((x->gc || (x->packet && !elem_is_bare(e))) && rcu_crowded(x->s->desc.rcu)) {
		x->stuck = true;
		return false;
	}
	elem_keys(x->s, e, &k);
	if (!x->packet && journal_key_expired(x->s, k.lo))
		return false;
	elem_data_use(x->s, e, -1);
	__atomic_fetch_add(&x->s->stats.expired, 1, __ATOMIC_RELAXED);
	return true;
}

/* Makes room for one more of what has expired: 0, -ENFILE or -ENOBUFS. Nothing is locked. */
static int make_room(struct set *s, struct hash_table *t, struct hash_how how, uint64_t now)
{
	struct expiring x = {.s = s, .packet = how.packet};
	unsigned steps = UINT32_MAX;

	while (s->desc.size && hash_table_count(t) >= s->desc.size)
		if (!hash_table_expire(t, now, 1, &steps, how, expire_one, &x))
			return x.stuck ? -ENOBUFS : -ENFILE;
	return 0;
}

/* Takes some element out of a full set: 0, -ENFILE, -EBUSY, -ENOBUFS or -ENOMEM. */
static int evict(struct set *s, struct hash_table *t, const uint8_t *key, struct hash_how how)
{
	uint8_t taken[SET_KEY_MAX];
	struct hash_pos pos;
	int there = hash_table_lock_some(t, key, how, &pos);
	int err = MIN(there, 0);

	if (there <= 0)
		return err ? err : -ENFILE;
	memcpy(taken, pos.key, s->key_len);
	if (is_stuck(s, &pos))
		err = -ENOBUFS;
	else if (!how.packet && s->open)
		err = journal_key(s, taken);
	if (err)
		hash_table_unlock(&pos);
	else
		drop(s, &pos);
	return err;
}

/*
 * The live element of the item's key, locked at pos: 0 if it is a new one, 1 if it was there; or
 * -errno, and nothing is locked.
 */
static int find_or_put(struct set *s, const struct set_item *item, struct lifetime t,
		       struct hash_how how, uint64_t now, struct hash_pos *pos)
{
	for (;;) {
		int err = find_live(s, item->lo, how, now, pos);
		if (err)
			return err;
		err = put_new(s, pos, item, t, now);
		if (!err)
			return 0;
		if (err == -EEXIST) /* another thread was quicker */
			return 1;
		hash_table_unlock(pos);
		if (err == -EAGAIN && how.packet)
			continue;
		if (err == -ENFILE)
			err = make_room(s, pos->t, how, now);
		if (err == -ENFILE && s->desc.keying && s->desc.keying->evicts)
			err = evict(s, pos->t, item->lo, how);
		if (err)
			return err;
	}
}

/*
 * An element that was flushed, then added again, is to have a lifetime now: what readers see has
 * none, so it is put in beside that.
 */
static int add_apart(struct set *s, struct hash_pos *pos, struct lifetime t, uint64_t now)
{
	const struct set_item item = {.lo = pos->key};

	drop(s, pos);
	int there = find_or_put(s, &item, t, (struct hash_how){0}, now, pos);
	if (there < 0) /* needs no memory */
		hash_table_add(s->store.table, item.lo, 0);
	else
		hash_table_unlock(pos);
	return MIN(there, 0);
}

int hash_set_add(struct set *s, const struct set_item *item, struct lifetime t, unsigned flags,
		 uint64_t now, struct set_elem **conflict)
{
	struct hash_pos pos;
	uint64_t timeout, expires;
	int there = find_or_put(s, item, t, (struct hash_how){0}, now, &pos), err = 0;

	if (there < 0)
		return there;
	if (there) {
		struct set_elem *e = hash_pos_elem(&pos);
		bool same =
			!s->desc.data_len || !memcmp(elem_data(s, e), item->data, s->desc.data_len);
		pos_lifetime(s, &pos, &timeout, &expires);
		if (!same || flags & SET_ADD_EXCL) {
			err = -EEXIST;
			if (conflict)
				*conflict = e;
		} else if ((t.timeout != timeout || t.expires_in) && hash_pos_is_again(&pos)) {
			return add_apart(s, &pos, t, now);
		} else if (t.timeout != timeout || t.expires_in) {
			err = change_lifetime(
				s, &pos, t.timeout,
				expiry_at(now, t.expires_in ? t.expires_in : t.timeout));
		}
	}
	hash_table_unlock(&pos);
	return err;
}

int hash_set_delete(struct set *s, const uint8_t *key, uint64_t now)
{
	struct hash_pos pos;
	int err = find_live(s, key, (struct hash_how){0}, now, &pos);

	if (err < 0)
		return err;
	err = !err ? -ENOENT : s->open ? journal_key(s, key) : 0;
	if (err)
		hash_table_unlock(&pos);
	else
		drop(s, &pos);
	return err;
}

int hash_set_remove(struct set *s, const uint8_t *key, uint64_t now)
{
	struct hash_how how = how_packets(s);
	struct hash_pos pos;

	if (!how.packet && (s->open || !how.ready))
		return hash_set_delete(s, key, now);
	int there = find_live(s, key, how, now, &pos), err = MIN(there, 0);
	if (!there)
		err = -ENOENT;
	else if (there > 0 && is_stuck(s, &pos))
		err = -ENOBUFS;
	if (!err)
		drop(s, &pos);
	else if (there >= 0)
		hash_table_unlock(&pos);
	if (err && err != -ENOENT)
		__atomic_fetch_add(&s->stats.unready, 1, __ATOMIC_RELAXED);
	return err;
}

static int update(struct set *s, enum set_update_mode mode, const struct set_item *item,
		  struct lifetime t, struct hash_how how, uint64_t now, struct set_elem **out)
{
	struct hash_pos pos;
	uint64_t timeout, expires;
	int there = find_or_put(s, item, t, how, now, &pos), err = 0;

	if (there < 0)
		return there;
	if (there) {
		pos_lifetime(s, &pos, &timeout, &expires);
		if (mode == SET_UPDATE_REFRESH && timeout && t.timeout)
			err = change_lifetime(s, &pos, timeout, expiry_at(now, t.timeout));
	} else {
		__atomic_fetch_add(&s->stats.added, 1, __ATOMIC_RELAXED);
	}
	if (!err)
		*out = hash_pos_elem(&pos);
	hash_table_unlock(&pos);
	return err ? err : !there;
}

int hash_set_update(struct set *s, enum set_update_mode mode, const struct set_item *item,
		    struct lifetime t, uint64_t now, struct set_elem **out)
{
	struct hash_how how = how_packets(s);
	int r = update(s, mode, item, t, how, now, out);

	if (r == -ENOBUFS || r == -EBUSY)
		__atomic_fetch_add(&s->stats.unready, 1, __ATOMIC_RELAXED);
	if (r == -ENOBUFS && !how.packet) {
		how.ready = false; /* one thread may make memory now */
		r = update(s, mode, item, t, how, now, out);
	}
	if (r == -ENFILE)
		__atomic_fetch_add(&s->stats.full, 1, __ATOMIC_RELAXED);
	return r;
}

void hash_set_lifetime(const struct set *s, struct set_elem *e, uint64_t *timeout,
		       uint64_t *expires)
{
	struct elem_keys k;
	struct hash_pos pos;

	elem_keys(s, e, &k);
	*timeout = 0;
	*expires = UINT64_MAX;
	if (hash_table_lock(s->store.table, k.lo, &pos))
		pos_lifetime(s, &pos, timeout, expires);
	hash_table_unlock(&pos);
}

unsigned hash_set_gc(struct set *s, uint64_t now, unsigned budget, unsigned *steps)
{
	struct expiring x = {.s = s, .gc = true};

	return hash_table_expire(s->store.table, now, budget, steps, (struct hash_how){0},
				 expire_one, &x);
}

/* --- transactions --------------------------------------------------------------------------- */

static void settled(void *ctx, struct set_elem *e, int delta)
{
	elem_data_use(ctx, e, delta);
}

void hash_set_settle(struct set *s, const uint8_t *key)
{
	hash_table_settle(s->store.table, key, settled, s);
}

void hash_set_flush(struct set *s)
{
	hash_table_flush(s->store.table, s->desc.data_use ? settled : NULL, s);
}

void hash_set_unflush(struct set *s)
{
	hash_table_unflush(s->store.table, s->desc.data_use ? settled : NULL, s);
}

void hash_set_restore_lifetime(struct set *s, const uint8_t *key, uint64_t timeout,
			       uint64_t expires, struct journal_folds set)
{
	struct hash_pos pos;

	if (hash_table_lock(s->store.table, key, &pos)) {
		uint64_t timeout_now, expires_now;
		pos_lifetime(s, &pos, &timeout_now, &expires_now);
		struct journal_folds now = journal_fold(timeout_now, expires_now);
		if (timeout && now.expires != set.expires)
			expires = expires_now;
		if (now.timeout == set.timeout)
			set_lifetime(s, &pos, timeout, expires); /* these columns were there */
	}
	hash_table_unlock(&pos);
}

/* --- the kind ------------------------------------------------------------------------------- */

static struct set_elem *hash_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct hash_pos pos;
	struct set_elem *e = NULL;

	if (hash_table_lock(s->store.table, key, &pos) && pos_live(&pos, now))
		e = hash_pos_elem(&pos);
	hash_table_unlock(&pos);
	return e;
}

static void hash_bare_keys(const struct set *s, const struct set_elem *e, struct elem_keys *out)
{
	out->lo = out->hi = hash_elem_key(s->store.table, e, out->buf);
}

static uint64_t hash_lookup(const struct set *s, const uint8_t *keys, size_t stride, uint64_t mask,
			    const uint64_t *now, struct set_elem **hit)
{
	const struct hash_table *t = __atomic_load_n(&s->published, __ATOMIC_ACQUIRE);
	return hash_table_lookup(t, keys, stride, mask, now, hit);
}

struct each {
	void (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

static void each_elem(void *ctx, struct set_elem *e, const uint8_t *key, uint64_t expires)
{
	struct each *each = ctx;
	each->fn(each->ctx, e);
}

static void hash_each(const struct set_store *st, unsigned key_len,
		      void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	if (st->table) /* else it stayed where it was, see set_flush() */
		hash_table_each(st->table, each_elem, &(struct each){fn, ctx});
}

static void hash_store_free(struct set_store *st, unsigned key_len)
{
	hash_table_free(st->table);
}

/* Elements go in and out by hash_set_add() and the like: it has no find(), insert() or remove(). */
const struct set_ops hash_set_ops = {
	.kind = SET_HASH,
	.bare_keys = hash_bare_keys,
	.match = hash_match,
	.lookup = hash_lookup,
	.each = hash_each,
	.store_free = hash_store_free,
};
