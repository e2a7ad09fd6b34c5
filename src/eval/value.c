/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value: reads expressions over the packets of a mask into columns.
 *
 * Each level of an expression has a column of struct eval to itself, so reading allocates nothing;
 * compile/ refuses expressions deeper than that. Where many packets are in the mask the loops run
 * over all 64 without a branch, slots of packets without a value included: those hold junk that
 * nobody looks at.
 */
#include "eval/run.h"
#include "packet/numbers.h"

#define COL(member, w, h)                                                                          \
	{                                                                                          \
		offsetof(struct burst, member), (w), (h)                                           \
	}
const struct column_desc column_descs[PROG_COLUMNS] = {
	[COL_SADDR4] = COL(saddr, WIDTH_ADDR4, HAS_IPV4),
	[COL_DADDR4] = COL(daddr, WIDTH_ADDR4, HAS_IPV4),
	[COL_SADDR6] = COL(saddr, WIDTH_ADDR6, HAS_IPV6),
	[COL_DADDR6] = COL(daddr, WIDTH_ADDR6, HAS_IPV6),
	[COL_SPORT] = COL(sport, WIDTH_16, HAS_PORTS),
	[COL_DPORT] = COL(dport, WIDTH_16, HAS_PORTS),
	[COL_TCP_FLAGS] = COL(tcp_flags, WIDTH_8, HAS_TCP_FLAGS),
	[COL_ICMP_TYPE] = COL(icmp_type, WIDTH_8, HAS_ICMP),
	[COL_ICMP_CODE] = COL(icmp_code, WIDTH_8, HAS_ICMP),
	[COL_ICMPV6_TYPE] = COL(icmp_type, WIDTH_8, HAS_ICMPV6),
	[COL_ICMPV6_CODE] = COL(icmp_code, WIDTH_8, HAS_ICMPV6),
	[COL_PROTOCOL] = COL(protocol, WIDTH_16, HAS_NH),
	[COL_L4PROTO] = COL(l4proto, WIDTH_8, HAS_L4PROTO),
	[COL_MARK] = COL(mark, WIDTH_32, -1),
	[COL_PRIORITY] = COL(priority, WIDTH_32, -1),
};
#undef COL

burst_mask column_has(const struct burst *b, enum prog_column c, burst_mask mask)
{
	int has = column_descs[c].has;

	return has < 0 ? mask : mask & b->has[has];
}

uint32_t run_random(struct eval *ev)
{
	uint64_t z = ev->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Steele et al.) */

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) >> 32);
}

static void put(struct column *c, unsigned len, unsigned i, const uint8_t *p)
{
	if (len <= 8)
		c->num[i] = be_load(p, len);
	else
		memcpy(c->bytes + i * len, p, len);
}

/* The len bytes of packet i's value, in network order. */
static void value_bytes(const struct column *c, unsigned len, unsigned i, uint8_t *out)
{
	if (len <= 8)
		be_store(out, c->num[i], len);
	else
		memcpy(out, c->bytes + i * len, len);
}

/* --- packet bytes --------------------------------------------------------------------------- */

static void column_load(const struct burst *b, const struct column_desc *d, burst_mask mask,
			struct column *c)
{
	const uint8_t *p = (const uint8_t *)b + d->offset;
	unsigned i;

	switch (d->width) {
	case WIDTH_8:
		for (i = 0; i < BURST_MAX; i++)
			c->num[i] = p[i];
		break;
	case WIDTH_16:
		for (i = 0; i < BURST_MAX; i++)
			c->num[i] = ((const uint16_t *)p)[i];
		break;
	case WIDTH_32:
		for (i = 0; i < BURST_MAX; i++)
			c->num[i] = ((const uint32_t *)p)[i];
		break;
	case WIDTH_ADDR4:
		burst_foreach (mask, i)
			c->num[i] = be32_load(p + i * 16);
		break;
	case WIDTH_ADDR6:
		burst_foreach (mask, i)
			memcpy(c->bytes + i * 16, p + i * 16, 16);
		break;
	}
}

