/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: expressions as text.
 *
 * Cost: proportional to what is printed; recursion as deep as the expression, which the parsers
 * bound. One thread.
 */
#include "lang/print_int.h"

static void value_print(const struct expr *e, const struct lang_env *env, const char *between,
			struct strbuf *out)
{
	unsigned bit = 0, n = 0;
	struct expr flag;

	if (e->flags & EXF_WILDCARD) {
		ifname_print(expr_bytes(e), bits_to_bytes(e->bits), true, out);
		return;
	}
	if (!between || value_flags(e) < 2) {
		datatype_print(e->type ? e->type : &type_integer, env, expr_bytes(e), e->bits, out);
		return;
	}
	while (value_next_flag(e, &bit, &flag)) {
		if (n++)
			strbuf_puts(out, between);
		datatype_print(e->type, env, expr_bytes(&flag), flag.bits, out);
	}
}

static void list_print(const struct expr *e, const struct lang_env *env, const char *between,
		       struct strbuf *out)
{
	for (uint32_t i = 0; i < e->list.n; i++) {
		if (i)
			strbuf_puts(out, between);
		print_expr(e->list.items[i], env, out);
	}
}

static void quoted_print(const char *text, size_t len, struct strbuf *out)
{
	strbuf_putc(out, '"');
	strbuf_add(out, text, len);
	strbuf_putc(out, '"');
}

void elem_options_print(const struct elem_expr *el, const struct lang_env *env, struct strbuf *out)
{
	if (el->timeout_never) {
		strbuf_puts(out, " timeout never");
	} else if (el->has_timeout) {
		strbuf_puts(out, " timeout ");
		duration_print(el->timeout, out);
	}
	if (el->has_expires && !(env->numeric & PRINT_STATELESS)) {
		strbuf_puts(out, " expires ");
		duration_print(el->expires, out);
	}
	if (el->comment)
		strbuf_printf(out, " comment \"%s\"", el->comment);
}

static void elem_print(const struct elem_expr *el, const struct lang_env *env, struct strbuf *out)
{
	print_expr(el->key, env, out);
	for (const struct stmt *s = el->stmts; s; s = s->next) {
		strbuf_putc(out, ' ');
		print_stmt(s, env, out);
	}
	elem_options_print(el, env, out);
	if (!el->data)
		return;
	strbuf_puts(out, " : ");
	if (el->data->kind == EX_SYMBOL)
		quoted_print(el->data->symbol.text, el->data->symbol.len, out);
	else
		print_expr(el->data, env, out);
}

static void set_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	strbuf_puts(out, "{ ");
	list_print(e, env, ", ", out);
	strbuf_puts(out, e->list.n ? " }" : "}");
}

static void verdict_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	strbuf_puts(out, verdict_name(e->verdict.code));
	if (e->verdict.code != VERDICT_JUMP && e->verdict.code != VERDICT_GOTO)
		return;
	strbuf_putc(out, ' ');
	if (e->verdict.body) {
		strbuf_puts(out, "{\n");
		for (uint32_t i = 0; i < e->verdict.body->n; i++) {
			strbuf_puts(out, "\t\t\t");
			print_rule(&e->verdict.body->items[i], env, out);
			strbuf_putc(out, '\n');
		}
		strbuf_puts(out, "\t\t}");
	} else if (e->verdict.chain_name) {
		strbuf_puts(out, e->verdict.chain_name);
	} else if (e->verdict.name) {
		print_expr(e->verdict.name, env, out);
	}
}

static void raw_print(const struct expr *e, struct strbuf *out)
{
	if (e->raw.tunnel)
		strbuf_printf(out, "%s ", e->raw.tunnel->name);
	strbuf_printf(out, "@%s,%u,%u", proto_base_name(e->raw.base), e->raw.off, e->bits);
}

