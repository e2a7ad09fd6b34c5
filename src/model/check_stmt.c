/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_stmt: statements other than matches and NAT.
 *
 * Values take the type of what they are given to. Numbers of limits and quotas, the places where
 * reject may stand, sets and objects that are named: all that nft or the kernel would refuse is
 * refused here, in their words. Constant cost but for sets.
 */
#include "model/check_internal.h"

enum {
	NFPROTO_4 = 2,
	NFPROTO_6 = 10,
	LOG_PREFIX_MAX = 127,
	LIMIT_BURST_DEFAULT = 5,
	TCP = 6,
	METER_SIZE_DEFAULT = 65535
};
enum { ICMP_PORT_UNREACH = 3, ICMPV6_PORT_UNREACH = 4, ICMPX_PORT_UNREACH = 1 };

const char *stmt_kind_name(const struct stmt *s)
{
	static const char *const names[ST_KINDS] = {
		[ST_COUNTER] = "counter", [ST_QUOTA] = "quota",		[ST_LIMIT] = "limit",
		[ST_LAST] = "last",	  [ST_CONNLIMIT] = "connlimit",
	};

	return names[s->kind] ? names[s->kind] : "statement";
}

static int set_argument_error(struct eval *ev, const struct expr *e)
{
	if (e->kind == EX_SET)
		return check_error(ev, e->loc, "you cannot use a set here, unknown value to use");
	if (e->kind == EX_SETREF)
		return check_error(ev, e->loc,
				   "you cannot reference a set here, unknown value to use");
	return 0;
}

int arg_check(struct eval *ev, const struct stmt *s, struct expr **ep, const struct datatype *t,
	      unsigned bits)
{
	struct set_type want = type_single(t, bits), have;
	bool assigning = ev->assigning;
	int err = set_argument_error(ev, *ep);

	if (err)
		return err;
	ev->assigning = true;
	err = expr_check_as(ev, ep, &want, 0);
	ev->assigning = assigning;
	if (err)
		return err;

	struct expr *e = *ep;

	if (e->kind == EX_LIST) {
		list_fold(ev, ep);
		return 0;
	}
	if (e->kind == EX_VERDICT)
		return check_error2(ev, e->loc, s->loc,
				    "datatype mismatch: expected %s, expression has type %s",
				    t->desc, type_verdict.desc);
	expr_type(e, &have);
	if (have.n == 1 && type_compatible(&have, &want))
		return 0;
	if (have.n == 1 && have.fields[0] &&
	    (type_integer_like(have.fields[0], t) ||
	     (type_basis(have.fields[0]) == TBASE_INTEGER && t == &type_mark)) &&
	    have.bits[0] <= bits)
		return 0;
	if (have.n == 1 && have.fields[0] == t)
		return 0;
	return check_error2(ev, e->loc, s->loc,
			    "datatype mismatch: expected %s, expression has type %s", t->desc,
			    type_desc(ev, &have));
}

/* A value that is assigned: no ranges either. */
static int assigned_check(struct eval *ev, const struct stmt *s, struct expr **ep,
			  const struct datatype *t, unsigned bits)
{
	int err = arg_check(ev, s, ep, t, bits);

	if (err)
		return err;
	if ((*ep)->kind == EX_RANGE || (*ep)->kind == EX_PREFIX)
		return check_error(ev, (*ep)->loc, "cannot assign a %s", expr_kind_name(*ep));
	if ((*ep)->kind == EX_VALUE && ((*ep)->flags & EXF_WILDCARD))
		return check_error(ev, (*ep)->loc, "cannot assign a wildcard");
	return 0;
}

int stateful_check(struct eval *ev, struct stmt *s)
{
	switch (s->kind) {
	case ST_COUNTER:
	case ST_QUOTA:
	case ST_LAST:
	case ST_CONNLIMIT:
		return 0;
	case ST_LIMIT:
		if (!s->limit.rate || !s->limit.unit)
			return kernel_error(ev, s->loc, "Invalid argument");
		if (s->limit.bytes)
			return 0;
		if (s->limit.has_burst && !s->limit.burst)
			return check_error(ev, s->loc, "packet limit burst must be > 0");
		if (!s->limit.has_burst) {
			s->limit.burst = LIMIT_BURST_DEFAULT;
			s->limit.has_burst = true;
		}
		return 0;
	default:
		return check_error(ev, s->loc, "not a statement for elements");
	}
}

