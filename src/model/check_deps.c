/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_deps: which headers a rule may count on, and the matches that nft adds to be sure of them.
 *
 * A family begins with what its hook guarantees (ip: an IPv4 header; inet, netdev, bridge: a link
 * layer that says what is above it). Matches teach more: `meta l4proto tcp` makes the transport
 * header TCP. A field whose header is not yet known gets a match in front of it that makes it so;
 * one of another header than the known one is a conflict.
 *
 * Added matches are in the checked form and marked implicit; listing_normalise() decides which of
 * them show. One thread; constant cost for each field.
 */
#include "model/check_internal.h"

const struct proto_header proto_any_inet = {.name = "inet", .base = PB_LL};
const struct proto_header proto_any_netdev = {.name = "netdev", .base = PB_LL};
const struct proto_header proto_unknown = {.name = "unknown", .base = PB_LL};

enum { ARPHRD_ETHERNET = 1, ETHERTYPE_8021AD = 0x88a8, NFPROTO_4 = 2, NFPROTO_6 = 10 };

void proto_ctx_init(struct proto_ctx *p, enum family f)
{
	*p = (struct proto_ctx){0};
	switch (f) {
	case FAMILY_IP:
		p->at[PB_NH] = &proto_ip;
		break;
	case FAMILY_IP6:
		p->at[PB_NH] = &proto_ip6;
		break;
	case FAMILY_ARP:
		p->at[PB_NH] = &proto_arp;
		break;
	case FAMILY_INET:
		p->at[PB_LL] = &proto_any_inet;
		break;
	case FAMILY_BRIDGE:
		p->at[PB_LL] = p->ll[p->n_ll++] = &proto_ether;
		break;
	default:
		p->at[PB_LL] = &proto_any_netdev;
		break;
	}
}

const struct proto_header *proto_upper(const struct proto_header *lower, uint64_t n)
{
	if (lower == &proto_any_inet)
		return n == NFPROTO_4 ? &proto_ip : n == NFPROTO_6 ? &proto_ip6 : NULL;
	if (lower == &proto_any_netdev || lower == &proto_ether || lower == &proto_vlan) {
		if (n == ETHERTYPE_8021AD)
			return &proto_vlan;
		for (size_t i = 0; proto_headers[i]; i++)
			if (proto_headers[i]->ethertype && proto_headers[i]->ethertype == n)
				return proto_headers[i];
		return NULL;
	}
	if (lower != &proto_ip && lower != &proto_ip6)
		return NULL;
	for (size_t i = 0; proto_headers[i]; i++)
		if (proto_headers[i]->base == PB_TH && proto_headers[i]->l4proto &&
		    proto_headers[i]->l4proto == n)
			return proto_headers[i];
	return NULL;
}

const struct proto_field *proto_key(const struct proto_header *h)
{
	const char *name = h == &proto_ip			   ? "protocol"
			   : h == &proto_ip6			   ? "nexthdr"
			   : h == &proto_ether || h == &proto_vlan ? "type"
								   : NULL;

	return name ? proto_field_find(h, name, strlen(name)) : NULL;
}

const char *proto_label(const struct proto_header *h)
{
	return h ? h->name : "unknown";
}

static bool is_ll_known(const struct proto_header *h)
{
	return h && h != &proto_any_inet && h != &proto_any_netdev;
}

static void ll_push(struct proto_ctx *p, const struct proto_header *h)
{
	if (p->n_ll < LL_STACK_MAX)
		p->ll[p->n_ll++] = h;
	p->at[PB_LL] = h;
}

static void learn_value(struct proto_ctx *p, enum family f, const struct expr *left, uint64_t v)
{
	const struct proto_header *up;

	if (left->kind == EX_PAYLOAD) {
		const struct proto_header *h = left->payload.header;

		if (left->payload.tunnel)
			return;
		if ((h == &proto_icmp || h == &proto_icmpv6) && left->payload.field->off == 0) {
			p->icmp_known = true;
			p->icmp_type = (uint8_t)v;
			return;
		}
		if (left->payload.field != proto_key(h))
			return;
		up = proto_upper(h, v);
		if (!up)
			return;
		if (up->base == PB_LL)
			ll_push(p, up);
		else
			p->at[up->base] = up;
		return;
	}
	if (left->kind != EX_META)
		return;
	switch (left->key) {
	case META_NFPROTO:
		if (f != FAMILY_INET)
			return;
		up = proto_upper(&proto_any_inet, v);
		p->at[PB_NH] = up ? up : &proto_unknown;
		break;
	case META_PROTOCOL:
		if (f != FAMILY_NETDEV && f != FAMILY_BRIDGE)
			return;
		up = proto_upper(&proto_any_netdev, v);
		if (up && up->base == PB_LL)
			return;
		p->at[PB_NH] = up ? up : &proto_unknown;
		break;
	case META_L4PROTO:
		up = proto_upper(&proto_ip, v);
		p->at[PB_TH] = up ? up : &proto_unknown;
		break;
	case META_IIFTYPE:
	case META_OIFTYPE:
		if (is_ll_known(p->at[PB_LL]))
			return;
		if (v == ARPHRD_ETHERNET)
			ll_push(p, &proto_ether);
		else
			p->at[PB_LL] = &proto_unknown;
		break;
	default:
		break;
	}
}

