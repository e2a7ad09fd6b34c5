/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: statements, and the bodies of sets, chains, objects and flowtables as JSON.
 *
 * Members of objects stand in the order that nft has. Cost: proportional to what is printed.
 */
#include "lang/json_out_int.h"

static json_t *names_json(unsigned flags, const char *const *names, unsigned n)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < n; i++)
		if (flags >> i & 1 && names[i])
			json_add(&array, json_string(names[i]));
	return array;
}

static json_t *counter_json(uint64_t packets, uint64_t bytes)
{
	json_t *o = json_wrap("packets", json_integer((json_int_t)packets));

	json_put(&o, "bytes", json_integer((json_int_t)bytes));
	return o;
}

static json_t *quota_json(const struct quota_spec *q, const struct lang_env *env)
{
	uint64_t bytes = q->bytes, used = q->used;
	const char *unit = byte_unit(&bytes);
	json_t *o = json_wrap("val", json_integer((json_int_t)bytes));

	json_put(&o, "val_unit", json_string(unit));
	if (used && !(env->numeric & PRINT_STATELESS)) {
		unit = byte_unit(&used);
		json_put(&o, "used", json_integer((json_int_t)used));
		json_put(&o, "used_unit", json_string(unit));
	}
	if (q->over)
		json_put(&o, "inv", json_true());
	return o;
}

static json_t *limit_json(const struct limit_spec *l)
{
	uint64_t rate = l->rate, burst = l->has_burst || l->bytes ? l->burst : 5;
	const char *rate_unit = NULL, *burst_unit = NULL;
	json_t *o;

	if (l->bytes) {
		rate_unit = byte_unit(&rate);
		burst_unit = byte_unit(&burst);
	}
	o = json_wrap("rate", json_integer((json_int_t)rate));
	json_put(&o, "burst", json_integer((json_int_t)burst));
	json_put(&o, "per", json_string(limit_unit_name(l->unit)));
	if (l->over)
		json_put(&o, "inv", json_true());
	if (l->bytes) {
		json_put(&o, "rate_unit", json_string(rate_unit));
		json_put(&o, "burst_unit", json_string(burst_unit));
	}
	return o;
}

static json_t *synproxy_json(const struct synproxy_spec *s)
{
	static const char *const names[] = {"timestamp", "sack-perm"};
	json_t *o = json_object();

	if (s->has_mss)
		json_put(&o, "mss", json_integer(s->mss));
	if (s->has_wscale)
		json_put(&o, "wscale", json_integer(s->wscale));
	if (s->timestamp || s->sack_perm)
		json_put(&o, "flags",
			 names_json((unsigned)s->timestamp | (unsigned)s->sack_perm << 1, names,
				    ARRAY_SIZE(names)));
	return o;
}

/* {} is written null, as nft does for statements without arguments. */
static json_t *object_or_null(json_t *o)
{
	if (!o || json_object_size(o))
		return o;
	json_decref(o);
	return json_null();
}

static json_t *log_json(const struct stmt *s)
{
	static const char *const names[] = {"tcp sequence", "tcp options", "ip options",
					    "skuid",	    NULL,	   "ether"};
	json_t *o = json_object();

	if (s->log.prefix)
		json_put(&o, "prefix", json_cstring(s->log.prefix));
	if (s->log.has_group)
		json_put(&o, "group", json_integer(s->log.group));
	if (s->log.has_snaplen)
		json_put(&o, "snaplen", json_integer(s->log.snaplen));
	if (s->log.has_qthreshold)
		json_put(&o, "queue-threshold", json_integer(s->log.qthreshold));
	if (log_level_name(s->log.level) && s->log.level != 4)
		json_put(&o, "level", json_string(log_level_name(s->log.level)));
	if ((s->log.flags & LOGF_ALL) == LOGF_ALL)
		json_put(&o, "flags", json_string("all"));
	else if (s->log.flags)
		json_put(&o, "flags",
			 json_one_or_list(names_json(s->log.flags, names, ARRAY_SIZE(names))));
	return object_or_null(o);
}

