/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key: fills the classifier's keys from the packets of a burst; see key.h.
 *
 * Each field that a classifier asks for is read once for all packets of the mask, by the same
 * expression that a rule would be run with, so that what a packet does not have is not in its key.
 */
#include "eval/key.h"

#include "acl/rule.h"
#include "eval/run.h"
#include "packet/numbers.h"

enum { PF_INET = 1, PF_IPV4 = 2, PF_ARP = 3, PF_IPV6 = 10 };

/* As compile/ makes them: a column with its place in the packet, a column alone, others. */
#define FIELD(col, w, header, off)                                                                 \
	{                                                                                          \
		.kind = PX_COLUMN, .len = (w) / 8, .bits = (w), .column = {                        \
			.column = (col),                                                           \
			.in_packet = true,                                                         \
			.base = (header),                                                          \
			.bit_off = (off)                                                           \
		}                                                                                  \
	}
#define PLAIN(col, w)                                                                              \
	{                                                                                          \
		.kind = PX_COLUMN, .len = (w) / 8, .bits = (w), .column = {.column = (col) }       \
	}
#define META(k, w)                                                                                 \
	{                                                                                          \
		.kind = PX_META, .len = ((w) + 7) / 8, .bits = (w), .meta = (k)                    \
	}
#define CT(k, w)                                                                                   \
	{                                                                                          \
		.kind = PX_CT, .len = (w) / 8, .bits = (w), .ct = {.key = (k), .direction = -1 }   \
	}
static const struct key_source sources[] = {
	{CLS_SADDR, KEY_IN_IPV4, FIELD(COL_SADDR4, 32, BASE_NH, 96)},
	{CLS_DADDR, KEY_IN_IPV4, FIELD(COL_DADDR4, 32, BASE_NH, 128)},
	{CLS_SADDR, KEY_IN_IPV6, FIELD(COL_SADDR6, 128, BASE_NH, 64)},
	{CLS_DADDR, KEY_IN_IPV6, FIELD(COL_DADDR6, 128, BASE_NH, 192)},
	{CLS_SPORT, KEY_ANYWHERE, FIELD(COL_SPORT, 16, BASE_TH, 0)},
	{CLS_DPORT, KEY_ANYWHERE, FIELD(COL_DPORT, 16, BASE_TH, 16)},
	{CLS_TCP_FLAGS, KEY_ANYWHERE, FIELD(COL_TCP_FLAGS, 8, BASE_TH, 104)},
	{CLS_ICMP_TYPE, KEY_IN_ICMP, FIELD(COL_ICMP_TYPE, 8, BASE_TH, 0)},
	{CLS_ICMP_CODE, KEY_IN_ICMP, FIELD(COL_ICMP_CODE, 8, BASE_TH, 8)},
	{CLS_ICMP_TYPE, KEY_IN_ICMPV6, FIELD(COL_ICMPV6_TYPE, 8, BASE_TH, 0)},
	{CLS_ICMP_CODE, KEY_IN_ICMPV6, FIELD(COL_ICMPV6_CODE, 8, BASE_TH, 8)},
	{CLS_L4PROTO, KEY_ANYWHERE, PLAIN(COL_L4PROTO, 8)},
	{CLS_MARK, KEY_ANYWHERE, PLAIN(COL_MARK, 32)},
	{CLS_ETHERTYPE, KEY_ANYWHERE, PLAIN(COL_PROTOCOL, 16)},
	{CLS_IIF, KEY_ANYWHERE, META(PM_IIF, 32)},
	{CLS_OIF, KEY_ANYWHERE, META(PM_OIF, 32)},
	{CLS_PKTTYPE, KEY_ANYWHERE, META(PM_PKTTYPE, 8)},
	{CLS_CT_STATE, KEY_ANYWHERE, CT(PC_STATE, 32)},
	{CLS_CT_MARK, KEY_ANYWHERE, CT(PC_MARK, 32)},
	{CLS_CT_DIRECTION, KEY_ANYWHERE, CT(PC_DIRECTION, 8)},
};
#undef FIELD
#undef PLAIN
#undef META
#undef CT