static void option_print(const struct expr *e, struct strbuf *out)
{
	static const char *const prefixes[] = {
		[OPT_EXTHDR] = "",	     [OPT_TCP] = "tcp option ",
		[OPT_IP] = "ip option ",     [OPT_SCTP_CHUNK] = "sctp chunk ",
		[OPT_DCCP] = "dccp option ",
	};
	const char *name = option_name(e);
	char field[FIELD_NAME_MAX];

	_Static_assert(ARRAY_SIZE(prefixes) == OPT_CLASSES, "a prefix for each class");
	if (e->option.class == OPT_EXTHDR && e->option.existence)
		strbuf_puts(out, "exthdr ");
	strbuf_puts(out, prefixes[e->option.class]);
	if (option_is_raw(e)) {
		strbuf_printf(out, "@%u,%u,%u", e->option.kind, e->option.off, e->bits);
		return;
	}
	if (name)
		strbuf_puts(out, name);
	else
		strbuf_printf(out, "%u", e->option.kind);
	if (e->option.field && !e->option.existence)
		strbuf_printf(out, " %s", option_field_name(e, field));
}

static void ct_print(const struct expr *e, struct strbuf *out)
{
	const char *direction = ct_state_direction_name(e->ct.direction);
	const char *family = ct_key_family(e);

	strbuf_puts(out, "ct ");
	if (direction)
		strbuf_printf(out, "%s ", direction);
	if (direction && family)
		strbuf_printf(out, "%s ", family);
	strbuf_puts(out, ct_keys[e->ct.key].name);
}

static void fib_print(const struct expr *e, struct strbuf *out)
{
	bool first = true;

	strbuf_puts(out, "fib ");
	for (unsigned bit = 0; fib_flag_name(bit); bit++) {
		if (!(e->fib.flags >> bit & 1))
			continue;
		strbuf_printf(out, "%s%s", first ? "" : " . ", fib_flag_name(bit));
		first = false;
	}
	strbuf_printf(out, " %s", fib_result_name(e));
}

static void hash_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	if (e->hash.key) {
		strbuf_puts(out, "jhash ");
		print_expr(e->hash.key, env, out);
	} else {
		strbuf_puts(out, "symhash");
	}
	strbuf_printf(out, " mod %u", e->hash.mod);
	if (e->hash.has_seed)
		strbuf_printf(out, " seed 0x%x", e->hash.seed);
	if (e->hash.offset)
		strbuf_printf(out, " offset %u", e->hash.offset);
}

static void xfrm_print(const struct expr *e, struct strbuf *out)
{
	const char *family = nfproto_name(e->xfrm.nfproto);

	strbuf_printf(out, "ipsec %s ", e->xfrm.direction ? "out" : "in");
	if (e->xfrm.spnum)
		strbuf_printf(out, "spnum %u ", e->xfrm.spnum);
	if (family && e->xfrm.key >= 2)
		strbuf_printf(out, "%s ", family);
	strbuf_puts(out, xfrm_key_name(e->xfrm.key));
}

static void arg_print(enum expr_op op, const struct expr *arg, const struct lang_env *env,
		      struct strbuf *out)
{
	bool parens = binop_needs_parens(op, arg);

	if (parens)
		strbuf_putc(out, '(');
	print_expr(arg, env, out);
	if (parens)
		strbuf_putc(out, ')');
}

static void binop_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	arg_print(e->op, e->pair.left, env, out);
	strbuf_printf(out, " %s ", expr_op_name(e->op));
	if ((e->op == OP_LSHIFT || e->op == OP_RSHIFT) && e->pair.right->kind == EX_VALUE)
		strbuf_printf(out, "%llu", (unsigned long long)expr_u64(e->pair.right));
	else
		arg_print(e->op, e->pair.right, env, out);
}

/* `==` is left out unless a test of bits or an operand in front would be read differently. */
static bool eq_is_listed(const struct expr *e)
{
	const struct expr *right = e->pair.right;

	if (right->kind == EX_VALUE && right->type && right->type->parent == &type_bitmask)
		return true;
	return e->pair.left->kind == EX_BINOP && right->kind != EX_RANGE &&
	       right->kind != EX_PREFIX;
}

static void compare_print(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	const struct expr *right = e->pair.right;
	const char *op = expr_op_name(e->op);

	print_expr(e->pair.left, env, out);
	strbuf_putc(out, ' ');
	if (op && (e->op != OP_EQ || eq_is_listed(e)))
		strbuf_printf(out, "%s ", op);
	if (right->kind != EX_VALUE)
		print_expr(right, env, out);
	else if (e->op == OP_IMPLICIT || e->op == OP_NOT)
		value_print(right, env, ",", out);
	else if (e->pair.left->kind == EX_PAYLOAD)
		value_print(right, env, NULL, out);
	else
		print_expr(right, env, out);
}

