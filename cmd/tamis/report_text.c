/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_text: the report for people: sections under headings, numbers in aligned columns.
 *
 * A section without content is left out. Sections and columns keep their order, so that two
 * reports of the same replay differ in the last section alone, which has the times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report.h"

static const char *const verdict_names[TAMIS_VERDICTS] = {
	[TAMIS_ACCEPT] = "accepted",
	[TAMIS_DROP] = "dropped",
	[TAMIS_REJECT] = "rejected",
	[TAMIS_QUEUE] = "queued",
};

static const enum paint verdict_paints[TAMIS_VERDICTS] = {
	[TAMIS_ACCEPT] = PAINT_GOOD,
	[TAMIS_DROP] = PAINT_BAD,
	[TAMIS_REJECT] = PAINT_BAD,
	[TAMIS_QUEUE] = PAINT_WARN,
};

struct page {
	struct strbuf *out;
	bool colour, begun;
};

static void heading(struct page *p, const char *text)
{
	strbuf_printf(p->out, "%s%s%s%s\n", p->begun ? "\n" : "", paint(p->colour, PAINT_HEAD),
		      text, paint(p->colour, PAINT_NONE));
	p->begun = true;
}

static int digits(uint64_t v)
{
	int n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

static int wider(int width, uint64_t v)
{
	return digits(v) > width ? digits(v) : width;
}

static void print_verdicts(struct page *p, const struct report *r)
{
	const struct tamis_totals *t = &r->totals;
	int wp = wider(7, t->all.packets), wb = wider(5, t->all.bytes);

	heading(p, "Verdicts");
	strbuf_printf(p->out, "  %-9s %*s  %6s  %*s\n", "", wp, "packets", "", wb, "bytes");
	for (int v = 0; v < TAMIS_VERDICTS; v++) {
		const struct tamis_count *c = &t->by_verdict[v];
		double share =
			t->all.packets ? 100.0 * (double)c->packets / (double)t->all.packets : 0.0;

		strbuf_printf(p->out, "  %s%-9s %*" PRIu64 "  %5.1f%%  %*" PRIu64 "%s\n",
			      paint(p->colour, c->packets ? verdict_paints[v] : PAINT_FAINT),
			      verdict_names[v], wp, c->packets, share, wb, c->bytes,
			      paint(p->colour, PAINT_NONE));
	}
	strbuf_printf(p->out, "  %-9s %*" PRIu64 "  %6s  %*" PRIu64 "\n", "total", wp,
		      t->all.packets, "", wb, t->all.bytes);
	if (t->unseen.packets)
		strbuf_printf(p->out, "  of the accepted %" PRIu64 " met no base chain\n",
			      t->unseen.packets);
	if (t->refused.packets)
		strbuf_printf(p->out,
			      "  of the dropped %" PRIu64 " by the checks of their headers, by no "
			      "rule\n",
			      t->refused.packets);
	if (r->reloaded)
		strbuf_printf(p->out,
			      "  chains and sets below count since the reload after packet %" PRIu64
			      "\n",
			      r->reloaded);
}

static void print_rule_line(struct page *p, int wp, int wb, const struct report_rule *x)
{
	strbuf_printf(p->out, "  %s%*" PRIu64 "  %*" PRIu64 "  %s",
		      paint(p->colour && !x->packets, PAINT_FAINT), wp, x->packets, wb, x->bytes,
		      x->text);
	strbuf_printf(p->out, "%s\n", paint(p->colour && !x->packets, PAINT_NONE));
}

static void print_chain(struct page *p, int wp, int wb, const struct report_chain *c,
			const struct report_rule *rules, size_t n)
{
	char name[640];

	snprintf(name, sizeof(name), "Chain %s %s %s: %" PRIu64 " packet%s", c->family, c->table,
		 c->chain, c->packets, plural(c->packets));
	heading(p, name);
	if (c->head)
		strbuf_printf(p->out, "  %s%s%s\n", paint(p->colour, PAINT_FAINT), c->head,
			      paint(p->colour, PAINT_NONE));
	if (n || c->policy)
		strbuf_printf(p->out, "  %*s  %*s\n", wp, "packets", wb, "bytes");
	for (size_t i = 0; i < n; i++)
		print_rule_line(p, wp, wb, &rules[i]);
	if (c->policy)
		strbuf_printf(p->out, "  %*" PRIu64 "  %*s  policy %s\n", wp, c->policy_packets, wb,
			      "", c->policy);
}

static void print_rules(struct page *p, const struct report *r)
{
	int wp = 7, wb = 5;
	size_t at = 0;

	for (size_t i = 0; i < r->n_rules; i++) {
		wp = wider(wp, r->rules[i].packets);
		wb = wider(wb, r->rules[i].bytes);
	}
	for (size_t i = 0; i < r->n_chains; i++)
		wp = wider(wp, r->chains[i].policy_packets);
	for (size_t i = 0; i < r->n_chains && !r->top; i++) {
		print_chain(p, wp, wb, &r->chains[i], r->rules + at, r->chains[i].n_rules);
		at += r->chains[i].n_rules;
	}
	if (!r->top)
		return;
	char title[64];

	snprintf(title, sizeof(title), "Rules: the %zu most hit of %zu", r->top, r->n_rules);
	heading(p, title);
	strbuf_printf(p->out, "  %*s  %*s  chain\n", wp, "packets", wb, "bytes");
	for (size_t i = 0; i < r->top; i++) {
		const struct report_rule *x = &r->rules[i];

		strbuf_printf(p->out, "  %*" PRIu64 "  %*" PRIu64 "  %s %s %s: %s\n", wp,
			      x->packets, wb, x->bytes, x->family, x->table, x->chain, x->text);
	}
}

/* What packets that would change a set did not find. */
static void print_missed(struct page *p, int indent, const char *what, uint64_t n)
{
	if (n)
		strbuf_printf(p->out, "  %s%*s  found %s %" PRIu64 " time%s%s\n",
			      paint(p->colour, PAINT_WARN), indent, "", what, n, plural(n),
			      paint(p->colour, PAINT_NONE));
}

static void print_sets(struct page *p, const struct report *r)
{
	uint64_t elements = 0, hits = 0, added = 0, expired = 0;
	int we, wh, wa, wx;

	if (!r->n_sets)
		return;
	for (size_t i = 0; i < r->n_sets; i++) {
		elements = elements > r->sets[i].elements ? elements : r->sets[i].elements;
		hits = hits > r->sets[i].hits ? hits : r->sets[i].hits;
		added = added > r->sets[i].added ? added : r->sets[i].added;
		expired = expired > r->sets[i].expired ? expired : r->sets[i].expired;
	}
	we = wider(8, elements);
	wh = wider(4, hits);
	wa = wider(5, added);
	wx = wider(7, expired);
	heading(p, "Sets");
	strbuf_printf(p->out, "  %*s  %*s  %*s  %*s  set\n", we, "elements", wh, "hits", wa,
		      "added", wx, "expired");
	for (size_t i = 0; i < r->n_sets; i++) {
		const struct report_set *s = &r->sets[i];

		strbuf_printf(p->out,
			      "  %*" PRIu64 "  %*" PRIu64 "  %*" PRIu64 "  %*" PRIu64
			      "  %s %s %s%s\n",
			      we, s->elements, wh, s->hits, wa, s->added, wx, s->expired, s->family,
			      s->table, s->set, s->map ? " (map)" : "");
		print_missed(p, we + wh + wa + wx + 6, "no room", s->full);
		print_missed(p, we + wh + wa + wx + 6, "nothing ready", s->unready);
	}
}

static const char *acl_kind(bool macip)
{
	return macip ? "MAC-IP ACL" : "ACL";
}

static void print_acls(struct page *p, const struct report *r)
{
	int wp = 7, wb = 5;
	char title[128];

	for (size_t i = 0; i < r->n_acls; i++)
		for (size_t k = 0; k < r->acls[i].n_entries; k++) {
			wp = wider(wp, r->acls[i].entries[k].packets);
			wb = wider(wb, r->acls[i].entries[k].bytes);
		}
	for (size_t i = 0; i < r->n_acls && !r->hits; i++) {
		const struct report_acl *a = &r->acls[i];

		snprintf(title, sizeof(title), "%s %" PRIu32 "%s%s", acl_kind(a->macip), a->index,
			 *a->tag ? " " : "", a->tag);
		heading(p, title);
		strbuf_printf(p->out, "  %*s  %*s\n", wp, "packets", wb, "bytes");
		for (size_t k = 0; k < a->n_entries; k++) {
			const struct report_entry *e = &a->entries[k];

			strbuf_printf(p->out, "  %s%*" PRIu64 "  %*" PRIu64 "  %s%s\n",
				      paint(p->colour && !e->packets, PAINT_FAINT), wp, e->packets,
				      wb, e->bytes, e->text,
				      paint(p->colour && !e->packets, PAINT_NONE));
		}
	}
	if (!r->hits)
		return;
	snprintf(title, sizeof(title), "Entries of ACLs: the %zu most hit of %zu", r->n_hits,
		 r->n_entries);
	heading(p, title);
	strbuf_printf(p->out, "  %*s  %*s  ACL\n", wp, "packets", wb, "bytes");
	for (size_t i = 0; i < r->n_hits; i++) {
		const struct report_hit *h = &r->hits[i];
		const struct report_acl *a = &r->acls[h->acl];

		strbuf_printf(p->out,
			      "  %*" PRIu64 "  %*" PRIu64 "  %s %" PRIu32 "%s%s, entry %zu: %s\n",
			      wp, h->is->packets, wb, h->is->bytes, acl_kind(a->macip), a->index,
			      *a->tag ? " " : "", a->tag, h->entry, h->is->text);
	}
}

/* The ACLs of one direction; three or more whose indexes follow one another as 7-19. */
static void print_indexes(struct page *p, const struct report_face *f)
{
	for (size_t k = 0, last; k < f->n_acls; k = last + 1) {
		for (last = k; last + 1 < f->n_acls && f->acls[last + 1] == f->acls[last] + 1;)
			last++;
		last = last - k < 2 ? k : last;
		strbuf_printf(p->out, "%s %" PRIu32, k ? "," : "", f->acls[k]);
		if (last > k)
			strbuf_printf(p->out, "-%" PRIu32, f->acls[last]);
	}
	strbuf_putc(p->out, '\n');
}

/* What packets met where: permitted and denied by entries, and by what is no entry. */
static void print_faces(struct page *p, const struct report *r)
{
	if (!r->n_faces)
		return;
	heading(p, "Interfaces with ACLs, in packets");
	strbuf_puts(p->out, "  permitted    denied  unmatched  sessions  ethertype  ACLs\n");
	for (size_t i = 0; i < r->n_faces; i++) {
		const struct report_face *f = &r->faces[i];

		strbuf_printf(p->out,
			      "  %9" PRIu64 " %9" PRIu64 "  %9" PRIu64 " %9" PRIu64 "  %9" PRIu64
			      "  %s %s, %s",
			      f->permitted, f->denied, f->unmatched, f->session, f->ethertype,
			      f->interface, f->output ? "output" : "input", acl_kind(f->macip));
		print_indexes(p, f);
	}
}

/* Rules without a match: those that packets came to, or those that none came to. */
static void print_idle_rules(struct page *p, const struct report *r, bool reached,
			     const char *title)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_rules; i++) {
		const struct report_rule *x = &r->rules[i];

		if (x->packets || (x->reached > 0) != reached)
			continue;
		if (n++ == 0)
			heading(p, title);
		strbuf_printf(p->out, "  %s %s %s: %s\n", x->family, x->table, x->chain, x->text);
	}
}

