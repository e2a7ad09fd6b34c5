/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_journal: what a command or a restore has done, so that it can be taken back.
 *
 * Entries are taken back in the opposite order, so that each finds the state it was made in. What a
 * set holds that was itself made since the last commit goes as a whole and needs no entries. Taking
 * back needs no memory. Elements added one after another share an entry.
 */
#include <stdlib.h>

#include "compat/ipset_int.h"

enum change_kind { CREATED, DESTROYED, RENAMED, SWAPPED, REBODIED, ADDED, REMOVED, SET, MEMBERS };

struct ipset_change {
	enum change_kind kind;
	uint32_t id, n; /* of records */
	union {
		struct ipset_set *set;
		struct ipset_body *body;
	};
	union {
		struct ipset_set *other;
		struct ipset_body *old;
		const uint8_t *record;
		const char *name;
		struct ipset_member *members;
		size_t at;
	};
};

static int push(struct ipset *s, const struct ipset_change *c)
{
	int err = vec_push(&s->journal, *c);

	if (!err)
		s->changed = true;
	return err;
}

int ipset_log_create(struct ipset *s, struct ipset_set *set)
{
	return push(s, &(struct ipset_change){.kind = CREATED, .set = set});
}

int ipset_log_destroy(struct ipset *s, struct ipset_set *set, size_t at)
{
	return push(s, &(struct ipset_change){.kind = DESTROYED, .set = set, .at = at});
}

int ipset_log_rename(struct ipset *s, struct ipset_set *set)
{
	const char *name = arena_strndup(&s->kept, set->name, strlen(set->name));

	if (!name)
		return -ENOMEM;
	return push(s, &(struct ipset_change){.kind = RENAMED, .set = set, .name = name});
}

int ipset_log_swap(struct ipset *s, struct ipset_set *a, struct ipset_set *b)
{
	return push(s, &(struct ipset_change){.kind = SWAPPED, .set = a, .other = b});
}

int ipset_log_body(struct ipset *s, struct ipset_set *set, struct ipset_body *old)
{
	return push(s, &(struct ipset_change){.kind = REBODIED, .set = set, .old = old});
}

int ipset_log_add(struct ipset *s, struct ipset_body *b, uint32_t id)
{
	struct ipset_change *last;

	if (b->fresh)
		return 0;
	last = s->journal.n ? &s->journal.items[s->journal.n - 1] : NULL;
	if (last && last->kind == ADDED && last->body == b && last->id + last->n == id) {
		last->n++;
		return 0;
	}
	return push(s, &(struct ipset_change){.kind = ADDED, .body = b, .id = id, .n = 1});
}

int ipset_log_remove(struct ipset *s, struct ipset_body *b, uint32_t id)
{
	int err;

	if (b->fresh)
		return 0;
	err = push(s, &(struct ipset_change){.kind = REMOVED, .body = b, .id = id});
	if (!err)
		b->store.pinned++;
	return err;
}

int ipset_log_set(struct ipset *s, struct ipset_body *b, uint32_t id)
{
	const uint8_t *copy;

	if (b->fresh)
		return 0;
	copy = arena_dup(&s->kept, ipset_store_record(&b->store, id), b->store.stride);
	if (!copy)
		return -ENOMEM;
	return push(s, &(struct ipset_change){.kind = SET, .body = b, .id = id, .record = copy});
}

int ipset_log_members(struct ipset *s, struct ipset_body *b)
{
	size_t bytes = b->members.n * sizeof(*b->members.items);
	struct ipset_member *copy;

	if (b->fresh)
		return 0;
	copy = arena_alloc(&s->kept, bytes);
	if (!copy)
		return -ENOMEM;
	if (bytes)
		memcpy(copy, b->members.items, bytes);
	return push(s, &(struct ipset_change){.kind = MEMBERS,
					      .body = b,
					      .n = (uint32_t)b->members.n,
					      .members = copy});
}

static void refs_count(const struct ipset_body *b, int by)
{
	for (size_t i = 0; i < b->members.n; i++)
		b->members.items[i].set->refs += (uint32_t)by;
}

static void take_back(struct ipset *s, struct ipset_change *c)
{
	struct ipset_body *body;

	switch (c->kind) {
	case CREATED:
		refs_count(c->set->body, -1);
		map_remove_str(&s->by_name, c->set->name);
		s->sets.n--;
		ipset_set_free(c->set);
		break;
	case DESTROYED:
		/* The place in the map is one that was left. */
		map_insert_str(&s->by_name, c->set->name, c->set);
		memmove(&s->sets.items[c->at + 1], &s->sets.items[c->at],
			(s->sets.n++ - c->at) * sizeof(*s->sets.items));
		s->sets.items[c->at] = c->set;
		refs_count(c->set->body, 1);
		break;
	case RENAMED:
		map_remove_str(&s->by_name, c->set->name);
		strcpy(c->set->name, c->name);
		map_insert_str(&s->by_name, c->set->name, c->set);
		break;
	case SWAPPED:
		body = c->set->body;
		c->set->body = c->other->body;
		c->other->body = body;
		break;
	case REBODIED:
		refs_count(c->set->body, -1);
		ipset_body_free(c->set->body);
		c->set->body = c->old;
		refs_count(c->old, 1);
		break;
	case ADDED:
		while (c->n--)
			if (ipset_store_holds(&c->body->store, c->id + c->n))
				ipset_body_remove(c->body, c->id + c->n);
		break;
	case REMOVED:
		ipset_body_put_back(c->body, c->id);
		c->body->store.pinned--;
		break;
	case SET:
		ipset_body_overwrite(c->body, c->id, c->record);
		break;
	case MEMBERS:
		refs_count(c->body, -1);
		if (c->n)
			memcpy(c->body->members.items, c->members,
			       c->n * sizeof(*c->body->members.items));
		c->body->members.n = c->n;
		refs_count(c->body, 1);
		break;
	}
}

static void journal_empty(struct ipset *s)
{
	vec_free(&s->journal);
	arena_free(&s->kept);
	s->kept = ARENA_INIT;
	s->changed = false;
	s->last = NULL;
	s->n_additions = 0;
}

/* Lists that go as a whole let go of their members, which may go before them. */
static void members_let_go(struct ipset *s)
{
	for (size_t i = 0; i < s->sets.n; i++) {
		struct ipset_body *b = s->sets.items[i]->body;

		if (b->fresh) {
			refs_count(b, -1);
			b->members.n = 0;
		}
	}
	for (size_t i = 0; i < s->journal.n; i++)
		if (s->journal.items[i].kind == DESTROYED && s->journal.items[i].set->body->fresh)
			s->journal.items[i].set->body->members.n = 0;
}

void ipset_rollback(struct ipset *s)
{
	if (s->journal.n)
		members_let_go(s);
	for (size_t i = s->journal.n; i--;)
		take_back(s, &s->journal.items[i]);
	journal_empty(s);
}

void ipset_commit(struct ipset *s)
{
	for (size_t i = 0; i < s->journal.n; i++) {
		struct ipset_change *c = &s->journal.items[i];

		switch (c->kind) {
		case DESTROYED:
			ipset_set_free(c->set);
			break;
		case REBODIED:
			ipset_body_free(c->old);
			break;
		default:
			break;
		}
	}
	for (size_t i = 0; s->changed && i < s->sets.n; i++) {
		s->sets.items[i]->body->fresh = false;
		ipset_body_tidy(s->sets.items[i]->body);
	}
	journal_empty(s);
}
