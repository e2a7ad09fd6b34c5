/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stmt: statements of the checked form become ops.
 *
 * A statement that is not evaluated, or whose value is not, is passed over and noted; it never
 * keeps the rest of its rule from being evaluated. NAT statements end the chain as they do in the
 * kernel, where the translation that they ask for has a value.
 */
#include "compile/build.h"

#define SAME(v) _Static_assert((int)PV_##v == VERDICT_##v, "verdicts are the same numbers")
SAME(ACCEPT);
SAME(DROP);
SAME(CONTINUE);
SAME(RETURN);
SAME(JUMP);
SAME(GOTO);
#undef SAME
_Static_assert(sizeof(struct prog_verdict_data) == sizeof(struct model_verdict) &&
		       offsetof(struct prog_verdict_data, chain) ==
			       offsetof(struct model_verdict, chain),
	       "verdict maps hold what eval reads");

enum { NS_PER_MS = 1000000 };

static const struct prog_expr *value(struct build *b, const struct expr *e)
{
	const struct prog_expr *p = expr_build(b, e);

	expr_check_depth(b, p);
	return p;
}

/* The value of a statement; NULL if it is not evaluated. */
static const struct prog_expr *statement_value(struct build *b, const struct expr *e)
{
	const struct prog_expr *p;

	b->statement = true;
	b->no_value = false;
	p = value(b, e);
	b->statement = false;
	return b->no_value ? NULL : p;
}

/* A number of as many bytes as it is to be stored in. */
static const struct prog_expr *value_resize(struct build *b, const struct prog_expr *v,
					    unsigned bits)
{
	struct prog_expr *p, *zero;

	if (v->len == bits_to_bytes(bits))
		return v;
	if (v->len > 8 || bits > 64)
		build_fail(b, -EINVAL);
	zero = expr_make(b, PX_CONST, bits);
	zero->bytes = arena_alloc(b->arena, zero->len);
	p = expr_make(b, PX_BINOP, bits);
	p->binop.op = PB_OR;
	p->binop.left = v;
	p->binop.right = zero;
	expr_check_depth(b, p);
	return p;
}

static void no_effect(struct build *b, const char *what)
{
	build_note(b, COMPILE_NO_EFFECT, what);
}

static void verdict(struct build *b, const struct expr *e)
{
	struct prog_op op = {.kind = PO_VERDICT};

	if (e->kind == EX_MAP) {
		op.kind = PO_VMAP;
		op.lookup.key = value(b, e->map.key);
		op.lookup.set = set_build(b, e->map.to, op.lookup.key, DATA_VERDICT, 0, OBJ_KINDS);
	} else if (e->kind == EX_VERDICT) {
		op.verdict.code = (uint8_t)e->verdict.code;
		if (e->verdict.chain && !(op.verdict.target = program_of(e->verdict.chain)))
			build_fail(b, -EINVAL);
	} else {
		build_fail(b, -EINVAL);
	}
	build_op(b, &op);
}

static void state(struct build *b, enum prog_op_kind kind, struct state *st)
{
	struct prog_op op = {.kind = (uint8_t)kind, .state = st};

	if (!st)
		build_fail(b, -EINVAL);
	switch (state_kind_of(st)) {
	case STATE_CONNLIMIT:
		b->out->needs |= NEED_CONNTRACK | NEED_EXACT | NEED_CONNS;
		break;
	case STATE_QUOTA:
	case STATE_LIMIT:
		b->out->needs |= NEED_EXACT;
		break;
	case STATE_LAST:
		b->out->needs |= NEED_ORDER;
		break;
	default:
		break;
	}
	build_op(b, &op);
}

/* Objects that are not evaluated, as the statement that names one is written. */
static const char *object_statement(struct build *b, enum obj_kind kind)
{
	switch (kind) {
	case OBJ_SECMARK:
		return "meta secmark set";
	case OBJ_TUNNEL:
		return "tunnel name";
	case OBJ_SYNPROXY:
		return "synproxy";
	default:
		return arena_printf(b->arena, "%s set", obj_kind_name(kind));
	}
}