void proto_ctx_learn(struct proto_ctx *p, enum family f, const struct expr *compare)
{
	const struct expr *left = compare->pair.left, *right = compare->pair.right;
	struct proto_ctx before = *p;
	bool several = right->kind == EX_SET && right->list.n > 1;

	if (compare->op != OP_EQ && compare->op != OP_IMPLICIT)
		return;
	if (right->kind == EX_VALUE)
		learn_value(p, f, left, expr_u64(right));
	for (uint32_t i = 0; right->kind == EX_SET && i < right->list.n; i++) {
		const struct expr *e = right->list.items[i];

		if (e->kind == EX_ELEM)
			e = e->elem->key;
		if (e->kind == EX_VALUE)
			learn_value(p, f, left, expr_u64(e));
	}
	for (unsigned i = 0; i < PROTO_BASES; i++) {
		if (p->at[i] == before.at[i])
			continue;
		p->loc[i] = left->loc;
		if (several)
			p->several |= 1u << i;
	}
}

/* Links a checked comparison in front of the present statement, or of the whole rule. */
static void dep_insert(struct eval *ev, struct loc loc, struct expr *left, struct expr *right,
		       bool first)
{
	struct expr *cmp = expr_new(ev->a, EX_COMPARE, loc);
	struct stmt *s = stmt_new(ev->a, ST_MATCH, loc);

	cmp->op = OP_EQ;
	cmp->type = &type_boolean;
	cmp->bits = 1;
	cmp->pair.left = left;
	cmp->pair.right = right;
	s->expr = cmp;
	s->implicit = true;
	proto_ctx_learn(&ev->pctx, ev->c->family, cmp);
	if (first) {
		bool at_head = ev->at == &ev->rule->stmts;

		s->next = ev->rule->stmts;
		ev->rule->stmts = s;
		if (at_head)
			ev->at = &s->next;
		return;
	}
	s->next = *ev->at;
	*ev->at = s;
	ev->at = &s->next;
}

static struct expr *payload_new(struct eval *ev, struct loc loc, const struct proto_header *h,
				const struct proto_field *f)
{
	struct expr *e = expr_new(ev->a, EX_PAYLOAD, loc);

	e->payload.header = h;
	e->payload.field = f;
	e->type = f->type;
	e->bits = f->bits;
	return e;
}

int deps_meta(struct eval *ev, struct loc loc, enum meta_key key, uint64_t v, bool first)
{
	struct expr *left = expr_new(ev->a, EX_META, loc);

	left->key = key;
	left->type = meta_keys[key].type;
	left->bits = meta_keys[key].bits;
	dep_insert(ev, loc, left, expr_number(ev->a, loc, left->type, v, left->bits), first);
	return 0;
}

static void deps_key(struct eval *ev, struct loc loc, const struct proto_header *lower, uint64_t v)
{
	const struct proto_field *f = proto_key(lower);

	dep_insert(ev, loc, payload_new(ev, loc, lower, f),
		   expr_number(ev->a, loc, f->type, v, f->bits), false);
}

static int conflict(struct eval *ev, struct loc loc, const struct proto_header *a,
		    const struct proto_header *b)
{
	return check_error(ev, loc, "conflicting protocols specified: %s vs. %s", proto_label(a),
			   proto_label(b));
}

static int deps_link(struct eval *ev, const struct expr *e, const struct proto_header *h)
{
	struct proto_ctx *p = &ev->pctx;

	if (!is_ll_known(p->at[PB_LL]))
		deps_meta(ev, e->loc, META_IIFTYPE, ARPHRD_ETHERNET, false);
	for (unsigned i = 0; i < p->n_ll; i++)
		if (p->ll[i] == h)
			return 0;
	if (h != &proto_vlan || (p->at[PB_LL] != &proto_ether && p->at[PB_LL] != &proto_vlan))
		return conflict(ev, e->loc, p->at[PB_LL], h);
	deps_key(ev, e->loc, p->at[PB_LL], h->ethertype);
	return 0;
}

/* `direct`: the field read is of the network header itself, not of one above it. */
static int deps_net(struct eval *ev, struct loc loc, const struct proto_header *h, bool direct)
{
	const struct proto_header *at = ev->pctx.at[PB_NH], *lower = ev->pctx.at[PB_LL];

	if (at == h)
		return 0;
	if (at)
		return conflict(ev, loc, at, h);
	if (lower == &proto_any_inet) {
		if (h == &proto_ip || h == &proto_ip6)
			return deps_meta(ev, loc, META_NFPROTO,
					 h == &proto_ip ? NFPROTO_4 : NFPROTO_6, false);
		return conflict(ev, loc, lower, h);
	}
	if (lower == &proto_any_netdev ||
	    (direct && ev->c->family == FAMILY_BRIDGE && lower == &proto_ether &&
	     (h == &proto_ip || h == &proto_ip6)))
		return deps_meta(ev, loc, META_PROTOCOL, h->ethertype, false);
	if (lower != &proto_ether && lower != &proto_vlan)
		return conflict(ev, loc, lower, h);
	deps_key(ev, loc, lower, h->ethertype);
	return 0;
}

