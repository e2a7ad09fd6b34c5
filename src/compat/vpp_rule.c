/* SPDX-License-Identifier: Apache-2.0 */
/* vpp_rule: the rules of ACLs and MAC-IP ACLs, read and printed; see vpp.h. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/address.h"
#include "compat/vpp_int.h"

enum { PORT_MAX = 0xffff, PROTO_MAX = 255, FLAGS_MAX = 255, MAC_TEXT = 17 };

static const struct {
	const char *name;
	uint8_t number;
} protocols[] = {
	{"icmp", IPPROTO_ICMP}, {"tcp", IPPROTO_TCP},	{"udp", IPPROTO_UDP},
	{"gre", IPPROTO_GRE},	{"esp", IPPROTO_ESP},	{"icmp6", IPPROTO_ICMPV6},
	{"ospf", 89},		{"sctp", IPPROTO_SCTP},
};

static const char *const action_names[TAMIS_ACL_ACTIONS] = {
	[TAMIS_ACL_DENY] = "deny",
	[TAMIS_ACL_PERMIT] = "permit",
	[TAMIS_ACL_REFLECT] = "permit+reflect",
};

/* --- reading -------------------------------------------------------------------------------- */

static bool action_parse(const struct vpp_word *w, uint8_t *out)
{
	for (unsigned i = 0; i < TAMIS_ACL_ACTIONS; i++)
		if (vpp_is(w, action_names[i])) {
			*out = (uint8_t)i;
			return true;
		}
	return false;
}

/* An address or prefix behind the word `after`; its family may not contradict *family, unless 0. */
static int prefix_parse(struct vpp *v, const char *after, uint8_t *family, uint8_t addr[16],
			uint8_t *len)
{
	const struct vpp_word *w = vpp_next(v);
	struct address_range r;
	uint8_t given[16] = {0};

	if (!w)
		return vpp_fail(v, "'%s' wants a prefix", after);
	if (memchr(w->text, '-', w->len) || address_range_parse(w->text, w->len, &r))
		return vpp_fail(v, "%s %.*s: not a prefix", after, (int)w->len, w->text);
	const char *slash = memchr(w->text, '/', w->len);
	address_parse(w->text, slash ? (size_t)(slash - w->text) : w->len, given);
	if (memcmp(given, r.lo, r.len))
		return vpp_fail(v, "%s %.*s: there are bits behind the prefix", after, (int)w->len,
				w->text);
	if (*family && *family != (r.len == 4 ? 4 : 6))
		return vpp_fail(v, "%s %.*s: IPv4 and IPv6 in one rule", after, (int)w->len,
				w->text);
	*family = r.len == 4 ? 4 : 6;
	memset(addr, 0, 16);
	memcpy(addr, r.lo, r.len);
	*len = r.prefix;
	return 0;
}

static int proto_parse(struct vpp *v, uint8_t *out)
{
	const struct vpp_word *w = v->at < v->words.n ? &v->words.items[v->at] : NULL;
	uint32_t n;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (vpp_is(w, protocols[i].name)) {
			v->at++;
			*out = protocols[i].number;
			return 0;
		}
	int err = vpp_number(v, "proto", PROTO_MAX, &n);
	if (!err)
		*out = (uint8_t)n;
	return err;
}

static int ports_parse(struct vpp *v, const char *after, uint16_t *first, uint16_t *last)
{
	const struct vpp_word *w = vpp_next(v);
	const char *dash = w ? memchr(w->text, '-', w->len) : NULL;
	size_t n = !w ? 0 : dash ? (size_t)(dash - w->text) : w->len;
	uint64_t lo, hi;

	if (!w)
		return vpp_fail(v, "'%s' wants a port or a range of them", after);
	if (decimal_parse(w->text, n, PORT_MAX, &lo) ||
	    (dash && decimal_parse(dash + 1, w->len - n - 1, PORT_MAX, &hi)))
		return vpp_fail(v, "%s %.*s: not a port or a range of them", after, (int)w->len,
				w->text);
	if (!dash)
		hi = lo;
	if (lo > hi)
		return vpp_fail(v, "%s %.*s: the range is empty", after, (int)w->len, w->text);
	*first = (uint16_t)lo;
	*last = (uint16_t)hi;
	return 0;
}

static int flags_parse(struct vpp *v, struct tamis_acl_rule *r)
{
	uint32_t flags, mask;
	int err = vpp_number(v, "tcpflags", FLAGS_MAX, &flags);

	if (!err) {
		vpp_take(v, "mask");
		err = vpp_number(v, "mask", FLAGS_MAX, &mask);
	}
	if (err)
		return err;
	r->tcp_flags = (uint8_t)flags;
	r->tcp_mask = (uint8_t)mask;
	return 0;
}

