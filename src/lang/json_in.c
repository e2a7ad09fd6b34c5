/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in: the document and its commands, in the schema of libnftables-json(5), to the commands
 * that the text would give.
 *
 * The schema's objects that stand without a command, as a listing prints them, are added; those
 * that follow each other are put into the order that text blocks have (tables, chains, objects,
 * sets, flowtables, elements, rules), so that a listing can be read back whatever refers to what.
 * Members that nobody knows, and values of a wrong type, are errors.
 *
 * Cost: proportional to the document. One thread.
 */
#include "lang/json_in_int.h"
#include "lang/print_int.h"

enum { SCHEMA_VERSION = 1 };

/* --- Commands ----------------------------------------------------------------------------- */

static void list_add(struct cmd_list *l, struct cmd *c)
{
	*l->last = c;
	l->last = &c->next;
	l->n++;
}

static void list_join(struct cmd_list *l, struct cmd_list *from)
{
	if (!from->first)
		return;
	*l->last = from->first;
	l->last = from->last;
	l->n += from->n;
	*from = CMD_LIST_INIT(*from);
}

/* Objects without a command, by what they are, until one with a command or the end comes. */
struct listing {
	struct cmd_list tables, chains, objects, sets, flowtables, elements, rules;
};

static void listing_init(struct listing *l)
{
	l->tables = CMD_LIST_INIT(l->tables);
	l->chains = CMD_LIST_INIT(l->chains);
	l->objects = CMD_LIST_INIT(l->objects);
	l->sets = CMD_LIST_INIT(l->sets);
	l->flowtables = CMD_LIST_INIT(l->flowtables);
	l->elements = CMD_LIST_INIT(l->elements);
	l->rules = CMD_LIST_INIT(l->rules);
}

static void listing_flush(struct listing *l, struct cmd_list *out)
{
	list_join(out, &l->tables);
	list_join(out, &l->chains);
	list_join(out, &l->objects);
	list_join(out, &l->sets);
	list_join(out, &l->flowtables);
	list_join(out, &l->elements);
	list_join(out, &l->rules);
}

/* Where the commands of one document item go. */
struct target {
	struct cmd_list *out;
	struct listing *listing; /* NULL: the item is a command */
};

enum what {
	W_TABLE,
	W_CHAIN,
	W_RULE,
	W_SET,
	W_MAP,
	W_ELEMENT,
	W_FLOWTABLE,
	W_METER,
	W_OBJECT,
	W_PLURAL,
};

static const struct {
	const char *name;
	enum what what;
	enum cmd_obj obj;
	enum obj_kind kind;
} things[] = {
	{"table", W_TABLE, CO_TABLE, 0},
	{"chain", W_CHAIN, CO_CHAIN, 0},
	{"rule", W_RULE, CO_RULE, 0},
	{"set", W_SET, CO_SET, 0},
	{"map", W_MAP, CO_MAP, 0},
	{"element", W_ELEMENT, CO_ELEMENTS, 0},
	{"flowtable", W_FLOWTABLE, CO_FLOWTABLE, 0},
	{"meter", W_METER, CO_METER, 0},
	{"counter", W_OBJECT, CO_OBJECT, OBJ_COUNTER},
	{"quota", W_OBJECT, CO_OBJECT, OBJ_QUOTA},
	{"limit", W_OBJECT, CO_OBJECT, OBJ_LIMIT},
	{"ct helper", W_OBJECT, CO_OBJECT, OBJ_CT_HELPER},
	{"ct timeout", W_OBJECT, CO_OBJECT, OBJ_CT_TIMEOUT},
	{"ct expectation", W_OBJECT, CO_OBJECT, OBJ_CT_EXPECTATION},
	{"secmark", W_OBJECT, CO_OBJECT, OBJ_SECMARK},
	{"synproxy", W_OBJECT, CO_OBJECT, OBJ_SYNPROXY},
	{"tunnel", W_OBJECT, CO_OBJECT, OBJ_TUNNEL},
	{"ruleset", W_PLURAL, CO_RULESET, 0},
	{"tables", W_PLURAL, CO_TABLES, 0},
	{"chains", W_PLURAL, CO_CHAINS, 0},
	{"rules", W_PLURAL, CO_RULES, 0},
	{"sets", W_PLURAL, CO_SETS, 0},
	{"maps", W_PLURAL, CO_MAPS, 0},
	{"meters", W_PLURAL, CO_METERS, 0},
	{"flowtables", W_PLURAL, CO_FLOWTABLES, 0},
	{"counters", W_PLURAL, CO_OBJECTS, OBJ_COUNTER},
	{"quotas", W_PLURAL, CO_OBJECTS, OBJ_QUOTA},
	{"limits", W_PLURAL, CO_OBJECTS, OBJ_LIMIT},
	{"ct helpers", W_PLURAL, CO_OBJECTS, OBJ_CT_HELPER},
	{"ct timeouts", W_PLURAL, CO_OBJECTS, OBJ_CT_TIMEOUT},
	{"ct expectations", W_PLURAL, CO_OBJECTS, OBJ_CT_EXPECTATION},
	{"secmarks", W_PLURAL, CO_OBJECTS, OBJ_SECMARK},
	{"synproxys", W_PLURAL, CO_OBJECTS, OBJ_SYNPROXY},
	{"tunnels", W_PLURAL, CO_OBJECTS, OBJ_TUNNEL},
};

