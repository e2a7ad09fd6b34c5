/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree: see interval_tree.h. */
#include "set/interval_tree.h"

enum { FANOUT = 48 };

struct interval_node {
	uint16_t n;
	bool leaf;
	uint64_t lo[FANOUT];  /* prefix of the entry's lo */
	uint64_t max[FANOUT]; /* prefix of the highest hi of the entry; 0 if there is nothing */
	union {
		struct set_elem *elem[FANOUT];	     /* leaf */
		struct interval_node *child[FANOUT]; /* inner */
	};
	/*
	 * Inner only: the element of each entry that reaches highest, NULL for nothing below; then
	 * lo and hi of each entry.
	 */
	struct set_elem *top[];
};

struct probe {
	const struct set *s;
	const uint8_t *lo, *hi;
	uint64_t lo_prefix, hi_prefix, now;
};

static struct probe probe_make(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			       uint64_t now)
{
	return (struct probe){s, lo, hi, key_prefix(s, lo), key_prefix(s, hi), now};
}

/* --- entries -------------------------------------------------------------------------------- */

static inline uint8_t *inner_key(const struct set *s, struct interval_node *n, unsigned i)
{
	return (uint8_t *)&n->top[FANOUT] + (size_t)i * 2 * s->key_len;
}

/* lo and, behind it, hi of an entry. */
static inline const uint8_t *entry_key(const struct set *s, struct interval_node *n, unsigned i)
{
	_Static_assert(sizeof(n->elem[0]) == sizeof(n->child[0]), "one array");
	return n->leaf ? n->elem[i]->bytes : inner_key(s, n, i);
}

static inline struct set_elem *entry_top(struct interval_node *n, unsigned i)
{
	return n->leaf ? n->elem[i] : n->top[i];
}

/* Order of entry i against a range. */
static int entry_cmp(const struct set *s, struct interval_node *n, unsigned i,
		     const struct probe *p)
{
	if (n->lo[i] != p->lo_prefix)
		return n->lo[i] < p->lo_prefix ? -1 : 1;
	if (n->leaf && s->key_len <= 8)
		return n->max[i] == p->hi_prefix ? 0 : n->max[i] > p->hi_prefix ? -1 : 1;
	const uint8_t *key = entry_key(s, n, i);
	int c = memcmp(key, p->lo, s->key_len);
	return c ? c : memcmp(p->hi, key + s->key_len, s->key_len);
}

/* True if entry i begins behind the probe's hi. */
static bool entry_behind(struct interval_node *n, unsigned i, const struct probe *p)
{
	if (n->lo[i] != p->hi_prefix || p->s->key_len <= 8)
		return n->lo[i] > p->hi_prefix;
	return memcmp(entry_key(p->s, n, i), p->hi, p->s->key_len) > 0;
}

/* True if something below entry i reaches up to the probe's lo. */
static inline bool entry_reaches(struct interval_node *n, unsigned i, const struct probe *p)
{
	if (n->max[i] != p->lo_prefix || p->s->key_len <= 8)
		return n->max[i] >= p->lo_prefix && entry_top(n, i);
	struct set_elem *top = entry_top(n, i);
	return top && memcmp(elem_hi(p->s, top), p->lo, p->s->key_len) >= 0;
}

/* A binary search that follows its own misses waits for each: ask for all of the keys at once. */
static inline void node_prefetch(const struct interval_node *n)
{
	for (size_t at = 0; at < offsetof(struct interval_node, max); at += 64)
		__builtin_prefetch((const char *)n + at);
}

