/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_table: hash tables of entries that fix the same bits, which grow a leaf at a time.
 *
 * Extendible hashing (Fagin et al., 1979): a directory of 2^depth slots by the first bits of the
 * hash; a shape under it fills the 2^(depth - its own depth) slots of its range. A full leaf is
 * halved by the next bit of the hash. The directory is doubled, by copying the pointers, when a
 * leaf of a single slot is full; but never beyond the number of entries, and not for entries whose
 * hashes are equal: these get a shape of their own below the slot.
 */
#include <stdlib.h>

#include "acl/classifier_internal.h"

enum { DIRECTORY_MIN = 8, DEPTH_MAX = 30 };

struct cls_table *cls_table_new(struct classifier *c)
{
	struct cls_table *t = cls_shape_new(c, CLS_TABLE, sizeof(*t));
	if (t && cls_table_init(c, t)) {
		cls_shape_free(c, &t->shape);
		return NULL;
	}
	if (t)
		t->salt = ++c->salts;
	return t;
}

int cls_table_init(struct classifier *c, struct cls_table *t)
{
	t->dir = cls_shape_new(c, CLS_DIRECTORY, sizeof(*t->dir) + sizeof(t->dir->slot[0]));
	return t->dir ? 0 : -ENOMEM;
}

bool cls_table_fits(const struct cls_table *t, const struct cls_form *f)
{
	for (unsigned i = 0; i < t->n_words; i++)
		if (t->mask[i] & ~f->mask[t->word[i]])
			return false;
	return true;
}

static uint64_t hash_of(const struct classifier *c, const struct cls_table *t,
			const struct cls_form *f)
{
	return cls_table_hash(c->secret, t, f->value);
}

/* The slots that share the first `depth` bits of a hash. */
static void fill(struct cls_directory *d, uint64_t hash, unsigned depth, struct cls_shape *s)
{
	uint64_t n = UINT64_C(1) << (d->shape.n - depth);
	uint64_t first = cls_directory_slot(d, hash) & ~(n - 1);
	for (uint64_t i = 0; i < n; i++)
		cls_publish(&d->slot[first + i], s);
}

static int directory_grow(struct classifier *c, struct cls_table *t, unsigned depth)
{
	struct cls_directory *old = t->dir;
	size_t n = (size_t)1 << depth, times = (size_t)1 << (depth - old->shape.n);
	struct cls_directory *d =
		cls_shape_new(c, CLS_DIRECTORY, sizeof(*d) + n * sizeof(d->slot[0]));

	if (!d)
		return -ENOMEM;
	d->shape.n = depth;
	for (size_t i = 0; i < n; i++)
		d->slot[i] = old->slot[i / times];
	__atomic_store_n(&t->dir, d, __ATOMIC_RELEASE);
	cls_shape_retire(c, &old->shape);
	return 0;
}

/*
 * Halves a full leaf where its hashes and the new one's first differ. 1: done, look again; 0: they
 * differ nowhere that a directory of this size can see; -ENOMEM.
 */
static int halve(struct classifier *c, bool ipv4, struct cls_table *t, struct cls_leaf *l,
		 uint64_t hash)
{
	struct cls_item items[CLS_LANES];
	uint64_t hashes[CLS_LANES], differ = 0;
	uint16_t pick[2][CLS_LANES];
	unsigned n[2] = {0}, depth = l->shape.depth, limit = MAX(t->shape.n, DIRECTORY_MIN);

	for (unsigned i = 0; i < CLS_LANES; i++) {
		cls_item_make(c, l->entry[i], ipv4, &items[i]);
		hashes[i] = hash_of(c, t, &items[i].form);
		differ |= hashes[i] ^ hash;
	}
	if (!differ)
		return 0;
	unsigned at = (unsigned)__builtin_clzll(differ) + 1;
	if (at > DEPTH_MAX || (at > t->dir->shape.n && UINT64_C(1) << at > limit))
		return 0;
	if (at > t->dir->shape.n && directory_grow(c, t, at))
		return -ENOMEM;
	for (unsigned i = 0; i < CLS_LANES; i++) {
		bool up = hashes[i] >> (64 - at) & 1;
		pick[up][n[up]++] = (uint16_t)i;
	}
	struct cls_leaf *half[2] = {0};
	for (unsigned up = 0; up < 2; up++) {
		if (!n[up])
			continue;
		half[up] = cls_leaf_build(c, ipv4, items, pick[up], n[up]);
		if (!half[up]) {
			cls_shape_free(c, half[0] ? &half[0]->shape : NULL);
			return -ENOMEM;
		}
		half[up]->shape.depth = (uint8_t)at;
	}
	uint64_t bit = UINT64_C(1) << (64 - at);
	for (unsigned up = 0; up < 2; up++)
		fill(t->dir, up ? hash | bit : hash & ~bit, at, half[up] ? &half[up]->shape : NULL);
	/* Slots further away, if several bits were equal, go last: they hold nothing. */
	for (unsigned d = depth + 1; d < at; d++)
		fill(t->dir, hash ^ UINT64_C(1) << (64 - d), d, NULL);
	cls_shape_retire(c, &l->shape);
	return 1;
}

