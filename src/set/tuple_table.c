/* SPDX-License-Identifier: Apache-2.0 */
/* tuple_table: see tuple_table.h. */
#include "set/tuple_table.h"

#include "set/box_tree.h"

enum { TUPLES = 64, WORDS = SET_KEY_MAX / 8, SLOTS_MIN = 16, MOVE_STEP = 8, PACK_MOST = 8 };

/* A key in words; what is left over at its end is read again from 4 or 8 bytes before it. */
struct words {
	uint64_t w[WORDS];
};

struct tuple {
	struct words mask;
	size_t n; /* boxes */
};

/* A few boxes with their bounds beside each other. */
struct pack {
	uint32_t n;
	uint32_t unused;
	uint8_t box[]; /* the element, then lo and hi */
};

struct group {
	uint64_t hash;
	uintptr_t boxes; /* a pack, or with bit 0 a box_tree; 0: the place is free */
};

struct groups {
	struct group *at;
	size_t size; /* a power of two, or 0 */
	size_t n;
};

struct tuple_table {
	const struct set *s;
	struct hash_secret secret;
	unsigned n_tuples;
	struct tuple tuple[TUPLES]; /* the first masks everything away */
	struct groups now, old;
	size_t moved; /* places of old that are empty, from the first on */
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

static inline uint64_t hash_masked(const struct set *s, const struct words *key,
				   const struct tuple *t)
{
	const struct hash_secret *secret = &s->store.tuples->secret;
	uint64_t h = secret->k[0];

	for (unsigned i = 0, n = n_words(s->key_len); i < n; i++)
		h = mix(h ^ (key->w[i] & t->mask.w[i]), (secret->k[1] ^ t->mask.w[i]) | 1);
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

/* --- tuples --------------------------------------------------------------------------------- */

/* The tuple with a mask, or NULL. */
static struct tuple *tuple_find(struct tuple_table *t, const struct words *mask)
{
	for (unsigned i = 0; i < t->n_tuples; i++)
		if (!memcmp(&t->tuple[i].mask, mask, sizeof(*mask)))
			return &t->tuple[i];
	return NULL;
}

static struct tuple *tuple_make(struct tuple_table *t, const struct words *mask)
{
	struct tuple *u = tuple_find(t, mask);

	if (u)
		return u;
	if (t->n_tuples == TUPLES)
		return &t->tuple[0];
	u = &t->tuple[t->n_tuples++];
	*u = (struct tuple){.mask = *mask};
	return u;
}

static void tuple_drop(struct tuple_table *t, struct tuple *u)
{
	if (!--u->n && u != &t->tuple[0])
		*u = t->tuple[--t->n_tuples];
}

/* --- boxes of a group ----------------------------------------------------------------------- */

static inline struct set_elem *boxes_tree(uintptr_t boxes)
{
	return boxes & 1 ? (struct set_elem *)(boxes & ~(uintptr_t)1) : NULL;
}

static inline size_t box_size(const struct set *s)
{
	return (sizeof(struct set_elem *) + 2 * s->key_len + 7) & ~7U;
}

static inline struct set_elem **pack_elem(const struct set *s, struct pack *p, unsigned i)
{
	return (struct set_elem **)(p->box + i * box_size(s));
}

static uintptr_t pack_unfold(const struct set *s, struct pack *p)
{
	struct set_elem *root = NULL;

	for (unsigned i = 0; i < p->n; i++)
		root = box_tree_insert(s, root, *pack_elem(s, p, i));
	free(p);
	return (uintptr_t)root | 1;
}

static bool boxes_have_room(uintptr_t boxes)
{
	return !(boxes & 1) && ((struct pack *)boxes)->n < PACK_MOST;
}

/* Adds a box. What does not fit into a pack, or finds no memory for one, is a tree. */
static uintptr_t boxes_add(const struct set *s, uintptr_t boxes, struct set_elem *e)
{
	struct pack *p = boxes & 1 ? NULL : (struct pack *)boxes;
	unsigned n = p ? p->n : 0;

	if (!boxes || boxes_have_room(boxes)) {
		struct pack *new = realloc(p, sizeof(*p) + (n + 1) * box_size(s));
		if (new) {
			new->n = n + 1;
			*pack_elem(s, new, n) = e;
			memcpy(pack_elem(s, new, n) + 1, elem_lo(e), 2 * s->key_len);
			return (uintptr_t) new;
		}
	}
	if (p)
		boxes = pack_unfold(s, p);
	return (uintptr_t)box_tree_insert(s, boxes_tree(boxes), e) | 1;
}

/* Takes a box out; 0 if none is left. */
static uintptr_t boxes_take(const struct set *s, uintptr_t boxes, struct set_elem *e)
{
	struct pack *p = (struct pack *)boxes;
	unsigned i = 0;

	if (boxes & 1) {
		struct set_elem *root = box_tree_remove(s, boxes_tree(boxes), e);
		return root ? (uintptr_t)root | 1 : 0;
	}
	while (*pack_elem(s, p, i) != e)
		i++;
	if (--p->n) {
		memcpy(pack_elem(s, p, i), pack_elem(s, p, p->n), box_size(s));
		return boxes;
	}
	free(p);
	return 0;
}

static struct set_elem *boxes_find(const struct set *s, uintptr_t boxes, const uint8_t *lo,
				   const uint8_t *hi)
{
	struct pack *p = (struct pack *)boxes;

	if (boxes & 1)
		return box_tree_find(s, boxes_tree(boxes), lo, hi);
	for (unsigned i = 0; i < p->n; i++) {
		struct set_elem *e = *pack_elem(s, p, i);
		if (!memcmp(elem_lo(e), lo, s->key_len) && !memcmp(elem_hi(s, e), hi, s->key_len))
			return e;
	}
	return NULL;
}

static struct set_elem *boxes_first(const struct set *s, uintptr_t boxes, const uint8_t *key,
				    uint64_t now, struct set_elem *best)
{
	struct pack *p = (struct pack *)boxes;

	if (boxes & 1)
		return box_tree_first(s, boxes_tree(boxes), key, now, best);
	for (unsigned i = 0; i < p->n; i++) {
		struct set_elem *const *at = pack_elem(s, p, i);
		const uint8_t *lo = (const uint8_t *)(at + 1);
		if (box_holds(s, lo, lo + s->key_len, key) && elem_live(*at, now) &&
		    (!best || (*at)->seq < best->seq))
			best = *at;
	}
	return best;
}

/* fn may free the elements. */
static void boxes_each(const struct set *s, uintptr_t boxes,
		       void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	struct pack *p = (struct pack *)boxes;

	if (boxes & 1)
		box_tree_each(boxes_tree(boxes), fn, ctx);
	else
		for (unsigned i = 0; p && i < p->n; i++)
			fn(ctx, *pack_elem(s, p, i));
}

/* --- groups --------------------------------------------------------------------------------- */

/* The place of a hash, or the free one where it would be. */
static inline struct group *group_at(const struct groups *g, uint64_t hash)
{
	size_t i = hash & (g->size - 1);

	while (g->at[i].boxes && g->at[i].hash != hash)
		i = (i + 1) & (g->size - 1);
	return &g->at[i];
}

static struct group *group_find(const struct tuple_table *t, uint64_t hash)
{
	struct group *g = group_at(&t->now, hash);

	if (!g->boxes && t->old.n)
		g = group_at(&t->old, hash);
	return g->boxes ? g : NULL;
}

/* Frees a place; those behind it that it was in the way of move up. */
static void group_drop(struct groups *g, struct group *gone)
{
	size_t hole = (size_t)(gone - g->at), i = hole;

	for (;;) {
		i = (i + 1) & (g->size - 1);
		if (!g->at[i].boxes)
			break;
		size_t home = g->at[i].hash & (g->size - 1);
		if (((i - home) & (g->size - 1)) >= ((i - hole) & (g->size - 1))) {
			g->at[hole] = g->at[i];
			hole = i;
		}
	}
	g->at[hole].boxes = 0;
	g->n--;
}

static void group_put(struct tuple_table *t, uint64_t hash, uintptr_t boxes)
{
	*group_at(&t->now, hash) = (struct group){hash, boxes};
	t->now.n++;
}

/* Moves some groups from the old table to the new one. */
static void groups_move(struct tuple_table *t, size_t steps)
{
	while (t->old.n && steps) {
		struct group *g = &t->old.at[t->moved & (t->old.size - 1)];
		if (!g->boxes) {
			t->moved++;
			steps--;
			continue;
		}
		group_put(t, g->hash, g->boxes);
		group_drop(&t->old, g); /* another one may stand there now */
	}
	if (!t->old.n) {
		free(t->old.at);
		t->old = (struct groups){0};
	}
}

int tuple_table_reserve(struct set *s, size_t n)
{
	struct tuple_table *t = s->store.tuples;

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		int err = hash_secret_draw(&t->secret);
		if (err) {
			free(t);
			return err;
		}
		t->n_tuples = 1;
		t->s = s;
		s->store.tuples = t;
	}
	groups_move(t, MOVE_STEP);
	size_t want = t->now.n + t->old.n + n;
	if (2 * want <= t->now.size)
		return 0;
	groups_move(t, SIZE_MAX);
	size_t size = MAX(t->now.size, (size_t)SLOTS_MIN);
	while (size < 2 * want)
		size *= 2;
	struct group *at = calloc(size, sizeof(*at));
	if (!at)
		return -ENOMEM;
	t->old = t->now;
	t->now = (struct groups){at, size, 0};
	t->moved = 0;
	groups_move(t, MOVE_STEP);
	return 0;
}

static void groups_free(struct groups *g)
{
	for (size_t i = 0; i < g->size; i++)
		if (!(g->at[i].boxes & 1))
			free((struct pack *)g->at[i].boxes);
	free(g->at);
}

void tuple_table_free(struct tuple_table *t)
{
	if (!t)
		return;
	groups_free(&t->now);
	groups_free(&t->old);
	free(t);
}

/* --- boxes ---------------------------------------------------------------------------------- */

static uint64_t box_hash(const struct set *s, const uint8_t *lo, const struct tuple *u)
{
	struct words key;

	key_words(lo, s->key_len, &key);
	return hash_masked(s, &key, u);
}

/* Where a box stands: its tuple and its group. */
struct place {
	struct tuple *tuple;
	struct group *group;
	struct set_elem *e; /* NULL: nowhere */
};

static struct place place_of(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	struct tuple_table *t = s->store.tuples;
	struct words coarse = mask_of(s, lo, hi, false), fine = mask_of(s, lo, hi, true);
	struct tuple *u[] = {tuple_find(t, &coarse), tuple_find(t, &fine), &t->tuple[0]};
	struct place p = {0};

	for (unsigned i = 0; i < ARRAY_SIZE(u) && !p.e; i++) {
		struct group *g = u[i] ? group_find(t, box_hash(s, lo, u[i])) : NULL;
		struct set_elem *e = g ? boxes_find(s, g->boxes, lo, hi) : NULL;
		if (e)
			p = (struct place){u[i], g, e};
	}
	return p;
}

struct set_elem *tuple_table_find(const struct set *s, const uint8_t *lo, const uint8_t *hi)
{
	return s->store.n ? place_of(s, lo, hi).e : NULL;
}

void tuple_table_insert(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	const uint8_t *lo = elem_lo(e), *hi = elem_hi(s, e);
	struct words mask = mask_of(s, lo, hi, false);
	struct tuple *u = tuple_make(t, &mask);
	uint64_t hash = box_hash(s, lo, u);
	struct group *g = group_find(t, hash);

	if (g && !boxes_have_room(g->boxes)) {
		mask = mask_of(s, lo, hi, true);
		u = tuple_make(t, &mask);
		hash = box_hash(s, lo, u);
		g = group_find(t, hash);
	}
	uintptr_t boxes = boxes_add(s, g ? g->boxes : 0, e);

	u->n++;
	if (g)
		g->boxes = boxes;
	else
		group_put(t, hash, boxes);
}

void tuple_table_remove(struct set *s, struct set_elem *e)
{
	struct tuple_table *t = s->store.tuples;
	struct place p = place_of(s, elem_lo(e), elem_hi(s, e));
	uintptr_t boxes = boxes_take(s, p.group->boxes, e);
	bool is_now = p.group >= t->now.at && p.group < t->now.at + t->now.size;

	if (boxes)
		p.group->boxes = boxes;
	else
		group_drop(is_now ? &t->now : &t->old, p.group);
	tuple_drop(t, p.tuple);
}

static void groups_each(const struct set *s, const struct groups *g,
			void (*fn)(void *ctx, struct set_elem *e), void *ctx)
{
	for (size_t i = 0; i < g->size; i++)
		boxes_each(s, g->at[i].boxes, fn, ctx);
}

void tuple_table_each(const struct tuple_table *t, void (*fn)(void *ctx, struct set_elem *e),
		      void *ctx)
{
	if (!t)
		return;
	groups_each(t->s, &t->now, fn, ctx);
	groups_each(t->s, &t->old, fn, ctx);
}

/* --- packet path ---------------------------------------------------------------------------- */

struct set_elem *tuple_table_match(const struct set *s, const uint8_t *key, uint64_t now)
{
	struct set_elem *hit = NULL;

