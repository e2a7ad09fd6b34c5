/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: ordered lists of ACLs; see acl_int.h.
 *
 * Whether a context fuses an ACL depends on its size, on how many links with tables of their own
 * the context has already (each of them is a table more that a lookup may have to ask), and on how
 * many contexts fuse it (each of them is a table more that a change has to touch).
 *
 * Cost: an ACL more or less, or moved: O(log n) for each entry of a fused one, O(log n) for one
 * with a table. Finding an ACL in a context: the lesser of its contexts and the context's ACLs.
 */
#include <stdlib.h>

#include "acl/acl_int.h"
#include "acl/acl_lookup.h"

enum {
	LIMIT_MIN = 64, /* entries up to which an ACL is fused */
	LIMIT_SHIFT_MAX = 14,
	OWN_STEP = 8,	      /* links with tables of their own that raise the limit fourfold */
	FUSED_LINKS_MAX = 32, /* contexts that one ACL is fused in */
	SHRUNK = 4,	      /* an ACL of a quarter of the limit is fused again */
	GROWN = 2,	      /* one of twice the limit is not fused any more */
};

static struct acl_link *link_in_ctx(struct list *l)
{
	return container_of(l, struct acl_link, in_ctx);
}

static struct acl_link *link_in_acl(struct list *l)
{
	return container_of(l, struct acl_link, in_acl);
}

/* --- what readers see ----------------------------------------------------------------------- */

static void version_set(uint64_t *at, uint64_t version)
{
	__atomic_store_n(at, version, __ATOMIC_RELAXED);
}

/* Into the list of links that have tables, which is in the order of the context. */
static void own_insert(struct acl_link *link)
{
	struct tamis_acl_context *ctx = link->ctx;
	struct acl_link **after = &ctx->own;

	for (struct acl_link *o = ctx->own; o; o = o->next_own) {
		/* Markers of links that are gone may be gone too. */
		if (o->to != UINT64_MAX)
			continue;
		if (!classifier_before(ctx->table.cls, o->start, link->start))
			break;
		after = &o->next_own;
	}
	link->next_own = *after;
	__atomic_store_n(after, link, __ATOMIC_RELEASE);
}

static void context_destroy(struct tamis_acl_context *ctx)
{
	acl_table_release(&ctx->table);
	for (struct list *l = ctx->links.next, *next; l != &ctx->links; l = next) {
		next = l->next;
		pool_give(&ctx->acls->links, link_in_ctx(l));
	}
	free(ctx);
}

static void context_put(struct tamis_acl_context *ctx)
{
	if (--ctx->refs == 0)
		context_destroy(ctx);
}

static void link_free(struct rcu_head *head)
{
	struct acl_link *link = container_of(head, struct acl_link, head);
	struct tamis_acls *a = link->ctx->acls;

	context_put(link->ctx);
	pool_give(&a->links, link);
}

/* Nobody looks at a version any more in which the link is there. */
static void link_quiet(struct rcu_head *head)
{
	struct acl_link *link = container_of(head, struct acl_link, head);
	struct acl_link **at = &link->ctx->own;

	while (*at && *at != link)
		at = &(*at)->next_own;
	if (*at)
		__atomic_store_n(at, link->next_own, __ATOMIC_RELEASE);
	rcu_defer(link->ctx->acls->rcu, &link->head, link_free, sizeof(*link));
}

void acl_link_commit_del(struct acl_link *link)
{
	for (struct acl_place *p = link->removed, *next; p; p = next) {
		next = p->next;
		acl_place_free(link->ctx->acls, p);
	}
	link->ctx->refs++;
	rcu_defer(link->ctx->acls->rcu, &link->head, link_quiet, sizeof(*link));
}

/* --- links ---------------------------------------------------------------------------------- */

struct cls_entry *acl_link_end(const struct acl_link *link)
{
	const struct list *l = link->in_ctx.next;

	return l == &link->ctx->links ? NULL : container_of(l, struct acl_link, in_ctx)->start;
}

static uint32_t context_limit(const struct tamis_acl_context *ctx)
{
	return (uint32_t)LIMIT_MIN << MIN(2 * (ctx->n_own / OWN_STEP), (size_t)LIMIT_SHIFT_MAX);
}

