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

static bool elem_is_plain(const struct elem_expr *el)
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

struct elem_expr *json_in_elem(struct json_in *in, json_t *v)
{
	static const char *const stateful[] = {"counter", "quota", "limit", "last", "ct count"};
	struct elem_expr *el = arena_new(in->a, struct elem_expr);
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

static struct expr *elem_expr(struct json_in *in, struct elem_expr *el)
{
	struct expr *e;

	if (elem_is_plain(el))
		return el->key;
	e = expr_at(in, EX_ELEM);
	e->elem = el;
	return e;
}

/* A key, or a pair of key and data. */
void json_in_set_item(struct json_in *in, json_t *v, void *arg)
{
	struct expr *set = arg, *e;
	struct elem_expr *el;

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
	struct expr *set = expr_at(in, EX_SET), *e;
	const struct json_cut *cut = json_cut_find(in, v);

	if (!cut) {
		json_each(in, v, json_in_set_item, set);
		return set;
	}
	e = expr_new(in->a, EX_MEMBERS, (struct loc){in->loc.src, cut->begin, cut->end});
	e->members.n = e->members.nodes = cut->n;
	expr_list_add(in->a, &set->list, e);
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
	json_enter(in, name, 0);
	if (i == ARRAY_SIZE(forms)) {
		e = json_in_selector(in, name, arg);
		json_leave(in);
		if (!e)
			json_fail(in, "Unknown expression type '%s'", name);
		return e;
	}
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