/*
 * The same for a shape of more entries, within the directory that there is: what was shaped when it
 * was smaller. Afterwards the shape has a deeper place, whether or not it could be halved.
 */
static int halve_shape(struct classifier *c, bool ipv4, struct cls_table *t, struct cls_shape *s,
		       uint64_t hash, unsigned level)
{
	unsigned n, low = 0, depth = s->depth, at;
	uint64_t differ = 0;
	struct cls_item *items = cls_items_of(c, ipv4, s, NULL, &n);
	struct cls_shape *half[2] = {NULL, NULL};

	if (!items)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		differ |= hash_of(c, t, &items[i].form) ^ hash;
	at = differ ? (unsigned)__builtin_clzll(differ) + 1 : DEPTH_MAX;
	if (at <= depth || at > t->dir->shape.n) {
		/* All are in one slot, or were so before: nothing to halve. */
		for (unsigned d = depth + 1; at > depth && d <= t->dir->shape.n; d++)
			fill(t->dir, hash ^ UINT64_C(1) << (64 - d), d, NULL);
		s->depth = t->dir->shape.n;
		free(items);
		return 0;
	}
	/* Those of the lower half to the front, both in order. */
	struct cls_item *sorted = malloc((n + 1) * sizeof(*sorted));
	for (unsigned up = 0, k = 0; sorted && up < 2; up++)
		for (unsigned i = 0; i < n; i++)
			if ((hash_of(c, t, &items[i].form) >> (64 - at) & 1) == up) {
				sorted[k++] = items[i];
				low += !up;
			}
	free(items);
	if (sorted && low)
		half[0] = cls_shape_build(c, ipv4, sorted, low, level);
	if (sorted && low < n)
		half[1] = cls_shape_build(c, ipv4, sorted + low, n - low, level);
	free(sorted);
	if ((low && !half[0]) || (low < n && !half[1])) {
		cls_tree_free(c, half[0]);
		cls_tree_free(c, half[1]);
		return -ENOMEM;
	}
	uint64_t bit = UINT64_C(1) << (64 - at);
	for (unsigned up = 0; up < 2; up++) {
		if (half[up])
			half[up]->depth = (uint8_t)at;
		fill(t->dir, up ? hash | bit : hash & ~bit, at, half[up]);
	}
	for (unsigned d = depth + 1; d < at; d++)
		fill(t->dir, hash ^ UINT64_C(1) << (64 - d), d, NULL);
	cls_tree_retire(c, s);
	return 0;
}

static bool wants_halving(const struct cls_table *t, const struct cls_shape *s)
{
	return (s->kind == CLS_SPLIT || s->kind == CLS_CHAIN) && s->n <= CLS_GATHER_MAX &&
	       s->depth < t->dir->shape.n;
}

int cls_table_insert(struct classifier *c, bool ipv4, struct cls_table *t,
		     const struct cls_item *item, unsigned level)
{
	int err;

	if (!cls_table_fits(t, &item->form)) {
		err = cls_slot_insert(c, ipv4, &t->wide, item, level);
		t->shape.n += !err;
		return err;
	}
	uint64_t hash = hash_of(c, t, &item->form);
	for (;;) {
		struct cls_shape *old = t->dir->slot[cls_directory_slot(t->dir, hash)], *now = old;
		unsigned depth = old ? old->depth : t->dir->shape.n;
		if (old && old->kind == CLS_LEAF && old->valid == UINT8_MAX) {
			err = halve(c, ipv4, t, container_of(old, struct cls_leaf, shape), hash);
			if (err < 0)
				return err;
			if (err)
				continue;
		}
		if (old && wants_halving(t, old)) {
			err = halve_shape(c, ipv4, t, old, hash, level);
			if (err)
				return err;
			continue;
		}
		/* A slot of our own: what it leads to may be in several. */
		err = cls_slot_insert(c, ipv4, &now, item, level);
		if (err)
			return err;
		if (now != old) {
			now->depth = (uint8_t)depth;
			fill(t->dir, hash, depth, now);
		}
		t->shape.n++;
		return 0;
	}
}

bool cls_table_remove(struct classifier *c, bool ipv4, struct cls_table *t,
		      const struct cls_item *item)
{
	bool found = false;

	if (cls_table_fits(t, &item->form)) {
		uint64_t hash = hash_of(c, t, &item->form);
		struct cls_shape *old = t->dir->slot[cls_directory_slot(t->dir, hash)], *now = old;
		if (old)
			found = cls_slot_remove(c, ipv4, &now, item);
		if (now != old)
			fill(t->dir, hash, old->depth, now);
	}
	/* An entry that was there before the table is on the wide side, whatever it fits. */
	if (!found && t->wide)
		found = cls_slot_remove(c, ipv4, &t->wide, item);
	t->shape.n -= found;
	return found;
}
