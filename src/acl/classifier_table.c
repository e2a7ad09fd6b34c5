/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier_table: hash tables of entries that fix the same bits, which grow a leaf at a time.
 *
 * Extendible hashing (Fagin et al., 1979): a directory of 2^depth slots by the first bits of the
 * hash; a shape under it fills the 2^(depth - its own depth) slots of its range. A full leaf is
 * halved by the next bit of the hash. When a leaf of a single slot is full, more bits are looked at
 * by the directory up to 2^CLS_ROOT_DEPTH slots, by a part for that slot alone from then on: what
 * is copied is a directory of 8 KiB or a 1,024th of all slots. Never are there more slots than
 * entries, and none for entries whose hashes are equal: these get a shape of their own below the
 * slot.
 *
 * A packet that has no entry in a table mostly learns so from the slot: see struct cls_directory.
 */
#include <stdlib.h>

#include "acl/classifier_internal.h"

enum {
	DIRECTORY_MIN = 8,
	DEPTH_MAX = 28, /* of a leaf */
	FIRST_BITS = 6, /* of a new directory */
	SPARE_BITS = 2, /* a directory looks at more than its leaves need: for the tags */
};

static struct cls_directory *directory_new(struct classifier *c, unsigned before, unsigned bits)
{
	struct cls_directory *d;
	d = cls_shape_new(c, CLS_DIRECTORY, sizeof(*d) + (sizeof(d->slot[0]) << bits));
	if (!d)
		return NULL;
	d->shape.depth = (uint8_t)before;
	d->shape.n = bits;
	return d;
}

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
	t->dir = directory_new(c, 0, FIRST_BITS);
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
	return cls_table_hash(c->keys, t, f->value);
}

/* --- directories ----------------------------------------------------------------------------- */

/* The directory that has the slot of a hash: the root, or one of its parts. */
static struct cls_directory *directory_of(const struct cls_table *t, uint64_t hash)
{
	uint64_t slot = t->dir->slot[cls_directory_slot(t->dir, hash)];
	return slot & CLS_PART ? cls_slot_part(slot) : t->dir;
}

static unsigned depth_of(const struct cls_directory *d)
{
	return d->shape.depth + d->shape.n;
}

static uint64_t place_of(const struct cls_directory *d, uint64_t hash)
{
	return cls_directory_slot(d, hash << d->shape.depth);
}

static uint64_t tag_of(const struct cls_directory *d, uint64_t hash)
{
	return UINT64_C(1) << CLS_TAGS_AT << (hash << depth_of(d) >> (64 - CLS_TAG_BITS));
}

static void slot_set(struct cls_directory *d, uint64_t at, const struct cls_shape *s, uint64_t tags)
{
	uint64_t all = ~(UINT64_MAX >> 16);
	__atomic_store_n(&d->slot[at], s ? (uintptr_t)s | (tags & all) : 0, __ATOMIC_RELEASE);
}

/* The slots that share the first `depth` bits of a hash; the first is returned. */
static uint64_t range_of(const struct cls_directory *d, uint64_t hash, unsigned depth, uint64_t *n)
{
	*n = UINT64_C(1) << (depth_of(d) - depth);
	return place_of(d, hash) & ~(*n - 1);
}

/* The directory whose slots share the first `depth` bits of a hash: no part has them alone. */
static struct cls_directory *directory_above(const struct cls_table *t, uint64_t hash,
					     unsigned depth)
{
	return depth <= t->dir->shape.n ? t->dir : directory_of(t, hash);
}

/* They lead to a shape, with the tags that they have and one for the hash. */
static void fill(const struct cls_table *t, uint64_t hash, unsigned depth, struct cls_shape *s)
{
	struct cls_directory *d = directory_above(t, hash, depth);
	uint64_t n, first = range_of(d, hash, depth, &n), own = place_of(d, hash);

	for (uint64_t i = first; i < first + n; i++)
		slot_set(d, i, s, d->slot[i] | (i == own ? tag_of(d, hash) : 0));
}

