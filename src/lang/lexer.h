/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer: nft's text to tokens.
 *
 * lex() is a pure function of a text and a place in it, so that looking ahead costs a second call
 * and no state. The longest token wins, as in nft: `1.2.3.4`, `1d2h` and `eth-0.5` are one token,
 * `10-20` is three. Which words mean something depends on the place, but some are reserved
 * everywhere: nft takes those for no name. The operators' words (and, or, eq, ...) become operators
 * here.
 *
 * Any thread. Cost: proportional to the token and the blanks before it.
 */
#ifndef TAMIS_LANG_LEXER_H
#define TAMIS_LANG_LEXER_H

#include "lang/source.h"

/* clang-format off */
/* The name is what a message calls the token. */
#define TOKENS(X) \
	X(EOF, "end of file") X(JUNK, "junk") X(NEWLINE, "newline") X(SEMICOLON, "semicolon") \
	X(COLON, "colon") X(COMMA, "comma") X(DOT, ".") X(WORD, "string") \
	X(QUOTED, "quoted string") X(WILDCARD, "string with a trailing asterisk") \
	X(NUMBER, "number") \
	X(LITERAL, "string") /* address, span of time, number too large */ \
	X(EQ, "==") X(NEQ, "!=") X(LT, "<") X(GT, ">") X(LE, "<=") X(GE, ">=") \
	X(LSHIFT, "<<") X(RSHIFT, ">>") X(AND, "&") X(OR, "'|'") X(XOR, "^") X(NOT, "!") \
	X(SLASH, "/") X(ASTERISK, "*") X(DASH, "-") X(AT, "@") X(PLUS, "+") X(ASSIGN, "'='") \
	X(DOLLAR, "'$'") X(LBRACE, "'{'") X(RBRACE, "'}'") X(LPAREN, "'('") X(RPAREN, "')'") \
	X(LBRACKET, "'['") X(RBRACKET, "']'")

