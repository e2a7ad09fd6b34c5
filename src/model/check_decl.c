/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_decl: declarations of chains, sets, maps, objects and flowtables.
 *
 * What a family's hooks and chain types are comes from the kernel; a device need not exist, since
 * it may be a port of this engine that comes later. Constant cost.
 */
#include "model/check_internal.h"

enum { CONNTRACK_PRIORITY = -200, UDP = 17 };
/* As the kernel has them. */
enum { DEVICES_MAX = 256 };

#define HOOK(h) (1u << HOOK_##h)

static unsigned family_hooks(enum family f)
{
	unsigned inet =
		HOOK(PREROUTING) | HOOK(INPUT) | HOOK(FORWARD) | HOOK(OUTPUT) | HOOK(POSTROUTING);

	switch (f) {
	case FAMILY_INET:
		return inet | HOOK(INGRESS);
	case FAMILY_ARP:
		return HOOK(INPUT) | HOOK(OUTPUT);
	case FAMILY_NETDEV:
		return HOOK(INGRESS) | HOOK(EGRESS);
	default:
		return inet;
	}
}

/* The value of a priority's or policy's expression as text or number. */
static const char *word_of(struct eval *ev, const struct expr *e, size_t *len)
{
	if (e->kind != EX_SYMBOL && e->kind != EX_VALUE)
		return NULL;
	return value_text(ev, e, len);
}

static int priority_check(struct eval *ev, enum hook h, struct expr *e, int32_t offset,
			  int32_t *out, struct loc loc, const char *where)
{
	size_t len;
	const char *text;
	int64_t v = 0;
	int32_t named;

	if (!e)
		return 0;
	text = word_of(ev, e, &len);
	if (!text)
		return check_error(ev, e->loc, "invalid priority expression %s%s.",
				   expr_kind_name(e), where);
	if (priority_by_name(ev->c->family, h, text, len, &named)) {
		v = named;
	} else {
		bool negative = len && text[0] == '-';
		uint8_t n[8];

		if (number_parse(text + negative, len - negative, n, 64) < 0 ||
		    be64_load(n) > INT32_MAX)
			return check_error(ev, loc, "invalid priority expression value%s.", where);
		v = negative ? -(int64_t)be64_load(n) : (int64_t)be64_load(n);
	}
	v += offset;
	if (v < INT32_MIN || v > INT32_MAX)
		return check_error(ev, loc, "invalid priority expression value%s.", where);
	*out = (int32_t)v;
	return 0;
}

static int policy_check(struct eval *ev, struct chain_decl *d)
{
	size_t len;
	const char *text;

	if (!d->policy_expr)
		return 0;
	text = word_of(ev, d->policy_expr, &len);
	if (text && len == 6 && !memcmp(text, "accept", 6))
		d->policy = VERDICT_ACCEPT;
	else if (text && len == 4 && !memcmp(text, "drop", 4))
		d->policy = VERDICT_DROP;
	else
		return check_error(ev, d->policy_expr->loc, "wrong policy");
	return 0;
}

static int devices_check(struct eval *ev, struct expr_list *l, struct loc loc)
{
	if (l->n > DEVICES_MAX)
		return kernel_error(ev, loc, "File too large");
	for (uint32_t i = 0; i < l->n; i++) {
		struct expr *e = l->items[i];
		struct set_type want = type_single(&type_ifname, IFNAME_MAX * 8);
		int err = expr_check_as(ev, &l->items[i], &want, 0);

		if (err)
			return err;
		for (uint32_t j = 0; j < i; j++)
			if (expr_equal(l->items[j], l->items[i]))
				return kernel_error(ev, e->loc.src ? e->loc : loc, "File exists");
	}
	return 0;
}

static int type_allowed(struct eval *ev, const struct chain_decl *d, struct loc loc)
{
	const enum family f = ev->c->family;
	bool routed = f == FAMILY_IP || f == FAMILY_IP6 || f == FAMILY_INET;

	if (d->type != CHAIN_FILTER && !routed)
		return kernel_error(ev, loc, "No such file or directory");
	if (d->type == CHAIN_ROUTE && d->hook != HOOK_OUTPUT)
		return kernel_error(ev, loc, "Operation not supported");
	if (d->type == CHAIN_NAT && (d->hook == HOOK_FORWARD || d->hook == HOOK_INGRESS ||
				     d->priority <= CONNTRACK_PRIORITY))
		return kernel_error(ev, loc, "Operation not supported");
	return 0;
}

static int chain_check(struct eval *ev, struct chain_decl *d, struct loc loc)
{
	const enum family f = ev->c->family;
	int err = policy_check(ev, d);

	if (err)
		return err;
	if (!d->base)
		return devices_check(ev, &d->devices, loc);
	if (!(family_hooks(f) >> d->hook & 1)) {
		if (f == FAMILY_ARP && d->hook != HOOK_INGRESS && d->hook != HOOK_EGRESS)
			return kernel_error(ev, loc, "Operation not supported");
		return check_error(ev, d->hook_loc, "The %s family does not support this hook",
				   family_name(f));
	}
	err = priority_check(ev, d->hook, d->priority_expr, d->priority_offset, &d->priority,
			     d->priority_loc, " in this context");
	if (!err)
		err = devices_check(ev, &d->devices, loc);
	if (err)
		return err;
	if (d->devices.n && d->hook != HOOK_INGRESS && d->hook != HOOK_EGRESS)
		return check_error(ev, d->devices_loc, "This chain type cannot be bound to device");
	if (d->offload && f != FAMILY_NETDEV)
		return kernel_error(ev, loc, "Operation not supported");
	return type_allowed(ev, d, loc);
}

