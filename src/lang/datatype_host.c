/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: names that a host gives to numbers: services, users, groups, marks, realms, device
 * groups, labels, interfaces, cgroups.
 *
 * Services, users and groups are read through the C library's databases (re-entrant calls) and
 * printed as numbers, interfaces come from the callbacks of lang_env, the rest from its tables;
 * cgroups have numbers alone. IP protocols are IANA's numbers under their customary names and need
 * no file. Any thread.
 */
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "lang/datatype_int.h"

enum { DB_BUFFER = 4096, NAME_TEXT_MAX = 128, NAMES_LINE_MAX = 512 };

/* The first name of a number is the one that is printed. */
static const struct symbol protocols[] = {
	{"ip", 0},
	{"hopopt", 0},
	{"icmp", 1},
	{"igmp", 2},
	{"ggp", 3},
	{"ipencap", 4},
	{"ip-encap", 4},
	{"st", 5},
	{"tcp", 6},
	{"egp", 8},
	{"igp", 9},
	{"pup", 12},
	{"udp", 17},
	{"hmp", 20},
	{"xns-idp", 22},
	{"rdp", 27},
	{"iso-tp4", 29},
	{"dccp", 33},
	{"xtp", 36},
	{"ddp", 37},
	{"idpr-cmtp", 38},
	{"ipv6", 41},
	{"ipv6-route", 43},
	{"ipv6-frag", 44},
	{"idrp", 45},
	{"rsvp", 46},
	{"gre", 47},
	{"esp", 50},
	{"ipsec-esp", 50},
	{"ah", 51},
	{"ipsec-ah", 51},
	{"skip", 57},
	{"ipv6-icmp", 58},
	{"icmpv6", 58},
	{"ipv6-nonxt", 59},
	{"ipv6-opts", 60},
	{"rspf", 73},
	{"cphb", 73},
	{"vmtp", 81},
	{"eigrp", 88},
	{"ospf", 89},
	{"ospfigp", 89},
	{"ax.25", 93},
	{"ipip", 94},
	{"etherip", 97},
	{"encap", 98},
	{"pim", 103},
	{"ipcomp", 108},
	{"comp", 108},
	{"vrrp", 112},
	{"l2tp", 115},
	{"isis", 124},
	{"sctp", 132},
	{"fc", 133},
	{"mobility-header", 135},
	{"udplite", 136},
	{"mpls-in-ip", 137},
	{"manet", 138},
	{"hip", 139},
	{"shim6", 140},
	{"wesp", 141},
	{"rohc", 142},
	{"ethernet", 143},
	{NULL, 0},
};

/* A NUL-terminated copy for the C library; false if it does not fit or has a NUL inside. */
static bool text_copy(const char *text, size_t len, char copy[static NAME_TEXT_MAX])
{
	if (len >= NAME_TEXT_MAX)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	return strlen(copy) == len;
}

PARSER(type_protocol)
{
	char copy[NAME_TEXT_MAX];
	int err = number_parse(text, len, out, bits);

	if (err != -EINVAL)
		return err;
	if (text_copy(text, len, copy)) {
		struct protoent entry, *found = NULL;
		char buffer[DB_BUFFER];

		for (const struct symbol *s = protocols; s->name; s++)
			if (!strcasecmp(s->name, copy))
				return number_store(s->value, out, bits);
		if (!getprotobyname_r(copy, &entry, buffer, sizeof(buffer), &found) && found &&
		    found->p_proto >= 0)
			return number_store((uint64_t)found->p_proto, out, bits);
	}
	*why = "Could not resolve protocol name";
	return -EINVAL;
}

PRINTER(type_protocol)
{
	const char *name = symbol_name(protocols, be_load(value, bits_to_bytes(bits)));

	if (name && !(env->numeric & NUMERIC_PROTOCOL))
		strbuf_puts(out, name);
	else
		type_integer_print(t, env, value, bits, out);
}

PARSER(type_service)
{
	char copy[NAME_TEXT_MAX];
	int err = number_parse(text, len, out, bits);

	if (err == -ERANGE) {
		*why = "Service out of range";
		return -EINVAL;
	}
	if (!err)
		return 0;
	if (text_copy(text, len, copy)) {
		struct servent entry, *found = NULL;
		char buffer[DB_BUFFER];

		if (!getservbyname_r(copy, NULL, &entry, buffer, sizeof(buffer), &found) && found)
			return number_store(ntohs((uint16_t)found->s_port), out, bits);
	}
	*why = "Could not resolve service: Servname not supported for ai_socktype";
	return -EINVAL;
}

