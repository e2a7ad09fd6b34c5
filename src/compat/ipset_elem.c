/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_elem: add, del and test lines.
 *
 * A line means one key or all combinations of what its parts mean. A test of networks goes through
 * the prefix lengths that there are, the longest of the first part first, as a packet's lookup
 * does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "compat/ipset_int.h"

/* --- what stands behind the element ------------------------------------------------------- */

static int mark_read(struct ipset *s, const char *text, struct ipset_ext *x)
{
	unsigned mark, mask;
	int n = sscanf(text, "0x%x/0x%x", &mark, &mask);

	if (n < 1)
		return ipset_fail(s, "Syntax error: Invalid skbmark format, it should be:  "
				     "MARK/MASK or MARK (see manpage)");
	x->mark = mark;
	x->mark_mask = n == 2 ? mask : UINT32_MAX;
	return 0;
}

static int prio_read(struct ipset *s, const char *text, struct ipset_ext *x)
{
	unsigned major, minor;

	if (sscanf(text, "%x:%x", &major, &minor) != 2)
		return ipset_fail(s, "Syntax error: Invalid skbprio format, it should be:"
				     "MAJOR:MINOR (see manpage)");
	x->prio = major << 16 | (minor & 0xffff);
	return 0;
}

static int comment_read(struct ipset *s, const char *text, struct ipset_ext *x)
{
	if (strchr(text, '"'))
		return ipset_fail(s, "Syntax error: \" character is not permitted in comments");
	if (strpbrk(text, "\r\n"))
		return ipset_fail(s, "Syntax error: a comment is one line");
	if (strlen(text) > IPSET_COMMENT_MAX)
		return ipset_fail(s,
				  "Syntax error: Comment is longer than the maximum allowed %d "
				  "characters",
				  IPSET_COMMENT_MAX);
	x->comment = text;
	return 0;
}

static unsigned options_known(const struct ipset_type *type, enum ipset_verb verb)
{
	unsigned known = 0;

	if (verb == IPSET_ADD)
		known = OPT(TIMEOUT) | OPT(COMMENT) | OPT(PACKETS) | OPT(BYTES) | OPT(SKBMARK) |
			OPT(SKBPRIO) | OPT(SKBQUEUE);
	if (verb != IPSET_DEL && ipset_type_has(type, DIM_NET))
		known |= OPT(NOMATCH);
	if (verb == IPSET_ADD && ipset_type_has(type, DIM_IFACE))
		known |= OPT(WILDCARD);
	if (type->kind == IPSET_LIST)
		known |= OPT(BEFORE) | OPT(AFTER);
	return known;
}

static int extra_read(struct ipset *s, enum ipset_option o, const char *text,
		      struct ipset_extras *x)
{
	uint64_t n = 0;
	int err = 0;

	switch (o) {
	case IPSET_TIMEOUT:
		err = ipset_number(s, text, 0, IPSET_TIMEOUT_MAX, &n);
		x->ext.expires = n ? s->now + n * IPSET_SECOND - s->fraction : 0;
		return err;
	case IPSET_PACKETS:
		return ipset_number(s, text, 0, UINT64_MAX - 1, &x->ext.packets);
	case IPSET_BYTES:
		return ipset_number(s, text, 0, UINT64_MAX - 1, &x->ext.bytes);
	case IPSET_COMMENT:
		return comment_read(s, text, &x->ext);
	case IPSET_SKBMARK:
		return mark_read(s, text, &x->ext);
	case IPSET_SKBPRIO:
		return prio_read(s, text, &x->ext);
	case IPSET_SKBQUEUE:
		err = ipset_number(s, text, 0, UINT16_MAX, &n);
		x->ext.queue = (uint16_t)n;
		return err;
	default: /* before, after */
		if (x->neighbour)
			return ipset_fail(s, "Syntax error: %s already specified",
					  ipset_option_name(o));
		x->neighbour = text;
		return 0;
	}
}

