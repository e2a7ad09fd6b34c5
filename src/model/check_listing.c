/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_listing: a checked rule as nft lists it again.
 *
 * nft reads a rule back from the kernel, where nobody knows any more which matches a user wrote and
 * which were added for them. So the same three things are done here to all matches alike:
 *  - tests of neighbouring fields of one header stand together, in the order of the header, where
 *    nft would make one load of them;
 *  - fields given by offset alone get their names once the header is known;
 *  - a match that only says which header follows is left out where a field of that header follows.
 * What is left out is `hidden` if the user wrote it and stays `implicit` if not; an added match
 * that shows becomes an ordinary one. Evaluation does not change: only pure matches between two
 * other statements change places. Cost: linear in statements but for the sort of a run of matches.
 */
#include "model/check_internal.h"

enum { RUN_MAX = 64, REGISTER_BITS = 128, FAST_BITS = 32 };
enum { NFPROTO_4 = 2, NFPROTO_6 = 10, ICMP = 1, ICMPV6 = 58 };

/* --- Neighbours ----------------------------------------------------------------------------- */

/* A test that may be part of a longer load. */
static bool is_mergeable(const struct stmt *s)
{
	const struct expr *e = s->expr, *l;

	if (e->kind != EX_COMPARE || e->op != OP_EQ || e->pair.right->kind != EX_VALUE)
		return false;
	l = e->pair.left;
	return l->kind == EX_PAYLOAD && !l->payload.tunnel && l->payload.header != &proto_th &&
	       l->payload.header->base != PB_IH && l->payload.field->off % 8 == 0 &&
	       l->bits % 8 == 0;
}

static const struct expr *field_of(const struct stmt *s)
{
	return s->expr->pair.left;
}

static bool is_neighbour(const struct stmt *a, const struct stmt *b, unsigned bits)
{
	const struct expr *x = field_of(a), *y = field_of(b);
	unsigned total = bits + y->bits;

	if (x->payload.header != y->payload.header ||
	    x->payload.field->off + x->bits != y->payload.field->off || total > REGISTER_BITS)
		return false;
	return total <= FAST_BITS || x->payload.header->base == PB_LL ||
	       (bits > FAST_BITS && y->bits > FAST_BITS);
}

static int field_order(const struct stmt *a, const struct stmt *b)
{
	const struct expr *x = field_of(a), *y = field_of(b);

	if (x->payload.header->base != y->payload.header->base)
		return x->payload.header->base < y->payload.header->base ? -1 : 1;
	if (x->payload.header != y->payload.header)
		return x->payload.header < y->payload.header ? -1 : 1;
	return (int)x->payload.field->off - (int)y->payload.field->off;
}

static void stmt_unlink(struct stmt **head, struct stmt *s)
{
	struct stmt **p = head;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
}

/* Puts the n statements, in that order, where `anchor` (one of them) stands. */
static void group_move(struct stmt **head, struct stmt **group, unsigned n, struct stmt *anchor)
{
	struct stmt **at, *after;

	for (unsigned i = 0; i < n; i++)
		if (group[i] != anchor)
			stmt_unlink(head, group[i]);
	at = head;
	while (*at != anchor)
		at = &(*at)->next;
	after = anchor->next;
	for (unsigned i = 0; i < n; i++) {
		*at = group[i];
		at = &group[i]->next;
	}
	*at = after;
}

static void run_merge(struct stmt **head, struct stmt **run, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned j = i; j > 0 && field_order(run[j - 1], run[j]) > 0; j--) {
			struct stmt *t = run[j];

			run[j] = run[j - 1];
			run[j - 1] = t;
		}
	for (unsigned i = 0; i < n;) {
		struct stmt *anchor = run[i];
		unsigned end = i + 1, bits = field_of(run[i])->bits;

		while (end < n && is_neighbour(run[end - 1], run[end], bits)) {
			const struct expr *f = field_of(run[end]);

			bits += f->bits;
			if (f->payload.field == proto_key(f->payload.header))
				anchor = run[end];
			end++;
		}
		if (end - i > 1)
			group_move(head, run + i, end - i, anchor);
		i = end;
	}
}

