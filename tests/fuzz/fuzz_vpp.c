/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_vpp: any bytes as VPP's commands. Beside not crashing: an error has a message and leaves
 * nothing behind; what was made lists as commands that make the same.
 */
#include <stdlib.h>

#include "compat/vpp.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT, list = STRBUF_INIT,
		      again = STRBUF_INIT;
	struct tamis *t, *u;

	CHECK(!tamis_new(NULL, &t));
	CHECK(!tamis_new(NULL, &u));
	int err = vpp_exec_text(t, "fuzz", (const char *)data, size, 0, &out, &messages);
	CHECK(!err || err == -EINVAL);
	CHECK(!err || messages.len);
	CHECK(!vpp_list(t, &list));
	CHECK(!err || !list.len);
	err = vpp_exec_text(u, "list", strbuf_str(&list), list.len, 0, &out, &messages);
	CHECK(!err);
	CHECK(!vpp_list(u, &again));
	CHECK(!strcmp(strbuf_str(&list), strbuf_str(&again)));
	strbuf_free(&out);
	strbuf_free(&messages);
	strbuf_free(&list);
	strbuf_free(&again);
	tamis_free(t);
	tamis_free(u);
	return 0;
}
