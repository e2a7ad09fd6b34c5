/* SPDX-License-Identifier: Apache-2.0 */
/* arena: see arena.h. Blocks form a list from newest to oldest; only the newest has room left. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = 16 };

struct arena_block {
	struct arena_block *next;
	size_t size; /* usable bytes after this header */
} __attribute__((aligned(16)));

static void *fail(struct arena *a)
{
	if (a->on_oom)
		longjmp(*a->on_oom, 1);
	return NULL;
}

static void use_block(struct arena *a, struct arena_block *b)
{
	a->pos = (uint8_t *)(b + 1);
	a->end = a->pos + b->size;
}

void *arena_alloc(struct arena *a, size_t size)
{
	if (size > SIZE_MAX / 2)
		return fail(a);
	size = (MAX(size, (size_t)1) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (unlikely(size > (size_t)(a->end - a->pos))) {
		size_t want = a->first ? a->first : FIRST_BLOCK;
		if (a->head)
			want = MIN(a->head->size * 2, (size_t)LARGEST_BLOCK);
		want = MAX(want, size);
		struct arena_block *b = malloc(sizeof(*b) + want);
		if (!b)
			return fail(a);
		b->size = want;
		b->next = a->head;
		a->head = b;
		a->total += sizeof(*b) + want;
		use_block(a, b);
	}
	void *p = a->pos;
	a->pos += size;
	return memset(p, 0, size);
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		return fail(a);
	return arena_alloc(a, total);
}

void *arena_dup(struct arena *a, const void *p, size_t size)
{
	void *copy = arena_alloc(a, size);
	if (copy && size)
		memcpy(copy, p, size);
	return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);
	if (copy && len)
		memcpy(copy, s, len);
	return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return fail(a);
	char *s = arena_alloc(a, (size_t)len + 1);
	if (!s)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(s, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return s;
}

jmp_buf *arena_on_oom(struct arena *a, jmp_buf *to)
{
	jmp_buf *before = a->on_oom;
	a->on_oom = to;
	return before;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->head;
	if (!keep)
		return;
	while (keep->next) {
		struct arena_block *b = keep->next;
		keep->next = b->next;
		a->total -= sizeof(*b) + b->size;
		free(b);
	}
	use_block(a, keep);
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_block *b = a->head;
		a->head = b->next;
		free(b);
	}
	*a = ARENA_INIT;
}
