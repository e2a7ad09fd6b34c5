/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acls: the whole: its life, transactions, handles of entries, workers and what they count.
 *
 * Counters: a worker has an array of its own for each chunk of handles, which it alone writes; a
 * reading adds them up. A handle is given again, with counts of 0, when no worker can hold it.
 *
 * A transaction is at first what a call does, or what is done between begin and commit. All lists
 * change at once, with a log; the classifiers show nothing of it before the version does.
 */
#include <stdlib.h>

#include "acl/acl_int.h"

static const uint64_t default_wait_ns = 1000000000;

static const struct tamis_acls_config plain;

enum { UNDO_KEPT = 1024 };

int tamis_acls_new(const struct tamis_acls_config *config, struct tamis_acls **out)
{
	struct tamis_acls *a = calloc(1, sizeof(*a));
	int err = -ENOMEM;

	if (!a)
		return err;
	a->config = config ? *config : plain;
	for (unsigned wide = 0; wide < 2; wide++)
		a->entries[wide].size = offsetof(struct acl_entry, rule) +
					acl_rule_size(&(struct acl_rule){.wide = (uint8_t)wide});
	a->acls.size = sizeof(struct acl);
	a->links.size = sizeof(struct acl_link);
	a->places.size = sizeof(struct acl_place);
	a->fragments = true;
	if (!a->config.wait_ns)
		a->config.wait_ns = default_wait_ns;
	if (!a->config.max_entries)
		a->config.max_entries = TAMIS_ACL_ENTRIES_MAX;
	if (!a->config.max_overlap)
		a->config.max_overlap = TAMIS_ACL_OVERLAP_DEFAULT;
	if (!a->config.max_places)
		a->config.max_places = TAMIS_ACL_PLACES_DEFAULT;
	err = a->config.max_entries > TAMIS_ACL_ENTRIES_MAX ||
			      a->config.max_overlap < TAMIS_ACL_OVERLAP_MIN ||
			      a->config.max_overlap > TAMIS_ACL_ENTRIES_MAX ||
			      a->config.max_places > TAMIS_ACL_PLACES_MAX
		      ? -EINVAL
		      : 0;
	if (!err && a->config.clock)
		err = rcu_new(&(struct rcu_config){.clock = a->config.clock,
						   .stalled = a->config.stalled,
						   .stall_ns = MAX(a->config.wait_ns / 2, 1U),
						   .ctx = a->config.arg},
			      &a->rcu);
	if (err) {
		free(a);
		return err;
	}
	a->chunks = calloc(CHUNKS_MAX, sizeof(*a->chunks));
	a->gone = calloc(CHUNKS_MAX, sizeof(*a->gone));
	if (!a->chunks || !a->gone) {
		tamis_acls_free(a);
		return -ENOMEM;
	}
	*out = a;
	return 0;
}

void tamis_acls_free(struct tamis_acls *a)
{
	if (!a)
		return;
	if (a->open)
		tamis_acls_abort(a);
	for (unsigned kind = 0; kind < ACL_KINDS; kind++) {
		for (size_t i = 0; i < a->index[kind].acls.n; i++)
			if (a->index[kind].acls.items[i])
				acl_destroy(a->index[kind].acls.items[i]);
		acl_index_free(&a->index[kind]);
	}
	rcu_free(a->rcu);
	for (uint32_t c = 0; c < a->n_chunks; c++) {
		free(a->chunks[c]);
		free(a->gone[c]);
	}
	free(a->chunks);
	free(a->gone);
	pool_release(&a->entries[0]);
	pool_release(&a->entries[1]);
	pool_release(&a->acls);
	pool_release(&a->links);
	pool_release(&a->places);
	vec_free(&a->free_slots);
	vec_free(&a->undo);
	vec_free(&a->touched);
	free(a);
}

void tamis_acls_fragments_set(struct tamis_acls *a, bool match)
{
	__atomic_store_n(&a->fragments, match, __ATOMIC_RELAXED);
}

bool tamis_acls_fragments(const struct tamis_acls *a)
{
	return __atomic_load_n(&a->fragments, __ATOMIC_RELAXED);
}

