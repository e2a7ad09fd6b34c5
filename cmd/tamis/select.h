/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select: which packets an nft match expression means, for --trace=EXPR.
 *
 * The expression becomes the only rule of an engine of its own, whose bridge path sees packets of
 * every protocol. One thread.
 */
#ifndef TAMIS_CMD_SELECT_H
#define TAMIS_CMD_SELECT_H

#include "feed.h"
#include "options.h"

struct select;

/* 0, or -errno after saying what is wrong with the expression. */
int select_new(const struct options *o, uint64_t now, struct select **out);
void select_free(struct select *s);

/* Sets *mask to the packets of b, which came from c, that match. 0 or -errno. */
int select_run(struct select *s, const struct capture *c, const struct burst *b, uint64_t *mask);

#endif
