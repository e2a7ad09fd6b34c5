/* SPDX-License-Identifier: Apache-2.0 */
/* local: see local.h. */
#include "engine/local.h"

#include <tamis/tamis.h>

#include "base/address.h"

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

int local_add(struct local *l, const char *prefix)
{
	struct address_range r;
	struct set_item item = {.lo = r.lo, .hi = r.hi};
	struct set **s;
	int err = address_range_parse(prefix, strlen(prefix), &r);

	if (err || r.range)
		return -EINVAL;
	if (l->n >= TAMIS_LOCAL_MAX)
		return -ENOSPC;
	s = r.len == 4 ? &l->ip : &l->ip6;
	err = set_make(s, r.len);
	if (!err)
		err = set_add(*s, &item, 0, 0, NULL);
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
