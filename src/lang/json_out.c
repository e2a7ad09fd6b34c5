/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: expressions as JSON, in the schema of libnftables-json(5).
 *
 * Cost: proportional to what is printed; recursion as deep as the expression. One thread.
 */
#include <stdlib.h>

#include "lang/json_out_int.h"

void json_put(json_t **object, const char *key, json_t *v)
{
	if (!*object) {
		json_decref(v);
	} else if (json_object_set_new_nocheck(*object, key, v) < 0) {
		json_decref(*object);
		*object = NULL;
	}
}

void json_add(json_t **array, json_t *v)
{
	if (!*array) {
		json_decref(v);
	} else if (json_array_append_new(*array, v) < 0) {
		json_decref(*array);
		*array = NULL;
	}
}

json_t *json_wrap(const char *key, json_t *v)
{
	json_t *o = json_object();

	json_put(&o, key, v);
	return o;
}

json_t *json_text(const char *text, size_t len)
{
	json_t *v = json_stringn(text, len);
	struct strbuf utf8 = STRBUF_INIT;

	if (v)
		return v;
	strbuf_add_latin1(&utf8, text, len);
	if (!strbuf_error(&utf8))
		v = json_stringn(strbuf_str(&utf8), utf8.len);
	strbuf_free(&utf8);
	return v;
}

json_t *json_cstring(const char *text)
{
	return json_text(text, strlen(text));
}

json_t *json_one_or_list(json_t *array)
{
	json_t *one;

	if (json_array_size(array) != 1)
		return array;
	one = json_incref(json_array_get(array, 0));
	json_decref(array);
	return one;
}

static bool text_is_number(const char *text)
{
	if (text[0] == '0' && text[1] == 'x')
		return text[2 + strspn(text + 2, "0123456789abcdef")] == 0;
	return *text && text[strspn(text, "0123456789")] == 0;
}

/* What prints as a plain number is one; what has a name or a form of its own is a string. */
static json_t *value_json(const struct expr *e, const struct lang_env *env)
{
	const struct datatype *t = e->type ? e->type : &type_integer;
	struct strbuf text = STRBUF_INIT;
	const char *s;
	json_t *v = NULL;

	if (t == &type_boolean || t == &type_exthdr_bool)
		return json_boolean(expr_u64(e) != 0);
	if (t == &type_time)
		return json_integer((json_int_t)(expr_u64(e) / 1000));
	if (e->flags & EXF_WILDCARD)
		ifname_print(expr_bytes(e), bits_to_bytes(e->bits), true, &text);
	else
		datatype_print(t, env, expr_bytes(e), e->bits, &text);
	s = strbuf_str(&text);
	if (strbuf_error(&text))
		v = NULL;
	else if (*s == '"')
		v = json_text(s + 1, text.len - 2);
	else if (t->base == TBASE_STRING || !text_is_number(s))
		v = json_text(s, text.len);
	else if (e->bits <= 64 && expr_u64(e) <= INT64_MAX)
		v = json_integer((json_int_t)expr_u64(e));
	else
		v = json_text(s, text.len);
	strbuf_free(&text);
	return v;
}

static void flags_add(json_t **array, const struct expr *value, const struct lang_env *env)
{
	unsigned bit = 0;
	struct expr flag;

	if (value_flags(value) < 2) {
		json_add(array, value_json(value, env));
		return;
	}
	while (value_next_flag(value, &bit, &flag))
		json_add(array, value_json(&flag, env));
}

json_t *json_flags(const struct expr *value, const struct lang_env *env)
{
	json_t *array = json_array();

	flags_add(&array, value, env);
	return json_one_or_list(array);
}

/* `a | b | c` is one list: the left arguments of the same operator are its first items. */
static void binop_add(json_t **array, enum expr_op op, const struct expr *e,
		      const struct lang_env *env)
{
	if (e->kind == EX_BINOP && e->op == op) {
		binop_add(array, op, e->pair.left, env);
		binop_add(array, op, e->pair.right, env);
	} else if (op == OP_OR && e->kind == EX_VALUE) {
		flags_add(array, e, env);
	} else {
		json_add(array, json_expr(e, env));
	}
}

