/* SPDX-License-Identifier: Apache-2.0 */
/* interval_tree: changes and single searches; see interval_tree.h. */
#include "set/interval_tree_internal.h"

struct probe {
	unsigned words;
	const struct interval_key *lo, *hi;
	uint64_t now;
};

/* --- entries -------------------------------------------------------------------------------- */

static inline size_t columns(unsigned words, bool leaf)
{
	return (leaf ? 2 : 3) * words + 1;
}

static inline size_t node_size(unsigned words, bool leaf)
{
	return sizeof(struct interval_node) + columns(words, leaf) * FANOUT * sizeof(uint64_t);
}

static inline const struct interval_node *child_of(const struct interval_node *n, unsigned words,
						   unsigned i)
{
	return node_ptr(n, words)[i];
}

static inline struct set_elem *elem_of(const struct interval_node *n, unsigned words, unsigned i)
{
	return node_ptr(n, words)[i];
}

/* Order of entry i against a range. */
static int entry_order(const struct interval_node *n, unsigned i, const struct probe *p)
{
	int c = entry_cmp(node_lo(n), i, p->lo, p->words);
	return c ? c : -entry_cmp(node_end(n, p->words), i, p->hi, p->words);
}

/* True if something below entry i reaches up to the probe's lo. */
static inline bool entry_reaches(const struct interval_node *n, unsigned i, const struct probe *p)
{
	return entry_cmp(node_max(n, p->words), i, p->lo, p->words) >= 0;
}

