/* SPDX-License-Identifier: Apache-2.0 */
/* main: picks the command. Exit status 0, or 1 for every kind of failure, as nft has it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "output.h"

static const struct command *const commands[] = {&command_replay, &command_check, &command_list};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *f)
{
	fputs("tamis: tries nftables rulesets on captured packets\n\nUsage:\n", f);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  tamis %-7s %s\n", commands[i]->name, commands[i]->summary);
	fputs("  tamis help    [COMMAND]: this text, or all about a command\n"
	      "  tamis --version\n",
	      f);
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	complain("there is no command '%s'", name);
	usage(stderr);
	return NULL;
}

static int help(const char *name)
{
	const struct command *c = NULL;

	if (name) {
		c = command_find(name);
		if (!c)
			return 1;
		fputs(c->help, stdout);
	} else {
		usage(stdout);
	}
	return output_finish();
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct options o;
	int status;

	/* A closed pipe is an error of write(2), which every output checks. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		usage(stderr);
		return 1;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0) {
		printf("tamis %s\n", tamis_version());
		return output_finish();
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(NULL);
	c = command_find(argv[1]);
	if (!c)
		return 1;
	if (options_parse(c, argc - 1, argv + 1, &o, &status)) {
		int finished;

		status = c->run(&o);
		finished = output_finish();
		if (finished)
			status = finished;
	}
	options_free(&o);
	return status;
}
