/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: opens a capture file, keeps its window and its interfaces, and reads pcap.
 *
 * libpcap is not used: it refuses pcapng files whose interfaces differ in link type, and hides the
 * interfaces' names. The two formats take a few hundred lines, and then one way reads both.
 *
 * Sources: draft-ietf-opsawg-pcap; the extended record header (8 bytes more) is that of a Linux
 * patch by Alexey Kuznetsov that old distributions shipped.
 */
#include "port/capture_file.h"

#include <stdio.h>

enum {
	PCAP_MICRO = 0xa1b2c3d4u,
	PCAP_NANO = 0xa1b23c4du,
	PCAP_EXTENDED = 0xa1b2cd34u,
	PCAP_HEADER = 24,
};

enum fetch capture_fetch(struct capture *c, const struct burst *b, size_t n)
{
	while (c->skip || c->fill - c->pos < n) {
		size_t step = MIN(c->skip, c->fill - c->pos);
		ssize_t got;

		c->pos += step;
		c->at += step;
		c->skip -= step;
		if (!c->skip && c->fill - c->pos >= n)
			break;
		if (b && b->n)
			return FETCH_LATER;
		memmove(c->window, c->window + c->pos, c->fill - c->pos);
		c->fill -= c->pos;
		c->pos = 0;
		got = stream_read(c->in, c->window + c->fill, CAPTURE_WINDOW - c->fill);
		if (got < 0) {
			c->error = (int)got;
			return FETCH_ERROR;
		}
		if (!got)
			return FETCH_END;
		c->fill += (size_t)got;
	}
	return FETCH_HAVE;
}

void capture_skip(struct capture *c, uint64_t n)
{
	c->skip += n;
}

void capture_stop(struct capture *c)
{
	enum stream_end end = stream_end(c->in);

	c->done = true;
	if (end == STREAM_DAMAGED) {
		c->end = CAPTURE_CORRUPT;
		strbuf_printf(&c->warnings,
			      "%s: the gzip data are damaged at byte %llu, after packet %llu; "
			      "the rest is not read\n",
			      c->name, (unsigned long long)(c->at + c->fill - c->pos),
			      (unsigned long long)(c->packets + c->skipped));
	} else if (end == STREAM_CUT || c->fill > c->pos || c->skip) {
		c->end = CAPTURE_TRUNCATED;
		strbuf_printf(&c->warnings,
			      "%s: the file is cut off at byte %llu, after packet %llu\n", c->name,
			      (unsigned long long)(c->at + c->fill - c->pos),
			      (unsigned long long)(c->packets + c->skipped));
	}
}

void capture_corrupt(struct capture *c, const char *why, ...)
{
	va_list ap;

	c->done = true;
	c->end = CAPTURE_CORRUPT;
	strbuf_printf(&c->warnings, "%s: corrupt at byte %llu, after packet %llu: ", c->name,
		      (unsigned long long)c->at, (unsigned long long)(c->packets + c->skipped));
	va_start(ap, why);
	strbuf_vprintf(&c->warnings, why, ap);
	va_end(ap);
	strbuf_puts(&c->warnings, "; the rest is not read\n");
}

void capture_add(struct capture *c, struct burst *b, uint32_t interface, uint64_t time, size_t off,
		 uint32_t caplen, uint32_t len)
{
	struct capture_interface *from = &c->interfaces.items[interface];
	unsigned i = b->n;

	c->last_time = time;
	if (from->link < 0) {
		from->skipped++;
		c->skipped++;
		return;
	}
	b->data[i] = c->window + c->pos + off;
	b->caplen[i] = caplen;
	b->len[i] = MAX(len, caplen);
	b->time[i] = time;
	b->link[i] = (uint8_t)from->link;
	b->iif[i] = interface + 1;
	b->oif[i] = 0;
	b->port_tag[i] = interface;
	b->n++;
	c->packets++;
}

int capture_add_interface(struct capture *c, struct capture_interface i)
{
	int err;

	i.link = linktype_link(i.linktype);
	err = vec_push(&c->interfaces, i);
	if (err)
		free(i.name);
	return err;
}