static burst_mask read_packet(const struct burst *b, const struct prog_expr *e, uint8_t base,
			      uint32_t bit_off, burst_mask mask, struct column *c)
{
	uint8_t v[PROG_VALUE_MAX];
	burst_mask got = 0;
	unsigned i;

	burst_foreach (mask, i) {
		if (!burst_read_bits(b, i, base, bit_off, e->bits, v))
			continue;
		put(c, e->len, i, v);
		got |= bit_of(i);
	}
	return got;
}

static burst_mask read_column(const struct burst *b, const struct prog_expr *e, burst_mask mask,
			      struct column *c)
{
	const struct column_desc *d = &column_descs[e->column.column];
	burst_mask there = column_has(b, e->column.column, mask), rest = mask & ~there;
	unsigned i;

	if (mask_is_dense(there) || d->width == WIDTH_ADDR6)
		column_load(b, d, there, c);
	else
		burst_foreach (there, i)
			c->num[i] = column_at(b, d, i);
	if (rest && e->column.in_packet)
		there |= read_packet(b, e, e->column.base, e->column.bit_off, rest, c);
	return there;
}

/* `bits` bits, `off` behind p, right-aligned in bits_to_bytes(bits) bytes. */
static void bits_copy(const uint8_t *p, uint32_t off, unsigned bits, uint8_t *out)
{
	unsigned n = (bits + 7) / 8, end = off + bits, shift = (8 - end % 8) % 8;
	int from = (int)((end - 1) / 8);

	for (unsigned k = n; k--; from--) {
		unsigned v = p[from] >> shift;

		if (shift && from > 0)
			v |= (unsigned)p[from - 1] << (8 - shift);
		out[k] = (uint8_t)v;
	}
	if (bits % 8)
		out[0] &= (uint8_t)((1u << bits % 8) - 1);
}

static bool option_find(const struct burst *b, unsigned i, uint8_t class, uint8_t number,
			uint32_t *off, uint32_t *len)
{
	switch ((enum prog_option) class) {
	case POPT_EXTHDR:
		return burst_find_exthdr(b, i, number, off, len);
	case POPT_TCP:
		return burst_find_tcp_option(b, i, number, off, len);
	case POPT_IP:
		return burst_find_ip_option(b, i, number, off, len);
	case POPT_SCTP:
		return burst_find_sctp_chunk(b, i, number, off, len);
	case POPT_DCCP:
		return burst_find_dccp_option(b, i, number, off, len);
	}
	return false;
}

/* Packets in which such an option could be. */
static burst_mask option_home(const struct burst *b, uint8_t class, burst_mask mask)
{
	burst_mask dccp = 0;
	unsigned i;

	switch ((enum prog_option) class) {
	case POPT_EXTHDR:
		return mask & b->has[HAS_IPV6];
	case POPT_TCP:
		return mask & b->has[HAS_TCP];
	case POPT_IP:
		return mask & b->has[HAS_IPV4];
	case POPT_SCTP:
		return mask & b->has[HAS_SCTP];
	case POPT_DCCP:
		burst_foreach (mask & b->has[HAS_PORTS], i)
			if (b->l4proto[i] == 33)
				dccp |= bit_of(i);
		return dccp;
	}
	return 0;
}

static burst_mask read_option(const struct burst *b, const struct prog_expr *e, burst_mask mask,
			      struct column *c)
{
	uint32_t first = e->option.bit_off / 8, end = (e->option.bit_off + e->bits + 7) / 8;
	uint8_t v[PROG_VALUE_MAX];
	burst_mask home = option_home(b, e->option.class, mask), got = 0;
	unsigned i;

	/* What has no such header has no such option either: `missing` matches. */
	if (e->option.exists)
		burst_foreach (mask & ~home, i)
			c->num[i] = 0;
	burst_foreach (home, i) {
		uint32_t off, len;
		bool there = option_find(b, i, e->option.class, e->option.number, &off, &len);
		const uint8_t *p;

		if (e->option.exists) {
			c->num[i] = there;
			continue;
		}
		if (!there || end > len)
			continue;
		p = burst_at(b, i, off + first, end - first);
		if (!p)
			continue;
		bits_copy(p, e->option.bit_off % 8, e->bits, v);
		put(c, e->len, i, v);
		got |= bit_of(i);
	}
	return e->option.exists ? mask : got;
}

