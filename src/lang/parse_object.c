/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_object: stateful objects, as blocks of a table, as commands with a block, and as commands
 * of one line (`add counter t c packets 1 bytes 2`).
 */
#include "lang/parser.h"

bool parse_object_kind(struct parser *p, enum obj_kind *out)
{
	static const struct {
		enum keyword kw;
		enum obj_kind kind;
	} kinds[] = {{KW_COUNTER, OBJ_COUNTER},	  {KW_QUOTA, OBJ_QUOTA},
		     {KW_LIMIT, OBJ_LIMIT},	  {KW_SECMARK, OBJ_SECMARK},
		     {KW_SYNPROXY, OBJ_SYNPROXY}, {KW_TUNNEL, OBJ_TUNNEL}};
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (token_accept_kw(p, kinds[i].kw)) {
			*out = kinds[i].kind;
			return true;
		}
	if (!token_is_kw(p, KW_CT))
		return false;
	token_next(p);
	if (token_accept_word(p, "helper"))
		*out = OBJ_CT_HELPER;
	else if (token_accept_kw(p, KW_TIMEOUT))
		*out = OBJ_CT_TIMEOUT;
	else if (token_accept_word(p, "expectation"))
		*out = OBJ_CT_EXPECTATION;
	else
		parse_syntax_error(p, "timeout or expectation or helper");
	return true;
}

static uint8_t parse_l3proto(struct parser *p)
{
	token_next(p);
	return (uint8_t)parse_family(p);
}

/* type "ftp" protocol tcp */
static bool helper_line(struct parser *p, struct obj_decl *d)
{
	if (token_accept_kw(p, KW_TYPE)) {
		if (!token_is(p, T_QUOTED))
			parse_syntax_error(p, "quoted string");
		d->helper.type = parse_string(p);
		token_expect_word(p, "protocol");
		d->helper.l4proto = parse_l4proto(p);
	} else if (token_is_word(p, "l3proto")) {
		d->helper.l3proto = parse_l3proto(p);
	} else {
		return false;
	}
	return true;
}

/* policy = { established : 120, close : 20s } */
static void parse_timeouts(struct parser *p, struct obj_decl *d)
{
	token_expect(p, T_ASSIGN, "'='");
	token_expect(p, T_LBRACE, "'{'");
	token_skip_newlines(p);
	while (!token_is(p, T_RBRACE)) {
		struct loc loc = token_loc(p);
		if (d->timeout.n == ARRAY_SIZE(d->timeout.policy))
			parse_error(p, loc, "more than %zu timeouts",
				    ARRAY_SIZE(d->timeout.policy));
		const char *state = parse_string(p);
		struct loc state_loc = p->last;
		token_expect(p, T_COLON, "colon");
		uint64_t seconds = token_is(p, T_NUMBER) ? parse_number_max(p, UINT32_MAX)
							 : parse_time(p) / 1000;
		if (seconds > UINT32_MAX)
			parse_error(p, loc, "value too large");
		d->timeout.policy[d->timeout.n].state = state;
		d->timeout.policy[d->timeout.n].loc = state_loc;
		d->timeout.policy[d->timeout.n++].seconds = (uint32_t)seconds;
		token_skip_commas(p);
	}
	token_next(p);
}

static bool timeout_line(struct parser *p, struct obj_decl *d)
{
	if (token_accept_word(p, "protocol"))
		d->timeout.l4proto = parse_l4proto(p);
	else if (token_is_word(p, "l3proto"))
		d->timeout.l3proto = parse_l3proto(p);
	else if (token_accept_kw(p, KW_POLICY))
		parse_timeouts(p, d);
	else
		return false;
	return true;
}

static bool expectation_line(struct parser *p, struct obj_decl *d)
{
	if (token_accept_word(p, "protocol")) {
		d->expectation.l4proto = parse_l4proto(p);
	} else if (token_is_word(p, "l3proto")) {
		d->expectation.l3proto = parse_l3proto(p);
	} else if (token_accept_word(p, "dport")) {
		d->expectation.dport = (uint16_t)parse_number_max(p, UINT16_MAX);
	} else if (token_accept_kw(p, KW_TIMEOUT)) {
		struct loc loc = token_loc(p);
		uint64_t ms = parse_time(p);
		if (ms > UINT32_MAX)
			parse_error(p, loc, "value too large");
		d->expectation.timeout_ms = (uint32_t)ms;
	} else if (token_accept_kw(p, KW_SIZE)) {
		d->expectation.size = (uint8_t)parse_number_max(p, UINT8_MAX);
	} else {
		return false;
	}
	return true;
}

/* --- Tunnels --------------------------------------------------------------------------------- */

static void vxlan_item(struct parser *p, void *arg)
{
	struct obj_decl *d = arg;
	token_expect_word(p, "gbp");
	d->tunnel.gbp = (uint32_t)parse_number_max(p, UINT32_MAX);
	parse_end_of_item(p);
}

static void erspan_item(struct parser *p, void *arg)
{
	struct obj_decl *d = arg;
	if (token_accept_word(p, "version"))
		d->tunnel.version = (uint8_t)parse_number_max(p, 2);
	else if (token_accept_kw(p, KW_INDEX) || token_accept_word(p, "id"))
		d->tunnel.index = (uint32_t)parse_number_max(p, UINT32_MAX);
	else if (token_accept_word(p, "direction")) {
		d->tunnel.direction = token_is_word(p, "egress");
		if (!token_accept_word(p, "ingress") && !token_accept_word(p, "egress"))
			parse_syntax_error(p, "ingress or egress");
	} else {
		parse_syntax_error(p, NULL);
	}
	parse_end_of_item(p);
}

