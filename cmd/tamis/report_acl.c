/* SPDX-License-Identifier: Apache-2.0 */
/* report_acl: what packets met in ACLs, read from the engine; see report.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/vpp.h"
#include "report.h"

struct reading {
	struct tamis_acls *acls;
	struct report *r;
	struct report_acl *acl; /* that is read */
};

/* Takes the text of `line`, which is empty then. */
static int entry_add(struct report_acl *acl, struct strbuf *line, struct tamis_count count)
{
	struct report_entry *e =
		report_items_add(&acl->entries, &acl->n_entries, sizeof(*acl->entries));

	if (e) {
		e->packets = count.packets;
		e->bytes = count.bytes;
		e->text = strbuf_take(line);
	}
	strbuf_free(line);
	return e && e->text ? 0 : -ENOMEM;
}

static int acl_entry(void *arg, const struct tamis_acl_entry *from)
{
	struct reading *x = arg;
	struct strbuf line = STRBUF_INIT;

	vpp_rule_print(&from->rule, &line);
	return entry_add(x->acl, &line, from->count);
}

static int macip_entry(void *arg, const struct tamis_macip_entry *from)
{
	struct reading *x = arg;
	struct strbuf line = STRBUF_INIT;

	vpp_macip_rule_print(&from->rule, &line);
	return entry_add(x->acl, &line, from->count);
}

static int acl_begin(struct reading *x, const struct tamis_acl_info *info, bool macip)
{
	x->acl = report_items_add(&x->r->acls, &x->r->n_acls, sizeof(*x->acl));
	if (!x->acl)
		return -ENOMEM;
	x->acl->index = info->index;
	x->acl->macip = macip;
	x->acl->tag = strdup(info->tag);
	return x->acl->tag ? 0 : -ENOMEM;
}

static int acl_add(void *arg, const struct tamis_acl_info *info)
{
	struct reading *x = arg;
	int err = acl_begin(x, info, false);

	return err ? err : tamis_acl_entry_each(x->acls, info->index, acl_entry, x);
}

static int macip_add(void *arg, const struct tamis_acl_info *info)
{
	struct reading *x = arg;
	int err = acl_begin(x, info, true);

	return err ? err : tamis_macip_entry_each(x->acls, info->index, macip_entry, x);
}

static struct report_face *face_add(struct report *r, const char *interface, size_t n_acls)
{
	struct report_face *f = report_items_add(&r->faces, &r->n_faces, sizeof(*f));

	if (!f)
		return NULL;
	f->interface = strdup(interface);
	f->acls = calloc(n_acls, sizeof(*f->acls));
	if (!f->interface || !f->acls)
		return NULL;
	f->n_acls = n_acls;
	return f;
}

static int interface_add(void *arg, const struct tamis_interface_acls *from)
{
	struct report *r = arg;
	struct report_face *f;

	if (from->macip != TAMIS_ACL_END) {
		f = face_add(r, from->interface, 1);
		if (!f)
			return -ENOMEM;
		f->macip = true;
		f->acls[0] = from->macip;
		f->permitted = from->macip_permitted.packets;
		f->denied = from->macip_denied.packets;
		f->unmatched = from->macip_unmatched.packets;
	}
	for (unsigned d = 0; d < 2; d++) {
		const struct tamis_acl_context *ctx = from->dir[d].context;
		size_t n = ctx ? tamis_acl_context_list(ctx, NULL, 0) : 0;

		if (!n)
			continue;
		f = face_add(r, from->interface, n);
		if (!f)
			return -ENOMEM;
		tamis_acl_context_list(ctx, f->acls, n);
		f->output = d == TAMIS_ACL_OUTPUT;
		f->permitted = from->dir[d].permitted.packets;
		f->denied = from->dir[d].denied.packets;
		f->unmatched = from->dir[d].unmatched.packets;
		f->session = from->dir[d].session.packets;
		f->ethertype = from->dir[d].ethertype_denied.packets;
	}
	return 0;
}

/* Most packets first; where they are equal, as they stand. */
static int hit_compare(const void *a_ptr, const void *b_ptr)
{
	const struct report_hit *a = a_ptr, *b = b_ptr;

	if (a->is->packets != b->is->packets)
		return a->is->packets > b->is->packets ? -1 : 1;
	if (a->acl != b->acl)
		return a->acl < b->acl ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static int hits_make(unsigned long top, struct report *r)
{
	struct report_hit *hits;

	for (size_t i = 0; i < r->n_acls; i++)
		r->n_entries += r->acls[i].n_entries;
	if (!top || !r->n_entries)
		return 0;
	hits = r->hits = malloc(r->n_entries * sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_acls; i++)
		for (size_t k = 0; k < r->acls[i].n_entries; k++)
			*hits++ = (struct report_hit){i, k, &r->acls[i].entries[k]};
	qsort(r->hits, r->n_entries, sizeof(*hits), hit_compare);
	r->n_hits = top < r->n_entries ? top : r->n_entries;
	return 0;
}

int report_acls_make(struct tamis *t, unsigned long top, struct report *r)
{
	struct reading x = {.acls = tamis_acls_of(t), .r = r};
	int err = x.acls ? tamis_acl_each(x.acls, acl_add, &x) : -ENOMEM;

	if (!err)
		err = tamis_macip_each(x.acls, macip_add, &x);
	if (!err)
		err = hits_make(top, r);
	return err ? err : tamis_interface_acls_each(t, interface_add, r);
}

void report_acls_free(struct report *r)
{
	for (size_t i = 0; i < r->n_acls; i++) {
		for (size_t k = 0; k < r->acls[i].n_entries; k++)
			free(r->acls[i].entries[k].text);
		free(r->acls[i].entries);
		free(r->acls[i].tag);
	}
	for (size_t i = 0; i < r->n_faces; i++) {
		free(r->faces[i].interface);
		free(r->faces[i].acls);
	}
	free(r->acls);
	free(r->hits);
	free(r->faces);
}