/* Reads the next record; as pcapng_next(). */
static bool pcap_next(struct capture *c, struct burst *b)
{
	uint32_t sec, frac, caplen, len;
	const uint8_t *p;
	enum fetch got = capture_fetch(c, b, c->record_header);

	if (got == FETCH_HAVE) {
		p = c->window + c->pos;
		sec = capture_u32(c, p);
		frac = capture_u32(c, p + 4);
		caplen = capture_u32(c, p + 8);
		len = capture_u32(c, p + 12);
		/* Before version 2.3 the two were the other way round, in 2.3 they may be. */
		if (c->minor < 3 || (c->minor == 3 && caplen > len)) {
			uint32_t swap = caplen;

			caplen = len;
			len = swap;
		}
		if (caplen > CAPTURE_PACKET_MAX) {
			capture_corrupt(c, "a packet of %u bytes", caplen);
			return false;
		}
		got = capture_fetch(c, b, c->record_header + caplen);
	}
	if (got == FETCH_END)
		capture_stop(c);
	if (got != FETCH_HAVE)
		return false;
	capture_add(c, b, 0,
		    sec * 1000000000ull +
			    frac * (c->interfaces.items[0].resolution == 9 ? 1ull : 1000ull),
		    c->record_header, caplen, len);
	c->pos += c->record_header + caplen;
	c->at += c->record_header + caplen;
	return true;
}

/* Takes the file header of pcap, whose byte order is known; 0 or -errno with a message. */
static int pcap_begin(struct capture *c, uint32_t magic, struct strbuf *msg)
{
	struct capture_interface i = {.resolution = magic == PCAP_NANO ? 9 : 6};
	enum fetch got = capture_fetch(c, NULL, PCAP_HEADER);
	const uint8_t *p = c->window + c->pos;
	const char *name;

	if (got == FETCH_ERROR)
		return c->error;
	if (got != FETCH_HAVE) {
		strbuf_printf(msg, "%s: ends within the header of a pcap file", c->name);
		return -EINVAL;
	}
	if (capture_u16(c, p + 4) != 2) {
		strbuf_printf(msg, "%s: pcap version %u.%u is not known", c->name,
			      capture_u16(c, p + 4), capture_u16(c, p + 6));
		return -EINVAL;
	}
	c->format = CAPTURE_PCAP;
	c->minor = capture_u16(c, p + 6);
	c->record_header = magic == PCAP_EXTENDED ? 24 : 16;
	c->network = capture_u32(c, p + 20);
	i.snaplen = capture_u32(c, p + 16);
	i.linktype = c->network & 0xffff;
	c->pos += PCAP_HEADER;
	c->at += PCAP_HEADER;
	if (linktype_link(i.linktype) < 0) {
		name = linktype_name(i.linktype);
		strbuf_printf(msg, "%s: link type %s (%u) is not supported", c->name,
			      name ? name : "unknown", i.linktype);
		return -EOPNOTSUPP;
	}
	return capture_add_interface(c, i);
}

/* Looks at the file's first bytes. */
static int begin(struct capture *c, struct strbuf *msg)
{
	enum fetch got = capture_fetch(c, NULL, 16);
	const uint8_t *p = c->window + c->pos;
	uint32_t magic;

	if (got == FETCH_ERROR)
		return c->error;
	if (!c->fill && stream_end(c->in) == STREAM_END) {
		strbuf_printf(msg, "%s: is empty", c->name);
		return -EINVAL;
	}
	for (unsigned k = 0; k < 2 && c->fill >= 4; k++) {
		c->swapped = k;
		magic = capture_u32(c, p);
		if (magic == PCAP_MICRO || magic == PCAP_NANO || magic == PCAP_EXTENDED)
			return pcap_begin(c, magic, msg);
		if (magic != PCAPNG_SECTION || c->fill < 16 ||
		    capture_u32(c, p + 8) != PCAPNG_ORDER)
			continue;
		if (capture_u16(c, p + 12) != PCAPNG_MAJOR) {
			strbuf_printf(msg, "%s: pcapng version %u.%u is not known", c->name,
				      capture_u16(c, p + 12), capture_u16(c, p + 14));
			return -EINVAL;
		}
		c->format = CAPTURE_PCAPNG;
		return 0;
	}
	strbuf_printf(msg, "%s: is no pcap or pcapng capture", c->name);
	return -EINVAL;
}

