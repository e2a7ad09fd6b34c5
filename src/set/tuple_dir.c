/* SPDX-License-Identifier: Apache-2.0 */
/* tuple_dir: see tuple_dir.h. */
#include "set/tuple_dir.h"

enum { PAGE_BITS = 7, DEPTH_MAX = 32 };

_Static_assert(DEPTH_MAX <= 64 - 16, "depth and tag are different bits, and fit beside a pointer");

/* --- memory --------------------------------------------------------------------------------- */

static size_t page_size(unsigned bits)
{
	return (sizeof(struct tuple_page) + (sizeof(struct tuple_entry) << bits) + 63) &
	       ~(size_t)63;
}

static size_t top_size(unsigned bits)
{
	return sizeof(struct tuple_top) + (sizeof(uintptr_t) << bits);
}

static struct tuple_segment *segment_new(const struct box_version *v, unsigned depth)
{
	struct tuple_segment *g = aligned_alloc(64, sizeof(*g));

	if (!g)
		return NULL;
	g->stamp = v->stamp;
	g->depth = (uint8_t)depth;
	g->n = 0;
	memset(g->tag, 0, sizeof(g->tag));
	memset(g->root, 0, sizeof(g->root));
	return g;
}

static struct tuple_page *page_new(const struct box_version *v, unsigned depth, unsigned bits)
{
	struct tuple_page *p = aligned_alloc(64, page_size(bits));

	if (!p)
		return NULL;
	p->stamp = v->stamp;
	p->depth = depth;
	return p;
}

static struct tuple_top *top_new(const struct box_version *v, unsigned bits)
{
	struct tuple_top *t = malloc(top_size(bits));

	if (t)
		t->stamp = v->stamp;
	return t;
}

static void gone(struct box_version *v, struct rcu_head *head, uint64_t stamp, size_t bytes)
{
	if (stamp == v->stamp)
		free(head); /* what all of them begin with */
	else
		box_version_retire(v, head, bytes);
}

_Static_assert(!offsetof(struct tuple_segment, rcu) && !offsetof(struct tuple_page, rcu) &&
		       !offsetof(struct tuple_top, rcu),
	       "an object is freed by its head");

int tuple_dir_make(struct tuple_dir *d, const struct box_version *v)
{
	struct tuple_top *t = top_new(v, 0);
	struct tuple_page *p = page_new(v, 0, 0);
	struct tuple_segment *g = segment_new(v, 0);

	if (!t || !p || !g) {
		free(t);
		free(p);
		free(g);
		return -ENOMEM;
	}
	p->at[0] = (struct tuple_entry){.segment = g};
	t->at[0] = (uintptr_t)p;
	*d = (struct tuple_dir){.top = t};
	return 0;
}

/* --- places --------------------------------------------------------------------------------- */

static struct tuple_page *page_in(const struct tuple_top *t, size_t i)
{
	return (struct tuple_page *)(t->at[i] & ~(uintptr_t)63);
}

static struct tuple_page *page_at(const struct tuple_dir *d, uint64_t hash)
{
	return page_in(d->top, hash >> 1 >> (63 - d->top_bits));
}

static struct tuple_segment *segment_at(const struct tuple_dir *d, uint64_t hash)
{
	return tuple_dir_entry(d, hash)->segment;
}

/* Puts p where the pages of its hash stand. */
static void page_place(struct tuple_dir *d, uint64_t hash, struct tuple_page *p)
{
	unsigned same = d->top_bits - p->depth;
	size_t first = hash >> 1 >> (63 - d->top_bits) >> same << same;

	for (size_t i = 0; i < (size_t)1 << same; i++)
		d->top->at[first + i] = (uintptr_t)p | p->depth;
}

/* The same of a segment, in its page. */
static void entry_place(struct tuple_dir *d, uint64_t hash, struct tuple_entry e)
{
	struct tuple_page *p = page_at(d, hash);
	unsigned same = p->depth + d->page_bits - e.segment->depth;
	size_t first = hash << p->depth >> 1 >> (63 - d->page_bits) >> same << same;

	for (size_t i = 0; i < (size_t)1 << same; i++)
		p->at[first + i] = e;
}

static void filter_add(struct tuple_entry *e, uint16_t tag)
{
	for (unsigned f = 0; f < TUPLE_FILTERS; f++)
		e->filter[f] |= 1ULL << (tag >> 5 * f & 63);
}

