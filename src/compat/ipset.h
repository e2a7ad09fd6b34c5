/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset: the language of ipset(8) 7.17: sets, the commands that change and show them, and their
 * place in nft's world.
 *
 *	ipset_new(&s);
 *	ipset_restore(s, path, ...)		once or more
 *	ipset_request_parse(s, n, words, &r, messages)
 *	ipset_request_run(s, &r, now, out, messages)
 *	ipset_publish(s, t, now, ...)		the sets stand in table `inet global`
 *	ipset_free(s);
 *
 * Messages and exit status are ipset's: 0, 1 for what cannot be done, 2 for what is no command. A
 * command, and a restore as a whole, is carried out or leaves nothing behind: ranges that fail half
 * way too.
 *
 * What stands for a set in nft, type by type, is what `ipset-translate` makes of it: `ipv4_addr`,
 * `ether_addr`, `mark`, `ifname`, and for a port `inet_proto . inet_service` (an ICMP type and code
 * as the number 256 * type + code). Sets of networks, and those with a netmask or markmask, have
 * `flags interval`. Exceptions (`nomatch`) are cut out of the networks around them, most specific
 * first as ipset looks them up. A list:set is the union of its members at the time of publishing.
 * What no nft set can hold is refused then: masks with holes, `physdev:` interfaces, exceptions
 * that expire before what they are exceptions from, names that are no names in nft. skbinfo and the
 * sizes of tables are without effect. With forceadd a full set gives up its oldest element.
 *
 * Cost: O(1) for each line; ranges cost their addresses, as in ipset; publishing that of the sets,
 * and networks times exceptions. An element costs its key, what it has beside it, and 11 to 21
 * bytes. One thread; publishing the engine's.
 */
#ifndef TAMIS_COMPAT_IPSET_H
#define TAMIS_COMPAT_IPSET_H

#include <tamis/tamis.h>

#include "base/strbuf.h"

struct ipset; /* opaque: sets by name */

int ipset_new(struct ipset **out);
void ipset_free(struct ipset *s);

enum ipset_action {
	IPSET_RUN,	   /* ipset_request_run() does it */
	IPSET_RESTORE,	   /* of `file`, or standard input */
	IPSET_INTERACTIVE, /* lines of standard input, one by one */
	IPSET_QUIT,
};

enum { IPSET_REQUEST_WORDS = 64 };

/* A command line taken apart; its words are the caller's and are written to. */
struct ipset_request {
	enum ipset_action action;
	unsigned command; /* its own affair */
	bool exist, quiet;
	unsigned form, flags; /* of what is printed */
	const char *file;     /* -file, or NULL */
	char *word[IPSET_REQUEST_WORDS];
	unsigned n;
};

/*
 * The words behind the program's name. The exit status: 0 with *out, or 2 or 1 with what is wrong
 * in `messages` (not if -quiet is among them).
 */
int ipset_request_parse(struct ipset *s, unsigned n, char *const *word, struct ipset_request *out,
			struct strbuf *messages);

/* Whether the request changes no set. */
bool ipset_request_reads(const struct ipset_request *r);

/*
 * Carries out a request of action IPSET_RUN; what it prints goes to `out`. The exit status;
 * *changed (may be NULL) says whether sets are others now. Negative: -ENOMEM, and nothing has
 * changed.
 */
int ipset_request_run(struct ipset *s, struct ipset_request *r, uint64_t now, struct strbuf *out,
		      struct strbuf *messages, bool *changed);

/* One line of an interactive session, or nothing if it is blank. As ipset_request_run(); -ESHUTDOWN
 * for `quit`. */
int ipset_line_run(struct ipset *s, const char *line, size_t len, uint64_t now, struct strbuf *out,
		   struct strbuf *messages, bool *changed);

struct ipset_restore_options {
	const char *prefix; /* of messages, a file's name that stays; NULL: "ipset v7.17" */
	bool exist, quiet;
	uint64_t now;
};

/*
 * Carries out the lines of a file ("-" is standard input) or a text, as one step. The exit status,
 * with "PREFIX:N: Error: ..." in `messages`, or without a prefix as ipset says it; -ENOENT,
 * -EACCES, ...: the file could not be read; -ENOMEM. `out` and `changed` as above.
 */
int ipset_restore(struct ipset *s, const char *path, const struct ipset_restore_options *o,
		  struct strbuf *out, struct strbuf *messages, bool *changed);
int ipset_restore_text(struct ipset *s, const char *text, size_t len,
		       const struct ipset_restore_options *o, struct strbuf *out,
		       struct strbuf *messages, bool *changed);

/*
 * The sets as a file that ipset restores too; comments in it say what time it is and what parts of
 * a second are left, so that lifetimes go on exactly where they were.
 */
void ipset_state_print(struct ipset *s, uint64_t now, struct strbuf *out);
/* Reads such a file, or any other that can be restored, whose lifetimes then begin at o->now. */
int ipset_state_read(struct ipset *s, const char *path, const struct ipset_restore_options *o,
		     struct strbuf *messages);

/* 0, -EINVAL with messages, -ENOMEM; after an error the engine is as it was. Messages about a set
 * begin with the prefix and the line of the restore that made it. */
int ipset_publish(struct ipset *s, struct tamis *t, uint64_t now, struct strbuf *messages);

#endif
