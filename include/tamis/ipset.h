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
 * caller's. The words are written to and read no more after the call.
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
 * them as `@name`. The table must not have sets of these names. *messages (may be NULL) as in
 * tamis_load_text(). Also -EINVAL: a set that nft cannot hold, *messages say which.
 */
TAMIS_API int tamis_ipset_publish(struct tamis_ipset *s, struct tamis *t, uint64_t now,
				  char **messages);

TAMIS_END

#endif