void print_expr(const struct expr *e, const struct lang_env *env, struct strbuf *out)
{
	static const struct lang_env no_env;

	if (!env)
		env = &no_env;
	switch ((enum expr_kind)e->kind) {
	case EX_SYMBOL:
		if (e->flags & EXF_STRING)
			quoted_print(e->symbol.text, e->symbol.len, out);
		else
			strbuf_add(out, e->symbol.text, e->symbol.len);
		break;
	case EX_VALUE:
		value_print(e, env, " | ", out);
		break;
	case EX_PREFIX:
		print_expr(e->prefix.base, env, out);
		strbuf_printf(out, "/%u", e->prefix.len);
		break;
	case EX_RANGE: {
		const struct lang_env numeric = env_numeric(env);

		print_expr(e->pair.left, &numeric, out);
		strbuf_putc(out, '-');
		print_expr(e->pair.right, &numeric, out);
		break;
	}
	case EX_SET:
		set_print(e, env, out);
		break;
	case EX_LIST:
		list_print(e, env, ",", out);
		break;
	case EX_CONCAT:
		list_print(e, env, " . ", out);
		break;
	case EX_ELEM:
		elem_print(e->elem, env, out);
		break;
	case EX_CATCHALL:
		strbuf_putc(out, '*');
		break;
	case EX_SETREF:
		strbuf_printf(out, "@%s", e->setref.name);
		break;
	case EX_MAP:
		print_expr(e->map.key, env, out);
		strbuf_puts(out, e->map.vmap ? " vmap " : " map ");
		print_expr(e->map.to, env, out);
		break;
	case EX_VERDICT:
		verdict_print(e, env, out);
		break;
	case EX_PAYLOAD:
		if (e->payload.tunnel)
			strbuf_printf(out, "%s ", e->payload.tunnel->name);
		strbuf_printf(out, "%s %s", e->payload.header->name, e->payload.field->name);
		break;
	case EX_RAW:
		raw_print(e, out);
		break;
	case EX_OPTION:
		option_print(e, out);
		break;
	case EX_META:
		if (!meta_key_is_unqualified(e->key))
			strbuf_puts(out, "meta ");
		strbuf_puts(out, meta_keys[e->key].name);
		break;
	case EX_CT:
		ct_print(e, out);
		break;
	case EX_RT:
		strbuf_puts(out, "rt ");
		if (e->rt.key == 1 && nfproto_name(e->rt.nfproto))
			strbuf_printf(out, "%s ", nfproto_name(e->rt.nfproto));
		strbuf_puts(out, rt_key_name(e->rt.key));
		break;
	case EX_SOCKET:
		strbuf_printf(out, "socket %s", socket_key_name(e->socket.key));
		if (e->socket.key == 3)
			strbuf_printf(out, " level %u", e->socket.level);
		break;
	case EX_FIB:
		fib_print(e, out);
		break;
	case EX_OSF:
		strbuf_printf(out, "osf %s%s",
			      e->osf.ttl == 1	? "ttl loose "
			      : e->osf.ttl == 2 ? "ttl skip "
						: "",
			      e->osf.version ? "version" : "name");
		break;
	case EX_NUMGEN:
		strbuf_printf(out, "numgen %s mod %u", e->numgen.type ? "random" : "inc",
			      e->numgen.mod);
		if (e->numgen.offset)
			strbuf_printf(out, " offset %u", e->numgen.offset);
		break;
	case EX_HASH:
		hash_print(e, env, out);
		break;
	case EX_XFRM:
		xfrm_print(e, out);
		break;
	case EX_TUNNEL:
		strbuf_puts(out, e->key ? "tunnel id" : "tunnel path");
		break;
	case EX_BINOP:
		binop_print(e, env, out);
		break;
	case EX_COMPARE:
		compare_print(e, env, out);
		break;
	case EX_MEMBERS:
	case EX_KINDS:
		break;
	}
}
