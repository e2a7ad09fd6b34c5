/* SPDX-License-Identifier: Apache-2.0 */
/* explain: `tamis explain`: what became of each rule, what it costs, and what would cost less. */
#include <stdlib.h>
#include <unistd.h>

#include "json.h"
#include "load.h"
#include "options.h"
#include "output.h"

/* --- text ----------------------------------------------------------------------------------- */

static int text_chain(void *arg, const struct tamis_explained_chain *c)
{
	struct strbuf *b = arg;

	strbuf_printf(b, "%schain %s %s %s: %u rule%s", b->len ? "\n" : "", c->family, c->table,
		      c->chain, c->n_rules, plural(c->n_rules));
	for (unsigned k = 0; k < TAMIS_FATES; k++)
		if (c->by_fate[k])
			strbuf_printf(b, ", %u %s", c->by_fate[k], tamis_fate_name(k));
	if (c->classifier)
		strbuf_printf(b,
			      "\n  classifier: %u entries, tables %u, nodes %u, leaves %u, depth "
			      "%u, longest step %u, %zu bytes",
			      c->entries, c->tables, c->nodes, c->leaves, c->depth, c->longest,
			      c->bytes);
	strbuf_printf(b, "\n  a packet to the end: about %u ns; in a kernel about %u ns\n",
		      c->cost_ns, c->kernel_ns);
	return 0;
}

static int text_rule(void *arg, const struct tamis_explained_rule *r)
{
	struct strbuf *b = arg;

	strbuf_printf(b, "  %-10s handle %ju: %s\n", tamis_fate_name(r->fate), (uintmax_t)r->handle,
		      r->text);
	if (r->shadowed_by)
		strbuf_printf(b, "             its packets leave at handle %ju\n",
			      (uintmax_t)r->shadowed_by);
	if (r->why)
		strbuf_printf(b, "             %s\n", r->why);
	return 0;
}

static int text_advice(void *arg, const struct tamis_advice *a)
{
	strbuf_printf(arg, "  ! handle %ju: %s\n", (uintmax_t)a->handle, a->text);
	return 0;
}

static const struct tamis_explain_ops as_text = {text_chain, text_rule, text_advice};

/* --- JSON ----------------------------------------------------------------------------------- */

struct json_report {
	json_t *chains, *rules, *advice; /* the latter two of the last chain */
};

/* Takes over both; -ENOMEM. */
static int add(json_t *list, json_t *item)
{
	return item && !json_array_append_new(list, item) ? 0 : -ENOMEM;
}

static int json_chain(void *arg, const struct tamis_explained_chain *c)
{
	struct json_report *r = arg;
	json_t *fates = json_object(), *classifier = json_null(), *chain;
	int err = fates ? 0 : -ENOMEM;

	for (unsigned k = 0; k < TAMIS_FATES && !err; k++)
		err = json_object_set_new(fates, tamis_fate_name(k), json_integer(c->by_fate[k]));
	if (c->classifier)
		classifier = json_pack(
			"{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "entries", (json_int_t)c->entries,
			"tables", (json_int_t)c->tables, "nodes", (json_int_t)c->nodes, "leaves",
			(json_int_t)c->leaves, "depth", (json_int_t)c->depth, "longest",
			(json_int_t)c->longest, "bytes", (json_int_t)c->bytes);
	r->rules = json_array();
	r->advice = json_array();
	if (err) {
		json_decref(fates);
		fates = NULL;
	}
	chain = json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:o}", "family", c->family,
			  "table", c->table, "chain", c->chain, "fates", fates, "classifier",
			  classifier, "cost_ns", (json_int_t)c->cost_ns, "kernel_ns",
			  (json_int_t)c->kernel_ns, "rules", r->rules, "advice", r->advice);
	return add(r->chains, chain);
}

static int json_rule(void *arg, const struct tamis_explained_rule *r)
{
	struct json_report *to = arg;
	json_t *rule = json_pack("{s:I, s:o, s:s}", "handle", json_of_number(r->handle), "rule",
				 json_of_text(r->text), "fate", tamis_fate_name(r->fate));
	int err = rule ? 0 : -ENOMEM;

	if (!err && r->why)
		err = json_object_set_new(rule, "why", json_string(r->why));
	if (!err && r->shadowed_by)
		err = json_object_set_new(rule, "shadowed_by",
					  json_integer(json_of_number(r->shadowed_by)));
	if (!err && r->entries)
		err = json_object_set_new(rule, "entries", json_integer(r->entries));
	if (!err)
		return add(to->rules, rule);
	json_decref(rule);
	return -ENOMEM;
}

static int json_advice(void *arg, const struct tamis_advice *a)
{
	struct json_report *to = arg;

	return add(to->advice, json_pack("{s:s, s:I, s:I, s:o}", "kind", a->kind, "handle",
					 json_of_number(a->handle), "n", (json_int_t)a->n, "text",
					 json_of_text(a->text)));
}

static const struct tamis_explain_ops as_json = {json_chain, json_rule, json_advice};

static int explain_json(struct tamis *t, struct strbuf *out)
{
	struct json_report r = {.chains = json_array()};
	int err = r.chains ? tamis_explain(t, &as_json, &r) : -ENOMEM;

	if (err) {
		json_decref(r.chains);
		return err;
	}
	return json_print(json_pack("{s:o}", "chains", r.chains), JSON_INDENT(1), out);
}

/* --- the command ---------------------------------------------------------------------------- */

static int explain_run(const struct options *o)
{
	struct tamis *t = engine_new();
	struct strbuf out = STRBUF_INIT;
	int err;

	if (!t)
		return 1;
	err = load_rules(t, o, 0);
	if (!err) {
		err = o->json ? explain_json(t, &out) : tamis_explain(t, &as_text, &out);
		if (err)
			complain("%s", strerror(-err));
		else
			err = output_strbuf(STDOUT_FILENO, output_stdout_name, &out);
	}
	strbuf_free(&out);
	tamis_free(t);
	return err ? 1 : 0;
}

static const char explain_help[] =
	"Usage: tamis explain -f RULES [-f RULES]... [options]\n"
	"\n"
	"Says of each chain what became of its rules:\n"
	"\n"
	"  classifier  found by its addresses, ports ...; costs other packets nothing\n"
	"  set         run for every packet that comes by: a lookup in a set\n"
	"  walked      run for every packet that comes by, and why\n"
	"  shadowed    all its packets leave the chain at an earlier rule\n"
	"  never       matches no packet\n"
	"\n"
	"and what that costs, roughly. Lines with ! are rules that make a kernel slow, with what\n"
	"to write instead.\n"
	"\n"
	"  -f, --file RULES         a ruleset; - is standard input\n"
	"  -j, --json               as one JSON object\n" SETS_HELP
	"      --acl FILE           ACLs in VPP's language; read, but nothing is said of them\n"
	"  -h, --help               this text\n"
	"\n"
	"Examples:\n"
	"  tamis explain -f /etc/nftables.conf\n"
	"  tamis explain -j -f rules.nft | jq '.chains[].advice'\n";

const struct command command_explain = {
	.name = "explain",
	.summary = "-f RULES: says what became of each rule, and what it costs",
	.help = explain_help,
	.bit = 8,
	.only_rules = true,
	.run = explain_run,
};