static json_t *reject_json(const struct stmt *s)
{
	const enum reject_type type = s->reject.type;
	const char *name;
	uint64_t code;
	json_t *o;

	if (type == REJECT_DEFAULT)
		return json_null();
	o = json_wrap("type", json_string(reject_type_name(type)));
	if (type == REJECT_TCP_RST)
		return o;
	if (s->reject.code)
		code = expr_u64(s->reject.code);
	else
		code = type == REJECT_ICMP ? 3 : type == REJECT_ICMPV6 ? 4 : 1;
	name = datatype_symbol(reject_code_type(type), code);
	json_put(&o, "expr", name ? json_string(name) : json_integer((json_int_t)code));
	return o;
}

static json_t *nat_json(const struct stmt *s, const struct lang_env *env)
{
	static const char *const names[] = {"random", "fully-random", "persistent", "netmap"};
	const char *family = nfproto_name(s->nat.nfproto);
	const unsigned mask = (1U << ARRAY_SIZE(names)) - 1;
	json_t *o = json_object();

	if (family && !s->nat.implicit_family && (s->nat.addr || s->nat.port))
		json_put(&o, "family", json_string(family));
	if (s->nat.addr)
		json_put(&o, "addr", json_expr(s->nat.addr, env));
	if (s->nat.port)
		json_put(&o, "port", json_expr(s->nat.port, env));
	if (s->nat.flags & mask)
		json_put(&o, "flags", names_json(s->nat.flags, names, ARRAY_SIZE(names)));
	if (s->nat.flags & NATF_NETMAP)
		json_put(&o, "type_flags", json_pack("[s]", "prefix"));
	return object_or_null(o);
}

static json_t *set_stmt_json(const struct stmt *s, const struct lang_env *env)
{
	const struct elem_expr *el = s->set.elem;
	json_t *o = json_wrap("op", json_string(set_op_name(s->set.op)));
	struct lang_env stateless = *env;

	stateless.numeric |= PRINT_STATELESS;

	json_put(&o, "elem", json_elem(el, false, env));
	if (el->data)
		json_put(&o, "data", json_expr(el->data, env));
	json_put(&o, el->data ? "map" : "set", json_expr(s->set.set, env));
	if (el->stmts && !s->set.stmts_hidden)
		json_put(&o, "stmt", json_stmts(el->stmts, &stateless));
	return json_wrap(el->data ? "map" : "set", o);
}

static json_t *meter_json(const struct stmt *s, const struct lang_env *env)
{
	json_t *o = json_wrap("key", json_elem(s->meter.elem, false, env));

	if (s->meter.elem->stmts)
		json_put(&o, "stmt", json_stmt(s->meter.elem->stmts, env));
	if (s->meter.size)
		json_put(&o, "size", json_integer(s->meter.size));
	json_put(&o, "name", json_cstring(s->meter.name));
	return o;
}

static json_t *queue_json(const struct stmt *s, const struct lang_env *env)
{
	static const char *const names[] = {"bypass", "fanout"};
	json_t *o = json_wrap("num", s->queue.num ? json_expr(s->queue.num, env) : json_integer(0));

	if (s->queue.flags)
		json_put(&o, "flags", names_json(s->queue.flags, names, ARRAY_SIZE(names)));
	return o;
}

static json_t *dup_json(const struct stmt *s, const struct lang_env *env)
{
	const char *family = nfproto_name(s->dup.nfproto);
	json_t *o = json_object();

	if (s->kind == ST_FWD && !s->dup.dev) {
		json_put(&o, "dev", json_expr(s->dup.to, env));
	} else if (s->kind == ST_FWD) {
		json_put(&o, "dev", json_expr(s->dup.dev, env));
		if (family)
			json_put(&o, "family", json_string(family));
		if (s->dup.to)
			json_put(&o, "addr", json_expr(s->dup.to, env));
	} else {
		if (s->dup.to)
			json_put(&o, "addr", json_expr(s->dup.to, env));
		if (s->dup.dev)
			json_put(&o, "dev", json_expr(s->dup.dev, env));
	}
	return o;
}

static json_t *mangle_json(const struct stmt *s, const struct lang_env *env)
{
	const struct expr *value = s->assign.value;
	json_t *o = json_wrap("key", json_expr(s->assign.target, env));

	if (s->kind == ST_CT_SET && value->kind == EX_VALUE)
		json_put(&o, "value", json_flags(value, env));
	else
		json_put(&o, "value", json_expr(value, env));
	return o;
}