static burst_mask read_vlan(const struct burst *b, const struct prog_expr *e, burst_mask mask,
			    struct column *c)
{
	unsigned tag = e->vlan.tag, i;

	mask &= b->has[tag ? HAS_QINQ : HAS_VLAN];
	burst_foreach (mask, i) {
		bool inner = !tag && b->has[HAS_QINQ] & bit_of(i);
		uint32_t type = inner ? b->vlan_proto[1][i] : b->protocol[i];
		uint8_t header[4];
		uint8_t v[4];

		be16_store(header, b->vlan_tci[tag][i]);
		be16_store(header + 2, (uint16_t)type);
		bits_copy(header, e->vlan.bit_off, e->bits, v);
		c->num[i] = be_load(v, e->len);
	}
	return mask;
}

/* --- meta ----------------------------------------------------------------------------------- */

/* Whether packets have an arrival (a departure) interface at this hook. */
static bool hook_has_in(enum prog_hook h)
{
	return h != PH_OUTPUT && h != PH_EGRESS;
}

static bool hook_has_out(enum prog_hook h)
{
	return h == PH_FORWARD || h == PH_OUTPUT || h == PH_POSTROUTING || h == PH_EGRESS;
}

static const char *device_name(const struct eval *ev, uint32_t index)
{
	static const char none[PROG_NAME_LEN];

	return index && index <= ev->in->devices.n ? ev->in->devices.names[index - 1] : none;
}

/* In the output path nothing arrived: what the capture says of it is not what the kernel knows. */
static uint32_t iif_of(const struct eval *ev, unsigned i)
{
	return hook_has_in(ev->hook) && ev->in->path[i] != EVAL_PATH_OUTPUT ? ev->b->iif[i] : 0;
}

static uint32_t oif_of(const struct eval *ev, unsigned i)
{
	return hook_has_out(ev->hook) ? ev->b->oif[i] : 0;
}

static uint8_t nfproto_of(const struct eval *ev, unsigned i)
{
	enum { PF_INET = 1, PF_IPV4 = 2, PF_IPV6 = 10 };

	if (ev->base->family != PF_INET)
		return ev->base->family;
	if (ev->class == CLASS_NETDEV)
		return ev->b->protocol[i] == ETH_IPV4 ? PF_IPV4 : PF_IPV6;
	return ev->class == CLASS_IPV4 ? PF_IPV4 : PF_IPV6;
}

/* ARPHRD_*; only what the link type of the capture tells. */
static bool device_type(const struct eval *ev, unsigned i, uint64_t *out)
{
	switch ((enum link_type)ev->b->link[i]) {
	case LINK_EN10MB:
		*out = 1;
		return true;
	case LINK_RAW:
		*out = 0xfffe;
		return true;
	case LINK_NULL:
	case LINK_LOOP:
		*out = 772;
		return true;
	default:
		return false;
	}
}

static bool meta_number(struct eval *ev, enum prog_meta key, unsigned i, uint64_t *out)
{
	const uint64_t second = 1000000000, day = 86400;
	const struct burst *b = ev->b;
	bool out_path = ev->in->path[i] == EVAL_PATH_OUTPUT;

	switch (key) {
	case PM_LENGTH:
		*out = ev->len[i];
		return true;
	case PM_NFPROTO:
		*out = nfproto_of(ev, i);
		return true;
	case PM_PKTTYPE:
		*out = out_path && b->pkttype[i] == PKT_OUTGOING ? PKT_HOST : b->pkttype[i];
		return true;
	case PM_IIF:
		*out = iif_of(ev, i);
		return true;
	case PM_OIF:
		*out = oif_of(ev, i);
		return true;
	case PM_IIFTYPE:
		return hook_has_in(ev->hook) && !out_path && device_type(ev, i, out);
	case PM_OIFTYPE:
		return hook_has_out(ev->hook) && device_type(ev, i, out);
	case PM_NFTRACE:
		*out = ev->traced >> i & 1;
		return true;
	case PM_CPU:
		*out = 0;
		return true;
	case PM_RANDOM:
		*out = run_random(ev);
		return true;
	case PM_TIME:
		*out = b->time[i];
		return true;
	case PM_DAY: /* 0 is Sunday; the epoch was a Thursday */
		*out = (b->time[i] / second / day + 4) % 7;
		return true;
	case PM_HOUR:
		*out = b->time[i] / second % day;
		return true;
	case PM_IIFNAME:
	case PM_OIFNAME:
	case PROG_METAS:
		break;
	}
	return false;
}

