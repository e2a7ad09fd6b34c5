/* SPDX-License-Identifier: Apache-2.0 */
/* Sets, case by case: errors, lifetimes, auto-merge, ends of the key space, transactions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "set/set.h"

#define S 1000000000ULL

static struct set *make(struct set_desc d)
{
	struct set *s = NULL;
	assert_int_equal(set_new(&d, &s), 0);
	return s;
}

static struct set_desc ipv4_ranges(bool auto_merge)
{
	return (struct set_desc){.n_fields = 1,
				 .field_len = {4},
				 .interval = true,
				 .auto_merge = auto_merge,
				 .timeout = true};
}

/* An IPv4 range as an item; keys live as long as the enclosing block. */
#define RANGE(first, last, ...)                                                                    \
	(&(struct set_item){.lo = (uint8_t[4]){(first) >> 24 & 255, (first) >> 16 & 255,           \
					       (first) >> 8 & 255, (first)&255},                   \
			    .hi = (uint8_t[4]){(last) >> 24 & 255, (last) >> 16 & 255,             \
					       (last) >> 8 & 255, (last)&255},                     \
			    __VA_ARGS__})
#define KEY(k, ...) RANGE(k, k, __VA_ARGS__)

static int add(struct set *s, const struct set_item *item, uint64_t now)
{
	return set_add(s, item, 0, now, NULL);
}

static bool has(struct set *s, uint32_t key, uint64_t now)
{
	uint8_t k[4];
	be32_store(k, key);
	return set_lookup(s, k, 4, 1, &now, NULL);
}

/* The listing: "first-last first-last ...", dotted quads shortened to hex. */
static const char *listing(struct set *s, enum set_cursor_view view, uint64_t now)
{
	static char text[4096];
	struct set_cursor *c;
	struct set_view v;
	size_t at = 0;

	text[0] = 0;
	assert_int_equal(set_cursor_open(s, view, NULL, now, &c), 0);
	while (set_cursor_next(c, &v)) {
		if (v.catchall)
			at += (size_t)sprintf(text + at, "* ");
		else
			at += (size_t)sprintf(text + at, "%x-%x ", be32_load(v.lo),
					      be32_load(v.hi));
	}
	set_cursor_close(c);
	if (at)
		text[at - 1] = 0;
	return text;
}

static void descs(void **state)
{
	struct set *s = NULL;
	struct set_desc none = {.n_fields = 0}, empty = {.n_fields = 1},
			wide = {.n_fields = 2, .field_len = {60, 5}},
			dynamic = {.n_fields = 1,
				   .field_len = {4},
				   .interval = true,
				   .dynamic = true},
			lifetime = {.n_fields = 1, .field_len = {4}, .timeout_ns = 5};

	assert_int_equal(set_new(&none, &s), -EINVAL);
	assert_int_equal(set_new(&empty, &s), -EINVAL);
	assert_int_equal(set_new(&wide, &s), -EINVAL);
	assert_int_equal(set_new(&lifetime, &s), -EINVAL);
	assert_int_equal(set_new(&dynamic, &s), -EOPNOTSUPP);
	assert_null(s);
	set_free(NULL);

	struct set_desc kinds[] = {{.n_fields = 2, .field_len = {4, 2}},
				   {.n_fields = 1, .field_len = {2}},
				   {.n_fields = 2, .field_len = {1, 1}},
				   {.n_fields = 1, .field_len = {2}, .timeout = true},
				   {.n_fields = 1, .field_len = {2}, .data_len = 4},
				   {.n_fields = 1, .field_len = {2}, .dynamic = true},
				   {.n_fields = 1, .field_len = {16}, .interval = true},
				   {.n_fields = 2, .field_len = {4, 2}, .interval = true}};
	static const char *const names[] = {"hash", "bitmap", "bitmap",	  "hash",
					    "hash", "hash",   "interval", "concat"};
	static const unsigned lens[] = {6, 2, 2, 2, 2, 2, 16, 6};
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		s = make(kinds[i]);
		assert_string_equal(set_kind_name(s), names[i]);
		assert_int_equal(set_key_len(s), lens[i]);
		set_free(s);
	}
}