int capture_open(struct capture **out, const char *path, struct strbuf *msg)
{
	struct capture *c = calloc(1, sizeof(*c));
	size_t said = msg->len;
	int err = -ENOMEM;

	if (!c)
		goto fail;
	c->name = strdup(strcmp(path, "-") ? path : "standard input");
	c->window = malloc(CAPTURE_WINDOW);
	if (!c->name || !c->window)
		goto fail;
	err = stream_open(&c->in, path);
	if (!err)
		err = begin(c, msg);
	if (err)
		goto fail;
	*out = c;
	return 0;
fail:
	if (msg->len == said)
		strbuf_printf(msg, "%s: %s", path, strerror(-err));
	capture_close(c);
	return err;
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	vec_foreach (&c->interfaces, i)
		free(i->name);
	vec_free(&c->interfaces);
	vec_free(&c->section);
	vec_free(&c->previous);
	strbuf_free(&c->warnings);
	stream_close(c->in);
	free(c->window);
	free(c->name);
	free(c);
}

/* The end of a file of which some or all packets could not be read; 0 or -EOPNOTSUPP. */
static int report_skipped(struct capture *c, struct strbuf *msg)
{
	bool only = c->interfaces.n;

	vec_foreach (&c->interfaces, i)
		only &= i->link < 0;
	only |= c->skipped && !c->packets;
	vec_foreach (&c->interfaces, i) {
		const char *name = linktype_name(i->linktype);

		if (i->link >= 0)
			continue;
		if (only) {
			strbuf_printf(msg, "%s: link type %s (%u) is not supported", c->name,
				      name ? name : "unknown", i->linktype);
			return -EOPNOTSUPP;
		}
		if (i->skipped)
			strbuf_printf(&c->warnings,
				      "%s: %llu packet%s of interface %s left out: link type %s "
				      "(%u) is not supported\n",
				      c->name, (unsigned long long)i->skipped, plural(i->skipped),
				      i->name ? i->name : "without a name", name ? name : "unknown",
				      i->linktype);
	}
	return 0;
}

int capture_read(struct capture *c, struct burst *b, struct strbuf *msg)
{
	b->n = 0;
	if (c->done || c->error)
		return c->error;
	while (b->n < BURST_MAX && !(b->n && c->packets == c->pause) &&
	       (c->format == CAPTURE_PCAP ? pcap_next(c, b) : pcapng_next(c, b)))
		;
	if (c->error && !b->n) {
		strbuf_printf(msg, "%s: after packet %llu: %s", c->name,
			      (unsigned long long)(c->packets + c->skipped), strerror(-c->error));
		return c->error;
	}
	if (c->done && !c->error)
		c->error = report_skipped(c, msg);
	return b->n ? 0 : c->error;
}

void capture_pause(struct capture *c, uint64_t packets)
{
	c->pause = packets;
}

enum capture_end capture_end(const struct capture *c)
{
	return c->end;
}

const char *capture_warnings(const struct capture *c)
{
	return strbuf_str(&c->warnings);
}

uint32_t capture_interfaces(const struct capture *c)
{
	return (uint32_t)c->interfaces.n;
}

const struct capture_interface *capture_interface(const struct capture *c, uint32_t index)
{
	return index < c->interfaces.n ? &c->interfaces.items[index] : NULL;
}

uint64_t capture_packets(const struct capture *c)
{
	return c->packets;
}

uint64_t capture_bytes_read(const struct capture *c)
{
	return stream_consumed(c->in);
}

uint64_t capture_bytes_total(const struct capture *c)
{
	return stream_total(c->in);
}
