/* SPDX-License-Identifier: Apache-2.0 */
/* Capture files of every kind, whole, cut and damaged. */
#include <fcntl.h>

#include "capture_build.h"

static struct burst b;
static struct strbuf msg;
static char *name;

static int setup(void **state)
{
	name = temp_name();
	return 0;
}

static int teardown(void **state)
{
	unlink(name);
	free(name);
	strbuf_free(&msg);
	return 0;
}

static struct capture *open_file(const struct file *f, bool gzip)
{
	struct capture *c = NULL;

	file_write(name, f->b, f->n, gzip);
	assert_int_equal(capture_open(&c, name, &msg), 0);
	assert_non_null(c);
	return c;
}

/* Reads all and gives their number; every packet must be whole, filled with one byte. */
static unsigned count(struct capture *c, int *err)
{
	unsigned n = 0;

	while (!(*err = capture_read(c, &b, &msg)) && b.n) {
		for (unsigned i = 0; i < b.n; i++)
			for (unsigned k = 1; k < b.caplen[i]; k++)
				assert_int_equal(b.data[i][k], b.data[i][0]);
		n += b.n;
	}
	assert_int_equal(b.n, 0);
	return n;
}

static void expect_no_capture(const void *p, size_t n, const char *why, int err)
{
	struct capture *c = NULL;

	file_write(name, p, n, false);
	strbuf_truncate(&msg, 0);
	assert_int_equal(capture_open(&c, name, &msg), err);
	assert_null(c);
	assert_non_null(strstr(strbuf_str(&msg), why));
	assert_non_null(strstr(strbuf_str(&msg), name));
	assert_null(strchr(strbuf_str(&msg), '\n'));
}

static void pcap_variants(void **state)
{
	static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34};

	for (unsigned k = 0; k < 12; k++) {
		struct file f = {.big = k & 1};
		uint32_t magic = magics[k / 4];
		struct capture *c;
		int err;

		pcap_header(&f, magic, 1);
		for (unsigned n = 0; n < 100; n++) {
			pcap_record(&f, 1000 + n, 5, (uint8_t)n, n + 1, n + 1 + n % 2);
			if (magic == 0xa1b2cd34) { /* 8 more bytes of header */
				uint32_t at = f.n - (n + 1);

				memmove(f.b + at + 8, f.b + at, n + 1);
				memset(f.b + at, 0xee, 8);
				f.n += 8;
			}
		}
		c = open_file(&f, k & 2);
		assert_int_equal(c->format, CAPTURE_PCAP);
		assert_int_equal(capture_interfaces(c), 1);
		assert_null(capture_interface(c, 1));
		assert_int_equal(capture_interface(c, 0)->linktype, 1);
		assert_int_equal(capture_interface(c, 0)->resolution, k / 4 == 1 ? 9 : 6);
		for (unsigned first = 0; first < 100; first += b.n) {
			assert_int_equal(capture_read(c, &b, &msg), 0);
			assert_int_equal(b.n, first ? 36 : 64);
			for (unsigned i = 0; i < b.n; i++) {
				unsigned n = first + i;

				assert_int_equal(b.caplen[i], n + 1);
				assert_int_equal(b.len[i], n + 1 + n % 2);
				assert_int_equal(b.data[i][0], n);
				assert_int_equal(b.data[i][n], n);
				assert_int_equal(b.time[i], (1000 + n) * 1000000000ull +
								    (k / 4 == 1 ? 5 : 5000));
				assert_int_equal(b.link[i], LINK_EN10MB);
				assert_int_equal(b.iif[i], 1);
				assert_int_equal(b.oif[i], 0);
			}
		}
		assert_int_equal(count(c, &err), 0);
		assert_int_equal(err, 0);
		assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
		assert_string_equal(capture_warnings(c), "");
		assert_int_equal(capture_packets(c), 100);
		assert_int_equal(capture_bytes_read(c), capture_bytes_total(c));
		assert_true(k & 2 ? capture_bytes_total(c) < f.n : capture_bytes_total(c) == f.n);
		capture_close(c);
	}
}