static json_t *binop_json(const struct expr *e, const struct lang_env *env)
{
	json_t *array = json_array();

	if (e->op == OP_LSHIFT || e->op == OP_RSHIFT) {
		json_add(&array, json_expr(e->pair.left, env));
		json_add(&array, e->pair.right->kind == EX_VALUE
					 ? json_integer((json_int_t)expr_u64(e->pair.right))
					 : json_expr(e->pair.right, env));
	} else {
		binop_add(&array, e->op, e->pair.left, env);
		binop_add(&array, e->op, e->pair.right, env);
	}
	return json_wrap(expr_op_name(e->op), array);
}

static json_t *list_json(const struct expr_list *l, const struct lang_env *env)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < l->n; i++)
		json_add(&array, json_expr(l->items[i], env));
	return array;
}

json_t *json_elem(const struct elem_expr *el, bool with_stmts, const struct lang_env *env)
{
	const bool stateless = env->numeric & PRINT_STATELESS;
	json_t *key = json_expr(el->key, env), *o;

	if (!el->has_timeout && !el->timeout_never && (!el->has_expires || stateless) &&
	    !el->comment && (!el->stmts || !with_stmts))
		return key;
	o = json_wrap("val", key);
	if (el->timeout_never)
		json_put(&o, "timeout", json_string("never"));
	else if (el->has_timeout)
		json_put(&o, "timeout", json_integer((json_int_t)(el->timeout / 1000)));
	if (el->has_expires && !stateless)
		json_put(&o, "expires", json_integer((json_int_t)(el->expires / 1000)));
	if (el->comment)
		json_put(&o, "comment", json_cstring(el->comment));
	for (const struct stmt *s = el->stmts; s && with_stmts; s = s->next) {
		json_t *stmt = json_stmt(s, env);

		if (o && (!stmt || json_object_update(o, stmt) < 0)) {
			json_decref(o);
			o = NULL;
		}
		json_decref(stmt);
	}
	return json_wrap("elem", o);
}

static json_t *elem_json(const struct elem_expr *el, const struct lang_env *env)
{
	json_t *key = json_elem(el, true, env), *pair;

	if (!el->data)
		return key;
	pair = json_array();
	json_add(&pair, key);
	json_add(&pair, json_expr(el->data, env));
	return pair;
}

static json_t *verdict_json(const struct expr *e, const struct lang_env *env)
{
	json_t *target;

	if (e->verdict.code != VERDICT_JUMP && e->verdict.code != VERDICT_GOTO)
		return json_wrap(verdict_name(e->verdict.code), json_null());
	if (e->verdict.body) {
		json_t *rules = json_array();

		for (uint32_t i = 0; i < e->verdict.body->n; i++) {
			const struct rule_decl *r = &e->verdict.body->items[i];
			json_t *rule = json_wrap("expr", json_stmts(r->stmts, env));

			if (r->comment)
				json_put(&rule, "comment", json_cstring(r->comment));
			json_add(&rules, rule);
		}
		return json_wrap(verdict_name(e->verdict.code), json_wrap("rules", rules));
	}
	if (e->verdict.chain_name)
		target = json_cstring(e->verdict.chain_name);
	else
		target = json_expr(e->verdict.name, env);
	return json_wrap(verdict_name(e->verdict.code), json_wrap("target", target));
}

static json_t *raw_json(const struct expr *e)
{
	json_t *o = json_object();

	if (e->raw.tunnel)
		json_put(&o, "tunnel", json_string(e->raw.tunnel->name));
	json_put(&o, "base", json_string(proto_base_name(e->raw.base)));
	json_put(&o, "offset", json_integer(e->raw.off));
	json_put(&o, "len", json_integer(e->bits));
	return json_wrap("payload", o);
}

static json_t *payload_json(const struct expr *e)
{
	json_t *o = json_object();

	if (e->payload.tunnel)
		json_put(&o, "tunnel", json_string(e->payload.tunnel->name));
	json_put(&o, "protocol", json_string(e->payload.header->name));
	json_put(&o, "field", json_string(e->payload.field->name));
	return json_wrap("payload", o);
}

