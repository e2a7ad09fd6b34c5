/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: the public API on one page. Loads the ruleset named on the command line, asks it about
 * two packets that arrive at 192.0.2.1, and prints what became of them and of the rules.
 *
 *	cc filter.c $(pkg-config --cflags --libs tamis) -o filter && ./filter firewall.nft
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/tamis.h>

static const char *const verdicts[TAMIS_VERDICTS] = {
	[TAMIS_ACCEPT] = "accepted",
	[TAMIS_DROP] = "dropped",
	[TAMIS_REJECT] = "rejected",
	[TAMIS_QUEUE] = "queued",
};

/* TCP SYN to port 443, without a link header: from 203.0.113.7, and from a blocklisted address. */
static const unsigned char from_client[40] = {
	0x45, 0,    0, 40,  0, 0, 0, 0,	  64, 6, 0x7c, 0xc7, 203,  0, 113,  7,	  192, 0, 2, 1,
	0xc7, 0x38, 1, 187, 0, 0, 3, 232, 0,  0, 0,    0,    0x50, 2, 0xfa, 0xf0, 0,   0, 0, 0,
};
static const unsigned char from_scanner[40] = {
	0x45, 0,    0, 40,  0, 0, 0, 0,	  64, 6, 0x8e, 0x8a, 198,  51, 100,  17,   192, 0, 2, 1,
	0xc7, 0x38, 1, 187, 0, 0, 3, 232, 0,  0, 0,    0,    0x50, 2,  0xfa, 0xf0, 0,	0, 0, 0,
};

static int print_rule(void *arg, const struct tamis_rule *r)
{
	if (r->matched.packets)
		fprintf(arg, "%llu %s %s: %s\n", (unsigned long long)r->matched.packets, r->table,
			r->chain, r->text);
	return 0;
}

static int judge(struct tamis *t, struct tamis_burst *b, uint64_t now)
{
	const unsigned char *const packets[] = {from_client, from_scanner};
	struct tamis_result result;
	int err = 0;

	for (unsigned i = 0; i < 2 && err >= 0; i++) {
		struct tamis_packet p = {.data = packets[i],
					 .caplen = 40,
					 .len = 40,
					 .time = now,
					 .link = TAMIS_LINK_RAW};

		err = tamis_burst_add(b, &p);
	}
	if (err >= 0)
		err = tamis_burst_run(b);
	for (unsigned i = 0; !err && i < 2; i++) {
		err = tamis_burst_result(b, i, &result);
		if (!err)
			printf("packet %u: %s\n", i, verdicts[result.verdict]);
	}
	return err ? err : tamis_rule_each(t, now, print_rule, stdout);
}

int main(int argc, char **argv)
{
	struct tamis *t = NULL;
	struct tamis_burst *b = NULL;
	char *messages = NULL;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: filter RULES\n");
		return 1;
	}
	err = tamis_new(NULL, &t);
	if (!err)
		err = tamis_local_add(t, "192.0.2.1");
	if (!err)
		err = tamis_load_file(t, argv[1], NULL, NULL, &messages);
	if (messages)
		fputs(messages, stderr);
	if (!err)
		err = tamis_burst_new(t, &b);
	if (!err)
		err = judge(t, b, 0);
	if (err)
		fprintf(stderr, "filter: %s\n", strerror(-err));
	tamis_burst_free(b);
	tamis_free(t);
	free(messages);
	return err ? 1 : 0;
}
