/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset: `tamis ipset`: ipset's commands on sets in a file, or on none to begin with.
 *
 * Called as `ipset` the program is this command. The file is read before and written after a
 * command that changes something, under a lock. Messages and exit status are ipset's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat/file.h"
#include "compat/ipset.h"
#include "options.h"
#include "output.h"
#include "state.h"

struct run {
	struct ipset *s;
	const char *path; /* of the state, or NULL */
	struct state state;
	struct strbuf out, messages;
	bool changed;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* "ipset v7.17: ..." of what happens outside the language. */
static int trouble(const char *what, const char *path, int err)
{
	if (path)
		fprintf(stderr, "ipset v7.17: Cannot open %s for %s: %s\n", path, what,
			strerror(-err));
	else
		fprintf(stderr, "ipset v7.17: %s\n", strerror(-err));
	return 1;
}

static void say(struct run *r)
{
	fputs(strbuf_str(&r->messages), stderr);
	strbuf_truncate(&r->messages, 0);
}

/* What was printed, to `path` or standard output. An exit status. */
static int hand_out(struct run *r, const char *path)
{
	int fd = STDOUT_FILENO, err;

	if (path) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			return trouble("writing", path, -errno);
	}
	err = output_strbuf(fd, path ? path : output_stdout_name, &r->out);
	if (path && close(fd) && !err)
		err = trouble("writing", path, -errno);
	return err && err != OUTPUT_GONE ? 1 : 0;
}

static int state_load(struct run *r, bool to_change)
{
	struct ipset_restore_options options = {.prefix = r->path, .now = now_ns()};
	int status;

	if (!r->path)
		return 0;
	status = state_open(r->path, to_change, &r->state);
	if (status)
		return trouble(to_change ? "writing" : "reading", r->path, status);
	if (r->state.fd < 0)
		return 0;
	status = ipset_state_read(r->s, r->state.path, &options, &r->messages);
	say(r);
	return status < 0 ? trouble("reading", r->path, status) : status;
}

static int state_save(struct run *r)
{
	struct strbuf text = STRBUF_INIT;
	int err;

	if (!r->path || !r->changed)
		return 0;
	ipset_state_print(r->s, now_ns(), &text);
	err = strbuf_error(&text);
	if (!err)
		err = state_write(&r->state, text.data, text.len);
	strbuf_free(&text);
	r->changed = false;
	return err ? trouble("writing", r->path, err) : 0;
}

static int restore(struct run *r, const struct ipset_request *q)
{
	struct ipset_restore_options options = {
		.exist = q->exist, .quiet = q->quiet, .now = now_ns()};
	const char *path = q->file ? q->file : "-";
	int status = ipset_restore(r->s, path, &options, &r->out, &r->messages, &r->changed);

	return status < 0 ? trouble("reading", path, status) : status;
}

/* Lines of standard input; one that fails is told and the next one read. */
static int interact(struct run *r)
{
	bool prompt = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), changed;
	struct line_reader lines;
	const char *line;
	size_t len;
	int got = line_reader_open(&lines, "-"), status = 0, lost = 0;

	if (got)
		return trouble("reading", "standard input", got);
	for (;;) {
		if (prompt)
			output_text(STDOUT_FILENO, output_stdout_name, "ipset> ");
		got = line_reader_next(&lines, &line, &len);
		if (got <= 0)
			break;
		status = ipset_line_run(r->s, line, len, now_ns(), &r->out, &r->messages, &changed);
		if (status == -ESHUTDOWN)
			break;
		r->changed |= changed;
		say(r);
		if (status < 0)
			trouble(NULL, NULL, status);
		lost = hand_out(r, NULL);
		if (!lost && prompt)
			lost = state_save(r);
		if (lost)
			break;
	}
	line_reader_close(&lines);
	return got < 0 ? trouble("reading", "standard input", got) : lost;
}