/* Bits that a leaf in an empty slot looks at: it takes what is empty beside it as well. */
static unsigned empty_depth(const struct cls_directory *d, uint64_t hash)
{
	unsigned depth = depth_of(d), least = d->shape.depth ? d->shape.depth + 1U : 0;

	for (; depth > least; depth--) {
		uint64_t n, first = range_of(d, hash, depth - 1, &n);
		for (uint64_t i = first; i < first + n; i++)
			if (d->slot[i])
				return depth;
	}
	return depth;
}

enum { EXACT_STEPS = 4096 };

/* The same with the tags of these entries alone, unless that is too much to find out. */
static void fill_exactly(const struct cls_table *t, uint64_t hash, unsigned depth,
			 struct cls_shape *s, const uint64_t *hashes, unsigned n_hashes)
{
	struct cls_directory *d = directory_above(t, hash, depth);
	uint64_t n, first = range_of(d, hash, depth, &n);
	bool all = n * n_hashes > EXACT_STEPS;

	for (uint64_t i = first; i < first + n; i++) {
		uint64_t tags = 0;
		for (unsigned k = 0; !all && k < n_hashes; k++)
			if (place_of(d, hashes[k]) == i)
				tags |= tag_of(d, hashes[k]);
		slot_set(d, i, s, all ? UINT64_MAX : tags);
	}
}

/* Slot j of the 2^bits that take the place of one: what is below it, as far as the tags say. */
static uint64_t slot_child(uint64_t slot, unsigned bits, uint64_t j)
{
	uint64_t tags = slot >> CLS_TAGS_AT;

	while (bits--) {
		tags = j >> bits & 1 ? tags >> 8 : tags & 0xff;
		tags = (tags | tags << 4) & 0x0f0f;
		tags = (tags | tags << 2) & 0x3333;
		tags = (tags | tags << 1) & 0x5555;
		tags |= tags << 1;
	}
	return (slot & UINT64_MAX >> 16) | tags << CLS_TAGS_AT;
}

/* A directory that looks at `bits` more, for n slots of another. */
static struct cls_directory *directory_copy(struct classifier *c, unsigned before,
					    const uint64_t *slots, unsigned old_bits, unsigned bits)
{
	struct cls_directory *d = directory_new(c, before, old_bits + bits);

	for (uint64_t i = 0; d && i < UINT64_C(1) << (old_bits + bits); i++)
		d->slot[i] = slot_child(slots[i >> bits], bits, i);
	return d;
}

/* Sees to it that the directory looks at `depth` bits of a hash. 0 or -ENOMEM. */
static int directory_grow(struct classifier *c, struct cls_table *t, uint64_t hash, unsigned depth)
{
	struct cls_directory *root = t->dir, *old = directory_of(t, hash), *d;

	if (root->shape.n < CLS_ROOT_DEPTH) {
		unsigned bits = MIN(depth, CLS_ROOT_DEPTH) - root->shape.n;
		d = directory_copy(c, 0, root->slot, root->shape.n, bits);
		if (!d)
			return -ENOMEM;
		__atomic_store_n(&t->dir, d, __ATOMIC_RELEASE);
		cls_shape_retire(c, &root->shape);
		return depth > CLS_ROOT_DEPTH ? directory_grow(c, t, hash, depth) : 0;
	}
	uint64_t at = cls_directory_slot(root, hash);
	if (old == root)
		d = directory_copy(c, CLS_ROOT_DEPTH, &root->slot[at], 0, depth - CLS_ROOT_DEPTH);
	else
		d = directory_copy(c, CLS_ROOT_DEPTH, old->slot, old->shape.n,
				   depth - depth_of(old));
	if (!d)
		return -ENOMEM;
	__atomic_store_n(&root->slot[at],
			 (uintptr_t)&d->shape | CLS_PART | (uint64_t)d->shape.n << CLS_TAGS_AT,
			 __ATOMIC_RELEASE);
	if (old != root)
		cls_shape_retire(c, &old->shape);
	return 0;
}

