/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser: what the parts of the text parser share; for parse*.c alone.
 *
 * Recursive descent with one token of lookahead (token_peek() shows a second). A function that
 * meets an error does not return: it queues the message and jumps to the innermost block, which
 * goes on behind the next newline or semicolon, as nft does. So nothing here may own memory but the
 * arena, except the maps of scopes and the list of inputs, which the parser frees at its end.
 *
 * Recursion is bounded: parse_enter() and parse_leave() count nested constructs and operators
 * against PARSE_DEPTH_MAX, and a variable's tree is measured when it is defined
 * (VARIABLE_DEPTH_MAX), so that no text makes a tree deeper than the two together. All uses of
 * variables together make no more nodes than VARIABLE_NODES_BASE plus VARIABLE_NODES_PER_BYTE for
 * each byte of text.
 */
#ifndef TAMIS_LANG_PARSER_H
#define TAMIS_LANG_PARSER_H

#include <setjmp.h>

#include "base/map.h"
#include "lang/lexer.h"
#include "lang/lines.h"
#include "lang/members.h"
#include "lang/parse.h"

enum {
	PARSE_DEPTH_MAX = 200,
	VARIABLE_DEPTH_MAX = 64,
	VARIABLE_NODES_BASE = 1 << 20,
	VARIABLE_NODES_PER_BYTE = 4,
	COMMENT_MAX = 128,
	EXPANDED_MAX = 1024,	/* bytes of a string with its variables */
	NAME_COMPARED_MAX = 64, /* longer names are not searched for slips */
};

struct variable {
	struct variable *next; /* in its scope */
	const char *name;
	uint32_t len;
	struct expr *value; /* NULL once undefined */
	uint32_t nodes;
};

struct scope {
	struct scope *parent, *next_made;
	struct map by_name;
	struct variable *vars;
};

/* A text that is being read. */
struct input {
	const char *text;
	uint32_t len, pos, src;
};

struct parser {
	struct source_set *sources;
	struct arena *a;
	struct arena member, line; /* of what is left as text */
	const struct parse_options *options;
	struct cmd_list *out;
	struct input in;
	VEC(struct input) outer; /* what goes on when `in` ends */
	struct token tok;
	uint32_t tok_src;
	struct loc last; /* of the token before */
	enum tok last_type;
	struct scope *scope, *made; /* made: all, to be freed */
	unsigned depth;
	bool in_block;		   /* inside the braces of a declaration */
	uint64_t nodes, nodes_max; /* that variables expanded to, and may */
	jmp_buf *recover, *stop;
};

/* --- parser.c: the token at hand, errors, blocks --------------------------------------------- */

void token_next(struct parser *p);
struct token token_peek(const struct parser *p);
struct loc token_loc(const struct parser *p);
/* From `start` to the end of the last token taken. */
struct loc parse_span(const struct parser *p, struct loc start);

