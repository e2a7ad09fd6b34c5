/* SPDX-License-Identifier: Apache-2.0 */
/* load: rulesets in and out; see engine.h. */
#include <stdlib.h>

#include "engine/engine.h"
#include "lang/parse.h"

int engine_publish(struct tamis *t)
{
	int err = compile_build(t->compile, t->model);

	if (err)
		return err;
	compile_publish(t->compile);
	compile_settle(t->compile);
	t->collect_next = 0;
	return 0;
}

/* model_apply() or model_reload() */
typedef int (*apply_fn)(struct model *m, struct source_set *sources, struct cmd_list *cmds,
			uint64_t now, struct strbuf *out);

static int transaction(struct tamis *t, apply_fn apply, struct source_set *sources,
		       struct cmd_list *cmds, uint64_t now, struct strbuf *output)
{
	int err = model_begin(t->model);

	if (err)
		return err;
	err = apply(t->model, sources, cmds, now, output);
	if (!err)
		err = strbuf_error(output);
	if (!err)
		err = engine_publish(t);
	if (err)
		model_abort(t->model);
	else
		model_commit(t->model);
	return err;
}

/* What is in b goes to the caller, if he wants it; NULL if it is nothing. */
static void text_give(struct strbuf *b, char **out)
{
	if (out)
		*out = b->len ? strbuf_take(b) : NULL;
	strbuf_free(b);
}

/* `src` is a number of `sources` or -errno. */
static int load(struct tamis *t, apply_fn apply, struct source_set *sources, int src,
		const struct tamis_load_options *options, char **output, char **messages)
{
	struct arena arena = ARENA_INIT;
	struct parse_options parse = {0};
	struct cmd_list cmds = CMD_LIST_INIT(cmds);
	struct strbuf printed = STRBUF_INIT, said = STRBUF_INIT, notes = STRBUF_INIT;
	uint64_t now = options ? engine_time(options->now) : 0;
	int err = src < 0 ? src : 0;

	if (options)
		parse = (struct parse_options){.include_path = options->include_path,
					       .defines = options->defines};
	t->notes = &notes;
	if (!err)
		err = parse_any(sources, src, &arena, &parse, &cmds);
	if (!err)
		err = transaction(t, apply, sources, &cmds, now, &printed);
	t->notes = NULL;
	if (!err)
		t->now = MAX(t->now, now);
	diag_print(sources, &said);
	if (!err)
		strbuf_puts(&said, strbuf_str(&notes));
	strbuf_free(&notes);
	arena_free(&arena);

	text_give(&said, messages);
	text_give(&printed, output);
	return err;
}

/* The files that are taken for rulesets by mistake most often would give a message for each byte.
 */
static int ruleset_source(struct source_set *sources, int src)
{
	struct source *s = &sources->sources.items[src - 1];
	static const uint8_t starts[][4] = {{0xd4, 0xc3, 0xb2, 0xa1}, {0xa1, 0xb2, 0xc3, 0xd4},
					    {0x4d, 0x3c, 0xb2, 0xa1}, {0xa1, 0xb2, 0x3c, 0x4d},
					    {0x0a, 0x0d, 0x0d, 0x0a}, {0x1f, 0x8b, 0x08, 0x00},
					    {0x1f, 0x8b, 0x08, 0x08}};

	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (s->len >= sizeof(starts[i]) && !memcmp(s->text, starts[i], sizeof(starts[i])))
			break;
	if (i == ARRAY_SIZE(starts))
		return src;
	s->kind = SOURCE_JSON;
	return diag_error(sources, (struct loc){(uint32_t)src, 0, 0},
			  "a capture or a compressed file, not a ruleset");
}

static int load_file(struct tamis *t, apply_fn apply, const char *path,
		     const struct tamis_load_options *options, char **output, char **messages)
{
	struct source_set sources;
	int err, src;

	source_set_init(&sources);
	src = source_add_file(&sources, path, LOC_NONE);
	if (src > 0)
		src = ruleset_source(&sources, src);
	err = load(t, apply, &sources, src, options, output, messages);
	source_set_free(&sources);
	return err;
}

static int load_text(struct tamis *t, apply_fn apply, const char *name, const char *text,
		     size_t len, const struct tamis_load_options *options, char **output,
		     char **messages)
{
	struct source_set sources;
	int err;

	source_set_init(&sources);
	err = load(t, apply, &sources,
		   source_add(&sources, name ? SOURCE_FILE : SOURCE_STRING,
			      name ? name : "<cmdline>", text, len, LOC_NONE),
		   options, output, messages);
	source_set_free(&sources);
	return err;
}

int tamis_load_file(struct tamis *t, const char *path, const struct tamis_load_options *options,
		    char **output, char **messages)
{
	return load_file(t, model_apply, path, options, output, messages);
}

int tamis_load_text(struct tamis *t, const char *name, const char *text, size_t len,
		    const struct tamis_load_options *options, char **output, char **messages)
{
	return load_text(t, model_apply, name, text, len, options, output, messages);
}

int tamis_reload_file(struct tamis *t, const char *path, const struct tamis_load_options *options,
		      char **output, char **messages)
{
	return load_file(t, model_reload, path, options, output, messages);
}

int tamis_reload_text(struct tamis *t, const char *name, const char *text, size_t len,
		      const struct tamis_load_options *options, char **output, char **messages)
{
	return load_text(t, model_reload, name, text, len, options, output, messages);
}

int tamis_list(struct tamis *t, unsigned flags, uint64_t now, char **out)
{
	static const struct {
		unsigned flag, numeric;
	} map[] = {
		{TAMIS_LIST_HANDLES, PRINT_HANDLES},
		{TAMIS_LIST_NUMERIC, NUMERIC_ALL},
		{TAMIS_LIST_STATELESS, PRINT_STATELESS},
		{TAMIS_LIST_TERSE, PRINT_TERSE},
	};
	unsigned known = TAMIS_LIST_JSON, numeric = 0;
	struct strbuf b = STRBUF_INIT;
	char *text;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		known |= map[i].flag;
		if (flags & map[i].flag)
			numeric |= map[i].numeric;
	}
	if (flags & ~known)
		return -EINVAL;
	now = engine_time(now);
	t->env.numeric = numeric;
	if (flags & TAMIS_LIST_JSON) {
		err = model_list_json(t->model, now, &b);
		strbuf_putc(&b, '\n');
	} else {
		model_list(t->model, now, &b);
	}
	t->env.numeric = 0;
	if (!err)
		err = strbuf_error(&b);
	text = err ? NULL : strbuf_take(&b);
	strbuf_free(&b);
	if (!err && !text)
		text = calloc(1, 1);
	if (!err && !text)
		err = -ENOMEM;
	if (!err)
		*out = text;
	return err;
}
