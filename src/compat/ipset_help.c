/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_help: what `ipset help` says, made of the tables of commands and types. */
#include "compat/ipset_command.h"

static const char usage[] = IPSET_VERSION
	"\n\n"
	"Usage: ipset [options] COMMAND\n"
	"\n"
	"Commands:\n"
	"  create SETNAME TYPENAME [options]   makes a set\n"
	"  add SETNAME ENTRY [options]         adds an element\n"
	"  del SETNAME ENTRY                   takes one away\n"
	"  test SETNAME ENTRY                  tells whether it is there: exit status 0 or 1\n"
	"  destroy [SETNAME]                   removes a set, or all\n"
	"  list [SETNAME]                      shows a set, or all\n"
	"  save [SETNAME]                      the same as commands that restore reads\n"
	"  restore                             carries out commands of a file, all or none\n"
	"  flush [SETNAME]                     empties a set, or all\n"
	"  rename FROM TO                      gives a set another name\n"
	"  swap SETNAME SETNAME                exchanges what two names stand for\n"
	"  help [TYPENAME]                     this text, or what a type takes\n"
	"  version                             the version of the language\n"
	"  -                                   reads commands line by line until quit\n"
	"\n"
	"Options:\n"
	"  -!, -exist                  no error for what is there or gone already\n"
	"  -o, -output plain|save|xml|json\n"
	"                              how list and save print\n"
	"  -q, -quiet                  no messages, the exit status alone\n"
	"  -r, -resolve                taken; addresses are never looked up\n"
	"  -s, -sorted                 elements in order\n"
	"  -n, -name                   list: names only\n"
	"  -t, -terse                  list: no elements\n"
	"  -f, -file FILE              list, save: to FILE; restore: from FILE\n";

static const char examples[] = "\n"
			       "Examples:\n"
			       "  ipset create banned hash:ip timeout 3600\n"
			       "  ipset add banned 192.0.2.7\n"
			       "  ipset -exist add banned 192.0.2.7 timeout 60\n"
			       "  ipset create nets hash:net\n"
			       "  ipset add nets 198.51.100.0/24\n"
			       "  ipset add nets 198.51.100.9 nomatch\n"
			       "  ipset test nets 198.51.100.8\n"
			       "  ipset save nets\n";

static const char *dim_text(const struct ipset_type *t, unsigned d, enum ipset_verb verb)
{
	bool range = t->ranges >> d & 1 && verb != IPSET_TEST;

	switch (t->dims[d]) {
	case DIM_IP:
		return range ? "IP|IP/CIDR|FROM-TO" : "IP";
	case DIM_NET:
		return range ? "IP[/CIDR]|FROM-TO" : "IP[/CIDR]";
	case DIM_MAC:
		return "MAC";
	case DIM_MARK:
		return "MARK";
	case DIM_PORT:
	case DIM_PLAIN_PORT:
		return verb == IPSET_TEST ? "[PROTO:]PORT" : "[PROTO:]PORT[-PORT]";
	case DIM_IFACE:
		return "[physdev:]IFACE";
	case DIM_NONE:
		break;
	}
	return "SETNAME [before|after SETNAME]";
}

static void elem_help(const struct ipset_type *t, enum ipset_verb verb, struct strbuf *out)
{
	static const char *const verbs[] = {"add", "del", "test"};

	strbuf_printf(out, "  %-6s SETNAME %s", verbs[verb], dim_text(t, 0, verb));
	for (unsigned d = 1; d < IPSET_DIMS && t->dims[d]; d++) {
		bool optional = t->kind == IPSET_BITMAP;

		strbuf_printf(out, optional ? "[,%s]" : ",%s", dim_text(t, d, verb));
	}
	strbuf_putc(out, '\n');
	if (verb != IPSET_DEL && ipset_type_has(t, DIM_NET))
		strbuf_puts(out, "         [nomatch]\n");
	if (verb != IPSET_ADD)
		return;
	if (ipset_type_has(t, DIM_IFACE))
		strbuf_puts(out, "         [wildcard]\n");
	strbuf_puts(out, "         [timeout SECONDS] [packets N] [bytes N] [comment \"TEXT\"]\n"
			 "         [skbmark MARK[/MASK]] [skbprio MAJOR:MINOR] [skbqueue N]\n");
}

static const char *argument_text(enum ipset_option o)
{
	switch (o) {
	case IPSET_COUNTERS:
	case IPSET_COMMENT:
	case IPSET_FORCEADD:
	case IPSET_SKBINFO:
		return "";
	case IPSET_FAMILY:
		return " inet|inet6";
	case IPSET_NETMASK:
		return " CIDR";
	case IPSET_BITMASK:
		return " MASK";
	case IPSET_TIMEOUT:
		return " SECONDS";
	default:
		return " VALUE";
	}
}

static void create_help(const struct ipset_type *t, struct strbuf *out)
{
	strbuf_printf(out, "  create SETNAME %s\n", t->name);
	if (t->kind == IPSET_BITMAP)
		strbuf_puts(out, t->dims[0] == DIM_IP ? "         range IP/CIDR|FROM-TO\n"
						      : "         range [PROTO:]FROM-TO\n");
	for (unsigned o = IPSET_FAMILY; o <= IPSET_INITVAL; o++)
		if (t->options & 1U << o)
			strbuf_printf(out, "         [%s%s]\n",
				      ipset_option_name((enum ipset_option)o),
				      argument_text((enum ipset_option)o));
}

void ipset_help(const struct ipset_type *type, struct strbuf *out)
{
	strbuf_puts(out, usage);
	if (!type) {
		strbuf_puts(out, "\nSupported set types:\n");
		for (size_t i = 0; i < ipset_types_n; i++)
			strbuf_printf(out, "    %-20s%u\n", ipset_types[i].name,
				      ipset_types[i].revision);
		strbuf_puts(out, examples);
		return;
	}
	strbuf_printf(out, "\nSets of type %s:\n\n", type->name);
	create_help(type, out);
	elem_help(type, IPSET_ADD, out);
	elem_help(type, IPSET_DEL, out);
	elem_help(type, IPSET_TEST, out);
	if (!ipset_type_has(type, DIM_PORT))
		return;
	strbuf_puts(out,
		    "\nPorts: a number or name, of TCP; PROTO: one of tcp, udp, sctp, udplite;\n"
		    "icmp or icmpv6 with a message's name or TYPE/CODE; any other with 0.\n\n");
	ipset_icmp_help(out);
}