static int request_run(struct run *r, struct ipset_request *q)
{
	int status, written;

	switch (q->action) {
	case IPSET_RESTORE:
		status = restore(r, q);
		q->file = NULL;
		break;
	case IPSET_INTERACTIVE:
		status = interact(r);
		break;
	case IPSET_QUIT:
		return 0;
	default:
		status = ipset_request_run(r->s, q, now_ns(), &r->out, &r->messages, &r->changed);
		if (status < 0)
			status = trouble(NULL, NULL, status);
		break;
	}
	if (!status || q->action != IPSET_RUN) {
		written = state_save(r);
		status = status ? status : written;
	}
	say(r);
	if (r->out.len || q->file) {
		written = hand_out(r, q->file);
		status = status ? status : written;
	}
	return status;
}

/* Takes `--state FILE` and `--help` out of what stands before the command. */
static bool own_options(int *argc, char ***argv, const char **path, int *status)
{
	static const char name[] = "--state";

	*path = getenv("TAMIS_IPSET_STATE");
	if (*path && !**path)
		*path = NULL;
	for (; *argc; ++*argv, --*argc) {
		const char *word = **argv;

		if (strcmp(word, "--help") == 0) {
			*status = output_print(command_ipset.help);
			return false;
		}
		if (strncmp(word, name, sizeof(name) - 1) ||
		    (word[sizeof(name) - 1] && word[sizeof(name) - 1] != '='))
			break;
		if (word[sizeof(name) - 1]) {
			*path = word + sizeof(name);
			continue;
		}
		if (*argc == 1) {
			fputs("ipset v7.17: Missing mandatory argument to option --state\n",
			      stderr);
			*status = 2;
			return false;
		}
		*path = *++*argv;
		--*argc;
	}
	return true;
}

static int ipset_run(int argc, char **argv)
{
	struct run r = {.state = {.fd = -1}};
	struct ipset_request q;
	int status;

	if (!own_options(&argc, &argv, &r.path, &status))
		return status;
	if (ipset_new(&r.s))
		return trouble(NULL, NULL, -ENOMEM);
	status = ipset_request_parse(r.s, (unsigned)argc, argv, &q, &r.messages);
	if (status < 0)
		status = trouble(NULL, NULL, status);
	say(&r);
	if (!status)
		status = state_load(&r, !ipset_request_reads(&q));
	if (!status)
		status = request_run(&r, &q);
	if (r.path)
		state_close(&r.state);
	ipset_free(r.s);
	strbuf_free(&r.out);
	strbuf_free(&r.messages);
	return status;
}

static const char ipset_help[] =
	"Usage: tamis ipset [--state FILE] [OPTIONS] COMMAND [ARGUMENTS]\n"
	"\n"
	"Carries out commands of ipset(8), with its messages and exit status: create, add, del, "
	"test,\n"
	"destroy, list, save, restore, flush, rename, swap, help, version and -, which reads "
	"commands\n"
	"from standard input. 'tamis ipset help' tells about them, 'tamis ipset help TYPE' about "
	"a\n"
	"type of sets. A program of the name 'ipset' that is tamis does the same.\n"
	"\n"
	"  --state FILE             the sets are in FILE, which is as 'ipset save' writes it: read "
	"at\n"
	"                           the start, put in place anew when a command has changed\n"
	"                           something, locked meanwhile. Without it there are no sets at "
	"the\n"
	"                           start, and what becomes of them is gone at the end. The\n"
	"                           environment variable TAMIS_IPSET_STATE stands for it\n"
	"  --help                   this text\n"
	"\n"
	"A command is carried out as a whole or not at all: a restore that fails in one line, or "
	"a\n"
	"range of which one address is there already, leaves the sets as they were.\n"
	"\n"
	"Examples:\n"
	"  tamis ipset --state sets create banned hash:ip timeout 3600\n"
	"  tamis ipset --state sets add banned 192.0.2.7\n"
	"  tamis ipset --state sets list\n"
	"  tamis replay -f RULES --ipset sets IN.pcap\n"
	"  ipset save | tamis ipset --state sets restore\n";

const struct command command_ipset = {
	.name = "ipset",
	.summary = "[--state FILE] COMMAND: ipset's commands on sets in a file",
	.help = ipset_help,
	.words = ipset_run,
};
