/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory that is given back all at once.
 *
 * A parse, a transaction, a rule each own one. Allocation bumps a pointer; blocks double from
 * `first` to 16 MiB, so that time and memory are proportional to what is asked for.
 *
 * Out of memory: arena_alloc() returns NULL, unless the owner has set a jump point with
 * arena_on_oom(); then it does not return but jumps there. Code between the two may own nothing but
 * memory of this arena. One thread at a time.
 */
#ifndef TAMIS_ARENA_H
#define TAMIS_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	uint8_t *pos, *end;
	size_t total; /* bytes taken from the system, for reports and limits */
	size_t first; /* bytes of the first block; 0 for the default of 4 KiB */
	jmp_buf *on_oom;
};

#define ARENA_INIT ((struct arena){0})

/* Zeroed memory, aligned to 8 bytes. */
void *arena_alloc(struct arena *a, size_t size);
/* The same, of n objects of `size` bytes; an overflow counts as out of memory. */
void *arena_calloc(struct arena *a, size_t n, size_t size);
void *arena_dup(struct arena *a, const void *p, size_t size);
/* A NUL-terminated copy of the `len` bytes at s. */
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* NULL takes the jump point away again; returns the one set before. */
jmp_buf *arena_on_oom(struct arena *a, jmp_buf *to);
/* Forgets all objects but keeps one block, of at most 1 MiB, for the next round. */
void arena_reset(struct arena *a);
/* Gives everything back; the arena may be used again. */
void arena_free(struct arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

#endif
