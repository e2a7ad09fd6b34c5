/* SPDX-License-Identifier: Apache-2.0 */
/* box_tree: see box_tree.h. */
#include "set/box_tree.h"

/* Splits leave eight entries at least, but nodes can shrink: 2^64 boxes are fewer levels. */
enum { HEIGHT_MAX = 24 };

/* --- nodes ---------------------------------------------------------------------------------- */

static inline size_t bounds_size(unsigned key_len, unsigned cap)
{
	return ((size_t)cap * 2 * key_len + 7) & ~(size_t)7;
}

static inline size_t node_size(unsigned key_len, unsigned cap)
{
	return sizeof(struct box_node) + bounds_size(key_len, cap) + cap * sizeof(void *);
}

static inline uint8_t *entry_lo(const struct set *s, const struct box_node *n, unsigned i)
{
	return (uint8_t *)n->bounds + (size_t)i * 2 * s->key_len;
}

static inline uint8_t *entry_hi(const struct set *s, const struct box_node *n, unsigned i)
{
	return entry_lo(s, n, i) + s->key_len;
}

static inline void **entry_ptr(unsigned key_len, const struct box_node *n, unsigned i)
{
	return (void **)(n->bounds + bounds_size(key_len, n->cap)) + i;
}

static inline struct box_node *child_of(unsigned key_len, const struct box_node *n, unsigned i)
{
	return *entry_ptr(key_len, n, i);
}

static inline struct set_elem *elem_of(unsigned key_len, const struct box_node *n, unsigned i)
{
	return *entry_ptr(key_len, n, i);
}

static struct box_node *node_alloc(const struct set *s, unsigned cap)
{
	struct box_node *n = malloc(node_size(s->key_len, cap));

	if (n)
		n->cap = (uint8_t)cap;
	return n;
}

static void node_begin(const struct box_pool *p, struct box_node *n, const struct box_node *like)
{
	n->stamp = p->version->stamp;
	n->n = 0;
	n->height = like ? like->height : 0;
	n->hash = like ? like->hash : 0;
}

static struct box_node *node_take(struct box_pool *p, const struct box_node *like)
{
	struct box_node *n = p->spare;

	p->spare = n->next;
	p->n_spare--;
	node_begin(p, n, like);
	return n;
}

static void node_gone(struct box_pool *p, struct box_node *n)
{
	if (n->stamp == p->version->stamp) {
		free(n);
		return;
	}
	box_version_retire(p->version, &n->rcu, node_size(p->s->key_len, n->cap));
}

static void entries_copy(const struct set *s, const struct box_node *from, unsigned at,
			 unsigned count, struct box_node *to, unsigned to_at)
{
	memcpy(entry_lo(s, to, to_at), entry_lo(s, from, at), (size_t)count * 2 * s->key_len);
	memcpy(entry_ptr(s->key_len, to, to_at), entry_ptr(s->key_len, from, at),
	       count * sizeof(void *));
	to->n = (uint8_t)(to_at + count);
}

/* The node at *at, in this version. */
static struct box_node *own(struct box_pool *p, void **at)
{
	struct box_node *old = *at;

	if (old->stamp == p->version->stamp)
		return old;
	struct box_node *n = node_take(p, old);
	entries_copy(p->s, old, 0, old->n, n, 0);
	node_gone(p, old);
	*at = n;
	return n;
}

static unsigned room_for(unsigned n)
{
	unsigned cap = 1;

	while (cap < n)
		cap *= 2;
	return cap;
}

static inline bool is_small(const struct box_node *root)
{
	return !root || (!root->height && root->n < BOX_FANOUT);
}

int box_pool_reserve(struct box_pool *p, const struct box_node *root, bool insert)
{
	bool owned = root && root->stamp == p->version->stamp;
	/* Each node on the way copied and split, and a root above. */
	size_t want = is_small(root) ? 0 : 2 * (size_t)root->height + 3;

	if (is_small(root) && !(owned && (!insert || root->n < root->cap))) {
		unsigned cap = room_for((root ? root->n : 0) + insert);
		if (p->spare_root && p->spare_root->cap != cap) {
			free(p->spare_root);
			p->spare_root = NULL;
		}
		if (!p->spare_root)
			p->spare_root = node_alloc(p->s, cap);
		if (!p->spare_root)
			return -ENOMEM;
	}
	while (p->n_spare < want) {
		struct box_node *n = node_alloc(p->s, BOX_FANOUT);
		if (!n)
			return -ENOMEM;
		n->next = p->spare;
		p->spare = n;
		p->n_spare++;
	}
	return 0;
}

