/* SPDX-License-Identifier: Apache-2.0 */
/* print: names of families, hooks, objects, keys and priorities. Constant tables; any thread. */
#include <stdio.h>
#include <stdlib.h>

#include "lang/print_int.h"

const char *family_name(enum family f)
{
	switch (f) {
	case FAMILY_IP:
		return "ip";
	case FAMILY_IP6:
		return "ip6";
	case FAMILY_INET:
		return "inet";
	case FAMILY_ARP:
		return "arp";
	case FAMILY_BRIDGE:
		return "bridge";
	case FAMILY_NETDEV:
		return "netdev";
	case FAMILY_ANY:
		break;
	}
	return "unknown";
}

const char *hook_name(enum hook h)
{
	static const char *const names[] = {
		[HOOK_NONE] = "unknown",
		[HOOK_INGRESS] = "ingress",
		[HOOK_PREROUTING] = "prerouting",
		[HOOK_INPUT] = "input",
		[HOOK_FORWARD] = "forward",
		[HOOK_OUTPUT] = "output",
		[HOOK_POSTROUTING] = "postrouting",
		[HOOK_EGRESS] = "egress",
	};
	_Static_assert(ARRAY_SIZE(names) == HOOKS, "a name for each hook");

	return names[h];
}

const char *chain_type_name(enum chain_type t)
{
	static const char *const names[] = {"filter", "nat", "route"};

	return names[t];
}

const char *obj_kind_name(enum obj_kind k)
{
	static const char *const names[] = {
		[OBJ_COUNTER] = "counter",	 [OBJ_QUOTA] = "quota",
		[OBJ_LIMIT] = "limit",		 [OBJ_CT_HELPER] = "ct helper",
		[OBJ_CT_TIMEOUT] = "ct timeout", [OBJ_CT_EXPECTATION] = "ct expectation",
		[OBJ_SECMARK] = "secmark",	 [OBJ_SYNPROXY] = "synproxy",
		[OBJ_TUNNEL] = "tunnel",
	};
	_Static_assert(ARRAY_SIZE(names) == OBJ_KINDS, "a name for each kind");

	return names[k];
}

const char *expr_op_name(enum expr_op op)
{
	switch (op) {
	case OP_EQ:
		return "==";
	case OP_NEQ:
		return "!=";
	case OP_LT:
		return "<";
	case OP_GT:
		return ">";
	case OP_LE:
		return "<=";
	case OP_GE:
		return ">=";
	case OP_NOT:
		return "!";
	case OP_AND:
		return "&";
	case OP_OR:
		return "|";
	case OP_XOR:
		return "^";
	case OP_LSHIFT:
		return "<<";
	case OP_RSHIFT:
		return ">>";
	case OP_NONE:
	case OP_IMPLICIT:
		break;
	}
	return NULL;
}

const char *verdict_name(enum verdict_code c)
{
	static const char *const names[] = {"accept", "drop", "continue", "return", "jump", "goto"};
	_Static_assert(ARRAY_SIZE(names) == VERDICT_CODES, "a name for each verdict");

	return names[c];
}

const char *proto_base_name(enum proto_base b)
{
	static const char *const names[] = {"ll", "nh", "th", "ih"};

	return names[b];
}

const char *nfproto_name(unsigned nfproto)
{
	return nfproto == 2 ? "ip" : nfproto == 10 ? "ip6" : NULL;
}

const char *ct_state_direction_name(int direction)
{
	return direction < 0 ? NULL : direction ? "reply" : "original";
}

const char *rt_key_name(unsigned key)
{
	static const char *const names[] = {"classid", "nexthop", "mtu", "ipsec"};

	return names[key];
}

const char *socket_key_name(unsigned key)
{
	static const char *const names[] = {"transparent", "mark", "wildcard", "cgroupv2"};

	return names[key];
}

const char *fib_result_name(const struct expr *e)
{
	static const char *const names[] = {"oif", "oifname", "type"};

	return e->fib.check ? "check" : names[e->fib.result];
}

const char *fib_flag_name(unsigned bit)
{
	static const char *const names[] = {"saddr", "daddr", "mark", "iif", "oif"};

	return bit < ARRAY_SIZE(names) ? names[bit] : NULL;
}

const char *xfrm_key_name(unsigned key)
{
	static const char *const names[] = {"reqid", "spi", "saddr", "daddr"};

	return names[key];
}