static struct tuple_entry entry_of(struct tuple_segment *g)
{
	struct tuple_entry e = {.segment = g};

	for (unsigned i = 0; i < g->n; i++)
		filter_add(&e, g->tag[i]);
	return e;
}

/* --- versions ------------------------------------------------------------------------------- */

/* The top of this version, with `more` bits more. */
static int top_own(struct tuple_dir *d, struct box_version *v, unsigned more)
{
	struct tuple_top *old = d->top;

	if (old->stamp == v->stamp && !more)
		return 0;
	struct tuple_top *t = top_new(v, d->top_bits + more);
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)1 << (d->top_bits + more); i++)
		t->at[i] = old->at[i >> more];
	gone(v, &old->rcu, old->stamp, top_size(d->top_bits));
	d->top = t;
	d->top_bits = (uint8_t)(d->top_bits + more);
	return 0;
}

static int page_own(struct tuple_dir *d, struct box_version *v, uint64_t hash)
{
	struct tuple_page *old = page_at(d, hash);

	if (old->stamp == v->stamp)
		return 0;
	struct tuple_page *p = page_new(v, old->depth, d->page_bits);
	if (!p)
		return -ENOMEM;
	memcpy(p->at, old->at, sizeof(*p->at) << d->page_bits);
	page_place(d, hash, p);
	gone(v, &old->rcu, old->stamp, page_size(d->page_bits));
	return 0;
}

static int segment_own(struct tuple_dir *d, struct box_version *v, uint64_t hash)
{
	struct tuple_entry e = *tuple_dir_entry(d, hash);
	struct tuple_segment *old = e.segment;

	if (old->stamp == v->stamp)
		return 0;
	struct tuple_segment *g = segment_new(v, old->depth);
	if (!g)
		return -ENOMEM;
	g->n = old->n;
	memcpy(g->tag, old->tag, sizeof(g->tag));
	memcpy(g->root, old->root, sizeof(g->root));
	e.segment = g;
	entry_place(d, hash, e);
	gone(v, &old->rcu, old->stamp, sizeof(*old));
	return 0;
}

/* --- splits, of what is of this version ----------------------------------------------------- */

/* The only page, with twice the entries. */
static int page_grow(struct tuple_dir *d, struct box_version *v)
{
	struct tuple_page *old = page_in(d->top, 0), *p = page_new(v, 0, d->page_bits + 1U);

	if (!p)
		return -ENOMEM;
	d->page_bits++;
	for (size_t i = 0; i < (size_t)1 << d->page_bits; i++)
		p->at[i] = old->at[i / 2];
	d->top->at[0] = (uintptr_t)p;
	gone(v, &old->rcu, old->stamp, page_size(d->page_bits - 1U));
	return 0;
}

/* Both halves have each entry of theirs twice. */
static int page_split(struct tuple_dir *d, struct box_version *v, uint64_t hash)
{
	struct tuple_page *old = page_at(d, hash), *half[2];
	size_t n = (size_t)1 << d->page_bits;
	int err = top_own(d, v, old->depth == d->top_bits);

	if (err)
		return err;
	half[0] = page_new(v, old->depth + 1, d->page_bits);
	half[1] = page_new(v, old->depth + 1, d->page_bits);
	if (!half[0] || !half[1]) {
		free(half[0]);
		free(half[1]);
		return -ENOMEM;
	}
	for (size_t i = 0; i < 2 * n; i++)
		half[i / n]->at[i % n] = old->at[i / 2];
	uint64_t bit = 1ULL << (63 - old->depth);
	page_place(d, hash & ~bit, half[0]);
	page_place(d, hash | bit, half[1]);
	gone(v, &old->rcu, old->stamp, page_size(d->page_bits));
	return 0;
}

