/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: the form in which a ruleset is run; compile/ makes it, eval/ runs it.
 *
 * A program_root is one published ruleset: a version, and the base chains of every hook in their
 * order. A chain has one program for as long as it lives, which is a list of rules; a rule is a
 * list of ops; an op narrows the mask of packets (matches), has an effect on what is left
 * (statements), or takes packets out with a verdict. Ops read expressions, trees of struct
 * prog_expr.
 *
 * A change puts rules into the lists and marks others as ending, under the version that comes next:
 * rules are in force from one version on and up to another. Whoever runs a root meets the rules of
 * its version alone; a rule is taken out of its list when nobody runs an older root any more.
 *
 * Values are numbers in host order where they have at most 8 bytes, else bytes in network order;
 * names are 16 bytes padded with zeros. An expression has a value for some packets only: where it
 * has none the rule does not match, as with the kernel's NFT_BREAK.
 *
 * A comparison with constants is one form, `lo <= (value & mask) <= lo + span`, turned round by
 * `neg`; equality has span 0, `>` and `<` an open end. So is a test of bits: (value & mask) != 0.
 *
 * A chain of more than a few rules has a classifier too. Each rule has its place there, from the
 * entry `first` to the entry `last`. Rules whose first conditions are on fields of the classifier
 * are found by it and then go on with `rest`, what the classifier did not look at. The others are
 * walked: they have a place alone, and are on a second list. Rules that match no packet are
 * neither. Walking the first list with all ops of each rule gives the same.
 *
 * Immutable once published, except for the lists, and for what states, sets, counters and `numgen
 * inc` count.
 */
#ifndef TAMIS_EVAL_PROGRAM_H
#define TAMIS_EVAL_PROGRAM_H

#include "acl/classifier.h"
#include "packet/burst.h"
#include "set/set.h"
#include "state/state.h"

enum {
	PROG_NAME_LEN = 16,
	PROG_VALUE_MAX = 64,
	PROG_DEPTH_MAX = 16,
	PROG_CONCAT_MAX = 16,
	PROG_EXPR_DEPTH_MAX = 12
};

/* --- expressions -------------------------------------------------------------------------- */

enum prog_expr_kind {
	PX_CONST,  /* bytes */
	PX_COLUMN, /* column, and where its bytes are for packets without it */
	PX_READ,   /* read: bits of the packet */
	PX_OPTION, /* option: bits of an extension header or option, or whether it is there */
	PX_VLAN,   /* vlan: bits of a tag */
	PX_META,   /* meta */
	PX_CT,	   /* ct */
	PX_BINOP,  /* binop */
	PX_CONCAT, /* concat */
	PX_MAP,	   /* map */
	PX_NUMGEN, /* numgen */
	PX_HASH,   /* hash: jhash, symhash */
	PX_FIB,	   /* fib: the type of an address, as far as the caller knows the host's */
	PX_NONE,   /* no packet has a value */
};

/* Columns of the burst that hold a value as it is. */
enum prog_column {
	COL_SADDR4,
	COL_DADDR4,
	COL_SADDR6,
	COL_DADDR6,
	COL_SPORT,
	COL_DPORT,
	COL_TCP_FLAGS,
	COL_ICMP_TYPE,
	COL_ICMP_CODE,
	COL_ICMPV6_TYPE,
	COL_ICMPV6_CODE,
	COL_PROTOCOL,
	COL_L4PROTO,
	COL_MARK,
	COL_PRIORITY,
	PROG_COLUMNS
};

enum prog_meta {
	PM_LENGTH,
	PM_NFPROTO,
	PM_PKTTYPE,
	PM_IIF,
	PM_OIF,
	PM_IIFNAME,
	PM_OIFNAME,
	PM_IIFTYPE,
	PM_OIFTYPE,
	PM_NFTRACE,
	PM_CPU,
	PM_RANDOM,
	PM_TIME,
	PM_DAY,
	PM_HOUR,
	PROG_METAS
};