static int thing_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(things); i++)
		if (!strcmp(things[i].name, name))
			return (int)i;
	return -1;
}

static struct name_at get_name(struct json_in *in, json_t *o, const char *key)
{
	return (struct name_at){json_get_string(in, o, key), in->loc};
}

static struct name_at need_name(struct json_in *in, json_t *o, const char *key)
{
	json_need(in, o, key);
	return get_name(in, o, key);
}

static struct number_at get_number(struct json_in *in, json_t *o, const char *key)
{
	struct number_at n = {.loc = in->loc};

	n.given = json_get_number(in, o, key, INT64_MAX, &n.value);
	return n;
}

static struct cmd *cmd_new(struct json_in *in, enum cmd_op op, enum cmd_obj obj)
{
	struct cmd *c = arena_new(in->a, struct cmd);

	c->op = op;
	c->obj = obj;
	c->loc = in->loc;
	return c;
}

static struct cmd *cmd_elements(struct json_in *in, const struct cmd *set, json_t *elem)
{
	struct cmd *c = cmd_new(in, CMD_ADD, CO_ELEMENTS);

	c->family = set->family;
	c->table = set->table;
	c->name = set->name;
	json_enter(in, "elem", 0);
	c->expr = json_in_elements(in, elem);
	json_leave(in);
	return c;
}

static void add_set(struct json_in *in, json_t *o, struct cmd *c, const struct target *t)
{
	json_t *elem = json_object_get(o, "elem");

	c->set_decl = json_in_set(in, o, c->obj == CO_MAP);
	list_add(t->listing ? &t->listing->sets : t->out, c);
	if (!elem || (json_is_array(elem) && !json_array_size(elem)))
		return;
	c = cmd_elements(in, c, elem);
	list_add(t->listing ? &t->listing->elements : t->out, c);
}

/* Members that say where a rule goes; a listed rule's handle is its own and says nothing. */
static void rule_position(struct json_in *in, json_t *o, struct cmd *c, bool listed)
{
	if (!listed)
		c->handle = get_number(in, o, "handle");
	c->position = get_number(in, o, "position");
	c->index = get_number(in, o, "index");
}

static void add_rule(struct json_in *in, json_t *o, struct cmd *c, const struct target *t)
{
	json_t *expr = json_need(in, o, "expr");

	json_members(in, o, "family table chain handle position index comment expr");
	c->chain = need_name(in, o, "chain");
	rule_position(in, o, c, t->listing);
	if (c->op == CMD_REPLACE && !c->handle.given)
		json_fail(in, "Object item not found: handle");
	c->rule.loc = in->loc;
	c->rule.comment = json_get_string(in, o, "comment");
	if (!json_is_array(expr))
		json_fail_at(in, "expr", "Expected array, got %s", json_type_name(expr));
	if (!json_array_size(expr))
		json_fail_at(in, "expr", "A rule has at least one statement");
	json_enter(in, "expr", 0);
	c->rule.stmts = json_in_stmts(in, expr);
	json_leave(in);
	list_add(t->listing ? &t->listing->rules : t->out, c);
}