static void errors(void **state)
{
	struct set *s = make((struct set_desc){.n_fields = 1, .field_len = {4}, .size = 2});
	struct set *map = make((struct set_desc){.n_fields = 1, .field_len = {4}, .data_len = 2});
	struct set_elem *conflict = NULL;
	struct set_view v;

	assert_int_equal(add(s, RANGE(1, 2), 0), -EINVAL);
	assert_int_equal(add(s, KEY(1, .data = "ab"), 0), -EINVAL);
	assert_int_equal(add(s, KEY(1, .timeout_ns = 5), 0), -EINVAL);
	assert_int_equal(add(map, KEY(1), 0), -EINVAL);
	assert_int_equal(set_count(s, 0) + set_count(map, 0), 0);

	assert_int_equal(add(s, KEY(1), 0), 0);
	assert_int_equal(add(s, KEY(1), 0), 0);
	assert_int_equal(set_add(s, KEY(1), SET_ADD_EXCL, 0, &conflict), -EEXIST);
	assert_non_null(conflict);
	assert_int_equal(add(s, KEY(2), 0), 0);
	assert_int_equal(add(s, KEY(3), 0), -ENFILE);
	assert_int_equal(add(s, KEY(2), 0), 0);
	assert_int_equal(set_delete(s, KEY(3), 0), -ENOENT);
	assert_int_equal(set_delete(s, KEY(1), 0), 0);
	assert_int_equal(set_delete(s, KEY(1), 0), -ENOENT);
	assert_int_equal(add(s, KEY(3), 0), 0);
	/* The catch-all does not count against size. */
	assert_int_equal(add(s, &(struct set_item){.catchall = true}, 0), 0);
	assert_int_equal(set_count(s, 0), 3);
	assert_true(has(s, 77, 0));

	assert_int_equal(add(map, KEY(1, .data = "ab", .comment = "one"), 0), 0);
	assert_int_equal(add(map, KEY(1, .data = "ab"), 0), 0);
	assert_int_equal(set_add(map, KEY(1, .data = "cd"), 0, 0, &conflict), -EEXIST);
	set_elem_view(map, conflict, 0, &v);
	assert_memory_equal(v.data, "ab", 2);
	assert_string_equal(v.comment, "one");
	set_free(s);
	set_free(map);
}

static void overlaps(void **state)
{
	struct set *s = make(ipv4_ranges(false));
	struct set_elem *conflict;
	struct set_view v;

	assert_int_equal(add(s, RANGE(0x10, 0x1f), 0), 0);
	assert_int_equal(add(s, RANGE(0x20, 0x2f), 0), 0); /* adjacent */
	assert_int_equal(add(s, RANGE(0x0f, 0x0f), 0), 0);
	assert_int_equal(add(s, RANGE(0x10, 0x1f), 0), 0); /* the same */
	assert_int_equal(set_add(s, RANGE(0x12, 0x13), 0, 0, &conflict), -EEXIST);
	set_elem_view(s, conflict, 0, &v);
	assert_int_equal(be32_load(v.lo), 0x10);
	assert_int_equal(be32_load(v.hi), 0x1f);
	assert_int_equal(add(s, RANGE(0x00, 0x10), 0), -EEXIST);
	assert_int_equal(add(s, RANGE(0x2f, 0x30), 0), -EEXIST);
	assert_int_equal(add(s, RANGE(0, UINT32_MAX), 0), -EEXIST);
	assert_int_equal(add(s, RANGE(0x31, 0x30), 0), -EINVAL);
	assert_int_equal(set_delete(s, RANGE(0x12, 0x13), 0), -ENOENT);
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "f-f 10-1f 20-2f");
	set_free(s);
}

