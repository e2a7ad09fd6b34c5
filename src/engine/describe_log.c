/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_log: the line of a log statement, word for word as the kernel writes it (its order and
 * its abbreviations), so that what reads the kernel's log reads this.
 *
 * Offsets count from the network header, so that the packet inside an ICMP error is the same code
 * once more; one level, as with the kernel.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "engine/describe.h"

struct line {
	const struct burst *b;
	unsigned i, flags;
	struct strbuf *out;
};

static bool get(const struct line *l, uint32_t off, void *to, uint32_t len)
{
	return burst_read(l->b, l->i, BASE_NH, off, to, len);
}

/* Bytes from `off` on, for "INCOMPLETE [n bytes]". */
static uint32_t bytes_left(const struct line *l, uint32_t off)
{
	uint32_t at = l->b->nh_off[l->i] + off, end = l->b->end[l->i];

	return end > at ? end - at : 0;
}

static void incomplete(struct line *l, uint32_t off)
{
	strbuf_printf(l->out, "INCOMPLETE [%u bytes] ", bytes_left(l, off));
}

static void options(struct line *l, uint32_t off, uint32_t len)
{
	uint8_t byte;

	strbuf_puts(l->out, "OPT (");
	for (uint32_t n = 0; n < len && get(l, off + n, &byte, 1); n++)
		strbuf_printf(l->out, "%02X", byte);
	strbuf_puts(l->out, ") ");
}

static void log_tcp(struct line *l, uint32_t off)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} names[] = {{0x80, "CWR "}, {0x40, "ECE "}, {0x20, "URG "}, {0x10, "ACK "},
		     {0x08, "PSH "}, {0x04, "RST "}, {0x02, "SYN "}, {0x01, "FIN "}};
	uint8_t h[20];
	uint32_t header;

	if (!get(l, off, h, sizeof(h))) {
		incomplete(l, off);
		return;
	}
	strbuf_printf(l->out, "SPT=%u DPT=%u ", be16_load(h), be16_load(h + 2));
	if (l->flags & LOG_LINE_TCP_SEQUENCE)
		strbuf_printf(l->out, "SEQ=%u ACK=%u ", be32_load(h + 4), be32_load(h + 8));
	strbuf_printf(l->out, "WINDOW=%u RES=0x%02x ", be16_load(h + 14), (h[12] & 0x0f) << 2);
	for (unsigned n = 0; n < ARRAY_SIZE(names); n++) {
		if (h[13] & names[n].bit)
			strbuf_puts(l->out, names[n].name);
	}
	strbuf_printf(l->out, "URGP=%u ", be16_load(h + 18));
	header = (h[12] >> 4) * 4U;
	if (l->flags & LOG_LINE_TCP_OPTIONS && header > sizeof(h))
		options(l, off + sizeof(h), header - sizeof(h));
}

/* UDP and what has its layout. */
static void log_udp(struct line *l, uint32_t off)
{
	uint8_t h[8];

	if (get(l, off, h, sizeof(h)))
		strbuf_printf(l->out, "SPT=%u DPT=%u LEN=%u ", be16_load(h), be16_load(h + 2),
			      be16_load(h + 4));
	else
		incomplete(l, off);
}

static void log_spi(struct line *l, uint32_t off, uint32_t at)
{
	uint8_t h[4];

	if (get(l, off + at, h, sizeof(h)))
		strbuf_printf(l->out, "SPI=0x%x ", be32_load(h));
	else
		incomplete(l, off);
}

static void log_ipv4(struct line *l, uint32_t off, bool inner);
static void log_ipv6(struct line *l, uint32_t off, bool inner);

static void log_icmp(struct line *l, uint32_t off, bool inner)
{
	uint8_t h[8];
	char text[INET_ADDRSTRLEN];

	if (!get(l, off, h, sizeof(h))) {
		incomplete(l, off);
		return;
	}
	strbuf_printf(l->out, "TYPE=%u CODE=%u ", h[0], h[1]);
	switch (h[0]) {
	case ICMP_ECHOREPLY:
	case ICMP_ECHO:
		strbuf_printf(l->out, "ID=%u SEQ=%u ", be16_load(h + 4), be16_load(h + 6));
		break;
	case ICMP_PARAMETERPROB:
		strbuf_printf(l->out, "PARAMETER=%u ", h[4]);
		break;
	case ICMP_REDIRECT:
		strbuf_printf(l->out, "GATEWAY=%s ", inet_ntop(AF_INET, h + 4, text, sizeof(text)));
		break;
	}
	if (h[0] != ICMP_DEST_UNREACH && h[0] != ICMP_SOURCE_QUENCH && h[0] != ICMP_REDIRECT &&
	    h[0] != ICMP_TIME_EXCEEDED)
		return;
	if (!inner) {
		strbuf_puts(l->out, "[");
		log_ipv4(l, off + sizeof(h), true);
		strbuf_puts(l->out, "] ");
	}
	if (h[0] == ICMP_DEST_UNREACH && h[1] == ICMP_FRAG_NEEDED)
		strbuf_printf(l->out, "MTU=%u ", be16_load(h + 6));
}

