/* SPDX-License-Identifier: Apache-2.0 */
/* acl_path: see acl_path.h; also the public functions about interfaces and sessions. */
#include "engine/acl_path.h"

#include <stdlib.h>

#include "acl/acl_lookup.h"
#include "base/list.h"
#include "base/vec.h"
#include "ct/ct.h"
#include "engine/engine.h"
#include "packet/numbers.h"

enum { SESSIONS_MAX = 1000000, ARP_SENDER_MAC = 8, ARP_SENDER_IP = 14, ARP_SIZE = 28 };
enum { ETH_SOURCE = 6 };
#define NS_PER_S UINT64_C(1000000000)

/* What packets met in one direction. */
struct face {
	struct tamis_acl_context *ctx;
	uint16_t *ethertypes;
	size_t n_ethertypes;
	struct tamis_count permitted, denied, session, unmatched, ethertype_denied;
};

struct iface {
	struct acl_path *path;
	uint32_t index;
	unsigned n_bound;     /* contexts that have ACLs, and the MAC-IP ACL */
	struct list in_bound; /* of path->bound, if there are any */
	struct face face[2];
	uint32_t macip;
	struct tamis_count macip_permitted, macip_denied, macip_unmatched;
};

struct acl_path {
	struct tamis_acls *acls;
	struct tamis_acl_worker *worker;
	struct ct_table *sessions;
	uint32_t timeout[TAMIS_ACL_TIMEOUTS];
	VEC(struct iface *) ifaces; /* in the order in which they were first named */
	VEC(struct iface *) by_index;
	struct list bound; /* interfaces that have something bound */
	uint64_t lost;
	struct ct_burst flows;
	struct cls_key keys[BURST_MAX];
	struct tamis_acl_hit hits[BURST_MAX];
};

/* Which of the timeouts of VPP one of conntrack's is. */
static enum tamis_acl_timeout timeout_kind(enum ct_timeout which)
{
	if (which == CT_TIMEOUT_TCP_ESTABLISHED)
		return TAMIS_ACL_TCP_IDLE;
	return which <= CT_TIMEOUT_TCP_UNACK ? TAMIS_ACL_TCP_TRANSIENT : TAMIS_ACL_UDP_IDLE;
}
_Static_assert(CT_TIMEOUT_TCP_SYN_SENT == 0 && CT_TIMEOUT_UDP_UNREPLIED == CT_TIMEOUT_TCP_UNACK + 1,
	       "those of TCP are the first");

static void timeouts_apply(struct acl_path *p)
{
	for (unsigned i = 0; i < CT_TIMEOUTS_N; i++)
		ct_timeout_set(p->sessions, (enum ct_timeout)i,
			       p->timeout[timeout_kind((enum ct_timeout)i)] * NS_PER_S);
}

static int acl_path_new(struct acl_path **out)
{
	struct acl_path *p = calloc(1, sizeof(*p));
	struct ct_config config;
	int err;

	if (!p)
		return -ENOMEM;
	list_init(&p->bound);
	p->timeout[TAMIS_ACL_UDP_IDLE] = 600;
	p->timeout[TAMIS_ACL_TCP_IDLE] = 24 * 3600;
	p->timeout[TAMIS_ACL_TCP_TRANSIENT] = 120;
	ct_config_default(&config);
	config.max_flows = SESSIONS_MAX;
	err = ct_table_new(&config, &p->sessions);
	if (!err)
		err = tamis_acls_new(NULL, &p->acls);
	if (!err)
		err = tamis_acl_worker_new(p->acls, "engine", &p->worker);
	if (err) {
		acl_path_free(p);
		return err;
	}
	timeouts_apply(p);
	ct_burst_init(&p->flows);
	*out = p;
	return 0;
}

void acl_path_free(struct acl_path *p)
{
	if (!p)
		return;
	vec_foreach (&p->ifaces, i) {
		for (unsigned d = 0; d < 2; d++) {
			tamis_acl_context_free((*i)->face[d].ctx);
			free((*i)->face[d].ethertypes);
		}
	}
	vec_foreach (&p->ifaces, i)
		free(*i);
	vec_free(&p->ifaces);
	vec_free(&p->by_index);
	tamis_acl_worker_free(p->worker);
	tamis_acls_free(p->acls);
	ct_table_free(p->sessions);
	free(p);
}

bool acl_path_exact(const struct acl_path *p)
{
	return acls_reflect(p->acls);
}

