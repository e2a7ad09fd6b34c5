/* SPDX-License-Identifier: Apache-2.0 */
/* stream: see stream.h. RFC 1952 allows several gzip members in a row; what follows the last one
 * and does not begin like one is ignored, as gzip itself does. */
#include "port/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct stream {
	int fd;
	bool gzip, member, eof; /* member: inside a gzip member; eof: nothing more from fd */
	enum stream_end end;
	uint64_t consumed, total;
	z_stream z; /* next_in, avail_in are used for plain files too */
	uint8_t in[65536];
};

/* Appends to what is in s->in; 0 or -errno. */
static int refill(struct stream *s)
{
	ssize_t n;

	if (s->z.next_in != s->in) {
		memmove(s->in, s->z.next_in, s->z.avail_in);
		s->z.next_in = s->in;
	}
	do {
		n = read(s->fd, s->in + s->z.avail_in, sizeof(s->in) - s->z.avail_in);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!n)
		s->eof = true;
	s->z.avail_in += (unsigned)n;
	s->consumed += (uint64_t)n;
	return 0;
}

/* Whether a gzip member begins here; 1, 0 or -errno. */
static int at_member(struct stream *s)
{
	while (s->z.avail_in < 2 && !s->eof) {
		int err = refill(s);

		if (err)
			return err;
	}
	return s->z.avail_in >= 2 && s->z.next_in[0] == 0x1f && s->z.next_in[1] == 0x8b;
}

int stream_open(struct stream **out, const char *path)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct stat st;
	int err;

	if (!s)
		return -ENOMEM;
	s->z.next_in = s->in;
	s->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (s->fd < 0 || fstat(s->fd, &st)) {
		err = -errno;
		goto fail;
	}
	if (S_ISREG(st.st_mode))
		s->total = (uint64_t)st.st_size;
	err = at_member(s);
	if (err < 0)
		goto fail;
	if (err) {
		if (inflateInit2(&s->z, 15 + 16) != Z_OK) {
			err = -ENOMEM;
			goto fail;
		}
		s->gzip = s->member = true;
	}
	*out = s;
	return 0;
fail:
	stream_close(s);
	return err;
}

static ssize_t read_plain(struct stream *s, void *to, size_t n)
{
	ssize_t got;

	if (s->z.avail_in) {
		n = MIN(n, s->z.avail_in);
		memcpy(to, s->z.next_in, n);
		s->z.next_in += n;
		s->z.avail_in -= (unsigned)n;
		return (ssize_t)n;
	}
	if (s->eof)
		return 0;
	do {
		got = read(s->fd, to, n);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	s->eof = !got;
	s->consumed += (uint64_t)got;
	return got;
}

static ssize_t read_gzip(struct stream *s, void *to, size_t n)
{
	int err;

	s->z.next_out = to;
	s->z.avail_out = (unsigned)n;
	while (s->z.avail_out == n && s->end == STREAM_END) {
		if (!s->member) {
			err = at_member(s);
			if (err <= 0)
				return err;
			inflateReset(&s->z);
			s->member = true;
		}
		if (!s->z.avail_in) {
			if (s->eof) {
				s->end = STREAM_CUT;
				break;
			}
			err = refill(s);
			if (err)
				return err;
			continue;
		}
		err = inflate(&s->z, Z_NO_FLUSH);
		if (err == Z_STREAM_END)
			s->member = false;
		else if (err == Z_MEM_ERROR)
			return -ENOMEM;
		else if (err != Z_OK && err != Z_BUF_ERROR)
			s->end = STREAM_DAMAGED;
	}
	return (ssize_t)(n - s->z.avail_out);
}

ssize_t stream_read(struct stream *s, void *to, size_t n)
{
	n = MIN(n, (size_t)1 << 30);
	if (!n)
		return 0;
	return s->gzip ? read_gzip(s, to, n) : read_plain(s, to, n);
}

enum stream_end stream_end(const struct stream *s)
{
	return s->end;
}

uint64_t stream_consumed(const struct stream *s)
{
	return s->consumed - s->z.avail_in;
}

uint64_t stream_total(const struct stream *s)
{
	return s->total;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->gzip)
		inflateEnd(&s->z);
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s);
}