/* --- halving --------------------------------------------------------------------------------- */

/*
 * Halves a full leaf where its hashes and the new one's first differ. 1: done, look again; 0: they
 * differ nowhere that a directory of this size can see; -ENOMEM.
 */
static int halve(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		 struct cls_leaf *l, uint64_t hash)
{
	struct cls_item items[CLS_LANES];
	uint64_t hashes[CLS_LANES], of[2][CLS_LANES], differ = 0;
	uint16_t pick[2][CLS_LANES];
	unsigned n[2] = {0}, depth = l->shape.depth, limit = MAX(t->shape.n, DIRECTORY_MIN);
	unsigned slots = depth_of(directory_of(t, hash));
	struct cls_leaf *half[2] = {0};

	for (unsigned i = 0; i < CLS_LANES; i++) {
		cls_item_make(c, l->entry[i], side, &items[i]);
		hashes[i] = hash_of(c, t, &items[i].form);
		differ |= hashes[i] ^ hash;
	}
	if (!differ)
		return 0;
	unsigned at = (unsigned)__builtin_clzll(differ) + 1;
	if (at > DEPTH_MAX || UINT64_C(1) << at > limit)
		return 0;
	for (unsigned i = 0; i < CLS_LANES; i++) {
		bool up = hashes[i] >> (64 - at) & 1;
		of[up][n[up]] = hashes[i];
		pick[up][n[up]++] = (uint16_t)i;
	}
	unsigned deep = at + SPARE_BITS;
	int err = 0;
	for (unsigned up = 0; !err && up < 2; up++) {
		if (!n[up])
			continue;
		half[up] = cls_leaf_build(c, side, items, pick[up], n[up]);
		if (half[up])
			half[up]->shape.depth = (uint8_t)at;
		else
			err = -ENOMEM;
	}
	/* A part is for halves that the root does not tell apart: it would not keep it for others.
	 */
	if (at <= CLS_ROOT_DEPTH)
		deep = MIN(deep, (unsigned)CLS_ROOT_DEPTH);
	if (!err && deep > slots)
		err = directory_grow(c, t, hash, deep);
	if (err) {
		for (unsigned up = 0; up < 2; up++)
			cls_shape_free(c, half[up] ? &half[up]->shape : NULL);
		return err;
	}
	uint64_t bit = UINT64_C(1) << (64 - at);
	for (unsigned up = 0; up < 2; up++)
		fill_exactly(t, up ? hash | bit : hash & ~bit, at,
			     half[up] ? &half[up]->shape : NULL, of[up], n[up]);
	/* Slots further away, if several bits were equal, go last: they hold nothing. */
	for (unsigned d = depth + 1; d < at; d++)
		fill(t, hash ^ UINT64_C(1) << (64 - d), d, NULL);
	cls_shape_retire(c, &l->shape);
	return 1;
}

/*
 * The same for a shape of more entries, within the directory that there is: what was shaped when it
 * was smaller. Afterwards the shape has a deeper place, whether or not it could be halved.
 */
