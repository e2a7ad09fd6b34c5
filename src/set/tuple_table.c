/* SPDX-License-Identifier: Apache-2.0 */
/* tuple_table: see tuple_table.h. */
#include "set/tuple_table.h"

#include "set/box_tree.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WORDS = SET_KEY_MAX / 8, SEGMENT = 32, DEPTH_MAX = 40, GROUP_MOST = BOX_FANOUT };

/* A key in words; what is left over at its end is read again from 4 or 8 bytes before it. */
struct words {
	uint64_t w[WORDS];
};

struct tuple {
	struct words mask;
	size_t n; /* boxes */
};

/* Up to 32 groups of which the first `depth` bits of the hash are the same. */
struct segment {
	struct rcu_head rcu;
	uint64_t stamp;
	uint8_t depth, n;
	uint16_t tag[SEGMENT] __attribute__((aligned(64))); /* the last bits of the hash */
	struct box_node *root[SEGMENT];			    /* NULL: free */
};

struct directory {
	struct rcu_head rcu;
	uint64_t stamp;
	unsigned depth;
	struct segment *at[]; /* 2^depth */
};

struct tuple_view {
	struct rcu_head rcu;
	uint64_t stamp;
	struct hash_secret secret;
	struct directory *dir;
	unsigned n_tuples;
	struct tuple tuple[TUPLE_MAX]; /* the first masks everything away */
};

struct tuple_table {
	const struct set *s;
	unsigned key_len;
	struct tuple_view *view, *base; /* base: of the version before the open one */
	struct rcu_head *retired;	/* of the version before */
	struct box_pool pool;
	bool open;
};

/* --- keys ----------------------------------------------------------------------------------- */

static inline unsigned n_words(unsigned len)
{
	return (len + 7) / 8;
}

static inline uint64_t load(const uint8_t *p, unsigned len)
{
	uint32_t first, last;
	uint64_t v;

	if (len >= 8) {
		memcpy(&v, p, 8);
		return v;
	}
	if (len < 4)
		return be_load(p, len);
	memcpy(&first, p, 4);
	memcpy(&last, p + len - 4, 4);
	return first | (uint64_t)last << 32;
}

static inline void key_words(const uint8_t *key, unsigned len, struct words *out)
{
	unsigned i = 0, at = 0;

	for (; at + 8 <= len; at += 8)
		out->w[i++] = load(key + at, 8);
	if (at < len)
		out->w[i] = len > 8 ? load(key + len - 8, 8) : load(key, len);
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t hash_masked(const struct tuple_view *v, unsigned words,
				   const struct words *key, const struct tuple *t)
{
	uint64_t h = v->secret.k[0];

	for (unsigned i = 0; i < words; i++)
		h = mix(h ^ (key->w[i] & t->mask.w[i]), (v->secret.k[1] ^ t->mask.w[i]) | 1);
	return h;
}

/*
 * Leading bits that a tuple looks at, of `same` that both ends of a range have in common. Ports and
 * protocols tell little where there are addresses: none of theirs, for the sake of few tuples.
 */
static unsigned step_down(unsigned len, unsigned same, bool all_short, bool fine)
{
	if (len <= 2)
		return same == 8 * len && all_short ? same : 0;
	if (same == 8 * len || fine)
		return same;
	if (same < 8)
		return 0;
	return same <= 32 ? same & ~3U : same & ~15U;
}

static unsigned bits_same(const uint8_t *lo, const uint8_t *hi, unsigned len)
{
	unsigned i = 0;

	while (i < len && lo[i] == hi[i])
		i++;
	if (i == len)
		return 8 * len;
	return 8 * i + (unsigned)__builtin_clz((unsigned)(lo[i] ^ hi[i])) - 24;
}

static struct words mask_of(const struct set *s, const uint8_t *lo, const uint8_t *hi, bool fine)
{
	uint8_t mask[SET_KEY_MAX] = {0};
	struct words out = {0};
	bool all_short = true;

	for (unsigned f = 0; f < s->desc.n_fields; f++)
		all_short &= s->desc.field_len[f] <= 2;
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++]) {
		unsigned len = s->desc.field_len[f];
		unsigned bits = step_down(len, bits_same(lo + at, hi + at, len), all_short, fine);
		memset(mask + at, 0xff, bits / 8);
		if (bits % 8)
			mask[at + bits / 8] = (uint8_t)(0xff00 >> bits % 8);
	}
	key_words(mask, s->key_len, &out);
	return out;
}

