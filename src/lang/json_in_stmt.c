/* SPDX-License-Identifier: Apache-2.0 */
/* json_in: statements. */
#include "lang/json_in_int.h"

static struct stmt *stmt_at(struct json_in *in, enum stmt_kind kind)
{
	return stmt_new(in->a, kind, in->loc);
}

static bool is_object_with(json_t *v, const char *key)
{
	return json_is_object(v) && json_object_get(v, key);
}

/* The statement's value is a name, or a map to names: a reference to an object. */
static struct stmt *objref(struct json_in *in, enum obj_kind kind, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_OBJREF);

	s->objref.kind = kind;
	s->objref.name =
		json_is_string(v) ? json_in_symbol(in, json_in_text(in, v)) : json_in_expr(in, v);
	return s;
}

static bool is_objref(json_t *v)
{
	return json_is_string(v) || is_object_with(v, "map");
}

/* --- Statements with a state -------------------------------------------------------------- */

static struct stmt *counter_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s;

	if (is_objref(v))
		return objref(in, OBJ_COUNTER, v);
	s = stmt_at(in, ST_COUNTER);
	if (json_is_null(v))
		return s;
	json_members(in, v, "packets bytes");
	json_get_number(in, v, "packets", INT64_MAX, &s->counter.packets);
	json_get_number(in, v, "bytes", INT64_MAX, &s->counter.bytes);
	return s;
}

static uint64_t unit_of(struct json_in *in, json_t *o, const char *unit_key, uint64_t v)
{
	static const char *const units[] = {"bytes", "kbytes", "mbytes", NULL};
	int unit = json_get_word(in, o, unit_key, units, "unit");

	if (unit > 0 && __builtin_mul_overflow(v, 1ULL << 10 * unit, &v))
		json_fail_at(in, unit_key, "Value too large");
	return v;
}

static struct stmt *quota_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s;

	if (is_objref(v))
		return objref(in, OBJ_QUOTA, v);
	s = stmt_at(in, ST_QUOTA);
	json_members(in, v, "val val_unit used used_unit inv");
	s->quota.bytes = unit_of(in, v, "val_unit", json_need_number(in, v, "val", INT64_MAX));
	json_get_number(in, v, "used", INT64_MAX, &s->quota.used);
	s->quota.used = unit_of(in, v, "used_unit", s->quota.used);
	s->quota.over = json_get_bool(in, v, "inv");
	return s;
}

void json_in_limit(struct json_in *in, json_t *o, struct limit_spec *l)
{
	static const char *const times[] = {"second", "minute", "hour", "day", "week", NULL};
	static const uint32_t seconds[] = {1, 60, 3600, 86400, 604800};
	static const char *const units[] = {"packets", "bytes", "kbytes", "mbytes", NULL};
	int per = json_get_word(in, o, "per", times, "time unit");
	int unit = json_get_word(in, o, "rate_unit", units, "rate unit");

	if (unit < 0) /* limit objects of older versions */
		unit = json_get_word(in, o, "unit", units, "rate unit");
	l->rate = json_need_number(in, o, "rate", INT64_MAX);
	l->unit = seconds[MAX(per, 0)];
	l->over = json_get_bool(in, o, "inv");
	l->bytes = unit > 0;
	if (unit > 1 && __builtin_mul_overflow(l->rate, 1ULL << 10 * (unit - 1), &l->rate))
		json_fail_at(in, "rate", "Value too large");
	if (!json_get_number(in, o, "burst", l->bytes ? INT64_MAX : UINT32_MAX, &l->burst))
		return;
	if (l->bytes)
		l->burst = unit_of(in, o, "burst_unit", l->burst);
	/* A burst of 0 is how a listing says that there is none. */
	l->has_burst = l->burst != 0;
}

static struct stmt *limit_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s;

	if (is_objref(v))
		return objref(in, OBJ_LIMIT, v);
	s = stmt_at(in, ST_LIMIT);
	json_members(in, v, "rate rate_unit per burst burst_unit inv");
	json_in_limit(in, v, &s->limit);
	return s;
}

static struct stmt *last_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_LAST);

	if (json_is_null(v))
		return s;
	json_members(in, v, "used");
	s->last.set = json_get_number(in, v, "used", INT64_MAX, &s->last.used_ms);
	return s;
}

