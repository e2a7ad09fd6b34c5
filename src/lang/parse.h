/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse: nft's text and JSON to commands.
 *
 * Blocks are taken apart into flat commands in nft's order: the table, its chains, objects, sets and
 * maps, flowtables, then elements, then rules, so that a rule may jump to a chain further down.
 * Variables are replaced where they are used. Nothing is checked here but the grammar.
 *
 * Time and memory are proportional to the text. One thread; the parser keeps nothing between calls.
 */
#ifndef TAMIS_LANG_PARSE_H
#define TAMIS_LANG_PARSE_H

#include "lang/ast.h"

struct parse_options {
	const char *const *include_path; /* ends with NULL; NULL: /etc alone, as nft has it */
	const char *const *defines;	 /* "name=value" ..., ends with NULL */
};

enum { INCLUDE_DEPTH_MAX = 16 }; /* as nft has it */

/*
 * Parses source `src` (see source_add) into arena `a`. 0, or -EINVAL with messages in `sources`,
 * or -ENOMEM. On error `out` holds what could be parsed.
 */
int parse_text(struct source_set *sources, int src, struct arena *a,
	       const struct parse_options *options, struct cmd_list *out);
int parse_json(struct source_set *sources, int src, struct arena *a, struct cmd_list *out);
/* JSON if the first byte that is not white space is `{`, as nft -j -f reads it; else text. */
int parse_any(struct source_set *sources, int src, struct arena *a,
	      const struct parse_options *options, struct cmd_list *out);

#endif