enum prog_ct {
	PC_STATE,
	PC_DIRECTION,
	PC_STATUS,
	PC_MARK,
	PC_EXPIRATION,
	PC_L3PROTO,
	PC_PROTOCOL,
	PC_SADDR,
	PC_DADDR,
	PC_PROTO_SRC,
	PC_PROTO_DST,
	PC_BYTES,
	PC_PACKETS,
	PC_AVGPKT,
	PC_ZONE,
	PC_ID,
	PROG_CTS
};

enum prog_binop { PB_AND, PB_OR, PB_XOR, PB_LSHIFT, PB_RSHIFT };

enum prog_option { POPT_EXTHDR, POPT_TCP, POPT_IP, POPT_SCTP, POPT_DCCP };

struct prog_expr {
	uint8_t kind;  /* enum prog_expr_kind */
	uint8_t len;   /* bytes of the value, 1 to PROG_VALUE_MAX */
	uint16_t bits; /* width: the value is below 2^bits where it is a number */
	union {
		const uint8_t *bytes;
		struct {
			uint8_t column; /* enum prog_column */
			bool in_packet; /* without the column, read at: */
			uint8_t base;	/* enum header_base */
			uint32_t bit_off;
		} column;
		struct {
			uint8_t base; /* enum header_base */
			uint32_t bit_off;
		} read;
		struct {
			uint8_t class;	/* enum prog_option */
			uint8_t number; /* protocol, kind or chunk type */
			bool exists;	/* the value is 1 or 0 */
			uint32_t bit_off;
		} option;
		struct {
			uint8_t tag;	 /* 0 outer, 1 inner */
			uint8_t bit_off; /* in the 4 bytes of TCI and type */
		} vlan;
		uint8_t meta; /* enum prog_meta */
		struct {
			uint8_t key;	  /* enum prog_ct */
			int8_t direction; /* -1 none, 0 original, 1 reply */
			uint8_t nfproto;  /* 2 or 10: only flows of this kind; else 0 */
		} ct;
		struct {
			uint8_t op; /* enum prog_binop; shifts: the right side is a number */
			const struct prog_expr *left, *right;
		} binop;
		struct {
			uint8_t n;
			const struct prog_expr **fields; /* packed one behind the other */
		} concat;
		struct {
			const struct prog_expr *key;
			struct set *set; /* its data is the value, in network order */
		} map;
		struct {
			bool random;
			uint32_t mod, offset;
			_Atomic uint32_t *counter; /* inc */
		} numgen;
		struct {
			const struct prog_expr *key; /* NULL: symhash */
			uint32_t mod, offset, seed;
			bool has_seed; /* false: the evaluator's own */
		} hash;
		struct {
			bool source;
		} fib;
	};
};

/* --- ops ---------------------------------------------------------------------------------- */

enum prog_op_kind {
	/* Matches. */
	PO_RANGE,   /* range: a number against constants */
	PO_BITS,    /* range: (value & mask) != 0 */
	PO_BYTES,   /* bytes: a wide value against constants */
	PO_COMPARE, /* compare: two expressions */
	PO_LOOKUP,  /* lookup: in a set or not */
	PO_NEVER,   /* matches no packet */
	/* Statements; those that may end the rule for a packet narrow the mask. */
	PO_STATE,	 /* state: counter, quota, limit, last of the rule or a named object */
	PO_CONNLIMIT,	 /* state */
	PO_OBJMAP,	 /* lookup: key to object */
	PO_LOG,		 /* log */
	PO_META_SET,	 /* meta_set */
	PO_CT_SET,	 /* ct_set */
	PO_PACKET_SET,	 /* packet_set: bits of a header, with their checksums */
	PO_OPTION_SET,	 /* option_set: bytes of a TCP option */
	PO_OPTION_RESET, /* option: overwrite a TCP option with NOPs */
	PO_NOTRACK,
	PO_UPDATE, /* update: add, update, delete of set elements */
	/* Verdicts: packets left in the mask are taken out. */
	PO_VERDICT, /* verdict */
	PO_VMAP,    /* lookup: key to verdict */
	PO_REJECT,
	PO_QUEUE, /* queue */
	PO_FWD,	  /* the packet leaves the host by another port: stolen */
	PO_NAT,	  /* the flow counts as translated, the packet stays; ends the chain: nat */
};