static json_t *option_reset_json(const struct expr *target)
{
	const char *name = option_name(target);
	json_t *o = json_object();

	if (name) {
		json_put(&o, "name", json_string(name));
	} else {
		json_put(&o, "base", json_integer(target->option.kind));
		json_put(&o, "offset", json_integer(0));
		json_put(&o, "len", json_integer(0));
	}
	return json_wrap("tcp option", o);
}

json_t *json_stmt(const struct stmt *s, const struct lang_env *env)
{
	static const struct lang_env no_env;
	json_t *o;
	bool stateless;

	if (!env)
		env = &no_env;
	stateless = env->numeric & PRINT_STATELESS;
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
	case ST_VERDICT:
		return json_expr(s->expr, env);
	case ST_COUNTER:
		return json_wrap("counter",
				 stateless ? json_null()
					   : counter_json(s->counter.packets, s->counter.bytes));
	case ST_QUOTA:
		return json_wrap("quota", quota_json(&s->quota, env));
	case ST_LIMIT:
		return json_wrap("limit", limit_json(&s->limit));
	case ST_LAST:
		if (stateless || !s->last.set)
			return json_wrap("last", json_null());
		return json_wrap("last",
				 json_wrap("used", json_integer((json_int_t)s->last.used_ms)));
	case ST_CONNLIMIT:
		o = json_wrap("val", json_integer(s->connlimit.count));
		if (s->connlimit.over)
			json_put(&o, "inv", json_true());
		return json_wrap("ct count", o);
	case ST_OBJREF:
		return json_wrap(obj_kind_name(s->objref.kind), json_expr(s->objref.name, env));
	case ST_LOG:
		return json_wrap("log", log_json(s));
	case ST_REJECT:
		return json_wrap("reject", reject_json(s));
	case ST_META_SET:
	case ST_CT_SET:
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
		return json_wrap("mangle", mangle_json(s, env));
	case ST_OPTION_RESET:
		return json_wrap("reset", option_reset_json(s->assign.target));
	case ST_NAT:
		return json_wrap(nat_kind_name(s->nat.kind), nat_json(s, env));
	case ST_TPROXY:
		return json_wrap("tproxy", nat_json(s, env));
	case ST_SYNPROXY:
		return json_wrap("synproxy", object_or_null(synproxy_json(&s->synproxy)));
	case ST_NOTRACK:
		return json_wrap("notrack", json_null());
	case ST_QUEUE:
		return json_wrap("queue", queue_json(s, env));
	case ST_SET:
		return set_stmt_json(s, env);
	case ST_METER:
		return json_wrap("meter", meter_json(s, env));
	case ST_DUP:
		return json_wrap("dup", dup_json(s, env));
	case ST_FWD:
		return json_wrap("fwd", dup_json(s, env));
	case ST_FLOW_OFFLOAD: {
		struct strbuf name = STRBUF_INIT;

		strbuf_printf(&name, "@%s", s->name);
		o = json_wrap("op", json_string("add"));
		json_put(&o, "flowtable",
			 strbuf_error(&name) ? NULL : json_text(strbuf_str(&name), name.len));
		strbuf_free(&name);
		return json_wrap("flow", o);
	}
	case ST_XT:
		o = json_wrap("type", json_cstring(s->xt.type));
		json_put(&o, "name", json_cstring(s->xt.name));
		return json_wrap("xt", o);
	case ST_KINDS:
		break;
	}
	return NULL;
}

json_t *json_stmts(const struct stmt *first, const struct lang_env *env)
{
	json_t *array = json_array();

	for (const struct stmt *s = first; s; s = s->next)
		if (stmt_is_listed(s))
			json_add(&array, json_stmt(s, env));
	return array;
}

/* --- Declarations ------------------------------------------------------------------------- */

static json_t *type_json(const struct set_type *t, const struct lang_env *env)
{
	json_t *array;

	if (t->of)
		return json_wrap("typeof", json_expr(t->of, env));
	array = json_array();
	for (unsigned i = 0; i < t->n; i++)
		json_add(&array, json_string(t->fields[i]->name));
	return json_one_or_list(array);
}