static void link_types(void **state)
{
	static const struct {
		uint32_t number;
		enum link_type link;
	} good[] = {{0, LINK_NULL},   {1, LINK_EN10MB},		{12, LINK_RAW},	 {101, LINK_RAW},
		    {108, LINK_LOOP}, {113, LINK_SLL},		{228, LINK_RAW}, {229, LINK_RAW},
		    {276, LINK_SLL2}, {0x54000001, LINK_EN10MB}};
	static const struct {
		uint32_t number;
		const char *name;
	} refused[] = {{105, "link type IEEE802_11 (105)"},
		       {127, "link type IEEE802_11_RADIOTAP (127)"},
		       {9999, "link type unknown (9999)"}};

	for (unsigned k = 0; k < ARRAY_SIZE(good); k++) {
		struct file f = {0};
		struct capture *c;

		pcap_header(&f, 0xa1b2c3d4, good[k].number);
		pcap_record(&f, 1, 1, 0, 20, 20);
		c = open_file(&f, false);
		assert_int_equal(capture_read(c, &b, &msg), 0);
		assert_int_equal(b.n, 1);
		assert_int_equal(b.link[0], good[k].link);
		capture_close(c);
	}
	for (unsigned k = 0; k < ARRAY_SIZE(refused); k++) {
		struct file f = {0};

		pcap_header(&f, 0xa1b2c3d4, refused[k].number);
		expect_no_capture(f.b, f.n, refused[k].name, -EOPNOTSUPP);
	}
}

static void no_captures(void **state)
{
	struct file f = {0}, old = {0}, ng = {0};
	struct capture *c = NULL;
	char *nowhere;

	expect_no_capture("", 0, "is empty", -EINVAL);
	expect_no_capture("abc", 3, "is no pcap or pcapng capture", -EINVAL);
	expect_no_capture("table inet filter {}\n", 21, "is no pcap or pcapng capture", -EINVAL);
	pcap_header(&f, 0xa1b2c3d4, 1);
	for (uint32_t n = 4; n < f.n; n++)
		expect_no_capture(f.b, n, "ends within the header", -EINVAL);
	old = f;
	old.b[4] = 1;
	expect_no_capture(old.b, old.n, "version 1.4", -EINVAL);
	put_section(&ng);
	for (uint32_t n = 1; n < 16; n++)
		expect_no_capture(ng.b, n, "is no pcap or pcapng capture", -EINVAL);
	ng.b[12] = 2;
	expect_no_capture(ng.b, ng.n, "version 2.0", -EINVAL);

	assert_true(asprintf(&nowhere, "%s.nowhere", name) > 0);
	strbuf_truncate(&msg, 0);
	assert_int_equal(capture_open(&c, nowhere, &msg), -ENOENT);
	assert_non_null(strstr(strbuf_str(&msg), "No such file"));
	free(nowhere);
	assert_int_equal(capture_open(&c, "/", &msg), -EISDIR);
	assert_null(c);
}

static struct file sample_pcap(void)
{
	struct file f = {0};

	pcap_header(&f, 0xa1b2c3d4, 1);
	for (unsigned n = 0; n < 10; n++)
		pcap_record(&f, n, 0, (uint8_t)n, 11 + n, 11 + n);
	return f;
}

/* Two sections in different byte orders, several interfaces, every kind of block. */
static struct file sample_pcapng(void)
{
	struct file f = {0};

	put_section(&f);
	put_interface(&f, 1, "eth0", -1);
	put_enhanced(&f, 0, 1000000, 1, 13, 13);
	block_begin(&f, 0xbad);
	file_bytes(&f, "whatever", 8);
	block_end(&f);
	put_interface(&f, 101, "tun0", 9);
	put_enhanced(&f, 1, 2000000000, 2, 20, 30);
	block_begin(&f, 3); /* simple */
	file32(&f, 6);
	file_bytes(&f, "\3\3\3\3\3\3", 6);
	block_end(&f);
	f.big = true;
	put_section(&f);
	put_interface(&f, 1, "eth0", -1);
	put_interface(&f, 113, NULL, 0x80 | 10);
	block_begin(&f, 2); /* obsolete */
	file16(&f, 1);
	file16(&f, 77);
	file32(&f, 0);
	file32(&f, 4 * 1024 + 512);
	file32(&f, 3);
	file32(&f, 5);
	file_bytes(&f, "\4\4\4", 3);
	block_end(&f);
	put_enhanced(&f, 0, 5000001, 5, 0, 7);
	return f;
}