static void link_count(struct acl_link *link, int by)
{
	struct tamis_acl_context *ctx = link->ctx;

	ctx->n_links += (size_t)by;
	if (ctx->filled && ctx->n_links == (by > 0))
		ctx->filled(ctx->filled_arg, by > 0);
	link->acl->n_links += (uint32_t)by;
	if (link->fused)
		link->acl->n_fused += (uint32_t)by;
	else
		ctx->n_own += (size_t)by;
}

/* An ACL into a context, before another link's place or at the end. */
static int link_add(struct tamis_acl_context *ctx, struct acl *acl, struct list *before, bool fused)
{
	struct tamis_acls *a = ctx->acls;
	struct acl_link *link = pool_take(&a->links);
	struct cls_entry *next;
	int err = -ENOMEM;

	if (!link)
		return err;
	*link = (struct acl_link){.acl = acl,
				  .ctx = ctx,
				  .fused = fused,
				  .limit = context_limit(ctx),
				  .from = a->version + 1,
				  .to = UINT64_MAX};
	err = acl_undo_push(a, UNDO_LINK_ADD, link, NULL);
	if (err) {
		pool_give(&a->links, link);
		return err;
	}
	list_insert(&link->in_ctx, before);
	list_insert(&link->in_acl, &acl->links);
	link_count(link, 1);
	next = acl_link_end(link);
	err = acl_table_touch(a, &ctx->table);
	if (!err)
		err = classifier_insert(ctx->table.cls, next, NULL, NULL, &link->start);
	if (!err && !fused) {
		own_insert(link);
		return 0;
	}
	for (struct list *l = acl->entries.next; !err && l != &acl->entries; l = l->next)
		err = acl_place_add(container_of(l, struct acl_entry, in_acl), link, next);
	return err;
}

void acl_link_undo_add(struct acl_link *link)
{
	struct acl *acl = link->acl;

	for (struct list *l = acl->entries.next; link->fused && l != &acl->entries; l = l->next)
		acl_place_free(acl->acls,
			       acl_place_take(container_of(l, struct acl_entry, in_acl), link));
	list_take(&link->in_ctx);
	list_take(&link->in_acl);
	link_count(link, -1);
	version_set(&link->from, UINT64_MAX);
	version_set(&link->to, 0);
	acl_link_commit_del(link);
}

static int link_delete(struct acl_link *link)
{
	struct tamis_acl_context *ctx = link->ctx;
	struct tamis_acls *a = ctx->acls;
	struct acl *acl = link->acl;
	int err = acl_table_touch(a, &ctx->table);

	if (!err)
		err = acl_undo_push(a, UNDO_LINK_DEL, link, NULL);
	if (err)
		return err;
	for (struct list *l = acl->entries.next; link->fused && l != &acl->entries; l = l->next) {
		struct acl_place *p =
			acl_place_take(container_of(l, struct acl_entry, in_acl), link);

		classifier_delete(ctx->table.cls, p->at);
		p->next = link->removed;
		link->removed = p;
	}
	classifier_delete(ctx->table.cls, link->start);
	version_set(&link->to, a->version + 1);
	list_take(&link->in_acl);
	list_take(&link->in_ctx);
	link_count(link, -1);
	return 0;
}

void acl_link_undo_del(struct acl_link *link)
{
	link_count(link, 1);
	list_restore(&link->in_ctx);
	list_restore(&link->in_acl);
	version_set(&link->to, UINT64_MAX);
	for (struct acl_place *p = link->removed, *next; p; p = next) {
		struct acl_entry *e = p->at->cookie;

		next = p->next;
		p->next = e->places;
		e->places = p;
	}
	link->removed = NULL;
}