static void ends(void **state)
{
	static const bool merge[] = {false, true};
	for (unsigned m = 0; m < 2; m++) {
		struct set *s = make(ipv4_ranges(merge[m]));
		assert_int_equal(add(s, KEY(0), 0), 0);
		assert_int_equal(add(s, KEY(UINT32_MAX), 0), 0);
		assert_true(has(s, 0, 0) && has(s, UINT32_MAX, 0));
		assert_false(has(s, 1, 0) || has(s, UINT32_MAX - 1, 0));
		assert_int_equal(set_flush(s, 0), 0);
		assert_int_equal(set_count(s, 0), 0);
		assert_int_equal(add(s, RANGE(0, UINT32_MAX), 0), 0);
		assert_true(has(s, 0, 0) && has(s, UINT32_MAX, 0) && has(s, 12345, 0));
		assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "0-ffffffff");
		assert_int_equal(set_delete(s, RANGE(0, UINT32_MAX), 0), 0);
		assert_false(has(s, 0, 0));
		set_free(s);
	}

	/* ::/0 and its ends, port 65535. */
	struct set *v6 =
		make((struct set_desc){.n_fields = 1, .field_len = {16}, .interval = true});
	uint8_t zero[16] = {0}, ones[16], mid[16] = {0x20, 1};
	uint64_t now = 0;
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(add(v6, &(struct set_item){.lo = zero, .hi = ones}, 0), 0);
	assert_int_equal(set_lookup(v6, zero, 16, 1, &now, NULL), 1);
	assert_int_equal(set_lookup(v6, ones, 16, 1, &now, NULL), 1);
	assert_int_equal(set_lookup(v6, mid, 16, 1, &now, NULL), 1);
	set_free(v6);

	struct set *c =
		make((struct set_desc){.n_fields = 2, .field_len = {4, 2}, .interval = true});
	assert_int_equal(
		add(c, &(struct set_item){.lo = "\x0a\0\0\0\xff\xff", .hi = "\x0a\0\0\xff\xff\xff"},
		    0),
		0);
	assert_int_equal(set_lookup(c, "\x0a\0\0\xff\xff\xff", 6, 1, &now, NULL), 1);
	assert_int_equal(set_lookup(c, "\x0a\0\0\0\xff\xfe", 6, 1, &now, NULL), 0);
	assert_int_equal(set_lookup(c, "\x0a\0\1\0\xff\xff", 6, 1, &now, NULL), 0);
	set_free(c);
}

static void merging(void **state)
{
	struct set *s = make(ipv4_ranges(true));

	assert_int_equal(add(s, RANGE(0x0a000000, 0x0a00007f), 0), 0);
	assert_int_equal(add(s, RANGE(0x0a000080, 0x0a0000ff), 0), 0);
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "a000000-a0000ff");
	assert_int_equal(set_delete(s, RANGE(0x0a000000, 0x0a00007f), 0), 0);
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "a000080-a0000ff");

	assert_int_equal(set_flush(s, 0), 0);
	assert_int_equal(add(s, RANGE(0x0a000000, 0x0a0000ff), 0), 0);
	assert_int_equal(add(s, KEY(0x0a000005), 0), 0);
	assert_string_equal(listing(s, SET_CURSOR_USER, 0), "a000000-a0000ff a000005-a000005");
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "a000000-a0000ff");
	assert_int_equal(set_delete(s, KEY(0x0a000005), 0), 0);
	assert_true(has(s, 0x0a000005, 0));
	assert_int_equal(set_delete(s, KEY(0x0a000005), 0), 0); /* cut out of the range now */
	assert_false(has(s, 0x0a000005, 0));
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 0), "a000000-a000004 a000006-a0000ff");
	assert_int_equal(set_delete(s, RANGE(0x0a000004, 0x0a000006), 0), -ENOENT);

	/* The merged range is what `get` shows. */
	struct set_view v;
	uint8_t k[4];
	be32_store(k, 0x0a000007);
	assert_int_equal(add(s, RANGE(0x0a000100, 0x0a0001ff), 0), 0);
	assert_int_equal(set_get(s, k, NULL, 0, &v), 0);
	assert_int_equal(be32_load(v.lo), 0x0a000006);
	assert_int_equal(be32_load(v.hi), 0x0a0001ff);
	be32_store(k, 0x0a000005);
	assert_int_equal(set_get(s, k, NULL, 0, &v), -ENOENT);
	set_free(s);
}

static void merging_lifetimes(void **state)
{
	struct set *s = make(ipv4_ranges(true));

	assert_int_equal(add(s, KEY(1, .timeout_ns = 3 * S), 0), 0);
	assert_int_equal(add(s, KEY(2, .timeout_ns = 3600 * S), 0), 0);
	assert_true(has(s, 1, 3 * S - 1) && has(s, 2, 3 * S - 1));
	assert_false(has(s, 1, 3 * S));
	assert_true(has(s, 2, 4 * S));

	assert_int_equal(add(s, RANGE(0x100, 0x1ff, .timeout_ns = 2 * S), 4 * S), 0);
	assert_int_equal(add(s, KEY(0x107, .timeout_ns = 3600 * S), 4 * S), 0);
	assert_true(has(s, 0x107, 5 * S) && has(s, 0x108, 5 * S));
	assert_true(has(s, 0x107, 7 * S));
	assert_false(has(s, 0x108, 7 * S));
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 5 * S), "2-2 100-1ff 107-107");
	assert_string_equal(listing(s, SET_CURSOR_MERGED, 7 * S), "2-2 107-107");
	assert_int_equal(set_count(s, 7 * S), 2);
	set_free(s);
}

