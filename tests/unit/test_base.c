/* SPDX-License-Identifier: Apache-2.0 */
/* The base room: arena, string buffer, vector, keyed hash, map, ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rank.h"
#include "base/strbuf.h"
#include "base/vec.h"

static void arena_gives_aligned_zeroed_memory(void **state)
{
	struct arena a = {.first = 64};
	for (size_t size = 0; size < 5000; size = size * 2 + 1) {
		uint8_t *p = arena_alloc(&a, size);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 8, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	size_t grown = a.total;
	arena_reset(&a);
	assert_true(a.total < grown);
	uint8_t *again = arena_alloc(&a, 40);
	assert_int_equal(again[39], 0);
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	arena_free(&a);
	assert_int_equal(a.total, 0);
}

/* Large blocks come zeroed and do not outlive a reset; what is taken stays in proportion. */
static void arena_of_many_megabytes(void **state)
{
	struct arena a = ARENA_INIT;

	for (unsigned round = 0; round < 2; round++) {
		size_t asked = 0;

		while (asked < 40u << 20) {
			uint8_t *p = arena_alloc(&a, 50000);
			assert_true(p[0] == 0 && p[25000] == 0 && p[49999] == 0);
			memset(p, 0xff, 50000);
			asked += 50000;
			assert_true(a.total <= 2 * asked + (1u << 20) + 4096);
		}
		arena_reset(&a);
		assert_true(a.total <= (1u << 20) + 64);
	}
	uint8_t *large = arena_alloc(&a, 20u << 20);
	assert_true(large[0] == 0 && large[(20u << 20) - 1] == 0);
	arena_reset(&a);
	assert_true(a.total <= (1u << 20) + 64);
	arena_free(&a);
	assert_int_equal(a.total, 0);
	assert_non_null(arena_alloc(&a, 2u << 20));
	arena_reset(&a);
	assert_int_equal(a.total, 0);
	assert_non_null(arena_alloc(&a, 1));
	arena_free(&a);
}

static void arena_out_of_memory(void **state)
{
	struct arena a = ARENA_INIT;
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_calloc(&a, SIZE_MAX / 2, 3));
	jmp_buf jump;
	volatile int jumped = 0;
	if (setjmp(jump)) {
		jumped = 1;
	} else {
		assert_null(arena_on_oom(&a, &jump));
		arena_alloc(&a, SIZE_MAX);
	}
	assert_int_equal(jumped, 1);
	assert_ptr_equal(arena_on_oom(&a, NULL), &jump);
	arena_free(&a);
}

static void strbuf_grows_cuts_and_hands_over(void **state)
{
	struct strbuf b = STRBUF_INIT;
	assert_string_equal(strbuf_str(&b), "");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&b, "%03d,", i);
	assert_int_equal(b.len, 4000);
	assert_memory_equal(b.data + 3996, "999,", 5);
	strbuf_truncate(&b, 3);
	strbuf_putc(&b, '!');
	strbuf_puts(&b, "ok");
	char *s = strbuf_take(&b);
	assert_string_equal(s, "000!ok");
	free(s);
	assert_int_equal(b.len, 0);
	s = strbuf_take(&b);
	assert_string_equal(s, "");
	free(s);
}

static void strbuf_takes_latin1(void **state)
{
	struct strbuf b = STRBUF_INIT;

	strbuf_add_latin1(&b, "a\x7f\x80\xe9\xff", 5);
	assert_string_equal(strbuf_str(&b), "a\x7f\xc2\x80\xc3\xa9\xc3\xbf");
	strbuf_free(&b);
}

static void vec_pushes(void **state)
{
	VEC(uint16_t) v = {0};
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, (uint16_t)i), 0);
	unsigned n = 0;
	vec_foreach (&v, it)
		assert_int_equal(*it, n++);
	assert_int_equal(n, 1000);
	size_t cap = v.cap;
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 2 + 2), -ENOMEM);
	assert_int_equal(v.cap, cap);
	vec_free(&v);
}

/* SipHash-1-3 under the zero key of the bytes 1, 2, 3, ...: as CPython 3.11 (PYTHONHASHSEED=0) has
 * it. */
static void hash_is_siphash13(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{1, 0x44bc103b1f8540ed},  {3, 0x60ec29c17db287a3},  {8, 0x884ccc87cb0e5fb0},
		{15, 0x75e46d4257851550}, {16, 0xe05d12a0a4b2d063}, {33, 0x229e4c3e12208140},
	};
	struct hash_secret zero = {{0, 0}};
	uint8_t in[33];
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i + 1);
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
		assert_int_equal(hash_bytes(&zero, in, vectors[i].len), vectors[i].hash);
}

