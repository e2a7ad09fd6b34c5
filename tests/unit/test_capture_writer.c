/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is what was read: link types, clocks, interfaces; and failures are told. */
#include <fcntl.h>
#include <sys/stat.h>

#include "capture_build.h"

static struct burst b;
static struct strbuf msg;
static char *in, *out;

static int setup(void **state)
{
	in = temp_name();
	out = temp_name();
	return 0;
}

static int teardown(void **state)
{
	unlink(in);
	unlink(out);
	free(in);
	free(out);
	strbuf_free(&msg);
	return 0;
}

/* Copies the packets of `in` that are in mask, of each burst, to path; the result of finishing. */
static int copy(const char *path, burst_mask mask)
{
	struct capture *c = NULL;
	struct capture_writer *w = NULL;
	int err = 0;

	assert_int_equal(capture_open(&c, in, &msg), 0);
	assert_int_equal(capture_writer_open(&w, path, c, &msg), 0);
	while (!capture_read(c, &b, &msg) && b.n && !err) {
		memset(b.iif, 0x77, sizeof(b.iif)); /* what rules made of them does not matter */
		err = capture_writer_write(
			w, &b, mask & (b.n == 64 ? UINT64_MAX : ((burst_mask)1 << b.n) - 1), &msg);
	}
	if (!err)
		err = capture_writer_finish(w, &msg);
	capture_writer_free(w);
	capture_close(c);
	return err;
}

static void assert_same(const char *a, const char *c, burst_mask mask)
{
	struct capture *from = NULL, *to = NULL;
	static struct burst x, y;
	unsigned k = 0, i;

	assert_int_equal(capture_open(&from, a, &msg), 0);
	assert_int_equal(capture_open(&to, c, &msg), 0);
	assert_int_equal(from->format, to->format);
	assert_int_equal(capture_read(to, &y, &msg), 0);
	while (!capture_read(from, &x, &msg) && x.n)
		burst_foreach (mask &(x.n == 64 ? UINT64_MAX : ((burst_mask)1 << x.n) - 1), i) {
			const struct capture_interface *p, *q;

			if (k == y.n) {
				assert_int_equal(capture_read(to, &y, &msg), 0);
				k = 0;
			}
			assert_true(k < y.n);
			assert_int_equal(x.caplen[i], y.caplen[k]);
			assert_int_equal(x.len[i], y.len[k]);
			assert_int_equal(x.time[i], y.time[k]);
			assert_int_equal(x.link[i], y.link[k]);
			assert_memory_equal(x.data[i], y.data[k], x.caplen[i]);
			p = capture_interface(from, x.iif[i] - 1);
			q = capture_interface(to, y.iif[k] - 1);
			assert_int_equal(p->linktype, q->linktype);
			if (p->resolution <= 9)
				assert_int_equal(p->resolution, q->resolution);
			assert_int_equal(!p->name, !q->name);
			if (p->name)
				assert_string_equal(p->name, q->name);
			k++;
		}
	assert_int_equal(k, y.n);
	assert_int_equal(capture_read(to, &y, &msg), 0);
	assert_int_equal(y.n, 0);
	assert_int_equal(capture_end(to), CAPTURE_COMPLETE);
	assert_string_equal(capture_warnings(to), "");
	capture_close(from);
	capture_close(to);
}

static void pcap(void **state)
{
	for (unsigned k = 0; k < 16; k++) {
		struct file f = {.big = k & 1};
		burst_mask mask = k & 8 ? 0x123456789abcdef0 : UINT64_MAX;
		uint8_t head[24];

		pcap_header(&f, k & 2 ? 0xa1b23c4d : 0xa1b2c3d4, k & 4 ? 0x54000001 : 276);
		for (unsigned n = 0; n < 150; n++)
			pcap_record(&f, 4000000000u + n, 999000 + n, (uint8_t)n, n, n + n % 3);
		file_write(in, f.b, f.n, k & 1);
		assert_int_equal(copy(out, mask), 0);
		assert_same(in, out, mask);
		assert_int_equal(file_read(out, head, 24), 24);
		assert_int_equal(__builtin_bswap32(be32_load(head)),
				 k & 2 ? 0xa1b23c4d : 0xa1b2c3d4);
		assert_int_equal(__builtin_bswap32(be32_load(head + 20)), k & 4 ? 0x54000001 : 276);
	}
}

static void pcapng(void **state)
{
	static const int resolutions[] = {-1, 9, 3, 0, 12, 0x80 | 10};
	static const uint16_t linktypes[] = {1, 101, 113, 276, 0, 228};
	static const char *const names[] = {"eth0", NULL, "a", "ab", "abc", "veth-long-name"};

	for (unsigned k = 0; k < 8; k++) {
		struct file f = {.big = k & 1};
		burst_mask mask = k & 2 ? 0xfedcba9876543210 : UINT64_MAX;

		put_section(&f);
		for (unsigned n = 0; n < 6; n++)
			put_interface(&f, linktypes[n], names[n], resolutions[n]);
		for (unsigned n = 0; n < 200; n++)
			put_enhanced(&f, n * 7 % 6, 1000000 + n, (uint8_t)n, n % 70, n);
		file_write(in, f.b, f.n, false);
		assert_int_equal(copy(out, mask), 0);
		assert_same(in, out, mask);
	}
}

