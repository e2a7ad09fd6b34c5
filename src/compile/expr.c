/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr: expressions of the checked form become prog_exprs.
 *
 * What is not evaluated here (fib, rt, socket, ...) becomes an expression without a value, and is
 * noted. Fields that the burst has a column for are read there, all others from the packet's bytes.
 */
#include "compile/build.h"

_Static_assert((int)PB_LL == BASE_LL && (int)PB_NH == BASE_NH && (int)PB_TH == BASE_TH &&
		       (int)PB_IH == BASE_IH,
	       "bases are the same numbers");

struct prog_expr *expr_make(struct build *b, enum prog_expr_kind kind, unsigned bits)
{
	struct prog_expr *p = arena_new(b->arena, struct prog_expr);
	unsigned len = bits_to_bytes(bits);

	if (!bits || len > PROG_VALUE_MAX)
		build_fail(b, -E2BIG);
	p->kind = kind;
	p->bits = (uint16_t)bits;
	p->len = (uint8_t)len;
	return p;
}

const uint8_t *expr_constant(struct build *b, const struct expr *e, unsigned len)
{
	unsigned have = bits_to_bytes(e->bits), n = MIN(have, len);
	uint8_t *out = arena_alloc(b->arena, len);

	memcpy(out + len - n, expr_bytes(e) + have - n, n);
	return out;
}

static const struct prog_expr *constant(struct build *b, const struct expr *e, unsigned bits)
{
	struct prog_expr *p = expr_make(b, PX_CONST, bits);

	p->bytes = expr_constant(b, e, p->len);
	return p;
}

static const struct prog_expr *no_value(struct build *b, const struct expr *e, const char *what)
{
	b->no_value = true;
	build_note(b, b->statement ? COMPILE_NO_EFFECT : COMPILE_NO_VALUE, what);
	return expr_make(b, PX_NONE, e->bits ? e->bits : 8);
}

/* --- headers -------------------------------------------------------------------------------- */

/* Fields with a column; `header` NULL: of any header at that base. */
static const struct {
	const struct proto_header *header;
	uint8_t base;
	uint16_t off, bits;
	uint8_t column;
} columns[] = {
	{NULL, PB_TH, 0, 16, COL_SPORT},
	{NULL, PB_TH, 16, 16, COL_DPORT},
	{&proto_ip, PB_NH, 96, 32, COL_SADDR4},
	{&proto_ip, PB_NH, 128, 32, COL_DADDR4},
	{&proto_ip, PB_NH, 72, 8, COL_L4PROTO},
	{&proto_ip6, PB_NH, 64, 128, COL_SADDR6},
	{&proto_ip6, PB_NH, 192, 128, COL_DADDR6},
	{&proto_tcp, PB_TH, 104, 8, COL_TCP_FLAGS},
	{&proto_icmp, PB_TH, 0, 8, COL_ICMP_TYPE},
	{&proto_icmp, PB_TH, 8, 8, COL_ICMP_CODE},
	{&proto_icmpv6, PB_TH, 0, 8, COL_ICMPV6_TYPE},
	{&proto_icmpv6, PB_TH, 8, 8, COL_ICMPV6_CODE},
};

static const struct prog_expr *packet(struct build *b, const struct proto_header *header,
				      uint8_t base, uint32_t off, unsigned bits)
{
	struct prog_expr *p;

	for (unsigned k = 0; k < ARRAY_SIZE(columns); k++) {
		if (columns[k].base != base || columns[k].off != off || columns[k].bits != bits ||
		    (columns[k].header && columns[k].header != header))
			continue;
		p = expr_make(b, PX_COLUMN, bits);
		p->column.column = columns[k].column;
		p->column.in_packet = true;
		p->column.base = base;
		p->column.bit_off = off;
		return p;
	}
	p = expr_make(b, PX_READ, bits);
	p->read.base = base;
	p->read.bit_off = off;
	return p;
}

