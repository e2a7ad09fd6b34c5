/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_cmd: the commands of the top level: what is done to what, in which table.
 *
 * A command is linked to the result when it is complete; one with an error leaves nothing.
 */
#include "lang/parser.h"

static struct cmd *cmd_new(struct parser *p, enum cmd_op op, enum cmd_obj obj, struct loc loc)
{
	struct cmd *c = arena_new(p->a, struct cmd);
	c->op = op;
	c->obj = obj;
	c->loc = loc;
	c->family = FAMILY_IP;
	return c;
}

struct cmd *cmd_from(struct parser *p, const struct cmd *c, enum cmd_obj obj, struct loc loc)
{
	struct cmd *n = cmd_new(p, CMD_ADD, obj, loc);
	n->family = c->family;
	n->family_loc = c->family_loc;
	n->table = c->table;
	n->chain = c->chain;
	n->name = c->name;
	return n;
}

void cmd_list_add(struct cmd_list *l, struct cmd *c)
{
	*l->last = c;
	l->last = &c->next;
	l->n++;
}

void cmd_list_join(struct cmd_list *l, struct cmd_list *from)
{
	if (!from->first)
		return;
	*l->last = from->first;
	l->last = from->last;
	l->n += from->n;
}

/* --- Where: family, table, chain, handle ----------------------------------------------------- */

static void family_spec(struct parser *p, struct cmd *c)
{
	if (!token_is_family(p))
		return;
	c->family_loc = token_loc(p);
	c->family = parse_family(p);
}

static void table_spec(struct parser *p, struct cmd *c)
{
	family_spec(p, c);
	c->table = parse_identifier(p);
}

static void chain_spec(struct parser *p, struct cmd *c)
{
	table_spec(p, c);
	c->chain = parse_identifier(p);
}

static void name_spec(struct parser *p, struct cmd *c)
{
	table_spec(p, c);
	c->name = parse_identifier(p);
}

static bool number_behind(struct parser *p, enum keyword kw, struct number_at *n)
{
	struct loc start = token_loc(p);
	if (!token_accept_kw(p, kw))
		return false;
	if (kw == KW_HANDLE) /* nft marks the number alone */
		start = token_loc(p);
	n->value = parse_number(p);
	n->loc = parse_span(p, start);
	n->given = true;
	return true;
}

/* The name, or `handle N` in its place. */
static void name_or_handle(struct parser *p, struct cmd *c, struct name_at *name)
{
	if (token_is_kw(p, KW_HANDLE))
		number_behind(p, KW_HANDLE, &c->handle);
	else
		*name = parse_identifier(p);
}

static void rule_position(struct parser *p, struct cmd *c)
{
	chain_spec(p, c);
	if (!number_behind(p, KW_HANDLE, &c->handle) &&
	    !number_behind(p, KW_POSITION, &c->position))
		number_behind(p, KW_INDEX, &c->index);
}

/* --- add, create ----------------------------------------------------------------------------- */

static void finish(struct parser *p, struct cmd *c, struct loc start)
{
	c->loc = parse_span(p, start);
	if (!token_is_separator(p) && !token_is(p, T_EOF))
		parse_syntax_error(p, "end of file or newline or semicolon");
	/* The separator is part of the command, as nft counts. */
	if (token_is_separator(p))
		c->loc = loc_join(c->loc, token_loc(p));
	token_next(p);
	cmd_list_add(p->out, c);
}

static void add_table(struct parser *p, struct cmd *c, struct loc start)
{
	struct cmd_list contents = CMD_LIST_INIT(contents);
	table_spec(p, c);
	if (token_is(p, T_LBRACE))
		parse_table_block(p, c, &contents);
	finish(p, c, start);
	cmd_list_join(p->out, &contents);
}

static void add_chain(struct parser *p, struct cmd *c, struct loc start)
{
	struct cmd_list rules = CMD_LIST_INIT(rules);
	chain_spec(p, c);
	if (token_is(p, T_LBRACE))
		parse_chain_block(p, c, &rules);
	finish(p, c, start);
	cmd_list_join(p->out, &rules);
}

static void add_set(struct parser *p, struct cmd *c, struct loc start)
{
	struct cmd_list elements = CMD_LIST_INIT(elements);
	name_spec(p, c);
	if (!token_is(p, T_LBRACE))
		parse_syntax_error(p, "'{'");
	parse_set_block(p, c, &elements);
	finish(p, c, start);
	cmd_list_join(p->out, &elements);
}

