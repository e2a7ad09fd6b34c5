/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in: what the files of the JSON parser share.
 *
 * Every function either succeeds or does not return: the first error of a command writes a message
 * with the path of the culprit and jumps back to the command loop, which goes on with the next one.
 * The document is owned by parse_json() alone and is only read; everything that the result keeps is
 * copied into the arena.
 */
#ifndef TAMIS_LANG_JSON_IN_INT_H
#define TAMIS_LANG_JSON_IN_INT_H

#include <jansson.h>

#include "lang/members.h"
#include "lang/parse.h"

enum { JSON_PATH_MAX = 100 }; /* how deep a command's values may nest */

struct json_step {
	const char *key; /* NULL: index */
	size_t index;
};

struct json_in {
	struct source_set *sources;
	struct arena *a;
	struct loc loc;
	jmp_buf failed; /* of the command that is being read */
	struct json_step path[JSON_PATH_MAX];
	unsigned depth;
	const struct json_cuts *cuts; /* NULL: the document is whole */
};

/* An array of elements in a source. */
struct json_cut {
	uint32_t begin, end; /* of what stands within the brackets */
	uint32_t n;	     /* elements */
	unsigned depth;	     /* of the array in the document */
	bool ranges;	     /* are among their data */
};

/* Writes "TEXT (in PATH)." and jumps. */
_Noreturn void json_fail(struct json_in *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same about a member of the value at the current path. */
_Noreturn void json_fail_at(struct json_in *in, const char *key, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* One step into the document and back. */
void json_enter(struct json_in *in, const char *key, size_t index);
void json_leave(struct json_in *in);
const char *json_type_name(const json_t *v);

/* v must be an object whose members are among `known`, words with blanks between them. */
void json_members(struct json_in *in, json_t *v, const char *known);
/* The only member of an object: its key, and the value in *v. */
const char *json_only(struct json_in *in, json_t *o, json_t **v);
/* A member, NULL if it is not there; the need_* forms fail instead. */
const char *json_get_string(struct json_in *in, json_t *o, const char *key);
const char *json_need_string(struct json_in *in, json_t *o, const char *key);
json_t *json_need(struct json_in *in, json_t *o, const char *key);
/* A number from 0 to max; false and *out untouched if it is not there. */
bool json_get_number(struct json_in *in, json_t *o, const char *key, uint64_t max, uint64_t *out);
uint64_t json_need_number(struct json_in *in, json_t *o, const char *key, uint64_t max);
bool json_get_bool(struct json_in *in, json_t *o, const char *key);
/* A word of a list that ends with NULL, by its index; -1 if the member is not there. */
int json_get_word(struct json_in *in, json_t *o, const char *key, const char *const *words,
		  const char *what);
/* Words alone or in an array, as bits in the order of `words` (NULL ones are skipped). */
unsigned json_get_flags(struct json_in *in, json_t *o, const char *key, const char *const *words,
			unsigned n, const char *what);
/* v itself as text, in the arena. */
const char *json_in_text(struct json_in *in, json_t *v);
/* Calls fn for v, or for each item if it is an array. */
void json_each(struct json_in *in, json_t *v, void (*fn)(struct json_in *in, json_t *v, void *arg),
	       void *arg);

struct expr *json_in_expr(struct json_in *in, json_t *v);
/* {NAME: v} */
struct expr *json_in_named_expr(struct json_in *in, const char *name, json_t *v);
/* What reads the packet, {"payload": ...} and its kin; NULL if `name` is none of them. */
struct expr *json_in_selector(struct json_in *in, const char *name, json_t *v);
/* "family": 2 for ip, 10 for ip6, 0 if it is not there. */
uint8_t json_in_nfproto(struct json_in *in, json_t *o);
/* The member as an expression, NULL if it is not there. */
struct expr *json_get_expr(struct json_in *in, json_t *o, const char *key);
struct expr *json_need_expr(struct json_in *in, json_t *o, const char *key);
/* A symbol of text that stands in a JSON string. */
struct expr *json_in_symbol(struct json_in *in, const char *text);
/* EX_SET of one element or an array of them. */
struct expr *json_in_elements(struct json_in *in, json_t *v);
/* One element, or what a nested set has, to the end of `set`'s list. */
void json_in_set_item(struct json_in *in, json_t *v, void *set);
/* A set element; `v` is a key or {"elem": {...}}. */
struct elem_expr *json_in_elem(struct json_in *in, json_t *v);

/* --- json_elements.c: elements that do not become part of the document ------------------------ */

/*
 * A text whose arrays of elements are cut out: each one's place is taken by a string, and `rest` is
 * what is left. No cuts where that would not be the same document, or where an element is wrong.
 */
struct json_cuts {
	VEC(struct json_cut) items;
	struct strbuf rest;
};

/* 0 or -ENOMEM; to be freed either way. */
int json_cuts_make(struct json_cuts *c, struct source_set *sources, uint32_t src);
void json_cuts_free(struct json_cuts *c);
/* What v stands for; NULL if it is no such string. */
const struct json_cut *json_cut_find(const struct json_in *in, const json_t *v);

/* {NAME: v} */
struct stmt *json_in_named_stmt(struct json_in *in, const char *name, json_t *v);
/* An array of statements; NULL if there is none. */
struct stmt *json_in_stmts(struct json_in *in, json_t *array);
void json_in_limit(struct json_in *in, json_t *o, struct limit_spec *l);
void json_in_synproxy(struct json_in *in, json_t *o, struct synproxy_spec *s);
/* Bodies of declarations: o has the members of the schema's object. */
void json_in_table(struct json_in *in, json_t *o, struct table_decl *d);
struct chain_decl *json_in_chain(struct json_in *in, json_t *o);
struct set_decl *json_in_set(struct json_in *in, json_t *o, bool map);
struct obj_decl *json_in_object(struct json_in *in, json_t *o, enum obj_kind kind);
struct flowtable_decl *json_in_flowtable(struct json_in *in, json_t *o);
enum family json_in_family(struct json_in *in, json_t *o, bool needed);

#endif