static const struct prog_expr *payload(struct build *b, const struct expr *e)
{
	const struct proto_header *h = e->payload.header;
	const struct proto_field *f = e->payload.field;
	struct prog_expr *p;

	if (e->payload.tunnel)
		return no_value(b, e, e->payload.tunnel->name);
	if (h != &proto_vlan)
		return packet(b, h, h->base, f->off, e->bits);
	p = expr_make(b, PX_VLAN, e->bits);
	p->vlan.tag = b->vlan_tag;
	p->vlan.bit_off = (uint8_t)f->off;
	return p;
}

static const struct prog_expr *raw(struct build *b, const struct expr *e)
{
	if (e->raw.tunnel)
		return no_value(b, e, e->raw.tunnel->name);
	return packet(b, NULL, e->raw.base, e->raw.off, e->bits);
}

static const struct prog_expr *option(struct build *b, const struct expr *e)
{
	static const uint8_t classes[OPT_CLASSES] = {
		[OPT_EXTHDR] = POPT_EXTHDR,   [OPT_TCP] = POPT_TCP,   [OPT_IP] = POPT_IP,
		[OPT_SCTP_CHUNK] = POPT_SCTP, [OPT_DCCP] = POPT_DCCP,
	};
	struct prog_expr *p = expr_make(b, PX_OPTION, e->option.existence ? 8 : e->bits);

	p->option.class = classes[e->option.class];
	p->option.number = (uint8_t)(e->option.option ? e->option.option->kind : e->option.kind);
	p->option.exists = e->option.existence;
	p->option.bit_off = e->option.off + (e->option.field ? e->option.field->off : 0u);
	return p;
}

/* --- meta, ct ------------------------------------------------------------------------------- */

static const struct prog_expr *column(struct build *b, enum prog_column c, unsigned bits)
{
	struct prog_expr *p = expr_make(b, PX_COLUMN, bits);

	p->column.column = c;
	return p;
}

static const struct prog_expr *meta(struct build *b, const struct expr *e)
{
	static const struct {
		uint8_t key, meta;
	} keys[] = {
		{META_LENGTH, PM_LENGTH},   {META_NFPROTO, PM_NFPROTO}, {META_PKTTYPE, PM_PKTTYPE},
		{META_IIF, PM_IIF},	    {META_OIF, PM_OIF},		{META_IIFNAME, PM_IIFNAME},
		{META_OIFNAME, PM_OIFNAME}, {META_IIFTYPE, PM_IIFTYPE}, {META_OIFTYPE, PM_OIFTYPE},
		{META_NFTRACE, PM_NFTRACE}, {META_CPU, PM_CPU},		{META_RANDOM, PM_RANDOM},
		{META_TIME, PM_TIME},	    {META_DAY, PM_DAY},		{META_HOUR, PM_HOUR},
	};
	struct prog_expr *p;

	switch (e->key) {
	case META_PROTOCOL:
		return column(b, COL_PROTOCOL, e->bits);
	case META_L4PROTO:
		return column(b, COL_L4PROTO, e->bits);
	case META_MARK:
		return column(b, COL_MARK, e->bits);
	case META_PRIORITY:
		return column(b, COL_PRIORITY, e->bits);
	}
	for (unsigned k = 0; k < ARRAY_SIZE(keys); k++) {
		if (keys[k].key != e->key)
			continue;
		p = expr_make(b, PX_META, e->bits);
		p->meta = keys[k].meta;
		if (p->meta == PM_RANDOM)
			b->out->needs |= NEED_ORDER;
		return p;
	}
	return no_value(b, e, arena_printf(b->arena, "meta %s", meta_keys[e->key].name));
}

