/* SPDX-License-Identifier: Apache-2.0 */
/* A model under test: text in, messages and listings out. Strings are the caller's to free. */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include <stdlib.h>

#include "lang/parse.h"
#include "model/model.h"

enum fixture_end { FIXTURE_COMMIT, FIXTURE_ABORT, FIXTURE_OPEN };

struct fixture {
	struct lang_env env;
	struct model *m;
	uint64_t now;
	char *out;	/* what the last load's list and get commands printed */
	char *messages; /* of the last load */
};

static inline int fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->now = UINT64_C(1000000000000);
	f->m = model_new(&f->env);
	return f->m ? 0 : -ENOMEM;
}

static inline void fixture_free(struct fixture *f)
{
	model_free(f->m);
	free(f->out);
	free(f->messages);
}

/* One load in a transaction of its own; a failed one is aborted whatever `end` says. */
static inline int fixture_load(struct fixture *f, const char *text, enum fixture_end end)
{
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT;
	struct source_set sources;
	struct arena arena = ARENA_INIT;
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	int err, src;

	source_set_init(&sources);
	src = source_add(&sources, SOURCE_STRING, "test", text, strlen(text), LOC_NONE);
	err = src < 0 ? src : parse_text(&sources, src, &arena, NULL, &cmds);
	if (!err)
		err = model_begin(f->m);
	if (!err) {
		err = model_apply(f->m, &sources, &cmds, f->now, &out);
		if (err || end == FIXTURE_ABORT)
			model_abort(f->m);
		else if (end == FIXTURE_COMMIT)
			model_commit(f->m);
	}
	diag_print(&sources, &messages);
	free(f->out);
	free(f->messages);
	f->out = strdup(strbuf_str(&out));
	f->messages = strdup(strbuf_str(&messages));
	strbuf_free(&out);
	strbuf_free(&messages);
	arena_free(&arena);
	source_set_free(&sources);
	return err;
}

static inline char *fixture_listing(struct fixture *f)
{
	struct strbuf b = STRBUF_INIT;

	model_list(f->m, f->now, &b);
	return strbuf_take(&b);
}

#endif