static void merge_neighbours(struct rule_decl *r)
{
	struct stmt *run[RUN_MAX];
	unsigned n = 0;

	for (struct stmt *s = r->stmts; s; s = s->next) {
		if (s->kind == ST_MATCH && n < RUN_MAX) {
			if (is_mergeable(s))
				run[n++] = s;
			if (s->next)
				continue;
		}
		if (n > 1) {
			struct stmt *resume = s->kind == ST_MATCH ? NULL : s;

			run_merge(&r->stmts, run, n);
			if (!resume)
				return;
		}
		n = 0;
	}
}

/* --- Dependencies --------------------------------------------------------------------------- */

struct listing {
	struct proto_ctx pctx;
	enum family family;
	struct stmt *deps[PROTO_BASES]; /* the match that says which header is at this base */
	struct stmt *icmp;		/* the last `icmp type` match of one value */
};

static void release(struct listing *l, unsigned base)
{
	/* An arp table has no transport header to read a field of again. */
	if (!l->deps[base] || (l->family == FAMILY_ARP && base == PB_TH))
		return;
	l->deps[base]->hidden = true;
	l->deps[base] = NULL;
}

static bool is_mixed(enum family f)
{
	return f == FAMILY_INET || f == FAMILY_BRIDGE || f == FAMILY_NETDEV;
}

/* In tables of several network protocols `ip protocol` says more than the transport header. */
static bool names_network(const struct listing *l, const struct stmt *dep)
{
	const struct expr *left = dep->expr->pair.left;

	if (!is_mixed(l->family))
		return false;
	return left->kind == EX_PAYLOAD && left->payload.header->base == PB_NH;
}

static void field_seen(struct listing *l, const struct expr *e)
{
	const struct proto_header *h = e->payload.tunnel ? e->payload.tunnel : e->payload.header;
	unsigned base = h->base == PB_IH ? PB_TH : h->base;
	struct stmt *dep = l->deps[base];

	/* `th` does not say which protocol it is of. */
	if (dep && h != &proto_th) {
		const struct expr *left = dep->expr->pair.left;
		bool is_key = e->payload.field == proto_key(h);

		if (base == PB_LL && left->kind == EX_PAYLOAD) {
			if (h == &proto_vlan && !is_key && left->payload.header == &proto_ether &&
			    expr_u64(dep->expr->pair.right) == proto_vlan.ethertype)
				release(l, base);
		} else if (base != PB_TH || !names_network(l, dep)) {
			release(l, base);
		}
	}
	if (l->icmp && !e->payload.tunnel &&
	    l->icmp->expr->pair.left->payload.header == e->payload.header &&
	    icmp_dep_type(e) == (int)expr_u64(l->icmp->expr->pair.right)) {
		l->icmp->hidden = true;
		l->icmp = NULL;
	}
}

static void option_seen(struct listing *l, const struct expr *e)
{
	if (e->option.class == OPT_EXTHDR || e->option.class == OPT_IP)
		release(l, PB_NH);
	else if (l->deps[PB_TH] && !names_network(l, l->deps[PB_TH]))
		release(l, PB_TH);
}

static const struct proto_field *field_at(const struct proto_header *h, unsigned off, unsigned bits)
{
	for (unsigned i = 0; i < h->n_fields; i++)
		if (h->fields[i].off == off && h->fields[i].bits == bits)
			return &h->fields[i];
	return NULL;
}

/* The header that stands at a base for sure, or NULL. */
static const struct proto_header *header_at(const struct listing *l, unsigned base)
{
	const struct proto_header *h = l->pctx.at[base];

	if (l->pctx.several >> base & 1 || (l->family == FAMILY_ARP && base == PB_TH))
		return NULL;
	if (h == &proto_unknown || h == &proto_any_inet || h == &proto_any_netdev)
		return NULL;
	if (base == PB_LL && l->pctx.n_ll)
		return l->pctx.ll[0];
	return h;
}

