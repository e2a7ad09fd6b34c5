/* SPDX-License-Identifier: Apache-2.0 */
/* interval_forest: see interval_forest.h. */
#include "set/interval_forest.h"

#include "set/interval_tree_internal.h"

enum { PAGES = 256, SLOTS = 256, LEAF_MOST = 60, SLOT_MAX = 0xffff };

/* Sorted: first number << 16 | (65535 - last number). Then come the elements, as many. */
struct forest_leaf {
	struct rcu_head rcu;
	uint64_t stamp;
	uint16_t n, cap;
	uint32_t unused; /* the elements are aligned */
	uint32_t v[];
};

/* Address of a leaf or, with bit 0, of a tree; 0: nothing. */
typedef uintptr_t slot_word;

struct forest_page {
	struct rcu_head rcu;
	uint64_t stamp;
	const struct forest_page *base; /* of the version before the open one, or NULL */
	struct forest_page *next;	/* of those that the open version has made */
	slot_word slot[SLOTS];
};

struct forest_root {
	struct rcu_head rcu;
	uint64_t stamp;
	uint64_t ragged;       /* elements elsewhere that cross slots from within one */
	uint32_t loose[PAGES]; /* those within a slot */
	struct forest_page *page[PAGES];
};

struct interval_forest {
	struct interval_tree trees; /* the memory of all, and their version */
	bool open;
	struct forest_root *root, *base;
	struct forest_page *made;
	struct rcu_head *retired;  /* what only the version before has */
	struct forest_leaf *spare; /* the slot's that was emptied last */
	uint32_t spare_slot;
};

static const struct forest_page no_page;

static inline uint32_t page_no(uint32_t x)
{
	return x >> 24;
}

static inline uint32_t slot_no(uint32_t x)
{
	return x >> 16 & (SLOTS - 1);
}

static inline uint32_t pack(struct forest_range r)
{
	return r.lo << 16 | (SLOT_MAX - (r.hi & SLOT_MAX));
}

static inline bool entry_holds(uint32_t v, uint32_t x)
{
	return SLOT_MAX - (v & SLOT_MAX) >= (x & SLOT_MAX);
}

static inline bool within_slot(struct forest_range r)
{
	return r.lo >> 16 == r.hi >> 16;
}

static inline struct set_elem **leaf_elems(const struct forest_leaf *l)
{
	return (struct set_elem **)&l->v[l->cap];
}

static inline const struct forest_leaf *word_leaf(slot_word w)
{
	return w & 1 ? NULL : (const struct forest_leaf *)w;
}

static inline struct interval_node *word_tree(slot_word w)
{
	return w & 1 ? (struct interval_node *)(w - 1) : NULL;
}

static inline slot_word slot_of(const struct forest_root *root, uint32_t x)
{
	const struct forest_page *p = root->page[page_no(x)];
	return p ? p->slot[slot_no(x)] : 0;
}

/* In a tree keys are numbers as its users make them of 4 bytes. */
static struct interval_entry tree_entry(struct forest_range r, struct set_elem *e)
{
	return (struct interval_entry){.lo = {{r.lo}}, .hi = {{r.hi}}, .e = e};
}

static struct forest_range unpack(uint32_t x, uint32_t v)
{
	uint32_t slot = x & ~(uint32_t)SLOT_MAX;
	return (struct forest_range){slot | v >> 16, slot | (SLOT_MAX - (v & SLOT_MAX))};
}

/* Entries below v; no branch depends on what they are. */
static inline unsigned leaf_below(const struct forest_leaf *l, uint32_t v)
{
	const uint32_t *at = l->v;
	unsigned n = l->n;

	while (n > 1) {
		unsigned half = n / 2;
		at += at[half - 1] < v ? half : 0;
		n -= half;
	}
	return (unsigned)(at - l->v) + (n && *at < v);
}

/* Entries that do not begin behind x. */
static inline unsigned leaf_begun(const struct forest_leaf *l, uint32_t x)
{
	uint32_t v = x << 16 | SLOT_MAX;
	unsigned n = leaf_below(l, v);
	return n + (n < l->n && l->v[n] == v);
}

/* --- memory --------------------------------------------------------------------------------- */

struct interval_forest *interval_forest_new(void)
{
	struct interval_forest *f = calloc(1, sizeof(*f));
	struct forest_root *root = calloc(1, sizeof(*root));

	if (!f || !root) {
		free(f);
		free(root);
		return NULL;
	}
	f->root = root;
	return f;
}

