/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset_print: sets as list and save print them: plain, as commands, XML and JSON.
 *
 * Elements come in the order in which they were added, or sorted by what they mean. A listing costs
 * its length, sorted O(n log n).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "compat/ipset_int.h"

struct print {
	struct ipset *s;
	const struct ipset_set *set;
	const struct ipset_body *body;
	struct strbuf *out;
	enum ipset_output form;
	unsigned flags;
	uint64_t fraction; /* that the lines before have, of PRINT_EXACT */
};

static void ipv4_print(const uint8_t *a, struct strbuf *out)
{
	char text[16], *p = text;

	for (unsigned i = 0; i < 4; i++) {
		if (i)
			*p++ = '.';
		if (a[i] >= 100)
			*p++ = (char)('0' + a[i] / 100);
		if (a[i] >= 10)
			*p++ = (char)('0' + a[i] / 10 % 10);
		*p++ = (char)('0' + a[i] % 10);
	}
	strbuf_add(out, text, (size_t)(p - text));
}

void ipset_address_print(const uint8_t *address, unsigned len, struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN];

	if (len == 4)
		ipv4_print(address, out);
	else
		strbuf_puts(out, inet_ntop(AF_INET6, address, text, sizeof(text)));
}

void ipset_mac_print(const uint8_t mac[6], struct strbuf *out)
{
	strbuf_printf(out, "%02X:%02X:%02X:%02X:%02X:%02X", mac[0], mac[1], mac[2], mac[3], mac[4],
		      mac[5]);
}

void ipset_key_print(const struct ipset_body *b, const uint8_t *key, const struct ipset_ext *x,
		     struct strbuf *out)
{
	for (unsigned d = 0; d < IPSET_DIMS && b->type->dims[d]; d++) {
		enum ipset_dim dim = b->type->dims[d];
		unsigned len = ipset_dim_len(b, dim);

		if (d && len)
			strbuf_putc(out, ',');
		switch (dim) {
		case DIM_IP:
			ipset_address_print(key, len, out);
			break;
		case DIM_NET:
			ipset_address_print(key, len - 1, out);
			if (key[len - 1] != b->ip_len * 8)
				strbuf_printf(out, "/%u", key[len - 1]);
			break;
		case DIM_MAC:
			if (len)
				ipset_mac_print(key, out);
			break;
		case DIM_MARK:
			strbuf_printf(out, "0x%08x", be32_load(key));
			break;
		case DIM_PORT:
			ipset_port_print(key[0], be16_load(key + 1), out);
			break;
		case DIM_PLAIN_PORT:
			strbuf_printf(out, "%u", be16_load(key));
			break;
		case DIM_IFACE:
			strbuf_printf(out, "%s%s", key[16] ? "physdev:" : "", (const char *)key);
			break;
		case DIM_NONE:
			break;
		}
		key += len;
	}
	if (x->flags & ELEM_MAC) {
		strbuf_putc(out, ',');
		ipset_mac_print(x->mac, out);
	}
}

/* A set's name as a word of a line. */
static void name_word(const char *name, struct strbuf *out)
{
	bool quoted = !*name || *name == '-' || strpbrk(name, " \t");

	strbuf_puts(out, quoted ? "\"" : "");
	strbuf_puts(out, name);
	strbuf_puts(out, quoted ? "\"" : "");
}

/* --- attributes: name and value, or the name alone ---------------------------------------- */

static void json_string(const char *text, struct strbuf *out)
{
	strbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			strbuf_printf(out, "\\%c", *text);
		else if ((uint8_t)*text < ' ' || *text == 0x7f)
			strbuf_printf(out, "\\u%04x", (uint8_t)*text);
		else
			strbuf_putc(out, *text);
	}
	strbuf_putc(out, '"');
}

static void xml_text(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		if (*text == '<')
			strbuf_puts(out, "&lt;");
		else if (*text == '>')
			strbuf_puts(out, "&gt;");
		else if (*text == '&')
			strbuf_puts(out, "&amp;");
		else
			strbuf_putc(out, *text);
	}
}

enum attr_kind { ATTR_FLAG, ATTR_NUMBER, ATTR_WORD, ATTR_QUOTED };

