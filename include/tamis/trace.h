/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: what happens to single packets, told while it happens: inside tamis_burst_run().
 *
 * Callbacks come in the order of evaluation, packet by packet. The struct and the strings in it
 * live until the callback returns; it must not use the engine. Packets that are not traced cost
 * nothing.
 */
#ifndef TAMIS_PUBLIC_TRACE_H
#define TAMIS_PUBLIC_TRACE_H

#include <tamis/acl.h>

TAMIS_BEGIN

struct tamis;

enum tamis_trace_kind {
	TAMIS_TRACE_PACKET, /* enters a base chain; text: its header fields in nft's words */
	TAMIS_TRACE_RULE,   /* matched a rule; text: the rule, verdict: "accept", "jump web", ... */
	TAMIS_TRACE_RETURN, /* end of a chain; verdict: "return", of a base chain "continue" */
	TAMIS_TRACE_POLICY, /* the base chain's policy decided; verdict: "accept", "drop" */
	TAMIS_TRACE_LOG,    /* a log statement; text: the line */
	/*
	 * Of an interface's ACLs, as PACKET and POLICY may be too. family is "acl", table the
	 * interface, chain "input", "output", or "macip" for its MAC-IP ACL.
	 */
	TAMIS_TRACE_ENTRY,     /* matched an entry; verdict: "accept", "drop" */
	TAMIS_TRACE_REFLECT,   /* permit+reflect began a flow; text: its first packet's addresses;
				  verdict: "accept", or "drop" without text: no room for it */
	TAMIS_TRACE_SESSION,   /* belongs to such a flow; text: the same; verdict: "accept" */
	TAMIS_TRACE_ETHERTYPE, /* is not IP; text: the ethertype; verdict: "accept", "drop" */
};

struct tamis_trace {
	enum tamis_trace_kind kind;
	unsigned packet; /* its number in the burst */
	const char *family, *table, *chain;
	uint64_t handle;     /* of the rule or entry, 0 for none */
	const char *text;    /* or NULL */
	const char *verdict; /* or NULL */
	/* Of ENTRY one of the two, else NULL; and the index of its ACL. */
	const struct tamis_acl_entry *entry;
	const struct tamis_macip_entry *macip_entry;
	uint32_t acl;
};
/*
 * fn hears of the packets that tamis_burst_trace() named and of those for which a rule said `meta
 * nftrace set 1`, from there on. NULL: nobody.
 */
TAMIS_API void tamis_trace_set(struct tamis *t, void (*fn)(void *arg, const struct tamis_trace *e),
			       void *arg);

struct tamis_log {
	unsigned packet;
	uint64_t time;	  /* of the packet */
	int level;	  /* 0 emerg to 7 debug */
	int group;	  /* of `log group N`; -1 for the system log */
	const char *line; /* as the kernel writes it: prefix, IN=, OUT=, SRC=, DST= ... */
};
/* fn hears of every log statement. NULL: nobody. */
TAMIS_API void tamis_log_set(struct tamis *t, void (*fn)(void *arg, const struct tamis_log *e),
			     void *arg);

TAMIS_END

#endif