static void geneve_item(struct parser *p, void *arg)
{
	struct obj_decl *d = arg;
	struct tunnel_option *o = arena_new(p->a, struct tunnel_option),
			     **last = &d->tunnel.options;
	unsigned n = 0;
	for (; *last; n++)
		last = &(*last)->next;
	if (n >= GENEVE_OPTIONS_MAX)
		parse_error(p, token_loc(p), "too many options, at most %d", GENEVE_OPTIONS_MAX);
	token_expect_word(p, "class");
	o->class = (uint16_t)parse_number_max(p, UINT16_MAX);
	token_expect_word(p, "opt-type");
	o->type = (uint8_t)parse_number_max(p, UINT8_MAX);
	token_expect_word(p, "data");
	o->data = parse_string(p);
	parse_end_of_item(p);
	*last = o;
}

static void parse_tunnel_address(struct parser *p, struct obj_decl *d)
{
	token_next(p);
	bool saddr = token_is_word(p, "saddr");
	if (!token_accept_word(p, "saddr") && !token_accept_word(p, "daddr"))
		parse_syntax_error(p, "saddr or daddr");
	if (!token_is(p, T_LITERAL) && !token_is(p, T_WORD) && !token_is(p, T_NUMBER))
		parse_syntax_error(p, "string");
	struct expr *e = parse_symbol(p);
	if (saddr)
		d->tunnel.src = e;
	else
		d->tunnel.dst = e;
}

static void parse_tunnel_kind(struct parser *p, struct obj_decl *d, enum tunnel_kind kind,
			      void (*item)(struct parser *p, void *arg))
{
	struct loc loc = token_loc(p);
	token_next(p);
	if (d->tunnel.kind != TUNNEL_PLAIN)
		parse_error(p, loc, "a tunnel has one kind of options");
	d->tunnel.kind = kind;
	parse_block(p, item, d);
}

static bool tunnel_line(struct parser *p, struct obj_decl *d)
{
	if (token_accept_word(p, "id"))
		d->tunnel.id = (uint32_t)parse_number_max(p, UINT32_MAX);
	else if (token_is_kw(p, KW_IP) || token_is_kw(p, KW_IP6))
		parse_tunnel_address(p, d);
	else if (token_accept_word(p, "sport"))
		d->tunnel.sport = (uint16_t)parse_number_max(p, UINT16_MAX);
	else if (token_accept_word(p, "dport"))
		d->tunnel.dport = (uint16_t)parse_number_max(p, UINT16_MAX);
	else if (token_accept_word(p, "ttl"))
		d->tunnel.ttl = (uint8_t)parse_number_max(p, UINT8_MAX);
	else if (token_accept_word(p, "tos"))
		d->tunnel.tos = (uint8_t)parse_number_max(p, UINT8_MAX);
	else if (token_is_kw(p, KW_VXLAN))
		parse_tunnel_kind(p, d, TUNNEL_VXLAN, vxlan_item);
	else if (token_is_word(p, "erspan"))
		parse_tunnel_kind(p, d, TUNNEL_ERSPAN, erspan_item);
	else if (token_is_kw(p, KW_GENEVE))
		parse_tunnel_kind(p, d, TUNNEL_GENEVE, geneve_item);
	else
		return false;
	return true;
}

/* --- Bodies ---------------------------------------------------------------------------------- */

/* One line of a body; false if the token starts none. */
static bool object_line(struct parser *p, struct obj_decl *d)
{
	switch (d->kind) {
	case OBJ_COUNTER:
		if (!token_is_word(p, "packets") && !token_is_word(p, "bytes"))
			return false;
		parse_counter(p, &d->counter.packets, &d->counter.bytes);
		return true;
	case OBJ_QUOTA:
		if (!token_is(p, T_NUMBER) && !token_is_word(p, "over") &&
		    !token_is_word(p, "until"))
			return false;
		parse_quota(p, &d->quota);
		return true;
	case OBJ_LIMIT:
		if (!token_is_word(p, "rate"))
			return false;
		parse_limit(p, &d->limit);
		return true;
	case OBJ_CT_HELPER:
		return helper_line(p, d);
	case OBJ_CT_TIMEOUT:
		return timeout_line(p, d);
	case OBJ_CT_EXPECTATION:
		return expectation_line(p, d);
	case OBJ_SECMARK:
		if (!token_is(p, T_QUOTED) && !token_is(p, T_WORD))
			return false;
		d->secmark = parse_string(p);
		return true;
	case OBJ_SYNPROXY: {
		bool any = false;
		while (parse_synproxy_word(p, &d->synproxy))
			any = true;
		return any;
	}
	case OBJ_TUNNEL:
		return tunnel_line(p, d);
	case OBJ_KINDS:
		break;
	}
	return false;
}

static void object_item(struct parser *p, void *arg)
{
	struct obj_decl *d = arg;
	if (token_is_kw(p, KW_COMMENT)) {
		d->comment = parse_comment(p, d->comment);
		return;
	}
	if (!object_line(p, d))
		parse_syntax_error(p, NULL);
	/* The others' lines may follow each other, as nft has it. */
	if (d->kind == OBJ_CT_HELPER || d->kind == OBJ_CT_TIMEOUT ||
	    d->kind == OBJ_CT_EXPECTATION || d->kind == OBJ_TUNNEL)
		parse_end_of_item(p);
}

void parse_object_body(struct parser *p, struct cmd *object)
{
	struct obj_decl *d = object->obj_decl = arena_new(p->a, struct obj_decl);
	d->kind = object->obj_kind;
	d->options_loc = (struct loc){p->last.src, p->last.end - 1, p->last.end};
	if (token_is(p, T_LBRACE))
		parse_block(p, object_item, d);
	else if (!token_is_separator(p) && !token_is(p, T_EOF) && !object_line(p, d))
		parse_syntax_error(p, NULL);
}
