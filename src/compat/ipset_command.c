/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_command: command lines: which command, which options, which sets.
 *
 * Options may stand anywhere. A command may be written as the beginning of its name; where several
 * begin like that the first of the table is meant, as in ipset.
 */
#include "compat/ipset_command.h"

#include <stdio.h>
#include <stdlib.h>

const struct ipset_command ipset_commands[IPSET_COMMANDS_N] = {
	[IPSET_CMD_CREATE] = {{"create", "new", "-N"}, 2, UINT_MAX},
	[IPSET_CMD_ADD] = {{"add", "-A"}, 2, UINT_MAX},
	[IPSET_CMD_DEL] = {{"del", "-D"}, 2, UINT_MAX},
	[IPSET_CMD_TEST] = {{"test", "-T"}, 2, UINT_MAX},
	[IPSET_CMD_DESTROY] = {{"destroy", "x", "-X"}, 0, 1},
	[IPSET_CMD_LIST] = {{"list", "-L"}, 0, 1},
	[IPSET_CMD_SAVE] = {{"save", "-S"}, 0, 1},
	[IPSET_CMD_RESTORE] = {{"restore", "-R"}, 0, 0},
	[IPSET_CMD_FLUSH] = {{"flush", "-F"}, 0, 1},
	[IPSET_CMD_RENAME] = {{"rename", "e", "-E"}, 2, 2},
	[IPSET_CMD_SWAP] = {{"swap", "w", "-W"}, 2, 2},
	[IPSET_CMD_HELP] = {{"help", "-H", "-h"}, 0, UINT_MAX},
	[IPSET_CMD_VERSION] = {{"version", "-V", "-v"}, 0, UINT_MAX},
	[IPSET_CMD_INTERACTIVE] = {{"-"}, 0, UINT_MAX},
	[IPSET_CMD_QUIT] = {{"quit"}, 0, UINT_MAX},
};

enum global { EXIST, OUTPUT, QUIET, RESOLVE, SORTED, NAMES, TERSE, FILENAME, GLOBALS_N };

static const struct {
	const char *letter, *name;
	bool argument;
} globals[GLOBALS_N] = {
	[EXIST] = {"-!", "exist", false},   [OUTPUT] = {"-o", "output", true},
	[QUIET] = {"-q", "quiet", false},   [RESOLVE] = {"-r", "resolve", false},
	[SORTED] = {"-s", "sorted", false}, [NAMES] = {"-n", "name", false},
	[TERSE] = {"-t", "terse", false},   [FILENAME] = {"-f", "file", true},
};

enum global_result { NO_OPTION = GLOBALS_N };

static enum global global_find(const char *word)
{
	unsigned g = 0;
	const char *name = word + 1 + (word[1] == '-');

	if (word[0] != '-' || !word[1])
		return (enum global)NO_OPTION;
	while (g < GLOBALS_N && strcmp(word, globals[g].letter) && strcmp(name, globals[g].name))
		g++;
	return (enum global)g;
}

/* "--create" is "create"; "-N" stays. */
static enum ipset_command_id command_find(const char *word)
{
	const char *bare = word;
	size_t len;

	if (word[0] == '-' && word[1] == '-')
		bare = word + 2;
	len = strlen(bare);
	for (unsigned c = 0; len && c < IPSET_COMMANDS_N; c++)
		for (size_t i = 0; i < IPSET_ALIASES && ipset_commands[c].names[i]; i++) {
			const char *name = ipset_commands[c].names[i];

			if (*name == '-' ? strcmp(word, name) == 0 : strncmp(bare, name, len) == 0)
				return (enum ipset_command_id)c;
		}
	return IPSET_COMMANDS_N;
}

static int form_set(struct ipset *s, const char *text, struct ipset_request *r)
{
	static const char *const forms[] = {
		[OUTPUT_PLAIN] = "plain",
		[OUTPUT_SAVE] = "save",
		[OUTPUT_XML] = "xml",
		[OUTPUT_JSON] = "json",
	};

	for (unsigned f = OUTPUT_PLAIN; f < ARRAY_SIZE(forms); f++) {
		if (strcmp(text, forms[f]) == 0) {
			r->form = f;
			return 0;
		}
	}
	return ipset_fail(s, "Syntax error: unknown output mode '%s'", text);
}

static int global_set(struct ipset *s, enum global g, const char *argument, struct ipset_request *r)
{
	switch (g) {
	case EXIST:
		r->exist = true;
		break;
	case OUTPUT:
		return form_set(s, argument, r);
	case QUIET:
		r->quiet = true;
		break;
	case SORTED:
		r->flags |= PRINT_SORTED;
		break;
	case NAMES:
		r->flags |= PRINT_NAMES;
		break;
	case TERSE:
		r->flags |= PRINT_TERSE;
		break;
	case FILENAME:
		r->file = argument;
		break;
	default: /* addresses are never looked up */
		break;
	}
	return 0;
}

static int words_sort(struct ipset *s, unsigned n, char *const *word, const bool *quoted,
		      struct ipset_request *r)
{
	int err = 0;

	for (unsigned i = 0; i < n; i++)
		r->quiet |= global_find(word[i]) == QUIET;
	for (unsigned i = 0; !err && i < n; i++) {
		enum global g = quoted && quoted[i] ? (enum global)NO_OPTION : global_find(word[i]);

		if (g == (enum global)NO_OPTION) {
			if (r->n == IPSET_REQUEST_WORDS)
				return ipset_usage(s, "Unknown argument %s", word[i]);
			r->word[r->n++] = word[i];
			continue;
		}
		if (globals[g].argument && i + 1 == n)
			return ipset_usage(s, "Missing mandatory argument to option %s", word[i]);
		err = global_set(s, g, globals[g].argument ? word[i + 1] : NULL, r);
		i += globals[g].argument;
	}
	return err;
}