/* Codes of PO_VERDICT and of verdict map data. */
enum prog_verdict { PV_ACCEPT, PV_DROP, PV_CONTINUE, PV_RETURN, PV_JUMP, PV_GOTO, PROG_VERDICTS };

/* What a verdict map's element holds; compile/ asserts that the model writes the same. */
struct prog_verdict_data {
	uint32_t code; /* enum prog_verdict */
	uint32_t zero;
	const void *chain; /* root->program_of() tells its program */
};

enum { PROG_LOG_GROUP_NONE = -1 };

struct prog_log {
	const char *prefix; /* or "" */
	int level;	    /* 0 to 7; 8: audit */
	int group;	    /* PROG_LOG_GROUP_NONE: the system log */
	uint32_t flags;	  /* as in the language: 1 tcp sequence, 2 tcp options, 4 ip options, ... */
	uint32_t snaplen; /* 0: none */
};

/* INET: of 16 bits as in IP and TCP; UDP: the same, but 0 means that there is none. */
enum prog_checksum { PCK_NONE, PCK_INET, PCK_UDP, PCK_SCTP };
enum prog_update { PU_ADD, PU_UPDATE, PU_DELETE };
enum prog_meta_set { PMS_MARK, PMS_PRIORITY, PMS_PKTTYPE, PMS_NFTRACE };
enum prog_ct_set { PCS_MARK };

/* Which address a nat statement asks for. */
enum prog_nat_addr {
	PNA_SAME,  /* the packet's own */
	PNA_RANGE, /* one of lo to hi, the packet's own if it is one of them */
	PNA_HOST,  /* one of this host: masquerade, redirect */
	PNA_OTHER, /* one that is not known here, taken for another than the packet's */
};

struct prog_nat {
	bool source;  /* snat, masquerade: what follows in the hook is of this side */
	uint8_t addr; /* enum prog_nat_addr */
	uint8_t len;  /* of lo and hi: 4 or 16 */
	const uint8_t *lo, *hi;
	uint16_t port_lo, port_hi; /* a port in these stays */
};

struct prog_op {
	uint8_t kind; /* enum prog_op_kind */
	union {
		struct {
			const struct prog_expr *value; /* at most 8 bytes */
			uint64_t mask, lo, span;
			bool neg;
		} range;
		struct {
			const struct prog_expr *value;
			const uint8_t *mask; /* or NULL */
			const uint8_t *lo, *hi;
			uint8_t n; /* bytes that are compared, from the first */
			bool neg;
		} bytes;
		struct {
			const struct prog_expr *left, *right; /* of one length */
			uint8_t relation;		      /* enum prog_relation */
		} compare;
		struct {
			const struct prog_expr *key;
			struct set *set;
			bool neg;
		} lookup;
		struct state *state;
		const struct prog_log *log;
		struct {
			uint8_t key; /* enum prog_meta_set */
			const struct prog_expr *value;
		} meta_set;
		struct {
			uint8_t key; /* enum prog_ct_set */
			const struct prog_expr *value;
		} ct_set;
		struct {
			const struct prog_expr *value;
			uint8_t base;	  /* enum header_base */
			uint8_t checksum; /* enum prog_checksum */
			bool pseudo;	  /* the bits are in the transport's pseudo header too */
			uint16_t checksum_off; /* from base, in bytes */
			uint32_t bit_off, bits;
			uint8_t tags; /* VLAN tags that must be there */
		} packet_set;
		struct {
			const struct prog_expr *value;
			uint8_t kind;
			uint32_t off, len; /* bytes in the option; len 1, 2 or 4 */
		} option_set;
		uint8_t option_kind; /* PO_OPTION_RESET */
		struct {
			uint8_t op; /* enum prog_update */
			struct set *set;
			const struct prog_expr *key, *data;    /* data NULL: a set */
			uint64_t timeout_ns;		       /* 0: the set's default; SET_NEVER */
			const struct state_template *template; /* or NULL */
		} update;
		struct {
			uint8_t code; /* enum prog_verdict */
			const struct program *target;
		} verdict;
		struct {
			const struct prog_expr *number; /* NULL: 0 */
		} queue;
		const struct prog_nat *nat;
	};
};

