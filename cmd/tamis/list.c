/* SPDX-License-Identifier: Apache-2.0 */
/* list: `tamis list`: the canonical listing of what the files given make together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/vpp.h"
#include "json.h"
#include "load.h"
#include "options.h"
#include "output.h"

/* The ruleset's JSON, and beside it the commands of `acls`, a line each. */
static int list_both(const char *ruleset, const struct strbuf *acls, struct strbuf *out)
{
	json_t *both = ruleset ? json_loads(ruleset, 0, NULL) : json_object(),
	       *lines = json_array();
	const char *at = strbuf_str(acls), *end;
	int err = both && lines ? 0 : -ENOMEM;

	for (; !err && (end = strchr(at, '\n')); at = end + 1)
		err = json_array_append_new(lines, json_stringn(at, (size_t)(end - at))) ? -ENOMEM
											 : 0;
	if (json_object_set_new(both, "vpp", lines) || err) {
		json_decref(both);
		both = NULL;
	}
	return json_print(both, 0, out);
}

static int list_print(struct tamis *t, const struct options *o)
{
	bool json = o->list_flags & TAMIS_LIST_JSON;
	struct strbuf acls = STRBUF_INIT, out = STRBUF_INIT;
	char *text = NULL;
	int err = 0;

	if (o->rules.n || o->ipsets.n)
		err = tamis_list(t, o->list_flags, 0, &text);
	if (!err && o->acls.n)
		err = vpp_list(t, &acls);
	if (!err && o->acls.n && json)
		err = list_both(text, &acls, &out);
	if (err) {
		complain("%s", strerror(-err));
	} else if (o->acls.n && json) {
		err = output_strbuf(STDOUT_FILENO, output_stdout_name, &out);
	} else {
		err = text ? output_text(STDOUT_FILENO, output_stdout_name, text) : 0;
		if (!err)
			err = output_strbuf(STDOUT_FILENO, output_stdout_name, &acls);
	}
	strbuf_free(&acls);
	strbuf_free(&out);
	free(text);
	return err && err != OUTPUT_GONE ? 1 : 0;
}

static int list_run(const struct options *o)
{
	struct tamis *t = engine_new();
	int status = t && !load_rules(t, o, 0) ? list_print(t, o) : 1;

	tamis_free(t);
	return status;
}

static const char list_help[] =
	"Usage: tamis list -f RULES [-f RULES]... [options]\n"
	"\n"
	"Prints rulesets as 'nft list ruleset' would after loading them. Reads text and JSON,\n"
	"so that it turns one into the other.\n"
	"\n"
	"  -f, --file RULES         a ruleset; - is standard input\n"
	"  -j, --json               nft's JSON form; with --acl its commands as \"vpp\" beside it\n"
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