static void pcapng_blocks(void **state)
{
	static const struct {
		uint64_t time;
		uint32_t caplen, len, interface;
		enum link_type link;
	} want[] = {
		{1000000000, 13, 13, 0, LINK_EN10MB}, {2000000000, 20, 30, 1, LINK_RAW},
		{2000000000, 6, 6, 0, LINK_EN10MB},   {4500000000, 3, 5, 2, LINK_SLL},
		{5000001000, 0, 7, 0, LINK_EN10MB},
	};
	struct file f = sample_pcapng();

	for (unsigned gzip = 0; gzip < 2; gzip++) {
		struct capture *c = open_file(&f, gzip);
		int err;

		assert_int_equal(c->format, CAPTURE_PCAPNG);
		assert_int_equal(capture_read(c, &b, &msg), 0);
		assert_int_equal(b.n, 5);
		for (unsigned i = 0; i < 5; i++) {
			assert_int_equal(b.time[i], want[i].time);
			assert_int_equal(b.caplen[i], want[i].caplen);
			assert_int_equal(b.len[i], want[i].len);
			assert_int_equal(b.iif[i], want[i].interface + 1);
			assert_int_equal(b.link[i], want[i].link);
			if (b.caplen[i])
				assert_int_equal(b.data[i][0], i + 1);
		}
		/* The second section's eth0 is the first one's. */
		assert_int_equal(capture_interfaces(c), 3);
		assert_string_equal(capture_interface(c, 0)->name, "eth0");
		assert_string_equal(capture_interface(c, 1)->name, "tun0");
		assert_null(capture_interface(c, 2)->name);
		assert_int_equal(count(c, &err), 0);
		assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
		capture_close(c);
	}
}

static void pcapng_clocks(void **state)
{
	static const struct {
		uint8_t resolution;
		int64_t offset;
		uint64_t units, ns;
	} cases[] = {
		{0, 0, 7, 7000000000},
		{3, 0, 7001, 7001000000},
		{9, 0, 12345678901, 12345678901},
		{12, 0, 12345678901999, 12345678901},
		{127, 0, UINT64_MAX, 0},
		{0x80 | 1, 0, 3, 1500000000},
		{0x80 | 32, 0, 1ull << 31, 500000000},
		{0xff, 0, UINT64_MAX, 0},
		{6, 1000, 5, 1000000005000},
		{6, -1, 5, 0},
		{6, -1, 2000001, 1000001000},
		{0, 0, UINT64_MAX, UINT64_MAX},
		{6, INT64_MAX, 1, UINT64_MAX},
		{6, INT64_MIN, 1, 0},
	};

	for (unsigned k = 0; k < 2 * ARRAY_SIZE(cases); k++) {
		struct file f = {.big = k & 1};
		uint64_t offset = (uint64_t)cases[k / 2].offset;
		struct capture *c;

		put_section(&f);
		block_begin(&f, 1);
		file16(&f, 1);
		file16(&f, 0);
		file32(&f, 0);
		put_option(&f, 9, &cases[k / 2].resolution, 1);
		if (f.big)
			offset = __builtin_bswap64(offset);
		put_option(&f, 14, &offset, 8);
		block_end(&f); /* no end of options: the block's end will do */
		put_enhanced(&f, 0, cases[k / 2].units, 1, 1, 1);
		c = open_file(&f, false);
		assert_int_equal(capture_read(c, &b, &msg), 0);
		assert_int_equal(b.n, 1);
		assert_int_equal(b.time[0], cases[k / 2].ns);
		assert_int_equal(capture_interface(c, 0)->resolution, cases[k / 2].resolution);
		capture_close(c);
	}
}

