/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in: expressions. Strings become symbols and numbers symbols of digits, as the text parser
 * makes them, so that one set of checks gives both their meaning.
 */
#include "lang/json_in_int.h"

static struct expr *expr_at(struct json_in *in, enum expr_kind kind)
{
	return expr_new(in->a, kind, in->loc);
}

static struct expr *selector(struct json_in *in, enum expr_kind kind, const struct datatype *type,
			     unsigned bits)
{
	struct expr *e = expr_at(in, kind);

	e->type = type;
	e->bits = bits;
	return e;
}

/* --- Constants ---------------------------------------------------------------------------- */

struct expr *json_in_symbol(struct json_in *in, const char *text)
{
	struct expr *e = expr_at(in, EX_SYMBOL);

	e->symbol.text = text;
	e->symbol.len = (uint32_t)strlen(text);
	return e;
}

/* `"0xff"` is the number that it is in a text. */
static struct expr *symbol_or_hex(struct json_in *in, const char *text)
{
	struct expr *e = json_in_symbol(in, text);
	uint8_t number[8];

	if (text[0] == '0' && text[1] == 'x' && !number_parse(text, e->symbol.len, number, 64)) {
		e->symbol.text = arena_printf(in->a, "%llu", (unsigned long long)be64_load(number));
		e->symbol.len = (uint32_t)strlen(e->symbol.text);
		e->flags = EXF_NUMBER;
	}
	return e;
}

static struct expr *number_expr(struct json_in *in, json_t *v)
{
	struct expr *e = expr_at(in, EX_SYMBOL);

	if (json_integer_value(v) < 0)
		json_fail(in, "Negative number %lld", (long long)json_integer_value(v));
	e->symbol.text = arena_printf(in->a, "%lld", (long long)json_integer_value(v));
	e->symbol.len = (uint32_t)strlen(e->symbol.text);
	e->flags = EXF_NUMBER;
	return e;
}

static struct expr *string_expr(struct json_in *in, json_t *v)
{
	const char *text = json_in_text(in, v);
	struct expr *e;

	if (text[0] == '@') {
		e = expr_at(in, EX_SETREF);
		e->setref.name = text + 1;
		return e;
	}
	if (!strcmp(text, "*"))
		return expr_at(in, EX_CATCHALL);
	return symbol_or_hex(in, text);
}

static void list_item(struct json_in *in, json_t *v, void *arg)
{
	struct expr *list = arg;

	expr_list_add(in->a, &list->list, json_in_expr(in, v));
}

static struct expr *list_expr(struct json_in *in, enum expr_kind kind, json_t *v, size_t min)
{
	struct expr *e = expr_at(in, kind);

	if (!json_is_array(v))
		json_fail(in, "Expected array, got %s", json_type_name(v));
	if (json_array_size(v) < min)
		json_fail(in, "Expected at least %zu items, got %zu", min, json_array_size(v));
	json_each(in, v, list_item, e);
	return e;
}

static struct expr *range_expr(struct json_in *in, json_t *v)
{
	struct expr *list = list_expr(in, EX_LIST, v, 2), *e = expr_at(in, EX_RANGE);

	if (list->list.n != 2)
		json_fail(in, "Expected two items, got %u", list->list.n);
	e->pair.left = list->list.items[0];
	e->pair.right = list->list.items[1];
	return e;
}

static struct expr *prefix_expr(struct json_in *in, json_t *v)
{
	struct expr *e = expr_at(in, EX_PREFIX);

	json_members(in, v, "addr len");
	e->prefix.base = json_need_expr(in, v, "addr");
	e->prefix.len = (uint32_t)json_need_number(in, v, "len", UINT32_MAX);
	return e;
}

/* --- Sets and maps ------------------------------------------------------------------------ */

static bool elem_is_plain(const struct set_elem *el)
{
	return !el->data && !el->stmts && !el->has_timeout && !el->has_expires && !el->comment;
}