static void print_malformed(struct page *p, const struct tamis_totals *t)
{
	int wp = wider(7, t->malformed_packets);

	if (!t->malformed_packets)
		return;
	heading(p, "Malformed packets");
	for (unsigned i = 0; tamis_malformed_name(i); i++) {
		if (t->malformed[i])
			strbuf_printf(p->out, "  %*" PRIu64 "  %s\n", wp, t->malformed[i],
				      tamis_malformed_text(i));
	}
	strbuf_printf(p->out, "  %*" PRIu64 "  in all\n", wp, t->malformed_packets);
}

static void print_speed(struct page *p, const struct report *r)
{
	double judged = (double)r->elapsed_ns, packets = (double)r->totals.all.packets;

	heading(p, "Speed");
	strbuf_printf(
		p->out,
		"  %.0f packets a second, %.1f ns a packet; %.3f ms judging, %.3f ms in all\n",
		judged > 0 ? packets * 1e9 / judged : 0.0, packets > 0 ? judged / packets : 0.0,
		judged / 1e6, (double)r->total_ns / 1e6);
}

void report_print_text(const struct report *r, bool colour, struct strbuf *out)
{
	struct page p = {.out = out, .colour = colour};

	print_verdicts(&p, r);
	print_rules(&p, r);
	print_sets(&p, r);
	print_acls(&p, r);
	print_faces(&p, r);
	print_idle_rules(&p, r, true, "Never matched");
	print_idle_rules(&p, r, false, "Never reached");
	print_malformed(&p, &r->totals);
	print_speed(&p, r);
}
