/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast: expressions, statements and commands of nft's language.
 *
 * One form serves twice. The parsers (text, JSON) build it with symbols unresolved and no types;
 * the model's checks resolve it in place: every constant becomes EX_VALUE of a known type and width,
 * dependencies are added as statements marked `implicit`, and what nft would not list again is
 * marked `hidden`. The printers (text, JSON) print the checked form, and the compiler reads it.
 *
 * The checked form. Every expression has type and bits. ST_MATCH holds an EX_COMPARE: left is what is
 * read from the packet (EX_PAYLOAD, EX_META, EX_BINOP of such and constants, EX_CONCAT, ...), right
 * is EX_VALUE, EX_PREFIX, EX_RANGE, EX_SET, EX_SETREF, EX_LIST, or for a binary operation another
 * such expression. OP_IMPLICIT stays only where it is a test of bits (a bitmask type against a value
 * or EX_LIST of values: any of the bits is set); with an EX_LIST the bits are or-ed; everywhere else
 * the operator is explicit, OP_EQ and OP_NEQ against sets meaning membership and its opposite.
 * `flags / mask` is `(left & mask) == flags`. A lookup key is the bytes of its fields, each
 * bits_to_bytes() long, without padding; an interface name's wildcard is a prefix of its bytes.
 * Anonymous sets are sorted by key, without duplicates, intervals merged. A reject statement has
 * the type that its family gives it; in ip and ip6 the default code becomes NULL, since nft does
 * not list it there, elsewhere the code stays.
 *
 * The elements of a command may be millions, which as nodes would be many times the text. So an
 * EX_SET that stands in a command, or is a variable's value, has EX_MEMBERS for members without
 * variables; it is read through members.h, some at a time, and the command stays as it is. All other
 * sets have nodes alone.
 *
 * All nodes live in an arena and point only into it, to constant tables, and (text slices of the
 * unchecked form) into the sources of the load. A rule that the model keeps is a clone in an arena
 * of its own. Nodes are never shared between two parents, a variable's value is cloned at each use.
 * One thread.
 */
#ifndef TAMIS_LANG_AST_H
#define TAMIS_LANG_AST_H

#include "lang/proto.h"
#include "lang/source.h"

struct expr;
struct stmt;

struct expr_list {
	struct expr **items;
	uint32_t n, cap;
};

/* --- Expressions -------------------------------------------------------------------------- */

enum expr_kind {
	EX_SYMBOL,   /* symbol: a word, number or quoted string not yet given a meaning */
	EX_VALUE,    /* value: constant of e->type, e->bits wide. JSON's numbers have type_integer */
	EX_PREFIX,   /* prefix: base/len */
	EX_RANGE,    /* pair: left-right, both ends included */
	EX_SET,	     /* list: an anonymous set or the elements of a command; items are keys or EX_ELEM */
	EX_LIST,     /* list: a,b,c (flags) */
	EX_CONCAT,   /* list: a . b . c */
	EX_ELEM,     /* elem: a set element with options, or a map element */
	EX_CATCHALL, /* the element `*` */
	EX_SETREF,   /* setref: @name */
	EX_MAP,	     /* map: key map {..} or key map @name; also vmap and object maps */
	EX_VERDICT,  /* verdict */
	EX_PAYLOAD,  /* payload: a field of a header */
	EX_RAW,	     /* raw: @base,off,len */
	EX_OPTION,   /* option: IPv6 extension header, TCP/IP/DCCP option, SCTP chunk */
	EX_META,     /* key: enum meta_key */
	EX_CT,	     /* ct */
	EX_RT,	     /* rt */
	EX_SOCKET,   /* socket */
	EX_FIB,	     /* fib */
	EX_OSF,	     /* osf */
	EX_NUMGEN,   /* numgen */
	EX_HASH,     /* hash: jhash, symhash */
	EX_XFRM,     /* xfrm: `ipsec in reqid` ... */
	EX_TUNNEL,   /* key: 0 path, 1 id */
	EX_BINOP,    /* pair + op: & | ^ << >> */
	EX_COMPARE,  /* pair + op: a match */
	EX_MEMBERS,  /* members: of a set, still as text; of commands' elements alone */
	EX_KINDS
};

