/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_listed: which elements of a set stand in the text that declares it.
 *
 * A reload gives up those of them that the new text lists no more, and keeps what came otherwise:
 * by commands of their own and from packets. What is noted are keys, one after the other as they
 * come, in pieces that do not move: first and last of ranges, 4 bytes of an IPv4 address. A key
 * that a command deletes is noted too; the last note of a key counts. A transaction goes back to
 * where it began by forgetting the last notes; a flush keeps them aside until the end of it.
 *
 * Cost: O(1) a note; sorting them all (16 bytes each meanwhile) when a reload asks, and when there
 * are twice as many as elements.
 */
#include <stdlib.h>

#include "model/model_internal.h"

enum { PIECE_FIRST = 16, PIECE_MOST = 16384, SLACK = 1024 };

/* The newest is the head. */
struct piece {
	struct piece *before;
	uint32_t n, cap;
	uint8_t keys[];
};

struct listed {
	struct piece *last;
	uint64_t n;	     /* notes in all pieces */
	VEC(uint64_t) drops; /* those of them that say that a key went, rising */
	bool catchall;
	uint64_t sort_at; /* so many are to be put in order */
	/* As it was when the open transaction touched the set. */
	uint64_t mark, drops_mark;
	bool catchall_mark;
	struct listed *flushed; /* what a flush within it put aside */
};

struct note {
	const uint8_t *key;
	uint64_t at;
};

struct listed_index {
	const struct listed *l;
	unsigned len, key_len;
	size_t n;
	struct note note[]; /* sorted by key, each once */
};

/* What a note takes: both ends where elements may be ranges. */
static unsigned note_len(const struct model_set *s)
{
	return set_key_len(s->set) * (set_desc_of(s->set)->interval ? 2 : 1);
}

static int piece_add(struct listed *l, unsigned len)
{
	uint32_t cap = l->last ? MIN(l->last->cap * 2, (uint32_t)PIECE_MOST) : PIECE_FIRST;
	struct piece *p = malloc(sizeof(*p) + (size_t)cap * len);

	if (!p)
		return -ENOMEM;
	p->before = l->last;
	p->n = 0;
	p->cap = cap;
	l->last = p;
	return 0;
}

static int note_push(struct listed *l, const struct model_set *s, const struct set_item *item)
{
	unsigned len = note_len(s), key_len = set_key_len(s->set);

	if ((!l->last || l->last->n == l->last->cap) && piece_add(l, len))
		return -ENOMEM;
	uint8_t *key = l->last->keys + (size_t)l->last->n * len;
	memcpy(key, item->lo, key_len);
	if (len > key_len)
		memcpy(key + key_len, item->hi ? item->hi : item->lo, key_len);
	l->last->n++;
	l->n++;
	return 0;
}

static struct listed *listed_of(struct model_set *s)
{
	if (!s->listed)
		s->listed = calloc(1, sizeof(*s->listed));
	return s->listed;
}

int listed_add(struct model_set *s, const struct set_item *item)
{
	struct listed *l = listed_of(s);

	if (!l)
		return -ENOMEM;
	if (item->catchall)
		l->catchall = true;
	return item->catchall ? 0 : note_push(l, s, item);
}

int listed_drop(struct model_set *s, const struct set_item *item)
{
	struct listed *l = s->listed;

	if (l && item->catchall)
		l->catchall = false;
	if (!l || item->catchall)
		return 0;
	int err = vec_reserve(&l->drops, l->drops.n + 1);
	if (!err)
		err = note_push(l, s, item);
	if (!err)
		l->drops.items[l->drops.n++] = l->n - 1;
	return err;
}

/* --- asking --------------------------------------------------------------------------------- */

