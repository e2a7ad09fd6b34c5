/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_file: what the two formats' readers share, and nobody but their tests includes.
 *
 * The file passes through one window. Packets are not copied: a burst points into the window, so
 * while it has packets the window must not move; capture_fetch() says FETCH_LATER then, which ends
 * the burst, and the next one begins with more of the file in place.
 */
#ifndef TAMIS_PORT_CAPTURE_FILE_H
#define TAMIS_PORT_CAPTURE_FILE_H

#include "base/vec.h"
#include "port/capture.h"
#include "port/stream.h"

enum {
	PCAPNG_SECTION = 0x0a0d0d0a, /* the same in both byte orders */
	PCAPNG_ORDER = 0x1a2b3c4d,
	PCAPNG_MAJOR = 1,
};

enum capture_format { CAPTURE_PCAP, CAPTURE_PCAPNG };

struct capture {
	struct stream *in;
	char *name; /* for messages */
	enum capture_format format;
	enum capture_end end;
	bool done;
	int error; /* -errno of the file, after which nothing is read */
	struct strbuf warnings;
	uint64_t packets, skipped, last_time;
	uint64_t pause; /* bursts end after this packet, 0: none does */
	VEC(struct capture_interface) interfaces;

	/* window[pos .. fill) is what is read but not used; `at` is pos in the file. */
	uint8_t *window;
	size_t pos, fill;
	uint64_t at, skip; /* skip: bytes to pass over before anything else */

	bool swapped; /* the file's (pcapng: the section's) byte order is not ours */
	/* pcap */
	uint32_t record_header; /* bytes */
	uint32_t network;	/* the link type's field with its other bits */
	uint32_t minor;
	/* pcapng: by the number in the section, the index in interfaces; and those of the last one
	 */
	VEC(uint32_t) section;
	VEC(uint32_t) previous;
};

enum fetch { FETCH_HAVE, FETCH_LATER, FETCH_END, FETCH_ERROR };

/* Makes n bytes (at most CAPTURE_WINDOW) at window[pos]; FETCH_END if the file has fewer. */
enum fetch capture_fetch(struct capture *c, const struct burst *b, size_t n);
/* Passes over n bytes. */
void capture_skip(struct capture *c, uint64_t n);
/* Ends reading where a record should begin or is not whole. */
void capture_stop(struct capture *c);
/* Ends reading at a record that makes no sense. */
void capture_corrupt(struct capture *c, const char *why, ...) PRINTF_LIKE(2, 3);
/* Adds a packet that stands at window[pos + off] to b, or counts it as skipped. */
void capture_add(struct capture *c, struct burst *b, uint32_t interface, uint64_t time, size_t off,
		 uint32_t caplen, uint32_t len);
/* 0 or -ENOMEM; takes over the name. */
int capture_add_interface(struct capture *c, struct capture_interface i);

/* Reads the next block. False ends the burst: nothing more, now or at all. */
bool pcapng_next(struct capture *c, struct burst *b);

static inline uint16_t capture_u16(const struct capture *c, const uint8_t *p)
{
	uint16_t v = be16_load(p);

	return c->swapped ? v : __builtin_bswap16(v);
}

static inline uint32_t capture_u32(const struct capture *c, const uint8_t *p)
{
	uint32_t v = be32_load(p);

	return c->swapped ? v : __builtin_bswap32(v);
}

#endif