static struct stmt *connlimit_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_CONNLIMIT);

	json_members(in, v, "val inv");
	s->connlimit.count = (uint32_t)json_need_number(in, v, "val", UINT32_MAX);
	s->connlimit.over = json_get_bool(in, v, "inv");
	return s;
}

/* --- Matches and assignments -------------------------------------------------------------- */

/* `tcp option 6 exists` is a raw option of its first byte compared with a boolean. */
static void option_exists(struct expr *left, const struct expr *right)
{
	if (left->kind != EX_OPTION || left->option.field || left->option.existence ||
	    left->option.off || left->bits != 8)
		return;
	if (right->kind != EX_SYMBOL ||
	    (strcmp(right->symbol.text, "exists") && strcmp(right->symbol.text, "missing")))
		return;
	left->option.existence = true;
	left->type = &type_boolean;
	left->bits = 1;
}

static struct stmt *match_stmt(struct json_in *in, json_t *v)
{
	static const char *const names[] = {"in", "==", "!=", "<", ">", "<=", ">=", "!", NULL};
	static const enum expr_op ops[] = {OP_IMPLICIT, OP_EQ, OP_NEQ, OP_LT,
					   OP_GT,	OP_LE, OP_GE,  OP_NOT};
	struct stmt *s = stmt_at(in, ST_MATCH);
	struct expr *e = expr_new(in->a, EX_COMPARE, in->loc);
	int op;

	json_members(in, v, "op left right");
	op = json_get_word(in, v, "op", names, "relational op");
	e->op = (uint8_t)ops[MAX(op, 0)];
	e->pair.left = json_need_expr(in, v, "left");
	e->pair.right = json_need_expr(in, v, "right");
	option_exists(e->pair.left, e->pair.right);
	s->expr = e;
	return s;
}

static struct stmt *mangle_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_META_SET);
	struct expr *key, *value;
	enum obj_kind kind;

	json_members(in, v, "key value");
	key = json_need_expr(in, v, "key");
	value = json_need_expr(in, v, "value");
	switch (key->kind) {
	case EX_META:
		break;
	case EX_CT:
		s->kind = ST_CT_SET;
		break;
	case EX_PAYLOAD:
	case EX_RAW:
		s->kind = ST_PAYLOAD_SET;
		break;
	case EX_OPTION:
		s->kind = ST_OPTION_SET;
		break;
	default:
		json_fail_at(in, "key", "Invalid mangle statement key");
	}
	if (assignment_object(key, value, &kind)) {
		s->kind = ST_OBJREF;
		s->objref.kind = kind;
		s->objref.name = value;
		return s;
	}
	s->assign.target = key;
	s->assign.value = value;
	return s;
}

static struct stmt *reset_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_OPTION_RESET);
	struct expr *e = json_in_expr(in, v);

	if (e->kind != EX_OPTION || e->option.class != OPT_TCP)
		json_fail(in, "Only a tcp option can be reset");
	if (e->option.field)
		json_fail(in, "A tcp option is reset without a field");
	e->option.existence = true;
	e->type = &type_boolean;
	e->bits = 1;
	s->assign.target = e;
	return s;
}

/* --- log, reject, queue ------------------------------------------------------------------- */

static struct stmt *log_stmt(struct json_in *in, json_t *v)
{
	static const char *const levels[] = {"emerg",  "alert", "crit",	 "err",	  "warn",
					     "notice", "info",	"debug", "audit", NULL};
	static const char *const flags[] = {"tcp sequence", "tcp options", "ip options", "skuid",
					    NULL,	    "ether",	   "all"};
	struct stmt *s = stmt_at(in, ST_LOG);
	uint64_t n;

	s->log.level = LOG_LEVEL_NONE;
	if (json_is_null(v))
		return s;
	json_members(in, v, "prefix group snaplen queue-threshold level flags");
	s->log.prefix = json_get_string(in, v, "prefix");
	if (json_get_number(in, v, "group", UINT16_MAX, &n)) {
		s->log.has_group = true;
		s->log.group = (uint16_t)n;
	}
	if (json_get_number(in, v, "snaplen", UINT32_MAX, &n)) {
		s->log.has_snaplen = true;
		s->log.snaplen = (uint32_t)n;
	}
	if (json_get_number(in, v, "queue-threshold", UINT16_MAX, &n)) {
		s->log.has_qthreshold = true;
		s->log.qthreshold = (uint16_t)n;
	}
	s->log.level = json_get_word(in, v, "level", levels, "log level");
	s->log.flags = json_get_flags(in, v, "flags", flags, ARRAY_SIZE(flags), "log flag");
	if (s->log.flags >> 6)
		s->log.flags = LOGF_ALL;
	return s;
}