/* --- transactions --------------------------------------------------------------------------- */

int acl_undo_push(struct tamis_acls *a, enum undo_kind kind, void *what, char *old)
{
	return vec_push(&a->undo, ((struct undo){kind, what, old}));
}

int acl_string_set(struct tamis_acls *a, char **at, char *string)
{
	int err = acl_undo_push(a, UNDO_STRING, at, *at);

	if (err)
		free(string);
	else
		*at = string;
	return err;
}

int acl_table_touch(struct tamis_acls *a, struct acl_table *t)
{
	int err = t->touched ? 0 : vec_push(&a->touched, t);

	if (!err)
		t->touched = true;
	return err;
}

static void table_undo_add(struct tamis_acls *a, struct acl *acl)
{
	struct acl_table *t = acl->table;
	struct acl_entry *e;

	for (struct list *l = acl->entries.next; l != &acl->entries; l = l->next) {
		e = container_of(l, struct acl_entry, in_acl);
		acl_place_free(a, acl_place_take(e, NULL));
	}
	for (size_t i = 0; i < a->touched.n; i++)
		if (a->touched.items[i] == t)
			a->touched.items[i] = a->touched.items[--a->touched.n];
	acl->table = NULL;
	acl_table_release(t);
	free(t);
}

static void take_back(struct tamis_acls *a, struct undo *u)
{
	struct acl *acl = u->what;
	char **string = u->what;

	switch (u->kind) {
	case UNDO_ENTRY_ADD:
		acl_entry_undo_add(u->what);
		break;
	case UNDO_ENTRY_DEL:
		acl_entry_undo_delete(u->what);
		break;
	case UNDO_ACL_ADD:
		acl_index_give(&a->index[acl->kind], acl->index);
		acl_destroy(acl);
		break;
	case UNDO_ACL_DEL:
		a->index[acl->kind].acls.items[acl->index] = acl;
		break;
	case UNDO_TABLE_ADD:
		table_undo_add(a, acl);
		break;
	case UNDO_LINK_ADD:
		acl_link_undo_add(u->what);
		break;
	case UNDO_LINK_DEL:
		acl_link_undo_del(u->what);
		break;
	case UNDO_STRING:
		free(*string);
		*string = u->old;
		break;
	}
}

static void acl_quiet(struct rcu_head *head)
{
	acl_destroy(container_of(head, struct acl, head));
}

static void make_final(struct tamis_acls *a, struct undo *u)
{
	struct acl *acl = u->what;

	switch (u->kind) {
	case UNDO_ENTRY_DEL:
		acl_entry_die(u->what);
		break;
	case UNDO_ACL_DEL:
		rcu_defer(a->rcu, &acl->head, acl_quiet, sizeof(*acl));
		break;
	case UNDO_LINK_DEL:
		acl_link_commit_del(u->what);
		break;
	case UNDO_STRING:
		free(u->old);
		break;
	case UNDO_ENTRY_ADD:
	case UNDO_ACL_ADD:
	case UNDO_TABLE_ADD:
	case UNDO_LINK_ADD:
		break;
	}
}

static void transaction_end(struct tamis_acls *a, bool commit)
{
	if (commit)
		__atomic_store_n(&a->version, a->version + 1, __ATOMIC_RELEASE);
	for (size_t i = a->undo.n; !commit && i-- > 0;)
		take_back(a, &a->undo.items[i]);
	for (size_t i = 0; i < a->touched.n; i++) {
		struct acl_table *t = a->touched.items[i];

		t->touched = false;
		if (commit)
			classifier_commit(t->cls);
		else
			classifier_abort(t->cls);
	}
	for (size_t i = 0; commit && i < a->undo.n; i++)
		make_final(a, &a->undo.items[i]);
	a->undo.n = 0;
	a->touched.n = 0;
	/* Of a large transaction nothing stays. */
	if (a->undo.cap > UNDO_KEPT)
		vec_free(&a->undo);
	if (a->touched.cap > UNDO_KEPT)
		vec_free(&a->touched);
}

