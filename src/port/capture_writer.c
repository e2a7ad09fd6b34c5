/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_writer: packets of a capture into another one of the same format.
 *
 * pcap keeps the link type's field and the resolution of what was read. pcapng gets one section;
 * an interface is described when its first packet is written, with name, link type, snap length
 * and resolution. Times are held in ns since the epoch, so a resolution that is finer or not a
 * power of ten becomes ns, and an offset is added into the times.
 */
#include "port/capture_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct capture_writer {
	const struct capture *from;
	FILE *to;
	char *name, *target, *part; /* target, part: NULL unless a file is to be put in place */
	uint32_t n_written;	    /* interfaces of the output */
	VEC(uint32_t) ids;	    /* by interface of `from`, its number in the output + 1 */
};

/* Bytes of one record's head, in the host's order. */
struct record {
	uint8_t b[64];
	uint32_t n;
};

static void add16(struct record *r, uint16_t v)
{
	memcpy(r->b + r->n, &v, 2);
	r->n += 2;
}

static void add32(struct record *r, uint32_t v)
{
	memcpy(r->b + r->n, &v, 4);
	r->n += 4;
}

static void emit(struct capture_writer *w, const void *p, size_t n)
{
	fwrite(p, 1, n, w->to);
}

static void emit_padding(struct capture_writer *w, size_t n)
{
	emit(w, "\0\0\0", -n & 3);
}

/* Power of ten of the resolution that the output has for an interface. */
static unsigned output_resolution(const struct capture_interface *i)
{
	return i->resolution <= 9 ? i->resolution : 9;
}

static uint64_t output_units(const struct capture_interface *i, uint64_t ns)
{
	for (unsigned n = output_resolution(i); n < 9; n++)
		ns /= 10;
	return ns;
}

static void emit_header(struct capture_writer *w)
{
	struct record r = {.n = 0};

	if (w->from->format == CAPTURE_PCAP) {
		add32(&r, w->from->interfaces.items[0].resolution == 9 ? 0xa1b23c4d : 0xa1b2c3d4);
		add16(&r, 2);
		add16(&r, 4);
		add32(&r, 0);
		add32(&r, 0);
		add32(&r, CAPTURE_PACKET_MAX);
		add32(&r, w->from->network);
	} else {
		add32(&r, 0x0a0d0d0a);
		add32(&r, 28);
		add32(&r, 0x1a2b3c4d);
		add16(&r, 1);
		add16(&r, 0);
		add32(&r, UINT32_MAX); /* the section's length is not given */
		add32(&r, UINT32_MAX);
		add32(&r, 28);
	}
	emit(w, r.b, r.n);
}

static void emit_interface(struct capture_writer *w, const struct capture_interface *i)
{
	uint32_t n_name = i->name ? (uint32_t)strlen(i->name) : 0;
	uint32_t len = 20 + (n_name ? 4 + ((n_name + 3) & ~3u) : 0) + 8 + 4;
	struct record r = {.n = 0};

	add32(&r, 1);
	add32(&r, len);
	add16(&r, (uint16_t)i->linktype);
	add16(&r, 0);
	add32(&r, i->snaplen);
	if (n_name) {
		add16(&r, 2);
		add16(&r, (uint16_t)n_name);
		emit(w, r.b, r.n);
		emit(w, i->name, n_name);
		emit_padding(w, n_name);
		r.n = 0;
	}
	add16(&r, 9); /* if_tsresol */
	add16(&r, 1);
	add32(&r, output_resolution(i));
	add32(&r, 0); /* end of options */
	add32(&r, len);
	emit(w, r.b, r.n);
}

/* The number of the interface in the output, which gets it described if need be; or -errno. */
static int64_t output_interface(struct capture_writer *w, uint32_t index)
{
	int err = 0;

	while (!err && w->ids.n <= index)
		err = vec_push(&w->ids, 0);
	if (err)
		return err;
	if (!w->ids.items[index]) {
		emit_interface(w, &w->from->interfaces.items[index]);
		w->ids.items[index] = ++w->n_written;
	}
	return w->ids.items[index] - 1;
}

static int emit_packet(struct capture_writer *w, const struct burst *b, unsigned i)
{
	const struct capture_interface *from = capture_interface(w->from, b->port_tag[i]);
	struct record r = {.n = 0};
	uint32_t caplen = b->caplen[i], len = 32 + ((caplen + 3) & ~3u);
	int64_t number;

	if (!from)
		return -EINVAL;
	if (w->from->format == CAPTURE_PCAP) {
		uint64_t ns = b->time[i] % 1000000000;

		add32(&r, (uint32_t)(b->time[i] / 1000000000));
		add32(&r, (uint32_t)(from->resolution == 9 ? ns : ns / 1000));
		add32(&r, caplen);
		add32(&r, b->len[i]);
		emit(w, r.b, r.n);
		emit(w, b->data[i], caplen);
		return 0;
	}
	number = output_interface(w, b->port_tag[i]);
	if (number < 0)
		return (int)number;
	uint64_t units = output_units(from, b->time[i]);

	add32(&r, 6);
	add32(&r, len);
	add32(&r, (uint32_t)number);
	add32(&r, (uint32_t)(units >> 32));
	add32(&r, (uint32_t)units);
	add32(&r, caplen);
	add32(&r, b->len[i]);
	emit(w, r.b, r.n);
	emit(w, b->data[i], caplen);
	emit_padding(w, caplen);
	emit(w, &len, 4);
	return 0;
}

