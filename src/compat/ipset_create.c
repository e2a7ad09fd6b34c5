/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_create: a set made of a create line. */
#include <stdlib.h>

#include "base/address.h"
#include "compat/ipset_int.h"

enum { BITMAP_MAX = 65536, HASHSIZE_MIN = 64 };

/* An option as it was written. */
struct given {
	enum ipset_option option;
	const char *text; /* its argument, or NULL */
};

struct options {
	struct given items[IPSET_WORDS_MAX];
	unsigned n;
	unsigned said; /* of what has no meaning any more */
	bool whole;    /* a range was given as one */
};

int ipset_name_check(struct ipset *s, const char *name)
{
	if (strlen(name) > IPSET_NAME_MAX)
		return ipset_fail(s, "Syntax error: setname '%s' is longer than %d characters",
				  name, IPSET_NAME_MAX);
	for (const char *p = name; *p; p++)
		if (*p == '"' || ((uint8_t)*p < ' ' && *p != '\t'))
			return ipset_fail(s, "Syntax error: setname '%s' could not be saved", name);
	return 0;
}

static int family_set(struct ipset *s, struct ipset_body *b, const char *text)
{
	if (strcmp(text, "inet") == 0 || strcmp(text, "ipv4") == 0 || strcmp(text, "-4") == 0)
		b->ip_len = 4;
	else if (strcmp(text, "inet6") == 0 || strcmp(text, "ipv6") == 0 || strcmp(text, "-6") == 0)
		b->ip_len = 16;
	else
		return ipset_fail(s, "Syntax error: unknown inet family %s", text);
	return 0;
}

/* What is wrong with a number or an address is said too, but not in a restore. */
static void mask_why_drop(struct ipset *s)
{
	if (s->line)
		strbuf_truncate(&s->error, 0);
}

static int bitmask_set(struct ipset *s, struct ipset_body *b, const char *text)
{
	unsigned bits = b->ip_len * 8, prefix = 0;

	if (!ipset_address_parse(text, strlen(text), b->ip_len, b->mask)) {
		ipset_fail(s, "Syntax error: cannot parse %s: resolving to IPv%c address failed",
			   text, b->ip_len == 4 ? '4' : '6');
		mask_why_drop(s);
		return ipset_fail(s, "Syntax error: bitmask is not valid for family = %s",
				  ipset_family_name(b->type, b->ip_len));
	}
	while (prefix < bits && b->mask[prefix / 8] >> (7 - prefix % 8) & 1)
		prefix++;
	b->mask_bits = prefix;
	for (unsigned i = prefix; i < bits; i++)
		b->holes |= b->mask[i / 8] >> (7 - i % 8) & 1;
	if (!prefix && !b->holes)
		return ipset_fail(s, "The value of the netmask parameter is invalid");
	b->masked = true;
	return 0;
}

static int netmask_set(struct ipset *s, struct ipset_body *b, const char *text)
{
	unsigned bits = b->ip_len * 8;
	uint64_t number;
	uint8_t last[16];
	int err = ipset_number(s, text, 0, UINT8_MAX, &number);

	if (!err && (!number || number > bits))
		err = ipset_fail(s, "Syntax error: '%s' is out of range 1-%u", text, bits);
	if (err) {
		mask_why_drop(s);
		return ipset_fail(s, "Syntax error: netmask is out of the inclusive range of 1-%u",
				  bits);
	}
	if (number == bits)
		return 0;
	b->masked = true;
	b->mask_bits = (unsigned)number;
	address_prefix_bounds(b->mask, last, b->ip_len, (unsigned)number);
	return 0;
}

static int mask_set(struct ipset *s, struct ipset_body *b, enum ipset_option o, const char *text)
{
	if (b->given & OPT(NETMASK) && b->given & OPT(BITMASK))
		return ipset_fail(s, "Syntax error: bitmask and netmask are mutually exclusive, "
				     "provide only one");
	return o == IPSET_NETMASK ? netmask_set(s, b, text) : bitmask_set(s, b, text);
}

/* An end of a bitmap's range, or both, with the words that an element of it has. */
static int ends_read(struct ipset *s, const struct ipset_body *b, bool range, const char *text,
		     struct ipset_part *out)
{
	char copy[IPSET_LINE_MAX + 1];

	if (strlen(text) >= sizeof(copy))
		return ipset_fail(s, "Syntax error: '%.64s...' is no range", text);
	strcpy(copy, text);
	return ipset_part_parse(s, b, 0, range, copy, out);
}

/* Sides of a bitmap: `range` and `network` give both, `from` and `to` one each. */
static int sides_set(struct ipset *s, struct ipset_body *b, enum ipset_option o, const char *text,
		     struct options *options)
{
	bool ports = b->type->dims[0] == DIM_PLAIN_PORT, both = o != IPSET_FROM && o != IPSET_TO;
	struct ipset_part p;
	int err;

