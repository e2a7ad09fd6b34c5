/* SPDX-License-Identifier: Apache-2.0 */
/* load: see load.h. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

struct tamis *engine_new(void)
{
	struct tamis_config config = {0};
	struct tamis *t;
	time_t now = time(NULL);
	struct tm tm;
	int err;

	if (localtime_r(&now, &tm))
		config.utc_offset = (int32_t)tm.tm_gmtoff;
	err = tamis_new(&config, &t);
	if (err) {
		complain("%s", strerror(-err));
		return NULL;
	}
	return t;
}

int load_rules(struct tamis *t, const struct options *o, uint64_t now)
{
	struct tamis_load_options options = {
		.include_path = o->includes.items, .defines = o->defines.items, .now = now};

	for (size_t i = 0; i < o->rules.n; i++) {
		const char *path = o->rules.items[i];
		char *output, *messages;
		int err = tamis_load_file(t, path, &options, &output, &messages);

		int written = 0;

		if (output && o->json)
			fputs(output, stderr);
		else if (output)
			written = output_text(STDOUT_FILENO, output_stdout_name, output);
		if (messages)
			fputs(messages, stderr);
		if (err && !messages)
			complain("%s: %s", strcmp(path, "-") == 0 ? "standard input" : path,
				 strerror(-err));
		free(output);
		free(messages);
		if (err || written)
			return err ? err : written;
	}
	return 0;
}
