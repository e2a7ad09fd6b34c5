/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_elem: `add` and `del` lines, and what a set holds. */
#include <stdlib.h>

#include "compat/address.h"
#include "compat/ipset_int.h"

/* What an element line says beside the element. */
struct extras {
	unsigned given; /* OPT()s */
	uint32_t timeout;
	uint64_t packets, bytes;
	const char *comment;
	const char *neighbour; /* of a list: before or after it */
};

static int extras_read(struct ipset *s, const struct ipset_set *set, struct ipset_words *w,
		       struct extras *x)
{
	static const struct {
		unsigned options, need;
		const char *what, *support;
	} needs[] = {
		{OPT(TIMEOUT), OPT(TIMEOUT), "Timeout", "timeout"},
		{OPT(COMMENT), OPT(COMMENT), "Comment", "comment"},
		{OPT(PACKETS) | OPT(BYTES), OPT(COUNTERS), "Packet/byte counters", "counter"},
		{OPT(SKBMARK) | OPT(SKBPRIO) | OPT(SKBQUEUE), OPT(SKBINFO), "Skbinfo", "skbinfo"},
	};
	unsigned known = OPT(TIMEOUT) | OPT(COMMENT) | OPT(PACKETS) | OPT(BYTES) | OPT(SKBMARK) |
			 OPT(SKBPRIO) | OPT(SKBQUEUE);
	const char *word, *text = NULL;
	uint64_t n = 0;
	int err = 0;

	for (unsigned d = 0; d < IPSET_DIMS; d++) {
		if (set->type->dims[d] == DIM_NET)
			known |= OPT(NOMATCH);
		if (set->type->dims[d] == DIM_IFACE)
			known |= OPT(WILDCARD);
	}
	if (set->type->kind == IPSET_LIST)
		known |= OPT(BEFORE) | OPT(AFTER);
	while (!err && (word = words_next(w))) {
		enum ipset_option o = ipset_option_find(word);

		if (o == IPSET_OPTIONS_N || !(known & 1U << o))
			return ipset_fail(s, "Unknown argument: `%s'", word);
		x->given |= 1U << o;
		if ((OPT(NOMATCH) | OPT(WILDCARD)) >> o & 1)
			continue;
		err = ipset_argument(s, w, word, &text);
		if (err)
			break;
		switch (o) {
		case IPSET_TIMEOUT:
			err = ipset_number(s, text, IPSET_TIMEOUT_MAX, &n);
			x->timeout = (uint32_t)n;
			break;
		case IPSET_PACKETS:
			err = ipset_number(s, text, UINT64_MAX, &x->packets);
			break;
		case IPSET_BYTES:
			err = ipset_number(s, text, UINT64_MAX, &x->bytes);
			break;
		case IPSET_COMMENT:
			if (strlen(text) > IPSET_COMMENT_MAX)
				err = ipset_fail(s,
						 "Syntax error: Comment is longer than the "
						 "maximum allowed %d characters",
						 IPSET_COMMENT_MAX);
			x->comment = text;
			break;
		case IPSET_BEFORE:
		case IPSET_AFTER:
			x->neighbour = text;
			break;
		default:
			s->skb_seen = true;
			break;
		}
	}
	for (size_t i = 0; !err && i < ARRAY_SIZE(needs); i++)
		if (x->given & needs[i].options && !(set->given & needs[i].need))
			err = ipset_fail(s, "%s cannot be used: set was created without %s support",
					 needs[i].what, needs[i].support);
	return err;
}

/* Splits "a,b,c" in place; the parts are those of the type. */
static int parts_split(struct ipset *s, const struct ipset_set *set, char *text,
		       char *part[IPSET_DIMS])
{
	const char *name = set->type->name;
	unsigned want = 1, n = 1, commas = 0;

	while (want < IPSET_DIMS && set->type->dims[want])
		want++;
	for (const char *p = text; (p = strchr(p, ',')); p++)
		commas++;
	if (commas > 0 && want == 1)
		return ipset_fail(s,
				  "Syntax error: Elem separator in %s, but settype %s supports "
				  "none.",
				  text, name);
	if (commas > 1 && want == 2)
		return ipset_fail(s,
				  "Syntax error: Two elem separators in %s, but settype %s "
				  "supports one.",
				  text, name);
	if (commas > 2)
		return ipset_fail(s,
				  "Syntax error: Three elem separators in %s, but settype %s "
				  "supports two.",
				  text, name);
	if (commas + 1 < want && set->type->kind != IPSET_BITMAP)
		return ipset_fail(s, "Syntax error: %s element is missing from %s.",
				  commas ? "Third" : "Second", text);
	part[0] = text;
	for (char *p = text; (p = strchr(p, ','));) {
		*p++ = '\0';
		part[n++] = p;
	}
	while (n < IPSET_DIMS)
		part[n++] = NULL;
	return 0;
}