uint64_t acl_path_lost(const struct acl_path *p)
{
	return p->lost;
}

void acl_path_collect(struct acl_path *p, uint64_t now, unsigned budget)
{
	ct_gc(p->sessions, now, budget);
}

/* --- interfaces ----------------------------------------------------------------------------- */

static int iface_of(struct acl_path *p, uint32_t index, struct iface **out)
{
	int err;

	if (!index || index > TAMIS_INTERFACES_MAX)
		return -EINVAL;
	if (index < p->by_index.n && p->by_index.items[index]) {
		*out = p->by_index.items[index];
		return 0;
	}
	err = vec_reserve(&p->by_index, index + 1);
	if (!err)
		err = vec_reserve(&p->ifaces, p->ifaces.n + 1);
	if (err)
		return err;
	struct iface *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->path = p;
	f->index = index;
	f->macip = TAMIS_ACL_END;
	while (p->by_index.n <= index)
		p->by_index.items[p->by_index.n++] = NULL;
	p->by_index.items[index] = f;
	p->ifaces.items[p->ifaces.n++] = f;
	*out = f;
	return 0;
}

static bool face_judges(const struct face *f)
{
	return f->ctx && !acl_context_empty(f->ctx);
}

static bool iface_judges(const struct iface *f, enum tamis_acl_direction dir)
{
	return face_judges(&f->face[dir]) || (dir == TAMIS_ACL_INPUT && f->macip != TAMIS_ACL_END);
}

/* Something that judges packets comes to the interface, or goes. */
static void iface_bind(void *arg, bool any)
{
	struct iface *f = arg;

	if (any && !f->n_bound++)
		list_insert(&f->in_bound, &f->path->bound);
	else if (!any && !--f->n_bound)
		list_take(&f->in_bound);
}

bool acl_path_bound(const struct acl_path *p)
{
	return !list_is_empty(&p->bound);
}

/* The one interface that has something bound; NULL if there are none or several. */
static struct iface *iface_only(const struct acl_path *p)
{
	struct list *first = p->bound.next;

	return acl_path_bound(p) && first == p->bound.prev
		       ? container_of(first, struct iface, in_bound)
		       : NULL;
}

/* --- packets -------------------------------------------------------------------------------- */

/* What a run is about: the packets of a burst that are at one interface, in one direction. */
struct visit {
	struct acl_path *p;
	struct iface *at;
	enum tamis_acl_direction dir;
	const struct burst *b;
	const struct acl_watch *watch;
	int *err;
};

/* Tells of the packets of mask, which share all of e. */
static void tell(const struct visit *v, burst_mask mask, struct acl_event e)
{
	unsigned i;

	e.iface = v->at->index;
	e.dir = v->dir;
	burst_foreach (mask & v->watch->mask, i) {
		e.packet = i;
		v->watch->fn(v->watch->arg, &e);
	}
}

static void tell_entry(const struct visit *v, unsigned i, bool macip)
{
	const struct tamis_acl_hit *hit = &v->p->hits[i];

	tell(v, UINT64_C(1) << i,
	     (struct acl_event){.kind = ACL_EVENT_ENTRY,
				.macip = macip,
				.denied = hit->action == TAMIS_ACL_DENY,
				.hit = hit});
}

static void count_all(struct tamis_count *c, const struct burst *b, burst_mask mask)
{
	unsigned i;

	burst_foreach (mask, i) {
		c->packets++;
		c->bytes += b->l3len[i];
	}
}

static void hit_count(struct acl_path *p, const struct burst *b, unsigned i)
{
	tamis_acl_count(p->worker, p->hits[i].entry, b->l3len[i]);
}

/* Sender's addresses of packet i for a MAC-IP ACL; the family, 0 if it knows no such protocol. */
static unsigned sender_of(const struct burst *b, unsigned i, const uint8_t **mac,
			  const uint8_t **ip)
{
	*mac = burst_at(b, i, b->ll_off[i] + ETH_SOURCE, 6);
	*ip = b->saddr[i];
	if (b->has[HAS_IPV4] >> i & 1)
		return 4;
	if (b->has[HAS_IPV6] >> i & 1)
		return 6;
	if (b->has[HAS_ARP] >> i & 1) {
		const uint8_t *arp = burst_at(b, i, b->nh_off[i], ARP_SIZE);

		*ip = arp ? arp + ARP_SENDER_IP : NULL;
		/* Who sends on behalf of another MAC is no sender that a rule means. */
		if (arp && *mac && memcmp(arp + ARP_SENDER_MAC, *mac, 6) == 0)
			return 4;
	}
	return 0;
}

