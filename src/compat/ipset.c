/* SPDX-License-Identifier: Apache-2.0 */
/* ipset: see ipset.h: sessions: single commands, lines, restores, files that keep sets. */
#include "compat/ipset.h"

#include <stdlib.h>

#include "base/address.h"
#include "compat/file.h"
#include "compat/ipset_command.h"

int ipset_new(struct ipset **out)
{
	struct ipset *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->by_name = MAP_INIT;
	s->kept = ARENA_INIT;
	*out = s;
	return 0;
}

void ipset_free(struct ipset *s)
{
	if (!s)
		return;
	ipset_rollback(s);
	for (size_t i = 0; i < s->sets.n; i++)
		ipset_set_free(s->sets.items[i]);
	vec_free(&s->sets);
	map_free(&s->by_name);
	strbuf_free(&s->error);
	strbuf_free(&s->warnings);
	free(s);
}

/* --- what there is to say ----------------------------------------------------------------- */

static void said_forget(struct ipset *s)
{
	strbuf_free(&s->error);
	strbuf_free(&s->warnings);
	s->status = 0;
}

/* Moves warnings and the error into `messages`. The exit status for `err`, or err itself if it is
 * none of the language's. */
static int said_hand_over(struct ipset *s, int err, const char *prefix, bool quiet,
			  struct strbuf *messages)
{
	int status = err == -EINVAL ? s->status : err;

	if (!err && (strbuf_error(&s->error) || strbuf_error(&s->warnings)))
		status = -ENOMEM;
	if (!err && !quiet && s->warnings.len)
		strbuf_printf(messages, "Warning: %s\n", strbuf_str(&s->warnings));
	if (!quiet && s->error.len) {
		ipset_place_print(prefix, s->line, messages);
		strbuf_printf(messages, "%s\n", strbuf_str(&s->error));
		if (status == 2 && !prefix)
			strbuf_puts(messages, "Try `ipset help' for more information.\n");
	}
	said_forget(s);
	return status;
}

int ipset_request_parse(struct ipset *s, unsigned n, char *const *word, struct ipset_request *out,
			struct strbuf *messages)
{
	int err;

	s->line = 0;
	err = ipset_request_read(s, n, word, NULL, out);
	return said_hand_over(s, err, NULL, out->quiet, messages);
}

int ipset_request_run(struct ipset *s, struct ipset_request *r, uint64_t now, struct strbuf *out,
		      struct strbuf *messages, bool *changed)
{
	struct strbuf answer = STRBUF_INIT;
	int err;

	s->now = now;
	s->line = 0;
	err = ipset_request_do(s, r, out, &answer);
	if (!err)
		err = ipset_add_finish(s);
	if (!err)
		err = strbuf_error(&answer);
	if (changed)
		*changed = !err && s->changed;
	if (err)
		ipset_rollback(s);
	else
		ipset_commit(s);
	if (answer.len && !r->quiet)
		strbuf_printf(messages, "%s\n", strbuf_str(&answer));
	strbuf_free(&answer);
	return said_hand_over(s, err, NULL, r->quiet, messages);
}

/* --- lines -------------------------------------------------------------------------------- */

/* A line in words: between blanks, or between quotation marks. */
struct line_words {
	char copy[IPSET_LINE_MAX + 1];
	char *word[IPSET_WORDS_MAX];
	bool quoted[IPSET_WORDS_MAX];
	unsigned n;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int words_split(struct ipset *s, const char *line, size_t len, struct line_words *w)
{
	char *p = w->copy;

	w->n = 0;
	if (len > IPSET_LINE_MAX)
		return ipset_fail(s, "Syntax error: the line is longer than %d characters",
				  IPSET_LINE_MAX);
	if (memchr(line, 0, len))
		return ipset_fail(s, "Syntax error: no text");
	memcpy(w->copy, line, len);
	w->copy[len] = '\0';
	for (;;) {
		while (is_blank(*p))
			p++;
		if (!*p || (*p == '#' && !w->n))
			return 0;
		if (w->n == IPSET_WORDS_MAX)
			return ipset_fail(s, "Syntax error: more than %d words", IPSET_WORDS_MAX);
		w->quoted[w->n] = *p == '"';
		if (*p == '"') {
			w->word[w->n++] = ++p;
			p = strchr(p, '"');
			if (!p)
				return ipset_fail(s, "Syntax error: a quotation mark is missing");
		} else {
			w->word[w->n++] = p;
			while (*p && !is_blank(*p))
				p++;
		}
		if (*p)
			*p++ = '\0';
	}
}

int ipset_line_run(struct ipset *s, const char *line, size_t len, uint64_t now, struct strbuf *out,
		   struct strbuf *messages, bool *changed)
{
	struct ipset_request r = {0};
	struct line_words w;
	int err;

