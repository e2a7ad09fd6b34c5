/* SPDX-License-Identifier: Apache-2.0 */
/* json_in: what reads the packet and its circumstances: header fields, options, meta, ct, ... */
#include "lang/json_in_int.h"

static struct expr *expr_at(struct json_in *in, enum expr_kind kind)
{
	return expr_new(in->a, kind, in->loc);
}

static struct expr *selector(struct json_in *in, enum expr_kind kind, const struct datatype *type,
			     unsigned bits)
{
	struct expr *e = expr_at(in, kind);

	e->type = type;
	e->bits = bits;
	return e;
}

static const struct proto_header *tunnel_header(struct json_in *in, json_t *v)
{
	const char *name = json_get_string(in, v, "tunnel");
	const struct proto_header *h;

	if (!name)
		return NULL;
	h = proto_find(name, strlen(name));
	if (!h || !h->inner)
		json_fail_at(in, "tunnel", "Unknown tunnel protocol '%s'", name);
	return h;
}

static struct expr *raw_expr(struct json_in *in, json_t *v)
{
	static const char *const bases[] = {"ll", "nh", "th", "ih", NULL};
	struct expr *e = expr_at(in, EX_RAW);

	json_members(in, v, "tunnel base offset len");
	e->raw.tunnel = tunnel_header(in, v);
	e->raw.base = (enum proto_base)json_get_word(in, v, "base", bases, "payload base");
	e->raw.off = (uint32_t)json_need_number(in, v, "offset", UINT32_MAX);
	e->bits = (uint32_t)json_need_number(in, v, "len", UINT32_MAX);
	e->type = &type_integer;
	return e;
}

static struct expr *payload_expr(struct json_in *in, json_t *v)
{
	const struct proto_header *h;
	const struct proto_field *f;
	const char *protocol, *field;
	struct expr *e;

	if (json_is_object(v) && json_object_get(v, "base"))
		return raw_expr(in, v);
	json_members(in, v, "tunnel protocol field");
	protocol = json_need_string(in, v, "protocol");
	field = json_need_string(in, v, "field");
	h = proto_find(protocol, strlen(protocol));
	if (!h)
		json_fail_at(in, "protocol", "Unknown payload protocol '%s'", protocol);
	f = proto_field_find(h, field, strlen(field));
	if (!f)
		json_fail_at(in, "field", "Unknown %s field '%s'", protocol, field);
	e = selector(in, EX_PAYLOAD, f->type, f->bits);
	e->payload.header = h;
	e->payload.field = f;
	e->payload.tunnel = tunnel_header(in, v);
	return e;
}

static struct expr *option_expr(struct json_in *in, json_t *v, enum option_class c)
{
	const struct proto_option *o;
	struct expr *e = expr_at(in, EX_OPTION);
	const char *name, *field;
	uint64_t offset = 0;

	e->option.class = c;
	if (json_is_object(v) && c == OPT_TCP && json_object_get(v, "base")) {
		json_members(in, v, "base offset len");
		e->option.kind = (uint16_t)json_need_number(in, v, "base", UINT8_MAX);
		e->option.off = (uint16_t)json_need_number(in, v, "offset", UINT16_MAX);
		e->type = &type_integer;
		e->bits = (uint32_t)json_need_number(in, v, "len", UINT16_MAX);
		return e;
	}
	json_members(in, v, "name field offset");
	name = json_need_string(in, v, "name");
	o = option_find(c, name, strlen(name));
	if (!o)
		json_fail_at(in, "name", "Unknown option '%s'", name);
	e->option.option = o;
	e->option.kind = o->kind;
	field = json_get_string(in, v, "field");
	if (!field) {
		e->option.existence = true;
		e->type = &type_boolean;
		e->bits = 1;
		return e;
	}
	/* rt0 addr and srh sid take an index: "sid[2]", or a number beside the field. */
	const char *bracket = c == OPT_EXTHDR ? strchr(field, '[') : NULL;
	const size_t len = bracket ? (size_t)(bracket - field) : strlen(field);

	e->option.field = option_field_find(o, field, len);
	if (!e->option.field)
		json_fail_at(in, "field", "Unknown %s field '%s'", name, field);
	json_get_number(in, v, "offset", UINT8_MAX, &offset);
	if (bracket) {
		uint8_t index;
		const size_t digits = strcspn(bracket + 1, "]");

		if (strcmp(bracket + 1 + digits, "]") ||
		    number_parse(bracket + 1, digits, &index, 8))
			json_fail_at(in, "field", "Unknown %s field '%s'", name, field);
		offset = index;
	}
	if (offset * e->option.field->bits > UINT16_MAX)
		json_fail_at(in, "field", "Index too large");
	e->option.off = (uint16_t)(offset * e->option.field->bits);
	e->type = e->option.field->type;
	e->bits = e->option.field->bits;
	return e;
}