	if (o == IPSET_NETWORK && !ipset_separator(text, '/'))
		return ipset_fail(s, "Syntax error: IP/netblock must be supplied: %s", text);
	if (both && !ports && !ipset_separator(text, '-') && !ipset_separator(text, '/'))
		return ipset_fail(s, "Syntax error: IP/cidr or IP-IP range must be specified: %s",
				  text);
	err = ends_read(s, b, both, text, &p);
	if (err)
		return err;
	if (p.slashed && p.written == 32)
		return ipset_fail(s, "The value of the CIDR parameter of the IP address is "
				     "invalid");
	if (o != IPSET_TO)
		b->first = ports ? be16_load(p.first) : be32_load(p.first);
	if (o != IPSET_FROM && (!both || !ports || p.dashed))
		b->last = ports ? be16_load(p.last) : be32_load(p.last);
	if (ports && p.dashed)
		b->given |= OPT(TO);
	options->whole |= both && (!ports || p.dashed);
	return 0;
}

static int range_check(struct ipset *s, struct ipset_body *b, const struct options *options)
{
	uint32_t other = b->first;

	if (!(b->given & OPT(RANGE)))
		return ipset_usage(s, "Mandatory option `range' is missing");
	if (!options->whole && !(b->given & OPT(TO)))
		return ipset_usage(s, "Mandatory option `to' is missing");
	b->first = MIN(other, b->last);
	b->last = MAX(other, b->last);
	return 0;
}

/* How many bits the ends of a range have in common, if its first has none set behind them. */
static unsigned common_bits(uint32_t first, uint32_t last)
{
	unsigned bits = 31;

	while (bits && (last & UINT32_MAX << (32 - bits)) != first)
		bits--;
	return bits;
}

/* A bitmap's elements are numbered; with a netmask they are networks, more than one. */
static int bitmap_check(struct ipset *s, struct ipset_body *b)
{
	unsigned shift = b->masked ? 32 - b->mask_bits : 0;
	uint32_t host = (uint32_t)((UINT64_C(1) << shift) - 1);

	b->first &= ~host;
	b->last |= host;
	if (b->masked) {
		unsigned bits = common_bits(b->first, b->last);

		if ((!bits && (b->first || b->last != UINT32_MAX)) || b->mask_bits <= bits)
			return ipset_fail(s, "Element is out of the range of the set");
	}
	if (((uint64_t)b->last - b->first) >> shift >= BITMAP_MAX)
		return ipset_fail(s, "The range you specified exceeds the size limit of the set "
				     "type");
	b->max = UINT32_MAX;
	return 0;
}

static uint32_t hashsize_round(uint32_t n)
{
	uint32_t size = HASHSIZE_MIN;

	while (size < n && size < UINT32_C(1) << 31)
		size *= 2;
	return size;
}

static int option_set(struct ipset *s, struct ipset_body *b, enum ipset_option o, const char *text,
		      struct options *options)
{
	uint64_t n = 0;
	int err = 0;

	switch (o) {
	case IPSET_NETMASK:
	case IPSET_BITMASK:
		return mask_set(s, b, o, text);
	case IPSET_RANGE:
	case IPSET_FROM:
	case IPSET_TO:
	case IPSET_NETWORK:
		return sides_set(s, b, o, text, options);
	case IPSET_TIMEOUT:
		err = ipset_number(s, text, 0, IPSET_TIMEOUT_MAX, &n);
		b->timeout = (uint32_t)n;
		return err;
	case IPSET_MAXELEM:
		err = ipset_number(s, text, 0, UINT32_MAX, &n);
		b->max = (uint32_t)n;
		return err;
	case IPSET_HASHSIZE:
		err = ipset_number(s, text, 0, UINT32_MAX, &n);
		b->hashsize = hashsize_round((uint32_t)n);
		return err;
	case IPSET_BUCKETSIZE:
		err = ipset_number(s, text, 0, UINT8_MAX, &n);
		b->bucketsize = (unsigned)MIN(MAX((n + 1) / 2 * 2, 2), IPSET_BUCKETSIZE_MAX);
		return err;
	case IPSET_INITVAL:
		err = ipset_number(s, text, 0, UINT32_MAX, &n);
		b->initval = (uint32_t)n;
		return err;
	case IPSET_SIZE:
		err = ipset_number(s, text, 0, UINT32_MAX, &n);
		b->size = (uint32_t)MAX(n, IPSET_LIST_MIN);
		return err;
	case IPSET_MARKMASK:
		err = ipset_number(s, text, 0, UINT32_MAX, &n);
		b->mark_mask = (uint32_t)n;
		if (!err && !n)
			return ipset_fail(s, "The value of the markmask parameter is invalid");
		return err;
	default: /* the family is known, and others are only given or not */
		return 0;
	}
}

/* What has no meaning any more; `network` was another word for `from`. */
static void ignore(struct ipset *s, const struct given *g, struct options *options)
{
	enum ipset_option o = g->option == IPSET_NETWORK ? IPSET_FROM : g->option;

	if (!(options->said & 1U << o))
		ipset_warn(s, "Option '--%s %s' is ignored. Please upgrade your syntax.",
			   ipset_option_name(o), g->text);
	options->said |= 1U << o;
}

