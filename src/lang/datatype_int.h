/* SPDX-License-Identifier: Apache-2.0 */
/* The readers and printers that the table of types (datatype_types.c) refers to. Any thread. */
#ifndef TAMIS_LANG_DATATYPE_INT_H
#define TAMIS_LANG_DATATYPE_INT_H

#include "lang/datatype.h"

#define PARSER(name)                                                                               \
	int name##_parse(const struct datatype *t, const struct lang_env *env, const char *text,   \
			 size_t len, uint8_t *out, unsigned bits, const char **why)
#define PRINTER(name)                                                                              \
	void name##_print(const struct datatype *t, const struct lang_env *env,                    \
			  const uint8_t *value, unsigned bits, struct strbuf *out)

PARSER(type_integer);
PRINTER(type_integer);
PARSER(type_string);
PRINTER(type_string);
PARSER(type_ifname);
PRINTER(type_ifname);

PARSER(type_ipv4);
PRINTER(type_ipv4);
PARSER(type_ipv6);
PRINTER(type_ipv6);
PARSER(type_lladdr);
PRINTER(type_lladdr);

PARSER(type_time);
PRINTER(type_time);
PARSER(type_date);
PRINTER(type_date);
PARSER(type_hour);
PRINTER(type_hour);
PRINTER(type_day);

PARSER(type_protocol);
PRINTER(type_protocol);
PARSER(type_service);
PARSER(type_uid);
PARSER(type_gid);
PARSER(type_mark);
PRINTER(type_mark);
PARSER(type_realm);
PRINTER(type_realm);
PARSER(type_devgroup);
PRINTER(type_devgroup);
PARSER(type_label);
PRINTER(type_label);
PARSER(type_classid);
PRINTER(type_classid);
PARSER(type_ifindex);
PRINTER(type_ifindex);
PARSER(type_cgroup);

const struct symbol *symbol_find(const struct symbol *table, const char *text, size_t len);
const char *symbol_name(const struct symbol *table, uint64_t value);
/* 0, or -ERANGE if v does not fit. */
int number_store(uint64_t v, uint8_t *out, unsigned bits);

#endif
