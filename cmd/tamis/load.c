/* SPDX-License-Identifier: Apache-2.0 */
/* load: see load.h. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat/blocklist.h"
#include "compat/ipset.h"
#include "compat/vpp.h"
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

/* One --load. */
static int load_list(struct tamis *t, const struct options *o, const char *text, uint64_t now)
{
	const char *eq = strchr(text, '=');
	char *target = strndup(text, (size_t)(eq - text));
	struct strbuf messages = STRBUF_INIT;
	int err = target ? blocklist_load(t, target, eq + 1, o->skip_bad ? BLOCKLIST_SKIP_BAD : 0,
					  now, &messages)
			 : -ENOMEM;

	free(target);
	fputs(strbuf_str(&messages), stderr);
	if (err && !messages.len)
		complain("--load %s: %s", text, strerror(-err));
	strbuf_free(&messages);
	return err;
}

/* All --ipset. */
static int load_ipsets(struct tamis *t, const struct options *o, uint64_t now)
{
	struct ipset_restore_options options = {.now = now};
	struct strbuf messages = STRBUF_INIT, out = STRBUF_INIT;
	struct ipset *s = NULL;
	int err = ipset_new(&s);

	for (size_t i = 0; !err && i < o->ipsets.n; i++) {
		options.prefix =
			strcmp(o->ipsets.items[i], "-") ? o->ipsets.items[i] : "/dev/stdin";
		err = ipset_restore(s, o->ipsets.items[i], &options, &out, &messages, NULL);
	}
	if (!err)
		err = ipset_publish(s, t, now, &messages);
	ipset_free(s);
	fputs(strbuf_str(&messages), stderr);
	if (err && !messages.len)
		complain("%s: %s", options.prefix, strerror(-err));
	strbuf_free(&messages);
	strbuf_free(&out);
	return err;
}

/* What commands in a file printed. A reader of standard output that has gone is no failure. */
static int show(const struct options *o, const char *text)
{
	int err = 0;

	if (o->json || o->quiet)
		fputs(text, stderr);
	else
		err = output_text(STDOUT_FILENO, output_stdout_name, text);
	return err == OUTPUT_GONE ? 0 : err;
}

/* One --acl. */
static int load_acls(struct tamis *t, const struct options *o, const char *path, uint64_t now)
{
	struct strbuf output = STRBUF_INIT, messages = STRBUF_INIT;
	int err = vpp_exec(t, path, now, &output, &messages);

	fputs(strbuf_str(&messages), stderr);
	if (err && !messages.len)
		complain("%s: %s", strcmp(path, "-") == 0 ? "standard input" : path,
			 strerror(-err));
	if (!err)
		err = show(o, strbuf_str(&output));
	strbuf_free(&output);
	strbuf_free(&messages);
	return err;
}

/* One ruleset, by tamis_load_file() or tamis_reload_file(). */
static int load_file(struct tamis *t, const struct options *o, const char *path, bool again,
		     uint64_t now)
{
	struct tamis_load_options options = {
		.include_path = o->includes.items, .defines = o->defines.items, .now = now};
	char *output, *messages;
	int written = 0;
	int err = again ? tamis_reload_file(t, path, &options, &output, &messages)
			: tamis_load_file(t, path, &options, &output, &messages);

	if (output)
		written = show(o, output);
	if (messages)
		fputs(messages, stderr);
	if (err && !messages)
		complain("%s: %s", strcmp(path, "-") == 0 ? "standard input" : path,
			 strerror(-err));
	/* nft's words do not say where a set would have to be. */
	if (err && messages && o->ipsets.n && strstr(messages, "No such file or directory"))
		complain("sets of --ipset are in table inet global, for rules there");
	free(output);
	free(messages);
	return err ? err : written;
}

int load_rules(struct tamis *t, const struct options *o, uint64_t now)
{
	int err = o->ipsets.n ? load_ipsets(t, o, now) : 0;

	for (size_t i = 0; !err && i < o->rules.n; i++)
		err = load_file(t, o, o->rules.items[i], false, now);
	for (size_t i = 0; !err && i < o->lists.n; i++)
		err = load_list(t, o, o->lists.items[i], now);
	for (size_t i = 0; !err && i < o->acls.n; i++)
		err = load_acls(t, o, o->acls.items[i], now);
	return err;
}

int reload_rules(struct tamis *t, const struct options *o, const char *path, uint64_t now)
{
	return load_file(t, o, path, true, now);
}