static void object(struct build *b, const struct stmt *s)
{
	const struct expr *name = s->objref.name;
	struct prog_op op = {.kind = PO_OBJMAP};

	switch (s->objref.kind) {
	case OBJ_COUNTER:
	case OBJ_QUOTA:
	case OBJ_LIMIT:
		break;
	default:
		no_effect(b, object_statement(b, s->objref.kind));
		return;
	}
	if (name && name->kind == EX_MAP) {
		op.lookup.key = statement_value(b, name->map.key);
		if (!op.lookup.key)
			return;
		op.lookup.set =
			set_build(b, name->map.to, op.lookup.key, DATA_OBJECT, 0, s->objref.kind);
		b->out->needs |= NEED_EXACT;
		build_op(b, &op);
		return;
	}
	if (!s->objref.object)
		build_fail(b, -EINVAL);
	state(b, PO_STATE, s->objref.object->state);
}

static void log_stmt(struct build *b, const struct stmt *s)
{
	enum { LEVEL_WARNING = 4 };
	struct prog_log *l = arena_new(b->arena, struct prog_log);
	const char *prefix = s->log.prefix ? s->log.prefix : "";

	l->prefix = arena_strndup(b->arena, prefix, strlen(prefix));
	l->level = s->log.level == LOG_LEVEL_NONE ? LEVEL_WARNING : s->log.level;
	l->group = s->log.has_group ? s->log.group : PROG_LOG_GROUP_NONE;
	l->flags = s->log.flags;
	l->snaplen = s->log.has_snaplen ? s->log.snaplen : 0;
	build_op(b, &(struct prog_op){.kind = PO_LOG, .log = l});
}

static void meta_set(struct build *b, const struct stmt *s)
{
	const struct expr *target = s->assign.target;
	struct prog_op op = {.kind = PO_META_SET};

	switch (target->key) {
	case META_MARK:
		op.meta_set.key = PMS_MARK;
		break;
	case META_PRIORITY:
		op.meta_set.key = PMS_PRIORITY;
		break;
	case META_PKTTYPE:
		op.meta_set.key = PMS_PKTTYPE;
		break;
	case META_NFTRACE:
		op.meta_set.key = PMS_NFTRACE;
		break;
	default:
		no_effect(b, arena_printf(b->arena, "meta %s set", meta_keys[target->key].name));
		return;
	}
	op.meta_set.value = statement_value(b, s->assign.value);
	if (op.meta_set.value)
		build_op(b, &op);
}

static void ct_set(struct build *b, const struct stmt *s)
{
	const struct expr *target = s->assign.target;
	struct prog_op op = {.kind = PO_CT_SET};

	b->out->needs |= NEED_CONNTRACK | NEED_EXACT;
	if (target->ct.key != CT_MARK) {
		no_effect(b, arena_printf(b->arena, "ct %s set", ct_keys[target->ct.key].name));
		return;
	}
	op.ct_set.key = PCS_MARK;
	op.ct_set.value = statement_value(b, s->assign.value);
	if (op.ct_set.value)
		build_op(b, &op);
}

/* Fields of the network header that the transport's checksum covers too. */
static bool field_is_pseudo(const struct proto_header *h, const struct proto_field *f)
{
	static const char *const names[] = {"saddr", "daddr", "length", "protocol", "nexthdr"};

	if (h != &proto_ip && h != &proto_ip6)
		return false;
	for (unsigned k = 0; k < ARRAY_SIZE(names); k++)
		if (!strcmp(f->name, names[k]))
			return true;
	return false;
}

static void field_checksum(struct prog_op *op, const struct proto_header *h,
			   const struct proto_field *f)
{
	op->packet_set.pseudo = field_is_pseudo(h, f);
	if (!h->checksum || h->checksum == f)
		return;
	op->packet_set.checksum = PCK_INET;
	if (h == &proto_udp)
		op->packet_set.checksum = PCK_UDP;
	else if (h == &proto_sctp)
		op->packet_set.checksum = PCK_SCTP;
	op->packet_set.checksum_off = h->checksum->off / 8;
}