/* --- versions ------------------------------------------------------------------------------- */

static void retire(struct tuple_table *t, struct rcu_head *head, size_t bytes)
{
	head->next = t->retired;
	head->bytes = bytes;
	t->retired = head;
}

static inline uint64_t stamp_of(const struct tuple_table *t)
{
	return t->pool.stamp;
}

static inline size_t dir_size(unsigned depth)
{
	return sizeof(struct directory) + sizeof(struct segment *) * ((size_t)1 << depth);
}

static inline size_t dir_index(const struct directory *d, uint64_t hash)
{
	return d->depth ? hash >> (64 - d->depth) : 0;
}

static struct segment *segment_new(const struct tuple_table *t, unsigned depth)
{
	struct segment *g = aligned_alloc(64, sizeof(*g));

	if (!g)
		return NULL;
	g->stamp = stamp_of(t);
	g->depth = (uint8_t)depth;
	g->n = 0;
	memset(g->tag, 0, sizeof(g->tag));
	memset(g->root, 0, sizeof(g->root));
	return g;
}

static int view_own(struct tuple_table *t)
{
	struct tuple_view *old = t->view;

	if (old->stamp == stamp_of(t))
		return 0;
	struct tuple_view *v = malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = *old;
	v->stamp = stamp_of(t);
	retire(t, &old->rcu, sizeof(*old));
	t->view = v;
	return 0;
}

/* The directory of this version, with `more` bits more. */
static int dir_own(struct tuple_table *t, unsigned more)
{
	struct directory *old = t->view->dir;

	if (old->stamp == stamp_of(t) && !more)
		return 0;
	struct directory *d = malloc(dir_size(old->depth + more));
	if (!d)
		return -ENOMEM;
	d->stamp = stamp_of(t);
	d->depth = old->depth + more;
	for (size_t i = 0; i < (size_t)1 << d->depth; i++)
		d->at[i] = old->at[i >> more];
	t->view->dir = d;
	if (old->stamp == stamp_of(t))
		free(old);
	else
		retire(t, &old->rcu, dir_size(old->depth));
	return 0;
}

/* Puts g where the segments of its hash stand. */
static void segment_place(struct directory *d, uint64_t hash, struct segment *g)
{
	unsigned same = d->depth - g->depth;
	size_t first = dir_index(d, hash) >> same << same;

	for (size_t i = 0; i < (size_t)1 << same; i++)
		d->at[first + i] = g;
}

static void segment_gone(struct tuple_table *t, struct segment *g)
{
	if (g->stamp == stamp_of(t))
		free(g);
	else
		retire(t, &g->rcu, sizeof(*g));
}

static struct segment *segment_at(const struct tuple_view *v, uint64_t hash)
{
	return v->dir->at[dir_index(v->dir, hash)];
}

/* The segment of a hash in this version; view and directory are. */
static int segment_own(struct tuple_table *t, uint64_t hash)
{
	struct segment *old = segment_at(t->view, hash);

	if (old->stamp == stamp_of(t))
		return 0;
	struct segment *g = segment_new(t, old->depth);
	if (!g)
		return -ENOMEM;
	g->n = old->n;
	memcpy(g->tag, old->tag, sizeof(g->tag));
	memcpy(g->root, old->root, sizeof(g->root));
	segment_place(t->view->dir, hash, g);
	segment_gone(t, old);
	return 0;
}