/* Words first, as far as they are options at all, with the family, which others depend on. */
static int options_collect(struct ipset *s, struct ipset_body *b, struct ipset_words *w,
			   struct options *out)
{
	static const unsigned flags = OPT(COUNTERS) | OPT(COMMENT) | OPT(SKBINFO) | OPT(FORCEADD);
	struct given *g = out->items;
	const char *family = NULL;
	int err;

	memset(b->mask, 0xff, sizeof(b->mask));
	for (;; g++) {
		err = ipset_option_next(s, w, b->type->options, &g->option);
		if (err || g->option == IPSET_OPTIONS_N)
			break;
		g->text = NULL;
		if (!(flags >> g->option & 1))
			err = ipset_argument(s, w, ipset_option_name(g->option), &g->text);
		if (!err && g->option == IPSET_FAMILY && family)
			err = ipset_fail(s, "Syntax error: %s already specified",
					 *g->text == '-' ? g->text : "family");
		else if (!err && g->option == IPSET_FAMILY)
			err = family_set(s, b, family = g->text);
		if (err)
			break;
	}
	out->n = (unsigned)(g - out->items);
	return err;
}

static int options_read(struct ipset *s, struct ipset_body *b, struct ipset_words *w)
{
	static const unsigned sides = OPT(RANGE) | OPT(FROM) | OPT(NETWORK);
	struct options options = {0};
	unsigned ignored = OPT(PROBES) | OPT(RESIZE) | OPT(GC);
	int err = options_collect(s, b, w, &options);

	if (b->type->kind == IPSET_HASH)
		ignored |= sides | OPT(TO);
	for (unsigned i = 0; !err && i < options.n; i++) {
		const struct given *g = &options.items[i];

		if (ignored >> g->option & 1) {
			ignore(s, g, &options);
			continue;
		}
		if (g->text && g->option != IPSET_FAMILY && b->given & 1U << g->option)
			err = ipset_fail(s, "Syntax error: %s already specified",
					 ipset_option_name(g->option));
		if (err)
			break;
		b->given |= sides >> g->option & 1 ? sides : 1U << g->option;
		err = option_set(s, b, g->option, g->text, &options);
	}
	if (!b->masked)
		b->given &= ~OPT(NETMASK);
	if (!err && b->type->kind == IPSET_BITMAP)
		err = range_check(s, b, &options);
	if (!err && b->type->kind == IPSET_BITMAP)
		err = bitmap_check(s, b);
	return err;
}

/* What `-exist` asks of a set that is there; sizes of tables are nothing that a set is known by. */
static bool is_same(const struct ipset_body *a, const struct ipset_body *b)
{
	static const unsigned shown = OPT(TIMEOUT) | OPT(COUNTERS) | OPT(COMMENT) | OPT(SKBINFO);

	return a->type == b->type && a->ip_len == b->ip_len && a->max == b->max &&
	       a->size == b->size && a->timeout == b->timeout && a->first == b->first &&
	       a->last == b->last && a->mark_mask == b->mark_mask && a->masked == b->masked &&
	       memcmp(a->mask, b->mask, sizeof(a->mask)) == 0 &&
	       (a->given & shown) == (b->given & shown);
}

static int set_insert(struct ipset *s, const char *name, struct ipset_body *b)
{
	struct ipset_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	strcpy(set->name, name);
	set->prefix = s->prefix;
	set->line = s->line;
	err = vec_reserve(&s->sets, s->sets.n + 1);
	if (!err)
		err = map_insert_str(&s->by_name, set->name, set);
	if (!err)
		err = ipset_log_create(s, set);
	if (err) {
		if (map_find_str(&s->by_name, name) == set)
			map_remove_str(&s->by_name, name);
		free(set);
		return err;
	}
	set->body = b;
	s->sets.items[s->sets.n++] = set;
	return 0;
}

int ipset_create(struct ipset *s, struct ipset_words *w)
{
	const char *name = words_next(w), *type = words_next(w);
	const struct ipset_set *other;
	struct ipset_body *b;
	int err;

	if (!name || !type)
		return ipset_usage(s, "Missing %smandatory argument to command create",
				   name ? "second " : "");
	err = ipset_name_check(s, name);
	if (err)
		return err;
	if (!ipset_type_find(type))
		return ipset_fail(s, "Syntax error: typename '%s' is unknown", type);
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct ipset_body){.type = ipset_type_find(type),
				 .ip_len = 4,
				 .mark_mask = UINT32_MAX,
				 .max = IPSET_MAX_DEFAULT,
				 .size = IPSET_LIST_DEFAULT,
				 .hashsize = IPSET_HASHSIZE_DEFAULT,
				 .bucketsize = IPSET_BUCKETSIZE_MAX};
	err = options_read(s, b, w);
	other = err ? NULL : ipset_find(s, name);
	if (!err && !other) {
		err = ipset_body_init(b);
		if (!err)
			err = set_insert(s, name, b);
		if (!err)
			return 0;
	} else if (!err && (!s->exist || !is_same(b, other->body))) {
		err = ipset_fail(s, "Set cannot be created: set with the same name already exists");
	}
	ipset_body_free(b);
	return err;
}
