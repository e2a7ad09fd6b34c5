/* SPDX-License-Identifier: Apache-2.0 */
/* json_in: the bodies of tables, chains, sets, maps, objects and flowtables. */
#include "lang/json_in_int.h"
#include "lang/print_int.h"

#define NAMED "family table name handle comment "

enum family json_in_family(struct json_in *in, json_t *o, bool needed)
{
	static const char *const names[] = {"ip", "ip6", "inet", "arp", "bridge", "netdev", NULL};
	static const enum family families[] = {FAMILY_IP,  FAMILY_IP6,	  FAMILY_INET,
					       FAMILY_ARP, FAMILY_BRIDGE, FAMILY_NETDEV};
	int family;

	if (needed)
		json_need(in, o, "family");
	family = json_get_word(in, o, "family", names, "family");
	return family < 0 ? FAMILY_ANY : families[family];
}

void json_in_table(struct json_in *in, json_t *o, struct table_decl *d)
{
	static const char *const flags[] = {"dormant", "owner", "persist"};

	json_members(in, o, "family name handle comment flags");
	d->comment = json_get_string(in, o, "comment");
	d->flags = json_get_flags(in, o, "flags", flags, ARRAY_SIZE(flags), "table flag");
}

static enum hook hook_of(struct json_in *in, json_t *o)
{
	static const char *const names[] = {"ingress", "prerouting",  "input",	"forward",
					    "output",  "postrouting", "egress", NULL};
	int hook = json_get_word(in, o, "hook", names, "chain hook");

	return (enum hook)(hook + 1);
}

/* A number, or a name as the text has it. */
static void priority_of(struct json_in *in, json_t *o, int32_t *priority, struct expr **expr)
{
	json_t *v = json_need(in, o, "prio");

	if (json_is_string(v)) {
		*expr = json_in_symbol(in, json_get_string(in, o, "prio"));
		return;
	}
	if (!json_is_integer(v))
		json_fail_at(in, "prio", "Expected integer, got %s", json_type_name(v));
	if (json_integer_value(v) < INT32_MIN || json_integer_value(v) > INT32_MAX)
		json_fail_at(in, "prio", "Priority out of range");
	*priority = (int32_t)json_integer_value(v);
}

static void device_item(struct json_in *in, json_t *v, void *arg)
{
	expr_list_add(in->a, arg, json_in_symbol(in, json_in_text(in, v)));
}

static void devices_of(struct json_in *in, json_t *o, struct expr_list *l)
{
	json_t *v = json_object_get(o, "dev");

	if (!v)
		return;
	json_enter(in, "dev", 0);
	json_each(in, v, device_item, l);
	json_leave(in);
}

struct chain_decl *json_in_chain(struct json_in *in, json_t *o)
{
	static const char *const types[] = {"filter", "nat", "route", NULL};
	static const char *const policies[] = {"accept", "drop", NULL};
	static const char *const flags[] = {"offload"};
	struct chain_decl *d;
	int type, policy;

	json_members(in, o, NAMED "newname type hook prio dev policy flags");
	type = json_get_word(in, o, "type", types, "chain type");
	if (type < 0 && (json_object_get(o, "hook") || json_object_get(o, "prio") ||
			 json_object_get(o, "policy")))
		json_fail(in, "Object item not found: type");
	if (type < 0 && !json_object_get(o, "comment") && !json_object_get(o, "dev"))
		return NULL;
	d = arena_new(in->a, struct chain_decl);
	d->comment = json_get_string(in, o, "comment");
	devices_of(in, o, &d->devices);
	if (type < 0)
		return d;
	d->base = true;
	d->type = (enum chain_type)type;
	json_need(in, o, "hook");
	d->hook = hook_of(in, o);
	priority_of(in, o, &d->priority, &d->priority_expr);
	policy = json_get_word(in, o, "policy", policies, "policy");
	d->has_policy = policy >= 0;
	d->policy = policy == 1 ? VERDICT_DROP : VERDICT_ACCEPT;
	d->offload = json_get_flags(in, o, "flags", flags, ARRAY_SIZE(flags), "chain flag");
	return d;
}

/* --- Sets --------------------------------------------------------------------------------- */