enum expr_op {
	OP_NONE,
	/* EX_COMPARE. IMPLICIT is what no operator means: equality, set membership, a flag test. */
	OP_IMPLICIT, OP_EQ, OP_NEQ, OP_LT, OP_GT, OP_LE, OP_GE,
	OP_NOT,	 /* `tcp flags ! syn`: none of the flags is set */
	/* EX_BINOP */
	OP_AND, OP_OR, OP_XOR, OP_LSHIFT, OP_RSHIFT,
};

enum verdict_code {
	VERDICT_ACCEPT, VERDICT_DROP, VERDICT_CONTINUE, VERDICT_RETURN, VERDICT_JUMP, VERDICT_GOTO,
	VERDICT_CODES
};

/* Where a value that the checks produced came from a form that lists differently. */
enum expr_flag {
	EXF_STRING = 1,	  /* EX_SYMBOL: was quoted; EX_VALUE: prints quoted */
	EXF_WILDCARD = 2, /* EX_VALUE of type ifname: `eth*`; bits holds the prefix's width */
	EXF_NUMBER = 4,	  /* EX_SYMBOL that was a number: its text is decimal, whatever was written */
	EXF_MISSING = 8,  /* EX_OPTION, EX_FIB in an `exists/missing` comparison */
};

struct rule_list;
struct model_chain; /* of the model, which the checks link to; not looked into here */
struct model_set;
struct model_object;

struct expr {
	uint8_t kind;	/* enum expr_kind */
	uint8_t op;	/* enum expr_op */
	uint8_t flags;	/* EXF_* */
	uint32_t bits;	/* width, 0 before the checks */
	struct loc loc;
	const struct datatype *type; /* NULL before the checks, except for numbers and fields */
	union {
		struct {
			const char *text;
			uint32_t len;
		} symbol;
		union {
			uint8_t in[24];	    /* up to 24 bytes in place */
			uint8_t *out;	    /* more in the arena */
		} value;		    /* through expr_bytes() */
		struct {
			struct expr *base;
			uint32_t len;
		} prefix;
		struct {
			struct expr *left, *right;
		} pair;
		struct expr_list list;
		struct {
			uint32_t n;	/* members in loc */
			uint32_t nodes; /* that they would be */
			uint32_t depth; /* of the deepest one */
		} members;
		struct elem_expr *elem;
		struct {
			const char *name;
			struct model_set *set; /* set by the checks */
		} setref;
		struct {
			struct expr *key;
			struct expr *to; /* EX_SET of mappings, or EX_SETREF */
			bool vmap;
		} map;
		struct {
			enum verdict_code code;
			struct expr *name;	     /* JUMP, GOTO: a symbol; unchecked form */
			struct rule_list *body;	     /* or the rules of an anonymous chain */
			struct model_chain *chain;   /* set by the checks; also for anonymous ones */
			const char *chain_name;	     /* set by the checks */
		} verdict;
		struct {
			const struct proto_header *header;
			const struct proto_field *field;
			const struct proto_header *tunnel; /* vxlan ip saddr: the outer header */
		} payload;
		struct {
			enum proto_base base;
			uint32_t off; /* in bits; the width is e->bits */
			const struct proto_header *tunnel;
		} raw;
		struct {
			enum option_class class;
			bool existence; /* `exthdr frag`, `tcp option x`, `ip option x`: 1 bit */
			const struct proto_option *option; /* NULL: by `kind` alone */
			const struct proto_field *field;
			uint16_t kind, off; /* `tcp option @kind,off,len`; off in bits */
		} option;
		unsigned key;
		struct {
			unsigned key;	  /* enum ct_key */
			int8_t direction; /* -1 none, 0 original, 1 reply */
			uint8_t nfproto;  /* `ct original ip saddr`: 2, 10, else 0 */
		} ct;
		struct {
			unsigned key; /* 0 classid, 1 nexthop, 2 mtu, 3 ipsec */
			uint8_t nfproto;
		} rt;
		struct {
			unsigned key; /* 0 transparent, 1 mark, 2 wildcard, 3 cgroupv2 */
			uint32_t level;
		} socket;
		struct {
			unsigned flags;	 /* FIB_* */
			unsigned result; /* 0 oif, 1 oifname, 2 type */
			bool check;
		} fib;
		struct {
			unsigned ttl; /* 0 default, 1 loose, 2 skip */
			bool version;
		} osf;
		struct {
			unsigned type; /* 0 inc, 1 random */
			uint32_t mod, offset;
		} numgen;
		struct {
			struct expr *key; /* NULL: symhash */
			uint32_t mod, seed, offset;
			bool has_seed;
		} hash;
		struct {
			unsigned key; /* 0 reqid, 1 spi, 2 saddr, 3 daddr */
			uint8_t direction, nfproto, spnum;
		} xfrm;
	};
};

