/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vpp_show: what `show acl-plugin` says, in VPP's words; and all ACLs as commands. Behind the index
 * of an interface stands its name, since there is no other command that would tell it.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "compat/vpp_int.h"

/* Which interfaces have what bound, for the walk over them. */
struct walk {
	struct tamis *t;
	struct tamis_acls *a;
	struct strbuf *out;
	uint32_t acl; /* that is asked for; TAMIS_ACL_NEW: all */
	int dir;
	bool rules, any;
};

/* The ACLs of a context; *acls is the caller's to free, NULL without memory or ACLs. */
static size_t context_acls(const struct tamis_acl_context *ctx, uint32_t **acls)
{
	size_t n = ctx ? tamis_acl_context_list(ctx, NULL, 0) : 0;

	*acls = n ? calloc(n, sizeof(**acls)) : NULL;
	return *acls ? tamis_acl_context_list(ctx, *acls, n) : 0;
}

/* --- acl ------------------------------------------------------------------------------------ */

static const char *const actions[] = {"deny", "permit", "permit+reflect"};

static void show_ports(const char *what, uint16_t first, uint16_t last, struct strbuf *out)
{
	strbuf_printf(out, " %s %u", what, first);
	if (first != last)
		strbuf_printf(out, "-%u", last);
}

static int show_rule(void *arg, const struct tamis_acl_entry *e)
{
	const struct tamis_acl_rule *r = &e->rule;
	int af = r->family == 4 ? AF_INET : AF_INET6;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	struct walk *w = arg;

	strbuf_printf(w->out, "%11u: %s %s src %s/%u dst %s/%u proto %u", e->position,
		      r->family == 4 ? "ipv4" : "ipv6", actions[r->action],
		      inet_ntop(af, r->src, src, sizeof(src)), r->src_len,
		      inet_ntop(af, r->dst, dst, sizeof(dst)), r->dst_len, r->proto);
	show_ports("sport", r->sport_first, r->sport_last, w->out);
	show_ports("dport", r->dport_first, r->dport_last, w->out);
	if (r->tcp_flags || r->tcp_mask)
		strbuf_printf(w->out, " tcpflags %u mask %u", r->tcp_flags, r->tcp_mask);
	strbuf_putc(w->out, '\n');
	return 0;
}

static void show_one(struct walk *w, const struct tamis_acl_info *acl)
{
	strbuf_printf(w->out, "acl-index %u count %u tag {%s}\n", acl->index, acl->entries,
		      acl->tag);
	tamis_acl_entry_each(w->a, acl->index, show_rule, w);
}

/* Adds an interface that has the ACL to the line that is being made. */
static int show_applied(void *arg, const struct tamis_interface_acls *i)
{
	static const char *const words[] = {"inbound", "outbound"};
	struct walk *w = arg;
	uint32_t *acls;
	size_t n = context_acls(i->dir[w->dir].context, &acls);

	for (size_t k = 0; k < n; k++) {
		if (acls[k] != w->acl)
			continue;
		if (w->any)
			strbuf_printf(w->out, ", %u", i->index);
		else
			strbuf_printf(w->out, "  applied %s on sw_if_index: %u", words[w->dir],
				      i->index);
		w->any = true;
	}
	free(acls);
	return 0;
}

static int show_acl(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg, line = *w;

	if (w->acl != TAMIS_ACL_NEW && w->acl != acl->index)
		return 0;
	show_one(w, acl);
	line.acl = acl->index;
	for (line.dir = 0; line.dir < 2; line.dir++) {
		line.any = false;
		tamis_interface_acls_each(w->t, show_applied, &line);
		if (line.any)
			strbuf_putc(w->out, '\n');
	}
	return 0;
}

static int index_parse(struct vpp *v, uint32_t *out)
{
	*out = TAMIS_ACL_NEW;
	return vpp_take(v, "index") ? vpp_number(v, "index", TAMIS_ACL_INDEX_MAX, out) : 0;
}

/* --- interface ------------------------------------------------------------------------------ */

static bool bound(const struct tamis_interface_acls *i)
{
	uint32_t none;

	for (unsigned d = 0; d < 2; d++)
		if (i->dir[d].n_ethertypes ||
		    (i->dir[d].context && tamis_acl_context_list(i->dir[d].context, &none, 0)))
			return true;
	return false;
}