static burst_mask read_meta(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			    struct column *c)
{
	burst_mask got = 0;
	unsigned i;

	if (e->meta == PM_IIFNAME || e->meta == PM_OIFNAME) {
		bool in = e->meta == PM_IIFNAME;

		burst_foreach (mask, i)
			memcpy(c->bytes + i * PROG_NAME_LEN,
			       device_name(ev, in ? iif_of(ev, i) : oif_of(ev, i)), PROG_NAME_LEN);
		return mask;
	}
	burst_foreach (mask, i)
		if (meta_number(ev, e->meta, i, &c->num[i]))
			got |= bit_of(i);
	return got;
}

static burst_mask read_ct(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			  struct column *c)
{
	uint8_t v[PROG_VALUE_MAX];
	burst_mask got = 0;
	unsigned i;

	if (e->ct.key == PC_STATE) {
		burst_foreach (mask, i)
			c->num[i] = ev->ct.state[i];
		return mask;
	}
	burst_foreach (mask, i) {
		if (!flow_value(ev, e, i, v))
			continue;
		put(c, e->len, i, v);
		got |= bit_of(i);
	}
	return got;
}

/* --- operations ----------------------------------------------------------------------------- */

static uint64_t number_op(enum prog_binop op, uint64_t l, uint64_t r)
{
	switch (op) {
	case PB_AND:
		return l & r;
	case PB_OR:
		return l | r;
	case PB_XOR:
		return l ^ r;
	case PB_LSHIFT:
		return r < 64 ? l << r : 0;
	case PB_RSHIFT:
		return r < 64 ? l >> r : 0;
	}
	return 0;
}

/* v moved by `by` bits, to the left if left. */
static void bytes_shift(uint8_t *v, unsigned len, uint64_t by, bool left)
{
	uint8_t in[PROG_VALUE_MAX];
	unsigned bytes = (unsigned)MIN(by / 8, (uint64_t)len), bits = by % 8;

	memcpy(in, v, len);
	for (unsigned k = 0; k < len; k++) {
		int from = left ? (int)(k + bytes) : (int)k - (int)bytes,
		    next = from + (left ? 1 : -1);
		unsigned near = from >= 0 && from < (int)len ? in[from] : 0;
		unsigned far = next >= 0 && next < (int)len ? in[next] : 0;

		v[k] = (uint8_t)(left ? near << bits | far >> (8 - bits)
				      : near >> bits | far << (8 - bits));
	}
}

static void bytes_op(enum prog_binop op, uint8_t *l, const uint8_t *r, unsigned len)
{
	for (unsigned k = 0; k < len; k++)
		l[k] = (uint8_t)number_op(op, l[k], r[k]);
}

static burst_mask read_binop(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			     unsigned depth, struct column *c)
{
	const struct prog_expr *le = e->binop.left, *re = e->binop.right;
	bool shift = e->binop.op == PB_LSHIFT || e->binop.op == PB_RSHIFT;
	uint64_t limit = e->bits < 64 ? (UINT64_C(1) << e->bits) - 1 : UINT64_MAX;
	const struct column *l, *r;
	unsigned i;

	mask = value_read(ev, le, mask, depth + 1, &l);
	mask = value_read(ev, re, mask, depth + 2, &r);
	burst_foreach (mask, i) {
		uint8_t a[PROG_VALUE_MAX], b[PROG_VALUE_MAX];

		if (e->len <= 8) {
			c->num[i] = number_op(e->binop.op, l->num[i], r->num[i]) & limit;
			continue;
		}
		value_bytes(l, le->len, i, a);
		if (shift) {
			bytes_shift(a, e->len, r->num[i], e->binop.op == PB_LSHIFT);
		} else {
			value_bytes(r, re->len, i, b);
			bytes_op(e->binop.op, a, b, e->len);
		}
		memcpy(c->bytes + i * e->len, a, e->len);
	}
	return mask;
}