void box_pool_free(struct box_pool *p)
{
	while (p->n_spare)
		free(node_take(p, NULL));
	free(p->spare_root);
	p->spare_root = NULL;
}

void box_tree_free(const struct box_node *root, unsigned key_len)
{
	for (unsigned i = 0; root && root->height && i < root->n; i++)
		box_tree_free(child_of(key_len, root, i), key_len);
	free((void *)root);
}

void box_tree_revert(struct box_pool *p, struct box_node *root)
{
	if (!root || root->stamp != p->version->stamp)
		return;
	for (unsigned i = 0; root->height && i < root->n; i++)
		box_tree_revert(p, child_of(p->s->key_len, root, i));
	free(root);
}

/* --- entries -------------------------------------------------------------------------------- */

static void entry_open(const struct set *s, struct box_node *n, unsigned i)
{
	unsigned behind = n->n++ - i;

	memmove(entry_lo(s, n, i + 1), entry_lo(s, n, i), (size_t)behind * 2 * s->key_len);
	memmove(entry_ptr(s->key_len, n, i + 1), entry_ptr(s->key_len, n, i),
		behind * sizeof(void *));
}

static void entry_close(const struct set *s, struct box_node *n, unsigned i)
{
	unsigned behind = --n->n - i;

	memmove(entry_lo(s, n, i), entry_lo(s, n, i + 1), (size_t)behind * 2 * s->key_len);
	memmove(entry_ptr(s->key_len, n, i), entry_ptr(s->key_len, n, i + 1),
		behind * sizeof(void *));
}

/* The bounds of a child as its entry. */
static void bounds_update(const struct set *s, struct box_node *n, unsigned i)
{
	const struct box_node *c = child_of(s->key_len, n, i);
	uint8_t *lo = entry_lo(s, n, i), *hi = entry_hi(s, n, i);

	memcpy(lo, entry_lo(s, c, 0), 2 * s->key_len);
	for (unsigned k = 1; k < c->n; k++)
		for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++]) {
			unsigned len = s->desc.field_len[f];
			if (memcmp(entry_lo(s, c, k) + at, lo + at, len) < 0)
				memcpy(lo + at, entry_lo(s, c, k) + at, len);
			if (memcmp(entry_hi(s, c, k) + at, hi + at, len) > 0)
				memcpy(hi + at, entry_hi(s, c, k) + at, len);
		}
}

/* Number of entries whose lo is not above this one. */
static unsigned entries_upto(const struct set *s, const struct box_node *n, const uint8_t *lo)
{
	unsigned i = 0;

	while (i < n->n && memcmp(entry_lo(s, n, i), lo, s->key_len) <= 0)
		i++;
	return i;
}

/* Opens place i of n, in n or its new right neighbour, which is then returned. */
static struct box_node *entry_place(struct box_pool *p, struct box_node **n, unsigned *i)
{
	struct box_node *left = *n, *right = NULL;

	if (left->n == BOX_FANOUT) {
		right = node_take(p, left);
		entries_copy(p->s, left, BOX_FANOUT / 2, BOX_FANOUT / 2, right, 0);
		left->n = BOX_FANOUT / 2;
		if (*i > left->n) {
			*i -= left->n;
			*n = right;
		}
	}
	entry_open(p->s, *n, *i);
	return right;
}

static void elem_put(const struct set *s, struct box_node *n, unsigned i, struct set_elem *e)
{
	*entry_ptr(s->key_len, n, i) = e;
	memcpy(entry_lo(s, n, i), elem_lo(e), 2 * s->key_len);
}

/* --- changes -------------------------------------------------------------------------------- */

/* Returns the new right neighbour of the node at *at, if that had to be split. */
static struct box_node *insert_below(struct box_pool *p, void **at, struct set_elem *e)
{
	const struct set *s = p->s;
	struct box_node *n = own(p, at);
	unsigned i = entries_upto(s, n, elem_lo(e));

