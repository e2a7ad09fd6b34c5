/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_api: the body of tamis/ipset.h: a session, and texts for the caller to keep. */
#include <stdlib.h>
#include <tamis/ipset.h>

#include "base/arena.h"
#include "compat/ipset.h"

struct tamis_ipset {
	struct ipset *session;
};

int tamis_ipset_new(struct tamis_ipset **out)
{
	struct tamis_ipset *s = calloc(1, sizeof(*s));
	int err = s ? ipset_new(&s->session) : -ENOMEM;

	if (err)
		free(s);
	else
		*out = s;
	return err;
}

void tamis_ipset_free(struct tamis_ipset *s)
{
	if (!s)
		return;
	ipset_free(s->session);
	free(s);
}

void tamis_ipset_result_free(struct tamis_ipset_result *r)
{
	free(r->output);
	free(r->messages);
	r->output = r->messages = NULL;
}

/* The texts are freed, or the result's. */
static int result_make(int status, bool changed, struct strbuf *output, struct strbuf *messages,
		       struct tamis_ipset_result *out)
{
	struct tamis_ipset_result r = {.status = status, .changed = changed};
	int err = MIN(status, 0);

	if (!err) {
		strbuf_puts(output, "");
		strbuf_puts(messages, "");
		r.output = strbuf_take(output);
		r.messages = strbuf_take(messages);
		if (!r.output || !r.messages)
			err = -ENOMEM;
	}
	strbuf_free(output);
	strbuf_free(messages);
	if (err)
		tamis_ipset_result_free(&r);
	else
		*out = r;
	return err;
}

/* A request writes to its words, which may be constants of the caller's. */
static int words_copy(struct ipset_request *r, struct arena *a)
{
	for (unsigned i = 0; i < r->n; i++) {
		r->word[i] = arena_strndup(a, r->word[i], strlen(r->word[i]));
		if (!r->word[i])
			return -ENOMEM;
	}
	return 0;
}

int tamis_ipset_run(struct tamis_ipset *s, int argc, char *const *argv, uint64_t now,
		    struct tamis_ipset_result *out)
{
	struct strbuf output = STRBUF_INIT, messages = STRBUF_INIT;
	struct arena words = ARENA_INIT;
	struct ipset_request r;
	bool changed = false;
	int status = ipset_request_parse(s->session, (unsigned)MAX(argc, 0), argv, &r, &messages);

	if (!status && r.action == IPSET_RUN) {
		status = words_copy(&r, &words);
		if (!status)
			status = ipset_request_run(s->session, &r, now, &output, &messages,
						   &changed);
		arena_free(&words);
	} else if (!status && r.action != IPSET_QUIT) {
		strbuf_printf(&messages, "ipset v7.17: Command `%s' reads no input here.\n",
			      r.word[0]);
		status = 2;
	}
	return result_make(status, changed, &output, &messages, out);
}

int tamis_ipset_restore(struct tamis_ipset *s, const char *text, size_t len, unsigned flags,
			uint64_t now, struct tamis_ipset_result *out)
{
	struct ipset_restore_options o = {
		.exist = flags & TAMIS_IPSET_EXIST, .quiet = flags & TAMIS_IPSET_QUIET, .now = now};
	struct strbuf output = STRBUF_INIT, messages = STRBUF_INIT;
	bool changed = false;
	int status = ipset_restore_text(s->session, text, len, &o, &output, &messages, &changed);

	return result_make(status, changed, &output, &messages, out);
}

int tamis_ipset_publish(struct tamis_ipset *s, struct tamis *t, uint64_t now, char **messages)
{
	struct strbuf text = STRBUF_INIT;
	int err = ipset_publish(s->session, t, now, &text);

	if (!err)
		err = strbuf_error(&text);
	if (messages)
		*messages = text.len ? strbuf_take(&text) : NULL;
	strbuf_free(&text);
	return err;
}
