/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_payload: what reads the packet and its circumstances: header fields, options, meta, ct, rt,
 * fib and the like. The tables of proto.h say which words there are.
 */
#include "lang/parser.h"

static struct expr *selector(struct parser *p, enum expr_kind kind, struct loc start,
			     const struct datatype *type, unsigned bits)
{
	struct expr *e = expr_new(p->a, kind, parse_span(p, start));
	e->type = type;
	e->bits = bits;
	return e;
}

/* --- Headers -------------------------------------------------------------------------------- */

static const struct proto_field *field_take(struct parser *p, const struct proto_header *h)
{
	const struct proto_field *f = NULL;
	if (!token_is(p, T_WORD))
		parse_syntax_error(p, NULL);
	if (h == &proto_arp && (token_is_word(p, "saddr") || token_is_word(p, "daddr"))) {
		bool saddr = token_is_word(p, "saddr");
		token_next(p);
		if (!token_is_kw(p, KW_IP) && !token_is_kw(p, KW_ETHER))
			parse_syntax_error(p, "ether or ip");
		bool ip = token_is_kw(p, KW_IP);
		const char *name = saddr ? ip ? "saddr ip" : "saddr ether"
				   : ip	 ? "daddr ip"
					 : "daddr ether";
		f = proto_field_find(h, name, strlen(name));
	} else {
		f = proto_field_find(h, p->tok.text, p->tok.len);
	}
	if (!f)
		parse_syntax_error(p, NULL);
	token_next(p);
	return f;
}

static struct expr *payload(struct parser *p, struct loc start, const struct proto_header *h,
			    const struct proto_field *f, const struct proto_header *tunnel)
{
	struct expr *e = selector(p, EX_PAYLOAD, start, f->type, f->bits);
	e->payload.header = h;
	e->payload.field = f;
	e->payload.tunnel = tunnel;
	return e;
}

static uint16_t number16(struct parser *p)
{
	return (uint16_t)parse_number_max(p, UINT16_MAX);
}

/* Words that stand in options only: behind the wrong option they are no value. */
static bool is_option_word(enum option_class c, const struct token *t)
{
	unsigned n;
	const struct proto_option *o = option_table(c, &n);
	if (option_find(c, t->text, t->len))
		return true;
	for (unsigned i = 0; i < n; i++)
		if (option_field_find(&o[i], t->text, t->len))
			return true;
	return false;
}

/* `tcp option X [field]` and its kin, behind the word `option` or `chunk`. */
static struct expr *parse_option(struct parser *p, struct loc start, enum option_class c)
{
	const struct proto_option *o = NULL;
	uint16_t kind = 0, off = 0, bits = 0;
	bool raw = c == OPT_TCP && token_accept(p, T_AT);
	if (raw || token_is(p, T_NUMBER)) {
		kind = (uint16_t)parse_number_max(p, UINT8_MAX);
	} else {
		if (c == OPT_DCCP || !token_is(p, T_WORD))
			parse_syntax_error(p, "number");
		const char *name = p->tok.text;
		uint32_t len = p->tok.len;
		if (c == OPT_TCP && token_is_word(p, "mss"))
			o = option_find(c, "maxseg", 6);
		else if (c == OPT_TCP && token_is_word(p, "noop"))
			o = option_find(c, "nop", 3);
		else
			o = option_find(c, name, len);
		if (!o)
			parse_syntax_error(p, NULL);
		kind = o->kind;
		token_next(p);
	}
	if (raw) {
		token_expect(p, T_COMMA, "comma");
		off = number16(p);
		token_expect(p, T_COMMA, "comma");
		bits = number16(p);
	}
	const struct proto_field *f = NULL;
	if (o && token_is(p, T_WORD))
		f = option_field_find(o, p->tok.text, p->tok.len);
	if (f)
		token_next(p);
	else if (o && token_is(p, T_WORD) && is_option_word(c, &p->tok))
		parse_syntax_error(p, NULL);
	struct expr *e = selector(p, EX_OPTION, start,
				  f	? f->type
				  : raw ? &type_integer
					: NULL,
				  f ? f->bits : bits);
	e->option.class = c;
	e->option.option = o;
	e->option.field = f;
	e->option.kind = kind;
	e->option.off = off;
	e->option.existence = !f && !raw;
	if (e->option.existence) {
		e->type = &type_boolean;
		e->bits = 1;
	}
	return e;
}

