/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_field: types of what is read from packets, from connection tracking and from the host, and
 * where a family or a hook does not have it.
 *
 * Refusals that come from the kernel carry its words ("Could not process rule: ..."). One thread;
 * constant cost for each field.
 */
#include "model/check_internal.h"

enum { NFPROTO_4 = 2, NFPROTO_6 = 10 };

static void field_type(struct expr *e, const struct datatype *t, unsigned bits)
{
	e->type = t;
	e->bits = bits;
}

bool place_allowed(struct eval *ev, unsigned types, unsigned hooks)
{
	const struct model_chain *chain = ev->c->chain;
	uint32_t barred = 0;

	for (enum chain_type t = CHAIN_FILTER; t <= CHAIN_ROUTE; t++)
		for (enum hook h = HOOK_NONE; h < HOOKS; h++)
			if (!(types >> t & hooks >> h & 1))
				barred |= base_bit(t, h);
	if (ev->rule)
		ev->rule->barred |= barred;
	return !chain || !chain->decl.base ||
	       !(barred & base_bit(chain->decl.type, chain->decl.hook));
}

bool hook_allowed(struct eval *ev, unsigned hooks)
{
	return place_allowed(ev, ~0u, hooks);
}

int kernel_error(struct eval *ev, struct loc loc, const char *text)
{
	return check_error(ev, loc, "Could not process rule: %s", text);
}

static int payload_check(struct eval *ev, struct expr *e)
{
	field_type(e, e->payload.field->type, e->payload.field->bits);
	if (!e->bits)
		e->bits = e->type->bits;
	return deps_payload(ev, e);
}

static int raw_check(struct eval *ev, struct expr *e)
{
	if (!e->bits)
		return check_error(ev, e->loc, "raw payload expression has no length");
	if (e->bits > VALUE_MAX * 8)
		return check_error(ev, e->loc, "Value %u exceeds valid range 0-%u", e->bits,
				   VALUE_MAX * 8);
	e->type = &type_xinteger;
	return 0;
}

/* An option given by its number, or a field of it by its place, gets its name. */
static void option_name(struct expr *e)
{
	const struct proto_option *o = option_by_kind(e->option.class, e->option.kind);

	if (!o)
		return;
	if (e->option.existence || !e->bits) {
		e->option.option = o;
		return;
	}
	for (unsigned i = 0; i < o->n_fields && !e->option.field; i++) {
		if (o->fields[i].off != e->option.off || o->fields[i].bits != e->bits)
			continue;
		e->option.option = o;
		e->option.field = &o->fields[i];
		e->option.off = 0;
	}
}

static int option_check(struct eval *ev, struct expr *e)
{
	const enum family f = ev->c->family;

	if (!e->option.option)
		option_name(e);
	if (e->option.existence)
		field_type(e, &type_boolean, 1);
	else if (e->option.field)
		field_type(e, e->option.field->type, e->option.field->bits);
	else
		field_type(e, &type_integer, e->bits);
	switch (e->option.class) {
	case OPT_EXTHDR:
		if (ev->at && (f == FAMILY_IP || f == FAMILY_ARP ||
			       (ev->pctx.at[PB_NH] && ev->pctx.at[PB_NH] != &proto_ip6)))
			return check_error(ev, e->loc, "cannot use exthdr with %s",
					   proto_label(ev->pctx.at[PB_NH]));
		return deps_network(ev, e, &proto_ip6);
	case OPT_IP:
		return deps_network(ev, e, &proto_ip);
	default:
		return 0;
	}
}