static void elem_time(struct json_in *in, json_t *o, const char *key, uint64_t *ms, bool *has,
		      bool *never)
{
	json_t *v = json_object_get(o, key);
	uint64_t seconds;

	if (!v)
		return;
	*has = true;
	if (never && json_is_string(v) && !strcmp(json_string_value(v), "never")) {
		*never = true;
		return;
	}
	json_get_number(in, o, key, UINT64_MAX / 1000, &seconds);
	*ms = seconds * 1000;
}

struct set_elem *json_in_elem(struct json_in *in, json_t *v)
{
	static const char *const stateful[] = {"counter", "quota", "limit", "last", "ct count"};
	struct set_elem *el = arena_new(in->a, struct set_elem);
	struct stmt **last = &el->stmts;
	json_t *o = json_is_object(v) ? json_object_get(v, "elem") : NULL;
	const char *key;
	json_t *member;

	if (!o) {
		el->key = json_in_expr(in, v);
		return el;
	}
	json_only(in, v, &o);
	json_enter(in, "elem", 0);
	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	el->key = json_need_expr(in, o, "val");
	elem_time(in, o, "timeout", &el->timeout, &el->has_timeout, &el->timeout_never);
	elem_time(in, o, "expires", &el->expires, &el->has_expires, NULL);
	el->comment = json_get_string(in, o, "comment");
	json_object_foreach(o, key, member)
	{
		bool known = !strcmp(key, "val") || !strcmp(key, "timeout") ||
			     !strcmp(key, "expires") || !strcmp(key, "comment");

		for (size_t i = 0; !known && i < ARRAY_SIZE(stateful); i++) {
			if (strcmp(key, stateful[i]))
				continue;
			known = true;
			*last = json_in_named_stmt(in, key, member);
			last = &(*last)->next;
		}
		if (!known)
			json_fail(in, "Unknown property '%s'", key);
	}
	json_leave(in);
	return el;
}

static struct expr *elem_expr(struct json_in *in, struct set_elem *el)
{
	struct expr *e;

	if (elem_is_plain(el))
		return el->key;
	e = expr_at(in, EX_ELEM);
	e->elem = el;
	return e;
}

/* A key, or a pair of key and data. */
static void set_item(struct json_in *in, json_t *v, void *arg)
{
	struct expr *set = arg, *e;
	struct set_elem *el;

	if (json_is_array(v)) {
		if (json_array_size(v) != 2)
			json_fail(in, "Expected a pair of key and value, got %zu items",
				  json_array_size(v));
		json_enter(in, NULL, 0);
		el = json_in_elem(in, json_array_get(v, 0));
		json_leave(in);
		json_enter(in, NULL, 1);
		el->data = json_in_expr(in, json_array_get(v, 1));
		json_leave(in);
	} else {
		el = json_in_elem(in, v);
	}
	e = elem_expr(in, el);
	if (e->kind == EX_SET) {
		for (uint32_t i = 0; i < e->list.n; i++)
			expr_list_add(in->a, &set->list, e->list.items[i]);
		return;
	}
	expr_list_add(in->a, &set->list, e);
}

struct expr *json_in_elements(struct json_in *in, json_t *v)
{
	struct expr *set = expr_at(in, EX_SET);

	json_each(in, v, set_item, set);
	return set;
}

static struct expr *map_expr(struct json_in *in, json_t *v, bool vmap)
{
	struct expr *e = expr_at(in, EX_MAP);

	json_members(in, v, "key data");
	e->map.key = json_need_expr(in, v, "key");
	e->map.to = json_need_expr(in, v, "data");
	e->map.vmap = vmap;
	if (e->map.to->kind != EX_SET && e->map.to->kind != EX_SETREF)
		json_fail_at(in, "data", "Expected a set or a reference to a map");
	return e;
}

/* --- What reads the packet ---------------------------------------------------------------- */

static const struct proto_header *tunnel_header(struct json_in *in, json_t *v)
{
	const char *name = json_get_string(in, v, "tunnel");
	const struct proto_header *h;

	if (!name)
		return NULL;
	h = proto_find(name, strlen(name));
	if (!h || !h->inner)
		json_fail_at(in, "tunnel", "Unknown tunnel protocol '%s'", name);
	return h;
}