static int show_interface(void *arg, const struct tamis_interface_acls *i)
{
	static const char *const words[] = {"input", "output"};
	struct walk *w = arg;
	struct tamis_acl_info info;

	if (!bound(i) || (w->acl != TAMIS_ACL_NEW && w->acl != i->index))
		return 0;
	strbuf_printf(w->out, "sw_if_index %u: %s\n", i->index, i->interface);
	for (unsigned d = 0; d < 2; d++) {
		if (!i->dir[d].n_ethertypes)
			continue;
		strbuf_printf(w->out, "%s%s etype whitelist: ", d ? " " : "  ", words[d]);
		for (size_t k = 0; k < i->dir[d].n_ethertypes; k++)
			strbuf_printf(w->out, "%s%04x", k ? ", " : "", i->dir[d].ethertypes[k]);
		strbuf_putc(w->out, '\n');
	}
	for (unsigned d = 0; d < 2; d++) {
		uint32_t *acls;
		size_t n = context_acls(i->dir[d].context, &acls);

		if (n)
			strbuf_printf(w->out, "  %s acl(s): ", words[d]);
		for (size_t k = 0; k < n; k++)
			strbuf_printf(w->out, "%s%u", k ? ", " : "", acls[k]);
		if (n)
			strbuf_putc(w->out, '\n');
		for (size_t k = 0; k < n && w->rules; k++)
			if (!tamis_acl_get(w->a, acls[k], &info))
				show_one(w, &info);
		free(acls);
	}
	return 0;
}

/* --- the others ----------------------------------------------------------------------------- */

static void show_sessions(struct vpp *v)
{
	struct tamis_acl_sessions s;

	tamis_acl_sessions_get(v->t, v->now, &s);
	strbuf_printf(v->out, "Sessions total: add %llu - del %llu = %llu\n",
		      (unsigned long long)s.added, (unsigned long long)s.removed,
		      (unsigned long long)s.active);
	strbuf_printf(v->out, "Session timeouts: udp idle %u, tcp idle %u, tcp transient %u\n",
		      s.timeout[TAMIS_ACL_UDP_IDLE], s.timeout[TAMIS_ACL_TCP_IDLE],
		      s.timeout[TAMIS_ACL_TCP_TRANSIENT]);
}

static int show_table(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg;

	if (w->acl == TAMIS_ACL_NEW || w->acl == acl->index)
		strbuf_printf(w->out, "acl-index %u: %u entr%s, applied in %u lookup context%s\n",
			      acl->index, acl->entries, acl->entries == 1 ? "y" : "ies",
			      acl->contexts, plural(acl->contexts));
	return 0;
}

static int show_macip_rule(void *arg, const struct tamis_macip_entry *e)
{
	const struct tamis_macip_rule *r = &e->rule;
	char src[INET6_ADDRSTRLEN];
	struct walk *w = arg;

	strbuf_printf(w->out,
		      "    rule %u: %s action %u ip %s/%u mac %02x:%02x:%02x:%02x:%02x:%02x mask "
		      "%02x:%02x:%02x:%02x:%02x:%02x\n",
		      e->position, r->family == 4 ? "ipv4" : "ipv6", r->action,
		      inet_ntop(r->family == 4 ? AF_INET : AF_INET6, r->src, src, sizeof(src)),
		      r->src_len, r->mac[0], r->mac[1], r->mac[2], r->mac[3], r->mac[4], r->mac[5],
		      r->mask[0], r->mask[1], r->mask[2], r->mask[3], r->mask[4], r->mask[5]);
	return 0;
}

static int show_macip_applied(void *arg, const struct tamis_interface_acls *i)
{
	struct walk *w = arg;

	if (i->macip != w->acl)
		return 0;
	strbuf_printf(w->out, w->any ? ", %u" : "  applied on sw_if_index(s): %u", i->index);
	w->any = true;
	return 0;
}

static int show_macip(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg, line = *w;

	if (w->acl != TAMIS_ACL_NEW && w->acl != acl->index)
		return 0;
	strbuf_printf(w->out, "MACIP acl_index: %u, count: %u tag {%s}\n", acl->index, acl->entries,
		      acl->tag);
	tamis_macip_entry_each(w->a, acl->index, show_macip_rule, w);
	line.acl = acl->index;
	line.any = false;
	tamis_interface_acls_each(w->t, show_macip_applied, &line);
	if (line.any)
		strbuf_putc(w->out, '\n');
	return 0;
}

static int show_macip_interface(void *arg, const struct tamis_interface_acls *i)
{
	struct walk *w = arg;

	if (i->macip != TAMIS_ACL_END)
		strbuf_printf(w->out, "  sw_if_index %u: %u (%s)\n", i->index, i->macip,
			      i->interface);
	return 0;
}