/* `lead` goes in front of it in JSON. */
static void attr(struct print *p, const char *name, enum attr_kind kind, const char *value,
		 const char *lead)
{
	struct strbuf *out = p->out;

	switch (p->form) {
	case OUTPUT_XML:
		if (kind == ATTR_FLAG) {
			strbuf_printf(out, "<%s/>", name);
			break;
		}
		strbuf_printf(out, "<%s>%s", name, kind == ATTR_QUOTED ? "\"" : "");
		xml_text(value, out);
		strbuf_printf(out, "%s</%s>", kind == ATTR_QUOTED ? "\"" : "", name);
		break;
	case OUTPUT_JSON:
		strbuf_printf(out, "%s\"%s\" : ", lead, name);
		if (kind == ATTR_FLAG)
			strbuf_puts(out, "true");
		else if (kind == ATTR_NUMBER)
			strbuf_puts(out, value);
		else
			json_string(value, out);
		break;
	default:
		strbuf_printf(out, " %s", name);
		if (kind != ATTR_FLAG)
			strbuf_printf(out, kind == ATTR_QUOTED ? " \"%s\"" : " %s", value);
		break;
	}
}

static void attr_number(struct print *p, const char *name, uint64_t value, const char *lead)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	attr(p, name, ATTR_NUMBER, text, lead);
}

static void attr_hex(struct print *p, const char *name, uint32_t value, const char *lead)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", value);
	attr(p, name, ATTR_WORD, text, lead);
}

/* --- headers ------------------------------------------------------------------------------ */

static void mask_attr(struct print *p, const char *lead)
{
	const struct ipset_body *b = p->body;
	struct strbuf text = STRBUF_INIT;

	if (b->given & OPT(NETMASK))
		attr_number(p, "netmask", b->mask_bits, lead);
	if (!(b->given & OPT(BITMASK)))
		return;
	ipset_address_print(b->mask, b->ip_len, &text);
	attr(p, "bitmask", ATTR_WORD, strbuf_str(&text), lead);
	strbuf_free(&text);
}

static void range_attr(struct print *p, const char *lead)
{
	const struct ipset_body *b = p->body;
	struct strbuf text = STRBUF_INIT;
	uint8_t ends[2][4];

	be32_store(ends[0], b->first);
	be32_store(ends[1], b->last);
	if (b->type->dims[0] == DIM_PLAIN_PORT) {
		strbuf_printf(&text, "%u-%u", b->first, b->last);
	} else {
		ipset_address_print(ends[0], 4, &text);
		strbuf_putc(&text, '-');
		ipset_address_print(ends[1], 4, &text);
	}
	attr(p, "range", ATTR_WORD, strbuf_str(&text), lead);
	strbuf_free(&text);
}

static void header_attr(struct print *p, enum ipset_option o, const char *lead)
{
	const struct ipset_body *b = p->body;
	const char *name = ipset_option_name(o);
	bool given = b->given & 1U << o;

	switch (o) {
	case IPSET_RANGE:
		range_attr(p, lead);
		break;
	case IPSET_FAMILY:
		attr(p, name, ATTR_WORD, b->ip_len == 4 ? "inet" : "inet6", lead);
		break;
	case IPSET_MARKMASK:
		if (b->mark_mask != UINT32_MAX)
			attr_hex(p, name, b->mark_mask, lead);
		break;
	case IPSET_HASHSIZE:
		attr_number(p, name, b->hashsize, lead);
		break;
	case IPSET_MAXELEM:
		attr_number(p, name, b->max, lead);
		break;
	case IPSET_SIZE:
		attr_number(p, name, b->size, lead);
		break;
	case IPSET_BUCKETSIZE:
		attr_number(p, name, b->bucketsize, lead);
		break;
	case IPSET_INITVAL:
		attr_hex(p, name, b->initval, lead);
		break;
	case IPSET_TIMEOUT:
		if (given)
			attr_number(p, name, b->timeout, lead);
		break;
	case IPSET_COUNTERS:
	case IPSET_COMMENT:
	case IPSET_SKBINFO:
	case IPSET_FORCEADD:
		if (given)
			attr(p, name, ATTR_FLAG, NULL, lead);
		break;
	default:
		break;
	}
}

static void header_print(struct print *p)
{
	const struct ipset_type *type = p->body->type;
	size_t before = p->out->len;

	for (unsigned o = 0; o <= IPSET_INITVAL; o++) {
		const char *lead = p->out->len == before ? "      " : ",\n      ";

		if (!(type->options & 1U << o))
			continue;
		if (o == IPSET_NETMASK && !type->mask_last)
			mask_attr(p, lead);
		header_attr(p, (enum ipset_option)o, lead);
	}
	if (type->mask_last)
		mask_attr(p, ",\n      ");
}