/* All words up to the comma or the end, with a blank between them. */
static int desc_parse(struct vpp *v, const char **out)
{
	struct strbuf text = STRBUF_INIT;
	size_t from = v->at;
	int err;

	for (; v->at < v->words.n && !vpp_is(&v->words.items[v->at], ","); v->at++) {
		if (v->at > from)
			strbuf_putc(&text, ' ');
		strbuf_add(&text, v->words.items[v->at].text, v->words.items[v->at].len);
	}
	if (from == v->at)
		return vpp_fail(v, "'desc' wants a text");
	err = strbuf_error(&text);
	*out = err ? NULL : vpp_string(v, strbuf_str(&text), text.len);
	strbuf_free(&text);
	return *out ? 0 : -ENOMEM;
}

static int tag_parse(struct vpp *v, struct vpp_acl *out)
{
	const struct vpp_word *w = vpp_next(v);

	if (!w)
		return vpp_fail(v, "'tag' wants a name");
	if (w->len > TAMIS_ACL_TAG_MAX)
		return vpp_fail(v, "tag %.*s: longer than %d bytes", (int)w->len, w->text,
				TAMIS_ACL_TAG_MAX);
	out->tag = vpp_string(v, w->text, w->len);
	return out->tag ? 0 : -ENOMEM;
}

/* Words that belong to the ACL, wherever they stand: 1 if it was one. */
static int acl_word(struct vpp *v, const struct vpp_word *w, struct vpp_acl *out)
{
	uint32_t unused;
	int err;

	if (vpp_is(w, "tag"))
		err = tag_parse(v, out);
	else if (vpp_is(w, "index"))
		err = vpp_number(v, "index", TAMIS_ACL_INDEX_MAX, &out->index);
	else if (vpp_is(w, "count"))
		err = vpp_number(v, "count", UINT32_MAX, &unused);
	else
		return 0;
	return err ? err : 1;
}

/* One word of a rule and what belongs to it. */
static int rule_word(struct vpp *v, const struct vpp_word *w, void *rule)
{
	struct tamis_acl_rule *r = rule;
	uint32_t n;
	int err;

	if (action_parse(w, &r->action))
		return 0;
	if (vpp_is(w, "src"))
		return prefix_parse(v, "src", &r->family, r->src, &r->src_len);
	if (vpp_is(w, "dst"))
		return prefix_parse(v, "dst", &r->family, r->dst, &r->dst_len);
	if (vpp_is(w, "proto"))
		return proto_parse(v, &r->proto);
	if (vpp_is(w, "sport"))
		return ports_parse(v, "sport", &r->sport_first, &r->sport_last);
	if (vpp_is(w, "dport"))
		return ports_parse(v, "dport", &r->dport_first, &r->dport_last);
	if (vpp_is(w, "tcpflags"))
		return flags_parse(v, r);
	if (vpp_is(w, "desc"))
		return desc_parse(v, &r->desc);
	if (vpp_is(w, "action")) {
		err = vpp_number(v, "action", TAMIS_ACL_ACTIONS - 1, &n);
		r->action = err ? r->action : (uint8_t)n;
		return err;
	}
	return vpp_unknown(v, w);
}

static void rule_warn(struct vpp *v, const struct tamis_acl_rule *r)
{
	bool ports = r->sport_first || r->sport_last != PORT_MAX || r->dport_first ||
		     r->dport_last != PORT_MAX;

	if (!r->proto && (ports || r->tcp_mask || r->tcp_flags))
		vpp_warn(v, "ports and flags say nothing in a rule without a protocol");
	else if (r->tcp_flags & ~r->tcp_mask)
		vpp_warn(v, "flags that are not in their mask match no TCP packet");
}

/* Rules of one kind, and where they go. */
struct rule_list {
	void (*begin)(void *rule);
	int (*word)(struct vpp *v, const struct vpp_word *w, void *rule);
	int (*end)(struct vpp *v, void *rule);
};

/* Rules with commas between them, and what there is about the ACL, until the line ends. */
static int rules_parse(struct vpp *v, const struct rule_list *l, void *rule, struct vpp_acl *out)
{
	bool empty = true, first = true;
	int err;

	*out = (struct vpp_acl){.index = TAMIS_ACL_NEW};
	l->begin(rule);
	for (;;) {
		const struct vpp_word *w = vpp_next(v);

		if (w && !vpp_is(w, ",")) {
			int is = acl_word(v, w, out);

			err = is ? MIN(is, 0) : l->word(v, w, rule);
			empty = empty && is;
			if (err)
				return err;
			continue;
		}
		if (empty)
			return vpp_fail(v, !first || w ? "there is no rule at the comma"
						       : "an ACL wants a rule");
		err = l->end(v, rule);
		if (err || !w)
			return err;
		l->begin(rule);
		empty = true;
		first = false;
	}
}

static void rule_begin(void *rule)
{
	tamis_acl_rule_init(rule, TAMIS_ACL_PERMIT, 0);
}

static int rule_end(struct vpp *v, void *rule)
{
	struct tamis_acl_rule *r = rule;

	if (!r->family)
		r->family = 4;
	rule_warn(v, r);
	return vec_push(&v->rules, *r);
}