static void piece_free(struct rcu_head *head)
{
	free(head);
}

/* A leaf, page or root that was replaced: nobody looks at what this version has made. */
static void piece_gone(struct interval_forest *f, struct rcu_head *head, uint64_t stamp,
		       size_t size)
{
	if (!f->open || stamp == f->trees.stamp) {
		free(head);
		return;
	}
	head->next = f->retired;
	head->bytes = size;
	f->retired = head;
}

static size_t leaf_size(unsigned cap)
{
	return sizeof(struct forest_leaf) + cap * (sizeof(uint32_t) + sizeof(void *));
}

static void leaf_gone(struct interval_forest *f, const struct forest_leaf *l)
{
	if (l)
		piece_gone(f, (struct rcu_head *)&l->rcu, l->stamp, leaf_size(l->cap));
}

/* What fills lines as a whole, but for the smallest. */
static unsigned leaf_cap(size_t n)
{
	static const uint8_t caps[] = {4, 12, 20, 28, 44, LEAF_MOST};
	unsigned i = 0;

	while (caps[i] < n)
		i++;
	return caps[i];
}

/* A copy with room for cap, of this version, or NULL. */
static struct forest_leaf *leaf_copy(const struct interval_forest *f, const struct forest_leaf *old,
				     unsigned cap)
{
	size_t size = leaf_size(cap);
	struct forest_leaf *l = cap == 4 ? malloc(size) : aligned_alloc(64, (size + 63) & ~63UL);

	if (!l)
		return NULL;
	l->stamp = f->trees.stamp;
	l->n = 0;
	l->cap = (uint16_t)cap;
	if (old) {
		l->n = old->n;
		memcpy(l->v, old->v, l->n * sizeof(l->v[0]));
		memcpy(leaf_elems(l), leaf_elems(old), l->n * sizeof(void *));
	}
	return l;
}

static int root_own(struct interval_forest *f)
{
	struct forest_root *old = f->root;

	if (!f->open || old->stamp == f->trees.stamp)
		return 0;
	struct forest_root *root = malloc(sizeof(*root));
	if (!root)
		return -ENOMEM;
	memcpy(root, old, sizeof(*root));
	root->stamp = f->trees.stamp;
	f->root = root;
	piece_gone(f, &old->rcu, old->stamp, sizeof(*old));
	return 0;
}

/* The page of x in this version, new if there is none; 0 or -ENOMEM. */
static int page_own(struct interval_forest *f, uint32_t x)
{
	int err = root_own(f);
	struct forest_page **at = &f->root->page[page_no(x)], *old = *at;

	if (err || (old && (!f->open || old->stamp == f->trees.stamp)))
		return err;
	struct forest_page *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (old)
		memcpy(p->slot, old->slot, sizeof(p->slot));
	p->stamp = f->trees.stamp;
	p->base = old;
	if (f->open) {
		p->next = f->made;
		f->made = p;
	}
	*at = p;
	if (old)
		piece_gone(f, &old->rcu, old->stamp, sizeof(*old));
	return 0;
}

void interval_forest_begin(struct interval_forest *f)
{
	interval_tree_begin(&f->trees);
	f->open = true;
	f->base = f->root;
	f->made = NULL;
}

void interval_forest_commit(struct interval_forest *f, struct rcu *rcu)
{
	interval_tree_commit(&f->trees, rcu);
	while (f->retired) {
		struct rcu_head *head = f->retired;
		f->retired = head->next;
		rcu_defer(rcu, head, piece_free, head->bytes);
	}
	for (struct forest_page *p = f->made; p; p = p->next)
		p->base = NULL;
	f->open = false;
	f->made = NULL;
}

static void word_drop(struct interval_forest *f, slot_word w)
{
	if (word_tree(w)) {
		f->trees.root = word_tree(w);
		interval_tree_revert(&f->trees, 1);
	} else if (w && word_leaf(w)->stamp == f->trees.stamp) {
		free((void *)w);
	}
}

void interval_forest_revert(struct interval_forest *f)
{
	while (f->made) {
		struct forest_page *p = f->made;
		f->made = p->next;
		for (unsigned i = 0; i < SLOTS; i++)
			if (p->slot[i] != (p->base ? p->base->slot[i] : 0))
				word_drop(f, p->slot[i]);
		free(p);
	}
	if (f->root != f->base)
		free(f->root);
	f->root = f->base;
	f->trees.retired = NULL;
	f->retired = NULL; /* they are all in it */
	f->open = false;
}