json_t *json_set_head(const struct set_decl *d, const struct lang_env *env)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{SETF_CONSTANT, "constant"},
		{SETF_INTERVAL, "interval"},
		{SETF_TIMEOUT, "timeout"},
		{SETF_DYNAMIC, "dynamic"},
	};
	struct lang_env stateless = env ? *env : (struct lang_env){0};
	json_t *o = json_wrap("type", type_json(&d->key, env)), *flags = json_array();

	stateless.numeric |= PRINT_STATELESS;
	if (d->flags & SETF_OBJECT)
		json_put(&o, "map", json_string(obj_kind_name(d->obj)));
	else if (d->data.n || d->data.of)
		json_put(&o, "map", type_json(&d->data, env));
	if (d->comment)
		json_put(&o, "comment", json_cstring(d->comment));
	if (d->policy_memory)
		json_put(&o, "policy", json_string("memory"));
	if (d->size)
		json_put(&o, "size", json_integer(d->size));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (d->flags & names[i].flag)
			json_add(&flags, json_string(names[i].name));
	if (!flags || json_array_size(flags))
		json_put(&o, "flags", flags);
	else
		json_decref(flags);
	if (d->timeout)
		json_put(&o, "timeout", json_integer((json_int_t)(d->timeout / 1000)));
	if (d->gc_interval)
		json_put(&o, "gc-interval", json_integer((json_int_t)(d->gc_interval / 1000)));
	if (d->auto_merge)
		json_put(&o, "auto-merge", json_true());
	if (d->stmts)
		json_put(&o, "stmt", json_stmts(d->stmts, &stateless));
	return o;
}

static json_t *json_devices(const struct expr_list *l)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < l->n; i++) {
		const struct expr *dev = l->items[i];

		if (dev->kind == EX_VALUE && !dev->type) {
			json_add(&array, json_text((const char *)expr_bytes(dev),
						   strnlen((const char *)expr_bytes(dev),
							   bits_to_bytes(dev->bits))));
			continue;
		}
		json_add(&array, json_expr(dev, NULL));
	}
	return json_one_or_list(array);
}

json_t *json_chain_head(enum family f, const struct chain_decl *d, const struct lang_env *env)
{
	json_t *o = json_object();

	if (d->comment)
		json_put(&o, "comment", json_cstring(d->comment));
	if (!d->base)
		return o;
	json_put(&o, "type", json_string(chain_type_name(d->type)));
	json_put(&o, "hook", json_string(hook_name(d->hook)));
	json_put(&o, "prio", json_integer(d->priority));
	if (d->devices.n)
		json_put(&o, "dev", json_devices(&d->devices));
	json_put(&o, "policy",
		 json_string(verdict_name(d->has_policy ? d->policy : VERDICT_ACCEPT)));
	if (d->offload) {
		json_t *flags = json_array();

		json_add(&flags, json_string("offload"));
		json_put(&o, "flags", flags);
	}
	return o;
}

json_t *json_flowtable_body(enum family f, const struct flowtable_decl *d,
			    const struct lang_env *env)
{
	static const char *const names[] = {"offload", "counter"};
	json_t *o = json_object();

	if (d->hook != HOOK_NONE) {
		json_put(&o, "hook", json_string(hook_name(d->hook)));
		json_put(&o, "prio", json_integer(d->priority));
	}
	if (d->devices.n)
		json_put(&o, "dev", json_devices(&d->devices));
	if (d->offload || d->counter)
		json_put(&o, "flags",
			 names_json((unsigned)d->offload | (unsigned)d->counter << 1, names,
				    ARRAY_SIZE(names)));
	return o;
}

static void l4proto_put(json_t **o, uint8_t l4proto, const struct lang_env *env)
{
	struct strbuf text = STRBUF_INIT;
	static const struct lang_env no_env;

	datatype_print(&type_inet_proto, env ? env : &no_env, &l4proto, 8, &text);
	json_put(o, "protocol", strbuf_error(&text) ? NULL : json_string(strbuf_str(&text)));
	strbuf_free(&text);
}

static void l3proto_put(json_t **o, uint8_t l3proto)
{
	if (l3proto)
		json_put(o, "l3proto", json_string(family_name(l3proto)));
}

static json_t *timeout_json(const struct obj_decl *d)
{
	uint8_t order[ARRAY_SIZE(d->timeout.policy)];
	json_t *policy = json_object();

	timeout_policy_order(d, order);
	for (unsigned i = 0; i < d->timeout.n; i++)
		json_put(&policy, d->timeout.policy[order[i]].state,
			 json_integer(d->timeout.policy[order[i]].seconds));
	return policy;
}