static void add_elements(struct parser *p, struct cmd *c, struct loc start)
{
	name_spec(p, c);
	c->expr = parse_set_or_variable(p);
	finish(p, c, start);
}

static void add_flowtable(struct parser *p, struct cmd *c, struct loc start)
{
	name_spec(p, c);
	if (!token_is(p, T_LBRACE))
		parse_syntax_error(p, "'{'");
	parse_flowtable_block(p, c);
	finish(p, c, start);
}

static void add_rule(struct parser *p, struct cmd *c, struct loc start)
{
	rule_position(p, c);
	parse_rule(p, &c->rule);
	finish(p, c, start);
}

static void add_object(struct parser *p, struct cmd *c, struct loc start)
{
	name_spec(p, c);
	bool needs_block = c->obj_kind == OBJ_CT_HELPER || c->obj_kind == OBJ_CT_TIMEOUT ||
			   c->obj_kind == OBJ_CT_EXPECTATION;
	if (needs_block && !token_is(p, T_LBRACE))
		parse_syntax_error(p, "'{'");
	parse_object_body(p, c);
	finish(p, c, start);
}

/* Behind `add`, `create` or nothing at all. */
static void parse_add(struct parser *p, enum cmd_op op, struct loc start)
{
	enum keyword kw = p->tok.kw;
	struct cmd *c = cmd_new(p, op, CO_RULE, start);
	if (parse_object_kind(p, &c->obj_kind)) {
		c->obj = CO_OBJECT;
		add_object(p, c, start);
		return;
	}
	switch (kw) {
	case KW_TABLE:
		c->obj = CO_TABLE;
		token_next(p);
		add_table(p, c, start);
		return;
	case KW_CHAIN:
		c->obj = CO_CHAIN;
		token_next(p);
		add_chain(p, c, start);
		return;
	case KW_SET:
	case KW_MAP:
		c->obj = kw == KW_SET ? CO_SET : CO_MAP;
		token_next(p);
		add_set(p, c, start);
		return;
	case KW_ELEMENT:
		c->obj = CO_ELEMENTS;
		token_next(p);
		add_elements(p, c, start);
		return;
	case KW_FLOWTABLE:
		c->obj = CO_FLOWTABLE;
		token_next(p);
		add_flowtable(p, c, start);
		return;
	case KW_RULE:
		if (op == CMD_CREATE)
			break;
		token_next(p);
		add_rule(p, c, start);
		return;
	default:
		if (op == CMD_CREATE ||
		    (!token_is_family(p) && (!token_is(p, T_WORD) || keyword_is_reserved(kw))))
			break;
		add_rule(p, c, start);
		return;
	}
	parse_syntax_error(p, NULL);
}

static void parse_insert(struct parser *p, struct loc start)
{
	token_accept_kw(p, KW_RULE);
	add_rule(p, cmd_new(p, CMD_INSERT, CO_RULE, start), start);
}

static void parse_replace(struct parser *p, struct loc start)
{
	struct cmd *c = cmd_new(p, CMD_REPLACE, CO_RULE, start);
	token_accept_kw(p, KW_RULE);
	chain_spec(p, c);
	if (!number_behind(p, KW_HANDLE, &c->handle))
		parse_syntax_error(p, "handle");
	parse_rule(p, &c->rule);
	finish(p, c, start);
}

/* --- delete, destroy ------------------------------------------------------------------------- */

static void delete_rule(struct parser *p, struct cmd *c)
{
	chain_spec(p, c);
	if (!number_behind(p, KW_HANDLE, &c->handle))
		parse_syntax_error(p, "handle");
}

static void delete_object(struct parser *p, struct cmd *c)
{
	c->obj = CO_OBJECT;
	table_spec(p, c);
	name_or_handle(p, c, &c->name);
}