static int halve_shape(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		       struct cls_shape *s, uint64_t hash, unsigned level)
{
	unsigned n, low = 0, depth = s->depth, at, slots = depth_of(directory_of(t, hash));
	uint64_t differ = 0;
	struct cls_item *items = cls_items_of(c, side, s, NULL, &n);
	struct cls_shape *half[2] = {NULL, NULL};

	if (!items)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		differ |= hash_of(c, t, &items[i].form) ^ hash;
	at = differ ? (unsigned)__builtin_clzll(differ) + 1 : DEPTH_MAX;
	if (at <= depth || at > slots) {
		/* All are in one slot, or were so before: nothing to halve. */
		for (unsigned d = depth + 1; at > depth && d <= slots; d++)
			fill(t, hash ^ UINT64_C(1) << (64 - d), d, NULL);
		s->depth = (uint8_t)slots;
		free(items);
		return 0;
	}
	/* Those of the lower half to the front, both in order. */
	struct cls_item *sorted = malloc((n + 1) * sizeof(*sorted));
	uint64_t *hashes = malloc((n + 1) * sizeof(*hashes));
	bool failed = !sorted || !hashes;
	for (unsigned up = 0, k = 0; !failed && up < 2; up++)
		for (unsigned i = 0; i < n; i++) {
			uint64_t h = hash_of(c, t, &items[i].form);
			if ((h >> (64 - at) & 1) != up)
				continue;
			sorted[k] = items[i];
			hashes[k++] = h;
			low += !up;
		}
	free(items);
	if (!failed && low)
		half[0] = cls_shape_build(c, side, sorted, low, level);
	if (!failed && low < n)
		half[1] = cls_shape_build(c, side, sorted + low, n - low, level);
	free(sorted);
	if (failed || (low && !half[0]) || (low < n && !half[1])) {
		cls_tree_free(c, half[0]);
		cls_tree_free(c, half[1]);
		free(hashes);
		return -ENOMEM;
	}
	uint64_t bit = UINT64_C(1) << (64 - at);
	for (unsigned up = 0; up < 2; up++) {
		if (half[up])
			half[up]->depth = (uint8_t)at;
		fill_exactly(t, up ? hash | bit : hash & ~bit, at, half[up],
			     up ? hashes + low : hashes, up ? n - low : low);
	}
	for (unsigned d = depth + 1; d < at; d++)
		fill(t, hash ^ UINT64_C(1) << (64 - d), d, NULL);
	free(hashes);
	cls_tree_retire(c, s);
	return 0;
}

static bool wants_halving(const struct cls_directory *d, const struct cls_shape *s)
{
	return (s->kind == CLS_SPLIT || s->kind == CLS_CHAIN) && s->n <= CLS_GATHER_MAX &&
	       s->depth < depth_of(d);
}

int cls_table_insert(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		     const struct cls_item *item, unsigned level)
{
	int err;

	if (!cls_table_fits(t, &item->form)) {
		err = cls_slot_insert(c, side, &t->wide, item, level);
		t->shape.n += !err;
		return err;
	}
	uint64_t hash = hash_of(c, t, &item->form);
	for (;;) {
		struct cls_directory *d = directory_of(t, hash);
		struct cls_shape *old = cls_slot_shape(d->slot[place_of(d, hash)]), *now = old;
		unsigned depth = old ? old->depth : empty_depth(d, hash);
		if (old && old->kind == CLS_LEAF && old->valid == UINT8_MAX) {
			err = halve(c, side, t, container_of(old, struct cls_leaf, shape), hash);
			if (err < 0)
				return err;
			if (err)
				continue;
		}
		if (old && wants_halving(d, old)) {
			err = halve_shape(c, side, t, old, hash, level);
			if (err)
				return err;
			continue;
		}
		/* A slot of our own: what it leads to may be in several. */
		err = cls_slot_insert(c, side, &now, item, level);
		if (err)
			return err;
		now->depth = (uint8_t)depth;
		if (now != old)
			fill(t, hash, depth, now);
		else
			slot_set(d, place_of(d, hash), now,
				 d->slot[place_of(d, hash)] | tag_of(d, hash));
		t->shape.n++;
		return 0;
	}
}

bool cls_table_remove(struct classifier *c, const struct cls_side *side, struct cls_table *t,
		      const struct cls_item *item)
{
	bool found = false;

	if (cls_table_fits(t, &item->form)) {
		uint64_t hash = hash_of(c, t, &item->form);
		struct cls_directory *d = directory_of(t, hash);
		struct cls_shape *old = cls_slot_shape(d->slot[place_of(d, hash)]), *now = old;
		if (old)
			found = cls_slot_remove(c, side, &now, item);
		if (now != old)
			fill(t, hash, old->depth, now);
	}
	/* An entry that was there before the table is on the wide side, whatever it fits. */
	if (!found && t->wide)
		found = cls_slot_remove(c, side, &t->wide, item);
	t->shape.n -= found;
	return found;
}