/* Splits the segment of a hash in two. */
static int segment_split(struct tuple_table *t, uint64_t hash)
{
	struct segment *old = segment_at(t->view, hash), *half[2];

	if (old->depth == DEPTH_MAX)
		return -ENOMEM;
	int err = dir_own(t, old->depth == t->view->dir->depth);
	if (err)
		return err;
	half[0] = segment_new(t, old->depth + 1U);
	half[1] = segment_new(t, old->depth + 1U);
	if (!half[0] || !half[1]) {
		free(half[0]);
		free(half[1]);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < old->n; i++) {
		struct segment *g = half[old->root[i]->hash >> (63 - old->depth) & 1];
		g->tag[g->n] = old->tag[i];
		g->root[g->n++] = old->root[i];
	}
	uint64_t bit = 1ULL << (63 - old->depth);
	segment_place(t->view->dir, hash & ~bit, half[0]);
	segment_place(t->view->dir, hash | bit, half[1]);
	segment_gone(t, old);
	return 0;
}

/* --- tuples --------------------------------------------------------------------------------- */

/* The tuple with a mask, or NULL. */
static struct tuple *tuple_find(struct tuple_view *v, const struct words *mask)
{
	for (unsigned i = 0; i < v->n_tuples; i++)
		if (!memcmp(&v->tuple[i].mask, mask, sizeof(*mask)))
			return &v->tuple[i];
	return NULL;
}

/* Its tuple, or the one where it must be if there are too many; it need not be in the view yet. */
static struct tuple tuple_for(struct tuple_view *v, const struct words *mask)
{
	const struct tuple *u = tuple_find(v, mask);

	if (u)
		return *u;
	return v->n_tuples == TUPLE_MAX ? v->tuple[0] : (struct tuple){.mask = *mask};
}

static void tuple_count(struct tuple_view *v, const struct words *mask)
{
	struct tuple *u = tuple_find(v, mask);

	if (!u) {
		u = &v->tuple[v->n_tuples++];
		*u = (struct tuple){.mask = *mask};
	}
	u->n++;
}

static void tuple_drop(struct tuple_view *v, struct tuple *u)
{
	if (!--u->n && u != &v->tuple[0])
		*u = v->tuple[--v->n_tuples];
}

/* --- groups --------------------------------------------------------------------------------- */

/* The place of a group in the segment of its hash, or -1. */
static int group_find(const struct segment *g, uint64_t hash)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->tag[i] == (uint16_t)hash && g->root[i]->hash == hash)
			return (int)i;
	return -1;
}

static struct box_node *group_root(const struct tuple_view *v, uint64_t hash)
{
	const struct segment *g = segment_at(v, hash);
	int i = group_find(g, hash);

	return i < 0 ? NULL : g->root[i];
}

/* Puts the root of a group in place i, -1 for a new one; NULL: there is none any more. */
static void group_put(struct segment *g, int i, uint64_t hash, struct box_node *root)
{
	if (!root) {
		g->n--;
		g->tag[i] = g->tag[g->n];
		g->root[i] = g->root[g->n];
		g->tag[g->n] = 0;
		g->root[g->n] = NULL;
		return;
	}
	if (i < 0)
		i = g->n++;
	root->hash = hash;
	g->tag[i] = (uint16_t)hash;
	g->root[i] = root;
}

/* --- boxes ---------------------------------------------------------------------------------- */

static uint64_t box_hash(const struct tuple_table *t, const uint8_t *lo, const struct tuple *u)
{
	struct words key;

	key_words(lo, t->key_len, &key);
	return hash_masked(t->view, n_words(t->key_len), &key, u);
}

/* Where a box stands or is to stand. */
struct place {
	struct words mask; /* of its tuple */
	uint64_t hash;
	struct box_node *root; /* its group, or NULL */
	struct set_elem *e;    /* NULL: it is not there */
};

static struct place place_in(const struct tuple_table *t, const uint8_t *lo, const struct tuple *u)
{
	struct place p = {.mask = u->mask, .hash = box_hash(t, lo, u)};

	p.root = group_root(t->view, p.hash);
	return p;
}