static int segment_split(struct tuple_dir *d, struct box_version *v, uint64_t hash)
{
	struct tuple_segment *old = segment_at(d, hash), *half[2];
	int err = 0;

	if (old->depth == DEPTH_MAX)
		return -ENOMEM;
	if (old->depth == page_at(d, hash)->depth + d->page_bits)
		err = d->page_bits < PAGE_BITS ? page_grow(d, v) : page_split(d, v, hash);
	if (err)
		return err;
	half[0] = segment_new(v, old->depth + 1U);
	half[1] = segment_new(v, old->depth + 1U);
	if (!half[0] || !half[1]) {
		free(half[0]);
		free(half[1]);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < old->n; i++) {
		struct tuple_segment *g = half[old->root[i]->hash >> (63 - old->depth) & 1];
		g->tag[g->n] = old->tag[i];
		g->root[g->n++] = old->root[i];
	}
	uint64_t bit = 1ULL << (63 - old->depth);
	entry_place(d, hash & ~bit, entry_of(half[0]));
	entry_place(d, hash | bit, entry_of(half[1]));
	gone(v, &old->rcu, old->stamp, sizeof(*old));
	return 0;
}

int tuple_dir_reserve(struct tuple_dir *d, struct box_version *v, uint64_t hash, bool room)
{
	int err = top_own(d, v, 0);

	if (!err)
		err = page_own(d, v, hash);
	if (!err)
		err = segment_own(d, v, hash);
	while (!err && room && segment_at(d, hash)->n == TUPLE_SEGMENT)
		err = segment_split(d, v, hash);
	return err;
}

/* --- groups --------------------------------------------------------------------------------- */

int tuple_dir_place(const struct tuple_dir *d, uint64_t hash)
{
	const struct tuple_entry *e = tuple_dir_entry(d, hash);

	if (!tuple_entry_may(e, hash))
		return -1;
	for (unsigned i = 0; i < e->segment->n; i++)
		if (e->segment->tag[i] == (uint16_t)hash && e->segment->root[i]->hash == hash)
			return (int)i;
	return -1;
}

struct box_node *tuple_dir_find(const struct tuple_dir *d, uint64_t hash)
{
	int i = tuple_dir_place(d, hash);

	return i < 0 ? NULL : segment_at(d, hash)->root[i];
}

void tuple_dir_put(struct tuple_dir *d, uint64_t hash, int i, struct box_node *root)
{
	struct tuple_entry e = *tuple_dir_entry(d, hash);
	struct tuple_segment *g = e.segment;

	if (!root) {
		g->n--;
		g->tag[i] = g->tag[g->n];
		g->root[i] = g->root[g->n];
		g->tag[g->n] = 0;
		g->root[g->n] = NULL;
		entry_place(d, hash, entry_of(g));
		return;
	}
	root->hash = hash;
	if (i >= 0) {
		g->root[i] = root;
		return;
	}
	g->tag[g->n] = (uint16_t)hash;
	g->root[g->n++] = root;
	filter_add(&e, (uint16_t)hash);
	entry_place(d, hash, e);
}

/* --- all ------------------------------------------------------------------------------------ */

/* Of what is passed over, or freed: that of any version, or of this one. */
static bool is_of(const struct box_version *only, uint64_t stamp)
{
	return !only || stamp == only->stamp;
}

static void page_visit(const struct tuple_dir *d, struct tuple_page *p,
		       const struct box_version *only, bool drop,
		       void (*fn)(void *ctx, struct box_node *root), void *ctx)
{
	for (size_t i = 0; i < (size_t)1 << d->page_bits;) {
		struct tuple_segment *g = p->at[i].segment;
		i += (size_t)1 << (p->depth + d->page_bits - g->depth);
		if (!is_of(only, g->stamp))
			continue;
		for (unsigned k = 0; k < g->n; k++)
			fn(ctx, g->root[k]);
		if (drop)
			free(g);
	}
	if (drop)
		free(p);
}

static void visit(const struct tuple_dir *d, const struct box_version *only, bool drop,
		  void (*fn)(void *ctx, struct box_node *root), void *ctx)
{
	for (size_t i = 0; i < (size_t)1 << d->top_bits;) {
		struct tuple_page *p = page_in(d->top, i);
		i += (size_t)1 << (d->top_bits - p->depth);
		if (is_of(only, p->stamp))
			page_visit(d, p, only, drop, fn, ctx);
	}
}

void tuple_dir_each(const struct tuple_dir *d, void (*fn)(void *ctx, struct box_node *root),
		    void *ctx)
{
	visit(d, NULL, false, fn, ctx);
}

void tuple_dir_free(struct tuple_dir *d, const struct box_version *only,
		    void (*fn)(void *ctx, struct box_node *root), void *ctx)
{
	if (!is_of(only, d->top->stamp))
		return;
	visit(d, only, true, fn, ctx);
	free(d->top);
}