static void word_free(struct interval_forest *f, slot_word w)
{
	f->trees.root = word_tree(w);
	interval_tree_free(&f->trees, 1);
	free((void *)word_leaf(w));
}

void interval_forest_free(struct interval_forest *f)
{
	if (!f)
		return;
	interval_forest_commit(f, NULL);
	for (unsigned i = 0; i < PAGES; i++) {
		struct forest_page *p = f->root->page[i];
		for (unsigned k = 0; p && k < SLOTS; k++)
			word_free(f, p->slot[k]);
		free(p);
	}
	f->trees.root = NULL;
	interval_tree_free(&f->trees, 1);
	free(f->spare);
	free(f->root);
	free(f);
}

/* --- changes -------------------------------------------------------------------------------- */

bool interval_forest_takes(const struct interval_forest *f, struct forest_range r)
{
	return within_slot(r) && f->root->page[page_no(r.lo)];
}

static slot_word *slot_at(struct interval_forest *f, uint32_t x)
{
	return &f->root->page[page_no(x)]->slot[slot_no(x)];
}

static void tree_put(struct interval_forest *f, slot_word *at, struct interval_entry in)
{
	interval_tree_use(&f->trees, word_tree(*at));
	interval_tree_insert(&f->trees, 1, &in);
	*at = (slot_word)f->trees.root | 1;
}

/* More than a leaf has room for: a tree of them. */
static int leaf_plant(struct interval_forest *f, slot_word *at, uint32_t x, size_t n)
{
	const struct forest_leaf *l = word_leaf(*at);
	unsigned count = l ? l->n : 0;

	interval_tree_use(&f->trees, NULL);
	int err = interval_tree_reserve(&f->trees, 1, count + n + 1);
	if (err)
		return err;
	slot_word tree = 0;
	for (unsigned i = 0; i < count; i++)
		tree_put(f, &tree, tree_entry(unpack(x, l->v[i]), leaf_elems(l)[i]));
	leaf_gone(f, l);
	*at = tree;
	return 0;
}

static int slot_reserve(struct interval_forest *f, uint32_t x, size_t more, size_t n)
{
	slot_word *at = slot_at(f, x);
	const struct forest_leaf *l = word_leaf(*at);
	size_t want = (l ? l->n : 0) + more;
	int err = 0;

	free(f->spare);
	f->spare = NULL;
	if (l && want > LEAF_MOST)
		err = leaf_plant(f, at, x, n);
	if (err)
		return err;
	if (word_tree(*at) || want > LEAF_MOST) {
		interval_tree_use(&f->trees, word_tree(*at));
		return interval_tree_reserve(&f->trees, 1, n);
	}
	bool mine = l && (!f->open || l->stamp == f->trees.stamp);
	if (mine && l->cap >= want && (!more || l->cap / 4 <= want))
		return 0;
	struct forest_leaf *copy = leaf_copy(f, l, leaf_cap(want));
	if (!copy)
		return -ENOMEM;
	*at = (slot_word)copy;
	leaf_gone(f, l);
	return 0;
}

int interval_forest_reserve(struct interval_forest *f, struct forest_range r, size_t more, size_t n)
{
	if (!interval_forest_takes(f, r))
		return root_own(f);
	int err = page_own(f, r.lo);
	return err ? err : slot_reserve(f, r.lo, more, n);
}

void interval_forest_insert(struct interval_forest *f, struct forest_range r, struct set_elem *e)
{
	slot_word *at = slot_at(f, r.lo);
	if (!*at && f->spare && f->spare_slot == r.lo >> 16) {
		*at = (slot_word)f->spare;
		f->spare = NULL;
	}
	struct forest_leaf *l = (struct forest_leaf *)word_leaf(*at);
	if (!l) {
		tree_put(f, at, tree_entry(r, e));
		return;
	}
	unsigned i = leaf_below(l, pack(r)), behind = l->n++ - i;
	struct set_elem **elem = leaf_elems(l);
	memmove(&l->v[i + 1], &l->v[i], behind * sizeof(l->v[0]));
	memmove(&elem[i + 1], &elem[i], behind * sizeof(elem[0]));
	l->v[i] = pack(r);
	elem[i] = e;
}