static struct expr *raw_expr(struct json_in *in, json_t *v)
{
	static const char *const bases[] = {"ll", "nh", "th", "ih", NULL};
	struct expr *e = expr_at(in, EX_RAW);

	json_members(in, v, "tunnel base offset len");
	e->raw.tunnel = tunnel_header(in, v);
	e->raw.base = (enum proto_base)json_get_word(in, v, "base", bases, "payload base");
	e->raw.off = (uint32_t)json_need_number(in, v, "offset", UINT32_MAX);
	e->bits = (uint32_t)json_need_number(in, v, "len", UINT32_MAX);
	e->type = &type_integer;
	return e;
}

static struct expr *payload_expr(struct json_in *in, json_t *v)
{
	const struct proto_header *h;
	const struct proto_field *f;
	const char *protocol, *field;
	struct expr *e;

	if (json_is_object(v) && json_object_get(v, "base"))
		return raw_expr(in, v);
	json_members(in, v, "tunnel protocol field");
	protocol = json_need_string(in, v, "protocol");
	field = json_need_string(in, v, "field");
	h = proto_find(protocol, strlen(protocol));
	if (!h)
		json_fail_at(in, "protocol", "Unknown payload protocol '%s'", protocol);
	f = proto_field_find(h, field, strlen(field));
	if (!f)
		json_fail_at(in, "field", "Unknown %s field '%s'", protocol, field);
	e = selector(in, EX_PAYLOAD, f->type, f->bits);
	e->payload.header = h;
	e->payload.field = f;
	e->payload.tunnel = tunnel_header(in, v);
	return e;
}

static struct expr *option_expr(struct json_in *in, json_t *v, enum option_class c)
{
	const struct proto_option *o;
	struct expr *e = expr_at(in, EX_OPTION);
	const char *name, *field;
	uint64_t offset = 0;

	e->option.class = c;
	if (json_is_object(v) && c == OPT_TCP && json_object_get(v, "base")) {
		json_members(in, v, "base offset len");
		e->option.kind = (uint16_t)json_need_number(in, v, "base", UINT8_MAX);
		e->option.off = (uint16_t)json_need_number(in, v, "offset", UINT16_MAX);
		e->type = &type_integer;
		e->bits = (uint32_t)json_need_number(in, v, "len", UINT16_MAX);
		return e;
	}
	json_members(in, v, "name field offset");
	name = json_need_string(in, v, "name");
	o = option_find(c, name, strlen(name));
	if (!o)
		json_fail_at(in, "name", "Unknown option '%s'", name);
	e->option.option = o;
	e->option.kind = o->kind;
	field = json_get_string(in, v, "field");
	if (!field) {
		e->option.existence = true;
		e->type = &type_boolean;
		e->bits = 1;
		return e;
	}
	/* rt0 addr and srh sid take an index: "sid[2]", or a number beside the field. */
	const char *bracket = c == OPT_EXTHDR ? strchr(field, '[') : NULL;
	const size_t len = bracket ? (size_t)(bracket - field) : strlen(field);

	e->option.field = option_field_find(o, field, len);
	if (!e->option.field)
		json_fail_at(in, "field", "Unknown %s field '%s'", name, field);
	json_get_number(in, v, "offset", UINT8_MAX, &offset);
	if (bracket) {
		uint8_t index;
		const size_t digits = strcspn(bracket + 1, "]");

		if (strcmp(bracket + 1 + digits, "]") ||
		    number_parse(bracket + 1, digits, &index, 8))
			json_fail_at(in, "field", "Unknown %s field '%s'", name, field);
		offset = index;
	}
	if (offset * e->option.field->bits > UINT16_MAX)
		json_fail_at(in, "field", "Index too large");
	e->option.off = (uint16_t)(offset * e->option.field->bits);
	e->type = e->option.field->type;
	e->bits = e->option.field->bits;
	return e;
}

static struct expr *dccp_option_expr(struct json_in *in, json_t *v)
{
	struct expr *e = selector(in, EX_OPTION, &type_boolean, 1);