static burst_mask macip_run(const struct visit *v, burst_mask mask)
{
	struct acl_path *p = v->p;
	struct iface *f = v->at;
	const struct burst *b = v->b;
	burst_mask ether = mask & b->has[HAS_ETHER], known = 0, permitted = 0;
	const uint8_t *mac, *ip;
	unsigned i;

	tell(v, ether, (struct acl_event){.kind = ACL_EVENT_PACKET, .macip = true});
	burst_foreach (ether, i) {
		unsigned family = sender_of(b, i, &mac, &ip);

		if (!family || !mac || !ip)
			continue;
		macip_key_set(&p->keys[i], family, mac, ip);
		known |= UINT64_C(1) << i;
	}
	known = macip_lookup(p->acls, f->macip, p->keys, known, p->hits);
	burst_foreach (known, i) {
		hit_count(p, b, i);
		tell_entry(v, i, true);
		if (p->hits[i].action != TAMIS_ACL_DENY)
			permitted |= UINT64_C(1) << i;
	}
	tell(v, ether & ~known,
	     (struct acl_event){.kind = ACL_EVENT_POLICY, .macip = true, .denied = true});
	count_all(&f->macip_permitted, b, permitted);
	count_all(&f->macip_denied, b, known & ~permitted);
	count_all(&f->macip_unmatched, b, ether & ~known);
	return ether & ~permitted;
}

static bool ethertype_listed(const struct face *f, uint16_t type)
{
	for (size_t i = 0; i < f->n_ethertypes; i++)
		if (f->ethertypes[i] == type)
			return true;
	return !f->n_ethertypes;
}

static void key_fill(const struct burst *b, unsigned i, bool fragments, struct cls_key *key)
{
	bool v4 = b->has[HAS_IPV4] >> i & 1;
	enum burst_has icmp = v4 ? HAS_ICMP : HAS_ICMPV6;
	struct tamis_acl_key k = {.family = v4 ? 4 : 6,
				  .later_fragment = b->has[HAS_LATER_FRAG] >> i & 1,
				  .no_l4 = !(b->has[HAS_TH] >> i & 1)};

	memcpy(k.src, b->saddr[i], sizeof(k.src));
	memcpy(k.dst, b->daddr[i], sizeof(k.dst));
	if (b->has[HAS_L4PROTO] >> i & 1)
		k.proto = b->l4proto[i];
	else
		k.no_l4 = true;
	switch (k.proto) {
	case PROTO_TCP:
		k.no_l4 |= !(b->has[HAS_TCP_FLAGS] >> i & 1);
		k.tcp_flags = b->tcp_flags[i];
		/* fall through */
	case PROTO_UDP:
		k.no_l4 |= !(b->has[HAS_PORTS] >> i & 1);
		k.sport = b->sport[i];
		k.dport = b->dport[i];
		break;
	case PROTO_ICMP:
	case PROTO_ICMPV6:
		if (b->has[icmp] >> i & 1) {
			k.sport = b->icmp_type[i];
			k.dport = b->icmp_code[i];
		} else {
			k.no_l4 |= k.proto == (v4 ? PROTO_ICMP : PROTO_ICMPV6);
		}
		break;
	}
	acl_key_set(key, &k, fragments);
}

/* Packets of flows that began here. */
static burst_mask sessions_run(const struct visit *v, burst_mask mask)
{
	struct acl_path *p = v->p;
	burst_mask known = 0;
	unsigned i;

	ct_follow(p->sessions, v->b, mask, (uint16_t)v->at->index, &p->flows);
	burst_foreach (mask, i) {
		if (!p->flows.flow[i] || p->flows.state[i] == CT_RELATED)
			continue;
		known |= UINT64_C(1) << i;
		tell(v, UINT64_C(1) << i,
		     (struct acl_event){.kind = ACL_EVENT_SESSION, .flow = p->flows.flow[i]});
	}
	return known;
}

/* Begins a flow with packet i; false if it is to be denied as there can be none. */
static bool reflect(const struct visit *v, unsigned i)
{
	struct acl_path *p = v->p;
	int err = ct_begin(p->sessions, v->b, i, (uint16_t)v->at->index, &p->flows);
	bool full = err == -ENOSPC || err == -ENOMEM;

	if (err == -ENOMEM)
		*v->err = err;
	if (!err || full)
		tell(v, UINT64_C(1) << i,
		     (struct acl_event){.kind = ACL_EVENT_REFLECT,
					.denied = full,
					.flow = full ? NULL : p->flows.flow[i]});
	return !full;
}