static json_t *option_json(const struct expr *e)
{
	static const char *const keys[] = {
		[OPT_EXTHDR] = "exthdr",	 [OPT_TCP] = "tcp option",   [OPT_IP] = "ip option",
		[OPT_SCTP_CHUNK] = "sctp chunk", [OPT_DCCP] = "dccp option",
	};
	const char *name = option_name(e);
	char field[FIELD_NAME_MAX];
	json_t *o = json_object();

	if (e->option.class == OPT_DCCP) {
		json_put(&o, "type", json_integer(e->option.kind));
	} else if (option_is_raw(e) || !name) {
		json_put(&o, "base", json_integer(e->option.kind));
		json_put(&o, "offset", json_integer(e->option.existence ? 0 : e->option.off));
		json_put(&o, "len", json_integer(e->option.existence ? 8 : e->bits));
	} else {
		json_put(&o, "name", json_string(name));
		if (!e->option.existence)
			json_put(&o, "field", json_string(option_field_name(e, field)));
	}
	return json_wrap(keys[e->option.class], o);
}

static json_t *ct_json(const struct expr *e)
{
	const char *direction = ct_state_direction_name(e->ct.direction);
	const char *family = ct_key_family(e);
	struct strbuf key = STRBUF_INIT;
	json_t *o;

	if (direction && family)
		strbuf_printf(&key, "%s ", family);
	strbuf_puts(&key, ct_keys[e->ct.key].name);
	o = json_wrap("key", strbuf_error(&key) ? NULL : json_string(strbuf_str(&key)));
	strbuf_free(&key);
	if (direction)
		json_put(&o, "dir", json_string(direction));
	return json_wrap("ct", o);
}

static json_t *rt_json(const struct expr *e)
{
	json_t *o = json_wrap("key", json_string(rt_key_name(e->rt.key)));

	if (e->rt.key == 1 && nfproto_name(e->rt.nfproto))
		json_put(&o, "family", json_string(nfproto_name(e->rt.nfproto)));
	return json_wrap("rt", o);
}

static json_t *socket_json(const struct expr *e)
{
	json_t *o = json_wrap("key", json_string(socket_key_name(e->socket.key)));

	if (e->socket.key == 3)
		json_put(&o, "level", json_integer(e->socket.level));
	return json_wrap("socket", o);
}

static json_t *fib_json(const struct expr *e)
{
	json_t *o = json_wrap("result", json_string(fib_result_name(e)));
	json_t *flags = json_array();

	for (unsigned bit = 0; fib_flag_name(bit); bit++)
		if (e->fib.flags >> bit & 1)
			json_add(&flags, json_string(fib_flag_name(bit)));
	json_put(&o, "flags", flags);
	return json_wrap("fib", o);
}

static json_t *osf_json(const struct expr *e)
{
	json_t *o = json_wrap("key", json_string(e->osf.version ? "version" : "name"));

	if (e->osf.ttl)
		json_put(&o, "ttl", json_string(e->osf.ttl == 1 ? "loose" : "skip"));
	return json_wrap("osf", o);
}

static json_t *numgen_json(const struct expr *e)
{
	json_t *o = json_wrap("mode", json_string(e->numgen.type ? "random" : "inc"));

	json_put(&o, "mod", json_integer(e->numgen.mod));
	json_put(&o, "offset", json_integer(e->numgen.offset));
	return json_wrap("numgen", o);
}

static json_t *hash_json(const struct expr *e, const struct lang_env *env)
{
	json_t *o = json_wrap("mod", json_integer(e->hash.mod));

	if (e->hash.has_seed)
		json_put(&o, "seed", json_integer(e->hash.seed));
	if (e->hash.offset)
		json_put(&o, "offset", json_integer(e->hash.offset));
	if (!e->hash.key)
		return json_wrap("symhash", o);
	json_put(&o, "expr", json_expr(e->hash.key, env));
	return json_wrap("jhash", o);
}

static json_t *xfrm_json(const struct expr *e)
{
	json_t *o = json_wrap("key", json_string(xfrm_key_name(e->xfrm.key)));
	const char *family = nfproto_name(e->xfrm.nfproto);

	if (family && e->xfrm.key >= 2)
		json_put(&o, "family", json_string(family));
	json_put(&o, "dir", json_string(e->xfrm.direction ? "out" : "in"));
	json_put(&o, "spnum", json_integer(e->xfrm.spnum));
	return json_wrap("ipsec", o);
}

