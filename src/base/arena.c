/* SPDX-License-Identifier: Apache-2.0 */
/* arena: see arena.h. Blocks form a list from newest to oldest; only the newest has room left. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	FIRST_BLOCK = 4096,
	KEPT_BLOCK = 1 << 20,	  /* larger ones do not outlive a reset, and come zeroed */
	HUGE_BLOCK = 4 << 20,	  /* from here on in huge pages where the system has some */
	LARGEST_BLOCK = 16 << 20, /* unless one object asks for more */
	HUGE_PAGE = 2 << 20,
	ALIGN = 8,
};

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

static struct arena_block *block_new(size_t size)
{
	struct arena_block *b;
	uintptr_t from, to;

	if (size <= KEPT_BLOCK)
		return malloc(sizeof(*b) + size);
	b = calloc(1, sizeof(*b) + size);
	if (!b || size < HUGE_BLOCK)
		return b;
	from = ((uintptr_t)b + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
	to = ((uintptr_t)b + sizeof(*b) + size) & ~(uintptr_t)(HUGE_PAGE - 1);
	/* No more than advice: what it says does not matter. */
	madvise((void *)from, to - from, MADV_HUGEPAGE);
	return b;
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
		struct arena_block *b = block_new(want);
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
	return a->head->size > KEPT_BLOCK ? p : memset(p, 0, size);
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
	struct arena_block *keep = NULL;

	while (a->head) {
		struct arena_block *b = a->head;
		a->head = b->next;
		if (!keep && b->size <= KEPT_BLOCK) {
			keep = b;
			continue;
		}
		a->total -= sizeof(*b) + b->size;
		free(b);
	}
	a->pos = a->end = NULL;
	if (!keep)
		return;
	keep->next = NULL;
	a->head = keep;
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