	json_members(in, v, "type");
	e->option.class = OPT_DCCP;
	e->option.existence = true;
	e->option.kind = (uint16_t)json_need_number(in, v, "type", UINT8_MAX);
	return e;
}

static struct expr *meta_expr(struct json_in *in, json_t *v)
{
	const char *name;
	struct expr *e;
	int key;

	json_members(in, v, "key");
	name = json_need_string(in, v, "key");
	key = meta_key_find(name, strlen(name));
	if (key < 0)
		json_fail_at(in, "key", "Unknown meta key '%s'", name);
	e = selector(in, EX_META, meta_keys[key].type, meta_keys[key].bits);
	e->key = (unsigned)key;
	return e;
}

static uint8_t nfproto_of(struct json_in *in, json_t *v)
{
	static const char *const families[] = {"ip", "ip6", NULL};
	int family = json_get_word(in, v, "family", families, "family");

	return family < 0 ? 0 : family ? 10 : 2;
}

static struct expr *ct_expr(struct json_in *in, json_t *v)
{
	static const char *const directions[] = {"original", "reply", NULL};
	uint8_t nfproto;
	const char *name;
	struct expr *e;
	int key, direction;

	json_members(in, v, "key family dir");
	name = json_need_string(in, v, "key");
	nfproto = nfproto_of(in, v);
	if (!strncmp(name, "ip ", 3)) {
		nfproto = 2;
		name += 3;
	} else if (!strncmp(name, "ip6 ", 4)) {
		nfproto = 10;
		name += 4;
	}
	key = ct_key_find(name, strlen(name));
	if (key < 0)
		json_fail_at(in, "key", "Unknown ct key '%s'", name);
	if (nfproto && key != CT_SADDR && key != CT_DADDR)
		json_fail_at(in, "key", "ct key '%s' takes no family", name);
	if (nfproto && key == CT_SADDR)
		key = nfproto == 2 ? CT_SADDR_IP : CT_SADDR_IP6;
	else if (nfproto)
		key = nfproto == 2 ? CT_DADDR_IP : CT_DADDR_IP6;
	direction = json_get_word(in, v, "dir", directions, "direction");
	e = selector(in, EX_CT, ct_keys[key].type, ct_keys[key].bits);
	e->ct.key = (unsigned)key;
	e->ct.direction = (int8_t)direction;
	e->ct.nfproto = nfproto;
	return e;
}

static unsigned need_word(struct json_in *in, json_t *v, const char *key, const char *const *words,
			  const char *what)
{
	json_need(in, v, key);
	return (unsigned)json_get_word(in, v, key, words, what);
}

static struct expr *rt_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"classid", "nexthop", "mtu", "ipsec", NULL};
	struct expr *e = expr_at(in, EX_RT);

	json_members(in, v, "key family");
	e->rt.key = need_word(in, v, "key", keys, "rt key");
	e->rt.nfproto = nfproto_of(in, v);
	return e;
}

static struct expr *socket_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"transparent", "mark", "wildcard", "cgroupv2", NULL};
	struct expr *e = expr_at(in, EX_SOCKET);
	uint64_t level = 0;

	json_members(in, v, "key level");
	e->socket.key = need_word(in, v, "key", keys, "socket key");
	json_get_number(in, v, "level", UINT8_MAX, &level);
	e->socket.level = (uint32_t)level;
	return e;
}

static struct expr *fib_expr(struct json_in *in, json_t *v)
{
	static const char *const results[] = {"oif", "oifname", "type", "check", NULL};
	static const char *const flags[] = {"saddr", "daddr", "mark", "iif", "oif"};
	struct expr *e = expr_at(in, EX_FIB);
	unsigned result;

	json_members(in, v, "result flags");
	result = need_word(in, v, "result", results, "fib result");
	e->fib.check = result == 3;
	e->fib.result = result == 3 ? 0 : result;
	e->fib.flags = json_get_flags(in, v, "flags", flags, ARRAY_SIZE(flags), "fib flag");
	if (!e->fib.flags)
		json_fail(in, "Object item not found: flags");
	return e;
}