static int fail(const struct capture_writer *w, const char *what, int err, struct strbuf *msg)
{
	strbuf_printf(msg, "%s: %s: %s", w->name, what, strerror(-err));
	return err;
}

/* A file beside the target. One that a killed process of the same id left is not touched. */
static int open_part(struct capture_writer *w)
{
	enum { TRIES = 1000 };
	int err = -EEXIST;

	for (unsigned i = 0; err == -EEXIST && i < TRIES; i++) {
		int fd;

		if (asprintf(&w->part, "%s.%ld-%u.part", w->target, (long)getpid(), i) < 0) {
			w->part = NULL;
			return -ENOMEM;
		}
		fd = open(w->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		err = -errno;
		free(w->part);
		w->part = NULL;
	}
	return err;
}

/* The file that the path means: behind a link what that names, though nothing is there yet. */
static int find_target(struct capture_writer *w, const char *path)
{
	enum { LINKS_MAX = 40 };
	char link[PATH_MAX], *next;
	const char *slash;
	ssize_t len;

	w->target = strdup(path);
	for (unsigned i = 0; w->target; i++) {
		len = readlink(w->target, link, sizeof(link) - 1);
		if (len < 0)
			return 0;
		if (i == LINKS_MAX)
			return -ELOOP;
		link[len] = '\0';
		slash = *link == '/' ? NULL : strrchr(w->target, '/');
		if (asprintf(&next, "%.*s%s", slash ? (int)(slash - w->target + 1) : 0, w->target,
			     link) < 0)
			return -ENOMEM;
		free(w->target);
		w->target = next;
	}
	return -ENOMEM;
}

/*
 * Opens what is written to. What is there and no regular file (a terminal, a pipe, /dev/null) is
 * written to directly; a link is followed, so that it stays one.
 */
static int open_output(struct capture_writer *w, const char *path)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-")) {
		/* Closed, or opened for reading in its place. */
		if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
			return -EBADF;
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		fd = find_target(w, path);
		if (fd < 0)
			return fd;
		fd = open_part(w);
		if (fd < 0)
			return fd;
	}
	if (fd < 0)
		return -errno;
	w->to = fdopen(fd, "wb");
	if (!w->to) {
		int err = -errno;

		close(fd);
		return err;
	}
	setvbuf(w->to, NULL, _IOFBF, 1 << 18);
	return 0;
}

int capture_writer_open(struct capture_writer **out, const char *path, const struct capture *from,
			struct strbuf *msg)
{
	struct capture_writer *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w) {
		strbuf_printf(msg, "%s: %s", path, strerror(ENOMEM));
		return err;
	}
	w->from = from;
	w->name = strdup(strcmp(path, "-") ? path : "standard output");
	if (w->name)
		err = open_output(w, path);
	if (err) {
		strbuf_printf(msg, "%s: cannot be written: %s", path, strerror(-err));
		capture_writer_free(w);
		return err;
	}
	emit_header(w);
	*out = w;
	return 0;
}

int capture_writer_write(struct capture_writer *w, const struct burst *b, burst_mask mask,
			 struct strbuf *msg)
{
	unsigned i;
	int err = 0;

	errno = 0;
	burst_foreach (mask, i)
		if (!err)
			err = emit_packet(w, b, i);
	if (!err && ferror(w->to))
		err = errno ? -errno : -EIO;
	return err ? fail(w, "writing failed", err, msg) : 0;
}

/* Without any interface most programs do not take the file for a capture. */
static int describe_all(struct capture_writer *w)
{
	int64_t number = 0;

	for (uint32_t k = 0; number >= 0 && k < w->from->interfaces.n; k++)
		if (w->from->interfaces.items[k].link >= 0)
			number = output_interface(w, k);
	return number < 0 ? (int)number : 0;
}

int capture_writer_finish(struct capture_writer *w, struct strbuf *msg)
{
	bool bad;
	int err = 0;

	if (w->from->format == CAPTURE_PCAPNG && !w->n_written)
		err = describe_all(w);
	errno = 0;
	bad = fflush(w->to) || ferror(w->to);
	if (bad && !err)
		err = errno ? -errno : -EIO;
	if (fclose(w->to) && !err)
		err = -errno;
	w->to = NULL;
	if (!err && w->part) {
		if (rename(w->part, w->target))
			return fail(w, "cannot be put in place", -errno, msg);
		free(w->part);
		w->part = NULL;
	}
	return err ? fail(w, "writing failed", err, msg) : 0;
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	if (w->to)
		fclose(w->to);
	if (w->part)
		unlink(w->part);
	free(w->part);
	free(w->target);
	free(w->name);
	vec_free(&w->ids);
	free(w);
}