PARSER(type_uid)
{
	char copy[NAME_TEXT_MAX];
	int err = number_parse(text, len, out, bits);

	if (err != -EINVAL)
		return err;
	if (text_copy(text, len, copy)) {
		struct passwd entry, *found = NULL;
		char buffer[DB_BUFFER];

		if (!getpwnam_r(copy, &entry, buffer, sizeof(buffer), &found) && found)
			return number_store(found->pw_uid, out, bits);
	}
	*why = "User does not exist";
	return -EINVAL;
}

PARSER(type_gid)
{
	char copy[NAME_TEXT_MAX];
	int err = number_parse(text, len, out, bits);

	if (err != -EINVAL)
		return err;
	if (text_copy(text, len, copy)) {
		struct group entry, *found = NULL;
		char buffer[DB_BUFFER];

		if (!getgrnam_r(copy, &entry, buffer, sizeof(buffer), &found) && found)
			return number_store(found->gr_gid, out, bits);
	}
	*why = "Group does not exist";
	return -EINVAL;
}

/* --- Tables of the host ------------------------------------------------------------------- */

static const struct symbol default_realms[] = {{"cosmos", 0}, {NULL, 0}};
static const struct symbol default_devgroups[] = {{"default", 0}, {NULL, 0}};

static int named_parse(const struct symbol *table, const char *text, size_t len, uint8_t *out,
		       unsigned bits)
{
	const struct symbol *s = symbol_find(table, text, len);

	return s ? number_store(s->value, out, bits) : number_parse(text, len, out, bits);
}

static void named_print(const struct symbol *table, const struct datatype *t,
			const struct lang_env *env, const uint8_t *value, unsigned bits,
			struct strbuf *out)
{
	const char *name = symbol_name(table, be_load(value, bits_to_bytes(bits)));

	if (name && !(env->numeric & NUMERIC_SYMBOLS))
		strbuf_printf(out, "\"%s\"", name);
	else
		type_integer_print(t, env, value, bits, out);
}

static const struct symbol *env_marks(const struct lang_env *env)
{
	return env->names ? env->names->marks : NULL;
}

static const struct symbol *env_realms(const struct lang_env *env)
{
	return env->names && env->names->realms ? env->names->realms : default_realms;
}

static const struct symbol *env_devgroups(const struct lang_env *env)
{
	return env->names && env->names->devgroups ? env->names->devgroups : default_devgroups;
}

#define NAMED(type, table)                                                                         \
	PARSER(type)                                                                               \
	{                                                                                          \
		return named_parse(table, text, len, out, bits);                                   \
	}                                                                                          \
	PRINTER(type)                                                                              \
	{                                                                                          \
		named_print(table, t, env, value, bits, out);                                      \
	}

NAMED(type_mark, env_marks(env))
NAMED(type_realm, env_realms(env))
NAMED(type_devgroup, env_devgroups(env))

/* A label is a bit of 128; its text is the bit's number or name. */
PARSER(type_label)
{
	const struct symbol *s = symbol_find(env->names ? env->names->labels : NULL, text, len);
	uint8_t number[2];
	unsigned bit;

	if (s) {
		bit = (unsigned)s->value;
	} else {
		int err = number_parse(text, len, number, 16);

		if (err == -EINVAL)
			*why = "/etc/connlabel.conf: could not parse conntrack label";
		if (err)
			return err;
		bit = be16_load(number);
	}
	if (bit >= bits)
		return -ERANGE;
	memset(out, 0, bits_to_bytes(bits));
	out[bits_to_bytes(bits) - 1 - bit / 8] = (uint8_t)(1U << bit % 8);
	return 0;
}

PRINTER(type_label)
{
	const unsigned bytes = bits_to_bytes(bits);
	unsigned n = 0, bit = 0;

	for (unsigned i = 0; i < bytes; i++) {
		n += (unsigned)__builtin_popcount(value[i]);
		if (value[i])
			bit = (bytes - 1 - i) * 8 + (unsigned)__builtin_ctz(value[i]);
	}
	if (n == 1) {
		const char *name = symbol_name(env->names ? env->names->labels : NULL, bit);

		if (name && !(env->numeric & NUMERIC_SYMBOLS))
			strbuf_printf(out, "\"%s\"", name);
		else
			strbuf_printf(out, "%u", bit);
		return;
	}
	type_integer_print(t, env, value, bits, out);
}