	if (!n->height) {
		struct box_node *right = entry_place(p, &n, &i);
		elem_put(s, n, i, e);
		return right;
	}
	i = i ? i - 1 : 0;
	struct box_node *new = insert_below(p, entry_ptr(s->key_len, n, i), e);
	bounds_update(s, n, i);
	if (!new)
		return NULL;
	i++;
	struct box_node *right = entry_place(p, &n, &i);
	*entry_ptr(s->key_len, n, i) = new;
	bounds_update(s, n, i);
	return right;
}

/* A root of one node, with room for one more. */
static struct box_node *small_insert(struct box_pool *p, struct box_node *root, struct set_elem *e)
{
	struct box_node *n = root;

	if (!root || root->stamp != p->version->stamp || root->n == root->cap) {
		n = p->spare_root;
		p->spare_root = NULL;
		node_begin(p, n, root);
		if (root) {
			entries_copy(p->s, root, 0, root->n, n, 0);
			node_gone(p, root);
		}
	}
	unsigned i = entries_upto(p->s, n, elem_lo(e));
	entry_open(p->s, n, i);
	elem_put(p->s, n, i, e);
	return n;
}

struct box_node *box_tree_insert(struct box_pool *p, struct box_node *root, struct set_elem *e)
{
	if (is_small(root))
		return small_insert(p, root, e);
	struct box_node *right = insert_below(p, (void **)&root, e);
	if (!right)
		return root;
	struct box_node *up = node_take(p, root);
	up->height++;
	up->n = 2;
	*entry_ptr(p->s->key_len, up, 0) = root;
	*entry_ptr(p->s->key_len, up, 1) = right;
	bounds_update(p->s, up, 0);
	bounds_update(p->s, up, 1);
	return up;
}

static bool bounds_hold(const struct set *s, const struct box_node *n, unsigned i,
			const uint8_t *lo, const uint8_t *hi)
{
	return box_holds(s, entry_lo(s, n, i), entry_hi(s, n, i), lo) &&
	       box_holds(s, entry_lo(s, n, i), entry_hi(s, n, i), hi);
}

/* Where a box is: the entry in each node on the way, from n on. NULL: nowhere. */
static struct set_elem *path_find(const struct set *s, const struct box_node *n, const uint8_t *lo,
				  const uint8_t *hi, uint8_t *path)
{
	for (unsigned i = 0; i < n->n; i++) {
		struct set_elem *e = NULL;
		if (n->height && bounds_hold(s, n, i, lo, hi))
			e = path_find(s, child_of(s->key_len, n, i), lo, hi, path + 1);
		else if (!n->height && !memcmp(entry_lo(s, n, i), lo, s->key_len) &&
			 !memcmp(entry_hi(s, n, i), hi, s->key_len))
			e = elem_of(s->key_len, n, i);
		if (e) {
			*path = (uint8_t)i;
			return e;
		}
	}
	return NULL;
}

static void remove_below(struct box_pool *p, void **at, const uint8_t *path)
{
	const struct set *s = p->s;
	struct box_node *n = own(p, at);

	if (!n->height) {
		entry_close(s, n, *path);
		return;
	}
	void **child = entry_ptr(s->key_len, n, *path);
	remove_below(p, child, path + 1);
	struct box_node *c = *child;
	if (c->n) {
		bounds_update(s, n, *path);
		return;
	}
	node_gone(p, c);
	entry_close(s, n, *path);
}

static struct box_node *small_remove(struct box_pool *p, struct box_node *root, unsigned i)
{
	struct box_node *n = root;

	if (root->n == 1) {
		node_gone(p, root);
		return NULL;
	}
	if (root->stamp != p->version->stamp) {
		n = p->spare_root;
		p->spare_root = NULL;
		node_begin(p, n, root);
		entries_copy(p->s, root, 0, root->n, n, 0);
		node_gone(p, root);
	}
	entry_close(p->s, n, i);
	return n;
}

struct box_node *box_tree_remove(struct box_pool *p, struct box_node *root, struct set_elem *e)
{
	uint8_t path[HEIGHT_MAX];

