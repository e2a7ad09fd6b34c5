/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_alloc: preloaded, makes the allocation number $FAIL_AT fail, from 1, and with $FAIL_REST
 * all after it too. With $FAIL_COUNT writes into that file how many there were. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long n, fail_at;
static bool counting, rest;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT");

	fail_at = at ? strtoul(at, NULL, 10) : 0;
	rest = getenv("FAIL_REST");
	counting = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAIL_COUNT");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	counting = false;
	if (fd >= 0) {
		dprintf(fd, "%lu\n", n);
		close(fd);
	}
}

static bool fails(void)
{
	if (!counting)
		return false;
	n++;
	if (!fail_at || (rest ? n < fail_at : n != fail_at))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return realloc(p, bytes);
	errno = ENOMEM;
	return NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