int acl_links_fit(struct acl *acl, uint32_t n)
{
	int err = 0;

	if (acl->kind == ACL_MACIP || n > GROWN * LIMIT_MIN)
		err = acl_table_make(acl);
	for (struct list *l = acl->links.next, *next; !err && l != &acl->links; l = next) {
		struct acl_link *link = link_in_acl(l);
		bool fuse = link->fused
				    ? n <= GROWN * link->limit
				    : n <= link->limit / SHRUNK && acl->n_fused < FUSED_LINKS_MAX;

		next = l->next;
		if (fuse == link->fused)
			continue;
		if (!fuse)
			err = acl_table_make(acl);
		if (!err)
			err = link_add(link->ctx, acl, &link->in_ctx, fuse);
		if (!err)
			err = link_delete(link);
	}
	return err;
}

static int acl_link(struct tamis_acl_context *ctx, struct acl *acl, struct list *before)
{
	bool fuse = acl->n <= context_limit(ctx) && acl->n_fused < FUSED_LINKS_MAX;
	int err = fuse ? 0 : acl_table_make(acl);

	return err ? err : link_add(ctx, acl, before, fuse);
}

/* The ACL's place in the context, or NULL. */
static struct acl_link *link_find(const struct tamis_acl_context *ctx, uint32_t index)
{
	struct acl *acl = acl_find(ctx->acls, ACL_IP, index);
	struct list *x = acl ? acl->links.next : NULL, *y = ctx->links.next;

	if (!acl)
		return NULL;
	for (; x != &acl->links && y != &ctx->links; x = x->next, y = y->next) {
		if (link_in_acl(x)->ctx == ctx)
			return link_in_acl(x);
		if (link_in_ctx(y)->acl == acl)
			return link_in_ctx(y);
	}
	return NULL;
}

/* --- contexts ------------------------------------------------------------------------------- */

int tamis_acl_context_new(struct tamis_acls *a, struct tamis_acl_context **out)
{
	struct tamis_acl_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return -ENOMEM;
	ctx->acls = a;
	ctx->refs = 1;
	list_init(&ctx->links);
	int err = acl_table_init(a, &ctx->table, ACL_IP);
	if (err) {
		free(ctx);
		return err;
	}
	*out = ctx;
	return 0;
}

void acl_context_watch(struct tamis_acl_context *ctx, void (*fn)(void *arg, bool any), void *arg)
{
	ctx->filled = fn;
	ctx->filled_arg = arg;
}

static void context_quiet(struct rcu_head *head)
{
	context_put(container_of(head, struct tamis_acl_context, head));
}

void tamis_acl_context_free(struct tamis_acl_context *ctx)
{
	if (!ctx)
		return;
	tamis_acls_abort(ctx->acls);
	for (struct list *l = ctx->links.next; l != &ctx->links; l = l->next) {
		struct acl_link *link = link_in_ctx(l);
		struct acl *acl = link->acl;

		for (struct list *e = acl->entries.next; link->fused && e != &acl->entries;
		     e = e->next)
			acl_place_free(
				acl->acls,
				acl_place_take(container_of(e, struct acl_entry, in_acl), link));
		list_take(&link->in_acl);
		link_count(link, -1);
	}
	rcu_defer(ctx->acls->rcu, &ctx->head, context_quiet, sizeof(*ctx));
}

/* Where something goes that is to stand before an ACL; NULL if that is not there. */
static struct list *before_find(struct tamis_acl_context *ctx, uint32_t before)
{
	struct acl_link *link = before == TAMIS_ACL_END ? NULL : link_find(ctx, before);

	if (before == TAMIS_ACL_END)
		return &ctx->links;
	return link ? &link->in_ctx : NULL;
}

int tamis_acl_context_insert(struct tamis_acl_context *ctx, uint32_t index, uint32_t before)
{
	struct acl *acl = acl_find(ctx->acls, ACL_IP, index);
	struct list *at = before_find(ctx, before);
	int err;

	if (!acl || !at)
		return -ENOENT;
	if (link_find(ctx, index))
		return -EEXIST;
	err = acl_step_begin(ctx->acls);
	return err ? err : acl_step_end(ctx->acls, acl_link(ctx, acl, at));
}

int tamis_acl_context_remove(struct tamis_acl_context *ctx, uint32_t index)
{
	struct acl_link *link = link_find(ctx, index);
	int err;

	if (!link)
		return -ENOENT;
	err = acl_step_begin(ctx->acls);
	return err ? err : acl_step_end(ctx->acls, link_delete(link));
}

