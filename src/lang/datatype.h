/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: what a value means: its width, its names, how it is read and printed.
 *
 * Values are byte strings in network byte order everywhere (marks, interface indexes and the other
 * types that a kernel keeps in host order too), right-aligned in (bits + 7) / 8 bytes, so that
 * comparing bytes compares numbers. Strings (ifname) are left-aligned and padded with zeros.
 *
 * Types are constant tables; any thread.
 */
#ifndef TAMIS_LANG_DATATYPE_H
#define TAMIS_LANG_DATATYPE_H

#include "base/arena.h"
#include "base/strbuf.h"

enum { VALUE_MAX = 64, IFNAME_MAX = 16, CONCAT_MAX = 16 };

enum type_base { TBASE_INTEGER, TBASE_BITMASK, TBASE_STRING, TBASE_VERDICT };

struct symbol {
	const char *name;
	uint64_t value;
};

struct lang_env;
struct datatype;

struct datatype {
	const char *name, *desc; /* "ipv4_addr", "IPv4 address": as nft names them */
	uint16_t bits;		 /* 0: depends on the expression (integer, string) */
	uint8_t base;		 /* enum type_base */
	uint8_t radix;		 /* how plain numbers print: 10 or 16 */
	uint8_t digits;		 /* of radix 16: how many at least */
	bool prefix;		 /* a mask of leading ones prints as /n */
	const struct symbol *symbols; /* ends with a NULL name; printed when matched exactly */
	bool symbols_print;	 /* false: names are read but numbers are printed (ports) */
	const struct datatype *parent; /* whose parse, print and symbols serve where these are NULL */
	uint64_t max;		 /* the largest value, 0: what the width allows */
	/* See datatype_parse(). */
	int (*parse)(const struct datatype *t, const struct lang_env *env, const char *text,
		     size_t len, uint8_t *out, unsigned bits, const char **why);
	void (*print)(const struct datatype *t, const struct lang_env *env, const uint8_t *value,
		      unsigned bits, struct strbuf *out);
};

/* Every type of nft(8): the name in C, and the name in the language. */
#define DATATYPES(X)                                                                        \
	X(invalid, "invalid") X(verdict, "verdict") X(nfproto, "nf_proto")                  \
	X(bitmask, "bitmask") X(integer, "integer") X(string, "string") X(lladdr, "ll_addr") \
	X(ipv4_addr, "ipv4_addr") X(ipv6_addr, "ipv6_addr") X(ether_addr, "ether_addr")     \
	X(ether_type, "ether_type") X(arp_op, "arp_op") X(inet_proto, "inet_proto")         \
	X(inet_service, "inet_service") X(icmp_type, "icmp_type") X(tcp_flag, "tcp_flag")   \
	X(dccp_pkttype, "dccp_pkttype") X(mh_type, "mh_type") X(time, "time")               \
	X(mark, "mark") X(iface_index, "iface_index") X(iface_type, "iface_type")           \
	X(realm, "realm") X(classid, "classid") X(uid, "uid") X(gid, "gid")                 \
	X(ct_state, "ct_state") X(ct_dir, "ct_dir") X(ct_status, "ct_status")               \
	X(icmpv6_type, "icmpv6_type") X(ct_label, "ct_label") X(pkt_type, "pkt_type")       \
	X(icmp_code, "icmp_code") X(icmpv6_code, "icmpv6_code") X(icmpx_code, "icmpx_code") \
	X(devgroup, "devgroup") X(dscp, "dscp") X(ecn, "ecn") X(fib_addrtype, "fib_addrtype") \
	X(boolean, "boolean") X(ct_event, "ct_event") X(ifname, "ifname")                   \
	X(igmp_type, "igmp_type") X(time_date, "time") X(time_hour, "hour")                 \
	X(time_day, "day") X(cgroupsv2, "cgroupsv2") X(ct_id, "ct_id") X(exthdr_bool, "boolean") \
	X(geneve_opt_type, "integer") X(xinteger, "integer") X(mptcp_subtype, "mptcp option subtype")

