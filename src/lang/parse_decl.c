/* SPDX-License-Identifier: Apache-2.0 */
/* parse_decl: the bodies of tables, chains, sets, maps and flowtables. */
#include "lang/parser.h"

/* --- Hooks, priorities, devices -------------------------------------------------------------- */

/* A word that means something only after the whole line was read, as nft has it. */
static struct token word_take(struct parser *p)
{
	if (!token_is(p, T_WORD) || keyword_is_reserved(p->tok.kw))
		parse_syntax_error(p, "string");
	struct token t = p->tok;
	token_next(p);
	return t;
}

static unsigned word_find(struct parser *p, const struct token *t, struct loc loc,
			  const char *const *words, unsigned n, const char *message)
{
	for (unsigned i = 0; i < n; i++)
		if (words[i] && strlen(words[i]) == t->len && !memcmp(words[i], t->text, t->len))
			return i;
	parse_error(p, loc, "%s", message);
}

static enum hook hook_find(struct parser *p, const struct token *t, struct loc loc)
{
	static const char *const names[] = {
		[HOOK_INGRESS] = "ingress", [HOOK_PREROUTING] = "prerouting",
		[HOOK_INPUT] = "input",	    [HOOK_FORWARD] = "forward",
		[HOOK_OUTPUT] = "output",   [HOOK_POSTROUTING] = "postrouting",
		[HOOK_EGRESS] = "egress",
	};
	return (enum hook)word_find(p, t, loc, names, HOOKS, "unknown chain hook");
}

static int32_t signed_number(struct parser *p, bool negative)
{
	int64_t v = (int64_t)parse_number_max(p, negative ? (uint64_t)INT32_MAX + 1 : INT32_MAX);
	return (int32_t)(negative ? -v : v);
}

/* priority -10; priority filter + 5; priority $x */
static void parse_priority(struct parser *p, struct expr **expr, int32_t *number, int32_t *offset,
			   struct loc *loc)
{
	*expr = NULL;
	*number = *offset = 0;
	*loc = token_loc(p);
	token_expect_kw(p, KW_PRIORITY);
	if (token_is(p, T_NUMBER) || token_is(p, T_DASH)) {
		*number = signed_number(p, token_accept(p, T_DASH));
		*loc = parse_span(p, *loc);
		return;
	}
	if (token_is(p, T_DOLLAR))
		*expr = parse_variable(p);
	else if (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw))
		*expr = parse_symbol(p);
	else
		parse_syntax_error(p, NULL);
	if (token_is(p, T_PLUS) || token_is(p, T_DASH)) {
		bool negative = token_is(p, T_DASH);
		token_next(p);
		*offset = signed_number(p, negative);
	}
	*loc = parse_span(p, *loc);
}

static void add_devices(struct parser *p, struct expr_list *l, struct expr *e)
{
	if (e->kind != EX_SET && e->kind != EX_LIST) {
		expr_list_add(p->a, l, e);
		return;
	}
	for (uint32_t i = 0; i < e->list.n; i++)
		add_devices(p, l, e->list.items[i]);
}

static struct expr *parse_device(struct parser *p)
{
	if (token_is(p, T_DOLLAR))
		return parse_variable(p);
	bool ok = token_is(p, T_QUOTED) || token_is(p, T_WILDCARD) ||
		  (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw));
	if (!ok)
		parse_syntax_error(p, NULL);
	return parse_symbol(p);
}

/* devices = { a, b }, devices = $x */
static void parse_devices(struct parser *p, struct expr_list *l)
{
	token_next(p);
	token_expect(p, T_ASSIGN, "'='");
	if (token_is(p, T_DOLLAR)) {
		add_devices(p, l, parse_variable(p));
		return;
	}
	token_expect(p, T_LBRACE, "'{' or '$'");
	token_skip_newlines(p);
	while (!token_is(p, T_RBRACE)) {
		add_devices(p, l, parse_device(p));
		token_skip_commas(p);
	}
	token_next(p);
}

/* --- Chains ---------------------------------------------------------------------------------- */

struct chain_body {
	struct cmd *chain;
	struct cmd_list *rules;
};

