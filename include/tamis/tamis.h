/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tamis: a packet filter in the caller's process, in the language of nft(8).
 *
 *	struct tamis *t;
 *	char *messages = NULL;
 *
 *	tamis_new(NULL, &t);
 *	if (tamis_load_file(t, "rules.nft", NULL, NULL, &messages))
 *		fputs(messages, stderr);
 *	free(messages);
 *	... hand packets in: tamis/burst.h
 *	tamis_free(t);
 *
 * The library owns no thread, no file descriptor and no global state. It never reads a clock: time
 * is an argument, in ns of a clock of the caller's choice that packets and loads share (with `meta
 * time`, `hour` and `day`, ns since 1970 UTC). A `struct tamis` and what belongs to it is used by
 * one thread at a time; different ones have nothing in common.
 *
 * Functions that can fail return 0 or a negative errno, leave what they would have written
 * untouched then, and the engine as it was. Strings handed out through `char **` belong to the
 * caller, who gives them to free(3). Strings inside structs are the library's and live as long as
 * the comment on the struct says.
 */
#ifndef TAMIS_PUBLIC_TAMIS_H
#define TAMIS_PUBLIC_TAMIS_H

#include <tamis/api.h>
#include <tamis/burst.h>
#include <tamis/explain.h>
#include <tamis/report.h>
#include <tamis/trace.h>

TAMIS_BEGIN

struct tamis; /* opaque: one ruleset with its sets, flows and counters */

/* "0.1.0" */
TAMIS_API const char *tamis_version(void);

struct tamis_config {
	uint64_t seed; /* behind `numgen random`, `meta random` and hashes without a seed: equal
			  seeds give equal answers. Tables that packets reach have secrets of
			  their own. */
	/* Every chain rule by rule; every chain and burst by classifiers, however small. For
	 * references and measurements: the answers are the same. */
	bool walk, classify;
	int32_t utc_offset; /* where `meta hour` and `meta day` are: seconds east of Greenwich */
};

/* An engine with an empty ruleset, which accepts everything. config may be NULL: all 0. */
TAMIS_API int tamis_new(const struct tamis_config *config, struct tamis **out);
/* Bursts made from t must be gone. NULL is fine. */
TAMIS_API void tamis_free(struct tamis *t);

/* --- the ruleset -------------------------------------------------------------------------- */

struct tamis_load_options {
	/* Directories for `include` (else /etc), and "name=value" each; both end with NULL and may
	 * be NULL. */
	const char *const *include_path;
	const char *const *defines;
	uint64_t now; /* lifetimes of elements begin here */
};

/*
 * Carries out the commands of a file ("-" is standard input) or of a text, in nft's language or its
 * JSON form, as one transaction: all of it or nothing. `name` stands for the text in messages; NULL
 * for a command line, whose messages name no file. `options` may be NULL: no includes but from the
 * working directory, no defines, now 0.
 *
 * *output (may be NULL) is what `list` and `get` commands print, *messages (may be NULL) what there
 * is to say: nft's error messages after a failure; after success warnings, and once for each kind
 * of thing that is loaded but not evaluated, a line that names it. Both are set in any case, to
 * NULL when there is nothing in them.
 *
 * 0; -EINVAL: the text is wrong, *messages say where; -ENOENT, -EACCES, -EISDIR, ...: the file
 * could not be read; -ENOMEM.
 */
TAMIS_API int tamis_load_file(struct tamis *t, const char *path,
			      const struct tamis_load_options *options, char **output,
			      char **messages);
TAMIS_API int tamis_load_text(struct tamis *t, const char *name, const char *text, size_t len,
			      const struct tamis_load_options *options, char **output,
			      char **messages);

/*
 * The same, but the commands find an empty ruleset, and what they make takes the place of all that
 * there is; packets meet the one or the other. Of sets that were and are declared the same (name,
 * type, flags) elements stay, with lifetimes and all that they remember (counts, what is left of
 * quotas and limits, connections), so that what packets and commands of their own added is kept,
 * whether or not the text begins with `flush ruleset`; but those go that the text before listed
 * where it declared the set, and that this one does not list. Where the text has an element of the
 * same key its data and comment count; an element that one of the text overlaps goes, and so do
 * elements not in the text of maps to verdicts and objects. Named counters, quotas and limits go
 * on, if they are declared the same, and connections stay; rules begin anew, with the counters,
 * quotas and limits in them. Sets of ipset.h stay as they are. Cost: that of the load, and of
 * adding each element that stays.
 */
TAMIS_API int tamis_reload_file(struct tamis *t, const char *path,
				const struct tamis_load_options *options, char **output,
				char **messages);
TAMIS_API int tamis_reload_text(struct tamis *t, const char *name, const char *text, size_t len,
				const struct tamis_load_options *options, char **output,
				char **messages);

/* What a listing looks like; the letters are nft's options. */
enum tamis_list_flags {
	TAMIS_LIST_JSON = 1,	  /* -j: one line of JSON */
	TAMIS_LIST_HANDLES = 2,	  /* -a */
	TAMIS_LIST_NUMERIC = 4,	  /* -n: protocols, priorities, times and symbols as numbers */
	TAMIS_LIST_STATELESS = 8, /* -s: no counts, no remaining lifetimes */
	TAMIS_LIST_TERSE = 16,	  /* -t: no elements of sets */
};

/* The ruleset as `nft list ruleset` prints it, at time `now`. 0, -EINVAL, -ENOMEM. */
TAMIS_API int tamis_list(struct tamis *t, unsigned flags, uint64_t now, char **out);

/* --- what the engine cannot know by itself ------------------------------------------------ */

/*
 * The hooks that packets travel, in netfilter's order:
 *	INPUT	ingress, prerouting, input
 *	FORWARD	ingress, prerouting, forward, postrouting, egress
 *	OUTPUT	output, postrouting, egress
 *	BRIDGE	those of the bridge family
 *	AUTO	INPUT for packets to a local prefix, OUTPUT for those from one, else FORWARD
 */
enum tamis_path {
	TAMIS_PATH_AUTO,
	TAMIS_PATH_INPUT,
	TAMIS_PATH_FORWARD,
	TAMIS_PATH_OUTPUT,
	TAMIS_PATH_BRIDGE,
};

/* For the bursts that follow; AUTO at first. 0 or -EINVAL. */
TAMIS_API int tamis_path_set(struct tamis *t, enum tamis_path path);

/*
 * Adds "192.0.2.1", "192.0.2.0/24" or an IPv6 one to the local prefixes. 0, -EINVAL for another
 * text, -ENOSPC beyond TAMIS_LOCAL_MAX, -ENOMEM.
 */
enum { TAMIS_LOCAL_MAX = 1024 };
TAMIS_API int tamis_local_add(struct tamis *t, const char *prefix);

/*
 * The index that an interface name has here, for struct tamis_packet; a name not seen before gets
 * one. "lo" is 1; no rule can name one of more than 15 bytes, ACLs can. 0, -EINVAL for an empty
 * name or one of more than 63 bytes, -ENOSPC beyond TAMIS_INTERFACES_MAX names, -ENOMEM.
 */
enum { TAMIS_INTERFACES_MAX = 65536 };
TAMIS_API int tamis_interface_find(struct tamis *t, const char *name, uint32_t *index);

TAMIS_END

#endif