static void lifetimes(void **state)
{
	struct set *s = make((struct set_desc){
		.n_fields = 1, .field_len = {4}, .timeout = true, .timeout_ns = 10 * S, .size = 3});
	struct set_elem *e;
	struct set_view v;
	uint8_t k[4];

	assert_int_equal(add(s, KEY(1), 0), 0);
	assert_int_equal(add(s, KEY(2, .timeout_ns = SET_NEVER), 0), 0);
	assert_int_equal(add(s, KEY(3, .timeout_ns = 20 * S, .expires_in_ns = 5 * S), 0), 0);
	assert_int_equal(add(s, KEY(4), 0), -ENFILE);
	assert_int_equal(add(s, KEY(4, .timeout_ns = SET_NEVER, .expires_in_ns = 1), 0), -ERANGE);
	be32_store(k, 3);
	e = set_find(s, k, NULL, 1 * S);
	assert_non_null(e);
	set_elem_view(s, e, 1 * S, &v);
	assert_int_equal(v.timeout_ns, 20 * S);
	assert_int_equal(v.expires_in_ns, 4 * S);
	be32_store(k, 2);
	set_elem_view(s, set_find(s, k, NULL, 0), 0, &v);
	assert_int_equal(v.timeout_ns, 0);
	assert_int_equal(v.expires_in_ns, 0);

	/* A re-add with the same timeout changes nothing, with another it begins anew. */
	assert_int_equal(add(s, KEY(1), 9 * S), 0);
	assert_false(has(s, 1, 10 * S));
	assert_int_equal(set_count(s, 10 * S), 1);
	assert_int_equal(add(s, KEY(1), 10 * S), 0); /* it had expired: a new one */
	assert_int_equal(add(s, KEY(1, .timeout_ns = 30 * S), 12 * S), 0);
	assert_true(has(s, 1, 41 * S));
	assert_false(has(s, 1, 42 * S));
	assert_int_equal(add(s, KEY(2, .timeout_ns = 1 * S), 20 * S), 0); /* never -> 1 s */
	assert_false(has(s, 2, 21 * S));
	/* Room is what live elements leave, collected or not. */
	assert_int_equal(add(s, KEY(5), 21 * S), 0);
	assert_int_equal(add(s, KEY(6), 21 * S), 0);
	assert_int_equal(add(s, KEY(7), 21 * S), -ENFILE);
	assert_int_equal(set_next_due(s), 31 * S);
	assert_int_equal(set_gc(s, 31 * S - 1, 10), 0);
	assert_int_equal(set_gc(s, 31 * S, 1), 1);
	assert_int_equal(set_gc(s, 31 * S, 10), 1);
	assert_int_equal(set_count(s, 31 * S), 1);
	assert_int_equal(set_stats_of(s)->expired, 5);

	/* The catch-all expires like the others. */
	assert_int_equal(add(s, &(struct set_item){.catchall = true}, 50 * S), 0);
	assert_true(has(s, 999, 59 * S));
	assert_false(has(s, 999, 60 * S));
	assert_int_equal(set_delete(s, &(struct set_item){.catchall = true}, 60 * S), -ENOENT);
	set_free(s);
}