void interval_forest_remove(struct interval_forest *f, struct forest_range r)
{
	slot_word *at = slot_at(f, r.lo);
	struct forest_leaf *l = (struct forest_leaf *)word_leaf(*at);

	if (!l) {
		struct interval_entry out = tree_entry(r, NULL);
		interval_tree_use(&f->trees, word_tree(*at));
		interval_tree_remove(&f->trees, 1, &out);
		*at = f->trees.root ? (slot_word)f->trees.root | 1 : 0;
		return;
	}
	unsigned i = leaf_below(l, pack(r)), behind = --l->n - i;
	struct set_elem **elem = leaf_elems(l);
	memmove(&l->v[i], &l->v[i + 1], behind * sizeof(l->v[0]));
	memmove(&elem[i], &elem[i + 1], behind * sizeof(elem[0]));
	if (l->n)
		return;
	/* What comes next may have this leaf's room. */
	free(f->spare);
	f->spare = l;
	f->spare_slot = r.lo >> 16;
	*at = 0;
}

void interval_forest_loose(struct interval_forest *f, struct forest_range r, int by)
{
	if (within_slot(r))
		f->root->loose[page_no(r.lo)] += (uint32_t)by;
	else if (r.lo & SLOT_MAX)
		f->root->ragged += (uint64_t)by;
}

bool interval_forest_wants(const struct interval_forest *f, struct forest_range r, size_t n)
{
	uint32_t page = page_no(r.lo);
	return within_slot(r) && !f->root->page[page] && f->root->loose[page] + n > FOREST_LOOSE;
}

int interval_forest_open(struct interval_forest *f, struct forest_range r,
			 const struct forest_item *items, size_t n)
{
	int err = page_own(f, r.lo);
	if (err)
		return err;
	for (size_t i = 0; i < n && !err; i++) {
		err = slot_reserve(f, items[i].r.lo, 1, 1);
		if (!err)
			interval_forest_insert(f, items[i].r, items[i].e);
	}
	struct forest_page **at = &f->root->page[page_no(r.lo)], *p = *at;
	if (!err) {
		f->root->loose[page_no(r.lo)] = 0;
		return 0;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		word_free(f, p->slot[i]);
	if (f->open)
		f->made = p->next;
	*at = NULL;
	free(p);
	return err;
}

/* --- reading -------------------------------------------------------------------------------- */

const struct forest_root *interval_forest_root(const struct interval_forest *f)
{
	return f->root;
}

bool interval_forest_ragged(const struct forest_root *root)
{
	return root->ragged;
}

struct set_elem *interval_forest_find(const struct forest_root *root, struct forest_range r)
{
	slot_word w = slot_of(root, r.lo);
	const struct forest_leaf *l = word_leaf(w);

	if (!l) {
		struct interval_entry key = tree_entry(r, NULL);
		return interval_tree_find(word_tree(w), 1, &key.lo, &key.hi);
	}
	unsigned i = leaf_below(l, pack(r));
	return i < l->n && l->v[i] == pack(r) ? leaf_elems(l)[i] : NULL;
}

static struct set_elem *leaf_last_holding(const struct forest_leaf *l, uint32_t x, uint64_t now)
{
	for (unsigned i = leaf_begun(l, x); i--;)
		if (entry_holds(l->v[i], x) && elem_live(leaf_elems(l)[i], now))
			return leaf_elems(l)[i];
	return NULL;
}

struct set_elem *interval_forest_last_holding(const struct forest_root *root, uint32_t x,
					      uint64_t now)
{
	slot_word w = slot_of(root, x);
	struct interval_key key = {{x}};

	return word_leaf(w) ? leaf_last_holding(word_leaf(w), x, now)
			    : interval_tree_last_holding(word_tree(w), 1, &key, now);
}

/* r lies within one slot. */
static int slot_overlapping(slot_word w, struct forest_range r, uint64_t now,
			    int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	const struct forest_leaf *l = word_leaf(w);
	struct interval_key lo = {{r.lo}}, hi = {{r.hi}};
	int stop = 0;

	if (!l)
		return interval_tree_overlapping(word_tree(w), 1, &lo, &hi, now, fn, ctx);
	unsigned end = leaf_begun(l, r.hi);
	for (unsigned i = 0; i < end && !stop; i++)
		if (entry_holds(l->v[i], r.lo) && elem_live(leaf_elems(l)[i], now))
			stop = fn(ctx, leaf_elems(l)[i]);
	return stop;
}

int interval_forest_overlapping(const struct forest_root *root, struct forest_range r, uint64_t now,
				int (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	int stop = 0;

	for (uint64_t x = r.lo; x <= r.hi && !stop;) {
		uint32_t at = (uint32_t)x;
		if (!root->page[page_no(at)]) {
			x = ((uint64_t)page_no(at) + 1) << 24;
			continue;
		}
		struct forest_range part = {at, MIN(at | SLOT_MAX, r.hi)};
		stop = slot_overlapping(slot_of(root, at), part, now, fn, ctx);
		x = ((x >> 16) + 1) << 16;
	}
	return stop;
}

static void slot_each(slot_word w, void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	const struct forest_leaf *l = word_leaf(w);

	if (!l)
		interval_tree_each(word_tree(w), 1, fn, ctx);
	for (unsigned i = 0; l && i < l->n; i++)
		fn(ctx, leaf_elems(l)[i]);
}

void interval_forest_each(const struct forest_root *root, void (*fn)(void *ctx, struct set_elem *e),
			  void *ctx)
{
	for (unsigned i = 0; i < PAGES; i++)
		for (unsigned k = 0; root->page[i] && k < SLOTS; k++)
			slot_each(root->page[i]->slot[k], fn, ctx);
}

/* --- packet path ---------------------------------------------------------------------------- */

/* A burst on its way, by stages: slots, leaves, elements are fetched for all before they are used.
 */
struct walk {
	const struct interval_burst *b;
	uint32_t x[SET_BATCH_MAX];
	union {
		const slot_word *at[SET_BATCH_MAX];
		const struct forest_leaf *leaf[SET_BATCH_MAX];
		struct set_elem *const *elem[SET_BATCH_MAX];
	};
	const struct forest_leaf *alone_in[SET_BATCH_MAX];
	const struct interval_node *tree[SET_BATCH_MAX];
	uint64_t live, in_tree, alone; /* in a leaf; in a tree; to be looked up by itself */
};

static void walk_slots(struct walk *w, const struct forest_root *root, uint64_t mask)
{
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		w->x[i] = be32_load(w->b->keys + i * w->b->stride);
		const struct forest_page *p = root->page[page_no(w->x[i])];
		w->at[i] = &(p ? p : &no_page)->slot[slot_no(w->x[i])];
		__builtin_prefetch(w->at[i]);
	}
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		slot_word word = *w->at[i];
		w->live |= (uint64_t)(word && !(word & 1)) << i;
		if (word & 1) {
			w->tree[i] = word_tree(word);
			w->in_tree |= 1ULL << i;
			continue;
		}
		w->leaf[i] = word_leaf(word);
		__builtin_prefetch(w->leaf[i]);
		__builtin_prefetch((const char *)w->leaf[i] + 64);
	}
}