/* Gives a field its name; true if its type changed. */
static bool name_field(const struct listing *l, struct expr *e)
{
	const struct proto_header *h;
	const struct proto_field *f;

	if (e->kind == EX_PAYLOAD && e->payload.header == &proto_th && !e->payload.tunnel) {
		h = header_at(l, PB_TH);
		f = h ? field_at(h, e->payload.field->off, e->bits) : NULL;
		if (f) {
			e->payload.header = h;
			e->payload.field = f;
		}
		return false;
	}
	if (e->kind != EX_RAW || e->raw.base == PB_IH || e->raw.tunnel)
		return false;
	h = header_at(l, e->raw.base);
	if (!h && e->raw.base == PB_TH &&
	    (l->pctx.at[PB_TH] != &proto_unknown || l->pctx.several >> PB_TH & 1))
		h = &proto_th;
	f = h ? field_at(h, e->raw.off, e->bits) : NULL;
	if (!f)
		return false;
	e->kind = EX_PAYLOAD;
	e->type = f->type;
	e->payload.header = h;
	e->payload.field = f;
	e->payload.tunnel = NULL;
	return true;
}

static void retype(struct expr *e, const struct datatype *t)
{
	switch (e->kind) {
	case EX_VALUE:
		e->type = t;
		break;
	case EX_PREFIX:
		e->type = t;
		retype(e->prefix.base, t);
		break;
	case EX_RANGE:
		e->type = t;
		retype(e->pair.left, t);
		retype(e->pair.right, t);
		break;
	case EX_ELEM:
		retype(e->elem->key, t);
		break;
	case EX_SET:
		e->type = t;
		for (uint32_t i = 0; i < e->list.n; i++)
			retype(e->list.items[i], t);
		break;
	default:
		break;
	}
}

/* The same of the field that operators are applied to: their constants are of its type then. */
static bool name_operand(const struct listing *l, struct expr *e)
{
	if (e->kind != EX_BINOP)
		return name_field(l, e);
	if (!name_operand(l, e->pair.left))
		return false;
	e->type = e->pair.left->type;
	if (e->op != OP_LSHIFT && e->op != OP_RSHIFT)
		retype(e->pair.right, e->type);
	return true;
}

/* Names and remembers the fields in an expression. */
static void expr_seen(struct listing *l, struct expr *e)
{
	if (!e)
		return;
	switch (e->kind) {
	case EX_PAYLOAD:
	case EX_RAW:
		name_field(l, e);
		if (e->kind == EX_PAYLOAD)
			field_seen(l, e);
		break;
	case EX_OPTION:
		option_seen(l, e);
		break;
	case EX_CONCAT:
		for (uint32_t i = 0; i < e->list.n; i++)
			expr_seen(l, e->list.items[i]);
		break;
	case EX_BINOP:
		name_operand(l, e);
		expr_seen(l, e->pair.left);
		expr_seen(l, e->pair.right);
		break;
	case EX_MAP:
		if (name_operand(l, e->map.key) && e->map.to->kind == EX_SET)
			retype(e->map.to, e->map.key->type);
		expr_seen(l, e->map.key);
		break;
	case EX_HASH:
		expr_seen(l, e->hash.key);
		break;
	default:
		break;
	}
}

static unsigned dep_nfproto(const struct stmt *dep)
{
	const struct expr *left = dep->expr->pair.left;
	uint64_t v = expr_u64(dep->expr->pair.right);

	if (left->kind == EX_META && left->key == META_NFPROTO)
		return (unsigned)v;
	if (left->kind == EX_PAYLOAD && left->payload.header->base != PB_LL)
		return 0;
	return v == proto_ip.ethertype ? NFPROTO_4 : v == proto_ip6.ethertype ? NFPROTO_6 : 0;
}

/* A match that says which header is at a base. */
static void dep_seen(struct listing *l, struct stmt *s)
{
	const struct expr *e = s->expr, *left = e->pair.left;
	uint64_t v;

	if (e->op != OP_EQ || e->pair.right->kind != EX_VALUE)
		return;
	v = expr_u64(e->pair.right);
	if (left->kind == EX_META) {
		unsigned net;

		switch (left->key) {
		case META_L4PROTO:
			net = l->deps[PB_NH] ? dep_nfproto(l->deps[PB_NH]) : 0;
			if (is_mixed(l->family) &&
			    ((net == NFPROTO_4 && v == ICMP) || (net == NFPROTO_6 && v == ICMPV6)))
				release(l, PB_NH);
			l->deps[PB_TH] = s;
			break;
		case META_NFPROTO:
		case META_PROTOCOL:
			l->deps[PB_NH] = s;
			break;
		case META_IIFTYPE:
			l->deps[PB_LL] = s;
			break;
		default:
			break;
		}
		return;
	}
	if (left->kind != EX_PAYLOAD || left->payload.tunnel)
		return;
	if ((left->payload.header == &proto_icmp || left->payload.header == &proto_icmpv6) &&
	    left->payload.field->off == 0) {
		l->icmp = s;
		return;
	}
	if (left->payload.field != proto_key(left->payload.header))
		return;
	const struct proto_header *up = proto_upper(left->payload.header, v);
	unsigned base = up ? up->base : left->payload.header->base + 1u;

	if (base < PB_IH)
		l->deps[base] = s;
}

