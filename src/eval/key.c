/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key: fills the classifier's keys from the packets of a burst; see key.h.
 *
 * Each field that a classifier asks for is read once for all packets of the mask, by the same
 * expression that a rule would be run with, so that what a packet does not have is not in its key.
 * A field more is a row of sources[] and one of CLS_FIELDS.
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
#define READ(w, header, off)                                                                       \
	{                                                                                          \
		.kind = PX_READ, .len = ((w) + 7) / 8, .bits = (w), .read = {                      \
			.base = (header),                                                          \
			.bit_off = (off)                                                           \
		}                                                                                  \
	}
#define EXTHDR(w, proto, off)                                                                      \
	{                                                                                          \
		.kind = PX_OPTION, .len = ((w) + 7) / 8, .bits = (w), .option = {                  \
			.class = POPT_EXTHDR,                                                      \
			.number = (proto),                                                         \
			.bit_off = (off)                                                           \
		}                                                                                  \
	}
#define TAG(w, off)                                                                                \
	{                                                                                          \
		.kind = PX_VLAN, .len = ((w) + 7) / 8, .bits = (w), .vlan = {.bit_off = (off) }    \
	}
#define META(k, w)                                                                                 \
	{                                                                                          \
		.kind = PX_META, .len = ((w) + 7) / 8, .bits = (w), .meta = (k)                    \
	}
#define CT(k, w)                                                                                   \
	{                                                                                          \
		.kind = PX_CT, .len = (w) / 8, .bits = (w), .ct = {.key = (k), .direction = -1 }   \
	}

enum { SOURCES = 2 }; /* of a field, at most; one of length 0 is none */

static const struct key_source sources[CLS_FIELD_KINDS][SOURCES] = {
	[CLS_SADDR] = {{KEY_IN_IPV4, KEY_WHOLE, FIELD(COL_SADDR4, 32, BASE_NH, 96)},
		       {KEY_IN_IPV6, KEY_WHOLE, FIELD(COL_SADDR6, 128, BASE_NH, 64)}},
	[CLS_DADDR] = {{KEY_IN_IPV4, KEY_WHOLE, FIELD(COL_DADDR4, 32, BASE_NH, 128)},
		       {KEY_IN_IPV6, KEY_WHOLE, FIELD(COL_DADDR6, 128, BASE_NH, 192)}},
	[CLS_SPORT] = {{KEY_ANYWHERE, KEY_WHOLE, FIELD(COL_SPORT, 16, BASE_TH, 0)}},
	[CLS_DPORT] = {{KEY_ANYWHERE, KEY_WHOLE, FIELD(COL_DPORT, 16, BASE_TH, 16)}},
	[CLS_L4PROTO] = {{KEY_ANYWHERE, KEY_WHOLE, PLAIN(COL_L4PROTO, 8)}},
	[CLS_ICMP_TYPE] = {{KEY_IN_ICMP, KEY_WHOLE, FIELD(COL_ICMP_TYPE, 8, BASE_TH, 0)},
			   {KEY_IN_ICMPV6, KEY_WHOLE, FIELD(COL_ICMPV6_TYPE, 8, BASE_TH, 0)}},
	[CLS_ICMP_CODE] = {{KEY_IN_ICMP, KEY_WHOLE, FIELD(COL_ICMP_CODE, 8, BASE_TH, 8)},
			   {KEY_IN_ICMPV6, KEY_WHOLE, FIELD(COL_ICMPV6_CODE, 8, BASE_TH, 8)}},
	[CLS_TCP_FLAGS] = {{KEY_ANYWHERE, KEY_WHOLE, FIELD(COL_TCP_FLAGS, 8, BASE_TH, 104)}},
	[CLS_FRAG] = {{KEY_IN_IPV4, KEY_WHOLE, READ(16, BASE_NH, 48)},
		      {KEY_IN_IPV6, KEY_WHOLE, EXTHDR(13, PROTO_FRAGMENT, 16)}},
	[CLS_CT_STATE] = {{KEY_ANYWHERE, KEY_WHOLE, CT(PC_STATE, 32)}},
	[CLS_CT_DIRECTION] = {{KEY_ANYWHERE, KEY_WHOLE, CT(PC_DIRECTION, 8)}},
	[CLS_PKTTYPE] = {{KEY_ANYWHERE, KEY_WHOLE, META(PM_PKTTYPE, 8)}},
	[CLS_IIF] = {{KEY_ANYWHERE, KEY_WHOLE, META(PM_IIF, 32)}},
	[CLS_OIF] = {{KEY_ANYWHERE, KEY_WHOLE, META(PM_OIF, 32)}},
	[CLS_MARK] = {{KEY_ANYWHERE, KEY_WHOLE, PLAIN(COL_MARK, 32)}},
	[CLS_CT_MARK] = {{KEY_ANYWHERE, KEY_WHOLE, CT(PC_MARK, 32)}},
	[CLS_VLAN_ID] = {{KEY_ANYWHERE, KEY_WHOLE, TAG(12, 4)}},
	[CLS_VLAN_DEI] = {{KEY_ANYWHERE, KEY_WHOLE, TAG(1, 3)}},
	[CLS_VLAN_PCP] = {{KEY_ANYWHERE, KEY_WHOLE, TAG(3, 0)}},
	[CLS_ETHERTYPE] = {{KEY_ANYWHERE, KEY_WHOLE, PLAIN(COL_PROTOCOL, 16)}},
	[CLS_LENGTH] = {{KEY_IN_IPV4, KEY_WHOLE, READ(16, BASE_NH, 16)},
			{KEY_IN_IPV6, KEY_WHOLE, READ(16, BASE_NH, 32)}},
	[CLS_TTL] = {{KEY_IN_IPV4, KEY_WHOLE, READ(8, BASE_NH, 64)},
		     {KEY_IN_IPV6, KEY_WHOLE, READ(8, BASE_NH, 56)}},
	[CLS_DSCP] = {{KEY_IN_IPV4, KEY_WHOLE, READ(6, BASE_NH, 8)},
		      {KEY_IN_IPV6, KEY_WHOLE, READ(6, BASE_NH, 4)}},
	[CLS_IIFNAME] = {{KEY_ANYWHERE, KEY_NAME, META(PM_IIFNAME, 128)}},
	[CLS_OIFNAME] = {{KEY_ANYWHERE, KEY_NAME, META(PM_OIFNAME, 128)}},
	[CLS_META_LENGTH] = {{KEY_ANYWHERE, KEY_WHOLE, META(PM_LENGTH, 32)}},
	[CLS_ETHER_SADDR] = {{KEY_ANYWHERE, KEY_LOW32, READ(48, BASE_LL, 48)}},
	[CLS_ETHER_DADDR] = {{KEY_ANYWHERE, KEY_LOW32, READ(48, BASE_LL, 0)}},
	[CLS_ETHER_TYPE] = {{KEY_ANYWHERE, KEY_WHOLE, READ(16, BASE_LL, 96)}},
	[CLS_IIFTYPE] = {{KEY_ANYWHERE, KEY_WHOLE, META(PM_IIFTYPE, 16)}},
};
#undef FIELD
#undef PLAIN
#undef READ
#undef EXTHDR
#undef TAG
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
	case PX_READ:
		return a->read.base == b->read.base && a->read.bit_off == b->read.bit_off;
	case PX_OPTION:
		return a->option.class == b->option.class && a->option.number == b->option.number &&
		       a->option.exists == b->option.exists &&
		       a->option.bit_off == b->option.bit_off;
	case PX_VLAN:
		return a->vlan.tag == b->vlan.tag && a->vlan.bit_off == b->vlan.bit_off;
	case PX_META:
		return a->meta == b->meta;
	case PX_CT:
		return a->ct.key == b->ct.key && a->ct.direction == b->ct.direction &&
		       a->ct.nfproto == b->ct.nfproto;
	default:
		return false;
	}
}

