/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_nat: snat, dnat, masquerade, redirect and tproxy: families, addresses, ports, hooks.
 *
 * In inet tables the family comes from the statement or from what the rule matched before; a port
 * needs a match on the transport protocol. A map whose data is `address . port` sets NATF_CONCAT,
 * one whose data are ranges or prefixes NATF_INTERVAL. stmt.nat.nfproto is left set only where the
 * listing names the family.
 */
#include "model/check_internal.h"

enum { NFPROTO_4 = 2, NFPROTO_6 = 10 };

static const char *proto_of(unsigned nfproto)
{
	return nfproto == NFPROTO_4 ? "ip" : nfproto == NFPROTO_6 ? "ip6" : "unknown";
}

static unsigned context_nfproto(const struct eval *ev)
{
	const struct proto_header *net = ev->pctx.at[PB_NH];

	return net == &proto_ip ? NFPROTO_4 : net == &proto_ip6 ? NFPROTO_6 : 0;
}

static int family_conflict(struct eval *ev, const struct stmt *s, unsigned a, unsigned b,
			   const char *what)
{
	return check_error2(
		ev, s->loc, ev->pctx.loc[PB_NH],
		"conflicting protocols specified: %s vs. %s. You must specify ip or ip6 "
		"family in %s statement",
		proto_of(a), proto_of(b), what);
}

static int transport_needed(struct eval *ev, const struct stmt *s, const struct expr *e)
{
	if (ev->pctx.at[PB_TH])
		return 0;
	return check_error2(
		ev, e->loc, s->loc,
		"transport protocol mapping is only valid after transport protocol match");
}

/* The form of a map's data: 1 an address, 2 address and port; ranges or not. */
static void map_data(struct eval *ev, const struct expr *map, unsigned *n, bool *ranges)
{
	*n = 1;
	*ranges = false;
	if (map->map.to->kind == EX_SETREF) {
		const struct model_set *set =
			ev->c->table ? model_set_find(ev->c->table, map->map.to->setref.name)
				     : NULL;

		if (set && set->decl.data.n == 2)
			*n = 2;
		*ranges = set && set->decl.data.interval;
		return;
	}
	if (map->map.to->kind != EX_SET)
		return;
	for (uint32_t i = 0; i < map->map.to->list.n; i++) {
		const struct expr *e = map->map.to->list.items[i];
		const struct expr *d = e->kind == EX_ELEM ? e->elem->data : NULL;

		if (d && d->kind == EX_CONCAT && d->list.n == 2)
			*n = 2;
		if (d && (d->kind == EX_RANGE || d->kind == EX_PREFIX))
			*ranges = true;
	}
}

static int addr_map_check(struct eval *ev, struct stmt *s, const struct datatype *t, unsigned bits)
{
	struct set_type want = type_single(t, bits), have;
	bool ranges, nat_data = ev->nat_data;
	unsigned n;
	int err;

	map_data(ev, s->nat.addr, &n, &ranges);
	if (n == 2) {
		want.fields[1] = &type_inet_service;
		want.bits[1] = 16;
		want.n = 2;
		s->nat.flags |= NATF_CONCAT;
	}
	if (ranges)
		s->nat.flags |= NATF_INTERVAL;
	ev->nat_data = true;
	err = expr_check_as(ev, &s->nat.addr, &want, 0);
	ev->nat_data = nat_data;
	if (!err && n == 2)
		err = transport_needed(ev, s, s->nat.addr);
	if (err)
		return err;
	expr_type(s->nat.addr, &have);
	if (s->nat.addr->map.to->kind == EX_SETREF && !type_equal(&have, &want))
		return check_error2(ev, s->nat.addr->loc, s->loc,
				    "datatype mismatch: expected %s, expression has type %s",
				    type_desc(ev, &want), type_desc(ev, &have));
	return 0;
}

static int addr_check(struct eval *ev, struct stmt *s, unsigned nfproto)
{
	const struct datatype *t = nfproto == NFPROTO_4 ? &type_ipv4_addr : &type_ipv6_addr;
	unsigned bits = nfproto == NFPROTO_4 ? 32 : 128;
	struct expr *e;
	int err;

	if (s->nat.addr->kind == EX_MAP)
		return addr_map_check(ev, s, t, bits);
	err = arg_check(ev, s, &s->nat.addr, t, bits);
	if (err)
		return err;
	e = s->nat.addr;
	if (e->kind == EX_RANGE)
		s->nat.addr = interval_expr(ev, e->loc, t, bits, expr_bytes(e->pair.left),
					    expr_bytes(e->pair.right));
	else if (e->kind == EX_PREFIX && e->prefix.len == bits)
		s->nat.addr = e->prefix.base;
	else if (e->kind == EX_CONCAT)
		return check_error(ev, e->loc, "address and port are given as address:port");
	return 0;
}

static int port_check(struct eval *ev, struct stmt *s)
{
	int err = arg_check(ev, s, &s->nat.port, &type_inet_service, 16);

	return err ? err : transport_needed(ev, s, s->nat.port);
}

