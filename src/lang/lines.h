/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines: commands one after the other, those that still are text among them.
 *
 * Programs write `add element T S { ... }` a million times. As nodes that would be twenty times the
 * text; so the parser, once it has seen that such a command is right, keeps where it stands
 * (CO_LINES, for all that follow one another), and here it is parsed again when its turn comes.
 *
 * One thread. Cost of a command: that of parsing it.
 */
#ifndef TAMIS_LANG_LINES_H
#define TAMIS_LANG_LINES_H

#include "lang/ast.h"

struct lines; /* opaque */

/* 0 or -ENOMEM. */
int lines_open(struct source_set *sources, const struct cmd_list *cmds, struct lines **out);
void lines_close(struct lines *l);
/* The next command, never a CO_LINES, good until the next call; NULL at the end. 0 or -ENOMEM. */
int lines_next(struct lines *l, const struct cmd **out);
/* A copy of a command on elements in arena a, whose jump point is set. */
struct cmd *cmd_clone_elements(struct arena *a, const struct cmd *c);

#endif
