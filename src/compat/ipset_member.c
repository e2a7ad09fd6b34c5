/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_member: the sets in a list:set, in their order. A change costs the length of the list. */
#include "compat/ipset_int.h"

static size_t place_of(const struct ipset_body *list, const struct ipset_set *set)
{
	size_t i = 0;

	while (i < list->members.n && list->members.items[i].set != set)
		i++;
	return i;
}

/* Takes out members whose time has come. */
static int expire(struct ipset *s, struct ipset_body *list)
{
	size_t n = 0;
	bool logged = false;

	for (size_t i = 0; i < list->members.n; i++) {
		struct ipset_member *m = &list->members.items[i];

		if (m->ext.expires && m->ext.expires <= s->now) {
			int err = logged ? 0 : ipset_log_members(s, list);

			if (err)
				return err;
			logged = true;
			m->set->refs--;
			m->set = NULL;
		}
	}
	for (size_t i = 0; logged && i < list->members.n; i++)
		if (list->members.items[i].set)
			list->members.items[n++] = list->members.items[i];
	if (logged)
		list->members.n = n;
	return 0;
}

static int insert(struct ipset_body *list, struct ipset_set *set, size_t at,
		  const struct ipset_ext *ext)
{
	int err = vec_reserve(&list->members, list->members.n + 1);

	if (err)
		return err;
	memmove(&list->members.items[at + 1], &list->members.items[at],
		(list->members.n++ - at) * sizeof(*list->members.items));
	list->members.items[at] = (struct ipset_member){.set = set, .ext = *ext};
	set->refs++;
	return 0;
}

static void drop(struct ipset_body *list, size_t at)
{
	list->members.items[at].set->refs--;
	memmove(&list->members.items[at], &list->members.items[at + 1],
		(--list->members.n - at) * sizeof(*list->members.items));
}

/* A list keeps its own copy of a comment. */
static int comment_keep(struct ipset_body *list, struct ipset_ext *ext)
{
	if (!ext->comment)
		return 0;
	if (!*ext->comment) {
		ext->comment = NULL;
		return 0;
	}
	ext->comment = arena_strndup(&list->comments, ext->comment, strlen(ext->comment));
	return ext->comment ? 0 : -ENOMEM;
}

/* Whether the member stands where the line says; any place will do if it says nothing. */
static bool stands_there(const struct ipset_body *list, size_t at, size_t neighbour,
			 const struct ipset_extras *x)
{
	if (!x->neighbour)
		return true;
	return x->given & OPT(BEFORE) ? at + 1 == neighbour : at == neighbour + 1;
}

static int test(struct ipset *s, const struct ipset_set *list, size_t at, size_t neighbour,
		const char *name, const struct ipset_extras *x, struct strbuf *answer)
{
	size_t n = list->body->members.n;
	bool holds = at < n && (!x->neighbour || neighbour < n) &&
		     stands_there(list->body, at, neighbour, x);

	strbuf_printf(answer, "%s%s%s%s is %sin set %s.", holds ? "Warning: " : "", name,
		      !x->neighbour	       ? ""
		      : x->given & OPT(BEFORE) ? " before "
					       : " after ",
		      x->neighbour ? x->neighbour : "", holds ? "" : "NOT ", list->name);
	if (holds)
		return 0;
	s->status = 1;
	return -EINVAL;
}

static int add(struct ipset *s, struct ipset_body *b, struct ipset_set *set, size_t at,
	       size_t place, const struct ipset_extras *x)
{
	struct ipset_ext ext = x->ext;
	int err;

	if (at < b->members.n && !s->exist)
		return ipset_fail(s, "Element cannot be added to the set: it's already added");
	err = ipset_log_members(s, b);
	if (!err)
		err = comment_keep(b, &ext);
	if (err)
		return err;
	s->changed = true;
	if (at == b->members.n)
		return insert(b, set, place, &ext);
	if (!(x->given & OPT(PACKETS)))
		ext.packets = b->members.items[at].ext.packets;
	if (!(x->given & OPT(BYTES)))
		ext.bytes = b->members.items[at].ext.bytes;
	b->members.items[at].ext = ext;
	return 0;
}

static int del(struct ipset *s, struct ipset_body *b, size_t at, size_t neighbour,
	       const struct ipset_extras *x)
{
	int err;

	if (at == b->members.n && !x->neighbour) {
		if (s->exist)
			return 0;
		return ipset_fail(s, "Element cannot be deleted from the set: it's not added");
	}
	if (at == b->members.n || !stands_there(b, at, neighbour, x))
		return ipset_fail(s, "The set to which you referred with 'before' or 'after' is "
				     "not added to the set.");
	err = ipset_log_members(s, b);
	if (!err)
		drop(b, at);
	s->changed = true;
	return err;
}

int ipset_member(struct ipset *s, struct ipset_set *list, enum ipset_verb verb, const char *name,
		 const struct ipset_extras *x, struct strbuf *answer)
{
	struct ipset_set *set = ipset_find(s, name);
	const struct ipset_set *other = x->neighbour ? ipset_find(s, x->neighbour) : NULL;
	struct ipset_body *b = list->body;
	size_t at, neighbour;
	int err = expire(s, b);

	if (err)
		return err;
	at = set ? place_of(b, set) : b->members.n;
	neighbour = other ? place_of(b, other) : b->members.n;
	if (verb == IPSET_TEST)
		return test(s, list, at, neighbour, name, x, answer);
	if (!set)
		return ipset_fail(s, "Set to be added/deleted/tested as element does not exist.");
	if (set->body->type->kind == IPSET_LIST)
		return ipset_fail(s, "Sets with list:set type cannot be added to the set.");
	if (x->neighbour && !other)
		return ipset_fail(s, "The set to which you referred with 'before' or 'after' does "
				     "not exist.");
	if (x->neighbour && neighbour == b->members.n)
		return ipset_fail(s, "The set to which you referred with 'before' or 'after' is "
				     "not added to the set.");
	if (verb == IPSET_DEL)
		return del(s, b, at, neighbour, x);
	return add(s, b, set, at,
		   x->neighbour ? neighbour + !(x->given & OPT(BEFORE)) : b->members.n, x);
}
