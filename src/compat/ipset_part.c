/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_part: addresses, networks, marks and names inside an element. */
#include <arpa/inet.h>
#include <stdio.h>

#include "base/address.h"
#include "compat/ipset_int.h"

/*
 * Addresses as the C library reads them where no resolver is asked: "10.1.2.3", but also "10.1" and
 * octal numbers.
 */
bool ipset_address_parse(const char *text, size_t n, unsigned len, uint8_t out[16])
{
	char copy[32];
	struct in_addr a;

	if (address_parse(text, n, out) == len)
		return true;
	if (len != 4 || !n || n >= sizeof(copy) || strspn(text, "0123456789.") < n)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (!inet_aton(copy, &a))
		return false;
	memcpy(out, &a, 4);
	return true;
}

static int address_fail(struct ipset *s, const struct ipset_body *b, const char *text)
{
	return ipset_fail(s, "Syntax error: cannot parse %s: resolving to IPv%c address failed",
			  text, b->ip_len == 4 ? '4' : '6');
}

/* Takes the brackets off "[address]", with or without something behind it. */
static int brackets_strip(struct ipset *s, char *text)
{
	char *end;

	if (*text != '[')
		return 0;
	end = strchr(text, ']');
	if (!end)
		return ipset_fail(s, "Syntax error: cannot find closing escape character ']' in %s",
				  text);
	memmove(text, text + 1, (size_t)(end - text - 1));
	memmove(end - 1, end + 1, strlen(end + 1) + 1);
	return 0;
}

static int range_parse(struct ipset *s, const struct ipset_body *b, const char *dash,
		       struct ipset_part *p)
{
	if (!ipset_address_parse(dash + 1, strlen(dash + 1), b->ip_len, p->last))
		return address_fail(s, b, dash + 1);
	if (memcmp(p->first, p->last, p->len) > 0) {
		uint8_t swapped[16];

		memcpy(swapped, p->first, 16);
		memcpy(p->first, p->last, 16);
		memcpy(p->last, swapped, 16);
	}
	p->dashed = p->span = true;
	return 0;
}

/* An address, or where the type has it a prefix or range of them. */
static int addresses_parse(struct ipset *s, const struct ipset_body *b, bool range, char *text,
			   struct ipset_part *p)
{
	const char *dash, *slash;
	unsigned bits = b->ip_len * 8;
	uint64_t prefix = bits;
	size_t n;

	if (brackets_strip(s, text))
		return -EINVAL;
	slash = ipset_separator(text, '/');
	dash = slash ? NULL : ipset_separator(text, '-');
	n = dash ? (size_t)(dash - text) : slash ? (size_t)(slash - text) : strlen(text);
	if (p->dim == DIM_IP && (!range || b->ip_len == 16)) {
		uint64_t whole = 0;

		if (dash || (slash && (decimal_parse(slash + 1, strlen(slash + 1), bits, &whole) ||
				       whole != bits)))
			return ipset_fail(s, "Syntax error: plain IP address must be supplied: %s",
					  text);
	}
	if (b->ip_len == 16 && ipset_separator(text, '-'))
		return ipset_fail(s, "Syntax error: IP address or IP/cidr must be specified: %s",
				  text);
	if (slash && ipset_number(s, slash + 1, 0, bits, &prefix))
		return -EINVAL;
	if (!ipset_address_parse(text, n, b->ip_len, p->first)) {
		char copy[IPSET_LINE_MAX];

		snprintf(copy, sizeof(copy), "%.*s", (int)n, text);
		return address_fail(s, b, copy);
	}
	memcpy(p->raw, p->first, sizeof(p->raw));
	p->len = b->ip_len;
	if (dash)
		return range_parse(s, b, dash, p);
	p->slashed = slash;
	p->written = p->prefix = (uint8_t)prefix;
	address_prefix_bounds(p->first, p->last, p->len, (unsigned)prefix);
	p->span = p->dim == DIM_IP;
	return 0;
}

int ipset_mac_parse(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int end = 0;

	if (strlen(text) > 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    text[end])
		return -EINVAL;
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}

static int mark_parse(struct ipset *s, const struct ipset_body *b, const char *text,
		      struct ipset_part *p)
{
	uint64_t mark;
	int err = ipset_number(s, text, 0, UINT32_MAX, &mark);

	if (!err)
		be32_store(p->first, (uint32_t)mark & b->mark_mask);
	return err;
}

static int iface_parse(struct ipset *s, const char *text, struct ipset_part *p)
{
	static const char physdev[] = "physdev:";

	if (strncmp(text, physdev, sizeof(physdev) - 1) == 0) {
		p->physdev = 1;
		text += sizeof(physdev) - 1;
	}
	if (strlen(text) > IPSET_IFACE_MAX)
		return ipset_fail(s,
				  "Syntax error: interface name '%s' is longer than %d "
				  "characters",
				  text, IPSET_IFACE_MAX);
	for (const char *c = text; *c; c++)
		if ((uint8_t)*c <= ' ' || *c == '"')
			return ipset_fail(s, "Syntax error: '%s' is no name of an interface", text);
	memcpy(p->first, text, strlen(text));
	return 0;
}