static void parse_delete(struct parser *p, enum cmd_op op, struct loc start)
{
	struct cmd *c = cmd_new(p, op, CO_TABLE, start);
	struct cmd_list rest = CMD_LIST_INIT(rest);
	enum keyword kw = p->tok.kw;
	if (parse_object_kind(p, &c->obj_kind)) {
		delete_object(p, c);
		finish(p, c, start);
		return;
	}
	bool bare_rule = token_is(p, T_WORD) && !keyword_is_reserved(kw);
	if (!bare_rule && !token_is_family(p))
		token_next(p);
	switch (kw) {
	case KW_TABLE:
		family_spec(p, c);
		name_or_handle(p, c, &c->table);
		break;
	case KW_CHAIN:
		c->obj = CO_CHAIN;
		table_spec(p, c);
		name_or_handle(p, c, &c->chain);
		if (token_is(p, T_LBRACE))
			parse_chain_block(p, c, &rest);
		break;
	case KW_RULE:
		c->obj = CO_RULE;
		delete_rule(p, c);
		break;
	case KW_SET:
	case KW_MAP:
		c->obj = kw == KW_SET ? CO_SET : CO_MAP;
		table_spec(p, c);
		name_or_handle(p, c, &c->name);
		break;
	case KW_ELEMENT:
		c->obj = CO_ELEMENTS;
		name_spec(p, c);
		c->expr = parse_set_or_variable(p);
		break;
	case KW_FLOWTABLE:
		c->obj = CO_FLOWTABLE;
		table_spec(p, c);
		name_or_handle(p, c, &c->name);
		if (token_is(p, T_LBRACE))
			parse_flowtable_block(p, c);
		break;
	default:
		if (!bare_rule && !token_is_family(p))
			parse_syntax_error(p, NULL);
		c->obj = CO_RULE;
		delete_rule(p, c);
		break;
	}
	finish(p, c, start);
}

/* --- list, reset, flush, get and the others -------------------------------------------------- */

/* `[family]` of all; ANY where none is written. */
static void all_spec(struct parser *p, struct cmd *c)
{
	c->family = FAMILY_ANY;
	family_spec(p, c);
}

/* Of a table if `table` follows, else all of a family. */
static void all_or_table(struct parser *p, struct cmd *c)
{
	if (token_accept_kw(p, KW_TABLE))
		table_spec(p, c);
	else
		all_spec(p, c);
}

/* `counters`, `ct helpers`, ... */
static bool parse_object_plural(struct parser *p, enum obj_kind *out)
{
	static const struct {
		enum keyword kw;
		enum obj_kind kind;
	} kinds[] = {{KW_COUNTERS, OBJ_COUNTER},   {KW_QUOTAS, OBJ_QUOTA},
		     {KW_LIMITS, OBJ_LIMIT},	   {KW_SECMARKS, OBJ_SECMARK},
		     {KW_SYNPROXYS, OBJ_SYNPROXY}, {KW_TUNNELS, OBJ_TUNNEL}};
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (token_accept_kw(p, kinds[i].kw)) {
			*out = kinds[i].kind;
			return true;
		}
	return false;
}

/* ct helper X; ct helpers; ct timeout table t; ct expectations */
static void list_ct(struct parser *p, struct cmd *c)
{
	static const struct {
		const char *one, *many;
		enum obj_kind kind;
	} kinds[] = {{"helper", "helpers", OBJ_CT_HELPER},
		     {"timeout", "timeouts", OBJ_CT_TIMEOUT},
		     {"expectation", "expectations", OBJ_CT_EXPECTATION}};
	token_next(p);
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool many = token_is_word(p, kinds[i].many);
		if (!token_accept_word(p, kinds[i].one) && !token_accept_word(p, kinds[i].many))
			continue;
		c->obj_kind = kinds[i].kind;
		if (many || token_is_kw(p, KW_TABLE) || token_is_separator(p) ||
		    token_is(p, T_EOF)) {
			c->obj = CO_OBJECTS;
			all_or_table(p, c);
		} else {
			c->obj = CO_OBJECT;
			name_spec(p, c);
		}
		return;
	}
	parse_syntax_error(p, "timeout or expectation or helper or helpers");
}

/* list hooks [family] [hook X] [device D] */
static void list_hooks(struct parser *p, struct cmd *c)
{
	all_spec(p, c);
	if (token_accept_kw(p, KW_HOOK))
		c->chain = parse_identifier(p);
	if (token_accept_kw(p, KW_DEVICE)) {
		c->name.loc = token_loc(p);
		c->name.text = parse_string(p);
	}
}

static void flow_table_spec(struct parser *p, struct cmd *c)
{
	token_next(p);
	if (token_accept_kw(p, KW_TABLES)) {
		c->obj = CO_METERS;
		all_spec(p, c);
		return;
	}
	token_expect_kw(p, KW_TABLE);
	c->obj = CO_METER;
	name_spec(p, c);
}

