/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: what the command line asks for.
 *
 * One table says which option belongs to which commands; getopt_long(3) reads them, options before
 * and after file names alike. Strings point into argv. One thread.
 */
#ifndef TAMIS_CMD_OPTIONS_H
#define TAMIS_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <tamis/tamis.h>

/* Texts in order; items ends with NULL once there is one. */
struct text_list {
	const char **items;
	size_t n;
};

struct options {
	struct text_list rules, defines, includes, locals;
	struct text_list ipsets;  /* restore files */
	struct text_list lists;	  /* "family table set=FILE" */
	struct text_list acls;	  /* files in VPP's language */
	struct text_list reloads; /* "N=FILE" */
	const char *input;	  /* the capture */
	const char *accepted, *dropped, *log;
	const char *iif, *oif;
	enum tamis_path path;
	bool trace;
	const char *trace_expr; /* NULL: all packets */
	unsigned long top;	/* 0: all rules */
	bool json, quiet, skip_bad;
	unsigned list_flags; /* TAMIS_LIST_* */
};

struct command {
	const char *name, *summary;
	const char *help; /* usage, options, examples */
	unsigned bit;	  /* its place in the table of options */
	bool takes_input;
	bool only_rules;		     /* nothing to do without a ruleset */
	int (*run)(const struct options *o); /* the exit status */
	int (*words)(int argc, char **argv); /* instead: one with a language of its own */
};

extern const struct command command_check, command_explain, command_ipset, command_list,
	command_replay;

/*
 * Reads argv, whose first word is the command's name. True: run the command. False: all is said,
 * and *status is what to exit with (0 after --help).
 */
bool options_parse(const struct command *c, int argc, char **argv, struct options *o, int *status);
void options_free(struct options *o);

#endif
