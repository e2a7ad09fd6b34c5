/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what a transaction did to a set, so that it can be undone in the opposite order.
 *
 * An element that was taken out is kept alive by its entry, a flushed set by its. Kinds with
 * versions go back to that before the transaction as a whole; undoing entries brings lifetimes,
 * counts and uses of data back: no allocation, no failure. Entries are reserved before a change
 * begins.
 *
 * Of a set of exact keys only the keys that changed are here: its table keeps both views of them
 * itself, see hash_table.h. After a flush not even these: where workers read, the table keeps what
 * is wanted in place (hash_table_flush.c), and commit and rollback go through it as a whole; else a
 * new table comes in, which a rollback throws away.
 */
#include "set/set_internal.h"

enum journal_op {
	JOURNAL_ADDED,
	JOURNAL_REMOVED,
	JOURNAL_EXPIRED,
	JOURNAL_LIFETIME,
	JOURNAL_DESC,
	JOURNAL_FLUSHED,
	JOURNAL_KEY, /* came or went */
	JOURNAL_KEY_EXPIRED,
	JOURNAL_KEY_LIFETIME,
};

struct journal_entry {
	uint32_t op : 8, set_timeout : 24; /* KEY_LIFETIME: struct journal_folds */
	uint32_t size;			   /* DESC; KEY_LIFETIME: of the expiry that was set */
	union {
		struct set_elem *e;
		struct set_store *store; /* FLUSHED; without table if that was flushed in place */
		uint64_t gc_interval;	 /* DESC */
		uint8_t key[8];		 /* KEY*, of up to 8 bytes */
		uint8_t *long_key;	 /* KEY*, of more */
	};
	uint64_t timeout; /* LIFETIME, DESC, KEY_LIFETIME */
	union {
		uint64_t expires; /* LIFETIME */
		uint64_t expired; /* FLUSHED: how many of them had */
	};
};

_Static_assert(sizeof(struct journal_entry) == 32, "set.h tells the size");

int journal_reserve(struct set *s, size_t more)
{
	if (s->committed)
		return -EAGAIN;
	return s->open ? vec_reserve(&s->journal, s->journal.n + more) : 0;
}

static void push(struct set *s, struct journal_entry entry)
{
	s->journal.items[s->journal.n++] = entry;
}

void journal_added(struct set *s, struct set_elem *e)
{
	if (s->open)
		push(s, (struct journal_entry){.op = JOURNAL_ADDED, .e = e});
}

void journal_removed(struct set *s, struct set_elem *e, bool expired)
{
	if (s->open)
		push(s, (struct journal_entry){.op = expired ? JOURNAL_EXPIRED : JOURNAL_REMOVED,
					       .e = e});
	else
		elem_free(s, e);
}

void journal_lifetime(struct set *s, struct set_elem *e)
{
	if (s->open)
		push(s, (struct journal_entry){.op = JOURNAL_LIFETIME,
					       .e = e,
					       .timeout = e->timeout,
					       .expires = e->expires});
}

void journal_desc(struct set *s)
{
	if (s->open)
		push(s, (struct journal_entry){.op = JOURNAL_DESC,
					       .size = s->desc.size,
					       .timeout = s->desc.timeout_ns,
					       .gc_interval = s->desc.gc_interval_ns});
}

static int push_key(struct set *s, struct journal_entry entry, const uint8_t *key)
{
	bool whole = s->store.flushed && entry.op != JOURNAL_KEY_LIFETIME;
	if (!s->open || s->store.fresh || whole)
		return 0;
	int err = journal_reserve(s, 1);
	if (err)
		return err;
	if (s->key_len > sizeof(entry.key)) {
		entry.long_key = malloc(s->key_len);
		if (!entry.long_key)
			return -ENOMEM;
		memcpy(entry.long_key, key, s->key_len);
	} else {
		memcpy(entry.key, key, s->key_len);
	}
	push(s, entry);
	return 0;
}

int journal_key(struct set *s, const uint8_t *key)
{
	return push_key(s, (struct journal_entry){.op = JOURNAL_KEY}, key);
}

int journal_key_expired(struct set *s, const uint8_t *key)
{
	return push_key(s, (struct journal_entry){.op = JOURNAL_KEY_EXPIRED}, key);
}

static uint32_t fold(uint64_t v)
{
	return (uint32_t)(v ^ v >> 32);
}

struct journal_folds journal_fold(uint64_t timeout, uint64_t expires)
{
	uint32_t t = fold(timeout);

	return (struct journal_folds){(t ^ t >> 24) & 0xffffff, fold(expires)};
}

