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
	"a later one sees what the earlier ones made. The language is that of nft 1.1.6: an older\n"
	"nft refuses some of it.\n"
	"\n"
	"  -f, --file RULES         a ruleset; - is standard input\n" LOAD_HELP
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