static struct expr *osf_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"name", "version", NULL};
	static const char *const ttls[] = {"loose", "skip", NULL};
	struct expr *e = expr_at(in, EX_OSF);

	json_members(in, v, "key ttl");
	e->osf.version = need_word(in, v, "key", keys, "osf key") == 1;
	e->osf.ttl = (unsigned)(json_get_word(in, v, "ttl", ttls, "osf ttl option") + 1);
	return e;
}

static uint32_t number32(struct json_in *in, json_t *v, const char *key, bool needed)
{
	uint64_t n = 0;

	if (needed)
		json_need(in, v, key);
	json_get_number(in, v, key, UINT32_MAX, &n);
	return (uint32_t)n;
}

static struct expr *numgen_expr(struct json_in *in, json_t *v)
{
	static const char *const modes[] = {"inc", "random", NULL};
	struct expr *e = expr_at(in, EX_NUMGEN);

	json_members(in, v, "mode mod offset");
	e->numgen.type = need_word(in, v, "mode", modes, "numgen mode");
	e->numgen.mod = number32(in, v, "mod", true);
	e->numgen.offset = number32(in, v, "offset", false);
	return e;
}

static struct expr *hash_expr(struct json_in *in, json_t *v, bool jhash)
{
	struct expr *e = expr_at(in, EX_HASH);

	json_members(in, v, jhash ? "mod offset seed expr" : "mod offset");
	e->hash.mod = number32(in, v, "mod", true);
	e->hash.offset = number32(in, v, "offset", false);
	if (!jhash)
		return e;
	e->hash.has_seed = json_object_get(v, "seed");
	e->hash.seed = number32(in, v, "seed", false);
	e->hash.key = json_need_expr(in, v, "expr");
	return e;
}

static struct expr *xfrm_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"reqid", "spi", "saddr", "daddr", NULL};
	static const char *const directions[] = {"in", "out", NULL};
	struct expr *e = expr_at(in, EX_XFRM);
	uint64_t spnum = 0;

	json_members(in, v, "key family dir spnum");
	e->xfrm.key = need_word(in, v, "key", keys, "ipsec key");
	e->xfrm.direction = (uint8_t)need_word(in, v, "dir", directions, "ipsec direction");
	e->xfrm.nfproto = nfproto_of(in, v);
	json_get_number(in, v, "spnum", UINT8_MAX, &spnum);
	e->xfrm.spnum = (uint8_t)spnum;
	if (e->xfrm.key >= 2 && !e->xfrm.nfproto)
		json_fail(in, "Object item not found: family");
	return e;
}

static struct expr *tunnel_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"path", "id", NULL};
	struct expr *e = expr_at(in, EX_TUNNEL);

	json_members(in, v, "key");
	e->key = need_word(in, v, "key", keys, "tunnel key");
	return e;
}

/* --- Operators, verdicts ------------------------------------------------------------------ */

static struct expr *binop(struct json_in *in, enum expr_op op, struct expr *left,
			  struct expr *right)
{
	struct expr *e = expr_at(in, EX_BINOP);

	e->op = (uint8_t)op;
	e->pair.left = left;
	e->pair.right = right;
	return e;
}

/* A list of flags as an operand is their union. */
static struct expr *operand(struct json_in *in, struct expr *e)
{
	struct expr *all;

	if (e->kind != EX_LIST || !e->list.n)
		return e;
	all = e->list.items[0];
	for (uint32_t i = 1; i < e->list.n; i++)
		all = binop(in, OP_OR, all, e->list.items[i]);
	return all;
}

static struct expr *binop_expr(struct json_in *in, enum expr_op op, json_t *v)
{
	struct expr *list = list_expr(in, EX_LIST, v, 2);
	struct expr *e = operand(in, list->list.items[0]);

	if (list->list.n > JSON_PATH_MAX)
		json_fail(in, "More than %d operands", JSON_PATH_MAX);
	for (uint32_t i = 1; i < list->list.n; i++)
		e = binop(in, op, e, operand(in, list->list.items[i]));
	return e;
}