static void type_item(struct json_in *in, json_t *v, void *arg)
{
	const char *name = json_in_text(in, v);
	const struct datatype *type = datatype_find(name, strlen(name));
	struct set_type *t = arg;

	if (!type)
		json_fail(in, "Invalid datatype '%s'", name);
	if (t->n == CONCAT_MAX)
		json_fail(in, "Concatenation of more than %d types", CONCAT_MAX);
	t->bits[t->n] = type->bits;
	t->fields[t->n++] = type;
}

static void type_of(struct json_in *in, json_t *v, const char *key, struct set_type *t)
{
	json_enter(in, key, 0);
	if (json_is_object(v)) {
		json_members(in, v, "typeof");
		t->of = json_need_expr(in, v, "typeof");
	} else {
		json_each(in, v, type_item, t);
		if (!t->n)
			json_fail(in, "Invalid set type");
	}
	json_leave(in);
}

/* What a map leads to: a type, verdicts, or objects of a kind. */
static void data_of(struct json_in *in, json_t *v, struct set_decl *d)
{
	for (enum obj_kind k = 0; json_is_string(v) && k < OBJ_KINDS; k++) {
		if (strcmp(json_string_value(v), obj_kind_name(k)))
			continue;
		d->obj = k;
		d->flags |= SETF_OBJECT;
		return;
	}
	type_of(in, v, "map", &d->data);
}

static bool is_range(json_t *v)
{
	return json_object_get(v, "range") || json_object_get(v, "prefix");
}

static bool has_range(json_t *v)
{
	json_t *fields = json_object_get(v, "concat");

	for (size_t i = 0; i < json_array_size(fields); i++)
		if (is_range(json_array_get(fields, i)))
			return true;
	return is_range(v);
}

/* The schema does not say `interval` of a map's values: the values do. */
static bool data_is_interval(const struct json_in *in, json_t *elem)
{
	const struct json_cut *cut = json_cut_find(in, elem);

	if (cut)
		return cut->ranges;
	for (size_t i = 0; i < json_array_size(elem); i++)
		if (has_range(json_array_get(json_array_get(elem, i), 1)))
			return true;
	return false;
}

struct set_decl *json_in_set(struct json_in *in, json_t *o, bool map)
{
	static const char *const flags[] = {NULL, "constant", "interval",
					    NULL, "timeout",  "dynamic"};
	static const char *const policies[] = {"performance", "memory", NULL};
	struct set_decl *d = arena_new(in->a, struct set_decl);
	json_t *stmts;
	int policy;
	uint64_t n;

	json_members(in, o,
		     NAMED "type map policy flags elem timeout gc-interval size count auto-merge "
			   "stmt");
	d->type_loc = d->loc = in->loc;
	type_of(in, json_need(in, o, "type"), "type", &d->key);
	if (map) {
		d->flags = SETF_MAP;
		data_of(in, json_need(in, o, "map"), d);
		d->data.interval = data_is_interval(in, json_object_get(o, "elem"));
	} else if (json_object_get(o, "map")) {
		json_fail_at(in, "map", "A set leads to nothing");
	}
	_Static_assert(SETF_CONSTANT == 1 << 1 && SETF_INTERVAL == 1 << 2 &&
			       SETF_TIMEOUT == 1 << 4 && SETF_DYNAMIC == 1 << 5,
		       "the order of the names above");
	d->flags |= json_get_flags(in, o, "flags", flags, ARRAY_SIZE(flags), "set flag");
	d->comment = json_get_string(in, o, "comment");
	policy = json_get_word(in, o, "policy", policies, "set policy");
	d->has_policy = policy >= 0;
	d->policy_memory = policy == 1;
	if (json_get_number(in, o, "timeout", UINT64_MAX / 1000, &n))
		d->timeout = n * 1000;
	if (json_get_number(in, o, "gc-interval", UINT64_MAX / 1000, &n))
		d->gc_interval = n * 1000;
	if (json_get_number(in, o, "size", UINT32_MAX, &n))
		d->size = (uint32_t)n;
	d->auto_merge = json_get_bool(in, o, "auto-merge");
	stmts = json_object_get(o, "stmt");
	if (stmts) {
		json_enter(in, "stmt", 0);
		d->stmts = json_in_stmts(in, stmts);
		json_leave(in);
	}
	return d;
}

/* --- Objects ------------------------------------------------------------------------------ */

static uint8_t l4proto_of(struct json_in *in, json_t *o)
{
	const char *name = json_need_string(in, o, "protocol"), *why;
	uint8_t proto;

	if (datatype_parse(&type_inet_proto, NULL, name, strlen(name), &proto, 8, &why))
		json_fail_at(in, "protocol", "Unknown protocol '%s'", name);
	return proto;
}

