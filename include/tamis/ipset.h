/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipset: sets in the language of ipset(8): the commands of the program as calls.
 *
 *	struct tamis_ipset *s;
 *	struct tamis_ipset_result r;
 *	char *words[] = {"add", "banned", "192.0.2.7"};
 *
 *	tamis_ipset_new(&s);
 *	tamis_ipset_restore(s, text, len, 0, now, &r);
 *	tamis_ipset_result_free(&r);
 *	tamis_ipset_run(s, 3, words, now, &r);
 *	if (r.status)
 *		fputs(r.messages, stderr);
 *	tamis_ipset_result_free(&r);
 *	tamis_ipset_publish(s, t, now, &messages);
 *	tamis_ipset_free(s);
 *
 * Commands, messages and exit status are those of ipset 7.17. A command or a restore is carried out
 * as a whole or leaves everything as it was. Lifetimes count down by the times that are handed in,
 * ns of a clock of the caller's choice that does not go back.
 *
 * A session is used by one thread at a time; different ones have nothing in common. Functions
 * return 0, or a negative errno with *out untouched: -ENOMEM, and then all is as it was, unless
 * only the texts of a result found no memory.
 */
#ifndef TAMIS_PUBLIC_IPSET_H
#define TAMIS_PUBLIC_IPSET_H

#include <tamis/tamis.h>

TAMIS_BEGIN

struct tamis_ipset; /* opaque: sets by name */

TAMIS_API int tamis_ipset_new(struct tamis_ipset **out);
/* NULL is fine. */
TAMIS_API void tamis_ipset_free(struct tamis_ipset *s);

struct tamis_ipset_result {
	int status;	/* 0, 1: could not be done, or `test` found nothing; 2: no such command */
	int changed;	/* 1: the sets are others than before */
	char *output;	/* for standard output, "" for nothing */
	char *messages; /* for standard error */
};

/* Gives back the texts. */
TAMIS_API void tamis_ipset_result_free(struct tamis_ipset_result *r);

/*
 * One command, in words as a shell hands them over behind the program's name, options among them.
 * `restore` and `-` are no commands here, and `-file` names no file: input and output are the
 * caller's. The words are only read, and not after the call.
 */
TAMIS_API int tamis_ipset_run(struct tamis_ipset *s, int argc, char *const *argv, uint64_t now,
			      struct tamis_ipset_result *out);

enum tamis_ipset_restore_flags {
	TAMIS_IPSET_EXIST = 1, /* as -exist in front of every line */
	TAMIS_IPSET_QUIET = 2,
};

/* The lines of a text, as `ipset restore` reads them: all, or none and the line that is wrong. */
TAMIS_API int tamis_ipset_restore(struct tamis_ipset *s, const char *text, size_t len,
				  unsigned flags, uint64_t now, struct tamis_ipset_result *out);

/*
 * Puts the sets as they are now into table `inet global` of an engine, in one step; rules there use
 * them as `@name`. *messages (may be NULL) as in tamis_load_text().
 *
 * Sets that were put there before, by this session or another one, get what this one has in the
 * place of all that they hold, with rules using them: as if a new file had been restored and
 * swapped in, in one step for packets. An element that stays goes on from where it is in what its
 * line leaves open: its lifetime without `timeout`, its counts without `packets` and `bytes`. Size
 * and default timeout become those of the session. Sets that the session does not have stay as they
 * are. Such sets are no part of a ruleset: reloads and `flush ruleset` leave them alone, unless the
 * ruleset declares a set of that name itself; and one that says `create table inet global` does not
 * find the table that is there for them.
 *
 * Left out, and named in *messages: sets with a name that nft does not take, a mask with holes or
 * `physdev:`, lists without members or with members of different types.
 *
 * Also -EINVAL, with nothing done: an exception with `nomatch` that expires before what it is an
 * exception from, a name that a ruleset has declared, a set that rules use and that was of another
 * kind; *messages say which.
 */
TAMIS_API int tamis_ipset_publish(struct tamis_ipset *s, struct tamis *t, uint64_t now,
				  char **messages);

TAMIS_END

#endif
