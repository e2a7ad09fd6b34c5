/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets: ipset's sets and a reload through the public API. A restore file's sets go into an engine,
 * a rule uses one; then the ruleset is loaded again while it runs, and a ban that was added
 * meanwhile stays.
 *
 *	cc sets.c $(pkg-config --cflags --libs tamis) -o sets && ./sets
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/ipset.h>
#include <tamis/tamis.h>

static const char saved[] = "create listed hash:net\n"
			    "add listed 198.51.100.0/24\n"
			    "add listed 198.51.100.16/28 nomatch\n";
static const char listed_rules[] =
	"table inet global {\n"
	"	chain in { type filter hook input priority 0; ip saddr @listed drop; }\n"
	"}\n";
static const char bans_rules[] =
	"flush ruleset\n"
	"table inet filter {\n"
	"	set bans { type ipv4_addr; flags timeout; }\n"
	"	chain in { type filter hook input priority 0; ip saddr @bans drop; }\n"
	"}\n";
static const char ban[] = "add element inet filter bans { 203.0.113.7 timeout 1h }";

/* An IPv4 packet without a payload, from this address to 192.0.2.1. */
static void packet_make(unsigned char *p, const unsigned char *from)
{
	static const unsigned char header[20] = {0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253};
	unsigned sum = 0;

	memcpy(p, header, 20);
	memcpy(p + 12, from, 4);
	memcpy(p + 16, "\xc0\x00\x02\x01", 4);
	for (unsigned i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
	p[10] = (unsigned char)(sum >> 8);
	p[11] = (unsigned char)sum;
}

static int judge(struct tamis *t, const char *what, const unsigned char *from)
{
	unsigned char bytes[20];
	struct tamis_packet p = {.data = bytes, .caplen = 20, .len = 20, .link = TAMIS_LINK_RAW};
	struct tamis_burst *b;
	int err = tamis_burst_new(t, &b);

	if (err)
		return err;
	packet_make(bytes, from);
	err = tamis_burst_add(b, &p);
	if (err >= 0)
		err = tamis_burst_run(b);
	if (!err)
		printf("%s: %s\n", what, tamis_burst_mask(b, TAMIS_DROP) ? "dropped" : "accepted");
	tamis_burst_free(b);
	return err;
}

static int told(int err, char *messages)
{
	if (messages)
		fputs(messages, stderr);
	free(messages);
	return err;
}

static int load(struct tamis *t, const char *text)
{
	char *messages = NULL;
	int err = tamis_load_text(t, "rules", text, strlen(text), NULL, NULL, &messages);

	return told(err, messages);
}

static int reload(struct tamis *t, const char *text)
{
	char *messages = NULL;
	int err = tamis_reload_text(t, "rules", text, strlen(text), NULL, NULL, &messages);

	return told(err, messages);
}

static int done(struct tamis_ipset_result *r)
{
	int err = r->status ? -EINVAL : 0;

	fputs(r->messages, stderr);
	tamis_ipset_result_free(r);
	return err;
}

/* Published sets are copies: the session is not needed any more. */
static int ipset_to(struct tamis *t)
{
	char *words[] = {"add", "listed", "192.0.2.128/25"}, *messages = NULL;
	struct tamis_ipset_result r;
	struct tamis_ipset *s;
	int err = tamis_ipset_new(&s);

	if (err)
		return err;
	err = tamis_ipset_restore(s, saved, strlen(saved), 0, 0, &r);
	if (!err)
		err = done(&r);
	if (!err)
		err = tamis_ipset_run(s, 3, words, 0, &r);
	if (!err)
		err = done(&r);
	if (!err) {
		err = tamis_ipset_publish(s, t, 0, &messages);
		told(err, messages);
	}
	tamis_ipset_free(s);
	return err;
}

int main(void)
{
	struct tamis *t;
	int err = tamis_new(NULL, &t);

	if (err)
		return 1;
	tamis_path_set(t, TAMIS_PATH_INPUT);
	err = ipset_to(t);
	if (!err)
		err = load(t, listed_rules);
	if (!err)
		err = judge(t, "198.51.100.1 of ipset's set",
			    (const unsigned char *)"\xc6\x33\x64\x01");
	if (!err)
		err = judge(t, "198.51.100.17, its exception",
			    (const unsigned char *)"\xc6\x33\x64\x11");
	if (!err)
		err = load(t, bans_rules);
	if (!err)
		err = load(t, ban);
	if (!err)
		err = reload(t, bans_rules);
	if (!err)
		err = judge(t, "203.0.113.7, banned, after a reload",
			    (const unsigned char *)"\xcb\x00\x71\x07");
	if (err)
		fprintf(stderr, "sets: %s\n", strerror(-err));
	tamis_free(t);
	return err ? 1 : 0;
}