static int extras_read(struct ipset *s, const struct ipset_body *b, enum ipset_verb verb,
		       struct ipset_words *w, struct ipset_extras *x)
{
	static const struct {
		unsigned options, need;
		const char *what, *support;
	} needs[] = {
		{OPT(TIMEOUT), OPT(TIMEOUT), "Timeout", "timeout"},
		{OPT(PACKETS) | OPT(BYTES), OPT(COUNTERS), "Packet/byte counters", "counter"},
		{OPT(COMMENT), OPT(COMMENT), "Comment", "comment"},
		{OPT(SKBMARK) | OPT(SKBPRIO) | OPT(SKBQUEUE), OPT(SKBINFO), "Skbinfo mapping",
		 "skbinfo"},
	};
	unsigned known = options_known(b->type, verb);
	enum ipset_option o;
	const char *text = NULL;
	int err;

	for (;;) {
		err = ipset_option_next(s, w, known, &o);
		if (err || o == IPSET_OPTIONS_N)
			break;
		if (o == IPSET_NOMATCH || o == IPSET_WILDCARD) {
			x->given |= 1U << o;
			x->ext.flags |= o == IPSET_NOMATCH ? ELEM_NOMATCH : ELEM_WILDCARD;
			continue;
		}
		err = ipset_argument(s, w, ipset_option_name(o), &text);
		if (!err)
			err = ipset_option_once(s, &x->given, o);
		if (!err)
			err = extra_read(s, o, text, x);
		if (err)
			return err;
	}
	for (size_t i = 0; !err && i < ARRAY_SIZE(needs); i++)
		if (x->given & needs[i].options && !(b->given & needs[i].need))
			err = ipset_fail(s, "%s cannot be used: set was created without %s support",
					 needs[i].what, needs[i].support);
	if (!(x->given & OPT(TIMEOUT)))
		x->ext.expires = ipset_expires_default(s, b);
	s->skb_seen |= x->given & (OPT(SKBMARK) | OPT(SKBPRIO) | OPT(SKBQUEUE));
	return err;
}

/* --- the parts ---------------------------------------------------------------------------- */

/* Splits "a,b,c" in place; the parts are those of the type. */
static int parts_split(struct ipset *s, const struct ipset_body *b, char *text,
		       char *part[IPSET_DIMS])
{
	static const char *const too_many[][2] = {
		{"Elem separator", "none"},
		{"Two elem separators", "one"},
		{"Three elem separators", "two"},
	};
	char *comma[IPSET_DIMS] = {0};
	unsigned want = 1, n = 0;

	while (want < IPSET_DIMS && b->type->dims[want])
		want++;
	for (char *p = text; n < want && (p = ipset_separator(p, ',')); p++)
		comma[n++] = p;
	if (n == want)
		return ipset_fail(s, "Syntax error: %s in %s, but settype %s supports %s.",
				  too_many[n - 1][0], text, b->type->name, too_many[n - 1][1]);
	if (n + 1 < want && b->type->kind != IPSET_BITMAP)
		return ipset_fail(s, "Syntax error: %s element is missing from %s.",
				  n ? "Third" : "Second", text);
	part[0] = text;
	for (unsigned i = 1; i < IPSET_DIMS; i++) {
		part[i] = i <= n ? comma[i - 1] + 1 : NULL;
		if (i <= n)
			*comma[i - 1] = '\0';
	}
	return 0;
}

/* The parts of an element line: `n` of them count in a key, and a MAC may follow. */
struct line {
	struct ipset_part part[IPSET_DIMS];
	unsigned n;
	bool has_mac;
	uint8_t mac[6];
};

static int line_parse(struct ipset *s, const struct ipset_body *b, char *text, struct line *l)
{
	char *part[IPSET_DIMS];
	bool range;
	int err = parts_split(s, b, text, part);

	l->n = 0;
	l->has_mac = false;
	for (; !err && l->n < IPSET_DIMS && b->type->dims[l->n] && part[l->n]; l->n++) {
		if (b->type->kind == IPSET_BITMAP && l->n) {
			l->has_mac = true;
			if (ipset_mac_parse(part[1], l->mac))
				err = ipset_fail(
					s, "Syntax error: cannot parse '%s' as ethernet address",
					part[1]);
			break;
		}
		range = b->type->ranges >> l->n & 1 || b->type->dims[l->n] == DIM_PORT ||
			b->type->dims[l->n] == DIM_PLAIN_PORT;
		err = ipset_part_parse(s, b, l->n, range, part[l->n], &l->part[l->n]);
		if (!err)
			ipset_part_begin(&l->part[l->n]);
	}
	return err;
}