void tamis_acls_deferred(const struct tamis_acls *a, struct tamis_acls_deferred *out)
{
	struct rcu_stats st = {0};

	if (a->rcu)
		rcu_stats_read(a->rcu, &st);
	*out = (struct tamis_acls_deferred){st.entries, st.bytes, st.entries_peak, st.bytes_peak,
					    st.freed,	st.waits, st.refused};
}

/* Counts what is refused; returns err. */
static int tell(struct tamis_acls *a, int err)
{
	a->stats.refused_entries += err == -EDQUOT;
	a->stats.refused_overlap += err == -E2BIG;
	a->stats.refused_memory += err == -ENOMEM;
	return err;
}

void tamis_acls_stats_get(const struct tamis_acls *a, struct tamis_acls_stats *out)
{
	*out = a->stats;
	out->entries = a->n_entries;
}

/* Frees what may be freed, and waits if there is too much of it. */
static int admit(struct tamis_acls *a)
{
	rcu_poll(a->rcu);
	if (!rcu_crowded(a->rcu))
		return 0;
	return rcu_admit(a->rcu, a->config.clock(a->config.arg) + a->config.wait_ns);
}

int acl_step_begin(struct tamis_acls *a)
{
	return a->open ? a->broken : admit(a);
}

int acl_step_end(struct tamis_acls *a, int err)
{
	tell(a, err);
	if (!a->open)
		transaction_end(a, !err);
	else if (err)
		a->broken = err;
	return err;
}

int acl_step_refuse(struct tamis_acls *a, int err)
{
	tell(a, err);
	if (a->open && !a->broken && (err == -ENOMEM || err == -EDQUOT))
		a->broken = err;
	return err;
}

int tamis_acls_begin(struct tamis_acls *a)
{
	int err = a->open ? -EBUSY : admit(a);

	if (!err)
		a->open = true;
	return err;
}

int tamis_acls_commit(struct tamis_acls *a)
{
	int err = a->open ? a->broken : -EINVAL;

	if (err == -EINVAL && !a->open)
		return err;
	transaction_end(a, !err);
	a->open = false;
	a->broken = 0;
	return err;
}

void tamis_acls_abort(struct tamis_acls *a)
{
	if (!a->open)
		return;
	transaction_end(a, false);
	a->open = false;
	a->broken = 0;
}

/* --- handles -------------------------------------------------------------------------------- */

static int chunk_add(struct tamis_acls *a)
{
	struct acl_chunk *c = calloc(1, sizeof(*c));
	uint32_t at = a->n_chunks;
	bool ok = c;

	for (struct tamis_acl_worker *w = a->workers; w && ok; w = w->next)
		ok = w->counts[at] || (w->counts[at] = calloc(CHUNK, sizeof(**w->counts)));
	if (!ok) {
		free(c);
		return -ENOMEM;
	}
	a->chunks[at] = c;
	a->n_chunks++;
	return 0;
}

static void count_clear(struct acl_count *c)
{
	__atomic_store_n(&c->packets, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->bytes, 0, __ATOMIC_RELAXED);
}

int acl_handle_take(struct tamis_acls *a, struct acl_entry *e)
{
	uint32_t at = a->n_slots;
	int err;

	if (a->n_entries >= a->config.max_entries)
		return -EDQUOT;
	if (a->free_slots.n) {
		at = a->free_slots.items[a->free_slots.n - 1];
	} else {
		if (at == CHUNKS_MAX * CHUNK)
			return -EDQUOT;
		/* Giving a handle back must not fail. */
		err = vec_reserve(&a->free_slots, at + 1);
		if (!err && at == a->n_chunks * CHUNK)
			err = chunk_add(a);
		if (err)
			return err;
	}
	struct acl_chunk *c = a->chunks[at / CHUNK];
	if (a->gone[at / CHUNK])
		count_clear(&a->gone[at / CHUNK][at % CHUNK]);
	for (struct tamis_acl_worker *w = a->workers; w; w = w->next)
		count_clear(&w->counts[at / CHUNK][at % CHUNK]);
	c->entry[at % CHUNK] = e;
	e->handle = (uint64_t)c->generation[at % CHUNK] << 32 | (at + 1);
	if (at == a->n_slots)
		a->n_slots++;
	else
		a->free_slots.n--;
	a->n_entries++;
	return 0;
}