/* type filter hook input device "eth0" priority 0 */
static void parse_hook_spec(struct parser *p, struct chain_decl *d)
{
	static const char *const types[] = {"filter", "nat", "route"};
	token_next(p);
	struct loc type_loc = token_loc(p);
	struct token type = word_take(p);
	token_expect_kw(p, KW_HOOK);
	struct loc hook_loc = token_loc(p);
	struct token hook = word_take(p);
	d->devices_loc = token_loc(p);
	if (token_is_kw(p, KW_DEVICES))
		parse_devices(p, &d->devices);
	else if (token_accept_kw(p, KW_DEVICE))
		add_devices(p, &d->devices, parse_device(p));
	d->devices_loc = parse_span(p, d->devices_loc);
	parse_priority(p, &d->priority_expr, &d->priority, &d->priority_offset, &d->priority_loc);
	d->type = (enum chain_type)word_find(p, &type, type_loc, types, ARRAY_SIZE(types),
					     "unknown chain type");
	d->hook = hook_find(p, &hook, hook_loc);
	d->hook_loc = hook_loc;
	d->base = true;
}

static void parse_policy(struct parser *p, struct chain_decl *d)
{
	struct loc start = token_loc(p);
	token_next(p);
	if (d->has_policy)
		parse_error(p, start, "you cannot set chain policy twice");
	if (token_is(p, T_DOLLAR))
		d->policy_expr = parse_variable(p);
	else if (token_accept_kw(p, KW_ACCEPT))
		d->policy = VERDICT_ACCEPT;
	else if (token_accept_kw(p, KW_DROP))
		d->policy = VERDICT_DROP;
	else
		parse_syntax_error(p, "accept or drop or '$'");
	d->has_policy = true;
}

static void chain_rule(struct parser *p, struct chain_body *b)
{
	struct cmd *c = cmd_from(p, b->chain, CO_RULE, token_loc(p));
	parse_rule(p, &c->rule);
	parse_end_of_item(p);
	c->loc = c->rule.loc;
	cmd_list_add(b->rules, c);
}

static void chain_item(struct parser *p, void *arg)
{
	struct chain_body *b = arg;
	struct chain_decl *d = b->chain->chain_decl;
	switch (p->tok.kw) {
	case KW_TYPE:
		parse_hook_spec(p, d);
		break;
	case KW_POLICY:
		parse_policy(p, d);
		break;
	case KW_FLAGS:
		token_next(p);
		token_expect_kw(p, KW_OFFLOAD);
		d->offload = true;
		break;
	case KW_COMMENT:
		d->comment = parse_comment(p, d->comment);
		break;
	case KW_DEVICES:
		d->devices_loc = token_loc(p);
		parse_devices(p, &d->devices);
		d->devices_loc = parse_span(p, d->devices_loc);
		break;
	default:
		chain_rule(p, b);
		return;
	}
	parse_end_of_item(p);
}

void parse_chain_block(struct parser *p, struct cmd *chain, struct cmd_list *rules)
{
	struct chain_body b = {chain, rules};
	chain->chain_decl = arena_new(p->a, struct chain_decl);
	parse_block(p, chain_item, &b);
}

/* --- Sets and maps --------------------------------------------------------------------------- */

struct set_body {
	struct cmd *set;
	struct cmd_list *elements;
	struct stmt **last; /* where the next statement is linked */
};

static void parse_type(struct parser *p, struct set_type *t)
{
	do {
		if (!token_is(p, T_WORD))
			parse_syntax_error(p, "string");
		const struct datatype *d = datatype_find(p->tok.text, p->tok.len);
		if (!d)
			parse_error(p, token_loc(p), "unknown datatype %.*s", (int)p->tok.len,
				    p->tok.text);
		if (t->n == CONCAT_MAX)
			parse_error(p, token_loc(p), "concatenation of more than %d types",
				    CONCAT_MAX);
		t->bits[t->n] = d->bits;
		t->fields[t->n++] = d;
		token_next(p);
	} while (token_accept(p, T_DOT));
}

static bool parse_typeof_data(struct parser *p, struct set_decl *d)
{
	if (!token_is_word(p, "verdict"))
		return false;
	token_next(p);
	d->data.n = 1;
	d->data.fields[0] = &type_verdict;
	return true;
}

/* `ct helper` and the like, not `ct mark`. */
static bool next_is_ct_object(const struct parser *p)
{
	static const char *const words[] = {"helper", "timeout", "expectation"};
	struct token t = token_peek(p);
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (t.len == strlen(words[i]) && !memcmp(t.text, words[i], t.len))
			return true;
	return false;
}

/* Behind the colon of a map's type. */
static void parse_data_type(struct parser *p, struct set_decl *d, bool is_typeof)
{
	if (!(is_typeof && token_is_kw(p, KW_CT) && !next_is_ct_object(p)) &&
	    parse_object_kind(p, &d->obj)) {
		d->flags |= SETF_OBJECT;
		return;
	}
	d->data.interval = token_accept_kw(p, KW_INTERVAL);
	if (!is_typeof)
		parse_type(p, &d->data);
	else if (!parse_typeof_data(p, d))
		d->data.of = parse_concat(p);
}