enum prog_relation { PR_EQ, PR_NEQ, PR_LT, PR_GT, PR_LE, PR_GE };

/* --- rules, chains, roots ----------------------------------------------------------------- */

/* `left` counts within an epoch of the chain: it begins anew when a rule of it comes or goes. */
struct prog_rule_stats {
	uint64_t packets, bytes; /* that matched all of it; bytes of the network packet */
	uint64_t left;		 /* packets that went on elsewhere from here */
	uint64_t epoch;
};

/* What a packet touches that the classifier found a rule for comes first. */
struct prog_rule {
	struct prog_rule_stats *stats;
	const struct cls_entry *last; /* NULL: the chain has no classifier */
	const struct prog_op *rest;
	uint32_t n_rest;
	bool alone;	 /* `rest` is one accept, drop or return, which is ... */
	uint8_t verdict; /* enum prog_verdict */
	const struct cls_entry *first;
	struct prog_rule *next, *next_walked;
	uint64_t from, to; /* in force in the versions from <= v < to */
	uint32_t n_ops;
	const struct prog_op *ops;
	const void *rule; /* the model's, for reports and traces */
	uint64_t handle;
};

struct prog_chain_stats {
	uint64_t packets;	 /* that entered it */
	uint64_t entered, epoch; /* those of the epoch */
	uint64_t policy_packets; /* that its policy decided */
	uint64_t policy_bytes;
};

struct program {
	const void *chain; /* the model's */
	uint8_t family;	   /* of its table, see struct prog_base */
	struct prog_rule *first;
	/* NULL: there is none; else it is for versions from `since` on. */
	const struct classifier *classifier;
	uint64_t since;
	uint32_t n_classified; /* rules that are found by it */
	struct prog_rule *first_walked;
	struct prog_chain_stats *stats;
	uint64_t epoch;
};

static inline bool prog_rule_visible(const struct prog_rule *r, uint64_t version)
{
	return r->from <= version && version < r->to;
}

/* Packets of the present epoch that entered the chain; that left it at a rule. */
static inline uint64_t program_entered(const struct program *p)
{
	return p->stats->epoch == p->epoch ? p->stats->entered : 0;
}

static inline uint64_t program_left(const struct program *p, const struct prog_rule *r)
{
	return r->stats->epoch == p->epoch ? r->stats->left : 0;
}

/* Whose packets a hook sees. */
enum prog_class { CLASS_NETDEV, CLASS_IPV4, CLASS_IPV6, CLASS_ARP, CLASS_BRIDGE, PROG_CLASSES };

enum prog_hook {
	PH_INGRESS,
	PH_PREROUTING,
	PH_INPUT,
	PH_FORWARD,
	PH_OUTPUT,
	PH_POSTROUTING,
	PH_EGRESS,
	PROG_HOOKS
};

struct prog_base {
	const struct program *program;
	int32_t priority;   /* as written */
	int32_t order;	    /* where it runs: nat chains all run at one place of their hook */
	uint8_t family;	    /* 1 inet, 2 ip, 3 arp, 5 netdev, 7 bridge, 10 ip6: as the kernel's */
	uint8_t hook;	    /* enum prog_hook */
	bool nat;	    /* sees the first packet of a flow only */
	bool nat_source;    /* nat at postrouting or input */
	bool drop;	    /* the policy */
	uint32_t n_devices; /* 0: any */
	const char (*devices)[PROG_NAME_LEN + 1]; /* NUL-terminated; `eth*` stands for a prefix */
};

struct prog_hook_list {
	uint32_t n;
	const struct prog_base *const *bases; /* in the order in which they run */
};

struct program_root {
	uint64_t version;
	struct prog_hook_list hooks[PROG_CLASSES][PROG_HOOKS];
	bool exact;	/* rules read what rules write for other packets: one packet at a time */
	bool ordered;	/* rules draw random numbers or remember a time: rule after rule */
	uint32_t conns; /* rules that count connections, `ct count`: see eval_provide() */
	bool conntrack[PROG_CLASSES]; /* flows are tracked for these packets */
	const struct program *(*program_of)(const void *chain);
	struct state *(*object_state)(const void *object); /* NULL: the object has none */
};

#endif