static int objref_check(struct eval *ev, struct stmt *s)
{
	struct expr *n = s->objref.name;
	size_t len;
	const char *text;
	int err;

	if (n->kind == EX_MAP) {
		ev->objects = true;
		ev->obj = s->objref.kind;
		err = expr_check_as(ev, &s->objref.name, NULL, 0);
		ev->objects = false;
		return err;
	}
	if (n->kind != EX_SYMBOL && n->kind != EX_VALUE)
		return check_error(ev, n->loc, "object reference must be a name");
	text = value_text(ev, n, &len);
	text = arena_strndup(ev->a, text, len);
	n->kind = EX_SYMBOL;
	n->flags = EXF_STRING;
	n->symbol.text = text;
	n->symbol.len = (uint32_t)len;
	n->type = &type_string;
	if (!ev->c->table)
		return 0;
	s->objref.object = model_object_find(ev->c->table, s->objref.kind, text);
	return s->objref.object ? 0 : object_missing(ev, n->loc, s->objref.kind, text);
}

static int log_check(struct eval *ev, struct stmt *s)
{
	if (s->log.prefix && strlen(s->log.prefix) > LOG_PREFIX_MAX)
		return check_error(ev, keyword_loc(ev, s->loc), "log prefix is too long");
	if (s->log.has_group && s->log.level != LOG_LEVEL_NONE)
		return check_error(ev, keyword_loc(ev, s->loc),
				   "level and group are mutually exclusive");
	if (s->log.level == LOG_LEVEL_AUDIT && (s->log.prefix || s->log.flags))
		return check_error(ev, keyword_loc(ev, s->loc),
				   "log level audit doesn't support any further options");
	if (s->log.has_group && s->log.flags)
		return check_error(ev, keyword_loc(ev, s->loc),
				   "flags and group are mutually exclusive");
	if (!s->log.has_group && (s->log.has_snaplen || s->log.has_qthreshold))
		return check_error(ev, keyword_loc(ev, s->loc),
				   "log group is needed for snaplen and queue-threshold");
	return 0;
}

/* --- reject --------------------------------------------------------------------------------- */

static int reject_conflict(struct eval *ev, const struct stmt *s, const char *a, const char *b)
{
	return check_error2(ev, s->reject.code ? s->reject.code->loc : s->loc,
			    ev->pctx.loc[PB_NH].src ? ev->pctx.loc[PB_NH] : s->loc,
			    "conflicting protocols specified: %s vs %s", a, b);
}

static int reject_code(struct eval *ev, struct stmt *s)
{
	const struct datatype *t = s->reject.type == REJECT_ICMP     ? &type_icmp_code
				   : s->reject.type == REJECT_ICMPV6 ? &type_icmpv6_code
								     : &type_icmpx_code;
	struct set_type want = type_single(t, 8);
	int err;

	if (!s->reject.code)
		return 0;
	err = expr_check_as(ev, &s->reject.code, &want, 0);
	if (!err && s->reject.code->kind != EX_VALUE)
		err = check_error(ev, s->reject.code->loc, "reject needs a plain code");
	return err;
}

static void reject_set(struct eval *ev, struct stmt *s, enum reject_type type, uint64_t code)
{
	const struct datatype *t = type == REJECT_ICMP	   ? &type_icmp_code
				   : type == REJECT_ICMPV6 ? &type_icmpv6_code
							   : &type_icmpx_code;

	s->reject.type = type;
	s->reject.code = expr_number(ev->a, s->loc, t, code, 8);
}

/* In ip and ip6 tables; the default code becomes NULL. */
static int reject_plain(struct eval *ev, struct stmt *s)
{
	bool v4 = ev->c->family == FAMILY_IP;

	if (s->reject.type == REJECT_ICMPX)
		return check_error2(ev, s->reject.code ? s->reject.code->loc : s->loc, s->loc,
				    "abstracted ICMP unreachable not supported");
	if (s->reject.type == REJECT_ICMP && !v4)
		return reject_conflict(ev, s, "ip", "ip6");
	if (s->reject.type == REJECT_ICMPV6 && v4)
		return reject_conflict(ev, s, "ip", "ip6");
	s->reject.type = v4 ? REJECT_ICMP : REJECT_ICMPV6;
	if (s->reject.code &&
	    expr_u64(s->reject.code) == (v4 ? ICMP_PORT_UNREACH : ICMPV6_PORT_UNREACH))
		s->reject.code = NULL;
	return 0;
}