int vpp_show(struct vpp *v)
{
	struct walk w = {.t = v->t, .a = v->a, .out = v->out, .acl = TAMIS_ACL_NEW};
	int err = 0;

	if (vpp_take(v, "acl")) {
		err = index_parse(v, &w.acl);
		if (!err)
			tamis_acl_each(v->a, show_acl, &w);
	} else if (vpp_take(v, "interface")) {
		if (vpp_take(v, "sw_if_index"))
			err = vpp_number(v, "sw_if_index", TAMIS_INTERFACES_MAX, &w.acl);
		w.rules = vpp_take(v, "acl");
		vpp_take(v, "detail");
		if (!err)
			tamis_interface_acls_each(v->t, show_interface, &w);
	} else if (vpp_take(v, "sessions")) {
		v->at = v->words.n;
		show_sessions(v);
	} else if (vpp_take(v, "tables")) {
		vpp_take(v, "acl");
		err = index_parse(v, &w.acl);
		v->at = v->words.n;
		if (!err)
			tamis_acl_each(v->a, show_table, &w);
	} else if (vpp_take(v, "macip")) {
		if (vpp_take(v, "interface")) {
			tamis_interface_acls_each(v->t, show_macip_interface, &w);
			return 0;
		}
		vpp_take(v, "acl");
		err = index_parse(v, &w.acl);
		if (!err)
			tamis_macip_each(v->a, show_macip, &w);
	} else {
		return vpp_fail(v, "there are acl, interface, sessions, tables and macip to show");
	}
	return err;
}

/* --- as commands ---------------------------------------------------------------------------- */

static int list_entry(void *arg, const struct tamis_acl_entry *e)
{
	struct walk *w = arg;

	strbuf_puts(w->out, e->position ? ", " : " ");
	vpp_rule_print(&e->rule, w->out);
	return 0;
}

static int list_macip_entry(void *arg, const struct tamis_macip_entry *e)
{
	struct walk *w = arg;

	strbuf_puts(w->out, e->position ? ", " : " ");
	vpp_macip_rule_print(&e->rule, w->out);
	return 0;
}

static void list_head(struct walk *w, const char *command, const struct tamis_acl_info *acl)
{
	strbuf_printf(w->out, "%s index %u", command, acl->index);
	if (*acl->tag)
		strbuf_printf(w->out, " tag %s", acl->tag);
}

static int list_acl(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg;

	list_head(w, "set acl-plugin acl", acl);
	tamis_acl_entry_each(w->a, acl->index, list_entry, w);
	strbuf_putc(w->out, '\n');
	return 0;
}

static int list_macip(void *arg, const struct tamis_acl_info *acl)
{
	struct walk *w = arg;

	list_head(w, "set acl-plugin macip acl", acl);
	tamis_macip_entry_each(w->a, acl->index, list_macip_entry, w);
	strbuf_putc(w->out, '\n');
	return 0;
}

static int list_interface(void *arg, const struct tamis_interface_acls *i)
{
	static const char *const words[] = {"input", "output"};
	struct walk *w = arg;

	for (unsigned d = 0; d < 2; d++) {
		uint32_t *acls;
		size_t n = context_acls(i->dir[d].context, &acls);

		for (size_t k = 0; k < n; k++)
			strbuf_printf(w->out, "set acl-plugin interface %s %s acl %u\n",
				      i->interface, words[d], acls[k]);
		free(acls);
	}
	if (i->macip != TAMIS_ACL_END)
		strbuf_printf(w->out, "set acl-plugin macip interface %s acl %u\n", i->interface,
			      i->macip);
	return 0;
}

static void list_timeouts(struct tamis *t, struct strbuf *out)
{
	static const struct {
		const char *words;
		uint32_t usual;
	} timeouts[TAMIS_ACL_TIMEOUTS] = {
		[TAMIS_ACL_UDP_IDLE] = {"udp idle", 600},
		[TAMIS_ACL_TCP_IDLE] = {"tcp idle", 86400},
		[TAMIS_ACL_TCP_TRANSIENT] = {"tcp transient", 120},
	};
	struct tamis_acl_sessions s;

	tamis_acl_sessions_get(t, 0, &s);
	for (unsigned i = 0; i < TAMIS_ACL_TIMEOUTS; i++)
		if (s.timeout[i] != timeouts[i].usual)
			strbuf_printf(out, "set acl-plugin session timeout %s %u\n",
				      timeouts[i].words, s.timeout[i]);
}

int vpp_list(struct tamis *t, struct strbuf *out)
{
	struct walk w = {.t = t, .a = tamis_acls_of(t), .out = out};

	if (!w.a)
		return -ENOMEM;
	list_timeouts(t, out);
	if (!tamis_acls_fragments(w.a))
		strbuf_puts(out, "set acl-plugin l4-match-nonfirst-fragment 0\n");
	tamis_acl_each(w.a, list_acl, &w);
	tamis_macip_each(w.a, list_macip, &w);
	tamis_interface_acls_each(t, list_interface, &w);
	return strbuf_error(out);
}
