/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_capture: any bytes as a capture file, read to its end, parsed and written again. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdio.h>

#include "port/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct capture *c, struct strbuf *msg)
{
	static struct burst b;
	struct capture_writer *w = NULL;
	uint64_t n = 0;

	if (capture_writer_open(&w, "/dev/null", c, msg))
		abort();
	while (!capture_read(c, &b, msg) && b.n) {
		burst_mask all = b.n == BURST_MAX ? UINT64_MAX : ((burst_mask)1 << b.n) - 1;

		burst_parse(&b);
		for (unsigned i = 0; i < b.n; i++)
			if (b.len[i] < b.caplen[i] || !capture_interface(c, b.iif[i] - 1))
				abort();
		if (capture_writer_write(w, &b, all, msg))
			abort();
		n += b.n;
	}
	if (n != capture_packets(c) || b.n || capture_writer_finish(w, msg))
		abort();
	if (capture_end(c) != CAPTURE_COMPLETE && !*capture_warnings(c))
		abort();
	capture_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf msg = STRBUF_INIT;
	struct capture *c = NULL;
	char name[32];
	int fd = memfd_create("capture", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (!capture_open(&c, name, &msg))
		read_all(c, &msg);
	else if (!msg.len)
		abort();
	capture_close(c);
	strbuf_free(&msg);
	close(fd);
	return 0;
}