static void hash_depends_on_key_and_length(void **state)
{
	struct hash_secret a = {{1, 2}}, b = {{1, 3}};
	uint8_t zeros[64] = {0};
	for (size_t len = 0; len < sizeof(zeros); len++) {
		assert_int_equal(hash_bytes(&a, zeros, len), hash_bytes(&a, zeros, len));
		assert_int_not_equal(hash_bytes(&a, zeros, len), hash_bytes(&b, zeros, len));
		if (len)
			assert_int_not_equal(hash_bytes(&a, zeros, len),
					     hash_bytes(&a, zeros, len - 1));
	}
	/* Each input bit reaches about half of the output bits. */
	unsigned flips = 0, n = 0;
	for (unsigned bit = 0; bit < 512; bit++, n++) {
		uint8_t in[64] = {0};
		in[bit / 8] = (uint8_t)(1 << bit % 8);
		flips += (unsigned)__builtin_popcountll(hash_bytes(&a, in, 64) ^
							hash_bytes(&a, zeros, 64));
	}
	assert_in_range(flips / n, 28, 36);
	struct hash_secret drawn[2];
	assert_int_equal(hash_secret_draw(&drawn[0]), 0);
	assert_int_equal(hash_secret_draw(&drawn[1]), 0);
	assert_memory_not_equal(&drawn[0], &drawn[1], sizeof(drawn[0]));
}

static uint64_t rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void map_against_an_array(void **state)
{
	enum { KEYS = 512, STEPS = 200000 };
	static char keys[KEYS][16];
	static int values[KEYS];
	bool there[KEYS] = {0};
	size_t n = 0;
	struct map m = MAP_INIT;
	uint64_t seed = 88172645463325252ULL;
	for (int i = 0; i < KEYS; i++)
		snprintf(keys[i], sizeof(keys[i]), "key%d", i * 7919);
	assert_null(map_find_str(&m, "none"));
	for (int step = 0; step < STEPS; step++) {
		uint64_t r = rng(&seed);
		int k = (int)(r % KEYS);
		switch (r >> 32 & 3) {
		case 0:
		case 1:
			assert_int_equal(map_insert_str(&m, keys[k], &values[k]),
					 there[k] ? -EEXIST : 0);
			n += !there[k];
			there[k] = true;
			break;
		case 2:
			assert_ptr_equal(map_remove_str(&m, keys[k]), there[k] ? &values[k] : NULL);
			n -= there[k];
			there[k] = false;
			break;
		default:
			assert_ptr_equal(map_find_str(&m, keys[k]), there[k] ? &values[k] : NULL);
		}
		assert_int_equal(m.n, n);
	}
	assert_true(m.cap <= 2048);
	map_free(&m);
}

static void rank_against_an_array(void **state)
{
	enum { MOST = 400, CHANGES = 20000 };
	static struct rank_node nodes[MOST];
	struct rank_node *list[MOST], *spare[MOST];
	unsigned n = 0, n_spare = MOST;
	struct rank r = {0};
	uint64_t seed = 11;

	for (unsigned k = 0; k < MOST; k++)
		spare[k] = &nodes[k];
	for (unsigned step = 0; step < CHANGES; step++) {
		unsigned grows = step / 2000 % 2 ? 40 : 60;
		unsigned at = (unsigned)(rng(&seed) >> 8) % (n + 1);

		if (n_spare && rng(&seed) % 100 < grows) {
			struct rank_node *node = spare[--n_spare];

			rank_insert(&r, at < n ? list[at] : NULL, node);
			memmove(&list[at + 1], &list[at], (n++ - at) * sizeof(list[0]));
			list[at] = node;
		} else if (at < n) {
			rank_remove(&r, list[at]);
			spare[n_spare++] = list[at];
			memmove(&list[at], &list[at + 1], (--n - at) * sizeof(list[0]));
		}
		at = (unsigned)(rng(&seed) >> 8) % (n + 2);
		assert_ptr_equal(rank_at(&r, at), at < n ? list[at] : NULL);
	}
	for (unsigned k = 0; k < n; k++)
		assert_ptr_equal(rank_at(&r, k), list[k]);
}

/* Added at one end and at the other, as lists are written: no way down is long. */
static void rank_stays_low(void **state)
{
	enum { MOST = 100000 };
	struct rank_node *nodes = calloc(MOST, sizeof(*nodes));
	struct rank r = {0};
	unsigned deepest = 0;

	assert_non_null(nodes);
	for (unsigned k = 0; k < MOST; k++)
		rank_insert(&r, k < MOST / 2 ? NULL : &nodes[k - 1], &nodes[k]);
	for (unsigned k = 0; k < MOST; k++) {
		unsigned depth = 0;

		for (const struct rank_node *up = nodes[k].up; up; up = up->up)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	assert_in_range(deepest, 16, 60);
	free(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_aligned_zeroed_memory),
		cmocka_unit_test(arena_of_many_megabytes),
		cmocka_unit_test(arena_out_of_memory),
		cmocka_unit_test(strbuf_grows_cuts_and_hands_over),
		cmocka_unit_test(strbuf_takes_latin1),
		cmocka_unit_test(vec_pushes),
		cmocka_unit_test(hash_is_siphash13),
		cmocka_unit_test(hash_depends_on_key_and_length),
		cmocka_unit_test(map_against_an_array),
		cmocka_unit_test(rank_against_an_array),
		cmocka_unit_test(rank_stays_low),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
