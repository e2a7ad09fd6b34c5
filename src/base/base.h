/* SPDX-License-Identifier: Apache-2.0 */
/* What every room may rely on: small macros and the byte-order accessors. No state, any thread. */
#ifndef TAMIS_BASE_H
#define TAMIS_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_SIZE(a)		      (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)		      ((a) < (b) ? (a) : (b))
#define MAX(a, b)		      ((a) > (b) ? (a) : (b))
#define likely(x)		      __builtin_expect(!!(x), 1)
#define unlikely(x)		      __builtin_expect(!!(x), 0)
#define PRINTF_LIKE(f, a)	      __attribute__((format(printf, f, a)))
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* Unaligned big-endian loads and stores: the byte order of the wire and of every key in tamis. */
static inline uint16_t be16_load(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t be32_load(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t be64_load(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void be16_store(void *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void be32_store(void *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

/* `len` bytes (at most 8) as a big-endian integer, and back. */
static inline uint64_t be_load(const uint8_t *p, unsigned len)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < len; i++)
		v = v << 8 | p[i];
	return v;
}

static inline void be_store(uint8_t *p, uint64_t v, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		p[i] = (uint8_t)(v >> 8 * (len - 1 - i));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "be*_load assume a little-endian host");

#endif