static const struct prog_expr *ct(struct build *b, const struct expr *e)
{
	enum { NONE = PROG_CTS };
	static const uint8_t keys[CT_KEYS_N] = {
		[CT_STATE] = PC_STATE,
		[CT_DIRECTION] = PC_DIRECTION,
		[CT_STATUS] = PC_STATUS,
		[CT_MARK] = PC_MARK,
		[CT_EXPIRATION] = PC_EXPIRATION,
		[CT_HELPER] = NONE,
		[CT_L3PROTO] = PC_L3PROTO,
		[CT_PROTOCOL] = PC_PROTOCOL,
		[CT_SADDR] = PC_SADDR,
		[CT_DADDR] = PC_DADDR,
		[CT_SADDR_IP] = PC_SADDR,
		[CT_DADDR_IP] = PC_DADDR,
		[CT_SADDR_IP6] = PC_SADDR,
		[CT_DADDR_IP6] = PC_DADDR,
		[CT_PROTO_SRC] = PC_PROTO_SRC,
		[CT_PROTO_DST] = PC_PROTO_DST,
		[CT_LABEL] = NONE,
		[CT_BYTES] = PC_BYTES,
		[CT_PACKETS] = PC_PACKETS,
		[CT_AVGPKT] = PC_AVGPKT,
		[CT_ZONE] = PC_ZONE,
		[CT_EVENT] = NONE,
		[CT_SECMARK] = NONE,
		[CT_ID] = PC_ID,
		[CT_TIMEOUT] = NONE,
		[CT_EXPECTATION] = NONE,
	};
	struct prog_expr *p;

	b->out->needs |= NEED_CONNTRACK | NEED_EXACT;
	if (keys[e->ct.key] == NONE)
		return no_value(b, e, arena_printf(b->arena, "ct %s", ct_keys[e->ct.key].name));
	p = expr_make(b, PX_CT, e->bits);
	p->ct.key = keys[e->ct.key];
	p->ct.direction = e->ct.direction;
	p->ct.nfproto = e->ct.nfproto;
	return p;
}

/* --- operations ----------------------------------------------------------------------------- */

static const struct prog_expr *binop(struct build *b, const struct expr *e)
{
	static const uint8_t ops[] = {
		[OP_AND] = PB_AND,	 [OP_OR] = PB_OR,	  [OP_XOR] = PB_XOR,
		[OP_LSHIFT] = PB_LSHIFT, [OP_RSHIFT] = PB_RSHIFT,
	};
	const struct expr *l = e->pair.left, *r = e->pair.right;
	struct prog_expr *p = expr_make(b, PX_BINOP, e->bits);

	p->binop.op = ops[e->op];
	p->binop.left = l->kind == EX_VALUE ? constant(b, l, e->bits) : expr_build(b, l);
	if (r->kind != EX_VALUE)
		p->binop.right = expr_build(b, r);
	else if (e->op == OP_LSHIFT || e->op == OP_RSHIFT)
		p->binop.right = constant(b, r, 32);
	else
		p->binop.right = constant(b, r, e->bits);
	if (p->len > 8 && p->binop.left->len != p->len)
		build_fail(b, -EINVAL);
	return p;
}

/* `pad`: each field to whole words, as the kernel's registers hold them. */
static const struct prog_expr *concat(struct build *b, const struct expr *e, bool pad)
{
	const struct prog_expr *fields[PROG_CONCAT_MAX * 2];
	unsigned n = 0, bytes = 0;
	struct prog_expr *p;

	if (e->list.n > PROG_CONCAT_MAX)
		build_fail(b, -E2BIG);
	for (uint32_t k = 0; k < e->list.n; k++) {
		const struct prog_expr *f = expr_build(b, e->list.items[k]);
		unsigned rest = pad ? (4 - f->len % 4) % 4 : 0;

		fields[n++] = f;
		bytes += f->len + rest;
		if (rest) {
			struct prog_expr *zero = expr_make(b, PX_CONST, rest * 8);

			zero->bytes = arena_alloc(b->arena, rest);
			fields[n++] = zero;
		}
	}
	p = expr_make(b, PX_CONCAT, bytes * 8);
	p->concat.n = (uint8_t)n;
	p->concat.fields = arena_dup(b->arena, fields, n * sizeof(*fields));
	return p;
}

static const struct prog_expr *map(struct build *b, const struct expr *e)
{
	struct prog_expr *p = expr_make(b, PX_MAP, e->bits);

	p->map.key = expr_build(b, e->map.key);
	p->map.set = set_build(b, e->map.to, p->map.key, DATA_VALUE, p->len, OBJ_KINDS);
	return p;
}