/* --- elements ----------------------------------------------------------------------------- */

/* Whole seconds that are left, a begun one among them, so that a save and a restore shorten
 * nothing; and the part of one that this is too much. */
static uint64_t seconds_left(uint64_t left, uint64_t *fraction)
{
	uint64_t seconds = left / IPSET_SECOND + !!(left % IPSET_SECOND);

	*fraction = seconds * IPSET_SECOND - left;
	return seconds;
}

static void ext_print(struct print *p, const struct ipset_ext *x, uint64_t seconds)
{
	static const char lead[] = ",\n        ";
	const struct ipset_body *b = p->body;
	char text[40];

	if (b->given & OPT(TIMEOUT))
		attr_number(p, "timeout", seconds, lead);
	if (x->flags & ELEM_NOMATCH)
		attr(p, "nomatch", ATTR_FLAG, NULL, lead);
	if (x->flags & ELEM_WILDCARD)
		attr(p, "wildcard", ATTR_FLAG, NULL, lead);
	if (b->given & OPT(COUNTERS)) {
		attr_number(p, "packets", x->packets, lead);
		attr_number(p, "bytes", x->bytes, lead);
	}
	if (x->comment && *x->comment)
		attr(p, "comment", ATTR_QUOTED, x->comment, lead);
	if (x->mark || x->mark_mask) {
		if (x->mark_mask == UINT32_MAX)
			snprintf(text, sizeof(text), "0x%x", x->mark);
		else
			snprintf(text, sizeof(text), "0x%x/0x%x", x->mark, x->mark_mask);
		attr(p, "skbmark", ATTR_WORD, text, lead);
	}
	if (x->prio) {
		snprintf(text, sizeof(text), "%x:%x", x->prio >> 16, x->prio & 0xffff);
		attr(p, "skbprio", ATTR_WORD, text, lead);
	}
	if (x->queue)
		attr_number(p, "skbqueue", x->queue, lead);
}

/* `key` of an element, or the name of a member. */
static void elem_print(struct print *p, const uint8_t *key, const char *name,
		       const struct ipset_ext *x, bool first)
{
	struct strbuf *out = p->out, text = STRBUF_INIT;
	uint64_t fraction = 0,
		 seconds = x->expires ? seconds_left(x->expires - p->s->now, &fraction) : 0;

	if (p->flags & PRINT_EXACT && x->expires && fraction != p->fraction) {
		strbuf_printf(out, "#-%llu\n", (unsigned long long)fraction);
		p->fraction = fraction;
	}
	switch (p->form) {
	case OUTPUT_SAVE:
		strbuf_puts(out, "add ");
		name_word(p->set->name, out);
		strbuf_putc(out, ' ');
		break;
	case OUTPUT_XML:
		strbuf_puts(out, "<member><elem>");
		break;
	case OUTPUT_JSON:
		strbuf_puts(out, first ? "      {\n        \"elem\" : "
				       : ",\n      {\n        \"elem\" : ");
		break;
	default:
		break;
	}
	if (p->form == OUTPUT_JSON || (p->form == OUTPUT_XML && name)) {
		if (name)
			strbuf_puts(&text, name);
		else
			ipset_key_print(p->body, key, x, &text);
		if (p->form == OUTPUT_JSON)
			json_string(strbuf_str(&text), out);
		else
			xml_text(strbuf_str(&text), out);
		if (strbuf_error(&text))
			out->error = -ENOMEM;
		strbuf_free(&text);
	} else if (name && p->form == OUTPUT_SAVE) {
		name_word(name, out);
	} else if (name) {
		strbuf_puts(out, name);
	} else {
		ipset_key_print(p->body, key, x, out);
	}
	if (p->form == OUTPUT_XML)
		strbuf_puts(out, "</elem>");
	ext_print(p, x, seconds);
	if (p->form == OUTPUT_XML)
		strbuf_puts(out, "</member>\n");
	else if (p->form == OUTPUT_JSON)
		strbuf_puts(out, "\n      }");
	else
		strbuf_putc(out, '\n');
}