static struct stmt *reject_stmt(struct json_in *in, json_t *v)
{
	static const char *const types[] = {"icmp", "icmpv6", "icmpx", "tcp reset", NULL};
	struct stmt *s = stmt_at(in, ST_REJECT);

	if (json_is_null(v))
		return s;
	json_members(in, v, "type expr");
	s->reject.type = (enum reject_type)(json_get_word(in, v, "type", types, "reject type") + 1);
	s->reject.code = json_get_expr(in, v, "expr");
	return s;
}

static struct stmt *queue_stmt(struct json_in *in, json_t *v)
{
	static const char *const flags[] = {"bypass", "fanout"};
	struct stmt *s = stmt_at(in, ST_QUEUE);

	if (json_is_null(v))
		return s;
	json_members(in, v, "num flags");
	s->queue.num = json_get_expr(in, v, "num");
	s->queue.flags = json_get_flags(in, v, "flags", flags, ARRAY_SIZE(flags), "queue flag");
	return s;
}

/* --- Sets --------------------------------------------------------------------------------- */

static struct expr *set_reference(struct json_in *in, json_t *o, const char *key)
{
	struct expr *e = json_need_expr(in, o, key);

	if (e->kind != EX_SETREF)
		json_fail_at(in, key, "Expected a reference, \"@name\"");
	return e;
}

static struct stmt *json_in_stmt(struct json_in *in, json_t *v);

static void elem_stmts(struct json_in *in, json_t *o, struct elem_expr *el)
{
	json_t *stmts = json_object_get(o, "stmt");
	struct stmt **last = &el->stmts;

	if (!stmts)
		return;
	while (*last)
		last = &(*last)->next;
	json_enter(in, "stmt", 0);
	*last = json_is_array(stmts) ? json_in_stmts(in, stmts) : json_in_stmt(in, stmts);
	json_leave(in);
}

static struct elem_expr *need_elem(struct json_in *in, json_t *o, const char *key)
{
	json_t *v = json_need(in, o, key);
	struct elem_expr *el;

	json_enter(in, key, 0);
	el = json_in_elem(in, v);
	json_leave(in);
	return el;
}

static struct stmt *set_stmt(struct json_in *in, json_t *v, bool map)
{
	static const char *const ops[] = {"add", "update", "delete", NULL};
	struct stmt *s = stmt_at(in, ST_SET);
	int op;

	json_members(in, v, map ? "op elem data map stmt" : "op elem set stmt");
	op = json_get_word(in, v, "op", ops, "set statement op");
	s->set.op = (enum set_op)MAX(op, 0);
	s->set.elem = need_elem(in, v, "elem");
	if (map)
		s->set.elem->data = json_need_expr(in, v, "data");
	s->set.set = set_reference(in, v, map ? "map" : "set");
	elem_stmts(in, v, s->set.elem);
	return s;
}

static struct stmt *meter_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_METER);
	uint64_t size = 0;

	json_members(in, v, "name key stmt size");
	s->meter.name = json_need_string(in, v, "name");
	s->meter.elem = need_elem(in, v, "key");
	json_need(in, v, "stmt");
	elem_stmts(in, v, s->meter.elem);
	json_get_number(in, v, "size", UINT32_MAX, &size);
	s->meter.size = (uint32_t)size;
	return s;
}

static struct stmt *flow_stmt(struct json_in *in, json_t *v)
{
	static const char *const ops[] = {"add", NULL};
	struct stmt *s = stmt_at(in, ST_FLOW_OFFLOAD);

	json_members(in, v, "op flowtable");
	json_get_word(in, v, "op", ops, "flow op");
	s->name = set_reference(in, v, "flowtable")->setref.name;
	return s;
}