static const struct prog_expr *numgen(struct build *b, const struct expr *e)
{
	struct prog_expr *p = expr_make(b, PX_NUMGEN, 32);

	p->numgen.random = e->numgen.type == 1;
	p->numgen.mod = e->numgen.mod;
	p->numgen.offset = e->numgen.offset;
	b->out->needs |= NEED_ORDER;
	if (!p->numgen.random) {
		p->numgen.counter = arena_alloc(b->arena, sizeof(*p->numgen.counter));
		*p->numgen.counter = e->numgen.mod - 1; /* the first packet gets 0 */
		b->out->needs |= NEED_EXACT;
	}
	return p;
}

const struct prog_expr *expr_symhash(struct build *b, uint32_t mod, uint32_t offset)
{
	struct prog_expr *p = expr_make(b, PX_HASH, 32);

	p->hash.mod = mod;
	p->hash.offset = offset;
	return p;
}

static const struct prog_expr *hash(struct build *b, const struct expr *e)
{
	const struct expr *key = e->hash.key;
	struct prog_expr *p = expr_make(b, PX_HASH, 32);

	p->hash.mod = e->hash.mod;
	p->hash.offset = e->hash.offset;
	p->hash.seed = e->hash.seed;
	p->hash.has_seed = e->hash.has_seed;
	if (key)
		p->hash.key = key->kind == EX_CONCAT ? concat(b, key, true) : expr_build(b, key);
	return p;
}

/* The type of an address anywhere; where a packet goes and from where it might come is not known.
 */
static const struct prog_expr *fib(struct build *b, const struct expr *e)
{
	enum { TYPE = 2 };
	struct prog_expr *p;

	if (e->fib.result != TYPE || (e->fib.flags != FIB_SADDR && e->fib.flags != FIB_DADDR))
		return no_value(b, e, "fib");
	build_note(b, COMPILE_LOCAL, "fib type");
	p = expr_make(b, PX_FIB, e->bits);
	p->fib.source = e->fib.flags == FIB_SADDR;
	return p;
}

const struct prog_expr *expr_build(struct build *b, const struct expr *e)
{
	switch ((enum expr_kind)e->kind) {
	case EX_VALUE:
		return constant(b, e, e->bits);
	case EX_PAYLOAD:
		return payload(b, e);
	case EX_RAW:
		return raw(b, e);
	case EX_OPTION:
		return option(b, e);
	case EX_META:
		return meta(b, e);
	case EX_CT:
		return ct(b, e);
	case EX_BINOP:
		return binop(b, e);
	case EX_CONCAT:
		return concat(b, e, false);
	case EX_MAP:
		return map(b, e);
	case EX_NUMGEN:
		return numgen(b, e);
	case EX_HASH:
		return hash(b, e);
	case EX_RT:
		return no_value(b, e, "rt");
	case EX_SOCKET:
		return no_value(b, e, "socket");
	case EX_FIB:
		return fib(b, e);
	case EX_OSF:
		return no_value(b, e, "osf");
	case EX_XFRM:
		return no_value(b, e, "ipsec");
	case EX_TUNNEL:
		return no_value(b, e, "tunnel");
	default:
		build_fail(b, -EINVAL);
	}
}

/* --- depth ---------------------------------------------------------------------------------- */

/* How many columns, one behind the other, reading e takes. */
static unsigned expr_columns(const struct prog_expr *e)
{
	unsigned l, r, deepest = 0;

	switch ((enum prog_expr_kind)e->kind) {
	case PX_BINOP:
		l = expr_columns(e->binop.left);
		r = expr_columns(e->binop.right);
		return MAX(l + 1, r + 2);
	case PX_CONCAT:
		for (unsigned k = 0; k < e->concat.n; k++) {
			l = expr_columns(e->concat.fields[k]);
			deepest = MAX(deepest, l);
		}
		return deepest + 1;
	case PX_MAP:
		return expr_columns(e->map.key) + 1;
	case PX_HASH:
		return e->hash.key ? expr_columns(e->hash.key) + 1 : 1;
	default:
		return 1;
	}
}

void expr_check_depth(struct build *b, const struct prog_expr *e)
{
	if (expr_columns(e) >= PROG_EXPR_DEPTH_MAX)
		build_fail(b, -E2BIG);
}