/* Every prefix of a file gives its whole packets, no more, and says that it was cut. */
static void cut_everywhere(const struct file *f, const uint32_t *ends, unsigned n_ends,
			   uint32_t first)
{
	for (uint32_t n = first; n <= f->n; n++) {
		struct file cut = *f;
		struct capture *c;
		unsigned whole = 0;
		int err;

		cut.n = n;
		for (unsigned k = 0; k < n_ends; k++)
			whole += ends[k] <= n;
		c = open_file(&cut, false);
		assert_int_equal(count(c, &err), whole);
		assert_int_equal(err, 0);
		if (capture_end(c) == CAPTURE_TRUNCATED) {
			char at[64];

			snprintf(at, sizeof(at), "cut off at byte %u, after packet %u", n, whole);
			assert_non_null(strstr(capture_warnings(c), at));
		} else {
			assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
			assert_string_equal(capture_warnings(c), "");
		}
		assert_int_equal(capture_end(c) == CAPTURE_COMPLETE,
				 n == first || (whole && ends[whole - 1] == n));
		capture_close(c);
	}
}

static void cut_files(void **state)
{
	struct file f = sample_pcap();
	uint32_t ends[10], at = 24;

	for (unsigned n = 0; n < 10; n++)
		ends[n] = at += 16 + 11 + n;
	cut_everywhere(&f, ends, 10, 24);

	f = sample_pcapng();
	/* Found by what each block says of itself. */
	unsigned n_ends = 0, complete = 0;
	uint32_t block_ends[32], n_blocks = 0;

	for (at = 0; at < f.n;) {
		bool big = n_blocks >= 7; /* the second section */
		uint32_t type = big ? be32_load(f.b + at) : __builtin_bswap32(be32_load(f.b + at));
		uint32_t len =
			big ? be32_load(f.b + at + 4) : __builtin_bswap32(be32_load(f.b + at + 4));

		at += len;
		block_ends[n_blocks++] = at;
		if (type == 2 || type == 3 || type == 6)
			ends[n_ends++] = at;
	}
	assert_int_equal(at, f.n);
	assert_int_equal(n_ends, 5);
	for (uint32_t n = 16; n <= f.n; n++) {
		struct file cut = f;
		struct capture *c;
		unsigned whole = 0;
		bool on_edge = false;
		int err;

		cut.n = n;
		for (unsigned k = 0; k < n_ends; k++)
			whole += ends[k] <= n;
		for (unsigned k = 0; k < n_blocks; k++)
			on_edge |= block_ends[k] == n;
		c = open_file(&cut, false);
		assert_int_equal(count(c, &err), whole);
		assert_int_equal(err, 0);
		assert_int_equal(capture_end(c), on_edge ? CAPTURE_COMPLETE : CAPTURE_TRUNCATED);
		complete += on_edge;
		capture_close(c);
	}
	assert_int_equal(complete, n_blocks);
}

/* The same for gzip: packets come up to where the data reach, and a cut is always noticed. */
static void cut_gzip(void **state)
{
	struct file f = sample_pcap();
	uint8_t packed[8192];
	unsigned last = 0;
	size_t n;

	for (unsigned k = 0; k < 200; k++) /* something that does not pack well */
		pcap_record(&f, k, (uint32_t)rand(), (uint8_t)rand(), 1, (uint32_t)rand() % 1000);
	file_write(name, f.b, f.n, true);
	n = file_read(name, packed, sizeof(packed));
	for (size_t cut = n % 5; cut <= n; cut += 5) {
		struct capture *c = NULL;
		unsigned got;
		int err;

		file_write(name, packed, cut, false);
		strbuf_truncate(&msg, 0);
		if (capture_open(&c, name, &msg)) {
			assert_int_equal(last, 0);
			continue;
		}
		got = count(c, &err);
		assert_int_equal(err, 0);
		assert_true(got >= last);
		last = got;
		assert_int_equal(capture_end(c), cut == n ? CAPTURE_COMPLETE : CAPTURE_TRUNCATED);
		capture_close(c);
	}
	assert_int_equal(last, 210);

	packed[n / 2] ^= 0x55; /* damaged: the packets before come all the same, or nothing opens */
	packed[n / 2 + 1] ^= 0x55;
	struct capture *c = NULL;
	int err;

	file_write(name, packed, n, false);
	assert_int_equal(capture_open(&c, name, &msg), 0);
	count(c, &err);
	assert_int_equal(err, 0);
	assert_int_equal(capture_end(c), CAPTURE_CORRUPT);
	capture_close(c);
}