static struct rule_list *rules_body(struct json_in *in, json_t *rules)
{
	struct rule_list *l = arena_new(in->a, struct rule_list);

	if (!json_is_array(rules))
		json_fail(in, "Expected array, got %s", json_type_name(rules));
	l->cap = l->n = (uint32_t)json_array_size(rules);
	l->items = arena_calloc(in->a, l->n, sizeof(*l->items));
	for (uint32_t i = 0; i < l->n; i++) {
		json_t *rule = json_array_get(rules, i);

		json_enter(in, NULL, i);
		json_members(in, rule, "expr comment");
		l->items[i].loc = in->loc;
		l->items[i].comment = json_get_string(in, rule, "comment");
		json_need(in, rule, "expr");
		json_enter(in, "expr", 0);
		l->items[i].stmts = json_in_stmts(in, json_object_get(rule, "expr"));
		json_leave(in);
		json_leave(in);
	}
	return l;
}

static struct expr *verdict_expr(struct json_in *in, enum verdict_code code, json_t *v)
{
	struct expr *e = expr_at(in, EX_VERDICT);

	e->verdict.code = code;
	if (code != VERDICT_JUMP && code != VERDICT_GOTO) {
		if (!json_is_null(v))
			json_fail(in, "Expected null, got %s", json_type_name(v));
		return e;
	}
	json_members(in, v, "target rules");
	if (json_object_get(v, "rules")) {
		json_enter(in, "rules", 0);
		e->verdict.body = rules_body(in, json_object_get(v, "rules"));
		json_leave(in);
		return e;
	}
	e->verdict.name = json_in_symbol(in, json_need_string(in, v, "target"));
	return e;
}

enum form {
	F_CONCAT,
	F_SET,
	F_MAP,
	F_VMAP,
	F_PREFIX,
	F_RANGE,
	F_PAYLOAD,
	F_EXTHDR,
	F_TCP_OPTION,
	F_IP_OPTION,
	F_SCTP_CHUNK,
	F_DCCP_OPTION,
	F_META,
	F_OSF,
	F_IPSEC,
	F_SOCKET,
	F_RT,
	F_CT,
	F_NUMGEN,
	F_JHASH,
	F_SYMHASH,
	F_FIB,
	F_TUNNEL,
	F_BINOP,
	F_VERDICT,
};

static const struct {
	const char *name;
	enum form form;
	unsigned arg; /* operator, verdict */
} forms[] = {
	{"concat", F_CONCAT, 0},
	{"set", F_SET, 0},
	{"map", F_MAP, 0},
	{"vmap", F_VMAP, 0},
	{"prefix", F_PREFIX, 0},
	{"range", F_RANGE, 0},
	{"payload", F_PAYLOAD, 0},
	{"exthdr", F_EXTHDR, 0},
	{"tcp option", F_TCP_OPTION, 0},
	{"ip option", F_IP_OPTION, 0},
	{"sctp chunk", F_SCTP_CHUNK, 0},
	{"dccp option", F_DCCP_OPTION, 0},
	{"meta", F_META, 0},
	{"osf", F_OSF, 0},
	{"ipsec", F_IPSEC, 0},
	{"socket", F_SOCKET, 0},
	{"rt", F_RT, 0},
	{"ct", F_CT, 0},
	{"numgen", F_NUMGEN, 0},
	{"jhash", F_JHASH, 0},
	{"symhash", F_SYMHASH, 0},
	{"fib", F_FIB, 0},
	{"tunnel", F_TUNNEL, 0},
	{"|", F_BINOP, OP_OR},
	{"^", F_BINOP, OP_XOR},
	{"&", F_BINOP, OP_AND},
	{">>", F_BINOP, OP_RSHIFT},
	{"<<", F_BINOP, OP_LSHIFT},
	{"accept", F_VERDICT, VERDICT_ACCEPT},
	{"drop", F_VERDICT, VERDICT_DROP},
	{"continue", F_VERDICT, VERDICT_CONTINUE},
	{"return", F_VERDICT, VERDICT_RETURN},
	{"jump", F_VERDICT, VERDICT_JUMP},
	{"goto", F_VERDICT, VERDICT_GOTO},
};

