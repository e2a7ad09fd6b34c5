/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut: takes a range out of the elements of an auto_merge set that cover it together.
 *
 * Every element that overlaps the range is replaced by what sticks out of it at both ends. All
 * memory is there before the first change. Cost: O(log n) for each such element.
 */
#include "set/set_internal.h"

/* key + 1 or key - 1; false where there is no such key. */
static bool key_step(const struct set *s, const uint8_t *key, int by, uint8_t *out)
{
	memcpy(out, key, s->key_len);
	for (unsigned i = s->key_len; i--;) {
		out[i] = (uint8_t)(out[i] + by);
		if (out[i] != (by > 0 ? 0 : 0xff))
			return true;
	}
	return false;
}

/* True if the elements, in key order, leave no gap in lo..hi. */
static bool covered(const struct set *s, elem_vec *in, const uint8_t *lo, const uint8_t *hi)
{
	uint8_t next[SET_KEY_MAX];

	memcpy(next, lo, s->key_len);
	vec_foreach (in, e) {
		struct elem_keys k;
		elem_keys(s, *e, &k);
		if (memcmp(k.lo, next, s->key_len) > 0)
			return false;
		if (memcmp(k.hi, hi, s->key_len) >= 0)
			return true;
		if (memcmp(k.hi, next, s->key_len) >= 0)
			key_step(s, k.hi, 1, next);
	}
	return false;
}

static int add_piece(struct set *s, const struct set_elem *of, const uint8_t *lo, const uint8_t *hi,
		     uint64_t now, elem_vec *pieces)
{
	struct set_elem *piece;
	int err = elem_new(s, lo, hi, NULL, elem_comment(of), NULL, now, &piece);
	if (err)
		return err;
	if (elem_timeout(of)) {
		piece->timeout = of->timeout;
		piece->expires = of->expires;
	}
	err = vec_push(pieces, piece);
	if (err)
		elem_free(s, piece);
	return err;
}

static int make_pieces(struct set *s, const elem_vec *in, const uint8_t *lo, const uint8_t *hi,
		       uint64_t now, elem_vec *pieces)
{
	uint8_t before[SET_KEY_MAX], behind[SET_KEY_MAX];
	bool has_before = key_step(s, lo, -1, before), has_behind = key_step(s, hi, 1, behind);
	int err = 0;

	for (size_t i = 0; i < in->n && !err; i++) {
		struct set_elem *e = in->items[i];
		struct elem_keys k;
		elem_keys(s, e, &k);
		if (has_before && memcmp(k.lo, before, s->key_len) <= 0)
			err = add_piece(s, e, k.lo, before, now, pieces);
		if (!err && has_behind && memcmp(k.hi, behind, s->key_len) >= 0)
			err = add_piece(s, e, behind, k.hi, now, pieces);
	}
	return err;
}

/* Of two that end together the one that was given longer. */
static bool outlives(const struct set_elem *piece, const struct set_elem *twin)
{
	return elem_expires(twin) < elem_expires(piece) ||
	       (elem_expires(twin) == elem_expires(piece) &&
		elem_timeout(twin) < elem_timeout(piece));
}

/* Puts a piece in; where there is such an element already, the longer life of both counts. */
static void place(struct set *s, struct set_elem *piece, uint64_t now)
{
	struct elem_keys k;
	elem_keys(s, piece, &k);
	struct set_elem *twin = s->ops->find(s, k.lo, k.hi);

	if (twin && elem_live(twin, now)) {
		if (outlives(piece, twin)) {
			journal_lifetime(s, twin);
			elem_set_lifetime(s, twin, piece->timeout, piece->expires);
		}
		elem_free(s, piece);
		return;
	}
	if (twin) {
		elem_detach(s, twin);
		s->stats.expired++;
		journal_removed(s, twin, true);
	}
	elem_attach(s, piece);
	journal_added(s, piece);
}

int set_cut(struct set *s, const uint8_t *lo, const uint8_t *hi, uint64_t now)
{
	elem_vec in = {0}, pieces = {0};
	int err = interval_set_overlaps(s, lo, hi, now, &in);
	if (err)
		goto out;
	err = -ENOENT;
	if (!covered(s, &in, lo, hi))
		goto out;
	err = make_pieces(s, &in, lo, hi, now, &pieces);
	if (err)
		goto out;
	err = -ENFILE;
	if (s->desc.size && size_live(s, now) - in.n + pieces.n > s->desc.size)
		goto out;
	size_t changes = in.n + 2 * pieces.n;
	err = journal_reserve(s, changes);
	for (size_t i = 0; i < pieces.n && !err; i++) {
		struct elem_keys k;
		elem_keys(s, pieces.items[i], &k);
		err = elems_reserve(s, k.lo, k.hi, changes);
		/* What stands there and has expired must go. */
		struct set_elem *twin = s->ops->find(s, k.lo, k.hi);
		if (!err && twin && !elem_live(twin, now))
			err = elem_reserve_take(s, twin, changes);
	}
	for (size_t i = 0; i < in.n && !err; i++)
		err = elem_reserve_take(s, in.items[i], changes);
	if (err)
		goto out;
	/* First in, then out: what goes may take room with it. No piece is one that goes. */
	vec_foreach (&pieces, e)
		place(s, *e, now);
	pieces.n = 0;
	vec_foreach (&in, e) {
		elem_detach(s, *e);
		journal_removed(s, *e, false);
	}
out:
	vec_foreach (&pieces, e)
		elem_free(s, *e);
	vec_free(&pieces);
	vec_free(&in);
	return err;
}