int tamis_acl_context_move(struct tamis_acl_context *ctx, uint32_t index, uint32_t before)
{
	struct acl_link *link = link_find(ctx, index);
	struct list *at = before_find(ctx, before);
	int err;

	if (!link || !at)
		return -ENOENT;
	if (at == &link->in_ctx || at == link->in_ctx.next)
		return 0;
	err = acl_step_begin(ctx->acls);
	if (err)
		return err;
	err = link_add(ctx, link->acl, at, link->fused);
	if (!err)
		err = link_delete(link);
	return acl_step_end(ctx->acls, err);
}

/* --- the list as a whole -------------------------------------------------------------------- */

struct wanted {
	struct acl *acl;
	struct acl_link *link; /* that is there already */
	uint32_t old;	       /* its position */
	uint32_t at;	       /* in the new list */
};

static int by_acl(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->acl->index > y->acl->index) - (x->acl->index < y->acl->index);
}

static int by_position(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* The new list with what is there of it; -ENOENT, -EEXIST. */
static int wanted_fill(const struct tamis_acl_context *ctx, const uint32_t *acls, size_t n,
		       struct wanted *w)
{
	uint32_t old = 0;

	for (size_t i = 0; i < n; i++) {
		w[i] = (struct wanted){acl_find(ctx->acls, ACL_IP, acls[i]), NULL, DIFF_NONE,
				       (uint32_t)i};
		if (!w[i].acl)
			return -ENOENT;
	}
	qsort(w, n, sizeof(*w), by_acl);
	for (size_t i = 1; i < n; i++)
		if (w[i].acl == w[i - 1].acl)
			return -EEXIST;
	for (struct list *l = ctx->links.next; l != &ctx->links; l = l->next, old++) {
		struct wanted key = {.acl = link_in_ctx(l)->acl};
		struct wanted *found = bsearch(&key, w, n, sizeof(*w), by_acl);

		if (found) {
			found->link = link_in_ctx(l);
			found->old = old;
		}
	}
	qsort(w, n, sizeof(*w), by_position);
	return 0;
}

/* keep[i]: the link of wanted i stays. */
static int context_change(struct tamis_acl_context *ctx, const struct wanted *w,
			  const uint32_t *keep, size_t n)
{
	struct list *at = ctx->links.next;
	int err = 0;

	for (size_t i = 0; !err && i <= n; i++) {
		struct list *stays = &ctx->links;

		if (i < n && keep[i] == DIFF_NONE)
			continue;
		if (i < n)
			stays = &w[i].link->in_ctx;
		while (!err && at != stays) {
			struct acl_link *link = link_in_ctx(at);

			at = at->next;
			err = link_delete(link);
		}
		at = stays->next;
	}
	at = &ctx->links;
	for (size_t i = n; !err && i-- > 0;) {
		if (keep[i] == DIFF_NONE)
			err = acl_link(ctx, w[i].acl, at);
		at = keep[i] == DIFF_NONE ? at->prev : &w[i].link->in_ctx;
	}
	return err;
}

int tamis_acl_context_set(struct tamis_acl_context *ctx, const uint32_t *acls, size_t n)
{
	struct wanted *w = calloc(MAX(n, (size_t)1), sizeof(*w));
	uint32_t *keep = calloc(MAX(n, (size_t)1), 3 * sizeof(*keep));
	int err = w && keep ? wanted_fill(ctx, acls, n, w) : acl_step_refuse(ctx->acls, -ENOMEM);

	if (!err)
		err = acl_step_begin(ctx->acls);
	if (!err) {
		for (size_t i = 0; i < n; i++)
			keep[i] = w[i].old;
		acl_diff_keep_longest(keep, n, keep + n);
		err = acl_step_end(ctx->acls, context_change(ctx, w, keep, n));
	}
	free(w);
	free(keep);
	return err;
}

size_t tamis_acl_context_list(const struct tamis_acl_context *ctx, uint32_t *acls, size_t n)
{
	size_t i = 0;

	for (struct list *l = ctx->links.next; l != &ctx->links && i < n; l = l->next)
		acls[i++] = link_in_ctx(l)->acl->index;
	return ctx->n_links;
}