static struct expr *parse_header(struct parser *p, const struct proto_header *tunnel,
				 struct loc start)
{
	const struct proto_header *h = proto_find(p->tok.text, p->tok.len);
	if (!h || (tunnel && h->inner))
		parse_syntax_error(p, NULL);
	token_next(p);
	if (!tunnel && h == &proto_tcp && token_accept_word(p, "option"))
		return parse_option(p, start, OPT_TCP);
	if (!tunnel && h == &proto_ip && token_accept_word(p, "option"))
		return parse_option(p, start, OPT_IP);
	if (!tunnel && h == &proto_dccp && token_accept_word(p, "option"))
		return parse_option(p, start, OPT_DCCP);
	if (!tunnel && h == &proto_sctp && token_accept_word(p, "chunk"))
		return parse_option(p, start, OPT_SCTP_CHUNK);
	if (h->inner && token_is(p, T_WORD) && proto_find(p->tok.text, p->tok.len))
		return parse_header(p, h, start);
	return payload(p, start, h, field_take(p, h), tunnel);
}

/* --- IPv6 extension headers ------------------------------------------------------------------- */

static struct expr *exthdr(struct parser *p, struct loc start, const struct proto_option *o,
			   const struct proto_field *f, uint16_t off)
{
	struct expr *e =
		selector(p, EX_OPTION, start, f ? f->type : &type_boolean, f ? f->bits : 1);
	e->option.class = OPT_EXTHDR;
	e->option.option = o;
	e->option.field = f;
	e->option.kind = o->kind;
	e->option.off = off;
	e->option.existence = !f;
	return e;
}

static struct expr *parse_exthdr(struct parser *p)
{
	struct loc start = token_loc(p);
	const struct proto_option *o = option_find(OPT_EXTHDR, p->tok.text, p->tok.len);
	token_next(p);
	const struct proto_field *f =
		o && token_is(p, T_WORD) ? option_field_find(o, p->tok.text, p->tok.len) : NULL;
	if (!f)
		parse_syntax_error(p, NULL);
	token_next(p);
	uint32_t off = 0;
	if (token_accept(p, T_LBRACKET)) {
		off = (uint32_t)parse_number_max(p, UINT8_MAX) * f->bits;
		token_expect(p, T_RBRACKET, "']'");
	}
	return exthdr(p, start, o, f, (uint16_t)off);
}

/* `exthdr frag` */
static struct expr *parse_exthdr_exists(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	const struct proto_option *o =
		token_is(p, T_WORD) ? option_find(OPT_EXTHDR, p->tok.text, p->tok.len) : NULL;
	if (!o)
		parse_syntax_error(p, NULL);
	token_next(p);
	return exthdr(p, start, o, NULL, 0);
}

/* --- meta, ct, rt ----------------------------------------------------------------------------- */

static const struct {
	enum keyword kw;
	enum meta_key key;
} unqualified[] = {
	{KW_MARK, META_MARK},
	{KW_IIF, META_IIF},
	{KW_IIFNAME, META_IIFNAME},
	{KW_IIFTYPE, META_IIFTYPE},
	{KW_OIF, META_OIF},
	{KW_OIFNAME, META_OIFNAME},
	{KW_OIFTYPE, META_OIFTYPE},
	{KW_SKUID, META_SKUID},
	{KW_SKGID, META_SKGID},
	{KW_NFTRACE, META_NFTRACE},
	{KW_RTCLASSID, META_RTCLASSID},
	{KW_IBRIPORT, META_IBRNAME},
	{KW_OBRIPORT, META_OBRNAME},
	{KW_IBRNAME, META_IBRNAME},
	{KW_OBRNAME, META_OBRNAME},
	{KW_PKTTYPE, META_PKTTYPE},
	{KW_CPU, META_CPU},
	{KW_IIFGROUP, META_IIFGROUP},
	{KW_OIFGROUP, META_OIFGROUP},
	{KW_CGROUP, META_CGROUP},
	{KW_IPSEC, META_IPSEC},
	{KW_TIME, META_TIME},
	{KW_DAY, META_DAY},
	{KW_HOUR, META_HOUR},
};

static int unqualified_key(enum keyword kw)
{
	for (unsigned i = 0; i < ARRAY_SIZE(unqualified); i++)
		if (unqualified[i].kw == kw)
			return (int)unqualified[i].key;
	return -1;
}