__attribute__((noreturn)) void parse_error(struct parser *p, struct loc loc, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* "syntax error, unexpected X", with ", expecting Y" unless `expecting` is NULL. */
__attribute__((noreturn)) void parse_syntax_error(struct parser *p, const char *expecting);

static inline bool token_is(const struct parser *p, enum tok t)
{
	return p->tok.type == t;
}

static inline bool token_is_kw(const struct parser *p, enum keyword k)
{
	return p->tok.kw == k;
}

/* Whether the token is exactly this word. */
bool token_is_word(const struct parser *p, const char *word);
bool token_accept(struct parser *p, enum tok t);
bool token_accept_kw(struct parser *p, enum keyword k);
bool token_accept_word(struct parser *p, const char *word);
void token_expect(struct parser *p, enum tok t, const char *expecting);
void token_expect_kw(struct parser *p, enum keyword k);
void token_expect_word(struct parser *p, const char *word);
/* Newlines inside braces and lists. */
void token_skip_newlines(struct parser *p);
/* What stands between the members of a list in braces: commas and newlines, or the brace is next.
 */
void token_skip_commas(struct parser *p);
bool token_is_separator(const struct parser *p);
/* A newline or semicolon, before `}` too, as nft has it; or the end of the text. */
void parse_end_of_item(struct parser *p);
/* Counts nested constructs; an error above PARSE_DEPTH_MAX. */
void parse_enter(struct parser *p, unsigned levels);
void parse_leave(struct parser *p, unsigned levels);
/* Jumps to the end of the parse, which returns -ENOMEM. */
__attribute__((noreturn)) void parse_oom(struct parser *p);

/* { items } with a scope of its own; the place of what is inside, the first brace included. */
struct loc parse_block(struct parser *p, void (*item)(struct parser *p, void *arg), void *arg);

/* --- parse_define.c: variables and includes ------------------------------------------------- */

/* define, redefine, undefine, include; false if the token starts none of them. */
bool parse_common(struct parser *p);
/* `$name`: a clone of its value. */
struct expr *parse_variable(struct parser *p);
/* The same, with members of a set that stand as text left so. */
struct expr *parse_variable_members(struct parser *p);
/* A string; in a quoted one each `$name` is replaced. */
const char *parse_expanded_string(struct parser *p);

/* --- parse_value.c: words, numbers, times, rates ------------------------------------------- */

/* A name that is no reserved word. */
struct name_at parse_identifier(struct parser *p);
/* Word, quoted string or word with an asterisk. */
const char *parse_string(struct parser *p);
/* At `comment`; `before` is the comment that is there already, which is an error. */
const char *parse_comment(struct parser *p, const char *before);
/* "You can only specify this once", at `loc`. */
__attribute__((noreturn)) void parse_duplicate(struct parser *p, struct loc loc);
uint64_t parse_number(struct parser *p);
uint64_t parse_number_max(struct parser *p, uint64_t max);
/* 1d2h3m4s5ms, in ms. */
uint64_t parse_time(struct parser *p);
void parse_limit(struct parser *p, struct limit_spec *l); /* behind `limit`: rate ... */
void parse_quota(struct parser *p, struct quota_spec *q); /* behind `quota` */
/* One word of synproxy's; false if the token is none. */
bool parse_synproxy_word(struct parser *p, struct synproxy_spec *s);
/* packets N bytes N in any order, both may be missing */
void parse_counter(struct parser *p, uint64_t *packets, uint64_t *bytes);
/* The token as an EX_SYMBOL; takes it. */
struct expr *parse_symbol(struct parser *p);
uint8_t parse_l4proto(struct parser *p);
enum family parse_family(struct parser *p);
bool token_is_family(const struct parser *p);

/* --- parse_expr.c ---------------------------------------------------------------------------- */

/* What stands right of one: values, ranges, sets, lists, @sets. */
struct expr *parse_rhs(struct parser *p);
/* What a statement takes: values and expressions, concatenated or listed, or a map. */
struct expr *parse_stmt_expr(struct parser *p);
/* Without list. */
struct expr *parse_stmt_map_or_value(struct parser *p);
/* Without list and map. */
struct expr *parse_stmt_concat(struct parser *p);
/* Without concatenation too: value, range or prefix. */
struct expr *parse_stmt_value(struct parser *p);
/* a . b for typeof and keys of maps: expressions. */
struct expr *parse_concat(struct parser *p);
/* A member of a set literal, in front of `,` or `}`: to the end of the set's list. */
void parse_member(struct parser *p, struct expr *set);
/* Whether the token is a word that is a whole member; then parse_symbol() takes it. */
bool at_plain_member(const struct parser *p);
/* A set literal, its members left as text where they have no variables. */
struct expr *parse_members(struct parser *p);
/* The same or a variable, of element commands and `elements =`. */
struct expr *parse_set_or_variable(struct parser *p);
struct expr *parse_verdict(struct parser *p);
bool token_is_verdict(const struct parser *p);
/* `map X`, `vmap X` behind a key; NULL if there is none. */
struct expr *parse_map_of(struct parser *p, struct expr *key);
struct expr *parse_setref(struct parser *p);
/* The options of an element behind its key. */
void parse_elem_options(struct parser *p, struct elem_expr *e);

/* --- parse_payload.c: primary expressions that read the packet ------------------------------- */

/* Header fields, options, meta, ct, fib, ...: NULL if the token starts none. */
struct expr *parse_selector(struct parser *p);

/* --- parse_stmt.c ---------------------------------------------------------------------------- */

/* Statements until a separator, a comment or `}`. */
void parse_rule(struct parser *p, struct rule_decl *r);
/* Statements that keep state: counter, limit, quota, last, ct count. */
struct stmt *parse_stateful(struct parser *p);
bool token_is_stateful(const struct parser *p);

/* --- parse_nat.c: at their first word -------------------------------------------------------- */

struct stmt *parse_nat(struct parser *p); /* snat, dnat, masquerade, redirect */
struct stmt *parse_tproxy(struct parser *p);
struct stmt *parse_dup(struct parser *p); /* dup, fwd */
struct stmt *parse_queue(struct parser *p);

/* --- parse_decl.c: the bodies of tables, chains, sets, flowtables ---------------------------- */

/*
 * Each reads from `{` to `}`. What a body brings besides its own command goes to lists: so a
 * table's contents come out as its chains, objects, sets, flowtables, elements, rules, in this
 * order.
 */
void parse_table_block(struct parser *p, struct cmd *table, struct cmd_list *contents);
void parse_chain_block(struct parser *p, struct cmd *chain, struct cmd_list *rules);
void parse_set_block(struct parser *p, struct cmd *set, struct cmd_list *elements);
void parse_flowtable_block(struct parser *p, struct cmd *flowtable);

/* --- parse_object.c: stateful objects -------------------------------------------------------- */

/* At `counter`, `ct helper`, ...: takes it and tells which; false if it is none. */
bool parse_object_kind(struct parser *p, enum obj_kind *out);
/* Behind the name: a block, or the same in one line. */
void parse_object_body(struct parser *p, struct cmd *object);

/* --- parse_cmd.c ----------------------------------------------------------------------------- */

/* One command of the top level. */
void parse_line(struct parser *p, void *arg);
/* The same; one on elements stays text. */
void parse_line_as_text(struct parser *p, void *arg);
/* A command about the same table, chain and name. */
struct cmd *cmd_from(struct parser *p, const struct cmd *c, enum cmd_obj obj, struct loc loc);
void cmd_list_add(struct cmd_list *l, struct cmd *c);
/* Moves all of `from` to the end of l. */
void cmd_list_join(struct cmd_list *l, struct cmd_list *from);

#endif