	if (changed)
		*changed = false;
	s->line = 0;
	err = words_split(s, line, len, &w);
	if (!err && !w.n)
		return 0;
	if (!err)
		err = ipset_request_read(s, w.n, w.word, w.quoted, &r);
	if (err)
		return said_hand_over(s, err, NULL, r.quiet, messages);
	switch (r.action) {
	case IPSET_QUIT:
		return -ESHUTDOWN;
	case IPSET_RUN:
		return ipset_request_run(s, &r, now, out, messages, changed);
	default:
		strbuf_printf(out, "%s command is not supported in interactive mode\n",
			      r.action == IPSET_RESTORE ? "Restore" : "Interactive");
		return strbuf_error(out);
	}
}

/* --- restores ----------------------------------------------------------------------------- */

struct restore {
	struct ipset *s;
	const struct ipset_restore_options *o;
	struct strbuf *out, *messages;
	bool state; /* comments may say what time it is */
	bool quit;
};

/* "#@ SECONDS.NANOSECONDS", "#-NANOSECONDS" */
static int time_read(struct ipset *s, const char *line, size_t len)
{
	const char *dot = memchr(line, '.', len);
	uint64_t seconds, ns;

	if (len > 2 && line[1] == '-' && !decimal_parse(line + 2, len - 2, IPSET_SECOND - 1, &ns)) {
		s->fraction = ns;
		return 0;
	}
	if (len > 3 && line[1] == '@' && line[2] == ' ' && dot > line + 3 &&
	    !decimal_parse(line + 3, (size_t)(dot - line - 3), UINT64_MAX / IPSET_SECOND / 2,
			   &seconds) &&
	    !decimal_parse(dot + 1, (size_t)(line + len - dot - 1), IPSET_SECOND - 1, &ns)) {
		int err = ipset_add_finish(s);

		s->now = seconds * IPSET_SECOND + ns;
		return err;
	}
	return 0;
}

static int restore_line(struct restore *r, const char *line, size_t len)
{
	struct strbuf answer = STRBUF_INIT;
	struct ipset_request request;
	struct ipset *s = r->s;
	struct line_words w;
	int err;

	if (len && line[0] == '#')
		return r->state ? time_read(s, line, len) : 0;
	err = ipset_add_line(s, line, len, r->o->exist);
	if (err)
		return MIN(err, 0);
	err = words_split(s, line, len, &w);
	if (err || !w.n || strcmp(w.word[0], "COMMIT") == 0)
		return err;
	err = ipset_request_read(s, w.n, w.word, w.quoted, &request);
	if (err)
		return err;
	if (request.action == IPSET_RESTORE || request.action == IPSET_INTERACTIVE ||
	    request.command == IPSET_CMD_HELP || request.command == IPSET_CMD_VERSION)
		return ipset_usage(s, "Command `%s' is invalid in restore mode.",
				   ipset_commands[request.command].names[0]);
	r->quit = request.action == IPSET_QUIT;
	request.exist |= r->o->exist;
	err = ipset_request_do(s, &request, r->out, &answer);
	if (err == -EINVAL && answer.len)
		err = ipset_fail(s, "%s", strbuf_str(&answer));
	else if (answer.len && !request.quiet && !r->o->quiet)
		strbuf_printf(r->messages, "%s\n", strbuf_str(&answer));
	strbuf_free(&answer);
	return err;
}

/* A line has failed, unless one before it did that was not carried out yet. */
static int restore_failed(struct ipset *s, int err)
{
	struct strbuf said = s->error;
	int status = s->status, earlier;

	s->error = STRBUF_INIT;
	earlier = ipset_add_finish(s);
	if (earlier) {
		strbuf_free(&said);
		return earlier;
	}
	strbuf_free(&s->error);
	s->error = said;
	s->status = status;
	return err;
}

static int restore_lines(struct restore *r, struct line_reader *lines, bool *changed)
{
	struct ipset *s = r->s;
	const char *line;
	size_t len;
	int got = 0, err = 0;

	s->now = r->o->now;
	s->prefix = r->o->prefix;
	s->line = 0;
	s->fraction = 0;
	while (!err && !r->quit && (got = line_reader_next(lines, &line, &len)) > 0) {
		s->line++;
		err = restore_line(r, line, len);
	}
	if (!err)
		err = ipset_add_finish(s);
	else
		err = restore_failed(s, err);
	if (!err && got < 0)
		err = got;
	if (changed)
		*changed = !err && s->changed;
	s->now = r->o->now;
	s->prefix = NULL;
	s->fraction = 0;
	if (err)
		ipset_rollback(s);
	else
		ipset_commit(s);
	return said_hand_over(s, err, r->o->prefix, r->o->quiet, r->messages);
}

int ipset_restore(struct ipset *s, const char *path, const struct ipset_restore_options *o,
		  struct strbuf *out, struct strbuf *messages, bool *changed)
{
	struct restore r = {.s = s, .o = o, .out = out, .messages = messages};
	struct line_reader lines;
	int err = line_reader_open(&lines, path);

	if (err)
		return err;
	err = restore_lines(&r, &lines, changed);
	line_reader_close(&lines);
	return err;
}

int ipset_restore_text(struct ipset *s, const char *text, size_t len,
		       const struct ipset_restore_options *o, struct strbuf *out,
		       struct strbuf *messages, bool *changed)
{
	struct restore r = {.s = s, .o = o, .out = out, .messages = messages};
	struct line_reader lines;

	line_reader_text(&lines, text, len);
	return restore_lines(&r, &lines, changed);
}

/* --- files that keep sets ----------------------------------------------------------------- */

void ipset_state_print(struct ipset *s, uint64_t now, struct strbuf *out)
{
	s->now = now;
	strbuf_printf(out, "#@ %llu.%09llu\n", (unsigned long long)(now / IPSET_SECOND),
		      (unsigned long long)(now % IPSET_SECOND));
	ipset_print(s, NULL, OUTPUT_SAVE, PRINT_EXACT, out);
}

int ipset_state_read(struct ipset *s, const char *path, const struct ipset_restore_options *o,
		     struct strbuf *messages)
{
	struct strbuf out = STRBUF_INIT;
	struct restore r = {.s = s, .o = o, .out = &out, .messages = messages, .state = true};
	struct line_reader lines;
	int err = line_reader_open(&lines, path);

	if (err)
		return err;
	err = restore_lines(&r, &lines, NULL);
	line_reader_close(&lines);
	strbuf_free(&out);
	return err;
}