static json_t *tunnel_kind_json(const struct obj_decl *d)
{
	json_t *o;

	if (d->tunnel.kind == TUNNEL_VXLAN)
		return json_wrap("gbp", json_integer(d->tunnel.gbp));
	if (d->tunnel.kind == TUNNEL_ERSPAN) {
		o = json_wrap("version", json_integer(d->tunnel.version));
		if (d->tunnel.version == 1) {
			json_put(&o, "index", json_integer(d->tunnel.index));
			return o;
		}
		json_put(&o, "direction", json_string(d->tunnel.direction ? "egress" : "ingress"));
		json_put(&o, "hwid", json_integer(d->tunnel.index));
		return o;
	}
	o = json_array();
	for (const struct tunnel_option *t = d->tunnel.options; t; t = t->next) {
		json_t *option = json_wrap("class", json_integer(t->class));

		json_put(&option, "opt-type", json_integer(t->type));
		json_put(&option, "data", json_cstring(t->data));
		json_add(&o, option);
	}
	return o;
}

static void tunnel_put(json_t **o, const struct obj_decl *d, const struct lang_env *env)
{
	static const char *const kinds[] = {NULL, "vxlan", "erspan", "geneve"};
	const struct {
		const char *name;
		uint32_t value;
	} numbers[] = {{"sport", d->tunnel.sport},
		       {"dport", d->tunnel.dport},
		       {"tos", d->tunnel.tos},
		       {"ttl", d->tunnel.ttl}};

	json_put(o, "id", json_integer(d->tunnel.id));
	if (d->tunnel.src)
		json_put(o, d->tunnel.src->bits == 128 ? "src-ipv6" : "src-ipv4",
			 json_expr(d->tunnel.src, env));
	if (d->tunnel.dst)
		json_put(o, d->tunnel.dst->bits == 128 ? "dst-ipv6" : "dst-ipv4",
			 json_expr(d->tunnel.dst, env));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].value)
			json_put(o, numbers[i].name, json_integer(numbers[i].value));
	if (d->tunnel.kind != TUNNEL_PLAIN) {
		json_put(o, "type", json_string(kinds[d->tunnel.kind]));
		json_put(o, "tunnel", tunnel_kind_json(d));
	}
}

json_t *json_object_body(const struct obj_decl *d, const struct lang_env *env)
{
	json_t *o = json_object(), *more = NULL;

	if (d->comment)
		json_put(&o, "comment", json_cstring(d->comment));
	switch (d->kind) {
	case OBJ_COUNTER:
		more = counter_json(d->counter.packets, d->counter.bytes);
		break;
	case OBJ_QUOTA:
		json_put(&o, "bytes", json_integer((json_int_t)d->quota.bytes));
		json_put(&o, "used", json_integer((json_int_t)d->quota.used));
		json_put(&o, "inv", json_boolean(d->quota.over));
		return o;
	case OBJ_LIMIT:
		more = limit_json(&d->limit);
		break;
	case OBJ_CT_HELPER:
		json_put(&o, "type", json_cstring(d->helper.type));
		l4proto_put(&o, d->helper.l4proto, env);
		l3proto_put(&o, d->helper.l3proto);
		return o;
	case OBJ_CT_TIMEOUT:
		l4proto_put(&o, d->timeout.l4proto, env);
		l3proto_put(&o, d->timeout.l3proto);
		json_put(&o, "policy", timeout_json(d));
		return o;
	case OBJ_CT_EXPECTATION:
		l4proto_put(&o, d->expectation.l4proto, env);
		json_put(&o, "dport", json_integer(d->expectation.dport));
		json_put(&o, "timeout", json_integer(d->expectation.timeout_ms));
		json_put(&o, "size", json_integer(d->expectation.size));
		l3proto_put(&o, d->expectation.l3proto);
		return o;
	case OBJ_SECMARK:
		json_put(&o, "context", json_cstring(d->secmark));
		return o;
	case OBJ_SYNPROXY:
		more = synproxy_json(&d->synproxy);
		break;
	case OBJ_TUNNEL:
		tunnel_put(&o, d, env);
		return o;
	case OBJ_KINDS:
		break;
	}
	if (o && (!more || json_object_update(o, more) < 0)) {
		json_decref(o);
		o = NULL;
	}
	json_decref(more);
	return o;
}