static void payload_set(struct build *b, const struct stmt *s)
{
	enum { ETHER_LEN = 14, TAG_LEN = 4 };
	const struct expr *t = s->assign.target;
	struct prog_op op = {.kind = PO_PACKET_SET};

	if (t->kind == EX_RAW && !t->raw.tunnel) {
		op.packet_set.base = (uint8_t)t->raw.base;
		op.packet_set.bit_off = t->raw.off;
	} else if (t->kind == EX_PAYLOAD && !t->payload.tunnel &&
		   t->payload.header == &proto_vlan) {
		op.packet_set.base = BASE_LL;
		op.packet_set.bit_off =
			(ETHER_LEN + b->vlan_tag * TAG_LEN) * 8u + t->payload.field->off;
		op.packet_set.tags = (uint8_t)(b->vlan_tag + 1);
	} else if (t->kind == EX_PAYLOAD && !t->payload.tunnel) {
		op.packet_set.base = t->payload.header->base;
		op.packet_set.bit_off = t->payload.field->off;
		field_checksum(&op, t->payload.header, t->payload.field);
	} else {
		no_effect(b, "vxlan, gre ... set");
		return;
	}
	op.packet_set.bits = t->bits;
	op.packet_set.value = statement_value(b, s->assign.value);
	if (!op.packet_set.value)
		return;
	op.packet_set.value = value_resize(b, op.packet_set.value, t->bits);
	build_op(b, &op);
}

static uint8_t option_kind(const struct expr *e)
{
	return (uint8_t)(e->option.option ? e->option.option->kind : e->option.kind);
}

static void option_set(struct build *b, const struct stmt *s)
{
	const struct expr *t = s->assign.target;
	struct prog_op op = {.kind = PO_OPTION_SET};
	uint32_t off = t->option.off + (t->option.field ? t->option.field->off : 0u);

	if (t->option.class != OPT_TCP || off % 8 ||
	    (t->bits != 8 && t->bits != 16 && t->bits != 32)) {
		no_effect(b, "option set");
		return;
	}
	op.option_set.kind = option_kind(t);
	op.option_set.off = off / 8;
	op.option_set.len = t->bits / 8;
	op.option_set.value = statement_value(b, s->assign.value);
	if (op.option_set.value)
		build_op(b, &op);
}

static void option_reset(struct build *b, const struct stmt *s)
{
	struct prog_op op = {.kind = PO_OPTION_RESET};

	if (s->assign.target->option.class != OPT_TCP) {
		no_effect(b, "option reset");
		return;
	}
	op.option_kind = option_kind(s->assign.target);
	build_op(b, &op);
}

/* Where the translation comes from a map, a packet without an entry there ends the rule. */
static void nat_operand(struct build *b, const struct expr *e)
{
	struct prog_op op = {.kind = PO_LOOKUP};

	if (!e || e->kind != EX_MAP)
		return;
	op.lookup.key = value(b, e->map.key);
	op.lookup.set = set_build(b, e->map.to, op.lookup.key, DATA_NONE, 0, OBJ_KINDS);
	build_op(b, &op);
}

/* The ports that it asks for; false: not known before the packet. */
static bool nat_ports(const struct expr *e, struct prog_nat *n)
{
	n->port_hi = UINT16_MAX;
	if (!e)
		return true;
	if (e->kind != EX_VALUE && e->kind != EX_RANGE)
		return false;
	n->port_lo = (uint16_t)expr_u64(e->kind == EX_RANGE ? e->pair.left : e);
	n->port_hi = (uint16_t)expr_u64(e->kind == EX_RANGE ? e->pair.right : e);
	return true;
}

/*
 * The addresses that it asks for. Of a range a source keeps its own address if that is in it, and
 * so does what is mapped net to net; a destination gets any one of it.
 */
