/* SPDX-License-Identifier: Apache-2.0 */
/* classifier_scalar: lookups on any CPU, and what the others are held to. */
#include "acl/classifier_internal.h"

static inline bool port_in(uint32_t ports, uint32_t lo, uint32_t hi)
{
	return (ports >> 16) >= (lo >> 16) && (ports >> 16) <= (hi >> 16) &&
	       (ports & 0xffff) >= (lo & 0xffff) && (ports & 0xffff) <= (hi & 0xffff);
}

/* Do the bits of an address above its `wild` lowest agree with a lane's? */
static inline bool address_in(const uint32_t *w, const uint32_t (*rows)[CLS_LANES], unsigned lane,
			      unsigned n, unsigned wild)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned below = 32 * (n - 1 - i);
		unsigned shift = wild > below ? MIN(wild - below, 32) : 0;
		if ((uint64_t)(w[i] ^ rows[i][lane]) >> shift)
			return false;
	}
	return true;
}

static inline unsigned scan_words(const struct cls_leaf *l, const struct cls_key *k, unsigned n)
{
	unsigned hits = 0, valid = __atomic_load_n(&l->shape.valid, __ATOMIC_RELAXED);
	uint32_t ports = k->w[CLS_AT_DPORT / 32];
	uint8_t proto = (uint8_t)k->w[CLS_AT_L4PROTO / 32];

	for (unsigned rest = valid; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);
		if (!(l->must[i][1] & ~k->has) && !((proto ^ l->has[i][0]) & l->must[i][0]) &&
		    address_in(k->w + CLS_AT_SADDR / 32, l->address, i, n, l->swild[i]) &&
		    address_in(k->w + CLS_AT_DADDR / 32, l->address + n, i, n, l->dwild[i]) &&
		    port_in(ports, l->port_lo[i], l->port_hi[i]))
			hits |= 1u << i;
	}
	return hits;
}

#define SCAN4(leaf, key) scan_words(leaf, key, 1)
#define SCAN6(leaf, key) scan_words(leaf, key, 4)
#define EXTRACT		 cls_extract
#define LOOKUP		 lookup_scalar
#include "acl/classifier_read.h"

static bool usable(void)
{
	return true;
}

const struct cls_ops cls_scalar = {"scalar", usable, lookup_scalar};