int deps_network(struct eval *ev, const struct expr *e, const struct proto_header *h)
{
	return ev->at ? deps_net(ev, e->loc, h, true) : 0;
}

static int deps_transport(struct eval *ev, const struct expr *e, const struct proto_header *h)
{
	struct proto_ctx *p = &ev->pctx;
	const struct proto_header *net = NULL;
	int err;

	if (p->at[PB_TH]) {
		if (p->at[PB_TH]->l4proto == h->l4proto && p->at[PB_TH] != &proto_unknown)
			return 0;
		return conflict(ev, e->loc, p->at[PB_TH], h);
	}
	if (p->at[PB_NH] == &proto_arp || p->at[PB_NH] == &proto_unknown)
		return conflict(ev, e->loc, p->at[PB_NH], h);
	if (h == &proto_icmp || h == &proto_igmp)
		net = &proto_ip;
	else if (h == &proto_icmpv6)
		net = &proto_ip6;
	if (net && !p->at[PB_NH]) {
		err = deps_net(ev, e->loc, net, false);
		if (err)
			return err;
	}
	return deps_meta(ev, e->loc, META_L4PROTO, h->l4proto, false);
}

/* Fields of ICMP that only some types have. The first type given is what a message asks for. */
static const struct {
	const struct proto_header *header;
	const char *field;
	uint8_t n, types[6];
} icmp_deps[] = {
	{&proto_icmp, "id", 2, {8, 0}},
	{&proto_icmp, "sequence", 2, {8, 0}},
	{&proto_icmp, "gateway", 1, {5}},
	{&proto_icmp, "mtu", 1, {3}},
	{&proto_icmpv6, "id", 2, {128, 129}},
	{&proto_icmpv6, "sequence", 2, {128, 129}},
	{&proto_icmpv6, "mtu", 1, {2}},
	{&proto_icmpv6, "parameter-problem", 1, {4}},
	{&proto_icmpv6, "max-delay", 1, {130}},
	{&proto_icmpv6, "taddr", 6, {135, 130, 131, 132, 136, 137}},
	{&proto_icmpv6, "daddr", 1, {137}},
};

int icmp_dep_type(const struct expr *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(icmp_deps); i++)
		if (e->payload.header == icmp_deps[i].header && icmp_deps[i].n == 1 &&
		    !strcmp(e->payload.field->name, icmp_deps[i].field))
			return icmp_deps[i].types[0];
	return -1;
}

static int deps_icmp(struct eval *ev, const struct expr *e)
{
	struct proto_ctx *p = &ev->pctx;
	const struct proto_header *h = e->payload.header;
	size_t k = 0;

	while (k < ARRAY_SIZE(icmp_deps) &&
	       (icmp_deps[k].header != h || strcmp(icmp_deps[k].field, e->payload.field->name)))
		k++;
	if (k == ARRAY_SIZE(icmp_deps))
		return 0;
	if (p->icmp_known) {
		for (unsigned i = 0; i < icmp_deps[k].n; i++)
			if (icmp_deps[k].types[i] == p->icmp_type)
				return 0;
		return check_error(ev, e->loc, "incompatible icmp match: rule has %u, need %u",
				   p->icmp_type, icmp_deps[k].types[0]);
	}

	const struct proto_field *f = proto_field_find(h, "type", 4);
	struct expr *right = expr_new(ev->a, EX_SET, e->loc);

	right->type = f->type;
	right->bits = f->bits;
	for (unsigned v = 0; v < 256; v++)
		for (unsigned i = 0; i < icmp_deps[k].n; i++)
			if (icmp_deps[k].types[i] == v)
				expr_list_add(ev->a, &right->list,
					      expr_number(ev->a, e->loc, f->type, v, f->bits));
	dep_insert(ev, e->loc, payload_new(ev, e->loc, h, f),
		   icmp_deps[k].n == 1 ? right->list.items[0] : right, false);
	return 0;
}

int deps_payload(struct eval *ev, struct expr *e)
{
	const struct proto_header *h = e->payload.header;
	int err;

	if (e->payload.tunnel)
		h = e->payload.tunnel;
	if (!ev->at || h == &proto_th)
		return 0;
	if (h == &proto_vxlan || h == &proto_geneve)
		return deps_transport(ev, e, &proto_udp);
	switch (h->base) {
	case PB_LL:
		return deps_link(ev, e, h);
	case PB_NH:
		return deps_net(ev, e->loc, h, true);
	case PB_TH:
		err = deps_transport(ev, e, h);
		return err || e->payload.tunnel ? err : deps_icmp(ev, e);
	default:
		return 0;
	}
}