static struct expr *meta(struct parser *p, struct loc start, unsigned key)
{
	struct expr *e = selector(p, EX_META, start, meta_keys[key].type, meta_keys[key].bits);
	e->key = key;
	return e;
}

static struct expr *parse_meta(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	if (!token_is(p, T_WORD) && !token_is(p, T_LITERAL))
		parse_syntax_error(p, NULL);
	struct token word = p->tok;
	int key = meta_key_find(word.text, word.len);
	if (key < 0 && keyword_is_reserved(word.kw))
		parse_syntax_error(p, NULL);
	token_next(p);
	if (key >= 0)
		return meta(p, start, (unsigned)key);
	struct strbuf known = STRBUF_INIT;
	for (unsigned i = 0; i < META_KEYS_N; i++)
		strbuf_printf(&known, "%s%s", i ? ", " : "", meta_keys[i].name);
	const char *list = arena_strndup(&p->sources->arena, strbuf_str(&known), known.len);
	strbuf_free(&known);
	parse_error(p, parse_span(p, start), "syntax error, unexpected %.*s, known keys are %s",
		    (int)word.len, word.text, list ? list : "");
}

static struct expr *ct(struct parser *p, struct loc start, unsigned key, int direction,
		       uint8_t nfproto)
{
	struct expr *e = selector(p, EX_CT, start, ct_keys[key].type, ct_keys[key].bits);
	e->ct.key = key;
	e->ct.direction = (int8_t)direction;
	e->ct.nfproto = nfproto;
	return e;
}

static struct expr *parse_ct(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	int direction = -1;
	if (token_is_kw(p, KW_ORIGINAL) || token_is_kw(p, KW_REPLY)) {
		direction = token_is_kw(p, KW_REPLY);
		token_next(p);
	}
	uint8_t nfproto = 0;
	if (direction >= 0 && (token_is_kw(p, KW_IP) || token_is_kw(p, KW_IP6))) {
		nfproto = token_is_kw(p, KW_IP) ? 2 : 10;
		token_next(p);
	}
	int key = token_is(p, T_WORD) ? ct_key_find(p->tok.text, p->tok.len) : -1;
	if (key < 0 || (nfproto && key != CT_SADDR && key != CT_DADDR))
		parse_syntax_error(p, NULL);
	token_next(p);
	if (nfproto)
		key = key == CT_SADDR ? nfproto == 2 ? CT_SADDR_IP : CT_SADDR_IP6
		      : nfproto == 2  ? CT_DADDR_IP
				      : CT_DADDR_IP6;
	return ct(p, start, (unsigned)key, direction, nfproto);
}

/* The index of the word in a list that ends with NULL; a syntax error if it is not there. */
static unsigned word_of(struct parser *p, const char *const *words, const char *expecting)
{
	for (unsigned i = 0; words[i]; i++)
		if (token_accept_word(p, words[i]))
			return i;
	parse_syntax_error(p, expecting);
}

static struct expr *parse_rt(struct parser *p)
{
	static const char *const keys[] = {"classid", "nexthop", "mtu", "ipsec", NULL};
	struct token t = token_peek(p);
	if (t.type == T_WORD && option_field_find(option_find(OPT_EXTHDR, "rt", 2), t.text, t.len))
		return parse_exthdr(p);
	struct loc start = token_loc(p);
	token_next(p);
	uint8_t nfproto = token_accept_kw(p, KW_IP) ? 2 : token_accept_kw(p, KW_IP6) ? 10 : 0;
	if (nfproto && !token_is_word(p, "nexthop"))
		parse_syntax_error(p, "nexthop");
	unsigned key = word_of(p, keys, NULL);
	struct expr *e = selector(p, EX_RT, start, NULL, 0);
	e->rt.key = key;
	e->rt.nfproto = nfproto;
	return e;
}

/* --- The others ------------------------------------------------------------------------------- */

static unsigned fib_flag(struct parser *p)
{
	static const char *const flags[] = {"saddr", "daddr", "mark", "iif", "oif", NULL};
	return 1u << word_of(p, flags, "saddr or daddr or mark or iif or oif");
}