/* "99" before "gre" before "tcp" before "icmp": by length, then by letters. */
static int proto_compare(uint8_t a, uint8_t b)
{
	char number[2][4];
	const char *x = ipset_proto_name(a, number[0]), *y = ipset_proto_name(b, number[1]);
	size_t n = strlen(x), m = strlen(y);

	return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

static int key_compare(const void *a, const void *b, void *body)
{
	const struct ipset_body *set = body;
	const uint8_t *x = ipset_store_record(&set->store, *(const uint32_t *)a);
	const uint8_t *y = ipset_store_record(&set->store, *(const uint32_t *)b);

	for (unsigned d = 0; d < IPSET_DIMS && set->type->dims[d]; d++) {
		enum ipset_dim dim = set->type->dims[d];
		unsigned len = ipset_dim_len(set, dim);
		int c;

		if (dim == DIM_PORT) {
			c = proto_compare(x[0], y[0]);
			if (!c)
				c = memcmp(x + 1, y + 1, 2);
		} else if (dim == DIM_NET) {
			/* The longer one first; of IPv6 the shorter, as ipset has it. */
			c = memcmp(x, y, len - 1);
			if (!c)
				c = len == 5 ? y[len - 1] - x[len - 1]
					     : (y[len - 1] == 128) - (x[len - 1] == 128);
			if (!c)
				c = x[len - 1] - y[len - 1];
		} else {
			c = memcmp(x, y, len);
		}
		if (c)
			return c;
		x += len;
		y += len;
	}
	return 0;
}

static void elems_print(struct print *p)
{
	const struct ipset_body *b = p->body;
	VEC(uint32_t) ids = {0};
	struct ipset_ext x;
	bool first = true;
	uint32_t id = 0;
	/* A bitmap has no other order. */
	bool sorted = p->flags & PRINT_SORTED || b->type->kind == IPSET_BITMAP;
	int err = 0;

	while ((id = ipset_body_next(b, id, p->s->now)) != STORE_NONE) {
		if (sorted) {
			err = vec_push(&ids, id);
			if (err)
				break;
		} else {
			ipset_body_get(b, id, &x);
			elem_print(p, ipset_store_record(&b->store, id), NULL, &x, first);
			first = false;
		}
		id++;
	}
	if (sorted && ids.n)
		qsort_r(ids.items, ids.n, sizeof(*ids.items), key_compare, (void *)b);
	for (size_t i = 0; !err && i < ids.n; i++) {
		ipset_body_get(b, ids.items[i], &x);
		elem_print(p, ipset_store_record(&b->store, ids.items[i]), NULL, &x, !i);
	}
	vec_free(&ids);
	if (err)
		p->out->error = err;
}

static int member_compare(const void *a, const void *b)
{
	const struct ipset_member *const *x = a, *const *y = b;

	return strcmp((*x)->set->name, (*y)->set->name);
}

static void members_print(struct print *p)
{
	const struct ipset_members *m = &p->body->members;
	VEC(const struct ipset_member *) list = {0};
	int err = 0;

	for (size_t i = 0; !err && i < m->n; i++)
		if (!m->items[i].ext.expires || m->items[i].ext.expires > p->s->now)
			err = vec_push(&list, &m->items[i]);
	if (p->flags & PRINT_SORTED && list.n)
		qsort(list.items, list.n, sizeof(*list.items), member_compare);
	for (size_t i = 0; !err && i < list.n; i++)
		elem_print(p, NULL, list.items[i]->set->name, &list.items[i]->ext, !i);
	vec_free(&list);
	if (err)
		p->out->error = err;
}

/* --- sets --------------------------------------------------------------------------------- */

static size_t entries(const struct print *p)
{
	size_t n = 0;

	if (p->body->type->kind != IPSET_LIST)
		return ipset_body_count(p->body, p->s->now);
	for (size_t i = 0; i < p->body->members.n; i++) {
		uint64_t expires = p->body->members.items[i].ext.expires;

		n += !expires || expires > p->s->now;
	}
	return n;
}

static void body_print(struct print *p)
{
	if (p->body->type->kind == IPSET_LIST)
		members_print(p);
	else
		elems_print(p);
}

static void set_save(struct print *p)
{
	strbuf_puts(p->out, "create ");
	name_word(p->set->name, p->out);
	strbuf_printf(p->out, " %s", p->body->type->name);
	header_print(p);
	strbuf_putc(p->out, '\n');
	body_print(p);
}

static void set_plain(struct print *p)
{
	strbuf_printf(p->out, "Name: %s\nType: %s\nRevision: %u\nHeader:", p->set->name,
		      p->body->type->name, p->body->type->revision);
	header_print(p);
	strbuf_printf(p->out, "\nSize in memory: %zu\nReferences: %u\nNumber of entries: %zu\n",
		      ipset_body_bytes(p->body), p->set->refs, entries(p));
	if (p->flags & PRINT_TERSE)
		return;
	strbuf_puts(p->out, "Members:\n");
	body_print(p);
}

static void set_xml(struct print *p)
{
	strbuf_puts(p->out, "<ipset name=\"");
	xml_text(p->set->name, p->out);
	strbuf_printf(p->out, "\">\n<type>%s</type>\n<revision>%u</revision>\n<header>",
		      p->body->type->name, p->body->type->revision);
	header_print(p);
	strbuf_printf(p->out,
		      "\n<memsize>%zu</memsize>\n<references>%u</references>\n"
		      "<numentries>%zu</numentries>\n</header>\n",
		      ipset_body_bytes(p->body), p->set->refs, entries(p));
	if (!(p->flags & PRINT_TERSE)) {
		strbuf_puts(p->out, "<members>\n");
		body_print(p);
		strbuf_puts(p->out, "</members>\n");
	}
	strbuf_puts(p->out, "</ipset>\n");
}

static void set_json(struct print *p)
{
	strbuf_puts(p->out, "  {\n    \"name\" : ");
	json_string(p->set->name, p->out);
	strbuf_printf(p->out,
		      ",\n    \"type\" : \"%s\",\n    \"revision\" : %u,\n    \"header\" : {\n",
		      p->body->type->name, p->body->type->revision);
	header_print(p);
	strbuf_printf(p->out,
		      ",\n      \"memsize\" : %zu,\n      \"references\" : %u,\n"
		      "      \"numentries\" : %zu\n    }",
		      ipset_body_bytes(p->body), p->set->refs, entries(p));
	if (!(p->flags & PRINT_TERSE)) {
		size_t n = entries(p);

		strbuf_puts(p->out, ",\n    \"members\" : [\n");
		body_print(p);
		strbuf_puts(p->out, n ? "\n    ]" : "    ]");
	}
	strbuf_puts(p->out, "\n  }");
}

static void name_print(struct print *p)
{
	if (p->form == OUTPUT_XML) {
		strbuf_puts(p->out, "<ipset name=\"");
		xml_text(p->set->name, p->out);
		strbuf_puts(p->out, "\"/>\n");
	} else if (p->form == OUTPUT_JSON) {
		strbuf_puts(p->out, "  { \"name\" : ");
		json_string(p->set->name, p->out);
		strbuf_puts(p->out, " }");
	} else {
		strbuf_printf(p->out, "%s\n", p->set->name);
	}
}

static void set_print(struct print *p, const struct ipset_set *set, bool first)
{
	static void (*const printers[])(struct print *) = {
		[OUTPUT_PLAIN] = set_plain,
		[OUTPUT_SAVE] = set_save,
		[OUTPUT_XML] = set_xml,
		[OUTPUT_JSON] = set_json,
	};
	bool names = p->flags & PRINT_NAMES && p->form != OUTPUT_SAVE;

	p->set = set;
	p->body = set->body;
	if (!first && p->form == OUTPUT_JSON)
		strbuf_puts(p->out, ",\n");
	if (!first && p->form == OUTPUT_PLAIN && !names)
		strbuf_putc(p->out, '\n');
	if (names)
		name_print(p);
	else
		printers[p->form](p);
}

void ipset_print(struct ipset *s, struct ipset_set *set, enum ipset_output form, unsigned flags,
		 struct strbuf *out)
{
	struct print p = {.s = s, .out = out, .form = form, .flags = flags};
	size_t before;

	if (form == OUTPUT_XML)
		strbuf_puts(out, "<ipsets>\n");
	if (form == OUTPUT_JSON)
		strbuf_puts(out, "[\n");
	before = out->len;
	if (set) {
		set_print(&p, set, true);
	} else {
		/* Lists refer to sets, which come before them. */
		for (unsigned lists = 0; lists < 2; lists++)
			for (size_t i = 0; i < s->sets.n; i++) {
				struct ipset_set *one = s->sets.items[i];

				if ((one->body->type->kind == IPSET_LIST) == lists)
					set_print(&p, one, out->len == before);
			}
	}
	if (form == OUTPUT_XML)
		strbuf_puts(out, "</ipsets>\n");
	if (form == OUTPUT_JSON)
		strbuf_puts(out, out->len == before ? "]\n" : "\n]\n");
}
