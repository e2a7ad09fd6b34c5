/* SPDX-License-Identifier: Apache-2.0 */
/* options: see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apart.h"
#include "output.h"

enum { CHECK = 1, LIST = 2, REPLAY = 4, EXPLAIN = 8, EVERY = 15 };

/* Long name, value returned (the letter, if there is one), argument, commands. */
#define OPTIONS(X)                                                                                 \
	X("file", 'f', required_argument, EVERY)                                                   \
	X("define", 'D', required_argument, EVERY)                                                 \
	X("includepath", 'I', required_argument, EVERY)                                            \
	X("help", 'h', no_argument, EVERY)                                                         \
	X("acl", OPT_ACL, required_argument, EVERY)                                                \
	X("ipset", OPT_IPSET, required_argument, EVERY)                                            \
	X("load", OPT_LOAD, required_argument, EVERY)                                              \
	X("reload", OPT_RELOAD, required_argument, REPLAY)                                         \
	X("skip-bad", OPT_SKIP_BAD, no_argument, EVERY)                                            \
	X("json", 'j', no_argument, LIST | REPLAY | EXPLAIN)                                       \
	X("handle", 'a', no_argument, LIST)                                                        \
	X("numeric", 'n', no_argument, LIST)                                                       \
	X("stateless", 's', no_argument, LIST)                                                     \
	X("terse", 't', no_argument, LIST)                                                         \
	X("write", 'w', required_argument, REPLAY)                                                 \
	X("dropped", OPT_DROPPED, required_argument, REPLAY)                                       \
	X("trace", OPT_TRACE, optional_argument, REPLAY)                                           \
	X("top", OPT_TOP, required_argument, REPLAY)                                               \
	X("path", OPT_PATH, required_argument, REPLAY)                                             \
	X("local", OPT_LOCAL, required_argument, REPLAY)                                           \
	X("iif", OPT_IIF, required_argument, REPLAY)                                               \
	X("oif", OPT_OIF, required_argument, REPLAY)                                               \
	X("log", OPT_LOG, required_argument, REPLAY)                                               \
	X("quiet", 'q', no_argument, REPLAY)

enum {
	OPT_DROPPED = 256,
	OPT_TRACE,
	OPT_TOP,
	OPT_PATH,
	OPT_LOCAL,
	OPT_IIF,
	OPT_OIF,
	OPT_LOG,
	OPT_IPSET,
	OPT_LOAD,
	OPT_RELOAD,
	OPT_SKIP_BAD,
	OPT_ACL
};

static const struct {
	struct option getopt;
	unsigned commands;
} table[] = {
#define X(name, value, argument, commands) {{name, argument, NULL, value}, commands},
	OPTIONS(X)
#undef X
};

enum { N_OPTIONS = sizeof(table) / sizeof(table[0]) };

static bool list_add(struct text_list *l, const char *text)
{
	const char **more = realloc(l->items, (l->n + 2) * sizeof(*more));

	if (!more) {
		complain("%s", strerror(ENOMEM));
		return false;
	}
	l->items = more;
	more[l->n++] = text;
	more[l->n] = NULL;
	return true;
}

static bool path_parse(const char *text, enum tamis_path *out)
{
	static const char *const names[] = {
		[TAMIS_PATH_AUTO] = "auto",	  [TAMIS_PATH_INPUT] = "input",
		[TAMIS_PATH_FORWARD] = "forward", [TAMIS_PATH_OUTPUT] = "output",
		[TAMIS_PATH_BRIDGE] = "bridge",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = (enum tamis_path)i;
			return true;
		}
	}
	complain("--path %s: there are input, forward, output, bridge and auto", text);
	return false;
}

static bool top_parse(const char *text, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || !*out) {
		complain("--top %s: not a number of rules", text);
		return false;
	}
	return true;
}

static bool define_check(const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text) {
		complain("-D %s: not name=value", text);
		return false;
	}
	return true;
}

static bool load_check(const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq || eq == text || !eq[1]) {
		complain("--load %s: not 'family table set=FILE'", text);
		return false;
	}
	return true;
}

static bool reload_check(const char *text)
{
	unsigned long long after;
	char *end;

	errno = 0;
	after = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end != '=' || !end[1] || !after) {
		complain("--reload %s: not PACKET=FILE", text);
		return false;
	}
	return true;
}

static bool directory_check(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	complain("-I %s: not a directory", path);
	return false;
}