int vpp_rules_parse(struct vpp *v, struct vpp_acl *out)
{
	static const struct rule_list list = {rule_begin, rule_word, rule_end};
	struct tamis_acl_rule r;

	v->rules.n = 0;
	return rules_parse(v, &list, &r, out);
}

static int mac_parse(struct vpp *v, const char *after, uint8_t out[6])
{
	const struct vpp_word *w = vpp_next(v);
	bool ok = w && w->len == MAC_TEXT;

	for (unsigned i = 0; i < MAC_TEXT && ok; i++) {
		char c = w->text[i];
		uint8_t digit =
			c >= '0' && c <= '9' ? (uint8_t)(c - '0') : (uint8_t)((c | 32) - 'a' + 10);

		if (i % 3 == 2) {
			ok = c == ':';
			continue;
		}
		ok = digit < 16;
		out[i / 3] = (uint8_t)(out[i / 3] << 4 | digit);
	}
	if (!w)
		return vpp_fail(v, "'%s' wants a MAC address", after);
	return ok ? 0 : vpp_fail(v, "%s %.*s: not a MAC address", after, (int)w->len, w->text);
}

static int macip_word(struct vpp *v, const struct vpp_word *w, void *rule)
{
	struct tamis_macip_rule *r = rule;
	uint32_t n;
	int err;

	if (action_parse(w, &r->action))
		return r->action == TAMIS_ACL_REFLECT ? vpp_unknown(v, w) : 0;
	if (vpp_is(w, "ip") || vpp_is(w, "src"))
		return prefix_parse(v, "ip", &r->family, r->src, &r->src_len);
	if (vpp_is(w, "mac"))
		return mac_parse(v, "mac", r->mac);
	if (vpp_is(w, "mask"))
		return mac_parse(v, "mask", r->mask);
	if (vpp_is(w, "desc"))
		return desc_parse(v, &r->desc);
	if (vpp_is(w, "action")) {
		err = vpp_number(v, "action", TAMIS_ACL_PERMIT, &n);
		r->action = err ? r->action : (uint8_t)n;
		return err;
	}
	return vpp_unknown(v, w);
}

static void macip_begin(void *rule)
{
	*(struct tamis_macip_rule *)rule = (struct tamis_macip_rule){.action = TAMIS_ACL_PERMIT};
}

static int macip_end(struct vpp *v, void *rule)
{
	struct tamis_macip_rule *r = rule;

	if (!r->family)
		r->family = 4;
	return vec_push(&v->macip_rules, *r);
}

int vpp_macip_rules_parse(struct vpp *v, struct vpp_acl *out)
{
	static const struct rule_list list = {macip_begin, macip_word, macip_end};
	struct tamis_macip_rule r;

	v->macip_rules.n = 0;
	return rules_parse(v, &list, &r, out);
}

/* --- printing ------------------------------------------------------------------------------- */

static void prefix_print(const char *what, const uint8_t *addr, unsigned family, unsigned len,
			 struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN];

	strbuf_printf(out, " %s %s/%u", what,
		      inet_ntop(family == 4 ? AF_INET : AF_INET6, addr, text, sizeof(text)), len);
}

static void ports_print(const char *what, uint16_t first, uint16_t last, struct strbuf *out)
{
	if (!first && last == PORT_MAX)
		return;
	strbuf_printf(out, " %s %u", what, first);
	if (first != last)
		strbuf_printf(out, "-%u", last);
}

void vpp_rule_print(const struct tamis_acl_rule *r, struct strbuf *out)
{
	strbuf_puts(out, action_names[r->action]);
	if (r->src_len || !r->dst_len)
		prefix_print("src", r->src, r->family, r->src_len, out);
	if (r->dst_len)
		prefix_print("dst", r->dst, r->family, r->dst_len, out);
	if (r->proto)
		strbuf_printf(out, " proto %u", r->proto);
	ports_print("sport", r->sport_first, r->sport_last, out);
	ports_print("dport", r->dport_first, r->dport_last, out);
	if (r->tcp_mask || r->tcp_flags)
		strbuf_printf(out, " tcpflags %u mask %u", r->tcp_flags, r->tcp_mask);
	if (r->desc)
		strbuf_printf(out, " desc %s", r->desc);
}

static void mac_print(const char *what, const uint8_t mac[6], struct strbuf *out)
{
	strbuf_printf(out, " %s %02x:%02x:%02x:%02x:%02x:%02x", what, mac[0], mac[1], mac[2],
		      mac[3], mac[4], mac[5]);
}

void vpp_macip_rule_print(const struct tamis_macip_rule *r, struct strbuf *out)
{
	strbuf_puts(out, action_names[r->action]);
	prefix_print("ip", r->src, r->family, r->src_len, out);
	mac_print("mac", r->mac, out);
	mac_print("mask", r->mask, out);
	if (r->desc)
		strbuf_printf(out, " desc %s", r->desc);
}
