/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that come, change and go, in versions that are kept or undone, beside an array: the open
 * version has what the array has, the one before has what it had. Hashes are random, or have so
 * many leading bits in common that pages and segments split in one place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/tuple_dir.h"

enum { GROUPS = 8000, VERSIONS = 300 };

struct group {
	uint64_t hash;
	struct box_node *root, *before; /* NULL: it is not there */
};

struct world {
	struct tuple_dir dir, before;
	struct box_version version;
	struct group group[GROUPS];
	uint64_t random;
	size_t seen;
};

static uint64_t draw(struct world *w)
{
	uint64_t z = w->random += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void root_put(struct world *w, struct group *g, struct box_node *root)
{
	assert_int_equal(tuple_dir_reserve(&w->dir, &w->version, g->hash, root && !g->root), 0);
	int at = tuple_dir_place(&w->dir, g->hash);
	assert_int_equal(at >= 0, g->root != NULL);
	tuple_dir_put(&w->dir, g->hash, at, root);
	if (g->root && g->root != g->before)
		free(g->root);
	g->root = root;
}

static void change(struct world *w)
{
	struct group *g = &w->group[draw(w) % GROUPS];

	root_put(w, g, g->root && draw(w) % 3 == 0 ? NULL : calloc(1, sizeof(struct box_node)));
}

static void count(void *ctx, struct box_node *root)
{
	((struct world *)ctx)->seen++;
}

static void check(struct world *w)
{
	size_t n = 0, n_before = 0;

	for (unsigned i = 0; i < GROUPS; i++) {
		const struct group *g = &w->group[i];
		assert_ptr_equal(tuple_dir_find(&w->dir, g->hash), g->root);
		assert_ptr_equal(tuple_dir_find(&w->before, g->hash), g->before);
		assert_false(g->root &&
			     !tuple_entry_may(tuple_dir_entry(&w->dir, g->hash), g->hash));
		n += g->root != NULL;
		n_before += g->before != NULL;
	}
	w->seen = 0;
	tuple_dir_each(&w->dir, count, w);
	assert_int_equal(w->seen, n);
	w->seen = 0;
	tuple_dir_each(&w->before, count, w);
	assert_int_equal(w->seen, n_before);
}

static void end_version(struct world *w, bool keep)
{
	if (!keep) {
		w->version.retired = NULL;
		tuple_dir_free(&w->dir, &w->version, count, w);
		w->dir = w->before;
	}
	while (w->version.retired) {
		struct rcu_head *next = w->version.retired->next;
		free(w->version.retired);
		w->version.retired = next;
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		struct group *g = &w->group[i];
		if (g->root != g->before)
			free(keep ? g->before : g->root);
		if (keep)
			g->before = g->root;
		else
			g->root = g->before;
	}
	w->before = w->dir;
	w->version.stamp++;
}

static void versions(unsigned same)
{
	struct world *w = calloc(1, sizeof(*w));

	w->random = 11 + same;
	for (unsigned i = 0; i < GROUPS; i++)
		w->group[i].hash = same ? draw(w) >> same : draw(w);
	assert_int_equal(tuple_dir_make(&w->dir, &w->version), 0);
	w->before = w->dir;
	w->version.stamp++;
	for (unsigned v = 0; v < VERSIONS; v++) {
		/* Of one change, as most are, or of many. */
		uint64_t n = v % 4 ? draw(w) % 3 : draw(w) % 400;
		for (uint64_t i = 0; i < n; i++)
			change(w);
		if (v % 20 == 0)
			check(w);
		end_version(w, v % 5);
	}
	check(w);
	tuple_dir_free(&w->dir, NULL, count, w);
	for (unsigned i = 0; i < GROUPS; i++)
		free(w->group[i].root);
	free(w);
}

static void random_hashes(void **state)
{
	versions(0);
}

static void alike(void **state)
{
	versions(9);
	versions(12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_hashes),
		cmocka_unit_test(alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
