/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: packets from a capture file, and into one.
 *
 * Reads pcap (both byte orders, micro- and nanoseconds, the variant with an extended record header)
 * and pcapng (any number of sections and interfaces, each packet by its own interface's link type
 * and clock), either of them gzip'd, from a file or standard input. Writes what was read back in
 * the same format, so that link types, clocks and interfaces of every packet stay what they were.
 *
 * A capture and a writer each belong to one thread; they share nothing. Memory is bounded by
 * CAPTURE_WINDOW, CAPTURE_PACKET_MAX and CAPTURE_INTERFACES_MAX, not by the file.
 */
#ifndef TAMIS_PORT_CAPTURE_H
#define TAMIS_PORT_CAPTURE_H

#include "base/strbuf.h"
#include "packet/burst.h"

enum {
	CAPTURE_PACKET_MAX = 262144,	/* bytes of a packet; more means a corrupt file */
	CAPTURE_WINDOW = 1 << 20,	/* bytes of the file in memory, and of a pcapng block */
	CAPTURE_INTERFACES_MAX = 65536, /* of a pcapng file, all sections together */
};

struct capture;
struct capture_writer;

/* How reading ended. */
enum capture_end {
	CAPTURE_COMPLETE,  /* or not ended yet */
	CAPTURE_TRUNCATED, /* the file ends inside a record: all whole packets were given */
	CAPTURE_CORRUPT,   /* a record makes no sense: all packets before it were given */
};

struct capture_interface {
	char *name;	    /* as in the file, NULL if it has none */
	uint32_t linktype;  /* the number in the file */
	int link;	    /* enum link_type, -1 if tamis cannot read it */
	uint8_t resolution; /* time units a second: 10^n, or 2^n if bit 7 is set (if_tsresol) */
	int64_t offset;	    /* seconds added to every time (if_tsoffset) */
	uint32_t snaplen;   /* 0: no limit */
	uint64_t skipped;   /* packets that were left out, because link is -1 */
};

/*
 * Opens the file, or standard input for "-". On failure returns -errno and puts a one-line message
 * that begins with the file's name into msg: -EINVAL for what is no capture, -EOPNOTSUPP for a pcap
 * file of a link type that tamis does not read.
 */
int capture_open(struct capture **out, const char *path, struct strbuf *msg);
void capture_close(struct capture *c);

/*
 * Fills the input columns of b with the next packets, at most 64; b->n is 0 at the end. `iif` is
 * the packet's interface: index + 1 in capture_interface(); `oif` is 0. Packets without a time have
 * that of the packet before. The bytes stay valid until the next call. -errno with a message as
 * above when the file cannot be read, and -EOPNOTSUPP at the end of a pcapng file in which no
 * packet had a link type that tamis reads. A damaged file is no error: b->n is 0 and capture_end()
 * tells.
 */
int capture_read(struct capture *c, struct burst *b, struct strbuf *msg);

/* capture_read() ends a burst after so many packets in all, counted from the beginning; 0: never. */
void capture_pause(struct capture *c, uint64_t packets);

enum capture_end capture_end(const struct capture *c);
/*
 * Once capture_read() gave no packet: lines to warn with, "" if there are none. One says what is
 * wrong with a damaged file, at which packet and byte (of the file as uncompressed); one for each
 * interface says how many of its packets were left out and why. Lines end with a newline.
 */
const char *capture_warnings(const struct capture *c);

/*
 * Interfaces known so far (they may come in the middle of a file); one for pcap. A pointer is valid
 * until the next capture_read(); NULL for an index that is none.
 */
uint32_t capture_interfaces(const struct capture *c);
const struct capture_interface *capture_interface(const struct capture *c, uint32_t index);

/* Packets given so far; bytes of the file (as stored) consumed, and in all, 0 if not known. */
uint64_t capture_packets(const struct capture *c);
uint64_t capture_bytes_read(const struct capture *c);
uint64_t capture_bytes_total(const struct capture *c);

/* The name of a link type as in the pcap registry ("IEEE802_11"), NULL if unknown here. */
const char *linktype_name(uint32_t linktype);
/* The enum link_type for a number in a file, -1 if tamis does not read it. */
int linktype_link(uint32_t linktype);

/*
 * Opens a file to write packets of `from` into, or standard output for "-". A regular file is
 * written beside its name and put in its place by capture_writer_finish(), so that what stands
 * there is never half a capture, and may even be the file that is read. `from` outlives the writer.
 */
int capture_writer_open(struct capture_writer **out, const char *path, const struct capture *from,
			struct strbuf *msg);
/*
 * Writes the packets of mask in their order. b, or what port_tag and the other input columns are
 * copied from, was filled by capture_read(from); iif and oif do not matter.
 */
int capture_writer_write(struct capture_writer *w, const struct burst *b, burst_mask mask,
			 struct strbuf *msg);
/* Brings everything to the file and reports what could not be written. Call it once. */
int capture_writer_finish(struct capture_writer *w, struct strbuf *msg);
/* Gives up a writer that was not finished, and its file with it. */
void capture_writer_free(struct capture_writer *w);

#endif