/* Two gzip members in a row are one file; what else follows is ignored. */
static void gzip_members(void **state)
{
	struct file f = sample_pcap();
	static uint8_t packed[1 << 14];
	struct capture *c = NULL;
	size_t n;
	int err;

	file_write(name, f.b, 100, true);
	n = file_read(name, packed, sizeof(packed));
	file_write(name, f.b + 100, f.n - 100, true);
	n += file_read(name, packed + n, sizeof(packed) - n);
	memset(packed + n, 0, 100);
	file_write(name, packed, n + 100, false);
	assert_int_equal(capture_open(&c, name, &msg), 0);
	assert_int_equal(count(c, &err), 10);
	assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
	capture_close(c);
}

static void expect_corrupt(const struct file *f, unsigned packets, const char *why)
{
	struct capture *c = open_file(f, false);
	int err;

	assert_int_equal(count(c, &err), packets);
	assert_int_equal(err, 0);
	assert_int_equal(capture_end(c), CAPTURE_CORRUPT);
	assert_non_null(strstr(capture_warnings(c), why));
	assert_non_null(strstr(capture_warnings(c), "corrupt at byte"));
	capture_close(c);
}

static void corrupt_files(void **state)
{
	struct file f = sample_pcap(), g, base = {0};
	uint32_t at;

	pcap_record(&f, 0, 0, 1, 1, 1);
	f.b[f.n - 17 + 8 + 2] = 5; /* 5 * 65536 + 1 bytes */
	expect_corrupt(&f, 10, "a packet of 327681 bytes");

	put_section(&base);
	put_interface(&base, 1, "eth0", -1);
	put_enhanced(&base, 0, 1, 1, 4, 4);
	at = base.n;
	g = base;
	put_enhanced(&g, 1, 1, 1, 4, 4);
	expect_corrupt(&g, 1, "interface 1");
	g = base;
	put_enhanced(&g, 0, 1, 1, 4, 4);
	g.b[at + 20] = 5; /* into the trailing length */
	expect_corrupt(&g, 1, "a packet of 5 bytes");
	g = base;
	put_enhanced(&g, 0, 1, 1, 4, 4);
	g.b[at + 4] = 0xff;
	expect_corrupt(&g, 1, "a block of 255 bytes");
	g = base;
	put_enhanced(&g, 0, 1, 1, 4, 4);
	g.b[at + 7] = 0x7f;
	expect_corrupt(&g, 1, "a block of");
	g = base;
	put_enhanced(&g, 0, 1, 1, 4, 4);
	g.b[g.n - 4]++;
	expect_corrupt(&g, 1, "that ends as one of 37");
	g = base;
	block_begin(&g, 6);
	block_end(&g);
	expect_corrupt(&g, 1, "a packet block of 12 bytes");
	g = base;
	block_begin(&g, 3);
	block_end(&g);
	expect_corrupt(&g, 1, "a packet block of 12 bytes");
	g = base;
	block_begin(&g, 1);
	block_end(&g);
	expect_corrupt(&g, 1, "an interface block of 12 bytes");
	g = base;
	put_section(&g);
	put_enhanced(&g, 0, 1, 1, 4, 4); /* the section has no interface */
	expect_corrupt(&g, 1, "interface 0");
	g = base;
	put_section(&g);
	g.b[at + 8] ^= 1;
	expect_corrupt(&g, 1, "a section without a byte order");
	g = base;
	put_section(&g);
	g.b[at + 12] = 9;
	expect_corrupt(&g, 1, "a section of an unknown version");
}

static void unsupported_interfaces(void **state)
{
	struct file f = {0}, only = {0}, none = {0};
	struct capture *c;
	int err;

	put_section(&f);
	put_interface(&f, 105, "wlan0", -1);
	put_interface(&f, 1, "eth0", -1);
	for (unsigned k = 0; k < 200; k++)
		put_enhanced(&f, k % 2, k, (uint8_t)k, 4, 4);
	c = open_file(&f, false);
	assert_int_equal(count(c, &err), 100);
	assert_int_equal(err, 0);
	assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
	assert_int_equal(capture_interface(c, 0)->skipped, 100);
	assert_non_null(strstr(capture_warnings(c), "100 packets of interface wlan0 left out: link "
						    "type IEEE802_11 (105) is not supported"));
	capture_close(c);

	put_section(&only);
	put_interface(&only, 127, NULL, -1);
	put_interface(&only, 1, "eth0", -1);
	put_enhanced(&only, 0, 1, 1, 4, 4);
	c = open_file(&only, false);
	assert_int_equal(count(c, &err), 0);
	assert_int_equal(err, -EOPNOTSUPP);
	assert_non_null(strstr(strbuf_str(&msg), "IEEE802_11_RADIOTAP (127) is not supported"));
	capture_close(c);

	put_section(&none);
	c = open_file(&none, false);
	assert_int_equal(count(c, &err), 0);
	assert_int_equal(err, 0);
	capture_close(c);
}