const char *log_level_name(int level)
{
	static const char *const names[] = {"emerg",  "alert", "crit",	"err",	"warn",
					    "notice", "info",  "debug", "audit"};

	return level >= 0 && level < (int)ARRAY_SIZE(names) ? names[level] : NULL;
}

const char *reject_type_name(enum reject_type t)
{
	static const char *const names[] = {NULL, "icmp", "icmpv6", "icmpx", "tcp reset"};

	return names[t];
}

const struct datatype *reject_code_type(enum reject_type t)
{
	switch (t) {
	case REJECT_ICMP:
		return &type_icmp_code;
	case REJECT_ICMPV6:
		return &type_icmpv6_code;
	default:
		return &type_icmpx_code;
	}
}

const char *set_op_name(enum set_op op)
{
	static const char *const names[] = {"add", "update", "delete"};

	return names[op];
}

const char *limit_unit_name(uint32_t seconds)
{
	switch (seconds) {
	case 60:
		return "minute";
	case 3600:
		return "hour";
	case 86400:
		return "day";
	case 604800:
		return "week";
	default:
		return "second";
	}
}

const char *nat_kind_name(enum nat_kind k)
{
	static const char *const names[] = {"snat", "dnat", "masquerade", "redirect"};

	return names[k];
}

const char *byte_unit(uint64_t *v)
{
	static const char *const units[] = {"bytes", "kbytes", "mbytes"};
	unsigned i = 0;

	while (i + 1 < ARRAY_SIZE(units) && *v && *v % 1024 == 0) {
		*v /= 1024;
		i++;
	}
	return units[i];
}

const char *ct_key_family(const struct expr *e)
{
	switch (e->ct.key) {
	case CT_SADDR_IP:
	case CT_DADDR_IP:
		return "ip";
	case CT_SADDR_IP6:
	case CT_DADDR_IP6:
		return "ip6";
	default:
		return nfproto_name(e->ct.nfproto);
	}
}

const char *option_name(const struct expr *e)
{
	const struct proto_option *o = e->option.option, *first;

	if (!o)
		return NULL;
	first = option_by_kind(e->option.class, o->kind);
	return first && first->fields == o->fields ? first->name : o->name;
}

const char *option_field_name(const struct expr *e, char *buf)
{
	const struct proto_field *f = e->option.field;
	const char *name = option_name(e);

	if (e->option.class != OPT_EXTHDR || f->bits != 128 || !strcmp(name, "rt2"))
		return f->name;
	snprintf(buf, FIELD_NAME_MAX, "%s[%u]", f->name, e->option.off / 128);
	return buf;
}

bool option_is_raw(const struct expr *e)
{
	return !e->option.existence && !e->option.field;
}

/* Whether values of this type are listed bit by bit. */
static bool type_is_flags(const struct datatype *t)
{
	return t && t->base == TBASE_BITMASK && (t->symbols || t == &type_ct_label);
}

unsigned value_flags(const struct expr *e)
{
	unsigned n = 0;

	if (!type_is_flags(e->type))
		return 1;
	for (unsigned i = 0; i < bits_to_bytes(e->bits); i++)
		n += (unsigned)__builtin_popcount(expr_bytes(e)[i]);
	return n;
}

bool value_next_flag(const struct expr *e, unsigned *bit, struct expr *out)
{
	const unsigned bytes = bits_to_bytes(e->bits);

	for (; *bit < e->bits; ++*bit) {
		unsigned at = bytes - 1 - *bit / 8;

		if (!(expr_bytes(e)[at] >> *bit % 8 & 1) || bytes > sizeof(out->value.in))
			continue;
		*out = *e;
		memset(&out->value, 0, sizeof(out->value));
		out->value.in[at] = (uint8_t)(1U << *bit % 8);
		++*bit;
		return true;
	}
	return false;
}

bool binop_needs_parens(enum expr_op op, const struct expr *arg)
{
	static const uint8_t precedence[] = {
		[OP_LSHIFT] = 1, [OP_RSHIFT] = 1, [OP_AND] = 2, [OP_XOR] = 3, [OP_OR] = 4};
	enum expr_op inner = OP_NONE;

	if (arg->kind == EX_BINOP)
		inner = arg->op;
	else if (arg->kind == EX_VALUE && value_flags(arg) > 1)
		inner = OP_OR;
	return inner && op < ARRAY_SIZE(precedence) && precedence[op] &&
	       precedence[op] < precedence[inner];
}