static int note_cmp(const void *a, const void *b, void *ctx)
{
	const struct note *x = a, *y = b;
	int c = memcmp(x->key, y->key, *(const unsigned *)ctx);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static bool is_drop(const struct listed *l, uint64_t at)
{
	size_t from = 0, to = l->drops.n;

	while (from < to) {
		size_t mid = (from + to) / 2;
		if (l->drops.items[mid] < at)
			from = mid + 1;
		else
			to = mid;
	}
	return from < l->drops.n && l->drops.items[from] == at;
}

int listed_index_make(const struct model_set *s, struct listed_index **out)
{
	const struct listed *l = s->listed;
	unsigned len = note_len(s);
	size_t n = l ? l->n : 0, kept = 0;
	struct listed_index *x = malloc(sizeof(*x) + n * sizeof(x->note[0]));

	if (!x)
		return -ENOMEM;
	*x = (struct listed_index){l, len, set_key_len(s->set), 0};
	for (struct piece *p = l ? l->last : NULL; p; p = p->before)
		for (uint32_t i = p->n; i--;) {
			n--;
			x->note[n] = (struct note){p->keys + (size_t)i * len, n};
		}
	n = l ? l->n : 0;
	qsort_r(x->note, n, sizeof(x->note[0]), note_cmp, &len);
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && !memcmp(x->note[i].key, x->note[i + 1].key, len))
			continue;
		if (!is_drop(l, x->note[i].at))
			x->note[kept++] = x->note[i];
	}
	x->n = kept;
	*out = x;
	return 0;
}

bool listed_index_has(const struct listed_index *x, const struct set_view *v)
{
	uint8_t key[2 * SET_KEY_MAX];
	size_t from = 0, to = x->n;

	if (v->catchall)
		return x->l && x->l->catchall;
	memcpy(key, v->lo, x->key_len);
	if (x->len > x->key_len)
		memcpy(key + x->key_len, v->hi, x->key_len);
	while (from < to) {
		size_t mid = (from + to) / 2;
		if (memcmp(x->note[mid].key, key, x->len) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from < x->n && !memcmp(x->note[from].key, key, x->len);
}

void listed_index_free(struct listed_index *x)
{
	free(x);
}

/* --- transactions --------------------------------------------------------------------------- */

static void one_free(struct listed *l)
{
	while (l && l->last) {
		struct piece *p = l->last;
		l->last = p->before;
		free(p);
	}
	if (l)
		vec_free(&l->drops);
	free(l);
}

void listed_free(struct listed *l)
{
	if (l)
		one_free(l->flushed);
	one_free(l);
}

void listed_begin(struct model_set *s)
{
	struct listed *l = s->listed;

	if (!l)
		return;
	l->mark = l->n;
	l->drops_mark = l->drops.n;
	l->catchall_mark = l->catchall;
}

int listed_flush(struct model_set *s)
{
	struct listed *l = s->listed;
	struct listed *empty = l ? calloc(1, sizeof(*empty)) : NULL;

	if (!l)
		return 0;
	if (!empty)
		return -ENOMEM;
	empty->flushed = l->flushed ? l->flushed : l;
	if (l->flushed)
		one_free(l);
	s->listed = empty;
	return 0;
}

static void notes_cut(struct listed *l, uint64_t n)
{
	while (l->n > n) {
		struct piece *p = l->last;
		uint32_t take = (uint32_t)MIN((uint64_t)p->n, l->n - n);
		p->n -= take;
		l->n -= take;
		if (!p->n) {
			l->last = p->before;
			free(p);
		}
	}
}

void listed_abort(struct model_set *s)
{
	struct listed *l = s->listed;

	if (l && l->flushed) {
		s->listed = l->flushed;
		one_free(l);
		l = s->listed;
	}
	if (!l)
		return;
	notes_cut(l, l->mark);
	l->drops.n = l->drops_mark;
	l->catchall = l->catchall_mark;
}

/* Keeps the last note of each key that says that it is there. All stays as it is without memory. */
static void sort_out(struct model_set *s)
{
	struct listed *l = s->listed, *to = calloc(1, sizeof(*to));
	unsigned past_lo = note_len(s) - set_key_len(s->set);
	struct listed_index *x = NULL;
	int err = to ? listed_index_make(s, &x) : -ENOMEM;

	for (size_t i = 0; !err && i < x->n; i++) {
		const uint8_t *key = x->note[i].key;
		err = note_push(to, s, &(struct set_item){.lo = key, .hi = key + past_lo});
	}
	listed_index_free(x);
	if (err) {
		one_free(to);
		return;
	}
	to->catchall = l->catchall;
	to->sort_at = 2 * to->n;
	s->listed = to;
	one_free(l);
}

void listed_commit(struct model_set *s, uint64_t now)
{
	struct listed *l = s->listed;

	if (!l)
		return;
	one_free(l->flushed);
	l->flushed = NULL;
	if (l->n > SLACK && l->n > l->sort_at && l->n / 2 > set_count(s->set, now))
		sort_out(s);
	listed_begin(s);
}
