/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real captures, where there are any: the number of packets is capinfos' for every file that both
 * read, all that come are parsed, and a copy has as many. The directory is $TAMIS_DATA/pcaps.
 */
#include <ftw.h>

#include "../unit/capture_build.h"

/*
 * Files of which capinfos gives no number, because it stops with an error at the damage after
 * which tamis warns; and what tamis reads of them.
 */
static const struct {
	const char *file;
	unsigned packets;
} exceptions[] = {
	{"gopacket/test901.pcapng", 1},		   /* a section of version 2 */
	{"libpcap/shb-option-too-long.pcapng", 0}, /* lengths of the first block disagree */
	{"suricata-verify/fuzz.pcap", 1},	   /* a packet of 1.4 GB */
	{"suricata-verify/tls_DER-incomplete-header.pcap", 6}, /* a packet of 4 MB */
};

static char *data_dir;
static unsigned n_files, n_read, n_refused;
static char *copy_name;

static bool find_data(void)
{
	const char *env = getenv("TAMIS_DATA"), *root = getenv("TAMIS_SOURCE_ROOT");
	int n;

	if (env)
		n = asprintf(&data_dir, "%s/pcaps", env);
	else
		n = asprintf(&data_dir, "%s/../shared/data/pcaps", root ? root : ".");
	return n > 0 && !access(data_dir, R_OK);
}

/* -1 if capinfos has no number. */
static long expected(const char *path)
{
	char *command, line[4096];
	long n = -1;
	FILE *p;

	for (unsigned k = 0; k < ARRAY_SIZE(exceptions); k++)
		if (strstr(path, exceptions[k].file))
			return exceptions[k].packets;
	assert_true(asprintf(&command, "capinfos -c -M -T -r '%s' 2>/dev/null", path) > 0);
	p = popen(command, "r");
	assert_non_null(p);
	if (fgets(line, sizeof(line), p) && strrchr(line, '\t'))
		n = atol(strrchr(line, '\t'));
	pclose(p);
	free(command);
	return n;
}

static long copy_and_count(struct capture *c, struct strbuf *msg, int *err)
{
	static struct burst b;
	struct capture_writer *w = NULL;
	long n = 0;

	assert_int_equal(capture_writer_open(&w, copy_name, c, msg), 0);
	while (!(*err = capture_read(c, &b, msg)) && b.n) {
		burst_parse(&b);
		for (unsigned i = 0; i < b.n; i++) {
			uint32_t off, len;
			uint8_t byte;

			for (unsigned kind = 0; kind < 256; kind++) {
				burst_find_tcp_option(&b, i, (uint8_t)kind, &off, &len);
				burst_find_sctp_chunk(&b, i, (uint8_t)kind, &off, &len);
			}
			burst_read(&b, i, BASE_TH, 0, &byte, 1);
			assert_true(b.end[i] <= b.caplen[i]);
		}
		assert_int_equal(
			capture_writer_write(
				w, &b, b.n == 64 ? UINT64_MAX : ((burst_mask)1 << b.n) - 1, msg),
			0);
		n += b.n;
	}
	assert_int_equal(capture_writer_finish(w, msg), 0);
	capture_writer_free(w);
	return n;
}

static int one_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct strbuf msg = STRBUF_INIT;
	struct capture *c = NULL;
	int err;

	if (type != FTW_F)
		return 0;
	n_files++;
	err = capture_open(&c, path, &msg);
	if (!err) {
		long got = copy_and_count(c, &msg, &err);

		if (!err) {
			long want = expected(path);

			if (got != want)
				fail_msg("%s: %ld packets, not %ld", path, got, want);
			if (got && expected(copy_name) != got)
				fail_msg("%s: the copy does not have %ld packets", path, got);
			n_read++;
		}
	}
	if (err) {
		assert_true(strstr(strbuf_str(&msg), "is not supported") ||
			    strstr(strbuf_str(&msg), "is not known"));
		n_refused++;
	}
	capture_close(c);
	strbuf_free(&msg);
	return 0;
}

static void real_captures(void **state)
{
	copy_name = temp_name();
	assert_int_equal(nftw(data_dir, one_file, 16, FTW_PHYS), 0);
	print_message("# %u files: %u read, %u refused\n", n_files, n_read, n_refused);
	assert_true(n_read > n_files / 2);
	unlink(copy_name);
	free(copy_name);
	free(data_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(real_captures)};

	if (!find_data()) {
		print_message("1..0 # SKIP no captures at $TAMIS_DATA/pcaps\n");
		return 0;
	}
	if (system("capinfos -v >/dev/null 2>&1")) {
		print_message("1..0 # SKIP no capinfos to compare with\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