static struct expr *parse_fib(struct parser *p)
{
	static const char *const results[] = {"oif", "oifname", "type", "check", NULL};
	struct loc start = token_loc(p);
	token_next(p);
	unsigned flags = fib_flag(p);
	while (token_accept(p, T_DOT)) {
		struct loc loc = token_loc(p);
		unsigned flag = fib_flag(p);
		if (flags & flag)
			parse_error(p, loc, "flag given twice");
		flags |= flag;
	}
	unsigned result = word_of(p, results, "oif or oifname or type or check");
	struct expr *e = selector(p, EX_FIB, start, NULL, 0);
	e->fib.flags = flags;
	e->fib.check = result == 3;
	e->fib.result = result == 3 ? 0 : result;
	return e;
}

static struct expr *parse_socket(struct parser *p)
{
	static const char *const keys[] = {"transparent", "mark", "wildcard", "cgroupv2", NULL};
	struct loc start = token_loc(p);
	token_next(p);
	unsigned key = word_of(p, keys, "transparent or mark or wildcard or cgroupv2");
	uint32_t level = 0;
	if (key == 3) {
		token_expect_word(p, "level");
		level = (uint32_t)parse_number_max(p, UINT8_MAX);
	}
	struct expr *e = selector(p, EX_SOCKET, start, NULL, 0);
	e->socket.key = key;
	e->socket.level = level;
	return e;
}

static struct expr *parse_osf(struct parser *p)
{
	static const char *const ttls[] = {"loose", "skip", NULL};
	static const char *const keys[] = {"name", "version", NULL};
	struct loc start = token_loc(p);
	token_next(p);
	unsigned ttl = 0;
	if (token_accept_word(p, "ttl")) {
		if (!token_is_word(p, "loose") && !token_is_word(p, "skip") && token_is(p, T_WORD))
			parse_error(p, token_loc(p), "invalid ttl option");
		ttl = 1 + word_of(p, ttls, "string");
	}
	unsigned key = word_of(p, keys, "name or version");
	struct expr *e = selector(p, EX_OSF, start, NULL, 0);
	e->osf.ttl = ttl;
	e->osf.version = key == 1;
	return e;
}

static uint32_t number32(struct parser *p)
{
	return (uint32_t)parse_number_max(p, UINT32_MAX);
}

static struct expr *parse_numgen(struct parser *p)
{
	struct loc start = token_loc(p);
	token_next(p);
	bool random = token_accept_kw(p, KW_RANDOM);
	if (!random && !token_accept_word(p, "inc"))
		parse_syntax_error(p, "random or inc");
	token_expect_word(p, "mod");
	uint32_t mod = number32(p), offset = 0;
	if (token_accept_word(p, "offset"))
		offset = number32(p);
	struct expr *e = selector(p, EX_NUMGEN, start, NULL, 0);
	e->numgen.type = random;
	e->numgen.mod = mod;
	e->numgen.offset = offset;
	return e;
}

static struct expr *parse_hash(struct parser *p)
{
	struct loc start = token_loc(p);
	bool jhash = token_is_kw(p, KW_JHASH), has_seed = false;
	token_next(p);
	struct expr *key = NULL;
	uint32_t seed = 0, offset = 0;
	if (jhash) {
		parse_enter(p, 1);
		key = parse_concat(p);
		parse_leave(p, 1);
	}
	token_expect_word(p, "mod");
	uint32_t mod = number32(p);
	if (jhash && token_accept_word(p, "seed")) {
		has_seed = true;
		seed = number32(p);
	}
	if (token_accept_word(p, "offset"))
		offset = number32(p);
	struct expr *e = selector(p, EX_HASH, start, NULL, 0);
	e->hash.key = key;
	e->hash.mod = mod;
	e->hash.seed = seed;
	e->hash.has_seed = has_seed;
	e->hash.offset = offset;
	return e;
}