static void walk_leaves(struct walk *w)
{
	for (uint64_t rest = w->live; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const struct forest_leaf *l = w->leaf[i];
		unsigned upto = leaf_begun(l, w->x[i]);
		unsigned last = upto ? upto - 1 : 0;
		bool holds = upto && entry_holds(l->v[last], w->x[i]);
		w->elem[i] = &leaf_elems(l)[last];
		__builtin_prefetch(w->elem[i]);
		w->alone_in[i] = l;
		/* What lies over one that has expired may have come since. */
		if (!holds) {
			w->live &= ~(1ULL << i);
			w->alone |= (uint64_t)(upto && (w->b->nested || w->b->timed)) << i;
		}
	}
}

uint64_t interval_forest_lookup(const struct forest_root *root, const struct interval_burst *b,
				uint64_t mask)
{
	struct walk w = {.b = b};

	walk_slots(&w, root, mask);
	walk_leaves(&w);
	for (uint64_t rest = w.live; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		b->hit[i] = *w.elem[i];
		if (b->timed)
			__builtin_prefetch(&b->hit[i]->expires);
		if (b->loaded)
			__builtin_prefetch(b->hit[i]->bytes);
	}
	uint64_t found = w.live;
	for (uint64_t rest = b->timed ? found : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		uint64_t dead = (uint64_t)!elem_live(b->hit[i], b->now[i]) << i;
		found &= ~dead;
		w.alone |= dead;
	}
	for (uint64_t rest = w.alone; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		b->hit[i] = leaf_last_holding(w.alone_in[i], w.x[i], b->now[i]);
		found |= (uint64_t)(b->hit[i] != NULL) << i;
	}
	if (w.in_tree)
		found |= interval_trees_lookup(w.tree, b, w.in_tree);
	return found;
}