static bool is_zero(const uint8_t *p, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static int key_check(struct ipset *s, const struct ipset_set *set, const uint8_t *key)
{
	enum ipset_dim d = set->type->dims[0];
	bool single = !set->type->dims[1];
	uint32_t value;

	if (set->type->kind == IPSET_HASH) {
		if (single && (d == DIM_IP || d == DIM_MAC) && is_zero(key, set->key_len))
			return ipset_fail(s, "Null-valued element, cannot be stored in a hash type "
					     "of set");
		return 0;
	}
	value = d == DIM_IP ? be32_load(key) : be16_load(key);
	if (value < set->first || value > set->last)
		return ipset_fail(s, "Element is out of the range of the set");
	return 0;
}

static void elem_drop(struct ipset_set *set, struct ipset_elem *e)
{
	map_remove(&set->by_key, e->key, set->key_len);
	e->gone = true;
	while (set->oldest < set->elems.n && set->elems.items[set->oldest]->gone)
		set->oldest++;
}

static int elem_fill(struct ipset_set *set, struct ipset_elem *e, const struct extras *x,
		     const uint8_t *mac)
{
	e->timeout = x->given & OPT(TIMEOUT) ? x->timeout : set->timeout;
	e->nomatch = x->given & OPT(NOMATCH);
	e->packets = x->packets;
	e->bytes = x->bytes;
	e->comment = NULL;
	e->has_mac = mac;
	if (mac)
		memcpy(e->mac, mac, sizeof(e->mac));
	if (x->comment && *x->comment) {
		e->comment = arena_strndup(&set->arena, x->comment, strlen(x->comment));
		if (!e->comment)
			return -ENOMEM;
	}
	return 0;
}

static int elem_add(struct ipset *s, struct ipset_set *set, const uint8_t *key,
		    const struct extras *x, const uint8_t *mac)
{
	struct ipset_elem *e = map_find(&set->by_key, key, set->key_len);
	int err = key_check(s, set, key);

	if (err)
		return err;
	if (e && !s->exist)
		return ipset_fail(s, "Element cannot be added to the set: it's already added");
	if (e)
		return elem_fill(set, e, x, mac);
	if (set->by_key.n >= set->max && set->given & OPT(FORCEADD) && set->by_key.n)
		elem_drop(set, set->elems.items[set->oldest]);
	if (set->by_key.n >= set->max)
		return ipset_fail(s, "Hash is full, cannot add more elements");
	e = arena_calloc(&set->arena, 1, sizeof(*e) + set->key_len);
	if (!e)
		return -ENOMEM;
	memcpy(e->key, key, set->key_len);
	err = elem_fill(set, e, x, mac);
	if (!err)
		err = vec_reserve(&set->elems, set->elems.n + 1);
	if (!err)
		err = map_insert(&set->by_key, e->key, set->key_len, e);
	if (!err)
		set->elems.items[set->elems.n++] = e;
	return err;
}

static int elem_del(struct ipset *s, struct ipset_set *set, const uint8_t *key)
{
	struct ipset_elem *e = map_find(&set->by_key, key, set->key_len);
	int err = key_check(s, set, key);

	if (err)
		return err;
	if (e)
		elem_drop(set, e);
	else if (!s->exist)
		return ipset_fail(s, "Element cannot be deleted from the set: it's not added");
	return 0;
}

/* --- members of lists ---------------------------------------------------------------------------
 */

static size_t member_find(const struct ipset_set *list, const struct ipset_set *member)
{
	size_t i = 0;

	while (i < list->members.n && list->members.items[i] != member)
		i++;
	return i;
}

static void member_remove(struct ipset_set *list, size_t at)
{
	list->members.items[at]->refs--;
	list->members.n--;
	list->member_timeouts.n--;
	for (size_t i = at; i < list->members.n; i++) {
		list->members.items[i] = list->members.items[i + 1];
		list->member_timeouts.items[i] = list->member_timeouts.items[i + 1];
	}
}

static int member_insert(struct ipset_set *list, struct ipset_set *member, size_t at,
			 uint32_t timeout)
{
	int err = vec_push(&list->members, member);

	if (err)
		return err;
	err = vec_push(&list->member_timeouts, timeout);
	if (err) {
		list->members.n--;
		return err;
	}
	for (size_t i = list->members.n - 1; i > at; i--) {
		list->members.items[i] = list->members.items[i - 1];
		list->member_timeouts.items[i] = list->member_timeouts.items[i - 1];
	}
	list->members.items[at] = member;
	list->member_timeouts.items[at] = timeout;
	member->refs++;
	return 0;
}

static int member_change(struct ipset *s, struct ipset_set *list, const char *name, bool add,
			 const struct extras *x)
{
	struct ipset_set *member = map_find_str(&s->by_name, name);
	uint32_t timeout = x->given & OPT(TIMEOUT) ? x->timeout : list->timeout;
	size_t at, place = list->members.n;

	if (!member)
		return ipset_fail(s, "Set to be added/deleted/tested as element does not exist.");
	if (member->type->kind == IPSET_LIST)
		return ipset_fail(s, "Sets with list:set type cannot be added to the set.");
	at = member_find(list, member);
	if (x->neighbour) {
		const struct ipset_set *other = map_find_str(&s->by_name, x->neighbour);

		place = other ? member_find(list, other) : list->members.n;
		if (place == list->members.n)
			return ipset_fail(s, "The set with the given name does not exist, to which "
					     "the element refers by before or after.");
		place += !!(x->given & OPT(AFTER));
	}
	if (add && at < list->members.n) {
		if (!s->exist)
			return ipset_fail(s, "Element cannot be added to the set: it's already "
					     "added");
		list->member_timeouts.items[at] = timeout;
		return 0;
	}
	if (add)
		return member_insert(list, member, place, timeout);
	if (at < list->members.n)
		member_remove(list, at);
	else if (!s->exist)
		return ipset_fail(s, "Element cannot be deleted from the set: it's not added");
	return 0;
}

/* --- lines
 * ---------------------------------------------------------------------------------------- */

/* The element's text means one key or many: all combinations of what its parts mean. */
static int keys_each(struct ipset *s, struct ipset_set *set, char *const text[IPSET_DIMS], bool add,
		     const struct extras *x)
{
	struct ipset_part part[IPSET_DIMS] = {0};
	uint8_t key[IPSET_KEY_MAX], mac[6];
	bool has_mac = set->type->kind == IPSET_BITMAP && text[1];
	unsigned n = 0, d;
	int err = 0;

	if (has_mac && ipset_mac_parse(text[1], mac))
		return ipset_fail(s, "Syntax error: cannot parse '%s' as ethernet address",
				  text[1]);
	for (; !err && n < IPSET_DIMS && set->type->dims[n] && text[n]; n++) {
		if (has_mac && n)
			break;
		err = ipset_part_parse(s, set, n, text[n], &part[n]);
		if (x->given & OPT(WILDCARD) && part[n].dim == DIM_IFACE)
			part[n].iface_flags |= IFACE_WILDCARD;
		ipset_part_begin(set, &part[n]);
	}
	while (!err) {
		unsigned at = 0;

		for (d = 0; d < n; at += ipset_dim_len(set, part[d++].dim))
			ipset_part_put(&part[d], key + at);
		err = add ? elem_add(s, set, key, x, has_mac ? mac : NULL) : elem_del(s, set, key);
		for (d = n; d && !ipset_part_next(set, &part[d - 1]); d--)
			ipset_part_begin(set, &part[d - 1]);
		if (!d)
			break;
	}
	return err;
}

static int elem_line(struct ipset *s, struct ipset_set *set, struct ipset_words *w, bool add)
{
	char *text = words_next(w), *part[IPSET_DIMS];
	struct extras x = {0};
	int err;

	if (!text)
		return ipset_fail(s, "Missing second mandatory argument to command %s",
				  add ? "add" : "del");
	err = extras_read(s, set, w, &x);
	if (err)
		return err;
	if (set->type->kind == IPSET_LIST)
		return member_change(s, set, text, add, &x);
	err = parts_split(s, set, text, part);
	return err ? err : keys_each(s, set, part, add, &x);
}

int ipset_add(struct ipset *s, struct ipset_set *set, struct ipset_words *w)
{
	return elem_line(s, set, w, true);
}

int ipset_del(struct ipset *s, struct ipset_set *set, struct ipset_words *w)
{
	return elem_line(s, set, w, false);
}

void ipset_flush(struct ipset_set *set)
{
	while (set->members.n)
		member_remove(set, set->members.n - 1);
	map_free(&set->by_key);
	set->by_key = MAP_INIT;
	vec_free(&set->elems);
	set->oldest = 0;
	arena_free(&set->arena);
	set->arena = ARENA_INIT;
}
