/* SPDX-License-Identifier: Apache-2.0 */
/* tuple_table: see tuple_table.h. */
#include "set/tuple_table.h"

#include "set/tuple_dir.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WORDS = SET_KEY_MAX / 8, GROUP_MOST = BOX_FANOUT };

_Static_assert(WORDS % 2 == 0, "they are hashed in pairs");

/*
 * A key in words; what is left over at its end is read again from 4 or 8 bytes before it. Behind an
 * odd number of words is one of zeros.
 */
struct words {
	uint64_t w[WORDS];
};

struct tuple {
	struct words mask;
	uint64_t seed; /* of its hashes */
	size_t n;      /* boxes */
};

struct tuple_view {
	struct rcu_head rcu;
	uint64_t stamp;
	struct hash_secret secret;
	struct tuple_dir dir;
	unsigned n_tuples;
	struct tuple tuple[TUPLE_MAX]; /* the first masks everything away */
};

struct tuple_table {
	const struct set *s;
	unsigned key_len;
	struct tuple_view *view, *base; /* base: of the version before the open one */
	struct box_version version;
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
		out->w[i++] = len > 8 ? load(key + len - 8, 8) : load(key, len);
	if (i % 2)
		out->w[i] = 0;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t hash_pair(uint64_t h, const struct hash_secret *secret, uint64_t a,
				 uint64_t b)
{
	return mix(h ^ a, secret->k[1] ^ b);
}

static inline uint64_t hash_masked(const struct tuple_view *v, unsigned words,
				   const struct words *key, const struct tuple *t)
{
	uint64_t h = t->seed;

	for (unsigned i = 0; i < words; i += 2)
		h = hash_pair(h, &v->secret, key->w[i] & t->mask.w[i],
			      key->w[i + 1] & t->mask.w[i + 1]);
	return h;
}

/* How a box is masked: the more there is in its group, the finer. */
enum level { COARSE, MIDDLE, FINE, LEVELS };

/*
 * Leading bits that a tuple looks at, of `same` that both ends of a range have in common. Ports and
 * protocols tell little where there are addresses, n_long of them: none of theirs, for the sake of
 * few tuples. Two addresses have the tuples of each multiplied.
 */
static unsigned step_down(unsigned len, unsigned same, unsigned n_long, enum level level)
{
	if (len <= 2)
		return same == 8 * len && !n_long ? same : 0;
	if (same == 8 * len || level == FINE)
		return same;
	if (same < 8)
		return 0;
	if (same > 32)
		return same & ~15U;
	return level == COARSE && n_long > 1 ? same & ~7U : same & ~3U;
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

static struct words mask_of(const struct set *s, const uint8_t *lo, const uint8_t *hi,
			    enum level level)
{
	uint8_t mask[SET_KEY_MAX] = {0};
	struct words out = {0};
	unsigned n_long = 0;

	for (unsigned f = 0; f < s->desc.n_fields; f++)
		n_long += s->desc.field_len[f] > 2;
	for (unsigned f = 0, at = 0; f < s->desc.n_fields; at += s->desc.field_len[f++]) {
		unsigned len = s->desc.field_len[f];
		unsigned bits = step_down(len, bits_same(lo + at, hi + at, len), n_long, level);
		memset(mask + at, 0xff, bits / 8);
		if (bits % 8)
			mask[at + bits / 8] = (uint8_t)(0xff00 >> bits % 8);
	}
	key_words(mask, s->key_len, &out);
	return out;
}

/* --- versions ------------------------------------------------------------------------------- */

static int view_own(struct tuple_table *t)
{
	struct tuple_view *old = t->view;

	if (old->stamp == t->version.stamp)
		return 0;
	struct tuple_view *v = malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = *old;
	v->stamp = t->version.stamp;
	box_version_retire(&t->version, &old->rcu, sizeof(*old));
	t->view = v;
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

static struct tuple tuple_make(const struct tuple_view *v, const struct words *mask)
{
	struct tuple u = {.mask = *mask, .seed = v->secret.k[0]};

	for (unsigned i = 0; i < WORDS; i += 2)
		u.seed = hash_pair(u.seed, &v->secret, mask->w[i], mask->w[i + 1]);
	return u;
}

/* Its tuple, or the one where it must be if there are too many; it need not be in the view yet. */
static struct tuple tuple_for(struct tuple_view *v, const struct words *mask)
{
	const struct tuple *u = tuple_find(v, mask);

	if (u)
		return *u;
	return v->n_tuples == TUPLE_MAX ? v->tuple[0] : tuple_make(v, mask);
}

static void tuple_count(struct tuple_view *v, const struct words *mask)
{
	struct tuple *u = tuple_find(v, mask);

	if (!u) {
		u = &v->tuple[v->n_tuples++];
		*u = tuple_make(v, mask);
	}
	u->n++;
}

static void tuple_drop(struct tuple_view *v, struct tuple *u)
{
	if (!--u->n && u != &v->tuple[0])
		*u = v->tuple[--v->n_tuples];
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

	p.root = tuple_dir_find(&t->view->dir, p.hash);
	return p;
}

static struct place place_of(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct tuple_table *t = s->store.tuples;
	struct place p = {0};

	for (unsigned level = 0; level <= LEVELS && !p.e; level++) {
		const struct tuple *u = &t->view->tuple[0];
		if (level < LEVELS) {
			struct words mask = mask_of(s, lo, hi, level);
			u = tuple_find(t->view, &mask);
		}
		if (!u)
			continue;
		p = place_in(t, lo, u);
		p.e = box_tree_find(s, p.root, lo, hi);
	}
	return p;
}

/* Where a new box is to stand. */
static struct place place_for(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	const struct tuple_table *t = s->store.tuples;
	struct place p = {0};

	for (unsigned level = 0; level < LEVELS; level++) {
		struct words mask = mask_of(s, lo, hi, level);
		struct tuple u = tuple_for(t->view, &mask);
		p = place_in(t, lo, &u);
		if (!p.root || (!p.root->height && p.root->n < GROUP_MOST))
			break;
	}
	return p;
}

/* --- changes -------------------------------------------------------------------------------- */

static int table_make(struct set *s)
{
	struct tuple_table *t = calloc(1, sizeof(*t));
	struct tuple_view *v = calloc(1, sizeof(*v));
	int err = t && v ? hash_secret_draw(&v->secret) : -ENOMEM;

	if (!err)
		err = tuple_dir_make(&v->dir, &t->version);
	if (err) {
		free(t);
		free(v);
		return err;
	}
	v->n_tuples = 1;
	v->tuple[0] = tuple_make(v, &(struct words){0});
	t->s = s;
	t->key_len = s->key_len;
	t->view = v;
	t->pool = (struct box_pool){.s = s, .version = &t->version};
	s->store.tuples = t;
	return 0;
}

int tuple_table_reserve(struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	int err = s->store.tuples ? 0 : table_make(s);
	struct tuple_table *t = s->store.tuples;

	if (!err)
		err = view_own(t);
	if (err)
		return err;
	struct place p = place_for(s, lo, hi);
	err = tuple_dir_reserve(&t->view->dir, &t->version, p.hash, !p.root);
	return err ? err : box_pool_reserve(&t->pool, p.root, true);
}

int tuple_table_reserve_take(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	int err = view_own(t);

	if (err)
		return err;
	struct place p = place_of(s, elem_lo(e), elem_hi(s, e));
	err = tuple_dir_reserve(&t->view->dir, &t->version, p.hash, false);
	return err ? err : box_pool_reserve(&t->pool, p.root, false);
}

void tuple_table_insert(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	struct place p = place_for(s, elem_lo(e), elem_hi(s, e));
	int at = tuple_dir_place(&t->view->dir, p.hash); /* by the root that may go */

	tuple_count(t->view, &p.mask);
	tuple_dir_put(&t->view->dir, p.hash, at, box_tree_insert(&t->pool, p.root, e));
}

void tuple_table_remove(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	struct place p = place_of(s, elem_lo(e), elem_hi(s, e));
	int at = tuple_dir_place(&t->view->dir, p.hash);

	tuple_drop(t->view, tuple_find(t->view, &p.mask));
	tuple_dir_put(&t->view->dir, p.hash, at, box_tree_remove(&t->pool, p.root, e));
}

struct set_elem *tuple_table_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	return s->store.tuples ? place_of(s, lo, hi).e : NULL;
}

struct visit {
	unsigned key_len;
	void (*fn)(void *ctx, struct set_elem *e);
	void *ctx;
};

static void visit_group(void *ctx, struct box_node *root)
{
	struct visit *v = ctx;

	box_tree_each(root, v->key_len, v->fn, v->ctx);
}

void tuple_table_each(const struct tuple_table *t, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx)
{
	struct visit v = {t ? t->key_len : 0, fn, ctx};

	if (t)
		tuple_dir_each(&t->view->dir, visit_group, &v);
}

static void group_free(void *ctx, struct box_node *root)
{
	const struct tuple_table *t = ctx;

	box_tree_free(root, t->key_len);
}

static void retired_free(struct rcu_head *head)
{
	free(head); /* what all objects here begin with */
}

_Static_assert(!offsetof(struct tuple_view, rcu) && !offsetof(struct box_node, rcu),
	       "an object is freed by its head");

void tuple_table_free(struct tuple_table *t)
{
	if (!t)
		return;
	tuple_table_commit(t, NULL);
	tuple_dir_free(&t->view->dir, NULL, group_free, t);
	free(t->view);
	box_pool_free(&t->pool);
	free(t);
}

void tuple_table_begin(struct tuple_table *t)
{
	t->open = true;
	t->version.stamp++;
	t->base = t->view;
}

void tuple_table_commit(struct tuple_table *t, struct rcu *rcu)
{
	while (t->version.retired) {
		struct rcu_head *head = t->version.retired;
		t->version.retired = head->next;
		rcu_defer(rcu, head, retired_free, head->bytes);
	}
	t->open = false;
}

static void group_revert(void *ctx, struct box_node *root)
{
	struct tuple_table *t = ctx;

	box_tree_revert(&t->pool, root);
}

void tuple_table_revert(struct tuple_table *t)
{
	struct tuple_view *v = t->view;

	t->version.retired = NULL; /* they are all in the version before */
	t->open = false;
	t->view = t->base;
	if (v == t->base)
		return;
	tuple_dir_free(&v->dir, &t->version, group_revert, t);
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
static inline uint32_t segment_tags(const struct tuple_segment *g, uint16_t tag)
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
	for (unsigned i = 0; i < TUPLE_SEGMENT; i++)
		found |= (uint32_t)(g->tag[i] == tag) << i;
#endif
	return found;
}

/* One key in one tuple. */
struct probe {
	union {
		const struct tuple_entry *entry;
		const struct tuple_segment *segment;
	};
	uint16_t tag;
	uint8_t i; /* of the key */
};

enum { PROBES = 64 };

/*
 * A burst on its way through the tuples, up to 64 probes at a time: many keys in one tuple, or few
 * keys in many. Each step fetches what the next one looks at: entries, then of those that may have
 * a group the tags of their segments, where roots of groups stand, and roots.
 */
struct search {
	const struct set *s;
	const struct tuple_view *v;
	const uint8_t *keys;
	size_t stride;
	const uint64_t *now;
	bool first; /* the box that came first counts, not any */
	bool any;   /* not even whether it is live */
	uint64_t mask, found;
	unsigned tuple; /* the next probes: of this one */
	uint64_t rest;	/* these keys, then of the next */
	struct set_elem *best[SET_BATCH_MAX];
	struct words key[SET_BATCH_MAX];
	struct probe entries[2][PROBES], tags[PROBES];
	unsigned n_entries[2], n_tags;
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

static inline void probe_put(const struct tuple_view *v, struct probe *p, unsigned i, uint64_t hash)
{
	*p = (struct probe){{.entry = tuple_dir_entry(&v->dir, hash)}, (uint16_t)hash, (uint8_t)i};
	__builtin_prefetch(p->entry);
}

/* Probes of q->rest in one tuple; returns how many there are then. */
static unsigned step_tuple(struct search *q, struct probe *p, unsigned n, const struct tuple *u)
{
	const struct tuple_view *v = q->v;
	unsigned words = n_words(q->s->key_len);
	struct hash_secret secret = v->secret;
	uint64_t a = u->mask.w[0], b = u->mask.w[1], seed = u->seed;

	for (; q->rest && n < PROBES; q->rest &= q->rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(q->rest);
		const struct words *key = &q->key[i];
		uint64_t hash = words <= 2 ? hash_pair(seed, &secret, key->w[0] & a, key->w[1] & b)
					   : hash_masked(v, words, key, u);
		probe_put(v, &p[n++], i, hash);
	}
	return n;
}

static unsigned step_hash(struct search *q, struct probe *p)
{
	unsigned n = 0;

	while (q->tuple < q->v->n_tuples && n < PROBES) {
		n = step_tuple(q, p, n, &q->v->tuple[q->tuple]);
		if (q->rest)
			break;
		q->tuple++;
		q->rest = q->first ? q->mask : q->mask & ~q->found;
	}
	return n;
}

static void step_filter(struct search *q, const struct probe *p, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct probe *to = &q->tags[q->n_tags];
		const struct tuple_entry *e = p[k].entry;
		*to = (struct probe){{.segment = e->segment}, p[k].tag, p[k].i};
		if (!tuple_entry_may(e, p[k].tag))
			continue;
		q->n_tags++;
		__builtin_prefetch(to->segment->tag);
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
static void step_groups(struct search *q)
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
		__builtin_prefetch((const char *)root + 192);
	}
	q->n_groups = q->n_roots = n;
}

static void step_tags(struct search *q)
{
	for (unsigned k = 0; k < q->n_tags; k++) {
		const struct tuple_segment *g = q->tags[k].segment;
		for (uint32_t tags = segment_tags(g, q->tags[k].tag); tags; tags &= tags - 1) {
			struct box_node *const *at = &g->root[__builtin_ctz(tags)];
			while (q->n_groups == ARRAY_SIZE(q->group))
				step_groups(q);
			q->group[q->n_groups].i = q->tags[k].i;
			q->group[q->n_groups++].at = at;
			__builtin_prefetch(at);
		}
	}
	q->n_tags = 0;
}

static void search_run(struct search *q)
{
	q->n_entries[0] = step_hash(q, q->entries[0]);
	for (unsigned turn = 0; q->n_entries[turn] || q->n_tags || q->n_groups; turn ^= 1) {
		q->n_entries[turn ^ 1] = step_hash(q, q->entries[turn ^ 1]);
		step_groups(q);
		step_tags(q);
		step_filter(q, q->entries[turn], q->n_entries[turn]);
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
	q.mask = q.rest = mask;
	q.found = 0;
	q.tuple = v->tuple[0].n ? 0 : 1;
	q.n_tags = q.n_groups = q.n_roots = 0;
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		key_words(keys + i * stride, s->key_len, &q.key[i]);
		q.best[i] = NULL;
	}
	search_run(&q);
	for (uint64_t rest = hit ? q.found : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hit[i] = q.best[i];
	}
	return q.found;
}