int ipset_part_parse(struct ipset *s, const struct ipset_body *b, unsigned dim, bool range,
		     char *text, struct ipset_part *out)
{
	struct ipset_part p = {.dim = b->type->dims[dim]};
	int err = 0;

	switch (p.dim) {
	case DIM_NONE:
		break;
	case DIM_IP:
	case DIM_NET:
		err = addresses_parse(s, b, range, text, &p);
		break;
	case DIM_MAC:
		if (ipset_mac_parse(text, p.first))
			err = ipset_fail(s, "Syntax error: cannot parse '%s' as ethernet address",
					 text);
		break;
	case DIM_MARK:
		err = mark_parse(s, b, text, &p);
		break;
	case DIM_PORT:
	case DIM_PLAIN_PORT:
		err = ipset_port_parse(s, b, range, text, &p);
		break;
	case DIM_IFACE:
		err = iface_parse(s, text, &p);
		break;
	}
	if (!err)
		*out = p;
	return err;
}

/* The largest network that begins at p->at and ends by p->last. */
static void network_fit(struct ipset_part *p)
{
	uint32_t at = be32_load(p->at), last = be32_load(p->last);

	p->prefix = 1;
	while (p->prefix < 32 &&
	       ((at & (UINT32_MAX >> p->prefix)) || (at | UINT32_MAX >> p->prefix) > last))
		p->prefix++;
}

void ipset_part_begin(struct ipset_part *p)
{
	memcpy(p->at, p->first, sizeof(p->at));
	if (p->dim == DIM_NET && p->span)
		network_fit(p);
}

bool ipset_part_next(const struct ipset_body *b, struct ipset_part *p)
{
	uint32_t at, last, size = 1;

	if (!p->span || p->len == 16)
		return false;
	if (p->dim == DIM_PORT || p->dim == DIM_PLAIN_PORT) {
		if (!memcmp(p->at, p->last, 2))
			return false;
		be16_store(p->at, (uint16_t)(be16_load(p->at) + 1));
		return true;
	}
	at = be32_load(p->at);
	last = be32_load(p->last);
	if (p->dim == DIM_NET)
		size = UINT32_C(1) << (32 - p->prefix);
	else if (b->given & OPT(NETMASK) && b->mask_bits)
		size = UINT32_C(1) << (32 - b->mask_bits);
	at &= ~(size - 1);
	if (last - at < size)
		return false;
	be32_store(p->at, at + size);
	if (p->dim == DIM_NET)
		network_fit(p);
	return true;
}

static void address_put(const struct ipset_body *b, const struct ipset_part *p, uint8_t *key)
{
	for (unsigned i = 0; i < p->len; i++)
		key[i] = p->at[i] & b->mask[i];
}

void ipset_part_put(const struct ipset_body *b, const struct ipset_part *p, uint8_t *key)
{
	switch (p->dim) {
	case DIM_NONE:
		break;
	case DIM_IP:
		address_put(b, p, key);
		break;
	case DIM_NET:
		address_put(b, p, key);
		key[p->len] = p->prefix;
		break;
	case DIM_MAC:
		memcpy(key, p->at, 6);
		break;
	case DIM_MARK:
		memcpy(key, p->at, 4);
		break;
	case DIM_PORT:
		key[0] = p->proto;
		memcpy(key + 1, p->at, 2);
		break;
	case DIM_PLAIN_PORT:
		memcpy(key, p->at, 2);
		break;
	case DIM_IFACE:
		memcpy(key, p->at, 16);
		key[16] = p->physdev;
		break;
	}
}

void ipset_part_print(const struct ipset_part *p, struct strbuf *out)
{
	switch (p->dim) {
	case DIM_NONE:
		break;
	case DIM_IP:
	case DIM_NET:
		ipset_address_print(p->raw, p->len, out);
		if (p->dashed && p->dim == DIM_IP) {
			bool turned = memcmp(p->raw, p->first, p->len) != 0;

			strbuf_putc(out, '-');
			ipset_address_print(turned ? p->first : p->last, p->len, out);
		} else if (p->slashed && p->written != p->len * 8) {
			strbuf_printf(out, "/%u", p->written);
		}
		break;
	case DIM_MAC:
		ipset_mac_print(p->first, out);
		break;
	case DIM_MARK:
		strbuf_printf(out, "0x%08x", be32_load(p->first));
		break;
	case DIM_PORT:
		ipset_port_print(p->proto, be16_load(p->first), out);
		break;
	case DIM_PLAIN_PORT:
		strbuf_printf(out, "%u", be16_load(p->first));
		break;
	case DIM_IFACE:
		strbuf_puts(out, (const char *)p->first);
		break;
	}
}
