/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: what the commands that print JSON share.
 *
 * Functions that make a value give NULL where memory is short, as jansson's do.
 */
#ifndef TAMIS_CMD_JSON_H
#define TAMIS_CMD_JSON_H

#include <jansson.h>

#include "base/strbuf.h"

/* For json_pack()'s I: a number beyond 2^63 - 1 is written as that. */
json_int_t json_of_number(uint64_t v);
/* Comments and log prefixes may hold any byte, JSON takes UTF-8: other texts are taken as Latin-1,
 * as the listing in JSON does. */
json_t *json_of_text(const char *s);
/* The value and a newline; takes it over. json_dumps() leaves out what it has no memory for, so
 * this is not it. 0 or -ENOMEM, also for NULL. */
int json_print(json_t *value, size_t flags, struct strbuf *out);

#endif
