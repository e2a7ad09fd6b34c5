/* SPDX-License-Identifier: Apache-2.0 */
/* unvisited: base chains that no packet of a replay could come to, and what to give for that. */
#ifndef TAMIS_CMD_UNVISITED_H
#define TAMIS_CMD_UNVISITED_H

#include "options.h"

/* A line on standard error for each reason why base chains stand at hooks off the path chosen. */
void unvisited_tell(struct tamis *t, const struct options *o);

#endif
