/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_types: the types of sets and the names of their options. Constant; any thread. */
#include "compat/ipset_int.h"

#define COMMON (OPT(TIMEOUT) | OPT(COUNTERS) | OPT(COMMENT) | OPT(SKBINFO))
#define HASHED                                                                                     \
	(COMMON | OPT(HASHSIZE) | OPT(MAXELEM) | OPT(BUCKETSIZE) | OPT(FORCEADD) | OPT(INITVAL))
#define FAMILIED (HASHED | OPT(FAMILY))
#define MASKED	 (FAMILIED | OPT(NETMASK) | OPT(BITMASK))
#define RANGED	 (COMMON | OPT(RANGE) | OPT(FROM) | OPT(TO))
/* What had a meaning once, for types that are as old. */
#define SIZED  (OPT(PROBES) | OPT(RESIZE))
#define WITHIN (SIZED | OPT(FROM) | OPT(TO) | OPT(NETWORK))

/* Name, its name of old, kind, parts, ranges in them, revision, mask listed last, options. */
const struct ipset_type ipset_types[] = {
	{"bitmap:ip",
	 "ipmap",
	 IPSET_BITMAP,
	 {DIM_IP},
	 1,
	 3,
	 false,
	 RANGED | OPT(NETWORK) | OPT(NETMASK)},
	{"bitmap:ip,mac",
	 "macipmap",
	 IPSET_BITMAP,
	 {DIM_IP, DIM_MAC},
	 0,
	 3,
	 false,
	 RANGED | OPT(NETWORK)},
	{"bitmap:port", "portmap", IPSET_BITMAP, {DIM_PLAIN_PORT}, 0, 3, false, RANGED},
	{"hash:ip", "iphash", IPSET_HASH, {DIM_IP}, 1, 6, false, MASKED | SIZED | OPT(GC)},
	{"hash:ip,mac", NULL, IPSET_HASH, {DIM_IP, DIM_MAC}, 0, 1, false, FAMILIED},
	{"hash:ip,mark",
	 NULL,
	 IPSET_HASH,
	 {DIM_IP, DIM_MARK},
	 1,
	 3,
	 false,
	 FAMILIED | OPT(MARKMASK)},
	{"hash:ip,port", "ipporthash", IPSET_HASH, {DIM_IP, DIM_PORT}, 1, 7, true, MASKED | WITHIN},
	{"hash:ip,port,ip",
	 "ipportiphash",
	 IPSET_HASH,
	 {DIM_IP, DIM_PORT, DIM_IP},
	 1,
	 6,
	 false,
	 FAMILIED | WITHIN},
	{"hash:ip,port,net",
	 "ipportnethash",
	 IPSET_HASH,
	 {DIM_IP, DIM_PORT, DIM_NET},
	 5,
	 8,
	 false,
	 FAMILIED | WITHIN},
	{"hash:mac", NULL, IPSET_HASH, {DIM_MAC}, 0, 1, false, HASHED},
	{"hash:net", "nethash", IPSET_HASH, {DIM_NET}, 1, 7, false, FAMILIED | SIZED},
	{"hash:net,iface", NULL, IPSET_HASH, {DIM_NET, DIM_IFACE}, 1, 8, false, FAMILIED},
	{"hash:net,net", NULL, IPSET_HASH, {DIM_NET, DIM_NET}, 3, 4, true, MASKED},
	{"hash:net,port", NULL, IPSET_HASH, {DIM_NET, DIM_PORT}, 1, 8, false, FAMILIED},
	{"hash:net,port,net",
	 NULL,
	 IPSET_HASH,
	 {DIM_NET, DIM_PORT, DIM_NET},
	 5,
	 3,
	 false,
	 FAMILIED},
	{"list:set", "setlist", IPSET_LIST, {DIM_NONE}, 0, 3, false, COMMON | OPT(SIZE)},
};
const size_t ipset_types_n = ARRAY_SIZE(ipset_types);

static const char *const option_names[] = {
#define X(name, text) [IPSET_##name] = text,
	IPSET_OPTIONS(X)
#undef X
};

_Static_assert(ARRAY_SIZE(option_names) == IPSET_OPTIONS_N, "a name each");

const struct ipset_type *ipset_type_find(const char *name)
{
	for (size_t i = 0; i < ipset_types_n; i++) {
		const struct ipset_type *t = &ipset_types[i];

		if (strcmp(name, t->name) == 0 || (t->old_name && strcmp(name, t->old_name) == 0))
			return t;
	}
	return NULL;
}

bool ipset_type_has(const struct ipset_type *type, enum ipset_dim d)
{
	for (unsigned i = 0; i < IPSET_DIMS; i++)
		if (type->dims[i] == d)
			return true;
	return false;
}

const char *ipset_family_name(const struct ipset_type *type, unsigned ip_len)
{
	if (!ipset_type_has(type, DIM_IP) && !ipset_type_has(type, DIM_NET))
		return "unspec";
	return ip_len == 4 ? "inet" : "inet6";
}

const char *ipset_option_name(enum ipset_option o)
{
	return option_names[o];
}

enum ipset_option ipset_option_find(const char *word)
{
	unsigned i = 0;

	if (word[0] == '-' && word[1] == '-')
		word += 2;
	while (i < IPSET_OPTIONS_N && strcmp(word, option_names[i]))
		i++;
	return (enum ipset_option)i;
}