/* add, create, insert, replace, and objects of a listing. */
static void read_add(struct json_in *in, enum cmd_op op, int thing, json_t *o,
		     const struct target *t)
{
	struct cmd *c = cmd_new(in, op, things[thing].obj);
	struct listing *l = t->listing;

	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	if ((op == CMD_INSERT || op == CMD_REPLACE) && things[thing].what != W_RULE)
		json_fail(in, "Only a rule can be inserted or replaced");
	c->family = json_in_family(in, o, true);
	c->obj_kind = things[thing].kind;
	if (things[thing].what != W_TABLE)
		c->table = need_name(in, o, "table");
	switch (things[thing].what) {
	case W_TABLE:
		c->table = need_name(in, o, "name");
		json_in_table(in, o, &c->table_decl);
		list_add(l ? &l->tables : t->out, c);
		return;
	case W_CHAIN:
		c->chain = need_name(in, o, "name");
		c->chain_decl = json_in_chain(in, o);
		list_add(l ? &l->chains : t->out, c);
		return;
	case W_RULE:
		add_rule(in, o, c, t);
		return;
	case W_SET:
	case W_MAP:
		c->name = need_name(in, o, "name");
		add_set(in, o, c, t);
		return;
	case W_ELEMENT:
		json_members(in, o, "family table name elem");
		c->name = need_name(in, o, "name");
		json_need(in, o, "elem");
		json_enter(in, "elem", 0);
		c->expr = json_in_elements(in, json_object_get(o, "elem"));
		json_leave(in);
		list_add(l ? &l->elements : t->out, c);
		return;
	case W_FLOWTABLE:
		c->name = need_name(in, o, "name");
		c->flowtable_decl = json_in_flowtable(in, o);
		list_add(l ? &l->flowtables : t->out, c);
		return;
	case W_OBJECT:
		c->name = need_name(in, o, "name");
		c->obj_decl = json_in_object(in, o, c->obj_kind);
		list_add(l ? &l->objects : t->out, c);
		return;
	case W_METER:
	case W_PLURAL:
		break;
	}
	json_fail(in, "Unknown object passed to add command");
}

/* delete and destroy: by name or by handle. Whatever else a listing says of the thing is let be. */
static void read_delete(struct json_in *in, enum cmd_op op, int thing, json_t *o,
			struct cmd_list *out)
{
	struct cmd *c = cmd_new(in, op, things[thing].obj);
	const enum what what = things[thing].what;
	struct name_at *name = &c->name;

	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	c->family = json_in_family(in, o, true);
	c->obj_kind = things[thing].kind;
	if (what != W_TABLE)
		c->table = need_name(in, o, "table");
	switch (what) {
	case W_PLURAL:
	case W_METER:
		json_fail(in, "Unknown object passed to delete command");
	case W_RULE:
		c->chain = need_name(in, o, "chain");
		json_need(in, o, "handle");
		c->handle = get_number(in, o, "handle");
		list_add(out, c);
		return;
	case W_ELEMENT:
		c->name = need_name(in, o, "name");
		json_need(in, o, "elem");
		json_enter(in, "elem", 0);
		c->expr = json_in_elements(in, json_object_get(o, "elem"));
		json_leave(in);
		list_add(out, c);
		return;
	case W_TABLE:
		name = &c->table;
		break;
	case W_CHAIN:
		name = &c->chain;
		if (json_object_get(o, "dev"))
			c->chain_decl = json_in_chain(in, o);
		break;
	case W_FLOWTABLE:
		if (json_object_get(o, "dev"))
			c->flowtable_decl = json_in_flowtable(in, o);
		break;
	default:
		break;
	}
	*name = get_name(in, o, "name");
	if (!name->text) {
		c->handle = get_number(in, o, "handle");
		if (!c->handle.given)
			json_fail(in, "Either name or handle required");
	}
	list_add(out, c);
}

/* list, reset and flush: one thing by its name, or all of a kind. */
static void read_list(struct json_in *in, enum cmd_op op, int thing, json_t *o,
		      struct cmd_list *out)
{
	struct cmd *c = cmd_new(in, op, things[thing].obj);
	const enum what what = things[thing].what;

