/* SPDX-License-Identifier: Apache-2.0 */
/* region: pieces under seeded random operations against a list of what is out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/region.h"

enum { PIECES = 1500 };

static uint64_t rng = 88172645463325252ULL;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 20) % n;
}

struct piece {
	uint8_t *at;
	size_t size;
	uint8_t fill;
};

static void check_piece(const struct piece *p)
{
	for (size_t i = 0; i < p->size; i++)
		assert_int_equal(p->at[i], p->fill);
}

static void toggle(struct region *list, struct piece *p)
{
	if (p->at) {
		check_piece(p);
		region_free(p->at, p->size);
		p->at = NULL;
		return;
	}
	p->size = 1 + rnd(rnd(4) ? 9000 : 60000);
	p->at = region_alloc(list, p->size);
	p->fill = (uint8_t)rnd(256);
	if (!p->at)
		return;
	assert_int_equal((uintptr_t)p->at % 64, 0);
	memset(p->at, p->fill, p->size);
}

/* No two pieces share a byte, and what was written in one stays, in or out of the list. */
static void pieces(void **state)
{
	struct piece p[PIECES] = {{0}};
	struct region *list = NULL;
	unsigned full = 0;

	assert_int_equal(region_list_add(&list, 2), 0);
	assert_int_equal(region_list_add(&list, 1), 0);
	toggle(list, &p[0]); /* so that no region of all is ever empty */
	for (unsigned n = 0; n < 40000; n++) {
		struct piece *one = &p[1 + rnd(PIECES - 1)];
		bool was = one->at;
		toggle(list, one);
		full += !was && !one->at;
	}
	assert_true(full > 0);
	region_list_drop(&list);
	assert_null(list);
	for (unsigned i = 0; i < PIECES; i++)
		if (p[i].at)
			toggle(NULL, &p[i]);
}

/* A region holds what it says, and one that has become empty is used no more. */
static void whole(void **state)
{
	static const size_t sizes[] = {1, 1024, 1025, 6000, 131392, REGION_BYTES / 2};

	for (unsigned s = 0; s < ARRAY_SIZE(sizes); s++) {
		struct region *list = NULL;
		size_t n = 0, holds = region_holds(sizes[s]);
		uint8_t **at = malloc((holds + 1) * sizeof(*at));

		assert_true(holds && region_piece(sizes[s]) >= sizes[s]);
		assert_true(holds * region_piece(sizes[s]) < REGION_BYTES);
		assert_int_equal(region_list_add(&list, 1), 0);
		while ((at[n] = region_alloc(list, sizes[s])))
			assert_true(++n <= holds);
		assert_int_equal(n, holds);
		region_free(at[n / 2], sizes[s]);
		if (n > 1)
			assert_ptr_equal(region_alloc(list, sizes[s]), at[n / 2]);
		else
			assert_null(region_alloc(list, sizes[s]));
		for (size_t i = 0; n > 1 && i < n; i++)
			region_free(at[i], sizes[s]);
		assert_null(region_alloc(list, 1));
		region_list_drop(&list);
		free(at);
	}
}

static void too_many(void **state)
{
	struct region *list = NULL;

	assert_int_equal(region_list_add(&list, SIZE_MAX / REGION_BYTES), -ENOMEM);
	assert_int_equal(region_list_add(&list, SIZE_MAX), -ENOMEM);
	assert_int_equal(region_list_add(&list, 0), 0);
	assert_null(list);
	assert_null(region_alloc(list, 64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),
		cmocka_unit_test(whole),
		cmocka_unit_test(too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
