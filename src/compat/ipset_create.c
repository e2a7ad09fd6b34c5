/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_create: the types of sets, and sets made of a `create` line. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "compat/address.h"
#include "compat/ipset_int.h"

enum { BITMAP_MAX = 65536 };

#define COMMON (OPT(TIMEOUT) | OPT(COUNTERS) | OPT(COMMENT) | OPT(SKBINFO))
#define HASHED                                                                                     \
	(COMMON | OPT(HASHSIZE) | OPT(MAXELEM) | OPT(BUCKETSIZE) | OPT(FORCEADD) | OPT(INITVAL))
#define FAMILIED (HASHED | OPT(FAMILY))
#define MASKED	 (FAMILIED | OPT(NETMASK) | OPT(BITMASK))

const struct ipset_type ipset_types[] = {
	{"hash:ip", IPSET_HASH, {DIM_IP}, 1, MASKED},
	{"hash:ip,mac", IPSET_HASH, {DIM_IP, DIM_MAC}, 0, FAMILIED},
	{"hash:ip,mark", IPSET_HASH, {DIM_IP, DIM_MARK}, 1, FAMILIED | OPT(MARKMASK)},
	{"hash:ip,port", IPSET_HASH, {DIM_IP, DIM_PORT}, 1, MASKED},
	{"hash:ip,port,ip", IPSET_HASH, {DIM_IP, DIM_PORT, DIM_IP}, 1, FAMILIED},
	{"hash:ip,port,net", IPSET_HASH, {DIM_IP, DIM_PORT, DIM_NET}, 5, FAMILIED},
	{"hash:mac", IPSET_HASH, {DIM_MAC}, 0, HASHED},
	{"hash:net", IPSET_HASH, {DIM_NET}, 1, FAMILIED},
	{"hash:net,net", IPSET_HASH, {DIM_NET, DIM_NET}, 3, FAMILIED},
	{"hash:net,port", IPSET_HASH, {DIM_NET, DIM_PORT}, 1, FAMILIED},
	{"hash:net,port,net", IPSET_HASH, {DIM_NET, DIM_PORT, DIM_NET}, 5, FAMILIED},
	{"hash:net,iface", IPSET_HASH, {DIM_NET, DIM_IFACE}, 1, FAMILIED},
	{"bitmap:ip", IPSET_BITMAP, {DIM_IP}, 1, COMMON | OPT(RANGE) | OPT(NETMASK)},
	{"bitmap:ip,mac", IPSET_BITMAP, {DIM_IP, DIM_MAC}, 0, COMMON | OPT(RANGE)},
	{"bitmap:port", IPSET_BITMAP, {DIM_PLAIN_PORT}, 0, COMMON | OPT(RANGE)},
	{"list:set", IPSET_LIST, {DIM_NONE}, 0, COMMON | OPT(SIZE)},
	/* What they were called before. */
	{"iphash", IPSET_HASH, {DIM_IP}, 1, MASKED},
	{"nethash", IPSET_HASH, {DIM_NET}, 1, FAMILIED},
	{"ipporthash", IPSET_HASH, {DIM_IP, DIM_PORT}, 1, FAMILIED},
	{"setlist", IPSET_LIST, {DIM_NONE}, 0, COMMON | OPT(SIZE)},
};
const size_t ipset_types_n = ARRAY_SIZE(ipset_types);

unsigned ipset_dim_len(const struct ipset_set *set, enum ipset_dim d)
{
	switch (d) {
	case DIM_IP:
		return set->ip_len;
	case DIM_NET:
		return set->ip_len + 1;
	case DIM_MAC:
		return set->type->kind == IPSET_BITMAP ? 0 : 6;
	case DIM_MARK:
		return 4;
	case DIM_PORT:
		return 3;
	case DIM_PLAIN_PORT:
		return 2;
	case DIM_IFACE:
		return 17;
	case DIM_NONE:
		break;
	}
	return 0;
}

void ipset_set_free(struct ipset_set *set)
{
	if (!set)
		return;
	map_free(&set->by_key);
	vec_free(&set->elems);
	vec_free(&set->members);
	vec_free(&set->member_timeouts);
	arena_free(&set->arena);
	free(set);
}

static const struct ipset_type *type_find(const char *name)
{
	for (size_t i = 0; i < ipset_types_n; i++)
		if (strcmp(name, ipset_types[i].name) == 0)
			return &ipset_types[i];
	return NULL;
}

