/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe: packets in words: their header fields as `nft monitor trace` names them, and the lines
 * that the kernel's log statement writes.
 *
 * Bytes are read through burst_read() alone: what is not there is not told. One thread.
 */
#ifndef TAMIS_ENGINE_DESCRIBE_H
#define TAMIS_ENGINE_DESCRIBE_H

#include "base/strbuf.h"
#include "ct/ct.h"
#include "packet/burst.h"

/* `iif "eth0" ether saddr ... ip saddr ... tcp dport 22 ...`. Names are NULL for none. */
void describe_packet(const struct burst *b, unsigned i, const char *iif, const char *oif,
		     struct strbuf *out);

/* `ip saddr ... ip daddr ... udp sport ... udp dport ...`: how the flow of this tuple began. */
void describe_flow(const struct ct_tuple *t, struct strbuf *out);

/* As nft's `log flags`. */
enum {
	LOG_LINE_TCP_SEQUENCE = 1,
	LOG_LINE_TCP_OPTIONS = 2,
	LOG_LINE_IP_OPTIONS = 4,
	LOG_LINE_MAC_DECODE = 32,
};

/*
 * `PREFIXIN=eth0 OUT= MAC=... SRC=... DST=... LEN=... PROTO=TCP SPT=... DPT=... ...`, without a
 * newline. prefix is not NULL, the names may be.
 */
void describe_log(const struct burst *b, unsigned i, const char *prefix, const char *in,
		  const char *out_name, unsigned flags, struct strbuf *out);

#endif
