/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what a transaction did to a set, so that it can be undone in the opposite order.
 *
 * An element that was taken out is kept alive by its entry, a flushed set by its. Undoing puts
 * elements back where there was room for them before: no allocation, no failure. Entries are
 * reserved before a change begins.
 */
#include "set/set_internal.h"

enum journal_op {
	JOURNAL_ADDED,
	JOURNAL_REMOVED,
	JOURNAL_EXPIRED,
	JOURNAL_LIFETIME,
	JOURNAL_DESC,
	JOURNAL_FLUSHED,
};

struct journal_entry {
	uint32_t op;
	uint32_t size; /* DESC */
	union {
		struct set_elem *e;
		struct set_store *store; /* FLUSHED */
		uint64_t gc_interval;	 /* DESC */
	};
	uint64_t timeout; /* LIFETIME, DESC */
	union {
		uint64_t expires; /* LIFETIME */
		uint64_t expired; /* FLUSHED: how many of them had */
	};
};

_Static_assert(sizeof(struct journal_entry) == 32, "set.h tells the size");

int journal_reserve(struct set *s, size_t more)
{
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

static void free_one(void *ctx, struct set_elem *e)
{
	elem_free(ctx, e);
}

static void store_free(struct set *s, struct set_store *st)
{
	s->ops->each(st, free_one, s);
	if (st->catchall)
		elem_free(s, st->catchall);
	s->ops->store_free(st);
	expiry_free(&st->expiry);
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
	s->ops->each(&s->store, fn, s);
	if (s->store.catchall)
		fn(s, s->store.catchall);
}

int set_flush(struct set *s, uint64_t now)
{
	struct set_store *held = NULL;
	uint64_t expired = expiry_count(&s->store.expiry, now);

	if (s->open) {
		int err = journal_reserve(s, 1);
		if (err)
			return err;
		held = malloc(sizeof(*held));
		if (!held)
			return -ENOMEM;
	}
	store_data_use(s, unuse_one);
	s->stats.expired += expired;
	if (held) {
		*held = s->store;
		push(s, (struct journal_entry){
				.op = JOURNAL_FLUSHED, .store = held, .expired = expired});
	} else {
		store_free(s, &s->store);
	}
	s->store = (struct set_store){0};
	return 0;
}

int set_begin(struct set *s)
{
	if (s->open)
		return -EALREADY;
	s->open = true;
	return 0;
}

static void close_journal(struct set *s)
{
	s->open = false;
	s->ops->settle(s);
	journal_free(s);
}

void set_commit(struct set *s)
{
	vec_foreach (&s->journal, j) {
		if (j->op == JOURNAL_REMOVED || j->op == JOURNAL_EXPIRED) {
			elem_free(s, j->e);
		} else if (j->op == JOURNAL_FLUSHED) {
			store_free(s, j->store);
			free(j->store);
		}
	}
	close_journal(s);
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
		store_free(s, &s->store); /* empty by now, but for its tables */
		s->store = *j->store;
		free(j->store);
		s->stats.expired -= j->expired;
		store_data_use(s, use_one);
		break;
	}
}

void set_rollback(struct set *s)
{
	while (s->journal.n)
		undo(s, &s->journal.items[--s->journal.n]);
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
