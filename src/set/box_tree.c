/* SPDX-License-Identifier: Apache-2.0 */
/* box_tree: see box_tree.h. */
#include "set/box_tree.h"

static int order(const struct set *s, struct set_elem *a, struct set_elem *b)
{
	int c = key_cmp(s, a->tree.lo, elem_lo(a), b->tree.lo, elem_lo(b));
	return c ? c : memcmp(elem_hi(s, b), elem_hi(s, a), s->key_len);
}

/* --- bounds --------------------------------------------------------------------------------- */

/* Makes n's bounds hold those of `with` too. */
static void bounds_extend(const struct set *s, struct set_elem *n, struct set_elem *with)
{
	uint8_t *max = node_max(s, n), *with_max = node_max(s, with);
	uint8_t *min = node_min(s, n), *with_min = node_min(s, with);

	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++]) {
		unsigned len = s->desc.field_len[f];
		if (memcmp(max + at, with_max + at, len) < 0)
			memcpy(max + at, with_max + at, len);
		if (memcmp(min + at, with_min + at, len) > 0)
			memcpy(min + at, with_min + at, len);
	}
}

static void bounds_own(const struct set *s, struct set_elem *n)
{
	memcpy(node_max(s, n), elem_hi(s, n), s->key_len);
	memcpy(node_min(s, n), elem_lo(n), s->key_len);
}

static void bounds_update(const struct set *s, struct set_elem *n)
{
	bounds_own(s, n);
	if (n->tree.left)
		bounds_extend(s, n, n->tree.left);
	if (n->tree.right)
		bounds_extend(s, n, n->tree.right);
}

/* --- balance -------------------------------------------------------------------------------- */

static inline uint8_t height(const struct set_elem *n)
{
	return n ? 1 + MAX(n->tree.left_height, n->tree.right_height) : 0;
}

static inline void set_left(struct set_elem *n, struct set_elem *child)
{
	n->tree.left = child;
	n->tree.left_height = height(child);
}

static inline void set_right(struct set_elem *n, struct set_elem *child)
{
	n->tree.right = child;
	n->tree.right_height = height(child);
}

static struct set_elem *rotate_right(const struct set *s, struct set_elem *n)
{
	struct set_elem *up = n->tree.left;
	set_left(n, up->tree.right);
	bounds_update(s, n);
	set_right(up, n);
	bounds_update(s, up);
	return up;
}

static struct set_elem *rotate_left(const struct set *s, struct set_elem *n)
{
	struct set_elem *up = n->tree.right;
	set_right(n, up->tree.left);
	bounds_update(s, n);
	set_left(up, n);
	bounds_update(s, up);
	return up;
}

static struct set_elem *balance(const struct set *s, struct set_elem *n)
{
	if (n->tree.left_height > n->tree.right_height + 1) {
		struct set_elem *l = n->tree.left;
		if (l->tree.right_height > l->tree.left_height)
			set_left(n, rotate_left(s, l));
		return rotate_right(s, n);
	}
	if (n->tree.right_height > n->tree.left_height + 1) {
		struct set_elem *r = n->tree.right;
		if (r->tree.left_height > r->tree.right_height)
			set_right(n, rotate_right(s, r));
		return rotate_left(s, n);
	}
	return n;
}

/* --- changes -------------------------------------------------------------------------------- */

static struct set_elem *insert_below(const struct set *s, struct set_elem *n, struct set_elem *e)
{
	if (!n)
		return e;
	bounds_extend(s, n, e);
	if (order(s, e, n) < 0)
		set_left(n, insert_below(s, n->tree.left, e));
	else
		set_right(n, insert_below(s, n->tree.right, e));
	return balance(s, n);
}

struct set_elem *box_tree_insert(const struct set *s, struct set_elem *root, struct set_elem *e)
{
	e->tree.left = e->tree.right = NULL;
	e->tree.left_height = e->tree.right_height = 0;
	e->tree.lo = key_prefix(s, elem_lo(e));
	bounds_own(s, e);
	return insert_below(s, root, e);
}

/* Takes the first element of a subtree out; returns what is left. */
static struct set_elem *take_first(const struct set *s, struct set_elem *n, struct set_elem **first)
{
	if (!n->tree.left) {
		*first = n;
		return n->tree.right;
	}
	set_left(n, take_first(s, n->tree.left, first));
	bounds_update(s, n);
	return balance(s, n);
}

static struct set_elem *remove_below(const struct set *s, struct set_elem *n, struct set_elem *e)
{
	if (n == e) {
		if (!n->tree.left)
			return n->tree.right;
		if (!n->tree.right)
			return n->tree.left;
		struct set_elem *next;
		struct set_elem *right = take_first(s, n->tree.right, &next);
		set_left(next, n->tree.left);
		set_right(next, right);
		n = next;
	} else if (order(s, e, n) < 0) {
		set_left(n, remove_below(s, n->tree.left, e));
	} else {
		set_right(n, remove_below(s, n->tree.right, e));
	}
	bounds_update(s, n);
	return balance(s, n);
}

struct set_elem *box_tree_remove(const struct set *s, struct set_elem *root, struct set_elem *e)
{
	return remove_below(s, root, e);
}

/* --- reading -------------------------------------------------------------------------------- */

struct set_elem *box_tree_find(const struct set *s, struct set_elem *root, const uint8_t *lo,
			       const uint8_t *hi)
{
	uint64_t prefix = key_prefix(s, lo);
	struct set_elem *n = root;

	while (n) {
		int c = key_cmp(s, prefix, lo, n->tree.lo, elem_lo(n));
		if (!c)
			c = memcmp(elem_hi(s, n), hi, s->key_len);
		if (!c)
			return n;
		n = c < 0 ? n->tree.left : n->tree.right;
	}
	return NULL;
}

static void each_below(struct set_elem *n, void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	while (n) {
		struct set_elem *right = n->tree.right;
		each_below(n->tree.left, fn, ctx);
		fn(ctx, n);
		n = right;
	}
}

void box_tree_each(struct set_elem *root, void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	each_below(root, fn, ctx);
}

struct probe {
	const struct set *s;
	const uint8_t *key;
	uint64_t prefix;
	uint64_t now;
	struct set_elem *best;
};

static void search(struct probe *p, struct set_elem *n)
{
	const struct set *s = p->s;

	while (n) {
		bool alone = !n->tree.left && !n->tree.right;
		if (!alone && !box_holds(s, node_min(s, n), node_max(s, n), p->key))
			return;
		if (key_cmp(s, n->tree.lo, elem_lo(n), p->prefix, p->key) <= 0) {
			if ((!p->best || n->seq < p->best->seq) && elem_live(n, p->now) &&
			    box_holds(s, elem_lo(n), elem_hi(s, n), p->key))
				p->best = n;
			search(p, n->tree.right);
		}
		n = n->tree.left;
	}
}

struct set_elem *box_tree_first(const struct set *s, struct set_elem *root, const uint8_t *key,
				uint64_t now, struct set_elem *best)
{
	struct probe p = {s, key, key_prefix(s, key), now, best};

	search(&p, root);
	return p.best;
}