int journal_key_lifetime(struct set *s, const uint8_t *key, uint64_t timeout, uint64_t expires,
			 uint64_t new_timeout, uint64_t new_expires)
{
	struct journal_folds set = journal_fold(new_timeout, new_expires);
	struct journal_entry entry = {.op = JOURNAL_KEY_LIFETIME,
				      .set_timeout = set.timeout,
				      .size = set.expires,
				      .timeout = timeout,
				      .expires = expires};
	return push_key(s, entry, key);
}

static bool is_of_key(const struct journal_entry *j)
{
	return j->op >= JOURNAL_KEY;
}

static const uint8_t *entry_key(const struct set *s, const struct journal_entry *j)
{
	return s->key_len > sizeof(j->key) ? j->long_key : j->key;
}

static void entry_key_free(const struct set *s, const struct journal_entry *j)
{
	if (s->key_len > sizeof(j->key))
		free(j->long_key);
}

static void free_one(void *ctx, struct set_elem *e)
{
	if (!elem_is_bare(e))
		elem_record_free(NULL, e);
}

static void store_free_now(const struct set_ops *ops, struct set_store *st, unsigned key_len)
{
	if (!st->table) /* which frees its records itself, when no reader looks at them */
		ops->each(st, key_len, free_one, NULL);
	if (st->catchall)
		elem_record_free(NULL, st->catchall);
	ops->store_free(st, key_len);
	expiry_free(&st->expiry);
}

/* A store that readers may still be looking at. */
struct grave {
	struct rcu_head rcu;
	const struct set_ops *ops;
	unsigned key_len;
	struct set_store store;
};

static void grave_free(struct rcu_head *head)
{
	struct grave *g = container_of(head, struct grave, rcu);

	if (g->store.table) /* nobody looks at it any more */
		hash_table_share(g->store.table, NULL);
	store_free_now(g->ops, &g->store, g->key_len);
	free(g);
}

/* About what it takes: elements may have comments, and bare ones have no record. */
static size_t store_bytes(const struct set *s, const struct set_store *st)
{
	size_t record = elem_bytes(s, s->desc.ext_ctx);

	if (!st->table)
		return st->n * record;
	bool records = s->desc.data_len || (s->desc.ext_ctx && s->desc.ext_init);
	return hash_table_bytes(st->table) + (records ? hash_table_count(st->table) * record : 0);
}

/* It is out of reach. */
static void store_free(struct set *s, struct set_store *st)
{
	struct grave *g = s->desc.rcu ? malloc(sizeof(*g)) : NULL;

	if (!g) {
		if (s->desc.rcu)
			rcu_wait(s->desc.rcu, UINT64_MAX);
		store_free_now(s->ops, st, s->key_len);
		return;
	}
	*g = (struct grave){.ops = s->ops, .key_len = s->key_len, .store = *st};
	rcu_defer(s->desc.rcu, &g->rcu, grave_free, sizeof(*g) + store_bytes(s, st));
}

static void use_one(void *ctx, struct set_elem *e)
{
	elem_data_use(ctx, e, 1);
}

static void unuse_one(void *ctx, struct set_elem *e)
{
	elem_data_use(ctx, e, -1);
}

static void store_data_use(struct set *s, void (*fn)(void *ctx, struct set_elem *e))
{
	if (!s->desc.data_use)
		return;
	s->ops->each(&s->store, s->key_len, fn, s);
	if (s->store.catchall)
		fn(s, s->store.catchall);
}

void store_drop(struct set *s)
{
	store_data_use(s, unuse_one);
	store_free(s, &s->store);
	s->store = (struct set_store){0};
}

int set_flush(struct set *s, uint64_t now)
{
	struct set_store *held = NULL;
	struct hash_table *table = NULL;
	uint64_t expired = expiry_count(&s->store.expiry, now);

	if (s->committed)
		return -EAGAIN;
	int err = set_admit(s);
	if (!err && s->ops->prepare)
		err = s->ops->prepare(s);
	if (err)
		return err;
	bool in_place = s->store.table && set_is_hidden(s);
	if (s->store.table)
		expired += hash_table_expired(s->store.table, now);
	if (s->store.table && !in_place) {
		err = hash_set_table(s, &table);
		if (err)
			return err;
	}
	if (s->open) {
		err = journal_reserve(s, 1);
		held = err ? NULL : malloc(sizeof(*held));
		if (!held) {
			hash_table_free(table);
			return -ENOMEM;
		}
	}
	struct set_store old = s->store;
	if (in_place) {
		hash_set_flush(s);
		table = old.table;
		old.table = s->store.table = NULL;
	}
	store_data_use(s, unuse_one);
	s->stats.expired += expired;
	s->store = (struct set_store){
		.table = table, .fresh = table && held && !in_place, .flushed = in_place};
	if (table && !in_place)
		hash_set_publish(s);
	else if (!set_is_hidden(s))
		catchall_show(s);
	if (held) {
		*held = old;
		push(s, (struct journal_entry){
				.op = JOURNAL_FLUSHED, .store = held, .expired = expired});
	} else {
		if (s->ops->publish)
			s->ops->publish(s);
		store_free(s, &old);
	}
	return 0;
}