enum { FIB_SADDR = 1, FIB_DADDR = 2, FIB_MARK = 4, FIB_IIF = 8, FIB_OIF = 16 };

/* A set element with anything beside its key. Times in ms. */
struct elem_expr {
	struct expr *key;
	struct expr *data;	/* maps: value, EX_VERDICT, object name (EX_SYMBOL) */
	uint64_t timeout, expires;
	bool has_timeout, has_expires, timeout_never;
	const char *comment;
	struct stmt *stmts;	/* counter, quota, limit, last, connlimit */
};

static inline const uint8_t *expr_bytes(const struct expr *e)
{
	return bits_to_bytes(e->bits) <= sizeof(e->value.in) ? e->value.in : e->value.out;
}

struct expr *expr_new(struct arena *a, enum expr_kind kind, struct loc loc);
/* Constant of `bits` bits from bytes (right-aligned, network order). */
struct expr *expr_value(struct arena *a, struct loc loc, const struct datatype *type,
			const uint8_t *bytes, unsigned bits);
/* Constant from a number; bits at most 64. */
struct expr *expr_number(struct arena *a, struct loc loc, const struct datatype *type, uint64_t v,
			 unsigned bits);
/* The number of an EX_VALUE; its low 64 bits if it is wider. */
uint64_t expr_u64(const struct expr *e);
/* Makes e an EX_VALUE in place, keeping its place in the text. */
void expr_set_value(struct arena *a, struct expr *e, const struct datatype *type,
		    const uint8_t *bytes, unsigned bits);
void expr_list_add(struct arena *a, struct expr_list *l, struct expr *e);
/* Deep copies into `a`; text slices of the unchecked form are copied too. NULL gives NULL. */
struct expr *expr_clone(struct arena *a, const struct expr *e);
struct stmt *stmt_clone_list(struct arena *a, const struct stmt *s);
/*
 * Whether the two read the same value of the same packet. Never for numgen, for elements with
 * statements, and for anonymous chains.
 */
bool expr_equal(const struct expr *a, const struct expr *b);
/* The depth of a tree; *nodes is counted up by its nodes. */
unsigned expr_measure(const struct expr *e, uint32_t *nodes);

/* --- Statements --------------------------------------------------------------------------- */

enum stmt_kind {
	ST_MATCH,	/* expr: EX_COMPARE, or a bare EX_* for `X exists`-like forms */
	ST_VERDICT,	/* expr: EX_VERDICT, or EX_MAP with vmap */
	ST_COUNTER,	/* counter */
	ST_QUOTA,	/* quota */
	ST_LIMIT,	/* limit */
	ST_LAST,	/* last */
	ST_CONNLIMIT,	/* connlimit: ct count */
	ST_OBJREF,	/* objref: counter name "x", and so on */
	ST_LOG,		/* log */
	ST_REJECT,	/* reject */
	ST_META_SET,	/* assign */
	ST_CT_SET,	/* assign */
	ST_PAYLOAD_SET, /* assign: target is EX_PAYLOAD or EX_RAW */
	ST_OPTION_SET,	/* assign: target is EX_OPTION */
	ST_OPTION_RESET,/* assign.target: reset tcp option x */
	ST_NAT,		/* nat: snat, dnat, masquerade, redirect */
	ST_TPROXY,	/* nat */
	ST_SYNPROXY,	/* synproxy */
	ST_NOTRACK,
	ST_QUEUE,	/* queue */
	ST_SET,		/* set: add/update/delete @set { key } and @map { key : data } */
	ST_METER,	/* meter: the old form; checked into ST_SET on a dynamic set */
	ST_DUP,		/* dup: dup, fwd */
	ST_FWD,
	ST_FLOW_OFFLOAD,/* name */
	ST_XT,		/* xt: parsed from JSON or listings, never evaluated */
	ST_KINDS
};