static void match_seen(struct eval *ev, struct listing *l, struct stmt *s)
{
	struct expr *e = s->expr;

	if (e->kind != EX_COMPARE) {
		expr_seen(l, e);
		return;
	}
	bool named = name_operand(l, e->pair.left);

	if (!named && e->pair.left->kind == EX_RAW) {
		raw_normalise(ev, e);
		named = name_operand(l, e->pair.left);
	}
	if (named)
		retype(e->pair.right, e->pair.left->type);
	expr_seen(l, e->pair.left);
	proto_ctx_learn(&l->pctx, l->family, e);
	dep_seen(l, s);
}

static void reject_seen(struct listing *l, const struct stmt *s)
{
	bool plain = l->family == FAMILY_IP || l->family == FAMILY_IP6;

	if (s->reject.type == REJECT_TCP_RST && plain)
		release(l, PB_TH);
	if ((s->reject.type == REJECT_ICMP || s->reject.type == REJECT_ICMPV6) && !plain)
		release(l, PB_NH);
}

static void other_seen(struct listing *l, struct stmt *s)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_VERDICT:
		expr_seen(l, s->expr);
		break;
	case ST_REJECT:
		reject_seen(l, s);
		break;
	case ST_OBJREF:
		expr_seen(l, s->objref.name);
		break;
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
	case ST_OPTION_RESET:
		if (name_field(l, s->assign.target) && s->assign.value)
			retype(s->assign.value, s->assign.target->type);
		expr_seen(l, s->assign.target);
		expr_seen(l, s->assign.value);
		break;
	case ST_NAT:
	case ST_TPROXY:
		expr_seen(l, s->nat.addr);
		expr_seen(l, s->nat.port);
		break;
	case ST_QUEUE:
		expr_seen(l, s->queue.num);
		break;
	case ST_SET:
		expr_seen(l, s->set.elem->key);
		expr_seen(l, s->set.elem->data);
		break;
	case ST_METER:
		expr_seen(l, s->meter.elem->key);
		break;
	case ST_DUP:
	case ST_FWD:
		expr_seen(l, s->dup.to);
		expr_seen(l, s->dup.dev);
		break;
	default:
		break;
	}
}

/* In ip tables every packet is IPv4: `meta protocol ip` says nothing. */
static bool says_nothing(enum family f, const struct stmt *s)
{
	const struct expr *e = s->expr;
	uint64_t own = f == FAMILY_IP	 ? proto_ip.ethertype
		       : f == FAMILY_IP6 ? proto_ip6.ethertype
					 : 0;

	return e->kind == EX_COMPARE && e->op == OP_EQ && e->pair.left->kind == EX_META &&
	       e->pair.left->key == META_PROTOCOL && e->pair.right->kind == EX_VALUE && own &&
	       s->next && expr_u64(e->pair.right) == own;
}

void listing_normalise(struct eval *ev, struct rule_decl *r)
{
	struct listing l = {.family = ev->c->family};

	proto_ctx_init(&l.pctx, l.family);
	merge_neighbours(r);
	for (struct stmt *s = r->stmts; s; s = s->next) {
		if (s->kind == ST_MATCH) {
			if (says_nothing(l.family, s))
				s->hidden = true;
			else
				match_seen(ev, &l, s);
			continue;
		}
		other_seen(&l, s);
		memset(l.deps, 0, sizeof(l.deps));
		l.icmp = NULL;
	}
	for (struct stmt *s = r->stmts; s; s = s->next) {
		bool left_out = s->hidden;

		s->hidden = left_out && !s->implicit;
		s->implicit = left_out && s->implicit;
	}
}
