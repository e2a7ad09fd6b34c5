/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: the bytes of a file, gzip'd or not, one after the other.
 *
 * zlib's own file reader throws away what it has decompressed of a damaged block, and waits until
 * the caller's buffer is full, which is never for a pipe in use; so this stands on inflate(). One
 * thread; 64 KiB of memory and, for gzip, inflate's 48.
 */
#ifndef TAMIS_PORT_STREAM_H
#define TAMIS_PORT_STREAM_H

#include <sys/types.h>

#include "base/base.h"

struct stream;

/* Why no more bytes come: the file's end, a gzip file cut in the middle, a damaged one. */
enum stream_end { STREAM_END, STREAM_CUT, STREAM_DAMAGED };

/* "-" is standard input. 0 or -errno. */
int stream_open(struct stream **out, const char *path);
/* Some of the next bytes, at most n; 0 at the end; -errno. */
ssize_t stream_read(struct stream *s, void *to, size_t n);
enum stream_end stream_end(const struct stream *s);
/* Bytes of the file as stored: consumed, and in all (0 unless it is a regular file). */
uint64_t stream_consumed(const struct stream *s);
uint64_t stream_total(const struct stream *s);
void stream_close(struct stream *s);

#endif