static void line_key(const struct ipset_body *b, const struct line *l, uint8_t *key)
{
	for (unsigned d = 0; d < l->n; d++) {
		ipset_part_put(b, &l->part[d], key);
		key += ipset_dim_len(b, l->part[d].dim);
	}
}

/* On to the next key: false after the last one. */
static bool line_next_key(const struct ipset_body *b, struct line *l)
{
	unsigned d = l->n;

	while (d && !ipset_part_next(b, &l->part[d - 1])) {
		ipset_part_begin(&l->part[d - 1]);
		d--;
	}
	return d;
}

/* --- add and del -------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *p, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static bool in_range(const struct ipset_body *b, const uint8_t *key)
{
	uint32_t value;

	if (b->type->kind != IPSET_BITMAP)
		return true;
	value = b->type->dims[0] == DIM_IP ? be32_load(key) : be16_load(key);
	return value >= b->first && value <= b->last;
}

static int key_check(struct ipset *s, const struct ipset_body *b, const uint8_t *key)
{
	enum ipset_dim d = b->type->dims[0];

	if (!in_range(b, key))
		return ipset_fail(s, "Element is out of the range of the set");
	if (b->type->kind == IPSET_BITMAP)
		return 0;
	if (!b->type->dims[1] && (d == DIM_IP || d == DIM_MAC) && is_zero(key, b->key_len))
		return ipset_fail(s, "Null-valued element, cannot be stored in a hash type of set");
	if (d == DIM_IP && b->type->dims[1] == DIM_PORT && !b->type->dims[2] &&
	    is_zero(key, b->ip_len))
		return ipset_fail(s, "Kernel error received: Invalid argument");
	return 0;
}

/* A bitmap takes all of a line or nothing. */
static int bitmap_check(struct ipset *s, const struct ipset_body *b, enum ipset_verb verb,
			const struct ipset_part *p)
{
	if (b->type->dims[1] && p->slashed)
		return ipset_fail(s,
				  "IP/CIDR range is not allowed in command %s with set type %s "
				  "and family %s",
				  verb == IPSET_ADD ? "add" : "del", b->type->name,
				  ipset_family_name(b->type, b->ip_len));
	if (p->slashed && !p->written && in_range(b, p->raw))
		return ipset_fail(s, "The value of the CIDR parameter of the IP address is "
				     "invalid");
	if (!in_range(b, p->first) || !in_range(b, p->last))
		return ipset_fail(s, "Element is out of the range of the set");
	return 0;
}

/* Prefixes with a length of 0 are for pairs of networks, and with interfaces. */
static int prefix_check(struct ipset *s, const struct ipset_body *b, const struct ipset_part *p)
{
	bool pairs = b->type->dims[0] == DIM_NET &&
		     (b->type->dims[1] == DIM_NET || b->type->dims[2] == DIM_NET);
	bool zero = p->slashed && !p->written;
	int err;

	if (p->dim == DIM_NET && p->dashed && !be32_load(p->first) &&
	    be32_load(p->last) == UINT32_MAX)
		return ipset_fail(s, "Invalid range, covers the whole address space");
	if (!zero || (p->dim == DIM_NET && (pairs || b->type->dims[1] == DIM_IFACE)))
		return 0;
	err = b->type->dims[0] == DIM_IP ? key_check(s, b, p->raw) : 0;
	return err ? err
		   : ipset_fail(s, "The value of the CIDR parameter of the IP address is "
				   "invalid");
}

/* What is wrong with a line whose words are right. */
static int line_check(struct ipset *s, const struct ipset_body *b, enum ipset_verb verb,
		      const struct line *l)
{
	int err = 0;

	if (verb != IPSET_TEST && b->type->kind == IPSET_BITMAP)
		return bitmap_check(s, b, verb, &l->part[0]);
	for (unsigned d = 0; !err && d < l->n; d++) {
		const struct ipset_part *p = &l->part[d];

		if (p->dim == DIM_PORT && !p->proto)
			err = ipset_fail(s, "Invalid protocol specified");
		else if (verb != IPSET_TEST && (p->dim == DIM_NET || p->dim == DIM_IP))
			err = prefix_check(s, b, p);
	}
	return err;
}