static int meta_check(struct eval *ev, struct expr *e)
{
	const enum family f = ev->c->family;

	if (e->key >= META_KEYS_N)
		return check_error(ev, e->loc, "unknown meta key");
	field_type(e, meta_keys[e->key].type, meta_keys[e->key].bits);
	switch (e->key) {
	case META_NFPROTO:
		if (f != FAMILY_INET && ev->at)
			return check_error(ev, e->loc,
					   "meta nfproto is only useful in the inet family");
		break;
	case META_NFTRACE:
	case META_BROUTE:
		if (ev->at && !ev->target)
			return kernel_error(ev, e->loc, "Operation not supported");
		break;
	case META_SECPATH:
		e->key = META_IPSEC;
		break;
	case META_IBRNAME:
	case META_OBRNAME:
	case META_IBRPVID:
	case META_IBRVPROTO:
	case META_IBRHWADDR:
		if (f != FAMILY_BRIDGE && ev->at)
			return kernel_error(ev, e->loc, "Operation not supported");
		break;
	default:
		break;
	}
	return 0;
}

static int ct_check(struct eval *ev, struct expr *e)
{
	const struct proto_header *net = ev->pctx.at[PB_NH];
	unsigned key = e->ct.key;

	if (key >= CT_KEYS_N)
		return check_error(ev, e->loc, "unknown ct key");
	if (ev->c->family == FAMILY_NETDEV && ev->at)
		return kernel_error(ev, e->loc, "Protocol error");
	if (key == CT_SADDR_IP || key == CT_DADDR_IP)
		e->ct.nfproto = NFPROTO_4;
	if (key == CT_SADDR_IP6 || key == CT_DADDR_IP6)
		e->ct.nfproto = NFPROTO_6;
	field_type(e, ct_keys[key].type, ct_keys[key].bits);
	switch (key) {
	case CT_SADDR:
	case CT_DADDR:
	case CT_SADDR_IP:
	case CT_DADDR_IP:
	case CT_SADDR_IP6:
	case CT_DADDR_IP6:
		if (!e->ct.nfproto) {
			if (net != &proto_ip && net != &proto_ip6)
				return check_error(ev, e->loc,
						   "cannot determine ip protocol version, use \"ip "
						   "%s\" or \"ip6 %s\" instead",
						   ct_keys[key].name, ct_keys[key].name);
			e->ct.nfproto = net == &proto_ip ? NFPROTO_4 : NFPROTO_6;
		}
		if (e->ct.direction < 0)
			return check_error(ev, e->loc, "ct %s needs a direction",
					   ct_keys[key].name);
		{
			bool v4 = e->ct.nfproto == NFPROTO_4;
			bool src = key == CT_SADDR || key == CT_SADDR_IP || key == CT_SADDR_IP6;

			if (ev->at && net && net != (v4 ? &proto_ip : &proto_ip6))
				return check_error(ev, e->loc,
						   "conflicting protocols specified: %s vs. %s",
						   proto_label(net), v4 ? "ip" : "ip6");
			e->ct.key = v4 ? (src ? CT_SADDR_IP : CT_DADDR_IP)
				       : (src ? CT_SADDR_IP6 : CT_DADDR_IP6);
			field_type(e, v4 ? &type_ipv4_addr : &type_ipv6_addr, v4 ? 32 : 128);
		}
		break;
	case CT_PROTO_SRC:
	case CT_PROTO_DST:
		if (ev->at && !ev->pctx.at[PB_TH])
			field_type(e, &type_invalid, 0);
		else if (e->ct.direction < 0)
			return check_error(ev, e->loc, "ct %s needs a direction",
					   ct_keys[key].name);
		break;
	case CT_L3PROTO:
	case CT_PROTOCOL:
		e->ct.direction = -1;
		break;
	case CT_HELPER:
	case CT_TIMEOUT:
	case CT_EXPECTATION:
		if (!e->bits)
			e->bits = IFNAME_MAX * 8;
		break;
	default:
		break;
	}
	return 0;
}