/* In inet, bridge and netdev tables, where a packet may be of either family. */
static int reject_mixed(struct eval *ev, struct stmt *s)
{
	const struct proto_header *net = ev->pctx.at[PB_NH], *h;
	enum family f = ev->c->family;

	if (s->reject.type == REJECT_DEFAULT && net == &proto_ip)
		s->reject.type = REJECT_ICMP;
	else if (s->reject.type == REJECT_DEFAULT && net == &proto_ip6)
		s->reject.type = REJECT_ICMPV6;
	else if (s->reject.type == REJECT_DEFAULT)
		s->reject.type = REJECT_ICMPX;
	if (!s->reject.code)
		reject_set(ev, s, s->reject.type,
			   s->reject.type == REJECT_ICMP     ? ICMP_PORT_UNREACH
			   : s->reject.type == REJECT_ICMPV6 ? ICMPV6_PORT_UNREACH
							     : ICMPX_PORT_UNREACH);
	if (s->reject.type == REJECT_ICMPX)
		return 0;
	h = s->reject.type == REJECT_ICMP ? &proto_ip : &proto_ip6;
	if (net && net != h)
		return reject_conflict(ev, s, "ip", "ip6");
	if (net)
		return 0;
	if (f == FAMILY_INET)
		return deps_meta(ev, s->loc, META_NFPROTO, h == &proto_ip ? NFPROTO_4 : NFPROTO_6,
				 true);
	return deps_meta(ev, s->loc, META_PROTOCOL, h->ethertype, true);
}

static struct loc th_loc(const struct eval *ev, struct loc loc)
{
	return ev->pctx.loc[PB_TH].src ? ev->pctx.loc[PB_TH] : loc;
}

static int reject_check(struct eval *ev, struct stmt *s)
{
	const enum family f = ev->c->family;
	unsigned hooks = 1u << HOOK_INPUT | 1u << HOOK_PREROUTING;
	int err;

	s->loc = keyword_loc(ev, s->loc);
	err = reject_code(ev, s);
	if (err)
		return err;
	if (s->reject.type == REJECT_TCP_RST) {
		const struct proto_header *th = ev->pctx.at[PB_TH];

		if (th && th != &proto_tcp)
			return check_error2(ev, s->loc, th_loc(ev, s->loc),
					    "you cannot use tcp reset with this protocol");
		if (!th)
			deps_meta(ev, s->loc, META_L4PROTO, TCP, true);
	} else {
		if (f == FAMILY_ARP)
			return check_error(ev, s->loc, "reject is not supported in the arp family");
		err = f == FAMILY_IP || f == FAMILY_IP6 ? reject_plain(ev, s) : reject_mixed(ev, s);
		if (err)
			return err;
	}
	if (f == FAMILY_NETDEV)
		hooks = 1u << HOOK_INGRESS;
	else if (f != FAMILY_BRIDGE)
		hooks |= 1u << HOOK_FORWARD | 1u << HOOK_OUTPUT | 1u << HOOK_INGRESS;
	if (!place_allowed(ev, 1u << CHAIN_FILTER, hooks))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	return 0;
}

/* --- assignments ---------------------------------------------------------------------------- */

static int target_check(struct eval *ev, struct stmt *s)
{
	int err;

	ev->target = true;
	err = expr_check_as(ev, &s->assign.target, NULL, 0);
	ev->target = false;
	return err;
}

static int meta_set_check(struct eval *ev, struct stmt *s)
{
	struct expr *t;
	const enum family f = ev->c->family;
	int err = target_check(ev, s);

	if (err)
		return err;
	t = s->assign.target;
	err = assigned_check(ev, s, &s->assign.value, t->type, t->bits);
	if (err)
		return err;
	if (!meta_keys[t->key].writable)
		return kernel_error(ev, s->loc, "Operation not supported");
	if (t->key == META_PKTTYPE &&
	    !hook_allowed(ev, f == FAMILY_NETDEV ? 1u << HOOK_INGRESS : 1u << HOOK_PREROUTING))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	if (t->key == META_BROUTE &&
	    (f != FAMILY_BRIDGE || !hook_allowed(ev, 1u << HOOK_PREROUTING)))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	return 0;
}

