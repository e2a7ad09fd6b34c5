/* SPDX-License-Identifier: Apache-2.0 */
/* json: see json.h. */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_int_t json_of_number(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (json_int_t)v;
}

json_t *json_of_text(const char *s)
{
	json_t *j = json_string(s);
	struct strbuf utf8 = STRBUF_INIT;

	if (j)
		return j;
	strbuf_add_latin1(&utf8, s, strlen(s));
	if (!strbuf_error(&utf8))
		j = json_string(strbuf_str(&utf8));
	strbuf_free(&utf8);
	return j;
}

static int add_dumped(const char *text, size_t len, void *out)
{
	strbuf_add(out, text, len);
	return 0;
}

int json_print(json_t *value, size_t flags, struct strbuf *out)
{
	int err = value ? json_dump_callback(value, add_dumped, out, flags) : -1;

	json_decref(value);
	strbuf_putc(out, '\n');
	return err ? -ENOMEM : strbuf_error(out);
}