enum obj_kind {
	OBJ_COUNTER, OBJ_QUOTA, OBJ_LIMIT, OBJ_CT_HELPER, OBJ_CT_TIMEOUT, OBJ_CT_EXPECTATION,
	OBJ_SECMARK, OBJ_SYNPROXY, OBJ_TUNNEL, OBJ_KINDS
};

struct limit_spec {
	uint64_t rate, burst;	/* packets or bytes */
	uint32_t unit;		/* seconds: 1, 60, 3600, 86400, 604800 */
	bool bytes, over, has_burst;
};

struct quota_spec {
	uint64_t bytes, used;
	bool over;
};

struct synproxy_spec {
	uint16_t mss;
	uint8_t wscale;
	bool has_mss, has_wscale, timestamp, sack_perm;
};

enum { LOG_LEVEL_NONE = -1, LOG_LEVEL_AUDIT = 8 };
enum { LOGF_TCP_SEQ = 1, LOGF_TCP_OPT = 2, LOGF_IP_OPT = 4, LOGF_UID = 8, LOGF_MAC = 32,
       LOGF_ALL = 47 };
enum nat_kind { NAT_SNAT, NAT_DNAT, NAT_MASQUERADE, NAT_REDIRECT };
enum { NATF_RANDOM = 1, NATF_FULLY_RANDOM = 2, NATF_PERSISTENT = 4, NATF_NETMAP = 8,
       NATF_INTERVAL = 16, NATF_CONCAT = 32 };
enum { QUEUEF_BYPASS = 1, QUEUEF_FANOUT = 2 };
enum reject_type { REJECT_DEFAULT, REJECT_ICMP, REJECT_ICMPV6, REJECT_ICMPX, REJECT_TCP_RST };
enum set_op { SETOP_ADD, SETOP_UPDATE, SETOP_DELETE };

struct stmt {
	uint8_t kind;	/* enum stmt_kind */
	bool implicit;	/* a dependency that the checks added; not listed */
	bool hidden;	/* written by the user, but not listed again, as nft drops it; evaluated */
	struct loc loc;
	struct stmt *next;
	void *state;	/* of the model: the running state of a counter, quota, limit, last, connlimit */
	union {
		struct expr *expr;
		struct {
			uint64_t packets, bytes;
		} counter;
		struct quota_spec quota;
		struct limit_spec limit;
		struct {
			uint64_t used_ms; /* before now */
			bool set;
		} last;
		struct {
			uint32_t count;
			bool over;
		} connlimit;
		struct {
			enum obj_kind kind;
			struct expr *name; /* EX_SYMBOL/EX_VALUE string, or EX_MAP to object names */
			struct model_object *object; /* set by the checks for a plain name */
		} objref;
		struct {
			const char *prefix;
			int level; /* 0..7, LOG_LEVEL_*: NONE lists nothing and means warning (4) */
			uint32_t flags, snaplen;
			uint16_t group, qthreshold;
			bool has_group, has_snaplen, has_qthreshold;
		} log;
		struct {
			enum reject_type type;
			struct expr *code; /* checked: NULL lists `reject` alone */
		} reject;
		struct {
			struct expr *target, *value;
		} assign;
		struct {
			enum nat_kind kind; /* ST_NAT */
			uint8_t nfproto;    /* `dnat ip to`: 2 or 10, else 0 */
			bool implicit_family;
			struct expr *addr, *port;
			uint32_t flags;
		} nat;
		struct synproxy_spec synproxy;
		struct {
			struct expr *num; /* value, range, map, or NULL for 0 */
			uint32_t flags;
		} queue;
		struct {
			enum set_op op;
			struct expr *set;    /* EX_SETREF */
			struct elem_expr *elem; /* key, timeout, stmts; data for maps */
			/* Set by the checks: the set has statements itself, and listings leave
			 * these out. */
			bool stmts_hidden;
		} set;
		struct {
			const char *name;
			uint32_t size;
			struct elem_expr *elem;
		} meter;
		struct {
			struct expr *to, *dev;
			uint8_t nfproto; /* fwd ip to X device Y */
		} dup;
		const char *name;
		struct {
			const char *type, *name;
		} xt;
	};
};