/* Far more than the window: large packets, large unknown blocks; the order and bytes stay. */
static void large_files(void **state)
{
	struct file head = {0};
	static uint8_t zeros[3 << 20];
	struct capture *c = NULL;
	FILE *to = fopen(name, "wb");
	unsigned n = 0;

	assert_non_null(to);
	put_section(&head);
	put_interface(&head, 1, "eth0", -1);
	fwrite(head.b, 1, head.n, to);
	for (unsigned k = 0; k < 60; k++) {
		uint32_t size = k % 4 ? 60000 : 262144;
		uint32_t block[7] = {6, 32 + size, 0, 0, k, size, size};

		memset(zeros, (int)k, size);
		fwrite(block, 4, 7, to);
		fwrite(zeros, 1, size, to);
		fwrite(block + 1, 4, 1, to);
		if (k % 10 == 0) {
			uint32_t skip[2] = {0xbad, sizeof(zeros) + 12};

			fwrite(skip, 4, 2, to);
			fwrite(zeros, 1, sizeof(zeros), to);
			fwrite(skip + 1, 4, 1, to);
		}
	}
	fclose(to);
	assert_int_equal(capture_open(&c, name, &msg), 0);
	while (!capture_read(c, &b, &msg) && b.n)
		for (unsigned i = 0; i < b.n; i++, n++) {
			assert_int_equal(b.time[i], n * 1000);
			assert_int_equal(b.caplen[i], n % 4 ? 60000 : 262144);
			assert_int_equal(b.data[i][0], n);
			assert_int_equal(b.data[i][b.caplen[i] - 1], n);
		}
	assert_int_equal(n, 60);
	assert_int_equal(capture_end(c), CAPTURE_COMPLETE);
	capture_close(c);
}

/* Standard input that is a pipe, filled a byte at a time. */
static void from_pipe(void **state)
{
	struct file f = sample_pcapng();
	struct capture *c = NULL;
	int fds[2], saved = dup(STDIN_FILENO), err;

	assert_int_equal(pipe(fds), 0);
	for (uint32_t k = 0; k < f.n; k++)
		assert_int_equal(write(fds[1], f.b + k, 1), 1);
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	assert_int_equal(capture_open(&c, "-", &msg), 0);
	assert_int_equal(count(c, &err), 5);
	assert_int_equal(capture_bytes_total(c), 0);
	assert_int_equal(capture_bytes_read(c), f.n);
	capture_close(c);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* left open: it is not ours */
	dup2(saved, STDIN_FILENO);
	close(saved);
}

/* Random damage: whatever comes out, it comes to an end. */
static void random_damage(void **state)
{
	srand(3);
	for (unsigned k = 0; k < 500; k++) {
		struct file f = k % 2 ? sample_pcap() : sample_pcapng();
		struct capture *c = NULL;

		for (unsigned n = (unsigned)rand() % 8; n; n--)
			f.b[(unsigned)rand() % f.n] = (uint8_t)rand();
		file_write(name, f.b, f.n, false);
		if (capture_open(&c, name, &msg))
			continue;
		while (!capture_read(c, &b, &msg) && b.n)
			burst_parse(&b);
		assert_true(capture_packets(c) <= 100);
		capture_close(c);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(pcap_variants), TEST(link_types),	  TEST(no_captures),
		TEST(pcapng_blocks), TEST(pcapng_clocks), TEST(cut_files),
		TEST(cut_gzip),	     TEST(gzip_members),  TEST(corrupt_files),
		TEST(large_files),   TEST(from_pipe),	  TEST(unsupported_interfaces),
		TEST(random_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