static bool option_set(struct options *o, int value, const char *arg)
{
	switch (value) {
	case 'f':
		return list_add(&o->rules, arg);
	case 'D':
		return define_check(arg) && list_add(&o->defines, arg);
	case 'I':
		return directory_check(arg) && list_add(&o->includes, arg);
	case OPT_IPSET:
		return list_add(&o->ipsets, arg);
	case OPT_ACL:
		return list_add(&o->acls, arg);
	case OPT_LOAD:
		return load_check(arg) && list_add(&o->lists, arg);
	case OPT_RELOAD:
		return reload_check(arg) && list_add(&o->reloads, arg);
	case OPT_SKIP_BAD:
		o->skip_bad = true;
		break;
	case OPT_LOCAL:
		return list_add(&o->locals, arg);
	case OPT_PATH:
		return path_parse(arg, &o->path);
	case OPT_TOP:
		return top_parse(arg, &o->top);
	case OPT_TRACE:
		o->trace = true;
		o->trace_expr = arg;
		break;
	case 'w':
		o->accepted = arg;
		break;
	case OPT_DROPPED:
		o->dropped = arg;
		break;
	case OPT_LOG:
		o->log = arg;
		break;
	case OPT_IIF:
		o->iif = arg;
		break;
	case OPT_OIF:
		o->oif = arg;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'j':
		o->json = true;
		o->list_flags |= TAMIS_LIST_JSON;
		break;
	case 'a':
		o->list_flags |= TAMIS_LIST_HANDLES;
		break;
	case 'n':
		o->list_flags |= TAMIS_LIST_NUMERIC;
		break;
	case 's':
		o->list_flags |= TAMIS_LIST_STATELESS;
		break;
	case 't':
		o->list_flags |= TAMIS_LIST_TERSE;
		break;
	}
	return true;
}

static bool is_stdio(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* What is wrong with the command line as a whole, or NULL. */
static const char *options_wrong(const struct command *c, const struct options *o)
{
	unsigned n_stdin = 0;

	if (!o->rules.n && (c->only_rules || (!o->acls.n && !(o->ipsets.n && !c->takes_input))))
		return "no ruleset: give one with -f FILE";
	if (o->skip_bad && !o->lists.n)
		return "--skip-bad is about lists: give one with --load";
	if (o->trace_expr && !*o->trace_expr)
		return "--trace= without an expression: --trace alone is for all packets";
	if (c->takes_input && !o->input)
		return "no capture file to read";
	for (size_t i = 0; i < o->rules.n; i++)
		n_stdin += is_stdio(o->rules.items[i]);
	for (size_t i = 0; i < o->ipsets.n; i++)
		n_stdin += is_stdio(o->ipsets.items[i]);
	for (size_t i = 0; i < o->lists.n; i++)
		n_stdin += is_stdio(strchr(o->lists.items[i], '=') + 1);
	for (size_t i = 0; i < o->acls.n; i++)
		n_stdin += is_stdio(o->acls.items[i]);
	for (size_t i = 0; i < o->reloads.n; i++)
		n_stdin += is_stdio(strchr(o->reloads.items[i], '=') + 1);
	n_stdin += is_stdio(o->input);
	if (n_stdin > 1)
		return "standard input can be read once only";
	if (is_stdio(o->dropped) || is_stdio(o->log))
		return "--dropped and --log take a file, not standard output";
	if (is_stdio(o->accepted) && (!o->quiet || (o->trace && !o->json)))
		return "-w - needs -q and no trace: standard output can be one thing only";
	return NULL;
}

/* After getopt_long() returned '?' or ':'. */
static void complain_option(int value, char *const *argv)
{
	const char *word = argv[optind - 1];

	if (strncmp(word, "--", 2) == 0 && value == ':')
		complain("%s needs an argument", word);
	else if (strncmp(word, "--", 2) == 0)
		complain(optopt ? "%s: takes no argument" : "unknown option %s", word);
	else
		complain(value == ':' ? "-%c needs an argument" : "unknown option -%c", optopt);
}

static bool read_words(const struct command *c, int argc, char **argv, struct options *o,
		       bool *help)
{
	struct option longs[N_OPTIONS + 1] = {0};
	char shorts[2 * N_OPTIONS + 2] = ":";
	size_t n = 0, len = 1;
	int value;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		if (!(table[i].commands & c->bit))
			continue;
		longs[n++] = table[i].getopt;
		if (table[i].getopt.val < 256) {
			shorts[len++] = (char)table[i].getopt.val;
			if (table[i].getopt.has_arg == required_argument)
				shorts[len++] = ':';
		}
	}
	optind = 1;
	while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (value == '?' || value == ':') {
			complain_option(value, argv);
			return false;
		}
		if (value == 'h') {
			*help = true;
			return true;
		}
		if (!option_set(o, value, optarg))
			return false;
	}
	for (; optind < argc; optind++) {
		if (!c->takes_input || o->input) {
			complain("%s: one file too many%s", argv[optind],
				 c->takes_input ? "" : ", rulesets are given with -f");
			return false;
		}
		o->input = argv[optind];
	}
	return true;
}

bool options_parse(const struct command *c, int argc, char **argv, struct options *o, int *status)
{
	const char *wrong = NULL;
	bool help = false;

	*o = (struct options){0};
	*status = 1;
	if (read_words(c, argc, argv, o, &help)) {
		if (help) {
			*status = output_print(c->help);
			return false;
		}
		wrong = options_wrong(c, o);
		if (wrong)
			complain("%s", wrong);
		else if (files_apart(o))
			return true;
	}
	fprintf(stderr, "Try 'tamis %s --help'.\n", c->name);
	return false;
}

void options_free(struct options *o)
{
	free(o->rules.items);
	free(o->defines.items);
	free(o->includes.items);
	free(o->locals.items);
	free(o->ipsets.items);
	free(o->lists.items);
	free(o->acls.items);
	free(o->reloads.items);
}