static void log_icmpv6(struct line *l, uint32_t off, bool inner)
{
	uint8_t h[8];

	if (!get(l, off, h, sizeof(h))) {
		incomplete(l, off);
		return;
	}
	strbuf_printf(l->out, "TYPE=%u CODE=%u ", h[0], h[1]);
	if (h[0] == ICMP6_ECHO_REQUEST || h[0] == ICMP6_ECHO_REPLY)
		strbuf_printf(l->out, "ID=%u SEQ=%u ", be16_load(h + 4), be16_load(h + 6));
	if (h[0] == ICMP6_PARAM_PROB)
		strbuf_printf(l->out, "POINTER=%08x ", be32_load(h + 4));
	if (h[0] < ICMP6_DST_UNREACH || h[0] > ICMP6_PARAM_PROB)
		return;
	if (!inner) {
		strbuf_puts(l->out, "[");
		log_ipv6(l, off + sizeof(h), true);
		strbuf_puts(l->out, "] ");
	}
	if (h[0] == ICMP6_PACKET_TOO_BIG)
		strbuf_printf(l->out, "MTU=%u ", be32_load(h + 4));
}

/* What follows the IP header. `later` is a fragment without one. */
static void log_transport(struct line *l, uint8_t proto, uint32_t off, bool later, bool inner)
{
	static const struct {
		uint8_t proto;
		const char *name;
	} names[] = {{IPPROTO_TCP, "TCP"},	{IPPROTO_UDP, "UDP"}, {IPPROTO_UDPLITE, "UDPLITE"},
		     {IPPROTO_ICMP, "ICMP"},	{IPPROTO_AH, "AH"},   {IPPROTO_ESP, "ESP"},
		     {IPPROTO_ICMPV6, "ICMPv6"}};
	const char *name = NULL;

	for (unsigned n = 0; n < ARRAY_SIZE(names); n++) {
		if (names[n].proto == proto)
			name = names[n].name;
	}
	if (name)
		strbuf_printf(l->out, "PROTO=%s ", name);
	else
		strbuf_printf(l->out, "PROTO=%u ", proto);
	if (later)
		return;
	switch (proto) {
	case IPPROTO_TCP:
		log_tcp(l, off);
		break;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
		log_udp(l, off);
		break;
	case IPPROTO_ICMP:
		log_icmp(l, off, inner);
		break;
	case IPPROTO_ICMPV6:
		log_icmpv6(l, off, inner);
		break;
	case IPPROTO_AH:
		log_spi(l, off, 4);
		break;
	case IPPROTO_ESP:
		log_spi(l, off, 0);
		break;
	}
}

static void log_ipv4(struct line *l, uint32_t off, bool inner)
{
	char source[INET_ADDRSTRLEN], dest[INET_ADDRSTRLEN];
	uint8_t h[20];
	uint16_t frag;
	uint32_t header;

	if (!get(l, off, h, sizeof(h))) {
		strbuf_puts(l->out, "TRUNCATED");
		return;
	}
	strbuf_printf(l->out, "SRC=%s DST=%s ", inet_ntop(AF_INET, h + 12, source, sizeof(source)),
		      inet_ntop(AF_INET, h + 16, dest, sizeof(dest)));
	strbuf_printf(l->out, "LEN=%u TOS=0x%02X PREC=0x%02X TTL=%u ID=%u ", be16_load(h + 2),
		      h[1] & 0x1e, h[1] & 0xe0, h[8], be16_load(h + 4));
	frag = be16_load(h + 6);
	if (frag & 0x8000)
		strbuf_puts(l->out, "CE ");
	if (frag & 0x4000)
		strbuf_puts(l->out, "DF ");
	if (frag & 0x2000)
		strbuf_puts(l->out, "MF ");
	if (frag & 0x1fff)
		strbuf_printf(l->out, "FRAG:%u ", frag & 0x1fff);
	header = (h[0] & 0x0f) * 4U;
	if (l->flags & LOG_LINE_IP_OPTIONS && header > sizeof(h))
		options(l, off + sizeof(h), header - sizeof(h));
	log_transport(l, h[9], off + header, frag & 0x1fff, inner);
}

static void address6(struct line *l, const char *name, const uint8_t *a)
{
	strbuf_puts(l->out, name);
	for (unsigned n = 0; n < 16; n += 2)
		strbuf_printf(l->out, "%s%02x%02x", n ? ":" : "", a[n], a[n + 1]);
	strbuf_putc(l->out, ' ');
}