static void parse_set_type(struct parser *p, struct set_decl *d, bool is_map)
{
	struct loc start = token_loc(p);
	if (d->key.n || d->key.of)
		parse_duplicate(p, start);
	bool is_typeof = token_is_kw(p, KW_TYPEOF);
	token_next(p);
	if (is_typeof)
		d->key.of = parse_concat(p);
	else
		parse_type(p, &d->key);
	if (is_map) {
		token_expect(p, T_COLON, "colon");
		parse_data_type(p, d, is_typeof);
	}
	d->type_loc = parse_span(p, start);
}

static uint32_t parse_set_flags(struct parser *p)
{
	uint32_t flags = 0;
	token_next(p);
	do {
		if (token_accept_kw(p, KW_CONSTANT))
			flags |= SETF_CONSTANT;
		else if (token_accept_kw(p, KW_INTERVAL))
			flags |= SETF_INTERVAL;
		else if (token_accept_kw(p, KW_TIMEOUT))
			flags |= SETF_TIMEOUT;
		else if (token_accept_kw(p, KW_DYNAMIC))
			flags |= SETF_DYNAMIC;
		else
			parse_syntax_error(p, "constant or interval or dynamic or timeout");
	} while (token_accept(p, T_COMMA));
	return flags;
}

static void parse_set_policy(struct parser *p, struct set_decl *d)
{
	token_next(p);
	d->policy_memory = token_accept_word(p, "memory");
	if (!d->policy_memory)
		if (!token_accept_word(p, "performance"))
			parse_syntax_error(p, "performance or memory");
	d->has_policy = true;
}

static void parse_elements(struct parser *p, struct set_body *b)
{
	struct loc start = token_loc(p);
	token_next(p);
	token_expect(p, T_ASSIGN, "'='");
	struct cmd *c = cmd_from(p, b->set, CO_ELEMENTS, start);
	c->expr = parse_set_or_variable(p);
	c->loc = parse_span(p, start);
	if (c->expr->kind != EX_SET || c->expr->list.n)
		cmd_list_add(b->elements, c);
}

static void parse_set_stmts(struct parser *p, struct set_body *b)
{
	while (token_is_stateful(p)) {
		*b->last = parse_stateful(p);
		b->last = &(*b->last)->next;
	}
}

static void set_item(struct parser *p, void *arg)
{
	struct set_body *b = arg;
	struct set_decl *d = b->set->set_decl;
	switch (p->tok.kw) {
	case KW_TYPE:
	case KW_TYPEOF:
		parse_set_type(p, d, d->flags & SETF_MAP);
		break;
	case KW_FLAGS:
		d->flags |= parse_set_flags(p);
		break;
	case KW_TIMEOUT:
		token_next(p);
		d->timeout = parse_time(p);
		break;
	case KW_GC_INTERVAL:
		token_next(p);
		d->gc_interval = parse_time(p);
		break;
	case KW_SIZE:
		token_next(p);
		d->size = (uint32_t)parse_number_max(p, UINT32_MAX);
		break;
	case KW_POLICY:
		parse_set_policy(p, d);
		break;
	/* The next line may follow these two at once, as nft has it. */
	case KW_AUTO_MERGE:
		token_next(p);
		d->auto_merge = true;
		return;
	case KW_ELEMENTS:
		parse_elements(p, b);
		return;
	case KW_COMMENT:
		d->comment = parse_comment(p, d->comment);
		break;
	default:
		if (!token_is_stateful(p))
			parse_syntax_error(p, NULL);
		parse_set_stmts(p, b);
		break;
	}
	parse_end_of_item(p);
}

void parse_set_block(struct parser *p, struct cmd *set, struct cmd_list *elements)
{
	struct set_body b = {set, elements, NULL};
	set->set_decl = arena_new(p->a, struct set_decl);
	b.last = &set->set_decl->stmts;
	set->set_decl->flags = set->obj == CO_MAP ? SETF_MAP : 0;
	set->set_decl->type_loc = token_loc(p);
	set->set_decl->loc = parse_block(p, set_item, &b);
}

/* --- Flowtables ------------------------------------------------------------------------------ */

static void flowtable_item(struct parser *p, void *arg)
{
	struct flowtable_decl *d = ((struct cmd *)arg)->flowtable_decl;
	struct token hook;
	struct loc loc;
	switch (p->tok.kw) {
	case KW_HOOK:
		token_next(p);
		loc = token_loc(p);
		hook = word_take(p);
		parse_priority(p, &d->priority_expr, &d->priority, &d->priority_offset,
			       &d->priority_loc);
		d->hook = hook_find(p, &hook, loc);
		break;
	case KW_DEVICES:
		parse_devices(p, &d->devices);
		break;
	case KW_COUNTER: /* the next line may follow at once, as nft has it */
		token_next(p);
		d->counter = true;
		return;
	case KW_FLAGS:
		token_next(p);
		token_expect_kw(p, KW_OFFLOAD);
		d->offload = true;
		break;
	default:
		parse_syntax_error(p, NULL);
	}
	parse_end_of_item(p);
}

