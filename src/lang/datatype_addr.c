/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datatype: IPv4, IPv6 and link layer addresses.
 *
 * The way of an IPv4 address in dotted decimal is written out by hand, both ways, since sets bring
 * a million of them; the odd forms of inet_aton(3) (`0x7f000001`, `010.1.1.1` in octal), which nft
 * reads too, go the slow way. No state, any thread.
 */
#include <arpa/inet.h>

#include "lang/datatype_int.h"

static bool ipv4_read(const char *text, size_t len, uint8_t *out)
{
	const char *p = text, *end = text + len;

	for (unsigned i = 0; i < 4; i++) {
		unsigned v = 0, n = 0;

		if (i && (p == end || *p++ != '.'))
			return false;
		if (p == end || (*p == '0' && p + 1 < end && p[1] != '.'))
			return false;
		for (; p < end && n < 3 && *p >= '0' && *p <= '9'; n++)
			v = v * 10 + (unsigned)(*p++ - '0');
		if (!n || v > 255)
			return false;
		out[i] = (uint8_t)v;
	}
	return p == end;
}

/* What nft says without a name server: names are never looked up. */
static const char no_address[] = "Could not resolve hostname: Name or service not known";

PARSER(type_ipv4)
{
	char copy[64];
	uint8_t addr[4];

	if (bits != 32)
		return -EINVAL;
	if (ipv4_read(text, len, addr)) {
		memcpy(out, addr, 4);
		return 0;
	}
	if (len < sizeof(copy)) {
		struct in_addr in;

		memcpy(copy, text, len);
		copy[len] = 0;
		if (strspn(copy, "0123456789abcdefABCDEFxX.") == len && inet_aton(copy, &in)) {
			memcpy(out, &in, 4);
			return 0;
		}
	}
	*why = no_address;
	return -EINVAL;
}

PRINTER(type_ipv4)
{
	char text[16];
	unsigned n = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned v = value[i];

		if (i)
			text[n++] = '.';
		if (v >= 100)
			text[n++] = (char)('0' + v / 100);
		if (v >= 10)
			text[n++] = (char)('0' + v / 10 % 10);
		text[n++] = (char)('0' + v % 10);
	}
	strbuf_add(out, text, n);
}

PARSER(type_ipv6)
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t addr[16];

	if (bits != 128)
		return -EINVAL;
	if (len < sizeof(copy)) {
		memcpy(copy, text, len);
		copy[len] = 0;
		if (strlen(copy) == len && inet_pton(AF_INET6, copy, addr) == 1) {
			memcpy(out, addr, 16);
			return 0;
		}
	}
	*why = no_address;
	return -EINVAL;
}

PRINTER(type_ipv6)
{
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(AF_INET6, value, text, sizeof(text)))
		strbuf_puts(out, text);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Groups of one or two hexadecimal digits; fewer than the width are the last ones, as nft has it.
 */
PARSER(type_lladdr)
{
	uint8_t addr[VALUE_MAX] = {0};
	const unsigned bytes = bits_to_bytes(bits);
	unsigned n = 0;

	for (size_t i = 0; i < len;) {
		int v = hex_value(text[i++]);

		if (v >= 0 && i < len && hex_value(text[i]) >= 0)
			v = v << 4 | hex_value(text[i++]);
		if (v < 0 || n == bytes || (i < len && (text[i++] != ':' || i == len))) {
			*why = "Invalid LL address";
			return -EINVAL;
		}
		addr[n++] = (uint8_t)v;
	}
	if (!n) {
		*why = "Invalid LL address";
		return -EINVAL;
	}
	memset(out, 0, bytes);
	memcpy(out + bytes - n, addr, n);
	return 0;
}

PRINTER(type_lladdr)
{
	static const char hex[] = "0123456789abcdef";
	char text[VALUE_MAX * 3];
	unsigned n = 0;

	for (unsigned i = 0; i < bits_to_bytes(bits); i++) {
		if (i)
			text[n++] = ':';
		text[n++] = hex[value[i] >> 4];
		text[n++] = hex[value[i] & 15];
	}
	strbuf_add(out, text, n);
}