int ipset_request_read(struct ipset *s, unsigned n, char *const *word, const bool *quoted,
		       struct ipset_request *r)
{
	const struct ipset_command *c;
	const char *name;
	int err;

	*r = (struct ipset_request){0};
	err = words_sort(s, n, word, quoted, r);
	if (err)
		return err;
	if (!r->n)
		return ipset_usage(s, "No command specified.");
	r->command = command_find(r->word[0]);
	if (r->command == IPSET_COMMANDS_N)
		return ipset_usage(s, "No command specified: unknown argument %s", r->word[0]);
	c = &ipset_commands[r->command];
	name = c->names[0];
	if (r->n - 1 < c->least)
		return ipset_usage(s, "Missing %smandatory argument to command %s",
				   r->n == 1 ? "" : "second ", name);
	if (r->n - 1 > c->most)
		return ipset_usage(s, "Unknown argument %s", r->word[c->most + 1]);
	switch (r->command) {
	case IPSET_CMD_RESTORE:
		r->action = IPSET_RESTORE;
		break;
	case IPSET_CMD_INTERACTIVE:
		r->action = IPSET_INTERACTIVE;
		break;
	case IPSET_CMD_QUIT:
		r->action = IPSET_QUIT;
		break;
	}
	return 0;
}

bool ipset_request_reads(const struct ipset_request *r)
{
	switch (r->command) {
	case IPSET_CMD_TEST:
	case IPSET_CMD_LIST:
	case IPSET_CMD_SAVE:
	case IPSET_CMD_HELP:
	case IPSET_CMD_VERSION:
	case IPSET_CMD_QUIT:
		return true;
	}
	return false;
}

static int names_check(struct ipset *s, const char *first, const char *second)
{
	int err = ipset_name_check(s, first);

	return err ? err : ipset_name_check(s, second);
}

/* The set of that name, which must be there. */
static int set_find(struct ipset *s, const char *name, struct ipset_set **out)
{
	int err = ipset_name_check(s, name);

	if (err)
		return err;
	*out = ipset_find(s, name);
	return *out ? 0 : ipset_fail(s, "The set with the given name does not exist");
}

static int print(struct ipset *s, struct ipset_request *r, struct strbuf *out)
{
	struct ipset_set *set = NULL;
	int err = r->n > 1 ? set_find(s, r->word[1], &set) : 0;

	if (err)
		return err;
	if (!r->form)
		r->form = r->command == IPSET_CMD_SAVE ? OUTPUT_SAVE : OUTPUT_PLAIN;
	if (r->form == OUTPUT_SAVE || r->command == IPSET_CMD_SAVE)
		r->flags &= ~(unsigned)(PRINT_NAMES | PRINT_TERSE);
	ipset_print(s, set, (enum ipset_output)r->form, r->flags, out);
	return strbuf_error(out);
}

static int help(struct ipset *s, const struct ipset_request *r, struct strbuf *out)
{
	const struct ipset_type *type = r->n > 1 ? ipset_type_find(r->word[1]) : NULL;

	ipset_help(type, out);
	if (r->n > 1 && !type)
		return ipset_usage(s, "Unknown settype: `%s'", r->word[1]);
	return strbuf_error(out);
}

static int flush(struct ipset *s, struct ipset_set *set)
{
	int err = 0;

	if (set)
		return ipset_flush(s, set);
	for (size_t i = 0; !err && i < s->sets.n; i++)
		err = ipset_flush(s, s->sets.items[i]);
	return err;
}

int ipset_request_do(struct ipset *s, struct ipset_request *r, struct strbuf *out,
		     struct strbuf *answer)
{
	struct ipset_words w = {.word = r->word, .n = r->n, .at = 1};
	struct ipset_set *set = NULL;
	int err = 0;

	if (r->command != IPSET_CMD_ADD)
		err = ipset_add_finish(s);
	if (err)
		return err;
	s->exist = r->exist;
	switch (r->command) {
	case IPSET_CMD_CREATE:
		return ipset_create(s, &w);
	case IPSET_CMD_LIST:
	case IPSET_CMD_SAVE:
		return print(s, r, out);
	case IPSET_CMD_HELP:
		return help(s, r, out);
	case IPSET_CMD_VERSION:
		strbuf_puts(out, IPSET_VERSION ", protocol version: 7\n");
		return strbuf_error(out);
	case IPSET_CMD_DESTROY:
		if (r->n == 1)
			return ipset_destroy_all(s);
		if (r->exist && !ipset_find(s, r->word[1]))
			return 0;
		break;
	}
	if (r->command == IPSET_CMD_RENAME || r->command == IPSET_CMD_SWAP)
		err = names_check(s, r->word[1], r->word[2]);
	if (!err && r->n > 1)
		err = set_find(s, words_next(&w), &set);
	if (err)
		return err;
	switch (r->command) {
	case IPSET_CMD_ADD:
		return ipset_elem(s, set, IPSET_ADD, &w, answer);
	case IPSET_CMD_DEL:
		return ipset_elem(s, set, IPSET_DEL, &w, answer);
	case IPSET_CMD_TEST:
		return ipset_elem(s, set, IPSET_TEST, &w, answer);
	case IPSET_CMD_FLUSH:
		return flush(s, set);
	case IPSET_CMD_DESTROY:
		return ipset_destroy(s, set);
	case IPSET_CMD_RENAME:
		return ipset_rename(s, set, r->word[2]);
	case IPSET_CMD_SWAP:
		return ipset_swap(s, set, r->word[2]);
	}
	return 0;
}