	path_find(p->s, root, elem_lo(e), elem_hi(p->s, e), path);
	if (is_small(root))
		return small_remove(p, root, path[0]);
	remove_below(p, (void **)&root, path);
	while (root->height && root->n < 2) {
		struct box_node *old = root;
		uint64_t hash = old->hash;
		root = old->n ? own(p, entry_ptr(p->s->key_len, old, 0)) : NULL;
		node_gone(p, old);
		if (!root)
			break;
		root->hash = hash;
	}
	return root;
}

/* --- reading -------------------------------------------------------------------------------- */

struct set_elem *box_tree_find(const struct set *s, const struct box_node *root, const uint8_t *lo,
			       const uint8_t *hi)
{
	uint8_t path[HEIGHT_MAX];
	return root ? path_find(s, root, lo, hi, path) : NULL;
}

void box_tree_each(const struct box_node *root, unsigned key_len,
		   void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	for (unsigned i = 0; root && i < root->n; i++)
		if (root->height)
			box_tree_each(child_of(key_len, root, i), key_len, fn, ctx);
		else
			fn(ctx, elem_of(key_len, root, i));
}

/*
 * A key to be looked for: of up to 8 bytes, as a number, so that all fields are compared at once:
 * bit by bit but with the highest of each field apart, where no borrow may come from below it.
 */
struct sought {
	const uint8_t *key;
	uint64_t word, tops; /* 0: the key is longer */
	unsigned shift;
};

static inline struct sought sought_of(const struct set *s, const uint8_t *key)
{
	struct sought k = {.key = key};

	if (s->key_len > 8)
		return k;
	k.word = be_load(key, s->key_len);
	k.shift = 64 - 8 * s->key_len;
	for (unsigned f = 0; f < s->desc.n_fields; f++)
		k.tops =
			k.tops << 8 * s->desc.field_len[f] | 1ULL << (8 * s->desc.field_len[f] - 1);
	return k;
}

/* The highest bits of the fields in which a is not below b. */
static inline uint64_t not_below(uint64_t a, uint64_t b, uint64_t tops)
{
	uint64_t rest = (a | tops) - (b & ~tops);

	return ((a & ~b) | (~(a ^ b) & rest)) & tops;
}

static inline bool entry_holds(const struct set *s, const struct box_node *n, unsigned i,
			       const struct sought *k)
{
	const uint8_t *lo = entry_lo(s, n, i), *hi = entry_hi(s, n, i);

	if (!k->tops)
		return box_holds(s, lo, hi, k->key);
	/* What is read behind the last bounds are the node's pointers. */
	uint64_t above = not_below(k->word, be64_load(lo) >> k->shift, k->tops);
	return (above & not_below(be64_load(hi) >> k->shift, k->word, k->tops)) == k->tops;
}

static struct set_elem *first_below(const struct set *s, const struct box_node *n,
				    const struct sought *k, uint64_t now, struct set_elem *best)
{
	for (unsigned i = 0; i < n->n; i++) {
		if (!entry_holds(s, n, i, k))
			continue;
		if (n->height) {
			best = first_below(s, child_of(s->key_len, n, i), k, now, best);
			continue;
		}
		struct set_elem *e = elem_of(s->key_len, n, i);
		if ((!best || elem_seq(s, e) < elem_seq(s, best)) && elem_live(e, now))
			best = e;
	}
	return best;
}

struct set_elem *box_tree_first(const struct set *s, const struct box_node *root,
				const uint8_t *key, uint64_t now, struct set_elem *best)
{
	struct sought k = sought_of(s, key);

	return first_below(s, root, &k, now, best);
}

static struct set_elem *any_below(const struct set *s, const struct box_node *n,
				  const struct sought *k)
{
	for (unsigned i = 0; i < n->n; i++) {
		if (!entry_holds(s, n, i, k))
			continue;
		struct set_elem *e = elem_of(s->key_len, n, i);
		if (n->height)
			e = any_below(s, child_of(s->key_len, n, i), k);
		if (e)
			return e;
	}
	return NULL;
}

struct set_elem *box_tree_any(const struct set *s, const struct box_node *root, const uint8_t *key)
{
	struct sought k = sought_of(s, key);

	return any_below(s, root, &k);
}