/* The ACLs of a face; which packets they deny. */
static burst_mask face_run(const struct visit *v, struct face *f, burst_mask mask)
{
	struct acl_path *p = v->p;
	const struct burst *b = v->b;
	bool fragments = tamis_acls_fragments(p->acls);
	burst_mask denied = 0, permitted = 0, hit;
	unsigned i;

	burst_foreach (mask, i)
		key_fill(b, i, fragments, &p->keys[i]);
	hit = acl_lookup(f->ctx, p->keys, mask, p->hits);
	burst_foreach (hit, i) {
		enum tamis_acl_action action = p->hits[i].action;
		burst_mask bit = UINT64_C(1) << i;

		hit_count(p, b, i);
		tell_entry(v, i, false);
		if (action == TAMIS_ACL_DENY || (action == TAMIS_ACL_REFLECT && !reflect(v, i)))
			denied |= bit;
		else
			permitted |= bit;
	}
	tell(v, mask & ~hit, (struct acl_event){.kind = ACL_EVENT_POLICY, .denied = true});
	count_all(&f->denied, b, denied);
	count_all(&f->permitted, b, permitted);
	count_all(&f->unmatched, b, mask & ~hit);
	return mask & ~permitted;
}

static burst_mask iface_run(const struct visit *v, burst_mask mask)
{
	const struct burst *b = v->b;
	burst_mask ip = b->has[HAS_IPV4] | b->has[HAS_IPV6], denied = 0, broken = 0, other = 0;
	struct face *f = &v->at->face[v->dir];
	unsigned i;

	if (v->dir == TAMIS_ACL_INPUT && v->at->macip != TAMIS_ACL_END)
		denied = macip_run(v, mask);
	mask &= ~denied;
	if (!face_judges(f))
		return denied;
	tell(v, mask, (struct acl_event){.kind = ACL_EVENT_PACKET});
	burst_foreach (mask & ~ip, i) {
		if (b->protocol[i] == ETH_IPV4 || b->protocol[i] == ETH_IPV6)
			broken |= UINT64_C(1) << i; /* no header that an entry could match */
		else if (!ethertype_listed(f, b->protocol[i]))
			other |= UINT64_C(1) << i;
	}
	tell(v, broken, (struct acl_event){.kind = ACL_EVENT_POLICY, .denied = true});
	tell(v, other, (struct acl_event){.kind = ACL_EVENT_ETHERTYPE, .denied = true});
	tell(v, mask & ~ip & ~broken & ~other, (struct acl_event){.kind = ACL_EVENT_ETHERTYPE});
	count_all(&f->unmatched, b, broken);
	count_all(&f->ethertype_denied, b, other);
	denied |= broken | other;
	mask &= ip;

	burst_mask session = sessions_run(v, mask);
	count_all(&f->session, b, session);
	return denied | face_run(v, f, mask & ~session);
}

burst_mask acl_path_run(struct acl_path *p, const struct burst *b, burst_mask mask,
			burst_mask seen_there, enum tamis_acl_direction dir,
			const struct acl_watch *watch, int *err)
{
	const uint32_t *at = dir == TAMIS_ACL_INPUT ? b->iif : b->oif;
	burst_mask denied = 0;

	while (mask) {
		uint32_t index = at[__builtin_ctzll(mask)];
		struct iface *f = index && index < p->by_index.n ? p->by_index.items[index] : NULL;
		burst_mask same = 0;
		unsigned i;

		burst_foreach (mask, i)
			same |= (burst_mask)(at[i] == index) << i;
		mask &= ~same;
		if (!index) {
			same &= seen_there;
			f = iface_only(p);
			if (!f)
				p->lost += (uint64_t)__builtin_popcountll(same);
		}
		if (f && iface_judges(f, dir))
			denied |= iface_run(&(struct visit){p, f, dir, b, watch, err}, same);
	}
	return denied;
}

/* --- the public side ------------------------------------------------------------------------ */

static int path_of(struct tamis *t, struct acl_path **out)
{
	int err = t->acl ? 0 : acl_path_new(&t->acl);

	if (!err)
		*out = t->acl;
	return err;
}