static int rt_check(struct eval *ev, struct expr *e)
{
	const struct proto_header *net = ev->pctx.at[PB_NH];
	const enum family f = ev->c->family;

	if (f != FAMILY_IP && f != FAMILY_IP6 && f != FAMILY_INET && ev->at && e->rt.key != 1)
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	switch (e->rt.key) {
	case 0:
		field_type(e, &type_realm, 32);
		return 0;
	case 1:
		if (!e->rt.nfproto) {
			if (net != &proto_ip && net != &proto_ip6)
				return check_error(ev, e->loc,
						   "cannot determine ip protocol version, use \"ip "
						   "nexthop\" or \"ip6 nexthop\" instead");
			e->rt.nfproto = net == &proto_ip ? NFPROTO_4 : NFPROTO_6;
		}
		if (ev->at && net == &proto_ip && e->rt.nfproto == NFPROTO_6)
			return check_error(ev, e->loc, "ip6 nexthop will not match");
		if (ev->at && net == &proto_ip6 && e->rt.nfproto == NFPROTO_4)
			return check_error(ev, e->loc, "ip nexthop will not match");
		if (f != FAMILY_IP && f != FAMILY_IP6 && f != FAMILY_INET && ev->at)
			return kernel_error(ev, rule_loc(ev), "Operation not supported");
		if (e->rt.nfproto == NFPROTO_4)
			field_type(e, &type_ipv4_addr, 32);
		else
			field_type(e, &type_ipv6_addr, 128);
		return 0;
	case 2:
		if (!hook_allowed(ev,
				  1u << HOOK_FORWARD | 1u << HOOK_OUTPUT | 1u << HOOK_POSTROUTING))
			return kernel_error(ev, rule_loc(ev), "Operation not supported");
		field_type(e, &type_integer, 16);
		return 0;
	default:
		field_type(e, &type_boolean, 1);
		return 0;
	}
}

static int socket_check(struct eval *ev, struct expr *e)
{
	enum { LEVEL_MAX = 255 };

	if (!hook_allowed(ev, 1u << HOOK_PREROUTING | 1u << HOOK_INPUT | 1u << HOOK_OUTPUT))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	switch (e->socket.key) {
	case 1:
		field_type(e, &type_mark, 32);
		return 0;
	case 3:
		if (e->socket.level > LEVEL_MAX)
			return check_error(ev, e->loc, "cgroupv2 level %u is too high",
					   e->socket.level);
		field_type(e, &type_cgroupsv2, 64);
		return 0;
	default:
		field_type(e, &type_integer, 1);
		return 0;
	}
}

static int fib_check(struct eval *ev, struct expr *e)
{
	unsigned f = e->fib.flags;
	unsigned early = 1u << HOOK_PREROUTING | 1u << HOOK_INPUT | 1u << HOOK_FORWARD;
	unsigned late = 1u << HOOK_OUTPUT | 1u << HOOK_POSTROUTING | 1u << HOOK_FORWARD;
	unsigned ingress = 1u << HOOK_INGRESS | 1u << HOOK_EGRESS;

	if (!(f & (FIB_SADDR | FIB_DADDR)))
		return check_error(ev, e->loc, "fib: need either saddr or daddr");
	if ((f & FIB_SADDR) && (f & FIB_DADDR))
		return check_error(ev, e->loc, "fib: saddr and daddr are mutually exclusive");
	if ((f & FIB_IIF) && (f & FIB_OIF))
		return check_error(ev, e->loc, "fib: iif and oif are mutually exclusive");
	if (ev->c->family == FAMILY_NETDEV)
		early |= ingress;
	if (e->fib.result != 2) {
		if (f & FIB_OIF)
			return check_error(ev, e->loc, "fib: cannot use fib oif with oif result");
		if (!hook_allowed(ev, early))
			return kernel_error(ev, rule_loc(ev), "Operation not supported");
	} else if (((f & FIB_IIF) && !hook_allowed(ev, early)) ||
		   ((f & FIB_OIF) && !hook_allowed(ev, late))) {
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	}
	if (e->fib.check)
		field_type(e, &type_boolean, 1);
	else if (e->fib.result == 0)
		field_type(e, &type_iface_index, 32);
	else if (e->fib.result == 1)
		field_type(e, &type_ifname, IFNAME_MAX * 8);
	else
		field_type(e, &type_fib_addrtype, 32);
	return 0;
}