static struct expr *parse_xfrm(struct parser *p)
{
	static const char *const directions[] = {"in", "out", NULL};
	static const char *const keys[] = {"reqid", "spi", NULL};
	static const char *const addresses[] = {"saddr", "daddr", NULL};
	struct loc start = token_loc(p);
	token_next(p);
	unsigned direction = word_of(p, directions, "in or out"), key;
	uint8_t nfproto = 0;
	uint64_t spnum = 0;
	struct loc spnum_loc = token_loc(p);
	if (token_accept_word(p, "spnum")) {
		spnum = parse_number(p);
		spnum_loc = parse_span(p, spnum_loc);
	}
	if (token_is_kw(p, KW_IP) || token_is_kw(p, KW_IP6)) {
		nfproto = token_is_kw(p, KW_IP) ? 2 : 10;
		token_next(p);
		key = 2 + word_of(p, addresses, "saddr or daddr");
	} else {
		key = word_of(p, keys, NULL);
	}
	if (spnum > UINT8_MAX)
		parse_error(p, spnum_loc, "value too large, at most %d", UINT8_MAX);
	struct expr *e = selector(p, EX_XFRM, start, NULL, 0);
	e->xfrm.key = key;
	e->xfrm.direction = (uint8_t)direction;
	e->xfrm.nfproto = nfproto;
	e->xfrm.spnum = (uint8_t)spnum;
	return e;
}

static struct expr *parse_tunnel(struct parser *p)
{
	static const char *const keys[] = {"path", "id", NULL};
	struct loc start = token_loc(p);
	token_next(p);
	unsigned key = word_of(p, keys, "path or id");
	struct expr *e = selector(p, EX_TUNNEL, start, NULL, 0);
	e->key = key;
	return e;
}

/* `@nh,0,8`; `@name` is a set. */
static int raw_base(const struct parser *p)
{
	static const char *const names[] = {
		[PB_LL] = "ll", [PB_NH] = "nh", [PB_TH] = "th", [PB_IH] = "ih"};
	struct token word = token_peek(p), comma;
	lex(p->in.text, p->in.len, word.end, &comma);
	if (word.type != T_WORD || comma.type != T_COMMA)
		return -1;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == word.len && !memcmp(names[i], word.text, word.len))
			return (int)i;
	return -1;
}

static struct expr *parse_raw(struct parser *p, enum proto_base base)
{
	struct loc start = token_loc(p);
	token_next(p);
	token_next(p);
	token_expect(p, T_COMMA, "comma");
	uint32_t off = number32(p);
	token_expect(p, T_COMMA, "comma");
	uint32_t bits = number32(p);
	if (!bits)
		parse_error(p, p->last, "raw payload expression has no length");
	struct expr *e = selector(p, EX_RAW, start, &type_integer, bits);
	e->raw.base = base;
	e->raw.off = off;
	return e;
}

struct expr *parse_selector(struct parser *p)
{
	switch (p->tok.kw) {
	case KW_ETHER:
	case KW_VLAN:
	case KW_ARP:
	case KW_IP:
	case KW_IP6:
	case KW_ICMP:
	case KW_ICMPV6:
	case KW_IGMP:
	case KW_TCP:
	case KW_UDP:
	case KW_UDPLITE:
	case KW_SCTP:
	case KW_DCCP:
	case KW_TH:
	case KW_AH:
	case KW_ESP:
	case KW_COMP:
	case KW_GRE:
	case KW_GRETAP:
	case KW_VXLAN:
	case KW_GENEVE:
		return parse_header(p, NULL, token_loc(p));
	case KW_HBH:
	case KW_RT0:
	case KW_RT2:
	case KW_SRH:
	case KW_FRAG:
	case KW_DST:
	case KW_MH:
		return parse_exthdr(p);
	case KW_RT:
		return parse_rt(p);
	case KW_EXTHDR:
		return parse_exthdr_exists(p);
	case KW_META:
		return parse_meta(p);
	case KW_CT:
		return parse_ct(p);
	case KW_FIB:
		return parse_fib(p);
	case KW_SOCKET:
		return parse_socket(p);
	case KW_OSF:
		return parse_osf(p);
	case KW_NUMGEN:
		return parse_numgen(p);
	case KW_JHASH:
	case KW_SYMHASH:
		return parse_hash(p);
	case KW_TUNNEL:
		return parse_tunnel(p);
	case KW_IPSEC: {
		struct token t = token_peek(p);
		if (t.type == T_WORD && ((t.len == 2 && !memcmp(t.text, "in", 2)) ||
					 (t.len == 3 && !memcmp(t.text, "out", 3))))
			return parse_xfrm(p);
		break;
	}
	default:
		break;
	}
	int key = unqualified_key(p->tok.kw);
	if (key >= 0) {
		struct loc start = token_loc(p);
		token_next(p);
		return meta(p, start, (unsigned)key);
	}
	int base = token_is(p, T_AT) ? raw_base(p) : -1;
	return base >= 0 ? parse_raw(p, (enum proto_base)base) : NULL;
}