struct expr *json_in_named_expr(struct json_in *in, const char *name, json_t *arg)
{
	struct expr *e = NULL;
	size_t i = 0;

	while (i < ARRAY_SIZE(forms) && strcmp(forms[i].name, name))
		i++;
	if (i == ARRAY_SIZE(forms))
		json_fail(in, "Unknown expression type '%s'", name);
	json_enter(in, forms[i].name, 0);
	switch (forms[i].form) {
	case F_CONCAT:
		e = list_expr(in, EX_CONCAT, arg, 1);
		if (e->list.n == 1)
			e = e->list.items[0];
		break;
	case F_SET:
		e = json_in_elements(in, arg);
		break;
	case F_MAP:
	case F_VMAP:
		e = map_expr(in, arg, forms[i].form == F_VMAP);
		break;
	case F_PREFIX:
		e = prefix_expr(in, arg);
		break;
	case F_RANGE:
		e = range_expr(in, arg);
		break;
	case F_PAYLOAD:
		e = payload_expr(in, arg);
		break;
	case F_EXTHDR:
		e = option_expr(in, arg, OPT_EXTHDR);
		break;
	case F_TCP_OPTION:
		e = option_expr(in, arg, OPT_TCP);
		break;
	case F_IP_OPTION:
		e = option_expr(in, arg, OPT_IP);
		break;
	case F_SCTP_CHUNK:
		e = option_expr(in, arg, OPT_SCTP_CHUNK);
		break;
	case F_DCCP_OPTION:
		e = dccp_option_expr(in, arg);
		break;
	case F_META:
		e = meta_expr(in, arg);
		break;
	case F_OSF:
		e = osf_expr(in, arg);
		break;
	case F_IPSEC:
		e = xfrm_expr(in, arg);
		break;
	case F_SOCKET:
		e = socket_expr(in, arg);
		break;
	case F_RT:
		e = rt_expr(in, arg);
		break;
	case F_CT:
		e = ct_expr(in, arg);
		break;
	case F_NUMGEN:
		e = numgen_expr(in, arg);
		break;
	case F_JHASH:
	case F_SYMHASH:
		e = hash_expr(in, arg, forms[i].form == F_JHASH);
		break;
	case F_FIB:
		e = fib_expr(in, arg);
		break;
	case F_TUNNEL:
		e = tunnel_expr(in, arg);
		break;
	case F_BINOP:
		e = binop_expr(in, (enum expr_op)forms[i].arg, arg);
		break;
	case F_VERDICT:
		e = verdict_expr(in, (enum verdict_code)forms[i].arg, arg);
		break;
	}
	json_leave(in);
	return e;
}

static struct expr *object_expr(struct json_in *in, json_t *v)
{
	json_t *arg;
	const char *name = json_only(in, v, &arg);

	if (!strcmp(name, "elem"))
		return elem_expr(in, json_in_elem(in, v));
	return json_in_named_expr(in, name, arg);
}

struct expr *json_in_expr(struct json_in *in, json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return string_expr(in, v);
	case JSON_INTEGER:
		return number_expr(in, v);
	case JSON_TRUE:
		return json_in_symbol(in, "exists");
	case JSON_FALSE:
		return json_in_symbol(in, "missing");
	case JSON_ARRAY:
		return list_expr(in, EX_LIST, v, 1);
	case JSON_OBJECT:
		return object_expr(in, v);
	default:
		json_fail(in, "Unexpected JSON type %s for expression", json_type_name(v));
	}
}

struct expr *json_get_expr(struct json_in *in, json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);
	struct expr *e;

	if (!v)
		return NULL;
	json_enter(in, key, 0);
	e = json_in_expr(in, v);
	json_leave(in);
	return e;
}

struct expr *json_need_expr(struct json_in *in, json_t *o, const char *key)
{
	json_need(in, o, key);
	return json_get_expr(in, o, key);
}