/* --- Sets ----------------------------------------------------------------------------------- */

static int typeof_check(struct eval *ev, struct set_type *t)
{
	int err;

	if (!t->of)
		return 0;
	err = expr_check_as(ev, &t->of, NULL, 0);
	if (err)
		return err;

	struct set_type found;

	expr_type(t->of, &found);
	found.of = t->of;
	found.interval = t->interval;
	*t = found;
	for (unsigned i = 0; i < t->n; i++)
		if (!t->fields[i] || t->fields[i] == &type_verdict)
			return check_error(ev, t->of->loc, "expression has no type for a set");
	return 0;
}

static int qualified(struct eval *ev, const struct set_type *t, struct loc loc, const char *what,
		     bool key)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (t->fields[i] == &type_verdict ? key || t->n > 1 : !t->bits[i])
			return check_error(ev, loc,
					   "unqualified type %s specified in %s definition. Try "
					   "\"typeof expression\" instead of \"type datatype\".",
					   t->fields[i]->name, what);
	}
	return 0;
}

static int stmts_check(struct eval *ev, struct stmt *s)
{
	int err = 0;

	for (; s && !err; s = s->next)
		err = stateful_check(ev, s);
	return err;
}

static int set_check(struct eval *ev, struct set_decl *d, struct loc loc)
{
	bool map = d->flags & (SETF_MAP | SETF_OBJECT);
	const char *what = map ? "map" : "set";
	unsigned stmts = 0;
	int err = typeof_check(ev, &d->key);

	if (!err)
		err = typeof_check(ev, &d->data);
	if (err)
		return err;
	if (!d->key.n)
		return check_error(ev, d->loc, "%s definition does not specify key", what);
	err = qualified(ev, &d->key, d->loc, what, true);
	if (!err && map && !(d->flags & SETF_OBJECT)) {
		if (!d->data.n)
			return check_error(ev, d->loc,
					   "map definition does not specify mapping data type");
		err = qualified(ev, &d->data, d->loc, what, false);
	}
	if (err)
		return err;
	if (key_len(&d->key) > VALUE_MAX || key_len(&d->data) > VALUE_MAX)
		return check_error(ev, d->type_loc, "keys of more than %d bytes", VALUE_MAX);
	if (d->key.n > 1)
		d->flags |= SETF_CONCAT;
	if (d->auto_merge && !(d->flags & SETF_INTERVAL))
		return check_error(ev, d->loc, "auto-merge only works with interval sets");
	if (d->timeout)
		d->flags |= SETF_TIMEOUT;
	if (d->gc_interval && !(d->flags & SETF_TIMEOUT))
		return kernel_error(ev, loc, "Invalid argument");
	if ((d->flags & SETF_DYNAMIC) && (d->flags & SETF_INTERVAL))
		return kernel_error(ev, loc, "Operation not supported");
	for (const struct stmt *s = d->stmts; s; s = s->next)
		if (++stmts > SET_STMTS_MAX)
			return kernel_error(ev, loc, "Argument list too long");
	return stmts_check(ev, d->stmts);
}

/* --- Objects -------------------------------------------------------------------------------- */

static bool timeout_state_known(unsigned l4proto, const char *state)
{
	static const char *const tcp[] = {
		"syn_sent",  "syn_recv", "established", "fin_wait", "close_wait", "last_ack",
		"time_wait", "close",	 "syn_sent2",	"retrans",  "unack",	  NULL,
	};
	static const char *const udp[] = {"unreplied", "replied", NULL};

	for (const char *const *s = l4proto == UDP ? udp : tcp; *s; s++)
		if (!strcmp(*s, state))
			return true;
	return false;
}