static burst_mask read_concat(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			      unsigned depth, struct column *c)
{
	uint8_t *bytes = c->bytes;
	unsigned at = 0, i;

	for (unsigned k = 0; k < e->concat.n; k++) {
		const struct prog_expr *f = e->concat.fields[k];
		const struct column *v;

		mask = value_read(ev, f, mask, depth + 1, &v);
		burst_foreach (mask, i)
			value_bytes(v, f->len, i, bytes + i * e->len + at);
		at += f->len;
	}
	if (e->len <= 8)
		burst_foreach (mask, i)
			c->num[i] = be_load(bytes + i * e->len, e->len);
	return mask;
}

burst_mask value_keys(struct eval *ev, const struct prog_expr *e, burst_mask mask, uint8_t *keys)
{
	const struct column *v;
	unsigned i;

	mask = value_read(ev, e, mask, 0, &v);
	if (e->len > 8) {
		memcpy(keys, v->bytes, (size_t)BURST_MAX * e->len);
		return mask;
	}
	burst_foreach (mask, i)
		be_store(keys + i * e->len, v->num[i], e->len);
	return mask;
}

static burst_mask read_map(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			   unsigned depth, struct column *c)
{
	const struct prog_expr *key = e->map.key;
	struct set_elem *hit[BURST_MAX];
	uint8_t *keys =
		c->bytes; /* the data comes over them, later packets' keys are read by then */
	const struct column *v;
	burst_mask live;
	unsigned i;

	live = value_read(ev, key, mask, depth + 1, &v);
	burst_foreach (live, i)
		value_bytes(v, key->len, i, keys + i * key->len);
	live = match_elements(ev, e->map.set, keys, key->len, live, hit);
	burst_foreach (live, i)
		put(c, e->len, i, set_elem_data(e->map.set, hit[i]));
	return live;
}

static burst_mask read_numgen(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			      struct column *c)
{
	unsigned i;

	burst_foreach (mask, i) {
		uint32_t v;

		if (e->numgen.random) {
			v = run_scale(run_random(ev), e->numgen.mod);
		} else {
			uint32_t old =
				atomic_load_explicit(e->numgen.counter, memory_order_relaxed);

			do {
				v = old + 1 < e->numgen.mod ? old + 1 : 0;
			} while (!atomic_compare_exchange_weak_explicit(e->numgen.counter, &old, v,
									memory_order_relaxed,
									memory_order_relaxed));
		}
		c->num[i] = (uint32_t)(v + e->numgen.offset);
	}
	return mask;
}

/* Both directions of a flow have one hash. */
static uint32_t symmetric_hash(const struct eval *ev, unsigned i)
{
	const struct burst *b = ev->b;
	unsigned alen = b->has[HAS_IPV4] & bit_of(i) ? 4 : b->has[HAS_IPV6] & bit_of(i) ? 16 : 0;
	bool swap = alen && memcmp(b->saddr[i], b->daddr[i], alen) > 0;
	uint8_t key[16 + 16 + 5] = {0};

	if (alen) {
		memcpy(key, swap ? b->daddr[i] : b->saddr[i], alen);
		memcpy(key + 16, swap ? b->saddr[i] : b->daddr[i], alen);
	}
	if (b->has[HAS_L4PROTO] & bit_of(i))
		key[32] = b->l4proto[i];
	if (b->has[HAS_PORTS] & bit_of(i)) {
		be16_store(key + 33, MIN(b->sport[i], b->dport[i]));
		be16_store(key + 35, MAX(b->sport[i], b->dport[i]));
	}
	return (uint32_t)hash_bytes(&ev->secret, key, sizeof(key));
}