/* A traffic control handle: MAJOR:MINOR, both hexadecimal, `root` and `none`. */
PARSER(type_classid)
{
	const char *colon = memchr(text, ':', len);
	uint8_t half[2][2] = {{0}};
	char copy[2][8] = {"0x", "0x"};

	if (!colon)
		return number_parse(text, len, out, bits);
	for (unsigned i = 0; i < 2; i++) {
		const char *p = i ? colon + 1 : text;
		size_t n = i ? (size_t)(text + len - p) : (size_t)(colon - text);

		if (n > 4 || (!n && len == 1))
			return -EINVAL;
		memcpy(copy[i] + 2, p, n);
		if (n && number_parse(copy[i], n + 2, half[i], 16) < 0)
			return -EINVAL;
	}
	return number_store((uint64_t)be16_load(half[0]) << 16 | be16_load(half[1]), out, bits);
}

PRINTER(type_classid)
{
	unsigned v = (unsigned)be_load(value, bits_to_bytes(bits));

	if (v == UINT32_MAX)
		strbuf_puts(out, "root");
	else if (!v)
		strbuf_puts(out, "none");
	else
		strbuf_printf(out, "%x:%x", v >> 16, v & 0xffff);
}

PARSER(type_ifindex)
{
	uint32_t index = env->ifindex ? env->ifindex(env->arg, text, len) : 0;
	int err;

	if (index)
		return number_store(index, out, bits);
	err = number_parse(text, len, out, bits);
	if (err == -EINVAL)
		*why = "Interface does not exist";
	return err;
}

PRINTER(type_ifindex)
{
	uint32_t index = (uint32_t)be_load(value, bits_to_bytes(bits));
	const char *name = env->ifname ? env->ifname(env->arg, index) : NULL;

	if (name)
		strbuf_printf(out, "\"%s\"", name);
	else
		strbuf_printf(out, "%u", index);
}

PARSER(type_cgroup)
{
	int err = number_parse(text, len, out, bits);

	if (err == -EINVAL)
		*why = "cgroupv2 path fails: No such file or directory";
	return err;
}

/* Lines `NUMBER NAME`, `#` begins a comment; lines of another form are passed over. */
static int names_read(struct arena *a, const char *dir, const char *file, const struct symbol **out)
{
	struct symbol *table = NULL;
	size_t n = 0, cap = 0;
	char *path = arena_printf(a, "%s%s%s", dir, *dir ? "/" : "", file);
	char line[NAMES_LINE_MAX];
	FILE *f;

	if (!path)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		char number[32], name[NAME_TEXT_MAX], *end;
		unsigned long long v;

		if (sscanf(line, " %31s %127s", number, name) != 2 || number[0] == '#')
			continue;
		v = strtoull(number, &end, 0);
		if (*end)
			continue;
		if (n + 1 >= cap) {
			struct symbol *grown = arena_calloc(a, cap ? cap * 2 : 16, sizeof(*table));

			if (grown && n)
				memcpy(grown, table, n * sizeof(*table));
			cap = cap ? cap * 2 : 16;
			table = grown;
		}
		if (!table)
			break;
		table[n].name = arena_strndup(a, name, strlen(name));
		if (!table[n].name)
			break;
		table[n++].value = v;
	}
	if (!feof(f)) {
		fclose(f);
		return -ENOMEM;
	}
	fclose(f);
	*out = table;
	return 0;
}

int host_names_load(struct arena *a, const char *iproute, const char *labels,
		    struct host_names *out)
{
	struct host_names names = {0};
	jmp_buf *jump = arena_on_oom(a, NULL); /* a file is open while the arena allocates */
	int err = names_read(a, iproute, "rt_marks", &names.marks);

	if (!err)
		err = names_read(a, iproute, "rt_realms", &names.realms);
	if (!err)
		err = names_read(a, iproute, "group", &names.devgroups);
	if (!err)
		err = names_read(a, "", labels, &names.labels);
	arena_on_oom(a, jump);
	if (err)
		return err;
	*out = names;
	return 0;
}