	tuple_table_lookup(s, key, 0, 1, &now, &hit);
	return hit;
}

/* The keys of a burst under one tuple, on their way through the table. */
struct wave {
	uint64_t hash[SET_BATCH_MAX];
	struct group *group[SET_BATCH_MAX];
	uint64_t found; /* keys that have a group */
};

static void wave_hash(const struct set *s, const struct words *key, uint64_t mask,
		      const struct tuple *u, struct wave *w)
{
	const struct tuple_table *t = s->store.tuples;

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		w->hash[i] = hash_masked(s, &key[i], u);
		__builtin_prefetch(&t->now.at[w->hash[i] & (t->now.size - 1)]);
	}
}

static void wave_find(const struct set *s, uint64_t mask, struct wave *w)
{
	const struct tuple_table *t = s->store.tuples;

	w->found = 0;
	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		struct group *g = group_find(t, w->hash[i]);
		if (!g)
			continue;
		w->group[i] = g;
		w->found |= 1ULL << i;
		const char *boxes = (const char *)(g->boxes & ~(uintptr_t)1);
		__builtin_prefetch(boxes);
		__builtin_prefetch(boxes + 64);
	}
}

uint64_t tuple_table_lookup(const struct set *s, const uint8_t *keys, size_t stride, uint64_t mask,
			    const uint64_t *now, struct set_elem **hit)
{
	const struct tuple_table *t = s->store.tuples;
	struct words key[SET_BATCH_MAX];
	struct set_elem *best[SET_BATCH_MAX];
	struct wave wave[2];
	uint64_t found = 0;
	unsigned first = t->tuple[0].n ? 0 : 1, end = t->n_tuples;

	for (uint64_t rest = mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		key_words(keys + i * stride, s->key_len, &key[i]);
		best[i] = NULL;
	}
	if (first < end)
		wave_hash(s, key, mask, &t->tuple[first], &wave[first % 2]);
	for (unsigned k = first; k < end; k++) {
		struct wave *w = &wave[k % 2];
		uint64_t open = hit ? mask : mask & ~found; /* the first to come counts, or any */
		wave_find(s, open, w);
		if (k + 1 < end)
			wave_hash(s, key, open, &t->tuple[k + 1], &wave[(k + 1) % 2]);
		for (uint64_t rest = w->found; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctzll(rest);
			best[i] = boxes_first(s, w->group[i]->boxes, keys + i * stride, now[i],
					      best[i]);
			found |= (uint64_t)(best[i] != NULL) << i;
		}
	}
	for (uint64_t rest = hit ? found : 0; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		hit[i] = best[i];
	}
	return found;
}