struct stmt *stmt_new(struct arena *a, enum stmt_kind kind, struct loc loc);
/* Whether `target set value` names an object (ct helper, timeout, expectation; meta secmark): ST_OBJREF. */
bool assignment_object(const struct expr *target, const struct expr *value, enum obj_kind *kind);

struct rule_decl {
	struct loc loc;
	struct stmt *stmts;
	const char *comment;
	uint64_t handle; /* 0: none yet */
	uint32_t barred; /* set by the checks: base chains that it may not be reached from, bits
			    of base_bit() */
};

/* The body of an anonymous chain. */
struct rule_list {
	struct rule_decl *items;
	uint32_t n, cap;
};

/* --- Declarations ------------------------------------------------------------------------- */

enum family { FAMILY_IP = 2, FAMILY_IP6 = 10, FAMILY_INET = 1, FAMILY_ARP = 3, FAMILY_BRIDGE = 7,
	      FAMILY_NETDEV = 5, FAMILY_ANY = 0 };

enum hook { HOOK_NONE, HOOK_INGRESS, HOOK_PREROUTING, HOOK_INPUT, HOOK_FORWARD, HOOK_OUTPUT,
	    HOOK_POSTROUTING, HOOK_EGRESS, HOOKS };
enum chain_type { CHAIN_FILTER, CHAIN_NAT, CHAIN_ROUTE };

_Static_assert(HOOKS <= 8, "a byte for each type of chain");

static inline uint32_t base_bit(enum chain_type type, enum hook hook)
{
	return 1u << (type * 8 + hook);
}

enum { TABLEF_DORMANT = 1, TABLEF_OWNER = 2, TABLEF_PERSIST = 4 };

struct table_decl {
	const char *comment;
	uint32_t flags;
};

struct chain_decl {
	const char *comment;
	bool base; /* the rest is for base chains only */
	enum chain_type type;
	enum hook hook;
	int32_t priority;
	struct expr *priority_expr;  /* unchecked: a symbol `filter` and an offset, or a variable */
	int32_t priority_offset;
	bool has_policy;
	enum verdict_code policy;
	struct expr *policy_expr;    /* unchecked: `policy $x` */
	struct expr_list devices;    /* strings */
	bool offload;
	struct loc hook_loc, priority_loc, devices_loc;
};

enum { SETF_ANONYMOUS = 1, SETF_CONSTANT = 2, SETF_INTERVAL = 4, SETF_MAP = 8, SETF_TIMEOUT = 16,
       SETF_DYNAMIC = 32, SETF_OBJECT = 64, SETF_CONCAT = 128 };

struct set_type {
	/* `type a . b`: n types; `typeof expr`: the expression too, types worked out by the checks. */
	const struct datatype *fields[CONCAT_MAX];
	uint16_t bits[CONCAT_MAX];
	uint8_t n;
	struct expr *of; /* typeof */
	bool interval;	 /* data: `interval ipv4_addr`, ranges and prefixes as values */
};

struct set_decl {
	struct set_type key, data; /* data.n is 0 for sets */
	enum obj_kind obj;	   /* with SETF_OBJECT */
	uint32_t flags;		   /* SETF_* */
	uint64_t timeout, gc_interval; /* ms, 0: none */
	uint32_t size;		   /* 0: none */
	uint32_t count;		   /* of a listing; read and ignored */
	bool auto_merge, policy_memory, has_policy;
	const char *comment;
	struct stmt *stmts;	   /* given to every element */
	/* EX_SET or NULL; the parsers give elements as a CO_ELEMENTS command of their own. */
	struct expr *elements;
	struct loc type_loc, loc; /* loc: of what the checks say of it as a whole */
};

