/* SPDX-License-Identifier: Apache-2.0 */
/* address: see address.h. */
#include "base/address.h"

#include <arpa/inet.h>

/* Dotted decimal, no leading zeros, as inet_pton(3) has it, without its copy. */
static bool ipv4_parse(const char *text, size_t n, uint8_t out[4])
{
	const char *p = text, *end = text + n;

	for (unsigned i = 0; i < 4; i++) {
		unsigned v = 0, digits = 0;

		if (i && (p == end || *p++ != '.'))
			return false;
		for (; p < end && *p >= '0' && *p <= '9'; p++) {
			if (digits++ && !v)
				return false;
			v = v * 10 + (unsigned)(*p - '0');
			if (v > 255)
				return false;
		}
		if (!digits)
			return false;
		out[i] = (uint8_t)v;
	}
	return p == end;
}

unsigned address_parse(const char *text, size_t n, uint8_t out[16])
{
	char copy[INET6_ADDRSTRLEN];

	if (ipv4_parse(text, n, out))
		return 4;
	if (n >= sizeof(copy) || !memchr(text, ':', n) || memchr(text, 0, n))
		return 0;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return inet_pton(AF_INET6, copy, out) == 1 ? 16 : 0;
}

int decimal_parse(const char *text, size_t n, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return -EINVAL;
	}
	if (v > max)
		return -EINVAL;
	*out = v;
	return 0;
}

void address_prefix_bounds(uint8_t *lo, uint8_t *hi, unsigned len, unsigned prefix)
{
	for (unsigned i = 0; i < len; i++) {
		unsigned bits = prefix > 8 * i ? MIN(prefix - 8 * i, 8U) : 0;
		uint8_t host = (uint8_t)(0xff >> bits);

		hi[i] = lo[i] | host;
		lo[i] &= (uint8_t)~host;
	}
}

int address_range_parse(const char *text, size_t n, struct address_range *out)
{
	const char *dash = memchr(text, '-', n), *slash = memchr(text, '/', n);
	const char *end = dash ? dash : slash ? slash : text + n;
	struct address_range r = {0};
	uint64_t prefix;

	r.len = (uint8_t)address_parse(text, (size_t)(end - text), r.lo);
	if (!r.len)
		return -EINVAL;
	prefix = r.len * 8U;
	if (dash) {
		size_t left = (size_t)(text + n - dash - 1);

		if (address_parse(dash + 1, left, r.hi) != r.len || memcmp(r.lo, r.hi, r.len) > 0)
			return -EINVAL;
		r.range = true;
	} else {
		if (slash &&
		    decimal_parse(slash + 1, (size_t)(text + n - slash - 1), r.len * 8U, &prefix))
			return -EINVAL;
		address_prefix_bounds(r.lo, r.hi, r.len, (unsigned)prefix);
	}
	r.prefix = (uint8_t)prefix;
	*out = r;
	return 0;
}