static uint8_t l3proto_of(struct json_in *in, json_t *o)
{
	static const char *const names[] = {"ip", "ip6", "inet", "arp", "bridge", "netdev", NULL};
	static const enum family families[] = {FAMILY_IP,  FAMILY_IP6,	  FAMILY_INET,
					       FAMILY_ARP, FAMILY_BRIDGE, FAMILY_NETDEV};
	int family = json_get_word(in, o, "l3proto", names, "l3proto");

	return family < 0 ? 0 : (uint8_t)families[family];
}

static void timeout_add(struct json_in *in, struct obj_decl *d, const char *state, uint64_t seconds)
{
	const unsigned n = d->timeout.n;

	if (n == ARRAY_SIZE(d->timeout.policy))
		json_fail(in, "More than %u timeouts", n);
	d->timeout.policy[n].state = arena_strndup(in->a, state, strlen(state));
	d->timeout.policy[n].seconds = (uint32_t)seconds;
	d->timeout.policy[n].loc = in->loc;
	d->timeout.n++;
}

static void timeout_body(struct json_in *in, json_t *o, struct obj_decl *d)
{
	json_t *policy = json_object_get(o, "policy"), *v;
	const char *state;

	json_members(in, o, NAMED "protocol l3proto policy state value");
	d->timeout.l4proto = l4proto_of(in, o);
	d->timeout.l3proto = l3proto_of(in, o);
	if (json_object_get(o, "state"))
		timeout_add(in, d, json_need_string(in, o, "state"),
			    json_need_number(in, o, "value", UINT32_MAX));
	if (!policy)
		return;
	json_enter(in, "policy", 0);
	if (!json_is_object(policy))
		json_fail(in, "Expected object, got %s", json_type_name(policy));
	json_object_foreach(policy, state, v)
		timeout_add(in, d, state, json_need_number(in, policy, state, UINT32_MAX));
	json_leave(in);
}

static void expectation_body(struct json_in *in, json_t *o, struct obj_decl *d)
{
	json_members(in, o, NAMED "protocol l3proto dport timeout size");
	d->expectation.l4proto = l4proto_of(in, o);
	d->expectation.l3proto = l3proto_of(in, o);
	d->expectation.dport = (uint16_t)json_need_number(in, o, "dport", UINT16_MAX);
	d->expectation.timeout_ms = (uint32_t)json_need_number(in, o, "timeout", UINT32_MAX);
	d->expectation.size = (uint8_t)json_need_number(in, o, "size", UINT8_MAX);
}

static uint64_t number_of(struct json_in *in, json_t *o, const char *key, uint64_t max)
{
	uint64_t n = 0;

	json_get_number(in, o, key, max, &n);
	return n;
}

static void tunnel_option_item(struct json_in *in, json_t *v, void *arg)
{
	struct obj_decl *d = arg;
	struct tunnel_option *option = arena_new(in->a, struct tunnel_option);
	struct tunnel_option **last = &d->tunnel.options;

	json_members(in, v, "class opt-type data");
	option->class = (uint16_t)json_need_number(in, v, "class", UINT16_MAX);
	option->type = (uint8_t)json_need_number(in, v, "opt-type", UINT8_MAX);
	option->data = json_need_string(in, v, "data");
	while (*last)
		last = &(*last)->next;
	*last = option;
}

static void tunnel_kind(struct json_in *in, json_t *o, struct obj_decl *d)
{
	static const char *const kinds[] = {"vxlan", "erspan", "geneve", NULL};
	static const char *const directions[] = {"ingress", "egress", NULL};
	int kind = json_get_word(in, o, "type", kinds, "tunnel type");
	json_t *v;

	if (kind < 0)
		return;
	d->tunnel.kind = (enum tunnel_kind)(kind + 1);
	v = json_need(in, o, "tunnel");
	json_enter(in, "tunnel", 0);
	if (d->tunnel.kind == TUNNEL_GENEVE) {
		if (json_array_size(v) > GENEVE_OPTIONS_MAX)
			json_fail(in, "too many options, at most %d", GENEVE_OPTIONS_MAX);
		json_each(in, v, tunnel_option_item, d);
	} else if (d->tunnel.kind == TUNNEL_VXLAN) {
		json_members(in, v, "gbp");
		d->tunnel.gbp = (uint32_t)json_need_number(in, v, "gbp", UINT32_MAX);
	} else {
		json_members(in, v, "version index direction hwid");
		d->tunnel.version = (uint8_t)json_need_number(in, v, "version", 2);
		d->tunnel.index = (uint32_t)number_of(
			in, v, d->tunnel.version == 1 ? "index" : "hwid", UINT32_MAX);
		d->tunnel.direction =
			json_get_word(in, v, "direction", directions, "direction") == 1;
	}
	json_leave(in);
}