#define X(id, name) extern const struct datatype type_##id;
DATATYPES(X)
#undef X

/* By the name used in `type NAME`; NULL if there is none. The first of a shared name wins. */
const struct datatype *datatype_find(const char *name, size_t len);
/* Bytes that a value of `bits` takes. */
static inline unsigned bits_to_bytes(unsigned bits)
{
	return (bits + 7) / 8;
}

/* Names that the host's files give to numbers; each table ends with a NULL name or is NULL. */
struct host_names {
	const struct symbol *marks, *realms, *devgroups, *labels;
};

/*
 * Reads rt_marks, rt_realms and group under `iproute` ("/etc/iproute2") and the file `labels`
 * ("/etc/connlabel.conf") into the arena; what is missing or unreadable names nothing. 0 or -ENOMEM.
 */
int host_names_load(struct arena *a, const char *iproute, const char *labels,
		    struct host_names *out);

/*
 * Names that come from outside the language: interfaces of this engine, and files of the host that
 * name marks. Both callbacks may be NULL (then only numbers are known).
 */
struct lang_env {
	void *arg;
	uint32_t (*ifindex)(void *arg, const char *name, size_t len); /* 0: unknown */
	const char *(*ifname)(void *arg, uint32_t index);	      /* NULL: unknown */
	const struct host_names *names; /* NULL: "default" and "cosmos" alone */
	unsigned numeric;  /* NUMERIC_*, PRINT_*: how to list */
	int32_t utc_offset; /* seconds east of Greenwich: for meta time, hour and day */
};

enum { NUMERIC_PROTOCOL = 1, NUMERIC_PRIORITY = 2, NUMERIC_TIME = 4, NUMERIC_SYMBOLS = 8,
       PRINT_HANDLES = 16, PRINT_STATELESS = 32, PRINT_TERSE = 64,
       NUMERIC_ALL = NUMERIC_PROTOCOL | NUMERIC_PRIORITY | NUMERIC_TIME | NUMERIC_SYMBOLS };

/*
 * Reads one symbol or number of type t into (bits + 7) / 8 bytes. `text` needs no NUL behind it.
 * 0; -EINVAL with *why a phrase for the message, NULL for nft's default "Could not parse DESC";
 * -ERANGE if it is a number above datatype_max(). `env` may be NULL.
 */
int datatype_parse(const struct datatype *t, const struct lang_env *env, const char *text,
		   size_t len, uint8_t *out, unsigned bits, const char **why);
/* Prints one value as nft's listing does. */
void datatype_print(const struct datatype *t, const struct lang_env *env, const uint8_t *value,
		    unsigned bits, struct strbuf *out);
/* The symbol of exactly this value, or NULL. Not for types whose names come from the host. */
const char *datatype_symbol(const struct datatype *t, uint64_t value);
/* The largest number that fits the type in `bits`, UINT64_MAX for 64 bits and more. */
uint64_t datatype_max(const struct datatype *t, unsigned bits);

/* An unsigned number, 0x hexadecimal, 0 octal, else decimal, big-endian into bits. 0, -EINVAL
 * if it is none, -ERANGE if it does not fit. */
int number_parse(const char *text, size_t len, uint8_t *out, unsigned bits);
/*
 * An interface name: backslashes taken away, a `*` at the end makes it a prefix. `out` has
 * IFNAME_MAX bytes, padded with zeros; *n is the length without the `*`. -EINVAL if it is empty or
 * too long.
 */
int ifname_parse(const char *text, size_t len, uint8_t *out, unsigned *n, bool *wildcard);
void ifname_print(const uint8_t *name, unsigned n, bool wildcard, struct strbuf *out);
/* `1d2h3m4s5ms`, or a plain number of seconds. 0, -EINVAL, -ERANGE. */
int duration_parse(const char *text, size_t len, uint64_t *ms);
void duration_print(uint64_t ms, struct strbuf *out);

#endif
