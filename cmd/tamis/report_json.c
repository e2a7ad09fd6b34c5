/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json: the report as one JSON object on one line.
 *
 * Numbers are integers, ns_per_packet a real; a number beyond 2^63 - 1 is written as that.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static json_int_t number(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (json_int_t)v;
}

/* Comments and log prefixes may hold any byte; JSON takes UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);
	char *clean = j ? NULL : strdup(s);

	if (clean) {
		for (char *c = clean; *c; c++)
			*c = *c & 0x80 ? '?' : *c;
		j = json_string(clean);
		free(clean);
	}
	return j;
}

static json_t *malformed_json(const struct tamis_totals *t)
{
	json_t *o = json_object();
	size_t n = 0;

	for (; tamis_malformed_name((unsigned)n); n++)
		json_object_set_new(o, tamis_malformed_name((unsigned)n),
				    json_integer(number(t->malformed[n])));
	return json_object_size(o) == n ? o : (json_decref(o), NULL);
}

static json_t *verdict_bytes_json(const struct tamis_totals *t)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "accepted",
			 number(t->by_verdict[TAMIS_ACCEPT].bytes), "dropped",
			 number(t->by_verdict[TAMIS_DROP].bytes), "rejected",
			 number(t->by_verdict[TAMIS_REJECT].bytes), "queued",
			 number(t->by_verdict[TAMIS_QUEUE].bytes));
}

static json_t *rules_json(const struct report *r)
{
	json_t *a = json_array();
	size_t n = r->top ? r->top : r->n_rules;

	for (size_t i = 0; i < n; i++) {
		const struct report_rule *x = &r->rules[i];

		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:I, s:o, s:I, s:I, s:I}", "family",
				     text(x->family), "table", text(x->table), "chain",
				     text(x->chain), "handle", number(x->handle), "rule",
				     text(x->text), "packets", number(x->packets), "bytes",
				     number(x->bytes), "reached", number(x->reached)));
	}
	return json_array_size(a) == n ? a : (json_decref(a), NULL);
}

static json_t *chains_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_chains; i++) {
		const struct report_chain *x = &r->chains[i];

		json_array_append_new(a,
				      json_pack("{s:o, s:o, s:o, s:I, s:I}", "family",
						text(x->family), "table", text(x->table), "chain",
						text(x->chain), "packets", number(x->packets),
						"policy_packets", number(x->policy_packets)));
	}
	return json_array_size(a) == r->n_chains ? a : (json_decref(a), NULL);
}

static json_t *sets_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_sets; i++) {
		const struct report_set *x = &r->sets[i];

		json_array_append_new(a, json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
						   "family", text(x->family), "table",
						   text(x->table), "name", text(x->set), "elements",
						   number(x->elements), "hits", number(x->hits),
						   "added", number(x->added), "expired",
						   number(x->expired), "full", number(x->full)));
	}
	return json_array_size(a) == r->n_sets ? a : (json_decref(a), NULL);
}

static json_t *acls_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_acls; i++) {
		const struct report_acl *x = &r->acls[i];
		json_t *entries = json_array();

		for (size_t k = 0; k < x->n_entries; k++)
			json_array_append_new(entries,
					      json_pack("{s:o, s:I, s:I}", "rule",
							text(x->entries[k].text), "packets",
							number(x->entries[k].packets), "bytes",
							number(x->entries[k].bytes)));
		if (json_array_size(entries) != x->n_entries) {
			json_decref(entries);
			break;
		}
		json_array_append_new(a, json_pack("{s:s, s:I, s:o, s:o}", "kind",
						   x->macip ? "macip" : "acl", "index",
						   (json_int_t)x->index, "tag", text(x->tag),
						   "entries", entries));
	}
	return json_array_size(a) == r->n_acls ? a : (json_decref(a), NULL);
}

static json_t *faces_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_faces; i++) {
		const struct report_face *x = &r->faces[i];
		json_t *acls = json_array();

		for (size_t k = 0; k < x->n_acls; k++)
			json_array_append_new(acls, json_integer(x->acls[k]));
		if (json_array_size(acls) != x->n_acls) {
			json_decref(acls);
			break;
		}
		json_array_append_new(
			a,
			json_pack("{s:o, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I}", "interface",
				  text(x->interface), "direction", x->output ? "output" : "input",
				  "kind", x->macip ? "macip" : "acl", "acls", acls, "permitted",
				  number(x->permitted), "denied", number(x->denied), "unmatched",
				  number(x->unmatched), "session", number(x->session), "ethertype",
				  number(x->ethertype)));
	}
	return json_array_size(a) == r->n_faces ? a : (json_decref(a), NULL);
}

/* Only where there are ACLs. 0 or -1. */
static int add_acls(json_t *o, const struct report *r)
{
	if (!o || (!r->n_acls && !r->n_faces))
		return o ? 0 : -1;
	return json_object_set_new(o, "acls", acls_json(r)) ||
			       json_object_set_new(o, "interfaces", faces_json(r))
		       ? -1
		       : 0;
}

/* json_dumps() leaves out what it has no memory for. */
static int add_dumped(const char *text, size_t len, void *out)
{
	strbuf_add(out, text, len);
	return 0;
}

int report_print_json(const struct report *r, struct strbuf *out)
{
	const struct tamis_totals *t = &r->totals;
	double per_packet = t->all.packets ? (double)r->elapsed_ns / (double)t->all.packets : 0.0;
	json_t *o = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:f, s:o, s:I, s:I, s:I}",
		"packets", number(t->all.packets), "bytes", number(t->all.bytes), "accepted",
		number(t->by_verdict[TAMIS_ACCEPT].packets), "dropped",
		number(t->by_verdict[TAMIS_DROP].packets), "rejected",
		number(t->by_verdict[TAMIS_REJECT].packets), "queued",
		number(t->by_verdict[TAMIS_QUEUE].packets), "malformed", malformed_json(t), "rules",
		rules_json(r), "chains", chains_json(r), "sets", sets_json(r), "elapsed_ns",
		number(r->elapsed_ns), "ns_per_packet", per_packet, "verdict_bytes",
		verdict_bytes_json(t), "unseen", number(t->unseen.packets), "refused",
		number(t->refused.packets), "malformed_packets", number(t->malformed_packets));

	int err = add_acls(o, r);

	if (!err)
		err = json_dump_callback(o, add_dumped, out, JSON_COMPACT | JSON_REAL_PRECISION(6));

	json_decref(o);
	strbuf_putc(out, '\n');
	return err ? -ENOMEM : strbuf_error(out);
}