int ipset_elem_drop(struct ipset *s, struct ipset_body *b, uint32_t id)
{
	int err = ipset_log_remove(s, b, id);

	if (!err)
		ipset_body_remove(b, id);
	return err;
}

static int elem_del(struct ipset *s, struct ipset_body *b, const uint8_t *key)
{
	uint32_t id = ipset_body_find(b, key, s->now);

	if (id != STORE_NONE)
		return ipset_elem_drop(s, b, id);
	if (!s->exist)
		return ipset_fail(s, "Element cannot be deleted from the set: it's not added");
	return 0;
}

static int keys_each(struct ipset *s, struct ipset_body *b, enum ipset_verb verb, struct line *l,
		     const struct ipset_extras *x)
{
	struct ipset_ext ext = x->ext;
	uint8_t key[IPSET_KEY_MAX];
	int err;

	if (l->has_mac) {
		ext.flags |= ELEM_MAC;
		memcpy(ext.mac, l->mac, sizeof(ext.mac));
	}
	do {
		line_key(b, l, key);
		err = key_check(s, b, key);
		if (!err)
			err = verb == IPSET_ADD ? ipset_add(s, b, key, &ext, x->given)
						: elem_del(s, b, key);
	} while (!err && line_next_key(b, l));
	return err;
}

/* --- test --------------------------------------------------------------------------------- */

static int spans_check(struct ipset *s, const struct ipset_body *b, const struct line *l)
{
	const char *what = NULL;

	for (unsigned d = 0; !what && d < l->n; d++) {
		const struct ipset_part *p = &l->part[d];
		bool single = b->type->kind == IPSET_HASH && !b->type->dims[1];

		if (p->dim == DIM_IP && !single)
			what = p->slashed ? "IP/CIDR range" : p->dashed ? "FROM-TO IP range" : NULL;
		else if (p->dim == DIM_NET && !d && p->dashed)
			what = "FROM-TO IP range";
		else if ((p->dim == DIM_PORT || p->dim == DIM_PLAIN_PORT) && p->dashed)
			what = "FROM-TO port range";
	}
	if (!what)
		return 0;
	return ipset_fail(s, "%s is not allowed in command test with set type %s and family %s",
			  what, b->type->name, ipset_family_name(b->type, b->ip_len));
}

/* The element that a lookup of the key comes to first, in lengths of networks from part d on. */
static uint32_t network_find(const struct ipset_body *b, const struct line *l, const uint8_t *key,
			     uint8_t *probe, unsigned d, unsigned at, uint64_t now)
{
	unsigned len;

	for (; d < l->n && (l->part[d].dim != DIM_NET || l->part[d].written < b->ip_len * 8); d++)
		at += ipset_dim_len(b, l->part[d].dim);
	if (d == l->n) {
		uint32_t id = ipset_body_find(b, probe, now);
		size_t name = b->key_len - 17;

		if (id != STORE_NONE || !b->wildcards)
			return id;
		for (size_t n = strlen((const char *)probe + name); n--;) {
			probe[name + n] = 0;
			id = ipset_body_find(b, probe, now);
			if (id != STORE_NONE &&
			    ipset_store_record(&b->store, id)[b->key_len] & ELEM_WILDCARD)
				break;
			id = STORE_NONE;
		}
		memcpy(probe + name, key + name, 17);
		return id;
	}
	len = b->ip_len;
	for (unsigned prefix = len * 8 + 1; prefix--;) {
		uint32_t id;

		if (!b->lengths[d * IPSET_LENGTHS + prefix])
			continue;
		for (unsigned i = 0; i < len; i++) {
			unsigned bits = prefix > 8 * i ? MIN(prefix - 8 * i, 8U) : 0;

			probe[at + i] = key[at + i] & (uint8_t) ~(0xff >> bits);
		}
		probe[at + len] = (uint8_t)prefix;
		id = network_find(b, l, key, probe, d + 1, at + len + 1, now);
		if (id != STORE_NONE)
			return id;
	}
	return STORE_NONE;
}

