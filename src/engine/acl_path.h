/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acl_path: ACLs at the interfaces of an engine, before and behind its ruleset.
 *
 * An interface has a context for each direction, a MAC-IP ACL for what arrives, and lists of
 * ethertypes. A packet is asked at its arrival: MAC-IP, ethertype if it is not IP, whether it
 * belongs to a flow that permit+reflect began at this interface, then the input ACLs; and where it
 * leaves, the same without MAC-IP. Flows are in a table of their own, with the interface as zone:
 * what began at one interface opens no other, and those of the ruleset's conntrack open none.
 *
 * The engine's one thread. Cost: one batch lookup an interface and direction of a burst.
 */
#ifndef TAMIS_ENGINE_ACL_PATH_H
#define TAMIS_ENGINE_ACL_PATH_H

#include <tamis/acl.h>

#include "ct/ct.h"
#include "packet/burst.h"

struct acl_path; /* opaque */

/* What a packet meets, for those who watch it. */
enum acl_event_kind {
	ACL_EVENT_PACKET,    /* comes to where ACLs are bound */
	ACL_EVENT_ENTRY,     /* matched the entry of `hit` */
	ACL_EVENT_SESSION,   /* belongs to `flow` */
	ACL_EVENT_REFLECT,   /* began `flow`; NULL, and denied: there is no room for it */
	ACL_EVENT_ETHERTYPE, /* is not IP: its ethertype decided */
	ACL_EVENT_POLICY,    /* nothing matched */
};

struct acl_event {
	enum acl_event_kind kind;
	unsigned packet;
	uint32_t iface;
	enum tamis_acl_direction dir;
	bool macip; /* the MAC-IP ACL of the interface, not the list of ACLs */
	bool denied;
	const struct tamis_acl_hit *hit; /* of ENTRY */
	const struct ct_flow *flow;	 /* of SESSION and REFLECT */
};

/* fn is told of the packets of mask, in the order of what they meet, while it is judged. */
struct acl_watch {
	burst_mask mask;
	void (*fn)(void *arg, const struct acl_event *e);
	void *arg;
};

void acl_path_free(struct acl_path *p);

/* True if some interface has anything bound. O(1). */
bool acl_path_bound(const struct acl_path *p);
/* True if what one packet does can matter to the next: some entry is permit+reflect. */
bool acl_path_exact(const struct acl_path *p);

/*
 * Which of the packets of mask are denied at their interface: iif or, for OUTPUT, oif. Those of
 * seen_there were captured there: where that is not known they count as seen at the one interface
 * that has something bound, if it is only one. b is parsed. *err becomes -ENOMEM if a flow found no
 * memory.
 */
burst_mask acl_path_run(struct acl_path *p, const struct burst *b, burst_mask mask,
			burst_mask seen_there, enum tamis_acl_direction dir,
			const struct acl_watch *watch, int *err);

/* Packets that were asked by nobody since their arrival is not known. */
uint64_t acl_path_lost(const struct acl_path *p);

/* Frees up to budget flows whose time has come. */
void acl_path_collect(struct acl_path *p, uint64_t now, unsigned budget);

#endif