static void table_or_chain_rules(struct parser *p, struct cmd *c)
{
	token_accept_kw(p, KW_TABLE);
	if (token_accept_kw(p, KW_CHAIN)) {
		chain_spec(p, c);
		return;
	}
	if (token_is_separator(p) || token_is(p, T_EOF)) {
		all_spec(p, c);
		return;
	}
	c->family = FAMILY_ANY;
	bool family = token_is_family(p);
	family_spec(p, c);
	if (token_is_separator(p) || token_is(p, T_EOF))
		return;
	if (!family)
		c->family = FAMILY_IP;
	c->table = parse_identifier(p);
	if (token_is(p, T_WORD) && !keyword_is_reserved(p->tok.kw))
		c->chain = parse_identifier(p);
}

/* Plurals: what lists all of a kind; false if the token is none. */
static bool parse_plural(struct parser *p, struct cmd *c)
{
	static const struct {
		enum keyword kw;
		enum cmd_obj obj;
	} kinds[] = {{KW_TABLES, CO_TABLES},  {KW_CHAINS, CO_CHAINS},
		     {KW_SETS, CO_SETS},      {KW_MAPS, CO_MAPS},
		     {KW_METERS, CO_METERS},  {KW_FLOWTABLES, CO_FLOWTABLES},
		     {KW_RULESET, CO_RULESET}};
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (token_accept_kw(p, kinds[i].kw)) {
			c->obj = kinds[i].obj;
			if (c->obj == CO_RULESET || c->obj == CO_TABLES)
				all_spec(p, c);
			else
				all_or_table(p, c);
			return true;
		}
	if (!parse_object_plural(p, &c->obj_kind))
		return false;
	c->obj = CO_OBJECTS;
	all_or_table(p, c);
	return true;
}

/* list and reset: one thing by its name, or all of a kind. */
static void parse_list(struct parser *p, enum cmd_op op, struct loc start)
{
	struct cmd *c = cmd_new(p, op, CO_TABLE, start);
	enum keyword kw = p->tok.kw;
	if (kw == KW_CT) {
		list_ct(p, c);
	} else if (kw == KW_FLOW) {
		flow_table_spec(p, c);
	} else if (!parse_plural(p, c)) {
		if (parse_object_kind(p, &c->obj_kind)) {
			c->obj = CO_OBJECT;
			name_spec(p, c);
			finish(p, c, start);
			return;
		}
		struct token t = p->tok;
		switch (kw) {
		case KW_TABLE:
			token_next(p);
			table_spec(p, c);
			break;
		case KW_CHAIN:
			token_next(p);
			c->obj = CO_CHAIN;
			chain_spec(p, c);
			break;
		case KW_SET:
		case KW_MAP:
		case KW_METER:
		case KW_FLOWTABLE:
			token_next(p);
			c->obj = kw == KW_SET	  ? CO_SET
				 : kw == KW_MAP	  ? CO_MAP
				 : kw == KW_METER ? CO_METER
						  : CO_FLOWTABLE;
			name_spec(p, c);
			break;
		case KW_RULE:
			token_next(p);
			c->obj = CO_RULE;
			chain_spec(p, c);
			number_behind(p, KW_HANDLE, &c->handle);
			break;
		case KW_RULES:
			token_next(p);
			c->obj = CO_RULES;
			table_or_chain_rules(p, c);
			break;
		case KW_ELEMENT:
			token_next(p);
			c->obj = CO_ELEMENTS;
			name_spec(p, c);
			c->expr = parse_set_or_variable(p);
			break;
		case KW_HOOKS:
			token_next(p);
			c->obj = CO_HOOKS;
			list_hooks(p, c);
			break;
		default:
			p->tok = t;
			parse_syntax_error(p, NULL);
		}
	}
	finish(p, c, start);
}

