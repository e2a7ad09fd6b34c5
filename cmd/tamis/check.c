/* SPDX-License-Identifier: Apache-2.0 */
/* check: `tamis check`: whether rulesets load. Silent if they do, as nft -c is. */
#include "load.h"
#include "options.h"

static int check_run(const struct options *o)
{
	struct tamis *t = engine_new();
	int err;

	if (!t)
		return 1;
	err = load_rules(t, o, 0);
	tamis_free(t);
	return err ? 1 : 0;
}

static const char check_help[] =
	"Usage: tamis check -f RULES [-f RULES]... [options]\n"
	"\n"
	"Tells whether rulesets in nft's language or its JSON form are right. Says nothing if "
	"they\n"
	"are, else what is wrong and where, and exits with status 1. Each file is one "
	"transaction;\n"
	"a later one sees what the earlier ones made.\n"
	"\n"
	"  -f, --file RULES         a ruleset; - is standard input\n"
	"  -D, --define NAME=VALUE  like 'define NAME = VALUE' before the ruleset\n"
	"  -I, --includepath DIR    where 'include' looks for files\n"
	"      --ipset FILE         sets in ipset's language, as 'ipset save' writes them; they stand\n"
	"                           in table inet global before the ruleset is read\n"
	"      --load 'FAMILY TABLE SET=FILE'\n"
	"                           a list of addresses, prefixes and ranges into a set of the\n"
	"                           ruleset; may be repeated\n"
	"      --skip-bad           leave lines of lists out that are none of these\n"
	"  -h, --help               this text\n"
	"\n"
	"Examples:\n"
	"  tamis check -f /etc/nftables.conf\n"
	"  nft -j list ruleset | tamis check -f -\n";

const struct command command_check = {
	.name = "check",
	.summary = "-f RULES: says what is wrong with a ruleset",
	.help = check_help,
	.bit = 1,
	.run = check_run,
};