	c->obj_kind = things[thing].kind;
	if (what == W_PLURAL && json_is_null(o)) {
		c->family = FAMILY_ANY;
		list_add(out, c);
		return;
	}
	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	c->family = json_in_family(in, o, what != W_PLURAL);
	switch (what) {
	case W_PLURAL:
		c->table = get_name(in, o, "table");
		c->chain = get_name(in, o, "chain");
		break;
	case W_TABLE:
		c->table = need_name(in, o, "name");
		break;
	case W_CHAIN:
		c->table = need_name(in, o, "table");
		c->chain = need_name(in, o, "name");
		break;
	case W_RULE:
		c->table = need_name(in, o, "table");
		c->chain = need_name(in, o, "chain");
		c->handle = get_number(in, o, "handle");
		break;
	default:
		c->table = need_name(in, o, "table");
		c->name = need_name(in, o, "name");
		break;
	}
	if (what == W_ELEMENT) {
		json_need(in, o, "elem");
		json_enter(in, "elem", 0);
		c->expr = json_in_elements(in, json_object_get(o, "elem"));
		json_leave(in);
	}
	list_add(out, c);
}

static bool flush_takes(int thing)
{
	switch (things[thing].what) {
	case W_TABLE:
	case W_CHAIN:
	case W_SET:
	case W_MAP:
	case W_METER:
		return true;
	case W_PLURAL:
		return things[thing].obj == CO_RULESET;
	default:
		return false;
	}
}

static void read_rename(struct json_in *in, int thing, json_t *o, struct cmd_list *out)
{
	struct cmd *c = cmd_new(in, CMD_RENAME, CO_CHAIN);

	if (things[thing].what != W_CHAIN)
		json_fail(in, "Only a chain can be renamed");
	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	c->family = json_in_family(in, o, true);
	c->table = need_name(in, o, "table");
	c->chain = need_name(in, o, "name");
	c->name = need_name(in, o, "newname");
	list_add(out, c);
}

static void read_metainfo(struct json_in *in, json_t *o)
{
	uint64_t version = 0;

	if (!json_is_object(o))
		json_fail(in, "Expected object, got %s", json_type_name(o));
	json_get_number(in, o, "json_schema_version", INT64_MAX, &version);
	if (version > SCHEMA_VERSION)
		json_fail_at(in, "json_schema_version",
			     "Schema version %llu not supported, maximum supported version is %d",
			     (unsigned long long)version, SCHEMA_VERSION);
}

static const struct {
	const char *name;
	enum cmd_op op;
} ops[] = {
	{"add", CMD_ADD},	  {"create", CMD_CREATE}, {"insert", CMD_INSERT},
	{"replace", CMD_REPLACE}, {"delete", CMD_DELETE}, {"destroy", CMD_DESTROY},
	{"flush", CMD_FLUSH},	  {"list", CMD_LIST},	  {"reset", CMD_RESET},
	{"rename", CMD_RENAME},	  {"get", CMD_GET},
};

static void read_op(struct json_in *in, size_t op, json_t *arg, struct cmd_list *out)
{
	const struct target t = {out, NULL};
	json_t *o;
	const char *name;
	int thing;

	json_enter(in, ops[op].name, 0);
	name = json_only(in, arg, &o);
	thing = thing_find(name);
	if (thing < 0)
		json_fail(in, "Unknown object '%s' passed to %s command", name, ops[op].name);
	json_enter(in, name, 0);
	switch (ops[op].op) {
	case CMD_ADD:
	case CMD_CREATE:
	case CMD_INSERT:
	case CMD_REPLACE:
		read_add(in, ops[op].op, thing, o, &t);
		break;
	case CMD_DELETE:
	case CMD_DESTROY:
		read_delete(in, ops[op].op, thing, o, out);
		break;
	case CMD_FLUSH:
		if (!flush_takes(thing))
			json_fail(in, "Unknown object passed to flush command");
		read_list(in, CMD_FLUSH, thing, o, out);
		break;
	case CMD_GET:
		if (things[thing].what != W_ELEMENT)
			json_fail(in, "Unknown object passed to get command");
		read_list(in, CMD_GET, thing, o, out);
		break;
	case CMD_RENAME:
		read_rename(in, thing, o, out);
		break;
	default:
		read_list(in, ops[op].op, thing, o, out);
		break;
	}
	json_leave(in);
	json_leave(in);
}

