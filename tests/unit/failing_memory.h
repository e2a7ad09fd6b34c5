/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_memory: the allocator between a test and the C library, which counts and refuses.
 *
 * A test that includes this is linked with every allocation function wrapped (see meson.build). While
 * `armed`, `left` allocations succeed; then one is refused, or with `for_good` all that follow, and
 * `hit` tells that it came to that. One thread.
 */
#ifndef TAMIS_TEST_FAILING_MEMORY_H
#define TAMIS_TEST_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void *__wrap_aligned_alloc(size_t align, size_t n);

static struct {
	bool armed, for_good, hit;
	uint64_t left;
	uint64_t calls, bytes; /* all so far; of strdup the calls alone */
} memory;

static inline void memory_arm(uint64_t left, bool for_good)
{
	memory.armed = true;
	memory.for_good = for_good;
	memory.hit = false;
	memory.left = left;
}

static inline void memory_disarm(void)
{
	memory.armed = false;
}

static bool memory_refuses(size_t bytes)
{
	memory.calls++;
	memory.bytes += bytes;
	if (!memory.armed || (memory.hit && !memory.for_good))
		return false;
	if (memory.left) {
		memory.left--;
		return false;
	}
	memory.hit = true;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return memory_refuses(n) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return memory_refuses(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return memory_refuses(n) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return memory_refuses(0) ? NULL : __real_strdup(s);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return memory_refuses(n) ? NULL : __real_aligned_alloc(align, n);
}

#endif
