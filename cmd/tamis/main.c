/* SPDX-License-Identifier: Apache-2.0 */
/* main: picks the command. Exit status 0, or 1 for every kind of failure, as nft has it. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output.h"

static const struct command *const commands[] = {&command_replay, &command_check, &command_list,
						 &command_explain, &command_ipset};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(struct strbuf *b)
{
	strbuf_puts(b, "tamis: tries nftables rulesets on captured packets\n\nUsage:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		strbuf_printf(b, "  tamis %-7s %s\n", commands[i]->name, commands[i]->summary);
	strbuf_puts(b, "  tamis help    [COMMAND]: this text, or all about a command\n"
		       "  tamis --version\n");
}

static int usage_print(int fd)
{
	struct strbuf b = STRBUF_INIT;
	int err;

	usage(&b);
	err = output_strbuf(fd, output_stdout_name, &b);
	strbuf_free(&b);
	return err && err != OUTPUT_GONE ? 1 : 0;
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	complain("there is no command '%s'", name);
	usage_print(STDERR_FILENO);
	return NULL;
}

static bool one_of(const char *word, const char *a, const char *b, const char *c)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* `words` are those behind `help`. */
static int help(char **words)
{
	const struct command *c;

	if (words[0] && words[1]) {
		complain("%s: one word too many: help tells about one command", words[1]);
		return 1;
	}
	if (!words[0] || one_of(words[0], "help", "--help", "-h"))
		return usage_print(STDOUT_FILENO);
	c = command_find(words[0]);
	return c ? output_print(c->help) : 1;
}

static int version(void)
{
	struct strbuf b = STRBUF_INIT;
	int err;

	strbuf_printf(&b, "tamis %s\n", tamis_version());
	err = output_strbuf(STDOUT_FILENO, output_stdout_name, &b);
	strbuf_free(&b);
	return err && err != OUTPUT_GONE ? 1 : 0;
}

/* What is opened later must not take the place of a closed standard stream and get its output. */
static bool streams_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

static const char *name_called(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct options o;
	int status;

	/* A closed pipe is an error of write(2), which every output checks. */
	signal(SIGPIPE, SIG_IGN);
	if (!streams_hold())
		return 1;
	if (argc && strcmp(name_called(argv[0]), command_ipset.name) == 0)
		return command_ipset.words(argc - 1, argv + 1);
	if (argc < 2) {
		usage_print(STDERR_FILENO);
		return 1;
	}
	if (one_of(argv[1], "--version", "-v", "-V"))
		return version();
	if (one_of(argv[1], "help", "--help", "-h"))
		return help(argv + 2);
	c = command_find(argv[1]);
	if (!c)
		return 1;
	if (c->words)
		return c->words(argc - 2, argv + 2);
	if (options_parse(c, argc - 1, argv + 1, &o, &status))
		status = c->run(&o);
	options_free(&o);
	return status;
}