/* One item of the document. */
static void read_item(struct json_in *in, json_t *v, struct listing *l, struct cmd_list *out)
{
	const struct target t = {out, l};
	const char *name;
	json_t *o;
	int thing;

	if (!json_is_object(v))
		json_fail(in, "Unexpected command array element of type %s, expected object",
			  json_type_name(v));
	name = json_only(in, v, &o);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (strcmp(ops[i].name, name))
			continue;
		listing_flush(l, out);
		read_op(in, i, o, out);
		return;
	}
	json_enter(in, name, 0);
	if (!strcmp(name, "metainfo")) {
		read_metainfo(in, o);
	} else {
		thing = thing_find(name);
		if (thing < 0 || things[thing].what == W_PLURAL)
			json_fail(in, "Unknown command or object '%s'", name);
		read_add(in, CMD_ADD, thing, o, &t);
	}
	json_leave(in);
}

static void read_document(struct json_in *in, json_t *doc, struct listing *l, struct cmd_list *out)
{
	json_t *items = json_object_get(doc, "nftables");

	if (setjmp(in->failed))
		return;
	if (!json_is_object(doc))
		json_fail(in, "Expected object, got %s", json_type_name(doc));
	json_members(in, doc, "nftables");
	if (!items)
		json_fail(in, "Object item not found: nftables");
	if (!json_is_array(items))
		json_fail_at(in, "nftables", "Value of property \"nftables\" must be an array");
	for (volatile size_t i = 0; i < json_array_size(items); i++) {
		if (setjmp(in->failed))
			continue;
		in->depth = 0;
		json_enter(in, "nftables", 0);
		json_enter(in, NULL, i);
		read_item(in, json_array_get(items, i), l, out);
	}
	listing_flush(l, out);
}

/* Everything that may jump out when memory ends; the caller owns the document. */
static int read_guarded(struct json_in *in, json_t *doc, struct cmd_list *out)
{
	struct listing l;
	jmp_buf oom, *before = arena_on_oom(in->a, &oom);
	const unsigned errors = in->sources->n_errors;

	if (setjmp(oom)) {
		arena_on_oom(in->a, before);
		return -ENOMEM;
	}
	listing_init(&l);
	read_document(in, doc, &l, out);
	arena_on_oom(in->a, before);
	return in->sources->n_errors > errors ? -EINVAL : 0;
}

static int read_loaded(struct json_in *in, json_t *doc, const json_error_t *error,
		       struct cmd_list *out)
{
	if (doc)
		return read_guarded(in, doc, out);
	/* jansson says nothing at all where most of its allocations fail. */
	if (json_error_code(error) == json_error_out_of_memory || !*error->text)
		return -ENOMEM;
	return diag_error(in->sources, in->loc, "JSON: %s, line %d, column %d.", error->text,
			  error->line, error->column);
}

int parse_json(struct source_set *sources, int src, struct arena *a, struct cmd_list *out)
{
	struct source *s = &sources->sources.items[src - 1];
	struct json_in in = {.sources = sources, .a = a, .loc = {(uint32_t)src, 0, 0}};
	struct json_cuts cuts = {0};
	json_error_t error;
	json_t *doc = NULL;
	int err;

	s->kind = SOURCE_JSON; /* whatever it came from, places in it say nothing to a reader */
	err = json_cuts_make(&cuts, sources, (uint32_t)src);
	if (!err && cuts.items.n) {
		in.cuts = &cuts;
		doc = json_loadb(cuts.rest.data, cuts.rest.len, JSON_REJECT_DUPLICATES, &error);
	}
	/* What is wrong is told of the whole. */
	if (!err && !doc) {
		in.cuts = NULL;
		doc = json_loadb(s->text, s->len, JSON_REJECT_DUPLICATES, &error);
	}
	if (!err)
		err = read_loaded(&in, doc, &error, out);
	json_decref(doc);
	json_cuts_free(&cuts);
	return sources->oom ? -ENOMEM : err;
}