/* A map to addresses with ports says which family they are of. */
static unsigned map_nfproto(const struct eval *ev, const struct expr *addr)
{
	const struct model_set *set;

	if (addr->kind != EX_MAP || addr->map.to->kind != EX_SETREF || !ev->c->table)
		return 0;
	set = model_set_find(ev->c->table, addr->map.to->setref.name);
	if (!set || set->decl.data.n != 2)
		return 0;
	return set->decl.data.fields[0] == &type_ipv4_addr   ? NFPROTO_4
	       : set->decl.data.fields[0] == &type_ipv6_addr ? NFPROTO_6
							     : 0;
}

/* The family of the address: given, or of the table, or of what was matched. */
static int nat_family(struct eval *ev, struct stmt *s, unsigned *out)
{
	unsigned seen = context_nfproto(ev);

	switch (ev->c->family) {
	case FAMILY_IP:
	case FAMILY_IP6:
		if (s->nat.nfproto && s->nat.nfproto != seen)
			return family_conflict(ev, s, seen, s->nat.nfproto, "nat");
		*out = seen;
		return 0;
	case FAMILY_INET:
		*out = 0;
		if (!s->nat.addr)
			return 0;
		if (!s->nat.nfproto && !seen)
			seen = map_nfproto(ev, s->nat.addr);
		if (!s->nat.nfproto && !seen)
			return check_error(ev, s->loc,
					   "ip or ip6 must be specified with address for inet "
					   "tables.");
		if (s->nat.nfproto && seen && s->nat.nfproto != seen)
			return family_conflict(ev, s, seen, s->nat.nfproto, "nat");
		*out = s->nat.nfproto ? s->nat.nfproto : seen;
		return 0;
	default:
		return check_error(ev, s->loc,
				   "NAT is only supported for IPv4/IPv6 and inet tables");
	}
}

int nat_check(struct eval *ev, struct stmt *s)
{
	static const unsigned hooks[] = {
		[NAT_SNAT] = 1u << HOOK_POSTROUTING | 1u << HOOK_INPUT,
		[NAT_DNAT] = 1u << HOOK_PREROUTING | 1u << HOOK_OUTPUT,
		[NAT_MASQUERADE] = 1u << HOOK_POSTROUTING,
		[NAT_REDIRECT] = 1u << HOOK_PREROUTING | 1u << HOOK_OUTPUT,
	};
	unsigned nfproto = 0;
	int err;

	s->loc = keyword_loc(ev, s->loc);
	err = nat_family(ev, s, &nfproto);
	if (!err && s->nat.addr)
		err = addr_check(ev, s, nfproto);
	if (!err && s->nat.port)
		err = port_check(ev, s);
	if (err)
		return err;
	if (!place_allowed(ev, 1u << CHAIN_NAT, hooks[s->nat.kind]))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	if (ev->c->family != FAMILY_INET)
		s->nat.nfproto =
			s->nat.flags & (NATF_CONCAT | NATF_INTERVAL) ? (uint8_t)nfproto : 0;
	else if (s->nat.addr)
		s->nat.nfproto = (uint8_t)nfproto;
	s->nat.implicit_family = false;
	return 0;
}

int tproxy_check(struct eval *ev, struct stmt *s)
{
	unsigned seen = context_nfproto(ev), nfproto = s->nat.nfproto;
	int err = 0;

	if (ev->c->family != FAMILY_IP && ev->c->family != FAMILY_IP6 &&
	    ev->c->family != FAMILY_INET)
		return check_error(ev, s->loc, "unsupported family");
	if (!ev->pctx.at[PB_TH])
		return check_error(ev, s->loc,
				   "Transparent proxy support requires transport protocol match");
	if (!s->nat.addr && !s->nat.port)
		return check_error(ev, s->loc, "Either address or port must be specified!");
	if (ev->c->family == FAMILY_INET && s->nat.addr && !nfproto && !seen)
		return check_error(ev, s->loc,
				   "ip or ip6 must be specified with address for inet tables.");
	if (nfproto != seen && seen && (nfproto || (ev->c->family == FAMILY_INET && s->nat.addr)))
		return family_conflict(ev, s, seen, nfproto, "tproxy");
	if (s->nat.addr) {
		unsigned p = nfproto ? nfproto : seen;

		err = p == NFPROTO_4 ? arg_check(ev, s, &s->nat.addr, &type_ipv4_addr, 32)
				     : arg_check(ev, s, &s->nat.addr, &type_ipv6_addr, 128);
		if (!err && (s->nat.addr->kind == EX_RANGE || s->nat.addr->kind == EX_PREFIX))
			err = check_error(ev, s->nat.addr->loc,
					  "tproxy address must be a single address");
		if (!nfproto && ev->c->family == FAMILY_INET)
			s->nat.nfproto = (uint8_t)seen;
	}
	if (!err && s->nat.port) {
		err = arg_check(ev, s, &s->nat.port, &type_inet_service, 16);
		if (!err && s->nat.port->kind == EX_RANGE)
			err = check_error(ev, s->nat.port->loc,
					  "tproxy port must be a single port");
	}
	if (err)
		return err;
	if (!hook_allowed(ev, 1u << HOOK_PREROUTING))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	if (ev->c->family != FAMILY_INET)
		s->nat.nfproto = 0;
	return 0;
}