static void packet_path(void **state)
{
	struct set *s = make((struct set_desc){.n_fields = 1,
					       .field_len = {4},
					       .timeout = true,
					       .timeout_ns = 10 * S,
					       .dynamic = true,
					       .size = 2});
	struct set_elem *a, *b;
	uint8_t k[4];

	assert_int_equal(set_update(s, SET_UPDATE_ADD, KEY(1), 0, &a), 1);
	assert_int_equal(set_update(s, SET_UPDATE_ADD, KEY(1), 5 * S, &b), 0);
	assert_ptr_equal(a, b);
	assert_false(has(s, 1, 10 * S));
	assert_int_equal(set_update(s, SET_UPDATE_REFRESH, KEY(1), 9 * S, &b), 0);
	assert_true(has(s, 1, 18 * S));
	assert_int_equal(set_update(s, SET_UPDATE_ADD, KEY(2), 9 * S, &b), 1);
	assert_int_equal(set_update(s, SET_UPDATE_ADD, KEY(3), 9 * S, &b), -ENFILE);
	be32_store(k, 1);
	assert_int_equal(set_remove(s, k, 9 * S), 0);
	assert_int_equal(set_remove(s, k, 9 * S), -ENOENT);
	assert_int_equal(set_update(s, SET_UPDATE_ADD, KEY(3), 9 * S, &b), 1);
	assert_int_equal(set_stats_of(s)->added, 3);
	assert_int_equal(set_stats_of(s)->full, 1);
	assert_true(has(s, 3, 9 * S));
	assert_false(has(s, 1, 9 * S));
	assert_int_equal(set_stats_of(s)->hits, 2); /* key 1 at 18 s, key 3 */
	set_free(s);

	/* A batch finds what single lookups find, each packet at its own time. */
	s = make((struct set_desc){.n_fields = 1, .field_len = {4}, .timeout = true});
	assert_int_equal(add(s, KEY(7, .timeout_ns = 30), 0), 0);
	uint8_t keys[64][4];
	uint64_t now[64];
	for (unsigned i = 0; i < 64; i++) {
		be32_store(keys[i], 7);
		now[i] = i;
	}
	assert_int_equal(set_lookup(s, keys, 4, ~0ULL, now, NULL), (1ULL << 30) - 1);
	assert_int_equal(set_lookup(s, keys, 4, 0x5, now, NULL), 0x5);
	assert_int_equal(set_lookup(s, keys, 4, 0, now, NULL), 0);
	set_free(s);
}

static void concat_order(void **state)
{
	struct set *s = make((struct set_desc){
		.n_fields = 2, .field_len = {1, 1}, .interval = true, .data_len = 1});
	struct set_elem *e;
	uint64_t now = 0;

	/* Neither corner of the second lies in the first: both stand, the first answers. */
	assert_int_equal(add(s, &(struct set_item){.lo = "\1\5", .hi = "\x0a\6", .data = "a"}, 0),
			 0);
	assert_int_equal(add(s, &(struct set_item){.lo = "\5\1", .hi = "\6\x0a", .data = "b"}, 0),
			 0);
	assert_int_equal(set_lookup(s, "\5\5", 2, 1, &now, &e), 1);
	assert_memory_equal(set_elem_data(s, e), "a", 1);
	/* A corner inside another is refused. */
	assert_int_equal(add(s, &(struct set_item){.lo = "\6\6", .hi = "\x10\x10", .data = "c"}, 0),
			 -EEXIST);
	assert_int_equal(add(s, &(struct set_item){.lo = "\0\0", .hi = "\1\5", .data = "c"}, 0),
			 -EEXIST);
	/* Undoing a delete keeps the order of arrival. */
	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_delete(s, &(struct set_item){.lo = "\1\5", .hi = "\x0a\6"}, 0), 0);
	assert_int_equal(set_lookup(s, "\5\5", 2, 1, &now, &e), 1);
	assert_memory_equal(set_elem_data(s, e), "b", 1);
	set_rollback(s);
	assert_int_equal(set_lookup(s, "\5\5", 2, 1, &now, &e), 1);
	assert_memory_equal(set_elem_data(s, e), "a", 1);
	set_free(s);
}

