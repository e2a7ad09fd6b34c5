/* SPDX-License-Identifier: Apache-2.0 */
/* json_fixture: JSON that is read into commands, and parts of it that tests share. */
#ifndef TAMIS_TEST_JSON_FIXTURE_H
#define TAMIS_TEST_JSON_FIXTURE_H

#include "parse_fixture.h"

#define MATCH(op, left, right)                                                                     \
	"{\"match\":{\"op\":\"" op "\",\"left\":" left ",\"right\":" right "}}"
#define PAYLOAD(p, f) "{\"payload\":{\"protocol\":\"" p "\",\"field\":\"" f "\"}}"
#define META(k)	      "{\"meta\":{\"key\":\"" k "\"}}"
#define MANGLE(k, v)  "{\"mangle\":{\"key\":" k ",\"value\":" v "}}"
#define FT	      "\"family\":\"inet\",\"table\":\"t\""

static inline void parse_json_text(struct parsed *t, const char *text, size_t len)
{
	*t = (struct parsed){.cmds = CMD_LIST_INIT(t->cmds)};
	source_set_init(&t->sources);
	int src = source_add(&t->sources, SOURCE_JSON, "j", text, len, LOC_NONE);

	t->err = src < 0 ? src : parse_json(&t->sources, src, &t->a, &t->cmds);
	parsed_expand(t);
	diag_print(&t->sources, &t->messages);
}

#endif