static bool line_holds(const struct ipset *s, const struct ipset_body *b, const struct line *l,
		       unsigned given)
{
	uint8_t key[IPSET_KEY_MAX] = {0}, probe[IPSET_KEY_MAX];
	struct ipset_ext x;
	uint32_t id;

	line_key(b, l, key);
	if (!in_range(b, key))
		return false;
	memcpy(probe, key, sizeof(probe));
	id = b->lengths ? network_find(b, l, key, probe, 0, 0, s->now)
			: ipset_body_find(b, key, s->now);
	if (id == STORE_NONE)
		return false;
	ipset_body_get(b, id, &x);
	if (l->has_mac && (!(x.flags & ELEM_MAC) || memcmp(x.mac, l->mac, sizeof(x.mac))))
		return false;
	return !(x.flags & ELEM_NOMATCH) == !(given & OPT(NOMATCH));
}

static int line_test(struct ipset *s, const struct ipset_set *set, const struct line *l,
		     const struct ipset_extras *x, struct strbuf *answer)
{
	const struct ipset_body *b = set->body;
	bool holds = line_holds(s, b, l, x->given);

	if (holds)
		strbuf_puts(answer, "Warning: ");
	for (unsigned d = 0; d < l->n; d++) {
		if (d)
			strbuf_putc(answer, ',');
		ipset_part_print(&l->part[d], answer);
	}
	if (l->has_mac) {
		strbuf_putc(answer, ',');
		ipset_mac_print(l->mac, answer);
	}
	strbuf_printf(answer, " is %sin set %s.", holds ? "" : "NOT ", set->name);
	if (holds)
		return 0;
	s->status = 1;
	return -EINVAL;
}

/* "SET,before,SET" as lists had it once. */
static int neighbour_read(struct ipset *s, char *text, struct ipset_extras *x)
{
	char *place = ipset_separator(text, ','), *other;
	bool before;

	if (!place)
		return 0;
	*place++ = '\0';
	other = ipset_separator(place, ',');
	if (other)
		*other++ = '\0';
	before = strcmp(place, "before") == 0;
	if (!other || (!before && strcmp(place, "after")))
		return ipset_fail(s, "you must specify elements as "
				     "setname,[before|after],setname");
	x->given |= before ? OPT(BEFORE) : OPT(AFTER);
	x->neighbour = other;
	return 0;
}

int ipset_elem(struct ipset *s, struct ipset_set *set, enum ipset_verb verb, struct ipset_words *w,
	       struct strbuf *answer)
{
	static const char *const verbs[] = {"add", "del", "test"};
	struct ipset_body *b = set->body;
	char *text = words_next(w);
	struct ipset_extras x = {0};
	struct line l;
	int err;

	if (!text)
		return ipset_usage(s, "Missing second mandatory argument to command %s",
				   verbs[verb]);
	if (b->type->kind == IPSET_LIST) {
		err = neighbour_read(s, text, &x);
		if (!err)
			err = extras_read(s, b, verb, w, &x);
		return err ? err : ipset_member(s, set, verb, text, &x, answer);
	}
	err = line_parse(s, b, text, &l);
	if (!err)
		err = extras_read(s, b, verb, w, &x);
	if (!err && verb == IPSET_TEST)
		err = spans_check(s, b, &l);
	if (!err)
		err = line_check(s, b, verb, &l);
	if (err)
		return err;
	if (verb == IPSET_TEST)
		return line_test(s, set, &l, &x, answer);
	return keys_each(s, b, verb, &l, &x);
}

int ipset_flush(struct ipset *s, struct ipset_set *set)
{
	struct ipset_body *empty, *old = set->body;
	int err;

	if (!old->store.n && !old->members.n)
		return 0;
	err = ipset_body_clone(old, &empty);
	if (err)
		return err;
	err = old->fresh ? 0 : ipset_log_body(s, set, old);
	if (err) {
		ipset_body_free(empty);
		return err;
	}
	for (size_t i = 0; i < old->members.n; i++)
		old->members.items[i].set->refs--;
	set->body = empty;
	s->changed = true;
	if (old->fresh)
		ipset_body_free(old);
	return 0;
}
