/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON printers share. A `json_t **` that is being filled becomes NULL, and gives back
 * what it held, when memory runs out; filling goes on without effect, so that one test at the end
 * is enough.
 */
#ifndef TAMIS_LANG_JSON_OUT_INT_H
#define TAMIS_LANG_JSON_OUT_INT_H

#include "lang/print_int.h"

/* Takes v, which may be NULL after an earlier failure. */
void json_put(json_t **object, const char *key, json_t *v);
void json_add(json_t **array, json_t *v);
/* {"key": v} */
json_t *json_wrap(const char *key, json_t *v);
/* Text that came from outside; bytes that are no UTF-8 are taken as Latin-1. */
json_t *json_text(const char *text, size_t len);
json_t *json_cstring(const char *text);
/* One string, or a list of several. */
json_t *json_one_or_list(json_t *array);
/* Values as a list of flags, `["syn", "ack"]`; a single one alone. */
json_t *json_flags(const struct expr *value, const struct lang_env *env);
/* A set element; its statements are members of "elem". */
json_t *json_elem(const struct elem_expr *el, bool with_stmts, const struct lang_env *env);

#endif