/* Number of entries that are not above the range. */
static unsigned entries_upto(const struct set *s, struct interval_node *n, const struct probe *p)
{
	node_prefetch(n);
	unsigned from = 0, to = n->n;

	while (from < to) {
		unsigned mid = (from + to) / 2;
		if (entry_cmp(s, n, mid, p) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Number of entries that do not begin behind the probe's hi. */
static unsigned entries_begun(struct interval_node *n, const struct probe *p)
{
	node_prefetch(n);
	unsigned from = 0, to = n->n;

	while (from < to) {
		unsigned mid = (from + to) / 2;
		if (!entry_behind(n, mid, p))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

#define MOVE(array, to, from, count)                                                               \
	memmove(&(array)[to], &(array)[from], (count) * sizeof(*(array)))

static void entry_open(const struct set *s, struct interval_node *n, unsigned i)
{
	unsigned behind = n->n++ - i;

	MOVE(n->lo, i + 1, i, behind);
	MOVE(n->max, i + 1, i, behind);
	MOVE(n->elem, i + 1, i, behind);
	if (n->leaf)
		return;
	MOVE(n->top, i + 1, i, behind);
	memmove(inner_key(s, n, i + 1), inner_key(s, n, i), (size_t)behind * 2 * s->key_len);
}

static void entry_close(const struct set *s, struct interval_node *n, unsigned i)
{
	unsigned behind = --n->n - i;

	MOVE(n->lo, i, i + 1, behind);
	MOVE(n->max, i, i + 1, behind);
	MOVE(n->elem, i, i + 1, behind);
	if (n->leaf)
		return;
	MOVE(n->top, i, i + 1, behind);
	memmove(inner_key(s, n, i), inner_key(s, n, i + 1), (size_t)behind * 2 * s->key_len);
}

/* Moves the entries from i on to the empty node `to`. */
static void entries_move(const struct set *s, struct interval_node *n, unsigned i,
			 struct interval_node *to)
{
	unsigned count = n->n - i;

	memcpy(to->lo, &n->lo[i], count * sizeof(n->lo[0]));
	memcpy(to->max, &n->max[i], count * sizeof(n->max[0]));
	memcpy(to->elem, &n->elem[i], count * sizeof(n->elem[0]));
	if (!n->leaf) {
		memcpy(to->top, &n->top[i], count * sizeof(n->top[0]));
		memcpy(inner_key(s, to, 0), inner_key(s, n, i), (size_t)count * 2 * s->key_len);
	}
	to->n = (uint16_t)count;
	n->n = (uint16_t)i;
}

/* Which of two entries' tops reaches higher. */
static bool lower_top(const struct set *s, uint64_t max, struct set_elem *top, uint64_t max2,
		      struct set_elem *top2)
{
	if (!top || !top2)
		return !top;
	if (max != max2 || s->key_len <= 8)
		return max < max2;
	return memcmp(elem_hi(s, top), elem_hi(s, top2), s->key_len) < 0;
}

static void top_update(const struct set *s, struct interval_node *n, unsigned i)
{
	struct interval_node *c = n->child[i];

	n->top[i] = NULL;
	n->max[i] = 0;
	for (unsigned k = 0; k < c->n; k++)
		if (lower_top(s, n->max[i], n->top[i], c->max[k], entry_top(c, k))) {
			n->top[i] = entry_top(c, k);
			n->max[i] = c->max[k];
		}
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* Spare nodes are chained through their first child. */
static int spare_fill(struct set *s, struct interval_spares *spares, bool leaf, size_t want)
{
	size_t size = sizeof(struct interval_node);
	if (!leaf)
		size += FANOUT * (sizeof(struct set_elem *) + (size_t)2 * s->key_len);
	while (spares->n < want) {
		struct interval_node *n = malloc(size);
		if (!n)
			return -ENOMEM;
		n->leaf = leaf;
		n->child[0] = spares->first;
		spares->first = n;
		spares->n++;
	}
	return 0;
}

int interval_tree_reserve(struct set *s, size_t n)
{
	struct set_store *st = &s->store;
	int err = spare_fill(s, &st->spare_leaves, true, n);
	return err ? err : spare_fill(s, &st->spare_inners, false, st->height + n);
}

static struct interval_node *node_take(struct set *s, bool leaf)
{
	struct interval_spares *spares = leaf ? &s->store.spare_leaves : &s->store.spare_inners;
	struct interval_node *n = spares->first;

	spares->first = n->child[0];
	spares->n--;
	n->n = 0;
	return n;
}

static void spares_free(struct interval_spares *spares)
{
	while (spares->first) {
		struct interval_node *n = spares->first;
		spares->first = n->child[0];
		free(n);
	}
}

static void node_free(struct interval_node *n)
{
	if (!n->leaf)
		for (unsigned i = 0; i < n->n; i++)
			node_free(n->child[i]);
	free(n);
}

void interval_tree_free(struct set_store *st)
{
	if (st->tree)
		node_free(st->tree);
	spares_free(&st->spare_leaves);
	spares_free(&st->spare_inners);
}

/* --- changes -------------------------------------------------------------------------------- */

/* Opens place i of n for an entry, in n or its new right neighbour, which is then returned. */
static struct interval_node *entry_place(struct set *s, struct interval_node **n, unsigned *i)
{
	struct interval_node *left = *n, *right = NULL;

	if (left->n == FANOUT) {
		right = node_take(s, left->leaf);
		/* Ascending keys leave full nodes behind. */
		unsigned mid = *i == FANOUT ? FANOUT : FANOUT / 2;
		entries_move(s, left, mid, right);
		if (*i > mid || mid == FANOUT) {
			*n = right;
			*i -= mid;
		}
	}
	entry_open(s, *n, *i);
	return right;
}

static void child_put(const struct set *s, struct interval_node *n, unsigned i,
		      struct interval_node *child)
{
	n->child[i] = child;
	n->lo[i] = child->lo[0];
	memcpy(inner_key(s, n, i), entry_key(s, child, 0), 2 * s->key_len);
	top_update(s, n, i);
}

/* Returns the new right neighbour of n, if n had to be split. */
static struct interval_node *insert_below(struct set *s, struct interval_node *n,
					  struct set_elem *e, const struct probe *p)
{
	unsigned i = entries_upto(s, n, p);

	if (n->leaf) {
		struct interval_node *right = entry_place(s, &n, &i);
		n->lo[i] = p->lo_prefix;
		n->max[i] = p->hi_prefix;
		n->elem[i] = e;
		return right;
	}
	unsigned at = i ? i - 1 : 0;
	struct interval_node *new = insert_below(s, n->child[at], e, p);
	if (!new) {
		if (lower_top(s, n->max[at], n->top[at], p->hi_prefix, e)) {
			n->max[at] = p->hi_prefix;
			n->top[at] = e;
		}
		return NULL;
	}
	top_update(s, n, at);
	i = at + 1;
	struct interval_node *right = entry_place(s, &n, &i);
	child_put(s, n, i, new);
	return right;
}

void interval_tree_insert(struct set *s, struct set_elem *e)
{
	struct set_store *st = &s->store;
	struct probe p = probe_make(s, elem_lo(e), elem_hi(s, e), 0);

	if (!st->tree) {
		st->tree = node_take(s, true);
		st->height = 1;
	}
	struct interval_node *right = insert_below(s, st->tree, e, &p);
	if (!right)
		return;
	struct interval_node *root = node_take(s, false);
	root->n = 2;
	child_put(s, root, 0, st->tree);
	child_put(s, root, 1, right);
	st->tree = root;
	st->height++;
}

/* Drops the child of an entry if it is empty, else brings the entry up to date. */
static void child_settle(struct set *s, struct interval_node *n, unsigned i)
{
	if (n->child[i]->n || s->open) {
		top_update(s, n, i);
		return;
	}
	free(n->child[i]);
	entry_close(s, n, i);
}

static void remove_below(struct set *s, struct interval_node *n, struct set_elem *e,
			 const struct probe *p)
{
	unsigned i = entries_upto(s, n, p);

	if (n->leaf) {
		entry_close(s, n, i - 1);
		if (!n->n && s->open)
			s->store.unsettled = true;
		return;
	}
	unsigned at = i ? i - 1 : 0;
	remove_below(s, n->child[at], e, p);
	if (n->top[at] == e || !n->child[at]->n)
		child_settle(s, n, at);
}

static void root_settle(struct set *s)
{
	struct set_store *st = &s->store;

	while (st->tree && !s->open) {
		struct interval_node *root = st->tree;
		if (root->n > 1 || (root->leaf && root->n))
			return;
		st->tree = root->n ? root->child[0] : NULL;
		st->height--;
		free(root);
	}
}

void interval_tree_remove(struct set *s, struct set_elem *e)
{
	struct probe p = probe_make(s, elem_lo(e), elem_hi(s, e), 0);

	remove_below(s, s->store.tree, e, &p);
	root_settle(s);
}

static void settle_below(struct set *s, struct interval_node *n)
{
	if (n->leaf)
		return;
	for (unsigned i = n->n; i--;) {
		settle_below(s, n->child[i]);
		if (!n->child[i]->n)
			child_settle(s, n, i);
	}
}

void interval_tree_settle(struct set *s)
{
	if (!s->store.unsettled)
		return;
	s->store.unsettled = false;
	if (s->store.tree)
		settle_below(s, s->store.tree);
	root_settle(s);
}

/* --- reading -------------------------------------------------------------------------------- */

struct set_elem *interval_tree_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	struct probe p = probe_make(s, lo, hi, 0);
	struct interval_node *n = s->store.tree;

	if (!n)
		return NULL;
	unsigned i = entries_upto(s, n, &p);
	while (!n->leaf) {
		n = n->child[i ? i - 1 : 0];
		i = entries_upto(s, n, &p);
	}
	return i && !entry_cmp(s, n, i - 1, &p) ? n->elem[i - 1] : NULL;
}

static void each_below(struct interval_node *n, void (*fn)(void *ctx, struct set_elem *e),
		       void *ctx)
{
	for (unsigned i = 0; i < n->n; i++)
		if (n->leaf)
			fn(ctx, n->elem[i]);
		else
			each_below(n->child[i], fn, ctx);
}

void interval_tree_each(const struct set_store *st, void (*fn)(void *ctx, struct set_elem *e),
			void *ctx)
{
	if (st->tree)
		each_below(st->tree, fn, ctx);
}

static struct set_elem *last_holding(struct interval_node *n, const struct probe *p)
{
	unsigned i = entries_begun(n, p);

	if (n->leaf) {
		while (i--)
			if (entry_reaches(n, i, p) && elem_live(n->elem[i], p->now))
				return n->elem[i];
		return NULL;
	}
	for (i = i ? i : 1; i--;) {
		struct set_elem *e = entry_reaches(n, i, p) ? last_holding(n->child[i], p) : NULL;
		if (e)
			return e;
	}
	return NULL;
}

struct set_elem *interval_tree_last_holding(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct probe p = probe_make(s, key, key, now);
	return s->store.tree && s->store.tree->n ? last_holding(s->store.tree, &p) : NULL;
}

static int overlapping(struct interval_node *n, const struct probe *p,
		       int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	unsigned end = entries_begun(n, p);
	int stop = 0;

	if (!n->leaf && !end && n->n)
		end = 1;
	for (unsigned i = 0; i < end && !stop; i++) {
		if (!entry_reaches(n, i, p))
			continue;
		if (!n->leaf)
			stop = overlapping(n->child[i], p, fn, ctx);
		else if (elem_live(n->elem[i], p->now))
			stop = fn(ctx, n->elem[i]);
	}
	return stop;
}

int interval_tree_overlapping(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			      uint64_t now, int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	struct probe p = probe_make(s, lo, hi, now);
	return s->store.tree ? overlapping(s->store.tree, &p, fn, ctx) : 0;
}