/* Skips extension headers; false if the packet ends in them. */
static bool log_extensions(struct line *l, uint8_t *proto, uint32_t *off, bool *later)
{
	bool told = l->flags & LOG_LINE_IP_OPTIONS;
	uint8_t h[8];
	uint16_t frag;

	for (;;) {
		if (*proto != IPPROTO_HOPOPTS && *proto != IPPROTO_ROUTING &&
		    *proto != IPPROTO_FRAGMENT && *proto != IPPROTO_DSTOPTS && *proto != IPPROTO_AH)
			return *proto != IPPROTO_NONE;
		/* The kernel shows AH only when asked for options, and skips it silently else. */
		if (!get(l, *off, h, sizeof(h))) {
			incomplete(l, *off);
			return false;
		}
		if (told)
			strbuf_puts(l->out, "OPT ( ");
		if (*proto == IPPROTO_FRAGMENT) {
			frag = be16_load(h + 2);
			strbuf_printf(l->out, "FRAG:%u %sID:%08x ", frag & 0xfff8,
				      frag & 1 ? "INCOMPLETE " : "", be32_load(h + 4));
			*later = frag & 0xfff8;
			*off += sizeof(h);
		} else if (*proto == IPPROTO_AH) {
			if (told)
				strbuf_printf(l->out, "AH SPI=0x%x ", be32_load(h + 4));
			*off += (h[1] + 2U) * 4;
		} else {
			*off += (h[1] + 1U) * 8;
		}
		if (told)
			strbuf_puts(l->out, ") ");
		*proto = h[0];
		if (*later)
			return true;
	}
}

static void log_ipv6(struct line *l, uint32_t off, bool inner)
{
	uint8_t h[40], proto;
	bool later = false;

	if (!get(l, off, h, sizeof(h))) {
		strbuf_puts(l->out, "TRUNCATED");
		return;
	}
	address6(l, "SRC=", h + 8);
	address6(l, "DST=", h + 24);
	strbuf_printf(l->out, "LEN=%u TC=%u HOPLIMIT=%u FLOWLBL=%u ", be16_load(h + 4) + 40U,
		      be32_load(h) >> 20 & 0xff, h[7], be32_load(h) & 0xfffff);
	proto = h[6];
	off += sizeof(h);
	if (log_extensions(l, &proto, &off, &later))
		log_transport(l, proto, off, later, inner);
}

static void mac(struct line *l, const char *name, const uint8_t *a)
{
	strbuf_printf(l->out, "%s=%02x:%02x:%02x:%02x:%02x:%02x ", name, a[0], a[1], a[2], a[3],
		      a[4], a[5]);
}

static void log_arp(struct line *l)
{
	char source[INET_ADDRSTRLEN], dest[INET_ADDRSTRLEN];
	uint8_t h[28];

	if (!get(l, 0, h, 8)) {
		strbuf_puts(l->out, "TRUNCATED");
		return;
	}
	strbuf_printf(l->out, "ARP HTYPE=%u PTYPE=0x%04x OPCODE=%u ", be16_load(h),
		      be16_load(h + 2), be16_load(h + 6));
	if (be16_load(h) != 1 || h[4] != 6 || h[5] != 4)
		return;
	if (!get(l, 0, h, sizeof(h))) {
		incomplete(l, 8);
		return;
	}
	mac(l, "MACSRC", h + 8);
	strbuf_printf(l->out, "IPSRC=%s ", inet_ntop(AF_INET, h + 14, source, sizeof(source)));
	mac(l, "MACDST", h + 18);
	strbuf_printf(l->out, "IPDST=%s ", inet_ntop(AF_INET, h + 24, dest, sizeof(dest)));
}

/* The Ethernet header of a packet that came in; empty for links without one. */
static void log_link(struct line *l)
{
	uint8_t h[14];
	bool there = l->b->has[HAS_ETHER] >> l->i & 1 &&
		     burst_read(l->b, l->i, BASE_LL, 0, h, sizeof(h));

	if (there && l->flags & LOG_LINE_MAC_DECODE) {
		mac(l, "MACSRC", h + 6);
		mac(l, "MACDST", h);
		strbuf_printf(l->out, "MACPROTO=%04x ", be16_load(h + 12));
		return;
	}
	strbuf_puts(l->out, "MAC=");
	for (unsigned n = 0; there && n < sizeof(h); n++)
		strbuf_printf(l->out, "%s%02x", n ? ":" : "", h[n]);
	strbuf_putc(l->out, ' ');
}

void describe_log(const struct burst *b, unsigned i, const char *prefix, const char *in,
		  const char *out_name, unsigned flags, struct strbuf *out)
{
	struct line l = {.b = b, .i = i, .flags = flags, .out = out};

	strbuf_printf(out, "%sIN=%s OUT=%s ", prefix, in ? in : "", out_name ? out_name : "");
	if (in)
		log_link(&l);
	if (b->has[HAS_IPV4] >> i & 1)
		log_ipv4(&l, 0, false);
	else if (b->has[HAS_IPV6] >> i & 1)
		log_ipv6(&l, 0, false);
	else if (b->has[HAS_ARP] >> i & 1)
		log_arp(&l);
	if (b->mark[i])
		strbuf_printf(out, "MARK=0x%x ", b->mark[i]);
	if (out->len && out->data[out->len - 1] == ' ')
		strbuf_truncate(out, out->len - 1);
}