static struct place place_of(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct tuple_table *t = s->store.tuples;
	struct words coarse = mask_of(s, lo, hi, false), fine = mask_of(s, lo, hi, true);
	struct tuple *u[] = {tuple_find(t->view, &coarse), tuple_find(t->view, &fine),
			     &t->view->tuple[0]};
	struct place p = {0};

	for (unsigned i = 0; i < ARRAY_SIZE(u) && !p.e; i++) {
		if (!u[i])
			continue;
		p = place_in(t, lo, u[i]);
		p.e = box_tree_find(s, p.root, lo, hi);
	}
	return p;
}

/* Where a new box is to stand. */
static struct place place_for(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct tuple_table *t = s->store.tuples;
	struct words mask = mask_of(s, lo, hi, false);
	struct tuple u = tuple_for(t->view, &mask);
	struct place p = place_in(t, lo, &u);

	if (!p.root || (!p.root->height && p.root->n < GROUP_MOST))
		return p;
	mask = mask_of(s, lo, hi, true);
	u = tuple_for(t->view, &mask);
	return place_in(t, lo, &u);
}

/* --- changes -------------------------------------------------------------------------------- */

static int table_make(struct set *s)
{
	struct tuple_table *t = calloc(1, sizeof(*t));
	struct tuple_view *v = calloc(1, sizeof(*v));
	struct directory *d = calloc(1, dir_size(0));
	int err = t && v && d ? hash_secret_draw(&v->secret) : -ENOMEM;

	if (!err) {
		d->at[0] = segment_new(t, 0);
		err = d->at[0] ? 0 : -ENOMEM;
	}
	if (err) {
		free(t);
		free(v);
		free(d);
		return err;
	}
	v->dir = d;
	v->n_tuples = 1;
	t->s = s;
	t->key_len = s->key_len;
	t->view = v;
	t->pool = (struct box_pool){.s = s, .retired = &t->retired};
	s->store.tuples = t;
	return 0;
}

int tuple_table_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	int err = s->store.tuples ? 0 : table_make(s);
	struct tuple_table *t = s->store.tuples;

	if (!err)
		err = view_own(t);
	if (!err)
		err = dir_own(t, 0);
	if (err)
		return err;
	struct place p = place_for(s, lo, hi);
	err = segment_own(t, p.hash);
	while (!err && segment_at(t->view, p.hash)->n == SEGMENT)
		err = segment_split(t, p.hash);
	return err ? err : box_pool_reserve(&t->pool, p.root, true);
}

int tuple_table_reserve_take(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	int err = view_own(t);

	if (!err)
		err = dir_own(t, 0);
	if (err)
		return err;
	struct place p = place_of(s, elem_lo(e), elem_hi(s, e));
	err = segment_own(t, p.hash);
	return err ? err : box_pool_reserve(&t->pool, p.root, false);
}

void tuple_table_insert(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	struct place p = place_for(s, elem_lo(e), elem_hi(s, e));

	struct segment *g = segment_at(t->view, p.hash);
	int i = group_find(g, p.hash); /* by the root that may go */

	tuple_count(t->view, &p.mask);
	group_put(g, i, p.hash, box_tree_insert(&t->pool, p.root, e));
}

void tuple_table_remove(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	struct place p = place_of(s, elem_lo(e), elem_hi(s, e));
	struct segment *g = segment_at(t->view, p.hash);
	int i = group_find(g, p.hash);
	struct box_node *root = box_tree_remove(&t->pool, p.root, e);

	tuple_drop(t->view, tuple_find(t->view, &p.mask));
	group_put(g, i, p.hash, root);
}

struct set_elem *tuple_table_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	return s->store.tuples ? place_of(s, lo, hi).e : NULL;
}

/* Calls fn for each segment of a version; fn may free it. */
static void segments_each(const struct directory *d, void (*fn)(void *ctx, struct segment *g),
			  void *ctx)
{
	for (size_t i = 0; i < (size_t)1 << d->depth;) {
		struct segment *g = d->at[i];
		i += (size_t)1 << (d->depth - g->depth);
		fn(ctx, g);
	}
}