static struct expr *dccp_option_expr(struct json_in *in, json_t *v)
{
	struct expr *e = selector(in, EX_OPTION, &type_boolean, 1);

	json_members(in, v, "type");
	e->option.class = OPT_DCCP;
	e->option.existence = true;
	e->option.kind = (uint16_t)json_need_number(in, v, "type", UINT8_MAX);
	return e;
}

static struct expr *meta_expr(struct json_in *in, json_t *v)
{
	const char *name;
	struct expr *e;
	int key;

	json_members(in, v, "key");
	name = json_need_string(in, v, "key");
	key = meta_key_find(name, strlen(name));
	if (key < 0)
		json_fail_at(in, "key", "Unknown meta key '%s'", name);
	e = selector(in, EX_META, meta_keys[key].type, meta_keys[key].bits);
	e->key = (unsigned)key;
	return e;
}

uint8_t json_in_nfproto(struct json_in *in, json_t *v)
{
	static const char *const families[] = {"ip", "ip6", NULL};
	int family = json_get_word(in, v, "family", families, "family");

	return family < 0 ? 0 : family ? 10 : 2;
}

static struct expr *ct_expr(struct json_in *in, json_t *v)
{
	static const char *const directions[] = {"original", "reply", NULL};
	uint8_t nfproto;
	const char *name;
	struct expr *e;
	int key, direction;

	json_members(in, v, "key family dir");
	name = json_need_string(in, v, "key");
	nfproto = json_in_nfproto(in, v);
	if (!strncmp(name, "ip ", 3)) {
		nfproto = 2;
		name += 3;
	} else if (!strncmp(name, "ip6 ", 4)) {
		nfproto = 10;
		name += 4;
	}
	key = ct_key_find(name, strlen(name));
	if (key < 0)
		json_fail_at(in, "key", "Unknown ct key '%s'", name);
	if (nfproto && key != CT_SADDR && key != CT_DADDR)
		json_fail_at(in, "key", "ct key '%s' takes no family", name);
	if (nfproto && key == CT_SADDR)
		key = nfproto == 2 ? CT_SADDR_IP : CT_SADDR_IP6;
	else if (nfproto)
		key = nfproto == 2 ? CT_DADDR_IP : CT_DADDR_IP6;
	direction = json_get_word(in, v, "dir", directions, "direction");
	e = selector(in, EX_CT, ct_keys[key].type, ct_keys[key].bits);
	e->ct.key = (unsigned)key;
	e->ct.direction = (int8_t)direction;
	e->ct.nfproto = nfproto;
	return e;
}

static unsigned need_word(struct json_in *in, json_t *v, const char *key, const char *const *words,
			  const char *what)
{
	json_need(in, v, key);
	return (unsigned)json_get_word(in, v, key, words, what);
}

static struct expr *rt_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"classid", "nexthop", "mtu", "ipsec", NULL};
	struct expr *e = expr_at(in, EX_RT);

	json_members(in, v, "key family");
	e->rt.key = need_word(in, v, "key", keys, "rt key");
	e->rt.nfproto = json_in_nfproto(in, v);
	return e;
}

static struct expr *socket_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"transparent", "mark", "wildcard", "cgroupv2", NULL};
	struct expr *e = expr_at(in, EX_SOCKET);
	uint64_t level = 0;

	json_members(in, v, "key level");
	e->socket.key = need_word(in, v, "key", keys, "socket key");
	json_get_number(in, v, "level", UINT8_MAX, &level);
	e->socket.level = (uint32_t)level;
	return e;
}

static struct expr *fib_expr(struct json_in *in, json_t *v)
{
	static const char *const results[] = {"oif", "oifname", "type", "check", NULL};
	static const char *const flags[] = {"saddr", "daddr", "mark", "iif", "oif"};
	struct expr *e = expr_at(in, EX_FIB);
	unsigned result;

	json_members(in, v, "result flags");
	result = need_word(in, v, "result", results, "fib result");
	e->fib.check = result == 3;
	e->fib.result = result == 3 ? 0 : result;
	e->fib.flags = json_get_flags(in, v, "flags", flags, ARRAY_SIZE(flags), "fib flag");
	if (!e->fib.flags)
		json_fail(in, "Object item not found: flags");
	return e;
}