static int iface_get(struct tamis *t, uint32_t index, struct iface **out)
{
	struct acl_path *p;
	int err = interface_name(t->interfaces, index) ? path_of(t, &p) : -EINVAL;

	return err ? err : iface_of(p, index, out);
}

struct tamis_acls *tamis_acls_of(struct tamis *t)
{
	struct acl_path *p;

	return path_of(t, &p) ? NULL : p->acls;
}

int tamis_interface_context(struct tamis *t, uint32_t iface, enum tamis_acl_direction dir,
			    struct tamis_acl_context **out)
{
	struct iface *f;
	int err = (unsigned)dir > TAMIS_ACL_OUTPUT ? -EINVAL : iface_get(t, iface, &f);

	if (!err && !f->face[dir].ctx) {
		err = tamis_acl_context_new(t->acl->acls, &f->face[dir].ctx);
		if (!err)
			acl_context_watch(f->face[dir].ctx, iface_bind, f);
	}
	if (!err)
		*out = f->face[dir].ctx;
	return err;
}

int tamis_interface_macip_set(struct tamis *t, uint32_t iface, uint32_t macip)
{
	struct tamis_acl_info info;
	struct iface *f;
	int err = iface_get(t, iface, &f);

	if (!err && macip != TAMIS_ACL_END)
		err = tamis_macip_get(t->acl->acls, macip, &info);
	if (err)
		return err;
	if ((f->macip == TAMIS_ACL_END) != (macip == TAMIS_ACL_END))
		iface_bind(f, macip != TAMIS_ACL_END);
	f->macip = macip;
	return 0;
}

int tamis_interface_ethertypes_set(struct tamis *t, uint32_t iface, enum tamis_acl_direction dir,
				   const uint16_t *ethertypes, size_t n)
{
	uint16_t *copy = NULL;
	struct iface *f;
	int err = (unsigned)dir > TAMIS_ACL_OUTPUT || n > TAMIS_ETHERTYPES_MAX
			  ? -EINVAL
			  : iface_get(t, iface, &f);

	if (!err && n) {
		copy = malloc(n * sizeof(*copy));
		err = copy ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	if (n)
		memcpy(copy, ethertypes, n * sizeof(*copy));
	free(f->face[dir].ethertypes);
	f->face[dir].ethertypes = copy;
	f->face[dir].n_ethertypes = n;
	return 0;
}

int tamis_acl_timeout_set(struct tamis *t, enum tamis_acl_timeout which, uint32_t seconds)
{
	struct acl_path *p;
	int err = (unsigned)which >= TAMIS_ACL_TIMEOUTS || !seconds ? -EINVAL : path_of(t, &p);

	if (err)
		return err;
	p->timeout[which] = seconds;
	timeouts_apply(p);
	return 0;
}

void tamis_acl_sessions_get(const struct tamis *t, uint64_t now, struct tamis_acl_sessions *out)
{
	*out = (struct tamis_acl_sessions){0};
	if (!t->acl)
		return;
	const struct ct_stats *stats = ct_stats_of(t->acl->sessions);
	out->active = ct_count(t->acl->sessions, engine_time(now));
	out->added = stats->created;
	out->removed = stats->created - out->active;
	out->refused = stats->full;
	memcpy(out->timeout, t->acl->timeout, sizeof(out->timeout));
}

int tamis_interface_acls_each(const struct tamis *t,
			      int (*fn)(void *arg, const struct tamis_interface_acls *i), void *arg)
{
	int err = 0;

	for (size_t i = 0; t->acl && !err && i < t->acl->ifaces.n; i++) {
		const struct iface *f = t->acl->ifaces.items[i];
		struct tamis_interface_acls out = {.interface =
							   interface_name(t->interfaces, f->index),
						   .index = f->index,
						   .macip = f->macip,
						   .macip_permitted = f->macip_permitted,
						   .macip_denied = f->macip_denied,
						   .macip_unmatched = f->macip_unmatched};

		for (unsigned d = 0; d < 2; d++) {
			const struct face *from = &f->face[d];

			out.dir[d].context = from->ctx;
			out.dir[d].ethertypes = from->ethertypes;
			out.dir[d].n_ethertypes = from->n_ethertypes;
			out.dir[d].permitted = from->permitted;
			out.dir[d].denied = from->denied;
			out.dir[d].session = from->session;
			out.dir[d].unmatched = from->unmatched;
			out.dir[d].ethertype_denied = from->ethertype_denied;
		}
		err = fn(arg, &out);
	}
	return err;
}