static void transactions(void **state)
{
	struct set *s = make((struct set_desc){.n_fields = 1,
					       .field_len = {4},
					       .timeout = true,
					       .timeout_ns = 100 * S,
					       .size = 50});
	struct set_elem *kept[40];
	uint8_t k[4];

	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(add(s, KEY(i), i * S), 0);
		be32_store(k, i);
		kept[i] = set_find(s, k, NULL, i * S);
	}
	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_begin(s), -EALREADY);
	assert_true(set_in_transaction(s));
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(set_delete(s, KEY(i), 40 * S), 0);
	assert_int_equal(add(s, KEY(5, .timeout_ns = 1 * S), 40 * S), 0);
	assert_int_equal(add(s, KEY(30, .timeout_ns = SET_NEVER), 40 * S), 0);
	assert_int_equal(set_flush(s, 40 * S), 0);
	assert_int_equal(set_change(s, 2, 7 * S, 3, 40 * S), 0);
	assert_int_equal(add(s, KEY(1), 40 * S), 0);
	assert_int_equal(add(s, KEY(2), 40 * S), 0);
	assert_int_equal(add(s, KEY(3), 40 * S), -ENFILE);
	assert_int_equal(set_flush(s, 40 * S), 0);
	assert_int_equal(set_gc(s, 1000 * S, 100), 0); /* not now */
	set_rollback(s);
	assert_false(set_in_transaction(s));
	assert_int_equal(set_count(s, 40 * S), 40);
	assert_int_equal(set_desc_of(s)->size, 50);
	assert_int_equal(set_desc_of(s)->timeout_ns, 100 * S);
	for (uint32_t i = 0; i < 40; i++) {
		struct set_view v;
		be32_store(k, i);
		assert_ptr_equal(set_find(s, k, NULL, 40 * S), kept[i]);
		set_elem_view(s, kept[i], 40 * S, &v);
		assert_int_equal(v.expires_in_ns, (60 + i) * S);
	}
	assert_int_equal(set_next_due(s), 100 * S);

	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_flush(s, 40 * S), 0);
	assert_int_equal(add(s, KEY(99), 40 * S), 0);
	assert_int_equal(set_commit(s, UINT64_MAX), 0);
	assert_string_equal(listing(s, SET_CURSOR_USER, 40 * S), "63-63");

	assert_int_equal(set_change(s, 1, 0, 0, 40 * S), 0);
	assert_int_equal(set_begin(s), 0);
	assert_int_equal(set_delete(s, KEY(99), 40 * S), 0);
	set_free(s); /* an open one is closed */
}

/* Sorted, backwards, mixed: if anything were quadratic this would not end. */
static void many(void **state)
{
	enum { N = 100000 };
	for (unsigned kind = 0; kind < 9; kind++) {
		bool concat = kind / 3 == 2;
		struct set *s = make((struct set_desc){.n_fields = concat ? 2 : 1,
						       .field_len = {4, 2},
						       .interval = kind >= 3,
						       .auto_merge = kind == 5});
		uint8_t lo[6] = {0}, hi[6] = {0};
		struct set_item item = {.lo = lo, .hi = hi};
		for (unsigned pass = 0; pass < 2; pass++)
			for (uint32_t i = 0; i < N; i++) {
				uint32_t n = kind % 3 == 0   ? i
					     : kind % 3 == 1 ? N - 1 - i
							     : (uint32_t)(i * 7919ULL % N);
				be32_store(lo, n * 4);
				be32_store(hi, n * 4 + (kind >= 3 ? 2 : 0));
				assert_int_equal(pass ? set_delete(s, &item, 0)
						      : set_add(s, &item, 0, 0, NULL),
						 0);
			}
		assert_int_equal(set_count(s, 0), 0);
		set_free(s);
	}
}

/* Thousands of lifetimes, some of them changed or ended early, in no order: each ends in its time.
 */
static void many_lifetimes(void **state)
{
	enum { N = 20000, TIMES = 50 };
	static unsigned end[N]; /* 0: it is gone */
	struct set *s = make(ipv4_ranges(false));
	uint64_t random = 5;

	for (uint32_t i = 0; i < 2 * N; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		uint32_t k = i < N ? i : (uint32_t)(random >> 40) % N;

		if (i >= N && i % 3 == 0 && end[k]) {
			assert_int_equal(set_delete(s, RANGE(k * 4, k * 4 + 2), 0), 0);
			end[k] = 0;
			continue;
		}
		end[k] = 1 + (unsigned)(random >> 33) % TIMES;
		assert_int_equal(add(s, RANGE(k * 4, k * 4 + 2, .timeout_ns = end[k] * S), 0), 0);
	}
	for (unsigned t = 1; t <= TIMES; t++) {
		unsigned due = 0, freed = 0, n;

		for (uint32_t k = 0; k < N; k++)
			due += end[k] == t;
		assert_int_equal(set_next_due(s), t * S);
		while ((n = set_gc(s, t * S, 7)))
			freed += n;
		assert_int_equal(freed, due);
	}
	assert_int_equal(set_count(s, 0), 0);
	assert_int_equal(set_next_due(s), UINT64_MAX);
	set_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descs),	cmocka_unit_test(errors),
		cmocka_unit_test(overlaps),	cmocka_unit_test(ends),
		cmocka_unit_test(merging),	cmocka_unit_test(merging_lifetimes),
		cmocka_unit_test(lifetimes),	cmocka_unit_test(packet_path),
		cmocka_unit_test(concat_order), cmocka_unit_test(transactions),
		cmocka_unit_test(many),		cmocka_unit_test(many_lifetimes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