static int ct_set_check(struct eval *ev, struct stmt *s)
{
	struct expr *t;
	int err = target_check(ev, s);

	if (err)
		return err;
	t = s->assign.target;
	if (!ct_keys[t->ct.key].writable)
		return kernel_error(ev, s->loc, "Operation not supported");
	if (t->ct.key == CT_HELPER || t->ct.key == CT_TIMEOUT || t->ct.key == CT_EXPECTATION) {
		struct expr *value = s->assign.value;
		enum obj_kind kind = t->ct.key == CT_HELPER    ? OBJ_CT_HELPER
				     : t->ct.key == CT_TIMEOUT ? OBJ_CT_TIMEOUT
							       : OBJ_CT_EXPECTATION;

		s->kind = ST_OBJREF;
		s->objref.kind = kind;
		s->objref.name = value;
		s->objref.object = NULL;
		return objref_check(ev, s);
	}
	return assigned_check(ev, s, &s->assign.value, t->type, t->bits);
}

static int payload_set_check(struct eval *ev, struct stmt *s)
{
	struct expr *t;
	int err = target_check(ev, s);

	if (err)
		return err;
	t = s->assign.target;
	if (t->kind != EX_PAYLOAD && t->kind != EX_RAW && t->kind != EX_OPTION)
		return check_error(ev, t->loc, "%s cannot be set", expr_kind_name(t));
	if ((t->kind == EX_PAYLOAD && t->payload.tunnel) || (t->kind == EX_RAW && t->raw.tunnel))
		return check_error(ev, t->loc,
				   "payload statement for this expression is not supported");
	if (t->kind == EX_OPTION && t->option.existence)
		return kernel_error(ev, t->loc, "Operation not supported");
	return assigned_check(ev, s, &s->assign.value, t->type, t->bits);
}

static int option_reset_check(struct eval *ev, struct stmt *s)
{
	int err = expr_check_as(ev, &s->assign.target, NULL, 0);

	if (err)
		return err;
	if (s->assign.target->kind != EX_OPTION || s->assign.target->option.class != OPT_TCP)
		return check_error(ev, s->assign.target->loc, "only tcp options can be reset");
	return 0;
}

/* --- sets from the packet path --------------------------------------------------------------- */

static int set_key_check(struct eval *ev, const struct stmt *s, struct expr **ep,
			 const struct set_type *want)
{
	struct set_type have;
	int err = expr_check_as(ev, ep, want, 0);

	if (err)
		return err;
	expr_type(*ep, &have);
	if ((*ep)->kind == EX_SET || (*ep)->kind == EX_SETREF || (*ep)->kind == EX_LIST ||
	    (*ep)->kind == EX_RANGE || (*ep)->kind == EX_PREFIX)
		return check_error(ev, (*ep)->loc, "cannot use %s as a set key",
				   expr_kind_name(*ep));
	if (!type_compatible(&have, want))
		return check_error2(ev, (*ep)->loc, s->loc,
				    "datatype mismatch: expected %s, expression has type %s",
				    type_desc(ev, want), type_desc(ev, &have));
	return 0;
}

/* Statements of elements that a rule makes. */
static int elem_stmts(struct eval *ev, struct loc loc, struct elem_expr *el)
{
	unsigned n = 0;

	for (struct stmt *i = el->stmts; i; i = i->next) {
		int err = stateful_check(ev, i);

		if (err)
			return err;
		n++;
	}
	return n > SET_STMTS_MAX ? kernel_error(ev, loc, "Argument list too long") : 0;
}

/* A set with statements takes the same kinds of them, in their order. */
static int same_stmts(struct eval *ev, struct loc loc, const struct stmt *has,
		      const struct stmt *want)
{
	for (; has && want; has = has->next, want = want->next)
		if (has->kind != want->kind)
			return kernel_error(ev, loc, "Operation not supported");
	if (has)
		return kernel_error(ev, loc, "Invalid argument");
	return want ? kernel_error(ev, loc, "Operation not supported") : 0;
}