/* Number of entries that are not above the range. */
static unsigned entries_upto(const struct interval_node *n, const struct probe *p)
{
	unsigned from = 0, to = n->n;

	while (from < to) {
		unsigned mid = (from + to) / 2;
		if (entry_order(n, mid, p) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Number of entries that do not begin behind the key. */
static unsigned entries_begun(const struct interval_node *n, unsigned words,
			      const struct interval_key *key)
{
	unsigned from = 0, to = n->n;

	while (from < to) {
		unsigned mid = (from + to) / 2;
		if (entry_cmp(node_lo(n), mid, key, words) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void key_get(const uint64_t *col, unsigned i, unsigned words, struct interval_key *out)
{
	for (unsigned k = 0; k < words; k++)
		out->w[k] = col[k * FANOUT + i];
}

/* A column of a node that is being made. */
static void key_put(const uint64_t *col, unsigned i, unsigned words, const struct interval_key *key)
{
	for (unsigned k = 0; k < words; k++)
		((uint64_t *)col)[k * FANOUT + i] = key->w[k];
}

static void ptr_put(struct interval_node *n, unsigned words, unsigned i, void *ptr)
{
	((void **)node_ptr(n, words))[i] = ptr;
}

static void entry_open(struct interval_node *n, unsigned words, unsigned i)
{
	unsigned behind = n->n++ - i;

	for (size_t c = 0; c < columns(words, n->leaf); c++)
		memmove(&n->col[c * FANOUT + i + 1], &n->col[c * FANOUT + i],
			behind * sizeof(n->col[0]));
}

static void entry_close(struct interval_node *n, unsigned words, unsigned i)
{
	unsigned behind = --n->n - i;

	for (size_t c = 0; c < columns(words, n->leaf); c++)
		memmove(&n->col[c * FANOUT + i], &n->col[c * FANOUT + i + 1],
			behind * sizeof(n->col[0]));
	n->col[n->n] = UINT64_MAX;
}

/* Moves the entries from i on to the empty node `to`. */
static void entries_move(struct interval_node *n, unsigned words, unsigned i,
			 struct interval_node *to)
{
	unsigned count = n->n - i;

	for (size_t c = 0; c < columns(words, n->leaf); c++)
		memcpy(&to->col[c * FANOUT], &n->col[c * FANOUT + i], count * sizeof(n->col[0]));
	to->n = (uint16_t)count;
	while (n->n > i)
		n->col[--n->n] = UINT64_MAX;
}

static void max_update(struct interval_node *n, unsigned words, unsigned i)
{
	const struct interval_node *c = child_of(n, words, i);
	struct interval_key max;

	key_get(node_max(c, words), 0, words, &max);
	for (unsigned k = 1; k < c->n; k++)
		if (entry_cmp(node_max(c, words), k, &max, words) > 0)
			key_get(node_max(c, words), k, words, &max);
	key_put(node_max(n, words), i, words, &max);
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* Spare nodes, and those of the version before, are chained through their rcu.next. */
static inline struct interval_node *next_of(const struct interval_node *n)
{
	return n->rcu.next ? container_of(n->rcu.next, struct interval_node, rcu) : NULL;
}

static void chain(struct interval_node **list, struct interval_node *n)
{
	n->rcu.next = *list ? &(*list)->rcu : NULL;
	*list = n;
}

static struct interval_node *unchain(struct interval_node **list)
{
	struct interval_node *n = *list;
	*list = next_of(n);
	return n;
}

static int spare_fill(struct interval_tree *t, unsigned words, bool leaf, size_t want)
{
	size_t size = (node_size(words, leaf) + 63) & ~(size_t)63;

	while (t->n_spare[leaf] < want) {
		struct interval_node *n = aligned_alloc(64, size);
		if (!n)
			return -ENOMEM;
		n->leaf = leaf;
		chain(&t->spare[leaf], n);
		t->n_spare[leaf]++;
	}
	return 0;
}

int interval_tree_reserve(struct interval_tree *t, unsigned words, size_t n)
{
	/* Each may copy every node on its way, split it, and put a new root above. */
	int err = spare_fill(t, words, true, 2 * n);
	return err ? err : spare_fill(t, words, false, (2 * t->height + 2) * n);
}

static struct interval_node *node_take(struct interval_tree *t, bool leaf)
{
	struct interval_node *n = unchain(&t->spare[leaf]);

	t->n_spare[leaf]--;
	n->stamp = t->stamp;
	n->n = 0;
	n->level = 0;
	return n;
}

static struct interval_node *node_new(struct interval_tree *t, bool leaf)
{
	struct interval_node *n = node_take(t, leaf);

	for (unsigned i = 0; i < FANOUT; i++)
		n->col[i] = UINT64_MAX;
	return n;
}

/* A node of the version before. */
static void retire(struct interval_tree *t, unsigned words, struct interval_node *n)
{
	n->rcu.bytes = node_size(words, n->leaf);
	chain(&t->retired, n);
}

/* The node at *at, in this version. */
static struct interval_node *own(struct interval_tree *t, unsigned words, void **at)
{
	struct interval_node *old = *at;

	if (old->stamp == t->stamp)
		return old;
	struct interval_node *n = node_take(t, old->leaf);
	n->n = old->n;
	n->level = old->level;
	memcpy(n->col, old->col, node_size(words, old->leaf) - sizeof(*n));
	retire(t, words, old);
	*at = n;
	return n;
}

/* Nodes of this version below n. */
static void version_free(struct interval_node *n, unsigned words, uint64_t stamp)
{
	if (!n || n->stamp != stamp)
		return;
	if (!n->leaf)
		for (unsigned i = 0; i < n->n; i++)
			version_free((struct interval_node *)child_of(n, words, i), words, stamp);
	free(n);
}

static void node_free(struct interval_node *n, unsigned words)
{
	if (!n->leaf)
		for (unsigned i = 0; i < n->n; i++)
			node_free((struct interval_node *)child_of(n, words, i), words);
	free(n);
}

static void chain_free(struct interval_node **list)
{
	while (*list)
		free(unchain(list));
}

static void retired_free(struct rcu_head *head)
{
	free(container_of(head, struct interval_node, rcu));
}

void interval_tree_use(struct interval_tree *t, struct interval_node *root)
{
	t->root = root;
	t->height = root ? root->level + 1U : 0;
}

void interval_tree_begin(struct interval_tree *t)
{
	t->stamp++;
	t->base.root = t->root;
	t->base.height = t->height;
}

void interval_tree_commit(struct interval_tree *t, struct rcu *rcu)
{
	while (t->retired) {
		struct interval_node *n = unchain(&t->retired);
		rcu_defer(rcu, &n->rcu, retired_free, n->rcu.bytes);
	}
}

void interval_tree_revert(struct interval_tree *t, unsigned words)
{
	version_free(t->root, words, t->stamp);
	t->root = t->base.root;
	t->height = t->base.height;
	t->retired = NULL; /* they are all in it */
}

void interval_tree_free(struct interval_tree *t, unsigned words)
{
	if (t->root)
		node_free(t->root, words);
	chain_free(&t->retired);
	chain_free(&t->spare[0]);
	chain_free(&t->spare[1]);
}

/* --- changes -------------------------------------------------------------------------------- */

struct change {
	struct interval_tree *t;
	const struct interval_entry *in;
	struct probe p;
};

static struct change change_make(struct interval_tree *t, unsigned words,
				 const struct interval_entry *in)
{
	return (struct change){t, in, {words, &in->lo, &in->hi, 0}};
}

/* Opens place i of n for an entry, in n or its new right neighbour, which is then returned. */
static struct interval_node *entry_place(struct change *c, struct interval_node **n, unsigned *i)
{
	struct interval_node *left = *n, *right = NULL;

	if (left->n == FANOUT) {
		right = node_new(c->t, left->leaf);
		right->level = left->level;
		/* Ascending keys leave full nodes behind. */
		unsigned mid = *i == FANOUT ? FANOUT : FANOUT / 2;
		entries_move(left, c->p.words, mid, right);
		if (*i > mid || mid == FANOUT) {
			*n = right;
			*i -= mid;
		}
	}
	entry_open(*n, c->p.words, *i);
	return right;
}

static void child_put(struct interval_node *n, unsigned words, unsigned i,
		      struct interval_node *child)
{
	struct interval_key key;

	ptr_put(n, words, i, child);
	key_get(node_lo(child), 0, words, &key);
	key_put(node_lo(n), i, words, &key);
	key_get(node_end(child, words), 0, words, &key);
	key_put(node_end(n, words), i, words, &key);
	max_update(n, words, i);
}

/* Returns the new right neighbour of the node at *at, if that had to be split. */
static struct interval_node *insert_below(struct change *c, void **at)
{
	unsigned words = c->p.words;
	struct interval_node *n = own(c->t, words, at);
	unsigned i = entries_upto(n, &c->p);

	if (n->leaf) {
		struct interval_node *right = entry_place(c, &n, &i);
		key_put(node_lo(n), i, words, c->p.lo);
		key_put(node_max(n, words), i, words, c->p.hi);
		ptr_put(n, words, i, c->in->e);
		return right;
	}
	unsigned below = i ? i - 1 : 0;
	if (!i) { /* lookups count entries: they are in order, the first too */
		key_put(node_lo(n), 0, words, c->p.lo);
		key_put(node_end(n, words), 0, words, c->p.hi);
	}
	struct interval_node *new = insert_below(c, (void **)&node_ptr(n, words)[below]);
	if (!new) {
		if (entry_cmp(node_max(n, words), below, c->p.hi, words) < 0)
			key_put(node_max(n, words), below, words, c->p.hi);
		return NULL;
	}
	max_update(n, words, below);
	i = below + 1;
	struct interval_node *right = entry_place(c, &n, &i);
	child_put(n, words, i, new);
	return right;
}

void interval_tree_insert(struct interval_tree *t, unsigned words, const struct interval_entry *in)
{
	struct change c = change_make(t, words, in);

	if (!t->root) {
		t->root = node_new(t, true);
		t->height = 1;
	}
	struct interval_node *right = insert_below(&c, (void **)&t->root);
	if (!right)
		return;
	struct interval_node *root = node_new(t, false);
	root->n = 2;
	root->level = (uint8_t)(t->root->level + 1);
	child_put(root, words, 0, t->root);
	child_put(root, words, 1, right);
	t->root = root;
	t->height++;
}

static void remove_below(struct change *c, void **at)
{
	unsigned words = c->p.words;
	struct interval_node *n = own(c->t, words, at);
	unsigned i = entries_upto(n, &c->p);

	if (n->leaf) {
		entry_close(n, words, i - 1);
		return;
	}
	unsigned below = i ? i - 1 : 0;
	void **child = (void **)&node_ptr(n, words)[below];
	remove_below(c, child);
	struct interval_node *left = *child;
	if (!left->n) {
		free(left);
		entry_close(n, words, below);
	} else if (!entry_cmp(node_max(n, words), below, c->p.hi, words)) {
		max_update(n, words, below);
	}
}

void interval_tree_remove(struct interval_tree *t, unsigned words, const struct interval_entry *out)
{
	struct change c = change_make(t, words, out);

	remove_below(&c, (void **)&t->root);
	while (t->root && (t->root->leaf ? !t->root->n : t->root->n < 2)) {
		struct interval_node *root = t->root;
		t->root = root->n ? (struct interval_node *)child_of(root, words, 0) : NULL;
		t->height--;
		if (root->stamp == t->stamp)
			free(root);
		else
			retire(t, words, root);
	}
}

/* --- single searches ------------------------------------------------------------------------ */

struct set_elem *interval_tree_find(const struct interval_node *root, unsigned words,
				    const struct interval_key *lo, const struct interval_key *hi)
{
	struct probe p = {words, lo, hi, 0};
	const struct interval_node *n = root;

	if (!n)
		return NULL;
	unsigned i = entries_upto(n, &p);
	while (!n->leaf) {
		n = child_of(n, words, i ? i - 1 : 0);
		i = entries_upto(n, &p);
	}
	return i && !entry_order(n, i - 1, &p) ? elem_of(n, words, i - 1) : NULL;
}

void interval_tree_each(const struct interval_node *root, unsigned words,
			void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	for (unsigned i = 0; root && i < root->n; i++)
		if (root->leaf)
			fn(ctx, elem_of(root, words, i));
		else
			interval_tree_each(child_of(root, words, i), words, fn, ctx);
}

static struct set_elem *last_holding(const struct interval_node *n, const struct probe *p)
{
	unsigned i = entries_begun(n, p->words, p->hi);

	if (n->leaf) {
		while (i--)
			if (entry_reaches(n, i, p) && elem_live(elem_of(n, p->words, i), p->now))
				return elem_of(n, p->words, i);
		return NULL;
	}
	for (i = i ? i : 1; i--;) {
		struct set_elem *e =
			entry_reaches(n, i, p) ? last_holding(child_of(n, p->words, i), p) : NULL;
		if (e)
			return e;
	}
	return NULL;
}

struct set_elem *interval_tree_last_holding(const struct interval_node *root, unsigned words,
					    const struct interval_key *key, uint64_t now)
{
	struct probe p = {words, key, key, now};
	return root ? last_holding(root, &p) : NULL;
}

static int overlapping(const struct interval_node *n, const struct probe *p,
		       int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	unsigned end = entries_begun(n, p->words, p->hi);
	int stop = 0;

	if (!n->leaf && !end)
		end = 1;
	for (unsigned i = 0; i < end && !stop; i++) {
		if (!entry_reaches(n, i, p))
			continue;
		if (!n->leaf)
			stop = overlapping(child_of(n, p->words, i), p, fn, ctx);
		else if (elem_live(elem_of(n, p->words, i), p->now))
			stop = fn(ctx, elem_of(n, p->words, i));
	}
	return stop;
}

int interval_tree_overlapping(const struct interval_node *root, unsigned words,
			      const struct interval_key *lo, const struct interval_key *hi,
			      uint64_t now, int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	struct probe p = {words, lo, hi, now};
	return root ? overlapping(root, &p, fn, ctx) : 0;
}

/* --- packet path ---------------------------------------------------------------------------- */

static const struct interval_tree_ops *best_ops(void)
{
	static const struct interval_tree_ops *const all[] = {
#ifdef __x86_64__
		&interval_tree_avx512,
		&interval_tree_avx2,
#endif
		&interval_tree_scalar,
	};
	unsigned i = 0;
	while (i + 1 < ARRAY_SIZE(all) && !all[i]->usable())
		i++;
	return all[i];
}

uint64_t interval_tree_lookup(const struct interval_node *root, const struct interval_burst *b,
			      uint64_t mask)
{
	const struct interval_node *roots[SET_BATCH_MAX];

	if (!root)
		return 0;
	for (uint64_t rest = mask; rest; rest &= rest - 1)
		roots[__builtin_ctzll(rest)] = root;
	return best_ops()->lookup(roots, b, mask);
}

uint64_t interval_trees_lookup(const struct interval_node *const *roots,
			       const struct interval_burst *b, uint64_t mask)
{
	return best_ops()->lookup(roots, b, mask);
}
