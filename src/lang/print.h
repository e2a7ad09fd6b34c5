/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: the checked form as nft's canonical listing (1.1.6), text and JSON.
 *
 * The model walks its tables and calls these in order. Text goes to a strbuf; JSON is built as
 * jansson values (NULL when out of memory). `env->numeric` carries the listing options. One thread.
 */
#ifndef TAMIS_LANG_PRINT_H
#define TAMIS_LANG_PRINT_H

#include <jansson.h>

#include "lang/ast.h"

const char *family_name(enum family f);
const char *hook_name(enum hook h);
const char *chain_type_name(enum chain_type t);
const char *obj_kind_name(enum obj_kind k); /* "counter", "ct helper" ... */
/* "filter", "filter + 10", "-450": by the family and hook that give names their meaning. */
void print_priority(enum family f, enum hook h, int32_t priority, const struct lang_env *env,
		    struct strbuf *out);
/* The number that a priority name has in that family and hook; false if there is none. */
bool priority_by_name(enum family f, enum hook h, const char *name, size_t len, int32_t *out);

void print_expr(const struct expr *e, const struct lang_env *env, struct strbuf *out);
/* One statement without a leading blank. */
void print_stmt(const struct stmt *s, const struct lang_env *env, struct strbuf *out);
/* A whole rule on one line: statements that are listed, comment; no handle, no newline. */
void print_rule(const struct rule_decl *r, const struct lang_env *env, struct strbuf *out);
/* The lines of a set's block from `type` to the line before `elements`, each with `indent`. */
void print_set_head(const struct set_decl *d, const char *indent, const struct lang_env *env,
		    struct strbuf *out);

/* Elements come one by one, sorted; the printer wraps them as nft does. */
struct elem_printer {
	const struct set_decl *decl;
	const struct lang_env *env;
	struct strbuf *out;
	const char *indent;
	uint64_t n;
	unsigned per_line, on_line;
};
void elem_printer_begin(struct elem_printer *p, const struct set_decl *d, const char *indent,
			const struct lang_env *env, struct strbuf *out);
void elem_printer_add(struct elem_printer *p, const struct expr *elem);
void elem_printer_end(struct elem_printer *p); /* prints nothing if there were none */

/* `type filter hook input priority filter; policy drop;` with devices and comment lines. */
void print_chain_head(enum family f, const struct chain_decl *d, const char *indent,
		      const struct lang_env *env, struct strbuf *out);
/* The lines of an object's or flowtable's block between its braces. */
void print_object_body(const struct obj_decl *d, const char *indent, const struct lang_env *env,
		       struct strbuf *out);
void print_flowtable_body(enum family f, const struct flowtable_decl *d, const char *indent,
			  const struct lang_env *env, struct strbuf *out);

json_t *json_expr(const struct expr *e, const struct lang_env *env);
json_t *json_stmt(const struct stmt *s, const struct lang_env *env);
json_t *json_stmts(const struct stmt *first, const struct lang_env *env); /* the `expr` array */
/* Objects without the family/table/name/handle members, which the model adds. */
json_t *json_set_head(const struct set_decl *d, const struct lang_env *env);
json_t *json_chain_head(enum family f, const struct chain_decl *d, const struct lang_env *env);
json_t *json_object_body(const struct obj_decl *d, const struct lang_env *env);
json_t *json_flowtable_body(enum family f, const struct flowtable_decl *d,
			    const struct lang_env *env);

#endif