static int set_check(struct eval *ev, struct stmt *s)
{
	struct elem_expr *el = s->set.elem;
	const struct set_decl *d;
	struct model_set *set;
	int err;

	if (s->set.set->kind != EX_SETREF)
		return check_error(ev, s->set.set->loc, "Expression does not refer to a set");
	set = set_lookup_name(ev, s->set.set);
	if (!set)
		return -EINVAL;
	d = &set->decl;
	s->set.set->type = d->key.fields[0];
	s->set.set->bits = type_bits(&d->key);
	err = set_key_check(ev, s, &el->key, &d->key);
	if (err)
		return err;
	if (el->data) {
		if (!(d->flags & SETF_MAP))
			return check_error(ev, el->key->loc, "set is not a map");
		if (d->data.n == 1 && d->data.fields[0] == &type_verdict)
			return check_error(ev, el->data->loc,
					   "verdicts cannot be added to maps here");
		ev->assigning = true;
		err = d->data.n == 1
			      ? assigned_check(ev, s, &el->data, d->data.fields[0], d->data.bits[0])
			      : set_key_check(ev, s, &el->data, &d->data);
		ev->assigning = false;
		if (err)
			return err;
	} else if (d->flags & (SETF_MAP | SETF_OBJECT) && s->set.op != SETOP_DELETE) {
		return kernel_error(ev, s->loc, "Invalid argument");
	}
	if (el->has_timeout && !(d->flags & SETF_TIMEOUT))
		return kernel_error(ev, s->loc, "Operation not supported");
	if (d->flags & SETF_CONSTANT)
		return kernel_error(ev, s->loc, "Device or resource busy");
	if (d->flags & SETF_INTERVAL && set->foreign)
		return check_error(ev, s->set.set->loc,
				   "set '%s' is one of ipset's that holds networks or ranges, "
				   "which rules cannot write to",
				   set->name);
	if (d->flags & SETF_INTERVAL)
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	if (el->comment)
		return check_error(ev, el->key->loc, "Key expression comments are not supported");
	s->set.stmts_hidden = d->stmts;
	err = elem_stmts(ev, s->loc, el);
	return !err && el->stmts && d->stmts ? same_stmts(ev, s->loc, el->stmts, d->stmts) : err;
}

static int meter_check(struct eval *ev, struct stmt *s)
{
	int err;

	if (!s->meter.name)
		return check_error(ev, s->loc, "a meter needs a name");
	err = expr_check_as(ev, &s->meter.elem->key, NULL, 0);
	if (err)
		return err;
	if (!s->meter.size)
		s->meter.size = METER_SIZE_DEFAULT;
	if (expr_is_constant(s->meter.elem->key))
		return check_error(ev, s->meter.elem->key->loc, "a meter's key cannot be constant");
	return elem_stmts(ev, s->loc, s->meter.elem);
}

/* --- the rest -------------------------------------------------------------------------------- */

static int queue_check(struct eval *ev, struct stmt *s)
{
	struct set_type want = type_single(&type_integer, 16);
	struct expr *e;
	int err;

	if (!s->queue.num)
		s->queue.num = expr_number(ev->a, s->loc, &type_integer, 0, 16);
	err = expr_check_as(ev, &s->queue.num, &want, UINT16_MAX);
	if (err)
		return err;
	e = s->queue.num;
	if (e->kind != EX_VALUE && e->kind != EX_RANGE && e->kind != EX_MAP &&
	    e->kind != EX_NUMGEN && e->kind != EX_HASH)
		return check_error(ev, e->loc,
				   "queue number is not an integer, range, map or hash");
	if ((s->queue.flags & QUEUEF_FANOUT) && e->kind != EX_RANGE)
		return check_error(ev, e->loc, "fanout requires a range to be specified");
	if (ev->c->family == FAMILY_ARP || ev->c->family == FAMILY_NETDEV)
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	return 0;
}

static int device_check(struct eval *ev, struct stmt *s, struct expr **ep)
{
	int err = arg_check(ev, s, ep, &type_iface_index, 32);

	if (!err && (*ep)->kind != EX_VALUE && (*ep)->kind != EX_MAP && (*ep)->kind != EX_META &&
	    (*ep)->kind != EX_NUMGEN && (*ep)->kind != EX_HASH)
		return check_error(ev, (*ep)->loc, "unsupported expression");
	return err;
}