void acl_handle_give(struct tamis_acls *a, struct acl_entry *e)
{
	uint32_t at = (uint32_t)e->handle - 1;
	struct acl_chunk *c = a->chunks[at / CHUNK];

	c->entry[at % CHUNK] = NULL;
	c->generation[at % CHUNK]++;
	a->free_slots.items[a->free_slots.n++] = at;
	a->n_entries--;
}

struct acl_entry *acl_handle_find(const struct tamis_acls *a, uint64_t handle, enum acl_kind kind)
{
	uint32_t at = (uint32_t)handle - 1;
	struct acl_entry *e = at < a->n_slots ? a->chunks[at / CHUNK]->entry[at % CHUNK] : NULL;

	return e && e->handle == handle && e->state == ENTRY_LIVE && e->acl->kind == kind ? e
											  : NULL;
}

/* --- workers -------------------------------------------------------------------------------- */

static void counts_free(struct tamis_acl_worker *w)
{
	for (uint32_t c = 0; w->counts && c <= w->acls->n_chunks && c < CHUNKS_MAX; c++)
		free(w->counts[c]);
	free(w->counts);
}

int tamis_acl_worker_new(struct tamis_acls *a, const char *name, struct tamis_acl_worker **out)
{
	struct tamis_acl_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->acls = a;
	w->counts = calloc(CHUNKS_MAX, sizeof(*w->counts));
	bool ok = w->counts;
	for (uint32_t c = 0; c < a->n_chunks && ok; c++)
		ok = (w->counts[c] = calloc(CHUNK, sizeof(**w->counts)));
	if (!ok || (a->rcu && rcu_register(a->rcu, name, &w->rcu))) {
		counts_free(w);
		free(w);
		return -ENOMEM;
	}
	w->next = a->workers;
	a->workers = w;
	*out = w;
	return 0;
}

/* Counts of one chunk to those that stay; a chunk that none stays of yet is taken as it is. */
static void counts_keep(struct acl_count **gone, struct acl_count **counts)
{
	if (!*gone) {
		*gone = *counts;
		*counts = NULL;
		return;
	}
	for (uint32_t i = 0; i < CHUNK; i++) {
		(*gone)[i].packets += (*counts)[i].packets;
		(*gone)[i].bytes += (*counts)[i].bytes;
	}
}

void tamis_acl_worker_free(struct tamis_acl_worker *w)
{
	if (!w)
		return;
	struct tamis_acls *a = w->acls;
	struct tamis_acl_worker **at = &a->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	for (uint32_t c = 0; c < a->n_chunks; c++)
		counts_keep(&a->gone[c], &w->counts[c]);
	if (w->rcu)
		rcu_unregister(w->rcu);
	counts_free(w);
	free(w);
}

void tamis_acl_quiescent(struct tamis_acl_worker *w)
{
	if (w->rcu)
		rcu_quiescent(w->rcu);
}

/* One writer: no lock prefix. */
static void add(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

void tamis_acl_count(struct tamis_acl_worker *w, tamis_acl_handle entry, uint32_t bytes)
{
	uint32_t at = (uint32_t)entry - 1;
	struct acl_count *c = &w->counts[at / CHUNK][at % CHUNK];

	add(&c->packets, 1);
	add(&c->bytes, bytes);
}

struct tamis_count acl_count_of(const struct tamis_acls *a, uint64_t handle)
{
	uint32_t at = (uint32_t)handle - 1;
	const struct acl_count *gone = a->gone[at / CHUNK];
	struct tamis_count sum = {0};

	if (gone)
		sum = (struct tamis_count){gone[at % CHUNK].packets, gone[at % CHUNK].bytes};

	for (const struct tamis_acl_worker *w = a->workers; w; w = w->next) {
		const struct acl_count *c = &w->counts[at / CHUNK][at % CHUNK];

		sum.packets += __atomic_load_n(&c->packets, __ATOMIC_RELAXED);
		sum.bytes += __atomic_load_n(&c->bytes, __ATOMIC_RELAXED);
	}
	return sum;
}