static void nat_addrs(struct build *b, const struct stmt *s, struct prog_nat *n)
{
	const struct expr *e = s->nat.addr, *lo = e, *hi = e;
	uint8_t *last;

	if (s->nat.kind == NAT_MASQUERADE || s->nat.kind == NAT_REDIRECT)
		n->addr = PNA_HOST;
	if (!e)
		return;
	n->addr = PNA_OTHER;
	if (e->kind == EX_RANGE) {
		lo = e->pair.left;
		hi = e->pair.right;
	} else if (e->kind == EX_PREFIX) {
		lo = hi = e->prefix.base;
	}
	if (lo->kind != EX_VALUE || hi->kind != EX_VALUE || (lo->bits != 32 && lo->bits != 128) ||
	    (e->kind != EX_VALUE && !n->source && !(s->nat.flags & NATF_NETMAP)))
		return;
	n->addr = PNA_RANGE;
	n->len = (uint8_t)(lo->bits / 8);
	n->lo = expr_constant(b, lo, n->len);
	n->hi = last = arena_dup(b->arena, expr_bytes(hi), n->len);
	for (unsigned bit = e->kind == EX_PREFIX ? e->prefix.len : lo->bits; bit < lo->bits; bit++)
		last[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

static void nat(struct build *b, const struct stmt *s)
{
	static const char *const names[] = {
		[NAT_SNAT] = "snat",
		[NAT_DNAT] = "dnat",
		[NAT_MASQUERADE] = "masquerade",
		[NAT_REDIRECT] = "redirect",
	};
	struct prog_nat *n = arena_alloc(b->arena, sizeof(*n));
	struct prog_op op = {.kind = PO_NAT, .nat = n};

	*n = (struct prog_nat){.source = s->nat.kind == NAT_SNAT || s->nat.kind == NAT_MASQUERADE};
	b->out->needs |= NEED_CONNTRACK | NEED_EXACT;
	build_note(b, COMPILE_NAT, names[s->nat.kind]);
	nat_operand(b, s->nat.addr);
	nat_operand(b, s->nat.port);
	nat_addrs(b, s, n);
	if (!nat_ports(s->nat.port, n) ||
	    (n->source && s->nat.flags & (NATF_RANDOM | NATF_FULLY_RANDOM)))
		n->addr = PNA_OTHER;
	build_op(b, &op);
}

static void queue(struct build *b, const struct stmt *s)
{
	const struct expr *num = s->queue.num;
	struct prog_op op = {.kind = PO_QUEUE};

	if (num && num->kind == EX_RANGE) {
		uint32_t from = (uint32_t)expr_u64(num->pair.left);
		uint32_t to = (uint32_t)expr_u64(num->pair.right);

		op.queue.number = expr_symhash(b, to >= from ? to - from + 1 : 1, from);
	} else if (num) {
		op.queue.number = statement_value(b, num);
	}
	build_op(b, &op);
}

/* What elements that a rule makes are given; NULL if the rule says nothing of it. */
static const struct state_template *element_states(struct build *b, const struct stmt *stmts)
{
	struct state_template *t = NULL;
	int err = model_state_template(stmts, &t);

	if (!err && t) {
		err = vec_push(&b->out->templates, t);
		if (err)
			state_template_free(t);
	}
	if (err)
		build_fail(b, err);
	elements_need(b, stmts);
	return t;
}

/*
 * Packets of a burst may each add an element; what that takes is made ready. Where they take some
 * out a bitmap must become another kind.
 */
static void adds(struct build *b, const struct prog_op *op)
{
	int err = op->update.op == PU_DELETE && set_kind_of(op->update.set) != SET_BITMAP
			  ? 0
			  : set_expect_updates(op->update.set, op->update.template,
					       op->update.timeout_ns, SET_BATCH_MAX);
	if (err)
		build_fail(b, err);
}

/* The old form of a dynamic set, which belongs to its rule alone. */
static void meter(struct build *b, const struct stmt *s)
{
	const struct elem_expr *e = s->meter.elem;
	struct prog_op op = {.kind = PO_UPDATE};

	b->out->needs |= NEED_EXACT;
	op.update.op = e->has_timeout ? PU_UPDATE : PU_ADD;
	op.update.key = statement_value(b, e->key);
	if (!op.update.key)
		return;
	op.update.set = dynamic_build(b, op.update.key, s->meter.size, e->has_timeout);
	if (e->has_timeout)
		op.update.timeout_ns = e->timeout * NS_PER_MS;
	op.update.template = element_states(b, e->stmts);
	adds(b, &op);
	build_op(b, &op);
}

static void update(struct build *b, const struct stmt *s)
{
	static const uint8_t ops[] = {
		[SETOP_ADD] = PU_ADD,
		[SETOP_UPDATE] = PU_UPDATE,
		[SETOP_DELETE] = PU_DELETE,
	};
	const struct elem_expr *e = s->set.elem;
	const struct model_set *set = s->set.set->setref.set;
	struct prog_op op = {.kind = PO_UPDATE};

	b->out->needs |= NEED_EXACT;
	op.update.op = ops[s->set.op];
	op.update.set = set->set;
	op.update.key = statement_value(b, e->key);
	if (!op.update.key)
		return;
	if (op.update.key->len != set_key_len(set->set))
		build_fail(b, -EINVAL);
	if (e->data && s->set.op != SETOP_DELETE) {
		op.update.data = statement_value(b, e->data);
		if (!op.update.data)
			return;
		op.update.data =
			value_resize(b, op.update.data, set_desc_of(set->set)->data_len * 8u);
	}
	if (e->timeout_never)
		op.update.timeout_ns = SET_NEVER;
	else if (e->has_timeout)
		op.update.timeout_ns = e->timeout * NS_PER_MS;
	op.update.template = element_states(b, e->stmts);
	elements_need(b, set->decl.stmts);
	adds(b, &op);
	build_op(b, &op);
}

/* Extensions of iptables: nobody knows what such a match would say, so it says no. */
static void xt(struct build *b, const struct stmt *s)
{
	bool match = s->xt.type && !strcmp(s->xt.type, "match");
	const char *name = arena_printf(b->arena, "xt %s %s", match ? "match" : "target",
					s->xt.name ? s->xt.name : "");

	if (!match) {
		no_effect(b, name);
		return;
	}
	build_note(b, COMPILE_NO_VALUE, name);
	build_op(b, &(struct prog_op){.kind = PO_NEVER});
}

void stmt_build(struct build *b, const struct stmt *s)
{
	switch ((enum stmt_kind)s->kind) {
	case ST_MATCH:
		match_build(b, s->expr);
		break;
	case ST_VERDICT:
		verdict(b, s->expr);
		break;
	case ST_COUNTER:
	case ST_QUOTA:
	case ST_LIMIT:
	case ST_LAST:
		state(b, PO_STATE, s->state);
		break;
	case ST_CONNLIMIT:
		state(b, PO_CONNLIMIT, s->state);
		break;
	case ST_OBJREF:
		object(b, s);
		break;
	case ST_LOG:
		log_stmt(b, s);
		break;
	case ST_REJECT:
		build_op(b, &(struct prog_op){.kind = PO_REJECT});
		break;
	case ST_META_SET:
		meta_set(b, s);
		break;
	case ST_CT_SET:
		ct_set(b, s);
		break;
	case ST_PAYLOAD_SET:
	case ST_OPTION_SET:
		if (s->assign.target->kind == EX_OPTION)
			option_set(b, s);
		else
			payload_set(b, s);
		break;
	case ST_OPTION_RESET:
		option_reset(b, s);
		break;
	case ST_NAT:
		nat(b, s);
		break;
	case ST_TPROXY:
		no_effect(b, "tproxy");
		break;
	case ST_SYNPROXY:
		no_effect(b, "synproxy");
		break;
	case ST_NOTRACK:
		b->out->needs |= NEED_EXACT;
		build_op(b, &(struct prog_op){.kind = PO_NOTRACK});
		break;
	case ST_QUEUE:
		queue(b, s);
		break;
	case ST_SET:
		update(b, s);
		break;
	case ST_DUP:
		no_effect(b, "dup");
		break;
	case ST_FWD:
		build_op(b, &(struct prog_op){.kind = PO_FWD});
		break;
	case ST_FLOW_OFFLOAD:
		no_effect(b, "flow add");
		break;
	case ST_XT:
		xt(b, s);
		break;
	case ST_METER:
		meter(b, s);
		break;
	case ST_KINDS:
		build_fail(b, -EINVAL);
	}
}
