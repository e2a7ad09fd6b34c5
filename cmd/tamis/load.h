/* SPDX-License-Identifier: Apache-2.0 */
/* load: the files given with --ipset, -f, --load and --acl, each a transaction, into an engine. */
#ifndef TAMIS_CMD_LOAD_H
#define TAMIS_CMD_LOAD_H

#include <stdint.h>

#include "options.h"

/* The options that load.c carries out, for the help texts of the commands. */
#define SETS_HELP                                                                                  \
	"  -D, --define NAME=VALUE  like 'define NAME = VALUE' before the ruleset\n"               \
	"  -I, --includepath DIR    where 'include' looks for files (/etc)\n"                      \
	"      --ipset FILE         sets in ipset's language, as 'ipset save' writes them,\n"      \
	"                           in table inet global before the ruleset is read\n"             \
	"      --load 'FAMILY TABLE SET=FILE'\n"                                                   \
	"                           a list of addresses, prefixes and ranges into a set of the\n"  \
	"                           ruleset; may be repeated\n"                                    \
	"      --skip-bad           leave lines of lists out that are none of these\n"

#define LOAD_HELP                                                                                  \
	SETS_HELP                                                                                  \
	"      --acl FILE           ACLs of interfaces in VPP's language, 'set acl-plugin';\n"     \
	"                           may be repeated, and stand without a ruleset\n"

/* A new engine with the local time zone, or NULL after saying why not. */
struct tamis *engine_new(void);

/*
 * Messages go to standard error, what the files' own list commands print to standard output; to
 * standard error too where that is kept for JSON or a capture, or nothing is wanted there. 0, or
 * -errno after saying why; the first file that fails is the last one read. Sets of ipset come
 * before all rulesets, lists after them, ACLs at last; the files of --ipset are one transaction.
 */
int load_rules(struct tamis *t, const struct options *o, uint64_t now);

/* A file in the place of all that was loaded; messages and result as above. */
int reload_rules(struct tamis *t, const struct options *o, const char *path, uint64_t now);

#endif
