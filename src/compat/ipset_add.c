/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_add: elements that are added, several at once.
 *
 * A large set is larger than the caches, and each element costs a miss or two. So elements wait
 * until there are IPSET_ADDITIONS of one set: by the time the first of them is looked for, the
 * lines of all are on their way. They are added in their order, and what is wrong with one is said
 * with the line it came from, as if it had been added at once.
 *
 * Nearly all lines of a large file are "add NAME ADDRESS" with one name; ipset_add_line() reads
 * those without taking them apart in words.
 */
#include "base/address.h"
#include "compat/ipset_int.h"

uint64_t ipset_expires_default(const struct ipset *s, const struct ipset_body *b)
{
	return b->given & OPT(TIMEOUT) && b->timeout ? s->now + b->timeout * IPSET_SECOND : 0;
}

/* Another value for an element that is there; counters and a MAC that are not named go on. */
static int refresh(struct ipset *s, struct ipset_body *b, uint32_t id,
		   const struct ipset_addition *a)
{
	struct ipset_ext next = a->ext, old;
	int err = ipset_log_set(s, b, id);

	if (err)
		return err;
	ipset_body_get(b, id, &old);
	if (!ipset_body_expired(b, id, s->now)) {
		if (!(a->given & OPT(PACKETS)))
			next.packets = old.packets;
		if (!(a->given & OPT(BYTES)))
			next.bytes = old.bytes;
		if (old.flags & ELEM_MAC && !(next.flags & ELEM_MAC)) {
			memcpy(next.mac, old.mac, sizeof(next.mac));
			next.flags |= ELEM_MAC;
		}
		next.flags = (uint8_t)((next.flags & ~ELEM_WILDCARD) |
				       (old.flags & (ELEM_WILDCARD | ELEM_COUNTED)));
	}
	s->changed = true;
	return ipset_body_set(b, id, &next);
}

/* An address without a MAC may be added again with one. */
static bool mac_comes(const struct ipset_body *b, uint32_t id, const struct ipset_ext *ext)
{
	return ext->flags & ELEM_MAC && !(ipset_store_record(&b->store, id)[b->key_len] & ELEM_MAC);
}

static int room_make(struct ipset *s, struct ipset_body *b)
{
	int err = 0;

	if (b->store.live < b->max)
		return 0;
	ipset_body_expire(b, s->now);
	if (b->store.live >= b->max && b->given & OPT(FORCEADD) && b->store.live)
		err = ipset_elem_drop(s, b, b->oldest);
	if (!err && b->store.live >= b->max)
		err = ipset_fail(s, "Hash is full, cannot add more elements");
	return err;
}

static int addition_do(struct ipset *s, struct ipset_body *b, const struct ipset_addition *a)
{
	uint32_t id = ipset_store_find(&b->store, a->key, a->hash);
	int err;

	if (id != STORE_NONE && !a->exist && !ipset_body_expired(b, id, s->now) &&
	    !mac_comes(b, id, &a->ext))
		return ipset_fail(s, "Element cannot be added to the set: it's already added");
	if (id != STORE_NONE)
		return refresh(s, b, id, a);
	err = room_make(s, b);
	if (!err)
		err = ipset_body_add(b, a->key, a->hash, &a->ext, &id);
	if (err)
		return err;
	err = ipset_log_add(s, b, id);
	if (err)
		ipset_body_remove(b, id);
	s->changed = true;
	return err;
}

int ipset_add_finish(struct ipset *s)
{
	uint32_t line = s->line;
	unsigned n = s->n_additions;
	int err = 0;

	s->n_additions = 0;
	for (unsigned i = 0; !err && i < n; i++) {
		s->line = s->additions[i].line;
		err = addition_do(s, s->adding, &s->additions[i]);
	}
	if (!err)
		s->line = line;
	return err;
}

int ipset_add(struct ipset *s, struct ipset_body *b, const uint8_t *key,
	      const struct ipset_ext *ext, unsigned given)
{
	struct ipset_addition *a;
	int err = 0;

	if (s->n_additions == IPSET_ADDITIONS || (s->n_additions && s->adding != b))
		err = ipset_add_finish(s);
	if (err)
		return err;
	s->adding = b;
	a = &s->additions[s->n_additions++];
	memcpy(a->key, key, b->key_len);
	a->ext = *ext;
	if (given & OPT(TIMEOUT))
		a->ext.flags |= ELEM_TIMED;
	if (given & (OPT(PACKETS) | OPT(BYTES)))
		a->ext.flags |= ELEM_COUNTED;
	a->given = given;
	a->line = s->line;
	a->exist = s->exist;
	if (ext->comment)
		a->ext.comment = strcpy(a->comment, ext->comment);
	a->hash = ipset_store_hash(&b->store, a->key);
	ipset_store_prefetch(&b->store, a->hash);
	return 0;
}

/* An address, or in a set of networks a prefix, of a line that says no more. */
static bool key_read(const struct ipset_body *b, const char *text, size_t n, uint8_t key[16])
{
	const char *slash = NULL;
	uint8_t last[4];
	uint64_t prefix = 32;

	if (b->type->dims[0] == DIM_NET)
		slash = memchr(text, '/', n);
	if (slash && (decimal_parse(slash + 1, (size_t)(text + n - slash - 1), 32, &prefix) ||
		      !prefix || slash[1] == '0'))
		return false;
	if (address_parse(text, slash ? (size_t)(slash - text) : n, key) != 4)
		return false;
	if (b->type->dims[0] == DIM_NET) {
		address_prefix_bounds(key, last, 4, (unsigned)prefix);
		key[4] = (uint8_t)prefix;
		return true;
	}
	return be32_load(key);
}

int ipset_add_line(struct ipset *s, const char *line, size_t len, bool exist)
{
	static const char add[] = "add ";
	const char *p = line + sizeof(add) - 1;
	const struct ipset_body *b = s->last ? s->last->body : NULL;
	size_t name = b ? strlen(s->last->name) : 0;
	struct ipset_ext ext = {0};
	uint8_t key[16];
	int err;

	if (len < sizeof(add) + name || memcmp(line, add, sizeof(add) - 1) || !b ||
	    memcmp(p, s->last->name, name) || p[name] != ' ')
		return 0;
	if (b->type->kind != IPSET_HASH || b->type->dims[1] || b->ip_len != 4 || b->masked ||
	    (b->type->dims[0] != DIM_IP && b->type->dims[0] != DIM_NET))
		return 0;
	p += name + 1;
	if (!key_read(b, p, (size_t)(line + len - p), key))
		return 0;
	s->exist = exist;
	ext.expires = ipset_expires_default(s, b);
	err = ipset_add(s, s->last->body, key, &ext, 0);
	return err ? err : 1;
}
