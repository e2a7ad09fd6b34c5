/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ipset: any bytes as a restore, and as commands one by one.
 *
 * Beside not crashing: a restore that fails leaves nothing and names a line; what is saved can be
 * restored, and saves the same again; every form can be printed. Long ranges are passed over: their
 * cost is their length.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "compat/ipset.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static const uint64_t now = UINT64_C(1000000000000);

static int restore(struct ipset *s, const char *text, size_t len, struct strbuf *messages)
{
	struct ipset_restore_options o = {.now = now};
	struct strbuf out = STRBUF_INIT;
	int status = ipset_restore_text(s, text, len, &o, &out, messages, NULL);

	strbuf_free(&out);
	return status;
}

static void save(struct ipset *s, struct strbuf *out)
{
	strbuf_truncate(out, 0);
	ipset_state_print(s, now, out);
	CHECK(!strbuf_error(out));
}

static void saved_again(struct ipset *s)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT, messages = STRBUF_INIT;
	struct ipset *copy;

	save(s, &first);
	CHECK(!ipset_new(&copy));
	CHECK(!restore(copy, strbuf_str(&first), first.len, &messages));
	save(copy, &second);
	CHECK(strcmp(strbuf_str(&first), strbuf_str(&second)) == 0);
	ipset_free(copy);
	strbuf_free(&first);
	strbuf_free(&second);
	strbuf_free(&messages);
}

static void print_forms(struct ipset *s, struct strbuf *out, struct strbuf *messages)
{
	static const char *const lines[] = {"list", "list -o xml", "list -o json -s", "save -s",
					    "list -n -o json"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		CHECK(!ipset_line_run(s, lines[i], strlen(lines[i]), now, out, messages, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char before[] = "create z hash:ip timeout 9\nadd z 10.0.0.1\n";
	struct strbuf out = STRBUF_INIT, messages = STRBUF_INIT, kept = STRBUF_INIT;
	const char *text = (const char *)data, *end = text + size;
	struct ipset *s;

	/* "/9" and the like, and ranges of addresses and ports. */
	for (const char *p = text; p + 1 < end; p++)
		if ((*p == '/' && p[1] <= '9') || (*p == '-' && p[1] >= '0' && p[1] <= '9'))
			return 0;
	CHECK(!ipset_new(&s));
	CHECK(!restore(s, before, sizeof(before) - 1, &messages));
	save(s, &kept);
	if (restore(s, text, size, &messages)) {
		CHECK(strstr(strbuf_str(&messages), "Error in line "));
		save(s, &out);
		CHECK(strcmp(strbuf_str(&out), strbuf_str(&kept)) == 0);
	}
	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line);

		ipset_line_run(s, line, len, now, &out, &messages, NULL);
		line += len + 1;
	}
	saved_again(s);
	print_forms(s, &out, &messages);
	strbuf_free(&out);
	strbuf_free(&messages);
	strbuf_free(&kept);
	ipset_free(s);
	return 0;
}
