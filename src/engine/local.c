/* SPDX-License-Identifier: Apache-2.0 */
/* local: see local.h. */
#include "engine/local.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include <tamis/tamis.h>

enum { TEXT_MAX = INET6_ADDRSTRLEN + sizeof("/128") };

void local_free(struct local *l)
{
	set_free(l->ip);
	set_free(l->ip6);
	*l = (struct local){0};
}

static int set_make(struct set **s, unsigned len)
{
	struct set_desc desc = {
		.n_fields = 1, .field_len = {(uint8_t)len}, .interval = true, .auto_merge = true};

	return *s ? 0 : set_new(&desc, s);
}

/* Address, its bytes and the prefix length of a text; 0 or -EINVAL. */
static int prefix_parse(const char *text, uint8_t addr[16], unsigned *len, unsigned *prefix)
{
	char copy[TEXT_MAX];
	char *slash, *end;
	size_t n = strlen(text);
	unsigned long bits;

	if (n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, n + 1);
	slash = strchr(copy, '/');
	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, copy, addr) == 1)
		*len = 4;
	else if (inet_pton(AF_INET6, copy, addr) == 1)
		*len = 16;
	else
		return -EINVAL;
	*prefix = *len * 8;
	if (!slash)
		return 0;
	if (slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	bits = strtoul(slash + 1, &end, 10);
	if (*end || bits > *len * 8)
		return -EINVAL;
	*prefix = (unsigned)bits;
	return 0;
}

int local_add(struct local *l, const char *prefix)
{
	uint8_t lo[16], hi[16];
	unsigned len, bits;
	struct set_item item = {.lo = lo, .hi = hi};
	int err = prefix_parse(prefix, lo, &len, &bits);

	if (err)
		return err;
	if (l->n >= TAMIS_LOCAL_MAX)
		return -ENOSPC;
	for (unsigned i = 0; i < len; i++) {
		unsigned ones = bits > i * 8 ? MIN(bits - i * 8, 8U) : 0;
		uint8_t host = (uint8_t)(0xff >> ones);

		lo[i] &= (uint8_t)~host;
		hi[i] = lo[i] | host;
	}
	err = set_make(len == 4 ? &l->ip : &l->ip6, len);
	if (!err)
		err = set_add(len == 4 ? l->ip : l->ip6, &item, 0, 0, NULL);
	if (!err)
		l->n++;
	return err;
}

void local_find(const struct local *l, const struct burst *b, burst_mask *to, burst_mask *from)
{
	burst_mask ip = b->has[HAS_IPV4], ip6 = b->has[HAS_IPV6];

	*to = *from = 0;
	if (l->ip && ip) {
		*to |= set_lookup(l->ip, b->daddr, sizeof(b->daddr[0]), ip, b->time, NULL);
		*from |= set_lookup(l->ip, b->saddr, sizeof(b->saddr[0]), ip, b->time, NULL);
	}
	if (l->ip6 && ip6) {
		*to |= set_lookup(l->ip6, b->daddr, sizeof(b->daddr[0]), ip6, b->time, NULL);
		*from |= set_lookup(l->ip6, b->saddr, sizeof(b->saddr[0]), ip6, b->time, NULL);
	}
}

bool local_has(const struct local *l, const struct burst *b, unsigned i, bool source)
{
	struct set *s = b->has[HAS_IPV4] >> i & 1 ? l->ip : l->ip6;
	const uint8_t(*keys)[16] = source ? b->saddr : b->daddr;

	return s && set_lookup(s, keys, sizeof(keys[0]), UINT64_C(1) << i, b->time, NULL);
}