/* Sorted by the text. 1: reserved everywhere. */
#define KEYWORDS(X) \
	X(ACCEPT, "accept", 1) X(ADD, "add", 1) X(AH, "ah", 1) X(ALL, "all", 1) \
	X(ARP, "arp", 1) X(AUTO_MERGE, "auto-merge", 1) X(BRIDGE, "bridge", 1) \
	X(CGROUP, "cgroup", 1) X(CHAIN, "chain", 1) X(CHAINS, "chains", 0) \
	X(COMMENT, "comment", 1) X(COMP, "comp", 1) X(CONSTANT, "constant", 1) \
	X(CONTINUE, "continue", 1) X(COUNTER, "counter", 1) X(COUNTERS, "counters", 0) \
	X(CPU, "cpu", 1) X(CREATE, "create", 1) X(CT, "ct", 1) X(DAY, "day", 1) \
	X(DCCP, "dccp", 1) X(DEFINE, "define", 1) X(DELETE, "delete", 1) \
	X(DESCRIBE, "describe", 1) X(DESTROY, "destroy", 0) X(DEVICE, "device", 1) \
	X(DEVICES, "devices", 1) X(DNAT, "dnat", 1) X(DROP, "drop", 1) X(DST, "dst", 1) \
	X(DUP, "dup", 1) X(DYNAMIC, "dynamic", 1) X(ECN, "ecn", 1) X(ELEMENT, "element", 1) \
	X(ELEMENTS, "elements", 1) X(ESP, "esp", 1) X(ETHER, "ether", 1) X(EXISTS, "exists", 1) \
	X(EXPIRES, "expires", 1) X(EXPORT, "export", 1) X(EXTHDR, "exthdr", 1) X(FIB, "fib", 1) \
	X(FLAGS, "flags", 1) X(FLOW, "flow", 1) X(FLOWTABLE, "flowtable", 1) \
	X(FLOWTABLES, "flowtables", 0) X(FLUSH, "flush", 1) X(FRAG, "frag", 1) X(FWD, "fwd", 1) \
	X(GC_INTERVAL, "gc-interval", 1) X(GENEVE, "geneve", 0) X(GET, "get", 1) \
	X(GOTO, "goto", 1) X(GRE, "gre", 0) X(GRETAP, "gretap", 0) X(HANDLE, "handle", 1) \
	X(HBH, "hbh", 1) X(HOOK, "hook", 1) X(HOOKS, "hooks", 0) X(HOUR, "hour", 1) \
	X(IBRIPORT, "ibriport", 1) X(IBRNAME, "ibrname", 1) X(ICMP, "icmp", 1) \
	X(ICMPV6, "icmpv6", 1) X(IGMP, "igmp", 1) X(IIF, "iif", 1) X(IIFGROUP, "iifgroup", 1) \
	X(IIFNAME, "iifname", 1) X(IIFTYPE, "iiftype", 1) X(IMPORT, "import", 1) \
	X(INCLUDE, "include", 1) X(INDEX, "index", 1) X(INET, "inet", 1) X(INSERT, "insert", 1) \
	X(INTERVAL, "interval", 1) X(IP, "ip", 1) X(IP6, "ip6", 1) X(IPSEC, "ipsec", 1) \
	X(JHASH, "jhash", 1) X(JUMP, "jump", 1) X(LABEL, "label", 0) X(LAST, "last", 0) \
	X(LIMIT, "limit", 1) X(LIMITS, "limits", 0) X(LIST, "list", 1) X(LOG, "log", 1) \
	X(MAP, "map", 1) X(MAPS, "maps", 0) X(MARK, "mark", 1) X(MASQUERADE, "masquerade", 1) \
	X(META, "meta", 1) X(METER, "meter", 1) X(METERS, "meters", 0) X(MH, "mh", 1) \
	X(MISSING, "missing", 1) X(MONITOR, "monitor", 1) X(NETDEV, "netdev", 1) \
	X(NFTRACE, "nftrace", 1) X(NOTRACK, "notrack", 1) X(NUMGEN, "numgen", 1) \
	X(OBRIPORT, "obriport", 1) X(OBRNAME, "obrname", 1) X(OFFLOAD, "offload", 1) \
	X(OIF, "oif", 1) X(OIFGROUP, "oifgroup", 1) X(OIFNAME, "oifname", 1) \
	X(OIFTYPE, "oiftype", 1) X(ORIGINAL, "original", 0) X(OSF, "osf", 1) \
	X(PKTTYPE, "pkttype", 1) X(POLICY, "policy", 1) X(POSITION, "position", 1) \
	X(PRIORITY, "priority", 1) X(QUEUE, "queue", 1) X(QUOTA, "quota", 1) \
	X(QUOTAS, "quotas", 0) X(RANDOM, "random", 1) X(REDEFINE, "redefine", 1) \
	X(REDIRECT, "redirect", 1) X(REJECT, "reject", 1) X(RENAME, "rename", 1) \
	X(REPLACE, "replace", 1) X(REPLY, "reply", 0) X(RESET, "reset", 1) \
	X(RETURN, "return", 1) X(RT, "rt", 1) X(RT0, "rt0", 1) X(RT2, "rt2", 1) \
	X(RTCLASSID, "rtclassid", 1) X(RULE, "rule", 1) X(RULES, "rules", 0) \
	X(RULESET, "ruleset", 1) X(SCTP, "sctp", 1) X(SECMARK, "secmark", 1) \
	X(SECMARKS, "secmarks", 0) X(SET, "set", 1) X(SETS, "sets", 0) X(SIZE, "size", 1) \
	X(SKGID, "skgid", 1) X(SKUID, "skuid", 1) X(SNAT, "snat", 1) X(SOCKET, "socket", 1) \
	X(SRH, "srh", 1) X(SYMHASH, "symhash", 1) X(SYNPROXY, "synproxy", 1) \
	X(SYNPROXYS, "synproxys", 0) X(TABLE, "table", 1) X(TABLES, "tables", 0) \
	X(TCP, "tcp", 1) X(TH, "th", 1) X(TIME, "time", 1) X(TIMEOUT, "timeout", 1) \
	X(TPROXY, "tproxy", 1) X(TUNNEL, "tunnel", 0) X(TUNNELS, "tunnels", 0) \
	X(TYPE, "type", 1) X(TYPEOF, "typeof", 1) X(UDP, "udp", 1) X(UDPLITE, "udplite", 1) \
	X(UNDEFINE, "undefine", 1) X(UPDATE, "update", 1) X(VLAN, "vlan", 1) X(VMAP, "vmap", 1) \
	X(VXLAN, "vxlan", 0) X(XT, "xt", 1)
/* clang-format on */

enum tok {
#define X(id, name) T_##id,
	TOKENS(X)
#undef X
		TOKENS_N
};

enum keyword {
	KW_NONE,
#define X(id, text, reserved) KW_##id,
	KEYWORDS(X)
#undef X
		KEYWORDS_N
};

struct token {
	enum tok type;
	enum keyword kw;     /* of a T_WORD */
	uint32_t begin, end; /* in the text */
	const char *text;    /* without quotes and brackets */
	uint32_t len;
	uint64_t number; /* of a T_NUMBER; a leading 0 means octal */
	bool decimal;	 /* T_NUMBER whose text is its decimal form */
};

/* The token at or behind `pos`. T_EOF at the end, again and again. */
void lex(const char *text, uint32_t len, uint32_t pos, struct token *out);
/* The next byte behind `pos` that is no blank, newline or comment; 0 at the end. */
char lex_next_byte(const char *text, uint32_t len, uint32_t pos);
enum keyword keyword_find(const char *text, size_t len);
const char *keyword_text(enum keyword k);
bool keyword_is_reserved(enum keyword k);
/* What a message calls the token: "newline", "'}'", "accept". */
const char *token_name(const struct token *t);

#endif
