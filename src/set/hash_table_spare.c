/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_table_spare: memory for segments that lies ready, for who finds both buckets of a key full
 * and must not ask for any; see hash_table_ahead.c. The table's lock guards it, held for a few
 * stores.
 */
#include "set/hash_table_internal.h"

static size_t spare_bytes(const struct hash_table *t, const struct hash_spare *x)
{
	size_t bytes = segment_size(t, x->n_buckets);

	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		bytes += x->column[c] ? column_bytes(x->n_buckets, c) : 0;
	return bytes;
}

size_t spares_bytes(const struct hash_table *t)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < t->n_spares; i++)
		bytes += spare_bytes(t, &t->spare[i]);
	return bytes;
}

static void spare_free(struct hash_spare *x)
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		free(x->column[c]);
	free(x->seg);
}

bool spare_pop(struct hash_table *t, struct hash_spare *out)
{
	spin_lock(&t->lock);
	bool any = t->n_spares;
	if (any) {
		*out = t->spare[t->n_spares - 1];
		STORE(&t->n_spares, t->n_spares - 1);
		__atomic_fetch_sub(&t->bytes, spare_bytes(t, out), __ATOMIC_RELAXED);
	}
	spin_unlock(&t->lock);
	return any;
}

void spare_push(struct hash_table *t, struct hash_spare *x)
{
	spin_lock(&t->lock);
	bool room = t->n_spares < SPARES;
	if (room) {
		t->spare[t->n_spares] = *x;
		STORE(&t->n_spares, t->n_spares + 1);
		__atomic_fetch_add(&t->bytes, spare_bytes(t, x), __ATOMIC_RELAXED);
	}
	spin_unlock(&t->lock);
	if (!room)
		spare_free(x);
}

void spares_free(struct hash_table *t)
{
	struct hash_spare x;

	while (spare_pop(t, &x))
		spare_free(&x);
}

static int spare_make(const struct hash_table *t, unsigned n_buckets, unsigned columns,
		      struct hash_spare *out)
{
	struct hash_spare x = {aligned_alloc(64, segment_size(t, n_buckets)), {NULL}, n_buckets};
	bool all = x.seg;

	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (columns >> c & 1) {
			x.column[c] = malloc(column_bytes(n_buckets, c));
			all &= x.column[c] != NULL;
		}
	if (!all) {
		spare_free(&x);
		return -ENOMEM;
	}
	*out = x;
	return 0;
}

bool spare_serves(const struct hash_spare *x, unsigned n_buckets, unsigned columns)
{
	for (unsigned c = 0; c < HASH_COLUMNS; c++)
		if (columns >> c & 1 && !x->column[c])
			return false;
	return x->n_buckets >= n_buckets;
}

int spares_make(struct hash_table *t)
{
	unsigned widest = LOAD(&t->widest), n = MIN(widest + 1U + widest / 8U, BUCKETS_MAX + 0U);
	unsigned columns = LOAD(&t->columns) | LOAD(&t->ahead_columns), have = 0;
	struct hash_spare x[SPARES];
	int err = 0;

	while (have < SPARES && spare_pop(t, &x[have])) {
		if (spare_serves(&x[have], n, columns))
			have++;
		else
			spare_free(&x[have]);
	}
	while (have < SPARES && !err) {
		err = spare_make(t, n, columns, &x[have]);
		have += !err;
	}
	while (have)
		spare_push(t, &x[--have]);
	return err;
}