static int dup_check(struct eval *ev, struct stmt *s)
{
	int err;

	switch (ev->c->family) {
	case FAMILY_IP:
	case FAMILY_IP6:
		if (!s->dup.to)
			return check_error(ev, s->loc, "missing destination address");
		err = ev->c->family == FAMILY_IP
			      ? arg_check(ev, s, &s->dup.to, &type_ipv4_addr, 32)
			      : arg_check(ev, s, &s->dup.to, &type_ipv6_addr, 128);
		return err || !s->dup.dev ? err : device_check(ev, s, &s->dup.dev);
	case FAMILY_NETDEV:
		if (!s->dup.to)
			return check_error(ev, s->loc, "missing destination interface");
		if (s->dup.dev)
			return check_error(ev, s->dup.dev->loc, "cannot specify device");
		return device_check(ev, s, &s->dup.to);
	default:
		return check_error(ev, s->loc, "unsupported family");
	}
}

static int fwd_check(struct eval *ev, struct stmt *s)
{
	int err;

	if (ev->c->family != FAMILY_NETDEV)
		return check_error(ev, s->loc, "unsupported family");
	if (!s->dup.nfproto) {
		struct expr **dev = s->dup.to ? &s->dup.to : &s->dup.dev;

		if (!*dev)
			return check_error(ev, s->loc, "missing destination interface");
		return device_check(ev, s, dev);
	}
	if (!s->dup.to || !s->dup.dev)
		return check_error(ev, s->loc, "missing destination address or interface");
	err = s->dup.nfproto == NFPROTO_4 ? arg_check(ev, s, &s->dup.to, &type_ipv4_addr, 32)
					  : arg_check(ev, s, &s->dup.to, &type_ipv6_addr, 128);
	return err ? err : device_check(ev, s, &s->dup.dev);
}

static int flow_check(struct eval *ev, struct stmt *s)
{
	if (ev->c->table && !model_flowtable_find(ev->c->table, s->name))
		return kernel_error(ev, s->loc, "No such file or directory");
	if (!hook_allowed(ev, 1u << HOOK_FORWARD))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	return 0;
}

static int synproxy_check(struct eval *ev, struct stmt *s)
{
	const enum family f = ev->c->family;

	if ((f != FAMILY_IP && f != FAMILY_IP6 && f != FAMILY_INET) ||
	    !hook_allowed(ev, 1u << HOOK_INPUT | 1u << HOOK_FORWARD))
		return kernel_error(ev, rule_loc(ev), "Operation not supported");
	return 0;
}

static int verdict_stmt_check(struct eval *ev, struct stmt *s)
{
	if (s->expr->kind == EX_VERDICT)
		return verdict_check(ev, s->expr);
	if (s->expr->kind != EX_MAP)
		return check_error(ev, s->expr->loc, "not a verdict");
	s->expr->map.vmap = true;
	return expr_check_as(ev, &s->expr, NULL, 0);
}

int stmt_check(struct eval *ev, struct stmt *s)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
		return match_check(ev, s);
	case ST_VERDICT:
		return verdict_stmt_check(ev, s);
	case ST_COUNTER:
	case ST_QUOTA:
	case ST_LIMIT:
	case ST_LAST:
	case ST_CONNLIMIT:
		return stateful_check(ev, s);
	case ST_OBJREF:
		return objref_check(ev, s);
	case ST_LOG:
		return log_check(ev, s);
	case ST_REJECT:
		return reject_check(ev, s);
	case ST_META_SET:
		return meta_set_check(ev, s);
	case ST_CT_SET:
		return ct_set_check(ev, s);
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
		return payload_set_check(ev, s);
	case ST_OPTION_RESET:
		return option_reset_check(ev, s);
	case ST_NAT:
		return nat_check(ev, s);
	case ST_TPROXY:
		return tproxy_check(ev, s);
	case ST_SYNPROXY:
		return synproxy_check(ev, s);
	case ST_QUEUE:
		return queue_check(ev, s);
	case ST_SET:
		return set_check(ev, s);
	case ST_METER:
		return meter_check(ev, s);
	case ST_DUP:
		return dup_check(ev, s);
	case ST_FWD:
		return fwd_check(ev, s);
	case ST_FLOW_OFFLOAD:
		return flow_check(ev, s);
	case ST_NOTRACK:
	case ST_XT:
	case ST_KINDS:
		break;
	}
	return 0;
}
