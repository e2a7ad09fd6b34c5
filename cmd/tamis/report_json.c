/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json: the report as one JSON object on one line.
 *
 * Numbers are integers, ns_per_packet a real.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "report.h"

static json_t *malformed_json(const struct tamis_totals *t)
{
	json_t *o = json_object();
	size_t n = 0;

	for (; tamis_malformed_name((unsigned)n); n++)
		json_object_set_new(o, tamis_malformed_name((unsigned)n),
				    json_integer(json_of_number(t->malformed[n])));
	return json_object_size(o) == n ? o : (json_decref(o), NULL);
}

static json_t *verdict_bytes_json(const struct tamis_totals *t)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "accepted",
			 json_of_number(t->by_verdict[TAMIS_ACCEPT].bytes), "dropped",
			 json_of_number(t->by_verdict[TAMIS_DROP].bytes), "rejected",
			 json_of_number(t->by_verdict[TAMIS_REJECT].bytes), "queued",
			 json_of_number(t->by_verdict[TAMIS_QUEUE].bytes));
}

static json_t *rules_json(const struct report *r)
{
	json_t *a = json_array();
	size_t n = r->top ? r->top : r->n_rules;

	for (size_t i = 0; i < n; i++) {
		const struct report_rule *x = &r->rules[i];

		json_array_append_new(
			a,
			json_pack("{s:o, s:o, s:o, s:I, s:o, s:I, s:I, s:I}", "family",
				  json_of_text(x->family), "table", json_of_text(x->table), "chain",
				  json_of_text(x->chain), "handle", json_of_number(x->handle),
				  "rule", json_of_text(x->text), "packets",
				  json_of_number(x->packets), "bytes", json_of_number(x->bytes),
				  "reached", json_of_number(x->reached)));
	}
	return json_array_size(a) == n ? a : (json_decref(a), NULL);
}

static json_t *chains_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_chains; i++) {
		const struct report_chain *x = &r->chains[i];

		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:I, s:I}", "family", json_of_text(x->family),
				     "table", json_of_text(x->table), "chain",
				     json_of_text(x->chain), "packets", json_of_number(x->packets),
				     "policy_packets", json_of_number(x->policy_packets)));
	}
	return json_array_size(a) == r->n_chains ? a : (json_decref(a), NULL);
}

static json_t *sets_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_sets; i++) {
		const struct report_set *x = &r->sets[i];

		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "family",
				     json_of_text(x->family), "table", json_of_text(x->table),
				     "name", json_of_text(x->set), "elements",
				     json_of_number(x->elements), "hits", json_of_number(x->hits),
				     "added", json_of_number(x->added), "expired",
				     json_of_number(x->expired), "full", json_of_number(x->full),
				     "unready", json_of_number(x->unready)));
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
			json_array_append_new(
				entries, json_pack("{s:o, s:I, s:I}", "rule",
						   json_of_text(x->entries[k].text), "packets",
						   json_of_number(x->entries[k].packets), "bytes",
						   json_of_number(x->entries[k].bytes)));
		if (json_array_size(entries) != x->n_entries) {
			json_decref(entries);
			break;
		}
		json_array_append_new(a, json_pack("{s:s, s:I, s:o, s:o}", "kind",
						   x->macip ? "macip" : "acl", "index",
						   (json_int_t)x->index, "tag",
						   json_of_text(x->tag), "entries", entries));
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
		json_array_append_new(a, json_pack("{s:o, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I}",
						   "interface", json_of_text(x->interface),
						   "direction", x->output ? "output" : "input",
						   "kind", x->macip ? "macip" : "acl", "acls", acls,
						   "permitted", json_of_number(x->permitted),
						   "denied", json_of_number(x->denied), "unmatched",
						   json_of_number(x->unmatched), "session",
						   json_of_number(x->session), "ethertype",
						   json_of_number(x->ethertype)));
	}
	return json_array_size(a) == r->n_faces ? a : (json_decref(a), NULL);
}

static json_t *hits_json(const struct report *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_hits; i++) {
		const struct report_hit *h = &r->hits[i];
		const struct report_acl *acl = &r->acls[h->acl];

		json_array_append_new(
			a, json_pack("{s:s, s:I, s:o, s:I, s:o, s:I, s:I}", "kind",
				     acl->macip ? "macip" : "acl", "index", (json_int_t)acl->index,
				     "tag", json_of_text(acl->tag), "entry", (json_int_t)h->entry,
				     "rule", json_of_text(h->is->text), "packets",
				     json_of_number(h->is->packets), "bytes",
				     json_of_number(h->is->bytes)));
	}
	return json_array_size(a) == r->n_hits ? a : (json_decref(a), NULL);
}

/* Only where there are ACLs. 0 or -1. */
static int add_acls(json_t *o, const struct report *r)
{
	if (!o || (!r->n_acls && !r->n_faces))
		return o ? 0 : -1;
	return json_object_set_new(o, r->hits ? "acl_entries" : "acls",
				   r->hits ? hits_json(r) : acls_json(r)) ||
			       json_object_set_new(o, "interfaces", faces_json(r))
		       ? -1
		       : 0;
}

int report_print_json(const struct report *r, struct strbuf *out)
{
	const struct tamis_totals *t = &r->totals;
	double per_packet = t->all.packets ? (double)r->elapsed_ns / (double)t->all.packets : 0.0;
	json_t *o = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:f, s:o, s:I, s:I, s:I, "
		"s:I, s:I, s:I, s:I}",
		"packets", json_of_number(t->all.packets), "bytes", json_of_number(t->all.bytes),
		"accepted", json_of_number(t->by_verdict[TAMIS_ACCEPT].packets), "dropped",
		json_of_number(t->by_verdict[TAMIS_DROP].packets), "rejected",
		json_of_number(t->by_verdict[TAMIS_REJECT].packets), "queued",
		json_of_number(t->by_verdict[TAMIS_QUEUE].packets), "malformed", malformed_json(t),
		"rules", rules_json(r), "chains", chains_json(r), "sets", sets_json(r),
		"elapsed_ns", json_of_number(r->elapsed_ns), "ns_per_packet", per_packet,
		"verdict_bytes", verdict_bytes_json(t), "unseen", json_of_number(t->unseen.packets),
		"refused", json_of_number(t->refused.packets), "malformed_packets",
		json_of_number(t->malformed_packets), "not_tracked", json_of_number(t->not_tracked),
		"too_deep", json_of_number(t->too_deep), "no_interface",
		json_of_number(t->no_interface), "unready", json_of_number(t->unready));

	if (add_acls(o, r) ||
	    (r->reloaded &&
	     json_object_set_new(o, "reloaded", json_integer(json_of_number(r->reloaded))))) {
		json_decref(o);
		o = NULL;
	}
	return json_print(o, JSON_COMPACT | JSON_REAL_PRECISION(6), out);
}