static bool same(const struct prog_expr *a, const struct prog_expr *b)
{
	if (a->kind != b->kind || a->bits != b->bits)
		return false;
	switch ((enum prog_expr_kind)a->kind) {
	case PX_COLUMN:
		return a->column.column == b->column.column &&
		       a->column.in_packet == b->column.in_packet &&
		       (!a->column.in_packet || (a->column.base == b->column.base &&
						 a->column.bit_off == b->column.bit_off));
	case PX_META:
		return a->meta == b->meta;
	case PX_CT:
		return a->ct.key == b->ct.key && a->ct.direction == b->ct.direction &&
		       a->ct.nfproto == b->ct.nfproto;
	default:
		return false;
	}
}

const struct key_source *key_source_find(const struct prog_expr *e)
{
	for (size_t k = 0; k < ARRAY_SIZE(sources); k++)
		if (same(&sources[k].expr, e))
			return &sources[k];
	return NULL;
}

/* --- families ------------------------------------------------------------------------------- */

static burst_mask of_type(const struct burst *b, burst_mask mask, uint16_t type)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask & b->has[HAS_NH], i)
		m |= (burst_mask)(b->protocol[i] == type) << i;
	return m;
}

/* The packets of mask that a table of this family takes for IPv4 and for IPv6. */
static void families_of(const struct eval *ev, uint8_t family, burst_mask mask, burst_mask *v4,
			burst_mask *v6)
{
	*v4 = *v6 = 0;
	switch (family) {
	case PF_IPV4:
		*v4 = mask;
		break;
	case PF_IPV6:
		*v6 = mask;
		break;
	case PF_ARP:
		break;
	default:
		if (family == PF_INET && ev->class != CLASS_NETDEV) {
			*(ev->class == CLASS_IPV4 ? v4 : v6) = mask;
			break;
		}
		*v4 = of_type(ev->b, mask, ETH_IPV4);
		*v6 = family == PF_INET ? mask & ~*v4 : of_type(ev->b, mask, ETH_IPV6);
		break;
	}
}

/* --- reading -------------------------------------------------------------------------------- */

static burst_mask of_l4proto(const struct burst *b, burst_mask mask, uint8_t proto)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (mask & b->has[HAS_L4PROTO], i)
		m |= (burst_mask)(b->l4proto[i] == proto) << i;
	return m;
}

static void read_source(struct eval *ev, const struct key_source *s, burst_mask mask,
			struct cls_key *keys)
{
	const struct cls_place *at = &cls_places[s->field];
	const struct column *c;
	unsigned i;

	mask = value_read(ev, &s->expr, mask, 0, &c);
	if (s->expr.len > 8) {
		burst_foreach (mask, i) {
			const uint8_t *p = c->bytes + i * s->expr.len;

			for (unsigned k = 0; k < 4; k++)
				keys[i].w[at->word + k] = be32_load(p + 4 * k);
			keys[i].has |= UINT32_C(1) << s->field;
		}
		return;
	}
	burst_foreach (mask, i) {
		keys[i].w[at->word] |= (uint32_t)c->num[i] << at->shift;
		keys[i].has |= UINT32_C(1) << s->field;
	}
}

void keys_read(struct eval *ev, const struct program *p, uint32_t fields, burst_mask mask,
	       struct cls_key *keys)
{
	burst_mask v4, v6;
	unsigned i;

	families_of(ev, p->family, mask, &v4, &v6);
	burst_foreach (mask, i) {
		keys[i] = (struct cls_key){.family = CLS_OTHER};
		if ((v4 | v6) & bit_of(i))
			keys[i].family = v4 & bit_of(i) ? CLS_IPV4 : CLS_IPV6;
	}
	for (size_t k = 0; k < ARRAY_SIZE(sources); k++) {
		const struct key_source *s = &sources[k];
		burst_mask m = mask;

		if (!(fields >> s->field & 1))
			continue;
		switch ((enum key_home)s->home) {
		case KEY_ANYWHERE:
			break;
		case KEY_IN_IPV4:
			m = v4;
			break;
		case KEY_IN_IPV6:
			m = v6;
			break;
		case KEY_IN_ICMP:
			m = of_l4proto(ev->b, mask, PROTO_ICMP);
			break;
		case KEY_IN_ICMPV6:
			m = of_l4proto(ev->b, mask, PROTO_ICMPV6);
			break;
		}
		if (m)
			read_source(ev, s, m, keys);
	}
}
