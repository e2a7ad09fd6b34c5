/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that somebody has chosen so that all collide under a hash without a secret: what a table
 * makes of them, counted in segments, buckets that overflow and bytes, is what it makes of random
 * ones. Hashes are drawn anew in every run, so the bounds are many deviations wide: what they catch
 * lies orders of magnitude beyond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/hash_table_internal.h"
#include "set/set_internal.h"

enum { N = 65536, LOOKED = 4096 };

/* Bit by bit: CRC-32C (Castagnoli, 1993) with neither inversion. */
static uint32_t crc_of(const uint8_t *bytes, unsigned n)
{
	uint32_t c = 0;

	for (unsigned i = 0; i < n; i++) {
		c ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
	}
	return c;
}

/* The four bytes of which the CRC is this: its steps backwards, the top bit tells what each did. */
static uint32_t crc_back(uint32_t c)
{
	for (unsigned bit = 0; bit < 32; bit++)
		c = c >> 31 ? (c ^ 0x82f63b78) << 1 | 1 : c << 1;
	return c;
}

enum sort { RANDOM, CHOSEN, COUNTED, SORTS };

/* The number stands in the last four bytes; those before are 0, which leave the CRC at 0. */
static void key_of(enum sort sort, uint32_t i, unsigned len, uint8_t *key)
{
	uint32_t v = i;

	if (sort == RANDOM) { /* a bijection: no two are one */
		v = (v ^ v >> 16) * 0x45d9f3b;
		v = (v ^ v >> 16) * 0x45d9f3b;
		v ^= v >> 16;
	} else if (sort == CHOSEN) {
		v = crc_back(i << 16 | 0xbeef);
	}
	memset(key, 0, len);
	memcpy(key + len - 4, &v, 4);
}

struct work {
	double segments, overflowed, bytes;
	unsigned fullest; /* of lines in which a home lies: keys that want it */
};

static struct work measure(const struct hash_table *t)
{
	struct segment_walk w = {t->root};
	struct work out = {.bytes = (double)hash_table_bytes(t)};
	struct hash_segment *seg;

	while ((seg = segment_next(&w))) {
		out.segments++;
		struct hash_kept kept[SLOTS_MAX];
		uint16_t homes[256] = {0};
		unsigned n = t->ops->collect(t, &t->root->key, seg, kept);
		for (unsigned b = 0; b < seg->n_buckets; b++)
			out.overflowed += (seg->bucket[b].head & OVERFLOWED) != 0;
		for (unsigned k = 0; k < n; k++) {
			unsigned home = home_of(kept[k].low, seg->n_buckets);
			out.fullest = MAX(out.fullest, ++homes[home]);
		}
	}
	return out;
}

static struct work load(const struct hash_table_ops *ops, enum sort sort, unsigned len)
{
	struct hash_table_config c = {.ops = ops, .key_len = len};
	struct hash_table *t;
	uint8_t key[SET_KEY_MAX];

	assert_int_equal(hash_table_new(&c, &t), 0);
	for (uint32_t i = 0; i < N; i++) {
		key_of(sort, i, len, key);
		assert_int_equal(hash_table_add(t, key, 0), 1);
	}
	assert_int_equal(hash_table_count(t), N);
	struct work out = measure(t);
	hash_table_free(t);
	return out;
}

static void near(double a, double b, double ratio)
{
	assert_true(a < b * ratio && b < a * ratio);
}

static void same_work(void **state)
{
	static const unsigned lens[] = {4, 16, 36};
	uint8_t key[SET_KEY_MAX];

	for (uint32_t i = 0; i < LOOKED; i++) { /* they are what they are meant to be */
		key_of(CHOSEN, i, 16, key);
		assert_int_equal(crc_of(key, 16) & 0xffff, 0xbeef);
		key_of(CHOSEN, i, 4, key);
		assert_int_equal(crc_of(key, 4), i << 16 | 0xbeef);
	}
	for (unsigned v = 0; hash_table_variants[v]; v++) {
		if (!hash_table_variants[v]->usable())
			continue;
		for (unsigned l = 0; l < ARRAY_SIZE(lens); l++) {
			struct work w[SORTS];
			for (enum sort s = RANDOM; s < SORTS; s++) {
				w[s] = load(hash_table_variants[v], s, lens[l]);
				near(w[s].segments, w[RANDOM].segments, 1.5);
				near(w[s].overflowed, w[RANDOM].overflowed, 1.5);
				near(w[s].bytes, w[RANDOM].bytes, 1.25);
				/* A mean of 10 to 15; keys that collide would be hundreds. */
				assert_in_range(w[s].fullest, 10, 64);
			}
		}
	}
}

/* Places of the same keys in two sets: by chance none of 64 bits is the same, and each bit half. */
static void own_secrets(void **state)
{
	for (unsigned len = 1; len <= 16; len++) {
		struct set_desc d = {.n_fields = 1, .field_len = {(uint8_t)len}, .dynamic = true};
		struct set *a, *b;
		unsigned same = 0, differ = 0;

		assert_int_equal(set_new(&d, &a), 0);
		assert_int_equal(set_new(&d, &b), 0);
		const struct hash_table *s = a->store.table, *t = b->store.table;
		assert_memory_not_equal(&s->root->key.sip, &t->root->key.sip,
					sizeof(s->root->key.sip));
		assert_memory_not_equal(s->root->key.round, t->root->key.round,
					sizeof(s->root->key.round));
		for (uint32_t i = 0; i < 256; i++) {
			uint8_t key[SET_KEY_MAX] = {(uint8_t)i};
			uint64_t x = s->ops->place(&s->root->key, key, len).at ^
				     t->ops->place(&t->root->key, key, len).at;
			same += !x;
			differ += (unsigned)__builtin_popcountll(x);
		}
		assert_int_equal(same, 0);
		assert_in_range(differ, 256 * 24, 256 * 40);
		set_free(a);
		set_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_work),
		cmocka_unit_test(own_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