static struct expr *osf_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"name", "version", NULL};
	static const char *const ttls[] = {"loose", "skip", NULL};
	struct expr *e = expr_at(in, EX_OSF);

	json_members(in, v, "key ttl");
	e->osf.version = need_word(in, v, "key", keys, "osf key") == 1;
	e->osf.ttl = (unsigned)(json_get_word(in, v, "ttl", ttls, "osf ttl option") + 1);
	return e;
}

static uint32_t number32(struct json_in *in, json_t *v, const char *key, bool needed)
{
	uint64_t n = 0;

	if (needed)
		json_need(in, v, key);
	json_get_number(in, v, key, UINT32_MAX, &n);
	return (uint32_t)n;
}

static struct expr *numgen_expr(struct json_in *in, json_t *v)
{
	static const char *const modes[] = {"inc", "random", NULL};
	struct expr *e = expr_at(in, EX_NUMGEN);

	json_members(in, v, "mode mod offset");
	e->numgen.type = need_word(in, v, "mode", modes, "numgen mode");
	e->numgen.mod = number32(in, v, "mod", true);
	e->numgen.offset = number32(in, v, "offset", false);
	return e;
}

static struct expr *hash_expr(struct json_in *in, json_t *v, bool jhash)
{
	struct expr *e = expr_at(in, EX_HASH);

	json_members(in, v, jhash ? "mod offset seed expr" : "mod offset");
	e->hash.mod = number32(in, v, "mod", true);
	e->hash.offset = number32(in, v, "offset", false);
	if (!jhash)
		return e;
	e->hash.has_seed = json_object_get(v, "seed");
	e->hash.seed = number32(in, v, "seed", false);
	e->hash.key = json_need_expr(in, v, "expr");
	return e;
}

static struct expr *xfrm_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"reqid", "spi", "saddr", "daddr", NULL};
	static const char *const directions[] = {"in", "out", NULL};
	struct expr *e = expr_at(in, EX_XFRM);
	uint64_t spnum = 0;

	json_members(in, v, "key family dir spnum");
	e->xfrm.key = need_word(in, v, "key", keys, "ipsec key");
	e->xfrm.direction = (uint8_t)need_word(in, v, "dir", directions, "ipsec direction");
	e->xfrm.nfproto = json_in_nfproto(in, v);
	json_get_number(in, v, "spnum", UINT8_MAX, &spnum);
	e->xfrm.spnum = (uint8_t)spnum;
	if (e->xfrm.key >= 2 && !e->xfrm.nfproto)
		json_fail(in, "Object item not found: family");
	return e;
}

static struct expr *tunnel_expr(struct json_in *in, json_t *v)
{
	static const char *const keys[] = {"path", "id", NULL};
	struct expr *e = expr_at(in, EX_TUNNEL);

	json_members(in, v, "key");
	e->key = need_word(in, v, "key", keys, "tunnel key");
	return e;
}

static struct expr *exthdr_expr(struct json_in *in, json_t *v)
{
	return option_expr(in, v, OPT_EXTHDR);
}

static struct expr *tcp_option_expr(struct json_in *in, json_t *v)
{
	return option_expr(in, v, OPT_TCP);
}

static struct expr *ip_option_expr(struct json_in *in, json_t *v)
{
	return option_expr(in, v, OPT_IP);
}

static struct expr *sctp_chunk_expr(struct json_in *in, json_t *v)
{
	return option_expr(in, v, OPT_SCTP_CHUNK);
}

static struct expr *jhash_expr(struct json_in *in, json_t *v)
{
	return hash_expr(in, v, true);
}

static struct expr *symhash_expr(struct json_in *in, json_t *v)
{
	return hash_expr(in, v, false);
}

struct expr *json_in_selector(struct json_in *in, const char *name, json_t *v)
{
	static const struct {
		const char *name;
		struct expr *(*read)(struct json_in *in, json_t *v);
	} selectors[] = {
		{"payload", payload_expr},
		{"exthdr", exthdr_expr},
		{"tcp option", tcp_option_expr},
		{"ip option", ip_option_expr},
		{"sctp chunk", sctp_chunk_expr},
		{"dccp option", dccp_option_expr},
		{"meta", meta_expr},
		{"osf", osf_expr},
		{"ipsec", xfrm_expr},
		{"socket", socket_expr},
		{"rt", rt_expr},
		{"ct", ct_expr},
		{"numgen", numgen_expr},
		{"jhash", jhash_expr},
		{"symhash", symhash_expr},
		{"fib", fib_expr},
		{"tunnel", tunnel_expr},
	};

	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++)
		if (!strcmp(selectors[i].name, name))
			return selectors[i].read(in, v);
	return NULL;
}