static json_t *compare_json(const struct expr *e, const struct lang_env *env)
{
	const struct expr *right = e->pair.right;
	const struct expr *left = e->pair.left;
	/* Hours over midnight, in the kernel's UTC, are no range to nft. */
	const bool over_midnight = left->kind == EX_META && left->key == META_HOUR &&
				   right->kind == EX_RANGE && e->op == OP_EQ &&
				   right->pair.left->kind == EX_VALUE &&
				   expr_u64(right->pair.left) > expr_u64(right->pair.right);
	const char *op = e->op == OP_IMPLICIT || over_midnight ? "in" : expr_op_name(e->op);
	const bool flags = e->op == OP_IMPLICIT || e->op == OP_NOT;
	json_t *o = json_wrap("op", json_string(op));

	json_put(&o, "left", json_expr(e->pair.left, env));
	if (right->kind == EX_VALUE && flags)
		json_put(&o, "right", json_flags(right, env));
	else if (right->kind == EX_VALUE && e->pair.left->kind == EX_PAYLOAD)
		json_put(&o, "right", value_json(right, env));
	else
		json_put(&o, "right", json_expr(right, env));
	return json_wrap("match", o);
}

static json_t *set_ref_json(const char *name)
{
	struct strbuf text = STRBUF_INIT;
	json_t *v;

	strbuf_printf(&text, "@%s", name);
	v = strbuf_error(&text) ? NULL : json_text(strbuf_str(&text), text.len);
	strbuf_free(&text);
	return v;
}

json_t *json_expr(const struct expr *e, const struct lang_env *env)
{
	static const struct lang_env no_env;
	json_t *o;

	if (!env)
		env = &no_env;
	switch ((enum expr_kind)e->kind) {
	case EX_SYMBOL:
		return json_text(e->symbol.text, e->symbol.len);
	case EX_VALUE:
		if (value_flags(e) > 1) {
			o = json_array();
			flags_add(&o, e, env);
			return json_wrap("|", o);
		}
		return value_json(e, env);
	case EX_PREFIX:
		o = json_wrap("addr", json_expr(e->prefix.base, env));
		json_put(&o, "len", json_integer(e->prefix.len));
		return json_wrap("prefix", o);
	case EX_RANGE:
		o = json_array();
		json_add(&o, json_expr(e->pair.left, env));
		json_add(&o, json_expr(e->pair.right, env));
		return json_wrap("range", o);
	case EX_SET:
		return json_wrap("set", list_json(&e->list, env));
	case EX_LIST:
		return list_json(&e->list, env);
	case EX_CONCAT:
		return json_wrap("concat", list_json(&e->list, env));
	case EX_ELEM:
		return elem_json(e->elem, env);
	case EX_CATCHALL:
		return json_string("*");
	case EX_SETREF:
		return set_ref_json(e->setref.name);
	case EX_MAP:
		o = json_wrap("key", json_expr(e->map.key, env));
		json_put(&o, "data", json_expr(e->map.to, env));
		return json_wrap(e->map.vmap ? "vmap" : "map", o);
	case EX_VERDICT:
		return verdict_json(e, env);
	case EX_PAYLOAD:
		return payload_json(e);
	case EX_RAW:
		return raw_json(e);
	case EX_OPTION:
		return option_json(e);
	case EX_META:
		return json_wrap("meta", json_wrap("key", json_string(meta_keys[e->key].name)));
	case EX_CT:
		return ct_json(e);
	case EX_RT:
		return rt_json(e);
	case EX_SOCKET:
		return socket_json(e);
	case EX_FIB:
		return fib_json(e);
	case EX_OSF:
		return osf_json(e);
	case EX_NUMGEN:
		return numgen_json(e);
	case EX_HASH:
		return hash_json(e, env);
	case EX_XFRM:
		return xfrm_json(e);
	case EX_TUNNEL:
		return json_wrap("tunnel", json_wrap("key", json_string(e->key ? "id" : "path")));
	case EX_BINOP:
		return binop_json(e, env);
	case EX_COMPARE:
		return compare_json(e, env);
	case EX_MEMBERS:
	case EX_KINDS:
		break;
	}
	return NULL;
}