static bool helper_known(const char *type, unsigned l4proto)
{
	static const struct {
		const char *name;
		bool tcp, udp;
	} helpers[] = {
		{"ftp", true, false},	     {"tftp", false, true},   {"irc", true, false},
		{"sip", true, true},	     {"sane", true, false},   {"pptp", true, false},
		{"h323", true, true},	     {"RAS", false, true},    {"Q.931", true, false},
		{"H.245", true, false},	     {"amanda", false, true}, {"snmp", false, true},
		{"netbios-ns", false, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (!strcmp(helpers[i].name, type))
			return l4proto == UDP ? helpers[i].udp : helpers[i].tcp;
	return false;
}

/* A network protocol that the table cannot see. */
static bool l3proto_conflict(const struct eval *ev, unsigned l3proto)
{
	const enum family f = ev->c->family;

	return l3proto && (f == FAMILY_IP || f == FAMILY_IP6) && l3proto != (unsigned)f;
}

static int object_check(struct eval *ev, struct obj_decl *d, struct loc loc)
{
	const uint8_t family = (uint8_t)ev->c->family;

	switch (d->kind) {
	case OBJ_QUOTA:
		if (d->quota.used > d->quota.bytes)
			return kernel_error(ev, loc, "Invalid argument");
		return 0;
	case OBJ_LIMIT: {
		struct stmt s = {.kind = ST_LIMIT, .loc = loc, .limit = d->limit};
		int err = stateful_check(ev, &s);

		d->limit = s.limit;
		return err;
	}
	case OBJ_CT_HELPER:
		if (!d->helper.type || !d->helper.l4proto)
			return check_error(ev, loc, "missing options");
		if (!d->helper.l3proto)
			d->helper.l3proto = family;
		if (l3proto_conflict(ev, d->helper.l3proto))
			return kernel_error(ev, loc, "Invalid argument");
		if (!helper_known(d->helper.type, d->helper.l4proto))
			return kernel_error(ev, loc, "No such file or directory");
		return 0;
	case OBJ_CT_TIMEOUT:
		if (!d->timeout.l4proto)
			return check_error(ev, loc, "missing options");
		if (!d->timeout.l3proto)
			d->timeout.l3proto = family;
		if (l3proto_conflict(ev, d->timeout.l3proto))
			return kernel_error(ev, loc, "Invalid argument");
		for (unsigned i = 0; i < d->timeout.n; i++)
			if (!timeout_state_known(d->timeout.l4proto, d->timeout.policy[i].state))
				return check_error(ev, d->timeout.policy[i].loc,
						   "invalid state for this protocol");
		return 0;
	case OBJ_CT_EXPECTATION:
		if (!d->expectation.l4proto || !d->expectation.dport ||
		    !d->expectation.timeout_ms || !d->expectation.size)
			return check_error(ev, d->options_loc, "missing options");
		if (!d->expectation.l3proto)
			d->expectation.l3proto = family;
		if (l3proto_conflict(ev, d->expectation.l3proto))
			return kernel_error(ev, loc, "Invalid argument");
		return 0;
	case OBJ_TUNNEL: {
		struct expr **ends[] = {&d->tunnel.src, &d->tunnel.dst};

		for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
			struct expr *e = *ends[i];
			bool v6 = e && e->kind == EX_SYMBOL &&
				  memchr(e->symbol.text, ':', e->symbol.len);
			struct set_type want = v6 ? type_single(&type_ipv6_addr, 128)
						  : type_single(&type_ipv4_addr, 32);
			int err = e ? expr_check_as(ev, ends[i], &want, 0) : 0;

			if (err)
				return err;
		}
		return 0;
	}
	case OBJ_SECMARK:
		return d->secmark ? 0 : check_error(ev, loc, "missing options");
	default:
		return 0;
	}
}

static int flowtable_check(struct eval *ev, struct flowtable_decl *d, struct loc loc)
{
	const enum family f = ev->c->family;
	int err;

	if (f != FAMILY_IP && f != FAMILY_IP6 && f != FAMILY_INET)
		return kernel_error(ev, loc, "Operation not supported");
	if (d->hook != HOOK_INGRESS && d->hook != HOOK_NONE)
		return check_error(ev, loc, "invalid hook %s", hook_name(d->hook));
	err = priority_check(ev, HOOK_INGRESS, d->priority_expr, d->priority_offset, &d->priority,
			     d->priority_loc, "");
	return err ? err : devices_check(ev, &d->devices, loc);
}

/* --- Entries -------------------------------------------------------------------------------- */

/* Runs `call` with the jump point set, see check_rule.c. */
#define CHECK_ENTRY(c, call)                                                                       \
	do {                                                                                       \
		struct eval ev = {.c = (c), .a = (c)->arena};                                      \
		jmp_buf oom, *old = (c)->arena->on_oom;                                            \
		if (setjmp(oom)) {                                                                 \
			arena_on_oom((c)->arena, old);                                             \
			return -ENOMEM;                                                            \
		}                                                                                  \
		arena_on_oom((c)->arena, &oom);                                                    \
		proto_ctx_init(&ev.pctx, (c)->family);                                             \
		int err_ = (call);                                                                 \
		arena_on_oom((c)->arena, old);                                                     \
		return err_;                                                                       \
	} while (0)

int check_chain_decl(struct check *c, struct chain_decl *d, struct loc loc)
{
	CHECK_ENTRY(c, chain_check(&ev, d, loc));
}

int check_set_decl(struct check *c, struct set_decl *d, struct loc loc)
{
	CHECK_ENTRY(c, set_check(&ev, d, loc));
}

int check_object_decl(struct check *c, struct obj_decl *d, struct loc loc)
{
	CHECK_ENTRY(c, object_check(&ev, d, loc));
}

int check_flowtable_decl(struct check *c, struct flowtable_decl *d, struct loc loc)
{
	CHECK_ENTRY(c, flowtable_check(&ev, d, loc));
}