void parse_flowtable_block(struct parser *p, struct cmd *flowtable)
{
	flowtable->flowtable_decl = arena_new(p->a, struct flowtable_decl);
	parse_block(p, flowtable_item, flowtable);
}

/* --- Tables ---------------------------------------------------------------------------------- */

struct table_body {
	struct cmd *table;
	struct cmd_list chains, objects, sets, flowtables, elements, rules;
};

static void parse_table_flags(struct parser *p, struct table_decl *d)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flags[] = {
		{"dormant", TABLEF_DORMANT}, {"owner", TABLEF_OWNER}, {"persist", TABLEF_PERSIST}};
	token_next(p);
	do {
		unsigned i = 0;
		if (!token_is(p, T_WORD))
			parse_syntax_error(p, "string");
		while (i < ARRAY_SIZE(flags) && !token_is_word(p, flags[i].name))
			i++;
		if (i == ARRAY_SIZE(flags))
			parse_error(p, token_loc(p), "unknown table option %.*s", (int)p->tok.len,
				    p->tok.text);
		d->flags |= flags[i].flag;
		token_next(p);
	} while (token_accept(p, T_COMMA));
}

/* The word that says what is declared was taken; the name follows. */
static struct cmd *member(struct parser *p, struct table_body *b, enum cmd_obj obj,
			  struct loc start)
{
	struct cmd *c = cmd_from(p, b->table, obj, start);
	struct name_at name = parse_identifier(p);
	if (obj == CO_CHAIN)
		c->chain = name;
	else
		c->name = name;
	c->loc = name.loc;
	if (!token_is(p, T_LBRACE))
		parse_syntax_error(p, "'{'");
	return c;
}

static void table_item(struct parser *p, void *arg)
{
	struct table_body *b = arg;
	struct loc start = token_loc(p);
	enum keyword kw = p->tok.kw;
	enum obj_kind kind;
	struct cmd *c;
	if (parse_object_kind(p, &kind)) {
		c = member(p, b, CO_OBJECT, start);
		c->obj_kind = kind;
		cmd_list_add(&b->objects, c);
		parse_object_body(p, c);
		parse_end_of_item(p);
		return;
	}
	switch (kw) {
	case KW_FLAGS:
		parse_table_flags(p, &b->table->table_decl);
		break;
	case KW_COMMENT:
		b->table->table_decl.comment = parse_comment(p, b->table->table_decl.comment);
		break;
	case KW_CHAIN:
		token_next(p);
		c = member(p, b, CO_CHAIN, start);
		cmd_list_add(&b->chains, c);
		parse_chain_block(p, c, &b->rules);
		break;
	case KW_SET:
	case KW_MAP:
		token_next(p);
		c = member(p, b, kw == KW_SET ? CO_SET : CO_MAP, start);
		cmd_list_add(&b->sets, c);
		parse_set_block(p, c, &b->elements);
		c->set_decl->loc = c->loc;
		break;
	case KW_FLOWTABLE:
		token_next(p);
		c = member(p, b, CO_FLOWTABLE, start);
		cmd_list_add(&b->flowtables, c);
		parse_flowtable_block(p, c);
		break;
	default:
		parse_syntax_error(p, NULL);
	}
	parse_end_of_item(p);
}

void parse_table_block(struct parser *p, struct cmd *table, struct cmd_list *contents)
{
	/* In the arena: an error may jump out of the middle of it. */
	struct table_body *b = arena_new(p->a, struct table_body);
	b->table = table;
	b->chains = CMD_LIST_INIT(b->chains);
	b->objects = CMD_LIST_INIT(b->objects);
	b->sets = CMD_LIST_INIT(b->sets);
	b->flowtables = CMD_LIST_INIT(b->flowtables);
	b->elements = CMD_LIST_INIT(b->elements);
	b->rules = CMD_LIST_INIT(b->rules);
	parse_block(p, table_item, b);
	cmd_list_join(contents, &b->chains);
	cmd_list_join(contents, &b->objects);
	cmd_list_join(contents, &b->sets);
	cmd_list_join(contents, &b->flowtables);
	cmd_list_join(contents, &b->elements);
	cmd_list_join(contents, &b->rules);
}