static int numgen_check(struct eval *ev, struct expr *e)
{
	uint64_t max = ev->max ? ev->max : UINT32_MAX;

	if (!e->numgen.mod)
		return check_error(ev, e->loc, "modulus must be larger than 0");
	if ((uint64_t)e->numgen.offset + e->numgen.mod - 1 > max)
		return check_error(ev, e->loc, "Value %llu exceeds valid range 0-%llu",
				   (unsigned long long)e->numgen.offset + e->numgen.mod - 1,
				   (unsigned long long)max);
	field_type(e, &type_integer, 32);
	return 0;
}

static int hash_check(struct eval *ev, struct expr *e)
{
	uint64_t max = ev->max ? ev->max : UINT32_MAX;
	int err;

	if (e->hash.key) {
		err = expr_check_as(ev, &e->hash.key, NULL, 0);
		if (err)
			return err;
	}
	if (!e->hash.mod)
		return check_error(ev, e->loc, "modulus must be larger than 0");
	if ((uint64_t)e->hash.offset + e->hash.mod - 1 > max)
		return check_error(ev, e->loc, "Value %llu exceeds valid range 0-%llu",
				   (unsigned long long)e->hash.offset + e->hash.mod - 1,
				   (unsigned long long)max);
	field_type(e, &type_integer, 32);
	return 0;
}

static int xfrm_check(struct eval *ev, struct expr *e)
{
	const enum family f = ev->c->family;

	if (ev->at && f != FAMILY_IP && f != FAMILY_IP6 && f != FAMILY_INET)
		return check_error(ev, e->loc,
				   "ipsec expression is only valid in ip/ip6/inet tables");
	switch (e->xfrm.key) {
	case 2:
	case 3:
		if (e->xfrm.nfproto == NFPROTO_4)
			field_type(e, &type_ipv4_addr, 32);
		else if (e->xfrm.nfproto == NFPROTO_6)
			field_type(e, &type_ipv6_addr, 128);
		else
			return check_error(ev, e->loc, "ip or ip6 must be specified");
		return 0;
	default:
		field_type(e, &type_integer, 32);
		return 0;
	}
}

int field_check(struct eval *ev, struct expr **ep)
{
	struct expr *e = *ep;

	switch (e->kind) {
	case EX_PAYLOAD:
		return payload_check(ev, e);
	case EX_RAW:
		return raw_check(ev, e);
	case EX_OPTION:
		return option_check(ev, e);
	case EX_META:
		return meta_check(ev, e);
	case EX_CT:
		return ct_check(ev, e);
	case EX_RT:
		return rt_check(ev, e);
	case EX_SOCKET:
		return socket_check(ev, e);
	case EX_FIB:
		return fib_check(ev, e);
	case EX_OSF:
		if (ev->at && ((ev->c->family != FAMILY_IP && ev->c->family != FAMILY_IP6 &&
				ev->c->family != FAMILY_INET) ||
			       !hook_allowed(ev, 1u << HOOK_PREROUTING | 1u << HOOK_INPUT |
							 1u << HOOK_FORWARD)))
			return kernel_error(ev, rule_loc(ev), "Operation not supported");
		field_type(e, &type_string, IFNAME_MAX * 8);
		return 0;
	case EX_NUMGEN:
		return numgen_check(ev, e);
	case EX_HASH:
		return hash_check(ev, e);
	case EX_XFRM:
		return xfrm_check(ev, e);
	case EX_TUNNEL:
		if (e->key == 0)
			field_type(e, &type_boolean, 1);
		else
			field_type(e, &type_integer, 32);
		return 0;
	default:
		return check_error(ev, e->loc, "unexpected expression");
	}
}
