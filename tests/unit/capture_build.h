/* SPDX-License-Identifier: Apache-2.0 */
/* capture_build: capture files put together by hand, in either byte order, and written to a
 * temporary file, gzip'd or not. */
#ifndef TAMIS_TEST_CAPTURE_BUILD_H
#define TAMIS_TEST_CAPTURE_BUILD_H

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "port/capture_file.h"

struct file {
	uint8_t b[1 << 16];
	uint32_t n;
	bool big; /* byte order of what is put in */
	uint32_t block;
};

static inline void file_bytes(struct file *f, const void *p, uint32_t n)
{
	assert_true(f->n + n <= sizeof(f->b));
	memcpy(f->b + f->n, p, n);
	f->n += n;
}

static inline void file16(struct file *f, uint16_t v)
{
	uint16_t swapped = __builtin_bswap16(v);

	file_bytes(f, f->big ? &swapped : &v, 2);
}

static inline void file32(struct file *f, uint32_t v)
{
	uint32_t swapped = __builtin_bswap32(v);

	file_bytes(f, f->big ? &swapped : &v, 4);
}

static inline void pcap_header(struct file *f, uint32_t magic, uint32_t network)
{
	file32(f, magic);
	file16(f, 2);
	file16(f, 4);
	file32(f, 0);
	file32(f, 0);
	file32(f, 65535);
	file32(f, network);
}

/* A packet of n bytes, each of them `fill`. */
static inline void pcap_record(struct file *f, uint32_t sec, uint32_t frac, uint8_t fill,
			       uint32_t n, uint32_t wire)
{
	file32(f, sec);
	file32(f, frac);
	file32(f, n);
	file32(f, wire);
	assert_true(f->n + n <= sizeof(f->b));
	memset(f->b + f->n, fill, n);
	f->n += n;
}

static inline void block_begin(struct file *f, uint32_t type)
{
	f->block = f->n;
	file32(f, type);
	file32(f, 0);
}

static inline void block_end(struct file *f)
{
	uint32_t n = f->n;

	while (n % 4)
		file_bytes(f, "", 1), n++;
	f->n = f->block + 4;
	file32(f, n + 4 - f->block);
	f->n = n;
	file32(f, n + 4 - f->block);
}

static inline void put_section(struct file *f)
{
	block_begin(f, 0x0a0d0d0a);
	file32(f, 0x1a2b3c4d);
	file16(f, 1);
	file16(f, 0);
	file32(f, UINT32_MAX);
	file32(f, UINT32_MAX);
	block_end(f);
}

static inline void put_option(struct file *f, uint16_t code, const void *p, uint16_t n)
{
	file16(f, code);
	file16(f, n);
	file_bytes(f, p, n);
	file_bytes(f, "\0\0\0", -n & 3);
}

/* resolution: -1 for none. */
static inline void put_interface(struct file *f, uint16_t linktype, const char *name,
				 int resolution)
{
	block_begin(f, 1);
	file16(f, linktype);
	file16(f, 0);
	file32(f, 0);
	if (name)
		put_option(f, 2, name, (uint16_t)strlen(name));
	if (resolution >= 0)
		put_option(f, 9, &(uint8_t){(uint8_t)resolution}, 1);
	put_option(f, 0, "", 0);
	block_end(f);
}

static inline void put_enhanced(struct file *f, uint32_t interface, uint64_t units, uint8_t fill,
				uint32_t n, uint32_t wire)
{
	block_begin(f, 6);
	file32(f, interface);
	file32(f, (uint32_t)(units >> 32));
	file32(f, (uint32_t)units);
	file32(f, n);
	file32(f, wire);
	memset(f->b + f->n, fill, n);
	f->n += n;
	block_end(f);
}

/* A name for a temporary file; the caller unlinks it and frees the name. */
static inline char *temp_name(void)
{
	const char *dir = getenv("TMPDIR");
	char *name;
	int fd;

	assert_true(asprintf(&name, "%s/tamis-test-XXXXXX", dir ? dir : P_tmpdir) > 0);
	fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
	return name;
}

static inline void file_write(const char *name, const void *p, size_t n, bool gzip)
{
	gzFile packed;
	FILE *plain;

	if (!gzip) {
		plain = fopen(name, "wb");
		assert_non_null(plain);
		assert_int_equal(fwrite(p, 1, n, plain), n);
		assert_int_equal(fclose(plain), 0);
		return;
	}
	packed = gzopen(name, "wb");
	assert_non_null(packed);
	assert_int_equal(gzwrite(packed, p, (unsigned)n), (int)n);
	assert_int_equal(gzclose(packed), Z_OK);
}

static inline size_t file_read(const char *name, uint8_t *to, size_t size)
{
	FILE *from = fopen(name, "rb");
	size_t n;

	assert_non_null(from);
	n = fread(to, 1, size, from);
	fclose(from);
	return n;
}

#endif
