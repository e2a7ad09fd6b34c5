/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_pcapng: blocks of pcapng, one after the other (draft-ietf-opsawg-pcapng).
 *
 * Sections may differ in byte order, and number their interfaces from 0 each. In the capture's
 * table an interface that a new section describes just as the last one described the one of its
 * number is the same; so a file of many sections does not fill the table.
 *
 * Blocks of packets, interfaces and sections must fit into the window; all others are passed over
 * and may be of any size.
 */
#include "port/capture_file.h"

enum {
	BLOCK_SECTION = PCAPNG_SECTION,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 2, /* obsolete */
	BLOCK_SIMPLE = 3,
	BLOCK_ENHANCED = 6,
};

enum { OPTION_END = 0, OPTION_IF_NAME = 2, OPTION_IF_TSRESOL = 9, OPTION_IF_TSOFFSET = 14 };

static unsigned __int128 power10(unsigned n)
{
	unsigned __int128 v = 1;

	while (n--)
		v *= 10;
	return v;
}

/* A time in the interface's units to ns since the epoch, held within 64 bits. */
static uint64_t time_ns(const struct capture_interface *i, uint64_t units)
{
	unsigned n = i->resolution & 0x7f;
	__int128 ns;

	if (i->resolution & 0x80)
		ns = (__int128)(((unsigned __int128)units * 1000000000u) >> n);
	else if (n <= 9)
		ns = (__int128)(units * power10(9 - n));
	else
		ns = n > 9 + 19 ? 0 : (__int128)(units / power10(n - 9));
	ns += (__int128)i->offset * 1000000000;
	if (ns < 0)
		return 0;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static bool same_string(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Adds the section's next interface, as a new one or as one already known. */
static void interface_add(struct capture *c, struct capture_interface i)
{
	size_t number = c->section.n;
	uint32_t index = (uint32_t)c->interfaces.n;

	if (number < c->previous.n) {
		const struct capture_interface *old =
			&c->interfaces.items[c->previous.items[number]];

		if (old->linktype == i.linktype && old->resolution == i.resolution &&
		    old->offset == i.offset && old->snaplen == i.snaplen &&
		    same_string(old->name, i.name))
			index = c->previous.items[number];
	}
	if (number >= CAPTURE_INTERFACES_MAX || index >= CAPTURE_INTERFACES_MAX) {
		free(i.name);
		capture_corrupt(c, "more than %d interfaces", CAPTURE_INTERFACES_MAX);
		return;
	}
	if (index < c->interfaces.n)
		free(i.name);
	else
		c->error = capture_add_interface(c, i);
	if (!c->error)
		c->error = vec_push(&c->section, index);
}

/* Options that do not fit the block end the list; what came before them counts. */
static void block_interface(struct capture *c, const uint8_t *p, uint32_t len)
{
	struct capture_interface i = {.resolution = 6};
	uint32_t k = 8;

	if (len < 8) {
		capture_corrupt(c, "an interface block of %u bytes", len + 12);
		return;
	}
	i.linktype = capture_u16(c, p);
	i.snaplen = capture_u32(c, p + 4);
	while (len - k >= 4) {
		uint16_t code = capture_u16(c, p + k), n = capture_u16(c, p + k + 2);
		const uint8_t *value = p + k + 4;

		if (code == OPTION_END || n > len - k - 4)
			break;
		if (code == OPTION_IF_NAME && n && value[0] && !i.name) {
			i.name = strndup((const char *)value, n);
			if (!i.name) {
				c->error = -ENOMEM;
				return;
			}
		} else if (code == OPTION_IF_TSRESOL && n == 1) {
			i.resolution = value[0];
		} else if (code == OPTION_IF_TSOFFSET && n == 8) {
			uint64_t low = capture_u32(c, value + (c->swapped ? 4 : 0));
			uint64_t high = capture_u32(c, value + (c->swapped ? 0 : 4));

			i.offset = (int64_t)(high << 32 | low);
		}
		k += 4 + MIN((n + 3u) & ~3u, len - k - 4);
	}
	interface_add(c, i);
}

/* `fixed` bytes of fields are before the packet's in the block's body of len bytes. */
static void block_packet(struct capture *c, struct burst *b, uint32_t number, uint64_t units,
			 bool timed, uint32_t fixed, uint32_t caplen, uint32_t wire, uint32_t len)
{
	uint32_t index;

	if (number >= c->section.n) {
		capture_corrupt(c, "a packet of interface %u, which the section does not have",
				number);
		return;
	}
	if (caplen > len - fixed || caplen > CAPTURE_PACKET_MAX) {
		capture_corrupt(c, "a packet of %u bytes in a block of %u", caplen, len + 12);
		return;
	}
	index = c->section.items[number];
	capture_add(c, b, index, timed ? time_ns(&c->interfaces.items[index], units) : c->last_time,
		    8 + fixed, caplen, wire);
}

static void block_enhanced(struct capture *c, struct burst *b, const uint8_t *p, uint32_t len,
			   bool obsolete)
{
	uint32_t number;

	if (len < 20) {
		capture_corrupt(c, "a packet block of %u bytes", len + 12);
		return;
	}
	number = obsolete ? capture_u16(c, p) : capture_u32(c, p);
	block_packet(c, b, number, (uint64_t)capture_u32(c, p + 4) << 32 | capture_u32(c, p + 8),
		     true, 20, capture_u32(c, p + 12), capture_u32(c, p + 16), len);
}

/* No time, no interface, and the captured length follows from the others. */
static void block_simple(struct capture *c, struct burst *b, const uint8_t *p, uint32_t len)
{
	uint32_t wire, caplen;

	if (len < 4) {
		capture_corrupt(c, "a packet block of %u bytes", len + 12);
		return;
	}
	wire = caplen = capture_u32(c, p);
	if (c->section.n) {
		uint32_t snaplen = c->interfaces.items[c->section.items[0]].snaplen;

		caplen = MIN(caplen, snaplen ? snaplen : UINT32_MAX);
	}
	block_packet(c, b, 0, 0, false, 4, caplen, wire, len);
}

static void block_section(struct capture *c, const uint8_t *p, uint32_t len)
{
	typeof(c->previous) swap = {c->section.items, c->section.n, c->section.cap};

	if (len < 16 || capture_u16(c, p + 4) != PCAPNG_MAJOR) {
		capture_corrupt(c, "a section of an unknown version");
		return;
	}

	c->section.items = c->previous.items;
	c->section.cap = c->previous.cap;
	c->section.n = 0;
	c->previous = swap;
}

/* A section's byte order stands behind its length. */
static bool section_order(struct capture *c, const uint8_t *p)
{
	for (unsigned k = 0; k < 2; k++) {
		c->swapped = k;
		if (capture_u32(c, p + 8) == PCAPNG_ORDER)
			return true;
	}
	return false;
}

bool pcapng_next(struct capture *c, struct burst *b)
{
	enum fetch got = capture_fetch(c, b, 12);
	uint32_t type, len;
	const uint8_t *p;
	bool known;

	if (got == FETCH_END)
		capture_stop(c);
	if (got != FETCH_HAVE)
		return false;
	p = c->window + c->pos;
	type = capture_u32(c, p);
	if (type == BLOCK_SECTION && !section_order(c, p)) {
		capture_corrupt(c, "a section without a byte order");
		return false;
	}
	len = capture_u32(c, p + 4);
	if (len < 12 || len % 4) {
		capture_corrupt(c, "a block of %u bytes", len);
		return false;
	}
	known = type == BLOCK_SECTION || type == BLOCK_INTERFACE || type == BLOCK_PACKET ||
		type == BLOCK_SIMPLE || type == BLOCK_ENHANCED;
	if (!known) {
		capture_skip(c, len);
		return true;
	}
	if (len > CAPTURE_WINDOW) {
		capture_corrupt(c, "a block of %u bytes", len);
		return false;
	}
	got = capture_fetch(c, b, len);
	if (got == FETCH_END)
		capture_stop(c);
	if (got != FETCH_HAVE)
		return false;
	p = c->window + c->pos;
	if (capture_u32(c, p + len - 4) != len) {
		capture_corrupt(c, "a block of %u bytes that ends as one of %u", len,
				capture_u32(c, p + len - 4));
		return false;
	}
	switch (type) {
	case BLOCK_SECTION:
		block_section(c, p + 8, len - 12);
		break;
	case BLOCK_INTERFACE:
		block_interface(c, p + 8, len - 12);
		break;
	case BLOCK_SIMPLE:
		block_simple(c, b, p + 8, len - 12);
		break;
	default:
		block_enhanced(c, b, p + 8, len - 12, type == BLOCK_PACKET);
	}
	if (c->done || c->error)
		return false;
	c->pos += len;
	c->at += len;
	return true;
}