static burst_mask read_hash(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			    unsigned depth, struct column *c)
{
	const struct prog_expr *key = e->hash.key;
	uint32_t seed = e->hash.has_seed ? e->hash.seed : (uint32_t)ev->secret.k[0];
	const struct column *v = NULL;
	unsigned i;

	if (key)
		mask = value_read(ev, key, mask, depth + 1, &v);
	burst_foreach (mask, i) {
		uint8_t bytes[PROG_VALUE_MAX];
		uint32_t h;

		if (key) {
			value_bytes(v, key->len, i, bytes);
			h = jhash_bytes(bytes, key->len, seed);
		} else {
			h = symmetric_hash(ev, i);
		}
		c->num[i] = (uint32_t)(run_scale(h, e->hash.mod) + e->hash.offset);
	}
	return mask;
}

static burst_mask read_const(const struct prog_expr *e, burst_mask mask, struct column *c)
{
	unsigned i;

	burst_foreach (mask, i)
		put(c, e->len, i, e->bytes);
	return mask;
}

/* Types of addresses, with nft's values. What no route names is taken for the next host's. */
enum fib_type { FIB_UNSPEC, FIB_UNICAST, FIB_LOCAL, FIB_BROADCAST, FIB_MULTICAST = 5 };

static enum fib_type fib_type(struct eval *ev, unsigned i, bool source)
{
	static const uint8_t loopback6[16] = {[15] = 1}, any[16], all4[] = {255, 255, 255, 255};
	const struct eval_ops *ops = ev->in->ops;
	const uint8_t *a = source ? ev->b->saddr[i] : ev->b->daddr[i];
	bool ip4 = ev->b->has[HAS_IPV4] & bit_of(i);

	if (ip4 ? a[0] == 127 : !memcmp(a, loopback6, 16))
		return FIB_LOCAL;
	if (ip4 ? a[0] >> 4 == 14 : a[0] == 0xff)
		return FIB_MULTICAST;
	if (ip4 && (!memcmp(a, all4, 4) || !memcmp(a, any, 4)))
		return FIB_BROADCAST;
	if (!ip4 && !memcmp(a, any, 16))
		return FIB_UNSPEC;
	return ops->local(ops->arg, ev->b, i, source) ? FIB_LOCAL : FIB_UNICAST;
}

static burst_mask read_fib(struct eval *ev, const struct prog_expr *e, burst_mask mask,
			   struct column *c)
{
	unsigned i;

	if (!ev->in->ops || !ev->in->ops->local)
		return 0;
	mask &= ev->b->has[HAS_IPV4] | ev->b->has[HAS_IPV6];
	burst_foreach (mask, i)
		c->num[i] = fib_type(ev, i, e->fib.source);
	return mask;
}

burst_mask value_read(struct eval *ev, const struct prog_expr *e, burst_mask mask, unsigned depth,
		      const struct column **out)
{
	struct column *c = &ev->columns[depth];

	*out = c;
	if (!mask)
		return 0;
	switch ((enum prog_expr_kind)e->kind) {
	case PX_CONST:
		return read_const(e, mask, c);
	case PX_COLUMN:
		return read_column(ev->b, e, mask, c);
	case PX_READ:
		return read_packet(ev->b, e, e->read.base, e->read.bit_off, mask, c);
	case PX_OPTION:
		return read_option(ev->b, e, mask, c);
	case PX_VLAN:
		return read_vlan(ev->b, e, mask, c);
	case PX_META:
		return read_meta(ev, e, mask, c);
	case PX_CT:
		return read_ct(ev, e, mask, c);
	case PX_BINOP:
		return read_binop(ev, e, mask, depth, c);
	case PX_CONCAT:
		return read_concat(ev, e, mask, depth, c);
	case PX_MAP:
		return read_map(ev, e, mask, depth, c);
	case PX_NUMGEN:
		return read_numgen(ev, e, mask, c);
	case PX_HASH:
		return read_hash(ev, e, mask, depth, c);
	case PX_FIB:
		return read_fib(ev, e, mask, c);
	case PX_NONE:
		break;
	}
	return 0;
}