struct lang_env env_numeric(const struct lang_env *env)
{
	struct lang_env numeric = *env;

	numeric.numeric |= NUMERIC_ALL;
	return numeric;
}

bool stmt_is_listed(const struct stmt *s)
{
	return !s->implicit && !s->hidden;
}

void timeout_policy_order(const struct obj_decl *d, uint8_t *order)
{
	static const char *const states[] = {
		"unreplied", "replied",	   "syn_sent", "syn_recv",  "established",
		"fin_wait",  "close_wait", "last_ack", "time_wait", "close",
		"syn_sent2", "retrans",	   "unack",
	};
	unsigned n = 0;
	bool taken[ARRAY_SIZE(d->timeout.policy)] = {false};

	for (size_t s = 0; s < ARRAY_SIZE(states); s++)
		for (unsigned i = 0; i < d->timeout.n; i++)
			if (!taken[i] && !strcmp(d->timeout.policy[i].state, states[s])) {
				taken[i] = true;
				order[n++] = (uint8_t)i;
			}
	for (unsigned i = 0; i < d->timeout.n; i++)
		if (!taken[i])
			order[n++] = (uint8_t)i;
}

/* --- Priorities --------------------------------------------------------------------------- */

enum { PRIORITY_REACH = 10 };

struct named_priority {
	const char *name;
	int32_t priority;
	enum hook hook, hook2; /* HOOK_NONE: all */
};

static const struct named_priority inet_priorities[] = {
	{"raw", -300, HOOK_NONE, HOOK_NONE},
	{"mangle", -150, HOOK_NONE, HOOK_NONE},
	{"dstnat", -100, HOOK_PREROUTING, HOOK_OUTPUT},
	{"filter", 0, HOOK_NONE, HOOK_NONE},
	{"security", 50, HOOK_NONE, HOOK_NONE},
	{"srcnat", 100, HOOK_POSTROUTING, HOOK_INPUT},
	{NULL, 0, HOOK_NONE, HOOK_NONE},
};

static const struct named_priority bridge_priorities[] = {
	{"dstnat", -300, HOOK_PREROUTING, HOOK_PREROUTING},
	{"filter", -200, HOOK_NONE, HOOK_NONE},
	{"out", 100, HOOK_OUTPUT, HOOK_OUTPUT},
	{"srcnat", 300, HOOK_POSTROUTING, HOOK_POSTROUTING},
	{NULL, 0, HOOK_NONE, HOOK_NONE},
};

static const struct named_priority filter_priority[] = {
	{"filter", 0, HOOK_NONE, HOOK_NONE},
	{NULL, 0, HOOK_NONE, HOOK_NONE},
};

static const struct named_priority *family_priorities(enum family f)
{
	switch (f) {
	case FAMILY_BRIDGE:
		return bridge_priorities;
	case FAMILY_ARP:
	case FAMILY_NETDEV:
		return filter_priority;
	default:
		return inet_priorities;
	}
}

static bool priority_fits(const struct named_priority *p, enum hook h)
{
	return p->hook == HOOK_NONE || p->hook == h || p->hook2 == h;
}

void print_priority(enum family f, enum hook h, int32_t priority, const struct lang_env *env,
		    struct strbuf *out)
{
	const struct named_priority *p = family_priorities(f);

	for (; !(env && env->numeric & NUMERIC_PRIORITY) && p->name; p++) {
		int64_t offset = (int64_t)priority - p->priority;

		if (!priority_fits(p, h) || llabs(offset) > PRIORITY_REACH)
			continue;
		strbuf_puts(out, p->name);
		if (offset)
			strbuf_printf(out, " %c %d", offset < 0 ? '-' : '+', (int)llabs(offset));
		return;
	}
	strbuf_printf(out, "%d", (int)priority);
}

bool priority_by_name(enum family f, enum hook h, const char *name, size_t len, int32_t *out)
{
	for (const struct named_priority *p = family_priorities(f); p->name; p++) {
		if (strncmp(p->name, name, len) || p->name[len] || !priority_fits(p, h))
			continue;
		*out = p->priority;
		return true;
	}
	return false;
}