struct visit {
	unsigned key_len;
	void (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

static void visit_segment(void *ctx, struct segment *g)
{
	struct visit *v = ctx;

	for (unsigned i = 0; i < g->n; i++)
		box_tree_each(g->root[i], v->key_len, v->fn, v->ctx);
}

void tuple_table_each(const struct tuple_table *t, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx)
{
	struct visit v = {t ? t->key_len : 0, fn, ctx};

	if (t)
		segments_each(t->view->dir, visit_segment, &v);
}

static void segment_free(void *ctx, struct segment *g)
{
	const struct tuple_table *t = ctx;

	for (unsigned i = 0; i < g->n; i++)
		box_tree_free(g->root[i], t->key_len);
	free(g);
}

static void retired_free(struct rcu_head *head)
{
	free(head); /* what all objects here begin with */
}

_Static_assert(!offsetof(struct segment, rcu) && !offsetof(struct directory, rcu) &&
		       !offsetof(struct tuple_view, rcu) && !offsetof(struct box_node, rcu),
	       "an object is freed by its head");

void tuple_table_free(struct tuple_table *t)
{
	if (!t)
		return;
	tuple_table_commit(t, NULL);
	segments_each(t->view->dir, segment_free, t);
	free(t->view->dir);
	free(t->view);
	box_pool_free(&t->pool);
	free(t);
}

void tuple_table_begin(struct tuple_table *t)
{
	t->open = true;
	t->pool.stamp++;
	t->base = t->view;
}

void tuple_table_commit(struct tuple_table *t, struct rcu *rcu)
{
	while (t->retired) {
		struct rcu_head *head = t->retired;
		t->retired = head->next;
		rcu_defer(rcu, head, retired_free, head->bytes);
	}
	t->open = false;
}

static void segment_revert(void *ctx, struct segment *g)
{
	struct tuple_table *t = ctx;

	if (g->stamp != stamp_of(t))
		return;
	for (unsigned i = 0; i < g->n; i++)
		box_tree_revert(&t->pool, g->root[i]);
	free(g);
}

void tuple_table_revert(struct tuple_table *t)
{
	struct tuple_view *v = t->view;

	t->retired = NULL; /* they are all in the version before */
	t->open = false;
	t->view = t->base;
	if (v == t->base)
		return;
	if (v->dir->stamp == stamp_of(t)) {
		segments_each(v->dir, segment_revert, t);
		free(v->dir);
	}
	free(v);
}

const struct tuple_view *tuple_table_view(const struct tuple_table *t)
{
	return t ? t->view : NULL;
}

/* --- packet path ---------------------------------------------------------------------------- */

struct set_elem *tuple_view_match(const struct set *s, const struct tuple_view *v,
				  const uint8_t *key, uint64_t now)
{
	struct set_elem *hit = NULL;

	tuple_view_lookup(s, v, key, 0, 1, &now, &hit);
	return hit;
}

/* The groups of a segment that have a tag, as bits; places that are free have the tag 0. */
static inline uint32_t segment_tags(const struct segment *g, uint16_t tag)
{
	uint32_t found = 0;

#ifdef __SSE2__
	const __m128i *line = (const __m128i *)g->tag, want = _mm_set1_epi16((short)tag);
	__m128i low = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_load_si128(line), want),
				      _mm_cmpeq_epi16(_mm_load_si128(line + 1), want));
	__m128i high = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_load_si128(line + 2), want),
				       _mm_cmpeq_epi16(_mm_load_si128(line + 3), want));
	found = (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
#else
	for (unsigned i = 0; i < SEGMENT; i++)
		found |= (uint32_t)(g->tag[i] == tag) << i;
#endif
	return found;
}

/* A burst on its way through the tuples. */
struct search {
	const struct set *s;
	const struct tuple_view *v;
	const uint8_t *keys;
	size_t stride;
	const uint64_t *now;
	bool first; /* the box that came first counts, not any */
	bool any;   /* not even whether it is live */
	uint64_t found;
	struct set_elem *best[SET_BATCH_MAX];
	struct words key[SET_BATCH_MAX];
	uint64_t hash[2][SET_BATCH_MAX];
	const struct segment *segment[SET_BATCH_MAX];
	/* Groups to look at: first where their roots stand, then, up to n_roots, the roots. */
	unsigned n_groups, n_roots;
	struct {
		uint8_t i;
		union {
			struct box_node *const *at;
			const struct box_node *root;
		};
	} group[2 * SET_BATCH_MAX];
};