int set_begin(struct set *s)
{
	if (s->open)
		return s->committed ? -EAGAIN : -EALREADY;
	int err = set_admit(s);
	if (err)
		return err;
	s->open = true;
	if (s->store.table)
		hash_set_begin(s);
	if (s->ops->begin)
		s->ops->begin(s);
	return 0;
}

static void close_journal(struct set *s)
{
	if (s->store.table && !s->store.fresh)
		hash_table_end(s->store.table);
	s->store.fresh = s->store.flushed = false;
	s->open = s->committed = false;
	journal_free(s);
}

/* Shows workers what was changed. */
static void commit_table(struct set *s)
{
	if (!s->store.fresh)
		hash_table_publish(s->store.table);
	hash_set_publish(s);
}

int set_commit(struct set *s, uint64_t deadline)
{
	if (!s->open)
		return 0;
	if (s->store.table && !s->committed)
		commit_table(s);
	if (s->ops->publish && !s->committed)
		s->ops->publish(s);
	if (!s->committed)
		catchall_show(s);
	s->committed = true;
	if (s->store.table && s->journal.n && rcu_wait(s->desc.rcu, deadline))
		return -EAGAIN;
	if (s->store.flushed)
		hash_table_settle_all(s->store.table);
	vec_foreach (&s->journal, j) {
		if (is_of_key(j)) {
			if (!s->store.fresh && !s->store.flushed)
				hash_set_settle(s, entry_key(s, j));
			entry_key_free(s, j);
		} else if (j->op == JOURNAL_REMOVED || j->op == JOURNAL_EXPIRED) {
			elem_free(s, j->e);
		} else if (j->op == JOURNAL_FLUSHED) {
			if (j->store->table) { /* nobody looks at it any more */
				hash_table_share(j->store->table, NULL);
				store_free_now(s->ops, j->store, s->key_len);
			} else {
				store_free(s, j->store);
			}
			free(j->store);
		}
	}
	close_journal(s);
	return 0;
}

/* Back to what was there before a flush. */
static void undo_flush(struct set *s, const struct journal_entry *j)
{
	struct hash_table *kept = j->store->table ? NULL : s->store.table;

	if (kept)
		s->store.table = NULL;
	store_drop(s); /* of ranges there are none by now */
	s->store = *j->store;
	free(j->store);
	s->stats.expired -= j->expired;
	store_data_use(s, use_one);
	if (kept)
		s->store.table = kept;
	if (s->ops->revert)
		s->ops->revert(s);
	if (s->store.table && !set_is_hidden(s))
		hash_set_publish(s);
}

static void undo(struct set *s, const struct journal_entry *j)
{
	switch (j->op) {
	case JOURNAL_ADDED:
		elem_detach(s, j->e);
		elem_free(s, j->e);
		break;
	case JOURNAL_EXPIRED:
		s->stats.expired--;
		elem_attach(s, j->e);
		break;
	case JOURNAL_REMOVED:
		elem_attach(s, j->e);
		break;
	case JOURNAL_LIFETIME:
		elem_set_lifetime(s, j->e, j->timeout, j->expires);
		break;
	case JOURNAL_DESC:
		s->desc.size = j->size;
		s->desc.timeout_ns = j->timeout;
		s->desc.gc_interval_ns = j->gc_interval;
		break;
	case JOURNAL_FLUSHED:
		undo_flush(s, j);
		break;
	case JOURNAL_KEY_EXPIRED:
		s->stats.expired--;
		/* fall through */
	case JOURNAL_KEY:
		hash_table_revert(s->store.table);
		hash_set_settle(s, entry_key(s, j));
		entry_key_free(s, j);
		break;
	case JOURNAL_KEY_LIFETIME:
		hash_table_revert(s->store.table);
		hash_set_restore_lifetime(s, entry_key(s, j), j->timeout, j->expires,
					  (struct journal_folds){j->set_timeout, j->size});
		entry_key_free(s, j);
		break;
	}
}

void set_rollback(struct set *s)
{
	if (s->committed)
		return;
	s->undoing = true;
	if (s->store.flushed)
		hash_set_unflush(s);
	if (s->ops->revert)
		s->ops->revert(s);
	while (s->journal.n)
		undo(s, &s->journal.items[--s->journal.n]);
	s->undoing = false;
	catchall_show(s);
	if (s->store.table)
		hash_table_revert(s->store.table);
	close_journal(s);
}

bool set_in_transaction(const struct set *s)
{
	return s->open;
}

void journal_free(struct set *s)
{
	vec_free(&s->journal);
}
