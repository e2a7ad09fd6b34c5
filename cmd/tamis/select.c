/* SPDX-License-Identifier: Apache-2.0 */
/* select: see select.h. */
#include "select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "output.h"

struct select {
	struct tamis *engine;
	struct feed feed;
};

static const char skeleton[] = "table bridge trace { chain plain { }; chain match { type filter "
			       "hook prerouting priority 0; policy drop; }; }";

static int complain_errno(int err)
{
	complain("--trace: %s", strerror(-err));
	return err;
}

static int load(struct tamis *engine, const char *text, uint64_t now, char **messages)
{
	struct tamis_load_options options = {.now = now};

	return tamis_load_text(engine, NULL, text, strlen(text), &options, NULL, messages);
}

/*
 * Once without the verdict, for the messages: the expression is a line of its own, so that they
 * show nothing that the user did not write. Then as what it is for.
 */
static int rule_load(struct tamis *engine, const char *expr, uint64_t now)
{
	char *plain = NULL, *whole = NULL, *messages = NULL;
	bool said = false;
	int err = -ENOMEM;

	if (asprintf(&plain, "add rule bridge trace plain \\\n%s\n", expr) < 0)
		plain = NULL;
	if (asprintf(&whole, "add rule bridge trace match %s accept", expr) < 0)
		whole = NULL;
	if (plain && whole)
		err = load(engine, skeleton, now, NULL);
	if (!err) {
		err = load(engine, plain, now, &messages);
		said = messages;
		if (messages)
			fprintf(stderr, "tamis: --trace: %s", messages);
	}
	if (!err) {
		err = load(engine, whole, now, NULL);
		said = err == -EINVAL;
		if (said)
			complain("--trace=%s: not an expression", expr);
	}
	if (err && !said)
		complain_errno(err);
	free(messages);
	free(plain);
	free(whole);
	return err;
}

int select_new(const struct options *o, uint64_t now, struct select **out)
{
	struct select *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return complain_errno(err);
	s->engine = engine_new();
	if (!s->engine)
		goto err_free;
	err = tamis_path_set(s->engine, TAMIS_PATH_BRIDGE);
	if (!err)
		err = rule_load(s->engine, o->trace_expr, now);
	if (err)
		goto err_free;
	err = feed_init(&s->feed, s->engine, o->iif, o->oif);
	if (err) {
		complain_errno(err);
		goto err_free;
	}
	*out = s;
	return 0;

err_free:
	select_free(s);
	return err;
}

void select_free(struct select *s)
{
	if (!s)
		return;
	feed_free(&s->feed);
	tamis_free(s->engine);
	free(s);
}

int select_run(struct select *s, const struct capture *c, const struct burst *b, uint64_t *mask)
{
	int err = feed_fill(&s->feed, c, b);

	if (!err)
		err = tamis_burst_run(s->feed.burst);
	if (!err)
		*mask = tamis_burst_mask(s->feed.burst, TAMIS_ACCEPT);
	return err;
}
