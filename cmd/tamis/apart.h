/* SPDX-License-Identifier: Apache-2.0 */
/* apart: no file that is written may be one that is read or that is written otherwise. */
#ifndef TAMIS_CMD_APART_H
#define TAMIS_CMD_APART_H

#include "options.h"

/* False after saying which two options name one file, by whatever names. */
bool files_apart(const struct options *o);

#endif