/* A letter, then letters, digits and a few marks: what nft takes behind a `@`. */
static bool is_nft_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";

	return strchr(letters, name[0]) - letters < 52 && name[strspn(name, letters)] == '\0';
}

int ipset_name_check(struct ipset *s, const char *name)
{
	if (strlen(name) > IPSET_NAME_MAX)
		return ipset_fail(s, "Syntax error: setname '%s' is longer than %d characters",
				  name, IPSET_NAME_MAX);
	if (!is_nft_name(name))
		return ipset_fail(s, "setname '%s' is no name of a set in nft", name);
	return 0;
}

static int family_set(struct ipset *s, struct ipset_set *set, const char *text)
{
	if (strcmp(text, "inet") == 0 || strcmp(text, "ipv4") == 0 || strcmp(text, "-4") == 0)
		set->ip_len = 4;
	else if (strcmp(text, "inet6") == 0 || strcmp(text, "ipv6") == 0 || strcmp(text, "-6") == 0)
		set->ip_len = 16;
	else
		return ipset_fail(s, "Syntax error: unknown inet family %s", text);
	return 0;
}

/* Masks come before the family is known for sure, so that they are read after all words. */
static int mask_set(struct ipset *s, struct ipset_set *set, const char *netmask,
		    const char *bitmask)
{
	unsigned bits = set->ip_len * 8, prefix = 0;
	uint64_t number = bits;
	uint8_t last[16];

	memset(set->mask, 0xff, sizeof(set->mask));
	if (bitmask && netmask)
		return ipset_fail(s, "Syntax error: bitmask and netmask are mutually exclusive, "
				     "provide only one");
	if (bitmask) {
		if (address_parse(bitmask, strlen(bitmask), set->mask) != set->ip_len)
			return ipset_fail(s,
					  "Syntax error: cannot parse %s: resolving to IPv%c "
					  "address failed",
					  bitmask, set->ip_len == 4 ? '4' : '6');
		while (prefix < bits && set->mask[prefix / 8] >> (7 - prefix % 8) & 1)
			prefix++;
		for (unsigned i = prefix; i < bits; i++)
			if (set->mask[i / 8] >> (7 - i % 8) & 1)
				return ipset_fail(s,
						  "bitmask %s has holes, which no set of nft "
						  "can have",
						  bitmask);
		if (!prefix)
			return ipset_fail(s, "Syntax error: bitmask is invalid: %s", bitmask);
		set->mask_bits = prefix == bits ? 0 : prefix;
		return 0;
	}
	if (!netmask)
		return 0;
	if (decimal_parse(netmask, strlen(netmask), bits, &number) || !number)
		return ipset_fail(s, "Syntax error: netmask is out of the inclusive range of 1-%u",
				  bits);
	set->mask_bits = number == bits ? 0 : (unsigned)number;
	address_prefix_bounds(set->mask, last, set->ip_len, (unsigned)number);
	return 0;
}

static int range_set(struct ipset *s, struct ipset_set *set, const char *text)
{
	struct address_range r;
	const char *dash = strchr(text, '-');
	uint64_t first, last;

	if (set->type->dims[0] == DIM_PLAIN_PORT) {
		if (!dash || decimal_parse(text, (size_t)(dash - text), UINT16_MAX, &first) ||
		    decimal_parse(dash + 1, strlen(dash + 1), UINT16_MAX, &last))
			return ipset_fail(s, "Syntax error: '%s' is invalid as a range of ports",
					  text);
		set->first = (uint32_t)MIN(first, last);
		set->last = (uint32_t)MAX(first, last);
		return 0;
	}
	if (address_range_parse(text, strlen(text), &r) || r.len != 4)
		return ipset_fail(s,
				  "Syntax error: cannot parse %s: resolving to IPv4 address "
				  "failed",
				  text);
	set->first = be32_load(r.lo);
	set->last = be32_load(r.hi);
	return 0;
}

/* A bitmap's elements are numbered; with a netmask the range must be made of whole networks. */
static int bitmap_check(struct ipset *s, struct ipset_set *set)
{
	unsigned shift = set->mask_bits ? 32 - set->mask_bits : 0;
	uint32_t host = (uint32_t)((UINT64_C(1) << shift) - 1);

	if (!(set->given & OPT(RANGE)))
		return ipset_fail(s, "Mandatory option `range' is missing");
	if (shift && (set->first & host || (set->last & host) != host))
		return ipset_fail(s, "Element is out of the range of the set");
	if (((uint64_t)set->last - set->first) >> shift >= BITMAP_MAX)
		return ipset_fail(s, "The range you specified exceeds the size limit of the set "
				     "type");
	set->max = UINT32_MAX;
	return 0;
}