static struct expr *address_of(struct json_in *in, json_t *o, const char *key, const char *key6)
{
	struct expr *e = json_get_expr(in, o, key);

	return e ? e : json_get_expr(in, o, key6);
}

static void tunnel_body(struct json_in *in, json_t *o, struct obj_decl *d)
{
	json_members(in, o,
		     NAMED
		     "id src-ipv4 src-ipv6 dst-ipv4 dst-ipv6 sport dport ttl tos type tunnel");
	d->tunnel.id = (uint32_t)json_need_number(in, o, "id", UINT32_MAX);
	d->tunnel.src = address_of(in, o, "src-ipv4", "src-ipv6");
	d->tunnel.dst = address_of(in, o, "dst-ipv4", "dst-ipv6");
	d->tunnel.sport = (uint16_t)number_of(in, o, "sport", UINT16_MAX);
	d->tunnel.dport = (uint16_t)number_of(in, o, "dport", UINT16_MAX);
	d->tunnel.ttl = (uint8_t)number_of(in, o, "ttl", UINT8_MAX);
	d->tunnel.tos = (uint8_t)number_of(in, o, "tos", UINT8_MAX);
	tunnel_kind(in, o, d);
}

struct obj_decl *json_in_object(struct json_in *in, json_t *o, enum obj_kind kind)
{
	struct obj_decl *d = arena_new(in->a, struct obj_decl);

	d->kind = kind;
	d->comment = json_get_string(in, o, "comment");
	switch (kind) {
	case OBJ_COUNTER:
		json_members(in, o, NAMED "packets bytes");
		d->counter.packets = number_of(in, o, "packets", INT64_MAX);
		d->counter.bytes = number_of(in, o, "bytes", INT64_MAX);
		break;
	case OBJ_QUOTA:
		json_members(in, o, NAMED "bytes used inv");
		d->quota.bytes = number_of(in, o, "bytes", INT64_MAX);
		d->quota.used = number_of(in, o, "used", INT64_MAX);
		d->quota.over = json_get_bool(in, o, "inv");
		break;
	case OBJ_LIMIT:
		json_members(in, o, NAMED "rate per burst unit rate_unit burst_unit inv");
		json_in_limit(in, o, &d->limit);
		break;
	case OBJ_CT_HELPER:
		json_members(in, o, NAMED "type protocol l3proto");
		d->helper.type = json_need_string(in, o, "type");
		d->helper.l4proto = l4proto_of(in, o);
		d->helper.l3proto = l3proto_of(in, o);
		break;
	case OBJ_CT_TIMEOUT:
		timeout_body(in, o, d);
		break;
	case OBJ_CT_EXPECTATION:
		expectation_body(in, o, d);
		break;
	case OBJ_SECMARK:
		json_members(in, o, NAMED "context");
		d->secmark = json_need_string(in, o, "context");
		break;
	case OBJ_SYNPROXY:
		json_members(in, o, NAMED "mss wscale flags");
		json_in_synproxy(in, o, &d->synproxy);
		break;
	case OBJ_TUNNEL:
		tunnel_body(in, o, d);
		break;
	case OBJ_KINDS:
		break;
	}
	return d;
}

struct flowtable_decl *json_in_flowtable(struct json_in *in, json_t *o)
{
	static const char *const flags[] = {"offload", "counter"};
	struct flowtable_decl *d = arena_new(in->a, struct flowtable_decl);
	unsigned set;

	json_members(in, o, NAMED "hook prio dev flags");
	if (json_object_get(o, "hook")) {
		d->hook = hook_of(in, o);
		priority_of(in, o, &d->priority, &d->priority_expr);
	}
	devices_of(in, o, &d->devices);
	set = json_get_flags(in, o, "flags", flags, ARRAY_SIZE(flags), "flowtable flag");
	d->offload = set & 1;
	d->counter = set & 2;
	return d;
}