/* No packets: still a capture that says what it is of. */
static void empty(void **state)
{
	struct file f = {0}, g = {0};
	struct capture *c = NULL;

	pcap_header(&f, 0xa1b2c3d4, 113);
	file_write(in, f.b, f.n, false);
	assert_int_equal(copy(out, 0), 0);
	assert_same(in, out, 0);

	put_section(&g);
	put_interface(&g, 113, "any", 9);
	put_interface(&g, 105, "wlan0", 9);
	put_enhanced(&g, 0, 1, 1, 1, 1);
	file_write(in, g.b, g.n, false);
	assert_int_equal(copy(out, 0), 0);
	assert_int_equal(capture_open(&c, out, &msg), 0);
	assert_int_equal(capture_read(c, &b, &msg), 0);
	assert_int_equal(b.n, 0);
	assert_int_equal(capture_interfaces(c), 1);
	assert_string_equal(capture_interface(c, 0)->name, "any");
	capture_close(c);
}

/* Reading and writing the same name; a link stays a link; no other file is left. */
static void in_place(void **state)
{
	struct file f = {0};
	struct stat st;
	struct capture *c = NULL;
	char *beside;

	pcap_header(&f, 0xa1b2c3d4, 1);
	for (unsigned n = 0; n < 1000; n++)
		pcap_record(&f, n, 0, (uint8_t)n, 40, 40);
	file_write(in, f.b, f.n, false);
	unlink(out);
	assert_int_equal(symlink(in, out), 0);
	assert_int_equal(copy(out, 1), 0); /* one packet of each burst */
	assert_int_equal(lstat(out, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(capture_open(&c, in, &msg), 0);
	assert_int_equal(capture_read(c, &b, &msg), 0);
	assert_int_equal(b.n, 16);
	assert_int_equal(b.data[1][0], 64);
	capture_close(c);
	assert_true(asprintf(&beside, "%s.%ld-0.part", in, (long)getpid()) > 0);
	assert_int_equal(access(beside, F_OK), -1);
	free(beside);
}

/* A killed process left its half of a file, and ours has its number now. */
static void left_over(void **state)
{
	struct file f = {0};
	char *beside;
	uint8_t byte;

	pcap_header(&f, 0xa1b2c3d4, 1);
	pcap_record(&f, 1, 0, 1, 40, 40);
	file_write(in, f.b, f.n, false);
	assert_true(asprintf(&beside, "%s.%ld-0.part", out, (long)getpid()) > 0);
	file_write(beside, "x", 1, false);
	assert_int_equal(copy(out, UINT64_MAX), 0);
	assert_same(in, out, UINT64_MAX);
	assert_int_equal(file_read(beside, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	unlink(beside);
	free(beside);
}

static void failures(void **state)
{
	struct file f = {0};
	struct capture *c = NULL;
	struct capture_writer *w = NULL;
	uint8_t byte;
	char *nowhere;

	pcap_header(&f, 0xa1b2c3d4, 1);
	for (unsigned n = 0; n < 1000; n++)
		pcap_record(&f, n, 0, 1, 40, 40);
	file_write(in, f.b, f.n, false);
	assert_int_equal(copy("/dev/full", UINT64_MAX), -ENOSPC);
	assert_non_null(strstr(strbuf_str(&msg), "/dev/full: writing failed: No space left"));
	assert_int_equal(copy("/dev/null", UINT64_MAX), 0);

	/* Given up in the middle: what was there before stays. */
	file_write(out, "x", 1, false);
	assert_int_equal(capture_open(&c, in, &msg), 0);
	assert_int_equal(capture_writer_open(&w, out, c, &msg), 0);
	assert_int_equal(capture_read(c, &b, &msg), 0);
	assert_int_equal(capture_writer_write(w, &b, UINT64_MAX, &msg), 0);
	capture_writer_free(w);
	assert_int_equal(file_read(out, &byte, 1), 1);
	assert_int_equal(byte, 'x');

	assert_true(asprintf(&nowhere, "%s.nowhere/file", out) > 0);
	w = NULL;
	strbuf_truncate(&msg, 0);
	assert_int_equal(capture_writer_open(&w, nowhere, c, &msg), -ENOENT);
	assert_null(w);
	assert_non_null(strstr(strbuf_str(&msg), nowhere));
	free(nowhere);

	/* A packet of no interface is refused, not written wrongly. */
	assert_int_equal(capture_writer_open(&w, out, c, &msg), 0);
	b.port_tag[0] = 1;
	assert_int_equal(capture_writer_write(w, &b, 1, &msg), -EINVAL);
	capture_writer_free(w);
	capture_writer_free(NULL);
	capture_close(c);
	capture_close(NULL);
}

static void to_stdout(void **state)
{
	struct file f = {0};
	int saved, fd;

	pcap_header(&f, 0xa1b2c3d4, 1);
	pcap_record(&f, 1, 2, 3, 4, 5);
	file_write(in, f.b, f.n, false);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	fd = open(out, O_WRONLY | O_TRUNC);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	int err = copy("-", UINT64_MAX);

	assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(err, 0);
	assert_same(in, out, UINT64_MAX);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(pcap),	 TEST(pcapng),	 TEST(empty),	  TEST(in_place),
		TEST(left_over), TEST(failures), TEST(to_stdout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
