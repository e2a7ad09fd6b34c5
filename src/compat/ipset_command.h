/* SPDX-License-Identifier: Apache-2.0 */
/* ipset_command: the commands of ipset, and requests that are made of them, inside the room. */
#ifndef TAMIS_COMPAT_IPSET_COMMAND_H
#define TAMIS_COMPAT_IPSET_COMMAND_H

#include <limits.h>

#include "compat/ipset_int.h"

#define IPSET_VERSION "ipset v7.17"

/* In ipset's order, which decides what the beginning of a name means. */
enum ipset_command_id {
	IPSET_CMD_CREATE,
	IPSET_CMD_ADD,
	IPSET_CMD_DEL,
	IPSET_CMD_TEST,
	IPSET_CMD_DESTROY,
	IPSET_CMD_LIST,
	IPSET_CMD_SAVE,
	IPSET_CMD_RESTORE,
	IPSET_CMD_FLUSH,
	IPSET_CMD_RENAME,
	IPSET_CMD_SWAP,
	IPSET_CMD_HELP,
	IPSET_CMD_VERSION,
	IPSET_CMD_INTERACTIVE,
	IPSET_CMD_QUIT,
	IPSET_COMMANDS_N
};

enum { IPSET_ALIASES = 3 };

struct ipset_command {
	const char *names[IPSET_ALIASES];
	unsigned least, most; /* words behind it */
};

extern const struct ipset_command ipset_commands[IPSET_COMMANDS_N];

/* `quoted` (may be NULL): words that are no options. 0, -EINVAL with s->error. */
int ipset_request_read(struct ipset *s, unsigned n, char *const *word, const bool *quoted,
		       struct ipset_request *out);
/* Carries out what is no restore, journal and all left open. What a test answers, or nothing, goes
 * to `answer`. 0 or -errno, with s->error if it is -EINVAL of anything but a test. */
int ipset_request_do(struct ipset *s, struct ipset_request *r, struct strbuf *out,
		     struct strbuf *answer);

int ipset_destroy(struct ipset *s, struct ipset_set *set);
int ipset_destroy_all(struct ipset *s);
int ipset_rename(struct ipset *s, struct ipset_set *set, const char *name);
int ipset_swap(struct ipset *s, struct ipset_set *a, const char *name);

#endif