static void step_hash(struct search *q, uint64_t open, unsigned k)
{
	const struct tuple *u = &q->v->tuple[k];
	const struct directory *d = q->v->dir;
	unsigned words = n_words(q->s->key_len);
	uint64_t *hash = q->hash[k % 2];

	for (uint64_t rest = open; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hash[i] = hash_masked(q->v, words, &q->key[i], u);
		__builtin_prefetch(&d->at[dir_index(d, hash[i])]);
	}
}

static void step_segment(struct search *q, uint64_t open, unsigned k)
{
	const uint64_t *hash = q->hash[k % 2];

	for (uint64_t rest = open; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		q->segment[i] = segment_at(q->v, hash[i]);
		__builtin_prefetch(q->segment[i]->tag);
	}
}

static void look(struct search *q, unsigned i, const struct box_node *root)
{
	if (!q->first && q->found >> i & 1)
		return;
	const uint8_t *key = q->keys + i * q->stride;
	q->best[i] = q->any ? box_tree_any(q->s, root, key)
			    : box_tree_first(q->s, root, key, q->now[i], q->best[i]);
	q->found |= (uint64_t)(q->best[i] != NULL) << i;
}

/* Those whose root is here by now are looked at, of the others it is fetched. */
static void groups_step(struct search *q)
{
	unsigned n = 0;

	for (unsigned g = 0; g < q->n_roots; g++)
		look(q, q->group[g].i, q->group[g].root);
	for (unsigned g = q->n_roots; g < q->n_groups; g++) {
		const struct box_node *root = *q->group[g].at;
		if (!root)
			continue;
		q->group[n].i = q->group[g].i;
		q->group[n++].root = root;
		__builtin_prefetch(root);
		__builtin_prefetch((const char *)root + 64);
		__builtin_prefetch((const char *)root + 128);
	}
	q->n_groups = q->n_roots = n;
}

static void step_tags(struct search *q, uint64_t open, unsigned k)
{
	const uint64_t *hash = q->hash[k % 2];

	for (uint64_t rest = open; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const struct segment *g = q->segment[i];
		for (uint32_t tags = segment_tags(g, (uint16_t)hash[i]); tags; tags &= tags - 1) {
			struct box_node *const *at = &g->root[__builtin_ctz(tags)];
			while (q->n_groups == ARRAY_SIZE(q->group))
				groups_step(q);
			q->group[q->n_groups].i = (uint8_t)i;
			q->group[q->n_groups++].at = at;
			__builtin_prefetch(at);
		}
	}
}

uint64_t tuple_view_lookup(const struct set *s, const struct tuple_view *v, const uint8_t *keys,
			   size_t stride, uint64_t mask, const uint64_t *now, struct set_elem **hit)
{
	struct search q;

	if (!v)
		return 0;
	q.s = s;
	q.v = v;
	q.keys = keys;
	q.stride = stride;
	q.now = now;
	q.first = hit;
	q.any = !hit && !s->desc.timeout;
	q.found = 0;
	q.n_groups = q.n_roots = 0;
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		key_words(keys + i * stride, s->key_len, &q.key[i]);
		q.best[i] = NULL;
	}
	unsigned begin = v->tuple[0].n ? 0 : 1;
	if (begin < v->n_tuples)
		step_hash(&q, mask, begin);
	for (unsigned k = begin; k < v->n_tuples; k++) {
		uint64_t open = q.first ? mask : mask & ~q.found;
		step_segment(&q, open, k);
		groups_step(&q);
		open = q.first ? mask : mask & ~q.found;
		if (k + 1 < v->n_tuples)
			step_hash(&q, open, k + 1);
		step_tags(&q, open, k);
	}
	while (q.n_groups)
		groups_step(&q);
	for (uint64_t rest = hit ? q.found : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hit[i] = q.best[i];
	}
	return q.found;
}