enum { GENEVE_OPTIONS_MAX = 63 }; /* what fits into a header, RFC 8926, 3.4 */

enum tunnel_kind { TUNNEL_PLAIN, TUNNEL_VXLAN, TUNNEL_ERSPAN, TUNNEL_GENEVE };

struct tunnel_option {
	struct tunnel_option *next;
	uint16_t class;
	uint8_t type;
	const char *data; /* "0x12345678" */
};

struct obj_decl {
	enum obj_kind kind;
	struct loc options_loc; /* where options are missed: the end of the name, as nft counts */
	const char *comment;
	union {
		struct {
			uint64_t packets, bytes;
		} counter;
		struct quota_spec quota;
		struct limit_spec limit;
		struct synproxy_spec synproxy;
		struct {
			const char *type; /* "ftp" */
			uint8_t l4proto;
			uint8_t l3proto;  /* enum family or 0 */
		} helper;
		struct {
			uint8_t l4proto, l3proto;
			struct {
				const char *state;
				uint32_t seconds;
				struct loc loc;
			} policy[16];
			uint8_t n;
		} timeout;
		struct {
			uint8_t l4proto, l3proto;
			uint16_t dport;
			uint32_t timeout_ms;
			uint8_t size;
		} expectation;
		const char *secmark;
		struct {
			uint32_t id;
			uint16_t sport, dport;
			uint8_t ttl, tos;
			struct expr *src, *dst;
			enum tunnel_kind kind;
			uint32_t gbp;		     /* vxlan */
			uint8_t version, direction;  /* erspan: 1 or 2; 0 ingress, 1 egress */
			uint32_t index;		     /* erspan 1; the hardware's id of erspan 2 */
			struct tunnel_option *options; /* geneve */
		} tunnel;
	};
};

struct flowtable_decl {
	enum hook hook;
	struct expr *priority_expr;
	int32_t priority, priority_offset;
	struct expr_list devices;
	bool offload, counter;
	struct loc priority_loc;
};

/* --- Commands ----------------------------------------------------------------------------- */

enum cmd_op { CMD_ADD, CMD_CREATE, CMD_INSERT, CMD_REPLACE, CMD_DELETE, CMD_DESTROY, CMD_FLUSH,
	      CMD_LIST, CMD_RESET, CMD_RENAME, CMD_GET, CMD_DESCRIBE, CMD_MONITOR, CMD_EXPORT,
	      CMD_IMPORT };

enum cmd_obj {
	CO_RULESET, CO_TABLE, CO_TABLES, CO_CHAIN, CO_CHAINS, CO_RULE, CO_RULES, CO_SET, CO_SETS,
	CO_MAP, CO_MAPS, CO_METER, CO_METERS, CO_ELEMENTS, CO_FLOWTABLE, CO_FLOWTABLES,
	CO_OBJECT,  /* obj_kind says which */
	CO_OBJECTS, /* counters, quotas, ... */
	CO_HOOKS, CO_EXPR,
	CO_LINES, /* commands on elements, still as text in loc; see lines.h */
};

struct name_at {
	const char *text; /* NULL: not given */
	struct loc loc;
};

struct number_at {
	uint64_t value;
	struct loc loc;
	bool given;
};

struct cmd {
	enum cmd_op op;
	enum cmd_obj obj;
	enum obj_kind obj_kind;
	struct loc loc;
	struct cmd *next;

	enum family family; /* FAMILY_IP where none was written, FAMILY_ANY for `list ruleset` */
	struct loc family_loc;
	struct name_at table, chain, name; /* name: set, map, object, flowtable, new chain name */
	struct number_at handle, index, position;

	union {
		struct table_decl table_decl;
		struct chain_decl *chain_decl; /* NULL: no block */
		struct set_decl *set_decl;
		struct obj_decl *obj_decl;
		struct flowtable_decl *flowtable_decl;
		struct rule_decl rule;
		struct expr *expr; /* elements (EX_SET); describe */
	};
};

struct cmd_list {
	struct cmd *first, **last; /* last: where the next one is linked */
	uint32_t n;
};

#define CMD_LIST_INIT(l) ((struct cmd_list){NULL, &(l).first, 0})

#endif
