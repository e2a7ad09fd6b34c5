/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address: addresses, prefixes and ranges of IPv4 and IPv6 in text: numbers only, no names.
 *
 * Any thread; cost: the length of the text.
 */
#ifndef TAMIS_BASE_ADDRESS_H
#define TAMIS_BASE_ADDRESS_H

#include "base/base.h"

struct address_range {
	uint8_t lo[16], hi[16]; /* `len` bytes of each, big-endian */
	uint8_t len;		/* 4 or 16 */
	uint8_t prefix; /* of what was written as an address or prefix: 32 or 128, or its length */
	bool range;	/* was written as a-b */
};

/* "192.0.2.1" or "2001:db8::1" into 4 or 16 bytes at out; the number of bytes, 0 if it is none. */
unsigned address_parse(const char *text, size_t n, uint8_t out[16]);

/* An address, a prefix or a range. 0 or -EINVAL. Host bits of a prefix are cut off. */
int address_range_parse(const char *text, size_t n, struct address_range *out);

/* A decimal number up to max; -EINVAL for anything else. */
int decimal_parse(const char *text, size_t n, uint64_t max, uint64_t *out);

/* Sets lo and hi to the first and last address of the prefix that holds lo. */
void address_prefix_bounds(uint8_t *lo, uint8_t *hi, unsigned len, unsigned prefix);

#endif