/* --- NAT and its kin ---------------------------------------------------------------------- */

static struct stmt *nat_stmt(struct json_in *in, json_t *v, enum nat_kind kind)
{
	static const char *const flags[] = {"random", "fully-random", "persistent", "netmap"};
	static const char *const types[] = {NULL, NULL, NULL, "prefix", "interval", "concat"};
	struct stmt *s = stmt_at(in, ST_NAT);

	s->nat.kind = kind;
	if (json_is_null(v))
		return s;
	json_members(in, v,
		     kind == NAT_SNAT || kind == NAT_DNAT ? "family addr port flags type_flags"
							  : "port flags");
	s->nat.nfproto = json_in_nfproto(in, v);
	s->nat.addr = json_get_expr(in, v, "addr");
	s->nat.port = json_get_expr(in, v, "port");
	s->nat.flags =
		json_get_flags(in, v, "flags", flags, ARRAY_SIZE(flags), "nat flag") |
		json_get_flags(in, v, "type_flags", types, ARRAY_SIZE(types), "nat type flag");
	return s;
}

static struct stmt *tproxy_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_TPROXY);

	json_members(in, v, "family addr port");
	s->nat.nfproto = json_in_nfproto(in, v);
	s->nat.addr = json_get_expr(in, v, "addr");
	s->nat.port = json_get_expr(in, v, "port");
	if (!s->nat.addr && !s->nat.port)
		json_fail(in, "Either addr or port required");
	return s;
}

static struct stmt *dup_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_DUP);

	json_members(in, v, "addr dev");
	s->dup.to = json_need_expr(in, v, "addr");
	s->dup.dev = json_get_expr(in, v, "dev");
	return s;
}

static struct stmt *fwd_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_FWD);

	json_members(in, v, "dev family addr");
	s->dup.dev = json_need_expr(in, v, "dev");
	s->dup.nfproto = json_in_nfproto(in, v);
	s->dup.to = json_get_expr(in, v, "addr");
	if (!s->dup.to != !s->dup.nfproto)
		json_fail(in, "Either both of family and addr or none of them required");
	return s;
}

void json_in_synproxy(struct json_in *in, json_t *o, struct synproxy_spec *s)
{
	static const char *const flags[] = {"timestamp", "sack-perm"};
	unsigned set;
	uint64_t n;

	if (json_get_number(in, o, "mss", UINT16_MAX, &n)) {
		s->has_mss = true;
		s->mss = (uint16_t)n;
	}
	if (json_get_number(in, o, "wscale", UINT8_MAX, &n)) {
		s->has_wscale = true;
		s->wscale = (uint8_t)n;
	}
	set = json_get_flags(in, o, "flags", flags, ARRAY_SIZE(flags), "synproxy flag");
	s->timestamp = set & 1;
	s->sack_perm = set & 2;
}

static struct stmt *synproxy_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s;

	if (is_objref(v))
		return objref(in, OBJ_SYNPROXY, v);
	s = stmt_at(in, ST_SYNPROXY);
	if (json_is_null(v))
		return s;
	json_members(in, v, "mss wscale flags");
	json_in_synproxy(in, v, &s->synproxy);
	return s;
}

/* --- All of them -------------------------------------------------------------------------- */

static struct stmt *verdict_stmt(struct json_in *in, const char *name, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_VERDICT);

	json_leave(in); /* the expression's own step is the statement's */
	s->expr = json_in_named_expr(in, name, v);
	json_enter(in, name, 0);
	return s;
}

static struct stmt *notrack_stmt(struct json_in *in, json_t *v)
{
	if (!json_is_null(v))
		json_fail(in, "Expected null, got %s", json_type_name(v));
	return stmt_at(in, ST_NOTRACK);
}

static struct stmt *xt_stmt(struct json_in *in, json_t *v)
{
	struct stmt *s = stmt_at(in, ST_XT);

	/* nft before 1.0.3 says no more than that there is one. */
	s->xt.type = "match";
	s->xt.name = "unknown";
	if (json_is_null(v))
		return s;
	json_members(in, v, "type name");
	s->xt.type = json_need_string(in, v, "type");
	s->xt.name = json_need_string(in, v, "name");
	return s;
}

static struct stmt *map_stmt(struct json_in *in, json_t *v)
{
	return set_stmt(in, v, true);
}