const struct key_source *key_source_find(const struct prog_expr *e, enum cls_field *field)
{
	for (unsigned f = 0; f < CLS_FIELD_KINDS; f++)
		for (unsigned k = 0; k < SOURCES && sources[f][k].expr.len; k++)
			if (same(&sources[f][k].expr, e)) {
				*field = (enum cls_field)f;
				return &sources[f][k];
			}
	return NULL;
}

/* --- families ------------------------------------------------------------------------------- */

/* The packets of mask whose column has this value. */
static burst_mask of_value(const struct burst *b, enum prog_column c, burst_mask mask,
			   uint64_t value)
{
	burst_mask m = 0;
	unsigned i;

	burst_foreach (column_has(b, c, mask), i)
		m |= (burst_mask)(column_at(b, &column_descs[c], i) == value) << i;
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
		*v4 = of_value(ev->b, COL_PROTOCOL, mask, ETH_IPV4);
		*v6 = family == PF_INET ? mask & ~*v4
					: of_value(ev->b, COL_PROTOCOL, mask, ETH_IPV6);
		break;
	}
}

/* --- reading -------------------------------------------------------------------------------- */

static void keys_of_bytes(const struct column *c, const struct key_source *s, unsigned word,
			  burst_mask mask, struct cls_key *keys)
{
	unsigned i;

	burst_foreach (mask, i) {
		const uint8_t *p = c->bytes + i * s->expr.len;

		if (s->form == KEY_NAME)
			keys[i].w[word] = key_name(p);
		else
			for (unsigned k = 0; k < 4; k++)
				keys[i].w[word + k] = be32_load(p + 4 * k);
	}
}

static void read_source(struct eval *ev, enum cls_field f, const struct key_source *s,
			burst_mask mask, struct cls_key *keys)
{
	const struct cls_place *at = &cls_places[f];
	const struct column *c;
	unsigned i;

	mask = value_read(ev, &s->expr, mask, 0, &c);
	if (s->expr.len > 8)
		keys_of_bytes(c, s, at->word, mask, keys);
	else
		burst_foreach (mask, i)
			keys[i].w[at->word] |= (uint32_t)c->num[i] << at->shift;
	burst_foreach (mask, i)
		keys[i].has |= UINT32_C(1) << f;
}

/* The packets of mask that are at home where a source is. */
static burst_mask at_home(const struct eval *ev, enum key_home home, burst_mask mask, burst_mask v4,
			  burst_mask v6)
{
	switch (home) {
	case KEY_ANYWHERE:
		return mask;
	case KEY_IN_IPV4:
		return v4;
	case KEY_IN_IPV6:
		return v6;
	case KEY_IN_ICMP:
		return of_value(ev->b, COL_L4PROTO, mask, PROTO_ICMP);
	case KEY_IN_ICMPV6:
		return of_value(ev->b, COL_L4PROTO, mask, PROTO_ICMPV6);
	}
	return 0;
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
	for (; fields; fields &= fields - 1) {
		enum cls_field f = (enum cls_field)__builtin_ctz(fields);

		for (unsigned k = 0; k < SOURCES && sources[f][k].expr.len; k++) {
			const struct key_source *s = &sources[f][k];
			burst_mask m = at_home(ev, s->home, mask, v4, v6);

			if (m)
				read_source(ev, f, s, m, keys);
		}
	}
}