static int options_read(struct ipset *s, struct ipset_set *set, struct ipset_words *w)
{
	static const unsigned flags = OPT(COUNTERS) | OPT(COMMENT) | OPT(SKBINFO) | OPT(FORCEADD);
	const char *word, *text = NULL, *netmask = NULL, *bitmask = NULL;
	uint64_t n;
	int err = 0;

	while (!err && (word = words_next(w))) {
		enum ipset_option o = ipset_option_find(word);

		if (o == IPSET_OPTIONS_N || !(set->type->options & 1U << o))
			return ipset_fail(s, "Unknown argument: `%s'", word);
		set->given |= 1U << o;
		if (flags >> o & 1)
			continue;
		err = ipset_argument(s, w, word, &text);
		if (err)
			break;
		switch (o) {
		case IPSET_FAMILY:
			err = family_set(s, set, text);
			break;
		case IPSET_NETMASK:
			netmask = text;
			break;
		case IPSET_BITMASK:
			bitmask = text;
			break;
		case IPSET_RANGE:
			err = range_set(s, set, text);
			break;
		case IPSET_TIMEOUT:
			err = ipset_number(s, text, IPSET_TIMEOUT_MAX, &n);
			set->timeout = err ? 0 : (uint32_t)n;
			break;
		case IPSET_MAXELEM:
			err = ipset_number(s, text, UINT32_MAX, &n);
			set->max = err ? 0 : (uint32_t)n;
			break;
		case IPSET_MARKMASK:
			err = ipset_number(s, text, UINT32_MAX, &n);
			set->mark_mask = err ? 0 : (uint32_t)n;
			break;
		default: /* sizes of tables, which are not ours */
			err = ipset_number(s, text, UINT32_MAX, &n);
			break;
		}
	}
	return err ? err : mask_set(s, set, netmask, bitmask);
}

static int set_check(struct ipset *s, struct ipset_set *set)
{
	uint32_t holes = ~set->mark_mask;

	if (holes & (holes + 1))
		return ipset_fail(s, "markmask 0x%08x has holes, which no set of nft can have",
				  set->mark_mask);
	if (!set->mark_mask)
		return ipset_fail(s, "Syntax error: markmask must be a non-zero value");
	if (set->type->kind == IPSET_BITMAP)
		return bitmap_check(s, set);
	return 0;
}

int ipset_create(struct ipset *s, struct ipset_words *w)
{
	const char *name = words_next(w), *type = words_next(w);
	struct ipset_set *set;
	int err;

	if (!name || !type)
		return ipset_fail(s, "Missing %smandatory argument to command create",
				  name ? "second " : "");
	err = ipset_name_check(s, name);
	if (err)
		return err;
	if (!type_find(type))
		return ipset_fail(s, "Syntax error: typename '%s' is unknown", type);
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	*set = (struct ipset_set){.type = type_find(type),
				  .ip_len = 4,
				  .mark_mask = UINT32_MAX,
				  .max = IPSET_MAX_DEFAULT,
				  .line = s->line,
				  .arena = ARENA_INIT,
				  .by_key = MAP_INIT};
	strcpy(set->name, name);
	err = options_read(s, set, w);
	if (!err)
		err = set_check(s, set);
	for (unsigned d = 0; d < IPSET_DIMS; d++)
		set->key_len += ipset_dim_len(set, set->type->dims[d]);
	if (!err) {
		struct ipset_set *other = map_find_str(&s->by_name, name);

		if (other && (!s->exist || other->type != set->type ||
			      other->ip_len != set->ip_len || other->given != set->given)) {
			err = ipset_fail(s, "Set cannot be created: set with the same name already "
					    "exists");
		} else if (!other) {
			err = vec_reserve(&s->sets, s->sets.n + 1);
			if (!err)
				err = map_insert_str(&s->by_name, set->name, set);
			if (!err) {
				s->sets.items[s->sets.n++] = set;
				return 0;
			}
		}
	}
	ipset_set_free(set);
	return err;
}
