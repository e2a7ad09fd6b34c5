/* SPDX-License-Identifier: Apache-2.0 */
/* list: `tamis list`: the canonical listing of what the files given make together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/vpp.h"
#include "load.h"
#include "options.h"
#include "output.h"

static int list_acls(struct tamis *t)
{
	struct strbuf out = STRBUF_INIT;
	int err = vpp_list(t, &out);

	if (!err)
		err = output_strbuf(STDOUT_FILENO, output_stdout_name, &out);
	else
		complain("%s", strerror(-err));
	strbuf_free(&out);
	return err;
}

static int list_run(const struct options *o)
{
	struct tamis *t = engine_new();
	char *text = NULL;
	int err;

	if (!t)
		return 1;
	err = load_rules(t, o, 0);
	if (!err && (o->rules.n || o->ipsets.n)) {
		err = tamis_list(t, o->list_flags, 0, &text);
		if (err)
			complain("%s", strerror(-err));
		else
			err = output_print(text);
	}
	if (!err && o->acls.n)
		err = list_acls(t);
	free(text);
	tamis_free(t);
	return err ? 1 : 0;
}

static const char list_help[] =
	"Usage: tamis list -f RULES [-f RULES]... [options]\n"
	"\n"
	"Prints rulesets as 'nft list ruleset' would after loading them. Reads text and JSON,\n"
	"so that it turns one into the other.\n"
	"\n"
	"  -f, --file RULES         a ruleset; - is standard input\n"
	"  -j, --json               nft's JSON form\n"
	"  -a, --handle             with the handles of all objects\n"
	"  -n, --numeric            protocols, priorities, times and symbols as numbers\n"
	"  -s, --stateless          without counts and remaining lifetimes\n"
	"  -t, --terse              without the elements of sets and maps\n" LOAD_HELP
	"  -h, --help               this text\n"
	"\n"
	"Examples:\n"
	"  tamis list -f /etc/nftables.conf\n"
	"  tamis list -j -f rules.nft > rules.json\n"
	"  tamis list -f rules.json\n";

const struct command command_list = {
	.name = "list",
	.summary = "-f RULES: prints a ruleset in its canonical form",
	.help = list_help,
	.bit = 2,
	.run = list_run,
};