static struct stmt *plain_set_stmt(struct json_in *in, json_t *v)
{
	return set_stmt(in, v, false);
}

static struct stmt *snat_stmt(struct json_in *in, json_t *v)
{
	return nat_stmt(in, v, NAT_SNAT);
}

static struct stmt *dnat_stmt(struct json_in *in, json_t *v)
{
	return nat_stmt(in, v, NAT_DNAT);
}

static struct stmt *masquerade_stmt(struct json_in *in, json_t *v)
{
	return nat_stmt(in, v, NAT_MASQUERADE);
}

static struct stmt *redirect_stmt(struct json_in *in, json_t *v)
{
	return nat_stmt(in, v, NAT_REDIRECT);
}

static struct stmt *ct_helper_stmt(struct json_in *in, json_t *v)
{
	return objref(in, OBJ_CT_HELPER, v);
}

static struct stmt *ct_timeout_stmt(struct json_in *in, json_t *v)
{
	return objref(in, OBJ_CT_TIMEOUT, v);
}

static struct stmt *ct_expectation_stmt(struct json_in *in, json_t *v)
{
	return objref(in, OBJ_CT_EXPECTATION, v);
}

static struct stmt *secmark_stmt(struct json_in *in, json_t *v)
{
	return objref(in, OBJ_SECMARK, v);
}

static struct stmt *tunnel_stmt(struct json_in *in, json_t *v)
{
	return objref(in, OBJ_TUNNEL, v);
}

static const struct {
	const char *name;
	struct stmt *(*read)(struct json_in *in, json_t *v); /* NULL: a verdict */
} statements[] = {
	{"match", match_stmt},
	{"accept", NULL},
	{"drop", NULL},
	{"continue", NULL},
	{"return", NULL},
	{"jump", NULL},
	{"goto", NULL},
	{"vmap", NULL},
	{"counter", counter_stmt},
	{"mangle", mangle_stmt},
	{"quota", quota_stmt},
	{"limit", limit_stmt},
	{"last", last_stmt},
	{"ct count", connlimit_stmt},
	{"set", plain_set_stmt},
	{"map", map_stmt},
	{"log", log_stmt},
	{"reject", reject_stmt},
	{"queue", queue_stmt},
	{"snat", snat_stmt},
	{"dnat", dnat_stmt},
	{"masquerade", masquerade_stmt},
	{"redirect", redirect_stmt},
	{"tproxy", tproxy_stmt},
	{"synproxy", synproxy_stmt},
	{"dup", dup_stmt},
	{"fwd", fwd_stmt},
	{"notrack", notrack_stmt},
	{"flow", flow_stmt},
	{"meter", meter_stmt},
	{"reset", reset_stmt},
	{"ct helper", ct_helper_stmt},
	{"ct timeout", ct_timeout_stmt},
	{"ct expectation", ct_expectation_stmt},
	{"secmark", secmark_stmt},
	{"tunnel", tunnel_stmt},
	{"xt", xt_stmt},
};

struct stmt *json_in_named_stmt(struct json_in *in, const char *name, json_t *v)
{
	struct stmt *s;
	size_t i = 0;

	while (i < ARRAY_SIZE(statements) && strcmp(statements[i].name, name))
		i++;
	if (i == ARRAY_SIZE(statements))
		json_fail(in, "Unknown statement object '%s'", name);
	json_enter(in, name, 0);
	s = statements[i].read ? statements[i].read(in, v) : verdict_stmt(in, name, v);
	json_leave(in);
	return s;
}

static struct stmt *json_in_stmt(struct json_in *in, json_t *v)
{
	json_t *arg;
	const char *name = json_only(in, v, &arg);

	return json_in_named_stmt(in, name, arg);
}

struct stmt *json_in_stmts(struct json_in *in, json_t *array)
{
	struct stmt *first = NULL, **last = &first;

	if (!json_is_array(array))
		json_fail(in, "Expected array, got %s", json_type_name(array));
	for (size_t i = 0; i < json_array_size(array); i++) {
		json_enter(in, NULL, i);
		*last = json_in_stmt(in, json_array_get(array, i));
		last = &(*last)->next;
		json_leave(in);
	}
	return first;
}