static void parse_flush(struct parser *p, struct loc start)
{
	struct cmd *c = cmd_new(p, CMD_FLUSH, CO_RULESET, start);
	enum keyword kw = p->tok.kw;
	switch (kw) {
	case KW_RULESET:
		token_next(p);
		all_spec(p, c);
		break;
	case KW_TABLE:
		token_next(p);
		c->obj = CO_TABLE;
		table_spec(p, c);
		break;
	case KW_CHAIN:
		token_next(p);
		c->obj = CO_CHAIN;
		chain_spec(p, c);
		break;
	case KW_SET:
	case KW_MAP:
	case KW_METER:
		token_next(p);
		c->obj = kw == KW_SET ? CO_SET : kw == KW_MAP ? CO_MAP : CO_METER;
		name_spec(p, c);
		break;
	case KW_FLOW:
		flow_table_spec(p, c);
		break;
	default:
		parse_syntax_error(p, NULL);
	}
	finish(p, c, start);
}

static void parse_get(struct parser *p, struct loc start)
{
	struct cmd *c = cmd_new(p, CMD_GET, CO_ELEMENTS, start);
	token_expect_kw(p, KW_ELEMENT);
	name_spec(p, c);
	c->expr = parse_set_or_variable(p);
	finish(p, c, start);
}

static void parse_rename(struct parser *p, struct loc start)
{
	struct cmd *c = cmd_new(p, CMD_RENAME, CO_CHAIN, start);
	token_expect_kw(p, KW_CHAIN);
	chain_spec(p, c);
	c->name = parse_identifier(p);
	finish(p, c, start);
}

static void parse_describe(struct parser *p, struct loc start)
{
	struct cmd *c = cmd_new(p, CMD_DESCRIBE, CO_EXPR, start);
	c->expr = parse_concat(p);
	finish(p, c, start);
}

/* monitor [new|destroy] [tables|chains|...] [xml|json]; export and import take a format. */
static void parse_monitor(struct parser *p, enum cmd_op op, struct loc start)
{
	static const char *const words[] = {
		"new",	    "destroy", "trace",	  "tables",	"chains", "rules", "sets",
		"elements", "ruleset", "objects", "flowtables", "xml",	  "json",  "vm"};
	struct cmd *c = cmd_new(p, op, CO_RULESET, start);
	c->family = FAMILY_ANY;
	struct loc first = token_loc(p);
	const char *text = p->tok.text;
	while (!token_is_separator(p) && !token_is(p, T_EOF)) {
		unsigned i = 0;
		while (i < ARRAY_SIZE(words) && !token_is_word(p, words[i]))
			i++;
		if (i == ARRAY_SIZE(words))
			parse_syntax_error(p, NULL);
		token_next(p);
		c->name.loc = loc_join(first, p->last);
	}
	if (c->name.loc.src)
		c->name.text = arena_strndup(p->a, text, c->name.loc.end - c->name.loc.begin);
	finish(p, c, start);
}

void parse_line(struct parser *p, void *arg)
{
	struct loc start = token_loc(p);
	switch (p->tok.kw) {
	case KW_ADD:
		token_next(p);
		parse_add(p, CMD_ADD, start);
		break;
	case KW_CREATE:
		token_next(p);
		parse_add(p, CMD_CREATE, start);
		break;
	case KW_INSERT:
		token_next(p);
		parse_insert(p, start);
		break;
	case KW_REPLACE:
		token_next(p);
		parse_replace(p, start);
		break;
	case KW_DELETE:
		token_next(p);
		parse_delete(p, CMD_DELETE, start);
		break;
	case KW_DESTROY:
		token_next(p);
		parse_delete(p, CMD_DESTROY, start);
		break;
	case KW_LIST:
		token_next(p);
		parse_list(p, CMD_LIST, start);
		break;
	case KW_RESET:
		token_next(p);
		parse_list(p, CMD_RESET, start);
		break;
	case KW_FLUSH:
		token_next(p);
		parse_flush(p, start);
		break;
	case KW_GET:
		token_next(p);
		parse_get(p, start);
		break;
	case KW_RENAME:
		token_next(p);
		parse_rename(p, start);
		break;
	case KW_DESCRIBE:
		token_next(p);
		parse_describe(p, start);
		break;
	case KW_MONITOR:
	case KW_EXPORT:
	case KW_IMPORT: {
		enum cmd_op op = token_is_kw(p, KW_MONITOR)  ? CMD_MONITOR
				 : token_is_kw(p, KW_EXPORT) ? CMD_EXPORT
							     : CMD_IMPORT;
		token_next(p);
		parse_monitor(p, op, start);
		break;
	}
	default:
		parse_add(p, CMD_ADD, start);
		break;
	}
}
